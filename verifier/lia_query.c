/* SPDX-License-Identifier: Apache-2.0
 *
 * A question falls apart where its formulas share no symbols: the axes of a tensor are
 * mostly questions of their own, and the same one in thousands of schemes and rules.
 * Parts are looked up in a table (lia_cache.h), then a model is searched for, then Z3
 * is asked.
 *
 * One Z3 context and solver, used with push and pop. A term is translated once between
 * resets; what is known of an atom or a product is asserted in the question.
 */
#include "verifier/lia_query.h"
#include "verifier/lia_cache.h"
#include "verifier/lia_model.h"
#include <stdlib.h>
#include <stdio.h>
#include <z3.h>

#define MAX_QUESTIONS 20000 /* between resets */
#define MAX_CONTEXT   2000  /* questions until the Z3 context is replaced */

typedef struct known {
    Z3_ast *ast;
    uint32_t *stamp; /* of the last question in which its definition was asserted */
    uint32_t cap;
} known;

struct noe_query {
    noe_terms *terms;
    int64_t rlimit;
    Z3_context z3;
    Z3_solver solver;
    Z3_sort number;
    known atoms, products, formulas;
    Z3_ast *held; /* references to give back */
    uint32_t n_held, cap_held;
    noe_formula *assumed;
    uint32_t n_assumed, cap_assumed;
    noe_formula *list; /* of a question */
    uint32_t cap_list;
    uint32_t scope; /* of the question: a stamp */
    noe_query_counts count;
    noe_model *model;
    noe_cache *cache;
    int64_t in_context, spent_before;
    noe_buf *record;
};

static void ignore_error(Z3_context z3, Z3_error_code code)
{
    (void)z3;
    (void)code;
}

static void open_context(noe_query *q)
{
    Z3_config config = Z3_mk_config();
    Z3_set_param_value(config, "auto_config", "false");
    q->z3 = Z3_mk_context_rc(config);
    Z3_del_config(config);
    Z3_set_error_handler(q->z3, ignore_error);
    q->number = Z3_mk_int_sort(q->z3);
    Z3_inc_ref(q->z3, Z3_sort_to_ast(q->z3, q->number));
    q->solver = Z3_mk_simple_solver(q->z3);
    Z3_solver_inc_ref(q->z3, q->solver);
    Z3_params params = Z3_mk_params(q->z3);
    Z3_params_inc_ref(q->z3, params);
    Z3_params_set_uint(q->z3, params, Z3_mk_string_symbol(q->z3, "rlimit"),
                       (unsigned)q->rlimit);
    Z3_params_set_uint(q->z3, params, Z3_mk_string_symbol(q->z3, "random_seed"), 0);
    /* The older solver of linear arithmetic takes a fifth less for such questions. */
    Z3_params_set_uint(q->z3, params, Z3_mk_string_symbol(q->z3, "arith.solver"), 2);
    Z3_solver_set_params(q->z3, q->solver, params);
    Z3_params_dec_ref(q->z3, params);
    q->in_context = 0;
}

static int64_t spent_in_context(const noe_query *q)
{
    Z3_stats stats = Z3_solver_get_statistics(q->z3, q->solver);
    int64_t spent = 0;
    Z3_stats_inc_ref(q->z3, stats);
    for (unsigned i = 0; i < Z3_stats_size(q->z3, stats); i++) {
        if (strcmp(Z3_stats_get_key(q->z3, stats, i), "rlimit count") == 0)
            spent = Z3_stats_is_uint(q->z3, stats, i)
                        ? (int64_t)Z3_stats_get_uint_value(q->z3, stats, i)
                        : (int64_t)Z3_stats_get_double_value(q->z3, stats, i);
    }
    Z3_stats_dec_ref(q->z3, stats);
    return spent;
}

static void close_context(noe_query *q)
{
    q->spent_before += spent_in_context(q);
    Z3_solver_dec_ref(q->z3, q->solver);
    Z3_del_context(q->z3);
}

noe_query *noe_query_new(noe_terms *terms, int64_t rlimit)
{
    noe_query *q = noe_calloc(1, sizeof *q);
    q->terms = terms;
    q->rlimit = rlimit;
    q->model = noe_model_new(terms);
    q->cache = noe_cache_new(terms);
    open_context(q);
    noe_query_reset(q);
    return q;
}

static void clear_known(known *k)
{
    free(k->ast);
    free(k->stamp);
    *k = (known){0};
}

static void forget(noe_query *q)
{
    for (uint32_t i = 0; i < q->n_held; i++)
        Z3_dec_ref(q->z3, q->held[i]);
    q->n_held = 0;
    clear_known(&q->atoms);
    clear_known(&q->products);
    clear_known(&q->formulas);
}

void noe_query_reset(noe_query *q)
{
    forget(q);
    if (q->in_context > MAX_CONTEXT) {
        close_context(q);
        open_context(q);
    }
    noe_cache_reset(q->cache);
    q->n_assumed = 0;
    q->scope = 0;
    q->count = (noe_query_counts){0};
}

void noe_query_free(noe_query *q)
{
    if (!q)
        return;
    forget(q);
    close_context(q);
    noe_model_free(q->model);
    noe_cache_free(q->cache);
    free(q->list);
    free(q->held);
    free(q->assumed);
    free(q);
}

noe_query_counts noe_query_count(const noe_query *q)
{
    return q->count;
}

int64_t noe_query_rlimit(const noe_query *q)
{
    return q->spent_before + spent_in_context(q);
}

void noe_query_record(noe_query *q, noe_buf *b)
{
    q->record = b;
}

/* Translation */

static Z3_ast hold(noe_query *q, Z3_ast a)
{
    Z3_inc_ref(q->z3, a);
    NOE_PUSH(q->held, q->n_held, q->cap_held, a);
    return a;
}

static void make_room(known *k, uint32_t i)
{
    if (i < k->cap)
        return;
    uint32_t cap = k->cap ? k->cap : 128;
    while (cap <= i)
        cap *= 2;
    k->ast = noe_realloc(k->ast, cap * sizeof *k->ast);
    k->stamp = noe_realloc(k->stamp, cap * sizeof *k->stamp);
    memset(k->ast + k->cap, 0, (cap - k->cap) * sizeof *k->ast);
    memset(k->stamp + k->cap, 0, (cap - k->cap) * sizeof *k->stamp);
    k->cap = cap;
}

static Z3_ast number(noe_query *q, int64_t i)
{
    return hold(q, Z3_mk_int64(q->z3, i, q->number));
}

static Z3_ast unknown(noe_query *q, known *k, uint32_t i, char prefix)
{
    char name[24];
    make_room(k, i);
    if (!k->ast[i]) {
        snprintf(name, sizeof name, "%c%u", prefix, i);
        k->ast[i] =
            hold(q, Z3_mk_const(q->z3, Z3_mk_string_symbol(q->z3, name), q->number));
    }
    return k->ast[i];
}

static Z3_ast product_ast(noe_query *q, uint64_t product)
{
    const noe_product *p = noe_terms_product(q->terms, product);
    return p->n == 1 ? unknown(q, &q->atoms, p->atom[0], 'a')
                     : unknown(q, &q->products, (uint32_t)product, 'p');
}

static Z3_ast sum_of(noe_query *q, int n, Z3_ast *part)
{
    if (n == 1)
        return part[0];
    return hold(q, n ? Z3_mk_add(q->z3, (unsigned)n, part)
                     : Z3_mk_int64(q->z3, 0, q->number));
}

static Z3_ast poly_ast(noe_query *q, noe_poly p)
{
    int n;
    const noe_monomial *m = noe_poly_monomials(q->terms, p, &n);
    Z3_ast *part = noe_malloc((size_t)(n + 1) * sizeof *part);
    for (int i = 0; i < n; i++) {
        part[i] = number(q, m[i].coef);
        if (m[i].product == 0)
            continue;
        Z3_ast factor[2] = {part[i], product_ast(q, m[i].product)};
        part[i] = m[i].coef == 1 ? factor[1] : hold(q, Z3_mk_mul(q->z3, 2, factor));
    }
    Z3_ast sum = sum_of(q, n, part);
    free(part);
    return sum;
}

static Z3_ast formula_ast(noe_query *q, noe_formula f);

static Z3_ast make_formula_ast(noe_query *q, const noe_formula_node *n)
{
    Z3_ast kid[2];
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
        return Z3_mk_true(q->z3);
    case NOE_FORMULA_FALSE:
        return Z3_mk_false(q->z3);
    case NOE_FORMULA_GE:
        return Z3_mk_ge(q->z3, poly_ast(q, n->a), number(q, 0));
    case NOE_FORMULA_EQ:
        return Z3_mk_eq(q->z3, poly_ast(q, n->a), number(q, 0));
    case NOE_FORMULA_NOT:
        return Z3_mk_not(q->z3, formula_ast(q, n->a));
    default:
        kid[0] = formula_ast(q, n->a);
        kid[1] = formula_ast(q, n->b);
        return n->kind == NOE_FORMULA_AND ? Z3_mk_and(q->z3, 2, kid)
                                          : Z3_mk_or(q->z3, 2, kid);
    }
}

static Z3_ast formula_ast(noe_query *q, noe_formula f)
{
    make_room(&q->formulas, f);
    if (!q->formulas.ast[f]) {
        Z3_ast a = hold(q, make_formula_ast(q, noe_terms_formula(q->terms, f)));
        q->formulas.ast[f] = a;
    }
    return q->formulas.ast[f];
}

/* Definitions */

static void assert_ast(noe_query *q, Z3_ast a)
{
    Z3_solver_assert(q->z3, q->solver, hold(q, a));
}

/* Marks it for this question; false if it was. */
static bool enter(noe_query *q, known *k, uint32_t i)
{
    make_room(k, i);
    if (k->stamp[i] == q->scope)
        return false;
    k->stamp[i] = q->scope;
    return true;
}

static void define_poly(noe_query *q, noe_poly p);

static Z3_ast ge(noe_query *q, Z3_ast a, int64_t i)
{
    return hold(q, Z3_mk_ge(q->z3, a, number(q, i)));
}

static Z3_ast le(noe_query *q, Z3_ast a, int64_t i)
{
    return hold(q, Z3_mk_le(q->z3, a, number(q, i)));
}

static Z3_ast equal(noe_query *q, Z3_ast a, Z3_ast b)
{
    return hold(q, Z3_mk_eq(q->z3, a, b));
}

static Z3_ast implies(noe_query *q, Z3_ast a, Z3_ast b)
{
    return hold(q, Z3_mk_implies(q->z3, a, b));
}

static Z3_ast choose(noe_query *q, Z3_ast if_true, Z3_ast a, Z3_ast b)
{
    return hold(q, Z3_mk_ite(q->z3, if_true, a, b));
}

/* v = floor(a / b) where b >= 1: 0 <= a - b v < b; b v may be a product. */
static void define_div(noe_query *q, Z3_ast v, const noe_atom *a)
{
    int64_t literal;
    if (noe_poly_is_int(q->terms, a->b, &literal) && literal > 0) {
        assert_ast(
            q, equal(q, v,
                     hold(q, Z3_mk_div(q->z3, poly_ast(q, a->a), number(q, literal)))));
        return;
    }
    noe_poly value = noe_poly_div(q->terms, a->a, a->b);
    noe_poly rest = noe_poly_sub(q->terms, a->a, noe_poly_mul(q->terms, a->b, value));
    noe_poly room = noe_poly_plus(q->terms, noe_poly_sub(q->terms, a->b, rest), -1);
    define_poly(q, rest);
    define_poly(q, a->b);
    Z3_ast both[2] = {ge(q, poly_ast(q, rest), 0), ge(q, poly_ast(q, room), 0)};
    assert_ast(
        q, implies(q, ge(q, poly_ast(q, a->b), 1), hold(q, Z3_mk_and(q->z3, 2, both))));
}

/* v is entry y of a list: within the bounds of the list, and the same as an entry at
 * the same place. */
static void define_entry(noe_query *q, uint32_t atom, Z3_ast v, Z3_ast y)
{
    noe_atom a = *noe_terms_atom(q->terms, atom);
    noe_poly length, bound;
    int64_t list = 0;
    (void)noe_poly_is_int(q->terms, a.a, &list);
    assert_ast(q, ge(q, v, 0));
    for (int i = 0; noe_terms_nth_range(q->terms, list, i, &length, &bound); i++) {
        noe_poly room =
            noe_poly_plus(q->terms, noe_poly_sub(q->terms, length, a.b), -1);
        define_poly(q, room);
        define_poly(q, bound);
        Z3_ast inside[2] = {ge(q, y, 0), ge(q, poly_ast(q, room), 0)};
        assert_ast(q, implies(q, hold(q, Z3_mk_and(q->z3, 2, inside)),
                              hold(q, Z3_mk_lt(q->z3, v, poly_ast(q, bound)))));
    }
    for (uint32_t i = 0; i < q->atoms.cap; i++) {
        if (i == atom || !q->atoms.ast[i] ||
            (q->atoms.stamp[i] != 1 && q->atoms.stamp[i] != q->scope))
            continue;
        noe_atom other = *noe_terms_atom(q->terms, i);
        if (other.kind == NOE_ATOM_ENTRY && other.a == a.a)
            assert_ast(q, implies(q, equal(q, y, poly_ast(q, other.b)),
                                  equal(q, v, unknown(q, &q->atoms, i, 'a'))));
    }
}

static void define_atom(noe_query *q, uint32_t atom)
{
    if (!enter(q, &q->atoms, atom))
        return;
    noe_atom a = *noe_terms_atom(q->terms, atom);
    Z3_ast v = unknown(q, &q->atoms, atom, 'a');
    if (a.kind == NOE_ATOM_SYMBOL) {
        if (noe_symbol_is_natural(q->terms, a.a))
            assert_ast(q, ge(q, v, 0));
        return;
    }
    define_poly(q, a.a);
    define_poly(q, a.b);
    Z3_ast x = poly_ast(q, a.a), y = poly_ast(q, a.b);
    switch (a.kind) {
    case NOE_ATOM_DIV:
        define_div(q, v, &a);
        return;
    case NOE_ATOM_CLAMP:
        assert_ast(q,
                   equal(q, v, choose(q, equal(q, x, number(q, 1)), number(q, 0), y)));
        return;
    case NOE_ATOM_BROADCAST:
        assert_ast(q, equal(q, v, choose(q, equal(q, x, number(q, 1)), y, x)));
        return;
    case NOE_ATOM_ENTRY:
        define_entry(q, atom, v, y);
        return;
    default:
        define_poly(q, a.c);
        assert_ast(q, equal(q, v, choose(q, ge(q, x, 0), y, poly_ast(q, a.c))));
    }
}

/* p = a b: what a says of p beside b, for b >= 0. */
static void relate(noe_query *q, Z3_ast p, Z3_ast a, Z3_ast b)
{
    Z3_ast natural = ge(q, b, 0);
    for (int64_t k = -1; k <= 1; k++) {
        Z3_ast factor[2] = {number(q, k), b};
        assert_ast(q, implies(q, equal(q, a, number(q, k)),
                              equal(q, p, hold(q, Z3_mk_mul(q->z3, 2, factor)))));
    }
    for (int64_t k = -2; k <= 2; k += 4) {
        Z3_ast factor[2] = {number(q, k), b};
        Z3_ast bound = hold(q, Z3_mk_mul(q->z3, 2, factor));
        Z3_ast if_both[2] = {natural, k < 0 ? le(q, a, k) : ge(q, a, k)};
        Z3_ast then =
            hold(q, k < 0 ? Z3_mk_le(q->z3, p, bound) : Z3_mk_ge(q->z3, p, bound));
        assert_ast(q, implies(q, hold(q, Z3_mk_and(q->z3, 2, if_both)), then));
    }
}

/* Two products with a common factor d >= 0 lie as their other factors do. */
static void compare_products(noe_query *q, Z3_ast d, Z3_ast px, Z3_ast x, Z3_ast py,
                             Z3_ast y)
{
    Z3_ast natural = ge(q, d, 0);
    for (int swap = 0; swap < 2; swap++) {
        Z3_ast less = hold(q, Z3_mk_lt(q->z3, x, y));
        Z3_ast part[2] = {px, d};
        Z3_ast sum = hold(q, Z3_mk_add(q->z3, 2, part));
        Z3_ast both[2] = {natural, less};
        assert_ast(q, implies(q, hold(q, Z3_mk_and(q->z3, 2, both)),
                              hold(q, Z3_mk_le(q->z3, sum, py))));
        Z3_ast t = x;
        x = y;
        y = t;
        t = px;
        px = py;
        py = t;
    }
    assert_ast(q, implies(q, equal(q, x, y), equal(q, px, py)));
}

/* With the products of two that are defined where this one is. */
static void compare_with_others(noe_query *q, uint64_t product)
{
    noe_product p = *noe_terms_product(q->terms, product);
    for (uint32_t i = 0; i < q->products.cap; i++) {
        if (i == product || !q->products.ast[i] || q->products.stamp[i] != q->scope)
            continue;
        noe_product r = *noe_terms_product(q->terms, i);
        for (int k = 0; r.n == 2 && k < 4; k++) {
            if (p.atom[k & 1] != r.atom[k >> 1])
                continue;
            compare_products(
                q, unknown(q, &q->atoms, p.atom[k & 1], 'a'), product_ast(q, product),
                unknown(q, &q->atoms, p.atom[1 - (k & 1)], 'a'), product_ast(q, i),
                unknown(q, &q->atoms, r.atom[1 - (k >> 1)], 'a'));
            break;
        }
    }
}

static void define_product(noe_query *q, uint64_t product)
{
    const noe_product *p = noe_terms_product(q->terms, product);
    for (uint32_t i = 0; i < p->n; i++)
        define_atom(q, p->atom[i]);
    if (p->n != 2 || !enter(q, &q->products, (uint32_t)product)) {
        if (p->n > 2 && enter(q, &q->products, (uint32_t)product)) {
            Z3_ast v = product_ast(q, product);
            Z3_ast parts[NOE_PRODUCT_MAX], zero = number(q, 0);
            for (uint32_t i = 0; i < p->n; i++) {
                Z3_ast a = unknown(q, &q->atoms, p->atom[i], 'a');
                parts[i] = ge(q, a, 0);
                assert_ast(q, implies(q, equal(q, a, zero), equal(q, v, zero)));
            }
            assert_ast(q,
                       implies(q, hold(q, Z3_mk_and(q->z3, p->n, parts)), ge(q, v, 0)));
        }
        return;
    }
    Z3_ast v = product_ast(q, product);
    Z3_ast a = unknown(q, &q->atoms, p->atom[0], 'a');
    Z3_ast b = unknown(q, &q->atoms, p->atom[1], 'a');
    relate(q, v, a, b);
    if (p->atom[0] != p->atom[1])
        relate(q, v, b, a);
    compare_with_others(q, product);
}

static void define_poly(noe_query *q, noe_poly p)
{
    int n;
    noe_poly_monomials(q->terms, p, &n);
    for (int i = 0; i < n; i++) {
        uint64_t product = noe_poly_monomials(q->terms, p, &n)[i].product;
        if (product != 0)
            define_product(q, product);
    }
}

static void define_formula(noe_query *q, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(q->terms, f);
    switch (n->kind) {
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ:
        define_poly(q, n->a);
        return;
    case NOE_FORMULA_NOT:
        define_formula(q, n->a);
        return;
    case NOE_FORMULA_AND:
    case NOE_FORMULA_OR:
        define_formula(q, n->a);
        define_formula(q, n->b);
        return;
    default:
        return;
    }
}

static void assert_formula(noe_query *q, noe_formula f)
{
    define_formula(q, f);
    assert_ast(q, formula_ast(q, f));
}

/* Questions */

void noe_query_assume(noe_query *q, noe_formula f)
{
    for (uint32_t i = 0; i < q->n_assumed; i++) {
        if (q->assumed[i] == f)
            return;
    }
    NOE_PUSH(q->assumed, q->n_assumed, q->cap_assumed, f);
}

static void record(noe_query *q, Z3_lbool answer)
{
    noe_buf_printf(q->record,
                   "(set-logic QF_LIA)\n(set-info :status %s)\n%s(check-sat)\n"
                   "(reset)\n",
                   answer == Z3_L_FALSE  ? "unsat"
                   : answer == Z3_L_TRUE ? "sat"
                                         : "unknown",
                   Z3_solver_to_string(q->z3, q->solver));
}

static void assert_imbalance(noe_query *q, const noe_question *w)
{
    Z3_ast *part = noe_malloc((size_t)w->n_terms * sizeof *part);
    for (int i = 0; i < w->n_terms; i++) {
        define_formula(q, w->guard[i]);
        part[i] =
            choose(q, formula_ast(q, w->guard[i]), number(q, w->coef[i]), number(q, 0));
    }
    Z3_ast zero = equal(q, sum_of(q, w->n_terms, part), number(q, 0));
    assert_ast(q, hold(q, Z3_mk_not(q->z3, zero)));
    free(part);
}

static noe_answer ask_solver(noe_query *q, const noe_question *w)
{
    Z3_solver_push(q->z3, q->solver);
    q->scope++;
    for (int i = 0; i < w->n; i++)
        assert_formula(q, w->f[i]);
    if (w->n_terms)
        assert_imbalance(q, w);
    Z3_lbool answer = Z3_solver_check(q->z3, q->solver);
    if (q->record)
        record(q, answer);
    Z3_solver_pop(q->z3, q->solver, 1);
    q->in_context++;
    return answer == Z3_L_FALSE  ? NOE_ANSWER_REFUTED
           : answer == Z3_L_TRUE ? NOE_ANSWER_POSSIBLE
                                 : NOE_ANSWER_UNDONE;
}

/* From the table if it is there; but what is recorded is asked. */
static noe_answer answer_to(noe_query *q, const noe_question *w)
{
    noe_answer answer;
    noe_hash128 key = noe_cache_key(q->cache, w);
    /* What is known of lists is said beside the question, and is not in its key. */
    bool has_lists = noe_terms_n_ranges(q->terms) > 0;
    if (!q->record && !has_lists && noe_cache_find(q->cache, key, &answer))
        return answer;
    answer = noe_model_exists(q->model, 1, &w->f, &w->n, w->n_terms, w->coef, w->guard)
                 ? NOE_ANSWER_MODEL
                 : ask_solver(q, w);
    if (!has_lists)
        noe_cache_add(q->cache, key, answer);
    return answer;
}

static bool is_among(const noe_formula *f, int n, noe_formula goal)
{
    for (int i = 0; i < n; i++) {
        if (f[i] == goal)
            return true;
    }
    return false;
}

static bool part_refutes(noe_query *q, noe_question part)
{
    noe_answer answer = answer_to(q, &part);
    q->count.asked += answer != NOE_ANSWER_MODEL;
    q->count.undone += answer == NOE_ANSWER_UNDONE;
    return answer == NOE_ANSWER_REFUTED;
}

/* No values of the symbols satisfy f[0..n-1] and the assumptions while the guards do
 * not balance. Parts that share no symbols are asked one by one; of those with
 * assumptions alone only if there is nothing else: they contradict themselves hardly
 * ever. */
static bool refutes(noe_query *q, const noe_formula *f, int n, int n_terms,
                    const int64_t *coef, const noe_formula *guard)
{
    uint32_t most = (uint32_t)n + q->n_assumed;
    if (q->count.asked >= MAX_QUESTIONS)
        return false;
    if (most > q->cap_list) {
        q->cap_list = 2 * most;
        q->list = noe_realloc(q->list, q->cap_list * sizeof *q->list);
    }
    noe_formula *list = q->list;
    if (n)
        memcpy(list, f, (size_t)n * sizeof *list);
    if (q->n_assumed)
        memcpy(list + n, q->assumed, q->n_assumed * sizeof *list);
    int left = (int)most;
    /* What is not an assumption stays in front. */
    for (int seed = n_terms > 0 ? -1 : 0;
         seed < 0 || (left > 0 && (n + n_terms == 0 || is_among(f, n, list[0])));
         seed = 0) {
        int taken = noe_cache_gather(q->cache, left, list, seed, n_terms, guard);
        noe_question part = {taken, seed < 0 ? n_terms : 0, list, coef, guard};
        if (part_refutes(q, part))
            return true;
        list += taken;
        left -= taken;
    }
    return false;
}

bool noe_query_refutes(noe_query *q, const noe_formula *f, int n)
{
    for (int i = 0; i < n; i++) {
        if (f[i] == NOE_FORMULA_FALSE_ID ||
            is_among(f, i, noe_formula_not(q->terms, f[i])))
            return true;
    }
    return refutes(q, f, n, 0, NULL, NULL);
}

bool noe_query_implies(noe_query *q, const noe_formula *f, int n, noe_formula goal)
{
    if (goal == NOE_FORMULA_TRUE_ID || is_among(f, n, goal) ||
        is_among(q->assumed, (int)q->n_assumed, goal))
        return true;
    noe_formula *all = noe_malloc((size_t)(n + 1) * sizeof *all);
    all[0] = noe_formula_not(q->terms, goal);
    if (n)
        memcpy(all + 1, f, (size_t)n * sizeof *all);
    bool yes = refutes(q, all, n + 1, 0, NULL, NULL);
    free(all);
    return yes;
}

bool noe_query_cancels(noe_query *q, const noe_formula *f, int n, int n_terms,
                       const int64_t *coef, const noe_formula *guard)
{
    return refutes(q, f, n, n_terms, coef, guard);
}

noe_model *noe_query_model(noe_query *q, const noe_formula *f, int n, uint64_t seed)
{
    const noe_formula *lists[2] = {q->assumed, f};
    int lengths[2] = {(int)q->n_assumed, n};
    return noe_model_find(q->model, 2, lists, lengths, seed) ? q->model : NULL;
}
