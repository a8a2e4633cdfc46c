/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels: what a device runs as one call, cut out of a graph. The cost of a graph is
 * the sum over its kernels, so each distinct kernel is priced once in a run.
 *
 * Which nodes make a kernel is the runtime's knowledge (noe_fuse). Kernels cost nothing
 * and are left out where the algebra does not compute: opaque nodes, element types
 * other than f32, weight-only nodes (computed once, when the model is written), and
 * kernels with an empty result.
 */
#ifndef NOE_OPTIMIZER_KERNEL_H
#define NOE_OPTIMIZER_KERNEL_H

#include "core/graph.h"

/* The kernels of one graph; arrays are reused from graph to graph. */
typedef struct noe_kernels {
    const noe_graph *g;
    uint8_t *live;
    uint32_t *uses, *group;
    uint32_t *members; /* nodes by kernel, ascending */
    uint32_t *first;   /* kernel k is members[first[k]..first[k + 1]) */
    uint32_t n;
    uint32_t cap;
    noe_ref *outer; /* of the kernel looked at last: values from outside */
    uint32_t n_outer, cap_outer;
} noe_kernels;

void noe_kernels_find(noe_kernels *k, const noe_graph *g);
void noe_kernels_clear(noe_kernels *k);

/* Identity of kernel i: operators, parameters, wiring, types and roles of its inputs.
 * Equal kernels anywhere have equal keys within a process. */
uint64_t noe_kernel_key(noe_kernels *k, uint32_t i);
/* Kernel i as a graph in pool: inputs "x0", "x1", ... and weights "w0", ... in order of
 * first use. with_data gives the weights deterministic pseudo-random values. */
noe_graph *noe_kernel_graph(noe_kernels *k, uint32_t i, noe_pool *pool, bool with_data);

/* Bytes of distinct weight values that run-time nodes and outputs use: what the written
 * model has to carry. */
uint64_t noe_weight_bytes(const noe_graph *g, const uint8_t *live);
/* Live run-time nodes of the algebra. */
uint32_t noe_count_operators(const noe_graph *g, const uint8_t *live);

#endif
