/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/command.h"
#include "core/base/hash.h"
#include "optimizer/check.h"
#include "optimizer/device.h"
#include "optimizer/rules.h"
#include "ruledb/ruledb.h"
#include "runtime/runtime.h"
#include <string.h>

static const char *(*const libraries[])(void) = {
    noe_runtime_library, noe_ruledb_library, noe_hash_library, NULL};

static const char epilogue[] =
    "The result is checked against the original on random inputs before it is\n"
    "written, and is written only if it is faster as a whole; else the graph stays\n"
    "as it was. --rules defaults to $NOETHER_RULES, then build/rules.db, "
    "then\n" NOE_DATA_DIR "/rules.db. Without --costs measured times are not kept.\n"
    "\n"
    "Exit codes: 0 done (also if nothing was gained), 1 the check found a difference\n"
    "(nothing is written), 2 usage, 3 bad or unsupported input, 4 input or output\n"
    "failed, 130 interrupted (the best result so far is written).\n";

static const noe_command defaults = {.device = "cpu",
                                     .dtype = "f32",
                                     .level = "float",
                                     .search = "best",
                                     .alpha = 1.05,
                                     .rtol = NOE_CHECK_RTOL,
                                     .atol = NOE_CHECK_ATOL,
                                     .budget = 300,
                                     .check = 3,
                                     .threads = 1,
                                     .seed = 1,
                                     .max_growth = -1};

static noe_program program_with(noe_option *options, int n)
{
    return (noe_program){.name = "noether-optimize",
                         .operands = "MODEL.onnx [RESULT.onnx]",
                         .summary = "Optimizes an ONNX model with verified rules and "
                                    "measured costs.",
                         .epilogue = epilogue,
                         .options = options,
                         .n_options = n,
                         .libraries = libraries,
                         .min_operands = 1,
                         .max_operands = 2};
}

noe_program noe_command_describe(noe_command *c, noe_option *options)
{
    *c = defaults;
    const noe_option table[] = {
        {"output", 'o', NOE_OPTION_TEXT, &c->out, 0, 0, "<file>",
         "where the result goes (or a second operand)", 1},
        {"rules", 0, NOE_OPTION_TEXT, &c->rules, 0, 0, "<file>", "rule database", 1},
        {"costs", 0, NOE_OPTION_TEXT, &c->costs, 0, 0, "<file>",
         "database that keeps measured times (made if absent)", 1},
        {"input-shape", 0, NOE_OPTION_TEXTS, &c->input_shapes, 0, 0, "<name:dims>",
         "fix the shape of an input, x:1,3,224,224", 1},
        {"assume-shape", 0, NOE_OPTION_TEXTS, &c->assumed_shapes, 0, 0, "<name:dims>",
         "optimize for this shape of an input, all others stay possible", 1},
        {"constant-initializers", 0, NOE_OPTION_FLAG, &c->constant_initializers, 0, 0,
         NULL, "initializers that are also inputs are constants", 1},
        {"budget", 0, NOE_OPTION_INT, &c->budget, 0, 1e9, "<n>",
         "graphs expanded by the search", 1},
        {"search", 0, NOE_OPTION_TEXT, &c->search, 0, 0, "<name>",
         "best, backtrack (TASO's), or exact (best, and all graphs to the budget)", 0},
        {"alpha", 0, NOE_OPTION_REAL, &c->alpha, 1, 100, "<x>",
         "keep graphs up to this times the best cost", 1},
        {"time-limit", 0, NOE_OPTION_REAL, &c->time_limit, 0, 1e9, "<s>",
         "end the search after so many seconds (0: no limit)", 1},
        {"check", 0, NOE_OPTION_INT, &c->check, 0, 1000000, "<n>",
         "random inputs of the check, 0 for none", 1},
        {"inputs", 0, NOE_OPTION_TEXT, &c->inputs, 0, 0, "<path>",
         "check on these too: folder with NAME.npy or input_N.pb, or an .npz file", 1},
        {"threads", 0, NOE_OPTION_INT, &c->threads, 1, 1024, "<n>",
         "threads that the model will run with", 1},
        {"seed", 0, NOE_OPTION_INT, &c->seed, 0, 9e15, "<n>",
         "seed of the check's inputs", 0},
        {"device", 0, NOE_OPTION_TEXT, &c->device, 0, 0, "<name>",
         "where costs come from: cpu, ort, ort:LIBRARY, cuda, ...", 1},
        {"dtype", 0, NOE_OPTION_TEXT, &c->dtype, 0, 0, "<type>",
         "what device cuda computes in: f32, tf32, f16, bf16", 1},
        {"freeze", 0, NOE_OPTION_FLAG, &c->freeze, 0, 0, NULL,
         "use only what --costs holds, measure nothing", 0},
        {"hot-weights", 0, NOE_OPTION_FLAG, &c->hot_weights, 0, 0, NULL,
         "time with weights in the cache even if there are too many", 0},
        {"record", 0, NOE_OPTION_TEXT, &c->record, 0, 0, "<file>",
         "write the costs that were used, for --device table:<file>", 0},
        {"max-growth", 0, NOE_OPTION_INT, &c->max_growth, -1, 9e15, "<bytes>",
         "growth allowed for weights (-1: 10 % or 1 MiB)", 0},
        {"rtol", 0, NOE_OPTION_REAL, &c->rtol, 0, 1, "<x>",
         "tolerance relative to a tensor's largest value", 0},
        {"atol", 0, NOE_OPTION_REAL, &c->atol, 0, 1e9, "<x>", "absolute tolerance", 0},
        {"assume-finite", 0, NOE_OPTION_FLAG, &c->assume_finite, 0, 0, NULL,
         "also use rules that hold only where no value is infinite or NaN", 0},
        {"no-timing", 0, NOE_OPTION_FLAG, &c->no_timing, 0, 0, NULL,
         "trust the sum of kernels, do not time the whole", 0},
        {"dry-run", 0, NOE_OPTION_FLAG, &c->dry_run, 0, 0, NULL, "write nothing", 0},
        {"level", 0, NOE_OPTION_TEXT, &c->level, 0, 0, "<name>",
         "rules that keep all bits (exact), that round otherwise (float), that may "
         "overflow otherwise too (fast)",
         1},
        {"only-rule", 0, NOE_OPTION_TEXTS, &c->only_rules, 0, 0, "<id>",
         "use this rule (the beginning of an id; may be repeated)", 0},
        {"skip-rule", 0, NOE_OPTION_TEXTS, &c->skip_rules, 0, 0, "<id>",
         "do not use this rule (may be repeated)", 0},
        {"explain", 0, NOE_OPTION_FLAG, &c->explain, 0, 0, NULL,
         "list every step: rule, place, cost", 1},
        {"report", 0, NOE_OPTION_TEXT, &c->report, 0, 0, "<file>",
         "write the report as an HTML page", 1},
        {"json", 0, NOE_OPTION_TEXT, &c->json, 0, 0, "<file>",
         "write the report for programs", 0},
        {"log", 0, NOE_OPTION_TEXT, &c->log, 0, 0, "<file>", "write the log", 0},
        {"replay", 0, NOE_OPTION_TEXT, &c->replay, 0, 0, "<log>",
         "do what a log says instead of searching", 0},
        {"bisect", 0, NOE_OPTION_FLAG, &c->bisect, 0, 0, NULL,
         "with --replay: find the step that breaks the check or slows the model", 0},
        {"verbose", 'v', NOE_OPTION_FLAG, &c->verbose, 0, 0, NULL,
         "say more, also why nodes were left as they are", 1},
    };
    NOE_ASSERT(sizeof table / sizeof *table <= NOE_COMMAND_MAX_OPTIONS);
    memcpy(options, table, sizeof table);
    return program_with(options, (int)(sizeof table / sizeof *table));
}

/* Exactly one way to say where the result goes; names from a fixed set. */
static noe_status place_operands(noe_command *c, const char **operands, int n,
                                 noe_error *err)
{
    c->in = operands[0];
    if (n == 2 && c->out)
        return noe_fail(err, NOE_ERR_ARG, "the result is named twice: %s and %s",
                        c->out, operands[1]);
    if (n == 2)
        c->out = operands[1];
    if (c->bisect)
        c->dry_run = 1;
    if (!c->out && !c->dry_run)
        return noe_fail(err, NOE_ERR_ARG, "no place for the result: give -o <file>");
    return NOE_OK;
}

static noe_status check_level(const noe_command *c, noe_error *err)
{
    if (strcmp(c->level, "exact") && strcmp(c->level, "float") &&
        strcmp(c->level, "fast"))
        return noe_fail(err, NOE_ERR_ARG, "--level: '%s' is not exact, float or fast",
                        c->level);
    return NOE_OK;
}

static noe_status check_search(const noe_command *c, noe_error *err)
{
    noe_search_method method;
    if (!noe_command_method(c, &method))
        return noe_fail(err, NOE_ERR_ARG,
                        "--search: '%s' is not best, backtrack or exact", c->search);
    return NOE_OK;
}

noe_status noe_command_check(noe_command *c, const char **operands, int n,
                             noe_error *err)
{
    NOE_TRY(place_operands(c, operands, n, err));
    NOE_TRY(check_level(c, err));
    NOE_TRY(check_search(c, err));
    if (c->inputs && c->check == 0)
        return noe_fail(err, NOE_ERR_ARG, "--inputs needs a --check above 0");
    if (c->freeze && !c->costs)
        return noe_fail(err, NOE_ERR_ARG, "--freeze needs --costs <file>");
    if (c->bisect && !c->replay)
        return noe_fail(err, NOE_ERR_ARG, "--bisect needs --replay <log>");
    return noe_device_check_name(c->device, c->dtype, err);
}

bool noe_command_method(const noe_command *c, noe_search_method *method)
{
    static const char *const names[] = {[NOE_SEARCH_BEST] = "best",
                                        [NOE_SEARCH_BACKTRACK] = "backtrack",
                                        [NOE_SEARCH_EXACT] = "exact"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        *method = (noe_search_method)i;
        if (strcmp(c->search, names[i]) == 0)
            return true;
    }
    return false;
}

unsigned noe_command_classes(const noe_command *c)
{
    unsigned classes = 1U << NOE_CLASS_EXACT;
    if (strcmp(c->level, "exact") != 0)
        classes = NOE_CLASSES_SAFE;
    if (c->assume_finite || strcmp(c->level, "fast") == 0)
        classes |= 1U << NOE_CLASS_FINITE;
    if (strcmp(c->level, "fast") == 0)
        classes |= 1U << NOE_CLASS_RANGE;
    return classes;
}
