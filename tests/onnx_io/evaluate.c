/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/onnx_io/evaluate.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "core/tensor.h"
#include "tests/support/support.h"
#include <stdlib.h>

const float *noe_random_input(void *ctx, const noe_leaf *leaf)
{
    int64_t n = noe_shape_elements(&leaf->type.shape);
    float *data = NOE_NEW_N((noe_arena *)ctx, float, n);
    noe_rng rng = noe_rng_split(1, leaf->name, 0);
    for (int64_t i = 0; i < n; i++) {
        data[i] = (float)noe_rng_unit(&rng) + 0.25F; /* fit for sqrt and variances */
        if (leaf->type.dtype == NOE_BOOL)
            data[i] = data[i] < 0.75F;
    }
    return data;
}

/* The elements of a weight as floats, truth values as 0 and 1. */
static float *weight_of(const noe_leaf *leaf, noe_arena *arena)
{
    int64_t n = noe_shape_elements(&leaf->type.shape);
    double *wide = NOE_NEW_N(arena, double, n);
    float *data = NOE_NEW_N(arena, float, n);
    noe_dtype_load(leaf->type.dtype, leaf->data, n, wide);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)wide[i];
    return data;
}

bool noe_can_evaluate(const noe_graph *g)
{
    uint8_t *live = noe_malloc(g->n_nodes);
    noe_graph_mark_live(g, live);
    bool can = true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        if (!live[i])
            continue;
        can = can && n->op != NOE_OP_OPAQUE &&
              noe_dtype_is_computed(n->types[0].dtype) &&
              noe_shape_is_static(&n->types[0].shape);
        if (n->op == NOE_OP_WEIGHT)
            can = can && noe_graph_leaf_of(g, i)->data;
    }
    free(live);
    return can;
}

static void evaluate_node(const noe_graph *g, uint32_t i, float **values,
                          noe_arena *arena)
{
    const noe_node *n = &g->nodes[i];
    const noe_ref *refs = noe_graph_inputs(g, i);
    noe_tensor_f32 in[NOE_MAX_INPUTS];
    for (uint32_t k = 0; k < n->n_inputs; k++)
        in[k] =
            (noe_tensor_f32){noe_graph_type(g, refs[k])->shape, values[refs[k].node]};
    int64_t elements = noe_shape_elements(&n->types[0].shape);
    values[i] = NOE_NEW_N(arena, float, elements);
    noe_tensor_f32 out = {n->types[0].shape, values[i]};
    noe_eval_f32(n->op, n->params, in, (int)n->n_inputs, &out);
}

float **noe_evaluate_graph(const noe_graph *g, noe_arena *arena, noe_input_of *input,
                           void *ctx)
{
    float **values = NOE_NEW_N(arena, float *, g->n_nodes);
    float **outputs = NOE_NEW_N(arena, float *, g->n_outputs);
    uint8_t *live = noe_malloc(g->n_nodes);
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!live[i])
            continue;
        if (g->nodes[i].op == NOE_OP_INPUT)
            values[i] = (float *)input(ctx, noe_graph_leaf_of(g, i));
        else if (g->nodes[i].op == NOE_OP_WEIGHT)
            values[i] = weight_of(noe_graph_leaf_of(g, i), arena);
        else
            evaluate_node(g, i, values, arena);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        outputs[i] = values[g->outputs[i].ref.node];
    free(live);
    return outputs;
}
