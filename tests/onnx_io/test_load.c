/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile and broken files: each gives an error that names the fault, none crashes.
 */
#include "core/base/file.h"
#include "onnx_io/model.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static noe_error err;

static noe_status load(const void *data, size_t len, const noe_onnx_options *options)
{
    noe_onnx_model *m = NULL;
    noe_status status = noe_onnx_load_memory(data, len, options, NULL, &m, &err);
    if (status == NOE_OK)
        noe_graph_check(noe_onnx_graph(m));
    noe_onnx_free(status == NOE_OK ? m : NULL);
    return status;
}

static noe_status load_text(const char *text)
{
    size_t len;
    char *data = noe_build_model(text, &len);
    noe_status status = load(data, len, NULL);
    free(data);
    return status;
}

/* ---- structure ---- */

/* Also where only a body reads it. */
static const char *const unsorted[] = {
    "input x f32 2\noutput y f32 2\nnode Relu z -> y\nnode Neg x -> z",
    "input x f32 2\noutput y f32 2\nnode Abs b -> y\nnode Neg a -> b\nnode Relu x -> a",
    /* a body may hide a name */
    "graph t\noutput y f32 2\nnode Neg x -> y\nend\n"
    "graph e\noutput y f32 2\nnode Abs x -> z\nnode Abs z -> y\nend\n"
    "input x f32 2\ninput c bool -\noutput y f32 2\n"
    "node If c -> y then_branch=g:t else_branch=g:e",
    "graph t\noutput u f32 2\nnode Neg z -> u\nend\n"
    "graph e\noutput v f32 2\nnode Abs z -> v\nend\n"
    "input x f32 2\ninput c bool -\noutput y f32 2\n"
    "node If c -> y then_branch=g:t else_branch=g:e\nnode Relu x -> z",
};

START_TEST(test_unsorted_nodes_are_sorted)
{
    size_t len;
    char *data;
    noe_onnx_model *m = noe_build_and_load(unsorted[_i]), *again;
    noe_graph_check(noe_onnx_graph(m));
    noe_assert_ok(noe_onnx_serialize(m, noe_onnx_graph(m), &data, &len, &err), err);
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
    ck_assert_uint_eq(again->n_nodes, m->n_nodes);
    for (uint32_t k = 0; k < m->n_nodes; k++) /* written sorted: not moved again */
        ck_assert_str_eq(again->nodes[k].proto->op_type, m->nodes[k].proto->op_type);
    ck_assert_str_eq(m->nodes[m->n_nodes - 1].proto->output[0], "y");
    free(data);
    noe_onnx_free(again);
    noe_onnx_free(m);
}
END_TEST

typedef struct fault {
    const char *model;
    noe_status status;
    const char *message;
} fault;

static const fault faults[] = {
    {"input x f32 2\noutput y f32 2\nnode Relu q -> y", NOE_ERR_PARSE,
     "model: node 0 (Relu): input 'q' is not defined"},
    {"input x f32 2\noutput y f32 2\nnode Add x,z -> y name=r\nnode Relu y -> z\n"
     "node Neg z -> w",
     NOE_ERR_PARSE,
     "node 1 (Relu): input 'y' is made by node 0 (Add), which needs this node's "
     "output"},
    {"input x f32 2\noutput y f32 2\nnode Add x,y -> y", NOE_ERR_PARSE,
     "node 0 (Add): input 'y' is made by node 0 (Add)"},
    {"input x f32 2\noutput y f32 2\nnode Relu x -> y\nnode Neg x -> y", NOE_ERR_PARSE,
     "node 1 (Neg): tensor 'y' is defined twice"},
    {"input x f32 2\noutput y f32 2\nnode Relu x -> x\nnode Neg x -> y", NOE_ERR_PARSE,
     "tensor 'x' is defined twice"},
    {"input x f32 2\noutput y f32 2\ninit c f32 2\nnode Relu x -> c\nnode Neg x -> y",
     NOE_ERR_PARSE, "tensor 'c' is defined twice"},
    {"input x f32 2\ninput x f32 2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "tensor 'x' is defined twice"},
    {"input x f32 2\ninit w f32 2\ninit w f32 2\noutput y f32 2\nnode Neg x -> y",
     NOE_ERR_PARSE, "initializer 'w' is there twice"},
    {"input x f32 2\noutput z f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "graph output 'z' is not defined"},
    {"input x f32 2\noutput y f32 2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "graph output 'y' is listed twice"},
    {"input x f32 2\nnode Neg x -> y", NOE_ERR_PARSE, "no outputs"},
    {"input _ f32 2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "graph input 0 has no name"},
    {"input x f32 2\noutput y f32 2\nnode _ x -> y", NOE_ERR_PARSE,
     "op_type is missing"},
    {"ir 2\ninput x f32 2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_UNSUPPORTED,
     "IR version is 2"},
    {"input x f32 4611686018427387904\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "graph input 'x': dimension 4611686018427387904 is out of range"},
    {"input x f32 1048576,1048576,1048576\noutput y f32 2\nnode Neg x -> y",
     NOE_ERR_LIMIT, "graph input 'x': more than"},
    {"input x f32 -2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "dimension -2 is out of range"},
    {"input x f32 2\nvalue v f32 -2\noutput y f32 2\nnode Neg x -> y", NOE_ERR_PARSE,
     "value info 'v': dimension -2 is out of range"},
    {"graph b\nnode Neg q -> r\noutput r f32 *\nend\ninput c bool -\noutput y f32 *\n"
     "node If c -> y then_branch=g:b else_branch=g:b",
     NOE_ERR_PARSE, "node 0 (If): input 'q' is not defined"},
    {"graph b\nnode Neg c -> r\noutput nix f32 *\nend\ninput c bool -\noutput y f32 *\n"
     "node If c -> y then_branch=g:b else_branch=g:b",
     NOE_ERR_PARSE, "input 'nix' is not defined"},
};

START_TEST(test_fault_is_named)
{
    const fault *f = &faults[_i];
    noe_assert_fails(load_text(f->model), f->status, err, f->message);
}
END_TEST

START_TEST(test_names_of_bodies_are_their_own)
{
    /* The same name in both branches, and shadowed inside, is legal. */
    noe_assert_ok(load_text("graph b\nnode Neg x -> r\nnode Abs r -> x2\n"
                            "output x2 f32 *\nend\ninput c bool -\ninput x f32 2\n"
                            "output y f32 *\n"
                            "node If c -> y then_branch=g:b else_branch=g:b"),
                  err);
}
END_TEST

/* ---- bytes ---- */

static const char small_model[] =
    "ir 8\nopset 13\ninput x f32 1,3,4,4\noutput y f32 *\nvalue c f32 "
    "1,2,2,2\n"
    "init w f32 2,3,3,3\ninit s i64 2 = 1,-1\n"
    "graph b\nnode Neg c -> n\noutput n f32 *\nend\n"
    "node Conv x,w -> c pads=ints:0,0,0,0\nnode Reshape c,s -> y\n"
    "init f bool - = 1\nnode If f -> z then_branch=g:b else_branch=g:b";

/* The last field is the opset, without which no model is complete. */
START_TEST(test_every_truncation_is_an_error)
{
    size_t len;
    char *data = noe_build_model(small_model, &len);
    noe_assert_ok(load(data, len, NULL), err);
    for (size_t n = 0; n < len; n++) {
        char *part = noe_malloc(n); /* exactly as long: reading behind shows */
        memcpy(part, data, n);
        ck_assert_msg(load(part, n, NULL) != NOE_OK, "%zu of %zu bytes", n, len);
        free(part);
    }
    free(data);
}
END_TEST

/* One small model for each family of operators: parts of them load or do not, but
 * nothing reads behind the end. */
START_TEST(test_every_truncation_of_the_corpus_is_survived)
{
    static const char folder[] = NOE_SOURCE_DIR "/tests/fuzz/corpus/run";
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort), n_models = 0;
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        char path[400], *data;
        size_t len;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (!strstr(path, ".onnx"))
            continue;
        n_models++;
        noe_assert_ok(noe_file_read(path, 1 << 20, &data, &len, &err), err);
        noe_assert_ok(load(data, len, NULL), err);
        for (size_t k = 0; k < len; k++) {
            char *part = noe_malloc(k);
            memcpy(part, data, k);
            (void)!load(part, k, NULL);
            free(part);
        }
        free(data);
    }
    free(entries);
    ck_assert_int_gt(n_models, 50);
}
END_TEST

START_TEST(test_every_flipped_byte_is_survived)
{
    size_t len;
    char *data = noe_build_model(small_model, &len);
    int n_ok = 0;
    for (size_t i = 0; i < len * 8; i++) {
        data[i / 8] ^= (char)(1 << i % 8);
        n_ok += load(data, len, NULL) == NOE_OK;
        data[i / 8] ^= (char)(1 << i % 8);
    }
    ck_assert_int_gt(n_ok, 0); /* weights may be anything */
    free(data);
}
END_TEST

static void add_field(noe_buf *b, uint32_t number, const char *body, size_t len)
{
    noe_arena arena = {0};
    noe_rope r = {.arena = &arena};
    noe_rope_add_header(&r, number, len);
    char header[32];
    noe_rope_copy(&r, header);
    noe_buf_add(b, header, r.len);
    noe_buf_add(b, body, len);
    noe_rope_clear(&r);
    noe_arena_clear(&arena);
}

/* A model whose graph nests `depth` bodies. */
static noe_buf nested_model(int depth)
{
    noe_buf graph = {0}, model = {0};
    for (int i = 0; i < depth; i++) {
        noe_buf attribute = {0}, node = {0}, outer = {0};
        add_field(&attribute, 6, noe_buf_text(&graph), graph.len); /* g */
        add_field(&node, 4, "If", 2);
        add_field(&node, 5, attribute.text, attribute.len);
        add_field(&outer, NOE_GRAPH_NODE, node.text, node.len);
        noe_buf_clear(&attribute);
        noe_buf_clear(&node);
        noe_buf_clear(&graph);
        graph = outer;
    }
    add_field(&model, NOE_MODEL_GRAPH, graph.text, graph.len);
    noe_buf_clear(&graph);
    return model;
}

START_TEST(test_deep_nesting_is_refused)
{
    noe_buf deep = nested_model(1000), flat = nested_model(3);
    noe_assert_fails(load(deep.text, deep.len, NULL), NOE_ERR_PARSE, err,
                     "nested too deeply");
    /* The same thing three deep fails for another reason only. */
    noe_assert_fails(load(flat.text, flat.len, NULL), NOE_ERR_UNSUPPORTED, err,
                     "IR version");
    noe_buf_clear(&deep);
    noe_buf_clear(&flat);
}
END_TEST

typedef struct bytes {
    const char *data;
    size_t len;
    const char *message;
} bytes;

#define BYTES(DATA, MESSAGE)            \
    {                                   \
        DATA, sizeof(DATA) - 1, MESSAGE \
    }

static const bytes wire_faults[] = {
    BYTES("", "empty, not an ONNX model"),
    BYTES("\x3a\xff\xff\xff\xff\x0f", "a length runs past the end"),
    BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a length runs past the end"),
    BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "cut off or too long"),
    BYTES("\x3b", "unknown wire type"),
    BYTES("\x02\x00", "number 0"),
    BYTES("\x38\x01", "wrong wire type"),
    BYTES("\x08", "a number is cut off"),
    BYTES("\x12\x02"
          "a\0",
          "NUL"),
    BYTES("\x3a\x00\x3a\x00", "two graphs"),
    BYTES("\x3a\x04\x0a\x02\x2a\x7f",
          "graph[0].node[0]: a length runs past the end (near byte 6)"),
};

START_TEST(test_wire_fault_is_named)
{
    const bytes *b = &wire_faults[_i];
    char *exact = noe_malloc(b->len);
    memcpy(exact, b->data, b->len);
    noe_status status = load(exact, b->len, NULL);
    ck_assert_int_eq(status, NOE_ERR_PARSE);
    ck_assert_msg(noe_contains(err.text, b->message), "'%s' lacks '%s'", err.text,
                  b->message);
    free(exact);
}
END_TEST

START_TEST(test_many_empty_messages_are_refused)
{
    noe_buf graph = {0}, model = {0};
    for (int i = 0; i < NOE_WIRE_MAX_MESSAGES + 1; i++)
        noe_buf_add(&graph, "\x0a\x00", 2);
    add_field(&model, NOE_MODEL_GRAPH, graph.text, graph.len);
    noe_assert_fails(load(model.text, model.len, NULL), NOE_ERR_PARSE, err,
                     "too many messages");
    noe_buf_clear(&graph);
    noe_buf_clear(&model);
}
END_TEST

START_TEST(test_size_limit)
{
    size_t len;
    char *data = noe_build_model(small_model, &len);
    noe_onnx_options options = {.max_bytes = len - 1};
    noe_assert_fails(load(data, len, &options), NOE_ERR_LIMIT, err, "the limit is");
    options.max_bytes = len;
    noe_assert_ok(load(data, len, &options), err);
    free(data);
}
END_TEST

/* ---- tensors ---- */

/* A model with one initializer, changed by hand. */
static noe_status load_tensor(void (*change)(Onnx__TensorProto *t), const char *path)
{
    size_t len;
    char *data = noe_build_model(
        "input x f32 2,2\noutput y f32 *\ninit w f32 2,2\nnode Add x,w -> y", &len);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    free(data);
    change(m->graph->initializer[0]);
    len = onnx__model_proto__get_packed_size(m);
    data = noe_malloc(len);
    onnx__model_proto__pack(m, (uint8_t *)data);
    onnx__model_proto__free_unpacked(m, NULL);
    noe_status status;
    if (path) {
        noe_onnx_model *loaded;
        noe_assert_ok(noe_file_write(path, data, len, &err), err);
        status = noe_onnx_load(path, NULL, NULL, &loaded, &err);
        if (status == NOE_OK)
            noe_onnx_free(loaded);
    } else {
        status = load(data, len, NULL);
    }
    free(data);
    return status;
}

static void shorten_raw(Onnx__TensorProto *t)
{
    t->raw_data.len = 15;
}

static void drop_data(Onnx__TensorProto *t)
{
    free(t->raw_data.data);
    t->has_raw_data = 0;
    t->raw_data = (ProtobufCBinaryData){0};
}

static void overflow_dims(Onnx__TensorProto *t)
{
    t->dims[0] = t->dims[1] = INT64_C(1) << 62;
}

static void negative_dim(Onnx__TensorProto *t)
{
    t->dims[0] = -1;
}

static void zero_dim(Onnx__TensorProto *t)
{
    t->dims[0] = 0;
}

typedef struct tensor_fault {
    void (*change)(Onnx__TensorProto *t);
    noe_status status;
    const char *message;
} tensor_fault;

static const tensor_fault tensor_faults[] = {
    {shorten_raw, NOE_ERR_PARSE, "initializer 'w': 15 bytes, the dimensions say 16"},
    {drop_data, NOE_ERR_PARSE, "initializer 'w': 0 elements, the dimensions say 4"},
    {overflow_dims, NOE_ERR_LIMIT, "initializer 'w': more than"},
    {negative_dim, NOE_ERR_PARSE, "dimension -1 is negative"},
    {zero_dim, NOE_ERR_PARSE, "16 bytes, the dimensions say 0"},
};

START_TEST(test_tensor_fault_is_named)
{
    const tensor_fault *f = &tensor_faults[_i];
    noe_assert_fails(load_tensor(f->change, NULL), f->status, err, f->message);
}
END_TEST

/* ---- external data ---- */

static struct {
    const char *key[4], *value[4];
} external;

static void make_external(Onnx__TensorProto *t)
{
    drop_data(t);
    t->has_data_location = 1;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->external_data = malloc(4 * sizeof *t->external_data);
    for (int i = 0; i < 4 && external.key[i]; i++) {
        Onnx__StringStringEntryProto *e = malloc(sizeof *e);
        onnx__string_string_entry_proto__init(e);
        e->key = noe_strdup(external.key[i]);
        e->value = noe_strdup(external.value[i]);
        t->external_data[t->n_external_data++] = e;
    }
}

static noe_status load_external(const char *folder, const char *location,
                                const char *offset, const char *length)
{
    char path[300];
    memset(&external, 0, sizeof external);
    int n = 0;
    const char *keys[3] = {"location", "offset", "length"};
    const char *values[3] = {location, offset, length};
    for (int i = 0; i < 3; i++) {
        if (!values[i])
            continue;
        external.key[n] = keys[i];
        external.value[n++] = values[i];
    }
    snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    return load_tensor(make_external, path);
}

static void write_file(const char *folder, const char *name, size_t len)
{
    char path[300];
    char zeros[64] = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    noe_assert_ok(noe_file_write(path, zeros, len, &err), err);
}

static void make_folder(const char *folder, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(test_external_data_stays_in_folder)
{
    char folder[200], link_path[300];
    noe_tmp_make(folder, sizeof folder);
    make_folder(folder, "m");
    make_folder(folder, "m/sub");
    write_file(folder, "secret", 64);
    write_file(folder, "m/w.bin", 32);
    write_file(folder, "m/sub/w.bin", 16);
    snprintf(link_path, sizeof link_path, "%s/m/link", folder);
    ck_assert_int_eq(symlink("../secret", link_path), 0);
    noe_assert_ok(load_external(folder, "w.bin", NULL, NULL), err);
    noe_assert_ok(load_external(folder, "w.bin", "16", "16"), err);
    noe_assert_ok(load_external(folder, "sub/w.bin", "0", NULL), err);
    noe_assert_fails(load_external(folder, "../secret", NULL, NULL), NOE_ERR_PARSE, err,
                     "outside the model's folder");
    noe_assert_fails(load_external(folder, "sub/../../secret", NULL, NULL),
                     NOE_ERR_PARSE, err, "outside the model's folder");
    noe_assert_fails(load_external(folder, "/etc/passwd", NULL, NULL), NOE_ERR_PARSE,
                     err, "outside the model's folder");
    noe_assert_fails(load_external(folder, "link", NULL, NULL), NOE_ERR_PARSE, err,
                     "leads out of the model's folder");
    noe_assert_fails(load_external(folder, "absent", NULL, NULL), NOE_ERR_IO, err,
                     "absent");
    noe_assert_fails(load_external(folder, "sub", NULL, NULL), NOE_ERR_IO, err,
                     "not a regular file");
    noe_tmp_remove(folder);
}
END_TEST

START_TEST(test_external_range_is_checked)
{
    char folder[200];
    noe_tmp_make(folder, sizeof folder);
    make_folder(folder, "m");
    write_file(folder, "m/w.bin", 32);
    noe_assert_fails(load_external(folder, "w.bin", "17", NULL), NOE_ERR_PARSE, err,
                     "16 bytes at 17, the file has 32");
    noe_assert_fails(load_external(folder, "w.bin", "18446744073709551615", NULL),
                     NOE_ERR_PARSE, err, "the file has 32");
    noe_assert_fails(load_external(folder, "w.bin", "-1", NULL), NOE_ERR_PARSE, err,
                     "offset is '-1', want a number");
    noe_assert_fails(load_external(folder, "w.bin", "0", "1152921504606846976"),
                     NOE_ERR_PARSE, err, "length is 1152921504606846976");
    noe_assert_fails(load_external(folder, "w.bin", "0", "12"), NOE_ERR_PARSE, err,
                     "length is 12, the dimensions say 16");
    noe_assert_fails(load_external(folder, NULL, NULL, NULL), NOE_ERR_PARSE, err,
                     "location is missing");
    noe_tmp_remove(folder);
}
END_TEST

START_TEST(test_external_data_needs_a_file)
{
    memset(&external, 0, sizeof external);
    external.key[0] = "location";
    external.value[0] = "w.bin";
    noe_assert_fails(load_tensor(make_external, NULL), NOE_ERR_UNSUPPORTED, err,
                     "not in a file");
}
END_TEST

/* ---- pins ---- */

static noe_status load_pinned(const char *pin, noe_shape *shape)
{
    size_t len;
    char *data = noe_build_model("input x:0 f32 n,3,?\ninput z f32 n\noutput y f32 *\n"
                                 "output u f32 *\nnode Relu x:0 -> y\nnode Relu z -> u",
                                 &len);
    noe_onnx_options options = {.input_shapes = &pin, .n_input_shapes = 1};
    noe_onnx_model *m = NULL;
    noe_status status = noe_onnx_load_memory(data, len, &options, NULL, &m, &err);
    free(data);
    if (status != NOE_OK)
        return status;
    const noe_graph *g = noe_onnx_graph(m);
    *shape = noe_graph_type(g, g->outputs[1].ref)->shape;
    ck_assert_int_eq(noe_graph_type(g, g->outputs[0].ref)->shape.dim[2], 7);
    noe_onnx_free(m);
    return NOE_OK;
}

START_TEST(test_pin_fills_open_sizes)
{
    noe_shape shape;
    const noe_shape want = noe_shape_make(1, (int64_t[]){5});
    noe_assert_ok(load_pinned("x:0:5,3,7", &shape), err);
    ck_assert(noe_shape_eq(&shape, &want)); /* n is n everywhere */
    noe_assert_ok(load_pinned("x:0:5x3x7", &shape), err);
    ck_assert(noe_shape_eq(&shape, &want));
}
END_TEST

START_TEST(test_wrong_pin_is_an_error)
{
    noe_shape shape;
    static const char *const pins[][2] = {
        {"x:0:5,4,7", "size 1 is 4, the model has 3"},
        {"x:0:5,3", "2 sizes, the input has rank 3"},
        {"x:0:5,3,", "is no list of sizes"},
        {"x:0:5,-3,7", "is no list of sizes"},
        {"x:0:5,a,7", "is no list of sizes"},
        {"q:5,3,7", "no input 'q'"},
        {"5,3,7", "want NAME:SIZE"},
        {"x:0:1,1,1,1,1,1,1,1,1", "more than 8 sizes"},
        {"x:0:1048576,3,1048576", "more than"},
    };
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
        noe_assert_fails(load_pinned(pins[i][0], &shape), NOE_ERR_ARG, err, pins[i][1]);
}
END_TEST

START_TEST(test_pin_of_untyped_input_is_an_error)
{
    /* input x without a type; y = Odd(x); opset 13 */
    static const char model[] = "\x08\x08\x3a\x13\x0a\x08\x0a\x01x\x12\x01y\x22\x00"
                                "\x5a\x03\x0a\x01x\x62\x02\x0a\x00\x42\x02\x10\x0d";
    const char *pin = "x:1";
    noe_onnx_options options = {.input_shapes = &pin, .n_input_shapes = 1};
    noe_assert_fails(load(model, sizeof model - 1, &options), NOE_ERR_ARG, err,
                     "the input is no tensor");
}
END_TEST

START_TEST(test_missing_file_is_an_error)
{
    noe_onnx_model *m;
    noe_assert_fails(noe_onnx_load("/nowhere/m.onnx", NULL, NULL, &m, &err), NOE_ERR_IO,
                     err, "/nowhere/m.onnx");
}
END_TEST

Suite *suite_load(void)
{
    Suite *s = suite_create("load");
    TCase *tc = tcase_create("load");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_unsorted_nodes_are_sorted, 0,
                        sizeof unsorted / sizeof *unsorted);
    tcase_add_loop_test(tc, test_fault_is_named, 0,
                        (int)(sizeof faults / sizeof *faults));
    tcase_add_loop_test(tc, test_wire_fault_is_named, 0,
                        (int)(sizeof wire_faults / sizeof *wire_faults));
    tcase_add_loop_test(tc, test_tensor_fault_is_named, 0,
                        (int)(sizeof tensor_faults / sizeof *tensor_faults));
    tcase_add_test(tc, test_names_of_bodies_are_their_own);
    tcase_add_test(tc, test_every_truncation_is_an_error);
    tcase_add_test(tc, test_every_truncation_of_the_corpus_is_survived);
    tcase_add_test(tc, test_every_flipped_byte_is_survived);
    tcase_add_test(tc, test_deep_nesting_is_refused);
    tcase_add_test(tc, test_many_empty_messages_are_refused);
    tcase_add_test(tc, test_size_limit);
    tcase_add_test(tc, test_external_data_stays_in_folder);
    tcase_add_test(tc, test_external_range_is_checked);
    tcase_add_test(tc, test_external_data_needs_a_file);
    tcase_add_test(tc, test_pin_fills_open_sizes);
    tcase_add_test(tc, test_wrong_pin_is_an_error);
    tcase_add_test(tc, test_pin_of_untyped_input_is_an_error);
    tcase_add_test(tc, test_missing_file_is_an_error);
    suite_add_tcase(s, tc);
    return s;
}
