/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that others made: written back, loaded again, and computed where the algebra
 * covers the whole model.
 */
#include "core/base/file.h"
#include "core/definition.h"
#include "tests/onnx_io/build.h"
#include "tests/onnx_io/corpus.h"
#include "tests/onnx_io/evaluate.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static noe_error err;

#define MAX_BYTES ((uint64_t)1 << 30)

/* ---- written back ---- */

typedef struct tally {
    bool expand; /* into core operators first: folding must find them all again */
    int n_models, n_nodes, n_written, n_equal, n_identical;
} tally;

static char *pack(const ProtobufCMessage *message, size_t *len)
{
    *len = protobuf_c_message_get_packed_size(message);
    char *data = noe_malloc(*len);
    protobuf_c_message_pack(message, (uint8_t *)data);
    return data;
}

static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t len_a, len_b;
    char *x = pack(a, &len_a), *y = pack(b, &len_b);
    bool same = len_a == len_b && memcmp(x, y, len_a) == 0;
    free(x);
    free(y);
    return same;
}

/* The node of the original with this output, or NULL. */
static const Onnx__NodeProto *find_maker(const Onnx__GraphProto *g, const char *output)
{
    for (size_t i = 0; i < g->n_node; i++) {
        for (size_t k = 0; k < g->node[i]->n_output; k++) {
            if (strcmp(g->node[i]->output[k], output) == 0)
                return g->node[i];
        }
    }
    return NULL;
}

/* Everything but the names of inputs and outputs. */
static bool same_but_names(const Onnx__NodeProto *a, const Onnx__NodeProto *b)
{
    Onnx__NodeProto x = *a, y = *b;
    bool same = x.n_input == y.n_input && x.n_output == y.n_output;
    x.n_input = y.n_input = x.n_output = y.n_output = 0;
    return same && same_message(&x.base, &y.base);
}

static bool is_of_model(const Onnx__GraphProto *was, const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < was->n_node; i++) {
        if (same_but_names(was->node[i], n))
            return true;
    }
    return false;
}

static bool is_helper(const Onnx__NodeProto *n)
{
    return strcmp(n->op_type, "Identity") == 0 || strcmp(n->op_type, "Constant") == 0;
}

/* An untouched graph gives nodes that are bytes of the model, but for inputs whose
 * maker was an alias, a duplicate or computable. */
static void check_nodes(const char *path, const Onnx__GraphProto *was,
                        const Onnx__GraphProto *is, tally *t)
{
    for (size_t i = 0; i < is->n_node; i++) {
        const Onnx__NodeProto *n = is->node[i];
        const Onnx__NodeProto *maker =
            n->n_output ? find_maker(was, n->output[0]) : NULL;
        bool equal = maker && same_message(&maker->base, &n->base);
        t->n_equal += equal;
        ck_assert_msg(equal || is_helper(n) || is_of_model(was, n),
                      "%s: node %zu (%s '%s') is not of the model", path, i, n->op_type,
                      n->name ? n->name : "");
    }
    ck_assert_msg(is->n_node <= was->n_node, "%s: %zu nodes, were %zu", path,
                  is->n_node, was->n_node);
    t->n_nodes += (int)was->n_node;
    t->n_written += (int)is->n_node;
}

static void check_ends(const char *path, const Onnx__GraphProto *was,
                       const Onnx__GraphProto *is)
{
    bool same = was->n_input == is->n_input && was->n_output == is->n_output;
    for (size_t i = 0; same && i < was->n_input; i++)
        same = same_message(&was->input[i]->base, &is->input[i]->base);
    for (size_t i = 0; same && i < was->n_output; i++)
        same = same_message(&was->output[i]->base, &is->output[i]->base);
    ck_assert_msg(same, "%s: inputs or outputs changed", path);
}

static void check_written(const char *path, const char *was, size_t was_len,
                          const char *is, size_t is_len, tally *t)
{
    Onnx__ModelProto *a =
        onnx__model_proto__unpack(NULL, was_len, (const uint8_t *)was);
    Onnx__ModelProto *b = onnx__model_proto__unpack(NULL, is_len, (const uint8_t *)is);
    ck_assert(a && b);
    check_ends(path, a->graph, b->graph);
    check_nodes(path, a->graph, b->graph, t);
    t->n_identical += was_len == is_len && memcmp(was, is, is_len) == 0;
    a->graph = (onnx__graph_proto__free_unpacked(a->graph, NULL), NULL);
    b->graph = (onnx__graph_proto__free_unpacked(b->graph, NULL), NULL);
    ck_assert_msg(same_message(&a->base, &b->base), "%s: something else changed", path);
    onnx__model_proto__free_unpacked(a, NULL);
    onnx__model_proto__free_unpacked(b, NULL);
}

static void write_back(void *ctx, const char *path)
{
    char *was, *is;
    size_t was_len, is_len;
    noe_onnx_model *m, *again;
    noe_assert_ok(noe_file_read(path, MAX_BYTES, &was, &was_len, &err), err);
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &m, &err), err);
    noe_graph_check(noe_onnx_graph(m));
    const tally *t = ctx;
    noe_graph *g = NULL;
    if (t->expand)
        noe_assert_ok(noe_graph_expand(noe_onnx_graph(m), &g, &err), err);
    else
        g = noe_graph_copy(noe_onnx_graph(m));
    noe_assert_ok(noe_onnx_serialize(m, g, &is, &is_len, &err), err);
    check_written(path, was, was_len, is, is_len, ctx);
    noe_assert_ok(noe_onnx_load_memory(is, is_len, NULL, NULL, &again, &err), err);
    noe_onnx_free(again);
    noe_graph_free(g);
    noe_onnx_free(m);
    free(was);
    free(is);
    ++((tally *)ctx)->n_models;
}

static void check_folder(const char *folder, const char *test, bool expand)
{
    tally t = {.expand = expand};
    if (noe_each_file(folder, ".onnx", write_back, &t) == 0) {
        noe_print_skip(test, "no models in this folder");
        return;
    }
    printf("%s: %d models, %d of %d nodes written, %d byte-equal; %d identical files\n",
           test, t.n_models, t.n_written, t.n_nodes, t.n_equal, t.n_identical);
    ck_assert_int_gt(t.n_equal, t.n_written * 9 / 10);
}

START_TEST(test_shared_models_are_written_back)
{
    check_folder(NOE_SHARED_DIR "/models", __func__, false);
}
END_TEST

START_TEST(test_expanded_models_are_written_back)
{
    check_folder(NOE_SHARED_DIR "/models", __func__, true);
}
END_TEST

START_TEST(test_shared_cases_are_written_back)
{
    check_folder(NOE_SHARED_DIR "/cases", __func__, false);
}
END_TEST

START_TEST(test_backend_tests_are_written_back)
{
    check_folder(NOE_BACKEND_TESTS, __func__, false);
}
END_TEST

/* ---- computed ---- */

typedef struct score {
    int n_seen, n_computed;
    double tolerance;
} score;

/* The stored input or output number i of a backend test, NULL if there is none. */
static Onnx__TensorProto *read_stored(const char *model, const char *what, size_t i)
{
    char path[600], *data;
    size_t len;
    int folder = (int)(strrchr(model, '/') - model);
    snprintf(path, sizeof path, "%.*s/test_data_set_0/%s_%zu.pb", folder, model, what,
             i);
    if (noe_file_read(path, MAX_BYTES, &data, &len, NULL) != NOE_OK)
        return NULL;
    Onnx__TensorProto *t = onnx__tensor_proto__unpack(NULL, len, (uint8_t *)data);
    free(data);
    return t;
}

static bool has_initializer(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (strcmp(g->initializer[i]->name, name) == 0)
            return true;
    }
    return false;
}

static void add_initializer(Onnx__GraphProto *g, Onnx__TensorProto *t)
{
    g->initializer =
        noe_realloc(g->initializer, (g->n_initializer + 1) * sizeof *g->initializer);
    g->initializer[g->n_initializer++] = t;
}

static bool has_defaults(const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_input; i++) {
        if (has_initializer(g, g->input[i]->name))
            return true;
    }
    return false;
}

/* Floats that say what an operator does. */
static bool is_setting(const char *name)
{
    return strcmp(name, "scales") == 0 || strcmp(name, "roi") == 0;
}

/* Operator tests feed shapes and axes through graph inputs: integer inputs, and the
 * scales of Resize, become constants with their stored value. */
static bool freeze_integers(const char *path, Onnx__GraphProto *g)
{
    size_t n = 0, stored = 0;
    for (size_t i = 0; i < g->n_input; i++) {
        Onnx__ValueInfoProto *info = g->input[i];
        Onnx__TensorProto *t = has_initializer(g, info->name)
                                   ? NULL
                                   : read_stored(path, "input", stored++);
        bool is_integer = t && (t->data_type == noe_dtype_to_onnx(NOE_I64) ||
                                t->data_type == noe_dtype_to_onnx(NOE_I32) ||
                                t->data_type == noe_dtype_to_onnx(NOE_BOOL) ||
                                is_setting(info->name));
        if (is_integer) {
            free(t->name);
            t->name = noe_strdup(info->name);
            add_initializer(g, t);
            onnx__value_info_proto__free_unpacked(info, NULL);
            continue;
        }
        if (t)
            onnx__tensor_proto__free_unpacked(t, NULL);
        g->input[n++] = info;
    }
    g->n_input = n;
    return n > 0;
}

/* Stored data by name of the graph input. */
typedef struct feed {
    const Onnx__GraphProto *graph; /* before freezing */
    const char *path;
    noe_arena *arena;
} feed;

/* What the tensor holds, as floats. Data of type bf16 is stored as u16. */
static float *load_floats(noe_arena *arena, const Onnx__TensorProto *t,
                          const char *path, const noe_type *type)
{
    noe_dtype stored = noe_dtype_from_onnx(t->data_type);
    int64_t n = noe_shape_elements(&type->shape);
    float *to = noe_arena_alloc(arena, (size_t)n * sizeof *to + 1);
    double *wide = noe_arena_alloc(arena, (size_t)n * sizeof *wide + 1);
    ck_assert_msg(stored == type->dtype ||
                      (stored == NOE_U16 && type->dtype == NOE_BF16),
                  "%s: data of type %s for %s", path, noe_dtype_name(stored),
                  noe_dtype_name(type->dtype));
    if (!t->has_raw_data) {
        ck_assert_msg(t->n_float_data == (size_t)n, "%s: no floats", path);
        memcpy(to, t->float_data, (size_t)n * sizeof *to);
        return to;
    }
    ck_assert_uint_eq(t->raw_data.len, (size_t)n * noe_dtype_bytes(stored));
    noe_dtype_load(type->dtype, t->raw_data.data, n, wide);
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)wide[i];
    return to;
}

static const float *feed_input(void *ctx, const noe_leaf *leaf)
{
    feed *f = ctx;
    size_t stored = 0;
    for (size_t i = 0; i < f->graph->n_input; i++) {
        const char *name = f->graph->input[i]->name;
        if (has_initializer(f->graph, name))
            continue;
        if (strcmp(name, leaf->name) == 0) {
            Onnx__TensorProto *t = read_stored(f->path, "input", stored);
            ck_assert_msg(t, "%s: no data for %s", f->path, name);
            float *data = load_floats(f->arena, t, f->path, &leaf->type);
            onnx__tensor_proto__free_unpacked(t, NULL);
            return data;
        }
        stored++;
    }
    ck_abort_msg("%s: no input %s", f->path, leaf->name);
    return NULL;
}

static void compare_outputs(feed *f, const noe_graph *g, float *const *got,
                            double tolerance)
{
    const char *path = f->path;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        Onnx__TensorProto *want = read_stored(path, "output", i);
        if (!want)
            continue;
        const noe_type *type = noe_graph_type(g, g->outputs[i].ref);
        size_t n = (size_t)noe_shape_elements(&type->shape), worst = 0;
        ck_assert_msg((int)want->n_dims == type->shape.rank, "%s: rank %d, want %zu",
                      path, type->shape.rank, want->n_dims);
        for (size_t k = 0; k < want->n_dims; k++)
            ck_assert_int_eq(want->dims[k], type->shape.dim[k]);
        const float *data = load_floats(f->arena, want, path, type);
        /* These were cut off, where the standard says rounded. */
        bool is_cut =
            type->dtype == NOE_BF16 && want->data_type != noe_dtype_to_onnx(NOE_BF16);
        ck_assert_msg(
            noe_close_f32(got[i], data, n, is_cut ? 1.0 / 128 : tolerance, &worst),
            "%s: output %u element %zu is %g, want %g", path, i, worst,
            (double)got[i][worst], (double)data[worst]);
        onnx__tensor_proto__free_unpacked(want, NULL);
    }
}

/* Computes the imported graph, and the same expanded, written, and imported again. */
static void compute_model(const char *path, const noe_onnx_model *m, feed *f, score *s)
{
    noe_arena arena = {0};
    const noe_graph *g = noe_onnx_graph(m);
    f->arena = &arena;
    compare_outputs(f, g, noe_evaluate_graph(g, &arena, feed_input, f), s->tolerance);
    noe_graph *core;
    noe_onnx_model *again;
    char *data;
    size_t len;
    noe_assert_ok(noe_graph_expand(g, &core, &err), err);
    compare_outputs(f, core, noe_evaluate_graph(core, &arena, feed_input, f),
                    s->tolerance);
    noe_assert_ok(noe_onnx_serialize(m, core, &data, &len, &err), err);
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
    ck_assert_msg(noe_can_evaluate(noe_onnx_graph(again)), "%s", path);
    compare_outputs(f, noe_onnx_graph(again),
                    noe_evaluate_graph(noe_onnx_graph(again), &arena, feed_input, f),
                    s->tolerance);
    free(data);
    noe_onnx_free(again);
    noe_graph_free(core);
    noe_arena_clear(&arena);
    s->n_computed++;
}

static void compute(void *ctx, const char *path)
{
    score *s = ctx;
    char *data;
    size_t len;
    noe_assert_ok(noe_file_read(path, MAX_BYTES, &data, &len, &err), err);
    Onnx__ModelProto *whole = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    Onnx__ModelProto *frozen = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    free(data);
    s->n_seen++;
    if (!has_defaults(whole->graph) && freeze_integers(path, frozen->graph)) {
        noe_onnx_model *m = NULL;
        data = pack(&frozen->base, &len);
        noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &m, &err), err);
        free(data);
        feed f = {.graph = whole->graph, .path = path};
        if (noe_can_evaluate(noe_onnx_graph(m)))
            compute_model(path, m, &f, s);
        noe_onnx_free(m);
    }
    onnx__model_proto__free_unpacked(whole, NULL);
    onnx__model_proto__free_unpacked(frozen, NULL);
}

/* The data was made by other arithmetic in single precision. */
#define TOLERANCE 2e-5

static void compute_folder(const char *folder, const char *test, int at_least)
{
    score s = {.tolerance = TOLERANCE};
    if (noe_each_file(folder, "model.onnx", compute, &s) == 0) {
        noe_print_skip(test, "no models in this folder");
        return;
    }
    printf("%s: %d of %d models computed, all outputs right\n", test, s.n_computed,
           s.n_seen);
    ck_assert_int_ge(s.n_computed, at_least);
}

START_TEST(test_backend_tests_compute)
{
    compute_folder(NOE_BACKEND_TESTS, __func__, 275);
}
END_TEST

START_TEST(test_shared_cases_compute)
{
    compute_folder(NOE_SHARED_DIR "/cases", __func__, 50);
}
END_TEST

START_TEST(test_newest_backend_tests_compute)
{
    char folder[200], command[600], *output;
    if (access(NOE_SHARED_DIR "/models/onnx_node_tests.tar.xz", R_OK) != 0)
        noe_skip("no shared data");
    noe_tmp_make(folder, sizeof folder);
    snprintf(command, sizeof command, "tar xJf %s -C %s",
             NOE_SHARED_DIR "/models/onnx_node_tests.tar.xz", folder);
    ck_assert_int_eq(noe_run_command(command, &output), 0);
    free(output);
    compute_folder(folder, __func__, 390);
    noe_tmp_remove(folder);
}
END_TEST

Suite *suite_corpus(void)
{
    Suite *s = suite_create("corpus");
    TCase *tc = tcase_create("corpus");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_shared_models_are_written_back);
    tcase_add_test(tc, test_expanded_models_are_written_back);
    tcase_add_test(tc, test_shared_cases_are_written_back);
    tcase_add_test(tc, test_backend_tests_are_written_back);
    tcase_add_test(tc, test_backend_tests_compute);
    tcase_add_test(tc, test_shared_cases_compute);
    tcase_add_test(tc, test_newest_backend_tests_compute);
    suite_add_tcase(s, tc);
    return s;
}
