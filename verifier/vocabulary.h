/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of synthesized conditions: atoms over the quantities of a rule, written
 * as the rule text's condition writes them. docs/guarantee.md lists it.
 */
#ifndef NOE_VERIFIER_VOCABULARY_H
#define NOE_VERIFIER_VOCABULARY_H

#include "core/rule.h"

/* Forms of atoms; x, y, z are quantities, c is a number. */
#define NOE_ATOM_MAP(XX)                                                              \
    XX(EQUALS, 2)      /* x == c */                                                   \
    XX(SAME, 3)        /* x == y, numbers or lists */                                 \
    XX(ALL, 3)         /* x == rep(c, len(x)), a list */                              \
    XX(DIFFERS, 4)     /* x != c */                                                   \
    XX(APART, 4)       /* x != y */                                                   \
    XX(AT_LEAST, 4)    /* c <= x */                                                   \
    XX(AT_MOST, 4)     /* x <= c */                                                   \
    XX(LESS_EQUAL, 5)  /* x <= y */                                                   \
    XX(LESS, 5)        /* x < y */                                                    \
    XX(LACKS, 5)       /* !has(x, y), a list and a number */                          \
    XX(HAS, 5)         /* has(x, y) == 1 */                                           \
    XX(ODD, 5)         /* x % 2 == 1 */                                               \
    XX(EVEN, 5)        /* x % 2 == 0 */                                               \
    XX(DIVIDES, 6)     /* x % y == 0 */                                               \
    XX(PARITY, 7)      /* (x + y) % 2 == 0 */                                         \
    XX(FROM_END, 6)    /* x + c == y: an axis and a rank */                           \
    XX(BEFORE_END, 6)  /* x + c <= y */                                               \
    XX(BEFORE_LAST, 7) /* x + y < z: axis x of rank z is before the last y ones */

typedef enum noe_atom_kind {
#define XX(ID, COST) NOE_ATOM_##ID,
    NOE_ATOM_MAP(XX)
#undef XX
        NOE_ATOM_KINDS
} noe_atom_kind;

typedef struct noe_atom {
    noe_atom_kind kind;
    uint8_t x, y, z;
    int8_t c;
    int cost; /* simpler ones cost less */
} noe_atom;

#define NOE_VOCABULARY_QUANTITIES 96

/* The quantities of one instance. */
typedef struct noe_quantities {
    bool has[NOE_VOCABULARY_QUANTITIES];
    noe_value value[NOE_VOCABULARY_QUANTITIES];
} noe_quantities;

typedef struct noe_vocabulary noe_vocabulary;

/* The rule is copied. All atoms, in a fixed order. */
noe_vocabulary *noe_vocabulary_new(const noe_rule *rule);
void noe_vocabulary_free(noe_vocabulary *v);
const noe_atom *noe_vocabulary_atoms(const noe_vocabulary *v, int *n);
void noe_vocabulary_measure(const noe_vocabulary *v, const noe_binding *binding,
                            noe_quantities *q);
/* False where a quantity of the atom has no value, as in conditions. */
bool noe_vocabulary_holds(const noe_vocabulary *v, int atom, const noe_quantities *q);

/* Whether the atom makes a parameter that is a quotient, or a group, 1. Proofs are hard
 * where two unknowns are multiplied or divided. */
bool noe_vocabulary_is_linear(const noe_vocabulary *v, int atom);

/* The rule with the atoms as further conjuncts; negated: the one of this number among
 * them, -1: none. It has terms that nothing uses; print and parse it to lose them. in
 * place: a real parameter that equals a number is written as that number, since proofs
 * know no conditions on reals. False if it has more terms than rules may have. */
bool noe_vocabulary_narrow(const noe_vocabulary *v, const int *atoms, int n,
                           int negated, bool in_place, noe_rule *rule);

#endif
