/* SPDX-License-Identifier: Apache-2.0
 *
 * The universe up to a finished level, in a file SPACE.universe of a folder. It is
 * written beside its place, synced and renamed, so there is the old one or the new one,
 * whenever the program is killed. What follows from the rest is left out: elements are
 * evaluated again, sketches and tables are made again.
 *
 * The file is for the machine and the program that wrote it: sizes of the structures
 * are part of what must agree, together with everything that the levels depend on.
 */
#include "generator/engine.h"

#include "core/base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* To be changed when the engine gives other values, e-nodes or orders. */
#define ENGINE_VERSION 2
#define BLOCK_BYTES    (1u << 20)

/* What must agree, in this order, for a message. */
typedef struct identity {
    uint64_t engine, layout, seed, n_samples, n_levels, keep_all, operators, space;
} identity;

typedef struct header {
    char magic[16];
    identity identity;
    uint64_t level;
    uint64_t n_shapes, n_values, n_supports, n_cuts, n_classes, n_enodes;
    noe_level_stats stats[NOE_MAX_LEVEL + 1];
} header;

static const char magic[16] = "noether universe";

static void print_leaf(noe_buf *b, const noe_space_leaf *l)
{
    noe_buf_printf(b, "leaf %s %d %d %d %d ", l->name, (int)l->role, l->is_constant,
                   l->group, l->index);
    noe_shape_print(b, &l->shape);
    for (int i = 0; i < NOE_SPACE_MAX_RANK; i++)
        noe_buf_printf(b, " %u", l->cuts[i]);
    for (int i = 0; l->is_constant && i < l->params.n; i++)
        noe_value_print(b, &l->params.v[i]);
    noe_buf_printf(b, " %s\n", l->is_constant ? noe_op_get(l->op)->name : "-");
}

static void print_move(noe_buf *b, const noe_move *m)
{
    noe_buf_printf(b, "move %s %d %d ", noe_op_get(m->op)->name, m->kind, m->n_in);
    noe_shape_print(b, &m->only);
    for (int i = 0; i < m->params.n; i++) {
        noe_buf_puts(b, " ");
        noe_value_print(b, &m->params.v[i]);
    }
    noe_buf_puts(b, "\n");
}

static uint64_t hash_space(const noe_space *s)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s %d %d %d %lld %lld %lld %d\n", s->name, s->equal_shapes,
                   s->keep_kernels, s->any_roles, (long long)s->odd_inner,
                   (long long)s->max_elements, (long long)s->max_dim, s->is_ordered);
    for (int i = 0; i < s->n_leaves; i++)
        print_leaf(&b, &s->leaves[i]);
    for (int i = 0; i < s->n_moves; i++)
        print_move(&b, &s->moves[i]);
    uint64_t hash = noe_hash64(b.text, b.len, 0);
    noe_buf_clear(&b);
    return hash;
}

static identity identity_of(const noe_universe *u, bool keep_all)
{
    uint64_t layout = sizeof(noe_shape);
    layout = layout * 1024 + sizeof(noe_gen_value);
    layout = layout * 1024 + sizeof(noe_support);
    layout = layout * 1024 + sizeof(noe_gen_class);
    layout = layout * 1024 + sizeof(noe_enode);
    return (identity){
        ENGINE_VERSION,        layout,   u->env->seed,        (uint64_t)u->n_samples,
        (uint64_t)u->n_levels, keep_all, noe_op_table_hash(), hash_space(u->space)};
}

static const char *difference(const identity *a, const identity *b)
{
    static const char *const names[] = {
        "another version of the engine", "another build", "another seed",
        "another number of samples",     "another level", "another kind of test",
        "another operator table",        "another space"};
    const uint64_t *x = &a->engine, *y = &b->engine;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (x[i] != y[i])
            return names[i];
    }
    return NULL;
}

/* The arrays of a universe with so many entries. */
typedef struct section {
    void *data;
    size_t bytes;
} section;
#define SECTIONS 8

static void list_sections(noe_universe *u, const header *h, section *s)
{
    section all[SECTIONS] = {
        {u->shapes, h->n_shapes * sizeof *u->shapes},
        {u->values, h->n_values * sizeof *u->values},
        {u->keys, h->n_values * sizeof *u->keys},
        {u->supports, h->n_supports * sizeof *u->supports},
        {u->owners, h->n_supports * sizeof *u->owners},
        {u->cuts, h->n_cuts * sizeof *u->cuts},
        {u->classes, h->n_classes * sizeof *u->classes},
        {u->enodes, h->n_enodes * sizeof *u->enodes},
    };
    memcpy(s, all, sizeof all);
}

static char *path_of(const noe_universe *u, const char *folder, const char *suffix)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s/%s.universe%s", folder, u->space->name, suffix);
    return b.text;
}

static noe_status fail_errno(noe_error *err, const char *path, const char *what)
{
    return noe_fail(err, NOE_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

static bool put(FILE *f, const void *data, size_t bytes, uint64_t *hash)
{
    const char *p = data;
    while (bytes) {
        size_t n = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
        *hash = noe_hash64(p, n, *hash);
        if (fwrite(p, 1, n, f) != n)
            return false;
        p += n;
        bytes -= n;
    }
    return true;
}

static bool get(FILE *f, void *data, size_t bytes, uint64_t *hash)
{
    char *p = data;
    while (bytes) {
        size_t n = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
        if (fread(p, 1, n, f) != n)
            return false;
        *hash = noe_hash64(p, n, *hash);
        p += n;
        bytes -= n;
    }
    return true;
}

static bool put_all(noe_universe *u, const header *h, FILE *f)
{
    section s[SECTIONS];
    uint64_t hash = 0;
    list_sections(u, h, s);
    bool good = put(f, h, sizeof *h, &hash);
    for (int i = 0; i < SECTIONS && good; i++)
        good = put(f, s[i].data, s[i].bytes, &hash);
    return good && fwrite(&hash, sizeof hash, 1, f) == 1 && fflush(f) == 0 &&
           fsync(fileno(f)) == 0;
}

noe_status noe_checkpoint_write(noe_universe *u, const char *folder, bool keep_all,
                                int level, noe_error *err)
{
    header h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.identity = identity_of(u, keep_all);
    h.level = (uint64_t)level;
    h.n_shapes = (uint64_t)u->n_shapes;
    h.n_values = u->n_values;
    h.n_supports = u->n_supports;
    h.n_cuts = u->n_cuts;
    h.n_classes = u->n_classes;
    h.n_enodes = u->n_enodes;
    memcpy(h.stats, u->stats, sizeof h.stats);
    char *path = path_of(u, folder, ""), *beside = path_of(u, folder, ".new");
    noe_status status = NOE_OK;
    FILE *f = fopen(beside, "wb");
    if (!f) {
        status = fail_errno(err, beside, "cannot write");
    } else {
        bool good = put_all(u, &h, f);
        good = fclose(f) == 0 && good;
        if (!good || rename(beside, path) != 0) {
            status = fail_errno(err, beside, "cannot write");
            unlink(beside);
        }
    }
    free(path);
    free(beside);
    return status;
}

static uint64_t file_bytes(noe_universe *u, const header *h)
{
    section s[SECTIONS];
    uint64_t n = sizeof *h + sizeof(uint64_t);
    list_sections(u, h, s);
    for (int i = 0; i < SECTIONS; i++)
        n += s[i].bytes;
    return n;
}

/* Within the limits of a universe, so that no size below overflows. */
static bool is_sane(const header *h)
{
    return h->level >= 1 && h->level <= h->identity.n_levels &&
           h->n_shapes <= NOE_MAX_SHAPES && h->n_values <= NOE_MAX_VALUES &&
           h->n_supports < UINT32_MAX && h->n_cuts < UINT32_MAX &&
           h->n_classes < UINT32_MAX && h->n_enodes < UINT32_MAX;
}

static void allocate(noe_universe *u, const header *h)
{
    u->n_shapes = (int)h->n_shapes;
    u->n_values = (uint32_t)h->n_values;
    u->n_supports = (uint32_t)h->n_supports;
    u->n_cuts = u->cap_cuts = (uint32_t)h->n_cuts;
    u->n_classes = u->cap_classes = (uint32_t)h->n_classes;
    u->n_enodes = u->cap_enodes = (uint32_t)h->n_enodes;
    u->cap_values = u->n_values + 1;
    u->values = noe_calloc(u->cap_values, sizeof *u->values);
    u->keys = noe_calloc(u->cap_values, sizeof *u->keys);
    u->supports = noe_calloc(h->n_supports + 1, sizeof *u->supports);
    u->owners = noe_calloc(h->n_supports + 1, sizeof *u->owners);
    u->cuts = noe_calloc(h->n_cuts + 1, sizeof *u->cuts);
    u->classes = noe_calloc(h->n_classes + 1, sizeof *u->classes);
    u->enodes = noe_calloc(h->n_enodes + 1, sizeof *u->enodes);
    memcpy(u->stats, h->stats, sizeof u->stats);
}

static void free_arrays(noe_universe *u)
{
    free(u->values);
    free(u->keys);
    free(u->supports);
    free(u->owners);
    free(u->cuts);
    free(u->classes);
    free(u->enodes);
}

/* Takes over what was read; leaves keep their elements. */
static void take(noe_universe *u, const noe_universe *from)
{
    for (uint32_t v = 0; v < from->n_values; v++)
        from->values[v].data = v < u->n_values ? u->values[v].data : NULL;
    free_arrays(u);
    memcpy(u->shapes, from->shapes, sizeof u->shapes);
    u->n_shapes = from->n_shapes;
    for (int i = 0; i < u->n_shapes; i++)
        u->n_elements[i] = (uint32_t)noe_shape_elements(&u->shapes[i]);
    u->values = from->values;
    u->keys = from->keys;
    u->n_values = from->n_values;
    u->cap_values = from->cap_values;
    u->supports = from->supports;
    u->owners = from->owners;
    u->n_supports = from->n_supports;
    u->cuts = from->cuts;
    u->n_cuts = from->n_cuts;
    u->cap_cuts = from->cap_cuts;
    u->classes = from->classes;
    u->n_classes = from->n_classes;
    u->cap_classes = from->cap_classes;
    u->enodes = from->enodes;
    u->n_enodes = from->n_enodes;
    u->cap_enodes = from->cap_enodes;
    memcpy(u->stats, from->stats, sizeof u->stats);
}

/* Whether the file is whole; then u has what is in it. */
static bool read_arrays(noe_universe *u, FILE *f, const header *h)
{
    noe_universe *t = noe_calloc(1, sizeof *t);
    section s[SECTIONS];
    uint64_t hash = 0, want = 0;
    bool good = is_sane(h) && fseek(f, 0, SEEK_END) == 0 &&
                (uint64_t)ftell(f) == file_bytes(t, h);
    if (good) {
        allocate(t, h);
        list_sections(t, h, s);
        rewind(f);
        header again;
        good = get(f, &again, sizeof again, &hash);
        for (int i = 0; i < SECTIONS && good; i++)
            good = get(f, s[i].data, s[i].bytes, &hash);
        good = good && fread(&want, sizeof want, 1, f) == 1 && want == hash &&
               t->n_values >= u->n_values &&
               memcmp(t->keys, u->keys, u->n_values * sizeof *u->keys) == 0;
    }
    if (good)
        take(u, t);
    else
        free_arrays(t);
    free(t);
    return good;
}

noe_status noe_checkpoint_read(noe_universe *u, const char *folder, bool keep_all,
                               int *level, noe_error *err)
{
    char *path = path_of(u, folder, "");
    noe_status status = NOE_OK;
    header h = {0};
    const char *other = NULL;
    *level = 0;
    FILE *f = fopen(path, "rb");
    if (!f && errno != ENOENT)
        status = fail_errno(err, path, "cannot read");
    if (f) {
        identity mine = identity_of(u, keep_all);
        bool is_ours =
            fread(&h, sizeof h, 1, f) == 1 && memcmp(h.magic, magic, sizeof magic) == 0;
        if (is_ours)
            other = difference(&h.identity, &mine);
        if (other)
            status = noe_fail(err, NOE_ERR_ARG,
                              "%s: is of %s; remove it or choose another folder", path,
                              other);
        else if (is_ours && read_arrays(u, f, &h))
            *level = (int)h.level;
        else
            noe_log(u->env, NOE_LOG_WARN,
                    "%s: is damaged and not used; enumeration starts anew", path);
        fclose(f);
    }
    free(path);
    return status;
}

void noe_checkpoint_remove(const char *space, const char *folder)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s/%s.universe", folder, space);
    unlink(b.text);
    noe_buf_puts(&b, ".new");
    unlink(b.text);
    noe_buf_clear(&b);
}
