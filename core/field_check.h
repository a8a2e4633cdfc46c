/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage FIELD: evaluates both sides of a rule exactly over a prime field on random
 * tensors, at many typed instances. A difference refutes the rule, with a
 * counterexample that can be replayed from (rule, order, seed, instance, sample),
 * unless it only shows what the field's models lack.
 */
#ifndef NOE_CORE_FIELD_CHECK_H
#define NOE_CORE_FIELD_CHECK_H

#include "core/field.h"
#include "core/instance.h"

typedef struct noe_difference {
    bool found;
    int instance, sample, root;
    int64_t position; /* in C order of the root's output */
    int range;        /* of the numbers drawn; 0: residues */
    noe_fe left, right;
} noe_difference;

typedef struct noe_field_report {
    int n_instances;           /* well-typed and evaluated */
    int n_samples;             /* evaluations, all instances together */
    int attempts;              /* of the instance search */
    double error_bound;        /* see core/field_check.c */
    noe_order order;           /* how signs were read when that was decided */
    noe_difference difference; /* over the reals */
    bool needs_domain;         /* no difference, but only where sqrt and log exist */
    bool is_doubtful;          /* the sides differ, but only in the field's models */
    noe_buf counterexample;    /* shapes, parameters, position, values; "" if none */
    noe_buf shapes_checked;    /* "48 instances, ranks a:0-5 b:1-5" */
    noe_buf scheme;            /* "a=[m,k] b=[k,n]": sizes that were always equal */
    noe_instance **instances; /* n_found of them; the first n_instances are evaluated */
    int *index;               /* of each, in the search */
    int n_found, next;        /* next: index that the search tries next */
} noe_field_report;

typedef struct noe_field_config {
    uint64_t seed;
    int n_instances;  /* to look for; 48 is the default elsewhere */
    int max_attempts; /* an instance */
    bool stored;      /* only instances like a match: noe_instance_store */
} noe_field_config;

/* report is overwritten; clear it with noe_field_report_clear. */
void noe_field_check(const noe_rule *rule, const noe_field_config *config,
                     noe_field_report *report);
/* The same at one instance that was found otherwise. */
void noe_field_check_at(const noe_rule *rule, const noe_field_config *config,
                        const noe_instance *inst, noe_field_report *report);
void noe_field_report_clear(noe_field_report *report);

/* Evaluates one sample of one instance; what noe_field_check does and what replays a
 * counterexample. *counts: the values are within bounds, where order is NUMBER. */
noe_difference noe_field_sample(const noe_rule *rule, const noe_instance *inst,
                                noe_order order, uint64_t seed, int instance,
                                int sample, bool *counts);
/* A few samples of one instance, read in the ways that suit the rule: true unless the
 * sides differ. A quick look, no check. */
bool noe_field_agrees(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                      int instance, int n_samples);

/* Whether the right side exists wherever the left side does, as far as samples show:
 * sqrt(mul(?a, ?b)) => mul(sqrt(?a), sqrt(?b)) does not keep the domain, where both are
 * negative, and ones => div(?a, ?a) does not, where that is 0. A rule is used only in
 * directions that do. Sums of positive numbers may be taken for negative, on either
 * side. True for rules without sqrt, log and quotients on the right. Judged with
 * NOE_DOMAIN_SEED, it is a property of the rule.
 */
#define NOE_DOMAIN_SEED 1
bool noe_field_keeps_domain(const noe_rule *rule, uint64_t seed);

/* The same with given values of the variables, variable i's in values[i]. */
noe_difference noe_field_compare(const noe_rule *rule, const noe_instance *inst,
                                 const noe_field *field, const noe_tensor_fe *values,
                                 noe_arena *arena);
/* Random values for the variables of a rule, in arena. */
void noe_field_draw(const noe_rule *rule, const noe_instance *inst,
                    const noe_field *field, uint64_t seed, uint64_t stream,
                    noe_arena *arena, noe_tensor_fe *values);

#endif
