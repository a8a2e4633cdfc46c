/* SPDX-License-Identifier: Apache-2.0
 *
 * Between core/derive.c, derive_rules.c, derive_match.c, derive_explain.c and
 * derive_replay.c; nobody else's business.
 */
#ifndef NOE_CORE_DERIVE_INTERNAL_H
#define NOE_CORE_DERIVE_INTERNAL_H

#include "core/derive.h"
#include "core/egraph.h"
#include "core/instance.h"

/* A rule in a direction in which it can be matched, with one root. */
typedef struct noe_directed {
    int rule, root;
    bool backwards;
    const noe_rule *whole; /* in this direction, with all roots */
    noe_rule one;          /* root `root` alone */
    bool left[NOE_RULE_MAX_NODES], right[NOE_RULE_MAX_NODES]; /* of one */
    bool ops[NOE_OP_COUNT];                                   /* that occur in one */
} noe_directed;

struct noe_rule_set {
    noe_arena arena;
    const noe_rule **rules;
    int n_rules, cap_rules;
    bool *is_on;
    noe_directed **directed;
    int n_directed, cap_directed;
};

/* A match of a directed rule that was applied: image[i] is the node that pattern node i
 * of `one` stands for; bit i of swapped: with its two operands in the other order. */
typedef struct noe_application {
    int directed;
    uint32_t from, to; /* nodes made equal: images of the roots */
    uint32_t *image;
    uint64_t swapped;
} noe_application;

typedef struct noe_deriver {
    const noe_rule_set *set;
    const noe_rule *goal;
    const noe_derive_config *config;
    noe_arena arena; /* of one e-graph */
    noe_egraph e;
    noe_application *applied;
    uint32_t n_applied, cap_applied;
    uint32_t goal_node[NOE_RULE_MAX_NODES]; /* node of each node of the goal */
    uint32_t max_ops;
    uint64_t *seen; /* hashes of matches tried, 0: free */
    uint32_t n_seen, n_seen_slots;
    noe_instance *scratch;
    int n_rounds;
    int64_t n_tries;
} noe_deriver;

/* Puts both sides of the goal at inst into an empty e-graph and saturates it with the
 * rules that `use` (one entry a directed rule) selects until all roots meet. */
bool noe_derive_saturate(noe_deriver *d, const noe_instance *inst, const bool *use);

/* A term of a proof: an operator with the parameters of node `label` over terms. */
typedef struct noe_trace_term {
    uint32_t label;
    uint8_t n_in;
    uint32_t in[NOE_RULE_MAX_INPUTS];
} noe_trace_term;

typedef struct noe_trace_step {
    uint32_t application;
    bool backwards; /* from the application's `to` to its `from` */
    int n_path;
    uint8_t path[NOE_DERIVE_MAX_PATH];
    uint32_t after; /* the whole term */
} noe_trace_step;

typedef struct noe_trace {
    noe_trace_term *terms;
    uint32_t n_terms, cap_terms;
    uint32_t start;
    noe_trace_step *steps;
    uint32_t n_steps, cap_steps;
} noe_trace;

/* Steps from node a to node b, which must be of one class, without detours. false if
 * the derivation is too long. Free with noe_trace_clear. */
bool noe_derive_explain(const noe_deriver *d, uint32_t a, uint32_t b, noe_trace *trace);
void noe_trace_clear(noe_trace *trace);

/* Parameters and types of nodes at another instance of the goal, from the applications
 * that made them. One a (deriver, instance). */
typedef struct noe_transport noe_transport;
noe_transport *noe_transport_new(const noe_deriver *d, const noe_instance *inst);
void noe_transport_free(noe_transport *t);
/* NULL where the node does not exist there. */
const noe_params *noe_transport_params(noe_transport *t, uint32_t node);

/* Replays a trace for root `root` of the goal at inst. params[label] of every label of
 * the trace. Texts of start and of every step into texts (NULL: not wanted; n_steps + 1
 * of them, malloc'ed). */
bool noe_derive_replay(const noe_deriver *d, const noe_trace *trace,
                       const noe_params *const *params, const noe_instance *inst,
                       int root, uint64_t seed, char **texts);

#endif
