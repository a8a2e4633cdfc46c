/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of rules to derive with: each rule in the directions in which it can be matched.
 */
#include "core/derive_internal.h"

#include <stdlib.h>

noe_rule_set *noe_rule_set_new(void)
{
    return noe_calloc(1, sizeof(noe_rule_set));
}

void noe_rule_set_free(noe_rule_set *set)
{
    if (!set)
        return;
    noe_arena_clear(&set->arena);
    free(set->rules);
    free(set->is_on);
    free(set->directed);
    free(set);
}

static void add_direction(noe_rule_set *set, const noe_rule *whole, int root,
                          bool backwards)
{
    noe_directed *d = NOE_NEW(&set->arena, noe_directed);
    d->rule = set->n_rules - 1;
    d->root = root;
    d->backwards = backwards;
    d->whole = whole;
    d->one = *whole;
    d->one.n_roots = 1;
    d->one.lhs[0] = whole->lhs[root];
    d->one.rhs[0] = whole->rhs[root];
    if (!noe_rule_is_directed(&d->one))
        return;
    noe_rule_mark_side(&d->one, false, d->left);
    noe_rule_mark_side(&d->one, true, d->right);
    for (int i = 0; i < whole->n_nodes; i++) {
        if (!whole->nodes[i].is_var)
            d->ops[whole->nodes[i].op] = true;
    }
    NOE_PUSH(set->directed, set->n_directed, set->cap_directed, d);
}

int noe_rule_set_add(noe_rule_set *set, const noe_rule *rule)
{
    noe_rule *forwards = NOE_NEW(&set->arena, noe_rule);
    noe_rule *backwards = NOE_NEW(&set->arena, noe_rule);
    *forwards = *rule;
    *backwards = noe_rule_reversed(rule);
    NOE_PUSH(set->rules, set->n_rules, set->cap_rules, forwards);
    set->is_on = noe_realloc(set->is_on, (size_t)set->cap_rules * sizeof *set->is_on);
    set->is_on[set->n_rules - 1] = true;
    for (int root = 0; root < rule->n_roots; root++) {
        add_direction(set, forwards, root, false);
        add_direction(set, backwards, root, true);
    }
    return set->n_rules - 1;
}

int noe_rule_set_size(const noe_rule_set *set)
{
    return set->n_rules;
}

const noe_rule *noe_rule_set_get(const noe_rule_set *set, int number)
{
    return set->rules[number];
}

void noe_rule_set_enable(noe_rule_set *set, int number, bool on)
{
    set->is_on[number] = on;
}
