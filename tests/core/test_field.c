/* SPDX-License-Identifier: Apache-2.0
 *
 * The verification field: its constants, its arithmetic, the laws that the models of
 * the operators must have, and equations that are wrong over the reals and so must
 * fail.
 */
#include "core/field.h"
#include "tests/support/support.h"
#include <math.h>

#define SEED    11
#define SAMPLES 2000
/* A sign is one bit: relu(a b) = relu(a) relu(b) fails for a quarter of the samples. */
#define LIE_SAMPLES 64

static noe_field f;
static noe_fe zero = {0, 0}, one = {1, 1};

static void setup(void)
{
    f = noe_field_make(SEED);
}

static bool is_prime(uint32_t n)
{
    for (uint32_t k = 2; (uint64_t)k * k <= n; k++) {
        if (n % k == 0)
            return false;
    }
    return n > 1;
}

static uint32_t power(uint32_t a, uint32_t e)
{
    uint64_t r = 1;
    for (uint64_t b = a; e; e >>= 1, b = b * b % NOE_FIELD_P) {
        if (e & 1)
            r = r * b % NOE_FIELD_P;
    }
    return (uint32_t)r;
}

START_TEST(test_constants)
{
    ck_assert(is_prime(NOE_FIELD_P));
    ck_assert(is_prime(NOE_FIELD_Q));
    ck_assert_uint_eq(NOE_FIELD_P, 2 * NOE_FIELD_Q + 1);
    ck_assert_uint_eq(NOE_FIELD_P % 4, 3);
    /* Otherwise relu(3 x) = 3 relu(x) would be false. */
    for (uint32_t k = 2; k <= 23; k++)
        ck_assert_int_eq(noe_fe_legendre(k), 1);
    ck_assert_int_eq(noe_fe_legendre(NOE_FIELD_P - 1), -1);
}
END_TEST

START_TEST(test_base_of_exp_has_order_q)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        noe_field k = noe_field_make(seed);
        ck_assert_uint_ne(k.g, 1);
        ck_assert_uint_ne(k.g, 0);
        /* q is prime, so the order is q as soon as it divides q. */
        ck_assert_uint_eq(power(k.g, NOE_FIELD_Q), 1);
        for (uint32_t v = 1; v < NOE_FIELD_Q; v = v * 3 + 1)
            ck_assert_uint_eq(noe_fe_exp(&k, (noe_fe){0, v}).u, power(k.g, v));
        ck_assert_uint_ne(k.g, noe_field_make(seed + 1).g);
    }
}
END_TEST

START_TEST(test_sign_is_euler_s_criterion)
{
    noe_rng rng = noe_rng_split(SEED, "sign", 0);
    ck_assert_int_eq(noe_fe_legendre(0), 0);
    for (uint32_t a = 1; a < SAMPLES; a++)
        ck_assert_int_eq(noe_fe_legendre(a), power(a, NOE_FIELD_Q) == 1 ? 1 : -1);
    for (int i = 0; i < SAMPLES; i++) {
        uint32_t a = noe_fe_random(&rng).u;
        ck_assert_msg(noe_fe_legendre(a) == (a == 0                       ? 0
                                             : power(a, NOE_FIELD_Q) == 1 ? 1
                                                                          : -1),
                      "sign of %u", a);
    }
}
END_TEST

START_TEST(test_signs_of_a_block)
{
    noe_rng rng = noe_rng_split(SEED, "block of signs", 0);
    noe_fe x[NOE_FE_BLOCK];
    bool is_positive[NOE_FE_BLOCK];
    for (int i = 0; i < SAMPLES; i += NOE_FE_BLOCK) {
        int n = 1 + i / NOE_FE_BLOCK % NOE_FE_BLOCK;
        for (int k = 0; k < n; k++)
            x[k] = noe_fe_random(&rng);
        x[0].u = (uint32_t)(i / NOE_FE_BLOCK % 3) * (NOE_FIELD_P - 1) / 2;
        noe_fe_positive(x, n, is_positive);
        for (int k = 0; k < n; k++)
            ck_assert_msg(is_positive[k] == (noe_fe_legendre(x[k].u) > 0), "sign of %u",
                          x[k].u);
    }
}
END_TEST

START_TEST(test_integers_and_doubles)
{
    ck_assert_uint_eq(noe_fe_int(-1).u, NOE_FIELD_P - 1);
    ck_assert_uint_eq(noe_fe_int(-1).v, NOE_FIELD_Q - 1);
    ck_assert_uint_eq(noe_fe_int(INT64_MIN).u,
                      noe_fe_sub(zero, noe_fe_add(noe_fe_int(INT64_MAX), one)).u);
    double halves[] = {0.5, -0.5, 0.375, 1.0 / 3, 0.1, 1e300, -1e-300, 5e-324, 3};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        noe_fe x = noe_fe_double(halves[i]), y = noe_fe_double(2 * halves[i]);
        ck_assert_msg(noe_fe_eq(noe_fe_add(x, x), y), "%g", halves[i]);
        ck_assert_uint_eq(noe_fe_add(x, x).v, y.v);
    }
    noe_fe half = noe_fe_double(0.5);
    ck_assert(noe_fe_eq(noe_fe_mul(half, noe_fe_int(2)), one));
    ck_assert(noe_fe_eq(noe_fe_double(-7), noe_fe_int(-7)));
    ck_assert(noe_fe_eq(noe_fe_double(0), zero) && noe_fe_double(-0.0).u == 0);
    /* 0.1 is not the fraction 1/10. */
    ck_assert(!noe_fe_eq(noe_fe_mul(noe_fe_double(0.1), noe_fe_int(10)), one));
}
END_TEST

START_TEST(test_sum_of_products_at_the_extremes)
{
    noe_fe top = {NOE_FIELD_P - 1, NOE_FIELD_Q - 1}; /* -1 */
    noe_fe_sum s = {0, 0, 0, 0};
    noe_fe plain = zero;
    for (int i = 0; i < 100000; i++) {
        noe_fe_sum_add(&s, top, top);
        plain = noe_fe_add(plain, noe_fe_mul(top, top));
    }
    ck_assert_uint_eq(noe_fe_sum_value(&s).u, 100000);
    ck_assert_uint_eq(plain.u, 100000);
    ck_assert_uint_eq(noe_fe_sum_value(&s).v, 100000);
}
END_TEST

/* Laws: for random a, b, c both sides are equal. Written over reals: what the models
 * have in common with them. */
static noe_fe relu(noe_fe a)
{
    return noe_fe_relu(&f, a);
}
static noe_fe exp_(noe_fe a)
{
    return noe_fe_exp(&f, a);
}
static noe_fe sqrt_(noe_fe a)
{
    return noe_fe_sqrt(&f, a);
}
/* As in max_pool and reduce_max. */
static noe_fe greater(noe_fe a, noe_fe b)
{
    return noe_fe_compare(&f, a, b) < 0 ? b : a;
}
static noe_fe max(noe_fe a, noe_fe b)
{
    return noe_fe_max(&f, a, b);
}
static noe_fe min(noe_fe a, noe_fe b)
{
    return noe_fe_min(&f, a, b);
}
static noe_fe erf_(noe_fe a)
{
    return noe_fe_erf(&f, a);
}
static noe_fe log_(noe_fe a)
{
    return noe_fe_log(&f, a);
}
static noe_fe half(noe_fe a)
{
    return noe_fe_cast(&f, a, NOE_F16);
}
static noe_fe single(noe_fe a)
{
    return noe_fe_cast(&f, a, NOE_F32);
}
static noe_fe absolute(noe_fe a)
{
    return noe_fe_abs(&f, a);
}
static noe_fe operator(noe_op op, noe_fe a)
{
    noe_fe y;
    noe_tensor_fe in = {{0, {0}}, &a}, out = {{0, {0}}, &y};
    noe_eval_fe(&f, op, NULL, &in, 1, &out);
    return y;
}
#define SIGMOID(A) operator(NOE_OP_SIGMOID, A)
#define TANH(A)    operator(NOE_OP_TANH, A)
#define ADD(A, B)  noe_fe_add(A, B)
#define SUB(A, B)  noe_fe_sub(A, B)
#define MUL(A, B)  noe_fe_mul(A, B)
#define INV(A)     noe_fe_inv(A)
#define NEG(A)     noe_fe_neg(A)
#define INT(I)     noe_fe_int(I)

#define LAWS(XX)                                                  \
    XX(ADD(a, ADD(b, c)), ADD(ADD(c, a), b))                      \
    XX(MUL(a, ADD(b, c)), ADD(MUL(b, a), MUL(c, a)))              \
    XX(ADD(SUB(a, b), b), a)                                      \
    XX(NEG(NEG(a)), a)                                            \
    XX(MUL(a, INV(a)), one)                                       \
    XX(INV(MUL(a, b)), MUL(INV(a), INV(b)))                       \
    XX(relu(relu(a)), relu(a))                                    \
    XX(SUB(relu(a), relu(NEG(a))), a)                             \
    XX(ADD(relu(a), relu(NEG(a))), absolute(a))                   \
    XX(MUL(relu(a), relu(a)), MUL(a, relu(a)))                    \
    XX(relu(MUL(relu(a), relu(b))), MUL(relu(a), relu(b)))        \
    XX(relu(MUL(INT(3), a)), MUL(INT(3), relu(a)))                \
    XX(MUL(relu(a), relu(NEG(a))), zero)                          \
    XX(exp_(ADD(a, b)), MUL(exp_(a), exp_(b)))                    \
    XX(exp_(NEG(a)), INV(exp_(a)))                                \
    XX(exp_(zero), one)                                           \
    XX(exp_(MUL(INT(3), a)), MUL(exp_(a), MUL(exp_(a), exp_(a)))) \
    XX(exp_(exp_(ADD(a, b))), exp_(exp_(ADD(b, a))))              \
    XX(MUL(sqrt_(a), sqrt_(a)), absolute(a))                      \
    XX(sqrt_(MUL(a, b)), MUL(sqrt_(a), sqrt_(b)))                 \
    XX(sqrt_(MUL(a, a)), absolute(a))                             \
    XX(SIGMOID(a), INV(ADD(one, exp_(NEG(a)))))                   \
    XX(ADD(SIGMOID(a), SIGMOID(NEG(a))), one)                     \
    XX(TANH(a), SUB(MUL(INT(2), SIGMOID(ADD(a, a))), one))        \
    XX(TANH(NEG(a)), NEG(TANH(a)))                                \
    XX(greater(a, b), greater(b, a))                              \
    XX(greater(a, greater(b, c)), greater(greater(a, b), c))      \
    XX(greater(a, a), a)                                          \
    ORDER_LAWS(XX)

/* Laws of both ways to read signs. */
#define ORDER_LAWS(XX)                                                 \
    XX(max(a, b), max(b, a))                                           \
    XX(max(a, a), a)                                                   \
    XX(max(a, zero), relu(a))                                          \
    XX(max(a, b), ADD(b, relu(SUB(a, b))))                             \
    XX(max(ADD(a, c), ADD(b, c)), ADD(max(a, b), c))                   \
    XX(min(a, b), NEG(max(NEG(a), NEG(b))))                            \
    XX(ADD(max(a, b), min(a, b)), ADD(a, b))                           \
    XX(max(a, min(a, b)), a)                                           \
    XX(max(a, NEG(a)), absolute(a))                                    \
    XX(max(MUL(a, relu(c)), MUL(b, relu(c))), MUL(max(a, b), relu(c))) \
    XX(absolute(MUL(a, b)), MUL(absolute(a), absolute(b)))             \
    XX(erf_(NEG(a)), NEG(erf_(a)))                                     \
    XX(erf_(relu(a)), relu(erf_(a)))                                   \
    XX(erf_(zero), zero)                                               \
    XX(half(zero), zero)                                               \
    XX(half(ADD(a, b)), half(ADD(b, a)))

/* Laws of the order of numbers, which residues do not have. */
#define NUMBER_LAWS(XX)                                              \
    ORDER_LAWS(XX)                                                   \
    XX(max(max(a, b), c), max(a, max(b, c)))                         \
    XX(relu(ADD(relu(a), relu(b))), ADD(relu(a), relu(b)))           \
    XX(relu(max(a, b)), max(relu(a), relu(b)))                       \
    XX(max(a, min(b, c)), min(max(a, b), max(a, c)))                 \
    XX(greater(a, b), max(a, b))                                     \
    XX(max(absolute(ADD(a, b)), ADD(absolute(a), absolute(b))),      \
       ADD(absolute(a), absolute(b)))                                \
    XX(absolute(MUL(a, INV(INT(6)))), MUL(absolute(a), INV(INT(6)))) \
    XX(relu(exp_(a)), exp_(a))                                       \
    XX(relu(SIGMOID(a)), SIGMOID(a))                                 \
    XX(relu(TANH(a)), TANH(relu(a)))                                 \
    XX(absolute(sqrt_(a)), sqrt_(a))                                 \
    XX(min(INT(6), relu(a)), relu(min(INT(6), a)))

/* False over the reals: each must fail for most samples. */
#define LIES(XX)                                           \
    XX(MUL(a, b), ADD(a, b))                               \
    XX(SUB(a, b), SUB(b, a))                               \
    XX(relu(ADD(a, b)), ADD(relu(a), relu(b)))             \
    XX(relu(MUL(a, b)), MUL(relu(a), relu(b)))             \
    XX(relu(NEG(a)), NEG(relu(a)))                         \
    XX(relu(a), a)                                         \
    XX(exp_(ADD(a, b)), ADD(exp_(a), exp_(b)))             \
    XX(exp_(MUL(a, b)), MUL(exp_(a), exp_(b)))             \
    XX(SUB(exp_(one), one), INT(3))                        \
    XX(exp_(exp_(a)), exp_(a))                             \
    XX(sqrt_(ADD(a, b)), ADD(sqrt_(a), sqrt_(b)))          \
    XX(MUL(sqrt_(a), sqrt_(a)), a)                         \
    XX(SIGMOID(ADD(a, b)), ADD(SIGMOID(a), SIGMOID(b)))    \
    XX(SIGMOID(a), ADD(one, exp_(NEG(a))))                 \
    XX(TANH(a), SIGMOID(a))                                \
    XX(MUL(SIGMOID(zero), SIGMOID(zero)), exp_(NEG(one)))  \
    XX(max(a, b), a)                                       \
    XX(max(NEG(a), NEG(b)), NEG(max(a, b)))                \
    XX(max(ADD(a, c), ADD(b, c)), ADD(a, c))               \
    XX(max(MUL(a, c), MUL(b, c)), MUL(max(a, b), c))       \
    XX(absolute(ADD(a, b)), ADD(absolute(a), absolute(b))) \
    XX(erf_(a), a)                                         \
    XX(half(a), a)                                         \
    XX(single(half(a)), a)                                 \
    XX(single(half(a)), half(a))                           \
    XX(half(half(a)), half(a))                             \
    XX(single(a), half(a))                                 \
    XX(half(ADD(a, b)), ADD(half(a), half(b)))             \
    XX(relu(half(a)), half(a))                             \
    XX(half(NEG(a)), half(a))                              \
    XX(log_(MUL(a, b)), MUL(log_(a), log_(b)))

/* Equations by their place in the list. */
#define XX(LEFT, RIGHT)                \
    if (index-- == 0) {                \
        *text = #LEFT " == " #RIGHT;   \
        return noe_fe_eq(LEFT, RIGHT); \
    }
static bool law_holds(int index, noe_fe a, noe_fe b, noe_fe c, const char **text)
{
    LAWS(XX)
    ck_abort_msg("no law %d", index);
    return false;
}
static bool lie_holds(int index, noe_fe a, noe_fe b, noe_fe c, const char **text)
{
    LIES(XX)
    ck_abort_msg("no lie %d", index);
    return false;
}
static bool number_law_holds(int index, noe_fe a, noe_fe b, noe_fe c, const char **text)
{
    NUMBER_LAWS(XX)
    ck_abort_msg("no law %d", index);
    return false;
}
#undef XX
#define XX(LEFT, RIGHT) +1
enum { N_LAWS = 0 LAWS(XX), N_NUMBER_LAWS = 0 NUMBER_LAWS(XX), N_LIES = 0 LIES(XX) };
#undef XX

START_TEST(test_laws_hold)
{
    const char *text;
    noe_rng rng = noe_rng_split(SEED, "laws", (uint64_t)_i);
    for (int i = 0; i < SAMPLES; i++) {
        noe_fe a = noe_fe_random(&rng), b = noe_fe_random(&rng),
               c = noe_fe_random(&rng);
        ck_assert_msg(law_holds(_i, a, b, c, &text), "%s, sample %d, seed %d", text, i,
                      SEED);
    }
}
END_TEST

START_TEST(test_laws_of_numbers_hold)
{
    const char *text;
    static const int ranges[] = {3, 12, 100};
    noe_rng rng = noe_rng_split(SEED, "numbers", (uint64_t)_i);
    for (int i = 0; i < SAMPLES; i++) {
        f = noe_field_make_ordered(SEED, ranges[i % 3]);
        noe_fe a = noe_fe_draw(&f, &rng), b = noe_fe_draw(&f, &rng),
               c = noe_fe_draw(&f, &rng);
        ck_assert_msg(number_law_holds(_i, a, b, c, &text), "%s, sample %d, seed %d",
                      text, i, SEED);
    }
}
END_TEST

/* The number that a pair stands for is the one that was put in, and its sign. */
START_TEST(test_numbers_are_read_back)
{
    static const double numbers[] = {0,    1,    -1,       0.5, -0.75,       1e9,
                                     -1e9, 3.25, 1 / 64.0, -6,  1073741823.0};
    f = noe_field_make_ordered(SEED, NOE_FIELD_RANGE);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        noe_fe a = noe_fe_double(numbers[i]);
        double unit = (double)NOE_FIELD_UNIT;
        ck_assert_double_eq((double)noe_fe_number(a) / unit, numbers[i]);
        ck_assert_int_eq(noe_fe_sign(&f, a), (numbers[i] > 0) - (numbers[i] < 0));
        noe_fe third = MUL(a, INV(INT(3)));
        ck_assert_int_eq(3 * noe_fe_number(third), noe_fe_number(a));
    }
    /* Too large: another number, or none at all. */
    ck_assert_int_ne(noe_fe_number(noe_fe_double(0x1p40)), (int64_t)0x1p40);
    noe_rng rng = noe_rng_split(SEED, "draw", 0);
    for (int i = 0; i < SAMPLES; i++) {
        f.range = 1 + i % 20;
        int64_t n = noe_fe_number(noe_fe_draw(&f, &rng));
        ck_assert(n >= -f.range * NOE_FIELD_UNIT && n <= f.range * NOE_FIELD_UNIT);
        ck_assert_int_eq(n % (NOE_FIELD_UNIT / 2), 0);
    }
}
END_TEST

/* The same lies must be seen on numbers. */
START_TEST(test_lies_are_seen_on_numbers)
{
    const char *text = "";
    noe_rng rng = noe_rng_split(SEED, "lies on numbers", (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        bool seen = false;
        for (int k = 0; k < LIE_SAMPLES; k++) {
            f = noe_field_make_ordered(SEED + (uint64_t)(i * LIE_SAMPLES + k),
                                       NOE_FIELD_RANGE);
            noe_fe a = noe_fe_draw(&f, &rng), b = noe_fe_draw(&f, &rng),
                   c = noe_fe_draw(&f, &rng);
            seen |= !lie_holds(_i, a, b, c, &text);
        }
        ck_assert_msg(seen, "%s passed for true, round %d, seed %d", text, i, SEED);
    }
}
END_TEST

START_TEST(test_lies_are_seen_soon)
{
    const char *text = "";
    noe_rng rng = noe_rng_split(SEED, "lies", (uint64_t)_i);
    for (int i = 0; i < 100; i++) {
        bool seen = false;
        for (int k = 0; k < LIE_SAMPLES; k++) {
            noe_fe a = noe_fe_random(&rng), b = noe_fe_random(&rng),
                   c = noe_fe_random(&rng);
            seen |= !lie_holds(_i, a, b, c, &text);
        }
        ck_assert_msg(seen, "%s passed for true, round %d, seed %d", text, i, SEED);
    }
}
END_TEST

START_TEST(test_order_is_total_and_keyed)
{
    noe_field other = noe_field_make(SEED + 1);
    noe_rng rng = noe_rng_split(SEED, "order", 0);
    int differ = 0;
    for (int i = 0; i < SAMPLES; i++) {
        noe_fe a = noe_fe_random(&rng), b = noe_fe_random(&rng),
               c = noe_fe_random(&rng);
        ck_assert_int_eq(noe_fe_compare(&f, a, a), 0);
        ck_assert_int_eq(noe_fe_compare(&f, a, b), -noe_fe_compare(&f, b, a));
        if (noe_fe_compare(&f, a, b) <= 0 && noe_fe_compare(&f, b, c) <= 0)
            ck_assert_int_le(noe_fe_compare(&f, a, c), 0);
        differ += noe_fe_compare(&f, a, b) != noe_fe_compare(&other, a, b);
    }
    ck_assert_int_gt(differ, SAMPLES / 3);
    ck_assert_int_lt(differ, 2 * SAMPLES / 3);
}
END_TEST

START_TEST(test_division_by_zero_is_zero)
{
    ck_assert(noe_fe_eq(noe_fe_inv(zero), zero));
    ck_assert_uint_eq(noe_fe_inv(zero).v, 0);
    /* One part zero, the other not. */
    ck_assert_uint_eq(noe_fe_inv((noe_fe){0, 2}).v, (NOE_FIELD_Q + 1) / 2);
}
END_TEST

/* Tensors are gone through in blocks: the same values as one by one, zeros included. */
START_TEST(test_blocks_are_elementwise)
{
    enum { N = 150 };
    static const noe_op ops[] = {NOE_OP_RECIPROCAL, NOE_OP_SIGMOID, NOE_OP_TANH,
                                 NOE_OP_RELU};
    static noe_fe x[N], y[N], d[N];
    noe_rng rng = noe_rng_split(SEED, "blocks", 0);
    for (int i = 0; i < N; i++) {
        x[i] = noe_fe_random(&rng);
        if (i % 7 == 3)
            x[i].u = 0;
        if (i % 11 == 5)
            x[i].v = 0;
    }
    noe_tensor_fe in[2] = {{{1, {N}}, x}, {{1, {N}}, x}}, out = {{1, {N}}, y};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        noe_eval_fe(&f, ops[k], NULL, in, 1, &out);
        for (int i = 0; i < N; i++) {
            noe_fe want = operator(ops[k], x[i]);
            ck_assert_msg(y[i].u == want.u && y[i].v == want.v, "%s at %d",
                          noe_op_get(ops[k])->name, i);
        }
    }
    in[0].data = d;
    for (int i = 0; i < N; i++)
        d[i] = noe_fe_random(&rng);
    noe_eval_fe(&f, NOE_OP_DIV, NULL, in, 2, &out);
    for (int i = 0; i < N; i++) {
        noe_fe want = MUL(d[i], INV(x[i]));
        ck_assert_msg(y[i].u == want.u && y[i].v == want.v, "div at %d", i);
    }
}
END_TEST

Suite *suite_field(void)
{
    Suite *s = suite_create("core.field");
    TCase *tc = tcase_create("field");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, test_constants);
    tcase_add_test(tc, test_base_of_exp_has_order_q);
    tcase_add_test(tc, test_sign_is_euler_s_criterion);
    tcase_add_test(tc, test_signs_of_a_block);
    tcase_add_test(tc, test_integers_and_doubles);
    tcase_add_test(tc, test_sum_of_products_at_the_extremes);
    tcase_add_loop_test(tc, test_laws_hold, 0, N_LAWS);
    tcase_add_loop_test(tc, test_lies_are_seen_soon, 0, N_LIES);
    tcase_add_loop_test(tc, test_laws_of_numbers_hold, 0, N_NUMBER_LAWS);
    tcase_add_loop_test(tc, test_lies_are_seen_on_numbers, 0, N_LIES);
    tcase_add_test(tc, test_numbers_are_read_back);
    tcase_add_test(tc, test_order_is_total_and_keyed);
    tcase_add_test(tc, test_division_by_zero_is_zero);
    tcase_add_test(tc, test_blocks_are_elementwise);
    suite_add_tcase(s, tc);
    return s;
}
