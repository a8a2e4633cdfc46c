/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that getters share, and the getters of operators without much form: elementwise
 * ones, products, reductions, normalisation.
 *
 * A getter is strict: an attribute, an input or an output that it does not know makes
 * the node opaque, since newer opsets give operators new meaning that way.
 */
#include "onnx_io/get.h"
#include <stdio.h>

/* ---- steps ---- */

const char *noe_get_why(noe_getting *g, const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return noe_arena_strdup(&g->m->arena, text);
}

size_t noe_get_n_inputs(const noe_getting *g)
{
    size_t n = g->node->proto->n_input;
    while (n > 0 && g->node->in[n - 1] == NOE_NO_VALUE)
        n--;
    return n;
}

bool noe_get_has(const noe_getting *g, size_t slot)
{
    return slot < g->node->proto->n_input && g->node->in[slot] != NOE_NO_VALUE;
}

const char *noe_get_want_inputs(noe_getting *g, size_t min, size_t max)
{
    size_t n = noe_get_n_inputs(g);
    if (n < min || n > max)
        return noe_get_why(g, "%zu inputs are not understood", n);
    return NULL;
}

static bool is_word_of(const char *word, const char *words)
{
    size_t len = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += len) {
        bool starts = p == words || p[-1] == ' ';
        if (len > 0 && starts && (p[len] == ' ' || p[len] == '\0'))
            return true;
        if (len == 0)
            return false;
    }
    return false;
}

const char *noe_get_only_attributes(noe_getting *g, const char *names)
{
    const Onnx__NodeProto *n = g->node->proto;
    for (size_t i = 0; i < n->n_attribute; i++) {
        const char *name = n->attribute[i]->name ? n->attribute[i]->name : "";
        if (!is_word_of(name, names))
            return noe_get_why(g, "attribute '%s' is not understood", name);
        if (n->attribute[i]->ref_attr_name)
            return noe_get_why(g, "attribute '%s' is a reference", name);
    }
    return NULL;
}

const char *noe_get_one_output(noe_getting *g)
{
    const noe_onnx_node *n = g->node;
    if (n->proto->n_output == 0 || n->out[0] == NOE_NO_VALUE)
        return "it has no first output";
    for (size_t i = 1; i < n->proto->n_output; i++) {
        if (n->out[i] != NOE_NO_VALUE && g->m->values[n->out[i]].is_used)
            return noe_get_why(g, "output %zu is used", i);
    }
    return NULL;
}

const char *noe_get_data(noe_getting *g, size_t slot, noe_ref *r, const noe_shape **s)
{
    if (!noe_get_has(g, slot))
        return noe_get_why(g, "input %zu is missing", slot);
    const noe_onnx_value *v = &g->m->values[g->node->in[slot]];
    if (!noe_dtype_is_floating(v->type.dtype) && !g->only_type)
        return noe_get_why(g, "input %zu has element type %s", slot,
                           noe_dtype_name(v->type.dtype));
    if (!noe_shape_is_static(&v->type.shape))
        return noe_get_why(g, "the shape of input %zu is not known", slot);
    g->node->role[slot] = NOE_SLOT_DATA;
    *r = v->ref;
    if (s)
        *s = &v->type.shape;
    return NULL;
}

const char *noe_get_condition(noe_getting *g, size_t slot, noe_ref *r)
{
    if (!noe_get_has(g, slot))
        return noe_get_why(g, "input %zu is missing", slot);
    const noe_onnx_value *v = &g->m->values[g->node->in[slot]];
    if (v->type.dtype != NOE_BOOL || !noe_shape_is_static(&v->type.shape))
        return noe_get_why(g, "input %zu is no bool of known shape", slot);
    g->node->role[slot] = NOE_SLOT_DATA;
    *r = v->ref;
    return NULL;
}

const char *noe_get_ints(noe_getting *g, size_t slot, const char *what, noe_value *v)
{
    const noe_onnx_ints *ints =
        noe_get_has(g, slot) ? g->m->values[g->node->in[slot]].ints : NULL;
    if (!ints)
        return noe_get_why(g, "%s is not constant", what);
    if (ints->n > NOE_MAX_LIST)
        return noe_get_why(g, "%s has %lld values", what, (long long)ints->n);
    *v = (noe_value){.kind = NOE_KIND_INTS, .n = (int)ints->n};
    for (int i = 0; i < v->n; i++) {
        if (!ints->known[i])
            return noe_get_why(g, "%s is not constant", what);
        v->list[i] = ints->v[i];
    }
    g->node->role[slot] = NOE_SLOT_OPERAND;
    return NULL;
}

const char *noe_get_floats(noe_getting *g, size_t slot, const char *what,
                           const float **v, int64_t *n)
{
    if (!noe_get_has(g, slot))
        return noe_get_why(g, "%s is missing", what);
    const noe_onnx_value *value = &g->m->values[g->node->in[slot]];
    if (noe_graph_node(g->m->graph, value->ref.node)->op != NOE_OP_WEIGHT)
        return noe_get_why(g, "%s is not constant", what);
    const noe_leaf *leaf = noe_graph_leaf_of(g->m->graph, value->ref.node);
    *n = (int64_t)(leaf->data_bytes / sizeof **v);
    *v = leaf->data;
    if (leaf->type.dtype != NOE_F32 || (!leaf->data && *n > 0))
        return noe_get_why(g, "%s is no f32 constant", what);
    g->node->role[slot] = NOE_SLOT_OPERAND;
    return NULL;
}

bool noe_get_text_is(const noe_getting *g, const char *name, const char *otherwise,
                     const char *text)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, name);
    if (!a)
        return strcmp(otherwise, text) == 0;
    return a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

const char *noe_get_list(noe_getting *g, const char *name, noe_value *v, bool *found)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, name);
    *found = a != NULL;
    if (!a)
        return NULL;
    if (a->n_ints > NOE_MAX_LIST)
        return noe_get_why(g, "%s has %zu values", name, a->n_ints);
    *v = noe_value_list(NOE_KIND_INTS, (int)a->n_ints, a->ints);
    return NULL;
}

const char *noe_get_list_or_input(noe_getting *g, const char *name, int since,
                                  size_t slot, noe_value *v, bool *found)
{
    if (g->m->opset < since)
        return noe_get_list(g, name, v, found);
    *found = noe_get_has(g, slot);
    return *found ? noe_get_ints(g, slot, name, v) : NULL;
}

void noe_get_set_int(noe_op op, noe_params *p, noe_param which, int64_t i)
{
    noe_value v = noe_value_int(noe_param_kind_of(which), i);
    noe_params_set(op, p, which, &v);
}

void noe_get_set_float(noe_op op, noe_params *p, noe_param which, double f)
{
    noe_value v = noe_value_float(f);
    noe_params_set(op, p, which, &v);
}

void noe_get_set_list(noe_op op, noe_params *p, noe_param which, const noe_value *v)
{
    noe_value copy = noe_value_list(noe_param_kind_of(which), v->n, v->list);
    noe_params_set(op, p, which, &copy);
}

const char *noe_get_add(noe_getting *g, noe_op op, const noe_params *p,
                        const noe_ref *in, int n_in, noe_ref *out)
{
    if (noe_graph_add(g->m->graph, op, p, in, n_in, out, &g->err) != NOE_OK)
        return noe_get_why(g, "%s", g->err.text);
    noe_dtype d = noe_graph_type(g->m->graph, *out)->dtype;
    if (!noe_op_computes(op, d) && !g->only_type)
        return noe_get_why(g, "%s is outside the algebra for element type %s",
                           noe_op_get(op)->name, noe_dtype_name(d));
    return NULL;
}

void noe_get_done(noe_getting *g, uint32_t port, noe_op op, noe_ref r)
{
    noe_onnx_node *n = g->node;
    n->kind = NOE_NODE_ALGEBRA;
    n->op = op;
    g->done = r;
    if (n->out[port] == NOE_NO_VALUE)
        return;
    noe_onnx_value *v = &g->m->values[n->out[port]];
    v->type = *noe_graph_type(g->m->graph, r);
    if (g->only_type)
        return;
    v->ref = r;
    noe_graph_set_origin(g->m->graph, r.node, g->index + 1);
    noe_graph_set_name(g->m->graph, r.node, v->name);
}

const char *noe_get_chain(noe_getting *g, noe_op op, noe_ref *chain)
{
    noe_ref next;
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_one_output(g));
    size_t n = noe_get_n_inputs(g);
    NOE_GET(noe_get_want_inputs(g, 1, n));
    NOE_GET(noe_get_data(g, 0, chain, NULL));
    for (size_t i = 1; i < n; i++) {
        NOE_GET(noe_get_data(g, i, &next, NULL));
        NOE_GET(noe_get_add(g, op, NULL, (noe_ref[]){*chain, next}, 2, chain));
    }
    return NULL;
}

const char *noe_get_function(noe_getting *g, const char *attributes, noe_ref *x)
{
    NOE_GET(noe_get_only_attributes(g, attributes));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    return noe_get_data(g, 0, x, NULL);
}

const char *noe_get_result(noe_getting *g, const noe_params *p, noe_ref x)
{
    noe_ref out;
    NOE_GET(noe_get_add(g, g->op, p, &x, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

const char *noe_get_alias(noe_getting *g)
{
    noe_onnx_node *n = g->node;
    NOE_GET(noe_get_one_output(g));
    if (!noe_get_has(g, 0))
        return "input 0 is missing";
    const noe_onnx_value *from = &g->m->values[n->in[0]];
    noe_onnx_value *to = &g->m->values[n->out[0]];
    n->kind = NOE_NODE_ALIAS;
    n->role[0] = NOE_SLOT_DATA;
    to->ref = from->ref;
    to->type = from->type;
    to->ints = from->ints;
    return NULL;
}

/* ---- getters ---- */

/* All inputs are data, there are no attributes. */
static const char *get_plain(noe_getting *g)
{
    const noe_op_info *info = noe_op_get(g->op);
    noe_ref in[NOE_MAX_PARAMS + 2], out;
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, (size_t)info->min_in, (size_t)info->max_in));
    NOE_GET(noe_get_one_output(g));
    int n = (int)noe_get_n_inputs(g);
    for (int i = 0; i < n; i++)
        NOE_GET(noe_get_data(g, (size_t)i, &in[i], NULL));
    NOE_GET(noe_get_add(g, g->op, NULL, in, n, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

static const char *get_chain(noe_getting *g)
{
    noe_ref chain;
    if (noe_get_n_inputs(g) == 1) {
        NOE_GET(noe_get_only_attributes(g, ""));
        return noe_get_alias(g);
    }
    NOE_GET(noe_get_chain(g, g->op, &chain));
    noe_get_done(g, 0, g->op, chain);
    return NULL;
}

static const char *get_gemm(noe_getting *g)
{
    noe_ref in[3], out;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, "alpha beta transA transB"));
    NOE_GET(noe_get_want_inputs(g, 2, 3));
    NOE_GET(noe_get_one_output(g));
    int n = (int)noe_get_n_inputs(g);
    for (int i = 0; i < n; i++)
        NOE_GET(noe_get_data(g, (size_t)i, &in[i], NULL));
    const Onnx__NodeProto *proto = g->node->proto;
    noe_get_set_float(g->op, &p, NOE_PARAM_ALPHA,
                      noe_onnx_attr_float(proto, "alpha", 1));
    noe_get_set_float(g->op, &p, NOE_PARAM_BETA, noe_onnx_attr_float(proto, "beta", 1));
    noe_get_set_int(g->op, &p, NOE_PARAM_TRANS_A,
                    noe_onnx_attr_int(proto, "transA", 0) != 0);
    noe_get_set_int(g->op, &p, NOE_PARAM_TRANS_B,
                    noe_onnx_attr_int(proto, "transB", 0) != 0);
    NOE_GET(noe_get_add(g, g->op, &p, in, n, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

static const char *get_batch_normalization(noe_getting *g)
{
    noe_ref in[5], out;
    noe_params p = {0};
    const Onnx__NodeProto *proto = g->node->proto;
    NOE_GET(noe_get_only_attributes(g, "epsilon momentum spatial training_mode"));
    NOE_GET(noe_get_want_inputs(g, 5, 5));
    if (noe_onnx_attr_int(proto, "spatial", 1) != 1)
        return "spatial is 0";
    if (noe_onnx_attr_int(proto, "training_mode", 0) != 0)
        return "training_mode is set";
    for (size_t i = 1; i < proto->n_output; i++) {
        if (*proto->output[i])
            return "it has outputs of training";
    }
    NOE_GET(noe_get_one_output(g));
    for (size_t i = 0; i < 5; i++)
        NOE_GET(noe_get_data(g, i, &in[i], NULL));
    noe_get_set_float(g->op, &p, NOE_PARAM_EPSILON,
                      noe_onnx_attr_float(proto, "epsilon", (double)1e-5F));
    NOE_GET(noe_get_add(g, g->op, &p, in, 5, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

/* Since which opset the axes of a reduction are an input. */
static int axes_input_since(noe_op op)
{
    return op == NOE_OP_REDUCE_SUM ? 13 : 18;
}

static const char *get_reduction(noe_getting *g)
{
    noe_ref x, out;
    const noe_shape *s;
    noe_value axes = {.kind = NOE_KIND_AXES};
    bool found;
    noe_params p = {0};
    int since = axes_input_since(g->op);
    bool takes_input = g->m->opset >= since;
    NOE_GET(noe_get_only_attributes(g, takes_input ? "keepdims noop_with_empty_axes"
                                                   : "axes keepdims"));
    NOE_GET(noe_get_want_inputs(g, 1, takes_input ? 2 : 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    NOE_GET(noe_get_list_or_input(g, "axes", since, 1, &axes, &found));
    if (!found || axes.n == 0) {
        if (s->rank == 0 ||
            noe_onnx_attr_int(g->node->proto, "noop_with_empty_axes", 0))
            return noe_get_alias(g);
        for (axes.n = 0; axes.n < s->rank; axes.n++)
            axes.list[axes.n] = axes.n;
    }
    noe_get_set_list(g->op, &p, NOE_PARAM_AXES, &axes);
    noe_get_set_int(g->op, &p, NOE_PARAM_KEEPDIMS,
                    noe_onnx_attr_int(g->node->proto, "keepdims", 1) != 0);
    NOE_GET(noe_get_add(g, g->op, &p, &x, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

/* Before opset 13 the axes from `axis` on are one. That is the same where the ones
 * behind it have size 1. */
static bool softmax_is_single_axis(const noe_shape *s, int64_t axis)
{
    int64_t behind = 1;
    for (int64_t i = axis + 1; i < s->rank; i++)
        behind *= s->dim[i] == 1 ? 1 : 2;
    return behind == 1;
}

static const char *get_softmax(noe_getting *g)
{
    noe_ref x, out;
    const noe_shape *s;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, "axis"));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    bool flattens = g->m->opset < 13;
    int64_t axis = noe_onnx_attr_int(g->node->proto, "axis", flattens ? 1 : -1);
    if (axis < -s->rank || axis >= s->rank)
        return noe_get_why(g, "axis %lld does not exist", (long long)axis);
    axis += axis < 0 ? s->rank : 0;
    if (flattens && !softmax_is_single_axis(s, axis))
        return "it runs over several axes";
    noe_get_set_int(g->op, &p, NOE_PARAM_AXIS, axis);
    NOE_GET(noe_get_add(g, g->op, &p, &x, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

static const char *get_identity(noe_getting *g)
{
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    return noe_get_alias(g);
}

/* In inference it passes its input on; the mask must be unused. */
static const char *get_dropout(noe_getting *g)
{
    NOE_GET(noe_get_only_attributes(g, "ratio seed"));
    NOE_GET(noe_get_want_inputs(g, 1, 3));
    if (noe_get_has(g, 2)) {
        noe_value training;
        NOE_GET(noe_get_ints(g, 2, "training_mode", &training));
        if (training.n != 1 || training.list[0] != 0)
            return "training_mode is set";
    }
    return noe_get_alias(g);
}

static const char *get_where_node(noe_getting *g)
{
    noe_ref in[3], out;
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 3, 3));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_condition(g, 0, &in[0]));
    for (size_t i = 1; i < 3; i++)
        NOE_GET(noe_get_data(g, i, &in[i], NULL));
    NOE_GET(noe_get_add(g, g->op, NULL, in, 3, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

/* To the type that it has already it passes its input on. */
static const char *get_cast(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    NOE_GET(noe_get_only_attributes(g, "to saturate round_mode"));
    NOE_GET(noe_get_want_inputs(g, 1, 1));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, NULL));
    int64_t to = noe_onnx_attr_int(g->node->proto, "to", 0);
    if (to == noe_dtype_to_onnx(g->m->values[g->node->in[0]].type.dtype))
        return noe_get_alias(g);
    noe_get_set_int(g->op, &p, NOE_PARAM_TO, to);
    return noe_get_result(g, &p, x);
}

/* ---- the table ---- */

#define get_add                    get_plain
#define get_sub                    get_plain
#define get_mul                    get_plain
#define get_div                    get_plain
#define get_neg                    get_plain
#define get_relu                   get_plain
#define get_sigmoid                get_plain
#define get_tanh                   get_plain
#define get_exp                    get_plain
#define get_sqrt                   get_plain
#define get_reciprocal             get_plain
#define get_matmul                 get_plain
#define get_conv                   noe_get_conv
#define get_max_pool               noe_get_max_pool
#define get_average_pool           noe_get_average_pool
#define get_reduce_sum             get_reduction
#define get_reduce_mean            get_reduction
#define get_transpose              noe_get_transpose
#define get_reshape                noe_get_reshape
#define get_concat                 noe_get_concat
#define get_slice                  noe_get_slice
#define get_pad                    noe_get_pad
#define get_zeros                  NULL
#define get_ones                   NULL
#define get_identity_matrix        NULL
#define get_identity_kernel        NULL
#define get_average_kernel         NULL
#define get_scalar                 NULL
#define get_gather                 noe_get_gather
#define get_expand                 noe_get_expand
#define get_resize                 noe_get_resize
#define get_where                  get_where_node
#define get_conv_transpose         noe_get_conv_transpose
#define get_layer_normalization    noe_get_layer_normalization
#define get_instance_normalization noe_get_instance_normalization
#define get_group_normalization    noe_get_group_normalization
#define get_conv_bias              noe_get_conv /* Conv finds the row of conv first */
#define get_global_average_pool    get_plain
#define get_flatten                noe_get_flatten
#define get_squeeze                noe_get_squeeze
#define get_unsqueeze              noe_get_unsqueeze
#define get_max                    get_chain
#define get_min                    get_chain
#define get_abs                    get_plain
#define get_log                    get_plain
#define get_erf                    get_plain
#define get_reduce_max             get_reduction
#define get_leaky_relu             noe_get_alpha
#define get_clip                   noe_get_clip
#define get_pow                    noe_get_pow
#define get_gelu                   noe_get_gelu
#define get_swish                  noe_get_alpha
#define get_hard_sigmoid           noe_get_hard_sigmoid
#define get_hard_swish             get_plain
#define get_elu                    noe_get_alpha
#define get_softplus               get_plain
#define get_prelu                  get_plain
#define get_reduce_min             get_reduction
#define get_log_softmax            get_softmax

typedef struct getter_row {
    const char *op_type;
    noe_op op;
    noe_getter *fn;
} getter_row;

static const getter_row rows[] = {
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) \
    {ONNX, NOE_OP_##ID, get_##NAME},
#include "core/ops.def"
    /* ONNX operators that are several core nodes or none */
    {"Sum", NOE_OP_ADD, get_chain},
    {"Split", NOE_OP_SLICE, noe_get_split},
    {"Identity", NOE_OP_OPAQUE, get_identity},
    {"Mean", NOE_OP_ADD, noe_get_mean},
    {"Upsample", NOE_OP_RESIZE, noe_get_resize},
    {"Tile", NOE_OP_RESHAPE, noe_get_tile},
    {"DepthToSpace", NOE_OP_RESHAPE, noe_get_depth_to_space},
    {"SpaceToDepth", NOE_OP_RESHAPE, noe_get_space_to_depth},
    {"Einsum", NOE_OP_MATMUL, noe_get_einsum},
    {"GlobalMaxPool", NOE_OP_MAX_POOL, noe_get_global_max_pool},
    {"Dropout", NOE_OP_OPAQUE, get_dropout},
    {"Constant", NOE_OP_WEIGHT, noe_get_constant},
    {"ConstantOfShape", NOE_OP_WEIGHT, noe_get_constant_of_shape},
};

noe_getter *noe_onnx_find_getter(const char *op_type, noe_op *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op_type && strcmp(rows[i].op_type, op_type) == 0) {
            *op = rows[i].op;
            return rows[i].fn;
        }
    }
    return NULL;
}
