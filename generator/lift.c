/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting: a pair found at concrete shapes and parameters becomes rule text.
 *
 * Every concrete parameter value is a slot; uses of the same value for the same
 * parameter share one. A slot has forms, general ones first: a parameter variable, a
 * term over shapes of variables, an axis counted from the end, the literal value.
 * Conditions are a list of their own, none first, the literal ranks last. A variant is
 * a choice of a form for each slot and of a condition. Forms that are refuted with
 * everything else literal are dropped; the variants that remain are tried in the order
 * of generality, each looked at by check.c, and the first few of each condition are
 * kept.
 *
 * Dimensions of a space are mostly different, so that few terms explain a number; where
 * several do, the variations of check.c tell them apart.
 */
#include "generator/lift.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SLOTS     16
#define MAX_FORMS     14
#define PER_CONDITION 5  /* variants kept without a condition; two less with one */
#define MAX_TRIALS    40 /* variants looked at of one condition */
#define MAX_SURVIVORS 12 /* of them, ranked by generality */
#define FORM_TRIES    12 /* variations of an instance, beside single dimensions */
#define VARIANT_TRIES 24

typedef enum form_kind {
    FORM_VARIABLE,
    FORM_OFFSET,    /* variable of slot `other`, plus the literal difference */
    FORM_DIM,       /* dim(var, axis) */
    FORM_SUM,       /* dim(var, axis) + dim(var2, axis2) */
    FORM_SHAPE,     /* shape(var) */
    FORM_WITH_ONES, /* shape(var) and ones behind it */
    FORM_DIMS,      /* list of dims, literals where none fits */
    FORM_DIMS_END,  /* the same, axes counted from the end */
    FORM_FROM_END,  /* axis or axes from the end */
    FORM_LITERAL,
} form_kind;

typedef struct form {
    form_kind kind;
    int var, axis, var2, axis2, other;
} form;

typedef struct slot {
    noe_param param;
    noe_value value;
    int rank;          /* axes: of the operand */
    int axis_slot;     /* bounds of slices: slot of the axis, else -1 */
    bool is_patterned; /* shape of a constant other than zeros and ones */
    int n_uses[2];     /* on the left, on the right */
    form forms[MAX_FORMS];
    int n_forms;
} slot;

typedef struct lifter {
    const noe_pair *pair;
    uint64_t seed;
    int costly; /* side that a rewrite should start from; -1: either */
    slot slots[MAX_SLOTS];
    int n_slots;
    int slot_of[NOE_PAIR_MAX_NODES][NOE_MAX_PARAMS];
    int choice[MAX_SLOTS]; /* form chosen for each slot */
    bool is_full;
    noe_lifted *out;
} lifter;

enum {
    CONDITION_NONE,
    CONDITION_AXIS,     /* broadcast axes are those of an axis parameter */
    CONDITION_FROM_END, /* broadcast axes counted from the end */
    CONDITION_SHAPES,   /* and variables of one shape have one shape */
    CONDITION_LITERAL,  /* and the ranks are those it was found at */
};

static bool is_bound(noe_param p)
{
    return p == NOE_PARAM_START || p == NOE_PARAM_END;
}

static bool is_axis(noe_param p)
{
    return p == NOE_PARAM_AXIS || p == NOE_PARAM_AXES;
}

/* Slots */

static int find_slot(const lifter *l, const slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const slot *o = &l->slots[i];
        bool same_param =
            o->param == s->param || (is_bound(o->param) && is_bound(s->param));
        if (same_param && o->rank == s->rank && o->is_patterned == s->is_patterned &&
            noe_value_eq(&o->value, &s->value))
            return i;
    }
    return -1;
}

static int add_slot(lifter *l, const noe_pair_node *node, int k, int axis_slot)
{
    noe_param param = noe_op_get(node->op)->params[k];
    slot s = {.param = param, .value = node->params.v[k], .axis_slot = -1};
    s.is_patterned = param == NOE_PARAM_SHAPE && node->n_in == 0 &&
                     node->op != NOE_OP_ZEROS && node->op != NOE_OP_ONES;
    if (is_axis(param))
        s.rank = l->pair->nodes[node->in[0]].shape.rank;
    if (is_bound(param))
        s.axis_slot = axis_slot;
    int i = find_slot(l, &s);
    if (i >= 0)
        return i;
    if (l->n_slots == MAX_SLOTS) {
        l->is_full = true;
        return 0;
    }
    l->slots[l->n_slots] = s;
    return l->n_slots++;
}

static void collect_slots(lifter *l)
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

static void add_form(slot *s, form f)
{
    for (int i = 0; i < s->n_forms; i++) {
        if (memcmp(&s->forms[i], &f, sizeof f) == 0)
            return;
    }
    if (s->n_forms < MAX_FORMS - 1 || f.kind == FORM_LITERAL)
        s->forms[s->n_forms++] = f;
}

/* Dimensions that a number may be: on the given axis only, or on the others. */
static void add_dims(const lifter *l, slot *s, int axis, bool on_axis)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        for (int i = 0; i < x->rank; i++) {
            if (x->dim[i] == s->value.i && (i == axis) == on_axis)
                add_form(s, (form){.kind = FORM_DIM, .var = v, .axis = i});
        }
    }
}

static void add_sums(const lifter *l, slot *s, int axis, bool on_axis)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        for (int w = v + 1; w < pair->n_vars; w++) {
            const noe_shape *y = &pair->vars[w].shape;
            for (int i = 0; i < x->rank && i < y->rank; i++) {
                if (x->dim[i] + y->dim[i] == s->value.i && (i == axis) == on_axis)
                    add_form(s, (form){.kind = FORM_SUM,
                                       .var = v,
                                       .axis = i,
                                       .var2 = w,
                                       .axis2 = i});
            }
        }
    }
}

/* The border of a concat of two variables, and its end. */
static void add_borders(const lifter *l, slot *s)
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
            add_form(s, (form){.kind = FORM_DIM, .var = v, .axis = axis});
        if (border + pair->vars[w].shape.dim[axis] == s->value.i)
            add_form(s, (form){.kind = FORM_SUM,
                               .var = v,
                               .axis = axis,
                               .var2 = w,
                               .axis2 = axis});
    }
}

/* Bounds of slices: borders of concats, then dimensions on the same axis, then others.
 */
static void add_bound_forms(const lifter *l, slot *s)
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
static void add_group_forms(const lifter *l, slot *s)
{
    const int channels = 1;
    if (s->value.i > 1)
        add_dims(l, s, channels, true);
}

/* Whether some size of a shape is a dimension of a variable. */
static bool is_explained(const lifter *l, const slot *s)
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

static void add_shape_forms(const lifter *l, slot *s)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        bool is_prefix = x->rank <= s->value.n;
        for (int i = 0; is_prefix && i < s->value.n; i++)
            is_prefix = s->value.list[i] == (i < x->rank ? x->dim[i] : 1);
        if (is_prefix)
            add_form(s,
                     (form){.kind = x->rank == s->value.n ? FORM_SHAPE : FORM_WITH_ONES,
                            .var = v});
    }
    if (!is_explained(l, s))
        return;
    /* Matrices may have axes in front, images behind. */
    bool is_matrix = s->value.n <= 2;
    add_form(s, (form){.kind = is_matrix ? FORM_DIMS_END : FORM_DIMS});
    add_form(s, (form){.kind = is_matrix ? FORM_DIMS : FORM_DIMS_END});
}

static void add_offset_forms(const lifter *l, slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const slot *o = &l->slots[i];
        if (o != s && o->param == s->param && o->value.n == s->value.n)
            add_form(s, (form){.kind = FORM_OFFSET, .other = i});
    }
}

/* Sizes in a rule are worth nothing unless they are 1. */
static bool is_useless_literal(const slot *s)
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
static bool may_be_variable(const lifter *l, const slot *s)
{
    return l->costly < 0 || s->n_uses[l->costly] > 0;
}

/* Whether a parameter variable would say more than the value: if it ties two uses
 * together. A lone one only has the values that make the types fit. Axes and the shapes
 * of ones and zeros are another matter: there the others are as good. */
static bool is_worth_a_variable(const slot *s)
{
    return s->n_uses[0] + s->n_uses[1] > 1 || is_axis(s->param) ||
           s->param == NOE_PARAM_SHAPE;
}

static void collect_forms(lifter *l)
{
    for (int i = 0; i < l->n_slots; i++) {
        slot *s = &l->slots[i];
        /* Of a constant that is not the same everywhere, any shape is too much to ask:
         * what it should be comes first. */
        if (s->is_patterned)
            add_shape_forms(l, s);
        if (!is_worth_a_variable(s) && !is_useless_literal(s))
            add_form(s, (form){.kind = FORM_LITERAL});
        if (is_worth_a_variable(s) && may_be_variable(l, s))
            add_form(s, (form){.kind = FORM_VARIABLE});
        if (is_bound(s->param))
            add_bound_forms(l, s);
        if (s->param == NOE_PARAM_GROUP)
            add_group_forms(l, s);
        if (s->param == NOE_PARAM_SHAPE && !s->is_patterned)
            add_shape_forms(l, s);
        if (s->param == NOE_PARAM_PADS)
            add_offset_forms(l, s);
        if (is_axis(s->param))
            add_form(s, (form){.kind = FORM_FROM_END});
        if (!is_worth_a_variable(s) && may_be_variable(l, s))
            add_form(s, (form){.kind = FORM_VARIABLE});
        if (is_worth_a_variable(s) || is_useless_literal(s))
            add_form(s, (form){.kind = FORM_LITERAL});
    }
}

/* Text */

static char var_letter(int var)
{
    return (char)('a' + var);
}

static form_kind chosen(const lifter *l, int s)
{
    return l->slots[s].forms[l->choice[s]].kind;
}

/* Axis `axis` of a variable, in the manner of axis slot s (-1: literally). */
static void print_axis(noe_buf *b, const lifter *l, int s, int var, int64_t axis)
{
    if (s >= 0 && chosen(l, s) == FORM_VARIABLE && l->slots[s].value.i == axis)
        noe_buf_printf(b, "$p%d", s);
    else if (s >= 0 && chosen(l, s) == FORM_FROM_END)
        noe_buf_printf(b, "%lld", (long long)axis - l->pair->vars[var].shape.rank);
    else
        noe_buf_printf(b, "%lld", (long long)axis);
}

static void print_dim(noe_buf *b, const lifter *l, int s, int var, int64_t axis)
{
    noe_buf_printf(b, "dim(?%c, ", var_letter(var));
    print_axis(b, l, s, var, axis);
    noe_buf_puts(b, ")");
}

/* A list entry of a shape as a dimension of the first variable that has it. */
static void print_entry(noe_buf *b, const lifter *l, int64_t n, bool from_end)
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

static void print_list(noe_buf *b, const lifter *l, const slot *s, bool from_end)
{
    noe_buf_puts(b, "[");
    for (int i = 0; i < s->value.n; i++) {
        noe_buf_puts(b, i ? ", " : "");
        print_entry(b, l, s->value.list[i], from_end);
    }
    noe_buf_puts(b, "]");
}

static void print_offset(noe_buf *b, const lifter *l, const slot *s, int other)
{
    noe_value difference = s->value;
    for (int i = 0; i < s->value.n; i++)
        difference.list[i] -= l->slots[other].value.list[i];
    noe_buf_printf(b, "$p%d + ", other);
    noe_value_print(b, &difference);
}

static void print_from_end(noe_buf *b, const slot *s)
{
    noe_value v = s->value;
    v.i -= s->rank;
    for (int i = 0; i < v.n; i++)
        v.list[i] -= s->rank;
    noe_value_print(b, &v);
}

static void print_slot(noe_buf *b, const lifter *l, int i)
{
    const slot *s = &l->slots[i];
    const form *f = &s->forms[l->choice[i]];
    switch (f->kind) {
    case FORM_VARIABLE:
        noe_buf_printf(b, "$p%d", i);
        break;
    case FORM_OFFSET:
        print_offset(b, l, s, f->other);
        break;
    case FORM_DIM:
        print_dim(b, l, s->axis_slot, f->var, f->axis);
        break;
    case FORM_SUM:
        print_dim(b, l, s->axis_slot, f->var, f->axis);
        noe_buf_puts(b, " + ");
        print_dim(b, l, s->axis_slot, f->var2, f->axis2);
        break;
    case FORM_SHAPE:
        noe_buf_printf(b, "shape(?%c)", var_letter(f->var));
        break;
    case FORM_WITH_ONES:
        noe_buf_printf(b, "shape(?%c) ++ [1", var_letter(f->var));
        for (int k = l->pair->vars[f->var].shape.rank + 1; k < s->value.n; k++)
            noe_buf_puts(b, ", 1");
        noe_buf_puts(b, "]");
        break;
    case FORM_DIMS:
    case FORM_DIMS_END:
        print_list(b, l, s, f->kind == FORM_DIMS_END);
        break;
    case FORM_FROM_END:
        print_from_end(b, s);
        break;
    case FORM_LITERAL:
        noe_value_print(b, &s->value);
        break;
    }
}

/* Depth is bounded by NOE_PAIR_MAX_NODES. */
static void print_term(noe_buf *b, const lifter *l, int i)
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
    for (int k = 0; k < node->n_in; k++) {
        noe_buf_puts(b, k ? ", " : "");
        print_term(b, l, node->in[k]);
    }
    noe_buf_puts(b, ")");
}

static void print_roots(noe_buf *b, const lifter *l, const int *roots)
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

static void print_and(noe_buf *b, const char *start)
{
    noe_buf_puts(b, b->len ? " && " : start);
}

/* Axis slot for a value of this axis at this rank, or -1. */
static int axis_slot_of(const lifter *l, int rank, int axis)
{
    for (int i = 0; i < l->n_slots; i++) {
        const slot *s = &l->slots[i];
        if (s->rank != rank)
            continue;
        if ((s->param == NOE_PARAM_AXIS && s->value.i == axis) ||
            (s->param == NOE_PARAM_AXES && s->value.n == 1 && s->value.list[0] == axis))
            return i;
    }
    return -1;
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

/* The variable is broadcast along an axis that a parameter variable names. */
static void print_axis_condition(noe_buf *b, const lifter *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    int big = largest_variable(l->pair);
    for (int i = 0; i < x->rank; i++) {
        int s = axis_slot_of(l, x->rank, i);
        if (x->dim[i] != 1 || s < 0 || chosen(l, s) != FORM_VARIABLE)
            continue;
        if (big != v) {
            print_and(b, "");
            noe_buf_printf(b, "rank(?%c) == rank(?%c)", var_letter(v), var_letter(big));
        }
        print_and(b, "");
        if (l->slots[s].param == NOE_PARAM_AXIS)
            noe_buf_printf(b, "dim(?%c, $p%d) == 1", var_letter(v), s);
        else
            noe_buf_printf(b, "len($p%d) == 1 && dim(?%c, at($p%d, 0)) == 1", s,
                           var_letter(v), s);
    }
}

/* The variable has ones where the pair's has them. */
static void print_ones_condition(noe_buf *b, const lifter *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    char c = var_letter(v);
    int n = count_ones(x), big = largest_variable(l->pair);
    if (n == x->rank) {
        print_and(b, "");
        noe_buf_printf(b, "prod(shape(?%c)) == 1", c);
    } else if (n == x->rank - 1 && x->dim[x->rank - 1] != 1) {
        print_and(b, "");
        noe_buf_printf(b, "prod(shape(?%c)) == dim(?%c, -1)", c, c);
    } else if (n == x->rank - 1 && x->dim[0] != 1 && x->rank > 2) {
        int less = l->pair->vars[big].shape.rank - x->rank;
        print_and(b, "");
        noe_buf_printf(b, "shape(?%c) == [dim(?%c, 0)] ++ rep(1, rank(?%c) - %d)", c, c,
                       var_letter(big), less + 1);
    } else {
        for (int i = 0; i < x->rank; i++) {
            if (x->dim[i] != 1)
                continue;
            print_and(b, "");
            noe_buf_printf(b, "dim(?%c, %d) == 1", c, i - x->rank);
        }
    }
}

static void print_shape_conditions(noe_buf *b, const lifter *l)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        for (int w = 0; w < v; w++) {
            if (!noe_shape_eq(&pair->vars[v].shape, &pair->vars[w].shape))
                continue;
            print_and(b, "");
            noe_buf_printf(b, "shape(?%c) == shape(?%c)", var_letter(w), var_letter(v));
            break;
        }
    }
}

static void print_condition(noe_buf *b, const lifter *l, int kind)
{
    const noe_pair *pair = l->pair;
    for (int v = 0; v < pair->n_vars; v++) {
        const noe_shape *x = &pair->vars[v].shape;
        bool is_broadcast = x->rank == 0 || count_ones(x) > 0;
        if (kind == CONDITION_AXIS && is_broadcast)
            print_axis_condition(b, l, v);
        if (kind >= CONDITION_FROM_END && is_broadcast)
            print_ones_condition(b, l, v);
        if (kind == CONDITION_LITERAL) {
            print_and(b, "");
            noe_buf_printf(b, "rank(?%c) == %d", var_letter(v), x->rank);
        }
    }
    if (kind >= CONDITION_SHAPES)
        print_shape_conditions(b, l);
}

/* Variants */

static void print_variant(noe_buf *b, const lifter *l, int condition)
{
    noe_buf where = {0};
    print_roots(b, l, l->pair->lhs);
    noe_buf_puts(b, " => ");
    print_roots(b, l, l->pair->rhs);
    print_condition(&where, l, condition);
    if (where.len)
        noe_buf_printf(b, " where %s", noe_buf_text(&where));
    noe_buf_clear(&where);
}

/* The instance that the pair was found at, for a parsed variant: its variables are
 * named by letter, its parameter variables by slot. */
static void bind(const lifter *l, const noe_rule *rule, noe_binding *b,
                 noe_param *param)
{
    *b = (noe_binding){0};
    for (int v = 0; v < rule->n_vars; v++) {
        int var = rule->vars[v].name[0] - 'a';
        b->type[v] = (noe_type){NOE_F32, l->pair->vars[var].shape};
        b->bound[v] = true;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        int s = atoi(rule->pvars[i].name + 1);
        b->pvalue[i] = l->slots[s].value;
        b->pbound[i] = true;
        param[i] = l->slots[s].param;
    }
}

static bool parse_variant(const lifter *l, int condition, noe_rule *rule)
{
    noe_buf text = {0};
    print_variant(&text, l, condition);
    bool ok = noe_rule_parse(noe_buf_text(&text), SIZE_MAX, rule, NULL) == NOE_OK;
    noe_buf_clear(&text);
    return ok;
}

/* Parses the variant chosen and looks at it: how general it is, -1 if it is wrong. */
static int try_variant(const lifter *l, int condition, int n_tries, noe_rule *rule)
{
    if (!parse_variant(l, condition, rule))
        return -1;
    noe_binding base;
    noe_param param[NOE_RULE_MAX_PVARS];
    bind(l, rule, &base, param);
    return noe_rule_survives(rule, &base, param, l->seed, n_tries);
}

/* The literal form, or the last where it was dropped. */
static int literal_form(const slot *s)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == FORM_LITERAL)
            return f;
    }
    return s->n_forms - 1;
}

static int variable_form(const slot *s)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == FORM_VARIABLE)
            return f;
    }
    return 0;
}

static void choose_literals(lifter *l)
{
    for (int i = 0; i < l->n_slots; i++)
        l->choice[i] = literal_form(&l->slots[i]);
}

static void drop_useless_literals(lifter *l)
{
    for (int i = 0; i < l->n_slots; i++) {
        slot *s = &l->slots[i];
        bool is_last = s->forms[s->n_forms - 1].kind == FORM_LITERAL;
        if (s->n_forms > 1 && is_last && is_useless_literal(s))
            s->n_forms--;
    }
}

/* Number of the form of slot i that refers to slot `other`, or -1. */
static int offset_form(const lifter *l, int i, int other)
{
    for (int f = 0; f < l->slots[i].n_forms; f++) {
        if (l->slots[i].forms[f].kind == FORM_OFFSET &&
            l->slots[i].forms[f].other == other)
            return f;
    }
    return -1;
}

/* Whether form f of slot i may be right: with everything else literal, or with another
 * slot that follows it. */
static bool form_survives(lifter *l, int i, int f, noe_rule *rule)
{
    choose_literals(l);
    l->choice[i] = f;
    if (l->slots[i].forms[f].kind == FORM_OFFSET) /* its slot must be a variable */
        l->choice[l->slots[i].forms[f].other] =
            variable_form(&l->slots[l->slots[i].forms[f].other]);
    if (try_variant(l, CONDITION_LITERAL, FORM_TRIES, rule) >= 0)
        return true;
    for (int k = 0; k < l->n_slots; k++) {
        int follows = offset_form(l, k, i);
        if (k == i || follows < 0 || l->slots[i].forms[f].kind != FORM_VARIABLE)
            continue;
        choose_literals(l);
        l->choice[i] = f;
        l->choice[k] = follows;
        if (try_variant(l, CONDITION_LITERAL, FORM_TRIES, rule) >= 0)
            return true;
    }
    return false;
}

/* Drops the forms that are wrong with everything else literal. */
static void filter_forms(lifter *l, noe_rule *rule)
{
    for (int i = 0; i < l->n_slots; i++) {
        slot kept = l->slots[i];
        kept.n_forms = 0;
        for (int f = 0; f < l->slots[i].n_forms; f++) {
            if (l->slots[i].forms[f].kind == FORM_LITERAL ||
                form_survives(l, i, f, rule))
                kept.forms[kept.n_forms++] = l->slots[i].forms[f];
        }
        l->slots[i] = kept;
    }
}

/* The costlier side is the left one; then the larger; then the first in the alphabet.
 */
static bool is_oriented(const noe_rule *rule, int costly)
{
    noe_rule back = noe_rule_reversed(rule);
    bool forth_ok = noe_rule_is_directed(rule), back_ok = noe_rule_is_directed(&back);
    if (!forth_ok || !back_ok)
        return forth_ok;
    if (costly >= 0)
        return costly == 0;
    int left = noe_rule_count_ops(rule, false), right = noe_rule_count_ops(rule, true);
    if (left != right)
        return left > right;
    noe_buf a = {0}, b = {0};
    noe_rule_print(&a, rule);
    noe_rule_print(&b, &back);
    bool smaller = strcmp(noe_buf_text(&a), noe_buf_text(&b)) <= 0;
    noe_buf_clear(&a);
    noe_buf_clear(&b);
    return smaller;
}

/* Keeps the variant in the orientation in which it can be used, or in the better one.
 * false if it can be used in none, or is there already. */
static bool keep_variant(lifter *l, const noe_rule *rule)
{
    noe_rule *r = noe_malloc(sizeof *r);
    *r = *rule;
    if (!is_oriented(r, l->costly))
        *r = noe_rule_reversed(r);
    bool is_new = noe_rule_is_directed(r) && l->out->n < NOE_LIFT_MAX_VARIANTS;
    noe_buf text = {0};
    noe_rule_print(&text, r);
    for (int i = 0; i < l->out->n; i++)
        is_new = is_new && strcmp(l->out->text[i], noe_buf_text(&text)) != 0;
    if (is_new)
        l->out->text[l->out->n++] = noe_strdup(noe_buf_text(&text));
    noe_buf_clear(&text);
    free(r);
    return is_new;
}

/* The next choice with the same sum of form numbers, in lexicographic order; false at
 * the end. The first one of a sum puts as much as possible into the last slots. */
static bool first_choice(lifter *l, int sum)
{
    for (int i = l->n_slots - 1; i >= 0; i--) {
        int most = l->slots[i].n_forms - 1;
        l->choice[i] = sum < most ? sum : most;
        sum -= l->choice[i];
    }
    return sum == 0;
}

static bool next_choice(lifter *l)
{
    int tail = 0;
    for (int i = l->n_slots - 1; i >= 0; i--) {
        if (tail > 0 && l->choice[i] < l->slots[i].n_forms - 1) {
            l->choice[i]++;
            tail--;
            for (int k = l->n_slots - 1; k > i; k--) {
                int most = l->slots[k].n_forms - 1;
                l->choice[k] = tail < most ? tail : most;
                tail -= l->choice[k];
            }
            return true;
        }
        tail += l->choice[i];
    }
    return false;
}

/* A variant that was looked at and not refuted. */
typedef struct survivor {
    int choice[MAX_SLOTS];
    int n_typed, order;
} survivor;

static int compare_survivors(const void *a, const void *b)
{
    const survivor *x = a, *y = b;
    return x->n_typed != y->n_typed ? y->n_typed - x->n_typed : x->order - y->order;
}

static int find_form(const slot *s, form_kind kind)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == kind)
            return f;
    }
    return 0;
}

/* Adds the choice made if it is new and not refuted. */
static void add_survivor(lifter *l, int condition, noe_rule *rule, survivor *out,
                         int *n)
{
    for (int i = 0; i < *n; i++) {
        if (memcmp(out[i].choice, l->choice, sizeof l->choice) == 0)
            return;
    }
    int n_typed =
        *n < MAX_SURVIVORS ? try_variant(l, condition, VARIANT_TRIES, rule) : -1;
    if (n_typed < 0)
        return;
    memcpy(out[*n].choice, l->choice, sizeof l->choice);
    out[*n].n_typed = n_typed;
    out[*n].order = *n;
    ++*n;
}

/* What laws of real networks look like: axes, groups or both are what they are, the
 * windows are free. */
static void add_presets(lifter *l, int condition, noe_rule *rule, survivor *out, int *n)
{
    static const struct {
        form_kind axes;
        bool group;
    } presets[] = {{FORM_VARIABLE, false},
                   {FORM_VARIABLE, true},
                   {FORM_LITERAL, false},
                   {FORM_FROM_END, false},
                   {FORM_LITERAL, true}};
    for (size_t k = 0; k < sizeof presets / sizeof *presets; k++) {
        memset(l->choice, 0, sizeof l->choice);
        for (int i = 0; i < l->n_slots; i++) {
            const slot *s = &l->slots[i];
            if (is_axis(s->param))
                l->choice[i] = find_form(s, presets[k].axes);
            else if (s->param == NOE_PARAM_GROUP && presets[k].group)
                l->choice[i] = find_form(s, FORM_LITERAL);
        }
        add_survivor(l, condition, rule, out, n);
    }
}

/* Survivors of one condition: the presets, then by the sum of their form numbers. */
static int collect_survivors(lifter *l, int condition, noe_rule *rule, survivor *out)
{
    int most = 0, n_trials = 0, n = 0;
    for (int i = 0; i < l->n_slots; i++)
        most += l->slots[i].n_forms - 1;
    add_presets(l, condition, rule, out, &n);
    for (int sum = 0; sum <= most; sum++) {
        for (bool more = first_choice(l, sum); more; more = next_choice(l)) {
            if (++n_trials > MAX_TRIALS || n == MAX_SURVIVORS)
                return n;
            add_survivor(l, condition, rule, out, &n);
        }
    }
    return n;
}

/* Keeps the most general survivors: those that are well-typed most often. */
static void try_condition(lifter *l, int condition, noe_rule *rule)
{
    survivor s[MAX_SURVIVORS];
    int n = collect_survivors(l, condition, rule, s), n_kept = 0;
    int wanted = condition == CONDITION_NONE ? PER_CONDITION : PER_CONDITION - 2;
    qsort(s, (size_t)n, sizeof *s, compare_survivors);
    for (int i = 0; i < n && n_kept < wanted; i++) {
        memcpy(l->choice, s[i].choice, sizeof l->choice);
        if (parse_variant(l, condition, rule))
            n_kept += keep_variant(l, rule);
    }
}

static int costly_side(const noe_pair *pair)
{
    bool has_weight_op;
    int cost[2];
    noe_pair_costs(pair, cost, &has_weight_op);
    if (pair->kind == NOE_PAIR_SIBLING)
        return 0;
    return cost[0] == cost[1] ? -1 : cost[0] < cost[1];
}

static bool has_broadcast(const noe_pair *pair)
{
    for (int v = 0; v < pair->n_vars; v++) {
        if (pair->vars[v].shape.rank == 0 || count_ones(&pair->vars[v].shape))
            return true;
    }
    return false;
}

void noe_pair_lift(const noe_pair *pair, uint64_t seed, noe_lifted *out)
{
    lifter *l = noe_calloc(1, sizeof *l);
    noe_rule *rule = noe_malloc(sizeof *rule);
    *out = (noe_lifted){0};
    l->pair = pair;
    l->seed = seed;
    l->out = out;
    l->costly = costly_side(pair);
    collect_slots(l);
    if (!l->is_full) {
        collect_forms(l);
        filter_forms(l, rule);
        drop_useless_literals(l);
        try_condition(l, CONDITION_NONE, rule);
        if (has_broadcast(pair)) {
            try_condition(l, CONDITION_AXIS, rule);
            try_condition(l, CONDITION_FROM_END, rule);
        }
        try_condition(l, CONDITION_SHAPES, rule);
        if (out->n == NOE_LIFT_MAX_VARIANTS)
            free(out->text[--out->n]);
        choose_literals(l);
        if (try_variant(l, CONDITION_LITERAL, VARIANT_TRIES, rule) >= 0)
            keep_variant(l, rule);
    }
    free(rule);
    free(l);
}

void noe_lifted_clear(noe_lifted *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->text[i]);
    l->n = 0;
}
