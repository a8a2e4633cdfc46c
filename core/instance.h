/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed instances of a rule: shapes for its tensor variables and values for its
 * parameter variables such that both sides are well-typed, their outputs have equal
 * types and the condition holds. This is what FIELD evaluates, and what tells whether a
 * rule says anything at all.
 */
#ifndef NOE_CORE_INSTANCE_H
#define NOE_CORE_INSTANCE_H

#include "core/base/rng.h"
#include "core/rule.h"

typedef struct noe_instance {
    noe_binding binding;
    noe_type type[NOE_RULE_MAX_NODES]; /* of every pattern node */
    noe_params params[NOE_RULE_MAX_NODES];
} noe_instance;

typedef struct noe_instance_style {
    int rank;             /* preferred rank of the output, -1: any */
    int dims;             /* which set of dimensions, 0..NOE_INSTANCE_N_DIMS-1 */
    int64_t max_elements; /* of any node */
    bool allow_unequal;   /* sides may have different output types */
} noe_instance_style;

#define NOE_INSTANCE_N_DIMS 8

/* One attempt: false when the random choices did not fit together. inst is then
 * undefined. */
bool noe_instance_try(const noe_rule *rule, noe_rng *rng,
                      const noe_instance_style *style, noe_instance *inst);

/* Up to max_attempts attempts, for the index-th of a series of instances: the series
 * walks through ranks 0..5 and through sets of dimensions, pairwise different ones
 * first. The preferred rank is given up when it does not fit. *attempts counts. */
bool noe_instance_find(const noe_rule *rule, uint64_t seed, int index, int max_attempts,
                       noe_instance *inst, int *attempts);

/* Types all nodes under inst->binding, bottom-up, and checks output types and the
 * condition. */
bool noe_instance_check(const noe_rule *rule, noe_instance *inst, bool allow_unequal);

/* Gives the parameters that the left side binds the values that a matched node has
 * stored: axes not negative, bounds of slices within the dimension. False if no value
 * is stored so in all nodes that bind it, or the sides do not fit then: no match is
 * like this instance. */
bool noe_instance_store(const noe_rule *rule, noe_instance *inst);

/* How little fits together by accident: many different sizes, few ones, high ranks. */
int noe_instance_spread(const noe_rule *rule, const noe_instance *inst);

/* "a=[2,3] b=f16[3] k=1" */
void noe_instance_print(noe_buf *b, const noe_rule *rule, const noe_instance *inst);

#endif
