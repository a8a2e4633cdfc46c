/* SPDX-License-Identifier: Apache-2.0
 *
 * A variable matches any value, but one that stands for a broadcast operand (rank 0 or
 * a dimension of 1) only values with ones at the same axes: such a law may hold just
 * because of the broadcast.
 *
 * Laws are listed by the move at the root; before one is tried, the moves that it needs
 * right below are compared with a set of those that the operands' classes have (a bit
 * for each move modulo 64, which may say yes for nothing, never no).
 *
 * Not complete: a match is given up after MAX_STEPS; that leaves a pair too many, never
 * one too few.
 */
#include "generator/explain.h"

#include "generator/prune.h"
#include <stdlib.h>

#define MAX_PATTERN NOE_PAIR_MAX_NODES
#define MAX_STEPS   3000
#define EAGER_CLASS 64 /* up to here laws are tried on old e-nodes, too */
#define NOTHING     NOE_NO_OPERAND

typedef enum pattern_kind { PATTERN_VAR, PATTERN_CONSTANT, PATTERN_OP } pattern_kind;

typedef struct pattern {
    pattern_kind kind;
    uint32_t value; /* of a constant; number of a variable */
    uint16_t move;
    int n_in, in[NOE_SPACE_MAX_IN];
} pattern;

typedef struct law {
    pattern p[MAX_PATTERN];
    int side[2]; /* roots: left, right */
    uint32_t vars[2];
    noe_shape shape[NOE_PAIR_MAX_VARS];
} law;

/* A law in one direction, listed at the root move of the side that is matched. */
typedef struct directed {
    const law *law;
    uint32_t number;
    int from;
    uint64_t need[NOE_SPACE_MAX_IN]; /* moves that the operands' classes must have */
} directed;

struct noe_laws {
    const noe_universe *u;
    law **laws;
    uint32_t n, cap;
    struct list {
        directed *d;
        uint32_t n, cap;
    } by_move[NOE_SPACE_MAX_MOVES];
    uint64_t *moves; /* of each value that can be an operand */
    int level;
};

struct noe_explainer {
    const noe_laws *laws;
    const noe_universe *u;
    uint32_t *parent;
    uint32_t self_parent; /* of the class itself, which is number u->n_enodes */
    uint32_t self, value, base;
    int level;
    uint32_t *members;
    uint32_t n_members, cap_members;
    uint64_t n_cut;
    /* the match in progress */
    const law *r;
    int to;
    uint32_t root;
    uint32_t cut;
    uint32_t bound[NOE_PAIR_MAX_VARS];
    int steps;
};

static uint32_t *parent_of(noe_explainer *p, uint32_t x)
{
    return x == p->self ? &p->self_parent : &p->parent[x];
}

static uint32_t find(noe_explainer *p, uint32_t x)
{
    for (;;) {
        uint32_t *up = parent_of(p, x);
        if (*up == x)
            return x;
        *up = *parent_of(p, *up);
        x = *up;
    }
}

static void join(noe_explainer *p, uint32_t x, uint32_t y)
{
    *parent_of(p, find(p, x)) = find(p, y);
}

uint32_t noe_enode_repeats(const noe_enode *e)
{
    uint32_t n_var_leaves = (uint32_t)(e->n_leaves - e->n_constants);
    return n_var_leaves > e->n_vars ? n_var_leaves - e->n_vars : 0;
}

uint32_t noe_enode_key(const noe_enode *e)
{
    return e->n_constants * 64u + noe_enode_repeats(e) * 8u;
}

/* Whether e-node x is a better representative than y. */
static bool is_better(const noe_explainer *p, uint32_t x, uint32_t y, bool by_level)
{
    const noe_enode *a = &p->u->enodes[x], *b = &p->u->enodes[y];
    if (by_level && a->level != b->level)
        return a->level < b->level;
    if (noe_enode_key(a) != noe_enode_key(b))
        return noe_enode_key(a) < noe_enode_key(b);
    if (a->is_canonical != b->is_canonical)
        return a->is_canonical;
    return x < y;
}

/* Laws */

static void fill_law(const noe_pair *pair, law *r)
{
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *node = &pair->nodes[i];
        r->p[i] = (pattern){.value = node->value, .n_in = node->n_in};
        memcpy(r->p[i].in, node->in, sizeof r->p[i].in);
        if (node->is_var) {
            r->p[i].kind = PATTERN_VAR;
            r->p[i].value = (uint32_t)node->var;
        } else if (node->n_in == 0) {
            r->p[i].kind = PATTERN_CONSTANT;
        } else {
            r->p[i].kind = PATTERN_OP;
            r->p[i].move = (uint16_t)node->move;
        }
    }
    r->side[0] = pair->lhs[0];
    r->side[1] = pair->rhs[0];
    for (int i = 0; i < pair->n_vars; i++)
        r->shape[i] = pair->vars[i].shape;
    noe_pair_variables(pair, r->vars);
}

static uint64_t move_bit(uint32_t move)
{
    return UINT64_C(1) << move % 64;
}

static uint64_t need_of(const law *r, int i)
{
    return r->p[i].kind == PATTERN_OP ? move_bit(r->p[i].move) : 0;
}

static void list_law(noe_laws *l, const law *r, uint32_t number, int from)
{
    const pattern *root = &r->p[r->side[from]];
    if (root->kind != PATTERN_OP || (r->vars[!from] & ~r->vars[from]))
        return;
    struct list *list = &l->by_move[root->move];
    directed d = {.law = r, .number = number, .from = from};
    for (int k = 0; k < root->n_in; k++)
        d.need[k] = need_of(r, root->in[k]);
    NOE_PUSH(list->d, list->n, list->cap, d);
}

noe_laws *noe_laws_new(const noe_universe *u)
{
    noe_laws *l = noe_calloc(1, sizeof *l);
    l->u = u;
    l->moves = noe_calloc((size_t)u->n_values + 1, sizeof *l->moves);
    return l;
}

void noe_laws_free(noe_laws *l)
{
    if (!l)
        return;
    for (int i = 0; i < NOE_SPACE_MAX_MOVES; i++)
        free(l->by_move[i].d);
    for (uint32_t i = 0; i < l->n; i++)
        free(l->laws[i]);
    free(l->laws);
    free(l->moves);
    free(l);
}

void noe_laws_add(noe_laws *l, const noe_pair *pair)
{
    law *r = noe_calloc(1, sizeof *r);
    uint32_t number = l->n;
    fill_law(pair, r);
    NOE_PUSH(l->laws, l->n, l->cap, r);
    list_law(l, r, number, 0);
    list_law(l, r, number, 1);
}

uint32_t noe_laws_count(const noe_laws *l)
{
    return l->n;
}

void noe_laws_set_level(noe_laws *l, int level)
{
    const noe_universe *u = l->u;
    l->level = level;
    for (uint32_t v = 0; v < u->n_values; v++) {
        l->moves[v] = 0;
        for (uint32_t e = u->classes[v].first; e; e = u->enodes[e - 1].next) {
            if (u->enodes[e - 1].level < level)
                l->moves[v] |= move_bit(u->enodes[e - 1].move);
        }
    }
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

static uint32_t look_up(const noe_explainer *p, uint32_t move, const uint32_t *in)
{
    const noe_move *m = &p->u->space->moves[move];
    if (noe_op_has(m->op, NOE_TRAIT_COMMUTATIVE) && in[1] < in[0])
        return noe_universe_find(p->u, move, in[1], in[0], in[2]);
    return noe_universe_find(p->u, move, in[0], in[1], in[2]);
}

/* The e-node of a cut of value a: the cut of the left side first, then any. */
static uint32_t look_up_cut(const noe_explainer *p, uint32_t move, uint32_t a)
{
    uint32_t e = p->cut ? noe_universe_find(p->u, move, a, p->cut, 0) : NOTHING;
    for (uint32_t cut = 1; e == NOTHING && cut < 32; cut++)
        e = noe_universe_find(p->u, move, a, cut, 0);
    return e;
}

static uint32_t value_of_pattern(const noe_explainer *p, int i);

/* The e-node that pattern node i (an operator) stands for under the match, or NOTHING.
 */
static uint32_t enode_of_pattern(const noe_explainer *p, int i)
{
    const pattern *n = &p->r->p[i];
    uint32_t in[NOE_SPACE_MAX_IN] = {0, NOE_NO_OPERAND, 0};
    for (int k = 0; k < n->n_in; k++) {
        in[k] = value_of_pattern(p, n->in[k]);
        if (in[k] == NOTHING)
            return NOTHING;
    }
    if (p->u->space->moves[n->move].kind != NOE_MOVE_PLAIN)
        return look_up_cut(p, n->move, in[0]);
    return look_up(p, n->move, in);
}

static uint32_t value_of_pattern(const noe_explainer *p, int i)
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

static void join_root(noe_explainer *p, uint32_t e)
{
    if (e != NOTHING && p->u->enodes[e].value == p->u->enodes[p->root].value &&
        p->u->enodes[e].level <= p->level)
        join(p, e, p->root);
}

static void finish_match(noe_explainer *p)
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
    uint32_t a = value_of_pattern(p, n->in[0]);
    for (uint32_t cut = 1; a != NOTHING && cut < 32; cut++)
        join_root(p, noe_universe_find(p->u, n->move, a, cut, 0));
}

/* Pattern nodes still to be matched, each with the value it must have. */
typedef struct todo {
    int pattern;
    uint32_t value;
    const struct todo *next;
} todo;

static void match(noe_explainer *p, const todo *t);

/* Matches operator pattern `n` at e-node e, then the rest. */
static void match_enode(noe_explainer *p, const pattern *n, uint32_t e,
                        const todo *rest)
{
    const noe_enode *x = &p->u->enodes[e];
    const noe_move *m = &p->u->space->moves[n->move];
    uint32_t old_cut = p->cut;
    if (m->kind != NOE_MOVE_PLAIN)
        p->cut = x->b;
    if (n->n_in == 1) {
        match(p, &(todo){n->in[0], x->a, rest});
    } else {
        todo c = {n->in[2], x->c, rest}, b = {n->in[1], x->b, n->n_in > 2 ? &c : rest};
        match(p, &(todo){n->in[0], x->a, &b});
        if (noe_op_has(m->op, NOE_TRAIT_COMMUTATIVE) && x->a != x->b) {
            b.value = x->a;
            match(p, &(todo){n->in[0], x->b, &b});
        }
    }
    p->cut = old_cut;
}

/* Depth is bounded by MAX_PATTERN. */
static void match(noe_explainer *p, const todo *t)
{
    if (p->steps > MAX_STEPS)
        return;
    if (++p->steps > MAX_STEPS)
        p->n_cut++;
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
    if (!(p->laws->moves[t->value] & move_bit(n->move)))
        return;
    for (uint32_t e = p->u->classes[t->value].first; e; e = p->u->enodes[e - 1].next) {
        const noe_enode *x = &p->u->enodes[e - 1];
        if (x->level >= p->level)
            break; /* e-nodes of a class are in order of level */
        if (x->move == n->move)
            match_enode(p, n, e - 1, t->next);
    }
}

static void apply_law(noe_explainer *p, const directed *d, uint32_t e)
{
    p->r = d->law;
    p->to = p->r->side[!d->from];
    p->root = e;
    p->cut = 0;
    p->steps = 0;
    memset(p->bound, 0xFF, sizeof p->bound);
    match_enode(p, &p->r->p[p->r->side[d->from]], e, NULL);
}

/* Whether the operands' classes have what the law needs right below its root. */
static bool may_match(const noe_explainer *p, const directed *d, const noe_enode *e)
{
    const noe_move *m = &p->u->space->moves[e->move];
    uint64_t a = p->laws->moves[e->a];
    if (m->n_in == 1)
        return !(d->need[0] & ~a);
    uint64_t b = p->laws->moves[e->b];
    if (m->n_in > 2 && d->need[2] & ~p->laws->moves[e->c])
        return false;
    return (!(d->need[0] & ~a) && !(d->need[1] & ~b)) ||
           (noe_op_has(m->op, NOE_TRAIT_COMMUTATIVE) && !(d->need[0] & ~b) &&
            !(d->need[1] & ~a));
}

/* Joins e with whatever laws from number `first` on connect it to, until it is joined
 * with the base of the class. */
static void apply_laws(noe_explainer *p, uint32_t e, uint32_t first)
{
    const noe_enode *x = &p->u->enodes[e];
    const struct list *list = &p->laws->by_move[x->move];
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->d[i].number < first || !may_match(p, &list->d[i], x))
            continue;
        if (find(p, e) == find(p, p->base))
            return;
        apply_law(p, &list->d[i], e);
    }
}

/* Classes */

bool noe_class_stands_alone(const noe_universe *u, uint32_t value)
{
    return noe_universe_is_leaf(u, value) ||
           u->classes[value].fixed == NOE_FIXED_ZEROS ||
           u->classes[value].fixed == NOE_FIXED_ONES;
}

static void load_class(noe_explainer *p, uint32_t value)
{
    const noe_universe *u = p->u;
    p->n_members = 0;
    p->self_parent = p->self;
    for (uint32_t e = u->classes[value].first; e; e = u->enodes[e - 1].next) {
        p->parent[e - 1] = e - 1;
        if (u->enodes[e - 1].level <= p->level)
            NOE_PUSH(p->members, p->n_members, p->cap_members, e - 1);
    }
}

/* What is known at the start: all e-nodes below this level are equal. */
static void join_lower(noe_explainer *p, uint32_t value)
{
    uint32_t low = noe_class_stands_alone(p->u, value) ? p->self : NOTHING;
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

static void choose_base(noe_explainer *p, uint32_t value)
{
    if (noe_class_stands_alone(p->u, value)) {
        p->base = p->self;
        return;
    }
    p->base = p->members[0];
    for (uint32_t i = 1; i < p->n_members; i++) {
        if (is_better(p, p->members[i], p->base, true))
            p->base = p->members[i];
    }
}

noe_explainer *noe_explainer_new(const noe_laws *l, uint32_t *parent)
{
    noe_explainer *x = noe_calloc(1, sizeof *x);
    x->laws = l;
    x->u = l->u;
    x->parent = parent;
    x->self = l->u->n_enodes;
    return x;
}

void noe_explainer_free(noe_explainer *x)
{
    if (!x)
        return;
    free(x->members);
    free(x);
}

uint64_t noe_explainer_n_cut(const noe_explainer *x)
{
    return x->n_cut;
}

void noe_explain_more(noe_explainer *p, uint32_t first)
{
    for (uint32_t i = 0; i < p->n_members; i++) {
        uint32_t e = p->members[i];
        if (p->u->enodes[e].level == p->level || p->n_members < EAGER_CLASS)
            apply_laws(p, e, first);
    }
}

void noe_explain_class(noe_explainer *p, uint32_t value)
{
    p->level = p->laws->level;
    p->value = value;
    load_class(p, value);
    join_lower(p, value);
    choose_base(p, value);
    noe_explain_more(p, 0);
}

uint32_t noe_explain_open(noe_explainer *p)
{
    uint32_t best = NOTHING, base = find(p, p->base);
    for (uint32_t i = 0; i < p->n_members; i++) {
        uint32_t e = p->members[i];
        if (find(p, e) != base && (best == NOTHING || is_better(p, e, best, false)))
            best = e;
    }
    return best;
}

uint32_t noe_explain_base(const noe_explainer *x)
{
    return x->base == x->self ? NOTHING : x->base;
}

void noe_explain_join(noe_explainer *x, uint32_t e)
{
    join(x, e, x->base);
}

bool noe_explain_is_joined(noe_explainer *x, uint32_t e)
{
    return find(x, e) == find(x, x->base);
}
