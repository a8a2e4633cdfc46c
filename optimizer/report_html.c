/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/report_html.h"
#include "core/base/text.h"
#include "draw/draw.h"
#include <math.h>
#include <stdlib.h>

/* More boxes than this cannot be taken in; rows are folded then. */
#define MAX_BOXES 160
#define MAX_BARS  24

typedef struct page {
    noe_job *job;
    noe_buf *b;
    noe_drawer *drawer;
    noe_breakdown before, after;
    bool better;
} page;

static void put_text(page *p, const char *tag, const char *text)
{
    noe_buf_printf(p->b, "<%s>", tag);
    noe_buf_html(p->b, text);
    noe_buf_printf(p->b, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void put_tile(page *p, const char *value, const char *what)
{
    noe_buf_puts(p->b, "<div class=\"tile\">");
    put_text(p, "b", value);
    put_text(p, "span class=\"soft small\"", what);
    noe_buf_puts(p->b, "</div>\n");
}

static char *format(noe_arena *a, double seconds)
{
    return seconds < 1e-3 ? noe_arena_printf(a, "%.3g \xc2\xb5s", seconds * 1e6)
           : seconds < 1  ? noe_arena_printf(a, "%.4g ms", seconds * 1e3)
                          : noe_arena_printf(a, "%.3g s", seconds);
}

/* ---- summary ---- */

static int count_operators(const noe_file_facts *f)
{
    int n = 0;
    for (int i = 0; i < f->n_counts; i++)
        n += strcmp(f->counts[i].op_type, "Constant") ? f->counts[i].n : 0;
    return n;
}

static const char *outcome(const noe_job *j)
{
    switch (j->result.decision) {
    case NOE_DECISION_BETTER:
        return j->result.trial.done
                   ? "Faster, as measured on the whole model."
                   : "Cheaper by the sum of its kernels; the whole was "
                     "not timed.";
    case NOE_DECISION_NO_GAIN:
        return "No rule makes it cheaper: the model is written as it was.";
    case NOE_DECISION_NO_SPEED:
        return "The cheapest form found is not surely faster as a whole: the model is "
               "written as it was.";
    }
    return "";
}

static void put_summary(page *p)
{
    const noe_job *j = p->job;
    const noe_optimize_result *r = &j->result;
    noe_arena a = {0};
    put_text(p, "h1", j->cmd->in);
    put_text(p, "p class=\"soft\"", outcome(j));
    noe_buf_puts(p->b, "<nav><a href=\"#numbers\">Before and after</a> <a "
                       "href=\"#time\">Where the time goes</a> <a "
                       "href=\"#rules\">Rewrites</a> <a href=\"#graphs\">Graphs</a> <a "
                       "href=\"#check\">Check</a> <a href=\"#environment\">Environment"
                       "</a></nav>\n<div class=\"tiles\">\n");
    if (r->trial.done)
        put_tile(p, noe_arena_printf(&a, "%.3f\xc3\x97", r->trial.pair.ratio),
                 noe_arena_printf(&a, "measured, 95 %% within %.3f to %.3f",
                                  r->trial.pair.ratio_lo, r->trial.pair.ratio_hi));
    if (r->after.seconds > 0)
        put_tile(
            p,
            noe_arena_printf(&a, "%.3f\xc3\x97", r->before.seconds / r->after.seconds),
            "predicted, sum of kernels");
    put_tile(p,
             noe_arena_printf(&a, "%d \xe2\x86\x92 %d", count_operators(&j->before),
                              count_operators(&j->after)),
             "ONNX operators");
    put_tile(p,
             j->options.check.n_inputs > 0
                 ? noe_arena_printf(&a, "%.1e", r->check.max_rel)
                 : "none",
             "largest difference in the check");
    put_tile(p, format(&a, j->seconds), "taken by this run");
    noe_buf_puts(p->b, "</div>\n");
    noe_arena_clear(&a);
}

/* ---- before and after ---- */

static void put_row(page *p, const char *what, const char *before, const char *after)
{
    noe_buf_puts(p->b, "<tr>");
    put_text(p, "td", what);
    put_text(p, "td class=\"n\"", before);
    put_text(p, "td class=\"n\"", after);
    noe_buf_puts(p->b, "</tr>\n");
}

static int count_of(const noe_file_facts *f, const char *op_type)
{
    for (int i = 0; i < f->n_counts; i++) {
        if (strcmp(f->counts[i].op_type, op_type) == 0)
            return f->counts[i].n;
    }
    return 0;
}

static void put_count(page *p, const char *op_type)
{
    int x = count_of(&p->job->before, op_type), y = count_of(&p->job->after, op_type);
    noe_buf_printf(p->b, "<tr><td>%s</td><td class=\"n\">%d</td>", op_type, x);
    noe_buf_printf(p->b, "<td class=\"n %s\">%d</td></tr>\n",
                   y < x   ? "good"
                   : y > x ? "bad"
                           : "",
                   y);
}

static void put_numbers(page *p)
{
    const noe_job *j = p->job;
    const noe_optimize_result *r = &j->result;
    const noe_cost *end = p->better ? &r->after : &r->before;
    const noe_file_facts *x = &j->before, *y = &j->after;
    noe_arena a = {0};
    noe_buf_puts(p->b,
                 "<h2 id=\"numbers\">Before and after</h2>\n<div class=\"scroll\">"
                 "<table><tr><th></th><th class=\"n\">before</th><th class=\"n\">"
                 "after</th></tr>\n");
    if (r->trial.done && p->better)
        put_row(p, "measured, whole model", format(&a, r->trial.pair.seconds_a),
                format(&a, r->trial.pair.seconds_b));
    put_row(p, "predicted, sum of kernels", format(&a, r->before.seconds),
            format(&a, end->seconds));
    put_row(p, "file", noe_arena_printf(&a, "%.2f MiB", (double)x->bytes / 1048576),
            noe_arena_printf(&a, "%.2f MiB", (double)y->bytes / 1048576));
    put_row(p, "weights in use",
            noe_arena_printf(&a, "%.2f MiB", (double)r->before.weight_bytes / 1048576),
            noe_arena_printf(&a, "%.2f MiB", (double)end->weight_bytes / 1048576));
    put_row(
        p, "peak memory (estimate)",
        noe_arena_printf(&a, "%.2f MiB", (double)r->memory_before / 1048576),
        noe_arena_printf(
            &a, "%.2f MiB",
            (double)(end == &r->after ? r->memory_after : r->memory_before) / 1048576));
    noe_buf_printf(
        p->b,
        "<tr class=\"group\"><td>ONNX operators</td><td class=\"n\">%d</td><td "
        "class=\"n\">%d</td></tr>\n",
        count_operators(x), count_operators(y));
    for (int i = 0, k = 0; i < x->n_counts || k < y->n_counts;) {
        int order = i == x->n_counts ? 1
                    : k == y->n_counts
                        ? -1
                        : strcmp(x->counts[i].op_type, y->counts[k].op_type);
        put_count(p, order <= 0 ? x->counts[i].op_type : y->counts[k].op_type);
        i += order <= 0;
        k += order >= 0;
    }
    noe_buf_puts(p->b, "</table></div>\n");
    noe_arena_clear(&a);
}

/* ---- where the time goes ---- */

typedef struct bar {
    const char *operators;
    double before, after;
    int n_before, n_after;
} bar;

static void add_bars(bar *bars, uint32_t *n, const noe_breakdown *b, bool is_after)
{
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t k = 0;
        while (k < *n && strcmp(bars[k].operators, b->kernels[i].operators) != 0)
            k++;
        if (k == *n)
            bars[(*n)++] = (bar){b->kernels[i].operators, 0, 0, 0, 0};
        *(is_after ? &bars[k].after : &bars[k].before) += b->kernels[i].seconds;
        *(is_after ? &bars[k].n_after : &bars[k].n_before) += 1;
    }
}

static int by_time(const void *a, const void *b)
{
    const bar *x = a, *y = b;
    double tx = fmax(x->before, x->after), ty = fmax(y->before, y->after);
    return tx != ty ? (tx < ty) - (tx > ty) : strcmp(x->operators, y->operators);
}

static void put_bar(page *p, const bar *b, double longest)
{
    noe_arena a = {0};
    noe_buf_puts(p->b, "<div class=\"label\">");
    noe_buf_html(p->b, b->operators);
    noe_buf_printf(p->b,
                   " <span class=\"soft\">%d%s%s</span></div><div><div class=\"bar\" "
                   "style=\"width:%.2f%%\"></div>",
                   b->n_before, p->better ? " \xe2\x86\x92 " : "",
                   p->better ? noe_arena_printf(&a, "%d", b->n_after) : "",
                   100 * b->before / longest);
    if (p->better)
        noe_buf_printf(p->b, "<div class=\"bar after\" style=\"width:%.2f%%\"></div>",
                       100 * b->after / longest);
    noe_buf_printf(p->b, "</div><div class=\"value\">%s", format(&a, b->before));
    if (p->better)
        noe_buf_printf(p->b, "<br>%s", format(&a, b->after));
    noe_buf_puts(p->b, "</div>\n");
    noe_arena_clear(&a);
}

static void put_kernels(page *p, const noe_breakdown *b, const char *title)
{
    noe_arena a = {0};
    noe_buf_printf(p->b,
                   "<details><summary>All %u kernels %s</summary><div class=\"scroll\">"
                   "<table><tr><th>operators</th><th>tensor</th><th class=\"n\">time"
                   "</th></tr>\n",
                   b->n, title);
    for (uint32_t i = 0; i < b->n; i++)
        put_row(p, b->kernels[i].operators, b->kernels[i].tensor,
                format(&a, b->kernels[i].seconds));
    noe_buf_puts(p->b, "</table></div></details>\n");
    noe_arena_clear(&a);
}

static void put_time(page *p)
{
    bar *bars = noe_calloc(p->before.n + p->after.n + 1, sizeof *bars);
    uint32_t n = 0;
    add_bars(bars, &n, &p->before, false);
    if (p->better)
        add_bars(bars, &n, &p->after, true);
    qsort(bars, n, sizeof *bars, by_time);
    noe_buf_puts(p->b,
                 "<h2 id=\"time\">Where the time goes</h2>\n<p class=\"soft small\">"
                 "Kernels are what the device runs as one call: an operator with "
                 "what is fused into it. ");
    if (p->better)
        noe_buf_puts(p->b, "Blue: before, green: after. ");
    noe_buf_puts(p->b, "Weights that are computed beforehand cost nothing.</p>\n<div "
                       "class=\"card bars\">\n");
    double longest = n > 0 ? fmax(bars[0].before, bars[0].after) : 0;
    for (uint32_t i = 0; i < n && i < MAX_BARS; i++)
        put_bar(p, &bars[i], longest > 0 ? longest : 1);
    noe_buf_puts(p->b, "</div>\n");
    if (n > MAX_BARS)
        noe_buf_printf(p->b, "<p class=\"soft small\">%u more kinds of kernels.</p>\n",
                       n - MAX_BARS);
    put_kernels(p, &p->before, "before");
    if (p->better)
        put_kernels(p, &p->after, "after");
    free(bars);
}

/* ---- rewrites ---- */

/* Seconds that each rule gained: what rewrites applied together gained is shared. */
static double *find_gains(const noe_job *j)
{
    const noe_search_result *s = &j->result.search;
    double *gains = noe_calloc((size_t)j->rules.n + 1, sizeof *gains);
    for (int i = 0; i < s->n_parts; i++) {
        const noe_search_part *part = &s->parts[i];
        double seconds = part->before;
        for (int k = part->first; k < part->first + part->n;) {
            int end = k + 1;
            while (end < part->first + part->n && s->path[end].joined)
                end++;
            double share = (seconds - s->path[end - 1].seconds) / (end - k);
            seconds = s->path[end - 1].seconds;
            for (; k < end; k++)
                gains[s->path[k].site.rule] += share * part->n_copies;
        }
    }
    return gains;
}

static void put_side(page *p, const noe_rule *rule, bool rhs)
{
    noe_buf text = {0};
    noe_rule_print_side(&text, rule, rhs);
    noe_buf_html(p->b, noe_buf_text(&text));
    noe_buf_clear(&text);
}

/* Prices have rounding errors. */
static void put_gain(page *p, double gain)
{
    noe_arena a = {0};
    if (fabs(gain) < 1e-9)
        noe_buf_puts(p->b, "<span class=\"tag\">only leads to others</span>");
    else
        noe_buf_printf(p->b, "<span class=\"tag %s\">%s %s</span>",
                       gain > 0 ? "good" : "", gain > 0 ? "gains" : "costs",
                       format(&a, fabs(gain)));
    noe_arena_clear(&a);
}

static void put_rule(page *p, int i, double gain)
{
    const noe_usable_rule *u = p->job->rules.rules[i];
    noe_buf where = {0};
    noe_rule_print_where(&where, u->rule);
    noe_buf_printf(
        p->b,
        "<div class=\"card\"><h3>%d\xc3\x97 <span class=\"mono\">%.10s</span>"
        "%s</h3>",
        p->job->result.search.applied[i], u->id, u->reversed ? ", right to left" : "");
    if (u->tier != NOE_TIER_NONE)
        noe_buf_printf(p->b, "<span class=\"tag\">tier %s</span>",
                       noe_tier_name(u->tier));
    noe_buf_printf(p->b, "<span class=\"tag\">%s</span>",
                   noe_numeric_class_name(u->numeric));
    put_gain(p, gain);
    noe_buf_puts(p->b, "\n<div class=\"sides\"><div>");
    noe_draw_side(p->drawer, u->rule, false, p->b);
    noe_buf_puts(p->b, "</div><div class=\"arrow\">\xe2\x87\x92</div><div>");
    noe_draw_side(p->drawer, u->rule, true, p->b);
    noe_buf_puts(p->b, "</div></div>\n");
    noe_buf_puts(p->b, "<code>");
    put_side(p, u->rule, false);
    noe_buf_puts(p->b, " => ");
    put_side(p, u->rule, true);
    noe_buf_puts(p->b, "</code>");
    if (where.len > 0) {
        noe_buf_puts(p->b, "<p class=\"small\">where <code>");
        noe_buf_html(p->b, where.text);
        noe_buf_puts(p->b, "</code></p>");
    }
    noe_buf_puts(p->b, "</div>\n");
    noe_buf_clear(&where);
}

static void put_steps(page *p)
{
    noe_buf text = {0};
    noe_report_steps(&text, &p->job->rules, &p->job->result);
    noe_buf_puts(p->b, "<details><summary>All steps</summary><pre>");
    noe_buf_html(p->b, noe_buf_text(&text));
    noe_buf_puts(p->b, "</pre></details>\n");
    noe_buf_clear(&text);
}

static void put_rewrites(page *p)
{
    const noe_search_result *s = &p->job->result.search;
    noe_buf_puts(p->b, "<h2 id=\"rules\">Rewrites</h2>\n");
    if (s->n_path == 0 || !s->applied) {
        noe_buf_puts(p->b, "<p>None.</p>\n");
        return;
    }
    if (!p->better)
        noe_buf_puts(p->b, "<p>These made the form that was not taken.</p>\n");
    noe_buf_puts(
        p->b,
        "<p class=\"soft small\">Gains are sums over all places, by the prices of "
        "kernels. Tier A: derived from axioms, and proved for all sizes; B: proved "
        "for all sizes; C: derived from axioms.</p>\n");
    double *gains = find_gains(p->job);
    for (int i = 0; i < p->job->rules.n; i++) {
        int best = -1; /* the rule applied most often among those not shown yet */
        for (int k = 0; k < p->job->rules.n; k++) {
            if (s->applied[k] > 0 && !isnan(gains[k]) &&
                (best < 0 || s->applied[k] > s->applied[best]))
                best = k;
        }
        if (best < 0)
            break;
        put_rule(p, best, gains[best]);
        gains[best] = NAN;
    }
    free(gains);
    put_steps(p);
}

/* ---- graphs ---- */

static const char *label_of(void *ctx, uint32_t node)
{
    const void *const *both = ctx;
    const noe_onnx_model *m = both[0];
    const noe_graph *g = both[1];
    const noe_node *n = &g->nodes[node];
    if (n->op == NOE_OP_INPUT)
        return noe_graph_leaf_of(g, node)->name;
    if (n->op == NOE_OP_OPAQUE)
        return noe_onnx_op_type(m, n->origin);
    const noe_op_info *op = noe_op_get(n->op);
    return op->onnx ? op->onnx : op->name;
}

/* Origins that the live nodes of a graph have. */
static uint8_t *find_origins(const noe_graph *g, uint32_t n)
{
    uint8_t *live = noe_malloc(g->n_nodes + 1), *there = noe_calloc(n + 1, 1);
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (live[i] && g->nodes[i].origin <= n)
            there[g->nodes[i].origin] = 1;
    }
    free(live);
    return there;
}

static void put_graph(page *p, const noe_graph *g, const noe_graph *other,
                      const char *title, const char *changed)
{
    uint32_t n_origins = 0, n_boxes;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n_origins = g->nodes[i].origin > n_origins ? g->nodes[i].origin : n_origins;
    uint8_t *live = noe_malloc(g->n_nodes + 1), *there = find_origins(other, n_origins);
    const char **classes = noe_calloc(g->n_nodes + 1, sizeof *classes);
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        if (!live[i] || n->is_weight || n->op == NOE_OP_WEIGHT)
            continue;
        classes[i] = n->op == NOE_OP_INPUT                 ? "leaf"
                     : n->origin == 0 || !there[n->origin] ? changed
                                                           : "op";
    }
    noe_buf_printf(
        p->b,
        "<h3>%s</h3>\n<div class=\"tools\"><input type=\"search\" placeholder="
        "\"operator or tensor\" aria-label=\"search the graph\"><output "
        "class=\"soft small\"></output><button data-act=\"in\" "
        "aria-label=\"larger\">+</button><button data-act=\"out\" "
        "aria-label=\"smaller\">\xe2\x88\x92</button><button data-act=\"fit\">"
        "whole</button><button data-act=\"start\">top</button></div>\n<div "
        "class=\"view\" tabindex=\"0\" aria-label=\"%s\">",
        title, title);
    noe_draw_graph(p->drawer, g, classes, label_of,
                   (void *)(const void *[]){p->job->model, g}, MAX_BOXES, &n_boxes,
                   p->b);
    noe_buf_puts(p->b, "</div>\n");
    free(classes);
    free(live);
    free(there);
}

static void put_graphs(page *p)
{
    const noe_graph *g = noe_job_graph(p->job), *r = p->job->result.graph;
    noe_buf_puts(
        p->b,
        "<h2 id=\"graphs\">Graphs</h2>\n<p class=\"soft small\">Drag to move; Ctrl and "
        "the "
        "wheel, or + and \xe2\x88\x92, to zoom; arrow keys; 0 for the whole; Enter "
        "goes "
        "to the next that was found. Weights are left out. Rows of nodes that did not "
        "change are one dashed box in large graphs.");
    if (p->better)
        noe_buf_puts(p->b,
                     " <span class=\"key\" style=\"background:var(--gone)\"></span> "
                     "is gone, <span class=\"key\" style=\"background:var(--new)\">"
                     "</span> is new.");
    noe_buf_puts(p->b, "</p>\n");
    put_graph(p, g, p->better ? r : g, "Before", "gone");
    if (p->better)
        put_graph(p, r, g, "After", "new");
}

/* ---- check ---- */

/* Differences on a logarithmic axis from 1e-9 to 1. */
static void put_mark(page *p, double x, const char *what, const char *colour, int row)
{
    double at = 20 + 660 * (log10(fmin(fmax(x, 1e-9), 1)) + 9) / 9;
    noe_buf_printf(
        p->b,
        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"96\" stroke=\"var(--%s)\" "
        "stroke-width=\"2\"/><text x=\"%.1f\" y=\"%d\" font-size=\"12\" "
        "text-anchor=\"%s\">%s %.1e</text>\n",
        at, at, row + 4, colour, at < 400 ? at + 5 : at - 5, row + 12,
        at < 400 ? "start" : "end", what, x);
}

static void put_check(page *p)
{
    const noe_job *j = p->job;
    const noe_check_report *c = &j->result.check;
    noe_buf text = {0};
    noe_report_outcome(&text, &j->options, &j->result);
    noe_buf_puts(p->b, "<h2 id=\"check\">Check</h2>\n");
    if (c->n_outputs > 0) {
        noe_buf_puts(p->b, "<div class=\"card\"><svg class=\"chart\" viewBox=\"0 0 700 "
                           "120\" width=\"100%\" "
                           "role=\"img\" aria-label=\"differences\">\n<line x1=\"20\" "
                           "x2=\"680\" y1=\"96\" y2=\"96\" stroke=\"var(--line)\"/>\n");
        for (int e = -9; e <= 0; e++)
            noe_buf_printf(p->b,
                           "<text x=\"%.1f\" y=\"112\" font-size=\"11\" "
                           "text-anchor=\"middle\">1e%d</text>\n",
                           20 + 660 * (e + 9) / 9.0, e);
        put_mark(p, j->options.check.rtol, "tolerance", "bad", 0);
        put_mark(p, c->max_rel, "largest difference", "good", 24);
        if (j->result.trial.done && j->result.trial.difference >= 0)
            put_mark(p, j->result.trial.difference, "in ONNX Runtime", "accent", 48);
        if (j->whole.is_done)
            put_mark(p, j->whole.max_rel, "whole, reference executor", "warm", 70);
        noe_buf_puts(p->b, "</svg></div>\n");
    }
    put_text(p, "pre", noe_buf_text(&text));
    noe_buf_clear(&text);
}

/* ---- environment ---- */

static void put_environment(page *p)
{
    const noe_job *j = p->job;
    noe_arena a = {0};
    noe_buf opaque = {0};
    const char *const rows[][2] = {
        {"version", noe_version},
        {"device", j->device.description},
        {"rules", noe_arena_printf(&a, "%s: %d rules, %d directions", j->rules_path,
                                   j->rules.n_rows, j->rules.n)},
        {"level", j->cmd->level},
        {"search", noe_arena_printf(
                       &a, "alpha %g, budget %lld, time limit %g s (0: none)",
                       j->cmd->alpha, (long long)j->cmd->budget, j->cmd->time_limit)},
        {"threads", noe_arena_printf(&a, "%lld", (long long)j->cmd->threads)},
        {"seed", noe_arena_printf(&a, "%llu", (unsigned long long)j->env.seed)},
        {"input's hash",
         noe_arena_printf(&a, "%016llx", (unsigned long long)j->input_hash)},
        {"kernels", noe_arena_printf(&a, "%llu timed, %llu known from before",
                                     (unsigned long long)j->device.measured.n_timed,
                                     (unsigned long long)j->device.measured.n_found)},
        {"time", noe_arena_printf(&a,
                                  "%.1f s: search %.1f s, check %.1f s, whole models "
                                  "%.1f s",
                                  j->seconds, j->result.search_seconds,
                                  j->result.check_seconds, j->result.trial_seconds)},
    };
    noe_buf_puts(p->b, "<h2 id=\"environment\">Environment</h2>\n<div class=\"scroll\">"
                       "<table>\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        noe_buf_puts(p->b, "<tr>");
        put_text(p, "td class=\"soft\"", rows[i][0]);
        put_text(p, "td", rows[i][1]);
        noe_buf_puts(p->b, "</tr>\n");
    }
    noe_buf_puts(p->b, "</table></div>\n");
    noe_report_opaque(&opaque, j->open ? j->open : j->model);
    put_text(p, "pre", noe_buf_text(&opaque));
    noe_buf_clear(&opaque);
    noe_arena_clear(&a);
}

noe_status noe_report_html(noe_job *j, noe_buf *html, noe_error *err)
{
    page p = {.job = j, .b = html, .better = j->result.decision == NOE_DECISION_BETTER};
    noe_graph *core;
    noe_buf title = {0};
    NOE_TRY(noe_graph_expand(noe_job_graph(j), &core, err));
    noe_breakdown_make(&j->costs, core, &p.before);
    noe_graph_free(core);
    if (p.better)
        noe_breakdown_make(&j->costs, j->result.search.graph, &p.after);
    p.drawer = noe_drawer_new();
    noe_buf_printf(&title, "%s - Noether", j->cmd->in);
    noe_page_begin(html, title.text);
    put_summary(&p);
    put_numbers(&p);
    put_time(&p);
    put_rewrites(&p);
    put_graphs(&p);
    put_check(&p);
    put_environment(&p);
    noe_page_end(html);
    noe_buf_clear(&title);
    noe_drawer_free(p.drawer);
    noe_breakdown_clear(&p.before);
    noe_breakdown_clear(&p.after);
    return NOE_OK;
}
