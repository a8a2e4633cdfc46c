/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one graph on two backends and compares the outputs.
 */
#ifndef NOE_TESTS_RUNTIME_COMPARE_H
#define NOE_TESTS_RUNTIME_COMPARE_H

#include "runtime/runtime.h"

/* Relative to the largest magnitude among the values that an output is computed from,
 * at least 1. Sums of some hundred products in another order, and oneDNN's polynomials
 * for exp and tanh, stay well below. */
#define NOE_BACKEND_TOLERANCE 2e-5

/* noe_backends_agree with a tolerance of one's own. */
bool noe_backends_agree_within(noe_backend *b, noe_backend *oracle, const noe_graph *g,
                               uint64_t seed, double tolerance, char *text, size_t cap);

/* Does b give the oracle's outputs for g on random inputs? Otherwise, or when one
 * fails, text (cap bytes) says how they differ. */
bool noe_backends_agree(noe_backend *b, noe_backend *oracle, const noe_graph *g,
                        uint64_t seed, char *text, size_t cap);

#endif
