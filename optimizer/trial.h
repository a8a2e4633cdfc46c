/* SPDX-License-Identifier: Apache-2.0
 *
 * The last word on a gain: original and result timed whole, interleaved, on the device.
 * Sums of kernel times mislead near the break-even; what is not faster here beyond the
 * noise is not shipped.
 */
#ifndef NOE_OPTIMIZER_TRIAL_H
#define NOE_OPTIMIZER_TRIAL_H

#include "optimizer/cut.h"
#include "optimizer/window.h"
#include "runtime/runtime.h"

typedef struct noe_trial {
    double expected; /* seconds of a run, about; set by the caller */
    bool done;       /* false: nothing is computed, or it takes no time */
    bool failed;     /* it could not be timed: then it must not be shipped */
    bool faster;     /* the whole confidence interval lies above 1.01 */
    noe_pair_measure pair;
    double difference; /* of the outputs, seen where it was timed; negative: not seen */
} noe_trial;

/* What an earlier run has measured under this text. */
NOE_NODISCARD noe_status noe_trial_recall(noe_trial *trial, noe_referee *referee,
                                          const char *text, bool *found,
                                          noe_error *err);
/* How many rounds of a pair are worth while. */
int noe_trial_rounds(double seconds);

NOE_NODISCARD noe_status noe_trial_run(noe_backend *backend, const noe_cut *cut,
                                       noe_trial *trial, noe_error *err);

/* The same for two models as they are written, in ONNX Runtime. g, the graph of the
 * first, gives the shapes of inputs; folder that of external data. */
typedef struct noe_bytes {
    const char *data;
    size_t len;
} noe_bytes;
NOE_NODISCARD noe_status noe_trial_models(noe_backend *ort, const noe_graph *g,
                                          const char *folder, noe_bytes original,
                                          noe_bytes result, noe_trial *trial,
                                          noe_error *err);

#endif
