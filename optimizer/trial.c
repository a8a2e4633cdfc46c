/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/trial.h"

/* Rounds of A B B A; a large network takes a quarter of a second each. */
#define MAX_ROUNDS 24

noe_status noe_trial_run(noe_backend *backend, const noe_cut *cut, noe_trial *trial,
                         noe_error *err)
{
    noe_executor_options options = {.n_threads = backend->env->n_threads};
    noe_executor *a = NULL, *b = NULL;
    *trial = (noe_trial){0};
    if (cut->n_outputs == 0)
        return NOE_OK;
    noe_progress(backend->env, "timing the original against the result");
    noe_status status = backend->vt->prepare(backend, cut->original, &options, &a, err);
    if (status == NOE_OK)
        status = backend->vt->prepare(backend, cut->result, &options, &b, err);
    if (status == NOE_OK && a->n_calls > 0) {
        status = noe_time_pair(a, b, MAX_ROUNDS, &trial->pair, err);
        trial->done = status == NOE_OK;
        trial->faster = trial->done && trial->pair.ratio_lo > 1;
    }
    if (a)
        backend->vt->release(a);
    if (b)
        backend->vt->release(b);
    return status;
}
