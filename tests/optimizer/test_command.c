/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-optimize from the outside: exit codes, what is written and what is not. The
 * model is a dense network with seeded weights; the rules are planted.
 */
#include "core/base/mem.h"
#include "tests/optimizer/database.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char dir[256];

/* Runs the program in the test's folder. */
static int run(const char *args, char **output)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "cd '%s' && unset NOETHER_RULES && '%s/noether-optimize' %s",
                   dir, NOE_BIN_DIR, args);
    int code = noe_run_command(b.text, output);
    noe_buf_clear(&b);
    return code;
}

static void make_model(void)
{
    noe_buf b = {0};
    char *output;
    noe_buf_printf(&b, "'%s/noether-make-model' mlp '%s/model.onnx'", NOE_BIN_DIR, dir);
    int code = noe_run_command(b.text, &output);
    ck_assert_msg(code == 0, "%s", output);
    free(output);
    noe_buf_clear(&b);
}

static void make_rules(const char *name, const char *const *texts)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    fixture_database(path, texts);
}

static void setup(void)
{
    static const char *const right[] = {"neg(neg(?a)) => ?a",
                                        "relu(relu(?a)) => relu(?a)", NULL};
    /* Wrong, and so cheap that no noise of measuring can hide it. */
    static const char *const wrong[] = {
        "matmul(?a, ?b) => zeros[shape=[dim(?a, 0), dim(?b, 1)]]() "
        "where rank(?a) == 2 && rank(?b) == 2",
        NULL};
    noe_tmp_make(dir, sizeof dir);
    make_model();
    make_rules("right.db", right);
    make_rules("wrong.db", wrong);
}

static void teardown(void)
{
    noe_tmp_remove(dir);
}

static bool exists(const char *name)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

/* A command in the test's folder that must succeed. */
static void shell(const char *command)
{
    noe_buf b = {0};
    char *output;
    noe_buf_printf(&b, "cd '%s' && %s", dir, command);
    int code = noe_run_command(b.text, &output);
    ck_assert_msg(code == 0, "%s: exit %d: %s", command, code, output);
    free(output);
    noe_buf_clear(&b);
}

static int n_files(void)
{
    noe_buf b = {0};
    char *output;
    noe_buf_printf(&b, "ls -A '%s' | wc -l", dir);
    ck_assert_int_eq(noe_run_command(b.text, &output), 0);
    int n = atoi(output);
    free(output);
    noe_buf_clear(&b);
    return n;
}

/* Runs args; expects the exit code and a part of the output. */
static void expect(const char *args, int code, const char *text)
{
    char *output;
    int got = run(args, &output);
    ck_assert_msg(got == code, "%s: exit %d, want %d\n%s", args, got, code, output);
    ck_assert_msg(noe_contains(output, text), "%s: '%s' lacks '%s'", args, output,
                  text);
    free(output);
}

START_TEST(test_command_writes_a_result)
{
    expect("model.onnx -o out.onnx --rules right.db --budget 5", 0, "ONNX operators");
    ck_assert(exists("out.onnx"));
    expect("model.onnx two.onnx --rules right.db --budget 5", 0, "predicted");
    ck_assert(exists("two.onnx"));
}
END_TEST

/* With a rule that changes something (the wrong one, unchecked). */
START_TEST(test_command_is_deterministic)
{
    expect("model.onnx -o a.onnx --rules wrong.db --costs c.db --budget 5 --check 0 "
           "--no-timing",
           0, "rules applied");
    expect("model.onnx -o b.onnx --rules wrong.db --costs c.db --budget 5 --check 0 "
           "--no-timing",
           0, "0 kernels timed");
    shell("cmp a.onnx b.onnx");
}
END_TEST

#define ROOFLINE "--device roofline --budget 5 --rules "

START_TEST(test_command_searches_by_other_methods)
{
    expect("model.onnx -o a.onnx --search backtrack --check 0 " ROOFLINE "wrong.db", 0,
           "rules applied");
    expect("model.onnx -o b.onnx --search exact --check 0 " ROOFLINE "wrong.db", 0,
           "default search misses 0 us");
    expect("model.onnx --dry-run " ROOFLINE "right.db", 0, "peak memory (estimate)");
}
END_TEST

START_TEST(test_command_writes_the_input_where_nothing_is_gained)
{
    expect("model.onnx -o same.onnx --rules right.db --device roofline", 0,
           "the model is written as it was");
    shell("cmp model.onnx same.onnx");
}
END_TEST

/* The log of a (wrong, unchecked) run gives the same bytes again. */
START_TEST(test_command_replays_its_log)
{
    expect("model.onnx -o a.onnx --check 0 --log a.log --json a.json --explain "
           "--record a.costs " ROOFLINE "wrong.db",
           0, "at node");
    shell("grep -q '\"decision\": \"better\"' a.json");
    expect("model.onnx -o b.onnx --check 0 --replay a.log --log b.log " ROOFLINE
           "wrong.db",
           0, "0 rewrites tried");
    shell("cmp a.onnx b.onnx && cmp a.log b.log");
    expect("model.onnx -o c.onnx --check 0 --log c.log --budget 5 --rules wrong.db "
           "--device table:a.costs",
           0, "rules applied");
    shell("cmp a.onnx c.onnx && cmp a.log c.log");
    expect("a.onnx -o d.onnx --replay a.log " ROOFLINE "wrong.db", 2, "another model");
    expect("model.onnx -o d.onnx --replay a.log " ROOFLINE "right.db", 2,
           "is not among those that may be used");
    ck_assert(!exists("d.onnx"));
}
END_TEST

START_TEST(test_command_bisects)
{
    expect("model.onnx -o a.onnx --check 0 --log a.log " ROOFLINE "wrong.db", 0, "");
    expect("model.onnx --bisect --replay a.log " ROOFLINE "wrong.db", 0,
           "breaks the check");
    ck_assert(!exists("model.onnx.tmp"));
}
END_TEST

/* The heart of it: a wrong rule makes a wrong model, the check sees it, and neither the
 * result nor a temporary file is there afterwards; an old result is left as it was. */
START_TEST(test_command_writes_nothing_when_the_check_fails)
{
    int before = n_files();
    expect("model.onnx -o out.onnx --rules wrong.db --budget 5", 1,
           "the result differs from the original");
    ck_assert(!exists("out.onnx"));
    ck_assert_int_eq(n_files(), before);
    expect("model.onnx -o out.onnx --rules right.db --budget 5", 0, "");
    shell("cp out.onnx old.onnx");
    expect("model.onnx -o out.onnx --rules wrong.db --budget 5", 1, "differs");
    shell("cmp out.onnx old.onnx");
}
END_TEST

START_TEST(test_command_dry_run_writes_nothing)
{
    int before = n_files();
    expect("model.onnx --dry-run --rules right.db --budget 5", 0, "dry run");
    ck_assert_int_eq(n_files(), before);
}
END_TEST

static const struct {
    const char *args;
    int code;
    const char *text;
} refused[] = {
    {"", 2, "error"},
    {"model.onnx", 2, "-o"},
    {"model.onnx a.onnx -o b.onnx", 2, "twice"},
    {"model.onnx -o out.onnx --alpha 0.5", 2, "alpha"},
    {"model.onnx -o out.onnx --no-such-option", 2, "no-such-option"},
    {"model.onnx -o out.onnx --device vacuum --rules right.db", -1, "vacuum"},
    {"absent.onnx -o out.onnx --rules right.db", 4, "absent.onnx"},
    {"right.db -o out.onnx --rules right.db", 3, "right.db"},
    {"model.onnx -o out.onnx --rules absent.db", 4, "absent.db"},
    {"model.onnx -o out.onnx --rules model.onnx", 4, "model.onnx"},
    {"model.onnx -o no/such/folder/out.onnx --rules right.db --budget 0", 4,
     "no/such/folder"},
    {"model.onnx -o out.onnx --rules right.db --input-shape nonsense", -1, "nonsense"},
    {"model.onnx -o out.onnx --rules right.db --level mild", 2, "mild"},
    {"model.onnx -o out.onnx --rules right.db --search sideways", 2, "sideways"},
    {"model.onnx -o out.onnx --rules right.db --inputs in.npz --check 0", 2, "--check"},
    {"model.onnx -o out.onnx --rules right.db --device roofline --inputs in.npz", 4,
     "in.npz"},
    {"model.onnx -o out.onnx --rules right.db --skip-rule feed", 2, "'feed'"},
    {"model.onnx -o out.onnx --rules right.db --only-rule feed", 2, "'feed'"},
    {"model.onnx -o out.onnx --rules right.db --freeze", 2, "--costs"},
    {"model.onnx -o out.onnx --rules right.db --bisect", 2, "--replay"},
    {"model.onnx -o out.onnx --rules right.db --device table:", 2, "table:"},
    {"model.onnx -o out.onnx --rules right.db --device table:absent", 4, "absent"},
    {"model.onnx -o out.onnx --rules right.db --device ort:/absent/lib.so", 4,
     "/absent/lib.so"},
    {"model.onnx -o out.onnx --rules right.db --device roofline --replay absent.log", 4,
     "absent.log"},
    {"model.onnx -o out.onnx --rules right.db --device roofline --replay model.onnx", 3,
     "model.onnx"},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

START_TEST(test_command_refuses)
{
    char *output;
    int code = run(refused[_i].args, &output);
    if (refused[_i].code >= 0)
        ck_assert_msg(code == refused[_i].code, "%s: exit %d, want %d\n%s",
                      refused[_i].args, code, refused[_i].code, output);
    ck_assert_int_ne(code, 0);
    ck_assert_msg(noe_contains(output, refused[_i].text), "%s: '%s' lacks '%s'",
                  refused[_i].args, output, refused[_i].text);
    ck_assert(!exists("out.onnx"));
    free(output);
}
END_TEST

Suite *suite_command(void);
Suite *suite_command(void)
{
    Suite *s = suite_create("optimizer.command");
    TCase *tc = tcase_create("command");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 200);
    if (NOE_HAS_ONEDNN) { /* on device cpu */
        tcase_add_test(tc, test_command_writes_a_result);
        tcase_add_test(tc, test_command_is_deterministic);
        tcase_add_test(tc, test_command_writes_nothing_when_the_check_fails);
        tcase_add_test(tc, test_command_dry_run_writes_nothing);
    }
    tcase_add_test(tc, test_command_searches_by_other_methods);
    tcase_add_test(tc, test_command_writes_the_input_where_nothing_is_gained);
    tcase_add_test(tc, test_command_replays_its_log);
    tcase_add_test(tc, test_command_bisects);
    tcase_add_loop_test(tc, test_command_refuses, 0, N_REFUSED);
    suite_add_tcase(s, tc);
    return s;
}
