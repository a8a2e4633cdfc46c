/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules as formulas of Z3. Axioms and candidates go through the same code.
 *
 * Sorts: T tensors, L lists, D floating-point parameters, Int numbers and axes. An
 * operator is a function from its parameters and operands to T; `shape` maps T to L,
 * dim(?a, k) is at(shape(a), k), rank(?a) is len(shape(a)).
 */
#ifndef NOE_VERIFIER_ENCODE_H
#define NOE_VERIFIER_ENCODE_H

#include "verifier/axioms.h"
#include "core/instance.h"
#include <z3.h>

#define NOE_ENCODE_MAX_FRESH 24
#define NOE_ENCODE_MAX_LIST  10 /* list constructors with laws */

typedef enum noe_function {
    NOE_FN_SHAPE,
    NOE_FN_LEN,
    NOE_FN_AT,
    NOE_FN_PICK, /* at(list, list) */
    NOE_FN_CAT,
    NOE_FN_REP,
    NOE_FN_PROD,
    NOE_FN_SUM,
    NOE_FN_TAKE,
    NOE_FN_SKIP,
    NOE_FN_WITHOUT,
    NOE_FN_WITH_ONES,
    NOE_FN_RANGE,
    NOE_FN_HAS,
    NOE_FN_LIST_ADD,
    NOE_FN_LIST_SUB,
    NOE_FN_LIST_MUL,
    NOE_FN_LIST_DIV,
    NOE_FN_LIST_MOD,
    NOE_FN_LIST_MIN,
    NOE_FN_LIST_MAX,
    NOE_FN_MUL, /* of two numbers neither of which is literal */
    NOE_FN_DIV,
    NOE_FN_MOD,
    NOE_FN_BROADCAST,     /* of two shapes */
    NOE_FN_DEFAULT_ONES,  /* strides, dilations as long as they need be */
    NOE_FN_DEFAULT_ZEROS, /* pads */
    NOE_FN_COUNT
} noe_function;

typedef struct noe_encoder {
    Z3_context z3;
    Z3_sort tensor, list, real, number, boolean;
    Z3_func_decl op[NOE_OP_COUNT];
    Z3_func_decl fn[NOE_FN_COUNT];
    Z3_func_decl make_list[NOE_MAX_LIST + 1];
    Z3_func_decl typed; /* mark of the terms that laws are used of */
} noe_encoder;

/* What a rule's variables stand for in a formula. */
typedef struct noe_scope {
    const noe_rule *rule;
    Z3_ast var[NOE_RULE_MAX_VARS], pvar[NOE_RULE_MAX_PVARS];
    /* Where ranks are known: a typed instance that has them. */
    const noe_instance *ranks;
    /* In a pattern, a computed parameter becomes a fresh variable and an equation. */
    bool pattern;
    Z3_ast fresh[NOE_ENCODE_MAX_FRESH], equation[NOE_ENCODE_MAX_FRESH];
    int n_fresh;
} noe_scope;

void noe_encoder_init(noe_encoder *e, Z3_context z3);

/* Constants for the variables, named as in the rule. */
void noe_scope_init(const noe_encoder *e, const noe_rule *rule, noe_scope *scope);
Z3_ast noe_encode_node(const noe_encoder *e, noe_scope *scope, uint16_t node);
Z3_ast noe_encode_term(const noe_encoder *e, noe_scope *scope, uint16_t term);
/* The condition, true if there is none. */
Z3_ast noe_encode_where(const noe_encoder *e, noe_scope *scope);
/* What follows from node and everything below it being well-typed; is_left: it is part
 * of the left side, whose parameters are stored ones. */
void noe_encode_typing(const noe_encoder *e, noe_scope *scope, uint16_t node,
                       bool is_left, void (*emit)(void *ctx, Z3_ast fact), void *ctx);
/* Where ranks are known, with scope->ranks set: shapes and list parameters as lists of
 * numbers, and what well-typedness says of these numbers. */
void noe_encode_ranks(const noe_encoder *e, noe_scope *scope,
                      void (*emit)(void *ctx, Z3_ast fact), void *ctx);
/* All nodes and list parameters have the lengths they have in scope->ranks. */
Z3_ast noe_encode_has_ranks(const noe_encoder *e, noe_scope *scope);
Z3_ast noe_encode_shape_of(const noe_encoder *e, Z3_ast tensor);

/* Quantified formulas of an axiom, one for each side that can be a pattern: the pattern
 * and, if `mark` is not NULL, mark(variables) besides the equation, so that an instance
 * tells what it is an instance of. Returns how many (0..2). */
int noe_encode_axiom(const noe_encoder *e, const noe_axiom *axiom, int index,
                     Z3_ast out[2]);
/* A set of operators, bit 1 << op. */
__extension__ typedef unsigned __int128 noe_op_set;

/* Laws of lists, and of the shapes of what these operators make. */
void noe_encode_theory(const noe_encoder *e, noe_op_set ops,
                       void (*emit)(void *ctx, Z3_ast law), void *ctx);

#endif
