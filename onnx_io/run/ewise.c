/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of several values with broadcasting: arithmetic, comparisons, logic.
 */
#include "onnx_io/run/call.h"
#include <math.h>

/* Each form may be missing: the operator is then not defined for such elements. The
 * unsigned form serves 64-bit numbers where it differs from the signed one. */
typedef struct binary {
    double (*real)(double a, double b);
    int64_t (*integer)(int64_t a, int64_t b);
    int64_t (*wide)(uint64_t a, uint64_t b);
    bool is_predicate; /* makes bool */
} binary;

#define REAL(NAME, EXPR)                          \
    static double real_##NAME(double a, double b) \
    {                                             \
        return EXPR;                              \
    }
#define INTEGER(NAME, EXPR)                             \
    static int64_t integer_##NAME(int64_t a, int64_t b) \
    {                                                   \
        return EXPR;                                    \
    }
#define WIDE(NAME, EXPR)                               \
    static int64_t wide_##NAME(uint64_t a, uint64_t b) \
    {                                                  \
        return (int64_t)(EXPR);                        \
    }

static double nan_or(double a, double b, double otherwise)
{
    return isnan(a) ? a : isnan(b) ? b : otherwise;
}

REAL(add, a + b)
REAL(sub, a - b)
REAL(mul, a *b)
REAL(div, a / b)
REAL(pow, pow(a, b))
REAL(max, nan_or(a, b, a > b ? a : b))
REAL(min, nan_or(a, b, a < b ? a : b))
REAL(fmod, fmod(a, b))
REAL(equal, a == b)
REAL(less, a < b)
REAL(less_equal, a <= b)
REAL(greater, a > b)
REAL(greater_equal, a >= b)
REAL(prelu, a < 0 ? a * b : a)
INTEGER(add, (int64_t)((uint64_t)a + (uint64_t)b))
INTEGER(sub, (int64_t)((uint64_t)a - (uint64_t)b))
INTEGER(mul, (int64_t)((uint64_t)a *(uint64_t)b))
/* The caller has refused b = 0; the lowest number by -1 wraps to itself. */
INTEGER(div, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
INTEGER(fmod, b == -1 ? 0 : a % b)
INTEGER(mod, b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0))
INTEGER(max, a > b ? a : b)
INTEGER(min, a < b ? a : b)
INTEGER(equal, a == b)
INTEGER(less, a < b)
INTEGER(less_equal, a <= b)
INTEGER(greater, a > b)
INTEGER(greater_equal, a >= b)
INTEGER(prelu, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
INTEGER(and, a &&b)
INTEGER(or, a || b)
INTEGER(xor, !a != !b)
INTEGER(bit_and, a &b)
INTEGER(bit_or, a | b)
INTEGER(bit_xor, a ^ b)
INTEGER(shift_left, b<0 || b> 63 ? 0 : (int64_t)((uint64_t)a << b))
INTEGER(shift_right, b<0 || b> 63 ? 0 : (int64_t)((uint64_t)a >> b))
WIDE(div, a / b)
WIDE(mod, a % b)
WIDE(max, a > b ? a : b)
WIDE(min, a < b ? a : b)
WIDE(less, a < b)
WIDE(less_equal, a <= b)
WIDE(greater, a > b)
WIDE(greater_equal, a >= b)

/* Powers of integers by squaring: exact, wrapping as multiplication does. */
static int64_t integer_pow(int64_t a, int64_t b)
{
    uint64_t result = 1, base = (uint64_t)a;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b >>= 1) {
        if (b & 1)
            result *= base;
        base *= base;
    }
    return (int64_t)result;
}

/* ---- shapes ---- */

static noe_status fail_broadcast(noe_call *c, const noe_dims *a, const noe_dims *b)
{
    noe_buf t = {0};
    noe_dims_print(&t, a);
    noe_buf_puts(&t, " and ");
    noe_dims_print(&t, b);
    noe_status status = noe_call_fail(c, "shapes %s do not broadcast", t.text);
    noe_buf_clear(&t);
    return status;
}

/* Before opset 7 only the second operand was broadcast, from `axis` on if `broadcast`
 * was set: then its shape gets ones behind. */
static noe_run_value legacy_operand(const noe_call *c)
{
    noe_run_value b = *c->in[1];
    const noe_dims *to = &c->in[0]->shape;
    int64_t axis = noe_call_int(c, "axis", to->rank - b.shape.rank);
    axis += axis < 0 ? to->rank : 0;
    while (axis >= 0 && b.shape.rank + axis < to->rank)
        b.shape.dim[b.shape.rank++] = 1;
    return b;
}

/* PRelu's slope of one number a channel stands for the channel axis in old models and
 * is broadcast from behind otherwise. */
static noe_status common_shape(noe_call *c, const noe_run_value *a,
                               const noe_run_value *b, noe_dims *shape)
{
    *shape = a->shape;
    if (!noe_dims_broadcast(shape, &b->shape))
        return fail_broadcast(c, &a->shape, &b->shape);
    return NOE_OK;
}

/* ---- two operands ---- */

static noe_status binary_real(noe_call *c, const binary *f, const noe_run_value *a,
                              const noe_run_value *b, const noe_dims *shape)
{
    double *x = noe_call_f64_as(c, a, shape), *y = noe_call_f64_as(c, b, shape);
    NOE_OUT(out, c, 0, f->is_predicate ? NOE_ELEM_BOOL : a->elem, shape);
    for (int64_t i = 0; i < out->n; i++) {
        x[i] = f->real(x[i], y[i]);
        if (f->is_predicate)
            ((uint8_t *)out->data)[i] = x[i] != 0;
    }
    if (!f->is_predicate)
        noe_run_store_f64(out, x, false);
    return NOE_OK;
}

static bool divides(const binary *f)
{
    return f->integer == integer_div || f->integer == integer_mod ||
           f->integer == integer_fmod;
}

static noe_status binary_integer(noe_call *c, const binary *f, const noe_run_value *a,
                                 const noe_run_value *b, const noe_dims *shape)
{
    int64_t *x = noe_call_i64_as(c, a, shape), *y = noe_call_i64_as(c, b, shape);
    bool is_wide = f->wide && a->elem == NOE_ELEM_U64;
    NOE_OUT(out, c, 0, f->is_predicate ? NOE_ELEM_BOOL : a->elem, shape);
    for (int64_t i = 0; i < out->n; i++) {
        if (y[i] == 0 && divides(f))
            return noe_call_fail(c, "integer division by zero at element %lld",
                                 (long long)i);
        x[i] =
            is_wide ? f->wide((uint64_t)x[i], (uint64_t)y[i]) : f->integer(x[i], y[i]);
    }
    noe_run_store_i64(out, x);
    return NOE_OK;
}

static noe_status apply(noe_call *c, const binary *f, const noe_run_value *a,
                        const noe_run_value *b)
{
    noe_dims shape;
    NOE_TRY(common_shape(c, a, b, &shape));
    if (a->elem != b->elem)
        return noe_call_fail(c, "element types %s and %s differ",
                             noe_elem_get((int)a->elem)->name,
                             noe_elem_get((int)b->elem)->name);
    if (noe_elem_is_float((int)a->elem) && f->real)
        return binary_real(c, f, a, b, &shape);
    if (noe_elem_is_integer((int)a->elem) && f->integer)
        return binary_integer(c, f, a, b, &shape);
    return noe_call_bad_type(c);
}

static noe_status run_binary(noe_call *c)
{
    noe_run_value legacy;
    const noe_run_value *b = c->in[1];
    if (c->opset < 7 && noe_call_int(c, "broadcast", 0)) {
        legacy = legacy_operand(c);
        b = &legacy;
    }
    return apply(c, c->op->how, c->in[0], b);
}

static noe_status equal_strings(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[1];
    noe_dims shape;
    NOE_TRY(common_shape(c, a, b, &shape));
    int64_t *ia = noe_call_spread(c, &a->shape, &shape);
    int64_t *ib = noe_call_spread(c, &b->shape, &shape);
    NOE_OUT(out, c, 0, NOE_ELEM_BOOL, &shape);
    for (int64_t i = 0; i < out->n; i++)
        ((uint8_t *)out->data)[i] =
            strcmp(noe_run_text(a, ia[i]), noe_run_text(b, ib[i])) == 0;
    return NOE_OK;
}

static noe_status run_equal(noe_call *c)
{
    if (c->in[0]->elem == NOE_ELEM_STRING && c->in[1]->elem == NOE_ELEM_STRING)
        return equal_strings(c);
    return run_binary(c);
}

static noe_status run_string_concat(noe_call *c)
{
    const noe_run_value *a = c->in[0], *b = c->in[1];
    noe_dims shape;
    if (a->elem != NOE_ELEM_STRING || b->elem != NOE_ELEM_STRING)
        return noe_call_bad_type(c);
    NOE_TRY(common_shape(c, a, b, &shape));
    int64_t *ia = noe_call_spread(c, &a->shape, &shape);
    int64_t *ib = noe_call_spread(c, &b->shape, &shape);
    NOE_OUT(out, c, 0, NOE_ELEM_STRING, &shape);
    for (int64_t i = 0; i < out->n; i++) {
        noe_buf t = {0};
        noe_buf_puts(&t, noe_run_text(a, ia[i]));
        noe_buf_puts(&t, noe_run_text(b, ib[i]));
        out->text[i] = t.text;
    }
    return NOE_OK;
}

static noe_status run_shift(noe_call *c)
{
    static const binary left = {.integer = integer_shift_left},
                        right = {.integer = integer_shift_right};
    const char *direction = noe_call_string(c, "direction", "");
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        return noe_call_fail(c, "direction is '%s', want LEFT or RIGHT", direction);
    return apply(c, *direction == 'L' ? &left : &right, c->in[0], c->in[1]);
}

static noe_status run_mod(noe_call *c)
{
    static const binary floored = {.integer = integer_mod, .wide = wide_mod},
                        truncated = {.real = real_fmod,
                                     .integer = integer_fmod,
                                     .wide = wide_mod};
    return apply(c, noe_call_int(c, "fmod", 0) ? &truncated : &floored, c->in[0],
                 c->in[1]);
}

/* The exponent may have another type; the result has the base's. */
static noe_status run_pow(noe_call *c)
{
    static const binary same = {.real = real_pow, .integer = integer_pow};
    const noe_run_value *a = c->in[0], *b = c->in[1];
    noe_run_value legacy;
    if (c->opset < 7 && noe_call_int(c, "broadcast", 0)) {
        legacy = legacy_operand(c);
        b = &legacy;
    }
    if (a->elem == b->elem)
        return apply(c, &same, a, b);
    noe_dims shape;
    NOE_TRY(common_shape(c, a, b, &shape));
    if (noe_elem_is_integer((int)a->elem) && noe_elem_is_integer((int)b->elem))
        return binary_integer(c, &same, a, b, &shape);
    if (noe_elem_is_float((int)a->elem))
        return binary_real(c, &same, a, b, &shape);
    double *x = noe_call_f64_as(c, a, &shape), *y = noe_call_f64_as(c, b, &shape);
    NOE_OUT(out, c, 0, a->elem, &shape);
    int64_t *z = NOE_ZEROS(c, int64_t, out->n);
    for (int64_t i = 0; i < out->n; i++) {
        double power = pow(x[i], y[i]);
        z[i] = fabs(power) < 0x1p63 ? (int64_t)power : INT64_MIN;
    }
    noe_run_store_i64(out, z);
    return NOE_OK;
}

/* The slope is broadcast to x, and only so. */
static noe_status run_prelu(noe_call *c)
{
    static const binary prelu = {.real = real_prelu, .integer = integer_prelu};
    noe_run_value slope = *c->in[1];
    if (c->opset < 7 && slope.shape.rank == 1 && c->in[0]->shape.rank > 2) {
        for (int i = 2; i < c->in[0]->shape.rank; i++)
            slope.shape.dim[slope.shape.rank++] = 1;
    }
    return apply(c, &prelu, c->in[0], &slope);
}

/* ---- any number of operands ---- */

static noe_status fold(noe_call *c, const binary *f)
{
    noe_call_pass(c, 0, c->in[0]);
    for (int i = 1; i < c->n_in; i++) {
        noe_run_value *before = noe_run_value_ref(c->out[0]);
        noe_status status = c->in[i] ? apply(c, f, before, c->in[i])
                                     : noe_call_fail(c, "input %d is missing", i);
        noe_run_value_release(before);
        NOE_TRY(status);
    }
    return NOE_OK;
}

static noe_status run_fold(noe_call *c)
{
    return fold(c, c->op->how);
}

/* Sums are kept in the carrier, so that they are rounded once. */
static noe_status run_sum(noe_call *c)
{
    bool is_mean = strcmp(c->node->op_type, "Mean") == 0;
    noe_dims shape = c->in[0]->shape;
    for (int i = 0; i < c->n_in; i++) {
        if (!c->in[i] || !noe_elem_is_float((int)c->in[i]->elem))
            return noe_call_bad_type(c);
        if (!noe_dims_broadcast(&shape, &c->in[i]->shape))
            return fail_broadcast(c, &shape, &c->in[i]->shape);
    }
    NOE_OUT(y, c, 0, c->in[0]->elem, &shape);
    double *total = NOE_ZEROS(c, double, y->n);
    for (int i = 0; i < c->n_in; i++) {
        const double *x = noe_call_f64_as(c, c->in[i], &shape);
        for (int64_t k = 0; k < y->n; k++)
            total[k] = i ? total[k] + x[k] : x[k];
    }
    for (int64_t k = 0; k < y->n && is_mean; k++)
        total[k] /= c->n_in;
    noe_run_store_f64(y, total, false);
    return NOE_OK;
}

/* ---- three operands ---- */

/* A bound that is absent, an input (since opset 11) or an attribute. */
static noe_status clip_bound(noe_call *c, int input, const char *name,
                             const noe_run_value **bound, bool *has, double *number)
{
    *bound = noe_call_in(c, input);
    *has = *bound || noe_call_attr(c, name);
    *number = noe_call_float(c, name, 0);
    if (*bound && ((*bound)->n != 1 || (*bound)->elem != c->in[0]->elem))
        return noe_call_fail(c, "%s is not one number of the input's type", name);
    return NOE_OK;
}

static noe_status run_clip(noe_call *c)
{
    const noe_run_value *x = c->in[0], *lo, *hi;
    bool has_lo, has_hi;
    double low, high;
    NOE_TRY(clip_bound(c, 1, "min", &lo, &has_lo, &low));
    NOE_TRY(clip_bound(c, 2, "max", &hi, &has_hi, &high));
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    if (noe_elem_is_float((int)x->elem)) {
        double *v = noe_call_f64(c, x);
        low = lo ? noe_call_f64(c, lo)[0] : low;
        high = hi ? noe_call_f64(c, hi)[0] : high;
        for (int64_t i = 0; i < x->n; i++) {
            v[i] = has_lo ? real_max(v[i], low) : v[i];
            v[i] = has_hi ? real_min(v[i], high) : v[i];
        }
        noe_run_store_f64(y, v, false);
        return NOE_OK;
    }
    if (!noe_elem_is_integer((int)x->elem))
        return noe_call_bad_type(c);
    bool is_wide = x->elem == NOE_ELEM_U64;
    int64_t *v = noe_call_i64(c, x), a = lo ? noe_call_i64(c, lo)[0] : 0,
            b = hi ? noe_call_i64(c, hi)[0] : 0;
    for (int64_t i = 0; i < x->n; i++) {
        if (lo)
            v[i] =
                is_wide ? wide_max((uint64_t)v[i], (uint64_t)a) : integer_max(v[i], a);
        if (hi)
            v[i] =
                is_wide ? wide_min((uint64_t)v[i], (uint64_t)b) : integer_min(v[i], b);
    }
    noe_run_store_i64(y, v);
    return NOE_OK;
}

static noe_status run_where(noe_call *c)
{
    const noe_run_value *test = c->in[0], *a = c->in[1], *b = c->in[2];
    noe_dims shape = test->shape;
    if (!noe_dims_broadcast(&shape, &a->shape) ||
        !noe_dims_broadcast(&shape, &b->shape))
        return noe_call_fail(c, "shapes do not broadcast");
    if (a->elem != b->elem || test->elem != NOE_ELEM_BOOL)
        return noe_call_fail(c, "element types do not fit");
    size_t width = (size_t)noe_elem_get((int)a->elem)->bytes;
    int64_t *it = noe_call_spread(c, &test->shape, &shape);
    int64_t *ia = noe_call_spread(c, &a->shape, &shape);
    int64_t *ib = noe_call_spread(c, &b->shape, &shape);
    NOE_OUT(y, c, 0, a->elem, &shape);
    for (int64_t i = 0; i < y->n; i++) {
        bool holds = ((const uint8_t *)test->data)[it[i]] != 0;
        const noe_run_value *from = holds ? a : b;
        int64_t at = holds ? ia[i] : ib[i];
        if (a->elem == NOE_ELEM_STRING)
            y->text[i] = noe_strdup(noe_run_text(from, at));
        else
            memcpy((char *)y->data + (size_t)i * width,
                   (const char *)from->data + (size_t)at * width, width);
    }
    return NOE_OK;
}

#define HOW(...)    \
    &(const binary) \
    {               \
        __VA_ARGS__ \
    }
#define ARITHMETIC(NAME, F)                                                   \
    {                                                                         \
        NAME, run_binary, 2, HOW(.real = real_##F, .integer = integer_##F), 0 \
    }
#define PREDICATE(NAME, F)                                                  \
    {                                                                       \
        NAME, run_binary, 2,                                                \
            HOW(.real = real_##F, .integer = integer_##F, .wide = wide_##F, \
                .is_predicate = true),                                      \
            0                                                               \
    }
#define LOGIC(NAME, F)                                      \
    {                                                       \
        NAME, run_binary, 2, HOW(.integer = integer_##F), 0 \
    }
#define EXTREME(NAME, F)                                                       \
    {                                                                          \
        NAME, run_fold, 1,                                                     \
            HOW(.real = real_##F, .integer = integer_##F, .wide = wide_##F), 0 \
    }

const noe_operator noe_operators_ewise[] = {
    ARITHMETIC("Add", add),
    ARITHMETIC("Sub", sub),
    ARITHMETIC("Mul", mul),
    {"Div", run_binary, 2,
     HOW(.real = real_div, .integer = integer_div, .wide = wide_div), 0},
    {"Equal", run_equal, 2,
     HOW(.real = real_equal, .integer = integer_equal, .is_predicate = true), 0},
    PREDICATE("Less", less),
    PREDICATE("LessOrEqual", less_equal),
    PREDICATE("Greater", greater),
    PREDICATE("GreaterOrEqual", greater_equal),
    LOGIC("And", and),
    LOGIC("Or", or),
    LOGIC("Xor", xor),
    LOGIC("BitwiseAnd", bit_and),
    LOGIC("BitwiseOr", bit_or),
    LOGIC("BitwiseXor", bit_xor),
    EXTREME("Max", max),
    EXTREME("Min", min),
    {"BitShift", run_shift, 2, NULL, 0},
    {"Mod", run_mod, 2, NULL, 0},
    {"Pow", run_pow, 2, NULL, 0},
    {"PRelu", run_prelu, 2, NULL, 0},
    {"Sum", run_sum, 1, NULL, NOE_NEEDS_ALL},
    {"Mean", run_sum, 1, NULL, NOE_NEEDS_ALL},
    {"Clip", run_clip, 1, NULL, 0},
    {"Where", run_where, 3, NULL, 0},
    {"StringConcat", run_string_concat, 2, NULL, 0},
    {0},
};
