/* SPDX-License-Identifier: Apache-2.0
 *
 * The laws of functions that the all-sizes proof knows, applied wherever they fit so
 * that equal elements get equal forms. Each is listed, with its pack, in laws.def;
 * there a law is a rule that FIELD checks like an axiom.
 *
 * A law rewrites what exists over the reals into what then exists and is equal: never
 * the other way round.
 */
#ifndef NOE_VERIFIER_LIA_LAWS_H
#define NOE_VERIFIER_LIA_LAWS_H

#include "verifier/lia_sum.h"

#define NOE_LAW_PACK_MAP(XX) \
    XX(COUNT, "count")       \
    XX(DIVISION, "division") \
    XX(ROOT, "root")         \
    XX(EXP, "exp")           \
    XX(LOGISTIC, "logistic") \
    XX(ORDER, "order")       \
    XX(MAXIMUM, "maximum")   \
    XX(CHOICE, "choice")

typedef enum noe_law_pack {
#define XX(ID, NAME) NOE_LAW_##ID,
    NOE_LAW_PACK_MAP(XX)
#undef XX
        NOE_LAW_PACK_COUNT
} noe_law_pack;

const char *noe_law_pack_name(noe_law_pack pack);

typedef struct noe_law {
    noe_law_pack pack;
    const char *name,
        *text; /* text: a rule, or "" where it is no equation of tensors */
} noe_law;
const noe_law *noe_laws(int *n);

/* A summand in the form that the laws give it: bound symbols that are determined or
 * only counted are gone. */
const noe_sum *noe_law_simplify(noe_algebra *a, const noe_summand *s);
const noe_sum *noe_law_product(noe_algebra *a, const noe_summand *x,
                               const noe_summand *y);
const noe_sum *noe_law_apply(noe_algebra *a, noe_op op, const noe_sum *x);
/* The families are not all empty. */
const noe_sum *noe_law_maximum(noe_algebra *a, int n, const noe_family *family);
/* The integer n >= 0 as a number. */
const noe_sum *noe_law_count(noe_algebra *a, noe_poly n);
/* Something that is 0 where s is, without the denominator S of some factor 1 / S; NULL
 * if there is none. */
const noe_sum *noe_law_clear_denominator(noe_algebra *a, const noe_sum *s);
/* All summands simplified again. */
const noe_sum *noe_law_simplify_sum(noe_algebra *a, const noe_sum *s);
/* s times the sums, which may mention the bound symbols of s. */
const noe_sum *noe_law_times(noe_algebra *a, const noe_summand *s, int n,
                             const noe_sum *const *by);
/* x where f[0..n-1] hold, with integer terms decided that these decide: quotients that
 * are 0, conditions that hold or do not. */
const noe_sum *noe_law_sharpen(noe_algebra *a, const noe_sum *x, int n,
                               const noe_formula *f);
/* A condition on symbols that are not bound which some term of x depends on and which
 * f[0..n-1] do not decide; NOE_FORMULA_TRUE_ID if there is none. */
noe_formula noe_law_open_condition(noe_algebra *a, const noe_sum *x, int n,
                                   const noe_formula *f);
/* A factor relu(e) of x, or inside, that no bound symbol varies; NULL: none. */
const noe_factor *noe_law_sign_in(const noe_algebra *a, const noe_sum *x);
/* x with the factor replaced, wherever it is. */
const noe_sum *noe_law_with_factor(noe_algebra *a, const noe_sum *x,
                                   const noe_factor *f, const noe_sum *by);
bool noe_law_exists_nowhere(const noe_algebra *a, const noe_sum *x);
/* x is 0 wherever the sums are all >= 0. */
bool noe_law_zero_by_signs(noe_algebra *a, int n, const noe_sum *const *natural,
                           const noe_sum *x);
/* s with parts T S / S of it replaced by T. */
const noe_sum *noe_law_cancel(noe_algebra *a, const noe_sum *s);

#endif
