/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of our kernels, and the elementwise operators.
 *
 * An elementwise result takes the order of its first operand of the same shape that is
 * not a weight; the other operands are read as they lie.
 */
#include "runtime/cuda/plan.h"

#define THREADS  256
#define MAX_GRID 65535

static bool keeps_axes(noe_cu_kernel kernel)
{
    return kernel == NOE_CU_KERNEL_GATHER || kernel == NOE_CU_KERNEL_RESIZE ||
           kernel == NOE_CU_KERNEL_POOL || kernel == NOE_CU_KERNEL_CONV_DIRECT;
}

static bool is_mergeable(const noe_cu_args *a, int n_args, const noe_strides *strides,
                         int axis, int64_t dim)
{
    int last = a->rank - 1;
    for (int k = 0; k < n_args; k++) {
        if (a->stride[k][last] != strides[k].of[axis] * dim)
            return false;
    }
    return true;
}

/* Appends an axis; axes of one element are dropped, neighbours merged where all
 * operands allow it: each axis costs the kernel a division. */
static void append_axis(noe_cu_args *a, int n_args, const noe_strides *strides,
                        int axis, int64_t dim, bool keep)
{
    if (dim == 1 && !keep)
        return;
    bool merge = !keep && a->rank > 0 && is_mergeable(a, n_args, strides, axis, dim);
    if (!merge)
        a->dim[a->rank++] = 1;
    a->dim[a->rank - 1] *= (unsigned)dim;
    for (int k = 0; k < n_args; k++)
        a->stride[k][a->rank - 1] = strides[k].of[axis];
}

static unsigned grid_for(unsigned n, unsigned threads)
{
    unsigned blocks = (n - 1) / threads + 1;
    return blocks < MAX_GRID ? blocks : MAX_GRID;
}

noe_status noe_cu_add_launch(noe_cu_plan *p, noe_cu_kernel kernel, const noe_shape *s,
                             const noe_strides *strides, const uint32_t *args,
                             int n_args, noe_cu_args **out, noe_error *err)
{
    int64_t n = noe_shape_elements(s);
    if (n > INT32_MAX)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "node %u: a kernel over %lld elements is more than it counts",
                        p->node, (long long)n);
    noe_cu_args *a = *out = NOE_NEW(&p->arena, noe_cu_args);
    a->n = (unsigned)n;
    a->act = -1;
    for (int i = 0; i < s->rank; i++)
        append_axis(a, n_args, strides, i, s->dim[i], keeps_axes(kernel));
    noe_cu_step *step = noe_cu_add_step(p, NOE_CU_LAUNCH, args, n_args);
    step->kernel = kernel;
    step->launch = a;
    step->block = THREADS;
    step->grid = grid_for(a->n, THREADS);
    return NOE_OK;
}

static int act_number(noe_op op)
{
    return op == NOE_OP_COUNT ? -1 : (int)op;
}

noe_status noe_cu_add_follower(noe_cu_plan *p, uint32_t node, uint32_t buffer,
                               noe_cu_order order, noe_op op, noe_ref other, noe_op act,
                               noe_error *err)
{
    const noe_shape *s = &p->g->nodes[node].types[0].shape;
    noe_strides strides[3];
    uint32_t args[3] = {buffer, buffer, NOE_CU_NONE};
    noe_cu_args *a = NULL;
    strides[0] = strides[1] = noe_cu_strides(s, order);
    if (op == NOE_OP_COUNT) {
        NOE_TRY(
            noe_cu_add_launch(p, NOE_CU_KERNEL_UNARY, s, strides, args, 2, &a, err));
        a->op = (int)act;
        return NOE_OK;
    }
    if (!p->values[other.node].is_known)
        NOE_TRY(noe_cu_get(p, other, NOE_CU_PLAIN, &args[2], err));
    noe_cu_order from = noe_cu_order_of(p, other);
    NOE_TRY(noe_cu_get(p, other, from, &args[2], err));
    strides[2] = noe_cu_broadcast(p, other, from, s);
    NOE_TRY(noe_cu_add_launch(p, NOE_CU_KERNEL_BINARY, s, strides, args, 3, &a, err));
    a->op = (int)op;
    a->act = act_number(act);
    return NOE_OK;
}

noe_status noe_cu_add_channels(noe_cu_plan *p, uint32_t node, uint32_t buffer,
                               noe_cu_order order, uint32_t vector, noe_op act,
                               noe_error *err)
{
    const noe_shape *s = &p->g->nodes[node].types[0].shape;
    noe_strides strides[3] = {
        noe_cu_strides(s, order), noe_cu_strides(s, order), {{0}}};
    noe_cu_args *a = NULL;
    strides[2].of[1] = 1;
    NOE_TRY(noe_cu_add_launch(p, NOE_CU_KERNEL_BINARY, s, strides,
                              (uint32_t[]){buffer, buffer, vector}, 3, &a, err));
    a->op = NOE_OP_ADD;
    a->act = act_number(act);
    return NOE_OK;
}

static noe_cu_order order_of_result(const noe_cu_plan *p, const noe_fusion *f)
{
    const noe_shape *s = &p->g->nodes[f->anchor].types[0].shape;
    for (int k = 0; k < f->n_operands; k++) {
        noe_ref r = f->operands[k];
        if (!p->g->nodes[r.node].is_weight && noe_shape_eq(noe_cu_shape(p, r), s))
            return noe_cu_order_of(p, r);
    }
    return NOE_CU_PLAIN;
}

/* Buffer and strides of operand r as it lies, for a space of shape s. */
static noe_status take(noe_cu_plan *p, noe_ref r, const noe_shape *s, uint32_t *buffer,
                       noe_strides *strides, noe_error *err)
{
    noe_cu_order order =
        p->values[r.node].is_known ? noe_cu_order_of(p, r) : NOE_CU_PLAIN;
    NOE_TRY(noe_cu_get(p, r, order, buffer, err));
    *strides = noe_cu_broadcast(p, r, order, s);
    return NOE_OK;
}

/* One launch over the result, operands broadcast to it. */
static noe_status emit_over_result(noe_cu_plan *p, const noe_fusion *f,
                                   noe_cu_kernel kernel, noe_cu_args **a,
                                   noe_error *err)
{
    const noe_shape *s = &p->g->nodes[f->anchor].types[0].shape;
    noe_cu_order order = order_of_result(p, f);
    uint32_t args[NOE_CU_MAX_OPERANDS];
    noe_strides strides[NOE_CU_MAX_OPERANDS];
    for (int k = 0; k < f->n_operands; k++)
        NOE_TRY(take(p, f->operands[k], s, &args[k + 1], &strides[k + 1], err));
    args[0] = noe_cu_make(p, f->last, order);
    strides[0] = noe_cu_strides(s, order);
    NOE_TRY(noe_cu_add_launch(p, kernel, s, strides, args, f->n_operands + 1, a, err));
    (*a)->op = (int)p->g->nodes[f->anchor].op;
    if (f->n_steps > 0)
        (*a)->act = act_number(p->g->nodes[f->steps[0].node].op);
    return NOE_OK;
}

/* The operator's numbers, in the order of its parameters; of clip, whether they count.
 */
static void set_numbers(noe_cu_args *a, const noe_node *n)
{
    for (int i = 0; n->params && i < n->params->n; i++) {
        const noe_value *v = &n->params->v[i];
        noe_value absent;
        noe_param which = noe_op_get(n->op)->params[i];
        a->f[i] = v->kind == NOE_KIND_FLOAT ? (float)v->f : (float)v->i;
        if (n->op == NOE_OP_CLIP)
            a->f[i + 2] = !noe_param_default(n->op, which, 0, &absent) ||
                          !noe_value_eq(&absent, v);
    }
}

noe_status noe_cu_emit_unary(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    noe_cu_args *a = NULL;
    NOE_TRY(emit_over_result(p, f, NOE_CU_KERNEL_UNARY, &a, err));
    set_numbers(a, &p->g->nodes[f->anchor]);
    return NOE_OK;
}

noe_status noe_cu_emit_binary(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    noe_cu_args *a = NULL;
    return emit_over_result(p, f, NOE_CU_KERNEL_BINARY, &a, err);
}

noe_status noe_cu_emit_where(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    noe_cu_args *a = NULL;
    return emit_over_result(p, f, NOE_CU_KERNEL_WHERE, &a, err);
}

/* Scale, shift, mean and variance are vectors along axis 1. */
noe_status noe_cu_emit_batch_norm(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    const noe_shape *s = &p->g->nodes[f->anchor].types[0].shape;
    noe_cu_order order = noe_cu_order_of(p, f->operands[0]);
    uint32_t args[NOE_CU_MAX_OPERANDS];
    noe_strides strides[NOE_CU_MAX_OPERANDS];
    noe_cu_args *a = NULL;
    NOE_TRY(noe_cu_get(p, f->operands[0], order, &args[1], err));
    strides[0] = strides[1] = noe_cu_strides(s, order);
    for (int k = 1; k < 5; k++) {
        NOE_TRY(noe_cu_get(p, f->operands[k], NOE_CU_PLAIN, &args[k + 1], err));
        strides[k + 1] = (noe_strides){{0}};
        strides[k + 1].of[1] = 1;
    }
    args[0] = noe_cu_make(p, f->last, order);
    NOE_TRY(
        noe_cu_add_launch(p, NOE_CU_KERNEL_BATCH_NORM, s, strides, args, 6, &a, err));
    set_numbers(a, &p->g->nodes[f->anchor]);
    if (f->n_steps > 0)
        a->act = act_number(p->g->nodes[f->steps[0].node].op);
    return NOE_OK;
}
