/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions: the whole group as one call of cuDNN; where it has no engine for that,
 * the convolution alone and kernels behind it; where it has none at all (pads that no
 * engine takes, say), our own kernel, straight from the definition and slow.
 */
#include "runtime/cuda/plan.h"
#include "core/base/hash.h"

typedef struct conv_group {
    noe_cu_conv conv;
    noe_ref x, w;
    noe_ref bias, residual; /* or none */
    uint32_t vector;        /* bias's buffer */
} conv_group;

static const noe_value *param(const noe_cu_plan *p, uint32_t node, noe_param which)
{
    return noe_params_get(p->g->nodes[node].op, p->g->nodes[node].params, which);
}

/* Rank 3 as rank 4 with rows of height 1. */
static noe_shape widen(const noe_shape *s)
{
    if (s->rank != 3)
        return *s;
    return (noe_shape){.rank = 4, .dim = {s->dim[0], s->dim[1], 1, s->dim[2]}};
}

static void describe_window(const noe_cu_plan *p, uint32_t node, int n_axes,
                            noe_cu_conv *c)
{
    const noe_value *strides = param(p, node, NOE_PARAM_STRIDES),
                    *pads = param(p, node, NOE_PARAM_PADS),
                    *dilations = param(p, node, NOE_PARAM_DILATIONS);
    int lead = n_axes == 1;
    c->n_axes = n_axes + lead;
    for (int i = 0; i < c->n_axes; i++) {
        bool real = i >= lead;
        int k = i - lead;
        c->strides[i] = real ? strides->list[k] : 1;
        c->begins[i] = real ? pads->list[k] : 0;
        c->ends[i] = real ? pads->list[k + n_axes] : 0;
        c->dilations[i] = real ? dilations->list[k] : 1;
    }
}

static void describe(const noe_cu_plan *p, const noe_fusion *f, conv_group *c)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    *c = (conv_group){.x = f->operands[0],
                      .w = f->operands[1],
                      .bias = NOE_REF_NONE,
                      .residual = NOE_REF_NONE,
                      .vector = NOE_CU_NONE};
    c->conv.order = p->prefer;
    c->conv.activation = NOE_OP_COUNT;
    c->conv.is_transposed = n->op == NOE_OP_CONV_TRANSPOSE;
    c->conv.x = widen(noe_cu_shape(p, c->x));
    c->conv.w = widen(noe_cu_shape(p, c->w));
    c->conv.y = widen(&n->types[0].shape);
    describe_window(p, f->anchor, n->types[0].shape.rank - 2, &c->conv);
    if (n->op == NOE_OP_CONV_BIAS)
        c->bias = f->operands[2];
    for (int i = 0; i < f->n_steps; i++) {
        if (f->steps[i].role == NOE_FUSION_BIAS)
            c->bias = f->steps[i].other;
        else if (f->steps[i].role == NOE_FUSION_RESIDUAL)
            c->residual = f->steps[i].other;
        else
            c->conv.activation = p->g->nodes[f->steps[i].node].op;
    }
    c->conv.has_bias = !noe_ref_is_none(c->bias);
    c->conv.has_residual = !noe_ref_is_none(c->residual);
}

/* A convolution and all that tells how long it takes, hashed. */
static uint64_t key_of(const noe_cu_plan *p, const noe_cu_conv *c)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s conv %d %d %d %d %d", p->device->base.description,
                   c->is_transposed, (int)c->order, c->has_bias, c->has_residual,
                   (int)c->activation);
    const noe_shape *shapes[] = {&c->x, &c->w, &c->y};
    for (int k = 0; k < 3; k++) {
        noe_buf_puts(&b, " ");
        noe_shape_print(&b, shapes[k]);
    }
    for (int i = 0; i < c->n_axes; i++)
        noe_buf_printf(&b, " %lld %lld %lld %lld", (long long)c->strides[i],
                       (long long)c->begins[i], (long long)c->ends[i],
                       (long long)c->dilations[i]);
    uint64_t hash = noe_hash64(b.text, b.len, 0);
    noe_buf_clear(&b);
    return hash;
}

static bool pads_are_negative(const noe_cu_conv *c)
{
    for (int i = 0; i < c->n_axes; i++) {
        if (c->begins[i] < 0 || c->ends[i] < 0)
            return true;
    }
    return false;
}

/* *done: there are plans, and the step is added. */
static noe_status add_call(noe_cu_plan *p, const noe_fusion *f, const conv_group *c,
                           bool *done, noe_error *err)
{
    noe_cu_dnn *dnn;
    uint32_t args[NOE_CU_MAX_OPERANDS];
    int n = 3;
    *done = false;
    if (pads_are_negative(&c->conv))
        return NOE_OK;
    NOE_TRY(noe_cu_dnn_plan(p, &c->conv, &dnn, err));
    if (dnn->n_plans == 0) {
        noe_cu_dnn_clear(&p->device->api, dnn);
        return NOE_OK;
    }
    noe_status status = noe_cu_get(p, c->x, c->conv.order, &args[1], err);
    if (status == NOE_OK)
        status = noe_cu_get(p, c->w, c->conv.order, &args[2], err);
    if (status == NOE_OK && c->conv.has_bias)
        args[n++] = c->vector;
    if (status == NOE_OK && c->conv.has_residual)
        status = noe_cu_get(p, c->residual, c->conv.order, &args[n++], err);
    if (status != NOE_OK) {
        noe_cu_dnn_clear(&p->device->api, dnn);
        return status;
    }
    args[0] = noe_cu_make(p, f->last, c->conv.order);
    noe_cu_step *step = noe_cu_add_step(p, NOE_CU_CONVOLVE, args, n);
    step->dnn = dnn;
    step->key = key_of(p, &c->conv);
    *done = true;
    return NOE_OK;
}

static noe_status add_direct(noe_cu_plan *p, const noe_fusion *f, const conv_group *c,
                             noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_cu_shape(p, c->x), *w = noe_cu_shape(p, c->w),
                    *y = &n->types[0].shape;
    noe_cu_order order = noe_cu_order_of(p, c->x);
    uint32_t args[3];
    noe_cu_args *a;
    if (x->rank > 5)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "node %u: convolution of rank %d",
                        f->anchor, x->rank);
    NOE_TRY(noe_cu_get(p, c->x, order, &args[1], err));
    NOE_TRY(noe_cu_get(p, c->w, order, &args[2], err));
    args[0] = noe_cu_make(p, f->last, order);
    noe_shape space = noe_cu_five_axes(y);
    noe_strides strides[3] = {
        noe_cu_five_strides(y, order), noe_cu_five_strides(x, order), {{0}}};
    noe_strides kernel = noe_cu_five_strides(w, order);
    NOE_TRY(noe_cu_add_launch(p, NOE_CU_KERNEL_CONV_DIRECT, &space, strides, args, 3,
                              &a, err));
    for (int i = 0; i < 5; i++)
        a->inner_stride[0][i] = kernel.of[i];
    a->op = (int)(c->conv.is_transposed ? NOE_OP_CONV_TRANSPOSE : NOE_OP_CONV);
    noe_cu_set_window(a, p->g, f->anchor, x, w->dim + 2);
    int64_t group = param(p, f->anchor, NOE_PARAM_GROUP)->i;
    a->i[NOE_CU_GROUPED] = (int)(x->dim[1] / group);
    a->i[NOE_CU_RESULTS] = (int)(y->dim[1] / group);
    return NOE_OK;
}

/* Bias, residual and activation by kernels, in place. */
static noe_status add_rest(noe_cu_plan *p, const noe_fusion *f, const conv_group *c,
                           noe_error *err)
{
    noe_cu_order order = p->values[f->last].made;
    uint32_t y = p->values[f->last].buffer[order];
    noe_op act = c->conv.activation;
    if (c->conv.has_bias) {
        noe_op now = c->conv.has_residual ? NOE_OP_COUNT : act;
        NOE_TRY(noe_cu_add_channels(p, f->last, y, order, c->vector, now, err));
    }
    if (c->conv.has_residual)
        return noe_cu_add_follower(p, f->last, y, order, NOE_OP_ADD, c->residual, act,
                                   err);
    if (!c->conv.has_bias && act != NOE_OP_COUNT)
        return noe_cu_add_follower(p, f->last, y, order, NOE_OP_COUNT, NOE_REF_NONE,
                                   act, err);
    return NOE_OK;
}

noe_status noe_cu_emit_conv(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    conv_group c;
    bool done;
    describe(p, f, &c);
    if (c.conv.has_bias && p->g->nodes[c.bias.node].is_weight)
        NOE_TRY(noe_cu_weight_vector(p, c.bias, c.conv.y.dim[1], &c.vector, err));
    else if (c.conv.has_bias)
        NOE_TRY(noe_cu_get(p, c.bias, NOE_CU_PLAIN, &c.vector, err));
    NOE_TRY(add_call(p, f, &c, &done, err));
    bool is_fused =
        c.conv.has_bias || c.conv.has_residual || c.conv.activation != NOE_OP_COUNT;
    if (done)
        return NOE_OK;
    conv_group alone = c;
    alone.conv.has_bias = alone.conv.has_residual = false;
    alone.conv.activation = NOE_OP_COUNT;
    if (is_fused)
        NOE_TRY(add_call(p, f, &alone, &done, err));
    if (!done)
        NOE_TRY(add_direct(p, f, &alone, err));
    return add_rest(p, f, &c, err);
}
