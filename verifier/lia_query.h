/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of linear integer arithmetic about formulas, answered by Z3. Products of
 * symbols are unknown integers of which only signs and zeros are said; the functions of
 * lia_poly.h are said what they are. Effort is bounded by resource units and by a
 * number of questions, never by time.
 */
#ifndef NOE_VERIFIER_LIA_QUERY_H
#define NOE_VERIFIER_LIA_QUERY_H

#include "verifier/lia_model.h"

typedef struct noe_query noe_query;

/* rlimit: Z3 resource units a question. */
noe_query *noe_query_new(noe_terms *terms, int64_t rlimit);
void noe_query_free(noe_query *q);
/* Forgets the assumptions; call it after noe_terms_reset. */
void noe_query_reset(noe_query *q);

/* Holds from now on. */
void noe_query_assume(noe_query *q, noe_formula f);
/* No values of the symbols satisfy the assumptions and f[0], ..., f[n-1]: then true. */
bool noe_query_refutes(noe_query *q, const noe_formula *f, int n);
/* goal follows from the assumptions and f[0..n-1]. */
bool noe_query_implies(noe_query *q, const noe_formula *f, int n, noe_formula goal);
/* Whatever the symbols are, the coefficients of those guards that hold add up to 0,
 * under the assumptions and f[0..n-1]. */
bool noe_query_cancels(noe_query *q, const noe_formula *f, int n, int n_terms,
                       const int64_t *coef, const noe_formula *guard);

/* Small values of the symbols that satisfy the assumptions and f[0..n-1], other ones
 * for each seed; NULL: none were found. They stay until the next question. */
noe_model *noe_query_model(noe_query *q, const noe_formula *f, int n, uint64_t seed);

typedef struct noe_query_counts {
    int64_t asked;  /* put to Z3, now or when the same came up before */
    int64_t undone; /* ended at the resource limit */
} noe_query_counts;
noe_query_counts noe_query_count(const noe_query *q); /* since the last reset */
int64_t noe_query_rlimit(const noe_query *q); /* units spent since it was made */
/* What it asks from now on is appended as SMT-LIB2, one script a question, each
 * ended by (reset), with the answer as :status; NULL ends that. */
void noe_query_record(noe_query *q, noe_buf *b);

#endif
