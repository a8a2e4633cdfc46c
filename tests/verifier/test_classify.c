/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"

static const struct {
    const char *rule;
    noe_numeric_class class;
} cases[] = {
    /* data movement and commutation: the same operations on the same numbers */
    {"add(?a, ?b) => add(?b, ?a)", NOE_CLASS_EXACT},
    {"relu(concat[axis=$k](?a, ?b)) => concat[axis=$k](relu(?a), relu(?b))",
     NOE_CLASS_EXACT},
    {"transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a", NOE_CLASS_EXACT},
    {"exp(reshape[shape=$s](?a)) => reshape[shape=$s](exp(?a))", NOE_CLASS_EXACT},
    {"conv(?x, concat[axis=0](?w, ?v)) => concat[axis=1](conv(?x, ?w), conv(?x, ?v))",
     NOE_CLASS_EXACT},
    /* 0 * infinity is NaN, and 0 * -1 is -0 */
    {"mul(?a, zeros[shape=shape(?a)]()) => zeros[shape=shape(?a)]()", NOE_CLASS_FLOAT},
    {"add(sub(?a, ?a), ?b) => add(zeros[shape=shape(?a)](), ?b)", NOE_CLASS_FINITE},
    /* rounding */
    {"add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))", NOE_CLASS_FLOAT},
    {"mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))", NOE_CLASS_FLOAT},
    {"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2",
     NOE_CLASS_FLOAT},
    /* one side overflows or divides by zero where the other does not */
    {"mul(exp(?a), exp(?b)) => exp(add(?a, ?b))", NOE_CLASS_RANGE},
    {"div(mul(?a, ?b), ?b) => ?a", NOE_CLASS_RANGE},
    {"mul(?a, reciprocal(?b)) => div(?a, ?b)", NOE_CLASS_RANGE},
};

/* What follows for integers; that it does is argued at noe_rule_integers and tried with
 * integers that wrap around in tests/core/test_eval.c. */
static const struct {
    const char *rule;
    noe_integers want;
} integers[] = {
    {"mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))", NOE_INTEGERS_WRAP},
    {"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?b) == 2",
     NOE_INTEGERS_WRAP},
    {"relu(relu(?a)) => relu(?a)", NOE_INTEGERS_WRAP},
    {"max(?a, min(?a, ?b)) => ?a", NOE_INTEGERS_WRAP},
    {"transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a", NOE_INTEGERS_WRAP},
    {"mul(?a, scalar[value=2.0]()) => add(?a, ?a)", NOE_INTEGERS_WRAP},
    /* 100 + 100 wraps in int8, and the larger is the smaller */
    {"max(add(?a, ?c), add(?b, ?c)) => add(max(?a, ?b), ?c)", NOE_INTEGERS_BOUNDED},
    {"abs(neg(?a)) => abs(?a)", NOE_INTEGERS_BOUNDED},
    {"relu(slice[axis=0, start=0, end=1](?a)) => slice[axis=0, start=0, "
     "end=1](relu(?a))",
     NOE_INTEGERS_WRAP},
    {"mul(?a, scalar[value=0.5]()) => mul(scalar[value=0.5](), ?a)", NOE_INTEGERS_NONE},
    {"mul(?a, scalar[value=$v]()) => mul(scalar[value=$v](), ?a)", NOE_INTEGERS_NONE},
    {"div(mul(?a, ?b), ?c) => mul(?a, div(?b, ?c))", NOE_INTEGERS_NONE},
    {"reduce_mean[axes=[0]](neg(?a)) => neg(reduce_mean[axes=[0]](?a))",
     NOE_INTEGERS_NONE},
};

START_TEST(test_integers_case)
{
    noe_integers got = noe_rule_integers(fixture_rule(integers[_i].rule));
    ck_assert_msg(got == integers[_i].want, "%s: %s, want %s", integers[_i].rule,
                  noe_integers_name(got), noe_integers_name(integers[_i].want));
}
END_TEST

START_TEST(test_classify_case)
{
    const noe_rule *rule = fixture_rule(cases[_i].rule);
    noe_field_config config = {.seed = 4, .n_instances = 48, .max_attempts = 400};
    noe_field_report report;
    noe_field_check(rule, &config, &report);
    noe_numeric numeric =
        noe_rule_classify(rule, report.instances, report.n_instances, 4);
    ck_assert_msg(numeric.class == cases[_i].class, "%s is %s, want %s", cases[_i].rule,
                  noe_numeric_class_name(numeric.class),
                  noe_numeric_class_name(cases[_i].class));
    ck_assert(numeric.is_defined);
    if (numeric.class == NOE_CLASS_FLOAT)
        ck_assert(numeric.max_error < 2e-5);
    if (numeric.class == NOE_CLASS_EXACT)
        ck_assert(numeric.max_error == 0);
    noe_field_report_clear(&report);
}
END_TEST

START_TEST(test_classify_nowhere_defined)
{
    const noe_rule *rule =
        fixture_rule("div(?a, zeros[shape=$s]()) => zeros[shape=$s]()");
    noe_field_config config = {.seed = 4, .n_instances = 12, .max_attempts = 400};
    noe_field_report report;
    noe_field_check(rule, &config, &report);
    ck_assert(!report.difference.found); /* the field divides by zero to zero */
    ck_assert(
        !noe_rule_classify(rule, report.instances, report.n_instances, 4).is_defined);
    noe_field_report_clear(&report);
}
END_TEST

START_TEST(test_classify_without_instances_is_range)
{
    const noe_rule *rule = fixture_rule("relu(relu(?a)) => relu(?a)");
    ck_assert_int_eq(noe_rule_classify(rule, NULL, 0, 1).class, NOE_CLASS_RANGE);
}
END_TEST

Suite *suite_classify(void)
{
    Suite *s = suite_create("classify");
    TCase *tc = tcase_create("classify");
    tcase_add_loop_test(tc, test_classify_case, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tc, test_integers_case, 0, sizeof integers / sizeof *integers);
    tcase_add_test(tc, test_classify_nowhere_defined);
    tcase_add_test(tc, test_classify_without_instances_is_range);
    suite_add_tcase(s, tc);
    return s;
}
