/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms are few (some dozens), so that congruence is found by comparing all pairs until
 * nothing changes: the simplest thing that is obviously right.
 */
#include "checker/closure.h"
#include <stdlib.h>

#define MAX_NODES    4000
#define MAX_ELEMENTS 100000 /* of a term */
#define N_READINGS   2      /* of signs */

typedef struct node {
    int variable; /* -1: a term */
    noe_op op;
    noe_params params;
    noe_closure_node in[NOE_RULE_MAX_INPUTS];
    int n_in;
    noe_type type;
    noe_fe *value[N_READINGS];
    noe_closure_node parent; /* of union-find */
} node;

struct noe_closure {
    noe_arena arena;
    noe_field fields[N_READINGS];
    uint64_t seed;
    node *nodes;
    uint32_t n, cap;
    bool is_closed;
};

noe_closure *noe_closure_new(uint64_t seed)
{
    noe_closure *c = noe_calloc(1, sizeof *c);
    c->seed = seed;
    c->fields[0] = noe_field_make(seed);
    c->fields[1] = noe_field_make_ordered(seed, NOE_FIELD_RANGE);
    return c;
}

void noe_closure_free(noe_closure *c)
{
    if (!c)
        return;
    free(c->nodes);
    noe_arena_clear(&c->arena);
    free(c);
}

const noe_type *noe_closure_type(const noe_closure *c, noe_closure_node n)
{
    return &c->nodes[n].type;
}

static bool same_node(const node *a, const node *b)
{
    return a->variable == b->variable && a->op == b->op && a->n_in == b->n_in &&
           memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) == 0 &&
           noe_params_eq(&a->params, &b->params);
}

static bool find_node(const noe_closure *c, const node *n, noe_closure_node *out)
{
    for (*out = 0; *out < c->n; ++*out) {
        if (same_node(&c->nodes[*out], n))
            return true;
    }
    return false;
}

static noe_status add_node(noe_closure *c, node *n, noe_closure_node *out,
                           noe_error *err)
{
    if (c->n == MAX_NODES)
        return noe_fail(err, NOE_ERR_LIMIT, "more than %d terms", MAX_NODES);
    int64_t elements = noe_shape_elements(&n->type.shape);
    if (elements < 0 || elements > MAX_ELEMENTS)
        return noe_fail(err, NOE_ERR_LIMIT, "a term with more than %d elements",
                        MAX_ELEMENTS);
    for (int r = 0; r < N_READINGS; r++)
        n->value[r] =
            noe_arena_alloc(&c->arena, (size_t)(elements + 1) * sizeof **n->value);
    n->parent = *out = c->n;
    NOE_PUSH(c->nodes, c->n, c->cap, *n);
    c->is_closed = false;
    return NOE_OK;
}

noe_status noe_closure_variable(noe_closure *c, int variable, const noe_type *type,
                                noe_closure_node *out, noe_error *err)
{
    node n = {.variable = variable, .op = NOE_OP_INPUT, .type = *type};
    if (find_node(c, &n, out))
        return NOE_OK;
    NOE_TRY(add_node(c, &n, out, err));
    int64_t elements = noe_shape_elements(&type->shape);
    for (int r = 0; r < N_READINGS; r++) {
        noe_rng rng =
            noe_rng_split(c->seed, "closure", (uint64_t)(variable * N_READINGS + r));
        for (int64_t i = 0; i < elements; i++)
            n.value[r][i] = noe_fe_draw(&c->fields[r], &rng);
    }
    return NOE_OK;
}

static void evaluate(noe_closure *c, node *n)
{
    noe_tensor_fe in[NOE_RULE_MAX_INPUTS];
    for (int r = 0; r < N_READINGS; r++) {
        for (int i = 0; i < n->n_in; i++) {
            const node *operand = &c->nodes[n->in[i]];
            in[i] = (noe_tensor_fe){operand->type.shape, operand->value[r]};
        }
        noe_tensor_fe out = {n->type.shape, n->value[r]};
        noe_eval_fe(&c->fields[r], n->op, &n->params, in, n->n_in, &out);
    }
}

noe_status noe_closure_term(noe_closure *c, noe_op op, const noe_params *params,
                            const noe_closure_node *in, int n_in, noe_closure_node *out,
                            noe_error *err)
{
    node n = {.variable = -1, .op = op, .params = *params, .n_in = n_in};
    noe_type types[NOE_RULE_MAX_INPUTS];
    for (int i = 0; i < n_in; i++) {
        n.in[i] = in[i];
        types[i] = c->nodes[in[i]].type;
    }
    if (params->n > 0)
        NOE_TRY(noe_params_normalize(op, &n.params, types, n_in, err));
    if (find_node(c, &n, out))
        return NOE_OK;
    NOE_TRY(noe_op_infer(op, &n.params, types, n_in, &n.type, err));
    NOE_TRY(add_node(c, &n, out, err));
    evaluate(c, &n);
    return NOE_OK;
}

bool noe_closure_agree(const noe_closure *c, noe_closure_node a, noe_closure_node b)
{
    const node *x = &c->nodes[a], *y = &c->nodes[b];
    int64_t n = noe_shape_elements(&x->type.shape);
    if (!noe_type_eq(&x->type, &y->type))
        return false;
    for (int r = 0; r < N_READINGS; r++) {
        int64_t i = 0;
        while (i < n && noe_fe_eq(x->value[r][i], y->value[r][i]))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

static noe_closure_node find(const noe_closure *c, noe_closure_node n)
{
    while (c->nodes[n].parent != n)
        n = c->nodes[n].parent;
    return n;
}

void noe_closure_equate(noe_closure *c, noe_closure_node a, noe_closure_node b)
{
    c->nodes[find(c, a)].parent = find(c, b);
    c->is_closed = false;
}

static bool congruent(const noe_closure *c, const node *a, const node *b)
{
    if (a->variable >= 0 || b->variable >= 0 || a->op != b->op || a->n_in != b->n_in ||
        !noe_params_eq(&a->params, &b->params))
        return false;
    for (int i = 0; i < a->n_in; i++) {
        if (find(c, a->in[i]) != find(c, b->in[i]))
            return false;
    }
    return true;
}

static bool merge_congruent(noe_closure *c)
{
    bool changed = false;
    for (uint32_t i = 0; i < c->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (find(c, i) == find(c, k) || !congruent(c, &c->nodes[i], &c->nodes[k]))
                continue;
            noe_closure_equate(c, i, k);
            changed = true;
        }
    }
    return changed;
}

bool noe_closure_equal(noe_closure *c, noe_closure_node a, noe_closure_node b)
{
    while (!c->is_closed)
        c->is_closed = !merge_congruent(c);
    return find(c, a) == find(c, b);
}
