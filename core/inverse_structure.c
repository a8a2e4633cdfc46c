/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverses of the shape rules of operators that pick, repeat or spread elements; what
 * an inverse is: core/inverse.c.
 */
#include "core/instance_search.h"

#define MAX_SHAPE_RANK 5

static const noe_shape any_shape = {.rank = NOE_RANK_UNKNOWN};

static uint16_t kid(const noe_search *s, uint16_t node, int i)
{
    return s->rule->nodes[node].inputs[i];
}

static int64_t pick(noe_search *s, int64_t lo, int64_t hi)
{
    return hi <= lo ? lo : noe_rng_range(s->rng, lo, hi);
}

/* n places of an axis: any, or the first ones in order. */
static noe_value suggest_indices(noe_search *s, int64_t n, int64_t dim)
{
    noe_value v = {.kind = NOE_KIND_INTS, .n = (int)(n < 0 ? pick(s, 1, 3) : n)};
    bool in_order = noe_search_chance(s, 6);
    for (int i = 0; i < v.n; i++)
        v.list[i] = in_order ? i % dim : pick(s, 0, dim - 1);
    return v;
}

bool noe_inverse_gather(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    if (!x && want->rank < 0) {
        if (!noe_search_solve(s, in, &any_shape))
            return false;
        x = noe_search_known(s, in);
    }
    int axis = noe_search_axis(s, node, x ? x->rank : want->rank);
    if (axis < 0)
        return false;
    bool fits = want->rank > axis;
    int64_t n = fits ? want->dim[axis] : -1, dim = x ? x->dim[axis] : pick(s, 1, 5);
    if (n > NOE_MAX_LIST || dim < 1)
        return false;
    noe_value indices = suggest_indices(s, n, dim);
    indices = noe_search_param(s, node, NOE_PARAM_INDICES, 0, &indices);
    if (x)
        return true;
    for (int i = 0; i < indices.n; i++)
        dim = indices.list[i] >= dim ? indices.list[i] + 1 : dim;
    noe_shape shape = *want;
    shape.dim[axis] = dim;
    return noe_search_solve(s, in, &shape);
}

/* A shape that x broadcasts to. */
static noe_shape grow(noe_search *s, const noe_shape *x)
{
    noe_shape out = *x;
    for (int i = 0; i < out.rank; i++) {
        if (out.dim[i] == 1 && !noe_search_chance(s, 3))
            out.dim[i] = noe_search_dim(s);
    }
    while (out.rank < MAX_SHAPE_RANK && noe_search_chance(s, 2)) {
        memmove(out.dim + 1, out.dim, (size_t)out.rank * sizeof *out.dim);
        out.dim[0] = noe_search_dim(s);
        out.rank++;
    }
    return out;
}

bool noe_inverse_expand(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    noe_shape target = *want;
    noe_value v;
    if (noe_search_has_param(s, node, NOE_PARAM_SHAPE, 0, &v) && v.n <= NOE_MAX_RANK)
        target = noe_shape_make(v.n, v.list);
    if (!noe_search_known(s, in)) {
        noe_shape shape = target.rank < 0 ? any_shape : noe_search_shrink(s, &target);
        if (!noe_search_solve(s, in, &shape))
            return false;
    }
    if (target.rank < 0)
        target = grow(s, noe_search_known(s, in));
    v = noe_value_list(NOE_KIND_INTS, target.rank, target.dim);
    noe_search_param(s, node, NOE_PARAM_SHAPE, 0, &v);
    return true;
}

/* An integer from 1 to 3, one that divides dim if that is given. */
static int64_t suggest_scale(noe_search *s, int64_t dim)
{
    int64_t scale = pick(s, 1, 3);
    return dim < 0 || dim % scale == 0 ? scale : 1;
}

bool noe_inverse_resize(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    noe_value mode = noe_value_int(NOE_KIND_INT, pick(s, 0, 3)), given;
    noe_search_param(s, node, NOE_PARAM_MODE, 0, &mode);
    if (!x && want->rank < 0) {
        bool listed = noe_search_has_param(s, node, NOE_PARAM_SCALES, 0, &given);
        noe_shape shape =
            noe_search_shape(s, listed ? given.n + 2 : noe_search_rank(s, 3, 5));
        if (!noe_search_solve(s, in, &shape))
            return false;
        x = noe_search_known(s, in);
    }
    noe_shape shape = x ? *x : *want;
    if (shape.rank < 3 || shape.rank > MAX_SHAPE_RANK)
        return false;
    noe_value scales = {.kind = NOE_KIND_INTS, .n = shape.rank - 2};
    for (int i = 0; i < scales.n; i++) {
        int64_t from = shape.dim[i + 2];
        bool fits = x && want->rank == x->rank && from > 0;
        scales.list[i] =
            fits ? want->dim[i + 2] / from : suggest_scale(s, x ? -1 : from);
    }
    scales = noe_search_param(s, node, NOE_PARAM_SCALES, shape.rank - 2, &scales);
    if (x)
        return true;
    if (scales.n != shape.rank - 2)
        return false;
    for (int i = 0; i < scales.n; i++) {
        if (scales.list[i] < 1 || shape.dim[i + 2] % scales.list[i])
            return false;
        shape.dim[i + 2] /= scales.list[i];
    }
    return noe_search_solve(s, in, &shape);
}
