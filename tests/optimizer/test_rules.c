/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optimizer/fixture.h"

static const noe_rule_filter safe = {.classes = NOE_CLASSES_SAFE};

static int n_directions(const char *text)
{
    noe_rule_set set;
    const char *const texts[] = {text, NULL};
    fixture_rules(&set, texts);
    int n = set.n;
    noe_rule_set_clear(&set);
    return n;
}

START_TEST(test_rules_use_both_directions_where_both_bind)
{
    ck_assert_int_eq(
        n_directions("mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))"), 2);
}
END_TEST

START_TEST(test_rules_use_one_direction_where_a_variable_is_lost)
{
    ck_assert_int_eq(n_directions("sub(?a, ?a) => sub(?b, ?b)"), 0);
    ck_assert_int_eq(n_directions("sub(add(?a, ?b), ?b) => ?a"), 1);
    ck_assert_int_eq(n_directions("neg(neg(?a)) => ?a"), 1);
}
END_TEST

/* Where both factors are negative the product has a root, and they have none. */
START_TEST(test_rules_keep_the_domain)
{
    static const struct {
        const char *text;
        int n;
    } cases[] = {
        {"mul(sqrt(?a), sqrt(?b)) => sqrt(mul(?a, ?b))", 1},
        {"sqrt(mul(?a, ?b)) => mul(sqrt(?a), sqrt(?b))", 1},
        {"mul(?b, mul(sqrt(?a), sqrt(?a))) => mul(?b, ?a)", 1},
        {"mul(?b, ?a) => mul(?b, mul(sqrt(?a), sqrt(?a)))", 1},
        {"add(log(?a), log(?b)) => log(mul(?a, ?b))", 1},
        {"sqrt(mul(?a, ?a)) => abs(?a)", 2},
        {"relu(sqrt(?a)) => sqrt(?a)", 1}, /* the other only adds */
        {"reciprocal(sqrt(?a)) => sqrt(reciprocal(?a))", 2},
        {"mul(sqrt(?a), ?b) => mul(?b, sqrt(?a))", 0}, /* the matcher's */
        /* quotients by 0 */
        {"div(mul(?a, ?b), mul(?b, ?b)) => div(?a, ?b)", 2},
        {"div(?a, ?b) => mul(?a, reciprocal(?b))", 2},
        {"reciprocal(mul(?a, ?b)) => mul(reciprocal(?a), reciprocal(?b))", 2},
        {"div(exp(?a), exp(?b)) => exp(sub(?a, ?b))", 2},
        {"mul(relu(?a), ?b) => mul(?b, div(mul(relu(?a), relu(?a)), relu(?a)))", 1},
        {"neg(sqrt(neg(?a))) => sub(neg(sqrt(neg(?a))), zeros[shape=shape(?a)]())", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(n_directions(cases[i].text) == cases[i].n, "%s: %d directions",
                      cases[i].text, n_directions(cases[i].text));
}
END_TEST

START_TEST(test_rules_drop_what_the_matcher_does_by_itself)
{
    ck_assert_int_eq(n_directions("add(?a, ?b) => add(?b, ?a)"), 0);
    ck_assert_int_eq(
        n_directions("relu(mul(?a, add(?b, ?c))) => relu(mul(add(?c, ?b), ?a))"), 0);
    ck_assert_int_eq(n_directions("sub(?a, ?b) => neg(sub(?b, ?a))"), 2);
}
END_TEST

START_TEST(test_rules_are_kept_once)
{
    noe_rule_set set;
    const char *const texts[] = {"neg(neg(?a)) => ?a", "neg(neg(?x)) => ?x", NULL};
    fixture_rules(&set, texts);
    ck_assert_int_eq(set.n, 1);
    ck_assert_int_eq(set.n_rows, 2);
    noe_rule_set_clear(&set);
}
END_TEST

START_TEST(test_rules_are_found_by_root_operator)
{
    noe_rule_set set;
    const char *const texts[] = {"neg(neg(?a)) => ?a", "relu(relu(?a)) => relu(?a)",
                                 "sub(?a, ?b) => add(?a, neg(?b))", NULL};
    fixture_rules(&set, texts);
    int n = 0;
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        for (int i = set.first[op]; i < set.first[op + 1]; i++, n++) {
            const noe_rule *r = set.rules[set.by_op[i].rule]->rule;
            ck_assert_int_eq((int)r->nodes[r->lhs[0]].op, op);
        }
    }
    ck_assert_int_eq(n, set.n);
    ck_assert_int_eq(set.first[NOE_OP_NEG + 1] - set.first[NOE_OP_NEG], 1);
    noe_rule_set_clear(&set);
}
END_TEST

#define NONE NOE_OP_COUNT

/* Of the first direction of each rule. */
START_TEST(test_rules_say_what_they_move)
{
    static const struct {
        const char *text;
        noe_op moves;
        bool inwards, reduces;
    } cases[] = {
        {"slice[axis=0, start=0, end=1](relu(?a)) => relu(slice[axis=0, start=0, "
         "end=1](?a))",
         NOE_OP_SLICE, true, false},
        {"mul(slice[axis=0, start=0, end=1](?a), slice[axis=0, start=0, end=1](?b)) => "
         "slice[axis=0, start=0, end=1](mul(?a, ?b))",
         NOE_OP_SLICE, false, true},
        {"transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a", NONE, false, true},
        {"transpose[perm=[1, 0]](slice[axis=0, start=0, end=1](?a)) => slice[axis=1, "
         "start=0, end=1](transpose[perm=[1, 0]](?a))",
         NOE_OP_SLICE, false, false},
        {"neg(matmul(?a, ?b)) => matmul(neg(?a), ?b)", NONE, false, false},
        {"slice[axis=0, start=0, end=dim(?a, 0)](concat[axis=0](?a, ?b)) => ?a", NONE,
         false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_rule_set set;
        const char *const texts[] = {cases[i].text, NULL};
        fixture_rules(&set, texts);
        const noe_usable_rule *u = set.rules[0];
        ck_assert_msg(u->moves == cases[i].moves && u->inwards == cases[i].inwards &&
                          u->reduces == cases[i].reduces,
                      "%s: moves %d, inwards %d, reduces %d", cases[i].text,
                      (int)u->moves, u->inwards, u->reduces);
        noe_rule_set_clear(&set);
    }
}
END_TEST

START_TEST(test_rules_refuse_malformed_text)
{
    noe_rule_set set = {0};
    noe_error err;
    noe_assert_fails(noe_rule_set_add(&set, "id0", "relu(?a) =>", NOE_CLASS_EXACT,
                                      NOE_DIRECTIONS_UNKNOWN, &err),
                     NOE_ERR_PARSE, err, "id0");
    noe_rule_set_clear(&set);
}
END_TEST

START_TEST(test_rules_need_a_database)
{
    noe_rule_set set = {0};
    noe_error err;
    noe_status status = noe_rule_set_load(&set, "/nonexistent/rules.db", &safe, &err);
    ck_assert_int_ne(status, NOE_OK);
    ck_assert_msg(noe_contains(err.text, "/nonexistent/rules.db"), "%s", err.text);
    noe_rule_set_clear(&set);
}
END_TEST

Suite *suite_rules(void);
Suite *suite_rules(void)
{
    Suite *s = suite_create("optimizer.rules");
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, test_rules_use_both_directions_where_both_bind);
    tcase_add_test(tc, test_rules_use_one_direction_where_a_variable_is_lost);
    tcase_add_test(tc, test_rules_keep_the_domain);
    tcase_add_test(tc, test_rules_drop_what_the_matcher_does_by_itself);
    tcase_add_test(tc, test_rules_are_kept_once);
    tcase_add_test(tc, test_rules_are_found_by_root_operator);
    tcase_add_test(tc, test_rules_say_what_they_move);
    tcase_add_test(tc, test_rules_refuse_malformed_text);
    tcase_add_test(tc, test_rules_need_a_database);
    suite_add_tcase(s, tc);
    return s;
}
