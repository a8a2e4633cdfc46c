/* SPDX-License-Identifier: Apache-2.0
 *
 * Device "ort": the user's own ONNX Runtime, with all of its optimizations on.
 *
 * It runs in a worker, a child of this process that loads the library, and speaks with
 * us through a socket. What crashes or hangs there (a broken library, a kernel that it
 * cannot take) costs one answer: the call fails with NOE_ERR_BACKEND, the next one
 * starts a new worker, and what was prepared in the old one is gone. Times are taken in
 * the worker, by the protocol and on the clock of runtime/measure.c; what a call of the
 * runtime costs by itself, whatever it computes, is measured once and taken off the
 * time of a graph.
 */
#ifndef NOE_RUNTIME_ORT_H
#define NOE_RUNTIME_ORT_H

#include "runtime/runtime.h"

/* g as a serialised ONNX model of an operator set: inputs "x0", "x1", ... in the order
 * of g's input leaves, outputs "y0", "y1", .... malloc'ed. (That this folder writes no
 * ONNX itself keeps it free of onnx_io.) */
typedef noe_status noe_encode_fn(const noe_graph *g, int opset, char **data,
                                 size_t *len, noe_error *err);

/* library: path, or NULL to look for it (runtime/ort_library.h). */
NOE_NODISCARD noe_status noe_ort_open(const char *library, noe_encode_fn *encode,
                                      const noe_env *env, noe_backend **b,
                                      noe_error *err);
bool noe_is_ort(const noe_backend *b);
/* The path of the library that b has loaded. */
const char *noe_ort_library_path(const noe_backend *b);

/* The size of a model's input, where the model leaves dimensions open. */
typedef struct noe_input_shape {
    const char *name;
    noe_shape shape; /* unknown dimensions count as 1 */
} noe_input_shape;

/* A whole model, with whatever operators it has; b is of noe_ort_open. Its inputs get
 * values by their element type: random numbers, 0 and 1 for integers. external: the
 * folder of external data, or NULL. */
NOE_NODISCARD noe_status noe_ort_prepare_model(noe_backend *b, const void *data,
                                               size_t len,
                                               const noe_input_shape *shapes,
                                               size_t n_shapes, const char *external,
                                               noe_executor **e, noe_error *err);
/* The largest difference of the outputs of two models on the same inputs, relative to
 * the largest magnitude of its tensor; infinite where they differ in kind. */
NOE_NODISCARD noe_status noe_ort_difference(noe_executor *a, noe_executor *b,
                                            double *difference, noe_error *err);

#endif
