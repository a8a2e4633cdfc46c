/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/cuda_cases.h"

#define CONV(PADS, GROUP) \
    "conv[strides=[1,1], pads=" PADS ", dilations=[1,1], group=" GROUP "]"
#define SAME "[1,1,1,1]"
#define NONE "[0,0,0,0]"

const noe_text_graph noe_cuda_graphs[] = {
    {"convolutions with bias, residual and activation",
     "%0 = input \"x\" : f32[2,16,7,7]\n"
     "%1 = weight \"w1\" : f32[16,16,3,3]\n"
     "%2 = weight \"b1\" : f32[16,1,1]\n"
     "%3 = weight \"w2\" : f32[16,4,1,1]\n"
     "%4 = weight \"b2\" : f32[1]\n"
     "%5 = " CONV(
         SAME,
         "1") "(%0, %1) : f32[2,16,7,7]\n"
              "%6 = add(%5, %2) : f32[2,16,7,7]\n"
              "%7 = add(%6, %0) : f32[2,16,7,7]\n"
              "%8 = relu(%7) : f32[2,16,7,7]\n"
              "%9 = " CONV(
                  NONE,
                  "4") "(%8, %3) : f32[2,16,7,7]\n"
                       "%10 = add(%9, %4) : f32[2,16,7,7]\n"
                       "%11 = tanh(%10) : f32[2,16,7,7]\n"
                       "%12 = reduce_mean[axes=[2,3], keepdims=0](%11) : f32[2,16]\n"
                       "return %12, %8\n"},
    {"a convolution that no engine takes, with all that can follow",
     "%0 = input \"x\" : f32[1,4,6,6]\n"
     "%1 = weight \"w\" : f32[4,4,2,2]\n"
     "%2 = weight \"b\" : f32[4,1,1]\n"
     "%3 = " CONV("[0,0,1,1]", "1") "(%0, %1) : f32[1,4,6,6]\n"
                                    "%4 = add(%3, %2) : f32[1,4,6,6]\n"
                                    "%5 = add(%4, %0) : f32[1,4,6,6]\n"
                                    "%6 = sigmoid(%5) : f32[1,4,6,6]\n"
                                    "return %6\n"},
    {"products with bias, residual and activation", "%0 = input \"x\" : f32[2,5,8]\n"
                                                    "%1 = weight \"w1\" : f32[8,8]\n"
                                                    "%2 = weight \"b1\" : f32[8]\n"
                                                    "%3 = weight \"w2\" : f32[8,3]\n"
                                                    "%4 = weight \"s\" : f32[]\n"
                                                    "%5 = matmul(%0, %1) : f32[2,5,8]\n"
                                                    "%6 = add(%5, %2) : f32[2,5,8]\n"
                                                    "%7 = add(%6, %0) : f32[2,5,8]\n"
                                                    "%8 = relu(%7) : f32[2,5,8]\n"
                                                    "%9 = matmul(%8, %3) : f32[2,5,3]\n"
                                                    "%10 = add(%9, %4) : f32[2,5,3]\n"
                                                    "%11 = sigmoid(%10) : f32[2,5,3]\n"
                                                    "return %11, %8\n"},
    {"batched products of transposed values, softmax",
     "%0 = input \"x\" : f32[1,6,32]\n"
     "%1 = weight \"wq\" : f32[32,32]\n"
     "%2 = weight \"wk\" : f32[32,32]\n"
     "%3 = matmul(%0, %1) : f32[1,6,32]\n"
     "%4 = matmul(%0, %2) : f32[1,6,32]\n"
     "%5 = reshape[shape=[1,6,4,8]](%3) : f32[1,6,4,8]\n"
     "%6 = reshape[shape=[1,6,4,8]](%4) : f32[1,6,4,8]\n"
     "%7 = transpose[perm=[0,2,1,3]](%5) : f32[1,4,6,8]\n"
     "%8 = transpose[perm=[0,2,3,1]](%6) : f32[1,4,8,6]\n"
     "%9 = matmul(%7, %8) : f32[1,4,6,6]\n"
     "%10 = weight \"scale\" : f32[]\n"
     "%11 = mul(%9, %10) : f32[1,4,6,6]\n"
     "%12 = softmax[axis=3](%11) : f32[1,4,6,6]\n"
     "%13 = matmul(%12, %7) : f32[1,4,6,8]\n"
     "return %13\n"},
    {"products with batches that repeat on different axes",
     "%0 = input \"x\" : f32[3,1,2,4]\n"
     "%1 = input \"y\" : f32[1,5,4,3]\n"
     "%2 = matmul(%0, %1) : f32[3,5,2,3]\n"
     "return %2\n"},
    {"gemm with addends of all kinds",
     "%0 = input \"x\" : f32[3,4]\n"
     "%1 = weight \"w\" : f32[5,4]\n"
     "%2 = weight \"b\" : f32[3,1]\n"
     "%3 = weight \"s\" : f32[]\n"
     "%4 = input \"c\" : f32[5]\n"
     "%5 = gemm[alpha=0.5, beta=2.0, transA=0, transB=1](%0, %1, %2) : f32[3,5]\n"
     "%6 = gemm[alpha=0.5, beta=1.0, transA=0, transB=1](%0, %1, %3) : f32[3,5]\n"
     "%7 = relu(%6) : f32[3,5]\n"
     "%8 = gemm[alpha=1.0, beta=1.0, transA=0, transB=1](%0, %1, %4) : f32[3,5]\n"
     "%9 = add(%8, %7) : f32[3,5]\n"
     "%10 = relu(%9) : f32[3,5]\n"
     "return %5, %10\n"},
    {"both layouts through slice, pad, concat, pool and broadcasting",
     "%0 = input \"x\" : f32[1,8,6,6]\n"
     "%1 = weight \"w\" : f32[12,8,3,3]\n"
     "%2 = " CONV(
         SAME, "1") "(%0, %1) : f32[1,12,6,6]\n"
                    "%3 = slice[axis=1, start=0, end=4, step=1](%2) : f32[1,4,6,6]\n"
                    "%4 = slice[axis=1, start=3, end=11, step=1](%2) : f32[1,8,6,6]\n"
                    "%5 = slice[axis=2, start=0, end=6, step=2](%2) : f32[1,12,3,6]\n"
                    "%6 = concat[axis=1](%3, %4) : f32[1,12,6,6]\n"
                    "%7 = concat[axis=1](%6, %0) : f32[1,20,6,6]\n"
                    "%8 = pad[pads=[0,0,1,0,0,0,2,1]](%7) : f32[1,20,9,7]\n"
                    "%9 = global_average_pool(%7) : f32[1,20,1,1]\n"
                    "%10 = sigmoid(%9) : f32[1,20,1,1]\n"
                    "%11 = mul(%8, %10) : f32[1,20,9,7]\n"
                    "%12 = max_pool[kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], "
                    "dilations=[1,1]](%11) : f32[1,20,5,4]\n"
                    "%13 = transpose[perm=[3,1,0,2]](%12) : f32[4,20,1,5]\n"
                    "return %13, %5\n"},
    {"outputs that share memory, inputs and weights as outputs",
     "%0 = input \"x\" : f32[2,6]\n"
     "%1 = weight \"w\" : f32[2,3]\n"
     "%2 = relu(%0) : f32[2,6]\n"
     "%3 = reshape[shape=[3,4]](%2) : f32[3,4]\n"
     "%4 = reshape[shape=[12]](%0) : f32[12]\n"
     "%5 = neg(%1) : f32[2,3]\n"
     "return %0, %2, %3, %4, %5, %2, %1\n"},
};
const int noe_n_cuda_graphs = (int)(sizeof noe_cuda_graphs / sizeof *noe_cuda_graphs);
