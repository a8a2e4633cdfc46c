/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the spaces one after the other. Only the lifted texts outlive a space.
 */
#include "generator/generate.h"

#include "generator/group.h"
#include "generator/ranks.h"
#include <stdlib.h>

typedef struct run {
    const noe_generate_options *options;
    const noe_env *env;
    noe_generated *out;
    noe_grouper *grouper;
} run;

static noe_status lift_pairs(run *r, const noe_pair *pairs, int n,
                             noe_space_stats *stats, noe_error *err)
{
    double start = noe_cpu_seconds();
    stats->n_pairs = (uint64_t)n;
    noe_status status = noe_grouper_add(r->grouper, pairs, n, stats, err);
    stats->lift_seconds = noe_cpu_seconds() - start;
    return status;
}

static noe_status run_space(run *r, const noe_space *space, noe_error *err)
{
    noe_space_stats *stats = &r->out->space[r->out->n_spaces];
    int n_samples = r->options->n_samples ? r->options->n_samples : space->n_samples;
    noe_universe *u = NULL;
    noe_pair *pairs = NULL;
    int n_pairs = 0;
    int n_levels = r->options->n_levels + space->deeper;
    if (n_levels > NOE_MAX_LEVEL)
        n_levels = NOE_MAX_LEVEL;
    *stats = (noe_space_stats){.n_levels = n_levels, .n_samples = n_samples};
    memcpy(stats->name, space->name, sizeof stats->name);
    noe_universe_options options = {.n_levels = n_levels,
                                    .n_samples = n_samples,
                                    .max_bytes = r->options->max_bytes,
                                    .folder = r->options->folder,
                                    .checkpoints = r->options->checkpoints};
    noe_status status = noe_universe_build(space, &options, r->env, &u, err);
    if (status == NOE_OK)
        memcpy(stats->level, u->stats, sizeof stats->level);
    if (status == NOE_OK && !r->options->only_enumerate && noe_rank() == 0) {
        status = noe_universe_prune(u, &pairs, &n_pairs, &stats->prune, err);
    }
    noe_universe_free(u);
    if (status == NOE_OK)
        status = noe_pairs_minimize(pairs, n_pairs, r->env, &stats->minimize, err);
    if (status == NOE_OK)
        status = lift_pairs(r, pairs, n_pairs, stats, err);
    noe_pairs_free(pairs, n_pairs);
    r->out->n_spaces++;
    return status;
}

noe_status noe_generate(const noe_generate_options *options, const noe_env *env,
                        noe_generated *out, noe_error *err)
{
    *out = (noe_generated){0};
    noe_space *spaces = noe_calloc(NOE_SPACE_MAX, sizeof *spaces);
    int n = 0;
    run r = {options, env, out, noe_grouper_new(env, out)};
    noe_status status = noe_space_build(options->ops, spaces, &n, err);
    for (int i = 0; i < n && status == NOE_OK; i++)
        status = run_space(&r, &spaces[i], err);
    if (status == NOE_OK)
        noe_grouper_finish(r.grouper);
    noe_grouper_free(r.grouper);
    free(spaces);
    if (status != NOE_OK)
        noe_generated_clear(out);
    return status;
}

void noe_generated_clear(noe_generated *g)
{
    for (int i = 0; i < g->n_groups; i++) {
        noe_lifted_clear(&g->groups[i].variants);
        free(g->groups[i].source);
        free(g->groups[i].shapes);
        free(g->groups[i].steps);
    }
    free(g->groups);
    *g = (noe_generated){0};
}

static void print_level(noe_buf *b, const noe_space_stats *s, int level)
{
    const noe_level_stats *l = &s->level[level];
    struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"enodes", l->n_enodes},     {"values", l->n_values},
                {"pairs", l->n_pairs},       {"canonical-pairs", l->n_canonical},
                {"siblings", l->n_siblings}, {"supports", l->n_supports},
                {"kept", l->n_kept},         {"spilled", l->n_spilled}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        noe_buf_printf(b, "generate.%s.level%d.%s %llu count\n", s->name, level,
                       rows[i].name, (unsigned long long)rows[i].value);
    noe_buf_printf(b, "generate.%s.level%d.cpu %.3f s\n", s->name, level,
                   l->cpu_seconds);
    noe_buf_printf(b, "generate.%s.level%d.wall %.3f s\n", s->name, level,
                   l->wall_seconds);
}

static void print_space(noe_buf *b, const noe_space_stats *s)
{
    for (int level = 0; level <= s->n_levels; level++)
        print_level(b, s, level);
    struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"samples", (uint64_t)s->n_samples},
        {"prune.classes", s->prune.n_classes},
        {"prune.accepted", s->prune.n_accepted},
        {"prune.proved", s->prune.n_proved},
        {"prune.derived", s->prune.n_derived},
        {"prune.siblings", s->prune.n_siblings},
        {"prune.false", s->prune.n_false},
        {"prune.undirected", s->prune.n_undirected},
        {"prune.closed", s->prune.n_closed},
        {"prune.too-large", s->prune.n_too_large},
        {"prune.cut", s->prune.n_cut},
        {"minimize.tried", s->minimize.n_tried},
        {"minimize.proved", s->minimize.n_proved},
        {"minimize.useful", s->minimize.n_useful},
        {"minimize.underived", s->minimize.n_underived},
        {"lift.pairs", s->n_pairs},
        {"lift.unlifted", s->n_unlifted},
        {"lift.same", s->n_same},
        {"lift.repeated", s->n_repeated},
        {"lift.deferred", s->n_deferred},
        {"lift.groups", s->n_groups},
        {"lift.candidates", s->n_candidates},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        noe_buf_printf(b, "generate.%s.%s %llu count\n", s->name, rows[i].name,
                       (unsigned long long)rows[i].value);
    noe_buf_printf(b, "generate.%s.prune.cpu %.3f s\n", s->name, s->prune.cpu_seconds);
    noe_buf_printf(b, "generate.%s.minimize.cpu %.3f s\n", s->name,
                   s->minimize.cpu_seconds);
    noe_buf_printf(b, "generate.%s.lift.cpu %.3f s\n", s->name, s->lift_seconds);
}

void noe_generated_print_stats(noe_buf *b, const noe_generated *g)
{
    uint64_t n = 0;
    for (int i = 0; i < g->n_spaces; i++) {
        print_space(b, &g->space[i]);
        n += g->space[i].n_candidates;
    }
    noe_buf_printf(b, "generate.groups %d count\n", g->n_groups);
    noe_buf_printf(b, "generate.candidates %llu count\n", (unsigned long long)n);
    noe_buf_printf(b, "generate.cpu %.3f s\n", noe_cpu_seconds());
    noe_buf_printf(b, "generate.peak-rss %ld KiB\n", noe_peak_rss_kib());
}
