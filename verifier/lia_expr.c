/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: sums by cases. Functions are applied case by case; sums and maxima over
 * bound symbols turn cases into guards.
 */
#include "verifier/lia_laws.h"

#define MAX_CASES 256

static const noe_expr *keep_expr(noe_algebra *a, int n, const noe_case *of)
{
    noe_expr *e = noe_arena_alloc(a->arena, sizeof *e);
    if (n > MAX_CASES)
        noe_algebra_give_up(a, "too many cases");
    *e = (noe_expr){n, noe_arena_memdup(a->arena, of, (size_t)n * sizeof *of)};
    return e;
}

const noe_expr *noe_expr_of_sum(noe_algebra *a, const noe_sum *s)
{
    noe_case c = {0, NULL, s};
    return keep_expr(a, 1, &c);
}

/* Both guards, NULL guard list if they contradict each other. */
static bool join_guards(noe_algebra *a, int n, const noe_formula *x, int m,
                        const noe_formula *y, int *n_out, const noe_formula **out)
{
    noe_formula *g = noe_arena_alloc(a->arena, (size_t)(n + m + 1) * sizeof *g);
    int k = 0;
    for (int i = 0; i < n + m; i++) {
        noe_formula f = i < n ? x[i] : y[i - n];
        if (f == NOE_FORMULA_FALSE_ID)
            return false;
        noe_formula not = noe_formula_not(a->terms, f);
        for (int j = 0; j < k; j++) {
            if (g[j] == not )
                return false;
        }
        if (f != NOE_FORMULA_TRUE_ID)
            g[k++] = f;
    }
    *n_out = noe_guards_tidy(g, k);
    *out = g;
    return true;
}

/* The summand where more guards hold; NULL where they never do. */
static const noe_summand *restrict_summand(noe_algebra *a, const noe_summand *s, int n,
                                           const noe_formula *guard)
{
    int n_guards;
    const noe_formula *g;
    if (!join_guards(a, s->n_guards, s->guard, n, guard, &n_guards, &g))
        return NULL;
    return noe_summand_make(a, s->coef, s->n_bound, s->bound, n_guards, g, s->n_factors,
                            s->factor);
}

/* All cases as one sum with guards, more guards and more bound symbols added. */
static const noe_sum *flatten(noe_algebra *a, const noe_expr *x, int n_bound,
                              const noe_symbol *bound, int n_guards,
                              const noe_formula *guard)
{
    const noe_sum *sum = noe_sum_make(a, 0, NULL);
    for (int i = 0; i < x->n; i++) {
        const noe_case *c = &x->of[i];
        for (int k = 0; k < c->sum->n; k++) {
            const noe_summand *s =
                restrict_summand(a, c->sum->of[k], c->n_guards, c->guard);
            if (s)
                s = restrict_summand(a, s, n_guards, guard);
            if (!s)
                continue;
            noe_symbol *all = noe_arena_alloc(
                a->arena, (size_t)(s->n_bound + n_bound + 1) * sizeof *all);
            memcpy(all, s->bound, (size_t)s->n_bound * sizeof *all);
            if (n_bound)
                memcpy(all + s->n_bound, bound, (size_t)n_bound * sizeof *all);
            s = noe_summand_make(a, s->coef, s->n_bound + n_bound, all, s->n_guards,
                                 s->guard, s->n_factors, s->factor);
            sum = noe_sum_add(a, sum, noe_law_simplify(a, s));
        }
    }
    return sum;
}

const noe_expr *noe_expr_guarded(noe_algebra *a, const noe_expr *x, int n,
                                 const noe_formula *guard)
{
    return noe_expr_of_sum(a, flatten(a, x, 0, NULL, n, guard));
}

const noe_expr *noe_expr_total(noe_algebra *a, int n_bound, const noe_symbol *bound,
                               int n_guards, const noe_formula *guard,
                               const noe_expr *x)
{
    return noe_expr_of_sum(a, flatten(a, x, n_bound, bound, n_guards, guard));
}

const noe_expr *noe_expr_maximum(noe_algebra *a, int n_bound, const noe_symbol *bound,
                                 int n_guards, const noe_formula *guard,
                                 const noe_expr *x)
{
    noe_family *m = noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *m);
    bound = noe_arena_memdup(a->arena, bound, (size_t)n_bound * sizeof *bound);
    int k = 0;
    for (int i = 0; i < x->n; i++) {
        m[k] = (noe_family){.n_bound = n_bound, .bound = bound, .arg = x->of[i].sum};
        k += join_guards(a, n_guards, guard, x->of[i].n_guards, x->of[i].guard,
                         &m[k].n_guards, &m[k].guard);
    }
    return noe_expr_of_sum(a, noe_law_maximum(a, k, m));
}

const noe_expr *noe_expr_choose(noe_algebra *a, noe_formula f, const noe_expr *x,
                                const noe_expr *y)
{
    noe_case *c = noe_arena_alloc(a->arena, (size_t)(x->n + y->n + 1) * sizeof *c);
    noe_formula not = noe_formula_not(a->terms, f);
    int k = 0;
    for (int i = 0; i < x->n + y->n; i++) {
        const noe_case *from = i < x->n ? &x->of[i] : &y->of[i - x->n];
        c[k].sum = from->sum;
        k += join_guards(a, from->n_guards, from->guard, 1, i < x->n ? &f : &not,
                         &c[k].n_guards, &c[k].guard);
    }
    return keep_expr(a, k, c);
}

typedef const noe_sum *binary_fn(noe_algebra *a, const noe_sum *x, const noe_sum *y);

static const noe_expr *by_cases(noe_algebra *a, const noe_expr *x, const noe_expr *y,
                                binary_fn *fn)
{
    noe_case *c = noe_arena_alloc(a->arena, (size_t)(x->n * y->n + 1) * sizeof *c);
    int k = 0;
    for (int i = 0; i < x->n; i++) {
        for (int j = 0; j < y->n && !a->gave_up; j++) {
            const noe_case *p = &x->of[i], *q = &y->of[j];
            if (!join_guards(a, p->n_guards, p->guard, q->n_guards, q->guard,
                             &c[k].n_guards, &c[k].guard))
                continue;
            c[k++].sum = fn(a, p->sum, q->sum);
        }
    }
    return keep_expr(a, k, c);
}

const noe_expr *noe_expr_add(noe_algebra *a, const noe_expr *x, const noe_expr *y)
{
    return by_cases(a, x, y, noe_sum_add);
}

const noe_expr *noe_expr_mul(noe_algebra *a, const noe_expr *x, const noe_expr *y)
{
    return by_cases(a, x, y, noe_sum_mul);
}

const noe_expr *noe_expr_scale(noe_algebra *a, const noe_expr *x, noe_rational by)
{
    noe_case *c = noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *c);
    for (int i = 0; i < x->n; i++) {
        c[i] = x->of[i];
        c[i].sum = noe_sum_scale(a, c[i].sum, by);
    }
    return keep_expr(a, x->n, c);
}

const noe_expr *noe_expr_apply(noe_algebra *a, noe_op op, const noe_expr *x)
{
    noe_case *c = noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *c);
    for (int i = 0; i < x->n; i++) {
        c[i] = x->of[i];
        c[i].sum = noe_law_apply(a, op, c[i].sum);
    }
    return keep_expr(a, x->n, c);
}
