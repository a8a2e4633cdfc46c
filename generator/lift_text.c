/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a variant: both sides with each slot in the form chosen for it, then the
 * conditions.
 */
#include "generator/lift_form.h"

/* A choice being printed. */
typedef struct view {
    const noe_forms *f;
    const noe_pair *pair;
    const noe_slot *slots;
    const noe_choice *c;
} view;

static const noe_form *form_of(const view *l, int s)
{
    return &l->slots[s].forms[l->c->form[s]];
}

static noe_form_kind chosen(const view *l, int s)
{
    return form_of(l, s)->kind;
}

static int rank_of(const view *l, int var)
{
    return l->pair->vars[var].shape.rank;
}

/* Axis `axis` of a variable, in the manner of axis slot s (-1: literally). */
static void print_axis(noe_buf *b, const view *l, int s, int var, int64_t axis)
{
    if (s >= 0 && chosen(l, s) == NOE_FORM_VARIABLE && l->slots[s].value.i == axis)
        noe_buf_printf(b, "$p%d", s);
    else if (s >= 0 && chosen(l, s) == NOE_FORM_FROM_END)
        noe_buf_printf(b, "%lld", (long long)axis - rank_of(l, var));
    else
        noe_buf_printf(b, "%lld", (long long)axis);
}

static void print_dim(noe_buf *b, const view *l, int s, int var, int64_t axis)
{
    noe_buf_printf(b, "dim(?%c, ", noe_var_letter(var));
    print_axis(b, l, s, var, axis);
    noe_buf_puts(b, ")");
}

/* "rank(?x) - n", or just the rank. */
static void print_rank_less(noe_buf *b, int var, int n)
{
    noe_buf_printf(b, "rank(?%c)", noe_var_letter(var));
    if (n > 0)
        noe_buf_printf(b, " - %d", n);
}

/* Shapes */

static int64_t product(const noe_shape *s, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= s->dim[i];
    return n;
}

static bool print_as_dim(noe_buf *b, const view *l, int64_t n, bool from_end)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        for (int i = 0; i < x->rank; i++) {
            if (x->dim[i] != n)
                continue;
            noe_buf_printf(b, "dim(?%c, %d)", noe_var_letter(v),
                           from_end ? i - x->rank : i);
            return true;
        }
    }
    return false;
}

/* The product of the first or of the last axes of a variable. */
static bool print_as_product(noe_buf *b, const view *l, int64_t n)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        for (int cut = x->rank; cut >= 2; cut--) {
            if (product(x, 0, cut) == n && cut == x->rank) {
                noe_buf_printf(b, "prod(shape(?%c))", noe_var_letter(v));
                return true;
            }
            if (product(x, 0, cut) == n) {
                noe_buf_printf(b, "prod(take(shape(?%c), ", noe_var_letter(v));
                print_rank_less(b, v, x->rank - cut);
                noe_buf_puts(b, "))");
                return true;
            }
            if (product(x, x->rank - cut, x->rank) == n) {
                noe_buf_printf(b, "prod(skip(shape(?%c), ", noe_var_letter(v));
                print_rank_less(b, v, cut);
                noe_buf_puts(b, "))");
                return true;
            }
        }
    }
    return false;
}

/* An entry of a shape: a dimension of the first variable that has it, or a product. */
static void print_entry(noe_buf *b, const view *l, int64_t n, bool from_end)
{
    if (n == 1 || (!print_as_dim(b, l, n, from_end) && !print_as_product(b, l, n)))
        noe_buf_printf(b, "%lld", (long long)n);
}

static void print_entries(noe_buf *b, const view *l, const noe_slot *s, int first,
                          bool from_end)
{
    noe_buf_puts(b, "[");
    for (int i = first; i < s->value.n; i++) {
        noe_buf_puts(b, i > first ? ", " : "");
        print_entry(b, l, s->value.list[i], from_end);
    }
    noe_buf_puts(b, "]");
}

/* The leading axes of a variable, then entries. */
static void print_lead(noe_buf *b, const view *l, const noe_slot *s, const noe_form *f)
{
    int n = rank_of(l, f->var) - f->axis;
    if (f->axis == 0)
        noe_buf_printf(b, "shape(?%c)", noe_var_letter(f->var));
    else {
        noe_buf_printf(b, "take(shape(?%c), ", noe_var_letter(f->var));
        print_rank_less(b, f->var, f->axis);
        noe_buf_puts(b, ")");
    }
    if (n == s->value.n)
        return;
    noe_buf_puts(b, " ++ ");
    print_entries(b, l, s, n, true);
}

/* Other values */

static void print_offset(noe_buf *b, const view *l, const noe_slot *s, int other)
{
    noe_value difference = s->value;
    for (int i = 0; i < s->value.n; i++)
        difference.list[i] -= l->slots[other].value.list[i];
    noe_buf_printf(b, "$p%d + ", other);
    noe_value_print(b, &difference);
}

/* What pads of a whole tensor are on its spatial axes, as a window has them. */
static void print_spatial(noe_buf *b, const noe_form *f)
{
    char v = noe_var_letter(f->var);
    noe_buf_printf(b,
                   "$p%d %c (skip(take($p%d, rank(?%c)), 2) ++ skip($p%d, rank(?%c) + "
                   "2))",
                   f->other, f->sign > 0 ? '+' : '-', f->other2, v, f->other2, v);
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
    const noe_form *f = form_of(l, i);
    switch (f->kind) {
    case NOE_FORM_VARIABLE:
        noe_buf_printf(b, "$p%d", i);
        break;
    case NOE_FORM_OFFSET:
        print_offset(b, l, s, f->other);
        break;
    case NOE_FORM_SPATIAL:
        print_spatial(b, f);
        break;
    case NOE_FORM_ADD:
        noe_buf_printf(b, "$p%d + $p%d", f->other, f->other2);
        break;
    case NOE_FORM_PICK:
        noe_buf_printf(b, "at($p%d, $p%d)", f->other, f->other2);
        break;
    case NOE_FORM_TAIL:
        noe_buf_printf(b, "skip($p%d, rank(?%c) - 1)", f->other,
                       noe_var_letter(f->var));
        break;
    case NOE_FORM_ELEMENT:
        noe_buf_printf(b, "at($p%d, %d)", f->other, f->axis);
        break;
    case NOE_FORM_KERNEL:
        noe_buf_printf(b, "[dim(?%c, %d), 1] ++ $p%d", noe_var_letter(f->var), f->axis,
                       f->other);
        break;
    case NOE_FORM_WITHOUT:
        noe_buf_printf(b, "without(shape(?%c), $p%d)", noe_var_letter(f->var),
                       f->other);
        break;
    case NOE_FORM_WINDOW:
        noe_buf_printf(b, "skip(shape(?%c), 2)", noe_var_letter(f->var));
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
        noe_buf_printf(b, "[dim(?%c, %d)] ++ rep(1, ", noe_var_letter(f->var), f->axis);
        print_rank_less(b, f->var2, rank_of(l, f->var2) + 1 - s->value.n);
        noe_buf_puts(b, ")");
        break;
    case NOE_FORM_SHAPE:
        noe_buf_printf(b, "shape(?%c)", noe_var_letter(f->var));
        break;
    case NOE_FORM_WITH_ONES:
        noe_buf_printf(b, "shape(?%c) ++ [1", noe_var_letter(f->var));
        for (int k = rank_of(l, f->var) + 1; k < s->value.n; k++)
            noe_buf_puts(b, ", 1");
        noe_buf_puts(b, "]");
        break;
    case NOE_FORM_LEAD:
        print_lead(b, l, s, f);
        break;
    case NOE_FORM_DIMS:
    case NOE_FORM_DIMS_END:
        print_entries(b, l, s, 0, f->kind == NOE_FORM_DIMS_END);
        break;
    case NOE_FORM_FROM_END:
        print_from_end(b, s);
        break;
    case NOE_FORM_DEFAULT:
    case NOE_FORM_LITERAL:
        noe_value_print(b, &s->value);
        break;
    }
}

/* Terms */

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
        noe_buf_printf(b, "?%c", noe_var_letter(node->var));
        return;
    }
    const noe_op_info *info = noe_op_get(node->op);
    const char *separator = "[";
    noe_buf_puts(b, info->name);
    for (int k = 0; k < info->n_params; k++) {
        int s = l->f->slot_of[i][k];
        if (chosen(l, s) == NOE_FORM_DEFAULT)
            continue;
        noe_buf_printf(b, "%s%s=", separator, noe_param_name(info->params[k]));
        print_slot(b, l, s);
        separator = ", ";
    }
    noe_buf_puts(b, *separator == ',' ? "](" : "(");
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

/* Conditions on variables */

static void print_and(noe_buf *b)
{
    if (b->len)
        noe_buf_puts(b, " && ");
}

static void print_axis_condition(noe_buf *b, const view *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    int big = noe_forms_largest(l->pair);
    for (int i = 0; i < x->rank; i++) {
        int s = noe_forms_axis_variable(l->f, l->c, x->rank, i);
        if (x->dim[i] != 1 || s < 0)
            continue;
        print_and(b);
        if (big != v)
            noe_buf_printf(b, "rank(?%c) == rank(?%c) && ", noe_var_letter(v),
                           noe_var_letter(big));
        if (l->slots[s].param == NOE_PARAM_AXIS)
            noe_buf_printf(b, "dim(?%c, $p%d) == 1", noe_var_letter(v), s);
        else
            noe_buf_printf(b, "len($p%d) == 1 && dim(?%c, at($p%d, 0)) == 1", s,
                           noe_var_letter(v), s);
    }
}

static void print_ones_condition(noe_buf *b, const view *l, int v)
{
    const noe_shape *x = &l->pair->vars[v].shape;
    if (x->rank == 0) {
        print_and(b);
        noe_buf_printf(b, "rank(?%c) == 0", noe_var_letter(v));
    }
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] != 1)
            continue;
        print_and(b);
        noe_buf_printf(b, "dim(?%c, %d) == 1", noe_var_letter(v), i - x->rank);
    }
}

static void print_spread(noe_buf *b, const view *l, int v)
{
    char c = noe_var_letter(v);
    int big = noe_forms_largest(l->pair);
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
                       noe_var_letter(l->c->head[v]), noe_var_letter(big),
                       rank_of(l, big) - rank_of(l, v) + 1);
        break;
    case NOE_SPREAD_ONES:
        print_ones_condition(b, l, v);
        break;
    case NOE_SPREAD_ANY:
    case NOE_SPREAD_COUNT:
        break;
    }
}

static void print_rank(noe_buf *b, const view *l, int v)
{
    int rank = rank_of(l, v);
    /* Said by the spread already. */
    bool is_scalar = rank == 0 && l->c->spread[v] == NOE_SPREAD_ONES;
    if (l->c->rank[v] == NOE_RANK_NOT_SAID || is_scalar)
        return;
    print_and(b);
    if (l->c->rank[v] == NOE_RANK_EXACTLY)
        noe_buf_printf(b, "rank(?%c) == %d", noe_var_letter(v), rank);
    else
        noe_buf_printf(b, "%d <= rank(?%c)", rank, noe_var_letter(v));
}

/* Conditions on slots */

/* Two variables have equal sizes on the axes that slots name. */
static void print_aligned(noe_buf *b, const view *l, int v, int w)
{
    print_and(b);
    noe_buf_printf(b, "rank(?%c) == rank(?%c)", noe_var_letter(w), noe_var_letter(v));
    for (int i = 0; i < l->f->n_slots; i++) {
        const noe_slot *s = &l->slots[i];
        if (s->param != NOE_PARAM_AXIS || noe_forms_aligned(l->f, v, i) != w)
            continue;
        noe_buf_puts(b, " && ");
        print_dim(b, l, i, w, s->value.i);
        noe_buf_puts(b, " == ");
        print_dim(b, l, i, v, s->value.i);
    }
}

static bool is_list(const noe_slot *s)
{
    return s->value.kind == NOE_KIND_AXES || s->value.kind == NOE_KIND_INTS;
}

/* One axis, counted from the front. */
static void print_front_axis(noe_buf *b, const view *l, int s, int var, int64_t axis)
{
    if (chosen(l, s) == NOE_FORM_FROM_END)
        print_rank_less(b, var, l->slots[s].rank - (int)axis);
    else
        noe_buf_printf(b, "%lld", (long long)axis);
}

/* The axes of slot s, counted from the front. var has the rank of their operand. */
static void print_front(noe_buf *b, const view *l, int s, int var)
{
    const noe_slot *o = &l->slots[s];
    if (chosen(l, s) == NOE_FORM_VARIABLE) {
        noe_buf_printf(b, "$p%d", s);
        return;
    }
    if (!is_list(o)) {
        print_front_axis(b, l, s, var, o->value.i);
        return;
    }
    noe_buf_puts(b, "[");
    for (int i = 0; i < o->value.n; i++) {
        noe_buf_puts(b, i ? ", " : "");
        print_front_axis(b, l, s, var, o->value.list[i]);
    }
    noe_buf_puts(b, "]");
}

static void print_other(noe_buf *b, const view *l, int i, const noe_form *f)
{
    bool own = is_list(&l->slots[i]), its = is_list(&l->slots[f->other]);
    if (own || its)
        noe_buf_puts(b, "!has(");
    if (own)
        noe_buf_printf(b, "$p%d, ", i);
    if (!own && !its)
        noe_buf_printf(b, "$p%d != ", i);
    print_front(b, l, f->other, f->var);
    if (!own && its)
        noe_buf_printf(b, ", $p%d", i);
    noe_buf_puts(b, own || its ? ")" : "");
}

static void print_place(noe_buf *b, int64_t place, int i, bool from_end)
{
    noe_buf_printf(b, from_end ? "at($p%d, -%lld) == " : "at($p%d, %lld) == ", i,
                   (long long)place);
}

static void print_places(noe_buf *b, const noe_slot *s, int i, const noe_form *f)
{
    bool tail = f->asked == NOE_ASKED_TAIL;
    for (int k = 0; k < f->axis; k++) {
        noe_buf_puts(b, k ? " && " : "");
        print_place(b, tail ? k + 1 : k, i, tail);
        int64_t to = s->value.list[tail ? s->value.n - 1 - k : k];
        if (tail)
            noe_buf_printf(b, "len($p%d) - %lld", i, (long long)s->value.n - to);
        else
            noe_buf_printf(b, "%lld", (long long)to);
    }
}

static void print_asked(noe_buf *b, const view *l, int i)
{
    const noe_slot *s = &l->slots[i];
    const noe_form *f = form_of(l, i);
    bool list = is_list(s);
    if (f->kind != NOE_FORM_VARIABLE || f->asked == NOE_ASKED_NOTHING)
        return;
    print_and(b);
    switch (f->asked) {
    case NOE_ASKED_OTHER:
        print_other(b, l, i, f);
        break;
    case NOE_ASKED_FROM:
        noe_buf_printf(b, list ? "%d <= at($p%d, 0)" : "%d <= $p%d", f->axis, i);
        break;
    case NOE_ASKED_UNDER:
        noe_buf_printf(b, list ? "at($p%d, -1) < %d" : "$p%d < %d", i, f->axis);
        break;
    case NOE_ASKED_BEFORE:
        noe_buf_printf(b, list ? "at($p%d, -1) < " : "$p%d < ", i);
        print_rank_less(b, f->var, f->axis);
        break;
    case NOE_ASKED_OUTSIDE:
        noe_buf_printf(b,
                       list ? "at($p%d, -1) < rank(?%c) - rank(?%c)"
                            : "$p%d < rank(?%c) - rank(?%c)",
                       i, noe_var_letter(f->var), noe_var_letter(f->var2));
        break;
    case NOE_ASKED_SINGLE:
        noe_buf_printf(b, "len($p%d) == 1", i);
        break;
    case NOE_ASKED_TAIL:
    case NOE_ASKED_HEAD:
        print_places(b, s, i, f);
        break;
    case NOE_ASKED_ORDER:
        noe_buf_printf(b, "$p%d == range(len($p%d))", i, i);
        break;
    case NOE_ASKED_SPATIAL:
        noe_buf_printf(
            b, "take($p%d, 2) == [0, 0] && take(skip($p%d, rank(?%c)), 2) == [0, 0]", i,
            i, noe_var_letter(f->var));
        break;
    case NOE_ASKED_NOTHING:
        break;
    }
}

static void print_where(noe_buf *b, const view *l)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        print_spread(b, l, v);
        print_rank(b, l, v);
    }
    for (int v = 0; v < l->pair->n_vars; v++) {
        int twin = l->c->twin[v];
        if (twin < 0)
            continue;
        print_and(b);
        noe_buf_printf(b, "shape(?%c) == shape(?%c)", noe_var_letter(twin),
                       noe_var_letter(v));
    }
    for (int v = 0; v < l->pair->n_vars; v++) {
        if (l->c->aligned[v] >= 0)
            print_aligned(b, l, v, l->c->aligned[v]);
    }
    for (int i = 0; i < l->f->n_slots; i++)
        print_asked(b, l, i);
}

void noe_variant_print(noe_buf *b, const noe_forms *f, const noe_choice *c)
{
    view l = {f, f->pair, f->slots, c};
    noe_buf where = {0};
    print_roots(b, &l, f->pair->lhs);
    noe_buf_puts(b, " => ");
    print_roots(b, &l, f->pair->rhs);
    print_where(&where, &l);
    if (where.len)
        noe_buf_printf(b, " where %s", noe_buf_text(&where));
    noe_buf_clear(&where);
}
