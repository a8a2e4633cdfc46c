/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx_io/builder.h"
#include "onnx_io/model.h"
#include <stdlib.h>

/* Weights up to this size are shown to the importer when it looks at a node: operands
 * that it needs to know are never larger. */
#define MAX_SHOWN_BYTES 4096

typedef struct built_value {
    const char *name;
    noe_type type;
    noe_value_kind kind;
    bool is_read;
    const void *data; /* INITIALIZER */
    size_t bytes;
} built_value;

struct noe_builder {
    noe_arena arena;
    noe_names names; /* of values and nodes */
    built_value *values;
    uint32_t n_values, cap_values;
    Onnx__NodeProto **nodes;
    uint32_t n_nodes, cap_nodes;
    uint32_t *outputs; /* declared ones */
    const char **output_names;
    uint32_t n_outputs, cap_outputs, cap_output_names;
};

noe_builder *noe_builder_new(void)
{
    return noe_calloc(1, sizeof(noe_builder));
}

void noe_builder_free(noe_builder *b)
{
    if (!b)
        return;
    noe_names_clear(&b->names);
    free(b->values);
    free(b->nodes);
    free(b->outputs);
    free(b->output_names);
    noe_arena_clear(&b->arena);
    free(b);
}

/* ---- names and types ---- */

static noe_status take_name(noe_builder *b, const char *name, const char *what,
                            const char **taken, noe_error *err)
{
    uint32_t old;
    if (name && !*name)
        return noe_fail(err, NOE_ERR_ARG, "a name is empty");
    if (name && noe_names_find(&b->names, name, &old))
        return noe_fail(err, NOE_ERR_ARG, "the name '%s' is taken", name);
    if (name) {
        *taken = noe_arena_strdup(&b->arena, name);
    } else {
        uint32_t k = b->names.n;
        do
            *taken = noe_arena_printf(&b->arena, "%s_%u", what, k++);
        while (noe_names_find(&b->names, *taken, &old));
    }
    noe_names_add(&b->names, *taken, 0);
    return NOE_OK;
}

static noe_status check_type(const noe_type *type, noe_error *err)
{
    noe_buf b = {0};
    if (noe_dtype_bytes(type->dtype) != 0 && noe_shape_elements(&type->shape) >= 0)
        return NOE_OK;
    noe_type_print(&b, type);
    noe_status status = noe_fail(err, NOE_ERR_SHAPE,
                                 "%s: want a numeric element type and a shape of up to "
                                 "%lld elements",
                                 b.text, (long long)NOE_MAX_ELEMENTS);
    noe_buf_clear(&b);
    return status;
}

static uint32_t add_value(noe_builder *b, built_value v)
{
    NOE_PUSH(b->values, b->n_values, b->cap_values, v);
    return b->n_values - 1;
}

noe_status noe_builder_input(noe_builder *b, const char *name, const noe_type *type,
                             uint32_t *value, noe_error *err)
{
    const char *taken;
    NOE_TRY(check_type(type, err));
    NOE_TRY(take_name(b, name, "input", &taken, err));
    *value = add_value(b, (built_value){taken, *type, NOE_VALUE_INPUT, false, NULL, 0});
    return NOE_OK;
}

noe_status noe_builder_weight(noe_builder *b, const char *name, const noe_type *type,
                              const void *data, size_t bytes, uint32_t *value,
                              noe_error *err)
{
    const char *taken;
    NOE_TRY(check_type(type, err));
    size_t want =
        (size_t)noe_shape_elements(&type->shape) * noe_dtype_bytes(type->dtype);
    if (bytes != want)
        return noe_fail(err, NOE_ERR_ARG, "a weight has %zu bytes, its type wants %zu",
                        bytes, want);
    NOE_TRY(take_name(b, name, "weight", &taken, err));
    *value =
        add_value(b, (built_value){taken, *type, NOE_VALUE_INITIALIZER, false,
                                   noe_arena_memdup(&b->arena, data, bytes), bytes});
    return NOE_OK;
}

/* ---- messages ---- */

Onnx__ValueInfoProto *noe_onnx_value_info(noe_arena *a, const char *name,
                                          const noe_type *type)
{
    Onnx__ValueInfoProto *v = NOE_NEW(a, Onnx__ValueInfoProto);
    Onnx__TypeProto *t = NOE_NEW(a, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *tensor = NOE_NEW(a, Onnx__TypeProto__Tensor);
    Onnx__TensorShapeProto *shape = NOE_NEW(a, Onnx__TensorShapeProto);
    onnx__value_info_proto__init(v);
    onnx__type_proto__init(t);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    v->name = noe_arena_strdup(a, name);
    v->type = t;
    t->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = noe_dtype_to_onnx(type->dtype);
    tensor->shape = shape;
    shape->n_dim = (size_t)type->shape.rank;
    shape->dim = NOE_NEW_N(a, Onnx__TensorShapeProto__Dimension *, shape->n_dim + 1);
    for (size_t i = 0; i < shape->n_dim; i++) {
        shape->dim[i] = NOE_NEW(a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        shape->dim[i]->has_dim_value = 1;
        shape->dim[i]->dim_value = type->shape.dim[i];
    }
    return v;
}

static Onnx__TensorProto *tensor(noe_arena *a, const built_value *v)
{
    Onnx__TensorProto *t = NOE_NEW(a, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = noe_arena_strdup(a, v->name);
    t->has_data_type = 1;
    t->data_type = noe_dtype_to_onnx(v->type.dtype);
    t->n_dims = (size_t)v->type.shape.rank;
    t->dims = noe_arena_memdup(a, v->type.shape.dim, t->n_dims * sizeof *t->dims);
    t->has_raw_data = 1;
    t->raw_data = (ProtobufCBinaryData){v->bytes, (uint8_t *)v->data};
    return t;
}

/* A model of these parts. */
typedef struct parts {
    noe_arena arena;
    Onnx__GraphProto graph;
} parts;

static void start(parts *p, uint32_t n_values, uint32_t n_outputs)
{
    *p = (parts){0};
    onnx__graph_proto__init(&p->graph);
    p->graph.name = noe_arena_strdup(&p->arena, "noether");
    p->graph.input = NOE_NEW_N(&p->arena, Onnx__ValueInfoProto *, n_values + 1);
    p->graph.initializer = NOE_NEW_N(&p->arena, Onnx__TensorProto *, n_values + 1);
    p->graph.output = NOE_NEW_N(&p->arena, Onnx__ValueInfoProto *, n_outputs + 1);
}

static void add_leaf(parts *p, const built_value *v, bool with_data)
{
    if (with_data)
        p->graph.initializer[p->graph.n_initializer++] = tensor(&p->arena, v);
    else
        p->graph.input[p->graph.n_input++] =
            noe_onnx_value_info(&p->arena, v->name, &v->type);
}

static void pack(parts *p, char **data, size_t *len)
{
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto set, *sets[1] = {&set};
    char none[] = "", producer[] = "noether", version[] = NOE_VERSION;
    onnx__model_proto__init(&model);
    onnx__operator_set_id_proto__init(&set);
    set.domain = none;
    set.has_version = 1;
    set.version = NOE_BUILDER_OPSET;
    model.has_ir_version = 1;
    model.ir_version = NOE_BUILDER_IR;
    model.producer_name = producer;
    model.producer_version = version;
    model.graph = &p->graph;
    model.n_opset_import = 1;
    model.opset_import = sets;
    *len = onnx__model_proto__get_packed_size(&model);
    *data = noe_malloc(*len + 1);
    onnx__model_proto__pack(&model, (uint8_t *)*data);
    noe_arena_clear(&p->arena);
}

/* ---- nodes ---- */

static Onnx__AttributeProto *attribute(noe_arena *a, const noe_attribute *from)
{
    static const int types[] = {
        [NOE_ATTRIBUTE_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        [NOE_ATTRIBUTE_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
        [NOE_ATTRIBUTE_TEXT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
        [NOE_ATTRIBUTE_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
        [NOE_ATTRIBUTE_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
    };
    Onnx__AttributeProto *p = NOE_NEW(a, Onnx__AttributeProto);
    onnx__attribute_proto__init(p);
    p->name = noe_arena_strdup(a, from->name);
    p->has_type = 1;
    p->type = (Onnx__AttributeProto__AttributeType)types[from->kind];
    if (from->kind == NOE_ATTRIBUTE_INT) {
        p->has_i = 1;
        p->i = from->ints[0];
    } else if (from->kind == NOE_ATTRIBUTE_FLOAT) {
        p->has_f = 1;
        p->f = from->floats[0];
    } else if (from->kind == NOE_ATTRIBUTE_TEXT) {
        p->has_s = 1;
        p->s.len = strlen(from->text);
        p->s.data = (uint8_t *)noe_arena_strdup(a, from->text);
    } else if (from->kind == NOE_ATTRIBUTE_INTS) {
        p->n_ints = from->n;
        p->ints = noe_arena_memdup(a, from->ints, from->n * sizeof *from->ints);
    } else {
        p->n_floats = from->n;
        p->floats = noe_arena_memdup(a, from->floats, from->n * sizeof *from->floats);
    }
    return p;
}

static noe_status check_node(const noe_builder *b, const noe_builder_node *node,
                             noe_error *err)
{
    if (!node->op_type || !*node->op_type)
        return noe_fail(err, NOE_ERR_ARG, "a node has no operator");
    if (node->n_out == 0)
        return noe_fail(err, NOE_ERR_ARG, "%s: a node without outputs", node->op_type);
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] >= b->n_values && node->in[i] != NOE_BUILDER_NONE)
            return noe_fail(err, NOE_ERR_ARG, "%s: input %u is value %u of %u",
                            node->op_type, i, node->in[i], b->n_values);
    }
    for (uint32_t i = 0; i < node->n_attributes; i++) {
        const noe_attribute *a = &node->attributes[i];
        if (!a->name || a->kind > NOE_ATTRIBUTE_FLOATS)
            return noe_fail(err, NOE_ERR_ARG, "%s: attribute %u has no name or kind",
                            node->op_type, i);
    }
    return NOE_OK;
}

static noe_status make_proto(noe_builder *b, const noe_builder_node *node,
                             Onnx__NodeProto **out, noe_error *err)
{
    noe_arena *a = &b->arena;
    const char *taken;
    NOE_TRY(take_name(b, node->name, node->op_type, &taken, err));
    Onnx__NodeProto *p = NOE_NEW(a, Onnx__NodeProto);
    onnx__node_proto__init(p);
    p->op_type = noe_arena_strdup(a, node->op_type);
    p->name = noe_arena_strdup(a, taken);
    p->n_input = node->n_in;
    p->input = NOE_NEW_N(a, char *, node->n_in + 1);
    for (uint32_t i = 0; i < node->n_in; i++)
        p->input[i] = node->in[i] == NOE_BUILDER_NONE
                          ? noe_arena_strdup(a, "")
                          : noe_arena_strdup(a, b->values[node->in[i]].name);
    p->n_attribute = node->n_attributes;
    p->attribute = NOE_NEW_N(a, Onnx__AttributeProto *, node->n_attributes + 1);
    for (uint32_t i = 0; i < node->n_attributes; i++)
        p->attribute[i] = attribute(a, &node->attributes[i]);
    p->n_output = node->n_out;
    p->output = NOE_NEW_N(a, char *, node->n_out + 1);
    for (uint32_t i = 0; i < node->n_out; i++) {
        NOE_TRY(take_name(b, NULL, node->op_type, &taken, err));
        p->output[i] = noe_arena_strdup(a, taken);
    }
    *out = p;
    return NOE_OK;
}

/* The node alone as a model; its inputs are inputs, or weights if they are small. */
static noe_status import_alone(const noe_builder *b, const noe_builder_node *node,
                               Onnx__NodeProto *proto, noe_onnx_model **m,
                               noe_error *err)
{
    parts p;
    noe_env quiet = {.seed = 1, .n_threads = 1};
    char *data;
    size_t len;
    start(&p, node->n_in, node->n_out);
    for (uint32_t i = 0; i < node->n_in; i++) {
        bool again = node->in[i] == NOE_BUILDER_NONE;
        for (uint32_t k = 0; k < i; k++)
            again |= node->in[k] == node->in[i];
        if (again)
            continue;
        const built_value *v = &b->values[node->in[i]];
        add_leaf(&p, v, v->data && v->bytes <= MAX_SHOWN_BYTES);
    }
    for (uint32_t i = 0; i < node->n_out; i++) {
        Onnx__ValueInfoProto *v = NOE_NEW(&p.arena, Onnx__ValueInfoProto);
        onnx__value_info_proto__init(v);
        v->name = proto->output[i];
        p.graph.output[p.graph.n_output++] = v;
    }
    p.graph.n_node = 1;
    p.graph.node = &proto;
    pack(&p, &data, &len);
    noe_status status = noe_onnx_load_memory(data, len, NULL, &quiet, m, err);
    free(data);
    return status;
}

static noe_status find_types(const noe_onnx_model *m, const noe_builder_node *node,
                             noe_type *types, noe_error *err)
{
    const noe_onnx_node *n = &m->nodes[0];
    for (uint32_t i = 0; i < node->n_out; i++) {
        noe_ref r = m->values[n->out[i]].ref;
        types[i] = noe_ref_is_none(r) ? m->values[n->out[i]].type
                                      : *noe_graph_type(m->graph, r);
        if (node->types)
            types[i] = node->types[i];
        if (!noe_shape_is_static(&types[i].shape) ||
            noe_dtype_bytes(types[i].dtype) == 0)
            return noe_fail(err, NOE_ERR_SHAPE, "%s: %s", node->op_type,
                            *n->why ? n->why : "the type of an output is not known");
    }
    return NOE_OK;
}

noe_status noe_builder_node_add(noe_builder *b, const noe_builder_node *node,
                                uint32_t *out, noe_error *err)
{
    Onnx__NodeProto *proto;
    noe_onnx_model *m;
    NOE_TRY(check_node(b, node, err));
    NOE_TRY(make_proto(b, node, &proto, err));
    NOE_TRY(import_alone(b, node, proto, &m, err));
    noe_type *types = noe_malloc(node->n_out * sizeof *types);
    noe_status status = find_types(m, node, types, err);
    noe_onnx_free(m);
    for (uint32_t i = 0; i < node->n_out && status == NOE_OK; i++) {
        built_value v = {proto->output[i], types[i], NOE_VALUE_OUTPUT, false, NULL, 0};
        out[i] = add_value(b, v);
    }
    free(types);
    if (status != NOE_OK)
        return status;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] != NOE_BUILDER_NONE)
            b->values[node->in[i]].is_read = true;
    }
    NOE_PUSH(b->nodes, b->n_nodes, b->cap_nodes, proto);
    return NOE_OK;
}

noe_status noe_builder_output(noe_builder *b, uint32_t value, const char *name,
                              noe_error *err)
{
    if (value >= b->n_values)
        return noe_fail(err, NOE_ERR_ARG, "output: value %u of %u", value, b->n_values);
    const char *taken = b->values[value].name;
    if (name && strcmp(name, taken) != 0)
        NOE_TRY(take_name(b, name, "output", &taken, err));
    for (uint32_t i = 0; i < b->n_outputs; i++) {
        if (strcmp(b->output_names[i], taken) == 0)
            return noe_fail(err, NOE_ERR_ARG, "'%s' is an output already", taken);
    }
    NOE_PUSH(b->outputs, b->n_outputs, b->cap_outputs, value);
    b->n_outputs--;
    NOE_PUSH(b->output_names, b->n_outputs, b->cap_output_names, taken);
    return NOE_OK;
}

uint32_t noe_builder_n_values(const noe_builder *b)
{
    return b->n_values;
}

const noe_type *noe_builder_type(const noe_builder *b, uint32_t value)
{
    return &b->values[value].type;
}

const char *noe_builder_name(const noe_builder *b, uint32_t value)
{
    return b->values[value].name;
}

const void *noe_builder_data(const noe_builder *b, const char *name, size_t *bytes)
{
    for (uint32_t i = 0; i < b->n_values; i++) {
        if (b->values[i].data && strcmp(b->values[i].name, name) == 0) {
            *bytes = b->values[i].bytes;
            return b->values[i].data;
        }
    }
    return NULL;
}

/* ---- the model ---- */

static void add_output(parts *p, const char *name, const noe_type *type)
{
    p->graph.output[p->graph.n_output++] = noe_onnx_value_info(&p->arena, name, type);
}

/* An output under another name than the value's. */
static void add_identity(parts *p, const char *from, const char *to)
{
    Onnx__NodeProto *n = NOE_NEW(&p->arena, Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = noe_arena_strdup(&p->arena, "Identity");
    n->name = noe_arena_strdup(&p->arena, to);
    n->n_input = n->n_output = 1;
    n->input = NOE_NEW_N(&p->arena, char *, 1);
    n->output = NOE_NEW_N(&p->arena, char *, 1);
    n->input[0] = noe_arena_strdup(&p->arena, from);
    n->output[0] = noe_arena_strdup(&p->arena, to);
    p->graph.node[p->graph.n_node++] = n;
}

noe_status noe_builder_serialize(const noe_builder *b, char **data, size_t *len,
                                 noe_error *err)
{
    parts p;
    start(&p, b->n_values, b->n_values + b->n_outputs);
    for (uint32_t i = 0; i < b->n_values; i++) {
        const built_value *v = &b->values[i];
        if (v->kind != NOE_VALUE_OUTPUT)
            add_leaf(&p, v, v->kind == NOE_VALUE_INITIALIZER);
        else if (b->n_outputs == 0 && !v->is_read)
            add_output(&p, v->name, &v->type);
    }
    p.graph.node =
        NOE_NEW_N(&p.arena, Onnx__NodeProto *, b->n_nodes + b->n_outputs + 1);
    for (; p.graph.n_node < b->n_nodes; p.graph.n_node++)
        p.graph.node[p.graph.n_node] = b->nodes[p.graph.n_node];
    for (uint32_t i = 0; i < b->n_outputs; i++) {
        const built_value *v = &b->values[b->outputs[i]];
        add_output(&p, b->output_names[i], &v->type);
        if (strcmp(b->output_names[i], v->name) != 0)
            add_identity(&p, v->name, b->output_names[i]);
    }
    if (p.graph.n_output == 0) {
        noe_arena_clear(&p.arena);
        return noe_fail(err, NOE_ERR_ARG, "the model computes nothing");
    }
    pack(&p, data, len);
    return NOE_OK;
}
