/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_backend.h"
#include "core/base/hash.h"
#include <math.h>
#include <stdlib.h>

/* Roofline of one core: what a vectorised kernel reaches. Only orders of magnitude
 * matter (cost.c). */
#define FLOPS_A_SECOND 100e9
#define BYTES_A_SECOND 20e9
#define CALL_SECONDS   0.5e-6

static double elements(const noe_graph *g, noe_ref r)
{
    return (double)noe_shape_elements(&noe_graph_type(g, r)->shape);
}

/* Multiply-adds for one output element. Products: the contracted length, which is that
 * of the left operand's rows (matmul) or of one filter (conv); windows and reductions:
 * a kernel_shape, or as many inputs as there are to an output. */
static double work_per_output(const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    const noe_ref *in = noe_graph_inputs(g, node);
    if (!noe_op_has(n->op, NOE_TRAIT_HEAVY))
        return 1;
    if (n->n_inputs >= 2) {
        const noe_shape *a = &noe_graph_type(g, in[0])->shape;
        const noe_shape *b = &noe_graph_type(g, in[1])->shape;
        bool filters = noe_op_has(n->op, NOE_TRAIT_HEAVY) && n->params && b->rank > 2;
        return filters ? elements(g, in[1]) / fmax(1, (double)b->dim[0])
                       : (double)a->dim[a->rank - 1];
    }
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        double product = 1;
        if (info->params[i] != NOE_PARAM_KERNEL_SHAPE)
            continue;
        for (int k = 0; k < n->params->v[i].n; k++)
            product *= (double)n->params->v[i].list[k];
        return product;
    }
    return fmax(1, elements(g, in[0]) / fmax(1, elements(g, (noe_ref){node, 0})));
}

static double estimate_kernel(const noe_cost_model *m, noe_kernels *k, uint32_t i)
{
    (void)m;
    const noe_graph *g = k->g;
    double flops = 0, bytes = 0;
    noe_kernel_key(k, i); /* collects the outer values */
    for (uint32_t o = 0; o < k->n_outer; o++)
        bytes += elements(g, k->outer[o]) * sizeof(float);
    for (uint32_t j = k->first[i]; j < k->first[i + 1]; j++) {
        uint32_t node = k->members[j];
        flops += 2 * elements(g, (noe_ref){node, 0}) * work_per_output(g, node);
    }
    bytes += elements(g, (noe_ref){k->members[k->first[i + 1] - 1], 0}) * sizeof(float);
    return fmax(flops / FLOPS_A_SECOND, bytes / BYTES_A_SECOND) + CALL_SECONDS;
}

static char *key_text(const noe_backend_costs *c, noe_kernels *k, uint32_t i)
{
    noe_buf b = {0};
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_kernel_graph(k, i, pool, false);
    noe_buf_printf(&b, "%s; threads %d; %s weights\n", c->backend->description,
                   c->options.n_threads, c->options.cold_weights ? "cold" : "hot");
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
    noe_status status =
        c->backend->vt->prepare(c->backend, g, &c->options, &executor, err);
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
                                       .estimate = estimate_kernel,
                                       .confirm = confirm_kernel},
                             .backend = backend,
                             .db = db,
                             .env = env,
                             .options = {.free_layout = true,
                                         .cold_weights = cold_weights,
                                         .n_threads = env->n_threads}};
}
