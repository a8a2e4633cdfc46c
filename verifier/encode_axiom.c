/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantified formulas: axioms with their patterns, the laws of shapes and lists, and
 * what well-typedness says about the terms of a candidate.
 *
 * An axiom lhs => rhs with condition C becomes, for each side that determines all
 * variables,  forall vars {side}: mark(vars) and (C and equations -> lhs = rhs), where
 * the pattern is that side with computed parameters made variables. If neither side
 * determines all variables, the pattern is both sides together. mark has no meaning; an
 * instance in a proof names the axiom and the variables by it.
 *
 * The laws of shapes are facts about core/shape_rules.c, true of every well-typed term.
 * tests/verifier/test_encode.c compares them with noe_op_infer.
 */
#include "verifier/encode.h"
#include <stdio.h>

#define MAX_BOUND (NOE_RULE_MAX_VARS + NOE_RULE_MAX_PVARS + 2 * NOE_ENCODE_MAX_FRESH)

static Z3_ast conjunction(const noe_encoder *e, int n, const Z3_ast *all)
{
    return n == 0   ? Z3_mk_true(e->z3)
           : n == 1 ? all[0]
                    : Z3_mk_and(e->z3, (unsigned)n, all);
}

/* Which variables a side determines when it is matched. */
static void cover(const noe_rule *rule, uint16_t node, bool *vars, bool *pvars)
{
    const noe_pattern_node *p = &rule->nodes[node];
    if (p->is_var) {
        vars[p->var] = true;
        return;
    }
    for (int i = 0; i < noe_op_get(p->op)->n_params; i++) {
        if (p->params[i] != NOE_TERM_ABSENT &&
            rule->terms[p->params[i]].kind == NOE_TERM_PVAR)
            pvars[rule->terms[p->params[i]].var] = true;
    }
    for (int i = 0; i < p->n_inputs; i++)
        cover(rule, p->inputs[i], vars, pvars);
}

static bool covers_all(const noe_rule *rule, bool lhs, bool rhs)
{
    bool vars[NOE_RULE_MAX_VARS] = {false}, pvars[NOE_RULE_MAX_PVARS] = {false};
    if (lhs)
        cover(rule, rule->lhs[0], vars, pvars);
    if (rhs)
        cover(rule, rule->rhs[0], vars, pvars);
    for (int i = 0; i < rule->n_vars; i++) {
        if (!vars[i])
            return false;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        if (!pvars[i])
            return false;
    }
    return true;
}

/* Marks: a predicate an axiom and direction, over all its bound variables. */
static Z3_ast mark(const noe_encoder *e, int index, int direction, unsigned n,
                   const Z3_app *bound)
{
    Z3_sort domain[MAX_BOUND];
    Z3_ast args[MAX_BOUND];
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        args[i] = Z3_app_to_ast(e->z3, bound[i]);
        domain[i] = Z3_get_sort(e->z3, args[i]);
    }
    snprintf(name, sizeof name, "axiom!%d!%d", index, direction);
    Z3_func_decl f =
        Z3_mk_func_decl(e->z3, Z3_mk_string_symbol(e->z3, name), n, domain, e->boolean);
    return Z3_mk_app(e->z3, f, n, args);
}

/* The formula with the left, the right or both sides as pattern. */
static Z3_ast quantify(const noe_encoder *e, const noe_axiom *axiom, int index,
                       int direction, bool lhs, bool rhs)
{
    const noe_rule *rule = &axiom->rule;
    noe_scope s;
    noe_scope_init(e, rule, &s);
    s.pattern = lhs;
    Z3_ast left = noe_encode_node(e, &s, rule->lhs[0]);
    s.pattern = rhs;
    Z3_ast right = noe_encode_node(e, &s, rule->rhs[0]);
    s.pattern = false;
    Z3_app bound[MAX_BOUND];
    unsigned n = 0;
    for (int i = 0; i < rule->n_vars; i++)
        bound[n++] = Z3_to_app(e->z3, s.var[i]);
    for (int i = 0; i < rule->n_pvars; i++)
        bound[n++] = Z3_to_app(e->z3, s.pvar[i]);
    unsigned n_named = n;
    Z3_ast premises[NOE_ENCODE_MAX_FRESH + 2];
    int n_premises = 0;
    for (int i = 0; i < s.n_fresh; i++) {
        bound[n++] = Z3_to_app(e->z3, s.fresh[i]);
        premises[n_premises++] = s.equation[i];
    }
    if (rule->where != NOE_TERM_ABSENT)
        premises[n_premises++] = noe_encode_where(e, &s);
    if (axiom->needs_equal_shapes)
        premises[n_premises++] = Z3_mk_eq(e->z3, noe_encode_shape_of(e, left),
                                          noe_encode_shape_of(e, right));
    Z3_ast body = Z3_mk_eq(e->z3, left, right);
    if (n_premises > 0)
        body = Z3_mk_implies(e->z3, conjunction(e, n_premises, premises), body);
    Z3_ast both[2] = {mark(e, index, direction, n_named, bound), body};
    body = Z3_mk_and(e->z3, 2, both);
    Z3_ast triggers[2];
    unsigned n_triggers = 0;
    if (lhs)
        triggers[n_triggers++] = left;
    if (rhs)
        triggers[n_triggers++] = right;
    Z3_pattern pattern = Z3_mk_pattern(e->z3, n_triggers, triggers);
    char qid[80];
    snprintf(qid, sizeof qid, "%.60s!%d", axiom->name, direction);
    return Z3_mk_quantifier_const_ex(e->z3, true, 0, Z3_mk_string_symbol(e->z3, qid),
                                     Z3_mk_string_symbol(e->z3, ""), n, bound, 1,
                                     &pattern, 0, NULL, body);
}

int noe_encode_axiom(const noe_encoder *e, const noe_axiom *axiom, int index,
                     Z3_ast out[2])
{
    const noe_rule *rule = &axiom->rule;
    bool left_is_term = !rule->nodes[rule->lhs[0]].is_var;
    bool right_is_term = !rule->nodes[rule->rhs[0]].is_var;
    int n = 0;
    if (left_is_term && covers_all(rule, true, false))
        out[n++] = quantify(e, axiom, index, 0, true, false);
    if (right_is_term && covers_all(rule, false, true))
        out[n++] = quantify(e, axiom, index, 1, false, true);
    if (n == 0 && left_is_term && right_is_term && covers_all(rule, true, true))
        out[n++] = quantify(e, axiom, index, 2, true, true);
    return n;
}

/* Laws of shapes and lists */

typedef struct law {
    const noe_encoder *e;
    Z3_app bound[MAX_BOUND];
    unsigned n;
    noe_op_set ops; /* laws of other operators are left out */
    bool left_out;  /* the law being made is about one of those */
    void (*emit)(void *ctx, Z3_ast law);
    void *ctx;
} law;

static void about(law *l, noe_op op)
{
    l->left_out |= !(l->ops >> op & 1);
}

static Z3_ast bind(law *l, Z3_sort sort)
{
    char name[16];
    snprintf(name, sizeof name, "x%u", l->n);
    Z3_ast a = Z3_mk_const(l->e->z3, Z3_mk_string_symbol(l->e->z3, name), sort);
    l->bound[l->n++] = Z3_to_app(l->e->z3, a);
    return a;
}

/* The tensor that a law is about: its trigger is that, its shape or a dimension of it.
 */
static Z3_ast subject(const law *l, Z3_ast trigger)
{
    Z3_context z3 = l->e->z3;
    for (;;) {
        if (Z3_get_sort(z3, trigger) == l->e->tensor)
            return trigger;
        if (Z3_get_ast_kind(z3, trigger) != Z3_APP_AST ||
            Z3_get_app_num_args(z3, Z3_to_app(z3, trigger)) == 0)
            return NULL;
        trigger = Z3_get_app_arg(z3, Z3_to_app(z3, trigger), 0);
    }
}

/* Laws hold for well-typed terms. The mark, which means nothing to Z3, says of which
 * term an instance in a proof is: noe_term_is_typed is asked of it. */
static void emit_law(law *l, Z3_ast trigger, Z3_ast body)
{
    Z3_pattern pattern = Z3_mk_pattern(l->e->z3, 1, &trigger);
    Z3_ast term = subject(l, trigger);
    if (term) {
        Z3_ast both[2] = {Z3_mk_app(l->e->z3, l->e->typed, 1, &term), body};
        body = Z3_mk_and(l->e->z3, 2, both);
    }
    if (!l->left_out)
        l->emit(l->ctx,
                Z3_mk_forall_const(l->e->z3, 0, l->n, l->bound, 1, &pattern, body));
    l->n = 0;
    l->left_out = false;
}

static Z3_ast fn(const law *l, noe_function f, Z3_ast a, Z3_ast b)
{
    Z3_ast args[2] = {a, b};
    return Z3_mk_app(l->e->z3, l->e->fn[f], b ? 2 : 1, args);
}

static Z3_ast shape(const law *l, Z3_ast a)
{
    return fn(l, NOE_FN_SHAPE, a, NULL);
}

static Z3_ast rank(const law *l, Z3_ast a)
{
    return fn(l, NOE_FN_LEN, shape(l, a), NULL);
}

static Z3_ast dim(const law *l, Z3_ast a, Z3_ast axis)
{
    return fn(l, NOE_FN_AT, shape(l, a), axis);
}

static Z3_ast num(const law *l, int64_t i)
{
    return Z3_mk_int64(l->e->z3, i, l->e->number);
}

static Z3_ast eq(const law *l, Z3_ast a, Z3_ast b)
{
    return Z3_mk_eq(l->e->z3, a, b);
}

static Z3_ast implies(const law *l, Z3_ast a, Z3_ast b)
{
    return Z3_mk_implies(l->e->z3, a, b);
}

static Z3_ast and2(const law *l, Z3_ast a, Z3_ast b)
{
    Z3_ast both[2] = {a, b};
    return Z3_mk_and(l->e->z3, 2, both);
}

/* op applied to fresh variables: parameters first, then operands. */
static Z3_ast general_term(law *l, noe_op op, Z3_ast *param, Z3_ast *in)
{
    const noe_op_info *info = noe_op_get(op);
    Z3_ast args[NOE_MAX_PARAMS + NOE_RULE_MAX_INPUTS];
    unsigned n = 0;
    about(l, op);
    for (int i = 0; i < info->n_params; i++) {
        Z3_sort sort = Z3_get_domain(l->e->z3, l->e->op[op], n);
        args[n++] = param[i] = bind(l, sort);
    }
    for (int i = 0; i < info->max_in; i++)
        args[n++] = in[i] = bind(l, l->e->tensor);
    return Z3_mk_app(l->e->z3, l->e->op[op], n, args);
}

/* Operators whose output has the shape of their first operand, a broadcast shape, or
 * the shape that a parameter says. */
static void simple_shape_law(law *l, noe_op op)
{
    Z3_ast param[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    const noe_op_info *info = noe_op_get(op);
    if (noe_op_has(op, NOE_TRAIT_COMPOSITE))
        return;
    Z3_ast t = general_term(l, op, param, in), value = NULL;
    if (noe_op_has(op, NOE_TRAIT_EWISE) && info->max_in == 3)
        value = fn(l, NOE_FN_BROADCAST, shape(l, in[0]),
                   fn(l, NOE_FN_BROADCAST, shape(l, in[1]), shape(l, in[2])));
    else if (noe_op_has(op, NOE_TRAIT_EWISE) && info->max_in == 2)
        value = fn(l, NOE_FN_BROADCAST, shape(l, in[0]), shape(l, in[1]));
    else if (noe_op_has(op, NOE_TRAIT_EWISE) || op == NOE_OP_SOFTMAX)
        value = shape(l, in[0]);
    else if (info->n_params == 1 && info->params[0] == NOE_PARAM_SHAPE)
        value = param[0];
    if (value && l->n > 0)
        emit_law(l, shape(l, t), eq(l, shape(l, t), value));
    l->n = 0;
    l->left_out = false;
}

/* Operators that keep the rank of their first operand. */
static void rank_law(law *l, noe_op op)
{
    Z3_ast param[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_ast t = general_term(l, op, param, in);
    emit_law(l, shape(l, t), eq(l, rank(l, t), rank(l, in[0])));
}

/* Both axes count from the same side and are different. */
static Z3_ast apart(const law *l, Z3_ast i, Z3_ast j)
{
    Z3_context z3 = l->e->z3;
    Z3_ast zero = num(l, 0);
    Z3_ast same_side[2] = {
        and2(l, Z3_mk_ge(z3, i, zero), Z3_mk_ge(z3, j, zero)),
        and2(l, Z3_mk_lt(z3, i, zero), Z3_mk_lt(z3, j, zero)),
    };
    return and2(l, Z3_mk_or(z3, 2, same_side), Z3_mk_not(z3, eq(l, i, j)));
}

static void axis_laws(law *l)
{
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_ast t = general_term(l, NOE_OP_CONCAT, p, in);
    Z3_ast sum[2] = {dim(l, in[0], p[0]), dim(l, in[1], p[0])};
    emit_law(l, shape(l, t), eq(l, dim(l, t, p[0]), Z3_mk_add(l->e->z3, 2, sum)));
    t = general_term(l, NOE_OP_CONCAT, p, in);
    Z3_ast j = bind(l, l->e->number);
    emit_law(l, dim(l, t, j),
             implies(l, apart(l, j, p[0]),
                     and2(l, eq(l, dim(l, t, j), dim(l, in[0], j)),
                          eq(l, dim(l, t, j), dim(l, in[1], j)))));
    t = general_term(l, NOE_OP_SLICE, p, in);
    j = bind(l, l->e->number);
    emit_law(l, dim(l, t, j),
             implies(l, apart(l, j, p[0]), eq(l, dim(l, t, j), dim(l, in[0], j))));
    t = general_term(l, NOE_OP_GATHER, p, in);
    emit_law(l, shape(l, t), eq(l, dim(l, t, p[0]), fn(l, NOE_FN_LEN, p[1], NULL)));
    t = general_term(l, NOE_OP_GATHER, p, in);
    j = bind(l, l->e->number);
    emit_law(l, dim(l, t, j),
             implies(l, apart(l, j, p[0]), eq(l, dim(l, t, j), dim(l, in[0], j))));
    t = general_term(l, NOE_OP_TRANSPOSE, p, in);
    j = bind(l, l->e->number);
    emit_law(l, dim(l, t, j),
             eq(l, dim(l, t, j), dim(l, in[0], fn(l, NOE_FN_AT, p[0], j))));
    t = general_term(l, NOE_OP_TRANSPOSE, p, in);
    emit_law(l, t, eq(l, fn(l, NOE_FN_LEN, p[0], NULL), rank(l, in[0])));
}

static void channel_laws(law *l)
{
    static const noe_op keep[] = {NOE_OP_MAX_POOL, NOE_OP_AVERAGE_POOL, NOE_OP_RESIZE};
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_ast zero = num(l, 0), one = num(l, 1);
    Z3_ast t = general_term(l, NOE_OP_CONV, p, in);
    emit_law(l, shape(l, t),
             and2(l, eq(l, dim(l, t, zero), dim(l, in[0], zero)),
                  eq(l, dim(l, t, one), dim(l, in[1], zero))));
    t = general_term(l, NOE_OP_CONV, p, in);
    emit_law(l, t, eq(l, rank(l, in[1]), rank(l, in[0])));
    /* one input channel a group: as many groups as channels */
    t = general_term(l, NOE_OP_CONV, p, in);
    emit_law(
        l, t,
        implies(l, eq(l, dim(l, in[1], one), one), eq(l, p[3], dim(l, in[0], one))));
    t = general_term(l, NOE_OP_CONV_TRANSPOSE, p, in);
    emit_law(l, shape(l, t), eq(l, dim(l, t, zero), dim(l, in[0], zero)));
    t = general_term(l, NOE_OP_CONV_TRANSPOSE, p, in);
    emit_law(l, t,
             and2(l, eq(l, rank(l, in[1]), rank(l, in[0])),
                  eq(l, dim(l, in[1], zero), dim(l, in[0], one))));
    for (int i = 0; i < 3; i++) {
        t = general_term(l, keep[i], p, in);
        emit_law(l, shape(l, t),
                 and2(l, eq(l, dim(l, t, zero), dim(l, in[0], zero)),
                      eq(l, dim(l, t, one), dim(l, in[0], one))));
    }
}

/* Sizes are not negative, axes count from either end, padding adds. */
static void size_laws(law *l)
{
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_context z3 = l->e->z3;
    Z3_ast a = bind(l, l->e->tensor), j = bind(l, l->e->number), zero = num(l, 0);
    emit_law(l, dim(l, a, j), Z3_mk_ge(z3, dim(l, a, j), zero));
    a = bind(l, l->e->tensor), j = bind(l, l->e->number);
    Z3_ast forward[2] = {j, rank(l, a)};
    Z3_ast valid = and2(l, Z3_mk_lt(z3, j, zero),
                        Z3_mk_ge(z3, j, Z3_mk_unary_minus(z3, rank(l, a))));
    emit_law(
        l, dim(l, a, j),
        implies(l, valid, eq(l, dim(l, a, j), dim(l, a, Z3_mk_add(z3, 2, forward)))));
    Z3_ast t = general_term(l, NOE_OP_PAD, p, in);
    j = bind(l, l->e->number);
    Z3_ast behind[2] = {j, rank(l, in[0])};
    Z3_ast before = fn(l, NOE_FN_AT, p[0], j);
    Z3_ast after = fn(l, NOE_FN_AT, p[0], Z3_mk_add(z3, 2, behind));
    Z3_ast sum[3] = {dim(l, in[0], j), before, after};
    Z3_ast not_negative =
        and2(l, Z3_mk_ge(z3, before, zero), Z3_mk_ge(z3, after, zero));
    emit_law(
        l, dim(l, t, j),
        implies(l, and2(l, Z3_mk_ge(z3, j, zero), Z3_mk_lt(z3, j, rank(l, in[0]))),
                and2(l, not_negative, eq(l, dim(l, t, j), Z3_mk_add(z3, 3, sum)))));
    t = general_term(l, NOE_OP_PAD, p, in);
    Z3_ast both[2] = {rank(l, in[0]), rank(l, in[0])};
    emit_law(l, t, eq(l, fn(l, NOE_FN_LEN, p[0], NULL), Z3_mk_add(z3, 2, both)));
}

static void matmul_laws(law *l)
{
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_context z3 = l->e->z3;
    Z3_ast two = num(l, 2), last = num(l, -1), row = num(l, -2);
    Z3_ast t = general_term(l, NOE_OP_MATMUL, p, in);
    Z3_ast left = Z3_mk_ge(z3, rank(l, in[0]), two);
    Z3_ast right = Z3_mk_ge(z3, rank(l, in[1]), two);
    Z3_ast longer = Z3_mk_ite(z3, Z3_mk_ge(z3, rank(l, in[0]), rank(l, in[1])),
                              rank(l, in[0]), rank(l, in[1]));
    emit_law(l, shape(l, t),
             implies(l, right,
                     and2(l, eq(l, dim(l, t, last), dim(l, in[1], last)),
                          implies(l, left,
                                  and2(l, eq(l, dim(l, t, row), dim(l, in[0], row)),
                                       eq(l, rank(l, t), longer))))));
}

/* One axis reduced and kept has size 1; the others stay. */
static void reduced_axis_laws(law *l, noe_op op)
{
    Z3_context z3 = l->e->z3;
    for (int other = 0; other < 2; other++) {
        about(l, op);
        Z3_ast axis = bind(l, l->e->number), a = bind(l, l->e->tensor), one = num(l, 1);
        Z3_ast j = other ? bind(l, l->e->number) : axis;
        Z3_ast axes = Z3_mk_app(z3, l->e->make_list[1], 1, &axis);
        Z3_ast args[3] = {axes, one, a};
        Z3_ast t = Z3_mk_app(z3, l->e->op[op], 3, args);
        if (other)
            emit_law(l, dim(l, t, j),
                     implies(l, apart(l, j, axis), eq(l, dim(l, t, j), dim(l, a, j))));
        else
            emit_law(l, shape(l, t), eq(l, dim(l, t, axis), one));
    }
}

/* Sizes of a slice of step 1, of stored or unstored bounds that are not negative. */
static void slice_law(law *l)
{
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    Z3_context z3 = l->e->z3;
    Z3_ast t = general_term(l, NOE_OP_SLICE, p, in), whole = dim(l, in[0], p[0]);
    Z3_ast end = Z3_mk_ite(z3, Z3_mk_le(z3, p[2], whole), p[2], whole);
    Z3_ast length[2] = {end, p[1]};
    Z3_ast premises[4] = {
        eq(l, p[3], num(l, 1)),
        Z3_mk_ge(z3, p[1], num(l, 0)),
        Z3_mk_ge(z3, p[2], num(l, 0)),
        Z3_mk_le(z3, p[1], end),
    };
    emit_law(l, shape(l, t),
             implies(l, Z3_mk_and(z3, 4, premises),
                     eq(l, dim(l, t, p[0]), Z3_mk_sub(z3, 2, length))));
}

static Z3_ast list_of_vars(law *l, unsigned n, Z3_ast *items)
{
    for (unsigned i = 0; i < n; i++)
        items[i] = bind(l, l->e->number);
    return Z3_mk_app(l->e->z3, l->e->make_list[n], n, items);
}

/* Sizes are positive here: what a law says of empty axes does not matter, because all
 * tensors concerned are empty then. A product is 1 only if all factors are, and one of
 * the factors only if all others are 1. */
static void product_laws(law *l)
{
    Z3_context z3 = l->e->z3;
    Z3_ast s = bind(l, l->e->list), j = bind(l, l->e->number);
    Z3_ast prod = fn(l, NOE_FN_PROD, s, NULL), len = fn(l, NOE_FN_LEN, s, NULL);
    Z3_ast at = fn(l, NOE_FN_AT, s, j), last = fn(l, NOE_FN_AT, s, num(l, -1));
    Z3_ast both[2] = {len, num(l, -1)};
    Z3_ast in_range[2] = {Z3_mk_le(z3, Z3_mk_unary_minus(z3, len), j),
                          Z3_mk_lt(z3, j, len)};
    Z3_ast other[2] = {
        Z3_mk_not(z3, eq(l, j, num(l, -1))),
        Z3_mk_not(z3, eq(l, j, Z3_mk_add(z3, 2, both))),
    };
    Z3_ast small[2] = {
        eq(l, prod, num(l, 1)),
        and2(l, eq(l, prod, last), Z3_mk_and(z3, 2, other)),
    };
    Z3_ast triggers[2] = {prod, at};
    Z3_pattern pattern = Z3_mk_pattern(z3, 2, triggers);
    Z3_ast body =
        implies(l, and2(l, Z3_mk_and(z3, 2, in_range), Z3_mk_or(z3, 2, small)),
                eq(l, at, num(l, 1)));
    l->emit(l->ctx, Z3_mk_forall_const(z3, 0, l->n, l->bound, 1, &pattern, body));
    l->n = 0;
}

/* prod([a, b, ...]) is a * b * ..., and 1 if all are. */
static void product_of_list(law *l, unsigned n)
{
    Z3_context z3 = l->e->z3;
    Z3_ast items[NOE_MAX_LIST], ones[NOE_MAX_LIST];
    Z3_ast list = list_of_vars(l, n, items), prod = fn(l, NOE_FN_PROD, list, NULL);
    for (unsigned i = 0; i < n; i++)
        ones[i] = eq(l, items[i], num(l, 1));
    Z3_ast out = items[0];
    for (unsigned i = 1; i < n; i++)
        out = fn(l, NOE_FN_MUL, out, items[i]);
    Z3_ast is_one =
        implies(l, n == 1 ? ones[0] : Z3_mk_and(z3, n, ones), eq(l, prod, num(l, 1)));
    emit_law(l, prod, and2(l, is_one, eq(l, prod, n == 1 ? items[0] : out)));
}

static void reduce_laws(law *l)
{
    static const noe_op ops[] = {NOE_OP_REDUCE_SUM, NOE_OP_REDUCE_MEAN,
                                 NOE_OP_REDUCE_MAX};
    Z3_ast p[NOE_MAX_PARAMS], in[NOE_RULE_MAX_INPUTS];
    for (int i = 0; i < 3; i++) {
        Z3_ast t = general_term(l, ops[i], p, in);
        emit_law(l, shape(l, t),
                 implies(l, eq(l, p[1], num(l, 1)), eq(l, rank(l, t), rank(l, in[0]))));
        reduced_axis_laws(l, ops[i]);
        t = general_term(l, ops[i], p, in);
        Z3_ast left[2] = {rank(l, in[0]), fn(l, NOE_FN_LEN, p[0], NULL)};
        emit_law(l, shape(l, t),
                 implies(l, eq(l, p[1], num(l, 0)),
                         eq(l, rank(l, t), Z3_mk_sub(l->e->z3, 2, left))));
    }
}

static void broadcast_laws(law *l)
{
    Z3_ast a = bind(l, l->e->list), b = bind(l, l->e->list);
    Z3_ast ab = fn(l, NOE_FN_BROADCAST, a, b);
    emit_law(l, ab, eq(l, ab, fn(l, NOE_FN_BROADCAST, b, a)));
    a = bind(l, l->e->list);
    Z3_ast aa = fn(l, NOE_FN_BROADCAST, a, a);
    emit_law(l, aa, eq(l, aa, a));
    a = bind(l, l->e->list), b = bind(l, l->e->list);
    Z3_ast aab = fn(l, NOE_FN_BROADCAST, a, fn(l, NOE_FN_BROADCAST, a, b));
    emit_law(l, aab, eq(l, aab, fn(l, NOE_FN_BROADCAST, a, b)));
    a = bind(l, l->e->list), b = bind(l, l->e->list);
    Z3_ast c = bind(l, l->e->list);
    Z3_ast abc = fn(l, NOE_FN_BROADCAST, fn(l, NOE_FN_BROADCAST, a, b), c);
    emit_law(l, abc,
             eq(l, abc, fn(l, NOE_FN_BROADCAST, a, fn(l, NOE_FN_BROADCAST, b, c))));
    a = bind(l, l->e->list), b = bind(l, l->e->list);
    ab = fn(l, NOE_FN_BROADCAST, a, b);
    Z3_ast la = fn(l, NOE_FN_LEN, a, NULL), lb = fn(l, NOE_FN_LEN, b, NULL);
    Z3_ast longer = Z3_mk_ite(l->e->z3, Z3_mk_ge(l->e->z3, la, lb), la, lb);
    emit_law(l, ab, eq(l, fn(l, NOE_FN_LEN, ab, NULL), longer));
    /* a scalar broadcasts into everything */
    a = bind(l, l->e->list);
    Z3_ast scalar = Z3_mk_app(l->e->z3, l->e->make_list[0], 0, NULL);
    Z3_ast as = fn(l, NOE_FN_BROADCAST, a, scalar);
    emit_law(l, as, eq(l, as, a));
    Z3_sort value = Z3_get_domain(l->e->z3, l->e->op[NOE_OP_SCALAR], 0);
    a = bind(l, value);
    about(l, NOE_OP_SCALAR);
    Z3_ast constant = Z3_mk_app(l->e->z3, l->e->op[NOE_OP_SCALAR], 1, &a);
    emit_law(l, constant, eq(l, shape(l, constant), scalar));
    /* rank 0 is the empty shape */
    a = bind(l, l->e->tensor);
    emit_law(l, shape(l, a),
             implies(l, eq(l, rank(l, a), num(l, 0)), eq(l, shape(l, a), scalar)));
}

/* Broadcasting of well-typed lists written out. */
static void broadcast_lists(law *l, unsigned n, unsigned m)
{
    Z3_context z3 = l->e->z3;
    Z3_ast a[NOE_MAX_LIST], b[NOE_MAX_LIST], out[NOE_MAX_LIST], one = num(l, 1);
    unsigned longer = n > m ? n : m;
    Z3_ast left = list_of_vars(l, n, a), right = list_of_vars(l, m, b);
    Z3_ast both = fn(l, NOE_FN_BROADCAST, left, right);
    for (unsigned i = 0; i < longer; i++) {
        const Z3_ast *x = i + n >= longer ? &a[i + n - longer] : NULL;
        const Z3_ast *y = i + m >= longer ? &b[i + m - longer] : NULL;
        out[i] = x && y ? Z3_mk_ite(z3, eq(l, *x, one), *y, *x) : x ? *x : *y;
    }
    emit_law(l, both, eq(l, both, Z3_mk_app(z3, l->e->make_list[longer], longer, out)));
}

/* Concatenation associates; one entry more of a repeated one. */
static void cat_laws(law *l)
{
    Z3_context z3 = l->e->z3;
    Z3_ast a = bind(l, l->e->list), b = bind(l, l->e->list), c = bind(l, l->e->list);
    Z3_ast abc = fn(l, NOE_FN_CAT, fn(l, NOE_FN_CAT, a, b), c);
    emit_law(l, abc, eq(l, abc, fn(l, NOE_FN_CAT, a, fn(l, NOE_FN_CAT, b, c))));
    for (int left = 0; left < 2; left++) {
        Z3_ast x = bind(l, l->e->number), n = bind(l, l->e->number);
        Z3_ast next[2] = {n, num(l, 1)}, rep = fn(l, NOE_FN_REP, x, n);
        Z3_ast one = Z3_mk_app(z3, l->e->make_list[1], 1, &x);
        Z3_ast cat = fn(l, NOE_FN_CAT, left ? one : rep, left ? rep : one);
        emit_law(l, cat,
                 implies(l, Z3_mk_ge(z3, n, num(l, 0)),
                         eq(l, cat, fn(l, NOE_FN_REP, x, Z3_mk_add(z3, 2, next)))));
    }
}

/* [] is neutral. */
static void empty_list_laws(law *l)
{
    Z3_ast none = Z3_mk_app(l->e->z3, l->e->make_list[0], 0, NULL);
    for (int left = 0; left < 2; left++) {
        Z3_ast a = bind(l, l->e->list);
        Z3_ast cat = fn(l, NOE_FN_CAT, left ? none : a, left ? a : none);
        emit_law(l, cat, eq(l, cat, a));
    }
    Z3_ast x = bind(l, l->e->number);
    Z3_ast rep = fn(l, NOE_FN_REP, x, num(l, 0));
    emit_law(l, rep, eq(l, rep, none));
    l->emit(l->ctx, eq(l, fn(l, NOE_FN_PROD, none, NULL), num(l, 1)));
}

static void list_laws(law *l, unsigned n)
{
    Z3_context z3 = l->e->z3;
    Z3_ast items[NOE_MAX_LIST], more[NOE_MAX_LIST], facts[2 * NOE_MAX_LIST + 1];
    unsigned n_facts = 0;
    Z3_ast list = list_of_vars(l, n, items);
    for (unsigned i = 0; i < n; i++) {
        facts[n_facts++] = eq(l, fn(l, NOE_FN_AT, list, num(l, i)), items[i]);
        facts[n_facts++] =
            eq(l, fn(l, NOE_FN_AT, list, num(l, (int64_t)i - n)), items[i]);
    }
    facts[n_facts++] = eq(l, fn(l, NOE_FN_LEN, list, NULL), num(l, n));
    if (n == 0) {
        l->emit(l->ctx, facts[0]);
        return;
    }
    emit_law(l, list, Z3_mk_and(z3, n_facts, facts));
    /* at(p, [i, ...]) = [at(p, i), ...] */
    Z3_ast p = bind(l, l->e->list);
    list = list_of_vars(l, n, items);
    for (unsigned i = 0; i < n; i++)
        more[i] = fn(l, NOE_FN_AT, p, items[i]);
    Z3_ast picked = fn(l, NOE_FN_PICK, p, list);
    emit_law(l, picked, eq(l, picked, Z3_mk_app(z3, l->e->make_list[n], n, more)));
    /* [a, ...] + [b, ...] */
    list = list_of_vars(l, n, items);
    Z3_ast other = list_of_vars(l, n, more);
    Z3_ast sum = fn(l, NOE_FN_LIST_ADD, list, other);
    for (unsigned i = 0; i < n; i++) {
        Z3_ast both[2] = {items[i], more[i]};
        items[i] = Z3_mk_add(z3, 2, both);
    }
    emit_law(l, sum, eq(l, sum, Z3_mk_app(z3, l->e->make_list[n], n, items)));
    /* rep(x, n) with n known */
    Z3_ast x = bind(l, l->e->number), times = bind(l, l->e->number);
    for (unsigned i = 0; i < n; i++)
        items[i] = x;
    Z3_ast rep = fn(l, NOE_FN_REP, x, times);
    emit_law(l, rep,
             implies(l, eq(l, times, num(l, n)),
                     eq(l, rep, Z3_mk_app(z3, l->e->make_list[n], n, items))));
    if (n <= 6)
        product_of_list(l, n);
    for (unsigned m = 1; m <= 4 && n <= 4; m++) {
        Z3_ast all[NOE_MAX_LIST];
        list = list_of_vars(l, n, all);
        other = list_of_vars(l, m, all + n);
        Z3_ast cat = fn(l, NOE_FN_CAT, list, other);
        emit_law(l, cat, eq(l, cat, Z3_mk_app(z3, l->e->make_list[n + m], n + m, all)));
    }
}

static void length_laws(law *l)
{
    /* No padding, of whatever length, is neutral. */
    Z3_ast none = Z3_mk_app(l->e->z3, l->e->fn[NOE_FN_DEFAULT_ZEROS], 0, NULL);
    Z3_ast padding = bind(l, l->e->list);
    Z3_ast more = fn(l, NOE_FN_LIST_ADD, none, padding);
    emit_law(l, more, eq(l, more, padding));
    padding = bind(l, l->e->list);
    more = fn(l, NOE_FN_LIST_ADD, padding, none);
    emit_law(l, more, eq(l, more, padding));
    Z3_ast a = bind(l, l->e->list);
    Z3_ast len = fn(l, NOE_FN_LEN, a, NULL);
    emit_law(l, len, Z3_mk_ge(l->e->z3, len, num(l, 0)));
    Z3_ast x = bind(l, l->e->number), n = bind(l, l->e->number);
    Z3_ast rep = fn(l, NOE_FN_REP, x, n);
    emit_law(l, rep,
             implies(l, Z3_mk_ge(l->e->z3, n, num(l, 0)),
                     eq(l, fn(l, NOE_FN_LEN, rep, NULL), n)));
    a = bind(l, l->e->list);
    Z3_ast b = bind(l, l->e->list), cat = fn(l, NOE_FN_CAT, a, b);
    Z3_ast sum[2] = {fn(l, NOE_FN_LEN, a, NULL), fn(l, NOE_FN_LEN, b, NULL)};
    emit_law(l, cat, eq(l, fn(l, NOE_FN_LEN, cat, NULL), Z3_mk_add(l->e->z3, 2, sum)));
}

void noe_encode_theory(const noe_encoder *e, noe_op_set ops,
                       void (*emit)(void *ctx, Z3_ast law_), void *ctx)
{
    static const noe_op keep_rank[] = {
        NOE_OP_CONCAT, NOE_OP_SLICE,         NOE_OP_PAD,          NOE_OP_TRANSPOSE,
        NOE_OP_CONV,   NOE_OP_MAX_POOL,      NOE_OP_AVERAGE_POOL, NOE_OP_GATHER,
        NOE_OP_RESIZE, NOE_OP_CONV_TRANSPOSE};
    law l = {.e = e, .ops = ops, .emit = emit, .ctx = ctx};
    for (int op = 0; op < NOE_OP_COUNT; op++)
        simple_shape_law(&l, (noe_op)op);
    for (size_t i = 0; i < sizeof keep_rank / sizeof *keep_rank; i++)
        rank_law(&l, keep_rank[i]);
    axis_laws(&l);
    channel_laws(&l);
    size_laws(&l);
    matmul_laws(&l);
    slice_law(&l);
    product_laws(&l);
    reduce_laws(&l);
    broadcast_laws(&l);
    length_laws(&l);
    empty_list_laws(&l);
    cat_laws(&l);
    for (unsigned n = 1; n <= 5; n++) {
        for (unsigned m = 1; m <= 5; m++)
            broadcast_lists(&l, n, m);
    }
    for (unsigned n = 0; n <= NOE_ENCODE_MAX_LIST; n++)
        list_laws(&l, n);
}

/* Well-typedness of a candidate's nodes */

typedef struct typing {
    const noe_encoder *e;
    noe_scope *scope;
    void (*emit)(void *ctx, Z3_ast fact);
    void *ctx;
} typing;

static Z3_ast param_of(const typing *t, uint16_t node, noe_param p)
{
    const noe_pattern_node *n = &t->scope->rule->nodes[node];
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p)
            return n->params[i] == NOE_TERM_ABSENT
                       ? NULL
                       : noe_encode_term(t->e, t->scope, n->params[i]);
    }
    return NULL;
}

static void emit_axis(const typing *t, uint16_t node, Z3_ast operand)
{
    Z3_context z3 = t->e->z3;
    Z3_ast axis = param_of(t, node, NOE_PARAM_AXIS);
    law l = {.e = t->e};
    if (!axis)
        return;
    t->emit(t->ctx, Z3_mk_lt(z3, axis, rank(&l, operand)));
    t->emit(t->ctx, Z3_mk_ge(z3, axis, Z3_mk_unary_minus(z3, rank(&l, operand))));
}

/* One to three spatial axes. */
static void emit_conv_rank(const typing *t, Z3_ast operand)
{
    Z3_context z3 = t->e->z3;
    law l = {.e = t->e};
    t->emit(t->ctx, Z3_mk_ge(z3, rank(&l, operand), num(&l, 3)));
    t->emit(t->ctx, Z3_mk_le(z3, rank(&l, operand), num(&l, 5)));
}

static void emit_length(const typing *t, uint16_t node, noe_param p, Z3_ast n)
{
    law l = {.e = t->e};
    Z3_ast list = param_of(t, node, p);
    if (list)
        t->emit(t->ctx, eq(&l, fn(&l, NOE_FN_LEN, list, NULL), n));
}

/* Windows have as many numbers as there are spatial axes, pads two for each axis. */
static void emit_lengths(const typing *t, uint16_t node, Z3_ast operand)
{
    Z3_context z3 = t->e->z3;
    noe_op op = t->scope->rule->nodes[node].op;
    law l = {.e = t->e};
    Z3_ast n = rank(&l, operand), spatial[2] = {n, num(&l, 2)};
    if (op != NOE_OP_PAD)
        n = Z3_mk_sub(z3, 2, spatial);
    Z3_ast twice[2] = {num(&l, 2), n};
    emit_length(t, node, NOE_PARAM_PADS, Z3_mk_mul(z3, 2, twice));
    emit_length(t, node, NOE_PARAM_STRIDES, n);
    emit_length(t, node, NOE_PARAM_DILATIONS, n);
    emit_length(t, node, NOE_PARAM_KERNEL_SHAPE, n);
}

static void emit_operands(const typing *t, uint16_t node, const Z3_ast *in)
{
    Z3_context z3 = t->e->z3;
    law l = {.e = t->e};
    switch ((int)t->scope->rule->nodes[node].op) {
    case NOE_OP_CONCAT:
        t->emit(t->ctx, eq(&l, rank(&l, in[0]), rank(&l, in[1])));
        emit_axis(t, node, in[0]);
        break;
    case NOE_OP_GATHER:
    case NOE_OP_SLICE:
    case NOE_OP_SOFTMAX:
        emit_axis(t, node, in[0]);
        break;
    case NOE_OP_TRANSPOSE: {
        Z3_ast perm = param_of(t, node, NOE_PARAM_PERM);
        if (perm)
            t->emit(t->ctx, eq(&l, fn(&l, NOE_FN_LEN, perm, NULL), rank(&l, in[0])));
        break;
    }
    case NOE_OP_CONV:
    case NOE_OP_CONV_TRANSPOSE:
        t->emit(t->ctx, eq(&l, rank(&l, in[0]), rank(&l, in[1])));
        emit_conv_rank(t, in[0]);
        emit_lengths(t, node, in[0]);
        break;
    case NOE_OP_PAD:
        emit_lengths(t, node, in[0]);
        break;
    case NOE_OP_MAX_POOL:
    case NOE_OP_AVERAGE_POOL:
        emit_lengths(t, node, in[0]);
        emit_conv_rank(t, in[0]);
        break;
    case NOE_OP_RESIZE:
        emit_conv_rank(t, in[0]);
        break;
    case NOE_OP_MATMUL:
        t->emit(t->ctx, Z3_mk_ge(z3, rank(&l, in[0]), num(&l, 1)));
        t->emit(t->ctx, Z3_mk_ge(z3, rank(&l, in[1]), num(&l, 1)));
        break;
    }
}

/* Parameter variables stand for stored values: axes and bounds are not negative. */
static void emit_stored(const typing *t, const noe_pattern_node *p)
{
    Z3_context z3 = t->e->z3;
    law l = {.e = t->e};
    const noe_op_info *info = noe_op_get(p->op);
    for (int i = 0; i < info->n_params; i++) {
        const noe_term *term = p->params[i] == NOE_TERM_ABSENT
                                   ? NULL
                                   : &t->scope->rule->terms[p->params[i]];
        if (term && term->kind == NOE_TERM_PVAR &&
            noe_param_kind_of(info->params[i]) <= NOE_KIND_AXIS)
            t->emit(t->ctx, Z3_mk_ge(z3, t->scope->pvar[term->var], num(&l, 0)));
        if (term && term->kind == NOE_TERM_PVAR &&
            info->params[i] == NOE_PARAM_KEEPDIMS)
            t->emit(t->ctx, Z3_mk_le(z3, t->scope->pvar[term->var], num(&l, 1)));
        if (term && term->kind == NOE_TERM_PVAR && info->params[i] == NOE_PARAM_STEP)
            t->emit(t->ctx, Z3_mk_ge(z3, t->scope->pvar[term->var], num(&l, 1)));
    }
}

/* Bounds that are bound on the left are stored ones: they lie within the axis. */
static void emit_bounds(const typing *t, uint16_t node, Z3_ast operand)
{
    static const int64_t start_at = 1, end_at = 2; /* in the row of slice */
    Z3_context z3 = t->e->z3;
    const noe_pattern_node *p = &t->scope->rule->nodes[node];
    const noe_term *terms = t->scope->rule->terms;
    Z3_ast axis = param_of(t, node, NOE_PARAM_AXIS);
    Z3_ast start = param_of(t, node, NOE_PARAM_START);
    Z3_ast end = param_of(t, node, NOE_PARAM_END);
    law l = {.e = t->e};
    if (p->op != NOE_OP_SLICE || !axis || !end)
        return;
    if (terms[p->params[end_at]].kind == NOE_TERM_PVAR)
        t->emit(t->ctx, Z3_mk_le(z3, end, dim(&l, operand, axis)));
    if (start && terms[p->params[end_at]].kind == NOE_TERM_PVAR &&
        (terms[p->params[start_at]].kind == NOE_TERM_PVAR ||
         terms[p->params[start_at]].kind == NOE_TERM_INT))
        t->emit(t->ctx, Z3_mk_le(z3, start, end));
}

void noe_encode_typing(const noe_encoder *e, noe_scope *scope, uint16_t node,
                       bool is_left, void (*emit)(void *ctx, Z3_ast fact), void *ctx)
{
    const noe_pattern_node *p = &scope->rule->nodes[node];
    typing t = {e, scope, emit, ctx};
    Z3_ast in[NOE_RULE_MAX_INPUTS];
    if (p->is_var)
        return;
    for (int i = 0; i < p->n_inputs; i++) {
        noe_encode_typing(e, scope, p->inputs[i], is_left, emit, ctx);
        in[i] = noe_encode_node(e, scope, p->inputs[i]);
    }
    emit_operands(&t, node, in);
    emit_stored(&t, p);
    if (is_left && p->n_inputs > 0)
        emit_bounds(&t, node, in[0]);
}
