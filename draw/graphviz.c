/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphviz as a library. Its messages about a layout that it gives up are not wanted:
 * the text stands in for the picture then.
 */
#include "draw/draw.h"
#include <graphviz/gvc.h>
#include <stdlib.h>

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
            noe_buf_puts(svg, start);
        ok = start != NULL;
        gvFreeRenderData(data);
    } else {
        ok = false;
    }
    gvFreeLayout(d->context, g);
    agclose(g);
    return ok;
}
