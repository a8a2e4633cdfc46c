/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantized tensors: q = saturate(round(x / scale) + zero point), one scale for all,
 * for each place of an axis, or for each block of an axis.
 */
#include "onnx_io/run/window.h"
#include <math.h>

/* Range of an integer type; false for floats. */
static bool range_of(noe_elem elem, double *low, double *high)
{
    int bits = noe_elem_get((int)elem)->bits;
    bool is_signed = noe_elem_get((int)elem)->class == NOE_CLASS_SIGNED;
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *high = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
    return noe_elem_is_integer((int)elem);
}

static double saturate(noe_elem elem, double x)
{
    double low, high;
    if (!range_of(elem, &low, &high))
        return x;
    return x < low ? low : x > high ? high : x;
}

static void store_rounded(noe_run_value *y, const double *v, int64_t *whole)
{
    for (int64_t i = 0; i < y->n; i++)
        whole[i] = (int64_t)saturate(y->elem, isnan(v[i]) ? 0 : v[i]);
    noe_run_store_i64(y, whole);
}

/* For each element of x the index of its scale. */
static noe_status scale_index(noe_call *c, const noe_run_value *x,
                              const noe_run_value *scale, int64_t **index)
{
    int64_t block = noe_call_int(c, "block_size", 0);
    int axis = 0, rank = x->shape.rank;
    *index = NOE_ZEROS(c, int64_t, x->n);
    if (scale->n == 1 && block == 0)
        return NOE_OK;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 1), rank, &axis));
    int64_t dim = x->shape.dim[axis], inner = noe_dims_count(&x->shape, axis + 1, rank);
    if (block == 0 && scale->n != dim)
        return noe_call_fail(c, "%lld scales for %lld places", (long long)scale->n,
                             (long long)dim);
    int64_t blocks = block ? scale->shape.dim[axis] : 1;
    if (block && (scale->shape.rank != rank || block * blocks < dim ||
                  scale->n != x->n / (dim ? dim : 1) * blocks))
        return noe_call_fail(c, "blocks of %lld do not fit", (long long)block);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = i / inner % dim;
        (*index)[i] =
            block ? (i / inner / dim * blocks + at / block) * inner + i % inner : at;
    }
    return NOE_OK;
}

static noe_status run_quantize(noe_call *c)
{
    const noe_run_value *x = c->in[0], *scale = c->in[1], *zero = noe_call_in(c, 2);
    int64_t given = noe_call_int(c, "output_dtype", 0), *at;
    noe_elem elem = zero ? zero->elem : given ? (noe_elem)given : NOE_ELEM_U8;
    if (noe_elem_get((int)elem)->bytes == 0 || elem == NOE_ELEM_STRING)
        return noe_call_unsupported(c, "to element type %d is not possible", (int)elem);
    NOE_TRY(scale_index(c, x, scale, &at));
    if (zero && zero->n != scale->n)
        return noe_call_fail(c, "scales and zero points differ in number");
    double *v = noe_call_f64(c, x), *s = noe_call_f64(c, scale);
    const double *z = zero ? noe_call_f64(c, zero) : NULL;
    bool is_integer = noe_elem_is_integer((int)elem);
    NOE_OUT(y, c, 0, elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++) {
        /* the quotient is a number of the scale's type */
        double q = noe_run_round(scale->elem, v[i] / s[at[i]], false);
        v[i] = (is_integer ? nearbyint(q) : q) + (z ? z[at[i]] : 0);
    }
    if (is_integer)
        store_rounded(y, v, NOE_ZEROS(c, int64_t, x->n));
    else
        noe_run_store_f64(y, v, noe_call_int(c, "saturate", 1) != 0);
    return NOE_OK;
}

static noe_status run_dequantize(noe_call *c)
{
    const noe_run_value *x = c->in[0], *scale = c->in[1], *zero = noe_call_in(c, 2);
    int64_t *at, given = noe_call_int(c, "output_dtype", 0);
    noe_elem elem = given ? (noe_elem)given : scale->elem;
    NOE_TRY(scale_index(c, x, scale, &at));
    if (zero && zero->n != scale->n)
        return noe_call_fail(c, "scales and zero points differ in number");
    double *v = noe_call_f64(c, x), *s = noe_call_f64(c, scale);
    const double *z = zero ? noe_call_f64(c, zero) : NULL;
    NOE_OUT(y, c, 0, elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        v[i] = (v[i] - (z ? z[at[i]] : 0)) * s[at[i]];
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

static noe_status run_dynamic_quantize(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    double *v = noe_call_f64(c, x), low = 0, high = 0;
    for (int64_t i = 0; i < x->n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    /* all in float, as the standard's formula is */
    float scale = (float)(((float)high - (float)low) / 255.0F);
    double zero = scale == 0 ? 0 : nearbyint((double)(-(float)low / scale));
    zero = saturate(NOE_ELEM_U8, zero);
    for (int64_t i = 0; i < x->n; i++)
        v[i] = scale == 0 ? zero : nearbyint((double)((float)v[i] / scale)) + zero;
    NOE_OUT(y, c, 0, NOE_ELEM_U8, &x->shape);
    NOE_OUT(s, c, 1, NOE_ELEM_F32, &(noe_dims){0});
    NOE_OUT(z, c, 2, NOE_ELEM_U8, &(noe_dims){0});
    store_rounded(y, v, NOE_ZEROS(c, int64_t, x->n));
    *(float *)s->data = scale;
    *(uint8_t *)z->data = (uint8_t)zero;
    return NOE_OK;
}

/* ---- products ---- */

/* x - zero point; the points are for all, or one for each place of an axis from which
 * `inner` elements follow. */
static noe_status centred(noe_call *c, int i, const noe_run_value *zero, int64_t inner,
                          double **v)
{
    const noe_run_value *x = c->in[i];
    *v = noe_call_f64(c, x);
    if (!zero)
        return NOE_OK;
    const double *z = noe_call_f64(c, zero);
    if (zero->n < 1 || (zero->n > 1 && x->n % (zero->n * inner) != 0))
        return noe_call_fail(c, "the zero point of input %d does not fit", i);
    for (int64_t k = 0; k < x->n; k++)
        (*v)[k] -= z[zero->n == 1 ? 0 : k / inner % zero->n];
    return NOE_OK;
}

static noe_status requantize(noe_call *c, noe_run_value *y, double *t, double scale_y,
                             double zero_y)
{
    for (int64_t i = 0; i < y->n; i++)
        t[i] = nearbyint(t[i] / scale_y) + zero_y;
    store_rounded(y, t, NOE_ZEROS(c, int64_t, y->n));
    return NOE_OK;
}

/* a, scale, zero, b, scale, zero, scale of y, zero of y */
static noe_status run_q_linear_mat_mul(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[3], *zero_y = c->in[7];
    double *u, *v;
    if (a->shape.rank < 2 || b->shape.rank < 2 || c->in[6]->n != 1 || zero_y->n != 1 ||
        a->shape.dim[a->shape.rank - 1] != b->shape.dim[b->shape.rank - 2])
        return noe_call_fail(c, "the operands do not fit");
    int64_t m = a->shape.dim[a->shape.rank - 2], k = a->shape.dim[a->shape.rank - 1];
    int64_t n = b->shape.dim[b->shape.rank - 1];
    NOE_TRY(centred(c, 0, c->in[2], k, &u));
    NOE_TRY(centred(c, 3, c->in[5], 1, &v));
    noe_dims batch_a = a->shape, batch_b = b->shape;
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    noe_dims shape = batch_a;
    if (!noe_dims_broadcast(&shape, &batch_b))
        return noe_call_fail(c, "the batches do not broadcast");
    int64_t *at_a = noe_call_spread(c, &batch_a, &shape);
    int64_t *at_b = noe_call_spread(c, &batch_b, &shape);
    shape.dim[shape.rank++] = m;
    shape.dim[shape.rank++] = n;
    NOE_OUT(y, c, 0, zero_y->elem, &shape);
    const double *sa = noe_call_f64(c, c->in[1]), *sb = noe_call_f64(c, c->in[4]);
    double *t = NOE_ZEROS(c, double, y->n);
    for (int64_t i = 0; i < y->n; i++) {
        int64_t row = i / n % m, column = i % n;
        const double *p = u + at_a[i / n / m] * m * k + row * k;
        const double *q = v + at_b[i / n / m] * k * n + column;
        for (int64_t l = 0; l < k; l++)
            t[i] += p[l] * q[l * n];
        t[i] *= sa[c->in[1]->n == 1 ? 0 : row % c->in[1]->n] *
                sb[c->in[4]->n == 1 ? 0 : column % c->in[4]->n];
    }
    return requantize(c, y, t, noe_call_f64(c, c->in[6])[0],
                      noe_call_f64(c, zero_y)[0]);
}

/* x, scale, zero, w, scale, zero, scale of y, zero of y, bias */
static noe_status run_q_linear_conv(noe_call *c)
{
    const noe_run_value *x = c->in[0], *kernel = c->in[3], *zero_y = c->in[7];
    const noe_run_value *bias = noe_call_in(c, 8);
    noe_window w;
    noe_dims shape;
    int64_t n_c_m[3];
    double *u, *v;
    NOE_TRY(noe_window_of_conv(c, x, kernel, &w, n_c_m, &shape));
    NOE_TRY(centred(c, 0, c->in[2], 1, &u));
    NOE_TRY(centred(c, 3, c->in[5], kernel->n / (n_c_m[2] ? n_c_m[2] : 1), &v));
    const noe_run_value *sw = c->in[4];
    if ((bias && bias->n != n_c_m[2]) || (sw->n != 1 && sw->n != n_c_m[2]))
        return noe_call_fail(c, "bias or scales do not fit");
    NOE_OUT(y, c, 0, zero_y->elem, &shape);
    double *t = NOE_ZEROS(c, double, y->n), scale_x = noe_call_f64(c, c->in[1])[0];
    const double *scale_w = noe_call_f64(c, sw),
                 *b = bias ? noe_call_f64(c, bias) : NULL;
    int64_t plane = noe_window_count(w.out, w.n);
    noe_window_convolve(&w, u, v, t, n_c_m, noe_call_int(c, "group", 1));
    for (int64_t i = 0; i < y->n; i++) {
        int64_t m = i / plane % n_c_m[2];
        t[i] = (t[i] + (b ? b[m] : 0)) * scale_x * scale_w[sw->n == 1 ? 0 : m];
    }
    return requantize(c, y, t, noe_call_f64(c, c->in[6])[0],
                      noe_call_f64(c, zero_y)[0]);
}

const noe_operator noe_operators_quantize[] = {
    {"QuantizeLinear", run_quantize, 2, NULL, 0},
    {"DequantizeLinear", run_dequantize, 2, NULL, 0},
    {"DynamicQuantizeLinear", run_dynamic_quantize, 1, NULL, 0},
    {"QLinearMatMul", run_q_linear_mat_mul, 8, NULL, 0},
    {"QLinearConv", run_q_linear_conv, 8, NULL, 0},
    {0},
};
