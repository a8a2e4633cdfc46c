/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/compare.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

/* Inputs and outputs start this many floats into a block, so that kernels that need
 * aligned memory are found out. */
#define MISALIGNMENT 1

static noe_status run_on(noe_backend *b, const noe_graph *g, float *const *inputs,
                         float *const *outputs, noe_error *err)
{
    noe_executor *e = NULL;
    noe_executor_options options = {.n_threads = 1};
    NOE_TRY(b->vt->prepare(b, g, &options, &e, err));
    noe_status s = NOE_OK;
    /* Twice, so that a run that leaves something behind is seen. */
    for (int i = 0; i < 2 && s == NOE_OK; i++)
        s = b->vt->run(e, (const float *const *)inputs, outputs, err);
    b->vt->release(e);
    return s;
}

static bool compare_output(const noe_graph *g, uint32_t k, const float *got,
                           const float *want, char *text, size_t cap)
{
    size_t worst,
        n = (size_t)noe_shape_elements(&noe_graph_type(g, g->outputs[k].ref)->shape);
    if (noe_close_f32(got, want, n, NOE_BACKEND_TOLERANCE, &worst))
        return true;
    snprintf(text, cap, "output %u (node %u), element %zu of %zu: %.9g and %.9g", k,
             g->outputs[k].ref.node, worst, n, (double)got[worst], (double)want[worst]);
    return false;
}

/* The outputs are exactly as long as they are, for the sanitizer to see. */
static float **exact_outputs(const noe_graph *g)
{
    float **outputs = noe_calloc(g->n_outputs + 1, sizeof *outputs);
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        const noe_shape *s = &noe_graph_type(g, g->outputs[k].ref)->shape;
        size_t n = (size_t)noe_shape_elements(s) + MISALIGNMENT;
        outputs[k] = (float *)noe_malloc(n * sizeof(float)) + MISALIGNMENT;
    }
    return outputs;
}

static void free_outputs(float **outputs, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        free(outputs[k] - MISALIGNMENT);
    free(outputs);
}

bool noe_backends_agree(noe_backend *a, noe_backend *b, const noe_graph *g,
                        uint64_t seed, char *text, size_t cap)
{
    noe_error err = {0};
    noe_arena arena = {0};
    float **inputs = noe_gen_inputs(g, &arena, seed);
    float **outputs[2] = {exact_outputs(g), exact_outputs(g)};
    noe_status s = run_on(a, g, inputs, outputs[0], &err);
    if (s == NOE_OK)
        s = run_on(b, g, inputs, outputs[1], &err);
    bool agree = s == NOE_OK;
    if (!agree)
        snprintf(text, cap, "%s", err.text);
    for (uint32_t k = 0; k < g->n_outputs && agree; k++)
        agree = compare_output(g, k, outputs[0][k], outputs[1][k], text, cap);
    free_outputs(outputs[0], g->n_outputs);
    free_outputs(outputs[1], g->n_outputs);
    noe_arena_clear(&arena);
    return agree;
}
