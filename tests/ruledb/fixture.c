/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ruledb/fixture.h"
#include "core/rule.h"
#include <stdio.h>
#include <stdlib.h>

fixture f;

void fixture_setup(void)
{
    noe_error err = {0};
    noe_tmp_make(f.folder, sizeof f.folder);
    snprintf(f.path, sizeof f.path, "%s/rules.db", f.folder);
    noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_CREATE, &f.db, &err), err);
    noe_run generate = {.stage = "generate",
                        .config = "ops=test n=2 samples=4",
                        .version = "0.1.0",
                        .seed = UINT64_MAX,
                        .op_table_hash = noe_op_table_hash(),
                        .solver = ""};
    noe_run verify = {.stage = "verify",
                      .config = "rlimit=20000",
                      .version = "0.1.0",
                      .seed = 1,
                      .op_table_hash = noe_op_table_hash(),
                      .axioms_hash = FIXTURE_AXIOMS,
                      .solver = "Z3 4.8.12"};
    noe_assert_ok(noe_ruledb_add_run(f.db, &generate, &f.generate_run, &err), err);
    noe_assert_ok(noe_ruledb_add_run(f.db, &verify, &f.verify_run, &err), err);
}

void fixture_teardown(void)
{
    noe_ruledb_close(f.db);
    f.db = NULL;
    noe_tmp_remove(f.folder);
}

const char *fixture_canonical(const char *text, char id[NOE_HASH_HEX_LEN + 1])
{
    static char kept[16][1024];
    static int next;
    noe_rule rule;
    noe_error err = {0};
    noe_buf b = {0};
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, &rule, &err), err);
    noe_rule_print(&b, &rule);
    noe_hash_hex(noe_rule_id(&rule), id);
    char *canonical = kept[next++ % 16];
    ck_assert_uint_lt(b.len, sizeof kept[0]);
    memcpy(canonical, b.text, b.len + 1);
    noe_buf_clear(&b);
    return canonical;
}

int64_t fixture_candidate(int64_t run, const char *text, int64_t group, int generality,
                          int level)
{
    noe_error err = {0};
    char id[NOE_HASH_HEX_LEN + 1], sql[200];
    noe_candidate c = {.text = fixture_canonical(text, id),
                       .rule_id = id,
                       .source = "pair 17, 23",
                       .group = group,
                       .generality = generality,
                       .level = level,
                       .shapes = "a=[2,3] b=[2,3]",
                       .field = "p=2147146559 samples=4"};
    bool is_new;
    noe_assert_ok(noe_ruledb_add_candidate(f.db, run, &c, &is_new, &err), err);
    ck_assert_msg(is_new, "%s is there already", text);
    snprintf(sql, sizeof sql, "SELECT id FROM candidate WHERE rule_id = '%s'", id);
    return fixture_int(sql);
}

noe_status fixture_rule(int64_t run, const char *text, int64_t candidate,
                        noe_numeric_class numeric, double max_error, noe_error *err)
{
    noe_rule rule;
    noe_error parse_err = {0};
    char id[NOE_HASH_HEX_LEN + 1];
    noe_buf lhs = {0}, rhs = {0}, where = {0}, lhs_ops = {0}, rhs_ops = {0};
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, &rule, &parse_err), parse_err);
    noe_rule_print_side(&lhs, &rule, false);
    noe_rule_print_side(&rhs, &rule, true);
    noe_rule_print_where(&where, &rule);
    noe_rule_print_ops(&lhs_ops, &rule, false);
    noe_rule_print_ops(&rhs_ops, &rule, true);
    noe_rule_row row = {.text = fixture_canonical(text, id),
                        .id = id,
                        .lhs = noe_buf_text(&lhs),
                        .rhs = noe_buf_text(&rhs),
                        .where = noe_buf_text(&where),
                        .lhs_ops = noe_buf_text(&lhs_ops),
                        .rhs_ops = noe_buf_text(&rhs_ops),
                        .n_lhs_ops = noe_rule_count_ops(&rule, false),
                        .n_rhs_ops = noe_rule_count_ops(&rule, true),
                        .n_vars = rule.n_vars,
                        .n_roots = rule.n_roots,
                        .numeric = numeric,
                        .max_error = max_error,
                        .candidate = candidate,
                        .level = 2};
    noe_status status = noe_ruledb_add_rule(f.db, run, &row, err);
    noe_buf_clear(&lhs);
    noe_buf_clear(&rhs);
    noe_buf_clear(&where);
    noe_buf_clear(&lhs_ops);
    noe_buf_clear(&rhs_ops);
    return status;
}

static void judge(int64_t candidate, const noe_verdict *v)
{
    noe_error err = {0};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, candidate, v, &err), err);
}

static void prove(const char *text, int64_t group, noe_numeric_class numeric,
                  double max_error, const char *axioms)
{
    noe_error err = {0};
    int64_t c = fixture_candidate(f.generate_run, text, group, 0, 2);
    noe_verdict v = {.kind = NOE_VERDICT_PROVED,
                     .stage = "z3",
                     .reason = "",
                     .shapes_checked = "48 instances, ranks 0-5",
                     .n_instances = 48,
                     .error_bound = 1e-17 / 3,
                     .axioms = axioms,
                     .certificate = "add(?a, ?b) => add(?b, ?a)\nrelu(?a) => relu(?a)",
                     .rlimit = 321,
                     .cpu_seconds = 0.25};
    judge(c, &v);
    noe_assert_ok(fixture_rule(f.verify_run, text, c, numeric, max_error, &err), err);
}

void fixture_fill(void)
{
    noe_error err = {0};
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, FIXTURE_AXIOMS, "add-commutes",
                                       "add(?a, ?b) => add(?b, ?a)", &err),
                  err);
    noe_assert_ok(noe_ruledb_add_axiom(
                      f.db, FIXTURE_AXIOMS, "mul-distributes",
                      "mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))", &err),
                  err);
    noe_assert_ok(noe_ruledb_commit(f.db, &err), err);
    prove("add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c))", 1, NOE_CLASS_FLOAT,
          1.5e-7, "mul-distributes");
    prove("neg(neg(?a)) => ?a", 2, NOE_CLASS_EXACT, 0, "");
    prove("slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a", 3,
          NOE_CLASS_EXACT, 0, "add-commutes mul-distributes add-commutes");
    prove("matmul(?a, ?b:weight) => matmul(?a, ?b) where rank(?a) == 2", 4,
          NOE_CLASS_RANGE, 0.5, "add-commutes");
    int64_t covered =
        fixture_candidate(f.generate_run, "add(neg(?a), ?b) => sub(?b, ?a)", 4, 1, 2);
    int64_t refuted =
        fixture_candidate(f.generate_run, "sub(?a, ?b) => sub(?b, ?a)", 5, 0, 1);
    int64_t pending = fixture_candidate(
        f.generate_run, "exp(add(?a, ?b)) => mul(exp(?a), exp(?b))", 6, 0, 2);
    fixture_candidate(f.generate_run, "tanh(neg(?a)) => neg(tanh(?a))", 7, 0, 2);
    judge(covered, &(noe_verdict){.kind = NOE_VERDICT_COVERED,
                                  .stage = "z3",
                                  .reason = "by variant 0 of its group"});
    judge(refuted, &(noe_verdict){.kind = NOE_VERDICT_REFUTED,
                                  .stage = "field",
                                  .reason = "sides differ",
                                  .counterexample = "a=[1] b=[1] seed 1: [0] 5 != 3",
                                  .n_instances = 1,
                                  .cpu_seconds = 0.5});
    judge(pending, &(noe_verdict){.kind = NOE_VERDICT_UNKNOWN,
                                  .stage = "z3",
                                  .reason = "max. resource limit exceeded",
                                  .rlimit = 20000});
    char *of = fixture_text("SELECT rule_id FROM candidate WHERE text LIKE 'slice%'");
    char *used = fixture_text("SELECT rule_id FROM candidate WHERE text LIKE 'neg%'");
    noe_derivation_row steps[] = {{1, used, true, "0.1"}, {2, "", false, ""}};
    for (int i = 0; i < 2; i++)
        noe_assert_ok(noe_ruledb_add_derivation_step(f.db, of, &steps[i], &err), err);
    free(of);
    free(used);
    noe_cost_row cost = {.key = "conv f32[1,8,5,5] cpu t1",
                         .seconds = 1.25e-5,
                         .second_best = 1.5e-5,
                         .n_batches = 5,
                         .clock = "thread-cpu"};
    noe_assert_ok(noe_ruledb_put_cost(f.db, &cost, &err), err);
    noe_assert_ok(
        noe_ruledb_finish_run(f.db, f.generate_run, 1.5, 2048, "values 12\n", &err),
        err);
    noe_assert_ok(noe_ruledb_finish_run(f.db, f.verify_run, 1.25, 4096, "", &err), err);
}

/* --- SQLite itself --- */

static sqlite3 *connect_raw(void)
{
    sqlite3 *c;
    ck_assert_int_eq(sqlite3_open(f.path, &c), SQLITE_OK);
    sqlite3_busy_timeout(c, 5000);
    return c;
}

void fixture_exec(const char *sql)
{
    char *message = NULL;
    sqlite3 *c = connect_raw();
    int rc = sqlite3_exec(c, sql, NULL, NULL, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, message ? message : "?");
    sqlite3_close(c);
}

char *fixture_text(const char *sql)
{
    sqlite3 *c = connect_raw();
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(c, sql, -1, &s, NULL);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(c));
    rc = sqlite3_step(s);
    ck_assert_msg(rc == SQLITE_ROW || rc == SQLITE_DONE, "%s: %s", sql,
                  sqlite3_errmsg(c));
    const char *text =
        rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    char *copy = noe_strdup(text ? text : "");
    sqlite3_finalize(s);
    sqlite3_close(c);
    return copy;
}

int64_t fixture_int(const char *sql)
{
    char *text = fixture_text(sql);
    ck_assert_msg(*text, "%s: no rows", sql);
    int64_t value = strtoll(text, NULL, 10);
    free(text);
    return value;
}
