/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-optimize: an ONNX model in, an equal and faster one out. What it does is
 * job.h; this is its command line.
 */
#include "optimizer/job.h"
#include <stdio.h>
#include <stdlib.h>

#define EXIT_INTERRUPTED 130

static noe_status run(noe_job *j, noe_error *err)
{
    noe_buf b = {0};
    noe_status status =
        j->cmd->bisect ? noe_job_bisect(j, &b, err) : noe_job_optimize(j, err);
    if (status == NOE_OK && !j->cmd->bisect)
        noe_job_report(j, &b);
    noe_env_end_progress(&j->env);
    fputs(noe_buf_text(&b), stdout);
    noe_buf_clear(&b);
    return status;
}

int main(int argc, char **argv)
{
    noe_command cmd;
    noe_option options[NOE_COMMAND_MAX_OPTIONS];
    const char *operands[2];
    int n_operands;
    noe_program program = noe_command_describe(&cmd, options);
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    noe_job *j = noe_calloc(1, sizeof *j);
    noe_error err;
    j->cmd = &cmd;
    noe_env_init_cli(&j->env, program.name, cmd.verbose ? NOE_LOG_INFO : NOE_LOG_WARN);
    j->env.seed = (uint64_t)cmd.seed;
    j->env.n_threads = (int)cmd.threads;
    noe_status status = noe_command_check(&cmd, operands, n_operands, &err);
    if (status == NOE_OK)
        status = run(j, &err);
    int code = status != NOE_OK               ? noe_report(&program, &err)
               : j->result.search.interrupted ? EXIT_INTERRUPTED
                                              : 0;
    noe_job_release(j);
    free(j);
    return code;
}
