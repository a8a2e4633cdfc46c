/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that stems from no file, as a model: a shell with the same inputs and outputs
 * and an unknown operator between them is loaded, and its graph replaced.
 */
#include "core/definition.h"
#include "onnx_io/model.h"
#include <stdio.h>
#include <stdlib.h>

#define SHELL_IR     8
#define SHELL_DOMAIN "noether.shell"

static void declare(noe_arena *a, const noe_graph *g, Onnx__GraphProto *p)
{
    p->input = NOE_NEW_N(a, Onnx__ValueInfoProto *, g->n_nodes + 1);
    p->output = NOE_NEW_N(a, Onnx__ValueInfoProto *, g->n_outputs + 1);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_INPUT) {
            p->input[p->n_input] = noe_onnx_value_info(
                a, noe_arena_printf(a, "x%zu", p->n_input), g->nodes[i].types);
            p->n_input++;
        }
    }
    for (; p->n_output < g->n_outputs; p->n_output++)
        p->output[p->n_output] =
            noe_onnx_value_info(a, noe_arena_printf(a, "y%zu", p->n_output),
                                noe_graph_type(g, g->outputs[p->n_output].ref));
}

static noe_status load_shell(const noe_graph *g, int opset, noe_onnx_model **m,
                             noe_error *err)
{
    noe_arena a = {0};
    noe_env quiet = {.seed = 1, .n_threads = 1};
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__NodeProto node, *nodes[1] = {&node};
    Onnx__OperatorSetIdProto set[2], *sets[2] = {&set[0], &set[1]};
    char domain[] = SHELL_DOMAIN, op_type[] = "Shell", name[] = "graph", none[] = "";
    onnx__model_proto__init(&model);
    onnx__graph_proto__init(&graph);
    onnx__node_proto__init(&node);
    for (int i = 0; i < 2; i++) {
        onnx__operator_set_id_proto__init(&set[i]);
        set[i].domain = i ? domain : none;
        set[i].has_version = 1;
        set[i].version = i ? 1 : opset;
    }
    declare(&a, g, &graph);
    node.op_type = op_type;
    node.domain = domain;
    node.n_output = graph.n_output;
    node.output = NOE_NEW_N(&a, char *, graph.n_output + 1);
    for (size_t i = 0; i < graph.n_output; i++)
        node.output[i] = graph.output[i]->name;
    graph.name = name;
    graph.n_node = 1;
    graph.node = nodes;
    model.has_ir_version = 1;
    model.ir_version = SHELL_IR;
    model.graph = &graph;
    model.n_opset_import = 2;
    model.opset_import = sets;
    size_t len = onnx__model_proto__get_packed_size(&model);
    uint8_t *data = noe_malloc(len + 1);
    onnx__model_proto__pack(&model, data);
    noe_status status = noe_onnx_load_memory(data, len, NULL, &quiet, m, err);
    free(data);
    noe_arena_clear(&a);
    return status;
}

static noe_ref shell_input(const noe_onnx_model *m, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "x%u", number);
    return m->values[noe_onnx_find_value(m, name)].ref;
}

/* Zeros, in the model's memory. */
static const void *some_data(const noe_onnx_model *m, const noe_type *type,
                             size_t *bytes)
{
    *bytes = (size_t)noe_shape_elements(&type->shape) * noe_dtype_bytes(type->dtype);
    return noe_arena_zalloc(noe_pool_arena(m->pool), *bytes + 1);
}

static noe_status copy_node(const noe_onnx_model *m, noe_graph *dst, const noe_graph *g,
                            uint32_t i, noe_ref *map, uint32_t *n_inputs,
                            noe_error *err)
{
    const noe_node *n = &g->nodes[i];
    noe_ref inputs[NOE_MAX_INPUTS];
    if (n->op == NOE_OP_INPUT) {
        noe_ref in_shell = shell_input(m, (*n_inputs)++);
        map[i] = noe_graph_leaf(dst, n->op, m->graph->nodes[in_shell.node].leaf);
        return NOE_OK;
    }
    if (n->op == NOE_OP_WEIGHT) {
        const noe_leaf *l = noe_graph_leaf_of(g, i);
        const void *data = l->data;
        size_t bytes = l->data_bytes;
        if (!data)
            data = some_data(m, &l->type, &bytes);
        map[i] = noe_graph_leaf(
            dst, n->op,
            noe_pool_add_leaf(dst->pool, l->name, &l->type, data, bytes, NULL));
        return NOE_OK;
    }
    if (n->op >= NOE_OP_COUNT)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "node %u: an operator outside the algebra cannot be encoded",
                        i);
    for (uint32_t k = 0; k < n->n_inputs; k++)
        inputs[k] = map[noe_graph_inputs(g, i)[k].node];
    return noe_graph_add(dst, n->op, n->params, inputs, (int)n->n_inputs, &map[i], err);
}

static noe_op no_origin(void *ctx, uint32_t origin)
{
    (void)ctx;
    (void)origin;
    return NOE_OP_OPAQUE;
}

static noe_status copy_graph(const noe_onnx_model *m, const noe_graph *g,
                             noe_graph **out, noe_error *err)
{
    noe_graph *dst = noe_graph_new(m->pool), *folded = NULL;
    noe_ref *map = noe_malloc((g->n_nodes + 1) * sizeof *map);
    uint32_t n_inputs = 0;
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < g->n_nodes && status == NOE_OK; i++)
        status = copy_node(m, dst, g, i, map, &n_inputs, err);
    for (uint32_t i = 0; i < g->n_outputs && status == NOE_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%u", i);
        noe_graph_add_output(dst, map[g->outputs[i].ref.node],
                             noe_pool_name(m->pool, name));
    }
    free(map);
    if (status == NOE_OK)
        status = noe_graph_fold(dst, no_origin, NULL, &folded, err);
    noe_graph_free(dst);
    *out = folded;
    return status;
}

noe_status noe_onnx_encode(const noe_graph *g, int opset, char **data, size_t *len,
                           noe_error *err)
{
    noe_onnx_model *m;
    noe_graph *copy;
    NOE_TRY(load_shell(g, opset, &m, err));
    noe_status status = copy_graph(m, g, &copy, err);
    if (status == NOE_OK)
        status = noe_onnx_serialize(m, copy, data, len, err);
    noe_graph_free(copy);
    noe_onnx_free(m);
    return status;
}
