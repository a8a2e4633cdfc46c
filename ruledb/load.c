/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: open candidates, current rules, costs. Rows are checked while they are read;
 * a row that is not what we would have written ends the reading with an error that
 * names it, because a rule set that was tampered with is not used in part.
 */
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* An int column; out of range is a mistake like a wrong type. */
static int get_int(noe_sql *q, int column)
{
    int64_t value = noe_sql_get_int(q, column);
    if (value >= 0 && value <= INT_MAX)
        return (int)value;
    if (q->bad.status == NOE_OK)
        (void)noe_fail(&q->bad, NOE_ERR_DB, "%s: %s: column %s is %lld, want 0 to %d",
                       q->db->path, q->what, sqlite3_column_name(q->statement, column),
                       (long long)value, INT_MAX);
    return 0;
}

static noe_status read_candidate(noe_sql *q, noe_candidate *c, noe_error *err)
{
    c->id = noe_sql_get_int(q, 0);
    c->text = noe_sql_get_text(q, 1);
    c->rule_id = noe_sql_get_text(q, 2);
    c->source = noe_sql_get_text(q, 3);
    c->group = noe_sql_get_int(q, 4);
    c->generality = get_int(q, 5);
    c->level = get_int(q, 6);
    c->shapes = noe_sql_get_text(q, 7);
    c->field = noe_sql_get_text(q, 8);
    c->run = noe_sql_get_int(q, 9);
    c->kind = noe_sql_get_text(q, 10);
    c->use = noe_sql_get_text(q, 11);
    c->is_deferred = noe_sql_get_int(q, 12) != 0;
    return noe_sql_check(q, err);
}

static noe_status visit_candidates(noe_sql *q, noe_candidate_fn *fn, void *ctx,
                                   noe_error *err)
{
    for (;;) {
        bool has_row;
        noe_candidate c = {0};
        NOE_TRY(noe_sql_step(q, &has_row, err));
        if (!has_row)
            return NOE_OK;
        NOE_TRY(read_candidate(q, &c, err));
        NOE_TRY(fn(ctx, &c, err));
    }
}

noe_status noe_ruledb_each_open_candidate(noe_ruledb *db, uint64_t op_table_hash,
                                          uint64_t axioms_hash, noe_candidate_fn *fn,
                                          void *ctx, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_OPEN_CANDIDATES, "reading candidates", &q, err));
    noe_sql_hash(&q, op_table_hash);
    noe_sql_hash(&q, axioms_hash);
    noe_status status = visit_candidates(&q, fn, ctx, err);
    noe_sql_finish(&q);
    return status;
}

noe_status noe_ruledb_group_follows(noe_ruledb *db, int64_t run, int64_t group,
                                    uint64_t op_table_hash, uint64_t axioms_hash,
                                    bool *follows, noe_error *err)
{
    noe_sql q;
    bool has_row;
    *follows = false;
    NOE_TRY(noe_sql_start(db, NOE_SQL_COUNT_STEPS, "reading a derivation", &q, err));
    noe_sql_int(&q, run);
    noe_sql_int(&q, group);
    noe_sql_hash(&q, op_table_hash);
    noe_sql_hash(&q, axioms_hash);
    noe_status status = noe_sql_step(&q, &has_row, err);
    if (status == NOE_OK && has_row) {
        int64_t n = noe_sql_get_int(&q, 0), n_holding = noe_sql_get_int(&q, 1);
        *follows = n > 0 && n == n_holding;
        status = noe_sql_check(&q, err);
    }
    noe_sql_finish(&q);
    return status;
}

noe_status noe_ruledb_each_premise(noe_ruledb *db, int64_t run, int64_t group,
                                   uint64_t op_table_hash, uint64_t axioms_hash,
                                   noe_premise_fn *fn, void *ctx, noe_error *err)
{
    noe_sql q;
    bool has_row = true;
    NOE_TRY(noe_sql_start(db, NOE_SQL_PREMISES, "reading a derivation", &q, err));
    noe_sql_int(&q, run);
    noe_sql_int(&q, group);
    noe_sql_hash(&q, op_table_hash);
    noe_sql_hash(&q, axioms_hash);
    noe_status status = NOE_OK;
    while (status == NOE_OK && has_row) {
        status = noe_sql_step(&q, &has_row, err);
        if (status != NOE_OK || !has_row)
            break;
        const char *text = noe_sql_get_text(&q, 0);
        status = noe_sql_check(&q, err);
        if (status == NOE_OK)
            status = fn(ctx, text, err);
    }
    noe_sql_finish(&q);
    return status;
}

static noe_status read_rule(noe_sql *q, noe_rule_row *row, noe_error *err)
{
    row->id = noe_sql_get_text(q, 0);
    row->text = noe_sql_get_text(q, 1);
    row->lhs = noe_sql_get_text(q, 2);
    row->rhs = noe_sql_get_text(q, 3);
    row->where = noe_sql_get_text(q, 4);
    row->lhs_ops = noe_sql_get_text(q, 5);
    row->rhs_ops = noe_sql_get_text(q, 6);
    row->n_lhs_ops = get_int(q, 7);
    row->n_rhs_ops = get_int(q, 8);
    row->n_vars = get_int(q, 9);
    row->n_roots = get_int(q, 10);
    const char *class_name = noe_sql_get_text(q, 11);
    row->max_error = noe_sql_get_real(q, 12);
    row->candidate = noe_sql_get_int(q, 13);
    row->level = get_int(q, 14);
    const char *tier_name = noe_sql_get_text(q, 15);
    const char *directions = noe_sql_get_text(q, 16);
    NOE_TRY(noe_sql_check(q, err));
    if (!noe_numeric_class_from_name(class_name, &row->numeric))
        return noe_fail(err, NOE_ERR_DB, "%s: rule %.40s: unknown class '%.40s'",
                        q->db->path, row->id, class_name);
    if (!noe_tier_from_name(tier_name, &row->tier))
        return noe_fail(err, NOE_ERR_DB, "%s: rule %.40s: unknown tier '%.40s'",
                        q->db->path, row->id, tier_name);
    if (!noe_directions_from_name(directions, &row->directions))
        return noe_fail(err, NOE_ERR_DB, "%s: rule %.40s: unknown directions '%.40s'",
                        q->db->path, row->id, directions);
    return NOE_OK;
}

static noe_status visit_rules(noe_sql *q, noe_rule_row_fn *fn, void *ctx,
                              noe_error *err)
{
    for (;;) {
        bool has_row;
        noe_rule_row row = {0};
        NOE_TRY(noe_sql_step(q, &has_row, err));
        if (!has_row)
            return NOE_OK;
        NOE_TRY(read_rule(q, &row, err));
        NOE_TRY(fn(ctx, &row, err));
    }
}

noe_status noe_ruledb_each_rule(noe_ruledb *db, uint64_t op_table_hash,
                                noe_rule_row_fn *fn, void *ctx, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_CURRENT_RULES, "reading rules", &q, err));
    noe_sql_hash(&q, op_table_hash);
    noe_status status = visit_rules(&q, fn, ctx, err);
    noe_sql_finish(&q);
    return status;
}

static noe_status read_proof(noe_sql *q, noe_proof_row *row, noe_error *err)
{
    row->id = noe_sql_get_text(q, 0);
    row->text = noe_sql_get_text(q, 1);
    row->certificate = noe_sql_get_text(q, 2);
    row->candidate = noe_sql_get_int(q, 3);
    row->run = noe_sql_get_int(q, 4);
    row->group = noe_sql_get_int(q, 5);
    row->level = get_int(q, 6);
    const char *tier_name = noe_sql_get_text(q, 7);
    row->op_table_hash = noe_sql_get_text(q, 8);
    row->axioms_hash = noe_sql_get_text(q, 9);
    NOE_TRY(noe_sql_check(q, err));
    if (!noe_tier_from_name(tier_name, &row->tier))
        return noe_fail(err, NOE_ERR_DB, "%s: rule %.40s: unknown tier '%.40s'",
                        q->db->path, row->id, tier_name);
    return NOE_OK;
}

static noe_status visit_proofs(noe_sql *q, noe_proof_row_fn *fn, void *ctx,
                               noe_error *err)
{
    for (;;) {
        bool has_row;
        noe_proof_row row = {0};
        NOE_TRY(noe_sql_step(q, &has_row, err));
        if (!has_row)
            return NOE_OK;
        NOE_TRY(read_proof(q, &row, err));
        NOE_TRY(fn(ctx, &row, err));
    }
}

noe_status noe_ruledb_each_proof(noe_ruledb *db, uint64_t op_table_hash,
                                 bool all_hashes, noe_proof_row_fn *fn, void *ctx,
                                 noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_PROOFS, "reading proofs", &q, err));
    noe_sql_hash(&q, op_table_hash);
    noe_sql_int(&q, all_hashes);
    noe_status status = visit_proofs(&q, fn, ctx, err);
    noe_sql_finish(&q);
    return status;
}

static noe_status read_cost(noe_sql *q, const char *key, bool *found, noe_cost_row *row,
                            noe_error *err)
{
    NOE_TRY(noe_sql_step(q, found, err));
    if (!*found)
        return NOE_OK;
    row->key = key;
    row->seconds = noe_sql_get_real(q, 0);
    row->second_best = noe_sql_get_real(q, 1);
    row->n_batches = get_int(q, 2);
    snprintf(q->db->clock, sizeof q->db->clock, "%s", noe_sql_get_text(q, 3));
    row->clock = q->db->clock;
    return noe_sql_check(q, err);
}

noe_status noe_ruledb_get_cost(noe_ruledb *db, const char *key, bool *found,
                               noe_cost_row *row, noe_error *err)
{
    noe_sql q;
    *found = false;
    NOE_TRY(noe_sql_start(db, NOE_SQL_GET_COST, "reading a cost", &q, err));
    noe_sql_text(&q, key);
    noe_status status = read_cost(&q, key, found, row, err);
    noe_sql_finish(&q);
    if (status != NOE_OK)
        *found = false;
    return status;
}
