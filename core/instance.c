/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed instances by goal-directed random choice.
 *
 * An attempt walks the sides of the rule from their roots: the root's shape is chosen,
 * each operator chooses operand shapes (and free parameters) that give the shape wanted
 * of it (core/inverse.c), a variable takes the first shape that is wanted of it and
 * later occurrences must agree. Whatever is determined already is computed, never
 * chosen, and equations in the condition are used before chance is. In the end
 * everything is typed bottom-up by noe_op_infer, so a wrong inverse can cost instances
 * but never make an ill-typed one.
 *
 * Sizes come from a small set that changes with the attempt. Pairwise different sizes
 * from 2 up find almost every wrong rule with one instance; sets with 1 bring
 * broadcasting and degenerate windows, and sets with one element satisfy accidental
 * equalities that a rule may need (a square matrix).
 *
 * Not guaranteed: that an instance is found where one exists. No instance means that
 * nothing is known about the rule.
 */
#include "core/instance_search.h"

#define MAX_SHAPE_RANK 5

static const int64_t dim_sets[NOE_INSTANCE_N_DIMS][NOE_SEARCH_POOL] = {
    {2, 3, 4, 5, 7, 6},
    {2, 3, 5, 1, 4},
    {2, 3},
    {3, 1, 2},
    {4, 2, 3, 8, 6},
    {2},
    {3, 1},
    {1},
};

bool noe_search_chance(noe_search *s, int one_in)
{
    return noe_rng_below(s->rng, (uint64_t)one_in) == 0;
}

int64_t noe_search_dim(noe_search *s)
{
    int64_t d = s->pool[s->next];
    s->next = (s->next + 1) % s->n_pool;
    return d;
}

noe_shape noe_search_shape(noe_search *s, int rank)
{
    noe_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dim[i] = noe_search_dim(s);
    return shape;
}

int noe_search_rank(noe_search *s, int lo, int hi)
{
    int rank = s->rank >= 0 ? s->rank : (int)noe_rng_below(s->rng, MAX_SHAPE_RANK + 1);
    if (rank >= lo && rank <= hi)
        return rank;
    return (int)noe_rng_range(s->rng, lo, hi);
}

static void collect_facts(noe_search *s, uint16_t term)
{
    const noe_term *t = &s->rule->terms[term];
    if (t->kind == NOE_TERM_AND) {
        collect_facts(s, t->kids[0]);
        collect_facts(s, t->kids[1]);
    } else if (t->kind == NOE_TERM_EQ && s->n_facts < 32) {
        s->facts[s->n_facts++] = term;
    }
}

/* The value that an equation of the condition gives to what `is` accepts. */
static bool fact_about(noe_search *s, noe_term_kind kind, uint16_t var, noe_value *v)
{
    for (int i = 0; i < s->n_facts; i++) {
        const noe_term *eq = &s->rule->terms[s->facts[i]];
        for (int side = 0; side < 2; side++) {
            const noe_term *t = &s->rule->terms[eq->kids[side]];
            if (t->kind == kind && t->var == var &&
                noe_term_eval(s->rule, eq->kids[1 - side], &s->inst->binding, v))
                return true;
        }
    }
    return false;
}

bool noe_search_waits(noe_search *s, uint16_t node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    if (!p->is_var || s->inst->binding.bound[p->var] || noe_search_is_said(s, node))
        return false;
    for (int i = 0; i < s->n_facts; i++) {
        const noe_term *eq = &s->rule->terms[s->facts[i]];
        for (int side = 0; side < 2; side++) {
            const noe_term *t = &s->rule->terms[eq->kids[side]];
            if (t->kind == NOE_TERM_SHAPE && t->var == p->var)
                return true;
        }
    }
    return false;
}

bool noe_search_is_said(noe_search *s, uint16_t node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    noe_value v;
    return p->is_var && !s->inst->binding.bound[p->var] &&
           fact_about(s, NOE_TERM_SHAPE, p->var, &v);
}

/* dim(?a, i) == t fixes one axis of a shape that is free otherwise. */
static void apply_dim_facts(noe_search *s, uint16_t var, noe_shape *shape)
{
    for (int i = 0; i < s->n_facts; i++) {
        const noe_term *eq = &s->rule->terms[s->facts[i]];
        for (int side = 0; side < 2; side++) {
            const noe_term *t = &s->rule->terms[eq->kids[side]];
            noe_value axis, v;
            if (t->kind != NOE_TERM_DIM || t->var != var ||
                !noe_term_eval(s->rule, t->kids[0], &s->inst->binding, &axis) ||
                !noe_term_eval(s->rule, eq->kids[1 - side], &s->inst->binding, &v))
                continue;
            int64_t k = axis.i < 0 ? axis.i + shape->rank : axis.i;
            if (k >= 0 && k < shape->rank && v.i >= 0)
                shape->dim[k] = v.i;
        }
    }
}

static noe_shape choose_shape(noe_search *s, uint16_t var)
{
    noe_value v;
    if (fact_about(s, NOE_TERM_SHAPE, var, &v) && v.n <= NOE_MAX_RANK)
        return noe_shape_make(v.n, v.list);
    int rank = noe_search_rank(s, 0, MAX_SHAPE_RANK);
    if (fact_about(s, NOE_TERM_RANK, var, &v) && v.i >= 0 && v.i <= NOE_MAX_RANK)
        rank = (int)v.i;
    noe_shape shape = noe_search_shape(s, rank);
    apply_dim_facts(s, var, &shape);
    return shape;
}

static bool solve_variable(noe_search *s, uint16_t node, const noe_shape *want)
{
    uint16_t var = s->rule->nodes[node].var;
    noe_shape shape = want->rank < 0 ? choose_shape(s, var) : *want;
    if (!noe_shape_is_static(&shape))
        return false;
    s->inst->binding.type[var] = (noe_type){s->dtype[var], shape};
    s->inst->binding.bound[var] = true;
    return true;
}

static bool small_enough(const noe_search *s, const noe_shape *shape)
{
    int64_t n = noe_shape_elements(shape);
    return n >= 0 && n <= s->max_elements;
}

/* Parameters and type of a node whose inputs are known. */
static bool infer(noe_search *s, uint16_t node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    noe_type in[NOE_RULE_MAX_INPUTS];
    for (int i = 0; i < p->n_inputs; i++)
        in[i] = s->inst->type[p->inputs[i]];
    noe_params *params = &s->inst->params[node];
    return noe_rule_params(s->rule, node, &s->inst->binding, in, p->n_inputs, params,
                           NULL) == NOE_OK &&
           noe_op_infer(p->op, params, in, p->n_inputs, &s->inst->type[node], NULL) ==
               NOE_OK;
}

const noe_shape *noe_search_known(noe_search *s, uint16_t node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    if (s->known[node])
        return &s->inst->type[node].shape;
    if (p->is_var) {
        if (!s->inst->binding.bound[p->var])
            return NULL;
        s->inst->type[node] = s->inst->binding.type[p->var];
    } else {
        for (int i = 0; i < p->n_inputs; i++) {
            if (!noe_search_known(s, p->inputs[i]))
                return NULL;
        }
        if (!infer(s, node))
            return NULL;
    }
    s->known[node] = true;
    return &s->inst->type[node].shape;
}

bool noe_search_solve(noe_search *s, uint16_t node, const noe_shape *want)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    const noe_shape *have = noe_search_known(s, node);
    if (!have) {
        if (p->is_var) {
            if (!solve_variable(s, node, want))
                return false;
        } else {
            noe_inverse_fn *inverse = noe_inverse_of(p->op);
            if (!inverse || !inverse(s, node, want))
                return false;
        }
        have = noe_search_known(s, node);
    }
    return have && small_enough(s, have) &&
           (want->rank < 0 || noe_shape_eq(have, want));
}

bool noe_search_has_param(noe_search *s, uint16_t node, noe_param p, int spatial,
                          noe_value *v)
{
    const noe_pattern_node *n = &s->rule->nodes[node];
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] != p)
            continue;
        if (n->params[i] == NOE_TERM_ABSENT)
            return noe_param_default(n->op, p, spatial, v);
        return noe_term_eval(s->rule, n->params[i], &s->inst->binding, v);
    }
    return false;
}

static const noe_term *param_term(const noe_search *s, uint16_t node, noe_param p)
{
    const noe_pattern_node *n = &s->rule->nodes[node];
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p && n->params[i] != NOE_TERM_ABSENT)
            return &s->rule->terms[n->params[i]];
    }
    return NULL;
}

noe_value noe_search_param(noe_search *s, uint16_t node, noe_param p, int spatial,
                           const noe_value *suggestion)
{
    noe_value v;
    if (noe_search_has_param(s, node, p, spatial, &v))
        return v;
    const noe_term *t = param_term(s, node, p);
    if (!t || t->kind != NOE_TERM_PVAR)
        return *suggestion;
    noe_binding *b = &s->inst->binding;
    if (!fact_about(s, NOE_TERM_PVAR, t->var, &v))
        v = *suggestion;
    v.kind = noe_param_kind_of(p);
    b->pvalue[t->var] = v;
    b->pbound[t->var] = true;
    return v;
}

bool noe_search_is_dim_of(const noe_search *s, uint16_t node, noe_param p,
                          uint16_t input, int64_t axis)
{
    const noe_term *t = param_term(s, node, p);
    const noe_pattern_node *in = &s->rule->nodes[s->rule->nodes[node].inputs[input]];
    if (!t || t->kind != NOE_TERM_DIM || !in->is_var || t->var != in->var)
        return false;
    const noe_term *at = &s->rule->terms[t->kids[0]];
    return at->kind == NOE_TERM_INT && at->i == axis;
}

/* Types everything that is not typed yet. */
static bool type_all(noe_search *s)
{
    for (uint16_t i = 0; i < s->rule->n_nodes; i++) {
        if (!noe_search_known(s, i) || !small_enough(s, &s->inst->type[i].shape))
            return false;
    }
    return true;
}

static bool sides_agree(const noe_rule *rule, const noe_instance *inst)
{
    for (int i = 0; i < rule->n_roots; i++) {
        if (!noe_type_eq(&inst->type[rule->lhs[i]], &inst->type[rule->rhs[i]]))
            return false;
    }
    return true;
}

/* A side with a composite operator cannot be solved from its output; the other can. */
static bool has_inverse(const noe_rule *rule, uint16_t node)
{
    const noe_pattern_node *p = &rule->nodes[node];
    if (p->is_var)
        return true;
    for (int i = 0; i < p->n_inputs; i++) {
        if (!has_inverse(rule, p->inputs[i]))
            return false;
    }
    return noe_inverse_of(p->op) != NULL;
}

static bool solve_roots(noe_search *s, bool allow_unequal)
{
    const noe_rule *rule = s->rule;
    const noe_shape any = {.rank = NOE_RANK_UNKNOWN};
    bool right_first = noe_search_chance(s, 4) || !has_inverse(rule, rule->lhs[0]);
    const uint16_t *first = right_first ? rule->rhs : rule->lhs;
    const uint16_t *second = right_first ? rule->lhs : rule->rhs;
    int shift = (int)noe_rng_below(s->rng, rule->n_roots);
    for (int i = 0; i < rule->n_roots; i++) {
        if (!noe_search_solve(s, first[(i + shift) % rule->n_roots], &any))
            return false;
    }
    for (int i = 0; i < rule->n_roots; i++) {
        const noe_shape *want = allow_unequal ? &any : &s->inst->type[first[i]].shape;
        if (!noe_search_solve(s, second[i], want))
            return false;
    }
    return true;
}

static void set_pool(noe_search *s, int set)
{
    s->n_pool = 0;
    while (s->n_pool < NOE_SEARCH_POOL && dim_sets[set][s->n_pool])
        s->n_pool++;
    memcpy(s->pool, dim_sets[set], sizeof s->pool);
    for (int i = s->n_pool - 1; i > 0; i--) {
        int j = (int)noe_rng_below(s->rng, (uint64_t)i + 1);
        int64_t d = s->pool[i];
        s->pool[i] = s->pool[j];
        s->pool[j] = d;
    }
}

bool noe_instance_try(const noe_rule *rule, noe_rng *rng,
                      const noe_instance_style *style, noe_instance *inst)
{
    noe_search s = {.rule = rule,
                    .rng = rng,
                    .inst = inst,
                    .rank = style->rank,
                    .max_elements = style->max_elements};
    memset(inst->binding.bound, 0, sizeof inst->binding.bound);
    memset(inst->binding.pbound, 0, sizeof inst->binding.pbound);
    if (!noe_instance_types(rule, rng, s.dtype, &inst->binding))
        return false;
    set_pool(&s, style->dims);
    if (rule->where != NOE_TERM_ABSENT)
        collect_facts(&s, rule->where);
    return solve_roots(&s, style->allow_unequal) && type_all(&s) &&
           (style->allow_unequal || sides_agree(rule, inst)) &&
           noe_rule_holds(rule, &inst->binding);
}

static bool search_instance(const noe_rule *rule, noe_rng *rng, int index,
                            int max_attempts, noe_instance *inst, int *attempts)
{
    for (int i = 0; i < max_attempts; i++) {
        noe_instance_style style = {.rank = i < max_attempts / 4 ? index % 6 : -1,
                                    .dims = (index / 6 + i / 4) % NOE_INSTANCE_N_DIMS,
                                    .max_elements = 1200};
        ++*attempts;
        if (noe_instance_try(rule, rng, &style, inst))
            return true;
    }
    return false;
}

static bool guess_instance(const noe_rule *rule, noe_rng *rng, int index,
                           int max_attempts, noe_instance *inst, int *attempts)
{
    for (int i = 0; rule->n_pvars == 0 && i < max_attempts; i++) {
        ++*attempts;
        if (noe_instance_guess(rule, rng, index % 8 != 3, inst))
            return true;
    }
    return false;
}

/* Search chooses what fits best, groups of 1 and alike ranks; guesses mix them. */
bool noe_instance_find(const noe_rule *rule, uint64_t seed, int index, int max_attempts,
                       noe_instance *inst, int *attempts)
{
    noe_rng rng = noe_rng_split(seed, "instance", (uint64_t)index);
    if (index % 2 == 1 &&
        guess_instance(rule, &rng, index, max_attempts, inst, attempts))
        return true;
    return search_instance(rule, &rng, index, max_attempts, inst, attempts) ||
           (index % 2 == 0 &&
            guess_instance(rule, &rng, index, max_attempts, inst, attempts));
}

bool noe_instance_check(const noe_rule *rule, noe_instance *inst, bool allow_unequal)
{
    noe_search s = {.rule = rule, .inst = inst, .max_elements = NOE_MAX_ELEMENTS};
    return type_all(&s) && (allow_unequal || sides_agree(rule, inst)) &&
           noe_rule_holds(rule, &inst->binding);
}

/* Calls for each whole parameter of the left side that is a variable: stores the node's
 * value in the variable, or tells whether it has that value. */
static bool each_bound(const noe_rule *rule, noe_instance *inst, bool assign)
{
    bool left[NOE_RULE_MAX_NODES], same = true;
    noe_rule_mark_side(rule, false, left);
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        for (int k = 0; left[i] && !p->is_var && k < inst->params[i].n; k++) {
            if (p->params[k] == NOE_TERM_ABSENT ||
                rule->terms[p->params[k]].kind != NOE_TERM_PVAR)
                continue;
            const noe_term *t = &rule->terms[p->params[k]];
            noe_value *v = &inst->binding.pvalue[t->var];
            noe_value stored = inst->params[i].v[k];
            stored.kind = v->kind; /* AXIS and INT are both numbers */
            same &= noe_value_eq(v, &stored);
            if (assign)
                *v = stored;
        }
    }
    return same;
}

bool noe_instance_store(const noe_rule *rule, noe_instance *inst)
{
    if (each_bound(rule, inst, true))
        return true;
    return noe_instance_check(rule, inst, false) && each_bound(rule, inst, false);
}

int noe_instance_spread(const noe_rule *rule, const noe_instance *inst)
{
    int64_t seen[NOE_RULE_MAX_VARS * NOE_MAX_RANK];
    int n = 0, ones = 0, ranks = 0;
    for (int v = 0; v < rule->n_vars; v++) {
        const noe_shape *s = &inst->binding.type[v].shape;
        ranks += s->rank;
        for (int k = 0; k < s->rank; k++) {
            bool is_new = s->dim[k] > 1;
            for (int i = 0; i < n && is_new; i++)
                is_new = seen[i] != s->dim[k];
            if (is_new)
                seen[n++] = s->dim[k];
            ones += s->dim[k] == 1;
        }
    }
    return 8 * n - 4 * ones + (ranks < 8 ? ranks : 8);
}

void noe_instance_print(noe_buf *b, const noe_rule *rule, const noe_instance *inst)
{
    const char *gap = "";
    for (int i = 0; i < rule->n_vars; i++) {
        const noe_type *type = &inst->binding.type[i];
        noe_buf_printf(b, "%s%s=%s", gap, rule->vars[i].name,
                       type->dtype == NOE_F32 ? "" : noe_dtype_name(type->dtype));
        noe_shape_print(b, &type->shape);
        gap = " ";
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        noe_buf_printf(b, "%s%s=", gap, rule->pvars[i].name);
        noe_value_print(b, &inst->binding.pvalue[i]);
        gap = " ";
    }
}
