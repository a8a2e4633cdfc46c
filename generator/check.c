/* SPDX-License-Identifier: Apache-2.0
 *
 * A quick look at whether a lifted rule can be true: it is evaluated in the field at
 * the instance it was found at and at variations of it. This only saves the verifier
 * work: it looks at far fewer shapes than the verifier does, and what it lets through
 * is not yet believed.
 *
 * Variations: all dimensions renamed consistently; one dimension of one variable
 * changed; an axis put in front of all variables, or of one; other values of parameter
 * variables.
 */
#include "generator/lift.h"

#include "core/field_check.h"

#include <stdlib.h>

#define VARIATIONS   12
#define MAX_INSTANCE 3000 /* elements of one tensor */

typedef struct instance {
    const noe_rule *rule;
    const noe_binding *binding;
    noe_field field;
    noe_arena arena;
    noe_type type[NOE_RULE_MAX_NODES];
    noe_tensor_fe t[NOE_RULE_MAX_NODES];
} instance;

/* Types of all nodes; false where one has none. */
static bool infer_node(instance *x, uint16_t i, noe_params *params)
{
    const noe_pattern_node *n = &x->rule->nodes[i];
    if (n->is_var) {
        x->type[i] = x->binding->type[n->var];
        return true;
    }
    noe_type in[NOE_RULE_MAX_INPUTS];
    for (int k = 0; k < n->n_inputs; k++)
        in[k] = x->type[n->inputs[k]];
    if (noe_rule_params(x->rule, i, x->binding, in, n->n_inputs, params, NULL) !=
            NOE_OK ||
        noe_params_normalize(n->op, params, in, n->n_inputs, NULL) != NOE_OK ||
        noe_op_infer(n->op, params, in, n->n_inputs, &x->type[i], NULL) != NOE_OK)
        return false;
    int64_t size = noe_shape_elements(&x->type[i].shape);
    return size > 0 && size <= MAX_INSTANCE;
}

static void eval_node(instance *x, uint16_t i, const noe_params *params, noe_rng *rng)
{
    const noe_pattern_node *n = &x->rule->nodes[i];
    size_t size = (size_t)noe_shape_elements(&x->type[i].shape);
    x->t[i].shape = x->type[i].shape;
    x->t[i].data = noe_arena_alloc(&x->arena, size * sizeof(noe_fe));
    if (n->is_var) {
        for (size_t k = 0; k < size; k++)
            x->t[i].data[k] = noe_fe_draw(&x->field, rng);
        return;
    }
    noe_tensor_fe in[NOE_RULE_MAX_INPUTS];
    for (int k = 0; k < n->n_inputs; k++)
        in[k] = x->t[n->inputs[k]];
    noe_eval_fe(&x->field, n->op, params, in, n->n_inputs, &x->t[i]);
}

static noe_trial compare_roots(const instance *x)
{
    for (int r = 0; r < x->rule->n_roots; r++) {
        const noe_tensor_fe *a = &x->t[x->rule->lhs[r]], *b = &x->t[x->rule->rhs[r]];
        int64_t n = noe_shape_elements(&a->shape);
        for (int64_t i = 0; i < n; i++) {
            if (!noe_fe_eq(a->data[i], b->data[i]))
                return NOE_TRIAL_DIFFERS;
        }
    }
    return NOE_TRIAL_EQUAL;
}

static bool has_order(const noe_rule *rule)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var && noe_op_has(rule->nodes[i].op, NOE_TRAIT_ORDER))
            return true;
    }
    return false;
}

static noe_trial evaluate(instance *x, const noe_params *params, noe_order order,
                          uint64_t seed)
{
    noe_rng rng = noe_rng_split(seed, "instance", 0);
    uint64_t key = noe_rng_next(&rng);
    x->field = order == NOE_ORDER_NUMBER ? noe_field_make_ordered(key, NOE_FIELD_RANGE)
                                         : noe_field_make(key);
    for (uint16_t i = 0; i < x->rule->n_nodes; i++)
        eval_node(x, i, &params[i], &rng);
    return compare_roots(x);
}

noe_trial noe_rule_try(const noe_rule *rule, const noe_binding *binding, uint64_t seed)
{
    instance *x = noe_calloc(1, sizeof *x);
    noe_params *params = noe_calloc(rule->n_nodes, sizeof *params);
    noe_trial result = NOE_TRIAL_ILL;
    x->rule = rule;
    x->binding = binding;
    if (!noe_rule_holds(rule, binding))
        goto out;
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (!infer_node(x, i, &params[i]))
            goto out;
    }
    for (int r = 0; r < rule->n_roots; r++) {
        if (!noe_type_eq(&x->type[rule->lhs[r]], &x->type[rule->rhs[r]]))
            goto out;
    }
    result = has_order(rule) ? evaluate(x, params, NOE_ORDER_NUMBER, seed)
                             : NOE_TRIAL_DIFFERS;
    if (result == NOE_TRIAL_DIFFERS)
        result = evaluate(x, params, NOE_ORDER_RESIDUE, seed);
out:
    noe_arena_clear(&x->arena);
    free(params);
    free(x);
    return result;
}

/* Variations */

#define MAX_RENAMED 16

static void rename_dimensions(noe_binding *b, int n_vars, noe_rng *rng)
{
    int64_t to[MAX_RENAMED];
    for (int i = 0; i < MAX_RENAMED; i++)
        to[i] = i < 2 ? i : noe_rng_range(rng, 2, 6);
    for (int v = 0; v < n_vars; v++) {
        noe_shape *s = &b->type[v].shape;
        for (int k = 0; k < s->rank; k++) {
            if (s->dim[k] < MAX_RENAMED)
                s->dim[k] = to[s->dim[k]];
        }
    }
}

static void change_dimension(noe_binding *b, int n_vars, noe_rng *rng)
{
    if (n_vars == 0)
        return;
    noe_shape *s = &b->type[noe_rng_below(rng, (uint64_t)n_vars)].shape;
    if (s->rank == 0)
        return;
    int64_t *dim = &s->dim[noe_rng_below(rng, (uint64_t)s->rank)];
    *dim = *dim == 1 || noe_rng_below(rng, 3) ? *dim + 1 : 1;
}

static void add_axis(noe_type *t, int64_t dim)
{
    noe_shape *s = &t->shape;
    if (s->rank == 0 || s->rank == NOE_MAX_RANK)
        return;
    memmove(&s->dim[1], &s->dim[0], (size_t)s->rank * sizeof s->dim[0]);
    s->dim[0] = dim;
    s->rank++;
}

static void vary_types(noe_binding *b, int n_vars, noe_rng *rng)
{
    switch (noe_rng_below(rng, 6)) {
    case 0:
        break;
    case 1:
    case 2:
        rename_dimensions(b, n_vars, rng);
        break;
    case 3:
        change_dimension(b, n_vars, rng);
        break;
    case 4:
        for (int v = 0; v < n_vars; v++)
            add_axis(&b->type[v], 2);
        break;
    default:
        if (n_vars)
            add_axis(&b->type[noe_rng_below(rng, (uint64_t)n_vars)],
                     noe_rng_range(rng, 1, 2));
        break;
    }
}

static void vary_list(noe_value *v, noe_param param, const noe_binding *b, int n_vars,
                      noe_rng *rng)
{
    if (param == NOE_PARAM_PERM) {
        for (int i = v->n - 1; i > 0; i--) {
            uint64_t k = noe_rng_below(rng, (uint64_t)i + 1);
            int64_t t = v->list[i];
            v->list[i] = v->list[k];
            v->list[k] = t;
        }
        return;
    }
    if (param == NOE_PARAM_AXES) {
        v->n = 1;
        v->list[0] = noe_rng_range(rng, 0, 2);
        return;
    }
    if (param == NOE_PARAM_STRIDES || param == NOE_PARAM_DILATIONS) {
        int64_t step = noe_rng_range(rng, 1, 3);
        for (int i = 0; i < v->n; i++)
            v->list[i] = step;
        return;
    }
    if (param == NOE_PARAM_SHAPE && v->n && noe_rng_below(rng, 2)) {
        int64_t *dim = &v->list[noe_rng_below(rng, (uint64_t)v->n)];
        *dim += *dim == 1 || noe_rng_below(rng, 2) ? 1 : -1;
        return;
    }
    if (param == NOE_PARAM_SHAPE) {
        const noe_shape *s =
            n_vars ? &b->type[noe_rng_below(rng, (uint64_t)n_vars)].shape : NULL;
        v->n = s && noe_rng_below(rng, 3) ? s->rank : 0;
        for (int i = 0; i < v->n; i++)
            v->list[i] = noe_rng_below(rng, 2) ? s->dim[i] : 1;
        return;
    }
    if (param == NOE_PARAM_PADS && v->n > 1 && noe_rng_below(rng, 2)) {
        /* From one end to the other: what keeps the size shows the most. */
        int half = v->n / 2, i = (int)noe_rng_below(rng, (uint64_t)half);
        int64_t *from = &v->list[i], *to = &v->list[i + half];
        if (*from > 0) {
            --*from;
            ++*to;
        }
        return;
    }
    for (int i = 0; i < v->n; i++)
        v->list[i] += noe_rng_range(rng, v->list[i] > 0 ? -1 : 0, 1);
}

static void vary_value(noe_value *v, noe_param param, const noe_binding *b, int n_vars,
                       noe_rng *rng)
{
    switch (v->kind) {
    case NOE_KIND_AXIS:
        v->i = noe_rng_range(rng, 0, 2);
        break;
    case NOE_KIND_INT:
        v->i = param == NOE_PARAM_KEEPDIMS || param == NOE_PARAM_COUNT_INCLUDE_PAD
                   ? 1 - v->i
                   : v->i + noe_rng_range(rng, v->i > 0 ? -1 : 0, 1);
        break;
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        vary_list(v, param, b, n_vars, rng);
        break;
    case NOE_KIND_FLOAT:
        v->f += 0.5;
        break;
    }
}

/* Moves all bounds of slices together: the lengths stay. */
static void shift_bounds(noe_binding *b, const noe_rule *rule, const noe_param *param,
                         int64_t by)
{
    for (int k = 0; k < rule->n_pvars; k++) {
        if (param[k] == NOE_PARAM_START || param[k] == NOE_PARAM_END)
            b->pvalue[k].i += b->pvalue[k].i + by >= 0 ? by : 0;
    }
}

static void vary_values(noe_binding *b, const noe_rule *rule, const noe_param *param,
                        noe_rng *rng)
{
    if (noe_rng_below(rng, 4) == 0) {
        shift_bounds(b, rule, param, noe_rng_below(rng, 2) ? 1 : -1);
        return;
    }
    for (int k = 0; k < rule->n_pvars; k++) {
        if (noe_rng_below(rng, 2))
            vary_value(&b->pvalue[k], param[k], b, rule->n_vars, rng);
    }
}

/* Sizes and bounds that parameter variables stand for follow a dimension that grew. */
static void follow_dimension(noe_binding *b, const noe_rule *rule,
                             const noe_param *param, int64_t old)
{
    for (int k = 0; k < rule->n_pvars; k++) {
        noe_value *v = &b->pvalue[k];
        if (param[k] == NOE_PARAM_START || param[k] == NOE_PARAM_END)
            v->i += v->i == old;
        for (int i = 0; param[k] == NOE_PARAM_SHAPE && i < v->n; i++)
            v->list[i] += v->list[i] == old;
    }
}

/* One dimension of one variable more, each in turn; counts well-typed instances. */
static int sweep(const noe_rule *rule, const noe_binding *base, const noe_param *param,
                 uint64_t seed)
{
    int n_typed = 0;
    for (int v = 0; v < rule->n_vars; v++) {
        for (int k = 0; k < base->type[v].shape.rank; k++) {
            noe_binding b = *base;
            int64_t old = b.type[v].shape.dim[k]++;
            noe_trial r = noe_rule_try(rule, &b, seed);
            if (r == NOE_TRIAL_ILL && rule->n_pvars) {
                follow_dimension(&b, rule, param, old);
                r = noe_rule_try(rule, &b, seed);
            }
            if (r == NOE_TRIAL_DIFFERS)
                return -1;
            n_typed += r == NOE_TRIAL_EQUAL;
        }
    }
    return n_typed;
}

/* Instances that are not near the one it was found at */

#define ATTEMPTS 120 /* an instance */

static bool is_letter(const noe_rule *rule, int var)
{
    return rule->vars[var].name[0] >= 'a' && rule->vars[var].name[0] <= 'z';
}

/* Keeps what all instances so far have in common. */
static void note_instance(const noe_rule *rule, const noe_instance *first,
                          const noe_instance *inst, noe_look *look)
{
    for (int i = 0; i < rule->n_pvars; i++) {
        if (!noe_value_eq(&first->binding.pvalue[i], &inst->binding.pvalue[i]))
            look->varied |= 1u << i;
    }
    look->ranks |= 1u << inst->type[rule->lhs[0]].shape.rank;
    for (int v = 0; v < rule->n_vars; v++) {
        for (int w = 0; w < rule->n_vars; w++) {
            const noe_shape *x = &inst->binding.type[v].shape;
            const noe_shape *y = &inst->binding.type[w].shape;
            if (is_letter(rule, v) && is_letter(rule, w) &&
                (x->rank == 0 || y->rank == 0 || x->dim[0] != y->dim[0]))
                look->other_head[rule->vars[v].name[0] - 'a'] |=
                    1u << (rule->vars[w].name[0] - 'a');
        }
    }
}

/* The number of a bit that is set; k runs through all of them. */
static int pick_bit(uint32_t bits, int k)
{
    for (k %= __builtin_popcount(bits); k > 0; k--)
        bits &= bits - 1;
    return __builtin_ctz(bits);
}

/* Sets of sizes and ranks change from one to the next: all different, all 2 (what fits
 * by accident), with ones. A rank that never fitted is not insisted on again: *barren
 * has a bit for each; those that did fit (fertile) are every other attempt's. */
static bool find_instance(const noe_rule *rule, uint64_t seed, int index, int base_rank,
                          uint32_t fertile, uint32_t *barren, noe_instance *inst)
{
    static const int sets[NOE_INSTANCE_N_DIMS] = {0, 5, 1, 3, 2, 6, 4, 7};
    noe_rng rng = noe_rng_split(seed, "wide", (uint64_t)index);
    int rank = index % 3 == 0 ? base_rank : index % 3 == 1 ? (index / 3 + 2) % 6 : -1;
    if (rank >= 0 && (*barren >> rank & 1))
        rank = -1;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (i == ATTEMPTS / 3 && rank >= 0) {
            *barren |= 1u << rank;
            rank = -1;
        }
        bool again = rank < 0 && i % 2 && fertile;
        noe_instance_style style = {.rank = again ? pick_bit(fertile, i / 2) : rank,
                                    .dims =
                                        sets[(index + i / 16) % NOE_INSTANCE_N_DIMS],
                                    .max_elements = 1200};
        if (noe_instance_try(rule, &rng, &style, inst))
            return true;
    }
    return false;
}

/* Axes that parameter variables name, or that a product takes by where they stand. */
static bool has_axes(const noe_rule *rule)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *n = &rule->nodes[i];
        const noe_op_info *info = noe_op_get(n->op);
        if (!n->is_var && n->op == NOE_OP_MATMUL)
            return true;
        for (int k = 0; !n->is_var && k < info->n_params; k++) {
            noe_param p = info->params[k];
            if ((p == NOE_PARAM_PERM || p == NOE_PARAM_AXES || p == NOE_PARAM_AXIS) &&
                n->params[k] != NOE_TERM_ABSENT &&
                rule->terms[n->params[k]].kind == NOE_TERM_PVAR)
                return true;
        }
    }
    return false;
}

/* Axes that are told apart by nothing but the rule: all sizes alike. A rank at which
 * nothing was found is not tried again. */
static bool survives_alike(const noe_rule *rule, uint64_t seed, int n,
                           noe_instance *inst)
{
    uint32_t barren = 0;
    for (int i = 0; i < n; i++) {
        int rank = 2 + i % 3;
        noe_rng rng = noe_rng_split(seed, "equal", (uint64_t)i);
        noe_instance_style style = {.rank = rank, .dims = 5, .max_elements = 1200};
        bool found = false;
        for (int k = 0; k < ATTEMPTS / 4 && !found && !(barren >> rank & 1); k++)
            found = noe_instance_try(rule, &rng, &style, inst);
        barren |= (uint32_t)!found << rank;
        if (found && !noe_field_agrees(rule, inst, seed, n + i, 1))
            return false;
    }
    return true;
}

bool noe_rule_survives_widely(const noe_rule *rule, uint64_t seed, int base_rank, int n,
                              noe_instance *wrong, noe_look *look)
{
    noe_instance *inst = noe_malloc(2 * sizeof *inst), *x = &inst[1];
    uint32_t barren = 0;
    bool ok = !has_axes(rule) || survives_alike(rule, seed, n, x);
    for (int i = 0; i < n && ok; i++) {
        if (i >= n / 2 && look->n_found == 0)
            break; /* what never fitted hardly ever will */
        x = &inst[look->n_found > 0];
        if (!find_instance(rule, seed, i, base_rank, look->ranks, &barren, x))
            continue;
        note_instance(rule, &inst[0], x, look);
        look->n_found++;
        ok = noe_field_agrees(rule, x, seed, i, 2);
    }
    if (!ok && wrong)
        *wrong = *x;
    free(inst);
    return ok;
}

bool noe_rule_survives_search(const noe_rule *rule, uint64_t seed, int n,
                              noe_instance *wrong)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        int attempts = 0;
        if (noe_instance_find(rule, seed, i, ATTEMPTS, inst, &attempts))
            ok = noe_field_agrees(rule, inst, seed, i, 2);
        else if (i >= n / 4)
            break;
    }
    if (!ok && wrong)
        *wrong = *inst;
    free(inst);
    return ok;
}

bool noe_rule_survives_near(const noe_rule *rule, const noe_binding *base,
                            const noe_param *param, uint64_t seed, int *n_typed)
{
    if (noe_rule_try(rule, base, seed) != NOE_TRIAL_EQUAL)
        return false;
    *n_typed = sweep(rule, base, param, seed);
    for (int i = 0; i < VARIATIONS && *n_typed >= 0; i++) {
        noe_rng rng = noe_rng_split(seed, "variation", (uint64_t)i);
        noe_binding b = *base;
        vary_types(&b, rule->n_vars, &rng);
        vary_values(&b, rule, param, &rng);
        if (noe_rule_try(rule, &b, noe_rng_next(&rng)) == NOE_TRIAL_DIFFERS)
            return false;
    }
    return *n_typed >= 0;
}

bool noe_rule_is_oriented(const noe_rule *rule, int costly)
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
