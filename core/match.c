/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching by a list of goals "pattern node p is graph value r", solved depth first
 * with backtracking over operand orders of commutative operators and over the places of
 * further roots. Whole-value parameter variables bind on the way; all parameters are
 * compared once everything is bound, since terms may speak of any variable.
 */
#include "core/match.h"

typedef struct goal {
    uint16_t pattern;
    noe_ref ref;
} goal;

#define MAX_GOALS (NOE_RULE_MAX_NODES * NOE_RULE_MAX_INPUTS)

typedef struct matcher {
    const noe_rule *rule;
    const noe_graph *g;
    noe_match m;
    goal goals[MAX_GOALS];
    noe_match_fn *fn;
    void *ctx;
    int n_found;
    bool stop;
} matcher;

static void solve(matcher *s, int n_goals);

static bool is_static(const noe_graph *g, noe_ref r)
{
    const noe_type *t = noe_graph_type(g, r);
    return noe_dtype_is_computed(t->dtype) && noe_shape_is_static(&t->shape);
}

static bool is_computed(const noe_graph *g, noe_ref r, noe_op op)
{
    return is_static(g, r) && noe_op_computes(op, noe_graph_type(g, r)->dtype);
}

/* Parameters of a matched operator equal what its pattern evaluates to. */
static bool params_agree(const matcher *s, uint16_t pattern)
{
    uint32_t node = s->m.image[pattern];
    const noe_node *n = noe_graph_node(s->g, node);
    noe_type in[NOE_MAX_INPUTS];
    noe_params params;
    if (!n->params)
        return true;
    for (uint32_t k = 0; k < n->n_inputs; k++)
        in[k] = *noe_graph_type(s->g, noe_graph_inputs(s->g, node)[k]);
    return noe_rule_params(s->rule, pattern, &s->m.binding, in, (int)n->n_inputs,
                           &params, NULL) == NOE_OK &&
           noe_params_eq(&params, n->params);
}

static void report(matcher *s)
{
    for (uint16_t i = 0; i < s->rule->n_nodes; i++) {
        if (s->m.image[i] != UINT32_MAX && !s->rule->nodes[i].is_var &&
            !params_agree(s, i))
            return;
    }
    if (!noe_rule_holds(s->rule, &s->m.binding))
        return;
    s->n_found++;
    s->stop = !s->fn(s->ctx, &s->m);
}

/* Cheap refusals before anything is bound: literal integers that differ. Bounds of
 * slices are no such literals, since they are clamped to the dimension. */
static bool literal_differs(const noe_rule *rule, uint16_t term, const noe_value *v)
{
    if (term == NOE_TERM_ABSENT)
        return false;
    const noe_term *t = &rule->terms[term];
    return t->kind == NOE_TERM_INT && t->i >= 0 &&
           (v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS) && v->i != t->i;
}

/* Binds the parameter variables that this operator's parameters are; bits of newly
 * bound ones into *fresh. Returns false on a conflict. */
static bool bind_params(matcher *s, const noe_pattern_node *p, const noe_node *n,
                        unsigned *fresh)
{
    for (int i = 0; n->params && i < n->params->n; i++) {
        const noe_value *v = &n->params->v[i];
        noe_param param = noe_op_get(p->op)->params[i];
        if (param != NOE_PARAM_START && param != NOE_PARAM_END &&
            literal_differs(s->rule, p->params[i], v))
            return false;
        if (p->params[i] == NOE_TERM_ABSENT ||
            s->rule->terms[p->params[i]].kind != NOE_TERM_PVAR)
            continue;
        uint16_t var = s->rule->terms[p->params[i]].var;
        if (s->m.binding.pbound[var]) {
            if (!noe_value_eq(&s->m.binding.pvalue[var], v))
                return false;
            continue;
        }
        s->m.binding.pbound[var] = true;
        s->m.binding.pvalue[var] = *v;
        *fresh |= 1u << var;
    }
    return true;
}

static void push_operands(matcher *s, const noe_pattern_node *p, const noe_ref *in,
                          int n_goals, bool swapped)
{
    for (int k = 0; k < p->n_inputs; k++) {
        int from = swapped ? p->n_inputs - 1 - k : k;
        s->goals[n_goals + p->n_inputs - 1 - k] = (goal){p->inputs[k], in[from]};
    }
    solve(s, n_goals + p->n_inputs);
}

static void match_operator(matcher *s, goal at, int n_goals)
{
    const noe_pattern_node *p = &s->rule->nodes[at.pattern];
    const noe_node *n = noe_graph_node(s->g, at.ref.node);
    unsigned fresh = 0;
    if (n->op != p->op || n->n_inputs != p->n_inputs ||
        !is_computed(s->g, at.ref, p->op))
        return;
    goal saved[MAX_GOALS];
    memcpy(saved, s->goals, (size_t)n_goals * sizeof *saved);
    if (bind_params(s, p, n, &fresh)) {
        const noe_ref *in = noe_graph_inputs(s->g, at.ref.node);
        s->m.image[at.pattern] = at.ref.node;
        push_operands(s, p, in, n_goals, false);
        if (!s->stop && noe_op_has(p->op, NOE_TRAIT_COMMUTATIVE) &&
            p->inputs[0] != p->inputs[1] && !noe_ref_eq(in[0], in[1])) {
            memcpy(s->goals, saved, (size_t)n_goals * sizeof *saved);
            push_operands(s, p, in, n_goals, true);
        }
        s->m.image[at.pattern] = UINT32_MAX;
    }
    for (unsigned var = 0; fresh >> var; var++) {
        if (fresh >> var & 1)
            s->m.binding.pbound[var] = false;
    }
}

static void match_variable(matcher *s, goal at, int n_goals)
{
    uint16_t var = s->rule->nodes[at.pattern].var;
    noe_binding *b = &s->m.binding;
    if (b->bound[var]) {
        if (noe_ref_eq(b->ref[var], at.ref))
            solve(s, n_goals);
        return;
    }
    if (!is_static(s->g, at.ref) ||
        (s->rule->vars[var].is_weight && !noe_graph_node(s->g, at.ref.node)->is_weight))
        return;
    b->bound[var] = true;
    b->ref[var] = at.ref;
    b->type[var] = *noe_graph_type(s->g, at.ref);
    solve(s, n_goals);
    b->bound[var] = false;
}

/* The next root beyond the first may be at any node of its operator. */
static void place_root(matcher *s, int root)
{
    uint16_t pattern = s->rule->lhs[root];
    if (s->m.image[pattern] != UINT32_MAX) { /* it is part of an earlier root */
        s->m.root[root] = (noe_ref){s->m.image[pattern], 0};
        solve(s, 0);
        s->m.root[root] = NOE_REF_NONE;
        return;
    }
    for (uint32_t i = 0; i < s->g->n_nodes && !s->stop; i++) {
        bool taken = false;
        for (int k = 0; k < root; k++)
            taken |= s->m.root[k].node == i;
        if (taken || s->g->nodes[i].op != s->rule->nodes[pattern].op)
            continue;
        s->m.root[root] = (noe_ref){i, 0};
        s->goals[0] = (goal){pattern, s->m.root[root]};
        solve(s, 1);
    }
    s->m.root[root] = NOE_REF_NONE;
}

/* The first root that has no place yet. */
static int open_root(const matcher *s)
{
    int root = 0;
    while (root < s->rule->n_roots && !noe_ref_is_none(s->m.root[root]))
        root++;
    return root;
}

static void solve(matcher *s, int n_goals)
{
    if (s->stop)
        return;
    if (n_goals == 0) {
        int root = open_root(s);
        if (root == s->rule->n_roots)
            report(s);
        else
            place_root(s, root);
        return;
    }
    goal at = s->goals[n_goals - 1];
    if (noe_ref_is_none(at.ref))
        return;
    uint32_t image = s->m.image[at.pattern];
    if (s->rule->nodes[at.pattern].is_var)
        match_variable(s, at, n_goals - 1);
    else if (image == UINT32_MAX)
        match_operator(s, at, n_goals - 1);
    else if (image == at.ref.node)
        solve(s, n_goals - 1);
}

int noe_rule_match(const noe_rule *rule, const noe_graph *g, uint32_t node,
                   noe_match_fn *fn, void *ctx)
{
    const noe_pattern_node *top = &rule->nodes[rule->lhs[0]];
    if (top->is_var || g->nodes[node].op != top->op)
        return 0;
    matcher s;
    s.rule = rule;
    s.g = g;
    s.fn = fn;
    s.ctx = ctx;
    s.n_found = 0;
    s.stop = false;
    memset(s.m.binding.bound, 0, sizeof s.m.binding.bound);
    memset(s.m.binding.pbound, 0, sizeof s.m.binding.pbound);
    memset(s.m.image, 0xff, sizeof s.m.image);
    memset(s.m.root, 0xff, sizeof s.m.root);
    s.m.root[0] = (noe_ref){node, 0};
    s.goals[0] = (goal){rule->lhs[0], s.m.root[0]};
    solve(&s, 1);
    return s.n_found;
}
