/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of outputs of nodes that stay opaque.
 */
#ifndef NOE_ONNX_IO_TYPING_H
#define NOE_ONNX_IO_TYPING_H

#include "onnx_io/model.h"

/* Improves the types of n's outputs where they follow from its inputs. */
void noe_onnx_type_outputs(noe_onnx_model *m, const noe_onnx_node *n);

#endif
