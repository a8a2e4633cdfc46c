/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs of graphs: the sum over kernels of what a cost model says.
 *
 * A model has two voices. `measure` is the truth the search goes by and may be slow (a
 * measurement takes milliseconds); `estimate` is an analytic guess. The table asks for
 * the truth only where it can matter: a graph whose kernels, with the unknown ones at a
 * fraction of their estimate, already exceed the limit is not worth measuring. What is
 * measured therefore depends on the graphs, the rules and the measured values only, not
 * on what an earlier run left in a cost database: same costs, same decisions.
 */
#ifndef NOE_OPTIMIZER_COST_H
#define NOE_OPTIMIZER_COST_H

#include "core/base/env.h"
#include "core/graph.h"
#include "optimizer/kernel.h"

/* Relative noise of a measured kernel: minima of batches of thread CPU time repeat
 * within 0.5 % for short kernels and within 2.6 % for those of milliseconds, on a
 * loaded machine. */
#define NOE_COST_NOISE 0.03
/* A rewrite that saves no operator must gain more than single prices err by (5 to 10 %
 * on a shared machine), or noise picks among equal forms. */
#define NOE_COST_NEUTRAL 0.15

/* Prices are at times this much too high when the machine was busy. */
#define NOE_COST_OUTLIER 0.25

typedef struct noe_cost_model noe_cost_model;
struct noe_cost_model {
    /* Seconds of kernel number i of k. INFINITY where it cannot be run. */
    noe_status (*measure)(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err);
    /* A guess of the same; NULL: everything is measured. */
    double (*estimate)(const noe_cost_model *m, noe_kernels *k, uint32_t i);
    /* A second opinion on a kernel that measure was asked for: the smaller of both.
     * NULL: the first is final. */
    noe_status (*confirm)(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err);
    /* Prices are those recorded and no others: a kernel of the input that has none is
     * an error; otherwise it gets its estimate, and so may a kernel that fails to run.
     */
    bool is_closed;
};

typedef struct noe_cost_entry {
    uint64_t key; /* 0: free slot */
    double guess;
    double seconds; /* negative: not measured yet */
    noe_op op;      /* the one that matters for its time */
    int32_t n_base; /* times that the base has this kernel */
    int32_t n_here; /* the same for the graph at hand; 0 in between */
    bool confirmed;
} noe_cost_entry;

/* Costs by kernel, for one run. */
typedef struct noe_costs {
    noe_cost_model *model; /* not owned */
    noe_kernels kernels;
    noe_cost_entry *table;
    uint32_t size, n;
    noe_cost_entry **of_kernel; /* entries of the graph at hand */
    uint32_t cap_of_kernel;
    uint64_t *base; /* keys of the base's kernels, each once */
    uint32_t n_base, cap_base, base_operators;
    uint64_t n_measured, n_asked;
    /* Of the kernels of each operator: logarithms of measured over estimated time. */
    struct {
        double sum;
        uint32_t n;
    } calibration[NOE_OP_COUNT];
} noe_costs;

typedef struct noe_cost {
    double seconds;
    uint32_t n_operators;  /* run-time nodes of the algebra */
    uint64_t weight_bytes; /* what the model carries */
    bool exact;            /* false: a lower bound beyond the limit asked for */
    double went, came;     /* seconds of the kernels that only the base, only it has */
    int32_t n_fewer;       /* operators of the base minus n_operators */
} noe_cost;

void noe_costs_init(noe_costs *c, noe_cost_model *model);
void noe_costs_clear(noe_costs *c);
/* Gives kernels of the input g that have no finite price their estimate: what is there
 * can surely be run. Fails for a closed model. */
NOE_NODISCARD noe_status noe_costs_accept(noe_costs *c, const noe_graph *g,
                                          noe_error *err);
/* Cost of g. Once it is certain to exceed limit, *cost is a bound and exact is false.
 */
NOE_NODISCARD noe_status noe_costs_graph(noe_costs *c, const noe_graph *g, double limit,
                                         noe_cost *cost, noe_error *err);
/* The same without measuring: what is unknown counts with its estimate, corrected by
 * how much estimates of its operator were off so far; exact says if nothing was
 * unknown. */
void noe_costs_guess(noe_costs *c, const noe_graph *g, noe_cost *cost);
/* For a report: exact, or after an interruption, which lets nothing more be measured,
 * what is known and guessed. */
NOE_NODISCARD noe_status noe_costs_final(noe_costs *c, const noe_graph *g,
                                         bool interrupted, noe_cost *cost,
                                         noe_error *err);
/* The dearest n kernels of g, all known, together: seconds. */
NOE_NODISCARD noe_status noe_costs_dearest(noe_costs *c, const noe_graph *g, uint32_t n,
                                           double *seconds, noe_error *err);
/* Makes g, all of whose kernels get measured, the base that later costs compare with.
 */
NOE_NODISCARD noe_status noe_costs_set_base(noe_costs *c, const noe_graph *g,
                                            noe_error *err);
/* Asks for a second opinion on the kernels that a and b do not share, once a kernel.
 * *changed tells whether any price fell: costs known so far are then out of date. */
NOE_NODISCARD noe_status noe_costs_confirm(noe_costs *c, const noe_graph *a,
                                           const noe_graph *b, bool *changed,
                                           noe_error *err);
/* Is what came better than what went, by more than noise can be, and by a share of at
 * least min_gain? */
bool noe_cost_improves(const noe_cost *cost, double min_gain);
/* Fewer operators at a price that a busy moment can make: worth a second opinion. */
bool noe_cost_might_improve(const noe_cost *cost);
/* Is a better than b? Seconds within a billionth are equal. */
bool noe_cost_less(const noe_cost *a, const noe_cost *b);

#endif
