/* SPDX-License-Identifier: Apache-2.0
 *
 * Pruning by derivability, level by level.
 *
 * The e-nodes of a class are all equal; which equations explain that? E-nodes have
 * values for operands, so every smaller equality is taken for granted (it was explained
 * at its own level). Within a class, e-nodes that an instance of an accepted rule
 * connects are joined: left side by matching over the e-graph, right side by looking
 * its e-nodes up. Each component that is left costs one new rule, between its most
 * general e-node and the class's; the rule is checked on fresh points before it is
 * accepted. Classes come in the order of generality (few constants, few repeated
 * variables), so that general rules are there first. A backward pass then drops rules,
 * the least general first, that the others explain.
 *
 * A variable matches any value, but one that stands for a broadcast operand (rank 0 or
 * a dimension of 1) only values with ones at the same axes: such a law may hold just
 * because of the broadcast.
 *
 * Not complete: intermediate terms larger than the universe are not seen, and a match
 * is given up after MAX_STEPS; both leave a rule too many, never one too few.
 */
#include "generator/prune.h"

#include <stdlib.h>

#define MAX_PATTERN     NOE_PAIR_MAX_NODES
#define MAX_STEPS       3000
#define MAX_CLASS       20000 /* e-nodes of one class that are looked at */
#define EAGER_CLASS     64    /* up to here rules are tried on old e-nodes, too */
#define RECHECK         16    /* rounds: a one-element tensor has one sign a round */
#define NOTHING         UINT32_MAX
#define MAX_DERIVED     800 /* the largest gains */
#define MAX_CONSTANTS   1   /* on one side of a pair, up to this level: */
#define CONSTANTS_LEVEL 2
#define MAX_REPEATS     2 /* uses of variables beyond the first, both sides together */

typedef enum pattern_kind { PATTERN_VAR, PATTERN_CONSTANT, PATTERN_OP } pattern_kind;

typedef struct pattern {
    pattern_kind kind;
    uint32_t value; /* of a constant; number of a variable */
    uint16_t move;
    int a, b;
} pattern;

typedef struct rule {
    pattern p[MAX_PATTERN];
    int n;
    int side[2]; /* roots: left, right */
    uint32_t vars[2];
    noe_shape shape[NOE_PAIR_MAX_VARS];
    noe_pair pair;
    uint32_t left, right; /* e-nodes; right NOTHING: the leaf of the class */
    int level;
    uint32_t key;
} rule;

/* A rule in one direction, listed at the root move of its left side. */
typedef struct directed {
    uint32_t rule;
    int from;
} directed;

typedef struct pruner {
    const noe_universe *u;
    rule **rules;
    uint32_t n_rules, cap_rules;
    struct list {
        directed *d;
        uint32_t n, cap;
    } by_move[NOE_SPACE_MAX_MOVES];
    uint32_t *parent; /* union-find over e-nodes; the last entry is the leaf itself */
    uint32_t self;
    int level;
    uint32_t members[MAX_CLASS];
    uint32_t n_members;
    uint32_t base;
    /* the match in progress */
    const rule *r;
    int to;
    uint32_t root;
    uint32_t cut;
    uint32_t bound[NOE_PAIR_MAX_VARS];
    int steps;
    noe_prune_stats *stats;
    noe_pair *pairs;
    int n_pairs, cap_pairs;
} pruner;

static uint32_t find(pruner *p, uint32_t x)
{
    while (p->parent[x] != x) {
        p->parent[x] = p->parent[p->parent[x]];
        x = p->parent[x];
    }
    return x;
}

static void join(pruner *p, uint32_t x, uint32_t y)
{
    p->parent[find(p, x)] = find(p, y);
}

/* Small is general: constants weigh most, then variables that occur again. */
static uint32_t key_of(const noe_enode *e)
{
    uint32_t n_var_leaves = (uint32_t)(e->n_leaves - e->n_constants);
    uint32_t repeats = n_var_leaves > e->n_vars ? n_var_leaves - e->n_vars : 0;
    return e->n_constants * 64u + repeats * 8u;
}

/* Whether e-node x is a better representative than y. */
static bool is_better(const pruner *p, uint32_t x, uint32_t y, bool by_level)
{
    const noe_enode *a = &p->u->enodes[x], *b = &p->u->enodes[y];
    if (by_level && a->level != b->level)
        return a->level < b->level;
    if (key_of(a) != key_of(b))
        return key_of(a) < key_of(b);
    if (a->is_canonical != b->is_canonical)
        return a->is_canonical;
    return x < y;
}

/* Rules from pairs */

static uint32_t key_of_pair(const noe_pair *pair, const uint32_t *vars)
{
    uint32_t n_constants[2], n_uses[2];
    noe_pair_count_leaves(pair, n_constants, n_uses);
    uint32_t n_vars =
        (uint32_t)__builtin_popcount(vars[0]) + (uint32_t)__builtin_popcount(vars[1]);
    return (n_constants[0] + n_constants[1]) * 64u +
           (n_uses[0] + n_uses[1] - n_vars) * 8u;
}

static void fill_patterns(const noe_pair *pair, rule *r)
{
    r->n = pair->n_nodes;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *node = &pair->nodes[i];
        r->p[i] = (pattern){.value = node->value, .a = -1, .b = -1};
        if (node->is_var) {
            r->p[i].kind = PATTERN_VAR;
            r->p[i].value = (uint32_t)node->var;
        } else if (node->n_in == 0) {
            r->p[i].kind = PATTERN_CONSTANT;
        } else {
            r->p[i].kind = PATTERN_OP;
            r->p[i].move = (uint16_t)node->move;
            r->p[i].a = node->in[0];
            if (node->n_in == 2)
                r->p[i].b = node->in[1];
        }
    }
    r->side[0] = pair->lhs[0];
    r->side[1] = pair->rhs[0];
    for (int i = 0; i < pair->n_vars; i++)
        r->shape[i] = pair->vars[i].shape;
    noe_pair_variables(pair, r->vars);
    r->key = key_of_pair(pair, r->vars);
}

static void list_rule(pruner *p, uint32_t id, int from)
{
    const rule *r = p->rules[id];
    const pattern *root = &r->p[r->side[from]];
    if (root->kind != PATTERN_OP || (r->vars[!from] & ~r->vars[from]))
        return;
    struct list *list = &p->by_move[root->move];
    directed d = {id, from};
    NOE_PUSH(list->d, list->n, list->cap, d);
}

static void add_rule(pruner *p, const noe_pair *pair, uint32_t left, uint32_t right)
{
    rule *r = noe_calloc(1, sizeof *r);
    *r = (rule){.left = left, .right = right, .pair = *pair, .level = p->level};
    fill_patterns(pair, r);
    uint32_t id = p->n_rules;
    NOE_PUSH(p->rules, p->n_rules, p->cap_rules, r);
    list_rule(p, id, 0);
    list_rule(p, id, 1);
}

/* Matching */

bool noe_may_stand_for(const noe_shape *s, const noe_shape *l)
{
    bool is_broadcast = l->rank == 0;
    for (int i = 0; i < l->rank; i++)
        is_broadcast = is_broadcast || l->dim[i] == 1;
    if (!is_broadcast)
        return true;
    if (s->rank != l->rank)
        return false;
    for (int i = 0; i < l->rank; i++) {
        if ((s->dim[i] == 1) != (l->dim[i] == 1))
            return false;
    }
    return true;
}

static bool may_stand_for(const noe_universe *u, uint32_t value, const noe_shape *l)
{
    return noe_may_stand_for(&u->shapes[u->classes[value].shape], l);
}

/* Ones are ones in every shape; so are zeros. */
static bool is_same_constant(const noe_universe *u, uint32_t a, uint32_t b)
{
    return a == b || (u->classes[a].fixed != NOE_FIXED_NONE &&
                      u->classes[a].fixed == u->classes[b].fixed);
}

static uint32_t look_up(const pruner *p, uint32_t move, uint32_t a, uint32_t b)
{
    const noe_move *m = &p->u->space->moves[move];
    if (noe_op_has(m->op, NOE_TRAIT_COMMUTATIVE) && b < a)
        return noe_universe_find(p->u, move, b, a);
    return noe_universe_find(p->u, move, a, b);
}

/* The e-node of a cut of value a: the cut of the left side first, then any. */
static uint32_t look_up_cut(const pruner *p, uint32_t move, uint32_t a)
{
    uint32_t e = p->cut ? noe_universe_find(p->u, move, a, p->cut) : NOTHING;
    for (uint32_t cut = 1; e == NOTHING && cut < 32; cut++)
        e = noe_universe_find(p->u, move, a, cut);
    return e;
}

static uint32_t value_of_pattern(const pruner *p, int i);

/* The e-node that pattern node i (an operator) stands for under the match, or NOTHING.
 */
static uint32_t enode_of_pattern(const pruner *p, int i)
{
    const pattern *n = &p->r->p[i];
    uint32_t a = value_of_pattern(p, n->a), b = NOE_NO_OPERAND;
    if (a == NOTHING)
        return NOTHING;
    if (p->u->space->moves[n->move].kind != NOE_MOVE_PLAIN)
        return look_up_cut(p, n->move, a);
    if (n->b >= 0) {
        b = value_of_pattern(p, n->b);
        if (b == NOTHING)
            return NOTHING;
    }
    return look_up(p, n->move, a, b);
}

static uint32_t value_of_pattern(const pruner *p, int i)
{
    const pattern *n = &p->r->p[i];
    if (n->kind == PATTERN_VAR)
        return p->bound[n->value];
    if (n->kind == PATTERN_CONSTANT)
        return n->value;
    /* An inner term of this level would stand for its class by an equality that is yet
     * to be explained, maybe the very one in question. */
    uint32_t e = enode_of_pattern(p, i);
    if (e == NOTHING || p->u->enodes[e].level >= p->level)
        return NOTHING;
    return p->u->enodes[e].value;
}

static void join_root(pruner *p, uint32_t e)
{
    if (e != NOTHING && p->u->enodes[e].value == p->u->enodes[p->root].value &&
        p->u->enodes[e].level <= p->level)
        join(p, e, p->root);
}

static void finish_match(pruner *p)
{
    const pattern *n = &p->r->p[p->to];
    uint32_t value = p->u->enodes[p->root].value;
    if (n->kind != PATTERN_OP) {
        /* A bare leaf: the class itself. */
        uint32_t leaf = value_of_pattern(p, p->to);
        if (leaf != NOTHING && is_same_constant(p->u, leaf, value))
            join(p, p->root, p->self);
        return;
    }
    if (p->u->space->moves[n->move].kind == NOE_MOVE_PLAIN) {
        join_root(p, enode_of_pattern(p, p->to));
        return;
    }
    uint32_t a = value_of_pattern(p, n->a);
    for (uint32_t cut = 1; a != NOTHING && cut < 32; cut++)
        join_root(p, noe_universe_find(p->u, n->move, a, cut));
}

/* Pattern nodes still to be matched, each with the value it must have. */
typedef struct todo {
    int pattern;
    uint32_t value;
    const struct todo *next;
} todo;

static void match(pruner *p, const todo *t);

/* Matches operator pattern `n` at e-node e, then the rest. */
static void match_enode(pruner *p, const pattern *n, uint32_t e, const todo *rest)
{
    const noe_enode *x = &p->u->enodes[e];
    const noe_move *m = &p->u->space->moves[n->move];
    uint32_t old_cut = p->cut;
    if (m->kind != NOE_MOVE_PLAIN)
        p->cut = x->b;
    if (n->b < 0) {
        match(p, &(todo){n->a, x->a, rest});
    } else {
        todo b = {n->b, x->b, rest};
        match(p, &(todo){n->a, x->a, &b});
        if (noe_op_has(m->op, NOE_TRAIT_COMMUTATIVE) && x->a != x->b) {
            b.value = x->a;
            match(p, &(todo){n->a, x->b, &b});
        }
    }
    p->cut = old_cut;
}

/* Depth is bounded by MAX_PATTERN. */
static void match(pruner *p, const todo *t)
{
    if (p->steps > MAX_STEPS)
        return;
    if (++p->steps > MAX_STEPS)
        p->stats->n_cut++;
    if (!t) {
        finish_match(p);
        return;
    }
    const pattern *n = &p->r->p[t->pattern];
    if (n->kind == PATTERN_CONSTANT) {
        if (is_same_constant(p->u, n->value, t->value))
            match(p, t->next);
        return;
    }
    if (n->kind == PATTERN_VAR) {
        uint32_t *bound = &p->bound[n->value];
        if (*bound == t->value) {
            match(p, t->next);
        } else if (*bound == NOTHING &&
                   may_stand_for(p->u, t->value, &p->r->shape[n->value])) {
            *bound = t->value;
            match(p, t->next);
            *bound = NOTHING;
        }
        return;
    }
    for (uint32_t e = p->u->classes[t->value].first; e; e = p->u->enodes[e - 1].next) {
        const noe_enode *x = &p->u->enodes[e - 1];
        if (x->level >= p->level)
            break; /* e-nodes of a class are in order of level */
        if (x->move == n->move)
            match_enode(p, n, e - 1, t->next);
    }
}

static void apply_rule(pruner *p, const directed *d, uint32_t e)
{
    p->r = p->rules[d->rule];
    p->to = p->r->side[!d->from];
    p->root = e;
    p->cut = 0;
    p->steps = 0;
    memset(p->bound, 0xFF, sizeof p->bound);
    match_enode(p, &p->r->p[p->r->side[d->from]], e, NULL);
}

/* Joins e with whatever rules from number `first` on connect it to, until it is joined
 * with the base of the class. */
static void apply_rules(pruner *p, uint32_t e, uint32_t first)
{
    const struct list *list = &p->by_move[p->u->enodes[e].move];
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->d[i].rule < first)
            continue;
        if (find(p, e) == find(p, p->base))
            return;
        apply_rule(p, &list->d[i], e);
    }
}

/* Classes */

/* Whether a class has a name of its own, beside its e-nodes: a leaf, zeros or ones. */
static bool stands_alone(const noe_universe *u, uint32_t value)
{
    return noe_universe_is_leaf(u, value) ||
           u->classes[value].fixed == NOE_FIXED_ZEROS ||
           u->classes[value].fixed == NOE_FIXED_ONES;
}

static void load_class(pruner *p, uint32_t value)
{
    const noe_universe *u = p->u;
    p->n_members = 0;
    p->parent[p->self] = p->self;
    for (uint32_t e = u->classes[value].first; e; e = u->enodes[e - 1].next) {
        p->parent[e - 1] = e - 1;
        if (u->enodes[e - 1].level <= p->level && p->n_members < MAX_CLASS)
            p->members[p->n_members++] = e - 1;
    }
}

/* What is known at the start: all e-nodes below this level are equal. */
static void join_lower(pruner *p, uint32_t value)
{
    uint32_t low = stands_alone(p->u, value) ? p->self : NOTHING;
    for (uint32_t i = 0; i < p->n_members; i++) {
        if (p->u->enodes[p->members[i]].level == p->level)
            continue;
        if (low == NOTHING)
            low = p->members[i];
        join(p, p->members[i], low);
    }
    if (low != NOTHING && low != p->self)
        join(p, p->self, low);
}

static void choose_base(pruner *p, uint32_t value)
{
    if (stands_alone(p->u, value)) {
        p->base = p->self;
        return;
    }
    p->base = p->members[0];
    for (uint32_t i = 1; i < p->n_members; i++) {
        if (is_better(p, p->members[i], p->base, true))
            p->base = p->members[i];
    }
}

static void apply_to_class(pruner *p, uint32_t first_rule)
{
    for (uint32_t i = 0; i < p->n_members; i++) {
        uint32_t e = p->members[i];
        if (p->u->enodes[e].level == p->level || p->n_members < EAGER_CLASS)
            apply_rules(p, e, first_rule);
    }
}

/* Best e-node that nothing connects to the base yet, or NOTHING. */
static uint32_t choose_unexplained(pruner *p)
{
    uint32_t best = NOTHING, base = find(p, p->base);
    for (uint32_t i = 0; i < p->n_members; i++) {
        uint32_t e = p->members[i];
        if (find(p, e) != base && (best == NOTHING || is_better(p, e, best, false)))
            best = e;
    }
    return best;
}

static void push_pair(pruner *p, const noe_pair *pair)
{
    NOE_PUSH(p->pairs, p->n_pairs, p->cap_pairs, *pair);
}

/* One side's variables contain the other's. */
static bool is_directed(const noe_pair *pair)
{
    uint32_t vars[2];
    noe_pair_variables(pair, vars);
    return !(vars[0] & ~vars[1]) || !(vars[1] & ~vars[0]);
}

/* Too special to be worth a rule: a side with several constants, or the same variables
 * again and again. Such facts are nearly always consequences of general ones by way of
 * terms that are larger than the universe. */
static bool is_special(const noe_pair *pair)
{
    uint32_t vars[2], n_constants[2], n_uses[2];
    noe_pair_variables(pair, vars);
    noe_pair_count_leaves(pair, n_constants, n_uses);
    uint32_t n_vars =
        (uint32_t)__builtin_popcount(vars[0]) + (uint32_t)__builtin_popcount(vars[1]);
    uint32_t max_constants = pair->level <= CONSTANTS_LEVEL ? MAX_CONSTANTS : 0;
    return n_constants[0] > max_constants || n_constants[1] > max_constants ||
           n_uses[0] + n_uses[1] - n_vars > MAX_REPEATS;
}

static void explain_class(pruner *p, uint32_t value)
{
    load_class(p, value);
    join_lower(p, value);
    choose_base(p, value);
    apply_to_class(p, 0);
    for (;;) {
        uint32_t e = choose_unexplained(p);
        if (e == NOTHING)
            return;
        uint32_t right = p->base == p->self ? NOTHING : p->base;
        noe_pair pair;
        join(p, e, p->base);
        if (!noe_pair_make(p->u, e, right, &pair)) {
            p->stats->n_too_large++;
            continue;
        }
        if (!noe_pair_holds(&pair, p->u->env->seed, RECHECK)) {
            p->stats->n_false++;
            continue;
        }
        noe_pair_generalize(&pair, p->u->env->seed);
        if (!is_directed(&pair)) {
            p->stats->n_undirected++;
            continue;
        }
        if (is_special(&pair)) {
            p->stats->n_special++;
            continue;
        }
        add_rule(p, &pair, e, right);
        p->stats->n_accepted++;
        apply_to_class(p, p->n_rules - 1);
    }
}

typedef struct ordered {
    uint32_t id, key;
} ordered;

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* A class has something to explain at this level if a new e-node joined others and one
 * of its new e-nodes is canonical. Its key is that of its second-best e-node (of the
 * best one, beside a leaf): the pair that explains it is no more general. */
static bool class_key(const pruner *p, uint32_t value, uint32_t *key)
{
    const noe_universe *u = p->u;
    uint32_t n = 0, best = NOTHING, second = NOTHING;
    bool is_new = false;
    for (uint32_t e = u->classes[value].first; e; e = u->enodes[e - 1].next) {
        const noe_enode *x = &u->enodes[e - 1];
        if (x->level > p->level)
            break;
        uint32_t k = key_of(x);
        n++;
        is_new = is_new || (x->level == p->level && x->is_canonical);
        second = k < best ? best : k < second ? k : second;
        best = k < best ? k : best;
    }
    bool is_leaf = stands_alone(u, value);
    *key = is_leaf ? best : second;
    return is_new && n + is_leaf >= 2;
}

static noe_status explain_level(pruner *p, int level, noe_error *err)
{
    ordered *classes = NULL;
    uint32_t n = 0, cap = 0;
    noe_status status = NOE_OK;
    p->level = level;
    for (uint32_t c = 0; c < p->u->n_classes; c++) {
        ordered o = {c, 0};
        if (p->u->classes[c].fixed != NOE_FIXED_OTHER && class_key(p, c, &o.key))
            NOE_PUSH(classes, n, cap, o);
    }
    if (n)
        qsort(classes, n, sizeof *classes, compare_ordered);
    p->stats->n_classes += n;
    for (uint32_t i = 0; i < n && status == NOE_OK; i++) {
        explain_class(p, classes[i].id);
        if (i % 256 == 0)
            noe_progress(p->u->env, "%s: level %d, pruning %u of %u, %u rules",
                         p->u->space->name, level, i, n, p->n_rules);
        if (noe_cancelled(p->u->env))
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted while pruning");
    }
    free(classes);
    return status;
}

static void emit_rules(pruner *p)
{
    for (uint32_t i = 0; i < p->n_rules; i++)
        push_pair(p, &p->rules[i]->pair);
}

static int cost_of(const noe_enode *e)
{
    return (NOE_HEAVY_COST - 1) * e->n_heavy + e->n_runtime;
}

/* The cheapest e-node of e's class that has the same variables as often. */
static uint32_t find_cheaper(const noe_universe *u, uint32_t e)
{
    const noe_enode *x = &u->enodes[e];
    uint32_t best = e;
    for (uint32_t f = u->classes[x->value].first; f; f = u->enodes[f - 1].next) {
        const noe_enode *y = &u->enodes[f - 1];
        if (cost_of(y) < cost_of(&u->enodes[best]) && y->n_constants == 0 &&
            y->n_vars == x->n_vars)
            best = f - 1;
    }
    return best;
}

typedef struct gain {
    uint32_t from, to; /* e-nodes */
    int gain;
} gain;

static int compare_gains(const void *a, const void *b)
{
    const gain *x = a, *y = b;
    if (x->gain != y->gain)
        return y->gain - x->gain;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Explained classes in which a general e-node costs more than another one. */
static void collect_gains(const noe_universe *u, gain **gains, uint32_t *n)
{
    uint32_t cap = 0;
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        if (!x->is_canonical || key_of(x) != 0 || x->n_runtime == 0 ||
            stands_alone(u, x->value))
            continue;
        const noe_enode *first = &u->enodes[u->classes[x->value].first - 1];
        if (first->n_vars != x->n_vars)
            continue; /* some variable does not matter */
        uint32_t best = find_cheaper(u, e);
        gain g = {e, best, cost_of(x) - cost_of(&u->enodes[best])};
        if (best != e)
            NOE_PUSH(*gains, *n, cap, g);
    }
    if (*n)
        qsort(*gains, *n, sizeof **gains, compare_gains);
}

static void emit_derived(pruner *p)
{
    const noe_universe *u = p->u;
    gain *gains = NULL;
    uint32_t n = 0, n_kept = 0;
    collect_gains(u, &gains, &n);
    for (uint32_t i = 0; i < n && n_kept < MAX_DERIVED; i++) {
        noe_pair pair;
        if (!noe_pair_make(u, gains[i].from, gains[i].to, &pair) ||
            !noe_pair_is_useful(&pair) || !noe_pair_holds(&pair, u->env->seed, RECHECK))
            continue;
        noe_pair_generalize(&pair, u->env->seed);
        pair.kind = NOE_PAIR_DERIVED;
        push_pair(p, &pair);
        n_kept++;
    }
    free(gains);
    p->stats->n_derived += n_kept;
}

/* Two siblings that one heavy operator over joined operands computes at once. */
static void emit_siblings(pruner *p)
{
    const noe_universe *u = p->u;
    for (uint32_t i = 0; i < u->n_siblings; i++) {
        const noe_sibling *s = &u->siblings[i];
        const noe_enode *low = &u->enodes[s->low];
        const noe_gen_class *a = &u->classes[s->low_value];
        const noe_gen_class *b = &u->classes[s->high_value];
        if (!low->is_canonical || key_of(low) || a->n_constants || b->n_constants ||
            low->n_heavy >= a->n_heavy + b->n_heavy)
            continue;
        noe_pair pair;
        if (!noe_pair_make_sibling(u, s, &pair) ||
            !noe_pair_holds(&pair, u->env->seed, RECHECK))
            continue;
        push_pair(p, &pair);
        p->stats->n_siblings++;
    }
}

static void free_pruner(pruner *p)
{
    for (int i = 0; i < NOE_SPACE_MAX_MOVES; i++)
        free(p->by_move[i].d);
    for (uint32_t i = 0; i < p->n_rules; i++)
        free(p->rules[i]);
    free(p->rules);
    free(p->parent);
    free(p);
}

noe_status noe_universe_prune(const noe_universe *u, noe_pair **pairs, int *n_pairs,
                              noe_prune_stats *stats, noe_error *err)
{
    double start = noe_cpu_seconds();
    pruner *p = noe_calloc(1, sizeof *p);
    noe_status status = NOE_OK;
    *stats = (noe_prune_stats){0};
    p->u = u;
    p->stats = stats;
    p->self = u->n_enodes;
    p->parent = noe_malloc((u->n_enodes + 1) * sizeof *p->parent);
    for (int level = 1; level <= u->n_levels && status == NOE_OK; level++)
        status = explain_level(p, level, err);
    if (status == NOE_OK) {
        emit_rules(p);
        emit_derived(p);
        emit_siblings(p);
    }
    *pairs = p->pairs;
    *n_pairs = p->n_pairs;
    free_pruner(p);
    stats->cpu_seconds = noe_cpu_seconds() - start;
    return status;
}
