/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators and parameters: the enums and facts made from ops.def and params.def.
 */
#ifndef NOE_CORE_OP_H
#define NOE_CORE_OP_H

#include "core/type.h"

typedef enum noe_param {
#define PARAM(ID, NAME, KIND) NOE_PARAM_##ID,
#include "core/params.def"
    NOE_PARAM_COUNT,
    NOE_PARAM_NONE = NOE_PARAM_COUNT
} noe_param;

typedef enum noe_param_kind {
    NOE_KIND_INT,
    NOE_KIND_AXIS,
    NOE_KIND_AXES,
    NOE_KIND_INTS,
    NOE_KIND_FLOAT,
} noe_param_kind;

#define NOE_TRAIT_MAP(XX) \
    XX(EWISE)             \
    XX(COMMUTATIVE)       \
    XX(LINEAR)            \
    XX(COPY)              \
    XX(CONSTANT)          \
    XX(HEAVY)             \
    XX(PARTIAL)           \
    XX(ORDER)             \
    XX(RING)              \
    XX(LATTICE)           \
    XX(COMPOSITE)         \
    XX(NOAXIOM)

enum {
#define XX(ID) NOE_TRAIT_BIT_##ID,
    NOE_TRAIT_MAP(XX)
#undef XX
};
typedef enum noe_trait {
#define XX(ID) NOE_TRAIT_##ID = 1 << NOE_TRAIT_BIT_##ID,
    NOE_TRAIT_MAP(XX)
#undef XX
} noe_trait;

/* NOE_OP_INPUT..NOE_OP_OPAQUE are not operators but kinds of graph nodes (graph.h). */
typedef enum noe_op {
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) NOE_OP_##ID,
#include "core/ops.def"
    NOE_OP_COUNT,
    NOE_OP_INPUT = NOE_OP_COUNT, /* value known at run time only */
    NOE_OP_WEIGHT,               /* value known at optimization time */
    NOE_OP_OPAQUE, /* an ONNX node that the algebra does not speak about */
} noe_op;

#define NOE_MAX_PARAMS 4
#define NOE_MAX_LIST   16 /* entries of a list parameter: 2 * NOE_MAX_RANK */

/* One concrete parameter value. */
typedef struct noe_value {
    noe_param_kind kind;
    int n;                      /* entries of list, for AXES and INTS */
    int64_t i;                  /* INT, AXIS */
    double f;                   /* FLOAT */
    int64_t list[NOE_MAX_LIST]; /* AXES, INTS */
} noe_value;

/* The values of an operator's parameters, in the order of its row. */
typedef struct noe_params {
    int n;
    noe_value v[NOE_MAX_PARAMS];
} noe_params;

typedef struct noe_op_info {
    const char *name; /* text form */
    const char *onnx; /* op_type, or NULL */
    int min_in, max_in;
    int n_params;
    noe_param params[NOE_MAX_PARAMS];
    unsigned traits;
} noe_op_info;

const noe_op_info *noe_op_get(noe_op op);
bool noe_op_has(noe_op op, noe_trait trait);
bool noe_op_from_name(const char *name, size_t len, noe_op *op);
/* Hash over names, arities, parameters, traits: stored with rules; changes when the
 * meaning of a stored text could. */
uint64_t noe_op_table_hash(void);

const char *noe_param_name(noe_param p);
noe_param_kind noe_param_kind_of(noe_param p);
bool noe_param_from_name(const char *name, size_t len, noe_param *p);

noe_value noe_value_int(noe_param_kind kind, int64_t i);
noe_value noe_value_float(double f);
noe_value noe_value_list(noe_param_kind kind, int n, const int64_t *list);
bool noe_value_eq(const noe_value *a, const noe_value *b);
void noe_value_print(noe_buf *b, const noe_value *v); /* 3, [1,1], 0.5 */

/* The value of parameter p of op, which must have it. */
const noe_value *noe_params_get(noe_op op, const noe_params *params, noe_param p);
void noe_params_set(noe_op op, noe_params *params, noe_param p, const noe_value *v);
/* Default of parameter p of op, where there is one: strides and dilations all 1, pads
 * all 0 (of the length that `spatial` asks), group 1, step 1, keepdims 1,
 * count_include_pad 0, mode 0, approximate 0, transA 0, transB 0, min and max the
 * lowest and highest float; of gemm, swish and elu alpha 1, of gemm beta 1. */
bool noe_param_default(noe_op op, noe_param p, int spatial, noe_value *v);
bool noe_params_eq(const noe_params *a, const noe_params *b);

/* Type of op's output; shapes must be static. Checks arity, element types, ranks,
 * parameters; normalises nothing. Error messages start with the operator's name.
 * core/shape.c */
NOE_NODISCARD noe_status noe_op_infer(noe_op op, const noe_params *params,
                                      const noe_type *in, int n_in, noe_type *out,
                                      noe_error *err);
/* Whether the algebra speaks of op with results of this element type: of arithmetic in
 * f32 only, of what moves data and of cast in all types that have values. */
bool noe_op_computes(noe_op op, noe_dtype d);
/* The element type that cast's parameter `to` names; NOE_UNKNOWN for what we lack. */
noe_dtype noe_cast_type(const noe_params *params);
/* Brings parameters into stored form for these inputs: negative axes become
 * non-negative, axes sorted, slice bounds clamped to 0 <= start <= end <= dim,
 * indices counted from the start. */
NOE_NODISCARD noe_status noe_params_normalize(noe_op op, noe_params *params,
                                              const noe_type *in, int n_in,
                                              noe_error *err);

#endif
