/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage LIA: the all-sizes proof. A rule is proved for every scheme it has: ranks of
 * its variables, lengths of its lists, values of its axes, permutations and flags.
 * Sizes, strides, pads, dilations, kernels, groups and slice bounds stay symbols. For
 * each scheme the elements of both sides are written as sums over symbols (lia_index.h,
 * lia_sum.h) and proved equal (lia_equal.h).
 */
#ifndef NOE_VERIFIER_LIA_H
#define NOE_VERIFIER_LIA_H

#include "core/rule.h"
#include "verifier/lia_laws.h"

typedef struct noe_lia noe_lia;

typedef struct noe_lia_config {
    int64_t rlimit;    /* Z3 resource units a question */
    int64_t questions; /* a rule */
    int max_rank;      /* of variables and of free lists */
    int max_schemes; /* a rule; beyond it the largest rank is lowered, to 3 at least */
} noe_lia_config;

#define NOE_LIA_DEFAULTS                                                         \
    (noe_lia_config)                                                             \
    {                                                                            \
        .rlimit = 100000, .questions = 20000, .max_rank = 5, .max_schemes = 1500 \
    }

typedef struct noe_lia_proof {
    bool proved;
    noe_buf reason;    /* why not */
    noe_buf ranks;     /* "36 schemes, ranks to 5" */
    noe_buf laws;      /* packs used, sorted, space separated */
    int n_schemes;     /* proved */
    int max_rank;      /* of variables, in these schemes */
    int64_t questions; /* put to Z3 */
    int64_t rlimit;    /* units spent */
    /* Sizes and parameters at which the sides may differ, where elements were found
     * that could not be proved equal: to be looked at by evaluation. */
    int n_suspects;
    noe_binding *suspect;
} noe_lia_proof;

/* Of the laws and of this prover's version: what a stored proof rests on. */
uint64_t noe_lia_hash(void);

noe_lia *noe_lia_new(const noe_lia_config *config);
void noe_lia_free(noe_lia *l);

/* stored: parameters that the left side binds have values as matched nodes have them
 * (axes not negative, slice bounds within the dimension): so for rules that a matcher
 * applies; not so for axioms. proof is overwritten; clear it with noe_lia_proof_clear.
 * smt2, if not NULL, gets every question put to Z3 as SMT-LIB2. */
void noe_lia_prove(noe_lia *l, const noe_rule *rule, bool stored, noe_lia_proof *proof,
                   noe_buf *smt2);
void noe_lia_proof_clear(noe_lia_proof *proof);

#endif
