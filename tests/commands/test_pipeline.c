/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs one after the other, as a user runs them: candidates are generated,
 * proved and applied to a model. The operator set is tiny, so that this takes seconds.
 */
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

static char folder[200];

/* Runs a shell command in the folder, expects the exit code, gives the output. */
static char *run(int want_code, const char *command)
{
    noe_buf line = {0};
    char *output;
    noe_buf_printf(&line, "cd '%s' && PATH='%s':\"$PATH\" && export PATH && %s", folder,
                   NOE_BIN_DIR, command);
    int code = noe_run_command(line.text, &output);
    ck_assert_msg(code == want_code, "%s: exit %d, want %d:\n%s", command, code,
                  want_code, output);
    noe_buf_clear(&line);
    return output;
}

static void expect(int want_code, const char *command, const char *part)
{
    char *output = run(want_code, command);
    ck_assert_msg(noe_contains(output, part), "%s: output lacks '%s':\n%s", command,
                  part, output);
    free(output);
}

/* Protocol buffers by hand: a length-delimited field and a small number. */
static void add_field(noe_buf *b, int field, const char *data, size_t len)
{
    ck_assert_uint_lt(len, 128 * 128);
    char head[3] = {(char)(field << 3 | 2), (char)(len % 128 | 128), (char)(len / 128)};
    noe_buf_add(b, head, 3);
    noe_buf_add(b, data, len);
}

static void add_text(noe_buf *b, int field, const char *text)
{
    add_field(b, field, text, strlen(text));
}

static void add_buf(noe_buf *b, int field, noe_buf *part)
{
    add_field(b, field, noe_buf_text(part), part->len);
    noe_buf_clear(part);
}

static void add_number(noe_buf *b, int field, int value)
{
    ck_assert_int_lt(value, 128);
    char bytes[2] = {(char)(field << 3), (char)value};
    noe_buf_add(b, bytes, 2);
}

/* ValueInfoProto of an f32 tensor [1, 64, 56, 56]. */
static void add_value_info(noe_buf *graph, int field, const char *name)
{
    noe_buf shape = {0}, tensor = {0}, type = {0}, info = {0};
    static const int dims[] = {1, 64, 56, 56};
    for (int i = 0; i < 4; i++) {
        noe_buf dim = {0};
        add_number(&dim, 1, dims[i]);
        add_buf(&shape, 1, &dim);
    }
    add_number(&tensor, 1, 1);
    add_buf(&tensor, 2, &shape);
    add_buf(&type, 1, &tensor);
    add_text(&info, 1, name);
    add_buf(&info, 2, &type);
    add_buf(graph, field, &info);
}

static void add_relu(noe_buf *graph, const char *in, const char *out)
{
    noe_buf node = {0};
    add_text(&node, 1, in);
    add_text(&node, 2, out);
    add_text(&node, 4, "Relu");
    add_buf(graph, 1, &node);
}

/* x -> Relu -> Relu -> Relu -> y */
static void write_model(void)
{
    noe_buf graph = {0}, opset = {0}, model = {0}, path = {0};
    noe_error err;
    add_relu(&graph, "x", "a");
    add_relu(&graph, "a", "b");
    add_relu(&graph, "b", "y");
    add_text(&graph, 2, "three");
    add_value_info(&graph, 11, "x");
    add_value_info(&graph, 12, "y");
    add_number(&opset, 2, 13);
    add_number(&model, 1, 8);
    add_buf(&model, 7, &graph);
    add_buf(&model, 8, &opset);
    noe_buf_printf(&path, "%s/three.onnx", folder);
    noe_assert_ok(noe_file_write(path.text, model.text, model.len, &err), err);
    noe_buf_clear(&model);
    noe_buf_clear(&path);
}

static void setup(void)
{
    noe_tmp_make(folder, sizeof folder);
}

static void teardown(void)
{
    noe_tmp_remove(folder);
}

START_TEST(test_pipeline_from_operators_to_a_smaller_model)
{
    expect(0, "noether-generate --db rules.db --ops relu,concat --level 2",
           "candidates");
    expect(0, "noether-rules rules.db stats", "unjudged");
    expect(0, "noether-verify --db rules.db", "proved");
    expect(0, "noether-rules rules.db list", "relu(relu(?a)) => relu(?a)");
    expect(0, "noether-rules rules.db check", " 0 problems");
    write_model();
    char *report = run(0, "noether-optimize three.onnx -o out.onnx --rules rules.db "
                          "--costs costs.db");
    ck_assert_msg(noe_contains(report, "relu(relu(?a)) => relu(?a)"), "%s", report);
    free(report);
    /* What is best cannot be made better, with the same costs. */
    expect(0,
           "noether-optimize out.onnx -o again.onnx --rules rules.db --costs costs.db",
           "no rule makes it cheaper");
    expect(0, "ls", "again.onnx\ncosts.db\nout.onnx\nrules.db\nthree.onnx\n");
}
END_TEST

#ifdef NOE_FAKE_CUDA
/* Device cuda on stand-ins for NVIDIA's libraries, and what is said without them. */
START_TEST(test_pipeline_on_cuda)
{
    static const char optimize[] = "noether-optimize three.onnx -o out.onnx --rules "
                                   "rules.db --device cuda --dtype ";
    noe_buf with = {0}, without = {0};
    expect(0, "noether-generate --db rules.db --ops relu --level 2", "candidates");
    expect(0, "noether-verify --db rules.db", "proved");
    expect(0,
           "mkdir lib && for n in cudart.so.13 cuda.so.1 nvrtc.so.13 cublasLt.so.13 "
           "cudnn.so.9; do ln -s '" NOE_FAKE_CUDA "' lib/lib$n; done",
           "");
    write_model();
    noe_buf_printf(&with, "XDG_CACHE_HOME=$PWD NOETHER_CUDA_LIBRARIES=$PWD/lib %sf16",
                   optimize);
    char *report = run(0, with.text);
    ck_assert_msg(noe_contains(report, "check on the device: passed"), "%s", report);
    ck_assert_msg(noe_contains(report, "costs: cuda Fake GPU sm_90"), "%s", report);
    free(report);
    noe_buf_printf(&without, "rm out.onnx; NOETHER_CUDA_LIBRARIES=/nowhere %sf32",
                   optimize);
    expect(5, without.text,
           "device cuda: the CUDA runtime (libcudart.so.13) is not there; looked in "
           "/nowhere");
    noe_buf_clear(&without);
    noe_buf_printf(&without,
                   "FAKE_CUDA=devices=0 NOETHER_CUDA_LIBRARIES=$PWD/lib %sf32",
                   optimize);
    expect(5, without.text, "no CUDA device");
    expect(2, "ls out.onnx", "");
    noe_buf_clear(&with);
    noe_buf_clear(&without);
}
END_TEST
#endif

START_TEST(test_pipeline_without_proofs_changes_nothing)
{
    /* Candidates alone are no rules. */
    expect(0, "noether-generate --db rules.db --ops relu --level 2", "candidates");
    write_model();
    expect(0,
           "noether-optimize three.onnx -o out.onnx --rules rules.db --costs costs.db",
           "no rule makes it cheaper");
}
END_TEST

START_TEST(test_pipeline_is_deterministic)
{
    static const char make[] =
        "noether-generate --db %s.db --ops relu,transpose --level 2 "
        ">/dev/null && noether-verify --db %s.db >/dev/null && "
        "noether-rules %s.db list --format tsv";
    char *listed[2];
    for (int i = 0; i < 2; i++) {
        noe_buf command = {0};
        const char *name = i ? "second" : "first";
        noe_buf_printf(&command, make, name, name, name);
        listed[i] = run(0, command.text);
        noe_buf_clear(&command);
    }
    ck_assert(noe_contains(listed[0], "relu"));
    ck_assert_str_eq(listed[0], listed[1]);
    free(listed[0]);
    free(listed[1]);
}
END_TEST

START_TEST(test_pipeline_resumes)
{
    expect(0, "noether-generate --db rules.db --ops relu,concat --level 2",
           "candidates");
    expect(0, "noether-verify --db rules.db", "proved");
    char *before = run(0, "noether-rules rules.db list --format tsv");
    /* The same once more adds nothing. */
    expect(0, "noether-generate --db rules.db --ops relu,concat --level 2", " 0 new");
    expect(0, "noether-verify --db rules.db", "candidates 0 ");
    char *after = run(0, "noether-rules rules.db list --format tsv");
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

Suite *suite_pipeline(void);

Suite *suite_pipeline(void)
{
    Suite *suite = suite_create("commands.pipeline");
    TCase *tc = tcase_create("pipeline");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 150);
    tcase_add_test(tc, test_pipeline_from_operators_to_a_smaller_model);
#ifdef NOE_FAKE_CUDA
    tcase_add_test(tc, test_pipeline_on_cuda);
#endif
    tcase_add_test(tc, test_pipeline_without_proofs_changes_nothing);
    tcase_add_test(tc, test_pipeline_is_deterministic);
    tcase_add_test(tc, test_pipeline_resumes);
    suite_add_tcase(suite, tc);
    return suite;
}
