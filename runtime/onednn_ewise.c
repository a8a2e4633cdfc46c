/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operators and batch normalization.
 *
 * They work in the layout that their (larger) operand has, so that a chain behind a
 * convolution stays blocked. oneDNN's binary primitive broadcasts its second operand
 * only: a broadcast first one is exchanged, where the operator is not commutative with
 * a correction after it (a - b = -(b - a), a / b = 1 / (b / a)). In C order, axes that
 * broadcast alike are merged, which brings most cases to what the fast kernel knows.
 * A weight of one value is no operand at all but a linear function of the other.
 *
 * Not guaranteed: what becomes of NaN. oneDNN 2.6 gives relu(NaN) = 0, exp(NaN) =
 * infinity, and zero for results that are no normal numbers.
 */
#include "runtime/onednn.h"
#include <math.h>

static const noe_dnn_eltwise eltwise[NOE_OP_COUNT] = {
    [NOE_OP_NEG] = {dnnl_eltwise_linear, -1, 0},
    [NOE_OP_RELU] = {dnnl_eltwise_relu, 0, 0},
    [NOE_OP_SIGMOID] = {dnnl_eltwise_logistic, 0, 0},
    [NOE_OP_TANH] = {dnnl_eltwise_tanh, 0, 0},
    [NOE_OP_EXP] = {dnnl_eltwise_exp, 0, 0},
    [NOE_OP_SQRT] = {dnnl_eltwise_sqrt, 0, 0},
    [NOE_OP_RECIPROCAL] = {dnnl_eltwise_pow, 1, -1},
    [NOE_OP_ABS] = {dnnl_eltwise_abs, 0, 0},
    [NOE_OP_LEAKY_RELU] = {dnnl_eltwise_relu, 0, 0},
    [NOE_OP_CLIP] = {dnnl_eltwise_clip, 0, 0},
    [NOE_OP_POW] = {dnnl_eltwise_pow, 1, 0},
    [NOE_OP_GELU] = {dnnl_eltwise_gelu_erf, 0, 0},
    [NOE_OP_SWISH] = {dnnl_eltwise_swish, 0, 0},
    [NOE_OP_HARD_SWISH] = {dnnl_eltwise_hardswish, 0, 0},
    [NOE_OP_ELU] = {dnnl_eltwise_elu, 0, 0},
    [NOE_OP_SOFTPLUS] = {dnnl_eltwise_soft_relu, 1, 0},
    [NOE_OP_LOG] = {dnnl_eltwise_log, 0, 0},
};

bool noe_dnn_eltwise_of(noe_op op, noe_dnn_eltwise *e)
{
    *e = eltwise[op];
    return e->alg != dnnl_alg_kind_undef;
}

noe_status noe_dnn_add_eltwise(noe_dnn_plan *p, const noe_dnn_eltwise *e,
                               const noe_dnn_view *from, noe_dnn_view *to, bool *done,
                               noe_error *err)
{
    dnnl_eltwise_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, e->alg, &from->md,
                                       e->alpha, e->beta) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    *to = noe_dnn_can_overwrite(p, from) ? *from : noe_dnn_new_view(p, &from->md);
    const noe_dnn_arg args[] = {{DNNL_ARG_SRC, *from}, {DNNL_ARG_DST, *to}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 2, err));
    *done = true;
    return NOE_OK;
}

/* The node's parameters in oneDNN's terms. */
static noe_dnn_eltwise function_of(const noe_node *n)
{
    noe_dnn_eltwise e = eltwise[n->op];
    const noe_value *v = n->params ? n->params->v : NULL;
    switch ((int)n->op) {
    case NOE_OP_LEAKY_RELU:
    case NOE_OP_SWISH:
    case NOE_OP_ELU:
        e.alpha = (float)v[0].f;
        break;
    case NOE_OP_POW:
        e.beta = (float)v[0].f;
        break;
    case NOE_OP_CLIP:
        e.alpha = (float)v[0].f;
        e.beta = (float)v[1].f;
        break;
    case NOE_OP_GELU:
        e.alg = v[0].i ? dnnl_eltwise_gelu_tanh : e.alg;
        break;
    }
    return e;
}

noe_status noe_dnn_emit_unary(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                              noe_error *err)
{
    noe_dnn_view from, to;
    NOE_TRY(noe_dnn_get(p, f->operands[0], NULL, &from, err));
    noe_dnn_eltwise e = function_of(&p->g->nodes[f->anchor]);
    NOE_TRY(noe_dnn_add_eltwise(p, &e, &from, &to, done, err));
    if (*done)
        noe_dnn_set_value(p, f->last, &to);
    return NOE_OK;
}

/* Post-ops: the correction of exchanged operands, then the activation. */
static noe_status make_attr(const noe_dnn_plan *p, const noe_fusion *f,
                            const noe_dnn_eltwise *correction,
                            dnnl_primitive_attr_t *attr, noe_error *err)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(attr);
    if (s == dnnl_success)
        s = dnnl_post_ops_create(&ops);
    if (s == dnnl_success && correction->alg != dnnl_alg_kind_undef)
        s = dnnl_post_ops_append_eltwise(ops, 1.0f, correction->alg, correction->alpha,
                                         correction->beta);
    for (int i = 0; i < f->n_steps && s == dnnl_success; i++) {
        noe_dnn_eltwise e = eltwise[p->g->nodes[f->steps[i].node].op];
        s = dnnl_post_ops_append_eltwise(ops, 1.0f, e.alg, e.alpha, e.beta);
    }
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    noe_status status = noe_dnn_check(p, s, "attributes", err);
    if (status != NOE_OK) {
        dnnl_primitive_attr_destroy(*attr);
        *attr = NULL;
    }
    return status;
}

/* op with a weight of one value c as a function of the other operand x: oneDNN's alg
 * with alpha = alpha0 + alpha_c * c and beta = beta0 + beta_c * c; where `inverse` is
 * set, 1 / c takes the place of c. Row 0: x op c, row 1: c op x. */
static const struct {
    dnnl_alg_kind_t alg;
    float alpha0, alpha_c, beta0, beta_c;
    bool inverse;
} functions[NOE_OP_COUNT][2] = {
    [NOE_OP_ADD] = {{dnnl_eltwise_linear, 1, 0, 0, 1, false},
                    {dnnl_eltwise_linear, 1, 0, 0, 1, false}},
    [NOE_OP_SUB] = {{dnnl_eltwise_linear, 1, 0, 0, -1, false},
                    {dnnl_eltwise_linear, -1, 0, 0, 1, false}},
    [NOE_OP_MUL] = {{dnnl_eltwise_linear, 0, 1, 0, 0, false},
                    {dnnl_eltwise_linear, 0, 1, 0, 0, false}},
    [NOE_OP_DIV] = {{dnnl_eltwise_linear, 0, 1, 0, 0, true},
                    {dnnl_eltwise_pow, 0, 1, -1, 0, false}},
};

/* False for a c of which the function would not be what the operator is: 1 / c may
 * overflow where x / c does not. */
static bool as_function(noe_op op, float c, bool c_first, noe_dnn_eltwise *e)
{
    if (functions[op][c_first].inverse) {
        c = 1 / c;
        if (!isfinite(c))
            return false;
    }
    e->alg = functions[op][c_first].alg;
    e->alpha = functions[op][c_first].alpha0 + functions[op][c_first].alpha_c * c;
    e->beta = functions[op][c_first].beta0 + functions[op][c_first].beta_c * c;
    return isfinite(e->alpha) && isfinite(e->beta);
}

/* Not with an activation: oneDNN 2.6 computes eltwise with eltwise post-ops by its
 * reference, and wrongly. */
static noe_status emit_function(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                noe_error *err)
{
    const noe_shape *y = &p->g->nodes[f->last].types[0].shape;
    bool has_function =
        functions[p->g->nodes[f->anchor].op][0].alg != dnnl_alg_kind_undef;
    for (int i = 0; i < 2 && f->n_steps == 0 && has_function; i++) {
        noe_ref c = f->operands[i], x = f->operands[1 - i];
        if (!noe_dnn_is_weight(p, c) || noe_shape_elements(noe_dnn_shape(p, c)) != 1 ||
            !noe_shape_eq(noe_dnn_shape(p, x), y))
            continue;
        float *value = NULL;
        noe_dnn_eltwise e;
        NOE_TRY(noe_dnn_weight_data(p, c, &value, err));
        if (!as_function(p->g->nodes[f->anchor].op, *value, i == 0, &e))
            continue;
        noe_dnn_view from, to;
        NOE_TRY(noe_dnn_get(p, x, NULL, &from, err));
        NOE_TRY(noe_dnn_add_eltwise(p, &e, &from, &to, done, err));
        if (*done)
            noe_dnn_set_value(p, f->last, &to);
        return NOE_OK;
    }
    return NOE_OK;
}

/* A binary call being planned: first has the result's shape if possible. */
typedef struct binary_call {
    noe_ref first, second;
    dnnl_alg_kind_t alg;
    noe_dnn_eltwise correction;
} binary_call;

static const dnnl_alg_kind_t binary_alg[NOE_OP_COUNT] = {
    [NOE_OP_ADD] = dnnl_binary_add, [NOE_OP_SUB] = dnnl_binary_sub,
    [NOE_OP_MUL] = dnnl_binary_mul, [NOE_OP_DIV] = dnnl_binary_div,
    [NOE_OP_MAX] = dnnl_binary_max, [NOE_OP_MIN] = dnnl_binary_min,
};

static binary_call order_operands(const noe_dnn_plan *p, const noe_fusion *f)
{
    const noe_shape *y = &p->g->nodes[f->last].types[0].shape;
    noe_op op = p->g->nodes[f->anchor].op;
    binary_call c = {f->operands[0], f->operands[1], binary_alg[op], {0}};
    bool full[2];
    for (int i = 0; i < 2; i++)
        full[i] = noe_shape_eq(noe_dnn_shape(p, f->operands[i]), y);
    /* Of two full operands the one that is not a weight leads: it has the layout. */
    bool exchange = full[1] && (!full[0] || (noe_dnn_is_weight(p, c.first) &&
                                             noe_op_has(op, NOE_TRAIT_COMMUTATIVE)));
    if (!exchange)
        return c;
    c.first = f->operands[1];
    c.second = f->operands[0];
    if (op == NOE_OP_SUB)
        c.correction = (noe_dnn_eltwise){dnnl_eltwise_linear, -1, 0};
    if (op == NOE_OP_DIV)
        c.correction = (noe_dnn_eltwise){dnnl_eltwise_pow, 1, -1};
    return c;
}

/* Both operands' dimensions on the result's axes, with axes merged that are alike. */
static int merge_broadcast(const noe_shape *a, const noe_shape *b, const noe_shape *y,
                           dnnl_dim_t *da, dnnl_dim_t *db, dnnl_dim_t *dy)
{
    int n = 0, last_kind = -1;
    for (int i = 0; i < y->rank; i++) {
        int ia = i - (y->rank - a->rank), ib = i - (y->rank - b->rank);
        int64_t va = ia < 0 ? 1 : a->dim[ia], vb = ib < 0 ? 1 : b->dim[ib];
        if (y->dim[i] == 1)
            continue;
        int kind = (va == 1) + 2 * (vb == 1);
        if (kind == last_kind) {
            da[n - 1] *= va;
            db[n - 1] *= vb;
            dy[n - 1] *= y->dim[i];
            continue;
        }
        da[n] = va;
        db[n] = vb;
        dy[n++] = y->dim[i];
        last_kind = kind;
    }
    if (n == 0)
        da[n] = db[n] = dy[n] = 1, n++;
    return n;
}

/* The call on these views; declined if it would be slow and fast_only is set. */
static noe_status add_binary(noe_dnn_plan *p, const noe_fusion *f, const binary_call *c,
                             const noe_dnn_view *a, const noe_dnn_view *b,
                             const dnnl_memory_desc_t *dst_md, bool fast_only,
                             noe_dnn_view *dst, bool *done, noe_error *err)
{
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = NULL;
    if (dnnl_binary_desc_init(&desc, c->alg, &a->md, &b->md, dst_md) != dnnl_success)
        return NOE_OK;
    NOE_TRY(make_attr(p, f, &c->correction, &attr, err));
    noe_status s = noe_dnn_describe(p, &desc, attr, &pd, err);
    dnnl_primitive_attr_destroy(attr);
    if (s != NOE_OK || !pd || (fast_only && noe_dnn_is_slow(pd))) {
        dnnl_primitive_desc_destroy(pd);
        return s;
    }
    bool in_place =
        dnnl_memory_desc_equal(&a->md, dst_md) && noe_dnn_can_overwrite(p, a);
    *dst = in_place ? *a : noe_dnn_new_view(p, dst_md);
    const noe_dnn_arg args[] = {
        {DNNL_ARG_SRC_0, *a}, {DNNL_ARG_SRC_1, *b}, {DNNL_ARG_DST, *dst}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 3, err));
    *done = true;
    return NOE_OK;
}

/* In the layout of the first operand, which is not C order. */
static noe_status emit_in_layout(noe_dnn_plan *p, const noe_fusion *f,
                                 const binary_call *c, const noe_dnn_view *a,
                                 bool *done, noe_error *err)
{
    const noe_shape *sb = noe_dnn_shape(p, c->second);
    const noe_shape *y = &p->g->nodes[f->last].types[0].shape;
    noe_dnn_view b, dst;
    if (noe_shape_eq(sb, y)) {
        NOE_TRY(noe_dnn_get_as(p, c->second, &a->md, &b, err));
    } else {
        dnnl_dims_t dims;
        dnnl_memory_desc_t md;
        for (int i = 0; i < y->rank; i++) {
            int k = i - (y->rank - sb->rank);
            dims[i] = k < 0 ? 1 : sb->dim[k];
        }
        if (!noe_dnn_same_layout(&a->md, y->rank, dims, &md) || dims[1] == 1)
            return NOE_OK;
        noe_dnn_operand second = {c->second, noe_dnn_plain_dims(y->rank, dims), false};
        NOE_TRY(noe_dnn_get_operand(p, &second, &md, &b, err));
    }
    NOE_TRY(add_binary(p, f, c, a, &b, &a->md, true, &dst, done, err));
    if (*done)
        noe_dnn_set_value(p, f->last, &dst);
    return NOE_OK;
}

noe_status noe_dnn_emit_binary(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    NOE_TRY(emit_function(p, f, done, err));
    if (*done)
        return NOE_OK;
    const noe_shape *y = &p->g->nodes[f->last].types[0].shape;
    binary_call c = order_operands(p, f);
    const noe_shape *sa = noe_dnn_shape(p, c.first), *sb = noe_dnn_shape(p, c.second);
    noe_dnn_view a, b, dst;
    NOE_TRY(noe_dnn_get(p, c.first, NULL, &a, err));
    if (noe_shape_eq(sa, y) && !noe_dnn_is_plain(&a.md)) {
        NOE_TRY(emit_in_layout(p, f, &c, &a, done, err));
        /* Rather two calls in this layout than one in C order. */
        if (*done || f->n_steps > 0)
            return NOE_OK;
    }
    dnnl_dims_t da, db, dy;
    int n = merge_broadcast(sa, sb, y, da, db, dy);
    NOE_TRY(noe_dnn_get_plain_dims(p, c.first, n, da, &a, err));
    NOE_TRY(noe_dnn_get_plain_dims(p, c.second, n, db, &b, err));
    dnnl_memory_desc_t md = noe_dnn_plain_dims(n, dy);
    NOE_TRY(add_binary(p, f, &c, &a, &b, &md, f->n_steps > 0, &dst, done, err));
    if (!*done)
        return NOE_OK;
    dst.md = noe_dnn_plain(y);
    noe_dnn_set_value(p, f->last, &dst);
    return NOE_OK;
}

/* With given statistics; scale, shift, mean and variance are vectors of C elements. */
noe_status noe_dnn_emit_batch_norm(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                   noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_dnn_shape(p, f->operands[0]);
    double epsilon = noe_params_get(n->op, n->params, NOE_PARAM_EPSILON)->f;
    dnnl_memory_desc_t liked = noe_dnn_liked(p, x);
    noe_dnn_arg args[6] = {{DNNL_ARG_SRC, {0}},      {DNNL_ARG_SCALE, {0}},
                           {DNNL_ARG_SHIFT, {0}},    {DNNL_ARG_MEAN, {0}},
                           {DNNL_ARG_VARIANCE, {0}}, {DNNL_ARG_DST, {0}}};
    NOE_TRY(noe_dnn_get(p, f->operands[0], &liked, &args[0].view, err));
    unsigned flags = dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift |
                     (f->n_steps > 0 ? dnnl_fuse_norm_relu : 0u);
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_inference,
                                                   &args[0].view.md, (float)epsilon,
                                                   flags) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    noe_status s = NOE_OK;
    for (int i = 1; i < 5 && s == NOE_OK; i++)
        s = noe_dnn_get_plain(p, f->operands[i], &args[i].view, err);
    if (s != NOE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return s;
    }
    bool in_place = noe_dnn_can_overwrite(p, &args[0].view);
    args[5].view = in_place ? args[0].view : noe_dnn_new_view(p, &args[0].view.md);
    NOE_TRY(noe_dnn_add_step(p, pd, args, 6, err));
    noe_dnn_set_value(p, f->last, &args[5].view);
    *done = true;
    return NOE_OK;
}
