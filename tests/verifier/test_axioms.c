/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"
#include "core/definition.h"
#include "core/instance_search.h"
#include <stdlib.h>

static noe_error err;

static void note_failure(void *ctx, const char *kind, const char *name,
                         const noe_rule *rule, const noe_field_report *report)
{
    noe_buf *b = ctx;
    (void)rule;
    if (report->n_instances == 0)
        noe_buf_printf(b, "%s %s: no instance\n", kind, name);
    if (report->difference.found)
        noe_buf_printf(b, "%s %s: %s\n", kind, name,
                       noe_buf_text(&report->counterexample));
}

START_TEST(test_axioms_and_definitions_hold)
{
    noe_verifier *v = fixture_verifier(0);
    noe_buf failures = {0};
    int n = noe_verifier_self_check(v, note_failure, &failures);
    ck_assert_msg(n == 0, "%s", noe_buf_text(&failures));
    noe_buf_clear(&failures);
    noe_verifier_free(v);
}
END_TEST

/* The same check must catch what is wrong: each of these is an axiom with one slip. */
START_TEST(test_axioms_planted_wrong_ones_fail)
{
    static const char wrong[] =
        "w1: mul(?a, add(?b, ?c)) => add(mul(?a, ?b), ?c)\n"
        "w2: matmul(?a, mul(?b, ?s)) => mul(matmul(?a, ?b), ?s) where dim(?s, -1) == "
        "1\n"
        "w3: conv[group=$g](?x, concat[axis=0](?w, ?v)) => "
        "concat[axis=1](conv[group=$g](?x, ?w), conv[group=$g](?x, ?v))\n"
        "w4: transpose[perm=$p](transpose[perm=$q](?a)) => "
        "transpose[perm=at($p, $q)](?a)\n"
        "w5: slice[axis=$k, start=$s, end=$e](slice[axis=$k, start=$i, end=$j](?a)) => "
        "slice[axis=$k, start=$s, end=$e](?a)\n"
        "w6: softmax[axis=$j](concat[axis=$k](?a, ?b)) => concat[axis=$k]("
        "softmax[axis=$j](?a), softmax[axis=$j](?b))\n"
        "w7: reduce_mean[axes=$x](reduce_sum[axes=$y](?a)) => "
        "reduce_sum[axes=$y](reduce_mean[axes=$x](?a))\n"
        "w8: exp(pad[pads=$p](?a)) => pad[pads=$p](exp(?a))\n"
        "w9: average_pool[kernel_shape=$k, pads=$p](?x) => "
        "average_pool[kernel_shape=$k, "
        "pads=$p, count_include_pad=1](?x)\n";
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v;
    noe_assert_ok(noe_verifier_new(&config, wrong, &v, &err), err);
    ck_assert_int_eq(noe_verifier_axioms(v)->n, 9);
    noe_buf failures = {0};
    ck_assert_msg(noe_verifier_self_check(v, note_failure, &failures) == 9, "%s",
                  noe_buf_text(&failures));
    noe_buf_clear(&failures);
    noe_verifier_free(v);
}
END_TEST

static void note_redundant(void *ctx, const noe_axioms *axioms, int axiom,
                           const noe_derive_report *report)
{
    noe_buf *b = ctx;
    noe_buf_printf(b, "%s%s:", b->len > 0 ? " " : "", axioms->axiom[axiom].name);
    for (int k = 0; k < report->derivations[0].n_steps; k++)
        noe_buf_printf(b, " %s",
                       axioms->axiom[report->derivations[0].steps[k].rule].name);
}

/* b follows by way of follows, which then stays; of twins one stays. */
START_TEST(test_redundant_axioms)
{
    static const char text[] =
        "a: sub(?a, ?b) => add(?a, neg(?b))\n"
        "b: neg(add(?a, ?b)) => add(neg(?a), neg(?b))\n"
        "c: neg(neg(?a)) => ?a\n"
        "follows: neg(sub(?a, ?b)) => add(neg(?a), ?b)\n"
        "independent: mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))\n"
        "twin_1: relu(relu(?a)) => relu(?a)\n"
        "twin_2: relu(?b) => relu(relu(?b))\n";
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v;
    noe_env env = {0};
    noe_buf found = {0};
    noe_assert_ok(noe_verifier_new(&config, text, &v, &err), err);
    ck_assert_int_eq(noe_verifier_redundant_axioms(v, &env, note_redundant, &found), 2);
    ck_assert_str_eq(noe_buf_text(&found), "b: c a follows twin_2: twin_1");
    noe_buf_clear(&found);
    noe_verifier_free(v);
}
END_TEST

static bool speaks_about(const noe_rule *rule, noe_op op)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var && rule->nodes[i].op == op)
            return true;
    }
    return false;
}

START_TEST(test_axioms_speak_about_operator)
{
    noe_op op = (noe_op)_i;
    noe_axioms axioms;
    if (noe_op_has(op, NOE_TRAIT_NOAXIOM) || noe_op_has(op, NOE_TRAIT_COMPOSITE))
        return;
    noe_assert_ok(noe_axioms_load(noe_axioms_text, "axioms.txt", &axioms, &err), err);
    bool found = false;
    for (int i = 0; i < axioms.n && !found; i++)
        found = speaks_about(&axioms.axiom[i].rule, op);
    ck_assert_msg(found, "no axiom speaks about %s", noe_op_get(op)->name);
    noe_axioms_clear(&axioms);
}
END_TEST

/* Without one, the instance search finds no shapes for rules that have the operator. */
START_TEST(test_axioms_operator_has_inverse)
{
    noe_op op = (noe_op)_i;
    ck_assert_msg(noe_inverse_of(op) || noe_op_has(op, NOE_TRAIT_COMPOSITE),
                  "no inverse of %s", noe_op_get(op)->name);
}
END_TEST

START_TEST(test_axioms_bad_files_are_refused)
{
    noe_axioms axioms;
    noe_assert_fails(
        noe_axioms_load("relu(relu(?a)) => relu(?a)\n", "t", &axioms, &err),
        NOE_ERR_PARSE, err, "needs a name");
    noe_assert_fails(
        noe_axioms_load("x: neg(neg(?a)) => ?a\nx: relu(relu(?a)) => relu(?a)\n", "t",
                        &axioms, &err),
        NOE_ERR_PARSE, err, "'x'");
    noe_assert_fails(
        noe_axioms_load("x: { neg(?a), relu(?a) } => { neg(?a), relu(?a) }\n", "t",
                        &axioms, &err),
        NOE_ERR_PARSE, err, "roots");
    noe_assert_fails(noe_axioms_load("x: neg(?a => ?a\n", "t", &axioms, &err),
                     NOE_ERR_PARSE, err, "t");
}
END_TEST

START_TEST(test_axioms_guards_are_found)
{
    noe_axioms axioms;
    noe_assert_ok(noe_axioms_load(noe_axioms_text, "axioms.txt", &axioms, &err), err);
    int widening = noe_axioms_find(&axioms, "add_zeros");
    int plain = noe_axioms_find(&axioms, "add_commutes");
    ck_assert_int_ge(widening, 0);
    ck_assert_int_ge(plain, 0);
    ck_assert(axioms.axiom[widening].needs_equal_shapes);
    ck_assert(!axioms.axiom[plain].needs_equal_shapes);
    ck_assert_int_eq(noe_axioms_find(&axioms, "no_such_axiom"), -1);
    noe_axioms_clear(&axioms);
}
END_TEST

Suite *suite_axioms(void)
{
    Suite *s = suite_create("axioms");
    TCase *tc = tcase_create("axioms");
    tcase_set_timeout(tc, 200);
    tcase_add_test(tc, test_axioms_and_definitions_hold);
    tcase_add_test(tc, test_axioms_planted_wrong_ones_fail);
    tcase_add_test(tc, test_redundant_axioms);
    tcase_add_loop_test(tc, test_axioms_speak_about_operator, 0, NOE_OP_COUNT);
    tcase_add_loop_test(tc, test_axioms_operator_has_inverse, 0, NOE_OP_COUNT);
    tcase_add_test(tc, test_axioms_bad_files_are_refused);
    tcase_add_test(tc, test_axioms_guards_are_found);
    suite_add_tcase(s, tc);
    return s;
}
