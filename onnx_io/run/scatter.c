/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that write updates into a copy of a tensor, one after the other.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef enum reduction { PUT, ADD, MUL, MAX, MIN } reduction;

static noe_status read_reduction(noe_call *c, reduction *r)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *name = noe_call_string(c, "reduction", "none");
    for (int i = 0; i < 5; i++) {
        if (strcmp(name, names[i]) == 0) {
            *r = (reduction)i;
            return NOE_OK;
        }
    }
    return noe_call_fail(c, "reduction is '%s'", name);
}

static double combine(reduction r, double a, double b)
{
    switch (r) {
    case ADD:
        return a + b;
    case MUL:
        return a * b;
    case MAX:
        return isnan(a) || a > b ? a : b;
    case MIN:
        return isnan(a) || a < b ? a : b;
    case PUT:
        break;
    }
    return b;
}

static int64_t combine_integers(reduction r, int64_t a, int64_t b, bool is_wide)
{
    switch (r) {
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case MAX:
        return (is_wide ? (uint64_t)a > (uint64_t)b : a > b) ? a : b;
    case MIN:
        return (is_wide ? (uint64_t)a < (uint64_t)b : a < b) ? a : b;
    case PUT:
        break;
    }
    return b;
}

/* Element i of the updates goes to element index[i] of the copy of x. */
static noe_status scatter(noe_call *c, const noe_run_value *x,
                          const noe_run_value *from, const int64_t *index)
{
    reduction r = PUT;
    NOE_TRY(read_reduction(c, &r));
    if (from->elem != x->elem)
        return noe_call_fail(c, "updates are of another element type");
    if (r == PUT) {
        int64_t *source = NOE_ZEROS(c, int64_t, x->n + 1);
        /* take() knows one source only: both side by side are one */
        noe_dims both = {1, {x->n + from->n}};
        noe_run_value *all = noe_run_tensor_new(x->elem, &both, SIZE_MAX);
        memcpy(all->data, x->data, x->bytes);
        memcpy((char *)all->data + x->bytes, from->data, from->bytes);
        for (int64_t i = 0; i < x->n; i++)
            source[i] = i;
        for (int64_t i = 0; i < from->n; i++)
            source[index[i]] = x->n + i;
        noe_status status = noe_call_take(c, 0, all, &x->shape, source, NULL);
        all->n = x->elem == NOE_ELEM_STRING ? 0 : all->n; /* texts are not its own */
        noe_run_value_release(all);
        return status;
    }
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    if (noe_elem_is_float((int)x->elem)) {
        double *v = noe_call_f64(c, x), *u = noe_call_f64(c, from);
        for (int64_t i = 0; i < from->n; i++)
            v[index[i]] = combine(r, v[index[i]], u[i]);
        noe_run_store_f64(y, v, false);
    } else if (noe_elem_is_integer((int)x->elem)) {
        int64_t *v = noe_call_i64(c, x), *u = noe_call_i64(c, from);
        for (int64_t i = 0; i < from->n; i++)
            v[index[i]] =
                combine_integers(r, v[index[i]], u[i], x->elem == NOE_ELEM_U64);
        noe_run_store_i64(y, v);
    } else {
        return noe_call_bad_type(c);
    }
    return NOE_OK;
}

static noe_status run_scatter_elements(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1], *from = c->in[2];
    int axis, rank = x->shape.rank;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), rank, &axis));
    if (!noe_elem_is_integer((int)at->elem) || !noe_dims_eq(&at->shape, &from->shape) ||
        at->shape.rank != rank)
        return noe_call_fail(c, "indices and updates do not fit");
    int64_t step[NOE_RUN_MAX_RANK], *list = noe_call_i64(c, at);
    noe_dims_strides(&x->shape, step);
    for (int i = 0; i < rank; i++) {
        if (i != axis && at->shape.dim[i] > x->shape.dim[i])
            return noe_call_fail(c, "indices are larger than the data");
    }
    int64_t along = step[axis], dim = x->shape.dim[axis];
    step[axis] = 0;
    int64_t *index = noe_call_strided(c, &at->shape, 0, step);
    for (int64_t i = 0; i < at->n; i++) {
        int64_t k = list[i] < 0 ? list[i] + dim : list[i];
        if (k < 0 || k >= dim)
            return noe_call_fail(c, "index %lld is out of range", (long long)list[i]);
        index[i] += k * along;
    }
    return scatter(c, x, from, index);
}

static noe_status run_scatter_nd(noe_call *c)
{
    const noe_run_value *x = c->in[0], *at = c->in[1], *from = c->in[2];
    int ra = at->shape.rank, depth = ra > 0 ? (int)at->shape.dim[ra - 1] : 0;
    if (!noe_elem_is_integer((int)at->elem) || ra < 1 || depth > x->shape.rank)
        return noe_call_fail(c, "indices do not fit");
    int64_t tuples = noe_dims_count(&at->shape, 0, ra - 1), step[NOE_RUN_MAX_RANK];
    int64_t inner = noe_dims_count(&x->shape, depth, x->shape.rank);
    if (from->n != tuples * inner)
        return noe_call_fail(c, "updates do not fit");
    int64_t *list = noe_call_i64(c, at), *index = NOE_ZEROS(c, int64_t, from->n);
    noe_dims_strides(&x->shape, step);
    for (int64_t t = 0; t < tuples; t++) {
        int64_t base = 0;
        for (int i = 0; i < depth; i++) {
            int64_t k = list[t * depth + i], dim = x->shape.dim[i];
            k += k < 0 ? dim : 0;
            if (k < 0 || k >= dim)
                return noe_call_fail(c, "index %lld is out of range", (long long)k);
            base += k * step[i];
        }
        for (int64_t k = 0; k < inner; k++)
            index[t * inner + k] = base + k;
    }
    return scatter(c, x, from, index);
}

/* Writes `update` into a cache at write_indices along `axis`. */
static noe_status run_tensor_scatter(noe_call *c)
{
    const noe_run_value *x = c->in[0], *from = c->in[1];
    const int64_t *starts;
    int n, axis, rank = x->shape.rank;
    NOE_TRY(noe_call_numbers(c, 2, &starts, &n));
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", -2), rank, &axis));
    bool circular = strcmp(noe_call_string(c, "mode", "linear"), "circular") == 0;
    if (from->shape.rank != rank || rank < 2 || (starts && n != x->shape.dim[0]))
        return noe_call_fail(c, "update or write_indices do not fit");
    int64_t step[NOE_RUN_MAX_RANK], small[NOE_RUN_MAX_RANK], dim = x->shape.dim[axis];
    int64_t *index = NOE_ZEROS(c, int64_t, from->n);
    noe_dims_strides(&x->shape, step);
    noe_dims_strides(&from->shape, small);
    for (int64_t k = 0; k < from->n; k++) {
        int64_t at = 0, start = starts ? starts[k / small[0]] : 0;
        for (int i = 0; i < rank; i++) {
            int64_t p = k / small[i] % from->shape.dim[i];
            p = i == axis ? p + start : p;
            p = i == axis && circular ? p % dim : p;
            if (p < 0 || p >= x->shape.dim[i])
                return noe_call_fail(c, "position %lld is out of range", (long long)p);
            at += p * step[i];
        }
        index[k] = at;
    }
    return scatter(c, x, from, index);
}

const noe_operator noe_operators_scatter[] = {
    {"ScatterElements", run_scatter_elements, 3, NULL, 0},
    {"Scatter", run_scatter_elements, 3, NULL, 0},
    {"ScatterND", run_scatter_nd, 3, NULL, 0},
    {"TensorScatter", run_tensor_scatter, 2, NULL, 0},
    {0},
};
