/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs for property tests, and shrinking of what fails.
 *
 * A graph is a function of the options alone: same seed, same graph. Every operator of
 * the algebra can occur, with parameters of all kinds (groups, asymmetric pads, steps,
 * broadcasting, shared operands, several outputs). Values stay of ordinary size:
 * weights of products are scaled by their fan-in, exp, sqrt and reciprocal get
 * arguments between 0 and 1 (or 1 and e), so that comparing floats by tolerance is
 * meaningful.
 */
#ifndef NOE_TESTS_GEN_GRAPH_H
#define NOE_TESTS_GEN_GRAPH_H

#include "core/graph.h"

typedef struct noe_gen_options {
    uint64_t seed;
    int n_nodes;          /* steps of growth, about the number of operators; 0: 12 */
    int64_t max_elements; /* of a value; 0: 4096 */
    bool composites;      /* composite operators, too */
    bool wide;            /* channels around the vector length, for blocked layouts */
} noe_gen_options;

/* Inputs are x0, x1, ...; weights have data, in pool. Outputs: every value that nothing
 * uses, and at times one that is used. */
noe_graph *noe_gen_graph(noe_pool *pool, const noe_gen_options *options);

/* A copy of g in which weights without data (noe_graph_parse) have random data. */
noe_graph *noe_gen_fill_weights(const noe_graph *g, uint64_t seed);

/* Random data for the inputs of g in node order: n_inputs arrays in arena. */
float **noe_gen_inputs(const noe_graph *g, noe_arena *arena, uint64_t seed);
/* Uninitialised room for the outputs of g. */
float **noe_gen_outputs(const noe_graph *g, noe_arena *arena);

/* The smallest variant of g found for which fails is still true (it is for g): one
 * output, operators replaced by inputs, dimensions made smaller. Prints nothing; the
 * caller prints the result with noe_graph_print. */
typedef bool noe_gen_fails_fn(void *ctx, const noe_graph *g);
noe_graph *noe_gen_shrink(const noe_graph *g, noe_gen_fails_fn *fails, void *ctx);

#endif
