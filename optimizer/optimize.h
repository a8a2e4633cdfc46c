/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline on graphs: expand definitions, search, fold normal forms, and, on a
 * device, check and time. main.c reads and writes around it.
 */
#ifndef NOE_OPTIMIZER_OPTIMIZE_H
#define NOE_OPTIMIZER_OPTIMIZE_H

#include "core/definition.h"
#include "optimizer/check.h"
#include "optimizer/search.h"
#include "optimizer/trial.h"

typedef enum noe_decision {
    NOE_DECISION_BETTER,   /* the result is cheaper, right and (if timed) faster */
    NOE_DECISION_NO_GAIN,  /* the search found nothing cheaper */
    NOE_DECISION_NO_SPEED, /* cheaper by the sum of its kernels, not faster as a whole
                            */
} noe_decision;

/* How g looks once written to a file and read again, in g's pool; owned by ctx. */
typedef noe_status noe_reread_fn(void *ctx, const noe_graph *g, const noe_graph **seen,
                                 noe_error *err);

/* Times g against its better form, in another way than cut out and on the backend. */
typedef noe_status noe_trial_fn(void *ctx, const noe_graph *g, const noe_graph *better,
                                noe_trial *trial, noe_error *err);

typedef struct noe_optimize_options {
    noe_search_options search;
    noe_check_options check;
    uint64_t seed;
    bool time_whole;     /* compare the whole graphs on the device */
    noe_trial_fn *trial; /* NULL: noe_trial_run on the backend, or on device */
    void *trial_ctx;
    /* Times the whole instead of the backend, and has to get results within
     * device_tolerance too (noe_check_device); where it fails, nothing is shipped. */
    noe_backend *device; /* may be NULL */
    double device_tolerance;
    noe_origin_op_fn *origin_op;
    void *origin_ctx;
    /* Where g is over open sizes (core/open.h): the graph at sizes, with which what
     * reread gives is compared and timed. NULL: g itself. */
    const noe_graph *original;
    noe_reread_fn *reread; /* may be NULL: then graphs are checked as they are */
    void *reread_ctx;
} noe_optimize_options;

typedef struct noe_optimize_result {
    const noe_graph *graph; /* what to write: the input itself, or owned */
    noe_graph *owned;
    noe_decision decision;
    noe_search_result search;
    noe_cost before, after;               /* of input and best result, expanded */
    uint64_t memory_before, memory_after; /* noe_peak_memory of the same */
    noe_check_report check;
    noe_check_report device_check; /* n_outputs 0: there was none */
    noe_trial trial;
    double search_seconds, check_seconds, trial_seconds;
} noe_optimize_result;

/* backend may be NULL: then nothing is checked or timed. What is checked is the graph
 * as it is read back from its written form, also where the result is g itself. Fails
 * with NOE_ERR_MISMATCH if the result does not compute what g does. */
NOE_NODISCARD noe_status noe_optimize(const noe_env *env, const noe_graph *g,
                                      const noe_rule_set *rules, noe_costs *costs,
                                      noe_backend *backend,
                                      const noe_optimize_options *options,
                                      noe_optimize_result *result, noe_error *err);
/* The part that both compute, to be run and compared. */
NOE_NODISCARD noe_status noe_optimize_cut(const noe_graph *g, const noe_graph *result,
                                          noe_cut *cut, noe_error *err);
void noe_optimize_result_clear(noe_optimize_result *result);

/* Largest growth of the weights that is allowed unless the user says otherwise. */
uint64_t noe_default_growth(const noe_graph *g);

#endif
