/* SPDX-License-Identifier: Apache-2.0
 *
 * Derivations: does a rule follow from other rules by rewriting?
 *
 * The rule is taken at typed instances (core/field_check.h, which also refutes it). At
 * one of them both sides are put into an e-graph, which is saturated with the rules of
 * a set; where the sides meet, the proof forest gives the rewrite steps (Nieuwenhuis
 * and Oliveras, "Proof-producing congruence closure", RTA'05; Willsey et al., "egg",
 * POPL'21). The steps are then carried over to the other instances, with parameters and
 * types computed anew from the rules, and replayed there one by one by code that shares
 * nothing with the e-graph (core/derive_replay.c). Instances at which they do not hold
 * are tried with a derivation of their own.
 *
 * DERIVED means: at every typed instance looked at, one of at most
 * NOE_DERIVE_MAX_SCHEMES sequences of rule applications leads from the left side to the
 * right one; every application was matched, its condition evaluated, both of its sides
 * typed, and the tensors before and after it found equal in the field. It says nothing
 * of shapes that were not looked at, and rests on the rules of the set.
 * Terms between the sides may be larger than both (extra_ops).
 */
#ifndef NOE_CORE_DERIVE_H
#define NOE_CORE_DERIVE_H

#include "core/rule.h"

#define NOE_DERIVE_MAX_SCHEMES 6
#define NOE_DERIVE_MAX_PATH    24

/* Rules to derive with, numbered in the order in which they were added. */
typedef struct noe_rule_set noe_rule_set;
noe_rule_set *noe_rule_set_new(void);
void noe_rule_set_free(noe_rule_set *set); /* NULL is fine */
/* Copies the rule; it is used in each direction in which it can be matched. A rule of
 * several roots is used root by root, where the root alone binds all variables. */
int noe_rule_set_add(noe_rule_set *set, const noe_rule *rule);
int noe_rule_set_size(const noe_rule_set *set);
const noe_rule *noe_rule_set_get(const noe_rule_set *set, int number);
/* A rule that is switched off takes no part; new ones are on. */
void noe_rule_set_enable(noe_rule_set *set, int number, bool on);

typedef enum noe_derive_verdict {
    NOE_DERIVE_UNKNOWN, /* why says what was missing; never a success */
    NOE_DERIVE_DERIVED,
    NOE_DERIVE_REFUTED, /* why has shapes, position and values */
} noe_derive_verdict;

typedef struct noe_derive_config {
    uint64_t seed;
    int n_instances;   /* typed instances to look for */
    int max_nodes;     /* of the e-graph */
    int max_rounds;    /* of saturation */
    int extra_ops;     /* operators that a term may have above the larger side */
    int64_t max_tries; /* nodes that matching looks at, over all rounds */
    bool use_given;    /* no search for instances, no refutation: the caller's */
    noe_binding *const *given; /* bindings of all variables of the rule */
    int n_given;
    bool skip_values; /* tensors are not compared: what is DERIVED is a guess */
} noe_derive_config;
noe_derive_config noe_derive_default(void);

/* One application of a rule of the set. */
typedef struct noe_derive_step {
    int rule;       /* number in the set */
    bool backwards; /* right side of the rule was replaced by its left side */
    int rule_root;  /* of rules of several roots: which */
    int n_path;
    uint8_t path[NOE_DERIVE_MAX_PATH]; /* operand numbers from the root of the term */
    char *after;                       /* the whole term at the scheme's instance */
} noe_derive_step;

/* The derivation of one root at one instance. */
typedef struct noe_derivation {
    char *instance; /* "a=[2,3] b=[3,4]" */
    char *start;    /* left side there */
    int root;
    int scheme; /* all roots of one scheme belong together */
    noe_derive_step *steps;
    int n_steps;
} noe_derivation;

typedef struct noe_derive_report {
    noe_derive_verdict verdict;
    noe_buf why; /* UNKNOWN, REFUTED: one line */
    int n_instances;
    int n_schemes;
    noe_derivation *derivations; /* of all schemes and roots */
    int n_derivations;
    int n_nodes, n_rounds; /* of the largest e-graph */
} noe_derive_report;

/* report is overwritten; clear it with noe_derive_report_clear. Deterministic. */
void noe_derive(const noe_rule_set *set, const noe_rule *goal,
                const noe_derive_config *config, noe_derive_report *report);
void noe_derive_report_clear(noe_derive_report *report);

#endif
