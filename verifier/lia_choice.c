/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: where(c, x, y) is y + [c] (x - y) with a factor [c] that is 1 where c is
 * not 0, else 0. A function of a sum with such a factor is the function by cases.
 */
#include "verifier/lia_law_tools.h"

static int place_of(const noe_algebra *a, const noe_summand *s, const noe_factor *f)
{
    int i = 0;
    while (i < s->n_factors && !noe_factor_same(a, s->factor[i], f))
        i++;
    return i < s->n_factors ? i : -1;
}

const noe_sum *noe_law_with_zero(noe_algebra *a, const noe_sum *x, const noe_factor *f)
{
    const noe_summand **left =
        noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *left);
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        if (place_of(a, x->of[i], f) < 0)
            left[n++] = x->of[i];
    }
    return noe_sum_make(a, n, left);
}

const noe_sum *noe_law_with_one(noe_algebra *a, const noe_sum *x, const noe_factor *f)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        const noe_factor **rest =
            noe_arena_alloc(a->arena, (size_t)(s->n_factors + 1) * sizeof *rest);
        int at = place_of(a, s, f), n = 0;
        for (int k = 0; k < s->n_factors; k++) {
            if (k != at)
                rest[n++] = s->factor[k];
        }
        if (at >= 0)
            s = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards,
                                 s->guard, n, rest);
        sum = noe_sum_add(a, sum,
                          at >= 0 ? noe_law_simplify(a, s) : noe_sum_make(a, 1, &s));
    }
    return sum;
}

const noe_factor *noe_law_choice_in(const noe_algebra *a, const noe_sum *x)
{
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        for (int k = 0; k < s->n_factors; k++) {
            bool varies = !noe_factor_is(s->factor[k], NOE_OP_WHERE);
            for (int b = 0; b < s->n_bound && !varies; b++)
                varies = noe_factor_mentions(a, s->factor[k], s->bound[b]);
            if (!varies)
                return s->factor[k];
        }
    }
    return NULL;
}

const noe_sum *noe_law_choose(noe_algebra *a, const noe_factor *f, const noe_sum *x,
                              const noe_sum *y)
{
    const noe_sum *more = noe_sum_add(a, x, noe_sum_negated(a, y));
    return noe_sum_add(a, y, noe_sum_mul(a, noe_sum_of_factor(a, f), more));
}
