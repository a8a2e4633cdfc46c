/* SPDX-License-Identifier: Apache-2.0
 *
 * Small questions about a loaded model.
 */
#include "onnx_io/model.h"

uint32_t noe_onnx_find_value(const noe_onnx_model *m, const char *name)
{
    uint32_t value;
    return noe_names_find(&m->value_of, name, &value) ? value : NOE_NO_VALUE;
}

bool noe_onnx_is_standard(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

void noe_onnx_prefix_node(const noe_onnx_model *m, uint32_t node, noe_error *err)
{
    const Onnx__NodeProto *n = m->nodes[node].proto;
    const char *type = n->op_type ? n->op_type : "";
    if (n->name && *n->name)
        noe_error_prefix(err, "node %u (%s '%s'): ", node, type, n->name);
    else
        noe_error_prefix(err, "node %u (%s): ", node, type);
}

const Onnx__AttributeProto *noe_onnx_attr(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++) {
        if (n->attribute[i]->name && strcmp(n->attribute[i]->name, name) == 0)
            return n->attribute[i];
    }
    return NULL;
}

int64_t noe_onnx_attr_int(const Onnx__NodeProto *n, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(n, name);
    return a && a->has_i ? a->i : otherwise;
}

double noe_onnx_attr_float(const Onnx__NodeProto *n, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(n, name);
    return a && a->has_f ? (double)a->f : otherwise;
}

const noe_graph *noe_onnx_graph(const noe_onnx_model *m)
{
    return m->graph;
}

noe_pool *noe_onnx_pool(const noe_onnx_model *m)
{
    return m->pool;
}

const void *noe_onnx_bytes(const noe_onnx_model *m, size_t *len)
{
    *len = m->bytes.len;
    return m->bytes.at;
}

bool noe_onnx_is_self_contained(const noe_onnx_model *m)
{
    for (uint32_t i = 0; i < m->n_initializers; i++) {
        if (m->initializers[i].is_external)
            return false;
    }
    return true;
}

uint32_t noe_onnx_n_defaults(const noe_onnx_model *m)
{
    return m->n_defaults;
}

static const noe_onnx_node *node_of(const noe_onnx_model *m, uint32_t origin)
{
    return origin > 0 && origin <= m->n_nodes ? &m->nodes[origin - 1] : NULL;
}

noe_op noe_onnx_origin_op(const noe_onnx_model *m, uint32_t origin)
{
    const noe_onnx_node *n = node_of(m, origin);
    return n ? n->op : NOE_OP_OPAQUE;
}

const char *noe_onnx_why_opaque(const noe_onnx_model *m, uint32_t origin)
{
    const noe_onnx_node *n = node_of(m, origin);
    return n ? n->why : "";
}

const char *noe_onnx_op_type(const noe_onnx_model *m, uint32_t origin)
{
    const noe_onnx_node *n = node_of(m, origin);
    return n ? n->proto->op_type : "";
}
