/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer terms that what is known decides: a quotient of what lies between 0 and the
 * divisor is 0, a choice between two terms is one of them. Bound symbols that equations
 * then determine go (lia_laws.c). Nothing is done here that a proof could not do
 * without; it is done where a first attempt has failed, since it asks many questions.
 */
#include "verifier/lia_law_tools.h"

#define MAX_ATOMS        64
#define MAX_FACTS        192
#define MAX_RANGE_BOUND  16
#define MAX_RANGE_GUARDS 96

/* A copy in the algebra's arena. */
#define KEPT(A, LIST, N) \
    noe_arena_memdup((A)->arena, LIST, (size_t)(N) * sizeof *(LIST))

typedef struct atoms {
    int n;
    uint32_t of[MAX_ATOMS]; /* inner ones first */
} atoms;

typedef struct facts {
    int n;
    noe_formula of[MAX_FACTS];
} facts;

static bool add_facts(facts *k, int n, const noe_formula *f)
{
    if (k->n + n > MAX_FACTS)
        return false;
    if (n > 0)
        memcpy(k->of + k->n, f, (size_t)n * sizeof *f);
    k->n += n;
    return true;
}

/* Atoms */

static void atoms_of_poly(const noe_algebra *a, noe_poly p, atoms *all)
{
    int n;
    const noe_monomial *m = noe_poly_monomials(a->terms, p, &n);
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(a->terms, m[i].product);
        for (uint32_t k = 0; k < product->n; k++) {
            const noe_atom *x = noe_terms_atom(a->terms, product->atom[k]);
            bool seen = x->kind == NOE_ATOM_SYMBOL;
            for (int j = 0; j < all->n && !seen; j++)
                seen = all->of[j] == product->atom[k];
            if (seen)
                continue;
            atoms_of_poly(a, x->a, all);
            atoms_of_poly(a, x->b, all);
            if (x->kind == NOE_ATOM_SELECT)
                atoms_of_poly(a, x->c, all);
            if (all->n < MAX_ATOMS && x->kind != NOE_ATOM_ENTRY)
                all->of[all->n++] = product->atom[k];
        }
    }
}

static void atoms_of_formula(const noe_algebra *a, noe_formula f, atoms *all)
{
    const noe_formula_node *n = noe_terms_formula(a->terms, f);
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
    case NOE_FORMULA_FALSE:
        return;
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ:
        atoms_of_poly(a, n->a, all);
        return;
    case NOE_FORMULA_NOT:
        atoms_of_formula(a, n->a, all);
        return;
    default:
        atoms_of_formula(a, n->a, all);
        atoms_of_formula(a, n->b, all);
    }
}

/* Of guards, reads and counts; what is inside functions comes with these. */
static void atoms_of_summand(const noe_algebra *a, const noe_summand *s, atoms *all)
{
    for (int i = 0; i < s->n_guards; i++)
        atoms_of_formula(a, s->guard[i], all);
    for (int i = 0; i < s->n_factors; i++) {
        const noe_factor *f = s->factor[i];
        for (int k = 0; f->kind == NOE_FACTOR_READ && k < f->n; k++)
            atoms_of_poly(a, f->index[k], all);
        if (f->kind == NOE_FACTOR_COUNT)
            atoms_of_poly(a, f->count, all);
    }
}

static void atoms_of_sum(const noe_algebra *a, const noe_sum *x, atoms *all)
{
    for (int i = 0; i < x->n; i++)
        atoms_of_summand(a, x->of[i], all);
}

static bool implied(noe_algebra *a, const facts *k, noe_formula f)
{
    return f != NOE_FORMULA_FALSE_ID && noe_query_implies(a->query, k->of, k->n, f);
}

static bool is_positive(noe_algebra *a, const facts *k, noe_poly p)
{
    return implied(a, k, noe_formula_ge(a->terms, p, noe_poly_int(a->terms, 1)));
}

/* a div b div c is a div (b c). */
static bool div_of_div(noe_algebra *a, const facts *k, const noe_atom *x, noe_poly *is)
{
    const noe_atom *inner = noe_poly_is_atom(a->terms, x->a);
    if (!inner || inner->kind != NOE_ATOM_DIV)
        return false;
    noe_poly from = inner->a, b = inner->b;
    if (!is_positive(a, k, b) || !is_positive(a, k, x->b))
        return false;
    *is = noe_poly_div(a->terms, from, noe_poly_mul(a->terms, b, x->b));
    return true;
}

/* What the atom is where the facts hold; false: not decided. */
static bool decide(noe_algebra *a, const facts *k, uint32_t atom, noe_poly *is)
{
    noe_terms *t = a->terms;
    noe_atom x = *noe_terms_atom(t, atom);
    noe_poly zero = noe_poly_int(t, 0), one = noe_poly_int(t, 1);
    noe_formula is_one;
    switch (x.kind) {
    case NOE_ATOM_DIV:
        *is = zero;
        if (implied(a, k, noe_formula_ge(t, x.a, zero)) &&
            implied(a, k, noe_formula_ge(t, x.b, noe_poly_plus(t, x.a, 1))))
            return true;
        return div_of_div(a, k, &x, is);
    case NOE_ATOM_SELECT:
        *is = x.b;
        if (implied(a, k, noe_formula_ge(t, x.a, zero)))
            return true;
        *is = x.c;
        return implied(a, k, noe_formula_not(t, noe_formula_ge(t, x.a, zero)));
    case NOE_ATOM_CLAMP: /* b = 0 where a = 1 will do */
        is_one = noe_formula_eq(t, x.a, one);
        *is = x.b;
        if (implied(a, k,
                    noe_formula_or(t, noe_formula_not(t, is_one),
                                   noe_formula_eq(t, x.b, zero))))
            return true;
        *is = zero;
        return implied(a, k, is_one);
    case NOE_ATOM_BROADCAST:
        is_one = noe_formula_eq(t, x.a, one);
        *is = x.b;
        if (implied(a, k, noe_formula_or(t, is_one, noe_formula_eq(t, x.a, x.b))))
            return true;
        *is = x.a;
        return implied(a, k, noe_formula_not(t, is_one));
    default:
        return false;
    }
}

/* Summands */

static const noe_factor *replace_in_factor(noe_algebra *a, const noe_factor *f,
                                           uint32_t atom, noe_poly is)
{
    if (f->kind == NOE_FACTOR_COUNT)
        return noe_factor_count(a, noe_poly_replace(a->terms, f->count, atom, is));
    if (f->kind != NOE_FACTOR_READ)
        return f;
    noe_poly *index = noe_arena_alloc(a->arena, (size_t)(f->n + 1) * sizeof *index);
    for (int i = 0; i < f->n; i++)
        index[i] = noe_poly_replace(a->terms, f->index[i], atom, is);
    return noe_factor_read(a, f->id, f->n, index);
}

/* NULL: a guard is false. */
static const noe_summand *replace(noe_algebra *a, const noe_summand *s, uint32_t atom,
                                  noe_poly is)
{
    noe_formula *g = noe_arena_alloc(a->arena, (size_t)(s->n_guards + 1) * sizeof *g);
    const noe_factor **f =
        noe_arena_alloc(a->arena, (size_t)(s->n_factors + 1) * sizeof *f);
    for (int i = 0; i < s->n_guards; i++) {
        g[i] = noe_formula_replace(a->terms, s->guard[i], atom, is);
        if (g[i] == NOE_FORMULA_FALSE_ID)
            return NULL;
    }
    for (int i = 0; i < s->n_factors; i++)
        f[i] = replace_in_factor(a, s->factor[i], atom, is);
    return noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards, g,
                            s->n_factors, f);
}

/* The guards that stay say what range the bound symbols have: an atom that only they
 * decide must not be replaced in them. So atoms are decided by the facts alone in
 * guards, and by both in factors. */
static const noe_summand *sharpen_guards(noe_algebra *a, const noe_summand *s,
                                         const facts *k)
{
    atoms all = {.n = 0};
    for (int i = 0; i < s->n_guards; i++)
        atoms_of_formula(a, s->guard[i], &all);
    for (int i = 0; i < all.n && s && !a->gave_up; i++) {
        noe_poly is;
        if (decide(a, k, all.of[i], &is))
            s = replace(a, s, all.of[i], is);
    }
    return s;
}

static bool formula_mentions_bound(const noe_algebra *a, noe_formula f)
{
    for (noe_symbol s = 0; s < noe_terms_n_symbols(a->terms); s++) {
        if (noe_symbol_is_bound(a->terms, s) && noe_formula_mentions(a->terms, f, s))
            return true;
    }
    return false;
}

static bool split_family(noe_algebra *a, noe_family *m, const facts *k);

/* Leaves out families without values, and guards that always hold; how many are left.
 */
static int drop_empty(noe_algebra *a, int n, noe_family *m, const facts *k)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        facts inside = *k;
        bool last = i + 1 == n && left == 0;
        if (!last && add_facts(&inside, m[i].n_guards, m[i].guard) &&
            noe_query_refutes(a->query, inside.of, inside.n))
            continue;
        noe_formula *g = KEPT(a, m[i].guard, m[i].n_guards);
        int n_guards = 0;
        for (int j = 0; j < m[i].n_guards; j++) {
            if (formula_mentions_bound(a, g[j]) || !implied(a, k, g[j]))
                g[n_guards++] = g[j];
        }
        m[left] = m[i];
        m[left].guard = g;
        m[left++].n_guards = n_guards;
    }
    return left;
}

/* The factor f of s as a sum, sharpened inside. */
static const noe_sum *sharpen_inside(noe_algebra *a, const noe_factor *f,
                                     const facts *k)
{
    if (f->kind == NOE_FACTOR_APPLY)
        return noe_law_apply(a, (noe_op)f->id, noe_law_sharpen(a, f->arg, k->n, k->of));
    if (f->kind != NOE_FACTOR_MAXIMUM)
        return noe_sum_of_factor(a, f);
    noe_family *m = noe_arena_memdup(a->arena, f->family, (size_t)f->n * sizeof *m);
    for (int i = 0; i < f->n; i++) {
        do {
            facts inside = *k;
            if (add_facts(&inside, m[i].n_guards, m[i].guard))
                m[i].arg = noe_law_sharpen(a, m[i].arg, inside.n, inside.of);
        } while (!a->gave_up && split_family(a, &m[i], k));
    }
    return noe_law_maximum(a, drop_empty(a, f->n, m, k), m);
}

/* Guards that follow from the facts and the others, one at a time: an atom of a guard
 * is decided by all other guards. */
static const noe_summand *sharpen_each_guard(noe_algebra *a, const noe_summand *s,
                                             const facts *k)
{
    for (int i = 0; s && i < s->n_guards && !a->gave_up; i++) {
        facts others = *k;
        atoms all = {.n = 0};
        noe_poly is;
        noe_formula guard = s->guard[i], better = guard;
        atoms_of_formula(a, guard, &all);
        if (all.n == 0)
            continue;
        for (int j = 0; j < s->n_guards; j++) {
            if (j != i && !add_facts(&others, 1, &s->guard[j]))
                return s;
        }
        for (int j = 0; j < all.n; j++) {
            if (decide(a, &others, all.of[j], &is))
                better = noe_formula_replace(a->terms, better, all.of[j], is);
        }
        if (better == guard)
            continue;
        if (better == NOE_FORMULA_FALSE_ID)
            return NULL;
        noe_formula *g =
            noe_arena_memdup(a->arena, s->guard, (size_t)s->n_guards * sizeof *g);
        g[i] = better;
        s = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards, g,
                             s->n_factors, s->factor);
        i = -1;
    }
    return s;
}

/* Do both guards bound the same symbol from the same side, g more than f does? */
static bool is_wider(noe_algebra *a, const noe_summand *s, const facts *k,
                     noe_formula f, noe_formula g)
{
    noe_terms *t = a->terms;
    noe_formula_node x = *noe_terms_formula(t, f), y = *noe_terms_formula(t, g);
    bool alike = false;
    for (int b = 0; b < s->n_bound && !alike; b++) {
        int64_t c = noe_poly_coef(t, x.a, s->bound[b]);
        alike = (c == 1 || c == -1) && noe_poly_coef(t, y.a, s->bound[b]) == c;
    }
    return alike && x.kind == NOE_FORMULA_GE && y.kind == NOE_FORMULA_GE &&
           implied(a, k, noe_formula_ge(t, x.a, y.a));
}

/* Bounds that others are within. */
static const noe_summand *drop_wider(noe_algebra *a, const noe_summand *s,
                                     const facts *k)
{
    noe_formula *g =
        noe_arena_memdup(a->arena, s->guard, (size_t)s->n_guards * sizeof *g);
    int n = s->n_guards;
    for (int i = 0; i < n && !a->gave_up; i++) {
        int j = 0;
        while (j < n && (j == i || !is_wider(a, s, k, g[i], g[j])))
            j++;
        if (j < n)
            g[i--] = g[--n];
    }
    return n == s->n_guards ? s
                            : noe_summand_make(a, s->coef, s->n_bound, s->bound, n, g,
                                               s->n_factors, s->factor);
}

static const noe_sum *sharpen_summand(noe_algebra *a, const noe_summand *s,
                                      const facts *outside)
{
    const noe_sum *by[NOE_LAW_MAX_FACTORS];
    const noe_factor *rest[NOE_LAW_MAX_FACTORS];
    int n_by = 0, n_rest = 0;
    facts k = *outside;
    s = sharpen_guards(a, s, outside);
    s = s ? sharpen_each_guard(a, s, outside) : NULL;
    if (!s)
        return noe_sum_zero(a);
    s = drop_wider(a, s, outside);
    if (!add_facts(&k, s->n_guards, s->guard) || s->n_factors > NOE_LAW_MAX_FACTORS)
        return noe_law_simplify(a, s);
    atoms all = {.n = 0};
    atoms_of_summand(a, s, &all);
    for (int i = 0; i < s->n_factors; i++) {
        const noe_factor *f = s->factor[i];
        if (f->kind == NOE_FACTOR_APPLY || f->kind == NOE_FACTOR_MAXIMUM) {
            by[n_by++] = sharpen_inside(a, f, &k);
            continue;
        }
        rest[n_rest++] = f;
    }
    for (int i = 0; i < all.n && n_rest > 0 && !a->gave_up; i++) {
        noe_poly is;
        if (!decide(a, &k, all.of[i], &is))
            continue;
        for (int j = 0; j < n_rest; j++)
            rest[j] = replace_in_factor(a, rest[j], all.of[i], is);
    }
    s = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards, s->guard,
                         n_rest, rest);
    return noe_law_times(a, s, n_by, by);
}

/* Quotients and remainders: for k from 0 to n m - 1, k div m goes from 0 to n - 1 and
 * k mod m from 0 to m - 1, and each pair is met once. */

/* What a sum or a maximum is taken over. */
typedef struct range {
    int n_bound, n_guards;
    noe_symbol bound[MAX_RANGE_BOUND];
    noe_formula guard[MAX_RANGE_GUARDS];
} range;

static bool range_of(int n_bound, const noe_symbol *bound, int n_guards,
                     const noe_formula *guard, range *r)
{
    /* with room for what a split adds */
    if (n_bound + 1 > MAX_RANGE_BOUND || n_guards + 2 > MAX_RANGE_GUARDS)
        return false;
    *r = (range){.n_bound = n_bound, .n_guards = n_guards};
    memcpy(r->bound, bound, (size_t)n_bound * sizeof *bound);
    memcpy(r->guard, guard, (size_t)n_guards * sizeof *guard);
    return true;
}

/* The guards that say 0 <= b < size. */
static bool whole_range(const noe_algebra *a, const range *r, noe_symbol b, int *low,
                        int *high, noe_poly *size)
{
    noe_terms *t = a->terms;
    noe_poly k = noe_poly_symbol(t, b);
    *low = *high = -1;
    *size = k;
    for (int i = 0; i < r->n_guards; i++) {
        noe_formula_node g = *noe_terms_formula(t, r->guard[i]);
        if (g.kind != NOE_FORMULA_GE)
            continue;
        noe_poly rest = noe_poly_plus(t, noe_poly_add(t, g.a, k), 1);
        if (g.a == k)
            *low = i;
        else if (noe_poly_coef(t, g.a, b) == -1 && !noe_poly_mentions(t, rest, b))
            *high = i, *size = rest;
    }
    return *low >= 0 && *high >= 0;
}

/* The divisor m of an atom b div m that divides the size of the range of b. */
static bool find_divisor(noe_algebra *a, const atoms *all, const facts *k, noe_symbol b,
                         noe_poly size, noe_poly *m, noe_poly *n)
{
    for (int i = 0; i < all->n; i++) {
        noe_atom x = *noe_terms_atom(a->terms, all->of[i]);
        if (x.kind == NOE_ATOM_DIV && x.a == noe_poly_symbol(a->terms, b) &&
            !noe_poly_mentions(a->terms, x.b, b) &&
            noe_poly_divides(a->terms, size, x.b, n) && is_positive(a, k, x.b)) {
            *m = x.b;
            return true;
        }
    }
    return false;
}

static void add_guard(noe_algebra *a, range *r, noe_poly x, noe_poly y)
{
    r->guard[r->n_guards++] = noe_formula_ge(a->terms, x, y);
}

/* Takes one bound symbol for two; *is says what it is then. */
static bool split_range(noe_algebra *a, range *r, const atoms *all, const facts *k,
                        noe_symbol *whole, noe_poly *is)
{
    noe_terms *t = a->terms;
    noe_poly size, m, n, zero = noe_poly_int(t, 0);
    for (int b = 0; b < r->n_bound; b++) {
        int low, high, n_left = 0;
        *whole = r->bound[b];
        if (!whole_range(a, r, *whole, &low, &high, &size) ||
            !find_divisor(a, all, k, *whole, size, &m, &n))
            continue;
        r->bound[b] = noe_terms_bound_symbol(t);
        r->bound[r->n_bound++] = noe_terms_bound_symbol(t);
        noe_poly quotient = noe_poly_symbol(t, r->bound[b]);
        noe_poly rest = noe_poly_symbol(t, r->bound[r->n_bound - 1]);
        *is = noe_poly_add(t, noe_poly_mul(t, m, quotient), rest);
        for (int i = 0; i < r->n_guards; i++) {
            if (i != low && i != high)
                r->guard[n_left++] = noe_formula_subst(t, r->guard[i], 1, whole, is);
        }
        r->n_guards = n_left;
        add_guard(a, r, quotient, zero);
        add_guard(a, r, noe_poly_plus(t, n, -1), quotient);
        add_guard(a, r, rest, zero);
        add_guard(a, r, noe_poly_plus(t, m, -1), rest);
        return true;
    }
    return false;
}

/* NULL: no bound symbol is divided so. */
static const noe_summand *split_bound(noe_algebra *a, const noe_summand *s,
                                      const facts *k)
{
    range r;
    noe_symbol whole;
    noe_poly is;
    atoms all = {.n = 0};
    atoms_of_summand(a, s, &all);
    if (!range_of(s->n_bound, s->bound, s->n_guards, s->guard, &r) ||
        !split_range(a, &r, &all, k, &whole, &is))
        return NULL;
    const noe_factor **factor =
        noe_arena_alloc(a->arena, (size_t)(s->n_factors + 1) * sizeof *factor);
    for (int i = 0; i < s->n_factors; i++)
        factor[i] = noe_factor_subst(a, s->factor[i], 1, &whole, &is);
    return noe_summand_make(a, s->coef, r.n_bound, r.bound, r.n_guards, r.guard,
                            s->n_factors, factor);
}

/* A family is split where all that it is about is in its argument. */
static bool split_family(noe_algebra *a, noe_family *m, const facts *k)
{
    range r;
    noe_symbol whole;
    noe_poly is;
    atoms all = {.n = 0};
    atoms_of_sum(a, m->arg, &all);
    if (!range_of(m->n_bound, m->bound, m->n_guards, m->guard, &r) ||
        !split_range(a, &r, &all, k, &whole, &is))
        return false;
    m->n_bound = r.n_bound;
    m->bound = KEPT(a, r.bound, r.n_bound);
    m->n_guards = r.n_guards;
    m->guard = KEPT(a, r.guard, r.n_guards);
    m->arg = noe_sum_subst(a, m->arg, 1, &whole, &is);
    return true;
}

static const noe_sum *split_bounds(noe_algebra *a, const noe_sum *x, const facts *k)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        const noe_summand *s = x->of[i], *split = split_bound(a, s, k);
        sum = noe_sum_add(a, sum,
                          split ? split_bounds(a, sharpen_summand(a, split, k), k)
                                : noe_sum_make(a, 1, &s));
    }
    return sum;
}

/* Sums over a few numbers as sums of their terms */

#define MAX_RANGE 3
#define MAX_TERMS 16

/* Both bounds of the symbol are literals, and few numbers lie between them. */
static bool literal_range(const noe_algebra *a, const noe_summand *s, noe_symbol b,
                          int64_t *lo, int64_t *hi)
{
    bool has_lo = false, has_hi = false;
    noe_terms *t = a->terms;
    for (int i = 0; i < s->n_guards; i++) {
        noe_formula_node g = *noe_terms_formula(t, s->guard[i]);
        int64_t c = g.kind == NOE_FORMULA_GE ? noe_poly_coef(t, g.a, b) : 0, rest;
        if ((c != 1 && c != -1) ||
            !noe_poly_is_int(
                t, noe_poly_sub(t, g.a, noe_poly_scale(t, noe_poly_symbol(t, b), c)),
                &rest))
            continue;
        if (c == 1) {
            *lo = !has_lo || -rest > *lo ? -rest : *lo;
            has_lo = true;
        } else {
            *hi = !has_hi || rest < *hi ? rest : *hi;
            has_hi = true;
        }
    }
    return has_lo && has_hi && *hi - *lo < MAX_RANGE;
}

/* s with the bound symbol b being i. */
static const noe_sum *at_number(noe_algebra *a, const noe_summand *s, int b, int64_t i)
{
    noe_symbol symbol = s->bound[b];
    noe_poly value = noe_poly_int(a->terms, i);
    noe_symbol *left =
        noe_arena_memdup(a->arena, s->bound, (size_t)s->n_bound * sizeof *left);
    left[b] = left[s->n_bound - 1];
    s = noe_summand_make(a, s->coef, s->n_bound - 1, left, s->n_guards, s->guard,
                         s->n_factors, s->factor);
    return noe_law_simplify_sum(
        a, noe_sum_subst(a, noe_sum_make(a, 1, &s), 1, &symbol, &value));
}

static const noe_sum *by_terms(noe_algebra *a, const noe_sum *x, int n_terms)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < x->n && !a->gave_up; i++) {
        const noe_summand *s = x->of[i];
        int64_t lo = 0, hi = 0;
        int b = 0;
        while (b < s->n_bound && !literal_range(a, s, s->bound[b], &lo, &hi))
            b++;
        if (b == s->n_bound || n_terms * (hi - lo + 1) > MAX_TERMS) {
            sum = noe_sum_add(a, sum, noe_sum_make(a, 1, &s));
            continue;
        }
        for (int64_t k = lo; k <= hi; k++)
            sum = noe_sum_add(
                a, sum,
                by_terms(a, at_number(a, s, b, k), n_terms * (int)(hi - lo + 1)));
    }
    return sum;
}

const noe_sum *noe_law_sharpen(noe_algebra *a, const noe_sum *x, int n,
                               const noe_formula *f)
{
    const noe_sum *sum = noe_sum_zero(a);
    facts k = {.n = 0};
    if (!add_facts(&k, n, f))
        return x;
    for (int i = 0; i < x->n && !a->gave_up; i++)
        sum = noe_sum_add(a, sum, sharpen_summand(a, x->of[i], &k));
    return by_terms(a, split_bounds(a, sum, &k), 1);
}

/* Conditions */

static bool mentions_bound(const noe_algebra *a, noe_poly p)
{
    for (noe_symbol s = 0; s < noe_terms_n_symbols(a->terms); s++) {
        if (noe_symbol_is_bound(a->terms, s) && noe_poly_mentions(a->terms, p, s))
            return true;
    }
    return false;
}

static noe_formula open_in_sum(noe_algebra *a, const noe_sum *x, const facts *k);

static noe_formula open_in_atoms(noe_algebra *a, const atoms *all, const facts *k)
{
    for (int i = 0; i < all->n; i++) {
        noe_atom x = *noe_terms_atom(a->terms, all->of[i]);
        if (x.kind == NOE_ATOM_DIV || mentions_bound(a, x.a))
            continue;
        noe_formula f = x.kind == NOE_ATOM_SELECT
                            ? noe_formula_ge(a->terms, x.a, noe_poly_int(a->terms, 0))
                            : noe_formula_eq(a->terms, x.a, noe_poly_int(a->terms, 1));
        if (f != NOE_FORMULA_TRUE_ID && f != NOE_FORMULA_FALSE_ID &&
            !implied(a, k, f) && !implied(a, k, noe_formula_not(a->terms, f)))
            return f;
    }
    return NOE_FORMULA_TRUE_ID;
}

/* What decides whether a family has any values, whatever its bound symbols are. */
static noe_formula open_in_guards(noe_algebra *a, const noe_family *m, const facts *k)
{
    for (int i = 0; i < m->n_guards; i++) {
        noe_formula f = m->guard[i];
        if (!formula_mentions_bound(a, f) && !implied(a, k, f) &&
            !implied(a, k, noe_formula_not(a->terms, f)))
            return f;
    }
    return NOE_FORMULA_TRUE_ID;
}

static noe_formula open_in_summand(noe_algebra *a, const noe_summand *s, const facts *k)
{
    atoms all = {.n = 0};
    atoms_of_summand(a, s, &all);
    noe_formula f = open_in_atoms(a, &all, k);
    for (int i = 0; i < s->n_factors && f == NOE_FORMULA_TRUE_ID; i++) {
        const noe_factor *g = s->factor[i];
        if (g->kind == NOE_FACTOR_APPLY)
            f = open_in_sum(a, g->arg, k);
        for (int j = 0; g->kind == NOE_FACTOR_MAXIMUM && j < g->n; j++) {
            all.n = 0;
            for (int q = 0; q < g->family[j].n_guards; q++)
                atoms_of_formula(a, g->family[j].guard[q], &all);
            if (f == NOE_FORMULA_TRUE_ID)
                f = open_in_atoms(a, &all, k);
            if (f == NOE_FORMULA_TRUE_ID)
                f = open_in_sum(a, g->family[j].arg, k);
            if (f == NOE_FORMULA_TRUE_ID)
                f = open_in_guards(a, &g->family[j], k);
        }
    }
    return f;
}

static noe_formula open_in_sum(noe_algebra *a, const noe_sum *x, const facts *k)
{
    noe_formula f = NOE_FORMULA_TRUE_ID;
    for (int i = 0; i < x->n && f == NOE_FORMULA_TRUE_ID; i++)
        f = open_in_summand(a, x->of[i], k);
    return f;
}

/* A symbol that is one of a few numbers is the least. */
static noe_formula open_number(noe_algebra *a, const facts *k)
{
    noe_terms *t = a->terms;
    for (int i = 0; i < k->n; i++) {
        int n;
        int64_t hi;
        noe_formula_node g = *noe_terms_formula(t, k->of[i]);
        const noe_monomial *m = noe_poly_monomials(t, g.a, &n);
        if (g.kind != NOE_FORMULA_GE || n > 2 || m[n - 1].coef != -1)
            continue;
        noe_poly p = noe_poly_scale(t, g.a, -1);
        for (noe_symbol s = 0; s < noe_terms_n_symbols(t); s++) {
            if (noe_poly_coef(t, p, s) != 1 || noe_symbol_is_bound(t, s) ||
                !noe_symbol_is_natural(t, s) ||
                !noe_poly_is_int(t, noe_poly_sub(t, p, noe_poly_symbol(t, s)), &hi) ||
                -hi >= MAX_RANGE)
                continue;
            for (int64_t v = 0; v <= -hi; v++) {
                noe_formula f =
                    noe_formula_eq(t, noe_poly_symbol(t, s), noe_poly_int(t, v));
                noe_formula not = noe_formula_not(t, f);
                if (!implied(a, k, f) && !implied(a, k, not ))
                    return f;
            }
        }
    }
    return NOE_FORMULA_TRUE_ID;
}

noe_formula noe_law_open_condition(noe_algebra *a, const noe_sum *x, int n,
                                   const noe_formula *f)
{
    facts k = {.n = 0};
    if (!add_facts(&k, n, f))
        return NOE_FORMULA_TRUE_ID;
    noe_formula open = open_in_sum(a, x, &k);
    return open == NOE_FORMULA_TRUE_ID ? open_number(a, &k) : open;
}
