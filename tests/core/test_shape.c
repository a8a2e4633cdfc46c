/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators: what does not fit is refused with a message that names operator
 * and values; parameters come into stored form.
 */
#include "tests/support/cases.h"
#include "tests/support/support.h"
#include <math.h>

static noe_error err;

static const struct {
    noe_op_case c;
    const char *message; /* a part of it, behind the operator's name */
} misfits[] = {
    {{NOE_OP_ADD, "", "[2,3] [2,4]", ""},
     "do not broadcast; inputs f32[2,3], f32[2,4]"},
    {{NOE_OP_MATMUL, "", "[2,3] [4,5]", ""}, "3 columns, the right 4 rows"},
    {{NOE_OP_MATMUL, "", "[] [3]", ""}, "input 0 has rank 0, want 1 to 8"},
    {{NOE_OP_MATMUL, "", "[3] [2]", ""}, "3 columns, the right 2 rows"},
    {{NOE_OP_MATMUL, "", "[2,3,4] [3,4,5]", ""}, "batch axes"},
    {{NOE_OP_CONV, "", "[2,3] [3,3]", ""}, "input 0 has rank 2, want 3 to 5"},
    {{NOE_OP_CONV, "", "[1,2,5,5] [3,2,3]", ""}, "input 1 has rank 3, want 4"},
    {{NOE_OP_CONV, "", "[1,3,5,5] [3,2,3,3]", ""}, "3 channels, the kernel 2"},
    {{NOE_OP_CONV, "group=2", "[1,4,5,5] [3,2,3,3]", ""},
     "3 output channels do not divide into 2 groups"},
    {{NOE_OP_CONV, "group=0", "[1,4,5,5] [3,2,3,3]", ""}, "group is 0, want 1"},
    {{NOE_OP_CONV, "group=-2", "[1,4,5,5] [2,2,3,3]", ""}, "group is -2"},
    {{NOE_OP_CONV, "", "[1,2,2,5] [3,2,3,3]", ""},
     "kernel 3 with dilation 1 spans 3 on spatial axis 0, the padded input has 2"},
    {{NOE_OP_CONV, "dilations=[1,3]", "[1,2,5,5] [3,2,3,3]", ""},
     "spans 7 on spatial axis 1"},
    {{NOE_OP_CONV, "", "[1,2,5,5] [3,2,0,3]", ""}, "the kernel is 0 on spatial axis 0"},
    {{NOE_OP_CONV, "strides=[0,1]", "[1,2,5,5] [3,2,3,3]", ""},
     "strides[0] is 0, want 1"},
    {{NOE_OP_CONV, "strides=[1]", "[1,2,5,5] [3,2,3,3]", ""},
     "strides has 1 values, want 2"},
    {{NOE_OP_CONV, "pads=[0,0,-1,0]", "[1,2,5,5] [3,2,3,3]", ""},
     "pads[2] is -1, want 0"},
    {{NOE_OP_CONV, "pads=[1,1]", "[1,2,5,5] [3,2,3,3]", ""},
     "pads has 2 values, want 4"},
    {{NOE_OP_CONV, "dilations=[0,0]", "[1,2,5,5] [3,2,3,3]", ""}, "dilations[0] is 0"},
    {{NOE_OP_CONV, "pads=[4611686018427387904,0,0,0]", "[1,2,5,5] [3,2,3,3]", ""},
     "pads[0] is 4611686018427387904"},
    {{NOE_OP_CONV, "dilations=[1099511627776,1]", "[1,2,5,5] [3,2,3,3]", ""},
     "2 * 1099511627776 exceeds"},
    {{NOE_OP_CONV_BIAS, "", "[1,2,5,5] [3,2,3,3] [2]", ""},
     "the bias has 2 values, want 3"},
    {{NOE_OP_CONV_BIAS, "", "[1,2,5,5] [3,2,3,3] [1,3]", ""}, "input 2 has rank 2"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2]", "[1,2,5,5]", ""},
     "kernel_shape has 1 values, want 2"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2,2], pads=[2,0,0,0]", "[1,2,5,5]", ""},
     "pads 2 and 0 on spatial axis 0, want less than the kernel's 2"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[2], dilations=[3], pads=[3,3]", "[1,1,1]", ""},
     "dilation 3 on spatial axis 0 of 1 elements"},
    {{NOE_OP_MAX_POOL, "kernel_shape=[3,3]", "[1,2,2,5]", ""}, "spans 3"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2,2]", "[1,2,0,5]", ""},
     "spatial axis 0 has no elements"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2,2], count_include_pad=2", "[1,2,4,5]", ""},
     "count_include_pad is 2, want 0 or 1"},
    {{NOE_OP_AVERAGE_POOL, "kernel_shape=[2,2]", "[2,2]", ""}, "rank 2, want 3 to 5"},
    {{NOE_OP_GLOBAL_AVERAGE_POOL, "", "[1,2,0]", ""}, "spatial axis 0 has no elements"},
    {{NOE_OP_REDUCE_SUM, "axes=[2]", "[2,3]", ""}, "axis 2 does not exist at rank 2"},
    {{NOE_OP_REDUCE_SUM, "axes=[-3]", "[2,3]", ""}, "axis -3 does not exist at rank 2"},
    {{NOE_OP_REDUCE_SUM, "axes=[0,-2]", "[2,3]", ""},
     "axes: 0 after 0, want ascending"},
    {{NOE_OP_REDUCE_SUM, "axes=[0], keepdims=3", "[2,3]", ""},
     "keepdims is 3, want 0 or 1"},
    {{NOE_OP_REDUCE_MEAN, "axes=[1]", "[2,0]", ""}, "axis 1 has no elements"},
    {{NOE_OP_SOFTMAX, "axis=2", "[2,3]", ""}, "axis 2 does not exist at rank 2"},
    {{NOE_OP_SOFTMAX, "axis=0", "[]", ""}, "axis 0 does not exist at rank 0"},
    {{NOE_OP_TRANSPOSE, "perm=[0,0]", "[2,3]", ""}, "perm[1] is 0, want every axis"},
    {{NOE_OP_TRANSPOSE, "perm=[0,2]", "[2,3]", ""}, "perm[1] is 2"},
    {{NOE_OP_TRANSPOSE, "perm=[0]", "[2,3]", ""}, "perm has 1 values, want 2"},
    {{NOE_OP_RESHAPE, "shape=[4]", "[2,3]", ""}, "6 elements do not fill [4]"},
    {{NOE_OP_RESHAPE, "shape=[-1,3]", "[2,3]", ""}, "shape[0] is -1"},
    {{NOE_OP_RESHAPE, "shape=[1,1,1,1,1,1,1,2,3]", "[2,3]", ""}, "shape has 9 axes"},
    {{NOE_OP_CONCAT, "axis=0", "[2,3] [2,4]", ""}, "axis 1 is 3 and 4"},
    {{NOE_OP_CONCAT, "axis=1", "[2,3] [2,3,1]", ""}, "input 1 has rank 3, want 2"},
    {{NOE_OP_CONCAT, "axis=0", "[] []", ""}, "axis 0 does not exist at rank 0"},
    {{NOE_OP_SLICE, "axis=0, start=0, end=1, step=0", "[4]", ""}, "step is 0, want 1"},
    {{NOE_OP_SLICE, "axis=0, start=0, end=1, step=-1", "[4]", ""}, "step is -1"},
    {{NOE_OP_SLICE, "axis=1, start=0, end=1", "[4]", ""},
     "axis 1 does not exist at rank 1"},
    {{NOE_OP_PAD, "pads=[1,1]", "[2,3]", ""}, "pads has 2 values, want 4"},
    {{NOE_OP_PAD, "pads=[0,-1,0,0]", "[2,3]", ""}, "pads[1] is -1"},
    {{NOE_OP_PAD, "pads=[1099511627776,0]", "[2]", ""},
     "more than 1099511627776 elements"},
    {{NOE_OP_ZEROS, "shape=[1048576,1048577]", "", ""},
     "more than 1099511627776 elements"},
    {{NOE_OP_GATHER, "axis=0, indices=[0,3]", "[3]", ""},
     "indices[1] is 3, axis 0 has 3"},
    {{NOE_OP_GATHER, "axis=0, indices=[-4]", "[3]", ""}, "indices[0] is -1"},
    {{NOE_OP_GATHER, "axis=2, indices=[0]", "[3,2]", ""}, "axis 2 does not exist"},
    {{NOE_OP_EXPAND, "shape=[2,3]", "[4,3]", ""}, "does not broadcast to [2,3]"},
    {{NOE_OP_EXPAND, "shape=[3]", "[2,3]", ""}, "does not broadcast to [3]"},
    {{NOE_OP_RESIZE, "scales=[2]", "[2,3]", ""}, "input 0 has rank 2"},
    {{NOE_OP_RESIZE, "scales=[2]", "[1,1,3,3]", ""}, "scales has 1 values, want 2"},
    {{NOE_OP_RESIZE, "scales=[2,0]", "[1,1,3,3]", ""}, "scales[1] is 0"},
    {{NOE_OP_RESIZE, "mode=4, scales=[2,2]", "[1,1,3,3]", ""}, "mode is 4"},
    {{NOE_OP_CONV_TRANSPOSE, "", "[1,2,3] [3,1,2]", ""},
     "the input has 2 channels, the kernel 3"},
    {{NOE_OP_CONV_TRANSPOSE, "group=2", "[1,3,3] [3,1,2]", ""},
     "3 channels do not divide into 2 groups"},
    {{NOE_OP_CONV_TRANSPOSE, "pads=[2,2]", "[1,1,3] [1,1,2]", ""},
     "nothing is left of spatial axis 0"},
    {{NOE_OP_CONV_TRANSPOSE, "strides=[2], pads=[0,-2]", "[1,1,3] [1,1,2]", ""},
     "pads 0 and -2"},
    {{NOE_OP_CONV_TRANSPOSE, "", "[1,1,0] [1,1,2]", ""}, "has 0 elements"},
    {{NOE_OP_LAYER_NORMALIZATION, "axis=-1", "[2,3] [2,2,3]", ""},
     "input 1 does not broadcast to input 0"},
    {{NOE_OP_LAYER_NORMALIZATION, "axis=2", "[2,3] [3]", ""}, "axis 2 does not exist"},
    {{NOE_OP_LAYER_NORMALIZATION, "axis=1", "[2,0] [0]", ""}, "axis 1 has no elements"},
    {{NOE_OP_INSTANCE_NORMALIZATION, "", "[1,2,3] [3] [2]", ""},
     "input 1 has 3 values, want 2"},
    {{NOE_OP_GROUP_NORMALIZATION, "num_groups=3", "[1,4,3] [4] [4]", ""},
     "4 channels do not divide into 3 groups"},
    {{NOE_OP_WHERE, "", "[2] [3] [3]", ""}, "the inputs do not broadcast"},
    {{NOE_OP_ONES, "shape=[-1]", "", ""}, "shape[0] is -1"},
    {{NOE_OP_IDENTITY_MATRIX, "shape=[3]", "", ""}, "shape has 1 axes, want 2"},
    {{NOE_OP_IDENTITY_KERNEL, "shape=[3,2,1]", "", ""},
     "3 channels do not divide into groups of 2"},
    {{NOE_OP_IDENTITY_KERNEL, "shape=[3,0,1]", "", ""}, "shape[1] is 0, want 1"},
    {{NOE_OP_AVERAGE_KERNEL, "shape=[3,3]", "", ""}, "shape has 2 axes, want 3 to 5"},
    {{NOE_OP_GEMM, "", "[2,3] [4,5]", ""}, "3 columns, the right 4 rows"},
    {{NOE_OP_GEMM, "transB=1", "[2,3] [3,5]", ""}, "3 columns, the right 5 rows"},
    {{NOE_OP_GEMM, "transA=2", "[2,3] [3,5]", ""}, "transA is 2, want 0 or 1"},
    {{NOE_OP_GEMM, "", "[2,3] [3,5] [2]", ""}, "input 2 does not broadcast to [2,5]"},
    {{NOE_OP_GEMM, "", "[1,3] [3,5] [2,5]", ""}, "input 2 does not broadcast to [1,5]"},
    {{NOE_OP_GEMM, "", "[2,3,1] [3,5]", ""}, "input 0 has rank 3, want 2"},
    {{NOE_OP_BATCH_NORMALIZATION, "epsilon=0.1", "[2,3] [3] [3] [2] [3]", ""},
     "input 3 has 2 values, want 3"},
    {{NOE_OP_BATCH_NORMALIZATION, "epsilon=0.1", "[3] [3] [3] [3] [3]", ""},
     "input 0 has rank 1, want 2 to 8"},
    {{NOE_OP_FLATTEN, "axis=3", "[2,3]", ""}, "axis 3 does not exist at rank 2"},
    {{NOE_OP_RESHAPE, "shape=[0]", "[1099511627776,1099511627776,0]", ""},
     "more than 1099511627776 elements"},
    {{NOE_OP_AVERAGE_POOL,
      "kernel_shape=[1048576,2097152], pads=[1048575,2097151,1048575,2097151]",
      "[1,1,1,1]", ""},
     "1048576 * 2097152 exceeds"},
    {{NOE_OP_SQUEEZE, "axes=[0]", "[2,1]", ""}, "axis 0 is 2, want 1"},
    {{NOE_OP_SQUEEZE, "axes=[]", "[2,1]", ""}, "axes is empty"},
    {{NOE_OP_UNSQUEEZE, "axes=[3]", "[2,1]", ""}, "axis 3 does not exist at rank 3"},
    {{NOE_OP_UNSQUEEZE, "axes=[]", "[2,1]", ""}, "axes is empty"},
    {{NOE_OP_UNSQUEEZE, "axes=[0,0]", "[2,1]", ""}, "axes: 0 after 0"},
    {{NOE_OP_UNSQUEEZE, "axes=[0]", "[1,1,1,1,1,1,1,1]", ""}, "output rank is 9"},
};

static noe_status normalize_and_infer(noe_op_instance *o)
{
    NOE_TRY(noe_params_normalize(o->op, &o->params, o->in, o->n_in, &err));
    return noe_op_infer(o->op, &o->params, o->in, o->n_in, &o->out, &err);
}

START_TEST(test_misfits_are_named)
{
    noe_op_instance o;
    noe_op_case_parse(&misfits[_i].c, &o);
    noe_assert_fails(normalize_and_infer(&o), NOE_ERR_SHAPE, err, misfits[_i].message);
    const char *name = noe_op_get(o.op)->name;
    ck_assert_msg(strncmp(err.text, name, strlen(name)) == 0 &&
                      err.text[strlen(name)] == ':',
                  "'%s' does not start with '%s:'", err.text, name);
}
END_TEST

/* The same without an error to fill in: what the generator does all the time. */
START_TEST(test_misfits_without_error)
{
    noe_op_instance o;
    noe_op_case_parse(&misfits[_i].c, &o);
    noe_status s = noe_params_normalize(o.op, &o.params, o.in, o.n_in, NULL);
    if (s == NOE_OK)
        s = noe_op_infer(o.op, &o.params, o.in, o.n_in, &o.out, NULL);
    ck_assert_int_eq(s, NOE_ERR_SHAPE);
}
END_TEST

static const struct {
    noe_op_case c;
    const char *stored; /* all parameters in order */
} stored_forms[] = {
    {{NOE_OP_SOFTMAX, "axis=-1", "[2,3,4]", ""}, "2"},
    {{NOE_OP_CONCAT, "axis=-2", "[2,3] [2,3]", ""}, "0"},
    {{NOE_OP_REDUCE_SUM, "axes=[-1,0]", "[2,3,4]", ""}, "[0,2] 1"},
    {{NOE_OP_SLICE, "axis=-1, start=-2, end=9223372036854775807", "[2,5]", ""},
     "1 3 5 1"},
    {{NOE_OP_SLICE, "axis=0, start=-9223372036854775807, end=-1", "[5]", ""},
     "0 0 4 1"},
    {{NOE_OP_SLICE, "axis=0, start=4, end=2", "[5]", ""}, "0 4 4 1"},
    {{NOE_OP_GATHER, "axis=-1, indices=[-1,0,-2]", "[2,4]", ""}, "1 [3,0,2]"},
    {{NOE_OP_SLICE, "axis=0, start=9, end=12, step=2", "[5]", ""}, "0 5 5 2"},
    {{NOE_OP_FLATTEN, "axis=-1", "[2,3]", ""}, "1"},
    {{NOE_OP_FLATTEN, "axis=2", "[2,3]", ""}, "2"},
    {{NOE_OP_SQUEEZE, "axes=[-1,0]", "[1,2,1]", ""}, "[0,2]"},
    {{NOE_OP_UNSQUEEZE, "axes=[-1,0]", "[2]", ""}, "[0,2]"},
    {{NOE_OP_TRANSPOSE, "perm=[1,0]", "[2,3]", ""}, "[1,0]"},
    {{NOE_OP_CONV, "", "[1,1,4,4] [1,1,2,2]", ""}, "[1,1] [0,0,0,0] [1,1] 1"},
};

START_TEST(test_parameters_come_into_stored_form)
{
    noe_op_instance o;
    noe_buf text = {0};
    noe_op_case_parse(&stored_forms[_i].c, &o);
    noe_assert_ok(normalize_and_infer(&o), err);
    for (int i = 0; i < o.params.n; i++) {
        noe_buf_puts(&text, i ? " " : "");
        noe_value_print(&text, &o.params.v[i]);
    }
    ck_assert_str_eq(text.text, stored_forms[_i].stored);
    noe_params again = o.params;
    noe_assert_ok(noe_params_normalize(o.op, &again, o.in, o.n_in, &err), err);
    ck_assert(noe_params_eq(&again, &o.params));
    noe_buf_clear(&text);
}
END_TEST

/* What only stored form may be: infer refuses it where normalize was not called. */
START_TEST(test_infer_wants_stored_form)
{
    noe_type x = {NOE_F32, noe_shape_make(2, (int64_t[]){2, 3})}, out;
    noe_params p = {.n = 1};
    p.v[0] = noe_value_int(NOE_KIND_AXIS, -1);
    noe_assert_fails(noe_op_infer(NOE_OP_SOFTMAX, &p, &x, 1, &out, &err), NOE_ERR_SHAPE,
                     err, "axis -1");
    noe_params slice = {.n = 4};
    slice.v[0] = noe_value_int(NOE_KIND_AXIS, 1);
    slice.v[1] = noe_value_int(NOE_KIND_INT, 2);
    slice.v[2] = noe_value_int(NOE_KIND_INT, 5);
    slice.v[3] = noe_value_int(NOE_KIND_INT, 1);
    noe_assert_fails(noe_op_infer(NOE_OP_SLICE, &slice, &x, 1, &out, &err),
                     NOE_ERR_SHAPE, err, "2 to 5 is no part of axis 1 of 3");
}
END_TEST

START_TEST(test_arity)
{
    noe_type x[4], out;
    for (int i = 0; i < 4; i++)
        x[i] = (noe_type){NOE_F32, noe_shape_make(1, (int64_t[]){2})};
    noe_assert_fails(noe_op_infer(NOE_OP_ADD, NULL, x, 1, &out, &err), NOE_ERR_SHAPE,
                     err, "add: 1 inputs, want 2; inputs f32[2]");
    noe_assert_fails(noe_op_infer(NOE_OP_RELU, NULL, x, 0, &out, &err), NOE_ERR_SHAPE,
                     err, "relu: 0 inputs, want 1");
    noe_assert_fails(noe_op_infer(NOE_OP_GEMM, NULL, x, 4, &out, &err), NOE_ERR_SHAPE,
                     err, "gemm: 4 inputs, want 2 to 3");
}
END_TEST

START_TEST(test_malformed_parameters)
{
    noe_type x = {NOE_F32, noe_shape_make(1, (int64_t[]){2})}, out;
    noe_params p = {.n = 0};
    noe_assert_fails(noe_op_infer(NOE_OP_SOFTMAX, NULL, &x, 1, &out, &err),
                     NOE_ERR_SHAPE, err, "softmax: 0 parameters, want 1");
    p.n = 1;
    p.v[0] = noe_value_int(NOE_KIND_INT, 0);
    noe_assert_fails(noe_op_infer(NOE_OP_SOFTMAX, &p, &x, 1, &out, &err), NOE_ERR_SHAPE,
                     err, "axis is of the wrong kind");
    p.v[0] = noe_value_float(NAN);
    noe_assert_fails(noe_op_infer(NOE_OP_SCALAR, &p, NULL, 0, &out, &err),
                     NOE_ERR_SHAPE, err, "value is nan, want a finite number");
}
END_TEST

START_TEST(test_unknown_shapes_are_refused)
{
    noe_type x = {NOE_F32, {2, {2, -2}}}, out;
    noe_assert_fails(noe_op_infer(NOE_OP_RELU, NULL, &x, 1, &out, &err), NOE_ERR_SHAPE,
                     err, "the shape of input 0 is not known");
    x.shape.rank = NOE_RANK_UNKNOWN;
    noe_assert_fails(noe_op_infer(NOE_OP_RELU, NULL, &x, 1, &out, &err), NOE_ERR_SHAPE,
                     err, "not known");
    noe_params p = {.n = 1};
    p.v[0] = noe_value_int(NOE_KIND_AXIS, -1);
    noe_assert_fails(noe_params_normalize(NOE_OP_SOFTMAX, &p, &x, 1, &err),
                     NOE_ERR_SHAPE, err, "not known");
}
END_TEST

static const struct {
    noe_op op;
    noe_dtype dtype;
    bool allowed;
} dtypes[] = {
    {NOE_OP_ADD, NOE_F32, true},
    {NOE_OP_ADD, NOE_I64, true},
    {NOE_OP_ADD, NOE_BOOL, false},
    {NOE_OP_ADD, NOE_STRING, false},
    {NOE_OP_NEG, NOE_I32, true},
    {NOE_OP_DIV, NOE_I64, false},
    {NOE_OP_DIV, NOE_F16, true},
    {NOE_OP_EXP, NOE_BF16, true},
    {NOE_OP_EXP, NOE_F64, true},
    {NOE_OP_EXP, NOE_I32, false},
    {NOE_OP_MATMUL, NOE_I32, false},
    {NOE_OP_TRANSPOSE, NOE_I64, true},
    {NOE_OP_TRANSPOSE, NOE_BOOL, true},
    {NOE_OP_TRANSPOSE, NOE_STRING, false},
    {NOE_OP_TRANSPOSE, NOE_UNKNOWN, false},
    {NOE_OP_TRANSPOSE, NOE_F16, true},
};

START_TEST(test_element_types)
{
    noe_type in[2], out;
    noe_params perm = {.n = 1};
    int n_in = noe_op_get(dtypes[_i].op)->min_in;
    in[0] = in[1] = (noe_type){dtypes[_i].dtype, noe_shape_make(2, (int64_t[]){2, 2})};
    perm.v[0] = noe_value_list(NOE_KIND_INTS, 2, (int64_t[]){1, 0});
    const noe_params *p = noe_op_get(dtypes[_i].op)->n_params ? &perm : NULL;
    noe_status s = noe_op_infer(dtypes[_i].op, p, in, n_in, &out, &err);
    if (dtypes[_i].allowed) {
        noe_assert_ok(s, err);
        ck_assert_int_eq(out.dtype, dtypes[_i].dtype);
    } else {
        noe_assert_fails(s, NOE_ERR_SHAPE, err, noe_dtype_name(dtypes[_i].dtype));
    }
}
END_TEST

START_TEST(test_element_types_must_agree)
{
    noe_type in[2] = {{NOE_F32, noe_shape_make(0, NULL)},
                      {NOE_F64, noe_shape_make(0, NULL)}};
    noe_type out;
    noe_assert_fails(noe_op_infer(NOE_OP_ADD, NULL, in, 2, &out, &err), NOE_ERR_SHAPE,
                     err, "add: input 1 is f64, input 0 is f32");
}
END_TEST

/* Casts between floating-point types: what has a type, and which one. */
static const struct {
    noe_dtype from;
    int64_t to;
    noe_dtype want;
    const char *fault;
} casts[] = {
    {NOE_F32, 10, NOE_F16, NULL},
    {NOE_F16, 1, NOE_F32, NULL},
    {NOE_BF16, 11, NOE_F64, NULL},
    {NOE_F64, 16, NOE_BF16, NULL},
    {NOE_F32, 1, NOE_F32, "to is the element type it has, f32"},
    {NOE_F32, 7, NOE_I64, "to is 7, want 1, 10, 11 or 16"},
    {NOE_F32, 9, NOE_BOOL, "to is 9"},
    {NOE_F32, INT64_C(1) << 32 | 10, NOE_F16, "to is 4294967306"},
    {NOE_I64, 1, NOE_F32, "not defined for i64"},
    {NOE_BOOL, 1, NOE_F32, "not defined for bool"},
};

START_TEST(test_casts)
{
    noe_type in = {casts[_i].from, noe_shape_make(2, (int64_t[]){2, 3})}, out;
    noe_params to = {.n = 1, .v = {noe_value_int(NOE_KIND_INT, casts[_i].to)}};
    noe_status s = noe_op_infer(NOE_OP_CAST, &to, &in, 1, &out, &err);
    if (casts[_i].fault) {
        noe_assert_fails(s, NOE_ERR_SHAPE, err, casts[_i].fault);
        return;
    }
    noe_assert_ok(s, err);
    ck_assert_int_eq(out.dtype, casts[_i].want);
    ck_assert(noe_shape_eq(&out.shape, &in.shape));
}
END_TEST

/* What the algebra speaks of is less than what has a type. */
START_TEST(test_arithmetic_is_computed_in_f32_only)
{
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        bool moves = noe_op_has((noe_op)op, NOE_TRAIT_COPY) || op == NOE_OP_WHERE ||
                     op == NOE_OP_CAST;
        ck_assert(noe_op_computes((noe_op)op, NOE_F32));
        ck_assert(noe_op_computes((noe_op)op, NOE_F16) == moves);
        ck_assert(noe_op_computes((noe_op)op, NOE_F64) == moves);
        ck_assert(!noe_op_computes((noe_op)op, NOE_I64));
    }
}
END_TEST

#define COUNT(TABLE) ((int)(sizeof(TABLE) / sizeof *(TABLE)))

Suite *suite_shape(void)
{
    Suite *s = suite_create("core.shape");
    TCase *tc = tcase_create("shape");
    tcase_add_loop_test(tc, test_misfits_are_named, 0, COUNT(misfits));
    tcase_add_loop_test(tc, test_misfits_without_error, 0, COUNT(misfits));
    tcase_add_loop_test(tc, test_parameters_come_into_stored_form, 0,
                        COUNT(stored_forms));
    tcase_add_test(tc, test_infer_wants_stored_form);
    tcase_add_test(tc, test_arity);
    tcase_add_test(tc, test_malformed_parameters);
    tcase_add_test(tc, test_unknown_shapes_are_refused);
    tcase_add_loop_test(tc, test_element_types, 0, COUNT(dtypes));
    tcase_add_test(tc, test_element_types_must_agree);
    tcase_add_loop_test(tc, test_casts, 0, COUNT(casts));
    tcase_add_test(tc, test_arithmetic_is_computed_in_f32_only);
    suite_add_tcase(s, tc);
    return s;
}
