/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/search.h"
#include "optimizer/search_inner.h"
#include <math.h>
#include <stdlib.h>

/* A graph may have this many times the input's operators: rules that add operators
 * without cost must not run away. */
#define MAX_OPERATOR_FACTOR 2
#define MAX_OPERATOR_EXTRA  16

/* A way to a better graph may cost as much more, on the way, as this many of the
 * dearest kernels: what a share of the whole allows is too little in a small graph and
 * too much in a large one. */
#define DEAREST 2

/* ---- sweeps ---- */

typedef struct gain {
    noe_cost cost; /* of the graph with this match applied alone */
    noe_site site;
    uint32_t order;
} gain;

typedef struct sweep {
    noe_searcher *s;
    const noe_graph *g;
    double limit; /* dearer graphs cannot improve */
    noe_rewriter rewriter;
    gain *gains;
    uint32_t n_gains, cap_gains;
} sweep;

static bool judge_alone(void *ctx, const noe_site *site, const noe_match *match)
{
    sweep *w = ctx;
    noe_searcher *s = w->s;
    noe_graph *out;
    if (noe_search_must_stop(s))
        return false;
    s->status = noe_search_try(s, &w->rewriter, site, match, &out);
    if (s->status != NOE_OK || !out)
        return s->status == NOE_OK;
    gain found = {.site = *site, .order = w->n_gains};
    s->status = noe_search_cost(s, out, w->limit, &found.cost);
    bool yes = false;
    if (s->status == NOE_OK && noe_search_is_allowed(s, &found.cost))
        s->status = noe_search_improves(s, w->g, out, &found.cost, &yes);
    if (yes)
        NOE_PUSH(w->gains, w->n_gains, w->cap_gains, found);
    noe_graph_free(out);
    return s->status == NOE_OK;
}

static int by_gain(const void *a, const void *b)
{
    const gain *x = a, *y = b;
    if (x->cost.seconds != y->cost.seconds)
        return x->cost.seconds < y->cost.seconds ? -1 : 1;
    if (x->cost.n_operators != y->cost.n_operators)
        return x->cost.n_operators < y->cost.n_operators ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Claims the nodes that a match takes away or reads through; false if one is taken. */
static bool claim(const sweep *w, const noe_site *site, const noe_match *match,
                  uint8_t *taken)
{
    const noe_usable_rule *u = w->s->rules->rules[site->rule];
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < u->rule->n_nodes; i++) {
            if (!(u->lhs_ops >> i & 1) || w->g->nodes[match->image[i]].is_weight)
                continue;
            if (pass == 0 && taken[match->image[i]])
                return false;
            taken[match->image[i]] = 1;
        }
    }
    return true;
}

typedef struct choice {
    noe_graph *graph;
    uint8_t *fresh;
    noe_cost cost;
    noe_step *steps;
    int n_steps, cap_steps;
} choice;

/* Applies the first max_n gains that do not overlap. */
static noe_status apply_together(sweep *w, uint32_t max_n, choice *c)
{
    noe_searcher *s = w->s;
    uint8_t *taken = noe_calloc(w->g->n_nodes + 1, 1);
    noe_match *match = noe_malloc(sizeof *match);
    *c = (choice){0};
    for (uint32_t i = 0; i < w->n_gains && (uint32_t)c->n_steps < max_n; i++) {
        const noe_site *site = &w->gains[i].site;
        bool changes;
        noe_search_find_match(s, w->g, site, match);
        if (!claim(w, site, match, taken))
            continue;
        if (noe_rewriter_add(&w->rewriter, s->rules->rules[site->rule]->rule, match,
                             &changes, NULL) == NOE_OK) {
            noe_step step = {*site, c->n_steps > 0, 0,
                             w->g->nodes[match->root[0].node].name};
            NOE_PUSH(c->steps, c->n_steps, c->cap_steps, step);
        }
    }
    free(taken);
    free(match);
    noe_status status =
        noe_rewriter_finish(&w->rewriter, NULL, &c->graph, &c->fresh, s->err);
    if (status == NOE_OK)
        status = noe_search_cost(s, c->graph, INFINITY, &c->cost);
    return status;
}

static void drop_choice(choice *c)
{
    noe_graph_free(c->graph);
    free(c->fresh);
    free(c->steps);
    *c = (choice){0};
}

/* One sweep over what lies around the fresh nodes: *c is what to go on with, c->graph
 * NULL if nothing noe_search_improves. */
static noe_status sweep_once(noe_searcher *s, const noe_state *state,
                             const uint8_t *fresh, choice *c)
{
    const noe_graph *g = state->graph;
    sweep w = {.s = s, .g = g, .limit = state->cost.seconds * (1 + NOE_COST_NOISE)};
    uint8_t *near = noe_search_neighbourhood(g, fresh);
    *c = (choice){0};
    noe_rewriter_init(&w.rewriter, g);
    s->result->n_sweeps++;
    s->status = noe_costs_set_base(s->costs, g, s->err);
    if (s->status == NOE_OK)
        noe_search_each_match(s, g, near, judge_alone, &w);
    free(near);
    if (w.n_gains > 0 && s->status == NOE_OK) {
        qsort(w.gains, w.n_gains, sizeof *w.gains, by_gain);
        s->status = apply_together(&w, UINT32_MAX, c);
        /* Gains need not add up; the best alone is sure. */
        if (s->status == NOE_OK && w.n_gains > 1 &&
            (!noe_search_is_allowed(s, &c->cost) ||
             noe_cost_less(&w.gains[0].cost, &c->cost))) {
            drop_choice(c);
            s->status = apply_together(&w, 1, c);
        }
    }
    if (s->status != NOE_OK)
        drop_choice(c);
    noe_rewriter_clear(&w.rewriter);
    free(w.gains);
    return s->status;
}

static void adopt(noe_state *state, choice *c)
{
    noe_graph_free(state->graph);
    state->graph = c->graph;
    state->cost = c->cost;
    state->swept = noe_realloc(
        state->swept, (size_t)(state->n_swept + c->n_steps) * sizeof *c->steps + 1);
    for (int i = 0; i < c->n_steps; i++) {
        c->steps[i].seconds = c->cost.seconds;
        state->swept[state->n_swept++] = c->steps[i];
    }
    free(c->steps);
}

/* Sweeps a state until nothing noe_search_improves, in place. The state differs from
 * one that was swept already by its fresh nodes (NULL: from none), and each result from
 * the one before by those of the sweep. */
static noe_status sweep_state(noe_searcher *s, uint32_t index)
{
    noe_state *state = &s->frontier.states[index];
    uint8_t *fresh = state->fresh;
    state->fresh = NULL;
    while (!noe_search_must_stop(s)) {
        choice c;
        noe_progress(s->env, "sweep %lld: %.3f ms, %u operators",
                     (long long)s->result->n_sweeps + 1, state->cost.seconds * 1e3,
                     state->cost.n_operators);
        if (sweep_once(s, state, fresh, &c) != NOE_OK || !c.graph)
            break;
        /* Not seen before: steps within the noise must not lead in a circle. */
        if (!noe_cost_improves(&c.cost, noe_search_least_gain(s)) ||
            !noe_frontier_see(&s->swept, noe_graph_hash(c.graph))) {
            drop_choice(&c);
            break;
        }
        noe_frontier_see(&s->frontier, noe_graph_hash(c.graph));
        free(fresh);
        fresh = c.fresh;
        adopt(state, &c);
    }
    free(fresh);
    return s->status;
}

/* ---- best-first ---- */

static double limit_of(const noe_searcher *s)
{
    double best = s->frontier.states[s->best].cost.seconds;
    if (s->options->method == NOE_SEARCH_EXACT)
        return INFINITY;
    return best * s->options->alpha + s->slack;
}

typedef struct expansion {
    noe_searcher *s;
    uint32_t parent;
    noe_rewriter rewriter;
} expansion;

static uint32_t start_of(const expansion *e)
{
    const noe_state *parent = &e->s->frontier.states[e->parent];
    if (e->parent == e->s->best)
        return NOE_STATE_NONE;
    return parent->start == NOE_STATE_NONE ? e->parent : parent->start;
}

/* Children are ranked by what is known and guessed; measured is what gets expanded. */
static bool judge_child(void *ctx, const noe_site *site, const noe_match *match)
{
    expansion *e = ctx;
    noe_searcher *s = e->s;
    noe_graph *out;
    if (noe_search_must_stop(s))
        return false;
    s->status = noe_search_try(s, &e->rewriter, site, match, &out);
    if (s->status != NOE_OK || !out)
        return s->status == NOE_OK;
    if (noe_frontier_see(&s->frontier, noe_graph_hash(out))) {
        noe_state child = {.parent = e->parent, .site = *site, .start = start_of(e)};
        noe_costs_guess(s->costs, out, &child.cost);
        if (noe_search_is_passable(s, &child.cost) && child.cost.seconds < limit_of(s))
            noe_frontier_push(&s->frontier, noe_frontier_add(&s->frontier, &child));
    }
    noe_graph_free(out);
    return s->status == NOE_OK;
}

/* Makes the graph of a state from its parent's. */
static noe_status make_graph(noe_searcher *s, uint32_t index)
{
    noe_state *state = &s->frontier.states[index];
    const noe_state *parent = &s->frontier.states[state->parent];
    noe_rewriter r;
    noe_match *match = noe_malloc(sizeof *match);
    bool changes;
    if (state->graph) {
        free(match);
        return NOE_OK;
    }
    noe_rewriter_init(&r, parent->graph);
    noe_search_find_match(s, parent->graph, &state->site, match);
    state->name = parent->graph->nodes[match->root[0].node].name;
    noe_status status = noe_rewriter_add(&r, s->rules->rules[state->site.rule]->rule,
                                         match, &changes, s->err);
    if (status == NOE_OK)
        status = noe_rewriter_finish(&r, parent->fresh, &state->graph, &state->fresh,
                                     s->err);
    noe_rewriter_clear(&r);
    free(match);
    return status;
}

static noe_status expand(noe_searcher *s, uint32_t index)
{
    expansion e = {.s = s, .parent = index};
    const noe_state *state = &s->frontier.states[index];
    const noe_graph *g = state->graph;
    bool everywhere = s->options->method != NOE_SEARCH_BEST;
    uint8_t *near = everywhere ? NULL : noe_search_neighbourhood(g, state->fresh);
    noe_rewriter_init(&e.rewriter, g);
    noe_search_each_match(s, g, near, judge_child, &e);
    noe_rewriter_clear(&e.rewriter);
    free(near);
    s->result->n_expanded++;
    return s->status;
}

/* Is the state better than the best, by more than noise? */
static noe_status beats_best(noe_searcher *s, uint32_t index, bool *beats)
{
    noe_state *state = &s->frontier.states[index];
    *beats = false;
    if (index == s->best)
        return NOE_OK;
    NOE_TRY(noe_search_cost(s, state->graph, INFINITY, &state->cost));
    if (!noe_search_is_allowed(s, &state->cost))
        return NOE_OK;
    if (s->options->method != NOE_SEARCH_BEST) {
        *beats = noe_cost_less(&state->cost, &s->frontier.states[s->best].cost);
        return NOE_OK;
    }
    return noe_search_improves(s, s->frontier.states[s->best].graph, state->graph,
                               &state->cost, beats);
}

/* Takes a chain's end as the state's graph. */
static void adopt_way(noe_state *state, noe_way *w)
{
    noe_graph_free(state->graph);
    state->graph = w->graph;
    state->cost = w->cost;
    state->swept = noe_realloc(
        state->swept, (size_t)(state->n_swept + w->n_steps) * sizeof *w->steps + 1);
    memcpy(state->swept + state->n_swept, w->steps,
           (size_t)w->n_steps * sizeof *w->steps);
    state->n_swept += w->n_steps;
    free(state->fresh);
    state->fresh = w->fresh;
    free(w->steps);
}

/* A state that beats the best: sweep it, take what chains gain, and match it everywhere
 * from now on. */
static noe_status crown(noe_searcher *s, uint32_t index)
{
    noe_way way;
    if (s->options->method != NOE_SEARCH_BEST) {
        s->best = index;
        return NOE_OK;
    }
    do {
        NOE_TRY(sweep_state(s, index));
        noe_state *state = &s->frontier.states[index];
        NOE_TRY(noe_costs_set_base(s->costs, state->graph, s->err));
        if (s->options->budget == 0 || noe_search_must_stop(s))
            break;
        NOE_TRY(noe_search_chains(s, state->graph, &way));
        if (way.graph)
            adopt_way(state, &way);
    } while (way.graph);
    s->best = index;
    return noe_costs_set_base(s->costs, s->frontier.states[index].graph, s->err);
}

/* The next state to expand, measured; NOE_STATE_NONE when there is none. One in two is
 * the cheapest, the others go round the first steps from the best graph. */
static noe_status next_state(noe_searcher *s, uint32_t *index)
{
    for (;;) {
        bool fair =
            s->options->method == NOE_SEARCH_BEST && s->result->n_expanded % 2 == 1;
        *index = fair ? noe_frontier_take_fair(&s->frontier)
                      : noe_frontier_pop(&s->frontier);
        if (*index == NOE_STATE_NONE || *index == s->best || noe_search_must_stop(s))
            return NOE_OK;
        NOE_TRY(make_graph(s, *index));
        noe_state *state = &s->frontier.states[*index];
        noe_cost cost = state->cost;
        if (!cost.exact)
            NOE_TRY(noe_search_cost(s, state->graph, limit_of(s), &cost));
        state->cost = cost;
        if (!cost.exact || cost.seconds >= limit_of(s)) {
            noe_graph_free(state->graph); /* not worth it after all */
            state->graph = NULL;
            continue;
        }
        if (fair || cost.seconds <= noe_frontier_least(&s->frontier))
            return NOE_OK;
        noe_frontier_push(&s->frontier, *index);
    }
}

static noe_status best_first(noe_searcher *s)
{
    bool beats;
    noe_frontier_push(&s->frontier, s->best);
    while (!noe_search_must_stop(s)) {
        uint32_t index;
        NOE_TRY(next_state(s, &index));
        if (index == NOE_STATE_NONE || noe_search_must_stop(s))
            return NOE_OK;
        NOE_TRY(beats_best(s, index, &beats));
        if (beats)
            NOE_TRY(crown(s, index));
        if (s->result->n_expanded >= s->options->budget) {
            s->result->out_of_budget = true;
            return NOE_OK;
        }
        noe_progress(s->env, "search: %.3f ms, %lld of %lld graphs expanded",
                     s->frontier.states[s->best].cost.seconds * 1e3,
                     (long long)s->result->n_expanded, (long long)s->options->budget);
        uint32_t start = s->frontier.states[index].start;
        s->frontier.states[start == NOE_STATE_NONE ? index : start].n_spent++;
        NOE_TRY(expand(s, index));
    }
    return NOE_OK;
}

/* What ended early may have left something better in the queue. */
static noe_status look_at_top(noe_searcher *s)
{
    uint32_t index = noe_frontier_pop(&s->frontier);
    bool beats;
    if (index == NOE_STATE_NONE)
        return NOE_OK;
    NOE_TRY(make_graph(s, index));
    NOE_TRY(beats_best(s, index, &beats));
    if (beats)
        s->best = index;
    return NOE_OK;
}

/* ---- the whole ---- */

static noe_status start(noe_searcher *s, const noe_graph *g)
{
    noe_state first = {
        .parent = NOE_STATE_NONE, .start = NOE_STATE_NONE, .site = {-1, 0, 0}};
    NOE_TRY(noe_rewriter_copy_live(g, &first.graph, s->err));
    s->best = noe_frontier_add(&s->frontier, &first);
    noe_cost *cost = &s->frontier.states[s->best].cost;
    NOE_TRY(noe_costs_accept(s->costs, first.graph, s->err));
    cost = &s->frontier.states[s->best].cost;
    NOE_TRY(noe_costs_graph(s->costs, first.graph, INFINITY, cost, s->err));
    s->result->before = *cost;
    cost = &s->frontier.states[s->best].cost;
    NOE_TRY(noe_costs_dearest(s->costs, first.graph, DEAREST, &s->slack, s->err));
    if (s->options->alpha == 1 || s->options->method == NOE_SEARCH_BACKTRACK)
        s->slack = 0;
    s->max_operators = cost->n_operators * MAX_OPERATOR_FACTOR + MAX_OPERATOR_EXTRA;
    s->max_weight_bytes = cost->weight_bytes + s->options->max_growth;
    if (s->max_weight_bytes < cost->weight_bytes)
        s->max_weight_bytes = UINT64_MAX;
    noe_frontier_see(&s->frontier, noe_graph_hash(first.graph));
    noe_frontier_see(&s->swept, noe_graph_hash(first.graph));
    return NOE_OK;
}

/* The input itself is the result. */
static noe_status give_up(noe_searcher *s, const noe_graph *g)
{
    noe_state input = {.cost = s->result->before,
                       .parent = NOE_STATE_NONE,
                       .start = NOE_STATE_NONE,
                       .site = {-1, 0, 0}};
    NOE_TRY(noe_rewriter_copy_live(g, &input.graph, s->err));
    s->best = noe_frontier_add(&s->frontier, &input);
    return NOE_OK;
}

/* The rules on the way from the input to a state. */
static void trace_path(const noe_searcher *s, uint32_t index, noe_search_result *r)
{
    int cap = 0;
    for (; index != NOE_STATE_NONE; index = s->frontier.states[index].parent) {
        const noe_state *state = &s->frontier.states[index];
        for (int i = state->n_swept; i-- > 0;)
            NOE_PUSH(r->path, r->n_path, cap, state->swept[i]);
        noe_step step = {state->site, false, state->cost.seconds, state->name};
        if (state->site.rule >= 0)
            NOE_PUSH(r->path, r->n_path, cap, step);
    }
    for (int i = 0; i < r->n_path / 2; i++) {
        noe_step t = r->path[i];
        r->path[i] = r->path[r->n_path - 1 - i];
        r->path[r->n_path - 1 - i] = t;
    }
    r->applied = noe_calloc((size_t)s->rules->n + 1, sizeof *r->applied);
    for (int i = 0; i < r->n_path; i++)
        r->applied[r->path[i].site.rule]++;
    r->parts = noe_calloc(1, sizeof *r->parts);
    r->n_parts = r->n_path > 0;
    r->parts[0] = (noe_search_part){.n_copies = 1,
                                    .n = r->n_path,
                                    .before = r->before.seconds,
                                    .after = r->after.seconds};
}

static noe_status run(noe_searcher *s, const noe_graph *g)
{
    NOE_TRY(start(s, g));
    NOE_TRY(crown(s, s->best));
    if (s->options->budget > 0)
        NOE_TRY(best_first(s));
    NOE_TRY(look_at_top(s));
    s->result->out_of_budget |= s->frontier.has_forgotten;
    s->polishes = true;
    NOE_TRY(crown(s, s->best));
    /* Second opinions have changed prices on the way. */
    noe_state *best = &s->frontier.states[s->best];
    NOE_TRY(noe_search_cost(s, g, INFINITY, &s->result->before));
    NOE_TRY(noe_search_cost(s, best->graph, INFINITY, &best->cost));
    /* Steps within the noise may have added up. */
    if (best->cost.seconds > s->result->before.seconds)
        return give_up(s, g);
    return NOE_OK;
}

noe_status noe_search(const noe_env *env, const noe_graph *g, const noe_rule_set *rules,
                      noe_costs *costs, const noe_search_options *options,
                      noe_search_result *result, noe_error *err)
{
    *result = (noe_search_result){0};
    noe_searcher s = {.env = env,
                      .rules = rules,
                      .costs = costs,
                      .options = options,
                      .result = result,
                      .err = err};
    NOE_ASSERT(options->alpha >= 1);
    if (options->time_limit > 0)
        s.deadline = noe_wall_seconds() + options->time_limit;
    noe_frontier_init(&s.frontier);
    noe_frontier_init(&s.swept);
    noe_status status = run(&s, g);
    if (status == NOE_OK) {
        noe_state *best = &s.frontier.states[s.best];
        result->after = best->cost;
        result->graph = best->graph;
        best->graph = NULL;
        trace_path(&s, s.best, result);
    }
    noe_frontier_clear(&s.frontier);
    noe_frontier_clear(&s.swept);
    return status;
}

void noe_search_result_clear(noe_search_result *r)
{
    noe_graph_free(r->graph);
    free(r->applied);
    free(r->path);
    free(r->parts);
    *r = (noe_search_result){0};
}
