/* SPDX-License-Identifier: Apache-2.0
 *
 * A written model seen with the eyes of its original: it is loaded as any file is, and
 * its graph is rebuilt in the original's pool. Inputs correspond by name, opaque nodes
 * by the name of their first output; a weight is the original's where name, type and
 * content are the same. What comes out can be compared with the original's graph value
 * by value, and whatever the writer did wrong is a difference.
 */
#include "onnx_io/model.h"
#include <stdlib.h>

typedef struct rereader {
    const noe_onnx_model *original;
    const noe_onnx_model *written;
    noe_graph *g;
    noe_ref *map; /* node of the written graph -> node of g */
} rereader;

static noe_status find_input(const rereader *r, const noe_node *n, uint32_t *leaf,
                             noe_error *err)
{
    const char *name = noe_pool_leaf(r->written->pool, n->leaf)->name;
    uint32_t value = noe_onnx_find_value(r->original, name);
    if (value == NOE_NO_VALUE || r->original->values[value].kind != NOE_VALUE_INPUT)
        return noe_fail(err, NOE_ERR_MISMATCH, "the written model has a new input '%s'",
                        name);
    *leaf = r->original->graph->nodes[r->original->values[value].ref.node].leaf;
    return NOE_OK;
}

/* The original's leaf of the same name and content, else a new one. */
static uint32_t find_weight(const rereader *r, const noe_node *n)
{
    const noe_leaf *l = noe_pool_leaf(r->written->pool, n->leaf);
    uint32_t value = noe_onnx_find_value(r->original, l->name);
    if (value != NOE_NO_VALUE && !noe_ref_is_none(r->original->values[value].ref)) {
        const noe_node *same =
            &r->original->graph->nodes[r->original->values[value].ref.node];
        if (same->op == NOE_OP_WEIGHT) {
            const noe_leaf *k = noe_pool_leaf(r->original->pool, same->leaf);
            if (k->hash == l->hash && noe_type_eq(&k->type, &l->type))
                return same->leaf;
        }
    }
    return noe_pool_add_leaf(r->original->pool, l->name, &l->type, l->data,
                             l->data_bytes, NULL);
}

static const char *first_output(const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < n->n_output; i++) {
        if (*n->output[i])
            return n->output[i];
    }
    return "";
}

static noe_status find_opaque(const rereader *r, const noe_node *n, uint32_t *number,
                              noe_error *err)
{
    const Onnx__NodeProto *p = r->written->nodes[n->leaf].proto;
    const char *name = first_output(p);
    uint32_t value = noe_onnx_find_value(r->original, name);
    noe_ref ref = value == NOE_NO_VALUE ? NOE_REF_NONE : r->original->values[value].ref;
    if (noe_ref_is_none(ref) || r->original->graph->nodes[ref.node].op != NOE_OP_OPAQUE)
        return noe_fail(err, NOE_ERR_MISMATCH,
                        "the written model has a new %s node for '%s'", p->op_type,
                        name);
    *number = r->original->graph->nodes[ref.node].leaf;
    return NOE_OK;
}

static noe_status rebuild_node(rereader *r, uint32_t i, noe_error *err)
{
    const noe_node *n = noe_graph_node(r->written->graph, i);
    const noe_ref *in = noe_graph_inputs(r->written->graph, i);
    uint32_t leaf = 0;
    noe_status status = NOE_OK;
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT) {
        if (n->op == NOE_OP_INPUT)
            NOE_TRY(find_input(r, n, &leaf, err));
        else
            leaf = find_weight(r, n);
        r->map[i] = noe_graph_leaf(r->g, n->op, leaf);
        return NOE_OK;
    }
    noe_ref *inputs = noe_malloc((n->n_inputs + 1) * sizeof *inputs);
    for (uint32_t k = 0; k < n->n_inputs; k++)
        inputs[k] = noe_ref_is_none(in[k])
                        ? in[k]
                        : (noe_ref){r->map[in[k].node].node,
                                    in[k].port ? in[k].port : r->map[in[k].node].port};
    if (n->op == NOE_OP_OPAQUE) {
        status = find_opaque(r, n, &leaf, err);
        if (status == NOE_OK)
            r->map[i] = noe_graph_add_opaque(r->g, leaf, inputs, n->n_inputs, n->types,
                                             n->n_outputs);
    } else {
        status = noe_graph_add(r->g, n->op, n->params, inputs, (int)n->n_inputs,
                               &r->map[i], err);
    }
    free(inputs);
    if (status == NOE_OK)
        noe_graph_set_name(r->g, r->map[i].node, n->name);
    return status;
}

static noe_status rebuild(rereader *r, noe_error *err)
{
    const noe_graph *w = r->written->graph;
    for (uint32_t i = 0; i < w->n_nodes; i++)
        NOE_TRY(rebuild_node(r, i, err));
    for (uint32_t i = 0; i < w->n_outputs; i++) {
        noe_ref from = w->outputs[i].ref, to = r->map[from.node];
        to.port = from.port ? from.port : to.port;
        noe_graph_add_output(r->g, to, w->outputs[i].name);
    }
    return NOE_OK;
}

noe_status noe_onnx_reread(const noe_onnx_model *m, char *data, size_t len,
                           noe_onnx_model **written, noe_graph **graph, noe_error *err)
{
    noe_onnx_options options = {.constant_initializers = m->constant_initializers,
                                .folder = m->folder,
                                .assumed_shapes = m->assumed_shapes,
                                .n_assumed_shapes = m->n_assumed_shapes,
                                .assumed_set = m->assumed_set,
                                .attempt = m->attempt};
    noe_status status =
        noe_onnx_take_memory(data, len, &options, &m->env, written, err);
    if (status != NOE_OK) {
        noe_error_prefix(err, "the written model cannot be read: ");
        return status;
    }
    rereader r = {m, *written, noe_graph_new(m->pool), NULL};
    r.map = noe_malloc(((*written)->graph->n_nodes + 1) * sizeof *r.map);
    status = rebuild(&r, err);
    free(r.map);
    if (status != NOE_OK) {
        noe_graph_free(r.g);
        noe_onnx_free(*written);
        *written = NULL;
        return status;
    }
    *graph = r.g;
    return NOE_OK;
}
