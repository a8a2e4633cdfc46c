/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage Z3: E-matching over the axioms.
 *
 * A candidate's condition, the equality of its output shapes, what its well-typedness
 * says, and the negation of lhs = rhs are asserted on top of the laws of shapes and the
 * axioms that connect the sides at instances (verifier/relevance.h), then of those near
 * the candidate (verifier/solver.c). Where no axioms connect them Z3 is not asked. An
 * unsatisfiable goal is a proof, whose axiom instances are evaluated at the typed
 * instances of the rule (verifier/certificate.c): only if each holds everywhere is the
 * rule proved.
 *
 * A rule that is not derived for all ranks at once is tried for each of the ranks that
 * its typed instances have, where lists of known length can be compared entry by entry.
 * It is proved if it is for all of them and its typing and condition leave no other
 * ranks; the evidence lists them.
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
#include "verifier/relevance.h"
#include "verifier/solver.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANKS 6 /* a rule; more are hardly ever all there can be */

struct noe_prover {
    const noe_axioms *axioms;
    noe_solvers *solvers;
    noe_relevance *relevance;
    bool *chosen; /* of each axiom */
    int64_t rlimit;
    bool wants_scripts;
    noe_instance *scratch;
};

noe_prover *noe_prover_new(const noe_axioms *axioms, int64_t rlimit, unsigned seed,
                           int without)
{
    noe_prover *p = noe_calloc(1, sizeof *p);
    p->axioms = axioms;
    p->rlimit = rlimit;
    p->scratch = noe_malloc(sizeof *p->scratch);
    p->solvers = noe_solvers_new(axioms, seed, without);
    p->relevance = noe_relevance_new(axioms, without);
    p->chosen = noe_calloc((size_t)axioms->n + 1, sizeof *p->chosen);
    return p;
}

void noe_prover_free(noe_prover *p)
{
    if (!p)
        return;
    noe_solvers_free(p->solvers);
    noe_relevance_free(p->relevance);
    free(p->chosen);
    free(p->scratch);
    free(p);
}

void noe_prover_ask_scripts(noe_prover *p, bool yes)
{
    p->wants_scripts = yes;
}

static bool has_domain(noe_op op)
{
    return op == NOE_OP_SQRT || op == NOE_OP_LOG;
}

/* Arguments of sqrt and log on the left side are not negative: where one is, the left
 * side does not exist and the rule says nothing. */
static void assert_domain(noe_solver *s, noe_scope *scope)
{
    const noe_rule *rule = scope->rule;
    bool left[NOE_RULE_MAX_NODES];
    noe_rule_mark_side(rule, false, left);
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        if (!left[i] || p->is_var || !has_domain(p->op))
            continue;
        Z3_ast a = noe_encode_node(&s->e, scope, p->inputs[0]);
        Z3_ast positive = Z3_mk_app(s->e.z3, s->e.op[NOE_OP_RELU], 1, &a);
        noe_solver_assert(s, Z3_mk_eq(s->e.z3, positive, a));
    }
}

/* Condition, equal output shapes, well-typedness: what holds at every instance. */
static void assert_context(noe_solver *s, noe_scope *scope)
{
    const noe_rule *rule = scope->rule;
    noe_solver_assert(s, noe_encode_where(&s->e, scope));
    for (int i = 0; i < rule->n_roots; i++) {
        Z3_ast left =
            noe_encode_shape_of(&s->e, noe_encode_node(&s->e, scope, rule->lhs[i]));
        Z3_ast right =
            noe_encode_shape_of(&s->e, noe_encode_node(&s->e, scope, rule->rhs[i]));
        noe_solver_assert(s, Z3_mk_eq(s->e.z3, left, right));
        noe_encode_typing(&s->e, scope, rule->lhs[i], true, noe_solver_assert, s);
        noe_encode_typing(&s->e, scope, rule->rhs[i], false, noe_solver_assert, s);
    }
    if (scope->ranks)
        noe_encode_ranks(&s->e, scope, noe_solver_assert, s);
}

static Z3_ast negated_goal(noe_solver *s, noe_scope *scope, int root)
{
    const noe_rule *rule = scope->rule;
    Z3_ast left = noe_encode_node(&s->e, scope, rule->lhs[root]);
    Z3_ast right = noe_encode_node(&s->e, scope, rule->rhs[root]);
    return Z3_mk_not(s->e.z3, Z3_mk_eq(s->e.z3, left, right));
}

/* One way to prove a rule: a solver, and the instances whose ranks are meant. */
typedef struct attempt {
    noe_prover *p;
    noe_solver *s;
    const noe_rule *rule;
    noe_instance *const *instances;
    int n;
    bool fixed; /* the ranks are those of all instances */
    bool in_domain;
    noe_certificate steps;
    noe_buf reason; /* why not */
    noe_buf scripts;
} attempt;

/* What an instance of a quantified formula says: the last part of "not formula, or it".
 */
static Z3_ast conclusion(const noe_solver *s, Z3_ast instance)
{
    Z3_context z3 = s->e.z3;
    Z3_app app = Z3_to_app(z3, instance);
    unsigned n = Z3_get_app_num_args(z3, app);
    Z3_ast part[2] = {NULL, NULL};
    if (Z3_get_decl_kind(z3, Z3_get_app_decl(z3, app)) != Z3_OP_OR)
        return instance;
    Z3_ast *rest = noe_malloc((n + 1) * sizeof *rest);
    for (unsigned i = 1; i < n; i++)
        rest[i - 1] = Z3_get_app_arg(z3, app, i);
    part[0] = n == 2 ? rest[0] : Z3_mk_or(z3, n - 1, rest);
    free(rest);
    return part[0];
}

/* The assertions that have no quantifiers, and the instances from `from` on of those
 * that have: what the proof is about, for other solvers. */
static void print_script(noe_solver *s, const noe_certificate *steps, int from,
                         noe_buf *b)
{
    Z3_context z3 = s->e.z3;
    Z3_ast_vector all = Z3_solver_get_assertions(z3, s->z3);
    Z3_ast_vector_inc_ref(z3, all);
    Z3_solver ground = Z3_mk_simple_solver(z3);
    Z3_solver_inc_ref(z3, ground);
    for (unsigned i = 0; i < Z3_ast_vector_size(z3, all); i++) {
        Z3_ast a = Z3_ast_vector_get(z3, all, i);
        if (Z3_get_ast_kind(z3, a) != Z3_QUANTIFIER_AST)
            Z3_solver_assert(z3, ground, a);
    }
    for (int i = from; i < steps->n_instances; i++)
        Z3_solver_assert(z3, ground, conclusion(s, steps->instance[i]));
    noe_buf_printf(b,
                   "(set-logic QF_UFLIA)\n(set-info :status unsat)\n%s(check-sat)\n"
                   "(reset)\n",
                   Z3_solver_to_string(z3, ground));
    Z3_solver_dec_ref(z3, ground);
    Z3_ast_vector_dec_ref(z3, all);
}

/* Whether the root pair follows; adds the steps of its proof. */
static bool prove_root(attempt *a, noe_scope *scope, int root)
{
    noe_solver *s = a->s;
    Z3_context z3 = s->e.z3;
    Z3_solver_push(z3, s->z3);
    assert_context(s, scope);
    if (a->in_domain)
        assert_domain(s, scope);
    noe_solver_assert(s, negated_goal(s, scope, root));
    Z3_lbool answer = Z3_solver_check(z3, s->z3);
    if (answer == Z3_L_FALSE) {
        Z3_ast proof = Z3_solver_get_proof(z3, s->z3);
        int from = a->steps.n_instances;
        if (proof)
            noe_certificate_collect(&s->e, a->p->axioms, proof, &a->steps);
        else
            answer = Z3_L_UNDEF;
        if (proof && a->p->wants_scripts)
            print_script(s, &a->steps, from, &a->scripts);
    }
    if (answer != Z3_L_FALSE)
        noe_buf_printf(&a->reason, "root %d: not derived from the axioms (%s)", root,
                       Z3_solver_get_reason_unknown(z3, s->z3));
    Z3_solver_pop(z3, s->z3, 1);
    return answer == Z3_L_FALSE;
}

/* Laws of shapes were used of well-typed terms only. */
static bool check_terms(attempt *a)
{
    for (int t = 0; t < a->steps.n_terms; t++) {
        for (int i = 0; i < a->n; i++) {
            if (noe_term_is_typed(&a->s->e, a->steps.term[t], a->rule, a->instances[i]))
                continue;
            noe_buf_puts(&a->reason, "a term of the proof is ill-typed at ");
            noe_instance_print(&a->reason, a->rule, a->instances[i]);
            noe_buf_puts(&a->reason, ": ");
            noe_term_print(&a->s->e, a->steps.term[t], &a->reason);
            return false;
        }
    }
    return true;
}

static bool check_steps(attempt *a)
{
    const noe_prover *p = a->p;
    for (int s = 0; s < a->steps.n; s++) {
        for (int i = 0; i < a->n; i++) {
            if (noe_step_holds(&a->s->e, p->axioms, &a->steps.step[s], a->rule,
                               a->instances[i], p->scratch))
                continue;
            noe_buf_puts(&a->reason, "a step of the proof does not hold at ");
            noe_instance_print(&a->reason, a->rule, a->instances[i]);
            noe_buf_puts(&a->reason, ": ");
            noe_step_print(&a->s->e, p->axioms, &a->steps.step[s], &a->reason);
            return false;
        }
    }
    return true;
}

static bool succeeds(attempt *a, noe_proof *proof)
{
    noe_scope scope;
    noe_scope_init(&a->s->e, a->rule, &scope);
    scope.ranks = a->fixed ? a->instances[0] : NULL;
    int64_t before = noe_solver_spent(a->s);
    bool ok = true;
    for (int i = 0; i < a->rule->n_roots && ok; i++)
        ok = prove_root(a, &scope, i);
    proof->rlimit += noe_solver_spent(a->s) - before;
    return ok && check_steps(a) && check_terms(a);
}

/* What a proof used, over all its attempts. */
typedef struct evidence {
    bool in_domain; /* asked for */
    bool *used;     /* axioms */
    noe_buf certificate, ranks, scripts;
    int n_steps, n_ranks;
} evidence;

static void print_ranks(const noe_rule *rule, const noe_instance *inst, noe_buf *b)
{
    for (int v = 0; v < rule->n_vars; v++)
        noe_buf_printf(b, "%s%s:%d", v ? " " : "", rule->vars[v].name,
                       inst->binding.type[v].shape.rank);
}

static void record(const attempt *a, evidence *e)
{
    if (a->fixed) {
        noe_buf_puts(&e->ranks, e->n_ranks++ ? "; " : "");
        print_ranks(a->rule, a->instances[0], &e->ranks);
        noe_buf_puts(&e->certificate, "ranks ");
        print_ranks(a->rule, a->instances[0], &e->certificate);
        noe_buf_puts(&e->certificate, "\n");
    }
    if (a->in_domain)
        noe_buf_puts(&e->certificate, "arguments of sqrt and log on the left are not "
                                      "negative\n");
    for (int i = 0; i < a->steps.n; i++) {
        e->used[a->steps.step[i].axiom] = true;
        noe_step_print(&a->s->e, a->p->axioms, &a->steps.step[i], &e->certificate);
        noe_buf_puts(&e->certificate, "\n");
    }
    e->n_steps += a->steps.n;
    noe_buf_puts(&e->scripts, noe_buf_text(&a->scripts));
}

static void clear_attempt(attempt *a)
{
    noe_certificate_clear(&a->steps);
    noe_buf_clear(&a->reason);
    noe_buf_clear(&a->scripts);
}

/* For all ranks at once. */
static bool prove_general(noe_prover *p, noe_solver *s, const noe_rule *rule,
                          noe_instance *const *instances, int n, noe_proof *proof,
                          evidence *e)
{
    attempt a = {.p = p, .s = s, .rule = rule, .instances = instances, .n = n};
    a.in_domain = e->in_domain;
    bool ok = succeeds(&a, proof);
    if (ok)
        record(&a, e);
    else
        noe_buf_printf(&proof->reason, "%s%s", proof->reason.len ? "; " : "",
                       noe_buf_text(&a.reason));
    clear_attempt(&a);
    return ok;
}

/* Ranks of all nodes and lengths of all list parameters. */
static bool same_ranks(const noe_rule *rule, const noe_instance *a,
                       const noe_instance *b)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (a->type[i].shape.rank != b->type[i].shape.rank)
            return false;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        if (a->binding.pvalue[i].n != b->binding.pvalue[i].n)
            return false;
    }
    return true;
}

/* Puts the instances with the ranks of the first of rest before the others; returns how
 * many they are. */
static int gather(const noe_rule *rule, noe_instance **rest, int n)
{
    int same = 1;
    for (int i = 1; i < n; i++) {
        if (!same_ranks(rule, rest[0], rest[i]))
            continue;
        noe_instance *inst = rest[i];
        memmove(rest + same + 1, rest + same, (size_t)(i - same) * sizeof *rest);
        rest[same++] = inst;
    }
    return same;
}

/* These are all the ranks there can be: the typing of the rule excludes others. Axioms
 * take no part: they make ill-typed terms (verifier/certificate.c), and there is no
 * instance of other ranks to tell by. */
static bool are_all_ranks(noe_prover *p, const noe_rule *rule,
                          noe_instance *const *list, int n)
{
    noe_solver *s =
        noe_solvers_get(p->solvers, noe_solver_ops(rule), NOE_REACH_LAWS, p->rlimit);
    Z3_context z3 = s->e.z3;
    noe_scope scope;
    noe_scope_init(&s->e, rule, &scope);
    Z3_solver_push(z3, s->z3);
    assert_context(s, &scope);
    for (int i = 0; i < n; i++) {
        if (i > 0 && same_ranks(rule, list[i - 1], list[i]))
            continue;
        scope.ranks = list[i];
        noe_solver_assert(s, Z3_mk_not(z3, noe_encode_has_ranks(&s->e, &scope)));
    }
    Z3_lbool answer = Z3_solver_check(z3, s->z3);
    Z3_solver_pop(z3, s->z3, 1);
    return answer == Z3_L_FALSE;
}

static bool prove_gathered(noe_prover *p, noe_solver *s, const noe_rule *rule,
                           noe_instance **list, const int *count, int n_groups,
                           noe_proof *proof, evidence *e)
{
    for (int i = 0; i < n_groups; i++) {
        attempt a = {.p = p, .s = s, .rule = rule, .instances = list, .n = count[i]};
        a.fixed = true;
        a.in_domain = e->in_domain;
        bool ok = succeeds(&a, proof);
        if (ok) {
            record(&a, e);
        } else {
            noe_buf_puts(&proof->reason, "; with ranks ");
            print_ranks(rule, list[0], &proof->reason);
            noe_buf_printf(&proof->reason, ": %s", noe_buf_text(&a.reason));
        }
        list += count[i];
        clear_attempt(&a);
        if (!ok)
            return false;
    }
    return true;
}

/* For each of the ranks that occur. */
static bool prove_by_ranks(noe_prover *p, noe_solver *s, const noe_rule *rule,
                           noe_instance *const *instances, int n, noe_proof *proof,
                           evidence *e)
{
    noe_instance **list = noe_malloc((size_t)(n + 1) * sizeof *list);
    int count[MAX_RANKS], n_groups = 0, from = 0;
    for (int i = 0; i < n; i++)
        list[i] = instances[i];
    while (from < n && n_groups < MAX_RANKS) {
        count[n_groups] = gather(rule, list + from, n - from);
        from += count[n_groups++];
    }
    bool ok = n > 0 && from == n && are_all_ranks(p, rule, list, n) &&
              prove_gathered(p, s, rule, list, count, n_groups, proof, e);
    free(list);
    return ok;
}

static void reset_evidence(evidence *e)
{
    noe_buf_clear(&e->certificate);
    noe_buf_clear(&e->ranks);
    noe_buf_clear(&e->scripts);
    free(e->used);
    *e = (evidence){0};
}

typedef bool method(noe_prover *p, noe_solver *s, const noe_rule *rule,
                    noe_instance *const *instances, int n, noe_proof *proof,
                    evidence *e);

static void keep(const noe_prover *p, evidence *e, noe_proof *proof)
{
    const char *space = "";
    for (int i = 0; i < p->axioms->n; i++) {
        if (!e->used[i])
            continue;
        noe_buf_printf(&proof->axioms, "%s%s", space, p->axioms->axiom[i].name);
        space = " ";
    }
    noe_buf_puts(&proof->certificate, noe_buf_text(&e->certificate));
    noe_buf_puts(&proof->ranks, noe_buf_text(&e->ranks));
    noe_buf_puts(&proof->scripts, noe_buf_text(&e->scripts));
    proof->n_steps = e->n_steps;
    proof->n_ranks = e->n_ranks;
    proof->proved = true;
}

/* A way to prove, with which axioms, and the part of the resource limit that it may
 * take. */
typedef struct plan {
    method *prove;
    noe_reach reach;
    int part;
} plan;

/* The axioms that connect the sides at an instance are mostly the ones, and few. */
static const plan found[] = {{prove_general, NOE_REACH_SOME, 1},
                             {prove_general, NOE_REACH_NEAR, 1},
                             {prove_by_ranks, NOE_REACH_SOME, 2},
                             {prove_general, NOE_REACH_ALL, 3}};
/* The e-graph does not know where arguments of sqrt and log are not negative. */
static const plan partial[] = {{prove_general, NOE_REACH_NEAR, 1},
                               {prove_general, NOE_REACH_ALL, 3},
                               {prove_by_ranks, NOE_REACH_NEAR, 2}};
static const plan unknown[] = {{prove_general, NOE_REACH_NEAR, 3},
                               {prove_by_ranks, NOE_REACH_NEAR, 4}};

static bool follow(noe_prover *p, const plan *how, const noe_rule *rule,
                   noe_instance *const *instances, int n, bool in_domain,
                   noe_proof *proof)
{
    evidence e = {.in_domain = in_domain};
    int64_t rlimit = p->rlimit / how->part + 1;
    noe_solver *s =
        how->reach == NOE_REACH_SOME
            ? noe_solvers_get_some(p->solvers, p->chosen, rlimit)
            : noe_solvers_get(p->solvers, noe_solver_ops(rule), how->reach, rlimit);
    e.used = noe_calloc((size_t)p->axioms->n + 1, sizeof *e.used);
    if (how->prove(p, s, rule, instances, n, proof, &e))
        keep(p, &e, proof);
    reset_evidence(&e);
    return proof->proved;
}

void noe_prover_prove(noe_prover *p, const noe_rule *rule,
                      noe_instance *const *instances, int n_instances, bool in_domain,
                      noe_proof *proof)
{
    noe_relevance_answer answer = NOE_RELEVANCE_UNKNOWN;
    *proof = (noe_proof){0};
    if (n_instances > 0 && !in_domain)
        answer =
            noe_relevance_find(p->relevance, rule, instances, n_instances, p->chosen);
    if (answer == NOE_RELEVANCE_NONE) {
        noe_buf_puts(&proof->reason, "not derived from the axioms at an instance");
        return;
    }
    const plan *plans = unknown;
    int n = 2;
    if (in_domain) {
        plans = partial;
        n = 3;
    } else if (answer == NOE_RELEVANCE_FOUND) {
        plans = found;
        n = noe_relevance_is_blind(p->relevance, rule) ? 4 : 3;
    }
    for (int i = 0; i < n; i++) {
        if (!follow(p, &plans[i], rule, instances, n_instances, in_domain, proof))
            continue;
        noe_buf_clear(&proof->reason);
        return;
    }
}

void noe_proof_clear(noe_proof *proof)
{
    noe_buf_clear(&proof->reason);
    noe_buf_clear(&proof->axioms);
    noe_buf_clear(&proof->certificate);
    noe_buf_clear(&proof->ranks);
    noe_buf_clear(&proof->scripts);
    *proof = (noe_proof){0};
}

void noe_prover_print_smt2(noe_prover *p, const noe_rule *rule, noe_buf *b)
{
    noe_solver *s = noe_solvers_get(p->solvers, 0, NOE_REACH_ALL, p->rlimit);
    noe_buf_puts(b, "; axioms of noether-verify; sorts: T tensors, L lists, D reals\n");
    noe_buf_puts(b,
                 "(set-option :smt.mbqi false)\n(set-option :smt.auto_config false)\n");
    Z3_solver_push(s->e.z3, s->z3);
    noe_scope scope;
    if (rule) {
        noe_scope_init(&s->e, rule, &scope);
        assert_context(s, &scope);
        noe_solver_assert(s, negated_goal(s, &scope, 0));
    }
    noe_buf_puts(b, Z3_solver_to_string(s->e.z3, s->z3));
    noe_buf_puts(b, rule ? "(check-sat) ; unsat: proved\n" : "");
    Z3_solver_pop(s->e.z3, s->z3, 1);
}

const char *noe_prover_version(void)
{
    static char text[32];
    unsigned major, minor, build, revision;
    Z3_get_version(&major, &minor, &build, &revision);
    snprintf(text, sizeof text, "Z3 %u.%u.%u", major, minor, build);
    return text;
}
