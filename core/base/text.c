/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/text.h"
#include <math.h>

void noe_buf_json(noe_buf *b, const char *text)
{
    noe_buf_puts(b, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            noe_buf_printf(b, "\\%c", c);
        else if (c < 0x20)
            noe_buf_printf(b, "\\u%04x", c);
        else
            noe_buf_add(b, text, 1);
    }
    noe_buf_puts(b, "\"");
}

void noe_buf_json_number(noe_buf *b, double x)
{
    if (isfinite(x))
        noe_buf_printf(b, "%.9g", x);
    else
        noe_buf_puts(b, "null");
}

void noe_buf_html(noe_buf *b, const char *text)
{
    for (; *text; text++) {
        size_t plain = strcspn(text, "&<>\"'");
        noe_buf_add(b, text, plain);
        text += plain;
        if (!*text)
            return;
        noe_buf_printf(b, "&#%d;", *text);
    }
}
