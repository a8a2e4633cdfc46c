/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of a file should stand behind the makers of what they read. Where they do not,
 * they are put in order, each as early as its place in the file and its inputs allow
 * (Kahn's algorithm with the file's order among the ready ones), or the cycle is named.
 * What bodies of a node read counts as read by the node.
 */
#include "onnx_io/model.h"
#include <stdlib.h>

typedef struct edge {
    uint32_t from, to;
    const char *name;
} edge;

typedef struct sorter {
    noe_onnx_model *m;
    noe_names makers; /* name -> node */
    noe_names given;  /* graph inputs: a node that makes one is an error of its own */
    edge *edges;      /* grouped by `to` */
    uint32_t n_edges, cap_edges;
    bool is_sorted;
} sorter;

static void read_by(sorter *s, uint32_t node, const char *name)
{
    uint32_t maker;
    if (!name || !*name || !noe_names_find(&s->makers, name, &maker))
        return;
    s->is_sorted = s->is_sorted && maker < node;
    edge e = {maker, node, name};
    NOE_PUSH(s->edges, s->n_edges, s->cap_edges, e);
}

/* Names that a body defines: they hide those of the main graph. */
typedef struct scope {
    const struct scope *outer;
    noe_names names;
} scope;

static void define(scope *in, const char *name)
{
    if (name && *name)
        noe_names_set(&in->names, name, 0);
}

static void read_from(sorter *s, uint32_t node, const scope *in, const char *name)
{
    for (; in; in = in->outer) {
        if (name && noe_names_has(&in->names, name))
            return;
    }
    read_by(s, node, name);
}

static void read_by_bodies(sorter *s, uint32_t node, const Onnx__NodeProto *n,
                           const scope *outer);

static void read_by_body(sorter *s, uint32_t node, const Onnx__GraphProto *g,
                         const scope *outer)
{
    scope in = {.outer = outer};
    for (size_t i = 0; i < g->n_input; i++)
        define(&in, g->input[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++)
        define(&in, g->initializer[i]->name);
    for (size_t i = 0; i < g->n_node; i++) {
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            define(&in, g->node[i]->output[k]);
    }
    for (size_t i = 0; i < g->n_node; i++) {
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            read_from(s, node, &in, g->node[i]->input[k]);
        read_by_bodies(s, node, g->node[i], &in);
    }
    for (size_t i = 0; i < g->n_output; i++)
        read_from(s, node, &in, g->output[i]->name);
    noe_names_clear(&in.names);
}

/* Recursion is on the nesting of bodies, which noe_wire_check bounds. */
static void read_by_bodies(sorter *s, uint32_t node, const Onnx__NodeProto *n,
                           const scope *outer)
{
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];
        if (a->g)
            read_by_body(s, node, a->g, outer);
        for (size_t k = 0; k < a->n_graphs; k++)
            read_by_body(s, node, a->graphs[k], outer);
    }
}

static void collect(sorter *s)
{
    const noe_onnx_model *m = s->m;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        noe_names_set(&s->given, m->inputs[i]->name ? m->inputs[i]->name : "", i);
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        const Onnx__NodeProto *n = m->nodes[k].proto;
        for (size_t i = 0; i < n->n_output; i++) {
            if (*n->output[i] && !noe_names_has(&s->given, n->output[i]))
                noe_names_add(&s->makers, n->output[i], k);
        }
    }
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        const Onnx__NodeProto *n = m->nodes[k].proto;
        for (size_t i = 0; i < n->n_input; i++)
            read_by(s, k, n->input[i]);
        read_by_bodies(s, k, n, NULL);
    }
}

/* ---- a heap of ready nodes, the first of the file on top ---- */

static void push(uint32_t *heap, uint32_t *n, uint32_t node)
{
    uint32_t i = (*n)++;
    for (; i > 0 && heap[(i - 1) / 2] > node; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = node;
}

static uint32_t pop(uint32_t *heap, uint32_t *n)
{
    uint32_t top = heap[0], last = heap[--*n], i = 0;
    for (uint32_t k; (k = 2 * i + 1) < *n; i = k) {
        k += k + 1 < *n && heap[k + 1] < heap[k];
        if (heap[k] >= last)
            break;
        heap[i] = heap[k];
    }
    heap[i] = last;
    return top;
}

/* Sets order[0..return): less than all nodes if there is a cycle. Edges get grouped by
 * their maker: those of node k are users[first[k]..first[k + 1]). */
static uint32_t order_nodes(const sorter *s, uint32_t *order, uint32_t *waits)
{
    uint32_t n = s->m->n_nodes, n_heap = 0, done = 0;
    uint32_t *first = noe_calloc((size_t)n + 2, sizeof *first);
    uint32_t *users = noe_malloc((size_t)s->n_edges * sizeof *users + 1);
    uint32_t *heap = noe_malloc((size_t)n * sizeof *heap + 1);
    for (uint32_t i = 0; i < s->n_edges; i++) {
        first[s->edges[i].from + 2]++;
        waits[s->edges[i].to]++;
    }
    for (uint32_t k = 0; k < n; k++)
        first[k + 2] += first[k + 1];
    for (uint32_t i = 0; i < s->n_edges; i++)
        users[first[s->edges[i].from + 1]++] = s->edges[i].to;
    for (uint32_t k = 0; k < n; k++) {
        if (waits[k] == 0)
            push(heap, &n_heap, k);
    }
    while (n_heap > 0) {
        uint32_t k = order[done++] = pop(heap, &n_heap);
        for (uint32_t i = first[k]; i < first[k + 1]; i++) {
            if (--waits[users[i]] == 0)
                push(heap, &n_heap, users[i]);
        }
    }
    free(first);
    free(users);
    free(heap);
    return done;
}

/* A node of the cycle is found by walking back over inputs that wait too: after as many
 * steps as there are nodes, the walk is in a cycle. */
static noe_status fail_cycle(const sorter *s, const uint32_t *waits, noe_error *err)
{
    uint32_t n = s->m->n_nodes, at = 0;
    const edge **back = noe_calloc((size_t)n + 1, sizeof *back);
    for (uint32_t i = s->n_edges; i-- > 0;) {
        if (waits[s->edges[i].from] > 0)
            back[s->edges[i].to] = &s->edges[i];
    }
    while (waits[at] == 0)
        at++;
    for (uint32_t i = 0; i < n; i++)
        at = back[at]->from;
    uint32_t from = back[at]->from;
    const char *type = s->m->nodes[from].proto->op_type;
    noe_status status = noe_fail(
        err, NOE_ERR_PARSE,
        "input '%s' is made by node %u (%s), which needs this node's output: the "
        "nodes form a cycle",
        back[at]->name, from, type ? type : "");
    noe_onnx_prefix_node(s->m, at, err);
    free(back);
    return status;
}

/* The nodes, and the fields of the graph that hold them. */
static void apply(noe_onnx_model *m, const uint32_t *order)
{
    noe_onnx_node *nodes = NOE_NEW_N(&m->arena, noe_onnx_node, m->n_nodes);
    noe_wire_field *fields = noe_malloc((size_t)m->n_nodes * sizeof *fields + 1);
    uint32_t k = 0;
    for (size_t i = 0; i < m->n_graph_fields; i++) {
        if (m->graph_fields[i].number == NOE_GRAPH_NODE)
            fields[k++] = m->graph_fields[i];
    }
    for (k = 0; k < m->n_nodes; k++)
        nodes[k] = m->nodes[order[k]];
    k = 0;
    for (size_t i = 0; i < m->n_graph_fields; i++) {
        if (m->graph_fields[i].number == NOE_GRAPH_NODE)
            m->graph_fields[i] = fields[order[k++]];
    }
    m->nodes = nodes;
    free(fields);
}

noe_status noe_onnx_sort_nodes(noe_onnx_model *m, noe_error *err)
{
    sorter s = {.m = m, .is_sorted = true};
    noe_status status = NOE_OK;
    collect(&s);
    if (!s.is_sorted) {
        uint32_t *order = noe_malloc((size_t)m->n_nodes * sizeof *order);
        uint32_t *waits = noe_calloc(m->n_nodes, sizeof *waits);
        if (order_nodes(&s, order, waits) < m->n_nodes)
            status = fail_cycle(&s, waits, err);
        else
            apply(m, order);
        free(order);
        free(waits);
    }
    noe_names_clear(&s.makers);
    noe_names_clear(&s.given);
    free(s.edges);
    return status;
}
