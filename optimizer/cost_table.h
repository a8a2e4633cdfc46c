/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded costs, as a file to read and to commit (device "table:FILE"). Entries are
 * separated by empty lines: the seconds, then the kernel as a graph in text form
 * (core/graph.h). Lines that begin with '#' are remarks.
 *
 *     1.25e-05
 *     %0 = input "x0" : f32[1,8]
 *     %1 = relu(%0) : f32[1,8]
 *     return %1
 */
#ifndef NOE_OPTIMIZER_COST_TABLE_H
#define NOE_OPTIMIZER_COST_TABLE_H

#include "optimizer/cost.h"

typedef struct noe_table_cost {
    uint64_t hash; /* of the kernel's text */
    double seconds;
} noe_table_cost;

typedef struct noe_table_costs {
    noe_cost_model model; /* first: the model is this object */
    noe_table_cost *costs;
    size_t n, cap;
} noe_table_costs;

/* A kernel that is not in the file has no price. */
NOE_NODISCARD noe_status noe_table_costs_load(noe_table_costs *t, const char *path,
                                              noe_error *err);
void noe_table_costs_clear(noe_table_costs *t);

/* A cost model that asks another one, and writes down what it says. */
typedef struct noe_cost_recorder {
    noe_cost_model model;
    noe_cost_model *inner; /* not owned */
    noe_buf text;
} noe_cost_recorder;

void noe_cost_recorder_init(noe_cost_recorder *r, noe_cost_model *inner);
void noe_cost_recorder_clear(noe_cost_recorder *r);

#endif
