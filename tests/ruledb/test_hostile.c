/* SPDX-License-Identifier: Apache-2.0
 * Databases that no program of ours wrote: right schema, wrong contents. Every command
 * answers or fails with a message; none crashes, hangs, or sends control characters. */
#include "tests/ruledb/fixture.h"
#include "core/op.h"
#include <stdio.h>
#include <stdlib.h>

static noe_error err;

static void setup(void)
{
    err = (noe_error){0};
    fixture_setup();
    fixture_fill();
    noe_ruledb_close(f.db);
    f.db = NULL;
}

/* Replaces table `name` by one of the same columns without types and constraints, so
 * that anything can be stored, and puts the schema's text back when sql is done. */
static void tamper(const char *name, const char *sql)
{
    sqlite3 *c;
    char *message = NULL;
    noe_buf script = {0};
    noe_buf_printf(
        &script,
        "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;"
        "CREATE TEMP TABLE kept AS SELECT sql FROM sqlite_schema WHERE name = "
        "'%s';"
        "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), "
        "'NOT NULL', '') WHERE name = '%s';"
        "PRAGMA writable_schema = RESET; PRAGMA ignore_check_constraints = ON;",
        name, name);
    /* Without STRICT a WITHOUT ROWID table needs no comma. */
    ck_assert_int_eq(sqlite3_open(f.path, &c), SQLITE_OK);
    int rc = sqlite3_exec(c, script.text, NULL, NULL, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", name, message);
    rc = sqlite3_exec(c, sql, NULL, NULL, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, message);
    noe_buf_clear(&script);
    noe_buf_printf(&script,
                   "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
                   " (SELECT sql FROM kept) WHERE name = '%s'; PRAGMA writable_schema ="
                   " RESET;",
                   name);
    rc = sqlite3_exec(c, script.text, NULL, NULL, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", name, message);
    noe_buf_clear(&script);
    sqlite3_close(c);
}

static const struct {
    const char *table, *sql;
    noe_status load; /* of noe_ruledb_each_rule */
} cases[] = {
    {"rule", "UPDATE rule SET text = 'no rule at all'", NOE_OK},
    {"rule", "UPDATE rule SET text = NULL", NOE_ERR_DB},
    {"rule", "UPDATE rule SET text = 17, lhs = 3.5, n_vars = 'many'", NOE_ERR_DB},
    {"rule", "UPDATE rule SET text = x'00ff00'", NOE_ERR_DB},
    {"rule", "UPDATE rule SET text = CAST(x'6e6567003f61' AS TEXT)", NOE_ERR_DB},
    {"rule",
     "UPDATE rule SET text = char(27) || '[2J' || char(7) || char(10) || char(9)",
     NOE_OK},
    {"rule", "UPDATE rule SET lhs = replace(hex(zeroblob(500000)), '0', '(')", NOE_OK},
    {"rule", "UPDATE rule SET text = replace(hex(zeroblob(500000)), '00', 'neg(')",
     NOE_OK},
    {"rule", "UPDATE rule SET lhs_ops = replace(hex(zeroblob(2000)), '00', 'a ')",
     NOE_OK},
    {"rule", "UPDATE rule SET text = zeroblob(20000000)", NOE_ERR_LIMIT},
    {"rule",
     "UPDATE rule SET text = CAST(replace(hex(zeroblob(9000000)), '0', 'a') AS TEXT)",
     NOE_ERR_LIMIT},
    {"rule", "UPDATE rule SET n_lhs_ops = -1, n_roots = 1 << 40", NOE_ERR_DB},
    {"rule", "UPDATE rule SET class = 'good'", NOE_ERR_DB},
    {"rule", "UPDATE rule SET max_error = 'small'", NOE_ERR_DB},
    {"rule", "UPDATE rule SET candidate_id = -5, run_id = 77", NOE_OK},
    {"rule", "UPDATE rule SET id = 'short' || n_vars || text", NOE_OK},
    {"rule", "UPDATE rule SET level = 9223372036854775807", NOE_ERR_DB},
    {"candidate", "UPDATE candidate SET text = NULL, level = NULL, source = x'00'",
     NOE_OK},
    {"candidate", "UPDATE candidate SET rule_id = NULL", NOE_OK},
    {"candidate", "UPDATE candidate SET level = 'x', lift_group = 2.5", NOE_OK},
    {"verdict", "UPDATE verdict SET axioms = NULL, certificate = 5, rlimit = 'x'",
     NOE_OK},
    {"verdict", "UPDATE verdict SET counterexample = x'1b5b324a', reason = char(155)",
     NOE_OK},
    {"run", "UPDATE run SET stage = NULL, seed = x'31', config = char(27)", NOE_OK},
    {"run", "UPDATE run SET cpu_seconds = 'x', peak_kib = NULL, statistics = NULL",
     NOE_OK},
    {"axiom", "UPDATE axiom SET text = NULL", NOE_OK},
    {"cost", "UPDATE cost SET seconds = 'x', clock = NULL, n_batches = -1", NOE_OK},
};

static noe_status any_rule(void *ctx, const noe_rule_row *row, noe_error *e)
{
    (void)e;
    *(size_t *)ctx += strlen(row->text) + strlen(row->lhs);
    return NOE_OK;
}

START_TEST(test_loading)
{
    noe_ruledb *db;
    size_t n = 0;
    tamper(cases[_i].table, cases[_i].sql);
    noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_READ, &db, &err), err);
    noe_status status =
        noe_ruledb_each_rule(db, noe_op_table_hash(), any_rule, &n, &err);
    ck_assert_msg(status == cases[_i].load, "%s: status %d: %s", cases[_i].sql,
                  (int)status, err.text);
    ck_assert(status == NOE_OK || noe_contains(err.text, f.path));
    noe_cost_row row;
    bool found;
    status = noe_ruledb_get_cost(db, "conv f32[1,8,5,5] cpu t1", &found, &row, &err);
    ck_assert_msg(status == (strcmp(cases[_i].table, "cost") ? NOE_OK : NOE_ERR_DB),
                  "%s", err.text);
    noe_ruledb_close(db);
}
END_TEST

static const char *const commands[] = {
    "list",
    "list --op concat",
    "list --reduces --format tsv",
    "show 27e6",
    "show c0",
    "stats",
    "stats --format tsv",
    "refuted all",
    "pending",
    "check",
    "export -",
};

START_TEST(test_commands)
{
    tamper(cases[_i].table, cases[_i].sql);
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
        char line[800];
        char *output;
        snprintf(line, sizeof line, "timeout 100 '%s/noether-rules' '%s' %s",
                 NOE_BIN_DIR, f.path, commands[k]);
        int code = noe_run_command(line, &output);
        ck_assert_msg(code >= 0 && code <= 4, "%s after %s: exit code %d: %.2000s",
                      commands[k], cases[_i].sql, code, output);
        ck_assert_msg(code == 0 || *output, "%s after %s: no message", commands[k],
                      cases[_i].sql);
        ck_assert_msg(strcmp(commands[k], "check") || strcmp(cases[_i].table, "rule") ||
                          code != 0,
                      "check does not see %s", cases[_i].sql);
        for (const char *p = output; *p; p++)
            ck_assert_msg((unsigned char)*p >= 32 || *p == '\n' ||
                              (*p == '\t' && noe_contains(commands[k], "tsv")),
                          "%s after %s: control character %d", commands[k],
                          cases[_i].sql, *p);
        ck_assert_msg(strlen(output) < 4000000, "%s after %s: %zu bytes", commands[k],
                      cases[_i].sql, strlen(output));
        free(output);
    }
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_hostile(void);
Suite *suite_hostile(void)
{
    Suite *s = suite_create("ruledb.hostile");
    TCase *tc = tcase_create("hostile");
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_loading, 0, N(cases));
    tcase_add_loop_test(tc, test_commands, 0, N(cases));
    suite_add_tcase(s, tc);
    return s;
}
