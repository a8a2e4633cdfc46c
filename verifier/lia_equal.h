/* SPDX-License-Identifier: Apache-2.0
 *
 * Equality of elements, for all values of the symbols.
 */
#ifndef NOE_VERIFIER_LIA_EQUAL_H
#define NOE_VERIFIER_LIA_EQUAL_H

#include "verifier/lia_laws.h"

/* x = y wherever the assumptions and guards hold. false says nothing; then why, if not
 * NULL, gets what could not be matched. */
bool noe_expr_equal(noe_algebra *a, const noe_expr *x, const noe_expr *y, int n_guards,
                    const noe_formula *guard, noe_buf *why);

#endif
