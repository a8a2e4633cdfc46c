/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling, reductions and softmax.
 *
 * Pooling keeps the layout of what it pools. The mean over all spatial axes is an
 * average pool with one window. Other reductions work in C order, with neighbouring
 * axes merged that are alike: sums along rows are oneDNN's reduction, sums along
 * columns the product with a row of ones, because there oneDNN's reduction is a hundred
 * times slower than memory. The same holds for softmax, which is fast along what lies
 * contiguous only: it works in the layout at hand if that suits, else on rows, if need
 * be between two transpositions.
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
    if (n->op == NOE_OP_AVERAGE_POOL)
        w.alg = noe_params_get(n->op, n->params, NOE_PARAM_COUNT_INCLUDE_PAD)->i
                    ? dnnl_pooling_avg_include_padding
                    : dnnl_pooling_avg_exclude_padding;
    read_window(n, &w);
    noe_dnn_view from, to;
    dnnl_memory_desc_t liked = noe_dnn_liked(p, x);
    NOE_TRY(noe_dnn_get(p, f->operands[0], &liked, &from, err));
    /* In C order pooling is slower than bringing the image into another one first. */
    if (noe_dnn_is_plain(&from.md))
        NOE_TRY(noe_dnn_get_as(p, f->operands[0], &liked, &from, err));
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

/* The mean over the spatial axes as a pool, unless the operand is in C order, where it
 * is a mean of rows. A result without those axes is the same elements in C order. */
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
    dnnl_memory_desc_t liked = noe_dnn_liked(p, x);
    /* Of rank 3 there are more sequences than images. */
    NOE_TRY(noe_dnn_get(p, f->operands[0], x->rank > 3 ? &liked : NULL, &from, err));
    if (noe_dnn_is_plain(&from.md))
        return NOE_OK;
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

/* What a reduction became: dims of the operand and the result in C order. */
typedef struct reduction {
    int n;
    dnnl_dims_t from, to;
    dnnl_alg_kind_t alg;
} reduction;

/* Is it a sum along the middle of [outer, reduced, inner]? */
static bool is_column_sum(const reduction *r, dnnl_dim_t *dims)
{
    bool last_kept = r->to[r->n - 1] == r->from[r->n - 1];
    if (!last_kept || r->n > 3)
        return false;
    dims[0] = r->n == 3 ? r->from[0] : 1;
    dims[1] = r->from[r->n - 2];
    dims[2] = r->from[r->n - 1];
    return true;
}

/* [1, 1, reduced] of ones (or of 1 / reduced) times [outer, reduced, inner]. */
static noe_status add_column_sum(noe_dnn_plan *p, noe_ref x, const dnnl_dim_t *dims,
                                 bool is_mean, noe_dnn_view *to, bool *done,
                                 noe_error *err)
{
    const dnnl_dims_t row_dims = {1, 1, dims[1]}, to_dims = {dims[0], 1, dims[2]};
    dnnl_memory_desc_t row_md = noe_dnn_plain_dims(3, row_dims);
    dnnl_memory_desc_t dst = noe_dnn_plain_dims(3, to_dims);
    noe_dnn_view row, from;
    NOE_TRY(noe_dnn_get_plain_dims(p, x, 3, dims, &from, err));
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_matmul_desc_init(&desc, &row_md, &from.md, NULL, &dst) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd || noe_dnn_is_slow(pd)) {
        dnnl_primitive_desc_destroy(pd);
        return NOE_OK;
    }
    float *ones = noe_arena_alloc(&p->scratch, (size_t)dims[1] * sizeof *ones);
    for (int64_t i = 0; i < dims[1]; i++)
        ones[i] = is_mean ? 1.0f / (float)dims[1] : 1.0f;
    noe_status s = noe_dnn_new_weight(p, ones, &row_md, &row_md, &row, err);
    if (s != NOE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return s;
    }
    *to = noe_dnn_new_view(p, &dst);
    const noe_dnn_arg args[] = {
        {DNNL_ARG_SRC, row}, {DNNL_ARG_WEIGHTS, from}, {DNNL_ARG_DST, *to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 3, err));
    *done = true;
    return NOE_OK;
}

static noe_status add_reduction(noe_dnn_plan *p, noe_ref x, const reduction *r,
                                noe_dnn_view *to, bool *done, noe_error *err)
{
    noe_dnn_view from;
    dnnl_memory_desc_t dst = noe_dnn_plain_dims(r->n, r->to);
    NOE_TRY(noe_dnn_get_plain_dims(p, x, r->n, r->from, &from, err));
    dnnl_reduction_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_reduction_desc_init(&desc, r->alg, &from.md, &dst, 0, 0) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    *to = noe_dnn_new_view(p, &dst);
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, *to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    *done = true;
    return NOE_OK;
}

noe_status noe_dnn_emit_reduce(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    noe_value axes = {.n = 0};
    bool is_mean = n->op == NOE_OP_REDUCE_MEAN || n->op == NOE_OP_GLOBAL_AVERAGE_POOL;
    reduction r = {.alg = n->op == NOE_OP_REDUCE_MAX   ? dnnl_reduction_max
                          : n->op == NOE_OP_REDUCE_MIN ? dnnl_reduction_min
                          : is_mean                    ? dnnl_reduction_mean
                                                       : dnnl_reduction_sum};
    if (n->op == NOE_OP_GLOBAL_AVERAGE_POOL) {
        for (int i = 2; i < x->rank; i++)
            axes.list[axes.n++] = i;
    } else {
        axes = *noe_params_get(n->op, n->params, NOE_PARAM_AXES);
    }
    if (is_mean && is_spatial(x, &axes))
        NOE_TRY(emit_spatial_mean(p, f, done, err));
    if (*done)
        return NOE_OK;
    r.n = merge_reduced(x, &axes, r.from, r.to);
    if (r.n == 0 || memcmp(r.from, r.to, sizeof(dnnl_dim_t) * r.n) == 0)
        return noe_dnn_emit_reshape(p, f, done, err); /* axes of one element only */
    noe_dnn_view to;
    dnnl_dims_t columns;
    bool is_sum = is_mean || r.alg == dnnl_reduction_sum;
    if (is_sum && is_column_sum(&r, columns))
        NOE_TRY(add_column_sum(p, f->operands[0], columns, is_mean, &to, done, err));
    if (!*done)
        NOE_TRY(add_reduction(p, f->operands[0], &r, &to, done, err));
    if (!*done)
        return NOE_OK;
    to.md = noe_dnn_plain(&n->types[0].shape);
    noe_dnn_set_value(p, f->last, &to);
    return NOE_OK;
}

/* Softmax of a view along an axis; fast_only: declined if slow. */
static noe_status add_softmax(noe_dnn_plan *p, const noe_dnn_view *from, int axis,
                              bool in_place, bool fast_only, noe_dnn_view *to,
                              bool *done, noe_error *err)
{
    dnnl_softmax_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_softmax_forward_desc_init(&desc, dnnl_forward_inference, &from->md,
                                       axis) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd || (fast_only && noe_dnn_is_slow(pd))) {
        dnnl_primitive_desc_destroy(pd);
        return NOE_OK;
    }
    *to = in_place ? *from : noe_dnn_new_view(p, &from->md);
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, *from}, {DNNL_ARG_DST, *to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    *done = true;
    return NOE_OK;
}

/* Along the middle of [outer, axis, inner]: on the transposed rows. */
static noe_status add_transposed_softmax(noe_dnn_plan *p, const noe_dnn_view *from,
                                         noe_dnn_view *to, bool *done, noe_error *err)
{
    static const int swap[] = {0, 2, 1};
    const dnnl_dims_t dims = {from->md.dims[0], from->md.dims[2], from->md.dims[1]};
    noe_dnn_view permuted = *from, result;
    dnnl_memory_desc_t rows = noe_dnn_plain_dims(3, dims);
    if (dnnl_memory_desc_permute_axes(&permuted.md, &from->md, swap) != dnnl_success)
        return NOE_OK;
    noe_dnn_view copy = noe_dnn_new_view(p, &rows);
    NOE_TRY(noe_dnn_add_reorder(p, &permuted, &copy, err));
    NOE_TRY(add_softmax(p, &copy, 2, true, false, &result, done, err));
    if (!*done)
        return NOE_OK;
    *to = noe_dnn_new_view(p, &from->md);
    noe_dnn_view target = *to;
    target.md = permuted.md;
    return noe_dnn_add_reorder(p, &copy, &target, err);
}

noe_status noe_dnn_emit_softmax(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    int axis = (int)noe_params_get(n->op, n->params, NOE_PARAM_AXIS)->i;
    noe_dnn_view from, to;
    NOE_TRY(noe_dnn_get(p, f->operands[0], NULL, &from, err));
    if (!noe_dnn_is_plain(&from.md)) {
        NOE_TRY(add_softmax(p, &from, axis, noe_dnn_can_overwrite(p, &from), true, &to,
                            done, err));
        if (*done)
            noe_dnn_set_value(p, f->last, &to);
        if (*done)
            return NOE_OK;
    }
    dnnl_dims_t dims = {1, x->dim[axis], 1};
    for (int i = 0; i < x->rank; i++)
        dims[i < axis ? 0 : 2] *= i == axis ? 1 : x->dim[i];
    int n_dims = dims[2] == 1 ? 2 : 3;
    NOE_TRY(noe_dnn_get_plain_dims(p, f->operands[0], n_dims, dims, &from, err));
    bool in_place = noe_dnn_can_overwrite(p, &from);
    NOE_TRY(add_softmax(p, &from, 1, in_place, n_dims == 3, &to, done, err));
    if (!*done && n_dims == 3)
        NOE_TRY(add_transposed_softmax(p, &from, &to, done, err));
    if (!*done)
        return NOE_OK;
    to.md = noe_dnn_plain(x);
    noe_dnn_set_value(p, f->last, &to);
    return NOE_OK;
}
