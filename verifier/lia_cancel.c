/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over common denominators: T S / S = T, and x = q / S + r is 0 where q + r S is.
 */
#include "verifier/lia_law_tools.h"

/* What is left of q's factors when factors shaped like those of s are taken out. */
static const noe_summand *cofactor(noe_algebra *a, const noe_summand *q,
                                   const noe_summand *s)
{
    const noe_factor *left[NOE_LAW_MAX_FACTORS];
    bool taken[NOE_LAW_MAX_FACTORS] = {0};
    int n = 0;
    if (q->n_factors > NOE_LAW_MAX_FACTORS || s->coef.num == 0)
        return NULL;
    for (int i = 0; i < s->n_factors; i++) {
        int j = 0;
        while (j < q->n_factors &&
               (taken[j] || q->factor[j]->shape != s->factor[i]->shape))
            j++;
        if (j == q->n_factors)
            return NULL;
        taken[j] = true;
    }
    for (int i = 0; i < q->n_factors; i++) {
        if (!taken[i])
            left[n++] = q->factor[i];
    }
    noe_rational c = noe_rational_mul(a, q->coef, noe_rational_inverse(a, s->coef));
    return noe_summand_make(a, c, 0, NULL, 0, NULL, n, left);
}

/* q - t s if that has fewer summands than q. */
static const noe_sum *try_quotient(noe_algebra *a, const noe_sum *q, const noe_sum *s,
                                   const noe_summand *t)
{
    const noe_sum *ts = noe_sum_mul(a, noe_sum_make(a, 1, &t), s);
    const noe_sum *rest = noe_sum_add(a, q, noe_sum_negated(a, ts));
    return rest->n < q->n ? rest : NULL;
}

/* x = result * f + others */
static const noe_sum *split_over(noe_algebra *a, const noe_sum *x, const noe_factor *f,
                                 const noe_sum **others)
{
    const noe_sum *q = noe_sum_zero(a);
    *others = noe_sum_zero(a);
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        const noe_factor *rest[NOE_LAW_MAX_FACTORS];
        int at = 0, n = 0;
        while (at < s->n_factors && !noe_factor_same(a, s->factor[at], f))
            at++;
        if (at == s->n_factors || s->n_factors > NOE_LAW_MAX_FACTORS) {
            *others = noe_sum_add(a, *others, noe_sum_make(a, 1, &s));
            continue;
        }
        for (int k = 0; k < s->n_factors; k++) {
            if (k != at)
                rest[n++] = s->factor[k];
        }
        s = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards, s->guard, n,
                             rest);
        q = noe_sum_add(a, q, noe_sum_make(a, 1, &s));
    }
    return q;
}

/* One step for the denominator in factor f; NULL if nothing cancels. */
static const noe_sum *cancel_over(noe_algebra *a, const noe_sum *x, const noe_factor *f)
{
    const noe_sum *others;
    const noe_sum *q = split_over(a, x, f, &others);
    for (int i = 0; i < q->n; i++) {
        for (int k = 0; k < f->arg->n; k++) {
            const noe_summand *t = cofactor(a, q->of[i], f->arg->of[k]);
            const noe_sum *rest = t ? try_quotient(a, q, f->arg, t) : NULL;
            if (!rest)
                continue;
            noe_law_use(a, NOE_LAW_DIVISION);
            const noe_sum *over = noe_sum_mul(a, rest, noe_sum_of_factor(a, f));
            return noe_sum_add(a, noe_sum_add(a, others, over),
                               noe_sum_mul(a, noe_sum_make(a, 1, &t),
                                           noe_sum_number(a, noe_rational_one)));
        }
    }
    return NULL;
}

static int find_factor(const noe_algebra *a, const noe_factor *const *list, int n,
                       const noe_factor *f)
{
    int i = 0;
    while (i < n && !(list[i] && noe_factor_same(a, list[i], f)))
        i++;
    return i < n ? i : -1;
}

static int find_guard(const noe_formula *list, int n, noe_formula f)
{
    int i = 0;
    while (i < n && list[i] != f)
        i++;
    return i < n ? i : -1;
}

/* s over the bound symbol s->bound[b], where that sum is what its factor `over` is the
 * reciprocal of, times what b is not in: the sum over the others. NULL: it is not. */
static const noe_summand *without_bound(noe_algebra *a, const noe_summand *s, int over,
                                        int b)
{
    const noe_summand *t = s->factor[over]->arg->of[0];
    const noe_factor *left[NOE_LAW_MAX_FACTORS];
    noe_formula *guard =
        noe_arena_memdup(a->arena, s->guard, (size_t)s->n_guards * sizeof *guard);
    noe_symbol *bound =
        noe_arena_memdup(a->arena, s->bound, (size_t)s->n_bound * sizeof *bound);
    noe_poly is = noe_poly_symbol(a->terms, s->bound[b]);
    int n = 0, n_guards = s->n_guards;
    const noe_summand *open = noe_summand_make(a, t->coef, 0, NULL, t->n_guards,
                                               t->guard, t->n_factors, t->factor);
    const noe_sum *here =
        noe_sum_subst(a, noe_sum_make(a, 1, &open), 1, &t->bound[0], &is);
    if (here->n != 1 || noe_factor_mentions(a, s->factor[over], s->bound[b]))
        return NULL;
    t = here->of[0];
    for (int i = 0; i < s->n_factors; i++)
        left[i] = i == over ? NULL : s->factor[i];
    for (int i = 0; i < t->n_factors; i++) {
        int at = find_factor(a, left, s->n_factors, t->factor[i]);
        if (at < 0)
            return NULL;
        left[at] = NULL;
    }
    for (int i = 0; i < t->n_guards; i++) {
        int at = find_guard(guard, n_guards, t->guard[i]);
        if (at < 0)
            return NULL;
        guard[at] = guard[--n_guards];
    }
    for (int i = 0; i < s->n_factors; i++) {
        if (left[i] && noe_factor_mentions(a, left[i], s->bound[b]))
            return NULL;
        if (left[i])
            left[n++] = left[i];
    }
    for (int i = 0; i < n_guards; i++) {
        if (noe_formula_mentions(a->terms, guard[i], s->bound[b]))
            return NULL;
    }
    bound[b] = bound[s->n_bound - 1];
    return noe_summand_make(
        a, noe_rational_mul(a, s->coef, noe_rational_inverse(a, t->coef)),
        s->n_bound - 1, bound, n_guards, guard, n, left);
}

/* The sum over k of f(k) g / (the sum over k of f(k)), inside of other sums, is g. */
static const noe_summand *cancel_within(noe_algebra *a, const noe_summand *s)
{
    for (int k = 0; k < s->n_factors && s->n_factors <= NOE_LAW_MAX_FACTORS; k++) {
        const noe_factor *f = s->factor[k];
        if (!noe_factor_is(f, NOE_OP_RECIPROCAL) || f->arg->n != 1 ||
            f->arg->of[0]->n_bound != 1 || f->arg->of[0]->coef.num == 0)
            continue;
        for (int b = 0; b < s->n_bound; b++) {
            const noe_summand *less = without_bound(a, s, k, b);
            if (less)
                return less;
        }
    }
    return NULL;
}

const noe_sum *noe_law_cancel(noe_algebra *a, const noe_sum *x)
{
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        const noe_summand *less = cancel_within(a, x->of[i]);
        if (!less)
            continue;
        noe_law_use(a, NOE_LAW_DIVISION);
        const noe_sum *rest = noe_law_simplify(a, less);
        for (int k = 0; k < x->n; k++) {
            if (k != i)
                rest = noe_sum_add(a, rest, noe_sum_make(a, 1, &x->of[k]));
        }
        return noe_law_cancel(a, rest);
    }
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        for (int k = 0; k < x->of[i]->n_factors; k++) {
            const noe_factor *f = x->of[i]->factor[k];
            bool bound = false;
            for (int b = 0; b < x->of[i]->n_bound; b++)
                bound |= noe_factor_mentions(a, f, x->of[i]->bound[b]);
            if (bound || !noe_factor_is(f, NOE_OP_RECIPROCAL) || noe_sum_lone(f->arg))
                continue;
            const noe_sum *better = cancel_over(a, x, f);
            if (better)
                return noe_law_cancel(a, better);
        }
    }
    return x;
}

/* Where conditions choose, a denominator that is not asked for may be 0. */
static bool has_choice(const noe_sum *x)
{
    for (int i = 0; i < x->n; i++) {
        for (int k = 0; k < x->of[i]->n_factors; k++) {
            if (noe_factor_is(x->of[i]->factor[k], NOE_OP_WHERE))
                return true;
        }
    }
    return false;
}

const noe_sum *noe_law_clear_denominator(noe_algebra *a, const noe_sum *x)
{
    if (has_choice(x))
        return NULL;
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        for (int k = 0; k < x->of[i]->n_factors; k++) {
            const noe_factor *f = x->of[i]->factor[k];
            bool bound = false;
            for (int b = 0; b < x->of[i]->n_bound; b++)
                bound |= noe_factor_mentions(a, f, x->of[i]->bound[b]);
            if (bound || !noe_factor_is(f, NOE_OP_RECIPROCAL) ||
                (noe_sum_lone(f->arg) &&
                 noe_sum_lone(f->arg)->kind == NOE_FACTOR_COUNT))
                continue;
            const noe_sum *others;
            const noe_sum *over = split_over(a, x, f, &others);
            noe_law_use(a, NOE_LAW_DIVISION);
            return noe_sum_add(a, over, noe_sum_mul(a, others, f->arg));
        }
    }
    return NULL;
}
