/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/whole.h"
#include "onnx_io/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES ((size_t)4 << 30) /* of one tensor */

static bool same_type(const noe_run_value *a, const noe_run_value *b)
{
    return a->form == b->form && a->n == b->n &&
           (a->form != NOE_FORM_TENSOR ||
            (a->elem == b->elem && noe_dims_eq(&a->shape, &b->shape)));
}

static noe_status compare_floats(const noe_run_value *want, const noe_run_value *got,
                                 const noe_check_options *options, double *max_rel,
                                 noe_error *err)
{
    double *a = noe_malloc((size_t)want->n * sizeof *a + 1);
    double *b = noe_malloc((size_t)want->n * sizeof *b + 1);
    double scale = 0;
    noe_status status = NOE_OK;
    noe_run_load_f64(want, a);
    noe_run_load_f64(got, b);
    for (int64_t i = 0; i < want->n; i++)
        scale = isfinite(a[i]) ? fmax(scale, fabs(a[i])) : scale;
    for (int64_t i = 0; i < want->n && status == NOE_OK; i++) {
        bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        double diff = fabs(a[i] - b[i]);
        if (!same && !(diff <= options->atol + options->rtol * scale))
            status = noe_fail(err, NOE_ERR_MISMATCH,
                              "element %lld: %.9g became %.9g (largest magnitude %.9g)",
                              (long long)i, a[i], b[i], scale);
        else if (!same && scale > 0)
            *max_rel = fmax(*max_rel, diff / scale);
    }
    free(a);
    free(b);
    return status;
}

static noe_status compare(const noe_run_value *want, const noe_run_value *got,
                          const noe_check_options *options, double *max_rel,
                          noe_error *err)
{
    if (!same_type(want, got))
        return noe_fail(err, NOE_ERR_MISMATCH, "the type or shape is another one");
    for (int64_t i = 0; want->form == NOE_FORM_SEQUENCE && i < want->n; i++)
        NOE_TRY(compare(want->items[i], got->items[i], options, max_rel, err));
    if (want->form != NOE_FORM_TENSOR)
        return NOE_OK;
    if (noe_elem_is_float((int)want->elem))
        return compare_floats(want, got, options, max_rel, err);
    bool same = want->elem == NOE_ELEM_STRING ||
                memcmp(want->data, got->data, want->bytes) == 0;
    for (int64_t i = 0; want->elem == NOE_ELEM_STRING && i < want->n; i++)
        same = same && strcmp(noe_run_text(want, i), noe_run_text(got, i)) == 0;
    return same ? NOE_OK : noe_fail(err, NOE_ERR_MISMATCH, "elements differ");
}

static noe_status make_inputs(const noe_onnx_model *m, uint64_t seed,
                              noe_run_value **in, noe_error *err)
{
    for (uint32_t i = 0; i < noe_run_n_inputs(m); i++) {
        if (!noe_run_input_is_optional(m, i))
            NOE_TRY(noe_run_random(m, i, seed, MAX_BYTES, &in[i], err));
    }
    return NOE_OK;
}

static noe_status check_input(const noe_onnx_model *m, uint32_t i, const char *path,
                              const noe_run_value *v, noe_error *err)
{
    noe_elem elem;
    noe_dims shape;
    if (!v && !noe_run_input_is_optional(m, i))
        return noe_fail(err, NOE_ERR_ARG, "%s: input '%s' is not there", path,
                        noe_run_input_name(m, i));
    if (!v || !noe_run_input_type(m, i, &elem, &shape))
        return NOE_OK;
    bool fits = v->form == NOE_FORM_TENSOR && v->elem == elem &&
                (shape.rank < 0 || v->shape.rank == shape.rank);
    for (int k = 0; fits && k < shape.rank; k++)
        fits = shape.dim[k] < 0 || shape.dim[k] == v->shape.dim[k];
    if (fits)
        return NOE_OK;
    noe_buf want = {0}, got = {0};
    noe_dims_print(&want, &shape);
    noe_dims_print(&got, &v->shape);
    noe_status status = noe_fail(
        err, NOE_ERR_ARG, "%s: input '%s' is %s%s, and the model's %s%s", path,
        noe_run_input_name(m, i), noe_elem_get((int)v->elem)->name, noe_buf_text(&got),
        noe_elem_get((int)elem)->name, noe_buf_text(&want));
    noe_buf_clear(&want);
    noe_buf_clear(&got);
    return status;
}

static noe_status read_inputs(const noe_onnx_model *m, const char *path,
                              noe_run_value **in, noe_error *err)
{
    NOE_TRY(noe_run_read_inputs(m, path, in, err));
    for (uint32_t i = 0; i < noe_run_n_inputs(m); i++)
        NOE_TRY(check_input(m, i, path, in[i], err));
    return NOE_OK;
}

static void release(noe_run_value **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        noe_run_value_release(v[i]);
    free(v);
}

static noe_status compare_runs(const noe_onnx_model *before,
                               const noe_onnx_model *after,
                               const noe_run_value *const *in, noe_run_value **want,
                               noe_run_value **got, const noe_check_options *options,
                               noe_whole_report *r, noe_error *err)
{
    noe_run_options limits = {.max_bytes = MAX_BYTES};
    noe_error why;
    noe_status status = noe_run_model(before, &limits, in, want, &why);
    if (status != NOE_OK) {
        snprintf(r->why, sizeof r->why, "%.299s", why.text);
        return status == NOE_ERR_CANCELLED ? noe_fail(err, status, "%s", why.text)
                                           : NOE_OK;
    }
    status = noe_run_model(after, &limits, in, got, &why);
    if (status != NOE_OK)
        return noe_fail(err, status == NOE_ERR_CANCELLED ? status : NOE_ERR_MISMATCH,
                        "the result cannot be computed: %s", why.text);
    r->n_outputs = noe_run_n_outputs(before);
    for (uint32_t i = 0; i < r->n_outputs; i++) {
        status = compare(want[i], got[i], options, &r->max_rel, err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "output '%s' in the reference executor, ",
                             noe_run_output_name(before, i));
            return status;
        }
    }
    r->is_done = true;
    return NOE_OK;
}

noe_status noe_whole_check(const noe_onnx_model *before, const noe_onnx_model *after,
                           const char *inputs, uint64_t seed,
                           const noe_check_options *options, noe_whole_report *report,
                           noe_error *err)
{
    uint32_t n_in = noe_run_n_inputs(before), n_out = noe_run_n_outputs(before);
    noe_run_value **in = noe_calloc(n_in + 1, sizeof *in);
    noe_run_value **want = noe_calloc(n_out + 1, sizeof *want);
    noe_run_value **got = noe_calloc(n_out + 1, sizeof *got);
    noe_error why;
    *report = (noe_whole_report){0};
    noe_status status = NOE_OK;
    if (noe_run_n_inputs(after) != n_in || noe_run_n_outputs(after) != n_out)
        status = noe_fail(err, NOE_ERR_MISMATCH, "the inputs or outputs are others");
    else if (inputs)
        status = read_inputs(before, inputs, in, err);
    else if (make_inputs(before, seed, in, &why) != NOE_OK)
        snprintf(report->why, sizeof report->why, "%.299s", why.text);
    if (status == NOE_OK && !*report->why)
        status = compare_runs(before, after, (const noe_run_value *const *)in, want,
                              got, options, report, err);
    release(in, n_in);
    release(want, n_out);
    release(got, n_out);
    return status;
}
