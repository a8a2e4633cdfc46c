/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of tensors as formulas: a sum over bound integers of guarded products,
 *
 *     sum of  coef * sum over bound, where the guards hold, of factor * factor * ...
 *
 * with factors that read a variable at affine indices, count, or apply a function that
 * nothing is known of but its laws (lia_laws.h). An expression is a choice of sums by
 * cases that exclude each other and of which one always holds.
 *
 * Everything lives in the arena of the algebra; nothing is changed once made.
 */
#ifndef NOE_VERIFIER_LIA_SUM_H
#define NOE_VERIFIER_LIA_SUM_H

#include "core/rule.h"
#include "verifier/lia_query.h"

typedef struct noe_rational {
    int64_t num, den; /* den >= 1, in lowest terms */
} noe_rational;

typedef enum noe_factor_kind {
    NOE_FACTOR_READ,     /* variable id at index[0..n-1] */
    NOE_FACTOR_CONSTANT, /* the real number bits */
    NOE_FACTOR_COUNT,    /* the integer count, which is >= 0 */
    NOE_FACTOR_APPLY,    /* operator id of arg, or NOE_FUNCTION_CAST plus `to` */
    NOE_FACTOR_MAXIMUM,  /* over all families */
} noe_factor_kind;

/* What else is read: from NOE_RULE_MAX_VARS on real parameters, and the share, between
 * 0 and 1, that the second of two neighbours has in an interpolation, by the remainder
 * and the denominator of the place between them. */
#define NOE_READ_SHARE (NOE_RULE_MAX_VARS + NOE_RULE_MAX_PVARS)

/* Functions from here on are casts, one for each polynomial that `to` may be. */
#define NOE_FUNCTION_CAST NOE_OP_COUNT

typedef struct noe_sum noe_sum;

/* The values of arg for all bound with the guards. */
typedef struct noe_family {
    int n_bound, n_guards;
    const noe_symbol *bound;
    const noe_formula *guard;
    const noe_sum *arg;
} noe_family;

typedef struct noe_factor {
    noe_factor_kind kind;
    uint16_t id;
    int n; /* indices, or families */
    const noe_poly *index;
    const noe_family *family;
    const noe_sum *arg;
    noe_poly count;
    double bits;
    uint64_t hash;  /* the same for equal factors, however their bound are named */
    uint64_t shape; /* what is applied to what, without indices and guards */
} noe_factor;

typedef struct noe_summand {
    noe_rational coef;
    int n_bound, n_guards, n_factors;
    const noe_symbol *bound;
    const noe_formula *guard;
    const noe_factor *const *factor; /* by hash */
    uint64_t hash, shape;            /* of all but coef; see noe_factor */
} noe_summand;

struct noe_sum {
    int n;
    const noe_summand *const *of; /* by hash */
};

typedef struct noe_case {
    int n_guards;
    const noe_formula *guard;
    const noe_sum *sum;
} noe_case;

typedef struct noe_expr {
    int n;
    const noe_case *of;
} noe_expr;

typedef struct noe_algebra {
    noe_arena *arena;
    noe_terms *terms;
    noe_query *query;
    uint32_t laws;     /* bit of each pack used: 1 << noe_law_pack */
    int64_t made;      /* summands, a measure of effort */
    bool gave_up;      /* a number or a size left its range: no result counts */
    const char *cause; /* then why */
    /* What holds where two elements were first not found equal. */
    const noe_formula *witness;
    int n_witness;
} noe_algebra;

void noe_algebra_give_up(noe_algebra *a, const char *cause);

noe_rational noe_rational_make(noe_algebra *a, int64_t num, int64_t den);
noe_rational noe_rational_mul(noe_algebra *a, noe_rational x, noe_rational y);
noe_rational noe_rational_add(noe_algebra *a, noe_rational x, noe_rational y);

/* Factors */
const noe_factor *noe_factor_read(noe_algebra *a, uint16_t var, int n,
                                  const noe_poly *index);
const noe_factor *noe_factor_constant(noe_algebra *a, double value);
const noe_factor *noe_factor_count(noe_algebra *a, noe_poly count);
const noe_factor *noe_factor_apply(noe_algebra *a, noe_op op, const noe_sum *arg);
const noe_factor *noe_factor_maximum(noe_algebra *a, int n, const noe_family *family);
/* Equal but for the names of bound symbols and the order of terms; false says nothing.
 */
bool noe_factor_same(const noe_algebra *a, const noe_factor *x, const noe_factor *y);
bool noe_factor_mentions(const noe_algebra *a, const noe_factor *f, noe_symbol s);
const noe_factor *noe_factor_subst(noe_algebra *a, const noe_factor *f, int n,
                                   const noe_symbol *s, const noe_poly *with);

/* Summands and sums */
const noe_summand *noe_summand_make(noe_algebra *a, noe_rational coef, int n_bound,
                                    const noe_symbol *bound, int n_guards,
                                    const noe_formula *guard, int n_factors,
                                    const noe_factor *const *factor);
/* s with another coefficient. */
const noe_summand *noe_summand_scale(noe_algebra *a, const noe_summand *s,
                                     noe_rational by);
/* s with fresh bound symbols. */
const noe_summand *noe_summand_fresh(noe_algebra *a, const noe_summand *s);
bool noe_summand_same(const noe_algebra *a, const noe_summand *x, const noe_summand *y);
const noe_sum *noe_sum_make(noe_algebra *a, int n, const noe_summand *const *of);
const noe_sum *noe_sum_of_factor(noe_algebra *a, const noe_factor *f);
const noe_sum *noe_sum_number(noe_algebra *a, noe_rational value);
const noe_sum *noe_sum_add(noe_algebra *a, const noe_sum *x, const noe_sum *y);
const noe_sum *noe_sum_scale(noe_algebra *a, const noe_sum *x, noe_rational by);
/* Products go through the laws (lia_laws.c). Bound symbols of y are renamed. */
const noe_sum *noe_sum_mul(noe_algebra *a, const noe_sum *x, const noe_sum *y);
bool noe_sum_same(const noe_algebra *a, const noe_sum *x, const noe_sum *y);
const noe_sum *noe_sum_subst(noe_algebra *a, const noe_sum *x, int n,
                             const noe_symbol *s, const noe_poly *with);

/* Sorts guards, drops true ones and repetitions; returns how many are left. */
int noe_guards_tidy(noe_formula *guard, int n);

/* Expressions */
const noe_expr *noe_expr_of_sum(noe_algebra *a, const noe_sum *s);
/* x where the guards hold, 0 elsewhere, as one sum. */
const noe_expr *noe_expr_guarded(noe_algebra *a, const noe_expr *x, int n,
                                 const noe_formula *guard);
/* x where f holds, else y. */
const noe_expr *noe_expr_choose(noe_algebra *a, noe_formula f, const noe_expr *x,
                                const noe_expr *y);
const noe_expr *noe_expr_add(noe_algebra *a, const noe_expr *x, const noe_expr *y);
const noe_expr *noe_expr_scale(noe_algebra *a, const noe_expr *x, noe_rational by);
const noe_expr *noe_expr_mul(noe_algebra *a, const noe_expr *x, const noe_expr *y);
/* Functions go through their laws. */
const noe_expr *noe_expr_apply(noe_algebra *a, noe_op op, const noe_expr *x);
/* Over all values of bound with the guards, x being a function of them. */
const noe_expr *noe_expr_total(noe_algebra *a, int n_bound, const noe_symbol *bound,
                               int n_guards, const noe_formula *guard,
                               const noe_expr *x);
const noe_expr *noe_expr_maximum(noe_algebra *a, int n_bound, const noe_symbol *bound,
                                 int n_guards, const noe_formula *guard,
                                 const noe_expr *x);
void noe_sum_print(const noe_algebra *a, const noe_sum *s, noe_buf *b);

#endif
