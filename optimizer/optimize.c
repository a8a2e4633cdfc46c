/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/optimize.h"
#include "core/base/hash.h"
#include "core/open.h"
#include "optimizer/memory.h"
#include "optimizer/partition.h"
#include <math.h>
#include <stdlib.h>

#define MIN_GROWTH      (UINT64_C(1) << 20)
#define GROWTH_PER_CENT 10

uint64_t noe_default_growth(const noe_graph *g)
{
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    noe_graph_mark_live(g, live);
    uint64_t share = noe_weight_bytes(g, live) / 100 * GROWTH_PER_CENT;
    free(live);
    return share > MIN_GROWTH ? share : MIN_GROWTH;
}

/* Of a graph over open sizes, at the assumed ones. */
static noe_status peak_memory(const noe_graph *g, uint64_t *bytes, noe_error *err)
{
    const noe_open_sizes *open = noe_pool_open(g->pool);
    *bytes = 0;
    if (!open) {
        *bytes = noe_peak_memory(g);
        return NOE_OK;
    }
    noe_graph *sized;
    noe_pool *pool = noe_pool_new();
    noe_status status = noe_open_graph_at(open, NOE_OPEN_ASSUMED, g, pool, &sized, err);
    if (status == NOE_OK) {
        *bytes = noe_peak_memory(sized);
        noe_graph_free(sized);
    }
    noe_pool_free(pool);
    return status;
}

/* Definitions out, rules, definitions in again. *folded is NULL if no rule gained.
 * Prices are of the expanded forms on both sides, so that a kernel that both have costs
 * the same in both; again after the search, since second opinions may have changed
 * prices. */
static noe_status find_better(const noe_env *env, const noe_graph *g,
                              const noe_rule_set *rules, noe_costs *costs,
                              const noe_optimize_options *options,
                              noe_optimize_result *r, noe_graph **folded,
                              noe_error *err)
{
    noe_graph *core;
    *folded = NULL;
    NOE_TRY(noe_graph_expand(g, &core, err));
    noe_status status =
        noe_search_parts(env, core, rules, costs, &options->search, &r->search, err);
    if (status == NOE_OK)
        status = noe_costs_final(costs, core, r->search.interrupted, &r->before, err);
    if (status == NOE_OK)
        status = peak_memory(core, &r->memory_before, err);
    r->memory_after = r->memory_before;
    noe_graph_free(core);
    r->after = r->before;
    if (status != NOE_OK || r->search.n_path == 0)
        return status;
    NOE_TRY(peak_memory(r->search.graph, &r->memory_after, err));
    NOE_TRY(
        noe_costs_final(costs, r->search.graph, r->search.interrupted, &r->after, err));
    return noe_graph_fold(r->search.graph, options->origin_op, options->origin_ctx,
                          folded, err);
}

/* Integer nodes of the algebra are compared as nodes, not by value: in a form that
 * folding cannot change. */
static bool has_other_types(const noe_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op < NOE_OP_COUNT &&
            !noe_dtype_is_floating(g->nodes[i].types[0].dtype))
            return true;
    }
    return false;
}

noe_status noe_optimize_cut(const noe_graph *g, const noe_graph *folded, noe_cut *cut,
                            noe_error *err)
{
    noe_graph *a, *b;
    if (!has_other_types(g))
        return noe_cut_pair(g, folded, cut, err);
    NOE_TRY(noe_graph_expand(g, &a, err));
    noe_status status = noe_graph_expand(folded, &b, err);
    if (status == NOE_OK) {
        status = noe_cut_pair(a, b, cut, err);
        noe_graph_free(b);
    }
    noe_graph_free(a);
    return status;
}

/* The cut of g and of `written`, which is result as it is read back. Where the two
 * cannot be laid side by side node by node, the result itself is taken and a warning
 * says so. */
static noe_status cut_written(const noe_env *env, const noe_graph *g,
                              const noe_graph *result, const noe_graph *written,
                              noe_cut *cut, noe_error *err)
{
    noe_error why;
    noe_status status = noe_optimize_cut(g, written, cut, &why);
    if (status == NOE_OK || written == result) {
        if (status != NOE_OK && err)
            *err = why;
        return status;
    }
    noe_log(env, NOE_LOG_WARN,
            "the result is checked before writing, not read back: %s", why.text);
    return noe_optimize_cut(g, result, cut, err);
}

/* seen (may be NULL): what is to be timed. */
static noe_status check(const noe_env *env, const noe_graph *g, const noe_graph *result,
                        noe_backend *backend, const noe_optimize_options *options,
                        noe_optimize_result *r, const noe_graph **seen, noe_error *err)
{
    const noe_graph *written = result;
    noe_cut cut;
    double start = noe_wall_seconds();
    if (options->check.n_inputs <= 0 && !options->original)
        return NOE_OK;
    if (options->reread)
        NOE_TRY(options->reread(options->reread_ctx, result, &written, err));
    if (options->original && seen)
        *seen = written;
    if (options->check.n_inputs <= 0)
        return NOE_OK;
    if (!options->original)
        NOE_TRY(cut_written(env, g, result, written, &cut, err));
    else if (noe_optimize_cut(options->original, written, &cut, err) != NOE_OK)
        return NOE_ERR_UNSUPPORTED; /* what cannot be compared is not shipped */
    noe_status status =
        noe_check_run(backend, &cut, options->seed, &options->check, &r->check, err);
    noe_cut_clear(&cut);
    r->check_seconds += noe_wall_seconds() - start;
    return status;
}

static uint64_t text_hash(const noe_graph *g)
{
    noe_buf b = {0};
    noe_graph_print(&b, g);
    uint64_t hash = noe_hash64(noe_buf_text(&b), b.len, 0);
    noe_buf_clear(&b);
    return hash;
}

static noe_status time_cut(const noe_graph *g, const noe_graph *folded,
                           noe_backend *backend, noe_referee *referee, noe_trial *trial,
                           noe_error *err)
{
    noe_cut cut;
    NOE_TRY(noe_optimize_cut(g, folded, &cut, err));
    char *text = NULL;
    bool found = false;
    noe_status status = NOE_OK;
    if (referee && cut.n_outputs > 0) {
        text = noe_referee_trial_text(referee, text_hash(cut.original),
                                      text_hash(cut.result));
        status = noe_trial_recall(trial, referee, text, &found, err);
    }
    if (status == NOE_OK && !found && !(referee && referee->frozen)) {
        status = noe_trial_run(backend, &cut, trial, err);
        if (status == NOE_OK && text && trial->done)
            status = noe_referee_keep(referee, text, &trial->pair, err);
    }
    free(text);
    noe_cut_clear(&cut);
    return status;
}

static noe_status check_on_device(const noe_graph *g, const noe_graph *folded,
                                  noe_backend *backend,
                                  const noe_optimize_options *options,
                                  noe_optimize_result *r, noe_error *err)
{
    noe_cut cut;
    NOE_TRY(noe_optimize_cut(g, folded, &cut, err));
    noe_status status =
        noe_check_device(backend, options->device, &cut, options->seed,
                         options->device_tolerance, &r->device_check, err);
    noe_cut_clear(&cut);
    if (status == NOE_ERR_MISMATCH)
        noe_error_prefix(err, "on %s, ", options->device->description);
    return status;
}

/* What fails on the device for want of memory, an engine or the device itself is no
 * reason to end in an error: the input is kept. */
static noe_status try_on_device(const noe_env *env, const noe_graph *g,
                                const noe_graph *folded, noe_backend *backend,
                                const noe_optimize_options *options,
                                noe_optimize_result *r, noe_error *err)
{
    noe_error why;
    noe_status status = NOE_OK;
    if (options->check.n_inputs > 0)
        status = check_on_device(g, folded, backend, options, r, &why);
    if (status == NOE_OK)
        status = time_cut(g, folded, options->device, options->search.referee,
                          &r->trial, &why);
    if (status == NOE_ERR_BACKEND || status == NOE_ERR_LIMIT ||
        status == NOE_ERR_UNSUPPORTED) {
        noe_log(env, NOE_LOG_WARN, "the whole models cannot be timed: %s", why.text);
        r->trial.failed = true;
        return NOE_OK;
    }
    if (status != NOE_OK && err)
        *err = why;
    return status;
}

static noe_status time_whole(const noe_env *env, const noe_graph *g,
                             const noe_graph *folded, noe_backend *backend,
                             const noe_optimize_options *options,
                             noe_optimize_result *r, noe_error *err)
{
    double start = noe_wall_seconds();
    noe_referee *referee = options->search.referee;
    r->trial = (noe_trial){.expected = r->before.seconds, .difference = -1};
    noe_status status = NOE_OK;
    if (options->trial)
        status = options->trial(options->trial_ctx, g, folded, &r->trial, err);
    else if (options->device)
        status = try_on_device(env, g, folded, backend, options, r, err);
    else
        status = time_cut(g, folded, backend, referee, &r->trial, err);
    r->trial_seconds = noe_wall_seconds() - start;
    return status;
}

static noe_status decide(const noe_env *env, const noe_graph *g, noe_graph *folded,
                         noe_backend *backend, const noe_optimize_options *options,
                         noe_optimize_result *r, noe_error *err)
{
    if (!options->search.script && !noe_cost_less(&r->after, &r->before))
        return NOE_OK;
    const noe_graph *before = options->original ? options->original : g;
    const noe_graph *after = folded;
    if (backend) {
        noe_status status = check(env, g, folded, backend, options, r, &after, err);
        if (status == NOE_ERR_UNSUPPORTED && options->original) {
            noe_log(env, NOE_LOG_WARN, "the result is not kept: %s",
                    err ? err->text : "");
            return NOE_OK;
        }
        NOE_TRY(status);
    }
    if (backend && options->time_whole && options->trial)
        NOE_TRY(time_whole(env, g, folded, backend, options, r, err));
    else if (backend && options->time_whole)
        NOE_TRY(time_whole(env, before, after, backend, options, r, err));
    r->decision = r->trial.failed || (r->trial.done && !r->trial.faster)
                      ? NOE_DECISION_NO_SPEED
                      : NOE_DECISION_BETTER;
    return NOE_OK;
}

noe_status noe_optimize(const noe_env *env, const noe_graph *g,
                        const noe_rule_set *rules, noe_costs *costs,
                        noe_backend *backend, const noe_optimize_options *options,
                        noe_optimize_result *r, noe_error *err)
{
    noe_graph *folded;
    double start = noe_wall_seconds();
    *r = (noe_optimize_result){.graph = g, .decision = NOE_DECISION_NO_GAIN};
    noe_status status = find_better(env, g, rules, costs, options, r, &folded, err);
    r->search_seconds = noe_wall_seconds() - start;
    /* The first interruption asks for the best so far, which is still to be checked;
     * a second one ends everything. */
    if (r->search.interrupted && env->cancel)
        *env->cancel = 0;
    if (status == NOE_OK && folded)
        status = decide(env, g, folded, backend, options, r, err);
    if (status == NOE_OK && r->decision == NOE_DECISION_BETTER)
        r->graph = r->owned = folded;
    else
        noe_graph_free(folded);
    /* Writing the input's own graph is a step too that can go wrong. */
    if (status == NOE_OK && r->decision != NOE_DECISION_BETTER && backend &&
        !options->original)
        status = check(env, g, g, backend, options, r, NULL, err);
    return status;
}

void noe_optimize_result_clear(noe_optimize_result *r)
{
    noe_search_result_clear(&r->search);
    noe_graph_free(r->owned);
    *r = (noe_optimize_result){0};
}
