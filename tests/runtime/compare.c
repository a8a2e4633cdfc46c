/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/compare.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <math.h>
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

/* v with the scale behind it, so that it takes part in the largest magnitude. */
static float *with_scale(const float *v, size_t n, float scale)
{
    float *copy = noe_malloc((n + 1) * sizeof *copy);
    memcpy(copy, v, n * sizeof *copy);
    copy[n] = scale;
    return copy;
}

static bool compare_output(const noe_graph *g, uint32_t k, const float *got,
                           const float *want, float scale, double tolerance, char *text,
                           size_t cap)
{
    const noe_shape *s = &noe_graph_type(g, g->outputs[k].ref)->shape;
    size_t worst, n = (size_t)noe_shape_elements(s);
    float *a = with_scale(got, n, scale), *b = with_scale(want, n, scale);
    bool close = noe_close_f32(a, b, n + 1, tolerance, &worst);
    if (!close)
        snprintf(text, cap,
                 "output %u (node %u), element %zu of %zu: %.9g and %.9g (scale %g)", k,
                 g->outputs[k].ref.node, worst, n, (double)a[worst], (double)b[worst],
                 (double)scale);
    free(a);
    free(b);
    return close;
}

static float largest(const float *v, size_t n, float so_far)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(v[i]) && fabsf(v[i]) > so_far)
            so_far = fabsf(v[i]);
    }
    return so_far;
}

/* The largest magnitude, at least 1, among the values that output k is computed from:
 * what cancels (x - mean(x), summed) is exact to rounding of these only. all: the same
 * graph with every operator's value as an output behind g's own. */
static float scale_of(const noe_graph *g, uint32_t k, const noe_graph *all,
                      float *const *values)
{
    noe_graph *cone = noe_graph_copy(g);
    uint8_t *live = noe_calloc(g->n_nodes, 1);
    cone->outputs[0] = cone->outputs[k];
    cone->n_outputs = 1;
    noe_graph_mark_live(cone, live);
    float scale = 1;
    for (uint32_t i = g->n_outputs; i < all->n_outputs; i++) {
        uint32_t node = all->outputs[i].ref.node;
        const noe_shape *s = &all->nodes[node].types[0].shape;
        if (live[node])
            scale = largest(values[i], (size_t)noe_shape_elements(s), scale);
    }
    free(live);
    noe_graph_free(cone);
    return scale;
}

static noe_graph *with_all_outputs(const noe_graph *g)
{
    noe_graph *all = noe_graph_copy(g);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        noe_graph_add_output(all, (noe_ref){i, 0}, "");
    return all;
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

bool noe_backends_agree_within(noe_backend *b, noe_backend *oracle, const noe_graph *g,
                               uint64_t seed, double tolerance, char *text, size_t cap)
{
    noe_error err = {0};
    noe_arena arena = {0};
    noe_graph *all = with_all_outputs(g);
    float **inputs = noe_gen_inputs(g, &arena, seed);
    float **got = exact_outputs(g), **want = exact_outputs(all);
    noe_status s = run_on(b, g, inputs, got, &err);
    if (s == NOE_OK)
        s = run_on(oracle, all, inputs, want, &err);
    bool agree = s == NOE_OK;
    if (!agree)
        snprintf(text, cap, "%s", err.text);
    for (uint32_t k = 0; k < g->n_outputs && agree; k++)
        agree = compare_output(g, k, got[k], want[k], scale_of(g, k, all, want),
                               tolerance, text, cap);
    free_outputs(got, g->n_outputs);
    free_outputs(want, all->n_outputs);
    noe_arena_clear(&arena);
    noe_graph_free(all);
    return agree;
}

bool noe_backends_agree(noe_backend *b, noe_backend *oracle, const noe_graph *g,
                        uint64_t seed, char *text, size_t cap)
{
    return noe_backends_agree_within(b, oracle, g, seed, NOE_BACKEND_TOLERANCE, text,
                                     cap);
}
