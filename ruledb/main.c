/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-rules: looks into a rule database. It only reads the database, but for
 * `import`; `export` writes a rule file. Exit codes: 0 done, 1 `check` found problems
 * or `derive` met a rule that is not derivable, else those of the README.
 */
#include "ruledb/report.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/options.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *format = "text";
static int64_t level = -1;
static int reduces, steps, taso;
static noe_report_options report = {.level = -1, .limit = 20};

static const noe_option options[] = {
    {"op", 0, NOE_OPTION_TEXT, &report.op, 0, 0, "<name>",
     "list: only rules that have this operator on a side", 1},
    {"class", 0, NOE_OPTION_TEXT, &report.class_name, 0, 0, "<class>",
     "list: only rules of this numeric class: exact, finite, float, range", 1},
    {"reduces", 0, NOE_OPTION_FLAG, &reduces, 0, 0, NULL,
     "list: only rules whose sides differ in the number of operators", 1},
    {"level", 0, NOE_OPTION_INT, &level, -1, 1000, "<n>",
     "list: only rules of this level; -1 for all", 1},
    {"steps", 0, NOE_OPTION_FLAG, &steps, 0, 0, NULL,
     "derive: also every term of the derivations", 1},
    {"taso", 0, NOE_OPTION_FLAG, &taso, 0, 0, NULL,
     "export: in TASO's protobuf format; what it cannot say is listed", 1},
    {"format", 0, NOE_OPTION_TEXT, &format, 0, 0, "<format>",
     "list, stats, refuted, pending: text, or tsv with whole ids", 1},
};

static const char *(*const libraries[])(void) = {noe_ruledb_library, noe_hash_library,
                                                 NULL};

static const noe_program program = {
    .name = "noether-rules",
    .operands = "DB COMMAND [ARGUMENT]",
    .summary = "Shows what a rule database holds and how far it can be trusted.",
    .epilogue =
        "Commands:\n"
        "  list          the rules, a line each\n"
        "  show ID       one rule: both sides drawn, proof, axioms, origin; the\n"
        "                beginning of an id is enough if it is unique\n"
        "  stats         counts by verdict, level, class, operator; time spent\n"
        "  refuted [N]   candidates that are false, with the counterexample\n"
        "  pending [N]   candidates that could not be decided, with the reason\n"
        "                (N rows, default 20; 'all' for all)\n"
        "  report FILE   the rules in use as an HTML page to search and filter, with\n"
        "                drawings, proofs and origins\n"
        "  check         is the file sound, are the texts what their ids say\n"
        "  export FILE   the rules in use as a rule file ('-': standard output)\n"
        "  derive FILE   for each rule of the file: does it follow from the rules in "
        "use\n"
        "                by rewriting, with which (ID>@PLACE: left to right at the\n"
        "                operand, ID<@PLACE: back), is it false, or is it unknown\n"
        "  import FILE   the rules of the file as candidates for noether-verify\n"
        "Rule files are texts, or in TASO's protobuf format.\n"
        "\n"
        "Examples:\n"
        "  noether-rules rules.db list --op conv --reduces\n"
        "  noether-rules rules.db show 3fa9\n"
        "  noether-rules rules.db pending all --format tsv\n"
        "\n"
        "Exit codes: 0 done, 1 check found problems or derive met a rule\n"
        "that is refuted or unknown, 2 wrong usage, 3 bad input, 4 database or file\n"
        "error, 5 internal error.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .libraries = libraries,
    .min_operands = 2,
    .max_operands = 3,
};

/* What a command works on; answer is printed whatever the status. */
typedef struct call {
    noe_ruledb *db;
    const char *argument; /* NULL if not given */
    noe_buf answer;
    int n_problems;
} call;

static noe_status do_list(call *c, noe_error *err)
{
    return noe_report_list(c->db, &report, &c->answer, err);
}

static noe_status do_show(call *c, noe_error *err)
{
    return noe_report_show(c->db, c->argument, &report, &c->answer, err);
}

static noe_status do_stats(call *c, noe_error *err)
{
    return noe_report_stats(c->db, &report, &c->answer, err);
}

static noe_status read_limit(const char *argument, noe_error *err)
{
    if (!argument)
        return NOE_OK;
    if (strcmp(argument, "all") == 0) {
        report.limit = -1;
        return NOE_OK;
    }
    char *end;
    errno = 0;
    long long limit = strtoll(argument, &end, 10);
    if (errno || end == argument || *end || limit < 0)
        return noe_fail(err, NOE_ERR_ARG, "'%s' is no number of rows", argument);
    report.limit = limit;
    return NOE_OK;
}

static noe_status do_refuted(call *c, noe_error *err)
{
    NOE_TRY(read_limit(c->argument, err));
    return noe_report_refuted(c->db, &report, &c->answer, err);
}

static noe_status do_pending(call *c, noe_error *err)
{
    NOE_TRY(read_limit(c->argument, err));
    return noe_report_pending(c->db, &report, &c->answer, err);
}

static noe_status do_check(call *c, noe_error *err)
{
    return noe_report_check(c->db, &c->answer, &c->n_problems, err);
}

static noe_status export_taso(call *c, noe_error *err)
{
    noe_buf file = {0};
    noe_status status = noe_report_export_taso(c->db, &file, &c->answer, err);
    if (status == NOE_OK)
        status = noe_file_write(c->argument, noe_buf_text(&file), file.len, err);
    noe_buf_clear(&file);
    return status;
}

static noe_status do_page(call *c, noe_error *err)
{
    noe_buf html = {0};
    int n_rules = 0;
    noe_status status = noe_report_page(c->db, &html, &n_rules, err);
    if (status == NOE_OK)
        status = noe_file_write(c->argument, noe_buf_text(&html), html.len, err);
    if (status == NOE_OK)
        noe_buf_printf(&c->answer, "%d rules in %s\n", n_rules, c->argument);
    noe_buf_clear(&html);
    return status;
}

static noe_status do_import(call *c, noe_error *err)
{
    return noe_report_import(c->db, c->argument, &c->answer, err);
}

static noe_status do_export(call *c, noe_error *err)
{
    if (taso)
        return export_taso(c, err);
    noe_buf rules = {0};
    int n_rules;
    noe_status status = noe_report_export(c->db, &rules, &n_rules, err);
    if (status == NOE_OK && strcmp(c->argument, "-") == 0)
        noe_buf_puts(&c->answer, noe_buf_text(&rules));
    else if (status == NOE_OK)
        status = noe_file_write(c->argument, noe_buf_text(&rules), rules.len, err);
    noe_buf_clear(&rules);
    return status;
}

static noe_status do_derive(call *c, noe_error *err)
{
    noe_derive_counts counts;
    noe_status status =
        noe_report_derive(c->db, c->argument, &report, &c->answer, &counts, err);
    c->n_problems = counts.n_refuted + counts.n_unknown;
    return status;
}

typedef enum wants { WANTS_NOTHING, WANTS_MAYBE, WANTS_ARGUMENT } wants;

static const struct command {
    const char *name;
    wants argument;
    noe_status (*run)(call *c, noe_error *err);
} commands[] = {
    {"list", WANTS_NOTHING, do_list},      {"show", WANTS_ARGUMENT, do_show},
    {"stats", WANTS_NOTHING, do_stats},    {"refuted", WANTS_MAYBE, do_refuted},
    {"pending", WANTS_MAYBE, do_pending},  {"check", WANTS_NOTHING, do_check},
    {"export", WANTS_ARGUMENT, do_export}, {"derive", WANTS_ARGUMENT, do_derive},
    {"import", WANTS_ARGUMENT, do_import}, {"report", WANTS_ARGUMENT, do_page},
};

static noe_status find_command(const char *name, const char *argument,
                               const struct command **command, noe_error *err)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        *command = &commands[i];
        if (argument && commands[i].argument == WANTS_NOTHING)
            return noe_fail(err, NOE_ERR_ARG, "%s takes no argument, got '%s'", name,
                            argument);
        if (!argument && commands[i].argument == WANTS_ARGUMENT)
            return noe_fail(err, NOE_ERR_ARG, "%s wants an argument; see '%s --help'",
                            name, program.name);
        return NOE_OK;
    }
    return noe_fail(err, NOE_ERR_ARG, "'%s' is no command; see '%s --help'", name,
                    program.name);
}

static noe_status check_options(noe_error *err)
{
    report.reduces = reduces != 0;
    report.wants_steps = steps != 0;
    report.level = level;
    report.is_tsv = strcmp(format, "tsv") == 0;
    if (!report.is_tsv && strcmp(format, "text") != 0)
        return noe_fail(err, NOE_ERR_ARG, "--format: '%s' is neither text nor tsv",
                        format);
    noe_numeric_class c;
    if (!report.class_name || noe_numeric_class_from_name(report.class_name, &c))
        return NOE_OK;
    return noe_fail(err, NOE_ERR_ARG,
                    "--class: '%s' is not one of exact, finite, float, range",
                    report.class_name);
}

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term &&
           strcmp(term, "dumb") != 0;
}

static noe_status run(const char **operands, int n_operands, call *c, noe_error *err)
{
    const struct command *command = NULL;
    c->argument = n_operands > 2 ? operands[2] : NULL;
    report.use_colour = wants_colour();
    NOE_TRY(check_options(err));
    NOE_TRY(find_command(operands[1], c->argument, &command, err));
    bool writes = command->run == do_import;
    NOE_TRY(noe_ruledb_open(operands[0], writes ? NOE_RULEDB_CREATE : NOE_RULEDB_READ,
                            &c->db, err));
    return command->run(c, err);
}

static noe_status print_answer(const noe_buf *answer, noe_error *err)
{
    if (fwrite(noe_buf_text(answer), 1, answer->len, stdout) != answer->len ||
        fflush(stdout) != 0)
        return noe_fail(err, NOE_ERR_IO, "standard output: %s", strerror(errno));
    return NOE_OK;
}

int main(int argc, char **argv)
{
    const char *operands[3];
    int n_operands;
    noe_error err = {0}, print_err = {0};
    call c = {0};
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    noe_status status = run(operands, n_operands, &c, &err);
    int code = c.n_problems ? 1 : 0;
    if (print_answer(&c.answer, &print_err) != NOE_OK)
        code = noe_report(&program, &print_err);
    if (status != NOE_OK)
        code = noe_report(&program, &err);
    noe_buf_clear(&c.answer);
    noe_ruledb_close(c.db);
    return code;
}
