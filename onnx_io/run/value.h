/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a run: tensors of every ONNX element type in C order, sequences of values,
 * and the empty optional. Values are counted references and never change once a kernel
 * has made them, so that a view (Identity, a branch's result) is the value itself.
 *
 * Kernels compute in one of two carriers: double for all float types, rounded once to
 * the element type when the result is stored (correctly, also to f16, bf16 and the
 * 8-bit types), and int64_t for all integers, wrapped to the type's width; unsigned
 * 64-bit numbers are its bit pattern. Types narrower than a byte take a byte an
 * element.
 */
#ifndef NOE_ONNX_IO_RUN_VALUE_H
#define NOE_ONNX_IO_RUN_VALUE_H

#include "core/base/mem.h"
#include <stdbool.h>
#include <stdint.h>

/* ID, ONNX TensorProto.DataType, text, bytes an element here, bits in a file, class:
 * float, signed, unsigned (bool too), string, or complex (carried only). */
#define NOE_ELEM_MAP(XX)                            \
    XX(NONE, 0, "undefined", 0, 0, NONE)            \
    XX(F32, 1, "float", 4, 32, FLOAT)               \
    XX(U8, 2, "uint8", 1, 8, UNSIGNED)              \
    XX(I8, 3, "int8", 1, 8, SIGNED)                 \
    XX(U16, 4, "uint16", 2, 16, UNSIGNED)           \
    XX(I16, 5, "int16", 2, 16, SIGNED)              \
    XX(I32, 6, "int32", 4, 32, SIGNED)              \
    XX(I64, 7, "int64", 8, 64, SIGNED)              \
    XX(STRING, 8, "string", 8, 0, STRING)           \
    XX(BOOL, 9, "bool", 1, 8, UNSIGNED)             \
    XX(F16, 10, "float16", 2, 16, FLOAT)            \
    XX(F64, 11, "double", 8, 64, FLOAT)             \
    XX(U32, 12, "uint32", 4, 32, UNSIGNED)          \
    XX(U64, 13, "uint64", 8, 64, UNSIGNED)          \
    XX(C64, 14, "complex64", 8, 64, COMPLEX)        \
    XX(C128, 15, "complex128", 16, 128, COMPLEX)    \
    XX(BF16, 16, "bfloat16", 2, 16, FLOAT)          \
    XX(E4M3FN, 17, "float8e4m3fn", 1, 8, FLOAT)     \
    XX(E4M3FNUZ, 18, "float8e4m3fnuz", 1, 8, FLOAT) \
    XX(E5M2, 19, "float8e5m2", 1, 8, FLOAT)         \
    XX(E5M2FNUZ, 20, "float8e5m2fnuz", 1, 8, FLOAT) \
    XX(U4, 21, "uint4", 1, 4, UNSIGNED)             \
    XX(I4, 22, "int4", 1, 4, SIGNED)                \
    XX(E2M1, 23, "float4e2m1", 1, 4, FLOAT)         \
    XX(E8M0, 24, "float8e8m0", 1, 8, FLOAT)         \
    XX(U2, 25, "uint2", 1, 2, UNSIGNED)             \
    XX(I2, 26, "int2", 1, 2, SIGNED)

/* The numbers are ONNX's. */
typedef enum noe_elem {
#define XX(ID, ONNX, NAME, BYTES, BITS, CLASS) NOE_ELEM_##ID = ONNX,
    NOE_ELEM_MAP(XX)
#undef XX
        NOE_ELEM_COUNT
} noe_elem;

typedef enum noe_elem_class {
    NOE_CLASS_NONE,
    NOE_CLASS_FLOAT,
    NOE_CLASS_SIGNED,
    NOE_CLASS_UNSIGNED,
    NOE_CLASS_STRING,
    NOE_CLASS_COMPLEX,
} noe_elem_class;

typedef struct noe_elem_info {
    const char *name;
    int bytes, bits;
    noe_elem_class class;
} noe_elem_info;
/* Of any number: an unknown one has class NONE. */
const noe_elem_info *noe_elem_get(int elem);
static inline bool noe_elem_is_float(int elem)
{
    return noe_elem_get(elem)->class == NOE_CLASS_FLOAT;
}
static inline bool noe_elem_is_integer(int elem) /* bool counts as one */
{
    noe_elem_class class = noe_elem_get(elem)->class;
    return class == NOE_CLASS_SIGNED || class == NOE_CLASS_UNSIGNED;
}

#define NOE_RUN_MAX_RANK 16
typedef struct noe_dims {
    int rank;
    int64_t dim[NOE_RUN_MAX_RANK];
} noe_dims;

bool noe_dims_eq(const noe_dims *a, const noe_dims *b);
/* Elements of axes [from, to); INT64_MAX where they are more than that. */
int64_t noe_dims_count(const noe_dims *d, int from, int to);
/* Combines b into a by NumPy's rule; false if they do not fit. */
bool noe_dims_broadcast(noe_dims *a, const noe_dims *b);
void noe_dims_print(noe_buf *b, const noe_dims *d); /* "[2,3]" */

typedef enum noe_value_form {
    NOE_FORM_TENSOR,
    NOE_FORM_SEQUENCE,
    NOE_FORM_EMPTY, /* the optional that holds nothing */
} noe_value_form;

typedef struct noe_run_value {
    uint32_t refs;
    noe_value_form form;
    noe_elem elem;
    noe_dims shape;
    int64_t n; /* elements, or items of a sequence */
    size_t bytes;
    union {
        void *data;
        char **text; /* strings */
        struct noe_run_value **items;
    };
} noe_run_value;

/* Elements zero (strings: NULL, which stands for ""), one reference. NULL if the sizes
 * multiply to more than max_bytes or one is negative. */
noe_run_value *noe_run_tensor_new(noe_elem elem, const noe_dims *shape,
                                  size_t max_bytes);
noe_run_value *noe_run_sequence_new(int64_t n); /* items NULL, to be set */
noe_run_value *noe_run_empty_new(void);
noe_run_value *noe_run_value_ref(const noe_run_value *v); /* v again */
void noe_run_value_release(noe_run_value *v);             /* v may be NULL */
const char *noe_run_text(const noe_run_value *v, int64_t i);

/* All elements into or from a carrier. Loading integers as double is exact to 2^53;
 * loading floats as integers is for nobody. Storing saturates floats of 8 bits and less
 * if asked to, else they become infinite or NaN as their format has it. */
void noe_run_load_f64(const noe_run_value *v, double *to);
void noe_run_load_i64(const noe_run_value *v, int64_t *to);
void noe_run_store_f64(noe_run_value *v, const double *from, bool saturate);
void noe_run_store_i64(noe_run_value *v, const int64_t *from);
/* One number as a type holds it. */
double noe_run_round(noe_elem elem, double x, bool saturate);
int64_t noe_run_wrap(noe_elem elem, int64_t x);

#endif
