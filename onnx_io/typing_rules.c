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

/* Any mode, cropping included. */
static bool type_pad(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    noe_value pads = {0};
    if (!x || noe_typing_input(t, 3))
        return false;
    int rank = x->shape.rank;
    bool known = t->m->opset < 11 ? list_of(t, "pads", 2 * rank, 0, &pads)
                                  : ints_of(t, 1, &pads);
    if (!known || pads.n != 2 * rank)
        return false;
    *out = *x;
    for (int i = 0; i < rank; i++) {
        int64_t *dim = &out->shape.dim[i];
        if (__builtin_add_overflow(*dim, pads.list[i], dim) ||
            __builtin_add_overflow(*dim, pads.list[i + rank], dim))
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

/* Sizes of a Resize from its operand `sizes`, or from `scales` that are constants. */
static bool resized(const noe_typing *t, size_t scales_slot, const noe_type *x,
                    noe_shape *s)
{
    noe_value sizes = {0};
    if (ints_of(t, 3, &sizes) && sizes.n == x->shape.rank) {
        *s = noe_shape_make(sizes.n, sizes.list);
        return true;
    }
    if (noe_typing_input(t, 3) || !noe_typing_input(t, scales_slot))
        return false;
    noe_ref r = t->m->values[t->node->in[scales_slot]].ref;
    if (t->m->graph->nodes[r.node].op != NOE_OP_WEIGHT)
        return false;
    const noe_leaf *leaf = noe_graph_leaf_of(t->m->graph, r.node);
    const float *scales = leaf->data;
    if (leaf->type.dtype != NOE_F32 ||
        leaf->data_bytes != (size_t)x->shape.rank * sizeof *scales)
        return false;
    s->rank = x->shape.rank;
    for (int i = 0; i < s->rank; i++) {
        double size = floor((double)x->shape.dim[i] * (double)scales[i]);
        if (!(size >= 0 && size <= (double)NOE_MAX_ELEMENTS))
            return false;
        s->dim[i] = (int64_t)size;
    }
    return true;
}

static bool type_resize(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0);
    if (!x || noe_onnx_attr(t->node->proto, "axes") ||
        attribute(t, "antialias", 0) != 0 ||
        noe_onnx_attr(t->node->proto, "keep_aspect_ratio_policy"))
        return false;
    out->dtype = x->dtype;
    return resized(t, t->m->opset < 11 ? 1 : 2, x, &out->shape);
}

/* Explicit pads only. */
static bool type_conv_transpose(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0), *w = fixed(t, 1);
    noe_value strides, dilations, pads, extra;
    if (!x || !w || x->shape.rank < 3 || w->shape.rank != x->shape.rank ||
        noe_onnx_attr(t->node->proto, "auto_pad") ||
        noe_onnx_attr(t->node->proto, "output_shape"))
        return false;
    int n = x->shape.rank - 2;
    if (!list_of(t, "strides", n, 1, &strides) ||
        !list_of(t, "dilations", n, 1, &dilations) ||
        !list_of(t, "pads", 2 * n, 0, &pads) ||
        !list_of(t, "output_padding", n, 0, &extra))
        return false;
    *out = *x;
    if (__builtin_mul_overflow(w->shape.dim[1], attribute(t, "group", 1),
                               &out->shape.dim[1]))
        return false;
    for (int i = 0; i < n; i++) {
        int64_t grown, reach;
        if (__builtin_mul_overflow(x->shape.dim[i + 2] - 1, strides.list[i], &grown) ||
            __builtin_mul_overflow(w->shape.dim[i + 2] - 1, dilations.list[i],
                                   &reach) ||
            __builtin_add_overflow(grown, reach, &grown) ||
            __builtin_add_overflow(grown, extra.list[i] + 1, &grown) ||
            __builtin_sub_overflow(grown, pads.list[i], &grown) ||
            __builtin_sub_overflow(grown, pads.list[i + n], &grown))
            return false;
        out->shape.dim[i + 2] = grown;
    }
    return true;
}

/* Y of GRU, LSTM, RNN: [steps, directions, batch, hidden]. */
static bool type_recurrent(const noe_typing *t, noe_type *out)
{
    const noe_type *x = fixed(t, 0), *r = fixed(t, 2);
    if (!x || !r || x->shape.rank != 3 || r->shape.rank != 3 ||
        attribute(t, "layout", 0) != 0)
        return false;
    const int64_t dims[4] = {x->shape.dim[0], r->shape.dim[0], x->shape.dim[1],
                             r->shape.dim[2]};
    *out = (noe_type){x->dtype, noe_shape_make(4, dims)};
    return true;
}

static bool type_range(const noe_typing *t, noe_type *out)
{
    const noe_type *start = noe_typing_input(t, 0);
    if (!start)
        return false;
    *out = (noe_type){start->dtype, {.rank = 1, .dim = {NOE_DIM_UNKNOWN}}};
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

static const struct {
    const char *op_type;
    typing_rule *fn;
} rules[] = {
    {"ArgMax", type_arg},
    {"ArgMin", type_arg},
    {"Cast", type_cast},
    {"ConstantOfShape", type_constant_of_shape},
    {"ConvTranspose", type_conv_transpose},
    {"Expand", type_expand},
    {"GRU", type_recurrent},
    {"Gather", type_gather},
    {"GatherElements", type_gather_elements},
    {"LSTM", type_recurrent},
    {"Pad", type_pad},
    {"RNN", type_recurrent},
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
    {"Tile", type_tile},
};

/* Sizes within the limits, or symbolic. */
static bool is_sound(const noe_shape *s)
{
    int64_t product = 1;
    for (int i = 0; i < s->rank; i++) {
        int64_t dim = s->dim[i] > 1 ? s->dim[i] : 1;
        if (product > NOE_MAX_ELEMENTS / dim)
            return false;
        product *= dim;
    }
    return true;
}

bool noe_onnx_type_by_rule(const noe_typing *t, noe_type *out)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].op_type, t->node->proto->op_type) != 0)
            continue;
        *out = (noe_type){.dtype = NOE_UNKNOWN};
        return rules[i].fn(t, out) && is_sound(&out->shape);
    }
    return false;
}
