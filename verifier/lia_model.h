/* SPDX-License-Identifier: Apache-2.0
 *
 * Small models of formulas, by local search: half of what the all-sizes proof asks has
 * one, and finding it here is cheaper than asking Z3.
 */
#ifndef NOE_VERIFIER_LIA_MODEL_H
#define NOE_VERIFIER_LIA_MODEL_H

#include "verifier/lia_poly.h"

typedef struct noe_model noe_model;
noe_model *noe_model_new(const noe_terms *terms);
void noe_model_free(noe_model *m);

/* Integers for the symbols, natural ones not negative, such that the formulas of all
 * n_lists lists hold, and sum(coef[i] for those i whose guard[i] holds) is not 0
 * (n_terms 0: no such condition). True: there are, exactly as the terms are defined.
 * False says nothing. Depends on the arguments only. */
bool noe_model_exists(noe_model *m, int n_lists, const noe_formula *const *lists,
                      const int *n, int n_terms, const int64_t *coef,
                      const noe_formula *guard);

/* The same for one list of formulas, from other values to start with for each seed;
 * small ones. The values stay until the next call. */
bool noe_model_find(noe_model *m, int n_lists, const noe_formula *const *lists,
                    const int *n, uint64_t seed);
/* The value of p there; false: it has none, or a large one. */
bool noe_model_value(noe_model *m, noe_poly p, int64_t *value);

#endif
