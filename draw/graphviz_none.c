/* SPDX-License-Identifier: Apache-2.0
 *
 * Built without Graphviz: no pictures.
 */
#include "draw/draw.h"

bool noe_draw_is_available(void)
{
    return false;
}

noe_drawer *noe_drawer_new(void)
{
    return NULL;
}

void noe_drawer_free(noe_drawer *d)
{
    (void)d;
}

bool noe_draw_dot(noe_drawer *d, const char *dot, noe_buf *svg)
{
    (void)d;
    (void)dot;
    (void)svg;
    return false;
}
