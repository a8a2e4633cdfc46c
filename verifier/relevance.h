/* SPDX-License-Identifier: Apache-2.0
 *
 * Which axioms a proof of a rule would use, looked for before Z3 is asked: at typed
 * instances, where every shape and parameter is a literal, an e-graph is saturated with
 * all axioms (core/derive.h). A proof by axioms is a proof at each instance as well, so
 * where the sides stay apart there is none, as far as the e-graph was grown.
 *
 * A guess about where to search, never evidence: what it finds is proved by Z3.
 */
#ifndef NOE_VERIFIER_RELEVANCE_H
#define NOE_VERIFIER_RELEVANCE_H

#include "verifier/axioms.h"
#include "core/instance.h"

typedef enum noe_relevance_answer {
    NOE_RELEVANCE_NONE,    /* the axioms do not connect the sides */
    NOE_RELEVANCE_FOUND,   /* these do */
    NOE_RELEVANCE_UNKNOWN, /* the e-graph grew too large, or an axiom cannot be
                              used as a rewrite rule */
} noe_relevance_answer;

typedef struct noe_relevance noe_relevance;

/* axioms must outlive it. without: index of an axiom to leave out, or -1. */
noe_relevance *noe_relevance_new(const noe_axioms *axioms, int without);
void noe_relevance_free(noe_relevance *r);

/* FOUND: chosen[i] says whether axiom i is wanted. n_instances is at least 1. */
noe_relevance_answer noe_relevance_find(const noe_relevance *r, const noe_rule *rule,
                                        noe_instance *const *instances, int n_instances,
                                        bool *chosen);

/* An axiom of the rule's operators alone is no rewrite rule, in neither direction: it
 * was not tried. */
bool noe_relevance_is_blind(const noe_relevance *r, const noe_rule *rule);

#endif
