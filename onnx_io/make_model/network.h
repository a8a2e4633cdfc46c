/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks of real size with random weights, for trying the optimizer without a
 * download.
 */
#ifndef NOE_ONNX_IO_MAKE_MODEL_NETWORK_H
#define NOE_ONNX_IO_MAKE_MODEL_NETWORK_H

#include "core/base/status.h"
#include <stddef.h>
#include <stdint.h>

/* The name of network i, NULL behind the last. */
const char *noe_network_name(int i);

/* A serialised model (opset 13), malloc'ed; the same bytes for the same seed. */
NOE_NODISCARD noe_status noe_network_make(const char *name, uint64_t seed, char **data,
                                          size_t *len, noe_error *err);

#endif
