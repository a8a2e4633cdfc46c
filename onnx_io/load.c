/* SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to a checked model: wire format, fields of model and main graph, tensors,
 * types, names; then the import. Nothing of a file that fails a check is kept.
 */
#include "core/base/file.h"
#include "onnx_io/pin.h"
#include <stdlib.h>
#include <sys/mman.h>

#define MIN_IR_VERSION    3
#define DEFAULT_MAX_BYTES ((uint64_t)INT32_MAX) /* of any protobuf message */

/* ---- unpacking into the arena ---- */

static void *arena_alloc(void *arena, size_t bytes)
{
    return noe_arena_alloc(arena, bytes);
}

static void arena_free(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

void *noe_onnx_unpack(noe_onnx_model *m, const ProtobufCMessageDescriptor *type,
                      noe_span body)
{
    return protobuf_c_message_unpack(type, &m->allocator, body.len, body.at);
}

/* ---- fields ---- */

/* All fields of a checked message, in order. */
static noe_wire_field *list_fields(noe_arena *a, noe_span message, size_t *n)
{
    noe_wire_field f;
    *n = 0;
    for (noe_span rest = message; rest.len > 0; ++*n)
        NOE_ASSERT(!noe_wire_next(&rest, &f));
    noe_wire_field *fields = NOE_NEW_N(a, noe_wire_field, *n);
    noe_span rest = message;
    for (size_t i = 0; i < *n; i++)
        NOE_ASSERT(!noe_wire_next(&rest, &fields[i]));
    return fields;
}

static noe_status find_graph(const noe_onnx_model *m, noe_span *graph, noe_error *err)
{
    bool found = false;
    for (size_t i = 0; i < m->n_model_fields; i++) {
        if (m->model_fields[i].number != NOE_MODEL_GRAPH)
            continue;
        if (found)
            return noe_fail(err, NOE_ERR_PARSE, "the model has two graphs");
        found = true;
        *graph = m->model_fields[i].body;
    }
    if (!found)
        return noe_fail(err, NOE_ERR_PARSE, "the model has no graph");
    return NOE_OK;
}

/* Everything but the graph. */
static noe_status unpack_header(noe_onnx_model *m, noe_error *err)
{
    noe_rope r = {.arena = &m->arena};
    for (size_t i = 0; i < m->n_model_fields; i++) {
        if (m->model_fields[i].number != NOE_MODEL_GRAPH)
            noe_rope_add(&r, m->model_fields[i].whole);
    }
    char *bytes = noe_arena_alloc(&m->arena, r.len);
    noe_rope_copy(&r, bytes);
    m->proto = noe_onnx_unpack(m, &onnx__model_proto__descriptor,
                               (noe_span){(const uint8_t *)bytes, r.len});
    noe_rope_clear(&r);
    if (!m->proto)
        return noe_fail(err, NOE_ERR_PARSE, "the model is malformed");
    if (m->proto->ir_version < MIN_IR_VERSION)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "IR version is %lld, want %d or newer",
                        (long long)m->proto->ir_version, MIN_IR_VERSION);
    if (m->proto->n_opset_import == 0)
        return noe_fail(err, NOE_ERR_PARSE, "the model imports no operator set");
    for (size_t i = 0; i < m->proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = m->proto->opset_import[i];
        if (noe_onnx_is_standard(set->domain))
            m->opset = set->version;
    }
    return NOE_OK;
}

static uint32_t count_fields(const noe_onnx_model *m, uint32_t number)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_graph_fields; i++)
        n += m->graph_fields[i].number == number;
    return n;
}

/* Unpacks all fields of a number; the array is in the arena. */
static noe_status unpack_all(noe_onnx_model *m, uint32_t number,
                             const ProtobufCMessageDescriptor *type, void ***messages,
                             uint32_t *n, noe_error *err)
{
    *n = 0;
    *messages = NOE_NEW_N(&m->arena, void *, count_fields(m, number));
    for (size_t i = 0; i < m->n_graph_fields; i++) {
        if (m->graph_fields[i].number != number)
            continue;
        void *message = noe_onnx_unpack(m, type, m->graph_fields[i].body);
        if (!message)
            return noe_fail(err, NOE_ERR_PARSE, "%s %u is malformed", type->short_name,
                            *n);
        (*messages)[(*n)++] = message;
    }
    return NOE_OK;
}

static noe_status unpack_nodes(noe_onnx_model *m, noe_error *err)
{
    void **protos;
    NOE_TRY(unpack_all(m, NOE_GRAPH_NODE, &onnx__node_proto__descriptor, &protos,
                       &m->n_nodes, err));
    m->nodes = NOE_NEW_N(&m->arena, noe_onnx_node, m->n_nodes);
    for (size_t i = 0, k = 0; i < m->n_graph_fields; i++) {
        if (m->graph_fields[i].number != NOE_GRAPH_NODE)
            continue;
        m->nodes[k] = (noe_onnx_node){.proto = protos[k],
                                      .whole = m->graph_fields[i].whole,
                                      .body = m->graph_fields[i].body,
                                      .op = NOE_OP_OPAQUE,
                                      .why = ""};
        k++;
    }
    return NOE_OK;
}

static noe_status unpack_initializers(noe_onnx_model *m, noe_error *err)
{
    void **protos;
    NOE_TRY(unpack_all(m, NOE_GRAPH_INITIALIZER, &onnx__tensor_proto__descriptor,
                       &protos, &m->n_initializers, err));
    m->initializers = NOE_NEW_N(&m->arena, noe_onnx_tensor, m->n_initializers);
    for (uint32_t i = 0; i < m->n_initializers; i++) {
        Onnx__TensorProto *t = protos[i];
        noe_status status = noe_onnx_read_tensor(m, t, &m->initializers[i], err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "initializer '%s': ", t->name ? t->name : "");
            return status;
        }
    }
    return NOE_OK;
}

static noe_status unpack_graph(noe_onnx_model *m, noe_error *err)
{
    NOE_TRY(unpack_nodes(m, err));
    NOE_TRY(unpack_initializers(m, err));
    void **list;
    NOE_TRY(unpack_all(m, NOE_GRAPH_SPARSE_INITIALIZER,
                       &onnx__sparse_tensor_proto__descriptor, &list, &m->n_sparse,
                       err));
    m->sparse = (Onnx__SparseTensorProto **)list;
    const ProtobufCMessageDescriptor *info = &onnx__value_info_proto__descriptor;
    NOE_TRY(unpack_all(m, NOE_GRAPH_INPUT, info, &list, &m->n_inputs, err));
    m->inputs = (Onnx__ValueInfoProto **)list;
    NOE_TRY(unpack_all(m, NOE_GRAPH_OUTPUT, info, &list, &m->n_outputs, err));
    m->outputs = (Onnx__ValueInfoProto **)list;
    NOE_TRY(unpack_all(m, NOE_GRAPH_VALUE_INFO, info, &list, &m->n_value_infos, err));
    m->value_infos = (Onnx__ValueInfoProto **)list;
    return NOE_OK;
}

static noe_status build(noe_onnx_model *m, const noe_onnx_options *options,
                        noe_error *err)
{
    noe_span graph;
    if (m->bytes.len == 0)
        return noe_fail(err, NOE_ERR_PARSE, "empty, not an ONNX model");
    m->constant_initializers = options && options->constant_initializers;
    NOE_TRY(noe_wire_check(&onnx__model_proto__descriptor, m->bytes, err));
    m->model_fields = list_fields(&m->arena, m->bytes, &m->n_model_fields);
    NOE_TRY(find_graph(m, &graph, err));
    NOE_TRY(unpack_header(m, err));
    m->graph_fields = list_fields(&m->arena, graph, &m->n_graph_fields);
    NOE_TRY(unpack_graph(m, err));
    NOE_TRY(noe_onnx_pin_inputs(m, options, err));
    NOE_TRY(noe_onnx_sort_nodes(m, err));
    NOE_TRY(noe_onnx_number_values(m, err));
    return noe_onnx_import(m, err);
}

/* ---- the interface ---- */

static noe_onnx_model *new_model(const char *name, const noe_env *env)
{
    noe_onnx_model *m = noe_calloc(1, sizeof *m);
    m->name = noe_arena_strdup(&m->arena, name);
    m->allocator = (ProtobufCAllocator){arena_alloc, arena_free, &m->arena};
    if (env)
        m->env = *env;
    return m;
}

static noe_status finish(noe_onnx_model *m, const noe_onnx_options *options,
                         noe_onnx_model **out, noe_error *err)
{
    noe_status status = build(m, options, err);
    if (status != NOE_OK) {
        noe_error_prefix(err, "%s: ", m->name);
        noe_onnx_free(m);
        return status;
    }
    *out = m;
    return NOE_OK;
}

static const char *folder_of(noe_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return noe_arena_printf(a, "%.*s", (int)(slash - path + (slash == path)), path);
}

static uint64_t size_limit(const noe_onnx_options *options)
{
    return options && options->max_bytes ? options->max_bytes : DEFAULT_MAX_BYTES;
}

noe_status noe_onnx_load(const char *path, const noe_onnx_options *options,
                         const noe_env *env, noe_onnx_model **out, noe_error *err)
{
    char *data;
    size_t len;
    noe_status status = noe_file_read(path, size_limit(options), &data, &len, err);
    if (status == NOE_ERR_LIMIT && size_limit(options) == DEFAULT_MAX_BYTES && err)
        return noe_fail(err, status,
                        "%s: larger than 2 GiB, the limit of protobuf: weights of such "
                        "models must be in external files",
                        path);
    NOE_TRY(status);
    noe_onnx_model *m = new_model(path, env);
    m->folder = folder_of(&m->arena, path);
    m->owned = data;
    m->bytes = (noe_span){(const uint8_t *)data, len};
    return finish(m, options, out, err);
}

noe_status noe_onnx_take_memory(char *data, size_t len, const noe_onnx_options *options,
                                const noe_env *env, noe_onnx_model **out,
                                noe_error *err)
{
    if (len > size_limit(options)) {
        free(data);
        return noe_fail(err, NOE_ERR_LIMIT, "model: %zu bytes, the limit is %llu", len,
                        (unsigned long long)size_limit(options));
    }
    noe_onnx_model *m = new_model("model", env);
    if (options && options->folder)
        m->folder = noe_arena_strdup(&m->arena, options->folder);
    m->owned = data;
    m->bytes = (noe_span){(const uint8_t *)data, len};
    return finish(m, options, out, err);
}

noe_status noe_onnx_load_memory(const void *data, size_t len,
                                const noe_onnx_options *options, const noe_env *env,
                                noe_onnx_model **out, noe_error *err)
{
    /* What is too large is not copied. */
    char *copy = len > size_limit(options) ? NULL : noe_malloc(len);
    if (copy && len)
        memcpy(copy, data, len);
    return noe_onnx_take_memory(copy, len, options, env, out, err);
}

void noe_onnx_free(noe_onnx_model *m)
{
    if (!m)
        return;
    noe_graph_free(m->graph);
    noe_pool_free(m->pool);
    noe_names_clear(&m->value_of);
    noe_names_clear(&m->all_names);
    noe_names_clear(&m->symbols);
    for (uint32_t i = 0; i < m->n_maps; i++)
        munmap(m->maps[i].at, m->maps[i].len);
    free(m->maps);
    free(m->values);
    free(m->owned);
    noe_arena_clear(&m->scratch);
    noe_arena_clear(&m->arena);
    free(m);
}
