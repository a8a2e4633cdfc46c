/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching rules against graphs, and applying them.
 *
 * Requirements that make a rewrite sound (each checked here):
 *   1. the left side matches structurally, commutative operators in both orders, equal
 *      variables bound to equal values, parameters equal after evaluation;
 *   2. all variables of the right side are bound; weight variables to weight values;
 *   3. the rule's condition holds for the bound types;
 *   4. element types: what is matched and what is built is what the algebra computes
 *      (noe_op_computes). A law is proved for real numbers and for every function that
 * a cast may be, and values of each type are real numbers: so it holds whatever types
 *      its variables have, as long as both sides have types at all. Layout thus moves
 * in every type, arithmetic only in f32;
 *   5. the right side is well-typed and its outputs have the types of the left's.
 *   6. where the graph's pool leaves sizes open: 3 and 5 hold for all of them (open.h).
 * Interior nodes of the left side may have other uses: they are then simply kept.
 */
#ifndef NOE_CORE_MATCH_H
#define NOE_CORE_MATCH_H

#include "core/rule.h"

typedef struct noe_match {
    noe_binding binding;
    noe_ref root[NOE_RULE_MAX_ROOTS];
    uint32_t image[NOE_RULE_MAX_NODES]; /* graph node of each left-side pattern node */
} noe_match;

/* All ways in which the left side matches with its first root at `node` (roots beyond
 * the first are sought among all nodes of their operator). Calls fn for each; fn
 * returns false to stop. Deterministic order. Returns the number of matches seen. */
typedef bool noe_match_fn(void *ctx, const noe_match *match);
int noe_rule_match(const noe_rule *rule, const noe_graph *g, uint32_t node,
                   noe_match_fn *fn, void *ctx);

/* Adds the right side to g (append-only) and returns the refs of its roots. Fails with
 * NOE_ERR_SHAPE where requirement 5 does not hold; g then only has unused nodes more.
 */
NOE_NODISCARD noe_status noe_rule_instantiate(const noe_rule *rule, noe_graph *g,
                                              const noe_match *match, noe_ref *roots,
                                              noe_error *err);

/* A new graph: g with match replaced by the right side, dead nodes dropped, names and
 * origins of untouched nodes kept, the name of a replaced root given to its
 * replacement. */
NOE_NODISCARD noe_status noe_rule_apply(const noe_rule *rule, const noe_graph *g,
                                        const noe_match *match, noe_graph **out,
                                        noe_error *err);

#endif
