/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of outputs of nodes that stay opaque.
 */
#ifndef NOE_ONNX_IO_TYPING_H
#define NOE_ONNX_IO_TYPING_H

#include "onnx_io/model.h"

/* Improves the types of n's outputs where they follow from its inputs. */
void noe_onnx_type_outputs(noe_onnx_model *m, const noe_onnx_node *n);

/* typing_rules.c: what the type of an output is computed from. */
typedef struct noe_typing {
    noe_onnx_model *m;
    const noe_onnx_node *node;
} noe_typing;

/* Type of output 0 by the rule of the operator; false where there is none, or where it
 * needs what is not known. A shape of unknown rank is left out. */
bool noe_onnx_type_by_rule(const noe_typing *t, noe_type *out);
const noe_type *noe_typing_input(const noe_typing *t, size_t i);
/* Takes what is known of `type` into that of a value; sizes that are known stay. */
void noe_typing_improve(noe_onnx_model *m, uint32_t value, const noe_type *type);

/* typing_outputs.c: the outputs behind the first too. */
void noe_onnx_type_all_outputs(const noe_typing *t);

/* typing_window.c: rules of convolutions and pools. */
bool noe_typing_conv(const noe_typing *t, noe_type *out);
bool noe_typing_conv_integer(const noe_typing *t, noe_type *out);
bool noe_typing_q_linear_conv(const noe_typing *t, noe_type *out);
bool noe_typing_conv_transpose(const noe_typing *t, noe_type *out);
bool noe_typing_pool(const noe_typing *t, noe_type *out);
bool noe_typing_global_pool(const noe_typing *t, noe_type *out);

#endif
