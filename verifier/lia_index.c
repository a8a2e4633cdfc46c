/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape rules and elements of the operators over symbols. Axes, permutations and flags
 * are literal here (lia_scheme.c goes through all of them); dimensions, strides, pads,
 * dilations, kernels, groups and slice bounds are terms.
 */
#include "verifier/lia_index_tools.h"

/* Elementwise */

static noe_fit type_same(noe_index_call *c)
{
    c->out = c->in[0];
    return NOE_FIT_YES;
}

static noe_fit broadcast(noe_index_call *c, const noe_dims *x, const noe_dims *y,
                         noe_dims *out)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;
    out->rank = rank;
    for (int i = 1; i <= rank; i++) {
        noe_poly a = i <= x->rank ? x->dim[x->rank - i] : num(c, 1);
        noe_poly b = i <= y->rank ? y->dim[y->rank - i] : num(c, 1);
        noe_formula fits = noe_formula_or(
            c->a->terms, eq(c, a, b),
            noe_formula_or(c->a->terms, eq(c, a, num(c, 1)), eq(c, b, num(c, 1))));
        FIT(say(c, fits));
        out->dim[rank - i] = noe_poly_broadcast(c->a->terms, a, b);
    }
    return NOE_FIT_YES;
}

static noe_fit type_broadcast(noe_index_call *c)
{
    return broadcast(c, &c->in[0], &c->in[1], &c->out);
}

static const noe_expr *element_add(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_add(c->a, operand(c, 0, index), operand(c, 1, index));
}

static const noe_expr *element_sub(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_add(c->a, operand(c, 0, index),
                        noe_expr_scale(c->a, operand(c, 1, index), minus_one));
}

static const noe_expr *element_mul(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_mul(c->a, operand(c, 0, index), operand(c, 1, index));
}

static const noe_expr *element_div(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_mul(c->a, operand(c, 0, index),
                        noe_expr_apply(c->a, NOE_OP_RECIPROCAL, operand(c, 1, index)));
}

static const noe_expr *element_neg(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_scale(c->a, c->operand(c->ctx, 0, index), minus_one);
}

static const noe_expr *element_function(noe_index_call *c, const noe_poly *index)
{
    return noe_expr_apply(c->a, c->op, c->operand(c->ctx, 0, index));
}

/* A function for each `to`, which may be unknown: equal ones are the same polynomial.
 */
static const noe_expr *element_cast(noe_index_call *c, const noe_poly *index)
{
    noe_poly to = param(c, NOE_PARAM_TO)->number;
    if (to > UINT16_MAX - NOE_FUNCTION_CAST) {
        noe_algebra_give_up(c->a, "too many polynomials to name a cast");
        to = 0;
    }
    return noe_expr_apply(c->a, (noe_op)(NOE_FUNCTION_CAST + to),
                          c->operand(c->ctx, 0, index));
}

/* max(x, y) = x + relu(y - x) */
static const noe_expr *larger(noe_index_call *c, const noe_expr *x, const noe_expr *y)
{
    const noe_expr *difference =
        noe_expr_add(c->a, y, noe_expr_scale(c->a, x, minus_one));
    return noe_expr_add(c->a, x, noe_expr_apply(c->a, NOE_OP_RELU, difference));
}

static const noe_expr *element_max(noe_index_call *c, const noe_poly *index)
{
    return larger(c, operand(c, 0, index), operand(c, 1, index));
}

/* min(x, y) = -max(-x, -y) */
static const noe_expr *element_min(noe_index_call *c, const noe_poly *index)
{
    const noe_expr *x = noe_expr_scale(c->a, operand(c, 0, index), minus_one);
    const noe_expr *y = noe_expr_scale(c->a, operand(c, 1, index), minus_one);
    return noe_expr_scale(c->a, larger(c, x, y), minus_one);
}

static const noe_expr *element_abs(noe_index_call *c, const noe_poly *index)
{
    const noe_expr *x = c->operand(c->ctx, 0, index);
    return larger(c, x, noe_expr_scale(c->a, x, minus_one));
}

/* relu(x) - alpha relu(-x) */
static const noe_expr *element_leaky_relu(noe_index_call *c, const noe_poly *index)
{
    const noe_expr *x = c->operand(c->ctx, 0, index);
    const noe_expr *minus = noe_expr_scale(c->a, x, minus_one);
    const noe_expr *below = noe_expr_mul(c->a, real_param(c, NOE_PARAM_ALPHA),
                                         noe_expr_apply(c->a, NOE_OP_RELU, minus));
    return noe_expr_add(c->a, noe_expr_apply(c->a, NOE_OP_RELU, x),
                        noe_expr_scale(c->a, below, minus_one));
}

static noe_fit type_where(noe_index_call *c)
{
    noe_dims both;
    FIT(broadcast(c, &c->in[0], &c->in[1], &both));
    return broadcast(c, &both, &c->in[2], &c->out);
}

/* y + [c] (x - y), [c] being 1 where c is not 0, else 0. */
static const noe_expr *element_where(noe_index_call *c, const noe_poly *index)
{
    const noe_expr *chosen = noe_expr_apply(c->a, NOE_OP_WHERE, operand(c, 0, index));
    const noe_expr *x = operand(c, 1, index), *y = operand(c, 2, index);
    const noe_expr *more = noe_expr_add(c->a, x, noe_expr_scale(c->a, y, minus_one));
    return noe_expr_add(c->a, y, noe_expr_mul(c->a, chosen, more));
}

/* Products */

static noe_dims batch_of(const noe_dims *x)
{
    noe_dims b = *x;
    b.rank = x->rank > 2 ? x->rank - 2 : 0;
    return b;
}

static noe_fit type_matmul(noe_index_call *c)
{
    const noe_dims *x = &c->in[0], *y = &c->in[1];
    if (x->rank < 1 || y->rank < 1)
        return NOE_FIT_NO;
    noe_poly rows = y->dim[y->rank > 1 ? y->rank - 2 : 0];
    FIT(say(c, eq(c, x->dim[x->rank - 1], rows)));
    noe_dims a = batch_of(x), b = batch_of(y);
    FIT(broadcast(c, &a, &b, &c->out));
    if (x->rank > 1)
        c->out.dim[c->out.rank++] = x->dim[x->rank - 2];
    if (y->rank > 1)
        c->out.dim[c->out.rank++] = y->dim[y->rank - 1];
    return NOE_FIT_YES;
}

static const noe_expr *element_matmul(noe_index_call *c, const noe_poly *index)
{
    const noe_dims *x = &c->in[0], *y = &c->in[1];
    noe_poly at_x[NOE_MAX_RANK], at_y[NOE_MAX_RANK];
    int n_batch = c->out.rank - (x->rank > 1) - (y->rank > 1);
    int bx = batch_of(x).rank, by = batch_of(y).rank;
    range r = {0};
    noe_poly k = bind(c, &r, x->dim[x->rank - 1]);
    broadcast_index(c, x, bx, c->out.dim, n_batch, index, at_x);
    broadcast_index(c, y, by, c->out.dim, n_batch, index, at_y);
    if (x->rank > 1)
        at_x[bx++] = index[n_batch];
    at_x[bx] = k;
    at_y[by++] = k;
    if (y->rank > 1)
        at_y[by] = index[c->out.rank - 1];
    return total(
        c, &r,
        noe_expr_mul(c->a, c->operand(c->ctx, 0, at_x), c->operand(c->ctx, 1, at_y)));
}

/* Windows */

typedef struct window {
    noe_poly kernel, stride, dilation, begin, end;
} window;

static window window_at(const noe_index_call *c, int i, int n, noe_poly kernel,
                        const noe_symbolic *dilations)
{
    const noe_symbolic *pads = param(c, NOE_PARAM_PADS);
    return (window){.kernel = kernel,
                    .stride = param(c, NOE_PARAM_STRIDES)->list[i],
                    .dilation = dilations ? dilations->list[i] : num(c, 1),
                    .begin = pads->list[i],
                    .end = pads->list[n + i]};
}

static noe_poly span_of(const noe_index_call *c, const window *w)
{
    return add(c, mul(c, sub(c, w->kernel, num(c, 1)), w->dilation), num(c, 1));
}

/* Output size along one axis. */
static noe_fit slide(noe_index_call *c, noe_poly dim, const window *w, noe_poly *out)
{
    noe_poly room = sub(c, add(c, dim, add(c, w->begin, w->end)), span_of(c, w));
    FIT(say(c, ge(c, room, num(c, 0))));
    *out = add(c, noe_poly_div(c->a->terms, room, w->stride), num(c, 1));
    return NOE_FIT_YES;
}

/* Where tap k of the window at index lies in the input; guards that it is inside. */
static noe_poly tap(noe_index_call *c, range *r, const window *w, noe_poly dim,
                    noe_poly index, noe_poly k)
{
    int64_t begin, end;
    noe_poly at =
        sub(c, add(c, mul(c, index, w->stride), mul(c, k, w->dilation)), w->begin);
    bool no_begin = noe_poly_is_int(c->a->terms, w->begin, &begin) && begin == 0;
    bool no_end = noe_poly_is_int(c->a->terms, w->end, &end) && end == 0;
    /* Without padding every tap is inside. */
    if (!no_begin)
        r->guard[r->n_guards++] = ge(c, at, num(c, 0));
    if (!no_end)
        r->guard[r->n_guards++] = ge(c, dim, add(c, at, num(c, 1)));
    return at;
}

/* Output channels of a group; false if they are not known to be a whole number. */
static bool group_outputs(noe_index_call *c, noe_poly *outputs)
{
    return noe_poly_divides(c->a->terms, c->in[1].dim[0],
                            param(c, NOE_PARAM_GROUP)->number, outputs);
}

static noe_fit type_conv(noe_index_call *c)
{
    const noe_dims *x = &c->in[0], *w = &c->in[1];
    int n = x->rank - 2;
    noe_poly outputs;
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_STRIDES, n, 1));
    FIT(want_list(c, NOE_PARAM_PADS, 2 * n, 0));
    FIT(want_list(c, NOE_PARAM_DILATIONS, n, 1));
    noe_poly group = param(c, NOE_PARAM_GROUP)->number;
    FIT(say(c, ge(c, group, num(c, 1))));
    FIT(say(c, eq(c, x->dim[1], mul(c, group, w->dim[1]))));
    if (!group_outputs(c, &outputs))
        FIT(say(c, eq(c, w->dim[0],
                      mul(c, group, noe_poly_symbol(c->a->terms, c->aux[0])))));
    c->out = (noe_dims){.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (int i = 0; i < n; i++) {
        window win = window_at(c, i, n, w->dim[2 + i], param(c, NOE_PARAM_DILATIONS));
        FIT(say(c, ge(c, w->dim[2 + i], num(c, 1))));
        FIT(slide(c, x->dim[2 + i], &win, &c->out.dim[2 + i]));
    }
    return NOE_FIT_YES;
}

static const noe_expr *element_conv(noe_index_call *c, const noe_poly *index)
{
    const noe_dims *x = &c->in[0], *w = &c->in[1];
    int n = x->rank - 2;
    int64_t literal_group;
    noe_poly at_x[NOE_MAX_RANK] = {index[0]}, at_w[NOE_MAX_RANK] = {index[1]};
    noe_poly group = param(c, NOE_PARAM_GROUP)->number, first = num(c, 0);
    range r = {0};
    noe_poly channel = bind(c, &r, w->dim[1]);
    if (!noe_poly_is_int(c->a->terms, group, &literal_group) || literal_group != 1) {
        noe_poly outputs;
        if (!group_outputs(c, &outputs))
            outputs = noe_poly_symbol(c->a->terms, c->aux[0]);
        first = mul(c, noe_poly_div(c->a->terms, index[1], outputs), w->dim[1]);
    }
    at_x[1] = add(c, first, channel);
    at_w[1] = channel;
    for (int i = 0; i < n; i++) {
        window win = window_at(c, i, n, w->dim[2 + i], param(c, NOE_PARAM_DILATIONS));
        at_w[2 + i] = bind(c, &r, win.kernel);
        at_x[2 + i] = tap(c, &r, &win, x->dim[2 + i], index[2 + i], at_w[2 + i]);
    }
    return total(
        c, &r,
        noe_expr_mul(c->a, c->operand(c->ctx, 0, at_x), c->operand(c->ctx, 1, at_w)));
}

/* Input channels of a group; false if they are not known to be a whole number. */
static bool group_inputs(noe_index_call *c, noe_poly *inputs)
{
    return noe_poly_divides(c->a->terms, c->in[1].dim[0],
                            param(c, NOE_PARAM_GROUP)->number, inputs);
}

/* Size of an axis over which every element spreads. */
static noe_fit spread(noe_index_call *c, noe_poly dim, const window *w, noe_poly *out)
{
    noe_poly one = num(c, 1);
    FIT(say(c, ge(c, dim, one)));
    FIT(say(c, ge(c, w->kernel, one)));
    FIT(say(c, ge(c, w->begin, num(c, 0))));
    FIT(say(c, noe_formula_or(c->a->terms, ge(c, add(c, w->end, w->stride), one),
                              ge(c, add(c, w->end, w->dilation), one))));
    *out = sub(c, add(c, mul(c, sub(c, dim, one), w->stride), span_of(c, w)),
               add(c, w->begin, w->end));
    return say(c, ge(c, *out, one));
}

static noe_fit type_conv_transpose(noe_index_call *c)
{
    const noe_dims *x = &c->in[0], *w = &c->in[1];
    int n = x->rank - 2;
    noe_poly inputs, group = param(c, NOE_PARAM_GROUP)->number;
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_STRIDES, n, 1));
    FIT(want_list(c, NOE_PARAM_DILATIONS, n, 1));
    if (param(c, NOE_PARAM_PADS)->n != 2 * n)
        return NOE_FIT_NO;
    FIT(say(c, ge(c, group, num(c, 1))));
    FIT(say(c, eq(c, x->dim[1], w->dim[0])));
    if (!group_inputs(c, &inputs))
        FIT(say(c, eq(c, w->dim[0],
                      mul(c, group, noe_poly_symbol(c->a->terms, c->aux[0])))));
    c->out = (noe_dims){.rank = x->rank, .dim = {x->dim[0], mul(c, group, w->dim[1])}};
    for (int i = 0; i < n; i++) {
        window win = window_at(c, i, n, w->dim[2 + i], param(c, NOE_PARAM_DILATIONS));
        FIT(spread(c, x->dim[2 + i], &win, &c->out.dim[2 + i]));
    }
    return NOE_FIT_YES;
}

/* Of the elements and taps, those that meet at the index. */
static const noe_expr *element_conv_transpose(noe_index_call *c, const noe_poly *index)
{
    const noe_dims *x = &c->in[0], *w = &c->in[1];
    int n = x->rank - 2;
    int64_t literal_group;
    noe_poly at_x[NOE_MAX_RANK] = {index[0]}, at_w[NOE_MAX_RANK] = {0, index[1]};
    noe_poly group = param(c, NOE_PARAM_GROUP)->number, inputs, first = num(c, 0);
    range r = {0};
    if (!group_inputs(c, &inputs))
        inputs = noe_poly_symbol(c->a->terms, c->aux[0]);
    noe_poly channel = bind(c, &r, inputs);
    if (!noe_poly_is_int(c->a->terms, group, &literal_group) || literal_group != 1) {
        first = mul(c, noe_poly_div(c->a->terms, index[1], w->dim[1]), inputs);
        at_w[1] = noe_poly_mod(c->a->terms, index[1], w->dim[1]);
    }
    at_x[1] = at_w[0] = add(c, first, channel);
    for (int i = 0; i < n; i++) {
        window win = window_at(c, i, n, w->dim[2 + i], param(c, NOE_PARAM_DILATIONS));
        at_x[2 + i] = bind(c, &r, x->dim[2 + i]);
        at_w[2 + i] = bind(c, &r, win.kernel);
        noe_poly met =
            add(c, mul(c, at_x[2 + i], win.stride), mul(c, at_w[2 + i], win.dilation));
        r.guard[r.n_guards++] = eq(c, sub(c, met, win.begin), index[2 + i]);
    }
    return total(
        c, &r,
        noe_expr_mul(c->a, c->operand(c->ctx, 0, at_x), c->operand(c->ctx, 1, at_w)));
}

/* Pooling */

static noe_fit want_covered(noe_index_call *c, noe_poly dim, const window *w)
{
    noe_poly span = span_of(c, w);
    FIT(say(c, ge(c, dim, num(c, 1))));
    FIT(say(c, ge(c, span, add(c, w->begin, num(c, 1)))));
    FIT(say(c, ge(c, span, add(c, w->end, num(c, 1)))));
    return say(c, noe_formula_or(c->a->terms, ge(c, dim, w->dilation),
                                 ge(c, num(c, 0), add(c, w->begin, w->end))));
}

static noe_fit type_pool(noe_index_call *c, const noe_symbolic *dilations)
{
    const noe_dims *x = &c->in[0];
    int n = x->rank - 2;
    if (x->rank < 3 || x->rank > 5)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_KERNEL_SHAPE, n, 1));
    FIT(want_list(c, NOE_PARAM_STRIDES, n, 1));
    FIT(want_list(c, NOE_PARAM_PADS, 2 * n, 0));
    c->out = *x;
    for (int i = 0; i < n; i++) {
        window w =
            window_at(c, i, n, param(c, NOE_PARAM_KERNEL_SHAPE)->list[i], dilations);
        FIT(want_covered(c, x->dim[2 + i], &w));
        FIT(slide(c, x->dim[2 + i], &w, &c->out.dim[2 + i]));
    }
    return NOE_FIT_YES;
}

/* The window over index: where it reads, and its taps. */
static range window_range(noe_index_call *c, const noe_symbolic *dilations,
                          const noe_poly *index, noe_poly *at)
{
    const noe_dims *x = &c->in[0];
    int n = x->rank - 2;
    range r = {0};
    at[0] = index[0];
    at[1] = index[1];
    for (int i = 0; i < n; i++) {
        window w =
            window_at(c, i, n, param(c, NOE_PARAM_KERNEL_SHAPE)->list[i], dilations);
        noe_poly k = bind(c, &r, w.kernel);
        at[2 + i] = tap(c, &r, &w, x->dim[2 + i], index[2 + i], k);
    }
    return r;
}

static noe_fit type_max_pool(noe_index_call *c)
{
    if (c->in[0].rank < 3)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_DILATIONS, c->in[0].rank - 2, 1));
    return type_pool(c, param(c, NOE_PARAM_DILATIONS));
}

static const noe_expr *element_max_pool(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    range r = window_range(c, param(c, NOE_PARAM_DILATIONS), index, at);
    return noe_expr_maximum(c->a, r.n, r.bound, r.n_guards, r.guard,
                            c->operand(c->ctx, 0, at));
}

static noe_fit type_average_pool(noe_index_call *c)
{
    int64_t flag;
    FIT(want_flag(c, NOE_PARAM_COUNT_INCLUDE_PAD, &flag));
    return type_pool(c, NULL);
}

static const noe_expr *element_average_pool(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK], volume = num(c, 1);
    int64_t padded = 0;
    range r = window_range(c, NULL, index, at), count;
    const noe_expr *sum = total(c, &r, c->operand(c->ctx, 0, at));
    (void)noe_poly_is_int(c->a->terms, param(c, NOE_PARAM_COUNT_INCLUDE_PAD)->number,
                          &padded);
    for (int i = 0; i < c->in[0].rank - 2; i++)
        volume = mul(c, volume, param(c, NOE_PARAM_KERNEL_SHAPE)->list[i]);
    if (padded)
        return noe_expr_mul(c->a, sum, reciprocal_of_count(c, volume));
    count = window_range(c, NULL, index, at);
    return noe_expr_mul(
        c->a, sum,
        noe_expr_apply(c->a, NOE_OP_RECIPROCAL, total(c, &count, number(c, 1, 1))));
}

/* Reductions */

static noe_fit type_reduce(noe_index_call *c, int64_t min)
{
    const noe_dims *x = &c->in[0];
    bool chosen[NOE_MAX_RANK];
    int64_t keep;
    FIT(want_axes(c, x->rank, chosen));
    FIT(want_flag(c, NOE_PARAM_KEEPDIMS, &keep));
    c->out = (noe_dims){0};
    for (int i = 0; i < x->rank; i++) {
        if (chosen[i])
            FIT(say(c, ge(c, x->dim[i], num(c, min))));
        if (!chosen[i] || keep)
            c->out.dim[c->out.rank++] = chosen[i] ? num(c, 1) : x->dim[i];
    }
    return NOE_FIT_YES;
}

static noe_fit type_reduce_sum(noe_index_call *c)
{
    return type_reduce(c, 0);
}

static noe_fit type_reduce_mean(noe_index_call *c)
{
    return type_reduce(c, 1);
}

/* Where the reduced element reads; *count is how many elements it adds up. */
static range reduced_range(noe_index_call *c, const noe_poly *index, noe_poly *at,
                           noe_poly *count)
{
    const noe_dims *x = &c->in[0];
    bool chosen[NOE_MAX_RANK];
    range r = {0};
    int next = 0;
    (void)want_axes(c, x->rank, chosen);
    *count = num(c, 1);
    for (int i = 0; i < x->rank; i++) {
        if (c->out.rank == x->rank)
            next = i;
        if (!chosen[i]) {
            at[i] = index[next++];
            continue;
        }
        at[i] = bind(c, &r, x->dim[i]);
        *count = mul(c, *count, x->dim[i]);
    }
    return r;
}

static const noe_expr *element_reduce_sum(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK], count;
    range r = reduced_range(c, index, at, &count);
    return total(c, &r, c->operand(c->ctx, 0, at));
}

static const noe_expr *element_reduce_mean(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK], count;
    range r = reduced_range(c, index, at, &count);
    return noe_expr_mul(c->a, total(c, &r, c->operand(c->ctx, 0, at)),
                        reciprocal_of_count(c, count));
}

static const noe_expr *element_reduce_max(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK], count;
    range r = reduced_range(c, index, at, &count);
    return noe_expr_maximum(c->a, r.n, r.bound, r.n_guards, r.guard,
                            c->operand(c->ctx, 0, at));
}

static noe_fit type_softmax(noe_index_call *c)
{
    int axis;
    FIT(axis_within(c, param(c, NOE_PARAM_AXIS)->number, c->in[0].rank, &axis));
    return type_same(c);
}

static const noe_expr *element_softmax(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    int axis = 0;
    range r = {0};
    (void)axis_within(c, param(c, NOE_PARAM_AXIS)->number, c->in[0].rank, &axis);
    memcpy(at, index, (size_t)c->out.rank * sizeof *at);
    const noe_expr *top = noe_expr_apply(c->a, NOE_OP_EXP, c->operand(c->ctx, 0, at));
    at[axis] = bind(c, &r, c->in[0].dim[axis]);
    const noe_expr *sum =
        total(c, &r, noe_expr_apply(c->a, NOE_OP_EXP, c->operand(c->ctx, 0, at)));
    return noe_expr_mul(c->a, top, noe_expr_apply(c->a, NOE_OP_RECIPROCAL, sum));
}

/* The table: a row an operator. Composites need none: they occur in no rule of the
 * database, and are proved expanded. */

#define INDEX(ID, TYPE, ELEMENT) [NOE_OP_##ID] = {true, TYPE, ELEMENT},
#define UNINTERPRETED(ID)        [NOE_OP_##ID] = {true, NULL, NULL},

static const noe_index_definition definitions[NOE_OP_COUNT] = {
    /* clang-format off */
    INDEX(ADD, type_broadcast, element_add)
    INDEX(SUB, type_broadcast, element_sub)
    INDEX(MUL, type_broadcast, element_mul)
    INDEX(DIV, type_broadcast, element_div)
    INDEX(NEG, type_same, element_neg)
    INDEX(RELU, type_same, element_function)
    INDEX(SIGMOID, type_same, element_function)
    INDEX(TANH, type_same, element_function)
    INDEX(EXP, type_same, element_function)
    INDEX(SQRT, type_same, element_function)
    INDEX(RECIPROCAL, type_same, element_function)
    INDEX(MATMUL, type_matmul, element_matmul)
    INDEX(CONV, type_conv, element_conv)
    INDEX(MAX_POOL, type_max_pool, element_max_pool)
    INDEX(AVERAGE_POOL, type_average_pool, element_average_pool)
    INDEX(REDUCE_SUM, type_reduce_sum, element_reduce_sum)
    INDEX(REDUCE_MEAN, type_reduce_mean, element_reduce_mean)
    INDEX(SOFTMAX, type_softmax, element_softmax)
    INDEX(TRANSPOSE, noe_index_type_transpose, noe_index_element_transpose)
    INDEX(RESHAPE, noe_index_type_reshape, noe_index_element_reshape)
    INDEX(CONCAT, noe_index_type_concat, noe_index_element_concat)
    INDEX(SLICE, noe_index_type_slice, noe_index_element_slice)
    INDEX(PAD, noe_index_type_pad, noe_index_element_pad)
    INDEX(ZEROS, noe_index_type_constant, noe_index_element_zeros)
    INDEX(ONES, noe_index_type_constant, noe_index_element_ones)
    INDEX(IDENTITY_MATRIX, noe_index_type_identity_matrix, noe_index_element_identity_matrix)
    INDEX(IDENTITY_KERNEL, noe_index_type_kernel, noe_index_element_identity_kernel)
    INDEX(AVERAGE_KERNEL, noe_index_type_kernel, noe_index_element_average_kernel)
    INDEX(SCALAR, noe_index_type_scalar, noe_index_element_scalar)
    INDEX(GATHER, noe_index_type_gather, noe_index_element_gather)
    INDEX(EXPAND, noe_index_type_expand, noe_index_element_expand)
    INDEX(RESIZE, noe_index_type_resize, noe_index_element_resize)
    INDEX(MAX, type_broadcast, element_max)
    INDEX(MIN, type_broadcast, element_min)
    INDEX(ABS, type_same, element_abs)
    INDEX(LEAKY_RELU, type_same, element_leaky_relu)
    INDEX(LOG, type_same, element_function)
    INDEX(ERF, type_same, element_function)
    INDEX(CAST, type_same, element_cast)
    INDEX(REDUCE_MAX, type_reduce_mean, element_reduce_max)
    INDEX(CONV_TRANSPOSE, type_conv_transpose, element_conv_transpose)
    INDEX(WHERE, type_where, element_where)
    /* clang-format on */
};

const noe_index_definition *noe_index_of(noe_op op)
{
    return &definitions[op];
}
