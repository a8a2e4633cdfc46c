/* SPDX-License-Identifier: Apache-2.0
 *
 * What proofs rest on, looked at like rules: axioms, definitions, laws.
 */
#include "core/definition.h"
#include "verifier/verify.h"
#include <stdlib.h>

static bool holds(noe_verifier *v, const char *kind, const char *name,
                  const noe_rule *rule, noe_self_check_fn *fn, void *ctx)
{
    noe_field_config config = noe_verifier_field_config(v);
    noe_field_report report;
    config.n_instances *= 2;
    noe_field_check(rule, &config, &report);
    bool ok = report.n_instances > 0 && !report.difference.found &&
              !report.is_doubtful && !report.needs_domain;
    if (fn)
        fn(ctx, kind, name, rule, &report);
    noe_field_report_clear(&report);
    return ok;
}

int noe_verifier_self_check(noe_verifier *v, noe_self_check_fn *fn, void *ctx)
{
    const noe_axioms *axioms = noe_verifier_axioms(v);
    int failed = 0, n;
    for (int i = 0; i < axioms->n; i++)
        failed +=
            !holds(v, "axiom", axioms->axiom[i].name, &axioms->axiom[i].rule, fn, ctx);
    const noe_rule_line *line = noe_definitions_expand(&n);
    for (int i = 0; i < n; i++)
        failed += !holds(v, "definition", line[i].name, &line[i].rule, fn, ctx);
    line = noe_definitions_fold(&n);
    for (int i = 0; i < n; i++)
        failed += !holds(v, "definition", line[i].name, &line[i].rule, fn, ctx);
    return failed;
}

/* Axioms */

static noe_axiom_standing standing_of(noe_verifier *v, const noe_axiom *axiom,
                                      noe_lia_proof *proof)
{
    noe_lia_prove(noe_verifier_lia(v), &axiom->rule, false, proof, NULL);
    if (proof->proved)
        return NOE_AXIOM_PROVED;
    if (!holds(v, "axiom", axiom->name, &axiom->rule, NULL, NULL))
        return NOE_AXIOM_WRONG;
    return axiom->law ? NOE_AXIOM_LAW : NOE_AXIOM_OPEN;
}

int noe_verifier_check_axioms(noe_verifier *v, noe_axiom_fn *fn, void *ctx,
                              int counts[NOE_AXIOM_OPEN + 1])
{
    const noe_axioms *axioms = noe_verifier_axioms(v);
    int n[NOE_AXIOM_OPEN + 1] = {0};
    for (int i = 0; i < axioms->n; i++) {
        const noe_axiom *axiom = &axioms->axiom[i];
        noe_lia_proof proof;
        noe_axiom_standing standing = standing_of(v, axiom, &proof);
        n[standing]++;
        const char *reason =
            noe_buf_text(standing == NOE_AXIOM_PROVED ? &proof.ranks : &proof.reason);
        if (fn)
            fn(ctx, axiom, standing, standing == NOE_AXIOM_LAW ? axiom->law : reason);
        noe_lia_proof_clear(&proof);
    }
    if (counts)
        memcpy(counts, n, sizeof n);
    return n[NOE_AXIOM_WRONG];
}

/* FIELD's models lack some laws of the reals: what differs there alone is not refuted.
 */
static bool is_refuted(noe_verifier *v, const char *name, const noe_rule *rule,
                       noe_self_check_fn *fn, void *ctx)
{
    noe_field_config config = noe_verifier_field_config(v);
    noe_field_report report;
    noe_field_check(rule, &config, &report);
    bool refuted = report.n_instances + report.is_doubtful == 0 ||
                   (report.difference.found && !report.is_doubtful);
    if (fn)
        fn(ctx, "law", name, rule, &report);
    noe_field_report_clear(&report);
    return refuted;
}

int noe_verifier_check_laws(noe_verifier *v, noe_self_check_fn *fn, void *ctx)
{
    int failed = 0, n;
    noe_error err = {0};
    const noe_law *law = noe_laws(&n);
    noe_rule *rule = noe_malloc(sizeof *rule);
    for (int i = 0; i < n; i++) {
        if (!law[i].text[0])
            continue;
        noe_status status = noe_rule_parse(law[i].text, SIZE_MAX, rule, &err);
        NOE_ASSERT(status == NOE_OK);
        failed += is_refuted(v, law[i].name, rule, fn, ctx);
    }
    free(rule);
    return failed;
}
