/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a backend by name.
 */
#include "runtime/backend.h"

typedef noe_status open_fn(const noe_env *env, noe_backend **b, noe_error *err);

static const struct {
    const char *name;
    open_fn *open;
} backends[] = {
    {"onednn", noe_onednn_open},
    {"reference", noe_reference_open},
};

noe_status noe_backend_open(const char *name, const noe_env *env, noe_backend **b,
                            noe_error *err)
{
    *b = NULL;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (strcmp(backends[i].name, name) == 0)
            return backends[i].open(env, b, err);
    }
    return noe_fail(err, NOE_ERR_ARG,
                    "unknown backend '%s'; there are: onednn, reference", name);
}
