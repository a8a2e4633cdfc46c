/* SPDX-License-Identifier: Apache-2.0
 *
 * The second pruning: pairs that rewriting proves from other pairs.
 */
#ifndef NOE_GENERATOR_MINIMIZE_H
#define NOE_GENERATOR_MINIMIZE_H

#include "generator/pair.h"

typedef struct noe_minimize_stats {
    uint64_t n_tried, n_proved, n_terms;
    double cpu_seconds;
} noe_minimize_stats;

/* Removes pairs of kind AXIOM that others prove, the least general ones first; pairs of
 * the other kinds are kept and prove nothing. Order is kept. */
NOE_NODISCARD noe_status noe_pairs_minimize(noe_pair *pairs, int *n_pairs,
                                            const noe_env *env,
                                            noe_minimize_stats *stats, noe_error *err);

#endif
