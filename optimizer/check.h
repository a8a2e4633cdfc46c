/* SPDX-License-Identifier: Apache-2.0
 *
 * Does the optimized graph compute what the original does? Both are run on random
 * inputs by the project's own executor and compared output by output: types, shapes,
 * where NaN and infinities stand, and numbers within a tolerance that is relative to
 * the largest magnitude of the tensor (rules that reassociate sums change the last
 * bits, and by more where large terms cancel). Values that are not floating point are
 * never computed: they must be the same nodes (cut.h). f64 is computed in f32, like all
 * types: nothing but layout and casts is done in it.
 *
 * Inputs are random, in turn: normal (variance 1); sparse and large (half zeros, both
 * signs, up to some hundreds); positive and small. More runs repeat these with other
 * numbers.
 *
 * Inputs that have a default (initializers that a caller may override) keep it: they
 * are a model's weights, and random ones would make its numbers overflow.
 *
 * A check that passes is evidence, not proof: the proofs are the rules'.
 */
#ifndef NOE_OPTIMIZER_CHECK_H
#define NOE_OPTIMIZER_CHECK_H

#include "optimizer/cut.h"
#include "runtime/runtime.h"

#define NOE_CHECK_RTOL 1e-3
#define NOE_CHECK_ATOL 1e-6

typedef struct noe_check_options {
    int n_inputs;      /* 0: no check */
    double rtol, atol; /* |got - want| <= atol + rtol * largest |want| of the tensor */
} noe_check_options;

typedef struct noe_check_report {
    int n_inputs;
    uint32_t n_outputs; /* compared values; 0: nothing is computed */
    double max_abs;     /* largest absolute difference */
    double max_rel;     /* largest difference relative to its tensor's magnitude */
    char worst[160];    /* the output with the largest relative difference */
} noe_check_report;

/* NOE_ERR_MISMATCH, with output, position and both values, if they differ. */
NOE_NODISCARD noe_status noe_check_run(noe_backend *backend, const noe_cut *cut,
                                       uint64_t seed, const noe_check_options *options,
                                       noe_check_report *report, noe_error *err);
/* On a device that computes in a type of its own: the result there against the original
 * on `exact`, on one normal input. It may lie as far from it as tolerance says,
 * relative to the tensor's magnitude, or twice as far as the original on the device
 * does. */
NOE_NODISCARD noe_status noe_check_device(noe_backend *exact, noe_backend *device,
                                          const noe_cut *cut, uint64_t seed,
                                          double tolerance, noe_check_report *report,
                                          noe_error *err);

#endif
