/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types and shapes; see type.h. All element type facts come from NOE_DTYPE_MAP.
 */
#include "core/type.h"

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

bool noe_dtype_is_computed(noe_dtype d)
{
    return d == NOE_F32 || d == NOE_BOOL;
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
