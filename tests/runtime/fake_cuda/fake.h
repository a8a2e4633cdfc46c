/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for NVIDIA's libraries: one shared library with all functions that the
 * module loads (runtime/cuda/slots.def). "Device memory" is memory of this process, our
 * kernels are compiled as C and run thread by thread, convolutions and products are
 * computed from the descriptors in loops, and time is what `control` says. It shows
 * that the module asks for what the reference evaluator computes, and what it does when
 * calls fail; nothing about how fast or right a true device is.
 *
 * A captured graph only counts and times its operations: replaying it computes nothing.
 */
#ifndef NOE_TESTS_FAKE_CUDA_H
#define NOE_TESTS_FAKE_CUDA_H

#include "runtime/cuda/abi.h"
#include <stdbool.h>

/* What a test scripts and reads; from fake_cuda_control(). */
typedef struct fake_control {
    int n_devices;        /* 1 */
    int driver, runtime;  /* 13000, 13000; driver 0: none that fits */
    int sm;               /* 90 */
    size_t dnn_version;   /* 92800 */
    size_t memory;        /* bytes of the device, 64 MiB */
    bool no_fused_engine; /* cuDNN has no engine for more than a convolution */
    bool no_engine;       /* ... and none for that */
    bool plans_fail;      /* engines that cannot be planned after all */
    /* The n-th call from now (1: the next) of this function fails so; "" none, "*" any
     * function. */
    char fail_call[64];
    int fail_after, fail_status;
    bool is_dead; /* every call fails with cudaErrorIllegalAddress, until a reset */
    int n_resets;
    /* Milliseconds that operations take. */
    double ms_launch, ms_conv[3], ms_nhwc_factor, ms_product[3];
    /* What is there now, and how often calls were made. */
    size_t allocated;
    int n_blocks, n_descriptors, n_handles, n_execs, n_modules;
    int n_launches, n_convs, n_products, n_replays, n_captures;
    int last_engine, last_product; /* index of the plan that ran last */
    char arch[64];                 /* what NVRTC compiled for */
} fake_control;

fake_control *fake_cuda_control(void);

/* For the parts of the fake: is this call of `name` to fail, and how? 0: no. */
int fake_fails(const char *name);
/* Time passes on the stream, or in the graph that is captured; counts. */
void fake_operation(double ms, int *counter);
bool fake_is_capturing(void);
float fake_load(const void *p, int64_t i, int bytes, bool is_bf16);
void fake_store(void *p, int64_t i, float x, int bytes, bool is_bf16);

/* All that the module calls. */
#define SLOT(LIBRARY, TYPE, NAME, PARAMETERS) TYPE NAME PARAMETERS;
#include "runtime/cuda/slots.def"

/* A kernel, by its name without "noe_". */
struct noe_cu_args;
typedef struct fake_kernel {
    const char *name;
    void (*run)(const struct noe_cu_args a);
    bool has_barrier;
} fake_kernel;
extern const fake_kernel fake_kernels_0[], fake_kernels_1[], fake_kernels_2[];

/* Indices of the thread that runs; BARRIER. */
typedef struct fake_index {
    unsigned x;
} fake_index;
extern fake_index fake_thread, fake_block, fake_block_size, fake_grid_size;
void fake_barrier(void);

#endif
