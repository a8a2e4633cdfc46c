/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates into the rule database: one run, one transaction.
 */
#include "generator/generate.h"

#include "core/base/options.h"
#include "core/field.h"
#include <stdio.h>
#include <stdlib.h>

static noe_status id_of_text(const char *text, char *id, noe_error *err)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(text, SIZE_MAX, rule, err);
    if (status == NOE_OK)
        noe_hash_hex(noe_rule_id(rule), id);
    free(rule);
    return status;
}

/* The candidate that a step names. */
static noe_status step_id(const noe_generated *g, const noe_group_step *s, char *id,
                          noe_error *err)
{
    if (s->group < 0) {
        strcpy(id, s->group == NOE_GROUP_SWAP ? "" : "-");
        return NOE_OK;
    }
    const noe_lifted *l = &g->groups[s->group].variants;
    return id_of_text(l->text[s->variant < l->n ? s->variant : l->n - 1], id, err);
}

/* The steps belong to the group; they are kept with its first variant. */
static noe_status add_steps(noe_ruledb *db, const noe_generated *g,
                            const noe_group *group, const char *id, noe_error *err)
{
    for (int i = 0; i < group->n_steps; i++) {
        const noe_group_step *s = &group->steps[i];
        char used[NOE_HASH_HEX_LEN + 1], position[4 * NOE_STEP_MAX_DEPTH + 1] = "";
        NOE_TRY(step_id(g, s, used, err));
        for (int k = 0, n = 0; k < s->depth; k++)
            n += snprintf(position + n, sizeof position - (size_t)n, "%s%d",
                          k ? "." : "", s->at[k]);
        noe_derivation_row row = {i + 1, used, s->is_backward, position};
        NOE_TRY(noe_ruledb_add_derivation_step(db, id, &row, err));
    }
    return NOE_OK;
}

static noe_status add_variant(noe_ruledb *db, int64_t run_id, const noe_generated *g,
                              int index, int generality, int *n_new, noe_error *err)
{
    const noe_group *group = &g->groups[index];
    static const char *const kinds[] = {"axiom", "derived", "sibling"};
    const char *text = group->variants.text[generality];
    char id[NOE_HASH_HEX_LEN + 1], field[64];
    noe_status status = id_of_text(text, id, err);
    if (status == NOE_OK) {
        snprintf(field, sizeof field, "p=%u samples=%d", (unsigned)NOE_FIELD_P,
                 g->space[group->space].n_samples);
        noe_candidate c = {.text = text,
                           .rule_id = id,
                           .source = group->source,
                           .group = index,
                           .generality = generality,
                           .level = group->level,
                           .shapes = group->shapes,
                           .field = field,
                           .kind = kinds[group->kind],
                           .use = noe_pair_use_text(group->use),
                           .is_deferred = group->is_deferred};
        bool is_new = false;
        status = noe_ruledb_add_candidate(db, run_id, &c, &is_new, err);
        *n_new += is_new;
        if (status == NOE_OK && is_new && generality == 0)
            status = add_steps(db, g, group, id, err);
    }
    return status;
}

static noe_status add_run(noe_ruledb *db, const noe_generate_options *options,
                          const noe_env *env, int64_t *run_id, noe_error *err)
{
    noe_buf config = {0};
    noe_buf_printf(&config, "ops=%s n=%d samples=%d", options->ops, options->n_levels,
                   options->n_samples);
    noe_run run = {.stage = "generate",
                   .config = noe_buf_text(&config),
                   .version = noe_version,
                   .seed = env->seed,
                   .op_table_hash = noe_op_table_hash(),
                   .solver = ""};
    noe_status status = noe_ruledb_add_run(db, &run, run_id, err);
    noe_buf_clear(&config);
    return status;
}

static noe_status store_all(const noe_generated *g, const noe_generate_options *options,
                            const noe_env *env, noe_ruledb *db, int *n_new,
                            noe_error *err)
{
    int64_t run_id;
    NOE_TRY(add_run(db, options, env, &run_id, err));
    for (int i = 0; i < g->n_groups; i++) {
        for (int k = 0; k < g->groups[i].variants.n; k++)
            NOE_TRY(add_variant(db, run_id, g, i, k, n_new, err));
    }
    noe_buf stats = {0};
    noe_generated_print_stats(&stats, g);
    noe_status status = noe_ruledb_finish_run(
        db, run_id, noe_cpu_seconds(), noe_peak_rss_kib(), noe_buf_text(&stats), err);
    noe_buf_clear(&stats);
    return status;
}

noe_status noe_generated_store(const noe_generated *g,
                               const noe_generate_options *options, const noe_env *env,
                               noe_ruledb *db, int *n_new, noe_error *err)
{
    *n_new = 0;
    NOE_TRY(noe_ruledb_begin(db, err));
    noe_status status = store_all(g, options, env, db, n_new, err);
    if (status == NOE_OK)
        return noe_ruledb_commit(db, err);
    noe_ruledb_rollback(db);
    return status;
}
