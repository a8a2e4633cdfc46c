/* SPDX-License-Identifier: Apache-2.0
 *
 * Maxima of families. What families share (a summand, a scale, a monotone function)
 * goes outside; what is itself a maximum (relu, max, a maximum) makes more families: a
 * maximum of maxima is one over all of them.
 */
#include "verifier/lia_law_tools.h"

#define MAX_FAMILIES 16

static bool mentions_bound(const noe_algebra *a, const noe_family *m,
                           const noe_summand *s)
{
    for (int b = 0; b < m->n_bound; b++) {
        for (int i = 0; i < s->n_guards; i++) {
            if (noe_formula_mentions(a->terms, s->guard[i], m->bound[b]))
                return true;
        }
        for (int i = 0; i < s->n_factors; i++) {
            if (noe_factor_mentions(a, s->factor[i], m->bound[b]))
                return true;
        }
    }
    return false;
}

/* max(x + c) = max(x) + c: a summand that all families share and none varies. */
static const noe_summand *shared_summand(const noe_algebra *a, int n,
                                         const noe_family *m)
{
    for (int i = 0; i < m[0].arg->n; i++) {
        const noe_summand *s = m[0].arg->of[i];
        bool shared = true;
        for (int k = 0; k < n && shared; k++) {
            int j = 0;
            while (j < m[k].arg->n && !(noe_summand_same(a, m[k].arg->of[j], s) &&
                                        m[k].arg->of[j]->coef.num == s->coef.num &&
                                        m[k].arg->of[j]->coef.den == s->coef.den))
                j++;
            shared = j < m[k].arg->n && !mentions_bound(a, &m[k], s);
        }
        if (shared)
            return s;
    }
    return NULL;
}

static bool is_monotone(noe_op op)
{
    return op == NOE_OP_RELU || op == NOE_OP_EXP || op == NOE_OP_SIGMOID ||
           op == NOE_OP_SQRT;
}

/* The monotone function that every family's argument is, NOE_OP_COUNT if none. */
static noe_op shared_function(int n, const noe_family *m)
{
    noe_op op = NOE_OP_COUNT;
    for (int k = 0; k < n; k++) {
        const noe_factor *f = noe_sum_lone(m[k].arg);
        if (!f || f->kind != NOE_FACTOR_APPLY || !is_monotone((noe_op)f->id) ||
            (k > 0 && f->id != op))
            return NOE_OP_COUNT;
        op = (noe_op)f->id;
    }
    return op;
}

static const noe_family *map_families(noe_algebra *a, int n, const noe_family *m,
                                      const noe_summand *minus, noe_rational scale,
                                      bool argument)
{
    noe_family *out = noe_arena_memdup(a->arena, m, (size_t)n * sizeof *m);
    for (int k = 0; k < n; k++) {
        if (minus) {
            const noe_summand *s = noe_summand_scale(a, minus, (noe_rational){-1, 1});
            out[k].arg = noe_sum_add(a, m[k].arg, noe_sum_make(a, 1, &s));
        } else if (argument) {
            out[k].arg = noe_sum_lone(m[k].arg)->arg;
        } else {
            out[k].arg = noe_sum_scale(a, m[k].arg, scale);
        }
    }
    return out;
}

static bool is_plain(const noe_summand *s)
{
    return s->n_bound == 0 && s->n_guards == 0;
}

static const noe_sum *without(noe_algebra *a, const noe_sum *x, const noe_summand *s)
{
    const noe_summand *minus = noe_summand_scale(a, s, (noe_rational){-1, 1});
    return noe_sum_add(a, x, noe_sum_make(a, 1, &minus));
}

/* A summand c f, c > 0, whose factor f is a relu or a maximum; NULL: none. */
static const noe_summand *inner_maximum(const noe_sum *x)
{
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        if (is_plain(s) && s->coef.num > 0 && s->n_factors == 1 &&
            (noe_factor_is(s->factor[0], NOE_OP_RELU) ||
             s->factor[0]->kind == NOE_FACTOR_MAXIMUM))
            return s;
    }
    return NULL;
}

/* c relu(y) + r over a family: r, and c y + r. */
static int split_relu(noe_algebra *a, const noe_family *m, const noe_summand *s,
                      noe_family *out)
{
    out[0] = out[1] = *m;
    out[0].arg = without(a, m->arg, s);
    out[1].arg =
        noe_sum_add(a, out[0].arg, noe_sum_scale(a, s->factor[0]->arg, s->coef));
    return 2;
}

/* c max(...) + r over a family: over its families as well. */
static int split_maximum(noe_algebra *a, const noe_family *m, const noe_summand *s,
                         noe_family *out)
{
    const noe_factor *f = s->factor[0];
    const noe_sum *rest = without(a, m->arg, s);
    for (int i = 0; i < f->n; i++) {
        const noe_family *in = &f->family[i];
        int n_bound = m->n_bound + in->n_bound, n_guards = m->n_guards + in->n_guards;
        noe_symbol *bound =
            noe_arena_alloc(a->arena, (size_t)(n_bound + 1) * sizeof *bound);
        noe_formula *guard =
            noe_arena_alloc(a->arena, (size_t)(n_guards + 1) * sizeof *guard);
        noe_poly *with =
            noe_arena_alloc(a->arena, (size_t)(n_bound + 1) * sizeof *with);
        for (int b = 0; b < m->n_bound; b++)
            bound[b] = m->bound[b];
        for (int b = 0; b < in->n_bound; b++) {
            bound[m->n_bound + b] = noe_terms_bound_symbol(a->terms);
            with[b] = noe_poly_symbol(a->terms, bound[m->n_bound + b]);
        }
        for (int g = 0; g < m->n_guards; g++)
            guard[g] = m->guard[g];
        for (int g = 0; g < in->n_guards; g++)
            guard[m->n_guards + g] =
                noe_formula_subst(a->terms, in->guard[g], in->n_bound, in->bound, with);
        out[i] = (noe_family){.n_bound = n_bound,
                              .n_guards = noe_guards_tidy(guard, n_guards),
                              .bound = bound,
                              .guard = guard};
        const noe_sum *arg = noe_sum_subst(a, in->arg, in->n_bound, in->bound, with);
        out[i].arg = noe_sum_add(a, rest, noe_sum_scale(a, arg, s->coef));
    }
    return f->n;
}

static bool varies(const noe_algebra *a, const noe_family *m)
{
    for (int i = 0; i < m->arg->n; i++) {
        if (mentions_bound(a, m, m->arg->of[i]))
            return true;
    }
    return false;
}

/* Families of relu and of maxima taken apart; false: there are too many. A part that
 * does not vary stands once, where the only family there is must not be empty. */
static bool take_apart(noe_algebra *a, int *n, noe_family *m)
{
    bool only = *n == 1;
    for (int i = 0; i < *n && !a->gave_up; i++) {
        noe_family part[MAX_FAMILIES] = {{0}};
        const noe_summand *s = inner_maximum(m[i].arg);
        if (!s)
            continue;
        bool relu = noe_factor_is(s->factor[0], NOE_OP_RELU);
        if (*n + (relu ? 2 : s->factor[0]->n) - 1 > MAX_FAMILIES)
            return false;
        int k = relu ? split_relu(a, &m[i], s, part) : split_maximum(a, &m[i], s, part);
        for (int j = 0; relu && only && j < k; j++) {
            if (!varies(a, &part[j]))
                part[j].n_bound = part[j].n_guards = 0;
        }
        only = false;
        m[i] = part[0];
        for (int j = 1; j < k; j++)
            m[(*n)++] = part[j];
        i--;
    }
    return true;
}

/* A bound symbol that only its two bounds mention, between which there is a number. */
static bool drop_idle(noe_algebra *a, noe_family *m, int b)
{
    noe_symbol s = m->bound[b];
    noe_formula *rest =
        noe_arena_alloc(a->arena, (size_t)(m->n_guards + 1) * sizeof *rest);
    noe_poly sum = noe_poly_int(a->terms, 0);
    int n = 0, ends = 0;
    int64_t coefs = 0;
    for (int i = 0; i < m->n_guards; i++) {
        const noe_formula_node *g = noe_terms_formula(a->terms, m->guard[i]);
        if (!noe_formula_mentions(a->terms, m->guard[i], s)) {
            rest[n++] = m->guard[i];
            continue;
        }
        noe_poly p = g->a;
        if (g->kind != NOE_FORMULA_GE)
            return false;
        int64_t c = noe_poly_coef(a->terms, p, s);
        sum = noe_poly_add(a->terms, sum, p);
        coefs += c;
        if ((c != 1 && c != -1) || ++ends > 2)
            return false;
    }
    noe_formula some = noe_formula_ge(a->terms, sum, noe_poly_int(a->terms, 0));
    if (ends != 2 || coefs != 0 || noe_poly_mentions(a->terms, sum, s) ||
        some == NOE_FORMULA_FALSE_ID || !noe_query_implies(a->query, rest, n, some))
        return false;
    noe_symbol *bound =
        noe_arena_memdup(a->arena, m->bound, (size_t)m->n_bound * sizeof *bound);
    bound[b] = bound[--m->n_bound];
    m->bound = bound;
    m->guard = rest;
    m->n_guards = n;
    return true;
}

static void drop_idle_bounds(noe_algebra *a, noe_family *m)
{
    for (int b = 0; b < m->n_bound; b++) {
        noe_family one = *m;
        one.bound = m->bound + b;
        one.n_bound = 1;
        if (!varies(a, &one) && drop_idle(a, m, b))
            b = -1;
    }
}

/* Equal families, and empty ones, do not count. */
static int tidy(noe_algebra *a, int n, noe_family *m)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        bool gone = !noe_law_tidy_family(a, &m[i]);
        if (!gone)
            drop_idle_bounds(a, &m[i]);
        for (int j = 0; j < k && !gone; j++)
            gone = m[j].n_bound == 0 && m[i].n_bound == 0 && m[j].n_guards == 0 &&
                   m[i].n_guards == 0 && noe_sum_same(a, m[i].arg, m[j].arg);
        if (!gone)
            m[k++] = m[i];
    }
    return k;
}

/* x of relu(x + d), where rest is c x and d does not vary in the family; *c is set. */
static const noe_sum *bent_argument(noe_algebra *a, const noe_family *m,
                                    const noe_sum *arg, const noe_sum *rest,
                                    noe_rational *c)
{
    for (int i = 0; i < arg->n; i++) {
        const noe_summand *s = arg->of[i];
        if (!noe_summand_same(a, s, rest->of[0]))
            continue;
        *c = noe_rational_mul(a, rest->of[0]->coef, noe_rational_inverse(a, s->coef));
        const noe_sum *x = noe_sum_scale(a, rest, noe_rational_inverse(a, *c));
        noe_family bias = *m;
        bias.arg = noe_sum_add(a, arg, noe_sum_negated(a, x));
        return varies(a, &bias) ? NULL : x;
    }
    return NULL;
}

/* c x + b relu(x + d), as for leaky_relu or min with what does not vary: the function
 * of the maximum if it grows. */
static const noe_sum *of_growing_function(noe_algebra *a, int n, const noe_family *m)
{
    noe_rational slope = {0, 1}, bend = {0, 1}, c;
    const noe_sum *bias = NULL;
    noe_family *out = noe_arena_memdup(a->arena, m, (size_t)n * sizeof *m);
    for (int k = 0; k < n; k++) {
        const noe_summand *s = NULL;
        for (int i = 0; i < m[k].arg->n; i++) {
            const noe_summand *x = m[k].arg->of[i];
            if (is_plain(x) && x->n_factors == 1 &&
                noe_factor_is(x->factor[0], NOE_OP_RELU))
                s = x;
        }
        const noe_sum *rest = s ? without(a, m[k].arg, s) : NULL;
        const noe_sum *x = s && rest->n > 0
                               ? bent_argument(a, &m[k], s->factor[0]->arg, rest, &c)
                               : NULL;
        if (!x)
            return NULL;
        const noe_sum *d = noe_sum_add(a, s->factor[0]->arg, noe_sum_negated(a, x));
        if (k == 0)
            slope = c, bend = s->coef, bias = d;
        if (c.num <= 0 || noe_rational_add(a, c, s->coef).num < 0 ||
            c.num != slope.num || c.den != slope.den || s->coef.num != bend.num ||
            s->coef.den != bend.den || !noe_sum_same(a, bias, d))
            return NULL;
        out[k].arg = x;
    }
    const noe_sum *top = noe_law_maximum(a, n, out);
    noe_law_use(a, NOE_LAW_ORDER);
    return noe_sum_add(
        a, noe_sum_scale(a, top, slope),
        noe_sum_scale(a, noe_law_apply(a, NOE_OP_RELU, noe_sum_add(a, top, bias)),
                      bend));
}

static const noe_sum *by_choice(noe_algebra *a, int n, const noe_family *m)
{
    const noe_factor *f = NULL;
    for (int k = 0; k < n && !f; k++) {
        f = noe_law_choice_in(a, m[k].arg);
        for (int b = 0; f && b < m[k].n_bound; b++) {
            if (noe_factor_mentions(a, f, m[k].bound[b]))
                f = NULL;
        }
    }
    if (!f)
        return NULL;
    noe_family *x = noe_arena_memdup(a->arena, m, (size_t)n * sizeof *m);
    noe_family *y = noe_arena_memdup(a->arena, m, (size_t)n * sizeof *m);
    for (int k = 0; k < n; k++) {
        x[k].arg = noe_law_with_one(a, m[k].arg, f);
        y[k].arg = noe_law_with_zero(a, m[k].arg, f);
    }
    noe_law_use(a, NOE_LAW_CHOICE);
    return noe_law_choose(a, f, noe_law_maximum(a, n, x), noe_law_maximum(a, n, y));
}

/* max(c x) = c max(x), c > 0 */
static const noe_sum *of_multiple(noe_algebra *a, int n, const noe_family *m)
{
    bool one_scale = true;
    for (int k = 0; k < n; k++) {
        const noe_sum *x = m[k].arg;
        one_scale &= x->n == 1 && m[0].arg->n == 1 && x->of[0]->coef.num > 0 &&
                     x->of[0]->coef.num == m[0].arg->of[0]->coef.num &&
                     x->of[0]->coef.den == m[0].arg->of[0]->coef.den;
    }
    noe_rational scale = one_scale ? m[0].arg->of[0]->coef : noe_rational_one;
    if (scale.num == 1 && scale.den == 1)
        return NULL;
    const noe_family *out =
        map_families(a, n, m, NULL, noe_rational_inverse(a, scale), false);
    return noe_sum_scale(a, noe_law_maximum(a, n, out), scale);
}

/* max(x, y) = x + relu(y - x) */
static const noe_sum *of_elements(noe_algebra *a, int n, const noe_family *m)
{
    const noe_sum *top = m[0].arg;
    for (int k = 1; k < n; k++) {
        const noe_sum *more = noe_sum_add(a, m[k].arg, noe_sum_negated(a, top));
        top = noe_sum_add(a, top, noe_law_apply(a, NOE_OP_RELU, more));
    }
    return top;
}

const noe_sum *noe_law_maximum(noe_algebra *a, int n, const noe_family *given)
{
    noe_family m[MAX_FAMILIES];
    noe_law_use(a, NOE_LAW_MAXIMUM);
    if (n == 0 || n > MAX_FAMILIES)
        noe_algebra_give_up(a, n ? "too many families" : "a maximum over nothing");
    if (a->gave_up)
        return noe_sum_zero(a);
    memcpy(m, given, (size_t)n * sizeof *m);
    const noe_sum *chosen = by_choice(a, n, m);
    if (chosen)
        return chosen;
    const noe_sum *grown = of_growing_function(a, n, m);
    if (grown)
        return grown;
    if (!take_apart(a, &n, m))
        noe_algebra_give_up(a, "too many families");
    n = tidy(a, n, m);
    if (n == 0)
        noe_algebra_give_up(a, "a maximum over nothing");
    if (a->gave_up)
        return noe_sum_zero(a);
    if (n == 1 && m[0].n_bound == 0) /* and it is not empty */
        return m[0].arg;
    const noe_summand *shared = shared_summand(a, n, m);
    if (shared)
        return noe_sum_add(
            a, noe_sum_make(a, 1, &shared),
            noe_law_maximum(a, n,
                            map_families(a, n, m, shared, noe_rational_one, false)));
    noe_op op = shared_function(n, m);
    if (op != NOE_OP_COUNT)
        return noe_law_apply(
            a, op,
            noe_law_maximum(a, n, map_families(a, n, m, NULL, noe_rational_one, true)));
    bool all_zero = true;
    for (int k = 0; k < n; k++)
        all_zero &= m[k].arg->n == 0;
    if (all_zero)
        return noe_sum_zero(a);
    const noe_sum *multiple = of_multiple(a, n, m);
    if (multiple)
        return multiple;
    bool all_single = true;
    for (int k = 0; k < n; k++)
        all_single &= m[k].n_bound == 0 && m[k].n_guards == 0;
    return all_single ? of_elements(a, n, m)
                      : noe_sum_of_factor(a, noe_factor_maximum(a, n, m));
}

/* relu(c M + r) = c max(M, -r / c) + r and relu(r - c M) = c max(M, r / c) - c M, for
 * c > 0. */
const noe_sum *noe_law_relu_of_maximum(noe_algebra *a, const noe_sum *x)
{
    const noe_summand *s = NULL;
    for (int i = 0; i < x->n && !s; i++) {
        const noe_summand *y = x->of[i];
        if (is_plain(y) && y->n_factors == 1 &&
            y->factor[0]->kind == NOE_FACTOR_MAXIMUM && y->factor[0]->n < MAX_FAMILIES)
            s = y;
    }
    if (!s)
        return NULL;
    const noe_factor *f = s->factor[0];
    const noe_sum *rest = without(a, x, s);
    bool below = s->coef.num < 0;
    noe_rational c = {below ? -s->coef.num : s->coef.num, s->coef.den};
    noe_rational by = noe_rational_inverse(a, c);
    noe_family m[MAX_FAMILIES];
    memcpy(m, f->family, (size_t)f->n * sizeof *m);
    m[f->n] = (noe_family){.arg = noe_sum_scale(a, rest, by)};
    if (!below)
        m[f->n].arg = noe_sum_negated(a, m[f->n].arg);
    const noe_sum *top = noe_sum_scale(a, noe_law_maximum(a, f->n + 1, m), c);
    const noe_sum *M = noe_sum_make(a, 1, &s); /* with its sign */
    noe_law_use(a, NOE_LAW_ORDER);
    return noe_sum_add(a, top, below ? M : rest);
}
