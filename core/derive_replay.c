/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking a derivation step by step. What it is given are terms and rule numbers; it
 * believes none of them: both sides of the goal are built from the rule, every term is
 * typed by noe_graph_add, every step must be a match of its rule at its place
 * (core/match.h, which checks condition and types) whose other side is the term that
 * follows, and the values of all terms must be equal in the field. Nothing is shared
 * with the e-graph.
 */
#include "core/derive_internal.h"

#include "core/field.h"
#include "core/match.h"
#include <stdlib.h>

#define N_SAMPLES    2
#define MAX_ELEMENTS 200000 /* of one tensor */

typedef struct replay {
    const noe_deriver *d;
    const noe_trace *trace;
    const noe_params *const *params;
    const noe_instance *inst;
    noe_pool *pool;
    noe_graph *g;
    noe_ref leaf[NOE_RULE_MAX_VARS];
    noe_ref *ref; /* of terms */
} replay;

static void add_leaves(replay *p)
{
    const noe_rule *r = p->d->goal;
    for (int v = 0; v < r->n_vars; v++) {
        const noe_type *type = &p->inst->binding.type[v];
        bool is_weight = r->vars[v].is_weight;
        size_t n = (size_t)noe_shape_elements(&type->shape);
        /* Weights are told apart by their data. */
        float *data = NULL;
        if (is_weight) {
            data = noe_arena_zalloc(noe_pool_arena(p->pool), n * sizeof *data + 4);
            data[0] = (float)v;
        }
        uint32_t leaf = noe_pool_add_leaf(p->pool, r->vars[v].name, type, data,
                                          is_weight ? n * sizeof *data : 0, NULL);
        p->leaf[v] =
            noe_graph_leaf(p->g, is_weight ? NOE_OP_WEIGHT : NOE_OP_INPUT, leaf);
    }
}

/* Both sides of the goal, from the rule alone. */
static bool build_goal(replay *p, noe_ref *at)
{
    const noe_rule *r = p->d->goal;
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        noe_ref in[NOE_RULE_MAX_INPUTS];
        noe_type types[NOE_RULE_MAX_INPUTS];
        noe_params params = {0};
        if (n->is_var) {
            at[i] = p->leaf[n->var];
            continue;
        }
        for (int k = 0; k < n->n_inputs; k++) {
            in[k] = at[n->inputs[k]];
            types[k] = *noe_graph_type(p->g, in[k]);
        }
        if (noe_rule_params(r, i, &p->inst->binding, types, n->n_inputs, &params,
                            NULL) != NOE_OK ||
            noe_graph_add(p->g, n->op, &params, in, n->n_inputs, &at[i], NULL) !=
                NOE_OK)
            return false;
    }
    return true;
}

static bool build_term(replay *p, uint32_t term)
{
    const noe_trace_term *t = &p->trace->terms[term];
    const noe_enode *label = &p->d->e.nodes[t->label];
    noe_ref in[NOE_RULE_MAX_INPUTS];
    if (!noe_ref_is_none(p->ref[term]))
        return true;
    if (label->op >= NOE_OP_COUNT) {
        p->ref[term] = p->leaf[label->in[0]];
        return true;
    }
    for (int k = 0; k < t->n_in; k++) {
        if (!build_term(p, t->in[k]))
            return false;
        in[k] = p->ref[t->in[k]];
    }
    const noe_params *params = p->params[t->label];
    return params && noe_graph_add(p->g, label->op, params, in, t->n_in, &p->ref[term],
                                   NULL) == NOE_OK;
}

/* Matches are collected first: building a right side moves the graph's arrays. */
#define MAX_MATCHES 64

typedef struct matches {
    noe_match *at;
    int n, cap;
} matches;

static bool on_match(void *ctx, const noe_match *m)
{
    matches *all = ctx;
    NOE_PUSH(all->at, all->n, all->cap, *m);
    return all->n < MAX_MATCHES;
}

/* A rule of several roots is true where all of them are typed. */
static bool whole_rule_holds(const noe_rule *whole, const noe_match *m)
{
    if (whole->n_roots == 1)
        return true;
    noe_instance *inst = noe_malloc(sizeof *inst);
    inst->binding = m->binding;
    bool ok = noe_instance_check(whole, inst, false);
    free(inst);
    return ok;
}

static bool check_application(replay *p, const noe_trace_step *s, noe_ref before,
                              noe_ref after)
{
    const noe_directed *r = p->d->set->directed[p->d->applied[s->application].directed];
    noe_ref from = s->backwards ? after : before, want = s->backwards ? before : after;
    matches all = {0};
    bool found = false;
    (void)noe_rule_match(&r->one, p->g, from.node, on_match, &all);
    for (int i = 0; i < all.n && !found; i++) {
        noe_ref to[NOE_RULE_MAX_ROOTS];
        found = noe_rule_instantiate(&r->one, p->g, &all.at[i], to, NULL) == NOE_OK &&
                noe_ref_eq(to[0], want) && whole_rule_holds(r->whole, &all.at[i]);
    }
    free(all.at);
    return found;
}

/* Everything but the place of the step is as it was. */
static bool check_surroundings(replay *p, uint32_t before, uint32_t after,
                               const noe_trace_step *s)
{
    uint32_t path[NOE_DERIVE_MAX_PATH + 1] = {before}, to = after;
    for (int i = 0; i < s->n_path; i++) {
        path[i + 1] = p->trace->terms[path[i]].in[s->path[i]];
        to = p->trace->terms[to].in[s->path[i]];
    }
    noe_ref ref = p->ref[to];
    for (int i = s->n_path; i-- > 0;) {
        const noe_trace_term *t = &p->trace->terms[path[i]];
        const noe_enode *label = &p->d->e.nodes[t->label];
        noe_ref in[NOE_RULE_MAX_INPUTS];
        for (int k = 0; k < t->n_in; k++)
            in[k] = k == s->path[i] ? ref : p->ref[t->in[k]];
        if (noe_graph_add(p->g, label->op, p->params[t->label], in, t->n_in, &ref,
                          NULL) != NOE_OK)
            return false;
    }
    return noe_ref_eq(ref, p->ref[after]) &&
           (s->application == NOE_CONGRUENCE
                ? noe_ref_eq(p->ref[before], p->ref[after])
                : check_application(p, s, p->ref[path[s->n_path]], p->ref[to]));
}

/* Field values of all nodes up to the last wanted one, for one sample. */
static bool same_values(replay *p, uint64_t seed, int sample)
{
    noe_arena arena = {0};
    noe_rng rng = noe_rng_split(seed, "replay", (uint64_t)sample);
    noe_field field = noe_field_make(noe_rng_next(&rng));
    noe_tensor_fe *t = NOE_NEW_N(&arena, noe_tensor_fe, p->g->n_nodes);
    bool ok = true;
    uint32_t first = p->ref[p->trace->start].node;
    for (uint32_t i = 0; i < p->g->n_nodes && ok; i++) {
        const noe_node *n = noe_graph_node(p->g, i);
        int64_t size = noe_shape_elements(&n->types[0].shape);
        noe_tensor_fe in[NOE_MAX_INPUTS];
        t[i].shape = n->types[0].shape;
        ok = size >= 0 && size <= MAX_ELEMENTS;
        if (!ok)
            break;
        t[i].data = noe_arena_alloc(&arena, (size_t)(size + 1) * sizeof *t[i].data);
        for (int64_t k = 0; n->op >= NOE_OP_COUNT && k < size; k++)
            t[i].data[k] = noe_fe_random(&rng);
        for (uint32_t k = 0; k < n->n_inputs; k++)
            in[k] = t[noe_graph_inputs(p->g, i)[k].node];
        if (n->op < NOE_OP_COUNT)
            noe_eval_fe(&field, n->op, n->params, in, (int)n->n_inputs, &t[i]);
    }
    for (uint32_t s = 0; s < p->trace->n_steps && ok; s++) {
        uint32_t node = p->ref[p->trace->steps[s].after].node;
        ok = noe_shape_eq(&t[node].shape, &t[first].shape);
        int64_t size = noe_shape_elements(&t[first].shape);
        for (int64_t k = 0; k < size && ok; k++)
            ok = noe_fe_eq(t[first].data[k], t[node].data[k]);
    }
    noe_arena_clear(&arena);
    return ok;
}

/* "op[param=value](operands)", defaults left out, variables named as in the rule. */
static void print_term(const replay *p, noe_ref r, noe_buf *b)
{
    const noe_node *n = noe_graph_node(p->g, r.node);
    if (n->op >= NOE_OP_COUNT) {
        noe_buf_printf(b, "?%s", noe_graph_leaf_of(p->g, r.node)->name);
        return;
    }
    const noe_op_info *info = noe_op_get(n->op);
    noe_buf_puts(b, info->name);
    const char *gap = "[";
    int spatial =
        n->n_inputs
            ? noe_graph_type(p->g, noe_graph_inputs(p->g, r.node)[0])->shape.rank - 2
            : 0;
    for (int i = 0; n->params && i < n->params->n; i++) {
        noe_value v;
        if (noe_param_default(n->op, info->params[i], spatial, &v) &&
            noe_value_eq(&v, &n->params->v[i]))
            continue;
        noe_buf_printf(b, "%s%s=", gap, noe_param_name(info->params[i]));
        noe_value_print(b, &n->params->v[i]);
        gap = ", ";
    }
    noe_buf_puts(b, *gap == ',' ? "](" : "(");
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        noe_buf_puts(b, k ? ", " : "");
        print_term(p, noe_graph_inputs(p->g, r.node)[k], b);
    }
    noe_buf_puts(b, ")");
}

static char *text_of(const replay *p, uint32_t term)
{
    noe_buf b = {0};
    print_term(p, p->ref[term], &b);
    char *text = noe_strdup(noe_buf_text(&b));
    noe_buf_clear(&b);
    return text;
}

static bool check_steps(replay *p, int root)
{
    noe_ref at[NOE_RULE_MAX_NODES];
    const noe_trace *t = p->trace;
    if (!build_goal(p, at) || !build_term(p, t->start) ||
        !noe_ref_eq(p->ref[t->start], at[p->d->goal->lhs[root]]))
        return false;
    uint32_t before = t->start;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        if (!build_term(p, t->steps[i].after) ||
            !check_surroundings(p, before, t->steps[i].after, &t->steps[i]))
            return false;
        before = t->steps[i].after;
    }
    return noe_ref_eq(p->ref[before], at[p->d->goal->rhs[root]]);
}

bool noe_derive_replay(const noe_deriver *d, const noe_trace *trace,
                       const noe_params *const *params, const noe_instance *inst,
                       int root, uint64_t seed, char **texts)
{
    replay p = {.d = d, .trace = trace, .params = params, .inst = inst};
    p.pool = noe_pool_new();
    p.g = noe_graph_new(p.pool);
    p.ref = noe_malloc((trace->n_terms + 1) * sizeof *p.ref);
    for (uint32_t i = 0; i < trace->n_terms; i++)
        p.ref[i] = NOE_REF_NONE;
    add_leaves(&p);
    bool ok = check_steps(&p, root);
    for (int s = 0; s < N_SAMPLES && ok && !d->config->skip_values; s++)
        ok = same_values(&p, seed, s);
    if (ok && texts) {
        texts[0] = text_of(&p, trace->start);
        for (uint32_t i = 0; i < trace->n_steps; i++)
            texts[i + 1] = text_of(&p, trace->steps[i].after);
    }
    free(p.ref);
    noe_graph_free(p.g);
    noe_pool_free(p.pool);
    return ok;
}
