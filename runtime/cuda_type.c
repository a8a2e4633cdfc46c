/* SPDX-License-Identifier: Apache-2.0
 *
 * The types that device "cuda" computes in; for the module and for who loads it.
 */
#include "runtime/cuda.h"

/* Products of some thousand terms in tf32 (10 bits of fraction, summed in f32), and
 * whole graphs of values stored in f16 (10 bits) and bf16 (7 bits). */
static const struct {
    const char *name;
    double tolerance;
} types[NOE_CUDA_N_TYPES] = {
    [NOE_CUDA_F32] = {"f32", 1e-3},
    [NOE_CUDA_TF32] = {"tf32", 2e-2},
    [NOE_CUDA_F16] = {"f16", 3e-2},
    [NOE_CUDA_BF16] = {"bf16", 2e-1},
};

bool noe_cuda_type_from_name(const char *name, noe_cuda_type *type)
{
    for (int i = 0; i < NOE_CUDA_N_TYPES; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *type = (noe_cuda_type)i;
            return true;
        }
    }
    return false;
}

const char *noe_cuda_type_name(noe_cuda_type type)
{
    return types[type].name;
}

double noe_cuda_tolerance(noe_cuda_type type)
{
    return types[type].tolerance;
}
