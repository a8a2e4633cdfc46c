/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations: each run of elements is brought to a common scale.
 */
#include "onnx_io/run/call.h"
#include <math.h>

static noe_status need_float(noe_call *c)
{
    return noe_elem_is_float((int)c->in[0]->elem) ? NOE_OK : noe_call_bad_type(c);
}

/* ---- softmax and relatives ---- */

typedef enum softmax { SOFT, LOG_SOFT, HARD } softmax;

static void soften(softmax kind, double *x, int64_t n, int64_t step)
{
    double most = -INFINITY, total = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i * step] > most || isnan(x[i * step])) {
            most = x[i * step];
            at = i;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        x[i * step] = kind == HARD ? i == at : x[i * step] - most;
        total += exp(x[i * step]);
    }
    for (int64_t i = 0; i < n && kind != HARD; i++)
        x[i * step] =
            kind == SOFT ? exp(x[i * step]) / total : x[i * step] - log(total);
}

/* Before opset 13 all axes from the given one on are normalized together. */
static noe_status run_softmax(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    softmax kind = strcmp(c->node->op_type, "Softmax") == 0      ? SOFT
                   : strcmp(c->node->op_type, "LogSoftmax") == 0 ? LOG_SOFT
                                                                 : HARD;
    bool joined = c->opset < 13;
    int axis, rank = x->shape.rank;
    NOE_TRY(need_float(c));
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", joined ? 1 : -1),
                          rank + (joined && rank == 1), &axis));
    double *v = noe_call_f64(c, x);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    int64_t inner = joined ? 1 : noe_dims_count(&x->shape, axis + 1, rank);
    int64_t n = joined ? noe_dims_count(&x->shape, axis, rank) : x->shape.dim[axis];
    for (int64_t row = 0; row < (n ? x->n / n : 0); row++)
        soften(kind, v + row / inner * n * inner + row % inner, n, inner);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* ---- by channel ---- */

static noe_status channel_numbers(noe_call *c, int i, int64_t channels, double **v)
{
    const noe_run_value *x = noe_call_in(c, i);
    if (!x || x->n != channels || !noe_elem_is_float((int)x->elem))
        return noe_call_fail(c, "input %d is not one float for each of %lld channels",
                             i, (long long)channels);
    *v = noe_call_f64(c, x);
    return NOE_OK;
}

static noe_status channels_of(noe_call *c, int64_t *channels, int64_t *inner)
{
    const noe_dims *x = &c->in[0]->shape;
    NOE_TRY(need_float(c));
    *channels = x->rank > 1 ? x->dim[1] : 1;
    *inner = noe_dims_count(x, 2, x->rank);
    if (x->rank < 1)
        return noe_call_fail(c, "the input has rank 0");
    return NOE_OK;
}

/* Mean and variance of each channel over batch and places. */
static void channel_moments(const double *x, int64_t n, int64_t channels, int64_t inner,
                            double *mean, double *var)
{
    double each = (double)n / (double)channels;
    for (int64_t i = 0; i < n; i++)
        mean[i / inner % channels] += x[i] / each;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - mean[i / inner % channels];
        var[i / inner % channels] += d * d / each;
    }
}

static noe_status store_running(noe_call *c, int i, const double *old,
                                const double *now, int64_t channels, double momentum)
{
    noe_dims shape = {1, {channels}};
    noe_elem elem = c->in[i + 2]->elem;
    NOE_OUT(y, c, i, elem, &shape);
    double *v = NOE_ZEROS(c, double, channels);
    for (int64_t k = 0; k < channels; k++)
        v[k] = old[k] * momentum + now[k] * (1 - momentum);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* Up to opset 6 is_test said that a model is not in training; up to opset 13 more than
 * one output did. Before opset 9 statistics could be for each place (spatial = 0). */
static noe_status run_batch_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t channels, inner;
    double *scale = NULL, *shift = NULL, *mean = NULL, *var = NULL;
    NOE_TRY(channels_of(c, &channels, &inner));
    if (c->opset < 9 && !noe_call_int(c, "spatial", 1)) {
        channels *= inner;
        inner = 1;
    }
    NOE_TRY(channel_numbers(c, 1, channels, &scale));
    NOE_TRY(channel_numbers(c, 2, channels, &shift));
    NOE_TRY(channel_numbers(c, 3, channels, &mean));
    NOE_TRY(channel_numbers(c, 4, channels, &var));
    double *v = noe_call_f64(c, x), epsilon = noe_call_float(c, "epsilon", 1e-5F);
    bool trains =
        noe_call_int(c, "training_mode", 0) != 0 || (c->opset < 14 && c->n_out > 1);
    if (trains) {
        double *m = NOE_ZEROS(c, double, channels), *d = NOE_ZEROS(c, double, channels);
        double momentum = noe_call_float(c, "momentum", 0.9F);
        channel_moments(v, x->n, channels, inner, m, d);
        NOE_TRY(store_running(c, 1, mean, m, channels, momentum));
        NOE_TRY(store_running(c, 2, var, d, channels, momentum));
        mean = m;
        var = d;
    }
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k = i / inner % channels;
        v[i] = (v[i] - mean[k]) / sqrt(var[k] + epsilon) * scale[k] + shift[k];
    }
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* (x - mean) / sqrt(variance + epsilon) over n elements in a row. */
static void standardize(double *x, int64_t n, double epsilon, double *mean,
                        double *inverse)
{
    double m = 0, d = 0;
    for (int64_t i = 0; i < n; i++)
        m += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        d += (x[i] - m) * (x[i] - m) / (double)n;
    *mean = m;
    *inverse = 1 / sqrt(d + epsilon);
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] - m) * *inverse;
}

static noe_status run_instance_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t channels, inner;
    double *scale = NULL, *shift = NULL, mean, inverse;
    NOE_TRY(channels_of(c, &channels, &inner));
    NOE_TRY(channel_numbers(c, 1, channels, &scale));
    NOE_TRY(channel_numbers(c, 2, channels, &shift));
    double *v = noe_call_f64(c, x), epsilon = noe_call_float(c, "epsilon", 1e-5F);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t row = 0; row < (inner ? x->n / inner : 0); row++) {
        double *at = v + row * inner;
        standardize(at, inner, epsilon, &mean, &inverse);
        for (int64_t i = 0; i < inner; i++)
            at[i] = at[i] * scale[row % channels] + shift[row % channels];
    }
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* In opset 18 scale and shift were for each group, since 21 for each channel. */
static noe_status run_group_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t channels, inner, groups = noe_call_int(c, "num_groups", 0);
    double *scale = NULL, *shift = NULL, mean, inverse;
    NOE_TRY(channels_of(c, &channels, &inner));
    if (groups <= 0 || channels % groups != 0)
        return noe_call_fail(c, "%lld groups do not fit", (long long)groups);
    int64_t n = c->opset < 21 ? groups : channels;
    NOE_TRY(channel_numbers(c, 1, n, &scale));
    NOE_TRY(channel_numbers(c, 2, n, &shift));
    double *v = noe_call_f64(c, x), epsilon = noe_call_float(c, "epsilon", 1e-5F);
    int64_t len = channels / groups * inner;
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t row = 0; row < (len ? x->n / len : 0); row++)
        standardize(v + row * len, len, epsilon, &mean, &inverse);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k = i / inner % channels / (channels / n);
        v[i] = v[i] * scale[k] + shift[k];
    }
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* ---- from an axis on ---- */

static noe_status scale_and_shift(noe_call *c, double *v, const noe_dims *shape)
{
    for (int i = 1; i <= 2; i++) {
        const noe_run_value *by = noe_call_in(c, i);
        noe_dims wide = *shape;
        if (!by)
            continue;
        if (!noe_dims_broadcast(&wide, &by->shape) || !noe_dims_eq(&wide, shape) ||
            !noe_elem_is_float((int)by->elem))
            return noe_call_fail(c, "input %d does not broadcast to the input", i);
        const double *f = noe_call_f64_as(c, by, shape);
        for (int64_t k = 0; k < noe_dims_count(shape, 0, shape->rank); k++)
            v[k] = i == 1 ? v[k] * f[k] : v[k] + f[k];
    }
    return NOE_OK;
}

/* The first axis that is normalized over, and the elements from there on. */
static noe_status read_rows(noe_call *c, int *axis, int64_t *n)
{
    const noe_dims *shape = &c->in[0]->shape;
    NOE_TRY(need_float(c));
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", -1), shape->rank, axis));
    *n = noe_dims_count(shape, *axis, shape->rank);
    return NOE_OK;
}

static noe_status run_layer_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int axis;
    int64_t n;
    NOE_TRY(read_rows(c, &axis, &n));
    double *v = noe_call_f64(c, x), epsilon = noe_call_float(c, "epsilon", 1e-5F);
    noe_dims outer = x->shape;
    for (int i = axis; i < outer.rank; i++)
        outer.dim[i] = 1;
    noe_elem stash = (noe_elem)noe_call_int(c, "stash_type", NOE_ELEM_F32);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    NOE_OUT(mean, c, 1, stash, &outer);
    NOE_OUT(inverse, c, 2, stash, &outer);
    double *m = NOE_ZEROS(c, double, mean->n), *d = NOE_ZEROS(c, double, mean->n);
    for (int64_t row = 0; row < (n ? x->n / n : 0); row++)
        standardize(v + row * n, n, epsilon, &m[row], &d[row]);
    NOE_TRY(scale_and_shift(c, v, &x->shape));
    noe_run_store_f64(y, v, false);
    noe_run_store_f64(mean, m, false);
    noe_run_store_f64(inverse, d, false);
    return NOE_OK;
}

static noe_status run_rms_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int axis;
    int64_t n;
    NOE_TRY(read_rows(c, &axis, &n));
    double *v = noe_call_f64(c, x), epsilon = noe_call_float(c, "epsilon", 1e-5F);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t row = 0; row < (n ? x->n / n : 0); row++) {
        double total = 0, *at = v + row * n;
        for (int64_t i = 0; i < n; i++)
            total += at[i] * at[i] / (double)n;
        for (int64_t i = 0; i < n; i++)
            at[i] /= sqrt(total + epsilon);
    }
    NOE_TRY(scale_and_shift(c, v, &x->shape));
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* ---- others ---- */

static noe_status run_lp_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int axis, rank = x->shape.rank;
    int64_t p = noe_call_int(c, "p", 2);
    NOE_TRY(need_float(c));
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", -1), rank, &axis));
    double *v = noe_call_f64(c, x);
    int64_t n = x->shape.dim[axis], inner = noe_dims_count(&x->shape, axis + 1, rank);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t row = 0; row < (n ? x->n / n : 0); row++) {
        double total = 0, *at = v + row / inner * n * inner + row % inner;
        for (int64_t i = 0; i < n; i++)
            total += p == 1 ? fabs(at[i * inner]) : at[i * inner] * at[i * inner];
        total = p == 1 ? total : sqrt(total);
        for (int64_t i = 0; i < n && total != 0; i++)
            at[i * inner] /= total;
    }
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

static noe_status run_mean_variance_norm(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    static const int64_t usual[] = {0, 2, 3};
    int64_t stride[NOE_RUN_MAX_RANK], step = 1;
    int n_axes, rank = x->shape.rank;
    const int64_t *axes = noe_call_list(c, "axes", &n_axes);
    bool gone[NOE_RUN_MAX_RANK] = {0};
    NOE_TRY(need_float(c));
    for (int i = 0; i < (axes ? n_axes : 3); i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : usual[i], rank, &a));
        gone[a] = true;
    }
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = gone[i] ? 0 : step;
        step *= gone[i] ? 1 : x->shape.dim[i];
    }
    int64_t *to = noe_call_strided(c, &x->shape, 0, stride);
    double *v = noe_call_f64(c, x), *m = NOE_ZEROS(c, double, step),
           *d = NOE_ZEROS(c, double, step), each = (double)x->n / (double)step;
    for (int64_t i = 0; i < x->n; i++)
        m[to[i]] += v[i] / each;
    for (int64_t i = 0; i < x->n; i++)
        d[to[i]] += (v[i] - m[to[i]]) * (v[i] - m[to[i]]) / each;
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        v[i] = (v[i] - m[to[i]]) / (sqrt(d[to[i]]) + 1e-9);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

/* Local response: over `size` neighbouring channels. */
static noe_status run_lrn(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t channels, inner, size = noe_call_int(c, "size", 0);
    NOE_TRY(channels_of(c, &channels, &inner));
    double alpha = noe_call_float(c, "alpha", 1e-4F),
           beta = noe_call_float(c, "beta", 0.75), bias = noe_call_float(c, "bias", 1);
    if (size <= 0)
        return noe_call_fail(c, "size is %lld", (long long)size);
    double *v = noe_call_f64(c, x), *out = NOE_ZEROS(c, double, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k = i / inner % channels, from = k - (size - 1) / 2, to = k + size / 2;
        double total = 0;
        for (int64_t j = from < 0 ? 0 : from; j <= to && j < channels; j++)
            total += v[i + (j - k) * inner] * v[i + (j - k) * inner];
        out[i] = v[i] / pow(bias + alpha / (double)size * total, beta);
    }
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    noe_run_store_f64(y, out, false);
    return NOE_OK;
}

const noe_operator noe_operators_norm[] = {
    {"Softmax", run_softmax, 1, NULL, 0},
    {"LogSoftmax", run_softmax, 1, NULL, 0},
    {"Hardmax", run_softmax, 1, NULL, 0},
    {"BatchNormalization", run_batch_norm, 5, NULL, 0},
    {"InstanceNormalization", run_instance_norm, 3, NULL, 0},
    {"GroupNormalization", run_group_norm, 3, NULL, 0},
    {"LayerNormalization", run_layer_norm, 2, NULL, 0},
    {"RMSNormalization", run_rms_norm, 2, NULL, 0},
    {"LpNormalization", run_lp_norm, 1, NULL, 0},
    {"MeanVarianceNormalization", run_mean_variance_norm, 1, NULL, 0},
    {"LRN", run_lrn, 1, NULL, 0},
    {0},
};
