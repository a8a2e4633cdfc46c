/* SPDX-License-Identifier: Apache-2.0
 *
 * Device "cuda": an NVIDIA GPU with cuDNN, cuBLASLt and kernels of our own.
 *
 * It lives in a module, a shared library that noe_cuda_open loads; the module in turn
 * loads NVIDIA's libraries (runtime/cuda/library.h). A program that never asks for the
 * device needs none of them, and one that does learns what is missing.
 *
 * Values are stored in one type for the whole graph (f32, f16, bf16; tf32 is f32 with
 * products on tensor cores) and images in one layout, channels first or last. Both
 * are part of the device's description, and so of every cost key. With NOE_CUDA_AUTO a
 * graph is prepared in both layouts and the faster one is kept.
 *
 * Times are of CUDA events around replays of a captured CUDA graph, many runs in one:
 * what a run costs in a deployment that replays graphs too. Launching one by one from
 * the host costs more.
 *
 * One measurement may fail without harm to the next: out of memory (NOE_ERR_LIMIT), no
 * engine (NOE_ERR_UNSUPPORTED), a fault (NOE_ERR_BACKEND; the context is made anew, and
 * executors from before it fail).
 */
#ifndef NOE_RUNTIME_CUDA_H
#define NOE_RUNTIME_CUDA_H

#include "runtime/runtime.h"

typedef enum noe_cuda_type {
    NOE_CUDA_F32,
    NOE_CUDA_TF32,
    NOE_CUDA_F16,
    NOE_CUDA_BF16,
    NOE_CUDA_N_TYPES
} noe_cuda_type;

typedef enum noe_cuda_layout {
    NOE_CUDA_AUTO,
    NOE_CUDA_FIRST, /* NCHW */
    NOE_CUDA_LAST,  /* NHWC */
} noe_cuda_layout;

typedef struct noe_cuda_options {
    noe_cuda_type type;
    noe_cuda_layout layout;
    int device;
} noe_cuda_options;

/* "f32", "tf32", "f16", "bf16"; false for others. */
bool noe_cuda_type_from_name(const char *name, noe_cuda_type *type);
const char *noe_cuda_type_name(noe_cuda_type type);
/* How far results of this type may lie from f32's, relative to the largest magnitude of
 * a tensor, before they count as wrong: what products of some thousand terms round. */
double noe_cuda_tolerance(noe_cuda_type type);

/* The module is $NOETHER_CUDA_MODULE, or noether-cuda.so beside the program or library
 * that this code is in, or where it is installed (LIBDIR/noether). Fails with what is
 * missing: the module, a library, the driver, a device, a version. */
NOE_NODISCARD noe_status noe_cuda_open(const noe_cuda_options *options,
                                       const noe_env *env, noe_backend **b,
                                       noe_error *err);

/* What the module exports, as noe_cuda_module. version: NOE_VERSION of both sides. */
typedef noe_status noe_cuda_module_fn(const char *version,
                                      const noe_cuda_options *options,
                                      const noe_env *env, noe_backend **b,
                                      noe_error *err);

#endif
