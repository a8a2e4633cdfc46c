/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions from counterexamples. Typed instances of the rule are labelled true or
 * false by FIELD. Of the conjunctions of up to three predicates (verifier/vocabulary.h)
 * that exclude all false ones, the candidate is the one that keeps most true ones; then
 * the shorter, the simpler, the first. Fresh instances that meet it look for false ones
 * that it lets through; instances that break exactly one of its predicates look for
 * true ones that it need not exclude. Either kind is added and the search begins again.
 * What stands is put to the prover; what that refuses is not looked at again. If all is
 * refused, there is a second phase with equations alone: proofs are easier under them,
 * and they generalize from few instances. In the end each conjunct, also of the
 * condition that the rule came with, is dropped if the proof does without.
 *
 * The search only proposes: what is wrong with the sample costs rules, not truth.
 */
#include "verifier/precondition.h"
#include "verifier/vocabulary.h"
#include <stdlib.h>

#define MAX_CONJUNCTS 3
#define MAX_SAMPLES   512
#define WORDS         (MAX_SAMPLES / 64)
#define N_FIRST       120    /* instances of the rule as it is */
#define N_QUICK       40     /* of these; none true: there is no condition */
#define N_FRESH       32     /* that meet a candidate */
#define N_BORDER      8      /* that break one of its predicates */
#define N_SAMPLES     6      /* evaluations an instance */
#define MAX_ATTEMPTS  120    /* an instance */
#define MAX_STEPS     400000 /* of one search */
#define MAX_ALIKE     3      /* predicates kept that no instance tells apart */
#define MIN_KEPT      3      /* true instances of a candidate */

typedef struct bits {
    uint64_t w[WORDS];
} bits;

typedef struct conjunction {
    int n, kept, cost; /* kept: true instances */
    int predicate[MAX_CONJUNCTS];
    bool looked_at; /* its border */
    bool refused;   /* by the prover, or for what it says */
} conjunction;

typedef struct finder {
    const noe_rule *rule;
    const noe_precondition_config *config;
    noe_precondition_prove_fn *prove;
    void *ctx;
    noe_precondition *out;
    noe_vocabulary *voc;
    const noe_predicate *predicate;
    int n_predicates;
    bits *holds; /* of each predicate: at which instances */
    noe_binding *seen;
    int n_seen;
    bits truth; /* of the instances */
    uint64_t stream;
    conjunction *known; /* candidates of earlier rounds */
    int n_known, cap_known;
    int *active; /* predicates in the order in which they are tried */
    int n_active;
    int *rarity; /* of each instance: how many active predicates exclude it */
    int64_t steps;
    bool equations_only;
} finder;

static bool bit(const bits *b, int i)
{
    return b->w[i / 64] >> (i % 64) & 1;
}

static void set_bit(bits *b, int i)
{
    b->w[i / 64] |= UINT64_C(1) << (i % 64);
}

static int count_both(const bits *a, const bits *b)
{
    int n = 0;
    for (int i = 0; i < WORDS; i++)
        n += __builtin_popcountll(a->w[i] & b->w[i]);
    return n;
}

static bits both(const bits *a, const bits *b)
{
    bits r;
    for (int i = 0; i < WORDS; i++)
        r.w[i] = a->w[i] & b->w[i];
    return r;
}

/* Instances */

static bool same_binding(const noe_rule *rule, const noe_binding *a,
                         const noe_binding *b)
{
    for (int v = 0; v < rule->n_vars; v++) {
        if (!noe_shape_eq(&a->type[v].shape, &b->type[v].shape))
            return false;
    }
    for (int p = 0; p < rule->n_pvars; p++) {
        if (a->pbound[p] != b->pbound[p] ||
            (a->pbound[p] && !noe_value_eq(&a->pvalue[p], &b->pvalue[p])))
            return false;
    }
    return true;
}

static bool is_seen(const finder *f, const noe_binding *b)
{
    for (int i = 0; i < f->n_seen; i++) {
        if (same_binding(f->rule, &f->seen[i], b))
            return true;
    }
    return false;
}

static void add_instance(finder *f, const noe_binding *b, bool is_true)
{
    noe_quantities *q = noe_malloc(sizeof *q);
    int at = f->n_seen++;
    f->seen[at] = *b;
    f->out->n_true += is_true;
    f->out->n_false += !is_true;
    if (is_true)
        set_bit(&f->truth, at);
    noe_vocabulary_measure(f->voc, b, q);
    for (int i = 0; i < f->n_predicates; i++) {
        if (noe_vocabulary_holds(f->voc, i, q))
            set_bit(&f->holds[i], at);
    }
    free(q);
}

/* Whether the rule, without a condition of its own, is true at the instance. */
static bool is_true_at(finder *f, const noe_instance *inst, int index)
{
    return noe_field_agrees(f->rule, inst, f->config->seed, index, N_SAMPLES);
}

/* Where the outputs are empty every rule is true: that says nothing. */
static bool has_elements(const noe_rule *rule, const noe_instance *inst)
{
    for (int r = 0; r < rule->n_roots; r++) {
        if (noe_shape_elements(&inst->type[rule->lhs[r]].shape) > 0)
            return true;
    }
    return false;
}

typedef struct draw {
    int n_found, n_true, n_new; /* new: of the wanted kind, added */
    bool differ;                /* not all of the same shapes and parameters */
    noe_binding first;
} draw;

typedef enum wanted {
    WANT_ALL,
    WANT_TRUE,
    WANT_FALSE,
} wanted;

/* Draws n instances of `rule`, which is f->rule with a further condition, and adds
 * those that are wanted. */
static void draw_instances(finder *f, const noe_rule *rule, int n, wanted want, draw *d)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    uint64_t seed = noe_mix64(f->config->seed + ++f->stream);
    *d = (draw){.n_found = 0};
    for (int i = 0; i < n && f->n_seen < MAX_SAMPLES; i++) {
        int attempts = 0;
        if (i >= 12 && d->n_found == 0)
            break; /* what never fitted in the first tries hardly ever will */
        if (!noe_instance_find(rule, seed, i, MAX_ATTEMPTS, inst, &attempts) ||
            !noe_instance_store(rule, inst))
            continue;
        if (d->n_found++ == 0)
            d->first = inst->binding;
        d->differ |= !same_binding(f->rule, &d->first, &inst->binding);
        if (is_seen(f, &inst->binding) || !has_elements(f->rule, inst))
            continue;
        bool is_true = is_true_at(f, inst, i);
        d->n_true += is_true;
        if (want == WANT_ALL || (want == WANT_TRUE) == is_true) {
            d->n_new++;
            add_instance(f, &inst->binding, is_true);
        }
        if (n == N_FIRST && f->n_seen >= N_QUICK && f->out->n_true == 0)
            break;
    }
    free(inst);
}

/* Candidates */

typedef struct ranked {
    int predicate, kept;
    int cost;
    bits holds;
} ranked;

static int by_preference(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->kept != y->kept)
        return x->kept < y->kept ? 1 : -1;
    int same = memcmp(&x->holds, &y->holds, sizeof x->holds);
    if (same)
        return same;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->predicate < y->predicate ? -1 : 1;
}

static bool is_equation(noe_predicate_kind kind)
{
    return kind == NOE_PREDICATE_EQUALS || kind == NOE_PREDICATE_SAME ||
           kind == NOE_PREDICATE_ALL;
}

/* The predicates that keep a true instance and exclude a false one, the best first. */
static void rank_predicates(finder *f)
{
    ranked *r = noe_calloc((size_t)f->n_predicates, sizeof *r);
    int n = 0, alike = 0;
    for (int i = 0; i < f->n_predicates; i++) {
        if (f->equations_only && !is_equation(f->predicate[i].kind))
            continue;
        int kept = count_both(&f->holds[i], &f->truth), n_holds = 0;
        for (int k = 0; k < WORDS; k++)
            n_holds += __builtin_popcountll(f->holds[i].w[k]);
        if (kept >= MIN_KEPT && n_holds - kept < f->out->n_false)
            r[n++] = (ranked){i, kept, f->predicate[i].cost, f->holds[i]};
    }
    qsort(r, (size_t)n, sizeof *r, by_preference);
    f->n_active = 0;
    for (int i = 0; i < n; i++) {
        bool is_alike = i > 0 && !memcmp(&r[i].holds, &r[i - 1].holds, sizeof r->holds);
        alike = is_alike ? alike + 1 : 0;
        if (alike < MAX_ALIKE)
            f->active[f->n_active++] = r[i].predicate;
    }
    free(r);
    for (int i = 0; i < f->n_seen; i++) {
        f->rarity[i] = 0;
        for (int k = 0; k < f->n_active; k++)
            f->rarity[i] += !bit(&f->holds[f->active[k]], i);
    }
}

static int compare_predicates(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool same_predicates(const conjunction *a, const conjunction *b)
{
    return a->n == b->n &&
           memcmp(a->predicate, b->predicate, (size_t)a->n * sizeof *a->predicate) == 0;
}

static conjunction *find_known(finder *f, const conjunction *c)
{
    for (int i = 0; i < f->n_known; i++) {
        if (same_predicates(&f->known[i], c))
            return &f->known[i];
    }
    return NULL;
}

/* A total order: most true instances, fewest predicates, simplest, first. */
static bool is_better(const conjunction *a, const conjunction *b)
{
    if (b->n == 0 || a->kept != b->kept)
        return b->n == 0 || a->kept > b->kept;
    if (a->n != b->n)
        return a->n < b->n;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return memcmp(a->predicate, b->predicate, (size_t)a->n * sizeof *a->predicate) < 0;
}

static void propose(finder *f, const conjunction *now, conjunction *best)
{
    conjunction c = *now;
    qsort(c.predicate, (size_t)c.n, sizeof *c.predicate, compare_predicates);
    if (!is_better(&c, best))
        return;
    const conjunction *known = find_known(f, &c);
    if (!known || !known->refused)
        *best = c;
}

/* A false instance that the conjunction lets through, which fewest predicates exclude.
 */
static int rarest(const finder *f, const bits *through)
{
    int best = -1;
    for (int i = 0; i < f->n_seen; i++) {
        if (bit(through, i) && !bit(&f->truth, i) &&
            (best < 0 || f->rarity[i] < f->rarity[best]))
            best = i;
    }
    return best;
}

/* All conjunctions that extend `now`; through: the instances that it lets through. */
static void extend(finder *f, const conjunction *now, const bits *through,
                   conjunction *best)
{
    int open = rarest(f, through);
    if (open < 0) {
        propose(f, now, best);
        return;
    }
    for (int k = 0; k < f->n_active && now->n < MAX_CONJUNCTS; k++) {
        int predicate = f->active[k];
        if (bit(&f->holds[predicate], open))
            continue;
        if (++f->steps > MAX_STEPS)
            return;
        conjunction next = *now;
        bits rest = both(through, &f->holds[predicate]);
        next.kept = count_both(&rest, &f->truth);
        if (next.kept < MIN_KEPT || next.kept < best->kept)
            continue;
        next.predicate[next.n++] = predicate;
        next.cost += f->predicate[predicate].cost;
        extend(f, &next, &rest, best);
    }
}

static bool find_best(finder *f, conjunction *best)
{
    conjunction none = {.n = 0};
    bits all = {{0}};
    for (int i = 0; i < f->n_seen; i++)
        set_bit(&all, i);
    rank_predicates(f);
    f->steps = 0;
    *best = none;
    extend(f, &none, &all, best);
    return best->n > 0;
}

/* Rules with conditions */

/* print and parse: without unused terms and variables. */
static bool tidy(noe_rule *rule)
{
    noe_buf text = {0};
    noe_rule_print(&text, rule);
    bool ok = noe_rule_parse(noe_buf_text(&text), text.len, rule, NULL) == NOE_OK;
    noe_buf_clear(&text);
    return ok;
}

static int list_conjuncts(const noe_rule *rule, uint16_t term, uint16_t *list, int n)
{
    const noe_term *t = &rule->terms[term];
    if (t->kind == NOE_TERM_AND) {
        n = list_conjuncts(rule, t->kids[0], list, n);
        return list_conjuncts(rule, t->kids[1], list, n);
    }
    list[n] = term;
    return n + 1;
}

/* Without the conjunct of this number; false if there is none. The AND terms of the
 * rule are used again, so that there is always room. */
static bool without_conjunct(const noe_rule *rule, int which, noe_rule *out)
{
    uint16_t list[NOE_RULE_MAX_TERMS];
    noe_buf text = {0}, side = {0};
    if (rule->where == NOE_TERM_ABSENT)
        return false;
    int n = list_conjuncts(rule, rule->where, list, 0), kept = 0;
    if (which >= n)
        return false;
    noe_rule *part = noe_malloc(sizeof *part);
    *part = *rule;
    part->where = NOE_TERM_ABSENT;
    noe_rule_print(&text, part);
    for (int i = 0; i < n; i++) {
        if (i == which)
            continue;
        part->where = list[i];
        side.len = 0;
        noe_rule_print_where(&side, part);
        noe_buf_printf(&text, "%s(%s)", kept++ ? " && " : " where ",
                       noe_buf_text(&side));
    }
    bool ok = noe_rule_parse(noe_buf_text(&text), text.len, out, NULL) == NOE_OK;
    noe_buf_clear(&text);
    noe_buf_clear(&side);
    free(part);
    return ok;
}

static bool field_agrees(finder *f, const noe_rule *rule)
{
    noe_field_config config = {noe_mix64(f->config->seed + ++f->stream), 48,
                               MAX_ATTEMPTS, true};
    noe_field_report report;
    noe_field_check(rule, &config, &report);
    bool ok = report.n_instances > 1 && !report.difference.found && !report.is_doubtful;
    noe_field_report_clear(&report);
    return ok;
}

static bool is_proved(finder *f, const noe_rule *rule)
{
    f->out->n_proofs++;
    return f->prove(f->ctx, rule);
}

/* Drops the conjuncts that the proof does without. */
static void weaken(finder *f, noe_rule *rule)
{
    noe_rule *less = noe_malloc(sizeof *less);
    int which = 0;
    while (without_conjunct(rule, which, less)) {
        if (field_agrees(f, less) && is_proved(f, less))
            *rule = *less;
        else
            which++;
    }
    free(less);
}

/* The same rule where no variable has a dimension of size zero: what FIELD never sees
 * and proofs do. */
static bool without_zeros(noe_rule *rule)
{
    noe_buf text = {0};
    noe_rule *copy = noe_malloc(sizeof *copy);
    *copy = *rule;
    noe_rule_print(&text, copy);
    for (int v = 0; v < rule->n_vars; v++)
        noe_buf_printf(&text, "%s1 <= prod(shape(?%c))",
                       v || rule->where != NOE_TERM_ABSENT ? " && " : " where ",
                       'a' + v);
    bool ok = noe_rule_parse(noe_buf_text(&text), text.len, copy, NULL) == NOE_OK;
    if (ok)
        *rule = *copy;
    free(copy);
    noe_buf_clear(&text);
    return ok;
}

/* One candidate */

/* True instances beyond its border: it is not the weakest then. */
static bool has_outside(finder *f, const conjunction *c)
{
    noe_rule *beyond = noe_malloc(sizeof *beyond);
    int n_new = 0;
    for (int i = 0; i < c->n; i++) {
        draw d;
        if (!noe_vocabulary_narrow(f->voc, c->predicate, c->n, i, false, beyond))
            continue;
        draw_instances(f, beyond, N_BORDER, WANT_TRUE, &d);
        n_new += d.n_new;
    }
    free(beyond);
    return n_new > 0;
}

typedef enum outcome {
    OUTCOME_FOUND,
    OUTCOME_REFUSED,
    OUTCOME_REFINED, /* the sample has more instances */
} outcome;

#define MAX_LINEAR 6

/* The candidate where groups are 1 besides, as far as true instances are left. */
static bool without_groups(finder *f, const conjunction *c, noe_rule *rule)
{
    int predicates[MAX_CONJUNCTS + MAX_LINEAR], n = c->n;
    bits through = f->truth;
    memcpy(predicates, c->predicate, (size_t)n * sizeof *predicates);
    for (int i = 0; i < n; i++)
        through = both(&through, &f->holds[c->predicate[i]]);
    for (int i = 0; i < f->n_predicates && n < c->n + MAX_LINEAR; i++) {
        bits rest = both(&through, &f->holds[i]);
        int kept = count_both(&rest, &rest);
        if (!noe_vocabulary_is_linear(f->voc, i) || kept < MIN_KEPT ||
            kept == count_both(&through, &through))
            continue;
        predicates[n++] = i;
        through = rest;
    }
    return n > c->n && noe_vocabulary_narrow(f->voc, predicates, n, -1, true, rule) &&
           tidy(rule);
}

/* What the proof of the candidate itself cannot do may be done where no dimension is
 * zero, or without groups: products of two unknowns are beyond linear arithmetic. */
static bool prove_candidate(finder *f, const conjunction *c, noe_rule *rule)
{
    if (!noe_vocabulary_narrow(f->voc, c->predicate, c->n, -1, true, rule) ||
        !tidy(rule))
        return false;
    if (is_proved(f, rule) || (without_zeros(rule) && is_proved(f, rule)))
        return true;
    return without_groups(f, c, rule) && is_proved(f, rule);
}

static outcome try_candidate(finder *f, conjunction *c, noe_rule *rule)
{
    draw d;
    if (!noe_vocabulary_narrow(f->voc, c->predicate, c->n, -1, false, rule))
        return OUTCOME_REFUSED;
    draw_instances(f, rule, N_FRESH, WANT_FALSE, &d);
    if (d.n_new > 0)
        return OUTCOME_REFINED;
    if (!d.differ)
        return OUTCOME_REFUSED; /* true of one shape only */
    if (!c->looked_at) {
        c->looked_at = true;
        if (has_outside(f, c))
            return OUTCOME_REFINED;
    }
    return prove_candidate(f, c, rule) ? OUTCOME_FOUND : OUTCOME_REFUSED;
}

static bool look_at_next(finder *f, noe_rule *rule, bool *found)
{
    conjunction best;
    if (!find_best(f, &best))
        return false;
    conjunction *c = find_known(f, &best);
    if (!c) {
        NOE_PUSH(f->known, f->n_known, f->cap_known, best);
        c = &f->known[f->n_known - 1];
    }
    outcome o = try_candidate(f, c, rule);
    c->refused = o == OUTCOME_REFUSED;
    *found = o == OUTCOME_FOUND;
    return true;
}

/* Candidates up to the limits, or until there are no others (false). */
static bool run_phase(finder *f, noe_rule *rule)
{
    noe_precondition *out = f->out;
    int last_round = out->n_rounds + f->config->rounds;
    int last_proof = out->n_proofs + f->config->proofs;
    bool any = true;
    while (any && !out->found && out->n_rounds < last_round &&
           out->n_proofs < last_proof && f->n_seen < MAX_SAMPLES) {
        out->n_rounds++;
        any = look_at_next(f, rule, &out->found);
    }
    return any;
}

/* Instances without groups, of which there may be few so far. */
static void draw_linear(finder *f, noe_rule *rule)
{
    int predicates[MAX_LINEAR], n = 0;
    draw d;
    for (int i = 0; i < f->n_predicates && n < MAX_LINEAR; i++) {
        if (noe_vocabulary_is_linear(f->voc, i))
            predicates[n++] = i;
    }
    for (int i = 0; i < n; i++) {
        if (noe_vocabulary_narrow(f->voc, &predicates[i], 1, -1, false, rule))
            draw_instances(f, rule, N_FRESH, WANT_ALL, &d);
    }
    if (n > 1 && noe_vocabulary_narrow(f->voc, predicates, n, -1, false, rule))
        draw_instances(f, rule, N_FRESH, WANT_ALL, &d);
}

/* FIELD stopped at the first instance at which the sides differ. */
static void add_known(finder *f, const noe_field_report *field)
{
    for (int i = 0; field && i < field->n_instances; i++) {
        const noe_instance *inst = field->instances[i];
        bool is_last = i + 1 == field->n_instances;
        if (has_elements(f->rule, inst) && !is_seen(f, &inst->binding))
            add_instance(f, &inst->binding, !(is_last && field->difference.found));
    }
}

static void search(finder *f, const noe_field_report *field)
{
    noe_precondition *out = f->out;
    noe_rule *rule = noe_malloc(sizeof *rule);
    draw d;
    add_known(f, field);
    draw_instances(f, f->rule, N_FIRST, WANT_ALL, &d);
    if (out->n_true == 0 || out->n_false == 0) {
        noe_buf_printf(&out->how, "%s at all of %d instances",
                       out->n_true ? "true" : "false", f->n_seen);
        free(rule);
        return;
    }
    bool any = run_phase(f, rule);
    if (!out->found && out->n_proofs > 0) {
        draw_linear(f, rule);
        f->equations_only = true;
        any = run_phase(f, rule);
    }
    noe_buf_printf(&out->how, "%d of %d instances true, %d rounds, ", out->n_true,
                   f->n_seen, out->n_rounds);
    if (out->found) {
        weaken(f, rule);
        out->rule = rule;
        noe_rule_print_where(&out->condition, rule);
        noe_buf_printf(&out->how, "%d proofs", out->n_proofs);
        return;
    }
    free(rule);
    noe_buf_printf(&out->how, "%d proofs failed: %s", out->n_proofs,
                   !any ? "no other conjunction separates them"
                        : "the limit is reached");
}

void noe_precondition_find(const noe_rule *rule, const noe_field_report *field,
                           const noe_precondition_config *config,
                           noe_precondition_prove_fn *prove, void *ctx,
                           noe_precondition *found)
{
    finder f = {
        .rule = rule, .config = config, .prove = prove, .ctx = ctx, .out = found};
    *found = (noe_precondition){.found = false};
    if (config->rounds <= 0)
        return;
    f.voc = noe_vocabulary_new(rule);
    f.predicate = noe_vocabulary_predicates(f.voc, &f.n_predicates);
    f.holds = noe_calloc((size_t)f.n_predicates, sizeof *f.holds);
    f.active = noe_calloc((size_t)f.n_predicates, sizeof *f.active);
    f.seen = noe_calloc(MAX_SAMPLES, sizeof *f.seen);
    f.rarity = noe_calloc(MAX_SAMPLES, sizeof *f.rarity);
    search(&f, field);
    free(f.rarity);
    free(f.seen);
    free(f.active);
    free(f.holds);
    free(f.known);
    noe_vocabulary_free(f.voc);
}

void noe_precondition_clear(noe_precondition *p)
{
    free(p->rule);
    noe_buf_clear(&p->condition);
    noe_buf_clear(&p->how);
    *p = (noe_precondition){.found = false};
}
