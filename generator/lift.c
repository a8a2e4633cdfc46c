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
#include "generator/lift.h"

#include "generator/lift_form.h"

#include <stdlib.h>

#define N_WIDE 12 /* instances looked at for a choice */
#define N_WIDE_END                                                                   \
    32                /* for a variant to be kept, and for choices where that failed \
                       */
#define N_SEARCHED 48 /* of the same, as the verifier looks for them */
#define MIN_FOUND  3  /* of them, unless there were fewer before */
#define MAX_MEMO   512
#define MAX_KEPT   32

typedef struct lifter {
    noe_forms forms;
    uint64_t seed;
    noe_choice c;
    noe_look look;  /* at c */
    bool is_strict; /* a choice that seemed good was not: more is looked at */
    noe_rule *rule;
    noe_lifted *out;
    struct memo {
        uint64_t key;
        bool ok;
        noe_look look;
    } memo[MAX_MEMO];
    int n_memo;
    uint64_t kept[MAX_KEPT]; /* choices that were to be kept so far */
    int n_kept;
} lifter;

/* Looking at choices */

/* The instance that the pair was found at, for a parsed variant: its variables are
 * named by letter, its parameter variables by slot. */
static void bind(const lifter *l, const noe_rule *rule, noe_binding *b,
                 noe_param *param)
{
    *b = (noe_binding){0};
    for (int v = 0; v < rule->n_vars; v++) {
        int var = rule->vars[v].name[0] - 'a';
        b->type[v] = (noe_type){NOE_F32, l->forms.pair->vars[var].shape};
        b->bound[v] = true;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        const noe_slot *s = &l->forms.slots[atoi(rule->pvars[i].name + 1)];
        b->pvalue[i] = s->value;
        b->pbound[i] = true;
        param[i] = s->param;
    }
}

static bool parse(const lifter *l, const noe_choice *c, noe_rule *rule)
{
    noe_buf text = {0};
    noe_variant_print(&text, &l->forms, c);
    bool ok = noe_rule_parse(noe_buf_text(&text), SIZE_MAX, rule, NULL) == NOE_OK;
    noe_buf_clear(&text);
    return ok;
}

/* look->varied by parameter variable becomes varied by slot. */
static void name_slots(const noe_rule *rule, noe_look *look)
{
    uint32_t varied = 0;
    for (int i = 0; i < rule->n_pvars; i++)
        varied |= (look->varied >> i & 1) << atoi(rule->pvars[i].name + 1);
    look->varied = varied;
}

static bool survives(lifter *l, const noe_choice *c, int n_wide, noe_look *look)
{
    *look = (noe_look){0};
    if (!parse(l, c, l->rule))
        return false;
    noe_binding base;
    noe_param param[NOE_RULE_MAX_PVARS];
    bind(l, l->rule, &base, param);
    const noe_pair *pair = l->forms.pair;
    bool ok = noe_rule_survives(l->rule, &base, pair->nodes[pair->lhs[0]].shape.rank,
                                param, l->seed, n_wide, look);
    name_slots(l->rule, look);
    return ok;
}

static uint64_t choice_key(const lifter *l, const noe_choice *c)
{
    noe_buf text = {0};
    noe_variant_print(&text, &l->forms, c);
    uint64_t key = noe_hash64(noe_buf_text(&text), text.len, 0);
    noe_buf_clear(&text);
    return key;
}

/* Whether a choice is not refuted; every one is looked at once. */
static bool is_good(lifter *l, const noe_choice *c, noe_look *look)
{
    if (!noe_forms_fit(&l->forms, c))
        return false;
    uint64_t key = choice_key(l, c);
    for (int i = 0; i < l->n_memo; i++) {
        if (l->memo[i].key == key) {
            *look = l->memo[i].look;
            return l->memo[i].ok;
        }
    }
    bool ok = survives(l, c, l->is_strict ? N_WIDE_END : N_WIDE, look) &&
              (!l->is_strict || noe_rule_survives_search(l->rule, l->seed, N_SEARCHED));
    if (l->n_memo < MAX_MEMO)
        l->memo[l->n_memo++] = (struct memo){key, ok, *look};
    return ok;
}

/* Whether the choice may follow the present one: it must not be good only because
 * hardly anything is an instance of it. */
static bool may_follow(lifter *l, const noe_choice *c, noe_look *look)
{
    int wanted = l->look.n_found < MIN_FOUND ? l->look.n_found : MIN_FOUND;
    return is_good(l, c, look) && look->n_found >= wanted;
}

static void take(lifter *l, const noe_choice *c, const noe_look *look)
{
    l->c = *c;
    l->look = *look;
}

static bool try_choice(lifter *l, const noe_choice *c)
{
    noe_look look;
    if (!may_follow(l, c, &look))
        return false;
    take(l, c, &look);
    return true;
}

/* Forms */

static noe_form_kind chosen(const lifter *l, const noe_choice *c, int i)
{
    return l->forms.slots[i].forms[c->form[i]].kind;
}

/* Number of a slot's first form of that kind, of which that is asked, or -1. */
static int find_asked(const noe_slot *s, noe_asked asked)
{
    for (int f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind == NOE_FORM_VARIABLE && s->forms[f].asked == asked)
            return f;
    }
    return -1;
}

static bool try_all_varied(lifter *l, const noe_choice *c, uint32_t slots)
{
    noe_look look;
    if (!may_follow(l, c, &look) || (look.varied & slots) != slots)
        return false;
    take(l, c, &look);
    return true;
}

/* Slot k takes form f and those that it speaks of become variables; these as bits. */
static uint32_t set_with_others(const lifter *l, noe_choice *c, int k, int f)
{
    const noe_form *x = &l->forms.slots[k].forms[f];
    const noe_slot *a = &l->forms.slots[x->other], *b = &l->forms.slots[x->other2];
    noe_asked asked =
        x->kind == NOE_FORM_SPATIAL ? NOE_ASKED_SPATIAL : NOE_ASKED_NOTHING;
    int first = find_asked(a, NOE_ASKED_NOTHING), second = find_asked(b, asked);
    if (first < 0 || (second < 0 && noe_form_has_two(x)))
        return 0;
    c->form[k] = f;
    c->form[x->other] = first;
    if (!noe_form_has_two(x))
        return 1u << x->other;
    c->form[x->other2] = second;
    return 1u << x->other | 1u << x->other2;
}

/* A slot becomes a term over others, which become variables with it. */
static bool try_dependent(lifter *l, int k)
{
    for (int f = 0; f < l->forms.slots[k].n_forms; f++) {
        const noe_form *x = &l->forms.slots[k].forms[f];
        noe_choice c = l->c;
        if (!noe_form_has_two(x) && x->kind != NOE_FORM_KERNEL &&
            x->kind != NOE_FORM_WITHOUT)
            continue;
        uint32_t others = set_with_others(l, &c, k, f);
        if (others && try_all_varied(l, &c, others))
            return true;
    }
    return false;
}

/* All slots that can be terms over others at once, then one after the other. */
static void generalize_dependent(lifter *l)
{
    noe_choice c = l->c;
    uint32_t varied = 0;
    for (int k = 0; k < l->forms.n_slots; k++) {
        for (int f = 0; f < l->forms.slots[k].n_forms; f++) {
            const noe_form *x = &l->forms.slots[k].forms[f];
            uint32_t others = x->kind == NOE_FORM_PICK && !(varied >> k & 1)
                                  ? set_with_others(l, &c, k, f)
                                  : 0;
            varied |= others;
            if (others)
                break;
        }
    }
    if (varied && try_all_varied(l, &c, varied))
        return;
    for (int k = 0; k < l->forms.n_slots; k++)
        try_dependent(l, k);
}

/* A slot becomes a variable together with one that follows it at a distance. */
static bool try_with_follower(lifter *l, int i)
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
            if (may_follow(l, &c, &look) && (look.varied >> i & 1)) {
                take(l, &c, &look);
                return true;
            }
        }
    }
    return false;
}

/* Whether slot i may have form f now; what it is worth is how often it is well-typed.
 */
static bool rate_form(lifter *l, int i, int f, noe_choice *c, noe_look *look,
                      int *worth)
{
    const noe_slot *s = &l->forms.slots[i];
    *c = l->c;
    c->form[i] = f;
    if (!may_follow(l, c, look))
        return false;
    if (s->forms[f].kind == NOE_FORM_VARIABLE && !(look->varied >> i & 1))
        return false;
    bool is_useless = s->forms[f].kind == NOE_FORM_LITERAL && noe_slot_is_useless(s);
    *worth = is_useless ? 0 : 1 + look->n_typed;
    return true;
}

/* Whether slot i is the number of groups that says what a kernel's sizes would. */
static bool has_result_groups(const lifter *l, int i)
{
    const noe_form *x = &l->forms.slots[i].forms[l->c.form[i]];
    return l->forms.slots[i].param == NOE_PARAM_GROUP && x->kind == NOE_FORM_DIM &&
           x->axis == 0;
}

/* The form of slot i that is well-typed most often; of equals, the first. */
static void generalize_slot(lifter *l, int i)
{
    int best = -1;
    noe_choice best_choice = l->c;
    noe_look best_look = l->look;
    if (chosen(l, &l->c, i) == NOE_FORM_OFFSET || has_result_groups(l, i) ||
        (l->forms.slots[i].of_reshape && chosen(l, &l->c, i) == NOE_FORM_VARIABLE) ||
        noe_form_has_two(&l->forms.slots[i].forms[l->c.form[i]]))
        return;
    for (int f = 0; f < l->forms.slots[i].n_forms; f++) {
        noe_choice c;
        noe_look look;
        int worth;
        if (rate_form(l, i, f, &c, &look, &worth) && worth > best) {
            best = worth;
            best_choice = c;
            best_look = look;
        }
    }
    take(l, &best_choice, &best_look);
    if (chosen(l, &l->c, i) == NOE_FORM_LITERAL)
        try_with_follower(l, i);
}

typedef bool slot_filter(const noe_slot *s);

static bool is_shape(const noe_slot *s)
{
    return s->param == NOE_PARAM_SHAPE;
}

/* All shapes in one manner at once: one alone does not fit the others' numbers. */
static void generalize_shapes_together(lifter *l)
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
            if (!is_shape(s) || f < 0)
                continue;
            c.form[i] = f;
            n++;
        }
        if (n > 1 && try_choice(l, &c))
            return;
    }
}

/* Whether slot i, if it is a variable, is bound where it must be: by both sides, or by
 * the left one and nothing on the right is computed from what it is now. */
static bool may_be_free(const lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    int left = l->forms.costly < 0 ? 0 : l->forms.costly;
    if (s->n_uses[0] && s->n_uses[1])
        return true;
    for (int k = 0; k < l->forms.n_slots; k++) {
        if (k != i && is_shape(&l->forms.slots[k]) &&
            chosen(l, &l->c, k) != NOE_FORM_VARIABLE)
            return false;
    }
    return s->n_uses[left] > 0;
}

/* Any shape that a reshape may ask for, where that is true. */
static void free_reshapes(lifter *l)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < l->forms.n_slots; i++) {
            const noe_slot *s = &l->forms.slots[i];
            int f = noe_slot_find(s, NOE_FORM_VARIABLE);
            noe_choice c = l->c;
            if (!s->of_reshape || f < 0 || c.form[i] == f || !may_be_free(l, i))
                continue;
            c.form[i] = f;
            try_all_varied(l, &c, 1u << i);
        }
    }
}

static void generalize_slots(lifter *l, slot_filter *filter)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        if (filter(&l->forms.slots[i]))
            generalize_slot(l, i);
    }
}

/* Axes */

static void say_ranks(const lifter *l, noe_choice *c, noe_rank_said said)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        c->rank[v] = said;
}

/* Says so much of all ranks, with the axes counted from the side that leaves more of
 * them. */
static bool weaken_ranks(lifter *l, noe_rank_said said)
{
    static const noe_form_kind kinds[] = {NOE_FORM_LITERAL, NOE_FORM_FROM_END};
    noe_choice best = l->c;
    noe_look best_look = {0};
    bool found = false;
    for (int k = 0; k < 2; k++) {
        noe_choice c = l->c;
        noe_look look;
        say_ranks(l, &c, said);
        noe_choice_set_axes(&c, &l->forms, kinds[k]);
        if (!may_follow(l, &c, &look) ||
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
        take(l, &best, &best_look);
    return found;
}

static void drop_ranks(lifter *l)
{
    if (!weaken_ranks(l, NOE_RANK_NOT_SAID))
        weaken_ranks(l, NOE_RANK_AT_LEAST);
}

/* A variable of which as little as can be is asked, if it then has several values; else
 * the end that leaves more ranks. */
static void generalize_axis(lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    int f, worth;
    noe_choice c;
    noe_look look;
    if (chosen(l, &l->c, i) == NOE_FORM_VARIABLE ||
        chosen(l, &l->c, i) == NOE_FORM_PICK)
        return;
    for (f = 0; f < s->n_forms; f++) {
        if (s->forms[f].kind != NOE_FORM_VARIABLE)
            continue;
        if (rate_form(l, i, f, &c, &look, &worth)) {
            take(l, &c, &look);
            return;
        }
        if (noe_choice_spread_axes(&c, &l->forms) && try_all_varied(l, &c, 1u << i))
            return;
    }
    bool from_end = chosen(l, &l->c, i) == NOE_FORM_FROM_END;
    f = noe_slot_find(s, from_end ? NOE_FORM_LITERAL : NOE_FORM_FROM_END);
    if (f >= 0 && rate_form(l, i, f, &c, &look, &worth) &&
        __builtin_popcount(look.ranks) > __builtin_popcount(l->look.ranks))
        take(l, &c, &look);
}

/* An axis before those of matrices becomes a variable where the operands of a product
 * are the same there: counted from the end it would be one axis only. */
static void generalize_batch_axis(lifter *l, int i)
{
    const noe_slot *s = &l->forms.slots[i];
    noe_choice c = l->c;
    bool any = false;
    if (s->param != NOE_PARAM_AXIS || chosen(l, &l->c, i) == NOE_FORM_VARIABLE)
        return;
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        c.aligned[v] = noe_forms_aligned(&l->forms, v, i);
        any = any || c.aligned[v] >= 0;
    }
    for (int f = 0; f < s->n_forms && any; f++) {
        const noe_form *x = &s->forms[f];
        c.form[i] = f;
        if (x->kind == NOE_FORM_VARIABLE && x->asked == NOE_ASKED_BEFORE &&
            x->axis == 2 && try_all_varied(l, &c, 1u << i))
            return;
    }
}

static void generalize_axes(lifter *l)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        if (noe_slot_is_axis(&l->forms.slots[i]) ||
            noe_slot_is_perm(&l->forms.slots[i])) {
            generalize_axis(l, i);
            generalize_batch_axis(l, i);
        }
    }
}

/* Conditions */

/* Four variables of one shape: two and two of them, in three ways. */
static bool try_pairs_of_twins(lifter *l)
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
        if (try_choice(l, &c))
            return true;
    }
    return false;
}

/* As large as its twin on an axis that is a variable, and with as many axes. */
static bool try_aligned(lifter *l, int v, const noe_choice *without_twin)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        noe_choice c = *without_twin;
        if (l->forms.slots[i].param != NOE_PARAM_AXIS ||
            chosen(l, &c, i) != NOE_FORM_VARIABLE)
            continue;
        c.aligned[v] = noe_forms_aligned(&l->forms, v, i);
        if (c.aligned[v] >= 0 && try_choice(l, &c))
            return true;
    }
    return false;
}

/* Two variables need not be alike if all others have the ranks of the pair, so that a
 * vector is one for both; or if they have as many axes as there at least. */
static bool drop_twin(lifter *l, int v)
{
    int n_vars = l->forms.pair->n_vars, twin = l->c.twin[v];
    noe_choice c = l->c;
    c.twin[v] = -1;
    if (try_choice(l, &c) || try_aligned(l, v, &c))
        return true;
    noe_choice ranked = c;
    for (int w = 0; w < n_vars; w++) {
        if (w != v && w != twin && c.twin[w] < 0)
            ranked.rank[w] = NOE_RANK_EXACTLY;
    }
    if (try_choice(l, &ranked))
        return true;
    for (int i = 0; i < 2; i++) {
        int w = i ? twin : v;
        if (c.rank[w] < NOE_RANK_AT_LEAST)
            c.rank[w] = NOE_RANK_AT_LEAST;
    }
    return try_choice(l, &c);
}

static void drop_twins(lifter *l)
{
    int n_left = 0;
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        n_left += l->c.twin[v] >= 0 && !drop_twin(l, v);
    if (n_left > 2)
        try_pairs_of_twins(l);
}

/* Ranks that could not be dropped together. */
static void drop_single_ranks(lifter *l)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        noe_choice c = l->c;
        noe_rank_said said = l->c.rank[v];
        for (c.rank[v] = NOE_RANK_NOT_SAID; c.rank[v] < said; c.rank[v]++) {
            if (try_choice(l, &c))
                break;
        }
    }
}

/* The first axis of another variable whose size always is that of this one's, if there
 * is one. */
static void name_head(lifter *l, int v)
{
    for (int w = 0; w < l->forms.pair->n_vars; w++) {
        if (w == v || l->forms.pair->vars[w].shape.rank == 0 ||
            (l->look.other_head[v] >> w & 1))
            continue;
        noe_choice c = l->c;
        c.head[v] = w;
        if (try_choice(l, &c))
            return;
    }
}

/* Where the first size must be that of another variable to be found at all. */
static bool try_other_heads(lifter *l, int v, const noe_choice *with_head)
{
    const noe_pair *pair = l->forms.pair;
    for (int w = 0; w < pair->n_vars; w++) {
        const noe_shape *x = &pair->vars[w].shape;
        noe_choice c = *with_head;
        c.head[v] = w;
        if (w != v && x->rank && x->dim[0] == pair->vars[v].shape.dim[0] &&
            try_choice(l, &c))
            return true;
    }
    return false;
}

static bool try_with_matrices(lifter *l, int v, const noe_choice *general)
{
    noe_choice c = *general;
    noe_choice_say_matrices(&c, l->forms.pair, v);
    return noe_pair_has_op(l->forms.pair, NOE_OP_MATMUL) && try_choice(l, &c);
}

/* In plain words: the ones of the pair, said one by one or by the whole shape. */
static bool is_plain_spread(noe_spread spread)
{
    return spread == NOE_SPREAD_HEAD || spread == NOE_SPREAD_ONES;
}

static void weaken_spread(lifter *l, int v, bool plain)
{
    for (int s = 0; s < (int)l->c.spread[v]; s++) {
        noe_choice c = l->c;
        if ((plain && !is_plain_spread((noe_spread)s)) ||
            !noe_forms_can_spread(&l->forms, &c, v, (noe_spread)s))
            continue;
        c.spread[v] = (noe_spread)s;
        if (!try_choice(l, &c) && !try_with_matrices(l, v, &c)) {
            if (s == NOE_SPREAD_HEAD && try_other_heads(l, v, &c))
                return;
            continue;
        }
        if (s == NOE_SPREAD_HEAD)
            name_head(l, v);
        return;
    }
}

static void weaken_spreads(lifter *l, bool plain)
{
    for (int v = 0; v < l->forms.pair->n_vars; v++)
        weaken_spread(l, v, plain);
}

/* Variants */

static void choose_conditions(const lifter *l, noe_choice *c, noe_rank_said ranks)
{
    say_ranks(l, c, ranks);
    for (int v = 0; v < l->forms.pair->n_vars; v++) {
        c->twin[v] = noe_forms_twin(&l->forms, v);
        c->aligned[v] = -1;
        c->head[v] = v;
        c->spread[v] = noe_forms_can_spread(&l->forms, c, v, NOE_SPREAD_ONES)
                           ? NOE_SPREAD_ONES
                           : NOE_SPREAD_ANY;
    }
}

static void choose_literals(const lifter *l, noe_choice *c)
{
    for (int i = 0; i < l->forms.n_slots; i++) {
        int f = noe_slot_find(&l->forms.slots[i], NOE_FORM_LITERAL);
        c->form[i] = f < 0 ? l->forms.slots[i].n_forms - 1 : f;
    }
}

static bool was_kept(lifter *l, uint64_t key)
{
    for (int i = 0; i < l->n_kept; i++) {
        if (l->kept[i] == key)
            return true;
    }
    if (l->n_kept < MAX_KEPT)
        l->kept[l->n_kept++] = key;
    return false;
}

/* Keeps the variant in the orientation in which it can be used, or in the better one,
 * unless it is there already. */
static void keep_variant(lifter *l, const noe_choice *c)
{
    noe_look look;
    if (was_kept(l, choice_key(l, c)) || !survives(l, c, N_WIDE_END, &look))
        return;
    noe_rule *r = l->rule;
    bool is_reversed = !noe_rule_is_oriented(r, l->forms.costly);
    if (is_reversed)
        *r = noe_rule_reversed(r);
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

static void keep_with_matrices(lifter *l)
{
    noe_choice c = l->c;
    noe_choice_say_matrices(&c, l->forms.pair, -1);
    keep_variant(l, &c);
}

/* Axes that are variables lie outside of what is broadcast along them; operands are
 * equally large on them. */
static void keep_with_axes(lifter *l)
{
    noe_choice outside = l->c, aligned = l->c;
    bool is_outside = false, is_aligned = false;
    for (int i = 0; i < l->forms.n_slots; i++) {
        const noe_slot *s = &l->forms.slots[i];
        int f = find_asked(s, NOE_ASKED_OUTSIDE);
        if (!noe_slot_is_axis(s) || chosen(l, &l->c, i) != NOE_FORM_VARIABLE)
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
static void keep_with_conditions(lifter *l)
{
    noe_choice c = l->c;
    if (noe_pair_has_op(l->forms.pair, NOE_OP_MATMUL))
        keep_with_matrices(l);
    if (noe_choice_drop_dilations(&c, &l->forms))
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
static void lift_plainly(lifter *l, const noe_choice *general, noe_form_kind axes)
{
    noe_choice c = *general;
    noe_look look;
    noe_choice_set_axes(&c, &l->forms, axes);
    choose_conditions(l, &c, NOE_RANK_NOT_SAID);
    l->look.n_found = MIN_FOUND;
    if (!may_follow(l, &c, &look))
        return;
    take(l, &c, &look);
    generalize_slots(l, noe_slot_is_bound);
    weaken_spreads(l, true);
    c = l->c;
    drop_twins(l);
    keep_variant(l, &l->c);
    keep_variant(l, &c);
}

/* A group for each channel of the result: that says of the kernel what else is said by
 * its sizes, which do not count from the end alike at all ranks. */
static bool try_result_groups(lifter *l, int i, int f)
{
    const noe_form *x = &l->forms.slots[i].forms[f];
    noe_choice c = l->c;
    noe_look look;
    int variable = find_asked(&l->forms.slots[i], NOE_ASKED_NOTHING);
    if (x->kind != NOE_FORM_DIM || x->axis != 0 || c.spread[x->var] != NOE_SPREAD_ONES)
        return false;
    c.spread[x->var] = NOE_SPREAD_ANY;
    c.form[i] = variable;
    if (variable >= 0 && may_follow(l, &c, &look))
        return false; /* it is true of all groups */
    c.form[i] = f;
    return try_choice(l, &c);
}

static void generalize_groups(lifter *l)
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
static void free_bounds(lifter *l)
{
    noe_choice fixed = l->c, c = l->c;
    noe_look look = l->look;
    for (int i = 0; i < l->forms.n_slots * l->forms.pair->n_vars; i++)
        if (l->forms.slots[i % l->forms.n_slots].param == NOE_PARAM_AXIS &&
            noe_forms_aligned(&l->forms, i / l->forms.n_slots, i % l->forms.n_slots) >=
                0)
            return; /* any axis of a batch is worth more */
    noe_choice_set_axes(&c, &l->forms, NOE_FORM_FROM_END);
    if (!noe_choice_fixes_bound(&l->c, &l->forms) || !try_choice(l, &c))
        return;
    generalize_slots(l, noe_slot_is_bound);
    if (noe_choice_fixes_bound(&l->c, &l->forms))
        take(l, &fixed, &look);
}

static void generalize(lifter *l)
{
    generalize_groups(l);
    generalize_slots(l, noe_slot_is_plain);
    generalize_shapes_together(l);
    free_reshapes(l);
    generalize_slots(l, is_shape);
    drop_ranks(l);
    generalize_dependent(l);
    generalize_axes(l);
    generalize_slots(l, noe_slot_is_flag);
    generalize_slots(l, noe_slot_is_bound);
    free_bounds(l);
    drop_single_ranks(l);
    drop_twins(l);
    weaken_spreads(l, false);
    drop_single_ranks(l);                   /* what a spread says already */
    generalize_slots(l, noe_slot_is_plain); /* of what had too few instances before */
    generalize_slots(l, is_shape);
}

/* The most general choice from c on; false if it turns out to be wrong. */
static bool generalize_from(lifter *l, const noe_choice *c, bool is_strict)
{
    noe_look look;
    l->is_strict = is_strict;
    l->n_memo = 0;
    l->look = (noe_look){0};
    if (!is_good(l, c, &look))
        return false;
    take(l, c, &look);
    generalize(l);
    return survives(l, &l->c, N_WIDE_END, &look) &&
           noe_rule_survives_search(l->rule, l->seed, N_SEARCHED);
}

static void lift(lifter *l)
{
    noe_choice literal = {0}, general;
    choose_literals(l, &literal);
    choose_conditions(l, &literal, NOE_RANK_EXACTLY);
    if (!generalize_from(l, &literal, false) && !generalize_from(l, &literal, true))
        return;
    l->is_strict = false;
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
    lifter *l = noe_calloc(1, sizeof *l);
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
