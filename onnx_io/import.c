/* SPDX-License-Identifier: Apache-2.0
 *
 * From the checked model to the graph of the algebra, node by node in file order. A
 * node whose getter gives up becomes an opaque node with all its inputs, the captures
 * of its bodies among them, and the reason is kept.
 */
#include "onnx_io/get.h"
#include "onnx_io/typing.h"

/* ---- values that no node makes ---- */

static void import_inputs(noe_onnx_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        noe_onnx_value *v = &m->values[i];
        if (v->kind != NOE_VALUE_INPUT)
            continue;
        uint32_t leaf = noe_pool_add_leaf(m->pool, v->name, &v->type, NULL, 0, NULL);
        v->ref = noe_graph_leaf(m->graph, NOE_OP_INPUT, leaf);
    }
}

/* Initializers of inputs are no constants, but what the input is if nobody sets it. */
static void import_defaults(noe_onnx_model *m)
{
    for (uint32_t i = 0; i < m->n_initializers; i++) {
        const noe_onnx_tensor *t = &m->initializers[i];
        const char *name = t->proto->name ? t->proto->name : "";
        uint32_t value = noe_onnx_find_value(m, name);
        if (value == NOE_NO_VALUE || m->values[value].kind != NOE_VALUE_INPUT ||
            !t->data)
            continue;
        const noe_node *n = noe_graph_node(m->graph, m->values[value].ref.node);
        if (noe_type_eq(&n->types[0], &t->type))
            noe_pool_set_default(m->pool, n->leaf, t->data, t->bytes);
    }
}

static void import_initializers(noe_onnx_model *m)
{
    const noe_onnx_tensor none = {.type.shape.rank = NOE_RANK_UNKNOWN};
    for (uint32_t i = 0; i < m->n_values; i++) {
        noe_onnx_value *v = &m->values[i];
        if (v->kind != NOE_VALUE_INITIALIZER && v->kind != NOE_VALUE_SPARSE)
            continue;
        bool is_sparse = v->kind == NOE_VALUE_SPARSE;
        const noe_onnx_tensor *t = is_sparse ? &none : &m->initializers[v->index];
        uint32_t leaf =
            noe_pool_add_leaf(m->pool, v->name, &t->type, t->data, t->bytes, NULL);
        v->type = t->type;
        v->ref = noe_graph_leaf(m->graph, NOE_OP_WEIGHT, leaf);
        v->ints = noe_onnx_tensor_ints(&m->arena, t);
    }
}

/* ---- declared types ---- */

static noe_status declare(noe_onnx_model *m, const Onnx__ValueInfoProto *info,
                          noe_error *err)
{
    noe_type type;
    const char *name = info->name ? info->name : "";
    noe_status status = noe_onnx_read_type(m, info->type, &type, err);
    if (status != NOE_OK) {
        noe_error_prefix(err, "value info '%s': ", name);
        return status;
    }
    uint32_t value = noe_onnx_find_value(m, name);
    if (value != NOE_NO_VALUE && m->values[value].kind == NOE_VALUE_OUTPUT)
        m->values[value].type = type;
    return NOE_OK;
}

static noe_status declare_types(noe_onnx_model *m, noe_error *err)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        NOE_TRY(declare(m, m->outputs[i], err));
    for (uint32_t i = 0; i < m->n_value_infos; i++)
        NOE_TRY(declare(m, m->value_infos[i], err));
    return NOE_OK;
}

/* ---- nodes ---- */

static bool is_function(const noe_onnx_model *m, const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < m->proto->n_functions; i++) {
        const Onnx__FunctionProto *f = m->proto->functions[i];
        if (noe_onnx_is_standard(f->domain) && f->name &&
            strcmp(f->name, n->op_type) == 0)
            return true;
    }
    return false;
}

/* Writing the node back needs every input to have a role. */
static const char *check_roles(noe_getting *g)
{
    const noe_onnx_node *n = g->node;
    for (size_t i = 0; n->kind == NOE_NODE_ALGEBRA && i < n->proto->n_input; i++) {
        if (n->in[i] != NOE_NO_VALUE && n->role[i] == NOE_SLOT_UNUSED)
            return noe_get_why(g, "input %zu is not understood", i);
    }
    return NULL;
}

static const char *get(noe_getting *g)
{
    const Onnx__NodeProto *n = g->node->proto;
    long long opset = g->m->opset;
    if (!noe_onnx_is_standard(n->domain))
        return noe_get_why(g, "operators of domain %s are not in the algebra",
                           n->domain);
    if (is_function(g->m, n))
        return noe_get_why(g, "%s is a function of the model", n->op_type);
    noe_getter *getter = noe_onnx_find_getter(n->op_type, &g->op);
    if (!getter)
        return noe_get_why(g, "operator %s is not in the algebra", n->op_type);
    if (opset < NOE_ONNX_MIN_OPSET || opset > NOE_ONNX_MAX_OPSET)
        return noe_get_why(g, "opset %lld is not known, only %d to %d", opset,
                           NOE_ONNX_MIN_OPSET, NOE_ONNX_MAX_OPSET);
    NOE_GET(getter(g));
    return check_roles(g);
}

static void collect_inputs(const noe_onnx_model *m, const noe_onnx_node *n,
                           noe_ref *inputs)
{
    size_t n_in = n->proto->n_input;
    for (size_t i = 0; i < n_in; i++)
        inputs[i] = n->in[i] == NOE_NO_VALUE ? NOE_REF_NONE : m->values[n->in[i]].ref;
    for (uint32_t i = 0; i < n->n_captured; i++)
        inputs[n_in + i] = m->values[n->captured[i]].ref;
}

static void import_opaque(noe_onnx_model *m, uint32_t k)
{
    noe_onnx_node *n = &m->nodes[k];
    noe_arena_mark mark = noe_arena_save(&m->scratch);
    uint32_t n_in = (uint32_t)n->proto->n_input + n->n_captured;
    uint32_t n_out = (uint32_t)n->proto->n_output;
    noe_ref *inputs = NOE_NEW_N(&m->scratch, noe_ref, n_in);
    noe_type *types = NOE_NEW_N(&m->scratch, noe_type, n_out);
    collect_inputs(m, n, inputs);
    for (uint32_t i = 0; i < n_out; i++) {
        types[i].shape.rank = NOE_RANK_UNKNOWN;
        if (n->out[i] != NOE_NO_VALUE)
            types[i] = m->values[n->out[i]].type;
    }
    noe_ref r = noe_graph_add_opaque(m->graph, k, inputs, n_in, types, n_out);
    noe_graph_set_origin(m->graph, r.node, k + 1);
    for (uint32_t i = 0; i < n_out; i++) {
        if (n->out[i] != NOE_NO_VALUE)
            m->values[n->out[i]].ref = (noe_ref){r.node, i};
    }
    if (n_out > 0)
        noe_graph_set_name(m->graph, r.node, n->proto->output[0]);
    noe_arena_release(&m->scratch, mark);
}

/* What was declared of the outputs, before a getter says more. */
static noe_type *keep_types(noe_onnx_model *m, const noe_onnx_node *n)
{
    size_t n_out = m->over_primes ? n->proto->n_output : 0;
    noe_type *kept = NOE_NEW_N(&m->arena, noe_type, n_out);
    for (size_t i = 0; i < n_out; i++) {
        if (n->out[i] != NOE_NO_VALUE)
            kept[i] = m->values[n->out[i]].type;
    }
    return kept;
}

static void restore_types(noe_onnx_model *m, const noe_onnx_node *n,
                          const noe_type *kept)
{
    for (size_t i = 0; i < n->proto->n_output; i++) {
        if (n->out[i] == NOE_NO_VALUE)
            continue;
        m->values[n->out[i]].type = kept[i];
        m->values[n->out[i]].ints = NULL;
    }
}

/* Operators of the algebra on other element types are opaque, but their output types
 * follow as ever. The core nodes made for that stay unused. */
static void type_opaque(noe_onnx_model *m, noe_getting *g)
{
    noe_onnx_node *n = g->node;
    if (n->proto->n_output == 0 || n->out[0] == NOE_NO_VALUE ||
        !noe_onnx_is_standard(n->proto->domain) || is_function(m, n->proto))
        return;
    if (!m->over_primes || noe_onnx_types_open(m, n)) {
        m->values[n->out[0]].ints = noe_onnx_eval_ints(m, n);
        noe_onnx_type_outputs(m, n);
        noe_onnx_split_ints(m, n);
    }
    if (noe_shape_is_static(&m->values[n->out[0]].type.shape))
        return;
    noe_type *declared = keep_types(m, n);
    g->only_type = true;
    g->done = NOE_REF_NONE;
    if (!get(g) && m->over_primes && !noe_onnx_typed_open(m, n, g->done))
        restore_types(m, n, declared);
}

static void import_node(noe_onnx_model *m, uint32_t k)
{
    noe_getting g = {.m = m, .node = &m->nodes[k], .index = k};
    noe_type *declared = keep_types(m, &m->nodes[k]);
    const char *why = get(&g);
    if (!why && m->over_primes) {
        why = noe_onnx_refuse_open(m, g.node);
        if (why)
            restore_types(m, g.node, declared);
    }
    if (!why)
        return;
    type_opaque(m, &g);
    g.node->why = why;
    g.node->kind = NOE_NODE_OPAQUE;
    g.node->op = NOE_OP_OPAQUE;
    import_opaque(m, k);
}

noe_status noe_onnx_import(noe_onnx_model *m, noe_error *err)
{
    m->pool = noe_pool_new();
    m->graph = noe_graph_new(m->pool);
    if (m->over_primes)
        noe_pool_set_open(m->pool, m->open);
    NOE_TRY(declare_types(m, err));
    import_inputs(m);
    import_defaults(m);
    import_initializers(m);
    for (uint32_t k = 0; k < m->n_nodes; k++)
        import_node(m, k);
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const char *name = m->outputs[i]->name;
        noe_graph_add_output(m->graph, m->values[noe_onnx_find_value(m, name)].ref,
                             name);
    }
    noe_arena_clear(&m->scratch);
    return NOE_OK;
}
