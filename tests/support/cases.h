/* SPDX-License-Identifier: Apache-2.0
 *
 * The cases of tests/op_cases.def, ready to be evaluated: for every test that loops
 * over operators.
 */
#ifndef NOE_TESTS_CASES_H
#define NOE_TESTS_CASES_H

#include "core/graph.h"
#include "core/rule.h"

typedef struct noe_op_case {
    noe_op op;
    const char *params, *inputs, *output; /* as in the file */
} noe_op_case;

extern const noe_op_case noe_op_cases[];
extern const int noe_n_op_cases;

typedef struct noe_op_instance {
    noe_op op;
    noe_params params; /* in stored form */
    int n_in;
    noe_type in[NOE_MAX_INPUTS], out; /* out as inferred */
} noe_op_instance;

/* Fails the running test if the case is ill-formed or ill-typed. */
void noe_op_case_instance(const noe_op_case *c, noe_op_instance *out);
/* Parameters, inputs of a case, without normalising or inferring. */
void noe_op_case_parse(const noe_op_case *c, noe_op_instance *out);
/* "[2,3] [4]" into shapes; returns how many. */
int noe_shapes_parse(const char *text, noe_shape *shapes, int max);
/* "conv[pads=[1,1,1,1]] of [1,2,5,6] [3,2,3,2]", for messages; valid until the next
 * call. */
const char *noe_op_case_text(const noe_op_case *c);

/* A case as a graph; operands from first_weight on are weights in [0.5, 1.5). */
noe_graph *noe_op_case_graph(noe_pool *pool, const noe_op_case *c, int first_weight);
/* A graph in the text form, its weights filled. */
noe_graph *noe_text_graph_new(noe_pool *pool, const char *text);

#endif
