/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verifier's suites share: rules from text and from rule files.
 */
#ifndef NOE_TESTS_VERIFIER_FIXTURE_H
#define NOE_TESTS_VERIFIER_FIXTURE_H

#include "tests/support/support.h"
#include "verifier/verify.h"

/* Static storage, valid until the next call. Fails the test on a parse error. */
const noe_rule *fixture_rule(const char *text);

typedef struct fixture_rules {
    char *name[256];
    noe_rule *rule[256];
    int n;
} fixture_rules;
/* A rule file of this folder: "true_rules.txt". */
void fixture_load(const char *file, fixture_rules *rules);
void fixture_unload(fixture_rules *rules);

/* A verifier with default configuration but this rlimit; 0: the default one. */
noe_verifier *fixture_verifier(int64_t rlimit);
/* Verdict alone. */
noe_verdict_kind fixture_judge(noe_verifier *v, const noe_rule *rule);

#endif
