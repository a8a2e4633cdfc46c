/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators' outputs, and the stored form of their parameters.
 *
 * noe_op_infer checks what is common to all operators (arity, parameters, element
 * types, limits) and asks the operator's shape rule, found by its name in
 * core/shape_rules.c, for the rest. Every misfit is NOE_ERR_SHAPE, in one message:
 * operator, fault, inputs.
 *
 * Element types: operators that only move data take any fixed-size type; addition,
 * subtraction, multiplication and negation any number; all others floating point,
 * because over integers they would not mean what the algebra says. Constants are f32.
 * That is what has a type; what the algebra computes is less (noe_op_computes).
 */
#include "core/shape.h"
#include <math.h>

typedef noe_status shape_rule(const noe_shape_query *q, noe_shape *out);

static shape_rule *const rules[NOE_OP_COUNT] = {
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) \
    [NOE_OP_##ID] = noe_shape_##NAME,
#include "core/ops.def"
};

static bool dtype_allowed(noe_op op, noe_dtype d)
{
    if (noe_dtype_is_floating(d))
        return true;
    if (noe_op_has(op, NOE_TRAIT_COPY))
        return noe_dtype_bytes(d) > 0;
    if (noe_op_has(op, NOE_TRAIT_EWISE) && noe_op_has(op, NOE_TRAIT_LINEAR))
        return noe_dtype_bytes(d) > 0 && d != NOE_BOOL;
    return false;
}

bool noe_op_computes(noe_op op, noe_dtype d)
{
    if (noe_op_has(op, NOE_TRAIT_COPY) || op == NOE_OP_WHERE || op == NOE_OP_CAST)
        return noe_dtype_is_computed(d);
    return d == NOE_F32;
}

noe_dtype noe_cast_type(const noe_params *params)
{
    int64_t to = noe_params_get(NOE_OP_CAST, params, NOE_PARAM_TO)->i;
    return to == (int32_t)to ? noe_dtype_from_onnx((int32_t)to) : NOE_UNKNOWN;
}

static noe_status check_arity(noe_op op, int n_in, noe_error *err)
{
    const noe_op_info *info = noe_op_get(op);
    if (n_in >= info->min_in && n_in <= info->max_in)
        return NOE_OK;
    if (info->min_in == info->max_in)
        return noe_fail(err, NOE_ERR_SHAPE, "%d inputs, want %d", n_in, info->min_in);
    return noe_fail(err, NOE_ERR_SHAPE, "%d inputs, want %d to %d", n_in, info->min_in,
                    info->max_in);
}

static noe_status check_params(noe_op op, const noe_params *params, noe_error *err)
{
    const noe_op_info *info = noe_op_get(op);
    int n = params ? params->n : 0;
    if (n != info->n_params)
        return noe_fail(err, NOE_ERR_SHAPE, "%d parameters, want %d", n,
                        info->n_params);
    for (int i = 0; i < n; i++) {
        const noe_value *v = &params->v[i];
        const char *name = noe_param_name(info->params[i]);
        if (v->kind != noe_param_kind_of(info->params[i]))
            return noe_fail(err, NOE_ERR_SHAPE, "%s is of the wrong kind", name);
        if (v->kind == NOE_KIND_FLOAT && !isfinite(v->f))
            return noe_fail(err, NOE_ERR_SHAPE, "%s is %g, want a finite number", name,
                            v->f);
        if ((v->kind == NOE_KIND_AXES || v->kind == NOE_KIND_INTS) &&
            (v->n < 0 || v->n > NOE_MAX_LIST))
            return noe_fail(err, NOE_ERR_SHAPE,
                            "%s has %d values, at most %d are possible", name, v->n,
                            NOE_MAX_LIST);
    }
    return NOE_OK;
}

/* The limit holds for the product of the dimensions other than 0 as well: strides and
 * counts are such products, and no model has a use for more. */
static noe_status check_size(const noe_shape *s, noe_error *err)
{
    int64_t product = 1;
    for (int i = 0; i < s->rank; i++) {
        int64_t dim = s->dim[i] ? s->dim[i] : 1;
        if (dim > NOE_MAX_ELEMENTS / product)
            return noe_fail(err, NOE_ERR_SHAPE, "more than %lld elements",
                            (long long)NOE_MAX_ELEMENTS);
        product *= dim;
    }
    return NOE_OK;
}

/* The first input that has the element type of the output; the condition of where may
 * be bool or f32. */
static int main_input(noe_op op)
{
    return op == NOE_OP_WHERE ? 1 : 0;
}

static noe_status check_inputs(noe_op op, const noe_type *in, int n_in, noe_error *err)
{
    int like = main_input(op);
    for (int i = 0; i < n_in; i++) {
        if (!noe_shape_is_static(&in[i].shape))
            return noe_fail(err, NOE_ERR_SHAPE, "the shape of input %d is not known",
                            i);
        NOE_TRY(check_size(&in[i].shape, err));
        if (i < like && (in[i].dtype == NOE_BOOL || in[i].dtype == NOE_F32))
            continue;
        if (in[i].dtype != in[like].dtype)
            return noe_fail(err, NOE_ERR_SHAPE, "input %d is %s, input %d is %s", i,
                            noe_dtype_name(in[i].dtype), like,
                            noe_dtype_name(in[like].dtype));
        if (!dtype_allowed(op, in[i].dtype))
            return noe_fail(err, NOE_ERR_SHAPE, "not defined for %s",
                            noe_dtype_name(in[i].dtype));
    }
    return NOE_OK;
}

static noe_status infer(const noe_shape_query *q, noe_type *out)
{
    NOE_TRY(check_arity(q->op, q->n_in, q->err));
    NOE_TRY(check_params(q->op, q->params, q->err));
    NOE_TRY(check_inputs(q->op, q->in, q->n_in, q->err));
    NOE_TRY(rules[q->op](q, &out->shape));
    out->dtype = q->n_in ? q->in[main_input(q->op)].dtype : NOE_F32;
    if (q->op == NOE_OP_CAST)
        out->dtype = noe_cast_type(q->params);
    return check_size(&out->shape, q->err);
}

/* "name: fault; inputs f32[2,3], f32[4]" */
static noe_status explain(noe_op op, const noe_type *in, int n_in,
                          const noe_error *fault, noe_error *err)
{
    noe_buf b = {0};
    for (int i = 0; i < n_in; i++) {
        noe_buf_puts(&b, i ? ", " : "; inputs ");
        noe_type_print(&b, &in[i]);
    }
    noe_status s = noe_fail(err, fault->status, "%s: %s%s", noe_op_get(op)->name,
                            fault->text, noe_buf_text(&b));
    noe_buf_clear(&b);
    return s;
}

noe_status noe_op_infer(noe_op op, const noe_params *params, const noe_type *in,
                        int n_in, noe_type *out, noe_error *err)
{
    NOE_ASSERT(op < NOE_OP_COUNT);
    noe_error fault;
    noe_shape_query q = {op, params, in, n_in, err ? &fault : NULL};
    noe_status s = infer(&q, out);
    if (s == NOE_OK || !err)
        return s;
    return explain(op, in, n_in, &fault, err);
}

/* Number of axes that the operator's axis parameters count. */
static int axis_rank(noe_op op, const noe_params *params, const noe_type *in)
{
    int rank = in[0].shape.rank;
    if (op == NOE_OP_UNSQUEEZE)
        rank += noe_params_get(op, params, NOE_PARAM_AXES)->n;
    return rank;
}

static noe_status normalize_axis(int64_t *axis, int rank, int last, noe_error *err)
{
    if (*axis < -rank || *axis > last)
        return noe_fail(err, NOE_ERR_SHAPE, "axis %lld does not exist at rank %d",
                        (long long)*axis, rank);
    if (*axis < 0)
        *axis += rank;
    return NOE_OK;
}

static void sort_list(noe_value *v)
{
    for (int i = 1; i < v->n; i++) {
        int64_t x = v->list[i];
        int j = i;
        for (; j > 0 && v->list[j - 1] > x; j--)
            v->list[j] = v->list[j - 1];
        v->list[j] = x;
    }
}

static noe_status normalize_axes(noe_op op, noe_params *params, const noe_type *in,
                                 noe_error *err)
{
    int rank = axis_rank(op, params, in);
    /* Flatten may cut behind the last axis; everything else names an axis. */
    int last = op == NOE_OP_FLATTEN ? rank : rank - 1;
    for (int i = 0; i < params->n; i++) {
        noe_value *v = &params->v[i];
        if (v->kind == NOE_KIND_AXIS)
            NOE_TRY(normalize_axis(&v->i, rank, last, err));
        if (v->kind != NOE_KIND_AXES)
            continue;
        for (int k = 0; k < v->n; k++)
            NOE_TRY(normalize_axis(&v->list[k], rank, last, err));
        sort_list(v);
    }
    return NOE_OK;
}

static int64_t clamp_bound(int64_t bound, int64_t dim)
{
    if (bound < 0)
        bound += dim;
    return bound < 0 ? 0 : bound > dim ? dim : bound;
}

static void normalize_slice(noe_params *params, const noe_shape *x)
{
    int64_t dim = x->dim[noe_params_get(NOE_OP_SLICE, params, NOE_PARAM_AXIS)->i];
    int64_t start = noe_params_get(NOE_OP_SLICE, params, NOE_PARAM_START)->i;
    int64_t end = noe_params_get(NOE_OP_SLICE, params, NOE_PARAM_END)->i;
    start = clamp_bound(start, dim);
    end = clamp_bound(end, dim);
    noe_value v = noe_value_int(NOE_KIND_INT, start);
    noe_params_set(NOE_OP_SLICE, params, NOE_PARAM_START, &v);
    v = noe_value_int(NOE_KIND_INT, end < start ? start : end);
    noe_params_set(NOE_OP_SLICE, params, NOE_PARAM_END, &v);
}

static void normalize_gather(noe_params *params, const noe_shape *x)
{
    int64_t dim = x->dim[noe_params_get(NOE_OP_GATHER, params, NOE_PARAM_AXIS)->i];
    noe_value v = *noe_params_get(NOE_OP_GATHER, params, NOE_PARAM_INDICES);
    for (int i = 0; i < v.n; i++)
        v.list[i] += v.list[i] < 0 ? dim : 0;
    noe_params_set(NOE_OP_GATHER, params, NOE_PARAM_INDICES, &v);
}

static noe_status normalize(noe_op op, noe_params *params, const noe_type *in, int n_in,
                            noe_error *err)
{
    NOE_TRY(check_arity(op, n_in, err));
    NOE_TRY(check_params(op, params, err));
    if (n_in == 0)
        return NOE_OK;
    if (!noe_shape_is_static(&in[0].shape))
        return noe_fail(err, NOE_ERR_SHAPE, "the shape of input 0 is not known");
    NOE_TRY(normalize_axes(op, params, in, err));
    if (op == NOE_OP_SLICE)
        normalize_slice(params, &in[0].shape);
    if (op == NOE_OP_GATHER)
        normalize_gather(params, &in[0].shape);
    return NOE_OK;
}

noe_status noe_params_normalize(noe_op op, noe_params *params, const noe_type *in,
                                int n_in, noe_error *err)
{
    NOE_ASSERT(op < NOE_OP_COUNT);
    if (!params || params->n == 0)
        return NOE_OK;
    noe_error fault;
    noe_status s = normalize(op, params, in, n_in, err ? &fault : NULL);
    if (s == NOE_OK || !err)
        return s;
    return explain(op, in, n_in, &fault, err);
}
