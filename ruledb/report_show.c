/* SPDX-License-Identifier: Apache-2.0
 *
 * One rule with everything that is known about it: what it says, why it is trusted,
 * where it came from. A candidate that did not become a rule is shown with its verdict.
 */
#include "ruledb/report.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_COLUMN 16

typedef struct shower {
    const noe_report_options *options;
    noe_buf *out;
    int n_rows;
} shower;

static void add_label(shower *s, const char *label)
{
    int pad = LABEL_COLUMN - (int)strlen(label);
    noe_buf_printf(s->out, s->options->use_colour ? "\x1b[1m%s\x1b[0m%*s" : "%s%*s",
                   label, pad > 1 ? pad : 1, "");
}

/* A label and a text; lines of the text after the first are indented. */
static void add_field(shower *s, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    add_label(s, label);
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        char *copy = strndup(line, len);
        if (line != text)
            noe_buf_printf(s->out, "%*s", LABEL_COLUMN, "");
        noe_report_add_text(s->out, copy, NOE_REPORT_MAX_TEXT);
        noe_buf_puts(s->out, "\n");
        free(copy);
        line += len + (line[len] == '\n');
    }
}

/* Every column is a field under its name; "tree" columns are drawn. */
static noe_status show_row(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    shower *s = ctx;
    s->n_rows++;
    for (int i = 0; i < row->n; i++) {
        if (strcmp(row->names[i], "left") != 0 && strcmp(row->names[i], "right") != 0) {
            add_field(s, row->names[i], row->values[i]);
            continue;
        }
        noe_report_add_heading(s->out, row->names[i], s->options->use_colour);
        noe_report_add_tree(s->out, row->values[i] ? row->values[i] : "", 4);
    }
    return NOE_OK;
}

static noe_status show(noe_ruledb *db, const char *sql, const char *id,
                       const noe_report_options *o, noe_buf *out, noe_error *err)
{
    shower s = {.options = o, .out = out};
    return noe_ruledb_query(db, sql, &id, 1, show_row, &s, err);
}

#define COUNT(N, WORD) N " || iif(" N " = 1, ' " WORD "', ' " WORD "s')"
#define OPS(SIDE) \
    "r.n_" SIDE "_ops || iif(r." SIDE "_ops = '', '', ' (' || r." SIDE "_ops || ')')"

static const char rule_sql[] =
    "SELECT r.id AS rule, r.text, r.lhs AS left, r.rhs AS right, r.condition, "
    "r.condition_smt2 AS \"as SMT-LIB2\","
    " r.class || ', largest relative difference seen in f32 ' || printf('%.1e',"
    " r.max_error) AS class, CASE r.integers WHEN 'wrap' THEN 'equal, also where they"
    " wrap around' WHEN 'bounded' THEN 'equal where nothing overflows' WHEN 'none' THEN"
    " 'nothing is said' ELSE '' END AS integers, " OPS("lhs") " || ' => ' || " OPS(
        "rhs") " AS operators,"
               " 'level ' || r.level || ', ' || " COUNT(
                   "r.n_vars",
                   "variable") " || ', ' ||"
                               " " COUNT(
                                   "r.n_roots",
                                   "output") " AS size FROM rule AS r WHERE r.id = ?1";

static const char verdict_sql[] =
    "SELECT v.kind || ' by stage ' || v.stage || iif(v.reason = '', '', ': ' || "
    "v.reason)"
    " AS verdict, v.precondition AS \"condition search\", (SELECT group_concat("
    "substr(n.rule_id, 1, 10) || ' ' || n.text, char(10)) FROM candidate AS n"
    " WHERE n.narrows = c.rule_id) AS \"narrowed to\", v.tier, v.ranks AS \"all "
    "sizes\", v.laws, v.counterexample, "
    "iif(v.n_instances = 0, '', "
    "" COUNT(
        "v.n_instances",
        "instance") " || iif(v.kind = 'REFUTED', '',"
                    " ', chance that a false rule passes ' || printf('%.1e', "
                    "v.error_bound)) ||"
                    " iif(v.shapes_checked = '', '', char(10) || v.shapes_checked)) AS "
                    "\"field check\","
                    " iif(v.rlimit = 0, '', v.rlimit || ' units') AS \"solver effort\","
                    " v.certificate, iif(h.run_id IS NULL, 'stale: run noether-verify "
                    "again', "
                    "'current')"
                    " AS state, 'run ' || run.id || ', ' || run.solver || ', seed ' || "
                    "run.seed ||"
                    " ', version ' || run.version || char(10) || 'operator table ' || "
                    "v.op_table_hash "
                    "||"
                    " ', axioms ' || v.axioms_hash AS \"verified by\""
                    " FROM candidate AS c JOIN current_verdict AS v ON v.candidate_id "
                    "= c.id"
                    " JOIN run ON run.id = v.run_id LEFT JOIN current_hashes AS h"
                    " ON h.op_table_hash = v.op_table_hash AND h.axioms_hash = "
                    "v.axioms_hash"
                    " WHERE c.id = coalesce((SELECT candidate_id FROM rule WHERE id = "
                    "?1),"
                    " (SELECT id FROM candidate WHERE rule_id = ?1))";

static const char axioms_sql[] =
    "SELECT group_concat(line, char(10)) AS axioms FROM (SELECT a.name || ': ' || "
    "a.text"
    " AS line FROM rule_axiom AS u JOIN axiom AS a ON a.axioms_hash = u.axioms_hash"
    " AND a.name = u.name WHERE u.rule_id = ?1 ORDER BY a.name)";

static const char origin_sql[] =
    "SELECT 'candidate ' || c.id || ', group ' || c.lift_group || ', variant ' ||"
    " c.generality AS origin, (SELECT substr(o.rule_id, 1, 10) || ' ' || o.text ||"
    " coalesce(char(10) || v.counterexample, '') FROM candidate AS o"
    " LEFT JOIN current_verdict AS v ON v.candidate_id = o.id"
    " WHERE o.rule_id = c.narrows) AS narrows, c.source AS \"found as\", c.shapes AS "
    "shapes, c.field,"
    " 'run ' || run.id || ', ' || run.config || ', seed ' || run.seed || ', version ' "
    "||"
    " run.version AS \"found by\" FROM candidate AS c JOIN run ON run.id = c.run_id"
    " WHERE c.id = coalesce((SELECT candidate_id FROM rule WHERE id = ?1),"
    " (SELECT id FROM candidate WHERE rule_id = ?1))";

static const char derivation_sql[] =
    "SELECT (SELECT c.kind || iif(c.use = '', '', ', ' || c.use) ||"
    " iif(c.deferred, ', judged only where its derivation fails', '')"
    " FROM candidate AS c WHERE c.id = coalesce((SELECT candidate_id FROM rule"
    " WHERE id = ?1), (SELECT id FROM candidate WHERE rule_id = ?1))) AS kind,"
    " (SELECT group_concat(line, char(10)) FROM (SELECT step || '. at ' ||"
    " iif(position = '', 'the root', position) || CASE WHEN rule_id = '' THEN"
    " ' operands exchanged' WHEN rule_id = '-' THEN ' a pair that made no rule' ELSE"
    " ' ' || direction || ' ' || substr(rule_id, 1, 10) || ' ' || coalesce(text, '')"
    " END AS line FROM derivation_step WHERE of_rule = coalesce((SELECT c.rule_id FROM"
    " rule AS r JOIN candidate AS c ON c.id = r.candidate_id WHERE r.id = ?1), ?1)"
    " ORDER BY step)) AS derivation";

static const char candidate_sql[] =
    "SELECT rule_id || ' (not a rule)' AS candidate, text, 'level ' || level AS size"
    " FROM candidate WHERE rule_id = ?1";

/* --- finding --- */

typedef struct finder {
    char id[64];
    bool is_rule;
    int n;
} finder;

static noe_status find_row(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    finder *f = ctx;
    if (f->n++ == 0 && row->values[0] && strlen(row->values[0]) < sizeof f->id) {
        strcpy(f->id, row->values[0]);
        f->is_rule = row->values[1] && strcmp(row->values[1], "1") == 0;
    }
    return NOE_OK;
}

static noe_status find_id(noe_ruledb *db, const char *prefix, finder *f, noe_error *err)
{
    char lower[40];
    size_t len = strlen(prefix);
    if (len == 0 || len > 32 || strspn(prefix, "0123456789abcdefABCDEF") != len)
        return noe_fail(err, NOE_ERR_ARG,
                        "'%.60s' is no id: want 1 to 32 hexadecimal digits", prefix);
    for (size_t i = 0; i <= len; i++)
        lower[i] = (char)tolower((unsigned char)prefix[i]);
    NOE_TRY(noe_ruledb_query(
        db,
        "SELECT id, max(is_rule) FROM (SELECT id, 1 AS is_rule FROM rule UNION ALL"
        " SELECT rule_id, 0 FROM candidate) WHERE substr(id, 1, length(?1)) = ?1"
        " GROUP BY id ORDER BY id LIMIT 2",
        (const char *const[]){lower}, 1, find_row, f, err));
    if (f->n == 0)
        return noe_fail(err, NOE_ERR_ARG,
                        "no rule or candidate has an id that begins '%s'", lower);
    if (f->n > 1)
        return noe_fail(err, NOE_ERR_ARG,
                        "several ids begin '%s' (%.32s and others); give more digits",
                        lower, f->id);
    return NOE_OK;
}

noe_status noe_report_show(noe_ruledb *db, const char *prefix,
                           const noe_report_options *o, noe_buf *out, noe_error *err)
{
    finder f = {0};
    NOE_TRY(find_id(db, prefix, &f, err));
    NOE_TRY(show(db, f.is_rule ? rule_sql : candidate_sql, f.id, o, out, err));
    noe_buf_puts(out, "\n");
    NOE_TRY(show(db, verdict_sql, f.id, o, out, err));
    NOE_TRY(show(db, axioms_sql, f.id, o, out, err));
    noe_buf_puts(out, "\n");
    NOE_TRY(show(db, derivation_sql, f.id, o, out, err));
    return show(db, origin_sql, f.id, o, out, err);
}
