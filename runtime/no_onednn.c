/* SPDX-License-Identifier: Apache-2.0
 *
 * In the place of backend "onednn" in builds without it.
 */
#include "runtime/backend.h"

noe_status noe_onednn_open(const noe_env *env, noe_backend **b, noe_error *err)
{
    (void)env;
    *b = NULL;
    return noe_fail(
        err, NOE_ERR_BACKEND,
        "this build has no oneDNN, which device cpu runs on: configure with "
        "-DNOETHER_ONEDNN=ON");
}

const char *noe_runtime_library(void)
{
    return "no oneDNN";
}
