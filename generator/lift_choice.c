/* SPDX-License-Identifier: Apache-2.0
 *
 * Choices of forms and conditions. Conditions on tensor variables are of three kinds:
 * the rank, that it has another variable's shape, and where it is 1.
 */
#include "generator/lift_form.h"

static int count_ones(const noe_shape *s)
{
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        n += s->dim[i] == 1;
    return n;
}

int noe_forms_largest(const noe_pair *pair)
{
    int best = 0;
    for (int v = 1; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape, *y = &pair->vars[best].shape;
        if (x->rank > y->rank || (x->rank == y->rank && count_ones(x) < count_ones(y)))
            best = v;
    }
    return best;
}

int noe_forms_twin(const noe_forms *f, int var)
{
    for (int w = 0; w < var; w++) {
        if (noe_shape_eq(&f->pair->vars[var].shape, &f->pair->vars[w].shape))
            return w;
    }
    return -1;
}

static bool has_operand(const noe_forms *f, const noe_pair_node *n, int var)
{
    for (int k = 0; k < n->n_in; k++) {
        const noe_pair_node *o = &f->pair->nodes[n->in[k]];
        if (o->is_var && o->var == var)
            return true;
    }
    return false;
}

int noe_forms_other_operand(const noe_forms *f, int var)
{
    int twin = -1;
    for (int i = 0; i < f->pair->n_nodes; i++) {
        const noe_pair_node *n = &f->pair->nodes[i];
        if (n->is_var || !noe_op_has(n->op, NOE_TRAIT_EWISE) || !has_operand(f, n, var))
            continue;
        for (int k = 0; k < n->n_in; k++) {
            const noe_pair_node *o = &f->pair->nodes[n->in[k]];
            if (o->is_var && o->var < var && (twin < 0 || o->var < twin) &&
                noe_shape_eq(&f->pair->vars[var].shape, &f->pair->vars[o->var].shape))
                twin = o->var;
        }
    }
    return twin;
}

static bool are_aligned(const noe_shape *x, const noe_shape *y, const noe_slot *axis)
{
    return x->rank == y->rank && x->rank == axis->rank &&
           x->dim[axis->value.i] == y->dim[axis->value.i];
}

int noe_forms_aligned(const noe_forms *f, int var, int slot)
{
    const noe_pair *pair = f->pair;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        if (n->is_var || n->n_in != 2 ||
            (!noe_op_has(n->op, NOE_TRAIT_EWISE) && n->op != NOE_OP_MATMUL))
            continue;
        const noe_pair_node *a = &pair->nodes[n->in[0]], *b = &pair->nodes[n->in[1]];
        if (!a->is_var || !b->is_var || (a->var != var && b->var != var))
            continue;
        int w = a->var == var ? b->var : a->var;
        if (w < var &&
            are_aligned(&pair->vars[var].shape, &pair->vars[w].shape, &f->slots[slot]))
            return w;
    }
    return -1;
}

int noe_forms_axis_variable(const noe_forms *f, const noe_choice *c, int rank, int axis)
{
    for (int i = 0; i < f->n_slots; i++) {
        const noe_slot *s = &f->slots[i];
        if (s->rank != rank || s->forms[c->form[i]].kind != NOE_FORM_VARIABLE)
            continue;
        if ((s->param == NOE_PARAM_AXIS && s->value.i == axis) ||
            (s->param == NOE_PARAM_AXES && s->value.n == 1 && s->value.list[0] == axis))
            return i;
    }
    return -1;
}

bool noe_forms_can_spread(const noe_forms *f, const noe_choice *c, int var,
                          noe_spread spread)
{
    const noe_shape *x = &f->pair->vars[var].shape;
    int n = count_ones(x), rank = x->rank;
    switch (spread) {
    case NOE_SPREAD_ANY:
        return true;
    case NOE_SPREAD_AXIS:
        for (int i = 0; i < rank; i++) {
            if (x->dim[i] == 1 && noe_forms_axis_variable(f, c, rank, i) >= 0)
                return true;
        }
        return false;
    case NOE_SPREAD_SCALAR:
        return n == rank;
    case NOE_SPREAD_ROW:
        return rank > 0 && n == rank - 1 && n > 0 && x->dim[rank - 1] != 1;
    case NOE_SPREAD_HEAD:
        return rank > 2 && n == rank - 1 && x->dim[0] != 1;
    case NOE_SPREAD_ONES:
        return rank == 0 || n > 0;
    case NOE_SPREAD_COUNT:
        break;
    }
    return false;
}

static bool is_variable(const noe_forms *f, const noe_choice *c, int slot)
{
    return f->slots[slot].forms[c->form[slot]].kind == NOE_FORM_VARIABLE;
}

bool noe_form_has_two(const noe_form *f)
{
    return f->kind == NOE_FORM_SPATIAL || f->kind == NOE_FORM_PICK ||
           f->kind == NOE_FORM_ADD;
}

/* An element of a list cannot be told from the other side: all variables must be on the
 * side of the list's. */
static bool have_side(const noe_forms *f, const noe_choice *c, int list)
{
    int side = f->slots[list].n_uses[0] > 0 ? 0 : 1;
    for (int i = 0; i < f->n_slots; i++) {
        if (is_variable(f, c, i) && f->slots[i].n_uses[side] == 0)
            return false;
    }
    return true;
}

bool noe_forms_fit(const noe_forms *f, const noe_choice *c)
{
    for (int i = 0; i < f->n_slots; i++) {
        const noe_form *x = &f->slots[i].forms[c->form[i]];
        bool has_one = x->kind == NOE_FORM_OFFSET || x->kind == NOE_FORM_WITHOUT ||
                       x->kind == NOE_FORM_KERNEL || x->kind == NOE_FORM_ELEMENT ||
                       x->kind == NOE_FORM_TAIL;
        if ((has_one || noe_form_has_two(x)) && !is_variable(f, c, x->other))
            return false;
        if (noe_form_has_two(x) && !is_variable(f, c, x->other2))
            return false;
        if (x->kind == NOE_FORM_ELEMENT && !have_side(f, c, x->other))
            return false;
    }
    return true;
}

void noe_choice_say_matrices(noe_choice *c, const noe_pair *pair, int but)
{
    for (int v = 0; v < pair->n_vars; v++) {
        if (v != but && pair->vars[v].shape.rank > 0 && c->rank[v] < NOE_RANK_AT_LEAST)
            c->rank[v] = NOE_RANK_AT_LEAST;
    }
}

bool noe_choice_drop_dilations(noe_choice *c, const noe_forms *forms)
{
    bool is_widened = false;
    for (int i = 0; i < forms->n_slots; i++) {
        const noe_slot *s = &forms->slots[i];
        const noe_form *x = &s->forms[c->form[i]];
        int f = noe_slot_find(s, NOE_FORM_DEFAULT);
        is_widened = is_widened || (x->kind == NOE_FORM_SPATIAL && x->sign < 0);
        if (s->param == NOE_PARAM_DILATIONS && f >= 0)
            c->form[i] = f;
    }
    return is_widened;
}

bool noe_choice_drop_groups(noe_choice *c, const noe_forms *forms)
{
    bool any = false;
    for (int i = 0; i < forms->n_slots; i++) {
        const noe_slot *s = &forms->slots[i];
        int f = noe_slot_find(s, NOE_FORM_LITERAL);
        if (s->param != NOE_PARAM_GROUP || s->value.i != 1 || f < 0 ||
            c->form[i] == f || (s->n_uses[0] < 2 && s->n_uses[1] < 2))
            continue;
        c->form[i] = f;
        any = true;
    }
    return any;
}

bool noe_choice_spread_axes(noe_choice *c, const noe_forms *forms)
{
    bool any = false;
    for (int v = 0; v < forms->pair->n_vars; v++) {
        if (c->spread[v] == NOE_SPREAD_ONES &&
            noe_forms_can_spread(forms, c, v, NOE_SPREAD_AXIS)) {
            c->spread[v] = NOE_SPREAD_AXIS;
            any = true;
        }
    }
    return any;
}

bool noe_choice_say_images(noe_choice *c, const noe_forms *forms)
{
    bool any = false;
    for (int v = 0; v < forms->pair->n_vars; v++) {
        if (forms->pair->vars[v].shape.rank < 4)
            continue;
        any = any || (c->spread[v] == NOE_SPREAD_ONES && c->rank[v] < NOE_RANK_EXACTLY);
        c->rank[v] = NOE_RANK_EXACTLY;
    }
    return any;
}

bool noe_forms_have_axes(const noe_forms *f)
{
    for (int i = 0; i < f->n_slots; i++) {
        if (noe_slot_is_axis(&f->slots[i]))
            return true;
    }
    return false;
}

void noe_choice_set_axes(noe_choice *c, const noe_forms *forms, noe_form_kind kind)
{
    for (int i = 0; i < forms->n_slots; i++) {
        int f = noe_slot_find(&forms->slots[i], kind);
        if (noe_slot_is_axis(&forms->slots[i]) && f >= 0)
            c->form[i] = f;
    }
}

bool noe_choice_fixes_bound(const noe_choice *c, const noe_forms *forms)
{
    bool any = false;
    for (int i = 0; i < forms->n_slots; i++) {
        const noe_slot *s = &forms->slots[i];
        any = any || (noe_slot_is_bound(s) && noe_slot_is_useless(s) &&
                      s->forms[c->form[i]].kind == NOE_FORM_LITERAL);
    }
    return any;
}
