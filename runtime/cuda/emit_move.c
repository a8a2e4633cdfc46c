/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that move data, and windows: all by strides, in whatever order the operand
 * lies. Only what counts elements in a row (reshape and its kin) wants C order, and
 * then costs nothing.
 */
#include "runtime/cuda/plan.h"

static const noe_value *param(const noe_cu_plan *p, uint32_t node, noe_param which)
{
    return noe_params_get(p->g->nodes[node].op, p->g->nodes[node].params, which);
}

static const noe_shape *shape_of(const noe_cu_plan *p, uint32_t node)
{
    return &p->g->nodes[node].types[0].shape;
}

/* The order of an operand as it lies; weights that were not used before get C order. */
static noe_status take(noe_cu_plan *p, noe_ref r, noe_cu_order *order, uint32_t *buffer,
                       noe_error *err)
{
    *order = p->values[r.node].is_known ? noe_cu_order_of(p, r) : NOE_CU_PLAIN;
    return noe_cu_get(p, r, *order, buffer, err);
}

noe_status noe_cu_emit_view(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    uint32_t buffer;
    NOE_TRY(noe_cu_get(p, f->operands[0], NOE_CU_PLAIN, &buffer, err));
    noe_cu_set_value(p, f->last, NOE_CU_PLAIN, buffer);
    return NOE_OK;
}

/* A copy over a space of shape s. */
static noe_status copy(noe_cu_plan *p, const noe_shape *s, uint32_t to,
                       const noe_strides *to_strides, uint32_t from,
                       const noe_strides *from_strides, noe_cu_args **a, noe_error *err)
{
    noe_strides strides[2] = {*to_strides, *from_strides};
    return noe_cu_add_launch(p, NOE_CU_KERNEL_COPY, s, strides, (uint32_t[]){to, from},
                             2, a, err);
}

noe_status noe_cu_emit_transpose(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_value *perm = param(p, f->anchor, NOE_PARAM_PERM);
    const noe_shape *s = shape_of(p, f->last);
    noe_cu_order order;
    uint32_t from;
    noe_cu_args *a;
    NOE_TRY(take(p, f->operands[0], &order, &from, err));
    noe_strides own = noe_cu_strides(noe_cu_shape(p, f->operands[0]), order),
                moved = {0};
    for (int i = 0; i < s->rank; i++)
        moved.of[i] = own.of[perm->list[i]];
    noe_strides plain = noe_strides_of(s);
    uint32_t to = noe_cu_make(p, f->last, NOE_CU_PLAIN);
    return copy(p, s, to, &plain, from, &moved, &a, err);
}

noe_status noe_cu_emit_expand(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_shape *s = shape_of(p, f->last);
    noe_cu_order order;
    uint32_t from;
    noe_cu_args *a;
    NOE_TRY(take(p, f->operands[0], &order, &from, err));
    noe_strides moved = noe_cu_broadcast(p, f->operands[0], order, s);
    noe_strides plain = noe_strides_of(s);
    uint32_t to = noe_cu_make(p, f->last, NOE_CU_PLAIN);
    return copy(p, s, to, &plain, from, &moved, &a, err);
}

/* Channels last if any operand lies so. */
static noe_cu_order order_of_any(const noe_cu_plan *p, const noe_fusion *f)
{
    for (int k = 0; k < f->n_operands; k++) {
        noe_ref r = f->operands[k];
        if (!p->g->nodes[r.node].is_weight &&
            noe_cu_order_of(p, r) == NOE_CU_CHANNELS_LAST)
            return NOE_CU_CHANNELS_LAST;
    }
    return NOE_CU_PLAIN;
}

noe_status noe_cu_emit_concat(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    int64_t axis = param(p, f->last, NOE_PARAM_AXIS)->i, at = 0;
    noe_cu_order order = order_of_any(p, f);
    noe_strides strides = noe_cu_strides(shape_of(p, f->last), order);
    uint32_t to = noe_cu_make(p, f->last, order);
    for (int k = 0; k < f->n_operands; k++) {
        const noe_shape *part = noe_cu_shape(p, f->operands[k]);
        noe_cu_order lies;
        uint32_t from;
        noe_cu_args *a;
        if (noe_shape_elements(part) == 0)
            continue;
        NOE_TRY(take(p, f->operands[k], &lies, &from, err));
        noe_strides own = noe_cu_strides(part, lies);
        NOE_TRY(copy(p, part, to, &strides, from, &own, &a, err));
        a->offset[0] = at * strides.of[axis];
        at += part->dim[axis];
    }
    return NOE_OK;
}

noe_status noe_cu_emit_slice(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    int64_t axis = param(p, f->last, NOE_PARAM_AXIS)->i;
    const noe_shape *s = shape_of(p, f->last);
    noe_cu_order order;
    uint32_t from;
    noe_cu_args *a;
    NOE_TRY(take(p, f->operands[0], &order, &from, err));
    noe_strides own = noe_cu_strides(noe_cu_shape(p, f->operands[0]), order);
    int64_t start = param(p, f->last, NOE_PARAM_START)->i * own.of[axis];
    own.of[axis] *= param(p, f->last, NOE_PARAM_STEP)->i;
    noe_strides strides = noe_cu_strides(s, order);
    uint32_t to = noe_cu_make(p, f->last, order);
    NOE_TRY(copy(p, s, to, &strides, from, &own, &a, err));
    a->offset[1] = start;
    return NOE_OK;
}

noe_status noe_cu_emit_pad(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_value *pads = param(p, f->last, NOE_PARAM_PADS);
    const noe_shape *part = noe_cu_shape(p, f->operands[0]);
    noe_cu_order order;
    uint32_t from;
    noe_cu_args *a;
    NOE_TRY(take(p, f->operands[0], &order, &from, err));
    noe_strides own = noe_cu_strides(part, order);
    noe_strides strides = noe_cu_strides(shape_of(p, f->last), order);
    uint32_t to = noe_cu_make(p, f->last, order);
    noe_cu_add_step(p, NOE_CU_ZERO, &to, 1);
    if (noe_shape_elements(part) == 0)
        return NOE_OK;
    NOE_TRY(copy(p, part, to, &strides, from, &own, &a, err));
    for (int i = 0; i < part->rank; i++)
        a->offset[0] += pads->list[i] * strides.of[i];
    return NOE_OK;
}

/* The picked axis comes last in the kernel's space. */
noe_status noe_cu_emit_gather(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_value *indices = param(p, f->last, NOE_PARAM_INDICES);
    int axis = (int)param(p, f->last, NOE_PARAM_AXIS)->i;
    const noe_shape *s = shape_of(p, f->last);
    noe_cu_order order;
    uint32_t from;
    noe_cu_args *a;
    NOE_TRY(take(p, f->operands[0], &order, &from, err));
    noe_strides own = noe_cu_strides(noe_cu_shape(p, f->operands[0]), order);
    noe_strides strides = noe_cu_strides(s, order), moved[2] = {{{0}}, {{0}}};
    noe_shape space = {.rank = s->rank};
    for (int i = 0, k = 0; i < s->rank; i++) {
        int to = i == axis ? s->rank - 1 : k++;
        space.dim[to] = s->dim[i];
        moved[0].of[to] = strides.of[i];
        moved[1].of[to] = i == axis ? 0 : own.of[i];
    }
    uint32_t to = noe_cu_make(p, f->last, order);
    NOE_TRY(noe_cu_add_launch(p, NOE_CU_KERNEL_GATHER, &space, moved,
                              (uint32_t[]){to, from}, 2, &a, err));
    a->inner_stride[0][0] = own.of[axis];
    for (int i = 0; i < indices->n; i++)
        a->i[i] = (int)indices->list[i];
    return NOE_OK;
}

/* ---- windows ---- */

noe_shape noe_cu_five_axes(const noe_shape *s)
{
    noe_shape out = {.rank = 5, .dim = {s->dim[0], s->dim[1], 1, 1, 1}};
    for (int i = 2; i < s->rank; i++)
        out.dim[5 - s->rank + i] = s->dim[i];
    return out;
}

noe_strides noe_cu_five_strides(const noe_shape *s, noe_cu_order order)
{
    noe_strides own = noe_cu_strides(s, order), out = {{own.of[0], own.of[1]}};
    for (int i = 2; i < s->rank; i++)
        out.of[5 - s->rank + i] = own.of[i];
    return out;
}

void noe_cu_set_window(noe_cu_args *a, const noe_graph *g, uint32_t node,
                       const noe_shape *x, const int64_t *kernel)
{
    const noe_node *n = &g->nodes[node];
    const noe_op_info *info = noe_op_get(n->op);
    const noe_value *dilations = NULL;
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == NOE_PARAM_DILATIONS)
            dilations = &n->params->v[i];
    }
    const noe_value *strides = noe_params_get(n->op, n->params, NOE_PARAM_STRIDES);
    const noe_value *pads = noe_params_get(n->op, n->params, NOE_PARAM_PADS);
    int lead = 5 - x->rank;
    for (int i = 0; i < 3; i++) {
        int k = i - lead;
        bool real = k >= 0;
        a->i[NOE_CU_KERNEL + i] = real ? (int)kernel[k] : 1;
        a->i[NOE_CU_STRIDE + i] = real ? (int)strides->list[k] : 1;
        a->i[NOE_CU_BEGIN + i] = real ? (int)pads->list[k] : 0;
        a->i[NOE_CU_DILATION + i] = real && dilations ? (int)dilations->list[k] : 1;
        a->i[NOE_CU_IN + i] = real ? (int)x->dim[k + 2] : 1;
    }
}

/* A kernel from the operand, as it lies, to a value in the same order. */
static noe_status launch_windows(noe_cu_plan *p, const noe_fusion *f,
                                 noe_cu_kernel kernel, noe_cu_args **a, noe_error *err)
{
    const noe_shape *x = noe_cu_shape(p, f->operands[0]), *y = shape_of(p, f->last);
    noe_cu_order order;
    uint32_t args[2];
    NOE_TRY(take(p, f->operands[0], &order, &args[1], err));
    args[0] = noe_cu_make(p, f->last, order);
    noe_shape space = noe_cu_five_axes(y);
    noe_strides strides[2] = {noe_cu_five_strides(y, order),
                              noe_cu_five_strides(x, order)};
    return noe_cu_add_launch(p, kernel, &space, strides, args, 2, a, err);
}

noe_status noe_cu_emit_pool(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_cu_shape(p, f->operands[0]);
    noe_cu_args *a;
    NOE_TRY(launch_windows(p, f, NOE_CU_KERNEL_POOL, &a, err));
    a->op = (int)n->op;
    noe_cu_set_window(a, p->g, f->anchor, x,
                      param(p, f->anchor, NOE_PARAM_KERNEL_SHAPE)->list);
    if (n->op == NOE_OP_AVERAGE_POOL)
        a->i[NOE_CU_FLAG] = (int)param(p, f->anchor, NOE_PARAM_COUNT_INCLUDE_PAD)->i;
    return NOE_OK;
}

noe_status noe_cu_emit_resize(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_shape *x = noe_cu_shape(p, f->operands[0]);
    const noe_value *scales = param(p, f->last, NOE_PARAM_SCALES);
    noe_cu_args *a;
    if (x->rank > 5)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "node %u: resize of rank %d", f->last,
                        x->rank);
    NOE_TRY(launch_windows(p, f, NOE_CU_KERNEL_RESIZE, &a, err));
    a->op = (int)param(p, f->last, NOE_PARAM_MODE)->i;
    for (int i = 0; i < 3; i++) {
        int k = i - (5 - x->rank);
        a->i[NOE_CU_KERNEL + i] = k >= 0 ? (int)scales->list[k] : 1;
        a->i[NOE_CU_IN + i] = k >= 0 ? (int)x->dim[k + 2] : 1;
    }
    return NOE_OK;
}
