/* SPDX-License-Identifier: Apache-2.0
 *
 * Arenas are lists of blocks, newest first, each twice as large as the one before up to
 * a limit; an allocation moves the fill mark of the newest block. Releasing to a mark
 * frees the blocks made since and moves the fill mark back. Under AddressSanitizer the
 * unused part of a block is poisoned, so that use after release is seen as if it were
 * use after free.
 */
#include "core/base/mem.h"
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(P, N)   ((void)(P), (void)(N))
#define ASAN_UNPOISON_MEMORY_REGION(P, N) ((void)(P), (void)(N))
#endif

#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
#define MAX_BLOCK_BYTES   ((size_t)1 << 20) /* larger ones only for larger requests */
#define ALIGNMENT         ((size_t)16)

struct noe_arena_block {
    noe_arena_block *previous;
    size_t cap, fill;
    size_t unused; /* makes the header a multiple of ALIGNMENT */
    unsigned char data[];
};

_Static_assert(sizeof(noe_arena_block) % 16 == 0, "block data must be aligned");

static _Noreturn void die_of_exhaustion(size_t bytes)
{
    fprintf(stderr, "noether: out of memory: %zu bytes are not available\n", bytes);
    abort();
}

void *noe_malloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        die_of_exhaustion(bytes);
    return p;
}

void *noe_calloc(size_t n, size_t bytes)
{
    void *p = calloc(n ? n : 1, bytes ? bytes : 1);
    if (!p)
        die_of_exhaustion(n > SIZE_MAX / (bytes ? bytes : 1) ? SIZE_MAX : n * bytes);
    return p;
}

void *noe_realloc(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (!p)
        die_of_exhaustion(bytes);
    return p;
}

char *noe_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    return memcpy(noe_malloc(bytes), s, bytes);
}

int noe_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static void add_block(noe_arena *a, size_t bytes)
{
    size_t cap = a->head ? a->head->cap * 2 : FIRST_BLOCK_BYTES;
    if (cap > MAX_BLOCK_BYTES)
        cap = MAX_BLOCK_BYTES;
    if (cap < bytes)
        cap = bytes;
    if (cap > SIZE_MAX - sizeof(noe_arena_block))
        die_of_exhaustion(bytes);
    noe_arena_block *block = noe_malloc(sizeof *block + cap);
    *block = (noe_arena_block){.previous = a->head, .cap = cap};
    ASAN_POISON_MEMORY_REGION(block->data, cap);
    a->head = block;
}

void *noe_arena_alloc(noe_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        die_of_exhaustion(bytes);
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    if (!a->head || a->head->cap - a->head->fill < rounded)
        add_block(a, rounded);
    void *p = a->head->data + a->head->fill;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    a->head->fill += rounded;
    a->used_bytes += rounded;
    return p;
}

void *noe_arena_zalloc(noe_arena *a, size_t bytes)
{
    return memset(noe_arena_alloc(a, bytes), 0, bytes);
}

void *noe_arena_memdup(noe_arena *a, const void *p, size_t bytes)
{
    void *copy = noe_arena_alloc(a, bytes);
    if (bytes)
        memcpy(copy, p, bytes);
    return copy;
}

char *noe_arena_strdup(noe_arena *a, const char *s)
{
    return noe_arena_memdup(a, s, strlen(s) + 1);
}

char *noe_arena_printf(noe_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    NOE_ASSERT(len >= 0);
    char *text = noe_arena_alloc(a, (size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

noe_arena_mark noe_arena_save(const noe_arena *a)
{
    return (noe_arena_mark){a->head, a->head ? a->head->fill : 0, a->used_bytes};
}

void noe_arena_release(noe_arena *a, noe_arena_mark mark)
{
    while (a->head != mark.head) {
        NOE_ASSERT(a->head);
        noe_arena_block *previous = a->head->previous;
        ASAN_UNPOISON_MEMORY_REGION(a->head->data, a->head->cap);
        free(a->head);
        a->head = previous;
    }
    if (a->head) {
        NOE_ASSERT(mark.fill <= a->head->fill);
        a->head->fill = mark.fill;
        ASAN_POISON_MEMORY_REGION(a->head->data + mark.fill, a->head->cap - mark.fill);
    }
    a->used_bytes = mark.used_bytes;
}

void noe_arena_clear(noe_arena *a)
{
    noe_arena_release(a, (noe_arena_mark){0});
}

static void reserve(noe_buf *b, size_t more)
{
    if (more > SIZE_MAX / 2 - b->len - 1)
        die_of_exhaustion(more);
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    b->cap = cap < need ? need : cap;
    b->text = noe_realloc(b->text, b->cap);
}

void noe_buf_add(noe_buf *b, const char *s, size_t len)
{
    reserve(b, len);
    if (len)
        memcpy(b->text + b->len, s, len);
    b->len += len;
    b->text[b->len] = '\0';
}

void noe_buf_puts(noe_buf *b, const char *s)
{
    noe_buf_add(b, s, strlen(s));
}

void noe_buf_printf(noe_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    NOE_ASSERT(len >= 0);
    reserve(b, (size_t)len);
    va_start(args, fmt);
    vsnprintf(b->text + b->len, (size_t)len + 1, fmt, args);
    va_end(args);
    b->len += (size_t)len;
}

const char *noe_buf_text(const noe_buf *b)
{
    return b->text ? b->text : "";
}

void noe_buf_clear(noe_buf *b)
{
    free(b->text);
    *b = (noe_buf){0};
}
