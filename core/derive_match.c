/* SPDX-License-Identifier: Apache-2.0
 *
 * Saturation: e-matching of directed rules, and adding what they say.
 *
 * A round looks for all matches first and applies them then. What a rule asks for
 * besides structure (parameters, condition, types of both sides) is asked of
 * noe_instance_check with the types of the matched nodes; all members of a class have
 * the same type, since only sides of equal types are made equal.
 */
#include "core/derive_internal.h"

#include "core/base/hash.h"
#include <stdlib.h>

#define MAX_MATCHES 1500  /* of one directed rule in one round */
#define MAX_TRIES   60000 /* nodes looked at for one directed rule in one round */

typedef struct found {
    int directed;
    uint32_t *image;
    uint64_t swapped;
} found;

typedef struct matcher {
    noe_deriver *d;
    int number;
    const noe_directed *rule;
    uint32_t image[NOE_RULE_MAX_NODES]; /* operators and variables */
    uint64_t swapped;
    noe_binding *binding;
    int n_matches, n_tries;
    found *found;
    uint32_t n_found, cap_found;
} matcher;

typedef struct todo {
    uint16_t pattern;
    uint32_t node;
    const struct todo *next;
} todo;

static void match(matcher *m, const todo *list);

static uint32_t class_of(const matcher *m, uint32_t node)
{
    return noe_egraph_find(&m->d->e, node);
}

/* Whether the match is new; it is remembered. */
static bool is_new(matcher *m)
{
    noe_deriver *d = m->d;
    uint64_t hash = noe_mix64((uint64_t)m->number + 1);
    for (uint16_t i = 0; i < m->rule->one.n_nodes; i++) {
        if (m->rule->left[i])
            hash = noe_mix64(hash + (m->rule->one.nodes[i].is_var
                                         ? class_of(m, m->image[i])
                                         : m->image[i]));
    }
    hash += hash == 0;
    if (2 * d->n_seen >= d->n_seen_slots) {
        uint64_t *old = d->seen;
        uint32_t n_old = d->n_seen_slots;
        d->n_seen_slots = n_old ? 2 * n_old : 4096;
        d->seen = noe_calloc(d->n_seen_slots, sizeof *d->seen);
        for (uint32_t k = 0; k < n_old; k++) {
            uint32_t at = (uint32_t)old[k] & (d->n_seen_slots - 1);
            while (old[k] && d->seen[at])
                at = (at + 1) & (d->n_seen_slots - 1);
            if (old[k])
                d->seen[at] = old[k];
        }
        free(old);
    }
    uint32_t at = (uint32_t)hash & (d->n_seen_slots - 1);
    for (; d->seen[at]; at = (at + 1) & (d->n_seen_slots - 1)) {
        if (d->seen[at] == hash)
            return false;
    }
    d->seen[at] = hash;
    d->n_seen++;
    return true;
}

/* Types of the variables and everything that follows from them, in d->scratch. */
static bool check(noe_deriver *d, const noe_directed *r, const uint32_t *image)
{
    noe_binding *b = &d->scratch->binding;
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        uint16_t var = r->one.nodes[i].var;
        if (!r->left[i] || !r->one.nodes[i].is_var)
            continue;
        b->bound[var] = true;
        b->type[var] = d->e.nodes[image[i]].type;
    }
    if (!noe_instance_check(r->whole, d->scratch, false))
        return false;
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        if (r->left[i] && !r->one.nodes[i].is_var &&
            !noe_params_eq(&d->scratch->params[i],
                           &d->e.params[d->e.nodes[image[i]].params]))
            return false;
    }
    return true;
}

static void report(matcher *m)
{
    size_t bytes = m->rule->one.n_nodes * sizeof *m->image;
    if (!is_new(m) || !check(m->d, m->rule, m->image))
        return;
    found f = {m->number, noe_arena_memdup(&m->d->arena, m->image, bytes), m->swapped};
    NOE_PUSH(m->found, m->n_found, m->cap_found, f);
    m->n_matches++;
}

/* As in core/match.c: whole-value parameter variables bind, literals refuse early. */
static bool bind_params(matcher *m, const noe_pattern_node *p, const noe_params *params,
                        uint32_t *fresh)
{
    const noe_rule *r = &m->rule->one;
    for (int i = 0; i < params->n; i++) {
        if (p->params[i] == NOE_TERM_ABSENT)
            continue;
        const noe_term *t = &r->terms[p->params[i]];
        const noe_value *v = &params->v[i];
        if (t->kind != NOE_TERM_PVAR)
            continue;
        if (m->binding->pbound[t->var]) {
            if (!noe_value_eq(&m->binding->pvalue[t->var], v))
                return false;
            continue;
        }
        m->binding->pbound[t->var] = true;
        m->binding->pvalue[t->var] = *v;
        *fresh |= 1u << t->var;
    }
    return true;
}

static void match_operands(matcher *m, const noe_pattern_node *p, const noe_enode *n,
                           bool swapped, const todo *rest)
{
    todo list[NOE_RULE_MAX_INPUTS];
    for (int k = p->n_inputs; k-- > 0;) {
        list[k] = (todo){p->inputs[k], n->in[swapped ? 1 - k : k], rest};
        rest = &list[k];
    }
    match(m, rest);
}

static void match_node(matcher *m, uint16_t pattern, uint32_t node, const todo *rest)
{
    const noe_pattern_node *p = &m->rule->one.nodes[pattern];
    noe_enode n = m->d->e.nodes[node];
    uint32_t fresh = 0;
    if (n.op != p->op || n.n_in != p->n_inputs || ++m->n_tries > MAX_TRIES)
        return;
    if (bind_params(m, p, &m->d->e.params[n.params], &fresh)) {
        m->image[pattern] = node;
        match_operands(m, p, &n, false, rest);
        if (n.n_in == 2 && noe_op_has(n.op, NOE_TRAIT_COMMUTATIVE) &&
            p->inputs[0] != p->inputs[1] &&
            class_of(m, n.in[0]) != class_of(m, n.in[1])) {
            m->swapped |= UINT64_C(1) << pattern;
            match_operands(m, p, &n, true, rest);
            m->swapped &= ~(UINT64_C(1) << pattern);
        }
        m->image[pattern] = NOE_ENODE_NONE;
    }
    for (int v = 0; fresh >> v; v++) {
        if (fresh >> v & 1)
            m->binding->pbound[v] = false;
    }
}

static void match(matcher *m, const todo *list)
{
    if (m->n_matches >= MAX_MATCHES || m->n_tries > MAX_TRIES)
        return;
    if (!list) {
        report(m);
        return;
    }
    const noe_rule *r = &m->rule->one;
    const noe_pattern_node *p = &r->nodes[list->pattern];
    uint32_t *image = &m->image[list->pattern];
    if (*image != NOE_ENODE_NONE) {
        if (class_of(m, *image) == class_of(m, list->node))
            match(m, list->next);
        return;
    }
    if (p->is_var) {
        if (r->vars[p->var].is_weight && !m->d->e.nodes[list->node].is_weight)
            return;
        *image = list->node;
        match(m, list->next);
        *image = NOE_ENODE_NONE;
        return;
    }
    uint32_t node = list->node;
    do {
        match_node(m, list->pattern, node, list->next);
        node = m->d->e.nodes[node].next;
    } while (node != list->node);
}

static void match_rule(matcher *m, int number)
{
    m->number = number;
    m->rule = m->d->set->directed[number];
    m->n_matches = m->n_tries = 0;
    memset(m->image, 0xff, sizeof m->image);
    memset(m->binding->bound, 0, sizeof m->binding->bound);
    memset(m->binding->pbound, 0, sizeof m->binding->pbound);
    noe_op top = m->rule->one.nodes[m->rule->one.lhs[0]].op;
    for (uint32_t i = 0; i < m->d->e.n_nodes; i++) {
        if (m->d->e.nodes[i].op == top)
            match_node(m, m->rule->one.lhs[0], i, NULL);
    }
}

/* The right side's nodes; false where one would be too large. Those made before it
 * stay, with the number of this application. */
static bool build(noe_deriver *d, const noe_directed *r, noe_application *a)
{
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        const noe_pattern_node *p = &r->one.nodes[i];
        if (!r->right[i] || r->left[i] || p->is_var)
            continue;
        noe_enode n = {.op = p->op,
                       .n_in = (uint8_t)p->n_inputs,
                       .params = noe_egraph_params(&d->e, &d->scratch->params[i]),
                       .type = d->scratch->type[i],
                       .application = d->n_applied,
                       .pattern = i};
        for (int k = 0; k < p->n_inputs; k++)
            n.in[k] = a->image[p->inputs[k]];
        if (noe_egraph_lookup(&d->e, &n) == NOE_ENODE_NONE &&
            (noe_egraph_ops(&d->e, &n) > d->max_ops ||
             (int)d->e.n_nodes >= d->config->max_nodes))
            return false;
        a->image[i] = noe_egraph_add(&d->e, &n);
        const noe_enode *got = &d->e.nodes[a->image[i]];
        if (got->n_in == 2 &&
            noe_egraph_find(&d->e, got->in[0]) != noe_egraph_find(&d->e, n.in[0]))
            a->swapped |= UINT64_C(1) << i;
    }
    return true;
}

/* Variables of the right side are the left side's pattern nodes. */
static void apply(noe_deriver *d, const found *f)
{
    const noe_directed *r = d->set->directed[f->directed];
    noe_binding *b = &d->scratch->binding;
    noe_application a = {f->directed, 0, 0, f->image, f->swapped};
    uint32_t fresh = 0;
    matcher m = {.d = d, .rule = r, .binding = b};
    memset(b->bound, 0, sizeof b->bound);
    memset(b->pbound, 0, sizeof b->pbound);
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        if (r->left[i] && !r->one.nodes[i].is_var)
            (void)bind_params(&m, &r->one.nodes[i],
                              &d->e.params[d->e.nodes[f->image[i]].params], &fresh);
    }
    if (!check(d, r, f->image))
        return;
    uint32_t number = d->n_applied, n_nodes = d->e.n_nodes;
    bool is_built = build(d, r, &a);
    if (!is_built && d->e.n_nodes == n_nodes)
        return;
    a.from = a.image[r->one.lhs[0]];
    a.to = a.image[r->one.rhs[0]];
    NOE_PUSH(d->applied, d->n_applied, d->cap_applied, a);
    if (is_built)
        noe_egraph_union(&d->e, a.from, a.to, number);
}

static void add_goal(noe_deriver *d, const noe_instance *inst)
{
    for (uint16_t i = 0; i < d->goal->n_nodes; i++) {
        const noe_pattern_node *p = &d->goal->nodes[i];
        noe_enode n = {
            .application = NOE_CONGRUENCE, .pattern = i, .type = inst->type[i]};
        if (p->is_var) {
            n.is_weight = d->goal->vars[p->var].is_weight;
            n.op = n.is_weight ? NOE_OP_WEIGHT : NOE_OP_INPUT;
            n.in[0] = p->var;
        } else {
            n.op = p->op;
            n.n_in = (uint8_t)p->n_inputs;
            n.params = noe_egraph_params(&d->e, &inst->params[i]);
            for (int k = 0; k < p->n_inputs; k++)
                n.in[k] = d->goal_node[p->inputs[k]];
        }
        d->goal_node[i] = noe_egraph_add(&d->e, &n);
    }
}

static bool roots_meet(const noe_deriver *d)
{
    for (int r = 0; r < d->goal->n_roots; r++) {
        if (noe_egraph_find(&d->e, d->goal_node[d->goal->lhs[r]]) !=
            noe_egraph_find(&d->e, d->goal_node[d->goal->rhs[r]]))
            return false;
    }
    return true;
}

static void set_max_ops(noe_deriver *d)
{
    uint32_t most = 0;
    for (int r = 0; r < d->goal->n_roots; r++) {
        uint32_t a = d->e.nodes[d->goal_node[d->goal->lhs[r]]].n_ops;
        uint32_t b = d->e.nodes[d->goal_node[d->goal->rhs[r]]].n_ops;
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    d->max_ops = most + (uint32_t)d->config->extra_ops;
}

static void clear(noe_deriver *d)
{
    noe_egraph_clear(&d->e);
    noe_arena_clear(&d->arena);
    free(d->applied);
    d->applied = NULL;
    d->n_applied = d->cap_applied = 0;
    free(d->seen);
    d->seen = NULL;
    d->n_seen = d->n_seen_slots = 0;
    d->n_rounds = 0;
    d->n_tries = 0;
}

bool noe_derive_saturate(noe_deriver *d, const noe_instance *inst, const bool *use)
{
    clear(d);
    if (!inst)
        return false;
    add_goal(d, inst);
    set_max_ops(d);
    while (!roots_meet(d) && d->n_rounds < d->config->max_rounds &&
           (int)d->e.n_nodes < d->config->max_nodes &&
           d->n_tries < d->config->max_tries) {
        matcher m = {.d = d, .binding = &d->scratch->binding};
        uint32_t before = d->n_applied;
        for (int i = 0; i < d->set->n_directed && d->n_tries < d->config->max_tries;
             i++) {
            if (!use[i])
                continue;
            match_rule(&m, i);
            d->n_tries += m.n_tries;
        }
        for (uint32_t i = 0; i < m.n_found; i++)
            apply(d, &m.found[i]);
        free(m.found);
        noe_egraph_rebuild(&d->e);
        d->n_rounds++;
        if (d->n_applied == before)
            break;
    }
    return roots_meet(d);
}
