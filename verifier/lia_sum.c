/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, comparing and substituting. Hashes do not see the names of bound symbols (a
 * bound symbol counts as its place among the bound of its summand or family), so that
 * equal terms stand at equal places after sorting; what is equal is decided by
 * comparison, not by hash.
 */
#include "verifier/lia_laws.h"
#include "core/base/hash.h"
#include <stdlib.h>

#define MAX_MADE 200000

void noe_algebra_give_up(noe_algebra *a, const char *cause)
{
    if (!a->gave_up)
        a->cause = cause;
    a->gave_up = true;
}

/* Rational numbers */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

noe_rational noe_rational_make(noe_algebra *a, int64_t num, int64_t den)
{
    if (den == 0 || num == INT64_MIN || den == INT64_MIN) {
        noe_algebra_give_up(a, "a number leaves its range");
        return (noe_rational){0, 1};
    }
    int64_t g = gcd(num, den);
    if (den < 0)
        g = -g;
    return (noe_rational){num / g, den / g};
}

noe_rational noe_rational_mul(noe_algebra *a, noe_rational x, noe_rational y)
{
    int64_t num, den;
    if (__builtin_mul_overflow(x.num, y.num, &num) ||
        __builtin_mul_overflow(x.den, y.den, &den))
        noe_algebra_give_up(a, "a number leaves its range"), num = den = 1;
    return noe_rational_make(a, num, den);
}

noe_rational noe_rational_add(noe_algebra *a, noe_rational x, noe_rational y)
{
    int64_t p, q, num, den;
    if (__builtin_mul_overflow(x.num, y.den, &p) ||
        __builtin_mul_overflow(y.num, x.den, &q) ||
        __builtin_add_overflow(p, q, &num) ||
        __builtin_mul_overflow(x.den, y.den, &den))
        noe_algebra_give_up(a, "a number leaves its range"), num = den = 1;
    return noe_rational_make(a, num, den);
}

/* Hashes under a list of bound symbols, innermost last */

#define MAX_SCOPE 64

typedef struct scope {
    noe_symbol s[2][MAX_SCOPE]; /* two sides, for comparison */
    int n;
} scope;

static int place(const scope *sc, int side, noe_symbol s)
{
    for (int i = sc->n; i-- > 0;) {
        if (sc->s[side][i] == s)
            return i;
    }
    return -1;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    uint64_t v[2] = {h, x};
    return noe_hash64(v, sizeof v, 7);
}

static uint64_t hash_poly(const noe_algebra *a, const scope *sc, noe_poly p);

static uint64_t hash_atom(const noe_algebra *a, const scope *sc, uint32_t atom)
{
    const noe_atom *x = noe_terms_atom(a->terms, atom);
    if (x->kind == NOE_ATOM_SYMBOL) {
        int at = place(sc, 0, x->a);
        return at < 0 ? mix(1, x->a) : mix(2, (uint64_t)at);
    }
    uint64_t h = mix(3 + x->kind, hash_poly(a, sc, x->a));
    h = mix(h, hash_poly(a, sc, x->b));
    return x->kind == NOE_ATOM_SELECT ? mix(h, hash_poly(a, sc, x->c)) : h;
}

/* Order of monomials and of factors of a product does not count. */
static uint64_t hash_poly(const noe_algebra *a, const scope *sc, noe_poly p)
{
    int n;
    uint64_t sum = 0;
    const noe_monomial *m = noe_poly_monomials(a->terms, p, &n);
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(a->terms, m[i].product);
        uint64_t h = 0;
        for (uint32_t k = 0; k < product->n; k++)
            h += hash_atom(a, sc, product->atom[k]);
        sum += mix(h, (uint64_t)m[i].coef);
    }
    return mix(sum, 11);
}

static uint64_t hash_formula(const noe_algebra *a, const scope *sc, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(a->terms, f);
    switch (n->kind) {
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ: {
        /* x = 0 and -x = 0 are the same: which is stored depends on names. */
        uint64_t h = hash_poly(a, sc, n->a);
        if (n->kind == NOE_FORMULA_EQ)
            h += hash_poly(a, sc, noe_poly_scale(a->terms, n->a, -1));
        return mix(20 + n->kind, h);
    }
    case NOE_FORMULA_NOT:
        return mix(22, hash_formula(a, sc, n->a));
    case NOE_FORMULA_AND:
    case NOE_FORMULA_OR:
        return mix(23 + n->kind, hash_formula(a, sc, n->a) + hash_formula(a, sc, n->b));
    default:
        return mix(30, n->kind);
    }
}

static uint64_t hash_sum(const noe_algebra *a, scope *sc, const noe_sum *s);

static void push_scope(scope *sc, int side, int n, const noe_symbol *s)
{
    for (int i = 0; i < n && sc->n + i < MAX_SCOPE; i++)
        sc->s[side][sc->n + i] = s[i];
}

static uint64_t hash_family(const noe_algebra *a, scope *sc, const noe_family *f)
{
    uint64_t guards = 0;
    push_scope(sc, 0, f->n_bound, f->bound);
    sc->n += f->n_bound;
    for (int i = 0; i < f->n_guards; i++)
        guards += hash_formula(a, sc, f->guard[i]);
    uint64_t h = mix(mix(guards, hash_sum(a, sc, f->arg)), (uint64_t)f->n_bound);
    sc->n -= f->n_bound;
    return h;
}

static uint64_t hash_factor(const noe_algebra *a, scope *sc, const noe_factor *f)
{
    uint64_t h = mix(40 + f->kind, f->id), bits;
    switch (f->kind) {
    case NOE_FACTOR_READ:
        for (int i = 0; i < f->n; i++)
            h = mix(h, hash_poly(a, sc, f->index[i]));
        return h;
    case NOE_FACTOR_CONSTANT:
        memcpy(&bits, &f->bits, sizeof bits);
        return mix(h, bits);
    case NOE_FACTOR_COUNT:
        return mix(h, hash_poly(a, sc, f->count));
    case NOE_FACTOR_APPLY:
        return mix(h, hash_sum(a, sc, f->arg));
    case NOE_FACTOR_MAXIMUM: {
        uint64_t all = 0;
        for (int i = 0; i < f->n; i++)
            all += hash_family(a, sc, &f->family[i]);
        return mix(h, all);
    }
    }
    return h;
}

static uint64_t hash_summand(const noe_algebra *a, scope *sc, const noe_summand *s)
{
    uint64_t guards = 0, factors = 0;
    push_scope(sc, 0, s->n_bound, s->bound);
    sc->n += s->n_bound;
    for (int i = 0; i < s->n_guards; i++)
        guards += hash_formula(a, sc, s->guard[i]);
    for (int i = 0; i < s->n_factors; i++)
        factors += hash_factor(a, sc, s->factor[i]);
    sc->n -= s->n_bound;
    return mix(mix(guards, factors), (uint64_t)s->n_bound);
}

static uint64_t hash_sum(const noe_algebra *a, scope *sc, const noe_sum *s)
{
    uint64_t all = 0;
    for (int i = 0; i < s->n; i++) {
        const noe_summand *x = s->of[i];
        all += mix(hash_summand(a, sc, x),
                   mix((uint64_t)x->coef.num, (uint64_t)x->coef.den));
    }
    return mix(all, 50);
}

static bool scope_fits(const noe_algebra *a, const scope *sc, int n)
{
    (void)a;
    return sc->n + n <= MAX_SCOPE;
}

/* Equality, with a pairing of bound symbols */

typedef struct pairing {
    const noe_algebra *a;
    scope sc;
    /* right's bound symbols as left's, to compare polynomials by handle */
} pairing;

/* q of the right side in the names of the left. */
static noe_poly rename_right(const pairing *p, noe_poly q)
{
    noe_poly with[MAX_SCOPE];
    for (int i = 0; i < p->sc.n; i++)
        with[i] = noe_poly_symbol(p->a->terms, p->sc.s[0][i]);
    return noe_poly_subst(p->a->terms, q, p->sc.n, p->sc.s[1], with);
}

static bool same_poly(const pairing *p, noe_poly x, noe_poly y)
{
    return (p->sc.n == 0 ? y : rename_right(p, y)) == x;
}

static bool same_formula(const pairing *p, noe_formula x, noe_formula y)
{
    noe_poly with[MAX_SCOPE];
    if (p->sc.n == 0)
        return x == y;
    for (int i = 0; i < p->sc.n; i++)
        with[i] = noe_poly_symbol(p->a->terms, p->sc.s[0][i]);
    return x == noe_formula_subst(p->a->terms, y, p->sc.n, p->sc.s[1], with);
}

static bool same_guards(const pairing *p, int n, const noe_formula *x, int m,
                        const noe_formula *y)
{
    bool used[64] = {0};
    if (n != m || n > 64)
        return false;
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < n && (used[j] || !same_formula(p, x[i], y[j])))
            j++;
        if (j == n)
            return false;
        used[j] = true;
    }
    return true;
}

static bool same_sum(pairing *p, const noe_sum *x, const noe_sum *y);

static bool enter_scope(pairing *p, int n, const noe_symbol *x, int m,
                        const noe_symbol *y)
{
    if (n != m || !scope_fits(p->a, &p->sc, n))
        return false;
    push_scope(&p->sc, 0, n, x);
    push_scope(&p->sc, 1, n, y);
    p->sc.n += n;
    return true;
}

static bool same_family(pairing *p, const noe_family *x, const noe_family *y)
{
    if (!enter_scope(p, x->n_bound, x->bound, y->n_bound, y->bound))
        return false;
    bool same = same_guards(p, x->n_guards, x->guard, y->n_guards, y->guard) &&
                same_sum(p, x->arg, y->arg);
    p->sc.n -= x->n_bound;
    return same;
}

static bool same_families(pairing *p, const noe_factor *x, const noe_factor *y)
{
    bool used[16] = {0};
    if (x->n != y->n || x->n > 16)
        return false;
    for (int i = 0; i < x->n; i++) {
        int j = 0;
        while (j < y->n && (used[j] || !same_family(p, &x->family[i], &y->family[j])))
            j++;
        if (j == y->n)
            return false;
        used[j] = true;
    }
    return true;
}

static bool same_factor(pairing *p, const noe_factor *x, const noe_factor *y)
{
    if (x->kind != y->kind || x->id != y->id || x->n != y->n)
        return false;
    switch (x->kind) {
    case NOE_FACTOR_READ:
        for (int i = 0; i < x->n; i++) {
            if (!same_poly(p, x->index[i], y->index[i]))
                return false;
        }
        return true;
    case NOE_FACTOR_CONSTANT:
        return memcmp(&x->bits, &y->bits, sizeof x->bits) == 0;
    case NOE_FACTOR_COUNT:
        return same_poly(p, x->count, y->count);
    case NOE_FACTOR_APPLY:
        return same_sum(p, x->arg, y->arg);
    case NOE_FACTOR_MAXIMUM:
        return same_families(p, x, y);
    }
    return false;
}

static bool same_factors(pairing *p, const noe_summand *x, const noe_summand *y)
{
    bool used[64] = {0};
    if (x->n_factors != y->n_factors || x->n_factors > 64)
        return false;
    for (int i = 0; i < x->n_factors; i++) {
        int j = 0;
        while (j < y->n_factors &&
               (used[j] || !same_factor(p, x->factor[i], y->factor[j])))
            j++;
        if (j == y->n_factors)
            return false;
        used[j] = true;
    }
    return true;
}

/* All but the coefficients. */
static bool same_summand(pairing *p, const noe_summand *x, const noe_summand *y)
{
    if (!enter_scope(p, x->n_bound, x->bound, y->n_bound, y->bound))
        return false;
    bool same = same_guards(p, x->n_guards, x->guard, y->n_guards, y->guard) &&
                same_factors(p, x, y);
    p->sc.n -= x->n_bound;
    return same;
}

static bool same_sum(pairing *p, const noe_sum *x, const noe_sum *y)
{
    bool used[64] = {0};
    if (x->n != y->n || x->n > 64)
        return false;
    for (int i = 0; i < x->n; i++) {
        int j = 0;
        while (j < y->n && (used[j] || x->of[i]->coef.num != y->of[j]->coef.num ||
                            x->of[i]->coef.den != y->of[j]->coef.den ||
                            !same_summand(p, x->of[i], y->of[j])))
            j++;
        if (j == y->n)
            return false;
        used[j] = true;
    }
    return true;
}

bool noe_factor_same(const noe_algebra *a, const noe_factor *x, const noe_factor *y)
{
    pairing p = {.a = a};
    return x == y || (x->hash == y->hash && same_factor(&p, x, y));
}

bool noe_summand_same(const noe_algebra *a, const noe_summand *x, const noe_summand *y)
{
    pairing p = {.a = a};
    return x->hash == y->hash && same_summand(&p, x, y);
}

bool noe_sum_same(const noe_algebra *a, const noe_sum *x, const noe_sum *y)
{
    pairing p = {.a = a};
    return x == y || same_sum(&p, x, y);
}

/* Factors */

static uint64_t shape_of_sum(const noe_sum *s)
{
    uint64_t all = 0;
    for (int i = 0; i < s->n; i++)
        all += mix(s->of[i]->shape,
                   mix((uint64_t)s->of[i]->coef.num, (uint64_t)s->of[i]->coef.den));
    return all;
}

static uint64_t shape_of_factor(const noe_factor *f)
{
    uint64_t h = mix(60 + f->kind, f->id), all = 0;
    for (int i = 0; f->kind == NOE_FACTOR_MAXIMUM && i < f->n; i++)
        all += mix(shape_of_sum(f->family[i].arg), (uint64_t)f->family[i].n_bound);
    return mix(h, f->kind == NOE_FACTOR_APPLY ? shape_of_sum(f->arg) : all);
}

static const noe_factor *keep_factor(noe_algebra *a, const noe_factor *f)
{
    scope sc = {.n = 0};
    noe_factor *copy = noe_arena_memdup(a->arena, f, sizeof *f);
    copy->hash = hash_factor(a, &sc, copy);
    copy->shape = shape_of_factor(copy);
    return copy;
}

const noe_factor *noe_factor_read(noe_algebra *a, uint16_t var, int n,
                                  const noe_poly *index)
{
    noe_factor f = {.kind = NOE_FACTOR_READ, .id = var, .n = n};
    f.index = noe_arena_memdup(a->arena, index, (size_t)n * sizeof *index);
    return keep_factor(a, &f);
}

const noe_factor *noe_factor_constant(noe_algebra *a, double value)
{
    noe_factor f = {.kind = NOE_FACTOR_CONSTANT, .bits = value};
    return keep_factor(a, &f);
}

const noe_factor *noe_factor_count(noe_algebra *a, noe_poly count)
{
    noe_factor f = {.kind = NOE_FACTOR_COUNT, .count = count};
    return keep_factor(a, &f);
}

const noe_factor *noe_factor_apply(noe_algebra *a, noe_op op, const noe_sum *arg)
{
    noe_factor f = {.kind = NOE_FACTOR_APPLY, .id = (uint16_t)op, .arg = arg};
    return keep_factor(a, &f);
}

const noe_factor *noe_factor_maximum(noe_algebra *a, int n, const noe_family *family)
{
    noe_factor f = {.kind = NOE_FACTOR_MAXIMUM, .n = n};
    f.family = noe_arena_memdup(a->arena, family, (size_t)n * sizeof *family);
    return keep_factor(a, &f);
}

static bool sum_mentions(const noe_algebra *a, const noe_sum *s, noe_symbol x)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->of[i]->n_guards; k++) {
            if (noe_formula_mentions(a->terms, s->of[i]->guard[k], x))
                return true;
        }
        for (int k = 0; k < s->of[i]->n_factors; k++) {
            if (noe_factor_mentions(a, s->of[i]->factor[k], x))
                return true;
        }
    }
    return false;
}

bool noe_factor_mentions(const noe_algebra *a, const noe_factor *f, noe_symbol s)
{
    if (f->kind == NOE_FACTOR_COUNT)
        return noe_poly_mentions(a->terms, f->count, s);
    if (f->kind == NOE_FACTOR_APPLY)
        return sum_mentions(a, f->arg, s);
    for (int i = 0; f->kind == NOE_FACTOR_READ && i < f->n; i++) {
        if (noe_poly_mentions(a->terms, f->index[i], s))
            return true;
    }
    for (int i = 0; f->kind == NOE_FACTOR_MAXIMUM && i < f->n; i++) {
        const noe_family *m = &f->family[i];
        for (int k = 0; k < m->n_guards; k++) {
            if (noe_formula_mentions(a->terms, m->guard[k], s))
                return true;
        }
        if (sum_mentions(a, m->arg, s))
            return true;
    }
    return false;
}

/* Guards that are true are left out; false: one is false. */
static bool subst_guards(noe_algebra *a, int n_guards, const noe_formula *guard, int n,
                         const noe_symbol *s, const noe_poly *with, int *n_out,
                         const noe_formula **out)
{
    noe_formula *g = noe_arena_alloc(a->arena, (size_t)(n_guards + 1) * sizeof *g);
    int k = 0;
    for (int i = 0; i < n_guards; i++) {
        g[k] = noe_formula_subst(a->terms, guard[i], n, s, with);
        if (g[k] == NOE_FORMULA_FALSE_ID)
            return false;
        k += g[k] != NOE_FORMULA_TRUE_ID;
    }
    *n_out = k;
    *out = g;
    return true;
}

static const noe_factor *subst_maximum(noe_algebra *a, const noe_factor *f, int n,
                                       const noe_symbol *s, const noe_poly *with)
{
    noe_family *m = noe_arena_alloc(a->arena, (size_t)(f->n + 1) * sizeof *m);
    int k = 0;
    for (int i = 0; i < f->n; i++) {
        m[k] = f->family[i];
        if (!subst_guards(a, m[k].n_guards, m[k].guard, n, s, with, &m[k].n_guards,
                          &m[k].guard))
            continue;
        m[k].arg = noe_sum_subst(a, m[k].arg, n, s, with);
        k++;
    }
    return noe_factor_maximum(a, k, m);
}

const noe_factor *noe_factor_subst(noe_algebra *a, const noe_factor *f, int n,
                                   const noe_symbol *s, const noe_poly *with)
{
    bool touched = false;
    for (int i = 0; i < n && !touched; i++)
        touched = noe_factor_mentions(a, f, s[i]);
    if (!touched)
        return f;
    noe_factor g = *f;
    if (f->kind == NOE_FACTOR_COUNT)
        g.count = noe_poly_subst(a->terms, f->count, n, s, with);
    else if (f->kind == NOE_FACTOR_APPLY)
        g.arg = noe_sum_subst(a, f->arg, n, s, with);
    else if (f->kind == NOE_FACTOR_MAXIMUM)
        return subst_maximum(a, f, n, s, with);
    noe_poly *index = noe_arena_alloc(a->arena, (size_t)(f->n + 1) * sizeof *index);
    for (int i = 0; f->kind == NOE_FACTOR_READ && i < f->n; i++)
        index[i] = noe_poly_subst(a->terms, f->index[i], n, s, with);
    g.index = index;
    return keep_factor(a, &g);
}

/* Summands */

static int by_hash(const void *x, const void *y)
{
    const noe_factor *const *f = x, *const *g = y;
    return ((*f)->hash > (*g)->hash) - ((*f)->hash < (*g)->hash);
}

static int by_value(const void *x, const void *y)
{
    const noe_formula *f = x, *g = y;
    return (*f > *g) - (*f < *g);
}

int noe_guards_tidy(noe_formula *g, int n)
{
    int k = 0;
    qsort(g, (size_t)n, sizeof *g, by_value);
    for (int i = 0; i < n; i++) {
        if (g[i] != NOE_FORMULA_TRUE_ID && (k == 0 || g[i] != g[k - 1]))
            g[k++] = g[i];
    }
    return k;
}

const noe_summand *noe_summand_make(noe_algebra *a, noe_rational coef, int n_bound,
                                    const noe_symbol *bound, int n_guards,
                                    const noe_formula *guard, int n_factors,
                                    const noe_factor *const *factor)
{
    scope sc = {.n = 0};
    noe_summand *s = noe_arena_alloc(a->arena, sizeof *s);
    noe_formula *g = noe_arena_memdup(a->arena, guard, (size_t)n_guards * sizeof *g);
    const noe_factor **f =
        noe_arena_memdup(a->arena, factor, (size_t)n_factors * sizeof *f);
    if (++a->made > MAX_MADE)
        noe_algebra_give_up(a, "too many summands");
    n_guards = noe_guards_tidy(g, n_guards);
    qsort(f, (size_t)n_factors, sizeof *f, by_hash);
    *s = (noe_summand){.coef = coef,
                       .n_bound = n_bound,
                       .n_guards = n_guards,
                       .n_factors = n_factors,
                       .guard = g,
                       .factor = f};
    s->bound = noe_arena_memdup(a->arena, bound, (size_t)n_bound * sizeof *bound);
    s->shape = (uint64_t)n_bound;
    for (int i = 0; i < n_factors; i++)
        s->shape += f[i]->shape;
    if (n_bound > MAX_SCOPE / 4)
        noe_algebra_give_up(a, "too many bound indices");
    else
        s->hash = hash_summand(a, &sc, s);
    return s;
}

const noe_summand *noe_summand_scale(noe_algebra *a, const noe_summand *s,
                                     noe_rational by)
{
    noe_summand *copy = noe_arena_memdup(a->arena, s, sizeof *s);
    copy->coef = noe_rational_mul(a, s->coef, by);
    return copy;
}

/* NULL where the guards contradict themselves. */
static const noe_summand *summand_subst(noe_algebra *a, const noe_summand *s,
                                        const noe_symbol *bound, int n,
                                        const noe_symbol *from, const noe_poly *with)
{
    int n_guards;
    const noe_formula *guard;
    if (!subst_guards(a, s->n_guards, s->guard, n, from, with, &n_guards, &guard))
        return NULL;
    const noe_factor **f =
        noe_arena_alloc(a->arena, (size_t)(s->n_factors + 1) * sizeof *f);
    for (int i = 0; i < s->n_factors; i++)
        f[i] = noe_factor_subst(a, s->factor[i], n, from, with);
    return noe_summand_make(a, s->coef, s->n_bound, bound, n_guards, guard,
                            s->n_factors, f);
}

const noe_summand *noe_summand_fresh(noe_algebra *a, const noe_summand *s)
{
    noe_symbol *bound =
        noe_arena_alloc(a->arena, (size_t)(s->n_bound + 1) * sizeof *bound);
    noe_poly *with = noe_arena_alloc(a->arena, (size_t)(s->n_bound + 1) * sizeof *with);
    if (s->n_bound == 0)
        return s;
    for (int i = 0; i < s->n_bound; i++) {
        bound[i] = noe_terms_bound_symbol(a->terms);
        with[i] = noe_poly_symbol(a->terms, bound[i]);
    }
    return summand_subst(a, s, bound, s->n_bound, s->bound, with);
}

/* Sums */

static int summand_by_hash(const void *x, const void *y)
{
    const noe_summand *const *f = x, *const *g = y;
    return ((*f)->hash > (*g)->hash) - ((*f)->hash < (*g)->hash);
}

/* Equal summands become one; those with coefficient 0 go. */
const noe_sum *noe_sum_make(noe_algebra *a, int n, const noe_summand *const *of)
{
    const noe_summand **list =
        noe_arena_alloc(a->arena, (size_t)(n + 1) * sizeof *list);
    int k = 0;
    for (int i = 0; i < n; i++) {
        int j = 0;
        if (of[i]->coef.num == 0)
            continue;
        while (j < k && !noe_summand_same(a, list[j], of[i]))
            j++;
        if (j == k) {
            list[k++] = of[i];
            continue;
        }
        noe_summand *both = noe_arena_memdup(a->arena, list[j], sizeof *both);
        both->coef = noe_rational_add(a, both->coef, of[i]->coef);
        list[j] = both;
        if (both->coef.num == 0)
            list[j] = list[--k];
    }
    qsort(list, (size_t)k, sizeof *list, summand_by_hash);
    noe_sum *s = noe_arena_alloc(a->arena, sizeof *s);
    *s = (noe_sum){k, list};
    return s;
}

const noe_sum *noe_sum_of_factor(noe_algebra *a, const noe_factor *f)
{
    const noe_summand *s =
        noe_summand_make(a, (noe_rational){1, 1}, 0, NULL, 0, NULL, 1, &f);
    return noe_sum_make(a, 1, &s);
}

const noe_sum *noe_sum_number(noe_algebra *a, noe_rational value)
{
    const noe_summand *s = noe_summand_make(a, value, 0, NULL, 0, NULL, 0, NULL);
    return noe_sum_make(a, 1, &s);
}

const noe_sum *noe_sum_add(noe_algebra *a, const noe_sum *x, const noe_sum *y)
{
    const noe_summand **list =
        noe_arena_alloc(a->arena, (size_t)(x->n + y->n + 1) * sizeof *list);
    if (x->n == 0 || y->n == 0)
        return x->n ? x : y;
    memcpy(list, x->of, (size_t)x->n * sizeof *list);
    memcpy(list + x->n, y->of, (size_t)y->n * sizeof *list);
    return noe_sum_make(a, x->n + y->n, list);
}

const noe_sum *noe_sum_scale(noe_algebra *a, const noe_sum *x, noe_rational by)
{
    const noe_summand **list =
        noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *list);
    if (by.num == 1 && by.den == 1)
        return x;
    for (int i = 0; i < x->n; i++)
        list[i] = noe_summand_scale(a, x->of[i], by);
    return noe_sum_make(a, x->n, list);
}

const noe_sum *noe_sum_mul(noe_algebra *a, const noe_sum *x, const noe_sum *y)
{
    const noe_sum *sum = noe_sum_make(a, 0, NULL);
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        for (int j = 0; j < y->n; j++)
            sum = noe_sum_add(a, sum, noe_law_product(a, x->of[i], y->of[j]));
    }
    return sum;
}

const noe_sum *noe_sum_subst(noe_algebra *a, const noe_sum *x, int n,
                             const noe_symbol *s, const noe_poly *with)
{
    const noe_summand **list =
        noe_arena_alloc(a->arena, (size_t)(x->n + 1) * sizeof *list);
    int k = 0;
    for (int i = 0; i < x->n; i++) {
        list[k] = summand_subst(a, x->of[i], x->of[i]->bound, n, s, with);
        k += list[k] != NULL;
    }
    return noe_sum_make(a, k, list);
}
