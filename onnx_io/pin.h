/* SPDX-License-Identifier: Apache-2.0
 *
 * Pinned input shapes: "name:1,3,224,224" or "name:1x3x224x224".
 */
#ifndef NOE_ONNX_IO_PIN_H
#define NOE_ONNX_IO_PIN_H

#include "onnx_io/model.h"

/* Fills m->pinned: the declared types of the inputs with the pins applied. A pinned
 * symbolic dimension is pinned wherever its name occurs. */
NOE_NODISCARD noe_status noe_onnx_pin_inputs(noe_onnx_model *m,
                                             const noe_onnx_options *options,
                                             noe_error *err);

#endif
