/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the search share: matches in a graph, and judging what they make.
 * For search*.c only.
 */
#ifndef NOE_OPTIMIZER_SEARCH_INNER_H
#define NOE_OPTIMIZER_SEARCH_INNER_H

#include "optimizer/rewrite.h"
#include "optimizer/search.h"

typedef struct noe_searcher {
    const noe_env *env;
    const noe_rule_set *rules;
    noe_costs *costs;
    const noe_search_options *options;
    noe_search_result *result;
    noe_frontier frontier;
    noe_frontier swept; /* graphs that sweeps have come to: best-first search may have
                           seen them too, and passed them by */
    double deadline;
    double slack; /* seconds that a state may cost more than alpha times the best */
    uint32_t max_operators;
    uint64_t max_weight_bytes;
    uint32_t best; /* state */
    bool polishes; /* at the end: fewer operators at the same cost are a gain */
    noe_error *err;
    noe_status status; /* of what happens inside match callbacks */
} noe_searcher;

/* Returns false to stop. */
typedef bool noe_site_fn(void *ctx, const noe_site *site, const noe_match *match);

/* What lies around the fresh nodes, a malloc'ed byte a node; NULL, everywhere, for
 * NULL. */
uint8_t *noe_search_neighbourhood(const noe_graph *g, const uint8_t *fresh);
/* Calls fn for each match in g that touches a near node (NULL: all), by node, then
 * rule, then order of the matcher. */
void noe_search_each_match(noe_searcher *s, const noe_graph *g, const uint8_t *near,
                           noe_site_fn *fn, void *ctx);
/* The match that a site names. */
void noe_search_find_match(const noe_searcher *s, const noe_graph *g,
                           const noe_site *site, noe_match *match);
/* Interrupted, out of time, or failed? Notes which in the result. */
bool noe_search_must_stop(noe_searcher *s);

/* As noe_costs_graph; a cancellation while measuring ends the search, it is no failure,
 * and the cost is then infinite. */
noe_status noe_search_cost(noe_searcher *s, const noe_graph *g, double limit,
                           noe_cost *cost);
/* May a graph be so large on the way (weights may be in two forms at once), as a
 * result? */
bool noe_search_is_passable(const noe_searcher *s, const noe_cost *cost);
bool noe_search_is_allowed(const noe_searcher *s, const noe_cost *cost);
/* The least gain that counts: at first only clear ones do, since what merely saves an
 * operator may stand in the way of a larger gain that lies a step uphill. */
double noe_search_least_gain(const noe_searcher *s);
/* Does g, whose cost is known, improve on the base, by a second opinion? base is the
 * graph that the costs compare with. */
noe_status noe_search_improves(noe_searcher *s, const noe_graph *base,
                               const noe_graph *g, noe_cost *cost, bool *yes);
/* Applies one match with the rewriter. *out is NULL where the rule does not fit after
 * all or changes nothing. */
noe_status noe_search_try(noe_searcher *s, noe_rewriter *r, const noe_site *site,
                          const noe_match *match, noe_graph **out);

/* A graph on the way to another, with the steps that lead there. */
typedef struct noe_way {
    noe_graph *graph;
    uint8_t *fresh; /* nodes that its start does not have */
    noe_cost cost;
    noe_step *steps;
    int n_steps, cap_steps;
} noe_way;
void noe_way_clear(noe_way *w);

/* Chains of steps from g that take one data movement as far as it goes: a slice past
 * all the parts of a normalization, a transposition to its inverse. Single steps of
 * such a way gain little, or lose, until all users of a value have taken theirs. *best
 * is the cheapest end that improves on g, graph NULL if none does. g must be the costs'
 * base. */
noe_status noe_search_chains(noe_searcher *s, const noe_graph *g, noe_way *best);

#endif
