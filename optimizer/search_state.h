/* SPDX-License-Identifier: Apache-2.0
 *
 * Bookkeeping of the search: the graphs it knows, its queue, what it has seen.
 */
#ifndef NOE_OPTIMIZER_SEARCH_STATE_H
#define NOE_OPTIMIZER_SEARCH_STATE_H

#include "optimizer/cost.h"

/* Where a rule matches: its nth match with the first root at node. */
typedef struct noe_site {
    int rule;
    uint32_t node, nth;
} noe_site;

/* One application of a rule on the way to a graph. */
typedef struct noe_step {
    noe_site site;
    bool joined;    /* applied together with the step before, to the same graph */
    double seconds; /* cost of the graph after it, and those joined to it */
    const char
        *name; /* tensor that the rule's first root computed, or NULL; interned */
} noe_step;

#define NOE_STATE_NONE UINT32_MAX

typedef struct noe_state {
    noe_cost cost;
    uint64_t number; /* order of generation */
    uint32_t parent;
    uint32_t start;  /* the first state on its way from a best graph: itself, for
                        NOE_STATE_NONE */
    int64_t n_spent; /* expansions of states that have this one as start */
    bool is_taken;   /* expanded already */
    noe_site site;   /* how it follows from parent; rule < 0: by the sweeps in swept */
    noe_step *swept; /* steps of the sweeps on arrival (owned) */
    int n_swept;
    const char *name; /* of the site, as in noe_step; known once the graph is made */
    noe_graph *graph; /* once made (owned) */
    uint8_t *fresh;   /* nodes that are new since the best graph it descends from */
} noe_state;

typedef struct noe_frontier {
    noe_state *states;
    uint32_t n_states, cap_states;
    uint32_t *free_slots;
    uint32_t n_free, cap_free;
    uint32_t *heap; /* states to expand, cheapest first */
    uint32_t n_heap, cap_heap;
    uint64_t *seen; /* hash set of graph hashes */
    uint32_t seen_size, n_seen;
    uint64_t n_made;
    bool has_forgotten; /* states, because the queue was full */
} noe_frontier;

void noe_frontier_init(noe_frontier *f);
void noe_frontier_clear(noe_frontier *f);
/* Records a graph hash; false if it was there. */
bool noe_frontier_see(noe_frontier *f, uint64_t hash);
/* A new state; numbers it. Pointers to states are invalid afterwards. */
uint32_t noe_frontier_add(noe_frontier *f, const noe_state *state);
/* Queues a state. The queue is bounded: when it is full, the dearer half is forgotten.
 */
void noe_frontier_push(noe_frontier *f, uint32_t state);
uint32_t noe_frontier_pop(noe_frontier *f); /* NOE_STATE_NONE when empty */
/* Takes the cheapest state among those whose start has had the fewest expansions, so
 * that first steps uphill get their turn. It stays queued, marked as taken. */
uint32_t noe_frontier_take_fair(noe_frontier *f);
/* Cost of the cheapest queued state, infinite when there is none. */
double noe_frontier_least(noe_frontier *f);

#endif
