/* SPDX-License-Identifier: Apache-2.0
 *
 * What noether-cuda.so exports.
 */
#include "runtime/cuda/device.h"

__attribute__((visibility("default"))) noe_cuda_module_fn noe_cuda_module;

noe_status noe_cuda_module(const char *version, const noe_cuda_options *options,
                           const noe_env *env, noe_backend **b, noe_error *err)
{
    *b = NULL;
    if (strcmp(version, NOE_VERSION) != 0)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "the CUDA module is of version %s, the program of %s",
                        NOE_VERSION, version);
    return noe_cu_backend_open(options, env, b, err);
}
