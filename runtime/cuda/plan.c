/* SPDX-License-Identifier: Apache-2.0
 *
 * A group goes to the emitter of its anchor. Emitters of convolutions and products take
 * all that one call of the library does and add kernels for what is left of the group;
 * there is nothing that no emitter takes but element counts beyond 31 bits.
 */
#include "runtime/cuda/plan.h"
#include <stdlib.h>

#define EMIT(NAME) noe_cu_emit_##NAME
static noe_cu_emitter *const emitters[NOE_OP_COUNT] = {
    [NOE_OP_ADD] = EMIT(binary),
    [NOE_OP_SUB] = EMIT(binary),
    [NOE_OP_MUL] = EMIT(binary),
    [NOE_OP_DIV] = EMIT(binary),
    [NOE_OP_MAX] = EMIT(binary),
    [NOE_OP_MIN] = EMIT(binary),
    [NOE_OP_PRELU] = EMIT(binary),
    [NOE_OP_NEG] = EMIT(unary),
    [NOE_OP_RELU] = EMIT(unary),
    [NOE_OP_SIGMOID] = EMIT(unary),
    [NOE_OP_TANH] = EMIT(unary),
    [NOE_OP_EXP] = EMIT(unary),
    [NOE_OP_SQRT] = EMIT(unary),
    [NOE_OP_RECIPROCAL] = EMIT(unary),
    [NOE_OP_ABS] = EMIT(unary),
    [NOE_OP_LEAKY_RELU] = EMIT(unary),
    [NOE_OP_LOG] = EMIT(unary),
    [NOE_OP_ERF] = EMIT(unary),
    [NOE_OP_CLIP] = EMIT(unary),
    [NOE_OP_POW] = EMIT(unary),
    [NOE_OP_GELU] = EMIT(unary),
    [NOE_OP_SWISH] = EMIT(unary),
    [NOE_OP_HARD_SIGMOID] = EMIT(unary),
    [NOE_OP_HARD_SWISH] = EMIT(unary),
    [NOE_OP_ELU] = EMIT(unary),
    [NOE_OP_SOFTPLUS] = EMIT(unary),
    [NOE_OP_CAST] = EMIT(unary),
    [NOE_OP_WHERE] = EMIT(where),
    [NOE_OP_BATCH_NORMALIZATION] = EMIT(batch_norm),
    [NOE_OP_MATMUL] = EMIT(product),
    [NOE_OP_GEMM] = EMIT(product),
    [NOE_OP_CONV] = EMIT(conv),
    [NOE_OP_CONV_BIAS] = EMIT(conv),
    [NOE_OP_CONV_TRANSPOSE] = EMIT(conv),
    [NOE_OP_MAX_POOL] = EMIT(pool),
    [NOE_OP_AVERAGE_POOL] = EMIT(pool),
    [NOE_OP_GLOBAL_AVERAGE_POOL] = EMIT(reduce),
    [NOE_OP_REDUCE_SUM] = EMIT(reduce),
    [NOE_OP_REDUCE_MEAN] = EMIT(reduce),
    [NOE_OP_REDUCE_MAX] = EMIT(reduce),
    [NOE_OP_REDUCE_MIN] = EMIT(reduce),
    [NOE_OP_SOFTMAX] = EMIT(softmax),
    [NOE_OP_LOG_SOFTMAX] = EMIT(softmax),
    [NOE_OP_LAYER_NORMALIZATION] = EMIT(normalize),
    [NOE_OP_INSTANCE_NORMALIZATION] = EMIT(normalize),
    [NOE_OP_GROUP_NORMALIZATION] = EMIT(normalize),
    [NOE_OP_TRANSPOSE] = EMIT(transpose),
    [NOE_OP_RESHAPE] = EMIT(view),
    [NOE_OP_FLATTEN] = EMIT(view),
    [NOE_OP_SQUEEZE] = EMIT(view),
    [NOE_OP_UNSQUEEZE] = EMIT(view),
    [NOE_OP_CONCAT] = EMIT(concat),
    [NOE_OP_SLICE] = EMIT(slice),
    [NOE_OP_PAD] = EMIT(pad),
    [NOE_OP_GATHER] = EMIT(gather),
    [NOE_OP_EXPAND] = EMIT(expand),
    [NOE_OP_RESIZE] = EMIT(resize),
};

static noe_status check_size(const noe_cu_plan *p, uint32_t node, noe_error *err)
{
    int64_t n = noe_shape_elements(&p->g->nodes[node].types[0].shape);
    return n <= INT32_MAX ? NOE_OK
                          : noe_fail(err, NOE_ERR_UNSUPPORTED,
                                     "node %u has %lld elements, more than our kernels "
                                     "count",
                                     node, (long long)n);
}

static noe_status plan_group(noe_cu_plan *p, uint32_t last, noe_error *err)
{
    noe_fusion f;
    noe_fusion_describe(p->g, p->group, last, &f);
    const noe_node *n = &p->g->nodes[last];
    p->node = last;
    for (int k = 0; k < f.n_operands; k++)
        NOE_TRY(check_size(p, f.operands[k].node, err));
    NOE_TRY(check_size(p, last, err));
    if (noe_shape_elements(&n->types[0].shape) == 0) {
        noe_cu_make(p, last, NOE_CU_PLAIN);
        return NOE_OK;
    }
    noe_cu_emitter *emit = emitters[p->g->nodes[f.anchor].op];
    if (!emit)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "node %u: no kernel for %s", f.anchor,
                        noe_op_get(p->g->nodes[f.anchor].op)->name);
    return emit(p, &f, err);
}

static void add_input(noe_cu_plan *p, uint32_t node)
{
    const noe_shape *s = &p->g->nodes[node].types[0].shape;
    uint32_t number = p->n_inputs++;
    p->input_buffers[number] = NOE_CU_NONE;
    if (!p->live[node])
        return;
    noe_cu_order order =
        p->free_layout && noe_cu_may_be_last(s) ? p->prefer : NOE_CU_PLAIN;
    uint32_t buffer = noe_cu_new_buffer(p, NOE_CU_INPUT, (size_t)noe_shape_elements(s));
    p->input_buffers[number] = buffer;
    noe_cu_set_value(p, node, order, buffer);
}

/* Outputs stay until the end; those that are fetched, in C order. */
static noe_status plan_outputs(noe_cu_plan *p, noe_error *err)
{
    for (uint32_t k = 0; k < p->g->n_outputs; k++) {
        noe_ref r = p->g->outputs[k].ref;
        uint32_t buffer;
        p->node = r.node;
        if (p->free_layout && p->g->nodes[r.node].is_weight)
            continue;
        noe_cu_order order = p->free_layout ? noe_cu_order_of(p, r) : NOE_CU_PLAIN;
        if (noe_shape_elements(noe_cu_shape(p, r)) == 0)
            order = NOE_CU_PLAIN;
        NOE_TRY(noe_cu_get(p, r, order, &buffer, err));
        if (p->buffers[buffer].first == NOE_CU_NONE)
            p->buffers[buffer].first = 0;
        p->buffers[buffer].end = UINT32_MAX;
    }
    return NOE_OK;
}

bool noe_cu_has_images(const noe_graph *g, const uint8_t *live)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        if (live[i] && n->op < NOE_OP_COUNT && !n->is_weight &&
            noe_cu_may_be_last(&n->types[0].shape))
            return true;
    }
    return false;
}

noe_status noe_cu_plan_graph(noe_cu_plan *p, noe_cu_device *d, const noe_graph *g,
                             noe_cu_order prefer, bool free_layout, noe_error *err)
{
    *p = (noe_cu_plan){
        .device = d, .g = g, .prefer = prefer, .free_layout = free_layout};
    p->live = noe_calloc(g->n_nodes + 1, sizeof *p->live);
    p->uses = noe_calloc(g->n_nodes + 1, sizeof *p->uses);
    p->group = noe_calloc(g->n_nodes + 1, sizeof *p->group);
    p->values = noe_calloc(g->n_nodes + 1, sizeof *p->values);
    p->input_buffers = noe_calloc(g->n_nodes + 1, sizeof *p->input_buffers);
    noe_graph_mark_live(g, p->live);
    noe_graph_count_uses(g, p->live, p->uses);
    NOE_TRY(noe_check_runnable(g, p->live, err));
    noe_fuse(g, p->live, p->uses, p->group);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_INPUT)
            add_input(p, i);
        if (p->group[i] == i)
            NOE_TRY(plan_group(p, i, err));
    }
    return plan_outputs(p, err);
}

static void clear_step(noe_cu_api *api, noe_cu_step *s)
{
    if (s->dnn)
        noe_cu_dnn_clear(api, s->dnn);
    if (!s->product)
        return;
    for (int i = 0; i < 4; i++) {
        if (s->product->layout[i])
            api->cublasLtMatrixLayoutDestroy(s->product->layout[i]);
    }
    if (s->product->desc)
        api->cublasLtMatmulDescDestroy(s->product->desc);
}

void noe_cu_plan_clear(noe_cu_plan *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        clear_step(&p->device->api, &p->steps[i]);
    free(p->steps);
    free(p->buffers);
    free(p->live);
    free(p->uses);
    free(p->group);
    free(p->values);
    free(p->input_buffers);
    noe_arena_clear(&p->scratch);
    noe_arena_clear(&p->arena);
    p->n_steps = 0;
}
