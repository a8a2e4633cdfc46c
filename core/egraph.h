/* SPDX-License-Identifier: Apache-2.0
 *
 * E-graphs that remember why (internal to core/derive*.c). A node is an operator over
 * other nodes, and so one term; classes of equal nodes are kept by union-find, and
 * closed under congruence by noe_egraph_rebuild. Commutative operators are congruent in
 * both orders of operands, as in core/graph.h. Every union leaves an edge in a proof
 * forest whose paths are never changed by later unions.
 */
#ifndef NOE_CORE_EGRAPH_H
#define NOE_CORE_EGRAPH_H

#include "core/rule.h"

#define NOE_ENODE_NONE UINT32_MAX
/* In place of an application: operands are equal, as they are or the other way round.
 */
#define NOE_CONGRUENCE         UINT32_MAX
#define NOE_CONGRUENCE_SWAPPED (UINT32_MAX - 1)

typedef struct noe_enode {
    noe_op op; /* NOE_OP_INPUT, NOE_OP_WEIGHT: variable in[0] */
    uint8_t n_in;
    bool is_weight;
    uint32_t params; /* number in noe_egraph.params */
    uint32_t in[NOE_RULE_MAX_INPUTS];
    noe_type type;
    uint32_t application; /* that made it, NOE_CONGRUENCE: the goal did */
    uint16_t pattern;     /* which node of the goal or of the application's rule */
    uint32_t parent;      /* of union-find */
    uint32_t next;        /* the members of a class in a circle */
    uint32_t n_ops;       /* at the representative: fewest of a term of the class */
    uint32_t proof;    /* the neighbour towards the root of the proof tree, or NONE */
    uint32_t proof_by; /* application or NOE_CONGRUENCE(_SWAPPED) */
} noe_enode;

typedef struct noe_egraph {
    noe_enode *nodes;
    uint32_t n_nodes, cap_nodes;
    noe_params *params;
    uint32_t n_params, cap_params;
    uint32_t *slots; /* node + 1 by operator, parameters, classes of operands */
    uint32_t n_slots;
    bool is_dirty; /* unions since the last rebuild */
} noe_egraph;

void noe_egraph_clear(noe_egraph *e);
uint32_t noe_egraph_params(noe_egraph *e, const noe_params *params);
uint32_t noe_egraph_find(const noe_egraph *e, uint32_t node);
/* Adds the node, or finds one that is congruent to it: op, params, in, n_in, type,
 * application and pattern are the caller's. */
uint32_t noe_egraph_add(noe_egraph *e, const noe_enode *node);
uint32_t noe_egraph_lookup(const noe_egraph *e, const noe_enode *node); /* or NONE */
/* Fewest operators that the node would have. */
uint32_t noe_egraph_ops(const noe_egraph *e, const noe_enode *node);
void noe_egraph_union(noe_egraph *e, uint32_t a, uint32_t b, uint32_t by);
void noe_egraph_rebuild(noe_egraph *e);

#endif
