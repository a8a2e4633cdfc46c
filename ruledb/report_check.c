/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking and exporting. A stored text is believed when it parses, prints as itself,
 * and hashes to its id; what a rule row says besides (sides, operators, counts) must be
 * what the parsed text says. This proves nothing about the rule; it finds damaged and
 * edited rows.
 */
#include "ruledb/report.h"
#include "core/rule.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBLEMS_SHOWN 100

typedef struct checker {
    noe_buf *out;
    int n_problems;
    int n_checked;
    noe_buf scratch;
} checker;

static void add_problem(checker *c, const char *kind, const char *id, const char *text)
{
    if (++c->n_problems > MAX_PROBLEMS_SHOWN)
        return;
    noe_buf_printf(c->out, "problem: %s ", kind);
    noe_report_add_text(c->out, id, 40);
    noe_buf_puts(c->out, *id ? ": " : "");
    noe_report_add_text(c->out, text, 300);
    noe_buf_puts(c->out, "\n");
}

static void reset(noe_buf *b)
{
    b->len = 0;
    noe_buf_puts(b, ""); /* printing nothing must leave nothing */
}

/* Parses a stored rule; a problem and false if it is not canonical or not of that id.
 */
static bool check_text(checker *c, const char *kind, const char *id, const char *text,
                       noe_rule *rule)
{
    noe_error err = {0};
    char hex[NOE_HASH_HEX_LEN + 1];
    if (noe_rule_parse(text, SIZE_MAX, rule, &err) != NOE_OK) {
        add_problem(c, kind, id, err.text);
        return false;
    }
    reset(&c->scratch);
    noe_rule_print(&c->scratch, rule);
    if (strcmp(noe_buf_text(&c->scratch), text) != 0) {
        add_problem(c, kind, id, "the text is not in canonical form");
        return false;
    }
    noe_hash_hex(noe_rule_id(rule), hex);
    if (strcmp(hex, id) != 0) {
        add_problem(c, kind, id, "the id is not the hash of the text");
        return false;
    }
    return true;
}

static const char *value_of(const noe_query_row *row, int i)
{
    return row->values[i] ? row->values[i] : "";
}

static noe_status check_candidate(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    checker *c = ctx;
    noe_rule *rule = noe_malloc(sizeof *rule);
    (void)check_text(c, "candidate", value_of(row, 0), value_of(row, 1), rule);
    c->n_checked++;
    free(rule);
    return NOE_OK;
}

static void compare_text(checker *c, const char *id, const char *column,
                         const char *got)
{
    if (strcmp(noe_buf_text(&c->scratch), got) == 0)
        return;
    noe_buf text = {0};
    noe_buf_printf(&text, "column %s is not what the text says", column);
    add_problem(c, "rule", id, text.text);
    noe_buf_clear(&text);
}

static void compare_int(checker *c, const char *id, const char *column, const char *got,
                        int want)
{
    reset(&c->scratch);
    noe_buf_printf(&c->scratch, "%d", want);
    compare_text(c, id, column, got);
}

/* The columns of a rule that follow from its text. */
static void compare_columns(checker *c, const noe_query_row *row, const noe_rule *rule)
{
    const char *id = value_of(row, 0);
    for (int rhs = 0; rhs < 2; rhs++) {
        reset(&c->scratch);
        noe_rule_print_side(&c->scratch, rule, rhs);
        compare_text(c, id, row->names[2 + rhs], value_of(row, 2 + rhs));
        reset(&c->scratch);
        noe_rule_print_ops(&c->scratch, rule, rhs);
        compare_text(c, id, row->names[5 + rhs], value_of(row, 5 + rhs));
        compare_int(c, id, row->names[7 + rhs], value_of(row, 7 + rhs),
                    noe_rule_count_ops(rule, rhs));
    }
    reset(&c->scratch);
    noe_rule_print_where(&c->scratch, rule);
    compare_text(c, id, row->names[4], value_of(row, 4));
    compare_int(c, id, row->names[9], value_of(row, 9), rule->n_vars);
    compare_int(c, id, row->names[10], value_of(row, 10), rule->n_roots);
}

static noe_status check_rule(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    checker *c = ctx;
    noe_rule *rule = noe_malloc(sizeof *rule);
    if (check_text(c, "rule", value_of(row, 0), value_of(row, 1), rule))
        compare_columns(c, row, rule);
    if (strcmp(value_of(row, 11), "1") != 0)
        add_problem(c, "rule", value_of(row, 0), "column level is not within 0..1000");
    c->n_checked++;
    free(rule);
    return NOE_OK;
}

static noe_status check_file(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    if (strcmp(value_of(row, 0), "ok") != 0)
        add_problem(ctx, "file", "", value_of(row, 0));
    return NOE_OK;
}

static noe_status check_references(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    noe_buf text = {0};
    noe_buf_printf(&text, "%s rows of table %s refer to rows of %s that do not exist",
                   value_of(row, 2), value_of(row, 0), value_of(row, 1));
    add_problem(ctx, "references:", "", text.text);
    noe_buf_clear(&text);
    return NOE_OK;
}

static noe_status count_one(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    *(long *)ctx = strtol(value_of(row, 0), NULL, 10);
    return NOE_OK;
}

static noe_status run_checks(noe_ruledb *db, checker *c, noe_error *err)
{
    NOE_TRY(noe_ruledb_query(db, "PRAGMA integrity_check(100)", NULL, 0, check_file, c,
                             err));
    NOE_TRY(noe_ruledb_query(db,
                             "SELECT \"table\", parent, count(*) FROM"
                             " pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2",
                             NULL, 0, check_references, c, err));
    NOE_TRY(noe_ruledb_query(db, "SELECT rule_id, text FROM candidate ORDER BY id",
                             NULL, 0, check_candidate, c, err));
    return noe_ruledb_query(db,
                            "SELECT id, text, lhs, rhs, condition, lhs_ops, rhs_ops,"
                            " n_lhs_ops, n_rhs_ops, n_vars, n_roots,"
                            " level BETWEEN 0 AND 1000 FROM rule ORDER BY id",
                            NULL, 0, check_rule, c, err);
}

static noe_status note_stale(noe_ruledb *db, noe_buf *out, noe_error *err)
{
    long n_stale = 0, n_foreign = 0;
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)noe_op_table_hash());
    const char *args[] = {hash};
    noe_status status = noe_ruledb_query(db, "SELECT count(*) FROM stale_rule", NULL, 0,
                                         count_one, &n_stale, err);
    if (status == NOE_OK)
        status =
            noe_ruledb_query(db, "SELECT count(*) FROM rule WHERE op_table_hash <> ?1",
                             args, 1, count_one, &n_foreign, err);
    if (status == NOE_OK && n_stale)
        noe_buf_printf(
            out,
            "note: %ld rules were proved under other axioms or another operator "
            "table than the newest verify run's and are not used\n",
            n_stale);
    if (status == NOE_OK && n_foreign)
        noe_buf_printf(
            out,
            "note: %ld rules were proved under another operator table than this "
            "program's and are not used; run noether-verify\n",
            n_foreign);
    return status;
}

noe_status noe_report_check(noe_ruledb *db, noe_buf *out, int *n_problems,
                            noe_error *err)
{
    checker c = {.out = out};
    noe_status status = run_checks(db, &c, err);
    if (status == NOE_OK)
        status = note_stale(db, out, err);
    if (c.n_problems > MAX_PROBLEMS_SHOWN)
        noe_buf_printf(out, "... and %d more problems\n",
                       c.n_problems - MAX_PROBLEMS_SHOWN);
    if (status == NOE_OK)
        noe_buf_printf(out, "%d texts checked, %d problems\n", c.n_checked,
                       c.n_problems);
    noe_buf_clear(&c.scratch);
    *n_problems = c.n_problems;
    return status;
}

/* --- export --- */

typedef struct exporter {
    noe_buf *out;
    int n_rules;
} exporter;

static noe_status export_rule(void *ctx, const noe_query_row *row, noe_error *err)
{
    exporter *e = ctx;
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(value_of(row, 1), SIZE_MAX, rule, err);
    if (status == NOE_OK)
        noe_rule_print(e->out, rule);
    else
        noe_error_prefix(err, "rule %.32s: ", value_of(row, 0));
    noe_buf_puts(e->out, "\n");
    e->n_rules++;
    free(rule);
    return status;
}

noe_status noe_report_export(noe_ruledb *db, noe_buf *out, int *n_rules, noe_error *err)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)noe_op_table_hash());
    const char *args[] = {hash};
    exporter e = {.out = out};
    noe_status status = noe_ruledb_query(
        db,
        "SELECT id, text FROM rule WHERE op_table_hash = ?1 AND axioms_hash ="
        " (SELECT axioms_hash FROM run WHERE stage = 'verify' AND op_table_hash = ?1"
        " ORDER BY id DESC LIMIT 1) ORDER BY level, text",
        args, 1, export_rule, &e, err);
    *n_rules = e.n_rules;
    return status;
}
