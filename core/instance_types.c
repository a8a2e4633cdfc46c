/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types of a rule's variables, by unification. What moves data has the type of
 * what it moves, arithmetic and constants are f32, a cast has the type that it says and
 * another one than its operand. What is open then is chosen at random next to a cast
 * and f32 elsewhere: which type it is makes no difference to a law (core/match.h).
 */
#include "core/instance_search.h"

#define OPEN NOE_UNKNOWN

typedef struct typing {
    const noe_rule *rule;
    noe_rng *rng;
    uint16_t parent[NOE_RULE_MAX_NODES]; /* union-find over pattern nodes */
    noe_dtype type[NOE_RULE_MAX_NODES];  /* of a class, at its root */
    bool has_failed;
} typing;

static uint16_t class_of(const typing *t, uint16_t node)
{
    while (t->parent[node] != node)
        node = t->parent[node];
    return node;
}

static void fix(typing *t, uint16_t node, noe_dtype d)
{
    noe_dtype *type = &t->type[class_of(t, node)];
    t->has_failed |= *type != OPEN && *type != d;
    *type = d;
}

static void join(typing *t, uint16_t a, uint16_t b)
{
    uint16_t x = class_of(t, a), y = class_of(t, b);
    if (x == y)
        return;
    noe_dtype d = t->type[x];
    t->parent[x] = y;
    if (d != OPEN)
        fix(t, y, d);
}

static bool is_cast(const noe_rule *rule, uint16_t node)
{
    return !rule->nodes[node].is_var && rule->nodes[node].op == NOE_OP_CAST;
}

static const noe_term *target(const noe_rule *rule, uint16_t cast)
{
    return &rule->terms[rule->nodes[cast].params[0]];
}

/* Casts to one parameter variable make one type; a term says nothing yet. */
static void type_cast(typing *t, uint16_t node)
{
    const noe_term *to = target(t->rule, node);
    if (to->kind == NOE_TERM_INT) {
        noe_params p = {.n = 1, .v = {noe_value_int(NOE_KIND_INT, to->i)}};
        noe_dtype d = noe_cast_type(&p);
        t->has_failed |= d == NOE_UNKNOWN;
        fix(t, node, d);
        return;
    }
    for (uint16_t i = 0; to->kind == NOE_TERM_PVAR && i < node; i++) {
        if (is_cast(t->rule, i) && target(t->rule, i)->kind == NOE_TERM_PVAR &&
            target(t->rule, i)->var == to->var)
            join(t, i, node);
    }
}

static void type_node(typing *t, uint16_t node)
{
    const noe_pattern_node *p = &t->rule->nodes[node];
    bool moves = noe_op_has(p->op, NOE_TRAIT_COPY) || p->op == NOE_OP_WHERE;
    if (p->op == NOE_OP_CAST) {
        type_cast(t, node);
        return;
    }
    if (!moves)
        fix(t, node, NOE_F32);
    for (uint16_t k = 0; k < p->n_inputs; k++) {
        if (!moves || (p->op == NOE_OP_WHERE && k == 0))
            fix(t, p->inputs[k], NOE_F32);
        else
            join(t, p->inputs[k], node);
    }
}

/* Any type but that of the other ends of casts, as far as these are known. */
static void choose(typing *t, uint16_t node)
{
    static const noe_dtype types[] = {NOE_F32, NOE_F16, NOE_BF16, NOE_F64};
    enum { N = sizeof types / sizeof *types };
    uint16_t class = class_of(t, node);
    bool taken[NOE_DTYPE_COUNT] = {false};
    int first = (int)noe_rng_below(t->rng, N);
    if (t->type[class] != OPEN)
        return;
    for (uint16_t i = 0; i < t->rule->n_nodes; i++) {
        if (!is_cast(t->rule, i))
            continue;
        uint16_t out = class_of(t, i), in = class_of(t, t->rule->nodes[i].inputs[0]);
        if (out == class || in == class)
            taken[t->type[out == class ? in : out]] = true;
    }
    for (int i = 0; i < N && t->type[class] == OPEN; i++) {
        if (!taken[types[(first + i) % N]])
            t->type[class] = types[(first + i) % N];
    }
    t->has_failed |= t->type[class] == OPEN;
}

static void bind_target(const typing *t, uint16_t cast, noe_binding *b)
{
    const noe_term *to = target(t->rule, cast);
    if (to->kind != NOE_TERM_PVAR)
        return;
    noe_dtype d = t->type[class_of(t, cast)];
    b->pvalue[to->var] = noe_value_int(NOE_KIND_INT, noe_dtype_to_onnx(d));
    b->pbound[to->var] = true;
}

static void unify(typing *t)
{
    const noe_rule *rule = t->rule;
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        t->parent[i] = i;
        t->type[i] = OPEN;
    }
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var)
            type_node(t, i);
    }
    for (int i = 0; i < rule->n_roots; i++)
        join(t, rule->lhs[i], rule->rhs[i]);
}

bool noe_instance_types(const noe_rule *rule, noe_rng *rng, noe_dtype *types,
                        noe_binding *b)
{
    typing t = {.rule = rule, .rng = rng};
    bool has_cast = false;
    for (uint16_t i = 0; i < rule->n_nodes; i++)
        has_cast |= is_cast(rule, i);
    for (int i = 0; i < rule->n_vars; i++)
        types[i] = NOE_F32;
    if (!has_cast)
        return true;
    unify(&t);
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (is_cast(rule, i)) {
            choose(&t, i);
            choose(&t, rule->nodes[i].inputs[0]);
        }
    }
    for (uint16_t i = 0; i < rule->n_nodes && !t.has_failed; i++) {
        noe_dtype d = t.type[class_of(&t, i)];
        if (is_cast(rule, i))
            bind_target(&t, i, b);
        if (rule->nodes[i].is_var && d != OPEN)
            types[rule->nodes[i].var] = d;
    }
    return !t.has_failed;
}
