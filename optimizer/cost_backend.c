/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_backend.h"
#include "core/base/hash.h"
#include "optimizer/cost_roofline.h"
#include <math.h>
#include <stdlib.h>

/* Operations a weight element up to which its loading from memory counts. */
#define COLD_REUSE 64

/* Weights are cold only where they are read once or a few times a run: a product with
 * many rows finds them in the cache again. */
static noe_executor_options options_for(const noe_backend_costs *c, noe_kernels *k,
                                        uint32_t i)
{
    noe_executor_options options = c->options;
    if (options.cold_weights)
        options.cold_weights = noe_roofline_reuse(k, i) < COLD_REUSE;
    return options;
}

static char *key_text(const noe_backend_costs *c, noe_kernels *k, uint32_t i)
{
    noe_buf b = {0};
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_kernel_graph(k, i, pool, false);
    noe_executor_options options = options_for(c, k, i);
    noe_buf_printf(&b, "%s; threads %d; %s weights\n", c->backend->description,
                   options.n_threads, options.cold_weights ? "cold" : "hot");
    noe_graph_print(&b, g);
    noe_graph_free(g);
    noe_pool_free(pool);
    return b.text;
}

static noe_status time_kernel(noe_backend_costs *c, noe_kernels *k, uint32_t i,
                              noe_measure *measure, noe_error *err)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_kernel_graph(k, i, pool, true);
    noe_executor *executor = NULL;
    noe_executor_options options = options_for(c, k, i);
    noe_status status =
        c->backend->vt->prepare(c->backend, g, &options, &executor, err);
    if (status == NOE_OK)
        status = c->backend->vt->time(executor, measure, err);
    if (executor)
        c->backend->vt->release(executor);
    noe_graph_free(g);
    noe_pool_free(pool);
    return status;
}

static noe_status keep(noe_backend_costs *c, const char *key, const noe_measure *m,
                       noe_error *err)
{
    noe_log(c->env, NOE_LOG_DEBUG, "%.3f us (next %.3f): %s", m->seconds * 1e6,
            m->second_best * 1e6, key);
    noe_cost_row row = {key, m->seconds, m->second_best, m->n_batches, m->clock};
    return c->db ? noe_ruledb_put_cost(c->db, &row, err) : NOE_OK;
}

/* Keeps a second opinion if it is smaller than what is kept. */
static noe_status keep_smaller(noe_backend_costs *c, const char *key,
                               const noe_measure *again, noe_error *err)
{
    bool found = false;
    noe_cost_row row;
    if (c->db)
        NOE_TRY(noe_ruledb_get_cost(c->db, key, &found, &row, err));
    return found && row.seconds <= again->seconds ? NOE_OK : keep(c, key, again, err);
}

/* A kernel that the device cannot run costs infinitely much; the reason is logged. */
static noe_status time_and_keep(noe_backend_costs *c, noe_kernels *k, uint32_t i,
                                const char *key, double *seconds, noe_error *err)
{
    noe_measure measure;
    noe_error fault;
    noe_status status = time_kernel(c, k, i, &measure, &fault);
    c->n_timed++;
    if (status == NOE_ERR_CANCELLED) {
        if (err)
            *err = fault;
        return status;
    }
    if (status != NOE_OK) {
        c->n_failed++;
        noe_log(c->env, NOE_LOG_WARN, "a kernel cannot be timed: %s\n%s", fault.text,
                key);
        *seconds = INFINITY;
        return NOE_OK;
    }
    *seconds = fmax(0, measure.seconds);
    uint64_t hash = noe_hash64(key, strlen(key), 0);
    NOE_PUSH(c->timed, c->n_timed_keys, c->cap_timed_keys, hash);
    return keep(c, key, &measure, err);
}

static noe_status measure_kernel(noe_cost_model *m, noe_kernels *k, uint32_t i,
                                 double *seconds, noe_error *err)
{
    noe_backend_costs *c = (noe_backend_costs *)m;
    char *key = key_text(c, k, i);
    bool found = false;
    noe_cost_row row;
    noe_status status = NOE_OK;
    if (c->db)
        status = noe_ruledb_get_cost(c->db, key, &found, &row, err);
    if (status == NOE_OK && found) {
        c->n_found++;
        *seconds = fmax(0, row.seconds);
    } else if (status == NOE_OK && c->frozen) {
        *seconds = INFINITY;
    } else if (status == NOE_OK) {
        status = time_and_keep(c, k, i, key, seconds, err);
    }
    noe_progress(c->env, "measuring kernels: %llu timed, %llu known",
                 (unsigned long long)c->n_timed, (unsigned long long)c->n_found);
    free(key);
    return status;
}

/* Was the key timed by this run, and not taken from the database? Once only. */
static bool take_timed(noe_backend_costs *c, const char *key)
{
    uint64_t hash = noe_hash64(key, strlen(key), 0);
    for (size_t i = 0; i < c->n_timed_keys; i++) {
        if (c->timed[i] == hash) {
            c->timed[i] = c->timed[--c->n_timed_keys];
            return true;
        }
    }
    return false;
}

/* Times of earlier runs stand: with the same database the same decisions are made. */
static noe_status confirm_kernel(noe_cost_model *m, noe_kernels *k, uint32_t i,
                                 double *seconds, noe_error *err)
{
    noe_backend_costs *c = (noe_backend_costs *)m;
    char *key = key_text(c, k, i);
    noe_measure again;
    noe_status status = NOE_OK;
    *seconds = INFINITY; /* no other opinion */
    if (take_timed(c, key)) {
        status = time_kernel(c, k, i, &again, err);
        if (status == NOE_OK) {
            *seconds = fmax(0, again.seconds);
            status = keep_smaller(c, key, &again, err);
        }
    }
    free(key);
    return status;
}

void noe_backend_costs_clear(noe_backend_costs *c)
{
    free(c->timed);
    c->timed = NULL;
}

void noe_backend_costs_init(noe_backend_costs *c, noe_backend *backend, noe_ruledb *db,
                            const noe_env *env, bool cold_weights)
{
    *c = (noe_backend_costs){.model = {.measure = measure_kernel,
                                       .estimate = noe_roofline_seconds,
                                       .confirm = confirm_kernel},
                             .backend = backend,
                             .db = db,
                             .env = env,
                             .options = {.free_layout = true,
                                         .cold_weights = cold_weights,
                                         .n_threads = env->n_threads}};
}
