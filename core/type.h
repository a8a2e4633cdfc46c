/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types and shapes. The algebra computes f32; every other element type is
 * carried, so that rules can say what they hold for and integers are never reals.
 *
 * A dimension >= 0 is a size. A negative one is symbolic: equal negative values in one
 * graph are the same unknown size, NOE_DIM_UNKNOWN equals nothing, not even itself.
 */
#ifndef NOE_CORE_TYPE_H
#define NOE_CORE_TYPE_H

#include "core/base/mem.h"
#include "core/base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define NOE_MAX_RANK     8
#define NOE_RANK_UNKNOWN (-1)
#define NOE_DIM_UNKNOWN  (-1)
/* Elements of one tensor; also bounds every size product (no overflow below it). */
#define NOE_MAX_ELEMENTS ((int64_t)1 << 40)

/* ID, text name, bytes an element (0: not fixed), ONNX TensorProto.DataType number. */
#define NOE_DTYPE_MAP(XX)        \
    XX(UNKNOWN, "unknown", 0, 0) \
    XX(F32, "f32", 4, 1)         \
    XX(U8, "u8", 1, 2)           \
    XX(I8, "i8", 1, 3)           \
    XX(U16, "u16", 2, 4)         \
    XX(I16, "i16", 2, 5)         \
    XX(I32, "i32", 4, 6)         \
    XX(I64, "i64", 8, 7)         \
    XX(STRING, "string", 0, 8)   \
    XX(BOOL, "bool", 1, 9)       \
    XX(F16, "f16", 2, 10)        \
    XX(F64, "f64", 8, 11)        \
    XX(U32, "u32", 4, 12)        \
    XX(U64, "u64", 8, 13)        \
    XX(C64, "c64", 8, 14)        \
    XX(C128, "c128", 16, 15)     \
    XX(BF16, "bf16", 2, 16)

typedef enum noe_dtype {
#define XX(ID, NAME, BYTES, ONNX) NOE_##ID,
    NOE_DTYPE_MAP(XX)
#undef XX
        NOE_DTYPE_COUNT
} noe_dtype;

const char *noe_dtype_name(noe_dtype d);
size_t noe_dtype_bytes(noe_dtype d);
bool noe_dtype_is_floating(noe_dtype d);
/* The algebra has values of it: real numbers, of which each floating-point type has
 * some, and bool, whose values are 0 and 1. Which operators take them:
 * noe_op_computes. */
bool noe_dtype_is_computed(noe_dtype d);
/* x rounded to the nearest number of a floating-point type, ties to even, as IEEE 754
 * and ONNX's Cast do; beyond the largest number it is infinite, NaN stays NaN. */
double noe_dtype_round(noe_dtype d, double x);
/* Numbers stored as d, bool or a floating-point type (native byte order), as doubles,
 * and back; the way back rounds. */
void noe_dtype_load(noe_dtype d, const void *from, int64_t n, double *to);
void noe_dtype_store(noe_dtype d, const double *from, int64_t n, void *to);
noe_dtype noe_dtype_from_onnx(int32_t onnx); /* NOE_UNKNOWN for what we lack */
int32_t noe_dtype_to_onnx(noe_dtype d);
bool noe_dtype_from_name(const char *name, size_t len, noe_dtype *d);

typedef struct noe_shape {
    int rank; /* 0..NOE_MAX_RANK, or NOE_RANK_UNKNOWN */
    int64_t dim[NOE_MAX_RANK];
} noe_shape;

noe_shape noe_shape_make(int rank, const int64_t *dim);
bool noe_shape_eq(const noe_shape *a, const noe_shape *b); /* unknown is never equal */
bool noe_shape_is_static(const noe_shape *s);
/* Product of the dimensions of a static shape, 1 for rank 0; -1 if it is not static or
 * exceeds NOE_MAX_ELEMENTS. */
int64_t noe_shape_elements(const noe_shape *s);
/* NumPy broadcasting of two static shapes; false when they do not fit. */
bool noe_shape_broadcast(const noe_shape *a, const noe_shape *b, noe_shape *out);
/* "[2,3]", "[]", "[2,?]", "?" ; symbolic dims print as s1, s2, ... */
void noe_shape_print(noe_buf *b, const noe_shape *s);

typedef struct noe_type {
    noe_dtype dtype;
    noe_shape shape;
} noe_type;

bool noe_type_eq(const noe_type *a, const noe_type *b);
void noe_type_print(noe_buf *b, const noe_type *t); /* "f32[2,3]" */

#endif
