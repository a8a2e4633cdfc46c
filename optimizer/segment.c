/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/segment.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include <stdio.h>
#include <stdlib.h>

/* Nodes on each side of a place that say what it looks like. */
#define CONTEXT 4

/* A cut where an earlier call has cut, or one that looks like it, is as bad as so many
 * crossing values. */
#define SEAM_PENALTY      1000
#define LOOKALIKE_PENALTY 100

static bool is_member(const noe_graph *g, const uint8_t *live, uint32_t i)
{
    return live[i] && g->nodes[i].op < NOE_OP_COUNT && !g->nodes[i].is_weight;
}

/* ---- the order of members ---- */

/* How often a path to node i changes from the algebra to nodes outside of it or back,
 * at most. No node outside lies between two members of equal depth. */
static uint32_t *find_depths(const noe_segments *s)
{
    const noe_graph *g = s->g;
    uint32_t *depth = noe_calloc(g->n_nodes + 1, sizeof *depth);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_ref *in = noe_graph_inputs(g, i);
        bool outside = g->nodes[i].op == NOE_OP_OPAQUE;
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            if (noe_ref_is_none(in[k]))
                continue;
            uint32_t from = in[k].node;
            bool changes = outside ? is_member(g, s->live, from)
                                   : g->nodes[from].op == NOE_OP_OPAQUE;
            uint32_t here = depth[from] + changes;
            depth[i] = here > depth[i] ? here : depth[i];
        }
    }
    return depth;
}

/* Members by depth, then in the graph's order: a topological order again. */
static uint32_t order_members(noe_segments *s, const uint32_t *depth)
{
    const noe_graph *g = s->g;
    uint32_t max = 0, n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        max = depth[i] > max ? depth[i] : max;
    uint32_t *slot = noe_calloc(max + 2, sizeof *slot);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += is_member(g, s->live, i);
        slot[depth[i] + 1] += is_member(g, s->live, i);
    }
    for (uint32_t d = 0; d <= max; d++)
        slot[d + 1] += slot[d];
    s->nodes = noe_malloc((n + 1) * sizeof *s->nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (is_member(g, s->live, i))
            s->nodes[slot[depth[i]]++] = i;
    }
    free(slot);
    return n;
}

static void find_last_uses(noe_segments *s, uint32_t n)
{
    const noe_graph *g = s->g;
    s->last_use = noe_calloc(g->n_nodes + 1, sizeof *s->last_use);
    for (uint32_t at = 0; at < n; at++) {
        uint32_t i = s->nodes[at];
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++)
            s->last_use[noe_graph_inputs(g, i)[k].node] = at;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_ref *in = noe_graph_inputs(g, i);
        if (!s->live[i] || g->nodes[i].op != NOE_OP_OPAQUE)
            continue;
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            if (!noe_ref_is_none(in[k]))
                s->last_use[in[k].node] = UINT32_MAX;
        }
    }
    for (uint32_t k = 0; k < g->n_outputs; k++)
        s->last_use[g->outputs[k].ref.node] = UINT32_MAX;
}

/* ---- where to cut ---- */

/* crossing[at]: values of members before position at that members from there on use. */
static uint32_t *count_crossing(const noe_segments *s, uint32_t n)
{
    int32_t *change = noe_calloc((size_t)n + 2, sizeof *change);
    uint32_t *crossing = noe_calloc((size_t)n + 1, sizeof *crossing);
    for (uint32_t at = 0; at < n; at++) {
        uint32_t last = s->last_use[s->nodes[at]];
        if (last <= at)
            continue;
        change[at + 1]++;
        if (last < n)
            change[last + 1]--;
    }
    int32_t here = 0;
    for (uint32_t at = 0; at < n; at++) {
        here += change[at];
        crossing[at] = (uint32_t)here;
    }
    free(change);
    return crossing;
}

static uint64_t look(const noe_graph *g, uint32_t i)
{
    const noe_node *n = &g->nodes[i];
    uint64_t hash = noe_mix64((uint64_t)n->op + 1);
    if (n->params)
        hash = noe_mix64(hash ^ noe_pool_params_hash(n->params));
    return noe_hash64(n->types[0].shape.dim,
                      (size_t)n->types[0].shape.rank * sizeof(int64_t), hash);
}

/* What the members around a cut before members[at] look like. */
static uint64_t context(const noe_graph *g, const uint32_t *members, uint32_t n,
                        uint32_t at)
{
    uint64_t hash = 0;
    uint32_t from = at > CONTEXT ? at - CONTEXT : 0;
    uint32_t to = at + CONTEXT < n ? at + CONTEXT : n;
    for (uint32_t i = from; i < to; i++)
        hash = noe_mix64(hash ^ look(g, members[i]));
    return hash;
}

static bool is_seam(const noe_seams *seams, uint64_t hash)
{
    for (uint32_t i = 0; i < seams->n; i++) {
        if (seams->hashes[i] == hash)
            return true;
    }
    return false;
}

/* The best place to cut members[0..n) behind its first one: the number of members in
 * front of it. */
static uint32_t best_cut(const noe_segments *s, const uint32_t *crossing,
                         const uint32_t *members, uint32_t begin, uint32_t n,
                         const noe_seams *seams)
{
    uint64_t best_cost = UINT64_MAX, best_look = 0;
    uint32_t best = n, end = begin + NOE_SEGMENT_MAX;
    if (n - begin <= NOE_SEGMENT_MAX)
        return n;
    for (uint32_t at = begin + NOE_SEGMENT_MIN; at <= end; at++) {
        uint64_t cost = crossing[at];
        uint64_t here = context(s->g, members, n, at);
        if (is_seam(seams, s->g->nodes[members[at]].hash))
            cost += SEAM_PENALTY;
        else if (is_seam(seams, here))
            cost += LOOKALIKE_PENALTY;
        if (cost < best_cost || (cost == best_cost && here < best_look)) {
            best = at;
            best_cost = cost;
            best_look = here;
        }
    }
    return best;
}

/* Cuts a run of members between which no node outside the algebra lies. */
static void cut_run(noe_segments *s, const uint32_t *crossing, uint32_t begin,
                    uint32_t end, uint32_t *cap, const noe_seams *old, noe_seams *added)
{
    while (begin < end) {
        uint32_t at = best_cut(s, crossing, s->nodes, begin, end, old);
        if (at < end) {
            uint64_t here = context(s->g, s->nodes, end, at);
            NOE_PUSH(added->hashes, added->n, added->cap,
                     s->g->nodes[s->nodes[at]].hash);
            if (!is_seam(added, here))
                NOE_PUSH(added->hashes, added->n, added->cap, here);
        }
        NOE_PUSH(s->first, s->n, *cap, begin);
        begin = at;
    }
}

void noe_segments_find(noe_segments *s, const noe_graph *g, noe_seams *seams)
{
    *s = (noe_segments){.g = g, .live = noe_malloc(g->n_nodes + 1)};
    noe_graph_mark_live(g, s->live);
    uint32_t *depth = find_depths(s);
    uint32_t n = order_members(s, depth), cap = 0;
    find_last_uses(s, n);
    uint32_t *crossing = count_crossing(s, n);
    noe_seams added = {0};
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && depth[s->nodes[end]] == depth[s->nodes[begin]])
            end++;
        cut_run(s, crossing, begin, end, &cap, seams, &added);
    }
    uint32_t n_first = s->n;
    NOE_PUSH(s->first, n_first, cap, n);
    for (uint32_t i = 0; i < added.n; i++)
        NOE_PUSH(seams->hashes, seams->n, seams->cap, added.hashes[i]);
    free(added.hashes);
    free(crossing);
    free(depth);
}

void noe_segments_clear(noe_segments *s)
{
    free(s->nodes);
    free(s->first);
    free(s->last_use);
    free(s->live);
    *s = (noe_segments){0};
}

/* ---- one segment by itself ---- */

typedef struct extraction {
    const noe_graph *g;
    noe_extract *x;
    noe_ref *map; /* node of g -> graph; NOE_REF_NONE: not there */
    uint32_t cap_outer, cap_of_node;
    uint32_t n_of_node;
} extraction;

static void note_node(extraction *e, noe_ref in_graph, uint32_t node)
{
    if (in_graph.node == e->n_of_node)
        NOE_PUSH(e->x->of_node, e->n_of_node, e->cap_of_node, node);
}

static noe_ref input_for(extraction *e, noe_ref r)
{
    noe_extract *x = e->x;
    for (uint32_t i = 0; i < x->n_outer; i++) {
        if (noe_ref_eq(x->outer[i], r))
            return (noe_ref){e->map[e->g->n_nodes + i].node, 0};
    }
    char name[24];
    snprintf(name, sizeof name, "s%u", x->n_outer);
    uint32_t leaf =
        noe_pool_add_leaf(e->g->pool, name, noe_graph_type(e->g, r), NULL, 0, NULL);
    noe_ref in = noe_graph_leaf(x->graph, NOE_OP_INPUT, leaf);
    note_node(e, in, UINT32_MAX);
    NOE_PUSH(x->outer, x->n_outer, e->cap_outer, r);
    e->map[e->g->n_nodes + x->n_outer - 1] = in;
    return in;
}

static void add_node(extraction *e, uint32_t i);

/* The copy of an operand; weight subgraphs are shallow (a definition, some folds). */
static noe_ref operand(extraction *e, noe_ref r)
{
    if (!noe_ref_is_none(e->map[r.node]) && r.port == 0)
        return e->map[r.node];
    if (!e->g->nodes[r.node].is_weight)
        return input_for(e, r);
    add_node(e, r.node);
    return e->map[r.node];
}

static void add_node(extraction *e, uint32_t i)
{
    const noe_node *n = &e->g->nodes[i];
    noe_ref in[NOE_MAX_INPUTS];
    noe_error err;
    if (n->op == NOE_OP_WEIGHT) {
        e->map[i] = noe_graph_leaf(e->x->graph, NOE_OP_WEIGHT, n->leaf);
    } else {
        for (uint32_t k = 0; k < n->n_inputs; k++)
            in[k] = operand(e, noe_graph_inputs(e->g, i)[k]);
        noe_status status = noe_graph_add(e->x->graph, n->op, n->params, in,
                                          (int)n->n_inputs, &e->map[i], &err);
        NOE_ASSERT(status == NOE_OK); /* the same node was well-typed in g */
    }
    noe_graph_set_origin(e->x->graph, e->map[i].node, n->origin);
    if (n->name)
        noe_graph_set_name(e->x->graph, e->map[i].node, n->name);
    note_node(e, e->map[i], i);
}

/* Structure, with weights by order of first use instead of by value. */
static uint64_t structure_key(const noe_graph *g)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        hash = noe_mix64(hash ^ look(g, i) ^ ((uint64_t)n->is_weight << 60));
        for (uint32_t k = 0; k < n->n_inputs; k++)
            hash = noe_mix64(hash ^ noe_graph_inputs(g, i)[k].node);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        hash = noe_mix64(hash ^ g->outputs[i].ref.node);
    return hash;
}

void noe_segment_extract(const noe_segments *s, uint32_t i, noe_extract *x)
{
    const noe_graph *g = s->g;
    *x = (noe_extract){.graph = noe_graph_new(g->pool)};
    extraction e = {.g = g, .x = x};
    uint32_t first = s->first[i], end = s->first[i + 1], cap = 0, n_outputs = 0;
    size_t n_map = g->n_nodes + (size_t)(end - first) * NOE_MAX_INPUTS + 1;
    e.map = noe_malloc(n_map * sizeof *e.map);
    for (size_t k = 0; k < n_map; k++)
        e.map[k] = NOE_REF_NONE;
    for (uint32_t k = first; k < end; k++)
        add_node(&e, s->nodes[k]);
    for (uint32_t k = first; k < end; k++) {
        if (s->last_use[s->nodes[k]] < end)
            continue;
        noe_graph_add_output(x->graph, e.map[s->nodes[k]], "");
        NOE_PUSH(x->outputs, n_outputs, cap, s->nodes[k]);
    }
    x->key = structure_key(x->graph);
    free(e.map);
}

void noe_extract_clear(noe_extract *x)
{
    noe_graph_free(x->graph);
    free(x->outer);
    free(x->of_node);
    free(x->outputs);
    *x = (noe_extract){0};
}
