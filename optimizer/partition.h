/* SPDX-License-Identifier: Apache-2.0
 *
 * Search by parts: a graph is cut into segments (segment.h), each kind of segment is
 * searched once (search.h), and what was found is put in the place of all its copies.
 * Then the result is cut elsewhere, until a pass over all seams finds nothing more.
 *
 * A large network is thus searched in the time of its distinct parts: a rewrite is
 * judged on a graph of some dozens of nodes and not of thousands, and independent
 * rewrites are not tried in all their combinations.
 *
 * A graph that is one segment is searched as a whole.
 */
#ifndef NOE_OPTIMIZER_PARTITION_H
#define NOE_OPTIMIZER_PARTITION_H

#include "optimizer/search.h"

/* As noe_search. result->before and after are of the whole graphs. */
NOE_NODISCARD noe_status noe_search_parts(const noe_env *env, const noe_graph *g,
                                          const noe_rule_set *rules, noe_costs *costs,
                                          const noe_search_options *options,
                                          noe_search_result *result, noe_error *err);

#endif
