/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists and statistics: each is a query and the way to print it. Orders are total, so
 * that equal databases give equal output.
 */
#include "ruledb/report.h"
#include "core/op.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An empty table says so to people; programs see that there is nothing. */
static noe_status list_table(noe_ruledb *db, const char *sql, const char *const *args,
                             int n_args, const char *align, const noe_report_options *o,
                             noe_buf *out, noe_error *err)
{
    size_t before = out->len;
    NOE_TRY(noe_report_add_table(db, sql, args, n_args, align, o, out, err));
    if (out->len == before && !o->is_tsv)
        noe_buf_puts(out, "none\n");
    return NOE_OK;
}

/* ?1 operator, ?2 class, ?3 anything: only reducing rules, ?4 level; '' is no filter.
 */
#define LIST_FROM                                                            \
    " FROM rule AS r WHERE (?1 = '' OR r.id IN (SELECT rule_id FROM rule_op" \
    " WHERE op = ?1)) AND (?2 = '' OR r.class = ?2)"                         \
    " AND (?3 = '' OR r.n_lhs_ops <> r.n_rhs_ops)"                           \
    " AND (?4 = '' OR r.level = CAST(?4 AS INTEGER)) ORDER BY r.level, r.text, r.id"
#define IS_STALE "r.id IN (SELECT id FROM stale_rule)"

noe_status noe_report_list(noe_ruledb *db, const noe_report_options *o, noe_buf *out,
                           noe_error *err)
{
    noe_op op;
    if (o->op && !noe_op_from_name(o->op, strlen(o->op), &op))
        return noe_fail(err, NOE_ERR_ARG, "'%s' is no operator", o->op);
    char level[24] = "";
    if (o->level >= 0)
        snprintf(level, sizeof level, "%" PRId64, o->level);
    const char *args[] = {o->op ? o->op : "", o->class_name ? o->class_name : "",
                          o->reduces ? "1" : "", level};
    const char *sql =
        o->is_tsv
            ? "SELECT r.id, r.level, r.class, r.n_lhs_ops, r.n_rhs_ops, r.lhs_ops,"
              " r.rhs_ops, " IS_STALE " AS stale, r.text" LIST_FROM
            : "SELECT r.id, r.level, r.class, r.n_lhs_ops || ':' || r.n_rhs_ops AS"
              " ops, iif(" IS_STALE ", '(stale) ', '') || r.text AS rule" LIST_FROM;
    return list_table(db, sql, args, 4, o->is_tsv ? "lrlrrllrl" : "lrlll", o, out, err);
}

static noe_status list_judged(noe_ruledb *db, const char *text_sql, const char *tsv_sql,
                              const noe_report_options *o, noe_buf *out, noe_error *err)
{
    char limit[24];
    snprintf(limit, sizeof limit, "%" PRId64, o->limit < 0 ? (int64_t)-1 : o->limit);
    return list_table(db, o->is_tsv ? tsv_sql : text_sql, (const char *const[]){limit},
                      1, "lrlll", o, out, err);
}

#define JUDGED_ORDER " ORDER BY level, text, candidate_id LIMIT CAST(?1 AS INTEGER)"

noe_status noe_report_refuted(noe_ruledb *db, const noe_report_options *o, noe_buf *out,
                              noe_error *err)
{
    return list_judged(
        db,
        "SELECT rule_id AS id, level, stage, text AS candidate,"
        " iif(counterexample = '', reason, counterexample) AS"
        " counterexample FROM refuted" JUDGED_ORDER,
        "SELECT rule_id AS id, level, stage, reason, counterexample, text"
        " FROM refuted" JUDGED_ORDER,
        o, out, err);
}

noe_status noe_report_pending(noe_ruledb *db, const noe_report_options *o, noe_buf *out,
                              noe_error *err)
{
    return list_judged(db,
                       "SELECT rule_id AS id, level, stage, text AS candidate, reason"
                       " FROM pending" JUDGED_ORDER,
                       "SELECT rule_id AS id, level, stage, reason, rlimit, text"
                       " FROM pending" JUDGED_ORDER,
                       o, out, err);
}

/* --- statistics --- */

static const struct {
    const char *heading, *align, *sql;
} statistics[] = {
    {"Candidates by level and verdict", "rrrrrrrr",
     "SELECT c.level, count(*) AS candidates, sum(v.kind IS 'PROVED') AS proved,"
     " sum(v.kind IS 'COVERED') AS covered, sum(v.kind IS 'REFUTED') AS refuted,"
     " sum(v.kind IS 'UNKNOWN') AS pending, sum(v.kind IS NULL) AS unjudged,"
     " printf('%.2f', total(v.cpu_seconds)) AS \"cpu s\" FROM candidate AS c"
     " LEFT JOIN current_verdict AS v ON v.candidate_id = c.id"
     " GROUP BY c.level ORDER BY c.level"},
    {"Rules by level", "rrrrr",
     "SELECT level, count(*) AS rules, sum(n_lhs_ops <> n_rhs_ops) AS reducing,"
     " sum(condition <> '') AS conditional, sum(" IS_STALE ") AS stale"
     " FROM rule AS r GROUP BY level ORDER BY level"},
    {"Rules by numeric class", "lrl",
     "SELECT class, count(*) AS rules, printf('%.1e', max(max_error)) AS"
     " \"largest difference\" FROM rule GROUP BY class ORDER BY class"},
    {"Operators of rules", "lrrr",
     "SELECT op AS operator, rules, on_lhs AS left, on_rhs AS right FROM operator_use"
     " ORDER BY rules DESC, op LIMIT 20"},
    {"Reasons for pending", "rll",
     "SELECT count(*) AS n, stage, reason FROM pending GROUP BY stage, reason"
     " ORDER BY n DESC, stage, reason LIMIT 10"},
    {"Axioms by use", "rl",
     "SELECT count(*) AS rules, name AS axiom FROM rule_axiom GROUP BY name"
     " ORDER BY rules DESC, axiom LIMIT 20"},
    {"Runs", "rlrrrll",
     "SELECT id AS run, stage, seed, printf('%.2f', cpu_seconds) AS \"cpu s\","
     " printf('%.1f', peak_kib / 1024.0) AS \"peak MiB\","
     " iif(finished, 'finished', 'unfinished') AS state, config FROM run ORDER BY "
     "run.id"},
    {"Costs", "rrl",
     "SELECT count(*) AS rows, printf('%.3g', min(seconds)) AS \"smallest s\","
     " clock FROM cost GROUP BY clock ORDER BY clock"},
};

noe_status noe_report_stats(noe_ruledb *db, const noe_report_options *o, noe_buf *out,
                            noe_error *err)
{
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        noe_buf part = {0};
        noe_status status = noe_report_add_table(db, statistics[i].sql, NULL, 0,
                                                 statistics[i].align, o, &part, err);
        if (status == NOE_OK && part.len) {
            noe_buf_puts(out, out->len ? "\n" : "");
            noe_report_add_heading(out, statistics[i].heading, o->use_colour);
            noe_buf_add(out, part.text, part.len);
        }
        noe_buf_clear(&part);
        NOE_TRY(status);
    }
    if (!out->len)
        noe_buf_puts(out, "The database is empty.\n");
    return NOE_OK;
}
