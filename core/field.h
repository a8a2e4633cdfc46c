/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact evaluation over prime fields, for fingerprints and for refutation.
 *
 * An element is (u mod p, v mod q), p = 2147146559 a safe prime (p = 2q + 1, p = 3 mod
 * 4, every prime up to 23 a quadratic residue), q = (p - 1) / 2; the pair carries exp
 * from the exponent field to the base field (Zhang et al., Mirage, OSDI'25). How each
 * operator is modelled is the completeness boundary; all models are sound in the sense
 * that an identity of the models with random keys is one of the reals where both sides
 * exist:
 *   + - * /      componentwise; x / 0 := 0, reciprocal(0) := 0
 *   relu         x where u is a quadratic residue, else 0 ("Paley sign": multiplicative
 * and odd like the sign of the reals) sqrt         u^((p+1)/4): multiplicative,
 * sqrt(x)^2 = |x|; v from a keyed hash of u exp          u = g^v, g a random element of
 * order q; v from a keyed hash of the new u sigmoid      1 / (1 + exp(-x)), tanh = 2
 * sigmoid(2x) - 1 max          keyed random total order: lattice laws and nothing more
 *   scalar       doubles are dyadic rationals, mapped exactly
 * Facts that need the order of the reals (relu against max) are not shown.
 *
 * The additive and multiplicative functions are inline: they are the inner loops of the
 * generator and of every check.
 */
#ifndef NOE_CORE_FIELD_H
#define NOE_CORE_FIELD_H

#include "core/base/rng.h"
#include "core/tensor.h"

#define NOE_FIELD_P UINT32_C(2147146559)
#define NOE_FIELD_Q UINT32_C(1073573279)

/* Powers of g by windows of bits of the exponent: power[i][d] = g^(d << 8 i). */
#define NOE_FIELD_WINDOWS 4
#define NOE_FIELD_DIGITS  256

/* Keyed hashes of u that models need: independent functions from one seed. */
enum {
    NOE_FIELD_HASH_EXP,
    NOE_FIELD_HASH_SQRT,
    NOE_FIELD_HASH_ORDER,
    NOE_FIELD_HASHES
};

typedef struct noe_field {
    uint64_t key[NOE_FIELD_HASHES];
    uint32_t g; /* generator of the subgroup of order q, random by key */
    uint32_t power[NOE_FIELD_WINDOWS][NOE_FIELD_DIGITS];
} noe_field;

noe_field noe_field_make(uint64_t seed);

noe_fe noe_fe_int(int64_t i);
noe_fe noe_fe_double(double d); /* d is finite */
noe_fe noe_fe_random(noe_rng *rng);
noe_fe noe_fe_inv(noe_fe a); /* 0 for 0 */
noe_fe noe_fe_exp(const noe_field *f, noe_fe a);
noe_fe noe_fe_sqrt(const noe_field *f, noe_fe a);
/* -1, 0, 1: order of the keyed total order on u. */
int noe_fe_compare(const noe_field *f, noe_fe a, noe_fe b);
/* Legendre symbol of a mod p: -1, 0, 1. */
int noe_fe_sign(uint32_t a);

/* Equality as values of expressions is equality of u: v is only a carrier for exp. */
static inline bool noe_fe_eq(noe_fe a, noe_fe b)
{
    return a.u == b.u;
}

/* a < 2m, m < 2^31. */
static inline uint32_t noe_residue_once(uint32_t a, uint32_t m)
{
    return a >= m ? a - m : a;
}

static inline noe_fe noe_fe_add(noe_fe a, noe_fe b)
{
    return (noe_fe){noe_residue_once(a.u + b.u, NOE_FIELD_P),
                    noe_residue_once(a.v + b.v, NOE_FIELD_Q)};
}

static inline noe_fe noe_fe_sub(noe_fe a, noe_fe b)
{
    return (noe_fe){noe_residue_once(a.u + NOE_FIELD_P - b.u, NOE_FIELD_P),
                    noe_residue_once(a.v + NOE_FIELD_Q - b.v, NOE_FIELD_Q)};
}

static inline noe_fe noe_fe_neg(noe_fe a)
{
    return noe_fe_sub((noe_fe){0, 0}, a);
}

static inline noe_fe noe_fe_mul(noe_fe a, noe_fe b)
{
    return (noe_fe){(uint32_t)((uint64_t)a.u * b.u % NOE_FIELD_P),
                    (uint32_t)((uint64_t)a.v * b.v % NOE_FIELD_Q)};
}

static inline noe_fe noe_fe_relu(noe_fe a)
{
    return noe_fe_sign(a.u) > 0 ? a : (noe_fe){0, 0};
}

/* A sum of products that is reduced once at the end: halves of the products are summed
 * apart, so 2^32 terms cannot overflow. */
typedef struct noe_fe_sum {
    uint64_t u_lo, u_hi, v_lo, v_hi;
} noe_fe_sum;

static inline void noe_fe_sum_add(noe_fe_sum *s, noe_fe a, noe_fe b)
{
    uint64_t u = (uint64_t)a.u * b.u, v = (uint64_t)a.v * b.v;
    s->u_lo += (uint32_t)u;
    s->u_hi += u >> 32;
    s->v_lo += (uint32_t)v;
    s->v_hi += v >> 32;
}

static inline uint32_t noe_residue_wide(uint64_t lo, uint64_t hi, uint32_t m)
{
    return (uint32_t)(((hi % m << 32) + lo % m) % m);
}

static inline noe_fe noe_fe_sum_value(const noe_fe_sum *s)
{
    return (noe_fe){noe_residue_wide(s->u_lo, s->u_hi, NOE_FIELD_P),
                    noe_residue_wide(s->v_lo, s->v_hi, NOE_FIELD_Q)};
}

#endif
