/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker processes that judge rules, one prover and its Z3 contexts each. Who asks gets
 * the same answers, whatever their number and whoever answers: a verdict depends on the
 * rule alone. A worker that dies (out of memory, killed) loses nothing: what it had is
 * given to another one once more.
 */
#ifndef NOE_VERIFIER_WORKERS_H
#define NOE_VERIFIER_WORKERS_H

#include "verifier/verify.h"

typedef struct noe_workers noe_workers;

/* Judges the rule of this text, in a worker process. */
typedef void noe_judge_fn(void *ctx, const char *text, noe_check *check);

/* Starts n processes, n >= 1. They are copies of this one: ctx is used there only. */
NOE_NODISCARD noe_status noe_workers_new(int n, noe_judge_fn *judge, void *ctx,
                                         noe_workers **workers, noe_error *err);
/* Ends the processes. */
void noe_workers_free(noe_workers *w);

/* This text will be asked for: it is judged as soon as a worker is free. */
void noe_workers_announce(noe_workers *w, const char *text);
/* Waits for the verdict: what a database keeps of it, without instances and scripts.
 * false if workers died of it, twice; then err says how. check is overwritten; clear it
 * with noe_check_clear. */
NOE_NODISCARD bool noe_workers_take(noe_workers *w, const char *text, noe_check *check,
                                    noe_error *err);

#endif
