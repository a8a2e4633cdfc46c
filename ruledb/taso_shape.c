/* SPDX-License-Identifier: Apache-2.0
 *
 * What TASO's operators say of ranks, kernels and sizes. Ranks are found by union-find
 * over all values of both sides; kernel sizes are named by the convolutions.
 */
#include "ruledb/taso_internal.h"

#include <stdio.h>
#include <stdlib.h>

bool noe_taso_cannot(noe_taso_reader *r, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    if (!r->fits)
        return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    r->reason = noe_arena_strdup(&r->arena, text);
    r->fits = false;
    return false;
}

const char *noe_taso_op_name(int type)
{
    switch (type) {
#define XX(ID, NUMBER, NAME) \
    case NUMBER:             \
        return NAME;
        NOE_TASO_OP_MAP(XX)
#undef XX
    default:
        return "unknown operator";
    }
}

/* Terms as text */

static bool literal(noe_taso_term t, long *v)
{
    char *end;
    *v = strtol(t, &end, 10);
    return *end == '\0' && end != t;
}

noe_taso_term noe_taso_number(noe_taso_reader *r, long v)
{
    return noe_arena_printf(&r->arena, "%ld", v);
}

noe_taso_term noe_taso_combine(noe_taso_reader *r, noe_taso_term a, char sign,
                               noe_taso_term b)
{
    long x, y;
    if (literal(a, &x) && literal(b, &y)) {
        if (sign == '+')
            return noe_taso_number(r, x + y);
        if (sign == '-')
            return noe_taso_number(r, x - y);
        if (sign == '/' && y)
            return noe_taso_number(r, x / y);
        if (sign == '*')
            return noe_taso_number(r, x * y);
    }
    return noe_arena_printf(&r->arena, "(%s %c %s)", a, sign, b);
}

bool noe_taso_same(noe_taso_term a, noe_taso_term b)
{
    return strcmp(a, b) == 0;
}

void noe_taso_require(noe_buf *conditions, noe_taso_term a, noe_taso_term b)
{
    noe_buf text = {0}, other = {0};
    if (noe_taso_same(a, b))
        return;
    noe_buf_printf(&text, "%s == %s", a, b);
    noe_buf_printf(&other, "%s == %s", b, a);
    const char *there = noe_buf_text(conditions);
    if (!strstr(there, text.text) && !strstr(there, other.text))
        noe_buf_printf(conditions, "%s%s", conditions->len ? " && " : "", text.text);
    noe_buf_clear(&text);
    noe_buf_clear(&other);
}

/* Ranks */

int noe_taso_root_of(noe_taso_reader *r, int v)
{
    while (r->class_of[v] != v)
        v = r->class_of[v];
    return v;
}

static bool set_rank(noe_taso_reader *r, int v, int rank)
{
    int c = noe_taso_root_of(r, v);
    if (r->rank[c] && r->rank[c] != rank)
        return noe_taso_cannot(r, "a value of rank %d and %d", r->rank[c], rank);
    r->rank[c] = rank;
    return true;
}

static bool same_rank(noe_taso_reader *r, int a, int b)
{
    int x = noe_taso_root_of(r, a), y = noe_taso_root_of(r, b);
    if (x == y)
        return true;
    r->class_of[x] = y;
    int rank = r->rank[x];
    return !rank || set_rank(r, y, rank);
}

noe_taso_op *noe_taso_op_of(noe_taso_reader *r, int value)
{
    return value < r->n_vars ? NULL : &r->ops[value - r->n_vars];
}

bool noe_taso_rank_operator(noe_taso_reader *r, int value)
{
    const noe_taso_op *o = noe_taso_op_of(r, value);
    switch (o->type) {
    case NOE_TASO_CONV:
        return set_rank(r, o->in[0], 4) && set_rank(r, o->in[1], 4) &&
               set_rank(r, value, 4);
    case NOE_TASO_POOL_MAX:
    case NOE_TASO_POOL_AVG:
    case NOE_TASO_ENLARGE:
        return set_rank(r, o->in[0], 4) && set_rank(r, value, 4);
    case NOE_TASO_IDENTITY_CONV:
    case NOE_TASO_CONST_POOL:
        return set_rank(r, value, 4);
    case NOE_TASO_IDENTITY_MATRIX:
        return set_rank(r, value, 2);
    case NOE_TASO_MATMUL:
        return set_rank(r, o->in[0], 2) && set_rank(r, o->in[1], 2) &&
               set_rank(r, value, 2);
    case NOE_TASO_TRANSPOSE:
        return set_rank(r, o->in[0], o->para[NOE_TASO_KEY_NUMDIM]) &&
               set_rank(r, value, o->para[NOE_TASO_KEY_NUMDIM]);
    case NOE_TASO_SCALAR_MUL:
        if (o->in[1] >= r->n_vars)
            return noe_taso_cannot(r, "scalar_mul by a value that is no variable");
        r->is_scalar[o->in[1]] = true;
        return same_rank(r, value, o->in[0]);
    default:
        for (int k = 0; k < o->n_in; k++) {
            if (!same_rank(r, value, o->in[k]))
                return false;
        }
        return o->type != NOE_TASO_CONCAT ||
               set_rank(r, value, o->para[NOE_TASO_KEY_NUMDIM]);
    }
}

/* Kernels */

bool noe_taso_set_kernel(noe_taso_reader *r, int value, int h, int w)
{
    noe_taso_op *o = noe_taso_op_of(r, value);
    if (!o) {
        int *k = r->kernel[value];
        if ((k[0] && k[0] != h) || (k[1] && k[1] != w))
            return noe_taso_cannot(r, "a kernel of size %dx%d and %dx%d", k[0], k[1], h,
                                   w);
        k[0] = h;
        k[1] = w;
        return true;
    }
    if (o->kernel[0] == h && o->kernel[1] == w)
        return true;
    o->kernel[0] = h;
    o->kernel[1] = w;
    switch (o->type) {
    case NOE_TASO_IDENTITY_CONV:
    case NOE_TASO_CONST_POOL:
    case NOE_TASO_ENLARGE:
        if (o->para[NOE_TASO_KEY_KERNEL_H] != h || o->para[NOE_TASO_KEY_KERNEL_W] != w)
            return noe_taso_cannot(r, "a kernel of size %dx%d where %dx%d is needed",
                                   o->para[NOE_TASO_KEY_KERNEL_H],
                                   o->para[NOE_TASO_KEY_KERNEL_W], h, w);
        return true;
    case NOE_TASO_ADD:
    case NOE_TASO_MUL:
    case NOE_TASO_CONCAT:
        for (int k = 0; k < o->n_in; k++) {
            if (!noe_taso_set_kernel(r, o->in[k], h, w))
                return false;
        }
        return true;
    case NOE_TASO_POOL_AVG:
    case NOE_TASO_POOL_MAX:
    case NOE_TASO_CONV:
        if (o->para[NOE_TASO_KEY_PAD] == 1 || o->para[NOE_TASO_KEY_STRIDE_H] != 1 ||
            o->para[NOE_TASO_KEY_STRIDE_W] != 1)
            return noe_taso_cannot(r, "%s makes a kernel of unknown size",
                                   noe_taso_op_name(o->type));
        return noe_taso_set_kernel(r, o->in[0], h, w);
    case NOE_TASO_SCALAR_MUL:
    case NOE_TASO_RELU:
    case NOE_TASO_SIGMOID:
    case NOE_TASO_TANH:
    case NOE_TASO_SPLIT:
        return noe_taso_set_kernel(r, o->in[0], h, w);
    default:
        return noe_taso_cannot(r, "%s makes a kernel of unknown size",
                               noe_taso_op_name(o->type));
    }
}
