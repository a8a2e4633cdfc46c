/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs from operations and bytes alone: the guess that says what is worth measuring,
 * and a cost model of its own (device "roofline") where nothing shall be measured. Its
 * machine is one core of 100 GFLOP/s and 20 GB/s with half a microsecond a call,
 * whatever the real one is.
 */
#ifndef NOE_OPTIMIZER_COST_ROOFLINE_H
#define NOE_OPTIMIZER_COST_ROOFLINE_H

#include "optimizer/cost.h"

/* Seconds of kernel i. m is not looked at. */
double noe_roofline_seconds(const noe_cost_model *m, noe_kernels *k, uint32_t i);
/* Operations of kernel i for each element of its weights, infinite without weights. */
double noe_roofline_reuse(noe_kernels *k, uint32_t i);
void noe_roofline_init(noe_cost_model *m);

#endif
