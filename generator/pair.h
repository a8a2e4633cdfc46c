/* SPDX-License-Identifier: Apache-2.0
 *
 * A pair: two terms with concrete shapes and parameters that the universe found equal,
 * as two trees over shared variables. Pairs are what pruning hands to lifting.
 */
#ifndef NOE_GENERATOR_PAIR_H
#define NOE_GENERATOR_PAIR_H

#include "generator/universe.h"

#define NOE_PAIR_MAX_NODES 64
#define NOE_PAIR_MAX_VARS  12
#define NOE_PAIR_MAX_ROOTS 2

typedef enum noe_pair_kind {
    NOE_PAIR_AXIOM,   /* not derivable from the others */
    NOE_PAIR_DERIVED, /* derivable, kept because one side has fewer heavy operators */
    NOE_PAIR_SIBLING, /* two outputs: the parts of a cut */
} noe_pair_kind;

/* What a pair that others derive is good for, in one step. */
#define NOE_PAIR_USE_MAP(XX)                                                      \
    XX(NONE, "")                                                                  \
    XX(HEAVY, "merges heavy operators") /* one side has fewer of them */          \
    XX(FOLDS, "folds weights")          /* operators move from data to weights */ \
    XX(FEWER, "fewer operators")

typedef enum noe_pair_use {
#define XX(ID, TEXT) NOE_USE_##ID,
    NOE_PAIR_USE_MAP(XX)
#undef XX
} noe_pair_use;
const char *noe_pair_use_text(noe_pair_use use);

/* One rewrite of a derivation: which pair, in which direction, and where: the operand
 * numbers on the way from the root of the term. */
#define NOE_STEP_SWAP      (-1) /* the operands of a commutative operator */
#define NOE_STEP_MAX_DEPTH 30
typedef struct noe_pair_step {
    int rule;         /* id of the pair */
    bool is_backward; /* its right side becomes its left one */
    uint8_t depth, at[NOE_STEP_MAX_DEPTH];
} noe_pair_step;

/* The steps from the left side of a pair to the right one, for each output in turn. */
typedef struct noe_pair_proof {
    noe_pair_step *steps; /* malloc'ed */
    int n, cap;
} noe_pair_proof;

typedef struct noe_pair_node {
    bool is_var;
    bool is_weight; /* no data goes in */
    bool is_mask;
    noe_dtype dtype; /* see noe_pair_var */
    int var;
    noe_op op;
    noe_params params;
    int move; /* of operators that are not constants */
    int n_in;
    int in[NOE_SPACE_MAX_IN];
    noe_shape shape;
    uint32_t value; /* in the universe; NOE_NO_OPERAND for roots */
} noe_pair_node;

typedef struct noe_pair_var {
    char name[16];
    noe_shape shape;
    bool is_mask;    /* 0 and 1 only */
    noe_dtype dtype; /* a mask is f32 here: rules say nothing of bool */
} noe_pair_var;

typedef struct noe_pair {
    noe_pair_kind kind;
    int id; /* in its space: what derivations name */
    noe_pair_use use;
    bool is_deferred; /* derivable and of no use: wanted only if its derivation fails */
    noe_pair_proof why; /* of what is derivable; empty if none was found */
    int level;          /* operators of the larger side */
    noe_pair_node nodes[NOE_PAIR_MAX_NODES]; /* operands before operators, not shared */
    int n_nodes;
    noe_pair_var vars[NOE_PAIR_MAX_VARS];
    int n_vars;
    int lhs[NOE_PAIR_MAX_ROOTS], rhs[NOE_PAIR_MAX_ROOTS];
    int n_roots;
} noe_pair;

/* The pair (e-node left, e-node right), or with right NOE_NO_OPERAND (e-node left, the
 * leaf of its class). false if it is larger than the limits above. */
bool noe_pair_make(const noe_universe *u, uint32_t left, uint32_t right,
                   noe_pair *pair);
bool noe_pair_make_sibling(const noe_universe *u, const noe_sibling *s, noe_pair *pair);

/* Whether both sides agree on n_rounds fresh random assignments, each with its own
 * field key, and neither divides by what is 0 whatever is drawn: such a side exists
 * nowhere over the reals. */
bool noe_pair_holds(const noe_pair *pair, uint64_t seed, int n_rounds);

/* Whether an operator asks for the order of numbers (trait ORDER). */
bool noe_pair_has_order(const noe_pair *pair);

/* Variables of the left and of the right side, a bit each. */
void noe_pair_variables(const noe_pair *pair, uint32_t vars[2]);

/* Marks the nodes of the left side; mark has NOE_PAIR_MAX_NODES entries. */
void noe_pair_mark_left(const noe_pair *pair, bool *mark);

/* Leaves of the left and of the right side: constants, and uses of variables. */
void noe_pair_count_leaves(const noe_pair *pair, uint32_t n_constants[2],
                           uint32_t n_uses[2]);

/* Operators that data goes through, heavy ones as NOE_HEAVY_COST, of each side. */
#define NOE_HEAVY_COST 5
void noe_pair_costs(const noe_pair *pair, int cost[2], bool *has_weight_op);

/* The side that costs more, 0 or 1, or -1; of siblings the left one. */
int noe_pair_costly_side(const noe_pair *pair);

/* Whether an operator of that kind is on a side. */
bool noe_pair_has_op(const noe_pair *pair, noe_op op);

/* Whether a derivable pair is worth having, and why: no constants, and one side is
 * cheaper, has no variable that the other one lacks, and has each once; by a heavy
 * operator, or by `gain` others, or by what becomes an operation on weights, done
 * beforehand. A search by cost wants such a step at once. */
noe_pair_use noe_pair_use_of(const noe_pair *pair, int gain);

/* Makes the pair more general while it still holds: terms that both sides share become
 * variables, and variables that occur several times are split. */
void noe_pair_generalize(noe_pair *pair, uint64_t seed);

/* "add(x1, x2) == add(x2, x1)" with concrete parameters; shapes as "x1=[2,3] x2=[2,3]".
 */
void noe_pair_print(noe_buf *b, const noe_pair *pair);
void noe_pair_print_shapes(noe_buf *b, const noe_pair *pair);

void noe_pair_proof_clear(noe_pair_proof *d);
/* Frees an array of pairs with their derivations. */
void noe_pairs_free(noe_pair *pairs, int n);

#endif
