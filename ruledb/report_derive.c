/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rules of a file follow from the rules in use (core/derive.h): a line a rule, in
 * the order of the file.
 */
#include "ruledb/report.h"
#include "core/base/file.h"
#include "core/derive.h"
#include "ruledb/taso.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((uint64_t)64 << 20)

typedef struct judge {
    noe_rule_set *set;
    char (*ids)[NOE_HASH_HEX_LEN + 1]; /* of the rules of the set */
    int n_ids, cap_ids;
    const noe_report_options *options;
    noe_derive_config config;
    noe_derive_counts *counts;
    noe_buf *out;
} judge;

static noe_status load_rule(void *ctx, const noe_rule_row *row, noe_error *err)
{
    judge *j = ctx;
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(row->text, SIZE_MAX, rule, err);
    if (status == NOE_OK) {
        noe_rule_set_add(j->set, rule);
        if (j->n_ids == j->cap_ids) {
            j->cap_ids = j->cap_ids ? 2 * j->cap_ids : 64;
            j->ids = noe_realloc(j->ids, (size_t)j->cap_ids * sizeof *j->ids);
        }
        noe_hash_hex(noe_rule_id(rule), j->ids[j->n_ids++]);
    } else {
        noe_error_prefix(err, "rule %.32s: ", row->id);
    }
    free(rule);
    return status;
}

/* "3fa9c0d1e2>@0.1": the rule, left to right or back, at operand 1 of operand 0. */
static void add_step(const judge *j, const noe_derive_step *s, noe_buf *out)
{
    noe_buf_printf(out, "%.*s%s@", NOE_REPORT_ID_CHARS, j->ids[s->rule],
                   s->backwards ? "<" : ">");
    for (int i = 0; i < s->n_path; i++)
        noe_buf_printf(out, i ? ".%d" : "%d", s->path[i]);
    if (s->n_path == 0)
        noe_buf_puts(out, "root");
}

static void add_derivation_line(const judge *j, const noe_derive_report *r,
                                noe_buf *out)
{
    int n_roots = 0, n_steps = 0;
    for (int i = 0; i < r->n_derivations && r->derivations[i].scheme == 0; i++) {
        n_roots++;
        n_steps += r->derivations[i].n_steps;
    }
    noe_buf_printf(out, "%d steps", n_steps);
    for (int i = 0; i < n_roots; i++) {
        noe_buf_puts(out, i ? " |" : ":");
        for (int k = 0; k < r->derivations[i].n_steps; k++) {
            noe_buf_puts(out, " ");
            add_step(j, &r->derivations[i].steps[k], out);
        }
    }
    noe_buf_printf(out, "; %d instances, %d %s", r->n_instances, r->n_schemes,
                   r->n_schemes == 1 ? "derivation" : "derivations");
}

static void add_terms(const judge *j, const noe_derive_report *r, noe_buf *out)
{
    for (int i = 0; i < r->n_derivations; i++) {
        const noe_derivation *v = &r->derivations[i];
        noe_buf_printf(out, "    at %s\n      %s\n", v->instance, v->start);
        for (int k = 0; k < v->n_steps; k++) {
            noe_buf_puts(out, "      = ");
            noe_buf_puts(out, v->steps[k].after);
            noe_buf_puts(out, "   by ");
            add_step(j, &v->steps[k], out);
            noe_buf_puts(out, "\n");
        }
    }
}

static void judge_rule(judge *j, const char *label, const noe_rule *rule)
{
    noe_derive_report r;
    noe_derive(j->set, rule, &j->config, &r);
    noe_report_add_text(j->out, label, 200);
    switch (r.verdict) {
    case NOE_DERIVE_DERIVED:
        j->counts->n_derivable++;
        noe_buf_puts(j->out, " derivable: ");
        add_derivation_line(j, &r, j->out);
        break;
    case NOE_DERIVE_REFUTED:
        j->counts->n_refuted++;
        noe_buf_puts(j->out, " refuted: ");
        noe_buf_puts(j->out, noe_buf_text(&r.why));
        break;
    case NOE_DERIVE_UNKNOWN:
        j->counts->n_unknown++;
        noe_buf_puts(j->out, " unknown: ");
        noe_buf_puts(j->out, noe_buf_text(&r.why));
        break;
    }
    noe_buf_puts(j->out, "\n");
    if (j->options->wants_steps)
        add_terms(j, &r, j->out);
    noe_derive_report_clear(&r);
}

static noe_status judge_line(void *ctx, const noe_rule_line *line, noe_error *err)
{
    judge *j = ctx;
    char label[160];
    (void)err;
    snprintf(label, sizeof label, *line->name ? "%d (%.120s)" : "%d", line->line,
             line->name);
    judge_rule(j, label, &line->rule);
    return NOE_OK;
}

static void judge_text(judge *j, const char *label, const char *text)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    if (noe_rule_parse(text, SIZE_MAX, rule, NULL) == NOE_OK)
        judge_rule(j, label, rule);
    free(rule);
}

/* A rule that does not hold or is not derivable in general may under the condition that
 * no convolution has groups; that line follows its own, and is not counted. */
static void judge_taso_rule(judge *j, int number, const noe_taso_rule *rule)
{
    noe_derive_counts before = *j->counts, after;
    char label[64];
    snprintf(label, sizeof label, "%d", number);
    if (!rule->text) {
        noe_buf_printf(j->out, "%d unknown: not translated: ", number);
        noe_report_add_text(j->out, rule->reason, 300);
        noe_buf_puts(j->out, "\n");
        j->counts->n_unknown++;
        return;
    }
    judge_text(j, label, rule->text);
    if (!rule->narrow || j->counts->n_derivable > before.n_derivable)
        return;
    after = *j->counts;
    snprintf(label, sizeof label, "%d (without groups)", number);
    judge_text(j, label, rule->narrow);
    *j->counts = after;
}

static noe_status judge_data(judge *j, const char *path, const char *data, size_t len,
                             noe_error *err)
{
    noe_taso_rules rules;
    if (!noe_taso_looks_like(data, len))
        return noe_rules_parse(data, path, judge_line, j, err);
    noe_status status = noe_taso_read(data, len, &rules, err);
    if (status != NOE_OK) {
        noe_error_prefix(err, "%s: ", path);
        return status;
    }
    for (int i = 0; i < rules.n; i++)
        judge_taso_rule(j, i, &rules.rules[i]);
    noe_taso_rules_clear(&rules);
    return NOE_OK;
}

static noe_status judge_file(judge *j, const char *path, noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, MAX_FILE_BYTES, &data, &len, err));
    noe_status status = judge_data(j, path, data, len, err);
    free(data);
    return status;
}

noe_status noe_report_derive(noe_ruledb *db, const char *path,
                             const noe_report_options *o, noe_buf *out,
                             noe_derive_counts *counts, noe_error *err)
{
    judge j = {.options = o, .counts = counts, .out = out};
    *counts = (noe_derive_counts){0};
    j.set = noe_rule_set_new();
    j.config = noe_derive_default();
    noe_status status =
        noe_ruledb_each_rule(db, noe_op_table_hash(), load_rule, &j, err);
    if (status == NOE_OK && j.n_ids == 0)
        status = noe_fail(err, NOE_ERR_DB,
                          "no rules in use to derive from; noether-generate and "
                          "noether-verify make them");
    if (status == NOE_OK)
        status = judge_file(&j, path, err);
    if (status == NOE_OK)
        noe_buf_printf(out, "%d derivable, %d refuted, %d unknown, from %d rules\n",
                       counts->n_derivable, counts->n_refuted, counts->n_unknown,
                       j.n_ids);
    noe_rule_set_free(j.set);
    free(j.ids);
    return status;
}
