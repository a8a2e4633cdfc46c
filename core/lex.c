/* SPDX-License-Identifier: Apache-2.0
 *
 * Lexer of the text form. Input may be hostile: lengths are bounded by the text,
 * numbers out of range are errors, bytes outside ASCII only occur in strings.
 */
#include "core/lex.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODE_DIGITS 10 /* node numbers are 32 bits wide */

static const char *const puncts[] = {
    "=>", ":=", "++", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{",
    "}",  ",",  "=",  ":",  "+",  "-",  "*",  "/",  "%",  "<", ">", "!", ".", "#",
};

noe_status noe_lex_fail(noe_lexer *lx, const char *fmt, ...)
{
    if (lx->status != NOE_OK)
        return lx->status;
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    long column = (long)(lx->token.text - lx->start) + 1;
    lx->status = noe_fail(lx->err, NOE_ERR_PARSE, "column %ld: %s", column, text);
    return lx->status;
}

static bool is_name_start(int c)
{
    return isalpha(c) || c == '_';
}

static size_t name_length(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    return (size_t)(p - at);
}

static void lex_string(noe_lexer *lx, noe_token *t)
{
    const char *p = lx->at + 1;
    while (p < lx->end && *p != '"')
        p += (*p == '\\' && p + 1 < lx->end) ? 2 : 1;
    if (p >= lx->end) {
        noe_lex_fail(lx, "string is not closed");
        lx->at = lx->end;
        return;
    }
    t->kind = NOE_TOKEN_STRING;
    t->text = lx->at + 1;
    t->len = (size_t)(p - t->text);
    lx->at = p + 1;
}

static void lex_number(noe_lexer *lx, noe_token *t)
{
    char digits[64];
    size_t n = 0;
    const char *p = lx->at;
    bool is_float = false;
    while (p < lx->end && n < sizeof digits - 1) {
        bool exponent_sign = (*p == '-' || *p == '+') && n > 0 &&
                             (digits[n - 1] == 'e' || digits[n - 1] == 'E');
        if (*p == '.' || *p == 'e' || *p == 'E')
            is_float = true;
        else if (!isdigit((unsigned char)*p) && !exponent_sign)
            break;
        digits[n++] = *p++;
    }
    digits[n] = '\0';
    char *stop;
    errno = 0;
    t->kind = is_float ? NOE_TOKEN_FLOAT : NOE_TOKEN_INT;
    if (is_float)
        t->f = strtod(digits, &stop);
    else
        t->i = strtoll(digits, &stop, 10);
    bool fits = is_float ? isfinite(t->f) : errno != ERANGE;
    if (*stop != '\0' || !fits)
        noe_lex_fail(lx, "bad number '%s'", digits);
    t->len = n;
    lx->at = p;
}

/* Not by strtoll: the text need not end in anything. */
static void read_node_number(noe_lexer *lx, noe_token *t)
{
    for (size_t i = 0; i < t->len; i++) {
        if (!isdigit((unsigned char)t->text[i]) || t->len > MAX_NODE_DIGITS) {
            noe_lex_fail(lx, "bad node number '%%%.*s'",
                         (int)(t->len < 40 ? t->len : 40), t->text);
            return;
        }
        t->i = 10 * t->i + (t->text[i] - '0');
    }
}

static void lex_marked(noe_lexer *lx, noe_token *t, noe_token_kind kind)
{
    t->kind = kind;
    t->text = lx->at + 1;
    t->len = name_length(t->text, lx->end);
    if (t->len == 0 && kind == NOE_TOKEN_VAR) { /* a lone '?' is an unknown size */
        t->kind = NOE_TOKEN_PUNCT;
        t->text = lx->at++;
        t->len = 1;
        return;
    }
    if (t->len == 0)
        noe_lex_fail(lx, "a name must follow '%c'", *lx->at);
    lx->at = t->text + t->len;
    if (kind == NOE_TOKEN_NODE)
        read_node_number(lx, t);
}

static void lex_punct(noe_lexer *lx, noe_token *t)
{
    for (size_t i = 0; i < sizeof puncts / sizeof *puncts; i++) {
        size_t n = strlen(puncts[i]);
        if ((size_t)(lx->end - lx->at) >= n && memcmp(lx->at, puncts[i], n) == 0) {
            t->kind = NOE_TOKEN_PUNCT;
            t->len = n;
            lx->at += n;
            return;
        }
    }
    noe_lex_fail(lx, "unexpected character 0x%02x", (unsigned char)*lx->at);
    lx->at = lx->end;
}

void noe_lex_next(noe_lexer *lx)
{
    while (lx->at < lx->end && isspace((unsigned char)*lx->at))
        lx->at++;
    noe_token *t = &lx->token;
    *t = (noe_token){.kind = NOE_TOKEN_END, .text = lx->at};
    if (lx->at >= lx->end || lx->status != NOE_OK)
        return;
    int c = (unsigned char)*lx->at;
    if (is_name_start(c)) {
        t->kind = NOE_TOKEN_NAME;
        t->len = name_length(lx->at, lx->end);
        lx->at += t->len;
    } else if (isdigit(c)) {
        lex_number(lx, t);
    } else if (c == '?') {
        lex_marked(lx, t, NOE_TOKEN_VAR);
    } else if (c == '$') {
        lex_marked(lx, t, NOE_TOKEN_PVAR);
    } else if (c == '%' && lx->at + 1 < lx->end && isdigit((unsigned char)lx->at[1])) {
        lex_marked(lx, t, NOE_TOKEN_NODE);
    } else if (c == '"') {
        lex_string(lx, t);
    } else {
        lex_punct(lx, t);
    }
    if (lx->status != NOE_OK)
        t->kind = NOE_TOKEN_END;
}

void noe_lex_init(noe_lexer *lx, const char *text, size_t len, noe_error *err)
{
    *lx = (noe_lexer){.start = text, .at = text, .end = text + len, .err = err};
    noe_lex_next(lx);
}

bool noe_lex_is(const noe_lexer *lx, const char *what)
{
    const noe_token *t = &lx->token;
    return (t->kind == NOE_TOKEN_PUNCT || t->kind == NOE_TOKEN_NAME) &&
           t->len == strlen(what) && memcmp(t->text, what, t->len) == 0;
}

bool noe_lex_accept(noe_lexer *lx, const char *what)
{
    if (!noe_lex_is(lx, what))
        return false;
    noe_lex_next(lx);
    return true;
}

noe_status noe_lex_expect(noe_lexer *lx, const char *what)
{
    if (noe_lex_accept(lx, what))
        return NOE_OK;
    int len = lx->token.len < 40 ? (int)lx->token.len : 40;
    if (lx->token.kind == NOE_TOKEN_END)
        return noe_lex_fail(lx, "expected '%s', found the end", what);
    return noe_lex_fail(lx, "expected '%s', found '%.*s'", what, len, lx->token.text);
}
