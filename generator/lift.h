/* SPDX-License-Identifier: Apache-2.0
 *
 * From a pair with concrete shapes and parameters to rules.
 */
#ifndef NOE_GENERATOR_LIFT_H
#define NOE_GENERATOR_LIFT_H

#include "core/instance.h"
#include "core/rule.h"
#include "generator/pair.h"

#define NOE_LIFT_MAX_VARIANTS 10

/* Variants of one pair, the most general first: canonical texts. */
typedef struct noe_lifted {
    char *text[NOE_LIFT_MAX_VARIANTS];       /* malloc'ed */
    bool is_reversed[NOE_LIFT_MAX_VARIANTS]; /* the pair's right side is on the left */
    int n;
} noe_lifted;

/* Every variant parses, is directed in one orientation at least, and is printed in that
 * one; it holds at the pair's own shapes and parameters and on a few others (check.c).
 */
void noe_pair_lift(const noe_pair *pair, uint64_t seed, noe_lifted *out);
void noe_lifted_clear(noe_lifted *l);

/* check.c: a rule at concrete shapes of its variables and values of its parameter
 * variables. */
typedef enum noe_trial { NOE_TRIAL_ILL, NOE_TRIAL_EQUAL, NOE_TRIAL_DIFFERS } noe_trial;
noe_trial noe_rule_try(const noe_rule *rule, const noe_binding *binding, uint64_t seed);

/* What was seen of a rule. */
typedef struct noe_look {
    int n_found;     /* typed instances elsewhere */
    uint32_t ranks;  /* of the first output there, a bit each */
    uint32_t varied; /* parameter variables that had several values there */
    uint32_t other_head[NOE_RULE_MAX_VARS]; /* by letter: variables whose first
                                               dimension differed from this one's */
} noe_look;

/* Looks at the instance and at variations of it: false if the rule is wrong at one of
 * them, or ill-typed at the instance itself. A wrong bound of a slice, say, is not
 * false elsewhere but ill-typed: n_typed tells. param[i] is what parameter variable i
 * stands for. */
bool noe_rule_survives_near(const noe_rule *rule, const noe_binding *base,
                            const noe_param *param, uint64_t seed, int *n_typed);
/* The same at up to n instances elsewhere, which takes longer; look, cleared before,
 * gets what was seen of them; wrong, if not NULL, the one at which it is false.
 * base_rank is that of the output where the pair was found. */
bool noe_rule_survives_widely(const noe_rule *rule, uint64_t seed, int base_rank, int n,
                              noe_instance *wrong, noe_look *look);

/* Whether it holds at n instances that are found as the verifier finds them: ranks and
 * sizes are mixed more than in the above, and it takes longer. */
bool noe_rule_survives_search(const noe_rule *rule, uint64_t seed, int n,
                              noe_instance *wrong);

/* Whether the left side is the one to rewrite: the costlier one (costly: 0 left, 1
 * right, -1 neither); then the larger; then the first in the alphabet. */
bool noe_rule_is_oriented(const noe_rule *rule, int costly);

#endif
