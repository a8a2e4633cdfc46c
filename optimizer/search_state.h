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

#define NOE_STATE_NONE UINT32_MAX

typedef struct noe_state {
    noe_cost cost;
    uint64_t number; /* order of generation */
    uint32_t parent;
    noe_site site; /* how it follows from parent; rule < 0: by the sweeps in swept */
    int *swept;    /* rules applied by sweeps on arrival (owned) */
    int n_swept;
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

#endif
