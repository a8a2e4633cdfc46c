/* SPDX-License-Identifier: Apache-2.0
 *
 * One table a program is parser, range check and help text. Besides base/env.c this is
 * the only place in a library that prints, and the only one that exits: it is the first
 * half of every main.c.
 */
#include "core/base/manual.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMNS 79
#define TEXT_COLUMN  28 /* where the explanation of an option starts */

const char noe_version[] = NOE_VERSION;

_Noreturn static void die_of_usage(const noe_program *program, const char *fmt, ...)
    NOE_PRINTF(2, 3);

static void die_of_usage(const noe_program *program, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s: error: ", program->name);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "; see '%s --help'\n", program->name);
    exit(noe_status_exit_code(NOE_ERR_ARG));
}

/* Prints words wrapped to HELP_COLUMNS; column is where the cursor stands. */
static void print_wrapped(const char *text, int column, int indent)
{
    while (*text == ' ')
        text++;
    for (int first = 1; *text; first = 0) {
        int len = (int)strcspn(text, " ");
        if (!first && column + 1 + len > HELP_COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", len, text);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static int has_range(const noe_option *o)
{
    return o->min < o->max;
}

static void print_entry(char letter, const char *name, const char *operand,
                        const char *help)
{
    noe_buf left = {0};
    if (letter)
        noe_buf_printf(&left, "  -%c, --%s", letter, name);
    else
        noe_buf_printf(&left, "      --%s", name);
    if (operand)
        noe_buf_printf(&left, " %s", operand);
    int column = printf("%s", left.text);
    if (column + 2 > TEXT_COLUMN) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", TEXT_COLUMN - column, "");
    print_wrapped(help, TEXT_COLUMN, TEXT_COLUMN);
    noe_buf_clear(&left);
}

static void print_manual(const noe_program *program,
                         void make(const noe_program *program, noe_buf *b))
{
    noe_buf b = {0};
    make(program, &b);
    fputs(noe_buf_text(&b), stdout);
    noe_buf_clear(&b);
}

static void print_help(const noe_program *program, int all)
{
    const char *operands = program->operands ? program->operands : "";
    printf("Usage: %s [options]%s%s\n", program->name, *operands ? " " : "", operands);
    print_wrapped(program->summary, 0, 0);
    printf("\n%s:\n", all ? "Options" : "Common options");
    for (int i = 0; i < program->n_options; i++) {
        const noe_option *o = &program->options[i];
        if (!all && !o->common)
            continue;
        noe_buf help = {0};
        noe_buf_puts(&help, o->help);
        noe_manual_default(o, &help);
        print_entry(o->letter, o->name, o->operand, help.text);
        noe_buf_clear(&help);
    }
    print_entry('h', "help", NULL, "-h shows the common options, --help all");
    print_entry(0, "version", NULL, "show the version");
    if (all && program->epilogue)
        printf("\n%s%s", program->epilogue,
               program->epilogue[strlen(program->epilogue) - 1] == '\n' ? "" : "\n");
}

_Noreturn static void exit_after_output(const noe_program *program)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: error: standard output: %s\n", program->name,
                strerror(errno));
        exit(noe_status_exit_code(NOE_ERR_IO));
    }
    exit(noe_status_exit_code(NOE_OK));
}

static noe_status parse_int(const noe_option *o, const char *shown, const char *text,
                            noe_error *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text))
        return noe_fail(err, NOE_ERR_ARG, "%s: '%s' is no integer", shown, text);
    if (errno == ERANGE)
        return noe_fail(err, NOE_ERR_ARG, "%s: '%s' is too large an integer", shown,
                        text);
    if (has_range(o) && ((double)value < o->min || (double)value > o->max))
        return noe_fail(err, NOE_ERR_ARG, "%s: %lld is not within %.0f..%.0f", shown,
                        value, o->min, o->max);
    *(int64_t *)o->target = value;
    return NOE_OK;
}

static noe_status parse_real(const noe_option *o, const char *shown, const char *text,
                             noe_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(value))
        return noe_fail(err, NOE_ERR_ARG, "%s: '%s' is no finite number", shown, text);
    if (has_range(o) && (value < o->min || value > o->max))
        return noe_fail(err, NOE_ERR_ARG, "%s: %s is not within %g..%g", shown, text,
                        o->min, o->max);
    *(double *)o->target = value;
    return NOE_OK;
}

static noe_status add_text(const noe_option *o, const char *shown, const char *text,
                           noe_error *err)
{
    noe_option_texts *texts = o->target;
    int max = (int)(sizeof texts->text / sizeof *texts->text);
    if (texts->n == max)
        return noe_fail(err, NOE_ERR_ARG, "%s: given more than %d times at '%s'", shown,
                        max, text);
    texts->text[texts->n++] = text;
    return NOE_OK;
}

static noe_status parse_value(const noe_option *o, const char *shown, const char *text,
                              noe_error *err)
{
    if (!*text)
        return noe_fail(err, NOE_ERR_ARG, "%s: the value is empty", shown);
    switch (o->kind) {
    case NOE_OPTION_FLAG:
        NOE_ASSERT(o->kind != NOE_OPTION_FLAG); /* has no value */
        return NOE_OK;
    case NOE_OPTION_INT:
        return parse_int(o, shown, text, err);
    case NOE_OPTION_REAL:
        return parse_real(o, shown, text, err);
    case NOE_OPTION_TEXT:
        *(const char **)o->target = text;
        return NOE_OK;
    case NOE_OPTION_TEXTS:
        return add_text(o, shown, text, err);
    }
    return NOE_OK;
}

static void take_value(const noe_program *program, const noe_option *o,
                       const char *shown, const char *text)
{
    noe_error err;
    if (parse_value(o, shown, text, &err) != NOE_OK)
        die_of_usage(program, "%s", err.text);
}

static const noe_option *find_long(const noe_program *program, const char *name,
                                   size_t len)
{
    for (int i = 0; i < program->n_options; i++) {
        const noe_option *o = &program->options[i];
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    }
    return NULL;
}

static const noe_option *find_letter(const noe_program *program, char letter)
{
    for (int i = 0; i < program->n_options; i++) {
        if (program->options[i].letter == letter)
            return &program->options[i];
    }
    return NULL;
}

/* "noether-verify 0.1.0", and the libraries on a line of their own. */
static void print_version(const noe_program *program)
{
    printf("%s %s\n", program->name, noe_version);
    for (int i = 0; program->libraries && program->libraries[i]; i++)
        printf("%s%s%s", i == 0 ? "with " : ", ", program->libraries[i](),
               program->libraries[i + 1] ? "" : "\n");
}

/* What every program tells about itself. */
static int show(const noe_program *program, const char *arg)
{
    if (strcmp(arg, "--help") == 0)
        print_help(program, 1);
    else if (strcmp(arg, "--version") == 0)
        print_version(program);
    else if (strcmp(arg, "--man") == 0)
        print_manual(program, noe_manual_page);
    else if (strcmp(arg, "--completion") == 0)
        print_manual(program, noe_manual_completion);
    else
        return 0;
    return 1;
}

/* Handles "--name", "--name=value"; returns whether next was used as the value. */
static int take_long(const noe_program *program, const char *arg, const char *next)
{
    size_t len = strcspn(arg + 2, "=");
    const char *value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
    int shown_len = (int)len + 2;
    char shown[80];
    snprintf(shown, sizeof shown, "%.*s", shown_len, arg);
    if (show(program, arg))
        exit_after_output(program);
    const noe_option *o = find_long(program, arg + 2, len);
    if (!o)
        die_of_usage(program, "unknown option '%s'", shown);
    if (o->kind == NOE_OPTION_FLAG) {
        if (value)
            die_of_usage(program, "%s: takes no value, '%s' was given", shown, value);
        *(int *)o->target = 1;
        return 0;
    }
    if (!value && !next)
        die_of_usage(program, "%s: the value %s is missing", shown, o->operand);
    take_value(program, o, shown, value ? value : next);
    return !value;
}

/* Handles "-v", "-vo file", "-ofile"; returns whether next was used as the value. */
static int take_letters(const noe_program *program, const char *arg, const char *next)
{
    for (const char *c = arg + 1; *c; c++) {
        char shown[3] = {'-', *c, '\0'};
        const noe_option *o = find_letter(program, *c);
        if (!o && *c == 'h') {
            print_help(program, 0);
            exit_after_output(program);
        }
        if (!o)
            die_of_usage(program, "unknown option '%s'", shown);
        if (o->kind == NOE_OPTION_FLAG) {
            *(int *)o->target = 1;
            continue;
        }
        if (!c[1] && !next)
            die_of_usage(program, "%s: the value %s is missing", shown, o->operand);
        take_value(program, o, shown, c[1] ? c + 1 : next);
        return !c[1];
    }
    return 0;
}

void noe_options_parse(const noe_program *program, int argc, char **argv,
                       const char **operands, int *n_operands)
{
    int n = 0, only_operands = 0;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (!only_operands && strcmp(arg, "--") == 0) {
            only_operands = 1;
        } else if (!only_operands && arg[0] == '-' && arg[1] == '-') {
            i += take_long(program, arg, next);
        } else if (!only_operands && arg[0] == '-' && arg[1]) {
            i += take_letters(program, arg, next);
        } else {
            if (n == program->max_operands)
                die_of_usage(program, "unexpected operand '%s'", arg);
            if (!*arg)
                die_of_usage(program, "operand %d is empty", n + 1);
            operands[n++] = arg;
        }
    }
    if (n < program->min_operands)
        die_of_usage(program, "an operand is missing, want '%s'", program->operands);
    *n_operands = n;
}

noe_status noe_option_set(const noe_program *program, const char *name,
                          const char *value, noe_error *err)
{
    const noe_option *o = find_long(program, name, strlen(name));
    if (!o)
        return noe_fail(err, NOE_ERR_ARG, "there is no option '%s'", name);
    if (o->kind != NOE_OPTION_FLAG)
        return parse_value(o, name, value, err);
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return noe_fail(err, NOE_ERR_ARG, "%s: '%s' is not 0 or 1", name, value);
    *(int *)o->target = *value == '1';
    return NOE_OK;
}

int noe_report(const noe_program *program, const noe_error *err)
{
    const char *text = err->text[0] ? err->text : noe_status_text(err->status);
    fprintf(stderr, "%s: error: %s\n", program->name, text);
    return noe_status_exit_code(err->status);
}
