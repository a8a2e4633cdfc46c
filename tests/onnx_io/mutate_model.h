/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOE_TESTS_ONNX_IO_MUTATE_MODEL_H
#define NOE_TESTS_ONNX_IO_MUTATE_MODEL_H

#include "core/base/mem.h"
#include "core/base/rng.h"
#include <stdbool.h>

/* Replaces the bytes of an ONNX model by those of one that differs in some values.
 * False, and nothing is changed, if they are no model. */
bool noe_mutate_model(noe_buf *b, noe_rng *r);

#endif
