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

/* A variant in one direction. */
typedef struct known_rule {
    int group, variant;
    bool is_reversed;
    noe_rule rule;
} known_rule;

struct noe_known {
    struct rules {
        known_rule **r;
        uint32_t n, cap;
    } by_op[NOE_OP_COUNT]; /* first variants, by operator at the root */
    struct group {
        char *text[NOE_LIFT_MAX_VARIANTS];
        int n, number;
    } * groups;
    uint32_t n_groups, cap_groups;
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
    for (uint32_t i = 0; i < k->n_groups; i++) {
        for (int v = 0; v < k->groups[i].n; v++)
            free(k->groups[i].text[v]);
    }
    free(k->groups);
    free(k);
}

static noe_rule *parse_known(const char *text)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    bool ok = noe_rule_parse(text, SIZE_MAX, rule, NULL) == NOE_OK;
    NOE_ASSERT(ok);
    return rule;
}

static void list_rule(noe_known *k, const noe_rule *rule, int group, bool is_reversed)
{
    if (!noe_rule_is_directed(rule))
        return;
    struct rules *list = &k->by_op[rule->nodes[rule->lhs[0]].op];
    known_rule *r = noe_malloc(sizeof *r);
    r->group = group;
    r->variant = 0;
    r->is_reversed = is_reversed;
    r->rule = *rule;
    NOE_PUSH(list->r, list->n, list->cap, r);
}

void noe_known_add(noe_known *k, const noe_lifted *variants, int group)
{
    struct group g = {.n = variants->n, .number = group};
    for (int i = 0; i < variants->n; i++)
        g.text[i] = noe_strdup(variants->text[i]);
    noe_rule *rule = parse_known(g.text[0]), *back = noe_malloc(sizeof *back);
    *back = noe_rule_reversed(rule);
    list_rule(k, rule, (int)k->n_groups, false);
    list_rule(k, back, (int)k->n_groups, true);
    NOE_PUSH(k->groups, k->n_groups, k->cap_groups, g);
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
        noe_ref in[NOE_SPACE_MAX_IN];
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

static bool rewrites_at(const noe_rule *rule, const noe_graph *from, uint64_t goal,
                        uint32_t node)
{
    search s = {.from = from, .goal = goal, .rule = rule};
    noe_rule_match(rule, from, node, on_match, &s);
    return s.found;
}

/* The way from a node down to another one; depth -1 if there is none. Depth is bounded
 * by the pair. */
static bool find_path(const noe_graph *g, uint32_t from, uint32_t to,
                      noe_known_step *step)
{
    if (from == to)
        return true;
    if (step->depth == NOE_STEP_MAX_DEPTH)
        return false;
    const noe_node *n = &g->nodes[from];
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        step->at[step->depth++] = (uint8_t)k;
        if (find_path(g, g->inputs_of[n->first_input + k].node, to, step))
            return true;
        step->depth--;
    }
    return false;
}

/* The least general variant that does what the first one does. */
static void choose_variant(const noe_known *k, const known_rule *found,
                           const noe_graph *from, uint64_t goal, uint32_t node,
                           noe_known_step *step)
{
    const struct group *g = &k->groups[found->group];
    step->group = g->number;
    step->variant = 0;
    step->is_backward = found->is_reversed;
    for (int v = g->n - 1; v > 0; v--) {
        noe_rule *rule = parse_known(g->text[v]);
        bool forth = rewrites_at(rule, from, goal, node), back = false;
        if (!forth) {
            *rule = noe_rule_reversed(rule);
            back = noe_rule_is_directed(rule) && rewrites_at(rule, from, goal, node);
        }
        free(rule);
        if (forth || back) {
            step->variant = v;
            step->is_backward = back;
            return;
        }
    }
}

static bool reaches(const noe_known *k, const noe_graph *from, uint64_t goal,
                    noe_known_step *step)
{
    for (uint32_t i = 0; i < from->n_nodes; i++) {
        if (from->nodes[i].op >= NOE_OP_COUNT)
            continue; /* an input */
        const struct rules *list = &k->by_op[from->nodes[i].op];
        for (uint32_t r = 0; r < list->n; r++) {
            if (!rewrites_at(&list->r[r]->rule, from, goal, i))
                continue;
            *step = (noe_known_step){0};
            for (uint32_t o = 0; o < from->n_outputs; o++) {
                if (find_path(from, from->outputs[o].ref.node, i, step))
                    break;
            }
            choose_variant(k, list->r[r], from, goal, i, step);
            return true;
        }
    }
    return false;
}

static bool derives(const noe_known *k, const noe_graph *left, const noe_graph *right,
                    noe_known_step *step)
{
    uint64_t a = noe_graph_hash(left), b = noe_graph_hash(right);
    if (reaches(k, left, b, step))
        return true;
    if (!reaches(k, right, a, step))
        return false;
    step->is_backward = !step->is_backward;
    return true;
}

typedef struct sides {
    noe_pool *pool;
    noe_graph *left, *right; /* NULL where the graph refuses it */
} sides;

static sides make_sides(const noe_pair *pair)
{
    sides s = {.pool = noe_pool_new()};
    uint32_t leaves[NOE_PAIR_MAX_VARS];
    for (int v = 0; v < pair->n_vars; v++) {
        char name[16];
        noe_type type = {pair->vars[v].dtype, pair->vars[v].shape};
        snprintf(name, sizeof name, "v%d", v);
        leaves[v] = noe_pool_add_leaf(s.pool, name, &type, NULL, 0, NULL);
    }
    s.left = make_side(pair, pair->lhs, s.pool, leaves);
    s.right = make_side(pair, pair->rhs, s.pool, leaves);
    return s;
}

static void free_sides(const sides *s)
{
    if (s->left)
        noe_graph_free(s->left);
    if (s->right)
        noe_graph_free(s->right);
    noe_pool_free(s->pool);
}

bool noe_known_derives(const noe_known *k, const noe_pair *pair, noe_known_step *step)
{
    sides s = make_sides(pair);
    bool found = s.left && s.right && derives(k, s.left, s.right, step);
    free_sides(&s);
    return found;
}

static int count_ops(const noe_graph *g)
{
    int n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op < NOE_OP_COUNT;
    return n;
}

/* The rule that is as large as the pair and rewrites `from` at its root into `to`. */
static const known_rule *find_alike(const noe_known *k, const noe_pair *pair,
                                    const noe_graph *from, const noe_graph *to)
{
    int n_from = count_ops(from), n_to = count_ops(to);
    uint32_t root = from->outputs[0].ref.node;
    uint64_t goal = noe_graph_hash(to);
    if (from->nodes[root].op >= NOE_OP_COUNT)
        return NULL;
    const struct rules *list = &k->by_op[from->nodes[root].op];
    for (uint32_t i = 0; i < list->n; i++) {
        const noe_rule *rule = &list->r[i]->rule;
        if (rule->n_roots == pair->n_roots && rule->n_vars == pair->n_vars &&
            noe_rule_count_ops(rule, false) == n_from &&
            noe_rule_count_ops(rule, true) == n_to &&
            rewrites_at(rule, from, goal, root))
            return list->r[i];
    }
    return NULL;
}

bool noe_known_is_instance(const noe_known *k, const noe_pair *pair, int *group)
{
    sides s = make_sides(pair);
    const known_rule *found = NULL;
    if (s.left && s.right) {
        found = find_alike(k, pair, s.left, s.right);
        if (!found)
            found = find_alike(k, pair, s.right, s.left);
    }
    if (found)
        *group = k->groups[found->group].number;
    free_sides(&s);
    return found != NULL;
}
