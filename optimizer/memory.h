/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a graph takes while it runs, estimated.
 */
#ifndef NOE_OPTIMIZER_MEMORY_H
#define NOE_OPTIMIZER_MEMORY_H

#include "core/graph.h"

/* Bytes of the weights and of the values that are alive at once, at most, when kernels
 * run in the order of the graph, each value is freed after its last use, a fused kernel
 * keeps what only it uses to itself, and none works in place. Values of unknown size
 * count as nothing. */
uint64_t noe_peak_memory(const noe_graph *g);

#endif
