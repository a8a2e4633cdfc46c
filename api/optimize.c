/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and runs of the optimizer.
 */
#include "api/api.h"
#include "optimizer/job.h"
#include <stdlib.h>

struct noether_report {
    noe_buf text, json;
    int interrupted;
};

/* ---- options ---- */

/* How a program's run ends is not a library's business. */
static const char *const of_the_program[] = {"output", "dry-run", "bisect"};

static bool is_offered(const char *name)
{
    for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++) {
        if (strcmp(name, of_the_program[i]) == 0)
            return false;
    }
    return true;
}

NOE_API noether_options *noether_options_new(void)
{
    noether_options *o = noe_calloc(1, sizeof *o);
    o->program = noe_command_describe(&o->command, o->table);
    return o;
}

NOE_API void noether_options_free(noether_options *o)
{
    if (!o)
        return;
    noe_arena_clear(&o->arena);
    free(o);
}

NOE_API noether_status noether_options_set(noether_options *o, const char *name,
                                           const char *value, noether_error *e)
{
    noe_error err = {0};
    const char *copy = noe_arena_strdup(&o->arena, value);
    noe_status status =
        is_offered(name)
            ? noe_option_set(&o->program, name, copy, &err)
            : noe_fail(&err, NOE_ERR_ARG, "'%s' is the program's own option", name);
    return noe_api_status(status, &err, e);
}

NOE_API char *noether_options_list(void)
{
    noether_options *o = noether_options_new();
    noe_buf b = {0};
    for (int i = 0; i < o->program.n_options; i++) {
        const noe_option *p = &o->table[i];
        if (is_offered(p->name))
            noe_buf_printf(&b, "%s\t%s\t%s\n", p->name, p->operand ? p->operand : "",
                           p->help);
    }
    noether_options_free(o);
    return b.text;
}

NOE_API void noether_options_progress(noether_options *o, noether_progress *call,
                                      void *ctx)
{
    o->progress = call;
    o->progress_ctx = ctx;
}

NOE_API void noether_options_log(noether_options *o, noether_log *call, void *ctx)
{
    o->log = call;
    o->log_ctx = ctx;
}

/* ---- a run ---- */

typedef struct run {
    noe_job job;
    noe_command command;
    const noether_options *options; /* NULL: defaults */
    noether_options *defaults;
    volatile sig_atomic_t cancel;
} run;

static void call_progress(void *self, const char *text)
{
    run *r = self;
    if (r->options->progress(r->options->progress_ctx, text) != 0)
        r->cancel = 1;
}

static void call_log(void *self, noe_log_level level, const char *text)
{
    run *r = self;
    if (level <= (r->command.verbose ? NOE_LOG_INFO : NOE_LOG_WARN))
        r->options->log(r->options->log_ctx, (int)level, text);
}

/* from is a file, NULL: data is the model, which messages call "model". */
static noe_status start(run *r, const noether_options *o, const char *from,
                        const char *to, noe_error *err)
{
    const char *operands[2] = {from ? from : "model", to};
    r->defaults = o ? NULL : noether_options_new();
    r->options = o ? o : r->defaults;
    r->command = r->options->command;
    r->command.dry_run = !to;
    r->job.cmd = &r->command;
    r->job.env = (noe_env){.log = r->options->log ? call_log : NULL,
                           .progress = r->options->progress ? call_progress : NULL,
                           .self = r,
                           .seed = (uint64_t)r->command.seed,
                           .n_threads = (int)r->command.threads,
                           .cancel = &r->cancel};
    return noe_command_check(&r->command, operands, to ? 2 : 1, err);
}

static void end(run *r)
{
    noe_job_release(&r->job);
    noether_options_free(r->defaults);
    free(r);
}

static void make_report(const run *r, noether_report **report)
{
    const noe_job *j = &r->job;
    if (!report)
        return;
    *report = noe_calloc(1, sizeof **report);
    noe_job_report(j, &(*report)->text);
    noe_job_report_json(j, &(*report)->json);
    (*report)->interrupted =
        j->result.search.interrupted || j->result.search.out_of_time;
}

static noe_status want_self_contained(const noether_model *m, noe_error *err)
{
    if (m->onnx && !noe_onnx_is_self_contained(m->onnx))
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "the model refers to other files: optimize it from file to "
                        "file");
    return NOE_OK;
}

/* The input's own bytes where nothing better was found. */
static noe_status take_result(run *r, noether_model **result, noe_error *err)
{
    char *data = r->job.bytes;
    size_t len = r->job.n_bytes;
    if (!data) {
        len = r->job.len;
        data = noe_malloc(len + 1);
        memcpy(data, r->job.data, len);
    }
    r->job.bytes = NULL;
    return noe_api_adopt(data, len, result, err);
}

NOE_API noether_status noether_optimize(const noether_model *m,
                                        const noether_options *o,
                                        noether_model **result, noether_report **report,
                                        noether_error *e)
{
    noe_error err = {0};
    char *owned = NULL;
    run *r = noe_calloc(1, sizeof *r);
    r->job.shown = "optimized model";
    noe_status status = start(r, o, NULL, NULL, &err);
    if (status == NOE_OK)
        status = want_self_contained(m, &err);
    if (status == NOE_OK)
        status = noe_api_bytes(m, &r->job.data, &r->job.len, &owned, &err);
    if (status == NOE_OK)
        status = noe_job_optimize(&r->job, &err);
    if (status == NOE_OK)
        status = take_result(r, result, &err);
    if (status == NOE_OK)
        make_report(r, report);
    end(r);
    free(owned);
    return noe_api_status(status, &err, e);
}

NOE_API noether_status noether_optimize_file(const char *in, const char *out,
                                             const noether_options *o,
                                             noether_report **report, noether_error *e)
{
    noe_error err = {0};
    run *r = noe_calloc(1, sizeof *r);
    noe_status status = start(r, o, in, out, &err);
    if (status == NOE_OK)
        status = noe_job_optimize(&r->job, &err);
    if (status == NOE_OK)
        make_report(r, report);
    end(r);
    return noe_api_status(status, &err, e);
}

/* A run that only looks at the model. */
typedef noe_status look(noe_job *j, void *out, noe_error *err);

static noether_status look_at(const noether_model *m, const noether_options *o,
                              look *call, void *out, noether_error *e)
{
    noe_error err = {0};
    char *owned = NULL;
    run *r = noe_calloc(1, sizeof *r);
    noe_status status = start(r, o, NULL, NULL, &err);
    if (status == NOE_OK)
        status = want_self_contained(m, &err);
    if (status == NOE_OK)
        status = noe_api_bytes(m, &r->job.data, &r->job.len, &owned, &err);
    if (status == NOE_OK)
        status = call(&r->job, out, &err);
    end(r);
    free(owned);
    return noe_api_status(status, &err, e);
}

static noe_status look_cost(noe_job *j, void *out, noe_error *err)
{
    noe_breakdown b;
    noe_status status = noe_job_breakdown(j, &b, err);
    if (status == NOE_OK)
        *(double *)out = b.seconds;
    noe_breakdown_clear(&b);
    return status;
}

static noe_status look_time(noe_job *j, void *out, noe_error *err)
{
    return noe_job_time(j, out, err);
}

static noe_status look_kernels(noe_job *j, void *out, noe_error *err)
{
    noe_breakdown b;
    noe_buf text = {0};
    noe_status status = noe_job_breakdown(j, &b, err);
    if (status == NOE_OK) {
        noe_breakdown_json(&b, &text);
        *(char **)out = text.text;
    }
    noe_breakdown_clear(&b);
    return status;
}

NOE_API noether_status noether_model_cost(const noether_model *m,
                                          const noether_options *o, double *seconds,
                                          noether_error *e)
{
    return look_at(m, o, look_cost, seconds, e);
}

NOE_API noether_status noether_model_time(const noether_model *m,
                                          const noether_options *o, double *seconds,
                                          noether_error *e)
{
    return look_at(m, o, look_time, seconds, e);
}

NOE_API noether_status noether_model_kernels(const noether_model *m,
                                             const noether_options *o, char **json,
                                             noether_error *e)
{
    return look_at(m, o, look_kernels, json, e);
}

/* ---- reports ---- */

NOE_API const char *noether_report_text(const noether_report *r)
{
    return noe_buf_text(&r->text);
}

NOE_API const char *noether_report_json(const noether_report *r)
{
    return noe_buf_text(&r->json);
}

NOE_API int noether_report_interrupted(const noether_report *r)
{
    return r->interrupted;
}

NOE_API void noether_report_free(noether_report *r)
{
    if (!r)
        return;
    noe_buf_clear(&r->text);
    noe_buf_clear(&r->json);
    free(r);
}
