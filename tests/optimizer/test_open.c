/* SPDX-License-Identifier: Apache-2.0
 *
 * --assume-shape from the outside: the result has the sizes open that the model leaves
 * open, and computes the same at whatever sizes.
 */
#include "core/base/file.h"
#include "core/base/mem.h"
#include "optimizer/whole.h"
#include "tests/onnx_io/build.h"
#include "tests/optimizer/database.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

static char dir[256];
static noe_error err;
static const noe_check_options options = {1, 1e-3, 1e-6};

static const char *const rules[] = {
    "relu(relu(?a)) => relu(?a)",
    "transpose[perm=$a](transpose[perm=$b](?a)) => transpose[perm=at($b, $a)](?a)",
    "transpose[perm=$a](?a) => ?a where $a == range(len($a))",
    "reshape[shape=$a](reshape[shape=$b](?a)) => reshape[shape=$a](?a)",
    /* holds for two images, not for all */
    "neg(neg(?a)) => ?a where dim(?a, 0) == 2", NULL};

#define HEAD "ir 8\nopset 13\n"
/* the first size of x, and -1 */
#define FLAT                                                                        \
    "init i i64 1 = 0\ninit m i64 1 = -1\nnode Shape x -> s\nnode Gather s,i -> n " \
    "axis=i:0\nnode Concat n,m -> to axis=i:0\n"

static const struct {
    const char *model, *assumed;
    const char *nodes; /* of the result */
    const char *sizes[3];
} cases[] = {
    {HEAD
     "input x f32 n,3,4\noutput y f32 n,5\ninit w f32 12,5\n"
     "node Transpose x -> a perm=ints:0,2,1\n"
     "node Transpose a -> b perm=ints:0,2,1\nnode Relu b -> r\nnode Relu r -> q\n" FLAT
     "node Reshape q,to -> f\nnode MatMul f,w -> y\n",
     "x:4,3,4",
     "Relu(x)->r Reshape(r,noether_shape_)->f MatMul(f,w)->y ",
     {"x:1,3,4", "x:2,3,4", "x:9,3,4"}},
    /* two sizes, a size that is a product of them */
    {HEAD "input x f32 n,m,4\noutput y f32 k\ninit o i64 1 = -1\n"
          "init u i64 2 = 4,-1\nnode Relu x -> a\nnode Relu a -> b\n"
          "node Reshape b,u -> c\nnode Reshape c,o -> y\n",
     "x:4,2,4",
     "Relu(x)->a Reshape(a,noether_shape_)->y ",
     {"x:1,1,4", "x:2,5,4", "x:3,2,4"}},
    /* what holds at the assumed sizes only is not done, what does for all is */
    {HEAD "input x f32 n,3\noutput y f32 n,3\nnode Neg x -> a\nnode Neg a -> b\n"
          "node Relu b -> c\nnode Relu c -> y\n",
     "x:2,3",
     "Neg(x)->a Neg(a)->b Relu(b)->y ",
     {"x:1,3", "x:2,3", "x:6,3"}},
    /* a part that depends on the size in another way stays as it is */
    {HEAD "input x f32 n,3\noutput y f32 k,3\ninit a i64 1 = 0\ninit e i64 1 = -1\n"
          "node Relu x -> b\nnode Relu b -> c\nnode Slice c,a,e -> d\n"
          "node Relu d -> g\nnode Relu g -> y\n",
     "x:4,3",
     "Relu(x)->b Slice(b,a,e)->d Relu(d)->g Relu(g)->y ",
     {"x:1,3", "x:2,3", "x:6,3"}},
    /* a large constant end is no end for all sizes */
    {HEAD "input x f32 n,3\noutput y f32 k,3\ninit a i64 1 = 0\ninit e i64 1 = 5\n"
          "node Slice x,a,e -> d\nnode Relu d -> g\nnode Relu g -> y\n",
     "x:4,3",
     "Slice(x,a,e)->d Relu(d)->g Relu(g)->y ",
     {"x:1,3", "x:5,3", "x:8,3"}},
    /* with the other size fixed */
    {HEAD "input x f32 n,m\noutput y f32 n,m\nnode Relu x -> a\nnode Relu a -> y\n",
     "x:4,2",
     "Relu(x)->y ",
     {"x:1,3", "x:2,3", "x:6,1"}},
};

static void setup(void)
{
    char path[300];
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/rules.db", dir);
    fixture_database(path, rules);
}

static void teardown(void)
{
    noe_tmp_remove(dir);
}

static void write_model(const char *text)
{
    char path[300];
    size_t len;
    char *data = noe_build_model(text, &len);
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    noe_assert_ok(noe_file_write(path, data, len, &err), err);
    free(data);
}

static int run(const char *args, char **output)
{
    noe_buf b = {0};
    noe_buf_printf(&b,
                   "cd '%s' && '%s/noether-optimize' model.onnx -o out.onnx --rules "
                   "rules.db --device roofline --no-timing %s",
                   dir, NOE_BIN_DIR, args);
    int code = noe_run_command(b.text, output);
    noe_buf_clear(&b);
    return code;
}

static noe_onnx_model *load(const char *name, const char *sizes)
{
    char path[300];
    noe_onnx_model *m;
    noe_env env = {0};
    noe_onnx_options o = {.input_shapes = &sizes, .n_input_shapes = sizes ? 1 : 0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    noe_assert_ok(noe_onnx_load(path, &o, &env, &m, &err), err);
    return m;
}

static char *nodes_of_result(void)
{
    size_t len;
    noe_onnx_model *m = load("out.onnx", NULL);
    const void *data = noe_onnx_bytes(m, &len);
    Onnx__ModelProto *p = onnx__model_proto__unpack(NULL, len, data);
    ck_assert_ptr_nonnull(p);
    char *text = noe_describe_nodes(p->graph);
    /* Are the sizes of the input still open? */
    const Onnx__TensorShapeProto *s = p->graph->input[0]->type->tensor_type->shape;
    ck_assert_str_eq(s->dim[0]->dim_param, "n");
    onnx__model_proto__free_unpacked(p, NULL);
    noe_onnx_free(m);
    return text;
}

static void compare_at(const char *sizes)
{
    noe_whole_report r;
    noe_onnx_model *before = load("model.onnx", sizes),
                   *after = load("out.onnx", sizes);
    noe_assert_ok(noe_whole_check(before, after, NULL, 1, &options, &r, &err), err);
    ck_assert_msg(r.is_done, "%s: %s", sizes, r.why);
    noe_onnx_free(before);
    noe_onnx_free(after);
}

/* Numbers in names of new tensors are of no interest. */
static void drop_numbers(char *text)
{
    for (char *p = text; (p = strstr(p, "noether_shape_"));) {
        p += strlen("noether_shape_");
        size_t n = strspn(p, "0123456789");
        memmove(p, p + n, strlen(p + n) + 1);
    }
}

START_TEST(test_sizes_stay_open)
{
    char *output;
    char args[100];
    write_model(cases[_i].model);
    snprintf(args, sizeof args, "--assume-shape %s", cases[_i].assumed);
    int code = run(args, &output);
    ck_assert_msg(code == 0, "%s", output);
    ck_assert_msg(noe_contains(output, "check with open sizes 1, and small: passed") !=
                      noe_contains(output, "the model is written as it was"),
                  "%s", output);
    free(output);
    char *nodes = nodes_of_result();
    drop_numbers(nodes);
    ck_assert_str_eq(nodes, cases[_i].nodes);
    free(nodes);
    for (int i = 0; i < 3; i++)
        compare_at(cases[_i].sizes[i]);
}
END_TEST

START_TEST(test_result_does_not_depend_on_the_assumption)
{
    static const char *const args[] = {"--assume-shape x:2,3,4",
                                       "--assume-shape x:64x3x4"};
    char *data[2], *output, path[300];
    size_t len[2];
    write_model(cases[0].model);
    snprintf(path, sizeof path, "%s/out.onnx", dir);
    for (int i = 0; i < 2; i++) {
        int code = run(args[i], &output);
        ck_assert_msg(code == 0, "%s", output);
        free(output);
        noe_assert_ok(noe_file_read(path, UINT64_MAX, &data[i], &len[i], &err), err);
    }
    ck_assert_uint_eq(len[0], len[1]);
    ck_assert_mem_eq(data[0], data[1], len[0]);
    free(data[0]);
    free(data[1]);
}
END_TEST

static const struct {
    const char *args, *message;
} faults[] = {
    {"--assume-shape z:1,3,4", "the model has no input 'z'"},
    {"--assume-shape x:1,3,5", "size 2 is 5, the model or a shape before has 4"},
    {"--assume-shape x:1,3", "2 sizes, the input has rank 3"},
    {"--assume-shape x:0,3,4", "size 0 is not at least 1"},
    {"--assume-shape x:n,3,4", "'n,3,4' is no list of sizes"},
    {"--assume-shape x", "want NAME:SIZE,SIZE,..."},
    {"--assume-shape x:2,3,4 --assume-shape x:3,3,4", "size 0 is 3"},
    {"--input-shape x:2,3,4 --assume-shape x:3,3,4", "size 0 is 3"},
};

START_TEST(test_faults)
{
    char *output;
    write_model(cases[0].model);
    int code = run(faults[_i].args, &output);
    ck_assert_msg(code == 2, "exit %d: %s", code, output);
    ck_assert_msg(noe_contains(output, faults[_i].message), "'%s' lacks '%s'", output,
                  faults[_i].message);
    free(output);
}
END_TEST

START_TEST(test_one_symbol_has_one_size)
{
    char *output;
    write_model(HEAD "input x f32 n,3\ninput z f32 n,3\noutput y f32 n,3\n"
                     "node Add x,z -> y\n");
    ck_assert_int_eq(run("--assume-shape x:2,3 --assume-shape z:3,3", &output), 2);
    ck_assert_msg(noe_contains(output, "size 0 is 3 here and 2 elsewhere"), "%s",
                  output);
    free(output);
    ck_assert_int_eq(run("--assume-shape x:2,3 --assume-shape z:2,3", &output), 0);
    free(output);
}
END_TEST

START_TEST(test_open_ranks_are_refused)
{
    char *output;
    write_model(HEAD "input x f32 *\noutput y f32 *\nnode Relu x -> y\n");
    ck_assert_int_eq(run("--assume-shape x:2,3", &output), 2);
    ck_assert_msg(noe_contains(output, "leaves the rank open"), "%s", output);
    free(output);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_open(void);
Suite *suite_open(void)
{
    Suite *s = suite_create("optimizer.open");
    TCase *tc = tcase_create("open");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_sizes_stay_open, 0, N(cases));
    tcase_add_test(tc, test_result_does_not_depend_on_the_assumption);
    tcase_add_loop_test(tc, test_faults, 0, N(faults));
    tcase_add_test(tc, test_one_symbol_has_one_size);
    tcase_add_test(tc, test_open_ranks_are_refused);
    suite_add_tcase(s, tc);
    return s;
}
