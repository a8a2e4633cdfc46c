/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs by equality saturation: whether a pair follows from other pairs, and how.
 *
 * Terms have concrete shapes and parameters and may be larger than those of a universe.
 * What is proved is an equation of the pair's own terms; that the pairs used hold
 * wherever they are used here is for the verifier (docs/ruledb.md, deferred
 * candidates).
 */
#ifndef NOE_GENERATOR_SATURATE_H
#define NOE_GENERATOR_SATURATE_H

#include "generator/pair.h"

/* Pairs to rewrite with, numbered from 0. */
typedef struct noe_rewrites noe_rewrites;

noe_rewrites *noe_rewrites_new(void);
void noe_rewrites_free(noe_rewrites *r);
/* Adds a pair with one output, enabled; its number. Sides that lack variables of the
 * other one are not rewritten. */
int noe_rewrites_add(noe_rewrites *r, const noe_pair *pair);
void noe_rewrites_enable(noe_rewrites *r, int number, bool on);

/* Scratch space of one thread. seed chooses the points at which every step is
 * evaluated. */
typedef struct noe_saturation noe_saturation;

noe_saturation *noe_saturation_new(uint64_t seed);
void noe_saturation_free(noe_saturation *g);

typedef struct noe_proof_limits {
    int n_terms; /* at most NOE_SATURATION_MAX_TERMS */
    int n_extra; /* operators of an intermediate term beyond those of the larger side */
    int n_rounds;
    int exclude; /* number of a pair that is not used, or -1 */
} noe_proof_limits;
#define NOE_SATURATION_MAX_TERMS 4096

/* Whether the enabled pairs derive this one within the limits; not found is no proof of
 * the contrary. out may be NULL; what it had is cleared. With out, a proof whose
 * derivation does not fit the limits of pair.h counts as not found; its steps name the
 * numbers of r. The answer
 * depends on the pairs, their order, the limits and the seed alone. */
bool noe_saturation_derives(noe_saturation *g, const noe_rewrites *r,
                            const noe_pair *pair, const noe_proof_limits *limits,
                            noe_pair_proof *out);

#endif
