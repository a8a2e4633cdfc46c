/* SPDX-License-Identifier: Apache-2.0
 *
 * A loaded model, as the files of this folder share it.
 *
 * The bytes of the file are kept; the fields of the model and of its main graph are
 * spans in them, in file order, so that what is not replaced is written back byte by
 * byte. Nodes, tensors and value infos of the main graph are unpacked beside. All
 * unpacked messages lie in the model's arena.
 *
 * A *value* is a tensor name of the main graph: a graph input, an initializer, or an
 * output of a node. Values are numbered in order of definition.
 */
#ifndef NOE_ONNX_IO_MODEL_H
#define NOE_ONNX_IO_MODEL_H

#include "onnx.pb-c.h"
#include "onnx_io/names.h"
#include "onnx_io/onnx_io.h"
#include "onnx_io/wire.h"

#define NOE_ONNX_MIN_OPSET 7
#define NOE_ONNX_MAX_OPSET 28
#define NOE_NO_VALUE       UINT32_MAX

/* Field numbers that the splicing of files needs. */
enum {
    NOE_MODEL_GRAPH = 7,
    NOE_GRAPH_NODE = 1,
    NOE_GRAPH_INITIALIZER = 5,
    NOE_GRAPH_INPUT = 11,
    NOE_GRAPH_OUTPUT = 12,
    NOE_GRAPH_VALUE_INFO = 13,
    NOE_GRAPH_SPARSE_INITIALIZER = 15,
    NOE_NODE_INPUT = 1,
    NOE_NODE_OUTPUT = 2,
    NOE_NODE_NAME = 3,
};

/* Integers (or truth values) known, in part, at optimization time: the content of a
 * shape or axes operand. */
#define NOE_MAX_KNOWN_INTS 4096
typedef struct noe_onnx_ints {
    int rank; /* 0 (n is 1) or 1 */
    int64_t n;
    int64_t *v;
    bool *known;
} noe_onnx_ints;

typedef enum noe_value_kind {
    NOE_VALUE_INPUT,       /* graph input, with or without a default */
    NOE_VALUE_INITIALIZER, /* constant */
    NOE_VALUE_SPARSE,      /* sparse initializer */
    NOE_VALUE_OUTPUT,      /* of a node */
} noe_value_kind;

typedef struct noe_onnx_value {
    const char *name;
    noe_value_kind kind;
    uint32_t index;       /* of the input, initializer, sparse initializer, or node */
    uint32_t port;        /* which output of the node */
    bool is_used;         /* by a node, a subgraph or as graph output */
    bool is_input;        /* listed among the graph inputs */
    uint32_t captured_by; /* 1 + the node whose bodies were found to use it last */
    noe_type type;
    noe_ref ref;               /* in the imported graph */
    const noe_onnx_ints *ints; /* NULL: nothing is known */
} noe_onnx_value;

/* What an imported node reads at an input slot. */
typedef enum noe_slot_role {
    NOE_SLOT_UNUSED,  /* nothing: missing, or its value does not matter */
    NOE_SLOT_DATA,    /* an input of the core nodes */
    NOE_SLOT_OPERAND, /* integers that went into parameters */
} noe_slot_role;

typedef enum noe_node_kind {
    NOE_NODE_OPAQUE,
    NOE_NODE_ALGEBRA,  /* has core nodes */
    NOE_NODE_ALIAS,    /* its first output is its first input */
    NOE_NODE_CONSTANT, /* its output is a weight leaf */
} noe_node_kind;

typedef struct noe_onnx_node {
    Onnx__NodeProto *proto;
    noe_span whole, body; /* its bytes, with tag and without */
    noe_node_kind kind;
    noe_op op;          /* as which it was imported */
    uint32_t *in;       /* value of each input; NOE_NO_VALUE where it is missing */
    uint32_t *out;      /* value of each output */
    uint32_t *captured; /* outer values that its subgraphs use, in order of first use */
    uint32_t n_captured;
    noe_slot_role *role; /* of each input */
    const char *why;     /* reason for being opaque, or "" */
} noe_onnx_node;

typedef struct noe_onnx_tensor {
    Onnx__TensorProto *proto;
    noe_type type;    /* dtype NOE_UNKNOWN where the algebra cannot hold it */
    const void *data; /* elements in C order, or NULL */
    size_t bytes;
    bool is_external;
    noe_span external; /* its bytes, also of a type that the algebra cannot hold */
} noe_onnx_tensor;

/* A mapped part of a file. */
typedef struct noe_onnx_map {
    void *at;
    size_t len;
} noe_onnx_map;

struct noe_onnx_model {
    noe_arena arena, scratch;
    ProtobufCAllocator allocator; /* into arena */
    noe_env env;
    const char *name;   /* for messages: the path, or "model" */
    const char *folder; /* of the file, NULL if it came from memory */
    char *owned;        /* the file */
    noe_onnx_map *maps; /* of external data */
    uint32_t n_maps, cap_maps;
    noe_span bytes;
    Onnx__ModelProto *proto; /* everything but the main graph */
    int64_t opset;           /* of the standard domain, 0: not imported */

    noe_wire_field *model_fields, *graph_fields; /* in file order */
    size_t n_model_fields, n_graph_fields;
    noe_onnx_node *nodes;
    uint32_t n_nodes;
    noe_onnx_tensor *initializers;
    Onnx__SparseTensorProto **sparse;
    Onnx__ValueInfoProto **inputs, **outputs, **value_infos;
    uint32_t n_initializers, n_sparse, n_inputs, n_outputs, n_value_infos;
    bool constant_initializers; /* see noe_onnx_options */
    uint32_t n_defaults;        /* inputs with an initializer that is no constant */
    noe_type *pinned;           /* type of each input after --input-shape */
    bool *is_pinned;            /* it is not the declared one */
    noe_type *written;          /* the same without assumptions: what is written */
    bool *is_written;
    noe_open_sizes *open; /* sizes that assumptions are about, NULL: there are none */
    bool over_primes;     /* the graph is over primes in their place */
    const char *
        *assumed_shapes; /* texts of the assumptions, and which sizes are taken */
    int n_assumed_shapes, attempt;
    noe_open_set assumed_set;

    noe_onnx_value *values;
    uint32_t n_values, cap_values;
    noe_names value_of;   /* name -> value */
    noe_names all_names;  /* every name anywhere, for making unique ones */
    noe_names symbols;    /* symbolic dimension -> number; its dim is -2 - number */
    int64_t *symbol_dims; /* value of each that --input-shape pinned, else -1 */
    uint32_t n_symbol_dims;
    size_t filled_bytes; /* memory that ConstantOfShape was given */

    noe_pool *pool;
    noe_graph *graph;
};

/* Before IR 4 every initializer had to be a graph input too, and nobody overrode it. */
static inline bool noe_onnx_initializers_are_inputs(const noe_onnx_model *m)
{
    return m->proto->ir_version < 4;
}
uint32_t noe_onnx_find_value(const noe_onnx_model *m, const char *name);
/* "" and "ai.onnx" are the standard domain. */
bool noe_onnx_is_standard(const char *domain);
/* Puts "model.onnx: node 17 (Conv 'name'): " in front of a message. */
void noe_onnx_prefix_node(const noe_onnx_model *m, uint32_t node, noe_error *err);
void *noe_onnx_unpack(noe_onnx_model *m, const ProtobufCMessageDescriptor *type,
                      noe_span body);

/* tensor.c: checks a tensor and finds or makes its elements. */
NOE_NODISCARD noe_status noe_onnx_read_tensor(noe_onnx_model *m,
                                              Onnx__TensorProto *proto,
                                              noe_onnx_tensor *t, noe_error *err);
/* Integers of a small tensor of an integer or boolean type, else NULL. */
const noe_onnx_ints *noe_onnx_tensor_ints(noe_arena *a, const noe_onnx_tensor *t);
/* Type that a TypeProto declares; unknown where it is no plain tensor. */
NOE_NODISCARD noe_status noe_onnx_read_type(noe_onnx_model *m,
                                            const Onnx__TypeProto *proto,
                                            noe_type *type, noe_error *err);

/* sort.c: puts nodes behind the makers of what they read. */
NOE_NODISCARD noe_status noe_onnx_sort_nodes(noe_onnx_model *m, noe_error *err);

/* values.c: names, single assignment, order, captures. */
NOE_NODISCARD noe_status noe_onnx_number_values(noe_onnx_model *m, noe_error *err);

/* import.c, open.c */
NOE_NODISCARD noe_status noe_onnx_import(noe_onnx_model *m, noe_error *err);

/* open.c, where the graph is over primes: may the node be in the algebra as it was
 * imported? NULL, or why not. */
const char *noe_onnx_refuse_open(noe_onnx_model *m, noe_onnx_node *n);
/* Does what is known of an opaque node's outputs hold for all open sizes? */
bool noe_onnx_types_open(const noe_onnx_model *m, const noe_onnx_node *n);
/* The same for the type that its core nodes, which end in done, gave its only output.
 */
bool noe_onnx_typed_open(noe_onnx_model *m, const noe_onnx_node *n, noe_ref done);
/* Has the node an operand that is no constant and depends on open sizes? */
bool noe_onnx_has_open_operand(const noe_onnx_model *m, const noe_onnx_node *n);

/* ints.c: what a node of shape arithmetic computes; NULL if unknown. */
const noe_onnx_ints *noe_onnx_eval_ints(noe_onnx_model *m, const noe_onnx_node *n);
/* The same for Split, which has several outputs: sets what is known of them. */
void noe_onnx_split_ints(noe_onnx_model *m, const noe_onnx_node *n);
noe_onnx_ints *noe_onnx_ints_new(noe_arena *a, int rank, int64_t n);

/* Attributes, NULL or the default where absent. */
const Onnx__AttributeProto *noe_onnx_attr(const Onnx__NodeProto *n, const char *name);
int64_t noe_onnx_attr_int(const Onnx__NodeProto *n, const char *name,
                          int64_t otherwise);
double noe_onnx_attr_float(const Onnx__NodeProto *n, const char *name,
                           double otherwise);

/* builder.c: a declaration; shape static. */
Onnx__ValueInfoProto *noe_onnx_value_info(noe_arena *a, const char *name,
                                          const noe_type *type);

#endif
