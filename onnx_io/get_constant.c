/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of nodes whose output is known: they become weight leaves, like initializers.
 * What has no elements that the algebra can hold (strings, sparse tensors) becomes a
 * leaf without data, so that it stays apart from every other value.
 */
#include "onnx_io/get.h"

/* Memory that ConstantOfShape may be blown up to: models use it for weights of made-up
 * networks, hostile ones to exhaust memory. */
#define MAX_FILL_BYTES ((size_t)512 << 20)

static void set_leaf(noe_getting *g, const noe_onnx_tensor *t)
{
    noe_onnx_value *v = &g->m->values[g->node->out[0]];
    uint32_t leaf =
        noe_pool_add_leaf(g->m->pool, v->name, &t->type, t->data, t->bytes, NULL);
    g->node->kind = NOE_NODE_CONSTANT;
    v->type = t->type;
    v->ref = noe_graph_leaf(g->m->graph, NOE_OP_WEIGHT, leaf);
    v->ints = noe_onnx_tensor_ints(&g->m->arena, t);
}

static void take_numbers(noe_onnx_tensor *t, noe_dtype dtype, int rank,
                         const void *data, size_t n)
{
    t->type = (noe_type){.dtype = dtype, .shape.rank = rank};
    if (rank == 1)
        t->type.shape.dim[0] = (int64_t)n;
    t->data = n ? data : "";
    t->bytes = n * noe_dtype_bytes(dtype);
}

/* The one attribute of Constant that holds the value. */
static const char *read_value(noe_getting *g, const Onnx__AttributeProto *a,
                              noe_onnx_tensor *t)
{
    *t = (noe_onnx_tensor){.type.shape.rank = NOE_RANK_UNKNOWN};
    if (strcmp(a->name, "value") == 0) {
        if (!a->t)
            return "value is missing";
        if (noe_onnx_read_tensor(g->m, a->t, t, &g->err) != NOE_OK)
            return noe_get_why(g, "value: %s", g->err.text);
    } else if (strcmp(a->name, "value_float") == 0) {
        take_numbers(t, NOE_F32, 0, &a->f, 1);
    } else if (strcmp(a->name, "value_floats") == 0) {
        take_numbers(t, NOE_F32, 1, a->floats, a->n_floats);
    } else if (strcmp(a->name, "value_int") == 0) {
        take_numbers(t, NOE_I64, 0, &a->i, 1);
    } else if (strcmp(a->name, "value_ints") == 0) {
        take_numbers(t, NOE_I64, 1, a->ints, a->n_ints);
    }
    return NULL;
}

const char *noe_get_constant(noe_getting *g)
{
    noe_onnx_tensor t;
    const Onnx__NodeProto *proto = g->node->proto;
    NOE_GET(noe_get_only_attributes(g, "sparse_value value value_float value_floats "
                                       "value_int value_ints value_string "
                                       "value_strings"));
    NOE_GET(noe_get_want_inputs(g, 0, 0));
    NOE_GET(noe_get_one_output(g));
    if (proto->n_attribute != 1)
        return "it has not exactly one value";
    NOE_GET(read_value(g, proto->attribute[0], &t));
    set_leaf(g, &t);
    return NULL;
}

/* Element to fill with: zero of f32 unless `value` says otherwise. */
static const char *read_fill(noe_getting *g, noe_onnx_tensor *fill)
{
    static const float zero = 0;
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, "value");
    take_numbers(fill, NOE_F32, 0, &zero, 1);
    if (!a)
        return NULL;
    if (!a->t)
        return "value is missing";
    if (noe_onnx_read_tensor(g->m, a->t, fill, &g->err) != NOE_OK)
        return noe_get_why(g, "value: %s", g->err.text);
    if (!fill->data || noe_shape_elements(&fill->type.shape) != 1)
        return "value is no single number";
    return NULL;
}

static const char *fill_tensor(noe_getting *g, const noe_value *shape,
                               const noe_onnx_tensor *fill, noe_onnx_tensor *t)
{
    *t = (noe_onnx_tensor){.type.dtype = fill->type.dtype};
    if (shape->n > NOE_MAX_RANK)
        return noe_get_why(g, "rank %d", shape->n);
    for (int i = 0; i < shape->n; i++) {
        if (shape->list[i] < 0)
            return noe_get_why(g, "size %lld", (long long)shape->list[i]);
    }
    t->type.shape = noe_shape_make(shape->n, shape->list);
    int64_t n = noe_shape_elements(&t->type.shape);
    size_t width = fill->bytes;
    if (n < 0 || (uint64_t)n > (MAX_FILL_BYTES - g->m->filled_bytes) / width)
        return "it makes too many elements";
    t->bytes = (size_t)n * width;
    g->m->filled_bytes += t->bytes;
    char *data = noe_arena_alloc(&g->m->arena, t->bytes);
    if (n > 0)
        memcpy(data, fill->data, width);
    for (size_t done = width; n > 0 && done < t->bytes;) {
        size_t more = done < t->bytes - done ? done : t->bytes - done;
        memcpy(data + done, data, more);
        done += more;
    }
    t->data = data;
    return NULL;
}

const char *noe_get_constant_of_shape(noe_getting *g)
{
    noe_value shape;
    noe_onnx_tensor fill, t;
    NOE_GET(noe_get_only_attributes(g, "value"));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_ints(g, 0, "the shape", &shape));
    NOE_GET(read_fill(g, &fill));
    NOE_GET(fill_tensor(g, &shape, &fill, &t));
    set_leaf(g, &t);
    return NULL;
}
