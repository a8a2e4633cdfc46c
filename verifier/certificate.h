/* SPDX-License-Identifier: Apache-2.0
 *
 * Ground instances of axioms as they stand in a Z3 proof: collected, printed in rule
 * text, and evaluated at typed instances of the rule that was proved.
 */
#ifndef NOE_VERIFIER_CERTIFICATE_H
#define NOE_VERIFIER_CERTIFICATE_H

#include "verifier/encode.h"
#include "core/instance.h"

typedef struct noe_step {
    int axiom;
    Z3_ast arg[NOE_RULE_MAX_VARS + NOE_RULE_MAX_PVARS]; /* variables, then parameters */
} noe_step;

typedef struct noe_certificate {
    noe_step *step;
    int n, cap;
    Z3_ast *term; /* tensors that instances of the laws of shapes speak about */
    int n_terms, cap_terms;
    Z3_ast *instance; /* all that quantified formulas were instantiated to */
    int n_instances, cap_instances;
} noe_certificate;

/* Adds the axiom instances that the proof uses, and the terms that its laws are used
 * of; those known already are not repeated. */
void noe_certificate_collect(const noe_encoder *e, const noe_axioms *axioms,
                             Z3_ast proof, noe_certificate *c);
void noe_certificate_clear(noe_certificate *c);
/* "name ?a=relu(?b) $k=0" */
void noe_step_print(const noe_encoder *e, const noe_axioms *axioms,
                    const noe_step *step, noe_buf *b);
/* Well-typed, condition met, and true in FIELD for the values that the rule's variables
 * have at inst. scratch is overwritten with the axiom's instance. */
bool noe_step_holds(const noe_encoder *e, const noe_axioms *axioms,
                    const noe_step *step, const noe_rule *rule,
                    const noe_instance *inst, noe_instance *scratch);
/* The term is well-typed at the instance: laws of shapes say nothing of others. */
bool noe_term_is_typed(const noe_encoder *e, Z3_ast term, const noe_rule *rule,
                       const noe_instance *inst);
void noe_term_print(const noe_encoder *e, Z3_ast term, noe_buf *b);

#endif
