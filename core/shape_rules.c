/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape rule of every operator, noe_shape_<id>, as ONNX defines it for static
 * shapes.
 *
 * Dimensions and parameters are at most NOE_MAX_ELEMENTS (checked before use), so sums
 * of a few of them cannot overflow; products go through multiply. A zero dimension is
 * legal where the result is still defined; pooling needs an element under every window.
 */
#include "core/shape.h"

#define MIN_CONV_RANK 3
#define MAX_CONV_RANK 5

static noe_status multiply(const noe_shape_query *q, int64_t a, int64_t b, int64_t *out)
{
    if (b != 0 && a > NOE_MAX_ELEMENTS / b)
        return noe_fail(q->err, NOE_ERR_SHAPE, "%lld * %lld exceeds the size limit",
                        (long long)a, (long long)b);
    *out = a * b;
    return NOE_OK;
}

static const noe_shape *input(const noe_shape_query *q, int i)
{
    return &q->in[i].shape;
}

static const noe_value *param(const noe_shape_query *q, noe_param p)
{
    return noe_params_get(q->op, q->params, p);
}

static noe_status want_rank(const noe_shape_query *q, int i, int lo, int hi)
{
    int rank = input(q, i)->rank;
    if (rank >= lo && rank <= hi)
        return NOE_OK;
    if (lo == hi)
        return noe_fail(q->err, NOE_ERR_SHAPE, "input %d has rank %d, want %d", i, rank,
                        lo);
    return noe_fail(q->err, NOE_ERR_SHAPE, "input %d has rank %d, want %d to %d", i,
                    rank, lo, hi);
}

static noe_status want_flag(const noe_shape_query *q, noe_param p)
{
    int64_t i = param(q, p)->i;
    if (i == 0 || i == 1)
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "%s is %lld, want 0 or 1", noe_param_name(p),
                    (long long)i);
}

/* A list parameter of n entries, each within [min, NOE_MAX_ELEMENTS]. */
static noe_status want_list(const noe_shape_query *q, noe_param p, int n, int64_t min)
{
    const noe_value *v = param(q, p);
    if (v->n != n)
        return noe_fail(q->err, NOE_ERR_SHAPE, "%s has %d values, want %d",
                        noe_param_name(p), v->n, n);
    for (int i = 0; i < n; i++) {
        if (v->list[i] < min || v->list[i] > NOE_MAX_ELEMENTS)
            return noe_fail(q->err, NOE_ERR_SHAPE, "%s[%d] is %lld, want %lld or more",
                            noe_param_name(p), i, (long long)v->list[i],
                            (long long)min);
    }
    return NOE_OK;
}

static noe_status want_axis(const noe_shape_query *q, int rank)
{
    int64_t axis = param(q, NOE_PARAM_AXIS)->i;
    if (axis >= 0 && axis < rank)
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "axis %lld does not exist at rank %d",
                    (long long)axis, rank);
}

/* Axes in stored form: strictly ascending within 0..rank-1. */
static noe_status want_axes(const noe_shape_query *q, int rank)
{
    const noe_value *v = param(q, NOE_PARAM_AXES);
    int64_t last = -1;
    for (int i = 0; i < v->n; i++) {
        int64_t axis = v->list[i];
        if (axis < 0 || axis >= rank)
            return noe_fail(q->err, NOE_ERR_SHAPE,
                            "axis %lld does not exist at rank %d", (long long)axis,
                            rank);
        if (axis <= last)
            return noe_fail(q->err, NOE_ERR_SHAPE,
                            "axes: %lld after %lld, want ascending", (long long)axis,
                            (long long)last);
        last = axis;
    }
    return NOE_OK;
}

/* Elementwise operators */

static noe_status same_shape(const noe_shape_query *q, noe_shape *out)
{
    *out = *input(q, 0);
    return NOE_OK;
}

static noe_status broadcast(const noe_shape_query *q, noe_shape *out)
{
    if (noe_shape_broadcast(input(q, 0), input(q, 1), out))
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "the inputs do not broadcast");
}

#define SAME_SHAPE(NAME)                                                  \
    noe_status noe_shape_##NAME(const noe_shape_query *q, noe_shape *out) \
    {                                                                     \
        return same_shape(q, out);                                        \
    }
#define BROADCAST(NAME)                                                   \
    noe_status noe_shape_##NAME(const noe_shape_query *q, noe_shape *out) \
    {                                                                     \
        return broadcast(q, out);                                         \
    }

noe_status noe_shape_where(const noe_shape_query *q, noe_shape *out)
{
    noe_shape both;
    if (noe_shape_broadcast(input(q, 0), input(q, 1), &both) &&
        noe_shape_broadcast(&both, input(q, 2), out))
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "the inputs do not broadcast");
}

BROADCAST(add)
BROADCAST(sub)
BROADCAST(mul)
BROADCAST(div)
SAME_SHAPE(neg)
SAME_SHAPE(relu)
SAME_SHAPE(sigmoid)
SAME_SHAPE(tanh)
SAME_SHAPE(exp)
SAME_SHAPE(sqrt)
SAME_SHAPE(reciprocal)
BROADCAST(max)
BROADCAST(min)
SAME_SHAPE(abs)
SAME_SHAPE(leaky_relu)
SAME_SHAPE(log)
SAME_SHAPE(erf)
SAME_SHAPE(clip)
SAME_SHAPE(pow)
SAME_SHAPE(swish)
SAME_SHAPE(hard_sigmoid)
SAME_SHAPE(hard_swish)
SAME_SHAPE(elu)
SAME_SHAPE(softplus)

noe_status noe_shape_cast(const noe_shape_query *q, noe_shape *out)
{
    noe_dtype to = noe_cast_type(q->params), from = q->in[0].dtype;
    if (!noe_dtype_is_floating(to))
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "to is %lld, want 1, 10, 11 or 16 (f32, f16, f64, bf16)",
                        (long long)param(q, NOE_PARAM_TO)->i);
    if (to == from)
        return noe_fail(q->err, NOE_ERR_SHAPE, "to is the element type it has, %s",
                        noe_dtype_name(to));
    return same_shape(q, out);
}

noe_status noe_shape_gelu(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_flag(q, NOE_PARAM_APPROXIMATE));
    return same_shape(q, out);
}

/* The slope does not widen the input. */
noe_status noe_shape_prelu(const noe_shape_query *q, noe_shape *out)
{
    if (noe_shape_broadcast(input(q, 0), input(q, 1), out) &&
        noe_shape_eq(out, input(q, 0)))
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "the slope does not broadcast to the input");
}

/* Products */

/* The shape of all axes but the last two. */
static noe_shape batch_of(const noe_shape *s)
{
    return noe_shape_make(s->rank > 2 ? s->rank - 2 : 0, s->dim);
}

noe_status noe_shape_matmul(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *a = input(q, 0), *b = input(q, 1);
    NOE_TRY(want_rank(q, 0, 1, NOE_MAX_RANK));
    NOE_TRY(want_rank(q, 1, 1, NOE_MAX_RANK));
    int64_t inner_a = a->dim[a->rank - 1];
    int64_t inner_b = b->dim[b->rank > 1 ? b->rank - 2 : 0];
    if (inner_a != inner_b)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "the left has %lld columns, the right %lld rows",
                        (long long)inner_a, (long long)inner_b);
    noe_shape batch_a = batch_of(a), batch_b = batch_of(b);
    if (!noe_shape_broadcast(&batch_a, &batch_b, out))
        return noe_fail(q->err, NOE_ERR_SHAPE, "the batch axes do not broadcast");
    if (a->rank > 1)
        out->dim[out->rank++] = a->dim[a->rank - 2];
    if (b->rank > 1)
        out->dim[out->rank++] = b->dim[b->rank - 1];
    return NOE_OK;
}

/* One spatial axis under a sliding window. */
typedef struct window {
    int64_t kernel, stride, dilation, begin, end;
} window;

/* That of spatial axis i under convolution weights. */
static noe_status kernel_window(const noe_shape_query *q, const noe_shape *w, int i,
                                window *out)
{
    const noe_value *pads = param(q, NOE_PARAM_PADS);
    if (w->dim[2 + i] == 0)
        return noe_fail(q->err, NOE_ERR_SHAPE, "the kernel is 0 on spatial axis %d", i);
    *out = (window){.kernel = w->dim[2 + i],
                    .stride = param(q, NOE_PARAM_STRIDES)->list[i],
                    .dilation = param(q, NOE_PARAM_DILATIONS)->list[i],
                    .begin = pads->list[i],
                    .end = pads->list[w->rank - 2 + i]};
    return NOE_OK;
}

/* Extent of a dilated kernel. */
static noe_status extent(const noe_shape_query *q, const window *w, int64_t *out)
{
    NOE_TRY(multiply(q, w->kernel - 1, w->dilation, out));
    *out += 1;
    return NOE_OK;
}

static noe_status slide(const noe_shape_query *q, int axis, int64_t dim,
                        const window *w, int64_t *out)
{
    int64_t span = 0;
    NOE_TRY(extent(q, w, &span));
    int64_t padded = dim + w->begin + w->end;
    if (span > padded)
        return noe_fail(
            q->err, NOE_ERR_SHAPE,
            "kernel %lld with dilation %lld spans %lld on spatial axis %d, the "
            "padded input has %lld",
            (long long)w->kernel, (long long)w->dilation, (long long)span, axis,
            (long long)padded);
    *out = (padded - span) / w->stride + 1;
    return NOE_OK;
}

/* Every window must lie over an element. With padding smaller than the window's extent
 * it reaches the input; a dilated one could still step over an input narrower than a
 * step. */
static noe_status want_covered(const noe_shape_query *q, int axis, int64_t dim,
                               const window *w)
{
    int64_t span = 0;
    NOE_TRY(extent(q, w, &span));
    if (dim == 0)
        return noe_fail(q->err, NOE_ERR_SHAPE, "spatial axis %d has no elements", axis);
    if (w->begin >= span || w->end >= span)
        return noe_fail(
            q->err, NOE_ERR_SHAPE,
            "pads %lld and %lld on spatial axis %d, want less than the kernel's "
            "%lld",
            (long long)w->begin, (long long)w->end, axis, (long long)span);
    if (w->dilation > dim && w->begin + w->end > 0)
        return noe_fail(
            q->err, NOE_ERR_SHAPE,
            "dilation %lld on spatial axis %d of %lld elements can miss them all",
            (long long)w->dilation, axis, (long long)dim);
    return NOE_OK;
}

static noe_status conv_groups(const noe_shape_query *q)
{
    const noe_shape *x = input(q, 0), *w = input(q, 1);
    int64_t group = param(q, NOE_PARAM_GROUP)->i;
    if (group < 1 || group > NOE_MAX_ELEMENTS)
        return noe_fail(q->err, NOE_ERR_SHAPE, "group is %lld, want 1 or more",
                        (long long)group);
    if (x->dim[1] % group || x->dim[1] / group != w->dim[1])
        return noe_fail(
            q->err, NOE_ERR_SHAPE,
            "the input has %lld channels, the kernel %lld in each of %lld groups",
            (long long)x->dim[1], (long long)w->dim[1], (long long)group);
    if (w->dim[0] % group)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "%lld output channels do not divide into %lld groups",
                        (long long)w->dim[0], (long long)group);
    return NOE_OK;
}

noe_status noe_shape_conv(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0), *w = input(q, 1);
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_rank(q, 1, x->rank, x->rank));
    int n = x->rank - 2;
    NOE_TRY(want_list(q, NOE_PARAM_STRIDES, n, 1));
    NOE_TRY(want_list(q, NOE_PARAM_PADS, 2 * n, 0));
    NOE_TRY(want_list(q, NOE_PARAM_DILATIONS, n, 1));
    NOE_TRY(conv_groups(q));
    *out = noe_shape_make(2, (int64_t[]){x->dim[0], w->dim[0]});
    out->rank = x->rank;
    for (int i = 0; i < n; i++) {
        window win;
        NOE_TRY(kernel_window(q, w, i, &win));
        NOE_TRY(slide(q, i, x->dim[2 + i], &win, &out->dim[2 + i]));
    }
    return NOE_OK;
}

noe_status noe_shape_conv_bias(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(noe_shape_conv(q, out));
    NOE_TRY(want_rank(q, 2, 1, 1));
    if (input(q, 2)->dim[0] != out->dim[1])
        return noe_fail(q->err, NOE_ERR_SHAPE, "the bias has %lld values, want %lld",
                        (long long)input(q, 2)->dim[0], (long long)out->dim[1]);
    return NOE_OK;
}

static noe_status transposed_groups(const noe_shape_query *q, int64_t *outputs)
{
    const noe_shape *x = input(q, 0), *w = input(q, 1);
    int64_t group = param(q, NOE_PARAM_GROUP)->i;
    if (group < 1 || group > NOE_MAX_ELEMENTS || x->dim[1] % group)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "%lld channels do not divide into %lld groups",
                        (long long)x->dim[1], (long long)group);
    if (w->dim[0] != x->dim[1])
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "the input has %lld channels, the kernel %lld",
                        (long long)x->dim[1], (long long)w->dim[0]);
    return multiply(q, w->dim[1], group, outputs);
}

/* Size of an axis that every element spreads over; an end pad down to the last rows of
 * zeros that ONNX's output_padding may ask for. */
static noe_status spread(const noe_shape_query *q, int axis, int64_t dim,
                         const window *w, int64_t *out)
{
    int64_t span = 0, steps = 0;
    int64_t most = w->stride > w->dilation ? w->stride : w->dilation;
    NOE_TRY(extent(q, w, &span));
    if (dim < 1 || w->begin < 0 || w->begin > NOE_MAX_ELEMENTS || w->end <= -most ||
        w->end > NOE_MAX_ELEMENTS)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "spatial axis %d has %lld elements, pads %lld and %lld", axis,
                        (long long)dim, (long long)w->begin, (long long)w->end);
    NOE_TRY(multiply(q, dim - 1, w->stride, &steps));
    *out = steps + span - w->begin - w->end;
    if (*out < 1)
        return noe_fail(q->err, NOE_ERR_SHAPE, "nothing is left of spatial axis %d",
                        axis);
    return NOE_OK;
}

noe_status noe_shape_conv_transpose(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0), *w = input(q, 1);
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_rank(q, 1, x->rank, x->rank));
    int n = x->rank - 2;
    NOE_TRY(want_list(q, NOE_PARAM_STRIDES, n, 1));
    NOE_TRY(want_list(q, NOE_PARAM_PADS, 2 * n, -NOE_MAX_ELEMENTS));
    NOE_TRY(want_list(q, NOE_PARAM_DILATIONS, n, 1));
    *out = *x;
    NOE_TRY(transposed_groups(q, &out->dim[1]));
    for (int i = 0; i < n; i++) {
        window win;
        NOE_TRY(kernel_window(q, w, i, &win));
        NOE_TRY(spread(q, i, x->dim[2 + i], &win, &out->dim[2 + i]));
    }
    return NOE_OK;
}

/* Pooling and reduction */

static noe_status pool(const noe_shape_query *q, const int64_t *dilations,
                       noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    int n = x->rank - 2;
    NOE_TRY(want_list(q, NOE_PARAM_KERNEL_SHAPE, n, 1));
    NOE_TRY(want_list(q, NOE_PARAM_STRIDES, n, 1));
    NOE_TRY(want_list(q, NOE_PARAM_PADS, 2 * n, 0));
    const noe_value *pads = param(q, NOE_PARAM_PADS);
    int64_t volume = 1; /* of the window, most of which may be padding */
    *out = *x;
    for (int i = 0; i < n; i++) {
        window win = {.kernel = param(q, NOE_PARAM_KERNEL_SHAPE)->list[i],
                      .stride = param(q, NOE_PARAM_STRIDES)->list[i],
                      .dilation = dilations ? dilations[i] : 1,
                      .begin = pads->list[i],
                      .end = pads->list[n + i]};
        NOE_TRY(multiply(q, volume, win.kernel, &volume));
        NOE_TRY(want_covered(q, i, x->dim[2 + i], &win));
        NOE_TRY(slide(q, i, x->dim[2 + i], &win, &out->dim[2 + i]));
    }
    return NOE_OK;
}

noe_status noe_shape_max_pool(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_list(q, NOE_PARAM_DILATIONS, input(q, 0)->rank - 2, 1));
    return pool(q, param(q, NOE_PARAM_DILATIONS)->list, out);
}

noe_status noe_shape_average_pool(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_flag(q, NOE_PARAM_COUNT_INCLUDE_PAD));
    return pool(q, NULL, out);
}

noe_status noe_shape_global_average_pool(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    *out = *input(q, 0);
    for (int i = 2; i < out->rank; i++) {
        if (out->dim[i] == 0)
            return noe_fail(q->err, NOE_ERR_SHAPE, "spatial axis %d has no elements",
                            i - 2);
        out->dim[i] = 1;
    }
    return NOE_OK;
}

static bool has_axis(const noe_value *axes, int axis)
{
    for (int i = 0; i < axes->n; i++) {
        if (axes->list[i] == axis)
            return true;
    }
    return false;
}

static noe_status reduce(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    NOE_TRY(want_axes(q, x->rank));
    NOE_TRY(want_flag(q, NOE_PARAM_KEEPDIMS));
    const noe_value *axes = param(q, NOE_PARAM_AXES);
    *out = (noe_shape){0};
    for (int i = 0; i < x->rank; i++) {
        if (!has_axis(axes, i))
            out->dim[out->rank++] = x->dim[i];
        else if (param(q, NOE_PARAM_KEEPDIMS)->i)
            out->dim[out->rank++] = 1;
    }
    return NOE_OK;
}

noe_status noe_shape_reduce_sum(const noe_shape_query *q, noe_shape *out)
{
    return reduce(q, out);
}

/* Of no elements there is no mean and no maximum. */
static noe_status reduce_some(const noe_shape_query *q, noe_shape *out)
{
    const noe_value *axes = param(q, NOE_PARAM_AXES);
    NOE_TRY(reduce(q, out));
    for (int i = 0; i < axes->n; i++) {
        if (input(q, 0)->dim[axes->list[i]] == 0)
            return noe_fail(q->err, NOE_ERR_SHAPE, "axis %lld has no elements",
                            (long long)axes->list[i]);
    }
    return NOE_OK;
}

noe_status noe_shape_reduce_mean(const noe_shape_query *q, noe_shape *out)
{
    return reduce_some(q, out);
}

noe_status noe_shape_reduce_max(const noe_shape_query *q, noe_shape *out)
{
    return reduce_some(q, out);
}

noe_status noe_shape_reduce_min(const noe_shape_query *q, noe_shape *out)
{
    return reduce_some(q, out);
}

noe_status noe_shape_softmax(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_axis(q, input(q, 0)->rank));
    return same_shape(q, out);
}

noe_status noe_shape_log_softmax(const noe_shape_query *q, noe_shape *out)
{
    return noe_shape_softmax(q, out);
}

/* Layout */

noe_status noe_shape_transpose(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    const noe_value *perm = param(q, NOE_PARAM_PERM);
    NOE_TRY(want_list(q, NOE_PARAM_PERM, x->rank, 0));
    unsigned seen = 0;
    *out = *x;
    for (int i = 0; i < x->rank; i++) {
        int64_t axis = perm->list[i];
        if (axis >= x->rank || (seen & 1u << axis))
            return noe_fail(q->err, NOE_ERR_SHAPE,
                            "perm[%d] is %lld, want every axis of rank %d once", i,
                            (long long)axis, x->rank);
        seen |= 1u << axis;
        out->dim[i] = x->dim[axis];
    }
    return NOE_OK;
}

/* The shape parameter as a shape; its product is within the limit. */
static noe_status shape_param(const noe_shape_query *q, noe_shape *out)
{
    const noe_value *v = param(q, NOE_PARAM_SHAPE);
    if (v->n > NOE_MAX_RANK)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "shape has %d axes, at most %d are possible", v->n,
                        NOE_MAX_RANK);
    NOE_TRY(want_list(q, NOE_PARAM_SHAPE, v->n, 0));
    *out = noe_shape_make(v->n, v->list);
    return NOE_OK;
}

static noe_status want_same_elements(const noe_shape_query *q, const noe_shape *out)
{
    int64_t from = noe_shape_elements(input(q, 0)), to = noe_shape_elements(out);
    if (from == to && from >= 0)
        return NOE_OK;
    noe_buf b = {0};
    noe_shape_print(&b, out);
    noe_status s = noe_fail(q->err, NOE_ERR_SHAPE, "%lld elements do not fill %s",
                            (long long)from, noe_buf_text(&b));
    noe_buf_clear(&b);
    return s;
}

noe_status noe_shape_reshape(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(shape_param(q, out));
    return want_same_elements(q, out);
}

noe_status noe_shape_concat(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *a = input(q, 0), *b = input(q, 1);
    NOE_TRY(want_axis(q, a->rank));
    NOE_TRY(want_rank(q, 1, a->rank, a->rank));
    int axis = (int)param(q, NOE_PARAM_AXIS)->i;
    for (int i = 0; i < a->rank; i++) {
        if (i != axis && a->dim[i] != b->dim[i])
            return noe_fail(q->err, NOE_ERR_SHAPE, "axis %d is %lld and %lld", i,
                            (long long)a->dim[i], (long long)b->dim[i]);
    }
    *out = *a;
    out->dim[axis] += b->dim[axis];
    return NOE_OK;
}

noe_status noe_shape_slice(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    NOE_TRY(want_axis(q, x->rank));
    int axis = (int)param(q, NOE_PARAM_AXIS)->i;
    int64_t start = param(q, NOE_PARAM_START)->i, end = param(q, NOE_PARAM_END)->i;
    int64_t step = param(q, NOE_PARAM_STEP)->i;
    if (step < 1)
        return noe_fail(q->err, NOE_ERR_SHAPE, "step is %lld, want 1 or more",
                        (long long)step);
    if (start < 0 || end < start || end > x->dim[axis])
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "%lld to %lld is no part of axis %d of %lld", (long long)start,
                        (long long)end, axis, (long long)x->dim[axis]);
    *out = *x;
    out->dim[axis] = end == start ? 0 : (end - start - 1) / step + 1;
    return NOE_OK;
}

noe_status noe_shape_gather(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    const noe_value *indices = param(q, NOE_PARAM_INDICES);
    NOE_TRY(want_axis(q, x->rank));
    int axis = (int)param(q, NOE_PARAM_AXIS)->i;
    for (int i = 0; i < indices->n; i++) {
        if (indices->list[i] < 0 || indices->list[i] >= x->dim[axis])
            return noe_fail(q->err, NOE_ERR_SHAPE,
                            "indices[%d] is %lld, axis %d has %lld", i,
                            (long long)indices->list[i], axis, (long long)x->dim[axis]);
    }
    *out = *x;
    out->dim[axis] = indices->n;
    return NOE_OK;
}

noe_status noe_shape_expand(const noe_shape_query *q, noe_shape *out)
{
    noe_shape both;
    NOE_TRY(shape_param(q, out));
    if (noe_shape_broadcast(input(q, 0), out, &both) && noe_shape_eq(&both, out))
        return NOE_OK;
    noe_buf b = {0};
    noe_shape_print(&b, out);
    noe_status s = noe_fail(q->err, NOE_ERR_SHAPE, "input 0 does not broadcast to %s",
                            noe_buf_text(&b));
    noe_buf_clear(&b);
    return s;
}

noe_status noe_shape_resize(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    int64_t mode = param(q, NOE_PARAM_MODE)->i;
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_list(q, NOE_PARAM_SCALES, x->rank - 2, 1));
    if (mode < 0 || mode > 3)
        return noe_fail(q->err, NOE_ERR_SHAPE, "mode is %lld, want 0 to 3",
                        (long long)mode);
    *out = *x;
    for (int i = 2; i < x->rank; i++)
        NOE_TRY(multiply(q, x->dim[i], param(q, NOE_PARAM_SCALES)->list[i - 2],
                         &out->dim[i]));
    return NOE_OK;
}

noe_status noe_shape_pad(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    NOE_TRY(want_list(q, NOE_PARAM_PADS, 2 * x->rank, 0));
    const noe_value *pads = param(q, NOE_PARAM_PADS);
    *out = *x;
    for (int i = 0; i < x->rank; i++)
        out->dim[i] += pads->list[i] + pads->list[x->rank + i];
    return NOE_OK;
}

noe_status noe_shape_flatten(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    int64_t axis = param(q, NOE_PARAM_AXIS)->i;
    if (axis < 0 || axis > x->rank)
        return noe_fail(q->err, NOE_ERR_SHAPE, "axis %lld does not exist at rank %d",
                        (long long)axis, x->rank);
    int64_t side[2] = {1, 1};
    for (int i = 0; i < x->rank; i++)
        NOE_TRY(multiply(q, side[i >= axis], x->dim[i], &side[i >= axis]));
    *out = noe_shape_make(2, side);
    return NOE_OK;
}

noe_status noe_shape_squeeze(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    const noe_value *axes = param(q, NOE_PARAM_AXES);
    NOE_TRY(want_axes(q, x->rank));
    if (axes->n == 0)
        return noe_fail(q->err, NOE_ERR_SHAPE, "axes is empty, want at least one");
    *out = (noe_shape){0};
    for (int i = 0; i < x->rank; i++) {
        if (!has_axis(axes, i))
            out->dim[out->rank++] = x->dim[i];
        else if (x->dim[i] != 1)
            return noe_fail(q->err, NOE_ERR_SHAPE, "axis %d is %lld, want 1", i,
                            (long long)x->dim[i]);
    }
    return NOE_OK;
}

noe_status noe_shape_unsqueeze(const noe_shape_query *q, noe_shape *out)
{
    const noe_shape *x = input(q, 0);
    const noe_value *axes = param(q, NOE_PARAM_AXES);
    int rank = x->rank + axes->n;
    if (axes->n == 0)
        return noe_fail(q->err, NOE_ERR_SHAPE, "axes is empty, want at least one");
    if (rank > NOE_MAX_RANK)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "output rank is %d, at most %d is possible", rank,
                        NOE_MAX_RANK);
    NOE_TRY(want_axes(q, rank));
    *out = (noe_shape){0};
    int next = 0;
    for (int i = 0; i < rank; i++)
        out->dim[out->rank++] = has_axis(axes, i) ? 1 : x->dim[next++];
    return NOE_OK;
}

/* Constants */

static noe_status want_shape_rank(const noe_shape_query *q, const noe_shape *s, int lo,
                                  int hi)
{
    if (s->rank >= lo && s->rank <= hi)
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "shape has %d axes, want %d to %d", s->rank,
                    lo, hi);
}

noe_status noe_shape_zeros(const noe_shape_query *q, noe_shape *out)
{
    return shape_param(q, out);
}

noe_status noe_shape_ones(const noe_shape_query *q, noe_shape *out)
{
    return shape_param(q, out);
}

noe_status noe_shape_identity_matrix(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(shape_param(q, out));
    return want_shape_rank(q, out, 2, 2);
}

/* A convolution weight [C, C/g, k...] whose groups divide. */
static noe_status kernel(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(shape_param(q, out));
    NOE_TRY(want_shape_rank(q, out, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_list(q, NOE_PARAM_SHAPE, out->rank, 1));
    if (out->dim[0] % out->dim[1])
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "%lld channels do not divide into groups of %lld",
                        (long long)out->dim[0], (long long)out->dim[1]);
    return NOE_OK;
}

noe_status noe_shape_identity_kernel(const noe_shape_query *q, noe_shape *out)
{
    return kernel(q, out);
}

noe_status noe_shape_average_kernel(const noe_shape_query *q, noe_shape *out)
{
    return kernel(q, out);
}

noe_status noe_shape_scalar(const noe_shape_query *q, noe_shape *out)
{
    (void)q;
    *out = (noe_shape){0};
    return NOE_OK;
}

/* Composites that are not above */

noe_status noe_shape_gemm(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_rank(q, 0, 2, 2));
    NOE_TRY(want_rank(q, 1, 2, 2));
    NOE_TRY(want_flag(q, NOE_PARAM_TRANS_A));
    NOE_TRY(want_flag(q, NOE_PARAM_TRANS_B));
    int ta = (int)param(q, NOE_PARAM_TRANS_A)->i,
        tb = (int)param(q, NOE_PARAM_TRANS_B)->i;
    int64_t columns = input(q, 0)->dim[1 - ta], rows = input(q, 1)->dim[tb];
    if (columns != rows)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "the left has %lld columns, the right %lld rows",
                        (long long)columns, (long long)rows);
    *out =
        noe_shape_make(2, (int64_t[]){input(q, 0)->dim[ta], input(q, 1)->dim[1 - tb]});
    if (q->n_in < 3)
        return NOE_OK;
    noe_shape both;
    if (noe_shape_broadcast(out, input(q, 2), &both) && noe_shape_eq(out, &both))
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "input 2 does not broadcast to [%lld,%lld]",
                    (long long)out->dim[0], (long long)out->dim[1]);
}

noe_status noe_shape_batch_normalization(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_rank(q, 0, 2, NOE_MAX_RANK));
    int64_t channels = input(q, 0)->dim[1];
    for (int i = 1; i < 5; i++) {
        NOE_TRY(want_rank(q, i, 1, 1));
        if (input(q, i)->dim[0] != channels)
            return noe_fail(q->err, NOE_ERR_SHAPE,
                            "input %d has %lld values, want %lld", i,
                            (long long)input(q, i)->dim[0], (long long)channels);
    }
    return same_shape(q, out);
}

/* An operand broadcasts to x without making it larger. */
static noe_status want_within(const noe_shape_query *q, int i)
{
    noe_shape both;
    if (noe_shape_broadcast(input(q, 0), input(q, i), &both) &&
        noe_shape_eq(&both, input(q, 0)))
        return NOE_OK;
    return noe_fail(q->err, NOE_ERR_SHAPE, "input %d does not broadcast to input 0", i);
}

/* Means need elements. */
static noe_status want_elements(const noe_shape_query *q, int from)
{
    for (int i = from; i < input(q, 0)->rank; i++) {
        if (input(q, 0)->dim[i] == 0)
            return noe_fail(q->err, NOE_ERR_SHAPE, "axis %d has no elements", i);
    }
    return NOE_OK;
}

noe_status noe_shape_layer_normalization(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_axis(q, input(q, 0)->rank));
    NOE_TRY(want_elements(q, (int)param(q, NOE_PARAM_AXIS)->i));
    for (int i = 1; i < q->n_in; i++)
        NOE_TRY(want_within(q, i));
    return same_shape(q, out);
}

/* Scale and shift, one value a channel. */
static noe_status want_channel_values(const noe_shape_query *q)
{
    NOE_TRY(want_rank(q, 0, MIN_CONV_RANK, MAX_CONV_RANK));
    NOE_TRY(want_elements(q, 2));
    for (int i = 1; i < 3; i++) {
        NOE_TRY(want_rank(q, i, 1, 1));
        if (input(q, i)->dim[0] != input(q, 0)->dim[1])
            return noe_fail(
                q->err, NOE_ERR_SHAPE, "input %d has %lld values, want %lld", i,
                (long long)input(q, i)->dim[0], (long long)input(q, 0)->dim[1]);
    }
    return NOE_OK;
}

noe_status noe_shape_instance_normalization(const noe_shape_query *q, noe_shape *out)
{
    NOE_TRY(want_channel_values(q));
    return same_shape(q, out);
}

noe_status noe_shape_group_normalization(const noe_shape_query *q, noe_shape *out)
{
    int64_t groups = param(q, NOE_PARAM_NUM_GROUPS)->i;
    NOE_TRY(want_channel_values(q));
    if (groups < 1 || input(q, 0)->dim[1] < 1 || input(q, 0)->dim[1] % groups)
        return noe_fail(q->err, NOE_ERR_SHAPE,
                        "%lld channels do not divide into %lld groups",
                        (long long)input(q, 0)->dim[1], (long long)groups);
    return same_shape(q, out);
}
