/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files of laws; nobody else's business.
 */
#ifndef NOE_VERIFIER_LIA_LAW_TOOLS_H
#define NOE_VERIFIER_LIA_LAW_TOOLS_H

#include "verifier/lia_laws.h"

#define NOE_LAW_MAX_FACTORS 48

static const noe_rational noe_rational_one = {1, 1};

static inline void noe_law_use(noe_algebra *a, noe_law_pack pack)
{
    a->laws |= 1u << pack;
}

static inline const noe_sum *noe_sum_zero(noe_algebra *a)
{
    return noe_sum_make(a, 0, NULL);
}

static inline const noe_sum *noe_sum_negated(noe_algebra *a, const noe_sum *x)
{
    return noe_sum_scale(a, x, (noe_rational){-1, 1});
}

static inline noe_rational noe_rational_inverse(noe_algebra *a, noe_rational r)
{
    return noe_rational_make(a, r.den, r.num);
}

static inline bool noe_factor_is(const noe_factor *f, noe_op op)
{
    return f->kind == NOE_FACTOR_APPLY && f->id == op;
}

/* The only factor of a sum that is just that, else NULL. */
static inline const noe_factor *noe_sum_lone(const noe_sum *s)
{
    if (s->n != 1)
        return NULL;
    const noe_summand *x = s->of[0];
    bool plain = x->n_bound == 0 && x->n_guards == 0 && x->n_factors == 1 &&
                 x->coef.num == 1 && x->coef.den == 1;
    return plain ? x->factor[0] : NULL;
}

/* x with the factor f, which no bound symbol of its summand varies, taken to be 1. */
const noe_sum *noe_law_with_one(noe_algebra *a, const noe_sum *x, const noe_factor *f);
/* x without the summands that have the factor. */
const noe_sum *noe_law_with_zero(noe_algebra *a, const noe_sum *x, const noe_factor *f);
/* A factor [c] of some summand that none of its bound symbols varies; NULL: none. */
const noe_factor *noe_law_choice_in(const noe_algebra *a, const noe_sum *x);
/* [c] x + (1 - [c]) y */
const noe_sum *noe_law_choose(noe_algebra *a, const noe_factor *f, const noe_sum *x,
                              const noe_sum *y);
/* relu of a sum with a maximum as that of a maximum; NULL if it has none. */
const noe_sum *noe_law_relu_of_maximum(noe_algebra *a, const noe_sum *x);
/* s is >= 0 by its factors alone, wherever it exists; coef counts. */
bool noe_law_is_natural(const noe_algebra *a, const noe_summand *s);
/* The family without bound symbols that equations determine; false: it is empty. */
bool noe_law_tidy_family(noe_algebra *a, noe_family *m);
/* |x| */
const noe_sum *noe_law_absolute(noe_algebra *a, const noe_sum *x);

#endif
