/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a value may be cut in two: at the borders of the concatenations it is made of,
 * as far as the operators in between keep them apart. Letting cuts be anywhere makes
 * many odd values and few laws.
 */
#include "generator/engine.h"

typedef struct cut_query {
    const noe_universe *u;
    const noe_enode *e;
    const noe_gen_value *a, *b, *c; /* NULL for operands that the move lacks */
    const noe_shape *out;
} cut_query;

static int64_t axis_of(const cut_query *q)
{
    const noe_move *m = &q->u->space->moves[q->e->move];
    return noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
}

static uint32_t cuts_at(const cut_query *q, const noe_gen_value *v, int axis,
                        bool *fits)
{
    const noe_shape *s = &q->u->shapes[v->shape];
    int at = axis - (q->out->rank - s->rank);
    *fits = at >= 0 && s->dim[at] == q->out->dim[axis];
    return *fits ? v->cuts[at] : 0;
}

/* Axes that keep their size keep their cuts; broadcast operands have no say. */
static void cuts_along(const cut_query *q, uint32_t *cuts)
{
    const noe_gen_value *in[] = {q->a, q->b, q->c};
    for (int axis = 0; axis < q->out->rank; axis++) {
        bool any = false;
        for (int k = 0; k < NOE_SPACE_MAX_IN && in[k]; k++) {
            bool fits;
            uint32_t x = cuts_at(q, in[k], axis, &fits);
            if (fits)
                cuts[axis] = any ? cuts[axis] & x : x;
            any = any || fits;
        }
    }
}

/* Rows of a, columns of b, and what both have of batches; a vector has neither. */
static void cuts_matmul(const cut_query *q, uint32_t *cuts)
{
    int n = q->u->shapes[q->a->shape].rank, m = q->u->shapes[q->b->shape].rank;
    int rows = n > 1, columns = m > 1, rank = q->out->rank;
    for (int k = 0; k < rank - rows - columns; k++) {
        int at_a = k + n - 2 - (rank - rows - columns);
        int at_b = k + m - 2 - (rank - rows - columns);
        uint32_t x = at_a >= 0 ? q->a->cuts[at_a] : ~UINT32_C(0);
        cuts[k] = x & (at_b >= 0 ? q->b->cuts[at_b] : ~UINT32_C(0));
    }
    if (rows)
        cuts[rank - 1 - columns] = q->a->cuts[n - 2];
    if (columns)
        cuts[rank - 1] = q->b->cuts[m - 1];
}

static void cuts_conv(const cut_query *q, uint32_t *cuts)
{
    cuts[0] = q->a->cuts[0];
    cuts[1] = q->b->cuts[0];
}

static void cuts_conv_transpose(const cut_query *q, uint32_t *cuts)
{
    cuts[0] = q->a->cuts[0];
    cuts[1] = q->b->cuts[1];
}

static void cuts_concat(const cut_query *q, uint32_t *cuts)
{
    int axis = (int)axis_of(q);
    int64_t border = q->u->shapes[q->a->shape].dim[axis];
    for (int i = 0; i < q->out->rank; i++)
        cuts[i] = q->a->cuts[i] & q->b->cuts[i];
    cuts[axis] = border > 31 ? q->a->cuts[axis]
                             : q->a->cuts[axis] | UINT32_C(1) << border |
                                   (uint32_t)((uint64_t)q->b->cuts[axis] << border);
}

static void cuts_transpose(const cut_query *q, uint32_t *cuts)
{
    const noe_move *m = &q->u->space->moves[q->e->move];
    const noe_value *perm = noe_params_get(m->op, &m->params, NOE_PARAM_PERM);
    for (int i = 0; i < q->out->rank; i++)
        cuts[i] = q->a->cuts[perm->list[i]];
}

static void cuts_slice(const cut_query *q, uint32_t *cuts)
{
    noe_move_kind kind = q->u->space->moves[q->e->move].kind;
    bool low = kind == NOE_MOVE_LOW;
    int axis = (int)axis_of(q);
    uint32_t old = q->a->cuts[axis], at = q->e->b;
    memcpy(cuts, q->a->cuts, sizeof q->a->cuts);
    if (kind == NOE_MOVE_PLAIN) {
        cuts[axis] = 0; /* it has a step */
        return;
    }
    cuts[axis] = low ? old & ((UINT32_C(1) << at) - 1) : old >> at & ~UINT32_C(1);
}

typedef void cut_fn(const cut_query *q, uint32_t *cuts);
static cut_fn *const cut_rules[NOE_OP_COUNT] = {
    [NOE_OP_MATMUL] = cuts_matmul,       [NOE_OP_CONV] = cuts_conv,
    [NOE_OP_CONCAT] = cuts_concat,       [NOE_OP_SLICE] = cuts_slice,
    [NOE_OP_TRANSPOSE] = cuts_transpose, [NOE_OP_CONV_TRANSPOSE] = cuts_conv_transpose,
};

void noe_cuts_derive(const noe_universe *u, const noe_enode *e, int out_shape,
                     uint32_t *cuts)
{
    const noe_move *m = &u->space->moves[e->move];
    cut_query q = {.u = u, .e = e, .a = &u->values[e->a], .out = &u->shapes[out_shape]};
    if (m->n_in >= 2)
        q.b = &u->values[e->b];
    if (m->n_in == 3)
        q.c = &u->values[e->c];
    memset(cuts, 0, NOE_SPACE_MAX_RANK * sizeof *cuts);
    (cut_rules[m->op] ? cut_rules[m->op] : cuts_along)(&q, cuts);
}
