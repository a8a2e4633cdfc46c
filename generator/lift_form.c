/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots and their forms.
 *
 * Every concrete parameter value is a slot; uses of the same value for the same
 * parameter share one. A slot has forms, general ones first: a parameter variable, of
 * which something may be asked; a term over shapes of variables or over other parameter
 * variables; an axis counted from the end; the literal value.
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

/* Axes or a permutation of them. */
static bool is_axes_like(noe_param p)
{
    return is_axis(p) || p == NOE_PARAM_PERM;
}

bool noe_slot_is_axis(const noe_slot *s)
{
    return is_axis(s->param);
}

bool noe_slot_is_bound(const noe_slot *s)
{
    return s->param == NOE_PARAM_START || s->param == NOE_PARAM_END;
}

bool noe_slot_is_shape(const noe_slot *s)
{
    return s->param == NOE_PARAM_SHAPE;
}

bool noe_slot_is_perm(const noe_slot *s)
{
    return s->param == NOE_PARAM_PERM;
}

bool noe_slot_is_flag(const noe_slot *s)
{
    return s->param == NOE_PARAM_KEEPDIMS || s->param == NOE_PARAM_COUNT_INCLUDE_PAD;
}

bool noe_slot_is_plain(const noe_slot *s)
{
    return s->param != NOE_PARAM_SHAPE && !noe_slot_is_bound(s) &&
           !noe_slot_is_axis(s) && !noe_slot_is_perm(s) && !noe_slot_is_flag(s);
}

int noe_slot_find(const noe_slot *s, noe_form_kind kind)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == kind)
            return f;
    }
    return -1;
}

/* Number of a slot's first form of that kind, of which that is asked, or -1. */
int noe_slot_find_asked(const noe_slot *s, noe_asked asked)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == NOE_FORM_VARIABLE && s->forms[f].asked == asked)
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
        if (same_param && o->rank == s->rank && o->of_pad == s->of_pad &&
            o->of_reshape == s->of_reshape && o->is_patterned == s->is_patterned &&
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
    if (is_axes_like(param))
        s.rank = l->pair->nodes[node->in[0]].shape.rank;
    if (is_bound(param))
        s.axis_slot = axis_slot;
    s.of_pad = node->op == NOE_OP_PAD;
    s.of_reshape = node->op == NOE_OP_RESHAPE;
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

/* Variables of a term, a bit each. Depth is bounded by NOE_PAIR_MAX_NODES. */
static uint32_t variables_of(const noe_pair *pair, int i)
{
    const noe_pair_node *n = &pair->nodes[i];
    uint32_t vars = n->is_var ? 1u << n->var : 0;
    for (int k = 0; !n->is_var && k < n->n_in; k++)
        vars |= variables_of(pair, n->in[k]);
    return vars;
}

/* A group for each channel of the result: the first axis of a kernel that has as many
 * groups. */
static void add_result_forms(const noe_forms *l, noe_slot *s)
{
    uint32_t kernels = 0;
    for (int i = 0; i < l->pair->n_nodes; i++) {
        const noe_pair_node *n = &l->pair->nodes[i];
        if (!n->is_var && n->op == NOE_OP_CONV &&
            noe_params_get(n->op, &n->params, NOE_PARAM_GROUP)->i == s->value.i)
            kernels |= variables_of(l->pair, n->in[1]);
    }
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        if ((kernels >> v & 1) && x->rank > 0 && x->dim[0] == s->value.i)
            add_form(s, (noe_form){.kind = NOE_FORM_DIM, .var = v, .axis = 0});
    }
}

/* A group for each channel, or for each of two operands. */
static void add_group_forms(const noe_forms *l, noe_slot *s)
{
    const int channels = 1;
    if (s->value.i > 1) {
        add_dims(l, s, channels, true);
        add_sums(l, s, channels, true);
        add_result_forms(l, s);
    }
}

/* The leading axes of a variable, at least two of them if not all, then other sizes. */
static void add_lead_forms(const noe_forms *l, noe_slot *s)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        int n = 0;
        while (n < x->rank && n < s->value.n && x->dim[n] == s->value.list[n])
            n++;
        if (n == x->rank ? n > 0 && n < s->value.n : n >= 2)
            add_form(s,
                     (noe_form){.kind = NOE_FORM_LEAD, .var = v, .axis = x->rank - n});
    }
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

/* What is left of a shape when some axes are squeezed. */
static void add_without_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->pair->n_vars; i++) {
        int other = i / l->pair->n_vars, var = i % l->pair->n_vars, n = 0;
        const noe_slot *o = &l->slots[other];
        const noe_shape *x = &l->pair->vars[var].shape;
        bool same = o->param == NOE_PARAM_AXES && o->rank == x->rank;
        for (int k = 0; same && k < x->rank; k++) {
            bool dropped = false;
            for (int m = 0; m < o->value.n; m++)
                dropped = dropped || o->value.list[m] == k;
            if (!dropped)
                same = n < s->value.n && x->dim[k] == s->value.list[n++];
        }
        if (same && n == s->value.n)
            add_form(s,
                     (noe_form){.kind = NOE_FORM_WITHOUT, .var = var, .other = other});
    }
}

/* The kernel that stands for pooling with a window. */
static void add_kernel_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->pair->n_vars; i++) {
        int other = i / l->pair->n_vars, var = i % l->pair->n_vars;
        const noe_slot *o = &l->slots[other];
        const noe_shape *x = &l->pair->vars[var].shape;
        bool same = o->param == NOE_PARAM_KERNEL_SHAPE &&
                    o->value.n + 2 == s->value.n && x->rank > 1 &&
                    x->dim[1] == s->value.list[0] && s->value.list[1] == 1;
        for (int k = 0; same && k < o->value.n; k++)
            same = o->value.list[k] == s->value.list[k + 2];
        if (same)
            add_form(
                s, (noe_form){
                       .kind = NOE_FORM_KERNEL, .var = var, .axis = 1, .other = other});
    }
}

/* What the last axis of a variable is split into by another reshape. */
static void add_tail_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->pair->n_vars; i++) {
        int other = i / l->pair->n_vars, var = i % l->pair->n_vars;
        const noe_slot *o = &l->slots[other];
        const noe_shape *x = &l->pair->vars[var].shape;
        int n = o->value.n - s->value.n;
        bool same = s->of_reshape && o->of_reshape && n > 0 && x->rank == n + 1;
        for (int k = 0; same && k < s->value.n; k++)
            same = o->value.list[n + k] == s->value.list[k];
        if (same)
            add_form(s, (noe_form){.kind = NOE_FORM_TAIL, .var = var, .other = other});
    }
}

static void add_shape_forms(const noe_forms *l, noe_slot *s)
{
    const noe_pair *pair = l->pair;
    add_kernel_forms(l, s);
    add_without_forms(l, s);
    add_tail_forms(l, s);
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
    add_lead_forms(l, s);
    if (!is_explained(l, s))
        return;
    /* Matrices may have axes in front, images behind. */
    bool is_matrix = s->value.n <= 2;
    add_form(s, (noe_form){.kind = is_matrix ? NOE_FORM_DIMS_END : NOE_FORM_DIMS});
    add_form(s, (noe_form){.kind = is_matrix ? NOE_FORM_DIMS : NOE_FORM_DIMS_END});
}

/* A window as large as the image. */
static void add_window_forms(const noe_forms *l, noe_slot *s)
{
    for (int v = 0; v < l->pair->n_vars; v++) {
        const noe_shape *x = &l->pair->vars[v].shape;
        bool same = x->rank == s->value.n + 2;
        for (int i = 0; same && i < s->value.n; i++)
            same = x->dim[2 + i] == s->value.list[i];
        if (same)
            add_form(s, (noe_form){.kind = NOE_FORM_WINDOW, .var = v});
    }
}

static void add_offset_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const noe_slot *o = &l->slots[i];
        if (o != s && o->param == s->param && o->value.n == s->value.n)
            add_form(s, (noe_form){.kind = NOE_FORM_OFFSET, .other = i});
    }
}

/* conv(pad(x), w) and conv(x, pad(w)): what is padded outside is padded inside, or is
 * padded less. */
static bool is_spatial_sum(const noe_value *sum, const noe_value *a,
                           const noe_value *pads, int sign)
{
    int spatial = sum->n / 2, rank = pads->n / 2;
    if (a->n != sum->n || rank != spatial + 2)
        return false;
    for (int i = 0; i < spatial; i++) {
        if (sum->list[i] != a->list[i] + sign * pads->list[2 + i] ||
            sum->list[spatial + i] !=
                a->list[spatial + i] + sign * pads->list[rank + 2 + i])
            return false;
    }
    return true;
}

static int variable_of_rank(const noe_pair *pair, int rank)
{
    for (int v = 0; v < pair->n_vars; v++) {
        if (pair->vars[v].shape.rank == rank)
            return v;
    }
    return -1;
}

/* Pads of a window; other's variable and whatever a pad operator says. */
static void add_spatial_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->n_slots; i++) {
        int other = i / l->n_slots, pad = i % l->n_slots;
        const noe_slot *o = &l->slots[other], *p = &l->slots[pad];
        int var = variable_of_rank(l->pair, p->value.n / 2);
        if (o->param != NOE_PARAM_PADS || p->param != NOE_PARAM_PADS || o == s ||
            p == s || o == p || var < 0)
            continue;
        for (int sign = 1; sign >= -1; sign -= 2) {
            if (is_spatial_sum(&s->value, &o->value, &p->value, sign))
                add_form(s, (noe_form){.kind = NOE_FORM_SPATIAL,
                                       .var = var,
                                       .other = other,
                                       .other2 = pad,
                                       .sign = sign});
        }
    }
}

/* pad(pad(x)): pads add up. */
static void add_added_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->n_slots; i++) {
        int other = i / l->n_slots, other2 = i % l->n_slots;
        const noe_slot *o = &l->slots[other], *p = &l->slots[other2];
        bool same = other < other2 && o != s && p != s && o->of_pad && p->of_pad &&
                    o->value.n == s->value.n && p->value.n == s->value.n;
        for (int k = 0; same && k < s->value.n; k++)
            same = s->value.list[k] == o->value.list[k] + p->value.list[k];
        if (same)
            add_form(
                s, (noe_form){.kind = NOE_FORM_ADD, .other = other, .other2 = other2});
    }
}

/* What a slot that names axes or a permutation is through a permutation. */
static bool is_picked(const noe_slot *s, const noe_slot *perm, const noe_slot *at)
{
    if (s->param != at->param || s->value.n != at->value.n || s->rank != at->rank ||
        perm->value.n != s->rank)
        return false;
    if (s->param == NOE_PARAM_AXIS)
        return s->value.i == perm->value.list[at->value.i];
    unsigned have = 0, want = 0;
    for (int i = 0; i < s->value.n; i++) {
        int64_t picked = perm->value.list[at->value.list[i]];
        if (s->param == NOE_PARAM_PERM && s->value.list[i] != picked)
            return false;
        have |= 1u << picked;
        want |= 1u << s->value.list[i];
    }
    return have == want;
}

/* Indices of indices. */
static bool is_picked_index(const noe_slot *s, const noe_slot *list, const noe_slot *at)
{
    bool same = s->param == NOE_PARAM_INDICES && list->param == NOE_PARAM_INDICES &&
                at->param == NOE_PARAM_INDICES && s->value.n == at->value.n;
    for (int i = 0; same && i < s->value.n; i++)
        same = at->value.list[i] < list->value.n &&
               s->value.list[i] == list->value.list[at->value.list[i]];
    return same;
}

static void add_pick_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots * l->n_slots; i++) {
        int perm = i / l->n_slots, at = i % l->n_slots;
        const noe_slot *p = &l->slots[perm], *a = &l->slots[at];
        if (p != s && a != s && p != a &&
            (p->param == NOE_PARAM_PERM ? is_picked(s, p, a)
                                        : is_picked_index(s, p, a)))
            add_form(s, (noe_form){.kind = NOE_FORM_PICK, .other = perm, .other2 = at});
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

/* Strides and dilations of 1, no pads: what is not written. */
static bool is_default(const noe_slot *s)
{
    int64_t usual = s->param == NOE_PARAM_PADS ? 0 : 1;
    if (s->param != NOE_PARAM_STRIDES && s->param != NOE_PARAM_DILATIONS &&
        (s->param != NOE_PARAM_PADS || s->of_pad))
        return false;
    for (int i = 0; i < s->value.n; i++) {
        if (s->value.list[i] != usual)
            return false;
    }
    return true;
}

/* Whether a parameter variable would say more than the value: if it ties two uses
 * together. A lone one only has the values that make the types fit. Axes and the shapes
 * of ones and zeros are another matter: there the others are as good. */
static bool is_worth_a_variable(const noe_slot *s)
{
    if (s->is_tied)
        return true;
    bool is_step = s->param == NOE_PARAM_STRIDES || s->param == NOE_PARAM_DILATIONS;
    return s->n_uses[0] + s->n_uses[1] > 1 || is_axes_like(s->param) ||
           s->param == NOE_PARAM_SHAPE || (is_step && !is_default(s));
}

static void add_asked(noe_slot *s, noe_asked asked, int axis, int var, int other)
{
    add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE,
                           .asked = asked,
                           .axis = axis,
                           .var = var,
                           .other = other});
}

/* The least and the greatest axis of a slot. */
static void axis_bounds(const noe_slot *s, int64_t *least, int64_t *most)
{
    *least = *most = s->param == NOE_PARAM_AXIS ? s->value.i : s->value.list[0];
    for (int i = 1; i < s->value.n; i++) {
        *least = s->value.list[i] < *least ? s->value.list[i] : *least;
        *most = s->value.list[i] > *most ? s->value.list[i] : *most;
    }
}

/* A variable for axes, of which ever more is asked. */
static void add_axis_variables(const noe_forms *l, noe_slot *s)
{
    int64_t least, most, its_least, its_most;
    int var = variable_of_rank(l->pair, s->rank);
    axis_bounds(s, &least, &most);
    for (int i = 0; i < l->n_slots; i++) {
        const noe_slot *o = &l->slots[i];
        if (o == s || !is_axis(o->param) || o->rank != s->rank || var < 0 ||
            (o->param == NOE_PARAM_AXES && s->param == NOE_PARAM_AXES))
            continue;
        axis_bounds(o, &its_least, &its_most);
        if (its_least > most || its_most < least)
            add_asked(s, NOE_ASKED_OTHER, 0, var, i);
    }
    /* Of images the first two axes are batch and channels, whatever the rank is. */
    for (int k = 1; k <= 2 && s->rank > 3; k++) {
        if (most < k)
            add_asked(s, NOE_ASKED_UNDER, k, 0, 0);
    }
    for (int k = 1; k <= 2; k++) {
        if (least >= k)
            add_asked(s, NOE_ASKED_FROM, k, 0, 0);
        if (most < s->rank - k && var >= 0)
            add_asked(s, NOE_ASKED_BEFORE, k, var, 0);
    }
    for (int w = 0; w < l->pair->n_vars && var >= 0; w++) {
        int fewer = s->rank - l->pair->vars[w].shape.rank;
        if (fewer > 0 && most < fewer)
            add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE,
                                   .asked = NOE_ASKED_OUTSIDE,
                                   .var = var,
                                   .var2 = w});
    }
    if (s->param == NOE_PARAM_AXES && s->value.n == 1)
        add_asked(s, NOE_ASKED_SINGLE, 0, 0, 0);
}

static void add_perm_variables(noe_slot *s)
{
    bool in_order = true;
    for (int i = 0; i < s->value.n; i++)
        in_order = in_order && s->value.list[i] == i;
    if (in_order)
        add_asked(s, NOE_ASKED_ORDER, 0, 0, 0);
    for (int k = 1; k <= 2 && k <= s->value.n; k++) {
        add_asked(s, NOE_ASKED_TAIL, k, 0, 0);
        add_asked(s, NOE_ASKED_HEAD, k, 0, 0);
    }
}

/* The step of a slice as the stride of a window on that axis. */
static void add_element_forms(const noe_forms *l, noe_slot *s)
{
    for (int i = 0; i < l->n_slots; i++) {
        const noe_slot *o = &l->slots[i];
        for (int k = 0; o->param == NOE_PARAM_STRIDES && k < o->value.n; k++) {
            if (o->value.list[k] == s->value.i)
                add_form(s,
                         (noe_form){.kind = NOE_FORM_ELEMENT, .other = i, .axis = k});
        }
    }
}

bool noe_forms_have_elements(const noe_forms *f)
{
    for (int i = 0; i < f->n_slots; i++) {
        if (noe_slot_find(&f->slots[i], NOE_FORM_ELEMENT) >= 0)
            return true;
    }
    return false;
}

/* Whether some step may be an element of these strides. */
static bool has_elements(const noe_forms *l, const noe_slot *s)
{
    bool any = false;
    for (int i = 0; i < l->n_slots && s->param == NOE_PARAM_STRIDES; i++) {
        const noe_slot *o = &l->slots[i];
        for (int k = 0; o->param == NOE_PARAM_STEP && k < s->value.n; k++)
            any = any || s->value.list[k] == o->value.i;
    }
    return any;
}

/* Variables of which something is asked. */
static void add_variables(const noe_forms *l, noe_slot *s)
{
    if (is_axis(s->param))
        add_axis_variables(l, s);
    if (s->param == NOE_PARAM_PERM)
        add_perm_variables(s);
    int var = variable_of_rank(l->pair, s->value.n / 2);
    if (s->of_pad && s->value.n > 4 && var >= 0)
        add_asked(s, NOE_ASKED_SPATIAL, 0, var, 0);
}

/* A window that the shape of a kernel repeats is as good as used twice. */
static void tie_windows(noe_forms *l)
{
    for (int i = 0; i < l->n_slots * l->n_slots; i++) {
        noe_slot *s = &l->slots[i / l->n_slots], *o = &l->slots[i % l->n_slots];
        bool same = s->param == NOE_PARAM_KERNEL_SHAPE && o->is_patterned &&
                    s->value.n + 2 == o->value.n;
        for (int k = 0; same && k < s->value.n; k++)
            same = s->value.list[k] == o->value.list[k + 2];
        s->is_tied = s->is_tied || same;
    }
}

static void collect_forms(noe_forms *l)
{
    tie_windows(l);
    for (int i = 0; i < l->n_slots; i++) {
        noe_slot *s = &l->slots[i];
        /* Of a constant that is not the same everywhere, any shape is too much to ask:
         * what it should be comes first. */
        if (s->is_patterned)
            add_shape_forms(l, s);
        if (s->param == NOE_PARAM_KERNEL_SHAPE)
            add_window_forms(l, s);
        if (!is_worth_a_variable(s) && is_default(s))
            add_form(s, (noe_form){.kind = NOE_FORM_DEFAULT});
        if (!is_worth_a_variable(s) && !noe_slot_is_useless(s))
            add_form(s, (noe_form){.kind = NOE_FORM_LITERAL});
        if (is_worth_a_variable(s) && (may_be_variable(l, s) || has_elements(l, s)))
            add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE});
        if (s->param == NOE_PARAM_STEP && s->value.i > 1)
            add_element_forms(l, s);
        if (may_be_variable(l, s))
            add_variables(l, s);
        if (is_axes_like(s->param) || s->param == NOE_PARAM_INDICES)
            add_pick_forms(l, s);
        if (is_bound(s->param))
            add_bound_forms(l, s);
        if (s->param == NOE_PARAM_GROUP)
            add_group_forms(l, s);
        if (s->param == NOE_PARAM_SHAPE && !s->is_patterned)
            add_shape_forms(l, s);
        if (s->param == NOE_PARAM_PADS) {
            add_spatial_forms(l, s);
            if (s->of_pad)
                add_added_forms(l, s);
            add_offset_forms(l, s);
        }
        if (is_axis(s->param))
            add_form(s, (noe_form){.kind = NOE_FORM_FROM_END});
        if (!is_worth_a_variable(s) && may_be_variable(l, s))
            add_form(s, (noe_form){.kind = NOE_FORM_VARIABLE});
        if (is_worth_a_variable(s) && is_default(s))
            add_form(s, (noe_form){.kind = NOE_FORM_DEFAULT});
        if (is_worth_a_variable(s) || noe_slot_is_useless(s))
            add_form(s, (noe_form){.kind = NOE_FORM_LITERAL});
    }
}

void noe_forms_collect(noe_forms *f, const noe_pair *pair, int costly)
{
    *f = (noe_forms){.pair = pair, .costly = costly};
    collect_slots(f);
    if (!f->is_full)
        collect_forms(f);
}
