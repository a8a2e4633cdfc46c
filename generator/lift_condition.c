/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting: what is asked of variables.
 */
#include "generator/lifter.h"

void noe_lifter_say_ranks(const noe_lifter *l, noe_choice *c, noe_rank_said said)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        c->rank[v] = said;
}

void noe_lifter_say_all(const noe_lifter *l, noe_choice *c, noe_rank_said ranks)
{
    noe_lifter_say_ranks(l, c, ranks);
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        c->twin[v] = noe_forms_twin(&l->forms, v);
        c->aligned[v] = -1;
        c->head[v] = v;
        c->spread[v] = noe_forms_can_spread(&l->forms, c, v, NOE_SPREAD_ONES)
                           ? NOE_SPREAD_ONES
                           : NOE_SPREAD_ANY;
    }
}

/* Four variables of one shape: two and two of them, in three ways. */
static bool try_pairs_of_twins(noe_lifter *l)
{
    int v[4], n = 0;
    for (int i = 0; i < l->forms.pair->n_vars && n < 4; i++) {
        if (n == 0 || noe_shape_eq(&l->forms.pair->vars[i].shape,
                                   &l->forms.pair->vars[v[0]].shape))
            v[n++] = i;
    }
    for (int mate = 1; n == 4 && mate < 4; mate++) {
        noe_choice c = l->c;
        int a = mate == 1 ? 2 : 1, b = mate == 3 ? 2 : 3;
        c.twin[v[1]] = c.twin[v[2]] = c.twin[v[3]] = -1;
        c.twin[v[mate]] = v[0];
        c.twin[v[b]] = v[a];
        if (noe_lifter_try(l, &c))
            return true;
    }
    return false;
}

/* As large as its twin on an axis that is a variable, and with as many axes. */
static bool try_aligned(noe_lifter *l, int v, const noe_choice *without_twin)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        noe_choice c = *without_twin;
        if (l->forms.slots[i].param != NOE_PARAM_AXIS ||
            noe_lifter_chosen(l, &c, i) != NOE_FORM_VARIABLE)
            continue;
        c.aligned[v] = noe_forms_aligned(&l->forms, v, i);
        if (c.aligned[v] >= 0 && noe_lifter_try(l, &c))
            return true;
    }
    return false;
}

/* Two variables need not be alike if all others have the ranks of the pair, so that a
 * vector is one for both; or if they have as many axes as there at least. */
static bool drop_twin(noe_lifter *l, int v)
{
    int n_vars = l->forms.pair->n_vars, twin = l->c.twin[v];
    noe_choice c = l->c;
    c.twin[v] = -1;
    if (noe_lifter_try(l, &c) || try_aligned(l, v, &c))
        return true;
    noe_choice ranked = c;
    for (int w = 0; w < n_vars; w++) {
        if (w != v && w != twin && c.twin[w] < 0)
            ranked.rank[w] = NOE_RANK_EXACTLY;
    }
    if (noe_lifter_try(l, &ranked))
        return true;
    for (int i = 0; i < 2; i++) {
        int w = i ? twin : v;
        if (c.rank[w] < NOE_RANK_AT_LEAST)
            c.rank[w] = NOE_RANK_AT_LEAST;
    }
    return noe_lifter_try(l, &c);
}

void noe_lifter_drop_twins(noe_lifter *l)
{
    int n_left = 0;
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        n_left += l->c.twin[v] >= 0 && !drop_twin(l, v);
    if (n_left > 2)
        try_pairs_of_twins(l);
}

/* Ranks that could not be dropped together. */
void noe_lifter_drop_single_ranks(noe_lifter *l, int but)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        noe_choice c = l->c;
        noe_rank_said said = v == but ? NOE_RANK_NOT_SAID : l->c.rank[v];
        for (c.rank[v] = NOE_RANK_NOT_SAID; c.rank[v] < said; c.rank[v]++) {
            if (noe_lifter_try(l, &c))
                break;
        }
    }
}

/* The first axis of another variable whose size always is that of this one's, if there
 * is one. */
static void name_head(noe_lifter *l, int v)
{
    for (int w = 0; w < l->forms.pair->n_vars; w++) {
        if (w == v || l->forms.pair->vars[w].shape.rank == 0 ||
            (l->look.other_head[v] >> w & 1))
            continue;
        noe_choice c = l->c;
        c.head[v] = w;
        if (noe_lifter_try(l, &c))
            return;
    }
}

/* Where the first size must be that of another variable to be found at all. */
static bool try_other_heads(noe_lifter *l, int v, const noe_choice *with_head)
{
    const noe_pair *pair = l->forms.pair;
    for (int w = 0; w < pair->n_vars; w++) {
        const noe_shape *x = &pair->vars[w].shape;
        noe_choice c = *with_head;
        c.head[v] = w;
        if (w != v && x->rank && x->dim[0] == pair->vars[v].shape.dim[0] &&
            noe_lifter_try(l, &c))
            return true;
    }
    return false;
}

static bool try_with_matrices(noe_lifter *l, int v, const noe_choice *general)
{
    noe_choice c = *general;
    noe_choice_say_matrices(&c, l->forms.pair, v);
    return noe_pair_has_op(l->forms.pair, NOE_OP_MATMUL) && noe_lifter_try(l, &c);
}

/* In plain words: the ones of the pair, said one by one or by the whole shape. */
static bool is_plain_spread(noe_spread spread)
{
    return spread == NOE_SPREAD_HEAD || spread == NOE_SPREAD_ONES;
}

static void weaken_spread(noe_lifter *l, int v, bool plain)
{
    for (int s = 0; s < (int)l->c.spread[v]; s++) {
        noe_choice c = l->c;
        if ((plain && !is_plain_spread((noe_spread)s)) ||
            !noe_forms_can_spread(&l->forms, &c, v, (noe_spread)s))
            continue;
        c.spread[v] = (noe_spread)s;
        if (!noe_lifter_try(l, &c) && !try_with_matrices(l, v, &c)) {
            if (s == NOE_SPREAD_HEAD && try_other_heads(l, v, &c))
                return;
            continue;
        }
        if (s == NOE_SPREAD_HEAD)
            name_head(l, v);
        return;
    }
}

void noe_lifter_weaken_spreads(noe_lifter *l, bool plain)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        weaken_spread(l, v, plain);
}
