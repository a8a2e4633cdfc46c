/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that move data. All of them are copies by oneDNN's reorder or concat
 * between views, except reshape, which only names the same elements in C order
 * otherwise.
 *
 * Undecided operands of four and more axes are taken as images, in the layout that
 * convolutions like, because that is what they will be between convolutions.
 *
 * A transpose could be a view, too, and be read in place by some consumers; it is not,
 * because its cost would then depend on who reads it, and a node's time says more about
 * a model if it holds everywhere.
 */
#include "runtime/onednn.h"

noe_status noe_dnn_emit_transpose(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                  noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *y = &n->types[0].shape;
    const noe_value *perm = noe_params_get(n->op, n->params, NOE_PARAM_PERM);
    noe_dnn_view from, to;
    NOE_TRY(noe_dnn_get(p, f->operands[0], NULL, &from, err));
    if (y->rank < 2)
        return NOE_OK;
    /* oneDNN says where an axis goes to, ONNX where it comes from. */
    int target[NOE_MAX_RANK];
    for (int i = 0; i < y->rank; i++)
        target[perm->list[i]] = i;
    noe_dnn_view permuted = from;
    if (dnnl_memory_desc_permute_axes(&permuted.md, &from.md, target) != dnnl_success)
        return NOE_OK;
    dnnl_memory_desc_t md = noe_dnn_plain(y);
    to = noe_dnn_new_view(p, &md);
    NOE_TRY(noe_dnn_add_reorder(p, &permuted, &to, err));
    noe_dnn_set_value(p, f->last, &to);
    *done = true;
    return NOE_OK;
}

noe_status noe_dnn_emit_reshape(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                noe_error *err)
{
    noe_dnn_view view;
    NOE_TRY(noe_dnn_get_plain(p, f->operands[0], &view, err));
    view.md = noe_dnn_plain(&p->g->nodes[f->anchor].types[0].shape);
    noe_dnn_set_value(p, f->last, &view);
    *done = true;
    return NOE_OK;
}

static noe_status get_image(noe_dnn_plan *p, noe_ref r, noe_dnn_view *out,
                            noe_error *err)
{
    const noe_shape *s = noe_dnn_shape(p, r);
    if (s->rank < 4 || !p->values[r.node].is_undecided)
        return noe_dnn_get(p, r, NULL, out, err);
    dnnl_memory_desc_t liked = noe_dnn_liked(p, s);
    return noe_dnn_get(p, r, &liked, out, err);
}

/* Layout for a concatenation: that of the largest operand, so that the least is moved.
 */
static noe_status choose_layout(noe_dnn_plan *p, const noe_fusion *f,
                                dnnl_memory_desc_t *like, noe_error *err)
{
    int64_t most = -1;
    *like = noe_dnn_plain(noe_dnn_shape(p, f->operands[0]));
    for (int i = 0; i < f->n_operands; i++) {
        noe_dnn_view view;
        int64_t n = noe_shape_elements(noe_dnn_shape(p, f->operands[i]));
        if (n <= most || noe_dnn_is_weight(p, f->operands[i]))
            continue;
        NOE_TRY(get_image(p, f->operands[i], &view, err));
        *like = view.md;
        most = n;
    }
    return NOE_OK;
}

static noe_status get_parts(noe_dnn_plan *p, const noe_fusion *f,
                            const dnnl_memory_desc_t *like, noe_dnn_arg *args,
                            dnnl_memory_desc_t *mds, noe_error *err)
{
    for (int i = 0; i < f->n_operands; i++) {
        const noe_shape *s = noe_dnn_shape(p, f->operands[i]);
        dnnl_memory_desc_t md;
        if (!like || !noe_dnn_same_layout(like, s->rank, s->dim, &md))
            md = noe_dnn_plain(s);
        args[i].arg = DNNL_ARG_MULTIPLE_SRC + i;
        NOE_TRY(noe_dnn_get_as(p, f->operands[i], &md, &args[i].view, err));
        mds[i] = md;
    }
    return NOE_OK;
}

noe_status noe_dnn_emit_concat(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->last];
    const noe_shape *y = &n->types[0].shape;
    int axis = (int)noe_params_get(n->op, n->params, NOE_PARAM_AXIS)->i;
    dnnl_memory_desc_t like, dst = noe_dnn_any(y->rank, y->dim);
    NOE_TRY(choose_layout(p, f, &like, err));
    noe_dnn_arg args[NOE_FUSION_MAX_OPERANDS + 1];
    dnnl_memory_desc_t mds[NOE_FUSION_MAX_OPERANDS];
    dnnl_primitive_desc_t pd = NULL;
    for (int attempt = 0; attempt < 2 && !pd; attempt++) {
        if (attempt == 1)
            dst = noe_dnn_plain(y);
        NOE_TRY(get_parts(p, f, attempt ? NULL : &like, args, mds, err));
        if (dnnl_concat_primitive_desc_create(&pd, &dst, f->n_operands, axis, mds, NULL,
                                              p->engine) != dnnl_success)
            pd = NULL;
    }
    if (!pd)
        return NOE_OK;
    noe_dnn_view to = noe_dnn_new_view(p, noe_dnn_query(pd, dnnl_query_dst_md));
    args[f->n_operands] = (noe_dnn_arg){DNNL_ARG_DST, to};
    NOE_TRY(noe_dnn_add_step(p, pd, args, f->n_operands + 1, err));
    noe_dnn_set_value(p, f->last, &to);
    *done = true;
    return NOE_OK;
}

/* Part of a view: dims elements from offsets on, in steps along one axis (C order only,
 * as blocks cannot be stepped through). */
static bool take_part(noe_dnn_view *view, const noe_shape *part,
                      const dnnl_dim_t *offsets, int axis, int64_t step)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t dims, strides;
    if (step == 1) {
        memcpy(dims, part->dim, sizeof(dnnl_dim_t) * part->rank);
        if (dnnl_memory_desc_init_submemory(&md, &view->md, dims, offsets) !=
            dnnl_success)
            return false;
        view->md = md;
        return true;
    }
    if (!noe_dnn_is_plain(&view->md))
        return false;
    dnnl_dim_t stride = 1, offset = 0;
    for (int i = part->rank - 1; i >= 0; i--) {
        dims[i] = part->dim[i];
        strides[i] = i == axis ? stride * step : stride;
        offset += offsets[i] * stride;
        stride *= view->md.dims[i];
    }
    if (dnnl_memory_desc_init_by_strides(&md, part->rank, dims, dnnl_f32, strides) !=
        dnnl_success)
        return false;
    md.offset0 = offset;
    view->md = md;
    return true;
}

noe_status noe_dnn_emit_slice(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                              noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *y = &n->types[0].shape;
    int axis = (int)noe_params_get(n->op, n->params, NOE_PARAM_AXIS)->i;
    int64_t step = noe_params_get(n->op, n->params, NOE_PARAM_STEP)->i;
    dnnl_dims_t offsets = {0};
    offsets[axis] = noe_params_get(n->op, n->params, NOE_PARAM_START)->i;
    noe_dnn_view from, to;
    dnnl_memory_desc_t md;
    NOE_TRY(get_image(p, f->operands[0], &from, err));
    noe_dnn_view part = from;
    if (!noe_dnn_same_layout(&from.md, y->rank, y->dim, &md) ||
        !take_part(&part, y, offsets, axis, step)) {
        NOE_TRY(noe_dnn_get_plain(p, f->operands[0], &part, err));
        md = noe_dnn_plain(y);
        if (!take_part(&part, y, offsets, axis, step))
            return NOE_OK;
    }
    to = noe_dnn_new_view(p, &md);
    NOE_TRY(noe_dnn_add_reorder(p, &part, &to, err));
    noe_dnn_set_value(p, f->last, &to);
    *done = true;
    return NOE_OK;
}

/* Zeros, and the operand copied into the middle. */
noe_status noe_dnn_emit_pad(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                            noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    const noe_shape *y = &n->types[0].shape;
    const noe_value *pads = noe_params_get(n->op, n->params, NOE_PARAM_PADS);
    noe_dnn_view from, middle;
    dnnl_memory_desc_t md;
    if (x->rank == 0)
        return NOE_OK;
    NOE_TRY(get_image(p, f->operands[0], &from, err));
    bool same = noe_dnn_same_layout(&from.md, y->rank, y->dim, &md);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (attempt == 1 || !same) {
            NOE_TRY(noe_dnn_get_plain(p, f->operands[0], &from, err));
            md = noe_dnn_plain(y);
        }
        noe_dnn_view to = noe_dnn_new_view(p, &md);
        middle = to;
        if (!take_part(&middle, x, pads->list, 0, 1))
            continue;
        noe_dnn_add_plain_step(p, NOE_DNN_ZERO, &(noe_dnn_arg){0, to}, 1);
        NOE_TRY(noe_dnn_add_reorder(p, &from, &middle, err));
        noe_dnn_set_value(p, f->last, &to);
        *done = true;
        return NOE_OK;
    }
    return NOE_OK;
}
