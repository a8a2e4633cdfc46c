/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage FIELD: evaluates both sides of a rule exactly over a prime field on random
 * tensors, at many typed instances. A difference refutes the rule, with a
 * counterexample that can be replayed from (rule, seed, instance, sample).
 */
#ifndef NOE_CORE_FIELD_CHECK_H
#define NOE_CORE_FIELD_CHECK_H

#include "core/field.h"
#include "core/instance.h"

typedef struct noe_difference {
    bool found;
    int instance, sample, root;
    int64_t position; /* in C order of the root's output */
    noe_fe left, right;
} noe_difference;

typedef struct noe_field_report {
    int n_instances;    /* well-typed and evaluated */
    int n_samples;      /* evaluations, all instances together */
    int attempts;       /* of the instance search */
    double error_bound; /* see core/field_check.c */
    noe_difference difference;
    noe_buf counterexample;   /* shapes, parameters, position, values; "" if none */
    noe_buf shapes_checked;   /* "48 instances, ranks a:0-5 b:1-5" */
    noe_buf scheme;           /* "a=[m,k] b=[k,n]": sizes that were always equal */
    noe_instance **instances; /* those evaluated, n_instances of them */
} noe_field_report;

typedef struct noe_field_config {
    uint64_t seed;
    int n_instances;  /* to look for; 48 is the default elsewhere */
    int max_attempts; /* an instance */
} noe_field_config;

/* report is overwritten; clear it with noe_field_report_clear. */
void noe_field_check(const noe_rule *rule, const noe_field_config *config,
                     noe_field_report *report);
void noe_field_report_clear(noe_field_report *report);

/* Evaluates one sample of one instance; what noe_field_check does and what replays a
 * counterexample. */
noe_difference noe_field_sample(const noe_rule *rule, const noe_instance *inst,
                                uint64_t seed, int instance, int sample);

/* The same with given values of the variables, variable i's in values[i]. */
noe_difference noe_field_compare(const noe_rule *rule, const noe_instance *inst,
                                 const noe_field *field, const noe_tensor_fe *values,
                                 noe_arena *arena);
/* Random values for the variables of a rule, in arena. */
void noe_field_draw(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                    uint64_t stream, noe_arena *arena, noe_tensor_fe *values);

#endif
