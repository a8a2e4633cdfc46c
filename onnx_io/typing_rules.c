/* SPDX-License-Identifier: Apache-2.0
 *
 * Output types of operators outside the algebra, as far as they are plain: sizes follow
 * from static input sizes and known integers. A rule that is in doubt says nothing.
 */
#include "onnx_io/typing.h"
#include <math.h>

typedef bool typing_rule(const noe_typing *t, noe_type *out);

const noe_type *noe_typing_input(const noe_typing *t, size_t i)
{
    const noe_onnx_node *n = t->node;
    if (i >= n->proto->n_input || n->in[i] == NOE_NO_VALUE)
        return NULL;
    return &t->m->values[n->in[i]].type;
}

/* Input i if its rank is known. */
static const noe_type *ranked(const noe_typing *t, size_t i)
{
    const noe_type *type = noe_typing_input(t, i);
    return type && type->shape.rank != NOE_RANK_UNKNOWN ? type : NULL;
}

static const noe_type *fixed(const noe_typing *t, size_t i)
{
    const noe_type *type = noe_typing_input(t, i);
    return type && noe_shape_is_static(&type->shape) ? type : NULL;
}

static int64_t attribute(const noe_typing *t, const char *name, int64_t otherwise)
{
    return noe_onnx_attr_int(t->node->proto, name, otherwise);
}

/* All known integers of input i. */
static bool ints_of(const noe_typing *t, size_t i, noe_value *v)
{
    if (!noe_typing_input(t, i))
        return false;
    const noe_onnx_ints *ints = t->m->values[t->node->in[i]].ints;
    if (!ints || ints->n > NOE_MAX_LIST)
        return false;
    v->n = (int)ints->n;
    for (int k = 0; k < v->n; k++) {
        if (!ints->known[k])
            return false;
        v->list[k] = ints->v[k];
    }
    return true;
}

/* A list attribute of n entries, filled up with a default where it is absent. */
static bool list_of(const noe_typing *t, const char *name, int n, int64_t otherwise,
                    noe_value *v)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, name);
    v->n = n;
    for (int i = 0; i < n; i++)
        v->list[i] = otherwise;
    if (!a)
        return true;
    if (a->n_ints != (size_t)n)
        return false;
    for (int i = 0; i < n; i++)
        v->list[i] = a->ints[i];
    return true;
}

static bool resolve_axis(int64_t *axis, int rank)
{
    *axis += *axis < 0 ? rank : 0;
    return *axis >= 0 && *axis < rank;
}

static bool type_gather(const noe_typing *t, noe_type *out)
{
    const noe_type *data = ranked(t, 0), *index = ranked(t, 1);
    int64_t axis = attribute(t, "axis", 0);
    if (!data || !index || !resolve_axis(&axis, data->shape.rank) ||
        data->shape.rank + index->shape.rank - 1 > NOE_MAX_RANK)
        return false;
    *out = (noe_type){.dtype = data->dtype};
    noe_shape *s = &out->shape;
    for (int i = 0; i < axis; i++)
        s->dim[s->rank++] = data->shape.dim[i];
    for (int i = 0; i < index->shape.rank; i++)
        s->dim[s->rank++] = index->shape.dim[i];
    for (int i = (int)axis + 1; i < data->shape.rank; i++)
        s->dim[s->rank++] = data->shape.dim[i];
    return true;
}

/* Output as large as the indices. */
static bool type_gather_elements(const noe_typing *t, noe_type *out)
{
    const noe_type *data = noe_typing_input(t, 0), *index = ranked(t, 1);
    if (!data || !index)
        return false;
    *out = (noe_type){data->dtype, index->shape};
    return true;
}

static bool type_expand(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    noe_value dims = {0};
    if (!x || !ints_of(t, 1, &dims) || dims.n > NOE_MAX_RANK)
        return false;
    noe_shape shape = noe_shape_make(dims.n, dims.list);
    out->dtype = x->dtype;
    return noe_shape_is_static(&shape) &&
           noe_shape_broadcast(&x->shape, &shape, &out->shape);
}

static bool type_tile(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    noe_value repeats = {0};
    if (!x || !ints_of(t, 1, &repeats) || repeats.n != x->shape.rank)
        return false;
    *out = *x;
    for (int i = 0; i < x->shape.rank; i++) {
        if (__builtin_mul_overflow(x->shape.dim[i], repeats.list[i],
                                   &out->shape.dim[i]))
            return false;
    }
    return true;
}

static bool type_constant_of_shape(const noe_typing *t, noe_type *out)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, "value");
    noe_value dims = {0};
    if (!ints_of(t, 0, &dims) || dims.n > NOE_MAX_RANK)
        return false;
    out->dtype = a && a->t ? noe_dtype_from_onnx(a->t->data_type) : NOE_F32;
    out->shape = noe_shape_make(dims.n, dims.list);
    return true;
}

/* Any mode, cropping included; some axes only since opset 18. */
static bool type_pad(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    noe_value pads = {0}, axes = {0};
    if (!x)
        return false;
    int n = x->shape.rank;
    for (; axes.n < n; axes.n++)
        axes.list[axes.n] = axes.n;
    if (noe_typing_input(t, 3) && !ints_of(t, 3, &axes))
        return false;
    n = axes.n;
    bool known =
        t->m->opset < 11 ? list_of(t, "pads", 2 * n, 0, &pads) : ints_of(t, 1, &pads);
    if (!known || pads.n != 2 * n)
        return false;
    *out = *x;
    for (int i = 0; i < n; i++) {
        if (!resolve_axis(&axes.list[i], x->shape.rank))
            return false;
        int64_t *dim = &out->shape.dim[axes.list[i]];
        if (__builtin_add_overflow(*dim, pads.list[i], dim) ||
            __builtin_add_overflow(*dim, pads.list[i + n], dim) || *dim < 0)
            return false;
    }
    return true;
}

/* Bounds as inputs (since opset 10) or attributes, any steps. */
static bool slice_list(const noe_typing *t, size_t slot, const char *name, int n,
                       noe_value *v)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, name);
    if (noe_typing_input(t, slot))
        return ints_of(t, slot, v) && (n < 0 || v->n == n);
    if (a)
        return a->n_ints <= NOE_MAX_RANK && (n < 0 || a->n_ints == (size_t)n) &&
               list_of(t, name, (int)a->n_ints, 0, v);
    return n >= 0; /* the caller's default */
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static bool type_slice(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    noe_value from = {0}, to = {0}, axes = {0}, steps = {0};
    if (!x || !slice_list(t, 1, "starts", -1, &from) || from.n > NOE_MAX_RANK)
        return false;
    for (int i = 0; i < from.n; i++) {
        axes.list[i] = i;
        steps.list[i] = 1;
    }
    if (!slice_list(t, 2, "ends", from.n, &to) || to.n != from.n ||
        !slice_list(t, 3, "axes", from.n, &axes) ||
        !slice_list(t, 4, "steps", from.n, &steps))
        return false;
    *out = *x;
    for (int i = 0; i < from.n; i++) {
        if (!resolve_axis(&axes.list[i], x->shape.rank) || steps.list[i] == 0 ||
            steps.list[i] == INT64_MIN)
            return false;
        int64_t dim = x->shape.dim[axes.list[i]], step = steps.list[i];
        int64_t a = from.list[i] + (from.list[i] < 0 ? dim : 0);
        int64_t b = to.list[i] + (to.list[i] < 0 ? dim : 0);
        a = clamp(a, 0, step > 0 ? dim : dim - 1);
        b = clamp(b, step > 0 ? 0 : -1, dim);
        int64_t span = step > 0 ? b - a : a - b, by = step > 0 ? step : -step;
        out->shape.dim[axes.list[i]] = dim == 0 || span <= 0 ? 0 : (span - 1) / by + 1;
    }
    return true;
}

static bool type_concat(const noe_typing *t, noe_type *out)
{
    const noe_type *first = fixed(t, 0);
    int64_t axis = attribute(t, "axis", 1);
    if (!first || !resolve_axis(&axis, first->shape.rank))
        return false;
    *out = *first;
    for (size_t i = 1; i < t->node->proto->n_input; i++) {
        const noe_type *x = fixed(t, i);
        if (!x || x->shape.rank != first->shape.rank ||
            __builtin_add_overflow(out->shape.dim[axis], x->shape.dim[axis],
                                   &out->shape.dim[axis]))
            return false;
    }
    return true;
}

/* Axes of a reduction: attribute or input, all where absent. */
static bool reduced_axes(const noe_typing *t, int rank, noe_value *axes)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, "axes");
    axes->n = 0;
    if (noe_typing_input(t, 1))
        return ints_of(t, 1, axes) && axes->n > 0;
    if (!a) {
        for (; axes->n < rank; axes->n++)
            axes->list[axes->n] = axes->n;
        return attribute(t, "noop_with_empty_axes", 0) == 0;
    }
    return a->n_ints <= NOE_MAX_RANK && list_of(t, "axes", (int)a->n_ints, 0, axes);
}

static bool drop_axes(const noe_type *x, noe_value *axes, bool keep, noe_type *out)
{
    bool gone[NOE_MAX_RANK] = {false};
    for (int i = 0; i < axes->n; i++) {
        if (!resolve_axis(&axes->list[i], x->shape.rank))
            return false;
        gone[axes->list[i]] = true;
    }
    *out = (noe_type){.dtype = x->dtype};
    for (int i = 0; i < x->shape.rank; i++) {
        if (!gone[i])
            out->shape.dim[out->shape.rank++] = x->shape.dim[i];
        else if (keep)
            out->shape.dim[out->shape.rank++] = 1;
    }
    return true;
}

static bool type_reduction(const noe_typing *t, noe_type *out)
{
    const noe_type *x = ranked(t, 0);
    noe_value axes = {0};
    return x && reduced_axes(t, x->shape.rank, &axes) &&
           drop_axes(x, &axes, attribute(t, "keepdims", 1) != 0, out);
}

static bool type_arg(const noe_typing *t, noe_type *out)
{
    const noe_type *x = ranked(t, 0);
    noe_value axis = {.n = 1, .list = {attribute(t, "axis", 0)}};
    if (!x || !drop_axes(x, &axis, attribute(t, "keepdims", 1) != 0, out))
        return false;
    out->dtype = NOE_I64;
    return true;
}

/* Constant floats of input i, or NULL. */
static const float *floats_of(const noe_typing *t, size_t i, int n)
{
    if (!noe_typing_input(t, i))
        return NULL;
    noe_ref r = t->m->values[t->node->in[i]].ref;
    if (t->m->graph->nodes[r.node].op != NOE_OP_WEIGHT)
        return NULL;
    const noe_leaf *leaf = noe_graph_leaf_of(t->m->graph, r.node);
    bool fits =
        leaf->type.dtype == NOE_F32 && leaf->data_bytes == (size_t)n * sizeof(float);
    return fits ? leaf->data : NULL;
}

static bool policy_is(const noe_typing *t, const char *policy)
{
    const Onnx__AttributeProto *a =
        noe_onnx_attr(t->node->proto, "keep_aspect_ratio_policy");
    return a && a->has_s && a->s.len == strlen(policy) &&
           memcmp(a->s.data, policy, a->s.len) == 0;
}

/* With a policy all axes are scaled alike: by the smallest or the largest of the wanted
 * scales, and rounded half up. */
static bool keep_ratio(const noe_typing *t, const noe_shape *x, const noe_value *axes,
                       noe_value *sizes)
{
    bool smaller = policy_is(t, "not_larger");
    double common = 0;
    if (!smaller && !policy_is(t, "not_smaller"))
        return true;
    for (int i = 0; i < sizes->n; i++) {
        double scale = (double)sizes->list[i] / (double)x->dim[axes->list[i]];
        if (x->dim[axes->list[i]] <= 0 || sizes->list[i] < 0)
            return false;
        common = i == 0 || (smaller ? scale < common : scale > common) ? scale : common;
    }
    for (int i = 0; i < sizes->n; i++) {
        double size = floor(common * (double)x->dim[axes->list[i]] + 0.5);
        if (!(size < 0x1p40))
            return false;
        sizes->list[i] = (int64_t)size;
    }
    return true;
}

/* From sizes, or from scales that are constants; of some axes since opset 18. */
static bool type_resize(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    const Onnx__AttributeProto *given = noe_onnx_attr(t->node->proto, "axes");
    noe_value axes = {0}, sizes = {0};
    if (!x || (given && given->n_ints > NOE_MAX_RANK))
        return false;
    for (; axes.n < x->shape.rank; axes.n++)
        axes.list[axes.n] = axes.n;
    if (given && !list_of(t, "axes", (int)given->n_ints, 0, &axes))
        return false;
    for (int i = 0; i < axes.n; i++) {
        if (!resolve_axis(&axes.list[i], x->shape.rank))
            return false;
    }
    *out = *x;
    bool has_sizes = ints_of(t, 3, &sizes) && sizes.n == axes.n;
    if (noe_typing_input(t, 3) && !has_sizes)
        return false;
    if (has_sizes && !keep_ratio(t, &x->shape, &axes, &sizes))
        return false;
    const float *scales =
        has_sizes ? NULL : floats_of(t, t->m->opset < 11 ? 1 : 2, axes.n);
    if (!has_sizes && !scales)
        return false;
    for (int i = 0; i < axes.n; i++) {
        int64_t *dim = &out->shape.dim[axes.list[i]];
        double size =
            has_sizes ? (double)sizes.list[i] : floor((double)*dim * (double)scales[i]);
        if (!(size >= 0 && size <= (double)NOE_MAX_ELEMENTS))
            return false;
        *dim = (int64_t)size;
    }
    return true;
}

/* The number of steps is known where the numbers are. */
static bool type_range(const noe_typing *t, noe_type *out)
{
    const noe_type *start = noe_typing_input(t, 0);
    noe_value v[3] = {{0}};
    if (!start)
        return false;
    *out = (noe_type){start->dtype, {.rank = 1, .dim = {NOE_DIM_UNKNOWN}}};
    for (size_t i = 0; i < 3; i++) {
        if (!ints_of(t, i, &v[i]) || v[i].n != 1)
            return true;
    }
    double n =
        ceil(((double)v[1].list[0] - (double)v[0].list[0]) / (double)v[2].list[0]);
    if (v[2].list[0] != 0 && n < 0x1p40)
        out->shape.dim[0] = n > 0 ? (int64_t)n : 0;
    return true;
}

static bool type_cast(const noe_typing *t, noe_type *out)
{
    const noe_type *from = noe_typing_input(t, 0);
    if (!from)
        return false;
    *out = (noe_type){noe_dtype_from_onnx((int32_t)attribute(t, "to", 0)), from->shape};
    return true;
}

static bool type_cast_like(const noe_typing *t, noe_type *out)
{
    const noe_type *from = noe_typing_input(t, 0), *like = noe_typing_input(t, 1);
    if (!from || !like)
        return false;
    *out = (noe_type){like->dtype, from->shape};
    return true;
}

static bool type_predicate(const noe_typing *t, noe_type *out)
{
    const noe_type *x = noe_typing_input(t, 0);
    if (!x)
        return false;
    *out = (noe_type){NOE_BOOL, x->shape};
    return true;
}

/* The zero point says the type; the attribute where it is absent. */
static bool type_quantize(const noe_typing *t, noe_type *out)
{
    const noe_type *x = noe_typing_input(t, 0), *zero = noe_typing_input(t, 2);
    int64_t given = attribute(t, "output_dtype", 0);
    if (!x)
        return false;
    *out = (noe_type){zero    ? zero->dtype
                      : given ? noe_dtype_from_onnx((int32_t)given)
                              : NOE_U8,
                      x->shape};
    return true;
}

static bool type_dequantize(const noe_typing *t, noe_type *out)
{
    const noe_type *x = noe_typing_input(t, 0), *scale = noe_typing_input(t, 1);
    int64_t given = attribute(t, "output_dtype", 0);
    if (!x || !scale)
        return false;
    *out = (noe_type){given ? noe_dtype_from_onnx((int32_t)given) : scale->dtype,
                      x->shape};
    return true;
}

static bool type_eye_like(const noe_typing *t, noe_type *out)
{
    const noe_type *x = noe_typing_input(t, 0);
    int64_t given = attribute(t, "dtype", 0);
    if (!x)
        return false;
    *out = (noe_type){given ? noe_dtype_from_onnx((int32_t)given) : x->dtype, x->shape};
    return true;
}

static bool type_one_hot(const noe_typing *t, noe_type *out)
{
    const noe_type *x = ranked(t, 0), *values = noe_typing_input(t, 2);
    int64_t axis = attribute(t, "axis", -1);
    noe_value depth = {0};
    if (!x || !values || x->shape.rank == NOE_MAX_RANK ||
        !resolve_axis(&axis, x->shape.rank + 1))
        return false;
    *out = (noe_type){values->dtype, {.rank = x->shape.rank + 1}};
    for (int i = 0; i < out->shape.rank; i++)
        out->shape.dim[i] =
            i == axis ? NOE_DIM_UNKNOWN : x->shape.dim[i < axis ? i : i - 1];
    if (ints_of(t, 1, &depth) && depth.n == 1 && depth.list[0] >= 0)
        out->shape.dim[axis] = depth.list[0];
    return true;
}

static bool type_gather_nd(const noe_typing *t, noe_type *out)
{
    const noe_type *x = ranked(t, 0), *at = ranked(t, 1);
    int64_t b = attribute(t, "batch_dims", 0);
    if (!x || !at || at->shape.rank < 1)
        return false;
    int64_t depth = at->shape.dim[at->shape.rank - 1];
    int rank = at->shape.rank - 1 + x->shape.rank - (int)b - (int)depth;
    if (depth < 1 || b < 0 || b + depth > x->shape.rank || rank > NOE_MAX_RANK)
        return false;
    *out = (noe_type){x->dtype, {.rank = rank}};
    for (int i = 0; i < rank; i++)
        out->shape.dim[i] = i < at->shape.rank - 1
                                ? at->shape.dim[i]
                                : x->shape.dim[i - (at->shape.rank - 1) + b + depth];
    return true;
}

static bool type_det(const noe_typing *t, noe_type *out)
{
    const noe_type *x = ranked(t, 0);
    if (!x || x->shape.rank < 2)
        return false;
    *out = *x;
    out->shape.rank -= 2;
    return true;
}

/* Before opset 13 too, and for types that the algebra does not compute with. */
static bool type_flatten(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    int64_t axis = attribute(t, "axis", 1), dims[2] = {1, 1};
    if (!x)
        return false;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int i = 0; i < x->shape.rank; i++)
        dims[i >= axis] *= x->shape.dim[i];
    *out = (noe_type){x->dtype, noe_shape_make(2, dims)};
    return axis >= 0 && axis <= x->shape.rank;
}

static bool type_gemm(const noe_typing *t, noe_type *out)
{
    const noe_type *a = ranked(t, 0), *b = ranked(t, 1);
    if (!a || !b || a->shape.rank != 2 || b->shape.rank != 2)
        return false;
    int64_t k = a->shape.dim[attribute(t, "transA", 0) == 0];
    int64_t k_b = b->shape.dim[attribute(t, "transB", 0) != 0];
    if (k >= 0 && k_b >= 0 && k != k_b)
        return false;
    const int64_t dims[2] = {a->shape.dim[attribute(t, "transA", 0) != 0],
                             b->shape.dim[attribute(t, "transB", 0) == 0]};
    *out = (noe_type){a->dtype, noe_shape_make(2, dims)};
    return true;
}

/* Of static shapes, as MatMul has it. */
static bool multiply(const noe_type *a, const noe_type *b, noe_shape *out)
{
    if (!a || !b || a->shape.rank < 1 || b->shape.rank < 1 ||
        a->shape.dim[a->shape.rank - 1] !=
            b->shape.dim[b->shape.rank > 1 ? b->shape.rank - 2 : 0])
        return false;
    noe_shape x = a->shape, y = b->shape;
    int64_t m = x.rank > 1 ? x.dim[x.rank - 2] : -1,
            n = y.rank > 1 ? y.dim[y.rank - 1] : -1;
    x.rank = x.rank > 1 ? x.rank - 2 : 0;
    y.rank = y.rank > 1 ? y.rank - 2 : 0;
    if (!noe_shape_broadcast(&x, &y, out) || out->rank + 2 > NOE_MAX_RANK)
        return false;
    if (m >= 0)
        out->dim[out->rank++] = m;
    if (n >= 0)
        out->dim[out->rank++] = n;
    return true;
}

static bool type_mat_mul(const noe_typing *t, noe_type *out)
{
    const noe_type *a = fixed(t, 0);
    out->dtype = a ? a->dtype : NOE_UNKNOWN;
    return multiply(a, fixed(t, 1), &out->shape);
}

static bool type_mat_mul_integer(const noe_typing *t, noe_type *out)
{
    out->dtype = NOE_I32;
    return multiply(fixed(t, 0), fixed(t, 1), &out->shape);
}

static bool type_q_linear_mat_mul(const noe_typing *t, noe_type *out)
{
    const noe_type *zero = noe_typing_input(t, 7);
    out->dtype = zero ? zero->dtype : NOE_UNKNOWN;
    return multiply(fixed(t, 0), fixed(t, 3), &out->shape);
}

static const struct {
    const char *op_type;
    typing_rule *fn;
} rules[] = {
    {"ArgMax", type_arg},
    {"ArgMin", type_arg},
    {"AveragePool", noe_typing_pool},
    {"Cast", type_cast},
    {"CastLike", type_cast_like},
    {"Concat", type_concat},
    {"ConstantOfShape", type_constant_of_shape},
    {"Conv", noe_typing_conv},
    {"ConvInteger", noe_typing_conv_integer},
    {"ConvTranspose", noe_typing_conv_transpose},
    {"DequantizeLinear", type_dequantize},
    {"Det", type_det},
    {"Expand", type_expand},
    {"EyeLike", type_eye_like},
    {"Flatten", type_flatten},
    {"Gather", type_gather},
    {"GatherElements", type_gather_elements},
    {"GatherND", type_gather_nd},
    {"Gemm", type_gemm},
    {"GlobalAveragePool", noe_typing_global_pool},
    {"GlobalLpPool", noe_typing_global_pool},
    {"GlobalMaxPool", noe_typing_global_pool},
    {"IsInf", type_predicate},
    {"IsNaN", type_predicate},
    {"LpPool", noe_typing_pool},
    {"MatMul", type_mat_mul},
    {"MatMulInteger", type_mat_mul_integer},
    {"MaxPool", noe_typing_pool},
    {"OneHot", type_one_hot},
    {"Pad", type_pad},
    {"QLinearConv", noe_typing_q_linear_conv},
    {"QLinearMatMul", type_q_linear_mat_mul},
    {"QuantizeLinear", type_quantize},
    {"Range", type_range},
    {"ReduceL1", type_reduction},
    {"ReduceL2", type_reduction},
    {"ReduceLogSum", type_reduction},
    {"ReduceLogSumExp", type_reduction},
    {"ReduceMax", type_reduction},
    {"ReduceMean", type_reduction},
    {"ReduceMin", type_reduction},
    {"ReduceProd", type_reduction},
    {"ReduceSum", type_reduction},
    {"ReduceSumSquare", type_reduction},
    {"Resize", type_resize},
    {"Slice", type_slice},
    {"Tile", type_tile},
};

bool noe_onnx_type_by_rule(const noe_typing *t, noe_type *out)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].op_type, t->node->proto->op_type) != 0)
            continue;
        *out = (noe_type){.dtype = NOE_UNKNOWN};
        return rules[i].fn(t, out);
    }
    return false;
}
