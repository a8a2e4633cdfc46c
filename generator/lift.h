/* SPDX-License-Identifier: Apache-2.0
 *
 * From a pair with concrete shapes and parameters to rules.
 */
#ifndef NOE_GENERATOR_LIFT_H
#define NOE_GENERATOR_LIFT_H

#include "core/rule.h"
#include "generator/pair.h"

#define NOE_LIFT_MAX_VARIANTS 14

/* Variants of one pair, the most general first: canonical texts. */
typedef struct noe_lifted {
    char *text[NOE_LIFT_MAX_VARIANTS]; /* malloc'ed */
    int n;
} noe_lifted;

/* Every variant parses, is directed in one orientation at least, and is printed in that
 * one; it holds at the pair's own shapes and parameters and on a few others (check.c).
 */
void noe_pair_lift(const noe_pair *pair, uint64_t seed, noe_lifted *out);
void noe_lifted_clear(noe_lifted *l);

/* check.c: a rule at concrete shapes of its variables and values of its parameter
 * variables. */
typedef enum noe_instance {
    NOE_INSTANCE_ILL,
    NOE_INSTANCE_EQUAL,
    NOE_INSTANCE_DIFFERS
} noe_instance;
noe_instance noe_rule_try(const noe_rule *rule, const noe_binding *binding,
                          uint64_t seed);

/* Looks at variations of an instance: -1 if the rule is wrong at one of them (or at the
 * instance itself), else at how many of those that change one dimension it is
 * well-typed. A wrong bound of a slice, say, is not false there but ill-typed. param[i]
 * is what parameter variable i stands for. */
int noe_rule_survives(const noe_rule *rule, const noe_binding *base,
                      const noe_param *param, uint64_t seed, int n_tries);

#endif
