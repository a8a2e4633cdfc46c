/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs measured on a device, remembered in a cost database, guessed by a roofline.
 */
#ifndef NOE_OPTIMIZER_COST_BACKEND_H
#define NOE_OPTIMIZER_COST_BACKEND_H

#include "optimizer/cost.h"
#include "ruledb/ruledb.h"
#include "runtime/runtime.h"

typedef struct noe_backend_costs {
    noe_cost_model model; /* first: the model is this object */
    noe_backend *backend; /* not owned */
    noe_ruledb *db;       /* not owned; NULL: nothing is kept */
    const noe_env *env;
    noe_executor_options options;
    bool frozen;               /* what is not in the database has no price */
    uint64_t n_timed, n_found; /* measured now; found in the database */
    uint64_t n_failed;
    uint64_t *timed; /* hashes of the keys timed by this run, not confirmed yet */
    size_t n_timed_keys, cap_timed_keys;
} noe_backend_costs;

/* cold_weights: time with weights that are not in the cache, as in a model whose
 * weights do not fit into it. */
void noe_backend_costs_init(noe_backend_costs *c, noe_backend *backend, noe_ruledb *db,
                            const noe_env *env, bool cold_weights);
void noe_backend_costs_clear(noe_backend_costs *c);

#endif
