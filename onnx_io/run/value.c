/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx_io/run/value.h"
#include <math.h>
#include <stdlib.h>

static const noe_elem_info elems[NOE_ELEM_COUNT] = {
#define XX(ID, ONNX, NAME, BYTES, BITS, CLASS) \
    [ONNX] = {NAME, BYTES, BITS, NOE_CLASS_##CLASS},
    NOE_ELEM_MAP(XX)
#undef XX
};

const noe_elem_info *noe_elem_get(int elem)
{
    return &elems[elem > 0 && elem < NOE_ELEM_COUNT ? elem : NOE_ELEM_NONE];
}

/* ---- dimensions ---- */

bool noe_dims_eq(const noe_dims *a, const noe_dims *b)
{
    return a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

int64_t noe_dims_count(const noe_dims *d, int from, int to)
{
    int64_t n = 1;
    bool is_large = false;
    for (int i = from; i < to; i++) {
        if (d->dim[i] == 0)
            return 0;
        is_large = is_large || __builtin_mul_overflow(n, d->dim[i], &n);
    }
    return is_large ? INT64_MAX : n;
}

bool noe_dims_broadcast(noe_dims *a, const noe_dims *b)
{
    noe_dims out = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < out.rank; i++) {
        int ia = i - (out.rank - a->rank), ib = i - (out.rank - b->rank);
        int64_t x = ia < 0 ? 1 : a->dim[ia], y = ib < 0 ? 1 : b->dim[ib];
        if (x != y && x != 1 && y != 1)
            return false;
        out.dim[i] = x == 1 ? y : x;
    }
    *a = out;
    return true;
}

void noe_dims_print(noe_buf *b, const noe_dims *d)
{
    noe_buf_puts(b, "[");
    for (int i = 0; i < d->rank; i++)
        noe_buf_printf(b, "%s%lld", i ? "," : "", (long long)d->dim[i]);
    noe_buf_puts(b, "]");
}

/* ---- values ---- */

noe_run_value *noe_run_tensor_new(noe_elem elem, const noe_dims *shape,
                                  size_t max_bytes)
{
    size_t bytes = (size_t)noe_elem_get(elem)->bytes;
    bool is_empty = false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0)
            return NULL;
        is_empty = is_empty || shape->dim[i] == 0;
    }
    for (int i = 0; i < shape->rank && !is_empty; i++) {
        if (!noe_mul_size(bytes, (size_t)shape->dim[i], &bytes) || bytes > max_bytes)
            return NULL;
    }
    noe_run_value *v = noe_calloc(1, sizeof *v);
    *v = (noe_run_value){.refs = 1,
                         .form = NOE_FORM_TENSOR,
                         .elem = elem,
                         .shape = *shape,
                         .n = is_empty ? 0 : noe_dims_count(shape, 0, shape->rank),
                         .bytes = is_empty ? 0 : bytes};
    v->data = noe_calloc(v->bytes + 1, 1);
    return v;
}

noe_run_value *noe_run_sequence_new(int64_t n)
{
    noe_run_value *v = noe_calloc(1, sizeof *v);
    *v = (noe_run_value){.refs = 1, .form = NOE_FORM_SEQUENCE, .n = n};
    v->items = noe_calloc((size_t)n + 1, sizeof *v->items);
    return v;
}

noe_run_value *noe_run_empty_new(void)
{
    noe_run_value *v = noe_calloc(1, sizeof *v);
    *v = (noe_run_value){.refs = 1, .form = NOE_FORM_EMPTY};
    return v;
}

noe_run_value *noe_run_value_ref(const noe_run_value *v)
{
    noe_run_value *same = (noe_run_value *)v;
    if (same)
        same->refs++;
    return same;
}

/* Sequences hold tensors and, in principle, sequences: nesting is as deep as types in
 * the model are written, which the reader bounds. */
void noe_run_value_release(noe_run_value *v)
{
    if (!v || --v->refs > 0)
        return;
    for (int64_t i = 0; v->form == NOE_FORM_SEQUENCE && i < v->n; i++)
        noe_run_value_release(v->items[i]);
    for (int64_t i = 0; v->elem == NOE_ELEM_STRING && i < v->n; i++)
        free(v->text[i]);
    free(v->data);
    free(v);
}

const char *noe_run_text(const noe_run_value *v, int64_t i)
{
    return v->text[i] ? v->text[i] : "";
}

/* ---- small floats ---- */

typedef enum special {
    SPECIAL_IEEE, /* infinity and NaN at the top exponent */
    SPECIAL_FN,   /* all ones is NaN, no infinity */
    SPECIAL_FNUZ, /* minus zero is NaN, no infinity */
    SPECIAL_NONE, /* neither */
} special;

typedef struct float_format {
    int mantissa, bias, exponent; /* bits, bias, bits */
    special special;
} float_format;

static const float_format *format_of(noe_elem elem)
{
    static const float_format f16 = {10, 15, 5, SPECIAL_IEEE},
                              bf16 = {7, 127, 8, SPECIAL_IEEE},
                              e4m3fn = {3, 7, 4, SPECIAL_FN},
                              e4m3fnuz = {3, 8, 4, SPECIAL_FNUZ},
                              e5m2 = {2, 15, 5, SPECIAL_IEEE},
                              e5m2fnuz = {2, 16, 5, SPECIAL_FNUZ},
                              e2m1 = {1, 1, 2, SPECIAL_NONE};
    switch ((int)elem) {
    case NOE_ELEM_F16:
        return &f16;
    case NOE_ELEM_BF16:
        return &bf16;
    case NOE_ELEM_E4M3FN:
        return &e4m3fn;
    case NOE_ELEM_E4M3FNUZ:
        return &e4m3fnuz;
    case NOE_ELEM_E5M2:
        return &e5m2;
    case NOE_ELEM_E5M2FNUZ:
        return &e5m2fnuz;
    case NOE_ELEM_E2M1:
        return &e2m1;
    default:
        return NULL;
    }
}

static unsigned nan_bits(const float_format *f)
{
    unsigned ones = (1U << (f->mantissa + f->exponent)) - 1;
    switch (f->special) {
    case SPECIAL_IEEE:
        return ones & ~((1U << (f->mantissa - 1)) - 1);
    case SPECIAL_FN:
        return ones;
    case SPECIAL_FNUZ:
        return ones + 1;
    case SPECIAL_NONE:
        break;
    }
    return ones + 1; /* a format without NaN: minus zero */
}

static double decode(const float_format *f, unsigned bits)
{
    unsigned ones = (1U << (f->mantissa + f->exponent)) - 1;
    unsigned magnitude = bits & ones, top = (1U << f->exponent) - 1;
    unsigned e = magnitude >> f->mantissa, m = magnitude & ((1U << f->mantissa) - 1);
    double sign = bits > ones ? -1 : 1;
    if (f->special == SPECIAL_IEEE && e == top)
        return m ? NAN : sign * INFINITY;
    if ((f->special == SPECIAL_FN && magnitude == ones) ||
        (f->special == SPECIAL_FNUZ && bits == ones + 1))
        return NAN;
    if (e == 0)
        return sign * ldexp(m, 1 - f->bias - f->mantissa);
    return sign * ldexp(m + (1U << f->mantissa), (int)e - f->bias - f->mantissa);
}

/* Bits of the largest finite number. */
static unsigned max_bits(const float_format *f)
{
    unsigned ones = (1U << (f->mantissa + f->exponent)) - 1;
    if (f->special == SPECIAL_IEEE)
        return ones - (1U << f->mantissa);
    return f->special == SPECIAL_FN ? ones - 1 : ones;
}

static unsigned overflow_bits(const float_format *f, bool saturate)
{
    if (saturate || f->special == SPECIAL_NONE)
        return max_bits(f);
    return f->special == SPECIAL_IEEE ? max_bits(f) + 1 : nan_bits(f);
}

/* The nearest number, ties to even. Rounding to a multiple of the last place is exact
 * in double. */
static unsigned encode(const float_format *f, double x, bool saturate)
{
    unsigned sign = signbit(x) ? 1U << (f->mantissa + f->exponent) : 0;
    int e;
    if (isnan(x))
        return nan_bits(f);
    if (isinf(x) && (f->special != SPECIAL_FNUZ || saturate))
        return overflow_bits(f, saturate) | sign;
    if (isinf(x))
        return nan_bits(f);
    frexp(x, &e);
    int least = 1 - f->bias;
    int place = (e - 1 < least ? least : e - 1) - f->mantissa;
    double steps = nearbyint(ldexp(fabs(x), -place));
    unsigned bits = (unsigned)steps;
    if (steps >= (1U << f->mantissa)) {
        /* steps may have been rounded up to the next power of two */
        unsigned carry = bits >> (f->mantissa + 1);
        bits = (bits >> carry) - (1U << f->mantissa);
        int exponent = place + f->mantissa + f->bias + (int)carry;
        if (exponent >= 1 << f->exponent)
            return overflow_bits(f, saturate) | sign;
        bits |= (unsigned)exponent << f->mantissa;
    }
    if (bits > max_bits(f)) {
        bits = overflow_bits(f, saturate);
        return f->special == SPECIAL_FNUZ && !saturate ? bits : bits | sign;
    }
    return f->special == SPECIAL_FNUZ && bits == 0 ? 0 : bits | sign;
}

/* Powers of two, no sign: 255 is NaN. Rounding is up, as in the microscaling formats.
 */
static unsigned encode_e8m0(double x)
{
    int e;
    if (isnan(x))
        return 255;
    double m = frexp(fabs(x), &e);
    if (x == 0 || e - 1 < -127)
        return 0;
    int power = m == 0.5 ? e - 1 : e;
    return isinf(x) || power > 127 ? 254 : (unsigned)(power + 127);
}

/* ---- carriers ---- */

double noe_run_round(noe_elem elem, double x, bool saturate)
{
    const float_format *f = format_of(elem);
    if (elem == NOE_ELEM_F32)
        return (double)(float)x;
    if (elem == NOE_ELEM_E8M0)
        return ldexp(1, (int)encode_e8m0(x) - 127);
    return f ? decode(f, encode(f, x, saturate)) : x;
}

int64_t noe_run_wrap(noe_elem elem, int64_t x)
{
    int bits = elem == NOE_ELEM_BOOL ? 1 : noe_elem_get(elem)->bits;
    if (elem == NOE_ELEM_BOOL)
        return x != 0;
    if (bits >= 64)
        return x;
    uint64_t low = (uint64_t)x & (((uint64_t)1 << bits) - 1);
    bool is_negative =
        noe_elem_get(elem)->class == NOE_CLASS_SIGNED && (low >> (bits - 1)) != 0;
    return is_negative ? (int64_t)(low | ~(((uint64_t)1 << bits) - 1)) : (int64_t)low;
}

void noe_run_load_i64(const noe_run_value *v, int64_t *to)
{
#define LOAD(TYPE)                     \
    for (int64_t i = 0; i < v->n; i++) \
        to[i] = ((const TYPE *)v->data)[i];
    switch ((int)v->elem) {
    case NOE_ELEM_I64:
    case NOE_ELEM_U64:
        memcpy(to, v->data, v->bytes);
        break;
    case NOE_ELEM_I32:
        LOAD(int32_t)
        break;
    case NOE_ELEM_U32:
        LOAD(uint32_t)
        break;
    case NOE_ELEM_I16:
        LOAD(int16_t)
        break;
    case NOE_ELEM_U16:
        LOAD(uint16_t)
        break;
    case NOE_ELEM_I8:
    case NOE_ELEM_I4:
    case NOE_ELEM_I2:
        LOAD(int8_t)
        break;
    case NOE_ELEM_BOOL:
    case NOE_ELEM_U8:
    case NOE_ELEM_U4:
    case NOE_ELEM_U2:
        LOAD(uint8_t)
        break;
    default:
        NOE_ASSERT(false);
    }
#undef LOAD
}

static void load_integers(const noe_run_value *v, double *to)
{
    int64_t *wide = noe_malloc((size_t)v->n * sizeof *wide + 1);
    noe_run_load_i64(v, wide);
    for (int64_t i = 0; i < v->n; i++)
        to[i] = v->elem == NOE_ELEM_U64 ? (double)(uint64_t)wide[i] : (double)wide[i];
    free(wide);
}

static void load_small(const noe_run_value *v, double *to)
{
    const float_format *f = format_of(v->elem);
    for (int64_t i = 0; i < v->n; i++) {
        unsigned bits = noe_elem_get(v->elem)->bytes == 2
                            ? ((const uint16_t *)v->data)[i]
                            : ((const uint8_t *)v->data)[i];
        if (f)
            to[i] = decode(f, bits);
        else
            to[i] = bits == 255 ? (double)NAN : ldexp(1, (int)bits - 127); /* e8m0 */
    }
}

void noe_run_load_f64(const noe_run_value *v, double *to)
{
    if (noe_elem_is_integer(v->elem)) {
        load_integers(v, to);
    } else if (v->elem == NOE_ELEM_F64) {
        memcpy(to, v->data, v->bytes);
    } else if (v->elem == NOE_ELEM_F32) {
        for (int64_t i = 0; i < v->n; i++)
            to[i] = (double)((const float *)v->data)[i];
    } else {
        load_small(v, to);
    }
}

void noe_run_store_f64(noe_run_value *v, const double *from, bool saturate)
{
    const float_format *f = format_of(v->elem);
    if (v->elem == NOE_ELEM_F64)
        memcpy(v->data, from, v->bytes);
    for (int64_t i = 0; v->elem == NOE_ELEM_F32 && i < v->n; i++)
        ((float *)v->data)[i] = (float)from[i];
    for (int64_t i = 0; v->elem == NOE_ELEM_E8M0 && i < v->n; i++)
        ((uint8_t *)v->data)[i] = (uint8_t)encode_e8m0(from[i]);
    for (int64_t i = 0; f && i < v->n; i++) {
        unsigned bits = encode(f, from[i], saturate);
        if (noe_elem_get(v->elem)->bytes == 2)
            ((uint16_t *)v->data)[i] = (uint16_t)bits;
        else
            ((uint8_t *)v->data)[i] = (uint8_t)bits;
    }
}

void noe_run_store_i64(noe_run_value *v, const int64_t *from)
{
    size_t width = (size_t)noe_elem_get(v->elem)->bytes;
    for (int64_t i = 0; i < v->n; i++) {
        /* the low bytes: all machines that this runs on are little-endian */
        int64_t x = noe_run_wrap(v->elem, from[i]);
        memcpy((char *)v->data + (size_t)i * width, &x, width);
    }
}
