/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs of graphs over open sizes (core/open.h): a kernel costs what it costs at the
 * sizes that the user assumes.
 */
#ifndef NOE_OPTIMIZER_COST_OPEN_H
#define NOE_OPTIMIZER_COST_OPEN_H

#include "core/open.h"
#include "optimizer/cost.h"

typedef struct noe_open_costs {
    noe_cost_model model; /* first: a noe_cost_model * is a pointer to this */
    noe_cost_model *inner;
    const noe_open_sizes *open;
} noe_open_costs;

/* inner and open are the caller's. */
void noe_open_costs_init(noe_open_costs *c, noe_cost_model *inner,
                         const noe_open_sizes *open);

#endif
