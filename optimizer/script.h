/* SPDX-License-Identifier: Apache-2.0
 *
 * The rewrite log: what a search has done, as text, and doing it again.
 *
 *     noether-log 1
 *     input 5f0c8e7712aa90d3                  hash of the model file
 *     part 0 91c2... 12 0.00134 0.00121       pass, kind, copies, seconds before, after
 *     step a72ef8f329e2f80409dbdaeb9d0fcf94 > 17 0 0 0.00121 conv1_out
 *
 * A step is a rule's id, its direction, the node and the number of the match there,
 * whether it was applied together with the step before, the cost after it, and the name
 * of the tensor. Replaying needs no costs and no search: each step is matched again, so
 * that structure, conditions and types are checked once more, and the same steps on the
 * same model give the same bytes.
 */
#ifndef NOE_OPTIMIZER_SCRIPT_H
#define NOE_OPTIMIZER_SCRIPT_H

#include "optimizer/rules.h"
#include "optimizer/search_state.h"

/* The steps that made one kind of segment better (partition.h); a graph that is
 * searched as a whole is one part. */
typedef struct noe_search_part {
    int pass;
    uint64_t key;         /* of the kind, 0: the whole */
    uint32_t n_copies;    /* that became better */
    int first, n;         /* its steps */
    double before, after; /* seconds of one copy */
} noe_search_part;

typedef struct noe_script {
    noe_search_part *parts;
    int n_parts, cap_parts;
    noe_step *steps;
    int n_steps, cap_steps;
    int limit; /* do only so many steps */
    noe_arena names;
} noe_script;

void noe_script_print(noe_buf *b, uint64_t input_hash, const noe_rule_set *rules,
                      const noe_search_part *parts, int n_parts, const noe_step *steps);
/* Reads a log of the model with that hash; limit is set to all steps. Fails where a
 * rule is not in the set. */
NOE_NODISCARD noe_status noe_script_parse(const char *text, uint64_t input_hash,
                                          const noe_rule_set *rules, noe_script *s,
                                          noe_error *err);
void noe_script_clear(noe_script *s);

/* Part of a pass with that kind, NULL if nothing was done to it. */
const noe_search_part *noe_script_find(const noe_script *s, int pass, uint64_t key);
/* Applies a part's steps, up to the limit, to g; *n_done of them. *out is a new graph,
 * the live part of g if there were none. */
NOE_NODISCARD noe_status noe_script_apply(const noe_script *s,
                                          const noe_search_part *part,
                                          const noe_rule_set *rules, const noe_graph *g,
                                          noe_graph **out, int *n_done, noe_error *err);

/* The match that a site names; false if there is none. */
bool noe_site_match(const noe_rule_set *rules, const noe_graph *g, const noe_site *site,
                    noe_match *match);

#endif
