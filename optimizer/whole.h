/* SPDX-License-Identifier: Apache-2.0
 *
 * The second check, for models with nodes that the algebra does not speak about: both
 * files as a whole in the reference executor, which shares no code with the rewriting.
 * The first check (check.h) cuts models at such nodes; here they are computed too.
 */
#ifndef NOE_OPTIMIZER_WHOLE_H
#define NOE_OPTIMIZER_WHOLE_H

#include "onnx_io/onnx_io.h"
#include "optimizer/check.h"

typedef struct noe_whole_report {
    bool is_done;
    uint32_t n_outputs;
    double max_rel; /* largest difference relative to its tensor's magnitude */
    char why[300];  /* it was not done: an operator without a reference, ... */
} noe_whole_report;

/* Inputs from a path (noe_run_read_inputs; all that are not optional must be there, of
 * the declared type and shape), or, if it is NULL, random ones. One set.
 * NOE_ERR_MISMATCH if the results differ by more than the options allow, or if only the
 * original can be computed. What the reference executor cannot compute in the original
 * is reported and no error. */
NOE_NODISCARD noe_status noe_whole_check(const noe_onnx_model *before,
                                         const noe_onnx_model *after,
                                         const char *inputs, uint64_t seed,
                                         const noe_check_options *options,
                                         noe_whole_report *report, noe_error *err);

#endif
