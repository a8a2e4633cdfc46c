/* SPDX-License-Identifier: Apache-2.0
 *
 * Small ONNX models from text, one item a line:
 *
 *   ir 8                                   opset 13 [DOMAIN]        meta KEY VALUE
 *   input NAME DTYPE DIMS                  output, value likewise
 *   init NAME DTYPE DIMS [= NUMBERS]       without numbers: random, seeded by the name
 *   node OP IN,IN -> OUT,OUT [ATTRIBUTES]  '_' is an empty name
 *   graph NAME ... end                     a body, for an attribute key=g:NAME
 *
 * DIMS: "2,3", "-" for a scalar, "n" symbolic, "?" unknown, "*" no shape at all.
 * ATTRIBUTES: key=i:1  key=f:0.5  key=s:text  key=ints:1,2  key=floats:1,2
 * key=t:DTYPE:DIMS:NUMBERS, and name=TEXT, domain=TEXT of the node itself.
 */
#ifndef NOE_TESTS_ONNX_IO_BUILD_H
#define NOE_TESTS_ONNX_IO_BUILD_H

#include "onnx.pb-c.h"
#include "onnx_io/onnx_io.h"

/* The bytes of the model; the running test fails if the text is wrong. */
char *noe_build_model(const char *text, size_t *len);
/* The same, loaded; the running test fails if it cannot be. */
noe_onnx_model *noe_build_and_load(const char *text);
/* Serialises g into m and unpacks the result. Free with
 * onnx__model_proto__free_unpacked. data, if wanted, is the bytes. */
Onnx__ModelProto *noe_write_model(const noe_onnx_model *m, const noe_graph *g,
                                  char **data, size_t *len);
/* "Conv(x,w)->y Relu(y)->z ", the nodes of a model; malloc'ed. */
char *noe_describe_nodes(const Onnx__GraphProto *g);
/* The live operators of a graph, one a line, without leaves and types:
 * "conv[pads=[1,1,1,1]]\n"; malloc'ed. */
char *noe_describe_graph(const noe_graph *g);

#endif
