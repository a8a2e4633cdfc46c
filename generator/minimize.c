/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs by rewriting, with terms that may be larger than the universe.
 *
 * prune.c sees only terms that were enumerated; most of what it cannot explain follows
 * by way of a term a little larger. Here a pair is proved by breadth-first search from
 * both of its sides, rewriting at every position with the other pairs in both
 * directions, until the two sets of terms meet. Terms are hash-consed in a bank that is
 * made anew for each proof; the terms one step away from a term are kept with it, so
 * that a subterm is rewritten once however often it occurs.
 *
 * A proof is a proof only where the rules used hold in the generality in which they are
 * used here, at other shapes than they were found at; variables that stand for
 * broadcast operands are restricted as in prune.c. Not found within MAX_TERMS means
 * kept.
 */
#include "generator/minimize.h"

#include "core/base/hash.h"
#include "generator/prune.h"
#include <stdlib.h>

#define MAX_TERMS    4000 /* of one proof */
#define EXTRA_SIZE   4    /* operators above the larger side */
#define MAX_TERM_OPS 24
#define N_SLOTS      16384 /* of the bank's table; more than twice MAX_TERMS */
#define NO_TERM      UINT32_MAX
#define VARIABLE     UINT32_MAX /* head of variables */

/* Operators with their parameters, interned. */
typedef struct head {
    noe_op op;
    noe_params params;
} head;

typedef struct pattern {
    uint32_t head; /* VARIABLE: variable number in[0] */
    uint32_t in[2];
    int n_in;
} pattern;

typedef struct rule {
    pattern p[NOE_PAIR_MAX_NODES];
    int side[2];
    bool usable[2]; /* from side 0, from side 1 */
    noe_shape shape[NOE_PAIR_MAX_VARS];
    uint32_t key;
    bool is_alive, is_kept;
} rule;

typedef struct term {
    uint32_t head, in[2];
    int n_in, n_ops;
    noe_shape shape;
    uint32_t *next; /* terms one step away, once known */
    uint32_t n_next, cap_next;
    bool is_expanded;
    uint8_t reached; /* bit per side */
} term;

typedef struct prover {
    const noe_env *env;
    head *heads;
    uint32_t n_heads, cap_heads;
    rule *rules;
    int n_rules;
    struct uses { /* by operator at the root of the side rewritten from */
        struct use {
            int rule, from;
        } * u;
        uint32_t n, cap;
    } by_op[NOE_OP_COUNT];
    term terms[MAX_TERMS];
    uint32_t n_terms;
    uint32_t slots[N_SLOTS];
    uint32_t queue[2][MAX_TERMS];
    int max_ops;
    bool is_full;
    uint32_t bound[NOE_PAIR_MAX_VARS];
    noe_minimize_stats *stats;
} prover;

static uint32_t intern_head(prover *p, noe_op op, const noe_params *params)
{
    for (uint32_t i = 0; i < p->n_heads; i++) {
        if (p->heads[i].op == op && noe_params_eq(&p->heads[i].params, params))
            return i;
    }
    head h = {op, *params};
    NOE_PUSH(p->heads, p->n_heads, p->cap_heads, h);
    return p->n_heads - 1;
}

/* The bank */

static void clear_bank(prover *p)
{
    for (uint32_t i = 0; i < p->n_terms; i++)
        free(p->terms[i].next);
    p->n_terms = 0;
    p->is_full = false;
    memset(p->slots, 0, sizeof p->slots);
}

static uint32_t add_term(prover *p, const term *t)
{
    uint64_t hash =
        noe_mix64(((uint64_t)t->in[0] << 32 | t->in[1]) + t->head * 977u + 1);
    uint32_t i = (uint32_t)hash % N_SLOTS;
    for (; p->slots[i]; i = (i + 1) % N_SLOTS) {
        const term *o = &p->terms[p->slots[i] - 1];
        if (o->head == t->head && o->in[0] == t->in[0] && o->in[1] == t->in[1] &&
            (t->head != VARIABLE || noe_shape_eq(&o->shape, &t->shape)))
            return p->slots[i] - 1;
    }
    if (p->n_terms == MAX_TERMS) {
        p->is_full = true;
        return NO_TERM;
    }
    p->terms[p->n_terms] = *t;
    p->slots[i] = ++p->n_terms;
    return p->n_terms - 1;
}

static uint32_t make_variable(prover *p, uint32_t var, const noe_shape *shape)
{
    term t = {.head = VARIABLE, .in = {var, 0}, .shape = *shape};
    return add_term(p, &t);
}

/* head(in...), or NO_TERM if it is not well-typed or too large. */
static uint32_t make_term(prover *p, uint32_t h, const uint32_t *in, int n_in)
{
    const head *x = &p->heads[h];
    term t = {.head = h, .n_in = n_in, .n_ops = n_in > 0};
    noe_type types[2], out;
    for (int i = 0; i < n_in; i++) {
        if (in[i] == NO_TERM)
            return NO_TERM;
        t.in[i] = in[i];
        t.n_ops += p->terms[in[i]].n_ops;
        types[i] = (noe_type){NOE_F32, p->terms[in[i]].shape};
    }
    if (t.n_ops > p->max_ops)
        return NO_TERM;
    if (n_in == 2 && t.in[1] < t.in[0] && noe_op_has(x->op, NOE_TRAIT_COMMUTATIVE)) {
        uint32_t swap = t.in[0];
        t.in[0] = t.in[1];
        t.in[1] = swap;
        noe_type type = types[0];
        types[0] = types[1];
        types[1] = type;
    }
    if (noe_op_infer(x->op, &x->params, types, n_in, &out, NULL) != NOE_OK ||
        noe_shape_elements(&out.shape) <= 0)
        return NO_TERM;
    t.shape = out.shape;
    return add_term(p, &t);
}

/* Rules */

static void fill_rule(prover *p, const noe_pair *pair, rule *r)
{
    uint32_t vars[2], n_constants[2], n_uses[2];
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        r->p[i] = (pattern){.head = VARIABLE, .n_in = n->n_in};
        if (n->is_var)
            r->p[i].in[0] = (uint32_t)n->var;
        else
            r->p[i].head = intern_head(p, n->op, &n->params);
        for (int k = 0; k < n->n_in; k++)
            r->p[i].in[k] = (uint32_t)n->in[k];
    }
    for (int i = 0; i < pair->n_vars; i++)
        r->shape[i] = pair->vars[i].shape;
    r->side[0] = pair->lhs[0];
    r->side[1] = pair->rhs[0];
    noe_pair_variables(pair, vars);
    noe_pair_count_leaves(pair, n_constants, n_uses);
    for (int from = 0; from < 2; from++)
        r->usable[from] = pair->kind == NOE_PAIR_AXIOM &&
                          !(vars[!from] & ~vars[from]) && r->p[r->side[from]].n_in > 0;
    uint32_t n_vars =
        (uint32_t)__builtin_popcount(vars[0]) + (uint32_t)__builtin_popcount(vars[1]);
    r->key =
        ((n_constants[0] + n_constants[1]) * 8 + n_uses[0] + n_uses[1] - n_vars) * 8 +
        (uint32_t)pair->level;
    r->is_alive = r->is_kept = true;
}

static void load_rules(prover *p, const noe_pair *pairs, int n)
{
    p->rules = noe_calloc((size_t)n + 1, sizeof *p->rules);
    p->n_rules = n;
    for (int i = 0; i < n; i++) {
        rule *r = &p->rules[i];
        fill_rule(p, &pairs[i], r);
        for (int from = 0; from < 2; from++) {
            if (!r->usable[from])
                continue;
            struct use u = {i, from};
            struct uses *list = &p->by_op[p->heads[r->p[r->side[from]].head].op];
            NOE_PUSH(list->u, list->n, list->cap, u);
        }
    }
}

/* Rewriting */

static uint32_t instantiate(prover *p, const rule *r, int i)
{
    const pattern *n = &r->p[i];
    uint32_t in[2];
    if (n->head == VARIABLE)
        return p->bound[n->in[0]];
    for (int k = 0; k < n->n_in; k++)
        in[k] = instantiate(p, r, (int)n->in[k]);
    return make_term(p, n->head, in, n->n_in);
}

typedef struct todo {
    int pattern;
    uint32_t term;
    const struct todo *next;
} todo;

static void add_next(prover *p, uint32_t t, uint32_t next)
{
    term *x = &p->terms[t];
    if (next == NO_TERM || next == t || !noe_shape_eq(&p->terms[next].shape, &x->shape))
        return;
    NOE_PUSH(x->next, x->n_next, x->cap_next, next);
}

/* Matches what is to do; each match adds the other side's instance to root's
 * neighbours. Depth is bounded by the size of the pattern. */
static void match(prover *p, const rule *r, int to, uint32_t root,
                  const todo *todo_list)
{
    if (!todo_list) {
        add_next(p, root, instantiate(p, r, to));
        return;
    }
    const pattern *n = &r->p[todo_list->pattern];
    const term *t = &p->terms[todo_list->term];
    if (n->head == VARIABLE) {
        uint32_t *bound = &p->bound[n->in[0]];
        if (*bound == todo_list->term) {
            match(p, r, to, root, todo_list->next);
        } else if (*bound == NO_TERM &&
                   noe_may_stand_for(&t->shape, &r->shape[n->in[0]])) {
            *bound = todo_list->term;
            match(p, r, to, root, todo_list->next);
            *bound = NO_TERM;
        }
        return;
    }
    if (t->head != n->head)
        return;
    if (n->n_in == 0) {
        match(p, r, to, root, todo_list->next);
    } else if (n->n_in == 1) {
        match(p, r, to, root, &(todo){(int)n->in[0], t->in[0], todo_list->next});
    } else {
        uint32_t a = t->in[0], b = t->in[1];
        todo second = {(int)n->in[1], b, todo_list->next};
        match(p, r, to, root, &(todo){(int)n->in[0], a, &second});
        if (a != b && noe_op_has(p->heads[n->head].op, NOE_TRAIT_COMMUTATIVE)) {
            second.term = a;
            match(p, r, to, root, &(todo){(int)n->in[0], b, &second});
        }
    }
}

static void rewrite_root(prover *p, uint32_t t)
{
    const struct uses *list = &p->by_op[p->heads[p->terms[t].head].op];
    for (uint32_t i = 0; i < list->n && !p->is_full; i++) {
        const rule *r = &p->rules[list->u[i].rule];
        int from = list->u[i].from;
        if (!r->is_alive || r->p[r->side[from]].head != p->terms[t].head)
            continue;
        memset(p->bound, 0xFF, sizeof p->bound);
        match(p, r, r->side[!from], t, &(todo){r->side[from], t, NULL});
    }
}

/* Fills the terms one step away from t. Depth is bounded by MAX_TERM_OPS. */
static void expand(prover *p, uint32_t t)
{
    if (p->terms[t].is_expanded || p->terms[t].n_in == 0)
        return;
    p->terms[t].is_expanded = true;
    rewrite_root(p, t);
    for (int k = 0; k < p->terms[t].n_in; k++) {
        uint32_t child = p->terms[t].in[k];
        expand(p, child);
        for (uint32_t i = 0; i < p->terms[child].n_next && !p->is_full; i++) {
            uint32_t in[2] = {p->terms[t].in[0], p->terms[t].in[1]};
            in[k] = p->terms[child].next[i];
            add_next(p, t, make_term(p, p->terms[t].head, in, p->terms[t].n_in));
        }
    }
}

static uint32_t term_of_node(prover *p, const rule *r, int i)
{
    return instantiate(p, r, i);
}

/* Terms reached from the two sides in turn; true when the sets meet. */
static bool search(prover *p, uint32_t left, uint32_t right)
{
    uint32_t first[2] = {0, 0}, tail[2] = {1, 1};
    p->queue[0][0] = left;
    p->queue[1][0] = right;
    p->terms[left].reached |= 1;
    p->terms[right].reached |= 2;
    if (left == right)
        return true;
    while (!p->is_full && (first[0] < tail[0] || first[1] < tail[1])) {
        /* The side that has reached fewer terms goes on. */
        int s =
            first[1] == tail[1] || (first[0] < tail[0] && tail[0] <= tail[1]) ? 0 : 1;
        uint32_t t = p->queue[s][first[s]++];
        expand(p, t);
        for (uint32_t i = 0; i < p->terms[t].n_next; i++) {
            uint32_t x = p->terms[t].next[i];
            if (p->terms[x].reached >> s & 1)
                continue;
            p->terms[x].reached |= (uint8_t)(1 << s);
            if (p->terms[x].reached == 3)
                return true;
            p->queue[s][tail[s]++] = x;
        }
    }
    return false;
}

static bool is_provable(prover *p, int i)
{
    const rule *r = &p->rules[i];
    clear_bank(p);
    p->max_ops = MAX_TERM_OPS;
    for (uint32_t v = 0; v < NOE_PAIR_MAX_VARS; v++)
        p->bound[v] = make_variable(p, v, &r->shape[v]);
    uint32_t left = term_of_node(p, r, r->side[0]);
    uint32_t right = term_of_node(p, r, r->side[1]);
    if (left == NO_TERM || right == NO_TERM)
        return false;
    int a = p->terms[left].n_ops, b = p->terms[right].n_ops;
    p->max_ops = (a > b ? a : b) + EXTRA_SIZE;
    bool proved = search(p, left, right);
    p->stats->n_terms += p->n_terms;
    return proved;
}

typedef struct ordered {
    int id;
    uint32_t key;
} ordered;

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return y->id - x->id;
}

static noe_status prove_all(prover *p, noe_pair *pairs, int n, noe_error *err)
{
    ordered *order = noe_malloc(((size_t)n + 1) * sizeof *order);
    noe_status status = NOE_OK;
    for (int i = 0; i < n; i++)
        order[i] = (ordered){i, p->rules[i].key};
    qsort(order, (size_t)n, sizeof *order, compare_ordered);
    for (int i = 0; i < n && status == NOE_OK; i++) {
        rule *r = &p->rules[order[i].id];
        if (pairs[order[i].id].kind != NOE_PAIR_AXIOM)
            continue;
        r->is_alive = false;
        r->is_alive = !is_provable(p, order[i].id);
        r->is_kept = r->is_alive || noe_pair_is_useful(&pairs[order[i].id]);
        if (!r->is_alive)
            pairs[order[i].id].kind = NOE_PAIR_DERIVED;
        p->stats->n_tried++;
        p->stats->n_proved += !r->is_kept;
        noe_progress(p->env, "minimizing %d of %d, %llu proved", i, n,
                     (unsigned long long)p->stats->n_proved);
        if (noe_cancelled(p->env))
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted while minimizing");
    }
    free(order);
    return status;
}

noe_status noe_pairs_minimize(noe_pair *pairs, int *n_pairs, const noe_env *env,
                              noe_minimize_stats *stats, noe_error *err)
{
    double start = noe_cpu_seconds();
    prover *p = noe_calloc(1, sizeof *p);
    *stats = (noe_minimize_stats){0};
    p->env = env;
    p->stats = stats;
    load_rules(p, pairs, *n_pairs);
    noe_status status = prove_all(p, pairs, *n_pairs, err);
    int n = 0;
    for (int i = 0; i < *n_pairs; i++) {
        if (!p->rules[i].is_kept)
            continue;
        if (n != i)
            pairs[n] = pairs[i];
        n++;
    }
    *n_pairs = n;
    clear_bank(p);
    for (int op = 0; op < NOE_OP_COUNT; op++)
        free(p->by_op[op].u);
    free(p->rules);
    free(p->heads);
    free(p);
    stats->cpu_seconds = noe_cpu_seconds() - start;
    return status;
}
