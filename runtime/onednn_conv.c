/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions (1 to 3 spatial axes, groups, any padding, strides and dilations).
 * Source, weights and result are in whatever layout oneDNN likes, which on this kind of
 * machine decides about a factor of two and more.
 */
#include "runtime/onednn.h"

#define MAX_SPATIAL 3

typedef struct geometry {
    dnnl_dims_t strides, dilations, begin, end;
} geometry;

/* oneDNN counts the gaps of a dilated kernel, ONNX its steps. */
static void read_geometry(const noe_node *n, geometry *geo)
{
    const noe_value *strides = noe_params_get(n->op, n->params, NOE_PARAM_STRIDES);
    const noe_value *pads = noe_params_get(n->op, n->params, NOE_PARAM_PADS);
    const noe_value *dilations = noe_params_get(n->op, n->params, NOE_PARAM_DILATIONS);
    for (int i = 0; i < strides->n; i++) {
        geo->strides[i] = strides->list[i];
        geo->dilations[i] = dilations->list[i] - 1;
        geo->begin[i] = pads->list[i];
        geo->end[i] = pads->list[strides->n + i];
    }
}

/* [O, I/g, k...], with groups [g, O/g, I/g, k...]. */
static int weight_dims(const noe_shape *w, int64_t group, dnnl_dim_t *dims)
{
    int n = 0;
    if (group > 1)
        dims[n++] = group;
    dims[n++] = w->dim[0] / group;
    for (int i = 1; i < w->rank; i++)
        dims[n++] = w->dim[i];
    return n;
}

noe_status noe_dnn_emit_conv(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                             noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    const noe_shape *w = noe_dnn_shape(p, f->operands[1]);
    const noe_shape *y = &n->types[0].shape;
    if (x->rank - 2 > MAX_SPATIAL)
        return NOE_OK;
    geometry geo;
    read_geometry(n, &geo);
    dnnl_dims_t dims;
    int64_t group = noe_params_get(n->op, n->params, NOE_PARAM_GROUP)->i;
    int n_dims = weight_dims(w, group, dims);
    noe_dnn_product product = {.scale = 1, .bias_scale = 1, .bias = NOE_REF_NONE};
    if (f->n_operands == 3)
        product.bias = f->operands[2];
    noe_dnn_take_followers(f, p->g, &product);
    product.bias_md = noe_dnn_plain_dims(1, &y->dim[1]);
    product.src = (noe_dnn_operand){f->operands[0], noe_dnn_plain(x), false};
    product.weights =
        (noe_dnn_operand){f->operands[1], noe_dnn_plain_dims(n_dims, dims), false};
    dnnl_memory_desc_t src = noe_dnn_any(x->rank, x->dim);
    dnnl_memory_desc_t weights = noe_dnn_any(n_dims, dims);
    dnnl_memory_desc_t dst = noe_dnn_any(y->rank, y->dim);
    dnnl_convolution_desc_t desc;
    dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
        &desc, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
        noe_ref_is_none(product.bias) ? NULL : &product.bias_md, &dst, geo.strides,
        geo.dilations, geo.begin, geo.end);
    if (s != dnnl_success)
        return NOE_OK;
    product.op_desc = &desc;
    return noe_dnn_add_product(p, f, &product, done, err);
}
