/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules and graphs in Graphviz's language.
 */
#include "core/base/text.h"
#include "draw/draw.h"
#include <stdlib.h>

#define STYLE                                                                        \
    "graph [rankdir=TB, nodesep=0.2, ranksep=0.28, margin=0, bgcolor=transparent]; " \
    "node [shape=box, style=rounded, fontname=\"DejaVu Sans\", fontsize=10, "        \
    "height=0.28, margin=\"0.1,0.06\"]; edge [arrowsize=0.5, fontsize=8];\n"

/* Inside a quoted string of the language. */
static void put_quoted(noe_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            noe_buf_puts(b, "\\");
        noe_buf_add(b, text, 1);
    }
}

/* ---- rules ---- */

/* The end of a parameter: a comma outside all brackets. */
static size_t parameter_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth || text[n] != ','); n++)
        depth +=
            (text[n] == '[' || text[n] == '(') - (text[n] == ']' || text[n] == ')');
    return n;
}

/* "conv" and, below it, a line for each parameter. */
static void put_operator(noe_buf *b, const noe_rule *r, uint16_t i)
{
    noe_buf text = {0};
    noe_rule_print_node(&text, r, i);
    char *part = strchr(text.text, '[');
    if (part) {
        *part++ = '\0';
        part[strlen(part) - 1] = '\0';
    }
    put_quoted(b, text.text);
    while (part && *part) {
        size_t n = parameter_length(part);
        char end = part[n];
        part[n] = '\0';
        noe_buf_puts(b, "\\n");
        put_quoted(b, part);
        part += n + (end == ',');
        part += strspn(part, " ");
    }
    noe_buf_clear(&text);
}

static void put_side(noe_buf *b, const noe_rule *r, bool rhs)
{
    bool used[NOE_RULE_MAX_NODES];
    noe_rule_mark_side(r, rhs, used);
    noe_buf_puts(b, "digraph { ordering=in; " STYLE);
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        if (!used[i])
            continue;
        noe_buf_printf(b, "n%u [class=\"%s\"%s, label=\"", i, n->is_var ? "leaf" : "op",
                       n->is_var ? ", shape=plain" : "");
        put_operator(b, r, i);
        noe_buf_puts(b, "\"];\n");
        for (uint16_t k = 0; !n->is_var && k < n->n_inputs; k++)
            noe_buf_printf(b, "n%u -> n%u;\n", n->inputs[k], i);
    }
    noe_buf_puts(b, "}\n");
}

void noe_draw_side(noe_drawer *d, const noe_rule *rule, bool rhs, noe_buf *html)
{
    noe_buf dot = {0};
    put_side(&dot, rule, rhs);
    if (!noe_draw_dot(d, dot.text, html)) {
        noe_buf text = {0};
        noe_rule_print_side(&text, rule, rhs);
        noe_buf_puts(html, "<code>");
        noe_buf_html(html, noe_buf_text(&text));
        noe_buf_puts(html, "</code>");
        noe_buf_clear(&text);
    }
    noe_buf_clear(&dot);
}

/* ---- graphs ---- */

typedef struct folding {
    const noe_graph *g;
    const char *const *classes;
    uint32_t *users;  /* shown ones */
    uint32_t *inputs; /* shown ones */
    uint32_t *next;   /* the one user, UINT32_MAX */
    uint32_t *box;    /* the first node of the row that a node is shown in */
    uint32_t *count;  /* of a row, at its first node */
} folding;

static void count_edges(folding *f)
{
    const noe_graph *g = f->g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        f->next[i] = UINT32_MAX;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        f->box[i] = i;
        f->count[i] = 1;
        if (!f->classes[i])
            continue;
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            noe_ref r = noe_graph_inputs(g, i)[k];
            if (noe_ref_is_none(r) || !f->classes[r.node])
                continue;
            f->users[r.node]++;
            f->inputs[i]++;
            f->next[r.node] = i;
        }
    }
}

static bool is_plain(const folding *f, uint32_t i)
{
    return f->classes[i] && strcmp(f->classes[i], "op") == 0;
}

/* Changed ones only where the picture would be too large otherwise. */
static bool may_share(const folding *f, uint32_t i, uint32_t j, bool all)
{
    return f->classes[i] && f->classes[j] &&
           strcmp(f->classes[i], f->classes[j]) == 0 &&
           (is_plain(f, i) || (all && strcmp(f->classes[i], "leaf") != 0));
}

/* Rows of nodes with one input and one user become a box each. */
static void fold_rows(folding *f, bool all)
{
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        uint32_t j = f->next[i];
        if (f->users[i] == 1 && f->inputs[j] == 1 && may_share(f, i, j, all)) {
            f->box[j] = f->box[i];
            f->count[f->box[i]]++;
        }
    }
}

static void put_node(const folding *f, uint32_t i, noe_draw_label *label, void *ctx,
                     noe_buf *b)
{
    const noe_node *n = &f->g->nodes[i];
    noe_buf_printf(b, "n%u [class=\"%s\", label=\"", i,
                   f->count[i] > 1 && is_plain(f, i) ? "more" : f->classes[i]);
    put_quoted(b, label(ctx, i));
    if (f->count[i] > 1)
        noe_buf_printf(b, " ... (%u)", f->count[i]);
    noe_buf_puts(b, "\", tooltip=\"");
    if (n->name) {
        put_quoted(b, n->name);
        noe_buf_puts(b, " ");
    }
    if (n->n_outputs > 0) {
        noe_buf type = {0};
        noe_type_print(&type, &n->types[0]);
        put_quoted(b, type.text);
        noe_buf_clear(&type);
    }
    noe_buf_puts(b, "\"];\n");
}

static void put_graph(const folding *f, noe_draw_label *label, void *ctx, noe_buf *b,
                      uint32_t *n_drawn)
{
    const noe_graph *g = f->g;
    *n_drawn = 0;
    noe_buf_puts(b, "digraph { " STYLE);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!f->classes[i])
            continue;
        if (f->box[i] == i) {
            put_node(f, i, label, ctx, b);
            ++*n_drawn;
        }
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            noe_ref r = noe_graph_inputs(g, i)[k];
            if (!noe_ref_is_none(r) && f->classes[r.node] &&
                f->box[r.node] != f->box[i])
                noe_buf_printf(b, "n%u -> n%u;\n", f->box[r.node], f->box[i]);
        }
    }
    noe_buf_puts(b, "}\n");
}

void noe_draw_graph(noe_drawer *d, const noe_graph *g, const char *const *classes,
                    noe_draw_label *label, void *ctx, uint32_t max_nodes,
                    uint32_t *n_drawn, noe_buf *html)
{
    noe_arena a = {0};
    noe_buf dot = {0};
    uint32_t n_shown = 0;
    folding f = {g,
                 classes,
                 NOE_NEW_N(&a, uint32_t, g->n_nodes + 1),
                 NOE_NEW_N(&a, uint32_t, g->n_nodes + 1),
                 NOE_NEW_N(&a, uint32_t, g->n_nodes + 1),
                 NOE_NEW_N(&a, uint32_t, g->n_nodes + 1),
                 NOE_NEW_N(&a, uint32_t, g->n_nodes + 1)};
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n_shown += classes[i] != NULL;
    count_edges(&f);
    if (n_shown > max_nodes)
        fold_rows(&f, n_shown > 4 * max_nodes);
    put_graph(&f, label, ctx, &dot, n_drawn);
    if (!noe_draw_dot(d, dot.text, html)) {
        noe_buf text = {0};
        noe_graph_print(&text, g);
        noe_buf_puts(html, "<pre>");
        noe_buf_html(html, noe_buf_text(&text));
        noe_buf_puts(html, "</pre>");
        noe_buf_clear(&text);
    }
    noe_buf_clear(&dot);
    noe_arena_clear(&a);
}
