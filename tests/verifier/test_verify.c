/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"
#include "core/base/options.h"
#include "ruledb/query.h"
#include <stdio.h>
#include <stdlib.h>

static noe_error err;
static char folder[500], path[600];
static noe_ruledb *db;
static int64_t run_id;
static noe_env env;

static void setup(void)
{
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/rules.db", folder);
    env = (noe_env){.seed = 1, .n_threads = 1};
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &db, &err), err);
    noe_run run = {.stage = "generate",
                   .config = "test",
                   .version = noe_version,
                   .seed = 1,
                   .op_table_hash = noe_op_table_hash(),
                   .solver = ""};
    noe_assert_ok(noe_ruledb_add_run(db, &run, &run_id, &err), err);
}

static void teardown(void)
{
    noe_ruledb_close(db);
    noe_tmp_remove(folder);
}

static void add_candidate(const char *text, int64_t group, int generality,
                          bool is_deferred)
{
    char id[NOE_HASH_HEX_LEN + 1];
    const noe_rule *rule = fixture_rule(text);
    noe_buf canonical = {0};
    bool is_new;
    noe_rule_print(&canonical, rule);
    noe_hash_hex(noe_rule_id(rule), id);
    noe_candidate c = {.text = noe_buf_text(&canonical),
                       .rule_id = id,
                       .source = "",
                       .group = group,
                       .generality = generality,
                       .level = 2,
                       .shapes = "",
                       .field = "",
                       .is_deferred = is_deferred};
    noe_assert_ok(noe_ruledb_begin(db, &err), err);
    noe_assert_ok(noe_ruledb_add_candidate(db, run_id, &c, &is_new, &err), err);
    noe_assert_ok(noe_ruledb_commit(db, &err), err);
    noe_buf_clear(&canonical);
}

static void add(const char *text, int64_t group, int generality)
{
    add_candidate(text, group, generality, false);
}

/* A deferred candidate, derived by one step. */
static void add_deferred(const char *text, int64_t group, const char *used)
{
    char of_id[NOE_HASH_HEX_LEN + 1], used_id[NOE_HASH_HEX_LEN + 1];
    add_candidate(text, group, 0, true);
    noe_hash_hex(noe_rule_id(fixture_rule(text)), of_id);
    noe_hash_hex(noe_rule_id(fixture_rule(used)), used_id);
    noe_derivation_row row = {1, used_id, false, ""};
    noe_assert_ok(noe_ruledb_add_derivation_step(db, of_id, &row, &err), err);
}

static noe_verify_totals judge_all(void)
{
    noe_verify_totals totals;
    noe_verifier *v = fixture_verifier(0);
    noe_assert_ok(noe_verifier_run(v, db, &env, &totals, &err), err);
    noe_verifier_free(v);
    return totals;
}

static noe_status append_text(void *ctx, const noe_rule_row *row, noe_error *e)
{
    (void)e;
    noe_buf_printf(ctx, "%s %s\n", row->text, noe_numeric_class_name(row->numeric));
    return NOE_OK;
}

static void rules_of(noe_buf *b)
{
    noe_assert_ok(noe_ruledb_each_rule(db, noe_op_table_hash(), append_text, b, &err),
                  err);
}

START_TEST(test_verify_groups)
{
    add("relu(neg(?a)) => neg(relu(?a))", 1, 0);       /* false */
    add("relu(relu(neg(?a))) => relu(neg(?a))", 1, 1); /* true */
    add("relu(relu(neg(?a))) => relu(neg(?a)) where rank(?a) == 2", 1, 2);
    add("sigmoid(?a) => softmax[axis=0](?a) where rank(?a) == 9", 2,
        0); /* no instance */
    noe_verify_totals totals = judge_all();
    ck_assert_int_eq(totals.candidates, 4);
    ck_assert_int_eq(totals.groups, 2);
    ck_assert_int_eq(totals.refuted, 1);
    ck_assert_int_eq(totals.proved, 1);
    ck_assert_int_eq(totals.covered, 1);
    ck_assert_int_eq(totals.unknown, 1);
    ck_assert_int_eq(totals.unknown_type, 1);
    ck_assert_int_eq(totals.rules, 1);
    noe_buf rules = {0};
    rules_of(&rules);
    ck_assert_str_eq(noe_buf_text(&rules),
                     "relu(relu(neg(?a))) => relu(neg(?a)) exact\n");
    noe_buf_clear(&rules);
}
END_TEST

/* What follows from a proved rule is left alone, also by way of another deferred one;
 * what rests on a rule that failed, or on a more general variant than the proved one,
 * is judged by itself. */
START_TEST(test_verify_deferred_is_judged_where_its_derivation_fails)
{
    static const char general[] = "relu(relu(?a)) => relu(?a)";
    static const char false_one[] = "sub(?a, ?b) => sub(?b, ?a)";
    static const char instance[] = "relu(relu(exp(?a))) => relu(exp(?a))";
    add(general, 1, 0);
    add(false_one, 2, 0);
    add("neg(neg(neg(?a))) => ?a", 3, 0); /* false; its special case is true */
    add("neg(neg(?a)) => ?a", 3, 1);
    add_deferred(instance, 4, general);
    add_deferred("relu(relu(exp(neg(?a)))) => relu(exp(neg(?a)))", 5, instance);
    add_deferred("add(?a, neg(?b)) => sub(?a, ?b)", 6, false_one);
    add_deferred("neg(sub(?a, ?b)) => sub(?b, ?a)", 7, "neg(neg(neg(?a))) => ?a");
    add_deferred("neg(neg(exp(?a))) => exp(?a)", 8, "neg(neg(?a)) => ?a");
    noe_verify_totals totals = judge_all();
    ck_assert_int_eq(totals.candidates, 9);
    ck_assert_int_eq(totals.refuted, 2);
    ck_assert_int_eq(totals.covered, 3);
    noe_buf rules = {0};
    rules_of(&rules);
    ck_assert(strstr(noe_buf_text(&rules), "add(?a, neg(?b)) => sub(?a, ?b)"));
    ck_assert(strstr(noe_buf_text(&rules), "neg(sub(?a, ?b)) => sub(?b, ?a)"));
    ck_assert_ptr_null(strstr(noe_buf_text(&rules), "exp"));
    ck_assert_int_eq(totals.proved, 4);
    noe_buf_clear(&rules);
}
END_TEST

/* A derivation is one at an instance: a form that the rules as they were proved do not
 * derive has a proof of its own, also when an interrupted run goes on. */
START_TEST(test_verify_deferred_is_judged_where_more_general)
{
    static const char matrices[] = "neg(neg(?a)) => ?a where rank(?a) == 2";
    static const char all[] = "relu(relu(?a)) => relu(?a)";
    add(matrices, 1, 0);
    add(all, 2, 0);
    if (_i)
        ck_assert_int_eq(judge_all().proved, 2);
    add_deferred("exp(neg(neg(?a))) => exp(?a)", 3, matrices);
    add_candidate("exp(neg(neg(?a))) => exp(?a) where rank(?a) == 2", 3, 1, true);
    add_deferred("exp(relu(relu(?a))) => exp(relu(?a))", 4, all);
    add_candidate("exp(relu(relu(?a))) => exp(relu(?a)) where rank(?a) == 2", 4, 1,
                  true);
    noe_verify_totals totals = judge_all();
    ck_assert_int_eq(totals.proved, _i ? 1 : 3);
    ck_assert_int_eq(totals.covered, 3);
    noe_buf rules = {0};
    rules_of(&rules);
    ck_assert(strstr(noe_buf_text(&rules), "exp(neg(neg(?a))) => exp(?a) exact"));
    ck_assert_ptr_null(strstr(noe_buf_text(&rules), "exp(relu"));
    noe_buf_clear(&rules);
}
END_TEST

START_TEST(test_verify_again_has_nothing_to_do)
{
    add("relu(relu(?a)) => relu(?a)", 1, 0);
    ck_assert_int_eq(judge_all().candidates, 1);
    ck_assert_int_eq(judge_all().candidates, 0);
}
END_TEST

/* A rule that is stored as if it had been proved under these hashes. */
static void plant(const char *text, int64_t group, uint64_t axioms_hash)
{
    add(text, group, 0);
    noe_run run = {.stage = "verify",
                   .config = "test",
                   .version = noe_version,
                   .op_table_hash = noe_op_table_hash(),
                   .axioms_hash = axioms_hash,
                   .solver = ""};
    noe_verdict proved = {.kind = NOE_VERDICT_PROVED,
                          .stage = "z3",
                          .reason = "",
                          .counterexample = "",
                          .shapes_checked = "",
                          .axioms = "",
                          .certificate = ""};
    int64_t planted;
    char id[NOE_HASH_HEX_LEN + 1];
    noe_hash_hex(noe_rule_id(fixture_rule(text)), id);
    noe_rule_row row = {.id = id,
                        .text = text,
                        .lhs = "",
                        .rhs = "",
                        .where = "",
                        .lhs_ops = "",
                        .rhs_ops = "",
                        .candidate = group};
    noe_assert_ok(noe_ruledb_add_run(db, &run, &planted, &err), err);
    noe_assert_ok(noe_ruledb_set_verdict(db, planted, group, &proved, &err), err);
    noe_assert_ok(noe_ruledb_add_rule(db, planted, &row, &err), err);
}

static noe_recheck_totals recheck_all(void)
{
    noe_recheck_totals totals;
    noe_verifier *v = fixture_verifier(0);
    noe_assert_ok(noe_verifier_recheck(v, db, &env, &totals, &err), err);
    noe_verifier_free(v);
    return totals;
}

static uint64_t current_axioms(void)
{
    noe_verifier *v = fixture_verifier(0);
    uint64_t hash = noe_verifier_axioms(v)->hash;
    noe_verifier_free(v);
    return hash;
}

/* Candidates are numbered from 1 as they are added. */
START_TEST(test_verify_recheck)
{
    plant("relu(relu(?a)) => relu(?a)", 1, 7); /* stale */
    plant("neg(neg(?a)) => ?a", 2, current_axioms());
    plant("relu(?a) => neg(?a)", 3, current_axioms()); /* false */
    noe_recheck_totals totals = recheck_all();
    ck_assert_int_eq(totals.rules, 3);
    ck_assert_int_eq(totals.verdicts.rules, 2);
    ck_assert_int_eq(totals.refreshed, 1);
    ck_assert_int_eq(totals.lost, 1);
    noe_buf rules = {0};
    rules_of(&rules);
    ck_assert_str_eq(noe_buf_text(&rules), "relu(relu(?a)) => relu(?a) exact\n"
                                           "neg(neg(?a)) => ?a exact\n");
    noe_buf_clear(&rules);
    totals = recheck_all();
    ck_assert_int_eq(totals.rules, 2);
    ck_assert_int_eq(totals.refreshed + totals.lost, 0);
}
END_TEST

/* What a rule that is not proved again covered is judged by itself. */
START_TEST(test_verify_recheck_reopens_what_was_covered)
{
    plant("relu(?a) => neg(?a)", 1, current_axioms()); /* false */
    add("relu(relu(?a)) => relu(?a)", 1, 1);
    ck_assert_int_eq(judge_all().covered, 0);
    teardown();
    setup();
    add("relu(relu(?a)) => relu(?a)", 1, 0);
    add("relu(relu(relu(?a))) => relu(?a)", 1, 1);
    ck_assert_int_eq(judge_all().covered, 1);
    noe_verifier *weak;
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_recheck_totals totals;
    config.rlimit = 1;
    config.lia.max_schemes = 0;
    noe_assert_ok(noe_verifier_new(&config, NULL, &weak, &err), err);
    noe_assert_ok(noe_verifier_recheck(weak, db, &env, &totals, &err), err);
    noe_verifier_free(weak);
    ck_assert_int_eq(totals.lost, 1);
    ck_assert_int_eq(judge_all().proved, 1);
}
END_TEST

START_TEST(test_verify_cancelled_keeps_what_it_has)
{
    volatile sig_atomic_t stop = 1;
    noe_verify_totals totals;
    noe_verifier *v = fixture_verifier(0);
    add("relu(relu(?a)) => relu(?a)", 1, 0);
    env.cancel = &stop;
    noe_assert_fails(noe_verifier_run(v, db, &env, &totals, &err), NOE_ERR_CANCELLED,
                     err, "interrupted after 0 of 1");
    env.cancel = NULL;
    noe_verifier_free(v);
    ck_assert_int_eq(judge_all().proved, 1);
}
END_TEST

/* The same candidates in two orders give the same rules. */
START_TEST(test_verify_order_does_not_matter)
{
    static const char *const texts[] = {
        "add(?a, neg(?b)) => sub(?a, ?b)", "mul(?a, reciprocal(?b)) => div(?a, ?b)",
        "relu(relu(?a)) => relu(?a)", "sub(?a, ?b) => sub(?b, ?a)",
        "transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a"};
    noe_buf forward = {0}, backward = {0};
    for (int i = 0; i < 5; i++)
        add(texts[i], i, 0);
    judge_all();
    rules_of(&forward);
    teardown();
    setup();
    for (int i = 4; i >= 0; i--)
        add(texts[i], i, 0);
    judge_all();
    rules_of(&backward);
    ck_assert_str_eq(noe_buf_text(&forward), noe_buf_text(&backward));
    ck_assert(noe_contains(noe_buf_text(&forward), "sub(?a, ?b)"));
    noe_buf_clear(&forward);
    noe_buf_clear(&backward);
}
END_TEST

/* The search for axioms once used a node of an application that was too large to be
 * made.
 */
START_TEST(test_verify_survives_what_is_too_large)
{
    noe_verifier *v = fixture_verifier(0);
    noe_check c;
    noe_verifier_check(v,
                       fixture_rule("div(div(?a, ?b), concat[axis=$a](?c, div(?d, ?b)))"
                                    " => div(?a, concat[axis=$a](mul(?c, ?b), ?d))"
                                    " where shape(?a) == shape(?d)"),
                       &c);
    ck_assert_int_eq(c.kind, NOE_VERDICT_PROVED);
    noe_check_clear(&c);
    noe_verifier_free(v);
}
END_TEST

START_TEST(test_verify_command)
{
    char *output;
    ck_assert_int_eq(noe_run_command(NOE_BIN_DIR "/noether-verify --rule "
                                                 "'relu(relu(?a)) => relu(?a)'",
                                     &output),
                     0);
    ck_assert(noe_contains(output, "PROVED"));
    ck_assert(noe_contains(output, "relu_relu"));
    free(output);
    ck_assert_int_eq(noe_run_command(NOE_BIN_DIR "/noether-verify --rule "
                                                 "'relu(?a) => neg(?a)'",
                                     &output),
                     1);
    ck_assert(noe_contains(output, "REFUTED"));
    ck_assert(noe_contains(output, "seed="));
    free(output);
    ck_assert_int_eq(
        noe_run_command(NOE_BIN_DIR "/noether-verify --rule 'relu('", &output), 3);
    free(output);
    ck_assert_int_eq(noe_run_command(NOE_BIN_DIR "/noether-verify", &output), 2);
    free(output);
    ck_assert_int_ne(
        noe_run_command(NOE_BIN_DIR "/noether-verify --db /nowhere/rules.db", &output),
        0);
    free(output);
}
END_TEST

static noe_status note_row(void *ctx, const noe_query_row *row, noe_error *e)
{
    (void)e;
    noe_buf_puts(ctx, row->values[0]);
    return NOE_OK;
}

/* A refuted candidate gets one under a condition beside it, whose rule has the
 * condition in both forms; a later run has nothing left to do, and a recheck proves it
 * again. */
START_TEST(test_refuted_candidate_is_narrowed)
{
    add("conv[group=$g](?x, concat[axis=0](?w, ?v)) => "
        "concat[axis=1](conv[group=$g](?x, "
        "?w), conv[group=$g](?x, ?v))",
        0, 0);
    add("add(?a, ?b) => sub(?a, ?b)", 1, 0);
    noe_verify_totals t = judge_all();
    ck_assert_int_eq(t.candidates, 3);
    ck_assert_int_eq(t.refuted, 2);
    ck_assert_int_eq(t.narrowed, 1);
    ck_assert_int_eq(t.rules, 1);
    noe_buf found = {0};
    static const char ask[] =
        "SELECT r.condition || '; ' || r.condition_smt2 || '; ' || o.lift_group || ' ' "
        "||"
        " c.lift_group || '; ' || (SELECT count(*) FROM verdict WHERE precondition <> "
        "'')"
        " FROM rule AS r JOIN candidate AS c ON c.id = r.candidate_id"
        " JOIN candidate AS o ON o.rule_id = c.narrows";
    noe_assert_ok(noe_ruledb_query(db, ask, NULL, 0, note_row, &found, &err), err);
    ck_assert_str_eq(noe_buf_text(&found),
                     "$a == 1; (declare-const $a Int)\n(assert (= $a 1))\n; 0 2; 2");
    noe_buf_clear(&found);
    t = judge_all();
    ck_assert_int_eq(t.candidates, 0);
    noe_recheck_totals r;
    noe_verifier *v = fixture_verifier(0);
    noe_assert_ok(noe_verifier_recheck(v, db, &env, &r, &err), err);
    ck_assert_int_eq(r.rules, 1);
    ck_assert_int_eq(r.lost, 0);
    noe_verifier_free(v);
}
END_TEST

Suite *suite_verify(void)
{
    Suite *s = suite_create("verify");
    TCase *tc = tcase_create("verify");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_verify_groups);
    tcase_add_test(tc, test_verify_deferred_is_judged_where_its_derivation_fails);
    tcase_add_loop_test(tc, test_verify_deferred_is_judged_where_more_general, 0, 2);
    tcase_add_test(tc, test_verify_again_has_nothing_to_do);
    tcase_add_test(tc, test_verify_recheck);
    tcase_add_test(tc, test_verify_recheck_reopens_what_was_covered);
    tcase_add_test(tc, test_verify_cancelled_keeps_what_it_has);
    tcase_add_test(tc, test_verify_order_does_not_matter);
    tcase_add_test(tc, test_refuted_candidate_is_narrowed);
    tcase_add_test(tc, test_verify_survives_what_is_too_large);
    tcase_add_test(tc, test_verify_command);
    suite_add_tcase(s, tc);
    return s;
}
