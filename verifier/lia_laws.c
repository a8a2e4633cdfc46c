/* SPDX-License-Identifier: Apache-2.0
 *
 * A summand under work is a list of factors on which laws for one or two factors are
 * applied until none fits; a law that makes a sum of something starts the work again
 * for each part. Bound symbols of a summand are never those bound inside its factors:
 * products rename.
 */
#include "verifier/lia_law_tools.h"

#define MAX_BOUND  16
#define MAX_GUARDS 96

static const char *const pack_names[] = {
#define XX(ID, NAME) [NOE_LAW_##ID] = NAME,
    NOE_LAW_PACK_MAP(XX)
#undef XX
};

const char *noe_law_pack_name(noe_law_pack pack)
{
    return pack_names[pack];
}

static const noe_law laws[] = {
#define LAW(PACK, NAME, TEXT) {NOE_LAW_##PACK, #NAME, TEXT},
#include "verifier/laws.def"
#undef LAW
};

const noe_law *noe_laws(int *n)
{
    *n = sizeof laws / sizeof *laws;
    return laws;
}

/* Work on a summand */

typedef struct work {
    noe_rational coef;
    int n_bound, n_guards, n_factors;
    noe_symbol bound[MAX_BOUND];
    noe_formula guard[MAX_GUARDS];
    const noe_factor *factor[NOE_LAW_MAX_FACTORS];
} work;

static bool join(noe_algebra *a, work *w, const noe_summand *s)
{
    if (w->n_bound + s->n_bound > MAX_BOUND || w->n_guards + s->n_guards > MAX_GUARDS ||
        w->n_factors + s->n_factors > NOE_LAW_MAX_FACTORS) {
        noe_algebra_give_up(a, "a product is too large");
        return false;
    }
    w->coef = noe_rational_mul(a, w->coef, s->coef);
    for (int i = 0; i < s->n_bound; i++)
        w->bound[w->n_bound++] = s->bound[i];
    for (int i = 0; i < s->n_guards; i++)
        w->guard[w->n_guards++] = s->guard[i];
    for (int i = 0; i < s->n_factors; i++)
        w->factor[w->n_factors++] = s->factor[i];
    return true;
}

static const noe_sum *finish(noe_algebra *a, work *w);

/* The work times a sum whose free symbols may be bound in the work. */
static const noe_sum *times(noe_algebra *a, const work *w, const noe_sum *by)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < by->n && !a->gave_up; i++) {
        work part = *w;
        if (join(a, &part, noe_summand_fresh(a, by->of[i])))
            sum = noe_sum_add(a, sum, finish(a, &part));
    }
    return sum;
}

static void drop_factor(work *w, int i)
{
    w->factor[i] = w->factor[--w->n_factors];
}

/* Bound symbols */

static bool substitute(noe_algebra *a, work *w, int b, noe_poly value)
{
    noe_symbol s = w->bound[b];
    int k = 0;
    w->bound[b] = w->bound[--w->n_bound];
    for (int i = 0; i < w->n_guards; i++) {
        noe_formula g = noe_formula_subst(a->terms, w->guard[i], 1, &s, &value);
        if (g == NOE_FORMULA_FALSE_ID)
            return false;
        if (g != NOE_FORMULA_TRUE_ID)
            w->guard[k++] = g;
    }
    w->n_guards = k;
    for (int i = 0; i < w->n_factors; i++)
        w->factor[i] = noe_factor_subst(a, w->factor[i], 1, &s, &value);
    return true;
}

static noe_poly guard_poly(const noe_algebra *a, const work *w, int i,
                           noe_formula_kind kind, bool *is)
{
    const noe_formula_node *n = noe_terms_formula(a->terms, w->guard[i]);
    *is = n->kind == kind;
    return n->a;
}

/* An equation determines a bound symbol: 1 done, 0 none, -1 the summand is 0. */
static int solve_equation(noe_algebra *a, work *w)
{
    for (int i = 0; i < w->n_guards; i++) {
        bool is;
        noe_poly p = guard_poly(a, w, i, NOE_FORMULA_EQ, &is);
        for (int b = 0; is && b < w->n_bound; b++) {
            int64_t c = noe_poly_coef(a->terms, p, w->bound[b]);
            if (c != 1 && c != -1)
                continue;
            noe_poly self = noe_poly_symbol(a->terms, w->bound[b]);
            noe_poly rest =
                noe_poly_sub(a->terms, p, noe_poly_scale(a->terms, self, c));
            if (noe_poly_mentions(a->terms, rest, w->bound[b]))
                continue;
            w->guard[i] = w->guard[--w->n_guards];
            return substitute(a, w, b, noe_poly_scale(a->terms, rest, -c)) ? 1 : -1;
        }
    }
    return 0;
}

/* p >= 0 and -p >= 0 are an equation. */
static bool join_bounds(noe_algebra *a, work *w)
{
    noe_poly zero = noe_poly_int(a->terms, 0);
    for (int i = 0; i < w->n_guards; i++) {
        for (int j = i + 1; j < w->n_guards; j++) {
            bool is_i, is_j;
            noe_poly p = guard_poly(a, w, i, NOE_FORMULA_GE, &is_i);
            noe_poly q = guard_poly(a, w, j, NOE_FORMULA_GE, &is_j);
            if (!is_i || !is_j || noe_poly_add(a->terms, p, q) != zero)
                continue;
            w->guard[i] = noe_formula_eq(a->terms, p, zero);
            w->guard[j] = w->guard[--w->n_guards];
            return true;
        }
    }
    return false;
}

/* A bound symbol that only its two bounds mention counts them. */
static bool count_bound(noe_algebra *a, work *w, int b)
{
    noe_symbol s = w->bound[b];
    int at[2], n = 0;
    for (int i = 0; i < w->n_factors; i++) {
        if (noe_factor_mentions(a, w->factor[i], s))
            return false;
    }
    for (int i = 0; i < w->n_guards; i++) {
        if (!noe_formula_mentions(a->terms, w->guard[i], s))
            continue;
        if (n == 2)
            return false;
        at[n++] = i;
    }
    if (n < 2)
        return false;
    bool is[2];
    noe_poly p = guard_poly(a, w, at[0], NOE_FORMULA_GE, &is[0]);
    noe_poly q = guard_poly(a, w, at[1], NOE_FORMULA_GE, &is[1]);
    int64_t c = noe_poly_coef(a->terms, p, s);
    noe_poly count = noe_poly_plus(a->terms, noe_poly_add(a->terms, p, q), 1);
    if (!is[0] || !is[1] || (c != 1 && c != -1) ||
        noe_poly_mentions(a->terms, count, s))
        return false;
    noe_poly rest = noe_poly_sub(
        a->terms, p, noe_poly_scale(a->terms, noe_poly_symbol(a->terms, s), c));
    if (noe_poly_mentions(a->terms, rest, s) || w->n_factors == NOE_LAW_MAX_FACTORS)
        return false;
    w->guard[at[1]] = w->guard[--w->n_guards];
    w->guard[at[0]] = w->guard[--w->n_guards];
    noe_formula natural = noe_formula_ge(a->terms, count, noe_poly_int(a->terms, 0));
    w->bound[b] = w->bound[--w->n_bound];
    /* An empty range counts 0. */
    if (!noe_query_implies(a->query, w->guard, w->n_guards, natural))
        count = noe_poly_max(a->terms, count, noe_poly_int(a->terms, 0));
    w->factor[w->n_factors++] = noe_factor_count(a, count);
    noe_law_use(a, NOE_LAW_COUNT);
    return true;
}

/* false: the summand is 0. */
static bool eliminate(noe_algebra *a, work *w)
{
    for (bool more = true; more;) {
        more = false;
        for (int solved; (solved = solve_equation(a, w)) != 0; more = true) {
            if (solved < 0)
                return false;
        }
        if (join_bounds(a, w)) {
            more = true;
            continue;
        }
        for (int b = 0; b < w->n_bound && !more; b++)
            more = count_bound(a, w, b);
    }
    return true;
}

bool noe_law_tidy_family(noe_algebra *a, noe_family *m)
{
    work w = {.coef = noe_rational_one};
    const noe_factor *f = noe_factor_apply(a, NOE_OP_COUNT, m->arg);
    const noe_summand *s = noe_summand_make(a, noe_rational_one, m->n_bound, m->bound,
                                            m->n_guards, m->guard, 1, &f);
    if (!join(a, &w, s))
        return true;
    for (bool more = true; more;) {
        more = join_bounds(a, &w);
        for (int solved; (solved = solve_equation(a, &w)) != 0; more = true) {
            if (solved < 0)
                return false;
        }
    }
    m->n_bound = w.n_bound;
    m->n_guards = noe_guards_tidy(w.guard, w.n_guards);
    m->bound = noe_arena_memdup(a->arena, w.bound, (size_t)w.n_bound * sizeof *w.bound);
    m->guard =
        noe_arena_memdup(a->arena, w.guard, (size_t)w.n_guards * sizeof *w.guard);
    m->arg = w.factor[0]->arg;
    return true;
}

/* Factors */

static int find_factor(const noe_algebra *a, const work *w, const noe_factor *f,
                       int other_than)
{
    for (int i = 0; i < w->n_factors; i++) {
        if (i != other_than && noe_factor_same(a, w->factor[i], f))
            return i;
    }
    return -1;
}

/* Laws on one or two factors: true if w changed; *made is set where the result is a
 * sum. */

/* The largest integer that divides all coefficients. */
static int64_t content(const noe_algebra *a, noe_poly p)
{
    int n;
    int64_t g = 0;
    const noe_monomial *m = noe_poly_monomials(a->terms, p, &n);
    for (int i = 0; i < n; i++) {
        int64_t x = m[i].coef < 0 ? -m[i].coef : m[i].coef;
        while (x != 0) {
            int64_t r = g % x;
            g = x;
            x = r;
        }
    }
    return g;
}

static bool law_counts(noe_algebra *a, work *w, int i)
{
    const noe_factor *f = w->factor[i];
    int64_t literal, scale;
    noe_poly rest;
    if (f->kind != NOE_FACTOR_COUNT)
        return false;
    if (noe_poly_is_int(a->terms, f->count, &literal)) {
        w->coef = noe_rational_mul(a, w->coef, noe_rational_make(a, literal, 1));
        drop_factor(w, i);
        return true;
    }
    scale = content(a, f->count);
    if (scale > 1 &&
        noe_poly_divides(a->terms, f->count, noe_poly_int(a->terms, scale), &rest)) {
        w->coef = noe_rational_mul(a, w->coef, noe_rational_make(a, scale, 1));
        w->factor[i] = noe_factor_count(a, rest);
        return true;
    }
    for (int j = 0; j < w->n_factors; j++) {
        const noe_factor *g = w->factor[j];
        const noe_factor *below =
            noe_factor_is(g, NOE_OP_RECIPROCAL) ? noe_sum_lone(g->arg) : NULL;
        noe_poly q;
        bool has_count = below && below->kind == NOE_FACTOR_COUNT;
        if (has_count && noe_poly_divides(a->terms, f->count, below->count, &q)) {
            w->factor[i] = noe_factor_count(a, q);
            drop_factor(w, j);
            noe_law_use(a, NOE_LAW_DIVISION);
            return true;
        }
        if (has_count && noe_poly_divides(a->terms, below->count, f->count, &q)) {
            w->factor[j] = noe_factor_apply(
                a, NOE_OP_RECIPROCAL, noe_sum_of_factor(a, noe_factor_count(a, q)));
            drop_factor(w, i);
            noe_law_use(a, NOE_LAW_DIVISION);
            return true;
        }
        if (j > i && g->kind == NOE_FACTOR_COUNT) {
            w->factor[i] =
                noe_factor_count(a, noe_poly_mul(a->terms, f->count, g->count));
            drop_factor(w, j);
            return true;
        }
    }
    return false;
}

static bool law_reciprocals(noe_algebra *a, work *w, int i)
{
    const noe_factor *f = w->factor[i];
    if (!noe_factor_is(f, NOE_OP_RECIPROCAL))
        return false;
    const noe_factor *below = noe_sum_lone(f->arg);
    int j = below ? find_factor(a, w, below, i) : -1;
    if (j >= 0) {
        drop_factor(w, i > j ? i : j);
        drop_factor(w, i > j ? j : i);
        noe_law_use(a, NOE_LAW_DIVISION);
        return true;
    }
    for (j = 0; below && below->kind == NOE_FACTOR_COUNT && j < w->n_factors; j++) {
        const noe_factor *g = w->factor[j];
        const noe_factor *other =
            j != i && noe_factor_is(g, NOE_OP_RECIPROCAL) ? noe_sum_lone(g->arg) : NULL;
        if (!other || other->kind != NOE_FACTOR_COUNT)
            continue;
        noe_poly both = noe_poly_mul(a->terms, below->count, other->count);
        w->factor[i] = noe_factor_apply(
            a, NOE_OP_RECIPROCAL, noe_sum_of_factor(a, noe_factor_count(a, both)));
        drop_factor(w, j);
        noe_law_use(a, NOE_LAW_DIVISION);
        return true;
    }
    return false;
}

/* sqrt(x) sqrt(y) = sqrt(x y), sqrt(x) sqrt(x) = |x| */
static bool law_roots(noe_algebra *a, work *w, int i, const noe_sum **made)
{
    const noe_factor *f = w->factor[i];
    if (!noe_factor_is(f, NOE_OP_SQRT))
        return false;
    for (int j = 0; j < w->n_factors; j++) {
        const noe_factor *g = w->factor[j];
        if (j == i || !noe_factor_is(g, NOE_OP_SQRT))
            continue;
        drop_factor(w, i > j ? i : j);
        drop_factor(w, i > j ? j : i);
        noe_law_use(a, NOE_LAW_ROOT);
        *made = noe_factor_same(a, f, g)
                    ? noe_law_absolute(a, f->arg)
                    : noe_law_apply(a, NOE_OP_SQRT, noe_sum_mul(a, f->arg, g->arg));
        return true;
    }
    return false;
}

/* Takes the factors of s, all of which must be there besides factor i, out of w. */
static bool take_factors(const noe_algebra *a, work *w, const noe_summand *s,
                         const noe_factor *keep)
{
    work rest = *w;
    for (int k = 0; k < s->n_factors; k++) {
        int kept = find_factor(a, &rest, keep, -1);
        int j = find_factor(a, &rest, s->factor[k], kept);
        if (j < 0)
            return false;
        drop_factor(&rest, j);
    }
    *w = rest;
    return true;
}

/* e relu(e) = relu(e) relu(e) */
static bool law_relu(noe_algebra *a, work *w, int i)
{
    const noe_factor *f = w->factor[i];
    if (!noe_factor_is(f, NOE_OP_RELU) || f->arg->n != 1)
        return false;
    const noe_summand *e = f->arg->of[0];
    if (e->n_bound || e->n_guards || e->n_factors == 0 || e->coef.num != 1 ||
        e->coef.den != 1 || !take_factors(a, w, e, f))
        return false;
    w->factor[w->n_factors++] = f;
    noe_law_use(a, NOE_LAW_ORDER);
    return true;
}

/* sigmoid(e) exp(-e) = 1 - sigmoid(e), sigmoid(e) exp(e) = exp(e) - sigmoid(e) */
static bool law_sigmoid(noe_algebra *a, work *w, int i, const noe_sum **made)
{
    const noe_factor *f = w->factor[i];
    if (!noe_factor_is(f, NOE_OP_SIGMOID))
        return false;
    for (int sign = -1; sign <= 1; sign += 2) {
        const noe_sum *e = noe_sum_scale(a, f->arg, (noe_rational){sign, 1});
        const noe_sum *power = noe_law_apply(a, NOE_OP_EXP, e);
        if (power->n != 1 || power->of[0]->n_factors == 0 || power->of[0]->n_bound ||
            power->of[0]->n_guards || !take_factors(a, w, power->of[0], f))
            continue;
        drop_factor(w, find_factor(a, w, f, -1));
        const noe_sum *self = noe_sum_of_factor(a, f);
        *made = noe_sum_add(a, sign < 0 ? noe_sum_number(a, noe_rational_one) : power,
                            noe_sum_scale(a, self, (noe_rational){-1, 1}));
        noe_law_use(a, NOE_LAW_LOGISTIC);
        return true;
    }
    return false;
}

/* [c] [c] = [c] */
static bool law_choice(noe_algebra *a, work *w, int i)
{
    int j = noe_factor_is(w->factor[i], NOE_OP_WHERE)
                ? find_factor(a, w, w->factor[i], i)
                : -1;
    if (j >= 0)
        drop_factor(w, j);
    return j >= 0;
}

static bool apply_laws(noe_algebra *a, work *w, const noe_sum **made)
{
    for (int i = 0; i < w->n_factors; i++) {
        if (law_choice(a, w, i) || law_counts(a, w, i) || law_reciprocals(a, w, i) ||
            law_roots(a, w, i, made) || law_relu(a, w, i) || law_sigmoid(a, w, i, made))
            return true;
    }
    return false;
}

/* relu(e) times all factors of e again would not end: law_relu takes them each time. */
static const noe_sum *finish(noe_algebra *a, work *w)
{
    const noe_sum *made = NULL;
    for (int steps = 0; !a->gave_up; steps++) {
        if (w->coef.num == 0 || !eliminate(a, w))
            return noe_sum_zero(a);
        if (!apply_laws(a, w, &made))
            break;
        if (made)
            return times(a, w, made);
        if (steps > 200)
            noe_algebra_give_up(a, "laws without end");
    }
    const noe_summand *s =
        noe_summand_make(a, w->coef, w->n_bound, w->bound, w->n_guards, w->guard,
                         w->n_factors, w->factor);
    return noe_sum_make(a, 1, &s);
}

const noe_sum *noe_law_simplify(noe_algebra *a, const noe_summand *s)
{
    work w = {.coef = noe_rational_one};
    return join(a, &w, s) ? finish(a, &w) : noe_sum_zero(a);
}

const noe_sum *noe_law_simplify_sum(noe_algebra *a, const noe_sum *s)
{
    const noe_sum *sum = noe_sum_zero(a);
    for (int i = 0; i < s->n && !a->gave_up; i++)
        sum = noe_sum_add(a, sum, noe_law_simplify(a, s->of[i]));
    return sum;
}

const noe_sum *noe_law_count(noe_algebra *a, noe_poly n)
{
    work w = {.coef = noe_rational_one, .n_factors = 1};
    w.factor[0] = noe_factor_count(a, n);
    return finish(a, &w);
}

const noe_sum *noe_law_product(noe_algebra *a, const noe_summand *x,
                               const noe_summand *y)
{
    work w = {.coef = noe_rational_one};
    if (!join(a, &w, noe_summand_fresh(a, x)) || !join(a, &w, noe_summand_fresh(a, y)))
        return noe_sum_zero(a);
    return finish(a, &w);
}

/* All factors are there before a bound symbol is looked at: one may mention it. */
static const noe_sum *times_all(noe_algebra *a, work *w, int n,
                                const noe_sum *const *by)
{
    const noe_sum *sum = noe_sum_zero(a);
    if (n == 0)
        return finish(a, w);
    for (int i = 0; i < by[0]->n && !a->gave_up; i++) {
        work part = *w;
        if (join(a, &part, noe_summand_fresh(a, by[0]->of[i])))
            sum = noe_sum_add(a, sum, times_all(a, &part, n - 1, by + 1));
    }
    return sum;
}

const noe_sum *noe_law_times(noe_algebra *a, const noe_summand *s, int n,
                             const noe_sum *const *by)
{
    work w = {.coef = noe_rational_one};
    return join(a, &w, s) ? times_all(a, &w, n, by) : noe_sum_zero(a);
}
