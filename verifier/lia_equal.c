/* SPDX-License-Identifier: Apache-2.0
 *
 * x - y is split into classes of summands that are the same but for guards, once their
 * bound symbols are matched: summand m belongs to the class of r if an affine bijection
 * with integer coefficients and determinant +-1 takes r's bound symbols to m's such
 * that, where m's guards hold, each factor of m equals one of r. Then, where m's guards
 * hold, m is its coefficient times r's factors. The sum over a class is 0 if, at every
 * point, the coefficients of the summands whose guards hold there add up to 0: that is
 * a question of linear arithmetic. How the bijection is found does not matter; that it
 * is one, and that factors are equal, is proved.
 */
#include "verifier/lia_equal.h"
#include <stdlib.h>

#define MAX_BOUND        16
#define MAX_FACTORS      12
#define MAX_GUARDS       128
#define MAX_ITEMS        128
#define MAX_EQUATIONS    96
#define MAX_DENOMINATORS 4
#define MAX_KNOWN        16
#define MAX_ROUNDS       4
#define MAX_SIGNS        7
#define MAX_SPLITS       4 /* cases of cases */

#define MAX_SCOPE 64

/* What is known where elements are compared. */
typedef struct context {
    int n, n_scope;
    noe_formula f[MAX_GUARDS];
    noe_symbol scope[MAX_SCOPE]; /* bound outside: free here */
} context;

static bool add_guards(noe_algebra *a, context *c, int n, const noe_formula *f)
{
    if (c->n + n > MAX_GUARDS) {
        noe_algebra_give_up(a, "too many guards");
        return false;
    }
    for (int i = 0; i < n; i++) {
        bool known = f[i] == NOE_FORMULA_TRUE_ID;
        for (int k = 0; k < c->n && !known; k++)
            known = c->f[k] == f[i];
        if (!known)
            c->f[c->n++] = f[i];
    }
    return true;
}

static bool sums_equal(noe_algebra *a, const noe_sum *x, const noe_sum *y,
                       const context *c, noe_buf *why);

/* Factors */

static bool reads_equal(noe_algebra *a, const noe_factor *f, const noe_factor *g,
                        const context *c)
{
    for (int i = 0; i < f->n; i++) {
        noe_formula same = noe_formula_eq(a->terms, f->index[i], g->index[i]);
        if (!noe_query_implies(a->query, c->f, c->n, same))
            return false;
    }
    return true;
}

static bool family_is_empty(noe_algebra *a, const noe_family *m, const context *c)
{
    context inside = *c;
    return add_guards(a, &inside, m->n_guards, m->guard) && inside.n > c->n &&
           noe_query_refutes(a->query, inside.f, inside.n);
}

static bool values_within(noe_algebra *a, const noe_family *x, const noe_factor *g,
                          const context *c);

/* Each value of one is one of the other, and the other way round. */
static bool maxima_equal(noe_algebra *a, const noe_factor *f, const noe_factor *g,
                         const context *c)
{
    for (int side = 0; side < 2; side++) {
        const noe_factor *x = side ? g : f, *y = side ? f : g;
        for (int i = 0; i < x->n; i++) {
            if (!values_within(a, &x->family[i], y, c) &&
                !family_is_empty(a, &x->family[i], c))
                return false;
        }
    }
    return !a->gave_up;
}

static bool factors_equal(noe_algebra *a, const noe_factor *f, const noe_factor *g,
                          const context *c)
{
    if (noe_factor_same(a, f, g))
        return true;
    switch (f->kind) {
    case NOE_FACTOR_READ:
        return reads_equal(a, f, g, c);
    case NOE_FACTOR_CONSTANT:
        return false;
    case NOE_FACTOR_COUNT:
        return noe_query_implies(a->query, c->f, c->n,
                                 noe_formula_eq(a->terms, f->count, g->count));
    case NOE_FACTOR_APPLY:
        return sums_equal(a, f->arg, g->arg, c, NULL);
    case NOE_FACTOR_MAXIMUM:
        return maxima_equal(a, f, g, c);
    }
    return false;
}

static bool alike(const noe_factor *f, const noe_factor *g)
{
    return f->kind == g->kind && f->id == g->id &&
           (f->kind != NOE_FACTOR_READ || f->n == g->n);
}

/* Equations between indices of matched factors: guesses for the bijection. */

typedef struct equations {
    int n;
    noe_poly p[MAX_EQUATIONS]; /* = 0 */
} equations;

/* A clamped index is guessed to be the index. */
static noe_poly unclamped(noe_algebra *a, noe_poly p)
{
    const noe_atom *atom = noe_poly_is_atom(a->terms, p);
    return atom && atom->kind == NOE_ATOM_CLAMP ? unclamped(a, atom->b) : p;
}

static void guess_indices(noe_algebra *a, equations *e, const noe_factor *f,
                          const noe_factor *g)
{
    for (int i = 0; i < f->n && e->n < MAX_EQUATIONS; i++)
        e->p[e->n++] = noe_poly_sub(a->terms, unclamped(a, f->index[i]),
                                    unclamped(a, g->index[i]));
}

static void guess_from(noe_algebra *a, equations *e, const noe_factor *f,
                       const noe_factor *g, int depth);

/* Reads inside the arguments, paired in order. */
static void guess_sums(noe_algebra *a, equations *e, const noe_sum *x, const noe_sum *y,
                       int depth)
{
    for (int i = 0; i < x->n && depth < 8; i++) {
        for (int j = 0; j < y->n; j++) {
            const noe_summand *s = x->of[i], *t = y->of[j];
            if (s->shape != t->shape)
                continue;
            for (int k = 0; k < s->n_factors && k < t->n_factors; k++) {
                for (int l = 0; l < t->n_factors; l++) {
                    if (s->factor[k]->shape == t->factor[l]->shape) {
                        guess_from(a, e, s->factor[k], t->factor[l], depth + 1);
                        break;
                    }
                }
            }
            break;
        }
    }
}

static void guess_from(noe_algebra *a, equations *e, const noe_factor *f,
                       const noe_factor *g, int depth)
{
    if (!alike(f, g))
        return;
    if (f->kind == NOE_FACTOR_READ)
        guess_indices(a, e, f, g);
    else if (f->kind == NOE_FACTOR_COUNT && e->n < MAX_EQUATIONS)
        e->p[e->n++] = noe_poly_sub(a->terms, f->count, g->count);
    else if (f->kind == NOE_FACTOR_APPLY)
        guess_sums(a, e, f->arg, g->arg, depth);
    for (int i = 0; f->kind == NOE_FACTOR_MAXIMUM && i < f->n && i < g->n; i++)
        guess_sums(a, e, f->family[i].arg, g->family[i].arg, depth);
}

/* The bijection: m's bound symbol i is value[i], a term over r's. */

typedef struct alignment {
    const noe_summand *r, *m;
    bool known[MAX_BOUND];
    noe_poly value[MAX_BOUND];
} alignment;

/* p speaks of r's bound symbols and of what is free in both summands only: not of
 * symbols bound inside some argument. */
static bool is_expressible(noe_algebra *a, const alignment *al, const context *c,
                           noe_poly p)
{
    for (uint32_t s = 0; s < noe_terms_n_symbols(a->terms); s++) {
        if (!noe_symbol_is_bound(a->terms, s) || !noe_poly_mentions(a->terms, p, s))
            continue;
        bool known = false;
        for (int i = 0; i < al->r->n_bound; i++)
            known |= al->r->bound[i] == s;
        for (int i = 0; i < c->n_scope; i++)
            known |= c->scope[i] == s;
        if (!known)
            return false;
    }
    return true;
}

static bool solve_one(noe_algebra *a, alignment *al, noe_poly p)
{
    noe_symbol from[MAX_BOUND];
    noe_poly with[MAX_BOUND];
    int n = 0, unknown = -1, count = 0;
    for (int i = 0; i < al->m->n_bound; i++) {
        if (al->known[i]) {
            from[n] = al->m->bound[i];
            with[n++] = al->value[i];
        }
    }
    p = noe_poly_subst(a->terms, p, n, from, with);
    for (int i = 0; i < al->m->n_bound; i++) {
        if (!al->known[i] && noe_poly_mentions(a->terms, p, al->m->bound[i])) {
            unknown = i;
            count++;
        }
    }
    if (count != 1)
        return false;
    int64_t c = noe_poly_coef(a->terms, p, al->m->bound[unknown]);
    if (c != 1 && c != -1)
        return false;
    noe_poly self = noe_poly_symbol(a->terms, al->m->bound[unknown]);
    noe_poly rest = noe_poly_sub(a->terms, p, noe_poly_scale(a->terms, self, c));
    if (noe_poly_mentions(a->terms, rest, al->m->bound[unknown]))
        return false;
    al->value[unknown] = noe_poly_scale(a->terms, rest, -c);
    al->known[unknown] = true;
    return true;
}

static bool is_linear_in_bound(noe_algebra *a, const alignment *al, int64_t *row,
                               noe_poly p)
{
    for (int k = 0; k < al->r->n_bound; k++) {
        noe_symbol b = al->r->bound[k];
        row[k] = noe_poly_coef(a->terms, p, b);
        p = noe_poly_sub(
            a->terms, p,
            noe_poly_scale(a->terms, noe_poly_symbol(a->terms, b), row[k]));
    }
    for (int k = 0; k < al->r->n_bound; k++) {
        if (noe_poly_mentions(a->terms, p, al->r->bound[k]))
            return false;
    }
    for (int k = 0; k < al->m->n_bound; k++) {
        if (noe_poly_mentions(a->terms, p, al->m->bound[k]))
            return false;
    }
    return true;
}

/* Determinant by fraction-free elimination; small numbers. */
static int64_t determinant(int n, int64_t d[MAX_BOUND][MAX_BOUND])
{
    int64_t sign = 1, previous = 1;
    for (int k = 0; k < n - 1; k++) {
        int p = k;
        while (p < n && d[p][k] == 0)
            p++;
        if (p == n)
            return 0;
        for (int j = 0; p != k && j < n; j++) {
            int64_t x = d[p][j];
            d[p][j] = d[k][j];
            d[k][j] = x;
        }
        sign = p != k ? -sign : sign;
        for (int i = k + 1; i < n; i++) {
            for (int j = k + 1; j < n; j++) {
                d[i][j] = (d[i][j] * d[k][k] - d[i][k] * d[k][j]) / previous;
                if (d[i][j] > 1000000 || d[i][j] < -1000000)
                    return 0;
            }
        }
        previous = d[k][k];
    }
    return n ? sign * d[n - 1][n - 1] : 1;
}

static bool is_bijection(noe_algebra *a, const alignment *al, const context *c)
{
    int64_t d[MAX_BOUND][MAX_BOUND] = {{0}};
    for (int i = 0; i < al->m->n_bound; i++) {
        if (!is_linear_in_bound(a, al, d[i], al->value[i]) ||
            !is_expressible(a, al, c, al->value[i]))
            return false;
        for (int k = 0; k < al->r->n_bound; k++) {
            if (d[i][k] > 1000000 || d[i][k] < -1000000)
                return false;
        }
    }
    int64_t det = determinant(al->m->n_bound, d);
    return det == 1 || det == -1;
}

/* Symbols that no equation determines are paired with those of r that are left. */
static bool pair_the_rest(noe_algebra *a, alignment *al)
{
    int n = al->m->n_bound, next = 0;
    for (int i = 0; i < n; i++) {
        if (al->known[i])
            continue;
        for (; next < n; next++) {
            bool used = false;
            for (int k = 0; k < n; k++)
                used |= al->known[k] &&
                        noe_poly_mentions(a->terms, al->value[k], al->r->bound[next]);
            if (!used)
                break;
        }
        if (next == n)
            return false;
        al->value[i] = noe_poly_symbol(a->terms, al->r->bound[next++]);
        al->known[i] = true;
    }
    return true;
}

/* A summand in the names of another. */
typedef struct aligned {
    int n_guards;
    noe_formula guard[MAX_GUARDS];
    const noe_factor *factor[MAX_FACTORS]; /* in the order of the other's */
} aligned;

static bool align(noe_algebra *a, const noe_summand *r, const noe_summand *m,
                  const int *partner, const context *c, aligned *out)
{
    alignment al = {.r = r, .m = m};
    equations e = {.n = 0};
    for (int i = 0; i < r->n_factors; i++)
        guess_from(a, &e, r->factor[i], m->factor[partner[i]], 0);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < e.n; i++)
            more |= solve_one(a, &al, e.p[i]);
    }
    if (!pair_the_rest(a, &al) || !is_bijection(a, &al, c))
        return false;
    out->n_guards = m->n_guards;
    for (int i = 0; i < m->n_guards; i++)
        out->guard[i] =
            noe_formula_subst(a->terms, m->guard[i], m->n_bound, m->bound, al.value);
    for (int i = 0; i < r->n_factors; i++)
        out->factor[i] =
            noe_factor_subst(a, m->factor[partner[i]], m->n_bound, m->bound, al.value);
    return true;
}

/* Maxima: for values of x's bound symbols with its guards, some family of g has, at
 * values that depend on these, the same element. */

/* Where y has the element of x, if y's guards hold there: value[] of its bound symbols.
 */
static bool find_place(noe_algebra *a, const noe_summand *x, const noe_summand *y,
                       const context *c, alignment *al)
{
    equations e = {.n = 0};
    *al = (alignment){.r = x, .m = y};
    guess_from(a, &e, x->factor[0], y->factor[0], 0);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < e.n; i++)
            more |= solve_one(a, al, e.p[i]);
    }
    for (int i = 0; i < y->n_bound; i++) {
        if (!al->known[i] || !is_expressible(a, al, c, al->value[i]))
            return false;
    }
    return true;
}

static const noe_summand *family_as_summand(noe_algebra *a, const noe_family *m)
{
    const noe_factor *f = noe_factor_apply(a, NOE_OP_COUNT, m->arg);
    const noe_summand *s = noe_summand_make(a, (noe_rational){1, 1}, m->n_bound,
                                            m->bound, m->n_guards, m->guard, 1, &f);
    return noe_summand_fresh(a, s);
}

static bool values_within(noe_algebra *a, const noe_family *m, const noe_factor *g,
                          const context *c)
{
    const noe_summand *x = family_as_summand(a, m);
    noe_formula some = NOE_FORMULA_FALSE_ID;
    context inside = *c;
    if (x->n_bound > MAX_BOUND || !add_guards(a, &inside, x->n_guards, x->guard) ||
        inside.n_scope + x->n_bound > MAX_SCOPE)
        return false;
    for (int i = 0; i < x->n_bound; i++)
        inside.scope[inside.n_scope++] = x->bound[i];
    for (int i = 0; i < g->n && !a->gave_up; i++) {
        const noe_summand *y = family_as_summand(a, &g->family[i]);
        noe_formula all = NOE_FORMULA_TRUE_ID;
        context here = inside;
        alignment al;
        if (y->n_bound > MAX_BOUND || !find_place(a, x, y, c, &al))
            continue;
        for (int k = 0; k < y->n_guards; k++)
            all = noe_formula_and(a->terms, all,
                                  noe_formula_subst(a->terms, y->guard[k], y->n_bound,
                                                    y->bound, al.value));
        const noe_sum *arg =
            noe_sum_subst(a, y->factor[0]->arg, y->n_bound, y->bound, al.value);
        if (all == NOE_FORMULA_FALSE_ID || !add_guards(a, &here, 1, &all) ||
            !sums_equal(a, x->factor[0]->arg, arg, &here, NULL))
            continue;
        some = noe_formula_or(a->terms, some, all);
        if (noe_query_implies(a->query, inside.f, inside.n, some))
            return true;
    }
    return false;
}

/* Where m's guards hold, its factors are r's. */
static bool fits(noe_algebra *a, const noe_summand *r, const aligned *m,
                 const context *c)
{
    context inside = *c;
    if (!add_guards(a, &inside, m->n_guards, m->guard) ||
        inside.n_scope + r->n_bound > MAX_SCOPE)
        return false;
    for (int i = 0; i < r->n_bound; i++)
        inside.scope[inside.n_scope++] = r->bound[i];
    for (int i = 0; i < r->n_factors; i++) {
        if (!factors_equal(a, r->factor[i], m->factor[i], &inside))
            return false;
    }
    return true;
}

/* Tries the partners of factor k and on. */
static bool match_from(noe_algebra *a, const noe_summand *r, const noe_summand *m,
                       int k, int *partner, const context *c, aligned *out)
{
    if (a->gave_up)
        return false;
    if (k == r->n_factors)
        return align(a, r, m, partner, c, out) && fits(a, r, out, c);
    for (int j = 0; j < m->n_factors; j++) {
        bool used = false;
        for (int i = 0; i < k; i++)
            used |= partner[i] == j;
        if (used || !alike(r->factor[k], m->factor[j]))
            continue;
        partner[k] = j;
        if (match_from(a, r, m, k + 1, partner, c, out))
            return true;
    }
    return false;
}

static bool match(noe_algebra *a, const noe_summand *r, const noe_summand *m,
                  const context *c, aligned *out)
{
    int partner[MAX_FACTORS];
    if (r->n_bound != m->n_bound || r->n_factors != m->n_factors ||
        r->n_factors > MAX_FACTORS || r->n_bound > MAX_BOUND ||
        m->n_guards > MAX_GUARDS)
        return false;
    return match_from(a, r, m, 0, partner, c, out);
}

/* Sums */

static noe_formula conjunction(noe_algebra *a, int n, const noe_formula *f)
{
    noe_formula all = NOE_FORMULA_TRUE_ID;
    for (int i = 0; i < n; i++)
        all = noe_formula_and(a->terms, all, f[i]);
    return all;
}

typedef struct class
{
    int n;
    noe_rational coef[MAX_ITEMS];
    noe_formula guard[MAX_ITEMS];
    bool member[MAX_ITEMS];
} class;

static void find_class(noe_algebra *a, const noe_sum *x, const bool *done, int leader,
                       const context *c, class *k)
{
    const noe_summand *r = noe_summand_fresh(a, x->of[leader]);
    *k = (class){.n = 1};
    k->coef[0] = r->coef;
    k->guard[0] = conjunction(a, r->n_guards, r->guard);
    k->member[leader] = true;
    for (int i = 0; i < x->n; i++) {
        aligned m;
        if (done[i] || i == leader ||
            !match(a, r, noe_summand_fresh(a, x->of[i]), c, &m))
            continue;
        k->coef[k->n] = x->of[i]->coef;
        k->guard[k->n++] = conjunction(a, m.n_guards, m.guard);
        k->member[i] = true;
    }
}

static bool class_cancels(noe_algebra *a, const class *k, const context *c)
{
    int64_t coef[MAX_ITEMS], den = 1;
    if (k->n == 2 && k->guard[0] == k->guard[1] && k->coef[0].num == -k->coef[1].num &&
        k->coef[0].den == k->coef[1].den)
        return true;
    for (int i = 0; i < k->n; i++) {
        if (den % k->coef[i].den != 0 &&
            __builtin_mul_overflow(den, k->coef[i].den, &den))
            return false;
    }
    for (int i = 0; i < k->n; i++) {
        if (__builtin_mul_overflow(k->coef[i].num, den / k->coef[i].den, &coef[i]))
            return false;
    }
    return noe_query_cancels(a->query, c->f, c->n, k->n, coef, k->guard);
}

/* Without the summands whose guards contradict what is known. */
static const noe_sum *without_empty(noe_algebra *a, const noe_sum *x, const context *c)
{
    const noe_summand **left =
        noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *left);
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        context inside = *c;
        bool empty = s->n_guards > 0 && add_guards(a, &inside, s->n_guards, s->guard) &&
                     noe_query_refutes(a->query, inside.f, inside.n);
        if (!empty)
            left[n++] = s;
    }
    return noe_sum_make(a, n, left);
}

static bool is_zero(noe_algebra *a, const noe_sum *x, const context *c, noe_buf *why)
{
    bool done[MAX_ITEMS] = {0}, tried[MAX_ITEMS] = {0};
    if (x->n > MAX_ITEMS) {
        noe_algebra_give_up(a, "too many summands");
        return false;
    }
    for (int left = x->n; left > 0 && !a->gave_up;) {
        int leader = -1;
        for (int i = 0; i < x->n; i++) {
            if (!done[i] && !tried[i] &&
                (leader < 0 || x->of[i]->n_guards < x->of[leader]->n_guards))
                leader = i;
        }
        if (leader < 0)
            break;
        class k;
        find_class(a, x, done, leader, c, &k);
        tried[leader] = true;
        if (!class_cancels(a, &k, c))
            continue;
        for (int i = 0; i < x->n; i++)
            done[i] |= k.member[i];
        left -= k.n;
        memset(tried, 0, sizeof tried);
    }
    for (int i = 0; i < x->n; i++) {
        if (done[i])
            continue;
        if (why) {
            const noe_sum *rest = noe_sum_make(a, 1, &x->of[i]);
            noe_buf_puts(why, "not matched: ");
            noe_sum_print(a, rest, why);
        }
        return false;
    }
    return !a->gave_up;
}

static bool sums_equal(noe_algebra *a, const noe_sum *x, const noe_sum *y,
                       const context *c, noe_buf *why)
{
    const noe_sum *minus = noe_sum_scale(a, y, (noe_rational){-1, 1});
    const noe_sum *difference = noe_sum_add(a, x, minus);
    if (difference->n == 0)
        return !a->gave_up;
    difference = without_empty(a, difference, c);
    if (difference->n > 0)
        difference = noe_law_cancel(a, difference);
    if (is_zero(a, difference, c, NULL))
        return true;
    /* The denominators exist, so they are not 0. */
    for (int i = 0; i < MAX_DENOMINATORS && !a->gave_up; i++) {
        const noe_sum *cleared = noe_law_clear_denominator(a, difference);
        if (!cleared)
            break;
        difference = cleared;
        if (is_zero(a, difference, c, NULL))
            return true;
    }
    return why ? is_zero(a, difference, c, why) : false;
}

/* What the context says that free symbols are, as substitutions. */
typedef struct known_symbols {
    int n;
    noe_symbol s[MAX_KNOWN];
    noe_poly is[MAX_KNOWN];
} known_symbols;

/* p = 0 determines a free symbol. */
static void learn(noe_algebra *a, known_symbols *k, noe_poly p)
{
    p = noe_poly_subst(a->terms, p, k->n, k->s, k->is);
    for (noe_symbol s = noe_terms_n_symbols(a->terms); s-- > 0 && k->n < MAX_KNOWN;) {
        int64_t c = noe_poly_coef(a->terms, p, s);
        if (noe_symbol_is_bound(a->terms, s) || (c != 1 && c != -1))
            continue;
        noe_poly self = noe_poly_symbol(a->terms, s);
        noe_poly rest = noe_poly_sub(a->terms, p, noe_poly_scale(a->terms, self, c));
        if (noe_poly_mentions(a->terms, rest, s))
            continue;
        noe_poly value = noe_poly_scale(a->terms, rest, -c);
        for (int i = 0; i < k->n; i++)
            k->is[i] = noe_poly_subst(a->terms, k->is[i], 1, &s, &value);
        k->s[k->n] = s;
        k->is[k->n++] = value;
        return;
    }
}

/* p >= 0 where -p >= 0 is known makes p = 0. */
static known_symbols learn_from(noe_algebra *a, const context *c)
{
    known_symbols k = {.n = 0};
    noe_poly zero = noe_poly_int(a->terms, 0);
    for (int i = 0; i < c->n; i++) {
        noe_formula_node f = *noe_terms_formula(a->terms, c->f[i]);
        if (f.kind == NOE_FORMULA_EQ)
            learn(a, &k, f.a);
        if (f.kind != NOE_FORMULA_GE)
            continue;
        noe_poly minus = noe_poly_scale(a->terms, f.a, -1);
        bool zeroed = noe_poly_is_natural(a->terms, minus);
        for (int j = 0; j < c->n && !zeroed; j++) {
            noe_formula_node g = *noe_terms_formula(a->terms, c->f[j]);
            zeroed = g.kind == NOE_FORMULA_GE && g.a == minus;
        }
        if (zeroed && f.a != zero)
            learn(a, &k, f.a);
    }
    return k;
}

static const noe_sum *with_known(noe_algebra *a, const known_symbols *k,
                                 const noe_sum *x)
{
    return noe_law_simplify_sum(a, noe_sum_subst(a, x, k->n, k->s, k->is));
}

static bool equal_in(noe_algebra *a, const noe_sum *x, const noe_sum *y,
                     const context *c, noe_buf *why)
{
    known_symbols k = learn_from(a, c);
    if (k.n > 0) {
        x = with_known(a, &k, x);
        y = with_known(a, &k, y);
    }
    return sums_equal(a, x, y, c, why);
}

/* By the signs of what relu is applied to; natural[0..n-1] are >= 0. */
static bool vanishes_by_signs(noe_algebra *a, const noe_sum *x, const context *c, int n,
                              const noe_sum *const *natural)
{
    const noe_sum *none = noe_sum_make(a, 0, NULL);
    const noe_sum *known[MAX_SIGNS];
    if (n > 0 && (noe_law_exists_nowhere(a, x) || sums_equal(a, x, none, c, NULL) ||
                  noe_law_zero_by_signs(a, n, natural, x)))
        return true;
    const noe_factor *f = n < MAX_SIGNS && !a->gave_up ? noe_law_sign_in(a, x) : NULL;
    if (!f)
        return false;
    a->laws |= 1u << NOE_LAW_ORDER;
    for (int i = 0; i < n; i++)
        known[i] = natural[i];
    known[n] = f->arg;
    if (!vanishes_by_signs(a, noe_law_with_factor(a, x, f, f->arg), c, n + 1, known))
        return false;
    known[n] = noe_sum_scale(a, f->arg, (noe_rational){-1, 1});
    return vanishes_by_signs(a, noe_law_with_factor(a, x, f, none), c, n + 1, known);
}

/* The context, where some summand has a term. */
static void keep_witness(noe_algebra *a, const noe_sum *x, const context *c)
{
    context here = *c;
    if (a->witness)
        return;
    if (x->n > 0)
        (void)add_guards(a, &here, x->of[0]->n_guards, x->of[0]->guard);
    a->witness =
        noe_arena_memdup(a->arena, here.f, (size_t)here.n * sizeof *a->witness);
    a->n_witness = here.n;
}

/* Of what holds one way or the other only one may be left. */
static void propagate(noe_algebra *a, context *c)
{
    for (int i = 0; i < c->n && !a->gave_up; i++) {
        noe_formula_node f = *noe_terms_formula(a->terms, c->f[i]);
        for (int side = 0; f.kind == NOE_FORMULA_OR && side < 2; side++) {
            context one = *c;
            noe_formula this = side ? f.b : f.a, other = side ? f.a : f.b;
            if (!add_guards(a, &one, 1, &this) ||
                !noe_query_refutes(a->query, one.f, one.n))
                continue;
            (void)add_guards(a, c, 1, &other);
            break;
        }
    }
}

/* A second look at a difference: with what the context says of its integer terms, then
 * by cases of a condition that it leaves open. */
static bool vanishes(noe_algebra *a, const noe_sum *x, const context *c, int depth)
{
    const noe_sum *none = noe_sum_make(a, 0, NULL);
    for (int round = 0; round < MAX_ROUNDS && !a->gave_up; round++) {
        const noe_sum *sharp = noe_law_sharpen(a, x, c->n, c->f);
        bool same = noe_sum_same(a, sharp, x);
        x = sharp;
        if (x->n == 0 || (same && round > 0))
            break;
    }
    if (sums_equal(a, x, none, c, NULL) || vanishes_by_signs(a, x, c, 0, NULL))
        return true;
    noe_formula f = depth < MAX_SPLITS && !a->gave_up
                        ? noe_law_open_condition(a, x, c->n, c->f)
                        : NOE_FORMULA_TRUE_ID;
    if (f == NOE_FORMULA_TRUE_ID) {
        keep_witness(a, x, c);
        return false;
    }
    for (int side = 0; side < 2; side++, f = noe_formula_not(a->terms, f)) {
        context inside = *c;
        if (!add_guards(a, &inside, 1, &f))
            return false;
        if (noe_query_refutes(a->query, inside.f, inside.n))
            continue;
        propagate(a, &inside);
        known_symbols k = learn_from(a, &inside);
        if (!vanishes(a, k.n > 0 ? with_known(a, &k, x) : x, &inside, depth + 1))
            return false;
    }
    return !a->gave_up;
}

static bool equal_at_last(noe_algebra *a, const noe_sum *x, const noe_sum *y,
                          const context *c, noe_buf *why)
{
    noe_buf first = {0};
    known_symbols k = {.n = 0};
    if (equal_in(a, x, y, c, &first)) {
        noe_buf_clear(&first);
        return true;
    }
    if (!a->gave_up) {
        const noe_sum *minus = noe_sum_scale(a, y, (noe_rational){-1, 1});
        const noe_sum *difference = noe_sum_add(a, x, minus);
        k = learn_from(a, c);
        if (k.n > 0)
            difference = with_known(a, &k, difference);
        if (vanishes(a, difference, c, 0)) {
            noe_buf_clear(&first);
            return true;
        }
    }
    noe_buf_puts(why, noe_buf_text(&first));
    noe_buf_clear(&first);
    return false;
}

bool noe_expr_equal(noe_algebra *a, const noe_expr *x, const noe_expr *y, int n_guards,
                    const noe_formula *guard, noe_buf *why)
{
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        for (int j = 0; j < y->n; j++) {
            const noe_case *p = &x->of[i], *q = &y->of[j];
            context c = {.n = 0};
            if (!add_guards(a, &c, n_guards, guard) ||
                !add_guards(a, &c, p->n_guards, p->guard) ||
                !add_guards(a, &c, q->n_guards, q->guard))
                return false;
            if (c.n > n_guards && noe_query_refutes(a->query, c.f, c.n))
                continue;
            if (!equal_at_last(a, p->sum, q->sum, &c, why))
                return false;
        }
    }
    return !a->gave_up;
}
