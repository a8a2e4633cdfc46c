/* SPDX-License-Identifier: Apache-2.0
 *
 * The e-graph swaps operands of commutative operators by itself, so the axioms that say
 * so are added for every operator that comes up.
 */
#include "verifier/relevance.h"
#include "core/derive.h"
#include <stdlib.h>

#define MAX_INSTANCES 12
#define MAX_NODES     400 /* of the e-graph; proofs that are found take fewer */
#define MAX_ROUNDS    8
#define EXTRA_OPS     3

struct noe_relevance {
    const noe_axioms *axioms;
    noe_rule_set *set;
    int *axiom;     /* of each rule of the set */
    bool *commutes; /* of each axiom: it says that an operator does */
    bool *is_used;  /* of each axiom: in one direction at least */
    int without;
};

/* f(?a, ?b) => f(?b, ?a) */
static bool says_commutes(const noe_rule *rule)
{
    const noe_pattern_node *l = &rule->nodes[rule->lhs[0]];
    const noe_pattern_node *r = &rule->nodes[rule->rhs[0]];
    return !l->is_var && !r->is_var && l->op == r->op && l->n_inputs == 2 &&
           r->n_inputs == 2 && noe_op_has(l->op, NOE_TRAIT_COMMUTATIVE) &&
           rule->nodes[l->inputs[0]].is_var && rule->nodes[l->inputs[1]].is_var &&
           l->inputs[0] == r->inputs[1] && l->inputs[1] == r->inputs[0];
}

noe_relevance *noe_relevance_new(const noe_axioms *axioms, int without)
{
    noe_relevance *r = noe_calloc(1, sizeof *r);
    size_t n = (size_t)axioms->n + 1;
    r->axioms = axioms;
    r->without = without;
    r->set = noe_rule_set_new();
    r->axiom = noe_calloc(n, sizeof *r->axiom);
    r->commutes = noe_calloc(n, sizeof *r->commutes);
    r->is_used = noe_calloc(n, sizeof *r->is_used);
    for (int i = 0; i < axioms->n; i++) {
        const noe_rule *rule = &axioms->axiom[i].rule;
        noe_rule reversed = noe_rule_reversed(rule);
        r->commutes[i] = says_commutes(rule);
        r->is_used[i] = noe_rule_is_directed(rule) || noe_rule_is_directed(&reversed);
        if (i != without)
            r->axiom[noe_rule_set_add(r->set, rule)] = i;
    }
    return r;
}

void noe_relevance_free(noe_relevance *r)
{
    if (!r)
        return;
    noe_rule_set_free(r->set);
    free(r->axiom);
    free(r->commutes);
    free(r->is_used);
    free(r);
}

static void mark_ops(const noe_rule *rule, bool *ops)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var)
            ops[rule->nodes[i].op] = true;
    }
}

static bool has_only(const noe_rule *rule, const bool *ops)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var && !ops[rule->nodes[i].op])
            return false;
    }
    return true;
}

static void choose(const noe_relevance *r, const noe_rule *rule,
                   const noe_derive_report *report, bool *chosen)
{
    bool ops[NOE_OP_COUNT] = {false};
    memset(chosen, 0, (size_t)r->axioms->n * sizeof *chosen);
    mark_ops(rule, ops);
    for (int d = 0; d < report->n_derivations; d++) {
        for (int k = 0; k < report->derivations[d].n_steps; k++) {
            int axiom = r->axiom[report->derivations[d].steps[k].rule];
            chosen[axiom] = true;
            mark_ops(&r->axioms->axiom[axiom].rule, ops);
        }
    }
    for (int i = 0; i < r->axioms->n; i++)
        chosen[i] |= i != r->without && r->commutes[i] &&
                     has_only(&r->axioms->axiom[i].rule, ops);
}

bool noe_relevance_is_blind(const noe_relevance *r, const noe_rule *rule)
{
    bool ops[NOE_OP_COUNT] = {false};
    mark_ops(rule, ops);
    for (int i = 0; i < r->axioms->n; i++) {
        if (!r->is_used[i] && has_only(&r->axioms->axiom[i].rule, ops))
            return true;
    }
    return false;
}

noe_relevance_answer noe_relevance_find(const noe_relevance *r, const noe_rule *rule,
                                        noe_instance *const *instances, int n_instances,
                                        bool *chosen)
{
    noe_derive_config config = noe_derive_default();
    noe_derive_report report;
    noe_relevance_answer answer = NOE_RELEVANCE_UNKNOWN;
    noe_binding *given[MAX_INSTANCES];
    config.use_given = true;
    config.given = given;
    config.n_given = n_instances < MAX_INSTANCES ? n_instances : MAX_INSTANCES;
    for (int i = 0; i < config.n_given; i++)
        given[i] = &instances[i]->binding;
    config.skip_values = true;
    config.max_nodes = MAX_NODES;
    config.max_rounds = MAX_ROUNDS;
    config.extra_ops = EXTRA_OPS;
    noe_derive(r->set, rule, &config, &report);
    if (report.verdict != NOE_DERIVE_DERIVED && report.n_nodes < MAX_NODES &&
        report.n_schemes < NOE_DERIVE_MAX_SCHEMES && report.n_rounds < MAX_ROUNDS &&
        !noe_relevance_is_blind(r, rule)) {
        answer = NOE_RELEVANCE_NONE;
    } else if (report.n_schemes > 0) {
        choose(r, rule, &report, chosen);
        answer = NOE_RELEVANCE_FOUND;
    }
    noe_derive_report_clear(&report);
    return answer;
}
