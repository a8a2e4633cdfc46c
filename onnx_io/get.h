/* SPDX-License-Identifier: Apache-2.0
 *
 * From one ONNX node to core nodes. A getter reads the node's attributes and operands
 * in the form of the model's opset, adds core nodes to the imported graph and sets the
 * outputs. It returns NULL, or why the node stays opaque; a getter that gives up may
 * leave unused nodes in the graph.
 */
#ifndef NOE_ONNX_IO_GET_H
#define NOE_ONNX_IO_GET_H

#include "onnx_io/model.h"

typedef struct noe_getting {
    noe_onnx_model *m;
    noe_onnx_node *node;
    uint32_t index; /* of the node */
    noe_op op;      /* first row of the operator table with this op_type */
    noe_ref done;   /* the output declared last */
    bool only_type; /* only find the types of the outputs, whatever the element type */
    noe_error err;
} noe_getting;

typedef const char *noe_getter(noe_getting *g);

/* The getter of an op_type of the standard domain, or NULL. */
noe_getter *noe_onnx_find_getter(const char *op_type, noe_op *op);

/* Steps of getters: NULL, or why not. */
#define NOE_GET(EXPR)              \
    do {                           \
        const char *why_ = (EXPR); \
        if (why_)                  \
            return why_;           \
    } while (0)

const char *noe_get_why(noe_getting *g, const char *fmt, ...) NOE_PRINTF(2, 3);
/* Number of inputs without missing ones at the end. */
size_t noe_get_n_inputs(const noe_getting *g);
bool noe_get_has(const noe_getting *g, size_t slot);
const char *noe_get_want_inputs(noe_getting *g, size_t min, size_t max);
/* Only these attributes, separated by blanks, may be there. */
const char *noe_get_only_attributes(noe_getting *g, const char *names);
/* Outputs after the first may be there only if nobody reads them. */
const char *noe_get_one_output(noe_getting *g);
/* A floating-point value of static shape as input of core nodes. */
const char *noe_get_data(noe_getting *g, size_t slot, noe_ref *r, const noe_shape **s);
/* Truth values of static shape as input of core nodes. */
const char *noe_get_condition(noe_getting *g, size_t slot, noe_ref *r);
/* Integers that are all known. */
const char *noe_get_ints(noe_getting *g, size_t slot, const char *what, noe_value *v);
/* A list attribute; *found says whether it is there. */
const char *noe_get_list(noe_getting *g, const char *name, noe_value *v, bool *found);
/* A list that is an attribute before opset `since` and input `slot` from then on. */
const char *noe_get_list_or_input(noe_getting *g, const char *name, int since,
                                  size_t slot, noe_value *v, bool *found);
/* The constant f32 elements of an input, *n of them. */
const char *noe_get_floats(noe_getting *g, size_t slot, const char *what,
                           const float **v, int64_t *n);
/* The text of a string attribute is this; absent, it is `otherwise`. */
bool noe_get_text_is(const noe_getting *g, const char *name, const char *otherwise,
                     const char *text);
/* An axis into 0..rank-1. */
const char *noe_get_resolve_axis(noe_getting *g, int64_t *axis, int rank);
/* Slices of one axis, get_layout.c. */
const char *noe_get_add_slice(noe_getting *g, noe_ref x, int64_t axis, int64_t start,
                              int64_t end, int64_t step, noe_ref *out);
void noe_get_set_int(noe_op op, noe_params *p, noe_param which, int64_t i);
void noe_get_set_float(noe_op op, noe_params *p, noe_param which, double f);
void noe_get_set_list(noe_op op, noe_params *p, noe_param which, const noe_value *v);
const char *noe_get_add(noe_getting *g, noe_op op, const noe_params *p,
                        const noe_ref *in, int n_in, noe_ref *out);
/* Declares `r` as output `port`; `op` is what the node was imported as. */
void noe_get_done(noe_getting *g, uint32_t port, noe_op op, noe_ref r);
/* One or more inputs as a chain of op. */
const char *noe_get_chain(noe_getting *g, noe_op op, noe_ref *chain);
/* One data input, one output, no attributes but those named. */
const char *noe_get_function(noe_getting *g, const char *attributes, noe_ref *x);
/* Adds g->op of x with these parameters as the output. */
const char *noe_get_result(noe_getting *g, const noe_params *p, noe_ref x);
/* The first output is the value of input 0. */
const char *noe_get_alias(noe_getting *g);

/* get_window.c */
noe_getter noe_get_conv_transpose, noe_get_global_max_pool, noe_get_conv,
    noe_get_max_pool, noe_get_average_pool;
/* get_layout.c */
noe_getter noe_get_transpose, noe_get_reshape, noe_get_concat, noe_get_slice,
    noe_get_split, noe_get_pad, noe_get_flatten, noe_get_squeeze, noe_get_unsqueeze;
/* get_structure.c */
noe_getter noe_get_gather, noe_get_expand, noe_get_resize;
/* get_composite.c */
noe_getter noe_get_tile, noe_get_depth_to_space, noe_get_space_to_depth, noe_get_mean,
    noe_get_layer_normalization, noe_get_instance_normalization,
    noe_get_group_normalization, noe_get_einsum;
/* get_function.c */
noe_getter noe_get_clip, noe_get_pow, noe_get_gelu, noe_get_alpha, noe_get_hard_sigmoid;
/* get_constant.c */
noe_getter noe_get_constant, noe_get_constant_of_shape;

#endif
