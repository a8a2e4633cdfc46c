/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverses of the shape rules: given the output shape that is wanted of an operator,
 * and whatever is known of its operands, choose the operands' shapes and the free
 * parameters. They are guesses: what comes out is typed by the shape rules, so an
 * inverse need only be right often, and must be able to reach every kind of instance.
 */
#include "core/instance_search.h"

#define MAX_SHAPE_RANK 5

static const noe_shape any_shape = {.rank = NOE_RANK_UNKNOWN};

static uint16_t kid(const noe_search *s, uint16_t node, int i)
{
    return s->rule->nodes[node].inputs[i];
}

static bool is_variable(const noe_search *s, uint16_t node)
{
    return s->rule->nodes[node].is_var;
}

static int64_t pick(noe_search *s, int64_t lo, int64_t hi)
{
    return hi <= lo ? lo : noe_rng_range(s->rng, lo, hi);
}

/* Elementwise */

static bool inverse_same(noe_search *s, uint16_t node, const noe_shape *want)
{
    return noe_search_solve(s, kid(s, node, 0), want);
}

noe_shape noe_search_shrink(noe_search *s, const noe_shape *shape)
{
    noe_shape out = *shape;
    for (int i = 0; i < out.rank; i++) {
        if (noe_search_chance(s, 3))
            out.dim[i] = 1;
    }
    int drop = noe_search_chance(s, 2) ? (int)noe_rng_below(s->rng, out.rank + 1u) : 0;
    return noe_shape_make(out.rank - drop, out.dim + drop);
}

/* A shape that, broadcast with `known`, gives want; false if there is none. */
static bool complement(noe_search *s, const noe_shape *known, const noe_shape *want,
                       noe_shape *out)
{
    *out = *want;
    if (known->rank > want->rank)
        return false;
    int lead = want->rank - known->rank, droppable = 0;
    bool shrinking = noe_search_chance(s, 2);
    for (int i = 0; i < want->rank; i++) {
        int64_t k = i < lead ? 1 : known->dim[i - lead];
        if (k != want->dim[i] && k != 1)
            return false;
        bool free = i >= lead && k == want->dim[i];
        if (free && shrinking && noe_search_chance(s, 2))
            out->dim[i] = 1;
        if (i == droppable && free && lead == 0)
            droppable++;
    }
    if (shrinking && lead == 0 && noe_search_chance(s, 2)) {
        int drop = (int)noe_rng_below(s->rng, (uint64_t)droppable + 1);
        *out = noe_shape_make(want->rank - drop, out->dim + drop);
    }
    return true;
}

/* A shape that broadcasts with `known`, output free. */
static noe_shape partner(noe_search *s, const noe_shape *known)
{
    if (noe_search_chance(s, 2))
        return *known;
    if (noe_search_chance(s, 2))
        return noe_search_shrink(s, known);
    noe_shape wide = *known;
    while (wide.rank < MAX_SHAPE_RANK && noe_search_chance(s, 2)) {
        memmove(wide.dim + 1, wide.dim, (size_t)wide.rank * sizeof *wide.dim);
        wide.dim[0] = noe_search_dim(s);
        wide.rank++;
    }
    for (int i = 0; i < wide.rank; i++) {
        if (wide.dim[i] == 1 && noe_search_chance(s, 2))
            wide.dim[i] = noe_search_dim(s);
    }
    return wide;
}

/* Variables first: they fix shapes at once, and what is below an operator adapts. */
static int first_operand(noe_search *s, uint16_t a, uint16_t b)
{
    if (noe_search_waits(s, a) != noe_search_waits(s, b))
        return noe_search_waits(s, a);
    if (is_variable(s, a) != is_variable(s, b) && !noe_search_chance(s, 4))
        return is_variable(s, a) ? 0 : 1;
    return (int)noe_rng_below(s->rng, 2);
}

static bool solve_pair(noe_search *s, uint16_t first, uint16_t second,
                       const noe_shape *want)
{
    const noe_shape *known = noe_search_known(s, first);
    noe_shape shape = any_shape;
    if (!known) {
        if (want->rank >= 0)
            shape = noe_search_chance(s, 3) ? noe_search_shrink(s, want) : *want;
        if (!noe_search_solve(s, first, &shape))
            return false;
        known = noe_search_known(s, first);
    }
    if (noe_search_is_said(s, second))
        shape = any_shape;
    else if (want->rank < 0)
        shape = partner(s, known);
    else if (!complement(s, known, want, &shape))
        return false;
    return noe_search_solve(s, second, &shape);
}

static bool inverse_broadcast(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in[2] = {kid(s, node, 0), kid(s, node, 1)};
    int first = first_operand(s, in[0], in[1]);
    if (!noe_search_known(s, in[first]) && noe_search_known(s, in[1 - first]))
        first = 1 - first;
    return solve_pair(s, in[first], in[1 - first], want);
}

/* Products */

static noe_shape batch_of(const noe_shape *s)
{
    return noe_shape_make(s->rank > 2 ? s->rank - 2 : 0, s->dim);
}

static bool append_dim(noe_shape *s, int64_t dim)
{
    if (s->rank == NOE_MAX_RANK)
        return false;
    s->dim[s->rank++] = dim;
    return true;
}

/* What is wanted of a product: batch axes, rows, columns (-1: there are none). */
typedef struct product {
    noe_shape batch;
    int64_t rows, columns;
} product;

static product choose_product(noe_search *s, const noe_shape *want, const noe_shape *a,
                              const noe_shape *b)
{
    bool vector_a = a ? a->rank == 1 : false, vector_b = b ? b->rank == 1 : false;
    if (!a && (want->rank == 0 || noe_search_chance(s, want->rank == 1 ? 2 : 12)))
        vector_a = true;
    if (!b &&
        (want->rank == 0 || (want->rank == 1 && !vector_a) || noe_search_chance(s, 12)))
        vector_b = true;
    product p = {.rows = -1, .columns = -1};
    noe_shape left = *want;
    if (!vector_b)
        p.columns = left.rank > 0 ? left.dim[--left.rank] : noe_search_dim(s);
    if (!vector_a)
        p.rows = left.rank > 0 ? left.dim[--left.rank] : noe_search_dim(s);
    if (left.rank < 0)
        left.rank = noe_search_chance(s, 2) ? 0 : (int)noe_rng_below(s->rng, 3);
    if (want->rank < 0) {
        left = noe_search_shape(s, left.rank);
        if (a)
            left = batch_of(a);
    }
    p.batch = left;
    return p;
}

static int64_t inner_of(const noe_shape *known, bool left)
{
    return known->dim[left || known->rank < 2 ? known->rank - 1 : known->rank - 2];
}

static bool operand(noe_search *s, uint16_t node, bool left, const product *p,
                    const noe_shape *batch, int64_t inner)
{
    noe_shape shape = *batch;
    int64_t outer = left ? p->rows : p->columns;
    if (outer < 0)
        shape = (noe_shape){0};
    if (outer >= 0 && left && !append_dim(&shape, outer))
        return false;
    if (!append_dim(&shape, inner))
        return false;
    if (outer >= 0 && !left && !append_dim(&shape, outer))
        return false;
    return noe_search_solve(s, node, &shape);
}

static bool inverse_matmul(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in[2] = {kid(s, node, 0), kid(s, node, 1)};
    int first = first_operand(s, in[0], in[1]);
    const noe_shape *a = noe_search_known(s, in[0]), *b = noe_search_known(s, in[1]);
    /* Without a wanted shape an operand may have any, and the other one adapts. */
    if (want->rank < 0 && !a && !b && noe_search_chance(s, 2)) {
        if (!noe_search_solve(s, in[first], &any_shape))
            return false;
        a = noe_search_known(s, in[0]);
        b = noe_search_known(s, in[1]);
    }
    if ((a && a->rank < 1) || (b && b->rank < 1))
        return false;
    product p = choose_product(s, want, a, b);
    int64_t inner = a ? inner_of(a, true) : b ? inner_of(b, false) : noe_search_dim(s);
    const noe_shape *known[2] = {a, b};
    if (a || b)
        first = a ? 0 : 1;
    if (want->rank < 0 && b && !a)
        p.batch = batch_of(b);
    /* The first operand has all batch axes, or the second makes up for them. */
    noe_shape batch =
        noe_search_chance(s, 3) ? noe_search_shrink(s, &p.batch) : p.batch;
    if (known[first]) {
        batch = batch_of(known[first]);
    } else {
        if (!operand(s, in[first], first == 0, &p, &batch, inner))
            return false;
        if ((first == 0 ? p.rows : p.columns) < 0)
            batch = (noe_shape){0};
    }
    if (known[1 - first])
        return true;
    noe_shape other;
    if (want->rank < 0)
        other = partner(s, &batch);
    else if (!complement(s, &batch, &p.batch, &other))
        return false;
    return operand(s, in[1 - first], first != 0, &p, &other, inner);
}

/* Windows: spatial parameters of convolution and pooling. */

static noe_value list_of(int n)
{
    noe_value v = {.kind = NOE_KIND_INTS, .n = n};
    return v;
}

static noe_value suggest_each(noe_search *s, int n, int64_t usual, int64_t hi)
{
    noe_value v = list_of(n);
    bool plain = noe_search_chance(s, 2);
    for (int i = 0; i < n; i++)
        v.list[i] = plain ? usual : pick(s, usual, hi);
    return v;
}

typedef struct windows {
    int n;
    noe_value strides, pads, dilations;
    int64_t kernel[NOE_MAX_RANK];
} windows;

static int spatial_of_list(noe_search *s, uint16_t node, noe_param p, int per_axis)
{
    noe_value v;
    if (noe_search_has_param(s, node, p, -1, &v) && v.n > 0)
        return v.n / per_axis;
    return 0;
}

static void choose_windows(noe_search *s, uint16_t node, windows *w, bool dilated)
{
    noe_value strides = suggest_each(s, w->n, 1, 3);
    noe_value dilations = suggest_each(s, w->n, 1, 2);
    noe_value pads = list_of(2 * w->n);
    int mode = (int)noe_rng_below(s->rng, 4);
    w->strides = noe_search_param(s, node, NOE_PARAM_STRIDES, w->n, &strides);
    w->dilations = list_of(w->n);
    for (int i = 0; i < w->n; i++)
        w->dilations.list[i] = 1;
    if (dilated)
        w->dilations = noe_search_param(s, node, NOE_PARAM_DILATIONS, w->n, &dilations);
    for (int i = 0; i < w->n; i++) {
        int64_t span = w->dilations.list[i] * (w->kernel[i] - 1) + 1;
        /* none, same-size, one-sided, anything below the window's extent */
        pads.list[i] = mode == 0   ? 0
                       : mode == 1 ? (span - 1) / 2
                                   : pick(s, 0, span - 1);
        pads.list[w->n + i] = mode == 0   ? 0
                              : mode == 1 ? span - 1 - (span - 1) / 2
                              : mode == 2 ? 0
                                          : pick(s, 0, span - 1);
    }
    w->pads = noe_search_param(s, node, NOE_PARAM_PADS, w->n, &pads);
}

/* An input size that gives `out` windows. */
static int64_t window_input(noe_search *s, const windows *w, int axis, int64_t out)
{
    int64_t stride = w->strides.list[axis];
    int64_t span = w->dilations.list[axis] * (w->kernel[axis] - 1) + 1;
    int64_t slack = stride > 1 ? pick(s, 0, stride - 1) : 0;
    return (out - 1) * stride + span + slack - w->pads.list[axis] -
           w->pads.list[w->n + axis];
}

static int choose_spatial(noe_search *s, uint16_t node, const noe_shape *want,
                          const noe_shape *x, const noe_shape *w)
{
    if (want->rank >= 3)
        return want->rank - 2;
    if (x || w)
        return (x ? x->rank : w->rank) - 2;
    int n = spatial_of_list(s, node, NOE_PARAM_STRIDES, 1);
    if (n == 0)
        n = spatial_of_list(s, node, NOE_PARAM_PADS, 2);
    return n > 0 ? n : noe_search_rank(s, 3, 5) - 2;
}

static int64_t choose_group(noe_search *s, const noe_shape *x, const noe_shape *w,
                            int64_t out_channels)
{
    int64_t g = 1;
    if (w && x && w->dim[1] > 0)
        g = x->dim[1] / w->dim[1];
    else if (noe_search_chance(s, 2))
        g = pick(s, 1, 3);
    if (out_channels > 0 && out_channels % (g > 0 ? g : 1))
        g = noe_search_chance(s, 2) ? 1 : out_channels;
    return g > 0 ? g : 1;
}

static void choose_kernel(noe_search *s, windows *win, const noe_shape *w)
{
    bool one = noe_search_chance(s, 6);
    for (int i = 0; i < win->n; i++)
        win->kernel[i] = w ? w->dim[2 + i] : one ? 1 : pick(s, 1, win->n > 2 ? 2 : 4);
}

/* The kernel size that turns the known input into the wanted output, if there is one.
 */
static void fit_kernel(const noe_shape *x, const noe_shape *want, windows *win)
{
    for (int i = 0; i < win->n; i++) {
        for (int64_t k = 1; k <= x->dim[2 + i] + 6; k++) {
            int64_t span = win->dilations.list[i] * (k - 1) + 1;
            int64_t room =
                x->dim[2 + i] + win->pads.list[i] + win->pads.list[win->n + i] - span;
            if (room >= 0 && win->strides.list[i] > 0 &&
                room / win->strides.list[i] + 1 == want->dim[2 + i]) {
                win->kernel[i] = k;
                break;
            }
        }
    }
}

static bool windows_fit(const windows *w, bool with_dilations)
{
    return w->strides.n == w->n && w->pads.n == 2 * w->n &&
           (!with_dilations || w->dilations.n == w->n);
}

/* A kernel for m channels of the result, if that is not 0. */
static bool conv_kernel(noe_search *s, uint16_t node, int64_t m, const noe_shape *x,
                        int64_t group, const windows *win)
{
    noe_shape w = {.rank = win->n + 2};
    w.dim[0] = m > 0 ? m : group * noe_search_dim(s);
    w.dim[1] = x->dim[1] / group;
    for (int i = 0; i < win->n; i++)
        w.dim[2 + i] = win->kernel[i];
    return noe_search_solve(s, kid(s, node, 1), &w);
}

static bool conv_input(noe_search *s, uint16_t node, const noe_shape *want,
                       const noe_shape *w, int64_t group, const windows *win)
{
    noe_shape x = {.rank = win->n + 2};
    x.dim[0] = want->rank >= 0 ? want->dim[0] : noe_search_dim(s);
    bool each = noe_search_is_dim_of(s, node, NOE_PARAM_GROUP, 0, 1);
    x.dim[1] = w ? w->dim[1] * group : each ? group : group * pick(s, 1, 3);
    for (int i = 0; i < win->n; i++) {
        int64_t out = want->rank >= 0 ? want->dim[2 + i] : pick(s, 1, 3);
        x.dim[2 + i] = window_input(s, win, i, out);
        if (x.dim[2 + i] < 1)
            return false;
    }
    return noe_search_solve(s, kid(s, node, 0), &x);
}

static bool inverse_conv(noe_search *s, uint16_t node, const noe_shape *want)
{
    const noe_shape *x = noe_search_known(s, kid(s, node, 0));
    const noe_shape *w = noe_search_known(s, kid(s, node, 1));
    windows win = {.n = choose_spatial(s, node, want, x, w)};
    if (win.n < 1 || win.n > 3 || (want->rank >= 0 && want->rank != win.n + 2) ||
        (x && x->rank != win.n + 2) || (w && w->rank != win.n + 2))
        return false;
    int64_t m = want->rank >= 0 ? want->dim[1] : w ? w->dim[0] : 0;
    bool each_result =
        !(w && x) && noe_search_is_dim_of(s, node, NOE_PARAM_GROUP, 1, 0);
    if (m == 0 && each_result)
        m = noe_search_dim(s);
    noe_value g =
        noe_value_int(NOE_KIND_INT, each_result ? m : choose_group(s, x, w, m));
    g = noe_search_param(s, node, NOE_PARAM_GROUP, win.n, &g);
    if (g.i < 1)
        return false;
    choose_kernel(s, &win, w);
    choose_windows(s, node, &win, true);
    if (!windows_fit(&win, true))
        return false;
    if (x && !w && want->rank >= 0)
        fit_kernel(x, want, &win);
    if (!x && !conv_input(s, node, want, w, g.i, &win))
        return false;
    return w ||
           conv_kernel(s, node, m, noe_search_known(s, kid(s, node, 0)), g.i, &win);
}

static bool pool(noe_search *s, uint16_t node, const noe_shape *want, bool dilated)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    int n = choose_spatial(s, node, want, x, NULL);
    int listed = spatial_of_list(s, node, NOE_PARAM_KERNEL_SHAPE, 1);
    windows win = {.n = listed > 0 ? listed : n};
    if (win.n < 1 || win.n > 3 || (want->rank >= 0 && want->rank != win.n + 2))
        return false;
    choose_kernel(s, &win, NULL);
    noe_value kernel = list_of(win.n);
    memcpy(kernel.list, win.kernel, (size_t)win.n * sizeof *win.kernel);
    kernel = noe_search_param(s, node, NOE_PARAM_KERNEL_SHAPE, win.n, &kernel);
    memcpy(win.kernel, kernel.list, (size_t)win.n * sizeof *win.kernel);
    choose_windows(s, node, &win, dilated);
    if (!windows_fit(&win, dilated))
        return false;
    if (x)
        return true;
    noe_shape shape = {.rank = win.n + 2};
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = want->rank >= 0 ? want->dim[i] : pick(s, 1, 3);
    for (int i = 0; i < win.n; i++) {
        shape.dim[2 + i] = window_input(s, &win, i, shape.dim[2 + i]);
        if (shape.dim[2 + i] < 1)
            return false;
    }
    return noe_search_solve(s, in, &shape);
}

static bool inverse_max_pool(noe_search *s, uint16_t node, const noe_shape *want)
{
    return pool(s, node, want, true);
}

static bool inverse_average_pool(noe_search *s, uint16_t node, const noe_shape *want)
{
    noe_value include = noe_value_int(NOE_KIND_INT, (int64_t)noe_rng_below(s->rng, 2));
    noe_search_param(s, node, NOE_PARAM_COUNT_INCLUDE_PAD, 0, &include);
    return pool(s, node, want, false);
}

/* Reduction */

static noe_value suggest_axes(noe_search *s, int rank, const noe_shape *ones)
{
    noe_value v = {.kind = NOE_KIND_AXES};
    for (int i = 0; i < rank; i++) {
        if (noe_search_chance(s, 2) && (!ones || ones->dim[i] == 1))
            v.list[v.n++] = i;
    }
    if (v.n == 0 && rank > 0 && !ones)
        v.list[v.n++] = (int64_t)noe_rng_below(s->rng, (uint64_t)rank);
    return v;
}

static bool mark_axes(const noe_value *axes, int rank, bool *mark)
{
    memset(mark, 0, NOE_MAX_RANK * sizeof *mark);
    for (int i = 0; i < axes->n; i++) {
        int64_t k = axes->list[i] < 0 ? axes->list[i] + rank : axes->list[i];
        if (k < 0 || k >= rank)
            return false;
        mark[k] = true;
    }
    return true;
}

static bool inverse_reduce(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    noe_value keep = noe_value_int(NOE_KIND_INT, (int64_t)noe_rng_below(s->rng, 2));
    keep = noe_search_param(s, node, NOE_PARAM_KEEPDIMS, 0, &keep);
    if (!x && want->rank < 0) {
        if (!noe_search_solve(s, in, &any_shape))
            return false;
        x = noe_search_known(s, in);
    }
    noe_value axes;
    if (x) {
        axes = suggest_axes(s, x->rank, NULL);
        noe_search_param(s, node, NOE_PARAM_AXES, 0, &axes);
        return true;
    }
    int rank = want->rank;
    if (keep.i) {
        axes = suggest_axes(s, rank, want);
        axes = noe_search_param(s, node, NOE_PARAM_AXES, 0, &axes);
        if (axes.n == 0 && !noe_search_chance(s, 8)) /* says little */
            return false;
    } else {
        if (noe_search_has_param(s, node, NOE_PARAM_AXES, 0, &axes))
            rank += axes.n;
        else
            rank += 1 + (int)noe_rng_below(s->rng, 2);
        if (rank > MAX_SHAPE_RANK + 1)
            return false;
        noe_value some = {.kind = NOE_KIND_AXES, .n = rank - want->rank};
        int64_t start = pick(s, 0, want->rank);
        for (int i = 0; i < some.n; i++)
            some.list[i] = start + i;
        axes = noe_search_param(s, node, NOE_PARAM_AXES, 0, &some);
    }
    bool mark[NOE_MAX_RANK];
    if (!mark_axes(&axes, rank, mark))
        return false;
    noe_shape shape = {.rank = rank};
    int next = 0;
    for (int i = 0; i < rank; i++) {
        if (mark[i]) {
            shape.dim[i] = noe_search_dim(s);
            next += keep.i != 0;
        } else {
            shape.dim[i] = next < want->rank ? want->dim[next] : 1;
            next++;
        }
    }
    return noe_search_solve(s, in, &shape);
}

int noe_search_axis(noe_search *s, uint16_t node, int rank)
{
    if (rank < 1)
        return -1;
    noe_value axis =
        noe_value_int(NOE_KIND_AXIS, (int64_t)noe_rng_below(s->rng, (uint64_t)rank));
    axis = noe_search_param(s, node, NOE_PARAM_AXIS, 0, &axis);
    int64_t k = axis.i < 0 ? axis.i + rank : axis.i;
    return k >= 0 && k < rank ? (int)k : -1;
}

static bool inverse_softmax(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    if (!noe_search_known(s, in) && !noe_search_solve(s, in, want))
        return false;
    return noe_search_axis(s, node, noe_search_known(s, in)->rank) >= 0;
}

/* Layout */

/* Any permutation, or one that leaves leading axes alone. */
static noe_value choose_perm(noe_search *s, int rank)
{
    noe_value perm = list_of(rank);
    int kept = noe_search_chance(s, 2) && rank > 2 ? rank - 2 : 0;
    for (int i = 0; i < rank; i++) {
        int j =
            i < kept ? i : kept + (int)noe_rng_below(s->rng, (uint64_t)(i - kept) + 1);
        perm.list[i] = perm.list[j];
        perm.list[j] = i;
    }
    return perm;
}

static bool inverse_transpose(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    noe_value given;
    int rank = want->rank >= 0 ? want->rank
               : x             ? x->rank
               : noe_search_has_param(s, node, NOE_PARAM_PERM, 0, &given)
                   ? given.n
                   : noe_search_rank(s, 0, MAX_SHAPE_RANK);
    noe_value some = choose_perm(s, rank);
    noe_value perm = noe_search_param(s, node, NOE_PARAM_PERM, 0, &some);
    if (x)
        return true;
    if (perm.n != rank || rank > NOE_MAX_RANK)
        return false;
    noe_shape target = want->rank >= 0 ? *want : noe_search_shape(s, rank), shape;
    shape = target;
    for (int i = 0; i < rank; i++) {
        if (perm.list[i] < 0 || perm.list[i] >= rank)
            return false;
        shape.dim[perm.list[i]] = target.dim[i];
    }
    return noe_search_solve(s, in, &shape);
}

/* Another shape with as many elements: an axis split, two merged, 1s added or dropped,
 * or axes exchanged. */
static noe_shape refactor(noe_search *s, const noe_shape *from)
{
    noe_shape out = *from;
    for (int step = 0; step < 3; step++) {
        int i = out.rank > 0 ? (int)noe_rng_below(s->rng, (uint64_t)out.rank) : 0;
        uint64_t how = noe_rng_below(s->rng, 4);
        if (how == 0 && out.rank > 1 && i + 1 < out.rank) {
            out.dim[i] *= out.dim[i + 1];
            memmove(out.dim + i + 1, out.dim + i + 2,
                    (size_t)(out.rank - i - 2) * sizeof *out.dim);
            out.rank--;
        } else if (how == 1 && out.rank < MAX_SHAPE_RANK) {
            int64_t d = pick(s, 1, 3);
            if (out.rank > 0 && out.dim[i] % d)
                d = 1;
            if (out.rank == 0)
                d = 1;
            else
                out.dim[i] /= d;
            memmove(out.dim + i + 1, out.dim + i,
                    (size_t)(out.rank - i) * sizeof *out.dim);
            out.dim[i] = d;
            out.rank++;
        } else if (how == 2 && out.rank > 0 && out.dim[i] == 1) {
            memmove(out.dim + i, out.dim + i + 1,
                    (size_t)(out.rank - i - 1) * sizeof *out.dim);
            out.rank--;
        } else if (how == 3 && out.rank > 1) {
            int64_t d = out.dim[0];
            out.dim[0] = out.dim[i];
            out.dim[i] = d;
        }
    }
    return out;
}

static bool shape_of_param(noe_search *s, uint16_t node, noe_shape *shape)
{
    noe_value v;
    if (!noe_search_has_param(s, node, NOE_PARAM_SHAPE, 0, &v) || v.n > NOE_MAX_RANK)
        return false;
    *shape = noe_shape_make(v.n, v.list);
    return noe_shape_elements(shape) >= 0;
}

static bool inverse_reshape(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    noe_shape target = *want;
    if (want->rank < 0)
        (void)shape_of_param(s, node, &target);
    const noe_shape *x = noe_search_known(s, in);
    if (!x) {
        noe_shape shape = target.rank < 0 ? any_shape : refactor(s, &target);
        if (!noe_search_solve(s, in, &shape))
            return false;
        x = noe_search_known(s, in);
    }
    if (target.rank < 0)
        target = refactor(s, x);
    noe_value v = noe_value_list(NOE_KIND_INTS, target.rank, target.dim);
    noe_search_param(s, node, NOE_PARAM_SHAPE, 0, &v);
    return true;
}

/* The other operand of a concatenation, from one and from what is wanted. */
static bool other_part(noe_search *s, const noe_shape *part, const noe_shape *want,
                       int axis, noe_shape *out)
{
    *out = *part;
    if (want->rank < 0) {
        out->dim[axis] = noe_search_dim(s);
        return true;
    }
    if (want->rank != part->rank)
        return false;
    out->dim[axis] = want->dim[axis] - part->dim[axis];
    return out->dim[axis] >= 1;
}

static bool inverse_concat(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in[2] = {kid(s, node, 0), kid(s, node, 1)};
    int first = first_operand(s, in[0], in[1]);
    if (!noe_search_known(s, in[first]) && noe_search_known(s, in[1 - first]))
        first = 1 - first;
    const noe_shape *part = noe_search_known(s, in[first]);
    int axis;
    if (!part) {
        noe_shape shape = *want;
        if (want->rank >= 0) {
            axis = noe_search_axis(s, node, want->rank);
            if (axis < 0 || want->dim[axis] < 2)
                return false;
            shape.dim[axis] = pick(s, 1, want->dim[axis] - 1);
        }
        if (!noe_search_solve(s, in[first], &shape))
            return false;
        part = noe_search_known(s, in[first]);
    }
    axis = noe_search_axis(s, node, part->rank);
    noe_shape other;
    return axis >= 0 && other_part(s, part, want, axis, &other) &&
           noe_search_solve(s, in[1 - first], &other);
}

/* Bounds within an axis of known size. */
static void choose_bounds(noe_search *s, uint16_t node, int64_t dim, int64_t step,
                          int64_t wanted)
{
    int64_t length = wanted >= 1 ? (wanted - 1) * step + 1 : pick(s, 1, dim);
    noe_value start = noe_value_int(NOE_KIND_INT, pick(s, 0, dim - length));
    start = noe_search_param(s, node, NOE_PARAM_START, 0, &start);
    noe_value end = noe_value_int(NOE_KIND_INT, wanted >= 1 ? start.i + length
                                                            : pick(s, start.i, dim));
    noe_search_param(s, node, NOE_PARAM_END, 0, &end);
}

static bool inverse_slice(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    noe_value step = noe_value_int(NOE_KIND_INT, pick(s, 1, 2));
    step = noe_search_param(s, node, NOE_PARAM_STEP, 0, &step);
    if (step.i < 1)
        return false;
    if (!x && (want->rank < 0 || noe_search_chance(s, 8))) {
        if (want->rank >= 0 || !noe_search_solve(s, in, &any_shape))
            return false;
        x = noe_search_known(s, in);
    }
    int axis = noe_search_axis(s, node, x ? x->rank : want->rank);
    if (axis < 0)
        return false;
    if (x) {
        choose_bounds(s, node, x->dim[axis], step.i,
                      want->rank == x->rank ? want->dim[axis] : -1);
        return true;
    }
    if (want->dim[axis] < 1)
        return false;
    int64_t length = (want->dim[axis] - 1) * step.i + 1;
    noe_value start =
        noe_value_int(NOE_KIND_INT, noe_search_chance(s, 2) ? 0 : pick(s, 1, 3));
    start = noe_search_param(s, node, NOE_PARAM_START, 0, &start);
    noe_value end = noe_value_int(NOE_KIND_INT, start.i + length);
    end = noe_search_param(s, node, NOE_PARAM_END, 0, &end);
    noe_shape shape = *want;
    shape.dim[axis] = start.i + length;
    if (noe_search_chance(s, 2))
        shape.dim[axis] += pick(s, 1, 4);
    return noe_search_solve(s, in, &shape);
}

static bool inverse_pad(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t in = kid(s, node, 0);
    const noe_shape *x = noe_search_known(s, in);
    if (!x && want->rank < 0) {
        if (!noe_search_solve(s, in, &any_shape))
            return false;
        x = noe_search_known(s, in);
    }
    int rank = x ? x->rank : want->rank;
    noe_value pads = list_of(2 * rank);
    bool spatial = rank > 2 && noe_search_chance(s, 2);
    for (int i = 0; i < 2 * rank; i++) {
        int64_t most = !x ? (want->dim[i % rank] - 1) / 2 : 2;
        if (!(spatial && i % rank < 2) && noe_search_chance(s, 2))
            pads.list[i] = pick(s, 0, most < 2 ? most : 2);
    }
    if (x && want->rank == rank) {
        for (int i = 0; i < rank; i++) {
            int64_t room = want->dim[i] - x->dim[i];
            pads.list[i] = room > 0 ? pick(s, 0, room) : 0;
            pads.list[rank + i] = room > 0 ? room - pads.list[i] : 0;
        }
    }
    pads = noe_search_param(s, node, NOE_PARAM_PADS, rank, &pads);
    if (x)
        return true;
    if (pads.n != 2 * rank)
        return false;
    noe_shape shape = *want;
    for (int i = 0; i < rank; i++) {
        shape.dim[i] -= pads.list[i] + pads.list[rank + i];
        if (shape.dim[i] < 1)
            return false;
    }
    return noe_search_solve(s, in, &shape);
}

/* Constants */

static bool constant(noe_search *s, uint16_t node, const noe_shape *want, int lo,
                     int hi)
{
    noe_shape shape = *want;
    if (want->rank < 0) {
        shape = noe_search_shape(s, noe_search_rank(s, lo, hi));
        if (shape.rank >= 2 && noe_search_chance(s, 2))
            shape.dim[1] = shape.dim[0];
    }
    noe_value v = noe_value_list(NOE_KIND_INTS, shape.rank, shape.dim);
    noe_search_param(s, node, NOE_PARAM_SHAPE, 0, &v);
    return true;
}

static bool inverse_fill(noe_search *s, uint16_t node, const noe_shape *want)
{
    return constant(s, node, want, 0, MAX_SHAPE_RANK);
}

static bool inverse_matrix(noe_search *s, uint16_t node, const noe_shape *want)
{
    return constant(s, node, want, 2, 2);
}

static bool inverse_kernel(noe_search *s, uint16_t node, const noe_shape *want)
{
    return constant(s, node, want, 3, 5);
}

static bool inverse_leaky_relu(noe_search *s, uint16_t node, const noe_shape *want)
{
    static const double values[] = {0.5, 2, -1, 0.25, 3, 0};
    noe_value v = noe_value_float(values[noe_rng_below(s->rng, 6)]);
    noe_search_param(s, node, NOE_PARAM_ALPHA, 0, &v);
    return inverse_same(s, node, want);
}

noe_inverse_fn *noe_inverse_of(noe_op op)
{
    static noe_inverse_fn *const table[NOE_OP_COUNT] = {
        [NOE_OP_ADD] = inverse_broadcast,
        [NOE_OP_SUB] = inverse_broadcast,
        [NOE_OP_MUL] = inverse_broadcast,
        [NOE_OP_DIV] = inverse_broadcast,
        [NOE_OP_NEG] = inverse_same,
        [NOE_OP_RELU] = inverse_same,
        [NOE_OP_SIGMOID] = inverse_same,
        [NOE_OP_TANH] = inverse_same,
        [NOE_OP_EXP] = inverse_same,
        [NOE_OP_SQRT] = inverse_same,
        [NOE_OP_RECIPROCAL] = inverse_same,
        [NOE_OP_MATMUL] = inverse_matmul,
        [NOE_OP_CONV] = inverse_conv,
        [NOE_OP_MAX_POOL] = inverse_max_pool,
        [NOE_OP_AVERAGE_POOL] = inverse_average_pool,
        [NOE_OP_REDUCE_SUM] = inverse_reduce,
        [NOE_OP_REDUCE_MEAN] = inverse_reduce,
        [NOE_OP_SOFTMAX] = inverse_softmax,
        [NOE_OP_TRANSPOSE] = inverse_transpose,
        [NOE_OP_RESHAPE] = inverse_reshape,
        [NOE_OP_CONCAT] = inverse_concat,
        [NOE_OP_SLICE] = inverse_slice,
        [NOE_OP_PAD] = inverse_pad,
        [NOE_OP_ZEROS] = inverse_fill,
        [NOE_OP_ONES] = inverse_fill,
        [NOE_OP_IDENTITY_MATRIX] = inverse_matrix,
        [NOE_OP_IDENTITY_KERNEL] = inverse_kernel,
        [NOE_OP_AVERAGE_KERNEL] = inverse_kernel,
        [NOE_OP_SCALAR] = noe_inverse_scalar,
        [NOE_OP_GATHER] = noe_inverse_gather,
        [NOE_OP_EXPAND] = noe_inverse_expand,
        [NOE_OP_RESIZE] = noe_inverse_resize,
        [NOE_OP_MAX] = inverse_broadcast,
        [NOE_OP_MIN] = inverse_broadcast,
        [NOE_OP_ABS] = inverse_same,
        [NOE_OP_CAST] = inverse_same,
        [NOE_OP_LEAKY_RELU] = inverse_leaky_relu,
        [NOE_OP_LOG] = inverse_same,
        [NOE_OP_ERF] = inverse_same,
        [NOE_OP_REDUCE_MAX] = inverse_reduce,
        [NOE_OP_WHERE] = noe_inverse_where,
        [NOE_OP_CONV_TRANSPOSE] = noe_inverse_conv_transpose,
        [NOE_OP_LAYER_NORMALIZATION] = noe_inverse_layer_normalization,
        [NOE_OP_INSTANCE_NORMALIZATION] = noe_inverse_instance_normalization,
        [NOE_OP_GROUP_NORMALIZATION] = noe_inverse_group_normalization,
        [NOE_OP_LOG_SOFTMAX] = inverse_softmax,
        [NOE_OP_REDUCE_MIN] = inverse_reduce,
        [NOE_OP_PRELU] = inverse_broadcast,
        [NOE_OP_GEMM] = noe_inverse_gemm,
        [NOE_OP_BATCH_NORMALIZATION] = noe_inverse_batch_normalization,
        [NOE_OP_FLATTEN] = noe_inverse_flatten,
        [NOE_OP_SQUEEZE] = noe_inverse_squeeze,
        [NOE_OP_UNSQUEEZE] = noe_inverse_unsqueeze,
    };
    return table[op];
}
