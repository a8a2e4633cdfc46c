/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages in order, for one rule and for a database of candidates.
 */
#ifndef NOE_VERIFIER_VERIFY_H
#define NOE_VERIFIER_VERIFY_H

#include "ruledb/ruledb.h"
#include "verifier/axioms.h"
#include "verifier/classify.h"
#include "core/field_check.h"
#include "verifier/prove.h"

typedef struct noe_verifier_config {
    int64_t rlimit; /* Z3 resource units a root pair */
    uint64_t seed;
    int n_instances; /* typed instances FIELD looks for */
} noe_verifier_config;

#define NOE_VERIFIER_DEFAULTS                         \
    (noe_verifier_config)                             \
    {                                                 \
        .rlimit = 40000, .seed = 1, .n_instances = 48 \
    }

/* What was found out about one rule. */
typedef struct noe_check {
    noe_verdict_kind kind; /* PROVED, REFUTED or UNKNOWN */
    const char *stage;     /* "type", "field" or "z3": the one that decided */
    noe_buf reason;
    noe_field_report field;
    noe_proof proof;
    noe_numeric numeric; /* of a proved rule */
    uint64_t seed;       /* of FIELD: from the rule's id and the config's seed */
    double cpu_seconds;
} noe_check;

typedef struct noe_verifier noe_verifier;

/* axioms_text NULL: the embedded set. */
NOE_NODISCARD noe_status noe_verifier_new(const noe_verifier_config *config,
                                          const char *axioms_text,
                                          noe_verifier **verifier, noe_error *err);
void noe_verifier_free(noe_verifier *v);
const noe_axioms *noe_verifier_axioms(const noe_verifier *v);
noe_prover *noe_verifier_prover(const noe_verifier *v);

/* Verdict on one rule; depends on the rule, the config and the axioms only. check is
 * overwritten; clear it with noe_check_clear. */
void noe_verifier_check(noe_verifier *v, const noe_rule *rule, noe_check *check);
void noe_check_clear(noe_check *check);

typedef struct noe_verify_totals {
    int64_t candidates, groups, proved, refuted, unknown, covered, rules;
    int64_t unknown_type, unknown_z3;
    int64_t class[NOE_CLASS_RANGE + 1];
    double cpu_field, cpu_z3;
    int64_t rlimit_max;
} noe_verify_totals;

/* Judges all open candidates of db, group by group, and stores verdicts, rules and
 * axioms. Interrupted (env->cancel), it stores what it has and fails with
 * NOE_ERR_CANCELLED; a later run goes on from there. */
NOE_NODISCARD noe_status noe_verifier_run(noe_verifier *v, noe_ruledb *db,
                                          const noe_env *env, noe_verify_totals *totals,
                                          noe_error *err);

/* Evaluates every axiom and every definition of a composite operator by FIELD. Calls fn
 * with each result (NULL report: none); returns the number that failed. */
typedef void noe_self_check_fn(void *ctx, const char *kind, const char *name,
                               const noe_rule *rule, const noe_field_report *report);
int noe_verifier_self_check(noe_verifier *v, noe_self_check_fn *fn, void *ctx);

#endif
