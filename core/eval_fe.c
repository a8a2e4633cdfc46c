/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators over the verification field; core/field.h says how each is modelled.
 */
#include "core/field.h"
#include "core/walk.h"
#include <stdlib.h>
#include <string.h>

typedef noe_fe T;
typedef noe_fe_sum ACC;
#define TENSOR noe_tensor_fe

#define ZERO             ((noe_fe){0, 0})
#define ONE              ((noe_fe){1, 1})
#define INT(I)           noe_fe_int(I)
#define REAL(D)          noe_fe_double(D)
#define ADD(A, B)        noe_fe_add(A, B)
#define SUB(A, B)        noe_fe_sub(A, B)
#define MUL(A, B)        noe_fe_mul(A, B)
#define DIV(A, B)        noe_fe_mul(A, noe_fe_inv(B))
#define NEG(A)           noe_fe_neg(A)
#define ACC_ZERO         ((noe_fe_sum){0, 0, 0, 0})
#define ACC_ADD(S, A, B) noe_fe_sum_add(S, A, B)
#define ACC_VALUE(S)     noe_fe_sum_value(S)
#define LESS(C, A, B)    (noe_fe_compare((C)->field, A, B) < 0)
#define RELU(C, X)       noe_fe_relu(X)
#define SIGMOID(C, X)    sigmoid((C)->field, X)
#define TANH(C, X)       hyperbolic_tangent((C)->field, X)
#define EXP(C, X)        noe_fe_exp((C)->field, X)
#define SQRT(C, X)       noe_fe_sqrt((C)->field, X)
#define RECIPROCAL(C, X) noe_fe_inv(X)
#define SHIFTED          0
#define EVAL_TABLE       eval_table_fe

static noe_fe sigmoid(const noe_field *f, noe_fe x)
{
    return noe_fe_inv(noe_fe_add(ONE, noe_fe_exp(f, noe_fe_neg(x))));
}

static noe_fe hyperbolic_tangent(const noe_field *f, noe_fe x)
{
    noe_fe s = sigmoid(f, noe_fe_add(x, x));
    return noe_fe_sub(noe_fe_add(s, s), ONE);
}

#include "core/semantics.inc"

void noe_eval_fe(const noe_field *field, noe_op op, const noe_params *params,
                 const noe_tensor_fe *in, int n_in, noe_tensor_fe *out)
{
    call c = {field, op, params, in, n_in, out};
    evaluate(&c);
}
