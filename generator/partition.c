/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in chunks, by thread and partition. A thread that holds more than its part of
 * the memory writes all of its chunks to a file of its own, which has no name any more
 * once it is open: a killed program leaves nothing behind.
 */
#include "generator/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_RECORDS 512
#define RADIX_BITS    8
#define RADIX_PASSES  3 /* below the bits of the partition; the rest is in runs */
#define SMALL_RUN     24

typedef struct chunk {
    struct chunk *next;
    uint32_t n;
    noe_record r[CHUNK_RECORDS];
} chunk;

/* Records in the file. */
typedef struct extent {
    uint64_t offset;
    uint32_t n;
} extent;

typedef struct shelf {
    chunk *chunks;
    extent *extents;
    uint32_t n_extents, cap_extents;
} shelf;

typedef struct store {
    shelf parts[NOE_PARTITIONS];
    chunk *spare;
    uint64_t n_bytes, n_written;
    int fd;
    int failure; /* errno */
} store;

struct noe_partitions {
    int n_threads;
    uint64_t max_bytes; /* of one thread */
    char *folder;
    store *stores;
};

noe_partitions *noe_partitions_new(int n_threads, uint64_t max_bytes,
                                   const char *folder)
{
    noe_partitions *p = noe_calloc(1, sizeof *p);
    p->n_threads = n_threads;
    p->max_bytes = max_bytes / (uint64_t)n_threads;
    p->folder = noe_strdup(folder ? folder : ".");
    p->stores = noe_calloc((size_t)n_threads, sizeof *p->stores);
    for (int t = 0; t < n_threads; t++)
        p->stores[t].fd = -1;
    return p;
}

static void free_chunks(chunk *c)
{
    while (c) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
}

void noe_partitions_free(noe_partitions *p)
{
    if (!p)
        return;
    for (int t = 0; t < p->n_threads; t++) {
        store *s = &p->stores[t];
        for (int i = 0; i < NOE_PARTITIONS; i++) {
            free_chunks(s->parts[i].chunks);
            free(s->parts[i].extents);
        }
        free_chunks(s->spare);
        if (s->fd >= 0)
            close(s->fd);
    }
    free(p->stores);
    free(p->folder);
    free(p);
}

static int open_unnamed(const char *folder)
{
    noe_buf name = {0};
    noe_buf_printf(&name, "%s/.noether-spill-XXXXXX", folder);
    int fd = mkostemp(name.text, O_CLOEXEC);
    if (fd >= 0)
        unlink(name.text);
    noe_buf_clear(&name);
    return fd;
}

static bool write_chunk(store *s, shelf *p, const chunk *c)
{
    extent e = {s->n_written, c->n};
    const char *data = (const char *)c->r;
    size_t left = c->n * sizeof *c->r;
    while (left) {
        ssize_t put = pwrite(s->fd, data, left, (off_t)s->n_written);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            s->failure = put < 0 ? errno : ENOSPC;
            return false;
        }
        data += put;
        left -= (size_t)put;
        s->n_written += (uint64_t)put;
    }
    NOE_PUSH(p->extents, p->n_extents, p->cap_extents, e);
    return true;
}

/* After a failure the records stay in memory: the level fails when it ends. */
static void spill(noe_partitions *p, store *s)
{
    if (s->failure)
        return;
    if (s->fd < 0)
        s->fd = open_unnamed(p->folder);
    if (s->fd < 0) {
        s->failure = errno;
        return;
    }
    for (int i = 0; i < NOE_PARTITIONS; i++) {
        shelf *part = &s->parts[i];
        while (part->chunks) {
            chunk *c = part->chunks;
            if (!write_chunk(s, part, c))
                return;
            part->chunks = c->next;
            c->next = s->spare;
            s->spare = c;
        }
    }
    s->n_bytes = 0;
}

static chunk *new_chunk(noe_partitions *p, store *s)
{
    if (p->max_bytes && s->n_bytes + sizeof(chunk) > p->max_bytes)
        spill(p, s);
    chunk *c = s->spare;
    if (c)
        s->spare = c->next;
    else
        c = noe_malloc(sizeof *c);
    c->n = 0;
    s->n_bytes += sizeof *c;
    return c;
}

void noe_partitions_push(noe_partitions *p, int thread, noe_record r)
{
    store *s = &p->stores[thread];
    shelf *part = &s->parts[r.key >> 56];
    if (!part->chunks || part->chunks->n == CHUNK_RECORDS) {
        chunk *c = new_chunk(p, s);
        c->next = part->chunks;
        part->chunks = c;
    }
    part->chunks->r[part->chunks->n++] = r;
}

noe_status noe_partitions_status(const noe_partitions *p, noe_error *err)
{
    for (int t = 0; t < p->n_threads; t++) {
        if (p->stores[t].failure)
            return noe_fail(err, NOE_ERR_IO, "%s: cannot keep records on disk: %s",
                            p->folder, strerror(p->stores[t].failure));
    }
    return NOE_OK;
}

uint64_t noe_partitions_spilled(const noe_partitions *p)
{
    uint64_t n = 0;
    for (int t = 0; t < p->n_threads; t++)
        n += p->stores[t].n_written;
    return n;
}

static size_t count_records(const noe_partitions *p, int partition)
{
    size_t n = 0;
    for (int t = 0; t < p->n_threads; t++) {
        const shelf *part = &p->stores[t].parts[partition];
        for (const chunk *c = part->chunks; c; c = c->next)
            n += c->n;
        for (uint32_t i = 0; i < part->n_extents; i++)
            n += part->extents[i].n;
    }
    return n;
}

static void read_extent(store *s, const extent *e, noe_record *to)
{
    char *data = (char *)to;
    size_t left = e->n * sizeof *to;
    off_t at = (off_t)e->offset;
    while (left && !s->failure) {
        ssize_t got = pread(s->fd, data, left, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            s->failure = got < 0 ? errno : EIO;
            memset(data, 0, left);
            return;
        }
        data += got;
        at += got;
        left -= (size_t)got;
    }
}

static int compare_records(const void *x, const void *y)
{
    const noe_record *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void sort_run(noe_record *r, size_t n)
{
    if (n > SMALL_RUN) {
        qsort(r, n, sizeof *r, compare_records);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        noe_record x = r[i];
        size_t k = i;
        for (; k > 0 && compare_records(&x, &r[k - 1]) < 0; k--)
            r[k] = r[k - 1];
        r[k] = x;
    }
}

/* One pass of a stable distribution by the byte at `shift`. */
static void distribute(const noe_record *from, noe_record *to, size_t n, int shift)
{
    size_t at[1 << RADIX_BITS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        at[from[i].key >> shift & 0xFF]++;
    for (int i = 0; i < 1 << RADIX_BITS; i++) {
        size_t count = at[i];
        at[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].key >> shift & 0xFF]++] = from[i];
}

/* By the bits below those of the partition, then in runs where those are equal. The
 * number of passes is odd, so the result is in the second array. */
noe_record *noe_records_sort(noe_record *r, size_t n)
{
    const int low = 56 - RADIX_BITS * RADIX_PASSES;
    noe_record *other = noe_malloc((n + 1) * sizeof *other);
    for (int pass = 0; pass < RADIX_PASSES; pass++) {
        distribute(r, other, n, low + pass * RADIX_BITS);
        noe_record *swap = r;
        r = other;
        other = swap;
    }
    free(other);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && r[end].key >> low == r[i].key >> low)
            end++;
        sort_run(r + i, end - i);
    }
    return r;
}

noe_record *noe_partitions_take(noe_partitions *p, int partition, size_t *n)
{
    *n = count_records(p, partition);
    noe_record *r = noe_malloc((*n + 1) * sizeof *r);
    size_t at = 0;
    for (int t = 0; t < p->n_threads; t++) {
        shelf *part = &p->stores[t].parts[partition];
        for (uint32_t i = 0; i < part->n_extents; i++) {
            read_extent(&p->stores[t], &part->extents[i], r + at);
            at += part->extents[i].n;
        }
        for (const chunk *c = part->chunks; c; c = c->next) {
            memcpy(r + at, c->r, c->n * sizeof *r);
            at += c->n;
        }
        free_chunks(part->chunks);
        part->chunks = NULL;
        part->n_extents = 0;
    }
    return r;
}
