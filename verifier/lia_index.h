/* SPDX-License-Identifier: Apache-2.0
 *
 * What every operator is, index by index: its shape rule and its elements as formulas
 * over symbolic dimensions. A second definition beside core/semantics.inc, written
 * independently of it: FIELD evaluates that one, so a rule is proved only where both
 * agree.
 *
 * An operator that is no composite has a row in lia_index.c: INDEX(ID, type, element),
 * or UNINTERPRETED(ID), which says that the all-sizes proof knows nothing of it
 * (tests/verifier/test_lia.c asks for the row).
 */
#ifndef NOE_VERIFIER_LIA_INDEX_H
#define NOE_VERIFIER_LIA_INDEX_H

#include "verifier/lia_laws.h"

typedef struct noe_dims {
    int rank;
    noe_poly dim[NOE_MAX_RANK];
} noe_dims;

/* Value of a parameter or term. */
typedef enum noe_symbolic_kind {
    NOE_SYMBOLIC_NUMBER,
    NOE_SYMBOLIC_LIST,
    NOE_SYMBOLIC_REAL,  /* literal */
    NOE_SYMBOLIC_REALS, /* an unknown real number: variable `var` without indices */
    NOE_SYMBOLIC_TRUTH,
    NOE_SYMBOLIC_ENTRIES, /* a list of integers whose length is a symbol */
} noe_symbolic_kind;

/* A list as a function of the place. */
typedef enum noe_entries_kind {
    NOE_ENTRIES_UNKNOWN, /* list number `list` */
    NOE_ENTRIES_WRITTEN, /* entry[0..n-1] */
    NOE_ENTRIES_CAT,     /* x ++ y */
    NOE_ENTRIES_AT,      /* x at the places y */
} noe_entries_kind;

typedef struct noe_entries noe_entries;
struct noe_entries {
    noe_entries_kind kind;
    noe_poly length;
    int64_t list;
    int n;
    const noe_poly *entry;
    const noe_entries *x, *y;
};

typedef struct noe_symbolic {
    noe_symbolic_kind kind;
    int n;
    noe_poly number, list[NOE_MAX_LIST];
    double real;
    uint16_t var;
    noe_formula truth;
    const noe_entries *entries;
    bool is_stored; /* as the parameter of a matched node has it: within bounds */
} noe_symbolic;

typedef enum noe_fit {
    NOE_FIT_YES,
    NOE_FIT_NO,      /* never well-typed */
    NOE_FIT_UNKNOWN, /* beyond this definition; reason says why */
} noe_fit;

typedef struct noe_index_call {
    noe_algebra *a;
    noe_op op;
    const noe_dims *in;
    int n_in;
    const noe_symbolic *params;
    noe_dims out;    /* made by type, used by element */
    noe_symbol *aux; /* NOE_INDEX_AUX natural numbers that the node may name */
    const char *reason;
    void (*emit)(void *ctx, noe_formula fact); /* type: what well-typedness says */
    const noe_expr *(*operand)(void *ctx, int i, const noe_poly *index); /* element */
    void *ctx;
} noe_index_call;

#define NOE_INDEX_AUX 2

typedef struct noe_index_definition {
    bool is_listed; /* has a row, perhaps one that says UNINTERPRETED */
    noe_fit (*type)(noe_index_call *c); /* NULL: uninterpreted */
    const noe_expr *(*element)(noe_index_call *c, const noe_poly *index);
} noe_index_definition;

const noe_index_definition *noe_index_of(noe_op op);
noe_poly noe_entries_at(noe_terms *t, const noe_entries *e, noe_poly place);
/* Index of an element of shape `from` in a tensor of shape `to` with equal elements. */
void noe_index_reshape(noe_algebra *a, const noe_dims *from, const noe_dims *to,
                       const noe_poly *index, noe_poly *out);

#endif
