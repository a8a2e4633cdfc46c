/* SPDX-License-Identifier: Apache-2.0
 *
 * What all executors ask of a graph and of the machine.
 */
#include "runtime/backend.h"
#include <unistd.h>

int noe_executor_threads(const noe_env *env, const noe_executor_options *options)
{
    if (options && options->n_threads > 0)
        return options->n_threads;
    return env && env->n_threads > 0 ? env->n_threads : 1;
}

uint64_t noe_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes
                                       : UINT64_MAX;
}

static noe_status fail_on_type(const noe_graph *g, uint32_t i, noe_status status,
                               const char *why, noe_error *err)
{
    noe_buf text = {0};
    noe_type_print(&text, &g->nodes[i].types[0]);
    noe_status s = noe_fail(err, status, "node %u: type %s cannot be run: %s", i,
                            noe_buf_text(&text), why);
    noe_buf_clear(&text);
    return s;
}

static noe_status check_node(const noe_graph *g, uint32_t i, noe_error *err)
{
    const noe_node *n = &g->nodes[i];
    if (n->op == NOE_OP_OPAQUE)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "node %u: an operator outside the algebra cannot be run", i);
    int64_t elements = noe_shape_elements(&n->types[0].shape);
    if (!noe_dtype_is_computed(n->types[0].dtype) || elements < 0)
        return fail_on_type(g, i, NOE_ERR_UNSUPPORTED,
                            "want floating point or bool of known shape", err);
    if ((uint64_t)elements * sizeof(float) > noe_memory_limit())
        return fail_on_type(g, i, NOE_ERR_LIMIT, "larger than the memory", err);
    return NOE_OK;
}

noe_status noe_check_runnable(const noe_graph *g, const uint8_t *live, noe_error *err)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (live[i])
            NOE_TRY(check_node(g, i, err));
    }
    return NOE_OK;
}
