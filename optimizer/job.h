/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of the optimizer, from a model to a result and its reports: what the program
 * noether-optimize and the library share.
 */
#ifndef NOE_OPTIMIZER_JOB_H
#define NOE_OPTIMIZER_JOB_H

#include "core/base/env.h"
#include "optimizer/breakdown.h"
#include "optimizer/command.h"
#include "optimizer/cost_open.h"
#include "optimizer/device.h"
#include "optimizer/report.h"
#include "optimizer/whole.h"

/* What a run holds. The caller zeroes it, sets the first group, and releases it. */
typedef struct noe_job {
    const noe_command *cmd; /* checked, see command.h */
    noe_env env;
    /* A model that does not lie in the file cmd->in; NULL: it does. */
    const void *data;
    size_t len;
    const char *shown; /* what the report calls the result; NULL: cmd->out */

    noe_onnx_model *model;
    noe_onnx_model *open; /* the same over open sizes (--assume-shape), or NULL */
    char *folder;         /* of the input */
    const char *rules_path;
    noe_rule_set rules;
    noe_ruledb *cost_db;
    noe_device device;
    noe_cost_recorder recorder;
    noe_open_costs open_costs;
    noe_costs costs;
    noe_optimize_options options;
    noe_optimize_result result;
    noe_file_facts before, after;
    uint64_t input_hash;     /* of the file */
    noe_script script;       /* of --replay */
    noe_onnx_model *written; /* the result as it is read back, for the check */
    noe_graph *written_graph;
    noe_check_report other_sizes; /* of the check at sizes that are not assumed */
    noe_whole_report whole;       /* check in the reference executor */
    char *bytes; /* the result where no file is written; NULL: the input is kept */
    size_t n_bytes;
    double seconds; /* all of it took */
} noe_job;

/* Load, search, check, time, write the result (cmd->out, or bytes for a dry run) and
 * the files that go along with it. */
NOE_NODISCARD noe_status noe_job_optimize(noe_job *j, noe_error *err);
/* The graph that is searched, in whose pool the result is. */
const noe_graph *noe_job_graph(const noe_job *j);
/* What the user sees at the end of that. */
void noe_job_report(const noe_job *j, noe_buf *b);
/* The same for programs (report.h). */
void noe_job_report_json(const noe_job *j, noe_buf *b);
/* With --replay: appends which step breaks the check or makes the model slower. */
NOE_NODISCARD noe_status noe_job_bisect(noe_job *j, noe_buf *b, noe_error *err);
/* Kernels of the model as it is; names are valid until release. */
NOE_NODISCARD noe_status noe_job_breakdown(noe_job *j, noe_breakdown *b,
                                           noe_error *err);
/* Seconds of the model as a whole, measured; 0 where nothing is computed. Parts that
 * the algebra does not speak about are left out. */
NOE_NODISCARD noe_status noe_job_time(noe_job *j, double *seconds, noe_error *err);
void noe_job_release(noe_job *j);

#endif
