/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer terms of the all-sizes proof: polynomials over symbols (dimensions, indices,
 * parameters) and over a few functions of polynomials, in one normal form, so that
 * equal handles mean equal values for all values of the symbols. And formulas over
 * them. Handles live until noe_terms_reset.
 */
#ifndef NOE_VERIFIER_LIA_POLY_H
#define NOE_VERIFIER_LIA_POLY_H

#include "core/base/mem.h"
#include <stdbool.h>

typedef uint32_t noe_poly, noe_formula, noe_symbol;

typedef enum noe_atom_kind {
    NOE_ATOM_SYMBOL,    /* symbol */
    NOE_ATOM_DIV,       /* floor(a / b), b >= 1 */
    NOE_ATOM_CLAMP,     /* 0 if a = 1, else b: where an index b reads a dimension a */
    NOE_ATOM_BROADCAST, /* b if a = 1, else a */
    NOE_ATOM_SELECT,    /* b if a >= 0, else c */
    NOE_ATOM_ENTRY,     /* entry b of the list number a, a literal; 0 beyond its ends */
} noe_atom_kind;

typedef struct noe_atom {
    noe_atom_kind kind;
    uint32_t a, b, c; /* a symbol, or polynomials */
} noe_atom;

#define NOE_PRODUCT_MAX 8 /* degree */

typedef struct noe_product {
    uint32_t n;
    uint32_t atom[NOE_PRODUCT_MAX]; /* ascending */
} noe_product;

typedef struct noe_monomial {
    int64_t coef;
    uint64_t product; /* 0: the empty one */
} noe_monomial;

typedef enum noe_formula_kind {
    NOE_FORMULA_TRUE,
    NOE_FORMULA_FALSE,
    NOE_FORMULA_GE, /* a >= 0 */
    NOE_FORMULA_EQ, /* a = 0 */
    NOE_FORMULA_NOT,
    NOE_FORMULA_AND,
    NOE_FORMULA_OR,
} noe_formula_kind;

typedef struct noe_formula_node {
    noe_formula_kind kind;
    uint32_t a, b; /* a polynomial, or formulas */
} noe_formula_node;

#define NOE_FORMULA_TRUE_ID  0
#define NOE_FORMULA_FALSE_ID 1

typedef struct noe_terms noe_terms;
noe_terms *noe_terms_new(void);
void noe_terms_free(noe_terms *t);
/* Forgets all terms and symbols. */
void noe_terms_reset(noe_terms *t);
/* A number or a degree left its range since the reset: nothing made since counts. */
bool noe_terms_overflowed(const noe_terms *t);

/* is_natural: its values are >= 0. */
noe_symbol noe_terms_symbol(noe_terms *t, bool is_natural);
/* One that a sum or a maximum ranges over. */
noe_symbol noe_terms_bound_symbol(noe_terms *t);
bool noe_symbol_is_bound(const noe_terms *t, noe_symbol s);
uint32_t noe_terms_n_symbols(const noe_terms *t);
bool noe_symbol_is_natural(const noe_terms *t, noe_symbol s);
/* From now on the symbol stands for p, in terms made after this. p must not mention it.
 */
void noe_symbol_define(noe_terms *t, noe_symbol s, noe_poly p);

noe_poly noe_poly_int(noe_terms *t, int64_t i);
noe_poly noe_poly_symbol(noe_terms *t, noe_symbol s);
noe_poly noe_poly_add(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_sub(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_scale(noe_terms *t, noe_poly a, int64_t k);
noe_poly noe_poly_plus(noe_terms *t, noe_poly a, int64_t k);
noe_poly noe_poly_mul(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_div(noe_terms *t, noe_poly a, noe_poly b); /* b >= 1 */
noe_poly noe_poly_mod(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_min(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_max(noe_terms *t, noe_poly a, noe_poly b);
noe_poly noe_poly_select(noe_terms *t, noe_poly a, noe_poly b, noe_poly c);
noe_poly noe_poly_clamp(noe_terms *t, noe_poly dim, noe_poly index);
noe_poly noe_poly_broadcast(noe_terms *t, noe_poly a, noe_poly b);
/* a / b where that is exact term by term; false otherwise. */
bool noe_poly_divides(noe_terms *t, noe_poly a, noe_poly b, noe_poly *quotient);

const noe_monomial *noe_poly_monomials(const noe_terms *t, noe_poly p, int *n);
const noe_product *noe_terms_product(const noe_terms *t, uint64_t product);
const noe_atom *noe_terms_atom(const noe_terms *t, uint32_t atom);
bool noe_poly_is_int(const noe_terms *t, noe_poly p, int64_t *i);
/* The atom if p is just that. */
const noe_atom *noe_poly_is_atom(const noe_terms *t, noe_poly p);
/* Coefficient of the symbol alone. */
int64_t noe_poly_coef(const noe_terms *t, noe_poly p, noe_symbol s);
/* The symbol occurs in it, however deep. */
bool noe_poly_mentions(const noe_terms *t, noe_poly p, noe_symbol s);
/* >= 0 by the signs of its parts alone; false says nothing. */
bool noe_poly_is_natural(const noe_terms *t, noe_poly p);
/* The entries of list `list` from 0 to length - 1 are natural numbers below `bound`. */
void noe_terms_list_range(noe_terms *t, int64_t list, noe_poly length, noe_poly bound);
/* The i-th fact of that kind about the list; false if there are not as many. */
bool noe_terms_nth_range(const noe_terms *t, int64_t list, int i, noe_poly *length,
                         noe_poly *bound);
int noe_terms_n_ranges(const noe_terms *t);
noe_poly noe_poly_entry(noe_terms *t, int64_t list, noe_poly index);
/* At once: symbol s[i] becomes p[i]. */
noe_poly noe_poly_subst(noe_terms *t, noe_poly p, int n, const noe_symbol *s,
                        const noe_poly *with);

/* The same with `with` for each occurrence of the atom. */
noe_poly noe_poly_replace(noe_terms *t, noe_poly p, uint32_t atom, noe_poly with);

noe_formula noe_formula_ge(noe_terms *t, noe_poly a, noe_poly b); /* a >= b */
noe_formula noe_formula_eq(noe_terms *t, noe_poly a, noe_poly b);
noe_formula noe_formula_not(noe_terms *t, noe_formula f);
noe_formula noe_formula_and(noe_terms *t, noe_formula f, noe_formula g);
noe_formula noe_formula_or(noe_terms *t, noe_formula f, noe_formula g);
const noe_formula_node *noe_terms_formula(const noe_terms *t, noe_formula f);
bool noe_formula_mentions(const noe_terms *t, noe_formula f, noe_symbol s);
noe_formula noe_formula_subst(noe_terms *t, noe_formula f, int n, const noe_symbol *s,
                              const noe_poly *with);
noe_formula noe_formula_replace(noe_terms *t, noe_formula f, uint32_t atom,
                                noe_poly with);

#endif
