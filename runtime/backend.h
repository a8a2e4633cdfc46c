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

/* Bytes of physical memory. Larger requests are refused at once: the system may grant
 * them and kill the process when they are used. */
uint64_t noe_memory_limit(void);

/* Are all live nodes f32 of static shape, none of them opaque or larger than the
 * memory? */
NOE_NODISCARD noe_status noe_check_runnable(const noe_graph *g, const uint8_t *live,
                                            noe_error *err);

#endif
