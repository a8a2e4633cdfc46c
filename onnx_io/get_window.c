/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of operators with a sliding window. auto_pad is turned into the explicit pads
 * that it means for the (static) input size; ceil_mode is accepted where rounding up
 * and down give the same.
 */
#include "onnx_io/get.h"

/* The window attributes, filled up with defaults. */
typedef struct window {
    int spatial;
    noe_value kernel, strides, dilations, pads;
} window;

static const char *get_sized_list(noe_getting *g, const char *name, int n,
                                  int64_t otherwise, int64_t min, noe_value *v)
{
    bool found;
    NOE_GET(noe_get_list(g, name, v, &found));
    if (!found) {
        *v = (noe_value){.kind = NOE_KIND_INTS, .n = n};
        for (int i = 0; i < n; i++)
            v->list[i] = otherwise;
    }
    if (v->n != n)
        return noe_get_why(g, "%s has %d values, want %d", name, v->n, n);
    for (int i = 0; i < n; i++) {
        if (v->list[i] < min || v->list[i] > NOE_MAX_ELEMENTS)
            return noe_get_why(g, "%s has the value %lld", name, (long long)v->list[i]);
    }
    return NULL;
}

static int64_t extent(const window *w, int i)
{
    return (w->kernel.list[i] - 1) * w->dilations.list[i] + 1;
}

/* Pads so that the output has ceil(size / stride) elements. */
static void pad_same(window *w, const noe_shape *x, bool more_at_end)
{
    for (int i = 0; i < w->spatial; i++) {
        int64_t size = x->dim[i + 2], stride = w->strides.list[i];
        int64_t n = (size + stride - 1) / stride;
        int64_t total = (n - 1) * stride + extent(w, i) - size;
        total = total < 0 ? 0 : total;
        int64_t less = total / 2;
        w->pads.list[i] = more_at_end ? less : total - less;
        w->pads.list[i + w->spatial] = more_at_end ? total - less : less;
    }
}

static bool bytes_are(const Onnx__AttributeProto *a, const char *text)
{
    return a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

static const char *get_pads(noe_getting *g, window *w, const noe_shape *x)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, "auto_pad");
    NOE_GET(get_sized_list(g, "pads", 2 * w->spatial, 0, 0, &w->pads));
    if (!a || a->s.len == 0 || bytes_are(a, "NOTSET"))
        return NULL;
    for (int i = 0; i < w->pads.n; i++) {
        if (w->pads.list[i] != 0)
            return "it has both pads and auto_pad";
    }
    if (bytes_are(a, "SAME_UPPER") || bytes_are(a, "SAME_LOWER")) {
        pad_same(w, x, bytes_are(a, "SAME_UPPER"));
        return NULL;
    }
    return bytes_are(a, "VALID") ? NULL : "auto_pad is not understood";
}

/* w->kernel is set. */
static const char *get_strides(noe_getting *g, window *w)
{
    NOE_GET(get_sized_list(g, "strides", w->spatial, 1, 1, &w->strides));
    NOE_GET(get_sized_list(g, "dilations", w->spatial, 1, 1, &w->dilations));
    for (int i = 0; i < w->spatial; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(w->kernel.list[i], w->dilations.list[i], &reach) ||
            reach > NOE_MAX_ELEMENTS)
            return "the window is too large";
    }
    return NULL;
}

static const char *get_window(noe_getting *g, window *w, const noe_shape *x)
{
    NOE_GET(get_strides(g, w));
    return get_pads(g, w, x);
}

static const char *check_ceil_mode(noe_getting *g, const window *w, const noe_shape *x)
{
    if (noe_onnx_attr_int(g->node->proto, "ceil_mode", 0) == 0)
        return NULL;
    for (int i = 0; i < w->spatial; i++) {
        int64_t room = x->dim[i + 2] + w->pads.list[i] + w->pads.list[i + w->spatial] -
                       extent(w, i);
        if (room % w->strides.list[i] != 0)
            return "ceil_mode makes a partial window";
    }
    return NULL;
}

static void set_conv_params(noe_op op, noe_params *p, const window *w, int64_t group)
{
    noe_get_set_list(op, p, NOE_PARAM_STRIDES, &w->strides);
    noe_get_set_list(op, p, NOE_PARAM_PADS, &w->pads);
    noe_get_set_list(op, p, NOE_PARAM_DILATIONS, &w->dilations);
    noe_get_set_int(op, p, NOE_PARAM_GROUP, group);
}

static const char *get_conv_kernel(noe_getting *g, window *w, const noe_shape *weight)
{
    if (weight->rank != w->spatial + 2)
        return noe_get_why(g, "the kernel has rank %d, the input %d", weight->rank,
                           w->spatial + 2);
    noe_value stated;
    bool found;
    w->kernel = noe_value_list(NOE_KIND_INTS, w->spatial, weight->dim + 2);
    NOE_GET(noe_get_list(g, "kernel_shape", &stated, &found));
    if (found && !noe_value_eq(&stated, &w->kernel))
        return "kernel_shape differs from the kernel";
    return NULL;
}

const char *noe_get_conv(noe_getting *g)
{
    noe_ref in[3], out;
    const noe_shape *x, *weight;
    window w;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(
        g, "auto_pad dilations group kernel_shape pads strides"));
    NOE_GET(noe_get_want_inputs(g, 2, 3));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &in[0], &x));
    NOE_GET(noe_get_data(g, 1, &in[1], &weight));
    int n = (int)noe_get_n_inputs(g);
    if (n == 3)
        NOE_GET(noe_get_data(g, 2, &in[2], NULL));
    w.spatial = x->rank - 2;
    if (w.spatial < 1)
        return noe_get_why(g, "the input has rank %d", x->rank);
    NOE_GET(get_conv_kernel(g, &w, weight));
    NOE_GET(get_window(g, &w, x));
    noe_op op = n == 3 ? NOE_OP_CONV_BIAS : NOE_OP_CONV;
    set_conv_params(op, &p, &w, noe_onnx_attr_int(g->node->proto, "group", 1));
    NOE_GET(noe_get_add(g, op, &p, in, n, &out));
    noe_get_done(g, 0, op, out);
    return NULL;
}

static const char *get_pool(noe_getting *g, noe_ref *in, window *w)
{
    const noe_shape *x;
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, in, &x));
    w->spatial = x->rank - 2;
    if (w->spatial < 1)
        return noe_get_why(g, "the input has rank %d", x->rank);
    NOE_GET(get_sized_list(g, "kernel_shape", w->spatial, 0, 1, &w->kernel));
    NOE_GET(get_window(g, w, x));
    return check_ceil_mode(g, w, x);
}

const char *noe_get_max_pool(noe_getting *g)
{
    noe_ref in, out;
    window w;
    noe_params p = {0};
    /* storage_order only concerns the indices, which are no output here. */
    NOE_GET(noe_get_only_attributes(
        g, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"));
    NOE_GET(get_pool(g, &in, &w));
    noe_get_set_list(g->op, &p, NOE_PARAM_KERNEL_SHAPE, &w.kernel);
    noe_get_set_list(g->op, &p, NOE_PARAM_STRIDES, &w.strides);
    noe_get_set_list(g->op, &p, NOE_PARAM_PADS, &w.pads);
    noe_get_set_list(g->op, &p, NOE_PARAM_DILATIONS, &w.dilations);
    NOE_GET(noe_get_add(g, g->op, &p, &in, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

const char *noe_get_average_pool(noe_getting *g)
{
    noe_ref in, out;
    window w;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, "auto_pad ceil_mode count_include_pad dilations "
                                       "kernel_shape pads strides"));
    NOE_GET(get_pool(g, &in, &w));
    for (int i = 0; i < w.spatial; i++) {
        if (w.dilations.list[i] != 1)
            return "it is dilated";
    }
    noe_get_set_list(g->op, &p, NOE_PARAM_KERNEL_SHAPE, &w.kernel);
    noe_get_set_list(g->op, &p, NOE_PARAM_STRIDES, &w.strides);
    noe_get_set_list(g->op, &p, NOE_PARAM_PADS, &w.pads);
    noe_get_set_int(g->op, &p, NOE_PARAM_COUNT_INCLUDE_PAD,
                    noe_onnx_attr_int(g->node->proto, "count_include_pad", 0) != 0);
    NOE_GET(noe_get_add(g, g->op, &p, &in, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

/* The whole image is the window. */
const char *noe_get_global_max_pool(noe_getting *g)
{
    noe_ref in, out;
    const noe_shape *x;
    window w = {.spatial = 0};
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &in, &x));
    w.spatial = x->rank - 2;
    if (w.spatial < 1)
        return noe_get_why(g, "the input has rank %d", x->rank);
    w.kernel = noe_value_list(NOE_KIND_INTS, w.spatial, x->dim + 2);
    NOE_GET(get_window(g, &w, x));
    noe_get_set_list(g->op, &p, NOE_PARAM_KERNEL_SHAPE, &w.kernel);
    noe_get_set_list(g->op, &p, NOE_PARAM_STRIDES, &w.strides);
    noe_get_set_list(g->op, &p, NOE_PARAM_PADS, &w.pads);
    noe_get_set_list(g->op, &p, NOE_PARAM_DILATIONS, &w.dilations);
    NOE_GET(noe_get_add(g, g->op, &p, &in, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

/* What remains of the pads of one axis when the output has `size` elements. */
static const char *pad_to_size(window *w, int i, int64_t in, int64_t size,
                               bool more_at_end)
{
    int64_t steps, total;
    if (__builtin_mul_overflow(in - 1, w->strides.list[i], &steps) ||
        __builtin_add_overflow(steps, extent(w, i), &total) ||
        __builtin_sub_overflow(total, size, &total))
        return "the output is too large";
    int64_t less = total > 0 ? total / 2 : 0;
    w->pads.list[i] = more_at_end || total <= 0 ? less : total - less;
    w->pads.list[i + w->spatial] = total - w->pads.list[i];
    return NULL;
}

/* Pads from auto_pad, output_shape and output_padding; those at the end may become
 * negative, see core/ops.def. */
static const char *get_spreading_pads(noe_getting *g, window *w, const noe_shape *x)
{
    noe_value sizes, extra;
    bool found;
    bool same_upper = noe_get_text_is(g, "auto_pad", "NOTSET", "SAME_UPPER");
    bool same = same_upper || noe_get_text_is(g, "auto_pad", "NOTSET", "SAME_LOWER");
    if (!same && !noe_get_text_is(g, "auto_pad", "NOTSET", "NOTSET") &&
        !noe_get_text_is(g, "auto_pad", "NOTSET", "VALID"))
        return "auto_pad is not understood";
    NOE_GET(get_sized_list(g, "pads", 2 * w->spatial, 0, 0, &w->pads));
    NOE_GET(get_sized_list(g, "output_padding", w->spatial, 0, 0, &extra));
    NOE_GET(noe_get_list(g, "output_shape", &sizes, &found));
    if (found && sizes.n != w->spatial)
        return noe_get_why(g, "output_shape has %d values", sizes.n);
    for (int i = 0; i < w->spatial; i++) {
        int64_t in = x->dim[i + 2], size;
        if (__builtin_mul_overflow(in, w->strides.list[i], &size))
            return "the output is too large";
        if (found || same)
            NOE_GET(pad_to_size(w, i, in, found ? sizes.list[i] : size, same_upper));
        else
            w->pads.list[i + w->spatial] -= extra.list[i];
    }
    return NULL;
}

static const char *add_bias(noe_getting *g, int rank, noe_ref bias, noe_ref *x)
{
    noe_params p = {0};
    const noe_shape *s = &noe_graph_type(g->m->graph, bias)->shape;
    noe_value shape = {.kind = NOE_KIND_INTS, .n = rank - 1};
    if (s->rank != 1)
        return noe_get_why(g, "the bias has rank %d", s->rank);
    for (int i = 0; i < shape.n; i++)
        shape.list[i] = i == 0 ? s->dim[0] : 1;
    noe_get_set_list(NOE_OP_RESHAPE, &p, NOE_PARAM_SHAPE, &shape);
    NOE_GET(noe_get_add(g, NOE_OP_RESHAPE, &p, &bias, 1, &bias));
    return noe_get_add(g, NOE_OP_ADD, NULL, (noe_ref[]){*x, bias}, 2, x);
}

const char *noe_get_conv_transpose(noe_getting *g)
{
    noe_ref in[3], out;
    const noe_shape *x, *weight;
    window w;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, "auto_pad dilations group kernel_shape "
                                       "output_padding output_shape pads strides"));
    NOE_GET(noe_get_want_inputs(g, 2, 3));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &in[0], &x));
    NOE_GET(noe_get_data(g, 1, &in[1], &weight));
    int n = (int)noe_get_n_inputs(g), rank = x->rank;
    if (n == 3)
        NOE_GET(noe_get_data(g, 2, &in[2], NULL));
    w.spatial = rank - 2;
    if (w.spatial < 1)
        return noe_get_why(g, "the input has rank %d", rank);
    NOE_GET(get_conv_kernel(g, &w, weight));
    NOE_GET(get_strides(g, &w));
    NOE_GET(get_spreading_pads(g, &w, x));
    set_conv_params(g->op, &p, &w, noe_onnx_attr_int(g->node->proto, "group", 1));
    NOE_GET(noe_get_add(g, g->op, &p, in, 2, &out));
    if (n == 3)
        NOE_GET(add_bias(g, rank, in[2], &out));
    noe_get_done(g, 0, n == 3 ? NOE_OP_ADD : g->op, out);
    return NULL;
}
