/* SPDX-License-Identifier: Apache-2.0
 *
 * Between core/shape.c and the shape rules (core/shape_rules.c); nobody else's
 * business.
 */
#ifndef NOE_CORE_SHAPE_H
#define NOE_CORE_SHAPE_H

#include "core/op.h"

/* One question to a shape rule. Arity, parameter kinds, element types and input shapes
 * (static, within the limits) have been checked. err may be NULL. */
typedef struct noe_shape_query {
    noe_op op;
    const noe_params *params;
    const noe_type *in;
    int n_in;
    noe_error *err;
} noe_shape_query;

/* A rule checks what is particular to its operator and sets the output shape; its
 * message is completed by the caller with the operator's name and the inputs. */
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) \
    noe_status noe_shape_##NAME(const noe_shape_query *q, noe_shape *out);
#include "core/ops.def"

#endif
