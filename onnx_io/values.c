/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers the values of the main graph and checks its structure: every name is defined
 * once and before its use (sort.c has seen to that), so the graph has no cycle. Names
 * that bodies of If, Loop and Scan use without defining them are looked up outwards
 * through the scopes; those that end in the main graph are captures of the node.
 *
 * Recursion is on the nesting of bodies, which noe_wire_check bounds.
 */
#include "onnx_io/model.h"
#include <stdlib.h>

static noe_status define(noe_onnx_model *m, const char *name, noe_value_kind kind,
                         uint32_t index, uint32_t port, noe_error *err)
{
    noe_onnx_value v = {.name = name,
                        .kind = kind,
                        .index = index,
                        .port = port,
                        .type.shape.rank = NOE_RANK_UNKNOWN,
                        .ref = NOE_REF_NONE};
    if (!noe_names_add(&m->value_of, name, m->n_values))
        return noe_fail(err, NOE_ERR_PARSE, "tensor '%s' is defined twice", name);
    noe_names_set(&m->all_names, name, 0);
    NOE_PUSH(m->values, m->n_values, m->cap_values, v);
    return NOE_OK;
}

static noe_status define_inputs(noe_onnx_model *m, noe_error *err)
{
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const char *name = m->inputs[i]->name;
        if (!name || !*name)
            return noe_fail(err, NOE_ERR_PARSE, "graph input %u has no name", i);
        NOE_TRY(define(m, name, NOE_VALUE_INPUT, i, 0, err));
        m->values[m->n_values - 1].type = m->pinned[i];
        m->values[m->n_values - 1].is_input = true;
    }
    return NOE_OK;
}

/* Of an initializer that is a graph input too, the user may say only the shape that it
 * has. */
static noe_status check_pin(const noe_onnx_model *m, uint32_t value,
                            const noe_shape *shape, noe_error *err)
{
    uint32_t input = m->values[value].index;
    if (m->is_pinned[input] && !noe_shape_eq(&m->pinned[input].shape, shape))
        return noe_fail(err, NOE_ERR_ARG,
                        "input shape of '%s': it is an initializer of another shape",
                        m->values[value].name);
    return NOE_OK;
}

static noe_status define_initializer(noe_onnx_model *m, uint32_t i, noe_names *seen,
                                     noe_error *err)
{
    const char *name = m->initializers[i].proto->name;
    if (!name || !*name)
        return noe_fail(err, NOE_ERR_PARSE, "initializer %u has no name", i);
    if (!noe_names_add(seen, name, i))
        return noe_fail(err, NOE_ERR_PARSE, "initializer '%s' is there twice", name);
    uint32_t at = noe_onnx_find_value(m, name);
    if (at == NOE_NO_VALUE) {
        NOE_TRY(define(m, name, NOE_VALUE_INITIALIZER, i, 0, err));
        at = m->n_values - 1;
    } else if (!noe_onnx_initializers_are_inputs(m) && !m->constant_initializers) {
        m->n_defaults++;
        return NOE_OK; /* the default of an input, which callers may override */
    } else {
        NOE_TRY(check_pin(m, at, &m->initializers[i].type.shape, err));
    }
    m->values[at].kind = NOE_VALUE_INITIALIZER;
    m->values[at].index = i;
    m->values[at].type = m->initializers[i].type;
    return NOE_OK;
}

static noe_status define_initializers(noe_onnx_model *m, noe_error *err)
{
    noe_names seen = {0};
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < m->n_initializers && status == NOE_OK; i++)
        status = define_initializer(m, i, &seen, err);
    noe_names_clear(&seen);
    NOE_TRY(status);
    for (uint32_t i = 0; i < m->n_sparse; i++) {
        const Onnx__TensorProto *values = m->sparse[i]->values;
        if (!values || !values->name || !*values->name)
            return noe_fail(err, NOE_ERR_PARSE, "sparse initializer %u has no name", i);
        NOE_TRY(define(m, values->name, NOE_VALUE_SPARSE, i, 0, err));
    }
    return NOE_OK;
}

/* ---- bodies ---- */

typedef struct scope {
    const struct scope *outer;
    noe_names names;
} scope;

typedef struct capture_walk {
    noe_onnx_model *m;
    uint32_t node; /* of the main graph */
    uint32_t *found;
    uint32_t n, cap;
} capture_walk;

static bool in_scope(const scope *s, const char *name)
{
    for (; s; s = s->outer) {
        if (noe_names_has(&s->names, name))
            return true;
    }
    return false;
}

static void capture(capture_walk *w, uint32_t value)
{
    if (w->m->values[value].captured_by == w->node + 1)
        return;
    w->m->values[value].captured_by = w->node + 1;
    NOE_PUSH(w->found, w->n, w->cap, value);
}

static noe_status fail_undefined(const char *name, noe_error *err)
{
    return noe_fail(err, NOE_ERR_PARSE, "input '%s' is not defined", name);
}

static noe_status use_in_body(capture_walk *w, const scope *s, const char *name,
                              noe_error *err)
{
    if (!*name || in_scope(s, name))
        return NOE_OK;
    uint32_t value = noe_onnx_find_value(w->m, name);
    if (value == NOE_NO_VALUE)
        return fail_undefined(name, err);
    capture(w, value);
    return NOE_OK;
}

static void note_name(noe_onnx_model *m, const char *name)
{
    if (name && *name)
        noe_names_set(&m->all_names, name, 0);
}

static void define_in_body(capture_walk *w, scope *s, const char *name)
{
    if (!name || !*name)
        return;
    noe_names_set(&s->names, name, 0);
    note_name(w->m, name);
}

static noe_status walk_body(capture_walk *w, const Onnx__GraphProto *g,
                            const scope *outer, noe_error *err);

static noe_status walk_bodies(capture_walk *w, const Onnx__NodeProto *n, const scope *s,
                              noe_error *err)
{
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];
        if (a->g)
            NOE_TRY(walk_body(w, a->g, s, err));
        for (size_t k = 0; k < a->n_graphs; k++)
            NOE_TRY(walk_body(w, a->graphs[k], s, err));
    }
    return NOE_OK;
}

static noe_status walk_body_node(capture_walk *w, const Onnx__NodeProto *n, scope *s,
                                 noe_error *err)
{
    note_name(w->m, n->name);
    for (size_t i = 0; i < n->n_input; i++)
        NOE_TRY(use_in_body(w, s, n->input[i], err));
    NOE_TRY(walk_bodies(w, n, s, err));
    for (size_t i = 0; i < n->n_output; i++)
        define_in_body(w, s, n->output[i]);
    return NOE_OK;
}

static noe_status walk_body_in(capture_walk *w, const Onnx__GraphProto *g, scope *s,
                               noe_error *err)
{
    for (size_t i = 0; i < g->n_input; i++)
        define_in_body(w, s, g->input[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++)
        define_in_body(w, s, g->initializer[i]->name);
    for (size_t i = 0; i < g->n_sparse_initializer; i++) {
        if (g->sparse_initializer[i]->values)
            define_in_body(w, s, g->sparse_initializer[i]->values->name);
    }
    for (size_t i = 0; i < g->n_node; i++)
        NOE_TRY(walk_body_node(w, g->node[i], s, err));
    for (size_t i = 0; i < g->n_output; i++) {
        if (g->output[i]->name)
            NOE_TRY(use_in_body(w, s, g->output[i]->name, err));
    }
    return NOE_OK;
}

static noe_status walk_body(capture_walk *w, const Onnx__GraphProto *g,
                            const scope *outer, noe_error *err)
{
    scope s = {.outer = outer};
    noe_status status = walk_body_in(w, g, &s, err);
    noe_names_clear(&s.names);
    return status;
}

/* ---- nodes ---- */

static noe_status bind_captures(noe_onnx_model *m, uint32_t k, noe_error *err)
{
    capture_walk w = {.m = m, .node = k};
    noe_onnx_node *n = &m->nodes[k];
    noe_status status = walk_bodies(&w, n->proto, NULL, err);
    n->captured = noe_arena_memdup(&m->arena, w.found, w.n * sizeof *w.found);
    n->n_captured = w.n;
    for (uint32_t i = 0; i < w.n; i++)
        m->values[w.found[i]].is_used = true;
    free(w.found);
    return status;
}

static noe_status bind_inputs(noe_onnx_model *m, uint32_t k, noe_error *err)
{
    noe_onnx_node *n = &m->nodes[k];
    n->in = NOE_NEW_N(&m->arena, uint32_t, n->proto->n_input);
    n->role = NOE_NEW_N(&m->arena, noe_slot_role, n->proto->n_input);
    for (size_t i = 0; i < n->proto->n_input; i++) {
        const char *name = n->proto->input[i];
        n->in[i] = NOE_NO_VALUE;
        if (!*name)
            continue;
        n->in[i] = noe_onnx_find_value(m, name);
        if (n->in[i] == NOE_NO_VALUE)
            return fail_undefined(name, err);
        m->values[n->in[i]].is_used = true;
    }
    return NOE_OK;
}

static noe_status bind_outputs(noe_onnx_model *m, uint32_t k, noe_error *err)
{
    noe_onnx_node *n = &m->nodes[k];
    if (n->proto->n_output > UINT16_MAX)
        return noe_fail(err, NOE_ERR_LIMIT, "%zu outputs, at most %d are possible",
                        n->proto->n_output, UINT16_MAX);
    n->out = NOE_NEW_N(&m->arena, uint32_t, n->proto->n_output);
    for (size_t i = 0; i < n->proto->n_output; i++) {
        n->out[i] = NOE_NO_VALUE;
        if (!*n->proto->output[i])
            continue;
        n->out[i] = m->n_values;
        NOE_TRY(define(m, n->proto->output[i], NOE_VALUE_OUTPUT, k, (uint32_t)i, err));
    }
    return NOE_OK;
}

static noe_status bind_node(noe_onnx_model *m, uint32_t k, noe_error *err)
{
    const Onnx__NodeProto *n = m->nodes[k].proto;
    note_name(m, n->name);
    if (!n->op_type || !*n->op_type)
        return noe_fail(err, NOE_ERR_PARSE, "op_type is missing");
    NOE_TRY(bind_inputs(m, k, err));
    NOE_TRY(bind_captures(m, k, err));
    return bind_outputs(m, k, err);
}

static noe_status bind_graph_outputs(noe_onnx_model *m, noe_error *err)
{
    noe_names seen = {0};
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < m->n_outputs && status == NOE_OK; i++) {
        const char *name = m->outputs[i]->name ? m->outputs[i]->name : "";
        uint32_t value = *name ? noe_onnx_find_value(m, name) : NOE_NO_VALUE;
        if (value == NOE_NO_VALUE)
            status =
                noe_fail(err, NOE_ERR_PARSE, "graph output '%s' is not defined", name);
        else if (!noe_names_add(&seen, name, i))
            status =
                noe_fail(err, NOE_ERR_PARSE, "graph output '%s' is listed twice", name);
        else
            m->values[value].is_used = true;
    }
    noe_names_clear(&seen);
    if (status == NOE_OK && m->n_outputs == 0)
        status = noe_fail(err, NOE_ERR_PARSE, "the graph has no outputs");
    return status;
}

noe_status noe_onnx_number_values(noe_onnx_model *m, noe_error *err)
{
    NOE_TRY(define_inputs(m, err));
    NOE_TRY(define_initializers(m, err));
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        noe_status status = bind_node(m, k, err);
        if (status != NOE_OK) {
            noe_onnx_prefix_node(m, k, err);
            return status;
        }
    }
    for (uint32_t i = 0; i < m->n_value_infos; i++)
        note_name(m, m->value_infos[i]->name);
    return bind_graph_outputs(m, err);
}
