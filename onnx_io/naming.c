/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in the result. In order of right: names of graph inputs and initializers; pins,
 * that is graph outputs and names that bodies capture; names that written-back nodes
 * have; names that new nodes inherit from what they replace. Everything else gets a
 * fresh name that occurs nowhere in the model, bodies included.
 *
 * A value may have several pins (outputs that became equal): one of them becomes its
 * name, a node Identity makes each of the others.
 */
#include "onnx_io/export.h"

const char *noe_export_fresh_name(noe_exporter *x, const char *what)
{
    for (;;) {
        noe_arena_mark mark = noe_arena_save(&x->arena);
        const char *name =
            noe_arena_printf(&x->arena, "noether_%s_%u", what, x->n_fresh++);
        if (!noe_names_has(&x->m->all_names, name) && noe_names_add(&x->taken, name, 0))
            return name;
        noe_arena_release(&x->arena, mark);
    }
}

const char *noe_export_take_name(noe_exporter *x, const char *name, const char *what)
{
    if (name && *name && noe_names_add(&x->taken, name, 0))
        return name;
    return noe_export_fresh_name(x, what);
}

static bool is_same_value(const noe_exporter *x, noe_ref r, uint32_t value)
{
    noe_ref was = x->m->values[value].ref;
    return r.port == was.port &&
           x->g->nodes[r.node].hash == x->m->graph->nodes[was.node].hash;
}

uint32_t noe_export_slot_value(const noe_exporter *x, noe_ref r, uint32_t original)
{
    const noe_plan *p = &x->plans[r.node];
    if (p->kind != NOE_PLAN_LEAF && p->kind != NOE_PLAN_WEIGHT)
        return NOE_NO_VALUE;
    if (original != NOE_NO_VALUE && noe_export_is_constant(x->m, original) &&
        is_same_value(x, r, original))
        return original;
    return p->value;
}

static void take_fixed_names(noe_exporter *x)
{
    for (uint32_t v = 0; v < x->m->n_values; v++) {
        if (x->m->values[v].kind != NOE_VALUE_OUTPUT || x->value_is_kept[v])
            noe_names_set(&x->taken, x->m->values[v].name, 0);
    }
}

/* ---- places for names ---- */

static void make_places(noe_exporter *x)
{
    x->out_names = NOE_NEW_N(&x->arena, const char **, x->m->n_nodes);
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        noe_plan *p = &x->plans[i];
        if (!p->is_needed)
            continue;
        if (p->kind != NOE_PLAN_ORIGINAL) {
            p->names = NOE_NEW_N(&x->arena, const char *, x->g->nodes[i].n_outputs);
            continue;
        }
        if (!x->out_names[p->onnx])
            x->out_names[p->onnx] = NOE_NEW_N(&x->arena, const char *,
                                              x->m->nodes[p->onnx].proto->n_output);
        p->names = x->out_names[p->onnx] + p->port;
    }
}

/* The name that the value has without pins, or NULL. */
static const char *natural_name(const noe_exporter *x, noe_ref r)
{
    const noe_plan *p = &x->plans[r.node];
    if (p->kind == NOE_PLAN_ORIGINAL)
        return x->m->nodes[p->onnx].proto->output[p->port + r.port];
    return r.port == 0 ? x->g->nodes[r.node].name : NULL;
}

/* ---- pins ---- */

static bool is_natural_constant(const noe_exporter *x, const noe_pin *pin)
{
    uint32_t v = noe_onnx_find_value(x->m, pin->name);
    return v != NOE_NO_VALUE && noe_export_slot_value(x, pin->ref, v) == v;
}

/* Drops repetitions: several bodies may capture the same tensor. */
static noe_status merge_pins(noe_exporter *x)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_pins; i++) {
        uint32_t first;
        if (!noe_names_find(&x->pin_of, x->pins[i].name, &first)) {
            noe_names_add(&x->pin_of, x->pins[i].name, n);
            x->pins[n++] = x->pins[i];
        } else if (!noe_ref_eq(x->pins[first].ref, x->pins[i].ref)) {
            return noe_fail(x->err, NOE_ERR_UNSUPPORTED,
                            "tensor '%s' would have to have two values",
                            x->pins[i].name);
        }
    }
    x->n_pins = n;
    return NOE_OK;
}

/* Gives the pin's name to its value, if it may; otherwise the pin is an alias. */
static void place_pin(noe_exporter *x, noe_pin *pin, bool only_natural)
{
    const noe_plan *p = &x->plans[pin->ref.node];
    const char **name = &p->names[pin->ref.port];
    if (p->kind == NOE_PLAN_LEAF || p->value != NOE_NO_VALUE) {
        pin->is_alias = !is_natural_constant(x, pin);
        return;
    }
    const char *natural = natural_name(x, pin->ref);
    bool is_natural = natural && strcmp(natural, pin->name) == 0;
    if (only_natural && !is_natural)
        return;
    if (*name && strcmp(*name, pin->name) == 0)
        return;
    /* An initializer as graph output is legal, but runtimes stumble over it. */
    pin->is_alias = *name || (p->kind == NOE_PLAN_WEIGHT && pin->is_output);
    if (!pin->is_alias)
        *name = pin->name;
}

static noe_status take_pin_name(noe_exporter *x, const noe_pin *pin)
{
    bool needs_it = pin->is_alias || !is_natural_constant(x, pin);
    if (needs_it && !noe_names_add(&x->taken, pin->name, 0))
        return noe_fail(x->err, NOE_ERR_UNSUPPORTED,
                        "tensor '%s' would be defined twice", pin->name);
    return NOE_OK;
}

static noe_status place_pins(noe_exporter *x)
{
    NOE_TRY(merge_pins(x));
    uint32_t n = x->n_pins;
    for (uint32_t i = 0; i < n; i++)
        place_pin(x, &x->pins[i], true);
    for (uint32_t i = 0; i < n; i++)
        place_pin(x, &x->pins[i], false);
    for (uint32_t i = 0; i < n; i++)
        NOE_TRY(take_pin_name(x, &x->pins[i]));
    return NOE_OK;
}

/* ---- the rest ---- */

static void name_originals(noe_exporter *x)
{
    for (uint32_t k = 0; k < x->m->n_nodes; k++) {
        const Onnx__NodeProto *n = x->m->nodes[k].proto;
        for (size_t i = 0; x->out_names[k] && i < n->n_output; i++) {
            if (!*n->output[i])
                x->out_names[k][i] = "";
            else if (!x->out_names[k][i])
                x->out_names[k][i] = noe_export_take_name(x, n->output[i], n->op_type);
        }
    }
}

static void name_new(noe_exporter *x, uint32_t i)
{
    const noe_node *n = noe_graph_node(x->g, i);
    const noe_plan *p = &x->plans[i];
    if (n->op == NOE_OP_OPAQUE) {
        const Onnx__NodeProto *copied = x->m->nodes[n->leaf].proto;
        for (uint32_t k = 0; k < n->n_outputs; k++) {
            if (!p->names[k])
                p->names[k] =
                    *copied->output[k] ? noe_export_fresh_name(x, copied->op_type) : "";
        }
    } else if (!p->names[0] && p->value == NOE_NO_VALUE) {
        const char *what =
            p->kind == NOE_PLAN_WEIGHT ? "weight" : noe_op_get(n->op)->name;
        p->names[0] = noe_export_take_name(x, n->name, what);
    }
}

noe_status noe_export_name(noe_exporter *x)
{
    take_fixed_names(x);
    make_places(x);
    NOE_TRY(place_pins(x));
    name_originals(x);
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        const noe_plan *p = &x->plans[i];
        if (p->is_needed && (p->kind == NOE_PLAN_WEIGHT || p->kind == NOE_PLAN_FRESH))
            name_new(x, i);
    }
    return NOE_OK;
}
