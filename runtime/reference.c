/* SPDX-License-Identifier: Apache-2.0
 *
 * Backend "reference": every node by noe_eval_f32, one after the other, in C order.
 *
 * The oracle for other backends, and what runs where no other can. It takes memory when
 * a value is computed and gives it back after the last use, so a run needs as much as
 * the widest cut of the graph. There is no fusion and one thread whatever is asked for.
 * Layouts are always C order and weights stay where they are: free_layout only makes
 * the weights random, so that graphs without weight data can be timed, and cold_weights
 * means nothing here.
 */
#include "runtime/backend.h"
#include "runtime/measure.h"
#include "core/tensor.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct reference_executor {
    noe_executor base;
    noe_graph *g;
    noe_arena weights;
    uint32_t *last_use; /* of node i: the node that may free it, UINT32_MAX: kept */
    float **value;      /* of node i */
    bool *owned;        /* value[i] is freed by us during a run */
    uint8_t *live;
    uint32_t n_inputs;
    bool only_timed;      /* weights are random */
    float **timed_inputs; /* made when first needed */
    float **timed_outputs;
} reference_executor;

static size_t elements_of(const noe_graph *g, uint32_t i)
{
    return (size_t)noe_shape_elements(&g->nodes[i].types[0].shape);
}

static noe_status weight_data(reference_executor *e, uint32_t i, noe_error *err)
{
    if (!e->only_timed)
        return noe_weight_value(e->g, (noe_ref){i, 0}, &e->weights, &e->value[i], err);
    size_t n = elements_of(e->g, i);
    e->value[i] = noe_arena_alloc(&e->weights, (n + 1) * sizeof(float));
    noe_fill_random(e->value[i], n, i);
    return NOE_OK;
}

static noe_status compute_weights(reference_executor *e, noe_error *err)
{
    const noe_graph *g = e->g;
    uint8_t *needed = noe_calloc(g->n_nodes + 1, 1);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t k = 0; e->live[i] && k < g->nodes[i].n_inputs; k++)
            needed[noe_graph_inputs(g, i)[k].node] |= !g->nodes[i].is_weight;
    }
    for (uint32_t k = 0; k < g->n_outputs; k++)
        needed[g->outputs[k].ref.node] = 1;
    noe_status s = NOE_OK;
    for (uint32_t i = 0; i < g->n_nodes && s == NOE_OK; i++) {
        if (needed[i] && g->nodes[i].is_weight)
            s = weight_data(e, i, err);
    }
    free(needed);
    return s;
}

/* The last user of a value frees it; outputs, inputs and weights are not freed. */
static void find_last_uses(reference_executor *e)
{
    const noe_graph *g = e->g;
    memset(e->last_use, 0xff, g->n_nodes * sizeof *e->last_use);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        e->owned[i] =
            e->live[i] && g->nodes[i].op < NOE_OP_COUNT && !g->nodes[i].is_weight;
        e->base.n_calls += e->owned[i];
        e->n_inputs += g->nodes[i].op == NOE_OP_INPUT;
        for (uint32_t k = 0; e->live[i] && k < g->nodes[i].n_inputs; k++)
            e->last_use[noe_graph_inputs(g, i)[k].node] = i;
    }
    for (uint32_t k = 0; k < g->n_outputs; k++)
        e->last_use[g->outputs[k].ref.node] = UINT32_MAX;
}

static void compute_node(reference_executor *e, uint32_t i)
{
    const noe_graph *g = e->g;
    const noe_node *n = &g->nodes[i];
    noe_tensor_f32 in[NOE_MAX_INPUTS], out;
    NOE_ASSERT(n->n_inputs <= NOE_MAX_INPUTS);
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        uint32_t from = noe_graph_inputs(g, i)[k].node;
        in[k] = (noe_tensor_f32){g->nodes[from].types[0].shape, e->value[from]};
    }
    e->value[i] = noe_malloc((elements_of(g, i) + 1) * sizeof(float));
    out = (noe_tensor_f32){n->types[0].shape, e->value[i]};
    noe_eval_f32(n->op, n->params, in, (int)n->n_inputs, &out);
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        uint32_t from = noe_graph_inputs(g, i)[k].node;
        if (e->owned[from] && e->last_use[from] == i) {
            free(e->value[from]);
            e->value[from] = NULL;
        }
    }
}

static void free_values(reference_executor *e)
{
    for (uint32_t i = 0; i < e->g->n_nodes; i++) {
        if (e->owned[i]) {
            free(e->value[i]);
            e->value[i] = NULL;
        }
    }
}

static noe_status run_once(reference_executor *e, const float *const *inputs,
                           float *const *outputs, noe_error *err)
{
    const noe_graph *g = e->g;
    noe_status s = NOE_OK;
    uint32_t input = 0;
    for (uint32_t i = 0; i < g->n_nodes && s == NOE_OK; i++) {
        /* The evaluator only reads its inputs. */
        if (g->nodes[i].op == NOE_OP_INPUT)
            e->value[i] = (float *)(uintptr_t)inputs[input++];
        else if (e->owned[i])
            compute_node(e, i);
        if (noe_cancelled(e->base.backend->env))
            s = noe_fail(err, NOE_ERR_CANCELLED, "interrupted at node %u", i);
    }
    for (uint32_t k = 0; k < g->n_outputs && s == NOE_OK; k++) {
        uint32_t i = g->outputs[k].ref.node;
        memcpy(outputs[k], e->value[i], elements_of(g, i) * sizeof(float));
    }
    free_values(e);
    return s;
}

static noe_status run(noe_executor *executor, const float *const *inputs,
                      float *const *outputs, noe_error *err)
{
    reference_executor *e = (reference_executor *)executor;
    if (e->only_timed)
        return noe_fail(err, NOE_ERR_ARG,
                        "a graph prepared with a free layout can only be timed");
    return run_once(e, inputs, outputs, err);
}

static void make_timed_buffers(reference_executor *e)
{
    const noe_graph *g = e->g;
    e->timed_inputs = noe_calloc(e->n_inputs + 1, sizeof *e->timed_inputs);
    e->timed_outputs = noe_calloc(g->n_outputs + 1, sizeof *e->timed_outputs);
    uint32_t input = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_INPUT)
            continue;
        float *data = noe_malloc((elements_of(g, i) + 1) * sizeof(float));
        noe_fill_random(data, elements_of(g, i), input);
        e->timed_inputs[input++] = data;
    }
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        size_t n = elements_of(g, g->outputs[k].ref.node);
        e->timed_outputs[k] = noe_malloc((n + 1) * sizeof(float));
    }
}

static noe_status repeat(noe_executor *executor, int n, noe_error *err)
{
    reference_executor *e = (reference_executor *)executor;
    if (!e->timed_inputs)
        make_timed_buffers(e);
    for (int i = 0; i < n; i++)
        NOE_TRY(
            run_once(e, (const float *const *)e->timed_inputs, e->timed_outputs, err));
    return NOE_OK;
}

static void release(noe_executor *executor)
{
    reference_executor *e = (reference_executor *)executor;
    if (!e)
        return;
    for (uint32_t k = 0; e->timed_inputs && k < e->n_inputs; k++)
        free(e->timed_inputs[k]);
    for (uint32_t k = 0; e->timed_outputs && k < e->g->n_outputs; k++)
        free(e->timed_outputs[k]);
    free(e->timed_inputs);
    free(e->timed_outputs);
    noe_arena_clear(&e->weights);
    free(e->last_use);
    free(e->value);
    free(e->owned);
    free(e->live);
    noe_graph_free(e->g);
    free(e);
}

static noe_status prepare(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err)
{
    *out = NULL;
    reference_executor *e = noe_calloc(1, sizeof *e);
    e->base = (noe_executor){.backend = b, .n_threads = 1};
    e->only_timed = options && options->free_layout;
    e->g = noe_graph_copy(g);
    e->live = noe_calloc(g->n_nodes + 1, 1);
    e->value = noe_calloc(g->n_nodes + 1, sizeof *e->value);
    e->owned = noe_calloc(g->n_nodes + 1, sizeof *e->owned);
    e->last_use = noe_calloc(g->n_nodes + 1, sizeof *e->last_use);
    noe_graph_mark_live(g, e->live);
    noe_status s = noe_check_runnable(g, e->live, err);
    if (s == NOE_OK)
        s = compute_weights(e, err);
    if (s == NOE_OK)
        find_last_uses(e);
    if (s != NOE_OK) {
        release(&e->base);
        return s;
    }
    *out = &e->base;
    return NOE_OK;
}

static bool supports(const noe_backend *b, const noe_graph *g, uint32_t node)
{
    (void)b;
    return g->nodes[node].op < NOE_OP_COUNT;
}

static void close_backend(noe_backend *b)
{
    if (!b)
        return;
    noe_measure_close(b);
    free(b);
}

static const noe_backend_vtable vtable = {
    .name = "reference",
    .supports = supports,
    .prepare = prepare,
    .run = run,
    .repeat = repeat,
    .time = noe_measure_executor,
    .release = release,
    .close = close_backend,
};

noe_status noe_reference_open(const noe_env *env, noe_backend **b, noe_error *err)
{
    (void)err;
    *b = noe_calloc(1, sizeof **b);
    (*b)->vt = &vtable;
    (*b)->env = env;
    char cpu[80];
    noe_cpu_model(cpu, sizeof cpu);
    snprintf((*b)->description, sizeof(*b)->description, "reference %s threads=1", cpu);
    return NOE_OK;
}
