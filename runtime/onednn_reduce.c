/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling, reductions and softmax.
 *
 * Pooling keeps the blocked layout of what it pools. The mean over all spatial axes is
 * an average pool with one window. Other reductions and softmax work in C order, with
 * neighbouring axes merged that are alike, which makes most of them rows of a matrix.
 */
#include "runtime/onednn.h"

/* One pooling primitive from a view; dilations counted as oneDNN does. */
typedef struct window {
    dnnl_alg_kind_t alg;
    dnnl_dims_t kernel, strides, dilations, begin, end;
} window;

static noe_status add_pool(noe_dnn_plan *p, const window *w, const noe_dnn_view *from,
                           const noe_shape *y, noe_dnn_view *to, bool *done,
                           noe_error *err)
{
    dnnl_memory_desc_t dst = noe_dnn_any(y->rank, y->dim);
    dnnl_pooling_v2_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_pooling_v2_forward_desc_init(
            &desc, dnnl_forward_inference, w->alg, &from->md, &dst, w->strides,
            w->kernel, w->dilations, w->begin, w->end) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    *to = noe_dnn_new_view(p, noe_dnn_query(pd, dnnl_query_dst_md));
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, *from}, {DNNL_ARG_DST, *to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    *done = true;
    return NOE_OK;
}

static void read_window(const noe_node *n, window *w)
{
    const noe_value *kernel = noe_params_get(n->op, n->params, NOE_PARAM_KERNEL_SHAPE);
    const noe_value *strides = noe_params_get(n->op, n->params, NOE_PARAM_STRIDES);
    const noe_value *pads = noe_params_get(n->op, n->params, NOE_PARAM_PADS);
    const noe_value *dilations =
        w->alg == dnnl_pooling_max
            ? noe_params_get(n->op, n->params, NOE_PARAM_DILATIONS)
            : NULL;
    for (int i = 0; i < kernel->n; i++) {
        w->kernel[i] = kernel->list[i];
        w->strides[i] = strides->list[i];
        w->dilations[i] = dilations ? dilations->list[i] - 1 : 0;
        w->begin[i] = pads->list[i];
        w->end[i] = pads->list[kernel->n + i];
    }
}

static void whole_window(const noe_shape *x, window *w)
{
    *w = (window){.alg = dnnl_pooling_avg_include_padding};
    for (int i = 0; i < x->rank - 2; i++) {
        w->kernel[i] = x->dim[2 + i];
        w->strides[i] = 1;
    }
}

noe_status noe_dnn_emit_pool(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                             noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    window w = {.alg = dnnl_pooling_max};
    if (n->op == NOE_OP_GLOBAL_AVERAGE_POOL) {
        whole_window(x, &w);
    } else {
        if (n->op == NOE_OP_AVERAGE_POOL)
            w.alg = noe_params_get(n->op, n->params, NOE_PARAM_COUNT_INCLUDE_PAD)->i
                        ? dnnl_pooling_avg_include_padding
                        : dnnl_pooling_avg_exclude_padding;
        read_window(n, &w);
    }
    noe_dnn_view from, to;
    dnnl_memory_desc_t liked = noe_dnn_blocked(x);
    NOE_TRY(noe_dnn_get(p, f->operands[0], &liked, &from, err));
    NOE_TRY(add_pool(p, &w, &from, &n->types[0].shape, &to, done, err));
    if (*done)
        noe_dnn_set_value(p, f->last, &to);
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

/* Exactly the axes behind the channels? */
static bool is_spatial(const noe_shape *x, const noe_value *axes)
{
    if (x->rank < 3 || x->rank > 5 || axes->n != x->rank - 2)
        return false;
    return axes->list[0] == 2; /* they ascend */
}

/* The mean over the spatial axes as a pool; a result without those axes is the same
 * elements in C order. */
static noe_status emit_spatial_mean(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                    noe_error *err)
{
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    const noe_shape *y = &p->g->nodes[f->anchor].types[0].shape;
    noe_shape pooled = *x;
    for (int i = 2; i < x->rank; i++)
        pooled.dim[i] = 1;
    window w;
    whole_window(x, &w);
    noe_dnn_view from, to;
    dnnl_memory_desc_t liked = noe_dnn_blocked(x);
    NOE_TRY(noe_dnn_get(p, f->operands[0], &liked, &from, err));
    NOE_TRY(add_pool(p, &w, &from, &pooled, &to, done, err));
    if (!*done)
        return NOE_OK;
    dnnl_memory_desc_t plain = noe_dnn_plain(&pooled);
    if (y->rank != x->rank && !dnnl_memory_desc_equal(&to.md, &plain)) {
        noe_dnn_view copy = noe_dnn_new_view(p, &plain);
        NOE_TRY(noe_dnn_add_reorder(p, &to, &copy, err));
        to = copy;
    }
    if (y->rank != x->rank)
        to.md = noe_dnn_plain(y);
    noe_dnn_set_value(p, f->last, &to);
    return NOE_OK;
}

/* Merges neighbouring axes that are all reduced or all kept. */
static int merge_reduced(const noe_shape *x, const noe_value *axes, dnnl_dim_t *from,
                         dnnl_dim_t *to)
{
    int n = 0, last_kind = -1;
    for (int i = 0; i < x->rank; i++) {
        int reduced = has_axis(axes, i);
        if (x->dim[i] == 1)
            continue;
        if (reduced != last_kind) {
            from[n] = 1;
            to[n++] = 1;
            last_kind = reduced;
        }
        from[n - 1] *= x->dim[i];
        to[n - 1] *= reduced ? 1 : x->dim[i];
    }
    return n;
}

noe_status noe_dnn_emit_reduce(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    const noe_value *axes = noe_params_get(n->op, n->params, NOE_PARAM_AXES);
    if (n->op == NOE_OP_REDUCE_MEAN && is_spatial(x, axes))
        return emit_spatial_mean(p, f, done, err);
    dnnl_dims_t from_dims, to_dims;
    int n_dims = merge_reduced(x, axes, from_dims, to_dims);
    noe_dnn_view from, to;
    dnnl_memory_desc_t dst = noe_dnn_plain_dims(n_dims, to_dims);
    /* Nothing to reduce is no reduction to oneDNN; the reference copies. */
    if (n_dims == 0 || memcmp(from_dims, to_dims, sizeof(dnnl_dim_t) * n_dims) == 0)
        return NOE_OK;
    NOE_TRY(noe_dnn_get_plain_dims(p, f->operands[0], n_dims, from_dims, &from, err));
    dnnl_reduction_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_reduction_desc_init(&desc,
                                 n->op == NOE_OP_REDUCE_MEAN ? dnnl_reduction_mean
                                                             : dnnl_reduction_sum,
                                 &from.md, &dst, 0, 0) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    to = noe_dnn_new_view(p, &dst);
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    to.md = noe_dnn_plain(&n->types[0].shape);
    noe_dnn_set_value(p, f->last, &to);
    *done = true;
    return NOE_OK;
}

noe_status noe_dnn_emit_softmax(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    int axis = (int)noe_params_get(n->op, n->params, NOE_PARAM_AXIS)->i;
    dnnl_dims_t dims = {1, x->dim[axis], 1};
    for (int i = 0; i < x->rank; i++)
        dims[i < axis ? 0 : 2] *= i == axis ? 1 : x->dim[i];
    int n_dims = dims[2] == 1 ? 2 : 3;
    noe_dnn_view from, to;
    NOE_TRY(noe_dnn_get_plain_dims(p, f->operands[0], n_dims, dims, &from, err));
    dnnl_softmax_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_softmax_forward_desc_init(&desc, dnnl_forward_inference, &from.md, 1) !=
        dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    to = noe_dnn_can_overwrite(p, &from) ? from : noe_dnn_new_view(p, &from.md);
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    to.md = noe_dnn_plain(x);
    noe_dnn_set_value(p, f->last, &to);
    *done = true;
    return NOE_OK;
}
