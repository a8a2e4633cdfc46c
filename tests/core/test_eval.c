/* SPDX-License-Identifier: Apache-2.0
 *
 * The evaluators, over all cases of all operators and against values worked out by
 * hand.
 */
#include "core/field.h"
#include "tests/support/cases.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdlib.h>

#define SEED         7
#define F32_TOL      2e-6 /* sums of at most a few dozen terms of one size */
#define GUARD        3    /* elements behind the output that must stay as they are */
#define LCM_1_TO_16  720720
#define MAX_ELEMENTS 4096

/* One instance with data in all three number systems. */
typedef struct data {
    double in[NOE_MAX_INPUTS][MAX_ELEMENTS], f64[MAX_ELEMENTS];
    float in32[NOE_MAX_INPUTS][MAX_ELEMENTS], f32[MAX_ELEMENTS];
    noe_fe in_fe[NOE_MAX_INPUTS][MAX_ELEMENTS], fe[MAX_ELEMENTS];
} data;

static data d;
static const noe_fe fe_guard = {UINT32_MAX, UINT32_MAX};

static size_t elements(const noe_type *t)
{
    int64_t n = noe_shape_elements(&t->shape);
    ck_assert_int_ge(n, 0);
    ck_assert_int_lt(n + GUARD, MAX_ELEMENTS);
    return (size_t)n;
}

static void set_input(int k, size_t i, double x)
{
    d.in[k][i] = x;
    d.in32[k][i] = (float)x;
    d.in_fe[k][i] = noe_fe_double(x);
}

static void evaluate(const noe_op_instance *o)
{
    static noe_field field;
    noe_tensor_f32 in32[NOE_MAX_INPUTS], out32 = {o->out.shape, d.f32};
    noe_tensor_f64 in64[NOE_MAX_INPUTS], out64 = {o->out.shape, d.f64};
    noe_tensor_fe in_fe[NOE_MAX_INPUTS], out_fe = {o->out.shape, d.fe};
    if (!field.g)
        field = noe_field_make(SEED);
    for (int k = 0; k < o->n_in; k++) {
        in32[k] = (noe_tensor_f32){o->in[k].shape, d.in32[k]};
        in64[k] = (noe_tensor_f64){o->in[k].shape, d.in[k]};
        in_fe[k] = (noe_tensor_fe){o->in[k].shape, d.in_fe[k]};
    }
    size_t n = elements(&o->out);
    for (size_t i = 0; i < n + GUARD; i++) {
        d.f32[i] = NAN;
        d.f64[i] = NAN;
        d.fe[i] = fe_guard;
    }
    noe_eval_f32(o->op, &o->params, in32, o->n_in, &out32);
    noe_eval_f64(o->op, &o->params, in64, o->n_in, &out64);
    noe_eval_fe(&field, o->op, &o->params, in_fe, o->n_in, &out_fe);
}

/* Positive values: defined for every operator, and far from where it is not. */
static void random_positive(const noe_op_instance *o, noe_rng *rng)
{
    for (int k = 0; k < o->n_in; k++) {
        for (size_t i = 0; i < elements(&o->in[k]); i++)
            set_input(k, i, 0.5 + noe_rng_unit(rng));
    }
}

static void random_integers(const noe_op_instance *o, noe_rng *rng)
{
    for (int k = 0; k < o->n_in; k++) {
        for (size_t i = 0; i < elements(&o->in[k]); i++)
            set_input(k, i, (double)noe_rng_range(rng, -9, 9));
    }
}

START_TEST(test_shape_is_the_stated_one)
{
    noe_op_instance o;
    noe_shape want;
    noe_op_case_instance(&noe_op_cases[_i], &o);
    ck_assert_int_eq(noe_shapes_parse(noe_op_cases[_i].output, &want, 1), 1);
    ck_assert_msg(noe_shape_eq(&want, &o.out.shape), "%s",
                  noe_op_case_text(&noe_op_cases[_i]));
}
END_TEST

START_TEST(test_output_is_filled_and_no_more)
{
    noe_op_instance o;
    noe_op_case_instance(&noe_op_cases[_i], &o);
    noe_rng rng = noe_rng_split(SEED, "fill", (uint64_t)_i);
    random_positive(&o, &rng);
    evaluate(&o);
    size_t n = elements(&o.out);
    for (size_t i = 0; i < n + GUARD; i++) {
        bool written = i < n;
        ck_assert_msg(isfinite(d.f32[i]) == written && isfinite(d.f64[i]) == written &&
                          (d.fe[i].u != fe_guard.u) == written &&
                          (d.fe[i].v != fe_guard.v) == written,
                      "%s: element %zu of %zu", noe_op_case_text(&noe_op_cases[_i]), i,
                      n);
    }
}
END_TEST

START_TEST(test_float_is_close_to_double)
{
    noe_op_instance o;
    float want[MAX_ELEMENTS];
    size_t worst;
    noe_op_case_instance(&noe_op_cases[_i], &o);
    noe_rng rng = noe_rng_split(SEED, "close", (uint64_t)_i);
    random_positive(&o, &rng);
    evaluate(&o);
    size_t n = elements(&o.out);
    for (size_t i = 0; i < n; i++)
        want[i] = (float)d.f64[i];
    ck_assert_msg(noe_close_f32(d.f32, want, n, F32_TOL, &worst),
                  "%s: element %zu: %.9g, want %.9g, seed %d",
                  noe_op_case_text(&noe_op_cases[_i]), worst, (double)d.f32[worst],
                  (double)want[worst], SEED);
}
END_TEST

/* Operators whose outputs are polynomials of the inputs with rational coefficients. */
static bool is_polynomial(noe_op op)
{
    return noe_op_has(op, NOE_TRAIT_LINEAR) || noe_op_has(op, NOE_TRAIT_COPY) ||
           noe_op_has(op, NOE_TRAIT_CONSTANT) ||
           (noe_op_has(op, NOE_TRAIT_COMPOSITE) && noe_op_has(op, NOE_TRAIT_HEAVY) &&
            !noe_op_has(op, NOE_TRAIT_ORDER) && op != NOE_OP_LOG_SOFTMAX);
}

/* On small integers a polynomial is exact in double, up to the denominators of means,
 * which divide LCM_1_TO_16: the integer that remains must be the one in the field, in
 * both parts. */
START_TEST(test_field_agrees_on_integers)
{
    noe_op_instance o;
    noe_op_case_instance(&noe_op_cases[_i], &o);
    if (!is_polynomial(o.op) || noe_op_has(o.op, NOE_TRAIT_PARTIAL))
        return;
    noe_rng rng = noe_rng_split(SEED, "integers", (uint64_t)_i);
    random_integers(&o, &rng);
    evaluate(&o);
    for (size_t i = 0; i < elements(&o.out); i++) {
        double scaled = d.f64[i] * LCM_1_TO_16;
        ck_assert_msg(fabs(scaled - round(scaled)) < 1e-4, "%s: %g is no such fraction",
                      noe_op_case_text(&noe_op_cases[_i]), d.f64[i]);
        noe_fe want = noe_fe_int(llround(scaled));
        noe_fe got = noe_fe_mul(d.fe[i], noe_fe_int(LCM_1_TO_16));
        ck_assert_msg(got.u == want.u && got.v == want.v, "%s: element %zu, seed %d",
                      noe_op_case_text(&noe_op_cases[_i]), i, SEED);
    }
}
END_TEST

/* A polynomial with integer coefficients: inputs that agree modulo 256 give outputs
 * that do, which integers that wrap around need. */
static void assert_wraps(const noe_op_instance *o, const char *text, noe_rng *rng)
{
    size_t n = elements(&o->out);
    double before[MAX_ELEMENTS];
    for (size_t i = 0; i < n; i++)
        before[i] = d.f64[i];
    for (int k = 0; k < o->n_in; k++) {
        for (size_t i = 0; i < elements(&o->in[k]); i++)
            set_input(k, i, d.in[k][i] + 256.0 * (double)noe_rng_range(rng, -2, 2));
    }
    evaluate(o);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fmod(d.f64[i] - before[i], 256.0) == 0.0, "%s: %g and %g", text,
                      before[i], d.f64[i]);
}

static bool is_given(const noe_op_instance *o, double x)
{
    bool is = x == 0.0;
    for (int k = 0; k < o->n_in && !is; k++) {
        for (size_t i = 0; i < elements(&o->in[k]) && !is; i++)
            is = d.in[k][i] == x;
    }
    return is;
}

START_TEST(test_integers_are_what_the_traits_say)
{
    noe_op_instance o;
    noe_op_case_instance(&noe_op_cases[_i], &o);
    const char *text = noe_op_case_text(&noe_op_cases[_i]);
    bool ring = noe_op_has(o.op, NOE_TRAIT_RING),
         lattice = noe_op_has(o.op, NOE_TRAIT_LATTICE);
    noe_rng rng = noe_rng_split(SEED, "wrap", (uint64_t)_i);
    random_integers(&o, &rng);
    evaluate(&o);
    for (size_t i = 0; i < elements(&o.out); i++) {
        if (ring)
            ck_assert_msg(d.f64[i] == round(d.f64[i]), "%s: %g", text, d.f64[i]);
        else if (lattice || noe_op_has(o.op, NOE_TRAIT_COPY))
            ck_assert_msg(is_given(&o, d.f64[i]), "%s: %g", text, d.f64[i]);
    }
    if (ring && !lattice)
        assert_wraps(&o, text, &rng);
}
END_TEST

START_TEST(test_every_operator_has_a_case)
{
    int n_cases = 0;
    for (int i = 0; i < noe_n_op_cases; i++)
        n_cases += noe_op_cases[i].op == (noe_op)_i;
    ck_assert_msg(n_cases > 0, "no case for %s in tests/op_cases.def",
                  noe_op_get((noe_op)_i)->name);
}
END_TEST

/* Values by hand; "iota" inputs are 1 2 3 ... through all inputs in turn. */
static const struct {
    noe_op_case c;
    const char *inputs, *outputs;
} values[] = {
    {{NOE_OP_ADD, "", "[2,1] [3]", "[2,3]"}, "iota", "4 5 6 5 6 7"},
    {{NOE_OP_SUB, "", "[2] []", "[2]"}, "5 7 2", "3 5"},
    {{NOE_OP_DIV, "", "[2] [2]", "[2]"}, "1 -6 4 4", "0.25 -1.5"},
    {{NOE_OP_DIV, "", "[3] []", "[3]"}, "1 0 -1 0", "inf nan -inf"},
    {{NOE_OP_RELU, "", "[4]", "[4]"}, "-1 0 2 nan", "0 0 2 nan"},
    {{NOE_OP_SIGMOID, "", "[5]", "[5]"}, "0 1000 -1000 -inf inf", "0.5 1 0 0 1"},
    {{NOE_OP_TANH, "", "[3]", "[3]"}, "0 1000 -1000", "0 1 -1"},
    {{NOE_OP_EXP, "", "[3]", "[3]"}, "0 -inf 1000", "1 0 inf"},
    {{NOE_OP_SQRT, "", "[3]", "[3]"}, "0 9 -1", "0 3 nan"},
    {{NOE_OP_RECIPROCAL, "", "[3]", "[3]"}, "4 -0.5 0", "0.25 -2 inf"},
    {{NOE_OP_CAST, "to=10", "[5]", "[5]"},
     "2049 2051 65520 -inf nan",
     "2048 2052 inf -inf nan"},
    {{NOE_OP_CAST, "to=16", "[2]", "[2]"}, "257 259", "256 260"},
    {{NOE_OP_CAST, "to=11", "[2]", "[2]"}, "1 -inf", "1 -inf"},
    {{NOE_OP_MATMUL, "", "[2,2] [2,2]", "[2,2]"}, "iota", "19 22 43 50"},
    {{NOE_OP_MATMUL, "", "[2] [2,2]", "[2]"}, "iota", "13 16"},
    {{NOE_OP_MATMUL, "", "[2,2] [2]", "[2]"}, "iota", "17 39"},
    {{NOE_OP_MATMUL, "", "[2] [2]", "[]"}, "iota", "11"},
    {{NOE_OP_MATMUL, "", "[2,1,1,1] [2,1,2]", "[2,2,1,2]"},
     "iota",
     "3 4 5 6 6 8 10 12"},
    {{NOE_OP_MATMUL, "", "[2,0] [0,1]", "[2,1]"}, "", "0 0"},
    /* [[1 2 3][4 5 6][7 8 9]] * [[10 11][12 13]] */
    {{NOE_OP_CONV, "", "[1,1,3,3] [1,1,2,2]", "[1,1,2,2]"}, "iota", "145 191 283 329"},
    /* pads: one row on top, one column on the right */
    {{NOE_OP_CONV, "pads=[1,0,0,1]", "[1,1,2,2] [1,1,2,2]", "[1,1,2,2]"},
     "iota",
     "23 14 70 38"},
    {{NOE_OP_CONV, "strides=[2], dilations=[2]", "[1,1,5] [1,1,2]", "[1,1,2]"},
     "iota",
     "27 53"},
    {{NOE_OP_CONV, "group=2", "[1,2,2] [2,1,1]", "[1,2,2]"}, "iota", "5 10 18 24"},
    {{NOE_OP_CONV, "pads=[3,3]", "[1,1,1] [1,1,2]", "[1,1,6]"},
     "5 1 10",
     "0 0 50 5 0 0"},
    {{NOE_OP_CONV_BIAS, "", "[1,1,2] [2,1,1] [2]", "[1,2,2]"}, "iota", "8 11 10 14"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2], pads=[1,1]", "[1,1,3]", "[1,1,4]"},
     "-5 -7 -6",
     "-5 -5 -6 -6"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2], strides=[2]", "[1,1,5]", "[1,1,2]"},
     "3 1 4 1 5",
     "3 4"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2], dilations=[2]", "[1,1,4]", "[1,1,2]"},
     "4 9 1 2",
     "4 9"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2,2], strides=[2,2]", "[1,1,2,4]", "[1,1,1,2]"},
     "1 2 3 4 8 7 6 5",
     "8 6"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2], pads=[1,1]", "[1,1,3]", "[1,1,4]"},
     "2 4 8",
     "2 3 6 8"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2], pads=[1,1], count_include_pad=1",
      "[1,1,3]", "[1,1,4]"},
     "2 4 8",
     "1 3 6 4"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2,2]", "[1,1,2,3]", "[1,1,1,2]"},
     "iota",
     "3 4"},
    {{NOE_OP_REDUCE_SUM, "axes=[0], keepdims=0", "[2,3]", "[3]"}, "iota", "5 7 9"},
    {{NOE_OP_REDUCE_SUM, "axes=[1]", "[2,3]", "[2,1]"}, "iota", "6 15"},
    {{NOE_OP_REDUCE_SUM, "axes=[0,2]", "[2,2,2]", "[1,2,1]"}, "iota", "14 22"},
    {{NOE_OP_REDUCE_SUM, "axes=[0]", "[0,2]", "[1,2]"}, "", "0 0"},
    {{NOE_OP_REDUCE_MEAN, "axes=[1], keepdims=0", "[2,3]", "[2]"}, "iota", "2 5"},
    {{NOE_OP_SOFTMAX, "axis=0", "[2,2]", "[2,2]"}, "1000 0 1000 -1000", "0.5 1 0.5 0"},
    {{NOE_OP_SOFTMAX, "axis=-1", "[4]", "[4]"}, "-inf 3 3 -inf", "0 0.5 0.5 0"},
    {{NOE_OP_TRANSPOSE, "perm=[1,0]", "[2,3]", "[3,2]"}, "iota", "1 4 2 5 3 6"},
    {{NOE_OP_TRANSPOSE, "perm=[1,2,0]", "[2,2,2]", "[2,2,2]"},
     "iota",
     "1 5 2 6 3 7 4 8"},
    {{NOE_OP_RESHAPE, "shape=[4]", "[2,2]", "[4]"}, "iota", "1 2 3 4"},
    {{NOE_OP_CONCAT, "axis=1", "[2,1] [2,2]", "[2,3]"}, "iota", "1 3 4 2 5 6"},
    {{NOE_OP_SLICE, "axis=0, start=1, end=6, step=2", "[6]", "[3]"}, "iota", "2 4 6"},
    {{NOE_OP_GATHER, "axis=1, indices=[2,0]", "[2,3]", "[2,2]"}, "iota", "3 1 6 4"},
    {{NOE_OP_GATHER, "axis=0, indices=[1,1,0]", "[2,2]", "[3,2]"},
     "iota",
     "3 4 3 4 1 2"},
    {{NOE_OP_EXPAND, "shape=[2,2,2]", "[2,1]", "[2,2,2]"}, "iota", "1 1 2 2 1 1 2 2"},
    {{NOE_OP_WHERE, "", "[2,2] [2] []", "[2,2]"}, "0 2 -1 0 5 6 9", "9 6 5 9"},
    {{NOE_OP_CONV_TRANSPOSE, "strides=[2]", "[1,1,2] [1,1,3]", "[1,1,5]"},
     "1 10 1 2 3",
     "1 2 13 20 30"},
    {{NOE_OP_CONV_TRANSPOSE, "strides=[2], pads=[1,-1]", "[1,1,2] [1,2,2]", "[1,2,4]"},
     "1 10 1 2 3 4",
     "2 10 20 0 4 30 40 0"},
    {{NOE_OP_LAYER_NORMALIZATION, "axis=-1, epsilon=0", "[2,2] [2] [2]", "[2,2]"},
     "1 3 5 -5 1 2 0 10",
     "-1 12 1 8"},
    {{NOE_OP_INSTANCE_NORMALIZATION, "epsilon=3", "[1,2,2] [2] [2]", "[1,2,2]"},
     "1 3 5 7 2 4 0 1",
     "-1 1 -1 3"},
    {{NOE_OP_GROUP_NORMALIZATION, "num_groups=1, epsilon=0", "[1,2,2] [2] [2]",
      "[1,2,2]"},
     "1 1 3 3 1 2 0 1",
     "-1 -1 3 3"},
    {{NOE_OP_RESIZE, "scales=[1,2]", "[1,1,2,2]", "[1,1,2,4]"},
     "iota",
     "1 1 2 2 3 3 4 4"},
    {{NOE_OP_RESIZE, "mode=1, scales=[2]", "[1,1,2]", "[1,1,4]"}, "1 5", "1 2 4 5"},
    {{NOE_OP_RESIZE, "mode=2, scales=[2]", "[1,1,2]", "[1,1,4]"}, "1 5", "1 3 5 5"},
    {{NOE_OP_RESIZE, "mode=3, scales=[2]", "[1,1,2]", "[1,1,4]"}, "0 3", "0 1 2 3"},
    {{NOE_OP_SLICE, "axis=1, start=-2, end=99", "[2,3]", "[2,2]"}, "iota", "2 3 5 6"},
    {{NOE_OP_PAD, "pads=[1,0,0,2]", "[1,2]", "[2,4]"}, "iota", "0 0 0 0 1 2 0 0"},
    {{NOE_OP_IDENTITY_MATRIX, "shape=[2,3]", "", "[2,3]"}, "", "1 0 0 0 1 0"},
    {{NOE_OP_IDENTITY_KERNEL, "shape=[2,2,3]", "", "[2,2,3]"},
     "",
     "0 1 0 0 0 0 0 0 0 0 1 0"},
    {{NOE_OP_IDENTITY_KERNEL, "shape=[4,2,2]", "", "[4,2,2]"},
     "",
     "1 0 0 0 0 0 1 0 1 0 0 0 0 0 1 0"},
    {{NOE_OP_AVERAGE_KERNEL, "shape=[2,2,2]", "", "[2,2,2]"},
     "",
     "0.5 0.5 0 0 0 0 0.5 0.5"},
    {{NOE_OP_AVERAGE_KERNEL, "shape=[2,1,2]", "", "[2,1,2]"}, "", "0.5 0.5 0.5 0.5"},
    {{NOE_OP_SCALAR, "value=-0.75", "", "[]"}, "", "-0.75"},
    {{NOE_OP_MAX, "", "[4] [4]", "[4]"}, "1 -2 nan 4 0 -1 3 nan", "1 -1 nan nan"},
    {{NOE_OP_MIN, "", "[4] []", "[4]"}, "1 -2 nan inf 0.5", "0.5 -2 nan 0.5"},
    {{NOE_OP_ABS, "", "[4]", "[4]"}, "-1 0 2 -inf", "1 0 2 inf"},
    {{NOE_OP_LEAKY_RELU, "alpha=0.5", "[4]", "[4]"}, "-1 0 2 nan", "-0.5 0 2 nan"},
    {{NOE_OP_LOG, "", "[4]", "[4]"}, "1 0 -1 inf", "0 -inf nan inf"},
    {{NOE_OP_ERF, "", "[3]", "[3]"}, "0 100 -100", "0 1 -1"},
    {{NOE_OP_REDUCE_MAX, "axes=[1]", "[2,3]", "[2,1]"}, "-5 -7 -6 1 9 3", "-5 9"},
    {{NOE_OP_REDUCE_MAX, "axes=[0,2], keepdims=0", "[2,2,2]", "[2]"},
     "1 2 3 4 -5 0 7 1",
     "2 7"},
    {{NOE_OP_REDUCE_MIN, "axes=[0]", "[2,3]", "[1,3]"}, "-5 -7 -6 1 9 -8", "-5 -7 -8"},
    {{NOE_OP_CLIP, "min=-1, max=2", "[5]", "[5]"}, "-3 -1 0 7 nan", "-1 -1 0 2 nan"},
    /* the upper bound wins */
    {{NOE_OP_CLIP, "min=2, max=1", "[3]", "[3]"}, "0 1.5 3", "1 1 1"},
    {{NOE_OP_CLIP, "max=2", "[3]", "[3]"}, "-9 1.5 3", "-9 1.5 2"},
    {{NOE_OP_POW, "exponent=3", "[2]", "[2]"}, "-2 3", "-8 27"},
    {{NOE_OP_POW, "exponent=0.5", "[2]", "[2]"}, "9 -1", "3 nan"},
    {{NOE_OP_GELU, "", "[3]", "[3]"}, "0 100 -100", "0 100 0"},
    {{NOE_OP_GELU, "approximate=1", "[3]", "[3]"}, "0 100 -100", "0 100 0"},
    {{NOE_OP_SWISH, "", "[3]", "[3]"}, "0 1000 -1000", "0 1000 0"},
    {{NOE_OP_HARD_SIGMOID, "alpha=0.25, beta=0.5", "[4]", "[4]"},
     "-3 0 1 5",
     "0 0.5 0.75 1"},
    {{NOE_OP_HARD_SWISH, "", "[4]", "[4]"}, "-4 0 3 7", "0 0 3 7"},
    {{NOE_OP_ELU, "alpha=2", "[3]", "[3]"}, "3 0 -1000", "3 0 -2"},
    {{NOE_OP_SOFTPLUS, "", "[3]", "[3]"}, "1000 -1000 -inf", "1000 0 0"},
    {{NOE_OP_PRELU, "", "[2,2] [2]", "[2,2]"}, "-1 -2 3 -4 0.5 2", "-0.5 -4 3 -8"},
    {{NOE_OP_LOG_SOFTMAX, "axis=0", "[2]", "[2]"}, "1000 0", "0 -1000"},
    {{NOE_OP_GEMM, "", "[2,2] [2,2] [2]", "[2,2]"}, "iota", "28 32 52 60"},
    {{NOE_OP_GEMM, "transA=1, alpha=2.0", "[2,1] [2,1]", "[1,1]"}, "iota", "22"},
    {{NOE_OP_GEMM, "transB=1, beta=0.5", "[1,2] [2,2] [1,2]", "[1,2]"},
     "iota",
     "14.5 21"},
    {{NOE_OP_GEMM, "beta=0.0", "[1,1] [1,1] []", "[1,1]"}, "3 4 nan", "12"},
    /* scale 2, shift 3, mean 1, variance 15 + epsilon 1 */
    {{NOE_OP_BATCH_NORMALIZATION, "epsilon=1.0", "[1,1,2] [1] [1] [1] [1]", "[1,1,2]"},
     "5 -3 2 3 1 15",
     "5 1"},
    {{NOE_OP_GLOBAL_AVERAGE_POOL, "", "[1,2,2]", "[1,2,1]"}, "iota", "1.5 3.5"},
    {{NOE_OP_FLATTEN, "axis=1", "[2,1,2]", "[2,2]"}, "iota", "1 2 3 4"},
};

static int parse_values(const char *text, double *out)
{
    int n = 0;
    for (char *end;; text = end) {
        out[n] = strtod(text, &end);
        if (end == text)
            return n;
        n++;
    }
}

static void read_inputs(const noe_op_instance *o, const char *text)
{
    double flat[MAX_ELEMENTS];
    size_t next = 0;
    int n = parse_values(text, flat);
    if (strcmp(text, "iota") == 0) {
        for (n = 0; n < 64; n++)
            flat[n] = n + 1;
    }
    for (int k = 0; k < o->n_in; k++) {
        for (size_t i = 0; i < elements(&o->in[k]); i++, next++) {
            ck_assert_int_lt((int)next, n);
            d.in[k][i] = flat[next];
            d.in32[k][i] = (float)flat[next];
            d.in_fe[k][i] = isfinite(flat[next]) ? noe_fe_double(flat[next]) : fe_guard;
        }
    }
}

static bool same(double got, double want, double tol)
{
    if (!isfinite(got) || !isfinite(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= tol;
}

START_TEST(test_values_by_hand)
{
    noe_op_instance o;
    double want[MAX_ELEMENTS];
    noe_op_case_instance(&values[_i].c, &o);
    read_inputs(&o, values[_i].inputs);
    evaluate(&o);
    size_t n = elements(&o.out);
    ck_assert_int_eq(parse_values(values[_i].outputs, want), (int)n);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(
            same(d.f64[i], want[i], 1e-15) && same((double)d.f32[i], want[i], 1e-7),
            "%s: element %zu is %g and %g, want %g", noe_op_case_text(&values[_i].c), i,
            d.f64[i], (double)d.f32[i], want[i]);
}
END_TEST

/* Random variations of the cases: whatever is well-typed is evaluated within its bounds
 * (sanitizers watch) and fills its output. Hostile numbers are among the parameters. */
#define N_RANDOM   200
#define SMALL_SIZE 600 /* elements of a tensor that is evaluated */

static int64_t random_number(noe_rng *rng)
{
    static const int64_t odd[] = {-1,        7,         1000,      1 << 20,
                                  INT64_MAX, INT64_MIN, (1 << 30), NOE_MAX_ELEMENTS};
    if (noe_rng_below(rng, 10) == 0)
        return odd[noe_rng_below(rng, sizeof odd / sizeof *odd)];
    return noe_rng_range(rng, 0, 4);
}

static void vary_value(noe_value *v, noe_rng *rng)
{
    if (v->kind == NOE_KIND_FLOAT)
        v->f = noe_rng_normal(rng);
    else if (v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS)
        v->i = random_number(rng);
    else if (v->n > 0 && noe_rng_below(rng, 8))
        v->list[noe_rng_below(rng, (uint64_t)v->n)] = random_number(rng);
    else if (v->n < NOE_MAX_LIST)
        v->list[v->n++] = random_number(rng);
}

/* One dimension, one rank or one parameter. Batches and channels of all inputs are
 * often changed together, so that something remains well-typed. */
static void vary(noe_op_instance *o, noe_rng *rng)
{
    int k = o->n_in ? (int)noe_rng_below(rng, (uint64_t)o->n_in) : 0;
    noe_shape *s = &o->in[k].shape;
    if (o->params.n > 0 && noe_rng_below(rng, 2)) {
        vary_value(&o->params.v[noe_rng_below(rng, (uint64_t)o->params.n)], rng);
    } else if (noe_rng_below(rng, 20) == 0) {
        s->rank = (int)noe_rng_below(rng, NOE_MAX_RANK + 1);
        for (int i = 0; i < s->rank; i++)
            s->dim[i] = noe_rng_range(rng, 1, 3);
    } else if (s->rank > 0) {
        int64_t from = s->dim[noe_rng_below(rng, (uint64_t)s->rank)];
        int64_t to = noe_rng_below(rng, 20) ? noe_rng_range(rng, 0, 6) : 1 << 20;
        bool everywhere = noe_rng_below(rng, 2);
        for (int j = 0; j < o->n_in; j++) {
            for (int i = 0; i < o->in[j].shape.rank; i++) {
                if ((everywhere || j == k) && o->in[j].shape.dim[i] == from)
                    o->in[j].shape.dim[i] = to;
            }
        }
    }
}

static void random_instance(noe_op op, noe_rng *rng, noe_op_instance *o)
{
    int first = 0, n = 0;
    for (int i = noe_n_op_cases; i-- > 0;) {
        if (noe_op_cases[i].op == op) {
            first = i;
            n++;
        }
    }
    noe_op_case_parse(&noe_op_cases[first + (int)noe_rng_below(rng, (uint64_t)n)], o);
    for (uint64_t i = noe_rng_below(rng, 4); i > 0; i--)
        vary(o, rng);
}

static bool is_small(const noe_op_instance *o)
{
    for (int k = 0; k < o->n_in; k++) {
        if (noe_shape_elements(&o->in[k].shape) > SMALL_SIZE)
            return false;
    }
    return noe_shape_elements(&o->out.shape) <= SMALL_SIZE;
}

/* With random parameters these may give NaN: they add an epsilon that may be negative,
 * or multiply by one that may be infinite. */
static bool takes_roots(noe_op op)
{
    return op == NOE_OP_GEMM || op == NOE_OP_BATCH_NORMALIZATION ||
           op == NOE_OP_LAYER_NORMALIZATION || op == NOE_OP_INSTANCE_NORMALIZATION ||
           op == NOE_OP_GROUP_NORMALIZATION;
}

START_TEST(test_random_instances_stay_in_bounds)
{
    noe_op_instance o;
    noe_rng rng = noe_rng_split(SEED, "instances", (uint64_t)_i);
    int n_evaluated = 0;
    for (int i = 0; i < N_RANDOM; i++) {
        random_instance((noe_op)_i, &rng, &o);
        if (noe_params_normalize(o.op, &o.params, o.in, o.n_in, NULL) != NOE_OK ||
            noe_op_infer(o.op, &o.params, o.in, o.n_in, &o.out, NULL) != NOE_OK ||
            !is_small(&o))
            continue;
        random_positive(&o, &rng);
        evaluate(&o);
        n_evaluated++;
        size_t n = elements(&o.out);
        for (size_t k = 0; k < n + GUARD; k++)
            ck_assert_msg((d.fe[k].u == fe_guard.u) == (k >= n) &&
                              (isnan(d.f64[k]) == (k >= n) || takes_roots(o.op)),
                          "%s: instance %d, element %zu of %zu, seed %d",
                          noe_op_get(o.op)->name, i, k, n, SEED);
    }
    ck_assert_msg(n_evaluated > N_RANDOM / 10, "%s: %d instances",
                  noe_op_get((noe_op)_i)->name, n_evaluated);
}
END_TEST

/* A large product takes the tiled path; it must agree with the definition of a sum. */
START_TEST(test_tiles_and_blocks_cover_everything)
{
    enum { M = 7, K = 3, N = 521 };
    static float a[M * K], b[K * N], y[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 5 - 2);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 7 - 3);
    noe_tensor_f32 in[] = {{noe_shape_make(2, (int64_t[]){M, K}), a},
                           {noe_shape_make(2, (int64_t[]){K, N}), b}};
    noe_tensor_f32 out = {noe_shape_make(2, (int64_t[]){M, N}), y};
    noe_eval_f32(NOE_OP_MATMUL, NULL, in, 2, &out);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            ck_assert_msg(y[i * N + j] == sum, "at %d, %d", i, j);
        }
    }
}
END_TEST

/* weight.c: a chain of weight operators is computed in double and rounded once. */
START_TEST(test_weights_are_rounded_once)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_graph_new(pool);
    noe_arena arena = {0};
    noe_error err = {0};
    float *value;
    float big[2] = {16777216.0f, 1.0f}, one[1] = {1.0f};
    noe_type pair = {NOE_F32, noe_shape_make(1, (int64_t[]){2})};
    noe_type single = {NOE_F32, noe_shape_make(1, (int64_t[]){1})};
    noe_ref x = noe_graph_leaf(
        g, NOE_OP_WEIGHT, noe_pool_add_leaf(pool, "big", &pair, big, sizeof big, NULL));
    noe_ref e =
        noe_graph_leaf(g, NOE_OP_WEIGHT,
                       noe_pool_add_leaf(pool, "one", &single, one, sizeof one, NULL));
    noe_ref sum, back;
    noe_assert_ok(noe_graph_add(g, NOE_OP_ADD, NULL, (noe_ref[]){x, e}, 2, &sum, &err),
                  err);
    noe_assert_ok(
        noe_graph_add(g, NOE_OP_SUB, NULL, (noe_ref[]){sum, x}, 2, &back, &err), err);
    noe_assert_ok(noe_weight_value(g, back, &arena, &value, &err), err);
    /* 2^24 + 1 is no float: rounding in between would give 0. */
    ck_assert_float_eq(value[0], 1.0f);
    ck_assert_float_eq(value[1], 1.0f);
    noe_assert_ok(noe_weight_value(g, x, &arena, &value, &err), err);
    ck_assert_float_eq(value[0], 16777216.0f);
    noe_arena_clear(&arena);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

/* A cast rounds what a run would give it: 1 + 2^-11 + 2^-30 is 1 + 2^-11 in f32, a tie
 * in f16 that goes down; in one step it would go up. It is stored as f16. */
START_TEST(test_weights_are_rounded_before_a_cast)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_graph_new(pool);
    noe_arena arena = {0};
    noe_error err = {0};
    float *value, big = 1 + 0x1p-11F, small = 0x1p-30F;
    void *stored;
    noe_type single = {NOE_F32, noe_shape_make(1, (int64_t[]){1})};
    noe_ref in[2], sum, half;
    in[0] = noe_graph_leaf(g, NOE_OP_WEIGHT,
                           noe_pool_add_leaf(pool, "b", &single, &big, 4, NULL));
    in[1] = noe_graph_leaf(g, NOE_OP_WEIGHT,
                           noe_pool_add_leaf(pool, "s", &single, &small, 4, NULL));
    noe_params to = {.n = 1, .v = {noe_value_int(NOE_KIND_INT, 10)}};
    noe_assert_ok(noe_graph_add(g, NOE_OP_ADD, NULL, in, 2, &sum, &err), err);
    noe_assert_ok(noe_graph_add(g, NOE_OP_CAST, &to, &sum, 1, &half, &err), err);
    noe_assert_ok(noe_weight_value(g, half, &arena, &value, &err), err);
    ck_assert_float_eq(value[0], 1.0F);
    noe_assert_ok(noe_weight_stored(g, half, &arena, &stored, &err), err);
    ck_assert_int_eq(*(uint16_t *)stored, 0x3C00);
    noe_arena_clear(&arena);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_weights_that_cannot_be_computed)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_graph_new(pool);
    noe_arena arena = {0};
    noe_error err = {0};
    float *value;
    noe_type t = {NOE_F32, noe_shape_make(1, (int64_t[]){2})};
    noe_ref lost = noe_graph_leaf(g, NOE_OP_WEIGHT,
                                  noe_pool_add_leaf(pool, "lost", &t, NULL, 0, NULL));
    noe_assert_fails(noe_weight_value(g, lost, &arena, &value, &err),
                     NOE_ERR_UNSUPPORTED, err, "lost");
    noe_params shape = {.n = 1};
    shape.v[0] = noe_value_list(NOE_KIND_INTS, 1, (int64_t[]){(int64_t)1 << 39});
    noe_ref huge, sum;
    noe_assert_ok(noe_graph_add(g, NOE_OP_ZEROS, &shape, NULL, 0, &huge, &err), err);
    noe_params axes = {.n = 2};
    axes.v[0] = noe_value_list(NOE_KIND_AXES, 1, (int64_t[]){0});
    axes.v[1] = noe_value_int(NOE_KIND_INT, 0);
    noe_assert_ok(noe_graph_add(g, NOE_OP_REDUCE_SUM, &axes, &huge, 1, &sum, &err),
                  err);
    noe_assert_fails(noe_weight_value(g, sum, &arena, &value, &err), NOE_ERR_LIMIT, err,
                     "549755813888");
    noe_arena_clear(&arena);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

Suite *suite_eval(void)
{
    Suite *s = suite_create("core.eval");
    TCase *tc = tcase_create("eval");
    tcase_add_loop_test(tc, test_shape_is_the_stated_one, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_output_is_filled_and_no_more, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_float_is_close_to_double, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_field_agrees_on_integers, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_integers_are_what_the_traits_say, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_every_operator_has_a_case, 0, NOE_OP_COUNT);
    tcase_add_loop_test(tc, test_values_by_hand, 0,
                        (int)(sizeof values / sizeof *values));
    tcase_add_loop_test(tc, test_random_instances_stay_in_bounds, 0, NOE_OP_COUNT);
    tcase_add_test(tc, test_tiles_and_blocks_cover_everything);
    tcase_add_test(tc, test_weights_are_rounded_once);
    tcase_add_test(tc, test_weights_are_rounded_before_a_cast);
    tcase_add_test(tc, test_weights_that_cannot_be_computed);
    suite_add_tcase(s, tc);
    return s;
}
