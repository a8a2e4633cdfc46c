/* SPDX-License-Identifier: Apache-2.0
 *
 * The numeric class of a proved rule: what its sides do in float arithmetic.
 */
#ifndef NOE_VERIFIER_CLASSIFY_H
#define NOE_VERIFIER_CLASSIFY_H

#include "ruledb/ruledb.h"
#include "core/instance.h"

typedef struct noe_numeric {
    noe_numeric_class class;
    bool is_defined;  /* somewhere on ordinary inputs both sides are finite */
    double max_error; /* largest difference relative to the output's largest magnitude,
                         on ordinary inputs */
} noe_numeric;

noe_numeric noe_rule_classify(const noe_rule *rule, noe_instance *const *instances,
                              int n_instances, uint64_t seed);

/* Read off the operators (traits RING, LATTICE and COPY of core/ops.def). Sides that
 * only add, subtract and multiply integers are polynomials with integer coefficients:
 * equal over the reals, they are the same polynomials, equal in every commutative ring,
 * so modulo any power of two as well. Sides that only choose elements are equal over
 * every total order. With both kinds, integers are reals as long as nothing overflows.
 */
noe_integers noe_rule_integers(const noe_rule *rule);

#endif
