/* SPDX-License-Identifier: Apache-2.0
 *
 * From the proof forest to rewrite steps, and from one instance to others.
 *
 * An edge of the forest is an application of a rule, between nodes whose terms are
 * instances of its sides only up to classes, or a congruence. Each becomes a list of
 * steps on exact terms: first the operands are rewritten until the term is the instance
 * itself, then the rule is applied, then the operands are rewritten into those of the
 * other node. Equalities that are used on the way are older than the edge, so the
 * recursion ends. Lists are about the term at hand; lifting one into an operand of a
 * larger term prefixes its paths.
 */
#include "core/derive_internal.h"

#include <stdlib.h>

#define MAX_STEPS 300

typedef struct list {
    uint32_t start, end;
    noe_trace_step *steps;
    uint32_t n, cap;
} list;

typedef struct explainer {
    const noe_deriver *d;
    noe_trace *trace;
    uint32_t *term_of; /* of nodes, NOE_ENODE_NONE: not made yet */
    bool is_too_long;
} explainer;

static list explain(explainer *x, uint32_t a, uint32_t b);

/* Terms */

static uint32_t add_term(explainer *x, const noe_trace_term *t)
{
    noe_trace *trace = x->trace;
    for (uint32_t i = 0; i < trace->n_terms; i++) {
        const noe_trace_term *o = &trace->terms[i];
        if (o->label == t->label &&
            memcmp(o->in, t->in, t->n_in * sizeof t->in[0]) == 0)
            return i;
    }
    NOE_PUSH(trace->terms, trace->n_terms, trace->cap_terms, *t);
    return trace->n_terms - 1;
}

static uint32_t term_of(explainer *x, uint32_t node)
{
    const noe_enode *n = &x->d->e.nodes[node];
    if (x->term_of[node] == NOE_ENODE_NONE) {
        noe_trace_term t = {.label = node, .n_in = n->n_in};
        for (int k = 0; k < n->n_in; k++)
            t.in[k] = term_of(x, n->in[k]);
        x->term_of[node] = add_term(x, &t);
    }
    return x->term_of[node];
}

static uint32_t with_operand(explainer *x, uint32_t term, int k, uint32_t operand)
{
    noe_trace_term t = x->trace->terms[term];
    t.in[k] = operand;
    return add_term(x, &t);
}

/* Lists */

static void push(explainer *x, list *l, const noe_trace_step *step)
{
    if (l->n >= MAX_STEPS)
        x->is_too_long = true;
    if (x->is_too_long)
        return;
    NOE_PUSH(l->steps, l->n, l->cap, *step);
    l->end = step->after;
}

static list empty(uint32_t term)
{
    return (list){.start = term, .end = term};
}

/* Takes more's steps. */
static void append(explainer *x, list *l, list more)
{
    for (uint32_t i = 0; i < more.n; i++)
        push(x, l, &more.steps[i]);
    free(more.steps);
}

/* Another name of the same term: no rule is applied. */
static void rename_to(explainer *x, list *l, uint32_t term)
{
    noe_trace_step s = {.application = NOE_CONGRUENCE, .after = term};
    if (l->end != term)
        push(x, l, &s);
}

static void append_lifted(explainer *x, list *l, int k, list more)
{
    for (uint32_t i = 0; i < more.n && !x->is_too_long; i++) {
        noe_trace_step s = more.steps[i];
        if (s.n_path == NOE_DERIVE_MAX_PATH) {
            x->is_too_long = true;
            break;
        }
        memmove(&s.path[1], &s.path[0], (size_t)s.n_path);
        s.path[0] = (uint8_t)k;
        s.n_path++;
        s.after = with_operand(x, l->end, k, more.steps[i].after);
        push(x, l, &s);
    }
    free(more.steps);
}

static list reversed(explainer *x, list l)
{
    list r = empty(l.end);
    for (uint32_t i = l.n; i-- > 0;) {
        noe_trace_step s = l.steps[i];
        s.backwards = !s.backwards;
        s.after = i ? l.steps[i - 1].after : l.start;
        push(x, &r, &s);
    }
    free(l.steps);
    return r;
}

/* Edges */

/* The operand of an image that pattern operand k is. */
static int operand_of(const noe_application *a, uint16_t pattern, int k)
{
    return a->swapped >> pattern & 1 ? 1 - k : k;
}

/* The exact instance of a pattern node. */
static uint32_t instance_of(explainer *x, const noe_application *a, const noe_rule *r,
                            uint16_t pattern)
{
    const noe_pattern_node *p = &r->nodes[pattern];
    if (p->is_var)
        return term_of(x, a->image[pattern]);
    noe_trace_term t = {.label = a->image[pattern], .n_in = (uint8_t)p->n_inputs};
    for (int k = 0; k < p->n_inputs; k++)
        t.in[operand_of(a, pattern, k)] = instance_of(x, a, r, p->inputs[k]);
    return add_term(x, &t);
}

/* From the term of the image of a pattern node to the exact instance. */
static list to_instance(explainer *x, const noe_application *a, const noe_rule *r,
                        uint16_t pattern)
{
    const noe_pattern_node *p = &r->nodes[pattern];
    uint32_t node = a->image[pattern];
    list l = empty(term_of(x, node));
    if (p->is_var)
        return l;
    for (int k = 0; k < p->n_inputs && !x->is_too_long; k++) {
        int at = operand_of(a, pattern, k);
        list sub = explain(x, x->d->e.nodes[node].in[at], a->image[p->inputs[k]]);
        append(x, &sub, to_instance(x, a, r, p->inputs[k]));
        append_lifted(x, &l, at, sub);
    }
    return l;
}

static list explain_application(explainer *x, uint32_t number)
{
    const noe_application *a = &x->d->applied[number];
    const noe_rule *r = &x->d->set->directed[a->directed]->one;
    list l = to_instance(x, a, r, r->lhs[0]);
    noe_trace_step s = {.application = number,
                        .after = instance_of(x, a, r, r->rhs[0])};
    push(x, &l, &s);
    append(x, &l, reversed(x, to_instance(x, a, r, r->rhs[0])));
    return l;
}

static list explain_congruence(explainer *x, uint32_t a, uint32_t b, bool swapped)
{
    const noe_enode *n = &x->d->e.nodes[a], *m = &x->d->e.nodes[b];
    list l = empty(term_of(x, a));
    for (int k = 0; k < n->n_in && !x->is_too_long; k++)
        append_lifted(x, &l, k, explain(x, n->in[k], m->in[swapped ? 1 - k : k]));
    rename_to(x, &l, term_of(x, b));
    return l;
}

static list explain_edge(explainer *x, uint32_t from, uint32_t to, uint32_t by)
{
    if (by == NOE_CONGRUENCE || by == NOE_CONGRUENCE_SWAPPED)
        return explain_congruence(x, from, to, by == NOE_CONGRUENCE_SWAPPED);
    list l = explain_application(x, by);
    return x->d->applied[by].from == from ? l : reversed(x, l);
}

static int depth_of(const noe_egraph *e, uint32_t node)
{
    int n = 0;
    for (; e->nodes[node].proof != NOE_ENODE_NONE; node = e->nodes[node].proof)
        n++;
    return n;
}

static list explain(explainer *x, uint32_t a, uint32_t b)
{
    const noe_egraph *e = &x->d->e;
    list up = empty(term_of(x, a)), down = empty(term_of(x, b));
    int da = depth_of(e, a), db = depth_of(e, b);
    while (a != b && !x->is_too_long) {
        bool first = da >= db;
        uint32_t *node = first ? &a : &b;
        uint32_t next = e->nodes[*node].proof;
        append(x, first ? &up : &down,
               explain_edge(x, *node, next, e->nodes[*node].proof_by));
        *node = next;
        *(first ? &da : &db) -= 1;
    }
    append(x, &up, reversed(x, down));
    return up;
}

/* Steps between equal terms lead nowhere. */
static void cut_detours(noe_trace *t)
{
    uint32_t n = 0, at = t->start;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        for (uint32_t k = t->n_steps; k-- > i;) {
            if (t->steps[k].after == at) {
                i = k + 1;
                break;
            }
        }
        if (i >= t->n_steps)
            break;
        at = t->steps[i].after;
        t->steps[n++] = t->steps[i];
    }
    t->n_steps = n;
}

bool noe_derive_explain(const noe_deriver *d, uint32_t a, uint32_t b, noe_trace *trace)
{
    explainer x = {.d = d, .trace = trace};
    *trace = (noe_trace){0};
    x.term_of = noe_malloc(d->e.n_nodes * sizeof *x.term_of);
    memset(x.term_of, 0xff, d->e.n_nodes * sizeof *x.term_of);
    list l = explain(&x, a, b);
    trace->start = l.start;
    trace->steps = l.steps;
    trace->n_steps = l.n;
    cut_detours(trace);
    free(x.term_of);
    return !x.is_too_long;
}

void noe_trace_clear(noe_trace *trace)
{
    free(trace->terms);
    free(trace->steps);
    *trace = (noe_trace){0};
}

/* Other instances */

typedef enum place { PLACE_OPEN, PLACE_BUSY, PLACE_KNOWN, PLACE_NONE } place;

struct noe_transport {
    const noe_deriver *d;
    const noe_instance *inst;
    place *place;
    noe_params *params;
    noe_type *type;
};

noe_transport *noe_transport_new(const noe_deriver *d, const noe_instance *inst)
{
    noe_transport *t = noe_calloc(1, sizeof *t);
    size_t n = d->e.n_nodes;
    t->d = d;
    t->inst = inst;
    t->place = noe_calloc(n, sizeof *t->place);
    t->params = noe_malloc(n * sizeof *t->params);
    t->type = noe_malloc(n * sizeof *t->type);
    return t;
}

void noe_transport_free(noe_transport *t)
{
    free(t->place);
    free(t->params);
    free(t->type);
    free(t);
}

static bool realize(noe_transport *t, uint32_t node);

/* What the left side of an application binds here. */
static bool bind_application(noe_transport *t, const noe_application *a,
                             const noe_directed *r, noe_binding *b)
{
    memset(b->bound, 0, sizeof b->bound);
    memset(b->pbound, 0, sizeof b->pbound);
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        const noe_pattern_node *p = &r->one.nodes[i];
        if (!r->left[i])
            continue;
        if (!realize(t, a->image[i]))
            return false;
        if (p->is_var) {
            b->bound[p->var] = true;
            b->type[p->var] = t->type[a->image[i]];
            continue;
        }
        const noe_params *params = &t->params[a->image[i]];
        for (int k = 0; k < params->n; k++) {
            if (p->params[k] == NOE_TERM_ABSENT ||
                r->one.terms[p->params[k]].kind != NOE_TERM_PVAR)
                continue;
            uint16_t var = r->one.terms[p->params[k]].var;
            b->pbound[var] = true;
            b->pvalue[var] = params->v[k];
        }
    }
    return true;
}

/* All nodes that the application made. */
static void realize_application(noe_transport *t, uint32_t number)
{
    const noe_application *a = &t->d->applied[number];
    const noe_directed *r = t->d->set->directed[a->directed];
    noe_instance *inst = noe_malloc(sizeof *inst);
    bool ok = bind_application(t, a, r, &inst->binding) &&
              noe_instance_check(r->whole, inst, false);
    for (uint16_t i = 0; i < r->one.n_nodes; i++) {
        if (!r->right[i] || r->left[i] || r->one.nodes[i].is_var)
            continue;
        uint32_t node = a->image[i];
        if (node == NOE_ENODE_NONE || t->d->e.nodes[node].application != number)
            continue;
        t->place[node] = ok ? PLACE_KNOWN : PLACE_NONE;
        t->params[node] = inst->params[i];
        t->type[node] = inst->type[i];
    }
    free(inst);
}

static bool realize(noe_transport *t, uint32_t node)
{
    const noe_enode *n = &t->d->e.nodes[node];
    if (t->place[node] == PLACE_OPEN) {
        t->place[node] = PLACE_BUSY;
        if (n->application != NOE_CONGRUENCE) {
            realize_application(t, n->application);
        } else {
            t->params[node] = t->inst->params[n->pattern];
            t->type[node] = t->inst->type[n->pattern];
            t->place[node] = PLACE_KNOWN;
        }
    }
    return t->place[node] == PLACE_KNOWN;
}

const noe_params *noe_transport_params(noe_transport *t, uint32_t node)
{
    return realize(t, node) ? &t->params[node] : NULL;
}
