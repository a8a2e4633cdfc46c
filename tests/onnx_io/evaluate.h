/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates whole graphs by the reference evaluator, node by node.
 */
#ifndef NOE_TESTS_ONNX_IO_EVALUATE_H
#define NOE_TESTS_ONNX_IO_EVALUATE_H

#include "core/graph.h"

/* Data of a graph input, or NULL. */
typedef const float *noe_input_of(void *ctx, const noe_leaf *leaf);
/* Random data seeded by the name of the input; ctx is an arena. */
const float *noe_random_input(void *ctx, const noe_leaf *leaf);

/* True if the outputs need only f32 values, operators of the algebra, and weights with
 * data. */
bool noe_can_evaluate(const noe_graph *g);
/* The outputs, in arena. g must be such. */
float **noe_evaluate_graph(const noe_graph *g, noe_arena *arena, noe_input_of *input,
                           void *ctx);

#endif
