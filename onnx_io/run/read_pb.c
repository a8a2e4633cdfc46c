/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as ONNX's own tests store them: a file with one TensorProto, or for inputs of
 * such types a SequenceProto or OptionalProto, whose wire format is walked by hand.
 */
#include "core/base/file.h"
#include "onnx_io/run.h"
#include "onnx_io/run/call.h"
#include <stdlib.h>

/* Fields of SequenceProto and OptionalProto. */
enum { SEQUENCE_TENSORS = 3, OPTIONAL_TENSOR = 3, OPTIONAL_SEQUENCE = 5 };

static noe_status read_tensor(noe_span s, noe_run_value **v, noe_error *err)
{
    NOE_TRY(noe_wire_check(&onnx__tensor_proto__descriptor, s, err));
    Onnx__TensorProto *t = onnx__tensor_proto__unpack(NULL, s.len, s.at);
    if (!t)
        return noe_fail(err, NOE_ERR_PARSE, "the tensor is malformed");
    noe_status status = noe_run_from_proto(t, v, err);
    onnx__tensor_proto__free_unpacked(t, NULL);
    return status;
}

static noe_status read_sequence(noe_span s, noe_run_value **v, noe_error *err)
{
    noe_wire_field f;
    int64_t n = 0;
    for (noe_span rest = s; rest.len > 0;) {
        const char *wrong = noe_wire_next(&rest, &f);
        if (wrong)
            return noe_fail(err, NOE_ERR_PARSE, "%s", wrong);
        n += f.number == SEQUENCE_TENSORS;
    }
    *v = noe_run_sequence_new(n);
    (*v)->n = 0;
    for (noe_span rest = s; rest.len > 0;) {
        if (noe_wire_next(&rest, &f) || f.number != SEQUENCE_TENSORS)
            continue;
        noe_status status = read_tensor(f.body, &(*v)->items[(*v)->n], err);
        if (status != NOE_OK)
            return status;
        (*v)->n++;
    }
    return NOE_OK;
}

static noe_status read_optional(noe_span s, noe_run_value **v, noe_error *err)
{
    for (noe_span rest = s; rest.len > 0;) {
        noe_wire_field f;
        const char *wrong = noe_wire_next(&rest, &f);
        if (wrong)
            return noe_fail(err, NOE_ERR_PARSE, "%s", wrong);
        if (f.number == OPTIONAL_TENSOR && f.body.len > 0)
            return read_tensor(f.body, v, err);
        if (f.number == OPTIONAL_SEQUENCE)
            return read_sequence(f.body, v, err);
    }
    *v = noe_run_empty_new();
    return NOE_OK;
}

noe_status noe_run_read_value(const Onnx__TypeProto *type, const void *data, size_t len,
                              noe_run_value **v, noe_error *err)
{
    noe_span s = {data, len};
    *v = NULL;
    noe_status status = type && type->sequence_type   ? read_sequence(s, v, err)
                        : type && type->optional_type ? read_optional(s, v, err)
                                                      : read_tensor(s, v, err);
    if (status != NOE_OK) {
        noe_run_value_release(*v);
        *v = NULL;
    }
    return status;
}

static noe_status read_file(const Onnx__TypeProto *type, const char *path,
                            noe_run_value **v, noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, INT32_MAX, &data, &len, err));
    noe_status status = noe_run_read_value(type, data, len, v, err);
    free(data);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    return status;
}

noe_status noe_run_read_input(const noe_onnx_model *m, uint32_t i, const char *path,
                              noe_run_value **v, noe_error *err)
{
    return read_file(m->inputs[i]->type, path, v, err);
}

noe_status noe_run_read_output(const noe_onnx_model *m, uint32_t i, const char *path,
                               noe_run_value **v, noe_error *err)
{
    return read_file(m->outputs[i]->type, path, v, err);
}
