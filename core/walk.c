/* SPDX-License-Identifier: Apache-2.0 */
#include "core/walk.h"

static bool mergeable(const noe_walk *w, int outer, int inner)
{
    for (int k = 0; k < w->n_operands; k++) {
        if (w->stride[k].of[outer] != w->stride[k].of[inner] * w->dim[inner])
            return false;
    }
    return true;
}

/* Appends an axis inside the ones present, merged into the last where possible. */
static void append_axis(noe_walk *w, int64_t dim, const noe_strides *strides, int axis)
{
    int last = w->rank;
    w->dim[last] = dim;
    for (int k = 0; k < w->n_operands; k++)
        w->stride[k].of[last] = strides[k].of[axis];
    if (last == 0 || !mergeable(w, last - 1, last)) {
        w->rank++;
        return;
    }
    w->dim[last - 1] *= dim;
    for (int k = 0; k < w->n_operands; k++)
        w->stride[k].of[last - 1] = strides[k].of[axis];
}

void noe_walk_init(noe_walk *w, const noe_shape *space, int n_operands,
                   const noe_strides *strides)
{
    NOE_ASSERT(n_operands <= NOE_WALK_OPERANDS);
    *w = (noe_walk){.more = true, .n = 1, .n_operands = n_operands};
    for (int i = 0; i < space->rank; i++) {
        if (space->dim[i] == 0) {
            w->more = false;
            return;
        }
        if (space->dim[i] != 1)
            append_axis(w, space->dim[i], strides, i);
    }
    if (w->rank == 0)
        return;
    w->rank--;
    w->n = w->dim[w->rank];
    for (int k = 0; k < n_operands; k++)
        w->step[k] = w->stride[k].of[w->rank];
}

void noe_walk_next(noe_walk *w)
{
    for (int axis = w->rank - 1; axis >= 0; axis--) {
        for (int k = 0; k < w->n_operands; k++)
            w->at[k] += w->stride[k].of[axis];
        if (++w->index[axis] < w->dim[axis])
            return;
        w->index[axis] = 0;
        for (int k = 0; k < w->n_operands; k++)
            w->at[k] -= w->stride[k].of[axis] * w->dim[axis];
    }
    w->more = false;
}

noe_strides noe_strides_of(const noe_shape *s)
{
    noe_strides out = {0};
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        out.of[i] = stride;
        stride *= s->dim[i];
    }
    return out;
}

noe_strides noe_strides_broadcast(const noe_shape *s, const noe_shape *to)
{
    noe_strides own = noe_strides_of(s), out = {0};
    int lead = to->rank - s->rank;
    for (int i = lead; i < to->rank; i++)
        out.of[i] = s->dim[i - lead] == 1 ? 0 : own.of[i - lead];
    return out;
}
