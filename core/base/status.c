/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses and error messages. A message has room for 999 bytes; what does not fit is
 * cut at the end, where the offending value seldom is.
 */
#include "core/base/status.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_texts[] = {
#define XX(ID, TEXT) [NOE_##ID] = TEXT,
    NOE_STATUS_MAP(XX)
#undef XX
};

noe_status noe_fail(noe_error *err, noe_status status, const char *fmt, ...)
{
    if (!err)
        return status;
    /* Formatted aside first: an argument may point into err->text. */
    char text[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    err->status = status;
    memcpy(err->text, text, sizeof text);
    return status;
}

void noe_error_prefix(noe_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    char text[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    int written = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = written < 0 ? 0 : (size_t)written;
    if (len >= sizeof text)
        len = sizeof text - 1;
    size_t kept = strlen(err->text);
    if (kept > sizeof text - 1 - len)
        kept = sizeof text - 1 - len;
    memcpy(text + len, err->text, kept);
    text[len + kept] = '\0';
    memcpy(err->text, text, len + kept + 1);
}

const char *noe_status_text(noe_status status)
{
    NOE_ASSERT((size_t)status < sizeof status_texts / sizeof *status_texts);
    return status_texts[status];
}

int noe_status_exit_code(noe_status status)
{
    switch (status) {
    case NOE_OK:
        return 0;
    case NOE_ERR_MISMATCH:
        return 1;
    case NOE_ERR_ARG:
        return 2;
    case NOE_ERR_PARSE:
    case NOE_ERR_SHAPE:
    case NOE_ERR_UNSUPPORTED:
    case NOE_ERR_LIMIT:
        return 3;
    case NOE_ERR_IO:
    case NOE_ERR_DB:
        return 4;
    case NOE_ERR_BACKEND:
        return 5;
    case NOE_ERR_CANCELLED:
        return 130;
    }
    return 5;
}

void noe_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "noether: internal error: %s:%d: '%s' does not hold\n", file, line,
            expr);
    abort();
}
