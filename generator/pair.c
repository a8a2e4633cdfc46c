/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs: made from e-nodes, checked on fresh points, generalised, printed.
 *
 * Generalising is needed because the universe has few variables of a shape: a law of
 * four variables shows up only as an instance with a variable twice, and a law about
 * any tensor as one about some compound term that both sides happen to contain.
 */
#include "generator/pair.h"

#include <stdio.h>
#include <stdlib.h>

#define GENERALIZE_ROUNDS 6

/* Making */

typedef struct maker {
    const noe_universe *u;
    noe_pair *pair;
    bool is_full;
} maker;

static int add_node(maker *m, const noe_pair_node *node)
{
    if (m->pair->n_nodes == NOE_PAIR_MAX_NODES) {
        m->is_full = true;
        return 0;
    }
    m->pair->nodes[m->pair->n_nodes] = *node;
    return m->pair->n_nodes++;
}

static noe_dtype dtype_of(const noe_space_leaf *leaf)
{
    return leaf->role == NOE_ROLE_MASK ? NOE_F32 : noe_role_dtype(leaf->role);
}

static int add_variable(maker *m, const noe_space_leaf *leaf)
{
    noe_pair *pair = m->pair;
    for (int i = 0; i < pair->n_vars; i++) {
        if (strcmp(pair->vars[i].name, leaf->name) == 0)
            return i;
    }
    if (pair->n_vars == NOE_PAIR_MAX_VARS) {
        m->is_full = true;
        return 0;
    }
    memcpy(pair->vars[pair->n_vars].name, leaf->name, sizeof leaf->name);
    pair->vars[pair->n_vars].shape = leaf->shape;
    pair->vars[pair->n_vars].is_mask = leaf->role == NOE_ROLE_MASK;
    pair->vars[pair->n_vars].dtype = dtype_of(leaf);
    return pair->n_vars++;
}

static int add_leaf(maker *m, uint32_t value)
{
    const noe_space_leaf *leaf = &m->u->space->leaves[m->u->values[value].leaf];
    noe_pair_node node = {.shape = leaf->shape, .value = value};
    node.is_weight = leaf->is_constant || leaf->role == NOE_ROLE_WEIGHT;
    node.is_mask = leaf->role == NOE_ROLE_MASK;
    node.dtype = dtype_of(leaf);
    if (leaf->is_constant) {
        node.op = leaf->op;
        node.params = leaf->params;
    } else {
        node.is_var = true;
        node.var = add_variable(m, leaf);
    }
    return add_node(m, &node);
}

static int add_value(maker *m, uint32_t value);

/* Depth is bounded by NOE_MAX_LEVEL, as for add_value. */
static int add_enode(maker *m, const noe_enode *e, uint32_t value)
{
    const noe_move *move = &m->u->space->moves[e->move];
    uint32_t in[NOE_SPACE_MAX_IN];
    noe_pair_node node = {.op = move->op,
                          .move = e->move,
                          .n_in = noe_enode_operands(m->u, e, in),
                          .is_weight = true,
                          .value = value};
    node.params = noe_enode_params(m->u, e);
    node.shape = m->u->shapes[m->u->classes[e->value].shape];
    for (int k = 0; k < node.n_in; k++) {
        node.in[k] = add_value(m, in[k]);
        node.is_weight = node.is_weight && m->pair->nodes[node.in[k]].is_weight;
        node.is_mask = m->pair->nodes[node.in[k]].is_mask; /* as the last operand */
        node.dtype = m->pair->nodes[node.in[k]].dtype;
    }
    if (node.op == NOE_OP_CAST)
        node.dtype = noe_cast_type(&node.params);
    return add_node(m, &node);
}

/* The constant that a value is, whatever made it. */
static int add_fixed(maker *m, uint32_t value)
{
    const noe_gen_class *c = &m->u->classes[value];
    noe_pair_node node = {.op = c->fixed == NOE_FIXED_ONES ? NOE_OP_ONES : NOE_OP_ZEROS,
                          .is_weight = true,
                          .dtype = NOE_F32,
                          .shape = m->u->shapes[c->shape],
                          .value = value};
    node.params.n = 1;
    node.params.v[0] = noe_value_list(NOE_KIND_INTS, node.shape.rank, node.shape.dim);
    return add_node(m, &node);
}

static int add_value(maker *m, uint32_t value)
{
    if (noe_universe_is_leaf(m->u, value))
        return add_leaf(m, value);
    if (m->u->classes[value].fixed == NOE_FIXED_ZEROS ||
        m->u->classes[value].fixed == NOE_FIXED_ONES)
        return add_fixed(m, value);
    return add_enode(m, &m->u->enodes[m->u->classes[value].first - 1], value);
}

bool noe_pair_make(const noe_universe *u, uint32_t left, uint32_t right, noe_pair *pair)
{
    maker m = {.u = u, .pair = pair};
    *pair = (noe_pair){.n_roots = 1};
    const noe_enode *l = &u->enodes[left];
    /* The left root stands for no value: it is not the same term as the right one. */
    pair->lhs[0] = add_enode(&m, l, NOE_NO_OPERAND);
    pair->level = l->level;
    if (right == NOE_NO_OPERAND) {
        pair->rhs[0] = add_value(&m, l->value);
    } else {
        pair->rhs[0] = add_enode(&m, &u->enodes[right], l->value);
        if (u->enodes[right].level > pair->level)
            pair->level = u->enodes[right].level;
    }
    return !m.is_full;
}

bool noe_pair_make_sibling(const noe_universe *u, const noe_sibling *s, noe_pair *pair)
{
    maker m = {.u = u, .pair = pair};
    *pair = (noe_pair){.kind = NOE_PAIR_SIBLING, .level = s->level, .n_roots = 2};
    pair->lhs[0] = add_value(&m, s->low_value);
    pair->lhs[1] = add_value(&m, s->high_value);
    pair->rhs[0] = add_enode(&m, &u->enodes[s->low], NOE_NO_OPERAND);
    pair->rhs[1] = add_enode(&m, &u->enodes[s->high], NOE_NO_OPERAND);
    return !m.is_full;
}

/* Checking */

static void eval_pair(const noe_pair *pair, const noe_field *field, noe_rng *rng,
                      noe_arena *arena, noe_tensor_fe *t)
{
    noe_tensor_fe var[NOE_PAIR_MAX_VARS];
    for (int i = 0; i < pair->n_vars; i++) {
        int64_t n = noe_shape_elements(&pair->vars[i].shape);
        var[i].shape = pair->vars[i].shape;
        var[i].data = noe_arena_alloc(arena, (size_t)n * sizeof(noe_fe));
        for (int64_t k = 0; k < n; k++)
            var[i].data[k] = pair->vars[i].is_mask ? noe_fe_draw_truth(rng)
                                                   : noe_fe_draw(field, rng);
    }
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *node = &pair->nodes[i];
        if (node->is_var) {
            t[i] = var[node->var];
            continue;
        }
        size_t n = (size_t)noe_shape_elements(&node->shape);
        t[i] = (noe_tensor_fe){node->shape, noe_arena_alloc(arena, n * sizeof(noe_fe))};
        noe_tensor_fe in[NOE_SPACE_MAX_IN];
        for (int k = 0; k < node->n_in; k++)
            in[k] = t[node->in[k]];
        noe_eval_fe(field, node->op, &node->params, in, node->n_in, &t[i]);
    }
}

static bool tensors_agree(const noe_tensor_fe *a, const noe_tensor_fe *b)
{
    if (!noe_shape_eq(&a->shape, &b->shape))
        return false;
    int64_t n = noe_shape_elements(&a->shape);
    for (int64_t i = 0; i < n; i++) {
        if (!noe_fe_eq(a->data[i], b->data[i]))
            return false;
    }
    return true;
}

bool noe_pair_has_order(const noe_pair *pair)
{
    for (int i = 0; i < pair->n_nodes; i++) {
        if (!pair->nodes[i].is_var && noe_op_has(pair->nodes[i].op, NOE_TRAIT_ORDER))
            return true;
    }
    return false;
}

static bool holds(const noe_pair *pair, noe_order order, uint64_t seed, int n_rounds)
{
    noe_arena arena = {0};
    bool all = true;
    for (int round = 0; round < n_rounds && all; round++) {
        noe_rng rng = noe_rng_split(seed, "recheck", (uint64_t)round);
        uint64_t key = noe_rng_next(&rng);
        noe_field field = order == NOE_ORDER_NUMBER
                              ? noe_field_make_ordered(key, NOE_FIELD_RANGE)
                              : noe_field_make(key);
        noe_tensor_fe t[NOE_PAIR_MAX_NODES];
        eval_pair(pair, &field, &rng, &arena, t);
        for (int i = 0; i < pair->n_roots; i++)
            all = all && tensors_agree(&t[pair->lhs[i]], &t[pair->rhs[i]]);
        noe_arena_clear(&arena);
    }
    return all;
}

/* The operand that a node divides by, -1 if it does not divide. */
static int denominator(const noe_pair_node *n)
{
    if (!n->is_var && n->op == NOE_OP_RECIPROCAL)
        return n->in[0];
    return !n->is_var && n->op == NOE_OP_DIV ? n->in[1] : -1;
}

/* What is 0 at a good part of all points: not told from what is 0 at all of them. */
static bool is_often_zero(noe_op op)
{
    return op == NOE_OP_SQRT || op == NOE_OP_WHERE || noe_op_has(op, NOE_TRAIT_ORDER);
}

/* A random element of a field is hardly ever 0: one that is, is 0 always. */
static bool divides_by_zero(const noe_pair *pair, uint64_t seed)
{
    noe_arena arena = {0};
    noe_tensor_fe t[NOE_PAIR_MAX_NODES];
    bool often[NOE_PAIR_MAX_NODES], found = false, divides = false;
    noe_rng rng = noe_rng_split(seed, "denominator", 0);
    noe_field field = noe_field_make(noe_rng_next(&rng));
    for (int i = 0; i < pair->n_nodes; i++)
        divides |= denominator(&pair->nodes[i]) >= 0;
    if (!divides)
        return false;
    eval_pair(pair, &field, &rng, &arena, t);
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        int d = denominator(n);
        often[i] = !n->is_var && is_often_zero(n->op);
        for (int k = 0; k < n->n_in; k++)
            often[i] |= often[n->in[k]];
        int64_t size = d < 0 || often[d] ? 0 : noe_shape_elements(&t[d].shape);
        for (int64_t k = 0; k < size; k++)
            found |= t[d].data[k].u == 0;
    }
    noe_arena_clear(&arena);
    return found;
}

bool noe_pair_holds(const noe_pair *pair, uint64_t seed, int n_rounds)
{
    return !divides_by_zero(pair, seed) &&
           ((noe_pair_has_order(pair) &&
             holds(pair, NOE_ORDER_NUMBER, seed, n_rounds)) ||
            holds(pair, NOE_ORDER_RESIDUE, seed, n_rounds));
}

/* Generalising */

static void mark_below(const noe_pair *pair, const int *roots, bool *mark)
{
    memset(mark, 0, NOE_PAIR_MAX_NODES * sizeof *mark);
    for (int i = 0; i < pair->n_roots; i++)
        mark[roots[i]] = true;
    for (int i = pair->n_nodes - 1; i >= 0; i--) {
        for (int k = 0; mark[i] && k < pair->nodes[i].n_in; k++)
            mark[pair->nodes[i].in[k]] = true;
    }
}

void noe_pair_variables(const noe_pair *pair, uint32_t vars[2])
{
    bool left[NOE_PAIR_MAX_NODES], right[NOE_PAIR_MAX_NODES];
    mark_below(pair, pair->lhs, left);
    mark_below(pair, pair->rhs, right);
    vars[0] = vars[1] = 0;
    for (int i = 0; i < pair->n_nodes; i++) {
        if (!pair->nodes[i].is_var)
            continue;
        vars[0] |= (uint32_t)left[i] << pair->nodes[i].var;
        vars[1] |= (uint32_t)right[i] << pair->nodes[i].var;
    }
}

void noe_pair_mark_left(const noe_pair *pair, bool *mark)
{
    mark_below(pair, pair->lhs, mark);
}

void noe_pair_costs(const noe_pair *pair, int cost[2], bool *has_weight_op)
{
    bool left[NOE_PAIR_MAX_NODES];
    mark_below(pair, pair->lhs, left);
    cost[0] = cost[1] = 0;
    *has_weight_op = false;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        if (n->n_in == 0)
            continue;
        if (n->is_weight)
            *has_weight_op = true;
        else
            cost[!left[i]] += noe_op_has(n->op, NOE_TRAIT_HEAVY) ? NOE_HEAVY_COST : 1;
    }
}

/* Constants that are not folded into a weight: operands of what data goes through. */
static bool has_constant_operand(const noe_pair *pair)
{
    bool is = false;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        for (int k = 0; k < n->n_in && !n->is_weight; k++) {
            const noe_pair_node *in = &pair->nodes[n->in[k]];
            is = is || (!in->is_var && in->n_in == 0);
        }
    }
    return is;
}

noe_pair_use noe_pair_use_of(const noe_pair *pair, int min_gain)
{
    uint32_t vars[2], n_constants[2], n_uses[2];
    int cost[2], n_heavy[2] = {0, 0};
    bool has_weight_op, left[NOE_PAIR_MAX_NODES];
    noe_pair_costs(pair, cost, &has_weight_op);
    noe_pair_variables(pair, vars);
    noe_pair_count_leaves(pair, n_constants, n_uses);
    int gain = abs(cost[0] - cost[1]), cheap = cost[0] < cost[1] ? 0 : 1;
    if (gain < (has_weight_op ? 1 : min_gain) || has_constant_operand(pair) ||
        n_constants[!cheap] > 0 || n_constants[cheap] > 1 ||
        (vars[cheap] & ~vars[!cheap]) ||
        n_uses[cheap] != (uint32_t)__builtin_popcount(vars[cheap]))
        return NOE_USE_NONE;
    mark_below(pair, pair->lhs, left);
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        if (n->n_in && !n->is_weight)
            n_heavy[!left[i]] += noe_op_has(n->op, NOE_TRAIT_HEAVY);
    }
    if (n_heavy[cheap] < n_heavy[!cheap])
        return NOE_USE_HEAVY;
    return has_weight_op ? NOE_USE_FOLDS : NOE_USE_FEWER;
}

const char *noe_pair_use_text(noe_pair_use use)
{
    static const char *const texts[] = {
#define XX(ID, TEXT) TEXT,
        NOE_PAIR_USE_MAP(XX)
#undef XX
    };
    return texts[use];
}

void noe_pair_count_leaves(const noe_pair *pair, uint32_t n_constants[2],
                           uint32_t n_uses[2])
{
    bool left[NOE_PAIR_MAX_NODES];
    mark_below(pair, pair->lhs, left);
    n_constants[0] = n_constants[1] = n_uses[0] = n_uses[1] = 0;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *node = &pair->nodes[i];
        n_uses[!left[i]] += node->is_var;
        n_constants[!left[i]] += !node->is_var && node->n_in == 0;
    }
}

/* Drops nodes and variables that no root needs. */
static void compact(noe_pair *pair)
{
    bool left[NOE_PAIR_MAX_NODES], right[NOE_PAIR_MAX_NODES];
    int to[NOE_PAIR_MAX_NODES], var_to[NOE_PAIR_MAX_VARS];
    mark_below(pair, pair->lhs, left);
    mark_below(pair, pair->rhs, right);
    noe_pair_var vars[NOE_PAIR_MAX_VARS];
    int n_vars = 0, n = 0;
    memcpy(vars, pair->vars, sizeof vars);
    for (int i = 0; i < NOE_PAIR_MAX_VARS; i++)
        var_to[i] = -1;
    for (int i = 0; i < pair->n_nodes; i++) {
        if (!left[i] && !right[i])
            continue;
        noe_pair_node node = pair->nodes[i];
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = to[node.in[k]];
        if (node.is_var) {
            if (var_to[node.var] < 0) {
                pair->vars[n_vars] = vars[node.var];
                var_to[node.var] = n_vars++;
            }
            node.var = var_to[node.var];
        }
        to[i] = n;
        pair->nodes[n++] = node;
    }
    pair->n_nodes = n;
    pair->n_vars = n_vars;
    for (int i = 0; i < pair->n_roots; i++) {
        pair->lhs[i] = to[pair->lhs[i]];
        pair->rhs[i] = to[pair->rhs[i]];
    }
}

/* All nodes with this value become a fresh variable. */
static bool make_variable(noe_pair *pair, const noe_pair_node *like)
{
    if (pair->n_vars == NOE_PAIR_MAX_VARS)
        return false;
    noe_pair_var *var = &pair->vars[pair->n_vars];
    noe_pair_node node = {.is_var = true,
                          .is_mask = like->is_mask,
                          .dtype = like->dtype,
                          .var = pair->n_vars,
                          .shape = like->shape,
                          .value = like->value};
    *var = (noe_pair_var){
        .shape = node.shape, .is_mask = node.is_mask, .dtype = node.dtype};
    snprintf(var->name, sizeof var->name, "t%d", pair->n_vars + 1);
    for (int i = 0; i < pair->n_nodes; i++) {
        if (pair->nodes[i].value == node.value)
            pair->nodes[i] = node;
    }
    pair->n_vars++;
    return true;
}

static bool occurs_marked(const noe_pair *pair, uint32_t value, const bool *mark)
{
    for (int i = 0; i < pair->n_nodes; i++) {
        if (mark[i] && pair->nodes[i].value == value)
            return true;
    }
    return false;
}

static bool is_root(const noe_pair *pair, int node, const int *roots)
{
    for (int i = 0; i < pair->n_roots; i++) {
        if (roots[i] == node)
            return true;
    }
    return false;
}

/* Replaces a term that both sides contain by a variable. Constants are terms, too: what
 * holds for a constant may hold for any tensor. */
static bool generalize_shared(noe_pair *pair, uint64_t seed)
{
    bool left[NOE_PAIR_MAX_NODES], right[NOE_PAIR_MAX_NODES];
    mark_below(pair, pair->lhs, left);
    mark_below(pair, pair->rhs, right);
    for (int i = pair->n_nodes - 1; i >= 0; i--) {
        const noe_pair_node *node = &pair->nodes[i];
        if (node->is_var || !left[i] || node->value == NOE_NO_OPERAND ||
            is_root(pair, i, pair->lhs) || !occurs_marked(pair, node->value, right))
            continue;
        noe_pair trial = *pair;
        if (!make_variable(&trial, node))
            return false;
        compact(&trial);
        if (noe_pair_holds(&trial, seed, GENERALIZE_ROUNDS)) {
            *pair = trial;
            return true;
        }
    }
    return false;
}

#define MAX_USES 8

/* A variable that occurs at least twice on both sides may be two variables. */
static bool generalize_variable(noe_pair *pair, int var, uint64_t seed)
{
    bool left[NOE_PAIR_MAX_NODES];
    int use[MAX_USES], n = 0;
    unsigned on_left = 0;
    mark_below(pair, pair->lhs, left);
    for (int i = 0; i < pair->n_nodes; i++) {
        if (!pair->nodes[i].is_var || pair->nodes[i].var != var)
            continue;
        if (n == MAX_USES)
            return false;
        on_left |= (unsigned)left[i] << n;
        use[n++] = i;
    }
    /* The first use keeps its name. */
    for (unsigned chosen = 2; chosen < 1u << n; chosen += 2) {
        unsigned kept = ~chosen & ((1u << n) - 1);
        if (!(chosen & on_left) || !(chosen & ~on_left) || !(kept & on_left) ||
            !(kept & ~on_left) || pair->n_vars == NOE_PAIR_MAX_VARS)
            continue;
        noe_pair trial = *pair;
        int fresh = trial.n_vars++;
        trial.vars[fresh] = pair->vars[var];
        snprintf(trial.vars[fresh].name, sizeof trial.vars[0].name, "y%d", fresh + 1);
        for (int i = 0; i < n; i++) {
            if (chosen >> i & 1) {
                trial.nodes[use[i]].var = fresh;
                trial.nodes[use[i]].value = NOE_NO_OPERAND;
            }
        }
        if (noe_pair_holds(&trial, seed, GENERALIZE_ROUNDS)) {
            *pair = trial;
            return true;
        }
    }
    return false;
}

static bool generalize_repeated(noe_pair *pair, uint64_t seed)
{
    for (int var = 0; var < pair->n_vars; var++) {
        if (generalize_variable(pair, var, seed))
            return true;
    }
    return false;
}

/* The roots of siblings would each hold alone: what they share is the point of them. */
void noe_pair_generalize(noe_pair *pair, uint64_t seed)
{
    if (pair->kind == NOE_PAIR_SIBLING)
        return;
    while (generalize_shared(pair, seed) || generalize_repeated(pair, seed))
        ;
}

/* Printing */

/* Depth is bounded by NOE_PAIR_MAX_NODES. */
static void print_node(noe_buf *b, const noe_pair *pair, int i)
{
    const noe_pair_node *node = &pair->nodes[i];
    if (node->is_var) {
        noe_buf_puts(b, pair->vars[node->var].name);
        return;
    }
    const noe_op_info *info = noe_op_get(node->op);
    noe_buf_puts(b, info->name);
    for (int k = 0; k < info->n_params; k++) {
        noe_buf_printf(b, "%s%s=", k ? ", " : "[", noe_param_name(info->params[k]));
        noe_value_print(b, &node->params.v[k]);
    }
    noe_buf_puts(b, info->n_params ? "](" : "(");
    for (int k = 0; k < node->n_in; k++) {
        noe_buf_puts(b, k ? ", " : "");
        print_node(b, pair, node->in[k]);
    }
    noe_buf_puts(b, ")");
}

static void print_side(noe_buf *b, const noe_pair *pair, const int *roots)
{
    noe_buf_puts(b, pair->n_roots > 1 ? "{ " : "");
    for (int i = 0; i < pair->n_roots; i++) {
        noe_buf_puts(b, i ? ", " : "");
        print_node(b, pair, roots[i]);
    }
    noe_buf_puts(b, pair->n_roots > 1 ? " }" : "");
}

void noe_pair_print(noe_buf *b, const noe_pair *pair)
{
    print_side(b, pair, pair->lhs);
    noe_buf_puts(b, " == ");
    print_side(b, pair, pair->rhs);
}

void noe_pair_print_shapes(noe_buf *b, const noe_pair *pair)
{
    for (int i = 0; i < pair->n_vars; i++) {
        noe_buf_printf(b, "%s%s=", i ? " " : "", pair->vars[i].name);
        noe_shape_print(b, &pair->vars[i].shape);
    }
}

void noe_pair_proof_clear(noe_pair_proof *d)
{
    free(d->steps);
    *d = (noe_pair_proof){0};
}

void noe_pairs_free(noe_pair *pairs, int n)
{
    for (int i = 0; i < n; i++)
        noe_pair_proof_clear(&pairs[i].why);
    free(pairs);
}

int noe_pair_costly_side(const noe_pair *pair)
{
    bool has_weight_op;
    int cost[2];
    noe_pair_costs(pair, cost, &has_weight_op);
    if (pair->kind == NOE_PAIR_SIBLING)
        return 0;
    return cost[0] == cost[1] ? -1 : cost[0] < cost[1];
}

bool noe_pair_has_op(const noe_pair *pair, noe_op op)
{
    for (int i = 0; i < pair->n_nodes; i++) {
        if (!pair->nodes[i].is_var && pair->nodes[i].op == op)
            return true;
    }
    return false;
}
