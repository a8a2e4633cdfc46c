/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled where the toolkit's headers are found, for what the compiler says about it:
 * our declarations (slots.def, abi.def, abi.h) against NVIDIA's own.
 */
#include <cublasLt.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

typedef enum cudaDeviceAttr cudaDeviceAttr;
typedef enum cudaMemcpyKind cudaMemcpyKind;
typedef enum cudaStreamCaptureMode cudaStreamCaptureMode;

#define CONSTANT(NAME, VALUE) _Static_assert((int)(NAME) == (VALUE), #NAME);
#include "runtime/cuda/abi.def"

/* Enumerations are passed as ints. */
_Static_assert(sizeof(cudaError_t) == sizeof(int), "enumerations");
_Static_assert(sizeof(cudnnBackendAttributeName_t) == sizeof(int), "enumerations");

_Static_assert(sizeof(cublasLtMatmulAlgo_t) == 64, "algo");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64, "size");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == 72, "state");
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96, "result");

/* An initializer of another type is an error (-Werror=incompatible-pointer-types). */
#define SLOT(LIBRARY, TYPE, NAME, PARAMETERS)        \
    extern TYPE(*const noe_check_##NAME) PARAMETERS; \
    TYPE(*const noe_check_##NAME) PARAMETERS = NAME;
#include "runtime/cuda/slots.def"
