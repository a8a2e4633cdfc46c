/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors in C order, and the meaning of every operator on them. core/semantics.inc is
 * the one definition; it is instantiated for float, double and the field.
 */
#ifndef NOE_CORE_TENSOR_H
#define NOE_CORE_TENSOR_H

#include "core/graph.h"

/* An element of the verification field: residues modulo p and q = (p - 1) / 2; see
 * core/field.h. */
typedef struct noe_fe {
    uint32_t u, v;
} noe_fe;

/* Shape and elements; data is the caller's. */
typedef struct noe_tensor_f32 {
    noe_shape shape;
    float *data;
} noe_tensor_f32;
typedef struct noe_tensor_f64 {
    noe_shape shape;
    double *data;
} noe_tensor_f64;
typedef struct noe_tensor_fe {
    noe_shape shape;
    noe_fe *data;
} noe_tensor_fe;

struct noe_field;

/* out->shape is set by the caller (noe_op_infer), out->data has room for it. Inputs and
 * output do not overlap. Composite operators have a meaning of their own here, written
 * independently of their definition, so that definitions can be checked. */
void noe_eval_f32(noe_op op, const noe_params *params, const noe_tensor_f32 *in,
                  int n_in, noe_tensor_f32 *out);
void noe_eval_f64(noe_op op, const noe_params *params, const noe_tensor_f64 *in,
                  int n_in, noe_tensor_f64 *out);
void noe_eval_fe(const struct noe_field *field, noe_op op, const noe_params *params,
                 const noe_tensor_fe *in, int n_in, noe_tensor_fe *out);

/* Value of a weight node of g (is_weight): leaf data, constants, and operators on them,
 * computed in f64 and rounded once, at the end and before a cast. Result in arena: as
 * f32, in which executors compute, or as its own type is stored in models. */
NOE_NODISCARD noe_status noe_weight_value(const noe_graph *g, noe_ref r,
                                          noe_arena *arena, float **data,
                                          noe_error *err);
NOE_NODISCARD noe_status noe_weight_stored(const noe_graph *g, noe_ref r,
                                           noe_arena *arena, void **data,
                                           noe_error *err);

#endif
