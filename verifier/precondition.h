/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage 5: the weakest condition, a conjunction from the vocabulary, under which a rule
 * that is false at some instances and true at others is proved for all sizes.
 */
#ifndef NOE_VERIFIER_PRECONDITION_H
#define NOE_VERIFIER_PRECONDITION_H

#include "core/field_check.h"

typedef struct noe_precondition_config {
    uint64_t seed;
    int rounds; /* candidates looked at, in each of two phases; 0: no search */
    int proofs; /* attempted, in each */
} noe_precondition_config;

#define NOE_PRECONDITION_DEFAULTS  \
    (noe_precondition_config)      \
    {                              \
        .rounds = 32, .proofs = 12 \
    }

typedef struct noe_precondition {
    bool found;
    noe_rule *rule;    /* with the condition; NULL unless found */
    noe_buf condition; /* all of it, as text */
    noe_buf how;       /* "12 of 57 instances true, 3 rounds, 1 proof"; or why not */
    int n_true, n_false, n_rounds, n_proofs;
} noe_precondition;

/* Whether the rule, with a condition, is proved for all sizes. */
typedef bool noe_precondition_prove_fn(void *ctx, const noe_rule *rule);

/* field, if not NULL, is what FIELD found out about the rule: its instances are where
 * the search begins. Depends on that, the rule, the configuration and what prove
 * answers. found is overwritten; clear it with noe_precondition_clear. */
void noe_precondition_find(const noe_rule *rule, const noe_field_report *field,
                           const noe_precondition_config *config,
                           noe_precondition_prove_fn *prove, void *ctx,
                           noe_precondition *found);
void noe_precondition_clear(noe_precondition *p);

#endif
