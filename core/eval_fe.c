/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators over the verification field; core/field.h says how each is modelled.
 *
 * An inverse costs as much as fifty products, so whole tensors are inverted together
 * (Montgomery's trick: one inverse and three products an element). That changes the
 * cost of the operators that divide, not their values; tests compare the two.
 */
#include "core/field.h"
#include "core/walk.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef noe_fe T;
typedef noe_fe_sum ACC;
#define TENSOR noe_tensor_fe

#define ZERO              ((noe_fe){0, 0})
#define ONE               ((noe_fe){1, 1})
#define INT(I)            noe_fe_int(I)
#define REAL(D)           noe_fe_double(D)
#define ADD(A, B)         noe_fe_add(A, B)
#define SUB(A, B)         noe_fe_sub(A, B)
#define MUL(A, B)         noe_fe_mul(A, B)
#define DIV(A, B)         noe_fe_mul(A, noe_fe_inv(B))
#define QUOTIENT(C, A, B) noe_fe_mul(A, noe_fe_reciprocal((C)->field, B))
#define NEG(A)            noe_fe_neg(A)
#define DIVISOR(A)        noe_fe_inv(A)
#define OVER(A, D)        noe_fe_mul(A, D)
#define ACC_ZERO          ((noe_fe_sum){0, 0, 0, 0})
#define ACC_ADD(S, A, B)  noe_fe_sum_add(S, A, B)
#define ACC_VALUE(S)      noe_fe_sum_value(S)
#define LESS(C, A, B)     (noe_fe_compare((C)->field, A, B) < 0)
#define LESS_ZERO(C, X)   (noe_fe_sign((C)->field, X) < 0)
#define RELU(C, X)        noe_fe_relu((C)->field, X)
#define ABS(C, X)         noe_fe_abs((C)->field, X)
#define MAX(C, A, B)      noe_fe_max((C)->field, A, B)
#define MIN(C, A, B)      noe_fe_min((C)->field, A, B)
#define SIGMOID(C, X)     noe_fe_sigmoid((C)->field, X)
#define TANH(C, X)        noe_fe_tanh((C)->field, X)
#define EXP(C, X)         noe_fe_exp((C)->field, X)
#define LOG(C, X)         noe_fe_log((C)->field, X)
#define ERF(C, X)         noe_fe_erf((C)->field, X)
#define POW(C, X, E)      noe_fe_pow((C)->field, X, E)
#define SQRT(C, X)        noe_fe_sqrt((C)->field, X)
#define RECIPROCAL(C, X)  noe_fe_reciprocal((C)->field, X)
#define IS_TRUE(C, X)     noe_fe_is_true((C)->field, X)
#define SHIFTED           0
#define EVAL_TABLE        eval_table_fe

#include "core/semantics.inc"

#define BLOCK 64

static uint32_t or_one(uint32_t a)
{
    return a ? a : 1;
}

/* x[i] := 1 / x[i], where zero stays zero: it counts as 1 in the products. */
static void invert_block(noe_fe *x, int n)
{
    noe_fe before[BLOCK], product = ONE;
    for (int i = 0; i < n; i++) {
        before[i] = product;
        product = noe_fe_mul(product, (noe_fe){or_one(x[i].u), or_one(x[i].v)});
    }
    noe_fe inverse = noe_fe_inv(product);
    for (int i = n; i-- > 0;) {
        noe_fe own = {or_one(x[i].u), or_one(x[i].v)};
        noe_fe result = noe_fe_mul(inverse, before[i]);
        inverse = noe_fe_mul(inverse, own);
        x[i] = (noe_fe){x[i].u ? result.u : 0, x[i].v ? result.v : 0};
    }
}

static void invert_all(noe_fe *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += BLOCK)
        invert_block(x + i, (int)at_most(BLOCK, n - i));
}

static void reciprocal_together(const call *c)
{
    int64_t n = count(&c->out->shape);
    copy(c->out->data, c->in[0].data, n);
    invert_all(c->out->data, n);
}

/* y := 1 / (1 + exp(-scale x)) */
static void sigmoid_together(const call *c, noe_fe scale)
{
    int64_t n = count(&c->out->shape);
    noe_fe *y = c->out->data;
    for (int64_t i = 0; i < n; i++) {
        noe_fe x = noe_fe_mul(scale, c->in[0].data[i]);
        y[i] = noe_fe_add(ONE, noe_fe_exp(c->field, noe_fe_neg(x)));
    }
    invert_all(y, n);
}

static void plain_sigmoid_together(const call *c)
{
    sigmoid_together(c, ONE);
}

static void tanh_together(const call *c)
{
    int64_t n = count(&c->out->shape);
    noe_fe *y = c->out->data;
    sigmoid_together(c, noe_fe_int(2));
    for (int64_t i = 0; i < n; i++)
        y[i] = noe_fe_sub(noe_fe_add(y[i], y[i]), ONE);
}

static void div_together(const call *c)
{
    int64_t n = count(&c->in[1].shape);
    noe_tensor_fe in[2] = {c->in[0], c->in[1]};
    call product = *c;
    in[1].data = noe_malloc((size_t)n * sizeof(noe_fe));
    copy(in[1].data, c->in[1].data, n);
    invert_all(in[1].data, n);
    product.in = in;
    eval_mul(&product);
    free(in[1].data);
}

static void (*const together[NOE_OP_COUNT])(const call *c) = {
    [NOE_OP_RECIPROCAL] = reciprocal_together,
    [NOE_OP_SIGMOID] = plain_sigmoid_together,
    [NOE_OP_TANH] = tanh_together,
    [NOE_OP_DIV] = div_together,
};

void noe_eval_fe(const noe_field *field, noe_op op, const noe_params *params,
                 const noe_tensor_fe *in, int n_in, noe_tensor_fe *out)
{
    call c = {field, op, params, in, n_in, out};
    if (together[op] && field->order == NOE_ORDER_RESIDUE && count(&out->shape) > 1)
        together[op](&c);
    else
        evaluate(&c);
}
