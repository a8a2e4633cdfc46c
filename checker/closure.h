/* SPDX-License-Identifier: Apache-2.0
 *
 * Congruence closure over terms at one typed instance of a rule. Parameters are
 * numbers there, so a term is an operator, the values of its parameters and its
 * operands; it has a type by the shape rules and, for random values of the variables, a
 * value in the field under either reading of signs (core/field.h).
 */
#ifndef NOE_CHECKER_CLOSURE_H
#define NOE_CHECKER_CLOSURE_H

#include "core/field.h"
#include "core/rule.h"

typedef uint32_t noe_closure_node;

typedef struct noe_closure noe_closure;

noe_closure *noe_closure_new(uint64_t seed);
void noe_closure_free(noe_closure *c);

/* The variable of that number, with random values. */
NOE_NODISCARD noe_status noe_closure_variable(noe_closure *c, int variable,
                                              const noe_type *type,
                                              noe_closure_node *node, noe_error *err);
/* The term, which is typed and evaluated; the same one if it is there already. */
NOE_NODISCARD noe_status noe_closure_term(noe_closure *c, noe_op op,
                                          const noe_params *params,
                                          const noe_closure_node *in, int n_in,
                                          noe_closure_node *node, noe_error *err);
const noe_type *noe_closure_type(const noe_closure *c, noe_closure_node node);

/* Whether the values are the same under one of the readings of signs at least. */
bool noe_closure_agree(const noe_closure *c, noe_closure_node a, noe_closure_node b);
/* States that two terms are equal. */
void noe_closure_equate(noe_closure *c, noe_closure_node a, noe_closure_node b);
/* Whether that they are equal follows from what was stated. */
bool noe_closure_equal(noe_closure *c, noe_closure_node a, noe_closure_node b);

#endif
