/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines from one table a program: the table is the parser, the range check and
 * the help text. `-h` prints the common options, `--help` all, `--version` the version.
 */
#ifndef NOE_CORE_BASE_OPTIONS_H
#define NOE_CORE_BASE_OPTIONS_H

#include "core/base/status.h"
#include <stdint.h>

typedef enum noe_option_kind {
    NOE_OPTION_FLAG,  /* int *      set to 1 */
    NOE_OPTION_INT,   /* int64_t *  within [min, max]; no limits if min == max */
    NOE_OPTION_REAL,  /* double *   likewise */
    NOE_OPTION_TEXT,  /* const char ** */
    NOE_OPTION_TEXTS, /* noe_option_texts * : may be given several times */
} noe_option_kind;

typedef struct noe_option_texts {
    const char *text[32];
    int n;
} noe_option_texts;

typedef struct noe_option {
    const char *name; /* without dashes: "db" */
    char letter;      /* 'o' for -o, or 0 */
    noe_option_kind kind;
    void *target; /* holds the default on entry */
    double min, max;
    const char *operand; /* "<file>", NULL for flags */
    const char *help;
    int common; /* shown by -h */
} noe_option;

typedef struct noe_program {
    const char *name;     /* "noether-generate" */
    const char *operands; /* "MODEL.onnx" for the usage line, "" for none */
    const char *summary;  /* one sentence */
    const char *epilogue; /* examples, exit codes; may be NULL */
    const noe_option *options;
    int n_options;
    int min_operands, max_operands;
    /* Each "Z3 4.8.12": the libraries that results may depend on, ended by NULL; or
     * NULL */
    const char *(*const *libraries)(void);
} noe_program;

/* Parses argv. Operands are collected into operands[0..*n_operands). Options may follow
 * operands; `--` ends options; `--name=value` and `--name value` are equal. Prints help
 * or version and exits 0; prints one error line and exits 2 on a wrong command line.
 * For main.c only. */
void noe_options_parse(const noe_program *program, int argc, char **argv,
                       const char **operands, int *n_operands);

/* Sets an option by its long name, for callers that have no command line; a flag to "0"
 * or "1". value must live as long as the option's target. */
NOE_NODISCARD noe_status noe_option_set(const noe_program *program, const char *name,
                                        const char *value, noe_error *err);

/* Prints "NAME: error: TEXT" and returns the exit code for main.c to return. */
int noe_report(const noe_program *program, const noe_error *err);

extern const char noe_version[]; /* "0.1.0" */

#endif
