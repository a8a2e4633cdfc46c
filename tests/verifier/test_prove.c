/* SPDX-License-Identifier: Apache-2.0
 *
 * Soundness of verdicts: true rules are proved, planted wrong ones and mutants are not,
 * a rule proves against itself, a small budget means unknown.
 */
#include "tests/verifier/fixture.h"
#include "verifier/encode.h"
#include <stdio.h>
#include <stdlib.h>

static noe_verifier *v;

static void setup(void)
{
    v = fixture_verifier(0);
}

static void teardown(void)
{
    noe_verifier_free(v);
}

START_TEST(test_prove_true_rules)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_check check;
        noe_verifier_check(v, rules.rule[i], &check);
        ck_assert_msg(check.kind == NOE_VERDICT_PROVED, "%s: %s", rules.name[i],
                      noe_buf_text(&check.reason));
        ck_assert(check.proof.n_steps > 0 && check.proof.axioms.len > 0);
        noe_check_clear(&check);
    }
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_prove_refuses_wrong_rules)
{
    fixture_rules rules;
    fixture_load("wrong_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_check check;
        noe_verifier_check(v, rules.rule[i], &check);
        ck_assert_msg(check.kind == NOE_VERDICT_REFUTED ||
                          check.kind == NOE_VERDICT_UNKNOWN,
                      "%s is proved", rules.name[i]);
        ck_assert_msg(check.reason.len > 0, "%s: no reason", rules.name[i]);
        noe_check_clear(&check);
    }
    fixture_unload(&rules);
}
END_TEST

/* Without FIELD: what axioms alone derive from wrong rules must be stopped by looking
 * at the steps, at the rule's own instances. */
START_TEST(test_prove_axioms_alone_refuse_wrong_rules)
{
    fixture_rules rules;
    fixture_load("wrong_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_instance *list[12];
        int n = 0, attempts = 0;
        for (int k = 0; k < 12; k++) {
            list[n] = noe_malloc(sizeof *list[n]);
            if (noe_instance_find(rules.rule[i], 7, k, 400, list[n], &attempts))
                n++;
            else
                free(list[n]);
        }
        noe_proof proof;
        noe_prover_prove(noe_verifier_prover(v), rules.rule[i], list, n, false, &proof);
        bool vacuous = strcmp(rules.name[i], "nowhere") == 0;
        ck_assert_msg(!proof.proved || n == 0 || vacuous, "%s: %s", rules.name[i],
                      noe_buf_text(&proof.certificate));
        noe_proof_clear(&proof);
        for (int k = 0; k < n; k++)
            free(list[k]);
    }
    fixture_unload(&rules);
}
END_TEST

static noe_rule identity_of(const noe_rule *rule, bool left)
{
    noe_rule same = *rule;
    memcpy(left ? same.rhs : same.lhs, left ? rule->lhs : rule->rhs, sizeof same.lhs);
    return same;
}

START_TEST(test_prove_rule_against_itself)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_rule *same = noe_malloc(sizeof *same);
        noe_buf text = {0};
        noe_error err;
        *same = identity_of(rules.rule[i], true);
        noe_rule_print(&text, same); /* drops what only the other side had */
        noe_assert_ok(noe_rule_parse(noe_buf_text(&text), SIZE_MAX, same, &err), err);
        ck_assert_msg(fixture_judge(v, same) == NOE_VERDICT_PROVED, "%s",
                      rules.name[i]);
        noe_buf_clear(&text);
        free(same);
    }
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_prove_small_budget_is_unknown)
{
    fixture_rules rules;
    noe_verifier *poor = fixture_verifier(1);
    fixture_load("true_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_check check;
        noe_verifier_check(poor, rules.rule[i], &check);
        /* The all-sizes proof has its own budget. */
        ck_assert_msg(!check.proof.proved, "%s", rules.name[i]);
        ck_assert_str_eq(check.stage, check.lia.proved ? "lia" : "z3");
        noe_check_clear(&check);
    }
    fixture_unload(&rules);
    noe_verifier_free(poor);
}
END_TEST

/* At 1/0 the laws of the reciprocal contradict those of zero, so axioms alone derive
 * anything there; such rules are refused for what they are. */
static const char *const at_poles[] = {
    "div(zeros[shape=$s](), zeros[shape=$s]()) => ones[shape=$s]()",
    "mul(zeros[shape=$s](), reciprocal(zeros[shape=$s]())) => ones[shape=$s]()",
    "div(sub(?a, ?a), sub(?a, ?a)) => ones[shape=shape(?a)]()",
    "add(?a, div(zeros[shape=[2]](), zeros[shape=[2]]())) => "
    "add(?a, mul(zeros[shape=[2]](), reciprocal(zeros[shape=[2]]())))",
    "reciprocal(zeros[shape=$s]()) => neg(reciprocal(zeros[shape=$s]()))",
    "div(?a, mul(relu(?b), relu(neg(?b)))) => zeros[shape=shape(?a)]()",
    "reciprocal(pad[pads=[1, 1]](?a)) => pad[pads=[1, 1]](reciprocal(?a))",
};

START_TEST(test_prove_division_by_zero_is_unknown)
{
    noe_check check;
    noe_verifier_check(v, fixture_rule(at_poles[_i]), &check);
    ck_assert_int_eq(check.kind, NOE_VERDICT_UNKNOWN);
    ck_assert_str_eq(check.stage, "field");
    ck_assert(noe_contains(noe_buf_text(&check.reason), "always zero"));
    noe_check_clear(&check);
}
END_TEST

/* Where a denominator is only sometimes zero, the rule is judged as any other. */
START_TEST(test_prove_ordinary_division_is_proved)
{
    ck_assert_int_eq(fixture_judge(v, fixture_rule("div(?a, relu(?b)) => mul(?a, "
                                                   "reciprocal(relu(?b)))")),
                     NOE_VERDICT_PROVED);
    ck_assert_int_eq(
        fixture_judge(v, fixture_rule("div(?a, ?b) => mul(reciprocal(?b), ?a)")),
        NOE_VERDICT_PROVED);
    ck_assert_int_eq(fixture_judge(v, fixture_rule("div(?a, ?b) => div(?b, ?a)")),
                     NOE_VERDICT_REFUTED);
}
END_TEST

/* A step of a proof at 1/0 does not hold at the instances. */
START_TEST(test_prove_steps_at_poles_are_refused)
{
    static const char *const rules[] = {
        "div(zeros[shape=$s](), zeros[shape=$s]()) => ones[shape=$s]()",
        "mul(zeros[shape=$s](), reciprocal(zeros[shape=$s]())) => ones[shape=$s]()",
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const noe_rule *rule = fixture_rule(rules[i]);
        noe_instance *inst = noe_malloc(sizeof *inst);
        int attempts = 0;
        ck_assert(noe_instance_find(rule, 1, 2, 400, inst, &attempts));
        noe_proof proof;
        noe_prover_prove(noe_verifier_prover(v), rule, &inst, 1, false, &proof);
        ck_assert_msg(!proof.proved, "%s: %s", rules[i],
                      noe_buf_text(&proof.certificate));
        ck_assert_msg(noe_contains(noe_buf_text(&proof.reason), "does not hold at"),
                      "%s", noe_buf_text(&proof.reason));
        noe_proof_clear(&proof);
        free(inst);
    }
}
END_TEST

/* What the field's models lack is not refuted, what is wrong over the reals is. */
START_TEST(test_prove_missing_laws_of_models_are_not_refuted)
{
    static const struct {
        const char *rule;
        noe_verdict_kind kind;
    } cases[] = {
        {"exp(mul(exp(?a), exp(?b))) => exp(exp(add(?a, ?b)))", NOE_VERDICT_UNKNOWN},
        {"tanh(sqrt(mul(?a, ?b))) => tanh(mul(sqrt(?b), sqrt(?a)))",
         NOE_VERDICT_UNKNOWN},
        {"sigmoid(neg(tanh(?a))) => sigmoid(tanh(?a))", NOE_VERDICT_REFUTED},
        {"softmax[axis=0](add(?b, relu(softmax[axis=0](?a)))) => softmax[axis=0](?b)",
         NOE_VERDICT_REFUTED},
        {"log(exp(?a)) => ?a", NOE_VERDICT_UNKNOWN},
        {"mul(sqrt(?a), sqrt(?a)) => ?a", NOE_VERDICT_PROVED},
        {"relu(mul(sqrt(?a), sqrt(?a))) => ?a", NOE_VERDICT_PROVED},
        {"mul(sqrt(?a), sqrt(?b)) => ?a", NOE_VERDICT_REFUTED},
        {"add(mul(sqrt(?a), sqrt(?a)), log(?b)) => add(?a, log(?b))",
         NOE_VERDICT_PROVED},
        {"abs(?a) => ?a", NOE_VERDICT_REFUTED},
        {"exp(max(?a, ?b)) => max(exp(?a), exp(?b))", NOE_VERDICT_UNKNOWN},
        {"exp(min(?a, ?b)) => max(exp(?a), exp(?b))", NOE_VERDICT_REFUTED},
        {"exp(exp(?a)) => exp(relu(exp(?a)))", NOE_VERDICT_PROVED},
        {"mul(exp(?a), exp(?b)) => exp(sub(?a, ?b))", NOE_VERDICT_REFUTED},
        {"sqrt(exp(?a)) => exp(?a)", NOE_VERDICT_REFUTED},
        {"relu(mul(exp(?a), tanh(?b))) => mul(exp(?a), tanh(?b))", NOE_VERDICT_REFUTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_check check;
        noe_verifier_check(v, fixture_rule(cases[i].rule), &check);
        ck_assert_msg(check.kind == cases[i].kind, "%s: %s", cases[i].rule,
                      noe_buf_text(&check.reason));
        ck_assert(check.kind != NOE_VERDICT_UNKNOWN ||
                  noe_contains(noe_buf_text(&check.reason), "models lack"));
        noe_check_clear(&check);
    }
}
END_TEST

/* Derived only where the ranks are known: the evidence says for which, and no others
 * are possible. */
START_TEST(test_prove_by_ranks)
{
    static const char text[] = "reduce_sum[axes=[-2]](matmul(?a, ?b)) => "
                               "matmul(reduce_sum[axes=[-2]](?a), ?b)";
    char pinned[200];
    noe_check check;
    snprintf(pinned, sizeof pinned, "%s where rank(?a) == 3 && rank(?b) == 3", text);
    noe_verifier_check(v, fixture_rule(pinned), &check);
    ck_assert_msg(check.kind == NOE_VERDICT_PROVED, "%s", noe_buf_text(&check.reason));
    if (check.proof.n_ranks > 0) {
        ck_assert_str_eq(noe_buf_text(&check.proof.ranks), "a:3 b:3");
        ck_assert(noe_contains(noe_buf_text(&check.proof.certificate), "ranks a:3"));
    }
    noe_check_clear(&check);
    noe_verifier_check(v, fixture_rule(text), &check);
    ck_assert(!check.proof.proved);
    ck_assert_int_eq(check.tier, check.lia.proved ? NOE_TIER_B : NOE_TIER_NONE);
    noe_check_clear(&check);
}
END_TEST

/* What is said of known ranks is not contradictory: nothing false follows. */
START_TEST(test_prove_by_ranks_are_consistent)
{
    static const char *const false_ones[] = {
        "add(?a, ?b) => add(?b, relu(?a))",
        "matmul(?a, ?b) => matmul(?a, neg(?b))",
        "conv[strides=$a, pads=$b](?x, ?w) => conv[strides=$a, pads=$b](neg(?x), ?w)",
        "mul(?a, concat[axis=0](?b, ?c)) => mul(?a, concat[axis=0](neg(?b), ?c)) where "
        "rank(?a) == 2 && dim(?a, 0) == 1",
        "reshape[shape=shape(?b) ++ [1]](?a) => reshape[shape=shape(?b) ++ [1]](?b) "
        "where prod(shape(?a)) == prod(shape(?b))",
    };
    for (size_t i = 0; i < sizeof false_ones / sizeof *false_ones; i++) {
        const noe_rule *rule = fixture_rule(false_ones[i]);
        for (int k = 0; k < 8; k++) {
            noe_instance *inst = noe_malloc(sizeof *inst);
            int attempts = 0;
            noe_proof proof;
            ck_assert(noe_instance_find(rule, 3, k, 2000, inst, &attempts));
            noe_prover_prove(noe_verifier_prover(v), rule, &inst, 1, false, &proof);
            /* "a step of the proof": there was a proof */
            ck_assert_msg(!proof.proved && !noe_contains(noe_buf_text(&proof.reason),
                                                         "a step of the proof"),
                          "%s: %s", false_ones[i], noe_buf_text(&proof.reason));
            noe_proof_clear(&proof);
            free(inst);
        }
    }
}
END_TEST

/* E-matching makes transpose[perm=$a](?a), which is ill-typed where ?a has fewer axes
 * than ?b; what laws of shapes say of it proves anything. */
START_TEST(test_prove_nothing_from_ill_typed_terms)
{
    noe_check check;
    noe_verifier_check(
        v,
        fixture_rule("add(?a, transpose[perm=$a](?b)) => transpose[perm=$a](add(?b, "
                     "?a)) where rank(?a) == 1 && rank(?b) == 3 && at($a, -1) == 2"),
        &check);
    ck_assert(!check.proof.proved);
    ck_assert_msg(noe_contains(noe_buf_text(&check.proof.reason),
                               "a term of the proof is ill-typed"),
                  "%s", noe_buf_text(&check.proof.reason));
    ck_assert_int_eq(check.tier, NOE_TIER_B);
    noe_check_clear(&check);
}
END_TEST

/* The axioms must not make different things equal, even with a generous budget. The
 * rules are false, so they go to the prover alone, with no instance to stop it. */
START_TEST(test_prove_no_contradiction)
{
    static const char *const false_ones[] = {
        "add(?a, ?b) => add(?a, ?c)",
        "relu(?a) => relu(?b)",
        "zeros[shape=$s]() => ones[shape=$s]()",
        "zeros[shape=[2, 3]]() => ones[shape=[2, 3]]()",
        "neg(ones[shape=$s]()) => ones[shape=$s]()",
        "matmul(?a, identity_matrix[shape=$s]()) => zeros[shape=$t]()",
        "transpose[perm=[1, 0]](?a) => ?a",
        "softmax[axis=$k](?a) => ?a",
        "concat[axis=$k](?a, ?b) => concat[axis=$k](?b, ?a)",
        "conv(?x, ?w) => conv(?x, ?v)",
        "reduce_sum[axes=$x](?a) => reduce_mean[axes=$x](?a)",
    };
    noe_verifier *rich = fixture_verifier(400000);
    for (size_t i = 0; i < sizeof false_ones / sizeof *false_ones; i++) {
        noe_proof proof;
        noe_prover_prove(noe_verifier_prover(rich), fixture_rule(false_ones[i]), NULL,
                         0, false, &proof);
        ck_assert_msg(!proof.proved, "%s: %s", false_ones[i],
                      noe_buf_text(&proof.certificate));
        noe_proof_clear(&proof);
    }
    noe_verifier_free(rich);
}
END_TEST

/* Same verdicts and certificates in any order and from a fresh solver. */
START_TEST(test_prove_order_does_not_matter)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    char *first[256];
    for (int i = 0; i < rules.n; i++) {
        noe_check check;
        noe_verifier_check(v, rules.rule[i], &check);
        first[i] = noe_strdup(noe_buf_text(&check.proof.axioms));
        noe_check_clear(&check);
    }
    noe_verifier *other = fixture_verifier(0);
    for (int i = rules.n - 1; i >= 0; i--) {
        noe_check check;
        noe_verifier_check(other, rules.rule[i], &check);
        ck_assert_int_eq(check.kind, NOE_VERDICT_PROVED);
        ck_assert_msg(strcmp(first[i], noe_buf_text(&check.proof.axioms)) == 0,
                      "%s: '%s' and '%s'", rules.name[i], first[i],
                      noe_buf_text(&check.proof.axioms));
        noe_check_clear(&check);
        free(first[i]);
    }
    noe_verifier_free(other);
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_prove_certificate_names_axioms)
{
    noe_check check;
    noe_verifier_check(v, fixture_rule("relu(neg(neg(?a))) => relu(?a)"), &check);
    ck_assert_int_eq(check.kind, NOE_VERDICT_PROVED);
    ck_assert_str_eq(noe_buf_text(&check.proof.axioms), "neg_neg");
    ck_assert_str_eq(noe_buf_text(&check.proof.certificate), "neg_neg ?a=?a\n");
    noe_check_clear(&check);
}
END_TEST

/* An axiom left out is an axiom not used. */
START_TEST(test_prove_needs_its_axiom)
{
    const noe_axioms *axioms = noe_verifier_axioms(v);
    int index = noe_axioms_find(axioms, "matmul_associates");
    const noe_rule *rule = fixture_rule(
        "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2");
    noe_prover *prover = noe_prover_new(axioms, 40000, 0, index);
    noe_proof proof;
    noe_prover_prove(prover, rule, NULL, 0, false, &proof);
    ck_assert(!proof.proved);
    noe_proof_clear(&proof);
    noe_prover_free(prover);
}
END_TEST

START_TEST(test_prove_smt2_is_complete)
{
    noe_buf text = {0};
    noe_prover_print_smt2(noe_verifier_prover(v),
                          fixture_rule("relu(relu(?a)) => relu(?a)"), &text);
    ck_assert(noe_contains(noe_buf_text(&text), "relu_relu"));
    ck_assert(noe_contains(noe_buf_text(&text), "(declare-fun op.matmul (T T) T)"));
    ck_assert(noe_contains(noe_buf_text(&text), "(check-sat)"));
    noe_buf_clear(&text);
}
END_TEST

/* One-edit mutants of true rules */

#define N_MUTANTS 400

static noe_op similar_operator(noe_op op, noe_rng *rng)
{
    for (int i = 0; i < 100; i++) {
        noe_op other = (noe_op)noe_rng_below(rng, NOE_OP_COUNT);
        const noe_op_info *a = noe_op_get(op), *b = noe_op_get(other);
        if (other != op && !noe_op_has(other, NOE_TRAIT_COMPOSITE) &&
            a->min_in == b->min_in && a->n_params == b->n_params &&
            memcmp(a->params, b->params, sizeof a->params) == 0)
            return other;
    }
    return op;
}

static void edit_node(noe_rule *rule, noe_pattern_node *p, noe_rng *rng)
{
    uint64_t how = noe_rng_below(rng, 4);
    int k = (int)noe_rng_below(rng, p->n_inputs ? p->n_inputs : 1);
    if (how == 0 && p->n_inputs == 2) {
        uint16_t first = p->inputs[0];
        p->inputs[0] = p->inputs[1];
        p->inputs[1] = first;
    } else if (how == 1) {
        p->op = similar_operator(p->op, rng);
    } else if (how == 2 && p->n_inputs > 0) {
        for (uint16_t i = 0; i < rule->n_nodes; i++) {
            if (rule->nodes[i].is_var && &rule->nodes[i] < p &&
                noe_rng_below(rng, 2) == 0)
                p->inputs[k] = i;
        }
    } else if (p->n_inputs > 0 && !rule->nodes[p->inputs[k]].is_var) {
        p->inputs[k] = rule->nodes[p->inputs[k]].inputs[0];
    }
}

static void edit_number(noe_rule *rule, noe_rng *rng)
{
    noe_term *t = &rule->terms[noe_rng_below(rng, rule->n_terms)];
    if (t->kind == NOE_TERM_INT)
        t->i += noe_rng_below(rng, 2) ? 1 : -1;
    else if (t->kind == NOE_TERM_DIM && rule->n_vars > 1)
        t->var = (uint16_t)noe_rng_below(rng, rule->n_vars);
}

/* A rule text with one change; false when the change makes no readable rule. */
static bool mutate(const noe_rule *rule, noe_rng *rng, noe_rule *out)
{
    *out = *rule;
    if (out->n_terms > 0 && noe_rng_below(rng, 3) == 0) {
        edit_number(out, rng);
    } else {
        noe_pattern_node *p = &out->nodes[noe_rng_below(rng, out->n_nodes)];
        if (p->is_var)
            return false;
        edit_node(out, p, rng);
    }
    noe_buf text = {0};
    noe_rule_print(&text, out);
    bool ok = noe_rule_parse(noe_buf_text(&text), SIZE_MAX, out, NULL) == NOE_OK;
    noe_buf_clear(&text);
    return ok;
}

/* Whoever is accepted must also pass a longer check with another seed. */
START_TEST(test_prove_mutants)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    noe_rng rng = noe_rng_split(20, "mutant", 0);
    noe_rule *mutant = noe_malloc(sizeof *mutant);
    int n[4] = {0};
    for (int i = 0; i < N_MUTANTS; i++) {
        if (!mutate(rules.rule[noe_rng_below(&rng, (uint64_t)rules.n)], &rng, mutant))
            continue;
        noe_verdict_kind kind = fixture_judge(v, mutant);
        n[kind]++;
        if (kind != NOE_VERDICT_PROVED)
            continue;
        noe_field_config longer = {.seed = 77, .n_instances = 240, .max_attempts = 400};
        noe_field_report report;
        noe_buf text = {0};
        noe_field_check(mutant, &longer, &report);
        noe_rule_print(&text, mutant);
        ck_assert_msg(!report.difference.found, "mutant %d accepted: %s; %s", i,
                      noe_buf_text(&text), noe_buf_text(&report.counterexample));
        noe_buf_clear(&text);
        noe_field_report_clear(&report);
    }
    ck_assert_int_ge(n[NOE_VERDICT_REFUTED], 80);
    ck_assert_int_ge(n[NOE_VERDICT_PROVED],
                     5); /* among them those that change nothing */
    free(mutant);
    fixture_unload(&rules);
}
END_TEST

Suite *suite_prove(void)
{
    Suite *s = suite_create("prove");
    TCase *tc = tcase_create("prove");
    tcase_set_timeout(tc, 280);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_prove_true_rules);
    tcase_add_test(tc, test_prove_refuses_wrong_rules);
    tcase_add_test(tc, test_prove_axioms_alone_refuse_wrong_rules);
    tcase_add_test(tc, test_prove_rule_against_itself);
    tcase_add_test(tc, test_prove_small_budget_is_unknown);
    tcase_add_test(tc, test_prove_no_contradiction);
    tcase_add_loop_test(tc, test_prove_division_by_zero_is_unknown, 0,
                        sizeof at_poles / sizeof *at_poles);
    tcase_add_test(tc, test_prove_ordinary_division_is_proved);
    tcase_add_test(tc, test_prove_steps_at_poles_are_refused);
    tcase_add_test(tc, test_prove_missing_laws_of_models_are_not_refuted);
    tcase_add_test(tc, test_prove_by_ranks);
    tcase_add_test(tc, test_prove_by_ranks_are_consistent);
    tcase_add_test(tc, test_prove_nothing_from_ill_typed_terms);
    tcase_add_test(tc, test_prove_order_does_not_matter);
    tcase_add_test(tc, test_prove_certificate_names_axioms);
    tcase_add_test(tc, test_prove_needs_its_axiom);
    tcase_add_test(tc, test_prove_smt2_is_complete);
    tcase_add_test(tc, test_prove_mutants);
    suite_add_tcase(s, tc);
    return s;
}
