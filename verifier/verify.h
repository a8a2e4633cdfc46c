/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages in order, for one rule and for a database of candidates.
 */
#ifndef NOE_VERIFIER_VERIFY_H
#define NOE_VERIFIER_VERIFY_H

#include "core/derive.h"
#include "ruledb/ruledb.h"
#include "verifier/axioms.h"
#include "verifier/classify.h"
#include "core/field_check.h"
#include "verifier/lia.h"
#include "verifier/precondition.h"
#include "verifier/prove.h"

typedef struct noe_verifier_config {
    int64_t rlimit; /* Z3 resource units a root pair */
    noe_lia_config lia;
    uint64_t seed;
    int n_instances; /* typed instances FIELD looks for */
    int n_workers;   /* processes that judge candidates; 0: this one does */
    noe_precondition_config precondition; /* but its seed: from the rule's id */
} noe_verifier_config;

#define NOE_VERIFIER_DEFAULTS                                                   \
    (noe_verifier_config)                                                       \
    {                                                                           \
        .rlimit = 40000, .lia = NOE_LIA_DEFAULTS, .seed = 1, .n_instances = 48, \
        .precondition = NOE_PRECONDITION_DEFAULTS                               \
    }

/* What was found out about one rule. */
typedef struct noe_check {
    noe_verdict_kind kind; /* PROVED, REFUTED or UNKNOWN */
    noe_tier tier;         /* of a proved rule */
    const char *stage;     /* "type", "field", "z3" or "lia": the one that decided */
    noe_buf reason;
    noe_field_report field;
    noe_proof proof;
    noe_lia_proof lia;
    noe_buf questions;   /* asked for: those of lia as SMT-LIB2, each with (reset) */
    noe_numeric numeric; /* of a proved rule */
    noe_directions directions;
    uint64_t seed;      /* of FIELD: from the rule's id and the config's seed */
    double cpu_seconds; /* all together, and by stage */
    double cpu_field, cpu_z3, cpu_lia, cpu_class;
} noe_check;

typedef struct noe_verifier noe_verifier;

/* axioms_text NULL: the embedded set. */
NOE_NODISCARD noe_status noe_verifier_new(const noe_verifier_config *config,
                                          const char *axioms_text,
                                          noe_verifier **verifier, noe_error *err);
void noe_verifier_free(noe_verifier *v);
const noe_axioms *noe_verifier_axioms(const noe_verifier *v);
noe_prover *noe_verifier_prover(const noe_verifier *v);
/* How FIELD looks at axioms and laws. */
noe_field_config noe_verifier_field_config(const noe_verifier *v);

/* Checks from now on have proof.scripts and questions, or not. */
void noe_verifier_ask_scripts(noe_verifier *v, bool yes);

/* Verdict on one rule; depends on the rule, the config and the axioms only. check is
 * overwritten; clear it with noe_check_clear. */
void noe_verifier_check(noe_verifier *v, const noe_rule *rule, noe_check *check);
void noe_check_clear(noe_check *check);
/* The condition under which a rule that FIELD refutes (check: how) is proved for all
 * sizes. What was
 * found is a rule like others: it counts if noe_verifier_check proves it. Clear it with
 * noe_precondition_clear. */
void noe_verifier_narrow(noe_verifier *v, const noe_rule *rule, const noe_check *check,
                         noe_precondition *found);

typedef struct noe_verify_totals {
    int64_t candidates, groups, proved, refuted, unknown, covered, rules;
    int64_t left; /* candidates at which workers died: they stay open */
    int64_t unknown_type, unknown_z3;
    int64_t narrowed; /* rules by a condition that was found for a refuted candidate */
    int64_t tier[NOE_TIER_C + 1];
    int64_t class[NOE_CLASS_RANGE + 1];
    int64_t rlimit_max;
    double cpu_field, cpu_z3, cpu_lia, cpu_class; /* of the verdicts, by stage */
    double cpu_narrow;                            /* searching for conditions */
    double cpu_all;
} noe_verify_totals;

/* Judges all open candidates of db, group by group, and stores verdicts, rules and
 * axioms: the same for any number of worker processes (verifier/workers.h). A candidate
 * at which workers die twice stays open, and so does the rest of its group; it is said.
 * Interrupted (env->cancel), it stores what it has and fails with NOE_ERR_CANCELLED; a
 * later run goes on from there. */
NOE_NODISCARD noe_status noe_verifier_run(noe_verifier *v, noe_ruledb *db,
                                          const noe_env *env, noe_verify_totals *totals,
                                          noe_error *err);

typedef struct noe_recheck_totals {
    noe_verify_totals verdicts;
    int64_t rules;     /* rechecked */
    int64_t refreshed; /* of the proved ones: those that were stale */
    int64_t lost;      /* not proved any more */
} noe_recheck_totals;

/* Proves every rule of db again, also those that are stale, and stores what came out.
 * One that is not proved any more is no rule (its verdict says why), and the candidates
 * that it covered are open again. Interrupted, it stores what it has and fails with
 * NOE_ERR_CANCELLED. */
NOE_NODISCARD noe_status noe_verifier_recheck(noe_verifier *v, noe_ruledb *db,
                                              const noe_env *env,
                                              noe_recheck_totals *totals,
                                              noe_error *err);

typedef void noe_self_check_fn(void *ctx, const char *kind, const char *name,
                               const noe_rule *rule, const noe_field_report *report);
/* What is known of an axiom. */
typedef enum noe_axiom_standing {
    NOE_AXIOM_PROVED, /* for all sizes, by stage LIA */
    NOE_AXIOM_LAW,    /* true by assumption, for a stated reason; FIELD agrees */
    NOE_AXIOM_WRONG,  /* FIELD refutes it */
    NOE_AXIOM_OPEN,   /* none of these: nothing says that it is true but instances */
} noe_axiom_standing;

/* Calls fn for each axiom; reason is what the all-sizes proof says, or why it is a law.
 * Returns how many are WRONG. counts, if not NULL, gets the number of each standing. */
typedef void noe_axiom_fn(void *ctx, const noe_axiom *axiom,
                          noe_axiom_standing standing, const char *reason);
int noe_verifier_check_axioms(noe_verifier *v, noe_axiom_fn *fn, void *ctx,
                              int counts[NOE_AXIOM_OPEN + 1]);
/* Axioms that follow from the others (core/derive.h): all that are off may be left out
 * together, the rest derives each of them at all instances looked at. They are lemmas
 * to the prover, not a fault. fn is called for each, derivation rules are numbers of
 * axioms. Returns how many there are. Takes minutes; env may cancel it. */
typedef void noe_redundant_fn(void *ctx, const noe_axioms *axioms, int axiom,
                              const noe_derive_report *report);
int noe_verifier_redundant_axioms(noe_verifier *v, const noe_env *env,
                                  noe_redundant_fn *fn, void *ctx);
/* The laws of the all-sizes proof that are rules: each as an axiom, by FIELD alone. */
int noe_verifier_check_laws(noe_verifier *v, noe_self_check_fn *fn, void *ctx);
/* For --smt2: the stage's questions about a rule. */
noe_lia *noe_verifier_lia(const noe_verifier *v);

/* Evaluates every axiom and every definition of a composite operator by FIELD. Calls fn
 * with each result (NULL report: none); returns the number that failed. */
int noe_verifier_self_check(noe_verifier *v, noe_self_check_fn *fn, void *ctx);

#endif
