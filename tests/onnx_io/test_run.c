/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference executor where ONNX's own tests do not look: rounding, wide integers,
 * limits, messages. The operators are judged by `conformance`.
 */
#include "onnx_io/run.h"
#include "onnx_io/run/npy.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>

static noe_error err;

/* ---- numbers ---- */

/* Values worked out by hand from the formats. */
static const struct {
    noe_elem elem;
    double x;
    bool saturate;
    double want;
} roundings[] = {
    {NOE_ELEM_F16, 1 + 0x1p-11, false, 1},                     /* a tie, to even */
    {NOE_ELEM_F16, 1 + 3 * 0x1p-11, false, 1 + 0x1p-9},        /* a tie, to even */
    {NOE_ELEM_F16, 1 + 0x1p-11 + 0x1p-40, false, 1 + 0x1p-10}, /* not by way of f32 */
    {NOE_ELEM_F16, 65519, false, 65504},
    {NOE_ELEM_F16, 65520, false, INFINITY},
    {NOE_ELEM_F16, 0x1p-25, false, 0},
    {NOE_ELEM_F16, 0x1.8p-25, false, 0x1p-24},
    {NOE_ELEM_BF16, 1 + 0x1p-8, false, 1},
    {NOE_ELEM_BF16, 3.3962e38, false, INFINITY},
    {NOE_ELEM_E4M3FN, 464, false, 448},
    {NOE_ELEM_E4M3FN, 465, false, NAN},
    {NOE_ELEM_E4M3FN, 1e9, true, 448},
    {NOE_ELEM_E5M2, 1e9, true, 57344},
    {NOE_ELEM_E5M2, 1e9, false, INFINITY},
    {NOE_ELEM_E4M3FNUZ, -0.0, false, 0},
    {NOE_ELEM_E2M1, 2.5, true, 2},
    {NOE_ELEM_F32, 1 + 0x1p-24, false, 1},
};

START_TEST(test_rounding_is_to_nearest_even)
{
    double got =
        noe_run_round(roundings[_i].elem, roundings[_i].x, roundings[_i].saturate);
    double want = roundings[_i].want;
    ck_assert_msg((isnan(got) && isnan(want)) || got == want,
                  "%.17g became %.17g, want %.17g", roundings[_i].x, got, want);
}
END_TEST

START_TEST(test_integers_wrap)
{
    ck_assert_int_eq(noe_run_wrap(NOE_ELEM_I8, 200), -56);
    ck_assert_int_eq(noe_run_wrap(NOE_ELEM_U8, -1), 255);
    ck_assert_int_eq(noe_run_wrap(NOE_ELEM_I4, 9), -7);
    ck_assert_int_eq(noe_run_wrap(NOE_ELEM_U32, -1), 4294967295);
    ck_assert_int_eq(noe_run_wrap(NOE_ELEM_BOOL, 2), 1);
}
END_TEST

/* ---- models without inputs ---- */

static noe_status run(const char *text, size_t max_bytes, noe_run_value **y)
{
    noe_run_options options = {.max_bytes = max_bytes};
    noe_onnx_model *m = noe_build_and_load(text);
    noe_status status =
        noe_run_model(m, &options, (const noe_run_value *[1]){NULL}, y, &err);
    noe_onnx_free(m);
    return status;
}

#define HEAD "ir 8\nopset 17\noutput y i64 1\n"
static const struct {
    const char *model;
    int64_t want;
} exact[] = {
    /* 94906267 squared, and what follows, is more than a double holds */
    {HEAD "init a i64 1 = 94906267\ninit b i64 1 = 1\nnode Mul a,a -> p\n"
          "node Div p,b -> y\n",
     9007199515875289},
    {HEAD "init a i64 1 = 94906267\ninit b i64 1 = 2\nnode Mul a,a -> p\n"
          "node Add p,b -> y\n",
     9007199515875291},
    {HEAD "init a i64 1 = -7\ninit b i64 1 = 2\nnode Div a,b -> y\n", -3},
    {HEAD "init a i64 1 = -7\ninit b i64 1 = 2\nnode Mod a,b -> y\n", 1},
    {HEAD "init a i64 1 = -7\ninit b i64 1 = 2\nnode Mod a,b -> y fmod=i:1\n", -1},
    {HEAD "init a i64 1 = 3\ninit b i64 1 = 39\nnode Pow a,b -> y\n",
     4052555153018976267},
};

START_TEST(test_integers_are_exact)
{
    noe_run_value *y;
    noe_assert_ok(run(exact[_i].model, 0, &y), err);
    ck_assert_int_eq(y->elem, NOE_ELEM_I64);
    ck_assert_int_eq(((const int64_t *)y->data)[0], exact[_i].want);
    noe_run_value_release(y);
}
END_TEST

static const struct {
    const char *model;
    noe_status status;
    const char *message;
} faults[] = {
    {HEAD "init s i64 3 = 1000,1000,1000\nnode ConstantOfShape s -> y\n", NOE_ERR_LIMIT,
     "node 0 (ConstantOfShape): output 0 of shape [1000,1000,1000] is larger"},
    {HEAD "init a i64 1 = 1\ninit s i64 2 = 100000,100000\nnode Expand a,s -> y\n",
     NOE_ERR_LIMIT, "larger than the limit"},
    {HEAD "init a i64 1 = 1\ninit t i64 1 = 1000000000\nnode Tile a,t -> y\n",
     NOE_ERR_LIMIT, "larger than the limit"},
    {HEAD "init a i64 1 = 1\ninit b i64 1 = 0\nnode Div a,b -> y\n", NOE_ERR_SHAPE,
     "integer division by zero"},
    {HEAD "init a i64 2 = 1,2\ninit b i64 3 = 1,2,3\nnode Add a,b -> y name=sum\n",
     NOE_ERR_SHAPE, "node 0 (Add 'sum'): shapes [2] and [3] do not broadcast"},
    {HEAD "init a i64 1 = 1\nnode Frobnicate a -> y\n", NOE_ERR_UNSUPPORTED,
     "no reference for operator Frobnicate"},
    {HEAD "init a i64 2 = 1,2\ninit b i64 1 = 2\nnode Gather a,b -> y\n", NOE_ERR_SHAPE,
     "index 2 is out of range for 2 elements"},
    {HEAD "init a i64 1 = 1\nnode Concat a,_ -> y axis=i:0\n", NOE_ERR_SHAPE,
     "node 0 (Concat): input 1 is missing"},
    {HEAD "init a f32 2\nnode Einsum a -> y equation=s:i->ii\n", NOE_ERR_SHAPE,
     "the result has an index twice"},
    {HEAD "init a f32 1,1,1,1\nnode DepthToSpace a -> y blocksize=i:4294967296\n",
     NOE_ERR_SHAPE, "blocksize 4294967296 does not fit"},
    {HEAD "init a f32 1\ninit p i64 2 = -9223372036854775808,0\nnode Pad a,p -> y\n",
     NOE_ERR_SHAPE, "pads are out of range"},
    {HEAD "init a f32 1\ninit s i64 2 = 4611686018427387904,4\nnode Reshape a,s -> y\n",
     NOE_ERR_SHAPE, "[1] to [4611686018427387904,4] changes the number of elements"},
    {HEAD "init a f32 1,1,1,1\nnode AveragePool a -> y "
          "kernel_shape=ints:2147483647,2147483647 "
          "pads=ints:2147483647,2147483647,2147483647,2147483647\n",
     NOE_ERR_LIMIT, "more than 16777216 elements would be computed"},
    {"ir 11\nopset 23\noutput y f32 *\ninit a f32 1,2,3,4\ninit b f32 2,2,3,4\n"
     "node Attention a,b,a -> y\n",
     NOE_ERR_SHAPE, "Q, K and V do not fit"},
    {"ir 11\nopset 23\noutput y f32 *\ninit a f32 1,2,1,4\ninit c f32 3,2\n"
     "init p f32 1,1\nnode RotaryEmbedding a,c,c,p -> y\n",
     NOE_ERR_SHAPE, "an input is of float, want integers"},
    {HEAD "graph b\ninput i i64 -\ninput c bool -\nnode Identity c -> d\n"
          "output d bool -\nend\ninit a f32 1\n"
          "node Scan a -> y body=g:b num_scan_inputs=i:-2147483648\n",
     NOE_ERR_SHAPE, "num_scan_inputs is -2147483648 of 1 inputs"},
    {"ir 8\nopset 17\ninput x i64 1\noutput y i64 1\nnode Neg x -> y\n", NOE_ERR_ARG,
     "input 'x' has no value"},
};

START_TEST(test_fault_is_named)
{
    noe_run_value *y;
    noe_assert_fails(run(faults[_i].model, 1 << 24, &y), faults[_i].status, err,
                     faults[_i].message);
}
END_TEST

/* A body that never says stop. */
START_TEST(test_endless_loop_ends_at_the_limit)
{
    noe_onnx_model *m = noe_build_and_load(
        HEAD "graph b\ninput i i64 -\ninput c bool -\nnode Identity c -> d\n"
             "node Neg i -> s\noutput d bool -\noutput s i64 -\nend\n"
             "node Loop _,_ -> y body=g:b\n");
    const noe_run_options limits = {.max_steps = 1000};
    noe_run_value *y[1];
    noe_assert_fails(noe_run_model(m, &limits, NULL, y, &err), NOE_ERR_LIMIT, err,
                     "more than 1000 nodes would be run");
    noe_onnx_free(m);
}
END_TEST

/* ---- NumPy ---- */

START_TEST(test_arrays_survive_an_archive)
{
    char folder[200], path[260];
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.npz", folder);
    const noe_dims shape = {2, {2, 3}};
    const double numbers[6] = {1, -2, 0.5, INFINITY, 3, -0.0};
    noe_run_value *a = noe_run_tensor_new(NOE_ELEM_F16, &shape, SIZE_MAX), *b;
    noe_run_store_f64(a, numbers, false);
    noe_npz *z;
    noe_assert_ok(noe_npz_write(path, (const char *[]){"x"},
                                (const noe_run_value *[]){a}, 1, &err),
                  err);
    noe_assert_ok(noe_npz_open(path, &z, &err), err);
    ck_assert_uint_eq(noe_npz_count(z), 1);
    ck_assert_str_eq(noe_npz_name(z, 0), "x");
    noe_assert_ok(noe_npz_read(z, 0, &b, &err), err);
    ck_assert_int_eq(b->elem, NOE_ELEM_F16);
    ck_assert(noe_dims_eq(&b->shape, &shape) &&
              memcmp(a->data, b->data, a->bytes) == 0);
    noe_npz_close(z);
    noe_run_value_release(a);
    noe_run_value_release(b);
    noe_tmp_remove(folder);
}
END_TEST

#define COUNT(ARRAY) (int)(sizeof(ARRAY) / sizeof *(ARRAY))

Suite *suite_run(void)
{
    Suite *s = suite_create("run");
    TCase *tc = tcase_create("run");
    tcase_add_loop_test(tc, test_rounding_is_to_nearest_even, 0, COUNT(roundings));
    tcase_add_test(tc, test_integers_wrap);
    tcase_add_loop_test(tc, test_integers_are_exact, 0, COUNT(exact));
    tcase_add_loop_test(tc, test_fault_is_named, 0, COUNT(faults));
    tcase_add_test(tc, test_endless_loop_ends_at_the_limit);
    tcase_add_test(tc, test_arrays_survive_an_archive);
    suite_add_tcase(s, tc);
    return s;
}
