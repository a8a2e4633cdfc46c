/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about operators and parameters, all of them read from ops.def and params.def,
 * and parameter values. Nothing here knows an operator by name.
 */
#include "core/op.h"
#include "core/base/hash.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* PARAMS(...) and TRAITS(...) put the prefixes in front of the short names of a row. */
#define PICK(A, B, C, D, CHOSEN, ...) CHOSEN
#define PREFIX_1(P, A)                P##A
#define PREFIX_2(P, A, B)             P##A, P##B
#define PREFIX_3(P, A, B, C)          P##A, P##B, P##C
#define PREFIX_4(P, A, B, C, D)       P##A, P##B, P##C, P##D
#define PREFIX(P, ...) \
    PICK(__VA_ARGS__, PREFIX_4, PREFIX_3, PREFIX_2, PREFIX_1, )(P, __VA_ARGS__)
#define OR_1(P, A)          P##A
#define OR_2(P, A, B)       P##A | P##B
#define OR_3(P, A, B, C)    P##A | P##B | P##C
#define OR_4(P, A, B, C, D) P##A | P##B | P##C | P##D
#define OR(P, ...)          PICK(__VA_ARGS__, OR_4, OR_3, OR_2, OR_1, )(P, __VA_ARGS__)
#define COUNT(...)          PICK(__VA_ARGS__, 4, 3, 2, 1, )

#define PARAMS(...)                              \
    .params = {PREFIX(NOE_PARAM_, __VA_ARGS__)}, \
    .n_params = COUNT(__VA_ARGS__) - IS_NONE(__VA_ARGS__, )
#define IS_NONE(A, ...) (NOE_PARAM_##A == NOE_PARAM_NONE)
#define TRAITS(...)     .traits = OR(NOE_TRAIT_, __VA_ARGS__)

static const noe_op_info infos[] = {
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) \
    [NOE_OP_##ID] = {.name = #NAME,                                \
                     .onnx = ONNX,                                 \
                     .min_in = MIN_IN,                             \
                     .max_in = MAX_IN,                             \
                     PARAM_LIST,                                   \
                     TRAIT_LIST},
#include "core/ops.def"
    [NOE_OP_INPUT] = {.name = "input"},
    [NOE_OP_WEIGHT] = {.name = "weight"},
    [NOE_OP_OPAQUE] = {.name = "opaque"},
};

static const struct {
    const char *name;
    noe_param_kind kind;
} param_infos[] = {
#define PARAM(ID, NAME, KIND) [NOE_PARAM_##ID] = {NAME, NOE_KIND_##KIND},
#include "core/params.def"
};

const noe_op_info *noe_op_get(noe_op op)
{
    NOE_ASSERT((size_t)op < sizeof infos / sizeof *infos);
    return &infos[op];
}

bool noe_op_has(noe_op op, noe_trait trait)
{
    return noe_op_get(op)->traits & (unsigned)trait;
}

static bool is_name(const char *want, const char *name, size_t len)
{
    return strlen(want) == len && memcmp(want, name, len) == 0;
}

bool noe_op_from_name(const char *name, size_t len, noe_op *op)
{
    for (unsigned i = 0; i < NOE_OP_COUNT; i++) {
        if (is_name(infos[i].name, name, len)) {
            *op = (noe_op)i;
            return true;
        }
    }
    return false;
}

static void print_traits(noe_buf *b, unsigned traits)
{
#define XX(ID)                   \
    if (traits & NOE_TRAIT_##ID) \
        noe_buf_puts(b, " " #ID);
    NOE_TRAIT_MAP(XX)
#undef XX
}

uint64_t noe_op_table_hash(void)
{
    /* By names only: the order of rows and bits is an accident of the build. */
    uint64_t sum = 0;
    for (unsigned op = 0; op < NOE_OP_COUNT; op++) {
        const noe_op_info *info = &infos[op];
        noe_buf b = {0};
        noe_buf_printf(&b, "%s %d %d", info->name, info->min_in, info->max_in);
        for (int i = 0; i < info->n_params; i++)
            noe_buf_printf(&b, " %s:%d", noe_param_name(info->params[i]),
                           (int)noe_param_kind_of(info->params[i]));
        print_traits(&b, info->traits);
        sum += noe_hash64(b.text, b.len, 0);
        noe_buf_clear(&b);
    }
    return sum;
}

const char *noe_param_name(noe_param p)
{
    NOE_ASSERT(p < NOE_PARAM_COUNT);
    return param_infos[p].name;
}

noe_param_kind noe_param_kind_of(noe_param p)
{
    NOE_ASSERT(p < NOE_PARAM_COUNT);
    return param_infos[p].kind;
}

bool noe_param_from_name(const char *name, size_t len, noe_param *p)
{
    for (unsigned i = 0; i < NOE_PARAM_COUNT; i++) {
        if (is_name(param_infos[i].name, name, len)) {
            *p = (noe_param)i;
            return true;
        }
    }
    return false;
}

noe_value noe_value_int(noe_param_kind kind, int64_t i)
{
    NOE_ASSERT(kind == NOE_KIND_INT || kind == NOE_KIND_AXIS);
    return (noe_value){.kind = kind, .i = i};
}

noe_value noe_value_float(double f)
{
    return (noe_value){.kind = NOE_KIND_FLOAT, .f = f};
}

noe_value noe_value_list(noe_param_kind kind, int n, const int64_t *list)
{
    NOE_ASSERT(kind == NOE_KIND_AXES || kind == NOE_KIND_INTS);
    NOE_ASSERT(n >= 0 && n <= NOE_MAX_LIST);
    noe_value v = {.kind = kind, .n = n};
    for (int i = 0; i < n; i++)
        v.list[i] = list[i];
    return v;
}

/* Floats are equal by bits: a NaN equals itself and 0.0 is not -0.0. */
static uint64_t float_bits(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

bool noe_value_eq(const noe_value *a, const noe_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        return a->i == b->i;
    case NOE_KIND_FLOAT:
        return float_bits(a->f) == float_bits(b->f);
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        return a->n == b->n &&
               memcmp(a->list, b->list, (size_t)a->n * sizeof *a->list) == 0;
    }
    return false;
}

/* The shortest of three precisions that reads back; always recognisable as a float. */
static void print_float(noe_buf *b, double f)
{
    char text[40];
    if (!isfinite(f)) {
        noe_buf_puts(b, isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (strtod(text, NULL) == f)
            break;
    }
    noe_buf_puts(b, text);
    if (!strpbrk(text, ".e"))
        noe_buf_puts(b, ".0");
}

void noe_value_print(noe_buf *b, const noe_value *v)
{
    switch (v->kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        noe_buf_printf(b, "%lld", (long long)v->i);
        return;
    case NOE_KIND_FLOAT:
        print_float(b, v->f);
        return;
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        noe_buf_puts(b, "[");
        for (int i = 0; i < v->n; i++)
            noe_buf_printf(b, "%s%lld", i ? "," : "", (long long)v->list[i]);
        noe_buf_puts(b, "]");
        return;
    }
}

/* Place of p in op's row, or -1. */
static int find_param(noe_op op, noe_param p)
{
    const noe_op_info *info = noe_op_get(op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p)
            return i;
    }
    return -1;
}

const noe_value *noe_params_get(noe_op op, const noe_params *params, noe_param p)
{
    int i = find_param(op, p);
    NOE_ASSERT(i >= 0 && params && i < params->n);
    return &params->v[i];
}

void noe_params_set(noe_op op, noe_params *params, noe_param p, const noe_value *v)
{
    int i = find_param(op, p);
    NOE_ASSERT(i >= 0);
    NOE_ASSERT(v->kind == noe_param_kind_of(p));
    params->n = noe_op_get(op)->n_params;
    params->v[i] = *v;
}

static bool default_list(int n, int64_t entry, noe_value *v)
{
    if (n < 0 || n > NOE_MAX_LIST)
        return false;
    *v = (noe_value){.kind = NOE_KIND_INTS, .n = n};
    for (int i = 0; i < n; i++)
        v->list[i] = entry;
    return true;
}

bool noe_param_default(noe_op op, noe_param p, int spatial, noe_value *v)
{
    switch (p) {
    case NOE_PARAM_STRIDES:
    case NOE_PARAM_DILATIONS:
        return default_list(spatial, 1, v);
    case NOE_PARAM_PADS:
        /* Of windows only: how many axes the operator `pad` has is not for us to say.
         */
        return find_param(op, NOE_PARAM_STRIDES) >= 0 && spatial >= 0 &&
               default_list(2 * spatial, 0, v);
    case NOE_PARAM_GROUP:
    case NOE_PARAM_STEP:
    case NOE_PARAM_KEEPDIMS:
        *v = noe_value_int(NOE_KIND_INT, 1);
        return true;
    case NOE_PARAM_APPROXIMATE:
    case NOE_PARAM_COUNT_INCLUDE_PAD:
    case NOE_PARAM_TRANS_A:
    case NOE_PARAM_TRANS_B:
    case NOE_PARAM_MODE:
        *v = noe_value_int(NOE_KIND_INT, 0);
        return true;
    case NOE_PARAM_ALPHA:
    case NOE_PARAM_BETA:
        *v = noe_value_float(1.0);
        return op == NOE_OP_GEMM || op == NOE_OP_SWISH || op == NOE_OP_ELU;
    case NOE_PARAM_MIN:
        *v = noe_value_float(-(double)FLT_MAX);
        return true;
    case NOE_PARAM_MAX:
        *v = noe_value_float((double)FLT_MAX);
        return true;
    case NOE_PARAM_EXPONENT:
        return false;
    case NOE_PARAM_EPSILON:
        *v = noe_value_float((double)1e-5F); /* ONNX attributes are single precision */
        return true;
    case NOE_PARAM_AXIS:
    case NOE_PARAM_AXES:
    case NOE_PARAM_PERM:
    case NOE_PARAM_SHAPE:
    case NOE_PARAM_START:
    case NOE_PARAM_END:
    case NOE_PARAM_KERNEL_SHAPE:
    case NOE_PARAM_TO:
    case NOE_PARAM_VALUE:
    case NOE_PARAM_INDICES:
    case NOE_PARAM_SCALES:
    case NOE_PARAM_NUM_GROUPS:
    case NOE_PARAM_COUNT:
        return false;
    }
    return false;
}

bool noe_params_eq(const noe_params *a, const noe_params *b)
{
    int n_a = a ? a->n : 0, n_b = b ? b->n : 0;
    if (n_a != n_b)
        return false;
    for (int i = 0; i < n_a; i++) {
        if (!noe_value_eq(&a->v[i], &b->v[i]))
            return false;
    }
    return true;
}
