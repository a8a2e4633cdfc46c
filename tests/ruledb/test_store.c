/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ruledb/fixture.h"
#include "core/op.h"
#include "core/base/file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static noe_error err;

#define NEG_NEG  "neg(neg(?a)) => ?a"
#define ADD_COMM "add(?a, ?b) => add(?b, ?a)"
#define OPS      noe_op_table_hash()

static void setup(void)
{
    err = (noe_error){0};
    fixture_setup();
}

static void reopen(noe_ruledb_mode mode)
{
    noe_ruledb_close(f.db);
    noe_assert_ok(noe_ruledb_open(f.path, mode, &f.db, &err), err);
}

static void assert_text(const char *sql, const char *want)
{
    char *got = fixture_text(sql);
    ck_assert_msg(strcmp(got, want) == 0, "%s: got '%s', want '%s'", sql, got, want);
    free(got);
}

/* --- runs --- */

START_TEST(test_run_round_trips)
{
    assert_text(
        "SELECT stage || '|' || config || '|' || version || '|' || seed || '|' ||"
        " axioms_hash || '|' || solver || '|' || finished FROM run WHERE id = 1",
        "generate|ops=test n=2 samples=4|0.1.0|18446744073709551615|"
        "0000000000000000||0");
    noe_assert_ok(
        noe_ruledb_finish_run(f.db, f.verify_run, 0.1, 77, "a 1\nb 2\n", &err), err);
    assert_text(
        "SELECT axioms_hash || '|' || finished || '|' || (cpu_seconds = 0.1) || '|'"
        " || peak_kib || '|' || statistics FROM run WHERE id = 2",
        "00000000a0a0a0a0|1|1|77|a 1\nb 2\n");
}
END_TEST

START_TEST(test_run_refuses_what_is_no_run)
{
    int64_t id;
    noe_run run = {.stage = "optimize"};
    noe_assert_fails(noe_ruledb_add_run(f.db, &run, &id, &err), NOE_ERR_ARG, err,
                     "run.stage is generate or verify");
    noe_assert_fails(noe_ruledb_finish_run(f.db, 99, 0, 0, "", &err), NOE_ERR_ARG, err,
                     "no run 99");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM run"), 2);
}
END_TEST

/* --- candidates --- */

START_TEST(test_candidate_known_text_is_left_alone)
{
    char id[NOE_HASH_HEX_LEN + 1];
    bool is_new;
    fixture_candidate(f.generate_run, NEG_NEG, 7, 0, 2);
    noe_candidate again = {
        .text = fixture_canonical(NEG_NEG, id), .rule_id = id, .group = 8, .level = 3};
    noe_assert_ok(noe_ruledb_add_candidate(f.db, f.verify_run, &again, &is_new, &err),
                  err);
    ck_assert(!is_new);
    assert_text("SELECT count(*) || ' ' || lift_group || ' ' || level || ' ' || run_id"
                " FROM candidate",
                "1 7 2 1");
}
END_TEST

START_TEST(test_candidate_needs_run_and_id)
{
    char id[NOE_HASH_HEX_LEN + 1];
    noe_candidate c = {.text = fixture_canonical(NEG_NEG, id), .rule_id = id};
    noe_assert_fails(noe_ruledb_add_candidate(f.db, 99, &c, NULL, &err), NOE_ERR_ARG,
                     err, "FOREIGN KEY");
    c.rule_id = "not hex";
    noe_assert_fails(noe_ruledb_add_candidate(f.db, 1, &c, NULL, &err), NOE_ERR_ARG,
                     err, "32 hex digits");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM candidate"), 0);
}
END_TEST

typedef struct collected {
    noe_buf text;
    int fail_after; /* 0: never */
    int n;
} collected;

static noe_status collect_candidate(void *ctx, const noe_candidate *c, noe_error *e)
{
    collected *got = ctx;
    if (got->fail_after && got->n == got->fail_after)
        return noe_fail(e, NOE_ERR_CANCELLED, "enough");
    got->n++;
    ck_assert_int_eq(c->run, f.generate_run);
    noe_buf_printf(&got->text, "%lld.%d.%d %s [%s|%s|%s]\n", (long long)c->group,
                   c->generality, c->level, c->text, c->source, c->shapes, c->field);
    return NOE_OK;
}

static void assert_open(uint64_t op_table_hash, uint64_t axioms_hash, const char *want)
{
    collected got = {0};
    noe_assert_ok(noe_ruledb_each_open_candidate(f.db, op_table_hash, axioms_hash,
                                                 collect_candidate, &got, &err),
                  err);
    ck_assert_str_eq(noe_buf_text(&got.text), want);
    noe_buf_clear(&got.text);
}

#define TAIL " [pair 17, 23|a=[2,3] b=[2,3]|p=2147146559 samples=4]\n"

START_TEST(test_open_candidates_come_in_order)
{
    fixture_candidate(f.generate_run, "relu(relu(?a)) => relu(?a)", 2, 0, 2);
    fixture_candidate(f.generate_run, ADD_COMM, 1, 1, 1);
    fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    assert_open(OPS, FIXTURE_AXIOMS,
                "1.0.2 " NEG_NEG TAIL "1.1.1 " ADD_COMM TAIL
                "2.0.2 relu(relu(?a)) => relu(?a)" TAIL);
}
END_TEST

START_TEST(test_open_candidates_depend_on_the_hashes)
{
    int64_t c = fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    noe_verdict v = {.kind = NOE_VERDICT_UNKNOWN, .stage = "z3"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    assert_open(OPS, FIXTURE_AXIOMS, "");
    assert_open(OPS, FIXTURE_AXIOMS + 1, "1.0.2 " NEG_NEG TAIL);
    assert_open(OPS + 1, FIXTURE_AXIOMS, "1.0.2 " NEG_NEG TAIL);
}
END_TEST

START_TEST(test_callback_failure_ends_the_visit)
{
    collected got = {.fail_after = 1};
    fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    fixture_candidate(f.generate_run, ADD_COMM, 2, 0, 1);
    noe_assert_fails(noe_ruledb_each_open_candidate(f.db, OPS, FIXTURE_AXIOMS,
                                                    collect_candidate, &got, &err),
                     NOE_ERR_CANCELLED, err, "enough");
    ck_assert_int_eq(got.n, 1);
    noe_buf_clear(&got.text);
    assert_open(OPS, FIXTURE_AXIOMS, "1.0.2 " NEG_NEG TAIL "2.0.1 " ADD_COMM TAIL);
}
END_TEST

/* --- verdicts --- */

static int64_t other_verify_run(uint64_t op_table_hash, uint64_t axioms_hash)
{
    int64_t id;
    noe_run run = {
        .stage = "verify", .op_table_hash = op_table_hash, .axioms_hash = axioms_hash};
    noe_assert_ok(noe_ruledb_add_run(f.db, &run, &id, &err), err);
    return id;
}

START_TEST(test_verdict_round_trips)
{
    int64_t c = fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    noe_verdict v = {.kind = NOE_VERDICT_REFUTED,
                     .stage = "field",
                     .reason = "sides differ",
                     .counterexample = "a=[1]",
                     .shapes_checked = "3 instances",
                     .n_instances = 3,
                     .error_bound = 1e-17 / 3,
                     .axioms = "p q",
                     .certificate = "x\ny\n",
                     .rlimit = INT64_MAX,
                     .cpu_seconds = 0.1};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    assert_text(
        "SELECT kind || '|' || stage || '|' || reason || '|' || counterexample ||"
        " '|' || shapes_checked || '|' || n_instances || '|' || axioms || '|' ||"
        " certificate || '|' || rlimit || '|' || (cpu_seconds = 0.1) FROM verdict",
        "REFUTED|field|sides differ|a=[1]|3 instances|3|p q|x\ny\n|"
        "9223372036854775807|1");
    char *bound = fixture_text("SELECT printf('%!.17g', error_bound) FROM verdict");
    ck_assert_msg(strtod(bound, NULL) == 1e-17 / 3, "%s", bound);
    free(bound);
}
END_TEST

START_TEST(test_verdict_is_replaced_under_its_hashes_only)
{
    int64_t c = fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    noe_verdict v = {.kind = NOE_VERDICT_UNKNOWN, .stage = "z3"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    v.kind = NOE_VERDICT_PROVED;
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM verdict"), 1);
    v.kind = NOE_VERDICT_REFUTED;
    int64_t later = other_verify_run(OPS, FIXTURE_AXIOMS + 1);
    noe_assert_ok(noe_ruledb_set_verdict(f.db, later, c, &v, &err), err);
    assert_text("SELECT group_concat(kind, ' ') FROM (SELECT kind FROM verdict ORDER BY"
                " run_id)",
                "PROVED REFUTED");
    assert_text("SELECT kind FROM current_verdict", "REFUTED");
}
END_TEST

START_TEST(test_verdict_needs_verify_run_and_candidate)
{
    int64_t c = fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    noe_verdict v = {.kind = NOE_VERDICT_PROVED, .stage = "z3"};
    noe_assert_fails(noe_ruledb_set_verdict(f.db, f.generate_run, c, &v, &err),
                     NOE_ERR_ARG, err, "only a verify run judges");
    noe_assert_fails(noe_ruledb_set_verdict(f.db, 99, c, &v, &err), NOE_ERR_ARG, err,
                     "no run 99");
    noe_assert_fails(noe_ruledb_set_verdict(f.db, f.verify_run, 99, &v, &err),
                     NOE_ERR_ARG, err, "FOREIGN KEY");
    v.error_bound = NAN;
    noe_assert_fails(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err),
                     NOE_ERR_ARG, err, "NaN");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM verdict"), 0);
}
END_TEST

START_TEST(test_verdict_names_match_the_schema)
{
    int64_t c = fixture_candidate(f.generate_run, NEG_NEG, 1, 0, 2);
    noe_verdict v = {.kind = (noe_verdict_kind)_i, .stage = "z3"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    assert_text("SELECT kind FROM verdict", noe_verdict_kind_name(v.kind));
}
END_TEST

/* --- rules --- */

static noe_status collect_rule(void *ctx, const noe_rule_row *r, noe_error *e)
{
    (void)e;
    collected *got = ctx;
    got->n++;
    noe_buf_printf(&got->text, "%s|%s|%s|%s|%s|%s|%d|%d|%d|%d|%s|%g|%d\n", r->text,
                   r->lhs, r->rhs, r->where, r->lhs_ops, r->rhs_ops, r->n_lhs_ops,
                   r->n_rhs_ops, r->n_vars, r->n_roots,
                   noe_numeric_class_name(r->numeric), r->max_error, r->level);
    return NOE_OK;
}

static int count_rules(uint64_t op_table_hash)
{
    collected got = {0};
    noe_assert_ok(noe_ruledb_each_rule(f.db, op_table_hash, collect_rule, &got, &err),
                  err);
    noe_buf_clear(&got.text);
    return got.n;
}

static int64_t judged(const char *text, noe_verdict_kind kind, const char *axioms)
{
    int64_t c = fixture_candidate(f.generate_run, text, 1, 0, 2);
    noe_verdict v = {.kind = kind, .stage = "z3", .axioms = axioms};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    return c;
}

START_TEST(test_rule_round_trips)
{
    static const char rule[] = "add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c))"
                               " where rank(?a) == 2";
    collected got = {0};
    int64_t c = judged(rule, NOE_VERDICT_PROVED, "");
    noe_assert_ok(fixture_rule(f.verify_run, rule, c, NOE_CLASS_FLOAT, INFINITY, &err),
                  err);
    reopen(NOE_RULEDB_READ);
    noe_assert_ok(noe_ruledb_each_rule(f.db, OPS, collect_rule, &got, &err), err);
    ck_assert_str_eq(
        got.text.text,
        "add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c)) where rank(?a)"
        " == 2|add(mul(?a, ?b), mul(?a, ?c))|mul(?a, add(?b, ?c))|rank(?a) =="
        " 2|add mul mul|add mul|3|2|3|1|float|inf|2\n");
    noe_buf_clear(&got.text);
}
END_TEST

START_TEST(test_rule_needs_a_proof)
{
    if (_i == NOE_VERDICT_PROVED)
        return;
    int64_t c = judged(NEG_NEG, (noe_verdict_kind)_i, "");
    noe_assert_fails(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                     NOE_ERR_ARG, err, "not PROVED");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM rule"), 0);
}
END_TEST

START_TEST(test_rule_needs_a_verdict_under_its_own_hashes)
{
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "");
    int64_t later = other_verify_run(OPS, FIXTURE_AXIOMS + 1);
    noe_assert_fails(fixture_rule(later, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                     NOE_ERR_ARG, err, "is none, not PROVED");
}
END_TEST

/* The same promise held by the schema, for whoever writes past this library. */
START_TEST(test_schema_refuses_rules_without_proof)
{
    judged(NEG_NEG, NOE_VERDICT_UNKNOWN, "");
    sqlite3 *raw;
    ck_assert_int_eq(sqlite3_open(f.path, &raw), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(raw, "PRAGMA foreign_keys = ON", NULL, NULL, NULL),
                     SQLITE_OK);
    int rc = sqlite3_exec(
        raw,
        "INSERT INTO rule (id, text, lhs, rhs, condition, lhs_ops, rhs_ops, n_lhs_ops,"
        " n_rhs_ops, n_vars, n_roots, class, max_error, level, candidate_id, run_id,"
        " op_table_hash, axioms_hash) SELECT '00000000000000000000000000000000', 't', "
        "'l',"
        " 'r', '', '', '', 0, 0, 0, 1, 'exact', 0, 1, candidate_id, run_id, "
        "op_table_hash,"
        " axioms_hash FROM verdict",
        NULL, NULL, NULL);
    ck_assert_int_eq(rc, SQLITE_CONSTRAINT);
    ck_assert(noe_contains(sqlite3_errmsg(raw), "FOREIGN KEY"));
    sqlite3_close(raw);
}
END_TEST

START_TEST(test_rule_of_unknown_axiom_is_refused_whole)
{
    noe_assert_ok(noe_ruledb_add_axiom(f.db, FIXTURE_AXIOMS, "known", "t", &err), err);
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "known foreign");
    noe_assert_fails(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                     NOE_ERR_ARG, err, "'foreign'");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM rule"), 0);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM rule_axiom"), 0);
}
END_TEST

START_TEST(test_rule_replaced_with_its_axioms)
{
    noe_assert_ok(noe_ruledb_add_axiom(f.db, FIXTURE_AXIOMS, "p", "t", &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, FIXTURE_AXIOMS, "q", "t", &err), err);
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "p q p");
    noe_assert_ok(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_FLOAT, 1, &err),
                  err);
    assert_text("SELECT group_concat(name, ' ') FROM rule_axiom", "p q");
    noe_verdict v = {.kind = NOE_VERDICT_PROVED, .stage = "z3", .axioms = "q"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    noe_assert_ok(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                  err);
    assert_text("SELECT group_concat(name, ' ') FROM rule_axiom", "q");
    assert_text("SELECT count(*) || class FROM rule", "1exact");
}
END_TEST

START_TEST(test_rule_goes_with_its_proof)
{
    noe_assert_ok(noe_ruledb_add_axiom(f.db, FIXTURE_AXIOMS, "p", "t", &err), err);
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "p");
    noe_assert_ok(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                  err);
    noe_verdict v = {.kind = NOE_VERDICT_REFUTED, .stage = "field"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, f.verify_run, c, &v, &err), err);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM rule"), 0);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM rule_axiom"), 0);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}
END_TEST

START_TEST(test_stale_rules_are_not_loaded)
{
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "");
    noe_assert_ok(fixture_rule(f.verify_run, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err),
                  err);
    ck_assert_int_eq(count_rules(OPS), 1);
    ck_assert_int_eq(count_rules(OPS + 1), 0);
    int64_t later = other_verify_run(OPS, FIXTURE_AXIOMS + 1);
    ck_assert_int_eq(count_rules(OPS), 0);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM stale_rule"), 1);
    noe_verdict v = {.kind = NOE_VERDICT_PROVED, .stage = "z3"};
    noe_assert_ok(noe_ruledb_set_verdict(f.db, later, c, &v, &err), err);
    noe_assert_ok(fixture_rule(later, NEG_NEG, c, NOE_CLASS_EXACT, 0, &err), err);
    ck_assert_int_eq(count_rules(OPS), 1);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM stale_rule"), 0);
}
END_TEST

START_TEST(test_class_names_match_the_schema)
{
    int64_t c = judged(NEG_NEG, NOE_VERDICT_PROVED, "");
    noe_assert_ok(
        fixture_rule(f.verify_run, NEG_NEG, c, (noe_numeric_class)_i, 0, &err), err);
    assert_text("SELECT class FROM rule",
                noe_numeric_class_name((noe_numeric_class)_i));
    ck_assert_int_eq(count_rules(OPS), 1);
}
END_TEST

START_TEST(test_axiom_of_one_hash_has_one_text)
{
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 1, "p", "t", &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 1, "p", "t", &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 2, "p", "other", &err), err);
    noe_assert_fails(noe_ruledb_add_axiom(f.db, 1, "p", "other", &err), NOE_ERR_ARG,
                     err, "under the same hash");
    noe_assert_fails(noe_ruledb_add_axiom(f.db, 1, "two words", "t", &err), NOE_ERR_ARG,
                     err, "'two words'");
    noe_assert_fails(noe_ruledb_add_axiom(f.db, 1, "", "t", &err), NOE_ERR_ARG, err,
                     "no axiom name");
}
END_TEST

/* --- batches --- */

START_TEST(test_batch_lands_whole_or_not)
{
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    char id[NOE_HASH_HEX_LEN + 1];
    noe_candidate c = {.text = fixture_canonical(NEG_NEG, id), .rule_id = id};
    noe_assert_ok(noe_ruledb_add_candidate(f.db, 1, &c, NULL, &err), err);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM candidate"), 0);
    noe_ruledb_rollback(f.db);
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_assert_ok(noe_ruledb_add_candidate(f.db, 1, &c, NULL, &err), err);
    noe_assert_ok(noe_ruledb_commit(f.db, &err), err);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM candidate"), 1);
}
END_TEST

/* A write that is refused takes nothing else of its batch with it. */
START_TEST(test_batch_survives_a_refused_write)
{
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    char id[NOE_HASH_HEX_LEN + 1];
    noe_candidate c = {.text = fixture_canonical(NEG_NEG, id), .rule_id = id};
    noe_assert_ok(noe_ruledb_add_candidate(f.db, 1, &c, NULL, &err), err);
    ck_assert_int_ne(noe_ruledb_add_candidate(f.db, 99, &c, NULL, NULL), NOE_ERR_DB);
    noe_verdict v = {.kind = NOE_VERDICT_PROVED};
    ck_assert_int_eq(noe_ruledb_set_verdict(f.db, 2, 99, &v, NULL), NOE_ERR_ARG);
    noe_assert_ok(noe_ruledb_commit(f.db, &err), err);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM candidate"), 1);
}
END_TEST

START_TEST(test_close_undoes_an_open_batch)
{
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 1, "p", "t", &err), err);
    noe_ruledb_close(f.db);
    f.db = NULL;
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM axiom"), 0);
}
END_TEST

START_TEST(test_reader_cannot_write)
{
    reopen(NOE_RULEDB_READ);
    noe_assert_fails(noe_ruledb_add_axiom(f.db, 1, "p", "t", &err), NOE_ERR_IO, err,
                     "cannot be written");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM axiom"), 0);
}
END_TEST

/* --- costs --- */

START_TEST(test_cost_round_trips)
{
    noe_cost_row row = {.key = "conv|cpu|t1",
                        .seconds = 1.0 / 3,
                        .second_best = 0.1,
                        .n_batches = 7,
                        .clock = "thread-cpu"};
    noe_cost_row got;
    bool found;
    noe_assert_ok(noe_ruledb_get_cost(f.db, row.key, &found, &got, &err), err);
    ck_assert(!found);
    noe_assert_ok(noe_ruledb_put_cost(f.db, &row, &err), err);
    row.seconds = 1.0 / 7;
    noe_assert_ok(noe_ruledb_put_cost(f.db, &row, &err), err);
    reopen(NOE_RULEDB_READ);
    noe_assert_ok(noe_ruledb_get_cost(f.db, row.key, &found, &got, &err), err);
    ck_assert(found);
    ck_assert(got.seconds == 1.0 / 7 && got.second_best == 0.1);
    ck_assert_int_eq(got.n_batches, 7);
    ck_assert_str_eq(got.clock, "thread-cpu");
    ck_assert_str_eq(got.key, row.key);
}
END_TEST

START_TEST(test_cost_refuses_nonsense)
{
    noe_cost_row row = {.key = "k", .seconds = -1, .clock = "wall"};
    noe_assert_fails(noe_ruledb_put_cost(f.db, &row, &err), NOE_ERR_ARG, err,
                     "cost.seconds is not negative");
    row.seconds = NAN;
    noe_assert_fails(noe_ruledb_put_cost(f.db, &row, &err), NOE_ERR_ARG, err, "NaN");
}
END_TEST

/* Same calls, same bytes: no clock and no addresses in the file. */
START_TEST(test_files_of_equal_runs_are_equal)
{
    char *first, *second;
    size_t first_len, second_len;
    fixture_fill();
    noe_ruledb_close(f.db);
    f.db = NULL;
    noe_assert_ok(noe_file_read(f.path, 1 << 24, &first, &first_len, &err), err);
    fixture_teardown();
    fixture_setup();
    fixture_fill();
    noe_ruledb_close(f.db);
    f.db = NULL;
    noe_assert_ok(noe_file_read(f.path, 1 << 24, &second, &second_len, &err), err);
    ck_assert_uint_eq(first_len, second_len);
    ck_assert_mem_eq(first, second, first_len);
    free(first);
    free(second);
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_store(void);
Suite *suite_store(void)
{
    Suite *s = suite_create("ruledb.store");
    TCase *tc = add_case(s, "runs and candidates");
    tcase_add_test(tc, test_run_round_trips);
    tcase_add_test(tc, test_run_refuses_what_is_no_run);
    tcase_add_test(tc, test_candidate_known_text_is_left_alone);
    tcase_add_test(tc, test_candidate_needs_run_and_id);
    tcase_add_test(tc, test_open_candidates_come_in_order);
    tcase_add_test(tc, test_open_candidates_depend_on_the_hashes);
    tcase_add_test(tc, test_callback_failure_ends_the_visit);
    tc = add_case(s, "verdicts");
    tcase_add_test(tc, test_verdict_round_trips);
    tcase_add_test(tc, test_verdict_is_replaced_under_its_hashes_only);
    tcase_add_test(tc, test_verdict_needs_verify_run_and_candidate);
    tcase_add_loop_test(tc, test_verdict_names_match_the_schema, 0,
                        NOE_VERDICT_COVERED + 1);
    tc = add_case(s, "rules");
    tcase_add_test(tc, test_rule_round_trips);
    tcase_add_loop_test(tc, test_rule_needs_a_proof, 0, NOE_VERDICT_COVERED + 1);
    tcase_add_test(tc, test_rule_needs_a_verdict_under_its_own_hashes);
    tcase_add_test(tc, test_schema_refuses_rules_without_proof);
    tcase_add_test(tc, test_rule_of_unknown_axiom_is_refused_whole);
    tcase_add_test(tc, test_rule_replaced_with_its_axioms);
    tcase_add_test(tc, test_rule_goes_with_its_proof);
    tcase_add_test(tc, test_stale_rules_are_not_loaded);
    tcase_add_loop_test(tc, test_class_names_match_the_schema, 0, NOE_CLASS_RANGE + 1);
    tcase_add_test(tc, test_axiom_of_one_hash_has_one_text);
    tc = add_case(s, "batches and costs");
    tcase_add_test(tc, test_batch_lands_whole_or_not);
    tcase_add_test(tc, test_batch_survives_a_refused_write);
    tcase_add_test(tc, test_close_undoes_an_open_batch);
    tcase_add_test(tc, test_reader_cannot_write);
    tcase_add_test(tc, test_cost_round_trips);
    tcase_add_test(tc, test_cost_refuses_nonsense);
    tcase_add_test(tc, test_files_of_equal_runs_are_equal);
    return s;
}
