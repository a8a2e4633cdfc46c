/* SPDX-License-Identifier: Apache-2.0
 *
 * What the backends share.
 */
#ifndef NOE_RUNTIME_BACKEND_H
#define NOE_RUNTIME_BACKEND_H

#include "runtime/runtime.h"

noe_status noe_onednn_open(const noe_env *env, noe_backend **b, noe_error *err);
noe_status noe_reference_open(const noe_env *env, noe_backend **b, noe_error *err);

/* The number of threads that options ask for, env's otherwise, at least 1. */
int noe_executor_threads(const noe_env *env, const noe_executor_options *options);

/* Are all live nodes f32 of static shape, and none of them opaque? */
NOE_NODISCARD noe_status noe_check_runnable(const noe_graph *g, const uint8_t *live,
                                            noe_error *err);

#endif
