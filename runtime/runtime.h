/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: run a graph, and time it. The cost of an operator, of a fused group, of a
 * window and of a whole model are all "the time of a graph", so there is one executor
 * and one clock (runtime/measure.c). This folder is the only one that includes dnnl.h.
 *
 * A graph given here has core, composite and leaf nodes, static f32 shapes, no opaque
 * node. Weight-only nodes are computed at preparation and cost nothing at run time.
 */
#ifndef NOE_RUNTIME_RUNTIME_H
#define NOE_RUNTIME_RUNTIME_H

#include "core/base/env.h"
#include "core/graph.h"

typedef struct noe_backend noe_backend;
struct noe_calibration;
typedef struct noe_executor noe_executor;

/* Nodes that the device runs as one call: group[i] is the group of node i (the index of
 * the group's last node), UINT32_MAX for leaves, opaque, weight-only and dead nodes.
 * Conv and matmul absorb a following bias add, residual add and activation when those
 * are their only uses; the whole table is runtime/kernels.def. Used by the executor
 * and, through the same code, by the cost model. */
void noe_fuse(const noe_graph *g, const uint8_t *live, const uint32_t *uses,
              uint32_t *group);

typedef struct noe_measure {
    double seconds;     /* smallest batch, a run */
    double second_best; /* next smallest; the gap is the noise */
    int n_batches;
    const char *clock; /* "thread-cpu", "wall", or a device's */
    /* How much longer a fixed small kernel took around the measuring than it did at
     * best in this process: about 1 on a quiet machine. Above 1.15 the processor was
     * slowed down (shared core, clock rate), and waiting for that to end had become too
     * long. */
    double disturbance;
} noe_measure;

typedef struct noe_executor_options {
    /* Inputs and outputs may have any memory layout (blocked as the kernel likes it),
     * and weights are random, they need no data: for timing a part of a graph, it
     * cannot be run. Otherwise plain C order and the weights' own values. */
    bool free_layout;
    /* Rotate the weights through copies larger than the last-level cache. */
    bool cold_weights;
    int n_threads;
} noe_executor_options;

/* Of noe_time_pair. */
typedef struct noe_pair_measure {
    double ratio;                /* median of the rounds */
    double ratio_lo, ratio_hi;   /* order-statistic interval of at least 95 % */
    double seconds_a, seconds_b; /* smallest batch, a run */
    int n_rounds;
    const char *clock;
} noe_pair_measure;

/* NULL slots are optional. */
typedef struct noe_backend_vtable {
    const char *name; /* "onednn", "reference", "cuda", ... */
    /* Does one kernel exist for this node of g? What it lacks goes to the reference. */
    bool (*supports)(const noe_backend *b, const noe_graph *g, uint32_t node);
    /* g is copied; its pool, and weight data, must outlive the executor. */
    noe_status (*prepare)(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err);
    /* inputs[i] for the i-th input leaf in node order, outputs[i] for the i-th output;
     * C order f32, the caller's memory. */
    noe_status (*run)(noe_executor *e, const float *const *inputs,
                      float *const *outputs, noe_error *err);
    /* Runs n times with internal random buffers; what the clock is put around. */
    noe_status (*repeat)(noe_executor *e, int n, noe_error *err);
    /* Seconds a run of about n runs with internal random buffers, on the device's own
     * clock, and what that is called; optional: repeat by the CPU's clock otherwise. */
    noe_status (*clocked)(noe_executor *e, int n, double *seconds, noe_error *err);
    const char *clock;
    /* Runs with internal random buffers, under the measuring protocol. A graph that
     * asks for no work (views only) takes 0 seconds. */
    noe_status (*time)(noe_executor *e, noe_measure *measure, noe_error *err);
    /* noe_time_pair for executors that live elsewhere; optional */
    noe_status (*pair)(noe_executor *a, noe_executor *b, int max_rounds,
                       noe_pair_measure *out, noe_error *err);
    void (*release)(noe_executor *e);
    void (*close)(noe_backend *b);
} noe_backend_vtable;

struct noe_backend {
    const noe_backend_vtable *vt;
    const noe_env *env;
    /* Goes into cost keys: "onednn 2.6.3 <isa> <cpu model> threads=N"; N is env's, and
     * what executor options with n_threads < 1 get. */
    char description[160];
    /* Bytes of the device's last-level cache; 0: as large as this machine's. */
    size_t cache_bytes;
    struct noe_calibration
        *calibration; /* measure.c's; NULL until something is timed */
};

/* What every executor begins with. */
struct noe_executor {
    noe_backend *backend;
    int n_threads;
    uint64_t n_calls; /* kernel calls a run; 0: the graph asks for no work */
};

const char *noe_runtime_library(void); /* "oneDNN 2.6.3" */
/* name: "onednn" (default device "cpu") or "reference". */
NOE_NODISCARD noe_status noe_backend_open(const char *name, const noe_env *env,
                                          noe_backend **b, noe_error *err);

/* Two executors against each other, on inputs of their own: rounds of A B B A, each a
 * batch of at least 0.5 ms; the ratio of a round is time of a / time of b (> 1: b is
 * faster). Ends when the 95 % confidence interval of the median ratio is narrower than
 * +-1 %, or after max_rounds (at least 6; 0: 100). For decisions between candidates
 * that are closer than single timings can tell. */
NOE_NODISCARD noe_status noe_time_pair(noe_executor *a, noe_executor *b, int max_rounds,
                                       noe_pair_measure *out, noe_error *err);

#endif
