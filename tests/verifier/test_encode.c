/* SPDX-License-Identifier: Apache-2.0
 *
 * The laws of shapes and lists that Z3 is given, compared with the shape rules:
 * whatever Z3 derives about the shape of a term must be so for every typed instance.
 */
#include "tests/verifier/fixture.h"
#include "verifier/encode.h"
#include <stdlib.h>

static Z3_context z3;
static noe_encoder e;
static Z3_solver solver;

static void assert_law(void *ctx, Z3_ast law)
{
    (void)ctx;
    Z3_solver_assert(z3, solver, law);
}

static void setup(void)
{
    Z3_global_param_set("smt.mbqi", "false");
    Z3_global_param_set("smt.auto_config", "false");
    Z3_config config = Z3_mk_config();
    z3 = Z3_mk_context(config);
    Z3_del_config(config);
    noe_encoder_init(&e, z3);
    solver = Z3_mk_simple_solver(z3);
    Z3_solver_inc_ref(z3, solver);
    noe_encode_theory(&e, ~(noe_op_set)0, assert_law, NULL);
    Z3_params params = Z3_mk_params(z3);
    Z3_params_inc_ref(z3, params);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "rlimit"), 100000);
    Z3_solver_set_params(z3, solver, params);
    Z3_params_dec_ref(z3, params);
}

static void teardown(void)
{
    Z3_solver_dec_ref(z3, solver);
    Z3_del_context(z3);
}

static Z3_ast number(int64_t i)
{
    return Z3_mk_int64(z3, i, e.number);
}

static Z3_ast list_of(const noe_shape *s)
{
    Z3_ast items[NOE_MAX_RANK];
    for (int i = 0; i < s->rank; i++)
        items[i] = number(s->dim[i]);
    return Z3_mk_app(z3, e.make_list[s->rank], (unsigned)s->rank, items);
}

/* Floating-point parameters occur in no law of shapes: any value does. */
static Z3_ast concrete(const noe_value *v)
{
    Z3_ast items[NOE_MAX_LIST];
    if (v->kind == NOE_KIND_FLOAT)
        return Z3_mk_fresh_const(z3, "float", e.real);
    if (v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS)
        return number(v->i);
    for (int i = 0; i < v->n; i++)
        items[i] = number(v->list[i]);
    return Z3_mk_app(z3, e.make_list[v->n], (unsigned)v->n, items);
}

/* Everything about an instance: shapes of the variables, values of the parameters, and
 * the true size of the root. Were a law false there, this would be contradictory. */
static Z3_lbool consistent(const noe_rule *rule, const noe_instance *inst)
{
    noe_scope scope;
    noe_scope_init(&e, rule, &scope);
    Z3_solver_push(z3, solver);
    for (int i = 0; i < rule->n_vars; i++)
        assert_law(NULL, Z3_mk_eq(z3, noe_encode_shape_of(&e, scope.var[i]),
                                  list_of(&inst->binding.type[i].shape)));
    for (int i = 0; i < rule->n_pvars; i++)
        assert_law(NULL,
                   Z3_mk_eq(z3, scope.pvar[i], concrete(&inst->binding.pvalue[i])));
    for (uint16_t i = 0; i < rule->n_nodes; i++)
        assert_law(NULL,
                   Z3_mk_eq(z3, noe_encode_shape_of(&e, noe_encode_node(&e, &scope, i)),
                            list_of(&inst->type[i].shape)));
    for (int i = 0; i < rule->n_roots; i++) {
        noe_encode_typing(&e, &scope, rule->lhs[i], true, assert_law, NULL);
        noe_encode_typing(&e, &scope, rule->rhs[i], false, assert_law, NULL);
    }
    Z3_lbool answer = Z3_solver_check(z3, solver);
    Z3_solver_pop(z3, solver, 1);
    return answer;
}

static void check_rules(const fixture_rules *rules)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    for (int r = 0; r < rules->n; r++) {
        for (int i = 0; i < 4; i++) {
            int attempts = 0;
            if (!noe_instance_find(rules->rule[r], 11, i, 400, inst, &attempts))
                continue;
            noe_buf text = {0};
            noe_instance_print(&text, rules->rule[r], inst);
            ck_assert_msg(consistent(rules->rule[r], inst) != Z3_L_FALSE, "%s at %s",
                          rules->name[r], noe_buf_text(&text));
            noe_buf_clear(&text);
        }
    }
    free(inst);
}

START_TEST(test_encode_laws_agree_with_shape_rules)
{
    fixture_rules rules;
    fixture_load("true_rules.txt", &rules);
    check_rules(&rules);
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_encode_laws_agree_on_axioms)
{
    noe_axioms axioms;
    noe_error err;
    noe_assert_ok(noe_axioms_load(noe_axioms_text, "axioms.txt", &axioms, &err), err);
    for (int from = 0; from < axioms.n; from += 256) {
        fixture_rules rules = {.n = 0};
        for (int i = from; i < axioms.n && rules.n < 256; i++) {
            rules.name[rules.n] = axioms.axiom[i].name;
            rules.rule[rules.n++] = &axioms.axiom[i].rule;
        }
        check_rules(&rules);
    }
    noe_axioms_clear(&axioms);
}
END_TEST

/* The check above can fail: a size that is not so is contradictory. */
START_TEST(test_encode_false_size_is_contradictory)
{
    const noe_rule *rule =
        fixture_rule("concat[axis=0](?a, ?b) => neg(neg(concat[axis=0](?a, ?b))) where "
                     "rank(?a) == 2");
    noe_instance *inst = noe_malloc(sizeof *inst);
    int attempts = 0;
    ck_assert(noe_instance_find(rule, 1, 0, 400, inst, &attempts));
    ck_assert_int_ne(consistent(rule, inst), Z3_L_FALSE);
    inst->type[rule->lhs[0]].shape.dim[0]++;
    ck_assert_int_eq(consistent(rule, inst), Z3_L_FALSE);
    free(inst);
}
END_TEST

START_TEST(test_encode_defaults_are_one_constant)
{
    const noe_rule *rule = fixture_rule(
        "conv[strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1]](?x, ?w) => "
        "conv(?x, ?w)");
    noe_scope scope;
    noe_scope_init(&e, rule, &scope);
    Z3_ast left = noe_encode_node(&e, &scope, rule->lhs[0]);
    Z3_ast right = noe_encode_node(&e, &scope, rule->rhs[0]);
    ck_assert_ptr_eq(left, right);
}
END_TEST

Suite *suite_encode(void)
{
    Suite *s = suite_create("encode");
    TCase *tc = tcase_create("encode");
    tcase_set_timeout(tc, 280);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_encode_laws_agree_with_shape_rules);
    tcase_add_test(tc, test_encode_laws_agree_on_axioms);
    tcase_add_test(tc, test_encode_false_size_is_contradictory);
    tcase_add_test(tc, test_encode_defaults_are_one_constant);
    suite_add_tcase(s, tc);
    return s;
}
