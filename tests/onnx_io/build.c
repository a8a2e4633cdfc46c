/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/onnx_io/build.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WORDS = 24, MAX_ITEMS = 64, MAX_GRAPHS = 8, MAX_DIMS = 12 };

typedef struct model_builder {
    noe_arena arena;
    Onnx__ModelProto model;
    Onnx__GraphProto *graph, *outer; /* being filled; the one around a body */
    Onnx__GraphProto *bodies[MAX_GRAPHS];
    int n_bodies;
} model_builder;

static noe_arena *arena_of(model_builder *b)
{
    return &b->arena;
}

static char *keep(model_builder *b, const char *s)
{
    return noe_arena_strdup(arena_of(b), strcmp(s, "_") == 0 ? "" : s);
}

/* Splits at any of `separators`; the parts lie in the arena. */
static int split(model_builder *b, const char *text, const char *separators,
                 char **parts, int max)
{
    char *copy = noe_arena_strdup(arena_of(b), text), *state = NULL;
    int n = 0;
    for (char *p = strtok_r(copy, separators, &state); p;
         p = strtok_r(NULL, separators, &state)) {
        ck_assert_msg(n < max, "too many parts in '%s'", text);
        parts[n++] = p;
    }
    return n;
}

static noe_dtype dtype_of(const char *name)
{
    noe_dtype d = NOE_UNKNOWN;
    ck_assert_msg(noe_dtype_from_name(name, strlen(name), &d), "no dtype '%s'", name);
    return d;
}

/* Appends to a repeated field of messages. */
#define APPEND(B, PTR, N, VALUE)                                              \
    do {                                                                      \
        if (!(PTR))                                                           \
            (PTR) = noe_arena_zalloc(arena_of(B), MAX_ITEMS * sizeof *(PTR)); \
        ck_assert((N) < MAX_ITEMS);                                           \
        (PTR)[(N)++] = (VALUE);                                               \
    } while (0)

static Onnx__TensorShapeProto *make_shape(model_builder *b, const char *dims)
{
    char *parts[MAX_DIMS];
    int n = strcmp(dims, "-") == 0 ? 0 : split(b, dims, ",", parts, MAX_DIMS);
    Onnx__TensorShapeProto *s = NOE_NEW(arena_of(b), Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(s);
    for (int i = 0; i < n; i++) {
        Onnx__TensorShapeProto__Dimension *d =
            NOE_NEW(arena_of(b), Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(d);
        char *end;
        long long value = strtoll(parts[i], &end, 10);
        if (*end == '\0') {
            d->has_dim_value = 1;
            d->dim_value = value;
        } else if (strcmp(parts[i], "?") != 0) {
            d->dim_param = parts[i];
        }
        APPEND(b, s->dim, s->n_dim, d);
    }
    return s;
}

static Onnx__ValueInfoProto *make_info(model_builder *b, char **w)
{
    Onnx__ValueInfoProto *info = NOE_NEW(arena_of(b), Onnx__ValueInfoProto);
    onnx__value_info_proto__init(info);
    info->name = keep(b, w[1]);
    info->type = NOE_NEW(arena_of(b), Onnx__TypeProto);
    onnx__type_proto__init(info->type);
    info->type->tensor_type = NOE_NEW(arena_of(b), Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(info->type->tensor_type);
    info->type->tensor_type->has_elem_type = 1;
    info->type->tensor_type->elem_type = noe_dtype_to_onnx(dtype_of(w[2]));
    if (strcmp(w[3], "*") != 0)
        info->type->tensor_type->shape = make_shape(b, w[3]);
    return info;
}

static void put_number(char *to, noe_dtype d, double x)
{
    float f32 = (float)x;
    int64_t i64 = (int64_t)x;
    switch (d) {
    case NOE_F32:
        memcpy(to, &f32, 4);
        break;
    case NOE_F64:
        memcpy(to, &x, 8);
        break;
    default:
        memcpy(to, &i64, noe_dtype_bytes(d));
        break;
    }
}

static Onnx__TensorProto *make_tensor(model_builder *b, const char *name,
                                      const char *dtype, const char *dims,
                                      const char *numbers)
{
    static char *parts[4096];
    noe_dtype d = dtype_of(dtype);
    Onnx__TensorProto *t = NOE_NEW(arena_of(b), Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = name ? keep(b, name) : NULL;
    t->has_data_type = 1;
    t->data_type = noe_dtype_to_onnx(d);
    int n_dims = strcmp(dims, "-") == 0 ? 0 : split(b, dims, ",", parts, MAX_DIMS);
    size_t n = 1;
    for (int i = 0; i < n_dims; i++) {
        APPEND(b, t->dims, t->n_dims, strtoll(parts[i], NULL, 10));
        n *= (size_t)t->dims[i];
    }
    size_t width = noe_dtype_bytes(d);
    char *data = noe_arena_zalloc(arena_of(b), n * width);
    if (numbers) {
        int given = split(b, numbers, ",", parts, 4096);
        ck_assert_msg((size_t)given == n, "%s: %d numbers, want %zu", name, given, n);
    }
    noe_rng rng = noe_rng_split(1, name ? name : "", 0);
    for (size_t i = 0; i < n; i++)
        put_number(data + i * width, d,
                   numbers ? strtod(parts[i], NULL) : noe_rng_normal(&rng));
    t->has_raw_data = 1;
    t->raw_data = (ProtobufCBinaryData){n * width, (uint8_t *)data};
    return t;
}

static Onnx__GraphProto *find_body(const model_builder *b, const char *name)
{
    for (int i = 0; i < b->n_bodies; i++) {
        if (strcmp(b->bodies[i]->name, name) == 0)
            return b->bodies[i];
    }
    ck_abort_msg("no body '%s'", name);
    return NULL;
}

static void set_numbers(model_builder *b, Onnx__AttributeProto *a, const char *text,
                        bool floats)
{
    char *parts[MAX_ITEMS];
    int n = split(b, text, ",", parts, MAX_ITEMS);
    a->type = floats ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
                     : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    for (int i = 0; i < n; i++) {
        if (floats)
            APPEND(b, a->floats, a->n_floats, strtof(parts[i], NULL));
        else
            APPEND(b, a->ints, a->n_ints, strtoll(parts[i], NULL, 10));
    }
}

/* "i:3" */
static void set_attribute(model_builder *b, Onnx__AttributeProto *a, char *value)
{
    char *colon = strchr(value, ':'), *parts[3];
    ck_assert_msg(colon, "attribute '%s' has no kind", value);
    *colon = '\0';
    const char *kind = value, *text = colon + 1;
    a->has_type = 1;
    if (strcmp(kind, "i") == 0) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->has_i = 1;
        a->i = strtoll(text, NULL, 10);
    } else if (strcmp(kind, "f") == 0) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        a->has_f = 1;
        a->f = strtof(text, NULL);
    } else if (strcmp(kind, "s") == 0) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        a->has_s = 1;
        a->s = (ProtobufCBinaryData){strlen(text), (uint8_t *)keep(b, text)};
    } else if (strcmp(kind, "t") == 0) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
        ck_assert_int_eq(split(b, text, ":", parts, 3), 3);
        a->t = make_tensor(b, NULL, parts[0], parts[1], parts[2]);
    } else if (strcmp(kind, "g") == 0) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
        a->g = find_body(b, text);
    } else {
        ck_assert_msg(strcmp(kind, "ints") == 0 || strcmp(kind, "floats") == 0,
                      "attribute kind '%s'", kind);
        set_numbers(b, a, text, strcmp(kind, "floats") == 0);
    }
}

static void add_attribute(model_builder *b, Onnx__NodeProto *n, char *word)
{
    char *equals = strchr(word, '=');
    ck_assert_msg(equals, "'%s' is no attribute", word);
    *equals = '\0';
    if (strcmp(word, "name") == 0) {
        n->name = keep(b, equals + 1);
    } else if (strcmp(word, "domain") == 0) {
        n->domain = keep(b, equals + 1);
    } else {
        Onnx__AttributeProto *a = NOE_NEW(arena_of(b), Onnx__AttributeProto);
        onnx__attribute_proto__init(a);
        a->name = keep(b, word);
        set_attribute(b, a, equals + 1);
        APPEND(b, n->attribute, n->n_attribute, a);
    }
}

static void add_names(model_builder *b, char *list, char ***names, size_t *n)
{
    char *parts[MAX_ITEMS];
    int count = split(b, list, ",", parts, MAX_ITEMS);
    for (int i = 0; i < count; i++)
        APPEND(b, *names, *n, keep(b, parts[i]));
}

/* node OP [INPUTS] -> OUTPUTS [ATTRIBUTES] */
static void add_node(model_builder *b, char **w, int n_words)
{
    Onnx__NodeProto *n = NOE_NEW(arena_of(b), Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = keep(b, w[1]);
    int at = 2;
    if (strcmp(w[at], "->") != 0)
        add_names(b, w[at++], &n->input, &n->n_input);
    ck_assert_str_eq(w[at], "->");
    add_names(b, w[at + 1], &n->output, &n->n_output);
    for (at += 2; at < n_words; at++)
        add_attribute(b, n, w[at]);
    APPEND(b, b->graph->node, b->graph->n_node, n);
}

static void add_opset(model_builder *b, char **w, int n_words)
{
    Onnx__OperatorSetIdProto *o = NOE_NEW(arena_of(b), Onnx__OperatorSetIdProto);
    onnx__operator_set_id_proto__init(o);
    o->domain = keep(b, n_words > 2 ? w[2] : "");
    o->has_version = 1;
    o->version = strtoll(w[1], NULL, 10);
    APPEND(b, b->model.opset_import, b->model.n_opset_import, o);
}

static void begin_body(model_builder *b, const char *name)
{
    ck_assert(!b->outer && b->n_bodies < MAX_GRAPHS);
    b->outer = b->graph;
    b->graph = NOE_NEW(arena_of(b), Onnx__GraphProto);
    onnx__graph_proto__init(b->graph);
    b->graph->name = keep(b, name);
    b->bodies[b->n_bodies++] = b->graph;
}

static void add_meta(model_builder *b, char **w)
{
    Onnx__StringStringEntryProto *e =
        NOE_NEW(arena_of(b), Onnx__StringStringEntryProto);
    onnx__string_string_entry_proto__init(e);
    e->key = keep(b, w[1]);
    e->value = keep(b, w[2]);
    APPEND(b, b->model.metadata_props, b->model.n_metadata_props, e);
}

static void add_item(model_builder *b, char **w, int n)
{
    Onnx__GraphProto *g = b->graph;
    const char *what = w[0];
    if (strcmp(what, "ir") == 0)
        b->model.ir_version = strtoll(w[1], NULL, 10);
    else if (strcmp(what, "opset") == 0)
        add_opset(b, w, n);
    else if (strcmp(what, "input") == 0)
        APPEND(b, g->input, g->n_input, make_info(b, w));
    else if (strcmp(what, "output") == 0)
        APPEND(b, g->output, g->n_output, make_info(b, w));
    else if (strcmp(what, "value") == 0)
        APPEND(b, g->value_info, g->n_value_info, make_info(b, w));
    else if (strcmp(what, "init") == 0)
        APPEND(b, g->initializer, g->n_initializer,
               make_tensor(b, w[1], w[2], w[3], n > 5 ? w[5] : NULL));
    else if (strcmp(what, "node") == 0)
        add_node(b, w, n);
    else if (strcmp(what, "meta") == 0)
        add_meta(b, w);
    else if (strcmp(what, "graph") == 0)
        begin_body(b, w[1]);
    else if (strcmp(what, "end") == 0) {
        b->graph = b->outer;
        b->outer = NULL;
    } else
        ck_abort_msg("'%s' is not understood", what);
}

char *noe_build_model(const char *text, size_t *len)
{
    static char *lines[256];
    char *words[MAX_WORDS];
    model_builder b = {0};
    Onnx__GraphProto graph;
    onnx__model_proto__init(&b.model);
    onnx__graph_proto__init(&graph);
    graph.name = keep(&b, "g");
    b.model.has_ir_version = 1;
    b.model.ir_version = 8;
    b.graph = b.model.graph = &graph;
    int n_lines = split(&b, text, "\n", lines, 256);
    for (int i = 0; i < n_lines; i++) {
        int n = split(&b, lines[i], " ", words, MAX_WORDS);
        if (n > 0)
            add_item(&b, words, n);
    }
    if (b.model.n_opset_import == 0)
        add_opset(&b, (char *[]){"opset", "13"}, 2);
    *len = onnx__model_proto__get_packed_size(&b.model);
    char *data = noe_malloc(*len);
    onnx__model_proto__pack(&b.model, (uint8_t *)data);
    noe_arena_clear(&b.arena);
    return data;
}

noe_onnx_model *noe_build_and_load(const char *text)
{
    size_t len;
    noe_error err;
    noe_onnx_model *m = NULL;
    char *data = noe_build_model(text, &len);
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &m, &err), err);
    free(data);
    noe_graph_check(noe_onnx_graph(m));
    return m;
}

Onnx__ModelProto *noe_write_model(const noe_onnx_model *m, const noe_graph *g,
                                  char **data, size_t *len)
{
    char *bytes;
    size_t n;
    noe_error err;
    noe_assert_ok(noe_onnx_serialize(m, g, &bytes, &n, &err), err);
    Onnx__ModelProto *proto = onnx__model_proto__unpack(NULL, n, (uint8_t *)bytes);
    ck_assert_ptr_nonnull(proto);
    if (data) {
        *data = bytes;
        *len = n;
    } else {
        free(bytes);
    }
    return proto;
}

static void describe_names(noe_buf *b, char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        noe_buf_printf(b, "%s%s", i ? "," : "", names[i]);
}

char *noe_describe_nodes(const Onnx__GraphProto *g)
{
    noe_buf b = {0};
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        noe_buf_printf(&b, "%s(", n->op_type);
        describe_names(&b, n->input, n->n_input);
        noe_buf_puts(&b, ")->");
        describe_names(&b, n->output, n->n_output);
        noe_buf_puts(&b, " ");
    }
    char *text = noe_strdup(noe_buf_text(&b));
    noe_buf_clear(&b);
    return text;
}

static void describe_node(noe_buf *b, const noe_node *n)
{
    const noe_op_info *info = noe_op_get(n->op);
    noe_buf_puts(b, info->name);
    for (int i = 0; n->params && i < n->params->n; i++) {
        noe_buf_printf(b, "%s%s=", i ? ", " : "[", noe_param_name(info->params[i]));
        noe_value_print(b, &n->params->v[i]);
    }
    noe_buf_puts(b, n->params ? "]\n" : "\n");
}

char *noe_describe_graph(const noe_graph *g)
{
    noe_buf b = {0};
    uint8_t *live = noe_malloc(g->n_nodes);
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (live[i] && g->nodes[i].op == NOE_OP_OPAQUE)
            noe_buf_puts(&b, "opaque\n");
        else if (live[i] && g->nodes[i].op < NOE_OP_COUNT)
            describe_node(&b, &g->nodes[i]);
    }
    free(live);
    char *text = noe_strdup(noe_buf_text(&b));
    noe_buf_clear(&b);
    return text;
}
