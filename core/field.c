/* SPDX-License-Identifier: Apache-2.0 */
#include "core/field.h"
#include <math.h>
#include <string.h>

#define WINDOW_BITS 4

/* Bit 0: is (2/n) = -1? */
#define TWO_IS_MINUS(N) ((uint32_t)(((N) ^ (N) >> 1) >> 1))

static uint32_t mul_mod(uint32_t a, uint32_t b, uint32_t m)
{
    return (uint32_t)((uint64_t)a * b % m);
}

static uint32_t pow_p(uint32_t a, uint32_t e)
{
    uint32_t r = 1;
    for (; e; e >>= 1) {
        if (e & 1)
            r = mul_mod(r, a, NOE_FIELD_P);
        a = mul_mod(a, a, NOE_FIELD_P);
    }
    return r;
}

/* Inverse of a modulo the prime m by Euclid's algorithm; 0 for 0. Invariant: r0 = s0 a
 * and r1 = s1 a modulo m. */
static uint32_t inverse(uint32_t a, uint32_t m)
{
    uint32_t r0 = m, r1 = a;
    int64_t s0 = 0, s1 = 1;
    while (r1) {
        uint32_t quotient = r0 / r1, r2 = r0 - quotient * r1;
        int64_t s2 = s0 - quotient * s1;
        r0 = r1;
        r1 = r2;
        s0 = s1;
        s1 = s2;
    }
    if (a == 0)
        return 0;
    return (uint32_t)(s0 < 0 ? s0 + m : s0);
}

static uint64_t keyed_hash(const noe_field *f, int which, uint32_t u)
{
    return noe_mix64(f->key[which] ^ u);
}

noe_field noe_field_make(uint64_t seed)
{
    noe_rng rng = noe_rng_split(seed, "field", 0);
    noe_field f = {.order = NOE_ORDER_RESIDUE};
    for (int i = 0; i < NOE_FIELD_HASHES; i++)
        f.key[i] = noe_rng_next(&rng);
    /* Squares form the subgroup of order q, q is prime, so every square but 1 generates
     * it. A fixed small base would make facts such as exp(1) = 4 true. */
    do {
        uint32_t root = (uint32_t)noe_rng_below(&rng, NOE_FIELD_P);
        f.g = mul_mod(root, root, NOE_FIELD_P);
    } while (f.g <= 1);
    /* Each power from two about half as large: few wait for one another. */
    uint32_t base = f.g;
    for (int w = 0; w < NOE_FIELD_WINDOWS; w++) {
        uint32_t *power = f.power[w];
        power[0] = 1;
        power[1] = base;
        for (int d = 2; d < NOE_FIELD_DIGITS; d++)
            power[d] = mul_mod(power[d / 2], power[d - d / 2], NOE_FIELD_P);
        for (int i = 0; i < WINDOW_BITS; i++)
            base = mul_mod(base, base, NOE_FIELD_P);
    }
    return f;
}

noe_field noe_field_make_ordered(uint64_t seed, int range)
{
    noe_field f = noe_field_make(seed);
    f.order = NOE_ORDER_NUMBER;
    f.range = range;
    return f;
}

noe_fe noe_fe_int(int64_t i)
{
    int64_t u = i % (int64_t)NOE_FIELD_P, v = i % (int64_t)NOE_FIELD_Q;
    return (noe_fe){(uint32_t)(u < 0 ? u + NOE_FIELD_P : u),
                    (uint32_t)(v < 0 ? v + NOE_FIELD_Q : v)};
}

static noe_fe power_of_two(int e)
{
    noe_fe base = noe_fe_int(2), r = noe_fe_int(1);
    if (e < 0)
        base = noe_fe_inv(base);
    for (unsigned n = (unsigned)(e < 0 ? -e : e); n; n >>= 1) {
        if (n & 1)
            r = noe_fe_mul(r, base);
        base = noe_fe_mul(base, base);
    }
    return r;
}

noe_fe noe_fe_double(double d)
{
    NOE_ASSERT(isfinite(d));
    int exponent;
    double mantissa = frexp(d, &exponent);
    /* 53 bits make the mantissa of every double an integer. */
    noe_fe m = noe_fe_int((int64_t)ldexp(mantissa, 53));
    return noe_fe_mul(m, power_of_two(exponent - 53));
}

noe_fe noe_fe_random(noe_rng *rng)
{
    noe_fe a;
    a.u = (uint32_t)noe_rng_below(rng, NOE_FIELD_P);
    a.v = (uint32_t)noe_rng_below(rng, NOE_FIELD_Q);
    return a;
}

/* Halves bring in numbers between the integers that a rule may name. */
#define HALVES_UP_TO 8

noe_fe noe_fe_draw(const noe_field *f, noe_rng *rng)
{
    if (f->order == NOE_ORDER_RESIDUE)
        return noe_fe_random(rng);
    if (f->range > HALVES_UP_TO)
        return noe_fe_int(noe_rng_range(rng, -f->range, f->range));
    noe_fe half = {(NOE_FIELD_P + 1) / 2, (NOE_FIELD_Q + 1) / 2};
    return noe_fe_mul(noe_fe_int(noe_rng_range(rng, -2 * f->range, 2 * f->range)),
                      half);
}

noe_fe noe_fe_draw_truth(noe_rng *rng)
{
    return noe_fe_int((int64_t)noe_rng_below(rng, 2));
}

/* p is 1 mod q, so u + p ((v - u) mod q) is the number modulo p q (Chinese remainder
 * theorem). */
int64_t noe_fe_number(noe_fe a)
{
    uint64_t u = (uint64_t)a.u * (NOE_FIELD_UNIT % NOE_FIELD_P) % NOE_FIELD_P;
    uint64_t v = (uint64_t)a.v * (NOE_FIELD_UNIT % NOE_FIELD_Q) % NOE_FIELD_Q;
    uint64_t difference = (v + 3 * (uint64_t)NOE_FIELD_Q - u) % NOE_FIELD_Q;
    int64_t n = (int64_t)(u + NOE_FIELD_P * difference);
    int64_t modulus = (int64_t)NOE_FIELD_P * NOE_FIELD_Q;
    return n > modulus / 2 ? n - modulus : n;
}

noe_fe noe_fe_inv(noe_fe a)
{
    return (noe_fe){inverse(a.u, NOE_FIELD_P), inverse(a.v, NOE_FIELD_Q)};
}

/* Unknown functions of a number: what is known is the sign of the result. */
static noe_fe positive_hash(const noe_field *f, noe_field_hash which, uint32_t u)
{
    return noe_fe_int(
        1 + (int64_t)(keyed_hash(f, which, u) % (2 * (uint64_t)f->range + 1)));
}

/* Odd, and zero at zero only; a square in NOE_ORDER_RESIDUE, which is positive. */
static noe_fe odd_hash(const noe_field *f, noe_field_hash which, noe_fe a)
{
    int sign = noe_fe_sign(f, a);
    if (sign == 0)
        return (noe_fe){0, 0};
    uint32_t u = sign < 0 ? noe_fe_neg(a).u : a.u;
    noe_fe r;
    if (f->order == NOE_ORDER_NUMBER) {
        r = positive_hash(f, which, u);
    } else {
        uint64_t hash = keyed_hash(f, which, u);
        uint32_t root = 1 + (uint32_t)(hash % (NOE_FIELD_P - 1));
        r = (noe_fe){mul_mod(root, root, NOE_FIELD_P),
                     (uint32_t)(noe_mix64(hash) % NOE_FIELD_Q)};
    }
    return sign < 0 ? noe_fe_neg(r) : r;
}

noe_fe noe_fe_exp(const noe_field *f, noe_fe a)
{
    if (f->order == NOE_ORDER_NUMBER)
        return positive_hash(f, NOE_FIELD_HASH_EXP, a.u);
    uint32_t u = f->power[0][a.v % NOE_FIELD_DIGITS];
    for (int w = 1; w < NOE_FIELD_WINDOWS; w++) {
        uint32_t digit = a.v >> WINDOW_BITS * w & (NOE_FIELD_DIGITS - 1);
        u = mul_mod(u, f->power[w][digit], NOE_FIELD_P);
    }
    return (noe_fe){u, (uint32_t)(keyed_hash(f, NOE_FIELD_HASH_EXP, u) % NOE_FIELD_Q)};
}

/* Whether an argument is outside of a domain, and what a function gives there:
 * anything.
 */
static bool is_outside(const noe_field *f, noe_fe a, bool outside, noe_fe *value)
{
    if (f->outside == 0 || f->order == NOE_ORDER_NUMBER || !outside)
        return false;
    uint64_t hash = noe_mix64(f->outside ^ noe_mix64(f->key[NOE_FIELD_HASH_LOG] ^ a.u));
    *value = (noe_fe){(uint32_t)(hash % NOE_FIELD_P),
                      (uint32_t)(noe_mix64(hash) % NOE_FIELD_Q)};
    return true;
}

noe_fe noe_fe_sqrt(const noe_field *f, noe_fe a)
{
    noe_fe outside;
    if (is_outside(f, a, noe_fe_legendre(a.u) < 0, &outside))
        return outside;
    if (f->order == NOE_ORDER_NUMBER)
        return positive_hash(f, NOE_FIELD_HASH_SQRT, a.u);
    uint32_t u = pow_p(a.u, (NOE_FIELD_P + 1) / 4);
    return (noe_fe){u, (uint32_t)(keyed_hash(f, NOE_FIELD_HASH_SQRT, u) % NOE_FIELD_Q)};
}

noe_fe noe_fe_log(const noe_field *f, noe_fe a)
{
    noe_fe outside;
    if (is_outside(f, a, noe_fe_legendre(a.u) <= 0, &outside))
        return outside;
    if (f->order == NOE_ORDER_NUMBER)
        return noe_fe_sub(positive_hash(f, NOE_FIELD_HASH_LOG, a.u),
                          noe_fe_int(f->range));
    uint64_t hash = keyed_hash(f, NOE_FIELD_HASH_LOG, a.u);
    return (noe_fe){(uint32_t)(hash % NOE_FIELD_P),
                    (uint32_t)(noe_mix64(hash) % NOE_FIELD_Q)};
}

noe_fe noe_fe_cast(const noe_field *f, noe_fe a, noe_dtype to)
{
    if (a.u == 0)
        return (noe_fe){0, 0};
    uint64_t hash =
        noe_mix64(keyed_hash(f, NOE_FIELD_HASH_CAST, a.u) ^ noe_mix64((uint64_t)to));
    if (f->order == NOE_ORDER_NUMBER)
        return noe_fe_int((int64_t)(hash % (2 * (uint64_t)f->range + 1)) - f->range);
    return (noe_fe){(uint32_t)(hash % NOE_FIELD_P),
                    (uint32_t)(noe_mix64(hash) % NOE_FIELD_Q)};
}

noe_fe noe_fe_erf(const noe_field *f, noe_fe a)
{
    return odd_hash(f, NOE_FIELD_HASH_ERF, a);
}

noe_fe noe_fe_sigmoid(const noe_field *f, noe_fe a)
{
    if (f->order == NOE_ORDER_NUMBER)
        return positive_hash(f, NOE_FIELD_HASH_SIGMOID, a.u);
    return noe_fe_inv(noe_fe_add((noe_fe){1, 1}, noe_fe_exp(f, noe_fe_neg(a))));
}

noe_fe noe_fe_tanh(const noe_field *f, noe_fe a)
{
    if (f->order == NOE_ORDER_NUMBER)
        return odd_hash(f, NOE_FIELD_HASH_TANH, a);
    noe_fe s = noe_fe_sigmoid(f, noe_fe_add(a, a));
    return noe_fe_sub(noe_fe_add(s, s), (noe_fe){1, 1});
}

noe_fe noe_fe_quotient(const noe_field *f, noe_fe a, noe_fe b)
{
    noe_fe outside;
    if (is_outside(f, a, b.u == 0, &outside))
        return outside;
    return noe_fe_mul(a, noe_fe_reciprocal(f, b));
}

noe_fe noe_fe_reciprocal(const noe_field *f, noe_fe a)
{
    noe_fe outside;
    if (is_outside(f, a, a.u == 0, &outside))
        return outside;
    noe_fe r = noe_fe_inv(a);
    if (f->order == NOE_ORDER_RESIDUE)
        return r;
    int64_t n = noe_fe_number(r), limit = NOE_FIELD_UNIT * NOE_FIELD_BOUND;
    return n > -limit && n < limit ? r : odd_hash(f, NOE_FIELD_HASH_RECIPROCAL, a);
}

#define MAX_HALVES 64

noe_fe noe_fe_pow(const noe_field *f, noe_fe a, double exponent)
{
    double halves = fabs(2 * exponent);
    if (halves != floor(halves) || halves > MAX_HALVES) {
        uint64_t bits;
        memcpy(&bits, &exponent, sizeof bits);
        return noe_fe_log(f, (noe_fe){(uint32_t)noe_mix64(bits ^ a.u), a.v});
    }
    int n = (int)halves;
    noe_fe r = n % 2 ? noe_fe_sqrt(f, a) : (noe_fe){1, 1};
    for (int i = 0; i < n / 2; i++)
        r = noe_fe_mul(r, a);
    return exponent < 0 ? noe_fe_reciprocal(f, r) : r;
}

bool noe_fe_is_true(const noe_field *f, noe_fe a)
{
    if (f->order == NOE_ORDER_NUMBER)
        return a.u != 0 || a.v != 0;
    uint64_t hash = noe_mix64(keyed_hash(f, NOE_FIELD_HASH_ORDER, a.u));
    return a.u == 1 || (a.u != 0 && (hash & 1));
}

uint64_t noe_fe_rank(const noe_field *f, noe_fe a)
{
    return keyed_hash(f, NOE_FIELD_HASH_ORDER, a.u);
}

int noe_fe_compare(const noe_field *f, noe_fe a, noe_fe b)
{
    if (f->order == NOE_ORDER_NUMBER)
        return noe_fe_sign(f, noe_fe_sub(a, b));
    uint64_t x = noe_fe_rank(f, a), y = noe_fe_rank(f, b);
    return x < y ? -1 : x > y;
}

/* Binary Jacobi symbol (Shallit and Sorenson). Both numbers stay odd; the two updates
 * of the sign are reciprocity, (a/n)(n/a) = -1 where both are 3 mod 4, and (2/n) = -1
 * where n is 3 or 5 mod 8. Signed differences and masks instead of branches, because
 * every branch on random numbers would be mispredicted half of the time. */
int noe_fe_legendre(uint32_t residue)
{
    int64_t a = residue, n = NOE_FIELD_P;
    if (a == 0)
        return 0;
    int zeros = __builtin_ctz(residue);
    uint32_t flips = (uint32_t)zeros & TWO_IS_MINUS(n);
    a >>= zeros;
    while (a != n) {
        int64_t difference = a - n, less = difference >> 63;
        zeros = __builtin_ctz((uint32_t)difference);
        flips ^= (uint32_t)(less & (a & n) >> 1);
        n += difference & less;
        a = ((difference ^ less) - less) >> zeros;
        flips ^= (uint32_t)zeros & TWO_IS_MINUS(n);
    }
    return 1 - 2 * (int)(flips & 1);
}

/* 1 / p mod 2^32, by Newton's iteration: each step doubles the bits that are right. */
#define NEWTON(X)    ((X) * (2 - NOE_FIELD_P * (X)))
#define INVERSE_OF_P NEWTON(NEWTON(NEWTON(NEWTON(NOE_FIELD_P))))

/* a b / 2^32 mod p (Montgomery). */
static inline uint32_t montgomery(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    uint32_t m = (uint32_t)product * (0 - INVERSE_OF_P);
    return noe_residue_once((uint32_t)((product + (uint64_t)m * NOE_FIELD_P) >> 32),
                            NOE_FIELD_P);
}

/* Euler's criterion, (p - 1) / 2 = 2^30 - 168545: a nonzero a is a square if a^(2^30) =
 * a^168545. What stands here for a is a / 2^32, which is a square if a is one. */
NOE_FOR_VECTORS static void square_block(const uint32_t *restrict a,
                                         uint32_t *restrict is_square)
{
    const uint32_t rest = (UINT32_C(1) << 30) - NOE_FIELD_Q;
    uint32_t power[NOE_FE_BLOCK], of_rest[NOE_FE_BLOCK];
    for (int i = 0; i < NOE_FE_BLOCK; i++)
        power[i] = of_rest[i] = a[i];
    for (int bit = 1; bit <= 30; bit++) {
        for (int i = 0; i < NOE_FE_BLOCK; i++)
            power[i] = montgomery(power[i], power[i]);
        if (!(rest >> bit & 1))
            continue;
        for (int i = 0; i < NOE_FE_BLOCK; i++)
            of_rest[i] = montgomery(of_rest[i], power[i]);
    }
    for (int i = 0; i < NOE_FE_BLOCK; i++)
        is_square[i] = power[i] == of_rest[i];
}

void noe_fe_positive(const noe_fe *a, int n, bool *is_positive)
{
    uint32_t u[NOE_FE_BLOCK] = {0}, is_square[NOE_FE_BLOCK];
    for (int i = 0; i < n; i++)
        u[i] = a[i].u;
    square_block(u, is_square);
    for (int i = 0; i < n; i++)
        is_positive[i] = u[i] != 0 && is_square[i];
}
