/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases by signs: relu(e) is e where e >= 0, and 0 where e <= 0. What is left is then 0
 * as a consequence of the signs, if it is: products of factors are taken for unknown
 * real numbers, of which some are known not to be negative. A system of such conditions
 * has rational solutions if it has any, so that with the number 1 as a positive
 * unknown, and everything multiplied by it, integers answer.
 */
#include "verifier/lia_law_tools.h"

#define MAX_UNKNOWNS 64

static const noe_sum *replace(noe_algebra *a, const noe_sum *x, const noe_factor *f,
                              const noe_sum *by);

/* The factor g as a sum, with f inside replaced. */
static const noe_sum *replace_inside(noe_algebra *a, const noe_factor *g,
                                     const noe_factor *f, const noe_sum *by)
{
    if (noe_factor_same(a, g, f))
        return by;
    if (g->kind == NOE_FACTOR_APPLY)
        return noe_law_apply(a, (noe_op)g->id, replace(a, g->arg, f, by));
    if (g->kind != NOE_FACTOR_MAXIMUM)
        return noe_sum_of_factor(a, g);
    noe_family *m = noe_arena_memdup(a->arena, g->family, (size_t)g->n * sizeof *m);
    for (int i = 0; i < g->n; i++)
        m[i].arg = replace(a, m[i].arg, f, by);
    return noe_law_maximum(a, g->n, m);
}

static const noe_sum *replace(noe_algebra *a, const noe_sum *x, const noe_factor *f,
                              const noe_sum *by)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        const noe_summand *s = x->of[i];
        const noe_sum *parts[NOE_LAW_MAX_FACTORS];
        const noe_factor *rest[NOE_LAW_MAX_FACTORS];
        int n_parts = 0, n_rest = 0;
        for (int k = 0; k < s->n_factors && k < NOE_LAW_MAX_FACTORS; k++) {
            const noe_factor *g = s->factor[k];
            if (g->kind == NOE_FACTOR_APPLY || g->kind == NOE_FACTOR_MAXIMUM)
                parts[n_parts++] = replace_inside(a, g, f, by);
            else
                rest[n_rest++] = g;
        }
        s = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards, s->guard,
                             n_rest, rest);
        sum = noe_sum_add(a, sum, noe_law_times(a, s, n_parts, parts));
    }
    return sum;
}

const noe_sum *noe_law_with_factor(noe_algebra *a, const noe_sum *x,
                                   const noe_factor *f, const noe_sum *by)
{
    return replace(a, x, f, by);
}

/* Symbols bound by what is around. */
typedef struct scope {
    int n;
    noe_symbol of[64];
} scope;

static const noe_factor *sign_in(const noe_algebra *a, const noe_sum *x,
                                 const scope *sc)
{
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        scope inside = *sc;
        for (int b = 0; b < s->n_bound && inside.n < 64; b++)
            inside.of[inside.n++] = s->bound[b];
        for (int k = 0; k < s->n_factors; k++) {
            const noe_factor *f = s->factor[k];
            const noe_factor *in =
                f->kind == NOE_FACTOR_APPLY ? sign_in(a, f->arg, &inside) : NULL;
            if (in)
                return in;
            bool free = noe_factor_is(f, NOE_OP_RELU) && inside.n < 64;
            for (int b = 0; b < inside.n && free; b++)
                free = !noe_factor_mentions(a, f, inside.of[b]);
            if (free)
                return f;
        }
    }
    return NULL;
}

/* A factor relu(e) that no bound symbol varies, with none inside; NULL: none. */
const noe_factor *noe_law_sign_in(const noe_algebra *a, const noe_sum *x)
{
    scope none = {.n = 0};
    return sign_in(a, x, &none);
}

/* A summand of x without guards divides by 0: a side exists nowhere. Not told where
 * conditions choose what is asked for. */
bool noe_law_exists_nowhere(const noe_algebra *a, const noe_sum *x)
{
    bool nowhere = false;
    (void)a;
    for (int i = 0; i < x->n; i++) {
        for (int k = 0; k < x->of[i]->n_factors; k++) {
            const noe_factor *f = x->of[i]->factor[k];
            if (noe_factor_is(f, NOE_OP_WHERE))
                return false;
            nowhere |= noe_factor_is(f, NOE_OP_RECIPROCAL) && f->arg->n == 0 &&
                       x->of[i]->n_guards == 0 && x->of[i]->n_bound == 0;
        }
    }
    return nowhere;
}

/* Consequences */

typedef struct unknowns {
    int n;
    const noe_summand *of[MAX_UNKNOWNS];
    noe_poly is[MAX_UNKNOWNS];
} unknowns;

static bool unknown_of(noe_algebra *a, unknowns *u, const noe_summand *s, noe_poly *p)
{
    noe_rational one = {1, 1};
    for (int i = 0; i < u->n; i++) {
        if (noe_summand_same(a, u->of[i], s)) {
            *p = u->is[i];
            return true;
        }
    }
    if (u->n == MAX_UNKNOWNS)
        return false;
    const noe_summand *unit = noe_summand_make(
        a, one, s->n_bound, s->bound, s->n_guards, s->guard, s->n_factors, s->factor);
    noe_symbol x = noe_terms_symbol(a->terms, noe_law_is_natural(a, unit));
    u->of[u->n] = s;
    *p = u->is[u->n++] = noe_poly_symbol(a->terms, x);
    return true;
}

/* x times a positive number, with unknowns for products; false: that is too much. */
static bool as_poly(noe_algebra *a, unknowns *u, const noe_sum *x, noe_poly *p)
{
    int64_t den = 1;
    *p = noe_poly_int(a->terms, 0);
    for (int i = 0; i < x->n; i++) {
        if (den % x->of[i]->coef.den != 0)
            den *= x->of[i]->coef.den;
        if (den > 1000000)
            return false;
    }
    for (int i = 0; i < x->n; i++) {
        noe_rational c = x->of[i]->coef;
        noe_poly y;
        if (c.num > 1000000 || c.num < -1000000 || !unknown_of(a, u, x->of[i], &y))
            return false;
        *p = noe_poly_add(a->terms, *p,
                          noe_poly_scale(a->terms, y, c.num * (den / c.den)));
    }
    return true;
}

#define MAX_GIVEN 15
#define MAX_KNOWN 48

/* Sums that are >= 0. */
typedef struct known {
    int n;
    const noe_sum *of[MAX_KNOWN];
} known;

static void add_known(known *k, const noe_sum *x)
{
    if (k->n < MAX_KNOWN && x->n > 0)
        k->of[k->n++] = x;
}

/* 1 if x is a positive multiple of what is known to be >= 0, -1 if -x is, else 0. */
static int sign_of(noe_algebra *a, const known *k, int n, const noe_sum *x)
{
    for (int i = 0; i < n && x->n > 0; i++) {
        const noe_sum *y = k->of[i];
        noe_rational by = noe_rational_mul(a, x->of[0]->coef,
                                           noe_rational_inverse(a, y->of[0]->coef));
        if (y->n == x->n && noe_sum_same(a, x, noe_sum_scale(a, y, by)))
            return by.num > 0 ? 1 : -1;
    }
    return 0;
}

/* Functions that go from 0 up keep signs: what f(e) is above f(0), by the sign of e. */
static void add_monotone(noe_algebra *a, known *k, int n, const noe_sum *x)
{
    noe_rational one = {1, 1}, half = {-1, 2};
    for (int i = 0; i < x->n; i++) {
        for (int j = 0; j < x->of[i]->n_factors; j++) {
            const noe_factor *f = x->of[i]->factor[j];
            bool from_half = noe_factor_is(f, NOE_OP_SIGMOID);
            if (!from_half && !noe_factor_is(f, NOE_OP_ERF))
                continue;
            int sign = sign_of(a, k, n, f->arg);
            const noe_sum *above = noe_sum_of_factor(a, f);
            if (from_half)
                above = noe_sum_add(a, above, noe_sum_number(a, half));
            one.num = sign;
            if (sign != 0)
                add_known(k, noe_sum_scale(a, above, one));
        }
    }
}

/* What follows from the given: products of two, and values of monotone functions. */
static void add_consequences(noe_algebra *a, known *k, int n, const noe_sum *x)
{
    for (int i = 0; i < n; i++)
        add_monotone(a, k, n, k->of[i]);
    add_monotone(a, k, n, x);
    n = k->n;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++)
            add_known(k, noe_sum_mul(a, k->of[i], k->of[j]));
    }
}

bool noe_law_zero_by_signs(noe_algebra *a, int n, const noe_sum *const *natural,
                           const noe_sum *x)
{
    unknowns u = {.n = 0};
    known all = {.n = 0};
    noe_formula f[MAX_KNOWN + 2];
    int k = 0;
    noe_poly one, p;
    const noe_sum *unit = noe_sum_number(a, (noe_rational){1, 1});
    if (n > MAX_GIVEN || !unknown_of(a, &u, unit->of[0], &one))
        return false;
    for (int i = 0; i < n; i++)
        add_known(&all, natural[i]);
    add_consequences(a, &all, all.n, x);
    f[k++] = noe_formula_ge(a->terms, one, noe_poly_int(a->terms, 1));
    for (int i = 0; i < all.n; i++) {
        if (!as_poly(a, &u, all.of[i], &p)) {
            if (i < n)
                return false;
            continue;
        }
        f[k++] = noe_formula_ge(a->terms, p, noe_poly_int(a->terms, 0));
    }
    if (!as_poly(a, &u, x, &p))
        return false;
    f[k] = noe_formula_ge(a->terms, p, noe_poly_int(a->terms, 1));
    if (!noe_query_refutes(a->query, f, k + 1))
        return false;
    f[k] = noe_formula_ge(a->terms, noe_poly_int(a->terms, -1), p);
    return noe_query_refutes(a->query, f, k + 1);
}
