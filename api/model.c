/* SPDX-License-Identifier: Apache-2.0
 *
 * Models: loading, building, writing.
 */
#include "api/api.h"
#include "core/base/file.h"
#include <stdio.h>
#include <stdlib.h>

static const noe_env quiet = {.seed = 1, .n_threads = 1};

NOE_API const char *noether_version(void)
{
    return noe_version;
}

NOE_API void noether_free(void *p)
{
    free(p);
}

noether_status noe_api_status(noe_status status, const noe_error *err, noether_error *e)
{
    noether_status out = (noether_status)status;
    if (e && status != NOE_OK) {
        e->status = out;
        snprintf(e->text, sizeof e->text, "%s",
                 err->text[0] ? err->text : noe_status_text(status));
    }
    return out;
}

static noether_model *wrap(noe_builder *builder, noe_onnx_model *onnx)
{
    noether_model *m = noe_calloc(1, sizeof *m);
    m->builder = builder;
    m->onnx = onnx;
    return m;
}

static noe_onnx_options onnx_options(const noether_options *o)
{
    if (!o)
        return (noe_onnx_options){0};
    return (noe_onnx_options){.input_shapes = o->command.input_shapes.text,
                              .n_input_shapes = o->command.input_shapes.n,
                              .constant_initializers =
                                  o->command.constant_initializers};
}

NOE_API noether_status noether_model_load(const char *path, const noether_options *o,
                                          noether_model **m, noether_error *e)
{
    noe_error err = {0};
    noe_onnx_model *onnx;
    noe_onnx_options options = onnx_options(o);
    noe_status status = noe_onnx_load(path, &options, &quiet, &onnx, &err);
    if (status == NOE_OK)
        *m = wrap(NULL, onnx);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_model_load_memory(const void *data, size_t len,
                                                 const noether_options *o,
                                                 noether_model **m, noether_error *e)
{
    noe_error err = {0};
    noe_onnx_model *onnx;
    noe_onnx_options options = onnx_options(o);
    noe_status status = noe_onnx_load_memory(data, len, &options, &quiet, &onnx, &err);
    if (status == NOE_OK)
        *m = wrap(NULL, onnx);
    return noe_api_status(status, &err, e);
}

noe_status noe_api_adopt(char *data, size_t len, noether_model **m, noe_error *err)
{
    noe_onnx_model *onnx;
    noe_status status = noe_onnx_load_memory(data, len, NULL, &quiet, &onnx, err);
    free(data);
    if (status == NOE_OK)
        *m = wrap(NULL, onnx);
    return status;
}

NOE_API noether_model *noether_model_new(void)
{
    return wrap(noe_builder_new(), NULL);
}

NOE_API void noether_model_free(noether_model *m)
{
    if (!m)
        return;
    noe_builder_free(m->builder);
    noe_onnx_free(m->onnx);
    free(m);
}

noe_status noe_api_bytes(const noether_model *m, const void **data, size_t *len,
                         char **owned, noe_error *err)
{
    *owned = NULL;
    if (m->builder) {
        NOE_TRY(noe_builder_serialize(m->builder, owned, len, err));
        *data = *owned;
    } else {
        *data = noe_onnx_bytes(m->onnx, len);
    }
    return NOE_OK;
}

/* External data is found by the folder, so that such a model is written by the writer
 * that knows of it. */
NOE_API noether_status noether_model_save(const noether_model *m, const char *path,
                                          noether_error *e)
{
    noe_error err = {0};
    const void *data;
    size_t len;
    char *owned = NULL;
    noe_status status;
    if (m->onnx && !noe_onnx_is_self_contained(m->onnx)) {
        status = noe_onnx_save(m->onnx, noe_onnx_graph(m->onnx), path, &err);
    } else {
        status = noe_api_bytes(m, &data, &len, &owned, &err);
        if (status == NOE_OK)
            status = noe_file_write(path, data, len, &err);
    }
    free(owned);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_model_serialize(const noether_model *m, void **data,
                                               size_t *len, noether_error *e)
{
    noe_error err = {0};
    const void *bytes;
    char *owned;
    noe_status status = noe_api_bytes(m, &bytes, len, &owned, &err);
    if (status != NOE_OK)
        return noe_api_status(status, &err, e);
    if (!owned) {
        owned = noe_malloc(*len + 1);
        memcpy(owned, bytes, *len);
    }
    *data = owned;
    return NOETHER_OK;
}

NOE_API noether_status noether_model_describe(const noether_model *m, char **json,
                                              noether_error *e)
{
    noe_error err = {0};
    noe_buf b = {0};
    noether_model *built = NULL;
    const noe_onnx_model *onnx = m->onnx;
    if (m->builder) {
        char *data;
        size_t len;
        noe_status status = noe_builder_serialize(m->builder, &data, &len, &err);
        if (status == NOE_OK)
            status = noe_api_adopt(data, len, &built, &err);
        if (status != NOE_OK)
            return noe_api_status(status, &err, e);
        onnx = built->onnx;
    }
    noe_onnx_describe(onnx, &b);
    noether_model_free(built);
    *json = b.text;
    return NOETHER_OK;
}

NOE_API noether_status noether_model_weight(const noether_model *m, const char *name,
                                            const void **data, size_t *bytes,
                                            noether_error *e)
{
    noe_error err = {0};
    noe_type type;
    const void *found = m->builder ? noe_builder_data(m->builder, name, bytes)
                                   : noe_onnx_weight(m->onnx, name, &type, bytes);
    if (!found)
        return noe_api_status(
            noe_fail(&err, NOE_ERR_ARG, "there is no weight '%s'", name), &err, e);
    *data = found;
    return NOETHER_OK;
}

/* ---- building ---- */

static noe_status want_builder(const noether_model *m, noe_error *err)
{
    if (!m->builder)
        return noe_fail(err, NOE_ERR_ARG, "a loaded model cannot be added to");
    return NOE_OK;
}

static noe_status read_type(const noether_type *from, noe_type *to, noe_error *err)
{
    if (from->rank < 0 || from->rank > NOE_MAX_RANK)
        return noe_fail(err, NOE_ERR_SHAPE, "rank %d is not within 0..%d", from->rank,
                        NOE_MAX_RANK);
    for (int i = 0; i < from->rank; i++) {
        if (from->dims[i] < 0)
            return noe_fail(err, NOE_ERR_SHAPE, "dimension %d is %lld", i,
                            (long long)from->dims[i]);
    }
    *to = (noe_type){noe_dtype_from_onnx(from->dtype),
                     noe_shape_make(from->rank, from->dims)};
    if (to->dtype == NOE_UNKNOWN)
        return noe_fail(err, NOE_ERR_SHAPE, "element type %d is not known",
                        from->dtype);
    return NOE_OK;
}

/* A value of the type may be added. */
static noe_status want_typed(const noether_model *m, const noether_type *type,
                             noe_type *t, noe_error *err)
{
    NOE_TRY(want_builder(m, err));
    return read_type(type, t, err);
}

NOE_API noether_status noether_add_input(noether_model *m, const char *name,
                                         const noether_type *type, noether_value *value,
                                         noether_error *e)
{
    noe_error err = {0};
    noe_type t;
    noe_status status = want_typed(m, type, &t, &err);
    if (status == NOE_OK)
        status = noe_builder_input(m->builder, name, &t, value, &err);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_add_weight(noether_model *m, const char *name,
                                          const noether_type *type, const void *data,
                                          size_t bytes, noether_value *value,
                                          noether_error *e)
{
    noe_error err = {0};
    noe_type t;
    noe_status status = want_typed(m, type, &t, &err);
    if (status == NOE_OK)
        status = noe_builder_weight(m->builder, name, &t, data, bytes, value, &err);
    return noe_api_status(status, &err, e);
}

static noe_status add_node(noether_model *m, noe_builder_node *node,
                           const noether_attribute *attributes,
                           const noether_type *types, uint32_t *outputs, noe_error *err)
{
    noe_attribute *list = noe_calloc(node->n_attributes + 1, sizeof *list);
    noe_type *declared = types ? noe_calloc(node->n_out + 1, sizeof *declared) : NULL;
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < node->n_attributes; i++) {
        const noether_attribute *a = &attributes[i];
        list[i] = (noe_attribute){
            a->name, (noe_attribute_kind)a->kind, a->n, a->ints, a->floats, a->text};
    }
    for (uint32_t i = 0; types && i < node->n_out && status == NOE_OK; i++)
        status = read_type(&types[i], &declared[i], err);
    node->attributes = list;
    node->types = declared;
    if (status == NOE_OK)
        status = noe_builder_node_add(m->builder, node, outputs, err);
    free(list);
    free(declared);
    return status;
}

NOE_API noether_status noether_add_node(noether_model *m, const char *op_type,
                                        const noether_value *inputs, uint32_t n_inputs,
                                        const noether_attribute *attributes,
                                        uint32_t n_attributes,
                                        const noether_type *types,
                                        noether_value *outputs, uint32_t n_outputs,
                                        noether_error *e)
{
    noe_error err = {0};
    noe_builder_node node = {.op_type = op_type,
                             .in = inputs,
                             .n_in = n_inputs,
                             .n_attributes = n_attributes,
                             .n_out = n_outputs};
    noe_status status = want_builder(m, &err);
    if (status == NOE_OK)
        status = add_node(m, &node, attributes, types, outputs, &err);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_add_output(noether_model *m, noether_value value,
                                          const char *name, noether_error *e)
{
    noe_error err = {0};
    noe_status status = want_builder(m, &err);
    if (status == NOE_OK)
        status = noe_builder_output(m->builder, value, name, &err);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_value_type(const noether_model *m, noether_value value,
                                          noether_type *type, noether_error *e)
{
    noe_error err = {0};
    noe_status status = want_builder(m, &err);
    if (status == NOE_OK && value >= noe_builder_n_values(m->builder))
        status = noe_fail(&err, NOE_ERR_ARG, "value %u of %u", value,
                          noe_builder_n_values(m->builder));
    if (status != NOE_OK)
        return noe_api_status(status, &err, e);
    const noe_type *t = noe_builder_type(m->builder, value);
    *type = (noether_type){noe_dtype_to_onnx(t->dtype), t->shape.rank, {0}};
    memcpy(type->dims, t->shape.dim, (size_t)t->shape.rank * sizeof *type->dims);
    return NOETHER_OK;
}
