/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/text.h"
#include "draw/draw.h"

extern const char noe_page_css[], noe_page_js[];

void noe_page_begin(noe_buf *html, const char *title)
{
    noe_buf_puts(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                       "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                       "content=\"width=device-width, initial-scale=1\">\n<title>");
    noe_buf_html(html, title);
    noe_buf_printf(html, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
                   noe_page_css);
}

void noe_page_end(noe_buf *html)
{
    noe_buf_printf(html, "</main>\n<script>\n%s</script>\n</body>\n</html>\n",
                   noe_page_js);
}
