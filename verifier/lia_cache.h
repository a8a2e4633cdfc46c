/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers to questions of linear arithmetic that came up before: in another scheme or
 * another rule, about other symbols. A question is a set of formulas; its key says the
 * formulas with their symbols numbered as they occur, so that equal keys mean the same
 * question. The table has a fixed size.
 */
#ifndef NOE_VERIFIER_LIA_CACHE_H
#define NOE_VERIFIER_LIA_CACHE_H

#include "core/base/hash.h"
#include "verifier/lia_poly.h"

/* No values of the symbols satisfy all of f[0..n-1] while the coefficients of those of
 * the n_terms guards that hold do not add up to 0; n_terms 0: of f alone. */
typedef struct noe_question {
    int n, n_terms;
    const noe_formula *f;
    const int64_t *coef;
    const noe_formula *guard;
} noe_question;

typedef enum noe_answer {
    NOE_ANSWER_MODEL,    /* there are such values: found without Z3 */
    NOE_ANSWER_POSSIBLE, /* Z3 says so */
    NOE_ANSWER_REFUTED,  /* there are none */
    NOE_ANSWER_UNDONE,   /* Z3 came to the resource limit */
} noe_answer;

typedef struct noe_cache noe_cache;

noe_cache *noe_cache_new(const noe_terms *terms);
void noe_cache_free(noe_cache *c);
/* Answers stay; call it after noe_terms_reset. */
void noe_cache_reset(noe_cache *c);

/* Puts formula f[seed] and those of f[0..n-1] that share symbols with it, directly or
 * through others of them, in front, in their order; returns how many they are. Guards
 * belong together and to the formulas that share symbols with any of them: seed -1
 * stands for them. Parts of a question that share no symbols are questions of their
 * own. */
int noe_cache_gather(noe_cache *c, int n, noe_formula *f, int seed, int n_terms,
                     const noe_formula *guard);
noe_hash128 noe_cache_key(noe_cache *c, const noe_question *q);
bool noe_cache_find(const noe_cache *c, noe_hash128 key, noe_answer *answer);
void noe_cache_add(noe_cache *c, noe_hash128 key, noe_answer answer);

#endif
