/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain starts with a rule that takes a data movement (slice, gather, transpose, ...)
 * past another operator, and goes on with rules that take the same movement in the same
 * direction, or that simplify where it has come to, each time with the one whose graph
 * is cheapest. What counts is the cheapest graph on the way. Which rules move what is
 * read off the rules (rules.h).
 *
 * A chain ends where no rule applies, since a movement that was taken past an operator
 * is never taken back on the same chain, and at MAX_STEPS.
 */
#include "optimizer/search_inner.h"
#include <math.h>
#include <stdlib.h>

#define MAX_STEPS 64

typedef struct chain {
    noe_searcher *s;
    noe_op moves;
    bool inwards;
    const noe_graph *g; /* where the next step is sought */
    const uint8_t *fresh;
    noe_rewriter rewriter;
    noe_way next; /* the best step so far */
} chain;

void noe_way_clear(noe_way *w)
{
    noe_graph_free(w->graph);
    free(w->fresh);
    free(w->steps);
    *w = (noe_way){0};
}

/* Does the match contain a movement that this chain has made? */
static bool touches_moved(const chain *c, const noe_usable_rule *u,
                          const noe_match *match)
{
    for (int i = 0; i < u->rule->n_nodes; i++) {
        if ((u->lhs_ops >> i & 1) && u->rule->nodes[i].op == c->moves &&
            c->fresh[match->image[i]])
            return true;
    }
    return false;
}

/* Applies a match; *w has no steps, and no graph if nothing changes. */
static noe_status apply(noe_searcher *s, noe_rewriter *r, const noe_site *site,
                        const noe_match *match, const uint8_t *fresh, noe_way *w)
{
    bool changes;
    *w = (noe_way){0};
    if (noe_rewriter_add(r, s->rules->rules[site->rule]->rule, match, &changes, NULL) !=
            NOE_OK ||
        !changes)
        return NOE_OK;
    s->result->n_candidates++;
    NOE_TRY(noe_rewriter_finish(r, fresh, &w->graph, &w->fresh, s->err));
    noe_costs_guess(s->costs, w->graph, &w->cost);
    return NOE_OK;
}

static void add_step(noe_way *w, const noe_graph *before, const noe_site *site,
                     const noe_match *match)
{
    noe_step step = {*site, false, w->cost.seconds,
                     before->nodes[match->root[0].node].name};
    NOE_PUSH(w->steps, w->n_steps, w->cap_steps, step);
}

static bool is_cheaper(const noe_cost *a, const noe_cost *b)
{
    return a->seconds < b->seconds ||
           (a->seconds == b->seconds && a->n_operators < b->n_operators);
}

/* One way to go on. */
static bool consider(void *ctx, const noe_site *site, const noe_match *match)
{
    chain *c = ctx;
    noe_searcher *s = c->s;
    const noe_usable_rule *u = s->rules->rules[site->rule];
    bool goes_on = u->moves == c->moves && u->inwards == c->inwards;
    bool ends = u->moves == NOE_OP_COUNT && u->reduces;
    noe_way w;
    if (!(goes_on || ends) || !touches_moved(c, u, match))
        return true;
    s->status = apply(s, &c->rewriter, site, match, c->fresh, &w);
    if (s->status == NOE_OK && w.graph && noe_search_is_passable(s, &w.cost) &&
        (!c->next.graph || is_cheaper(&w.cost, &c->next.cost))) {
        noe_way_clear(&c->next);
        add_step(&w, c->g, site, match);
        c->next = w;
    } else {
        noe_way_clear(&w);
    }
    return s->status == NOE_OK && !noe_search_must_stop(s);
}

/* The best step from w on; *next has that step alone, graph NULL if there is none. */
static noe_status next_step(chain *c, const noe_way *w, noe_way *next)
{
    c->g = w->graph;
    c->fresh = w->fresh;
    c->next = (noe_way){0};
    noe_rewriter_init(&c->rewriter, w->graph);
    noe_search_each_match(c->s, w->graph, w->fresh, consider, c);
    noe_rewriter_clear(&c->rewriter);
    *next = c->next;
    if (c->s->status != NOE_OK)
        noe_way_clear(next);
    return c->s->status;
}

/* Goes on from w as far as it goes; w is then cut off where it was cheapest. */
static noe_status follow(chain *c, noe_way *w)
{
    noe_way here = *w; /* without the steps, which are w's */
    int n = w->n_steps, n_best = n;
    here.steps = NULL;
    while (n < MAX_STEPS) {
        noe_way next;
        NOE_TRY(next_step(c, &here, &next));
        if (here.graph != w->graph) {
            noe_graph_free(here.graph);
            free(here.fresh);
        }
        here = next;
        if (!next.graph)
            break;
        NOE_PUSH(w->steps, w->n_steps, w->cap_steps, next.steps[0]);
        free(here.steps);
        here.steps = NULL;
        n = w->n_steps;
        if (is_cheaper(&next.cost, &w->cost)) {
            noe_graph_free(w->graph);
            free(w->fresh);
            w->graph = next.graph;
            w->fresh = next.fresh;
            w->cost = next.cost;
            n_best = n;
        }
    }
    if (here.graph != w->graph) {
        noe_graph_free(here.graph);
        free(here.fresh);
    }
    w->n_steps = n_best;
    return NOE_OK;
}

typedef struct start {
    noe_searcher *s;
    const noe_graph *g;
    noe_rewriter rewriter;
    noe_frontier seen; /* graphs from which a chain has started */
    noe_way *best;
} start;

/* Keeps w if it improves on g and is cheaper than the best so far; takes it. */
static noe_status judge(start *t, noe_way *w)
{
    noe_searcher *s = t->s;
    bool yes = false;
    double limit = t->best->graph ? t->best->cost.seconds : INFINITY;
    noe_status status = noe_search_cost(s, w->graph, limit, &w->cost);
    if (status == NOE_OK && noe_search_is_allowed(s, &w->cost) && w->cost.exact &&
        w->cost.seconds < limit)
        status = noe_search_improves(s, t->g, w->graph, &w->cost, &yes);
    if (yes) {
        noe_way_clear(t->best);
        *t->best = *w;
        return status;
    }
    noe_way_clear(w);
    return status;
}

static bool start_chain(void *ctx, const noe_site *site, const noe_match *match)
{
    start *t = ctx;
    noe_searcher *s = t->s;
    const noe_usable_rule *u = s->rules->rules[site->rule];
    noe_way w;
    if (u->moves == NOE_OP_COUNT)
        return true;
    s->status = apply(s, &t->rewriter, site, match, NULL, &w);
    if (s->status != NOE_OK || !w.graph)
        return s->status == NOE_OK;
    add_step(&w, t->g, site, match);
    if (!noe_search_is_passable(s, &w.cost) ||
        !noe_frontier_see(&t->seen, noe_graph_hash(w.graph))) {
        noe_way_clear(&w);
        return true;
    }
    chain c = {.s = s, .moves = u->moves, .inwards = u->inwards};
    s->status = follow(&c, &w);
    if (s->status == NOE_OK && w.n_steps > 1)
        s->status = judge(t, &w);
    else
        noe_way_clear(&w);
    return s->status == NOE_OK && !noe_search_must_stop(s);
}

noe_status noe_search_chains(noe_searcher *s, const noe_graph *g, noe_way *best)
{
    start t = {.s = s, .g = g, .best = best};
    *best = (noe_way){0};
    noe_rewriter_init(&t.rewriter, g);
    noe_frontier_init(&t.seen);
    noe_search_each_match(s, g, NULL, start_chain, &t);
    noe_frontier_clear(&t.seen);
    noe_rewriter_clear(&t.rewriter);
    if (s->status != NOE_OK)
        noe_way_clear(best);
    return s->status;
}
