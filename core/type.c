/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types and shapes; see type.h. All element type facts come from NOE_DTYPE_MAP.
 */
#include "core/type.h"
#include <math.h>

static const struct {
    const char *name;
    size_t bytes;
    int32_t onnx;
} dtypes[] = {
#define XX(ID, NAME, BYTES, ONNX) [NOE_##ID] = {NAME, BYTES, ONNX},
    NOE_DTYPE_MAP(XX)
#undef XX
};

const char *noe_dtype_name(noe_dtype d)
{
    NOE_ASSERT(d < NOE_DTYPE_COUNT);
    return dtypes[d].name;
}

size_t noe_dtype_bytes(noe_dtype d)
{
    NOE_ASSERT(d < NOE_DTYPE_COUNT);
    return dtypes[d].bytes;
}

bool noe_dtype_is_floating(noe_dtype d)
{
    return d == NOE_F32 || d == NOE_F64 || d == NOE_F16 || d == NOE_BF16;
}

bool noe_dtype_is_computed(noe_dtype d)
{
    return noe_dtype_is_floating(d) || d == NOE_BOOL;
}

/* To `digits` binary digits and multiples of 2^least; both steps are exact but rint,
 * which rounds ties to even. */
static double round_binary(double x, int digits, int least, double largest)
{
    int exponent;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &exponent);
    int unit = exponent - digits > least ? exponent - digits : least;
    double y = ldexp(rint(ldexp(x, -unit)), unit);
    return fabs(y) > largest ? copysign((double)INFINITY, x) : y;
}

double noe_dtype_round(noe_dtype d, double x)
{
    switch (d) {
    case NOE_F16:
        return round_binary(x, 11, -24, 65504);
    case NOE_BF16:
        return round_binary(x, 8, -133, 0x1.FEp127);
    case NOE_F32:
        return (double)(float)x;
    default:
        NOE_ASSERT(d == NOE_F64);
        return x;
    }
}

/* The upper half of f32. */
static double from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
}

static uint16_t to_bf16(double x)
{
    uint32_t wide;
    float y = (float)noe_dtype_round(NOE_BF16, x);
    memcpy(&wide, &y, sizeof wide);
    /* A NaN whose upper half had no digits would be infinite. */
    return (uint16_t)(wide >> 16 | (isnan(y) ? 0x40u : 0));
}

/* Sign, 5 bits of exponent with bias 15, 10 digits; exponent 0 is subnormal. */
static double from_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    double x;
    if (exponent == 31)
        x = digits ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        x = ldexp(digits, -24);
    else
        x = ldexp(1024 + digits, exponent - 25);
    return bits >> 15 ? -x : x;
}

static uint16_t to_f16(double x)
{
    double y = noe_dtype_round(NOE_F16, fabs(x));
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    if (isnan(y))
        return sign | 0x7E00;
    if (isinf(y))
        return sign | 0x7C00;
    if (y < 0x1p-14)
        return sign | (uint16_t)ldexp(y, 24);
    double digits = ldexp(frexp(y, &exponent), 11);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)digits & 1023));
}

void noe_dtype_load(noe_dtype d, const void *from, int64_t n, double *to)
{
    const char *at = from;
    for (int64_t i = 0; i < n; i++, at += noe_dtype_bytes(d)) {
        float single;
        uint16_t half;
        switch (d) {
        case NOE_BOOL:
            to[i] = *at != 0;
            break;
        case NOE_F32:
            memcpy(&single, at, sizeof single);
            to[i] = (double)single;
            break;
        case NOE_F64:
            memcpy(&to[i], at, sizeof to[i]);
            break;
        default:
            NOE_ASSERT(d == NOE_F16 || d == NOE_BF16);
            memcpy(&half, at, sizeof half);
            to[i] = d == NOE_F16 ? from_f16(half) : from_bf16(half);
        }
    }
}

void noe_dtype_store(noe_dtype d, const double *from, int64_t n, void *to)
{
    char *at = to;
    for (int64_t i = 0; i < n; i++, at += noe_dtype_bytes(d)) {
        float single = (float)from[i];
        uint16_t half;
        switch (d) {
        case NOE_BOOL:
            *at = from[i] != 0;
            break;
        case NOE_F32:
            memcpy(at, &single, sizeof single);
            break;
        case NOE_F64:
            memcpy(at, &from[i], sizeof from[i]);
            break;
        default:
            NOE_ASSERT(d == NOE_F16 || d == NOE_BF16);
            half = d == NOE_F16 ? to_f16(from[i]) : to_bf16(from[i]);
            memcpy(at, &half, sizeof half);
        }
    }
}

noe_dtype noe_dtype_from_onnx(int32_t onnx)
{
    for (unsigned d = 0; d < NOE_DTYPE_COUNT; d++) {
        if (dtypes[d].onnx == onnx)
            return (noe_dtype)d;
    }
    return NOE_UNKNOWN;
}

int32_t noe_dtype_to_onnx(noe_dtype d)
{
    NOE_ASSERT(d < NOE_DTYPE_COUNT);
    return dtypes[d].onnx;
}

bool noe_dtype_from_name(const char *name, size_t len, noe_dtype *d)
{
    for (unsigned i = 0; i < NOE_DTYPE_COUNT; i++) {
        if (strlen(dtypes[i].name) == len && memcmp(dtypes[i].name, name, len) == 0) {
            *d = (noe_dtype)i;
            return true;
        }
    }
    return false;
}

noe_shape noe_shape_make(int rank, const int64_t *dim)
{
    NOE_ASSERT(rank >= 0 && rank <= NOE_MAX_RANK);
    noe_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

bool noe_shape_eq(const noe_shape *a, const noe_shape *b)
{
    if (a->rank == NOE_RANK_UNKNOWN || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] == NOE_DIM_UNKNOWN || a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

bool noe_shape_is_static(const noe_shape *s)
{
    if (s->rank == NOE_RANK_UNKNOWN)
        return false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0)
            return false;
    }
    return true;
}

int64_t noe_shape_elements(const noe_shape *s)
{
    if (!noe_shape_is_static(s))
        return -1;
    /* A zero anywhere wins over an overflow elsewhere. */
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == 0)
            return 0;
    }
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > NOE_MAX_ELEMENTS / n)
            return -1;
        n *= s->dim[i];
    }
    return n;
}

bool noe_shape_broadcast(const noe_shape *a, const noe_shape *b, noe_shape *out)
{
    NOE_ASSERT(noe_shape_is_static(a) && noe_shape_is_static(b));
    noe_shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < s.rank; i++) {
        int ia = i - (s.rank - a->rank), ib = i - (s.rank - b->rank);
        int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1)
            return false;
        s.dim[i] = da == 1 ? db : da;
    }
    *out = s;
    return true;
}

static void print_dim(noe_buf *b, int64_t dim)
{
    if (dim >= 0)
        noe_buf_printf(b, "%lld", (long long)dim);
    else if (dim == NOE_DIM_UNKNOWN)
        noe_buf_puts(b, "?");
    else
        noe_buf_printf(b, "s%lld", (long long)(NOE_DIM_UNKNOWN - dim));
}

void noe_shape_print(noe_buf *b, const noe_shape *s)
{
    if (s->rank == NOE_RANK_UNKNOWN) {
        noe_buf_puts(b, "?");
        return;
    }
    noe_buf_puts(b, "[");
    for (int i = 0; i < s->rank; i++) {
        if (i)
            noe_buf_puts(b, ",");
        print_dim(b, s->dim[i]);
    }
    noe_buf_puts(b, "]");
}

bool noe_type_eq(const noe_type *a, const noe_type *b)
{
    return a->dtype == b->dtype && noe_shape_eq(&a->shape, &b->shape);
}

void noe_type_print(noe_buf *b, const noe_type *t)
{
    noe_buf_puts(b, noe_dtype_name(t->dtype));
    noe_shape_print(b, &t->shape);
}
