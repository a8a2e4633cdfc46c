/* SPDX-License-Identifier: Apache-2.0
 * noether-rules on the filled fixture: its output is compared with golden/NAME.out.
 * NOE_UPDATE_GOLDEN=1 rewrites the files; the difference is for review. */
#include "tests/ruledb/fixture.h"
#include "core/op.h"
#include "core/base/file.h"
#include "ruledb/report.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static noe_error err;

static void setup(void)
{
    err = (noe_error){0};
    fixture_setup();
    fixture_fill();
    noe_ruledb_close(f.db);
    f.db = NULL;
}

/* Replaces every `from` in text by `to`; takes text. */
static char *replace_all(char *text, const char *from, const char *to)
{
    noe_buf b = {0};
    noe_buf_puts(&b, "");
    for (const char *p = text; *p;) {
        bool hit = strncmp(p, from, strlen(from)) == 0;
        noe_buf_add(&b, hit ? to : p, hit ? strlen(to) : 1);
        p += hit ? strlen(from) : 1;
    }
    free(text);
    return b.text;
}

/* Output and exit code of noether-rules; paths and the operator table's hash, which
 * changes with the table, are written as words. */
static char *run_rules(const char *arguments, int *code)
{
    char hash[17];
    noe_buf command = {0};
    char *output;
    noe_buf_printf(&command, "cd '%s' && NO_COLOR= '%s/noether-rules' %s", f.folder,
                   NOE_BIN_DIR, arguments);
    *code = noe_run_command(command.text, &output);
    noe_buf_clear(&command);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)noe_op_table_hash());
    return replace_all(output, hash, "OPTABLE");
}

static const struct {
    const char *name, *arguments;
    int code;
} golden[] = {
    {"list", "rules.db list", 0},
    {"list_op", "rules.db list --op concat", 0},
    {"list_class", "rules.db list --class float", 0},
    {"list_reduces", "rules.db list --reduces --format tsv", 0},
    {"list_level", "rules.db list --level 3", 0},
    {"show_rule", "rules.db show 27e6", 0},
    {"show_condition", "rules.db show 9C4658D7467022b085573b880a42beb6", 0},
    {"show_refuted", "rules.db show c01", 0},
    {"stats", "rules.db stats", 0},
    {"stats_tsv", "rules.db stats --format=tsv", 0},
    {"refuted", "rules.db refuted", 0},
    {"refuted_none", "rules.db refuted 0", 0},
    {"pending", "rules.db pending all --format tsv", 0},
    {"check", "rules.db check", 0},
    {"export", "rules.db export -", 0},
    {"help", "--help", 0},
    {"error_ambiguous", "rules.db show c", 2},
    {"error_unknown_id", "rules.db show 00000000", 2},
    {"error_no_id", "rules.db show xyz", 2},
    {"error_show_nothing", "rules.db show", 2},
    {"error_command", "rules.db frobnicate", 2},
    {"error_argument", "rules.db list more", 2},
    {"error_op", "rules.db list --op frobnicate", 2},
    {"error_class", "rules.db list --class good", 2},
    {"error_format", "rules.db list --format html", 2},
    {"error_limit", "rules.db pending -- -3", 2},
    {"error_missing", "absent.db list", 4},
    {"error_export", "rules.db export nowhere/x.txt", 4},
};

START_TEST(test_golden)
{
    char path[600];
    char *want = NULL;
    size_t len;
    int code;
    char *got = run_rules(golden[_i].arguments, &code);
    snprintf(path, sizeof path, "%s/tests/ruledb/golden/%s.out", NOE_SOURCE_DIR,
             golden[_i].name);
    if (getenv("NOE_UPDATE_GOLDEN"))
        noe_assert_ok(noe_file_write(path, got, strlen(got), &err), err);
    noe_assert_ok(noe_file_read(path, 1 << 20, &want, &len, &err), err);
    ck_assert_msg(strcmp(got, want) == 0, "noether-rules %s\n--- got\n%s--- want\n%s",
                  golden[_i].arguments, got, want);
    ck_assert_int_eq(code, golden[_i].code);
    free(got);
    free(want);
}
END_TEST

START_TEST(test_export_is_a_rule_file)
{
    int code;
    char *text, *direct;
    size_t len;
    char path[300];
    free(run_rules("rules.db export out.txt", &code));
    ck_assert_int_eq(code, 0);
    snprintf(path, sizeof path, "%s/out.txt", f.folder);
    noe_assert_ok(noe_file_read(path, 1 << 20, &text, &len, &err), err);
    direct = run_rules("rules.db export -", &code);
    ck_assert_str_eq(text, direct);
    free(text);
    free(direct);
}
END_TEST

static char *check_after(const char *sql, int want_code)
{
    int code;
    fixture_exec(sql);
    char *output = run_rules("rules.db check", &code);
    ck_assert_msg(code == want_code, "exit code %d: %s", code, output);
    return output;
}

static const struct {
    const char *sql, *message;
} edits[] = {
    {"UPDATE rule SET text = 'neg(?a) => ?a' WHERE text = 'neg(neg(?a)) => ?a'",
     "the id is not the hash of the text"},
    {"UPDATE rule SET text = 'neg( neg(?a)) => ?a' WHERE text = 'neg(neg(?a)) => ?a'",
     "not in canonical form"},
    {"UPDATE rule SET text = 'nog(?a) => ?a' WHERE text = 'neg(neg(?a)) => ?a'", "nog"},
    {"UPDATE candidate SET text = '' WHERE id = 1", "problem: candidate 27e6"},
    {"UPDATE rule SET condition = 'rank(?a) == 3' WHERE condition <> ''",
     "column condition is not what the text says"},
    {"UPDATE rule SET rhs = '?b' WHERE rhs = '?a'", "column rhs"},
    {"UPDATE rule SET n_lhs_ops = 9 WHERE n_lhs_ops = 3", "column n_lhs_ops"},
    {"UPDATE rule SET rhs_ops = 'relu' WHERE rhs_ops = 'add mul'", "column rhs_ops"},
    {"PRAGMA foreign_keys = OFF; DELETE FROM verdict WHERE kind = 'PROVED'",
     "4 rows of table rule refer to rows of verdict"},
    {"PRAGMA ignore_check_constraints = ON; UPDATE rule SET class = 'good'",
     "CHECK constraint failed in rule"},
};

START_TEST(test_check_finds_edits)
{
    char *output = check_after(edits[_i].sql, 1);
    ck_assert_msg(noe_contains(output, edits[_i].message), "'%s' lacks '%s'", output,
                  edits[_i].message);
    free(output);
}
END_TEST

START_TEST(test_check_shows_the_first_problems)
{
    char *output = check_after(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)"
        " INSERT INTO candidate (run_id, rule_id, text, source, lift_group, generality,"
        " level, shapes, field) SELECT 1, printf('%032x', i), 'bad', '', 0, 0, 1, '', "
        "''"
        " FROM n",
        1);
    ck_assert(noe_contains(output, "... and 50 more problems\n162 texts checked, 150 "
                                   "problems\n"));
    free(output);
}
END_TEST

START_TEST(test_check_notes_stale_rules)
{
    char *output =
        check_after("INSERT INTO run (stage, config, version, seed, op_table_hash,"
                    " axioms_hash, solver) VALUES ('verify', '', '', '1',"
                    " '0123456789abcdef', '0123456789abcdef', '')",
                    0);
    ck_assert(noe_contains(output, "note: 4 rules were proved under other axioms"));
    free(output);
    output = check_after("PRAGMA foreign_keys = OFF; UPDATE rule SET op_table_hash ="
                         " '0123456789abcdef'",
                         1);
    ck_assert(noe_contains(output, "note: 4 rules were proved under another operator"));
    free(output);
}
END_TEST

/* Output to a pipe is never coloured, and never says so to a terminal that is not
 * there.*/
START_TEST(test_colours_on_a_terminal_only)
{
    int code;
    char *output;
    char command[900];
    snprintf(command, sizeof command,
             "cd '%s' && TERM=xterm script -qec \"'%s/noether-rules' rules.db stats\" "
             "/dev/null",
             f.folder, NOE_BIN_DIR);
    if (system("command -v script >/dev/null") != 0)
        noe_skip("the command `script` (bsdutils) is not installed");
    code = noe_run_command(command, &output);
    ck_assert_int_eq(code, 0);
    ck_assert_msg(noe_contains(output, "\x1b[1m"), "%s", output);
    free(output);
    ck_assert_int_eq(setenv("NO_COLOR", "1", 1), 0);
    code = noe_run_command(command, &output);
    ck_assert_int_eq(code, 0);
    ck_assert_msg(!noe_contains(output, "\x1b"), "%s", output);
    free(output);
}
END_TEST

START_TEST(test_full_output_is_an_error)
{
    int code;
    if (access("/dev/full", W_OK) != 0)
        noe_skip("there is no /dev/full");
    char *output = run_rules("rules.db list > /dev/full", &code);
    ck_assert_int_eq(code, 4);
    ck_assert(noe_contains(output, "standard output"));
    free(output);
}
END_TEST

/* --- pieces --- */

static const struct {
    const char *side, *want;
} trees[] = {
    {"?a", "  ?a\n"},
    {"relu(?a)", "  relu\n    ?a\n"},
    {"add(mul(?a, ?b), ?c:weight)",
     "  add\n    mul\n      ?a\n      ?b\n    ?c:weight\n"},
    {"slice[axis=$a, end=dim(?a, $a)](?a)",
     "  slice[axis=$a, end=dim(?a, $a)]\n    ?a\n"},
    {"pad[pads=[0, 1] ++ rep(0, 2)](?a)", "  pad[pads=[0, 1] ++ rep(0, 2)]\n    ?a\n"},
    {"{ relu(?a), ?b }", "  relu\n    ?a\n  ?b\n"},
    {"", "\n"},
    {")))((", "\n"},
    {"f(\x1b[2J", "  f\n    \\x1b[2J\n"},
};

START_TEST(test_tree)
{
    noe_buf b = {0};
    noe_report_add_tree(&b, trees[_i].side, 2);
    ck_assert_str_eq(b.text, trees[_i].want);
    noe_buf_clear(&b);
}
END_TEST

static const struct {
    const char *text;
    size_t max;
    const char *want;
} texts[] = {
    {"plain [1] ~", 99, "plain [1] ~"},
    {"\x1b]0;title\x07\t\n\x7f", 99, "\\x1b]0;title\\x07\\x09\\x0a\\x7f"},
    {"\xc3\xa4 \xe2\x88\x80 \xf0\x9f\x98\x80", 99,
     "\xc3\xa4 \xe2\x88\x80 \xf0\x9f\x98\x80"},
    {"\xc2\x9b", 99, "\\xc2\\x9b"},
    {"\xc3", 99, "\\xc3"},
    {"\xff\xc0\x80", 99, "\\xff\\xc0\\x80"},
    {"\xe2\x88", 99, "\\xe2\\x88"},
    {"0123456789", 4, "0123... (10 bytes)"},
};

START_TEST(test_text_is_escaped)
{
    noe_buf b = {0};
    noe_report_add_text(&b, texts[_i].text, texts[_i].max);
    ck_assert_str_eq(b.text, texts[_i].want);
    noe_buf_clear(&b);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_report(void);
Suite *suite_report(void)
{
    Suite *s = suite_create("ruledb.report");
    TCase *tc = tcase_create("noether-rules");
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, test_golden, 0, N(golden));
    tcase_add_test(tc, test_export_is_a_rule_file);
    tcase_add_loop_test(tc, test_check_finds_edits, 0, N(edits));
    tcase_add_test(tc, test_check_shows_the_first_problems);
    tcase_add_test(tc, test_check_notes_stale_rules);
    tcase_add_test(tc, test_colours_on_a_terminal_only);
    tcase_add_test(tc, test_full_output_is_an_error);
    suite_add_tcase(s, tc);
    tc = tcase_create("pieces");
    tcase_add_loop_test(tc, test_tree, 0, N(trees));
    tcase_add_loop_test(tc, test_text_is_escaped, 0, N(texts));
    suite_add_tcase(s, tc);
    return s;
}
