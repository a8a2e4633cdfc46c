/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of device "cuda" share: graphs that make it fuse, and op cases.
 */
#ifndef NOE_TESTS_CUDA_CASES_H
#define NOE_TESTS_CUDA_CASES_H

#include "core/graph.h"
#include "tests/support/cases.h"

typedef struct noe_text_graph {
    const char *what, *text;
} noe_text_graph;
extern const noe_text_graph noe_cuda_graphs[];
extern const int noe_n_cuda_graphs;

/* Parsed, its weights filled. */
noe_graph *noe_cuda_graph(noe_pool *pool, const char *text);
/* A case as a graph; operands from first_weight on are weights in [0.5, 1.5). */
noe_graph *noe_cuda_case_graph(noe_pool *pool, const noe_op_case *c, int first_weight);

#endif
