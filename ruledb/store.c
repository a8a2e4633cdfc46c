/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing: runs, candidates, verdicts, rules, axioms, costs. Each call lands whole or
 * not at all, also outside a batch.
 *
 * Storing is where a rule's trust is decided, so it is checked here and again by the
 * schema: a rule needs a PROVED verdict under its run's hashes, its axioms must be
 * those of its run, and a verdict that takes PROVED back removes the rules that rest on
 * it.
 */
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static const char *const verdict_names[] = {
#define XX(ID) #ID,
    NOE_VERDICT_MAP(XX)
#undef XX
};

const char *noe_verdict_kind_name(noe_verdict_kind kind)
{
    NOE_ASSERT((size_t)kind < sizeof verdict_names / sizeof *verdict_names);
    return verdict_names[kind];
}

static const char *const tier_names[] = {
#define XX(ID, NAME) [NOE_TIER_##ID] = NAME,
    NOE_TIER_MAP(XX)
#undef XX
};
static const char *const class_names[] = {
#define XX(ID, NAME) [NOE_CLASS_##ID] = NAME,
    NOE_CLASS_MAP(XX)
#undef XX
};
static const char *const directions_names[] = {
#define XX(ID, NAME) [NOE_DIRECTIONS_##ID] = NAME,
    NOE_DIRECTIONS_MAP(XX)
#undef XX
};
static const char *const integers_names[] = {
#define XX(ID, NAME) [NOE_INTEGERS_##ID] = NAME,
    NOE_INTEGERS_MAP(XX)
#undef XX
};

#define N_OF(NAMES) (sizeof(NAMES) / sizeof *(NAMES))

static const char *name_at(const char *const *names, size_t n, size_t i)
{
    NOE_ASSERT(i < n);
    return names[i];
}

/* -1 if it is none of them. */
static int find_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    }
    return -1;
}

const char *noe_tier_name(noe_tier tier)
{
    return name_at(tier_names, N_OF(tier_names), (size_t)tier);
}

bool noe_tier_from_name(const char *name, noe_tier *tier)
{
    int i = find_name(tier_names, N_OF(tier_names), name);
    if (i >= 0)
        *tier = (noe_tier)i;
    return i >= 0;
}

const char *noe_numeric_class_name(noe_numeric_class c)
{
    return name_at(class_names, N_OF(class_names), (size_t)c);
}

bool noe_numeric_class_from_name(const char *name, noe_numeric_class *c)
{
    int i = find_name(class_names, N_OF(class_names), name);
    if (i >= 0)
        *c = (noe_numeric_class)i;
    return i >= 0;
}

const char *noe_directions_name(noe_directions d)
{
    return name_at(directions_names, N_OF(directions_names), (size_t)d);
}

bool noe_directions_from_name(const char *name, noe_directions *d)
{
    int i = find_name(directions_names, N_OF(directions_names), name);
    if (i >= 0)
        *d = (noe_directions)i;
    return i >= 0;
}

const char *noe_integers_name(noe_integers i)
{
    return name_at(integers_names, N_OF(integers_names), (size_t)i);
}

/* --- runs --- */

static noe_status insert_run(noe_ruledb *db, const noe_run *run, int64_t *run_id,
                             noe_error *err)
{
    noe_sql q;
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_RUN, "storing a run", &q, err));
    noe_sql_text(&q, run->stage);
    noe_sql_text(&q, run->config);
    noe_sql_text(&q, run->version);
    noe_sql_text(&q, seed);
    noe_sql_hash(&q, run->op_table_hash);
    noe_sql_hash(&q, run->axioms_hash);
    noe_sql_text(&q, run->solver);
    NOE_TRY(noe_sql_run(&q, err));
    *run_id = sqlite3_last_insert_rowid(db->connection);
    return NOE_OK;
}

noe_status noe_ruledb_add_run(noe_ruledb *db, const noe_run *run, int64_t *run_id,
                              noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, insert_run(db, run, run_id, err), err);
}

static noe_status update_run(noe_ruledb *db, int64_t run_id, double cpu_seconds,
                             int64_t peak_kib, const char *statistics, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_FINISH_RUN, "finishing a run", &q, err));
    noe_sql_real(&q, cpu_seconds);
    noe_sql_int(&q, peak_kib);
    noe_sql_text(&q, statistics);
    noe_sql_int(&q, run_id);
    NOE_TRY(noe_sql_run(&q, err));
    if (sqlite3_changes(db->connection) != 1)
        return noe_fail(err, NOE_ERR_ARG, "%s: there is no run %lld to finish",
                        db->path, (long long)run_id);
    return NOE_OK;
}

noe_status noe_ruledb_finish_run(noe_ruledb *db, int64_t run_id, double cpu_seconds,
                                 int64_t peak_kib, const char *statistics,
                                 noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    noe_status status = update_run(db, run_id, cpu_seconds, peak_kib, statistics, err);
    return noe_ruledb_leave(db, status, err);
}

/* The hashes that a verify run works under. */
typedef struct verify_run {
    char op_table_hash[17];
    char axioms_hash[17];
} verify_run;

static noe_status read_verify_run(noe_sql *q, int64_t run_id, verify_run *run,
                                  noe_error *err)
{
    bool has_row;
    noe_sql_int(q, run_id);
    NOE_TRY(noe_sql_step(q, &has_row, err));
    if (!has_row)
        return noe_fail(err, NOE_ERR_ARG, "%s: there is no run %lld", q->db->path,
                        (long long)run_id);
    const char *stage = noe_sql_get_text(q, 0);
    snprintf(run->op_table_hash, sizeof run->op_table_hash, "%s",
             noe_sql_get_text(q, 1));
    snprintf(run->axioms_hash, sizeof run->axioms_hash, "%s", noe_sql_get_text(q, 2));
    NOE_TRY(noe_sql_check(q, err));
    if (strcmp(stage, "verify") != 0)
        return noe_fail(err, NOE_ERR_ARG,
                        "%s: run %lld is of stage '%s'; only a verify run judges",
                        q->db->path, (long long)run_id, stage);
    return NOE_OK;
}

static noe_status get_verify_run(noe_ruledb *db, int64_t run_id, verify_run *run,
                                 noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_GET_RUN, "reading a run", &q, err));
    noe_status status = read_verify_run(&q, run_id, run, err);
    noe_sql_finish(&q);
    return status;
}

/* --- candidates --- */

static noe_status insert_candidate(noe_ruledb *db, int64_t run_id,
                                   const noe_candidate *c, bool *is_new, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_CANDIDATE, "storing a candidate", &q, err));
    noe_sql_int(&q, run_id);
    noe_sql_text(&q, c->rule_id);
    noe_sql_text(&q, c->text);
    noe_sql_text(&q, c->source);
    noe_sql_int(&q, c->group);
    noe_sql_int(&q, c->generality);
    noe_sql_int(&q, c->level);
    noe_sql_text(&q, c->shapes);
    noe_sql_text(&q, c->field);
    noe_sql_text(&q, c->kind ? c->kind : "axiom");
    noe_sql_text(&q, c->use);
    noe_sql_int(&q, c->is_deferred);
    NOE_TRY(noe_sql_run(&q, err));
    *is_new = sqlite3_changes(db->connection) == 1;
    return NOE_OK;
}

noe_status noe_ruledb_add_candidate(noe_ruledb *db, int64_t run_id,
                                    const noe_candidate *c, bool *is_new,
                                    noe_error *err)
{
    bool ignored;
    NOE_TRY(noe_ruledb_enter(db, err));
    noe_status status =
        insert_candidate(db, run_id, c, is_new ? is_new : &ignored, err);
    return noe_ruledb_leave(db, status, err);
}

static noe_status insert_narrowed(noe_ruledb *db, int64_t candidate_id,
                                  const char *rule_id, const char *text,
                                  noe_candidate *added, bool *is_new, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_NARROWED, "storing a candidate", &q, err));
    noe_sql_int(&q, candidate_id);
    noe_sql_text(&q, rule_id);
    noe_sql_text(&q, text);
    NOE_TRY(noe_sql_run(&q, err));
    *is_new = sqlite3_changes(db->connection) == 1;
    NOE_TRY(noe_sql_start(db, NOE_SQL_FIND_CANDIDATE, "reading a candidate", &q, err));
    noe_sql_text(&q, rule_id);
    bool found;
    noe_status status = noe_sql_step(&q, &found, err);
    if (status == NOE_OK && found) {
        added->id = noe_sql_get_int(&q, 0);
        added->run = noe_sql_get_int(&q, 1);
        added->group = noe_sql_get_int(&q, 2);
        status = noe_sql_check(&q, err);
    }
    noe_sql_finish(&q);
    if (status == NOE_OK && !found)
        return noe_fail(err, NOE_ERR_ARG, "%s: there is no candidate %lld", db->path,
                        (long long)candidate_id);
    return status;
}

noe_status noe_ruledb_add_narrowed(noe_ruledb *db, int64_t candidate_id,
                                   const char *rule_id, const char *text,
                                   noe_candidate *added, bool *is_new, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    noe_status status =
        insert_narrowed(db, candidate_id, rule_id, text, added, is_new, err);
    return noe_ruledb_leave(db, status, err);
}

static noe_status insert_step(noe_ruledb *db, const char *rule_id,
                              const noe_derivation_row *row, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_DERIVATION_STEP, "storing a derivation", &q,
                          err));
    noe_sql_text(&q, rule_id);
    noe_sql_int(&q, row->step);
    noe_sql_text(&q, row->rule_id);
    noe_sql_text(&q, row->is_backward ? "<=" : "=>");
    noe_sql_text(&q, row->position);
    return noe_sql_run(&q, err);
}

noe_status noe_ruledb_add_derivation_step(noe_ruledb *db, const char *rule_id,
                                          const noe_derivation_row *row, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, insert_step(db, rule_id, row, err), err);
}

/* --- verdicts --- */

static noe_status withdraw_rules(noe_ruledb *db, const verify_run *run,
                                 int64_t candidate_id, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_WITHDRAW_RULES, "withdrawing a rule", &q, err));
    noe_sql_int(&q, candidate_id);
    noe_sql_text(&q, run->op_table_hash);
    noe_sql_text(&q, run->axioms_hash);
    return noe_sql_run(&q, err);
}

/* What is proved without a word on how is proved by stage z3. */
static noe_tier tier_of(const noe_verdict *v)
{
    if (v->kind != NOE_VERDICT_PROVED)
        return NOE_TIER_NONE;
    return v->tier == NOE_TIER_NONE ? NOE_TIER_C : v->tier;
}

static noe_status upsert_verdict(noe_ruledb *db, const verify_run *run, int64_t run_id,
                                 int64_t candidate_id, const noe_verdict *v,
                                 noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_SET_VERDICT, "storing a verdict", &q, err));
    noe_sql_int(&q, candidate_id);
    noe_sql_text(&q, run->op_table_hash);
    noe_sql_text(&q, run->axioms_hash);
    noe_sql_int(&q, run_id);
    noe_sql_text(&q, noe_verdict_kind_name(v->kind));
    noe_sql_text(&q, v->stage);
    noe_sql_text(&q, v->reason);
    noe_sql_text(&q, v->counterexample);
    noe_sql_text(&q, v->shapes_checked);
    noe_sql_int(&q, v->n_instances);
    noe_sql_real(&q, v->error_bound);
    noe_sql_text(&q, v->axioms);
    noe_sql_text(&q, v->certificate);
    noe_sql_int(&q, v->rlimit);
    noe_sql_real(&q, v->cpu_seconds);
    noe_sql_text(&q, noe_tier_name(tier_of(v)));
    noe_sql_text(&q, v->ranks ? v->ranks : "");
    noe_sql_text(&q, v->laws ? v->laws : "");
    noe_sql_int(&q, v->questions);
    noe_sql_text(&q, v->precondition ? v->precondition : "");
    return noe_sql_run(&q, err);
}

static noe_status set_verdict(noe_ruledb *db, int64_t run_id, int64_t candidate_id,
                              const noe_verdict *v, noe_error *err)
{
    verify_run run;
    NOE_TRY(get_verify_run(db, run_id, &run, err));
    if (v->kind != NOE_VERDICT_PROVED)
        NOE_TRY(withdraw_rules(db, &run, candidate_id, err));
    return upsert_verdict(db, &run, run_id, candidate_id, v, err);
}

noe_status noe_ruledb_set_verdict(noe_ruledb *db, int64_t run_id, int64_t candidate_id,
                                  const noe_verdict *v, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    noe_status status = set_verdict(db, run_id, candidate_id, v, err);
    return noe_ruledb_leave(db, status, err);
}

static noe_status reopen_group(noe_ruledb *db, int64_t run_id, int64_t run,
                               int64_t group, noe_error *err)
{
    noe_sql q;
    verify_run hashes;
    NOE_TRY(get_verify_run(db, run_id, &hashes, err));
    NOE_TRY(noe_sql_start(db, NOE_SQL_REOPEN_GROUP, "reopening candidates", &q, err));
    noe_sql_int(&q, run);
    noe_sql_int(&q, group);
    noe_sql_text(&q, hashes.op_table_hash);
    noe_sql_text(&q, hashes.axioms_hash);
    return noe_sql_run(&q, err);
}

noe_status noe_ruledb_reopen_group(noe_ruledb *db, int64_t run_id, int64_t run,
                                   int64_t group, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, reopen_group(db, run_id, run, group, err), err);
}

/* --- rules --- */

/* The axiom names of the PROVED verdict, as a copy for the caller to free. */
static noe_status read_proof(noe_sql *q, const noe_rule_row *row, char **axioms,
                             noe_tier *tier, noe_error *err)
{
    bool has_row;
    NOE_TRY(noe_sql_step(q, &has_row, err));
    const char *kind = has_row ? noe_sql_get_text(q, 0) : "none";
    const char *names = has_row ? noe_sql_get_text(q, 1) : "";
    NOE_TRY(noe_sql_check(q, err));
    if (strcmp(kind, noe_verdict_kind_name(NOE_VERDICT_PROVED)) != 0)
        return noe_fail(err, NOE_ERR_ARG,
                        "%s: rule %s: the verdict on candidate %lld is %s, not PROVED",
                        q->db->path, row->id, (long long)row->candidate, kind);
    if (!noe_tier_from_name(noe_sql_get_text(q, 2), tier))
        return noe_fail(err, NOE_ERR_DB, "%s: rule %s: unknown tier", q->db->path,
                        row->id);
    *axioms = noe_strdup(names);
    return NOE_OK;
}

static noe_status get_proof(noe_ruledb *db, const verify_run *run,
                            const noe_rule_row *row, char **axioms, noe_tier *tier,
                            noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_GET_VERDICT, "reading a verdict", &q, err));
    noe_sql_int(&q, row->candidate);
    noe_sql_text(&q, run->op_table_hash);
    noe_sql_text(&q, run->axioms_hash);
    noe_status status = read_proof(&q, row, axioms, tier, err);
    noe_sql_finish(&q);
    return status;
}

static noe_status upsert_rule(noe_ruledb *db, const verify_run *run, int64_t run_id,
                              const noe_rule_row *row, noe_tier tier, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_RULE, "storing a rule", &q, err));
    noe_sql_text(&q, row->id);
    noe_sql_text(&q, row->text);
    noe_sql_text(&q, row->lhs);
    noe_sql_text(&q, row->rhs);
    noe_sql_text(&q, row->where);
    noe_sql_text(&q, row->lhs_ops);
    noe_sql_text(&q, row->rhs_ops);
    noe_sql_int(&q, row->n_lhs_ops);
    noe_sql_int(&q, row->n_rhs_ops);
    noe_sql_int(&q, row->n_vars);
    noe_sql_int(&q, row->n_roots);
    noe_sql_text(&q, noe_numeric_class_name(row->numeric));
    noe_sql_real(&q, row->max_error);
    noe_sql_int(&q, row->level);
    noe_sql_int(&q, row->candidate);
    noe_sql_int(&q, run_id);
    noe_sql_text(&q, run->op_table_hash);
    noe_sql_text(&q, run->axioms_hash);
    noe_sql_text(&q, noe_tier_name(tier));
    noe_sql_text(&q, row->where_smt2 ? row->where_smt2 : "");
    noe_sql_text(&q, noe_integers_name(row->integers));
    noe_sql_text(&q, noe_directions_name(row->directions));
    return noe_sql_run(&q, err);
}

static noe_status check_axiom_known(noe_ruledb *db, const verify_run *run,
                                    const char *rule_id, const char *name,
                                    noe_error *err)
{
    noe_sql q;
    bool found;
    NOE_TRY(noe_sql_start(db, NOE_SQL_GET_AXIOM, "reading an axiom", &q, err));
    noe_sql_text(&q, run->axioms_hash);
    noe_sql_text(&q, name);
    noe_status status = noe_sql_step(&q, &found, err);
    noe_sql_finish(&q);
    if (status == NOE_OK && !found)
        return noe_fail(err, NOE_ERR_ARG,
                        "%s: rule %s: axiom '%s' is not among the axioms of hash %s",
                        db->path, rule_id, name, run->axioms_hash);
    return status;
}

static noe_status add_rule_axiom(noe_ruledb *db, const verify_run *run,
                                 const char *rule_id, const char *name, noe_error *err)
{
    noe_sql q;
    NOE_TRY(check_axiom_known(db, run, rule_id, name, err));
    NOE_TRY(
        noe_sql_start(db, NOE_SQL_ADD_RULE_AXIOM, "storing a rule's axiom", &q, err));
    noe_sql_text(&q, rule_id);
    noe_sql_text(&q, run->axioms_hash);
    noe_sql_text(&q, name);
    return noe_sql_run(&q, err);
}

static noe_status replace_rule_axioms(noe_ruledb *db, const verify_run *run,
                                      const char *rule_id, char *names, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_CLEAR_RULE_AXIOMS, "storing a rule", &q, err));
    noe_sql_text(&q, rule_id);
    NOE_TRY(noe_sql_run(&q, err));
    char *rest = names;
    for (char *name; (name = strsep(&rest, " "));) {
        if (*name)
            NOE_TRY(add_rule_axiom(db, run, rule_id, name, err));
    }
    return NOE_OK;
}

static noe_status add_rule(noe_ruledb *db, int64_t run_id, const noe_rule_row *row,
                           noe_error *err)
{
    verify_run run;
    char *axioms = NULL;
    noe_tier tier = NOE_TIER_NONE;
    NOE_TRY(get_verify_run(db, run_id, &run, err));
    NOE_TRY(get_proof(db, &run, row, &axioms, &tier, err));
    noe_status status = upsert_rule(db, &run, run_id, row, tier, err);
    if (status == NOE_OK)
        status = replace_rule_axioms(db, &run, row->id, axioms, err);
    free(axioms);
    return status;
}

noe_status noe_ruledb_add_rule(noe_ruledb *db, int64_t run_id, const noe_rule_row *row,
                               noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, add_rule(db, run_id, row, err), err);
}

/* --- axioms --- */

static noe_status insert_axiom(noe_ruledb *db, uint64_t axioms_hash, const char *name,
                               const char *text, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_ADD_AXIOM, "storing an axiom", &q, err));
    noe_sql_hash(&q, axioms_hash);
    noe_sql_text(&q, name);
    noe_sql_text(&q, text);
    return noe_sql_run(&q, err);
}

/* Stored already with this text? With another, the hash does not identify the axioms.
 */
static noe_status find_axiom(noe_sql *q, const char *name, const char *text,
                             bool *found, noe_error *err)
{
    NOE_TRY(noe_sql_step(q, found, err));
    if (!*found)
        return NOE_OK;
    const char *stored = noe_sql_get_text(q, 0);
    NOE_TRY(noe_sql_check(q, err));
    if (strcmp(stored, text) != 0)
        return noe_fail(
            err, NOE_ERR_ARG,
            "%s: axiom '%s' is stored with the text '%s' under the same hash",
            q->db->path, name, stored);
    return NOE_OK;
}

static noe_status add_axiom(noe_ruledb *db, uint64_t axioms_hash, const char *name,
                            const char *text, noe_error *err)
{
    noe_sql q;
    bool found;
    if (!*name || strpbrk(name, " \t\n"))
        return noe_fail(err, NOE_ERR_ARG,
                        "%s: '%s' is no axiom name: it is empty or has spaces",
                        db->path, name);
    NOE_TRY(noe_sql_start(db, NOE_SQL_GET_AXIOM, "reading an axiom", &q, err));
    noe_sql_hash(&q, axioms_hash);
    noe_sql_text(&q, name);
    noe_status status = find_axiom(&q, name, text, &found, err);
    noe_sql_finish(&q);
    if (status != NOE_OK || found)
        return status;
    return insert_axiom(db, axioms_hash, name, text, err);
}

noe_status noe_ruledb_add_axiom(noe_ruledb *db, uint64_t axioms_hash, const char *name,
                                const char *text, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, add_axiom(db, axioms_hash, name, text, err), err);
}

/* --- costs --- */

static noe_status put_cost(noe_ruledb *db, const noe_cost_row *row, noe_error *err)
{
    noe_sql q;
    NOE_TRY(noe_sql_start(db, NOE_SQL_PUT_COST, "storing a cost", &q, err));
    noe_sql_text(&q, row->key);
    noe_sql_real(&q, row->seconds);
    noe_sql_real(&q, row->second_best);
    noe_sql_int(&q, row->n_batches);
    noe_sql_text(&q, row->clock);
    return noe_sql_run(&q, err);
}

noe_status noe_ruledb_put_cost(noe_ruledb *db, const noe_cost_row *row, noe_error *err)
{
    NOE_TRY(noe_ruledb_enter(db, err));
    return noe_ruledb_leave(db, put_cost(db, row, err), err);
}
