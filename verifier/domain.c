/* SPDX-License-Identifier: Apache-2.0
 *
 * Where FIELD's conventions are not those of the reals.
 *
 * x / 0 is 0 in FIELD. A rule whose sides divide by zero everywhere is true of nothing
 * over the reals, and axioms like a / a = 1 derive anything from it. An element is zero
 * identically if it is at several random points; below sign-like operators, where one
 * half of the points says nothing, a whole denominator must be, at all instances.
 */
#include "verifier/domain.h"
#include "core/field_check.h"

#define SAMPLES 5

static void mark_sign_like(bool *set)
{
    for (int op = 0; op < NOE_OP_COUNT; op++)
        set[op] = op == NOE_OP_SQRT || noe_op_has((noe_op)op, NOE_TRAIT_ORDER);
}

/* tells[i]: the node, or one below it, is an operator of the set. Nodes come after
 * their operands. */
static void find_below(const noe_rule *rule, const bool *set, bool *tells)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        tells[i] = !p->is_var && set[p->op];
        for (int k = 0; !p->is_var && k < p->n_inputs; k++)
            tells[i] |= tells[p->inputs[k]];
    }
}

/* The operand that a node divides by, -1 if it does not divide. */
static int denominator(const noe_pattern_node *p)
{
    if (!p->is_var && p->op == NOE_OP_RECIPROCAL)
        return p->inputs[0];
    return !p->is_var && p->op == NOE_OP_DIV ? p->inputs[1] : -1;
}

static void evaluate(const noe_rule *rule, const noe_instance *inst, uint64_t sample,
                     noe_arena *arena, noe_tensor_fe *tensor)
{
    noe_field field = noe_field_make(noe_mix64(sample));
    noe_tensor_fe values[NOE_RULE_MAX_VARS];
    noe_field_draw(rule, inst, &field, 1, sample, arena, values);
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        noe_tensor_fe in[NOE_RULE_MAX_INPUTS];
        if (p->is_var) {
            tensor[i] = values[p->var];
            continue;
        }
        for (int k = 0; k < p->n_inputs; k++)
            in[k] = tensor[p->inputs[k]];
        tensor[i].shape = inst->type[i].shape;
        int64_t n = noe_shape_elements(&tensor[i].shape);
        tensor[i].data = noe_arena_alloc(arena, (size_t)(n + 1) * sizeof *in->data);
        noe_eval_fe(&field, p->op, &inst->params[i], in, p->n_inputs, &tensor[i]);
    }
}

/* zeros[i]: how many elements of node i were zero at all samples. */
static void count_zeros(const noe_rule *rule, const noe_instance *inst, int64_t *zeros)
{
    noe_arena arena = {0};
    noe_tensor_fe *tensor[SAMPLES];
    for (uint64_t s = 0; s < SAMPLES; s++) {
        tensor[s] = NOE_NEW_N(&arena, noe_tensor_fe, NOE_RULE_MAX_NODES);
        evaluate(rule, inst, s, &arena, tensor[s]);
    }
    for (int i = 0; i < rule->n_nodes; i++) {
        int64_t n = noe_shape_elements(&tensor[0][i].shape);
        zeros[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            int s = 0;
            while (s < SAMPLES && tensor[s][i].data[k].u == 0)
                s++;
            zeros[i] += s == SAMPLES;
        }
    }
    noe_arena_clear(&arena);
}

static bool divides(const noe_rule *rule)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (denominator(&rule->nodes[i]) >= 0)
            return true;
    }
    return false;
}

bool noe_rule_divides_by_zero(const noe_rule *rule, noe_instance *const *instances,
                              int n_instances)
{
    bool sign_like[NOE_OP_COUNT], sign[NOE_RULE_MAX_NODES], always[NOE_RULE_MAX_NODES];
    int64_t zeros[NOE_RULE_MAX_NODES];
    if (!divides(rule) || n_instances == 0)
        return false;
    mark_sign_like(sign_like);
    find_below(rule, sign_like, sign);
    memset(always, 1, sizeof always);
    for (int i = 0; i < n_instances; i++) {
        count_zeros(rule, instances[i], zeros);
        for (int k = 0; k < rule->n_nodes; k++) {
            int d = denominator(&rule->nodes[k]);
            if (d >= 0 && zeros[d] > 0 && !sign[d])
                return true;
            always[k] &=
                d >= 0 && zeros[d] == noe_shape_elements(&instances[i]->type[d].shape);
        }
    }
    for (int k = 0; k < rule->n_nodes; k++) {
        if (always[k])
            return true;
    }
    return false;
}
