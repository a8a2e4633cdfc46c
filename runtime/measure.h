/* SPDX-License-Identifier: Apache-2.0
 *
 * The measuring protocol, for backends: their `time` slot is noe_measure_executor.
 */
#ifndef NOE_RUNTIME_MEASURE_H
#define NOE_RUNTIME_MEASURE_H

#include "runtime/runtime.h"

NOE_NODISCARD noe_status noe_measure_executor(noe_executor *e, noe_measure *measure,
                                              noe_error *err);

/* Releases what timing keeps with the backend; for its `close`, before anything else.
 */
void noe_measure_close(noe_backend *b);

/* CPU time that another process has used, 0 if it cannot be told. */
double noe_process_cpu_seconds(int pid);

/* Bytes of the last-level cache of this machine, a usual size if it cannot be told. */
size_t noe_last_level_cache_bytes(void);

/* The CPU's name as the system gives it, "unknown cpu" otherwise. text[cap]. */
void noe_cpu_model(char *text, size_t cap);

/* Deterministic filling for timed buffers: numbers of usual size, no denormals. */
void noe_fill_random(float *data, size_t n, uint64_t seed);

#endif
