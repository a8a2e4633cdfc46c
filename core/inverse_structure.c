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

/* Three operands that broadcast to what is wanted, or to what two of them give. */
bool noe_inverse_where(noe_search *s, uint16_t node, const noe_shape *want)
{
    noe_shape target = *want, both;
    for (int i = 0; target.rank < 0 && i < 3; i++) {
        const noe_shape *x = noe_search_known(s, kid(s, node, i));
        if (x)
            target = grow(s, x);
    }
    if (target.rank < 0)
        target = noe_search_shape(s, noe_search_rank(s, 0, MAX_SHAPE_RANK));
    noe_shape all = {.rank = 0};
    int first = (int)noe_rng_below(s->rng, 3);
    for (int k = 0; k < 3; k++) {
        uint16_t in = kid(s, node, (first + k) % 3);
        noe_shape shape = target;
        bool reaches = noe_shape_eq(&all, &target);
        if ((k < 2 || reaches) && noe_search_chance(s, 3))
            shape = noe_search_shrink(s, &target);
        if (!noe_search_known(s, in) && !noe_search_solve(s, in, &shape))
            return false;
        if (!noe_shape_broadcast(&all, noe_search_known(s, in), &both))
            return false;
        all = both;
    }
    return true;
}

/* ---- transposed convolution ---- */

typedef struct windows {
    int n;
    int64_t group;
    noe_value strides, dilations, pads;
    int64_t kernel[NOE_MAX_RANK];
} windows;

static noe_value suggest_each(noe_search *s, int n, int64_t hi)
{
    noe_value v = {.kind = NOE_KIND_INTS, .n = n};
    bool plain = noe_search_chance(s, 2);
    for (int i = 0; i < n; i++)
        v.list[i] = plain ? 1 : pick(s, 1, hi);
    return v;
}

static int64_t span_of(const windows *w, int i)
{
    return w->dilations.list[i] * (w->kernel[i] - 1) + 1;
}

/* Pads of one axis: those that lead from x to what is wanted, as far as known. */
static void suggest_pads(noe_search *s, const windows *w, int i, const noe_shape *x,
                         const noe_shape *want, noe_value *pads)
{
    int64_t stride = w->strides.list[i], span = span_of(w, i);
    int64_t *begin = &pads->list[i], *end = &pads->list[w->n + i];
    bool plain = noe_search_chance(s, 2);
    *begin = plain ? 0 : pick(s, 0, span - 1);
    *end = plain ? 0 : pick(s, 1 - stride, span - 1);
    if (want->rank < 0)
        return;
    if (x) {
        int64_t all = (x->dim[2 + i] - 1) * stride + span - want->dim[2 + i];
        *begin = all > 0 ? pick(s, 0, all) : 0;
        *end = all - *begin;
        return;
    }
    int64_t rest = (want->dim[2 + i] + *begin + *end - span) % stride;
    *end -= rest < 0 ? rest + stride : rest;
    if (*end <= -stride)
        *end += stride;
}

static void choose_windows(noe_search *s, uint16_t node, windows *w, const noe_shape *x,
                           const noe_shape *k, const noe_shape *want)
{
    noe_value strides = suggest_each(s, w->n, 3), dilations = suggest_each(s, w->n, 2);
    noe_value pads = {.kind = NOE_KIND_INTS, .n = 2 * w->n};
    for (int i = 0; i < w->n; i++)
        w->kernel[i] = k ? k->dim[2 + i] : pick(s, 1, w->n > 2 ? 2 : 3);
    w->strides = noe_search_param(s, node, NOE_PARAM_STRIDES, w->n, &strides);
    w->dilations = noe_search_param(s, node, NOE_PARAM_DILATIONS, w->n, &dilations);
    for (int i = 0; i < w->n && w->strides.n == w->n && w->dilations.n == w->n; i++)
        suggest_pads(s, w, i, x, want, &pads);
    w->pads = noe_search_param(s, node, NOE_PARAM_PADS, w->n, &pads);
}

static bool spread_image(noe_search *s, uint16_t node, const noe_shape *want,
                         const noe_shape *k, const windows *w)
{
    noe_shape x = {.rank = w->n + 2};
    x.dim[0] = want->rank >= 0 ? want->dim[0] : noe_search_dim(s);
    x.dim[1] = k ? k->dim[0] : w->group * pick(s, 1, 2);
    for (int i = 0; i < w->n; i++) {
        int64_t room = want->rank >= 0 ? want->dim[2 + i] + w->pads.list[i] +
                                             w->pads.list[w->n + i] - span_of(w, i)
                                       : pick(s, 0, 2) * w->strides.list[i];
        if (room < 0 || w->strides.list[i] < 1 || room % w->strides.list[i])
            return false;
        x.dim[2 + i] = room / w->strides.list[i] + 1;
    }
    return noe_search_solve(s, kid(s, node, 0), &x);
}

static bool spreading_kernel(noe_search *s, uint16_t node, const noe_shape *want,
                             const windows *w)
{
    const noe_shape *x = noe_search_known(s, kid(s, node, 0));
    noe_shape k = {.rank = w->n + 2};
    k.dim[0] = x->dim[1];
    k.dim[1] = want->rank >= 0 ? want->dim[1] / w->group : noe_search_dim(s);
    for (int i = 0; i < w->n; i++)
        k.dim[2 + i] = w->kernel[i];
    return noe_search_solve(s, kid(s, node, 1), &k);
}

static int spatial_axes(noe_search *s, uint16_t node, const noe_shape *want,
                        const noe_shape *x, const noe_shape *k)
{
    noe_value v;
    if (want->rank >= 0)
        return want->rank - 2;
    if (x || k)
        return (x ? x->rank : k->rank) - 2;
    if (noe_search_has_param(s, node, NOE_PARAM_STRIDES, -1, &v) && v.n > 0)
        return v.n;
    return noe_search_rank(s, 3, 5) - 2;
}

bool noe_inverse_conv_transpose(noe_search *s, uint16_t node, const noe_shape *want)
{
    const noe_shape *x = noe_search_known(s, kid(s, node, 0));
    const noe_shape *k = noe_search_known(s, kid(s, node, 1));
    windows w = {.n = spatial_axes(s, node, want, x, k)};
    if (w.n < 1 || w.n > 3 || (x && x->rank != w.n + 2) || (k && k->rank != w.n + 2))
        return false;
    noe_value g = noe_value_int(NOE_KIND_INT, pick(s, 1, 2));
    if (k && want->rank >= 0 && k->dim[1] > 0)
        g.i = want->dim[1] / k->dim[1];
    else if ((want->rank >= 0 && want->dim[1] % g.i) || (x && x->dim[1] % g.i) ||
             (k && k->dim[0] % g.i))
        g.i = 1;
    w.group = noe_search_param(s, node, NOE_PARAM_GROUP, w.n, &g).i;
    if (w.group < 1)
        return false;
    choose_windows(s, node, &w, x, k, want);
    if (w.strides.n != w.n || w.dilations.n != w.n || w.pads.n != 2 * w.n)
        return false;
    if (!x && !spread_image(s, node, want, k, &w))
        return false;
    return k || spreading_kernel(s, node, want, &w);
}

bool noe_inverse_scalar(noe_search *s, uint16_t node, const noe_shape *want)
{
    static const double values[] = {0.5, 2, -1, 3, 0.25, 1, 0, -1.75};
    (void)want;
    noe_value v = noe_value_float(values[noe_rng_below(s->rng, 8)]);
    noe_search_param(s, node, NOE_PARAM_VALUE, 0, &v);
    return true;
}
