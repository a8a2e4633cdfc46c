/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed instances by guessing: ranks and equal sizes from the condition, the other
 * sizes from a tiny set, so that what has to fit does so by chance. For rules whose
 * shapes the goal-directed search cannot choose one after the other: chains of windows
 * whose sizes and groups are terms over several variables. What is found is then varied
 * one or two sizes at a time, so that sizes that need not be equal are not.
 */
#include "core/instance_search.h"

#define MAX_SLOTS    (NOE_RULE_MAX_VARS * NOE_MAX_RANK)
#define MAX_RANK     4
#define MAX_ELEMENTS 2500 /* of any node */

typedef struct guess {
    const noe_rule *rule;
    noe_rng *rng;
    noe_instance *inst;
    noe_dtype dtype[NOE_RULE_MAX_VARS];
    int rank[NOE_RULE_MAX_VARS];
    int64_t size[MAX_SLOTS]; /* of a class of slots, at its root */
    int root[MAX_SLOTS];
    bool is_fixed[MAX_SLOTS];
} guess;

static int slot_of(int var, int axis)
{
    return var * NOE_MAX_RANK + axis;
}

static int root_of(const guess *g, int slot)
{
    while (g->root[slot] != slot)
        slot = g->root[slot];
    return slot;
}

static void join(guess *g, int a, int b)
{
    int x = root_of(g, a), y = root_of(g, b);
    if (x == y)
        return;
    g->root[x] = y;
    if (g->is_fixed[x]) {
        g->is_fixed[y] = true;
        g->size[y] = g->size[x];
    }
}

/* The slot that dim(?v, k) is, or -1. */
static int slot_of_term(const guess *g, const noe_term *t)
{
    if (t->kind != NOE_TERM_DIM || g->rule->terms[t->kids[0]].kind != NOE_TERM_INT)
        return -1;
    int64_t k = g->rule->terms[t->kids[0]].i;
    k += k < 0 ? g->rank[t->var] : 0;
    return k < 0 || k >= g->rank[t->var] ? -1 : slot_of(t->var, (int)k);
}

typedef void fact_fn(guess *g, const noe_term *a, const noe_term *b);

static void each_fact(guess *g, uint16_t term, fact_fn *fn)
{
    const noe_term *t = &g->rule->terms[term];
    if (t->kind == NOE_TERM_AND) {
        each_fact(g, t->kids[0], fn);
        each_fact(g, t->kids[1], fn);
    } else if (t->kind == NOE_TERM_EQ) {
        const noe_term *a = &g->rule->terms[t->kids[0]];
        const noe_term *b = &g->rule->terms[t->kids[1]];
        fn(g, a, b);
        fn(g, b, a);
    }
}

static void use_rank(guess *g, const noe_term *a, const noe_term *b)
{
    if (a->kind == NOE_TERM_RANK && b->kind == NOE_TERM_INT && b->i >= 0 &&
        b->i <= NOE_MAX_RANK)
        g->rank[a->var] = (int)b->i;
    if ((a->kind == NOE_TERM_RANK && b->kind == NOE_TERM_RANK) ||
        (a->kind == NOE_TERM_SHAPE && b->kind == NOE_TERM_SHAPE))
        g->rank[a->var] = g->rank[b->var];
}

static void use_size(guess *g, const noe_term *a, const noe_term *b)
{
    if (a->kind == NOE_TERM_SHAPE && b->kind == NOE_TERM_SHAPE) {
        for (int k = 0; k < g->rank[a->var] && k < g->rank[b->var]; k++)
            join(g, slot_of(a->var, k), slot_of(b->var, k));
        return;
    }
    int x = slot_of_term(g, a), y = slot_of_term(g, b);
    if (x >= 0 && y >= 0) {
        join(g, x, y);
    } else if (x >= 0 && b->kind == NOE_TERM_INT) {
        g->is_fixed[root_of(g, x)] = true;
        g->size[root_of(g, x)] = b->i;
    }
}

static void choose_sizes(guess *g)
{
    static const int64_t sets[][4] = {{2, 3, 2, 3}, {1, 2, 2, 1}, {2, 4, 2, 4},
                                      {2, 2, 2, 2}, {3, 6, 2, 1}, {2, 3, 4, 5}};
    const int64_t *set = sets[noe_rng_below(g->rng, sizeof sets / sizeof *sets)];
    for (int i = 0; i < MAX_SLOTS; i++) {
        if (g->root[i] == i && !g->is_fixed[i])
            g->size[i] = set[noe_rng_below(g->rng, 4)];
    }
}

static bool fits(guess *g)
{
    const noe_rule *r = g->rule;
    noe_binding *b = &g->inst->binding;
    for (int v = 0; v < r->n_vars; v++) {
        b->bound[v] = true;
        b->type[v] = (noe_type){g->dtype[v], {.rank = g->rank[v]}};
        for (int k = 0; k < g->rank[v]; k++)
            b->type[v].shape.dim[k] = g->size[root_of(g, slot_of(v, k))];
    }
    if (!noe_instance_check(r, g->inst, false))
        return false;
    for (int i = 0; i < r->n_nodes; i++) {
        if (noe_shape_elements(&g->inst->type[i].shape) > MAX_ELEMENTS)
            return false;
    }
    return true;
}

/* Another size for class a, or for a and b together; kept if it fits. */
static bool vary(guess *g, int a, int b, int64_t size)
{
    int64_t was_a = g->size[a], was_b = g->size[b];
    g->size[a] = g->size[b] = size;
    if (fits(g))
        return true;
    g->size[a] = was_a;
    g->size[b] = was_b;
    return false;
}

static void spread(guess *g)
{
    int open[MAX_SLOTS], n = 0;
    for (int v = 0; v < g->rule->n_vars; v++) {
        for (int k = 0; k < g->rank[v]; k++) {
            int c = root_of(g, slot_of(v, k));
            bool is_new = !g->is_fixed[c];
            for (int i = 0; i < n && is_new; i++)
                is_new = open[i] != c;
            if (is_new)
                open[n++] = c;
        }
    }
    int64_t size = 3;
    for (int i = 0; i < n; i++) {
        bool done = vary(g, open[i], open[i], size);
        for (int k = i + 1; k < n && !done; k++)
            done = vary(g, open[i], open[k], size);
        size += done;
    }
}

bool noe_instance_guess(const noe_rule *rule, noe_rng *rng, bool wants_spread,
                        noe_instance *inst)
{
    guess g = {.rule = rule, .rng = rng, .inst = inst};
    if (rule->n_pvars)
        return false;
    memset(inst->binding.bound, 0, sizeof inst->binding.bound);
    memset(inst->binding.pbound, 0, sizeof inst->binding.pbound);
    if (!noe_instance_types(rule, rng, g.dtype, &inst->binding))
        return false;
    for (int v = 0; v < rule->n_vars; v++)
        g.rank[v] = (int)noe_rng_below(rng, MAX_RANK + 1);
    for (int i = 0; i < MAX_SLOTS; i++)
        g.root[i] = i;
    for (int i = 0; rule->where != NOE_TERM_ABSENT && i < 2; i++)
        each_fact(&g, rule->where, use_rank);
    if (rule->where != NOE_TERM_ABSENT)
        each_fact(&g, rule->where, use_size);
    choose_sizes(&g);
    if (!fits(&g))
        return false;
    if (wants_spread)
        spread(&g);
    return fits(&g); /* inst is of the last try, which need not be the one kept */
}
