/* SPDX-License-Identifier: Apache-2.0
 *
 * From a graph to steps, in the order of the fused groups.
 *
 * A group is offered to the emitter of its anchor's kernel. If that declines, the
 * members are offered one by one, and what is declined alone runs on the reference
 * evaluator. Graph outputs are brought to C order at the end, unless the layout is
 * free; where the value already is in C order and in a buffer of its own, that buffer
 * becomes the caller's, so that nothing is copied.
 */
#include "runtime/onednn.h"
#include <stdlib.h>

static noe_dnn_emitter *const emitters[NOE_OP_COUNT] = {
#define KERNEL(ID, EMITTER, FLAGS) [NOE_OP_##ID] = noe_dnn_emit_##EMITTER,
#include "runtime/kernels.def"
};

static bool is_empty(const noe_dnn_plan *p, uint32_t node)
{
    return noe_shape_elements(&p->g->nodes[node].types[0].shape) == 0;
}

/* oneDNN is not asked about tensors without elements, nor about those whose elements an
 * int cannot count, which not all of its kernels expect. */
static bool is_unsuitable(const noe_dnn_plan *p, uint32_t node)
{
    int64_t n = noe_shape_elements(&p->g->nodes[node].types[0].shape);
    return n == 0 || n > INT32_MAX;
}

static bool touches_unsuitable(const noe_dnn_plan *p, const noe_fusion *f)
{
    bool unsuitable = is_unsuitable(p, f->last) || is_unsuitable(p, f->anchor);
    for (int i = 0; i < f->n_operands; i++)
        unsuitable |= is_unsuitable(p, f->operands[i].node);
    return unsuitable;
}

static void use(noe_dnn_plan *p, noe_ref r)
{
    noe_dnn_value *v = &p->values[r.node];
    if (v->is_weight)
        return;
    NOE_ASSERT(v->pending > 0);
    v->pending--;
    for (int i = 0; i < v->n_views; i++)
        p->buffers[v->views[i].buffer].pending--;
}

static void use_operands(noe_dnn_plan *p, const noe_fusion *f)
{
    for (int i = 0; i < f->n_operands; i++)
        use(p, f->operands[i]);
    for (int i = 0; i < f->n_steps; i++) {
        if (!noe_ref_is_none(f->steps[i].other))
            use(p, f->steps[i].other);
    }
}

static noe_status emit_kernel(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                              noe_error *err)
{
    *done = false;
    p->node = f->last;
    noe_dnn_emitter *emit = emitters[p->g->nodes[f->anchor].op];
    if (!emit || touches_unsuitable(p, f))
        return NOE_OK;
    return emit(p, f, done, err);
}

static noe_status emit_reference(noe_dnn_plan *p, const noe_fusion *f, noe_error *err)
{
    noe_dnn_arg args[NOE_DNN_MAX_ARGS];
    for (int i = 0; i < f->n_operands; i++) {
        args[i].arg = i;
        NOE_TRY(noe_dnn_get_plain(p, f->operands[i], &args[i].view, err));
    }
    dnnl_memory_desc_t md = noe_dnn_plain(&p->g->nodes[f->anchor].types[0].shape);
    args[f->n_operands] = (noe_dnn_arg){f->n_operands, noe_dnn_new_view(p, &md)};
    noe_dnn_add_plain_step(p, NOE_DNN_REFERENCE, args, f->n_operands + 1);
    noe_dnn_set_value(p, f->anchor, &args[f->n_operands].view);
    return NOE_OK;
}

static noe_status plan_alone(noe_dnn_plan *p, uint32_t node, noe_error *err)
{
    noe_fusion f;
    bool done = false;
    noe_fusion_single(p->g, node, &f);
    NOE_TRY(emit_kernel(p, &f, &done, err));
    if (!done)
        NOE_TRY(emit_reference(p, &f, err));
    use_operands(p, &f);
    return NOE_OK;
}

static noe_status plan_group(noe_dnn_plan *p, uint32_t last, noe_error *err)
{
    noe_fusion f;
    noe_fusion_describe(p->g, p->group, last, &f);
    bool is_alone = f.anchor == last && f.n_operands == (int)p->g->nodes[last].n_inputs;
    if (is_alone)
        return plan_alone(p, last, err);
    bool done = false;
    NOE_TRY(emit_kernel(p, &f, &done, err));
    if (done) {
        use_operands(p, &f);
        return NOE_OK;
    }
    for (uint32_t i = 0; i <= last; i++) {
        if (p->group[i] == last)
            NOE_TRY(plan_alone(p, i, err));
    }
    return NOE_OK;
}

static void add_input(noe_dnn_plan *p, uint32_t node, uint32_t number)
{
    noe_dnn_value *v = &p->values[node];
    v->is_known = true;
    v->pending = p->uses[node];
    v->is_undecided = true;
    v->number = number;
}

static noe_status plan_outputs(noe_dnn_plan *p, noe_error *err)
{
    for (uint32_t k = 0; k < p->g->n_outputs; k++) {
        noe_ref r = p->g->outputs[k].ref;
        noe_dnn_view from, to;
        p->node = r.node;
        if (p->free_layout) {
            noe_dnn_value *v = &p->values[r.node];
            if (v->n_views > 0)
                p->buffers[v->views[0].buffer].end = UINT32_MAX;
            continue;
        }
        NOE_TRY(noe_dnn_get_plain(p, r, &from, err));
        if (p->buffers[from.buffer].store == NOE_DNN_ARENA) {
            to = from;
        } else {
            to = noe_dnn_new_view(p, &from.md);
            if (!is_empty(p, r.node))
                NOE_TRY(noe_dnn_add_reorder(p, &from, &to, err));
        }
        p->buffers[to.buffer].store = NOE_DNN_OUTPUT;
        p->buffers[to.buffer].number = k;
    }
    return NOE_OK;
}

static void init_plan(noe_dnn_plan *p, const noe_graph *g, bool free_layout)
{
    p->g = g;
    p->free_layout = free_layout;
    p->live = noe_calloc(g->n_nodes + 1, sizeof *p->live);
    p->uses = noe_calloc(g->n_nodes + 1, sizeof *p->uses);
    p->group = noe_calloc(g->n_nodes + 1, sizeof *p->group);
    p->values = noe_calloc(g->n_nodes + 1, sizeof *p->values);
}

noe_status noe_dnn_plan_graph(noe_dnn_plan *p, const noe_graph *g, bool free_layout,
                              noe_error *err)
{
    init_plan(p, g, free_layout);
    noe_graph_mark_live(g, p->live);
    noe_graph_count_uses(g, p->live, p->uses);
    NOE_TRY(noe_check_runnable(g, p->live, err));
    noe_fuse(g, p->live, p->uses, p->group);
    uint32_t n_inputs = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        if (n->op == NOE_OP_INPUT)
            add_input(p, i, n_inputs++);
        p->values[i].is_weight = n->is_weight;
        p->values[i].is_known |= n->is_weight;
        if (n->op == NOE_OP_INPUT && !free_layout && p->live[i]) {
            noe_dnn_view view;
            NOE_TRY(noe_dnn_get_plain(p, (noe_ref){i, 0}, &view, err));
        }
        if (p->group[i] == i)
            NOE_TRY(plan_group(p, i, err));
    }
    return plan_outputs(p, err);
}

noe_status noe_dnn_plan_node(noe_dnn_plan *p, const noe_graph *g, uint32_t node,
                             bool *is_kernel, noe_error *err)
{
    init_plan(p, g, true);
    noe_fusion f;
    noe_fusion_single(g, node, &f);
    for (int i = 0; i < f.n_operands; i++) {
        uint32_t k = f.operands[i].node;
        p->uses[k]++;
        p->values[k].is_weight = g->nodes[k].is_weight;
        p->values[k].is_known = true;
        if (!g->nodes[k].is_weight)
            add_input(p, k, 0);
    }
    p->uses[node] = 1;
    return emit_kernel(p, &f, is_kernel, err);
}

void noe_dnn_plan_clear(noe_dnn_plan *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        dnnl_primitive_destroy(p->steps[i].primitive);
    for (uint32_t i = 0; i < p->n_buffers; i++)
        free(p->buffers[i].data);
    free(p->steps);
    free(p->buffers);
    free(p->live);
    free(p->uses);
    free(p->group);
    free(p->values);
    noe_arena_clear(&p->scratch);
    noe_arena_clear(&p->arena);
}
