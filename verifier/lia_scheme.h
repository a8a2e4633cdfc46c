/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule under one choice of ranks, list lengths, axes, permutations and flags.
 */
#ifndef NOE_VERIFIER_LIA_SCHEME_H
#define NOE_VERIFIER_LIA_SCHEME_H

#include "core/rule.h"
#include "verifier/lia_index.h"

/* How a parameter variable is chosen: literals, or symbols. */
typedef struct noe_choice {
    bool made, is_list, is_literal, is_real;
    bool is_entries; /* a list of any length: one symbol, which is its length */
    int n;           /* entries, 1 for a number */
    int8_t value[NOE_MAX_LIST]; /* literals */
    bool is_natural;
} noe_choice;

typedef struct noe_choices {
    int8_t rank[NOE_RULE_MAX_VARS]; /* -1: not chosen */
    noe_choice pvar[NOE_RULE_MAX_PVARS];
} noe_choices;

typedef struct noe_scheme {
    const noe_rule *rule;
    noe_algebra *a;
    bool stored;
    noe_choices choice;
    noe_symbol dim[NOE_RULE_MAX_VARS][NOE_MAX_RANK];
    noe_symbol pvar[NOE_RULE_MAX_PVARS][NOE_MAX_LIST];
    noe_symbol aux[NOE_RULE_MAX_NODES][NOE_INDEX_AUX];
    bool has_aux[NOE_RULE_MAX_NODES];
    bool is_left[NOE_RULE_MAX_NODES];
    noe_dims type[NOE_RULE_MAX_NODES];
    noe_symbolic param[NOE_RULE_MAX_NODES][NOE_MAX_PARAMS];
    noe_formula *fact;
    int n_facts, cap_facts;
    const char *reason; /* of NOE_FIT_UNKNOWN */
} noe_scheme;

void noe_scheme_init(noe_scheme *s, const noe_rule *rule, noe_algebra *a, bool stored);
void noe_scheme_clear(noe_scheme *s);
/* Chooses, and makes the symbols. */
void noe_scheme_choose_rank(noe_scheme *s, int var, int rank);
void noe_scheme_choose(noe_scheme *s, int pvar, const noe_choice *choice);
/* A part of the condition that speaks of chosen things only is false, by literals. */
bool noe_scheme_contradicts(noe_scheme *s);
/* Shape and parameters of a node whose operands and parameters are chosen. */
noe_fit noe_scheme_type(noe_scheme *s, int node);
/* Output shapes are equal and the condition holds: adds facts. */
noe_fit noe_scheme_conclude(noe_scheme *s);
/* Types all nodes with all choices made, again and again while facts define symbols. */
noe_fit noe_scheme_solve(noe_scheme *s);
/* A parameter variable without a choice that the node's parameters need, -1: none. */
int noe_scheme_open_var(const noe_scheme *s, int node); /* the same for ranks */
int noe_scheme_open_pvar(const noe_scheme *s, int node);
const noe_expr *noe_scheme_element(noe_scheme *s, int node, const noe_poly *index);
/* "a:2 b:1 $a=[1,0]" */
void noe_scheme_print(const noe_scheme *s, noe_buf *b);

#endif
