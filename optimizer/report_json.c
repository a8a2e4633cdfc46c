/* SPDX-License-Identifier: Apache-2.0
 *
 * The report for programs. Seconds are seconds, counts are counts; what was not done is
 * null.
 */
#include "optimizer/report.h"
#include "core/base/text.h"
#include <math.h>

static void put_facts(noe_buf *b, const char *name, const noe_file_facts *f,
                      const noe_cost *cost, uint64_t memory)
{
    noe_buf_printf(b,
                   "  \"%s\": {\"bytes\": %llu, \"weight_bytes\": %llu, "
                   "\"peak_memory_bytes\": %llu, \"predicted_seconds\": ",
                   name, (unsigned long long)f->bytes,
                   (unsigned long long)cost->weight_bytes, (unsigned long long)memory);
    noe_buf_json_number(b, cost->seconds);
    noe_buf_puts(b, ", \"operators\": {");
    for (int i = 0; i < f->n_counts; i++) {
        noe_buf_puts(b, i ? ", " : "");
        noe_buf_json(b, f->counts[i].op_type);
        noe_buf_printf(b, ": %d", f->counts[i].n);
    }
    noe_buf_puts(b, "}},\n");
}

static void put_trial(noe_buf *b, const noe_trial *t)
{
    if (!t->done) {
        noe_buf_puts(b, "  \"measured\": null,\n");
        return;
    }
    noe_buf_printf(
        b,
        "  \"measured\": {\"before_seconds\": %.9g, \"after_seconds\": %.9g, "
        "\"ratio\": %.6g, \"ratio_low\": %.6g, \"ratio_high\": %.6g, "
        "\"rounds\": %d, \"clock\": \"%s\", \"difference\": ",
        t->pair.seconds_a, t->pair.seconds_b, t->pair.ratio, t->pair.ratio_lo,
        t->pair.ratio_hi, t->pair.n_rounds, t->pair.clock);
    noe_buf_json_number(b, t->difference >= 0 ? t->difference : NAN);
    noe_buf_puts(b, "},\n");
}

static void put_check(noe_buf *b, const noe_check_report *c)
{
    noe_buf_printf(b,
                   "  \"check\": {\"inputs\": %d, \"values\": %u, \"max_abs\": %.6g, "
                   "\"max_rel\": %.6g, \"worst\": ",
                   c->n_inputs, c->n_outputs, c->max_abs, c->max_rel);
    noe_buf_json(b, c->worst);
    noe_buf_puts(b, "},\n");
}

static void put_rules(noe_buf *b, const noe_rule_set *rules, const noe_search_result *s)
{
    bool any = false;
    noe_buf_puts(b, "  \"rules\": [");
    for (int i = 0; s->applied && i < rules->n; i++) {
        const noe_usable_rule *u = rules->rules[i];
        if (s->applied[i] == 0)
            continue;
        noe_buf_printf(b,
                       "%s\n    {\"id\": \"%s\", \"reversed\": %s, \"times\": %d, "
                       "\"text\": ",
                       any ? "," : "", u->id, u->reversed ? "true" : "false",
                       s->applied[i]);
        noe_buf_json(b, u->text);
        noe_buf_puts(b, "}");
        any = true;
    }
    noe_buf_puts(b, "],\n");
}

static void put_step(noe_buf *b, const noe_rule_set *rules, const noe_step *step)
{
    noe_buf_printf(b,
                   "\n      {\"rule\": \"%s\", \"reversed\": %s, \"node\": %u, "
                   "\"match\": %u, \"joined\": %s, \"seconds\": ",
                   rules->rules[step->site.rule]->id,
                   rules->rules[step->site.rule]->reversed ? "true" : "false",
                   step->site.node, step->site.nth, step->joined ? "true" : "false");
    noe_buf_json_number(b, step->seconds);
    noe_buf_puts(b, ", \"tensor\": ");
    if (step->name)
        noe_buf_json(b, step->name);
    else
        noe_buf_puts(b, "null");
    noe_buf_puts(b, "}");
}

static void put_parts(noe_buf *b, const noe_rule_set *rules, const noe_search_result *s)
{
    noe_buf_puts(b, "  \"parts\": [");
    for (int i = 0; i < s->n_parts; i++) {
        const noe_search_part *p = &s->parts[i];
        noe_buf_printf(b,
                       "%s\n    {\"pass\": %d, \"kind\": \"%016llx\", \"copies\": %u, "
                       "\"before_seconds\": %.9g, \"after_seconds\": %.9g, "
                       "\"steps\": [",
                       i ? "," : "", p->pass, (unsigned long long)p->key, p->n_copies,
                       p->before, p->after);
        for (int j = p->first; j < p->first + p->n; j++) {
            noe_buf_puts(b, j > p->first ? "," : "");
            put_step(b, rules, &s->path[j]);
        }
        noe_buf_puts(b, "]}");
    }
    noe_buf_puts(b, "],\n");
}

void noe_report_json(noe_buf *b, const char *input, const char *device, double seconds,
                     const noe_file_facts *before, const noe_file_facts *after,
                     const noe_rule_set *rules, const noe_optimize_result *r)
{
    static const char *const decisions[] = {[NOE_DECISION_BETTER] = "better",
                                            [NOE_DECISION_NO_GAIN] = "no gain",
                                            [NOE_DECISION_NO_SPEED] = "not faster"};
    const noe_search_result *s = &r->search;
    noe_buf_puts(b, "{\n  \"input\": ");
    noe_buf_json(b, input);
    noe_buf_puts(b, ",\n  \"device\": ");
    noe_buf_json(b, device);
    noe_buf_printf(b, ",\n  \"decision\": \"%s\",\n", decisions[r->decision]);
    put_facts(b, "before", before, &r->before, r->memory_before);
    put_facts(b, "after", after,
              r->decision == NOE_DECISION_BETTER ? &r->after : &r->before,
              r->decision == NOE_DECISION_BETTER ? r->memory_after : r->memory_before);
    put_trial(b, &r->trial);
    put_check(b, &r->check);
    put_rules(b, rules, s);
    put_parts(b, rules, s);
    noe_buf_printf(
        b,
        "  \"search\": {\"seconds\": %.3f, \"expanded\": %lld, \"rewrites\": "
        "%lld, \"sweeps\": %lld, \"rejected\": %d, \"interrupted\": %s, "
        "\"compared\": %d, \"complete\": %d, \"gap_seconds\": %.9g},\n"
        "  \"seconds\": %.3f\n}\n",
        r->search_seconds, (long long)s->n_expanded, (long long)s->n_candidates,
        (long long)s->n_sweeps, s->n_rejected, s->interrupted ? "true" : "false",
        s->n_compared, s->n_complete, s->gap, seconds);
}
