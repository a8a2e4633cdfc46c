/* SPDX-License-Identifier: Apache-2.0
 *
 * Search for a cheaper equal graph.
 *
 * Two phases, repeated. A *sweep* costs every match in the graph, takes the improving
 * ones from the largest gain down as long as they do not overlap, and applies them
 * together; sweeps go on until none improves. That settles the many independent
 * rewrites of a deep network (a batch normalization per layer), on which a search over
 * whole graphs would waste its budget in all their orders. What is left are rewrites
 * that pay only after a step uphill: *best-first* search over whole graphs with a cost
 * queue, as in TASO (Jia et al., SOSP'19): a graph is kept if it costs less than alpha
 * times the best, and at most `budget` graphs are expanded. A graph better than the
 * best is swept and becomes the new best.
 *
 * After the sweeps, and after each better graph, *chains* (search_chain.c) take data
 * movements as far as they go: many steps of which only the last ones gain.
 *
 * Two restrictions against TASO's loop, both to spend the budget on new things: a graph
 * that is not the best is matched only near what its own path has changed (two edges
 * around), so that independent rewrites are not permuted; and a graph is stored as
 * (parent, rule, place) until it is expanded.
 *
 * Graphs are the same if their structural hashes are. Ties are broken by order of
 * generation, so that equal costs give equal results. The result never costs more than
 * the input; a time limit or a cancellation ends early with the best so far.
 */
#ifndef NOE_OPTIMIZER_SEARCH_H
#define NOE_OPTIMIZER_SEARCH_H

#include "optimizer/cost.h"
#include "optimizer/rules.h"
#include "optimizer/script.h"
#include "optimizer/window.h"

typedef enum noe_search_method {
    NOE_SEARCH_BEST,      /* as above */
    NOE_SEARCH_BACKTRACK, /* TASO's loop: the cheapest graph is matched everywhere, what
                             costs less than alpha times the best is kept; no sweeps, no
                             chains, no slack */
    NOE_SEARCH_EXACT, /* BEST, and then that loop with nothing left out for its cost,
                         on each part: all graphs up to the budget */
} noe_search_method;

typedef struct noe_search_options {
    noe_search_method method;
    double alpha;         /* >= 1 */
    int64_t budget;       /* graphs expanded by best-first search */
    double time_limit;    /* seconds, 0: none */
    uint64_t max_growth;  /* bytes that the weights may grow by */
    double min_gain;      /* share of what a rewrite replaces that it has to gain, at
                             least; 0: what cost.h says */
    noe_referee *referee; /* decides between a part and what was found for it where
                             prices do not; NULL: prices do */
    const noe_script *script; /* do this instead of searching; NULL: search */
} noe_search_options;

#define NOE_SEARCH_DEFAULTS                                                      \
    {                                                                            \
        .alpha = 1.05, .budget = 1000, .time_limit = 0, .max_growth = UINT64_MAX \
    }

typedef struct noe_search_result {
    noe_graph *graph; /* the caller's; of the input's pool */
    noe_cost before, after;
    int *
        applied; /* times that each rule of the set was applied on the way; free() it */
    noe_step *path; /* in order of application; free() it */
    int n_path;
    noe_search_part *parts; /* free() it */
    int n_parts;
    int n_rejected; /* parts whose better form was not faster when timed */
    /* NOE_SEARCH_EXACT: parts of which all graphs were seen, of how many; seconds by
     * which the best graph seen is better than what BEST found, over all parts. */
    int n_complete, n_compared;
    double gap;
    int64_t n_expanded, n_sweeps, n_candidates;
    bool interrupted, out_of_time, out_of_budget;
} noe_search_result;

NOE_NODISCARD noe_status noe_search(const noe_env *env, const noe_graph *g,
                                    const noe_rule_set *rules, noe_costs *costs,
                                    const noe_search_options *options,
                                    noe_search_result *result, noe_error *err);
void noe_search_result_clear(noe_search_result *result);

#endif
