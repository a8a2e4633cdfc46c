/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of the text form (internal to core/): identifiers, numbers, strings, ?vars,
 * $parameters, %nodes and punctuation. Whitespace and newlines separate, nothing more.
 */
#ifndef NOE_CORE_LEX_H
#define NOE_CORE_LEX_H

#include "core/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum noe_token_kind {
    NOE_TOKEN_END,
    NOE_TOKEN_NAME,   /* letter or _, then letters, digits, _ */
    NOE_TOKEN_INT,    /* unsigned digits */
    NOE_TOKEN_FLOAT,  /* digits with '.' or exponent, or inf/nan as names */
    NOE_TOKEN_VAR,    /* ?name  (text without the mark) */
    NOE_TOKEN_PVAR,   /* $name */
    NOE_TOKEN_NODE,   /* %digits */
    NOE_TOKEN_STRING, /* "..." with \" and \\ ; text still escaped */
    NOE_TOKEN_PUNCT,  /* one of the operators below */
} noe_token_kind;

typedef struct noe_token {
    noe_token_kind kind;
    const char *text;
    size_t len;
    int64_t i;
    double f;
} noe_token;

typedef struct noe_lexer {
    const char *start, *at, *end;
    noe_token token; /* the current one */
    noe_error *err;
    noe_status status;
} noe_lexer;

/* Starts reading and loads the first token. */
void noe_lex_init(noe_lexer *lx, const char *text, size_t len, noe_error *err);
void noe_lex_next(noe_lexer *lx);
bool noe_lex_is(const noe_lexer *lx, const char *punct_or_name);
bool noe_lex_accept(noe_lexer *lx, const char *punct_or_name);
/* Fails with "column N: expected X, found 'Y'". The first failure is kept. */
noe_status noe_lex_expect(noe_lexer *lx, const char *punct_or_name);
noe_status noe_lex_fail(noe_lexer *lx, const char *fmt, ...) NOE_PRINTF(2, 3);

#endif
