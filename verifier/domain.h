/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about which the conventions of FIELD say nothing.
 */
#ifndef NOE_VERIFIER_DOMAIN_H
#define NOE_VERIFIER_DOMAIN_H

#include "core/instance.h"

/* Some division or reciprocal divides by what is zero whatever the variables are: the
 * sides do not exist over the reals. */
bool noe_rule_divides_by_zero(const noe_rule *rule, noe_instance *const *instances,
                              int n_instances);
#endif
