/* SPDX-License-Identifier: Apache-2.0
 *
 * Many rewrites of one graph, one by one or several at once.
 *
 * A rewriter keeps one scratch copy of the base graph. Right sides are appended to the
 * scratch (hash-consing shares what they have in common), and a result is made by
 * copying what the outputs need, with the old roots redirected to the new ones. So a
 * candidate costs one copy of the live graph, and the result tells which of its nodes
 * are new, which noe_rule_apply cannot: the search looks at the neighbourhood of those.
 *
 * Each redirection replaces a value by an equal one and every copy is made of an
 * acyclic graph, so neither the order of redirections nor overlapping matches can make
 * a wrong graph; at worst one keeps a node that another had made superfluous.
 */
#ifndef NOE_OPTIMIZER_REWRITE_H
#define NOE_OPTIMIZER_REWRITE_H

#include "core/match.h"

typedef struct noe_redirect {
    uint32_t from; /* node of the base graph, port 0 */
    noe_ref to;    /* in the scratch */
} noe_redirect;

typedef struct noe_rewriter {
    const noe_graph *base;
    noe_graph *scratch;
    noe_ref *map; /* scratch node -> result */
    uint32_t cap_map;
    noe_redirect *redirects;
    uint32_t n_redirects, cap_redirects;
} noe_rewriter;

void noe_rewriter_init(noe_rewriter *r, const noe_graph *base);
void noe_rewriter_clear(noe_rewriter *r);

/* Appends a right side. Fails with NOE_ERR_SHAPE where the rule does not fit after all;
 * *changes is false when the right side is what stands there already. */
NOE_NODISCARD noe_status noe_rewriter_add(noe_rewriter *r, const noe_rule *rule,
                                          const noe_match *match, bool *changes,
                                          noe_error *err);
/* Makes the graph with all rewrites added since the last call. fresh (may be NULL)
 * receives a malloc'ed byte a node of the result: 1 where the node is new, or comes
 * from a node of the base that base_fresh (may be NULL) marks. */
NOE_NODISCARD noe_status noe_rewriter_finish(noe_rewriter *r, const uint8_t *base_fresh,
                                             noe_graph **out, uint8_t **fresh,
                                             noe_error *err);

/* A copy of what the outputs need. */
NOE_NODISCARD noe_status noe_rewriter_copy_live(const noe_graph *g, noe_graph **out,
                                                noe_error *err);

#endif
