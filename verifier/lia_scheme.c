/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms of the rule over symbols, types of its nodes, and the facts that follow from
 * the rule being applicable: both sides well-typed, equal output types, the condition.
 * Facts that are equations define symbols, and everything is typed again: so that most
 * of what is equal is equal in form.
 */
#include "verifier/lia_scheme.h"
#include <stdlib.h>

#define MAX_ROUNDS 24

void noe_scheme_init(noe_scheme *s, const noe_rule *rule, noe_algebra *a, bool stored)
{
    *s = (noe_scheme){.rule = rule, .a = a, .stored = stored};
    memset(s->choice.rank, -1, sizeof s->choice.rank);
    noe_rule_mark_side(rule, false, s->is_left);
}

void noe_scheme_clear(noe_scheme *s)
{
    free(s->fact);
    s->fact = NULL;
}

void noe_scheme_choose_rank(noe_scheme *s, int var, int rank)
{
    s->choice.rank[var] = (int8_t)rank;
    for (int i = 0; i < rank; i++)
        s->dim[var][i] = noe_terms_symbol(s->a->terms, true);
}

void noe_scheme_choose(noe_scheme *s, int pvar, const noe_choice *choice)
{
    s->choice.pvar[pvar] = *choice;
    for (int i = 0; i < choice->n && !choice->is_literal && !choice->is_real; i++)
        s->pvar[pvar][i] = noe_terms_symbol(s->a->terms, choice->is_natural);
}

/* Facts */

static noe_fit add_fact(noe_scheme *s, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(s->a->terms, f);
    if (f == NOE_FORMULA_FALSE_ID)
        return NOE_FIT_NO;
    if (f == NOE_FORMULA_TRUE_ID)
        return NOE_FIT_YES;
    if (n->kind == NOE_FORMULA_AND) {
        uint32_t b = n->b;
        noe_fit fit = add_fact(s, n->a);
        return fit == NOE_FIT_YES ? add_fact(s, b) : fit;
    }
    for (int i = 0; i < s->n_facts; i++) {
        if (s->fact[i] == f)
            return NOE_FIT_YES;
    }
    NOE_PUSH(s->fact, s->n_facts, s->cap_facts, f);
    return NOE_FIT_YES;
}

static void emit_fact(void *ctx, noe_formula f)
{
    (void)add_fact(ctx, f);
}

/* Values of terms */

static noe_fit unknown(noe_scheme *s, const char *reason)
{
    s->reason = reason;
    return NOE_FIT_UNKNOWN;
}

static noe_symbolic number_value(noe_poly p)
{
    return (noe_symbolic){.kind = NOE_SYMBOLIC_NUMBER, .number = p};
}

static noe_symbolic truth_value(noe_formula f)
{
    return (noe_symbolic){.kind = NOE_SYMBOLIC_TRUTH, .truth = f};
}

static bool is_number(const noe_symbolic *v)
{
    return v->kind == NOE_SYMBOLIC_NUMBER;
}

static bool is_list(const noe_symbolic *v)
{
    return v->kind == NOE_SYMBOLIC_LIST;
}

static noe_poly shape_dim(noe_scheme *s, int var, int i)
{
    return noe_poly_symbol(s->a->terms, s->dim[var][i]);
}

static noe_fit pvar_value(noe_scheme *s, int p, noe_symbolic *out)
{
    const noe_choice *c = &s->choice.pvar[p];
    if (!c->made)
        return unknown(s, "a parameter is not determined where it is used");
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_NUMBER, .n = c->n};
    if (c->is_real) {
        out->kind = NOE_SYMBOLIC_REALS;
        out->var = (uint16_t)(NOE_RULE_MAX_VARS + p);
        return NOE_FIT_YES;
    }
    if (c->is_entries) {
        noe_entries *e = NOE_NEW_N(s->a->arena, noe_entries, 1);
        *e = (noe_entries){.kind = NOE_ENTRIES_UNKNOWN, .list = p};
        e->length = noe_poly_symbol(s->a->terms, s->pvar[p][0]);
        *out = (noe_symbolic){.kind = NOE_SYMBOLIC_ENTRIES, .entries = e};
        return NOE_FIT_YES;
    }
    for (int i = 0; i < c->n; i++)
        out->list[i] = c->is_literal ? noe_poly_int(s->a->terms, c->value[i])
                                     : noe_poly_symbol(s->a->terms, s->pvar[p][i]);
    out->number = out->list[0];
    if (c->is_list)
        out->kind = NOE_SYMBOLIC_LIST;
    return NOE_FIT_YES;
}

static noe_fit want_literal(noe_scheme *s, const noe_symbolic *v, int64_t *i)
{
    if (!is_number(v))
        return NOE_FIT_NO;
    if (!noe_poly_is_int(s->a->terms, v->number, i))
        return unknown(s, "a place in a list or a length is not a literal");
    return NOE_FIT_YES;
}

#define FIT(EXPR)                \
    do {                         \
        noe_fit fit_ = (EXPR);   \
        if (fit_ != NOE_FIT_YES) \
            return fit_;         \
    } while (0)

static noe_fit append(noe_symbolic *list, int n, const noe_poly *more)
{
    if (list->n + n > NOE_MAX_LIST)
        return NOE_FIT_NO;
    memcpy(list->list + list->n, more, (size_t)n * sizeof *more);
    list->n += n;
    return NOE_FIT_YES;
}

/* Division as terms do it: by zero there is no value. */
static noe_fit divide(noe_scheme *s, noe_poly x, noe_poly y, noe_poly *out)
{
    int64_t i;
    if (noe_poly_is_int(s->a->terms, y, &i)) {
        if (i == 0)
            return NOE_FIT_NO;
        if (i < 0)
            return unknown(s, "division by a negative number");
    } else if (!noe_poly_is_natural(s->a->terms, y)) {
        return unknown(s, "division by what may be negative");
    }
    FIT(add_fact(s, noe_formula_ge(s->a->terms, y, noe_poly_int(s->a->terms, 1))));
    *out = noe_poly_div(s->a->terms, x, y);
    return NOE_FIT_YES;
}

static noe_fit arithmetic(noe_scheme *s, noe_term_kind kind, noe_poly x, noe_poly y,
                          noe_poly *out)
{
    noe_terms *t = s->a->terms;
    switch ((int)kind) {
    case NOE_TERM_ADD:
        *out = noe_poly_add(t, x, y);
        return NOE_FIT_YES;
    case NOE_TERM_SUB:
        *out = noe_poly_sub(t, x, y);
        return NOE_FIT_YES;
    case NOE_TERM_MUL:
        *out = noe_poly_mul(t, x, y);
        return NOE_FIT_YES;
    case NOE_TERM_DIV:
        return divide(s, x, y, out);
    case NOE_TERM_MOD:
        FIT(divide(s, x, y, out));
        *out = noe_poly_sub(t, x, noe_poly_mul(t, y, *out));
        return NOE_FIT_YES;
    case NOE_TERM_MIN:
        *out = noe_poly_min(t, x, y);
        return NOE_FIT_YES;
    case NOE_TERM_MAX:
        *out = noe_poly_max(t, x, y);
        return NOE_FIT_YES;
    }
    return unknown(s, "a term without a definition here");
}

static bool is_real(const noe_symbolic *v)
{
    return v->kind == NOE_SYMBOLIC_REAL || v->kind == NOE_SYMBOLIC_REALS;
}

static noe_formula equal_values(noe_scheme *s, const noe_symbolic *x,
                                const noe_symbolic *y)
{
    noe_formula all = NOE_FORMULA_TRUE_ID;
    if (is_number(x) && is_number(y))
        return noe_formula_eq(s->a->terms, x->number, y->number);
    if (!is_list(x) || !is_list(y) || x->n != y->n)
        return NOE_FORMULA_FALSE_ID;
    for (int i = 0; i < x->n; i++)
        all = noe_formula_and(s->a->terms, all,
                              noe_formula_eq(s->a->terms, x->list[i], y->list[i]));
    return all;
}

static noe_fit eval(noe_scheme *s, uint16_t term, noe_symbolic *out);

static noe_fit eval_dim(noe_scheme *s, int var, const noe_symbolic *axis,
                        noe_symbolic *out)
{
    int64_t i;
    int rank = s->choice.rank[var];
    FIT(want_literal(s, axis, &i));
    i = i < 0 ? i + rank : i;
    if (i < 0 || i >= rank)
        return NOE_FIT_NO;
    *out = number_value(shape_dim(s, var, (int)i));
    return NOE_FIT_YES;
}

static noe_fit eval_leaf(noe_scheme *s, const noe_term *t, noe_symbolic *out)
{
    int rank = s->choice.rank[t->var];
    switch ((int)t->kind) {
    case NOE_TERM_INT:
        *out = number_value(noe_poly_int(s->a->terms, t->i));
        return NOE_FIT_YES;
    case NOE_TERM_FLOAT:
        *out = (noe_symbolic){.kind = NOE_SYMBOLIC_REAL, .real = t->f};
        return NOE_FIT_YES;
    case NOE_TERM_PVAR:
        return pvar_value(s, t->var, out);
    case NOE_TERM_RANK:
        *out = number_value(noe_poly_int(s->a->terms, rank));
        return NOE_FIT_YES;
    case NOE_TERM_SHAPE:
        *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST, .n = rank};
        for (int i = 0; i < rank; i++)
            out->list[i] = shape_dim(s, t->var, i);
        return NOE_FIT_YES;
    }
    return unknown(s, "a term without a definition here");
}

static noe_fit eval_list(noe_scheme *s, const noe_term *t, noe_symbolic *out)
{
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST};
    for (int i = 0; i < t->n_kids; i++) {
        noe_symbolic v;
        FIT(eval(s, t->kids[i], &v));
        if (v.kind == NOE_SYMBOLIC_ENTRIES)
            return unknown(s, "a list of indices of any length");
        if (!is_number(&v))
            return NOE_FIT_NO;
        FIT(append(out, 1, &v.number));
    }
    return NOE_FIT_YES;
}

static noe_fit eval_fold(noe_scheme *s, noe_term_kind kind, const noe_symbolic *list,
                         noe_symbolic *out)
{
    noe_poly p = noe_poly_int(s->a->terms,
                              kind == NOE_TERM_LEN ? list->n : kind == NOE_TERM_PROD);
    if (!is_list(list))
        return NOE_FIT_NO;
    for (int i = 0; i < list->n && kind != NOE_TERM_LEN; i++)
        p = kind == NOE_TERM_PROD ? noe_poly_mul(s->a->terms, p, list->list[i])
                                  : noe_poly_add(s->a->terms, p, list->list[i]);
    *out = number_value(p);
    return NOE_FIT_YES;
}

static noe_fit eval_at(noe_scheme *s, const noe_symbolic *list, const noe_symbolic *at,
                       noe_symbolic *out)
{
    noe_symbolic places = *at;
    if (!is_list(list))
        return NOE_FIT_NO;
    if (is_number(at)) {
        places.list[0] = at->number;
        places.n = 1;
    }
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST, .n = places.n};
    for (int k = 0; k < places.n; k++) {
        int64_t i;
        noe_symbolic place = number_value(places.list[k]);
        FIT(want_literal(s, &place, &i));
        i = i < 0 ? i + list->n : i;
        if (i < 0 || i >= list->n)
            return NOE_FIT_NO;
        out->list[k] = list->list[i];
    }
    if (is_number(at))
        *out = number_value(out->list[0]);
    return NOE_FIT_YES;
}

/* without(list, axes) and with_ones(list, axes). */
static noe_fit eval_axes(noe_scheme *s, bool insert, const noe_symbolic *list,
                         const noe_symbolic *axes, noe_symbolic *out)
{
    bool chosen[NOE_MAX_LIST] = {0};
    int next = 0;
    noe_poly one = noe_poly_int(s->a->terms, 1);
    if (!is_list(list) || !is_list(axes))
        return NOE_FIT_NO;
    int n = insert ? list->n + axes->n : list->n;
    if (n > NOE_MAX_LIST)
        return NOE_FIT_NO;
    for (int k = 0; k < axes->n; k++) {
        int64_t i;
        noe_symbolic axis = number_value(axes->list[k]);
        FIT(want_literal(s, &axis, &i));
        if (i < 0 || i >= n || chosen[i])
            return NOE_FIT_NO;
        chosen[i] = true;
    }
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST};
    for (int i = 0; i < n; i++) {
        if (insert || !chosen[i])
            FIT(append(out, 1,
                       insert && chosen[i] ? &one : &list->list[insert ? next++ : i]));
    }
    return NOE_FIT_YES;
}

static noe_fit eval_list_pair(noe_scheme *s, const noe_term *t, const noe_symbolic *x,
                              const noe_symbolic *y, noe_symbolic *out)
{
    int64_t n;
    switch ((int)t->kind) {
    case NOE_TERM_CAT:
        if (!is_list(x) || !is_list(y))
            return NOE_FIT_NO;
        *out = *x;
        out->is_stored = false;
        return append(out, y->n, y->list);
    case NOE_TERM_REP:
        if (!is_number(x))
            return NOE_FIT_NO;
        FIT(want_literal(s, y, &n));
        *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST};
        if (n < 0)
            return NOE_FIT_NO;
        for (int64_t i = 0; i < n; i++)
            FIT(append(out, 1, &x->number));
        return NOE_FIT_YES;
    case NOE_TERM_TAKE:
    case NOE_TERM_SKIP:
        if (!is_list(x))
            return NOE_FIT_NO;
        FIT(want_literal(s, y, &n));
        if (n < 0 || n > x->n)
            return NOE_FIT_NO;
        *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST};
        return t->kind == NOE_TERM_TAKE ? append(out, (int)n, x->list)
                                        : append(out, x->n - (int)n, x->list + n);
    case NOE_TERM_WITHOUT:
    case NOE_TERM_WITH_ONES:
        return eval_axes(s, t->kind == NOE_TERM_WITH_ONES, x, y, out);
    default:
        return eval_at(s, x, y, out);
    }
}

/* Truth values are the numbers 0 and 1, and the other way round. */
static noe_fit to_number(noe_scheme *s, noe_symbolic *v)
{
    if (v->kind != NOE_SYMBOLIC_TRUTH)
        return NOE_FIT_YES;
    if (v->truth != NOE_FORMULA_TRUE_ID && v->truth != NOE_FORMULA_FALSE_ID)
        return unknown(s, "a condition is used as a number");
    *v = number_value(noe_poly_int(s->a->terms, v->truth == NOE_FORMULA_TRUE_ID));
    return NOE_FIT_YES;
}

static noe_fit to_truth(noe_scheme *s, noe_symbolic *v)
{
    noe_terms *t = s->a->terms;
    if (is_number(v))
        *v = truth_value(
            noe_formula_not(t, noe_formula_eq(t, v->number, noe_poly_int(t, 0))));
    return v->kind == NOE_SYMBOLIC_TRUTH ? NOE_FIT_YES : NOE_FIT_NO;
}

static noe_fit eval_has(noe_scheme *s, const noe_symbolic *list, const noe_symbolic *v,
                        noe_symbolic *out)
{
    noe_formula some = NOE_FORMULA_FALSE_ID;
    if (!is_list(list) || !is_number(v))
        return NOE_FIT_NO;
    for (int i = 0; i < list->n; i++)
        some = noe_formula_or(s->a->terms, some,
                              noe_formula_eq(s->a->terms, list->list[i], v->number));
    *out = truth_value(some);
    return NOE_FIT_YES;
}

static noe_fit eval_range(noe_scheme *s, const noe_symbolic *n, noe_symbolic *out)
{
    int64_t count;
    FIT(want_literal(s, n, &count));
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST};
    if (count < 0)
        return NOE_FIT_NO;
    for (int64_t i = 0; i < count; i++) {
        noe_poly p = noe_poly_int(s->a->terms, i);
        FIT(append(out, 1, &p));
    }
    return NOE_FIT_YES;
}

static noe_fit eval_pair(noe_scheme *s, const noe_term *t, noe_symbolic *x,
                         noe_symbolic *y, noe_symbolic *out)
{
    noe_terms *terms = s->a->terms;
    noe_poly one = noe_poly_int(terms, 1);
    bool of_truths = t->kind == NOE_TERM_AND || t->kind == NOE_TERM_OR;
    FIT(of_truths ? to_truth(s, x) : to_number(s, x));
    FIT(of_truths ? to_truth(s, y) : to_number(s, y));
    if (is_real(x) || is_real(y))
        return unknown(s, "a condition on real numbers");
    switch ((int)t->kind) {
    case NOE_TERM_HAS:
        return eval_has(s, x, y, out);
    case NOE_TERM_EQ:
        *out = truth_value(equal_values(s, x, y));
        return NOE_FIT_YES;
    case NOE_TERM_NE:
        *out = truth_value(noe_formula_not(terms, equal_values(s, x, y)));
        return NOE_FIT_YES;
    case NOE_TERM_LT:
    case NOE_TERM_LE:
        if (!is_number(x) || !is_number(y))
            return NOE_FIT_NO;
        *out = truth_value(noe_formula_ge(
            terms, y->number,
            t->kind == NOE_TERM_LE ? x->number : noe_poly_add(terms, x->number, one)));
        return NOE_FIT_YES;
    case NOE_TERM_AND:
    case NOE_TERM_OR:
        *out = truth_value(t->kind == NOE_TERM_AND
                               ? noe_formula_and(terms, x->truth, y->truth)
                               : noe_formula_or(terms, x->truth, y->truth));
        return NOE_FIT_YES;
    }
    if (t->kind < NOE_TERM_ADD)
        return eval_list_pair(s, t, x, y, out);
    if (is_number(x) && is_number(y)) {
        *out = number_value(0);
        return arithmetic(s, t->kind, x->number, y->number, &out->number);
    }
    if (!is_list(x) || !is_list(y) || x->n != y->n)
        return NOE_FIT_NO;
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_LIST, .n = x->n};
    for (int i = 0; i < x->n; i++)
        FIT(arithmetic(s, t->kind, x->list[i], y->list[i], &out->list[i]));
    return NOE_FIT_YES;
}

/* Lists of any length */

static bool is_entries(const noe_symbolic *v)
{
    return v->kind == NOE_SYMBOLIC_ENTRIES;
}

static const noe_entries *as_entries(noe_scheme *s, const noe_symbolic *v)
{
    if (is_entries(v))
        return v->entries;
    noe_entries *e = NOE_NEW_N(s->a->arena, noe_entries, 1);
    *e = (noe_entries){.kind = NOE_ENTRIES_WRITTEN, .n = v->n};
    e->length = noe_poly_int(s->a->terms, v->n);
    e->entry = noe_arena_memdup(s->a->arena, v->list, (size_t)v->n * sizeof *e->entry);
    return e;
}

/* Their length, and x ++ y and at(x, y): anything else is not known. */
static noe_fit eval_entries(noe_scheme *s, const noe_term *t, const noe_symbolic *x,
                            const noe_symbolic *y, noe_symbolic *out)
{
    if (t->kind == NOE_TERM_LEN) {
        *out = number_value(x->entries->length);
        return NOE_FIT_YES;
    }
    bool lists = y && (is_entries(x) || is_list(x)) && (is_entries(y) || is_list(y));
    if (!lists || (t->kind != NOE_TERM_CAT && t->kind != NOE_TERM_AT))
        return unknown(s, "a list of indices of any length");
    noe_entries *e = NOE_NEW_N(s->a->arena, noe_entries, 1);
    *e = (noe_entries){.kind =
                           t->kind == NOE_TERM_CAT ? NOE_ENTRIES_CAT : NOE_ENTRIES_AT,
                       .x = as_entries(s, x),
                       .y = as_entries(s, y)};
    e->length = e->kind == NOE_ENTRIES_AT
                    ? e->y->length
                    : noe_poly_add(s->a->terms, e->x->length, e->y->length);
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_ENTRIES, .entries = e};
    return NOE_FIT_YES;
}

static noe_fit eval(noe_scheme *s, uint16_t term, noe_symbolic *out)
{
    const noe_term *t = &s->rule->terms[term];
    noe_symbolic x, y;
    if (t->kind == NOE_TERM_LIST)
        return eval_list(s, t, out);
    if (t->n_kids == 0)
        return eval_leaf(s, t, out);
    FIT(eval(s, t->kids[0], &x));
    if (t->n_kids == 1 && is_entries(&x))
        return eval_entries(s, t, &x, NULL, out);
    switch ((int)t->kind) {
    case NOE_TERM_DIM:
        return eval_dim(s, t->var, &x, out);
    case NOE_TERM_LEN:
    case NOE_TERM_PROD:
    case NOE_TERM_SUM:
        return eval_fold(s, t->kind, &x, out);
    case NOE_TERM_RANGE:
        return eval_range(s, &x, out);
    case NOE_TERM_NOT:
        FIT(to_truth(s, &x));
        *out = truth_value(noe_formula_not(s->a->terms, x.truth));
        return NOE_FIT_YES;
    }
    FIT(eval(s, t->kids[1], &y));
    if (is_entries(&x) || is_entries(&y))
        return eval_entries(s, t, &x, &y, out);
    return eval_pair(s, t, &x, &y, out);
}

/* Nodes */

static int open_in_term(const noe_scheme *s, uint16_t term)
{
    const noe_term *t = &s->rule->terms[term];
    if (t->kind == NOE_TERM_PVAR)
        return s->choice.pvar[t->var].made ? -1 : t->var;
    for (int i = 0; i < t->n_kids; i++) {
        int p = open_in_term(s, t->kids[i]);
        if (p >= 0)
            return p;
    }
    return -1;
}

int noe_scheme_open_pvar(const noe_scheme *s, int node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    for (int i = 0; !p->is_var && i < noe_op_get(p->op)->n_params; i++) {
        int open = p->params[i] == NOE_TERM_ABSENT ? -1 : open_in_term(s, p->params[i]);
        if (open >= 0)
            return open;
    }
    return -1;
}

static int open_var_in_term(const noe_scheme *s, uint16_t term)
{
    const noe_term *t = &s->rule->terms[term];
    if ((t->kind == NOE_TERM_DIM || t->kind == NOE_TERM_RANK ||
         t->kind == NOE_TERM_SHAPE) &&
        s->choice.rank[t->var] < 0)
        return t->var;
    for (int i = 0; i < t->n_kids; i++) {
        int v = open_var_in_term(s, t->kids[i]);
        if (v >= 0)
            return v;
    }
    return -1;
}

int noe_scheme_open_var(const noe_scheme *s, int node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    if (p->is_var)
        return s->choice.rank[p->var] < 0 ? p->var : -1;
    for (int i = 0; i < noe_op_get(p->op)->n_params; i++) {
        int open =
            p->params[i] == NOE_TERM_ABSENT ? -1 : open_var_in_term(s, p->params[i]);
        if (open >= 0)
            return open;
    }
    return -1;
}

static noe_fit default_value(noe_scheme *s, noe_op op, noe_param param, int rank,
                             noe_symbolic *out)
{
    noe_value v;
    if (!noe_param_default(op, param, rank > 2 ? rank - 2 : 0, &v))
        return NOE_FIT_NO;
    *out = (noe_symbolic){.kind = NOE_SYMBOLIC_NUMBER};
    if (v.kind == NOE_KIND_FLOAT) {
        out->kind = NOE_SYMBOLIC_REAL;
        out->real = v.f;
    } else if (v.kind == NOE_KIND_AXES || v.kind == NOE_KIND_INTS) {
        out->kind = NOE_SYMBOLIC_LIST;
        out->n = v.n;
        for (int i = 0; i < v.n; i++)
            out->list[i] = noe_poly_int(s->a->terms, v.list[i]);
    } else {
        out->number = noe_poly_int(s->a->terms, v.i);
    }
    return NOE_FIT_YES;
}

static bool kind_fits(noe_param_kind kind, noe_symbolic *v)
{
    if (kind == NOE_KIND_AXES || kind == NOE_KIND_INTS)
        return is_list(v);
    return kind == NOE_KIND_FLOAT
               ? v->kind == NOE_SYMBOLIC_REAL || v->kind == NOE_SYMBOLIC_REALS
               : is_number(v);
}

static noe_fit node_params(noe_scheme *s, int node, int rank)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    const noe_op_info *info = noe_op_get(p->op);
    for (int i = 0; i < info->n_params; i++) {
        noe_symbolic *v = &s->param[node][i];
        if (p->params[i] == NOE_TERM_ABSENT) {
            FIT(default_value(s, p->op, info->params[i], rank, v));
        } else {
            const noe_term *t = &s->rule->terms[p->params[i]];
            int64_t literal;
            FIT(eval(s, p->params[i], v));
            v->is_stored = s->stored && s->is_left[node] && t->kind == NOE_TERM_PVAR;
            if (noe_param_kind_of(info->params[i]) == NOE_KIND_FLOAT && is_number(v)) {
                FIT(want_literal(s, v, &literal));
                *v = (noe_symbolic){.kind = NOE_SYMBOLIC_REAL, .real = (double)literal};
            }
        }
        if (is_entries(v) && info->params[i] != NOE_PARAM_INDICES)
            return unknown(s, "a list of indices of any length");
        if (!is_entries(v) && !kind_fits(noe_param_kind_of(info->params[i]), v))
            return NOE_FIT_NO;
    }
    return NOE_FIT_YES;
}

static noe_index_call make_call(noe_scheme *s, int node, noe_dims *in)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    for (int k = 0; k < p->n_inputs; k++)
        in[k] = s->type[p->inputs[k]];
    return (noe_index_call){.a = s->a,
                            .op = p->op,
                            .in = in,
                            .n_in = p->n_inputs,
                            .params = s->param[node],
                            .out = s->type[node],
                            .aux = s->aux[node]};
}

noe_fit noe_scheme_type(noe_scheme *s, int node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    noe_dims in[NOE_RULE_MAX_INPUTS];
    noe_terms *t = s->a->terms;
    if (p->is_var) {
        s->type[node].rank = s->choice.rank[p->var];
        for (int i = 0; i < s->type[node].rank; i++) {
            s->type[node].dim[i] = shape_dim(s, p->var, i);
            FIT(add_fact(s,
                         noe_formula_ge(t, s->type[node].dim[i], noe_poly_int(t, 0))));
        }
        return NOE_FIT_YES;
    }
    if (!noe_index_of(p->op)->type)
        return unknown(s, "an operator without an index definition");
    for (int k = 0; k < NOE_INDEX_AUX && !s->has_aux[node]; k++)
        s->aux[node][k] = noe_terms_symbol(t, true);
    s->has_aux[node] = true;
    for (int k = 0; k < NOE_INDEX_AUX; k++)
        FIT(add_fact(s, noe_formula_ge(t, noe_poly_symbol(t, s->aux[node][k]),
                                       noe_poly_int(t, 0))));
    noe_index_call c = make_call(s, node, in);
    FIT(node_params(s, node, p->n_inputs ? in[0].rank : 0));
    c.emit = emit_fact;
    c.ctx = s;
    noe_fit fit = noe_index_of(p->op)->type(&c);
    if (fit == NOE_FIT_UNKNOWN)
        s->reason = c.reason;
    if (fit == NOE_FIT_YES && c.out.rank > NOE_MAX_RANK)
        return NOE_FIT_NO;
    s->type[node] = c.out;
    return fit;
}

noe_fit noe_scheme_conclude(noe_scheme *s)
{
    const noe_rule *r = s->rule;
    for (int i = 0; i < r->n_roots; i++) {
        const noe_dims *x = &s->type[r->lhs[i]], *y = &s->type[r->rhs[i]];
        if (x->rank != y->rank)
            return NOE_FIT_NO;
        for (int k = 0; k < x->rank; k++)
            FIT(add_fact(s, noe_formula_eq(s->a->terms, x->dim[k], y->dim[k])));
    }
    if (r->where == NOE_TERM_ABSENT)
        return NOE_FIT_YES;
    noe_symbolic v;
    FIT(eval(s, r->where, &v));
    FIT(to_truth(s, &v));
    return add_fact(s, v.truth);
}

static bool is_false(noe_scheme *s, uint16_t term)
{
    const noe_term *t = &s->rule->terms[term];
    if (t->kind == NOE_TERM_AND)
        return is_false(s, t->kids[0]) || is_false(s, t->kids[1]);
    if (open_in_term(s, term) >= 0 || open_var_in_term(s, term) >= 0)
        return false;
    noe_symbolic v;
    int n_facts = s->n_facts;
    noe_fit fit = eval(s, term, &v);
    if (fit == NOE_FIT_YES)
        fit = to_truth(s, &v);
    s->n_facts = n_facts;
    return fit == NOE_FIT_NO || (fit == NOE_FIT_YES && v.kind == NOE_SYMBOLIC_TRUTH &&
                                 v.truth == NOE_FORMULA_FALSE_ID);
}

bool noe_scheme_contradicts(noe_scheme *s)
{
    return s->rule->where != NOE_TERM_ABSENT && is_false(s, s->rule->where);
}

/* Equations as definitions */

/* p = 0 as s = rest; natural: only if rest is >= 0 by its form. */
static bool define_by(noe_scheme *s, noe_poly p, bool natural)
{
    noe_terms *t = s->a->terms;
    for (noe_symbol x = noe_terms_n_symbols(t); x-- > 0;) {
        int64_t c = noe_poly_coef(t, p, x);
        if (c != 1 && c != -1)
            continue;
        noe_poly self = noe_poly_symbol(t, x);
        noe_poly rest = noe_poly_sub(t, p, noe_poly_scale(t, self, c));
        noe_poly value = noe_poly_scale(t, rest, -c);
        if (noe_poly_mentions(t, value, x) ||
            (natural && !noe_poly_is_natural(t, value)))
            continue;
        noe_symbol_define(t, x, value);
        return true;
    }
    return false;
}

/* A product of natural numbers is 1: each is. */
static noe_formula unit_product(noe_scheme *s, noe_poly p)
{
    int n;
    noe_terms *t = s->a->terms;
    noe_poly one = noe_poly_int(t, 1);
    noe_poly q = noe_poly_plus(t, p, 1);
    const noe_monomial *m = noe_poly_monomials(t, q, &n);
    noe_formula all = NOE_FORMULA_TRUE_ID;
    if (n != 1 || m[0].coef != 1 || m[0].product == 0 || !noe_poly_is_natural(t, q))
        return all;
    noe_product product = *noe_terms_product(t, m[0].product);
    for (uint32_t i = 0; product.n > 1 && i < product.n; i++) {
        const noe_atom *a = noe_terms_atom(t, product.atom[i]);
        if (a->kind == NOE_ATOM_SYMBOL)
            all = noe_formula_and(t, all,
                                  noe_formula_eq(t, noe_poly_symbol(t, a->a), one));
    }
    return all;
}

static bool is_positive(noe_scheme *s, uint32_t atom)
{
    noe_terms *t = s->a->terms;
    const noe_atom *a = noe_terms_atom(t, atom);
    if (a->kind != NOE_ATOM_SYMBOL)
        return false;
    noe_formula f = noe_formula_ge(t, noe_poly_symbol(t, a->a), noe_poly_int(t, 1));
    for (int i = 0; i < s->n_facts; i++) {
        if (s->fact[i] == f)
            return true;
    }
    return false;
}

/* p = 0 without a factor that all its monomials have and that is not 0. */
static noe_poly without_common_factor(noe_scheme *s, noe_poly p)
{
    int n;
    noe_terms *t = s->a->terms;
    const noe_monomial *m = noe_poly_monomials(t, p, &n);
    if (n < 2)
        return p;
    noe_product first = *noe_terms_product(t, m[0].product);
    for (uint32_t i = 0; i < first.n; i++) {
        const noe_atom *a = noe_terms_atom(t, first.atom[i]);
        noe_poly q;
        if (is_positive(s, first.atom[i]) &&
            noe_poly_divides(t, p, noe_poly_symbol(t, a->a), &q))
            return without_common_factor(s, q);
    }
    return p;
}

/* Definitions from the facts; false if they give none. */
static bool define_some(noe_scheme *s)
{
    noe_terms *t = s->a->terms;
    bool some = false;
    for (int natural = 1; natural >= 0 && !some; natural--) {
        for (int i = 0; i < s->n_facts; i++) {
            noe_formula_node n = *noe_terms_formula(t, s->fact[i]);
            if (n.kind != NOE_FORMULA_EQ)
                continue;
            /* In terms of what is not defined by now. */
            noe_poly p =
                without_common_factor(s, noe_poly_subst(t, n.a, 0, NULL, NULL));
            some |= define_by(s, p, natural);
            noe_formula units = unit_product(s, p);
            if (units != NOE_FORMULA_TRUE_ID)
                (void)add_fact(s, units);
        }
    }
    return some;
}

static noe_fit type_all(noe_scheme *s)
{
    s->n_facts = 0;
    for (int i = 0; i < s->rule->n_nodes; i++)
        FIT(noe_scheme_type(s, i));
    for (int p = 0; p < s->rule->n_pvars; p++) {
        const noe_choice *c = &s->choice.pvar[p];
        for (int i = 0; c->made && c->is_natural && !c->is_literal && i < c->n; i++)
            FIT(add_fact(s, noe_formula_ge(s->a->terms,
                                           noe_poly_symbol(s->a->terms, s->pvar[p][i]),
                                           noe_poly_int(s->a->terms, 0))));
    }
    return noe_scheme_conclude(s);
}

noe_fit noe_scheme_solve(noe_scheme *s)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        FIT(type_all(s));
        if (!define_some(s))
            return NOE_FIT_YES;
    }
    return type_all(s);
}

/* Elements */

typedef struct place {
    noe_scheme *s;
    int node;
} place;

static const noe_expr *operand(void *ctx, int i, const noe_poly *index)
{
    const place *p = ctx;
    return noe_scheme_element(p->s, p->s->rule->nodes[p->node].inputs[i], index);
}

const noe_expr *noe_scheme_element(noe_scheme *s, int node, const noe_poly *index)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    noe_dims in[NOE_RULE_MAX_INPUTS];
    place here = {s, node};
    if (p->is_var) {
        const noe_factor *f = noe_factor_read(s->a, p->var, s->type[node].rank, index);
        return noe_expr_of_sum(s->a, noe_sum_of_factor(s->a, f));
    }
    if (s->a->gave_up)
        return noe_expr_of_sum(s->a, noe_sum_make(s->a, 0, NULL));
    noe_index_call c = make_call(s, node, in);
    c.operand = operand;
    c.ctx = &here;
    return noe_index_of(p->op)->element(&c, index);
}
