/* SPDX-License-Identifier: Apache-2.0
 *
 * What accepted pairs explain inside a universe: which e-nodes of a class their
 * instances connect.
 *
 * E-nodes have values for operands, so every smaller equality is taken for granted (it
 * was explained at its own level): the left side is matched over the e-graph, the nodes
 * of the right side are looked up. Terms larger than the universe are not seen; for
 * these there is saturate.h.
 */
#ifndef NOE_GENERATOR_EXPLAIN_H
#define NOE_GENERATOR_EXPLAIN_H

#include "generator/pair.h"

/* The pairs so far, listed by the moves at and below their roots. */
typedef struct noe_laws noe_laws;

noe_laws *noe_laws_new(const noe_universe *u);
void noe_laws_free(noe_laws *l);
void noe_laws_add(noe_laws *l, const noe_pair *pair);
uint32_t noe_laws_count(const noe_laws *l);
/* What classes offer to match from now on: their e-nodes below this level. */
void noe_laws_set_level(noe_laws *l, int level);

/* Scratch space of one thread. Several may be at work on different classes at once, as
 * long as nothing is added to the laws. parent is shared: an entry for each e-node. */
typedef struct noe_explainer noe_explainer;

noe_explainer *noe_explainer_new(const noe_laws *l, uint32_t *parent);
void noe_explainer_free(noe_explainer *x);
uint64_t noe_explainer_n_cut(const noe_explainer *x); /* matches given up */

/* Takes up a class at the level of the laws and joins what they connect. */
void noe_explain_class(noe_explainer *x, uint32_t value);
/* Joins what the laws from number `first` on connect. */
void noe_explain_more(noe_explainer *x, uint32_t first);
/* The most general e-node that nothing connects to the class's base yet, or
 * NOE_NO_OPERAND. */
uint32_t noe_explain_open(noe_explainer *x);
/* What it is to be compared with: an e-node, or NOE_NO_OPERAND for a leaf or constant.
 */
uint32_t noe_explain_base(const noe_explainer *x);
void noe_explain_join(noe_explainer *x, uint32_t e); /* with the base */
bool noe_explain_is_joined(noe_explainer *x, uint32_t e);

/* Small is general: constants weigh most, then variables that occur again. */
uint32_t noe_enode_key(const noe_enode *e);
/* Leaves that are variables, beyond the first of each. */
uint32_t noe_enode_repeats(const noe_enode *e);
/* Whether a class has a name of its own, beside its e-nodes: a leaf, zeros or ones. */
bool noe_class_stands_alone(const noe_universe *u, uint32_t value);

#endif
