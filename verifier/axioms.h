/* SPDX-License-Identifier: Apache-2.0
 *
 * The axiom set: verifier/axioms.txt, embedded, or any other text in that form.
 */
#ifndef NOE_VERIFIER_AXIOMS_H
#define NOE_VERIFIER_AXIOMS_H

#include "core/rule.h"

typedef struct noe_axiom {
    char *name;
    const char *law; /* assumed.def: why it is assumed; NULL if it is not listed */
    int line;
    noe_rule rule;
    /* Both sides can be well-typed with different output types: the axiom is used only
     * where their shapes are known to be equal. Found by trying instances. */
    bool needs_equal_shapes;
} noe_axiom;

typedef struct noe_axioms {
    noe_axiom *axiom;
    int n, cap;
    uint64_t hash; /* of the text */
} noe_axioms;

extern const char noe_axioms_text[];

NOE_NODISCARD noe_status noe_axioms_load(const char *text, const char *path,
                                         noe_axioms *axioms, noe_error *err);
void noe_axioms_clear(noe_axioms *axioms);
/* Index of the axiom of that name, -1 if there is none. */
int noe_axioms_find(const noe_axioms *axioms, const char *name);

#endif
