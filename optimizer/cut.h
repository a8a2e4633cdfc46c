/* SPDX-License-Identifier: Apache-2.0
 *
 * Two graphs of one model, made executable and comparable.
 *
 * A model may hold nodes that the algebra does not speak about, and values that are not
 * floating point. Both graphs are cut there, at the same places: what such a node gives
 * becomes an input (the same in both graphs), what it takes becomes an output to
 * compare. Opaque nodes correspond by number; what lies between them and is not
 * floating point must be the same nodes, since no rule speaks about it. If all pairs of
 * outputs agree on all inputs, the two models agree, whatever the opaque nodes do.
 */
#ifndef NOE_OPTIMIZER_CUT_H
#define NOE_OPTIMIZER_CUT_H

#include "core/graph.h"

typedef struct noe_cut {
    noe_graph *original, *result; /* same input leaves in the same order; NULL if
                                     nothing is computed */
    char **labels;                /* what output i is, for messages */
    uint32_t n_outputs;
} noe_cut;

/* Fails with NOE_ERR_MISMATCH where the graphs differ in what no rule may change. */
/* NOE_ERR_LIMIT where an input of the part has more than 2^30 elements. */
NOE_NODISCARD noe_status noe_cut_pair(const noe_graph *original,
                                      const noe_graph *result, noe_cut *cut,
                                      noe_error *err);
void noe_cut_clear(noe_cut *cut);

#endif
