/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphviz as a library. Its messages about a layout that it gives up are not wanted:
 * the text stands in for the picture then.
 */
#include "draw/draw.h"
#include <graphviz/gvc.h>
#include <stdlib.h>
#include <string.h>

struct noe_drawer {
    GVC_t *context;
};

bool noe_draw_is_available(void)
{
    return true;
}

static int be_quiet(char *message)
{
    (void)message;
    return 0;
}

noe_drawer *noe_drawer_new(void)
{
    noe_drawer *d = noe_malloc(sizeof *d);
    agseterr(AGMAX);
    agseterrf(be_quiet);
    d->context = gvContext();
    return d;
}

void noe_drawer_free(noe_drawer *d)
{
    if (!d)
        return;
    gvFreeContext(d->context);
    free(d);
}

/* What the page has styles for, or nobody reads: pages with thousands of rules are a
 * third smaller without. No text has these, since '"' and '<' are escaped there. */
static const char *const needless[][2] = {
    {"<!--", "-->\n"},
    {"<title>", "</title>\n"},
    {" id=\"", "\""},
    {" xmlns=\"", "\""},
    {" xmlns:xlink=\"", "\""},
    {" font-family=\"", "\""},
    {" font-size=\"10.00", "\""},
    {" fill=\"none", "\""},
    {" fill=\"black", "\""},
    {" stroke=\"black", "\""},
};

/* Length of the needless part at the beginning of text, or 0. */
static size_t needless_length(const char *text)
{
    for (size_t i = 0; i < sizeof needless / sizeof *needless; i++) {
        size_t n = strlen(needless[i][0]);
        if (strncmp(text, needless[i][0], n) == 0) {
            const char *end = strstr(text + n, needless[i][1]);
            return end ? (size_t)(end - text) + strlen(needless[i][1]) : 0;
        }
    }
    return 0;
}

static void put_svg(noe_buf *svg, const char *text)
{
    while (*text) {
        size_t n = needless_length(text);
        if (n == 0) {
            n = 1 + strcspn(text + 1, " <");
            noe_buf_add(svg, text, n);
        }
        text += n;
    }
}

bool noe_draw_dot(noe_drawer *d, const char *dot, noe_buf *svg)
{
    char *data = NULL;
    unsigned len = 0;
    Agraph_t *g = agmemread(dot);
    if (!g)
        return false;
    bool ok = gvLayout(d->context, g, "dot") == 0;
    if (ok && gvRenderData(d->context, g, "svg", &data, &len) == 0 && data) {
        /* Without the XML head. */
        const char *start = strstr(data, "<svg");
        if (start)
            put_svg(svg, start);
        ok = start != NULL;
        gvFreeRenderData(data);
    } else {
        ok = false;
    }
    gvFreeLayout(d->context, g);
    agclose(g);
    return ok;
}
