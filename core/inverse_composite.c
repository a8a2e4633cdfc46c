/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverses for composite operators, which no rule of the database has, but whose
 * definitions are checked like rules. Convolution with bias and global pooling have
 * none: the other side of their definitions is solved instead.
 */
#include "core/instance_search.h"

static const noe_shape any_shape = {.rank = NOE_RANK_UNKNOWN};

static uint16_t kid(const noe_search *s, uint16_t node, int i)
{
    return s->rule->nodes[node].inputs[i];
}

static int64_t flag(noe_search *s, uint16_t node, noe_param p)
{
    noe_value v = noe_value_int(NOE_KIND_INT, (int64_t)noe_rng_below(s->rng, 2));
    return noe_search_param(s, node, p, 0, &v).i;
}

static void choose_float(noe_search *s, uint16_t node, noe_param p)
{
    static const double values[] = {0.5, 2, 1, 0.25, 3};
    noe_value v = noe_value_float(values[noe_rng_below(s->rng, 5)]);
    noe_search_param(s, node, p, 0, &v);
}

/* Shape of a matrix operand, transposed or not. */
static noe_shape matrix(int64_t rows, int64_t columns, int64_t is_transposed)
{
    if (is_transposed)
        return noe_shape_make(2, (int64_t[]){columns, rows});
    return noe_shape_make(2, (int64_t[]){rows, columns});
}

bool noe_inverse_gemm(noe_search *s, uint16_t node, const noe_shape *want)
{
    int64_t ta = flag(s, node, NOE_PARAM_TRANS_A),
            tb = flag(s, node, NOE_PARAM_TRANS_B);
    choose_float(s, node, NOE_PARAM_ALPHA);
    choose_float(s, node, NOE_PARAM_BETA);
    noe_shape out = want->rank == 2 ? *want : noe_search_shape(s, 2);
    int64_t inner = noe_search_dim(s);
    noe_shape a = matrix(out.dim[0], inner, ta), b = matrix(inner, out.dim[1], tb);
    if (!noe_search_solve(s, kid(s, node, 0), &a) ||
        !noe_search_solve(s, kid(s, node, 1), &b))
        return false;
    if (s->rule->nodes[node].n_inputs < 3)
        return true;
    for (int i = 0; i < 2; i++) {
        if (noe_search_chance(s, 3))
            out.dim[i] = 1;
    }
    if (noe_search_chance(s, 3))
        out = noe_shape_make(1, &out.dim[1]);
    return noe_search_solve(s, kid(s, node, 2), &out);
}

bool noe_inverse_batch_normalization(noe_search *s, uint16_t node,
                                     const noe_shape *want)
{
    choose_float(s, node, NOE_PARAM_EPSILON);
    noe_shape x =
        want->rank >= 0 ? *want : noe_search_shape(s, noe_search_rank(s, 2, 5));
    if (x.rank < 2 || !noe_search_solve(s, kid(s, node, 0), &x))
        return false;
    noe_shape channels = noe_shape_make(1, &x.dim[1]);
    for (int i = 1; i < 5; i++) {
        if (!noe_search_solve(s, kid(s, node, i), &channels))
            return false;
    }
    return true;
}

bool noe_inverse_flatten(noe_search *s, uint16_t node, const noe_shape *want)
{
    (void)want;
    if (!noe_search_solve(s, kid(s, node, 0), &any_shape))
        return false;
    int rank = noe_search_known(s, kid(s, node, 0))->rank;
    noe_value axis =
        noe_value_int(NOE_KIND_AXIS, (int64_t)noe_rng_below(s->rng, rank + 1u));
    noe_search_param(s, node, NOE_PARAM_AXIS, 0, &axis);
    return true;
}

/* Some of the places 0..rank-1, ascending; those with a 1 only if `ones` is given. */
static noe_value some_axes(noe_search *s, int rank, const noe_shape *ones)
{
    noe_value v = {.kind = NOE_KIND_AXES};
    for (int i = 0; i < rank; i++) {
        if ((!ones || ones->dim[i] == 1) && noe_search_chance(s, 2))
            v.list[v.n++] = i;
    }
    return v;
}

bool noe_inverse_squeeze(noe_search *s, uint16_t node, const noe_shape *want)
{
    noe_shape x =
        want->rank >= 0 ? *want : noe_search_shape(s, noe_search_rank(s, 0, 4));
    int rank = x.rank + 1 + (int)noe_rng_below(s->rng, 2);
    noe_shape in = {.rank = rank};
    noe_value axes = {.kind = NOE_KIND_AXES};
    int next = 0;
    for (int i = 0; i < rank; i++) {
        bool one =
            next == x.rank || (rank - i > x.rank - next && noe_search_chance(s, 2));
        if (one)
            axes.list[axes.n++] = i;
        in.dim[i] = one ? 1 : x.dim[next++];
    }
    noe_search_param(s, node, NOE_PARAM_AXES, 0, &axes);
    return noe_search_solve(s, kid(s, node, 0), &in);
}

bool noe_inverse_unsqueeze(noe_search *s, uint16_t node, const noe_shape *want)
{
    (void)want;
    if (!noe_search_solve(s, kid(s, node, 0), &any_shape))
        return false;
    int rank = noe_search_known(s, kid(s, node, 0))->rank;
    noe_value axes = some_axes(s, rank + 1, NULL);
    noe_search_param(s, node, NOE_PARAM_AXES, 0, &axes);
    return axes.n > 0;
}

/* Scale and shift have the shape of what is normalized, or less. */
bool noe_inverse_layer_normalization(noe_search *s, uint16_t node,
                                     const noe_shape *want)
{
    choose_float(s, node, NOE_PARAM_EPSILON);
    noe_shape x =
        want->rank >= 0 ? *want : noe_search_shape(s, noe_search_rank(s, 1, 4));
    if (x.rank < 1 || !noe_search_solve(s, kid(s, node, 0), &x))
        return false;
    int axis = noe_search_axis(s, node, x.rank);
    if (axis < 0)
        return false;
    for (int i = 1; i < s->rule->nodes[node].n_inputs; i++) {
        noe_shape part = noe_shape_make(x.rank - axis, x.dim + axis);
        if (noe_search_chance(s, 4))
            part = noe_search_shrink(s, &x);
        if (!noe_search_solve(s, kid(s, node, i), &part))
            return false;
    }
    return true;
}

static bool normalized_image(noe_search *s, uint16_t node, const noe_shape *x)
{
    noe_shape channels = noe_shape_make(1, &x->dim[1]);
    return noe_search_solve(s, kid(s, node, 0), x) &&
           noe_search_solve(s, kid(s, node, 1), &channels) &&
           noe_search_solve(s, kid(s, node, 2), &channels);
}

bool noe_inverse_instance_normalization(noe_search *s, uint16_t node,
                                        const noe_shape *want)
{
    choose_float(s, node, NOE_PARAM_EPSILON);
    noe_shape x =
        want->rank >= 0 ? *want : noe_search_shape(s, noe_search_rank(s, 3, 5));
    return x.rank >= 3 && normalized_image(s, node, &x);
}

bool noe_inverse_group_normalization(noe_search *s, uint16_t node,
                                     const noe_shape *want)
{
    noe_value groups =
        noe_value_int(NOE_KIND_INT, 1 + (int64_t)noe_rng_below(s->rng, 3));
    choose_float(s, node, NOE_PARAM_EPSILON);
    groups = noe_search_param(s, node, NOE_PARAM_NUM_GROUPS, 0, &groups);
    noe_shape x =
        want->rank >= 0 ? *want : noe_search_shape(s, noe_search_rank(s, 3, 5));
    if (x.rank < 3)
        return false;
    if (want->rank < 0)
        x.dim[1] *= groups.i;
    return normalized_image(s, node, &x);
}
