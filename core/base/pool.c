/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct pool {
    noe_item_fn *fn;
    void *ctx;
    uint32_t n_items;
    atomic_uint next;
} pool;

typedef struct worker {
    pool *pool;
    int number;
    pthread_t thread;
} worker;

static void *work(void *arg)
{
    const worker *w = arg;
    pool *p = w->pool;
    for (;;) {
        uint32_t item = atomic_fetch_add(&p->next, 1);
        if (item >= p->n_items)
            return NULL;
        p->fn(p->ctx, w->number, item);
    }
}

void noe_parallel_for(int n_threads, uint32_t n_items, noe_item_fn *fn, void *ctx)
{
    pool p = {.fn = fn, .ctx = ctx, .n_items = n_items};
    worker w[NOE_MAX_THREADS];
    int n = n_threads > NOE_MAX_THREADS ? NOE_MAX_THREADS : n_threads, made = 1;
    if (n > 1 && (uint32_t)n > n_items)
        n = (int)n_items;
    for (int i = 0; i < NOE_MAX_THREADS; i++)
        w[i] = (worker){.pool = &p, .number = i};
    while (made < n && pthread_create(&w[made].thread, NULL, work, &w[made]) == 0)
        made++;
    work(&w[0]);
    for (int i = 1; i < made; i++)
        pthread_join(w[i].thread, NULL);
}

int noe_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > NOE_MAX_THREADS ? NOE_MAX_THREADS : n;
}
