/* SPDX-License-Identifier: Apache-2.0
 *
 * A value as a file with one TensorProto.
 */
#include "core/base/file.h"
#include "onnx_io/run.h"
#include "onnx_io/run/call.h"
#include <stdlib.h>

noe_status noe_run_write_pb(const noe_run_value *v, const char *name, const char *path,
                            noe_error *err)
{
    Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
    if (v->form != NOE_FORM_TENSOR)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "output '%s' is no tensor", name);
    t.name = (char *)name;
    t.n_dims = (size_t)v->shape.rank;
    t.dims = (int64_t *)v->shape.dim;
    t.has_data_type = true;
    t.data_type = (int32_t)v->elem;
    ProtobufCBinaryData *texts = noe_calloc((size_t)v->n + 1, sizeof *texts);
    for (int64_t i = 0; v->elem == NOE_ELEM_STRING && i < v->n; i++)
        texts[i] = (ProtobufCBinaryData){strlen(noe_run_text(v, i)),
                                         (uint8_t *)noe_run_text(v, i)};
    if (v->elem == NOE_ELEM_STRING) {
        t.string_data = texts;
        t.n_string_data = (size_t)v->n;
    } else {
        t.has_raw_data = true;
        t.raw_data.data = noe_run_pack(v, &t.raw_data.len);
    }
    size_t len = onnx__tensor_proto__get_packed_size(&t);
    uint8_t *bytes = noe_malloc(len + 1);
    onnx__tensor_proto__pack(&t, bytes);
    noe_status status = noe_file_write(path, bytes, len, err);
    free(bytes);
    free(t.raw_data.data);
    free(texts);
    return status;
}
