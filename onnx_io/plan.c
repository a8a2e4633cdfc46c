/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds out, for every node of the graph that the outputs need, where it comes from in
 * the result.
 *
 * A node with an origin is still the ONNX node it stems from if the core nodes that the
 * importer made for that node are found again below it, operator by operator and
 * parameter by parameter, whatever their inputs are now: the walk down both graphs at
 * once ends at the inputs of the ONNX node and thereby tells what each of them has
 * become. The types of inputs must be unchanged, because attributes may refer to them
 * (0 and -1 in Reshape, negative axes). Core nodes inside such a node are not needed
 * unless something else needs them.
 */
#include "onnx_io/export.h"
#include "core/tensor.h"
#include <stdlib.h>

/* A weight expression is computed here unless that makes the file much larger. */
#define FREE_FOLD_BYTES ((uint64_t)64 << 10)

bool noe_export_is_constant(const noe_onnx_model *m, uint32_t value)
{
    /* ConstantOfShape reads its size from an earlier value, so this ends. */
    while (value != NOE_NO_VALUE) {
        const noe_onnx_value *v = &m->values[value];
        if (v->kind == NOE_VALUE_INITIALIZER || v->kind == NOE_VALUE_SPARSE)
            return true;
        if (v->kind != NOE_VALUE_OUTPUT || m->nodes[v->index].kind != NOE_NODE_CONSTANT)
            return false;
        if (m->nodes[v->index].proto->n_input == 0)
            return true;
        value = m->nodes[v->index].in[0];
    }
    return false;
}

/* ---- is it still that ONNX node? ---- */

typedef struct pair {
    noe_ref was, is;
} pair;

typedef struct comparison {
    noe_exporter *x;
    const noe_onnx_node *node;
    noe_ref *bound; /* of each input slot */
    pair *todo;
    uint32_t n_todo, cap_todo;
} comparison;

/* Binds the slots that read `was`; *found if there is one. False: a contradiction. */
static bool bind_slots(comparison *c, const pair *p, bool *found)
{
    const noe_onnx_model *m = c->x->m;
    *found = false;
    for (size_t i = 0; i < c->node->proto->n_input; i++) {
        if (c->node->role[i] != NOE_SLOT_DATA ||
            !noe_ref_eq(m->values[c->node->in[i]].ref, p->was))
            continue;
        *found = true;
        if (noe_ref_is_none(c->bound[i]))
            c->bound[i] = p->is;
        if (!noe_ref_eq(c->bound[i], p->is))
            return false;
    }
    return !*found || noe_type_eq(noe_graph_type(m->graph, p->was),
                                  noe_graph_type(c->x->g, p->is));
}

/* Operators that keep the elements in order: types of input and output say what they
 * do, and different parameters, or another of these operators, may do the same. */
static bool only_reshapes(noe_op op)
{
    return op == NOE_OP_RESHAPE || op == NOE_OP_FLATTEN || op == NOE_OP_SQUEEZE ||
           op == NOE_OP_UNSQUEEZE;
}

static bool same_operator(const noe_node *was, const noe_node *is)
{
    if (only_reshapes(was->op) && only_reshapes(is->op))
        return noe_type_eq(was->types, is->types);
    return was->op == is->op && was->op < NOE_OP_COUNT &&
           was->n_inputs == is->n_inputs && noe_params_eq(was->params, is->params);
}

/* Same operator and parameters; the inputs are compared next. */
static bool compare_nodes(comparison *c, const pair *p)
{
    const noe_graph *old = c->x->m->graph, *g = c->x->g;
    const noe_node *was = noe_graph_node(old, p->was.node);
    const noe_node *is = noe_graph_node(g, p->is.node);
    if (!same_operator(was, is))
        return false;
    const noe_ref *was_in = noe_graph_inputs(old, p->was.node);
    const noe_ref *is_in = noe_graph_inputs(g, p->is.node);
    for (uint32_t i = 0; i < was->n_inputs; i++) {
        pair next = {was_in[i], is_in[i]};
        NOE_PUSH(c->todo, c->n_todo, c->cap_todo, next);
    }
    return true;
}

static bool compare(comparison *c, noe_ref was, noe_ref is)
{
    if (!compare_nodes(c, &(pair){was, is}))
        return false;
    while (c->n_todo > 0) {
        pair p = c->todo[--c->n_todo];
        bool is_slot;
        if (!bind_slots(c, &p, &is_slot))
            return false;
        if (!is_slot && !compare_nodes(c, &p))
            return false;
    }
    for (size_t i = 0; i < c->node->proto->n_input; i++) {
        if (c->node->role[i] == NOE_SLOT_DATA && noe_ref_is_none(c->bound[i]))
            return false;
    }
    return true;
}

static noe_ref *new_bindings(noe_exporter *x, const noe_onnx_node *n)
{
    noe_ref *bound = NOE_NEW_N(&x->arena, noe_ref, n->proto->n_input);
    for (size_t i = 0; i < n->proto->n_input; i++)
        bound[i] = NOE_REF_NONE;
    return bound;
}

/* The other outputs of an ONNX node (Split) must agree on its inputs. */
static bool agrees(const noe_exporter *x, uint32_t k, const noe_ref *bound)
{
    if (!x->bound[k])
        return true;
    for (size_t i = 0; i < x->m->nodes[k].proto->n_input; i++) {
        if (!noe_ref_eq(x->bound[k][i], bound[i]))
            return false;
    }
    return true;
}

static bool is_claimed(const noe_exporter *x, uint32_t before, uint32_t k,
                       uint32_t port)
{
    for (uint32_t i = 0; x->bound[k] && i < before; i++) {
        const noe_plan *p = &x->plans[i];
        if (x->live[i] && p->kind == NOE_PLAN_ORIGINAL && p->onnx == k &&
            p->port == port)
            return true;
    }
    return false;
}

/* Tries to see node i as output `port` of ONNX node k. */
static bool claim(noe_exporter *x, uint32_t i, uint32_t k, uint32_t port)
{
    const noe_onnx_node *n = &x->m->nodes[k];
    comparison c = {.x = x, .node = n, .bound = new_bindings(x, n)};
    bool same = n->out[port] != NOE_NO_VALUE && !is_claimed(x, i, k, port) &&
                !(x->m->over_primes && noe_onnx_has_open_operand(x->m, n)) &&
                compare(&c, x->m->values[n->out[port]].ref, (noe_ref){i, 0}) &&
                agrees(x, k, c.bound);
    free(c.todo);
    if (!same)
        return false;
    x->bound[k] = c.bound;
    x->plans[i].kind = NOE_PLAN_ORIGINAL;
    x->plans[i].onnx = k;
    x->plans[i].port = port;
    return true;
}

static bool claim_any_port(noe_exporter *x, uint32_t i)
{
    uint32_t origin = x->g->nodes[i].origin;
    if (origin == 0 || origin > x->m->n_nodes ||
        x->m->nodes[origin - 1].kind != NOE_NODE_ALGEBRA)
        return false;
    for (size_t port = 0; port < x->m->nodes[origin - 1].proto->n_output; port++) {
        if (claim(x, i, origin - 1, (uint32_t)port))
            return true;
    }
    return false;
}

/* ---- kinds ---- */

static void plan_leaf(noe_exporter *x, uint32_t i)
{
    const noe_leaf *leaf = noe_graph_leaf_of(x->g, i);
    noe_plan *p = &x->plans[i];
    p->value = *leaf->name ? noe_onnx_find_value(x->m, leaf->name) : NOE_NO_VALUE;
    if (x->g->nodes[i].op == NOE_OP_INPUT || noe_export_is_constant(x->m, p->value))
        return;
    p->kind = NOE_PLAN_WEIGHT;
    p->value = NOE_NO_VALUE;
    p->data = leaf->data;
    p->bytes = leaf->data_bytes;
}

static void plan_opaque(noe_exporter *x, uint32_t i)
{
    uint32_t k = x->g->nodes[i].leaf;
    NOE_ASSERT(k < x->m->n_nodes);
    const noe_onnx_node *n = &x->m->nodes[k];
    noe_plan *p = &x->plans[i];
    p->onnx = k;
    p->kind = NOE_PLAN_FRESH;
    if (x->bound[k])
        return; /* a second version of the same node */
    p->kind = NOE_PLAN_ORIGINAL;
    x->bound[k] = noe_arena_memdup(&x->arena, noe_graph_inputs(x->g, i),
                                   n->proto->n_input * sizeof(noe_ref));
}

static uint64_t type_bytes(const noe_type *type)
{
    int64_t n = noe_shape_elements(&type->shape);
    return n < 0 ? UINT64_MAX : (uint64_t)n * noe_dtype_bytes(type->dtype);
}

static void sum_leaf_bytes(noe_exporter *x, uint32_t i)
{
    const noe_node *n = noe_graph_node(x->g, i);
    if (!n->is_weight)
        return;
    if (n->op == NOE_OP_WEIGHT)
        x->leaf_bytes[i] = noe_graph_leaf_of(x->g, i)->data_bytes;
    const noe_ref *in = noe_graph_inputs(x->g, i);
    for (uint32_t k = 0; k < n->n_inputs; k++)
        x->leaf_bytes[i] += x->leaf_bytes[in[k].node];
}

static bool is_worth_folding(const noe_exporter *x, uint32_t i)
{
    uint64_t bytes = type_bytes(&x->g->nodes[i].types[0]);
    return bytes <= FREE_FOLD_BYTES || bytes / 2 <= x->leaf_bytes[i];
}

static void plan_node(noe_exporter *x, uint32_t i)
{
    const noe_node *n = noe_graph_node(x->g, i);
    x->plans[i].value = NOE_NO_VALUE;
    x->plans[i].statement = NOE_NO_STATEMENT;
    sum_leaf_bytes(x, i);
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT) {
        plan_leaf(x, i);
    } else if (n->op == NOE_OP_OPAQUE) {
        plan_opaque(x, i);
    } else if (n->is_weight && (is_worth_folding(x, i) || !claim_any_port(x, i))) {
        x->plans[i].kind = NOE_PLAN_WEIGHT;
    } else if (!n->is_weight && !claim_any_port(x, i)) {
        x->plans[i].kind = NOE_PLAN_FRESH;
    }
}

/* ---- needs ---- */

/* A value with the content that was computed, so that it is not stored twice. */
static uint32_t find_equal_value(const noe_exporter *x, const noe_type *type,
                                 const noe_plan *p)
{
    for (uint32_t v = 0; v < x->m->n_values; v++) {
        const noe_onnx_value *value = &x->m->values[v];
        if (value->kind != NOE_VALUE_INITIALIZER || !noe_type_eq(&value->type, type))
            continue;
        const noe_onnx_tensor *t = &x->m->initializers[value->index];
        if (t->data && t->bytes == p->bytes && memcmp(t->data, p->data, p->bytes) == 0)
            return v;
    }
    return NOE_NO_VALUE;
}

static noe_status compute_weight(noe_exporter *x, uint32_t i)
{
    noe_plan *p = &x->plans[i];
    const noe_type *type = &x->g->nodes[i].types[0];
    if (!p->data) {
        void *data;
        NOE_TRY(noe_weight_stored(x->g, (noe_ref){i, 0}, &x->arena, &data, x->err));
        p->data = data;
        p->bytes = (size_t)type_bytes(type);
    }
    p->value = find_equal_value(x, type, p);
    return NOE_OK;
}

/* The model's own definition of a constant stays, with what it reads. */
static void keep_value(noe_exporter *x, uint32_t value)
{
    while (value != NOE_NO_VALUE) {
        const noe_onnx_value *v = &x->m->values[value];
        x->value_is_kept[value] = true;
        bool goes_on = v->kind == NOE_VALUE_OUTPUT &&
                       x->m->nodes[v->index].kind == NOE_NODE_CONSTANT &&
                       x->m->nodes[v->index].proto->n_input > 0;
        value = goes_on ? x->m->nodes[v->index].in[0] : NOE_NO_VALUE;
    }
}

typedef struct worklist {
    uint32_t *node;
    uint32_t n, cap;
} worklist;

static void need(noe_exporter *x, worklist *w, noe_ref r, uint32_t original)
{
    if (noe_ref_is_none(r))
        return;
    uint32_t value = noe_export_slot_value(x, r, original);
    if (value != NOE_NO_VALUE)
        keep_value(x, value);
    if (x->plans[r.node].is_needed)
        return;
    x->plans[r.node].is_needed = true;
    NOE_PUSH(w->node, w->n, w->cap, r.node);
}

static void pin(noe_exporter *x, noe_ref r, const char *name, bool is_output)
{
    noe_pin p = {
        .ref = r, .name = name, .is_output = is_output, .statement = NOE_NO_STATEMENT};
    NOE_PUSH(x->pins, x->n_pins, x->cap_pins, p);
}

static void need_captures(noe_exporter *x, worklist *w, uint32_t i,
                          const noe_onnx_node *n)
{
    const noe_ref *in = noe_graph_inputs(x->g, i) + n->proto->n_input;
    for (uint32_t c = 0; c < n->n_captured; c++) {
        need(x, w, in[c], n->captured[c]);
        pin(x, in[c], x->m->values[n->captured[c]].name, false);
    }
}

static void need_original(noe_exporter *x, worklist *w, uint32_t i)
{
    uint32_t k = x->plans[i].onnx;
    const noe_onnx_node *n = &x->m->nodes[k];
    for (size_t s = 0; s < n->proto->n_input; s++) {
        need(x, w, x->bound[k][s], n->in[s]);
        if (n->kind == NOE_NODE_ALGEBRA && n->role[s] == NOE_SLOT_OPERAND &&
            noe_export_is_constant(x->m, n->in[s]))
            keep_value(x, n->in[s]);
    }
    if (n->kind == NOE_NODE_OPAQUE)
        need_captures(x, w, i, n);
}

/* A new concat that only another one on the same axis uses is written as part of it. */
static bool is_part(const noe_exporter *x, noe_ref r, const noe_node *of)
{
    const noe_node *n = noe_graph_node(x->g, r.node);
    return x->plans[r.node].kind == NOE_PLAN_FRESH && n->op == NOE_OP_CONCAT &&
           of->op == NOE_OP_CONCAT && x->uses[r.node] == 1 &&
           noe_params_eq(n->params, of->params);
}

const noe_ref *noe_export_parts(noe_exporter *x, uint32_t i, uint32_t *n)
{
    const noe_node *node = noe_graph_node(x->g, i);
    noe_ref *todo = NULL, *parts = NULL;
    uint32_t n_todo = 0, cap_todo = 0, cap_parts = 0;
    *n = 0;
    for (uint32_t k = node->n_inputs; k-- > 0;)
        NOE_PUSH(todo, n_todo, cap_todo, noe_graph_inputs(x->g, i)[k]);
    while (n_todo > 0) {
        noe_ref r = todo[--n_todo];
        if (noe_ref_is_none(r) || !is_part(x, r, node)) {
            NOE_PUSH(parts, *n, cap_parts, r);
            continue;
        }
        for (uint32_t k = x->g->nodes[r.node].n_inputs; k-- > 0;)
            NOE_PUSH(todo, n_todo, cap_todo, noe_graph_inputs(x->g, r.node)[k]);
    }
    const noe_ref *copy = noe_arena_memdup(&x->arena, parts, *n * sizeof *parts);
    free(todo);
    free(parts);
    return copy;
}

static void need_inputs(noe_exporter *x, worklist *w, uint32_t i)
{
    const noe_node *n = noe_graph_node(x->g, i);
    if (n->op == NOE_OP_OPAQUE) {
        const noe_onnx_node *copied = &x->m->nodes[n->leaf];
        for (uint32_t k = 0; k < copied->proto->n_input; k++)
            need(x, w, noe_graph_inputs(x->g, i)[k], copied->in[k]);
        need_captures(x, w, i, copied);
        return;
    }
    uint32_t n_parts;
    const noe_ref *parts = noe_export_parts(x, i, &n_parts);
    for (uint32_t k = 0; k < n_parts; k++)
        need(x, w, parts[k], NOE_NO_VALUE);
}

static noe_status follow(noe_exporter *x, worklist *w)
{
    while (w->n > 0) {
        uint32_t i = w->node[--w->n];
        switch (x->plans[i].kind) {
        case NOE_PLAN_LEAF:
            break;
        case NOE_PLAN_WEIGHT:
            NOE_TRY(compute_weight(x, i));
            if (x->plans[i].value != NOE_NO_VALUE)
                keep_value(x, x->plans[i].value);
            break;
        case NOE_PLAN_ORIGINAL:
            need_original(x, w, i);
            break;
        case NOE_PLAN_FRESH:
            need_inputs(x, w, i);
            break;
        }
    }
    return NOE_OK;
}

noe_status noe_export_plan(noe_exporter *x)
{
    worklist w = {0};
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        if (x->live[i])
            plan_node(x, i);
    }
    for (uint32_t i = 0; i < x->m->n_outputs; i++) {
        uint32_t original = noe_onnx_find_value(x->m, x->m->outputs[i]->name);
        need(x, &w, x->g->outputs[i].ref, original);
        pin(x, x->g->outputs[i].ref, x->m->outputs[i]->name, true);
    }
    noe_status status = follow(x, &w);
    free(w.node);
    return status;
}
