/* SPDX-License-Identifier: Apache-2.0
 * noe_options_parse prints and exits, so it runs in a child whose output is read back.
 */
#include "core/base/options.h"
#include "core/base/mem.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct outcome {
    int code;
    char text[4000]; /* stdout and stderr; after success what was parsed */
} outcome;

static int verbose;
static int64_t budget;
static double alpha;
static const char *output_path;
static noe_option_texts shapes;

static const noe_option options[] = {
    {"budget", 'b', NOE_OPTION_INT, &budget, 1, 1000000, "<n>", "states to expand", 1},
    {"alpha", 0, NOE_OPTION_REAL, &alpha, 1, 2, "<x>", "cost threshold", 0},
    {"output", 'o', NOE_OPTION_TEXT, &output_path, 0, 0, "<file>",
     "where the result goes; this explanation is long enough to need a second line, "
     "and even a third one if one counts",
     1},
    {"input-shape", 0, NOE_OPTION_TEXTS, &shapes, 0, 0, "<name:dims>",
     "shape of an input, may be repeated", 0},
    {"verbose", 'v', NOE_OPTION_FLAG, &verbose, 0, 0, NULL, "say more", 0},
};
static const char *one_library(void)
{
    return "one 1.2";
}

static const char *other_library(void)
{
    return "other 3";
}

static const char *(*const libraries[])(void) = {one_library, other_library, NULL};

static const noe_program program = {
    .name = "noether-test",
    .operands = "MODEL.onnx",
    .summary = "Does nothing at all.",
    .epilogue = "Exit codes: 0 done.",
    .options = options,
    .n_options = 5,
    .libraries = libraries,
    .min_operands = 1,
    .max_operands = 2,
};

_Noreturn static void run_child(int fd, char **argv)
{
    const char *operands[2];
    int n, argc = 0;
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    while (argv[argc])
        argc++;
    budget = 1000;
    alpha = 1.05;
    output_path = "out.onnx";
    noe_options_parse(&program, argc, argv, operands, &n);
    printf("budget=%lld alpha=%g output=%s verbose=%d", (long long)budget, alpha,
           output_path, verbose);
    for (int i = 0; i < shapes.n; i++)
        printf(" shape=%s", shapes.text[i]);
    for (int i = 0; i < n; i++)
        printf(" operand=%s", operands[i]);
    printf("\n");
    fflush(stdout);
    _exit(77);
}

/* line: arguments parted by one blank; "''" is an empty one. */
static outcome run(const char *line)
{
    char copy[2000], *argv[64] = {(char[]){"noether-test"}}, *rest = copy;
    int n = 1;
    snprintf(copy, sizeof copy, "%s", line);
    while (*copy && rest)
        argv[n++] = strsep(&rest, " ");
    for (int i = 1; i < n; i++) {
        if (strcmp(argv[i], "''") == 0)
            argv[i][0] = '\0';
    }
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        run_child(ends[1], argv);
    close(ends[1]);
    outcome out = {0};
    size_t len = 0;
    ssize_t got;
    while ((got = read(ends[0], out.text + len, sizeof out.text - 1 - len)) > 0)
        len += (size_t)got;
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "'%s' ended by a signal: %s", line, out.text);
    out.code = WEXITSTATUS(status);
    return out;
}

static const struct {
    const char *line, *want;
} good[] = {
    {"m", "budget=1000 alpha=1.05 output=out.onnx verbose=0 operand=m\n"},
    {"--budget 7 m", "budget=7 alpha=1.05 output=out.onnx verbose=0 operand=m\n"},
    {"m --budget=7", "budget=7 alpha=1.05 output=out.onnx verbose=0 operand=m\n"},
    {"-b7 m", "budget=7 alpha=1.05 output=out.onnx verbose=0 operand=m\n"},
    {"-b 7 m n", "budget=7 alpha=1.05 output=out.onnx verbose=0 operand=m operand=n\n"},
    {"-vo x m", "budget=1000 alpha=1.05 output=x verbose=1 operand=m\n"},
    {"m -v -o x", "budget=1000 alpha=1.05 output=x verbose=1 operand=m\n"},
    {"-b 7 -b 8 m", "budget=8 alpha=1.05 output=out.onnx verbose=0 operand=m\n"},
    {"--alpha=1.5 m", "budget=1000 alpha=1.5 output=out.onnx verbose=0 operand=m\n"},
    {"-- -v", "budget=1000 alpha=1.05 output=out.onnx verbose=0 operand=-v\n"},
    {"-", "budget=1000 alpha=1.05 output=out.onnx verbose=0 operand=-\n"},
    {"--output=a=b m", "budget=1000 alpha=1.05 output=a=b verbose=0 operand=m\n"},
    {"--input-shape x:1 --input-shape=y:2 m",
     "budget=1000 alpha=1.05 output=out.onnx verbose=0 shape=x:1 shape=y:2 "
     "operand=m\n"},
};

START_TEST(test_options_good)
{
    outcome out = run(good[_i].line);
    ck_assert_str_eq(out.text, good[_i].want);
    ck_assert_int_eq(out.code, 77);
}
END_TEST

static const struct {
    const char *line, *want;
} bad[] = {
    {"--frobnicate m", "unknown option '--frobnicate'"},
    {"--budgets=3 m", "unknown option '--budgets'"},
    {"-x m", "unknown option '-x'"},
    {"-vx m", "unknown option '-x'"},
    {"--budget 0 m", "--budget: 0 is not within 1..1000000"},
    {"--budget=-5 m", "--budget: -5 is not within 1..1000000"},
    {"-b 1000001 m", "-b: 1000001 is not within 1..1000000"},
    {"--budget 99999999999999999999 m", "'99999999999999999999' is too large"},
    {"--budget many m", "--budget: 'many' is no integer"},
    {"--budget 5x m", "--budget: '5x' is no integer"},
    {"--budget 1e3 m", "--budget: '1e3' is no integer"},
    {"--budget= m", "--budget: the value is empty"},
    {"--budget '' m", "--budget: the value is empty"},
    {"m --budget", "--budget: the value <n> is missing"},
    {"m -o", "-o: the value <file> is missing"},
    {"--alpha nan m", "--alpha: 'nan' is no finite number"},
    {"--alpha inf m", "--alpha: 'inf' is no finite number"},
    {"--alpha 2.5 m", "--alpha: 2.5 is not within 1..2"},
    {"--verbose=1 m", "--verbose: takes no value, '1' was given"},
    {"", "an operand is missing, want 'MODEL.onnx'"},
    {"a b c", "unexpected operand 'c'"},
    {"a ''", "operand 2 is empty"},
};

START_TEST(test_options_bad)
{
    outcome out = run(bad[_i].line);
    ck_assert_int_eq(out.code, 2);
    ck_assert_msg(strncmp(out.text, "noether-test: error: ", 21) == 0, "%s", out.text);
    ck_assert_msg(noe_contains(out.text, bad[_i].want), "'%s' lacks '%s'", out.text,
                  bad[_i].want);
    ck_assert_msg(noe_contains(out.text, "see 'noether-test --help'\n"), "%s",
                  out.text);
    /* One line. */
    ck_assert_ptr_eq(strchr(out.text, '\n'), out.text + strlen(out.text) - 1);
}
END_TEST

START_TEST(test_options_texts_limit)
{
    noe_buf line = {0};
    for (int i = 0; i < 33; i++)
        noe_buf_puts(&line, "--input-shape=x ");
    noe_buf_puts(&line, "m");
    outcome out = run(line.text);
    ck_assert_int_eq(out.code, 2);
    ck_assert_msg(noe_contains(out.text, "more than 32 times"), "%s", out.text);
    noe_buf_clear(&line);
}
END_TEST

static void check_columns(const char *text)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len <= 79, "%zu columns: %.*s", len, (int)len, line);
        ck_assert_msg(len == 0 || line[len - 1] != ' ', "blank at the end: '%.*s'",
                      (int)len, line);
        line += len + (line[len] == '\n');
    }
}

START_TEST(test_options_help)
{
    outcome all = run("--help");
    ck_assert_int_eq(all.code, 0);
    check_columns(all.text);
    ck_assert(strncmp(all.text, "Usage: noether-test [options] MODEL.onnx\n", 41) == 0);
    for (int i = 0; i < program.n_options; i++)
        ck_assert_msg(noe_contains(all.text, options[i].name), "%s", options[i].name);
    ck_assert_msg(noe_contains(all.text, "(default 1000; 1..1000000)"), "%s", all.text);
    ck_assert(noe_contains(all.text, "Exit codes: 0 done.\n"));
    outcome common = run("-h");
    ck_assert_int_eq(common.code, 0);
    check_columns(common.text);
    ck_assert(noe_contains(common.text, "--budget"));
    ck_assert(!noe_contains(common.text, "--alpha"));
    /* Help is given whatever else is on the line before it. */
    ck_assert_str_eq(run("-v m --help").text, all.text);
}
END_TEST

START_TEST(test_options_version)
{
    outcome out = run("--version");
    ck_assert_int_eq(out.code, 0);
    ck_assert_str_eq(out.text, "noether-test " NOE_VERSION "\nwith one 1.2, other 3\n");
    ck_assert_str_eq(noe_version, NOE_VERSION);
}
END_TEST

Suite *suite_options(void);

Suite *suite_options(void)
{
    Suite *suite = suite_create("core.options");
    TCase *tc = tcase_create("options");
    tcase_add_loop_test(tc, test_options_good, 0, (int)(sizeof good / sizeof *good));
    tcase_add_loop_test(tc, test_options_bad, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tc, test_options_texts_limit);
    tcase_add_test(tc, test_options_help);
    tcase_add_test(tc, test_options_version);
    suite_add_tcase(suite, tc);
    return suite;
}
