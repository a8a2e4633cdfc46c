/* SPDX-License-Identifier: Apache-2.0
 *
 * What every kernel of kernels.cu gets, as one struct by value. Part of the text that
 * NVRTC compiles, so it includes nothing.
 *
 * A kernel walks an index space of n elements (dim, at most 8 axes); operand k is at
 * offset[k] + the sum of index * stride[k], in elements. What lies behind each element
 * (the values of a reduction, a line of a softmax) is walked in the same way, by
 * inner_*. p[0] is the result.
 */
#ifndef NOE_RUNTIME_CUDA_KERNEL_ARGS_H
#define NOE_RUNTIME_CUDA_KERNEL_ARGS_H

#define NOE_CU_MAX_AXES     8
#define NOE_CU_MAX_OPERANDS 6
#define NOE_CU_MAX_INTS     32

typedef struct noe_cu_args {
    void *p[NOE_CU_MAX_OPERANDS];
    long long offset[NOE_CU_MAX_OPERANDS];
    long long stride[NOE_CU_MAX_OPERANDS][NOE_CU_MAX_AXES];
    long long inner_stride[4][NOE_CU_MAX_AXES];
    unsigned dim[NOE_CU_MAX_AXES], inner_dim[NOE_CU_MAX_AXES];
    unsigned n, m; /* elements of the space, behind each */
    int rank, inner_rank;
    int op, act; /* numbers of operators; act: -1 for none */
    float f[4];
    int i[NOE_CU_MAX_INTS];
} noe_cu_args;

/* Operations of the kernels beyond the table of operators. */
enum {
    NOE_CU_COPY = 1000,
    NOE_CU_ADD_SCALED, /* a + f[0] b */
};

/* Places in i[] of what slides a window over up to three axes; missing axes come first
 * and have one element. */
enum {
    NOE_CU_KERNEL = 0,
    NOE_CU_STRIDE = 3,
    NOE_CU_BEGIN = 6,
    NOE_CU_DILATION = 9,
    NOE_CU_IN = 12, /* sizes of the operand's axes */
    NOE_CU_FLAG = 15,
    NOE_CU_GROUPED = 16, /* operand's channels of a group */
    NOE_CU_RESULTS = 17, /* result's channels of a group */
};

#endif
