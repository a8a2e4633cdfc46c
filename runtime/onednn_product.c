/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and matrix products as one oneDNN call with bias, residual and
 * activation.
 *
 * The residual is added by the "sum" post-op, in place of the residual's own buffer,
 * when this is its last use; otherwise by a "binary" post-op that reads it where it
 * lies; and where oneDNN has no fast kernel for that, into a copy of it. A group for
 * which only a slow reference kernel exists is declined: its members apart are faster.
 */
#include "runtime/onednn.h"

typedef enum residual_mode { ADD_IN_PLACE, ADD_BINARY, ADD_TO_COPY } residual_mode;

void noe_dnn_take_followers(const noe_fusion *f, const noe_graph *g,
                            noe_dnn_product *product)
{
    product->residual = NOE_REF_NONE;
    product->activation = NOE_OP_COUNT;
    for (int i = 0; i < f->n_steps; i++) {
        if (f->steps[i].role == NOE_FUSION_BIAS)
            product->bias = f->steps[i].other;
        else if (f->steps[i].role == NOE_FUSION_RESIDUAL)
            product->residual = f->steps[i].other;
        else
            product->activation = g->nodes[f->steps[i].node].op;
    }
}

static dnnl_status_t append_post_ops(const noe_dnn_product *product,
                                     const dnnl_memory_desc_t *binary_md,
                                     dnnl_post_ops_t ops)
{
    dnnl_status_t s = dnnl_success;
    if (!noe_ref_is_none(product->residual))
        s = binary_md ? dnnl_post_ops_append_binary(ops, dnnl_binary_add, binary_md)
                      : dnnl_post_ops_append_sum(ops, 1.0f);
    noe_dnn_eltwise e;
    if (s == dnnl_success && product->activation != NOE_OP_COUNT &&
        noe_dnn_eltwise_of(product->activation, &e))
        s = dnnl_post_ops_append_eltwise(ops, 1.0f, e.alg, e.alpha, e.beta);
    return s;
}

/* The primitive with its post-ops; binary_md NULL: the residual by "sum". */
static noe_status describe(const noe_dnn_plan *p, const noe_dnn_product *product,
                           const dnnl_memory_desc_t *binary_md,
                           dnnl_primitive_desc_t *pd, noe_error *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success)
        s = dnnl_post_ops_create(&ops);
    if (s == dnnl_success)
        s = append_post_ops(product, binary_md, ops);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_post_ops(attr, ops);
    if (s == dnnl_success && product->scale != 1.0f)
        s = dnnl_primitive_attr_set_output_scales(attr, 1, 0, &product->scale);
    noe_status status = noe_dnn_check(p, s, "attributes", err);
    if (status == NOE_OK)
        status = noe_dnn_describe(p, product->op_desc, attr, pd, err);
    dnnl_post_ops_destroy(ops);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

noe_status noe_dnn_get_operand(noe_dnn_plan *p, const noe_dnn_operand *operand,
                               const dnnl_memory_desc_t *chosen, noe_dnn_view *out,
                               noe_error *err)
{
    noe_dnn_value *v = &p->values[operand->ref.node];
    const dnnl_memory_desc_t *want = operand->is_fixed ? &operand->from : chosen;
    dnnl_memory_desc_t own = noe_dnn_plain(noe_dnn_shape(p, operand->ref));
    if (dnnl_memory_desc_equal(&own, &operand->from))
        return noe_dnn_get_as(p, operand->ref, want, out, err);
    if (v->is_weight) {
        float *data = NULL;
        NOE_TRY(noe_dnn_weight_data(p, operand->ref, &data, err));
        return noe_dnn_new_weight(p, data, &operand->from, want, out, err);
    }
    /* With a free layout, what only this call uses is in the layout that it wants. */
    if (v->is_undecided && v->pending == 1) {
        noe_dnn_decide(p, operand->ref, want);
        *out = v->views[0];
        return NOE_OK;
    }
    noe_dnn_view from;
    NOE_TRY(noe_dnn_get_plain(p, operand->ref, &from, err));
    from.md = operand->from;
    *out = from;
    if (dnnl_memory_desc_equal(&from.md, want))
        return NOE_OK;
    *out = noe_dnn_new_view(p, want);
    return noe_dnn_add_reorder(p, &from, out, err);
}

static noe_status get_bias(noe_dnn_plan *p, const noe_dnn_product *product,
                           noe_dnn_view *out, noe_error *err)
{
    noe_ref r = product->bias;
    if (!noe_dnn_is_weight(p, r)) {
        NOE_TRY(noe_dnn_get_plain(p, r, out, err));
        out->md = product->bias_md;
        return NOE_OK;
    }
    float *data = NULL;
    NOE_TRY(noe_dnn_weight_data(p, r, &data, err));
    size_t n = dnnl_memory_desc_get_size(&product->bias_md) / sizeof(float);
    size_t n_given = (size_t)noe_shape_elements(noe_dnn_shape(p, r));
    float *bias = noe_arena_alloc(&p->scratch, n * sizeof *bias);
    for (size_t i = 0; i < n; i++)
        bias[i] = data[n_given == 1 ? 0 : i] * product->bias_scale;
    return noe_dnn_new_weight(p, bias, &product->bias_md, &product->bias_md, out, err);
}

static noe_status get_residual(noe_dnn_plan *p, const noe_dnn_product *product,
                               const dnnl_memory_desc_t *dst, noe_dnn_view *out,
                               noe_error *err)
{
    if (!product->is_plain)
        return noe_dnn_get_as(p, product->residual, dst, out, err);
    NOE_TRY(noe_dnn_get_plain(p, product->residual, out, err));
    out->md = product->dst_md;
    return NOE_OK;
}

/* A graph that is only timed may also overwrite an input that nothing else uses, as it
 * would the value that a model has there. Repeated runs then add to it over and over,
 * which grows no faster than their number. */
static bool can_overwrite(const noe_dnn_plan *p, const noe_dnn_view *residual)
{
    const noe_dnn_buffer *b = &p->buffers[residual->buffer];
    return noe_dnn_can_overwrite(p, residual) ||
           (p->free_layout && b->store == NOE_DNN_INPUT && b->pending == 1);
}

/* Decides how the residual is added; replaces *pd where that is by "binary". */
static noe_status place_residual(noe_dnn_plan *p, const noe_dnn_product *product,
                                 dnnl_primitive_desc_t *pd, residual_mode *mode,
                                 noe_dnn_view *residual, noe_error *err)
{
    dnnl_memory_desc_t dst = *noe_dnn_query(*pd, dnnl_query_dst_md);
    *mode = ADD_IN_PLACE;
    NOE_TRY(get_residual(p, product, &dst, residual, err));
    if (can_overwrite(p, residual))
        return NOE_OK;
    *mode = ADD_TO_COPY;
    dnnl_primitive_desc_t other = NULL;
    NOE_TRY(describe(p, product, &dst, &other, err));
    if (other &&
        (noe_dnn_is_slow(other) ||
         !dnnl_memory_desc_equal(&dst, noe_dnn_query(other, dnnl_query_dst_md)))) {
        dnnl_primitive_desc_destroy(other);
        return NOE_OK;
    }
    if (other) {
        *mode = ADD_BINARY;
        dnnl_primitive_desc_destroy(*pd);
        *pd = other;
    }
    return NOE_OK;
}

/* The call itself; pd is taken. */
static noe_status add_call(noe_dnn_plan *p, const noe_dnn_product *product,
                           dnnl_primitive_desc_t pd, residual_mode mode,
                           const noe_dnn_view *residual, noe_dnn_view *dst,
                           noe_error *err)
{
    noe_dnn_arg args[5];
    int n = 0;
    dnnl_memory_desc_t dst_md = *noe_dnn_query(pd, dnnl_query_dst_md);
    noe_status s = NOE_OK;
    args[n].arg = DNNL_ARG_SRC;
    s = noe_dnn_get_operand(p, &product->src, noe_dnn_query(pd, dnnl_query_src_md),
                            &args[n++].view, err);
    args[n].arg = DNNL_ARG_WEIGHTS;
    if (s == NOE_OK)
        s = noe_dnn_get_operand(p, &product->weights,
                                noe_dnn_query(pd, dnnl_query_weights_md),
                                &args[n++].view, err);
    if (s == NOE_OK && !noe_ref_is_none(product->bias)) {
        args[n].arg = DNNL_ARG_BIAS;
        s = get_bias(p, product, &args[n++].view, err);
    }
    if (mode == ADD_IN_PLACE && !noe_ref_is_none(product->residual))
        *dst = *residual;
    else
        *dst = noe_dnn_new_view(p, &dst_md);
    if (mode == ADD_BINARY)
        args[n++] = (noe_dnn_arg){DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                  *residual};
    if (s == NOE_OK && mode == ADD_TO_COPY)
        s = noe_dnn_add_reorder(p, residual, dst, err);
    args[n++] = (noe_dnn_arg){DNNL_ARG_DST, *dst};
    if (s == NOE_OK)
        return noe_dnn_add_step(p, pd, args, n, err);
    dnnl_primitive_desc_destroy(pd);
    return s;
}

noe_status noe_dnn_add_product(noe_dnn_plan *p, const noe_fusion *f,
                               const noe_dnn_product *product, bool *done,
                               noe_error *err)
{
    dnnl_primitive_desc_t pd = NULL;
    noe_dnn_view residual = {0}, dst = {0};
    residual_mode mode = ADD_IN_PLACE;
    NOE_TRY(describe(p, product, NULL, &pd, err));
    if (!pd || (f->n_steps > 0 && noe_dnn_is_slow(pd))) {
        dnnl_primitive_desc_destroy(pd);
        return NOE_OK;
    }
    if (!noe_ref_is_none(product->residual)) {
        noe_status s = place_residual(p, product, &pd, &mode, &residual, err);
        if (s != NOE_OK) {
            dnnl_primitive_desc_destroy(pd);
            return s;
        }
    }
    NOE_TRY(add_call(p, product, pd, mode, &residual, &dst, err));
    if (product->is_plain)
        dst.md = noe_dnn_plain(&p->g->nodes[f->last].types[0].shape);
    noe_dnn_set_value(p, f->last, &dst);
    *done = true;
    return NOE_OK;
}
