/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cut.h"
#include <stdlib.h>

typedef struct value_pair {
    noe_ref a, b; /* in the original, in the result */
    char *label;
} value_pair;

/* A place where both graphs are cut: an output of an opaque node, or a graph input. */
typedef struct cut_leaf {
    bool is_opaque;
    uint32_t number, port; /* opaque: the importer's; input: the pool's leaf */
    noe_type type;
} cut_leaf;

typedef struct cutter {
    const noe_graph *a, *b;
    value_pair *todo; /* every pair; those before n_done are dealt with */
    uint32_t n_todo, cap_todo;
    uint32_t *compared; /* indices into todo: pairs to compute */
    uint32_t n_compared, cap_compared;
    uint32_t *partner; /* node of b that corresponds to a foreign node of a */
    cut_leaf *leaves;
    uint32_t n_leaves, cap_leaves;
} cutter;

void noe_cut_clear(noe_cut *cut)
{
    for (uint32_t i = 0; i < cut->n_outputs; i++)
        free(cut->labels[i]);
    free(cut->labels);
    noe_graph_free(cut->original);
    noe_graph_free(cut->result);
    *cut = (noe_cut){0};
}

static bool is_computed(const noe_graph *g, noe_ref r)
{
    const noe_node *n = noe_graph_node(g, r.node);
    return (n->op < NOE_OP_COUNT || n->op == NOE_OP_WEIGHT) &&
           noe_dtype_is_floating(n->types[r.port].dtype);
}

static void push_pair(cutter *c, noe_ref a, noe_ref b, char *label)
{
    value_pair p = {a, b, label};
    NOE_PUSH(c->todo, c->n_todo, c->cap_todo, p);
}

static char *label_of(const char *fmt, uint32_t k, const noe_graph *g, uint32_t node)
{
    noe_buf b = {0};
    const noe_node *n = noe_graph_node(g, node);
    const char *name = n->name ? n->name : "";
    noe_buf_printf(&b, fmt, k);
    noe_buf_printf(&b, " of %s node %u%s%s", noe_op_get(n->op)->name,
                   n->op == NOE_OP_OPAQUE ? n->leaf : node, *name ? " " : "", name);
    return b.text;
}

static bool same_leaf(const cutter *c, const noe_node *x, const noe_node *y)
{
    if (x->op == NOE_OP_OPAQUE || x->op == NOE_OP_INPUT)
        return x->leaf == y->leaf;
    if (x->op != NOE_OP_WEIGHT)
        return true;
    return x->leaf == y->leaf || noe_pool_leaf(c->a->pool, x->leaf)->hash ==
                                     noe_pool_leaf(c->b->pool, y->leaf)->hash;
}

static bool same_operator(const cutter *c, const noe_node *x, const noe_node *y)
{
    if (x->op != y->op || x->n_inputs != y->n_inputs || x->n_outputs != y->n_outputs ||
        !same_leaf(c, x, y))
        return false;
    if ((x->params == NULL) != (y->params == NULL))
        return false;
    return !x->params || noe_params_eq(x->params, y->params);
}

/* A pair of foreign nodes: the same operator on corresponding operands. */
static noe_status pair_nodes(cutter *c, uint32_t x, uint32_t y, const char *label,
                             noe_error *err)
{
    const noe_ref *in_x = noe_graph_inputs(c->a, x), *in_y = noe_graph_inputs(c->b, y);
    if (c->partner[x] == y)
        return NOE_OK;
    if (c->partner[x] != UINT32_MAX ||
        !same_operator(c, &c->a->nodes[x], &c->b->nodes[y]))
        return noe_fail(err, NOE_ERR_MISMATCH,
                        "%s: the result has another node there, which no rule may "
                        "change",
                        label);
    c->partner[x] = y;
    for (uint32_t i = 0; i < c->a->nodes[x].n_inputs; i++) {
        if (noe_ref_is_none(in_x[i]) != noe_ref_is_none(in_y[i]))
            return noe_fail(err, NOE_ERR_MISMATCH, "%s: operand %u is missing", label,
                            i);
        if (!noe_ref_is_none(in_x[i]))
            push_pair(c, in_x[i], in_y[i], label_of("operand %u", i, c->a, x));
    }
    return NOE_OK;
}

/* One leaf of the model on both sides, as an operand of an opaque node often is. */
static bool is_same_weight(const cutter *c, noe_ref a, noe_ref b)
{
    const noe_node *x = noe_graph_node(c->a, a.node), *y = noe_graph_node(c->b, b.node);
    return x->op == NOE_OP_WEIGHT && y->op == NOE_OP_WEIGHT && x->leaf == y->leaf;
}

static noe_status deal_with(cutter *c, uint32_t index, noe_error *err)
{
    value_pair p = c->todo[index];
    const noe_type *x = noe_graph_type(c->a, p.a), *y = noe_graph_type(c->b, p.b);
    if (!is_computed(c->a, p.a) && !is_computed(c->b, p.b)) {
        if (p.a.port != p.b.port)
            return noe_fail(err, NOE_ERR_MISMATCH, "%s: output %u became output %u",
                            p.label, p.a.port, p.b.port);
        return pair_nodes(c, p.a.node, p.b.node, p.label, err);
    }
    if (is_same_weight(c, p.a, p.b))
        return NOE_OK;
    if (!noe_type_eq(x, y)) {
        noe_buf b = {0};
        noe_type_print(&b, x);
        noe_buf_puts(&b, " became ");
        noe_type_print(&b, y);
        noe_fail(err, NOE_ERR_MISMATCH, "%s: %s", p.label, b.text);
        noe_buf_clear(&b);
        return NOE_ERR_MISMATCH;
    }
    NOE_PUSH(c->compared, c->n_compared, c->cap_compared, index);
    return NOE_OK;
}

static noe_status pair_outputs(cutter *c, noe_error *err)
{
    if (c->a->n_outputs != c->b->n_outputs)
        return noe_fail(err, NOE_ERR_MISMATCH, "%u outputs became %u", c->a->n_outputs,
                        c->b->n_outputs);
    for (uint32_t i = 0; i < c->a->n_outputs; i++) {
        const noe_output *x = &c->a->outputs[i], *y = &c->b->outputs[i];
        noe_buf b = {0};
        if (strcmp(x->name, y->name) != 0)
            return noe_fail(err, NOE_ERR_MISMATCH, "output %s became %s", x->name,
                            y->name);
        noe_buf_printf(&b, "output %s", x->name);
        push_pair(c, x->ref, y->ref, b.text);
    }
    return NOE_OK;
}

static uint32_t find_opaque(const noe_graph *g, const uint8_t *live, uint32_t number)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (live[i] && g->nodes[i].op == NOE_OP_OPAQUE && g->nodes[i].leaf == number)
            return i;
    }
    return UINT32_MAX;
}

/* Every opaque node of the result is one of the original with equal operands; outputs
 * need not lead to all of them without a computed value in between. */
static noe_status pair_opaque_nodes(cutter *c, noe_error *err)
{
    uint8_t *live_a = noe_calloc(c->a->n_nodes + 1, 1);
    uint8_t *live_b = noe_calloc(c->b->n_nodes + 1, 1);
    noe_status status = NOE_OK;
    noe_graph_mark_live(c->a, live_a);
    noe_graph_mark_live(c->b, live_b);
    for (uint32_t i = 0; i < c->b->n_nodes && status == NOE_OK; i++) {
        if (!live_b[i] || c->b->nodes[i].op != NOE_OP_OPAQUE)
            continue;
        uint32_t x = find_opaque(c->a, live_a, c->b->nodes[i].leaf);
        char *label = label_of("output %u", 0, c->b, i);
        if (x == UINT32_MAX)
            status = noe_fail(err, NOE_ERR_MISMATCH,
                              "%s: the original has no such node", label);
        else
            status = pair_nodes(c, x, i, label, err);
        free(label);
    }
    free(live_a);
    free(live_b);
    return status;
}

static noe_status pair_everything(cutter *c, noe_error *err)
{
    c->partner = noe_malloc((c->a->n_nodes + 1) * sizeof *c->partner);
    for (uint32_t i = 0; i < c->a->n_nodes; i++)
        c->partner[i] = UINT32_MAX;
    NOE_TRY(pair_outputs(c, err));
    NOE_TRY(pair_opaque_nodes(c, err));
    for (uint32_t i = 0; i < c->n_todo; i++)
        NOE_TRY(deal_with(c, i, err));
    return NOE_OK;
}

/* ---- building the executable graphs ---- */

static bool same_place(const cut_leaf *x, const cut_leaf *y)
{
    return x->is_opaque == y->is_opaque && x->number == y->number && x->port == y->port;
}

static uint32_t leaf_number(cutter *c, const noe_graph *g, noe_ref r)
{
    const noe_node *n = noe_graph_node(g, r.node);
    cut_leaf leaf = {n->op == NOE_OP_OPAQUE, n->leaf, r.port, n->types[r.port]};
    for (uint32_t i = 0; i < c->n_leaves; i++) {
        if (same_place(&c->leaves[i], &leaf))
            return i;
    }
    NOE_PUSH(c->leaves, c->n_leaves, c->cap_leaves, leaf);
    return c->n_leaves - 1;
}

static noe_ref compared_ref(const cutter *c, uint32_t i, bool of_result)
{
    const value_pair *p = &c->todo[c->compared[i]];
    return of_result ? p->b : p->a;
}

/* Marks the computed nodes that the compared values of one graph need, and collects
 * where they are cut. */
static uint8_t *mark_needed(cutter *c, const noe_graph *g, bool of_result)
{
    uint8_t *need = noe_calloc(g->n_nodes + 1, 1);
    for (uint32_t i = 0; i < c->n_compared; i++) {
        noe_ref r = compared_ref(c, i, of_result);
        if (is_computed(g, r))
            need[r.node] = 1;
        else
            leaf_number(c, g, r);
    }
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t k = 0; need[i] && k < g->nodes[i].n_inputs; k++) {
            if (is_computed(g, in[k]))
                need[in[k].node] = 1;
            else
                leaf_number(c, g, in[k]);
        }
    }
    return need;
}

static uint32_t *make_leaves(cutter *c)
{
    uint32_t *made = noe_malloc((c->n_leaves + 1) * sizeof *made);
    for (uint32_t i = 0; i < c->n_leaves; i++) {
        const cut_leaf *l = &c->leaves[i];
        noe_buf name = {0};
        noe_buf_printf(&name, "opaque %u:%u", l->number, l->port);
        made[i] = l->is_opaque ? noe_pool_add_leaf(c->a->pool, name.text, &l->type,
                                                   NULL, 0, NULL)
                               : l->number;
        noe_buf_clear(&name);
    }
    return made;
}

static noe_ref image_of(cutter *c, const noe_graph *g, noe_ref r, const noe_ref *map,
                        const noe_ref *leaves)
{
    return is_computed(g, r) ? map[r.node] : leaves[leaf_number(c, g, r)];
}

static noe_status copy_node(cutter *c, const noe_graph *g, uint32_t i, noe_graph *dst,
                            noe_ref *map, const noe_ref *leaves, noe_error *err)
{
    const noe_node *n = noe_graph_node(g, i);
    const noe_ref *in = noe_graph_inputs(g, i);
    noe_ref inputs[NOE_MAX_INPUTS];
    if (n->op == NOE_OP_WEIGHT) {
        map[i] = noe_graph_leaf(dst, NOE_OP_WEIGHT, n->leaf);
        return NOE_OK;
    }
    for (uint32_t k = 0; k < n->n_inputs; k++)
        inputs[k] = image_of(c, g, in[k], map, leaves);
    return noe_graph_add(dst, n->op, n->params, inputs, (int)n->n_inputs, &map[i], err);
}

static noe_status build(cutter *c, const noe_graph *g, const uint8_t *need,
                        const uint32_t *made, bool of_result, noe_graph **out,
                        noe_error *err)
{
    noe_graph *dst = noe_graph_new(g->pool);
    noe_ref *map = noe_malloc((g->n_nodes + 1) * sizeof *map);
    noe_ref *leaves = noe_malloc((c->n_leaves + 1) * sizeof *leaves);
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < c->n_leaves; i++)
        leaves[i] = noe_graph_leaf(dst, NOE_OP_INPUT, made[i]);
    for (uint32_t i = 0; i < g->n_nodes && status == NOE_OK; i++) {
        if (need[i])
            status = copy_node(c, g, i, dst, map, leaves, err);
    }
    for (uint32_t i = 0; i < c->n_compared && status == NOE_OK; i++) {
        noe_ref r = compared_ref(c, i, of_result);
        noe_graph_add_output(dst, image_of(c, g, r, map, leaves), "");
    }
    free(map);
    free(leaves);
    if (status != NOE_OK)
        noe_graph_free(dst);
    else
        *out = dst;
    return status;
}

static noe_status build_both(cutter *c, noe_cut *cut, noe_error *err)
{
    uint8_t *need_a = mark_needed(c, c->a, false);
    uint8_t *need_b = mark_needed(c, c->b, true);
    uint32_t *made = make_leaves(c);
    noe_status status = build(c, c->a, need_a, made, false, &cut->original, err);
    if (status == NOE_OK)
        status = build(c, c->b, need_b, made, true, &cut->result, err);
    free(need_a);
    free(need_b);
    free(made);
    return status;
}

static void take_labels(cutter *c, noe_cut *cut)
{
    cut->n_outputs = c->n_compared;
    cut->labels = noe_calloc(c->n_compared + 1, sizeof *cut->labels);
    for (uint32_t i = 0; i < c->n_compared; i++) {
        cut->labels[i] = c->todo[c->compared[i]].label;
        c->todo[c->compared[i]].label = NULL;
    }
}

/* What comes from outside is made up in memory: 4 GiB of f32 for one tensor. */
#define MAX_INPUT_ELEMENTS ((int64_t)1 << 30)

static noe_status check_inputs(const noe_graph *g, noe_error *err)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_INPUT)
            continue;
        int64_t n = noe_shape_elements(&g->nodes[i].types[0].shape);
        if (n > MAX_INPUT_ELEMENTS)
            return noe_fail(err, NOE_ERR_LIMIT,
                            "'%s' has %lld elements, too many to run anything on",
                            noe_graph_leaf_of(g, i)->name, (long long)n);
    }
    return NOE_OK;
}

noe_status noe_cut_pair(const noe_graph *original, const noe_graph *result,
                        noe_cut *cut, noe_error *err)
{
    cutter c = {.a = original, .b = result};
    *cut = (noe_cut){0};
    noe_status status = pair_everything(&c, err);
    if (status == NOE_OK && c.n_compared > 0)
        status = build_both(&c, cut, err);
    if (status == NOE_OK && c.n_compared > 0)
        status = check_inputs(cut->original, err);
    if (status == NOE_OK)
        take_labels(&c, cut);
    else
        noe_cut_clear(cut);
    for (uint32_t i = 0; i < c.n_todo; i++)
        free(c.todo[i].label);
    free(c.todo);
    free(c.compared);
    free(c.partner);
    free(c.leaves);
    return status;
}
