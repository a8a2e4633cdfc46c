/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators over the verification field; core/field.h says how each is modelled.
 *
 * An inverse costs as much as fifty products, so whole tensors are inverted together
 * (Montgomery's trick: one inverse and three products an element); signs of many
 * residues come from one vector of powers. That changes the cost of these operators,
 * not their values; tests compare the two.
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
#define QUOTIENT(C, A, B) noe_fe_quotient((C)->field, A, B)
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
#define CAST(C, X, D)     noe_fe_cast((C)->field, X, D)
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

static void relu_together(const call *c)
{
    int64_t n = count(&c->out->shape);
    bool is_positive[NOE_FE_BLOCK];
    for (int64_t i = 0; i < n; i += NOE_FE_BLOCK) {
        const noe_fe *x = c->in[0].data + i;
        noe_fe *y = c->out->data + i;
        int size = (int)at_most(NOE_FE_BLOCK, n - i);
        noe_fe_positive(x, size, is_positive);
        for (int k = 0; k < size; k++)
            y[k] = is_positive[k] ? x[k] : ZERO;
    }
}

/* The rank of the best so far is kept. */
static T best_of_window(const call *c, window *w, const T *x, const int64_t *out)
{
    int64_t lo[3], hi[3];
    uint64_t top = 0;
    T best = ZERO;
    bool is_first = true;
    clip_window(w, out, lo, hi);
    EACH_TAP(
        w, out, x, lo, hi, uint64_t rank = noe_fe_rank(c->field, element);
        if (is_first || top < rank) {
            is_first = false;
            top = rank;
            best = element;
        })
    return best;
}

static void max_pool_together(const call *c)
{
    window w = window_make(c, param(c, NOE_PARAM_KERNEL_SHAPE)->list,
                           param(c, NOE_PARAM_DILATIONS));
    pool(c, &w, best_of_window);
}

static void (*const together[NOE_OP_COUNT])(const call *c) = {
    [NOE_OP_RECIPROCAL] = reciprocal_together,
    [NOE_OP_SIGMOID] = plain_sigmoid_together,
    [NOE_OP_TANH] = tanh_together,
    [NOE_OP_DIV] = div_together,
    [NOE_OP_RELU] = relu_together,
    [NOE_OP_MAX_POOL] = max_pool_together,
};

void noe_eval_fe(const noe_field *field, noe_op op, const noe_params *params,
                 const noe_tensor_fe *in, int n_in, noe_tensor_fe *out)
{
    call c = {field, op, params, in, n_in, out};
    if (together[op] && field->order == NOE_ORDER_RESIDUE && field->outside == 0 &&
        count(&out->shape) > 1)
        together[op](&c);
    else
        evaluate(&c);
}
