/* SPDX-License-Identifier: Apache-2.0
 *
 * A second opinion on rules that shares no evaluation with the project: every operator
 * is written down once more, element by element in double precision, as its ONNX
 * specification reads. Rules are evaluated at shapes drawn here (small sizes, all
 * ranks, parameters of all kinds) and at some that core/instance.h finds. Only the
 * typing of an instance is the project's own.
 */
#ifndef NOE_TESTS_VERIFIER_BRUTE_H
#define NOE_TESTS_VERIFIER_BRUTE_H

#include "core/instance.h"

typedef enum brute_answer {
    BRUTE_NOTHING, /* no typed instance, or an operator that brute.c does not know */
    BRUTE_TRUE,    /* no difference at any instance */
    BRUTE_FALSE,
} brute_answer;

typedef struct brute_report {
    brute_answer answer;
    int n_instances;
    noe_buf where; /* BRUTE_FALSE: shapes, position, both values */
} brute_report;

bool brute_knows(const noe_rule *rule);
/* n_tries shapes are drawn here, and as many found by the project as n_found. */
void brute_check(const noe_rule *rule, uint64_t seed, int n_tries, int n_found,
                 brute_report *report);

/* The same at one more instance, somebody else's. */
void brute_look(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                brute_report *report);

#endif
