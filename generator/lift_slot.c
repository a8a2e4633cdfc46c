/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting: the forms of slots.
 */
#include "generator/lifter.h"

/* Slot k takes form f and those that it speaks of become variables; these as bits. */
static uint32_t set_with_others(const noe_lifter *l, noe_choice *c, int k, int f)
{
    const noe_form *x = &l->forms.slots[k].forms[f];
    const noe_slot *a = &l->forms.slots[x->other], *b = &l->forms.slots[x->other2];
    noe_asked asked =
        x->kind == NOE_FORM_SPATIAL ? NOE_ASKED_SPATIAL : NOE_ASKED_NOTHING;
    int first = noe_slot_find_asked(a, NOE_ASKED_NOTHING),
        second = noe_slot_find_asked(b, asked);
    if (first < 0 || (second < 0 && noe_form_has_two(x)))
        return 0;
    c->form[k] = f;
    c->form[x->other] = first;
    if (!noe_form_has_two(x))
        return 1u << x->other;
    c->form[x->other2] = second;
    return 1u << x->other | 1u << x->other2;
}

/* A step that is anything is no stride. */
static bool is_any_step(const noe_lifter *l, const noe_choice *c, int k, int f)
{
    return l->forms.slots[k].forms[f].kind == NOE_FORM_ELEMENT &&
           noe_lifter_chosen(l, c, k) == NOE_FORM_VARIABLE;
}

/* A slot becomes a term over others, which become variables with it. */
static bool try_dependent(noe_lifter *l, int k)
{
    for (int f = 0; f < l->forms.slots[k].n_forms; f++) {
        const noe_form *x = &l->forms.slots[k].forms[f];
        noe_choice c = l->c;
        if (!noe_form_has_two(x) && x->kind != NOE_FORM_KERNEL &&
            x->kind != NOE_FORM_WITHOUT && x->kind != NOE_FORM_ELEMENT &&
            x->kind != NOE_FORM_TAIL)
            continue;
        uint32_t others = is_any_step(l, &c, k, f) ? 0 : set_with_others(l, &c, k, f);
        if (others && noe_lifter_try_varied(l, &c, others))
            return true;
    }
    return false;
}

/* All slots that can be terms over others at once, then one after the other. */
void noe_lifter_free_dependent(noe_lifter *l)
{
    noe_choice c = l->c;
    uint32_t varied = 0;
    for (int k = 0; k < l->forms.n_slots; k++) {
        for (int f = 0; f < l->forms.slots[k].n_forms; f++) {
            const noe_form *x = &l->forms.slots[k].forms[f];
            bool is_term = x->kind == NOE_FORM_PICK ||
                           (x->kind == NOE_FORM_ELEMENT && !is_any_step(l, &c, k, f));
            uint32_t others =
                is_term && !(varied >> k & 1) ? set_with_others(l, &c, k, f) : 0;
            varied |= others;
            if (others)
                break;
        }
    }
    if (varied && noe_lifter_try_varied(l, &c, varied))
        return;
    for (int k = 0; k < l->forms.n_slots; k++)
        try_dependent(l, k);
}

/* A slot becomes a variable together with one that follows it at a distance. */
static bool try_with_follower(noe_lifter *l, int i)
{
    int variable = noe_slot_find(&l->forms.slots[i], NOE_FORM_VARIABLE);
    for (int k = 0; k < l->forms.n_slots && variable >= 0; k++) {
        const noe_slot *s = &l->forms.slots[k];
        for (int f = 0; f < s->n_forms; f++) {
            if (s->forms[f].kind != NOE_FORM_OFFSET || s->forms[f].other != i)
                continue;
            noe_choice c = l->c;
            noe_look look;
            c.form[i] = variable;
            c.form[k] = f;
            if (noe_lifter_may_follow(l, &c, &look) && (look.varied >> i & 1)) {
                noe_lifter_take(l, &c, &look);
                return true;
            }
        }
    }
    return false;
}

/* Slot i takes form f, which must have several values if it is a variable. */
static bool try_form(noe_lifter *l, int i, int f)
{
    noe_choice c = l->c;
    c.form[i] = f;
    bool is_variable = l->forms.slots[i].forms[f].kind == NOE_FORM_VARIABLE;
    return noe_lifter_try_varied(l, &c, is_variable ? 1u << i : 0);
}

/* What form f of slot i is worth now: how often it is well-typed; -1 if it is wrong. */
static int rate_form(noe_lifter *l, int i, int f)
{
    const noe_slot *s = &l->forms.slots[i];
    noe_choice c = l->c;
    int n_typed;
    c.form[i] = f;
    if (!noe_lifter_is_near(l, &c, &n_typed))
        return -1;
    return s->forms[f].kind == NOE_FORM_LITERAL && noe_slot_is_useless(s) ? 0
                                                                          : 1 + n_typed;
}

/* Whether slot i is the number of groups that says what a kernel's sizes would. */
static bool has_result_groups(const noe_lifter *l, int i)
{
    const noe_form *x = &l->forms.slots[i].forms[l->c.form[i]];
    return l->forms.slots[i].param == NOE_PARAM_GROUP && x->kind == NOE_FORM_DIM &&
           x->axis == 0;
}

/* The form of slot i that is well-typed most often; of equals, the first. */
static void generalize_slot(noe_lifter *l, int i)
{
    int worth[NOE_LIFT_MAX_FORMS], n_forms = l->forms.slots[i].n_forms, best = 0;
    if (noe_lifter_chosen(l, &l->c, i) == NOE_FORM_OFFSET ||
        noe_lifter_chosen(l, &l->c, i) == NOE_FORM_ELEMENT || has_result_groups(l, i) ||
        (l->forms.slots[i].of_reshape &&
         noe_lifter_chosen(l, &l->c, i) == NOE_FORM_VARIABLE) ||
        noe_form_has_two(&l->forms.slots[i].forms[l->c.form[i]]))
        return;
    for (int f = 0; f < n_forms; f++)
        worth[f] = rate_form(l, i, f);
    do { /* what is worth less is not looked at any closer */
        best = 0;
        for (int f = 1; f < n_forms; f++)
            best = worth[f] > worth[best] ? f : best;
        if (worth[best] < 0 || try_form(l, i, best))
            break;
        worth[best] = -1;
    } while (true);
    if (noe_lifter_chosen(l, &l->c, i) == NOE_FORM_LITERAL)
        try_with_follower(l, i);
}

/* All shapes in one manner at once: one alone does not fit the others' numbers. */
void noe_lifter_free_shapes(noe_lifter *l)
{
    static const noe_form_kind kinds[] = {NOE_FORM_LEAD, NOE_FORM_DIMS_END,
                                          NOE_FORM_DIMS};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        noe_choice c = l->c;
        int n = 0;
        for (int i = 0; i < l->forms.n_slots; i++) {
            const noe_slot *s = &l->forms.slots[i];
            int f = noe_slot_find(s, kinds[k]);
            if (f < 0)
                f = noe_slot_find(s, NOE_FORM_DIMS_END);
            if (!noe_slot_is_shape(s) || f < 0)
                continue;
            c.form[i] = f;
            n++;
        }
        if (n > 1 && noe_lifter_try(l, &c))
            return;
    }
}

/* Whether slot i, if it is a variable, is bound where it must be: by both sides, or by
 * the left one and nothing on the right is computed from what it is now. */
static bool may_be_free(const noe_lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    int left = l->forms.costly < 0 ? 0 : l->forms.costly;
    if (s->n_uses[0] && s->n_uses[1])
        return true;
    for (int k = 0; k < l->forms.n_slots; k++) {
        if (k != i && noe_slot_is_shape(&l->forms.slots[k]) &&
            noe_lifter_chosen(l, &l->c, k) != NOE_FORM_VARIABLE)
            return false;
    }
    return s->n_uses[left] > 0;
}

/* Any shape that a reshape may ask for, where that is true. */
void noe_lifter_free_reshapes(noe_lifter *l)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < l->forms.n_slots; i++) {
            const noe_slot *s = &l->forms.slots[i];
            int f = noe_slot_find(s, NOE_FORM_VARIABLE);
            noe_choice c = l->c;
            if (!s->of_reshape || f < 0 || c.form[i] == f || !may_be_free(l, i))
                continue;
            c.form[i] = f;
            noe_lifter_try_varied(l, &c, 1u << i);
        }
    }
}

void noe_lifter_free_slots(noe_lifter *l, noe_slot_filter *filter)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        if (filter(&l->forms.slots[i]))
            generalize_slot(l, i);
    }
}

/* Axes */

/* Says so much of all ranks, with the axes counted from the side that leaves more of
 * them. */
static bool weaken_ranks(noe_lifter *l, noe_rank_said said)
{
    static const noe_form_kind kinds[] = {NOE_FORM_LITERAL, NOE_FORM_FROM_END};
    noe_choice best = l->c;
    noe_look best_look = {0};
    bool found = false;
    for (int k = 0; k < 2; k++) {
        noe_choice c = l->c;
        noe_look look;
        noe_lifter_say_ranks(l, &c, said);
        noe_choice_set_axes(&c, &l->forms, kinds[k]);
        if (!noe_lifter_may_follow(l, &c, &look) ||
            (found &&
             __builtin_popcount(look.ranks) <= __builtin_popcount(best_look.ranks)))
            continue;
        best = c;
        best_look = look;
        found = true;
        if (!noe_forms_have_axes(&l->forms))
            break;
    }
    if (found)
        noe_lifter_take(l, &best, &best_look);
    return found;
}

void noe_lifter_drop_ranks(noe_lifter *l)
{
    if (!weaken_ranks(l, NOE_RANK_NOT_SAID))
        weaken_ranks(l, NOE_RANK_AT_LEAST);
}

/* A variable of which as little as can be is asked, if it then has several values; else
 * the end that leaves more ranks. */
static void generalize_axis(noe_lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    int f;
    noe_choice c;
    noe_look look;
    if (noe_lifter_chosen(l, &l->c, i) == NOE_FORM_VARIABLE ||
        noe_lifter_chosen(l, &l->c, i) == NOE_FORM_PICK)
        return;
    for (f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind != NOE_FORM_VARIABLE)
            continue;
        c = l->c;
        c.form[i] = f;
        if (try_form(l, i, f))
            return;
        if (noe_choice_spread_axes(&c, &l->forms) &&
            noe_lifter_try_varied(l, &c, 1u << i))
            return;
        /* What is asked may be of ranks, which then are all that leaves one axis. */
        c = l->c;
        c.form[i] = f;
        noe_lifter_say_ranks(l, &c, NOE_RANK_NOT_SAID);
        if (s->forms[f].asked == NOE_ASKED_OUTSIDE &&
            noe_lifter_try_varied(l, &c, 1u << i))
            return;
    }
    bool from_end = noe_lifter_chosen(l, &l->c, i) == NOE_FORM_FROM_END;
    f = noe_slot_find(s, from_end ? NOE_FORM_LITERAL : NOE_FORM_FROM_END);
    c = l->c;
    c.form[i] = f;
    if (f >= 0 && noe_lifter_may_follow(l, &c, &look) &&
        __builtin_popcount(look.ranks) > __builtin_popcount(l->look.ranks))
        noe_lifter_take(l, &c, &look);
}

/* An axis before those of matrices becomes a variable where the operands of a product
 * are the same there: counted from the end it would be one axis only. */
static void generalize_batch_axis(noe_lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    noe_choice c = l->c;
    bool any = false;
    if (s->param != NOE_PARAM_AXIS ||
        noe_lifter_chosen(l, &l->c, i) == NOE_FORM_VARIABLE)
        return;
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        c.aligned[v] = noe_forms_aligned(&l->forms, v, i);
        any = any || c.aligned[v] >= 0;
    }
    for (int f = 0; f < s->n_forms && any; f++) {
        const noe_form *x = &s->forms[f];
        c.form[i] = f;
        if (x->kind == NOE_FORM_VARIABLE && x->asked == NOE_ASKED_BEFORE &&
            x->axis == 2 && noe_lifter_try_varied(l, &c, 1u << i))
            return;
    }
}

void noe_lifter_free_axes(noe_lifter *l)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        if (noe_slot_is_axis(&l->forms.slots[i]) ||
            noe_slot_is_perm(&l->forms.slots[i])) {
            generalize_axis(l, i);
            generalize_batch_axis(l, i);
        }
    }
}

/* Groups and bounds */

/* A group for each channel of the result: that says of the kernel what else is said by
 * its sizes, which do not count from the end alike at all ranks. */
static bool try_result_groups(noe_lifter *l, int i, int f)
{
    const noe_form *x = &l->forms.slots[i].forms[f];
    noe_choice c = l->c;
    noe_look look;
    int variable = noe_slot_find_asked(&l->forms.slots[i], NOE_ASKED_NOTHING);
    if (x->kind != NOE_FORM_DIM || x->axis != 0 || c.spread[x->var] != NOE_SPREAD_ONES)
        return false;
    c.spread[x->var] = NOE_SPREAD_ANY;
    c.form[i] = variable;
    if (variable >= 0 && noe_lifter_may_follow(l, &c, &look))
        return false; /* it is true of all groups */
    c.form[i] = f;
    return noe_lifter_try(l, &c);
}

void noe_lifter_free_groups(noe_lifter *l)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        const noe_slot *s = &l->forms.slots[i];
        for (int f = 0; s->param == NOE_PARAM_GROUP && f < s->n_forms; f++) {
            if (try_result_groups(l, i, f))
                break;
        }
    }
}

/* Any bounds of one axis are worth more than the pair's bounds of any axis. */
void noe_lifter_free_bounds(noe_lifter *l)
{
    noe_choice fixed = l->c, c = l->c;
    noe_look look = l->look;
    for (int i = 0; i < l->forms.n_slots * l->forms.pair->n_vars; i++)
        if (l->forms.slots[i % l->forms.n_slots].param == NOE_PARAM_AXIS &&
            noe_forms_aligned(&l->forms, i / l->forms.n_slots, i % l->forms.n_slots) >=
                0)
            return; /* any axis of a batch is worth more */
    noe_choice_set_axes(&c, &l->forms, NOE_FORM_FROM_END);
    if (!noe_choice_fixes_bound(&l->c, &l->forms) || !noe_lifter_try(l, &c))
        return;
    noe_lifter_free_slots(l, noe_slot_is_bound);
    if (noe_choice_fixes_bound(&l->c, &l->forms))
        noe_lifter_take(l, &fixed, &look);
}
