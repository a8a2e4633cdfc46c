/* SPDX-License-Identifier: Apache-2.0
 *
 * A candidate at known ranks. Shapes of its nodes and its list parameters become lists
 * of as many numbers, so that Z3 compares lists entry by entry, and well-typedness
 * becomes facts about these numbers.
 *
 * Everything said here follows from the candidate being well-typed with these ranks; no
 * equality that was merely observed at instances is used.
 */
#include "verifier/encode.h"

typedef struct facts {
    const noe_encoder *e;
    noe_scope *scope;
    void (*emit)(void *ctx, Z3_ast fact);
    void *ctx;
} facts;

static Z3_ast number(const facts *f, int64_t i)
{
    return Z3_mk_int64(f->e->z3, i, f->e->number);
}

static Z3_ast at(const facts *f, Z3_ast list, int64_t i)
{
    Z3_ast args[2] = {list, number(f, i)};
    return Z3_mk_app(f->e->z3, f->e->fn[NOE_FN_AT], 2, args);
}

static void emit_equal(const facts *f, Z3_ast a, Z3_ast b)
{
    f->emit(f->ctx, Z3_mk_eq(f->e->z3, a, b));
}

/* list is [at(list, 0), ..., at(list, n - 1)]. */
static void emit_length(const facts *f, Z3_ast list, int n)
{
    Z3_ast items[NOE_MAX_LIST];
    for (int i = 0; i < n; i++)
        items[i] = at(f, list, i);
    emit_equal(f, list, Z3_mk_app(f->e->z3, f->e->make_list[n], (unsigned)n, items));
}

static Z3_ast shape(const facts *f, uint16_t node)
{
    return noe_encode_shape_of(f->e, noe_encode_node(f->e, f->scope, node));
}

static int rank(const facts *f, uint16_t node)
{
    return f->scope->ranks->type[node].shape.rank;
}

/* Sizes that broadcast are equal, or one is 1. */
static void emit_broadcast(const facts *f, Z3_ast a, Z3_ast b)
{
    Z3_context z3 = f->e->z3;
    Z3_ast one = number(f, 1);
    Z3_ast cases[3] = {Z3_mk_eq(z3, a, b), Z3_mk_eq(z3, a, one), Z3_mk_eq(z3, b, one)};
    f->emit(f->ctx, Z3_mk_or(z3, 3, cases));
}

/* skip: that many of the last axes do not broadcast. */
static void emit_operands(const facts *f, const noe_pattern_node *p, int skip)
{
    uint16_t x = p->inputs[0], y = p->inputs[1];
    int n = rank(f, x), m = rank(f, y);
    for (int i = 1 + skip; i <= n && i <= m; i++)
        emit_broadcast(f, at(f, shape(f, x), n - i), at(f, shape(f, y), m - i));
}

static void emit_matmul(const facts *f, const noe_pattern_node *p)
{
    uint16_t x = p->inputs[0], y = p->inputs[1];
    int n = rank(f, x), m = rank(f, y);
    emit_equal(f, at(f, shape(f, x), n - 1), at(f, shape(f, y), m < 2 ? 0 : m - 2));
    emit_operands(f, p, 2);
}

/* One group: as many channels in as the kernel reads. */
static void emit_conv(const facts *f, const noe_pattern_node *p)
{
    static const int group_at = 3; /* in the row of conv */
    const noe_term *group = p->params[group_at] == NOE_TERM_ABSENT
                                ? NULL
                                : &f->scope->rule->terms[p->params[group_at]];
    if (!group || (group->kind == NOE_TERM_INT && group->i == 1))
        emit_equal(f, at(f, shape(f, p->inputs[0]), 1),
                   at(f, shape(f, p->inputs[1]), 1));
}

static void emit_node(const facts *f, uint16_t node)
{
    const noe_pattern_node *p = &f->scope->rule->nodes[node];
    emit_length(f, shape(f, node), rank(f, node));
    if (p->is_var)
        return;
    if (noe_op_has(p->op, NOE_TRAIT_EWISE) && p->n_inputs == 2)
        emit_operands(f, p, 0);
    if (p->op == NOE_OP_MATMUL)
        emit_matmul(f, p);
    if (p->op == NOE_OP_CONV)
        emit_conv(f, p);
}

void noe_encode_ranks(const noe_encoder *e, noe_scope *scope,
                      void (*emit)(void *ctx, Z3_ast fact), void *ctx)
{
    const noe_rule *rule = scope->rule;
    facts f = {e, scope, emit, ctx};
    for (uint16_t i = 0; i < rule->n_nodes; i++)
        emit_node(&f, i);
    for (int i = 0; i < rule->n_pvars; i++) {
        const noe_value *v = &scope->ranks->binding.pvalue[i];
        if (rule->pvars[i].kind == NOE_KIND_AXES ||
            rule->pvars[i].kind == NOE_KIND_INTS)
            emit_length(&f, scope->pvar[i], v->n);
    }
}

Z3_ast noe_encode_has_ranks(const noe_encoder *e, noe_scope *scope)
{
    const noe_rule *rule = scope->rule;
    const noe_instance *ranks = scope->ranks;
    Z3_ast all[NOE_RULE_MAX_NODES + NOE_RULE_MAX_PVARS];
    unsigned n = 0;
    facts f = {.e = e, .scope = scope};
    scope->ranks = NULL; /* shapes are not written as lists of the length in question */
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        Z3_ast list = shape(&f, i);
        Z3_ast length = Z3_mk_app(e->z3, e->fn[NOE_FN_LEN], 1, &list);
        all[n++] = Z3_mk_eq(e->z3, length, number(&f, ranks->type[i].shape.rank));
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        const noe_value *v = &ranks->binding.pvalue[i];
        if (rule->pvars[i].kind != NOE_KIND_AXES &&
            rule->pvars[i].kind != NOE_KIND_INTS)
            continue;
        Z3_ast length = Z3_mk_app(e->z3, e->fn[NOE_FN_LEN], 1, &scope->pvar[i]);
        all[n++] = Z3_mk_eq(e->z3, length, number(&f, v->n));
    }
    scope->ranks = ranks;
    return n == 0 ? Z3_mk_true(e->z3) : Z3_mk_and(e->z3, n, all);
}
