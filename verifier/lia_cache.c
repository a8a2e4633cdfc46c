/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas, monomials and factors are put in the order of hashes that do not depend on
 * names, then symbols are numbered in the order in which they occur. Where hashes tie,
 * the order stays as it is: the same question may then have two keys, never two
 * questions the same one. The key is a hash of 128 bits of all that.
 */
#include "verifier/lia_cache.h"
#include "core/base/rng.h"
#include <stdlib.h>

#define N_SLOTS (1u << 17)

typedef struct slot {
    noe_hash128 key;
    bool is_used;
    noe_answer answer;
} slot;

/* By number of a term; 0: not known yet. */
typedef struct memo {
    uint64_t *hash;
    uint32_t n, cap;
} memo;

/* Symbols of a formula: n of them from pool + first. */
typedef struct symbols {
    uint32_t first, n;
    bool is_known;
} symbols;

struct noe_cache {
    const noe_terms *terms;
    slot *slot;
    memo atoms, polys, formulas;
    symbols *of; /* of each formula */
    uint32_t n_of, cap_of;
    noe_symbol *pool;
    uint32_t n_pool, cap_pool;
    uint32_t *mark; /* of each symbol: the stamp of the last walk that met it */
    uint32_t *number;
    uint32_t n_marks, stamp, next;
    int64_t *word;
    uint32_t n_words, cap_words;
};

noe_cache *noe_cache_new(const noe_terms *terms)
{
    noe_cache *c = noe_calloc(1, sizeof *c);
    c->terms = terms;
    c->slot = noe_calloc(N_SLOTS, sizeof *c->slot);
    return c;
}

void noe_cache_free(noe_cache *c)
{
    if (!c)
        return;
    free(c->slot);
    free(c->atoms.hash);
    free(c->polys.hash);
    free(c->formulas.hash);
    free(c->of);
    free(c->pool);
    free(c->mark);
    free(c->number);
    free(c->word);
    free(c);
}

static void forget(memo *m)
{
    if (m->n)
        memset(m->hash, 0, m->n * sizeof *m->hash);
    m->n = 0;
}

void noe_cache_reset(noe_cache *c)
{
    forget(&c->atoms);
    forget(&c->polys);
    forget(&c->formulas);
    if (c->n_of)
        memset(c->of, 0, c->n_of * sizeof *c->of);
    c->n_of = c->n_pool = 0;
}

/* Hashes without names */

static uint64_t *memo_at(memo *m, uint32_t i)
{
    if (i >= m->cap) {
        uint32_t cap = 2 * i + 64;
        m->hash = noe_realloc(m->hash, cap * sizeof *m->hash);
        memset(m->hash + m->cap, 0, (cap - m->cap) * sizeof *m->hash);
        m->cap = cap;
    }
    if (i >= m->n)
        m->n = i + 1;
    return &m->hash[i];
}

static uint64_t combine(uint64_t a, uint64_t b)
{
    return noe_mix64(a * UINT64_C(0x9e3779b97f4a7c15) + b) | 1;
}

static uint64_t hash_poly(noe_cache *c, noe_poly p);

static uint64_t hash_atom(noe_cache *c, uint32_t atom)
{
    uint64_t h = *memo_at(&c->atoms, atom);
    if (h)
        return h;
    noe_atom a = *noe_terms_atom(c->terms, atom);
    if (a.kind == NOE_ATOM_SYMBOL) {
        h = combine(1, noe_symbol_is_natural(c->terms, a.a));
    } else {
        h = combine(combine(2 + (uint64_t)a.kind, hash_poly(c, a.a)),
                    hash_poly(c, a.b));
        if (a.kind == NOE_ATOM_SELECT)
            h = combine(h, hash_poly(c, a.c));
    }
    return *memo_at(&c->atoms, atom) = h;
}

static uint64_t hash_product(noe_cache *c, uint64_t product)
{
    uint64_t h = 0;
    if (product == 0)
        return 3;
    noe_product p = *noe_terms_product(c->terms, product);
    for (uint32_t i = 0; i < p.n; i++)
        h += noe_mix64(hash_atom(c, p.atom[i]));
    return combine(h, p.n);
}

static uint64_t hash_monomial(noe_cache *c, const noe_monomial *m)
{
    return combine(hash_product(c, m->product), (uint64_t)m->coef);
}

static uint64_t hash_poly(noe_cache *c, noe_poly p)
{
    int n;
    uint64_t h = *memo_at(&c->polys, p);
    if (h)
        return h;
    const noe_monomial *m = noe_poly_monomials(c->terms, p, &n);
    for (int i = 0; i < n; i++)
        h += noe_mix64(hash_monomial(c, &m[i]));
    return *memo_at(&c->polys, p) = combine(h, (uint64_t)n);
}

static uint64_t hash_formula(noe_cache *c, noe_formula f)
{
    uint64_t h = *memo_at(&c->formulas, f);
    if (h)
        return h;
    noe_formula_node n = *noe_terms_formula(c->terms, f);
    h = combine(16, (uint64_t)n.kind);
    if (n.kind == NOE_FORMULA_GE || n.kind == NOE_FORMULA_EQ)
        h = combine(h, hash_poly(c, n.a));
    else if (n.kind == NOE_FORMULA_NOT)
        h = combine(h, hash_formula(c, n.a));
    else if (n.kind == NOE_FORMULA_AND || n.kind == NOE_FORMULA_OR)
        h = combine(h,
                    noe_mix64(hash_formula(c, n.a)) + noe_mix64(hash_formula(c, n.b)));
    return *memo_at(&c->formulas, f) = h;
}

/* Symbols of formulas */

static void make_marks(noe_cache *c)
{
    uint32_t n = noe_terms_n_symbols(c->terms);
    if (n > c->n_marks) {
        n = 2 * n + 64;
        c->mark = noe_realloc(c->mark, n * sizeof *c->mark);
        c->number = noe_realloc(c->number, n * sizeof *c->number);
        memset(c->mark + c->n_marks, 0, (n - c->n_marks) * sizeof *c->mark);
        c->n_marks = n;
    }
    c->stamp++;
}

static void list_poly(noe_cache *c, noe_poly p)
{
    int n;
    const noe_monomial *m = noe_poly_monomials(c->terms, p, &n);
    for (int i = 0; i < n; i++) {
        if (m[i].product == 0)
            continue;
        const noe_product *product = noe_terms_product(c->terms, m[i].product);
        for (uint32_t k = 0; k < product->n; k++) {
            const noe_atom *a = noe_terms_atom(c->terms, product->atom[k]);
            if (a->kind != NOE_ATOM_SYMBOL) {
                list_poly(c, a->a);
                list_poly(c, a->b);
                if (a->kind == NOE_ATOM_SELECT)
                    list_poly(c, a->c);
            } else if (c->mark[a->a] != c->stamp) {
                c->mark[a->a] = c->stamp;
                NOE_PUSH(c->pool, c->n_pool, c->cap_pool, a->a);
            }
        }
    }
}

static void list_formula(noe_cache *c, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(c->terms, f);
    if (n->kind == NOE_FORMULA_GE || n->kind == NOE_FORMULA_EQ)
        list_poly(c, n->a);
    else if (n->kind != NOE_FORMULA_TRUE && n->kind != NOE_FORMULA_FALSE)
        list_formula(c, n->a);
    if (n->kind == NOE_FORMULA_AND || n->kind == NOE_FORMULA_OR)
        list_formula(c, n->b);
}

static symbols symbols_of(noe_cache *c, noe_formula f)
{
    if (f >= c->cap_of) {
        uint32_t cap = 2 * f + 64;
        c->of = noe_realloc(c->of, cap * sizeof *c->of);
        memset(c->of + c->cap_of, 0, (cap - c->cap_of) * sizeof *c->of);
        c->cap_of = cap;
    }
    if (f >= c->n_of)
        c->n_of = f + 1;
    if (!c->of[f].is_known) {
        make_marks(c);
        c->of[f].first = c->n_pool;
        list_formula(c, f);
        c->of[f].n = c->n_pool - c->of[f].first;
        c->of[f].is_known = true;
    }
    return c->of[f];
}

static void mark_all(noe_cache *c, uint32_t stamp, symbols s)
{
    for (uint32_t i = 0; i < s.n; i++)
        c->mark[c->pool[s.first + i]] = stamp;
}

static bool has_mark(const noe_cache *c, uint32_t stamp, symbols s)
{
    for (uint32_t i = 0; i < s.n; i++) {
        if (c->mark[c->pool[s.first + i]] == stamp)
            return true;
    }
    return false;
}

/* Puts f[i] in place `at`, and what was between behind it. */
static void move_to(noe_formula *f, int at, int i)
{
    noe_formula x = f[i];
    memmove(f + at + 1, f + at, (size_t)(i - at) * sizeof *f);
    f[at] = x;
}

int noe_cache_gather(noe_cache *c, int n, noe_formula *f, int seed, int n_terms,
                     const noe_formula *guard)
{
    int taken = 0;
    /* First all lists, which use stamps of their own. */
    for (int i = 0; i < n; i++)
        (void)symbols_of(c, f[i]);
    for (int i = 0; i < n_terms; i++)
        (void)symbols_of(c, guard[i]);
    make_marks(c);
    for (int i = 0; i < n_terms && seed < 0; i++)
        mark_all(c, c->stamp, c->of[guard[i]]);
    if (seed >= 0) {
        mark_all(c, c->stamp, c->of[f[seed]]);
        move_to(f, taken++, seed);
    }
    for (int i = taken; i < n; i++) {
        if (!has_mark(c, c->stamp, c->of[f[i]]))
            continue;
        mark_all(c, c->stamp, c->of[f[i]]);
        move_to(f, taken++, i);
        i = taken - 1; /* others may belong to it now */
    }
    return taken;
}

/* Keys */

static void put(noe_cache *c, int64_t word)
{
    NOE_PUSH(c->word, c->n_words, c->cap_words, word);
}

typedef struct ranked {
    uint64_t hash;
    int at;
} ranked;

static void sort(ranked *r, int n)
{
    for (int i = 1; i < n; i++) {
        ranked x = r[i];
        int k = i;
        for (; k > 0 && r[k - 1].hash > x.hash; k--)
            r[k] = r[k - 1];
        r[k] = x;
    }
}

static void put_poly(noe_cache *c, noe_poly p);

static void put_atom(noe_cache *c, uint32_t atom)
{
    noe_atom a = *noe_terms_atom(c->terms, atom);
    put(c, a.kind);
    if (a.kind != NOE_ATOM_SYMBOL) {
        put_poly(c, a.a);
        put_poly(c, a.b);
        if (a.kind == NOE_ATOM_SELECT)
            put_poly(c, a.c);
        return;
    }
    if (c->mark[a.a] != c->stamp) {
        c->mark[a.a] = c->stamp;
        c->number[a.a] = c->next++;
    }
    put(c, 2 * (int64_t)c->number[a.a] + noe_symbol_is_natural(c->terms, a.a));
}

static void put_product(noe_cache *c, uint64_t product)
{
    ranked order[NOE_PRODUCT_MAX];
    if (product == 0) {
        put(c, 0);
        return;
    }
    noe_product p = *noe_terms_product(c->terms, product);
    for (uint32_t i = 0; i < p.n; i++)
        order[i] = (ranked){hash_atom(c, p.atom[i]), (int)i};
    sort(order, (int)p.n);
    put(c, p.n);
    for (uint32_t i = 0; i < p.n; i++)
        put_atom(c, p.atom[order[i].at]);
}

static void put_poly(noe_cache *c, noe_poly p)
{
    int n;
    (void)noe_poly_monomials(c->terms, p, &n);
    const noe_monomial *m = noe_poly_monomials(c->terms, p, &n);
    ranked small[32], *order = n <= 32 ? small : noe_malloc((size_t)n * sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = (ranked){hash_monomial(c, &m[i]), i};
    sort(order, n);
    put(c, n);
    for (int i = 0; i < n; i++) {
        put(c, m[order[i].at].coef);
        put_product(c, m[order[i].at].product);
    }
    if (order != small)
        free(order);
}

static void put_formula(noe_cache *c, noe_formula f)
{
    noe_formula_node n = *noe_terms_formula(c->terms, f);
    put(c, n.kind);
    switch (n.kind) {
    case NOE_FORMULA_TRUE:
    case NOE_FORMULA_FALSE:
        return;
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ:
        put_poly(c, n.a);
        return;
    case NOE_FORMULA_NOT:
        put_formula(c, n.a);
        return;
    case NOE_FORMULA_AND:
    case NOE_FORMULA_OR: {
        bool swap = hash_formula(c, n.a) > hash_formula(c, n.b);
        put_formula(c, swap ? n.b : n.a);
        put_formula(c, swap ? n.a : n.b);
    }
    }
}

noe_hash128 noe_cache_key(noe_cache *c, const noe_question *q)
{
    int most = q->n > q->n_terms ? q->n : q->n_terms;
    ranked *order = noe_malloc((size_t)(most + 1) * sizeof *order);
    for (int i = 0; i < q->n; i++)
        order[i] = (ranked){hash_formula(c, q->f[i]), i};
    sort(order, q->n);
    make_marks(c);
    c->next = 0;
    c->n_words = 0;
    put(c, q->n);
    for (int i = 0; i < q->n; i++)
        put_formula(c, q->f[order[i].at]);
    for (int i = 0; i < q->n_terms; i++)
        order[i] =
            (ranked){combine(hash_formula(c, q->guard[i]), (uint64_t)q->coef[i]), i};
    sort(order, q->n_terms);
    put(c, q->n_terms);
    for (int i = 0; i < q->n_terms; i++) {
        put(c, q->coef[order[i].at]);
        put_formula(c, q->guard[order[i].at]);
    }
    free(order);
    return noe_hash_bytes(c->word, c->n_words * sizeof *c->word);
}

/* Answers: a key has one place, the last one there stays. */

static slot *slot_of(const noe_cache *c, noe_hash128 key)
{
    return &c->slot[key.lo & (N_SLOTS - 1)];
}

bool noe_cache_find(const noe_cache *c, noe_hash128 key, noe_answer *answer)
{
    const slot *s = slot_of(c, key);
    if (!s->is_used || s->key.lo != key.lo || s->key.hi != key.hi)
        return false;
    *answer = s->answer;
    return true;
}

void noe_cache_add(noe_cache *c, noe_hash128 key, noe_answer answer)
{
    *slot_of(c, key) = (slot){key, true, answer};
}
