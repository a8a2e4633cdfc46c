/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/plan.h"
#include "core/tensor.h"

const noe_shape *noe_cu_shape(const noe_cu_plan *p, noe_ref r)
{
    return &noe_graph_type(p->g, r)->shape;
}

bool noe_cu_may_be_last(const noe_shape *s)
{
    return s->rank >= 3 && s->rank <= 5;
}

noe_strides noe_cu_strides(const noe_shape *s, noe_cu_order order)
{
    if (order == NOE_CU_PLAIN || !noe_cu_may_be_last(s))
        return noe_strides_of(s);
    noe_strides out = {0};
    int64_t stride = s->dim[1];
    out.of[1] = 1;
    for (int i = s->rank - 1; i >= 2; i--) {
        out.of[i] = stride;
        stride *= s->dim[i];
    }
    out.of[0] = stride;
    return out;
}

noe_strides noe_cu_broadcast(const noe_cu_plan *p, noe_ref r, noe_cu_order order,
                             const noe_shape *to)
{
    const noe_shape *s = noe_cu_shape(p, r);
    noe_strides own = noe_cu_strides(s, order), out = {0};
    int lead = to->rank - s->rank;
    for (int i = lead; i < to->rank; i++)
        out.of[i] = s->dim[i - lead] == 1 ? 0 : own.of[i - lead];
    return out;
}

noe_cu_order noe_cu_order_of(const noe_cu_plan *p, noe_ref r)
{
    return p->values[r.node].made;
}

uint32_t noe_cu_new_buffer(noe_cu_plan *p, noe_cu_store store, size_t elements)
{
    noe_cu_buffer b = {.store = store, .elements = elements, .first = NOE_CU_NONE};
    NOE_PUSH(p->buffers, p->n_buffers, p->cap_buffers, b);
    return p->n_buffers - 1;
}

void noe_cu_set_value(noe_cu_plan *p, uint32_t node, noe_cu_order order,
                      uint32_t buffer)
{
    noe_cu_value *v = &p->values[node];
    if (!v->is_known) {
        v->made = order;
        v->buffer[NOE_CU_PLAIN] = v->buffer[NOE_CU_CHANNELS_LAST] = NOE_CU_NONE;
    }
    v->is_known = true;
    v->buffer[order] = buffer;
}

uint32_t noe_cu_make(noe_cu_plan *p, uint32_t node, noe_cu_order order)
{
    int64_t n = noe_shape_elements(&p->g->nodes[node].types[0].shape);
    uint32_t buffer = noe_cu_new_buffer(p, NOE_CU_ARENA, (size_t)n);
    noe_cu_set_value(p, node, order, buffer);
    return buffer;
}

static void use_buffer(noe_cu_plan *p, uint32_t buffer)
{
    noe_cu_buffer *b = &p->buffers[buffer];
    if (b->first == NOE_CU_NONE)
        b->first = p->n_steps;
    if (b->end < p->n_steps + 1)
        b->end = p->n_steps + 1;
}

noe_cu_step *noe_cu_add_step(noe_cu_plan *p, noe_cu_step_kind kind,
                             const uint32_t *args, int n_args)
{
    noe_cu_step step = {.kind = kind, .node = p->node, .n_args = n_args};
    NOE_ASSERT(n_args <= NOE_CU_MAX_OPERANDS);
    for (int i = 0; i < n_args; i++) {
        step.args[i] = args[i];
        if (args[i] != NOE_CU_NONE)
            use_buffer(p, args[i]);
    }
    NOE_PUSH(p->steps, p->n_steps, p->cap_steps, step);
    return &p->steps[p->n_steps - 1];
}

/* ---- weights ---- */

noe_status noe_cu_weight_data(noe_cu_plan *p, noe_ref r, float **data, noe_error *err)
{
    *data = NULL;
    if (p->free_layout)
        return NOE_OK;
    return noe_weight_value(p->g, r, &p->scratch, data, err);
}

static noe_status make_weight(noe_cu_plan *p, noe_ref r, noe_cu_order order,
                              noe_error *err)
{
    const noe_shape *s = noe_cu_shape(p, r);
    size_t n = (size_t)noe_shape_elements(s);
    float *data;
    NOE_TRY(noe_cu_weight_data(p, r, &data, err));
    uint32_t buffer = noe_cu_new_buffer(p, NOE_CU_WEIGHT, n);
    if (data && order != NOE_CU_PLAIN) {
        float *moved = noe_arena_alloc(&p->scratch, (n + 1) * sizeof *moved);
        noe_strides strides[2] = {noe_cu_strides(s, order), noe_strides_of(s)};
        noe_walk w;
        for (noe_walk_init(&w, s, 2, strides); w.more; noe_walk_next(&w)) {
            for (int64_t i = 0; i < w.n; i++)
                moved[w.at[0] + i * w.step[0]] = data[w.at[1] + i * w.step[1]];
        }
        data = moved;
    }
    p->buffers[buffer].data = data;
    noe_cu_set_value(p, r.node, order, buffer);
    return NOE_OK;
}

noe_status noe_cu_weight_vector(noe_cu_plan *p, noe_ref r, int64_t n, uint32_t *buffer,
                                noe_error *err)
{
    if (noe_shape_elements(noe_cu_shape(p, r)) == n)
        return noe_cu_get(p, r, NOE_CU_PLAIN, buffer, err);
    float *one, *all = NULL;
    NOE_TRY(noe_cu_weight_data(p, r, &one, err));
    *buffer = noe_cu_new_buffer(p, NOE_CU_WEIGHT, (size_t)n);
    if (one) {
        all = noe_arena_alloc(&p->scratch, (size_t)n * sizeof *all);
        for (int64_t i = 0; i < n; i++)
            all[i] = one[0];
    }
    p->buffers[*buffer].data = all;
    return NOE_OK;
}

/* ---- the other order ---- */

static noe_status copy_to(noe_cu_plan *p, noe_ref r, noe_cu_order order, noe_error *err)
{
    const noe_shape *s = noe_cu_shape(p, r);
    noe_cu_order from = noe_cu_order_of(p, r);
    uint32_t old = p->values[r.node].buffer[from];
    uint32_t buffer = noe_cu_new_buffer(p, NOE_CU_ARENA, (size_t)noe_shape_elements(s));
    noe_strides strides[2] = {noe_cu_strides(s, order), noe_cu_strides(s, from)};
    noe_cu_args *a;
    NOE_TRY(noe_cu_add_launch(p, NOE_CU_KERNEL_COPY, s, strides,
                              (uint32_t[]){buffer, old}, 2, &a, err));
    noe_cu_set_value(p, r.node, order, buffer);
    return NOE_OK;
}

/* Is it all one whether channels come first or last? */
static bool is_same_order(const noe_shape *s)
{
    int64_t plane = 1;
    for (int i = 2; i < s->rank; i++)
        plane *= s->dim[i];
    return !noe_cu_may_be_last(s) || s->dim[1] == 1 || plane == 1;
}

noe_status noe_cu_get(noe_cu_plan *p, noe_ref r, noe_cu_order order, uint32_t *buffer,
                      noe_error *err)
{
    noe_cu_value *v = &p->values[r.node];
    if (!noe_cu_may_be_last(noe_cu_shape(p, r)))
        order = NOE_CU_PLAIN;
    if (!v->is_known)
        noe_cu_set_value(p, r.node, order, NOE_CU_NONE);
    if (v->buffer[order] == NOE_CU_NONE && p->g->nodes[r.node].is_weight)
        NOE_TRY(make_weight(p, r, order, err));
    else if (v->buffer[order] == NOE_CU_NONE && is_same_order(noe_cu_shape(p, r)))
        v->buffer[order] = v->buffer[v->made];
    else if (v->buffer[order] == NOE_CU_NONE)
        NOE_TRY(copy_to(p, r, order, err));
    *buffer = p->values[r.node].buffer[order];
    return NOE_OK;
}
