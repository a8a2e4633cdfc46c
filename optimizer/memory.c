/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/memory.h"
#include "optimizer/kernel.h"
#include <stdlib.h>

/* The node with whose kernel node i is done. */
static uint32_t time_of(const noe_kernels *k, uint32_t i)
{
    return k->group[i] == UINT32_MAX ? i : k->group[i];
}

static bool is_computed(const noe_kernels *k, uint32_t i)
{
    const noe_node *n = &k->g->nodes[i];
    return k->live[i] && !n->is_weight && n->op != NOE_OP_WEIGHT;
}

static uint64_t node_bytes(const noe_graph *g, uint32_t i)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < g->nodes[i].n_outputs; p++) {
        const noe_type *t = &g->nodes[i].types[p];
        int64_t elements = noe_shape_elements(&t->shape);
        bytes += elements > 0 ? (uint64_t)elements * noe_dtype_bytes(t->dtype) : 0;
    }
    return bytes;
}

/* last[i]: when the value of node i is used for the last time; the inputs of the model
 * are there from the start. */
static uint32_t *find_last_uses(const noe_kernels *k)
{
    const noe_graph *g = k->g;
    uint32_t *last = noe_calloc(g->n_nodes + 1, sizeof *last);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        last[i] = time_of(k, i);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t j = 0; is_computed(k, i) && j < g->nodes[i].n_inputs; j++) {
            if (!noe_ref_is_none(in[j]) && last[in[j].node] < time_of(k, i))
                last[in[j].node] = time_of(k, i);
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        last[g->outputs[i].ref.node] = g->n_nodes;
    return last;
}

/* A value that nobody outside its kernel sees. */
static bool is_inner(const noe_kernels *k, uint32_t i, const uint32_t *last)
{
    return k->group[i] != UINT32_MAX && k->group[i] != i && last[i] == k->group[i];
}

uint64_t noe_peak_memory(const noe_graph *g)
{
    noe_kernels k = {0};
    noe_kernels_find(&k, g);
    uint32_t *last = find_last_uses(&k);
    uint64_t *comes = noe_calloc((size_t)g->n_nodes + 2, sizeof *comes);
    uint64_t *goes = noe_calloc((size_t)g->n_nodes + 2, sizeof *goes);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!is_computed(&k, i) || is_inner(&k, i, last))
            continue;
        comes[g->nodes[i].op == NOE_OP_INPUT ? 0 : time_of(&k, i)] += node_bytes(g, i);
        goes[last[i]] += node_bytes(g, i);
    }
    uint64_t here = 0, peak = 0;
    for (uint32_t at = 0; at < g->n_nodes; at++) {
        here += comes[at];
        peak = here > peak ? here : peak;
        here -= goes[at];
    }
    peak += noe_weight_bytes(g, k.live);
    free(comes);
    free(goes);
    free(last);
    noe_kernels_clear(&k);
    return peak;
}
