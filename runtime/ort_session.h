/* SPDX-License-Identifier: Apache-2.0
 *
 * ONNX Runtime in this process: what the worker of device "ort" does its work with.
 */
#ifndef NOE_RUNTIME_ORT_SESSION_H
#define NOE_RUNTIME_ORT_SESSION_H

#include "runtime/ort.h"

/* What else there is to say about a model, as it travels: NUL-terminated strings, first
 * the folder of external data (or ""), then name and dimensions ("1,3,8") of each input
 * whose shape is given. */
typedef struct noe_ort_extra {
    const char *text;
    size_t len;
} noe_ort_extra;

NOE_NODISCARD noe_status noe_ort_local_open(const char *path, noe_encode_fn *encode,
                                            const noe_env *env, noe_backend **b,
                                            noe_error *err);
/* options->cold_weights: as many copies of the model as overflow the cache, run in
 * turn. */
NOE_NODISCARD noe_status noe_ort_local_prepare(noe_backend *b, const void *data,
                                               size_t len, const noe_ort_extra *extra,
                                               const noe_executor_options *options,
                                               noe_executor **e, noe_error *err);
NOE_NODISCARD noe_status noe_ort_local_difference(noe_executor *a, noe_executor *b,
                                                  double *difference, noe_error *err);
/* Seconds of a call that computes next to nothing. */
NOE_NODISCARD noe_status noe_ort_local_overhead(noe_backend *b, double *seconds,
                                                noe_error *err);
const char *noe_ort_local_version(const noe_backend *b);
/* Bytes that `run` takes and gives; the order is that of the model's inputs, outputs.
 */
size_t noe_ort_local_input_bytes(const noe_executor *e);
size_t noe_ort_local_output_bytes(const noe_executor *e);
/* One run on packed inputs to packed outputs. */
NOE_NODISCARD noe_status noe_ort_local_run(noe_executor *e, const char *inputs,
                                           char *outputs, noe_error *err);

#endif
