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

#endif
