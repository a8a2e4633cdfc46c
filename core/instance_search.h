/* SPDX-License-Identifier: Apache-2.0
 *
 * Between core/instance.c (choosing shapes for variables) and core/inverse.c
 * (choosing an operator's operands from its output). One search is one attempt: choices
 * are made once, at random, and a choice that does not fit fails the attempt.
 */
#ifndef NOE_CORE_INSTANCE_SEARCH_H
#define NOE_CORE_INSTANCE_SEARCH_H

#include "core/instance.h"

#define NOE_SEARCH_POOL 8

typedef struct noe_search {
    const noe_rule *rule;
    noe_dtype dtype[NOE_RULE_MAX_VARS];
    noe_rng *rng;
    noe_instance *inst;
    bool known[NOE_RULE_MAX_NODES]; /* inst->type holds the node's type */
    int64_t pool[NOE_SEARCH_POOL];  /* dimensions, used round-robin */
    int n_pool, next;
    int rank;
    int64_t max_elements;
    uint16_t facts[32]; /* conjuncts `x == y` of the condition */
    int n_facts;
} noe_search;

/* Element types for the rule's variables such that its operators have types, and in b
 * the values of parameter variables that name one. False where there are none, or were
 * not found. */
bool noe_instance_types(const noe_rule *rule, noe_rng *rng, noe_dtype *types,
                        noe_binding *b);

/* One guess, for rules without parameter variables (core/instance_guess.c). */
bool noe_instance_guess(const noe_rule *rule, noe_rng *rng, bool wants_spread,
                        noe_instance *inst);

/* Makes node's output have the wanted shape (rank NOE_RANK_UNKNOWN: any) by choosing
 * what is still free below it. */
bool noe_search_solve(noe_search *s, uint16_t node, const noe_shape *want);
/* The type of a node whose variables and parameters are all chosen already. */
const noe_shape *noe_search_known(noe_search *s, uint16_t node);

/* Whether the condition says what shape this variable has, but by what is not known
 * yet. */
bool noe_search_waits(noe_search *s, uint16_t node);
/* Whether the condition says it, and it is not chosen yet. */
bool noe_search_is_said(noe_search *s, uint16_t node);

int64_t noe_search_dim(noe_search *s);
noe_shape noe_search_shape(noe_search *s, int rank);
int noe_search_rank(noe_search *s, int lo, int hi);
bool noe_search_chance(noe_search *s, int one_in);

/* A shape that broadcasts into `shape`: some axes 1, some leading axes missing. */
noe_shape noe_search_shrink(noe_search *s, const noe_shape *shape);
/* Axis 0..rank-1 that node's parameter `axis` names, chosen when it is free; -1: none.
 */
int noe_search_axis(noe_search *s, uint16_t node, int rank);

/* The value of a parameter: written and evaluable, or the default, or free. A free
 * parameter variable is bound to the suggestion (or to what the condition says it is);
 * a term that cannot be evaluated yet is guessed to be the suggestion and checked in
 * the end. spatial: number of spatial axes if known, for defaults. */
noe_value noe_search_param(noe_search *s, uint16_t node, noe_param p, int spatial,
                           const noe_value *suggestion);
/* Whether the parameter is written as that axis of that operand, a variable. */
bool noe_search_is_dim_of(const noe_search *s, uint16_t node, noe_param p,
                          uint16_t input, int64_t axis);
/* Whether the parameter has a value without choosing one. */
bool noe_search_has_param(noe_search *s, uint16_t node, noe_param p, int spatial,
                          noe_value *v);

/* Chooses operands and parameters of node; NULL where there is no inverse. */
typedef bool noe_inverse_fn(noe_search *s, uint16_t node, const noe_shape *want);
noe_inverse_fn *noe_inverse_of(noe_op op);

/* core/inverse_structure.c */
noe_inverse_fn noe_inverse_gather, noe_inverse_expand, noe_inverse_resize,
    noe_inverse_conv_transpose, noe_inverse_where, noe_inverse_scalar;

/* core/inverse_composite.c */
noe_inverse_fn noe_inverse_gemm, noe_inverse_batch_normalization, noe_inverse_flatten,
    noe_inverse_squeeze, noe_inverse_unsqueeze, noe_inverse_layer_normalization,
    noe_inverse_instance_normalization, noe_inverse_group_normalization;

#endif
