/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of rules and graphs as SVG, and the frame of the pages that show them.
 * Graphviz lays out; without it (NOETHER_GRAPHVIZ) texts stand where pictures would.
 *
 * Pictures take their colours from the page: elements have the classes `node`, `edge`,
 * and what a node is (`op`, `leaf`, `new`, `gone`, `more`).
 */
#ifndef NOE_DRAW_DRAW_H
#define NOE_DRAW_DRAW_H

#include "core/rule.h"

/* Was this built with Graphviz? */
bool noe_draw_is_available(void);

/* One layout after the other; reused. */
typedef struct noe_drawer noe_drawer;
noe_drawer *noe_drawer_new(void);
void noe_drawer_free(noe_drawer *d);

/* Appends an <svg> of a graph in Graphviz's language, or nothing where there is no
 * Graphviz or it gives up; false then. */
bool noe_draw_dot(noe_drawer *d, const char *dot, noe_buf *svg);

/* One side of a rule, as HTML: a picture, or its text. */
void noe_draw_side(noe_drawer *d, const noe_rule *rule, bool rhs, noe_buf *html);

/* The run-time part of a graph as HTML. classes has n_nodes entries, what each node is:
 * "leaf", "op", "new", "gone"; NULL ones are left out. label gives a node's operator.
 * Where there are more than max_nodes, rows of "op" nodes with one input and one user
 * become one box; far beyond that rows of the others do too. *n_drawn: boxes. */
typedef const char *noe_draw_label(void *ctx, uint32_t node);
void noe_draw_graph(noe_drawer *d, const noe_graph *g, const char *const *classes,
                    noe_draw_label *label, void *ctx, uint32_t max_nodes,
                    uint32_t *n_drawn, noe_buf *html);

/* An HTML page that needs nothing else: head and styles; scripts and end. */
void noe_page_begin(noe_buf *html, const char *title);
void noe_page_end(noe_buf *html);

#endif
