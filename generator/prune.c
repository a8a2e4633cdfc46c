/* SPDX-License-Identifier: Apache-2.0
 *
 * Pruning by derivability, level by level.
 *
 * The e-nodes of a class are all equal; which equations explain that? Within a class,
 * e-nodes that an instance of an accepted pair connects are joined (explain.h). Each
 * component that is left is a pair, between its most general e-node and the class's. It
 * is dropped if the accepted pairs derive it by way of larger terms (saturate.h); else
 * it is checked on fresh points, made as general as it is true, and accepted. Classes
 * come in the order of generality (few constants, few repeated variables), so that
 * general pairs are there first.
 *
 * Classes are taken up ROUND at a time, by as many threads as there are, with the pairs
 * that were accepted before the round. Only classes with something left are then gone
 * through one by one; the first of them whose pair nothing derives has it accepted as
 * it is, the others are looked at again with the pairs that are new. The result does
 * not depend on threads.
 *
 * Not complete: searches have limits; that leaves a pair too many, never one too few.
 */
#include "generator/prune.h"

#include "core/base/pool.h"
#include "generator/saturate.h"
#include "generator/explain.h"
#include <stdlib.h>

#define ROUND       64
#define RECHECK     16  /* rounds: a one-element tensor has one sign a round */
#define MAX_DERIVED 800 /* the largest gains */
#define NOTHING     NOE_NO_OPERAND

/* Of the proofs that keep a pair from being accepted. */
static const noe_proof_limits quick = {
    .n_terms = 400, .n_extra = 2, .n_rounds = 5, .exclude = -1};
static const noe_proof_limits thorough = {
    .n_terms = 1000, .n_extra = 3, .n_rounds = 7, .exclude = -1};

/* A pair with the e-node that it connects to its class. */
typedef struct connection {
    uint32_t e;
    noe_pair pair;
} connection;

/* What became of the pairs of one class. */
typedef struct outcome {
    uint32_t n_proved, n_false, n_undirected, n_too_large, n_closed;
    connection *derived; /* by a longer search; owned */
    int n_derived, cap_derived;
    /* The first one that no pair before derives, general, where the thread stopped;
     * owned. */
    connection *open;
} outcome;

typedef struct ordered {
    uint32_t id, key;
} ordered;

typedef struct worker {
    noe_explainer *explainer;
    noe_saturation *saturation;
} worker;

typedef struct pruner {
    const noe_universe *u;
    noe_laws *laws;
    noe_rewrites *rewrites;
    int *id_of; /* pairs by number in rewrites */
    int n_numbers, cap_numbers;
    uint32_t *parent; /* of the explainers */
    worker worker[NOE_MAX_THREADS];
    int n_workers;
    int level;
    const ordered *round; /* classes */
    outcome outcomes[ROUND];
    noe_prune_stats *stats;
    noe_pair *pairs;
    int n_pairs, cap_pairs;
} pruner;

static void push_pair(pruner *p, noe_pair *pair)
{
    pair->id = p->n_pairs;
    NOE_PUSH(p->pairs, p->n_pairs, p->cap_pairs, *pair);
}

/* One side's variables contain the other's. */
static bool is_directed(const noe_pair *pair)
{
    uint32_t vars[2];
    noe_pair_variables(pair, vars);
    return !(vars[0] & ~vars[1]) || !(vars[1] & ~vars[0]);
}

/* Steps name pairs by id from now on. */
static void name_pairs(const pruner *p, noe_pair_proof *d)
{
    for (int i = 0; i < d->n; i++) {
        if (d->steps[i].rule != NOE_STEP_SWAP)
            d->steps[i].rule = p->id_of[d->steps[i].rule];
    }
}

/* Takes up a pair that a longer search derives, as a short cut within the universe. */
static void accept_derived(pruner *p, noe_pair *pair)
{
    name_pairs(p, &pair->why);
    pair->kind = NOE_PAIR_DERIVED;
    pair->use = noe_pair_use_of(pair, 1);
    pair->is_deferred = pair->use == NOE_USE_NONE;
    push_pair(p, pair);
    noe_laws_add(p->laws, pair);
}

/* Takes up a pair that is true, general and not derivable. */
static void accept_axiom(pruner *p, noe_pair *pair, outcome *o)
{
    if (!is_directed(pair)) {
        o->n_undirected++;
        return;
    }
    int number = noe_rewrites_add(p->rewrites, pair);
    NOE_ASSERT(number == p->n_numbers);
    NOE_PUSH(p->id_of, p->n_numbers, p->cap_numbers, p->n_pairs);
    p->stats->n_accepted++;
    push_pair(p, pair);
    noe_laws_add(p->laws, pair);
}

typedef enum fate { FATE_SETTLED, FATE_NEW } fate;

/* The pair (e, base of the class): what becomes of it, and the pair if it is new. */
static fate judge(const pruner *p, worker *w, uint32_t e, noe_pair *pair, outcome *o)
{
    if (!noe_pair_make(p->u, e, noe_explain_base(w->explainer), pair)) {
        o->n_too_large++;
        return FATE_SETTLED;
    }
    if (pair->n_vars == 0 && pair->level > 1) {
        o->n_closed++;
        return FATE_SETTLED;
    }
    if (noe_saturation_derives(w->saturation, p->rewrites, pair, &quick, NULL)) {
        o->n_proved++;
        return FATE_SETTLED;
    }
    if (!noe_pair_holds(pair, p->u->env->seed, RECHECK)) {
        o->n_false++;
        return FATE_SETTLED;
    }
    return FATE_NEW;
}

static bool is_derivable(const pruner *p, worker *w, noe_pair *pair)
{
    if (noe_saturation_derives(w->saturation, p->rewrites, pair, &thorough, &pair->why))
        return true;
    noe_pair_proof_clear(&pair->why);
    return false;
}

/* A class with the pairs of before the round; open where they do not do. */
static void try_class(void *ctx, int number, uint32_t i)
{
    pruner *p = ctx;
    worker *w = &p->worker[number];
    outcome *o = &p->outcomes[i];
    connection *c = NULL;
    *o = (outcome){0};
    noe_explain_class(w->explainer, p->round[i].id);
    for (uint32_t e; (e = noe_explain_open(w->explainer)) != NOTHING;) {
        if (!c)
            c = noe_malloc(sizeof *c);
        c->e = e;
        if (judge(p, w, e, &c->pair, o) == FATE_NEW) {
            noe_pair_generalize(&c->pair, p->u->env->seed);
            if (!is_derivable(p, w, &c->pair)) {
                o->open = c;
                return;
            }
            NOE_PUSH(o->derived, o->n_derived, o->cap_derived, *c);
        }
        noe_explain_join(w->explainer, e);
    }
    free(c);
}

static void forget_derived(outcome *o)
{
    free(o->derived);
    o->derived = NULL;
    o->n_derived = o->cap_derived = 0;
}

/* Pairs that laws of this round explain by now are not needed. */
static void accept_all_derived(pruner *p, uint32_t i, outcome *o)
{
    noe_explainer *x = p->worker[0].explainer;
    o->n_proved += (uint32_t)o->n_derived;
    if (o->n_derived)
        noe_explain_class(x, p->round[i].id);
    for (int k = 0; k < o->n_derived; k++) {
        connection *c = &o->derived[k];
        if (noe_explain_is_joined(x, c->e)) {
            noe_pair_proof_clear(&c->pair.why);
            continue;
        }
        uint32_t n_before = noe_laws_count(p->laws);
        accept_derived(p, &c->pair);
        noe_explain_join(x, c->e);
        noe_explain_more(x, n_before);
    }
    forget_derived(o);
}

/* The rest of a class, with all pairs; accepts what they do not derive. */
static void explain_rest(pruner *p, outcome *o)
{
    worker *w = &p->worker[0];
    noe_pair *pair = noe_malloc(sizeof *pair);
    for (uint32_t e; (e = noe_explain_open(w->explainer)) != NOTHING;) {
        fate f = judge(p, w, e, pair, o);
        noe_explain_join(w->explainer, e);
        if (f == FATE_SETTLED)
            continue;
        noe_pair_generalize(pair, p->u->env->seed);
        uint32_t n_before = noe_laws_count(p->laws);
        if (is_derivable(p, w, pair)) {
            o->n_proved++;
            accept_derived(p, pair);
        } else {
            accept_axiom(p, pair, o);
        }
        if (noe_laws_count(p->laws) > n_before)
            noe_explain_more(w->explainer, n_before);
    }
    free(pair);
}

/* An open class. Before there are new rewrites what its thread found stands: what is
 * derived, and the first pair that is not; else it is sought again. */
static void explain_class(pruner *p, uint32_t i, bool is_first)
{
    noe_explainer *x = p->worker[0].explainer;
    outcome *o = &p->outcomes[i], count = {0};
    connection *open = o->open;
    if (is_first) {
        count.derived = o->derived;
        count.n_derived = o->n_derived;
        accept_all_derived(p, i, &count);
        accept_axiom(p, &open->pair, &count);
    } else {
        for (int k = 0; k < o->n_derived; k++)
            noe_pair_proof_clear(&o->derived[k].pair.why);
        forget_derived(o);
    }
    noe_explain_class(x, p->round[i].id);
    if (is_first)
        noe_explain_join(x, open->e);
    free(open);
    explain_rest(p, &count);
    *o = count;
}

static void add_outcome(noe_prune_stats *s, const outcome *o)
{
    s->n_proved += o->n_proved;
    s->n_false += o->n_false;
    s->n_undirected += o->n_undirected;
    s->n_too_large += o->n_too_large;
    s->n_closed += o->n_closed;
}

static void run_round(pruner *p, uint32_t n)
{
    int n_before = p->n_numbers;
    noe_parallel_for(p->n_workers, n, try_class, p);
    for (uint32_t i = 0; i < n; i++) {
        outcome *o = &p->outcomes[i];
        if (o->open)
            explain_class(p, i, p->n_numbers == n_before);
        else
            accept_all_derived(p, i, o);
        add_outcome(p->stats, o);
    }
}

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* A class has something to explain at this level if a new e-node joined others and one
 * of its new e-nodes is canonical. Its key is that of its second-best e-node (of the
 * best one, beside a leaf): the pair that explains it is no more general. */
static bool class_key(const pruner *p, uint32_t value, uint32_t *key)
{
    const noe_universe *u = p->u;
    uint32_t n = 0, best = NOTHING, second = NOTHING;
    bool is_new = false;
    for (uint32_t e = u->classes[value].first; e; e = u->enodes[e - 1].next) {
        const noe_enode *x = &u->enodes[e - 1];
        if (x->level > p->level)
            break;
        uint32_t k = noe_enode_key(x);
        n++;
        is_new = is_new || (x->level == p->level && x->is_canonical);
        second = k < best ? best : k < second ? k : second;
        best = k < best ? k : best;
    }
    bool is_leaf = noe_class_stands_alone(u, value);
    *key = is_leaf ? best : second;
    return is_new && n + is_leaf >= 2;
}

static noe_status explain_level(pruner *p, int level, noe_error *err)
{
    ordered *classes = NULL;
    uint32_t n = 0, cap = 0;
    noe_status status = NOE_OK;
    p->level = level;
    noe_laws_set_level(p->laws, level);
    for (uint32_t c = 0; c < p->u->n_classes; c++) {
        ordered o = {c, 0};
        if (p->u->classes[c].fixed != NOE_FIXED_OTHER && class_key(p, c, &o.key))
            NOE_PUSH(classes, n, cap, o);
    }
    if (n)
        qsort(classes, n, sizeof *classes, compare_ordered);
    p->stats->n_classes += n;
    for (uint32_t i = 0; i < n && status == NOE_OK; i += ROUND) {
        p->round = &classes[i];
        run_round(p, n - i < ROUND ? n - i : ROUND);
        noe_progress(p->u->env, "%s: level %d, pruning %u of %u, %u rules",
                     p->u->space->name, level, i, n, noe_laws_count(p->laws));
        if (noe_cancelled(p->u->env))
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted while pruning");
    }
    free(classes);
    return status;
}

/* Beside the derivable: what is worth having anyway */

static int cost_of(const noe_enode *e)
{
    return (NOE_HEAVY_COST - 1) * e->n_heavy + e->n_runtime;
}

/* x + op(x, w) as op(x, w + 1), whatever 1 is there. */
static bool takes_in(const noe_enode *x, const noe_enode *y)
{
    return y->n_constants == 1 && noe_enode_repeats(x) == 1 &&
           noe_enode_repeats(y) == 0 && y->n_heavy > 0 && y->n_heavy == x->n_heavy;
}

/* The cheapest e-node of e's class that has the same variables as often. */
static uint32_t find_cheaper(const noe_universe *u, uint32_t e)
{
    const noe_enode *x = &u->enodes[e];
    uint32_t best = e;
    for (uint32_t f = u->classes[x->value].first; f; f = u->enodes[f - 1].next) {
        const noe_enode *y = &u->enodes[f - 1];
        if (cost_of(y) < cost_of(&u->enodes[best]) && y->n_vars == x->n_vars &&
            (y->n_constants == 0 || takes_in(x, y)))
            best = f - 1;
    }
    return best;
}

typedef struct gain {
    uint32_t from, to; /* e-nodes */
    int gain;
} gain;

static int compare_gains(const void *a, const void *b)
{
    const gain *x = a, *y = b;
    if (x->gain != y->gain)
        return y->gain - x->gain;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Explained classes in which a general e-node costs more than another one. Where heavy
 * operators become one, or one takes in what it is added to, they may share an operand.
 */
static void collect_gains(const noe_universe *u, gain **gains, uint32_t *n)
{
    uint32_t cap = 0;
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        if (!x->is_canonical || x->n_constants > 0 || noe_enode_repeats(x) > 1 ||
            x->n_runtime == 0 || noe_class_stands_alone(u, x->value))
            continue;
        const noe_enode *first = &u->enodes[u->classes[x->value].first - 1];
        if (first->n_vars != x->n_vars)
            continue; /* some variable does not matter */
        uint32_t best = find_cheaper(u, e);
        gain g = {e, best, cost_of(x) - cost_of(&u->enodes[best])};
        const noe_enode *y = &u->enodes[best];
        bool merges = y->n_heavy < x->n_heavy || takes_in(x, y);
        if (best != e && (merges || noe_enode_repeats(x) == 0))
            NOE_PUSH(*gains, *n, cap, g);
    }
    if (*n)
        qsort(*gains, *n, sizeof **gains, compare_gains);
}

static void emit_derived(pruner *p)
{
    const noe_universe *u = p->u;
    gain *gains = NULL;
    uint32_t n = 0, n_kept = 0;
    collect_gains(u, &gains, &n);
    for (uint32_t i = 0; i < n && n_kept < MAX_DERIVED; i++) {
        noe_pair pair;
        if (!noe_pair_make(u, gains[i].from, gains[i].to, &pair) ||
            noe_pair_use_of(&pair, NOE_HEAVY_COST - 1) == NOE_USE_NONE ||
            !noe_pair_holds(&pair, u->env->seed, RECHECK))
            continue;
        noe_pair_generalize(&pair, u->env->seed);
        pair.kind = NOE_PAIR_DERIVED;
        pair.use = noe_pair_use_of(&pair, NOE_HEAVY_COST - 1);
        push_pair(p, &pair);
        n_kept++;
    }
    free(gains);
    p->stats->n_derived += n_kept;
}

/* Two siblings that one heavy operator over joined operands computes at once. */
static void emit_siblings(pruner *p)
{
    const noe_universe *u = p->u;
    for (uint32_t i = 0; i < u->n_siblings; i++) {
        const noe_sibling *s = &u->siblings[i];
        const noe_enode *low = &u->enodes[s->low];
        const noe_gen_class *a = &u->classes[s->low_value];
        const noe_gen_class *b = &u->classes[s->high_value];
        if (!low->is_canonical || noe_enode_key(low) || a->n_constants ||
            b->n_constants || low->n_heavy >= a->n_heavy + b->n_heavy)
            continue;
        noe_pair pair;
        if (!noe_pair_make_sibling(u, s, &pair) ||
            !noe_pair_holds(&pair, u->env->seed, RECHECK))
            continue;
        pair.use = NOE_USE_HEAVY;
        push_pair(p, &pair);
        p->stats->n_siblings++;
    }
}

static pruner *new_pruner(const noe_universe *u, noe_prune_stats *stats)
{
    pruner *p = noe_calloc(1, sizeof *p);
    int n = u->env->n_threads;
    p->u = u;
    p->stats = stats;
    p->laws = noe_laws_new(u);
    p->rewrites = noe_rewrites_new();
    p->parent = noe_malloc(((size_t)u->n_enodes + 1) * sizeof *p->parent);
    p->n_workers = n < 1 ? 1 : n > NOE_MAX_THREADS ? NOE_MAX_THREADS : n;
    for (int i = 0; i < p->n_workers; i++) {
        p->worker[i].explainer = noe_explainer_new(p->laws, p->parent);
        p->worker[i].saturation = noe_saturation_new(u->env->seed);
    }
    return p;
}

static void free_pruner(pruner *p)
{
    for (int i = 0; i < p->n_workers; i++) {
        noe_explainer_free(p->worker[i].explainer);
        noe_saturation_free(p->worker[i].saturation);
    }
    noe_laws_free(p->laws);
    noe_rewrites_free(p->rewrites);
    free(p->id_of);
    free(p->parent);
    free(p);
}

noe_status noe_universe_prune(const noe_universe *u, noe_pair **pairs, int *n_pairs,
                              noe_prune_stats *stats, noe_error *err)
{
    double start = noe_cpu_seconds();
    noe_status status = NOE_OK;
    *stats = (noe_prune_stats){0};
    pruner *p = new_pruner(u, stats);
    for (int level = 1; level <= u->n_levels && status == NOE_OK; level++)
        status = explain_level(p, level, err);
    if (status == NOE_OK) {
        emit_derived(p);
        emit_siblings(p);
    }
    *pairs = p->pairs;
    *n_pairs = p->n_pairs;
    for (int i = 0; i < p->n_workers; i++)
        stats->n_cut += noe_explainer_n_cut(p->worker[i].explainer);
    free_pruner(p);
    stats->cpu_seconds = noe_cpu_seconds() - start;
    return status;
}
