/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting: a pair found at concrete shapes and parameters becomes rule text.
 *
 * It starts as what it is: all values literal, all ranks and broadcasts said. Then it
 * is generalised one coordinate at a time, everything else as chosen so far: each value
 * in turn gets the most general of its forms that is not refuted (generator/check.c
 * looks at variations and at typed instances elsewhere), each condition the weakest. A
 * form that is well-typed less often than another is less general, whatever it looks
 * like; a parameter variable that only ever has one value is none. Values that name
 * axes are chosen with the ranks dropped, since only then counting from the front and
 * from the end are different.
 *
 * What is true in the greatest generality is not always what can be proved, so that a
 * few less general variants follow: equal shapes kept equal; axes that are no
 * variables, with conditions in plain words; in the end the literal rule.
 *
 * Not guaranteed: that what is not refuted is true. That is for the verifier.
 */
#include "generator/lifter.h"

#include <stdlib.h>

static void choose_literals(const noe_lifter *l, noe_choice *c)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        int f = noe_slot_find(&l->forms.slots[i], NOE_FORM_LITERAL);
        c->form[i] = f < 0 ? l->forms.slots[i].n_forms - 1 : f;
    }
}

static bool was_kept(noe_lifter *l, uint64_t key)
{
    for (int i = 0; i < l->n_kept; i++) {
        if (l->kept[i] == key)
            return true;
    }
    if (l->n_kept < NOE_LIFT_MAX_KEPT)
        l->kept[l->n_kept++] = key;
    return false;
}

/* Keeps the variant in the orientation in which it can be used, or in the better one,
 * unless it is there already. */
static void keep_variant(noe_lifter *l, const noe_choice *c)
{
    if (was_kept(l, noe_lifter_key(l, c)) || !noe_lifter_survives(l, c))
        return;
    noe_rule *r = l->rule;
    bool is_reversed = !noe_rule_is_oriented(r, l->forms.costly);
    l->rule_key = 0; /* it may be turned round */
    if (is_reversed)
        *r = noe_rule_reversed(r);
    r->is_reversed = false; /* it will be proved as it stands now */
    bool is_new = noe_rule_is_directed(r) && l->out->n < NOE_LIFT_MAX_VARIANTS;
    noe_buf text = {0};
    noe_rule_print(&text, r);
    for (int i = 0; i < l->out->n; i++)
        is_new = is_new && strcmp(l->out->text[i], noe_buf_text(&text)) != 0;
    if (is_new) {
        l->out->is_reversed[l->out->n] = is_reversed;
        l->out->text[l->out->n++] = noe_strdup(noe_buf_text(&text));
    }
    noe_buf_clear(&text);
}

static void keep_with_matrices(noe_lifter *l)
{
    noe_choice c = l->c;
    noe_choice_say_matrices(&c, l->forms.pair, -1);
    keep_variant(l, &c);
}

/* Where one variable is a matrix and no batch, less may be asked of the others. */
static void keep_with_one_rank(noe_lifter *l)
{
    noe_choice general = l->c;
    noe_look look = l->look;
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        noe_choice c = general;
        c.rank[v] = NOE_RANK_EXACTLY;
        if (general.rank[v] != NOE_RANK_AT_LEAST || !noe_lifter_try(l, &c))
            continue;
        noe_lifter_drop_single_ranks(l, v);
        if (memcmp(l->c.rank, c.rank, sizeof c.rank) != 0)
            keep_variant(l, &l->c);
        noe_lifter_take(l, &general, &look);
    }
}

/* Axes that are variables lie outside of what is broadcast along them; operands are
 * equally large on them. */
static void keep_with_axes(noe_lifter *l)
{
    noe_choice outside = l->c, aligned = l->c;
    bool is_outside = false, is_aligned = false;
    for (int i = 0; i < l->forms.n_slots; i++) {
        const noe_slot *s = &l->forms.slots[i];
        int f = noe_slot_find_asked(s, NOE_ASKED_OUTSIDE);
        if (!noe_slot_is_axis(s) || noe_lifter_chosen(l, &l->c, i) != NOE_FORM_VARIABLE)
            continue;
        if (f >= 0 && s->forms[l->c.form[i]].asked == NOE_ASKED_NOTHING) {
            outside.form[i] = f;
            is_outside = true;
        }
        for (int v = 0; s->param == NOE_PARAM_AXIS && v < l->forms.pair->n_vars; v++) {
            if (aligned.aligned[v] < 0 && aligned.twin[v] < 0)
                aligned.aligned[v] = noe_forms_aligned(&l->forms, v, i);
            is_aligned = is_aligned || aligned.aligned[v] >= 0;
        }
    }
    if (is_outside)
        keep_variant(l, &outside);
    if (is_aligned)
        keep_variant(l, &aligned);
}

/* What the pair's broadcasts are, in terms of the axes chosen; then equal shapes, too,
 * at first only of what an elementwise operator joins. */
static void keep_with_conditions(noe_lifter *l)
{
    noe_choice c = l->c;
    if (noe_pair_has_op(l->forms.pair, NOE_OP_MATMUL))
        keep_with_matrices(l);
    keep_with_one_rank(l);
    if (noe_choice_drop_dilations(&c, &l->forms))
        keep_variant(l, &c);
    c = l->c;
    if (noe_choice_drop_groups(&c, &l->forms))
        keep_variant(l, &c);
    c = l->c;
    keep_with_axes(l);
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        if (noe_forms_can_spread(&l->forms, &c, v, NOE_SPREAD_AXIS))
            c.spread[v] = NOE_SPREAD_AXIS;
        else if (c.spread[v] != NOE_SPREAD_HEAD &&
                 noe_forms_can_spread(&l->forms, &c, v, NOE_SPREAD_ONES))
            c.spread[v] = NOE_SPREAD_ONES;
    }
    keep_variant(l, &c);
    noe_choice images = c;
    if (noe_choice_say_images(&images, &l->forms))
        keep_variant(l, &images);
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        c.twin[v] = noe_forms_other_operand(&l->forms, v);
    keep_variant(l, &c);
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        c.twin[v] = noe_forms_twin(&l->forms, v);
    keep_variant(l, &c);
}

/* Axes counted from one side, no ranks, conditions in plain words. */
static void lift_plainly(noe_lifter *l, const noe_choice *general, noe_form_kind axes)
{
    noe_choice c = *general;
    noe_look look;
    noe_choice_set_axes(&c, &l->forms, axes);
    noe_lifter_say_all(l, &c, NOE_RANK_NOT_SAID);
    l->look.n_found = NOE_LIFT_MIN_FOUND;
    if (!noe_lifter_may_follow(l, &c, &look))
        return;
    noe_lifter_take(l, &c, &look);
    noe_lifter_free_slots(l, noe_slot_is_bound);
    noe_lifter_weaken_spreads(l, true);
    c = l->c;
    noe_lifter_drop_twins(l);
    keep_variant(l, &l->c);
    keep_variant(l, &c);
}

static void generalize(noe_lifter *l)
{
    noe_lifter_free_groups(l);
    noe_lifter_free_slots(l, noe_slot_is_plain);
    noe_lifter_free_shapes(l);
    noe_lifter_free_reshapes(l);
    noe_lifter_free_slots(l, noe_slot_is_shape);
    noe_lifter_drop_ranks(l);
    if (noe_forms_have_elements(&l->forms)) /* steps vary where bounds do */
        noe_lifter_free_slots(l, noe_slot_is_bound);
    noe_lifter_free_dependent(l);
    noe_lifter_free_axes(l);
    noe_lifter_free_slots(l, noe_slot_is_flag);
    noe_lifter_free_slots(l, noe_slot_is_bound);
    noe_lifter_free_bounds(l);
    noe_lifter_drop_single_ranks(l, -1);
    noe_lifter_drop_twins(l);
    noe_lifter_weaken_spreads(l, false);
    noe_lifter_drop_single_ranks(l, -1); /* what a spread says already */
    noe_lifter_free_slots(l,
                          noe_slot_is_plain); /* of what had too few instances before */
    noe_lifter_free_slots(l, noe_slot_is_shape);
}

/* The most general choice from c on; false if it turns out to be wrong. */
static bool generalize_from(noe_lifter *l, const noe_choice *c)
{
    noe_look look;
    l->look = (noe_look){0};
    if (!noe_lifter_is_good(l, c, &look))
        return false;
    noe_lifter_take(l, c, &look);
    generalize(l);
    return noe_lifter_is_true(l, &l->c);
}

/* Again with each counterexample, of which some number is enough almost always. */
static bool generalize_truly(noe_lifter *l, const noe_choice *literal)
{
    bool ok;
    do {
        int n_wrong = l->n_wrong;
        ok = generalize_from(l, literal);
        if (l->n_wrong == n_wrong)
            break;
    } while (!ok);
    l->is_strict = !ok;
    ok = ok || generalize_from(l, literal);
    l->is_strict = false;
    return ok;
}

static void lift(noe_lifter *l)
{
    noe_choice literal = {0}, general;
    choose_literals(l, &literal);
    noe_lifter_say_all(l, &literal, NOE_RANK_EXACTLY);
    if (!generalize_truly(l, &literal))
        return;
    keep_variant(l, &l->c);
    keep_with_conditions(l);
    general = l->c;
    lift_plainly(l, &general, NOE_FORM_FROM_END);
    lift_plainly(l, &general, NOE_FORM_LITERAL);
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        literal.twin[v] = noe_forms_other_operand(&l->forms, v);
    keep_variant(l, &literal);
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        literal.twin[v] = noe_forms_twin(&l->forms, v);
    keep_variant(l, &literal);
}

void noe_pair_lift(const noe_pair *pair, uint64_t seed, noe_lifted *out)
{
    noe_lifter *l = noe_calloc(1, sizeof *l);
    *out = (noe_lifted){0};
    l->rule = noe_malloc(sizeof *l->rule);
    l->seed = seed;
    l->out = out;
    noe_forms_collect(&l->forms, pair, noe_pair_costly_side(pair));
    if (!l->forms.is_full)
        lift(l);
    free(l->rule);
    free(l);
}

void noe_lifted_clear(noe_lifted *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->text[i]);
    l->n = 0;
}
