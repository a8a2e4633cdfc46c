/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage FIELD.
 *
 * For each of a series of typed instances (core/instance.c) the tensor variables
 * get random values and both sides are evaluated with the meaning of core/. Every
 * sample has its own keys for the operators that the field only models (core/field.h).
 *
 * Which way signs are read. A rule without operators of order is evaluated on arbitrary
 * residues. One with them is first evaluated on numbers (NOE_ORDER_NUMBER), where order
 * is that of the reals. There a sample only counts if every value is within the bounds
 * of core/field.h: a shadow evaluation in double has to agree with the number that each
 * pair stands for. If all samples count and agree, the rule holds. Otherwise (there is
 * an operator that numbers do not model well, or a scalar of many bits) residues
 * decide.
 *
 * A difference refutes if the sides are made of sums, products and quotients, for which
 * the field is exact, or of these and operators of order on numbers. Any other operator
 * has only a model, which lacks some of its laws: such a difference is confirmed by
 * evaluating both sides in double at random points where both exist. If none differs,
 * the rule is `doubtful`: neither true nor refuted.
 *
 * sqrt and log are total in the field, but not over the reals. A rule that differs only
 * where an argument of them is negative (sqrt(a) sqrt(a) = a) agrees wherever both
 * sides exist; it `needs_domain`.
 *
 * Error bound. Let the sides differ as functions at an instance. Without operators of
 * order and sqrt they are rational functions (or such functions of fresh hash values)
 * of degree d, and one sample from a set of size S (p, or the numbers drawn) hides the
 * difference with probability at most d/S (Schwartz, Zippel); the samples of one
 * instance are independent, so the bound is (d/S)^samples. With r such operators the
 * difference may show only for one of 2^r sign patterns: a sample hides it with
 * probability at most 1 - 2^-r (1 - d/S), and the bound stated is for a rule that is
 * wrong at every instance: that to the power of all samples. Sign patterns of different
 * elements are independent, so the truth is far below.
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

/* Ranges of the numbers drawn: small ones hit the constants that rules name, large ones
 * tell polynomials apart. Where numbers get out of bounds, the next smaller is tried.
 */
static const int ranges[] = {3, 12, 100};
#define N_RANGES ((int)(sizeof ranges / sizeof *ranges))

void noe_field_draw(const noe_rule *rule, const noe_instance *inst,
                    const noe_field *field, uint64_t seed, uint64_t stream,
                    noe_arena *arena, noe_tensor_fe *values)
{
    for (int v = 0; v < rule->n_vars; v++) {
        noe_rng rng =
            noe_rng_split(seed, "value", stream * NOE_RULE_MAX_VARS + (uint64_t)v);
        values[v].shape = inst->binding.type[v].shape;
        int64_t n = noe_shape_elements(&values[v].shape);
        values[v].data =
            noe_arena_alloc(arena, (size_t)(n + 1) * sizeof *values[v].data);
        for (int64_t i = 0; i < n; i++)
            values[v].data[i] = noe_fe_draw(field, &rng);
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

static noe_difference compare(const noe_rule *rule, const noe_tensor_fe *tensor)
{
    noe_difference d = {0};
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

noe_difference noe_field_compare(const noe_rule *rule, const noe_instance *inst,
                                 const noe_field *field, const noe_tensor_fe *values,
                                 noe_arena *arena)
{
    noe_tensor_fe *tensor = NOE_NEW_N(arena, noe_tensor_fe, NOE_RULE_MAX_NODES);
    evaluate(rule, inst, field, values, arena, tensor);
    return compare(rule, tensor);
}

/* Numbers within bounds */

static bool has_order(noe_op op)
{
    return noe_op_has(op, NOE_TRAIT_ORDER);
}

static bool is_polynomial(noe_op op)
{
    return noe_op_has(op, NOE_TRAIT_LINEAR) || noe_op_has(op, NOE_TRAIT_COPY) ||
           noe_op_has(op, NOE_TRAIT_CONSTANT);
}

static bool is_rational(noe_op op)
{
    return is_polynomial(op) || op == NOE_OP_DIV || op == NOE_OP_RECIPROCAL;
}

static bool all_nodes(const noe_rule *rule, bool (*is)(noe_op op))
{
    for (int i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var && !is(rule->nodes[i].op))
            return false;
    }
    return true;
}

static bool is_exact_on_numbers(noe_op op)
{
    return is_polynomial(op) || has_order(op);
}

static bool has_no_order(noe_op op)
{
    return !has_order(op);
}

static void number_of(const noe_tensor_fe *t, double *shadow)
{
    int64_t n = noe_shape_elements(&t->shape);
    for (int64_t i = 0; i < n; i++)
        shadow[i] = (double)noe_fe_number(t->data[i]) / (double)NOE_FIELD_UNIT;
}

/* Rounding errors of the shadow are far below this part of the largest value, and a
 * pair that stands for no number in bounds is nowhere near. */
#define SHADOW_TOLERANCE 0x1p-24

static bool is_shadow(const noe_tensor_fe *t, const double *shadow, double *largest)
{
    int64_t n = noe_shape_elements(&t->shape);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)noe_fe_number(t->data[i]) / (double)NOE_FIELD_UNIT;
        *largest = fmax(*largest, fabs(shadow[i]));
        if (!(*largest < NOE_FIELD_BOUND) ||
            !(fabs(x - shadow[i]) <= SHADOW_TOLERANCE * *largest))
            return false;
    }
    return true;
}

/* Whether every value stands for a number in bounds. Those of operators that are
 * modelled by hashes are taken as they are. */
static bool within_bounds(const noe_rule *rule, const noe_instance *inst,
                          const noe_tensor_fe *tensor, noe_arena *arena)
{
    noe_tensor_f64 shadow[NOE_RULE_MAX_NODES], in[NOE_RULE_MAX_INPUTS];
    double largest = 1;
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        shadow[i].shape = tensor[i].shape;
        shadow[i].data =
            NOE_NEW_N(arena, double, noe_shape_elements(&tensor[i].shape) + 1);
        if (p->is_var || !is_exact_on_numbers(p->op)) {
            number_of(&tensor[i], shadow[i].data);
        } else {
            for (int k = 0; k < p->n_inputs; k++)
                in[k] = shadow[p->inputs[k]];
            noe_eval_f64(p->op, &inst->params[i], in, p->n_inputs, &shadow[i]);
        }
        if (!is_shadow(&tensor[i], shadow[i].data, &largest))
            return false;
    }
    return true;
}

/* Samples */

#define MAX_SAMPLES 64 /* an instance */

static uint64_t stream_of(int instance, int sample)
{
    return (uint64_t)instance * MAX_SAMPLES + (uint64_t)sample;
}

static noe_difference sample_residues(const noe_rule *rule, const noe_instance *inst,
                                      uint64_t seed, uint64_t stream, noe_arena *arena)
{
    noe_field field = noe_field_make(noe_mix64(seed ^ noe_mix64(stream)));
    noe_tensor_fe values[NOE_RULE_MAX_VARS];
    noe_field_draw(rule, inst, &field, seed, stream, arena, values);
    return noe_field_compare(rule, inst, &field, values, arena);
}

/* *counts: at some range all values are within bounds. */
static noe_difference sample_numbers(const noe_rule *rule, const noe_instance *inst,
                                     uint64_t seed, uint64_t stream, noe_arena *arena,
                                     bool *counts)
{
    noe_difference d = {0};
    *counts = false;
    for (int r = (int)(stream % N_RANGES); r >= 0 && !*counts; r--) {
        noe_field field =
            noe_field_make_ordered(noe_mix64(seed ^ noe_mix64(stream)), ranges[r]);
        noe_tensor_fe values[NOE_RULE_MAX_VARS];
        noe_field_draw(rule, inst, &field, seed, stream, arena, values);
        noe_tensor_fe *tensor = NOE_NEW_N(arena, noe_tensor_fe, NOE_RULE_MAX_NODES);
        evaluate(rule, inst, &field, values, arena, tensor);
        *counts = within_bounds(rule, inst, tensor, arena);
        d = compare(rule, tensor);
        d.range = ranges[r];
    }
    return d;
}

noe_difference noe_field_sample(const noe_rule *rule, const noe_instance *inst,
                                noe_order order, uint64_t seed, int instance,
                                int sample, bool *counts)
{
    noe_arena arena = {0};
    uint64_t stream = stream_of(instance, sample);
    *counts = true;
    noe_difference d = order == NOE_ORDER_NUMBER
                           ? sample_numbers(rule, inst, seed, stream, &arena, counts)
                           : sample_residues(rule, inst, seed, stream, &arena);
    d.instance = instance;
    d.sample = sample;
    noe_arena_clear(&arena);
    return d;
}

bool noe_field_agrees(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                      int instance, int n_samples)
{
    noe_order order =
        all_nodes(rule, has_no_order) ? NOE_ORDER_RESIDUE : NOE_ORDER_NUMBER;
    for (;; order = NOE_ORDER_RESIDUE) {
        bool agrees = true, counts;
        for (int i = 0; i < n_samples && agrees; i++)
            agrees = !noe_field_sample(rule, inst, order, seed, instance, i, &counts)
                          .found &&
                     counts;
        if (agrees || order == NOE_ORDER_RESIDUE)
            return agrees;
    }
}

/* Finds one more instance, until there are as many as asked for. */
static bool find_instance(const noe_rule *rule, const noe_field_config *config,
                          noe_field_report *report)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    while (report->next < config->n_instances) {
        /* What never fitted in the first tries hardly ever will. */
        if (report->next >= 12 && report->n_found == 0)
            break;
        int i = report->next++;
        if (!noe_instance_find(rule, config->seed, i, config->max_attempts, inst,
                               &report->attempts) ||
            (config->stored && !noe_instance_store(rule, inst)))
            continue;
        report->index[report->n_found] = i;
        report->instances[report->n_found++] = inst;
        return true;
    }
    free(inst);
    return false;
}

/* Where partial operators exist */

static bool has_no_domain(noe_op op)
{
    return op != NOE_OP_SQRT && op != NOE_OP_LOG;
}

static bool is_partial(noe_op op)
{
    return !has_no_domain(op) || op == NOE_OP_DIV || op == NOE_OP_RECIPROCAL;
}

/* A quarter of the elements of every other sample, where it matters what happens at 0.
 */
static void draw_zeros(const noe_rule *rule, uint64_t seed, uint64_t stream,
                       noe_tensor_fe *values)
{
    for (int v = 0; v < rule->n_vars; v++) {
        noe_rng rng =
            noe_rng_split(seed, "zero", stream * NOE_RULE_MAX_VARS + (uint64_t)v);
        int64_t n = noe_shape_elements(&values[v].shape);
        for (int64_t i = 0; i < n; i++) {
            if (noe_rng_below(&rng, 4) == 0)
                values[v].data[i] = (noe_fe){0, 0};
        }
    }
}

/* Which elements of a root exist on both sides, on the left alone, and are equal. */
typedef struct domain_counts {
    int64_t both, left_only, equal;
} domain_counts;

/* relu hides a value that is negative: the more, the fewer are hidden in all. */
#define N_OUTSIDE 6

static bool depends(noe_tensor_fe *const *t, int node, int64_t i)
{
    bool same = true;
    for (int k = 1; k < N_OUTSIDE; k++)
        same &= noe_fe_eq(t[0][node].data[i], t[k][node].data[i]);
    return !same;
}

/* One sample, evaluated with different values outside of the domains of sqrt and log
 * and where quotients divide by 0: an element that does not depend on these exists. */
static void sample_domain(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                          uint64_t stream, bool zeros, noe_arena *arena,
                          domain_counts *counts)
{
    noe_field field = noe_field_make(noe_mix64(seed ^ noe_mix64(stream)));
    noe_tensor_fe values[NOE_RULE_MAX_VARS], *t[N_OUTSIDE];
    noe_field_draw(rule, inst, &field, seed, stream, arena, values);
    /* Every other sample is of squares, for which products and quotients exist. */
    for (int v = 0; v < rule->n_vars && stream % 2 == 0; v++) {
        int64_t n = noe_shape_elements(&values[v].shape);
        for (int64_t i = 0; i < n; i++)
            values[v].data[i] = noe_fe_mul(values[v].data[i], values[v].data[i]);
    }
    if (zeros && stream % 2 == 1)
        draw_zeros(rule, seed, stream, values);
    for (int k = 0; k < N_OUTSIDE; k++) {
        field.outside = (uint64_t)k + 1;
        t[k] = NOE_NEW_N(arena, noe_tensor_fe, NOE_RULE_MAX_NODES);
        evaluate(rule, inst, &field, values, arena, t[k]);
    }
    for (int r = 0; r < rule->n_roots; r++) {
        int left = rule->lhs[r], right = rule->rhs[r];
        int64_t n = noe_shape_elements(&t[0][left].shape);
        for (int64_t i = 0; i < n; i++) {
            if (depends(t, left, i))
                continue;
            bool exists = !depends(t, right, i);
            counts->both += exists;
            counts->left_only += !exists;
            counts->equal +=
                exists && noe_fe_eq(t[0][left].data[i], t[0][right].data[i]);
        }
    }
}

static bool has_domain_on_the_right(const noe_rule *rule)
{
    bool right[NOE_RULE_MAX_NODES];
    noe_rule_mark_side(rule, true, right);
    for (int i = 0; i < rule->n_nodes; i++) {
        if (right[i] && !rule->nodes[i].is_var && is_partial(rule->nodes[i].op))
            return true;
    }
    return false;
}

#define DOMAIN_INSTANCES 6
#define DOMAIN_SAMPLES   8
#define DOMAIN_ATTEMPTS  200
/* Of the elements that exist on the left, the part that must do on the right: a few
 * seem to exist that do not. A domain that is really smaller is so by a quarter or
 * more. */
#define DOMAIN_KEPT(COUNTS) ((COUNTS).left_only * 16 <= (COUNTS).both)

bool noe_field_keeps_domain(const noe_rule *rule, uint64_t seed)
{
    domain_counts counts = {0};
    if (!has_domain_on_the_right(rule))
        return true;
    noe_instance *inst = noe_malloc(sizeof *inst);
    for (int i = 0; i < DOMAIN_INSTANCES; i++) {
        int attempts = 0;
        if (!noe_instance_find(rule, seed, i, DOMAIN_ATTEMPTS, inst, &attempts))
            continue;
        for (int k = 0; k < DOMAIN_SAMPLES; k++) {
            noe_arena arena = {0};
            sample_domain(rule, inst, seed, stream_of(i, k), true, &arena, &counts);
            noe_arena_clear(&arena);
        }
    }
    free(inst);
    return counts.both > 0 && DOMAIN_KEPT(counts);
}

/* Whether the sides agree wherever both exist, at each instance somewhere. */
static bool agrees_in_domain(const noe_rule *rule, const noe_field_config *config,
                             noe_field_report *report)
{
    if (all_nodes(rule, has_no_domain))
        return false;
    while (find_instance(rule, config, report))
        continue;
    bool ok = true;
    for (int i = 0; i < report->n_found && ok; i++) {
        domain_counts counts = {0};
        for (int k = 0; k < 2 * SAMPLES_SIGN && ok; k++) {
            noe_arena arena = {0};
            sample_domain(rule, report->instances[i], config->seed,
                          stream_of(report->index[i], k), false, &arena, &counts);
            noe_arena_clear(&arena);
            ok = counts.equal == counts.both;
        }
        ok = ok && counts.both > 0;
    }
    return ok;
}

/* Confirmation in double */

#define CONFIRM_SAMPLES   24
#define CONFIRM_TOLERANCE 1e-9

/* Some samples are positive, for operators that exist only there. */
static double draw_real(noe_rng *rng, int sample)
{
    static const double widths[] = {2, 0.25, 20};
    double x = noe_rng_unit(rng) * widths[sample % 3];
    return sample / 3 % 2 || noe_rng_below(rng, 2) ? x : -x;
}

static bool differs_in_double(const noe_rule *rule, const noe_tensor_f64 *t,
                              double largest)
{
    for (int r = 0; r < rule->n_roots; r++) {
        const noe_tensor_f64 *left = &t[rule->lhs[r]], *right = &t[rule->rhs[r]];
        int64_t n = noe_shape_elements(&left->shape);
        for (int64_t i = 0; i < n; i++) {
            double a = left->data[i], b = right->data[i];
            if (isfinite(a) && isfinite(b) && fabs(a - b) > CONFIRM_TOLERANCE * largest)
                return true;
        }
    }
    return false;
}

static bool sample_double(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                          int sample, noe_arena *arena)
{
    noe_tensor_f64 t[NOE_RULE_MAX_NODES], in[NOE_RULE_MAX_INPUTS];
    noe_rng rng = noe_rng_split(seed, "confirm", (uint64_t)sample);
    double largest = 1;
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        t[i].shape = inst->type[i].shape;
        int64_t n = noe_shape_elements(&t[i].shape);
        t[i].data = NOE_NEW_N(arena, double, n + 1);
        for (int64_t k = 0; p->is_var && k < n; k++)
            t[i].data[k] = draw_real(&rng, sample);
        for (int k = 0; k < p->n_inputs && !p->is_var; k++)
            in[k] = t[p->inputs[k]];
        if (!p->is_var)
            noe_eval_f64(p->op, &inst->params[i], in, p->n_inputs, &t[i]);
        for (int64_t k = 0; k < n; k++)
            largest =
                isfinite(t[i].data[k]) ? fmax(largest, fabs(t[i].data[k])) : largest;
    }
    return differs_in_double(rule, t, largest);
}

/* Whether the sides differ over the reals, as far as double can tell. */
static bool is_confirmed(const noe_rule *rule, const noe_instance *inst, uint64_t seed)
{
    bool found = false;
    for (int i = 0; i < CONFIRM_SAMPLES && !found; i++) {
        noe_arena arena = {0};
        found = sample_double(rule, inst, seed, i, &arena);
        noe_arena_clear(&arena);
    }
    return found;
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

static int count_signs(const noe_rule *rule)
{
    int n = 0;
    for (int i = 0; i < rule->n_nodes; i++)
        n += !rule->nodes[i].is_var &&
             (has_order(rule->nodes[i].op) || rule->nodes[i].op == NOE_OP_SQRT);
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

static double error_bound(const noe_rule *rule, noe_order order, int n_samples)
{
    /* The middle range; halves count as well. */
    double size = order == NOE_ORDER_NUMBER ? 2.0 * ranges[1] + 1 : (double)NOE_FIELD_P;
    double one = fmin(degree_of_rule(rule) / size, 0.9);
    int signs = count_signs(rule);
    if (signs == 0)
        return pow(one, SAMPLES_PLAIN);
    return pow(1 - ldexp(1 - one, -signs), n_samples);
}

/* Twice as many for each operator of order beyond three. */
static int samples_for(const noe_rule *rule, const noe_instance *inst)
{
    int signs = count_signs(rule), extra = signs < 3 ? 0 : signs > 6 ? 3 : signs - 3;
    int n = signs > 0 ? SAMPLES_SIGN << extra : SAMPLES_PLAIN;
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
    if (d->range > 0)
        noe_buf_printf(b, " left=%.10g right=%.10g of numbers up to %d",
                       (double)noe_fe_number(d->left) / (double)NOE_FIELD_UNIT,
                       (double)noe_fe_number(d->right) / (double)NOE_FIELD_UNIT,
                       d->range);
    else
        noe_buf_printf(b, " left=%u right=%u mod %u", d->left.u, d->right.u,
                       NOE_FIELD_P);
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

/* All samples of one instance; false at a difference, or where one does not count. */
static bool check_instance(const noe_rule *rule, const noe_field_config *config,
                           const noe_instance *inst, int index,
                           noe_field_report *report)
{
    int n = samples_for(rule, inst);
    for (int k = 0; k < n; k++) {
        bool counts;
        report->difference = noe_field_sample(rule, inst, report->order, config->seed,
                                              index, k, &counts);
        report->n_samples++;
        if (!counts)
            report->difference = (noe_difference){0};
        if (!counts || report->difference.found)
            return false;
    }
    return true;
}

/* Up to the first instance that does not agree. */
static bool check_instances(const noe_rule *rule, const noe_field_config *config,
                            noe_order order, noe_field_report *report)
{
    bool ok = true;
    report->order = order;
    report->n_samples = 0;
    report->n_instances = 0;
    while (ok && (report->n_instances < report->n_found ||
                  find_instance(rule, config, report))) {
        int i = report->n_instances++;
        ok = check_instance(rule, config, report->instances[i], report->index[i],
                            report);
    }
    return ok;
}

static void judge_difference(const noe_rule *rule, const noe_field_config *config,
                             noe_field_report *report)
{
    noe_difference *d = &report->difference;
    const noe_instance *inst = report->instances[report->n_instances - 1];
    bool exact = report->order == NOE_ORDER_NUMBER
                     ? all_nodes(rule, is_exact_on_numbers)
                     : all_nodes(rule, is_rational);
    describe_difference(rule, inst, config->seed, d, &report->counterexample);
    if (exact || is_confirmed(rule, inst, config->seed))
        return;
    d->found = false;
    report->needs_domain = agrees_in_domain(rule, config, report);
    report->is_doubtful = !report->needs_domain;
    if (report->needs_domain) {
        report->n_instances = report->n_found;
        report->n_samples = 2 * SAMPLES_SIGN * report->n_found;
        noe_buf_clear(&report->counterexample);
    }
}

static void check_orders(const noe_rule *rule, const noe_field_config *config,
                         noe_field_report *report)
{
    if (!all_nodes(rule, has_no_order)) {
        if (check_instances(rule, config, NOE_ORDER_NUMBER, report))
            return;
        if (report->difference.found && all_nodes(rule, is_exact_on_numbers)) {
            judge_difference(rule, config, report);
            return;
        }
    }
    if (!check_instances(rule, config, NOE_ORDER_RESIDUE, report))
        judge_difference(rule, config, report);
}

void noe_field_check(const noe_rule *rule, const noe_field_config *config,
                     noe_field_report *report)
{
    *report = (noe_field_report){0};
    report->instances = noe_calloc((size_t)config->n_instances, sizeof(noe_instance *));
    report->index = noe_calloc((size_t)config->n_instances, sizeof *report->index);
    check_orders(rule, config, report);
    report->error_bound = error_bound(rule, report->order, report->n_samples);
    if (report->n_instances == 0)
        return;
    describe_ranks(rule, report, &report->shapes_checked);
    describe_scheme(rule, report, &report->scheme);
}

void noe_field_check_at(const noe_rule *rule, const noe_field_config *config,
                        const noe_instance *inst, noe_field_report *report)
{
    *report = (noe_field_report){.n_found = 1, .next = config->n_instances};
    report->instances = noe_calloc(1, sizeof(noe_instance *));
    report->index = noe_calloc(1, sizeof *report->index);
    report->index[0] = config->n_instances;
    report->instances[0] = noe_malloc(sizeof *inst);
    *report->instances[0] = *inst;
    check_orders(rule, config, report);
    report->error_bound = error_bound(rule, report->order, report->n_samples);
    describe_ranks(rule, report, &report->shapes_checked);
    describe_scheme(rule, report, &report->scheme);
}

void noe_field_report_clear(noe_field_report *report)
{
    for (int i = 0; i < report->n_found; i++)
        free(report->instances[i]);
    free(report->instances);
    free(report->index);
    noe_buf_clear(&report->counterexample);
    noe_buf_clear(&report->shapes_checked);
    noe_buf_clear(&report->scheme);
    *report = (noe_field_report){0};
}
