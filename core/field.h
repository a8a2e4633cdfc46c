/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact evaluation over prime fields, for fingerprints and for refutation.
 *
 * An element is (u mod p, v mod q), p = 2147146559 a safe prime (p = 2q + 1, p = 3 mod
 * 4, every prime up to 23 a quadratic residue), q = (p - 1) / 2; the pair carries exp
 * from the exponent field to the base field (Zhang et al., Mirage, OSDI'25). There are
 * two ways to read signs, chosen by noe_field.order, because no finite field is
 * ordered.
 *
 * Every model is sound in this sense: an equation that holds for all keys and all
 * points of one way holds for the reals wherever both sides exist. The reverse is what
 * each model lacks, and is said with it.
 *
 *   + - * /      componentwise; x / 0 := 0, reciprocal(0) := 0
 *   scalar       doubles are dyadic rationals, mapped exactly
 *
 * NOE_ORDER_RESIDUE. Values are arbitrary. x is positive where u is a quadratic residue
 * ("Paley sign"): multiplicative and odd like the sign of the reals, but a sum of
 * positive numbers may be negative.
 *   relu abs leaky_relu   by that sign
 *   max min      by the sign of the difference: commute, agree with relu and abs, move
 *                with sums and positive factors; do not associate
 *   max_pool reduce_max   by a keyed random total order: lattice laws and nothing more
 *   sqrt         u^((p+1)/4): multiplicative, sqrt(x)^2 = |x|; v a keyed hash of u
 *   exp          u = g^v, g a random element of order q; v a keyed hash of the new u
 *   sigmoid      1 / (1 + exp(-x)), tanh = 2 sigmoid(2x) - 1
 *   log          keyed hash of u
 *   erf          keyed hash of |u|, odd, with the sign of x
 *   cast         keyed hash of u and the type, zero at zero: a function of the value
 * for each type, never the identity; rounding twice is not rounding once
 *
 * NOE_ORDER_NUMBER. Values are small rational numbers (noe_fe_draw), which the pair
 * represents modulo p q; NOE_FIELD_UNIT times the number is a centred integer. Signs
 * and comparisons are those of that number: relu, abs, leaky_relu, max, min, max_pool
 * and reduce_max together with sums, products and means are the real functions at these
 * points, as long as denominators divide NOE_FIELD_UNIT and numbers stay below
 * NOE_FIELD_BOUND (core/field_check.c sees to that).
 *   exp sigmoid sqrt   keyed hashes to small positive numbers
 *   log cast     keyed hashes to small numbers, cast zero at zero
 *   tanh erf     keyed hashes, odd, with the sign of x
 *   reciprocal   exact where that is such a number; else like tanh
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

/* Powers of g by windows of bits of the exponent: power[i][d] = g^(d << 4 i).
 * Small ones: a check makes a field an instance and takes few powers of it. */
#define NOE_FIELD_WINDOWS 8
#define NOE_FIELD_DIGITS  16

/* What denominators divide, and how large a number may be (times the unit it is below
 * p q / 8). */
#define NOE_FIELD_UNIT  (INT64_C(16384) * 81 * 25 * 7)
#define NOE_FIELD_BOUND (INT64_C(1) << 30)

/* Keyed hashes of u that models need: independent functions from one seed. */
typedef enum noe_field_hash {
    NOE_FIELD_HASH_EXP,
    NOE_FIELD_HASH_SQRT,
    NOE_FIELD_HASH_ORDER,
    NOE_FIELD_HASH_LOG,
    NOE_FIELD_HASH_ERF,
    NOE_FIELD_HASH_SIGMOID,
    NOE_FIELD_HASH_TANH,
    NOE_FIELD_HASH_RECIPROCAL,
    NOE_FIELD_HASH_CAST,
    NOE_FIELD_HASHES
} noe_field_hash;

/* How signs are read. */
typedef enum noe_order { NOE_ORDER_RESIDUE, NOE_ORDER_NUMBER } noe_order;

typedef struct noe_field {
    noe_order order;
    int range; /* of NOE_ORDER_NUMBER: numbers drawn are at most that, see noe_fe_draw
                */
    /* 0: sqrt, log and quotients are total. Otherwise they have a value that depends on
     * this where the reals have none: sqrt of what is negative, log of what is not
     * positive, quotients by 0 (NOE_ORDER_RESIDUE only). */
    uint64_t outside;
    uint64_t key[NOE_FIELD_HASHES];
    uint32_t g; /* generator of the subgroup of order q, random by key */
    uint32_t power[NOE_FIELD_WINDOWS][NOE_FIELD_DIGITS];
} noe_field;

noe_field noe_field_make(uint64_t seed);                    /* NOE_ORDER_RESIDUE */
noe_field noe_field_make_ordered(uint64_t seed, int range); /* NOE_ORDER_NUMBER */
#define NOE_FIELD_RANGE 12 /* a range that leaves room for products */

noe_fe noe_fe_int(int64_t i);
noe_fe noe_fe_double(double d); /* d is finite */
noe_fe noe_fe_random(noe_rng *rng);
/* The value of a variable's element: any, or a number of at most `range`, which is an
 * integer, or half of one if the range is small. */
noe_fe noe_fe_draw(const noe_field *f, noe_rng *rng);
/* 0 or 1, which are false and true in both orders. */
noe_fe noe_fe_draw_truth(noe_rng *rng);
noe_fe noe_fe_inv(noe_fe a); /* 0 for 0 */
noe_fe noe_fe_reciprocal(const noe_field *f, noe_fe a);
noe_fe noe_fe_quotient(const noe_field *f, noe_fe a, noe_fe b);
noe_fe noe_fe_exp(const noe_field *f, noe_fe a);
noe_fe noe_fe_sqrt(const noe_field *f, noe_fe a);
noe_fe noe_fe_log(const noe_field *f, noe_fe a);
/* By products and sqrt for multiples of 1/2 up to 32, else a keyed hash. */
noe_fe noe_fe_pow(const noe_field *f, noe_fe a, double exponent);
noe_fe noe_fe_cast(const noe_field *f, noe_fe a, noe_dtype to);
noe_fe noe_fe_erf(const noe_field *f, noe_fe a);
noe_fe noe_fe_sigmoid(const noe_field *f, noe_fe a);
noe_fe noe_fe_tanh(const noe_field *f, noe_fe a);
/* Whether a counts as not 0 where operators ask for truth. NOE_ORDER_NUMBER: as it is;
 * NOE_ORDER_RESIDUE: a keyed bit of u, but 0 is false and 1 is true: random residues
 * are never 0. */
bool noe_fe_is_true(const noe_field *f, noe_fe a);
/* -1, 0, 1: in the keyed total order on u, or as numbers. */
int noe_fe_compare(const noe_field *f, noe_fe a, noe_fe b);
/* Where u stands in the keyed total order: of residues, as noe_fe_compare. */
uint64_t noe_fe_rank(const noe_field *f, noe_fe a);
/* Legendre symbol of a mod p: -1, 0, 1. */
int noe_fe_legendre(uint32_t a);
/* For n residues at once, n <= NOE_FE_BLOCK: whether each is positive, that is, a
 * square and not 0. A third of the time of as many symbols. */
#define NOE_FE_BLOCK 64
void noe_fe_positive(const noe_fe *a, int n, bool *is_positive);
/* NOE_FIELD_UNIT times the number that a pair stands for, within p q / 2 of 0. */
int64_t noe_fe_number(noe_fe a);

/* -1, 0, 1. */
static inline int noe_fe_sign(const noe_field *f, noe_fe a)
{
    if (f->order == NOE_ORDER_RESIDUE)
        return noe_fe_legendre(a.u);
    int64_t n = noe_fe_number(a);
    return (n > 0) - (n < 0);
}

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

static inline noe_fe noe_fe_relu(const noe_field *f, noe_fe a)
{
    return noe_fe_sign(f, a) > 0 ? a : (noe_fe){0, 0};
}

static inline noe_fe noe_fe_abs(const noe_field *f, noe_fe a)
{
    return noe_fe_sign(f, a) < 0 ? noe_fe_neg(a) : a;
}

static inline noe_fe noe_fe_max(const noe_field *f, noe_fe a, noe_fe b)
{
    return noe_fe_sign(f, noe_fe_sub(a, b)) > 0 ? a : b;
}

static inline noe_fe noe_fe_min(const noe_field *f, noe_fe a, noe_fe b)
{
    return noe_fe_sign(f, noe_fe_sub(a, b)) > 0 ? b : a;
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
