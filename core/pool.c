/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned parts of graphs. Interning is by content, so that equal parameters or types
 * are equal pointers within a pool; nothing is ever removed before the pool dies.
 */
#include "core/graph.h"
#include "core/base/hash.h"
#include <stdlib.h>

/* One open-addressing table of pointers for each kind of thing. */
typedef struct intern_table {
    const void **slots;
    uint64_t *hashes;
    uint32_t size, n;
} intern_table;

struct noe_pool {
    noe_arena arena;
    intern_table names, params, types;
    noe_leaf *leaves;
    uint32_t n_leaves, cap_leaves;
    const noe_open_sizes *open;
};

typedef bool equal_fn(const void *stored, const void *probe);

static void table_grow(intern_table *t)
{
    uint32_t size = t->size ? t->size * 2 : 64;
    const void **slots = noe_calloc(size, sizeof *slots);
    uint64_t *hashes = noe_calloc(size, sizeof *hashes);
    for (uint32_t i = 0; i < t->size; i++) {
        if (!t->slots[i])
            continue;
        uint32_t j = (uint32_t)t->hashes[i] & (size - 1);
        while (slots[j])
            j = (j + 1) & (size - 1);
        slots[j] = t->slots[i];
        hashes[j] = t->hashes[i];
    }
    free(t->slots);
    free(t->hashes);
    t->slots = slots;
    t->hashes = hashes;
    t->size = size;
}

/* The slot of an equal thing, or the empty slot where it belongs. */
static const void **table_find(intern_table *t, uint64_t hash, equal_fn *equal,
                               const void *probe)
{
    if (t->n * 2 >= t->size)
        table_grow(t);
    uint32_t i = (uint32_t)hash & (t->size - 1);
    while (t->slots[i] && !(t->hashes[i] == hash && equal(t->slots[i], probe)))
        i = (i + 1) & (t->size - 1);
    t->hashes[i] = hash;
    return &t->slots[i];
}

noe_pool *noe_pool_new(void)
{
    return noe_calloc(1, sizeof(noe_pool));
}

static void table_free(intern_table *t)
{
    free(t->slots);
    free(t->hashes);
}

void noe_pool_free(noe_pool *p)
{
    if (!p)
        return;
    table_free(&p->names);
    table_free(&p->params);
    table_free(&p->types);
    free(p->leaves);
    noe_arena_clear(&p->arena);
    free(p);
}

noe_arena *noe_pool_arena(noe_pool *p)
{
    return &p->arena;
}

static bool name_equal(const void *stored, const void *probe)
{
    return strcmp(stored, probe) == 0;
}

const char *noe_pool_name(noe_pool *p, const char *name)
{
    uint64_t hash = noe_hash64(name, strlen(name), 1);
    const void **slot = table_find(&p->names, hash, name_equal, name);
    if (!*slot) {
        *slot = noe_arena_strdup(&p->arena, name);
        p->names.n++;
    }
    return *slot;
}

static uint64_t hash_value(const noe_value *v, uint64_t seed)
{
    seed = noe_hash64(&v->kind, sizeof v->kind, seed);
    switch (v->kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        return noe_hash64(&v->i, sizeof v->i, seed);
    case NOE_KIND_FLOAT:
        return noe_hash64(&v->f, sizeof v->f, seed);
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        return noe_hash64(v->list, (size_t)v->n * sizeof *v->list,
                          seed + (uint64_t)v->n);
    }
    return seed;
}

/* The parameters come first, so that a pointer to them is one to the whole. */
typedef struct interned_params {
    noe_params params;
    uint64_t text_hash;
} interned_params;

static uint64_t text_hash(const noe_params *params)
{
    noe_buf text = {0};
    for (int i = 0; i < params->n; i++) {
        noe_value_print(&text, &params->v[i]);
        noe_buf_puts(&text, ";");
    }
    uint64_t hash = noe_hash64(noe_buf_text(&text), text.len, 0);
    noe_buf_clear(&text);
    return hash;
}

static bool params_equal(const void *stored, const void *probe)
{
    return noe_params_eq(stored, probe);
}

const noe_params *noe_pool_params(noe_pool *p, const noe_params *params)
{
    uint64_t hash = (uint64_t)params->n;
    for (int i = 0; i < params->n; i++)
        hash = hash_value(&params->v[i], hash);
    const void **slot = table_find(&p->params, hash, params_equal, params);
    if (!*slot) {
        interned_params *fresh = NOE_NEW(&p->arena, interned_params);
        fresh->params = *params;
        fresh->text_hash = text_hash(params);
        *slot = fresh;
        p->params.n++;
    }
    return *slot;
}

uint64_t noe_pool_params_hash(const noe_params *interned)
{
    return ((const interned_params *)interned)->text_hash;
}

typedef struct type_list {
    int n;
    const noe_type *types;
} type_list;

static bool same_type(const noe_type *a, const noe_type *b)
{
    return a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
           (a->shape.rank <= 0 ||
            memcmp(a->shape.dim, b->shape.dim,
                   (size_t)a->shape.rank * sizeof *a->shape.dim) == 0);
}

static bool types_equal(const void *stored, const void *probe)
{
    const type_list *a = stored, *b = probe;
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        if (!same_type(&a->types[i], &b->types[i]))
            return false;
    }
    return true;
}

static uint64_t hash_types(const noe_type *types, int n)
{
    uint64_t hash = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        const noe_shape *s = &types[i].shape;
        int64_t head[2] = {(int64_t)types[i].dtype, s->rank};
        hash = noe_hash64(head, sizeof head, hash);
        if (s->rank > 0)
            hash = noe_hash64(s->dim, (size_t)s->rank * sizeof *s->dim, hash);
    }
    return hash;
}

const noe_type *noe_pool_types(noe_pool *p, const noe_type *types, int n)
{
    type_list probe = {n, types};
    const void **slot =
        table_find(&p->types, hash_types(types, n), types_equal, &probe);
    if (!*slot) {
        type_list *fresh = NOE_NEW(&p->arena, type_list);
        fresh->n = n;
        fresh->types = noe_arena_memdup(&p->arena, types, (size_t)n * sizeof *types);
        *slot = fresh;
        p->types.n++;
    }
    return ((const type_list *)*slot)->types;
}

uint32_t noe_pool_add_leaf(noe_pool *p, const char *name, const noe_type *type,
                           const void *data, size_t data_bytes, void *source)
{
    uint64_t hash = hash_types(type, 1);
    if (data)
        hash = noe_hash64(data, data_bytes, hash);
    else
        hash = noe_hash64(name, strlen(name), ~hash);
    noe_leaf leaf = {.name = noe_pool_name(p, name),
                     .type = *type,
                     .data = data,
                     .data_bytes = data_bytes,
                     .hash = hash,
                     .source = source};
    NOE_PUSH(p->leaves, p->n_leaves, p->cap_leaves, leaf);
    return p->n_leaves - 1;
}

void noe_pool_set_default(noe_pool *p, uint32_t leaf, const void *data,
                          size_t data_bytes)
{
    NOE_ASSERT(leaf < p->n_leaves);
    p->leaves[leaf].data = data;
    p->leaves[leaf].data_bytes = data_bytes;
}

const noe_leaf *noe_pool_leaf(const noe_pool *p, uint32_t leaf)
{
    NOE_ASSERT(leaf < p->n_leaves);
    return &p->leaves[leaf];
}

uint32_t noe_pool_n_leaves(const noe_pool *p)
{
    return p->n_leaves;
}

void noe_pool_set_open(noe_pool *p, const noe_open_sizes *open)
{
    p->open = open;
}

const noe_open_sizes *noe_pool_open(const noe_pool *p)
{
    return p->open;
}
