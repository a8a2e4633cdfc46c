/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx_io/run/call.h"
#include "onnx_io/run/frame.h"
#include <stdarg.h>
#include <stdio.h>

noe_status noe_call_fail(noe_call *c, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return noe_fail(c->err, NOE_ERR_SHAPE, "%s", text);
}

noe_status noe_call_unsupported(noe_call *c, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return noe_fail(c->err, NOE_ERR_UNSUPPORTED, "%s", text);
}

noe_status noe_call_bad_type(noe_call *c)
{
    const noe_run_value *x = noe_call_in(c, 0);
    return noe_call_unsupported(c, "is not defined here for %s",
                                x ? noe_elem_get((int)x->elem)->name : "no input");
}

/* ---- attributes ---- */

const Onnx__AttributeProto *noe_call_attr(const noe_call *c, const char *name)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(c->node, name);
    const noe_frame *frame = c->frame;
    while (a && a->ref_attr_name && *a->ref_attr_name && frame) {
        while (frame && !frame->function)
            frame = frame->outer;
        if (!frame)
            return NULL;
        const char *wanted = a->ref_attr_name;
        a = noe_onnx_attr(frame->caller, wanted);
        for (size_t i = 0; !a && i < frame->function->n_attribute_proto; i++) {
            if (strcmp(frame->function->attribute_proto[i]->name, wanted) == 0)
                a = frame->function->attribute_proto[i];
        }
        frame = frame->outer;
    }
    return a;
}

int64_t noe_call_int(const noe_call *c, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, name);
    return a && a->has_i ? a->i : otherwise;
}

double noe_call_float(const noe_call *c, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, name);
    return a && a->has_f ? (double)a->f : otherwise;
}

const char *noe_call_string(const noe_call *c, const char *name, const char *otherwise)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, name);
    if (!a || !a->has_s)
        return otherwise;
    char *text = noe_arena_alloc(c->scratch, a->s.len + 1);
    memcpy(text, a->s.len ? (const char *)a->s.data : "", a->s.len);
    text[a->s.len] = '\0';
    return text;
}

const int64_t *noe_call_list(const noe_call *c, const char *name, int *n)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, name);
    *n = a ? (int)a->n_ints : 0;
    return a && a->n_ints ? a->ints : NULL;
}

noe_status noe_call_list_of(noe_call *c, const char *name, int n, int64_t otherwise,
                            int64_t *list)
{
    int given;
    const int64_t *from = noe_call_list(c, name, &given);
    if (from && given != n)
        return noe_call_fail(c, "%s has %d values, want %d", name, given, n);
    for (int i = 0; i < n; i++)
        list[i] = from ? from[i] : otherwise;
    return NOE_OK;
}

/* ---- values ---- */

noe_run_value *noe_call_out(noe_call *c, int i, noe_elem elem, const noe_dims *shape)
{
    if (shape->rank > NOE_RUN_MAX_RANK) {
        (void)noe_fail(c->err, NOE_ERR_LIMIT, "rank %d, at most %d is possible",
                       shape->rank, NOE_RUN_MAX_RANK);
        return NULL;
    }
    noe_run_value *v = noe_run_tensor_new(elem, shape, c->run->max_bytes);
    if (!v) {
        noe_buf b = {0};
        noe_dims_print(&b, shape);
        (void)noe_fail(c->err, NOE_ERR_LIMIT,
                       "output %d of shape %s is larger than the limit of %zu bytes", i,
                       b.text, c->run->max_bytes);
        noe_buf_clear(&b);
        return NULL;
    }
    noe_run_value_release(c->out[i]);
    c->out[i] = v;
    return v;
}

noe_status noe_call_count(noe_call *c, const noe_dims *shape, int64_t *n)
{
    size_t product = 1;
    *n = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] == 0)
            return NOE_OK;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (!noe_mul_size(product, (size_t)shape->dim[i], &product) ||
            product > c->run->max_bytes)
            return noe_fail(c->err, NOE_ERR_LIMIT,
                            "more than %zu elements would be computed",
                            c->run->max_bytes);
    }
    *n = (int64_t)product;
    return NOE_OK;
}

void noe_call_pass(noe_call *c, int i, const noe_run_value *v)
{
    noe_run_value_release(c->out[i]);
    c->out[i] = noe_run_value_ref(v);
}

static void note_bad_type(noe_call *c, const noe_run_value *v, const char *want)
{
    if (c->fault == NOE_OK)
        c->fault = noe_call_fail(c, "an input is of %s, want %s",
                                 noe_elem_get((int)v->elem)->name, want);
}

double *noe_call_f64(noe_call *c, const noe_run_value *v)
{
    double *x = NOE_ZEROS(c, double, v->n);
    if (noe_elem_is_float((int)v->elem) || noe_elem_is_integer((int)v->elem))
        noe_run_load_f64(v, x);
    else
        note_bad_type(c, v, "numbers");
    return x;
}

int64_t *noe_call_i64(noe_call *c, const noe_run_value *v)
{
    int64_t *x = NOE_ZEROS(c, int64_t, v->n);
    if (noe_elem_is_integer((int)v->elem))
        noe_run_load_i64(v, x);
    else
        note_bad_type(c, v, "integers");
    return x;
}

int64_t *noe_call_strided(noe_call *c, const noe_dims *shape, int64_t start,
                          const int64_t *stride)
{
    int64_t n = noe_dims_count(shape, 0, shape->rank);
    int64_t *index = noe_arena_alloc(c->scratch, (size_t)n * sizeof *index + 1);
    int64_t at[NOE_RUN_MAX_RANK] = {0}, now = start;
    for (int64_t i = 0; i < n; i++) {
        index[i] = now;
        for (int k = shape->rank - 1; k >= 0; k--) {
            now += stride[k];
            if (++at[k] < shape->dim[k])
                break;
            now -= stride[k] * shape->dim[k];
            at[k] = 0;
        }
    }
    return index;
}

int64_t *noe_call_spread(noe_call *c, const noe_dims *from, const noe_dims *to)
{
    int64_t stride[NOE_RUN_MAX_RANK], step = 1;
    for (int i = to->rank - 1; i >= 0; i--) {
        int k = i - (to->rank - from->rank);
        stride[i] = k < 0 || from->dim[k] == 1 ? 0 : step;
        step *= k < 0 ? 1 : from->dim[k];
    }
    return noe_call_strided(c, to, 0, stride);
}

void noe_dims_strides(const noe_dims *d, int64_t *stride)
{
    int64_t step = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= d->dim[i];
    }
}

noe_status noe_call_take(noe_call *c, int i, const noe_run_value *x,
                         const noe_dims *shape, const int64_t *index,
                         const noe_run_value *fill)
{
    size_t width = (size_t)noe_elem_get((int)x->elem)->bytes;
    NOE_OUT(y, c, i, x->elem, shape);
    for (int64_t k = 0; k < y->n; k++) {
        const noe_run_value *from = index[k] < 0 ? fill : x;
        int64_t at = index[k] < 0 ? 0 : index[k];
        if (!from)
            continue;
        if (x->elem == NOE_ELEM_STRING)
            y->text[k] = noe_strdup(noe_run_text(from, at));
        else
            memcpy((char *)y->data + (size_t)k * width,
                   (const char *)from->data + (size_t)at * width, width);
    }
    return NOE_OK;
}

double *noe_call_f64_as(noe_call *c, const noe_run_value *v, const noe_dims *shape)
{
    double *x = noe_call_f64(c, v);
    if (noe_dims_eq(&v->shape, shape))
        return x;
    int64_t n = noe_dims_count(shape, 0, shape->rank);
    int64_t *index = noe_call_spread(c, &v->shape, shape);
    double *y = noe_arena_alloc(c->scratch, (size_t)n * sizeof *y + 1);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[index[i]];
    return y;
}

int64_t *noe_call_i64_as(noe_call *c, const noe_run_value *v, const noe_dims *shape)
{
    int64_t *x = noe_call_i64(c, v);
    if (noe_dims_eq(&v->shape, shape))
        return x;
    int64_t n = noe_dims_count(shape, 0, shape->rank);
    int64_t *index = noe_call_spread(c, &v->shape, shape);
    for (int64_t i = 0; i < n; i++)
        index[i] = x[index[i]];
    return index;
}

noe_status noe_call_numbers(noe_call *c, int i, const int64_t **list, int *n)
{
    const noe_run_value *v = noe_call_in(c, i);
    *list = NULL;
    *n = 0;
    if (!v)
        return NOE_OK;
    if (v->form != NOE_FORM_TENSOR || !noe_elem_is_integer((int)v->elem) ||
        v->shape.rank > 1 || v->n > INT32_MAX)
        return noe_call_fail(c, "input %d is not a list of integers", i);
    *list = noe_call_i64(c, v);
    *n = (int)v->n;
    return NOE_OK;
}

noe_status noe_call_numbers_or_list(noe_call *c, int i, const char *name,
                                    const int64_t **list, int *n)
{
    NOE_TRY(noe_call_numbers(c, i, list, n));
    if (!*list && noe_call_attr(c, name)) {
        *list = noe_call_list(c, name, n);
        if (!*list)
            *list = NOE_ZEROS(c, int64_t, 1); /* an empty list is not a missing one */
    }
    return NOE_OK;
}

noe_status noe_call_axis(noe_call *c, int64_t axis, int rank, int *out)
{
    int64_t a = axis < 0 ? axis + rank : axis;
    if (a < 0 || a >= rank)
        return noe_call_fail(c, "axis %lld is out of range for rank %d",
                             (long long)axis, rank);
    *out = (int)a;
    return NOE_OK;
}
