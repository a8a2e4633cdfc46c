/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost.h"
#include <math.h>
#include <stdlib.h>

/* An unmeasured kernel counts as this fraction of its estimate when a graph is judged
 * not worth measuring: the roofline is within a factor of 4 for the kernels that
 * matter. */
#define OPTIMISM 0.25

/* Sums of the same kernels in another order differ by rounding only. */
#define SAME_SECONDS 1e-9

void noe_costs_init(noe_costs *c, noe_cost_model *model)
{
    *c = (noe_costs){.model = model, .size = 1024};
    c->table = noe_calloc(c->size, sizeof *c->table);
}

void noe_costs_clear(noe_costs *c)
{
    noe_kernels_clear(&c->kernels);
    free(c->table);
    free(c->of_kernel);
    free(c->base);
    *c = (noe_costs){0};
}

static noe_cost_entry *find_slot(const noe_costs *c, uint64_t key)
{
    uint32_t i = (uint32_t)key & (c->size - 1);
    while (c->table[i].key && c->table[i].key != key)
        i = (i + 1) & (c->size - 1);
    return &c->table[i];
}

static void grow(noe_costs *c)
{
    noe_cost_entry *old = c->table;
    uint32_t n = c->size;
    c->size *= 2;
    c->table = noe_calloc(c->size, sizeof *c->table);
    for (uint32_t i = 0; i < n; i++) {
        if (old[i].key)
            *find_slot(c, old[i].key) = old[i];
    }
    free(old);
}

/* The heavy one, else the last. */
static noe_op main_operator(const noe_costs *c, uint32_t kernel)
{
    const noe_kernels *k = &c->kernels;
    noe_op op = NOE_OP_COUNT;
    for (uint32_t m = k->first[kernel]; m < k->first[kernel + 1]; m++) {
        op = k->g->nodes[k->members[m]].op;
        if (noe_op_has(op, NOE_TRAIT_HEAVY))
            break;
    }
    return op;
}

static noe_cost_entry *entry_of(noe_costs *c, uint32_t kernel)
{
    uint64_t key = noe_kernel_key(&c->kernels, kernel) | 1;
    noe_cost_entry *e = find_slot(c, key);
    if (e->key)
        return e;
    double guess =
        c->model->estimate ? c->model->estimate(c->model, &c->kernels, kernel) : 0;
    *e = (noe_cost_entry){
        .key = key, .guess = guess, .seconds = -1, .op = main_operator(c, kernel)};
    c->n++;
    return e;
}

/* Room for the kernels of one graph up front: entries must not move while in use. */
static void reserve(noe_costs *c, uint32_t n_kernels)
{
    while ((c->n + n_kernels) * 2 > c->size)
        grow(c);
    if (c->cap_of_kernel < n_kernels) {
        c->cap_of_kernel = n_kernels * 2;
        c->of_kernel =
            noe_realloc(c->of_kernel, c->cap_of_kernel * sizeof *c->of_kernel);
    }
}

static double known_or_hoped(const noe_cost_entry *e)
{
    return e->seconds >= 0 ? e->seconds : e->guess * OPTIMISM;
}

/* Measures what is unknown, in order; *bound falls short of the truth by what is still
 * unknown, and measuring ends once it exceeds limit. */
static noe_status measure_unknown(noe_costs *c, double limit, double *bound,
                                  noe_error *err)
{
    for (uint32_t i = 0; i < c->kernels.n && *bound <= limit; i++) {
        noe_cost_entry *e = c->of_kernel[i];
        if (e->seconds >= 0)
            continue;
        double seconds;
        NOE_TRY(c->model->measure(c->model, &c->kernels, i, &seconds, err));
        NOE_ASSERT(seconds >= 0);
        c->n_measured++;
        *bound = 0;
        e->seconds = seconds;
        if (seconds > 0 && isfinite(seconds) && e->guess > 0) {
            c->calibration[e->op].sum += log(seconds / e->guess);
            c->calibration[e->op].n++;
        }
        for (uint32_t j = 0; j < c->kernels.n; j++)
            *bound += known_or_hoped(c->of_kernel[j]);
    }
    return NOE_OK;
}

/* What the graph at hand has more and less of than the base. */
static void compare_with_base(noe_costs *c, noe_cost *cost)
{
    for (uint32_t i = 0; i < c->kernels.n; i++)
        c->of_kernel[i]->n_here++;
    for (uint32_t i = 0; i < c->n_base; i++) {
        const noe_cost_entry *e = find_slot(c, c->base[i]);
        if (e->n_base > e->n_here)
            cost->went += (e->n_base - e->n_here) * e->seconds;
    }
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        noe_cost_entry *e = c->of_kernel[i];
        if (e->n_here > e->n_base)
            cost->came += (e->n_here - e->n_base) * known_or_hoped(e);
        e->n_here = 0; /* later ones of its kind add nothing more */
    }
    cost->n_fewer = (int32_t)c->base_operators - (int32_t)cost->n_operators;
}

static void find_entries(noe_costs *c, const noe_graph *g)
{
    noe_kernels_find(&c->kernels, g);
    reserve(c, c->kernels.n);
    for (uint32_t i = 0; i < c->kernels.n; i++)
        c->of_kernel[i] = entry_of(c, i);
    c->n_asked++;
}

static double known_or_guessed(const noe_costs *c, const noe_cost_entry *e)
{
    if (e->seconds >= 0)
        return e->seconds;
    uint32_t n = c->calibration[e->op].n;
    return n ? e->guess * exp(c->calibration[e->op].sum / n) : e->guess;
}

void noe_costs_guess(noe_costs *c, const noe_graph *g, noe_cost *cost)
{
    find_entries(c, g);
    *cost = (noe_cost){.n_operators = noe_count_operators(g, c->kernels.live),
                       .weight_bytes = noe_weight_bytes(g, c->kernels.live),
                       .exact = true};
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        cost->seconds += known_or_guessed(c, c->of_kernel[i]);
        cost->exact &= c->of_kernel[i]->seconds >= 0;
    }
}

static int by_seconds_down(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

noe_status noe_costs_dearest(noe_costs *c, const noe_graph *g, uint32_t n,
                             double *seconds, noe_error *err)
{
    noe_cost cost;
    *seconds = 0;
    NOE_TRY(noe_costs_graph(c, g, INFINITY, &cost, err));
    double *all = noe_malloc((c->kernels.n + 1) * sizeof *all);
    for (uint32_t i = 0; i < c->kernels.n; i++)
        all[i] = c->of_kernel[i]->seconds;
    qsort(all, c->kernels.n, sizeof *all, by_seconds_down);
    for (uint32_t i = 0; i < n && i < c->kernels.n; i++)
        *seconds += all[i];
    free(all);
    return NOE_OK;
}

noe_status noe_costs_graph(noe_costs *c, const noe_graph *g, double limit,
                           noe_cost *cost, noe_error *err)
{
    find_entries(c, g);
    double bound = 0;
    for (uint32_t i = 0; i < c->kernels.n; i++)
        bound += known_or_hoped(c->of_kernel[i]);
    if (bound <= limit)
        NOE_TRY(measure_unknown(c, limit, &bound, err));
    *cost = (noe_cost){.seconds = bound,
                       .n_operators = noe_count_operators(g, c->kernels.live),
                       .weight_bytes = noe_weight_bytes(g, c->kernels.live),
                       .exact = true};
    for (uint32_t i = 0; i < c->kernels.n; i++)
        cost->exact &= c->of_kernel[i]->seconds >= 0;
    compare_with_base(c, cost);
    return NOE_OK;
}

noe_status noe_costs_final(noe_costs *c, const noe_graph *g, bool interrupted,
                           noe_cost *cost, noe_error *err)
{
    if (!interrupted)
        return noe_costs_graph(c, g, INFINITY, cost, err);
    noe_costs_guess(c, g, cost);
    return NOE_OK;
}

static noe_status fail_on_missing(noe_costs *c, uint32_t i, noe_error *err)
{
    noe_buf b = {0};
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_kernel_graph(&c->kernels, i, pool, false);
    noe_graph_print(&b, g);
    noe_graph_free(g);
    noe_pool_free(pool);
    noe_status status = noe_fail(
        err, NOE_ERR_ARG, "no cost is recorded for this kernel of the model:\n%s",
        noe_buf_text(&b));
    noe_buf_clear(&b);
    return status;
}

noe_status noe_costs_accept(noe_costs *c, const noe_graph *g, noe_error *err)
{
    noe_cost cost;
    NOE_TRY(noe_costs_graph(c, g, INFINITY, &cost, err));
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        noe_cost_entry *e = c->of_kernel[i];
        if (!isinf(e->seconds))
            continue;
        if (c->model->is_closed)
            return fail_on_missing(c, i, err);
        e->seconds = e->guess;
    }
    return NOE_OK;
}

noe_status noe_costs_set_base(noe_costs *c, const noe_graph *g, noe_error *err)
{
    noe_cost cost;
    for (uint32_t i = 0; i < c->n_base; i++)
        find_slot(c, c->base[i])->n_base = 0;
    c->n_base = 0;
    NOE_TRY(noe_costs_graph(c, g, INFINITY, &cost, err));
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        noe_cost_entry *e = c->of_kernel[i];
        if (e->n_base++ == 0)
            NOE_PUSH(c->base, c->n_base, c->cap_base, e->key);
    }
    c->base_operators = cost.n_operators;
    return NOE_OK;
}

/* Adds sign for each kernel of g to its entry's n_here. */
static void count_kernels(noe_costs *c, const noe_graph *g, int32_t sign)
{
    noe_kernels_find(&c->kernels, g);
    reserve(c, c->kernels.n);
    for (uint32_t i = 0; i < c->kernels.n; i++)
        entry_of(c, i)->n_here += sign;
}

static void forget_counts(noe_costs *c, const noe_graph *g)
{
    noe_kernels_find(&c->kernels, g);
    for (uint32_t i = 0; i < c->kernels.n; i++)
        entry_of(c, i)->n_here = 0;
}

static noe_status confirm_counted(noe_costs *c, const noe_graph *g, bool *changed,
                                  noe_error *err)
{
    noe_kernels_find(&c->kernels, g);
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        noe_cost_entry *e = entry_of(c, i);
        double seconds;
        if (e->n_here == 0 || e->confirmed || e->seconds < 0)
            continue;
        NOE_TRY(c->model->confirm(c->model, &c->kernels, i, &seconds, err));
        e->confirmed = true;
        *changed = *changed || seconds < e->seconds;
        e->seconds = fmin(e->seconds, seconds);
    }
    return NOE_OK;
}

noe_status noe_costs_confirm(noe_costs *c, const noe_graph *a, const noe_graph *b,
                             bool *changed, noe_error *err)
{
    *changed = false;
    if (!c->model->confirm)
        return NOE_OK;
    count_kernels(c, a, 1);
    count_kernels(c, b, -1);
    noe_status status = confirm_counted(c, a, changed, err);
    if (status == NOE_OK)
        status = confirm_counted(c, b, changed, err);
    forget_counts(c, a);
    forget_counts(c, b);
    return status;
}

bool noe_cost_improves(const noe_cost *cost, double min_gain)
{
    if (!cost->exact)
        return false;
    double least = cost->n_fewer > 0 ? NOE_COST_NOISE : NOE_COST_NEUTRAL;
    if (cost->came < cost->went * (1 - fmax(least, min_gain)))
        return true;
    return cost->n_fewer > 0 && min_gain == 0 &&
           cost->came <= cost->went * (1 + NOE_COST_NOISE);
}

bool noe_cost_might_improve(const noe_cost *cost)
{
    return cost->exact && cost->n_fewer > 0 &&
           cost->came <= cost->went * (1 + NOE_COST_OUTLIER);
}

bool noe_cost_less(const noe_cost *a, const noe_cost *b)
{
    double margin = SAME_SECONDS * fmax(fabs(a->seconds), fabs(b->seconds));
    if (isinf(a->seconds) || isinf(b->seconds))
        return a->seconds < b->seconds;
    if (fabs(a->seconds - b->seconds) > margin)
        return a->seconds < b->seconds;
    if (a->n_operators != b->n_operators)
        return a->n_operators < b->n_operators;
    return a->weight_bytes < b->weight_bytes;
}
