/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors between files and values: packed bytes, typed lists, sparse forms.
 */
#include "onnx_io/run/call.h"
#include <stdlib.h>

/* ---- packed bytes ---- */

bool noe_run_unpack(noe_run_value *v, const void *data, size_t bytes)
{
    int bits = noe_elem_get((int)v->elem)->bits;
    if (bits >= 8) {
        if (bytes != v->bytes)
            return false;
        if (bytes)
            memcpy(v->data, data, bytes);
        return true;
    }
    int each = bits ? 8 / bits : 1;
    if (bits == 0 || bytes != ((size_t)v->n + (size_t)each - 1) / (size_t)each)
        return false;
    for (int64_t i = 0; i < v->n; i++) {
        int x = ((const uint8_t *)data)[i / each] >> (i % each * bits);
        x &= (1 << bits) - 1;
        ((uint8_t *)v->data)[i] = noe_elem_is_integer((int)v->elem)
                                      ? (uint8_t)noe_run_wrap(v->elem, x)
                                      : (uint8_t)x;
    }
    return true;
}

void *noe_run_pack(const noe_run_value *v, size_t *bytes)
{
    int bits = noe_elem_get((int)v->elem)->bits;
    if (bits >= 8) {
        char *data = noe_malloc(v->bytes + 1);
        memcpy(data, v->data, v->bytes);
        *bytes = v->bytes;
        return data;
    }
    int each = 8 / bits;
    *bytes = ((size_t)v->n + (size_t)each - 1) / (size_t)each;
    uint8_t *data = noe_calloc(*bytes + 1, 1);
    for (int64_t i = 0; i < v->n; i++) {
        int x = ((const uint8_t *)v->data)[i] & ((1 << bits) - 1);
        data[i / each] = (uint8_t)(data[i / each] | x << (i % each * bits));
    }
    return data;
}

/* ---- messages ---- */

/* Numbers of the list that belongs to the element type, one after the other. */
static noe_status take_numbers(const Onnx__TensorProto *t, noe_run_value *v,
                               noe_error *err)
{
    const void *from = NULL;
    size_t n = 0, width = 0, bytes = (size_t)noe_elem_get((int)v->elem)->bytes;
    switch ((int)v->elem) {
    case NOE_ELEM_F32:
    case NOE_ELEM_C64:
        from = t->float_data, n = t->n_float_data * 4 / bytes, width = bytes;
        break;
    case NOE_ELEM_F64:
    case NOE_ELEM_C128:
        from = t->double_data, n = t->n_double_data * 8 / bytes, width = bytes;
        break;
    case NOE_ELEM_I64:
        from = t->int64_data, n = t->n_int64_data, width = 8;
        break;
    case NOE_ELEM_U32:
    case NOE_ELEM_U64:
        from = t->uint64_data, n = t->n_uint64_data, width = 8;
        break;
    default:
        from = t->int32_data, n = t->n_int32_data, width = 4;
    }
    int bits = noe_elem_get((int)v->elem)->bits;
    if (bits < 8) { /* several in the low byte of each */
        uint8_t *packed = noe_calloc(n + 1, 1);
        for (size_t i = 0; i < n; i++)
            packed[i] = (uint8_t)t->int32_data[i];
        bool fits = noe_run_unpack(v, packed, n);
        free(packed);
        return fits ? NOE_OK : noe_fail(err, NOE_ERR_PARSE, "%zu packed numbers", n);
    }
    if (n != (size_t)v->n)
        return noe_fail(err, NOE_ERR_PARSE, "%zu elements, the dimensions say %lld", n,
                        (long long)v->n);
    for (size_t i = 0; i < n; i++) /* the low bytes */
        memcpy((char *)v->data + i * bytes, (const char *)from + i * width, bytes);
    return NOE_OK;
}

static noe_status take_strings(const Onnx__TensorProto *t, noe_run_value *v,
                               noe_error *err)
{
    if (t->n_string_data != (size_t)v->n)
        return noe_fail(err, NOE_ERR_PARSE, "%zu strings, the dimensions say %lld",
                        t->n_string_data, (long long)v->n);
    for (int64_t i = 0; i < v->n; i++) {
        noe_buf b = {0};
        noe_buf_add(&b, (const char *)t->string_data[i].data, t->string_data[i].len);
        v->text[i] = b.text;
    }
    return NOE_OK;
}

noe_status noe_run_from_proto(const Onnx__TensorProto *t, noe_run_value **out,
                              noe_error *err)
{
    noe_dims shape = {.rank = (int)t->n_dims};
    *out = NULL;
    if (noe_elem_get(t->data_type)->bytes == 0 || t->n_dims > NOE_RUN_MAX_RANK ||
        t->segment)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "a tensor of element type %d and rank %zu", t->data_type,
                        t->n_dims);
    if (t->has_data_location &&
        t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return noe_fail(
            err, NOE_ERR_UNSUPPORTED,
            "external data of a tensor that is no initializer of the graph");
    for (size_t i = 0; i < t->n_dims; i++) {
        shape.dim[i] = t->dims[i];
        if (t->dims[i] < 0)
            return noe_fail(err, NOE_ERR_PARSE, "dimension %lld is negative",
                            (long long)t->dims[i]);
    }
    /* what is stored bounds what the dimensions may say, to the bit */
    size_t stored = t->raw_data.len + t->n_float_data + t->n_int32_data +
                    t->n_int64_data + t->n_uint64_data + t->n_double_data +
                    t->n_string_data;
    noe_run_value *v =
        noe_run_tensor_new((noe_elem)t->data_type, &shape, 64 * (stored + 1));
    if (!v)
        return noe_fail(err, NOE_ERR_PARSE, "the dimensions say more than is stored");
    noe_status status = NOE_OK;
    if (v->elem == NOE_ELEM_STRING)
        status = take_strings(t, v, err);
    else if (!t->has_raw_data)
        status = take_numbers(t, v, err);
    else if (!noe_run_unpack(v, t->raw_data.data, t->raw_data.len))
        status =
            noe_fail(err, NOE_ERR_PARSE, "%zu bytes, the dimensions say %lld elements",
                     t->raw_data.len, (long long)v->n);
    if (status != NOE_OK) {
        noe_run_value_release(v);
        return status;
    }
    *out = v;
    return NOE_OK;
}

/* ---- sparse ---- */

/* Indices are of the flat tensor, or a row of coordinates for each value. */
static noe_status place(const noe_run_value *values, const noe_run_value *at,
                        noe_run_value *v, noe_error *err)
{
    size_t width = (size_t)noe_elem_get((int)v->elem)->bytes;
    int64_t rank = at->shape.rank == 2 ? at->shape.dim[1] : 1;
    if (at->elem != NOE_ELEM_I64 || values->elem == NOE_ELEM_STRING ||
        at->n != values->n * rank || (at->shape.rank == 2 && rank != v->shape.rank))
        return noe_fail(err, NOE_ERR_PARSE, "sparse indices do not fit");
    for (int64_t i = 0; i < values->n; i++) {
        int64_t to = 0;
        for (int64_t k = 0; k < rank; k++) {
            int64_t x = ((const int64_t *)at->data)[i * rank + k];
            if (x < 0 || x >= (at->shape.rank == 2 ? v->shape.dim[k] : v->n))
                return noe_fail(err, NOE_ERR_PARSE, "sparse index %lld is out of range",
                                (long long)x);
            to = at->shape.rank == 2 ? to * v->shape.dim[k] + x : x;
        }
        memcpy((char *)v->data + (size_t)to * width,
               (const char *)values->data + (size_t)i * width, width);
    }
    return NOE_OK;
}

#define MAX_SPARSE_BYTES ((size_t)1 << 31)

noe_status noe_run_from_sparse(const Onnx__SparseTensorProto *t, noe_run_value **out,
                               noe_error *err)
{
    noe_run_value *values = NULL, *at = NULL, *v = NULL;
    noe_dims shape = {.rank = (int)t->n_dims};
    *out = NULL;
    if (!t->values || !t->indices || t->n_dims > NOE_RUN_MAX_RANK)
        return noe_fail(err, NOE_ERR_PARSE, "a sparse tensor is incomplete");
    for (size_t i = 0; i < t->n_dims; i++)
        shape.dim[i] = t->dims[i] > 0 ? t->dims[i] : 0;
    noe_status status = noe_run_from_proto(t->values, &values, err);
    if (status == NOE_OK)
        status = noe_run_from_proto(t->indices, &at, err);
    if (status == NOE_OK) {
        v = noe_run_tensor_new(values->elem, &shape, MAX_SPARSE_BYTES);
        status = v ? place(values, at, v, err)
                   : noe_fail(err, NOE_ERR_LIMIT, "a sparse tensor is too large");
    }
    noe_run_value_release(values);
    noe_run_value_release(at);
    if (status != NOE_OK)
        noe_run_value_release(v);
    else
        *out = v;
    return status;
}
