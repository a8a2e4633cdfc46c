/* SPDX-License-Identifier: Apache-2.0
 * Derivations: for each case the rules, the goal and the verdict; the steps of those
 * that are derived lead from the left side to the right one. */
#include "core/derive.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RULES 6

static const struct {
    const char *rules[MAX_RULES], *goal;
    noe_derive_verdict verdict;
    int n_steps;     /* of the first derivation's first root */
    const char *why; /* part of the reason */
} cases[] = {
    /* the rule itself, in both directions, and twice */
    {{"relu(relu(?a)) => relu(?a)"},
     "relu(relu(?a)) => relu(?a)",
     NOE_DERIVE_DERIVED,
     1,
     ""},
    {{"relu(relu(?a)) => relu(?a)"},
     "relu(?a) => relu(relu(?a))",
     NOE_DERIVE_DERIVED,
     1,
     ""},
    {{"relu(relu(?a)) => relu(?a)"},
     "relu(relu(relu(?a))) => relu(?a)",
     NOE_DERIVE_DERIVED,
     2,
     ""},
    /* operands in the other order need no rule */
    {{"neg(neg(?a)) => ?a"}, "add(?a, ?b) => add(?b, ?a)", NOE_DERIVE_DERIVED, 0, ""},
    /* by congruence under a shared operand */
    {{"neg(neg(?a)) => ?a"},
     "mul(neg(neg(?a)), neg(neg(?a))) => mul(?a, ?a)",
     NOE_DERIVE_DERIVED,
     2,
     ""},
    /* through a term larger than both sides */
    {{"sub(?a, ?b) => add(?a, neg(?b))", "add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
      "neg(add(?a, ?b)) => add(neg(?a), neg(?b))", "neg(neg(?a)) => ?a"},
     "sub(?a, sub(?b, ?c)) => add(sub(?a, ?b), ?c)",
     NOE_DERIVE_DERIVED,
     -1,
     ""},
    /* parameters and shapes follow from the rules at every instance */
    {{"slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a",
      "relu(concat[axis=$k](?a, ?b)) => concat[axis=$k](relu(?a), relu(?b))"},
     "slice[axis=1, start=0, end=dim(?a, 1)](relu(concat[axis=1](?a, ?b))) => relu(?a)",
     NOE_DERIVE_DERIVED,
     2,
     ""},
    /* several roots, from a rule of several roots */
    {{"{ relu(?a), relu(?b) } => { slice[axis=$k, start=0, end=dim(?a, "
      "$k)](relu(concat[axis=$k](?a, ?b))), slice[axis=$k, start=dim(?a, $k), "
      "end=dim(?a, "
      "$k) + dim(?b, $k)](relu(concat[axis=$k](?a, ?b))) }"},
     "{ relu(?a), relu(?b) } => { slice[axis=1, start=0, end=dim(?a, "
     "1)](relu(concat[axis=1](?a, ?b))), slice[axis=1, start=dim(?a, 1), end=dim(?a, "
     "1) + dim(?b, 1)](relu(concat[axis=1](?a, ?b))) }",
     NOE_DERIVE_DERIVED,
     1,
     ""},
    /* a condition of the goal makes the rule's condition true */
    {{"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2"},
     "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2",
     NOE_DERIVE_DERIVED,
     1,
     ""},
    {{"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2"},
     "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?a) == 3 && "
     "rank(?b) == 3 && rank(?c) == 3",
     NOE_DERIVE_UNKNOWN,
     0,
     "do not meet"},
    /* false, out of reach, without instances */
    {{"neg(neg(?a)) => ?a"}, "relu(neg(?a)) => relu(?a)", NOE_DERIVE_REFUTED, 0, "a=["},
    {{"neg(neg(?a)) => ?a"},
     "mul(add(?a, ?b), ?c) => add(mul(?a, ?c), mul(?b, ?c))",
     NOE_DERIVE_UNKNOWN,
     0,
     "no rule speaks of"},
    {{"neg(neg(?a)) => ?a"},
     "neg(?a) => relu(?a) where rank(?a) == 1 && rank(?a) == 2",
     NOE_DERIVE_UNKNOWN,
     0,
     "no typed instance"},
    /* true for one group alone: groups are among the instances */
    {{"concat[axis=1](conv[pads=$p](?x, ?v), conv[pads=$p](?x, ?w)) => "
      "conv[pads=$p](?x, "
      "concat[axis=0](?v, ?w))"},
     "concat[axis=1](conv[pads=[0, 1, 0, 1], group=dim(?a, 1) / dim(?b, 1)](?a, ?b), "
     "conv[pads=[0, 1, 0, 1], group=dim(?a, 1) / dim(?c, 1)](?a, ?c)) => conv[pads=[0, "
     "1, "
     "0, 1], group=dim(?a, 1) / dim(?b, 1)](?a, concat[axis=0](?b, ?c)) where rank(?a) "
     "== 4 "
     "&& rank(?b) == 4 && rank(?c) == 4 && dim(?b, 2) == 1 && dim(?b, 3) == 3 && "
     "dim(?c, 2) "
     "== 1 && dim(?c, 3) == 3",
     NOE_DERIVE_REFUTED,
     0,
     ""},
    /* vectors and batches of matrices are, too */
    {{"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c))"},
     "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where 2 <= rank(?b)",
     NOE_DERIVE_REFUTED,
     0,
     ""},
    /* false rules derive nothing, not even what is true */
    {{"relu(?a) => neg(?a)", "neg(neg(?a)) => neg(?a)"},
     "relu(relu(?a)) => relu(?a)",
     NOE_DERIVE_UNKNOWN,
     0,
     "not confirmed"},
};

static void derive(int i, noe_derive_config config, noe_derive_report *report)
{
    noe_error err = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_rule_set *set = noe_rule_set_new();
    for (int k = 0; k < MAX_RULES && cases[i].rules[k]; k++) {
        noe_assert_ok(noe_rule_parse(cases[i].rules[k], SIZE_MAX, rule, &err), err);
        ck_assert_int_eq(noe_rule_set_add(set, rule), k);
    }
    noe_assert_ok(noe_rule_parse(cases[i].goal, SIZE_MAX, rule, &err), err);
    noe_derive(set, rule, &config, report);
    noe_rule_set_free(set);
    free(rule);
}

START_TEST(gives_the_verdict)
{
    noe_derive_report r;
    derive(_i, noe_derive_default(), &r);
    ck_assert_msg(r.verdict == cases[_i].verdict, "%s: verdict %d: %s", cases[_i].goal,
                  (int)r.verdict, noe_buf_text(&r.why));
    ck_assert_msg(strstr(noe_buf_text(&r.why), cases[_i].why), "%s: %s", cases[_i].goal,
                  noe_buf_text(&r.why));
    if (r.verdict == NOE_DERIVE_DERIVED) {
        ck_assert_int_ge(r.n_derivations, 1);
        if (cases[_i].n_steps >= 0)
            ck_assert_int_eq(r.derivations[0].n_steps, cases[_i].n_steps);
    }
    noe_derive_report_clear(&r);
}
END_TEST

START_TEST(stops_at_the_budget)
{
    noe_derive_config config = noe_derive_default();
    noe_derive_report r;
    config.max_nodes = 8;
    derive(5, config, &r);
    ck_assert_int_eq(r.verdict, NOE_DERIVE_UNKNOWN);
    ck_assert_ptr_nonnull(strstr(noe_buf_text(&r.why), "budget"));
    noe_derive_report_clear(&r);
    config = noe_derive_default();
    config.max_tries = 1;
    derive(5, config, &r);
    ck_assert_int_eq(r.verdict, NOE_DERIVE_UNKNOWN);
    ck_assert_ptr_nonnull(strstr(noe_buf_text(&r.why), "nodes matched"));
    noe_derive_report_clear(&r);
    config = noe_derive_default();
    config.extra_ops = 0; /* what it needs is larger than both sides */
    derive(5, config, &r);
    ck_assert_int_eq(r.verdict, NOE_DERIVE_UNKNOWN);
    noe_derive_report_clear(&r);
}
END_TEST

/* A rule that is switched off derives nothing. */
START_TEST(uses_only_what_is_on)
{
    noe_error err = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_rule_set *set = noe_rule_set_new();
    noe_derive_config config = noe_derive_default();
    noe_derive_report r;
    noe_assert_ok(noe_rule_parse("relu(relu(?a)) => relu(?a)", SIZE_MAX, rule, &err),
                  err);
    int number = noe_rule_set_add(set, rule);
    noe_rule_set_enable(set, number, false);
    noe_derive(set, rule, &config, &r);
    ck_assert_int_eq(r.verdict, NOE_DERIVE_UNKNOWN);
    noe_derive_report_clear(&r);
    noe_rule_set_enable(set, number, true);
    noe_derive(set, rule, &config, &r);
    ck_assert_int_eq(r.verdict, NOE_DERIVE_DERIVED);
    noe_derive_report_clear(&r);
    noe_rule_set_free(set);
    free(rule);
}
END_TEST

Suite *suite_derive(void)
{
    Suite *s = suite_create("core.derive");
    TCase *t = tcase_create("derive");
    tcase_add_loop_test(t, gives_the_verdict, 0, sizeof cases / sizeof *cases);
    tcase_add_test(t, stops_at_the_budget);
    tcase_add_test(t, uses_only_what_is_on);
    suite_add_tcase(s, t);
    return s;
}
