/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact evaluation over prime fields, for fingerprints and for refutation.
 *
 * An element is (u mod p, v mod q), p = 2147146559 a safe prime (p = 2q + 1, p = 3 mod 4,
 * every prime up to 23 a quadratic residue), q = (p - 1) / 2; the pair carries exp from
 * the exponent field to the base field (Zhang et al., Mirage, OSDI'25). How each operator
 * is modelled is the completeness boundary; all models are sound in the sense that an
 * identity of the models with random keys is one of the reals where both sides exist:
 *   + - * /      componentwise; x / 0 := 0, reciprocal(0) := 0
 *   relu         x where u is a quadratic residue, else 0 ("Paley sign": multiplicative and
 *                odd like the sign of the reals)
 *   sqrt         u^((p+1)/4): multiplicative, sqrt(x)^2 = |x|; v from a keyed hash of u
 *   exp          u = g^v, g a random element of order q; v from a keyed hash of the new u
 *   sigmoid      1 / (1 + exp(-x)), tanh = 2 sigmoid(2x) - 1
 *   max          keyed random total order: lattice laws and nothing more
 *   scalar       doubles are dyadic rationals, mapped exactly
 * Facts that need the order of the reals (relu against max) are not shown.
 */
#ifndef NOE_CORE_FIELD_H
#define NOE_CORE_FIELD_H

#include "core/base/rng.h"
#include "core/tensor.h"

#define NOE_FIELD_P UINT32_C(2147146559)
#define NOE_FIELD_Q UINT32_C(1073573279)

typedef struct noe_field {
    uint64_t key;
    uint32_t g; /* generator of the subgroup of order q, random by key */
} noe_field;

noe_field noe_field_make(uint64_t seed);

noe_fe noe_fe_int(int64_t i);
noe_fe noe_fe_double(double d);
noe_fe noe_fe_random(noe_rng *rng);
noe_fe noe_fe_add(noe_fe a, noe_fe b);
noe_fe noe_fe_sub(noe_fe a, noe_fe b);
noe_fe noe_fe_mul(noe_fe a, noe_fe b);
noe_fe noe_fe_inv(noe_fe a); /* 0 for 0 */
noe_fe noe_fe_relu(noe_fe a);
noe_fe noe_fe_exp(const noe_field *f, noe_fe a);
noe_fe noe_fe_sqrt(const noe_field *f, noe_fe a);
/* -1, 0, 1: order of the keyed total order on u. */
int noe_fe_compare(const noe_field *f, noe_fe a, noe_fe b);
/* Equality as values of expressions is equality of u: v is only a carrier for exp. */
static inline bool noe_fe_eq(noe_fe a, noe_fe b)
{
    return a.u == b.u;
}

/* Legendre symbol of a mod p: -1, 0, 1. */
int noe_fe_sign(uint32_t a);

#endif
