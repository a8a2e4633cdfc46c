/* SPDX-License-Identifier: Apache-2.0
 *
 * Making an ONNX model value by value, for those who have no file. Every node is
 * checked when it is added: it is read as a model of its own by the importer, which
 * also says what type its outputs have. Shapes must be known.
 *
 * A value is a number; outputs of nodes, inputs and weights share one count.
 */
#ifndef NOE_ONNX_IO_BUILDER_H
#define NOE_ONNX_IO_BUILDER_H

#include "core/type.h"

typedef struct noe_builder noe_builder;

/* Absent optional input of a node. */
#define NOE_BUILDER_NONE UINT32_MAX

typedef enum noe_attribute_kind {
    NOE_ATTRIBUTE_INT,    /* ints[0] */
    NOE_ATTRIBUTE_FLOAT,  /* floats[0] */
    NOE_ATTRIBUTE_TEXT,   /* text */
    NOE_ATTRIBUTE_INTS,   /* n ints */
    NOE_ATTRIBUTE_FLOATS, /* n floats */
} noe_attribute_kind;

typedef struct noe_attribute {
    const char *name;
    noe_attribute_kind kind;
    size_t n;
    const int64_t *ints;
    const float *floats;
    const char *text;
} noe_attribute;

typedef struct noe_builder_node {
    const char *op_type; /* of the standard domain, in the form of NOE_BUILDER_OPSET */
    const char *name;    /* NULL: made up */
    const uint32_t *in;
    uint32_t n_in;
    const noe_attribute *attributes;
    uint32_t n_attributes;
    uint32_t n_out;
    const noe_type *types; /* of the outputs, where they do not follow; NULL: they do */
} noe_builder_node;

#define NOE_BUILDER_OPSET 17
#define NOE_BUILDER_IR    8

noe_builder *noe_builder_new(void);
void noe_builder_free(noe_builder *b);

/* name NULL: made up. Names must differ from all others. */
NOE_NODISCARD noe_status noe_builder_input(noe_builder *b, const char *name,
                                           const noe_type *type, uint32_t *value,
                                           noe_error *err);
/* data: the elements in C order, little-endian, as many bytes as type says; copied. */
NOE_NODISCARD noe_status noe_builder_weight(noe_builder *b, const char *name,
                                            const noe_type *type, const void *data,
                                            size_t bytes, uint32_t *value,
                                            noe_error *err);
/* The outputs' numbers go to out[0..n_out). NOE_ERR_SHAPE where the operator does not
 * take these inputs or its output type does not follow. */
NOE_NODISCARD noe_status noe_builder_node_add(noe_builder *b,
                                              const noe_builder_node *node,
                                              uint32_t *out, noe_error *err);
/* Declares a value as an output of the model; name NULL: its own. */
NOE_NODISCARD noe_status noe_builder_output(noe_builder *b, uint32_t value,
                                            const char *name, noe_error *err);

uint32_t noe_builder_n_values(const noe_builder *b);
const noe_type *noe_builder_type(const noe_builder *b, uint32_t value);
const char *noe_builder_name(const noe_builder *b, uint32_t value);

/* Elements of a weight by its name, the builder's; NULL if there is none. */
const void *noe_builder_data(const noe_builder *b, const char *name, size_t *bytes);

/* The model's bytes, malloc'ed. Without declared outputs all values that nobody reads
 * are outputs, but for inputs and weights. NOE_ERR_ARG if there are none. */
NOE_NODISCARD noe_status noe_builder_serialize(const noe_builder *b, char **data,
                                               size_t *len, noe_error *err);

#endif
