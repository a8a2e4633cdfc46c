/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/search_inner.h"
#include <math.h>
#include <stdlib.h>

/* Edges around what a path changed in which a graph is matched. Two reach the siblings
 * of a changed node: operators that share an input with it. */
#define NEAR_EDGES 2

/* How far the root of a match lies from the node of it that is near: patterns of rules
 * are no deeper than this. */
#define PATTERN_EDGES 4

/* ---- neighbourhoods ---- */

/* Grows the marked set by one edge in both directions, not through weights. */
static void widen(const noe_graph *g, uint8_t *near)
{
    uint8_t *old = noe_malloc(g->n_nodes + 1);
    memcpy(old, near, g->n_nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            if (noe_ref_is_none(in[k]) || g->nodes[in[k].node].is_weight)
                continue;
            near[in[k].node] |= old[i];
            near[i] |= old[in[k].node];
        }
    }
    free(old);
}

/* A copy of the marks, grown by some edges. */
static uint8_t *widened(const noe_graph *g, const uint8_t *marks, int edges)
{
    uint8_t *near = noe_malloc(g->n_nodes + 1);
    memcpy(near, marks, g->n_nodes);
    for (int i = 0; i < edges; i++)
        widen(g, near);
    return near;
}

/* What lies around the fresh nodes; NULL, everywhere, for NULL. */
uint8_t *noe_search_neighbourhood(const noe_graph *g, const uint8_t *fresh)
{
    return fresh ? widened(g, fresh, NEAR_EDGES) : NULL;
}

/* ---- matches of one graph ---- */

typedef struct visit {
    noe_searcher *s;
    const noe_graph *g;
    const uint8_t *near; /* NULL: everywhere */
    noe_site site;
    noe_site_fn *fn;
    void *ctx;
    bool stopped;
} visit;

bool noe_search_must_stop(noe_searcher *s)
{
    noe_search_result *r = s->result;
    r->interrupted = r->interrupted || noe_cancelled(s->env);
    if (s->deadline > 0 && noe_wall_seconds() > s->deadline)
        r->out_of_time = true;
    return r->interrupted || r->out_of_time || s->status != NOE_OK;
}

static bool is_near(const visit *v, const noe_match *match)
{
    uint64_t ops = v->s->rules->rules[v->site.rule]->lhs_ops;
    for (int i = 0; ops >> i; i++) {
        if ((ops >> i & 1) && v->near[match->image[i]])
            return true;
        if (i == 63)
            break;
    }
    return false;
}

/* Weight-only values are computed once whatever they look like: no use rewriting them.
 */
static bool rewrites_weights(const visit *v, const noe_match *match)
{
    int n_roots = v->s->rules->rules[v->site.rule]->rule->n_roots;
    for (int i = 0; i < n_roots; i++) {
        if (v->g->nodes[match->root[i].node].is_weight)
            return true;
    }
    return false;
}

static bool on_match(void *ctx, const noe_match *match)
{
    visit *v = ctx;
    v->site.nth++;
    if (rewrites_weights(v, match) || (v->near && !is_near(v, match)))
        return true;
    v->stopped = !v->fn(v->ctx, &v->site, match);
    return !v->stopped;
}

static bool operands_fit(const noe_rule_entry *e, const noe_graph *g, uint32_t node)
{
    const noe_ref *in = noe_graph_inputs(g, node);
    int n = e->n_inputs;
    bool straight = true, crossed = e->commutes;
    if (n != (int)g->nodes[node].n_inputs)
        return false;
    for (int k = 0; k < n && k < NOE_OPERANDS_LISTED; k++) {
        if (e->operand[k] == NOE_OPERAND_ANY)
            continue;
        straight = straight && g->nodes[in[k].node].op == e->operand[k];
        crossed = crossed && g->nodes[in[n - 1 - k].node].op == e->operand[k];
    }
    return straight || crossed;
}

static void match_node(visit *v, uint32_t node)
{
    const noe_rule_set *rules = v->s->rules;
    noe_op op = v->g->nodes[node].op;
    for (int i = rules->first[op]; i < rules->first[op + 1] && !v->stopped; i++) {
        const noe_rule_entry *e = &rules->by_op[i];
        if (!operands_fit(e, v->g, node))
            continue;
        v->site = (noe_site){e->rule, node, UINT32_MAX};
        noe_rule_match(rules->rules[e->rule]->rule, v->g, node, on_match, v);
    }
}

/* Calls fn for each match in g that touches a near node (NULL: all), by node, then
 * rule, then order of the matcher. */
void noe_search_each_match(noe_searcher *s, const noe_graph *g, const uint8_t *near,
                           noe_site_fn *fn, void *ctx)
{
    visit v = {.s = s, .g = g, .near = near, .fn = fn, .ctx = ctx};
    uint8_t *roots = NULL; /* where the root of such a match can be */
    if (near)
        roots = widened(g, near, PATTERN_EDGES);
    for (uint32_t node = 0; node < g->n_nodes && !v.stopped; node++) {
        if (g->nodes[node].op < NOE_OP_COUNT && !g->nodes[node].is_weight &&
            (!roots || roots[node]) && !noe_search_must_stop(s))
            match_node(&v, node);
    }
    free(roots);
}

/* The match that a site names. */
void noe_search_find_match(const noe_searcher *s, const noe_graph *g,
                           const noe_site *site, noe_match *match)
{
    bool found = noe_site_match(s->rules, g, site, match);
    NOE_ASSERT(found); /* matching is deterministic */
}

/* ---- judging a rewritten graph ---- */

/* A cancellation while measuring ends the search, it is no failure. */
noe_status noe_search_cost(noe_searcher *s, const noe_graph *g, double limit,
                           noe_cost *cost)
{
    noe_status status = noe_costs_graph(s->costs, g, limit, cost, s->err);
    if (status != NOE_ERR_CANCELLED)
        return status;
    s->result->interrupted = true;
    *cost = (noe_cost){.seconds = INFINITY};
    return NOE_OK;
}

/* On the way weights may be in two forms at once. */
bool noe_search_is_passable(const noe_searcher *s, const noe_cost *cost)
{
    return cost->n_operators <= s->max_operators &&
           cost->weight_bytes / 2 <= s->max_weight_bytes;
}

bool noe_search_is_allowed(const noe_searcher *s, const noe_cost *cost)
{
    return cost->n_operators <= s->max_operators &&
           cost->weight_bytes <= s->max_weight_bytes;
}

/* At first only clear gains count: what merely saves an operator may stand in the way
 * of a larger gain that lies a step uphill. */
double noe_search_least_gain(const noe_searcher *s)
{
    return s->polishes ? s->options->min_gain
                       : fmax(s->options->min_gain, NOE_COST_NOISE);
}

/* Does g, whose cost is known, improve on the base, by a second opinion? base is
 * the graph that the costs compare with. */
noe_status noe_search_improves(noe_searcher *s, const noe_graph *base,
                               const noe_graph *g, noe_cost *cost, bool *yes)
{
    bool changed;
    *yes = noe_cost_improves(cost, noe_search_least_gain(s));
    if (!*yes && !(s->polishes && noe_cost_might_improve(cost)))
        return NOE_OK;
    noe_status status = noe_costs_confirm(s->costs, base, g, &changed, s->err);
    if (status == NOE_ERR_CANCELLED) {
        s->result->interrupted = true;
        *yes = false;
        return NOE_OK;
    }
    if (status != NOE_OK || !changed)
        return status;
    NOE_TRY(noe_search_cost(s, g, INFINITY, cost));
    *yes = noe_cost_improves(cost, noe_search_least_gain(s));
    return NOE_OK;
}

/* Applies one match with the rewriter. *out is NULL where the rule does not fit after
 * all or changes nothing. */
noe_status noe_search_try(noe_searcher *s, noe_rewriter *r, const noe_site *site,
                          const noe_match *match, noe_graph **out)
{
    bool changes;
    *out = NULL;
    if (noe_rewriter_add(r, s->rules->rules[site->rule]->rule, match, &changes, NULL) !=
            NOE_OK ||
        !changes)
        return NOE_OK;
    s->result->n_candidates++;
    /* A consumer that refuses its new operand cannot happen (types are equal). */
    return noe_rewriter_finish(r, NULL, out, NULL, s->err);
}