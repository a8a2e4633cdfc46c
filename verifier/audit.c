/* SPDX-License-Identifier: Apache-2.0
 *
 * What proofs rest on, looked at like rules: axioms, definitions, laws.
 */
#include "core/definition.h"
#include "core/derive.h"
#include "verifier/verify.h"
#include <stdlib.h>

/* For derivations of axioms from each other. */
#define REDUNDANT_INSTANCES 16
#define REDUNDANT_NODES     1500

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

/* Backward elimination: the axioms with most operators first, then those that come
 * last. One that the rest derives stays off, so that what is left derives all that is
 * off. */
typedef struct eliminand {
    int axiom, n_ops;
} eliminand;

static int compare_eliminands(const void *a, const void *b)
{
    const eliminand *x = a, *y = b;
    if (x->n_ops != y->n_ops)
        return y->n_ops - x->n_ops;
    return y->axiom - x->axiom;
}

static noe_derive_config derive_config(const noe_verifier *v)
{
    noe_derive_config config = noe_derive_default();
    config.seed = noe_verifier_field_config(v).seed;
    config.n_instances = REDUNDANT_INSTANCES;
    config.max_nodes = REDUNDANT_NODES;
    config.extra_ops = 2;
    return config;
}

static bool is_redundant(const noe_axioms *axioms, noe_rule_set *set,
                         const noe_derive_config *config, int axiom,
                         noe_redundant_fn *fn, void *ctx)
{
    noe_derive_report report;
    noe_rule_set_enable(set, axiom, false);
    noe_derive(set, &axioms->axiom[axiom].rule, config, &report);
    bool is_derived = report.verdict == NOE_DERIVE_DERIVED;
    if (is_derived && fn)
        fn(ctx, axioms, axiom, &report);
    noe_rule_set_enable(set, axiom, !is_derived);
    noe_derive_report_clear(&report);
    return is_derived;
}

int noe_verifier_redundant_axioms(noe_verifier *v, const noe_env *env,
                                  noe_redundant_fn *fn, void *ctx)
{
    const noe_axioms *axioms = noe_verifier_axioms(v);
    noe_derive_config config = derive_config(v);
    noe_rule_set *set = noe_rule_set_new();
    eliminand *order = noe_malloc((size_t)axioms->n * sizeof *order);
    int n_redundant = 0;
    for (int i = 0; i < axioms->n; i++) {
        const noe_rule *rule = &axioms->axiom[i].rule;
        noe_rule_set_add(set, rule);
        order[i] = (eliminand){i, noe_rule_count_ops(rule, false) +
                                      noe_rule_count_ops(rule, true)};
    }
    qsort(order, (size_t)axioms->n, sizeof *order, compare_eliminands);
    for (int i = 0; i < axioms->n && !noe_cancelled(env); i++)
        n_redundant += is_redundant(axioms, set, &config, order[i].axiom, fn, ctx);
    free(order);
    noe_rule_set_free(set);
    return n_redundant;
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
