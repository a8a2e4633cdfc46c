/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of synthesized conditions: predicates over the quantities of a rule,
 * written as the rule text's condition writes them. docs/guarantee.md lists it.
 */
#ifndef NOE_VERIFIER_VOCABULARY_H
#define NOE_VERIFIER_VOCABULARY_H

#include "core/rule.h"

/* Forms of predicates; x, y, z are quantities, c is a number. */
#define NOE_PREDICATE_MAP(XX)                                \
    XX(EQUALS, 2)      /* x == c */                          \
    XX(SAME, 3)        /* x == y, numbers or lists */        \
    XX(ALL, 3)         /* x == rep(c, len(x)), a list */     \
    XX(DIFFERS, 4)     /* x != c */                          \
    XX(APART, 4)       /* x != y */                          \
    XX(AT_LEAST, 4)    /* c <= x */                          \
    XX(AT_MOST, 4)     /* x <= c */                          \
    XX(LESS_EQUAL, 5)  /* x <= y */                          \
    XX(LESS, 5)        /* x < y */                           \
    XX(LACKS, 5)       /* !has(x, y), a list and a number */ \
    XX(HAS, 5)         /* has(x, y) == 1 */                  \
    XX(ODD, 5)         /* x % 2 == 1 */                      \
    XX(EVEN, 5)        /* x % 2 == 0 */                      \
    XX(DIVIDES, 6)     /* x % y == 0 */                      \
    XX(PARITY, 7)      /* (x + y) % 2 == 0 */                \
    XX(FROM_END, 6)    /* x + c == y: an axis and a rank */  \
    XX(BEFORE_END, 6)  /* x + c <= y */                      \
    XX(BEFORE_LAST, 7) /* x + y < z: axis x of rank z is before the last y ones */

typedef enum noe_predicate_kind {
#define XX(ID, COST) NOE_PREDICATE_##ID,
    NOE_PREDICATE_MAP(XX)
#undef XX
        NOE_PREDICATE_KINDS
} noe_predicate_kind;

typedef struct noe_predicate {
    noe_predicate_kind kind;
    uint8_t x, y, z;
    int8_t c;
    int cost; /* simpler ones cost less */
} noe_predicate;

#define NOE_VOCABULARY_QUANTITIES 96

/* The quantities of one instance. */
typedef struct noe_quantities {
    bool has[NOE_VOCABULARY_QUANTITIES];
    noe_value value[NOE_VOCABULARY_QUANTITIES];
} noe_quantities;

typedef struct noe_vocabulary noe_vocabulary;

/* The rule is copied. All predicates, in a fixed order. */
noe_vocabulary *noe_vocabulary_new(const noe_rule *rule);
void noe_vocabulary_free(noe_vocabulary *v);
const noe_predicate *noe_vocabulary_predicates(const noe_vocabulary *v, int *n);
void noe_vocabulary_measure(const noe_vocabulary *v, const noe_binding *binding,
                            noe_quantities *q);
/* False where a quantity of the predicate has no value, as in conditions. */
bool noe_vocabulary_holds(const noe_vocabulary *v, int predicate,
                          const noe_quantities *q);

/* Whether the predicate makes a parameter that is a quotient, or a group, 1. Proofs are
 * hard where two unknowns are multiplied or divided. */
bool noe_vocabulary_is_linear(const noe_vocabulary *v, int predicate);

/* The rule with the predicates as further conjuncts; negated: the one of this number
 * among them, -1: none. It has terms that nothing uses; print and parse it to lose
 * them. in place: a real parameter that equals a number is written as that number,
 * since proofs know no conditions on reals. False if it has more terms than rules may
 * have. */
bool noe_vocabulary_narrow(const noe_vocabulary *v, const int *predicates, int n,
                           int negated, bool in_place, noe_rule *rule);

#endif
