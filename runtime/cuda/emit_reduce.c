/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions, softmax, normalizations: an outer space of results or lines, and an inner
 * one of what lies behind each.
 */
#include "runtime/cuda/plan.h"

#define MAX_THREADS 256
#define LEAST_BLOCK 32 /* with less behind a result, a thread does it alone */
#define MAX_GRID    65535

/* A space split in two: axes that are in `inner`, and the others. */
typedef struct split {
    noe_shape outer, inner;
    noe_strides outer_strides[4], inner_strides[4];
} split;

static void add_axis(noe_shape *s, noe_strides *to, const noe_strides *from, int n,
                     int axis, int64_t dim)
{
    for (int k = 0; k < n; k++)
        to[k].of[s->rank] = from[k].of[axis];
    s->dim[s->rank++] = dim;
}

static split split_axes(const noe_shape *s, const noe_strides *strides, int n,
                        unsigned inner)
{
    split out = {.outer = {.rank = 0}};
    for (int i = 0; i < s->rank; i++) {
        if (inner >> i & 1)
            add_axis(&out.inner, out.inner_strides, strides, n, i, s->dim[i]);
        else
            add_axis(&out.outer, out.outer_strides, strides, n, i, s->dim[i]);
    }
    return out;
}

/* Axes of one element are dropped, neighbours merged where all operands allow it. */
static void set_inner(noe_cu_args *a, const split *s, int n)
{
    a->m = 1;
    for (int i = 0; i < s->inner.rank; i++) {
        int64_t dim = s->inner.dim[i];
        int last = a->inner_rank - 1;
        bool merge = last >= 0;
        if (dim == 1)
            continue;
        for (int k = 0; k < n && merge; k++)
            merge = a->inner_stride[k][last] == s->inner_strides[k].of[i] * dim;
        if (!merge)
            a->inner_dim[++last] = 1;
        a->inner_rank = last + 1;
        a->inner_dim[last] *= (unsigned)dim;
        a->m *= (unsigned)dim;
        for (int k = 0; k < n; k++)
            a->inner_stride[k][last] = s->inner_strides[k].of[i];
    }
}

/* A block for each element of the outer space. */
static void set_block(noe_cu_step *step)
{
    unsigned n = step->launch->n;
    step->block = LEAST_BLOCK;
    while (step->block < MAX_THREADS && step->block < step->launch->m)
        step->block *= 2;
    step->grid = n < MAX_GRID ? n : MAX_GRID;
}

static noe_status launch_split(noe_cu_plan *p, noe_cu_kernel kernel, const split *s,
                               const uint32_t *args, int n, noe_cu_args **a,
                               noe_error *err)
{
    NOE_TRY(noe_cu_add_launch(p, kernel, &s->outer, s->outer_strides, args, n, a, err));
    set_inner(*a, s, n);
    if (kernel != NOE_CU_KERNEL_REDUCE_SMALL)
        set_block(&p->steps[p->n_steps - 1]);
    return NOE_OK;
}

static const noe_value *param(const noe_cu_plan *p, uint32_t node, noe_param which)
{
    return noe_params_get(p->g->nodes[node].op, p->g->nodes[node].params, which);
}

static unsigned axes_of(const noe_cu_plan *p, uint32_t node, const noe_shape *x)
{
    unsigned bits = 0;
    if (p->g->nodes[node].op == NOE_OP_GLOBAL_AVERAGE_POOL) {
        for (int i = 2; i < x->rank; i++)
            bits |= 1U << i;
        return bits;
    }
    const noe_value *axes = param(p, node, NOE_PARAM_AXES);
    for (int i = 0; i < axes->n; i++)
        bits |= 1U << axes->list[i];
    return bits;
}

noe_status noe_cu_emit_reduce(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *x = noe_cu_shape(p, f->operands[0]);
    unsigned axes = axes_of(p, f->anchor, x);
    noe_cu_order from = noe_cu_order_of(p, f->operands[0]), to = NOE_CU_PLAIN;
    uint32_t args[2];
    noe_cu_args *a;
    noe_shape kept = *x;
    for (int i = 0; i < x->rank; i++)
        kept.dim[i] = axes >> i & 1 ? 1 : x->dim[i];
    if (n->types[0].shape.rank == x->rank)
        to = from; /* without keepdims the result has other axes, in C order */
    NOE_TRY(noe_cu_get(p, f->operands[0], from, &args[1], err));
    args[0] = noe_cu_make(p, f->last, to);
    noe_strides strides[2] = {noe_cu_strides(&kept, to), noe_cu_strides(x, from)};
    split s = split_axes(x, strides, 2, axes);
    int64_t behind = noe_shape_elements(&s.inner);
    noe_cu_kernel kernel =
        behind < LEAST_BLOCK ? NOE_CU_KERNEL_REDUCE_SMALL : NOE_CU_KERNEL_REDUCE;
    if (behind == 0) {
        noe_cu_add_step(p, NOE_CU_ZERO, args, 1);
        return NOE_OK;
    }
    NOE_TRY(launch_split(p, kernel, &s, args, 2, &a, err));
    a->op = (int)(n->op == NOE_OP_GLOBAL_AVERAGE_POOL ? NOE_OP_REDUCE_MEAN : n->op);
    return NOE_OK;
}

noe_status noe_cu_emit_softmax(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_shape *x = noe_cu_shape(p, f->operands[0]);
    noe_cu_order order = noe_cu_order_of(p, f->operands[0]);
    uint32_t args[2];
    noe_cu_args *a;
    NOE_TRY(noe_cu_get(p, f->operands[0], order, &args[1], err));
    args[0] = noe_cu_make(p, f->last, order);
    noe_strides strides[2] = {noe_cu_strides(x, order), noe_cu_strides(x, order)};
    split s = split_axes(x, strides, 2, 1U << param(p, f->anchor, NOE_PARAM_AXIS)->i);
    NOE_TRY(launch_split(p, NOE_CU_KERNEL_SOFTMAX, &s, args, 2, &a, err));
    a->op = (int)p->g->nodes[f->anchor].op;
    return NOE_OK;
}

/* Group normalization with the channels' axis in two: groups, and channels of one. */
static noe_shape with_groups(const noe_shape *x, int64_t groups, noe_strides *strides,
                             int n)
{
    noe_shape out = {.rank = x->rank + 1};
    for (int i = 0; i < out.rank; i++)
        out.dim[i] = x->dim[i > 1 ? i - 1 : i];
    out.dim[1] = groups;
    out.dim[2] = x->dim[1] / groups;
    for (int k = 0; k < n; k++) {
        for (int i = x->rank; i > 1; i--)
            strides[k].of[i] = strides[k].of[i - 1];
        strides[k].of[1] *= out.dim[2];
    }
    return out;
}

static unsigned axes_from(int first, int rank)
{
    return ((1U << rank) - 1) & ~((1U << first) - 1);
}

noe_status noe_cu_emit_normalize(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    noe_shape x = *noe_cu_shape(p, f->operands[0]);
    noe_cu_order order = noe_cu_order_of(p, f->operands[0]);
    uint32_t args[4];
    noe_strides strides[4] = {{{0}}, {{0}}, {{0}}, {{0}}};
    noe_cu_args *a;
    bool by_channel = n->op != NOE_OP_LAYER_NORMALIZATION;
    NOE_TRY(noe_cu_get(p, f->operands[0], order, &args[1], err));
    strides[0] = strides[1] = noe_cu_strides(&x, order);
    for (int k = 1; k < f->n_operands; k++) {
        NOE_TRY(noe_cu_get(p, f->operands[k], NOE_CU_PLAIN, &args[k + 1], err));
        if (by_channel)
            strides[k + 1].of[1] = 1;
        else
            strides[k + 1] = noe_cu_broadcast(p, f->operands[k], NOE_CU_PLAIN, &x);
    }
    for (int k = f->n_operands; k < 3; k++)
        args[k + 1] = args[1];
    args[0] = noe_cu_make(p, f->last, order);
    unsigned inner = axes_from(2, x.rank);
    if (!by_channel)
        inner = axes_from((int)param(p, f->anchor, NOE_PARAM_AXIS)->i, x.rank);
    if (n->op == NOE_OP_GROUP_NORMALIZATION) {
        if (x.rank >= NOE_MAX_RANK)
            return noe_fail(err, NOE_ERR_UNSUPPORTED, "node %u: groups of rank %d",
                            f->anchor, x.rank);
        x = with_groups(&x, param(p, f->anchor, NOE_PARAM_NUM_GROUPS)->i, strides, 4);
        inner = axes_from(2, x.rank);
    }
    split s = split_axes(&x, strides, 4, inner);
    NOE_TRY(launch_split(p, NOE_CU_KERNEL_NORMALIZE, &s, args, 4, &a, err));
    a->f[0] = (float)param(p, f->anchor, NOE_PARAM_EPSILON)->f;
    a->i[0] = f->n_operands > 1;
    a->i[1] = f->n_operands > 2;
    return NOE_OK;
}
