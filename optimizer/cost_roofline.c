/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_roofline.h"
#include <math.h>

/* Roofline of one core: what a vectorised kernel reaches. Only orders of magnitude
 * matter (cost.c). */
#define FLOPS_A_SECOND 100e9
#define BYTES_A_SECOND 20e9
#define CALL_SECONDS   0.5e-6

static double elements(const noe_graph *g, noe_ref r)
{
    return (double)noe_shape_elements(&noe_graph_type(g, r)->shape);
}

static double bytes_of(const noe_graph *g, noe_ref r)
{
    return elements(g, r) * (double)noe_dtype_bytes(noe_graph_type(g, r)->dtype);
}

/* Multiply-adds for one output element. Products: the contracted length, which is that
 * of the left operand's rows (matmul) or of one filter (conv); windows and reductions:
 * a kernel_shape, or as many inputs as there are to an output. */
static double work_per_output(const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    const noe_ref *in = noe_graph_inputs(g, node);
    if (!noe_op_has(n->op, NOE_TRAIT_HEAVY))
        return 1;
    if (n->n_inputs >= 2) {
        const noe_shape *a = &noe_graph_type(g, in[0])->shape;
        const noe_shape *b = &noe_graph_type(g, in[1])->shape;
        bool filters = noe_op_has(n->op, NOE_TRAIT_HEAVY) && n->params && b->rank > 2;
        return filters ? elements(g, in[1]) / fmax(1, (double)b->dim[0])
                       : (double)a->dim[a->rank - 1];
    }
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        double product = 1;
        if (info->params[i] != NOE_PARAM_KERNEL_SHAPE)
            continue;
        for (int k = 0; k < n->params->v[i].n; k++)
            product *= (double)n->params->v[i].list[k];
        return product;
    }
    return fmax(1, elements(g, in[0]) / fmax(1, elements(g, (noe_ref){node, 0})));
}

double noe_roofline_seconds(const noe_cost_model *m, noe_kernels *k, uint32_t i)
{
    (void)m;
    const noe_graph *g = k->g;
    double flops = 0, bytes = 0;
    noe_kernel_key(k, i); /* collects the outer values */
    for (uint32_t o = 0; o < k->n_outer; o++)
        bytes += bytes_of(g, k->outer[o]);
    for (uint32_t j = k->first[i]; j < k->first[i + 1]; j++) {
        uint32_t node = k->members[j];
        flops += 2 * elements(g, (noe_ref){node, 0}) * work_per_output(g, node);
    }
    bytes += bytes_of(g, (noe_ref){k->members[k->first[i + 1] - 1], 0});
    return fmax(flops / FLOPS_A_SECOND, bytes / BYTES_A_SECOND) + CALL_SECONDS;
}

double noe_roofline_reuse(noe_kernels *k, uint32_t i)
{
    const noe_graph *g = k->g;
    double flops = 0, weights = 0;
    noe_kernel_key(k, i);
    for (uint32_t o = 0; o < k->n_outer; o++) {
        if (g->nodes[k->outer[o].node].is_weight)
            weights += elements(g, k->outer[o]);
    }
    for (uint32_t j = k->first[i]; j < k->first[i + 1]; j++) {
        uint32_t node = k->members[j];
        flops += 2 * elements(g, (noe_ref){node, 0}) * work_per_output(g, node);
    }
    return weights > 0 ? flops / weights : INFINITY;
}

static noe_status price(noe_cost_model *m, noe_kernels *k, uint32_t i, double *seconds,
                        noe_error *err)
{
    (void)err;
    *seconds = noe_roofline_seconds(m, k, i);
    return NOE_OK;
}

void noe_roofline_init(noe_cost_model *m)
{
    *m = (noe_cost_model){.measure = price, .estimate = noe_roofline_seconds};
}
