/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting: what is seen of a choice.
 */
#include "generator/lifter.h"

#include "core/base/hash.h"
#include <stdlib.h>

#define N_WIDE 12 /* instances looked at for a choice */

/* The instance that the pair was found at, for a parsed variant: its variables are
 * named by letter, its parameter variables by slot. */
static void bind(const noe_lifter *l, const noe_rule *rule, noe_binding *b,
                 noe_param *param)
{
    *b = (noe_binding){0};
    for (int v = 0; v < rule->n_vars; v++) {
        int var = rule->vars[v].name[0] - 'a';
        b->type[v] =
            (noe_type){l->forms.pair->vars[var].dtype, l->forms.pair->vars[var].shape};
        b->bound[v] = true;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        const noe_slot *s = &l->forms.slots[atoi(rule->pvars[i].name + 1)];
        b->pvalue[i] = s->value;
        b->pbound[i] = true;
        param[i] = s->param;
    }
}

uint64_t noe_lifter_key(const noe_lifter *l, const noe_choice *c)
{
    noe_buf text = {0};
    noe_variant_print(&text, &l->forms, c);
    uint64_t key = noe_hash64(noe_buf_text(&text), text.len, 0);
    noe_buf_clear(&text);
    return key;
}

/* What was seen of the choice. The rule of it becomes l->rule where something is to be
 * looked at still. */
static struct noe_lift_memo *recall(noe_lifter *l, const noe_choice *c)
{
    uint64_t key = noe_lifter_key(l, c);
    for (int i = 0; i < l->n_memo; i++) {
        if (l->memo[i].key == key)
            return &l->memo[i];
    }
    l->n_memo += l->n_memo < NOE_LIFT_MAX_MEMO;
    struct noe_lift_memo *m = &l->memo[l->n_memo - 1];
    *m = (struct noe_lift_memo){.key = key};
    return m;
}

/* False where a choice has no rule. */
static bool parse(noe_lifter *l, const noe_choice *c, const struct noe_lift_memo *m)
{
    if (l->rule_key == m->key)
        return true;
    noe_buf text = {0};
    noe_variant_print(&text, &l->forms, c);
    bool ok = noe_rule_parse(noe_buf_text(&text), SIZE_MAX, l->rule, NULL) == NOE_OK;
    noe_buf_clear(&text);
    l->rule_key = ok ? m->key : 0;
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

/* At the pair's own instance and around it. */
static bool is_near(noe_lifter *l, const noe_choice *c, struct noe_lift_memo *m)
{
    if (!m->near.is_done) {
        noe_binding base;
        noe_param param[NOE_RULE_MAX_PVARS];
        m->near.is_done = true;
        if (!parse(l, c, m))
            return false;
        bind(l, l->rule, &base, param);
        m->near.ok =
            noe_rule_survives_near(l->rule, &base, param, l->seed, &m->n_typed);
    }
    return m->near.ok;
}

/* Counterexamples */

static void add_wrong(noe_lifter *l, const noe_instance *inst)
{
    if (l->n_wrong == NOE_LIFT_MAX_WRONG)
        return;
    struct noe_lift_wrong *w = &l->wrong[l->n_wrong++];
    *w = (struct noe_lift_wrong){0};
    for (int v = 0; v < l->rule->n_vars; v++) {
        int var = l->rule->vars[v].name[0] - 'a';
        w->shape[var] = inst->binding.type[v].shape;
        w->vars |= 1u << var;
    }
    for (int i = 0; i < l->rule->n_pvars; i++) {
        int slot = atoi(l->rule->pvars[i].name + 1);
        w->value[slot] = inst->binding.pvalue[i];
        w->slots |= 1u << slot;
    }
}

/* Whether l->rule is wrong there, as another one was. What is a variable here and was
 * none there has the value of the pair. */
static bool is_wrong_at(const noe_lifter *l, const struct noe_lift_wrong *w)
{
    noe_binding b;
    noe_param param[NOE_RULE_MAX_PVARS];
    bind(l, l->rule, &b, param);
    for (int v = 0; v < l->rule->n_vars; v++) {
        int var = l->rule->vars[v].name[0] - 'a';
        if (w->vars >> var & 1)
            b.type[v].shape = w->shape[var];
    }
    for (int i = 0; i < l->rule->n_pvars; i++) {
        int slot = atoi(l->rule->pvars[i].name + 1);
        if (w->slots >> slot & 1)
            b.pvalue[i] = w->value[slot];
    }
    return noe_rule_try(l->rule, &b, l->seed) == NOE_TRIAL_DIFFERS;
}

static bool is_wrong(noe_lifter *l, const noe_choice *c, struct noe_lift_memo *m)
{
    while (!m->is_wrong && m->n_wrong < l->n_wrong)
        m->is_wrong = !parse(l, c, m) || is_wrong_at(l, &l->wrong[m->n_wrong++]);
    return m->is_wrong;
}

/* At instances elsewhere. */
static bool is_wide(noe_lifter *l, const noe_choice *c, struct noe_lift_memo *m,
                    int n_wide, noe_instance *wrong, noe_look *look)
{
    struct noe_lift_seen *seen = &m->wide[n_wide == NOE_LIFT_WIDE_END];
    if (!seen->is_done) {
        const noe_pair *pair = l->forms.pair;
        int rank = pair->nodes[pair->lhs[0]].shape.rank;
        seen->is_done = true;
        m->look[n_wide == NOE_LIFT_WIDE_END] = (noe_look){0};
        noe_look *all = &m->look[n_wide == NOE_LIFT_WIDE_END];
        if (!parse(l, c, m))
            return false;
        seen->ok = noe_rule_survives_widely(l->rule, l->seed, rank, n_wide, wrong, all);
        name_slots(l->rule, all);
    }
    *look = m->look[n_wide == NOE_LIFT_WIDE_END];
    return seen->ok;
}

static bool is_found_true(noe_lifter *l, const noe_choice *c, struct noe_lift_memo *m,
                          noe_instance *wrong)
{
    if (!m->searched.is_done) {
        m->searched.is_done = true;
        m->searched.ok =
            parse(l, c, m) &&
            noe_rule_survives_search(l->rule, l->seed, NOE_LIFT_SEARCHED, wrong);
    }
    return m->searched.ok;
}

bool noe_lifter_is_near(noe_lifter *l, const noe_choice *c, int *n_typed)
{
    if (!noe_forms_fit(&l->forms, c))
        return false;
    struct noe_lift_memo *m = recall(l, c);
    bool ok = is_near(l, c, m) && !is_wrong(l, c, m);
    *n_typed = m->n_typed;
    return ok;
}

bool noe_lifter_is_good(noe_lifter *l, const noe_choice *c, noe_look *look)
{
    if (!noe_forms_fit(&l->forms, c))
        return false;
    struct noe_lift_memo *m = recall(l, c);
    int n_wide = l->is_strict || l->n_wrong ? NOE_LIFT_WIDE_END : N_WIDE;
    return is_near(l, c, m) && !is_wrong(l, c, m) &&
           is_wide(l, c, m, n_wide, NULL, look) &&
           (!l->is_strict || is_found_true(l, c, m, NULL));
}

bool noe_lifter_survives(noe_lifter *l, const noe_choice *c)
{
    noe_look look;
    struct noe_lift_memo *m = recall(l, c);
    return is_near(l, c, m) && !is_wrong(l, c, m) &&
           is_wide(l, c, m, NOE_LIFT_WIDE_END, NULL, &look) && parse(l, c, m);
}

bool noe_lifter_is_true(noe_lifter *l, const noe_choice *c)
{
    noe_look look;
    struct noe_lift_memo *m = recall(l, c);
    noe_instance *wrong = noe_calloc(1, sizeof *wrong);
    bool ok = is_wide(l, c, m, NOE_LIFT_WIDE_END, wrong, &look) &&
              is_found_true(l, c, m, wrong);
    if (!ok) {
        m->is_wrong = true;
        if (parse(l, c, m))
            add_wrong(l, wrong);
    }
    free(wrong);
    return ok;
}

bool noe_lifter_may_follow(noe_lifter *l, const noe_choice *c, noe_look *look)
{
    int wanted =
        l->look.n_found < NOE_LIFT_MIN_FOUND ? l->look.n_found : NOE_LIFT_MIN_FOUND;
    return noe_lifter_is_good(l, c, look) && look->n_found >= wanted;
}

void noe_lifter_take(noe_lifter *l, const noe_choice *c, const noe_look *look)
{
    l->c = *c;
    l->look = *look;
}

bool noe_lifter_try(noe_lifter *l, const noe_choice *c)
{
    noe_look look;
    if (!noe_lifter_may_follow(l, c, &look))
        return false;
    noe_lifter_take(l, c, &look);
    return true;
}

noe_form_kind noe_lifter_chosen(const noe_lifter *l, const noe_choice *c, int i)
{
    return l->forms.slots[i].forms[c->form[i]].kind;
}

bool noe_lifter_try_varied(noe_lifter *l, const noe_choice *c, uint32_t slots)
{
    noe_look look;
    if (!noe_lifter_may_follow(l, c, &look) || (look.varied & slots) != slots)
        return false;
    noe_lifter_take(l, c, &look);
    return true;
}
