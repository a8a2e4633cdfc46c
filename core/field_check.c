/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage FIELD.
 *
 * For each of a series of typed instances (core/instance.c) the tensor variables
 * get random field elements and both sides are evaluated with the meaning of core/.
 * Every sample has its own keys for the operators that the field only models
 * (core/field.h).
 *
 * Error bound. Let the sides differ as functions at an instance. Without relu, max and
 * sqrt they are rational functions (or such functions of fresh hash values) of degree
 * d, and one sample hides the difference with probability at most d/p (Schwartz,
 * Zippel); the samples of one instance are independent, so the bound is (d/p)^samples.
 * With r sign-like operators the difference may show only for one of 2^r sign patterns:
 * a sample hides it with probability at most 1 - 2^-r (1 - d/p), and the bound stated
 * is for a rule that is wrong at every instance: that to the power of all samples. Sign
 * patterns of different elements are independent, so the truth is far below.
 *
 * Not guaranteed: anything about shapes that were not tried. That is what the proof is
 * for.
 */
#include "core/field_check.h"
#include <math.h>
#include <stdlib.h>

#define SAMPLES_PLAIN 2
#define SAMPLES_SIGN  4
#define TINY          8 /* elements: such instances get more samples */

void noe_field_draw(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                    uint64_t stream, noe_arena *arena, noe_tensor_fe *values)
{
    for (int v = 0; v < rule->n_vars; v++) {
        noe_rng rng =
            noe_rng_split(seed, "value", stream * NOE_RULE_MAX_VARS + (uint64_t)v);
        values[v].shape = inst->binding.type[v].shape;
        int64_t n = noe_shape_elements(&values[v].shape);
        values[v].data =
            noe_arena_alloc(arena, (size_t)(n + 1) * sizeof *values[v].data);
        for (int64_t i = 0; i < n; i++)
            values[v].data[i] = noe_fe_random(&rng);
    }
}

static void evaluate(const noe_rule *rule, const noe_instance *inst,
                     const noe_field *field, const noe_tensor_fe *values,
                     noe_arena *arena, noe_tensor_fe *tensor)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        noe_tensor_fe *t = &tensor[i];
        if (p->is_var) {
            *t = values[p->var];
            continue;
        }
        t->shape = inst->type[i].shape;
        int64_t n = noe_shape_elements(&t->shape);
        t->data = noe_arena_alloc(arena, (size_t)(n + 1) * sizeof *t->data);
        noe_tensor_fe in[NOE_RULE_MAX_INPUTS];
        for (int k = 0; k < p->n_inputs; k++)
            in[k] = tensor[p->inputs[k]];
        noe_eval_fe(field, p->op, &inst->params[i], in, p->n_inputs, t);
    }
}

noe_difference noe_field_compare(const noe_rule *rule, const noe_instance *inst,
                                 const noe_field *field, const noe_tensor_fe *values,
                                 noe_arena *arena)
{
    noe_difference d = {0};
    noe_tensor_fe *tensor = NOE_NEW_N(arena, noe_tensor_fe, NOE_RULE_MAX_NODES);
    evaluate(rule, inst, field, values, arena, tensor);
    for (int r = 0; r < rule->n_roots && !d.found; r++) {
        const noe_tensor_fe *left = &tensor[rule->lhs[r]],
                            *right = &tensor[rule->rhs[r]];
        int64_t n = noe_shape_elements(&left->shape);
        for (int64_t i = 0; i < n && !d.found; i++) {
            if (noe_fe_eq(left->data[i], right->data[i]))
                continue;
            d.found = true;
            d.root = r;
            d.position = i;
            d.left = left->data[i];
            d.right = right->data[i];
        }
    }
    return d;
}

noe_difference noe_field_sample(const noe_rule *rule, const noe_instance *inst,
                                uint64_t seed, int instance, int sample)
{
    noe_arena arena = {0};
    uint64_t stream = (uint64_t)instance * 64 + (uint64_t)sample;
    noe_field field = noe_field_make(noe_mix64(seed ^ noe_mix64(stream)));
    noe_tensor_fe values[NOE_RULE_MAX_VARS];
    noe_field_draw(rule, inst, seed, stream, &arena, values);
    noe_difference d = noe_field_compare(rule, inst, &field, values, &arena);
    d.instance = instance;
    d.sample = sample;
    noe_arena_clear(&arena);
    return d;
}

/* Degree of a node as a rational function of the variables' elements. */
static double degree_of(const noe_pattern_node *p, const double *kid)
{
    if (p->is_var)
        return 1;
    double sum = 0, most = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        sum += kid[p->inputs[i]];
        most = fmax(most, kid[p->inputs[i]]);
    }
    bool product = p->op == NOE_OP_MUL || p->op == NOE_OP_DIV ||
                   (p->n_inputs > 1 && noe_op_has(p->op, NOE_TRAIT_HEAVY));
    return product ? sum : most;
}

static bool is_sign_like(const noe_pattern_node *p)
{
    return !p->is_var &&
           (p->op == NOE_OP_RELU || p->op == NOE_OP_MAX_POOL || p->op == NOE_OP_SQRT);
}

static int count_signs(const noe_rule *rule)
{
    int n = 0;
    for (int i = 0; i < rule->n_nodes; i++)
        n += is_sign_like(&rule->nodes[i]);
    return n;
}

static double degree_of_rule(const noe_rule *rule)
{
    double degree[NOE_RULE_MAX_NODES], most = 1;
    for (int i = 0; i < rule->n_nodes; i++) {
        degree[i] = degree_of(&rule->nodes[i], degree);
        most = fmax(most, degree[i]);
    }
    return 2 * most; /* denominators of both sides multiplied out */
}

static double error_bound(const noe_rule *rule, int n_samples)
{
    double one = degree_of_rule(rule) / NOE_FIELD_P;
    int signs = count_signs(rule);
    if (signs == 0)
        return pow(one, SAMPLES_PLAIN);
    return pow(1 - ldexp(1 - one, -signs), n_samples);
}

static int samples_for(const noe_rule *rule, const noe_instance *inst)
{
    int n = count_signs(rule) > 0 ? SAMPLES_SIGN : SAMPLES_PLAIN;
    int64_t elements = noe_shape_elements(&inst->type[rule->lhs[0]].shape);
    return elements <= TINY ? 2 * n : n;
}

static void print_position(noe_buf *b, const noe_shape *shape, int64_t position)
{
    noe_shape at = {.rank = shape->rank};
    for (int i = shape->rank - 1; i >= 0; i--) {
        at.dim[i] = position % shape->dim[i];
        position /= shape->dim[i];
    }
    noe_shape_print(b, &at);
}

static void describe_difference(const noe_rule *rule, const noe_instance *inst,
                                uint64_t seed, const noe_difference *d, noe_buf *b)
{
    noe_instance_print(b, rule, inst);
    noe_buf_printf(b, "; seed=%llu instance=%d sample=%d root=%d position=",
                   (unsigned long long)seed, d->instance, d->sample, d->root);
    print_position(b, &inst->type[rule->lhs[d->root]].shape, d->position);
    noe_buf_printf(b, " left=%u right=%u mod %u", d->left.u, d->right.u, NOE_FIELD_P);
}

static void describe_ranks(const noe_rule *rule, const noe_field_report *r, noe_buf *b)
{
    noe_buf_printf(b, "%d instances, %d samples, ranks", r->n_instances, r->n_samples);
    for (int v = 0; v < rule->n_vars; v++) {
        int lo = NOE_MAX_RANK, hi = 0;
        for (int i = 0; i < r->n_instances; i++) {
            int rank = r->instances[i]->binding.type[v].shape.rank;
            lo = rank < lo ? rank : lo;
            hi = rank > hi ? rank : hi;
        }
        noe_buf_printf(b, lo == hi ? " %s:%d" : " %s:%d-%d", rule->vars[v].name, lo,
                       hi);
    }
}

static bool same_ranks(const noe_rule *rule, const noe_instance *a,
                       const noe_instance *b)
{
    for (int v = 0; v < rule->n_vars; v++) {
        if (a->binding.type[v].shape.rank != b->binding.type[v].shape.rank)
            return false;
    }
    return true;
}

/* The instance whose ranks most others share. */
static int typical_instance(const noe_rule *rule, const noe_field_report *r)
{
    int best = 0, best_count = 0;
    for (int i = 0; i < r->n_instances; i++) {
        int count = 0;
        for (int j = 0; j < r->n_instances; j++)
            count += same_ranks(rule, r->instances[i], r->instances[j]);
        if (count > best_count) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

#define MAX_SLOTS (NOE_RULE_MAX_VARS * NOE_MAX_RANK)

/* Sizes of all axes of all variables, one after the other. */
static int list_sizes(const noe_rule *rule, const noe_instance *inst, int64_t *size)
{
    int n = 0;
    for (int v = 0; v < rule->n_vars; v++) {
        const noe_shape *s = &inst->binding.type[v].shape;
        for (int k = 0; k < s->rank; k++)
            size[n++] = s->dim[k];
    }
    return n;
}

/* Two axes are the same unknown when they had equal sizes at all instances of these
 * ranks: what unification would say, read off the instances. */
static void describe_scheme(const noe_rule *rule, const noe_field_report *r, noe_buf *b)
{
    const noe_instance *typical = r->instances[typical_instance(rule, r)];
    int64_t size[MAX_SLOTS], other[MAX_SLOTS];
    int class_of[MAX_SLOTS], n = list_sizes(rule, typical, size), n_classes = 0;
    bool apart[MAX_SLOTS][MAX_SLOTS] = {{false}}, varies[MAX_SLOTS] = {false};
    for (int i = 0; i < r->n_instances; i++) {
        if (!same_ranks(rule, typical, r->instances[i]))
            continue;
        list_sizes(rule, r->instances[i], other);
        for (int x = 0; x < n; x++) {
            varies[x] |= other[x] != size[x];
            for (int y = 0; y < x; y++)
                apart[x][y] |= other[x] != other[y];
        }
    }
    for (int x = 0; x < n; x++) {
        class_of[x] = -1;
        for (int y = 0; y < x && class_of[x] < 0; y++) {
            if (!apart[x][y])
                class_of[x] = class_of[y];
        }
        if (class_of[x] < 0)
            class_of[x] = n_classes++;
    }
    int slot = 0;
    for (int v = 0; v < rule->n_vars; v++) {
        noe_buf_printf(b, "%s%s=[", v ? " " : "", rule->vars[v].name);
        for (int k = 0; k < typical->binding.type[v].shape.rank; k++, slot++) {
            if (!varies[slot])
                noe_buf_printf(b, "%s%lld", k ? "," : "", (long long)size[slot]);
            else
                noe_buf_printf(b, "%sd%d", k ? "," : "", class_of[slot]);
        }
        noe_buf_puts(b, "]");
    }
}

static void check_instance(const noe_rule *rule, const noe_field_config *config,
                           const noe_instance *inst, int index,
                           noe_field_report *report)
{
    int n = samples_for(rule, inst);
    for (int k = 0; k < n && !report->difference.found; k++) {
        report->difference = noe_field_sample(rule, inst, config->seed, index, k);
        report->n_samples++;
    }
    if (report->difference.found)
        describe_difference(rule, inst, config->seed, &report->difference,
                            &report->counterexample);
}

void noe_field_check(const noe_rule *rule, const noe_field_config *config,
                     noe_field_report *report)
{
    *report = (noe_field_report){0};
    report->instances = noe_calloc((size_t)config->n_instances, sizeof(noe_instance *));
    noe_instance *inst = noe_malloc(sizeof *inst);
    int missed = 0;
    for (int i = 0; i < config->n_instances && !report->difference.found; i++) {
        /* What never fitted in the first tries hardly ever will. */
        if (missed >= 12 && report->n_instances == 0)
            break;
        if (!noe_instance_find(rule, config->seed, i, config->max_attempts, inst,
                               &report->attempts)) {
            missed++;
            continue;
        }
        check_instance(rule, config, inst, i, report);
        noe_instance *copy = noe_malloc(sizeof *copy);
        *copy = *inst;
        report->instances[report->n_instances++] = copy;
    }
    free(inst);
    report->error_bound = error_bound(rule, report->n_samples);
    if (report->n_instances == 0)
        return;
    describe_ranks(rule, report, &report->shapes_checked);
    describe_scheme(rule, report, &report->scheme);
}

void noe_field_report_clear(noe_field_report *report)
{
    for (int i = 0; i < report->n_instances; i++)
        free(report->instances[i]);
    free(report->instances);
    noe_buf_clear(&report->counterexample);
    noe_buf_clear(&report->shapes_checked);
    noe_buf_clear(&report->scheme);
    *report = (noe_field_report){0};
}
