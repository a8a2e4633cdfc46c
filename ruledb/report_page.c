/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules in use as one HTML page: what can be searched and filtered stands in data
 * attributes, the rest is drawn and printed.
 */
#include "core/base/text.h"
#include "draw/draw.h"
#include "ruledb/report.h"
#include <stdlib.h>
#include <string.h>

typedef struct pager {
    noe_ruledb *db;
    noe_buf *b;
    noe_drawer *drawer;
    noe_report_options options;
    int n;
} pager;

/* Columns of the query below. */
enum {
    ID,
    TEXT,
    LHS,
    RHS,
    CONDITION,
    SMT2,
    DIRECTIONS,
    OPS,
    CLASS,
    TIER,
    LEVEL,
    SAVED
};

static const char rules_sql[] =
    "SELECT r.id, r.text, r.lhs, r.rhs, r.condition, r.condition_smt2, r.directions, "
    "r.lhs_ops || ' "
    "' || r.rhs_ops,"
    " r.class, (SELECT v.tier FROM verdict AS v WHERE v.candidate_id = r.candidate_id"
    " AND v.op_table_hash = r.op_table_hash AND v.axioms_hash = r.axioms_hash), "
    "r.level,"
    " r.n_lhs_ops - r.n_rhs_ops FROM rule AS r JOIN current_hashes AS h"
    " ON h.op_table_hash = r.op_table_hash AND h.axioms_hash = r.axioms_hash"
    " ORDER BY r.level, r.text";

static void put_attribute(pager *p, const char *name, const char *value, bool lower)
{
    noe_buf copy = {0};
    noe_buf_puts(&copy, value);
    for (char *c = copy.text; lower && c && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    noe_buf_printf(p->b, " data-%s=\"", name);
    noe_buf_html(p->b, noe_buf_text(&copy));
    noe_buf_puts(p->b, "\"");
    noe_buf_clear(&copy);
}

static void put_tag(pager *p, const char *label, const char *value)
{
    noe_buf_printf(p->b, "<span class=\"tag\">%s", label);
    noe_buf_html(p->b, value);
    noe_buf_puts(p->b, "</span>");
}

/* Which ways it can be used: a side must bind the other's variables, and what is made
 * must exist wherever what is matched does ("" where that is not stored). */
static const char *arrow(const noe_rule *rule, const char *directions)
{
    noe_rule *back = noe_malloc(sizeof *back);
    *back = noe_rule_reversed(rule);
    bool any = *directions == '\0' || strcmp(directions, "both") == 0;
    bool goes =
        noe_rule_is_directed(rule) && (any || strcmp(directions, "left to right") == 0);
    bool returns =
        noe_rule_is_directed(back) && (any || strcmp(directions, "right to left") == 0);
    free(back);
    if (goes && returns)
        return "\xe2\x87\x94";
    return goes ? "\xe2\x87\x92" : returns ? "\xe2\x87\x90" : "=";
}

static void put_drawing(pager *p, const noe_rule *rule, const char *directions)
{
    noe_buf_puts(p->b, "<div class=\"sides\"><div>");
    noe_draw_side(p->drawer, rule, false, p->b);
    noe_buf_printf(p->b, "</div><div class=\"arrow\">%s</div><div>",
                   arrow(rule, directions));
    noe_draw_side(p->drawer, rule, true, p->b);
    noe_buf_puts(p->b, "</div></div>\n");
}

static noe_status put_evidence(pager *p, const char *id, noe_error *err)
{
    noe_buf shown = {0};
    noe_status status = noe_report_show(p->db, id, &p->options, &shown, err);
    noe_buf_puts(p->b, "<details><summary>proof, evidence, origin</summary><pre>");
    noe_buf_html(p->b, noe_buf_text(&shown));
    noe_buf_puts(p->b, "</pre></details>\n");
    noe_buf_clear(&shown);
    return status;
}

static void put_script(pager *p, const char *what, const char *script)
{
    noe_buf_printf(p->b, "<p class=\"small soft\">%s</p>\n<pre class=\"smt2\">\n",
                   what);
    noe_buf_html(p->b, script);
    noe_buf_puts(p->b, "\n</pre>\n");
}

/* The condition as it is stored, the obligation as it follows from the text. */
static void put_smt2(pager *p, const noe_rule *rule, const char *text,
                     const char *condition)
{
    noe_buf obligation = {0};
    noe_report_smt2(&obligation, rule);
    noe_buf_puts(p->b, "<details><summary>SMT-LIB2</summary>");
    if (*condition)
        put_script(p, "Condition", condition);
    put_script(p,
               "Obligation, with operators and parameters that nothing is known of "
               "(instances of axioms: see certificate)",
               noe_buf_text(&obligation));
    noe_buf_puts(p->b, "<p class=\"small soft\">With the axioms, for a solver: "
                       "<code>noether-verify --rule '");
    noe_buf_html(p->b, text);
    noe_buf_puts(p->b, "' --smt2 FILE</code></p></details>\n");
    noe_buf_clear(&obligation);
}

/* Families of operators: those with these traits, and of so many inputs (0: any). */
static const struct {
    const char *word, *label;
    unsigned traits;
    int n_in;
} families[] = {
    {"elementwise", "elementwise", NOE_TRAIT_EWISE, 0},
    {"layout", "layout", NOE_TRAIT_COPY, 0},
    {"products", "products, convolutions", NOE_TRAIT_LINEAR | NOE_TRAIT_HEAVY, 2},
    {"reductions", "reductions, pooling", NOE_TRAIT_HEAVY, 1},
    {"order", "order (maxima, relu, where)", NOE_TRAIT_ORDER, 0},
    {"constants", "constants", NOE_TRAIT_CONSTANT, 0},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static bool has_family(const noe_rule *rule, int family)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (rule->nodes[i].is_var)
            continue;
        const noe_op_info *op = noe_op_get(rule->nodes[i].op);
        unsigned want = families[family].traits;
        if ((op->traits & want) == want &&
            (families[family].n_in == 0 || families[family].n_in == op->min_in))
            return true;
    }
    return false;
}

static void put_families(pager *p, const noe_rule *rule)
{
    noe_buf words = {0};
    for (int i = 0; i < N_FAMILIES; i++) {
        if (has_family(rule, i))
            noe_buf_printf(&words, "%s ", families[i].word);
    }
    if (!words.len)
        noe_buf_puts(&words, "other");
    put_attribute(p, "family", noe_buf_text(&words), false);
    noe_buf_clear(&words);
}

static void put_attributes(pager *p, const char *const *v)
{
    noe_buf words = {0};
    noe_buf_printf(&words, "%s %s %s", v[ID], v[TEXT], v[OPS]);
    put_attribute(p, "text", noe_buf_text(&words), true);
    put_attribute(p, "ops", v[OPS], false);
    put_attribute(p, "tier", v[TIER], false);
    put_attribute(p, "class", v[CLASS], false);
    put_attribute(p, "level", v[LEVEL], false);
    put_attribute(p, "where", *v[CONDITION] ? "yes" : "no", false);
    put_attribute(p, "size", strcmp(v[SAVED], "0") ? "changes" : "same", false);
    noe_buf_clear(&words);
}

static void put_text(pager *p, const char *const *v)
{
    noe_buf_puts(p->b, "<code>");
    noe_buf_html(p->b, v[LHS]);
    noe_buf_puts(p->b, " &#61;&gt; ");
    noe_buf_html(p->b, v[RHS]);
    noe_buf_puts(p->b, "</code>");
    if (*v[CONDITION]) {
        noe_buf_puts(p->b, "<p class=\"small\">where <code>");
        noe_buf_html(p->b, v[CONDITION]);
        noe_buf_puts(p->b, "</code></p>");
    }
}

/* parsed is NULL where the text does not parse, which `check` tells. */
static noe_status put_card(pager *p, const char *const *v, const noe_rule *parsed,
                           noe_error *err)
{
    noe_buf_puts(p->b, "<article class=\"card rule\"");
    put_attributes(p, v);
    if (parsed)
        put_families(p, parsed);
    noe_buf_printf(p->b, "><h3 class=\"mono\">%.10s</h3>", v[ID]);
    put_tag(p, "tier ", v[TIER]);
    put_tag(p, "", v[CLASS]);
    put_tag(p, "level ", v[LEVEL]);
    if (parsed)
        put_drawing(p, parsed, v[DIRECTIONS]);
    put_text(p, v);
    NOE_TRY(put_evidence(p, v[ID], err));
    if (parsed)
        put_smt2(p, parsed, v[TEXT], v[SMT2]);
    noe_buf_puts(p->b, "</article>\n");
    return NOE_OK;
}

static noe_status put_rule(void *ctx, const noe_query_row *row, noe_error *err)
{
    pager *p = ctx;
    const char *v[SAVED + 1];
    noe_rule *rule = noe_malloc(sizeof *rule);
    for (int i = 0; i <= SAVED; i++)
        v[i] = row->values[i] ? row->values[i] : "";
    p->n++;
    bool parses = noe_rule_parse(v[TEXT], SIZE_MAX, rule, NULL) == NOE_OK;
    noe_status status = put_card(p, v, parses ? rule : NULL, err);
    free(rule);
    return status;
}

/* ---- the head ---- */

static noe_status put_option(void *ctx, const noe_query_row *row, noe_error *err)
{
    pager *p = ctx;
    (void)err;
    noe_buf_puts(p->b, "<option value=\"");
    noe_buf_html(p->b, row->values[0] ? row->values[0] : "");
    noe_buf_puts(p->b, "\">");
    noe_buf_html(p->b, row->values[0] ? row->values[0] : "");
    noe_buf_puts(p->b, "</option>");
    return NOE_OK;
}

static noe_status put_select(pager *p, const char *key, const char *any,
                             const char *sql, noe_error *err)
{
    noe_buf_printf(p->b,
                   "<select data-key=\"%s\" aria-label=\"%s\"><option value=\"\">%s"
                   "</option>",
                   key, any, any);
    NOE_TRY(noe_ruledb_query(p->db, sql, NULL, 0, put_option, p, err));
    noe_buf_puts(p->b, "</select>\n");
    return NOE_OK;
}

static noe_status put_stats(pager *p, noe_error *err)
{
    noe_buf stats = {0};
    noe_status status = noe_report_stats(p->db, &p->options, &stats, err);
    noe_buf_puts(p->b, "<details><summary>Counts by verdict, level, class, operator"
                       "</summary><pre>");
    noe_buf_html(p->b, noe_buf_text(&stats));
    noe_buf_puts(p->b, "</pre></details>\n");
    noe_buf_clear(&stats);
    return status;
}

static noe_status put_head(pager *p, noe_error *err)
{
    noe_page_begin(p->b, "Rules - Noether");
    noe_buf_puts(
        p->b,
        "<h1>Rewrite rules</h1>\n<p class=\"soft\">Found by enumeration, proved "
        "by machine. Arrows say which ways a rule can be used. "
        "Tier A: derived from axioms, and proved for all sizes; B: proved for all "
        "sizes; C: derived from axioms, checked at instances.</p>\n");
    NOE_TRY(put_stats(p, err));
    noe_buf_puts(p->b, "<div class=\"tools\"><input type=\"search\" id=\"word\" "
                       "placeholder=\"words, operators, beginning of an id ( / )\" "
                       "aria-label=\"search\">\n");
    NOE_TRY(put_select(p, "ops", "any operator",
                       "SELECT DISTINCT op FROM rule_op ORDER BY op", err));
    noe_buf_puts(p->b, "<select data-key=\"family\" aria-label=\"family of "
                       "operators\"><option value=\"\">any family</option>");
    for (int i = 0; i < N_FAMILIES; i++)
        noe_buf_printf(p->b, "<option value=\"%s\">%s</option>", families[i].word,
                       families[i].label);
    noe_buf_puts(p->b, "<option value=\"other\">other</option></select>\n");
    NOE_TRY(put_select(p, "tier", "any tier",
                       "SELECT 'A' UNION SELECT 'B' UNION SELECT 'C'", err));
    NOE_TRY(put_select(p, "class", "any class",
                       "SELECT DISTINCT class FROM rule ORDER BY class", err));
    NOE_TRY(put_select(p, "level", "any level",
                       "SELECT DISTINCT level FROM rule ORDER BY level", err));
    noe_buf_puts(
        p->b, "<select data-key=\"where\" aria-label=\"conditions\"><option "
              "value=\"\">with or without conditions</option><option value=\"yes\">"
              "with conditions</option><option value=\"no\">without</option></select>\n"
              "<select data-key=\"size\" aria-label=\"number of operators\"><option "
              "value=\"\">any number of operators</option><option value=\"changes\">"
              "one side has fewer</option><option value=\"same\">as many on both"
              "</option></select></div>\n<p id=\"shown\" class=\"soft small\" "
              "aria-live=\"polite\"></p>\n");
    return NOE_OK;
}

noe_status noe_report_page(noe_ruledb *db, noe_buf *html, int *n_rules, noe_error *err)
{
    pager p = {db, html, noe_drawer_new(), {.level = -1, .limit = 20}, 0};
    noe_status status = put_head(&p, err);
    if (status == NOE_OK)
        status = noe_ruledb_query(db, rules_sql, NULL, 0, put_rule, &p, err);
    noe_buf_puts(html, "<button id=\"more\">Show more</button>\n");
    noe_page_end(html);
    noe_drawer_free(p.drawer);
    *n_rules = p.n;
    return status;
}
