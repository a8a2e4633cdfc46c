/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's binary interfaces as far as we use them, under their public names: opaque
 * handles, enumerations as the ints that they are passed as, one struct. Not to be
 * included together with the toolkit's headers.
 */
#ifndef NOE_RUNTIME_CUDA_ABI_H
#define NOE_RUNTIME_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream, *cudaStream_t;

typedef int cudaError_t, cudaDeviceAttr, cudaMemcpyKind, cudaStreamCaptureMode;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

typedef int cublasStatus_t, cublasComputeType_t, cudaDataType, cudaDataType_t;
typedef int cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t,
    cublasLtMatmulPreferenceAttributes_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct noe_cublas_desc *cublasLtMatmulDesc_t;
typedef struct noe_cublas_layout *cublasLtMatrixLayout_t;
typedef struct noe_cublas_preference *cublasLtMatmulPreference_t;
typedef struct cublasLtMatmulAlgo_t {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

typedef int cudnnStatus_t, cudnnBackendDescriptorType_t, cudnnBackendAttributeName_t,
    cudnnBackendAttributeType_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

enum {
#define CONSTANT(NAME, VALUE) NAME = VALUE,
#include "runtime/cuda/abi.def"
};

#endif
