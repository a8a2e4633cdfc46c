/* SPDX-License-Identifier: Apache-2.0
 *
 * From a universe to the few pairs that the rest follows from.
 */
#ifndef NOE_GENERATOR_PRUNE_H
#define NOE_GENERATOR_PRUNE_H

#include "generator/pair.h"

typedef struct noe_prune_stats {
    uint64_t n_classes; /* with something to explain */
    uint64_t n_accepted;
    uint64_t n_proved;     /* dropped: derivable by way of larger terms */
    uint64_t n_derived;    /* kept although derivable: useful */
    uint64_t n_siblings;   /* pairs with two outputs */
    uint64_t n_false;      /* refuted on fresh points, or dividing by zero */
    uint64_t n_undirected; /* variables of neither side contain the other's */
    uint64_t n_closed;     /* dropped: no variables, so that evaluation shows it */
    uint64_t n_too_large;  /* do not fit a pair */
    uint64_t n_cut;        /* matches given up at the step limit */
    double cpu_seconds;
} noe_prune_stats;

/* Pairs in a deterministic order, in a malloc'ed array. seed chooses the fresh points.
 */
NOE_NODISCARD noe_status noe_universe_prune(const noe_universe *u, noe_pair **pairs,
                                            int *n_pairs, noe_prune_stats *stats,
                                            noe_error *err);

/* Whether a value of shape s may stand for a leaf of shape l in a proof: a broadcast
 * operand stands for its like only. */
bool noe_may_stand_for(const noe_shape *s, const noe_shape *l);

#endif
