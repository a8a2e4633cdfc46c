/* SPDX-License-Identifier: Apache-2.0
 *
 * What the prover proves, the checker accepts; every certificate with an edit that
 * matters it refuses.
 */
#include "checker/check.h"
#include "tests/support/support.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <stdlib.h>

static noe_error err;
static noe_checker *checker;

static void setup(void)
{
    noe_checker_config config = NOE_CHECKER_DEFAULTS;
    noe_assert_ok(noe_checker_new(&config, NULL, NULL, &checker, &err), err);
}

static void teardown(void)
{
    noe_checker_free(checker);
}

static void assert_accepted(const char *rule, const char *certificate)
{
    noe_checker_answer answer;
    noe_checker_check(checker, rule, certificate, &answer);
    ck_assert_msg(answer.ok, "%s: %s\n%s", rule, noe_buf_text(&answer.reason),
                  certificate);
    ck_assert_int_gt(answer.n_instances, 0);
    noe_checker_answer_clear(&answer);
}

static void assert_refused(const char *rule, const char *certificate, const char *why)
{
    noe_checker_answer answer;
    noe_checker_check(checker, rule, certificate, &answer);
    ck_assert_msg(!answer.ok, "accepted: %s\n%s", rule, certificate);
    ck_assert_msg(noe_contains(noe_buf_text(&answer.reason), why),
                  "reason '%s' lacks '%s'", noe_buf_text(&answer.reason), why);
    noe_checker_answer_clear(&answer);
}

/* Axioms of all kinds: lists, defaults of any length, ranks one by one, roots. */
static const char *const proved[] = {
    "relu(relu(?a)) => relu(?a)",
    "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?a) == 2 && "
    "rank(?b) == 2 && rank(?c) == 2",
    "{ matmul(?a, ?b), matmul(?a, ?c) } => "
    "{ slice[axis=-1, start=0, end=dim(?b, -1)](matmul(?a, concat[axis=-1](?b, ?c))), "
    "slice[axis=-1, start=dim(?b, -1), end=dim(?b, -1) + dim(?c, -1)]"
    "(matmul(?a, concat[axis=-1](?b, ?c))) } where rank(?a) == 2 && rank(?b) == 2 && "
    "rank(?c) == 2",
    "mul(conv[strides=$a, pads=$b, dilations=$c, group=$d](?a, ?b), ?c) => "
    "conv[strides=$a, pads=$b, dilations=$c, group=$d](?a, mul(?b, "
    "reshape[shape=[dim(?b, 0)] ++ rep(1, rank(?b) - 1)](?c))) "
    "where shape(?c) == [dim(?b, 0)] ++ rep(1, rank(?a) - 2)",
    "transpose[perm=$a](add(?a, ?b)) => add(transpose[perm=$a](?a), "
    "transpose[perm=$a](?b)) where rank(?a) == rank(?b)",
    "sub(add(?a, ?b), ?b) => ?a where shape(?a) == shape(?b)",
};

START_TEST(test_check_what_is_proved)
{
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v;
    noe_check check;
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_buf text = {0};
    noe_assert_ok(noe_verifier_new(&config, NULL, &v, &err), err);
    noe_assert_ok(noe_rule_parse(proved[_i], SIZE_MAX, rule, &err), err);
    noe_verifier_check(v, rule, &check);
    ck_assert_msg(check.proof.proved, "%s: %s", proved[_i],
                  noe_buf_text(&check.proof.reason));
    noe_rule_print(&text, rule);
    assert_accepted(noe_buf_text(&text), noe_buf_text(&check.proof.certificate));
    noe_check_clear(&check);
    noe_buf_clear(&text);
    noe_verifier_free(v);
    free(rule);
}
END_TEST

static const char goal[] = "sub(?a, sub(?b, ?c)) => add(sub(?a, ?b), ?c)";
static const char steps[] = "add_commutes ?a=sub(?a, ?b) ?b=?c\n"
                            "add_commutes ?a=?a ?b=neg(?b)\n"
                            "sub_is_add_neg ?a=?a ?b=?b\n"
                            "add_associates ?a=?c ?b=neg(?b) ?c=?a\n"
                            "sub_swapped ?a=?c ?b=?b\n"
                            "sub_is_add_neg ?a=?c ?b=?b\n"
                            "add_commutes ?a=?a ?b=neg(sub(?b, ?c))\n"
                            "sub_is_add_neg ?a=?a ?b=sub(?b, ?c)\n";
enum { N_STEPS = 8 };

START_TEST(test_check_by_hand)
{
    assert_accepted(goal, steps);
}
END_TEST

/* Each step is needed. */
START_TEST(test_check_refuses_a_dropped_step)
{
    char certificate[sizeof steps];
    ck_assert_int_lt(_i, N_STEPS);
    const char *from = steps;
    for (int i = 0; i < _i; i++)
        from = strchr(from, '\n') + 1;
    const char *to = strchr(from, '\n') + 1;
    snprintf(certificate, sizeof certificate, "%.*s%s", (int)(from - steps), steps, to);
    assert_refused(goal, certificate, "do not follow");
}
END_TEST

static const struct {
    const char *rule, *certificate, *why;
} corrupt[] = {
    /* the goal: swapped operands, another operator, another condition */
    {"sub(?a, sub(?b, ?c)) => add(sub(?b, ?a), ?c)", steps, "do not follow"},
    {"sub(?a, sub(?b, ?c)) => sub(sub(?a, ?b), ?c)", steps, "do not follow"},
    {"sub(?a, sub(?b, ?c)) => add(sub(?a, ?b), ?c", steps, "column"},
    {"relu(?a) => ?a", "", "do not follow"},
    /* a term: another variable, operator, parameter; nested; nothing */
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=relu(?a)\n", "do not follow"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=?b\n", "unknown operator '?b'"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=rely(?a)\n", "unknown operator"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=relu(?a, ?a)\n", "2 operands"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu\n", "?a is missing"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?b=?a\n", "?a is missing"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=pad[pads=[1]](?a)\n", "relu_relu"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=zeros[shape=at([1], 0)]()\n",
     "no value"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=zeros[shape=frob(?a)]()\n",
     "unknown function 'frob'"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=zeros[axis=[1]]()\n",
     "no parameter 'axis'"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=zeros[shape=rep(7, 900)]()\n",
     "no value"},
    {"relu(relu(?a)) => relu(?a)", "relu_relu ?a=zeros[shape=[9999, 9999]]()\n",
     "more than"},
    /* the axiom: unknown; that of another operator; made up */
    {"relu(relu(?a)) => relu(?a)", "relu_rely ?a=?a\n", "no such axiom"},
    {"relu(relu(?a)) => relu(?a)", "neg_neg ?a=?a\n", "do not follow"},
    {"relu(?a) => neg(?a)", "ranks a:99\n", "no steps for these ranks"},
    /* an ill-typed step, of no use to anything */
    {"relu(relu(?a)) => relu(?a) where rank(?a) == 1",
     "relu_relu ?a=?a\nrelu_relu ?a=transpose[perm=[1, 0]](?a)\n", "line 2"},
    /* nothing is typed */
    {"relu(relu(?a)) => relu(?a) where rank(?a) == 9", "relu_relu ?a=?a\n",
     "no typed instance"},
};

START_TEST(test_check_refuses_what_is_corrupt)
{
    assert_refused(corrupt[_i].rule, corrupt[_i].certificate, corrupt[_i].why);
}
END_TEST

/* An axiom that is false is found out by the field, whatever follows from it. */
START_TEST(test_check_refuses_a_false_axiom)
{
    noe_checker *other;
    noe_checker_config config = NOE_CHECKER_DEFAULTS;
    noe_assert_ok(
        noe_checker_new(&config, "lie: relu(?a) => neg(?a)\n", "lie.txt", &other, &err),
        err);
    noe_checker_free(checker);
    checker = other;
    assert_refused("relu(?a) => neg(?a)", "lie ?a=?a\n", "differ");
}
END_TEST

/* The proof that laws of shapes gave away before: no steps, for ranks that make a term
 * of the search ill-typed. */
START_TEST(test_check_refuses_a_proof_from_ill_typed_terms)
{
    assert_refused("add(?a, transpose[perm=$a](?b)) => transpose[perm=$a](add(?b, ?a)) "
                   "where rank(?a) == 1 && at($a, -1) == len($a) - 1",
                   "ranks a:1 b:1\n"
                   "transpose_none_1 ?a=add(?b, ?a)\n"
                   "transpose_none_1 ?a=?b\n"
                   "add_commutes ?a=?a ?b=transpose[perm=$a](?b)\n"
                   "ranks a:1 b:5\n"
                   "ranks a:1 b:2\n",
                   "follow");
}
END_TEST

Suite *suite_check(void)
{
    Suite *s = suite_create("check");
    TCase *tc = tcase_create("check");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_check_what_is_proved, 0,
                        sizeof proved / sizeof *proved);
    tcase_add_test(tc, test_check_by_hand);
    tcase_add_loop_test(tc, test_check_refuses_a_dropped_step, 0, N_STEPS);
    tcase_add_loop_test(tc, test_check_refuses_what_is_corrupt, 0,
                        sizeof corrupt / sizeof *corrupt);
    tcase_add_test(tc, test_check_refuses_a_false_axiom);
    tcase_add_test(tc, test_check_refuses_a_proof_from_ill_typed_terms);
    suite_add_tcase(s, tc);
    return s;
}
