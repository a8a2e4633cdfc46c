/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"
#include <stdio.h>
#include <stdlib.h>

static const noe_field_config usual = {
    .seed = 1, .n_instances = 48, .max_attempts = 400};

/* Wrong at some shapes only: none may pass. Those that are wrong by type have no
 * instance, and one has a counterexample that is too rare to insist on. */
START_TEST(test_field_refutes_wrong_rules)
{
    static const char *const by_type[] = {"matmul_concat_axis", "taso_131"};
    static const char *const rare[] = {"matmul_assoc_any_rank", "identity_strided",
                                       "nowhere"};
    fixture_rules rules;
    fixture_load("wrong_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        bool typeless = false, is_rare = false;
        for (int k = 0; k < 2; k++)
            typeless |= strcmp(rules.name[i], by_type[k]) == 0;
        for (int k = 0; k < 3; k++)
            is_rare |= strcmp(rules.name[i], rare[k]) == 0;
        noe_field_report report;
        noe_field_check(rules.rule[i], &usual, &report);
        if (typeless)
            ck_assert_msg(report.n_instances == 0, "%s has instances", rules.name[i]);
        else if (!is_rare)
            ck_assert_msg(report.difference.found, "%s is not refuted", rules.name[i]);
        noe_field_report_clear(&report);
    }
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_field_passes_true_rules)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    for (int i = 0; i < rules.n; i++) {
        noe_field_report report;
        noe_field_check(rules.rule[i], &usual, &report);
        ck_assert_msg(!report.difference.found && !report.is_doubtful, "%s: %s",
                      rules.name[i], noe_buf_text(&report.counterexample));
        ck_assert_msg(report.n_instances >= 30, "%s: %d", rules.name[i],
                      report.n_instances);
        ck_assert(report.error_bound >= 0 && report.error_bound < 1e-6);
        noe_field_report_clear(&report);
    }
    fixture_unload(&rules);
}
END_TEST

/* One for each way of reading signs. */
static const char *const replayed[] = {
    "relu(add(?a, ?b)) => add(relu(?a), relu(?b))",
    "exp(add(?a, ?b)) => add(exp(?a), exp(?b))",
};

/* The counterexample's seed, instance and sample give the same two values again. */
START_TEST(test_field_counterexample_replays)
{
    const noe_rule *rule = fixture_rule(replayed[_i]);
    noe_field_report report;
    noe_field_check(rule, &usual, &report);
    noe_difference d = report.difference;
    ck_assert(d.found);
    noe_instance *inst = noe_malloc(sizeof *inst);
    int attempts = 0;
    bool counts;
    ck_assert(noe_instance_find(rule, usual.seed, d.instance, usual.max_attempts, inst,
                                &attempts));
    noe_difference again = noe_field_sample(rule, inst, report.order, usual.seed,
                                            d.instance, d.sample, &counts);
    ck_assert(again.found && counts);
    ck_assert_int_eq(report.order == NOE_ORDER_NUMBER, _i == 0);
    ck_assert_int_eq(again.range, d.range);
    ck_assert_int_eq(again.root, d.root);
    ck_assert_int_eq(again.position, d.position);
    ck_assert_uint_eq(again.left.u, d.left.u);
    ck_assert_uint_eq(again.right.u, d.right.u);
    char left[80];
    if (d.range)
        snprintf(left, sizeof left, "left=%.10g right=%.10g",
                 (double)noe_fe_number(d.left) / (double)NOE_FIELD_UNIT,
                 (double)noe_fe_number(d.right) / (double)NOE_FIELD_UNIT);
    else
        snprintf(left, sizeof left, "left=%u right=%u", d.left.u, d.right.u);
    ck_assert_msg(noe_contains(noe_buf_text(&report.counterexample), left), "%s",
                  noe_buf_text(&report.counterexample));
    ck_assert(noe_contains(noe_buf_text(&report.counterexample), "seed=1"));
    free(inst);
    noe_field_report_clear(&report);
}
END_TEST

START_TEST(test_field_scheme_names_equal_sizes)
{
    const noe_rule *rule = fixture_rule("matmul(?a, ?b) => neg(neg(matmul(?a, ?b))) "
                                        "where rank(?a) == 2 && rank(?b) == 2");
    noe_field_report report;
    noe_field_check(rule, &usual, &report);
    ck_assert_str_eq(noe_buf_text(&report.scheme), "a=[d0,d1] b=[d1,d2]");
    ck_assert(noe_contains(noe_buf_text(&report.shapes_checked), "ranks a:2 b:2"));
    noe_field_report_clear(&report);
}
END_TEST

START_TEST(test_field_every_root_counts)
{
    const noe_rule *rule =
        fixture_rule("{ add(?a, ?b), sub(?a, ?b) } => { add(?b, ?a), sub(?b, ?a) }");
    noe_field_report report;
    noe_field_check(rule, &usual, &report);
    ck_assert(report.difference.found);
    ck_assert_int_eq(report.difference.root, 1);
    noe_field_report_clear(&report);
}
END_TEST

Suite *suite_field_check(void)
{
    Suite *s = suite_create("field_check");
    TCase *tc = tcase_create("field_check");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_field_refutes_wrong_rules);
    tcase_add_test(tc, test_field_passes_true_rules);
    tcase_add_loop_test(tc, test_field_counterexample_replays, 0, 2);
    tcase_add_test(tc, test_field_scheme_names_equal_sizes);
    tcase_add_test(tc, test_field_every_root_counts);
    suite_add_tcase(s, tc);
    return s;
}
