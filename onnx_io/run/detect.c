/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes and sampling at places that are data.
 */
#include "onnx_io/run/call.h"
#include <math.h>
#include <stdlib.h>

/* ---- NonMaxSuppression ---- */

typedef struct box {
    double x1, y1, x2, y2;
} box;

static box read_box(const double *v, bool is_centre)
{
    if (is_centre) /* x, y, width, height */
        return (box){v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2,
                     v[1] + v[3] / 2};
    return (box){fmin(v[1], v[3]), fmin(v[0], v[2]), fmax(v[1], v[3]),
                 fmax(v[0], v[2])};
}

static double overlap(box a, box b)
{
    double w = fmin(a.x2, b.x2) - fmax(a.x1, b.x1);
    double h = fmin(a.y2, b.y2) - fmax(a.y1, b.y1);
    double both = w > 0 && h > 0 ? w * h : 0;
    double all = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both;
    return all > 0 ? both / all : 0;
}

static int compare_scores(const void *a, const void *b, void *ctx)
{
    const double *score = ctx;
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    if (score[i] != score[j])
        return score[i] < score[j] ? 1 : -1;
    return (i > j) - (i < j);
}

static noe_status read_number(noe_call *c, int i, double otherwise, double *x)
{
    const noe_run_value *v = noe_call_in(c, i);
    if (v && v->n != 1)
        return noe_call_fail(c, "input %d is not one number", i);
    *x = v ? noe_call_f64(c, v)[0] : otherwise;
    return NOE_OK;
}

typedef struct suppression {
    int64_t n_boxes, most;
    double max_overlap, min_score;
    bool has_min, is_centre;
} suppression;

/* Boxes of one class in one picture; kept[] gets what stays. */
static int64_t suppress(const suppression *s, const double *boxes, double *score,
                        int64_t *order, int64_t *kept)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_boxes; i++)
        order[i] = i;
    qsort_r(order, (size_t)s->n_boxes, sizeof *order, compare_scores, score);
    for (int64_t i = 0; i < s->n_boxes && n < s->most; i++) {
        box b = read_box(boxes + order[i] * 4, s->is_centre);
        bool stays = !s->has_min || score[order[i]] > s->min_score;
        for (int64_t k = 0; k < n && stays; k++)
            stays = overlap(b, read_box(boxes + kept[k] * 4, s->is_centre)) <=
                    s->max_overlap;
        if (stays)
            kept[n++] = order[i];
    }
    return n;
}

static noe_status run_non_max_suppression(noe_call *c)
{
    const noe_dims *b = &c->in[0]->shape, *s = &c->in[1]->shape;
    double most = 0;
    suppression how = {.has_min = noe_call_in(c, 4) != NULL,
                       .is_centre = noe_call_int(c, "center_point_box", 0) != 0};
    NOE_TRY(read_number(c, 2, 0, &most));
    NOE_TRY(read_number(c, 3, 0, &how.max_overlap));
    NOE_TRY(read_number(c, 4, 0, &how.min_score));
    if (b->rank != 3 || s->rank != 3 || b->dim[2] != 4 || b->dim[0] != s->dim[0] ||
        b->dim[1] != s->dim[2])
        return noe_call_fail(c, "boxes and scores do not fit");
    how.n_boxes = b->dim[1];
    how.most = most > 0 ? (int64_t)fmin(most, (double)b->dim[1]) : 0;
    double *boxes = noe_call_f64(c, c->in[0]), *scores = noe_call_f64(c, c->in[1]);
    int64_t *order = NOE_ZEROS(c, int64_t, how.n_boxes), n = 0;
    int64_t *kept = NOE_ZEROS(c, int64_t, how.n_boxes);
    int64_t *found = NOE_ZEROS(c, int64_t, 3 * s->dim[0] * s->dim[1] * how.most);
    for (int64_t i = 0; i < s->dim[0] * s->dim[1]; i++) {
        int64_t picture = i / s->dim[1];
        int64_t some = suppress(&how, boxes + picture * how.n_boxes * 4,
                                scores + i * how.n_boxes, order, kept);
        for (int64_t k = 0; k < some; k++, n++) {
            found[3 * n] = picture;
            found[3 * n + 1] = i % s->dim[1];
            found[3 * n + 2] = kept[k];
        }
    }
    noe_dims shape = {2, {n, 3}};
    NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
    memcpy(y->data, found, y->bytes);
    return NOE_OK;
}

/* ---- GridSample ---- */

typedef struct sampler {
    int n; /* spatial axes */
    int64_t in[NOE_RUN_MAX_RANK];
    const char *mode, *padding;
    bool align;
} sampler;

static double unnormalize(const sampler *s, int k, double x)
{
    double n = (double)s->in[k];
    return s->align ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
}

/* Mirrors x between the borders of the grid. */
static double mirror(const sampler *s, int k, double x)
{
    double low = s->align ? 0 : -0.5, high = (double)s->in[k] - (s->align ? 1 : 0.5);
    double range = high - low;
    if (range <= 0)
        return 0;
    double over = fmod(fabs(x - low), 2 * range);
    return over > range ? high - (over - range) : low + over;
}

static double pixel(const sampler *s, const double *plane, const int64_t *at)
{
    int64_t offset = 0;
    for (int k = 0; k < s->n; k++) {
        int64_t i = at[k], n = s->in[k];
        if (strcmp(s->padding, "border") == 0)
            i = i < 0 ? 0 : i >= n ? n - 1 : i;
        else if (strcmp(s->padding, "reflection") == 0) {
            double m = mirror(s, k, (double)i);
            i = (int64_t)fmin(fmax(m, 0), (double)n - 1);
        }
        if (i < 0 || i >= n)
            return 0;
        offset = offset * n + i;
    }
    return plane[offset];
}

static double cubic(double x)
{
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Sums over the neighbours that the mode asks for: 2 or 4 on each axis. */
static double sample(const sampler *s, const double *plane, const double *x)
{
    bool is_cubic = strstr(s->mode, "cubic") != NULL;
    int each = is_cubic ? 4 : 2, count = 1;
    int64_t at[NOE_RUN_MAX_RANK];
    double total = 0;
    for (int k = 0; k < s->n; k++)
        count *= each;
    if (strcmp(s->mode, "nearest") == 0) {
        for (int k = 0; k < s->n; k++)
            at[k] = (int64_t)nearbyint(x[k]);
        return pixel(s, plane, at);
    }
    for (int i = 0; i < count; i++) {
        double weight = 1;
        for (int k = 0, rest = i; k < s->n; k++, rest /= each) {
            at[k] = (int64_t)floor(x[k]) + rest % each - (is_cubic ? 1 : 0);
            double d = x[k] - (double)at[k];
            weight *= is_cubic ? cubic(d) : 1 - fabs(d);
        }
        total += weight * pixel(s, plane, at);
    }
    return total;
}

static noe_status run_grid_sample(noe_call *c)
{
    const noe_run_value *x = c->in[0], *grid = c->in[1];
    sampler s = {.n = x->shape.rank - 2,
                 .mode = noe_call_string(c, "mode", "linear"),
                 .padding = noe_call_string(c, "padding_mode", "zeros"),
                 .align = noe_call_int(c, "align_corners", 0) != 0};
    int rank = x->shape.rank;
    if (rank < 3 || grid->shape.rank != rank || grid->shape.dim[rank - 1] != s.n ||
        grid->shape.dim[0] != x->shape.dim[0] || !noe_elem_is_float((int)x->elem))
        return noe_call_fail(c, "the grid does not fit");
    noe_dims shape = grid->shape;
    for (int k = 0; k < s.n; k++) {
        s.in[k] = x->shape.dim[k + 2];
        shape.dim[k + 2] = grid->shape.dim[k + 1];
        if (s.in[k] == 0)
            return noe_call_fail(c, "axis %d has no elements", k + 2);
    }
    shape.dim[1] = x->shape.dim[1];
    int64_t places = noe_dims_count(&shape, 2, rank),
            plane = noe_dims_count(&x->shape, 2, rank);
    NOE_OUT(y, c, 0, x->elem, &shape);
    double *v = noe_call_f64(c, x), *g = noe_call_f64(c, grid),
           *out = NOE_ZEROS(c, double, y->n);
    for (int64_t i = 0; i < y->n; i++) {
        const double *at = g + (i / places / shape.dim[1] * places + i % places) * s.n;
        double where[NOE_RUN_MAX_RANK];
        for (int k = 0; k < s.n; k++) { /* the grid says the last axis first */
            where[k] = unnormalize(&s, k, at[s.n - 1 - k]);
            bool is_border = strcmp(s.padding, "border") == 0;
            if (!isfinite(where[k]) || fabs(where[k]) > 0x1p52)
                where[k] = is_border ? 0 : -1e9;
            if (strcmp(s.mode, "nearest") == 0)
                where[k] = nearbyint(where[k]);
            if (is_border)
                where[k] = fmin(fmax(where[k], 0), (double)s.in[k] - 1);
            else if (strcmp(s.padding, "reflection") == 0)
                where[k] = mirror(&s, k, where[k]);
        }
        out[i] = sample(&s, v + i / places * plane, where);
    }
    noe_run_store_f64(y, out, false);
    return NOE_OK;
}

const noe_operator noe_operators_detect[] = {
    {"NonMaxSuppression", run_non_max_suppression, 2, NULL, 0},
    {"GridSample", run_grid_sample, 2, NULL, 0},
    {0},
};
