/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of noether-optimize.
 */
#ifndef NOE_OPTIMIZER_COMMAND_H
#define NOE_OPTIMIZER_COMMAND_H

#include "core/base/options.h"
#include "optimizer/search.h"

typedef struct noe_command {
    const char *in, *out;
    const char *rules, *costs, *device, *dtype, *record;
    const char *level, *search, *inputs, *json, *report, *log, *replay;
    noe_option_texts only_rules, skip_rules;
    noe_option_texts input_shapes, assumed_shapes;
    double alpha, time_limit, rtol, atol;
    int64_t budget, check, threads, seed, max_growth;
    int explain, bisect, freeze, hot_weights, dry_run, verbose, no_timing,
        assume_finite, constant_initializers;
} noe_command;

#define NOE_COMMAND_MAX_OPTIONS 48

/* Fills in the defaults, and options with the table; c must stay where it is. */
noe_program noe_command_describe(noe_command *c, noe_option *options);
/* Exactly one way to say where the result goes; names from fixed sets; options that
 * need others. */
NOE_NODISCARD noe_status noe_command_check(noe_command *c, const char **operands, int n,
                                           noe_error *err);
/* What --search says; false if it is no method. */
bool noe_command_method(const noe_command *c, noe_search_method *method);
/* The numeric classes of rules that --level and --assume-finite allow, a bit each. */
unsigned noe_command_classes(const noe_command *c);

#endif
