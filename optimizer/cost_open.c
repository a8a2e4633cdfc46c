/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_open.h"
#include <math.h>

/* A kernel at the assumed sizes: a graph of one kernel, or of several where the device
 * joins less there. */
typedef struct resized {
    noe_pool *pools[2];
    noe_graph *graphs[2];
    noe_kernels kernels;
} resized;

static noe_status resize(const noe_open_costs *c, noe_kernels *k, uint32_t i,
                         resized *r, noe_error *err)
{
    *r = (resized){.pools = {noe_pool_new(), noe_pool_new()}};
    r->graphs[0] = noe_kernel_graph(k, i, r->pools[0], false);
    NOE_TRY(noe_open_graph_at(c->open, NOE_OPEN_ASSUMED, r->graphs[0], r->pools[1],
                              &r->graphs[1], err));
    noe_kernels_find(&r->kernels, r->graphs[1]);
    return NOE_OK;
}

static void clear(resized *r)
{
    noe_kernels_clear(&r->kernels);
    for (int i = 0; i < 2; i++) {
        noe_graph_free(r->graphs[i]);
        noe_pool_free(r->pools[i]);
    }
}

typedef noe_status ask_fn(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err);

static noe_status ask(const noe_open_costs *c, ask_fn *fn, noe_kernels *k, uint32_t i,
                      double *seconds, noe_error *err)
{
    resized r;
    noe_status status = resize(c, k, i, &r, err);
    *seconds = 0;
    for (uint32_t j = 0; j < r.kernels.n && status == NOE_OK; j++) {
        double part;
        status = fn(c->inner, &r.kernels, j, &part, err);
        *seconds += part;
    }
    clear(&r);
    return status;
}

static noe_status measure(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err)
{
    const noe_open_costs *c = (const noe_open_costs *)m;
    return ask(c, c->inner->measure, k, i, seconds, err);
}

static noe_status confirm(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err)
{
    const noe_open_costs *c = (const noe_open_costs *)m;
    return ask(c, c->inner->confirm, k, i, seconds, err);
}

static double estimate(const noe_cost_model *m, noe_kernels *k, uint32_t i)
{
    const noe_open_costs *c = (const noe_open_costs *)m;
    resized r;
    double sum = 0;
    if (resize(c, k, i, &r, NULL) != NOE_OK)
        sum = INFINITY;
    for (uint32_t j = 0; j < r.kernels.n; j++)
        sum += c->inner->estimate(c->inner, &r.kernels, j);
    clear(&r);
    return sum;
}

void noe_open_costs_init(noe_open_costs *c, noe_cost_model *inner,
                         const noe_open_sizes *open)
{
    *c = (noe_open_costs){.model = {.measure = measure,
                                    .estimate = inner->estimate ? estimate : NULL,
                                    .confirm = inner->confirm ? confirm : NULL,
                                    .is_closed = inner->is_closed},
                          .inner = inner,
                          .open = open};
}
