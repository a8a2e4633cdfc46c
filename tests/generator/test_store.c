/* SPDX-License-Identifier: Apache-2.0
 *
 * The program and what it leaves in the database. */
#include "tests/generator/fixture.h"

#include "core/base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct seen {
    int n;
    int64_t last_group;
    int last_generality;
} seen;

static noe_status on_candidate(void *ctx, const noe_candidate *c, noe_error *err)
{
    seen *s = ctx;
    noe_rule *rule = noe_malloc(sizeof *rule);
    char id[NOE_HASH_HEX_LEN + 1];
    NOE_TRY(noe_rule_parse(c->text, SIZE_MAX, rule, err));
    noe_hash_hex(noe_rule_id(rule), id);
    free(rule);
    ck_assert_str_eq(id, c->rule_id);
    ck_assert_int_ge(c->level, 1);
    ck_assert(noe_contains(c->field, "p=2147146559 samples="));
    ck_assert(noe_contains(c->source, " == "));
    if (c->group == s->last_group)
        ck_assert_int_gt(c->generality, s->last_generality);
    s->last_group = c->group;
    s->last_generality = c->generality;
    s->n++;
    return NOE_OK;
}

static int count_candidates(const char *path)
{
    noe_ruledb *db;
    noe_error err = {0};
    seen s = {0, -1, -1};
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_READ, &db, &err), err);
    noe_assert_ok(noe_ruledb_each_open_candidate(db, noe_op_table_hash(), 0,
                                                 on_candidate, &s, &err),
                  err);
    noe_ruledb_close(db);
    return s.n;
}

static int run(const char *arguments, char **output)
{
    char command[1000];
    snprintf(command, sizeof command, "%s/noether-generate %s", NOE_BIN_DIR, arguments);
    return noe_run_command(command, output);
}

START_TEST(test_store_candidates_with_provenance)
{
    char dir[200], arguments[300], *out;
    noe_tmp_make(dir, sizeof dir);
    snprintf(arguments, sizeof arguments,
             "--db %s/r.db --ops add,relu,concat --level 2", dir);
    ck_assert_int_eq(run(arguments, &out), 0);
    ck_assert(noe_contains(out, "candidates"));
    free(out);
    snprintf(arguments, sizeof arguments, "%s/r.db", dir);
    int n = count_candidates(arguments);
    ck_assert_int_gt(n, 10);
    /* Once more: nothing is new, nothing is lost. */
    snprintf(arguments, sizeof arguments,
             "--db %s/r.db --ops add,relu,concat --level 2", dir);
    ck_assert_int_eq(run(arguments, &out), 0);
    ck_assert(noe_contains(out, " 0 new"));
    free(out);
    snprintf(arguments, sizeof arguments, "%s/r.db", dir);
    ck_assert_int_eq(count_candidates(arguments), n);
    noe_tmp_remove(dir);
}
END_TEST

/* Ended at any moment, a run leaves no file, or what was there before. */
START_TEST(test_store_interrupted_is_whole_or_not_there)
{
    static const char *const signals[] = {"INT", "TERM", "KILL"};
    static const char *const moments[] = {"0.05", "0.2", "0.5"};
    char dir[200], line[600], *out;
    noe_tmp_make(dir, sizeof dir);
    for (int existing = 0; existing < 2; existing++) {
        for (int i = 0; i < 3; i++) {
            if (existing) {
                snprintf(line, sizeof line, "--db %s/r.db --ops relu --level 1", dir);
                ck_assert_int_eq(run(line, &out), 0);
                free(out);
            }
            snprintf(line, sizeof line,
                     "cd %s; timeout --foreground -s %s %s %s/noether-generate --db "
                     "r.db --level 4 "
                     "--ops taso; echo exit $?; ls; [ ! -f r.db ] || %s/noether-rules "
                     "r.db check",
                     dir, signals[_i], moments[i], NOE_BIN_DIR, NOE_BIN_DIR);
            noe_run_command(line, &out);
            bool has_file = noe_contains(out, "r.db\n");
            ck_assert_msg(has_file == existing, "%s: %s", line, out);
            ck_assert_msg(!existing || noe_contains(out, " 0 problems"), "%s", out);
            ck_assert_msg(_i == 2 || noe_contains(out, existing ? "r.db is as it was"
                                                                : "r.db was not made"),
                          "%s: %s", line, out);
            free(out);
        }
    }
    snprintf(line, sizeof line, "%s/r.db", dir);
    ck_assert_int_gt(count_candidates(line), 0);
    noe_tmp_remove(dir);
}
END_TEST

static const struct {
    const char *arguments;
    int status;
    const char *says;
} wrong_uses[] = {
    {"", 2, "--db <file> or --dry-run"},
    {"--dry-run --ops nonsense", 2, "'nonsense' is neither"},
    {"--dry-run --ops gemm", 2, "'gemm' is a definition"},
    {"--dry-run --level 0", 2, "level"},
    {"--dry-run --level 99", 2, "level"},
    {"--dry-run --samples 65", 2, "samples"},
    {"--dry-run operand", 2, "operand"},
    {"--dry-run --max-memory 12X", 2, "--max-memory is '12X'"},
    {"--dry-run --max-memory 0", 2, "--max-memory is '0'"},
    {"--dry-run --threads 65", 2, "threads"},
    {"--db /no/such/folder/r.db --ops relu --level 1", 4, "/no/such/folder/r.db"},
};

START_TEST(test_store_refuses_wrong_use)
{
    char *out;
    int status = run(wrong_uses[_i].arguments, &out);
    ck_assert_msg(status == wrong_uses[_i].status, "%s: exit %d: %s",
                  wrong_uses[_i].arguments, status, out);
    ck_assert_msg(noe_contains(out, wrong_uses[_i].says), "%s says %s",
                  wrong_uses[_i].arguments, out);
    free(out);
}
END_TEST

/* Candidates of a few operators, with their provenance. NOE_UPDATE_GOLDEN=1 rewrites
 * the file; the difference is for review. */
START_TEST(test_store_golden)
{
    char path[500], *out, *want;
    size_t len;
    noe_error err = {0};
    snprintf(path, sizeof path, "%s/tests/generator/golden/small.out", NOE_SOURCE_DIR);
    ck_assert_int_eq(run("--dry-run --ops add,matmul,relu,transpose --level 2", &out),
                     0);
    if (getenv("NOE_UPDATE_GOLDEN"))
        noe_assert_ok(noe_file_write(path, out, strlen(out), &err), err);
    noe_assert_ok(noe_file_read(path, 1 << 20, &want, &len, &err), err);
    ck_assert_msg(strcmp(out, want) == 0, "%s is out of date", path);
    free(out);
    free(want);
}
END_TEST

START_TEST(test_store_same_seed_same_output)
{
    char *a, *b;
    ck_assert_int_eq(run("--dry-run --ops mul,neg,relu --level 2 --seed 7", &a), 0);
    ck_assert_int_eq(run("--dry-run --ops mul,neg,relu --level 2 --seed 7", &b), 0);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}
END_TEST

START_TEST(test_store_lists_operators)
{
    char *out;
    ck_assert_int_eq(run("--list-ops", &out), 0);
    for (int op = 0; op < NOE_OP_COUNT; op++)
        ck_assert(noe_contains(out, noe_op_get((noe_op)op)->name));
    free(out);
}
END_TEST

START_TEST(test_store_statistics_are_lines_of_three)
{
    char *out;
    ck_assert_int_eq(run("--ops relu --level 1 --stats", &out), 0);
    int n = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        char name[200], unit[20];
        double value;
        ck_assert_msg(sscanf(line, "%199s %lf %19s", name, &value, unit) == 3, "%s",
                      line);
        ck_assert_msg(strncmp(name, "generate.", 9) == 0, "%s", line);
        n++;
    }
    ck_assert_int_gt(n, 20);
    free(out);
}
END_TEST

Suite *suite_store(void);
Suite *suite_store(void)
{
    Suite *s = suite_create("store");
    TCase *tc = tcase_create("store");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_store_candidates_with_provenance);
    tcase_add_loop_test(tc, test_store_interrupted_is_whole_or_not_there, 0, 3);
    tcase_add_loop_test(tc, test_store_refuses_wrong_use, 0,
                        (int)(sizeof wrong_uses / sizeof *wrong_uses));
    tcase_add_test(tc, test_store_golden);
    tcase_add_test(tc, test_store_same_seed_same_output);
    tcase_add_test(tc, test_store_lists_operators);
    tcase_add_test(tc, test_store_statistics_are_lines_of_three);
    suite_add_tcase(s, tc);
    return s;
}
