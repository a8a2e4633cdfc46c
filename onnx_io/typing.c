/* SPDX-License-Identifier: Apache-2.0
 *
 * The algebra goes on behind an opaque node if the type of its output is known. Models
 * often declare it (value_info); for operators whose output has the type of an input,
 * or the broadcast of all, it is plain anyway. Everything else stays as declared.
 */
#include "onnx_io/typing.h"

/* Output 0 has the type of input 0. */
static const char *const same_as_input[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "Reciprocal",
    "Relu",
    "ReverseSequence",
    "RotaryEmbedding",
    "Round",
    "Scatter",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "TensorScatter",
    "ThresholdedRelu",
    "Trilu",
    "ScatterND",
    "ScatterElements",
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
};

/* Output 0 has the broadcast shape of all inputs, and the element type of one of them
 * or bool. */
#define BOOLEAN (-1)
static const struct {
    const char *op_type;
    int dtype_from;
} broadcasts[] = {
    {"Add", 0},           {"And", BOOLEAN},
    {"BitShift", 0},      {"BitwiseAnd", 0},
    {"BitwiseOr", 0},     {"BitwiseXor", 0},
    {"Div", 0},           {"Equal", BOOLEAN},
    {"Greater", BOOLEAN}, {"GreaterOrEqual", BOOLEAN},
    {"Less", BOOLEAN},    {"LessOrEqual", BOOLEAN},
    {"Max", 0},           {"Mean", 0},
    {"Min", 0},           {"Mod", 0},
    {"Mul", 0},           {"Or", BOOLEAN},
    {"Pow", 0},           {"Sub", 0},
    {"Sum", 0},           {"Where", 1},
    {"Xor", BOOLEAN},
};

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

static bool has_same_type(const char *op_type)
{
    for (size_t i = 0; i < COUNT(same_as_input); i++) {
        if (strcmp(same_as_input[i], op_type) == 0)
            return true;
    }
    return false;
}

/* Sizes within the limits, or symbolic. */
static bool is_sound(const noe_shape *s)
{
    int64_t product = 1;
    for (int i = 0; i < s->rank; i++) {
        int64_t dim = s->dim[i] > 1 ? s->dim[i] : 1;
        if (product > NOE_MAX_ELEMENTS / dim)
            return false;
        product *= dim;
    }
    return true;
}

void noe_typing_improve(noe_onnx_model *m, uint32_t value, const noe_type *type)
{
    noe_type *out = &m->values[value].type;
    if (type->dtype != NOE_UNKNOWN)
        out->dtype = type->dtype;
    if (type->shape.rank != NOE_RANK_UNKNOWN && !noe_shape_is_static(&out->shape) &&
        is_sound(&type->shape))
        out->shape = type->shape;
}

static void improve(noe_onnx_model *m, const noe_onnx_node *n, const noe_type *type)
{
    noe_typing_improve(m, n->out[0], type);
}

static bool broadcast_all(noe_onnx_model *m, const noe_onnx_node *n, noe_shape *shape)
{
    *shape = (noe_shape){0};
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const noe_type *type = noe_typing_input(&(noe_typing){m, n}, i);
        if (!type || !noe_shape_is_static(&type->shape) ||
            !noe_shape_broadcast(shape, &type->shape, shape))
            return false;
    }
    return true;
}

static void type_broadcast(noe_onnx_model *m, const noe_onnx_node *n, int dtype_from)
{
    noe_type type = {.dtype = NOE_BOOL};
    if (dtype_from != BOOLEAN) {
        const noe_type *from =
            noe_typing_input(&(noe_typing){m, n}, (size_t)dtype_from);
        type.dtype = from ? from->dtype : NOE_UNKNOWN;
    }
    if (!broadcast_all(m, n, &type.shape))
        type.shape.rank = NOE_RANK_UNKNOWN;
    improve(m, n, &type);
}

static void type_by_name(noe_onnx_model *m, const noe_onnx_node *n)
{
    const char *op_type = n->proto->op_type;
    const noe_type *first = noe_typing_input(&(noe_typing){m, n}, 0);
    noe_type type;
    if (noe_onnx_type_by_rule(&(noe_typing){m, n}, &type))
        improve(m, n, &type);
    if (has_same_type(op_type) && first)
        improve(m, n, first);
    for (size_t i = 0; i < COUNT(broadcasts); i++) {
        if (strcmp(broadcasts[i].op_type, op_type) == 0)
            type_broadcast(m, n, broadcasts[i].dtype_from);
    }
}

/* Element type of known integers: Shape and Size make int64, the others keep that of
 * their first input. */
static noe_dtype ints_dtype(noe_onnx_model *m, const noe_onnx_node *n)
{
    const char *op_type = n->proto->op_type;
    const noe_type *first = noe_typing_input(&(noe_typing){m, n}, 0);
    if (strcmp(op_type, "Shape") == 0 || strcmp(op_type, "Size") == 0)
        return NOE_I64;
    return first ? first->dtype : NOE_UNKNOWN;
}

static void type_first(noe_onnx_model *m, const noe_onnx_node *n)
{
    noe_onnx_value *out = &m->values[n->out[0]];
    type_by_name(m, n);
    if (!out->ints)
        return;
    if (out->type.dtype == NOE_UNKNOWN)
        out->type.dtype = ints_dtype(m, n);
    out->type.shape = (noe_shape){.rank = out->ints->rank, .dim = {out->ints->n}};
}

void noe_onnx_type_outputs(noe_onnx_model *m, const noe_onnx_node *n)
{
    if (n->proto->n_output == 0 || n->out[0] == NOE_NO_VALUE)
        return;
    type_first(m, n);
    noe_onnx_type_all_outputs(&(noe_typing){m, n});
}
