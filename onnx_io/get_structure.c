/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of operators that pick, repeat or interpolate elements: Gather with constant
 * indices, Expand, Resize and Upsample by integers.
 *
 * Indices in arithmetic progression are a slice, so that the laws of slices apply. Of
 * Resize, each axis is one of: the same, larger by an integer (the operator resize),
 * smaller by an integer (slices and means of neighbours).
 */
#include "onnx_io/get.h"

/* The shape of x without `axis`. */
static const char *add_squeeze(noe_getting *g, noe_ref x, int axis, noe_ref *out)
{
    const noe_shape *s = &noe_graph_type(g->m->graph, x)->shape;
    noe_value shape = {.kind = NOE_KIND_INTS};
    noe_params p = {0};
    for (int i = 0; i < s->rank; i++) {
        if (i != axis)
            shape.list[shape.n++] = s->dim[i];
    }
    noe_get_set_list(NOE_OP_RESHAPE, &p, NOE_PARAM_SHAPE, &shape);
    return noe_get_add(g, NOE_OP_RESHAPE, &p, &x, 1, out);
}

/* Step of indices that are an ascending progression (1 for a single one), or 0. */
static int64_t step_of(const int64_t *index, int64_t n)
{
    int64_t step = n > 1 ? index[1] - index[0] : 1;
    for (int64_t i = 1; i < n; i++) {
        if (index[i] - index[i - 1] != step)
            return 0;
    }
    return step > 0 ? step : 0;
}

/* x at these places of an axis, as a slice or a gather; *op says which. */
static const char *add_places(noe_getting *g, noe_ref x, int64_t axis,
                              const int64_t *index, int64_t n, noe_op *op, noe_ref *out)
{
    int64_t step = n == 0 ? 1 : step_of(index, n);
    noe_params p = {0};
    *op = step > 0 ? NOE_OP_SLICE : NOE_OP_GATHER;
    if (step > 0)
        return noe_get_add_slice(g, x, axis, n ? index[0] : 0, n ? index[n - 1] + 1 : 0,
                                 step, out);
    if (n > NOE_MAX_LIST)
        return noe_get_why(g, "indices has %lld values", (long long)n);
    noe_value v = noe_value_list(NOE_KIND_INTS, (int)n, index);
    noe_get_set_int(NOE_OP_GATHER, &p, NOE_PARAM_AXIS, axis);
    noe_get_set_list(NOE_OP_GATHER, &p, NOE_PARAM_INDICES, &v);
    return noe_get_add(g, NOE_OP_GATHER, &p, &x, 1, out);
}

static const char *get_indices(noe_getting *g, int64_t dim, int64_t *n, int64_t **index,
                               bool *is_scalar)
{
    const noe_onnx_ints *ints =
        noe_get_has(g, 1) ? g->m->values[g->node->in[1]].ints : NULL;
    if (!ints)
        return "the indices are not constant";
    *n = ints->n;
    *is_scalar = ints->rank == 0;
    *index = NOE_NEW_N(&g->m->arena, int64_t, (size_t)ints->n + 1);
    for (int64_t i = 0; i < ints->n; i++) {
        if (!ints->known[i])
            return "the indices are not constant";
        int64_t at = ints->v[i] + (ints->v[i] < 0 ? dim : 0);
        if (at < 0 || at >= dim)
            return noe_get_why(g, "index %lld is out of range", (long long)ints->v[i]);
        (*index)[i] = at;
    }
    g->node->role[1] = NOE_SLOT_OPERAND;
    return NULL;
}

const char *noe_get_gather(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    int64_t n, *index, axis = noe_onnx_attr_int(g->node->proto, "axis", 0);
    bool is_scalar;
    noe_op op;
    NOE_GET(noe_get_only_attributes(g, "axis"));
    NOE_GET(noe_get_want_inputs(g, 2, 2));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    NOE_GET(noe_get_resolve_axis(g, &axis, s->rank));
    NOE_GET(get_indices(g, s->dim[axis], &n, &index, &is_scalar));
    NOE_GET(add_places(g, x, axis, index, n, &op, &x));
    if (is_scalar) {
        NOE_GET(add_squeeze(g, x, (int)axis, &x));
        op = NOE_OP_RESHAPE;
    }
    noe_get_done(g, 0, op, x);
    return NULL;
}

const char *noe_get_expand(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value dims;
    noe_shape to;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 2, 2));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    NOE_GET(noe_get_ints(g, 1, "shape", &dims));
    if (dims.n > NOE_MAX_RANK)
        return noe_get_why(g, "the new rank is %d", dims.n);
    for (int i = 0; i < dims.n; i++) {
        if (dims.list[i] < 0)
            return noe_get_why(g, "size %lld", (long long)dims.list[i]);
    }
    noe_shape shape = noe_shape_make(dims.n, dims.list);
    if (!noe_shape_broadcast(s, &shape, &to))
        return "the shapes do not broadcast";
    if (noe_shape_eq(s, &to))
        return noe_get_alias(g);
    dims = noe_value_list(NOE_KIND_INTS, to.rank, to.dim);
    noe_get_set_list(NOE_OP_EXPAND, &p, NOE_PARAM_SHAPE, &dims);
    NOE_GET(noe_get_add(g, NOE_OP_EXPAND, &p, &x, 1, &x));
    noe_get_done(g, 0, NOE_OP_EXPAND, x);
    return NULL;
}

/* ---- Resize ---- */

/* Elements of an axis that is resized: each is looked at. */
#define MAX_RESIZED (1 << 20)

typedef enum coordinates {
    HALF_PIXEL,
    ASYMMETRIC,
    ALIGN_CORNERS,
    HALF_PIXEL_FOR_NN, /* tf_half_pixel_for_nn */
} coordinates;

typedef enum rounding {
    PREFER_FLOOR,
    PREFER_CEIL,
    FLOOR,
    CEIL,
} rounding;

typedef struct resizing {
    bool is_linear;
    coordinates coordinates;
    bool one_is_first; /* pytorch_half_pixel: a single output is the first element */
    rounding rounding;
    int64_t to[NOE_MAX_RANK]; /* sizes that are wanted */
} resizing;

static const char *get_coordinates(noe_getting *g, resizing *r)
{
    static const struct {
        const char *name;
        coordinates is;
    } names[] = {
        {"half_pixel", HALF_PIXEL},
        {"pytorch_half_pixel", HALF_PIXEL},
        {"half_pixel_symmetric", HALF_PIXEL}, /* differs at broken scales only */
        {"asymmetric", ASYMMETRIC},
        {"align_corners", ALIGN_CORNERS},
        {"tf_half_pixel_for_nn", HALF_PIXEL_FOR_NN},
    };
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                            "floor", "ceil"};
    const char *usual = g->m->opset < 11 ? "asymmetric" : "half_pixel";
    const char *name = "coordinate_transformation_mode";
    size_t i = 0;
    while (i < 6 && !noe_get_text_is(g, name, usual, names[i].name))
        i++;
    if (i == 6)
        return "its coordinates are not understood";
    r->coordinates = names[i].is;
    r->one_is_first = i == 1;
    usual = g->m->opset < 11 ? "floor" : "round_prefer_floor";
    for (i = 0; i < 4 && !noe_get_text_is(g, "nearest_mode", usual, roundings[i]);)
        i++;
    if (i == 4)
        return "nearest_mode is not understood";
    r->rounding = (rounding)i;
    return NULL;
}

/* Size of an axis of n elements after scaling; only by an integer or its inverse. */
static int64_t scaled(int64_t n, float scale)
{
    double up = (double)scale, down = scale > 0 ? (double)(1 / scale) : 0;
    int64_t divisor = down < 1e6 ? (int64_t)(down + 0.5) : 0;
    if (up >= 1 && up <= 1e6 && up == (double)(int64_t)up)
        return n * (int64_t)up;
    if (divisor > 1 && scale == 1 / (float)divisor && n % divisor == 0)
        return n / divisor;
    return -1;
}

/* The axes that scales or sizes are about: all, or those of the attribute. */
static const char *get_resized_axes(noe_getting *g, int rank, noe_value *axes)
{
    bool found;
    NOE_GET(noe_get_list(g, "axes", axes, &found));
    for (int i = 0; !found && i < rank; i++)
        axes->list[i] = i;
    axes->n = found ? axes->n : rank;
    for (int i = 0; i < axes->n; i++)
        NOE_GET(noe_get_resolve_axis(g, &axes->list[i], rank));
    return NULL;
}

/* The operands scales and sizes and where they are. */
static const char *get_targets(noe_getting *g, const noe_shape *s, resizing *r)
{
    size_t slot = g->m->opset < 11 ? 1 : 2;
    noe_value axes, sizes;
    const float *scales = NULL;
    int64_t n = 0;
    NOE_GET(get_resized_axes(g, s->rank, &axes));
    memcpy(r->to, s->dim, sizeof r->to);
    if (g->m->opset < 9) {
        const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, "scales");
        if (!a)
            return "scales is missing";
        scales = a->floats;
        n = (int64_t)a->n_floats;
    } else if (noe_get_has(g, slot)) {
        NOE_GET(noe_get_floats(g, slot, "scales", &scales, &n));
    }
    if (noe_get_has(g, 3)) {
        if (n > 0)
            return "it has scales and sizes";
        NOE_GET(noe_get_ints(g, 3, "sizes", &sizes));
        n = sizes.n;
    }
    if (n != axes.n)
        return noe_get_why(g, "%lld scales, want %d", (long long)n, axes.n);
    for (int i = 0; i < axes.n; i++) {
        int64_t axis = axes.list[i];
        r->to[axis] =
            noe_get_has(g, 3) ? sizes.list[i] : scaled(s->dim[axis], scales[i]);
        if (r->to[axis] < 0)
            return noe_get_why(g, "axis %lld is not scaled by an integer",
                               (long long)axis);
    }
    return NULL;
}

/* Place of output i on an axis of n elements that becomes m, as a fraction. */
static void place(const resizing *r, int64_t i, int64_t n, int64_t m, int64_t *num,
                  int64_t *den)
{
    switch (r->coordinates) {
    case HALF_PIXEL:
        *num = (2 * i + 1) * n - m, *den = 2 * m;
        break;
    case ASYMMETRIC:
        *num = i * n, *den = m;
        break;
    case ALIGN_CORNERS:
        *num = m > 1 ? i * (n - 1) : 0, *den = m > 1 ? m - 1 : 1;
        break;
    case HALF_PIXEL_FOR_NN:
        *num = (2 * i + 1) * n, *den = 2 * m;
        break;
    }
    if (r->one_is_first && m == 1)
        *num = 0;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The element that nearest takes. */
static int64_t nearest(const resizing *r, int64_t i, int64_t n, int64_t m)
{
    int64_t num = 0, den = 1, at = 0;
    place(r, i, n, m, &num, &den);
    switch (r->rounding) {
    case PREFER_FLOOR:
        at = -floor_div(den - 2 * num, 2 * den);
        break;
    case PREFER_CEIL:
        at = floor_div(2 * num + den, 2 * den);
        break;
    case FLOOR:
        at = floor_div(num, den);
        break;
    case CEIL:
        at = -floor_div(-num, den);
        break;
    }
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static bool repeats_elements(const resizing *r, int64_t n, int64_t m)
{
    if (m % n != 0)
        return false;
    for (int64_t i = 0; i < m; i++) {
        if (nearest(r, i, n, m) != i / (m / n))
            return false;
    }
    return true;
}

/* One axis of nearest that is no plain repetition: the places, listed. */
static const char *pick_nearest(noe_getting *g, const resizing *r, int64_t axis,
                                int64_t n, noe_ref *x)
{
    noe_op op;
    int64_t m = r->to[axis];
    int64_t *index = NOE_NEW_N(&g->m->arena, int64_t, (size_t)m);
    for (int64_t i = 0; i < m; i++)
        index[i] = nearest(r, i, n, m);
    return add_places(g, *x, axis, index, m, &op, x);
}

/* The mean of two neighbours every `stride` elements of an axis. */
static const char *average_pairs(noe_getting *g, int64_t axis, int64_t stride,
                                 noe_ref *x)
{
    const noe_shape *s = &noe_graph_type(g->m->graph, *x)->shape;
    int spatial = s->rank - 2, at = (int)axis - 2;
    int64_t skipped = stride / 2 - 1, dim = s->dim[axis];
    noe_value kernel = {.kind = NOE_KIND_INTS, .n = spatial}, strides, pads;
    noe_params p = {0};
    if (at < 0 || spatial < 1 || spatial > 3)
        return "a mean is taken over no spatial axis";
    for (int i = 0; i < spatial; i++)
        kernel.list[i] = 1;
    strides = kernel;
    pads = (noe_value){.kind = NOE_KIND_INTS, .n = 2 * spatial};
    kernel.list[at] = 2;
    strides.list[at] = stride;
    if (skipped > 0)
        NOE_GET(noe_get_add_slice(g, *x, axis, skipped, dim - skipped, 1, x));
    noe_get_set_list(NOE_OP_AVERAGE_POOL, &p, NOE_PARAM_KERNEL_SHAPE, &kernel);
    noe_get_set_list(NOE_OP_AVERAGE_POOL, &p, NOE_PARAM_STRIDES, &strides);
    noe_get_set_list(NOE_OP_AVERAGE_POOL, &p, NOE_PARAM_PADS, &pads);
    noe_get_set_int(NOE_OP_AVERAGE_POOL, &p, NOE_PARAM_COUNT_INCLUDE_PAD, 0);
    return noe_get_add(g, NOE_OP_AVERAGE_POOL, &p, x, 1, x);
}

/* Linear to the n-th part: an element each, or the mean of two. */
static const char *shrink_linear(noe_getting *g, const resizing *r, int64_t axis,
                                 int64_t n, noe_ref *x)
{
    int64_t m = r->to[axis], ratio = m > 0 ? n / m : 0;
    bool is_half_pixel = r->coordinates == HALF_PIXEL && !(r->one_is_first && m == 1);
    if (r->coordinates != ASYMMETRIC && !is_half_pixel)
        return "it shrinks with these coordinates";
    if (is_half_pixel && ratio % 2 == 0)
        return average_pairs(g, axis, ratio, x);
    int64_t start = is_half_pixel ? ratio / 2 : 0;
    return noe_get_add_slice(g, *x, axis, start, n, ratio, x);
}

static const char *resize_axis(noe_getting *g, const resizing *r, int axis, int64_t n,
                               noe_ref *x, int64_t *scale)
{
    int64_t m = r->to[axis];
    *scale = 1;
    if (n < 1 || m < 1 || m > MAX_RESIZED || (m % n != 0 && n % m != 0))
        return noe_get_why(g, "axis %d goes from %lld to %lld", axis, (long long)n,
                           (long long)m);
    if (m == n && (r->is_linear || repeats_elements(r, n, m)))
        return NULL;
    if (!r->is_linear && (m < n || !repeats_elements(r, n, m)))
        return pick_nearest(g, r, axis, n, x);
    if (m < n)
        return shrink_linear(g, r, axis, n, x);
    if (axis < 2)
        return "it enlarges axes that are not spatial";
    *scale = m / n;
    return NULL;
}

/* What is to be enlarged, all axes at once. */
static const char *enlarge(noe_getting *g, const resizing *r, const noe_value *scales,
                           noe_ref *x)
{
    static const int modes[] = {[HALF_PIXEL] = 1,
                                [ASYMMETRIC] = 2,
                                [ALIGN_CORNERS] = 3,
                                [HALF_PIXEL_FOR_NN] = -1};
    noe_params p = {0};
    bool is_needed = false;
    for (int i = 0; i < scales->n; i++)
        is_needed |= scales->list[i] != 1;
    if (!is_needed)
        return NULL;
    int mode = r->is_linear ? modes[r->coordinates] : 0;
    if (mode < 0)
        return "its coordinates are not understood";
    noe_get_set_int(NOE_OP_RESIZE, &p, NOE_PARAM_MODE, mode);
    noe_get_set_list(NOE_OP_RESIZE, &p, NOE_PARAM_SCALES, scales);
    return noe_get_add(g, NOE_OP_RESIZE, &p, x, 1, x);
}

static const char *check_resize_form(noe_getting *g, resizing *r)
{
    const Onnx__NodeProto *proto = g->node->proto;
    bool is_upsample = strcmp(proto->op_type, "Upsample") == 0;
    int64_t opset = g->m->opset;
    NOE_GET(noe_get_only_attributes(
        g, is_upsample ? (opset < 9 ? "mode scales" : "mode")
           : opset == 10
               ? "mode"
               : "antialias axes coordinate_transformation_mode cubic_coeff_a "
                 "exclude_outside extrapolation_value "
                 "keep_aspect_ratio_policy mode nearest_mode"));
    NOE_GET(noe_get_want_inputs(g, 1, opset < 9 ? 1 : opset < 11 ? 2 : 4));
    NOE_GET(noe_get_one_output(g));
    r->is_linear = noe_get_text_is(g, "mode", "nearest", "linear");
    if (!r->is_linear && !noe_get_text_is(g, "mode", "nearest", "nearest"))
        return "mode is not understood";
    if (noe_onnx_attr_int(proto, "antialias", 0) != 0)
        return "antialias is set";
    if (!noe_get_text_is(g, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return "keep_aspect_ratio_policy is not stretch";
    return get_coordinates(g, r);
}

/* The region of interest has no effect in the modes that are understood. */
static const char *get_roi(noe_getting *g)
{
    const float *roi;
    int64_t n;
    if (g->m->opset < 11 || !noe_get_has(g, 1))
        return NULL;
    return noe_get_floats(g, 1, "roi", &roi, &n);
}

const char *noe_get_resize(noe_getting *g)
{
    noe_ref x, first;
    const noe_shape *s;
    resizing r = {.is_linear = false};
    NOE_GET(check_resize_form(g, &r));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    NOE_GET(get_roi(g));
    NOE_GET(get_targets(g, s, &r));
    noe_value scales = {.kind = NOE_KIND_INTS, .n = s->rank > 2 ? s->rank - 2 : 0};
    first = x;
    for (int i = 0; i < s->rank; i++) {
        int64_t scale;
        NOE_GET(resize_axis(g, &r, i, s->dim[i], &x, &scale));
        if (i >= 2)
            scales.list[i - 2] = scale;
    }
    NOE_GET(enlarge(g, &r, &scales, &x));
    if (noe_ref_eq(x, first))
        return noe_get_alias(g);
    noe_get_done(g, 0, NOE_OP_RESIZE, x);
    return NULL;
}
