/* SPDX-License-Identifier: Apache-2.0
 * Migrations, on artificial schemas; versions; and what the views answer. */
#include "tests/ruledb/fixture.h"
#include "core/op.h"
#include "core/base/file.h"
#include "ruledb/internal.h"
#include "ruledb/query.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static noe_error err;

static void setup(void)
{
    err = (noe_error){0};
    fixture_setup();
}

static const char step_1[] = "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT) STRICT;"
                             "CREATE VIEW v AS SELECT x FROM a;";
static const char step_2[] = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;"
                             "CREATE TABLE b (a_id INTEGER REFERENCES a (id)) STRICT;";
static const char step_3[] = "UPDATE a SET x = x || '!'; CREATE INDEX i ON a (x);";
static const char step_bad[] =
    "CREATE TABLE c (x TEXT); INSERT INTO nowhere VALUES (1);";
static const char step_dangling[] = "INSERT INTO b VALUES (99);";

/* A file of the version that `n` steps give, with a row. */
static void make_old(int n)
{
    const char *const old_steps[] = {step_1, step_2};
    noe_schema old = {old_steps, n};
    sqlite3 *c;
    noe_ruledb_close(f.db);
    f.db = NULL;
    ck_assert_int_eq(unlink(f.path), 0);
    ck_assert_int_eq(sqlite3_open(f.path, &c), SQLITE_OK);
    noe_assert_ok(noe_schema_bring_up(c, f.path, &old, true, &err), err);
    ck_assert_int_eq(
        sqlite3_exec(c, "INSERT INTO a (id, x) VALUES (1, 'old')", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(c);
}

static noe_status bring_up(const char *const *steps, int n, bool may_change)
{
    noe_schema schema = {steps, n};
    sqlite3 *c;
    ck_assert_int_eq(sqlite3_open(f.path, &c), SQLITE_OK);
    noe_status status = noe_schema_bring_up(c, f.path, &schema, may_change, &err);
    sqlite3_close(c);
    return status;
}

START_TEST(test_old_versions_are_migrated)
{
    const char *const steps[] = {step_1, step_2, step_3};
    make_old(_i);
    noe_assert_ok(bring_up(steps, 3, true), err);
    ck_assert_int_eq(fixture_int("PRAGMA user_version"), 3);
    char *row = fixture_text("SELECT x || y FROM a");
    ck_assert_str_eq(row, "old!7");
    free(row);
    /* Nothing happens the second time. */
    noe_assert_ok(bring_up(steps, 3, true), err);
    row = fixture_text("SELECT x || y FROM a");
    ck_assert_str_eq(row, "old!7");
    free(row);
}
END_TEST

START_TEST(test_reader_does_not_migrate)
{
    const char *const steps[] = {step_1, step_2};
    make_old(1);
    noe_assert_fails(bring_up(steps, 2, false), NOE_ERR_DB, err, "older than 2");
    ck_assert_int_eq(fixture_int("PRAGMA user_version"), 1);
}
END_TEST

START_TEST(test_failed_migration_changes_nothing)
{
    const char *const bad[] = {step_1, step_2, step_bad};
    const char *const dangling[] = {step_1, step_2, step_dangling};
    make_old(1);
    noe_assert_fails(bring_up(bad, 3, true), NOE_ERR_DB, err, "schema version 2 to 3");
    noe_assert_fails(bring_up(dangling, 3, true), NOE_ERR_DB, err, "do not exist");
    ck_assert_int_eq(fixture_int("PRAGMA user_version"), 1);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM sqlite_schema"), 2);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM pragma_table_info('a')"), 2);
}
END_TEST

START_TEST(test_newer_version_is_refused)
{
    fixture_exec("PRAGMA user_version = 99");
    noe_ruledb *db;
    for (int mode = NOE_RULEDB_READ; mode <= NOE_RULEDB_CREATE; mode++)
        noe_assert_fails(noe_ruledb_open(f.path, (noe_ruledb_mode)mode, &db, &err),
                         NOE_ERR_DB, err, "schema version 99");
    ck_assert_int_eq(fixture_int("PRAGMA user_version"), 99);
}
END_TEST

START_TEST(test_foreign_database_is_left_alone)
{
    noe_ruledb *db;
    noe_ruledb_close(f.db);
    f.db = NULL;
    unlink(f.path);
    fixture_exec("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    for (int mode = NOE_RULEDB_READ; mode <= NOE_RULEDB_CREATE; mode++)
        noe_assert_fails(noe_ruledb_open(f.path, (noe_ruledb_mode)mode, &db, &err),
                         NOE_ERR_DB, err, "not a Noether one");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM sqlite_schema"), 1);
    char *journal = fixture_text("PRAGMA journal_mode");
    ck_assert_str_eq(journal, "delete");
    free(journal);
}
END_TEST

static const struct {
    const char *sql, *message;
} alterations[] = {
    {"DROP VIEW pending", "view pending is missing"},
    {"DROP INDEX candidate_order", "index candidate_order is missing"},
    {"DROP VIEW pending; CREATE VIEW pending AS SELECT 1", "view pending is not as"},
    {"ALTER TABLE cost ADD COLUMN x TEXT", "table cost is not as"},
    {"DROP VIEW rule_op; CREATE VIEW rule_op AS WITH RECURSIVE t(x) AS (SELECT 1 UNION "
     "ALL"
     " SELECT x + 1 FROM t) SELECT x FROM t",
     "view rule_op is not as"},
};

START_TEST(test_altered_schema_is_refused)
{
    noe_ruledb *db;
    fixture_exec(alterations[_i].sql);
    noe_assert_fails(noe_ruledb_open(f.path, NOE_RULEDB_READ, &db, &err), NOE_ERR_DB,
                     err, alterations[_i].message);
}
END_TEST

START_TEST(test_users_may_add_their_own)
{
    noe_ruledb *db;
    fixture_exec(
        "CREATE INDEX mine ON rule (level); CREATE VIEW my AS SELECT * FROM rule;"
        "CREATE TABLE notes (rule_id TEXT, note TEXT); ANALYZE");
    noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_WRITE, &db, &err), err);
    noe_ruledb_close(db);
}
END_TEST

/* Several processes create the same file at once; each finds it whole. */
START_TEST(test_creation_races)
{
    noe_ruledb_close(f.db);
    f.db = NULL;
    unlink(f.path);
    pid_t children[6];
    for (int i = 0; i < 6; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            noe_ruledb *db = NULL;
            noe_status status = noe_ruledb_open(f.path, NOE_RULEDB_CREATE, &db, &err);
            if (status == NOE_OK)
                status = noe_ruledb_add_axiom(db, (uint64_t)i, "p", "t", &err);
            noe_ruledb_close(db);
            if (status != NOE_OK)
                fprintf(stderr, "%s\n", err.text);
            _exit(status != NOE_OK);
        }
    }
    for (int i = 0; i < 6; i++) {
        int exit_status;
        ck_assert_int_eq(waitpid(children[i], &exit_status, 0), children[i]);
        ck_assert_int_eq(exit_status, 0);
    }
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM axiom"), 6);
}
END_TEST

/* --- views, on the filled fixture --- */

static const struct {
    const char *sql, *want;
} answers[] = {
    {"SELECT group_concat(side || ' ' || op || ' ' || n, ', ') FROM (SELECT * FROM "
     "rule_op"
     " WHERE rule_id = (SELECT id FROM rule WHERE text LIKE 'add(mul%') ORDER BY side, "
     "op)",
     "lhs add 1, lhs mul 2, rhs add 1, rhs mul 1"},
    {"SELECT group_concat(op || ' ' || rules || ' ' || on_lhs || ' ' || on_rhs, ', ') "
     "FROM"
     " (SELECT * FROM operator_use ORDER BY op)",
     "add 1 1 1, concat 1 1 0, matmul 1 1 1, mul 1 1 1, neg 1 1 0, slice 1 1 0"},
    {"SELECT group_concat(saved || direction, ' ') FROM (SELECT * FROM reducing_rule "
     "ORDER"
     " BY text)",
     "1=> 2=> 2=>"},
    {"SELECT stage || ': ' || counterexample FROM refuted",
     "field: a=[1] b=[1] seed 1: [0] 5 != 3"},
    {"SELECT text || ' ' || reason || ' ' || rlimit FROM pending",
     "exp(add(?a, ?b)) => mul(exp(?a), exp(?b)) max. resource limit exceeded 20000"},
    {"SELECT text FROM unjudged", "tanh(neg(?a)) => neg(tanh(?a))"},
    {"SELECT axioms || '|' || n_instances || '|' || rlimit || '|' || solver || '|' || "
     "seed"
     " FROM proof WHERE text LIKE 'add(mul%'",
     "mul-distributes|48|321|Z3 4.8.12|1"},
    {"SELECT group_concat(level || verdict || n, ' ') FROM (SELECT * FROM verdict_count"
     " ORDER BY level, verdict)",
     "1REFUTED1 2COVERED1 2PROVED4 2UNKNOWN1"},
    {"SELECT count(*) FROM stale_rule", "0"},
    {"SELECT axioms_hash FROM current_hashes", "00000000a0a0a0a0"},
    {"SELECT group_concat(text, ';') FROM (SELECT r.text FROM rule_axiom AS a JOIN "
     "rule AS r"
     " ON r.id = a.rule_id WHERE a.name = 'mul-distributes' ORDER BY r.text)",
     "add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c));slice[axis=$a, start=0,"
     " end=dim(?a, $a)](concat[axis=$a](?a, ?b)) => ?a"},
};

START_TEST(test_views_answer)
{
    fixture_fill();
    char *got = fixture_text(answers[_i].sql);
    ck_assert_str_eq(got, answers[_i].want);
    free(got);
}
END_TEST

/* --- docs/ruledb.md: its queries must run, and there are ten at least --- */

static noe_status count_row(void *ctx, const noe_query_row *row, noe_error *e)
{
    (void)e;
    ck_assert_int_gt(row->n, 0);
    ++*(int *)ctx;
    return NOE_OK;
}

START_TEST(test_documented_queries_run)
{
    static const char open_block[] = "\n```sql\n";
    char *text;
    size_t len;
    int n_queries = 0, n_rows = 0;
    fixture_fill();
    noe_assert_ok(
        noe_file_read(NOE_SOURCE_DIR "/docs/ruledb.md", 1 << 20, &text, &len, &err),
        err);
    for (char *p = text; (p = strstr(p, open_block)); n_queries++) {
        char *sql = p + strlen(open_block);
        char *end = strstr(sql, "\n```");
        ck_assert_ptr_nonnull(end);
        *end = 0;
        noe_status status =
            noe_ruledb_query(f.db, sql, NULL, 0, count_row, &n_rows, &err);
        ck_assert_msg(status == NOE_OK, "%s\n%s", sql, err.text);
        p = end + 1;
    }
    ck_assert_int_ge(n_queries, 10);
    ck_assert_int_ge(n_rows, n_queries);
    free(text);
}
END_TEST

START_TEST(test_query_only_reads)
{
    int n = 0;
    noe_assert_fails(
        noe_ruledb_query(f.db, "DELETE FROM run", NULL, 0, count_row, &n, &err),
        NOE_ERR_ARG, err, "not a query");
    noe_assert_fails(noe_ruledb_query(f.db, "", NULL, 0, count_row, &n, &err),
                     NOE_ERR_ARG, err, "not a query");
    noe_assert_fails(
        noe_ruledb_query(f.db, "SELECT nowhere", NULL, 0, count_row, &n, &err),
        NOE_ERR_DB, err, "no such column");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM run"), 2);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_schema(void);
Suite *suite_schema(void)
{
    Suite *s = suite_create("ruledb.schema");
    TCase *tc = tcase_create("versions");
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    tcase_add_loop_test(tc, test_old_versions_are_migrated, 1, 3);
    tcase_add_test(tc, test_reader_does_not_migrate);
    tcase_add_test(tc, test_failed_migration_changes_nothing);
    tcase_add_test(tc, test_newer_version_is_refused);
    tcase_add_test(tc, test_foreign_database_is_left_alone);
    tcase_add_loop_test(tc, test_altered_schema_is_refused, 0, N(alterations));
    tcase_add_test(tc, test_users_may_add_their_own);
    tcase_add_test(tc, test_creation_races);
    suite_add_tcase(s, tc);
    tc = tcase_create("views");
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    tcase_add_loop_test(tc, test_views_answer, 0, N(answers));
    tcase_add_test(tc, test_documented_queries_run);
    tcase_add_test(tc, test_query_only_reads);
    suite_add_tcase(s, tc);
    return s;
}
