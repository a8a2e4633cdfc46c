/* SPDX-License-Identifier: Apache-2.0
 *
 * Atoms, products, polynomials and formulas are interned by content. A polynomial is
 * its monomials by ascending product, none with coefficient 0; product 0 is empty. All
 * arithmetic is checked: an overflow makes the whole set of terms worthless, which the
 * user of the terms asks for once, at the end.
 */
#include "verifier/lia_poly.h"
#include "core/base/hash.h"
#include <stdlib.h>

#define MAX_MONOMIALS 256

typedef struct table {
    const void **item;
    size_t *bytes;
    uint32_t n, cap;
    uint32_t *slot; /* item + 1 */
    uint32_t n_slots;
} table;

typedef struct symbol {
    bool is_natural, is_defined, is_bound;
    noe_poly definition;
} symbol;

typedef struct list_range {
    int64_t list;
    noe_poly length, bound;
} list_range;

#define MAX_RANGES 32

struct noe_terms {
    noe_arena arena;
    table atoms, products, polys, formulas;
    uint64_t *atom_seen, *poly_seen; /* which symbols occur, by number modulo 64 */
    uint32_t cap_atom_seen, cap_poly_seen;
    symbol *symbols;
    uint32_t n_symbols, cap_symbols;
    bool overflowed;
    list_range range[MAX_RANGES];
    int n_ranges;
};

static void table_clear(table *t)
{
    free(t->item);
    free(t->bytes);
    free(t->slot);
    *t = (table){0};
}

static void table_grow(table *t)
{
    t->n_slots = t->n_slots ? 2 * t->n_slots : 256;
    free(t->slot);
    t->slot = noe_calloc(t->n_slots, sizeof *t->slot);
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at =
            (uint32_t)noe_hash64(t->item[i], t->bytes[i], 0) & (t->n_slots - 1);
        while (t->slot[at])
            at = (at + 1) & (t->n_slots - 1);
        t->slot[at] = i + 1;
    }
}

/* The number of the item with this content; *is_new if there was none. */
static uint32_t intern(noe_terms *all, table *t, const void *content, size_t bytes,
                       bool *is_new)
{
    if (2 * (t->n + 1) > t->n_slots)
        table_grow(t);
    uint32_t at = (uint32_t)noe_hash64(content, bytes, 0) & (t->n_slots - 1);
    *is_new = false;
    for (; t->slot[at]; at = (at + 1) & (t->n_slots - 1)) {
        uint32_t i = t->slot[at] - 1;
        if (t->bytes[i] == bytes && memcmp(t->item[i], content, bytes) == 0)
            return i;
    }
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 128;
        t->item = noe_realloc(t->item, t->cap * sizeof *t->item);
        t->bytes = noe_realloc(t->bytes, t->cap * sizeof *t->bytes);
    }
    t->item[t->n] = noe_arena_memdup(&all->arena, content, bytes);
    t->bytes[t->n] = bytes;
    t->slot[at] = t->n + 1;
    *is_new = true;
    return t->n++;
}

static void reset(noe_terms *t)
{
    bool is_new;
    noe_product one = {0};
    noe_formula_node truth[2] = {{NOE_FORMULA_TRUE, 0, 0}, {NOE_FORMULA_FALSE, 0, 0}};
    noe_arena_clear(&t->arena);
    table_clear(&t->atoms);
    table_clear(&t->products);
    table_clear(&t->polys);
    table_clear(&t->formulas);
    t->n_symbols = 0;
    t->n_ranges = 0;
    t->overflowed = false;
    intern(t, &t->products, &one, sizeof one, &is_new);
    intern(t, &t->formulas, &truth[0], sizeof *truth, &is_new);
    intern(t, &t->formulas, &truth[1], sizeof *truth, &is_new);
}

noe_terms *noe_terms_new(void)
{
    noe_terms *t = noe_calloc(1, sizeof *t);
    reset(t);
    return t;
}

void noe_terms_reset(noe_terms *t)
{
    reset(t);
}

void noe_terms_free(noe_terms *t)
{
    if (!t)
        return;
    reset(t);
    noe_arena_clear(&t->arena);
    table_clear(&t->products);
    table_clear(&t->formulas);
    free(t->atom_seen);
    free(t->poly_seen);
    free(t->symbols);
    free(t);
}

bool noe_terms_overflowed(const noe_terms *t)
{
    return t->overflowed;
}

/* Symbols */

noe_symbol noe_terms_symbol(noe_terms *t, bool is_natural)
{
    symbol s = {.is_natural = is_natural};
    NOE_PUSH(t->symbols, t->n_symbols, t->cap_symbols, s);
    return t->n_symbols - 1;
}

noe_symbol noe_terms_bound_symbol(noe_terms *t)
{
    symbol s = {.is_bound = true};
    NOE_PUSH(t->symbols, t->n_symbols, t->cap_symbols, s);
    return t->n_symbols - 1;
}

bool noe_symbol_is_bound(const noe_terms *t, noe_symbol s)
{
    return t->symbols[s].is_bound;
}

uint32_t noe_terms_n_symbols(const noe_terms *t)
{
    return t->n_symbols;
}

bool noe_symbol_is_natural(const noe_terms *t, noe_symbol s)
{
    return t->symbols[s].is_natural;
}

void noe_symbol_define(noe_terms *t, noe_symbol s, noe_poly p)
{
    NOE_ASSERT(!noe_poly_mentions(t, p, s));
    t->symbols[s].is_defined = true;
    t->symbols[s].definition = p;
}

static uint64_t bit_of(noe_symbol s)
{
    return UINT64_C(1) << (s & 63);
}

/* Making polynomials */

static const noe_monomial *monomials(const noe_terms *t, noe_poly p, int *n)
{
    *n = (int)(t->polys.bytes[p] / sizeof(noe_monomial));
    return t->polys.item[p];
}

const noe_monomial *noe_poly_monomials(const noe_terms *t, noe_poly p, int *n)
{
    return monomials(t, p, n);
}

const noe_product *noe_terms_product(const noe_terms *t, uint64_t product)
{
    return t->products.item[product];
}

const noe_atom *noe_terms_atom(const noe_terms *t, uint32_t atom)
{
    return t->atoms.item[atom];
}

static uint64_t seen_in_product(const noe_terms *t, uint64_t product)
{
    const noe_product *p = noe_terms_product(t, product);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < p->n; i++)
        seen |= t->atom_seen[p->atom[i]];
    return seen;
}

static noe_poly make_poly(noe_terms *t, const noe_monomial *m, int n)
{
    bool is_new;
    static const noe_monomial none;
    noe_poly p = intern(t, &t->polys, n ? m : &none, (size_t)n * sizeof *m, &is_new);
    if (!is_new)
        return p;
    if (p >= t->cap_poly_seen) {
        t->cap_poly_seen = t->polys.cap;
        t->poly_seen =
            noe_realloc(t->poly_seen, t->cap_poly_seen * sizeof *t->poly_seen);
    }
    t->poly_seen[p] = 0;
    for (int i = 0; i < n; i++)
        t->poly_seen[p] |= seen_in_product(t, m[i].product);
    return p;
}

static uint64_t make_product(noe_terms *t, const noe_product *p)
{
    bool is_new;
    return intern(t, &t->products, p, sizeof *p, &is_new);
}

static noe_poly make_atom(noe_terms *t, noe_atom_kind kind, uint32_t a, uint32_t b,
                          uint32_t c)
{
    bool is_new;
    noe_atom atom = {kind, a, b, c};
    uint32_t i = intern(t, &t->atoms, &atom, sizeof atom, &is_new);
    if (is_new) {
        if (i >= t->cap_atom_seen) {
            t->cap_atom_seen = t->atoms.cap;
            t->atom_seen =
                noe_realloc(t->atom_seen, t->cap_atom_seen * sizeof *t->atom_seen);
        }
        t->atom_seen[i] = kind == NOE_ATOM_SYMBOL
                              ? bit_of(a)
                              : t->poly_seen[a] | t->poly_seen[b] |
                                    (kind == NOE_ATOM_SELECT ? t->poly_seen[c] : 0);
    }
    noe_product product = {1, {i}};
    noe_monomial m = {1, make_product(t, &product)};
    return make_poly(t, &m, 1);
}

noe_poly noe_poly_int(noe_terms *t, int64_t i)
{
    noe_monomial m = {i, 0};
    return make_poly(t, &m, i != 0);
}

noe_poly noe_poly_symbol(noe_terms *t, noe_symbol s)
{
    if (!t->symbols[s].is_defined)
        return make_atom(t, NOE_ATOM_SYMBOL, s, 0, 0);
    /* The definition may mention symbols that were defined since. */
    return noe_poly_subst(t, t->symbols[s].definition, 0, NULL, NULL);
}

/* Arithmetic */

/* a + k b */
static noe_poly combine(noe_terms *t, noe_poly a, noe_poly b, int64_t k)
{
    noe_monomial out[MAX_MONOMIALS];
    int na, nb, n = 0, i = 0, j = 0;
    const noe_monomial *ma = monomials(t, a, &na), *mb = monomials(t, b, &nb);
    if (na + nb > MAX_MONOMIALS) {
        t->overflowed = true;
        return a;
    }
    while (i < na || j < nb) {
        if (j == nb || (i < na && ma[i].product < mb[j].product)) {
            out[n++] = ma[i++];
            continue;
        }
        noe_monomial m = {0, mb[j].product};
        t->overflowed |= __builtin_mul_overflow(mb[j++].coef, k, &m.coef);
        if (i < na && ma[i].product == m.product)
            t->overflowed |= __builtin_add_overflow(m.coef, ma[i++].coef, &m.coef);
        if (m.coef != 0)
            out[n++] = m;
    }
    return make_poly(t, out, n);
}

noe_poly noe_poly_add(noe_terms *t, noe_poly a, noe_poly b)
{
    return combine(t, a, b, 1);
}

noe_poly noe_poly_sub(noe_terms *t, noe_poly a, noe_poly b)
{
    return a == b ? noe_poly_int(t, 0) : combine(t, a, b, -1);
}

noe_poly noe_poly_scale(noe_terms *t, noe_poly a, int64_t k)
{
    return k == 0 ? noe_poly_int(t, 0) : combine(t, noe_poly_int(t, 0), a, k);
}

noe_poly noe_poly_plus(noe_terms *t, noe_poly a, int64_t k)
{
    return noe_poly_add(t, a, noe_poly_int(t, k));
}

static uint64_t multiply_products(noe_terms *t, uint64_t a, uint64_t b)
{
    noe_product x = *noe_terms_product(t, a), y = *noe_terms_product(t, b), z = {0};
    uint32_t i = 0, j = 0;
    if (x.n + y.n > NOE_PRODUCT_MAX) {
        t->overflowed = true;
        return 0;
    }
    while (i < x.n || j < y.n) {
        bool left = j == y.n || (i < x.n && x.atom[i] <= y.atom[j]);
        z.atom[z.n++] = left ? x.atom[i++] : y.atom[j++];
    }
    return make_product(t, &z);
}

noe_poly noe_poly_mul(noe_terms *t, noe_poly a, noe_poly b)
{
    noe_poly sum = noe_poly_int(t, 0);
    int na, nb;
    monomials(t, a, &na);
    monomials(t, b, &nb);
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            noe_monomial x = monomials(t, a, &na)[i], y = monomials(t, b, &nb)[j], m;
            t->overflowed |= __builtin_mul_overflow(x.coef, y.coef, &m.coef);
            m.product = multiply_products(t, x.product, y.product);
            if (m.coef != 0)
                sum = noe_poly_add(t, sum, make_poly(t, &m, 1));
        }
    }
    return sum;
}

/* Product a without the factors of b; false if one is missing. */
static bool divide_products(noe_terms *t, uint64_t a, uint64_t b, uint64_t *out)
{
    noe_product x = *noe_terms_product(t, a), y = *noe_terms_product(t, b), z = {0};
    uint32_t j = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        if (j < y.n && x.atom[i] == y.atom[j])
            j++;
        else
            z.atom[z.n++] = x.atom[i];
    }
    *out = j == y.n ? make_product(t, &z) : 0;
    return j == y.n;
}

/* a = b q + r, with the monomials of a that b's only monomial divides in q. */
static bool split_multiples(noe_terms *t, noe_poly a, noe_poly b, noe_poly *q,
                            noe_poly *r)
{
    int na, nb;
    *q = *r = noe_poly_int(t, 0);
    noe_monomial by = {0};
    if (monomials(t, b, &nb) && nb == 1)
        by = monomials(t, b, &nb)[0];
    if (by.coef == 0)
        return false;
    monomials(t, a, &na);
    for (int i = 0; i < na; i++) {
        noe_monomial m = monomials(t, a, &na)[i], k = {m.coef / by.coef, 0};
        if (m.coef % by.coef == 0 &&
            divide_products(t, m.product, by.product, &k.product))
            *q = noe_poly_add(t, *q, make_poly(t, &k, 1));
        else
            *r = noe_poly_add(t, *r, make_poly(t, &m, 1));
    }
    return true;
}

bool noe_poly_divides(noe_terms *t, noe_poly a, noe_poly b, noe_poly *quotient)
{
    noe_poly rest;
    if (a == b && a != noe_poly_int(t, 0)) {
        *quotient = noe_poly_int(t, 1);
        return true;
    }
    return split_multiples(t, a, b, quotient, &rest) && rest == noe_poly_int(t, 0);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

noe_poly noe_poly_div(noe_terms *t, noe_poly a, noe_poly b)
{
    int64_t x, y;
    noe_poly q, r;
    if (noe_poly_is_int(t, b, &y) && y > 0 && noe_poly_is_int(t, a, &x))
        return noe_poly_int(t, floor_div(x, y));
    if (!split_multiples(t, a, b, &q, &r))
        return make_atom(t, NOE_ATOM_DIV, a, b, 0);
    int64_t rest;
    if (noe_poly_is_int(t, r, &rest) && rest == 0)
        return q;
    /* Literal by literal: 0 <= rest < b says it all. */
    if (noe_poly_is_int(t, r, &rest) && noe_poly_is_int(t, b, &y) && y > 0)
        return noe_poly_plus(t, q, floor_div(rest, y));
    return noe_poly_add(t, q, make_atom(t, NOE_ATOM_DIV, r, b, 0));
}

noe_poly noe_poly_mod(noe_terms *t, noe_poly a, noe_poly b)
{
    return noe_poly_sub(t, a, noe_poly_mul(t, b, noe_poly_div(t, a, b)));
}

noe_poly noe_poly_select(noe_terms *t, noe_poly a, noe_poly b, noe_poly c)
{
    int64_t i;
    if (b == c)
        return b;
    if (noe_poly_is_int(t, a, &i))
        return i >= 0 ? b : c;
    if (noe_poly_is_natural(t, a))
        return b;
    if (noe_poly_is_natural(t, noe_poly_plus(t, noe_poly_scale(t, a, -1), -1)))
        return c;
    return make_atom(t, NOE_ATOM_SELECT, a, b, c);
}

noe_poly noe_poly_max(noe_terms *t, noe_poly a, noe_poly b)
{
    if (noe_poly_is_natural(t, noe_poly_sub(t, b, a)))
        return b;
    return noe_poly_select(t, noe_poly_sub(t, a, b), a, b);
}

noe_poly noe_poly_min(noe_terms *t, noe_poly a, noe_poly b)
{
    if (noe_poly_is_natural(t, noe_poly_sub(t, b, a)))
        return a;
    return noe_poly_select(t, noe_poly_sub(t, a, b), b, a);
}

noe_poly noe_poly_clamp(noe_terms *t, noe_poly dim, noe_poly index)
{
    int64_t i;
    if (noe_poly_is_int(t, dim, &i))
        return i == 1 ? noe_poly_int(t, 0) : index;
    if (noe_poly_is_int(t, index, &i) && i == 0)
        return index;
    return make_atom(t, NOE_ATOM_CLAMP, dim, index, 0);
}

noe_poly noe_poly_broadcast(noe_terms *t, noe_poly a, noe_poly b)
{
    int64_t i;
    if (a == b)
        return a;
    if (noe_poly_is_int(t, a, &i))
        return i == 1 ? b : a;
    if (noe_poly_is_int(t, b, &i) && i == 1)
        return a;
    return make_atom(t, NOE_ATOM_BROADCAST, a, b, 0);
}

/* Lists of any length */

noe_poly noe_poly_entry(noe_terms *t, int64_t list, noe_poly index)
{
    return make_atom(t, NOE_ATOM_ENTRY, noe_poly_int(t, list), index, 0);
}

int noe_terms_n_ranges(const noe_terms *t)
{
    return t->n_ranges;
}

/* What does not fit is not known: less is proved. */
void noe_terms_list_range(noe_terms *t, int64_t list, noe_poly length, noe_poly bound)
{
    for (int i = 0; i < t->n_ranges; i++) {
        const list_range *r = &t->range[i];
        if (r->list == list && r->length == length && r->bound == bound)
            return;
    }
    if (t->n_ranges < MAX_RANGES)
        t->range[t->n_ranges++] = (list_range){list, length, bound};
}

bool noe_terms_nth_range(const noe_terms *t, int64_t list, int i, noe_poly *length,
                         noe_poly *bound)
{
    for (int k = 0; k < t->n_ranges; k++) {
        if (t->range[k].list != list || i-- > 0)
            continue;
        *length = t->range[k].length;
        *bound = t->range[k].bound;
        return true;
    }
    return false;
}

/* Questions */

bool noe_poly_is_int(const noe_terms *t, noe_poly p, int64_t *i)
{
    int n;
    const noe_monomial *m = monomials(t, p, &n);
    if (n > 1 || (n == 1 && m[0].product != 0))
        return false;
    *i = n ? m[0].coef : 0;
    return true;
}

const noe_atom *noe_poly_is_atom(const noe_terms *t, noe_poly p)
{
    int n;
    const noe_monomial *m = monomials(t, p, &n);
    if (n != 1 || m[0].coef != 1)
        return NULL;
    const noe_product *product = noe_terms_product(t, m[0].product);
    return product->n == 1 ? noe_terms_atom(t, product->atom[0]) : NULL;
}

int64_t noe_poly_coef(const noe_terms *t, noe_poly p, noe_symbol s)
{
    int n;
    const noe_monomial *m = monomials(t, p, &n);
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(t, m[i].product);
        if (product->n != 1)
            continue;
        const noe_atom *a = noe_terms_atom(t, product->atom[0]);
        if (a->kind == NOE_ATOM_SYMBOL && a->a == s)
            return m[i].coef;
    }
    return 0;
}

static bool atom_mentions(const noe_terms *t, uint32_t atom, noe_symbol s)
{
    const noe_atom *a = noe_terms_atom(t, atom);
    if (!(t->atom_seen[atom] & bit_of(s)))
        return false;
    if (a->kind == NOE_ATOM_SYMBOL)
        return a->a == s;
    return noe_poly_mentions(t, a->a, s) || noe_poly_mentions(t, a->b, s) ||
           (a->kind == NOE_ATOM_SELECT && noe_poly_mentions(t, a->c, s));
}

bool noe_poly_mentions(const noe_terms *t, noe_poly p, noe_symbol s)
{
    int n;
    const noe_monomial *m = monomials(t, p, &n);
    if (!(t->poly_seen[p] & bit_of(s)))
        return false;
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(t, m[i].product);
        for (uint32_t k = 0; k < product->n; k++) {
            if (atom_mentions(t, product->atom[k], s))
                return true;
        }
    }
    return false;
}

static bool atom_is_natural(const noe_terms *t, uint32_t atom)
{
    const noe_atom *a = noe_terms_atom(t, atom);
    switch (a->kind) {
    case NOE_ATOM_SYMBOL:
        return t->symbols[a->a].is_natural;
    case NOE_ATOM_DIV:
        return noe_poly_is_natural(t, a->a); /* b >= 1 */
    case NOE_ATOM_CLAMP:
        return noe_poly_is_natural(t, a->b);
    case NOE_ATOM_BROADCAST:
        return noe_poly_is_natural(t, a->a) && noe_poly_is_natural(t, a->b);
    case NOE_ATOM_SELECT:
        return noe_poly_is_natural(t, a->b) && noe_poly_is_natural(t, a->c);
    case NOE_ATOM_ENTRY:
        return true;
    }
    return false;
}

bool noe_poly_is_natural(const noe_terms *t, noe_poly p)
{
    int n;
    const noe_monomial *m = monomials(t, p, &n);
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(t, m[i].product);
        if (m[i].coef < 0)
            return false;
        for (uint32_t k = 0; k < product->n; k++) {
            if (!atom_is_natural(t, product->atom[k]))
                return false;
        }
    }
    return true;
}

/* Substitution */

typedef struct substitution {
    int n;
    const noe_symbol *s;
    const noe_poly *with;
    uint64_t seen;
    bool replaces; /* an atom */
    uint32_t atom;
    noe_poly by;
} substitution;

static noe_poly subst(noe_terms *t, noe_poly p, const substitution *by);

static noe_poly subst_symbol(noe_terms *t, noe_symbol s, const substitution *by)
{
    for (int i = 0; i < by->n; i++) {
        if (by->s[i] == s)
            return by->with[i];
    }
    return noe_poly_symbol(t, s);
}

static noe_poly subst_atom(noe_terms *t, uint32_t atom, const substitution *by)
{
    noe_atom a = *noe_terms_atom(t, atom);
    if (by->replaces && atom == by->atom)
        return by->by;
    switch (a.kind) {
    case NOE_ATOM_SYMBOL:
        return subst_symbol(t, a.a, by);
    case NOE_ATOM_DIV:
        return noe_poly_div(t, subst(t, a.a, by), subst(t, a.b, by));
    case NOE_ATOM_CLAMP:
        return noe_poly_clamp(t, subst(t, a.a, by), subst(t, a.b, by));
    case NOE_ATOM_BROADCAST:
        return noe_poly_broadcast(t, subst(t, a.a, by), subst(t, a.b, by));
    case NOE_ATOM_SELECT:
        return noe_poly_select(t, subst(t, a.a, by), subst(t, a.b, by),
                               subst(t, a.c, by));
    case NOE_ATOM_ENTRY:
        return make_atom(t, NOE_ATOM_ENTRY, a.a, subst(t, a.b, by), 0);
    }
    return noe_poly_int(t, 0);
}

static noe_poly subst(noe_terms *t, noe_poly p, const substitution *by)
{
    int n;
    noe_poly sum = noe_poly_int(t, 0);
    /* With no symbols given, definitions made since are what is substituted. */
    if (by->n && !(t->poly_seen[p] & by->seen))
        return p;
    monomials(t, p, &n);
    for (int i = 0; i < n; i++) {
        noe_monomial m = monomials(t, p, &n)[i];
        noe_product product = *noe_terms_product(t, m.product);
        noe_poly term = noe_poly_int(t, m.coef);
        for (uint32_t k = 0; k < product.n; k++)
            term = noe_poly_mul(t, term, subst_atom(t, product.atom[k], by));
        sum = noe_poly_add(t, sum, term);
    }
    return sum;
}

noe_poly noe_poly_subst(noe_terms *t, noe_poly p, int n, const noe_symbol *s,
                        const noe_poly *with)
{
    substitution by = {.n = n, .s = s, .with = with};
    for (int i = 0; i < n; i++)
        by.seen |= bit_of(s[i]);
    return subst(t, p, &by);
}

noe_poly noe_poly_replace(noe_terms *t, noe_poly p, uint32_t atom, noe_poly with)
{
    substitution by = {.replaces = true, .atom = atom, .by = with};
    return subst(t, p, &by);
}

/* Formulas */

static noe_formula make_formula(noe_terms *t, noe_formula_kind kind, uint32_t a,
                                uint32_t b)
{
    bool is_new;
    noe_formula_node f = {kind, a, b};
    return intern(t, &t->formulas, &f, sizeof f, &is_new);
}

const noe_formula_node *noe_terms_formula(const noe_terms *t, noe_formula f)
{
    return t->formulas.item[f];
}

static noe_formula truth(bool value)
{
    return value ? NOE_FORMULA_TRUE_ID : NOE_FORMULA_FALSE_ID;
}

static noe_formula ge_zero(noe_terms *t, noe_poly p)
{
    int64_t i;
    if (noe_poly_is_int(t, p, &i))
        return truth(i >= 0);
    if (noe_poly_is_natural(t, p))
        return NOE_FORMULA_TRUE_ID;
    return make_formula(t, NOE_FORMULA_GE, p, 0);
}

/* The sign of the first monomial is made positive. */
static noe_formula eq_zero(noe_terms *t, noe_poly p)
{
    int n;
    int64_t i;
    if (noe_poly_is_int(t, p, &i))
        return truth(i == 0);
    const noe_monomial *m = monomials(t, p, &n);
    if (m[n - 1].coef < 0)
        p = noe_poly_scale(t, p, -1);
    return make_formula(t, NOE_FORMULA_EQ, p, 0);
}

noe_formula noe_formula_ge(noe_terms *t, noe_poly a, noe_poly b)
{
    return ge_zero(t, noe_poly_sub(t, a, b));
}

noe_formula noe_formula_eq(noe_terms *t, noe_poly a, noe_poly b)
{
    return eq_zero(t, noe_poly_sub(t, a, b));
}

noe_formula noe_formula_not(noe_terms *t, noe_formula f)
{
    const noe_formula_node *n = noe_terms_formula(t, f);
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
        return NOE_FORMULA_FALSE_ID;
    case NOE_FORMULA_FALSE:
        return NOE_FORMULA_TRUE_ID;
    case NOE_FORMULA_GE:
        return ge_zero(t, noe_poly_plus(t, noe_poly_scale(t, n->a, -1), -1));
    case NOE_FORMULA_NOT:
        return n->a;
    default:
        return make_formula(t, NOE_FORMULA_NOT, f, 0);
    }
}

noe_formula noe_formula_and(noe_terms *t, noe_formula f, noe_formula g)
{
    if (f == NOE_FORMULA_FALSE_ID || g == NOE_FORMULA_FALSE_ID)
        return NOE_FORMULA_FALSE_ID;
    if (f == NOE_FORMULA_TRUE_ID || f == g)
        return g;
    if (g == NOE_FORMULA_TRUE_ID)
        return f;
    return make_formula(t, NOE_FORMULA_AND, f < g ? f : g, f < g ? g : f);
}

noe_formula noe_formula_or(noe_terms *t, noe_formula f, noe_formula g)
{
    if (f == NOE_FORMULA_TRUE_ID || g == NOE_FORMULA_TRUE_ID)
        return NOE_FORMULA_TRUE_ID;
    if (f == NOE_FORMULA_FALSE_ID || f == g)
        return g;
    if (g == NOE_FORMULA_FALSE_ID)
        return f;
    return make_formula(t, NOE_FORMULA_OR, f < g ? f : g, f < g ? g : f);
}

bool noe_formula_mentions(const noe_terms *t, noe_formula f, noe_symbol s)
{
    const noe_formula_node *n = noe_terms_formula(t, f);
    switch (n->kind) {
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ:
        return noe_poly_mentions(t, n->a, s);
    case NOE_FORMULA_NOT:
        return noe_formula_mentions(t, n->a, s);
    case NOE_FORMULA_AND:
    case NOE_FORMULA_OR:
        return noe_formula_mentions(t, n->a, s) || noe_formula_mentions(t, n->b, s);
    default:
        return false;
    }
}

noe_formula noe_formula_subst(noe_terms *t, noe_formula f, int n, const noe_symbol *s,
                              const noe_poly *with)
{
    noe_formula_node node = *noe_terms_formula(t, f);
    switch (node.kind) {
    case NOE_FORMULA_GE:
        return ge_zero(t, noe_poly_subst(t, node.a, n, s, with));
    case NOE_FORMULA_EQ:
        return eq_zero(t, noe_poly_subst(t, node.a, n, s, with));
    case NOE_FORMULA_NOT:
        return noe_formula_not(t, noe_formula_subst(t, node.a, n, s, with));
    case NOE_FORMULA_AND:
        return noe_formula_and(t, noe_formula_subst(t, node.a, n, s, with),
                               noe_formula_subst(t, node.b, n, s, with));
    case NOE_FORMULA_OR:
        return noe_formula_or(t, noe_formula_subst(t, node.a, n, s, with),
                              noe_formula_subst(t, node.b, n, s, with));
    default:
        return f;
    }
}

noe_formula noe_formula_replace(noe_terms *t, noe_formula f, uint32_t atom,
                                noe_poly with)
{
    noe_formula_node node = *noe_terms_formula(t, f);
    switch (node.kind) {
    case NOE_FORMULA_GE:
        return ge_zero(t, noe_poly_replace(t, node.a, atom, with));
    case NOE_FORMULA_EQ:
        return eq_zero(t, noe_poly_replace(t, node.a, atom, with));
    case NOE_FORMULA_NOT:
        return noe_formula_not(t, noe_formula_replace(t, node.a, atom, with));
    case NOE_FORMULA_AND:
        return noe_formula_and(t, noe_formula_replace(t, node.a, atom, with),
                               noe_formula_replace(t, node.b, atom, with));
    case NOE_FORMULA_OR:
        return noe_formula_or(t, noe_formula_replace(t, node.a, atom, with),
                              noe_formula_replace(t, node.b, atom, with));
    default:
        return f;
    }
}
