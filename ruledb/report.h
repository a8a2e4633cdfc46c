/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of noether-rules as text in a buffer. What comes from the database is
 * escaped (a file can be made by anybody, and a terminal obeys control characters) and
 * cut at NOE_REPORT_MAX_TEXT bytes.
 */
#ifndef NOE_RULEDB_REPORT_H
#define NOE_RULEDB_REPORT_H

#include "ruledb/query.h"
#include "core/base/mem.h"
#include "core/rule.h"

#define NOE_REPORT_MAX_TEXT 4000
#define NOE_REPORT_ID_CHARS 10 /* of an id in tables; show takes any unique prefix */

typedef struct noe_report_options {
    const char *op;         /* list: rules that have it on a side; NULL: any */
    const char *class_name; /* list; NULL: any */
    bool reduces;           /* list: sides of different numbers of operators */
    int64_t level;          /* list; negative: any */
    int64_t limit;          /* refuted, pending: rows; negative: all */
    bool is_tsv;            /* a header and tab-separated rows with whole ids */
    bool use_colour;
    bool wants_steps; /* derive: every term of a derivation */
} noe_report_options;

NOE_NODISCARD noe_status noe_report_list(noe_ruledb *db, const noe_report_options *o,
                                         noe_buf *out, noe_error *err);
/* A rule, or a candidate that is none, by a unique prefix of its id. */
NOE_NODISCARD noe_status noe_report_show(noe_ruledb *db, const char *id,
                                         const noe_report_options *o, noe_buf *out,
                                         noe_error *err);
NOE_NODISCARD noe_status noe_report_stats(noe_ruledb *db, const noe_report_options *o,
                                          noe_buf *out, noe_error *err);
NOE_NODISCARD noe_status noe_report_refuted(noe_ruledb *db, const noe_report_options *o,
                                            noe_buf *out, noe_error *err);
NOE_NODISCARD noe_status noe_report_pending(noe_ruledb *db, const noe_report_options *o,
                                            noe_buf *out, noe_error *err);
/* The rules in use as one HTML page, to search and to filter; its own styles, scripts
 * and pictures are inside. */
NOE_NODISCARD noe_status noe_report_page(noe_ruledb *db, noe_buf *html, int *n_rules,
                                         noe_error *err);
/* Checks the file, the references, and that every stored text is what it says it is.
 * Stale rules are reported and are no problem: they are simply not used. */
NOE_NODISCARD noe_status noe_report_check(noe_ruledb *db, noe_buf *out, int *n_problems,
                                          noe_error *err);
/* The rules in use as a rule file, ordered by level and text. */
NOE_NODISCARD noe_status noe_report_export(noe_ruledb *db, noe_buf *out, int *n_rules,
                                           noe_error *err);

/* The rules of a file, rule text or TASO's format, as candidates of a run of their own;
 * all of them or none. The database must be open for writing. */
NOE_NODISCARD noe_status noe_report_import(noe_ruledb *db, const char *path,
                                           noe_buf *out, noe_error *err);
/* The rules in use that TASO's format can say; out gets a line for each other one. */
NOE_NODISCARD noe_status noe_report_export_taso(noe_ruledb *db, noe_buf *file,
                                                noe_buf *out, noe_error *err);
/* A line a rule of the file: derivable from the rules in use, refuted, or unknown. */
typedef struct noe_derive_counts {
    int n_derivable, n_refuted, n_unknown;
} noe_derive_counts;
NOE_NODISCARD noe_status noe_report_derive(noe_ruledb *db, const char *path,
                                           const noe_report_options *o, noe_buf *out,
                                           noe_derive_counts *counts, noe_error *err);

/* --- pieces, used by the above --- */

/* text with control characters and what is not UTF-8 as \xNN, at most max bytes of it.
 */
void noe_report_add_text(noe_buf *out, const char *text, size_t max);
/* One side of a rule, an operator a line, indented by its depth plus `indent`. Works on
 * the text alone, so that it can draw what does not parse. */
void noe_report_add_tree(noe_buf *out, const char *side, int indent);
/* "left side /= right side" in SMT-LIB (QF_UF), what the instances of axioms that a
 * certificate lists refute. */
void noe_report_smt2(noe_buf *b, const noe_rule *rule);
/* A heading, bold if wanted. */
void noe_report_add_heading(noe_buf *out, const char *text, bool use_colour);
/* Runs a query and prints its rows as columns. align has a letter a column, 'l' or 'r';
 * column "id" is shortened. */
NOE_NODISCARD noe_status noe_report_add_table(noe_ruledb *db, const char *sql,
                                              const char *const *args, int n_args,
                                              const char *align,
                                              const noe_report_options *o, noe_buf *out,
                                              noe_error *err);

#endif
