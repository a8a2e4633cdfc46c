/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion between element types. Floats are truncated toward zero to integers and
 * wrapped; what is out of the range of int64 or NaN becomes the lowest int64 first (the
 * standard leaves it open). Everything but zero is true.
 */
#include "onnx_io/run/call.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t truncate_to_int(double x, noe_elem to)
{
    if (to == NOE_ELEM_BOOL)
        return x != 0;
    if (to == NOE_ELEM_U64 && x >= 0x1p63)
        return x < 0x1p64 ? (int64_t)(uint64_t)x : INT64_MIN;
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

/* As NumPy prints the number. */
static char *print_number(const noe_run_value *x, int64_t i, const double *real,
                          const int64_t *whole)
{
    char text[64];
    if (x->elem == NOE_ELEM_BOOL)
        return noe_strdup(whole[i] ? "True" : "False");
    if (x->elem == NOE_ELEM_U64) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)whole[i]);
    } else if (whole) {
        snprintf(text, sizeof text, "%lld", (long long)whole[i]);
    } else if (isnan(real[i])) {
        return noe_strdup("NaN");
    } else if (isinf(real[i])) {
        return noe_strdup(real[i] > 0 ? "INF" : "-INF");
    } else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, real[i]);
            if (noe_run_round(x->elem, strtod(text, NULL), false) == real[i])
                break;
        }
        if (!strpbrk(text, ".e"))
            strcat(text, ".0");
    }
    return noe_strdup(text);
}

static noe_status to_strings(noe_call *c, const noe_run_value *x)
{
    bool is_float = noe_elem_is_float((int)x->elem);
    double *real = is_float ? noe_call_f64(c, x) : NULL;
    int64_t *whole = is_float ? NULL : noe_call_i64(c, x);
    NOE_OUT(y, c, 0, NOE_ELEM_STRING, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        y->text[i] = print_number(x, i, real, whole);
    return NOE_OK;
}

static noe_status from_strings(noe_call *c, const noe_run_value *x, noe_elem to)
{
    NOE_OUT(y, c, 0, to, &x->shape);
    double *real = NOE_ZEROS(c, double, x->n);
    int64_t *whole = NOE_ZEROS(c, int64_t, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        const char *text = noe_run_text(x, i);
        char *end;
        real[i] = strtod(text, &end);
        if (end == text || *end)
            return noe_call_fail(c, "'%s' is not a number", text);
        whole[i] = strtoll(text, &end, 10);
        if (*end)
            whole[i] = truncate_to_int(real[i], to);
    }
    if (noe_elem_is_float((int)to))
        noe_run_store_f64(y, real, false);
    else
        noe_run_store_i64(y, whole);
    return NOE_OK;
}

static noe_status cast(noe_call *c, const noe_run_value *x, noe_elem to)
{
    bool saturate =
        noe_call_int(c, "saturate", 1) != 0 && noe_elem_get((int)to)->bits <= 8;
    noe_elem_class from = noe_elem_get((int)x->elem)->class,
                   class = noe_elem_get((int)to)->class;
    if (class == NOE_CLASS_NONE || class == NOE_CLASS_COMPLEX ||
        from == NOE_CLASS_COMPLEX)
        return noe_call_unsupported(c, "from %s to %s is not possible",
                                    noe_elem_get((int)x->elem)->name,
                                    noe_elem_get((int)to)->name);
    if (x->elem == to) {
        noe_call_pass(c, 0, x);
        return NOE_OK;
    }
    if (to == NOE_ELEM_STRING)
        return to_strings(c, x);
    if (x->elem == NOE_ELEM_STRING)
        return from_strings(c, x, to);
    NOE_OUT(y, c, 0, to, &x->shape);
    if (noe_elem_is_float((int)to)) {
        double *v = noe_call_f64(c, x);
        noe_run_store_f64(y, v, saturate);
    } else if (noe_elem_is_float((int)x->elem)) {
        double *v = noe_call_f64(c, x);
        int64_t *w = NOE_ZEROS(c, int64_t, x->n);
        for (int64_t i = 0; i < x->n; i++)
            w[i] = truncate_to_int(v[i], to);
        noe_run_store_i64(y, w);
    } else {
        noe_run_store_i64(y, noe_call_i64(c, x));
    }
    return NOE_OK;
}

/* Before opset 6 `to` was the name of the type. */
static noe_status run_cast(noe_call *c)
{
    int64_t to = noe_call_int(c, "to", 0);
    const char *name = noe_call_string(c, "to", NULL);
    for (int i = 1; name && i < NOE_ELEM_COUNT; i++) {
        if (strcasecmp(noe_elem_get(i)->name, name) == 0)
            to = i;
    }
    if (to <= 0 || to >= NOE_ELEM_COUNT)
        return noe_call_unsupported(c, "to element type %lld is not possible",
                                    (long long)to);
    return cast(c, c->in[0], (noe_elem)to);
}

static noe_status run_cast_like(noe_call *c)
{
    return cast(c, c->in[0], c->in[1]->elem);
}

/* The same bits as another type of the same width. */
static noe_status run_bit_cast(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t to = noe_call_int(c, "to", 0);
    if (noe_elem_get((int)to)->bits != noe_elem_get((int)x->elem)->bits ||
        noe_elem_get((int)to)->bits == 0)
        return noe_call_unsupported(c, "from %s to element type %lld is not possible",
                                    noe_elem_get((int)x->elem)->name, (long long)to);
    NOE_OUT(y, c, 0, (noe_elem)to, &x->shape);
    memcpy(y->data, x->data, x->bytes);
    return NOE_OK;
}

const noe_operator noe_operators_cast[] = {
    {"Cast", run_cast, 1, NULL, 0},
    {"CastLike", run_cast_like, 2, NULL, 0},
    {"BitCast", run_bit_cast, 1, NULL, 0},
    {0},
};
