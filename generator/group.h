/* SPDX-License-Identifier: Apache-2.0
 *
 * From pairs to lift groups, with what each of them rests on.
 */
#ifndef NOE_GENERATOR_GROUP_H
#define NOE_GENERATOR_GROUP_H

#include "generator/generate.h"

typedef struct noe_grouper noe_grouper;

noe_grouper *noe_grouper_new(const noe_env *env, noe_generated *out);
void noe_grouper_free(noe_grouper *g);
/* Lifts the pairs of one space. Groups that are to be judged are added to out at once.
 */
NOE_NODISCARD noe_status noe_grouper_add(noe_grouper *g, const noe_pair *pairs, int n,
                                         noe_space_stats *stats, noe_error *err);
/* Adds the deferred ones of all spaces behind them. */
void noe_grouper_finish(noe_grouper *g);

#endif
