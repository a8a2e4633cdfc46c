/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage Z3: E-matching over the axioms.
 *
 * One simple solver holds the laws of shapes and the axioms; a candidate's condition,
 * the equality of its output shapes, what its well-typedness says, and the negation of
 * lhs = rhs are pushed on top, checked and popped. Model-based quantifier instantiation
 * is off: Z3 only instantiates axioms at terms that are there, so that "unknown" comes
 * fast. Effort is bounded by rlimit, which does not depend on the machine. An
 * unsatisfiable goal is a proof, whose axiom instances are then evaluated at the typed
 * instances of the rule (verifier/certificate.c): only if each holds everywhere is the
 * rule proved.
 *
 * Requirements on an axiom: true wherever both sides are well-typed with equal types,
 * under its condition (FIELD checks); every variable occurs on one side at least as a
 * whole operand or parameter value. An axiom that makes new terms without end only
 * costs rlimit.
 *
 * Not guaranteed: completeness. Unknown means "not derived", nothing else.
 */
#include "verifier/prove.h"
#include "verifier/certificate.h"
#include <stdio.h>
#include <stdlib.h>

struct noe_prover {
    const noe_axioms *axioms;
    noe_encoder e;
    Z3_solver solver;
    noe_buf z3_error; /* of the last call, "" if none */
    noe_instance *scratch;
};

/* The C API has one handler a process argument-free but for the context. */
static void ignore_error(Z3_context z3, Z3_error_code code)
{
    (void)z3;
    (void)code; /* read with Z3_get_error_code where it can happen */
}

static void assert_formula(void *ctx, Z3_ast formula)
{
    noe_prover *p = ctx;
    Z3_solver_assert(p->e.z3, p->solver, formula);
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

static void set_limits(noe_prover *p, int64_t rlimit, unsigned seed)
{
    Z3_context z3 = p->e.z3;
    Z3_params params = Z3_mk_params(z3);
    Z3_params_inc_ref(z3, params);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "rlimit"), (unsigned)rlimit);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "random_seed"), seed);
    Z3_solver_set_params(z3, p->solver, params);
    Z3_params_dec_ref(z3, params);
}

noe_prover *noe_prover_new(const noe_axioms *axioms, int64_t rlimit, unsigned seed,
                           int without)
{
    noe_prover *p = noe_calloc(1, sizeof *p);
    p->axioms = axioms;
    p->scratch = noe_malloc(sizeof *p->scratch);
    noe_encoder_init(&p->e, make_context());
    p->solver = Z3_mk_simple_solver(p->e.z3);
    Z3_solver_inc_ref(p->e.z3, p->solver);
    noe_encode_theory(&p->e, assert_formula, p);
    for (int i = 0; i < axioms->n; i++) {
        Z3_ast formula[2];
        int n =
            i == without ? 0 : noe_encode_axiom(&p->e, &axioms->axiom[i], i, formula);
        for (int k = 0; k < n; k++)
            assert_formula(p, formula[k]);
    }
    /* Sets the axioms up before limits apply, so that the first rule costs no more than
     * the same rule later. */
    Z3_solver_check(p->e.z3, p->solver);
    set_limits(p, rlimit, seed);
    return p;
}

void noe_prover_free(noe_prover *p)
{
    if (!p)
        return;
    Z3_solver_dec_ref(p->e.z3, p->solver);
    Z3_del_context(p->e.z3);
    noe_buf_clear(&p->z3_error);
    free(p->scratch);
    free(p);
}

static int64_t resources_spent(noe_prover *p)
{
    Z3_context z3 = p->e.z3;
    Z3_stats stats = Z3_solver_get_statistics(z3, p->solver);
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

/* Condition, equal output shapes, well-typedness: what holds at every instance. */
static void assert_context(noe_prover *p, noe_scope *scope)
{
    const noe_rule *rule = scope->rule;
    assert_formula(p, noe_encode_where(&p->e, scope));
    for (int i = 0; i < rule->n_roots; i++) {
        Z3_ast left =
            noe_encode_shape_of(&p->e, noe_encode_node(&p->e, scope, rule->lhs[i]));
        Z3_ast right =
            noe_encode_shape_of(&p->e, noe_encode_node(&p->e, scope, rule->rhs[i]));
        assert_formula(p, Z3_mk_eq(p->e.z3, left, right));
        noe_encode_typing(&p->e, scope, rule->lhs[i], true, assert_formula, p);
        noe_encode_typing(&p->e, scope, rule->rhs[i], false, assert_formula, p);
    }
}

static Z3_ast negated_goal(noe_prover *p, noe_scope *scope, int root)
{
    const noe_rule *rule = scope->rule;
    Z3_ast left = noe_encode_node(&p->e, scope, rule->lhs[root]);
    Z3_ast right = noe_encode_node(&p->e, scope, rule->rhs[root]);
    return Z3_mk_not(p->e.z3, Z3_mk_eq(p->e.z3, left, right));
}

/* Whether the root pair follows; adds the steps of its proof. */
static bool prove_root(noe_prover *p, noe_scope *scope, int root, noe_certificate *c,
                       noe_buf *reason)
{
    Z3_context z3 = p->e.z3;
    Z3_solver_push(z3, p->solver);
    assert_context(p, scope);
    assert_formula(p, negated_goal(p, scope, root));
    Z3_lbool answer = Z3_solver_check(z3, p->solver);
    if (answer == Z3_L_FALSE) {
        Z3_ast proof = Z3_solver_get_proof(z3, p->solver);
        if (proof)
            noe_certificate_collect(&p->e, p->axioms, proof, c);
        else
            answer = Z3_L_UNDEF;
    }
    if (answer != Z3_L_FALSE)
        noe_buf_printf(reason, "root %d: not derived from the axioms (%s)", root,
                       Z3_solver_get_reason_unknown(z3, p->solver));
    Z3_solver_pop(z3, p->solver, 1);
    return answer == Z3_L_FALSE;
}

static bool check_steps(noe_prover *p, const noe_rule *rule,
                        noe_instance *const *instances, int n_instances,
                        const noe_certificate *c, noe_buf *reason)
{
    for (int s = 0; s < c->n; s++) {
        for (int i = 0; i < n_instances; i++) {
            if (noe_step_holds(&p->e, p->axioms, &c->step[s], rule, instances[i],
                               p->scratch))
                continue;
            noe_buf_puts(reason, "a step of the proof does not hold at ");
            noe_instance_print(reason, rule, instances[i]);
            noe_buf_puts(reason, ": ");
            noe_step_print(&p->e, p->axioms, &c->step[s], reason);
            return false;
        }
    }
    return true;
}

static int compare_steps(const void *a, const void *b)
{
    const noe_step *x = a, *y = b;
    return (x->axiom > y->axiom) - (x->axiom < y->axiom);
}

static void describe_steps(noe_prover *p, noe_certificate *c, noe_proof *proof)
{
    noe_certificate sorted = {.n = c->n};
    sorted.step = noe_malloc((size_t)(c->n + 1) * sizeof *sorted.step);
    memcpy(sorted.step, c->step, (size_t)c->n * sizeof *sorted.step);
    qsort(sorted.step, (size_t)c->n, sizeof *sorted.step, compare_steps);
    int last = -1;
    for (int i = 0; i < c->n; i++) {
        if (sorted.step[i].axiom != last)
            noe_buf_printf(&proof->axioms, "%s%s", last < 0 ? "" : " ",
                           p->axioms->axiom[sorted.step[i].axiom].name);
        last = sorted.step[i].axiom;
        noe_step_print(&p->e, p->axioms, &c->step[i], &proof->certificate);
        noe_buf_puts(&proof->certificate, "\n");
    }
    free(sorted.step);
}

void noe_prover_prove(noe_prover *p, const noe_rule *rule,
                      noe_instance *const *instances, int n_instances, noe_proof *proof)
{
    *proof = (noe_proof){0};
    noe_scope scope;
    noe_scope_init(&p->e, rule, &scope);
    noe_certificate c = {0};
    int64_t before = resources_spent(p);
    bool ok = true;
    for (int i = 0; i < rule->n_roots && ok; i++)
        ok = prove_root(p, &scope, i, &c, &proof->reason);
    proof->rlimit = resources_spent(p) - before;
    ok = ok && check_steps(p, rule, instances, n_instances, &c, &proof->reason);
    proof->proved = ok;
    proof->n_steps = c.n;
    if (ok)
        describe_steps(p, &c, proof);
    free(c.step);
}

void noe_proof_clear(noe_proof *proof)
{
    noe_buf_clear(&proof->reason);
    noe_buf_clear(&proof->axioms);
    noe_buf_clear(&proof->certificate);
    *proof = (noe_proof){0};
}

void noe_prover_print_smt2(noe_prover *p, const noe_rule *rule, noe_buf *b)
{
    noe_buf_puts(b, "; axioms of noether-verify; sorts: T tensors, L lists, D reals\n");
    noe_buf_puts(b,
                 "(set-option :smt.mbqi false)\n(set-option :smt.auto_config false)\n");
    Z3_solver_push(p->e.z3, p->solver);
    noe_scope scope;
    if (rule) {
        noe_scope_init(&p->e, rule, &scope);
        assert_context(p, &scope);
        assert_formula(p, negated_goal(p, &scope, 0));
    }
    noe_buf_puts(b, Z3_solver_to_string(p->e.z3, p->solver));
    noe_buf_puts(b, rule ? "(check-sat) ; unsat: proved\n" : "");
    Z3_solver_pop(p->e.z3, p->solver, 1);
}

const char *noe_prover_version(void)
{
    static char text[32];
    unsigned major, minor, build, revision;
    Z3_get_version(&major, &minor, &build, &revision);
    snprintf(text, sizeof text, "Z3 %u.%u.%u", major, minor, build);
    return text;
}
