/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/report.h"
#include <stdlib.h>

static void print_row(noe_buf *b, const char *what, const char *before,
                      const char *after, const char *remark)
{
    noe_buf_printf(b, "  %-26s %12s %12s%s%s\n", what, before, after,
                   *remark ? "   " : "", remark);
}

static void print_count(noe_buf *b, const char *what, int64_t before, int64_t after)
{
    noe_buf x = {0}, y = {0};
    noe_buf_printf(&x, "%lld", (long long)before);
    noe_buf_printf(&y, "%lld", (long long)after);
    print_row(b, what, x.text, y.text, "");
    noe_buf_clear(&x);
    noe_buf_clear(&y);
}

static void print_size(noe_buf *b, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    noe_buf_printf(b, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
}

static void print_sizes(noe_buf *b, const char *what, uint64_t before, uint64_t after)
{
    noe_buf x = {0}, y = {0};
    print_size(&x, before);
    print_size(&y, after);
    print_row(b, what, x.text, y.text, "");
    noe_buf_clear(&x);
    noe_buf_clear(&y);
}

/* ratio 0: that of the two times. */
static void print_times(noe_buf *b, const char *what, double before, double after,
                        double ratio, const char *remark)
{
    noe_buf x = {0}, y = {0}, r = {0};
    noe_buf_printf(&x, "%.4g ms", before * 1e3);
    noe_buf_printf(&y, "%.4g ms", after * 1e3);
    if (after > 0)
        noe_buf_printf(&r, "%.3fx%s", ratio > 0 ? ratio : before / after, remark);
    print_row(b, what, x.text, y.text, noe_buf_text(&r));
    noe_buf_clear(&x);
    noe_buf_clear(&y);
    noe_buf_clear(&r);
}

static int count_of(const noe_file_facts *f, const char *op_type)
{
    for (int i = 0; i < f->n_counts; i++) {
        if (strcmp(f->counts[i].op_type, op_type) == 0)
            return f->counts[i].n;
    }
    return 0;
}

static int total_of(const noe_file_facts *f)
{
    int n = 0;
    for (int i = 0; i < f->n_counts; i++)
        n += strcmp(f->counts[i].op_type, "Constant") ? f->counts[i].n : 0;
    return n;
}

/* Both lists are sorted by name: one merged pass. */
static void print_counts(noe_buf *b, const noe_file_facts *x, const noe_file_facts *y)
{
    for (int i = 0, j = 0; i < x->n_counts || j < y->n_counts;) {
        int order = i == x->n_counts ? 1
                    : j == y->n_counts
                        ? -1
                        : strcmp(x->counts[i].op_type, y->counts[j].op_type);
        const char *name = order <= 0 ? x->counts[i].op_type : y->counts[j].op_type;
        noe_buf label = {0};
        noe_buf_printf(&label, "  %s", name);
        print_count(b, label.text, count_of(x, name), count_of(y, name));
        noe_buf_clear(&label);
        i += order <= 0;
        j += order >= 0;
    }
}

void noe_report_table(noe_buf *b, const noe_file_facts *before,
                      const noe_file_facts *after, const noe_optimize_result *r)
{
    bool better = r->decision == NOE_DECISION_BETTER;
    const noe_cost *end = better ? &r->after : &r->before;
    print_row(b, "", "before", "after", "");
    print_count(b, "ONNX operators", total_of(before), total_of(after));
    print_counts(b, before, after);
    print_sizes(b, "file", before->bytes, after->bytes);
    print_sizes(b, "weights in use", r->before.weight_bytes, end->weight_bytes);
    print_sizes(b, "peak memory (estimate)", r->memory_before,
                better ? r->memory_after : r->memory_before);
    print_times(b, "predicted (sum of kernels)", r->before.seconds, end->seconds, 0,
                "");
    if (r->trial.done && better) {
        noe_buf remark = {0};
        noe_buf_printf(&remark, ", 95 %% within %.3f to %.3f, %d rounds, %s clock",
                       r->trial.pair.ratio_lo, r->trial.pair.ratio_hi,
                       r->trial.pair.n_rounds, r->trial.pair.clock);
        print_times(b, "measured (whole model)", r->trial.pair.seconds_a,
                    r->trial.pair.seconds_b, r->trial.pair.ratio, remark.text);
        noe_buf_clear(&remark);
    }
}

static int by_count(const void *a, const void *b, void *ctx)
{
    const int *applied = ctx, x = *(const int *)a, y = *(const int *)b;
    if (applied[x] != applied[y])
        return applied[x] > applied[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

void noe_report_rules(noe_buf *b, const noe_rule_set *rules,
                      const noe_optimize_result *r)
{
    if (r->search.n_path == 0 || r->decision != NOE_DECISION_BETTER)
        return;
    int *order = noe_malloc((size_t)rules->n * sizeof *order + 1);
    for (int i = 0; i < rules->n; i++)
        order[i] = i;
    qsort_r(order, (size_t)rules->n, sizeof *order, by_count, r->search.applied);
    int n_applied = 0;
    for (int i = 0; i < rules->n; i++)
        n_applied += r->search.applied[i];
    noe_buf_printf(b, "rules applied (%d times in all):\n", n_applied);
    for (int i = 0; i < rules->n && r->search.applied[order[i]] > 0; i++) {
        const noe_usable_rule *u = rules->rules[order[i]];
        noe_buf_printf(b, "  %4dx  %.10s%s  %s\n", r->search.applied[order[i]], u->id,
                       u->reversed ? "<" : " ", u->text);
    }
    free(order);
}

void noe_report_steps(noe_buf *b, const noe_rule_set *rules,
                      const noe_optimize_result *r)
{
    const noe_search_result *s = &r->search;
    for (int i = 0; i < s->n_parts; i++) {
        const noe_search_part *p = &s->parts[i];
        double seconds = p->before;
        noe_buf_printf(b, "pass %d, %u time%s the same part: %.4g us -> %.4g us\n",
                       p->pass + 1, p->n_copies, p->n_copies == 1 ? "" : "s",
                       p->before * 1e6, p->after * 1e6);
        for (int j = p->first; j < p->first + p->n; j++) {
            const noe_step *step = &s->path[j];
            const noe_usable_rule *u = rules->rules[step->site.rule];
            noe_buf_printf(b, "  %s %.10s%s at node %u%s%s", step->joined ? "+" : "-",
                           u->id, u->reversed ? "<" : " ", step->site.node,
                           step->name ? " " : "", step->name ? step->name : "");
            if (!step->joined)
                noe_buf_printf(b, ": %+.4g us", (step->seconds - seconds) * 1e6);
            noe_buf_printf(b, "\n      %s\n", u->text);
            seconds = step->seconds;
        }
    }
}

static void print_check(noe_buf *b, const noe_optimize_options *options,
                        const noe_check_report *c)
{
    if (options->check.n_inputs <= 0) {
        noe_buf_puts(b, "check: switched off\n");
    } else if (c->n_outputs == 0) {
        noe_buf_puts(b, "check: nothing is computed, all nodes are the same\n");
    } else {
        noe_buf_printf(
            b,
            "check: passed on %d random inputs (seed %llu), %u value%s each; "
            "largest difference %.2g of the magnitude (%.2g absolute%s%s), "
            "tolerance %g\n",
            c->n_inputs, (unsigned long long)options->seed, c->n_outputs,
            c->n_outputs == 1 ? "" : "s", c->max_rel, c->max_abs, *c->worst ? ", " : "",
            c->worst, options->check.rtol);
    }
}

static void print_gap(noe_buf *b, const noe_optimize_result *r)
{
    const noe_search_result *s = &r->search;
    noe_buf_printf(
        b,
        "exact: all graphs of %d of %d searched parts seen; the default search "
        "misses %.3g us of them\n",
        s->n_complete, s->n_compared, s->gap * 1e6);
}

void noe_report_outcome(noe_buf *b, const noe_optimize_options *options,
                        const noe_optimize_result *r)
{
    const noe_search_result *s = &r->search;
    if (r->decision == NOE_DECISION_NO_GAIN)
        noe_buf_puts(b, "no rule makes it cheaper: the model is written as it was\n");
    if (r->decision == NOE_DECISION_NO_SPEED && r->trial.failed)
        noe_buf_puts(b, "the cheapest form found could not be timed as a whole: the "
                        "model is written as it was\n");
    else if (r->decision == NOE_DECISION_NO_SPEED)
        noe_buf_printf(
            b,
            "the cheapest form found (predicted %.4g ms, was %.4g ms) is not surely "
            "faster as a whole: measured %.4g ms, was %.4g ms, %.3fx (95 %% within "
            "%.3f to %.3f); the model is written as it was\n",
            r->after.seconds * 1e3, r->before.seconds * 1e3,
            r->trial.pair.seconds_b * 1e3, r->trial.pair.seconds_a * 1e3,
            r->trial.pair.ratio, r->trial.pair.ratio_lo, r->trial.pair.ratio_hi);
    print_check(b, options, &r->check);
    if (r->trial.done && r->trial.difference >= 0)
        noe_buf_printf(b,
                       "in ONNX Runtime, on random inputs: largest difference %.2g of "
                       "the magnitude\n",
                       r->trial.difference);
    noe_buf_printf(b,
                   "search: %.1f s, %lld graphs expanded, %lld rewrites tried, %lld "
                   "sweeps%s\n",
                   r->search_seconds, (long long)s->n_expanded,
                   (long long)s->n_candidates, (long long)s->n_sweeps,
                   s->interrupted     ? "; interrupted: best so far"
                   : s->out_of_time   ? "; time limit: best so far"
                   : s->out_of_budget ? "; budget used up"
                                      : "; exhausted");
    if (s->n_compared > 0)
        print_gap(b, r);
}

/* ---- nodes outside the algebra ---- */

typedef struct opaque_kind {
    const char *op_type, *why;
    int n;
} opaque_kind;

static int by_frequency(const void *a, const void *b)
{
    const opaque_kind *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    int order = strcmp(x->op_type, y->op_type);
    return order ? order : strcmp(x->why, y->why);
}

void noe_report_opaque(noe_buf *b, const noe_onnx_model *m)
{
    const noe_graph *g = noe_onnx_graph(m);
    opaque_kind *kinds = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_OPAQUE)
            continue;
        opaque_kind k = {noe_onnx_op_type(m, g->nodes[i].origin),
                         noe_onnx_why_opaque(m, g->nodes[i].origin), 1};
        size_t j = 0;
        while (j < n &&
               (strcmp(kinds[j].op_type, k.op_type) || strcmp(kinds[j].why, k.why)))
            j++;
        if (j < n)
            kinds[j].n++;
        else
            NOE_PUSH(kinds, n, cap, k);
    }
    if (n > 0)
        qsort(kinds, n, sizeof *kinds, by_frequency);
    noe_buf_printf(b, "nodes left as they are:%s\n", n ? "" : " none");
    for (size_t j = 0; j < n; j++)
        noe_buf_printf(b, "  %4dx  %s: %s\n", kinds[j].n, kinds[j].op_type,
                       kinds[j].why);
    free(kinds);
}
