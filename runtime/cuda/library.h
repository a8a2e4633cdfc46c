/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's libraries, found and loaded at run time: driver, CUDA runtime, cuBLASLt,
 * NVRTC, cuDNN 9. Nothing of them is needed to build or to start.
 */
#ifndef NOE_RUNTIME_CUDA_LIBRARY_H
#define NOE_RUNTIME_CUDA_LIBRARY_H

#include "core/base/mem.h"
#include "runtime/cuda/abi.h"
#include <stdbool.h>

/* In the order of loading: later ones look for earlier ones. */
typedef enum noe_cu_library {
    NOE_CU_CUDART,
    NOE_CU_DRIVER,
    NOE_CU_NVRTC,
    NOE_CU_CUBLASLT,
    NOE_CU_CUDNN,
    NOE_CU_N_LIBRARIES
} noe_cu_library;

typedef struct noe_cu_api {
#define SLOT(LIBRARY, TYPE, NAME, PARAMETERS) TYPE(*NAME) PARAMETERS;
#include "runtime/cuda/slots.def"
    void *handles[NOE_CU_N_LIBRARIES];
    char path[NOE_CU_N_LIBRARIES][256]; /* "" where it is not loaded */
    /* An error was seen after which the device's context answers nothing else (an
     * illegal address, a fault of the hardware): all that lives in it is gone. */
    bool is_lost;
} noe_cu_api;

/* Looks in the folders of $NOETHER_CUDA_LIBRARIES (separated by colons; then nowhere
 * else), or in the wheels nvidia-* of the active Python environment, $CUDA_HOME/lib64,
 * the linker's path, /usr/local/cuda/lib64. A library that is missing, cannot be loaded
 * or lacks a function is NOE_ERR_BACKEND, with its name, where it was looked for and
 * what to do. without_driver: for planning without a device; the driver's slots are
 * NULL. Libraries stay loaded: their threads and destructors do not allow otherwise. */
NOE_NODISCARD noe_status noe_cu_api_load(noe_cu_api *api, bool without_driver,
                                         noe_error *err);

/* OK for success; else the library's name of the status, and NOE_ERR_LIMIT where memory
 * is exhausted, NOE_ERR_UNSUPPORTED where cuDNN or cuBLAS say so, else
 * NOE_ERR_BACKEND. */
NOE_NODISCARD noe_status noe_cu_check(noe_cu_api *api, cudaError_t status,
                                      const char *what, noe_error *err);
NOE_NODISCARD noe_status noe_cu_check_driver(noe_cu_api *api, CUresult status,
                                             const char *what, noe_error *err);
NOE_NODISCARD noe_status noe_cu_check_blas(noe_cu_api *api, cublasStatus_t status,
                                           const char *what, noe_error *err);
NOE_NODISCARD noe_status noe_cu_check_dnn(noe_cu_api *api, cudnnStatus_t status,
                                          const char *what, noe_error *err);

/* NOE_TRY for calls of the slots; API and err are in scope where they are used. */
#define NOE_CU_TRY(API, CALL, ...) \
    NOE_TRY(noe_cu_check((API), (API)->CALL(__VA_ARGS__), #CALL, err))
#define NOE_CU_TRY_DNN(API, CALL, ...) \
    NOE_TRY(noe_cu_check_dnn((API), (API)->CALL(__VA_ARGS__), #CALL, err))
#define NOE_CU_TRY_BLAS(API, CALL, ...) \
    NOE_TRY(noe_cu_check_blas((API), (API)->CALL(__VA_ARGS__), #CALL, err))

#endif
