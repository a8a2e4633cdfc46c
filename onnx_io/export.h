/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a graph back into its model, in steps:
 *   plan.c    for every needed node of the graph: is it an ONNX node of the model that
 * is still what it was, or new, or a weight to be computed naming.c  names of all
 * values; graph outputs and captured names are pinned put.c     messages of new nodes
 * in the form of the model's opset export.c  statements in topological order, spliced
 * into the bytes of the model
 */
#ifndef NOE_ONNX_IO_EXPORT_H
#define NOE_ONNX_IO_EXPORT_H

#include "onnx_io/model.h"

typedef enum noe_plan_kind {
    NOE_PLAN_LEAF,     /* graph input, or weight that the model defines by itself */
    NOE_PLAN_WEIGHT,   /* new constant */
    NOE_PLAN_ORIGINAL, /* output of an ONNX node that is written back */
    NOE_PLAN_FRESH,    /* new node */
} noe_plan_kind;

/* What becomes of one node of the graph. */
typedef struct noe_plan {
    noe_plan_kind kind;
    bool is_needed;
    uint32_t onnx;  /* ORIGINAL: which node; FRESH and opaque: which it is a copy of */
    uint32_t port;  /* ORIGINAL of the algebra: which output */
    uint32_t value; /* LEAF; WEIGHT: the value with this content, or NOE_NO_VALUE */
    const void *data;   /* WEIGHT */
    size_t bytes;       /* WEIGHT */
    const char **names; /* of each output */
    uint32_t statement; /* that makes it, FRESH */
} noe_plan;

#define NOE_NO_STATEMENT UINT32_MAX

/* A name that must exist in the result for a value. */
typedef struct noe_pin {
    noe_ref ref;
    const char *name;
    bool is_output;
    bool is_alias; /* needs a node Identity */
    uint32_t statement;
} noe_pin;

/* One or more nodes of the file that are written together. */
typedef struct noe_statement {
    uint32_t *deps; /* statements that come before */
    uint32_t n_deps, cap_deps;
    noe_rope bytes; /* fields `node` of the graph */
    int state;      /* of the ordering walk */
} noe_statement;

typedef struct noe_exporter {
    const noe_onnx_model *m;
    noe_graph *g; /* folded */
    noe_arena arena;
    noe_error *err;
    uint8_t *live;
    uint32_t *uses;
    uint64_t *leaf_bytes; /* of the weights below each weight node */
    noe_plan *plans;
    noe_ref **bound; /* of each ONNX node that is written back: refs of its inputs */
    uint32_t *original_of;   /* its statement, NOE_NO_STATEMENT if it is not written */
    const char ***out_names; /* of each of them: names of all outputs */
    bool *value_is_kept;     /* of each value of the model */
    noe_pin *pins;
    uint32_t n_pins, cap_pins;
    noe_names pin_of; /* name -> pin */
    noe_names taken;  /* names that the result defines */
    uint32_t n_fresh; /* for unique names */
    const char *
        *operand_names; /* of each value: constant that stands for it, or NULL */
    uint32_t *operand_statements;
    noe_statement *statements;
    uint32_t n_statements, cap_statements;
    noe_rope nodes, tensors; /* fields `node` and new fields `initializer` */
    bool inline_external;    /* tensors in other files do not stay where they are */
    const char *data_file;   /* where they go instead; NULL: into the model */
    bool externalize;        /* other large tensors go there too */
    noe_rope data;           /* content of that file; the padding lies in it too */
    bool is_too_large;       /* why splicing failed: for one message of protobuf */
} noe_exporter;

/* plan.c */
NOE_NODISCARD noe_status noe_export_plan(noe_exporter *x);
/* The model defines the value without help of any other node: an initializer, Constant,
 * or ConstantOfShape of such. */
bool noe_export_is_constant(const noe_onnx_model *m, uint32_t value);
/* Inputs of new node i as they are written: those of nested concats that nobody else
 * uses are taken together. The list lies in the arena. */
const noe_ref *noe_export_parts(noe_exporter *x, uint32_t i, uint32_t *n);

/* naming.c */
NOE_NODISCARD noe_status noe_export_name(noe_exporter *x);
/* A name that occurs nowhere in the model or the result: "noether_WHAT_7". */
const char *noe_export_fresh_name(noe_exporter *x, const char *what);
/* The name, if it is still free in the result, else a fresh one. Takes it. */
const char *noe_export_take_name(noe_exporter *x, const char *name, const char *what);
/* Value of the model whose name stands for r at an input slot that was `original`. */
uint32_t noe_export_slot_value(const noe_exporter *x, noe_ref r, uint32_t original);

/* export.c */
uint32_t noe_export_statement(noe_exporter *x);
void noe_export_depend(noe_exporter *x, uint32_t statement, uint32_t on);
/* A new constant: an initializer, or a node Constant where every initializer would have
 * to be a graph input (IR 3). data must live as long as x. Returns its statement, or
 * NOE_NO_STATEMENT. */
uint32_t noe_export_constant(noe_exporter *x, const char *name, const noe_type *type,
                             const void *data, size_t bytes);
/* Name of r as input of statement; notes the dependency. */
const char *noe_export_input(noe_exporter *x, uint32_t statement, noe_ref r,
                             uint32_t original);

/* splice.c: a field `initializer` for t, whose elements are given: with the elements in
 * it or behind those in the data file. */
void noe_export_tensor(noe_exporter *x, noe_rope *to, const Onnx__TensorProto *t,
                       noe_span elements, bool external);
/* The result, malloc'ed. */
NOE_NODISCARD noe_status noe_export_splice(noe_exporter *x, char **data, size_t *len);
/* Whether tensors in external files can stay what they are where the result goes. */
NOE_NODISCARD noe_status noe_export_check_external(const noe_exporter *x);

/* put.c: the messages of new node i into statement. */
NOE_NODISCARD noe_status noe_export_put(noe_exporter *x, uint32_t statement,
                                        uint32_t i);
/* A node with one input and one output. */
void noe_export_put_identity(noe_exporter *x, uint32_t statement, const char *in,
                             const char *out);

#endif
