/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators over float, as IEEE arithmetic rounds them. A sum of products
 * accumulates in float, in order: what the reference computes is one plain rounding
 * after the other.
 */
#include "core/tensor.h"
#include "core/walk.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float T;
typedef float ACC;
#define TENSOR noe_tensor_f32

#define ZERO              0
#define ONE               1
#define INT(I)            ((T)(I))
#define REAL(D)           ((T)(D))
#define ADD(A, B)         ((A) + (B))
#define SUB(A, B)         ((A) - (B))
#define MUL(A, B)         ((A) * (B))
#define DIV(A, B)         ((A) / (B))
#define QUOTIENT(C, A, B) ((A) / (B))
#define NEG(A)            (-(A))
#define DIVISOR(A)        (A)
#define OVER(A, D)        ((A) / (D))
#define ACC_ZERO          0
#define ACC_ADD(S, A, B)  (*(S) += (A) * (B))
#define ACC_VALUE(S)      (*(S))
#define LESS(C, A, B)     ((A) < (B))
#define RELU(C, X)        ((X) < 0 ? 0 : (X)) /* NaN stays NaN */
#define ABS(C, X)         fabsf(X)
#define MAX(C, A, B)      ((A) > (B) || isnan(A) ? (A) : (B)) /* NaN wins */
#define MIN(C, A, B)      ((A) < (B) || isnan(A) ? (A) : (B))
#define LESS_ZERO(C, X)   ((X) < 0)
#define SIGMOID(C, X)     sigmoid(X)
#define TANH(C, X)        tanhf(X)
#define EXP(C, X)         expf(X)
#define LOG(C, X)         logf(X)
#define ERF(C, X)         erff(X)
#define POW(C, X, E)      powf(X, (T)(E))
#define SQRT(C, X)        sqrtf(X)
#define CAST(C, X, D)     (T) noe_dtype_round(D, (double)(X))
#define RECIPROCAL(C, X)  (1 / (X))
#define IS_TRUE(C, X)     ((void)(C), (X) != 0)
#define SHIFTED           1
#define EVAL_TABLE        eval_table_f32

/* exp is only taken of what is not positive, so it cannot overflow. */
static T sigmoid(T x)
{
    T e = expf(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

#include "core/semantics.inc"

void noe_eval_f32(noe_op op, const noe_params *params, const noe_tensor_f32 *in,
                  int n_in, noe_tensor_f32 *out)
{
    call c = {NULL, op, params, in, n_in, out};
    evaluate(&c);
}
