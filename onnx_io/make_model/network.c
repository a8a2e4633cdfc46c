/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds networks layer by layer. Weights are uniform with the variance that keeps
 * activations of one size through ReLU layers (He et al., ICCV'15: 2 / fan-in);
 * normalisation statistics are near those of a trained network. BatchNormalization,
 * bias additions and Dropout are separate nodes, as in a model that nobody has
 * simplified.
 */
#include "onnx_io/make_model/network.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "onnx.pb-c.h"
#include <math.h>
#include <stdlib.h>

enum { IR_VERSION = 7, OPSET = 13, ONNX_FLOAT = 1 };

typedef struct builder {
    noe_arena arena;
    uint64_t seed, n_tensors; /* each tensor has a stream of its own */
    Onnx__NodeProto **nodes;
    size_t n_nodes, cap_nodes;
    Onnx__TensorProto **tensors;
    size_t n, cap;
} builder;

/* A value with the channels that the next layer needs to know. */
typedef struct value {
    char *name;
    int64_t channels;
} value;

/* ---- pieces ---- */

static char *text(builder *b, const char *prefix, const char *suffix)
{
    return noe_arena_printf(&b->arena, "%s%s", prefix, suffix);
}

/* Uniform with mean and deviation. */
static char *add_tensor(builder *b, char *name, int n_dims, const int64_t *dims,
                        double mean, double deviation)
{
    size_t n = 1;
    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    float *data = noe_arena_alloc(&b->arena, n * sizeof *data);
    noe_rng rng = noe_rng_split(b->seed, "weights", b->n_tensors++);
    double width = 2 * sqrt(3.0) * deviation;
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(mean + width * (noe_rng_unit(&rng) - 0.5));
    Onnx__TensorProto *t = NOE_NEW(&b->arena, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = name;
    t->has_data_type = 1;
    t->data_type = ONNX_FLOAT;
    t->n_dims = (size_t)n_dims;
    t->dims = noe_arena_memdup(&b->arena, dims, (size_t)n_dims * sizeof *dims);
    t->has_raw_data = 1;
    t->raw_data = (ProtobufCBinaryData){n * sizeof *data, (uint8_t *)data};
    NOE_PUSH(b->tensors, b->n, b->cap, t);
    return name;
}

static char *add_vector(builder *b, char *name, int64_t n, double mean,
                        double deviation)
{
    return add_tensor(b, name, 1, &n, mean, deviation);
}

static Onnx__NodeProto *add_node(builder *b, const char *op_type, const char *name,
                                 int n_in, char *const *in)
{
    Onnx__NodeProto *n = NOE_NEW(&b->arena, Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = noe_arena_strdup(&b->arena, op_type);
    n->name = noe_arena_strdup(&b->arena, name);
    n->n_input = (size_t)n_in;
    n->input = noe_arena_memdup(&b->arena, in, (size_t)n_in * sizeof *in);
    n->n_output = 1;
    n->output = NOE_NEW_N(&b->arena, char *, 1);
    n->output[0] = text(b, name, "_out");
    NOE_PUSH(b->nodes, b->n_nodes, b->cap_nodes, n);
    return n;
}

#define MAX_ATTRIBUTES 4

static Onnx__AttributeProto *add_attribute(builder *b, Onnx__NodeProto *n,
                                           const char *name)
{
    Onnx__AttributeProto *a = NOE_NEW(&b->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(a);
    a->name = noe_arena_strdup(&b->arena, name);
    a->has_type = 1;
    if (!n->attribute)
        n->attribute = NOE_NEW_N(&b->arena, Onnx__AttributeProto *, MAX_ATTRIBUTES);
    NOE_ASSERT(n->n_attribute < MAX_ATTRIBUTES);
    n->attribute[n->n_attribute++] = a;
    return a;
}

static void set_int(builder *b, Onnx__NodeProto *n, const char *name, int64_t i)
{
    Onnx__AttributeProto *a = add_attribute(b, n, name);
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    a->has_i = 1;
    a->i = i;
}

static void set_ints(builder *b, Onnx__NodeProto *n, const char *name, int count,
                     int64_t i)
{
    Onnx__AttributeProto *a = add_attribute(b, n, name);
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    a->n_ints = (size_t)count;
    a->ints = NOE_NEW_N(&b->arena, int64_t, count);
    for (int k = 0; k < count; k++)
        a->ints[k] = i;
}

/* ---- layers ---- */

static value unary(builder *b, const char *op_type, const char *name, value x)
{
    Onnx__NodeProto *n = add_node(b, op_type, name, 1, &x.name);
    return (value){n->output[0], x.channels};
}

static value relu(builder *b, const char *name, value x)
{
    return unary(b, "Relu", text(b, name, "_relu"), x);
}

static void set_window(builder *b, Onnx__NodeProto *n, int64_t k, int64_t stride,
                       int64_t pad)
{
    set_ints(b, n, "kernel_shape", 2, k);
    set_ints(b, n, "strides", 2, stride);
    set_ints(b, n, "pads", 4, pad);
}

typedef struct conv_form {
    int64_t channels, kernel, stride;
    int has_bias;
} conv_form;

static value conv(builder *b, const char *name, value x, conv_form f)
{
    int64_t dims[4] = {f.channels, x.channels, f.kernel, f.kernel};
    double fan_in = (double)(x.channels * f.kernel * f.kernel);
    char *in[3] = {x.name};
    in[1] = add_tensor(b, text(b, name, "_w"), 4, dims, 0, sqrt(2 / fan_in));
    if (f.has_bias)
        in[2] = add_vector(b, text(b, name, "_b"), f.channels, 0, 0.1);
    Onnx__NodeProto *n = add_node(b, "Conv", name, f.has_bias ? 3 : 2, in);
    set_window(b, n, f.kernel, f.stride, f.kernel / 2);
    return (value){n->output[0], f.channels};
}

static value batch_norm(builder *b, const char *name, value x, double scale)
{
    char *in[5] = {x.name};
    in[1] = add_vector(b, text(b, name, "_scale"), x.channels, scale, 0.1 * scale);
    in[2] = add_vector(b, text(b, name, "_shift"), x.channels, 0, 0.1);
    in[3] = add_vector(b, text(b, name, "_mean"), x.channels, 0, 0.1);
    in[4] = add_vector(b, text(b, name, "_var"), x.channels, 1, 0.2);
    return (value){add_node(b, "BatchNormalization", name, 5, in)->output[0],
                   x.channels};
}

static value conv_bn(builder *b, const char *name, value x, conv_form f, double scale)
{
    value y = conv(b, text(b, name, "_conv"), x, f);
    return batch_norm(b, text(b, name, "_bn"), y, scale);
}

static value max_pool(builder *b, const char *name, value x, int64_t pad)
{
    Onnx__NodeProto *n = add_node(b, "MaxPool", name, 1, &x.name);
    set_window(b, n, 3, 2, pad);
    return (value){n->output[0], x.channels};
}

static value binary(builder *b, const char *op_type, const char *name, value x, value y)
{
    char *in[2] = {x.name, y.name};
    return (value){add_node(b, op_type, name, 2, in)->output[0], x.channels};
}

static value flatten(builder *b, value x)
{
    Onnx__NodeProto *n = add_node(b, "Flatten", "flatten", 1, &x.name);
    set_int(b, n, "axis", 1);
    return (value){n->output[0], x.channels};
}

/* ---- networks ---- */

typedef struct network {
    const char *name;
    int64_t input[4];
    int n_input;
    value (*build)(builder *b, value x);
} network;

/* ResNet-50: He et al., CVPR'16, stride in the 1x1 convolution (version 1). */
static value bottleneck(builder *b, const char *name, value x, int64_t width,
                        int64_t stride)
{
    value y = conv_bn(b, text(b, name, "_a"), x, (conv_form){width, 1, stride, 0}, 1);
    y = relu(b, text(b, name, "_a"), y);
    y = conv_bn(b, text(b, name, "_b"), y, (conv_form){width, 3, 1, 0}, 1);
    y = relu(b, text(b, name, "_b"), y);
    /* Small, so that sixteen residuals do not add up to large numbers. */
    y = conv_bn(b, text(b, name, "_c"), y, (conv_form){4 * width, 1, 1, 0}, 0.3);
    if (x.channels != 4 * width)
        x = conv_bn(b, text(b, name, "_down"), x, (conv_form){4 * width, 1, stride, 0},
                    1);
    return relu(b, name, binary(b, "Add", text(b, name, "_add"), y, x));
}

static value build_resnet50(builder *b, value x)
{
    static const int blocks[4] = {3, 4, 6, 3};
    x = conv_bn(b, "stem", x, (conv_form){64, 7, 2, 0}, 1);
    x = max_pool(b, "stem_pool", relu(b, "stem", x), 1);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < blocks[stage]; i++) {
            const char *name = noe_arena_printf(&b->arena, "s%d_%d", stage + 1, i + 1);
            x = bottleneck(b, name, x, 64 << stage, i == 0 && stage > 0 ? 2 : 1);
        }
    }
    x = flatten(b, unary(b, "GlobalAveragePool", "pool", x));
    int64_t dims[2] = {1000, x.channels};
    char *in[3] = {x.name};
    in[1] =
        add_tensor(b, text(b, "fc", "_w"), 2, dims, 0, sqrt(1 / (double)x.channels));
    in[2] = add_vector(b, text(b, "fc", "_b"), 1000, 0, 0.1);
    Onnx__NodeProto *n = add_node(b, "Gemm", "fc", 3, in);
    set_int(b, n, "transB", 1);
    return (value){n->output[0], 1000};
}

/* SqueezeNet 1.1: Iandola et al., 2016; the fire module. */
static value fire(builder *b, int number, value x, int64_t squeeze, int64_t expand)
{
    const char *name = noe_arena_printf(&b->arena, "fire%d", number);
    const char *s = text(b, name, "_squeeze"), *e1 = text(b, name, "_expand1"),
               *e3 = text(b, name, "_expand3");
    x = relu(b, s, conv(b, s, x, (conv_form){squeeze, 1, 1, 1}));
    value y1 = relu(b, e1, conv(b, e1, x, (conv_form){expand, 1, 1, 1}));
    value y3 = relu(b, e3, conv(b, e3, x, (conv_form){expand, 3, 1, 1}));
    value y = binary(b, "Concat", text(b, name, "_concat"), y1, y3);
    set_int(b, b->nodes[b->n_nodes - 1], "axis", 1);
    return (value){y.name, 2 * expand};
}

static value build_squeezenet(builder *b, value x)
{
    static const int64_t squeeze[8] = {16, 16, 32, 32, 48, 48, 64, 64};
    x = relu(b, "conv1", conv(b, "conv1", x, (conv_form){64, 3, 2, 1}));
    x = max_pool(b, "pool1", x, 0);
    for (int i = 0; i < 8; i++) {
        x = fire(b, i + 2, x, squeeze[i], 4 * squeeze[i]);
        if (i == 1 || i == 3)
            x = max_pool(b, i == 1 ? "pool3" : "pool5", x, 0);
    }
    x = unary(b, "Dropout", "drop9", x);
    x = relu(b, "conv10", conv(b, "conv10", x, (conv_form){1000, 1, 1, 1}));
    return flatten(b, unary(b, "GlobalAveragePool", "pool10", x));
}

static value dense(builder *b, const char *name, value x, int64_t n)
{
    int64_t dims[2] = {x.channels, n};
    double deviation = sqrt(2 / (double)x.channels);
    value w = {add_tensor(b, text(b, name, "_w"), 2, dims, 0, deviation), n};
    value bias = {add_vector(b, text(b, name, "_b"), n, 0, 0.1), n};
    value y = binary(b, "MatMul", text(b, name, "_matmul"), x, w);
    y = binary(b, "Add", text(b, name, "_add"), y, bias);
    y.channels = n;
    return y;
}

static value build_mlp(builder *b, value x)
{
    x = relu(b, "fc1", dense(b, "fc1", x, 1024));
    x = relu(b, "fc2", dense(b, "fc2", x, 1024));
    x = relu(b, "fc3", dense(b, "fc3", x, 512));
    x = unary(b, "Softmax", "softmax", dense(b, "fc4", x, 10));
    set_int(b, b->nodes[b->n_nodes - 1], "axis", -1);
    return x;
}

static const network networks[] = {
    {"resnet50", {1, 3, 224, 224}, 4, build_resnet50},
    {"squeezenet", {1, 3, 224, 224}, 4, build_squeezenet},
    {"mlp", {8, 784}, 2, build_mlp},
};

#define N_NETWORKS ((int)(sizeof networks / sizeof *networks))

const char *noe_network_name(int i)
{
    return i < N_NETWORKS ? networks[i].name : NULL;
}

/* ---- the file ---- */

static Onnx__ValueInfoProto *value_info(builder *b, char *name, int rank,
                                        const int64_t *dims)
{
    noe_arena *a = &b->arena;
    Onnx__ValueInfoProto *info = NOE_NEW(a, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(info);
    info->name = name;
    info->type = NOE_NEW(a, Onnx__TypeProto);
    onnx__type_proto__init(info->type);
    Onnx__TypeProto__Tensor *tensor = NOE_NEW(a, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(tensor);
    info->type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = ONNX_FLOAT;
    tensor->shape = NOE_NEW(a, Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(tensor->shape);
    tensor->shape->n_dim = (size_t)rank;
    tensor->shape->dim = NOE_NEW_N(a, Onnx__TensorShapeProto__Dimension *, rank);
    for (int i = 0; i < rank; i++) {
        tensor->shape->dim[i] = NOE_NEW(a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(tensor->shape->dim[i]);
        tensor->shape->dim[i]->has_dim_value = 1;
        tensor->shape->dim[i]->dim_value = dims[i];
    }
    return info;
}

static void pack(builder *b, const network *net, value out, char **data, size_t *len)
{
    noe_arena *a = &b->arena;
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset, *opsets[1] = {&opset};
    onnx__model_proto__init(&model);
    onnx__graph_proto__init(&graph);
    onnx__operator_set_id_proto__init(&opset);
    int64_t out_dims[2] = {net->input[0], out.channels};
    Onnx__ValueInfoProto *in =
        value_info(b, text(b, "x", ""), net->n_input, net->input);
    Onnx__ValueInfoProto *result = value_info(b, out.name, 2, out_dims);
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.producer_name = noe_arena_strdup(a, "noether-make-model");
    model.graph = &graph;
    model.n_opset_import = 1;
    model.opset_import = opsets;
    opset.domain = noe_arena_strdup(a, "");
    opset.has_version = 1;
    opset.version = OPSET;
    graph.name = noe_arena_strdup(a, net->name);
    graph.n_node = b->n_nodes;
    graph.node = b->nodes;
    graph.n_initializer = b->n;
    graph.initializer = b->tensors;
    graph.n_input = graph.n_output = 1;
    graph.input = &in;
    graph.output = &result;
    *len = onnx__model_proto__get_packed_size(&model);
    *data = noe_malloc(*len);
    onnx__model_proto__pack(&model, (uint8_t *)*data);
}

noe_status noe_network_make(const char *name, uint64_t seed, char **data, size_t *len,
                            noe_error *err)
{
    const network *net = NULL;
    for (int i = 0; i < N_NETWORKS; i++) {
        if (strcmp(networks[i].name, name) == 0)
            net = &networks[i];
    }
    if (!net)
        return noe_fail(err, NOE_ERR_ARG, "there is no network '%s'", name);
    builder b = {.seed = seed};
    value x = {text(&b, "x", ""), net->input[1]};
    value out = net->build(&b, x);
    pack(&b, net, out, data, len);
    free(b.nodes);
    free(b.tensors);
    noe_arena_clear(&b.arena);
    return NOE_OK;
}
