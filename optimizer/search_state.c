/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/search_state.h"
#include <math.h>
#include <stdlib.h>

/* Queued states are small (the graph is made on expansion); with a budget of a thousand
 * expansions no state beyond this rank is ever reached. */
#define MAX_HEAP 65536

void noe_frontier_init(noe_frontier *f)
{
    *f = (noe_frontier){.seen_size = 1024};
    f->seen = noe_calloc(f->seen_size, sizeof *f->seen);
}

void noe_frontier_clear(noe_frontier *f)
{
    for (uint32_t i = 0; i < f->n_states; i++) {
        free(f->states[i].swept);
        free(f->states[i].fresh);
        noe_graph_free(f->states[i].graph);
    }
    free(f->states);
    free(f->free_slots);
    free(f->heap);
    free(f->seen);
    *f = (noe_frontier){0};
}

static bool insert_hash(uint64_t *table, uint32_t size, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (size - 1);
    while (table[i] && table[i] != hash)
        i = (i + 1) & (size - 1);
    bool is_new = table[i] == 0;
    table[i] = hash;
    return is_new;
}

bool noe_frontier_see(noe_frontier *f, uint64_t hash)
{
    hash |= 1; /* 0 marks a free slot */
    if ((f->n_seen + 1) * 2 > f->seen_size) {
        uint64_t *old = f->seen;
        uint32_t n = f->seen_size;
        f->seen_size *= 2;
        f->seen = noe_calloc(f->seen_size, sizeof *f->seen);
        for (uint32_t i = 0; i < n; i++) {
            if (old[i])
                insert_hash(f->seen, f->seen_size, old[i]);
        }
        free(old);
    }
    bool is_new = insert_hash(f->seen, f->seen_size, hash);
    f->n_seen += is_new;
    return is_new;
}

uint32_t noe_frontier_add(noe_frontier *f, const noe_state *state)
{
    uint32_t i;
    if (f->n_free > 0) {
        i = f->free_slots[--f->n_free];
        f->states[i] = *state;
    } else {
        NOE_PUSH(f->states, f->n_states, f->cap_states, *state);
        i = f->n_states - 1;
    }
    f->states[i].number = f->n_made++;
    return i;
}

/* Exact order, without the tolerance of noe_cost_less, which is not transitive. */
static int compare(const noe_state *a, const noe_state *b)
{
    if (a->cost.seconds != b->cost.seconds)
        return a->cost.seconds < b->cost.seconds ? -1 : 1;
    if (a->cost.n_operators != b->cost.n_operators)
        return a->cost.n_operators < b->cost.n_operators ? -1 : 1;
    if (a->cost.weight_bytes != b->cost.weight_bytes)
        return a->cost.weight_bytes < b->cost.weight_bytes ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool is_before(const noe_frontier *f, uint32_t a, uint32_t b)
{
    return compare(&f->states[f->heap[a]], &f->states[f->heap[b]]) < 0;
}

static void swap(noe_frontier *f, uint32_t a, uint32_t b)
{
    uint32_t t = f->heap[a];
    f->heap[a] = f->heap[b];
    f->heap[b] = t;
}

static void sift_up(noe_frontier *f, uint32_t i)
{
    for (; i > 0 && is_before(f, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(f, i, (i - 1) / 2);
}

static void sift_down(noe_frontier *f, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t kid = 2 * i + 1; kid <= 2 * i + 2 && kid < f->n_heap; kid++) {
            if (is_before(f, kid, least))
                least = kid;
        }
        if (least == i)
            return;
        swap(f, i, least);
        i = least;
    }
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    const noe_frontier *f = ctx;
    return compare(&f->states[*(const uint32_t *)a], &f->states[*(const uint32_t *)b]);
}

static void free_state(noe_frontier *f, uint32_t i)
{
    noe_state *s = &f->states[i];
    free(s->swept);
    free(s->fresh);
    noe_graph_free(s->graph);
    *s = (noe_state){.parent = NOE_STATE_NONE, .start = NOE_STATE_NONE};
    NOE_PUSH(f->free_slots, f->n_free, f->cap_free, i);
}

/* A sorted array is a heap. Nothing refers to states that were not expanded: their
 * places are free again. */
static void forget_half(noe_frontier *f)
{
    qsort_r(f->heap, f->n_heap, sizeof *f->heap, by_rank, f);
    for (uint32_t i = f->n_heap / 2; i < f->n_heap; i++) {
        if (!f->states[f->heap[i]].is_taken)
            free_state(f, f->heap[i]);
    }
    f->n_heap /= 2;
    f->has_forgotten = true;
}

void noe_frontier_push(noe_frontier *f, uint32_t state)
{
    if (f->n_heap >= MAX_HEAP)
        forget_half(f);
    NOE_PUSH(f->heap, f->n_heap, f->cap_heap, state);
    sift_up(f, f->n_heap - 1);
}

static uint32_t pop_any(noe_frontier *f)
{
    uint32_t top = f->heap[0];
    f->heap[0] = f->heap[--f->n_heap];
    sift_down(f, 0);
    return top;
}

uint32_t noe_frontier_pop(noe_frontier *f)
{
    while (f->n_heap > 0) {
        uint32_t top = pop_any(f);
        if (!f->states[top].is_taken)
            return top;
    }
    return NOE_STATE_NONE;
}

double noe_frontier_least(noe_frontier *f)
{
    while (f->n_heap > 0 && f->states[f->heap[0]].is_taken)
        pop_any(f);
    return f->n_heap > 0 ? f->states[f->heap[0]].cost.seconds : INFINITY;
}

static int64_t spent_on(const noe_frontier *f, uint32_t state)
{
    uint32_t start = f->states[state].start;
    return f->states[start == NOE_STATE_NONE ? state : start].n_spent;
}

uint32_t noe_frontier_take_fair(noe_frontier *f)
{
    uint32_t best = NOE_STATE_NONE;
    for (uint32_t i = 0; i < f->n_heap; i++) {
        uint32_t here = f->heap[i];
        if (f->states[here].is_taken)
            continue;
        int64_t spent = spent_on(f, here);
        int64_t least = best == NOE_STATE_NONE ? INT64_MAX : spent_on(f, best);
        if (spent < least ||
            (spent == least && compare(&f->states[here], &f->states[best]) < 0))
            best = here;
    }
    if (best != NOE_STATE_NONE)
        f->states[best].is_taken = true;
    return best;
}
