/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/check.h"
#include "core/base/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct runner {
    noe_backend *backend[2]; /* that the original, the result runs on */
    const noe_cut *cut;
    const noe_check_options *options;
    noe_executor *executor; /* of one of them: each holds all weights once more */
    float **inputs;
    noe_dtype *types;      /* of the inputs */
    const void **defaults; /* of the inputs that have one, else NULL */
    int64_t *input_elements;
    uint32_t n_inputs;
    float ***wanted; /* outputs of the original, of each run */
    float **outputs; /* of the result */
    int64_t *output_elements;
    noe_check_report *report;
} runner;

static void fill_input(float *x, int64_t n, int style, noe_rng *rng)
{
    for (int64_t i = 0; i < n; i++) {
        double v = noe_rng_normal(rng);
        if (style == 1)
            v = noe_rng_below(rng, 2) ? v * 100 : 0;
        else if (style == 2)
            v = fabs(v) * 0.1;
        x[i] = (float)v;
    }
}

/* Values that the type has. */
static void make_typed(float *x, int64_t n, noe_dtype d)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = d == NOE_BOOL ? x[i] > 0 : (float)noe_dtype_round(d, (double)x[i]);
}

/* In the form in which executors compute. */
static void load_default(float *x, int64_t n, const noe_leaf *leaf)
{
    double *wide = noe_malloc((size_t)n * sizeof *wide + 1);
    noe_dtype_load(leaf->type.dtype, leaf->data, n, wide);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)wide[i];
    free(wide);
}

static void make_inputs(runner *r, uint64_t seed, int run)
{
    for (uint32_t i = 0; i < r->n_inputs; i++) {
        if (r->defaults[i])
            continue;
        noe_rng rng =
            noe_rng_split(seed, "check input", ((uint64_t)run << 32) | (uint64_t)i);
        fill_input(r->inputs[i], r->input_elements[i], run % 3, &rng);
        make_typed(r->inputs[i], r->input_elements[i], r->types[i]);
    }
}

static double magnitude(const float *x, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(x[i]))
            largest = fmax(largest, fabs((double)x[i]));
    }
    return largest;
}

/* Sums near the largest float overflow or do not, by the order of their terms, and the
 * difference of two that did is NaN. */
#define NEAR_OVERFLOW 0x1p120F

static bool is_overflow(float x)
{
    return !isfinite(x) || fabsf(x) >= NEAR_OVERFLOW;
}

/* scale: largest finite magnitude of the tensor. */
static bool same_kind(float a, float b, double scale)
{
    if (scale >= NEAR_OVERFLOW && is_overflow(a) && is_overflow(b))
        return true;
    return isnan(a) == isnan(b) && isinf(a) == isinf(b) &&
           (!isinf(a) || signbit(a) == signbit(b));
}

static noe_status differ(const runner *r, uint32_t output, int64_t at, float want,
                         float got, double scale, noe_error *err)
{
    return noe_fail(err, NOE_ERR_MISMATCH,
                    "%s, element %lld: %.9g became %.9g (largest magnitude %.9g, "
                    "tolerance %g + %g of it)",
                    r->cut->labels[output], (long long)at, (double)want, (double)got,
                    scale, r->options->atol, r->options->rtol);
}

static noe_status compare_output(runner *r, int run, uint32_t output, noe_error *err)
{
    const float *want = r->wanted[run][output], *got = r->outputs[output];
    int64_t n = r->output_elements[output];
    double scale = magnitude(want, n);
    double tolerance = r->options->atol + r->options->rtol * scale;
    for (int64_t i = 0; i < n; i++) {
        if (!same_kind(want[i], got[i], scale))
            return differ(r, output, i, want[i], got[i], scale, err);
        if (!isfinite(want[i]) || !isfinite(got[i]))
            continue;
        double diff = fabs((double)got[i] - (double)want[i]);
        if (diff > tolerance)
            return differ(r, output, i, want[i], got[i], scale, err);
        r->report->max_abs = fmax(r->report->max_abs, diff);
        if (scale > 0 && diff / scale > r->report->max_rel) {
            r->report->max_rel = diff / scale;
            snprintf(r->report->worst, sizeof r->report->worst, "%s",
                     r->cut->labels[output]);
        }
    }
    return NOE_OK;
}

/* All runs of the original, or of the result, which are compared with those. */
static noe_status run_side(runner *r, int side, uint64_t seed, noe_error *err)
{
    noe_backend *b = r->backend[side];
    const noe_graph *g = side ? r->cut->result : r->cut->original;
    noe_executor_options options = {.n_threads = b->env->n_threads};
    noe_status status = b->vt->prepare(b, g, &options, &r->executor, err);
    for (int run = 0; run < r->options->n_inputs && status == NOE_OK; run++) {
        noe_progress(b->env, "checking: input %d of %d, %s", run + 1,
                     r->options->n_inputs, side ? "result" : "original");
        make_inputs(r, seed, run);
        status = b->vt->run(r->executor, (const float *const *)r->inputs,
                            side ? r->outputs : r->wanted[run], err);
        for (uint32_t i = 0; side && i < r->cut->n_outputs && status == NOE_OK; i++)
            status = compare_output(r, run, i, err);
    }
    if (r->executor)
        b->vt->release(r->executor);
    r->executor = NULL;
    return status;
}

static float *new_tensor(const noe_type *t, int64_t *elements)
{
    *elements = noe_shape_elements(&t->shape);
    NOE_ASSERT(noe_dtype_is_computed(t->dtype) && *elements >= 0);
    return noe_calloc((size_t)*elements + 1, sizeof(float));
}

static float **new_outputs(runner *r)
{
    const noe_graph *g = r->cut->original;
    float **outputs = noe_calloc(g->n_outputs + 1, sizeof *outputs);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        outputs[i] =
            new_tensor(noe_graph_type(g, g->outputs[i].ref), &r->output_elements[i]);
    return outputs;
}

static void free_outputs(const runner *r, float **outputs)
{
    for (uint32_t i = 0; i < r->cut->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

static void make_buffers(runner *r)
{
    const noe_graph *g = r->cut->original;
    r->inputs = noe_calloc(g->n_nodes + 1, sizeof *r->inputs);
    r->input_elements = noe_calloc(g->n_nodes + 1, sizeof *r->input_elements);
    r->defaults = noe_calloc(g->n_nodes + 1, sizeof *r->defaults);
    r->types = noe_calloc(g->n_nodes + 1, sizeof *r->types);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_INPUT)
            continue;
        r->inputs[r->n_inputs] =
            new_tensor(g->nodes[i].types, &r->input_elements[r->n_inputs]);
        const noe_leaf *leaf = noe_graph_leaf_of(g, i);
        r->types[r->n_inputs] = leaf->type.dtype;
        r->defaults[r->n_inputs] = leaf->type.dtype == NOE_BOOL ? NULL : leaf->data;
        if (r->defaults[r->n_inputs])
            load_default(r->inputs[r->n_inputs], r->input_elements[r->n_inputs], leaf);
        r->n_inputs++;
    }
    r->output_elements = noe_calloc(g->n_outputs + 1, sizeof *r->output_elements);
    r->wanted = noe_calloc((size_t)r->options->n_inputs + 1, sizeof *r->wanted);
    for (int run = 0; run < r->options->n_inputs; run++)
        r->wanted[run] = new_outputs(r);
    r->outputs = new_outputs(r);
}

static void clear_runner(runner *r)
{
    for (uint32_t i = 0; i < r->n_inputs; i++)
        free(r->inputs[i]);
    for (int run = 0; run < r->options->n_inputs; run++)
        free_outputs(r, r->wanted[run]);
    free(r->wanted);
    free_outputs(r, r->outputs);
    free(r->inputs);
    free(r->input_elements);
    free(r->defaults);
    free(r->types);
    free(r->output_elements);
}

static noe_status check_between(runner *r, uint64_t seed, noe_error *err)
{
    int n = r->options->n_inputs;
    *r->report = (noe_check_report){.n_inputs = n, .n_outputs = r->cut->n_outputs};
    if (n <= 0 || r->cut->n_outputs == 0)
        return NOE_OK;
    make_buffers(r);
    noe_status status = run_side(r, 0, seed, err);
    if (status == NOE_OK)
        status = run_side(r, 1, seed, err);
    clear_runner(r);
    return status;
}

noe_status noe_check_run(noe_backend *backend, const noe_cut *cut, uint64_t seed,
                         const noe_check_options *options, noe_check_report *report,
                         noe_error *err)
{
    runner r = {.backend = {backend, backend},
                .cut = cut,
                .options = options,
                .report = report};
    return check_between(&r, seed, err);
}

noe_status noe_check_device(noe_backend *exact, noe_backend *device, const noe_cut *cut,
                            uint64_t seed, double tolerance, noe_check_report *report,
                            noe_error *err)
{
    noe_cut same = *cut;
    same.result = cut->original;
    noe_check_options options = {1, INFINITY, NOE_CHECK_ATOL};
    runner r = {.backend = {exact, device},
                .cut = &same,
                .options = &options,
                .report = report};
    NOE_TRY(check_between(&r, seed, err));
    options.rtol = fmax(tolerance, 2 * report->max_rel);
    r = (runner){
        .backend = {exact, device}, .cut = cut, .options = &options, .report = report};
    return check_between(&r, seed, err);
}
