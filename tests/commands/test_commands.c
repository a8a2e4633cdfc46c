/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs say, and with which exit code, compared with the files in golden/.
 * NOE_UPDATE_GOLDEN=1 rewrites those; then read the diff.
 */
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_GOLDEN_BYTES 100000

/* Shell commands, run in an empty folder with the programs in PATH. */
typedef struct command_case {
    const char *name; /* of the golden file */
    const char *line; /* its exit code is recorded */
    const char *before, *after;
} command_case;

/* What every program must answer. */
#define PROGRAM(NAME)                                                                \
    {NAME "-help", "noether-" NAME " --help", "", ""},                               \
        {NAME "-help-short", "noether-" NAME " -h", "", ""},                         \
        {NAME "-version",                                                            \
         "noether-" NAME " --version >v && sed '/^with/s/ [0-9][0-9.]*/ N/g' v", "", \
         ""},                                                                        \
    {                                                                                \
        NAME "-unknown-option", "noether-" NAME " --frobnicate 3", "", "ls"          \
    }

static const command_case cases[] = {
    PROGRAM("check"),
    PROGRAM("generate"),
    PROGRAM("make-model"),
    PROGRAM("optimize"),
    PROGRAM("rules"),
    PROGRAM("run"),
    PROGRAM("verify"),
    {"check-no-database", "noether-check nowhere.db", "", "ls"},
    {"check-no-operand", "noether-check", "", ""},
    {"check-no-axioms", "noether-check rules.db --axioms nowhere.txt", "", ""},
    {"generate-list-ops", "noether-generate --list-ops", "", ""},
    {"generate-bad-ops", "noether-generate --dry-run --ops add,frobnicate", "", "ls"},
    {"generate-no-database", "noether-generate", "", "ls"},
    {"generate-no-folder", "noether-generate --db nowhere/rules.db", "", "ls"},
    {"make-model-unknown", "noether-make-model vgg1000 out.onnx", "", "ls"},
    {"make-model-no-folder", "noether-make-model squeezenet nowhere/x.onnx", "", "ls"},
    {"run-no-input", "noether-run in.onnx", "noether-make-model mlp in.onnx", "ls"},
    {"run-bad-npz", "noether-run in.onnx -i in.npz",
     "noether-make-model mlp in.onnx && echo no archive >in.npz", "ls"},
    {"run-random",
     "noether-run in.onnx --random 1 -o out.npz && noether-run in.onnx -i "
     "out.npz",
     "noether-make-model mlp in.onnx", "ls"},
    {"optimize-no-operand", "noether-optimize", "", "ls"},
    {"optimize-no-output", "noether-optimize in.onnx", ": >in.onnx", "ls"},
    {"optimize-no-model", "noether-optimize nowhere.onnx -o out.onnx", "", "ls"},
    {"optimize-bad-model", "noether-optimize in.onnx -o out.onnx",
     "echo this is no model >in.onnx", "ls"},
    {"optimize-empty-model", "noether-optimize in.onnx -o out.onnx", ": >in.onnx",
     "ls"},
    {"optimize-bad-budget", "noether-optimize in.onnx -o out.onnx --budget -7", "",
     "ls"},
    {"optimize-bad-search", "noether-optimize in.onnx -o out.onnx --search sideways",
     "", "ls"},
    {"optimize-bad-inputs", "noether-optimize in.onnx -o out.onnx --inputs x --check 0",
     "", "ls"},
    {"optimize-bad-alpha", "noether-optimize in.onnx -o out.onnx --alpha many", "",
     "ls"},
    {"optimize-bad-shape",
     "noether-optimize in.onnx -o out.onnx --input-shape frobnicate",
     "noether-make-model squeezenet in.onnx", "ls"},
    {"optimize-bad-device", "noether-optimize in.onnx -o out.onnx --device abacus", "",
     "ls"},
    {"optimize-bad-dtype",
     "noether-optimize in.onnx -o out.onnx --device cuda --dtype f64", "", "ls"},
    {"optimize-dtype-of-cpu", "noether-optimize in.onnx -o out.onnx --dtype f16", "",
     "ls"},
    {"optimize-empty-operand", "noether-optimize '' -o out.onnx", "", "ls"},
    {"optimize-folder", "noether-optimize . -o out.onnx", "", "ls"},
    {"optimize-into-folder", "noether-optimize in.onnx -o out.onnx --rules nowhere.db",
     "noether-make-model squeezenet in.onnx && mkdir out.onnx", "ls"},
    {"optimize-no-folder",
     "noether-optimize in.onnx -o nowhere/out.onnx --rules nowhere.db",
     "noether-make-model squeezenet in.onnx", "ls"},
    {"optimize-no-such-input",
     "noether-optimize in.onnx -o out.onnx --input-shape z:1,3,224,224",
     "noether-make-model squeezenet in.onnx", "ls"},
    {"optimize-empty-rules", "noether-optimize in.onnx -o out.onnx --rules empty.db",
     "noether-make-model squeezenet in.onnx && : >empty.db", "ls"},
    {"optimize-no-rules", "noether-optimize in.onnx -o out.onnx --rules nowhere.db",
     "noether-make-model squeezenet in.onnx", "ls"},
    {"rules-no-database", "noether-rules nowhere.db stats", "", "ls"},
    {"rules-no-command", "noether-rules x.db", "", "ls"},
    {"rules-bad-command", "noether-rules x.db frobnicate", "", "ls"},
    {"verify-nothing", "noether-verify", "", "ls"},
    {"verify-bad-rule", "noether-verify --rule 'relu(?a => ?a'", "", "ls"},
    {"verify-wrong-rule", "noether-verify --rule 'relu(?a) => ?a' >answer", "",
     "head -n 1 answer"},
    {"verify-no-database", "noether-verify --db nowhere.db", "", "ls"},
    {"verify-empty-database", "noether-verify --db x.db", ": >x.db", "ls && cat x.db"},
    {"verify-no-sqlite", "noether-verify --db x.db", "echo no database >x.db",
     "cat x.db"},
};

static char folder[200];

static void make_folder(void)
{
    noe_tmp_make(folder, sizeof folder);
}

static void remove_folder(void)
{
    noe_tmp_remove(folder);
}

static char *run_case(const command_case *c)
{
    noe_buf script = {0};
    char *output;
    noe_buf_printf(&script,
                   "cd '%s' && PATH='%s':\"$PATH\" && export PATH\n"
                   "%s\n%s\necho \"exit $?\"\n%s\n",
                   folder, NOE_BIN_DIR, c->before, c->line, c->after);
    noe_run_command(script.text, &output);
    noe_buf_clear(&script);
    return output;
}

static void check_golden(const char *name, const char *got)
{
    char path[500];
    char *want;
    size_t len;
    noe_error err;
    snprintf(path, sizeof path, "%s/tests/commands/golden/%s.txt", NOE_SOURCE_DIR,
             name);
    if (getenv("NOE_UPDATE_GOLDEN"))
        noe_assert_ok(noe_file_write(path, got, strlen(got), &err), err);
    noe_assert_ok(noe_file_read(path, MAX_GOLDEN_BYTES, &want, &len, &err), err);
    size_t same = 0; /* Check cannot take long messages: from the first difference on */
    while (got[same] && got[same] == want[same])
        same++;
    while (same > 0 && got[same - 1] != '\n')
        same--;
    ck_assert_msg(strcmp(got, want) == 0, "%s differs; got:\n%.1000s\nwant:\n%.1000s",
                  path, got + same, want + same);
    free(want);
}

START_TEST(test_command_output)
{
    char *got = run_case(&cases[_i]);
    check_golden(cases[_i].name, got);
    free(got);
}
END_TEST

/* Terminals are 80 columns wide; the last column makes some of them wrap. */
START_TEST(test_command_lines_fit)
{
    char *got = run_case(&cases[_i]);
    bool is_help = noe_contains(cases[_i].name, "-help");
    for (const char *line = got; is_help && *line;) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len <= 79, "%s: %zu columns: %.*s", cases[_i].name, len, (int)len,
                      line);
        line += len + (line[len] == '\n');
    }
    free(got);
}
END_TEST

Suite *suite_commands(void);

Suite *suite_commands(void)
{
    Suite *suite = suite_create("commands.commands");
    TCase *tc = tcase_create("golden");
    int n_cases = (int)(sizeof cases / sizeof *cases);
    int n_common = 5 * 4; /* the PROGRAM rows */
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_command_output, 0, n_cases);
    tcase_add_loop_test(tc, test_command_lines_fit, 0, n_common);
    suite_add_tcase(suite, tc);
    return suite;
}
