/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of the outputs behind the first, and of operators whose outputs are only to be
 * understood together.
 */
#include "onnx_io/typing.h"
#include <math.h>

#define MAX_OUTPUTS 4

/* types[0] is what is known of output 0 already; the others are unknown. */
typedef void outputs_rule(const noe_typing *t, noe_type *types);

static int64_t attribute(const noe_typing *t, const char *name, int64_t otherwise)
{
    return noe_onnx_attr_int(t->node->proto, name, otherwise);
}

static void second_is_i64(const noe_typing *t, noe_type *types)
{
    (void)t;
    types[1] = types[0];
    types[1].dtype = NOE_I64;
}

/* A mask: of type bool since opset 10. */
static void type_dropout(const noe_typing *t, noe_type *types)
{
    types[1] = types[0];
    if (t->m->opset >= 10)
        types[1].dtype = NOE_BOOL;
}

/* Statistics of each channel. */
static void type_batch_norm(const noe_typing *t, noe_type *types)
{
    for (size_t i = 1; i < MAX_OUTPUTS; i++) {
        const noe_type *from = noe_typing_input(t, i + 2 < 5 ? i + 2 : 4);
        if (from)
            types[i] = *from;
    }
}

/* Mean and inverse deviation: the normalized axes become 1. */
static void type_layer_norm(const noe_typing *t, noe_type *types)
{
    int64_t axis = attribute(t, "axis", -1);
    int rank = types[0].shape.rank;
    axis += axis < 0 ? rank : 0;
    if (rank < 1 || axis < 0 || axis >= rank)
        return;
    types[1] = types[0];
    types[1].dtype = noe_dtype_from_onnx((int32_t)attribute(t, "stash_type", 1));
    for (int i = (int)axis; i < rank; i++)
        types[1].shape.dim[i] = 1;
    types[2] = types[1];
}

static void type_top_k(const noe_typing *t, noe_type *types)
{
    const noe_type *x = noe_typing_input(t, 0);
    int64_t axis = attribute(t, "axis", -1), k = attribute(t, "k", NOE_DIM_UNKNOWN);
    if (!x || x->shape.rank < 1)
        return;
    axis += axis < 0 ? x->shape.rank : 0;
    if (axis < 0 || axis >= x->shape.rank)
        return;
    if (noe_typing_input(t, 1)) {
        const noe_onnx_ints *ints = t->m->values[t->node->in[1]].ints;
        k = ints && ints->n == 1 && ints->known[0] ? ints->v[0] : NOE_DIM_UNKNOWN;
    }
    types[0] = *x;
    types[0].shape.dim[axis] = k >= 0 ? k : NOE_DIM_UNKNOWN;
    second_is_i64(t, types);
}

static void type_dynamic_quantize(const noe_typing *t, noe_type *types)
{
    const noe_type *x = noe_typing_input(t, 0);
    if (x)
        types[0] = (noe_type){NOE_U8, x->shape};
    types[1] = (noe_type){.dtype = NOE_F32};
    types[2] = (noe_type){.dtype = NOE_U8};
}

/* [directions, batch, hidden] from Y's [steps, directions, batch, hidden]; with layout
 * 1 [batch, steps, directions, hidden] and [batch, directions, hidden]. */
static void type_states(const noe_typing *t, noe_type *types)
{
    const noe_type *x = noe_typing_input(t, 0), *r = noe_typing_input(t, 2);
    if (!x || !r || x->shape.rank != 3 || r->shape.rank != 3)
        return;
    int64_t a = x->shape.dim[0], b = x->shape.dim[1], d = r->shape.dim[0],
            h = r->shape.dim[2];
    bool batch_first = attribute(t, "layout", 0) != 0;
    const int64_t y[4] = {a, batch_first ? b : d, batch_first ? d : b, h};
    const int64_t state[3] = {batch_first ? a : d, batch_first ? d : b, h};
    types[0] = (noe_type){x->dtype, noe_shape_make(4, y)};
    types[1] = types[2] = (noe_type){x->dtype, noe_shape_make(3, state)};
}

static int64_t add_dims(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? NOE_DIM_UNKNOWN : a + b;
}

static int64_t divide_dim(int64_t a, int64_t b)
{
    return a < 0 || b < 1 ? NOE_DIM_UNKNOWN : a / b;
}

/* Y, present keys, present values, scores. */
static void type_attention(const noe_typing *t, noe_type *types)
{
    const noe_type *q = noe_typing_input(t, 0), *k = noe_typing_input(t, 1),
                   *v = noe_typing_input(t, 2), *past = noe_typing_input(t, 4);
    if (!q || !k || !v || q->shape.rank != k->shape.rank ||
        q->shape.rank != v->shape.rank || (q->shape.rank != 3 && q->shape.rank != 4) ||
        (past && past->shape.rank != 4))
        return;
    bool flat = q->shape.rank == 3;
    int at = flat ? 1 : 2; /* axis of the length */
    int64_t heads = flat ? attribute(t, "q_num_heads", 0) : q->shape.dim[1];
    int64_t kv = flat ? attribute(t, "kv_num_heads", 0) : k->shape.dim[1];
    if (flat && (heads < 1 || kv < 1))
        return;
    int64_t size = flat ? divide_dim(k->shape.dim[2], kv) : k->shape.dim[3];
    int64_t v_size = flat ? divide_dim(v->shape.dim[2], kv) : v->shape.dim[3];
    int64_t total = add_dims(k->shape.dim[at], past ? past->shape.dim[2] : 0);
    int64_t batch = q->shape.dim[0], len = q->shape.dim[at];
    int64_t wide = !flat || v_size < 0 || v_size > NOE_MAX_ELEMENTS / heads
                       ? NOE_DIM_UNKNOWN
                       : heads * v_size;
    types[0] = (noe_type){q->dtype, flat ? (noe_shape){3, {batch, len, wide}}
                                         : (noe_shape){4, {batch, heads, len, v_size}}};
    types[1] = (noe_type){k->dtype, {4, {batch, kv, total, size}}};
    types[2] = (noe_type){v->dtype, {4, {batch, kv, total, v_size}}};
    types[3] = (noe_type){q->dtype, {4, {batch, heads, len, total}}};
}

static const struct {
    const char *op_type;
    outputs_rule *fn;
} rules[] = {
    {"Attention", type_attention},
    {"BatchNormalization", type_batch_norm},
    {"Dropout", type_dropout},
    {"DynamicQuantizeLinear", type_dynamic_quantize},
    {"GRU", type_states},
    {"LSTM", type_states},
    {"LayerNormalization", type_layer_norm},
    {"MaxPool", second_is_i64},
    {"RNN", type_states},
    {"TopK", type_top_k},
};

void noe_onnx_type_all_outputs(const noe_typing *t)
{
    const noe_onnx_node *n = t->node;
    noe_type types[MAX_OUTPUTS];
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        if (strcmp(rules[r].op_type, n->proto->op_type) != 0)
            continue;
        for (int i = 0; i < MAX_OUTPUTS; i++)
            types[i] = (noe_type){.dtype = NOE_UNKNOWN, .shape.rank = NOE_RANK_UNKNOWN};
        if (n->proto->n_output > 0 && n->out[0] != NOE_NO_VALUE)
            types[0] = t->m->values[n->out[0]].type;
        rules[r].fn(t, types);
        for (size_t i = 0; i < n->proto->n_output && i < MAX_OUTPUTS; i++) {
            if (n->out[i] != NOE_NO_VALUE)
                noe_typing_improve(t->m, n->out[i], &types[i]);
        }
    }
}
