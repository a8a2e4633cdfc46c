/* SPDX-License-Identifier: Apache-2.0
 *
 * Z3 solvers that know part of the axioms. A goal is asserted on top of the one for its
 * operators and popped again.
 */
#ifndef NOE_VERIFIER_SOLVER_H
#define NOE_VERIFIER_SOLVER_H

#include "verifier/encode.h"

/* Which axioms a solver knows, given the operators of a goal. */
typedef enum noe_reach {
    NOE_REACH_LAWS, /* none: the laws of shapes and lists alone */
    NOE_REACH_NEAR, /* those of these operators and of their definitions */
    NOE_REACH_SOME, /* chosen ones */
    NOE_REACH_ALL,
} noe_reach;

typedef struct noe_solver {
    noe_encoder e;
    Z3_solver z3;
    bool is_loaded; /* NOE_REACH_NEAR, _SOME: with axioms on top */
    noe_op_set ops; /* NOE_REACH_NEAR: of these operators, bit 1 << op */
    int n_goals;    /* asked so far */
} noe_solver;

typedef struct noe_solvers noe_solvers;

/* axioms must outlive the solvers. without: index of an axiom to leave out, or -1. */
noe_solvers *noe_solvers_new(const noe_axioms *axioms, unsigned seed, int without);
void noe_solvers_free(noe_solvers *solvers);

/* Operators that occur in a rule. */
noe_op_set noe_solver_ops(const noe_rule *rule);
/* Lives until the next call with this reach. rlimit: resource units a check. */
noe_solver *noe_solvers_get(noe_solvers *solvers, noe_op_set ops, noe_reach reach,
                            int64_t rlimit);
/* The same for NOE_REACH_SOME: axiom i if chosen[i]. */
noe_solver *noe_solvers_get_some(noe_solvers *solvers, const bool *chosen,
                                 int64_t rlimit);
/* noe_encode_* emit to it; ctx is the solver. */
void noe_solver_assert(void *ctx, Z3_ast formula);
/* Resource units spent so far. */
int64_t noe_solver_spent(const noe_solver *s);

#endif
