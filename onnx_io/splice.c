/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of the result: those of the model, field by field, with the new row of
 * nodes in place of the old one, without initializers and value infos that nothing
 * needs any more, and with new initializers behind.
 */
#include "onnx_io/export.h"
#include <limits.h>
#include <stdlib.h>

/* Protobuf readers refuse messages that are larger. */
#define MAX_FILE_BYTES ((size_t)INT32_MAX)

/* Initializers go only if our rewriting made them useless. Those that are graph inputs
 * too belong to the interface, unless the user said that they are mere constants. */
static bool initializer_stays(const noe_exporter *x, uint32_t i)
{
    const char *name = x->m->initializers[i].proto->name;
    uint32_t v = noe_onnx_find_value(x->m, name);
    const noe_onnx_value *value = &x->m->values[v];
    bool is_interface = value->is_input && !x->m->constant_initializers;
    return is_interface || x->value_is_kept[v] || !value->is_used ||
           x->m->proto->n_training_info > 0;
}

/* Value infos of tensors that are gone go too. */
static bool is_defined(const noe_exporter *x, const char *name)
{
    uint32_t v = noe_onnx_find_value(x->m, name);
    if (v != NOE_NO_VALUE && x->m->values[v].kind == NOE_VALUE_INITIALIZER)
        return initializer_stays(x, x->m->values[v].index);
    return noe_names_has(&x->taken, name);
}

/* What ONNX Runtime maps must lie on a page; small tensors are read. */
#define PAGE_BYTES     4096
#define SMALL_ALIGN    64
#define MIN_DATA_BYTES 1024

/* Puts elements at the end of the data file; returns where. */
static size_t add_data(noe_exporter *x, noe_span elements)
{
    size_t align = elements.len >= PAGE_BYTES ? PAGE_BYTES : SMALL_ALIGN;
    size_t padding = (align - x->data.len % align) % align;
    noe_rope_add(&x->data, (noe_span){NULL, padding});
    size_t at = x->data.len;
    noe_rope_add(&x->data, elements);
    return at;
}

static Onnx__StringStringEntryProto *entry(noe_arena *a, const char *key,
                                           const char *value)
{
    Onnx__StringStringEntryProto *e = NOE_NEW(a, Onnx__StringStringEntryProto);
    onnx__string_string_entry_proto__init(e);
    e->key = noe_arena_strdup(a, key);
    e->value = noe_arena_strdup(a, value);
    return e;
}

void noe_export_tensor(noe_exporter *x, noe_rope *to, const Onnx__TensorProto *t,
                       noe_span elements, bool external)
{
    noe_arena *a = &x->arena;
    Onnx__TensorProto copy = *t;
    Onnx__StringStringEntryProto *entries[3];
    copy.n_float_data = copy.n_int32_data = copy.n_int64_data = 0;
    copy.n_double_data = copy.n_uint64_data = 0;
    copy.has_data_location = 0;
    copy.n_external_data = 0;
    copy.has_raw_data = 1;
    copy.raw_data = (ProtobufCBinaryData){elements.len, (uint8_t *)elements.at};
    if (external && x->data_file &&
        elements.len >= (t->n_external_data ? 1 : MIN_DATA_BYTES)) {
        entries[0] = entry(a, "location", x->data_file);
        entries[1] =
            entry(a, "offset", noe_arena_printf(a, "%zu", add_data(x, elements)));
        entries[2] = entry(a, "length", noe_arena_printf(a, "%zu", elements.len));
        copy.has_raw_data = 0;
        copy.raw_data = (ProtobufCBinaryData){0, NULL};
        copy.has_data_location = 1;
        copy.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        copy.n_external_data = 3;
        copy.external_data = entries;
    }
    noe_rope_add_message(to, NOE_GRAPH_INITIALIZER, &copy.base);
}

static void add_initializer(noe_exporter *x, noe_rope *graph, uint32_t i,
                            const noe_wire_field *f)
{
    const noe_onnx_tensor *t = &x->m->initializers[i];
    if (t->is_external && x->inline_external)
        noe_export_tensor(x, graph, t->proto, t->external, true);
    else if (!t->is_external && x->externalize && t->data && t->bytes >= MIN_DATA_BYTES)
        noe_export_tensor(x, graph, t->proto,
                          (noe_span){(const uint8_t *)t->data, t->bytes}, true);
    else
        noe_rope_add(graph, f->whole);
}

static bool input_stays(const noe_exporter *x, uint32_t i)
{
    const noe_onnx_value *value = &x->m->values[i]; /* inputs are the first values */
    return value->kind != NOE_VALUE_INITIALIZER || initializer_stays(x, value->index);
}

/* A graph input with the shape that the user gave it. */
static void add_pinned_input(noe_exporter *x, noe_rope *graph, uint32_t i)
{
    const noe_shape *s = &x->m->written[i].shape;
    Onnx__ValueInfoProto info = *x->m->inputs[i];
    Onnx__TypeProto type = *info.type;
    Onnx__TypeProto__Tensor tensor = *type.tensor_type;
    Onnx__TensorShapeProto shape;
    onnx__tensor_shape_proto__init(&shape);
    shape.n_dim = (size_t)s->rank;
    shape.dim = NOE_NEW_N(&x->arena, Onnx__TensorShapeProto__Dimension *, s->rank);
    for (int k = 0; k < s->rank; k++) {
        shape.dim[k] = NOE_NEW(&x->arena, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(shape.dim[k]);
        if (s->dim[k] >= 0) {
            shape.dim[k]->has_dim_value = 1;
            shape.dim[k]->dim_value = s->dim[k];
        } else {
            *shape.dim[k] = *tensor.shape->dim[k];
        }
    }
    tensor.shape = &shape;
    type.tensor_type = &tensor;
    info.type = &type;
    noe_rope_add_message(graph, NOE_GRAPH_INPUT, &info.base);
}

static void add_input(noe_exporter *x, noe_rope *graph, uint32_t i,
                      const noe_wire_field *f)
{
    if (x->m->is_written[i])
        add_pinned_input(x, graph, i);
    else
        noe_rope_add(graph, f->whole);
}

/* ---- declarations of new tensors ---- */

/* Tensors between new nodes are declared where the model declares such: whoever looks
 * at it sees shapes all over. */
static void declare_new(noe_exporter *x, noe_rope *graph)
{
    noe_names declared = {0};
    for (uint32_t i = 0; i < x->m->n_value_infos; i++)
        noe_names_set(&declared,
                      x->m->value_infos[i]->name ? x->m->value_infos[i]->name : "", 0);
    for (uint32_t i = 0; i < x->m->n_outputs; i++)
        noe_names_set(&declared, x->m->outputs[i]->name, 0);
    const noe_open_sizes *open = noe_pool_open(x->m->pool);
    /* rewriting makes nodes of static types only, or over primes for open sizes */
    for (uint32_t i = 0; i < x->g->n_nodes && x->m->n_value_infos > 0; i++) {
        const noe_plan *p = &x->plans[i];
        const noe_node *n = noe_graph_node(x->g, i);
        bool is_new = p->is_needed && p->kind == NOE_PLAN_FRESH &&
                      n->op != NOE_OP_OPAQUE &&
                      !(open && noe_open_shape_has(open, &n->types[0].shape));
        if (is_new && noe_names_add(&declared, p->names[0], 0))
            noe_rope_add_message(
                graph, NOE_GRAPH_VALUE_INFO,
                &noe_onnx_value_info(&x->arena, p->names[0], &n->types[0])->base);
    }
    noe_names_clear(&declared);
}

/* The main graph, field by field. */
static void splice_graph(noe_exporter *x, noe_rope *graph)
{
    uint32_t initializer = 0, input = 0, info = 0;
    bool nodes_written = false;
    for (size_t i = 0; i < x->m->n_graph_fields; i++) {
        const noe_wire_field *f = &x->m->graph_fields[i];
        if (f->number == NOE_GRAPH_NODE) {
            if (!nodes_written)
                noe_rope_add_rope(graph, &x->nodes);
            nodes_written = true;
        } else if (f->number == NOE_GRAPH_INITIALIZER) {
            if (initializer_stays(x, initializer))
                add_initializer(x, graph, initializer, f);
            initializer++;
        } else if (f->number == NOE_GRAPH_INPUT) {
            if (input_stays(x, input))
                add_input(x, graph, input, f);
            input++;
        } else if (f->number == NOE_GRAPH_VALUE_INFO) {
            const char *name = x->m->value_infos[info++]->name;
            if (name && is_defined(x, name))
                noe_rope_add(graph, f->whole);
        } else {
            noe_rope_add(graph, f->whole);
        }
    }
    if (!nodes_written)
        noe_rope_add_rope(graph, &x->nodes);
    noe_rope_add_rope(graph, &x->tensors);
    declare_new(x, graph);
}

noe_status noe_export_splice(noe_exporter *x, char **data, size_t *len)
{
    noe_rope graph = {.arena = &x->arena}, model = {.arena = &x->arena};
    splice_graph(x, &graph);
    for (size_t i = 0; i < x->m->n_model_fields; i++) {
        const noe_wire_field *f = &x->m->model_fields[i];
        if (f->number != NOE_MODEL_GRAPH) {
            noe_rope_add(&model, f->whole);
            continue;
        }
        noe_rope_add_header(&model, NOE_MODEL_GRAPH, graph.len);
        noe_rope_add_rope(&model, &graph);
    }
    noe_status status = NOE_OK;
    x->is_too_large = model.len > MAX_FILE_BYTES;
    if (x->is_too_large) {
        status = noe_fail(x->err, NOE_ERR_LIMIT,
                          "the result has %zu bytes, ONNX files are limited to %zu: "
                          "save it with weights in external files",
                          model.len, MAX_FILE_BYTES);
    } else {
        *len = model.len;
        *data = noe_malloc(model.len);
        noe_rope_copy(&model, *data);
    }
    noe_rope_clear(&graph);
    noe_rope_clear(&model);
    return status;
}

/* Tensors inside nodes stay where they are: a model with such external data can only be
 * saved beside it. */
static bool has_external(const Onnx__TensorProto *t)
{
    return t && t->has_data_location &&
           t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static bool graph_has_external(const Onnx__GraphProto *g);

/* Recursion is on the nesting of bodies, which noe_wire_check bounds. */
static bool node_has_external(const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];
        bool found = has_external(a->t) || (a->g && graph_has_external(a->g));
        for (size_t k = 0; k < a->n_tensors; k++)
            found = found || has_external(a->tensors[k]);
        for (size_t k = 0; k < a->n_graphs; k++)
            found = found || graph_has_external(a->graphs[k]);
        if (found)
            return true;
    }
    return false;
}

static bool graph_has_external(const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (has_external(g->initializer[i]))
            return true;
    }
    for (size_t i = 0; i < g->n_node; i++) {
        if (node_has_external(g->node[i]))
            return true;
    }
    return false;
}

noe_status noe_export_check_external(const noe_exporter *x)
{
    for (uint32_t k = 0; x->inline_external && k < x->m->n_nodes; k++) {
        if (node_has_external(x->m->nodes[k].proto))
            return noe_fail(x->err, NOE_ERR_UNSUPPORTED,
                            "node %u has external data inside: the result must be in "
                            "the folder of the model",
                            k);
    }
    return NOE_OK;
}
