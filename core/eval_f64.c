/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators over double, as IEEE arithmetic rounds them. A sum of products
 * accumulates in double, in order: what the reference computes is one plain rounding
 * after the other.
 */
#include "core/tensor.h"
#include "core/walk.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double T;
typedef double ACC;
#define TENSOR noe_tensor_f64

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
#define ABS(C, X)         fabs(X)
#define MAX(C, A, B)      ((A) > (B) || isnan(A) ? (A) : (B)) /* NaN wins */
#define MIN(C, A, B)      ((A) < (B) || isnan(A) ? (A) : (B))
#define LESS_ZERO(C, X)   ((X) < 0)
#define SIGMOID(C, X)     sigmoid(X)
#define TANH(C, X)        tanh(X)
#define EXP(C, X)         exp(X)
#define LOG(C, X)         log(X)
#define ERF(C, X)         erf(X)
#define POW(C, X, E)      pow(X, (T)(E))
#define SQRT(C, X)        sqrt(X)
#define CAST(C, X, D)     noe_dtype_round(D, X)
#define RECIPROCAL(C, X)  (1 / (X))
#define IS_TRUE(C, X)     ((void)(C), (X) != 0)
#define SHIFTED           1
#define EVAL_TABLE        eval_table_f64

/* exp is only taken of what is not positive, so it cannot overflow. */
static T sigmoid(T x)
{
    T e = exp(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

#include "core/semantics.inc"

void noe_eval_f64(noe_op op, const noe_params *params, const noe_tensor_f64 *in,
                  int n_in, noe_tensor_f64 *out)
{
    call c = {NULL, op, params, in, n_in, out};
    evaluate(&c);
}
