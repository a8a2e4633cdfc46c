/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule's condition as SMT-LIB2, for readers that do not know the text form.
 */
#ifndef NOE_VERIFIER_CONDITION_H
#define NOE_VERIFIER_CONDITION_H

#include "core/rule.h"

/* Declarations and one assertion; "" for a rule without a condition. Symbols:
 * ?a.rank and (?a.dim i) of tensor variable ?a, $k of a number parameter, $k.len and
 * ($k.at i) of a list. The assertion also says that every term has a value (an axis is
 * there, nothing is divided by zero), as the text form does: for symbols that stand for
 * ranks, dimensions and parameters it is true where the condition is. */
void noe_condition_print_smt2(noe_buf *b, const noe_rule *rule);

#endif
