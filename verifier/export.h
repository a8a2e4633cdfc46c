/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs as SMT-LIB2, for other solvers to repeat.
 */
#ifndef NOE_VERIFIER_EXPORT_H
#define NOE_VERIFIER_EXPORT_H

#include "verifier/verify.h"

typedef struct noe_export_totals {
    int64_t rules, euf, lia; /* scripts of each kind */
    int64_t unproved;        /* rules that are not proved again: without scripts */
} noe_export_totals;

/* Proves each rule in use once more and writes what the solver answered into folder,
 * which is made if it is not there: ID-euf-N.smt2, the axiom instances of the
 * certificate with the negated goal (QF_UFLIA), and ID-lia-N.smt2, the questions of the
 * all-sizes proof that the proof rests on (QF_LIA). Each ends in one (check-sat), whose
 * answer must be unsat. Questions that a rule asks twice are written once. */
NOE_NODISCARD noe_status noe_verifier_export(noe_verifier *v, noe_ruledb *db,
                                             const char *folder, const noe_env *env,
                                             noe_export_totals *totals, noe_error *err);

#endif
