/* SPDX-License-Identifier: Apache-2.0
 *
 * Numeric class by running both sides in float on several kinds of inputs.
 *
 *   exact   same bits on all kinds: ordinary, huge, tiny, signed zeros, infinities, NaN
 *   finite  same bits whenever every value on both sides is finite
 *   float   on ordinary, zero, moderately large and small inputs: infinities and NaN in
 *           the same places, other differences within FLOAT_TOLERANCE of the output's
 *           largest magnitude
 *   range   anything else, and every rule that is not exact and applies a partial
 *           operator (trait PARTIAL) to other arguments on one side than on the other
 *
 * A run can only lower the class. NaN equals NaN, whatever its bits; -0 differs from 0.
 * The evaluator sums in index order; a library that blocks its sums may round otherwise
 * where this one does not, which is why `exact` speaks of the reference evaluator.
 */
#include "verifier/classify.h"
#include "core/tensor.h"
#include <math.h>
#include <stdlib.h>

#define FLOAT_TOLERANCE 2e-5
#define MAX_RUNS        20 /* instances looked at */

/* Kinds of inputs. `usual` ones decide between float and range. */
#define INPUT_MAP(XX)             \
    XX(NORMAL, true, 1.0)         \
    XX(LARGE, true, 1e4)          \
    XX(SMALL, true, 1e-4)         \
    XX(ZEROS, true, 0.0)          \
    XX(POSITIVE, true, 1.0)       \
    XX(SIGNED_ZEROS, false, 1.0)  \
    XX(HUGE_VALUES, false, 1e30)  \
    XX(TINY_VALUES, false, 1e-30) \
    XX(INFINITIES, false, 1.0)    \
    XX(NANS, false, 1.0)

typedef enum input_kind {
#define XX(ID, USUAL, SCALE) INPUT_##ID,
    INPUT_MAP(XX)
#undef XX
        INPUT_COUNT
} input_kind;

static const struct {
    bool usual;
    double scale;
} inputs[INPUT_COUNT] = {
#define XX(ID, USUAL, SCALE) {USUAL, SCALE},
    INPUT_MAP(XX)
#undef XX
};

static float draw(input_kind kind, noe_rng *rng)
{
    double x = noe_rng_normal(rng) * inputs[kind].scale;
    bool special = noe_rng_below(rng, 4) == 0, negative = noe_rng_below(rng, 2) == 0;
    if (kind == INPUT_POSITIVE)
        x = fabs(x) + 0.01;
    if (kind == INPUT_SIGNED_ZEROS && special)
        x = negative ? -0.0 : 0.0;
    if (kind == INPUT_INFINITIES && special)
        x = negative ? -INFINITY : INFINITY;
    if (kind == INPUT_NANS && special)
        x = NAN;
    return (float)x;
}

/* What one run showed. */
typedef struct outcome {
    bool same_bits, all_finite, same_places, any_finite;
    double error;
} outcome;

static bool equal_bits(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* An output without elements is finite. */
static void compare(const noe_tensor_f32 *left, const noe_tensor_f32 *right, outcome *o)
{
    int64_t n = noe_shape_elements(&left->shape);
    double scale = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        float a = left->data[i], b = right->data[i];
        o->same_bits &= equal_bits(a, b);
        if (!isfinite(a) || !isfinite(b)) {
            o->same_places &= equal_bits(a, b);
            continue;
        }
        o->any_finite = true;
        scale = fmax(scale, fmax(fabs((double)a), fabs((double)b)));
        worst = fmax(worst, fabs((double)a - (double)b));
    }
    o->any_finite |= n == 0;
    if (worst > 0)
        o->error = fmax(o->error, worst / scale);
}

static void fill(noe_tensor_f32 *t, input_kind kind, noe_rng *rng)
{
    int64_t n = noe_shape_elements(&t->shape);
    for (int64_t i = 0; i < n; i++)
        t->data[i] = draw(kind, rng);
}

static outcome run(const noe_rule *rule, const noe_instance *inst, input_kind kind,
                   noe_rng *rng)
{
    outcome o = {.same_bits = true, .all_finite = true, .same_places = true};
    noe_arena arena = {0};
    noe_tensor_f32 *t = NOE_NEW_N(&arena, noe_tensor_f32, NOE_RULE_MAX_NODES);
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        t[i].shape = inst->type[i].shape;
        int64_t n = noe_shape_elements(&t[i].shape);
        t[i].data = noe_arena_alloc(&arena, (size_t)(n + 1) * sizeof *t[i].data);
        noe_tensor_f32 in[NOE_RULE_MAX_INPUTS];
        for (int k = 0; k < p->n_inputs && !p->is_var; k++)
            in[k] = t[p->inputs[k]];
        if (p->is_var)
            fill(&t[i], kind, rng);
        else
            noe_eval_f32(p->op, &inst->params[i], in, p->n_inputs, &t[i]);
        for (int64_t k = 0; k < n; k++)
            o.all_finite &= isfinite(t[i].data[k]) != 0;
    }
    for (int r = 0; r < rule->n_roots; r++)
        compare(&t[rule->lhs[r]], &t[rule->rhs[r]], &o);
    noe_arena_clear(&arena);
    return o;
}

static void mark_below(const noe_rule *rule, uint16_t node, bool *mark)
{
    mark[node] = true;
    for (int i = 0; !rule->nodes[node].is_var && i < rule->nodes[node].n_inputs; i++)
        mark_below(rule, rule->nodes[node].inputs[i], mark);
}

/* Equal subpatterns are one node, so a partial operator on the same arguments is one
 * node of both sides. */
static bool partial_operators_differ(const noe_rule *rule)
{
    bool left[NOE_RULE_MAX_NODES] = {false}, right[NOE_RULE_MAX_NODES] = {false};
    for (int r = 0; r < rule->n_roots; r++) {
        mark_below(rule, rule->lhs[r], left);
        mark_below(rule, rule->rhs[r], right);
    }
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        if (!p->is_var && noe_op_has(p->op, NOE_TRAIT_PARTIAL) && left[i] != right[i])
            return true;
    }
    return false;
}

static void lower(noe_numeric_class *class, noe_numeric_class to)
{
    if (to > *class)
        *class = to;
}

static void judge(input_kind kind, const outcome *o, noe_numeric *numeric)
{
    numeric->is_defined |= inputs[kind].usual && o->any_finite;
    if (inputs[kind].usual)
        numeric->max_error = fmax(numeric->max_error, o->error);
    if (o->same_bits)
        return;
    lower(&numeric->class, o->all_finite ? NOE_CLASS_FLOAT : NOE_CLASS_FINITE);
    if (inputs[kind].usual && (!o->same_places || o->error > FLOAT_TOLERANCE))
        lower(&numeric->class, NOE_CLASS_RANGE);
}

noe_numeric noe_rule_classify(const noe_rule *rule, noe_instance *const *instances,
                              int n_instances, uint64_t seed)
{
    noe_numeric numeric = {.class = NOE_CLASS_EXACT};
    int n = n_instances < MAX_RUNS ? n_instances : MAX_RUNS;
    for (int i = 0; i < n; i++) {
        for (int kind = 0; kind < INPUT_COUNT; kind++) {
            noe_rng rng =
                noe_rng_split(seed, "classify", (uint64_t)(i * INPUT_COUNT + kind));
            outcome o = run(rule, instances[i], (input_kind)kind, &rng);
            judge((input_kind)kind, &o, &numeric);
        }
    }
    if (n == 0 || (numeric.class != NOE_CLASS_EXACT && partial_operators_differ(rule)))
        numeric.class = NOE_CLASS_RANGE;
    return numeric;
}

static bool is_integer_scalar(const noe_rule *rule, const noe_pattern_node *p)
{
    if (p->op != NOE_OP_SCALAR || p->params[0] == NOE_TERM_ABSENT)
        return false;
    const noe_term *t = &rule->terms[p->params[0]];
    return t->kind == NOE_TERM_FLOAT && t->f == rint(t->f);
}

noe_integers noe_rule_integers(const noe_rule *rule)
{
    bool ring = false, lattice = false;
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        if (p->is_var)
            continue;
        bool is_ring = noe_op_has(p->op, NOE_TRAIT_RING) || is_integer_scalar(rule, p),
             is_lattice = noe_op_has(p->op, NOE_TRAIT_LATTICE);
        if (!is_ring && !is_lattice && !noe_op_has(p->op, NOE_TRAIT_COPY))
            return NOE_INTEGERS_NONE;
        ring = ring || is_ring;
        lattice = lattice || is_lattice;
    }
    return ring && lattice ? NOE_INTEGERS_BOUNDED : NOE_INTEGERS_WRAP;
}
