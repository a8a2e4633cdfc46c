/* SPDX-License-Identifier: Apache-2.0
 *
 * A number is a term of sort Int; a list is a length and what stands at index i. What
 * has to hold for a term to have a value is collected beside it (core/term.c: a
 * condition without value is false). Folds of lists are written out up to the longest
 * list there can be.
 */
#include "verifier/condition.h"
#include "core/base/mem.h"
#include <stdlib.h>

typedef const char *text;

typedef struct printer {
    const noe_rule *rule;
    noe_arena arena;
    noe_buf defined; /* conjuncts */
    int n_bound;     /* names i0, i1, ... given to bound indices */
} printer;

#define SAY(...) noe_arena_printf(&p->arena, __VA_ARGS__)

static text number(printer *p, uint16_t term);
static text truth(printer *p, uint16_t term);
static text length(printer *p, uint16_t term);
static text entry(printer *p, uint16_t term, text i);

static void require(printer *p, text formula)
{
    noe_buf_printf(&p->defined, "\n  %s", formula);
}

static text literal(printer *p, int64_t i)
{
    return i < 0 ? SAY("(- %lld)", -(long long)i) : SAY("%lld", (long long)i);
}

static bool is_truth(noe_term_kind kind)
{
    return kind == NOE_TERM_HAS || (kind >= NOE_TERM_EQ && kind <= NOE_TERM_NOT);
}

static bool is_list(const noe_rule *r, uint16_t term)
{
    const noe_term *t = &r->terms[term];
    switch ((int)t->kind) {
    case NOE_TERM_PVAR:
        return r->pvars[t->var].kind == NOE_KIND_INTS ||
               r->pvars[t->var].kind == NOE_KIND_AXES;
    case NOE_TERM_SHAPE:
    case NOE_TERM_LIST:
    case NOE_TERM_CAT:
    case NOE_TERM_REP:
    case NOE_TERM_TAKE:
    case NOE_TERM_SKIP:
    case NOE_TERM_WITHOUT:
    case NOE_TERM_WITH_ONES:
    case NOE_TERM_RANGE:
        return true;
    case NOE_TERM_AT:
        return is_list(r, t->kids[1]);
    case NOE_TERM_ADD:
    case NOE_TERM_SUB:
    case NOE_TERM_MUL:
    case NOE_TERM_DIV:
    case NOE_TERM_MOD:
    case NOE_TERM_MIN:
    case NOE_TERM_MAX:
        return is_list(r, t->kids[0]) && is_list(r, t->kids[1]);
    }
    return false;
}

/* No list of this term is longer. */
static int longest(const noe_rule *r, uint16_t term)
{
    const noe_term *t = &r->terms[term];
    if (t->kind == NOE_TERM_LIST)
        return t->n_kids;
    if (t->kind == NOE_TERM_SHAPE)
        return NOE_MAX_RANK;
    if (t->kind == NOE_TERM_TAKE || t->kind == NOE_TERM_SKIP ||
        t->kind == NOE_TERM_WITHOUT)
        return longest(r, t->kids[0]);
    return NOE_MAX_LIST;
}

/* Index i of something of length n, where a negative one counts from the end. */
static text from_end(printer *p, uint16_t term, text n)
{
    const noe_term *t = &p->rule->terms[term];
    if (t->kind == NOE_TERM_INT) {
        require(p, t->i < 0 ? SAY("(<= %lld %s)", -(long long)t->i, n)
                            : SAY("(< %lld %s)", (long long)t->i, n));
        return t->i < 0 ? SAY("(- %s %lld)", n, -(long long)t->i) : literal(p, t->i);
    }
    text i = number(p, term);
    require(p, SAY("(and (<= (- %s) %s) (< %s %s))", n, i, i, n));
    return SAY("(ite (< %s 0) (+ %s %s) %s)", i, i, n, i);
}

/* Division rounds down; SMT-LIB's rounds so that the remainder is not negative. */
static text divide(printer *p, text x, text y)
{
    return SAY("(ite (< %s 0) (div (- %s) (- %s)) (div %s %s))", y, x, y, x, y);
}

static text arithmetic(printer *p, noe_term_kind kind, text x, text y)
{
    switch ((int)kind) {
    case NOE_TERM_ADD:
        return SAY("(+ %s %s)", x, y);
    case NOE_TERM_SUB:
        return SAY("(- %s %s)", x, y);
    case NOE_TERM_MUL:
        return SAY("(* %s %s)", x, y);
    case NOE_TERM_DIV:
        return divide(p, x, y);
    case NOE_TERM_MOD:
        return SAY("(- %s (* %s %s))", x, y, divide(p, x, y));
    case NOE_TERM_MIN:
        return SAY("(ite (< %s %s) %s %s)", x, y, x, y);
    default:
        return SAY("(ite (< %s %s) %s %s)", x, y, y, x);
    }
}

static bool divides(noe_term_kind kind)
{
    return kind == NOE_TERM_DIV || kind == NOE_TERM_MOD;
}

static bool is_positive(const noe_rule *r, uint16_t term)
{
    return r->terms[term].kind == NOE_TERM_INT && r->terms[term].i > 0;
}

static text number_pair(printer *p, const noe_term *t)
{
    text x = number(p, t->kids[0]), y = number(p, t->kids[1]);
    if (divides(t->kind) && is_positive(p->rule, t->kids[1]))
        return SAY(t->kind == NOE_TERM_DIV ? "(div %s %s)" : "(mod %s %s)", x, y);
    if (divides(t->kind))
        require(p, SAY("(not (= %s 0))", y));
    return arithmetic(p, t->kind, x, y);
}

/* prod(list), sum(list). */
static text fold(printer *p, const noe_term *t)
{
    uint16_t list = t->kids[0];
    bool is_product = t->kind == NOE_TERM_PROD;
    text all = is_product ? "1" : "0", n = length(p, list);
    for (int i = 0; i < longest(p->rule, list); i++)
        all = SAY("(%s %s (ite (< %d %s) %s %s))", is_product ? "*" : "+", all, i, n,
                  entry(p, list, SAY("%d", i)), is_product ? "1" : "0");
    return all;
}

/* Whether v is in the list. */
static text member(printer *p, uint16_t list, text v)
{
    text some = "false", n = length(p, list);
    for (int i = 0; i < longest(p->rule, list); i++)
        some = SAY("(or %s (and (< %d %s) (= %s %s)))", some, i, n,
                   entry(p, list, SAY("%d", i)), v);
    return some;
}

static text number(printer *p, uint16_t term)
{
    const noe_term *t = &p->rule->terms[term];
    if (is_truth(t->kind))
        return SAY("(ite %s 1 0)", truth(p, term));
    switch ((int)t->kind) {
    case NOE_TERM_INT:
        return literal(p, t->i);
    case NOE_TERM_FLOAT:
        return t->f < 0 ? SAY("(- %.17f)", -t->f) : SAY("%.17f", t->f);
    case NOE_TERM_PVAR:
        return SAY("$%s", p->rule->pvars[t->var].name);
    case NOE_TERM_RANK:
        return SAY("?%s.rank", p->rule->vars[t->var].name);
    case NOE_TERM_DIM:
        return SAY(
            "(?%s.dim %s)", p->rule->vars[t->var].name,
            from_end(p, t->kids[0], SAY("?%s.rank", p->rule->vars[t->var].name)));
    case NOE_TERM_AT:
        return entry(p, t->kids[0], from_end(p, t->kids[1], length(p, t->kids[0])));
    case NOE_TERM_LEN:
        return length(p, t->kids[0]);
    case NOE_TERM_PROD:
    case NOE_TERM_SUM:
        return fold(p, t);
    }
    return number_pair(p, t);
}

/* Lists */

/* A bound index for a requirement on all entries. */
static text bind(printer *p)
{
    return SAY("i%d", p->n_bound++);
}

static text for_all(printer *p, text i, text n, text formula)
{
    return SAY("(forall ((%s Int)) (=> (and (<= 0 %s) (< %s %s)) %s))", i, i, i, n,
               formula);
}

/* The axes of without and with_ones are different places of a list of n. */
static void require_axes(printer *p, uint16_t axes, text n)
{
    text i = bind(p), j = bind(p), m = length(p, axes);
    text at_i = entry(p, axes, i), at_j = entry(p, axes, j);
    require(p, for_all(p, i, m, SAY("(and (<= 0 %s) (< %s %s))", at_i, at_i, n)));
    require(p, for_all(p, i, m,
                       for_all(p, j, m,
                               SAY("(=> (= %s %s) (= %s %s))", at_i, at_j, i, j))));
}

static text length_of_pair(printer *p, const noe_term *t)
{
    text n = length(p, t->kids[0]);
    switch ((int)t->kind) {
    case NOE_TERM_CAT:
        n = SAY("(+ %s %s)", n, length(p, t->kids[1]));
        require(p, SAY("(<= %s %d)", n, NOE_MAX_LIST));
        return n;
    case NOE_TERM_TAKE:
    case NOE_TERM_SKIP: {
        text k = number(p, t->kids[1]);
        require(p, SAY("(and (<= 0 %s) (<= %s %s))", k, k, n));
        return t->kind == NOE_TERM_TAKE ? k : SAY("(- %s %s)", n, k);
    }
    case NOE_TERM_WITHOUT:
        require_axes(p, t->kids[1], n);
        return SAY("(- %s %s)", n, length(p, t->kids[1]));
    case NOE_TERM_WITH_ONES:
        n = SAY("(+ %s %s)", n, length(p, t->kids[1]));
        require(p, SAY("(<= %s %d)", n, NOE_MAX_LIST));
        require_axes(p, t->kids[1], n);
        return n;
    }
    require(p, SAY("(= %s %s)", n, length(p, t->kids[1])));
    if (divides(t->kind)) {
        text i = bind(p);
        require(p, for_all(p, i, n, SAY("(not (= %s 0))", entry(p, t->kids[1], i))));
    }
    return n;
}

static text length(printer *p, uint16_t term)
{
    const noe_term *t = &p->rule->terms[term];
    switch ((int)t->kind) {
    case NOE_TERM_PVAR:
        return SAY("$%s.len", p->rule->pvars[t->var].name);
    case NOE_TERM_SHAPE:
        return SAY("?%s.rank", p->rule->vars[t->var].name);
    case NOE_TERM_LIST:
        return SAY("%d", t->n_kids);
    case NOE_TERM_REP:
    case NOE_TERM_RANGE: {
        text n = number(p, t->kids[t->kind == NOE_TERM_REP]);
        require(p, SAY("(and (<= 0 %s) (<= %s %d))", n, n, NOE_MAX_LIST));
        return n;
    }
    case NOE_TERM_AT: {
        text i = bind(p), m = length(p, t->kids[0]), n = length(p, t->kids[1]);
        text at = entry(p, t->kids[1], i);
        require(p,
                for_all(p, i, n, SAY("(and (<= (- %s) %s) (< %s %s))", m, at, at, m)));
        return n;
    }
    }
    return length_of_pair(p, t);
}

/* How many of the axes are before place i. */
static text count_before(printer *p, uint16_t axes, text i)
{
    text all = "0", n = length(p, axes);
    for (int k = 0; k < longest(p->rule, axes); k++)
        all = SAY("(+ %s (ite (and (< %d %s) (< %s %s)) 1 0))", all, k, n,
                  entry(p, axes, SAY("%d", k)), i);
    return all;
}

/* without(list, axes) at i: the place from which as many are left as i says. */
static text entry_left(printer *p, const noe_term *t, text i)
{
    text chosen = "0", n = length(p, t->kids[0]);
    for (int k = longest(p->rule, t->kids[0]); k-- > 0;) {
        text place = SAY("%d", k);
        chosen =
            SAY("(ite (and (< %d %s) (not %s) (= (- %d %s) %s)) %s %s)", k, n,
                member(p, t->kids[1], place), k, count_before(p, t->kids[1], place), i,
                entry(p, t->kids[0], place), chosen);
    }
    return chosen;
}

static text entry_of_pair(printer *p, const noe_term *t, text i)
{
    text n;
    switch ((int)t->kind) {
    case NOE_TERM_CAT:
        n = length(p, t->kids[0]);
        return SAY("(ite (< %s %s) %s %s)", i, n, entry(p, t->kids[0], i),
                   entry(p, t->kids[1], SAY("(- %s %s)", i, n)));
    case NOE_TERM_TAKE:
        return entry(p, t->kids[0], i);
    case NOE_TERM_SKIP:
        return entry(p, t->kids[0], SAY("(+ %s %s)", i, number(p, t->kids[1])));
    case NOE_TERM_AT: {
        text at = entry(p, t->kids[1], i);
        return entry(
            p, t->kids[0],
            SAY("(ite (< %s 0) (+ %s %s) %s)", at, at, length(p, t->kids[0]), at));
    }
    case NOE_TERM_WITHOUT:
        return entry_left(p, t, i);
    case NOE_TERM_WITH_ONES:
        return SAY(
            "(ite %s 1 %s)", member(p, t->kids[1], i),
            entry(p, t->kids[0], SAY("(- %s %s)", i, count_before(p, t->kids[1], i))));
    }
    return arithmetic(p, t->kind, entry(p, t->kids[0], i), entry(p, t->kids[1], i));
}

static text entry(printer *p, uint16_t term, text i)
{
    const noe_term *t = &p->rule->terms[term];
    text all = "0";
    switch ((int)t->kind) {
    case NOE_TERM_PVAR:
        return SAY("($%s.at %s)", p->rule->pvars[t->var].name, i);
    case NOE_TERM_SHAPE:
        return SAY("(?%s.dim %s)", p->rule->vars[t->var].name, i);
    case NOE_TERM_LIST:
        for (int k = t->n_kids; k-- > 0;)
            all = k + 1 == t->n_kids
                      ? number(p, t->kids[k])
                      : SAY("(ite (= %s %d) %s %s)", i, k, number(p, t->kids[k]), all);
        return all;
    case NOE_TERM_REP:
        return number(p, t->kids[0]);
    case NOE_TERM_RANGE:
        return i;
    }
    return entry_of_pair(p, t, i);
}

/* Truths */

static text equal(printer *p, uint16_t a, uint16_t b)
{
    bool lists = is_list(p->rule, a);
    if (lists != is_list(p->rule, b))
        return "false";
    if (!lists)
        return SAY("(= %s %s)", number(p, a), number(p, b));
    text n = length(p, a), i = bind(p);
    return SAY("(and (= %s %s) %s)", n, length(p, b),
               for_all(p, i, n, SAY("(= %s %s)", entry(p, a, i), entry(p, b, i))));
}

static text truth(printer *p, uint16_t term)
{
    const noe_term *t = &p->rule->terms[term];
    switch ((int)t->kind) {
    case NOE_TERM_EQ:
        return equal(p, t->kids[0], t->kids[1]);
    case NOE_TERM_NE:
        return SAY("(not %s)", equal(p, t->kids[0], t->kids[1]));
    case NOE_TERM_LT:
        return SAY("(< %s %s)", number(p, t->kids[0]), number(p, t->kids[1]));
    case NOE_TERM_LE:
        return SAY("(<= %s %s)", number(p, t->kids[0]), number(p, t->kids[1]));
    case NOE_TERM_AND:
        return SAY("(and %s %s)", truth(p, t->kids[0]), truth(p, t->kids[1]));
    case NOE_TERM_OR:
        return SAY("(or %s %s)", truth(p, t->kids[0]), truth(p, t->kids[1]));
    case NOE_TERM_NOT:
        return SAY("(not %s)", truth(p, t->kids[0]));
    case NOE_TERM_HAS:
        return member(p, t->kids[0], number(p, t->kids[1]));
    }
    return SAY("(not (= %s 0))", number(p, term));
}

/* Declarations */

static void mark(const noe_rule *r, uint16_t term, bool *vars, bool *pvars)
{
    const noe_term *t = &r->terms[term];
    if (t->kind == NOE_TERM_PVAR)
        pvars[t->var] = true;
    if (t->kind == NOE_TERM_DIM || t->kind == NOE_TERM_RANK ||
        t->kind == NOE_TERM_SHAPE)
        vars[t->var] = true;
    for (int i = 0; i < t->n_kids; i++)
        mark(r, t->kids[i], vars, pvars);
}

static void declare(const noe_rule *r, noe_buf *b)
{
    bool vars[NOE_RULE_MAX_VARS] = {0}, pvars[NOE_RULE_MAX_PVARS] = {0};
    mark(r, r->where, vars, pvars);
    for (int v = 0; v < r->n_vars; v++) {
        if (vars[v])
            noe_buf_printf(b,
                           "(declare-const ?%s.rank Int)\n"
                           "(declare-fun ?%s.dim (Int) Int)\n",
                           r->vars[v].name, r->vars[v].name);
    }
    for (int k = 0; k < r->n_pvars; k++) {
        noe_param_kind kind = r->pvars[k].kind;
        if (pvars[k] && (kind == NOE_KIND_INTS || kind == NOE_KIND_AXES))
            noe_buf_printf(b,
                           "(declare-const $%s.len Int)\n"
                           "(declare-fun $%s.at (Int) Int)\n",
                           r->pvars[k].name, r->pvars[k].name);
        else if (pvars[k])
            noe_buf_printf(b, "(declare-const $%s %s)\n", r->pvars[k].name,
                           kind == NOE_KIND_FLOAT ? "Real" : "Int");
    }
}

/* With the names that the canonical text has. */
static void print_named(noe_buf *b, const noe_rule *rule)
{
    printer p = {.rule = rule};
    declare(rule, b);
    text where = truth(&p, rule->where);
    if (p.defined.len)
        noe_buf_printf(b, "(assert (and %s%s))\n", where, noe_buf_text(&p.defined));
    else
        noe_buf_printf(b, "(assert %s)\n", where);
    noe_buf_clear(&p.defined);
    noe_arena_clear(&p.arena);
}

void noe_condition_print_smt2(noe_buf *b, const noe_rule *rule)
{
    noe_buf canonical = {0};
    if (rule->where == NOE_TERM_ABSENT)
        return;
    noe_rule *named = noe_malloc(sizeof *named);
    noe_rule_print(&canonical, rule);
    if (noe_rule_parse(noe_buf_text(&canonical), canonical.len, named, NULL) == NOE_OK)
        print_named(b, named);
    noe_buf_clear(&canonical);
    free(named);
}
