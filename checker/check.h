/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the certificate of a rule: at typed instances of the rule, every axiom
 * instance that the certificate lists is typed by the shape rules, meets the axiom's
 * condition or says nothing, and is evaluated in the field; congruence closure over
 * them must give the rule.
 *
 * This folder shares core with the prover (the operator table, the text form, shape
 * rules, evaluation in the field) and nothing else: no Z3, no encoding of rules as
 * formulas, none of the laws of lists and shapes that the prover tells Z3.
 */
#ifndef NOE_CHECKER_CHECK_H
#define NOE_CHECKER_CHECK_H

#include "core/rule.h"

typedef struct noe_checker noe_checker;

typedef struct noe_checker_config {
    uint64_t seed;
    int n_instances; /* of each rule to look for; at least one must be found */
} noe_checker_config;
#define NOE_CHECKER_DEFAULTS         \
    (noe_checker_config)             \
    {                                \
        .seed = 2, .n_instances = 12 \
    }

typedef struct noe_checker_answer {
    bool ok;
    noe_buf reason; /* why not; one line */
    int n_instances, n_steps;
} noe_checker_answer;

/* axioms_text NULL: verifier/axioms.txt, embedded. path names it in errors. */
NOE_NODISCARD noe_status noe_checker_new(const noe_checker_config *config,
                                         const char *axioms_text, const char *path,
                                         noe_checker **checker, noe_error *err);
void noe_checker_free(noe_checker *checker); /* NULL is fine */

/* answer is overwritten; clear it with noe_checker_answer_clear. A malformed text is a
 * refusal like any other. Depends on the arguments, the axioms and the config only. */
void noe_checker_check(const noe_checker *checker, const char *rule_text,
                       const char *certificate, noe_checker_answer *answer);
void noe_checker_answer_clear(noe_checker_answer *answer);

#endif
