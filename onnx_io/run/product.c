/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices, and Einstein sums. Sums are in double, rounded once; integers
 * wrap.
 */
#include "onnx_io/run/call.h"
#include <math.h>

/* y[m,n] += a[m,k] b[k,n]; rows of b are walked in order, for speed. */
static void multiply_f64(const double *a, const double *b, double *y, int64_t m,
                         int64_t k, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++) {
            double f = a[i * k + l];
            const double *row = b + l * n;
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] += f * row[j];
        }
    }
}

static void multiply_i64(const int64_t *a, const int64_t *b, int64_t *y, int64_t m,
                         int64_t k, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++) {
            uint64_t f = (uint64_t)a[i * k + l];
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] =
                    (int64_t)((uint64_t)y[i * n + j] + f * (uint64_t)b[l * n + j]);
        }
    }
}

/* Batched product of matrices as MatMul has it: vectors get an axis that goes again. */
typedef struct batch {
    noe_dims shape;         /* of the result */
    int64_t m, k, n, count; /* count matrices */
    int64_t *at_a, *at_b;   /* which matrix of a and of b */
} batch;

static noe_status plan(noe_call *c, noe_dims a, noe_dims b, batch *p)
{
    bool row = a.rank == 1, column = b.rank == 1;
    if (row)
        a = (noe_dims){2, {1, a.dim[0]}};
    if (column)
        b = (noe_dims){2, {b.dim[0], 1}};
    if (a.rank < 2 || b.rank < 2 || a.dim[a.rank - 1] != b.dim[b.rank - 2])
        return noe_call_fail(c, "the operands do not fit");
    p->m = a.dim[a.rank - 2];
    p->k = a.dim[a.rank - 1];
    p->n = b.dim[b.rank - 1];
    a.rank -= 2;
    b.rank -= 2;
    p->shape = a;
    if (!noe_dims_broadcast(&p->shape, &b))
        return noe_call_fail(c, "the batches do not broadcast");
    p->count = noe_dims_count(&p->shape, 0, p->shape.rank);
    p->at_a = noe_call_spread(c, &a, &p->shape);
    p->at_b = noe_call_spread(c, &b, &p->shape);
    if (!row)
        p->shape.dim[p->shape.rank++] = p->m;
    if (!column)
        p->shape.dim[p->shape.rank++] = p->n;
    return NOE_OK;
}

static void multiply_integers(noe_call *c, const batch *p, const int64_t *u,
                              const int64_t *v, noe_run_value *y)
{
    int64_t *t = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t i = 0; i < p->count; i++)
        multiply_i64(u + p->at_a[i] * p->m * p->k, v + p->at_b[i] * p->k * p->n,
                     t + i * p->m * p->n, p->m, p->k, p->n);
    noe_run_store_i64(y, t);
}

static noe_status run_mat_mul(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[1];
    batch p;
    NOE_TRY(plan(c, a->shape, b->shape, &p));
    if (a->elem != b->elem)
        return noe_call_fail(c, "element types differ");
    NOE_OUT(y, c, 0, a->elem, &p.shape);
    if (noe_elem_is_float((int)a->elem)) {
        double *u = noe_call_f64(c, a), *v = noe_call_f64(c, b);
        double *t = NOE_ZEROS(c, double, y->n);
        for (int64_t i = 0; i < p.count; i++)
            multiply_f64(u + p.at_a[i] * p.m * p.k, v + p.at_b[i] * p.k * p.n,
                         t + i * p.m * p.n, p.m, p.k, p.n);
        noe_run_store_f64(y, t, false);
        return NOE_OK;
    }
    if (!noe_elem_is_integer((int)a->elem))
        return noe_call_bad_type(c);
    multiply_integers(c, &p, noe_call_i64(c, a), noe_call_i64(c, b), y);
    return NOE_OK;
}

/* Zero points of rows of a (one, or one a row) and columns of b taken off first. */
static noe_status take_off(noe_call *c, int i, int64_t *v, const noe_run_value *x,
                           bool is_row)
{
    const noe_run_value *zero = noe_call_in(c, i);
    int64_t rows = x->shape.rank > 1 ? x->shape.dim[x->shape.rank - 2] : 1;
    int64_t columns = x->shape.dim[x->shape.rank - 1];
    if (!zero)
        return NOE_OK;
    if (zero->n != 1 && zero->n != (is_row ? rows : columns))
        return noe_call_fail(c, "zero point %d does not fit", i);
    const int64_t *z = noe_call_i64(c, zero);
    for (int64_t k = 0; k < x->n; k++)
        v[k] -= zero->n == 1 ? z[0] : is_row ? z[k / columns % rows] : z[k % columns];
    return NOE_OK;
}

static noe_status run_mat_mul_integer(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[1];
    batch p;
    NOE_TRY(plan(c, a->shape, b->shape, &p));
    if (!noe_elem_is_integer((int)a->elem) || !noe_elem_is_integer((int)b->elem))
        return noe_call_bad_type(c);
    int64_t *u = noe_call_i64(c, a), *v = noe_call_i64(c, b);
    NOE_TRY(take_off(c, 2, u, a, true));
    NOE_TRY(take_off(c, 3, v, b, false));
    NOE_OUT(y, c, 0, NOE_ELEM_I32, &p.shape);
    multiply_integers(c, &p, u, v, y);
    return NOE_OK;
}

static double *transposed(noe_call *c, const noe_run_value *x, bool is_turned,
                          int64_t *rows, int64_t *columns)
{
    double *v = noe_call_f64(c, x), *t = NOE_ZEROS(c, double, x->n);
    *rows = x->shape.dim[is_turned];
    *columns = x->shape.dim[!is_turned];
    for (int64_t i = 0; i < x->n && is_turned; i++)
        t[i] = v[i % *columns * *rows + i / *columns];
    return is_turned ? t : v;
}

static noe_status run_gemm(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[1], *bias = noe_call_in(c, 2);
    int64_t m, k, k_b, n;
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return noe_call_fail(c, "operands of ranks %d and %d, want 2", a->shape.rank,
                             b->shape.rank);
    bool is_float = noe_elem_is_float((int)a->elem);
    if (!is_float && !noe_elem_is_integer((int)a->elem))
        return noe_call_bad_type(c);
    double alpha = noe_call_float(c, "alpha", 1), beta = noe_call_float(c, "beta", 1);
    double *u = transposed(c, a, noe_call_int(c, "transA", 0) != 0, &m, &k);
    double *v = transposed(c, b, noe_call_int(c, "transB", 0) != 0, &k_b, &n);
    noe_dims shape = {2, {m, n}}, wide = shape;
    if (k != k_b)
        return noe_call_fail(c, "inner sizes %lld and %lld differ", (long long)k,
                             (long long)k_b);
    if (bias &&
        (!noe_dims_broadcast(&wide, &bias->shape) || !noe_dims_eq(&wide, &shape)))
        return noe_call_fail(c, "C does not broadcast to the product");
    NOE_OUT(y, c, 0, a->elem, &shape);
    double *t = NOE_ZEROS(c, double, y->n);
    const double *f = bias ? noe_call_f64_as(c, bias, &shape) : NULL;
    multiply_f64(u, v, t, m, k, n);
    int64_t *whole = NOE_ZEROS(c, int64_t, y->n);
    for (int64_t i = 0; i < y->n; i++) {
        t[i] = alpha * t[i] + (f && beta != 0 ? beta * f[i] : 0);
        whole[i] = fabs(t[i]) < 0x1p63 ? (int64_t)t[i] : INT64_MIN;
    }
    if (is_float)
        noe_run_store_f64(y, t, false);
    else
        noe_run_store_i64(y, whole);
    return NOE_OK;
}

/* ---- Einstein sums ---- */

#define MAX_LABELS 52
/* Labels of the ellipsis are numbers from MAX_LABELS on, counted from behind. */
#define MAX_INDEX (MAX_LABELS + NOE_RUN_MAX_RANK)

typedef struct term {
    int n;
    int label[NOE_RUN_MAX_RANK];
} term;

static int label_of(char letter)
{
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a';
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 26 : -1;
}

/* Reads letters up to a comma or "->". hidden: axes that "..." stands for; -1: as many
 * as the rank leaves. */
static noe_status read_term(noe_call *c, const char **at, int rank, int hidden, term *t)
{
    const char *end = *at;
    int letters = 0;
    *t = (term){0};
    while (*end && *end != ',' && !(end[0] == '-' && end[1] == '>')) {
        letters += label_of(*end) >= 0;
        end++;
    }
    for (const char *p = *at; p < end; p++) {
        if (strncmp(p, "...", 3) == 0) {
            int n = hidden >= 0 ? hidden : rank - letters;
            for (int i = 0; i < n && t->n < NOE_RUN_MAX_RANK; i++)
                t->label[t->n++] = MAX_LABELS + n - 1 - i;
            p += 2;
        } else if (label_of(*p) >= 0 && t->n < NOE_RUN_MAX_RANK) {
            t->label[t->n++] = label_of(*p);
        } else if (*p != ' ') {
            return noe_call_fail(c, "equation has '%c'", *p);
        }
    }
    *at = end;
    return NOE_OK;
}

typedef struct einsum {
    term in[8], out;
    int n_in, n_index;
    int64_t dim[MAX_INDEX]; /* 0: not used */
    int order[MAX_INDEX];   /* labels of the result, then summed ones */
} einsum;

/* Without "->" the result has the ellipsis and the letters that occur once, sorted. */
static void imply_result(einsum *e, const int *times)
{
    for (int k = MAX_INDEX - 1; k >= MAX_LABELS; k--) {
        if (times[k])
            e->out.label[e->out.n++] = k;
    }
    for (int i = 0; i < 26; i++) { /* capitals before small letters */
        if (times[26 + i] == 1)
            e->out.label[e->out.n++] = 26 + i;
    }
    for (int i = 0; i < 26; i++) {
        if (times[i] == 1)
            e->out.label[e->out.n++] = i;
    }
}

static noe_status read_equation(noe_call *c, einsum *e)
{
    const char *at = noe_call_string(c, "equation", "");
    int times[MAX_INDEX] = {0}, hidden = 0;
    *e = (einsum){.n_in = c->n_in};
    if (c->n_in > 8)
        return noe_call_unsupported(c, "of %d operands", c->n_in);
    for (int i = 0; i < MAX_INDEX; i++)
        e->dim[i] = -1;
    for (int i = 0; i < c->n_in; i++) {
        const noe_dims *x = &c->in[i]->shape;
        NOE_TRY(read_term(c, &at, x->rank, -1, &e->in[i]));
        at += *at == ',';
        if (e->in[i].n != x->rank)
            return noe_call_fail(c, "operand %d has rank %d", i, x->rank);
        for (int k = 0; k < x->rank; k++) {
            int label = e->in[i].label[k];
            times[label]++;
            if (label >= MAX_LABELS && label - MAX_LABELS + 1 > hidden)
                hidden = label - MAX_LABELS + 1;
            if (e->dim[label] >= 0 && e->dim[label] != 1 && x->dim[k] != 1 &&
                e->dim[label] != x->dim[k])
                return noe_call_fail(c, "sizes of one index differ");
            if (e->dim[label] < 0 || e->dim[label] == 1)
                e->dim[label] = x->dim[k];
        }
    }
    if (strncmp(at, "->", 2) == 0) {
        at += 2;
        NOE_TRY(read_term(c, &at, 0, hidden, &e->out));
    } else {
        imply_result(e, times);
    }
    for (int i = 0; i < e->out.n; i++) {
        for (int k = 0; k < i; k++) {
            if (e->out.label[k] == e->out.label[i])
                return noe_call_fail(c, "the result has an index twice");
        }
        e->order[e->n_index++] = e->out.label[i];
    }
    for (int k = 0; k < MAX_INDEX; k++) {
        bool is_kept = false;
        for (int i = 0; i < e->out.n; i++)
            is_kept = is_kept || e->out.label[i] == k;
        if (!is_kept && e->dim[k] >= 0)
            e->order[e->n_index++] = k;
    }
    return NOE_OK;
}

static noe_status run_einsum(noe_call *c)
{
    einsum e;
    NOE_TRY(read_equation(c, &e));
    noe_dims all = {.rank = e.n_index}, shape = {.rank = e.out.n};
    if (e.n_index > NOE_RUN_MAX_RANK)
        return noe_call_unsupported(c, "with %d indices", e.n_index);
    for (int i = 0; i < e.n_index; i++)
        all.dim[i] = e.dim[e.order[i]];
    for (int i = 0; i < e.out.n; i++) {
        shape.dim[i] = e.dim[e.out.label[i]];
        if (shape.dim[i] < 0)
            return noe_call_fail(c, "the result has an index that no operand has");
    }
    bool is_float = noe_elem_is_float((int)c->in[0]->elem);
    if (!is_float && !noe_elem_is_integer((int)c->in[0]->elem))
        return noe_call_bad_type(c);
    NOE_OUT(y, c, 0, c->in[0]->elem, &shape);
    int64_t n;
    NOE_TRY(noe_call_count(c, &all, &n));
    int64_t inner = y->n ? n / y->n : 0;
    double *product = NOE_ZEROS(c, double, n), *total = NOE_ZEROS(c, double, y->n);
    for (int i = 0; i < e.n_in; i++) {
        int64_t step[NOE_RUN_MAX_RANK], stride[NOE_RUN_MAX_RANK] = {0};
        noe_dims_strides(&c->in[i]->shape, step);
        for (int k = 0; k < e.in[i].n; k++) {
            for (int j = 0; j < e.n_index; j++)
                stride[j] +=
                    e.order[j] == e.in[i].label[k] && c->in[i]->shape.dim[k] != 1
                        ? step[k]
                        : 0;
        }
        const int64_t *at = noe_call_strided(c, &all, 0, stride);
        const double *v = noe_call_f64(c, c->in[i]);
        for (int64_t k = 0; k < n; k++)
            product[k] = i ? product[k] * v[at[k]] : v[at[k]];
    }
    for (int64_t k = 0; k < n; k++)
        total[k / inner] += product[k];
    if (is_float) {
        noe_run_store_f64(y, total, false);
    } else {
        int64_t *whole = NOE_ZEROS(c, int64_t, y->n);
        for (int64_t k = 0; k < y->n; k++)
            whole[k] = fabs(total[k]) < 0x1p63 ? (int64_t)total[k] : INT64_MIN;
        noe_run_store_i64(y, whole);
    }
    return NOE_OK;
}

static noe_status run_det(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int rank = x->shape.rank;
    if (rank < 2 || x->shape.dim[rank - 1] != x->shape.dim[rank - 2] ||
        !noe_elem_is_float((int)x->elem))
        return noe_call_fail(c, "the input is no square matrix of floats");
    int64_t n = x->shape.dim[rank - 1];
    noe_dims shape = x->shape;
    shape.rank -= 2;
    double *v = noe_call_f64(c, x);
    NOE_OUT(y, c, 0, x->elem, &shape);
    double *out = NOE_ZEROS(c, double, y->n);
    for (int64_t b = 0; b < y->n; b++) {
        double *a = v + b * n * n, det = 1;
        for (int64_t k = 0; k < n; k++) {
            int64_t pivot = k;
            for (int64_t i = k + 1; i < n; i++)
                pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
            for (int64_t j = 0; j < n && pivot != k; j++) {
                double t = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = t;
            }
            det *= (pivot == k ? 1 : -1) * a[k * n + k];
            for (int64_t i = k + 1; i < n && a[k * n + k] != 0; i++) {
                double f = a[i * n + k] / a[k * n + k];
                for (int64_t j = k; j < n; j++)
                    a[i * n + j] -= f * a[k * n + j];
            }
        }
        out[b] = det;
    }
    noe_run_store_f64(y, out, false);
    return NOE_OK;
}

const noe_operator noe_operators_product[] = {
    {"MatMul", run_mat_mul, 2, NULL, 0},
    {"MatMulInteger", run_mat_mul_integer, 2, NULL, 0},
    {"Gemm", run_gemm, 2, NULL, 0},
    {"Einsum", run_einsum, 1, NULL, NOE_NEEDS_ALL},
    {"Det", run_det, 1, NULL, 0},
    {0},
};
