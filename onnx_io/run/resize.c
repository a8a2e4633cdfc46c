/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling: each axis is interpolated by itself, with weights of a nearest, linear or
 * cubic kernel at the place that a coordinate transformation gives.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef struct resample {
    const char *transform, *mode, *nearest;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
} resample;

typedef struct axis_plan {
    int64_t in, out;
    double scale, start, end; /* start and end of the region of interest, 0 to 1 */
} axis_plan;

/* Place in the input, in elements, of element i of the result. */
static double place_of(const resample *r, const axis_plan *a, int64_t i)
{
    double x = (double)i, in = (double)a->in, out = a->scale * in;
    if (strcmp(r->transform, "asymmetric") == 0)
        return x / a->scale;
    if (strcmp(r->transform, "align_corners") == 0)
        return a->out == 1 ? 0
                           : x * (in - 1) /
                                 (out == (double)a->out ? (double)a->out - 1 : out - 1);
    if (strcmp(r->transform, "pytorch_half_pixel") == 0)
        return a->out > 1 ? (x + 0.5) / a->scale - 0.5 : -0.5;
    if (strcmp(r->transform, "tf_half_pixel_for_nn") == 0)
        return (x + 0.5) / a->scale;
    if (strcmp(r->transform, "half_pixel_symmetric") == 0) {
        double adjust = (double)a->out / out, centre = in / 2;
        return centre * (1 - adjust) + (x + 0.5) / a->scale - 0.5;
    }
    if (strcmp(r->transform, "tf_crop_and_resize") == 0)
        return a->out > 1 ? a->start * (in - 1) + x * (a->end - a->start) * (in - 1) /
                                                      ((double)a->out - 1)
                          : 0.5 * (a->start + a->end) * (in - 1);
    return (x + 0.5) / a->scale - 0.5; /* half_pixel */
}

static double cubic(double a, double x)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double weight_at(const resample *r, double distance)
{
    if (strcmp(r->mode, "linear") == 0)
        return fmax(0, 1 - fabs(distance));
    return cubic(r->cubic_a, distance);
}

static int64_t nearest_of(const resample *r, double x)
{
    double low = floor(x), high = ceil(x);
    if (strcmp(r->nearest, "floor") == 0)
        return (int64_t)low;
    if (strcmp(r->nearest, "ceil") == 0)
        return (int64_t)high;
    if (x - low == 0.5)
        return (int64_t)(strcmp(r->nearest, "round_prefer_ceil") == 0 ? high : low);
    return (int64_t)floor(x + 0.5);
}

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Weights of all input elements for one element of the result, as (first, count). */
static void weights_for(const resample *r, const axis_plan *a, int64_t i, double *w)
{
    double x = place_of(r, a, i);
    memset(w, 0, (size_t)a->in * sizeof *w);
    if (strcmp(r->mode, "nearest") == 0) {
        w[clamp(nearest_of(r, x), a->in)] = 1;
        return;
    }
    /* without antialiasing the kernel has the width of the input's grid */
    double shrink = r->antialias && a->scale < 1 ? a->scale : 1, total = 0;
    double reach = (strcmp(r->mode, "linear") == 0 ? 1 : 2) / shrink;
    int64_t from = (int64_t)floor(x - reach), to = (int64_t)ceil(x + reach);
    for (int64_t k = from; k <= to; k++) {
        double f = weight_at(r, (x - (double)k) * shrink);
        if (r->exclude_outside && (k < 0 || k >= a->in))
            continue;
        w[clamp(k, a->in)] += f;
        total += f;
    }
    for (int64_t k = 0; k < a->in && total != 0; k++)
        w[k] /= total;
}

/* Interpolates axis k: shape->dim[k] becomes a->out. */
static double *along(noe_call *c, const resample *r, const axis_plan *a,
                     const double *x, noe_dims *shape, int k)
{
    int64_t inner = noe_dims_count(shape, k + 1, shape->rank);
    int64_t outer = noe_dims_count(shape, 0, k);
    double *y = NOE_ZEROS(c, double, outer * a->out * inner);
    double *w = NOE_ZEROS(c, double, a->in);
    for (int64_t i = 0; i < a->out; i++) {
        weights_for(r, a, i, w);
        for (int64_t j = 0; j < a->in; j++) {
            for (int64_t o = 0; o < outer && w[j] != 0; o++) {
                const double *from = x + (o * a->in + j) * inner;
                double *to = y + (o * a->out + i) * inner;
                for (int64_t l = 0; l < inner; l++)
                    to[l] += w[j] * from[l];
            }
        }
    }
    shape->dim[k] = a->out;
    return y;
}

/* With tf_crop_and_resize, places outside the input get the extrapolation value. */
static void extrapolate(const resample *r, const axis_plan *plan, const noe_dims *shape,
                        double *y)
{
    int64_t step[NOE_RUN_MAX_RANK], n = noe_dims_count(shape, 0, shape->rank);
    if (strcmp(r->transform, "tf_crop_and_resize") != 0)
        return;
    noe_dims_strides(shape, step);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < shape->rank; k++) {
            double x = place_of(r, &plan[k], i / step[k] % shape->dim[k]);
            if (plan[k].in != plan[k].out || plan[k].start != 0 || plan[k].end != 1)
                y[i] = x < 0 || x > (double)plan[k].in - 1 ? r->extrapolation : y[i];
        }
    }
}

static noe_status interpolate(noe_call *c, const resample *r, const axis_plan *plan)
{
    const noe_run_value *x = c->in[0];
    noe_dims shape = x->shape, to = x->shape;
    for (int k = 0; k < shape.rank; k++) {
        to.dim[k] = plan[k].out;
        if (shape.dim[k] == 0 && plan[k].out > 0)
            return noe_call_fail(c, "axis %d has no elements", k);
    }
    NOE_OUT(y, c, 0, x->elem, &to);
    bool is_float = noe_elem_is_float((int)x->elem);
    if (!is_float && !noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    double *v = noe_call_f64(c, x);
    for (int k = 0; k < shape.rank; k++) {
        bool moves = strcmp(r->transform, "tf_crop_and_resize") == 0 &&
                     (plan[k].start != 0 || plan[k].end != 1);
        if (plan[k].in != plan[k].out || moves || plan[k].scale != 1)
            v = along(c, r, &plan[k], v, &shape, k);
    }
    extrapolate(r, plan, &to, v);
    if (is_float) {
        noe_run_store_f64(y, v, false);
    } else {
        int64_t *whole = NOE_ZEROS(c, int64_t, y->n);
        for (int64_t i = 0; i < y->n; i++)
            whole[i] = (int64_t)nearbyint(v[i]);
        noe_run_store_i64(y, whole);
    }
    return NOE_OK;
}

static bool is_given(const noe_run_value *v)
{
    return v && v->n > 0;
}

/* Sizes from scales, or scales from sizes; the policy makes the scales of all resized
 * axes equal. */
static noe_status plan_axes(noe_call *c, const noe_run_value *scales,
                            const noe_run_value *sizes, const int64_t *axes, int n,
                            axis_plan *plan)
{
    const noe_dims *x = &c->in[0]->shape;
    const char *policy = noe_call_string(c, "keep_aspect_ratio_policy", "stretch");
    bool is_kept = sizes && strcmp(policy, "stretch") != 0;
    double common = 0;
    if ((sizes ? sizes : scales)->n != n)
        return noe_call_fail(c, "%lld sizes or scales for %d axes",
                             (long long)(sizes ? sizes : scales)->n, n);
    const double *given = noe_call_f64(c, sizes ? sizes : scales);
    for (int i = 0; i < n && is_kept; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, x->rank, &a));
        double s = given[i] / (double)x->dim[a];
        bool smaller = strcmp(policy, "not_larger") == 0;
        common = i == 0 || (smaller ? s < common : s > common) ? s : common;
    }
    for (int i = 0; i < n; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, x->rank, &a));
        double in = (double)x->dim[a];
        double s = is_kept ? common : sizes ? given[i] / in : given[i];
        double out = is_kept ? floor(common * in + 0.5)
                     : sizes ? given[i]
                             : floor(in * s);
        if (!(s > 0 || in == 0 || out == 0) || !(out >= 0 && out < 0x1p40))
            return noe_call_fail(c, "axis %d is scaled by %g", a, s);
        plan[a].scale = sizes && !is_kept ? out / in : s;
        plan[a].out = (int64_t)out;
    }
    return NOE_OK;
}

static noe_status read_region(noe_call *c, const noe_run_value *roi,
                              const int64_t *axes, int n, axis_plan *plan)
{
    if (!is_given(roi))
        return NOE_OK;
    if (roi->n != 2 * n)
        return noe_call_fail(c, "roi has %lld values, want %d", (long long)roi->n,
                             2 * n);
    const double *v = noe_call_f64(c, roi);
    for (int i = 0; i < n; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, c->in[0]->shape.rank, &a));
        plan[a].start = v[i];
        plan[a].end = v[n + i];
    }
    return NOE_OK;
}

/* Opset 10: X, scales, places x / scale rounded down. Since 11: X, roi, scales, sizes.
 */
static noe_status run_resize(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    axis_plan plan[NOE_RUN_MAX_RANK];
    bool is_old = c->opset < 11;
    resample r = {.transform = noe_call_string(c, "coordinate_transformation_mode",
                                               is_old ? "asymmetric" : "half_pixel"),
                  .mode = noe_call_string(c, "mode", "nearest"),
                  .nearest = noe_call_string(c, "nearest_mode",
                                             is_old ? "floor" : "round_prefer_floor"),
                  .antialias = noe_call_int(c, "antialias", 0) != 0,
                  .exclude_outside = noe_call_int(c, "exclude_outside", 0) != 0,
                  .cubic_a = noe_call_float(c, "cubic_coeff_a", -0.75),
                  .extrapolation = noe_call_float(c, "extrapolation_value", 0)};
    const noe_run_value *scales = noe_call_in(c, is_old ? 1 : 2);
    const noe_run_value *sizes = is_old ? NULL : noe_call_in(c, 3);
    int n;
    const int64_t *axes = noe_call_list(c, "axes", &n);
    n = axes ? n : x->rank;
    scales = is_given(scales) ? scales : NULL;
    sizes = is_given(sizes) ? sizes : NULL;
    if (!scales == !sizes)
        return noe_call_fail(c, "want scales or sizes, and not both");
    for (int k = 0; k < x->rank; k++)
        plan[k] = (axis_plan){x->dim[k], x->dim[k], 1, 0, 1};
    NOE_TRY(plan_axes(c, scales, sizes, axes, n, plan));
    if (!is_old)
        NOE_TRY(read_region(c, noe_call_in(c, 1), axes, n, plan));
    return interpolate(c, &r, plan);
}

/* Scales as attribute (opset 7; before that height_scale and width_scale) or input. */
static noe_status run_upsample(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    const Onnx__AttributeProto *a = noe_call_attr(c, "scales");
    const noe_run_value *scales = noe_call_in(c, 1);
    axis_plan plan[NOE_RUN_MAX_RANK];
    resample r = {.transform = "asymmetric",
                  .mode = noe_call_string(c, "mode", "nearest"),
                  .nearest = "floor"};
    const double *given = scales ? noe_call_f64(c, scales) : NULL;
    if (scales ? scales->n != x->rank
        : a    ? a->n_floats != (size_t)x->rank
               : x->rank != 4)
        return noe_call_fail(c, "scales do not fit");
    r.mode = strcmp(r.mode, "bilinear") == 0 ? "linear" : r.mode;
    for (int k = 0; k < x->rank; k++) {
        double s = given    ? given[k]
                   : a      ? (double)a->floats[k]
                   : k == 2 ? noe_call_float(c, "height_scale", 1)
                   : k == 3 ? noe_call_float(c, "width_scale", 1)
                            : 1;
        double out = floor((double)x->dim[k] * s);
        if (!(s > 0) || !(out < 0x1p40))
            return noe_call_fail(c, "axis %d is scaled by %g", k, s);
        plan[k] = (axis_plan){x->dim[k], (int64_t)out, s, 0, 1};
    }
    return interpolate(c, &r, plan);
}

const noe_operator noe_operators_resize[] = {
    {"Resize", run_resize, 1, NULL, 0},
    {"Upsample", run_upsample, 1, NULL, 0},
    {0},
};
