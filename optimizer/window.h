/* SPDX-License-Identifier: Apache-2.0
 *
 * Two forms of a part of a model, or of all of it, timed against each other where it
 * counts. Sums of single kernels mislead near the break-even: memory layouts, fusion
 * and caches make a kernel cost what it does among its neighbours. What was measured is
 * kept in the cost database, so that the next run decides the same at once.
 */
#ifndef NOE_OPTIMIZER_WINDOW_H
#define NOE_OPTIMIZER_WINDOW_H

#include "ruledb/ruledb.h"
#include "runtime/runtime.h"

typedef struct noe_referee {
    const noe_env *env;
    noe_backend *backend; /* that measures; NULL: nobody does */
    noe_ruledb *db;       /* may be NULL */
    bool frozen;          /* only what db holds */
    uint64_t n_timed, n_found, n_failed;
} noe_referee;

/* The text that names a trial of two whole models, by the hashes of what they are. */
char *noe_referee_trial_text(const noe_referee *r, uint64_t original, uint64_t result);

/* Pairs by the text that names them. A pair is kept as rows of costs, "TEXT\nratio"
 * (its median, and the low end of its interval where a cost has its second-best time),
 * "TEXT\nratio high" and "TEXT\nseconds" (of both forms). */
NOE_NODISCARD noe_status noe_referee_recall(noe_referee *r, const char *text,
                                            bool *found, noe_pair_measure *m,
                                            noe_error *err);
NOE_NODISCARD noe_status noe_referee_keep(noe_referee *r, const char *text,
                                          const noe_pair_measure *m, noe_error *err);

/* Two graphs with the same inputs and outputs, of one pool, that take about so many
 * seconds. *known is false where it
 * cannot be told: nothing is measured, nothing is recorded, or the device fails. */
NOE_NODISCARD noe_status noe_referee_compare(noe_referee *r, const noe_graph *a,
                                             const noe_graph *b, double seconds,
                                             bool *known, noe_pair_measure *m,
                                             noe_error *err);

#endif
