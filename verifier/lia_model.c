/* SPDX-License-Identifier: Apache-2.0
 *
 * A formula that does not hold is repaired by changing one symbol that it depends on:
 * by as much as it lacks where the symbol occurs linearly, else at random. A few dozen
 * repairs either end in a model or are given up (Selman, Kautz and Cohen's WalkSAT, on
 * integers). Values are checked by evaluation, so that a model is one whatever led to
 * it; numbers stay small, so that nothing overflows.
 */
#include "verifier/lia_model.h"
#include "core/base/rng.h"
#include <stdlib.h>

#define MAX_REPAIRS 60
#define N_STARTS    2
#define MAX_VALUE   1000
#define MAX_DEPTH   12

struct noe_model {
    const noe_terms *terms;
    int64_t *value; /* of symbols */
    uint32_t cap;
    noe_rng rng;
    bool failed; /* a term has no value, or a large one */
};

noe_model *noe_model_new(const noe_terms *terms)
{
    noe_model *m = noe_calloc(1, sizeof *m);
    m->terms = terms;
    return m;
}

void noe_model_free(noe_model *m)
{
    if (!m)
        return;
    free(m->value);
    free(m);
}

/* Evaluation */

static int64_t eval_poly(noe_model *m, noe_poly p);

/* Some list whose entries are within their bounds. */
static int64_t eval_entry(noe_model *m, int64_t list, int64_t index)
{
    int64_t most = INT64_MAX;
    noe_poly length, bound;
    for (int i = 0; noe_terms_nth_range(m->terms, list, i, &length, &bound); i++) {
        int64_t below = eval_poly(m, bound);
        if (index >= 0 && index < eval_poly(m, length))
            most = below < most ? below : most;
    }
    m->failed |= most < 1;
    if (most < 1 || most == INT64_MAX)
        return 0;
    return (int64_t)(noe_mix64((uint64_t)(list * 1000 + index)) % (uint64_t)most);
}

static int64_t eval_atom(noe_model *m, const noe_atom *a)
{
    if (a->kind == NOE_ATOM_SYMBOL)
        return m->value[a->a];
    int64_t x = eval_poly(m, a->a), y;
    switch (a->kind) {
    case NOE_ATOM_DIV:
        y = eval_poly(m, a->b);
        m->failed |= y < 1;
        return y < 1 ? 0 : x / y - (x % y < 0);
    case NOE_ATOM_CLAMP:
        return x == 1 ? 0 : eval_poly(m, a->b);
    case NOE_ATOM_BROADCAST:
        return x == 1 ? eval_poly(m, a->b) : x;
    case NOE_ATOM_ENTRY:
        return eval_entry(m, x, eval_poly(m, a->b));
    default:
        return x >= 0 ? eval_poly(m, a->b) : eval_poly(m, a->c);
    }
}

static int64_t eval_poly(noe_model *m, noe_poly p)
{
    int n;
    int64_t sum = 0;
    const noe_monomial *mono = noe_poly_monomials(m->terms, p, &n);
    for (int i = 0; i < n && !m->failed; i++) {
        int64_t part = mono[i].coef;
        const noe_product *product =
            mono[i].product ? noe_terms_product(m->terms, mono[i].product) : NULL;
        for (uint32_t k = 0; product && k < product->n; k++)
            m->failed |= __builtin_mul_overflow(
                part, eval_atom(m, noe_terms_atom(m->terms, product->atom[k])), &part);
        m->failed |= __builtin_add_overflow(sum, part, &sum);
    }
    return m->failed ? 0 : sum;
}

static bool holds(noe_model *m, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(m->terms, f);
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
        return true;
    case NOE_FORMULA_FALSE:
        return false;
    case NOE_FORMULA_GE:
        return eval_poly(m, n->a) >= 0;
    case NOE_FORMULA_EQ:
        return eval_poly(m, n->a) == 0;
    case NOE_FORMULA_NOT:
        return !holds(m, n->a);
    case NOE_FORMULA_AND:
        return holds(m, n->a) && holds(m, n->b);
    default:
        return holds(m, n->a) || holds(m, n->b);
    }
}

/* Repairs */

static int64_t below(noe_model *m, int64_t n)
{
    return (int64_t)noe_rng_below(&m->rng, (uint64_t)n);
}

static void set(noe_model *m, noe_symbol s, int64_t value)
{
    if (value < 0 && noe_symbol_is_natural(m->terms, s))
        value = 0;
    m->value[s] = value > MAX_VALUE    ? MAX_VALUE
                  : value < -MAX_VALUE ? -MAX_VALUE
                                       : value;
}

/* Adds delta to the polynomial, or tries. */
static void change(noe_model *m, noe_poly p, int64_t delta, int depth)
{
    int n;
    const noe_monomial *mono = noe_poly_monomials(m->terms, p, &n);
    if (n == 0 || depth > MAX_DEPTH)
        return;
    const noe_monomial *chosen = &mono[below(m, n)];
    if (chosen->product == 0)
        chosen = &mono[n - 1]; /* the constant comes first, if at all */
    if (chosen->product == 0)
        return;
    const noe_product *product = noe_terms_product(m->terms, chosen->product);
    uint32_t k = product->n > 1 ? (uint32_t)below(m, product->n) : 0;
    const noe_atom *a = noe_terms_atom(m->terms, product->atom[k]);
    int64_t c = chosen->coef, step = delta / c;
    step += delta % c != 0 ? ((delta < 0) != (c < 0) ? -1 : 1) : 0;
    if (a->kind != NOE_ATOM_SYMBOL) {
        noe_poly part = below(m, 2) ? a->a : a->b;
        change(m, part, step, depth + 1);
    } else if (product->n > 1) {
        set(m, a->a, below(m, 4));
    } else {
        set(m, a->a, m->value[a->a] + step);
    }
}

static void repair(noe_model *m, noe_formula f, bool want)
{
    const noe_formula_node *n = noe_terms_formula(m->terms, f);
    int64_t value;
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
    case NOE_FORMULA_FALSE:
        return;
    case NOE_FORMULA_GE:
        value = eval_poly(m, n->a);
        change(m, n->a, want ? -value : -value - 1, 0);
        return;
    case NOE_FORMULA_EQ:
        value = eval_poly(m, n->a);
        change(m, n->a, want ? -value : below(m, 2) ? 1 : -1, 0);
        return;
    case NOE_FORMULA_NOT:
        repair(m, n->a, !want);
        return;
    default:
        break;
    }
    /* Both parts must be as wanted, or one of them. */
    if ((n->kind == NOE_FORMULA_AND) == want)
        repair(m, holds(m, n->a) != want ? n->a : n->b, want);
    else
        repair(m, below(m, 2) ? n->a : n->b, want);
}

/* Search */

typedef struct task {
    int n_lists;
    const noe_formula *const *lists;
    const int *n;
    int n_terms;
    const int64_t *coef;
    const noe_formula *guard;
} task;

static bool balances(noe_model *m, const task *t)
{
    int64_t sum = 0;
    for (int i = 0; i < t->n_terms; i++)
        sum += holds(m, t->guard[i]) ? t->coef[i] : 0;
    return t->n_terms > 0 && sum == 0;
}

/* Repairs one violated formula; false if there is none. */
static bool improve(noe_model *m, const task *t)
{
    for (int l = 0; l < t->n_lists; l++) {
        for (int i = 0; i < t->n[l]; i++) {
            if (holds(m, t->lists[l][i]))
                continue;
            repair(m, t->lists[l][i], true);
            return true;
        }
    }
    if (!balances(m, t))
        return false;
    noe_formula guard = t->guard[below(m, t->n_terms)];
    repair(m, guard, !holds(m, guard));
    return true;
}

static bool search(noe_model *m, const task *t, uint32_t n_symbols, int start)
{
    for (uint32_t i = 0; i < n_symbols; i++)
        m->value[i] = start == 0 ? 2 + (int64_t)i % 3 : below(m, 5);
    m->failed = false;
    for (int i = 0; i < MAX_REPAIRS && !m->failed; i++) {
        if (!improve(m, t))
            return !m->failed;
    }
    return false;
}

static uint32_t make_room(noe_model *m)
{
    uint32_t n_symbols = noe_terms_n_symbols(m->terms);
    if (n_symbols > m->cap) {
        m->cap = 2 * n_symbols;
        m->value = noe_realloc(m->value, m->cap * sizeof *m->value);
    }
    return n_symbols;
}

bool noe_model_exists(noe_model *m, int n_lists, const noe_formula *const *lists,
                      const int *n, int n_terms, const int64_t *coef,
                      const noe_formula *guard)
{
    task t = {n_lists, lists, n, n_terms, coef, guard};
    uint32_t n_symbols = make_room(m);
    m->rng = noe_rng_split(1, "model", 0);
    for (int start = 0; start < N_STARTS; start++) {
        if (search(m, &t, n_symbols, start))
            return true;
    }
    return false;
}

bool noe_model_find(noe_model *m, int n_lists, const noe_formula *const *lists,
                    const int *n, uint64_t seed)
{
    task t = {n_lists, lists, n, 0, NULL, NULL};
    uint32_t n_symbols = make_room(m);
    m->rng = noe_rng_split(seed, "model", 1);
    for (int start = 0; start < N_STARTS; start++) {
        if (search(m, &t, n_symbols, start + (seed > 0)))
            return true;
    }
    return false;
}

bool noe_model_value(noe_model *m, noe_poly p, int64_t *value)
{
    m->failed = false;
    *value = eval_poly(m, p);
    return !m->failed && *value <= MAX_VALUE && *value >= -MAX_VALUE;
}
