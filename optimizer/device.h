/* SPDX-License-Identifier: Apache-2.0
 *
 * Option --device: where costs come from, and where whole models are timed.
 *
 *   cpu               oneDNN, in this process
 *   reference         the project's own evaluator
 *   ort[:LIBRARY]     the user's ONNX Runtime, in a worker
 *   cuda[:NUMBER]     an NVIDIA GPU, by the CUDA module; computes in `dtype`
 *   roofline          estimated from operations and bytes: nothing is measured
 *   table:FILE        recorded costs (cost_table.h): nothing is measured
 */
#ifndef NOE_OPTIMIZER_DEVICE_H
#define NOE_OPTIMIZER_DEVICE_H

#include "optimizer/cost_backend.h"
#include "optimizer/cost_table.h"
#include "optimizer/window.h"

typedef struct noe_device {
    noe_backend *timing;   /* NULL: nothing is measured */
    noe_backend *checking; /* computes both graphs in checks; may be the same */
    noe_cost_model *model; /* what a search goes by; one of the next */
    noe_backend_costs measured;
    noe_table_costs table;
    noe_cost_model roofline;
    noe_referee referee; /* backend NULL: nobody decides */
    bool is_ort;         /* timing is ONNX Runtime */
    bool is_cuda;        /* timing is a GPU; results are compared on it as well */
    double tolerance;    /* of the GPU's type */
    char description[200];
} noe_device;

typedef struct noe_device_options {
    const char *name;
    noe_ruledb *db;    /* keeps what is measured; may be NULL */
    bool frozen;       /* only what db holds, nothing is measured */
    const char *dtype; /* what a GPU computes in: f32, tf32, f16, bf16 */
    /* Bytes of the model's weights: where they do not fit into the device's cache,
     * their loading is timed as well. */
    uint64_t weight_bytes;
} noe_device_options;

/* Is there such a device, and does it compute in dtype? */
NOE_NODISCARD noe_status noe_device_check_name(const char *name, const char *dtype,
                                               noe_error *err);
NOE_NODISCARD noe_status noe_device_open(noe_device *d, const noe_device_options *o,
                                         const noe_env *env, noe_error *err);
/* Zero-initialised is closed. */
void noe_device_close(noe_device *d);

#endif
