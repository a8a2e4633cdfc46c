/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/partition.h"
#include "optimizer/rewrite.h"
#include "optimizer/segment.h"
#include <math.h>
#include <stdlib.h>

/* Passes end when one, and the next with other seams, change nothing. What moves along
 * a network (a slice towards its input) moves a segment a pass. */
#define MAX_PASSES 24

/* A gain by price that stands without timing the part. */
#define SURE_GAIN 0.15

/* What a kind of segment becomes. */
typedef struct kind {
    uint64_t key;
    noe_extract sample;
    noe_search_result found; /* n_path 0: nothing is better */
    uint32_t n_copies;
} kind;

typedef struct parts {
    const noe_env *env;
    const noe_rule_set *rules;
    noe_costs *costs;
    const noe_search_options *options;
    noe_search_result *result;
    noe_error *err;
    noe_seams seams;
    kind *kinds;
    uint32_t n_kinds, cap_kinds;
    int cap_path, cap_parts, pass;
    double deadline;
    uint64_t growth_left;
} parts;

static kind *find_kind(parts *p, uint64_t key)
{
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        if (p->kinds[i].key == key)
            return &p->kinds[i];
    }
    return NULL;
}

/* ---- searching one kind ---- */

static void add_up(noe_search_result *sum, const noe_search_result *r)
{
    sum->n_expanded += r->n_expanded;
    sum->n_sweeps += r->n_sweeps;
    sum->n_candidates += r->n_candidates;
    sum->n_rejected += r->n_rejected;
    sum->n_complete += r->n_complete;
    sum->n_compared += r->n_compared;
    sum->gap += r->gap;
    sum->interrupted |= r->interrupted;
    sum->out_of_time |= r->out_of_time;
    sum->out_of_budget |= r->out_of_budget;
}

/* Is what was found for g really better? Big gains by price need no proof. */
static noe_status confirm(noe_referee *referee, const noe_graph *g,
                          const noe_search_result *found, bool *yes, noe_error *err)
{
    noe_pair_measure m;
    bool known;
    *yes = true;
    if (!referee || found->n_path == 0 ||
        found->after.seconds < found->before.seconds * (1 - SURE_GAIN))
        return NOE_OK;
    NOE_TRY(noe_referee_compare(referee, g, found->graph, found->before.seconds, &known,
                                &m, err));
    bool is_smaller = found->after.n_operators < found->before.n_operators;
    if (known)
        *yes = m.ratio_lo > 1 ||
               (is_smaller && m.ratio >= 1 && m.ratio_lo > 1 - NOE_COST_NOISE);
    return NOE_OK;
}

static void forget_steps(noe_search_result *found)
{
    found->n_path = found->n_parts = 0;
    found->after = found->before;
}

static bool ends_early(const noe_search_result *r)
{
    return r->interrupted || r->out_of_time || r->out_of_budget;
}

/* By the method, or by both of those that NOE_SEARCH_EXACT compares: the better result.
 */
static noe_status search_by_method(const noe_env *env, const noe_graph *g,
                                   const noe_rule_set *rules, noe_costs *costs,
                                   const noe_search_options *options,
                                   noe_search_result *found, noe_error *err)
{
    noe_search_options by = *options;
    if (options->method != NOE_SEARCH_EXACT)
        return noe_search(env, g, rules, costs, options, found, err);
    by.method = NOE_SEARCH_BEST;
    noe_search_result best, all;
    NOE_TRY(noe_search(env, g, rules, costs, &by, &best, err));
    noe_status status = noe_search(env, g, rules, costs, options, &all, err);
    if (status != NOE_OK) {
        noe_search_result_clear(&best);
        return status;
    }
    bool better = noe_cost_less(&all.after, &best.after);
    noe_search_result *kept = better ? &all : &best, *other = better ? &best : &all;
    kept->gap = better ? best.after.seconds - all.after.seconds : 0;
    kept->n_compared = 1;
    kept->n_complete = !ends_early(&all);
    kept->n_expanded += other->n_expanded;
    kept->n_candidates += other->n_candidates;
    kept->n_sweeps += other->n_sweeps;
    kept->interrupted |= other->interrupted;
    kept->out_of_time |= other->out_of_time;
    kept->out_of_budget |= other->out_of_budget;
    *found = *kept;
    noe_search_result_clear(other);
    return NOE_OK;
}

/* Searches g; where what is found is not faster when timed, searches again for large
 * gains alone, and takes those only if they are. */
static noe_status search_confirmed(const noe_env *env, const noe_graph *g,
                                   const noe_rule_set *rules, noe_costs *costs,
                                   const noe_search_options *options,
                                   noe_search_result *found, noe_error *err)
{
    bool yes;
    noe_search_options strict = *options;
    strict.min_gain = SURE_GAIN;
    NOE_TRY(search_by_method(env, g, rules, costs, options, found, err));
    NOE_TRY(confirm(options->referee, g, found, &yes, err));
    if (yes)
        return NOE_OK;
    noe_search_result first = *found;
    noe_status status = search_by_method(env, g, rules, costs, &strict, found, err);
    add_up(found, &first);
    found->n_rejected = first.n_rejected + 1;
    noe_search_result_clear(&first);
    if (status == NOE_OK)
        status = confirm(options->referee, g, found, &yes, err);
    if (status == NOE_OK && !yes) {
        found->n_rejected++;
        forget_steps(found);
    }
    return status;
}

/* What the script says of this kind in this pass, in place of a search. */
static noe_status replay(const noe_script *script, int pass, uint64_t key,
                         const noe_rule_set *rules, const noe_graph *g,
                         noe_search_result *found, noe_error *err)
{
    const noe_search_part *part = noe_script_find(script, pass, key);
    int n;
    if (!part)
        return NOE_OK;
    NOE_TRY(noe_script_apply(script, part, rules, g, &found->graph, &n, err));
    found->path = noe_malloc((size_t)(n + 1) * sizeof *found->path);
    for (int i = 0; i < n; i++)
        found->path[i] = script->steps[part->first + i];
    found->n_path = n;
    found->before.seconds = part->before;
    found->after.seconds = part->after;
    return NOE_OK;
}

static void take_growth(parts *p, const kind *k)
{
    uint64_t before = k->found.before.weight_bytes, after = k->found.after.weight_bytes;
    if (k->found.n_path == 0 || after <= before)
        return;
    uint64_t growth = (after - before) * k->n_copies;
    p->growth_left -= growth < p->growth_left ? growth : p->growth_left;
}

static noe_status search_kind(parts *p, kind *k)
{
    noe_search_options options = *p->options;
    if (p->options->script)
        return replay(p->options->script, p->pass, k->key, p->rules, k->sample.graph,
                      &k->found, p->err);
    if (p->deadline > 0)
        options.time_limit = fmax(1e-3, p->deadline - noe_wall_seconds());
    options.max_growth = p->growth_left / (k->n_copies ? k->n_copies : 1);
    noe_status status = search_confirmed(p->env, k->sample.graph, p->rules, p->costs,
                                         &options, &k->found, p->err);
    if (status == NOE_ERR_CANCELLED) { /* no verdict: the part stays as it is */
        p->result->interrupted = true;
        forget_steps(&k->found);
        status = NOE_OK;
    }
    add_up(p->result, &k->found);
    if (status == NOE_OK)
        take_growth(p, k);
    return status;
}

static bool must_stop(parts *p)
{
    if (p->deadline > 0 && noe_wall_seconds() > p->deadline)
        p->result->out_of_time = true;
    p->result->interrupted |= noe_cancelled(p->env) != 0;
    return p->result->interrupted || p->result->out_of_time;
}

/* Extracts all segments; new kinds are searched in order of their first copy. */
static noe_status search_kinds(parts *p, const noe_segments *s, noe_extract *x)
{
    uint32_t first_new = p->n_kinds;
    for (uint32_t i = 0; i < s->n; i++) {
        noe_segment_extract(s, i, &x[i]);
        kind *known = find_kind(p, x[i].key);
        kind fresh = {.key = x[i].key, .n_copies = 1};
        if (known)
            known->n_copies++;
        else
            NOE_PUSH(p->kinds, p->n_kinds, p->cap_kinds, fresh);
    }
    for (uint32_t i = 0; i < s->n && !must_stop(p); i++) {
        kind *k = find_kind(p, x[i].key);
        if (k < p->kinds + first_new || k->sample.graph)
            continue;
        noe_segment_extract(s, i, &k->sample);
        noe_progress(p->env, "segment %u of %u, %u kinds", i + 1, s->n, p->n_kinds);
        NOE_TRY(search_kind(p, k));
    }
    return NOE_OK;
}

/* ---- putting results in place ---- */

typedef struct builder {
    const noe_graph *from;
    noe_graph *to;
    noe_ref *map; /* from -> to */
    noe_error *err;
} builder;

static noe_status carry(builder *b, noe_ref r, noe_ref *image)
{
    return noe_graph_transfer(b->to, b->from, r, b->map, image, b->err);
}

static noe_status carry_members(builder *b, const noe_segments *s, uint32_t i)
{
    noe_ref image;
    for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
        NOE_TRY(carry(b, (noe_ref){s->nodes[k], 0}, &image));
    return NOE_OK;
}

/* Node of the sample that has this value, UINT32_MAX if none. */
static uint32_t find_value(const noe_graph *sample, uint64_t hash)
{
    for (uint32_t i = 0; i < sample->n_nodes; i++) {
        if (sample->nodes[i].hash == hash)
            return i;
    }
    return UINT32_MAX;
}

static uint32_t input_number(const noe_extract *x, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < node; i++)
        n += x->graph->nodes[i].op == NOE_OP_INPUT;
    return n;
}

/* What stands in copy x for node i of the kind's better graph: a node of the copy that
 * is still there, a value from outside, or a new node. */
static noe_status place_node(builder *b, const kind *k, const noe_extract *x,
                             uint32_t i, noe_ref *images)
{
    const noe_graph *better = k->found.graph;
    const noe_node *n = &better->nodes[i];
    uint32_t same = find_value(k->sample.graph, n->hash);
    if (same != UINT32_MAX && x->of_node[same] != UINT32_MAX)
        return carry(b, (noe_ref){x->of_node[same], 0}, &images[i]);
    if (same != UINT32_MAX)
        return carry(b, x->outer[input_number(x, same)], &images[i]);
    noe_ref in[NOE_MAX_INPUTS];
    NOE_ASSERT(n->op < NOE_OP_COUNT);
    for (uint32_t j = 0; j < n->n_inputs; j++)
        in[j] = images[noe_graph_inputs(better, i)[j].node];
    return noe_graph_add(b->to, n->op, n->params, in, (int)n->n_inputs, &images[i],
                         b->err);
}

static noe_status place(builder *b, const kind *k, const noe_extract *x)
{
    const noe_graph *better = k->found.graph;
    noe_ref *images = noe_malloc((better->n_nodes + 1) * sizeof *images);
    uint8_t *live = noe_malloc(better->n_nodes + 1);
    noe_status status = NOE_OK;
    noe_graph_mark_live(better, live);
    for (uint32_t i = 0; i < better->n_nodes && status == NOE_OK; i++) {
        if (live[i])
            status = place_node(b, k, x, i, images);
    }
    for (uint32_t i = 0; i < better->n_outputs && status == NOE_OK; i++) {
        noe_ref image = images[better->outputs[i].ref.node];
        b->map[x->outputs[i]] = image;
        if (image.port == 0 && b->from->nodes[x->outputs[i]].name)
            noe_graph_set_name(b->to, image.node, b->from->nodes[x->outputs[i]].name);
    }
    free(images);
    free(live);
    return status;
}

static noe_status put_together(parts *p, const noe_segments *s, const noe_extract *x,
                               noe_graph **out)
{
    const noe_graph *g = s->g;
    builder b = {g, noe_graph_new(g->pool),
                 noe_malloc((g->n_nodes + 1) * sizeof *b.map), p->err};
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        b.map[i] = NOE_REF_NONE;
    for (uint32_t i = 0; i < s->n && status == NOE_OK; i++) {
        const kind *k = find_kind(p, x[i].key);
        status = k->found.n_path > 0 ? place(&b, k, &x[i]) : carry_members(&b, s, i);
    }
    for (uint32_t i = 0; i < g->n_outputs && status == NOE_OK; i++) {
        noe_ref image;
        status = carry(&b, g->outputs[i].ref, &image);
        if (status == NOE_OK)
            noe_graph_add_output(b.to, image, g->outputs[i].name);
    }
    free(b.map);
    if (status != NOE_OK) {
        noe_graph_free(b.to);
        return status;
    }
    *out = b.to;
    return NOE_OK;
}

/* The steps of this pass, of each kind once. */
static bool note_path(parts *p)
{
    noe_search_result *r = p->result;
    int n_before = r->n_parts;
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const kind *k = &p->kinds[i];
        if (k->n_copies == 0 || k->found.n_path == 0)
            continue;
        noe_search_part part = {p->pass,
                                k->key,
                                k->n_copies,
                                r->n_path,
                                k->found.n_path,
                                k->found.before.seconds,
                                k->found.after.seconds};
        NOE_PUSH(r->parts, r->n_parts, p->cap_parts, part);
        for (int j = 0; j < k->found.n_path; j++)
            NOE_PUSH(r->path, r->n_path, p->cap_path, k->found.path[j]);
    }
    return r->n_parts > n_before;
}

/* ---- passes ---- */

static noe_status one_pass(parts *p, noe_graph **g, bool *changed)
{
    noe_segments s;
    noe_segments_find(&s, *g, &p->seams);
    noe_extract *x = noe_calloc(s.n + 1, sizeof *x);
    noe_graph *next = NULL;
    for (uint32_t i = 0; i < p->n_kinds; i++)
        p->kinds[i].n_copies = 0;
    noe_status status = search_kinds(p, &s, x);
    *changed = status == NOE_OK && note_path(p);
    if (*changed)
        status = put_together(p, &s, x, &next);
    for (uint32_t i = 0; i < s.n; i++)
        noe_extract_clear(&x[i]);
    free(x);
    noe_segments_clear(&s);
    if (next) {
        noe_graph_free(*g);
        *g = next;
    }
    return status;
}

static void forget_kinds(parts *p)
{
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        noe_extract_clear(&p->kinds[i].sample);
        noe_search_result_clear(&p->kinds[i].found);
    }
    p->n_kinds = 0;
}

static noe_status run_passes(parts *p, const noe_graph *g)
{
    noe_search_result *r = p->result;
    bool changed = true, changed_before = true;
    NOE_TRY(noe_rewriter_copy_live(g, &r->graph, p->err));
    noe_status status = noe_costs_accept(p->costs, r->graph, p->err);
    if (status == NOE_ERR_CANCELLED)
        r->interrupted = true;
    else if (status != NOE_OK)
        return status;
    for (int i = 0; i < MAX_PASSES && (changed || changed_before) && !must_stop(p);
         i++) {
        changed_before = changed;
        p->pass = i;
        if (p->options->script)
            forget_kinds(p); /* the limit on steps is by pass */
        if (i % 2 == 0)
            p->seams.n = 0; /* each second pass avoids the seams of the one before */
        NOE_TRY(one_pass(p, &r->graph, &changed));
    }
    NOE_TRY(noe_costs_final(p->costs, g, r->interrupted, &r->before, p->err));
    return noe_costs_final(p->costs, r->graph, r->interrupted, &r->after, p->err);
}

static void count_rules(noe_search_result *r, int n_rules)
{
    free(r->applied);
    r->applied = noe_calloc((size_t)n_rules + 1, sizeof *r->applied);
    for (int i = 0; i < r->n_parts; i++) {
        const noe_search_part *part = &r->parts[i];
        for (int j = part->first; j < part->first + part->n; j++)
            r->applied[r->path[j].site.rule] += (int)part->n_copies;
    }
}

static noe_status replay_whole(const noe_graph *g, const noe_rule_set *rules,
                               noe_costs *costs, const noe_search_options *options,
                               noe_search_result *r, noe_error *err)
{
    NOE_TRY(noe_costs_accept(costs, g, err));
    NOE_TRY(replay(options->script, 0, 0, rules, g, r, err));
    if (!r->graph)
        NOE_TRY(noe_rewriter_copy_live(g, &r->graph, err));
    r->n_parts = r->n_path > 0;
    r->parts = noe_calloc(1, sizeof *r->parts);
    r->parts[0] = (noe_search_part){.n_copies = 1,
                                    .n = r->n_path,
                                    .before = r->before.seconds,
                                    .after = r->after.seconds};
    count_rules(r, rules->n);
    NOE_TRY(noe_costs_graph(costs, g, INFINITY, &r->before, err));
    return noe_costs_graph(costs, r->graph, INFINITY, &r->after, err);
}

/* A graph of one segment. */
static noe_status search_whole(const noe_env *env, const noe_graph *g,
                               const noe_rule_set *rules, noe_costs *costs,
                               const noe_search_options *options,
                               noe_search_result *result, noe_error *err)
{
    *result = (noe_search_result){0};
    if (options->script)
        return replay_whole(g, rules, costs, options, result, err);
    noe_status status = search_confirmed(env, g, rules, costs, options, result, err);
    if (status == NOE_ERR_CANCELLED) {
        result->interrupted = true;
        forget_steps(result);
        status = NOE_OK;
    }
    if (status != NOE_OK || result->n_path > 0)
        return status;
    noe_graph_free(result->graph); /* it may be a form that was rejected */
    result->graph = NULL;
    count_rules(result, rules->n);
    return noe_rewriter_copy_live(g, &result->graph, err);
}

noe_status noe_search_parts(const noe_env *env, const noe_graph *g,
                            const noe_rule_set *rules, noe_costs *costs,
                            const noe_search_options *options,
                            noe_search_result *result, noe_error *err)
{
    noe_segments whole;
    noe_seams none = {0};
    noe_segments_find(&whole, g, &none);
    uint32_t n = whole.n;
    noe_segments_clear(&whole);
    free(none.hashes);
    if (n <= 1)
        return search_whole(env, g, rules, costs, options, result, err);
    *result = (noe_search_result){0};
    parts p = {.env = env,
               .rules = rules,
               .costs = costs,
               .options = options,
               .result = result,
               .err = err,
               .growth_left = options->max_growth};
    if (options->time_limit > 0)
        p.deadline = noe_wall_seconds() + options->time_limit;
    noe_status status = run_passes(&p, g);
    /* Segments are priced apart; what fuses across a seam may have made it dearer. */
    if (status == NOE_OK && !options->script &&
        result->after.seconds > result->before.seconds) {
        noe_graph_free(result->graph);
        result->after = result->before;
        result->n_path = result->n_parts = 0;
        status = noe_rewriter_copy_live(g, &result->graph, err);
    }
    if (status == NOE_OK)
        count_rules(result, rules->n);
    forget_kinds(&p);
    free(p.kinds);
    free(p.seams.hashes);
    return status;
}
