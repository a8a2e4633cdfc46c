/* SPDX-License-Identifier: Apache-2.0
 *
 * Which axioms a goal can need, and solvers that hold them.
 *
 * Setting up all axioms, and matching all of them, costs many times what a typical
 * proof costs. An axiom is near a goal if its operators are among those of the goal and
 * of their definitions: an axiom that says what one operator applied to variables is
 * (sub(?a, ?b) => add(?a, neg(?b))) adds the operators of the other side. Most proofs
 * need no other axioms.
 *
 * A solver knows the laws of shapes and lists, whose set-up costs more than most
 * proofs; the axioms near a goal are pushed on top of them, and stay until a goal wants
 * others. That with all axioms is one of its own. Each has its own Z3 context, which is
 * given up after some hundred goals, because Z3 keeps their terms. Model-based
 * quantifier instantiation is off: Z3 only instantiates axioms at terms that are there,
 * so that "unknown" comes fast. Effort is bounded by rlimit, which does not depend on
 * the machine.
 */
#include "verifier/solver.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_GOALS 200 /* of one solver */

_Static_assert(NOE_OP_COUNT <= 8 * sizeof(noe_op_set), "a bit an operator");

struct noe_solvers {
    const noe_axioms *axioms;
    noe_op_set *ops; /* of each axiom */
    unsigned seed;
    int without;
    noe_solver *solver[NOE_REACH_ALL + 1];
};

noe_op_set noe_solver_ops(const noe_rule *rule)
{
    noe_op_set ops = 0;
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var)
            ops |= (noe_op_set)1 << rule->nodes[i].op;
    }
    return ops;
}

noe_solvers *noe_solvers_new(const noe_axioms *axioms, unsigned seed, int without)
{
    noe_solvers *s = noe_calloc(1, sizeof *s);
    s->axioms = axioms;
    s->seed = seed;
    s->without = without;
    s->ops = noe_calloc((size_t)axioms->n + 1, sizeof *s->ops);
    for (int i = 0; i < axioms->n; i++)
        s->ops[i] = noe_solver_ops(&axioms->axiom[i].rule);
    return s;
}

static void free_solver(noe_solver *s)
{
    if (!s)
        return;
    Z3_solver_dec_ref(s->e.z3, s->z3);
    Z3_del_context(s->e.z3);
    free(s);
}

void noe_solvers_free(noe_solvers *s)
{
    if (!s)
        return;
    for (int i = 0; i <= NOE_REACH_ALL; i++)
        free_solver(s->solver[i]);
    free(s->ops);
    free(s);
}

/* Selection */

/* The left side is one operator applied to variables: the axiom defines it. */
static bool is_definition(const noe_rule *rule, noe_op_set ops)
{
    const noe_pattern_node *top = &rule->nodes[rule->lhs[0]];
    if (top->is_var || top->n_inputs == 0 || !(ops >> top->op & 1) ||
        rule->where != NOE_TERM_ABSENT)
        return false;
    for (int i = 0; i < top->n_inputs; i++) {
        if (!rule->nodes[top->inputs[i]].is_var)
            return false;
    }
    return true;
}

static noe_op_set with_definitions(const noe_solvers *s, noe_op_set ops)
{
    for (noe_op_set before = 0; before != ops;) {
        before = ops;
        for (int i = 0; i < s->axioms->n; i++) {
            if (is_definition(&s->axioms->axiom[i].rule, before))
                ops |= s->ops[i];
        }
    }
    return ops;
}

/* Solvers */

/* The C API has one handler a context, without an argument of ours. */
static void ignore_error(Z3_context z3, Z3_error_code code)
{
    (void)z3;
    (void)code; /* read with Z3_get_error_code where it can happen */
}

static Z3_context make_context(void)
{
    Z3_global_param_set("smt.mbqi", "false");
    Z3_global_param_set("smt.auto_config", "false");
    Z3_config config = Z3_mk_config();
    Z3_set_param_value(config, "proof", "true");
    Z3_context z3 = Z3_mk_context(config);
    Z3_del_config(config);
    Z3_set_error_handler(z3, ignore_error);
    return z3;
}

static void set_limits(noe_solver *s, int64_t rlimit, unsigned seed)
{
    Z3_context z3 = s->e.z3;
    Z3_params params = Z3_mk_params(z3);
    Z3_params_inc_ref(z3, params);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "rlimit"), (unsigned)rlimit);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "random_seed"), seed);
    Z3_solver_set_params(z3, s->z3, params);
    Z3_params_dec_ref(z3, params);
}

void noe_solver_assert(void *ctx, Z3_ast formula)
{
    noe_solver *s = ctx;
    Z3_solver_assert(s->e.z3, s->z3, formula);
}

/* Without limits, so that the first goal costs no more than the same goal later. */
static void settle(noe_solver *s, unsigned seed)
{
    set_limits(s, 0, seed);
    Z3_solver_check(s->e.z3, s->z3);
}

static void assert_axiom(const noe_solvers *all, noe_solver *s, int i)
{
    Z3_ast formula[2];
    int n = noe_encode_axiom(&s->e, &all->axioms->axiom[i], i, formula);
    for (int k = 0; k < n && i != all->without; k++)
        noe_solver_assert(s, formula[k]);
}

static void assert_axioms(const noe_solvers *all, noe_solver *s, noe_op_set ops)
{
    for (int i = 0; i < all->axioms->n; i++) {
        if ((all->ops[i] & ~ops) == 0)
            assert_axiom(all, s, i);
    }
}

static noe_solver *make_solver(const noe_solvers *all, noe_reach reach)
{
    noe_op_set every = ~(noe_op_set)0;
    noe_solver *s = noe_calloc(1, sizeof *s);
    noe_encoder_init(&s->e, make_context());
    s->z3 = Z3_mk_simple_solver(s->e.z3);
    Z3_solver_inc_ref(s->e.z3, s->z3);
    noe_encode_theory(&s->e, every, noe_solver_assert, s);
    if (reach == NOE_REACH_ALL)
        assert_axioms(all, s, every);
    settle(s, all->seed);
    return s;
}

/* Has no axioms on top. */
static void unload(noe_solver *s)
{
    if (s->is_loaded)
        Z3_solver_pop(s->e.z3, s->z3, 1);
    Z3_solver_push(s->e.z3, s->z3);
    s->is_loaded = true;
}

/* Has the axioms of these operators on top. */
static void load(const noe_solvers *all, noe_solver *s, noe_op_set ops)
{
    if (s->is_loaded && s->ops == ops)
        return;
    unload(s);
    assert_axioms(all, s, ops);
    settle(s, all->seed);
    s->ops = ops;
}

/* One that is not worn out. */
static noe_solver *solver_for(noe_solvers *all, noe_reach reach)
{
    noe_solver **slot = &all->solver[reach];
    if (*slot && (*slot)->n_goals >= MAX_GOALS) {
        free_solver(*slot);
        *slot = NULL;
    }
    if (!*slot)
        *slot = make_solver(all, reach);
    (*slot)->n_goals++;
    return *slot;
}

noe_solver *noe_solvers_get(noe_solvers *all, noe_op_set ops, noe_reach reach,
                            int64_t rlimit)
{
    noe_solver *s = solver_for(all, reach);
    if (reach == NOE_REACH_NEAR)
        load(all, s, with_definitions(all, ops));
    set_limits(s, rlimit, all->seed);
    return s;
}

noe_solver *noe_solvers_get_some(noe_solvers *all, const bool *chosen, int64_t rlimit)
{
    noe_solver *s = solver_for(all, NOE_REACH_SOME);
    unload(s);
    for (int i = 0; i < all->axioms->n; i++) {
        if (chosen[i])
            assert_axiom(all, s, i);
    }
    set_limits(s, rlimit, all->seed);
    return s;
}

int64_t noe_solver_spent(const noe_solver *s)
{
    Z3_context z3 = s->e.z3;
    Z3_stats stats = Z3_solver_get_statistics(z3, s->z3);
    Z3_stats_inc_ref(z3, stats);
    int64_t spent = 0;
    for (unsigned i = 0; i < Z3_stats_size(z3, stats); i++) {
        if (strcmp(Z3_stats_get_key(z3, stats, i), "rlimit count") == 0)
            spent = Z3_stats_is_uint(z3, stats, i)
                        ? (int64_t)Z3_stats_get_uint_value(z3, stats, i)
                        : (int64_t)Z3_stats_get_double_value(z3, stats, i);
    }
    Z3_stats_dec_ref(z3, stats);
    return spent;
}
