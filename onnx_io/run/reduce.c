/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions over axes, and running sums. Sums of floats are accumulated in double and
 * rounded once; those of integers wrap.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef struct reducer {
    double start;
    double (*step)(double total, double x);
    double (*finish)(double total, double n); /* may be NULL */
    int64_t start_integer;
    int64_t (*step_integer)(int64_t total, int64_t x); /* NULL: as doubles */
} reducer;

#define REAL(NAME, EXPR)                   \
    static double NAME(double t, double x) \
    {                                      \
        return EXPR;                       \
    }
#define INTEGER(NAME, EXPR)                   \
    static int64_t NAME(int64_t t, int64_t x) \
    {                                         \
        return EXPR;                          \
    }
REAL(add, t + x)
REAL(add_abs, t + fabs(x))
REAL(add_square, t + x * x)
REAL(add_exp, t + exp(x))
REAL(multiply, t *x)
REAL(larger, isnan(t) || t > x ? t : x)
REAL(smaller, isnan(t) || t < x ? t : x)
REAL(divide, t / x)
REAL(root, (x < 0 ? 0 : sqrt(t)))
REAL(logarithm, (x < 0 ? 0 : log(t)))
INTEGER(add_i, (int64_t)((uint64_t)t + (uint64_t)x))
INTEGER(add_abs_i, (int64_t)((uint64_t)t + (x < 0 ? 0 - (uint64_t)x : (uint64_t)x)))
INTEGER(add_square_i, (int64_t)((uint64_t)t + (uint64_t)x * (uint64_t)x))
INTEGER(multiply_i, (int64_t)((uint64_t)t *(uint64_t)x))
INTEGER(larger_i, t > x ? t : x)
INTEGER(smaller_i, t < x ? t : x)
INTEGER(larger_u, (uint64_t)t > (uint64_t)x ? t : x)
INTEGER(smaller_u, (uint64_t)t < (uint64_t)x ? t : x)

/* Which axes go, and whether any does. Since opset 18 (ReduceSum: 13) they are an
 * input.
 */
static noe_status read_axes(noe_call *c, int rank, bool *gone, bool *is_noop)
{
    const int64_t *axes;
    int n;
    NOE_TRY(noe_call_numbers_or_list(c, 1, "axes", &axes, &n));
    *is_noop = n == 0 && noe_call_int(c, "noop_with_empty_axes", 0) != 0;
    for (int i = 0; i < rank; i++)
        gone[i] = n == 0;
    for (int i = 0; i < n; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes[i], rank, &a));
        gone[a] = true;
    }
    return NOE_OK;
}

/* For each element the index of the result that it goes into. */
static int64_t *targets(noe_call *c, const noe_dims *x, const bool *gone,
                        noe_dims *kept)
{
    int64_t stride[NOE_RUN_MAX_RANK], step = 1;
    *kept = *x;
    for (int i = x->rank - 1; i >= 0; i--) {
        stride[i] = gone[i] ? 0 : step;
        step *= gone[i] ? 1 : x->dim[i];
        kept->dim[i] = gone[i] ? 1 : x->dim[i];
    }
    return noe_call_strided(c, x, 0, stride);
}

static noe_dims squeeze(const noe_dims *kept, const bool *gone, bool keeps)
{
    noe_dims out = {0};
    for (int i = 0; i < kept->rank; i++) {
        if (keeps || !gone[i])
            out.dim[out.rank++] = kept->dim[i];
    }
    return out;
}

/* What goes where, and the shape of the result. */
static noe_status plan(noe_call *c, const noe_run_value *x, int64_t **to,
                       noe_dims *shape)
{
    bool gone[NOE_RUN_MAX_RANK], is_noop;
    noe_dims kept;
    NOE_TRY(read_axes(c, x->shape.rank, gone, &is_noop));
    for (int i = 0; i < x->shape.rank && is_noop; i++)
        gone[i] = false;
    *to = targets(c, &x->shape, gone, &kept);
    *shape = squeeze(&kept, gone, noe_call_int(c, "keepdims", 1) != 0);
    return NOE_OK;
}

static void reduce_integers(noe_call *c, const reducer *r, const noe_run_value *x,
                            const int64_t *to, noe_run_value *y, int64_t start)
{
    const int64_t *v = noe_call_i64(c, x);
    int64_t *total = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t i = 0; i < y->n; i++)
        total[i] = start;
    for (int64_t i = 0; i < x->n; i++)
        total[to[i]] = r->step_integer(total[to[i]], v[i]);
    noe_run_store_i64(y, total);
}

static noe_status reduce(noe_call *c, const reducer *r)
{
    const noe_run_value *x = c->in[0];
    int64_t *to;
    noe_dims shape;
    NOE_TRY(plan(c, x, &to, &shape));
    NOE_OUT(y, c, 0, x->elem, &shape);
    if (noe_elem_is_integer((int)x->elem) && r->step_integer) {
        reduce_integers(c, r, x, to, y, noe_run_wrap(x->elem, r->start_integer));
        return NOE_OK;
    }
    if (!noe_elem_is_float((int)x->elem) && !noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    double *v = noe_call_f64(c, x), *total = NOE_ZEROS(c, double, y->n);
    for (int64_t i = 0; i < y->n; i++)
        total[i] = r->start;
    for (int64_t i = 0; i < x->n; i++)
        total[to[i]] = r->step(total[to[i]], v[i]);
    double each = y->n > 0 ? (double)x->n / (double)y->n : 1;
    int64_t *whole = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t i = 0; i < y->n; i++) {
        total[i] = r->finish ? r->finish(total[i], each) : total[i];
        whole[i] = fabs(total[i]) < 0x1p63 ? (int64_t)total[i] : INT64_MIN;
    }
    if (noe_elem_is_float((int)x->elem))
        noe_run_store_f64(y, total, false);
    else
        noe_run_store_i64(y, whole);
    return NOE_OK;
}

/* Lowest and highest number of an integer type, for empty extremes. */
static noe_status run_extreme(noe_call *c)
{
    reducer r = *(const reducer *)c->op->how;
    int elem = (int)c->in[0]->elem, bits = noe_elem_get(elem)->bits;
    bool is_signed = noe_elem_get(elem)->class == NOE_CLASS_SIGNED;
    bool is_max = r.step == larger;
    if (elem == NOE_ELEM_BOOL)
        r.start_integer = is_max ? 0 : 1;
    else if (noe_elem_is_integer(elem) && is_signed)
        r.start_integer = is_max ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
    else if (elem == NOE_ELEM_U64) {
        r.step_integer = is_max ? larger_u : smaller_u;
        r.start_integer = is_max ? 0 : -1;
    } else if (noe_elem_is_integer(elem))
        r.start_integer = is_max ? 0 : ((int64_t)1 << bits) - 1;
    return reduce(c, &r);
}

static noe_status run_reduce(noe_call *c)
{
    return reduce(c, c->op->how);
}

/* The maximum is taken out, so that nothing overflows. */
static noe_status run_log_sum_exp(noe_call *c)
{
    static const reducer plain = {0, add_exp, logarithm, 0, NULL};
    const noe_run_value *x = c->in[0];
    if (!noe_elem_is_float((int)x->elem))
        return reduce(c, &plain);
    int64_t *to;
    noe_dims shape;
    NOE_TRY(plan(c, x, &to, &shape));
    NOE_OUT(y, c, 0, x->elem, &shape);
    double *v = noe_call_f64(c, x), *most = NOE_ZEROS(c, double, y->n);
    double *total = NOE_ZEROS(c, double, y->n);
    for (int64_t i = 0; i < y->n; i++)
        most[i] = -INFINITY;
    for (int64_t i = 0; i < x->n; i++)
        most[to[i]] = larger(most[to[i]], v[i]);
    for (int64_t i = 0; i < x->n; i++)
        total[to[i]] += isinf(most[to[i]]) ? exp(v[i]) : exp(v[i] - most[to[i]]);
    for (int64_t i = 0; i < y->n; i++)
        total[i] = log(total[i]) + (isinf(most[i]) ? 0 : most[i]);
    noe_run_store_f64(y, total, false);
    return NOE_OK;
}

/* Running sums (and, since opset 26, products) along an axis. */
static noe_status run_cumulative(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    bool is_product = strcmp(c->node->op_type, "CumProd") == 0;
    const int64_t *given;
    int n, axis;
    NOE_TRY(noe_call_numbers(c, 1, &given, &n));
    if (n != 1)
        return noe_call_fail(c, "axis is not one number");
    NOE_TRY(noe_call_axis(c, given[0], x->shape.rank, &axis));
    bool exclusive = noe_call_int(c, "exclusive", 0) != 0;
    bool reverse = noe_call_int(c, "reverse", 0) != 0;
    bool is_float = noe_elem_is_float((int)x->elem);
    if (!is_float && !noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    double *v = is_float ? noe_call_f64(c, x) : NULL;
    int64_t *w = is_float ? NULL : noe_call_i64(c, x);
    int64_t dim = x->shape.dim[axis],
            inner = noe_dims_count(&x->shape, axis + 1, x->shape.rank);
    for (int64_t row = 0; row < (dim ? x->n / dim : 0); row++) {
        double t = is_product;
        int64_t tw = is_product;
        for (int64_t i = 0; i < dim; i++) {
            int64_t p = reverse ? dim - 1 - i : i;
            int64_t k = row / inner * dim * inner + p * inner + row % inner;
            double next = is_float ? (is_product ? t * v[k] : t + v[k]) : 0;
            int64_t next_w = is_float     ? 0
                             : is_product ? multiply_i(tw, w[k])
                                          : add_i(tw, w[k]);
            if (is_float)
                v[k] = exclusive ? t : next;
            else
                w[k] = exclusive ? tw : next_w;
            t = next;
            tw = next_w;
        }
    }
    if (is_float)
        noe_run_store_f64(y, v, false);
    else
        noe_run_store_i64(y, w);
    return NOE_OK;
}

#define HOW(...)     \
    &(const reducer) \
    {                \
        __VA_ARGS__  \
    }
const noe_operator noe_operators_reduce[] = {
    {"ReduceSum", run_reduce, 1, HOW(0, add, NULL, 0, add_i), 0},
    {"ReduceMean", run_reduce, 1, HOW(0, add, divide, 0, NULL), 0},
    {"ReduceProd", run_reduce, 1, HOW(1, multiply, NULL, 1, multiply_i), 0},
    {"ReduceMax", run_extreme, 1, HOW(-INFINITY, larger, NULL, 0, larger_i), 0},
    {"ReduceMin", run_extreme, 1, HOW(INFINITY, smaller, NULL, 0, smaller_i), 0},
    {"ReduceL1", run_reduce, 1, HOW(0, add_abs, NULL, 0, add_abs_i), 0},
    {"ReduceL2", run_reduce, 1, HOW(0, add_square, root, 0, NULL), 0},
    {"ReduceSumSquare", run_reduce, 1, HOW(0, add_square, NULL, 0, add_square_i), 0},
    {"ReduceLogSum", run_reduce, 1, HOW(0, add, logarithm, 0, NULL), 0},
    {"ReduceLogSumExp", run_log_sum_exp, 1, NULL, 0},
    {"CumSum", run_cumulative, 2, NULL, 0},
    {"CumProd", run_cumulative, 2, NULL, 0},
    {0},
};
