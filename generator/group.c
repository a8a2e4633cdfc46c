/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs are lifted LIFT_ROUND at a time, by as many threads as there are, and taken up
 * in order. One that is an instance of an earlier group, or whose most general text is
 * there already, is that group. One that a rule
 * of an earlier group rewrites in one step, and one that minimizing derived, is
 * deferred: it is wanted only if what it rests on is not proved. Deferred groups come
 * last, so that a text that some pair needs is found with that pair, not with one that
 * may never be judged.
 */
#include "generator/group.h"

#include "core/base/hash.h"
#include "core/base/pool.h"
#include "generator/known.h"
#include <stdlib.h>

#define LIFT_ROUND 64
/* Deferred groups have numbers of their own from here on, until all are known. */
#define DEFERRED (1 << 28)

struct noe_grouper {
    const noe_env *env;
    noe_generated *out;
    noe_key_table *seen; /* group by hash of text */
    noe_known *known;    /* the most general variants so far */
    noe_group *deferred;
    int n_deferred, cap_deferred;
    int *group_of;  /* pairs of this space, by id */
    bool *is_first; /* that the group was made for; by id, too */
    /* the round */
    const noe_pair *pairs;
    noe_lifted lifted[LIFT_ROUND];
    int instance_of[LIFT_ROUND]; /* the group, or NOE_GROUP_NONE */
};

noe_grouper *noe_grouper_new(const noe_env *env, noe_generated *out)
{
    noe_grouper *g = noe_calloc(1, sizeof *g);
    g->env = env;
    g->out = out;
    g->seen = noe_key_table_new();
    g->known = noe_known_new();
    return g;
}

static void clear_group(noe_group *g)
{
    noe_lifted_clear(&g->variants);
    free(g->source);
    free(g->shapes);
    free(g->steps);
}

void noe_grouper_free(noe_grouper *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n_deferred; i++)
        clear_group(&g->deferred[i]);
    free(g->deferred);
    noe_key_table_free(g->seen);
    noe_known_free(g->known);
    free(g);
}

static char *take_text(noe_buf *b)
{
    char *text = noe_strdup(noe_buf_text(b));
    noe_buf_clear(b);
    return text;
}

static uint64_t text_key(const char *text)
{
    uint64_t key = noe_hash64(text, strlen(text), 0);
    return key ? key : 1;
}

/* The group that has the text, or NOE_GROUP_NONE. */
static int group_of_text(const noe_grouper *g, const char *text)
{
    uint32_t group = noe_key_table_get(g->seen, text_key(text));
    return group == UINT32_MAX ? NOE_GROUP_NONE : (int)group;
}

/* Drops the variants that an earlier group has. */
static void drop_seen(noe_grouper *g, noe_lifted *l, int group)
{
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        if (group_of_text(g, l->text[i]) != NOE_GROUP_NONE) {
            free(l->text[i]);
            continue;
        }
        noe_key_table_put(g->seen, text_key(l->text[i]), (uint32_t)group);
        l->is_reversed[n] = l->is_reversed[i];
        l->text[n++] = l->text[i];
    }
    l->n = n;
}

static void lift_one(void *ctx, int worker, uint32_t i)
{
    noe_grouper *g = ctx;
    (void)worker;
    g->lifted[i].n = 0;
    g->instance_of[i] = NOE_GROUP_NONE;
    if (!noe_known_is_instance(g->known, &g->pairs[i], &g->instance_of[i]))
        noe_pair_lift(&g->pairs[i], g->env->seed, &g->lifted[i]);
}

static noe_group make_group(const noe_grouper *g, const noe_pair *pair,
                            const noe_lifted *lifted)
{
    noe_group group = {.variants = *lifted,
                       .kind = pair->kind,
                       .use = pair->use,
                       .level = pair->level,
                       .space = g->out->n_spaces};
    noe_buf b = {0};
    noe_pair_print(&b, pair);
    group.source = take_text(&b);
    noe_pair_print_shapes(&b, pair);
    group.shapes = take_text(&b);
    return group;
}

static void set_one_step(noe_group *group, const noe_known_step *k)
{
    noe_group_step s = {.group = k->group,
                        .variant = k->variant,
                        .is_backward = k->is_backward,
                        .depth = k->depth};
    memcpy(s.at, k->at, sizeof s.at);
    group->steps = noe_malloc(sizeof s);
    group->steps[0] = s;
    group->n_steps = 1;
}

static int add_deferred(noe_grouper *g, noe_group *group, noe_space_stats *stats)
{
    group->is_deferred = true;
    group->kind = NOE_PAIR_DERIVED;
    stats->n_deferred++;
    NOE_PUSH(g->deferred, g->n_deferred, g->cap_deferred, *group);
    return DEFERRED + g->n_deferred - 1;
}

static int add_group(noe_grouper *g, noe_group *group, noe_space_stats *stats)
{
    noe_generated *out = g->out;
    int number = out->n_groups;
    drop_seen(g, &group->variants, number); /* not the first: place looked */
    noe_known_add(g->known, &group->variants, number);
    stats->n_groups++;
    stats->n_candidates += (uint64_t)group->variants.n;
    NOE_PUSH(out->groups, out->n_groups, out->cap_groups, *group);
    return number;
}

/* The group that pair i of the round ends up in. */
static int place(noe_grouper *g, int i, noe_space_stats *stats)
{
    const noe_pair *pair = &g->pairs[i];
    noe_lifted *lifted = &g->lifted[i];
    if (g->instance_of[i] != NOE_GROUP_NONE) {
        stats->n_same++;
        return g->instance_of[i];
    }
    if (lifted->n == 0) {
        stats->n_unlifted++;
        return NOE_GROUP_NONE;
    }
    int same = group_of_text(g, lifted->text[0]);
    if (same != NOE_GROUP_NONE) {
        stats->n_same++;
        noe_lifted_clear(lifted);
        return same;
    }
    noe_group group = make_group(g, pair, lifted);
    noe_known_step step;
    if (noe_known_derives(g->known, pair, &step)) {
        set_one_step(&group, &step);
        stats->n_repeated++;
        return add_deferred(g, &group, stats);
    }
    g->is_first[pair->id] = true;
    return pair->is_deferred ? add_deferred(g, &group, stats)
                             : add_group(g, &group, stats);
}

static noe_group *group_at(noe_grouper *g, int number)
{
    return number >= DEFERRED ? &g->deferred[number - DEFERRED]
                              : &g->out->groups[number];
}

/* Whether a pair of the group itself is in the derivation: another one of which it is
 * the general form, too. */
static bool names(const noe_grouper *g, const noe_pair *pair, int group)
{
    for (int i = 0; i < pair->why.n; i++) {
        int rule = pair->why.steps[i].rule;
        if (rule != NOE_STEP_SWAP && g->group_of[rule] == group)
            return true;
    }
    return false;
}

/* The steps of a derivation of pairs, as steps of groups. A group stands for its pair
 * in whatever variant is proved, hence its last one. */
static void set_steps(noe_grouper *g, const noe_pair *pair)
{
    if (!g->is_first[pair->id])
        return; /* others of the group may be derived from it, and it from none */
    int number = g->group_of[pair->id];
    noe_group *group = number == NOE_GROUP_NONE ? NULL : group_at(g, number);
    if (!group || group->n_steps > 0 || pair->why.n == 0 || names(g, pair, number))
        return;
    group->steps = noe_calloc((size_t)pair->why.n, sizeof *group->steps);
    group->n_steps = pair->why.n;
    for (int i = 0; i < pair->why.n; i++) {
        const noe_pair_step *from = &pair->why.steps[i];
        noe_group_step *s = &group->steps[i];
        *s = (noe_group_step){.group = NOE_GROUP_SWAP, .depth = from->depth};
        memcpy(s->at, from->at, sizeof s->at);
        if (from->rule == NOE_STEP_SWAP)
            continue;
        s->group = g->group_of[from->rule];
        s->is_backward = from->is_backward;
        if (s->group == NOE_GROUP_NONE)
            continue;
        const noe_lifted *l = &group_at(g, s->group)->variants;
        s->variant = l->n ? l->n - 1 : 0;
        s->is_backward ^= l->n && l->is_reversed[s->variant];
    }
}

noe_status noe_grouper_add(noe_grouper *g, const noe_pair *pairs, int n,
                           noe_space_stats *stats, noe_error *err)
{
    noe_status status = NOE_OK;
    int *group_of = noe_malloc(((size_t)n + 1) * sizeof *group_of);
    g->group_of = group_of;
    g->is_first = noe_calloc((size_t)n + 1, sizeof *g->is_first);
    for (int i = 0; i < n; i++)
        group_of[i] = NOE_GROUP_NONE;
    for (int first = 0; first < n && status == NOE_OK; first += LIFT_ROUND) {
        int end = n - first < LIFT_ROUND ? n : first + LIFT_ROUND;
        g->pairs = &pairs[first];
        noe_parallel_for(g->env->n_threads, (uint32_t)(end - first), lift_one, g);
        for (int i = first; i < end; i++)
            group_of[pairs[i].id] = place(g, i - first, stats);
        noe_progress(g->env, "%s: lifting %d of %d", stats->name, end, n);
        if (noe_cancelled(g->env))
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted while lifting");
    }
    for (int i = 0; i < n && status == NOE_OK; i++)
        set_steps(g, &pairs[i]);
    free(group_of);
    free(g->is_first);
    g->group_of = NULL;
    g->is_first = NULL;
    return status;
}

/* Numbers of deferred groups become places among all; to[i] is that of number i. */
static void renumber(noe_group *group, const int *to)
{
    for (int i = 0; i < group->n_steps; i++) {
        if (group->steps[i].group >= DEFERRED)
            group->steps[i].group = to[group->steps[i].group - DEFERRED];
    }
}

void noe_grouper_finish(noe_grouper *g)
{
    noe_generated *out = g->out;
    int *to = noe_malloc(((size_t)g->n_deferred + 1) * sizeof *to);
    for (int i = 0; i < g->n_deferred; i++) {
        noe_group *group = &g->deferred[i];
        to[i] = group_of_text(g, group->variants.text[0]);
        if (to[i] == NOE_GROUP_NONE)
            to[i] = out->n_groups;
        drop_seen(g, &group->variants, out->n_groups);
        if (group->variants.n == 0) {
            clear_group(group);
            continue;
        }
        out->space[group->space].n_candidates += (uint64_t)group->variants.n;
        NOE_PUSH(out->groups, out->n_groups, out->cap_groups, *group);
    }
    g->n_deferred = 0;
    for (int i = 0; i < out->n_groups; i++)
        renumber(&out->groups[i], to);
    free(to);
}
