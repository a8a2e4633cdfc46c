/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and pools. All element types are computed in double, where products of
 * integers of up to 16 bits and their sums are exact.
 */
#include "onnx_io/run/window.h"
#include <math.h>
#include <stdlib.h>

int64_t noe_window_count(const int64_t *sizes, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product *= sizes[i];
    return product;
}

/* ---- geometry ---- */

static int64_t extent(const noe_window *w, int i)
{
    return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

static bool is_pad(int64_t x)
{
    return x >= -INT32_MAX && x <= INT32_MAX;
}

static noe_status read_lists(noe_call *c, noe_window *w)
{
    int64_t pads[2 * NOE_MAX_SPATIAL];
    NOE_TRY(noe_call_list_of(c, "strides", w->n, 1, w->stride));
    NOE_TRY(noe_call_list_of(c, "dilations", w->n, 1, w->dilation));
    NOE_TRY(noe_call_list_of(c, "pads", 2 * w->n, 0, pads));
    for (int i = 0; i < w->n; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[w->n + i];
        if (w->stride[i] < 1 || w->dilation[i] < 1 || w->kernel[i] < 1 ||
            w->kernel[i] > INT32_MAX || w->dilation[i] > INT32_MAX ||
            w->stride[i] > INT32_MAX || !is_pad(pads[i]) || !is_pad(pads[w->n + i]))
            return noe_call_fail(c,
                                 "kernel, stride, dilation or pads of axis %d are out "
                                 "of range",
                                 i);
    }
    return NOE_OK;
}

/* Sets pads so that the result has ceil(in / stride) elements. */
static void pad_same(noe_window *w, int i, bool upper)
{
    w->out[i] = (w->in[i] + w->stride[i] - 1) / w->stride[i];
    int64_t total = (w->out[i] - 1) * w->stride[i] + extent(w, i) - w->in[i];
    total = total < 0 ? 0 : total;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

noe_status noe_window_read(noe_call *c, const noe_dims *x, bool transposed,
                           noe_window *w)
{
    const char *mode = noe_call_string(c, "auto_pad", "NOTSET");
    bool ceil_mode = noe_call_int(c, "ceil_mode", 0) != 0;
    w->n = x->rank - 2;
    NOE_TRY(read_lists(c, w));
    for (int i = 0; i < w->n; i++) {
        w->in[i] = x->dim[i + 2];
        bool same = strncmp(mode, "SAME_", 5) == 0;
        if (strcmp(mode, "VALID") == 0)
            w->begin[i] = w->end[i] = 0;
        if (transposed)
            continue;
        if (same) {
            pad_same(w, i, strcmp(mode, "SAME_UPPER") == 0);
            continue;
        }
        int64_t room = w->in[i] + w->begin[i] + w->end[i] - extent(w, i);
        w->out[i] =
            (ceil_mode ? divide_up(room, w->stride[i]) : room / w->stride[i]) + 1;
        /* a window must not start behind the input and its first pads */
        if (ceil_mode && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i])
            w->out[i]--;
        if (room < 0 || w->out[i] < 0)
            w->out[i] = ceil_mode && room > -w->stride[i] ? w->out[i] : 0;
    }
    return NOE_OK;
}

/* ---- convolution ---- */

/* For all places of axes from `axis` on: y += k * x, or with the roles of x and y
 * turned (x += k * y) for the transposed form. */
static void along(const noe_window *w, int axis, double *x, const double *k, double *y,
                  bool turned)
{
    int64_t step_x = noe_window_count(w->in + axis + 1, w->n - axis - 1);
    int64_t step_k = noe_window_count(w->kernel + axis + 1, w->n - axis - 1);
    int64_t step_y = noe_window_count(w->out + axis + 1, w->n - axis - 1);
    for (int64_t j = 0; j < w->kernel[axis]; j++) {
        int64_t shift = j * w->dilation[axis] - w->begin[axis], s = w->stride[axis];
        int64_t from = shift >= 0 ? 0 : (-shift + s - 1) / s;
        int64_t to = w->in[axis] - shift <= 0 ? 0 : (w->in[axis] - shift - 1) / s + 1;
        to = to < w->out[axis] ? to : w->out[axis];
        for (int64_t o = from; o < to && axis + 1 < w->n; o++)
            along(w, axis + 1, x + (o * s + shift) * step_x, k + j * step_k,
                  y + o * step_y, turned);
        for (int64_t o = from; o < to && axis + 1 == w->n && turned; o++)
            x[o * s + shift] += k[j] * y[o];
        for (int64_t o = from; o < to && axis + 1 == w->n && !turned; o++)
            y[o] += k[j] * x[o * s + shift];
    }
}

void noe_window_convolve(const noe_window *w, const double *x, const double *kernel,
                         double *y, const int64_t *n_c_m, int64_t group)
{
    int64_t plane_x = noe_window_count(w->in, w->n), c = n_c_m[1], m = n_c_m[2];
    int64_t plane_k = noe_window_count(w->kernel, w->n);
    int64_t plane_y = noe_window_count(w->out, w->n), each = c / group;
    for (int64_t i = 0; i < n_c_m[0] * m; i++) {
        int64_t from = i % m / (m / group) * each;
        for (int64_t j = 0; j < each; j++)
            along(w, 0, (double *)x + (i / m * c + from + j) * plane_x,
                  kernel + (i % m * each + j) * plane_k, y + i * plane_y, false);
    }
}

noe_status noe_window_of_conv(noe_call *c, const noe_run_value *x,
                              const noe_run_value *kernel, noe_window *w,
                              int64_t *n_c_m, noe_dims *shape)
{
    int rank = x->shape.rank;
    int64_t group = noe_call_int(c, "group", 1), given[NOE_MAX_SPATIAL];
    if (rank < 3 || kernel->shape.rank != rank)
        return noe_call_fail(c, "input of rank %d, kernel of rank %d", rank,
                             kernel->shape.rank);
    n_c_m[0] = x->shape.dim[0];
    n_c_m[1] = x->shape.dim[1];
    n_c_m[2] = kernel->shape.dim[0];
    if (group < 1 || n_c_m[1] % group != 0 ||
        n_c_m[1] / group != kernel->shape.dim[1] || n_c_m[2] % group != 0)
        return noe_call_fail(c,
                             "%lld input channels, %lld groups, kernel [%lld,%lld,...]",
                             (long long)n_c_m[1], (long long)group, (long long)n_c_m[2],
                             (long long)kernel->shape.dim[1]);
    memcpy(w->kernel, kernel->shape.dim + 2, (size_t)(rank - 2) * sizeof *w->kernel);
    if (noe_call_attr(c, "kernel_shape")) {
        NOE_TRY(noe_call_list_of(c, "kernel_shape", rank - 2, 0, given));
        if (memcmp(given, w->kernel, (size_t)(rank - 2) * sizeof *given) != 0)
            return noe_call_fail(c, "kernel_shape is not that of the kernel");
    }
    NOE_TRY(noe_window_read(c, &x->shape, false, w));
    *shape = (noe_dims){.rank = rank, .dim = {n_c_m[0], n_c_m[2]}};
    memcpy(shape->dim + 2, w->out, (size_t)w->n * sizeof *w->out);
    return NOE_OK;
}

static noe_status add_bias(noe_call *c, double *y, const noe_dims *shape)
{
    const noe_run_value *bias = noe_call_in(c, 2);
    if (!bias)
        return NOE_OK;
    if (bias->n != shape->dim[1] || bias->shape.rank != 1)
        return noe_call_fail(c, "the bias has %lld elements, want %lld",
                             (long long)bias->n, (long long)shape->dim[1]);
    const double *b = noe_call_f64(c, bias);
    int64_t inner = noe_dims_count(shape, 2, shape->rank);
    for (int64_t i = 0; i < noe_dims_count(shape, 0, shape->rank); i++)
        y[i] += b[i / inner % bias->n];
    return NOE_OK;
}

static noe_status run_conv(noe_call *c)
{
    const noe_run_value *x = c->in[0], *kernel = c->in[1];
    noe_window w;
    noe_dims shape;
    int64_t n_c_m[3];
    if (!noe_elem_is_float((int)x->elem) || kernel->elem != x->elem)
        return noe_call_bad_type(c);
    NOE_TRY(noe_window_of_conv(c, x, kernel, &w, n_c_m, &shape));
    NOE_OUT(y, c, 0, x->elem, &shape);
    double *t = NOE_ZEROS(c, double, y->n);
    noe_window_convolve(&w, noe_call_f64(c, x), noe_call_f64(c, kernel), t, n_c_m,
                        noe_call_int(c, "group", 1));
    NOE_TRY(add_bias(c, t, &shape));
    noe_run_store_f64(y, t, false);
    return NOE_OK;
}

/* Zero points: of the input one, of the kernel one or one for each output channel. */
static noe_status run_conv_integer(noe_call *c)
{
    const noe_run_value *x = c->in[0], *kernel = c->in[1];
    const int64_t *zero_x, *zero_w;
    int n_x, n_w;
    noe_window w;
    noe_dims shape;
    int64_t n_c_m[3];
    if (!noe_elem_is_integer((int)x->elem) || !noe_elem_is_integer((int)kernel->elem))
        return noe_call_bad_type(c);
    NOE_TRY(noe_call_numbers(c, 2, &zero_x, &n_x));
    NOE_TRY(noe_call_numbers(c, 3, &zero_w, &n_w));
    NOE_TRY(noe_window_of_conv(c, x, kernel, &w, n_c_m, &shape));
    if ((zero_x && n_x != 1) || (zero_w && n_w != 1 && n_w != n_c_m[2]))
        return noe_call_fail(c, "zero points do not fit");
    double *u = noe_call_f64(c, x), *v = noe_call_f64(c, kernel);
    for (int64_t i = 0; i < x->n && zero_x; i++)
        u[i] -= (double)zero_x[0];
    for (int64_t i = 0; i < kernel->n && zero_w; i++)
        v[i] -= (double)zero_w[n_w == 1 ? 0 : i / (kernel->n / n_w)];
    NOE_OUT(y, c, 0, NOE_ELEM_I32, &shape);
    double *t = NOE_ZEROS(c, double, y->n);
    int64_t *whole = NOE_ZEROS(c, int64_t, y->n);
    noe_window_convolve(&w, u, v, t, n_c_m, noe_call_int(c, "group", 1));
    for (int64_t i = 0; i < y->n; i++)
        whole[i] = (int64_t)t[i];
    noe_run_store_i64(y, whole);
    return NOE_OK;
}

/* Pads of the transposed form follow from output_shape or auto_pad where given. */
static noe_status transposed_geometry(noe_call *c, noe_window *w)
{
    const char *mode = noe_call_string(c, "auto_pad", "NOTSET");
    int64_t extra[NOE_MAX_SPATIAL], given[NOE_MAX_SPATIAL];
    bool same = strncmp(mode, "SAME_", 5) == 0, has_shape;
    NOE_TRY(noe_call_list_of(c, "output_padding", w->n, 0, extra));
    has_shape = noe_call_attr(c, "output_shape") != NULL;
    if (has_shape)
        NOE_TRY(noe_call_list_of(c, "output_shape", w->n, 0, given));
    for (int i = 0; i < w->n; i++) {
        if (extra[i] < 0 || extra[i] > INT32_MAX ||
            (has_shape && (given[i] < 0 || given[i] > INT32_MAX)))
            return noe_call_fail(c, "output_padding or output_shape is out of range");
        int64_t full = w->stride[i] * (w->in[i] - 1) + extra[i] + extent(w, i);
        if (has_shape || same) {
            w->out[i] = has_shape ? given[i] : w->in[i] * w->stride[i];
            int64_t total = full - w->out[i] > 0 ? full - w->out[i] : 0;
            bool upper = strcmp(mode, "SAME_UPPER") == 0;
            w->begin[i] = upper ? total / 2 : total - total / 2;
            w->end[i] = total - w->begin[i];
        } else {
            w->out[i] = full - w->begin[i] - w->end[i];
        }
        if (w->out[i] < 0 || w->out[i] > INT32_MAX)
            return noe_call_fail(c, "axis %d has %lld elements", i + 2,
                                 (long long)w->out[i]);
    }
    return NOE_OK;
}

static noe_status run_conv_transpose(noe_call *c)
{
    const noe_run_value *x = c->in[0], *kernel = c->in[1];
    int rank = x->shape.rank;
    int64_t group = noe_call_int(c, "group", 1);
    noe_window w;
    if (!noe_elem_is_float((int)x->elem) || kernel->elem != x->elem)
        return noe_call_bad_type(c);
    if (rank < 3 || kernel->shape.rank != rank || group < 1 ||
        kernel->shape.dim[0] != x->shape.dim[1] || x->shape.dim[1] % group != 0)
        return noe_call_fail(c, "input and kernel do not fit");
    memcpy(w.kernel, kernel->shape.dim + 2, (size_t)(rank - 2) * sizeof *w.kernel);
    NOE_TRY(noe_window_read(c, &x->shape, true, &w));
    NOE_TRY(transposed_geometry(c, &w));
    int64_t channels = x->shape.dim[1], each = kernel->shape.dim[1], m = each * group;
    noe_dims shape = {.rank = rank, .dim = {x->shape.dim[0], m}};
    memcpy(shape.dim + 2, w.out, (size_t)w.n * sizeof *w.out);
    NOE_OUT(y, c, 0, x->elem, &shape);
    double *t = NOE_ZEROS(c, double, y->n), *u = noe_call_f64(c, x);
    const double *v = noe_call_f64(c, kernel);
    /* seen from the result, the input is what a window over it makes */
    noe_window back = w;
    memcpy(back.in, w.out, sizeof back.in);
    memcpy(back.out, w.in, sizeof back.out);
    int64_t plane_x = noe_window_count(w.in, w.n),
            plane_y = noe_window_count(w.out, w.n);
    int64_t plane_k = noe_window_count(w.kernel, w.n);
    for (int64_t i = 0; i < x->shape.dim[0] * channels; i++) {
        int64_t in = i % channels, g = in / (channels / group);
        for (int64_t j = 0; j < each; j++)
            along(&back, 0, t + (i / channels * m + g * each + j) * plane_y,
                  v + (in * each + j) * plane_k, u + i * plane_x, true);
    }
    NOE_TRY(add_bias(c, t, &shape));
    noe_run_store_f64(y, t, false);
    return NOE_OK;
}

/* ---- pools ---- */

typedef enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP } pool_kind;

typedef struct pool {
    pool_kind kind;
    noe_window w;
    bool counts_pads;
    double p;
    bool by_column; /* of index */
} pool;

/* One window: its value, and where in the plane its maximum is (-1: nowhere). */
static double pool_window(const pool *f, const double *x, const int64_t *at,
                          int64_t *best)
{
    const noe_window *w = &f->w;
    int64_t j[NOE_MAX_SPATIAL] = {0}, inside = 0, counted = 0;
    double total = 0, most = -INFINITY;
    *best = -1;
    for (int64_t k = 0; k < noe_window_count(w->kernel, w->n); k++) {
        int64_t offset = 0;
        bool is_in = true, is_counted = true;
        for (int i = 0; i < w->n; i++) {
            int64_t p = at[i] * w->stride[i] + j[i] * w->dilation[i] - w->begin[i];
            is_in = is_in && p >= 0 && p < w->in[i];
            is_counted = is_counted && p < w->in[i] + w->end[i];
            offset = is_in ? offset * w->in[i] + p : 0;
        }
        counted += is_counted;
        if (is_in) {
            double v = x[offset];
            inside++;
            total += f->kind == POOL_LP ? pow(fabs(v), f->p) : v;
            if (*best < 0 || v > most || (isnan(v) && !isnan(most))) {
                most = v;
                *best = offset;
            }
        }
        for (int i = w->n - 1; i >= 0 && ++j[i] == w->kernel[i]; i--)
            j[i] = 0;
    }
    if (f->kind == POOL_MAX)
        return most;
    if (f->kind == POOL_LP)
        return pow(total, 1 / f->p);
    return total / (double)(f->counts_pads ? counted : inside);
}

/* Row-major place to column-major place of the same plane. */
static int64_t by_column(const noe_window *w, int64_t place)
{
    int64_t index = 0;
    for (int i = w->n - 1; i >= 0; i--) {
        int64_t step = noe_window_count(w->in, i);
        index += place % w->in[i] * step;
        place /= w->in[i];
    }
    return index;
}

static noe_status run_windows(noe_call *c, const pool *f)
{
    const noe_run_value *x = c->in[0];
    const noe_window *w = &f->w;
    bool is_float = noe_elem_is_float((int)x->elem);
    if (!is_float && !noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    noe_dims shape = {.rank = x->shape.rank, .dim = {x->shape.dim[0], x->shape.dim[1]}};
    noe_dims kernel = {.rank = w->n};
    int64_t n;
    memcpy(shape.dim + 2, w->out, (size_t)w->n * sizeof *w->out);
    memcpy(kernel.dim, w->kernel, (size_t)w->n * sizeof *w->kernel);
    NOE_TRY(noe_call_count(c, &kernel, &n));
    NOE_OUT(y, c, 0, x->elem, &shape);
    int64_t plane_x = noe_window_count(w->in, w->n),
            plane_y = noe_window_count(w->out, w->n);
    double *v = noe_call_f64(c, x), *t = NOE_ZEROS(c, double, y->n);
    int64_t *index = NOE_ZEROS(c, int64_t, y->n), *whole = NOE_ZEROS(c, int64_t, y->n);
    int64_t at[NOE_MAX_SPATIAL] = {0};
    for (int64_t i = 0; i < y->n; i++) {
        int64_t best, plane = i / plane_y;
        t[i] = pool_window(f, v + plane * plane_x, at, &best);
        index[i] =
            best < 0 ? 0 : plane * plane_x + (f->by_column ? by_column(w, best) : best);
        whole[i] = is_float ? 0 : (int64_t)t[i];
        for (int k = w->n - 1; k >= 0 && ++at[k] == w->out[k]; k--)
            at[k] = 0;
    }
    if (is_float)
        noe_run_store_f64(y, t, false);
    else
        noe_run_store_i64(y, whole);
    if (f->kind == POOL_MAX && c->n_out > 1) {
        NOE_OUT(places, c, 1, NOE_ELEM_I64, &shape);
        noe_run_store_i64(places, index);
    }
    return NOE_OK;
}

static noe_status run_pool(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    pool f = {.kind = *(const pool_kind *)c->op->how,
              .counts_pads = noe_call_int(c, "count_include_pad", 0) != 0,
              .p = noe_call_float(c, "p", (double)noe_call_int(c, "p", 2)),
              .by_column = noe_call_int(c, "storage_order", 0) != 0};
    if (x->rank < 3)
        return noe_call_fail(c, "the input has rank %d", x->rank);
    NOE_TRY(noe_call_list_of(c, "kernel_shape", x->rank - 2, 0, f.w.kernel));
    NOE_TRY(noe_window_read(c, x, false, &f.w));
    return run_windows(c, &f);
}

static noe_status run_global_pool(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    pool f = {.kind = *(const pool_kind *)c->op->how,
              .p = noe_call_float(c, "p", (double)noe_call_int(c, "p", 2))};
    if (x->rank < 2)
        return noe_call_fail(c, "the input has rank %d", x->rank);
    f.w.n = x->rank - 2;
    for (int i = 0; i < f.w.n; i++) {
        f.w.in[i] = f.w.kernel[i] = x->dim[i + 2];
        f.w.out[i] = f.w.stride[i] = f.w.dilation[i] = 1;
    }
    return run_windows(c, &f);
}

static noe_status run_max_unpool(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1];
    int rank = x->shape.rank;
    noe_window w;
    const int64_t *given;
    int n;
    if (rank < 3 || at->n != x->n || at->elem != NOE_ELEM_I64)
        return noe_call_fail(c, "indices do not fit");
    NOE_TRY(noe_call_list_of(c, "kernel_shape", rank - 2, 0, w.kernel));
    NOE_TRY(noe_window_read(c, &x->shape, true, &w));
    NOE_TRY(noe_call_numbers(c, 2, &given, &n));
    noe_dims shape = x->shape, plain;
    for (int i = 0; i < w.n; i++)
        shape.dim[i + 2] =
            (w.in[i] - 1) * w.stride[i] + w.kernel[i] - w.begin[i] - w.end[i];
    plain = shape;
    for (int i = 0; i < n && n == rank; i++)
        shape.dim[i] = given[i];
    if (!noe_call_out(c, 0, x->elem, &shape))
        return NOE_ERR_LIMIT;
    int64_t total = noe_dims_count(&shape, 0, rank);
    int64_t *index = NOE_ZEROS(c, int64_t, total);
    const int64_t *list = noe_call_i64(c, at);
    for (int64_t i = 0; i < total; i++)
        index[i] = -1;
    for (int64_t i = 0; i < x->n; i++) {
        /* indices are of the result without output_shape */
        int64_t place = 0, rest = list[i], step = 1;
        for (int k = rank - 1; k >= 0; k--) {
            int64_t size = plain.dim[k] > 0 ? plain.dim[k] : 1;
            place += rest % size * step;
            step *= shape.dim[k];
            rest /= size;
        }
        if (list[i] < 0 || place < 0 || rest != 0 || place >= total)
            return noe_call_fail(c, "index %lld is out of range", (long long)list[i]);
        index[place] = i;
    }
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

static const pool_kind max_kind = POOL_MAX, average_kind = POOL_AVERAGE,
                       lp_kind = POOL_LP;

const noe_operator noe_operators_window[] = {
    {"Conv", run_conv, 2, NULL, 0},
    {"ConvInteger", run_conv_integer, 2, NULL, 0},
    {"ConvTranspose", run_conv_transpose, 2, NULL, 0},
    {"MaxPool", run_pool, 1, &max_kind, 0},
    {"AveragePool", run_pool, 1, &average_kind, 0},
    {"LpPool", run_pool, 1, &lp_kind, 0},
    {"GlobalMaxPool", run_global_pool, 1, &max_kind, 0},
    {"GlobalAveragePool", run_global_pool, 1, &average_kind, 0},
    {"GlobalLpPool", run_global_pool, 1, &lp_kind, 0},
    {"MaxUnpool", run_max_unpool, 2, NULL, 0},
    {0},
};
