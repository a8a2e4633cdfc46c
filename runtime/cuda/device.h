/* SPDX-License-Identifier: Apache-2.0
 *
 * The device: libraries, handles, kernels of our own, what is remembered of it; the
 * object behind backend "cuda".
 */
#ifndef NOE_RUNTIME_CUDA_DEVICE_H
#define NOE_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda.h"
#include "runtime/cuda/library.h"

/* Functions of kernels.cu. */
#define NOE_CU_KERNEL_MAP(XX)      \
    XX(UNARY, unary)               \
    XX(BINARY, binary)             \
    XX(WHERE, where)               \
    XX(BATCH_NORM, batch_norm)     \
    XX(COPY, copy)                 \
    XX(GATHER, gather)             \
    XX(RESIZE, resize)             \
    XX(POOL, pool)                 \
    XX(CONV_DIRECT, conv_direct)   \
    XX(REDUCE_SMALL, reduce_small) \
    XX(REDUCE, reduce)             \
    XX(SOFTMAX, softmax)           \
    XX(NORMALIZE, normalize)

typedef enum noe_cu_kernel {
#define XX(ID, NAME) NOE_CU_KERNEL_##ID,
    NOE_CU_KERNEL_MAP(XX)
#undef XX
        NOE_CU_N_KERNELS
} noe_cu_kernel;

/* Which of several plans was the fastest, by the hash of what they are plans for. */
typedef struct noe_cu_choice {
    uint64_t key;
    uint32_t index;
} noe_cu_choice;

typedef struct noe_cu_device {
    noe_backend base;
    noe_cu_api api;
    noe_cuda_options options;
    bool is_open;
    /* Counts what was lost: executors of an earlier life have nothing on the device. */
    uint64_t life;
    int sm; /* 90: compute capability 9.0 */
    int n_multiprocessors;
    size_t l2_bytes;
    cudaStream_t stream;
    cudaEvent_t start, end;
    cublasLtHandle_t blas;
    cudnnHandle_t dnn;
    CUmodule module;
    CUfunction kernels[NOE_CU_N_KERNELS];
    /* Planning without a device: its properties, as cuDNN's descriptor; else NULL. */
    cudnnBackendDescriptor_t properties;
    char *cache_path; /* NULL: choices are not kept */
    noe_cu_choice *choices;
    size_t n_choices, cap_choices, n_known; /* n_known: of them, read from the file */
} noe_cu_device;

/* Backend "cuda" of this device. executor.c */
NOE_NODISCARD noe_status noe_cu_backend_open(const noe_cuda_options *options,
                                             const noe_env *env, noe_backend **b,
                                             noe_error *err);
/* Loads the libraries and opens device options->device. */
NOE_NODISCARD noe_status noe_cu_device_open(noe_cu_device *d, noe_error *err);
/* Opens it again if it was lost. */
NOE_NODISCARD noe_status noe_cu_device_revive(noe_cu_device *d, noe_error *err);
/* Writes what was chosen; releases everything. */
void noe_cu_device_close(noe_cu_device *d);
/* Without a device: json has the properties, as cuDNN writes them. Can only plan. */
NOE_NODISCARD noe_status noe_cu_device_pretend(noe_cu_device *d, const char *json,
                                               noe_error *err);
/* Our kernels for d->sm, malloc'ed. Needs NVRTC, no device. */
NOE_NODISCARD noe_status noe_cu_compile_kernels(noe_cu_device *d, char **cubin,
                                                size_t *n, noe_error *err);
/* How values are stored: 4 or 2 bytes. */
size_t noe_cu_element_bytes(const noe_cu_device *d);
void noe_cu_to_device_type(const noe_cu_device *d, void *to, const float *from,
                           size_t n);
void noe_cu_from_device_type(const noe_cu_device *d, float *to, const void *from,
                             size_t n);

/* tune.c: the plan cache. */
void noe_cu_choices_load(noe_cu_device *d);
bool noe_cu_choice_get(const noe_cu_device *d, uint64_t key, uint32_t *index);
void noe_cu_choice_put(noe_cu_device *d, uint64_t key, uint32_t index);
/* Failure costs the next run its head start and is logged, no more. */
void noe_cu_choices_save(noe_cu_device *d);

#endif
