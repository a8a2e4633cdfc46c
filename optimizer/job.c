/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/job.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "optimizer/report_html.h"
#include <stdlib.h>
#include <unistd.h>

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    noe_buf b = {0};
    if (slash)
        noe_buf_add(&b, path, slash == path ? 1 : (size_t)(slash - path));
    else
        noe_buf_puts(&b, ".");
    return b.text;
}

static noe_status load_open(noe_job *j, noe_onnx_options options, noe_error *err)
{
    size_t len;
    const void *data = noe_onnx_bytes(j->model, &len);
    options.folder = j->data ? NULL : j->folder;
    noe_status status = noe_onnx_load_open(data, len, &options, &j->env, &j->open, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", j->cmd->in);
    return status;
}

/* What the search is about and what is written: the model over open sizes if there
 * are some. */
static const noe_onnx_model *searched(const noe_job *j)
{
    return j->open ? j->open : j->model;
}

const noe_graph *noe_job_graph(const noe_job *j)
{
    return noe_onnx_graph(searched(j));
}

static noe_status load_model(noe_job *j, noe_error *err)
{
    j->folder = folder_of(j->cmd->in);
    noe_onnx_options options = {.input_shapes = j->cmd->input_shapes.text,
                                .n_input_shapes = j->cmd->input_shapes.n,
                                .assumed_shapes = j->cmd->assumed_shapes.text,
                                .n_assumed_shapes = j->cmd->assumed_shapes.n,
                                .assumed_set = NOE_OPEN_ASSUMED,
                                .constant_initializers = j->cmd->constant_initializers};
    NOE_TRY(j->data ? noe_onnx_load_memory(j->data, j->len, &options, &j->env,
                                           &j->model, err)
                    : noe_onnx_load(j->cmd->in, &options, &j->env, &j->model, err));
    if (options.n_assumed_shapes > 0)
        NOE_TRY(load_open(j, options, err));
    uint32_t n = noe_onnx_n_defaults(j->model);
    if (n > 0)
        noe_log(&j->env, NOE_LOG_WARN,
                "%s: %u initializers are graph inputs too and are not taken for "
                "constants; if nobody sets them, give --constant-initializers",
                j->cmd->in, n);
    return NOE_OK;
}

/* --rules, $NOETHER_RULES, the build folder's database, the installed one. */
static const char *find_rules(const noe_command *cmd)
{
    static const char installed[] = NOE_DATA_DIR "/rules.db";
    const char *env = getenv("NOETHER_RULES");
    if (cmd->rules)
        return cmd->rules;
    if (env && *env)
        return env;
    return access("build/rules.db", R_OK) == 0 ? "build/rules.db" : installed;
}

static noe_status load_rules(noe_job *j, noe_error *err)
{
    const char *path = j->rules_path = find_rules(j->cmd);
    const noe_command *c = j->cmd;
    noe_rule_filter filter = {.classes = noe_command_classes(c),
                              .only = c->only_rules.text,
                              .n_only = c->only_rules.n,
                              .skip = c->skip_rules.text,
                              .n_skip = c->skip_rules.n};
    noe_status status = noe_rule_set_load(&j->rules, path, &filter, err);
    if (status == NOE_OK && j->rules.n == 0)
        noe_log(&j->env, NOE_LOG_WARN, "%s holds no usable rule", path);
    noe_log(&j->env, NOE_LOG_INFO, "%s: %d rules, %d directions", path, j->rules.n_rows,
            j->rules.n);
    return status;
}

static noe_status open_costs(noe_job *j, noe_error *err)
{
    const noe_graph *g = noe_onnx_graph(j->model);
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    noe_graph_mark_live(g, live);
    uint64_t weight_bytes = j->cmd->hot_weights ? 0 : noe_weight_bytes(g, live);
    free(live);
    if (j->cmd->costs)
        NOE_TRY(noe_ruledb_open(j->cmd->costs,
                                j->cmd->freeze ? NOE_RULEDB_READ : NOE_RULEDB_CREATE,
                                &j->cost_db, err));
    noe_device_options options = {.name = j->cmd->device,
                                  .db = j->cost_db,
                                  .frozen = j->cmd->freeze,
                                  .dtype = j->cmd->dtype,
                                  .weight_bytes = weight_bytes};
    NOE_TRY(noe_device_open(&j->device, &options, &j->env, err));
    noe_cost_recorder_init(&j->recorder, j->device.model);
    noe_cost_model *model = j->cmd->record ? &j->recorder.model : j->device.model;
    if (j->open) {
        noe_open_costs_init(&j->open_costs, model,
                            noe_pool_open(noe_onnx_pool(j->open)));
        model = &j->open_costs.model;
    }
    noe_costs_init(&j->costs, model);
    return NOE_OK;
}

static noe_op origin_op(void *ctx, uint32_t origin)
{
    return noe_onnx_origin_op(ctx, origin);
}

static void drop_written(noe_job *j)
{
    noe_graph_free(j->written_graph);
    noe_onnx_free(j->written);
    j->written_graph = NULL;
    j->written = NULL;
}

static bool has_opaque(const noe_graph *g)
{
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    bool found = false;
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        found = found || (live[i] && g->nodes[i].op == NOE_OP_OPAQUE);
    free(live);
    return found;
}

/* The original and the written model, both with open sizes replaced by others than
 * those that the user assumes. */
static noe_status check_at(noe_job *j, noe_open_set set, const char *data, size_t len,
                           noe_error *err)
{
    size_t n_original;
    const void *original = noe_onnx_bytes(j->model, &n_original);
    noe_onnx_options options = {.input_shapes = j->cmd->input_shapes.text,
                                .n_input_shapes = j->cmd->input_shapes.n,
                                .assumed_shapes = j->cmd->assumed_shapes.text,
                                .n_assumed_shapes = j->cmd->assumed_shapes.n,
                                .assumed_set = set,
                                .constant_initializers = j->cmd->constant_initializers,
                                .folder = j->data ? NULL : j->folder};
    noe_onnx_model *before, *after = NULL;
    noe_graph *graph = NULL;
    noe_cut cut;
    NOE_TRY(
        noe_onnx_load_memory(original, n_original, &options, &j->env, &before, err));
    char *copy = noe_malloc(len + 1); /* which reading takes */
    memcpy(copy, data, len);
    noe_status status = noe_onnx_reread(before, copy, len, &after, &graph, err);
    if (status == NOE_OK &&
        noe_optimize_cut(noe_onnx_graph(before), graph, &cut, err) != NOE_OK)
        status = NOE_ERR_UNSUPPORTED; /* not comparable */
    if (status == NOE_OK) {
        noe_check_options check = j->options.check;
        check.n_inputs = 1;
        status = noe_check_run(j->device.checking, &cut, j->env.seed, &check,
                               &j->other_sizes, err);
        noe_cut_clear(&cut);
    }
    noe_graph_free(graph);
    noe_onnx_free(after);
    noe_onnx_free(before);
    return status;
}

static noe_status check_other_sizes(noe_job *j, const char *data, size_t len,
                                    noe_error *err)
{
    static const noe_open_set sets[] = {NOE_OPEN_ONES, NOE_OPEN_SMALL};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        noe_status status = check_at(j, sets[i], data, len, err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "at other sizes than the assumed ones: ");
            return status;
        }
    }
    return NOE_OK;
}

static noe_status reread(void *ctx, const noe_graph *g, const noe_graph **seen,
                         noe_error *err)
{
    noe_job *j = ctx;
    char *data;
    size_t len;
    drop_written(j);
    NOE_TRY(noe_onnx_serialize_beside(searched(j), g, &data, &len, err));
    noe_status status = NOE_OK;
    if (j->open && j->cmd->check > 0)
        status = check_other_sizes(j, data, len, err);
    if (status != NOE_OK) {
        free(data);
        return status;
    }
    status = noe_onnx_reread(j->model, data, len, &j->written, &j->written_graph, err);
    *seen = j->written_graph;
    if (status == NOE_OK && j->cmd->check > 0 &&
        (j->cmd->inputs || has_opaque(noe_onnx_graph(j->model))))
        status = noe_whole_check(j->model, j->written, j->cmd->inputs, j->env.seed,
                                 &j->options.check, &j->whole, err);
    return status;
}

/* Both forms as files in ONNX Runtime, with all that the algebra does not speak about.
 */
static noe_status time_files(void *ctx, const noe_graph *g, const noe_graph *better,
                             noe_trial *trial, noe_error *err)
{
    noe_job *j = ctx;
    (void)g;
    char *after = NULL;
    size_t n_before, n_after;
    const void *before = noe_onnx_bytes(j->model, &n_before);
    char *text = NULL;
    bool found = false;
    noe_referee *referee = &j->device.referee;
    noe_status status =
        noe_onnx_serialize_beside(searched(j), better, &after, &n_after, err);
    if (status == NOE_OK) {
        text = noe_referee_trial_text(referee, noe_hash64(before, n_before, 0),
                                      noe_hash64(after, n_after, 0));
        status = noe_trial_recall(trial, referee, text, &found, err);
    }
    if (status == NOE_OK && !found && !referee->frozen)
        status = noe_trial_models(j->device.timing, noe_onnx_graph(j->model), j->folder,
                                  (noe_bytes){before, n_before},
                                  (noe_bytes){after, n_after}, trial, err);
    if (status == NOE_ERR_BACKEND) {
        noe_log(&j->env, NOE_LOG_WARN, "the whole models cannot be timed: %s",
                err ? err->text : "");
        trial->failed = true;
        status = NOE_OK;
    }
    if (status == NOE_OK && !found && trial->done)
        status = noe_referee_keep(referee, text, &trial->pair, err);
    free(text);
    free(after);
    return status;
}

static noe_status search_and_check(noe_job *j, noe_error *err)
{
    const noe_command *cmd = j->cmd;
    const noe_graph *g = noe_job_graph(j);
    uint64_t growth =
        cmd->max_growth >= 0 ? (uint64_t)cmd->max_growth : noe_default_growth(g);
    noe_search_method method = NOE_SEARCH_BEST;
    noe_command_method(cmd, &method);
    j->options = (noe_optimize_options){
        .search = {.method = method,
                   .alpha = cmd->alpha,
                   .budget = cmd->budget,
                   .time_limit = cmd->time_limit,
                   .max_growth = growth,
                   .script = cmd->replay ? &j->script : NULL,
                   .referee = cmd->no_timing || j->open ? NULL : &j->device.referee},
        .check = {(int)cmd->check, cmd->rtol, cmd->atol},
        .seed = j->env.seed,
        .time_whole = !cmd->no_timing && j->device.timing,
        .trial = j->device.is_ort ? time_files : NULL,
        .trial_ctx = j,
        .device = j->device.is_cuda ? j->device.timing : NULL,
        .device_tolerance = j->device.tolerance,
        .origin_op = origin_op,
        .origin_ctx = j->model,
        .original = j->open ? noe_onnx_graph(j->model) : NULL,
        .reread = reread,
        .reread_ctx = j};
    noe_status status = noe_optimize(&j->env, g, &j->rules, &j->costs,
                                     j->device.checking, &j->options, &j->result, err);
    if (status == NOE_ERR_MISMATCH)
        noe_error_prefix(err,
                         "%s: the result differs from the original, nothing is "
                         "written: ",
                         cmd->in);
    return status;
}

static void count_file(noe_file_facts *f, const void *data, size_t len)
{
    f->bytes = len;
    f->n_counts = noe_onnx_count_ops(data, len, f->counts,
                                     (int)(sizeof f->counts / sizeof *f->counts));
}

/* Nothing better was found: the file itself is written, byte for byte. What refers to
 * other files must be written anew, in case the result lies elsewhere. */
static bool is_input_kept(const noe_job *j)
{
    return j->result.decision != NOE_DECISION_BETTER &&
           noe_onnx_is_self_contained(j->model);
}

static noe_status write_input(noe_job *j, noe_error *err)
{
    size_t len;
    const void *data = noe_onnx_bytes(j->model, &len);
    j->after = j->before;
    return j->cmd->dry_run ? NOE_OK : noe_file_write(j->cmd->out, data, len, err);
}

/* The input again, with external data where the result lies. */
static noe_status write_plain(noe_job *j, noe_error *err)
{
    noe_onnx_options options = {.constant_initializers = j->cmd->constant_initializers};
    noe_onnx_model *plain;
    j->after = j->before;
    if (j->cmd->dry_run)
        return NOE_OK;
    NOE_TRY(noe_onnx_load(j->cmd->in, &options, &j->env, &plain, err));
    noe_status status = noe_onnx_save(plain, noe_onnx_graph(plain), j->cmd->out, err);
    noe_onnx_free(plain);
    return status;
}

static noe_status write_model(noe_job *j, noe_error *err)
{
    char *data;
    size_t len;
    if (is_input_kept(j))
        return write_input(j, err);
    if (j->open && j->result.decision != NOE_DECISION_BETTER)
        return write_plain(j, err);
    if (j->cmd->dry_run) {
        NOE_TRY(noe_onnx_serialize(searched(j), j->result.graph, &j->bytes, &j->n_bytes,
                                   err));
        count_file(&j->after, j->bytes, j->n_bytes);
        return NOE_OK;
    }
    NOE_TRY(noe_onnx_save(searched(j), j->result.graph, j->cmd->out, err));
    NOE_TRY(noe_file_read(j->cmd->out, UINT64_MAX, &data, &len, err));
    count_file(&j->after, data, len);
    free(data);
    return NOE_OK;
}

void noe_job_report(const noe_job *j, noe_buf *b)
{
    const char *to = j->shown ? j->shown : j->cmd->out;
    noe_buf_printf(b, "%s -> %s\n", j->cmd->in,
                   j->cmd->dry_run && !j->shown ? "nothing (dry run)" : to);
    noe_report_table(b, &j->before, &j->after, &j->result);
    noe_report_rules(b, &j->rules, &j->result);
    if (j->cmd->explain)
        noe_report_steps(b, &j->rules, &j->result);
    noe_report_outcome(b, &j->options, &j->result);
    if (j->other_sizes.n_outputs > 0)
        noe_buf_puts(b, "check with open sizes 1, and small: passed\n");
    if (j->result.device_check.n_outputs > 0)
        noe_buf_printf(b,
                       "check on the device: passed; largest difference from f32 %.2g "
                       "of the magnitude\n",
                       j->result.device_check.max_rel);
    if (j->whole.is_done)
        noe_buf_printf(
            b,
            "check of the whole in the reference executor%s%s: passed, %u output%s; "
            "largest difference %.2g of the magnitude\n",
            j->cmd->inputs ? " on " : "", j->cmd->inputs ? j->cmd->inputs : "",
            j->whole.n_outputs, j->whole.n_outputs == 1 ? "" : "s", j->whole.max_rel);
    else if (*j->whole.why)
        noe_buf_printf(
            b, "check of the whole in the reference executor: not possible: %s\n",
            j->whole.why);
    noe_buf_printf(b,
                   "costs: %s; %llu kernels timed, %llu known from before%s\n"
                   "time: %.1f s (check %.1f s, timing of the whole %.1f s), memory "
                   "%.0f MiB\n",
                   j->device.description,
                   (unsigned long long)j->device.measured.n_timed,
                   (unsigned long long)j->device.measured.n_found,
                   j->device.measured.options.cold_weights ? ", cold weights" : "",
                   j->seconds, j->result.check_seconds, j->result.trial_seconds,
                   (double)noe_peak_rss_kib() / 1024);
    if (j->cmd->verbose)
        noe_report_opaque(b, searched(j));
}

void noe_job_report_json(const noe_job *j, noe_buf *b)
{
    noe_report_json(b, j->cmd->in, j->device.description, j->seconds, &j->before,
                    &j->after, &j->rules, &j->result);
}

static noe_status load_script(noe_job *j, noe_error *err)
{
    char *text;
    size_t len;
    if (!j->cmd->replay)
        return NOE_OK;
    NOE_TRY(noe_file_read(j->cmd->replay, UINT64_MAX, &text, &len, err));
    noe_status status =
        noe_script_parse(text, j->input_hash, &j->rules, &j->script, err);
    free(text);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", j->cmd->replay);
    return status;
}

static noe_status set_up(noe_job *j, noe_error *err)
{
    NOE_TRY(load_model(j, err));
    if (!j->cmd->dry_run)
        NOE_TRY(noe_file_check_writable(j->cmd->out, err));
    NOE_TRY(load_rules(j, err));
    NOE_TRY(open_costs(j, err));
    size_t len;
    const void *data = noe_onnx_bytes(j->model, &len);
    count_file(&j->before, data, len);
    j->input_hash = noe_hash64(data, len, 0);
    return load_script(j, err);
}

/* Files that go along with the result. */
static noe_status write_records(noe_job *j, noe_error *err)
{
    noe_buf b = {0};
    noe_status status = NOE_OK;
    const noe_search_result *s = &j->result.search;
    bool better = j->result.decision == NOE_DECISION_BETTER;
    if (j->cmd->record)
        status = noe_file_write(j->cmd->record, noe_buf_text(&j->recorder.text),
                                j->recorder.text.len, err);
    if (status == NOE_OK && j->cmd->log) {
        noe_script_print(&b, j->input_hash, &j->rules, s->parts,
                         better ? s->n_parts : 0, s->path);
        status = noe_file_write(j->cmd->log, noe_buf_text(&b), b.len, err);
        noe_buf_clear(&b);
    }
    if (status == NOE_OK && j->cmd->json) {
        noe_job_report_json(j, &b);
        status = noe_file_write(j->cmd->json, noe_buf_text(&b), b.len, err);
        noe_buf_clear(&b);
    }
    if (status == NOE_OK && j->cmd->report) {
        status = noe_report_html(j, &b, err);
        if (status == NOE_OK)
            status = noe_file_write(j->cmd->report, noe_buf_text(&b), b.len, err);
        noe_buf_clear(&b);
    }
    return status;
}

noe_status noe_job_optimize(noe_job *j, noe_error *err)
{
    double start = noe_wall_seconds();
    NOE_TRY(set_up(j, err));
    NOE_TRY(search_and_check(j, err));
    drop_written(j); /* what the check read is not needed any more */
    NOE_TRY(write_model(j, err));
    j->seconds = noe_wall_seconds() - start;
    return write_records(j, err);
}

noe_status noe_job_breakdown(noe_job *j, noe_breakdown *b, noe_error *err)
{
    noe_graph *core;
    *b = (noe_breakdown){0};
    NOE_TRY(load_model(j, err));
    NOE_TRY(open_costs(j, err));
    NOE_TRY(noe_graph_expand(noe_onnx_graph(j->model), &core, err));
    noe_status status = noe_costs_accept(&j->costs, core, err);
    if (status == NOE_OK)
        noe_breakdown_make(&j->costs, core, b);
    noe_graph_free(core);
    return status;
}

noe_status noe_job_time(noe_job *j, double *seconds, noe_error *err)
{
    noe_cut cut;
    noe_trial trial = {0};
    NOE_TRY(load_model(j, err));
    NOE_TRY(open_costs(j, err));
    if (!j->device.timing)
        return noe_fail(err, NOE_ERR_ARG, "device %s measures nothing", j->cmd->device);
    const noe_graph *g = noe_onnx_graph(j->model);
    NOE_TRY(noe_cut_pair(g, g, &cut, err));
    noe_status status = noe_trial_run(j->device.timing, &cut, &trial, err);
    noe_cut_clear(&cut);
    *seconds = trial.done ? trial.pair.seconds_a : 0;
    return status;
}

/* Is the model with the first n steps wrong (then err says how), or surely slower? */
static noe_status try_steps(noe_job *j, int n, bool *wrong, bool *slow, noe_error *err)
{
    noe_optimize_result_clear(&j->result);
    j->script.limit = n;
    noe_status status = search_and_check(j, err);
    *wrong = status == NOE_ERR_MISMATCH;
    *slow =
        status == NOE_OK && j->result.trial.done && j->result.trial.pair.ratio_hi < 1;
    return *wrong ? NOE_OK : status;
}

noe_status noe_job_bisect(noe_job *j, noe_buf *b, noe_error *err)
{
    noe_error why, kept = {0};
    bool wrong, slow;
    NOE_TRY(set_up(j, err));
    int good = 0, bad = j->script.n_steps;
    NOE_TRY(try_steps(j, bad, &wrong, &slow, &why));
    if (!wrong && !slow) {
        noe_buf_printf(b, "%d steps: the check passes, and the result is not slower\n",
                       bad);
        return NOE_OK;
    }
    const bool seeks_wrong = wrong;
    kept = why;
    while (bad - good > 1) {
        int mid = good + (bad - good) / 2;
        noe_status status = try_steps(j, mid, &wrong, &slow, &why);
        if (status != NOE_OK) {
            *err = why;
            return status;
        }
        bool is_bad = seeks_wrong ? wrong : slow;
        *(is_bad ? &bad : &good) = mid;
        if (is_bad)
            kept = why;
    }
    const noe_step *s = &j->script.steps[bad - 1];
    const noe_usable_rule *u = j->rules.rules[s->site.rule];
    noe_buf_printf(b, "step %d of %d %s: rule %s%s\n  %s\n", bad, j->script.n_steps,
                   seeks_wrong ? "breaks the check" : "makes the model slower", u->id,
                   u->reversed ? " from right to left" : "", u->text);
    if (seeks_wrong)
        noe_buf_printf(b, "  %s\n", kept.text);
    return NOE_OK;
}

void noe_job_release(noe_job *j)
{
    noe_optimize_result_clear(&j->result);
    drop_written(j);
    noe_costs_clear(&j->costs);
    noe_cost_recorder_clear(&j->recorder);
    noe_device_close(&j->device);
    noe_ruledb_close(j->cost_db);
    noe_rule_set_clear(&j->rules);
    noe_script_clear(&j->script);
    noe_onnx_free(j->open);
    noe_onnx_free(j->model);
    free(j->folder);
    free(j->bytes);
}
