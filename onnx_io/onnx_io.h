/* SPDX-License-Identifier: Apache-2.0
 *
 * ONNX files and graphs of the algebra. This folder is the only one that knows
 * protobuf. Everything that is not understood passes through unchanged: the model's
 * messages are kept whole, and nodes, initializers and value infos are written back as
 * they came unless a rewrite replaced them.
 */
#ifndef NOE_ONNX_IO_ONNX_IO_H
#define NOE_ONNX_IO_ONNX_IO_H

#include "core/base/env.h"
#include "core/open.h"

typedef struct noe_onnx_model noe_onnx_model;

#define NOE_ONNX_MAX_PINS 64
typedef struct noe_onnx_options {
    /* "name:1,3,224,224" or "name:1x3x224x224": pins the shape of a graph input. */
    const char *const *input_shapes;
    int n_input_shapes;
    /* The same form: sizes that the model leaves open and that stay open in what is
     * written. The graph is made over those of assumed_set (primes for the first three,
     * then its pool knows them, core/open.h); attempt says which primes. */
    const char *const *assumed_shapes;
    int n_assumed_shapes;
    noe_open_set assumed_set;
    int attempt;
    /* Initializers that are graph inputs too are constants: they become weights, and
     * when nothing needs one any more, initializer and graph input go. */
    bool constant_initializers;
    uint64_t max_bytes; /* refuse larger files; 0: 2 GiB - 1, protobuf's */
    const char *folder; /* of external data of a model in memory; NULL: none */
} noe_onnx_options;

/* Reads and checks a file (IR 3 and later): truncated, hostile or absurd content gives
 * an error that names file, node and tensor. */
NOE_NODISCARD noe_status noe_onnx_load(const char *path,
                                       const noe_onnx_options *options,
                                       const noe_env *env, noe_onnx_model **m,
                                       noe_error *err);
/* The same from memory (fuzzing, tests). data stays the caller's. */
NOE_NODISCARD noe_status noe_onnx_load_memory(const void *data, size_t len,
                                              const noe_onnx_options *options,
                                              const noe_env *env, noe_onnx_model **m,
                                              noe_error *err);
/* The same of malloc'ed data that are the model's from now on, or freed in case of an
 * error: a model need not be in memory twice. */
NOE_NODISCARD noe_status noe_onnx_take_memory(char *data, size_t len,
                                              const noe_onnx_options *options,
                                              const noe_env *env, noe_onnx_model **m,
                                              noe_error *err);
void noe_onnx_free(noe_onnx_model *m);

/* The main graph in the algebra: one node (core or composite) for each ONNX node that
 * it can speak about, opaque nodes for the others; origin of node = 1 + index of the
 * ONNX node. Graph outputs by name, in order. Aliases (Identity, inference Dropout) are
 * no nodes. Initializers that are graph inputs too are inputs (from IR 4 on, and unless
 * options say otherwise). The graph and its pool live as long as the model. */
const noe_graph *noe_onnx_graph(const noe_onnx_model *m);
noe_pool *noe_onnx_pool(const noe_onnx_model *m);
/* The file, as it was read; lives as long as the model. */
const void *noe_onnx_bytes(const noe_onnx_model *m, size_t *len);
/* Does the model refer to no other file (external data)? */
bool noe_onnx_is_self_contained(const noe_onnx_model *m);
/* Loads the model twice more over other primes, so that whatever depends on open sizes
 * in another way than by multiplication shows; *m is over NOE_OPEN_FIRST. Takes other
 * primes where one divides a number of the model, gives up after a few. options as for
 * noe_onnx_load_memory. */
NOE_NODISCARD noe_status noe_onnx_load_open(const void *data, size_t len,
                                            const noe_onnx_options *options,
                                            const noe_env *env, noe_onnx_model **m,
                                            noe_error *err);
/* Initializers that are graph inputs too and were imported as inputs. */
uint32_t noe_onnx_n_defaults(const noe_onnx_model *m);
/* Operator as which ONNX node `origin` was imported (NOE_OP_OPAQUE if it was not). */
noe_op noe_onnx_origin_op(const noe_onnx_model *m, uint32_t origin);
/* Why node `origin` stayed opaque: "operator Gather is not in the algebra", "axis is
 * not constant", "input shape unknown". "" if it did not. */
const char *noe_onnx_why_opaque(const noe_onnx_model *m, uint32_t origin);
/* op_type of ONNX node `origin`. */
const char *noe_onnx_op_type(const noe_onnx_model *m, uint32_t origin);

/* The main graph as JSON; its form is in include/noether.h. */
void noe_onnx_describe(const noe_onnx_model *m, noe_buf *b);
/* Elements of an initializer that is no graph input, the model's; NULL if there is none
 * of that name or its type is not known. */
const void *noe_onnx_weight(const noe_onnx_model *m, const char *name, noe_type *type,
                            size_t *bytes);

/* Serialises the model with its main graph replaced by g (same pool): untouched nodes
 * keep bytes, names and order; new nodes and initializers get unique readable names;
 * computed weights (weight-only nodes) are evaluated; dead initializers go; inputs and
 * outputs keep names, order, types; value infos of vanished tensors go. g may contain
 * composite nodes (see noe_graph_fold). The result is a malloc'ed block. */
NOE_NODISCARD noe_status noe_onnx_serialize(const noe_onnx_model *m, const noe_graph *g,
                                            char **data, size_t *len, noe_error *err);
/* The same with tensors in external files as they are: to be read in the model's
 * folder. Nothing of such a file is copied. */
NOE_NODISCARD noe_status noe_onnx_serialize_beside(const noe_onnx_model *m,
                                                   const noe_graph *g, char **data,
                                                   size_t *len, noe_error *err);
/* Serialize and write, complete or not at all. External data files are referred to, not
 * copied, if path is in the model's folder; otherwise their tensors go to one file
 * "<path>.data", large ones on page boundaries. That is also where large tensors go if
 * the model would be too large for protobuf without (2 GiB). */
NOE_NODISCARD noe_status noe_onnx_save(const noe_onnx_model *m, const noe_graph *g,
                                       const char *path, noe_error *err);

/* A graph of core and composite operators as a model of its own in the given operator
 * set; weights without data are zero. Inputs are "x0", "x1", ... in the order of its
 * input leaves, outputs are "y0", "y1", .... malloc'ed. */
NOE_NODISCARD noe_status noe_onnx_encode(const noe_graph *g, int opset, char **data,
                                         size_t *len, noe_error *err);

/* The bytes of a written model, read as a file beside m's and rebuilt in m's pool, to
 * be compared with m's own graph: inputs correspond by name, opaque nodes by their
 * first output's name. *written owns what *graph refers to; both are the caller's.
 * NOE_ERR_MISMATCH where something in it has no counterpart. Takes data, as
 * noe_onnx_take_memory does. */
NOE_NODISCARD noe_status noe_onnx_reread(const noe_onnx_model *m, char *data,
                                         size_t len, noe_onnx_model **written,
                                         noe_graph **graph, noe_error *err);

/* Counts of ONNX operators in the main graph, sorted by name, for the before/after
 * table. Constant nodes and initializers are counted as "Constant". */
typedef struct noe_onnx_count {
    char op_type[64];
    int n;
} noe_onnx_count;
int noe_onnx_count_ops(const void *data, size_t len, noe_onnx_count *counts, int max);

#endif
