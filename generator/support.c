/* SPDX-License-Identifier: Apache-2.0
 *
 * Supports. Those of op(a, b) are the unions of a support of a and one of b, and the
 * new instance; one that contains another is of no use, since whatever is built upon it
 * can be built upon the other with no operator more. Supports of k operators are made
 * after level k, when all smaller ones are there to compare with; also for values of
 * lower levels and by e-nodes of lower levels.
 */
#include "generator/engine.h"

#include <stdlib.h>

static const noe_support no_support = {
    {NOE_NO_OPERAND, NOE_NO_OPERAND, NOE_NO_OPERAND, NOE_NO_OPERAND}};

int noe_support_size(const noe_support *s)
{
    int n = 0;
    while (n < NOE_MAX_SUPPORT && s->instance[n] != NOE_NO_OPERAND)
        n++;
    return n;
}

int noe_support_unite(const noe_support *a, const noe_support *b, noe_support *out)
{
    int i = 0, j = 0, n = 0;
    *out = no_support;
    for (;;) {
        uint32_t x = i < NOE_MAX_SUPPORT ? a->instance[i] : NOE_NO_OPERAND;
        uint32_t y = j < NOE_MAX_SUPPORT ? b->instance[j] : NOE_NO_OPERAND;
        if (x == NOE_NO_OPERAND && y == NOE_NO_OPERAND)
            return n;
        if (n == NOE_MAX_SUPPORT)
            return NOE_MAX_LEVEL;
        out->instance[n++] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
    }
}

static bool contains(const noe_support *large, const noe_support *small)
{
    int i = 0;
    for (int k = 0; k < NOE_MAX_SUPPORT && small->instance[k] != NOE_NO_OPERAND; k++) {
        while (i < NOE_MAX_SUPPORT && large->instance[i] < small->instance[k])
            i++;
        if (i == NOE_MAX_SUPPORT || large->instance[i] != small->instance[k])
            return false;
    }
    return true;
}

/* Supports of a value; a leaf, and no operand, has the empty one. */
static const noe_support *supports_of(const noe_universe *u, uint32_t value,
                                      uint32_t *n)
{
    *n = 1;
    if (value == NOE_NO_OPERAND || u->values[value].level == 0)
        return &no_support;
    *n = u->values[value].n_supports;
    return u->supports + u->values[value].first_support;
}

const noe_support *noe_support_at(const noe_universe *u, uint32_t value, uint32_t i)
{
    uint32_t n;
    return supports_of(u, value, &n) + i;
}

/* A support in one vector: what a level costs is mostly the comparing of supports. */
typedef uint32_t lanes __attribute__((vector_size(16)));
_Static_assert(NOE_MAX_SUPPORT == 4, "a support is a vector of four");

static int count_lanes(lanes mask)
{
    lanes ones = -mask; /* a lane of a mask is 0 or all ones */
    return (int)(ones[0] + ones[1] + ones[2] + ones[3]);
}

/* The size of the union: an instance of one is equal to at most one of the other. */
static int size_of_union(const noe_support *a, const noe_support *b)
{
    const lanes none = {NOE_NO_OPERAND, NOE_NO_OPERAND, NOE_NO_OPERAND, NOE_NO_OPERAND};
    lanes x, y;
    memcpy(&x, a->instance, sizeof x);
    memcpy(&y, b->instance, sizeof y);
    lanes alike = (lanes)(x == y) |
                  (lanes)(x == __builtin_shufflevector(y, y, 1, 2, 3, 0)) |
                  (lanes)(x == __builtin_shufflevector(y, y, 2, 3, 0, 1)) |
                  (lanes)(x == __builtin_shufflevector(y, y, 3, 0, 1, 2));
    lanes of_x = (lanes)(x != none), of_y = (lanes)(y != none);
    return count_lanes(of_x & ~alike) + count_lanes(of_y);
}

int noe_support_least(const noe_universe *u, uint32_t x, uint32_t y, uint32_t *i,
                      uint32_t *j, noe_support *out)
{
    uint32_t n_x, n_y;
    const noe_support *xs = supports_of(u, x, &n_x), *ys = supports_of(u, y, &n_y);
    /* No union is smaller than either value needs by itself. */
    int least = NOE_MAX_LEVEL + 1, bound = u->values[x].level;
    if (y != NOE_NO_OPERAND && u->values[y].level > bound)
        bound = u->values[y].level;
    for (uint32_t p = 0; p < n_x && least > bound; p++) {
        for (uint32_t q = 0; q < n_y && least > bound; q++) {
            int size = size_of_union(&xs[p], &ys[q]);
            if (size >= least)
                continue;
            least = size;
            *i = p;
            *j = q;
        }
    }
    return least <= NOE_MAX_LEVEL ? noe_support_unite(&xs[*i], &ys[*j], out) : least;
}

int noe_support_least_of(const noe_universe *u, const uint32_t *values, int n,
                         noe_support *out)
{
    uint32_t i, j, n_z;
    if (n <= 2)
        return noe_support_least(u, values[0], n == 2 ? values[1] : NOE_NO_OPERAND, &i,
                                 &j, out);
    int least = NOE_MAX_LEVEL + 1;
    uint32_t n_x, n_y;
    const noe_support *xs = supports_of(u, values[0], &n_x);
    const noe_support *ys = supports_of(u, values[1], &n_y);
    const noe_support *zs = supports_of(u, values[2], &n_z);
    for (i = 0; i < n_x * n_y; i++) {
        noe_support two;
        if (noe_support_unite(&xs[i / n_y], &ys[i % n_y], &two) >= NOE_MAX_LEVEL)
            continue;
        for (j = 0; j < n_z; j++) {
            noe_support all;
            int size = noe_support_unite(&two, &zs[j], &all);
            if (size >= least)
                continue;
            least = size;
            *out = all;
        }
    }
    return least;
}

static int compare_cuts(const void *x, const void *y)
{
    const noe_cut *a = x, *b = y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->move != b->move)
        return a->move < b->move ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Numbers the cuts made at this level. Their operands are values of the level before,
 * so they come after all others. */
static void number_cuts(noe_universe *u, int level)
{
    uint32_t old = u->n_cuts;
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        if (x->level != level || u->space->moves[x->move].kind != NOE_MOVE_LOW)
            continue;
        uint32_t high = noe_universe_find(u, x->move + 1u, x->a, x->b, 0);
        NOE_ASSERT(high != NOE_NO_OPERAND);
        noe_cut c = {x->a, x->b, x->value, u->enodes[high].value, x->move};
        NOE_PUSH(u->cuts, u->n_cuts, u->cap_cuts, c);
    }
    if (u->n_cuts > old)
        qsort(u->cuts + old, u->n_cuts - old, sizeof *u->cuts, compare_cuts);
}

static uint32_t instance_of(const noe_universe *u, const noe_enode *e)
{
    noe_move_kind kind = u->space->moves[e->move].kind;
    if (kind == NOE_MOVE_PLAIN)
        return e->value;
    noe_cut wanted = {.a = e->a, .at = e->b, .move = e->move};
    wanted.move = (uint16_t)(e->move - (kind == NOE_MOVE_HIGH));
    const noe_cut *c = bsearch(&wanted, u->cuts, u->n_cuts, sizeof *c, compare_cuts);
    NOE_ASSERT(c);
    return NOE_CUT_INSTANCE | (uint32_t)(c - u->cuts);
}

/* The supports of a run of values. */
typedef struct block {
    noe_support *s;
    uint32_t n, cap;
} block;

typedef struct extension {
    noe_universe *u;
    int level;
    block *blocks;
    uint32_t *counts; /* by value */
} extension;

#define VALUES_PER_BLOCK 256

/* Adds s to those of one value, from `first` on, unless it is there or useless. The
 * first one is that of the representative, so that it is the graph that is shown. */
static void add_support(const extension *x, uint32_t value, block *b, uint32_t first,
                        const noe_support *s)
{
    const noe_universe *u = x->u;
    const noe_gen_value *v = &u->values[value];
    for (uint32_t i = 0; i < v->n_supports; i++) {
        if (contains(s, &u->supports[v->first_support + i]))
            return;
    }
    for (uint32_t i = first; i < b->n; i++) {
        if (memcmp(&b->s[i], s, sizeof *s) == 0)
            return;
    }
    NOE_PUSH(b->s, b->n, b->cap, *s);
}

static int compare_supports(const void *x, const void *y)
{
    const noe_support *a = x, *b = y;
    for (int i = 0; i < NOE_MAX_SUPPORT; i++) {
        if (a->instance[i] != b->instance[i])
            return a->instance[i] < b->instance[i] ? -1 : 1;
    }
    return 0;
}

/* The support of the operands, which has `size` instances, and the new one. */
static void add_union(const extension *x, uint32_t value, block *b, uint32_t first,
                      const noe_support *operands, int size, const noe_support *self)
{
    noe_support all;
    if (size == x->level - 1 && noe_support_unite(operands, self, &all) == x->level)
        add_support(x, value, b, first, &all);
}

/* All unions of level - 1 operators over the operands of e, with e. */
static void extend_by(const extension *x, const noe_enode *e, block *b, uint32_t first)
{
    const noe_universe *u = x->u;
    uint32_t n_a, n_b, n_c;
    int n_in = u->space->moves[e->move].n_in;
    const noe_support *as = supports_of(u, e->a, &n_a);
    const noe_support *bs = supports_of(u, n_in > 1 ? e->b : NOE_NO_OPERAND, &n_b);
    const noe_support *cs = supports_of(u, n_in > 2 ? e->c : NOE_NO_OPERAND, &n_c);
    if (e->level < x->level && n_a == 1 && n_b == 1 && n_c == 1)
        return; /* just one union, and it is smaller */
    noe_support self = no_support;
    self.instance[0] = instance_of(u, e);
    for (uint32_t i = 0; i < n_a; i++) {
        for (uint32_t j = 0; j < n_b; j++) {
            noe_support both, three;
            int size = noe_support_unite(&as[i], &bs[j], &both);
            if (n_in <= 2) {
                add_union(x, e->value, b, first, &both, size, &self);
                continue;
            }
            for (uint32_t k = 0; k < n_c && size < x->level; k++) {
                int all = noe_support_unite(&both, &cs[k], &three);
                add_union(x, e->value, b, first, &three, all, &self);
            }
        }
    }
}

static void extend_block(void *arg, int thread, uint32_t item)
{
    (void)thread;
    const extension *x = arg;
    const noe_universe *u = x->u;
    block *b = &x->blocks[item];
    uint32_t end = (item + 1) * VALUES_PER_BLOCK;
    for (uint32_t v = item * VALUES_PER_BLOCK; v < end && v < u->n_values; v++) {
        uint32_t first = b->n;
        x->counts[v] = 0;
        if (u->values[v].level == 0 || u->values[v].is_closed)
            continue;
        for (uint32_t e = u->classes[v].first; e; e = u->enodes[e - 1].next)
            extend_by(x, &u->enodes[e - 1], b, first);
        x->counts[v] = b->n - first;
        /* The first union of the representative stays in front. */
        if (b->n > first + 1)
            qsort(b->s + first + 1, b->n - first - 1, sizeof *b->s, compare_supports);
    }
}

static uint64_t mask_of(const noe_support *s)
{
    uint64_t mask = 0;
    for (int i = 0; i < NOE_MAX_SUPPORT && s->instance[i] != NOE_NO_OPERAND; i++)
        mask |= UINT64_C(1) << (noe_mix64(s->instance[i]) & 63);
    return mask;
}

/* Old and new supports of each value, together. */
static void rebuild(extension *x)
{
    noe_universe *u = x->u;
    uint64_t n_new = 0;
    for (uint32_t v = 0; v < u->n_values; v++)
        n_new += x->counts[v];
    uint64_t n = u->n_supports + n_new;
    NOE_ASSERT(n < UINT32_MAX);
    noe_support *all = noe_malloc((n + 1) * sizeof *all);
    uint32_t *owners = noe_malloc((n + 1) * sizeof *owners), at = 0, from = 0;
    for (uint32_t v = 0; v < u->n_values; v++) {
        noe_gen_value *value = &u->values[v];
        if (v % VALUES_PER_BLOCK == 0)
            from = 0;
        uint32_t n_old = value->n_supports, count = n_old + x->counts[v];
        if (n_old)
            memcpy(all + at, u->supports + value->first_support, n_old * sizeof *all);
        if (x->counts[v])
            memcpy(all + at + n_old, x->blocks[v / VALUES_PER_BLOCK].s + from,
                   x->counts[v] * sizeof *all);
        from += x->counts[v];
        value->first_support = at;
        value->n_supports = count;
        for (; count--; at++) {
            owners[at] = v;
            value->mask |= mask_of(&all[at]);
        }
    }
    free(u->supports);
    free(u->owners);
    u->supports = all;
    u->owners = owners;
    u->n_supports = at;
}

void noe_supports_extend(noe_universe *u, int level, int n_threads)
{
    uint32_t n_blocks = u->n_values / VALUES_PER_BLOCK + 1;
    number_cuts(u, level);
    extension x = {u, level, noe_calloc(n_blocks, sizeof *x.blocks),
                   noe_calloc(u->n_values + 1, sizeof *x.counts)};
    noe_parallel_for(n_threads, n_blocks, extend_block, &x);
    rebuild(&x);
    for (uint32_t i = 0; i < n_blocks; i++)
        free(x.blocks[i].s);
    free(x.blocks);
    free(x.counts);
}
