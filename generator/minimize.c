/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs are tried ROUND at a time, by as many threads as there are, each against all
 * others that are left. In a round a derivation counts only if nothing that it uses was
 * taken out in the same round; such pairs are tried again in the next one. So two pairs
 * that derive each other do not both go, and the result does not depend on threads.
 */
#include "generator/minimize.h"

#include "core/base/pool.h"
#include "generator/saturate.h"
#include <stdlib.h>

#define ROUND 32

static const noe_proof_limits thorough = {
    .n_terms = 1000, .n_extra = 3, .n_rounds = 7, .exclude = -1};

typedef struct minimizer {
    noe_pair *pairs;
    int n_pairs;
    noe_rewrites *rewrites;
    int *number; /* of each pair in rewrites, or -1 */
    int *pair;   /* of each number */
    bool *is_out;
    int *order; /* pairs taken out, first to last */
    int n_order;
    noe_saturation *saturation[NOE_MAX_THREADS];
    int n_workers;
    const int *tasks;
    bool *is_proved;
    const noe_env *env;
    noe_minimize_stats *stats;
} minimizer;

/* Steps name pairs by id from now on. */
static void name_pairs(const minimizer *m, noe_pair_proof *d)
{
    for (int i = 0; i < d->n; i++) {
        if (d->steps[i].rule != NOE_STEP_SWAP)
            d->steps[i].rule = m->pair[d->steps[i].rule];
    }
}

static void try_pair(void *ctx, int worker, uint32_t task)
{
    minimizer *m = ctx;
    noe_pair *pair = &m->pairs[m->tasks[task]];
    noe_proof_limits limits = thorough;
    limits.exclude = m->number[pair->id]; /* -1 for other kinds */
    noe_pair_proof_clear(&pair->why);
    m->is_proved[task] = noe_saturation_derives(m->saturation[worker], m->rewrites,
                                                pair, &limits, &pair->why);
    if (m->is_proved[task])
        name_pairs(m, &pair->why);
    else
        noe_pair_proof_clear(&pair->why);
}

static bool uses_what_is_out(const minimizer *m, const noe_pair_proof *d)
{
    for (int i = 0; i < d->n; i++) {
        if (d->steps[i].rule != NOE_STEP_SWAP && m->is_out[d->steps[i].rule])
            return true;
    }
    return false;
}

static void take_out(minimizer *m, noe_pair *pair)
{
    m->is_out[pair->id] = true;
    m->order[m->n_order++] = pair->id;
    noe_rewrites_enable(m->rewrites, m->number[pair->id], false);
    pair->kind = NOE_PAIR_DERIVED;
    pair->use = noe_pair_use_of(pair, 1);
    pair->is_deferred = pair->use == NOE_USE_NONE;
    m->stats->n_proved++;
    m->stats->n_useful += !pair->is_deferred;
}

/* One round over tasks[0..n); what is to be tried again is moved to their front. */
static int run_round(minimizer *m, int *tasks, int n)
{
    int n_again = 0;
    m->tasks = tasks;
    noe_parallel_for(m->n_workers, (uint32_t)n, try_pair, m);
    for (int i = 0; i < n; i++) {
        noe_pair *pair = &m->pairs[tasks[i]];
        if (m->is_proved[i] && uses_what_is_out(m, &pair->why)) {
            tasks[n_again++] = tasks[i];
            continue;
        }
        m->stats->n_tried++;
        if (m->is_proved[i])
            take_out(m, pair);
    }
    return n_again;
}

typedef struct ordered {
    int id;
    uint32_t key;
} ordered;

/* The least general first: many constants, variables that occur again, large. */
static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return y->id - x->id;
}

static uint32_t key_of(const noe_pair *pair)
{
    uint32_t vars[2], n_constants[2], n_uses[2];
    noe_pair_variables(pair, vars);
    noe_pair_count_leaves(pair, n_constants, n_uses);
    uint32_t n_vars =
        (uint32_t)__builtin_popcount(vars[0]) + (uint32_t)__builtin_popcount(vars[1]);
    return ((n_constants[0] + n_constants[1]) * 8 + n_uses[0] + n_uses[1] - n_vars) *
               8 +
           (uint32_t)pair->level;
}

static noe_status eliminate(minimizer *m, noe_error *err)
{
    ordered *order = noe_malloc(((size_t)m->n_pairs + 1) * sizeof *order);
    int tasks[ROUND], n = 0, n_tasks = 0;
    noe_status status = NOE_OK;
    for (int i = 0; i < m->n_pairs; i++) {
        if (m->number[i] >= 0)
            order[n++] = (ordered){i, key_of(&m->pairs[i])};
    }
    qsort(order, (size_t)n, sizeof *order, compare_ordered);
    for (int i = 0; (i < n || n_tasks > 0) && status == NOE_OK;) {
        while (i < n && n_tasks < ROUND)
            tasks[n_tasks++] = order[i++].id;
        n_tasks = run_round(m, tasks, n_tasks);
        noe_progress(m->env, "minimizing %d of %d, %llu proved", i, n,
                     (unsigned long long)m->stats->n_proved);
        if (noe_cancelled(m->env))
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted while minimizing");
    }
    free(order);
    return status;
}

/* Derivations of the pairs that were never up for elimination. */
static void derive_others(minimizer *m)
{
    int *tasks = noe_malloc(((size_t)m->n_pairs + 1) * sizeof *tasks);
    int n = 0;
    for (int i = 0; i < m->n_pairs; i++) {
        if (m->number[i] < 0 && !m->pairs[i].is_deferred)
            tasks[n++] = i;
    }
    m->tasks = tasks;
    noe_parallel_for(m->n_workers, (uint32_t)n, try_pair, m);
    for (int i = 0; i < n; i++)
        m->stats->n_underived += !m->is_proved[i];
    free(tasks);
}

/* Moves deferred pairs to the end, the last one taken out first: a derivation uses only
 * what was still there. */
static void sort_pairs(const minimizer *m)
{
    noe_pair *deferred = noe_malloc(((size_t)m->n_order + 1) * sizeof *deferred);
    int n = 0, n_kept = 0;
    for (int i = m->n_order - 1; i >= 0; i--) {
        if (m->pairs[m->order[i]].is_deferred)
            deferred[n++] = m->pairs[m->order[i]];
    }
    for (int i = 0; i < m->n_pairs; i++) {
        if (m->pairs[i].is_deferred)
            continue;
        if (n_kept != i)
            m->pairs[n_kept] = m->pairs[i];
        n_kept++;
    }
    if (n)
        memcpy(&m->pairs[n_kept], deferred, (size_t)n * sizeof *deferred);
    free(deferred);
}

static void load(minimizer *m)
{
    for (int i = 0; i < m->n_pairs; i++) {
        NOE_ASSERT(m->pairs[i].id == i);
        m->number[i] = -1;
        if (m->pairs[i].is_deferred)
            m->order[m->n_order++] = i; /* taken out when it was found */
        if (m->pairs[i].kind != NOE_PAIR_AXIOM)
            continue;
        m->number[i] = noe_rewrites_add(m->rewrites, &m->pairs[i]);
        m->pair[m->number[i]] = i;
    }
}

noe_status noe_pairs_minimize(noe_pair *pairs, int n_pairs, const noe_env *env,
                              noe_minimize_stats *stats, noe_error *err)
{
    double start = noe_cpu_seconds();
    size_t n = (size_t)n_pairs + 1;
    minimizer m = {.pairs = pairs,
                   .n_pairs = n_pairs,
                   .rewrites = noe_rewrites_new(),
                   .number = noe_calloc(n, sizeof(int)),
                   .pair = noe_calloc(n, sizeof(int)),
                   .is_out = noe_calloc(n, sizeof(bool)),
                   .order = noe_calloc(n, sizeof(int)),
                   .is_proved = noe_calloc(n + ROUND, sizeof(bool)),
                   .env = env,
                   .stats = stats};
    *stats = (noe_minimize_stats){0};
    m.n_workers = env->n_threads > NOE_MAX_THREADS ? NOE_MAX_THREADS
                  : env->n_threads > 1             ? env->n_threads
                                                   : 1;
    for (int i = 0; i < m.n_workers; i++)
        m.saturation[i] = noe_saturation_new(env->seed);
    load(&m);
    noe_status status = eliminate(&m, err);
    if (status == NOE_OK) {
        derive_others(&m);
        sort_pairs(&m);
    }
    for (int i = 0; i < m.n_workers; i++)
        noe_saturation_free(m.saturation[i]);
    noe_rewrites_free(m.rewrites);
    free(m.number);
    free(m.pair);
    free(m.is_out);
    free(m.order);
    free(m.is_proved);
    stats->cpu_seconds = noe_cpu_seconds() - start;
    return status;
}
