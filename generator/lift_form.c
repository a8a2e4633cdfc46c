/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots, their forms, conditions, and the text of a variant.
 *
 * Every concrete parameter value is a slot; uses of the same value for the same
 * parameter share one. A slot has forms, general ones first: a parameter variable, a
 * term over shapes of variables, an axis counted from the end, the literal value.
 * Conditions are of four kinds, each for a variable: its rank, that it has another
 * variable's shape, and where it is 1.
 *
 * Dimensions of a space are mostly different, so that few terms explain a number; where
 * several do, instances tell them apart (generator/check.c).
 */
#include "generator/lift_form.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_bound(noe_param p)
{
    return p == NOE_PARAM_START || p == NOE_PARAM_END;
}

static bool is_axis(noe_param p)
{
    return p == NOE_PARAM_AXIS || p == NOE_PARAM_AXES;
}

bool noe_slot_is_axis(const noe_slot *s)
{
    return is_axis(s->param);
}

int noe_slot_find(const noe_slot *s, noe_form_kind kind)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == kind)
            return f;
    }
    return -1;
}

char noe_var_letter(int var)
{
    return (char)('a' + var);
}

/* Slots */

static int find_slot(const noe_forms *l, const noe_slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const noe_slot *o = &l->slots[i];
        bool same_param =
            o->param == s->param || (is_bound(o->param) && is_bound(s->param));
        if (same_param && o->rank == s->rank && o->is_patterned == s->is_patterned &&
            noe_value_eq(&o->value, &s->value))
            return i;
    }
    return -1;
}

static int add_slot(noe_forms *l, const noe_pair_node *node, int k, int axis_slot)
{
    noe_param param = noe_op_get(node->op)->params[k];
    noe_slot s = {.param = param, .value = node->params.v[k], .axis_slot = -1};
    s.is_patterned = param == NOE_PARAM_SHAPE && node->n_in == 0 &&
                     node->op != NOE_OP_ZEROS && node->op != NOE_OP_ONES;
    if (is_axis(param))
        s.rank = l->pair->nodes[node->in[0]].shape.rank;
    if (is_bound(param))
        s.axis_slot = axis_slot;
    int i = find_slot(l, &s);
    if (i >= 0)
        return i;
    if (l->n_slots == NOE_LIFT_MAX_SLOTS) {
        l->is_full = true;
        return 0;
    }
    l->slots[l->n_slots] = s;
    return l->n_slots++;
}

static void collect_slots(noe_forms *l)
{
    bool left[NOE_PAIR_MAX_NODES];
    noe_pair_mark_left(l->pair, left);
    for (int i = 0; i < l->pair->n_nodes; i++) {
        const noe_pair_node *node = &l->pair->nodes[i];
        if (node->is_var)
            continue;
        const noe_op_info *info = noe_op_get(node->op);
        int axis_slot = -1;
        for (int k = 0; k < info->n_params; k++) {
            int s = add_slot(l, node, k, axis_slot);
            l->slot_of[i][k] = s;
            l->slots[s].n_uses[!left[i]]++;
            if (info->params[k] == NOE_PARAM_AXIS)
                axis_slot = s;
        }
    }
}

static void add_form(noe_slot *s, noe_form f)
{
    for (int i = 0; i < s->n_forms; i++) {
        if (memcmp(&s->forms[i], &f, sizeof f) == 0)
            return;
    }
    if (s->n_forms < NOE_LIFT_MAX_FORMS - 1 || f.kind == NOE_FORM_LITERAL)
        s->forms[s->n_forms++] = f;
}

/* Dimensions that a number may be: on the given axis only, or on the others. */
static void add_dims(const noe_forms *l, noe_slot *s, int axis, bool on_axis)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        for (int i = 0; i < x->rank; i++) {
            if (x->dim[i] == s->value.i && (i == axis) == on_axis)
                add_form(s, (noe_form){.kind = NOE_FORM_DIM, .var = v, .axis = i});
        }
    }
}

static void add_sums(const noe_forms *l, noe_slot *s, int axis, bool on_axis)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        for (int w = v + 1; w < pair->n_vars; w++) {
            const noe_shape *y = &pair->vars[w].shape;
            for (int i = 0; i < x->rank && i < y->rank; i++) {
                if (x->dim[i] + y->dim[i] == s->value.i && (i == axis) == on_axis)
                    add_form(s, (noe_form){.kind = NOE_FORM_SUM,
                                           .var = v,
                                           .axis = i,
                                           .var2 = w,
                                           .axis2 = i});
            }
        }
    }
}

/* The border of a concat of two variables, and its end. */
static void add_borders(const noe_forms *l, noe_slot *s)
{
    const noe_pair *pair = l->pair;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        if (n->is_var || n->op != NOE_OP_CONCAT || !pair->nodes[n->in[0]].is_var ||
            !pair->nodes[n->in[1]].is_var)
            continue;
        int axis = (int)noe_params_get(n->op, &n->params, NOE_PARAM_AXIS)->i;
        int v = pair->nodes[n->in[0]].var, w = pair->nodes[n->in[1]].var;
        int64_t border = pair->vars[v].shape.dim[axis];
        if (border == s->value.i)
            add_form(s, (noe_form){.kind = NOE_FORM_DIM, .var = v, .axis = axis});
        if (border + pair->vars[w].shape.dim[axis] == s->value.i)
            add_form(s, (noe_form){.kind = NOE_FORM_SUM,
                                   .var = v,
                                   .axis = axis,
                                   .var2 = w,
                                   .axis2 = axis});
    }
}

/* Bounds of slices: borders of concats, then dimensions on the same axis, then others.
 */
static void add_bound_forms(const noe_forms *l, noe_slot *s)
{
    if (s->value.i == 0)
        return;
    int axis = (int)l->slots[s->axis_slot].value.i;
    add_borders(l, s);
    add_dims(l, s, axis, true);
    add_sums(l, s, axis, true);
    add_dims(l, s, axis, false);
    add_sums(l, s, axis, false);
}

/* A group for each channel. */
static void add_group_forms(const noe_forms *l, noe_slot *s)
{
    const int channels = 1;
    if (s->value.i > 1)
        add_dims(l, s, channels, true);
}

/* Whether some size of a shape is a dimension of a variable. */
static bool is_explained(const noe_forms *l, const noe_slot *s)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        for (int i = 0; i < x->rank * s->value.n; i++) {
            if (x->dim[i % x->rank] == s->value.list[i / x->rank] &&
                x->dim[i % x->rank] != 1)
                return true;
        }
    }
    return false;
}

/* One size and ones: the size is a dimension, the ones are as many as a variable has
 * other axes, or other axes but one. */
static void add_head_forms(const noe_forms *l, noe_slot *s)
{
    const noe_pair *pair = l->pair;
    if (s->value.n < 3 || s->value.list[0] == 1)
        return;
    for (int i = 1; i < s->value.n; i++) {
        if (s->value.list[i] != 1)
            return;
    }
    for (int axis = 0; axis < 2; axis++) {
        for (int v = 0; v < pair->n_vars; v++) {
            const noe_shape *x = &pair->vars[v].shape;
            if (x->rank > axis && x->dim[axis] == s->value.list[0] &&
                x->rank >= s->value.n)
                add_form(s,
                         (noe_form){
                             .kind = NOE_FORM_HEAD, .var = v, .var2 = v, .axis = axis});
        }
    }
}

static void add_shape_forms(const noe_forms *l, noe_slot *s)
{
    const noe_pair *pair = l->pair;
    add_head_forms(l, s);
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        bool is_prefix = x->rank <= s->value.n;
        for (int i = 0; is_prefix && i < s->value.n; i++)
            is_prefix = s->value.list[i] == (i < x->rank ? x->dim[i] : 1);
        if (is_prefix)
            add_form(s, (noe_form){.kind = x->rank == s->value.n ? NOE_FORM_SHAPE
                                                                 : NOE_FORM_WITH_ONES,
                                   .var = v});
    }
    if (!is_explained(l, s))
        return;
    /* Matrices may have axes in front, images behind. */
    bool is_matrix = s->value.n <= 2;
    add_form(s, (noe_form){.kind = is_matrix ? NOE_FORM_DIMS_END : NOE_FORM_DIMS});
    add_form(s, (noe_form){.kind = is_matrix ? NOE_FORM_DIMS : NOE_FORM_DIMS_END});
}

static void add_offset_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const noe_slot *o = &l->slots[i];
        if (o != s && o->param == s->param && o->value.n == s->value.n)
            add_form(s, (noe_form){.kind = NOE_FORM_OFFSET, .other = i});
    }
}

bool noe_slot_is_useless(const noe_slot *s)
{
    if (is_bound(s->param))
        return s->value.i != 0;
    if (s->param == NOE_PARAM_GROUP)
        return s->value.i > 1;
    if (s->param != NOE_PARAM_SHAPE)
        return false;
    for (int i = 0; i < s->value.n; i++) {
        if (s->value.list[i] != 1)
            return true;
    }
    return false;
}

/* A parameter variable must be bound by the side that is to be rewritten: the costlier
 * one, if there is one. */
static bool may_be_variable(const noe_forms *l, const noe_slot *s)
{
    return l->costly < 0 || s->n_uses[l->costly] > 0;
}

/* Whether a parameter variable would say more than the value: if it ties two uses
 * together. A lone one only has the values that make the types fit. Axes and the shapes
 * of ones and zeros are another matter: there the others are as good. */
static bool is_worth_a_variable(const noe_slot *s)
{
    return s->n_uses[0] + s->n_uses[1] > 1 || is_axis(s->param) ||
           s->param == NOE_PARAM_SHAPE;
}

static void collect_forms(noe_forms *l)
{
    for (int i = 0; i < l->n_slots; i++) {
        noe_slot *s = &l->slots[i];
        /* Of a constant that is not the same everywhere, any shape is too much to ask:
         * what it should be comes first. */
        if (s->is_patterned)
            add_shape_forms(l, s);
        if (!is_worth_a_variable(s) && !noe_slot_is_useless(s))
            add_form(s, (noe_form){.kind = NOE_FORM_LITERAL});
        if (is_worth_a_variable(s) && may_be_variable(l, s))
            add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE});
        if (is_bound(s->param))
            add_bound_forms(l, s);
        if (s->param == NOE_PARAM_GROUP)
            add_group_forms(l, s);
        if (s->param == NOE_PARAM_SHAPE && !s->is_patterned)
            add_shape_forms(l, s);
        if (s->param == NOE_PARAM_PADS)
            add_offset_forms(l, s);
        if (is_axis(s->param))
            add_form(s, (noe_form){.kind = NOE_FORM_FROM_END});
        if (!is_worth_a_variable(s) && may_be_variable(l, s))
            add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE});
        if (is_worth_a_variable(s) || noe_slot_is_useless(s))
            add_form(s, (noe_form){.kind = NOE_FORM_LITERAL});
    }
}

/* Text */

/* A choice being printed. */
typedef struct view {
    const noe_pair *pair;
    const noe_slot *slots;
    int n_slots;
    const int (*slot_of)[NOE_MAX_PARAMS];
    const noe_choice *c;
} view;

static char var_letter(int var)
{
    return noe_var_letter(var);
}

static noe_form_kind chosen(const view *l, int s)
{
    return l->slots[s].forms[l->c->form[s]].kind;
}

/* Axis `axis` of a variable, in the manner of axis slot s (-1: literally). */
static void print_axis(noe_buf *b, const view *l, int s, int var, int64_t axis)
{
    if (s >= 0 && chosen(l, s) == NOE_FORM_VARIABLE && l->slots[s].value.i == axis)
        noe_buf_printf(b, "$p%d", s);
    else if (s >= 0 && chosen(l, s) == NOE_FORM_FROM_END)
        noe_buf_printf(b, "%lld", (long long)axis - l->pair->vars[var].shape.rank);
    else
        noe_buf_printf(b, "%lld", (long long)axis);
}

static void print_dim(noe_buf *b, const view *l, int s, int var, int64_t axis)
{
    noe_buf_printf(b, "dim(?%c, ", var_letter(var));
    print_axis(b, l, s, var, axis);
    noe_buf_puts(b, ")");
}

/* A list entry of a shape as a dimension of the first variable that has it. */
static void print_entry(noe_buf *b, const view *l, int64_t n, bool from_end)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars && n != 1; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        for (int i = 0; i < x->rank; i++) {
            if (x->dim[i] != n)
                continue;
            noe_buf_printf(b, "dim(?%c, %d)", var_letter(v),
                           from_end ? i - x->rank : i);
            return;
        }
    }
    noe_buf_printf(b, "%lld", (long long)n);
}

static void print_list(noe_buf *b, const view *l, const noe_slot *s, bool from_end)
{
    noe_buf_puts(b, "[");
    for (int i = 0; i < s->value.n; i++) {
        noe_buf_puts(b, i ? ", " : "");
        print_entry(b, l, s->value.list[i], from_end);
    }
    noe_buf_puts(b, "]");
}

static void print_offset(noe_buf *b, const view *l, const noe_slot *s, int other)
{
    noe_value difference = s->value;
    for (int i = 0; i < s->value.n; i++)
        difference.list[i] -= l->slots[other].value.list[i];
    noe_buf_printf(b, "$p%d + ", other);
    noe_value_print(b, &difference);
}

static void print_from_end(noe_buf *b, const noe_slot *s)
{
    noe_value v = s->value;
    v.i -= s->rank;
    for (int i = 0; i < v.n; i++)
        v.list[i] -= s->rank;
    noe_value_print(b, &v);
}

static void print_slot(noe_buf *b, const view *l, int i)
{
    const noe_slot *s = &l->slots[i];
    const noe_form *f = &s->forms[l->c->form[i]];
    switch (f->kind) {
    case NOE_FORM_VARIABLE:
        noe_buf_printf(b, "$p%d", i);
        break;
    case NOE_FORM_OFFSET:
        print_offset(b, l, s, f->other);
        break;
    case NOE_FORM_DIM:
        print_dim(b, l, s->axis_slot, f->var, f->axis);
        break;
    case NOE_FORM_SUM:
        print_dim(b, l, s->axis_slot, f->var, f->axis);
        noe_buf_puts(b, " + ");
        print_dim(b, l, s->axis_slot, f->var2, f->axis2);
        break;
    case NOE_FORM_HEAD:
        noe_buf_printf(b, "[dim(?%c, %d)] ++ rep(1, rank(?%c) - %d)",
                       var_letter(f->var), f->axis, var_letter(f->var2),
                       l->pair->vars[f->var2].shape.rank + 1 - s->value.n);
        break;
    case NOE_FORM_SHAPE:
        noe_buf_printf(b, "shape(?%c)", var_letter(f->var));
        break;
    case NOE_FORM_WITH_ONES:
        noe_buf_printf(b, "shape(?%c) ++ [1", var_letter(f->var));
        for (int k = l->pair->vars[f->var].shape.rank + 1; k < s->value.n; k++)
            noe_buf_puts(b, ", 1");
        noe_buf_puts(b, "]");
        break;
    case NOE_FORM_DIMS:
    case NOE_FORM_DIMS_END:
        print_list(b, l, s, f->kind == NOE_FORM_DIMS_END);
        break;
    case NOE_FORM_FROM_END:
        print_from_end(b, s);
        break;
    case NOE_FORM_LITERAL:
        noe_value_print(b, &s->value);
        break;
    }
}

static bool has_heavy(const noe_pair *pair, int i)
{
    const noe_pair_node *n = &pair->nodes[i];
    if (n->is_var)
        return false;
    if (noe_op_has(n->op, NOE_TRAIT_HEAVY))
        return true;
    for (int k = 0; k < n->n_in; k++) {
        if (has_heavy(pair, n->in[k]))
            return true;
    }
    return false;
}

/* Either order says the same; the one with the heavy operand first is the usual one. */
static bool is_better_swapped(const noe_pair *pair, const noe_pair_node *node)
{
    return node->n_in == 2 && noe_op_has(node->op, NOE_TRAIT_COMMUTATIVE) &&
           !has_heavy(pair, node->in[0]) && has_heavy(pair, node->in[1]);
}

/* Depth is bounded by NOE_PAIR_MAX_NODES. */
static void print_term(noe_buf *b, const view *l, int i)
{
    const noe_pair_node *node = &l->pair->nodes[i];
    if (node->is_var) {
        noe_buf_printf(b, "?%c", var_letter(node->var));
        return;
    }
    const noe_op_info *info = noe_op_get(node->op);
    noe_buf_puts(b, info->name);
    for (int k = 0; k < info->n_params; k++) {
        noe_buf_printf(b, "%s%s=", k ? ", " : "[", noe_param_name(info->params[k]));
        print_slot(b, l, l->slot_of[i][k]);
    }
    noe_buf_puts(b, info->n_params ? "](" : "(");
    bool swap = is_better_swapped(l->pair, node);
    for (int k = 0; k < node->n_in; k++) {
        noe_buf_puts(b, k ? ", " : "");
        print_term(b, l, node->in[swap ? 1 - k : k]);
    }
    noe_buf_puts(b, ")");
}

static void print_roots(noe_buf *b, const view *l, const int *roots)
{
    noe_buf_puts(b, l->pair->n_roots > 1 ? "{ " : "");
    for (int i = 0; i < l->pair->n_roots; i++) {
        noe_buf_puts(b, i ? ", " : "");
        print_term(b, l, roots[i]);
    }
    noe_buf_puts(b, l->pair->n_roots > 1 ? " }" : "");
}

/* Conditions */

static int count_ones(const noe_shape *s)
{
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        n += s->dim[i] == 1;
    return n;
}

static int largest_variable(const noe_pair *pair)
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

/* Slot of an axis variable for this axis at this rank, or -1. */
static int axis_variable(const noe_slot *slots, int n_slots, const noe_choice *c,
                         int rank, int axis)
{
    for (int i = 0; i < n_slots; i++) {
        const noe_slot *s = &slots[i];
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
            if (x->dim[i] == 1 && axis_variable(f->slots, f->n_slots, c, rank, i) >= 0)
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

static void print_and(noe_buf *b)
{
    if (b->len)
        noe_buf_puts(b, " && ");
}

static void print_axis_condition(noe_buf *b, const view *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    int big = largest_variable(l->pair);
    for (int i = 0; i < x->rank; i++) {
        int s = axis_variable(l->slots, l->n_slots, l->c, x->rank, i);
        if (x->dim[i] != 1 || s < 0)
            continue;
        print_and(b);
        if (big != v)
            noe_buf_printf(b, "rank(?%c) == rank(?%c) && ", var_letter(v),
                           var_letter(big));
        if (l->slots[s].param == NOE_PARAM_AXIS)
            noe_buf_printf(b, "dim(?%c, $p%d) == 1", var_letter(v), s);
        else
            noe_buf_printf(b, "len($p%d) == 1 && dim(?%c, at($p%d, 0)) == 1", s,
                           var_letter(v), s);
    }
}

static void print_ones_condition(noe_buf *b, const view *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    if (x->rank == 0) {
        print_and(b);
        noe_buf_printf(b, "rank(?%c) == 0", var_letter(v));
    }
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] != 1)
            continue;
        print_and(b);
        noe_buf_printf(b, "dim(?%c, %d) == 1", var_letter(v), i - x->rank);
    }
}

static void print_spread(noe_buf *b, const view *l, int v)
{
    char c = var_letter(v);
    int big = largest_variable(l->pair);
    switch (l->c->spread[v]) {
    case NOE_SPREAD_AXIS:
        print_axis_condition(b, l, v);
        break;
    case NOE_SPREAD_SCALAR:
        print_and(b);
        noe_buf_printf(b, "prod(shape(?%c)) == 1", c);
        break;
    case NOE_SPREAD_ROW:
        print_and(b);
        noe_buf_printf(b, "prod(shape(?%c)) == dim(?%c, -1)", c, c);
        break;
    case NOE_SPREAD_HEAD:
        print_and(b);
        noe_buf_printf(b, "shape(?%c) == [dim(?%c, 0)] ++ rep(1, rank(?%c) - %d)", c,
                       var_letter(l->c->head[v]), var_letter(big),
                       l->pair->vars[big].shape.rank - l->pair->vars[v].shape.rank + 1);
        break;
    case NOE_SPREAD_ONES:
        print_ones_condition(b, l, v);
        break;
    case NOE_SPREAD_ANY:
    case NOE_SPREAD_COUNT:
        break;
    }
}

static void print_where(noe_buf *b, const noe_forms *f, const view *l)
{
    for (int v = 0; v < f->pair->n_vars; v++) {
        print_spread(b, l, v);
        /* Said by the spread already. */
        bool is_scalar =
            f->pair->vars[v].shape.rank == 0 && l->c->spread[v] == NOE_SPREAD_ONES;
        if (l->c->has_rank[v] && !is_scalar) {
            print_and(b);
            noe_buf_printf(b, "rank(?%c) == %d", var_letter(v),
                           f->pair->vars[v].shape.rank);
        }
    }
    for (int v = 0; v < f->pair->n_vars; v++) {
        int twin = noe_forms_twin(f, v);
        if (twin < 0 || !l->c->has_twin[v])
            continue;
        print_and(b);
        noe_buf_printf(b, "shape(?%c) == shape(?%c)", var_letter(twin), var_letter(v));
    }
}

void noe_variant_print(noe_buf *b, const noe_forms *f, const noe_choice *c)
{
    view l = {f->pair, f->slots, f->n_slots, f->slot_of, c};
    noe_buf where = {0};
    print_roots(b, &l, f->pair->lhs);
    noe_buf_puts(b, " => ");
    print_roots(b, &l, f->pair->rhs);
    print_where(&where, f, &l);
    if (where.len)
        noe_buf_printf(b, " where %s", noe_buf_text(&where));
    noe_buf_clear(&where);
}

void noe_forms_collect(noe_forms *f, const noe_pair *pair, int costly)
{
    *f = (noe_forms){.pair = pair, .costly = costly};
    collect_slots(f);
    if (!f->is_full)
        collect_forms(f);
}
