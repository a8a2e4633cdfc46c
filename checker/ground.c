/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of certificates, by recursive descent with a bounded depth. It knows the form
 * of terms and no names: what a head means is decided where the term is evaluated.
 */
#include "checker/ground.h"
#include <stdlib.h>

#define MAX_DEPTH 100
#define MAX_KIDS  64

static const char in_domain_line[] =
    "arguments of sqrt and log on the left are not negative";

typedef struct reader {
    noe_arena *arena;
    const char *at, *end; /* rest of the line */
    const char *token;
    size_t len; /* of the token; 0 at the end */
    int line, depth;
    noe_error *err;
} reader;

static noe_status fail(reader *r, const char *what)
{
    int len = r->len < 40 ? (int)r->len : 40;
    return noe_fail(r->err, NOE_ERR_PARSE,
                    "line %d of the certificate: %s, found '%.*s'", r->line, what, len,
                    r->token);
}

static size_t span(const reader *r, const char *set, bool accept)
{
    size_t n = 0;
    while (r->at + n < r->end && (strchr(set, r->at[n]) != NULL) == accept)
        n++;
    return n;
}

static void next(reader *r)
{
    r->at += span(r, " ", true);
    r->token = r->at;
    if (r->at == r->end)
        r->len = 0;
    else if (strchr("()[],", *r->at))
        r->len = 1;
    else if (strchr("<>=", *r->at))
        r->len = span(r, "<>=", true);
    else
        r->len = span(r, " ()[],=<>", false);
    r->at += r->len;
}

static bool is(const reader *r, const char *text)
{
    return r->len == strlen(text) && memcmp(r->token, text, r->len) == 0;
}

static bool accept(reader *r, const char *text)
{
    bool found = is(r, text);
    if (found)
        next(r);
    return found;
}

static const char *take(reader *r)
{
    char *text = noe_arena_alloc(r->arena, r->len + 1);
    memcpy(text, r->token, r->len);
    text[r->len] = '\0';
    next(r);
    return text;
}

static bool at_name(const reader *r)
{
    return r->len > 0 && !(r->len == 1 && strchr("()[],", *r->token)) && !is(r, "=");
}

static noe_status read_term(reader *r, noe_ground **out);

typedef struct kids {
    noe_ground *kid[MAX_KIDS];
    const char *name[MAX_KIDS];
    int n;
} kids;

static noe_status add_kid(reader *r, kids *k)
{
    if (k->n == MAX_KIDS)
        return fail(r, "too many arguments");
    NOE_TRY(read_term(r, &k->kid[k->n]));
    k->n++;
    return NOE_OK;
}

/* Terms up to the closing bracket, which is taken too. */
static noe_status read_list(reader *r, const char *close, kids *k)
{
    for (bool first = true; !accept(r, close); first = false) {
        if (!first && !accept(r, ","))
            return fail(r, "expected ',' or a closing bracket");
        NOE_TRY(add_kid(r, k));
    }
    return NOE_OK;
}

static noe_status read_params(reader *r, kids *k)
{
    for (bool first = true; !accept(r, "]"); first = false) {
        if (!first && !accept(r, ","))
            return fail(r, "expected ',' or ']'");
        if (!at_name(r) || k->n == MAX_KIDS)
            return fail(r, "expected a parameter");
        k->name[k->n] = take(r);
        if (!accept(r, "="))
            return fail(r, "expected '='");
        NOE_TRY(add_kid(r, k));
    }
    return NOE_OK;
}

static noe_status read_parts(reader *r, noe_ground *g, kids *k)
{
    if (accept(r, "[")) {
        g->head = "[";
        return read_list(r, "]", k);
    }
    if (!at_name(r))
        return fail(r, "expected a term");
    g->head = take(r);
    if (accept(r, "[")) {
        NOE_TRY(read_params(r, k));
        g->n_params = k->n;
    }
    return accept(r, "(") ? read_list(r, ")", k) : NOE_OK;
}

static noe_status read_term(reader *r, noe_ground **out)
{
    kids k;
    k.n = 0;
    noe_ground *g = NOE_NEW(r->arena, noe_ground);
    if (++r->depth > MAX_DEPTH)
        return fail(r, "nested too deep");
    NOE_TRY(read_parts(r, g, &k));
    r->depth--;
    g->n_kids = k.n;
    g->kids = noe_arena_memdup(r->arena, k.kid, (size_t)k.n * sizeof *k.kid);
    g->param_names =
        noe_arena_memdup(r->arena, k.name, (size_t)g->n_params * sizeof *k.name);
    *out = g;
    return NOE_OK;
}

static noe_status read_step(reader *r, noe_ground_step *step)
{
    const char *names[NOE_RULE_MAX_VARS + NOE_RULE_MAX_PVARS];
    noe_ground *terms[NOE_RULE_MAX_VARS + NOE_RULE_MAX_PVARS];
    *step = (noe_ground_step){.line = r->line};
    if (!at_name(r))
        return fail(r, "expected the name of an axiom");
    step->axiom = take(r);
    while (r->len > 0) {
        if (step->n == (int)(sizeof terms / sizeof *terms))
            return fail(r, "too many variables");
        if (*r->token != '?' && *r->token != '$')
            return fail(r, "expected a variable");
        names[step->n] = take(r);
        if (!accept(r, "="))
            return fail(r, "expected '='");
        NOE_TRY(read_term(r, &terms[step->n]));
        step->n++;
    }
    step->names = noe_arena_memdup(r->arena, names, (size_t)step->n * sizeof *names);
    step->terms = noe_arena_memdup(r->arena, terms, (size_t)step->n * sizeof *terms);
    return NOE_OK;
}

static void open_section(noe_ground_certificate *c, const char *ranks)
{
    noe_ground_section section = {.ranks = ranks};
    NOE_PUSH(c->sections, c->n, c->cap, section);
}

static char *copy(noe_arena *arena, const char *text, size_t len)
{
    char *out = noe_arena_alloc(arena, len + 1);
    memcpy(out, text, len);
    out[len] = '\0';
    return out;
}

static noe_status read_line(noe_ground_certificate *c, const char *text, size_t len,
                            int line, noe_error *err)
{
    static const char ranks[] = "ranks ";
    if (len >= strlen(ranks) && memcmp(text, ranks, strlen(ranks)) == 0) {
        size_t skip = strlen(ranks);
        open_section(c, copy(&c->arena, text + skip, len - skip));
        return NOE_OK;
    }
    if (c->n == 0)
        open_section(c, NULL);
    noe_ground_section *section = &c->sections[c->n - 1];
    if (len == strlen(in_domain_line) && memcmp(text, in_domain_line, len) == 0) {
        section->in_domain = true;
        return NOE_OK;
    }
    noe_ground_step step;
    reader r = {.arena = &c->arena, .at = text, .end = text + len, .line = line};
    r.err = err;
    next(&r);
    NOE_TRY(read_step(&r, &step));
    NOE_PUSH(section->steps, section->n, section->cap, step);
    return NOE_OK;
}

noe_status noe_ground_parse(const char *text, noe_ground_certificate *c, noe_error *err)
{
    *c = (noe_ground_certificate){.n = 0};
    for (int line = 1; *text; line++) {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            NOE_TRY(read_line(c, text, len, line, err));
        text += len + (text[len] == '\n');
    }
    if (c->n == 0)
        open_section(c, NULL);
    return NOE_OK;
}

void noe_ground_clear(noe_ground_certificate *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->sections[i].steps);
    free(c->sections);
    noe_arena_clear(&c->arena);
    *c = (noe_ground_certificate){.n = 0};
}
