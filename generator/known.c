/* SPDX-License-Identifier: Apache-2.0
 *
 * The sides of the pair become graphs over inputs of its shapes; each rule, in both
 * directions, is matched at each node and applied, and the result compared with the
 * other side. Rules are listed by the operator at their root.
 *
 * Not complete: only one step, and only rules that came before.
 */
#include "generator/known.h"

#include "core/match.h"
#include <stdio.h>
#include <stdlib.h>

struct noe_known {
    struct rules {
        noe_rule **r;
        uint32_t n, cap;
    } by_op[NOE_OP_COUNT];
};

noe_known *noe_known_new(void)
{
    return noe_calloc(1, sizeof(noe_known));
}

void noe_known_free(noe_known *k)
{
    if (!k)
        return;
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        for (uint32_t i = 0; i < k->by_op[op].n; i++)
            free(k->by_op[op].r[i]);
        free(k->by_op[op].r);
    }
    free(k);
}

static void list_rule(noe_known *k, const noe_rule *rule)
{
    if (!noe_rule_is_directed(rule))
        return;
    struct rules *list = &k->by_op[rule->nodes[rule->lhs[0]].op];
    noe_rule *copy = noe_malloc(sizeof *copy);
    *copy = *rule;
    NOE_PUSH(list->r, list->n, list->cap, copy);
}

void noe_known_add(noe_known *k, const char *text)
{
    noe_rule *rule = noe_malloc(sizeof *rule), *back = noe_malloc(sizeof *back);
    bool ok = noe_rule_parse(text, SIZE_MAX, rule, NULL) == NOE_OK;
    NOE_ASSERT(ok);
    *back = noe_rule_reversed(rule);
    list_rule(k, rule);
    list_rule(k, back);
    free(rule);
    free(back);
}

/* One side over the inputs; NULL where the graph refuses it. */
static noe_graph *make_side(const noe_pair *pair, const int *roots, noe_pool *pool,
                            const uint32_t *leaves)
{
    noe_graph *g = noe_graph_new(pool);
    noe_ref ref[NOE_PAIR_MAX_NODES];
    bool ok = true;
    for (int i = 0; i < pair->n_nodes && ok; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        if (n->is_var) {
            ref[i] = noe_graph_leaf(g, NOE_OP_INPUT, leaves[n->var]);
            continue;
        }
        noe_ref in[2];
        for (int k = 0; k < n->n_in; k++)
            in[k] = ref[n->in[k]];
        ok = noe_graph_add(g, n->op, &n->params, in, n->n_in, &ref[i], NULL) == NOE_OK;
    }
    for (int r = 0; r < pair->n_roots && ok; r++)
        noe_graph_add_output(g, ref[roots[r]], "");
    if (ok)
        return g;
    noe_graph_free(g);
    return NULL;
}

typedef struct search {
    const noe_graph *from;
    uint64_t goal;
    const noe_rule *rule;
    bool found;
} search;

static bool on_match(void *ctx, const noe_match *match)
{
    search *s = ctx;
    noe_graph *out;
    if (noe_rule_apply(s->rule, s->from, match, &out, NULL) == NOE_OK) {
        s->found = noe_graph_hash(out) == s->goal;
        noe_graph_free(out);
    }
    return !s->found;
}

static bool reaches(const noe_known *k, const noe_graph *from, uint64_t goal)
{
    search s = {.from = from, .goal = goal};
    for (uint32_t i = 0; i < from->n_nodes && !s.found; i++) {
        if (from->nodes[i].op >= NOE_OP_COUNT)
            continue; /* an input */
        const struct rules *list = &k->by_op[from->nodes[i].op];
        for (uint32_t r = 0; r < list->n && !s.found; r++) {
            s.rule = list->r[r];
            noe_rule_match(s.rule, from, i, on_match, &s);
        }
    }
    return s.found;
}

bool noe_known_derives(const noe_known *k, const noe_pair *pair)
{
    noe_pool *pool = noe_pool_new();
    uint32_t leaves[NOE_PAIR_MAX_VARS];
    for (int v = 0; v < pair->n_vars; v++) {
        char name[16];
        noe_type type = {NOE_F32, pair->vars[v].shape};
        snprintf(name, sizeof name, "v%d", v);
        leaves[v] = noe_pool_add_leaf(pool, name, &type, NULL, 0, NULL);
    }
    noe_graph *left = make_side(pair, pair->lhs, pool, leaves);
    noe_graph *right = make_side(pair, pair->rhs, pool, leaves);
    bool found = false;
    if (left && right)
        found = noe_graph_hash(left) == noe_graph_hash(right) ||
                reaches(k, left, noe_graph_hash(right)) ||
                reaches(k, right, noe_graph_hash(left));
    if (left)
        noe_graph_free(left);
    if (right)
        noe_graph_free(right);
    noe_pool_free(pool);
    return found;
}
