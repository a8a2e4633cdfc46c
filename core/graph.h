/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor programs as hash-consed graphs. Append-only while built: a node's inputs have
 * smaller indices, so every graph is acyclic and topologically sorted. Rewriting makes
 * a new graph. Nodes are values; long-lived parts (parameters, types, names, weight
 * data) are interned in a noe_pool that all graphs of one task share, so copying a
 * graph is copying arrays.
 */
#ifndef NOE_CORE_GRAPH_H
#define NOE_CORE_GRAPH_H

#include "core/op.h"

typedef struct noe_ref {
    uint32_t node;
    uint32_t port; /* 0, except for opaque nodes */
} noe_ref;

/* Inputs of a core or composite operator: 5 is the most in ops.def. */
#define NOE_MAX_INPUTS 8

#define NOE_REF_NONE ((noe_ref){UINT32_MAX, 0})
static inline bool noe_ref_eq(noe_ref a, noe_ref b)
{
    return a.node == b.node && a.port == b.port;
}
static inline bool noe_ref_is_none(noe_ref a)
{
    return a.node == UINT32_MAX;
}

/* An input or a weight: what a leaf node refers to. */
typedef struct noe_leaf {
    const char *name; /* ONNX name; "" for computed weights */
    noe_type type;
    const void *data; /* weights: elements in C order, little-endian; inputs: default,
                         or NULL */
    size_t data_bytes;
    uint64_t hash; /* of name for inputs, of type and data for weights */
    void *source;  /* the importer's; not looked at here */
} noe_leaf;

typedef struct noe_node {
    noe_op op;
    uint16_t n_outputs;
    bool is_weight; /* value known at optimization time: leaf weight, constant, or
                       an operator on such values only */
    uint32_t n_inputs;
    uint32_t first_input; /* into graph->inputs_of */
    uint32_t leaf;   /* INPUT, WEIGHT: index in pool; OPAQUE: the importer's number */
    uint32_t origin; /* 1 + number of the ONNX node it stands for, 0: none */
    const noe_params *params; /* interned, NULL if the operator has none */
    const noe_type *types;    /* interned, n_outputs of them */
    const char *name;         /* interned tensor name of port 0, or NULL */
    uint64_t hash;            /* structural (Merkle); equal hash = equal value */
} noe_node;

typedef struct noe_pool noe_pool; /* interned parameters, types, names, leaves */
typedef struct noe_open_sizes noe_open_sizes; /* core/open.h */
noe_pool *noe_pool_new(void);
void noe_pool_free(noe_pool *p);
noe_arena *noe_pool_arena(noe_pool *p); /* lives as long as the pool */
const char *noe_pool_name(noe_pool *p, const char *name);
const noe_params *noe_pool_params(noe_pool *p, const noe_params *params);
/* Hash of the text of interned parameters (only of those). */
uint64_t noe_pool_params_hash(const noe_params *interned);
const noe_type *noe_pool_types(noe_pool *p, const noe_type *types, int n);
/* A new leaf; name is copied, data is not (it must outlive the pool or lie in its
 * arena). The hash is computed here. */
uint32_t noe_pool_add_leaf(noe_pool *p, const char *name, const noe_type *type,
                           const void *data, size_t data_bytes, void *source);
/* Gives an input the value that it has if nobody sets it; data as above. */
void noe_pool_set_default(noe_pool *p, uint32_t leaf, const void *data,
                          size_t data_bytes);
const noe_leaf *noe_pool_leaf(const noe_pool *p, uint32_t leaf);
/* The sizes that graphs of the pool leave open, NULL: none. Rules are then applied only
 * where they hold for all of them. Lives as long as the pool. */
void noe_pool_set_open(noe_pool *p, const noe_open_sizes *open);
const noe_open_sizes *noe_pool_open(const noe_pool *p);
uint32_t noe_pool_n_leaves(const noe_pool *p);

typedef struct noe_output {
    noe_ref ref;
    const char *name; /* ONNX name, or "" */
} noe_output;

typedef struct noe_graph {
    noe_pool *pool;
    noe_node *nodes;
    uint32_t n_nodes, cap_nodes;
    noe_ref *inputs_of; /* all nodes' inputs, one after the other */
    uint32_t n_inputs_of, cap_inputs_of;
    noe_output *outputs;
    uint32_t n_outputs, cap_outputs;
    uint32_t *table; /* hash-consing: node index + 1, open addressing */
    uint32_t table_size;
} noe_graph;

noe_graph *noe_graph_new(noe_pool *pool);
noe_graph *noe_graph_copy(const noe_graph *g);
void noe_graph_free(noe_graph *g);

noe_ref noe_graph_leaf(noe_graph *g, noe_op input_or_weight, uint32_t leaf);
/* Adds op(inputs) or finds it: infers the type, normalises the parameters. Commutative
 * operators are the same node in both orders of operands; the order first given is
 * kept, so that an imported node is written back as it came. params may be NULL for
 * operators without. Fails with NOE_ERR_SHAPE when the inputs do not fit. */
NOE_NODISCARD noe_status noe_graph_add(noe_graph *g, noe_op op,
                                       const noe_params *params, const noe_ref *inputs,
                                       int n_inputs, noe_ref *out, noe_error *err);
/* Adds an opaque node: number is the importer's; it is never merged with another
 * number. Captured outer values of subgraphs are inputs too, after the proper ones. A
 * missing optional input is NOE_REF_NONE. */
noe_ref noe_graph_add_opaque(noe_graph *g, uint32_t number, const noe_ref *inputs,
                             uint32_t n_inputs, const noe_type *types,
                             uint32_t n_outputs);
void noe_graph_add_output(noe_graph *g, noe_ref ref, const char *name);

static inline const noe_node *noe_graph_node(const noe_graph *g, uint32_t i)
{
    return &g->nodes[i];
}
static inline const noe_ref *noe_graph_inputs(const noe_graph *g, uint32_t i)
{
    /* No offset to NULL: a graph of leaves has no array. */
    return g->inputs_of ? g->inputs_of + g->nodes[i].first_input : NULL;
}
const noe_type *noe_graph_type(const noe_graph *g, noe_ref r);
const noe_leaf *noe_graph_leaf_of(const noe_graph *g, uint32_t node); /* leaf nodes */
void noe_graph_set_origin(noe_graph *g, uint32_t node, uint32_t origin); /* if unset */
void noe_graph_set_name(noe_graph *g, uint32_t node, const char *name);  /* if unset */

/* Marks what the outputs need: live[i] = 1. live has n_nodes bytes. */
void noe_graph_mark_live(const noe_graph *g, uint8_t *live);
/* Number of uses of each node by live nodes and outputs; uses has n_nodes entries. */
void noe_graph_count_uses(const noe_graph *g, const uint8_t *live, uint32_t *uses);
/* Identity of the whole program: its outputs in order, structurally. */
uint64_t noe_graph_hash(const noe_graph *g);
/* Verifies every invariant stated in this header; aborts on a violation (our bug). */
void noe_graph_check(const noe_graph *g);

/* Copies nodes from one graph to another of the same pool. map has src->n_nodes
 * entries; map[i] is the image of port 0 of node i, NOE_REF_NONE where it is not copied
 * yet. Copies r and all that it needs and returns its image. Entries that the caller
 * preset are taken as they are: that is how a rewrite redirects a node. */
NOE_NODISCARD noe_status noe_graph_transfer(noe_graph *dst, const noe_graph *src,
                                            noe_ref r, noe_ref *map, noe_ref *out,
                                            noe_error *err);

/* One line a node, "%3 = conv[pads=[1,1,1,1]](%1, %2) : f32[1,8,5,5]"; leaves as
 * "%0 = input \"x\" : f32[...]", then "return %5, %7". */
void noe_graph_print(noe_buf *b, const noe_graph *g);
/* Reads that form. Weights get no data (data NULL). */
NOE_NODISCARD noe_status noe_graph_parse(noe_pool *pool, const char *text,
                                         noe_graph **g, noe_error *err);

#endif
