/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that pick elements by index or by value: gathering, sorting, searching.
 */
#include "onnx_io/run/call.h"
#include <math.h>
#include <stdlib.h>

static noe_status wrap_index(noe_call *c, int64_t *index, int64_t dim)
{
    int64_t given = *index;
    *index += given < 0 ? dim : 0;
    if (*index < 0 || *index >= dim)
        return noe_call_fail(c, "index %lld is out of range for %lld elements",
                             (long long)given, (long long)dim);
    return NOE_OK;
}

static noe_status need_indices(noe_call *c, const noe_run_value *v)
{
    if (!noe_elem_is_integer((int)v->elem))
        return noe_call_fail(c, "indices are of type %s",
                             noe_elem_get((int)v->elem)->name);
    return NOE_OK;
}

static noe_status run_gather(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1];
    int axis;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), x->shape.rank, &axis));
    NOE_TRY(need_indices(c, at));
    noe_dims shape = {.rank = x->shape.rank - 1 + at->shape.rank};
    if (shape.rank > NOE_RUN_MAX_RANK)
        return noe_call_unsupported(c, "rank %d is too large", shape.rank);
    for (int i = 0; i < shape.rank; i++) {
        int k = i - axis;
        shape.dim[i] = k < 0                ? x->shape.dim[i]
                       : k < at->shape.rank ? at->shape.dim[k]
                                            : x->shape.dim[i - at->shape.rank + 1];
    }
    NOE_OUT(y, c, 0, x->elem, &shape);
    int64_t inner = noe_dims_count(&x->shape, axis + 1, x->shape.rank);
    int64_t *list = noe_call_i64(c, at), *index = NOE_ZEROS(c, int64_t, y->n);
    int64_t dim = x->shape.dim[axis];
    for (int64_t i = 0; i < at->n; i++)
        NOE_TRY(wrap_index(c, &list[i], dim));
    for (int64_t k = 0; k < y->n; k++) {
        int64_t in = k % inner, j = k / inner % at->n, out = k / inner / at->n;
        index[k] = (out * dim + list[j]) * inner + in;
    }
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

static noe_status run_gather_elements(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1];
    int axis, rank = x->shape.rank;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), rank, &axis));
    NOE_TRY(need_indices(c, at));
    if (at->shape.rank != rank)
        return noe_call_fail(c, "indices have rank %d, want %d", at->shape.rank, rank);
    int64_t step[NOE_RUN_MAX_RANK], *list = noe_call_i64(c, at);
    noe_dims_strides(&x->shape, step);
    for (int i = 0; i < rank; i++) {
        if (i != axis && at->shape.dim[i] > x->shape.dim[i])
            return noe_call_fail(c, "indices are larger than the data");
    }
    int64_t along = step[axis];
    step[axis] = 0;
    int64_t *index = noe_call_strided(c, &at->shape, 0, step);
    for (int64_t k = 0; k < at->n; k++) {
        NOE_TRY(wrap_index(c, &list[k], x->shape.dim[axis]));
        index[k] += list[k] * along;
    }
    return noe_call_take(c, 0, x, &at->shape, index, NULL);
}

static noe_status run_gather_nd(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1];
    int b = (int)noe_call_int(c, "batch_dims", 0), ra = at->shape.rank;
    NOE_TRY(need_indices(c, at));
    int depth = ra > 0 ? (int)at->shape.dim[ra - 1] : 0;
    if (ra < 1 || b < 0 || b >= ra || b + depth > x->shape.rank || depth < 1)
        return noe_call_fail(c, "indices do not fit");
    noe_dims shape = {.rank = ra - 1 + x->shape.rank - b - depth};
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] =
            i < ra - 1 ? at->shape.dim[i] : x->shape.dim[i - (ra - 1) + b + depth];
    NOE_OUT(y, c, 0, x->elem, &shape);
    int64_t step[NOE_RUN_MAX_RANK], *list = noe_call_i64(c, at);
    noe_dims_strides(&x->shape, step);
    int64_t inner = noe_dims_count(&x->shape, b + depth, x->shape.rank);
    int64_t tuples = at->n / depth, batches = noe_dims_count(&x->shape, 0, b);
    int64_t *index = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t t = 0; t < tuples; t++) {
        int64_t base = t / (tuples / (batches ? batches : 1)) *
                       noe_dims_count(&x->shape, b, x->shape.rank);
        for (int i = 0; i < depth; i++) {
            NOE_TRY(wrap_index(c, &list[t * depth + i], x->shape.dim[b + i]));
            base += list[t * depth + i] * step[b + i];
        }
        for (int64_t k = 0; k < inner; k++)
            index[t * inner + k] = base + k;
    }
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

/* ---- sorting ---- */

/* Elements to be compared: exactly as integers, or as doubles. */
typedef struct key_list {
    const double *real;
    const int64_t *whole;
    bool is_wide;
    int64_t base, step; /* of the row: element i is at base + i * step */
    bool largest;
} key_list;

static int compare_keys(const key_list *k, int64_t a, int64_t b)
{
    a = k->base + a * k->step;
    b = k->base + b * k->step;
    if (k->real) {
        double x = k->real[a], y = k->real[b];
        if (isnan(x) || isnan(y))
            return (isnan(x) != 0) - (isnan(y) != 0); /* NaN is the largest */
        return (x > y) - (x < y);
    }
    if (k->is_wide)
        return ((uint64_t)k->whole[a] > (uint64_t)k->whole[b]) -
               ((uint64_t)k->whole[a] < (uint64_t)k->whole[b]);
    return (k->whole[a] > k->whole[b]) - (k->whole[a] < k->whole[b]);
}

/* Equal elements keep their order. */
static int compare_rank(const void *a, const void *b, void *ctx)
{
    const key_list *k = ctx;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    int order = compare_keys(k, x, y);
    order = k->largest ? -order : order;
    return order ? order : (x > y) - (x < y);
}

static noe_status make_keys(noe_call *c, const noe_run_value *x, key_list *k)
{
    *k = (key_list){.is_wide = x->elem == NOE_ELEM_U64};
    if (noe_elem_is_float((int)x->elem))
        k->real = noe_call_f64(c, x);
    else if (noe_elem_is_integer((int)x->elem))
        k->whole = noe_call_i64(c, x);
    else
        return noe_call_bad_type(c);
    return NOE_OK;
}

static noe_status run_top_k(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *given;
    int axis, n;
    key_list keys;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", -1), x->shape.rank, &axis));
    NOE_TRY(noe_call_numbers(c, 1, &given, &n));
    int64_t k = given && n == 1 ? given[0] : noe_call_int(c, "k", -1);
    int64_t dim = x->shape.dim[axis];
    if (k < 0 || k > dim)
        return noe_call_fail(c, "k is %lld of %lld", (long long)k, (long long)dim);
    NOE_TRY(make_keys(c, x, &keys));
    keys.largest = noe_call_int(c, "largest", 1) != 0;
    noe_dims shape = x->shape;
    shape.dim[axis] = k;
    NOE_OUT(at, c, 1, NOE_ELEM_I64, &shape);
    int64_t *order = NOE_ZEROS(c, int64_t, dim), *index = NOE_ZEROS(c, int64_t, at->n);
    int64_t inner = noe_dims_count(&x->shape, axis + 1, x->shape.rank);
    int64_t outer = noe_dims_count(&x->shape, 0, axis);
    keys.step = inner;
    for (int64_t row = 0; row < outer * inner && k > 0; row++) {
        keys.base = row / inner * dim * inner + row % inner;
        for (int64_t i = 0; i < dim; i++)
            order[i] = i;
        qsort_r(order, (size_t)dim, sizeof *order, compare_rank, &keys);
        for (int64_t i = 0; i < k; i++) {
            int64_t to = row / inner * k * inner + i * inner + row % inner;
            ((int64_t *)at->data)[to] = order[i];
            index[to] = keys.base + order[i] * inner;
        }
    }
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

/* Index of the largest or smallest element; NaN wins, as in NumPy. */
static noe_status run_arg(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int axis;
    key_list keys;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), x->shape.rank, &axis));
    NOE_TRY(make_keys(c, x, &keys));
    bool last = noe_call_int(c, "select_last_index", 0) != 0;
    keys.largest = strcmp(c->node->op_type, "ArgMax") == 0;
    noe_dims shape = x->shape;
    shape.dim[axis] = 1;
    NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
    int64_t dim = x->shape.dim[axis];
    if (dim == 0 && y->n > 0)
        return noe_call_fail(c, "axis %d has no elements", axis);
    keys.step = noe_dims_count(&x->shape, axis + 1, x->shape.rank);
    for (int64_t row = 0; row < y->n; row++) {
        keys.base = row / keys.step * dim * keys.step + row % keys.step;
        int64_t best = 0;
        for (int64_t i = 1; i < dim; i++) {
            bool best_nan = keys.real && isnan(keys.real[keys.base + best * keys.step]);
            bool nan = keys.real && isnan(keys.real[keys.base + i * keys.step]);
            int order = nan || best_nan
                            ? nan - best_nan
                            : compare_keys(&keys, i, best) * (keys.largest ? 1 : -1);
            if (order > 0 || (order == 0 && last))
                best = i;
        }
        ((int64_t *)y->data)[row] = best;
    }
    if (!noe_call_int(c, "keepdims", 1)) {
        for (int i = axis; i + 1 < shape.rank; i++)
            y->shape.dim[i] = shape.dim[i + 1];
        y->shape.rank--;
    }
    return NOE_OK;
}

static noe_status run_non_zero(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    noe_dims view = x->shape;
    if (view.rank == 0)
        view = (noe_dims){1, {1}};
    bool is_float = noe_elem_is_float((int)x->elem);
    if (!is_float && !noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    double *v = noe_call_f64(c, x);
    int64_t n = 0, step[NOE_RUN_MAX_RANK];
    for (int64_t i = 0; i < x->n; i++)
        n += v[i] != 0;
    noe_dims shape = {2, {view.rank, n}};
    NOE_OUT(y, c, 0, NOE_ELEM_I64, &shape);
    noe_dims_strides(&view, step);
    for (int64_t i = 0, k = 0; i < x->n; i++) {
        for (int a = 0; a < view.rank && v[i] != 0; a++)
            ((int64_t *)y->data)[a * n + k] = i / step[a] % view.dim[a];
        k += v[i] != 0;
    }
    return NOE_OK;
}

static noe_status run_compress(noe_call *c)
{
    const noe_run_value *x = c->in[0], *mask = c->in[1];
    noe_dims view = x->shape;
    int axis = 0;
    if (noe_call_attr(c, "axis"))
        NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), view.rank, &axis));
    else
        view = (noe_dims){1, {x->n}};
    if (mask->elem != NOE_ELEM_BOOL || mask->shape.rank != 1)
        return noe_call_fail(c, "condition is no list of truth values");
    int64_t *kept = NOE_ZEROS(c, int64_t, mask->n), n = 0, step[NOE_RUN_MAX_RANK];
    for (int64_t i = 0; i < mask->n && i < view.dim[axis]; i++) {
        if (((const uint8_t *)mask->data)[i])
            kept[n++] = i;
    }
    noe_dims_strides(&view, step);
    noe_dims shape = view;
    shape.dim[axis] = n;
    int64_t along = step[axis];
    step[axis] = 0;
    int64_t *index = noe_call_strided(c, &shape, 0, step);
    for (int64_t k = 0; k < noe_dims_count(&shape, 0, shape.rank); k++)
        index[k] += kept[k / along % n] * along;
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

/* ---- distinct rows ---- */

typedef struct rows {
    key_list keys;
    int64_t n, len, outer_step, inner; /* row i of axis: outer x inner elements */
    int64_t outer;
} rows;

static int compare_rows(const rows *r, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < r->outer; o++) {
        for (int64_t i = 0; i < r->inner; i++) {
            key_list k = r->keys;
            k.base = o * r->outer_step + i;
            k.step = r->inner;
            int order = compare_keys(&k, a, b);
            if (order)
                return order;
        }
    }
    return 0;
}

static int compare_row_rank(const void *a, const void *b, void *ctx)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    int order = compare_rows(ctx, x, y);
    return order ? order : (x > y) - (x < y);
}

static int compare_first(const void *a, const void *b)
{
    int64_t x = ((const int64_t *)a)[0], y = ((const int64_t *)b)[0];
    return (x > y) - (x < y);
}

static noe_status run_unique(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    noe_dims view = x->shape;
    int axis = 0;
    rows r = {0};
    if (noe_call_attr(c, "axis"))
        NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), view.rank, &axis));
    else
        view = (noe_dims){1, {x->n}};
    NOE_TRY(make_keys(c, x, &r.keys));
    r.n = view.dim[axis];
    r.inner = noe_dims_count(&view, axis + 1, view.rank);
    r.outer = noe_dims_count(&view, 0, axis);
    r.outer_step = r.n * r.inner;
    int64_t *order = NOE_ZEROS(c, int64_t, r.n), *group = NOE_ZEROS(c, int64_t, r.n);
    for (int64_t i = 0; i < r.n; i++)
        order[i] = i;
    qsort_r(order, (size_t)r.n, sizeof *order, compare_row_rank, &r);
    /* (first occurrence, count, place in sorted order) of each group */
    int64_t(*found)[3] = (int64_t(*)[3])NOE_ZEROS(c, int64_t, 3 * r.n), n = 0;
    for (int64_t i = 0; i < r.n; i++) {
        if (i == 0 || compare_rows(&r, order[i - 1], order[i]) != 0) {
            found[n][0] = order[i];
            found[n][2] = n;
            n++;
        }
        found[n - 1][1]++;
        group[order[i]] = n - 1;
    }
    if (!noe_call_int(c, "sorted", 1))
        qsort(found, (size_t)n, sizeof *found, compare_first);
    int64_t *place = NOE_ZEROS(c, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        place[found[i][2]] = i;
    noe_dims list = {1, {n}}, all = {1, {r.n}}, shape = view;
    shape.dim[axis] = n;
    NOE_OUT(first, c, 1, NOE_ELEM_I64, &list);
    NOE_OUT(inverse, c, 2, NOE_ELEM_I64, &all);
    NOE_OUT(counts, c, 3, NOE_ELEM_I64, &list);
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)first->data)[i] = found[i][0];
        ((int64_t *)counts->data)[i] = found[i][1];
    }
    for (int64_t i = 0; i < r.n; i++)
        ((int64_t *)inverse->data)[i] = place[group[i]];
    int64_t total = noe_dims_count(&shape, 0, shape.rank);
    int64_t *index = NOE_ZEROS(c, int64_t, total);
    for (int64_t k = 0; k < total; k++)
        index[k] = k / r.inner / n * r.outer_step +
                   found[k / r.inner % n][0] * r.inner + k % r.inner;
    return noe_call_take(c, 0, x, &shape, index, NULL);
}

static noe_status run_one_hot(noe_call *c)
{
    const noe_run_value *at = c->in[0], *values = c->in[2];
    if (c->in[1]->n != 1 || values->n != 2)
        return noe_call_fail(c, "depth or values do not fit");
    double depth_real = noe_call_f64(c, c->in[1])[0];
    if (!(depth_real >= 0 && depth_real < INT32_MAX))
        return noe_call_fail(c, "depth is %g", depth_real);
    int64_t depth = (int64_t)depth_real;
    noe_dims shape = {.rank = at->shape.rank + 1};
    int axis;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", -1), shape.rank, &axis));
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = i == axis ? depth : at->shape.dim[i < axis ? i : i - 1];
    NOE_OUT(y, c, 0, values->elem, &shape);
    double *list = noe_call_f64(c, at);
    int64_t inner = noe_dims_count(&shape, axis + 1, shape.rank);
    int64_t *index = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t k = 0; k < y->n; k++) {
        double hot = list[k / inner / depth * inner + k % inner];
        hot += hot < 0 ? (double)depth : 0;
        index[k] = floor(hot) == (double)(k / inner % depth);
    }
    return noe_call_take(c, 0, values, &shape, index, NULL);
}

const noe_operator noe_operators_select[] = {
    {"Gather", run_gather, 2, NULL, 0},
    {"GatherElements", run_gather_elements, 2, NULL, 0},
    {"GatherND", run_gather_nd, 2, NULL, 0},
    {"TopK", run_top_k, 1, NULL, 0},
    {"ArgMax", run_arg, 1, NULL, 0},
    {"ArgMin", run_arg, 1, NULL, 0},
    {"NonZero", run_non_zero, 1, NULL, 0},
    {"Compress", run_compress, 2, NULL, 0},
    {"Unique", run_unique, 1, NULL, 0},
    {"OneHot", run_one_hot, 3, NULL, 0},
    {0},
};
