/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that there are already: a pair that one of them rewrites from one side into the
 * other in one step says nothing new.
 */
#ifndef NOE_GENERATOR_KNOWN_H
#define NOE_GENERATOR_KNOWN_H

#include "generator/lift.h"

typedef struct noe_known noe_known;

/* The step from the left side to the right one. */
typedef struct noe_known_step {
    int group, variant;                    /* the least general variant that does it */
    bool is_backward;                      /* from its right side to its left one */
    uint8_t depth, at[NOE_STEP_MAX_DEPTH]; /* where, as in noe_pair_step */
} noe_known_step;

noe_known *noe_known_new(void);
void noe_known_free(noe_known *k);
/* The variants of a group, of which the first is matched. */
void noe_known_add(noe_known *k, const noe_lifted *variants, int group);
bool noe_known_derives(const noe_known *k, const noe_pair *pair, noe_known_step *step);
/* Whether the pair is such a step and nothing but an instance of the rule: its
 * operators are those of the rule, its variables and constants as many. Lifting it
 * would give the rule, or less. */
bool noe_known_is_instance(const noe_known *k, const noe_pair *pair, int *group);

#endif
