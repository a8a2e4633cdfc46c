/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-optimize: an ONNX model in, an equal and faster one out. The pipeline is
 * `optimize_model`; everything else here is its command line.
 */
#include "core/base/file.h"
#include "core/base/options.h"
#include "optimizer/device.h"
#include "optimizer/report.h"
#include "runtime/measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXIT_INTERRUPTED 130

typedef struct command {
    const char *in, *out;
    const char *rules, *costs, *device, *record;
    noe_option_texts input_shapes;
    double alpha, time_limit, rtol, atol;
    int64_t budget, check, threads, seed, fold_limit;
    int freeze, hot_weights, dry_run, verbose, no_timing, assume_finite,
        constant_initializers;
} command;

/* What a run holds; everything is released in one place. */
typedef struct job {
    const command *cmd;
    noe_env env;
    noe_onnx_model *model;
    char *folder; /* of the input */
    noe_rule_set rules;
    noe_ruledb *cost_db;
    noe_device device;
    noe_cost_recorder recorder;
    noe_costs costs;
    noe_optimize_options options;
    noe_optimize_result result;
    noe_file_facts before, after;
    noe_onnx_model *written; /* the result as it is read back, for the check */
    noe_graph *written_graph;
} job;

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

static noe_status load_model(job *j, noe_error *err)
{
    j->folder = folder_of(j->cmd->in);
    noe_onnx_options options = {.input_shapes = j->cmd->input_shapes.text,
                                .n_input_shapes = j->cmd->input_shapes.n,
                                .constant_initializers = j->cmd->constant_initializers};
    NOE_TRY(noe_onnx_load(j->cmd->in, &options, &j->env, &j->model, err));
    uint32_t n = noe_onnx_n_defaults(j->model);
    if (n > 0)
        noe_log(&j->env, NOE_LOG_WARN,
                "%s: %u initializers are graph inputs too and are not taken for "
                "constants; if nobody sets them, give --constant-initializers",
                j->cmd->in, n);
    return NOE_OK;
}

/* --rules, $NOETHER_RULES, the build folder's database, the installed one. */
static const char *find_rules(const command *cmd)
{
    static const char installed[] = NOE_DATA_DIR "/rules.db";
    const char *env = getenv("NOETHER_RULES");
    if (cmd->rules)
        return cmd->rules;
    if (env && *env)
        return env;
    return access("build/rules.db", R_OK) == 0 ? "build/rules.db" : installed;
}

static noe_status load_rules(job *j, noe_error *err)
{
    const char *path = find_rules(j->cmd);
    unsigned classes = NOE_CLASSES_SAFE;
    if (j->cmd->assume_finite)
        classes |= 1U << NOE_CLASS_FINITE;
    noe_status status = noe_rule_set_load(&j->rules, path, classes, err);
    if (status == NOE_OK && j->rules.n == 0)
        noe_log(&j->env, NOE_LOG_WARN, "%s holds no usable rule", path);
    noe_log(&j->env, NOE_LOG_INFO, "%s: %d rules, %d directions", path, j->rules.n_rows,
            j->rules.n);
    return status;
}

static noe_status open_costs(job *j, noe_error *err)
{
    const noe_graph *g = noe_onnx_graph(j->model);
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    noe_graph_mark_live(g, live);
    bool cold = noe_weight_bytes(g, live) > noe_last_level_cache_bytes();
    free(live);
    if (j->cmd->costs)
        NOE_TRY(noe_ruledb_open(j->cmd->costs,
                                j->cmd->freeze ? NOE_RULEDB_READ : NOE_RULEDB_CREATE,
                                &j->cost_db, err));
    noe_device_options options = {j->cmd->device, j->cost_db, j->cmd->freeze,
                                  cold && !j->cmd->hot_weights};
    NOE_TRY(noe_device_open(&j->device, &options, &j->env, err));
    noe_cost_recorder_init(&j->recorder, j->device.model);
    noe_costs_init(&j->costs, j->cmd->record ? &j->recorder.model : j->device.model);
    return NOE_OK;
}

static noe_op origin_op(void *ctx, uint32_t origin)
{
    return noe_onnx_origin_op(ctx, origin);
}

static void drop_written(job *j)
{
    noe_graph_free(j->written_graph);
    noe_onnx_free(j->written);
    j->written_graph = NULL;
    j->written = NULL;
}

static noe_status reread(void *ctx, const noe_graph *g, const noe_graph **seen,
                         noe_error *err)
{
    job *j = ctx;
    char *data;
    size_t len;
    drop_written(j);
    NOE_TRY(noe_onnx_serialize(j->model, g, &data, &len, err));
    noe_status status =
        noe_onnx_reread(j->model, data, len, &j->written, &j->written_graph, err);
    free(data);
    *seen = j->written_graph;
    return status;
}

/* Both forms as files in ONNX Runtime, with all that the algebra does not speak about.
 */
static noe_status time_files(void *ctx, const noe_graph *g, const noe_graph *better,
                             noe_trial *trial, noe_error *err)
{
    job *j = ctx;
    (void)g;
    char *before = NULL, *after = NULL;
    size_t n_before, n_after;
    noe_status status = noe_file_read(j->cmd->in, UINT64_MAX, &before, &n_before, err);
    if (status == NOE_OK)
        status = noe_onnx_serialize(j->model, better, &after, &n_after, err);
    if (status == NOE_OK)
        status = noe_trial_models(j->device.timing, noe_onnx_graph(j->model), j->folder,
                                  (noe_bytes){before, n_before},
                                  (noe_bytes){after, n_after}, trial, err);
    free(before);
    free(after);
    return status;
}

static noe_status search_and_check(job *j, noe_error *err)
{
    const command *cmd = j->cmd;
    const noe_graph *g = noe_onnx_graph(j->model);
    uint64_t growth =
        cmd->fold_limit >= 0 ? (uint64_t)cmd->fold_limit : noe_default_growth(g);
    j->options = (noe_optimize_options){
        .search = {.alpha = cmd->alpha,
                   .budget = cmd->budget,
                   .time_limit = cmd->time_limit,
                   .max_growth = growth,
                   .referee = cmd->no_timing ? NULL : &j->device.referee},
        .check = {(int)cmd->check, cmd->rtol, cmd->atol},
        .seed = j->env.seed,
        .time_whole = !cmd->no_timing && j->device.timing,
        .trial = j->device.is_ort ? time_files : NULL,
        .trial_ctx = j,
        .origin_op = origin_op,
        .origin_ctx = j->model,
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

static noe_status count_path(noe_file_facts *f, const char *path, noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, UINT64_MAX, &data, &len, err));
    count_file(f, data, len);
    free(data);
    return NOE_OK;
}

static noe_status write_model(job *j, noe_error *err)
{
    if (!j->cmd->dry_run) {
        NOE_TRY(noe_onnx_save(j->model, j->result.graph, j->cmd->out, err));
        return count_path(&j->after, j->cmd->out, err);
    }
    char *data;
    size_t len;
    NOE_TRY(noe_onnx_serialize(j->model, j->result.graph, &data, &len, err));
    count_file(&j->after, data, len);
    free(data);
    return NOE_OK;
}

static void print_report(const job *j, double seconds)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s -> %s\n", j->cmd->in,
                   j->cmd->dry_run ? "nothing (dry run)" : j->cmd->out);
    noe_report_table(&b, &j->before, &j->after, &j->result);
    noe_report_rules(&b, &j->rules, &j->result);
    noe_report_outcome(&b, &j->options, &j->result);
    noe_buf_printf(&b,
                   "costs: %s; %llu kernels timed, %llu known from before%s\n"
                   "time: %.1f s (check %.1f s, timing of the whole %.1f s), memory "
                   "%.0f MiB\n",
                   j->device.description,
                   (unsigned long long)j->device.measured.n_timed,
                   (unsigned long long)j->device.measured.n_found,
                   j->device.measured.options.cold_weights ? ", cold weights" : "",
                   seconds, j->result.check_seconds, j->result.trial_seconds,
                   (double)noe_peak_rss_kib() / 1024);
    if (j->cmd->verbose)
        noe_report_opaque(&b, j->model);
    noe_env_end_progress(&j->env);
    fputs(noe_buf_text(&b), stdout);
    noe_buf_clear(&b);
}

static noe_status optimize_model(job *j, noe_error *err)
{
    double start = noe_wall_seconds();
    NOE_TRY(load_model(j, err));
    if (!j->cmd->dry_run)
        NOE_TRY(noe_file_check_writable(j->cmd->out, err));
    NOE_TRY(load_rules(j, err));
    NOE_TRY(open_costs(j, err));
    NOE_TRY(count_path(&j->before, j->cmd->in, err));
    NOE_TRY(search_and_check(j, err));
    NOE_TRY(write_model(j, err));
    if (j->cmd->record)
        NOE_TRY(noe_file_write(j->cmd->record, noe_buf_text(&j->recorder.text),
                               j->recorder.text.len, err));
    print_report(j, noe_wall_seconds() - start);
    return NOE_OK;
}

static void release(job *j)
{
    noe_optimize_result_clear(&j->result);
    drop_written(j);
    noe_costs_clear(&j->costs);
    noe_cost_recorder_clear(&j->recorder);
    noe_device_close(&j->device);
    noe_ruledb_close(j->cost_db);
    noe_rule_set_clear(&j->rules);
    noe_onnx_free(j->model);
    free(j->folder);
}

static const char epilogue[] =
    "The result is checked against the original on random inputs before it is\n"
    "written, and is written only if it is faster as a whole; else the graph stays\n"
    "as it was. --rules defaults to $NOETHER_RULES, then build/rules.db, "
    "then\n" NOE_DATA_DIR "/rules.db. Without --costs measured times are not kept.\n"
    "\n"
    "Exit codes: 0 done (also if nothing was gained), 1 the check found a difference\n"
    "(nothing is written), 2 usage, 3 bad or unsupported input, 4 input or output\n"
    "failed, 130 interrupted (the best result so far is written).\n";

static noe_program describe(command *c, noe_option *options)
{
    const noe_option table[] = {
        {"output", 'o', NOE_OPTION_TEXT, &c->out, 0, 0, "<file>",
         "where the result goes (or a second operand)", 1},
        {"rules", 0, NOE_OPTION_TEXT, &c->rules, 0, 0, "<file>", "rule database", 1},
        {"costs", 0, NOE_OPTION_TEXT, &c->costs, 0, 0, "<file>",
         "database that keeps measured times (made if absent)", 1},
        {"input-shape", 0, NOE_OPTION_TEXTS, &c->input_shapes, 0, 0, "<name:dims>",
         "fix the shape of an input, x:1,3,224,224", 1},
        {"constant-initializers", 0, NOE_OPTION_FLAG, &c->constant_initializers, 0, 0,
         NULL, "initializers that are also inputs are constants", 1},
        {"budget", 0, NOE_OPTION_INT, &c->budget, 0, 1e9, "<n>",
         "graphs expanded by the search", 1},
        {"alpha", 0, NOE_OPTION_REAL, &c->alpha, 1, 100, "<x>",
         "keep graphs up to this times the best cost", 1},
        {"time-limit", 0, NOE_OPTION_REAL, &c->time_limit, 0, 1e9, "<s>",
         "end the search after so many seconds (0: no limit)", 1},
        {"check", 0, NOE_OPTION_INT, &c->check, 0, 1000000, "<n>",
         "random inputs of the check, 0 for none", 1},
        {"threads", 0, NOE_OPTION_INT, &c->threads, 1, 1024, "<n>",
         "threads that the model will run with", 1},
        {"seed", 0, NOE_OPTION_INT, &c->seed, 0, 9e15, "<n>",
         "seed of the check's inputs", 0},
        {"device", 0, NOE_OPTION_TEXT, &c->device, 0, 0, "<name>",
         "where costs come from: cpu, ort, ort:LIBRARY, ...", 1},
        {"freeze", 0, NOE_OPTION_FLAG, &c->freeze, 0, 0, NULL,
         "use only what --costs holds, measure nothing", 0},
        {"hot-weights", 0, NOE_OPTION_FLAG, &c->hot_weights, 0, 0, NULL,
         "time with weights in the cache even if there are too many", 0},
        {"record", 0, NOE_OPTION_TEXT, &c->record, 0, 0, "<file>",
         "write the costs that were used, for --device table:<file>", 0},
        {"fold-limit", 0, NOE_OPTION_INT, &c->fold_limit, -1, 9e15, "<bytes>",
         "growth allowed for weights (-1: 10 % or 1 MiB)", 0},
        {"rtol", 0, NOE_OPTION_REAL, &c->rtol, 0, 1, "<x>",
         "tolerance relative to a tensor's largest value", 0},
        {"atol", 0, NOE_OPTION_REAL, &c->atol, 0, 1e9, "<x>", "absolute tolerance", 0},
        {"assume-finite", 0, NOE_OPTION_FLAG, &c->assume_finite, 0, 0, NULL,
         "also use rules that hold only where no value is infinite or NaN", 0},
        {"no-timing", 0, NOE_OPTION_FLAG, &c->no_timing, 0, 0, NULL,
         "trust the sum of kernels, do not time the whole", 0},
        {"dry-run", 0, NOE_OPTION_FLAG, &c->dry_run, 0, 0, NULL, "write nothing", 0},
        {"verbose", 'v', NOE_OPTION_FLAG, &c->verbose, 0, 0, NULL,
         "say more, also why nodes were left as they are", 1},
    };
    memcpy(options, table, sizeof table);
    return (noe_program){.name = "noether-optimize",
                         .operands = "MODEL.onnx [RESULT.onnx]",
                         .summary = "Optimizes an ONNX model with verified rules and "
                                    "measured costs.",
                         .epilogue = epilogue,
                         .options = options,
                         .n_options = (int)(sizeof table / sizeof *table),
                         .min_operands = 1,
                         .max_operands = 2};
}

/* Exactly one way to say where the result goes; names from a fixed set. */
static noe_status place_operands(command *c, const char **operands, int n,
                                 noe_error *err)
{
    c->in = operands[0];
    if (n == 2 && c->out)
        return noe_fail(err, NOE_ERR_ARG, "the result is named twice: %s and %s",
                        c->out, operands[1]);
    if (n == 2)
        c->out = operands[1];
    if (!c->out && !c->dry_run)
        return noe_fail(err, NOE_ERR_ARG, "no place for the result: give -o <file>");
    if (c->freeze && !c->costs)
        return noe_fail(err, NOE_ERR_ARG, "--freeze needs --costs <file>");
    return noe_device_check_name(c->device, err);
}

int main(int argc, char **argv)
{
    command cmd = {.device = "cpu",
                   .alpha = 1.05,
                   .rtol = NOE_CHECK_RTOL,
                   .atol = NOE_CHECK_ATOL,
                   .budget = 1000,
                   .check = 3,
                   .threads = 1,
                   .seed = 1,
                   .fold_limit = -1};
    noe_option options[40];
    const char *operands[2];
    int n_operands;
    noe_program program = describe(&cmd, options);
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    job *j = noe_calloc(1, sizeof *j);
    noe_error err;
    j->cmd = &cmd;
    noe_env_init_cli(&j->env, program.name, cmd.verbose ? NOE_LOG_INFO : NOE_LOG_WARN);
    j->env.seed = (uint64_t)cmd.seed;
    j->env.n_threads = (int)cmd.threads;
    noe_status status = place_operands(&cmd, operands, n_operands, &err);
    if (status == NOE_OK)
        status = optimize_model(j, &err);
    noe_env_end_progress(&j->env);
    int code = status != NOE_OK               ? noe_report(&program, &err)
               : j->result.search.interrupted ? EXIT_INTERRUPTED
                                              : 0;
    release(j);
    free(j);
    return code;
}
