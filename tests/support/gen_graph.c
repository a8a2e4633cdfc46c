/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph grows step by step: a maker is drawn, picks operands among the values so far
 * (or makes weights), draws parameters and adds its operator. A draw that does not fit
 * (shapes, size limit) is dropped and the next one tried; the number of draws is
 * bounded.
 *
 * Shrinking rebuilds the graph with one change at a time and keeps what still fails,
 * until nothing smaller fails. Changes: a single output, the value of any node, in
 * growing order; one node replaced by a fresh input; one size of dimensions replaced
 * everywhere by a smaller one (where the graph then still type-checks).
 */
#include "tests/support/gen_graph.h"
#include "core/base/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_VALUES   256
#define DRAWS_A_NODE 20

typedef struct gen {
    noe_pool *pool;
    noe_graph *g;
    noe_rng rng;
    noe_gen_options o;
    noe_ref values[MAX_VALUES]; /* data values, in order of making */
    int n_values, n_weights;
} gen;

static int64_t draw(gen *n, int64_t lo, int64_t hi)
{
    return noe_rng_range(&n->rng, lo, hi);
}

static bool chance(gen *n, int percent)
{
    return draw(n, 1, 100) <= percent;
}

/* Late values more often than early ones, so that graphs become deep. */
static noe_ref pick(gen *n)
{
    int64_t a = draw(n, 0, n->n_values - 1), b = draw(n, 0, n->n_values - 1);
    return n->values[a > b ? a : b];
}

static const noe_shape *shape_of(const gen *n, noe_ref r)
{
    return &noe_graph_type(n->g, r)->shape;
}

/* Uniform in lo..hi. */
static noe_ref weight(gen *n, const noe_shape *s, double lo, double hi)
{
    size_t count = (size_t)noe_shape_elements(s);
    float *data = noe_arena_alloc(noe_pool_arena(n->pool), (count + 1) * sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(lo + (hi - lo) * noe_rng_unit(&n->rng));
    char name[24];
    snprintf(name, sizeof name, "w%d", n->n_weights++);
    noe_type type = {NOE_F32, *s};
    uint32_t leaf =
        noe_pool_add_leaf(n->pool, name, &type, data, count * sizeof *data, NULL);
    return noe_graph_leaf(n->g, NOE_OP_WEIGHT, leaf);
}

static noe_params default_params(noe_op op, int spatial)
{
    const noe_op_info *info = noe_op_get(op);
    noe_params params = {.n = info->n_params};
    for (int i = 0; i < params.n; i++) {
        noe_value *v = &params.v[i];
        if (!noe_param_default(op, info->params[i], spatial, v))
            *v = (noe_value){.kind = noe_param_kind_of(info->params[i])};
    }
    return params;
}

static void set_int(noe_op op, noe_params *params, noe_param p, int64_t i)
{
    noe_value v = noe_value_int(noe_param_kind_of(p), i);
    noe_params_set(op, params, p, &v);
}

static void set_list(noe_op op, noe_params *params, noe_param p, int n,
                     const int64_t *list)
{
    noe_value v = noe_value_list(noe_param_kind_of(p), n, list);
    noe_params_set(op, params, p, &v);
}

static bool add(gen *n, noe_op op, const noe_params *params, const noe_ref *in,
                int n_in, noe_ref *out)
{
    noe_type types[8], type;
    for (int i = 0; i < n_in; i++)
        types[i] = *noe_graph_type(n->g, in[i]);
    if (noe_op_infer(op, params, types, n_in, &type, NULL) != NOE_OK)
        return false;
    int64_t elements = noe_shape_elements(&type.shape);
    if (elements < 1 || elements > n->o.max_elements || n->n_values == MAX_VALUES)
        return false;
    if (noe_graph_add(n->g, op, params, in, n_in, out, NULL) != NOE_OK)
        return false;
    n->values[n->n_values++] = *out;
    return true;
}

static bool make_unary(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    if (noe_op_has(op, NOE_TRAIT_PARTIAL) && !add(n, NOE_OP_SIGMOID, NULL, &x, 1, &x))
        return false;
    if ((op == NOE_OP_RECIPROCAL || op == NOE_OP_LOG) &&
        !add(n, NOE_OP_EXP, NULL, &x, 1, &x))
        return false;
    return add(n, op, NULL, &x, 1, &y);
}

/* Functions of one value whose parameters are numbers. */
static bool make_function(gen *n, noe_op op)
{
    static const double numbers[] = {0.25, 0.5, 1.5, 2};
    noe_params params = {0};
    noe_ref x = pick(n), y;
    for (int i = 0; i < noe_op_get(op)->n_params; i++) {
        noe_value v = noe_value_float(numbers[draw(n, 0, 3)]);
        noe_params_set(op, &params, noe_op_get(op)->params[i], &v);
    }
    if (noe_op_has(op, NOE_TRAIT_PARTIAL) && !add(n, NOE_OP_SIGMOID, NULL, &x, 1, &x))
        return false;
    return add(n, op, &params, &x, 1, &y);
}

/* A shape that broadcasts to s. */
static noe_shape broadcast_to(gen *n, const noe_shape *s)
{
    int drop = chance(n, 40) ? (int)draw(n, 0, s->rank) : 0;
    noe_shape out = noe_shape_make(s->rank - drop, s->dim + drop);
    for (int i = 0; i < out.rank; i++) {
        if (chance(n, 35))
            out.dim[i] = 1;
    }
    return out;
}

static noe_ref second_operand(gen *n, noe_ref a)
{
    for (int i = 0; i < 6 && chance(n, 80); i++) {
        noe_ref b = pick(n);
        noe_shape both;
        if (noe_shape_broadcast(shape_of(n, a), shape_of(n, b), &both) &&
            (noe_shape_eq(&both, shape_of(n, a)) || chance(n, 30)))
            return b;
    }
    noe_shape s = chance(n, 25) ? *shape_of(n, a) : broadcast_to(n, shape_of(n, a));
    return weight(n, &s, 0.5, 1.5);
}

static bool make_binary(gen *n, noe_op op)
{
    noe_ref in[2], y;
    in[0] = pick(n);
    in[1] = second_operand(n, in[0]);
    if (chance(n, 30)) {
        y = in[0];
        in[0] = in[1];
        in[1] = y;
    }
    if (op == NOE_OP_DIV && !n->g->nodes[in[1].node].is_weight &&
        (!add(n, NOE_OP_SIGMOID, NULL, &in[1], 1, &in[1]) ||
         !add(n, NOE_OP_EXP, NULL, &in[1], 1, &in[1])))
        return false;
    return add(n, op, NULL, in, 2, &y);
}

static noe_ref scaled_weight(gen *n, const noe_shape *s, int64_t fan_in)
{
    double bound = sqrt(3.0 / (double)(fan_in > 0 ? fan_in : 1));
    return weight(n, s, -bound, bound);
}

static bool make_matmul(gen *n, noe_op op)
{
    noe_ref in[2], y;
    in[0] = pick(n);
    const noe_shape *a = shape_of(n, in[0]);
    if (a->rank < 1)
        return false;
    int64_t k = a->dim[a->rank - 1];
    for (int i = 0; i < 4; i++) {
        in[1] = pick(n);
        if (chance(n, 50) && add(n, op, NULL, in, 2, &y))
            return true;
    }
    noe_shape s = noe_shape_make(2, (int64_t[]){k, draw(n, 1, n->o.wide ? 40 : 6)});
    if (a->rank > 2 && chance(n, 30)) {
        int64_t batch = chance(n, 50) ? 1 : a->dim[a->rank - 3];
        s = noe_shape_make(3, (int64_t[]){batch, k, s.dim[1]});
    } else if (chance(n, 5)) {
        s = noe_shape_make(1, &k);
    }
    in[1] = scaled_weight(n, &s, k);
    return add(n, op, NULL, in, 2, &y);
}

static bool make_gemm(gen *n, noe_op op)
{
    noe_ref in[3], y;
    in[0] = pick(n);
    noe_shape a = *shape_of(n, in[0]);
    if (a.rank != 2)
        return false;
    noe_params params = default_params(op, 0);
    int64_t ta = chance(n, 30), tb = chance(n, 30);
    int64_t m = a.dim[ta], k = a.dim[1 - ta], c = draw(n, 1, n->o.wide ? 40 : 6);
    set_int(op, &params, NOE_PARAM_TRANS_A, ta);
    set_int(op, &params, NOE_PARAM_TRANS_B, tb);
    noe_value v = noe_value_float(0.5);
    if (chance(n, 30))
        noe_params_set(op, &params, NOE_PARAM_ALPHA, &v);
    if (chance(n, 30))
        noe_params_set(op, &params, NOE_PARAM_BETA, &v);
    noe_shape b = noe_shape_make(2, (int64_t[]){tb ? c : k, tb ? k : c});
    in[1] = scaled_weight(n, &b, k);
    if (chance(n, 30))
        return add(n, op, &params, in, 2, &y);
    noe_shape y_shape = noe_shape_make(2, (int64_t[]){m, c});
    noe_shape bias = chance(n, 50) ? noe_shape_make(1, &c) : broadcast_to(n, &y_shape);
    in[2] = weight(n, &bias, -1, 1);
    return add(n, op, &params, in, 3, &y);
}

/* Window parameters for a kernel of these sizes over x. */
static void draw_window(gen *n, noe_op op, noe_params *params, int spatial,
                        const int64_t *kernel, bool dilate)
{
    int64_t strides[NOE_MAX_RANK], pads[NOE_MAX_LIST], dilations[NOE_MAX_RANK];
    for (int i = 0; i < spatial; i++) {
        strides[i] = chance(n, 70) ? 1 : draw(n, 1, 3);
        dilations[i] = dilate && chance(n, 20) ? 2 : 1;
        for (int end = 0; end < 2; end++)
            pads[i + end * spatial] =
                chance(n, 50) ? kernel[i] / 2 : draw(n, 0, kernel[i] - 1);
    }
    set_list(op, params, NOE_PARAM_STRIDES, spatial, strides);
    set_list(op, params, NOE_PARAM_PADS, 2 * spatial, pads);
    if (dilate)
        set_list(op, params, NOE_PARAM_DILATIONS, spatial, dilations);
}

static bool make_conv(gen *n, noe_op op)
{
    noe_ref in[3], y;
    in[0] = pick(n);
    noe_shape x = *shape_of(n, in[0]);
    if (x.rank < 3 || x.rank > 5)
        return false;
    int spatial = x.rank - 2;
    int64_t group = chance(n, 70) ? 1 : chance(n, 50) ? x.dim[1] : draw(n, 1, 4);
    if (x.dim[1] % group != 0)
        return false;
    int64_t out = chance(n, 40) ? x.dim[1] : group * draw(n, 1, n->o.wide ? 34 : 4);
    if (out % group != 0 || out > 200)
        return false;
    noe_shape w = noe_shape_make(2, (int64_t[]){out, x.dim[1] / group});
    int64_t fan_in = w.dim[1];
    for (int i = 0; i < spatial; i++) {
        w.dim[w.rank++] = draw(n, 1, 3);
        fan_in *= w.dim[2 + i];
    }
    noe_params params = default_params(op, spatial);
    draw_window(n, op, &params, spatial, &w.dim[2], true);
    set_int(op, &params, NOE_PARAM_GROUP, group);
    in[1] = scaled_weight(n, &w, fan_in);
    if (op == NOE_OP_CONV)
        return add(n, op, &params, in, 2, &y);
    noe_shape bias = noe_shape_make(1, &out);
    in[2] = weight(n, &bias, -1, 1);
    return add(n, op, &params, in, 3, &y);
}

/* A bias and perhaps a residual and an activation behind the latest value: what fuses.
 */
static bool make_followers(gen *n, noe_op op)
{
    (void)op;
    static const noe_op activations[] = {NOE_OP_RELU, NOE_OP_SIGMOID, NOE_OP_TANH};
    noe_ref in[2], y = n->values[n->n_values - 1];
    const noe_shape *s = shape_of(n, y);
    if (s->rank < 2)
        return false;
    if (chance(n, 50)) {
        bool last = chance(n, 40);
        noe_shape b = {.rank = last ? 1 : s->rank - 1, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
        b.dim[0] = s->dim[last ? s->rank - 1 : 1];
        in[0] = y;
        in[1] = weight(n, &b, -1, 1);
        if (!add(n, NOE_OP_ADD, NULL, in, 2, &y))
            return false;
    }
    for (int i = 0; i < 6; i++) {
        in[0] = y;
        in[1] = pick(n);
        if (noe_ref_eq(in[0], in[1]) || !chance(n, 60) ||
            !noe_shape_eq(shape_of(n, in[0]), shape_of(n, in[1])))
            continue;
        if (add(n, NOE_OP_ADD, NULL, in, 2, &y))
            break;
    }
    return add(n, activations[draw(n, 0, 2)], NULL, &y, 1, &y);
}

static bool make_pool(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    const noe_shape *s = shape_of(n, x);
    if (s->rank < 3 || s->rank > 5)
        return false;
    int spatial = s->rank - 2;
    noe_params params = default_params(op, spatial);
    if (op == NOE_OP_GLOBAL_AVERAGE_POOL)
        return add(n, op, &params, &x, 1, &y);
    int64_t kernel[NOE_MAX_RANK];
    for (int i = 0; i < spatial; i++)
        kernel[i] = draw(n, 1, 3);
    set_list(op, &params, NOE_PARAM_KERNEL_SHAPE, spatial, kernel);
    draw_window(n, op, &params, spatial, kernel, op == NOE_OP_MAX_POOL);
    if (op == NOE_OP_AVERAGE_POOL)
        set_int(op, &params, NOE_PARAM_COUNT_INCLUDE_PAD, chance(n, 50));
    return add(n, op, &params, &x, 1, &y);
}

static int draw_axes(gen *n, int rank, int64_t *axes)
{
    int count = 0;
    for (int i = 0; i < rank; i++) {
        if (chance(n, 45))
            axes[count++] = i;
    }
    return count;
}

static bool make_reduce(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    int64_t axes[NOE_MAX_RANK];
    noe_params params = default_params(op, 0);
    int count = draw_axes(n, shape_of(n, x)->rank, axes);
    set_list(op, &params, NOE_PARAM_AXES, count, axes);
    set_int(op, &params, NOE_PARAM_KEEPDIMS, chance(n, 50));
    return add(n, op, &params, &x, 1, &y);
}

static bool make_softmax(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    int rank = shape_of(n, x)->rank;
    if (rank == 0)
        return false;
    noe_params params = default_params(op, 0);
    set_int(op, &params, NOE_PARAM_AXIS, draw(n, 0, rank - 1));
    return add(n, op, &params, &x, 1, &y);
}

static bool make_transpose(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    int rank = shape_of(n, x)->rank;
    int64_t perm[NOE_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int64_t k = draw(n, 0, i);
        perm[i] = perm[k];
        perm[k] = i;
    }
    noe_params params = default_params(op, 0);
    set_list(op, &params, NOE_PARAM_PERM, rank, perm);
    return add(n, op, &params, &x, 1, &y);
}

/* Splits or joins axes. */
static bool make_reshape(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    noe_shape s = *shape_of(n, x), out = {0};
    for (int i = 0; i < s.rank; i++) {
        int64_t d = s.dim[i], part = draw(n, 2, 4);
        if (chance(n, 25) && d % part == 0 && out.rank + s.rank - i < NOE_MAX_RANK) {
            out.dim[out.rank++] = part;
            d /= part;
        }
        if (out.rank > 0 && chance(n, 40))
            out.dim[out.rank - 1] *= d;
        else
            out.dim[out.rank++] = d;
    }
    noe_params params = default_params(op, 0);
    set_list(op, &params, NOE_PARAM_SHAPE, out.rank, out.dim);
    return add(n, op, &params, &x, 1, &y);
}

static bool make_concat(gen *n, noe_op op)
{
    noe_ref in[2], y;
    in[0] = pick(n);
    const noe_shape *s = shape_of(n, in[0]);
    if (s->rank == 0)
        return false;
    noe_params params = default_params(op, 0);
    set_int(op, &params, NOE_PARAM_AXIS, draw(n, 0, s->rank - 1));
    for (int i = 0; i < 5; i++) {
        in[1] = pick(n);
        if (!noe_ref_eq(in[0], in[1]) && add(n, op, &params, in, 2, &y))
            return true;
    }
    in[1] = chance(n, 50) ? in[0] : weight(n, shape_of(n, in[0]), -1, 1);
    return add(n, op, &params, in, 2, &y);
}

static bool make_slice(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    const noe_shape *s = shape_of(n, x);
    if (s->rank == 0)
        return false;
    noe_params params = default_params(op, 0);
    int axis = (int)draw(n, 0, s->rank - 1);
    int64_t start = draw(n, 0, s->dim[axis] - 1);
    set_int(op, &params, NOE_PARAM_AXIS, axis);
    set_int(op, &params, NOE_PARAM_START, start);
    set_int(op, &params, NOE_PARAM_END, draw(n, start + 1, s->dim[axis]));
    set_int(op, &params, NOE_PARAM_STEP, chance(n, 70) ? 1 : 2);
    return add(n, op, &params, &x, 1, &y);
}

static bool make_pad(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    int rank = shape_of(n, x)->rank;
    int64_t pads[NOE_MAX_LIST];
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = chance(n, 30) ? draw(n, 0, 2) : 0;
    noe_params params = default_params(op, 0);
    set_list(op, &params, NOE_PARAM_PADS, 2 * rank, pads);
    return add(n, op, &params, &x, 1, &y);
}

static bool make_batch_norm(gen *n, noe_op op)
{
    noe_ref in[5], y;
    in[0] = pick(n);
    const noe_shape *x = shape_of(n, in[0]);
    if (x->rank < 2)
        return false;
    noe_shape c = noe_shape_make(1, &x->dim[1]);
    for (int i = 1; i < 5; i++)
        in[i] = weight(n, &c, i == 4 ? 0.5 : -1, 1.5);
    noe_params params = default_params(op, 0);
    return add(n, op, &params, in, 5, &y);
}

static bool make_flatten(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    noe_params params = default_params(op, 0);
    set_int(op, &params, NOE_PARAM_AXIS, draw(n, 0, shape_of(n, x)->rank));
    return add(n, op, &params, &x, 1, &y);
}

static bool make_squeeze(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    const noe_shape *s = shape_of(n, x);
    int64_t axes[NOE_MAX_RANK];
    int count = 0;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == 1)
            axes[count++] = i;
    }
    noe_params params = default_params(op, 0);
    set_list(op, &params, NOE_PARAM_AXES, count, axes);
    return count > 0 && add(n, op, &params, &x, 1, &y);
}

static bool make_unsqueeze(gen *n, noe_op op)
{
    noe_ref x = pick(n), y;
    int rank = shape_of(n, x)->rank;
    if (rank >= 5)
        return false;
    int64_t axis = draw(n, 0, rank);
    noe_params params = default_params(op, 0);
    set_list(op, &params, NOE_PARAM_AXES, 1, &axis);
    return add(n, op, &params, &x, 1, &y);
}

/* Weighted: an entry more is drawn more often. Composite ones last. */
static const struct maker {
    noe_op op;
    bool (*make)(gen *n, noe_op op);
} makers[] = {
    {NOE_OP_ADD, make_binary},
    {NOE_OP_ADD, make_binary},
    {NOE_OP_SUB, make_binary},
    {NOE_OP_MUL, make_binary},
    {NOE_OP_DIV, make_binary},
    {NOE_OP_NEG, make_unary},
    {NOE_OP_RELU, make_unary},
    {NOE_OP_SIGMOID, make_unary},
    {NOE_OP_TANH, make_unary},
    {NOE_OP_EXP, make_unary},
    {NOE_OP_SQRT, make_unary},
    {NOE_OP_RECIPROCAL, make_unary},
    {NOE_OP_MAX, make_binary},
    {NOE_OP_MIN, make_binary},
    {NOE_OP_ABS, make_unary},
    {NOE_OP_LEAKY_RELU, make_function},
    {NOE_OP_LOG, make_unary},
    {NOE_OP_ERF, make_unary},
    {NOE_OP_REDUCE_MAX, make_reduce},
    {NOE_OP_MATMUL, make_matmul},
    {NOE_OP_MATMUL, make_matmul},
    {NOE_OP_CONV, make_conv},
    {NOE_OP_CONV, make_conv},
    {NOE_OP_CONV, make_conv},
    {NOE_OP_COUNT, make_followers},
    {NOE_OP_COUNT, make_followers},
    {NOE_OP_MAX_POOL, make_pool},
    {NOE_OP_AVERAGE_POOL, make_pool},
    {NOE_OP_REDUCE_SUM, make_reduce},
    {NOE_OP_REDUCE_MEAN, make_reduce},
    {NOE_OP_SOFTMAX, make_softmax},
    {NOE_OP_TRANSPOSE, make_transpose},
    {NOE_OP_RESHAPE, make_reshape},
    {NOE_OP_CONCAT, make_concat},
    {NOE_OP_CONCAT, make_concat},
    {NOE_OP_SLICE, make_slice},
    {NOE_OP_PAD, make_pad},
    {NOE_OP_GEMM, make_gemm},
    {NOE_OP_GEMM, make_gemm},
    {NOE_OP_CONV_BIAS, make_conv},
    {NOE_OP_CONV_BIAS, make_conv},
    {NOE_OP_BATCH_NORMALIZATION, make_batch_norm},
    {NOE_OP_GLOBAL_AVERAGE_POOL, make_pool},
    {NOE_OP_FLATTEN, make_flatten},
    {NOE_OP_SQUEEZE, make_squeeze},
    {NOE_OP_UNSQUEEZE, make_unsqueeze},
    {NOE_OP_CLIP, make_function},
    {NOE_OP_POW, make_function},
    {NOE_OP_HARD_SIGMOID, make_function},
    {NOE_OP_ELU, make_function},
    {NOE_OP_SOFTPLUS, make_unary},
    {NOE_OP_PRELU, make_binary},
    {NOE_OP_REDUCE_MIN, make_reduce},
    {NOE_OP_LOG_SOFTMAX, make_softmax},
};
#define N_COMPOSITE_MAKERS 17

static noe_shape draw_input_shape(gen *n)
{
    int rank = chance(n, 55) ? 4 : (int)draw(n, 1, 5);
    noe_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i] = draw(n, rank >= 4 ? 3 : 1, rank >= 5 ? 4 : 7);
    if (rank >= 3)
        s.dim[0] = draw(n, 1, 2);
    if (rank >= 2 && n->o.wide && chance(n, 70))
        s.dim[1] = chance(n, 50) ? 16 * draw(n, 1, 2) : draw(n, 8, 34);
    return s;
}

static void add_inputs(gen *n)
{
    int count = (int)draw(n, 1, 3);
    noe_type type = {.dtype = NOE_F32};
    for (int i = 0; i < count; i++) {
        if (i == 0 || chance(n, 50))
            type.shape = draw_input_shape(n);
        char name[24];
        snprintf(name, sizeof name, "x%d", i);
        uint32_t leaf = noe_pool_add_leaf(n->pool, name, &type, NULL, 0, NULL);
        n->values[n->n_values++] = noe_graph_leaf(n->g, NOE_OP_INPUT, leaf);
    }
}

static void add_outputs(gen *n)
{
    uint8_t *used = noe_calloc(n->g->n_nodes, 1);
    for (uint32_t i = 0; i < n->g->n_inputs_of; i++)
        used[n->g->inputs_of[i].node] = 1;
    int k = 0;
    for (uint32_t i = 0; i < n->g->n_nodes; i++) {
        bool is_data = n->g->nodes[i].op < NOE_OP_COUNT && !n->g->nodes[i].is_weight;
        if (!is_data || (used[i] && !chance(n, 5)))
            continue;
        char name[24];
        snprintf(name, sizeof name, "y%d", k++);
        noe_graph_add_output(n->g, (noe_ref){i, 0}, name);
    }
    free(used);
}

noe_graph *noe_gen_graph(noe_pool *pool, const noe_gen_options *options)
{
    gen n = {.pool = pool, .g = noe_graph_new(pool), .o = *options};
    n.rng = noe_rng_split(options->seed, "random graph", 0);
    if (n.o.n_nodes == 0)
        n.o.n_nodes = 12;
    if (n.o.max_elements == 0)
        n.o.max_elements = 4096;
    add_inputs(&n);
    int n_makers = (int)(sizeof makers / sizeof makers[0]);
    if (!n.o.composites)
        n_makers -= N_COMPOSITE_MAKERS;
    int made = 0;
    for (int i = 0; i < n.o.n_nodes * DRAWS_A_NODE && made < n.o.n_nodes; i++) {
        const struct maker *m = &makers[draw(&n, 0, n_makers - 1)];
        made += m->make(&n, m->op);
    }
    add_outputs(&n);
    return n.g;
}

/* Copies g; map presets redirect nodes. NULL if it does not type-check. */
static noe_graph *rebuild(const noe_graph *g, noe_graph *out, noe_ref *map)
{
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        noe_ref r;
        if (noe_graph_transfer(out, g, g->outputs[k].ref, map, &r, NULL) != NOE_OK) {
            noe_graph_free(out);
            return NULL;
        }
        noe_graph_add_output(out, r, g->outputs[k].name);
    }
    return out;
}

static noe_ref *empty_map(const noe_graph *g)
{
    noe_ref *map = noe_malloc((g->n_nodes + 1) * sizeof *map);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        map[i] = NOE_REF_NONE;
    return map;
}

static noe_ref random_leaf(noe_graph *g, noe_op op, const char *name,
                           const noe_type *type, uint64_t seed)
{
    gen n = {.pool = g->pool, .g = g};
    n.rng = noe_rng_split(seed, name, 0);
    if (op == NOE_OP_WEIGHT)
        return weight(&n, &type->shape, -1, 1);
    uint32_t leaf = noe_pool_add_leaf(g->pool, name, type, NULL, 0, NULL);
    return noe_graph_leaf(g, NOE_OP_INPUT, leaf);
}

noe_graph *noe_gen_fill_weights(const noe_graph *g, uint64_t seed)
{
    noe_graph *out = noe_graph_new(g->pool);
    noe_ref *map = empty_map(g);
    /* Inputs too, so that they keep their order. */
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_INPUT)
            map[i] = noe_graph_leaf(out, NOE_OP_INPUT, g->nodes[i].leaf);
        if (g->nodes[i].op == NOE_OP_WEIGHT && !noe_graph_leaf_of(g, i)->data)
            map[i] = random_leaf(out, NOE_OP_WEIGHT, noe_graph_leaf_of(g, i)->name,
                                 g->nodes[i].types, seed + i);
    }
    out = rebuild(g, out, map);
    free(map);
    return out;
}

static float **room(noe_arena *arena, uint32_t n)
{
    return noe_arena_zalloc(arena, (n + 1) * sizeof(float *));
}

float **noe_gen_inputs(const noe_graph *g, noe_arena *arena, uint64_t seed)
{
    float **inputs = room(arena, g->n_nodes);
    uint32_t n_inputs = 0;
    noe_rng rng = noe_rng_split(seed, "inputs", 0);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_INPUT)
            continue;
        size_t n = (size_t)noe_shape_elements(&g->nodes[i].types[0].shape);
        float *data = noe_arena_alloc(arena, (n + 1) * sizeof *data);
        for (size_t k = 0; k < n; k++)
            data[k] = (float)noe_rng_normal(&rng);
        inputs[n_inputs++] = data;
    }
    return inputs;
}

float **noe_gen_outputs(const noe_graph *g, noe_arena *arena)
{
    float **outputs = room(arena, g->n_outputs);
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        const noe_type *type = noe_graph_type(g, g->outputs[k].ref);
        size_t n = (size_t)noe_shape_elements(&type->shape);
        outputs[k] = noe_arena_alloc(arena, (n + 1) * sizeof(float));
    }
    return outputs;
}

/* The candidate replaces *best if it still fails; takes it in any case. */
static bool accept(noe_graph **best, noe_graph *candidate, noe_gen_fails_fn *fails,
                   void *ctx)
{
    if (!candidate)
        return false;
    if (!fails(ctx, candidate)) {
        noe_graph_free(candidate);
        return false;
    }
    noe_graph_free(*best);
    *best = candidate;
    return true;
}

static noe_graph *with_one_output(const noe_graph *g, noe_ref r)
{
    noe_graph *out = noe_graph_new(g->pool);
    noe_ref *map = empty_map(g), image;
    noe_status s = noe_graph_transfer(out, g, r, map, &image, NULL);
    free(map);
    if (s != NOE_OK) {
        noe_graph_free(out);
        return NULL;
    }
    noe_graph_add_output(out, image, "y");
    return out;
}

static bool shrink_outputs(noe_graph **best, noe_gen_fails_fn *fails, void *ctx)
{
    const noe_graph *g = *best;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool is_it = g->n_outputs == 1 && g->outputs[0].ref.node == i;
        if (is_it || g->nodes[i].op >= NOE_OP_COUNT || g->nodes[i].is_weight)
            continue;
        noe_graph *candidate = with_one_output(g, (noe_ref){i, 0});
        /* A single output counts as progress only if nodes went. */
        if (candidate && candidate->n_nodes >= g->n_nodes && g->n_outputs == 1) {
            noe_graph_free(candidate);
            continue;
        }
        if (accept(best, candidate, fails, ctx))
            return true;
    }
    return false;
}

static bool shrink_nodes(noe_graph **best, noe_gen_fails_fn *fails, void *ctx)
{
    const noe_graph *g = *best;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        if (g->nodes[i].op >= NOE_OP_COUNT || g->nodes[i].is_weight)
            continue;
        noe_graph *out = noe_graph_new(g->pool);
        noe_ref *map = empty_map(g);
        char name[24];
        snprintf(name, sizeof name, "cut%u", i);
        map[i] = random_leaf(out, NOE_OP_INPUT, name, g->nodes[i].types, 1);
        noe_graph *candidate = rebuild(g, out, map);
        free(map);
        if (candidate && candidate->n_nodes >= g->n_nodes) {
            noe_graph_free(candidate);
            candidate = NULL;
        }
        if (accept(best, candidate, fails, ctx))
            return true;
    }
    return false;
}

/* Every leaf dimension (and entry of a shape parameter) of size `from` becomes `to`. */
static noe_graph *with_dimension(const noe_graph *g, int64_t from, int64_t to)
{
    noe_graph *out = noe_graph_new(g->pool);
    noe_ref *map = empty_map(g);
    bool ok = true;
    for (uint32_t i = 0; i < g->n_nodes && ok; i++) {
        const noe_node *n = &g->nodes[i];
        noe_ref in[8];
        if (n->op >= NOE_OP_COUNT) {
            noe_type type = n->types[0];
            for (int k = 0; k < type.shape.rank; k++) {
                if (type.shape.dim[k] == from)
                    type.shape.dim[k] = to;
            }
            map[i] = random_leaf(out, n->op, noe_graph_leaf_of(g, i)->name, &type, i);
            continue;
        }
        for (uint32_t k = 0; k < n->n_inputs; k++)
            in[k] = map[noe_graph_inputs(g, i)[k].node];
        noe_params params = n->params ? *n->params : (noe_params){0};
        if (n->op == NOE_OP_RESHAPE) {
            for (int k = 0; k < params.v[0].n; k++) {
                if (params.v[0].list[k] == from)
                    params.v[0].list[k] = to;
            }
        }
        ok = noe_graph_add(out, n->op, n->params ? &params : NULL, in, (int)n->n_inputs,
                           &map[i], NULL) == NOE_OK;
    }
    for (uint32_t k = 0; k < g->n_outputs && ok; k++)
        noe_graph_add_output(out, map[g->outputs[k].ref.node], g->outputs[k].name);
    free(map);
    if (!ok) {
        noe_graph_free(out);
        return NULL;
    }
    return out;
}

static bool shrink_dimensions(noe_graph **best, noe_gen_fails_fn *fails, void *ctx)
{
    const noe_graph *g = *best;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_shape *s = &g->nodes[i].types[0].shape;
        for (int k = 0; k < s->rank && g->nodes[i].op >= NOE_OP_COUNT; k++) {
            int64_t d = s->dim[k], tries[3] = {1, d / 2, d - 1};
            for (int t = 0; t < 3; t++) {
                if (tries[t] < 1 || tries[t] >= d)
                    continue;
                if (accept(best, with_dimension(g, d, tries[t]), fails, ctx))
                    return true;
            }
        }
    }
    return false;
}

noe_graph *noe_gen_shrink(const noe_graph *g, noe_gen_fails_fn *fails, void *ctx)
{
    noe_graph *best = noe_graph_copy(g);
    while (shrink_outputs(&best, fails, ctx) || shrink_nodes(&best, fails, ctx) ||
           shrink_dimensions(&best, fails, ctx))
        continue;
    return best;
}
