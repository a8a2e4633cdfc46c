/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a graph goes: its kernels with their prices.
 */
#ifndef NOE_OPTIMIZER_BREAKDOWN_H
#define NOE_OPTIMIZER_BREAKDOWN_H

#include "optimizer/cost.h"

typedef struct noe_kernel_cost {
    char *operators;    /* ONNX's names in order, "Conv + Add + Relu" */
    const char *tensor; /* name of what it computes, "" if it has none; the graph's */
    double seconds;
} noe_kernel_cost;

typedef struct noe_breakdown {
    noe_kernel_cost *kernels; /* in the order of the graph */
    uint32_t n;
    double seconds; /* their sum */
} noe_breakdown;

/* g expanded. Nothing is measured: what has no price yet counts with its estimate. */
void noe_breakdown_make(noe_costs *c, const noe_graph *g, noe_breakdown *b);
/* As a JSON list of {"operators", "tensor", "seconds"}. */
void noe_breakdown_json(const noe_breakdown *b, noe_buf *text);
void noe_breakdown_clear(noe_breakdown *b);

#endif
