/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that make tensors out of shapes, attributes and few numbers.
 */
#include "onnx_io/run/call.h"
#include <math.h>

static noe_status pass_tensor(noe_call *c, const Onnx__TensorProto *t)
{
    noe_run_value *v;
    NOE_TRY(noe_run_from_proto(t, &v, c->err));
    noe_run_value_release(c->out[0]);
    c->out[0] = v;
    return NOE_OK;
}

static noe_status constant_strings(noe_call *c, const Onnx__AttributeProto *a)
{
    noe_dims shape = {1, {(int64_t)a->n_strings}};
    NOE_OUT(y, c, 0, NOE_ELEM_STRING, &shape);
    for (int64_t i = 0; i < y->n; i++) {
        noe_buf b = {0};
        noe_buf_add(&b, (const char *)a->strings[i].data, a->strings[i].len);
        y->text[i] = b.text;
    }
    return NOE_OK;
}

static noe_status run_constant(noe_call *c)
{
    const Onnx__AttributeProto *a;
    noe_dims shape = {0};
    if ((a = noe_call_attr(c, "value")) && a->t)
        return pass_tensor(c, a->t);
    if ((a = noe_call_attr(c, "value_float"))) {
        NOE_OUT(y, c, 0, NOE_ELEM_F32, &shape);
        *(float *)y->data = a->f;
        return NOE_OK;
    }
    if ((a = noe_call_attr(c, "value_int"))) {
        NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
        *(int64_t *)y->data = a->i;
        return NOE_OK;
    }
    shape.rank = 1;
    if ((a = noe_call_attr(c, "value_floats"))) {
        shape.dim[0] = (int64_t)a->n_floats;
        NOE_OUT(y, c, 0, NOE_ELEM_F32, &shape);
        if (y->bytes)
            memcpy(y->data, a->floats, y->bytes);
        return NOE_OK;
    }
    if ((a = noe_call_attr(c, "value_ints"))) {
        shape.dim[0] = (int64_t)a->n_ints;
        NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
        if (y->bytes)
            memcpy(y->data, a->ints, y->bytes);
        return NOE_OK;
    }
    if ((a = noe_call_attr(c, "value_string"))) {
        NOE_OUT(y, c, 0, NOE_ELEM_STRING, &(noe_dims){0});
        y->text[0] = noe_strdup(noe_call_string(c, "value_string", ""));
        return NOE_OK;
    }
    if ((a = noe_call_attr(c, "value_strings")))
        return constant_strings(c, a);
    if ((a = noe_call_attr(c, "sparse_value")) && a->sparse_tensor) {
        noe_run_value *v;
        NOE_TRY(noe_run_from_sparse(a->sparse_tensor, &v, c->err));
        noe_run_value_release(c->out[0]);
        c->out[0] = v;
        return NOE_OK;
    }
    return noe_call_fail(c, "the value is missing");
}

static noe_status run_constant_of_shape(noe_call *c)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, "value");
    const int64_t *to;
    int n;
    noe_run_value *value = NULL;
    NOE_TRY(noe_call_numbers(c, 0, &to, &n));
    noe_dims shape = {.rank = n};
    if (n > NOE_RUN_MAX_RANK)
        return noe_call_unsupported(c, "rank %d is too large", n);
    for (int i = 0; i < n; i++) {
        shape.dim[i] = to[i];
        if (to[i] < 0)
            return noe_call_fail(c, "dimension %lld", (long long)to[i]);
    }
    if (a && a->t)
        NOE_TRY(noe_run_from_proto(a->t, &value, c->err));
    else
        value = noe_run_tensor_new(NOE_ELEM_F32, &(noe_dims){0}, SIZE_MAX);
    noe_status status = NOE_ERR_LIMIT;
    if (noe_call_out(c, 0, value->elem, &shape)) {
        int64_t none[NOE_RUN_MAX_RANK] = {0};
        status = value->n != 1
                     ? noe_call_fail(c, "value has %lld elements", (long long)value->n)
                     : noe_call_take(c, 0, value, &shape,
                                     noe_call_strided(c, &shape, 0, none), NULL);
    }
    noe_run_value_release(value);
    return status;
}

static noe_status run_shape(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    int64_t start = noe_call_int(c, "start", 0), end = noe_call_int(c, "end", x->rank);
    start += start < 0 ? x->rank : 0;
    end += end < 0 ? x->rank : 0;
    start = start < 0 ? 0 : start > x->rank ? x->rank : start;
    end = end < start ? start : end > x->rank ? x->rank : end;
    noe_dims shape = {1, {end - start}};
    NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
    memcpy(y->data, x->dim + start, y->bytes);
    return NOE_OK;
}

static noe_status run_size(noe_call *c)
{
    NOE_OUT(y, c, 0, NOE_ELEM_I64, &(noe_dims){0});
    *(int64_t *)y->data = c->in[0]->n;
    return NOE_OK;
}

static noe_status run_range(noe_call *c)
{
    for (int i = 0; i < 3; i++) {
        if (c->in[i]->n != 1 || c->in[i]->elem != c->in[0]->elem)
            return noe_call_fail(c, "input %d is not one number", i);
    }
    noe_elem elem = c->in[0]->elem;
    bool is_float = noe_elem_is_float((int)elem);
    if (!is_float && !noe_elem_is_integer((int)elem))
        return noe_call_bad_type(c);
    double start = noe_call_f64(c, c->in[0])[0], limit = noe_call_f64(c, c->in[1])[0],
           delta = noe_call_f64(c, c->in[2])[0];
    double n = ceil((limit - start) / delta);
    if (delta == 0 || !(n < 0x1p53))
        return noe_call_fail(c, "from %g to %g by %g", start, limit, delta);
    noe_dims shape = {1, {n > 0 ? (int64_t)n : 0}};
    NOE_OUT(y, c, 0, elem, &shape);
    double *v = NOE_ZEROS(c, double, y->n);
    int64_t *w = NOE_ZEROS(c, int64_t, y->n);
    int64_t first = is_float ? 0 : noe_call_i64(c, c->in[0])[0];
    int64_t step = is_float ? 0 : noe_call_i64(c, c->in[2])[0];
    for (int64_t i = 0; i < y->n; i++) {
        v[i] = start + (double)i * delta;
        w[i] = (int64_t)((uint64_t)first + (uint64_t)i * (uint64_t)step);
    }
    if (is_float)
        noe_run_store_f64(y, v, false);
    else
        noe_run_store_i64(y, w);
    return NOE_OK;
}

static noe_status run_eye_like(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t k = noe_call_int(c, "k", 0), elem = noe_call_int(c, "dtype", x->elem);
    if (x->shape.rank != 2)
        return noe_call_fail(c, "the input has rank %d", x->shape.rank);
    NOE_OUT(y, c, 0, (noe_elem)elem, &x->shape);
    double *v = NOE_ZEROS(c, double, y->n);
    int64_t *w = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t i = 0; i < y->n; i++) {
        w[i] = i % y->shape.dim[1] - i / y->shape.dim[1] == k;
        v[i] = (double)w[i];
    }
    if (noe_elem_is_float((int)elem))
        noe_run_store_f64(y, v, false);
    else if (noe_elem_is_integer((int)elem))
        noe_run_store_i64(y, w);
    else
        return noe_call_bad_type(c);
    return NOE_OK;
}

const noe_operator noe_operators_make[] = {
    {"Constant", run_constant, 0, NULL, 0},
    {"ConstantOfShape", run_constant_of_shape, 1, NULL, 0},
    {"Shape", run_shape, 1, NULL, 0},
    {"Size", run_size, 1, NULL, 0},
    {"Range", run_range, 3, NULL, 0},
    {"EyeLike", run_eye_like, 1, NULL, 0},
    {0},
};
