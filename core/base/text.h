/* SPDX-License-Identifier: Apache-2.0
 *
 * Text inside other languages.
 */
#ifndef NOE_CORE_BASE_TEXT_H
#define NOE_CORE_BASE_TEXT_H

#include "core/base/mem.h"

/* A JSON string, with its quotes. Text that is not UTF-8 gives a string that is not. */
void noe_buf_json(noe_buf *b, const char *text);
/* null where x is infinite or NaN. */
void noe_buf_json_number(noe_buf *b, double x);
/* Text of an HTML element or attribute value. */
void noe_buf_html(noe_buf *b, const char *text);

#endif
