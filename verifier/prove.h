/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage Z3: derives a rule from the axioms.
 */
#ifndef NOE_VERIFIER_PROVE_H
#define NOE_VERIFIER_PROVE_H

#include "verifier/axioms.h"
#include "core/instance.h"

typedef struct noe_prover noe_prover;

typedef struct noe_proof {
    bool proved;
    noe_buf reason;      /* why not */
    noe_buf axioms;      /* names of the axioms used, sorted, space separated */
    noe_buf certificate; /* ground instances of axioms, one a line */
    noe_buf ranks;       /* "a:1 b:2; a:2 b:2": for these only; "" for all */
    int n_steps, n_ranks;
    int64_t rlimit; /* resource units spent */
    /* Asked for: the proof without quantifiers as SMT-LIB2, a script a root and choice
     * of ranks, each ended by "(reset)\n"; unsatisfiable is proved. */
    noe_buf scripts;
} noe_proof;

/* axioms must outlive the prover. without: index of an axiom to leave out, -1 for none.
 * One prover, one thread. */
noe_prover *noe_prover_new(const noe_axioms *axioms, int64_t rlimit, unsigned seed,
                           int without);
void noe_prover_free(noe_prover *prover);
/* Proofs from now on have scripts, or not. */
void noe_prover_ask_scripts(noe_prover *prover, bool yes);

/* The instances are typed instances of the rule: every axiom instance of the proof must
 * be well-typed, meet its condition and hold in FIELD at each of them. in_domain: the
 * rule is meant only where the roots and logarithms of its left side exist. proof is
 * overwritten; clear it with noe_proof_clear. */
void noe_prover_prove(noe_prover *prover, const noe_rule *rule,
                      noe_instance *const *instances, int n_instances, bool in_domain,
                      noe_proof *proof);
void noe_proof_clear(noe_proof *proof);

/* SMT-LIB2 script of the laws and the axioms; with a rule, also its negated goals, one
 * push/pop block a root. */
void noe_prover_print_smt2(noe_prover *prover, const noe_rule *rule, noe_buf *b);
/* "Z3 4.8.12.0" */
const char *noe_prover_version(void);

#endif
