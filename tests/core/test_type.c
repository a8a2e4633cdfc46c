/* SPDX-License-Identifier: Apache-2.0 */
#include "core/type.h"
#include <math.h>
#include "tests/support/support.h"

static noe_shape shape(int rank, int64_t a, int64_t b, int64_t c)
{
    int64_t dim[] = {a, b, c};
    return noe_shape_make(rank, dim);
}

START_TEST(test_dtype_round_trips)
{
    noe_dtype d = (noe_dtype)_i, back;
    const char *name = noe_dtype_name(d);
    ck_assert(noe_dtype_from_name(name, strlen(name), &back));
    ck_assert_int_eq(back, d);
    ck_assert_int_eq(noe_dtype_from_onnx(noe_dtype_to_onnx(d)), d);
    ck_assert(!noe_dtype_from_name(name, strlen(name) - 1, &back) || back != d);
}
END_TEST

START_TEST(test_dtype_unknown_names_and_numbers)
{
    noe_dtype d;
    ck_assert(!noe_dtype_from_name("f33", 3, &d));
    ck_assert(!noe_dtype_from_name("", 0, &d));
    ck_assert_int_eq(noe_dtype_from_onnx(999), NOE_UNKNOWN);
    ck_assert_int_eq(noe_dtype_from_onnx(-1), NOE_UNKNOWN);
    ck_assert_uint_eq(noe_dtype_bytes(NOE_F32), 4);
    ck_assert_uint_eq(noe_dtype_bytes(NOE_C128), 16);
    ck_assert_uint_eq(noe_dtype_bytes(NOE_STRING), 0);
}
END_TEST

static const struct {
    noe_shape a, b;
    const char *want; /* NULL: they do not fit */
} broadcasts[] = {
    {{2, {2, 3}}, {2, {2, 3}}, "[2,3]"}, {{2, {2, 3}}, {1, {3}}, "[2,3]"},
    {{2, {2, 1}}, {2, {1, 3}}, "[2,3]"}, {{0, {0}}, {3, {4, 5, 6}}, "[4,5,6]"},
    {{0, {0}}, {0, {0}}, "[]"},          {{1, {0}}, {1, {1}}, "[0]"},
    {{1, {0}}, {2, {7, 1}}, "[7,0]"},    {{1, {0}}, {1, {2}}, NULL},
    {{2, {2, 3}}, {1, {2}}, NULL},       {{3, {2, 3, 4}}, {3, {2, 2, 4}}, NULL},
};

START_TEST(test_shape_broadcast)
{
    for (int swap = 0; swap < 2; swap++) {
        const noe_shape *a = &broadcasts[_i].a, *b = &broadcasts[_i].b;
        noe_shape out;
        bool fits =
            swap ? noe_shape_broadcast(b, a, &out) : noe_shape_broadcast(a, b, &out);
        ck_assert_int_eq(fits, broadcasts[_i].want != NULL);
        if (!fits)
            continue;
        noe_buf text = {0};
        noe_shape_print(&text, &out);
        ck_assert_str_eq(text.text, broadcasts[_i].want);
        noe_buf_clear(&text);
    }
}
END_TEST

/* Numbers and what they are rounded to: ties to even, subnormals, overflow. */
static const struct {
    noe_dtype dtype;
    double from, to;
} rounded[] = {
    {NOE_F16, 1.5, 1.5},
    {NOE_F16, 2049, 2048},
    {NOE_F16, 2051, 2052},
    {NOE_F16, -2049.0001, -2050},
    {NOE_F16, 65504, 65504},
    {NOE_F16, 65519.99, 65504},
    {NOE_F16, 65520, INFINITY},
    {NOE_F16, -1e9, -INFINITY},
    {NOE_F16, 0x1p-24, 0x1p-24},
    {NOE_F16, 0x1.8p-24, 0x1p-23},
    {NOE_F16, 0x1p-25, 0},
    {NOE_F16, 0x1.0001p-25, 0x1p-24},
    {NOE_F16, 0x1.FFFp-15, 0x1p-14},
    /* in one step: by way of f32 it would be 1 */
    {NOE_F16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
    {NOE_BF16, 257, 256},
    {NOE_BF16, 259, 260},
    {NOE_BF16, 0x1.FEp127, 0x1.FEp127},
    {NOE_BF16, 0x1.FFp127, INFINITY},
    {NOE_BF16, 0x1p-133, 0x1p-133},
    {NOE_BF16, 0x1p-134, 0},
    {NOE_F32, 16777217, 16777216},
    {NOE_F64, 0.1, 0.1},
    {NOE_F16, INFINITY, INFINITY},
};

START_TEST(test_dtype_round)
{
    double got = noe_dtype_round(rounded[_i].dtype, rounded[_i].from);
    ck_assert_msg(got == rounded[_i].to, "%s: %a became %a, want %a",
                  noe_dtype_name(rounded[_i].dtype), rounded[_i].from, got,
                  rounded[_i].to);
    ck_assert(isnan(noe_dtype_round(rounded[_i].dtype, NAN)));
    ck_assert(signbit(noe_dtype_round(rounded[_i].dtype, -0.0)));
}
END_TEST

/* Bits of x as it is stored. */
static uint16_t stored(noe_dtype d, double x)
{
    uint16_t bits;
    noe_dtype_store(d, &x, 1, &bits);
    return bits;
}

/* The number comes back, is what rounding keeps, and is larger than the one before;
 * what lies halfway between the two goes to the even one. NaN stays NaN. */
static bool is_right(noe_dtype d, uint16_t bits, double *before)
{
    double x, back;
    noe_dtype_load(d, &bits, 1, &x);
    uint16_t again = stored(d, x);
    noe_dtype_load(d, &again, 1, &back);
    if (isnan(x))
        return isnan(back);
    bool right =
        again == bits && noe_dtype_round(d, x) == x && !!signbit(x) == (bits >> 15);
    if (bits & 0x7FFF && isfinite(x))
        right = right && fabs(x) > fabs(*before) &&
                stored(d, (x + *before) / 2) == (bits & 1 ? bits - 1 : bits);
    *before = x;
    return right;
}

START_TEST(test_dtype_every_half)
{
    noe_dtype d = _i ? NOE_BF16 : NOE_F16;
    double before = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if (!is_right(d, (uint16_t)bits, &before)) /* a passed assertion is slow */
            ck_abort_msg("%s %04x", noe_dtype_name(d), bits);
    }
}
END_TEST

START_TEST(test_shape_broadcast_in_place)
{
    noe_shape a = shape(2, 2, 1, 0), b = shape(1, 5, 0, 0), want = shape(2, 2, 5, 0);
    ck_assert(noe_shape_broadcast(&a, &b, &b));
    ck_assert(noe_shape_eq(&b, &want));
}
END_TEST

START_TEST(test_shape_elements)
{
    noe_shape s = shape(3, 2, 3, 4);
    ck_assert_int_eq(noe_shape_elements(&s), 24);
    s = shape(0, 0, 0, 0);
    ck_assert_int_eq(noe_shape_elements(&s), 1);
    s = shape(2, 1 << 20, 1 << 20, 0);
    ck_assert_int_eq(noe_shape_elements(&s), NOE_MAX_ELEMENTS);
    s = shape(2, 1 << 20, (1 << 20) + 1, 0);
    ck_assert_int_eq(noe_shape_elements(&s), -1);
    s = shape(3, INT64_MAX, INT64_MAX, 2);
    ck_assert_int_eq(noe_shape_elements(&s), -1);
    s = shape(3, INT64_MAX, INT64_MAX, 0);
    ck_assert_int_eq(noe_shape_elements(&s), 0);
    s = shape(2, 2, -2, 0);
    ck_assert_int_eq(noe_shape_elements(&s), -1);
}
END_TEST

START_TEST(test_shape_equality_of_unknowns)
{
    noe_shape known = shape(2, 2, 3, 0), other = shape(2, 2, 4, 0);
    noe_shape unknown = shape(2, 2, NOE_DIM_UNKNOWN, 0), symbolic = shape(2, 2, -3, 0);
    noe_shape other_symbol = shape(2, 2, -4, 0), no_rank = {.rank = NOE_RANK_UNKNOWN};
    ck_assert(noe_shape_eq(&known, &known));
    ck_assert(!noe_shape_eq(&known, &other));
    ck_assert(!noe_shape_eq(&unknown, &unknown));
    ck_assert(noe_shape_eq(&symbolic, &symbolic));
    ck_assert(!noe_shape_eq(&symbolic, &other_symbol));
    ck_assert(!noe_shape_eq(&no_rank, &no_rank));
    ck_assert(noe_shape_is_static(&known));
    ck_assert(!noe_shape_is_static(&symbolic));
    ck_assert(!noe_shape_is_static(&no_rank));
}
END_TEST

START_TEST(test_type_print)
{
    static const struct {
        noe_type type;
        const char *want;
    } cases[] = {
        {{NOE_F32, {2, {2, 3}}}, "f32[2,3]"},
        {{NOE_I64, {0, {0}}}, "i64[]"},
        {{NOE_BF16, {2, {2, NOE_DIM_UNKNOWN}}}, "bf16[2,?]"},
        {{NOE_F32, {3, {-2, 3, -3}}}, "f32[s1,3,s2]"},
        {{NOE_UNKNOWN, {NOE_RANK_UNKNOWN, {0}}}, "unknown?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_buf text = {0};
        noe_type_print(&text, &cases[i].type);
        ck_assert_str_eq(text.text, cases[i].want);
        noe_buf_clear(&text);
    }
    noe_type a = {NOE_F32, {1, {2}}}, b = {NOE_F64, {1, {2}}};
    ck_assert(noe_type_eq(&a, &a));
    ck_assert(!noe_type_eq(&a, &b));
}
END_TEST

Suite *suite_type(void);

Suite *suite_type(void)
{
    Suite *suite = suite_create("core.type");
    TCase *tc = tcase_create("type");
    tcase_add_loop_test(tc, test_dtype_round_trips, 0, NOE_DTYPE_COUNT);
    tcase_add_test(tc, test_dtype_unknown_names_and_numbers);
    tcase_add_loop_test(tc, test_shape_broadcast, 0,
                        (int)(sizeof broadcasts / sizeof *broadcasts));
    tcase_add_loop_test(tc, test_dtype_round, 0,
                        (int)(sizeof rounded / sizeof *rounded));
    tcase_add_loop_test(tc, test_dtype_every_half, 0, 2);
    tcase_add_test(tc, test_shape_broadcast_in_place);
    tcase_add_test(tc, test_shape_elements);
    tcase_add_test(tc, test_shape_equality_of_unknowns);
    tcase_add_test(tc, test_type_print);
    suite_add_tcase(suite, tc);
    return suite;
}
