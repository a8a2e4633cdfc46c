/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of sums, in the form that their laws give them. Signs and scales are chosen
 * by one summand, the leader: relu(-x) = relu(x) - x, exp of a sum is a product, a
 * reciprocal of a product one of reciprocals.
 */
#include "verifier/lia_law_tools.h"

#define MAX_POWER 8

static const noe_sum *plain(noe_algebra *a, noe_op op, const noe_sum *x)
{
    return noe_sum_of_factor(a, noe_factor_apply(a, op, x));
}

static bool is_plain(const noe_summand *s)
{
    return s->n_bound == 0 && s->n_guards == 0;
}

/* The summand that stands for the sum when signs and scales are chosen. */
static const noe_summand *leader(const noe_sum *x)
{
    const noe_summand *best = x->of[0];
    for (int i = 1; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        if (s->shape < best->shape || (s->shape == best->shape && s->hash < best->hash))
            best = s;
    }
    return best;
}

static bool sum_is_positive(const noe_algebra *a, const noe_sum *s, bool strictly);

/* >= 0, or > 0, wherever it exists. */
static bool factor_is_positive(const noe_algebra *a, const noe_factor *f, bool strictly)
{
    if (f->kind == NOE_FACTOR_CONSTANT)
        return strictly ? f->bits > 0 : f->bits >= 0;
    if (f->kind == NOE_FACTOR_COUNT)
        return !strictly;
    if (f->kind != NOE_FACTOR_APPLY)
        return false;
    if (f->id == NOE_OP_EXP || f->id == NOE_OP_SIGMOID)
        return true;
    if (f->id == NOE_OP_RECIPROCAL)
        return sum_is_positive(a, f->arg, false);
    return !strictly && (f->id == NOE_OP_RELU || f->id == NOE_OP_SQRT);
}

/* All factors but equal pairs are. */
static bool summand_is_positive(const noe_algebra *a, const noe_summand *s,
                                bool strictly)
{
    if (s->coef.num < 0 || (strictly && (s->n_bound || s->n_guards)))
        return false;
    for (int i = 0; i < s->n_factors; i++) {
        if (factor_is_positive(a, s->factor[i], strictly))
            continue;
        if (strictly || i + 1 == s->n_factors ||
            !noe_factor_same(a, s->factor[i], s->factor[i + 1]))
            return false;
        i++;
    }
    return true;
}

static bool sum_is_positive(const noe_algebra *a, const noe_sum *s, bool strictly)
{
    bool some = !strictly;
    for (int i = 0; i < s->n; i++) {
        if (!summand_is_positive(a, s->of[i], false))
            return false;
        some |= summand_is_positive(a, s->of[i], true);
    }
    return some;
}

bool noe_law_is_natural(const noe_algebra *a, const noe_summand *s)
{
    return summand_is_positive(a, s, false);
}

static noe_rational absolute(noe_rational r)
{
    return (noe_rational){r.num < 0 ? -r.num : r.num, r.den};
}

/* relu(n e) = n relu(e) where n >= 0: factors of a plain summand that are, and pairs.
 * rest gets the others. */
static const noe_sum *pull_positive(noe_algebra *a, const noe_summand *s,
                                    const noe_summand **rest)
{
    const noe_factor *out[NOE_LAW_MAX_FACTORS], *in[NOE_LAW_MAX_FACTORS];
    int n_out = 0, n_in = 0;
    for (int i = 0; i < s->n_factors && i < NOE_LAW_MAX_FACTORS - 1; i++) {
        bool pair =
            i + 1 < s->n_factors && noe_factor_same(a, s->factor[i], s->factor[i + 1]);
        if (factor_is_positive(a, s->factor[i], false)) {
            out[n_out++] = s->factor[i];
        } else if (pair) {
            out[n_out++] = s->factor[i];
            out[n_out++] = s->factor[++i];
        } else {
            in[n_in++] = s->factor[i];
        }
    }
    *rest = noe_summand_make(a, noe_rational_one, 0, NULL, 0, NULL, n_in, in);
    const noe_summand *pulled =
        noe_summand_make(a, absolute(s->coef), 0, NULL, 0, NULL, n_out, out);
    return noe_sum_make(a, 1, &pulled);
}

/* f(x where the guards hold, else 0), f(0) = 0: the guards move out. */
static const noe_sum *guard_result(noe_algebra *a, const noe_sum *x,
                                   const noe_summand *guards)
{
    return noe_expr_guarded(a, noe_expr_of_sum(a, x), guards->n_guards, guards->guard)
        ->of[0]
        .sum;
}

static const noe_summand *without_guards(noe_algebra *a, const noe_summand *s)
{
    return noe_summand_make(a, s->coef, 0, NULL, 0, NULL, s->n_factors, s->factor);
}

static const noe_summand *common_factors(noe_algebra *a, const noe_sum *x,
                                         const noe_sum **rest);

/* The common factors that are >= 0; *rest is x without them. */
static const noe_sum *pull_common(noe_algebra *a, const noe_sum *x,
                                  const noe_sum **rest)
{
    const noe_sum *out = noe_sum_number(a, noe_rational_one);
    const noe_summand *common = common_factors(a, x, rest);
    for (int i = 0; i < common->n_factors; i++) {
        const noe_sum *f = noe_sum_of_factor(a, common->factor[i]);
        if (factor_is_positive(a, common->factor[i], false))
            out = noe_sum_mul(a, out, f);
        else
            *rest = noe_sum_mul(a, f, *rest);
    }
    return out;
}

static const noe_sum *apply_relu(noe_algebra *a, const noe_sum *x)
{
    if (x->n == 0 || a->gave_up)
        return x;
    noe_law_use(a, NOE_LAW_ORDER);
    if (x->n == 1 && x->of[0]->n_bound == 0 && x->of[0]->n_guards > 0) {
        const noe_summand *inner = without_guards(a, x->of[0]);
        return guard_result(a, apply_relu(a, noe_sum_make(a, 1, &inner)), x->of[0]);
    }
    if (sum_is_positive(a, x, false))
        return x;
    const noe_sum *by_maximum = noe_law_relu_of_maximum(a, x);
    if (by_maximum)
        return by_maximum;
    const noe_sum *minus = noe_sum_negated(a, x);
    if (sum_is_positive(a, minus, false))
        return noe_sum_zero(a);
    const noe_summand *lead = leader(x);
    if (lead->coef.num < 0) /* relu(-e) = relu(e) - e */
        return noe_sum_add(a, apply_relu(a, minus), x);
    if (x->n == 1 && is_plain(lead)) {
        const noe_summand *rest;
        const noe_sum *pulled = pull_positive(a, lead, &rest);
        const noe_sum *inner = noe_sum_make(a, 1, &rest);
        return noe_sum_mul(a, pulled, plain(a, NOE_OP_RELU, inner));
    }
    const noe_sum *rest;
    const noe_sum *pulled = pull_common(a, x, &rest);
    noe_rational scale = absolute(leader(rest)->coef);
    rest = noe_sum_scale(a, rest, noe_rational_inverse(a, scale));
    return noe_sum_mul(a, noe_sum_scale(a, pulled, scale), plain(a, NOE_OP_RELU, rest));
}

/* exp(c m) for c = p / q: exp(m / q) as often as p says. */
static const noe_sum *exp_of_summand(noe_algebra *a, const noe_summand *s)
{
    int64_t p = s->coef.num < 0 ? -s->coef.num : s->coef.num;
    noe_rational unit = {1, s->coef.den};
    noe_summand m = *s;
    m.coef = unit;
    if (p > MAX_POWER) {
        m.coef = absolute(s->coef);
        p = 1;
    }
    const noe_summand *list = &m;
    const noe_sum *arg = noe_sum_make(
        a, 1, &(const noe_summand *){noe_summand_scale(a, list, noe_rational_one)});
    const noe_factor *f = noe_factor_apply(a, NOE_OP_EXP, arg);
    if (s->coef.num < 0)
        f = noe_factor_apply(a, NOE_OP_RECIPROCAL, noe_sum_of_factor(a, f));
    const noe_sum *power = noe_sum_number(a, noe_rational_one);
    for (int64_t i = 0; i < p; i++)
        power = noe_sum_mul(a, power, noe_sum_of_factor(a, f));
    return power;
}

static const noe_sum *apply_exp(noe_algebra *a, const noe_sum *x)
{
    const noe_sum *product = noe_sum_number(a, noe_rational_one);
    for (int i = 0; i < x->n; i++)
        product = noe_sum_mul(a, product, exp_of_summand(a, x->of[i]));
    noe_law_use(a, NOE_LAW_EXP);
    return product;
}

/* Factors that all summands have and that do not depend on bound symbols. */
static const noe_summand *common_factors(noe_algebra *a, const noe_sum *x,
                                         const noe_sum **rest)
{
    const noe_factor *common[NOE_LAW_MAX_FACTORS];
    const noe_summand **list =
        noe_arena_memdup(a->arena, x->of, (size_t)x->n * sizeof *list);
    int n = 0;
    for (int i = 0; i < x->of[0]->n_factors && n < NOE_LAW_MAX_FACTORS; i++) {
        const noe_factor *f = x->of[0]->factor[i];
        const noe_factor **without[64];
        bool all = x->n <= 64;
        for (int k = 0; k < x->n && all; k++) {
            const noe_summand *s = list[k];
            int j = 0;
            while (j < s->n_factors && !noe_factor_same(a, s->factor[j], f))
                j++;
            all = j < s->n_factors;
            for (int b = 0; all && b < s->n_bound; b++)
                all = !noe_factor_mentions(a, f, s->bound[b]);
            if (!all)
                break;
            without[k] =
                noe_arena_alloc(a->arena, (size_t)s->n_factors * sizeof **without);
            int m = 0;
            for (int q = 0; q < s->n_factors; q++) {
                if (q != j)
                    without[k][m++] = s->factor[q];
            }
        }
        if (!all)
            continue;
        common[n++] = f;
        for (int k = 0; k < x->n; k++) {
            const noe_summand *s = list[k];
            list[k] = noe_summand_make(a, s->coef, s->n_bound, s->bound, s->n_guards,
                                       s->guard, s->n_factors - 1, without[k]);
        }
    }
    *rest = noe_sum_make(a, x->n, list);
    return noe_summand_make(a, noe_rational_one, 0, NULL, 0, NULL, n, common);
}

static const noe_sum *apply_reciprocal(noe_algebra *a, const noe_sum *x);

static const noe_sum *reciprocal_of_factor(noe_algebra *a, const noe_factor *f)
{
    noe_law_use(a, NOE_LAW_DIVISION);
    if (noe_factor_is(f, NOE_OP_RECIPROCAL))
        return f->arg;
    if (noe_factor_is(f, NOE_OP_SQRT)) {
        noe_law_use(a, NOE_LAW_ROOT);
        return noe_law_apply(a, NOE_OP_SQRT, apply_reciprocal(a, f->arg));
    }
    if (noe_factor_is(f, NOE_OP_SIGMOID)) { /* 1 + exp(-e) */
        noe_law_use(a, NOE_LAW_LOGISTIC);
        return noe_sum_add(a, noe_sum_number(a, noe_rational_one),
                           noe_law_apply(a, NOE_OP_EXP, noe_sum_negated(a, f->arg)));
    }
    return plain(a, NOE_OP_RECIPROCAL, noe_sum_of_factor(a, f));
}

static const noe_sum *reciprocal_of_factors(noe_algebra *a, const noe_summand *s)
{
    const noe_sum *product = noe_sum_number(a, noe_rational_inverse(a, s->coef));
    for (int i = 0; i < s->n_factors; i++)
        product = noe_sum_mul(a, product, reciprocal_of_factor(a, s->factor[i]));
    return product;
}

/* 1 + exp(e): e, else NULL. */
static const noe_sum *logistic_argument(noe_algebra *a, const noe_sum *x)
{
    const noe_sum *e = noe_sum_zero(a);
    const noe_summand *unit = NULL, *power = NULL;
    for (int i = 0; x->n == 2 && i < 2; i++)
        *(x->of[i]->n_factors == 0 ? &unit : &power) = x->of[i];
    if (!unit || !power || !is_plain(unit) || !is_plain(power) ||
        unit->coef.num != power->coef.num || unit->coef.den != power->coef.den)
        return NULL;
    for (int i = 0; i < power->n_factors; i++) {
        const noe_factor *f = power->factor[i];
        bool below = noe_factor_is(f, NOE_OP_RECIPROCAL);
        if (below)
            f = noe_sum_lone(f->arg);
        if (!f || !noe_factor_is(f, NOE_OP_EXP))
            return NULL;
        e = noe_sum_add(a, e, below ? noe_sum_negated(a, f->arg) : f->arg);
    }
    return e;
}

/* A factor 1 / f of some summand that none of its bound symbols varies; NULL: none. */
static const noe_factor *inner_denominator(const noe_algebra *a, const noe_sum *x)
{
    for (int i = 0; i < x->n; i++) {
        const noe_summand *s = x->of[i];
        for (int k = 0; k < s->n_factors; k++) {
            const noe_factor *f = s->factor[k];
            const noe_factor *below =
                noe_factor_is(f, NOE_OP_RECIPROCAL) ? noe_sum_lone(f->arg) : NULL;
            bool varies = false;
            for (int b = 0; below && b < s->n_bound; b++)
                varies |= noe_factor_mentions(a, f, s->bound[b]);
            if (below && !varies && !noe_factor_is(below, NOE_OP_EXP))
                return below;
        }
    }
    return NULL;
}

static const noe_sum *apply_reciprocal(noe_algebra *a, const noe_sum *x)
{
    if (a->gave_up)
        return noe_sum_zero(a);
    if (x->n == 0) /* exists nowhere */
        return plain(a, NOE_OP_RECIPROCAL, x);
    if (x->n == 1 && is_plain(x->of[0]))
        return reciprocal_of_factors(a, x->of[0]);
    const noe_sum *e = logistic_argument(a, x);
    if (e) {
        noe_law_use(a, NOE_LAW_LOGISTIC);
        return noe_sum_scale(a, noe_law_apply(a, NOE_OP_SIGMOID, noe_sum_negated(a, e)),
                             noe_rational_inverse(a, x->of[0]->coef));
    }
    const noe_factor *below = x->n > 1 ? inner_denominator(a, x) : NULL;
    if (below) { /* 1 / (y + 1 / f) = f / (f y + 1) */
        const noe_sum *f = noe_sum_of_factor(a, below);
        return noe_sum_mul(a, f, apply_reciprocal(a, noe_sum_mul(a, f, x)));
    }
    const noe_sum *rest;
    const noe_summand *common = common_factors(a, x, &rest);
    noe_rational scale = leader(rest)->coef;
    const noe_sum *inner = plain(
        a, NOE_OP_RECIPROCAL, noe_sum_scale(a, rest, noe_rational_inverse(a, scale)));
    noe_law_use(a, NOE_LAW_DIVISION);
    return noe_sum_scale(a, noe_sum_mul(a, reciprocal_of_factors(a, common), inner),
                         noe_rational_inverse(a, scale));
}

static bool is_square(int64_t n, int64_t *root)
{
    int64_t r = 0;
    while (r * r < n && r < 4096)
        r++;
    *root = r;
    return r * r == n;
}

/* |x| = 2 relu(x) - x */
const noe_sum *noe_law_absolute(noe_algebra *a, const noe_sum *x)
{
    noe_law_use(a, NOE_LAW_ORDER);
    return noe_sum_add(a, noe_sum_scale(a, apply_relu(a, x), (noe_rational){2, 1}),
                       noe_sum_negated(a, x));
}

static const noe_sum *apply_sqrt(noe_algebra *a, const noe_sum *x)
{
    int64_t p, q;
    if (x->n == 0)
        return x;
    const noe_summand *s = x->of[0];
    if (x->n == 1 && s->n_bound == 0 && s->n_guards > 0) {
        const noe_summand *inner = without_guards(a, s);
        return guard_result(a, apply_sqrt(a, noe_sum_make(a, 1, &inner)), s);
    }
    if (x->n > 1 || !is_plain(s))
        return plain(a, NOE_OP_SQRT, x);
    const noe_sum *out = noe_sum_number(a, noe_rational_one);
    const noe_factor *in[NOE_LAW_MAX_FACTORS];
    noe_rational coef = s->coef;
    int n = 0;
    if (coef.num > 0 && is_square(coef.num, &p) && is_square(coef.den, &q)) {
        out = noe_sum_number(a, noe_rational_make(a, p, q));
        coef = noe_rational_one;
    }
    for (int i = 0; i < s->n_factors && n < NOE_LAW_MAX_FACTORS; i++) {
        if (i + 1 < s->n_factors && noe_factor_same(a, s->factor[i], s->factor[i + 1]))
            out = noe_sum_mul(
                a, out, noe_law_absolute(a, noe_sum_of_factor(a, s->factor[i++])));
        else
            in[n++] = s->factor[i];
    }
    noe_law_use(a, NOE_LAW_ROOT);
    if (n == 0 && coef.num == 1 && coef.den == 1)
        return out;
    const noe_summand *rest = noe_summand_make(a, coef, 0, NULL, 0, NULL, n, in);
    return noe_sum_mul(a, out, plain(a, NOE_OP_SQRT, noe_sum_make(a, 1, &rest)));
}

static const noe_sum *apply_sigmoid(noe_algebra *a, const noe_sum *x)
{
    if (x->n == 0) {
        noe_law_use(a, NOE_LAW_LOGISTIC);
        return noe_sum_number(a, (noe_rational){1, 2});
    }
    if (leader(x)->coef.num > 0)
        return plain(a, NOE_OP_SIGMOID, x);
    noe_law_use(a, NOE_LAW_LOGISTIC);
    return noe_sum_add(
        a, noe_sum_number(a, noe_rational_one),
        noe_sum_negated(a, plain(a, NOE_OP_SIGMOID, noe_sum_negated(a, x))));
}

/* tanh(e) = 2 sigmoid(2 e) - 1 */
static const noe_sum *apply_tanh(noe_algebra *a, const noe_sum *x)
{
    noe_rational two = {2, 1};
    const noe_sum *s = apply_sigmoid(a, noe_sum_scale(a, x, two));
    noe_law_use(a, NOE_LAW_LOGISTIC);
    return noe_sum_add(a, noe_sum_scale(a, s, two),
                       noe_sum_number(a, (noe_rational){-1, 1}));
}

/* log(exp(e)) = e, also of a product of such. */
static const noe_sum *apply_log(noe_algebra *a, const noe_sum *x)
{
    const noe_sum *e = noe_sum_zero(a);
    bool all = x->n == 1 && is_plain(x->of[0]) && x->of[0]->coef.num == 1 &&
               x->of[0]->coef.den == 1;
    for (int i = 0; all && i < x->of[0]->n_factors; i++) {
        const noe_factor *f = x->of[0]->factor[i];
        bool below = noe_factor_is(f, NOE_OP_RECIPROCAL);
        if (below)
            f = noe_sum_lone(f->arg);
        all = f && noe_factor_is(f, NOE_OP_EXP);
        if (all)
            e = noe_sum_add(a, e, below ? noe_sum_negated(a, f->arg) : f->arg);
    }
    if (!all)
        return plain(a, NOE_OP_LOG, x);
    noe_law_use(a, NOE_LAW_EXP);
    return e;
}

/* erf is odd. */
static const noe_sum *apply_erf(noe_algebra *a, const noe_sum *x)
{
    if (x->n == 0)
        return x;
    if (leader(x)->coef.num > 0)
        return plain(a, NOE_OP_ERF, x);
    noe_law_use(a, NOE_LAW_LOGISTIC);
    return noe_sum_negated(a, plain(a, NOE_OP_ERF, noe_sum_negated(a, x)));
}

/* Of a cast nothing is known but that zero stays zero. */
static const noe_sum *apply_cast(noe_algebra *a, noe_op cast, const noe_sum *x)
{
    if (x->n == 0)
        return x;
    const noe_summand *s = x->of[0];
    if (x->n > 1 || s->n_bound > 0 || s->n_guards == 0)
        return plain(a, cast, x);
    const noe_summand *inner = without_guards(a, s);
    return guard_result(a, plain(a, cast, noe_sum_make(a, 1, &inner)), s);
}

/* [x]: 1 where x is not 0, else 0. A product is not 0 where no factor is. */
static const noe_sum *apply_where(noe_algebra *a, const noe_sum *x)
{
    noe_law_use(a, NOE_LAW_CHOICE);
    if (x->n == 0)
        return x;
    const noe_summand *s = x->of[0];
    if (x->n == 1 && s->n_bound == 0 && s->n_guards > 0) {
        const noe_summand *inner = without_guards(a, s);
        return guard_result(a, apply_where(a, noe_sum_make(a, 1, &inner)), s);
    }
    if (x->n > 1 || !is_plain(s)) {
        noe_rational scale = noe_rational_inverse(a, leader(x)->coef);
        return plain(a, NOE_OP_WHERE, noe_sum_scale(a, x, scale));
    }
    const noe_sum *all = noe_sum_number(a, noe_rational_one);
    for (int i = 0; i < s->n_factors; i++) {
        const noe_factor *f = s->factor[i];
        if (!factor_is_positive(a, f, true))
            all = noe_sum_mul(a, all, plain(a, NOE_OP_WHERE, noe_sum_of_factor(a, f)));
    }
    return all;
}

static const noe_sum *apply_by_choice(noe_algebra *a, noe_op op, const noe_sum *x,
                                      const noe_factor *f)
{
    noe_law_use(a, NOE_LAW_CHOICE);
    return noe_law_choose(a, f, noe_law_apply(a, op, noe_law_with_one(a, x, f)),
                          noe_law_apply(a, op, noe_law_with_zero(a, x, f)));
}

const noe_sum *noe_law_apply(noe_algebra *a, noe_op op, const noe_sum *x)
{
    if (a->gave_up)
        return noe_sum_zero(a);
    const noe_factor *choice = noe_law_choice_in(a, x);
    if (choice)
        return apply_by_choice(a, op, x, choice);
    switch ((int)op) {
    case NOE_OP_RELU:
        return apply_relu(a, x);
    case NOE_OP_EXP:
        return apply_exp(a, x);
    case NOE_OP_RECIPROCAL:
        return apply_reciprocal(a, x);
    case NOE_OP_SQRT:
        return apply_sqrt(a, x);
    case NOE_OP_SIGMOID:
        return apply_sigmoid(a, x);
    case NOE_OP_TANH:
        return apply_tanh(a, x);
    case NOE_OP_LOG:
        return apply_log(a, x);
    case NOE_OP_ERF:
        return apply_erf(a, x);
    case NOE_OP_WHERE:
        return apply_where(a, x);
    }
    return op >= NOE_FUNCTION_CAST ? apply_cast(a, op, x) : plain(a, op, x);
}
