/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/trial.h"
#include "runtime/ort.h"
#include <stdlib.h>

/* Rounds of A B B A, of which a large network takes a quarter of a second each. */
#define MAX_ROUNDS       24
#define MAX_ROUNDS_QUICK 100
#define QUICK_SECONDS    0.01

/* Less is not worth another file; two processes differ by as much for the same model.
 */
#define LEAST_GAIN 0.01

static bool is_faster(const noe_pair_measure *m)
{
    return m->ratio_lo > 1 + LEAST_GAIN;
}

int noe_trial_rounds(double seconds)
{
    return seconds < QUICK_SECONDS ? MAX_ROUNDS_QUICK : MAX_ROUNDS;
}

noe_status noe_trial_recall(noe_trial *trial, noe_referee *referee, const char *text,
                            bool *found, noe_error *err)
{
    NOE_TRY(noe_referee_recall(referee, text, found, &trial->pair, err));
    trial->done = *found;
    trial->faster = *found && is_faster(&trial->pair);
    return NOE_OK;
}

noe_status noe_trial_run(noe_backend *backend, const noe_cut *cut, noe_trial *trial,
                         noe_error *err)
{
    noe_executor_options options = {.n_threads = backend->env->n_threads};
    noe_executor *a = NULL, *b = NULL;
    *trial = (noe_trial){.expected = trial->expected, .difference = -1};
    if (cut->n_outputs == 0)
        return NOE_OK;
    noe_progress(backend->env, "timing the original against the result");
    noe_status status = backend->vt->prepare(backend, cut->original, &options, &a, err);
    if (status == NOE_OK)
        status = backend->vt->prepare(backend, cut->result, &options, &b, err);
    if (status == NOE_OK && a->n_calls > 0) {
        status =
            noe_time_pair(a, b, noe_trial_rounds(trial->expected), &trial->pair, err);
        trial->done = status == NOE_OK;
        trial->faster = trial->done && is_faster(&trial->pair);
    }
    if (a)
        backend->vt->release(a);
    if (b)
        backend->vt->release(b);
    return status;
}

static size_t input_shapes(const noe_graph *g, noe_input_shape *shapes)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_INPUT)
            shapes[n++] = (noe_input_shape){noe_graph_leaf_of(g, i)->name,
                                            g->nodes[i].types[0].shape};
    }
    return n;
}

noe_status noe_trial_models(noe_backend *ort, const noe_graph *g, const char *folder,
                            noe_bytes original, noe_bytes result, noe_trial *trial,
                            noe_error *err)
{
    noe_executor *a = NULL, *b = NULL;
    noe_input_shape *shapes = noe_malloc((g->n_nodes + 1) * sizeof *shapes);
    size_t n = input_shapes(g, shapes);
    *trial = (noe_trial){.expected = trial->expected, .difference = -1};
    noe_progress(ort->env, "timing the original against the result");
    noe_status status = noe_ort_prepare_model(ort, original.data, original.len, shapes,
                                              n, folder, &a, err);
    if (status == NOE_OK)
        status = noe_ort_prepare_model(ort, result.data, result.len, shapes, n, folder,
                                       &b, err);
    if (status == NOE_OK)
        status = noe_ort_difference(a, b, &trial->difference, err);
    if (status == NOE_OK)
        status =
            noe_time_pair(a, b, noe_trial_rounds(trial->expected), &trial->pair, err);
    trial->done = status == NOE_OK;
    trial->faster = trial->done && is_faster(&trial->pair);
    if (a)
        ort->vt->release(a);
    if (b)
        ort->vt->release(b);
    free(shapes);
    return status;
}
