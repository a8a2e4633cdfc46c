/* SPDX-License-Identifier: Apache-2.0
 *
 * One-edit mutants of rules, and what the verifier says of them against what brute
 * force says (brute.h). For the suite (1,000) and for bench/mutants.sh (10,000).
 */
#ifndef NOE_TESTS_VERIFIER_MUTANTS_H
#define NOE_TESTS_VERIFIER_MUTANTS_H

#include "core/base/rng.h"
#include "tests/verifier/brute.h"
#include "verifier/verify.h"

#define MUTATION_MAP(XX)                                      \
    XX(OPERATOR, "operator replaced by one of the same form") \
    XX(OPERANDS, "operands swapped")                          \
    XX(PARAMETER, "parameter changed")                        \
    XX(VARIABLE, "one use of a variable is another one")      \
    XX(CONSTANT, "constant changed")                          \
    XX(CONDITION, "conjunct of the condition dropped")

typedef enum mutation {
#define XX(ID, TEXT) MUTATE_##ID,
    MUTATION_MAP(XX)
#undef XX
        MUTATIONS
} mutation;
const char *mutation_text(mutation m);

/* One random edit of one side (or of the condition); false if there is no place for it
 * or the result is no rule or the same rule. */
bool mutate(const noe_rule *rule, mutation m, noe_rng *rng, noe_rule *mutant);

typedef struct mutants_count {
    /* by mutation, what brute force says, verdict */
    int n[MUTATIONS][BRUTE_FALSE + 1][NOE_VERDICT_COVERED];
    int refuted_by[3];           /* stage type, field, other */
    int operators[NOE_OP_COUNT]; /* mutants in which the operator occurs */
    int n_survivors;             /* false, and proved */
    noe_buf survivors;           /* "text: where" lines */
    int n_rejected;              /* brute force saw no difference, refuted */
    noe_buf rejected;            /* "text: reason" lines, the first 40 */
    double cpu_verify, cpu_brute;
} mutants_count;

/* n mutants of the rules, mutation and rule by turns; deterministic. */
void count_mutants(noe_verifier *v, const noe_rule *const *rules, int n_rules, int n,
                   uint64_t seed, int n_tries, int n_found, mutants_count *count);

#endif
