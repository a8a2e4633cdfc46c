/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward elimination: the pairs that the others derive.
 */
#ifndef NOE_GENERATOR_MINIMIZE_H
#define NOE_GENERATOR_MINIMIZE_H

#include "generator/pair.h"

typedef struct noe_minimize_stats {
    uint64_t n_tried, n_proved, n_useful; /* of kind AXIOM; proved, and useful anyway */
    uint64_t n_underived;                 /* of other kinds: no derivation was found */
    double cpu_seconds;
} noe_minimize_stats;

/* Takes pairs of kind AXIOM that others of that kind derive, the least general first,
 * for what they are: DERIVED with their derivation, and deferred unless they are
 * useful. The other kinds get derivations. Afterwards the deferred ones stand at the
 * end, each behind those that its derivation names. Ids, which are the places before
 * the call, stay. */
NOE_NODISCARD noe_status noe_pairs_minimize(noe_pair *pairs, int n_pairs,
                                            const noe_env *env,
                                            noe_minimize_stats *stats, noe_error *err);

#endif
