/* SPDX-License-Identifier: Apache-2.0
 *
 * The e-graph of one proof. Terms are hash-consed twice: as they were built (exact),
 * and up to the classes of their operands (canonical); a term that is new as it is but
 * whose canonical form is known joins that class by congruence. Classes are a
 * union-find over terms, and next to it a forest records why two terms were joined: by
 * a pair, whose two sides were built term by term for the purpose, or by congruence
 * (Nieuwenhuis and Oliveras, Proof-producing congruence closure, RTA 2005). The path
 * between two terms in the forest is the derivation; congruences on it are derivations
 * of their operands.
 *
 * A round matches all enabled pairs, in both directions, against all terms and then
 * builds the other sides. The size of terms is bounded by one operator more each round,
 * so that short detours come first.
 *
 * Every class has a value at a few random points. A step between terms of different
 * values is refused: the pairs are laws of concrete shapes and parameters, and not all
 * of them hold at all the others at which they are tried here.
 *
 * Cuts and constants are matched more widely than letter by letter: a slice matches a
 * slice of the same axis and end whatever its cut, and the slices of the other side get
 * the cut that theirs was matched at; ones and zeros match in every shape.
 */
#include "generator/saturate.h"

#include "generator/prune.h"
#include "generator/rewrites.h"
#include <stdlib.h>

#define MAX_TERMS    NOE_SATURATION_MAX_TERMS
#define SLOTS_A_TERM 8 /* of a table; repairing enters terms again */
#define FILL_A_TERM  5
#define MAX_MATCHES  6000 /* of one round */
#define MAX_ELEMENTS 2000 /* of one tensor */
#define MAX_STEPS    200  /* of one derivation */
#define N_SAMPLES    2
#define MAX_IN       NOE_SPACE_MAX_IN
#define MAX_CUTS     4 /* different ones in one pair */
#define NO_TERM      UINT32_MAX

typedef struct term {
    uint32_t head, family, in[MAX_IN];
    uint32_t parent;           /* union-find */
    uint32_t link;             /* forest */
    int32_t why;               /* of the link */
    uint32_t next;             /* member of the class */
    uint32_t next_use[MAX_IN]; /* next user of operand k, as term * MAX_IN + k */
    uint8_t n_in;
    bool is_copy; /* congruent to another term when it was built */
    /* of the class, at its root: */
    uint32_t last_member, first_use, last_use;
    uint32_t constant; /* head of a constant in it */
    uint64_t families; /* of its operators, a bit each modulo 64 */
    int changed;       /* round in which it or what is below it last did */
    int n_ops;         /* of its smallest term */
    noe_type type;
    const noe_fe *data;
    uint64_t value;
} term;

enum { WHY_CONGRUENT = -1, WHY_SWAPPED = -2 };

typedef struct table {
    struct slot {
        uint32_t head, in[MAX_IN], term; /* term plus 1 */
    } slots[MAX_TERMS * SLOTS_A_TERM];
    uint32_t n, n_slots, max_n;
} table;

typedef struct found_match {
    const law *law;
    int number, from;
    uint32_t root;
    uint32_t bound[NOE_PAIR_MAX_VARS];
    uint32_t head[NOE_PAIR_MAX_NODES]; /* what the nodes of this side matched */
} found_match;

struct noe_saturation {
    noe_field fields[2]; /* by how signs are read */
    const noe_field *field;
    uint64_t seed;
    const noe_rewrites *r;
    head_list heads; /* those that r lacks; numbered after its */
    term t[MAX_TERMS];
    uint32_t n;
    table exact, canonical;
    uint32_t pending[MAX_TERMS][2];
    int32_t pending_why[MAX_TERMS];
    uint32_t n_pending;
    found_match matches[MAX_MATCHES];
    uint32_t n_matches;
    noe_arena arena;
    int max_ops, exclude, round;
    uint32_t max_terms;
    bool is_full, is_too_large, wants_why;
    found_match m; /* in progress */
    uint32_t stamp[MAX_TERMS], n_stamps;
};

/* Heads */

static const head *head_at(const noe_saturation *g, uint32_t h)
{
    return h < g->r->heads.n ? &g->r->heads.h[h] : &g->heads.h[h - g->r->heads.n];
}

static uint32_t head_of(noe_saturation *g, noe_op op, const noe_params *params)
{
    uint32_t shared = g->r->heads.n, i = noe_head_find(&g->r->heads, op, params);
    if (i != NO_TERM)
        return i;
    uint32_t h = noe_head_add(&g->heads, shared, op, params);
    /* A cut that no pair has may be of a family that pairs have. */
    noe_params general = noe_head_family_params(op, params);
    uint32_t family = noe_head_find(&g->r->heads, op, &general);
    if (family != NO_TERM)
        g->heads.h[h - shared].family = family;
    return h;
}

/* Terms and classes */

static uint32_t find(noe_saturation *g, uint32_t x)
{
    while (g->t[x].parent != x) {
        g->t[x].parent = g->t[g->t[x].parent].parent;
        x = g->t[x].parent;
    }
    return x;
}

static bool is_commutative(const noe_saturation *g, uint32_t h)
{
    return h < VARIABLE && noe_op_has(head_at(g, h)->op, NOE_TRAIT_COMMUTATIVE);
}

/* Operands that a term lacks are 0. */
static struct slot *probe(table *t, uint32_t h, const uint32_t *in)
{
    uint64_t hash = noe_mix64(((uint64_t)in[0] << 32 | in[1]) +
                              noe_mix64((uint64_t)in[2] << 32 | (h + 1u)));
    uint32_t i = (uint32_t)hash % t->n_slots;
    for (;; i = i + 1 == t->n_slots ? 0 : i + 1) {
        struct slot *s = &t->slots[i];
        if (!s->term || (s->head == h && memcmp(s->in, in, sizeof s->in) == 0))
            return s;
    }
}

static void enter(noe_saturation *g, table *t, struct slot *s, uint32_t h,
                  const uint32_t *in, uint32_t id)
{
    if (t->n >= t->max_n) {
        g->is_full = true;
        return;
    }
    t->n += !s->term;
    *s = (struct slot){h, {in[0], in[1], in[2]}, id + 1};
}

/* The slot of the canonical form; *swapped says that operands were exchanged for it. */
static struct slot *probe_canonical(noe_saturation *g, uint32_t h, const uint32_t *in,
                                    int n_in, uint32_t key[MAX_IN], bool *swapped)
{
    for (int k = 0; k < MAX_IN; k++)
        key[k] = k < n_in ? find(g, in[k]) : 0;
    *swapped = n_in == 2 && key[1] < key[0] && is_commutative(g, h);
    if (*swapped) {
        uint32_t k = key[0];
        key[0] = key[1];
        key[1] = k;
    }
    return probe(&g->canonical, h, key);
}

/* Whether x and y, congruent, have their operands crosswise. */
static bool is_crosswise(noe_saturation *g, uint32_t x, uint32_t y)
{
    const term *a = &g->t[x], *b = &g->t[y];
    return a->n_in == 2 && !(find(g, a->in[0]) == find(g, b->in[0]) &&
                             find(g, a->in[1]) == find(g, b->in[1]));
}

static void fill_random(noe_saturation *g, uint32_t var, noe_fe *to, int64_t n)
{
    noe_rng rng = noe_rng_split(g->seed, "egraph", var);
    for (int64_t i = 0; i < n * N_SAMPLES; i++)
        to[i] = noe_fe_draw(g->field, &rng);
}

static void eval_term(noe_saturation *g, term *t, const noe_type *var)
{
    int64_t n = noe_shape_elements(&t->type.shape);
    noe_fe *to = noe_arena_alloc(&g->arena, (size_t)n * N_SAMPLES * sizeof *to);
    t->data = to;
    if (var)
        fill_random(g, t->head - VARIABLE, to, n);
    for (int q = 0; q < N_SAMPLES && !var; q++) {
        noe_tensor_fe in[MAX_IN], out = {t->type.shape, to + q * n};
        for (int k = 0; k < t->n_in; k++) {
            const term *x = &g->t[find(g, t->in[k])];
            in[k] = (noe_tensor_fe){x->type.shape,
                                    (noe_fe *)x->data +
                                        q * noe_shape_elements(&x->type.shape)};
        }
        const head *h = head_at(g, t->head);
        noe_eval_fe(g->field, h->op, &h->params, in, t->n_in, &out);
    }
    /* Only u counts as the value. */
    uint64_t hash = 0;
    for (int64_t i = 0; i < n * N_SAMPLES; i++)
        hash = noe_mix64(hash + to[i].u + 1);
    t->value = hash;
}

/* Shape and size of head(in...); false if it is ill-typed or too large. */
static bool describe(noe_saturation *g, term *t)
{
    noe_type types[MAX_IN], out;
    t->n_ops = t->n_in > 0;
    for (int k = 0; k < t->n_in; k++) {
        const term *x = &g->t[find(g, t->in[k])];
        t->n_ops += x->n_ops;
        types[k] = x->type;
    }
    if (t->n_ops > g->max_ops) {
        g->is_too_large = true;
        return false;
    }
    const head *h = head_at(g, t->head);
    if (noe_op_infer(h->op, &h->params, types, t->n_in, &out, NULL) != NOE_OK)
        return false;
    int64_t n = noe_shape_elements(&out.shape);
    t->type = out;
    return n > 0 && n <= MAX_ELEMENTS;
}

static void add_user(noe_saturation *g, uint32_t class, uint32_t at)
{
    term *c = &g->t[class];
    if (c->last_use == NO_TERM)
        c->first_use = at;
    else
        g->t[c->last_use / MAX_IN].next_use[c->last_use % MAX_IN] = at;
    c->last_use = at;
}

/* The term head(in...) as it stands, built if new; NO_TERM if it cannot be. var is the
 * type of a variable. */
static uint32_t add_term(noe_saturation *g, uint32_t h, const uint32_t *in, int n_in,
                         const noe_type *var)
{
    uint32_t own[MAX_IN] = {0}, key[MAX_IN];
    for (int k = 0; k < n_in; k++) {
        if (in[k] == NO_TERM)
            return NO_TERM;
        own[k] = in[k];
    }
    struct slot *exact = probe(&g->exact, h, own);
    if (exact->term)
        return exact->term - 1;
    if (g->n == g->max_terms) {
        g->is_full = true;
        return NO_TERM;
    }
    bool swapped;
    uint32_t id = g->n;
    struct slot *s = probe_canonical(g, h, in, n_in, key, &swapped);
    term *t = &g->t[id];
    *t = (term){.head = h,
                .in = {own[0], own[1], own[2]},
                .n_in = (uint8_t)n_in,
                .parent = id,
                .link = NO_TERM,
                .next = NO_TERM,
                .next_use = {NO_TERM, NO_TERM, NO_TERM},
                .last_member = id,
                .first_use = NO_TERM,
                .last_use = NO_TERM,
                .constant = NO_TERM,
                .changed = g->round};
    if (n_in) {
        t->family = head_at(g, h)->family;
        t->families = noe_family_bit(t->family);
    }
    if (s->term) {
        t->is_copy = true;
        t->link = s->term - 1;
        t->why = is_crosswise(g, id, s->term - 1) ? WHY_SWAPPED : WHY_CONGRUENT;
        t->parent = find(g, s->term - 1);
    } else {
        if (var)
            t->type = *var;
        else if (!describe(g, t))
            return NO_TERM;
        if (n_in == 0 && !var)
            t->constant = h;
        eval_term(g, t, var);
        enter(g, &g->canonical, s, h, key, id);
        for (int k = 0; k < n_in; k++)
            add_user(g, find(g, in[k]), id * MAX_IN + (uint32_t)k);
    }
    enter(g, &g->exact, exact, h, own, id);
    g->n++;
    return id;
}

/* Makes x the root of its tree in the forest. */
static void reroot(noe_saturation *g, uint32_t x)
{
    uint32_t to = NO_TERM;
    int32_t why = 0;
    while (x != NO_TERM) {
        term *t = &g->t[x];
        uint32_t next = t->link;
        int32_t next_why = t->why;
        t->link = to;
        t->why = why;
        to = x;
        why = next_why < 0 ? next_why : next_why ^ 1;
        x = next;
    }
}

/* The users of a class that is no root any more: those that are now congruent to others
 * are to be joined with them. */
static void repair(noe_saturation *g, uint32_t old)
{
    for (uint32_t at = g->t[old].first_use; at != NO_TERM;) {
        uint32_t id = at / MAX_IN, key[MAX_IN];
        const term *t = &g->t[id];
        bool swapped;
        struct slot *s = probe_canonical(g, t->head, t->in, t->n_in, key, &swapped);
        if (!s->term) {
            enter(g, &g->canonical, s, t->head, key, id);
        } else if (find(g, s->term - 1) != find(g, id) && g->n_pending < MAX_TERMS) {
            uint32_t i = g->n_pending++;
            g->pending[i][0] = id;
            g->pending[i][1] = s->term - 1;
            g->pending_why[i] =
                is_crosswise(g, id, s->term - 1) ? WHY_SWAPPED : WHY_CONGRUENT;
        }
        at = t->next_use[at % MAX_IN];
    }
}

static void append(noe_saturation *g, uint32_t to, uint32_t from)
{
    term *a = &g->t[to], *b = &g->t[from];
    g->t[a->last_member].next = from;
    a->last_member = b->last_member;
    if (b->first_use != NO_TERM) {
        if (a->last_use == NO_TERM)
            a->first_use = b->first_use;
        else
            g->t[a->last_use / MAX_IN].next_use[a->last_use % MAX_IN] = b->first_use;
        a->last_use = b->last_use;
    }
    if (b->n_ops < a->n_ops)
        a->n_ops = b->n_ops;
    if (a->constant == NO_TERM)
        a->constant = b->constant;
    a->families |= b->families;
    a->changed = g->round;
}

static void join_one(noe_saturation *g, uint32_t x, uint32_t y, int32_t why)
{
    uint32_t a = find(g, x), b = find(g, y);
    if (a == b || g->t[a].value != g->t[b].value ||
        !noe_type_eq(&g->t[a].type, &g->t[b].type))
        return;
    reroot(g, x);
    g->t[x].link = y;
    g->t[x].why = why;
    if (b < a) {
        uint32_t s = a;
        a = b;
        b = s;
    }
    g->t[b].parent = a;
    repair(g, b);
    append(g, a, b);
}

static void join(noe_saturation *g, uint32_t x, uint32_t y, int32_t why)
{
    g->n_pending = 0;
    join_one(g, x, y, why);
    for (uint32_t i = 0; i < g->n_pending; i++)
        join_one(g, g->pending[i][0], g->pending[i][1], g->pending_why[i]);
}

/* Matching */

typedef struct todo {
    int pattern;
    uint32_t class;
    const struct todo *next;
} todo;

static uint32_t family_of(const noe_saturation *g, uint32_t h)
{
    return head_at(g, h)->family;
}

static void match(noe_saturation *g, const todo *t);

static void match_term(noe_saturation *g, int i, const term *t, const todo *rest)
{
    const pattern *n = &g->m.law->p[i];
    const uint64_t *need = g->m.law->need[i];
    uint32_t a = find(g, t->in[0]);
    uint64_t have_a = g->t[a].families;
    g->m.head[i] = t->head;
    if (n->n_in == 1) {
        if (!(need[0] & ~have_a))
            match(g, &(todo){n->in[0], a, rest});
        return;
    }
    uint32_t b = find(g, t->in[1]);
    uint64_t have_b = g->t[b].families;
    todo third, second = {n->in[1], b, rest};
    if (n->n_in > 2) {
        uint32_t c = find(g, t->in[2]);
        if (need[2] & ~g->t[c].families)
            return;
        third = (todo){n->in[2], c, rest};
        second.next = &third;
    }
    if (!(need[0] & ~have_a) && !(need[1] & ~have_b))
        match(g, &(todo){n->in[0], a, &second});
    if (a != b && !(need[0] & ~have_b) && !(need[1] & ~have_a) &&
        is_commutative(g, t->head)) {
        second.class = a;
        match(g, &(todo){n->in[0], b, &second});
    }
}

static void match_constant(noe_saturation *g, int i, const todo *t)
{
    uint32_t want = g->m.law->p[i].head;
    if (noe_is_plain_constant(head_at(g, want)->op)) {
        uint32_t have = g->t[t->class].constant;
        if (have == NO_TERM || family_of(g, have) != family_of(g, want))
            return;
        g->m.head[i] = have;
    } else {
        const struct slot *s = probe(&g->exact, want, (uint32_t[MAX_IN]){0});
        if (!s->term || find(g, s->term - 1) != t->class)
            return;
        g->m.head[i] = want;
    }
    match(g, t->next);
}

/* Depth is bounded by the size of the pattern. */
static void match(noe_saturation *g, const todo *t)
{
    if (!t) {
        if (g->n_matches < MAX_MATCHES)
            g->matches[g->n_matches++] = g->m;
        return;
    }
    const pattern *n = &g->m.law->p[t->pattern];
    if (n->head >= VARIABLE) {
        uint32_t *bound = &g->m.bound[n->head - VARIABLE];
        if (*bound == t->class) {
            match(g, t->next);
        } else if (*bound == NO_TERM &&
                   (!g->m.law->is_broadcast[n->head - VARIABLE] ||
                    noe_may_stand_for(&g->t[t->class].type.shape,
                                      &g->m.law->var[n->head - VARIABLE]))) {
            *bound = t->class;
            match(g, t->next);
            *bound = NO_TERM;
        }
        return;
    }
    if (n->n_in == 0) {
        match_constant(g, t->pattern, t);
        return;
    }
    uint32_t family = g->m.law->family[t->pattern];
    for (uint32_t x = t->class; x != NO_TERM; x = g->t[x].next) {
        if (g->t[x].n_in && g->t[x].family == family)
            match_term(g, t->pattern, &g->t[x], t->next);
    }
}

/* Marks the classes over those that changed in the last round, as far up as a pattern
 * reaches: elsewhere nothing new can match. */
static void spread_changes(noe_saturation *g)
{
    for (int k = 0; k < g->r->max_depth; k++) {
        bool any = false;
        for (uint32_t x = 0; x < g->n; x++) {
            const term *t = &g->t[x];
            uint32_t class = find(g, x);
            if (t->is_copy || g->t[class].changed >= g->round - 1)
                continue;
            for (int i = 0; i < t->n_in; i++) {
                if (g->t[find(g, t->in[i])].changed >= g->round - 1) {
                    g->t[class].changed = g->round; /* above those of this pass */
                    any = true;
                }
            }
        }
        if (!any)
            return;
    }
}

static bool may_match(const use *u, const uint64_t lack[2])
{
    return u->is_enabled &&
           ((!(u->need[0] & lack[0]) && !(u->need[1] & lack[1])) ||
            (u->is_commutative && !(u->need[0] & lack[1]) && !(u->need[1] & lack[0])));
}

static void match_all(noe_saturation *g)
{
    spread_changes(g);
    for (uint32_t x = 0; x < g->n; x++) {
        const term *t = &g->t[x];
        if (t->n_in == 0 || t->is_copy || t->family >= g->r->n_families ||
            g->t[find(g, x)].changed < g->round - 1)
            continue;
        const struct uses *list = &g->r->by_family[t->family];
        uint64_t lack[2];
        for (int k = 0; k < 2; k++)
            lack[k] = k < t->n_in ? ~g->t[find(g, t->in[k])].families : 0;
        for (uint32_t i = 0; i < list->n; i++) {
            const use *u = &list->u[i];
            if (!may_match(u, lack) || u->law == g->exclude)
                continue;
            const law *l = g->r->laws[u->law];
            g->m.law = l;
            g->m.number = u->law;
            g->m.from = u->from;
            g->m.root = x;
            memset(g->m.bound, 0xFF, sizeof g->m.bound);
            memset(g->m.head, 0xFF, (size_t)l->n * sizeof *g->m.head);
            match_term(g, l->side[g->m.from], t, NULL);
        }
    }
}

/* Building the other side */

/* What a node of the left side was matched with whose pattern is like this one. */
static uint32_t matched_like(const noe_saturation *g, const found_match *m,
                             uint32_t want)
{
    uint32_t family = family_of(g, want), like = NO_TERM;
    for (int i = 0; i < m->law->n; i++) {
        if (m->head[i] == NO_TERM || m->law->p[i].head >= VARIABLE)
            continue;
        if (m->law->p[i].head == want)
            return m->head[i];
        if (like == NO_TERM && family_of(g, m->law->p[i].head) == family)
            like = m->head[i];
    }
    return noe_is_plain_constant(head_at(g, want)->op) ? like : NO_TERM;
}

static int64_t cut_of(const head *h)
{
    int64_t start = noe_params_get(h->op, &h->params, NOE_PARAM_START)->i;
    return start ? start : noe_params_get(h->op, &h->params, NOE_PARAM_END)->i;
}

/* The cut that slices of the pattern with this cut were matched at. */
static int64_t matched_cut(const noe_saturation *g, const found_match *m, int64_t cut)
{
    for (int i = 0; i < m->law->n; i++) {
        if (m->head[i] == NO_TERM || m->law->p[i].head >= VARIABLE)
            continue;
        const head *h = head_at(g, m->law->p[i].head);
        if (h->is_slice && cut_of(h) == cut)
            return cut_of(head_at(g, m->head[i]));
    }
    return cut;
}

/* The head of a slice of the other side, for its operand. */
static uint32_t slice_head(noe_saturation *g, const found_match *m, uint32_t want,
                           uint32_t operand)
{
    const head *h = head_at(g, want);
    noe_params params = h->params;
    const noe_shape *s = &g->t[find(g, operand)].type.shape;
    int64_t axis = noe_params_get(h->op, &params, NOE_PARAM_AXIS)->i;
    int64_t cut = matched_cut(g, m, cut_of(h));
    if (axis >= s->rank || cut >= s->dim[axis])
        return NO_TERM;
    bool is_low = noe_params_get(h->op, &params, NOE_PARAM_START)->i == 0;
    noe_value start = noe_value_int(NOE_KIND_INT, is_low ? 0 : cut);
    noe_value end = noe_value_int(NOE_KIND_INT, is_low ? cut : s->dim[axis]);
    noe_params_set(h->op, &params, NOE_PARAM_START, &start);
    noe_params_set(h->op, &params, NOE_PARAM_END, &end);
    return head_of(g, NOE_OP_SLICE, &params);
}

/* Node i of the side that was matched, as a term over the bound classes. */
static uint32_t build_left(noe_saturation *g, const found_match *m, int i)
{
    const pattern *n = &m->law->p[i];
    uint32_t in[MAX_IN];
    if (n->head >= VARIABLE)
        return m->bound[n->head - VARIABLE];
    for (int k = 0; k < n->n_in; k++)
        in[k] = build_left(g, m, n->in[k]);
    return add_term(g, m->head[i], in, n->n_in, NULL);
}

static uint32_t build_right(noe_saturation *g, const found_match *m, int i)
{
    const pattern *n = &m->law->p[i];
    uint32_t in[MAX_IN], h = n->head;
    if (h >= VARIABLE)
        return m->bound[h - VARIABLE];
    if (n->n_in == 0 && i == m->law->side[!m->from] &&
        noe_is_plain_constant(head_at(g, h)->op)) {
        const noe_shape *s = &g->t[find(g, m->root)].type.shape;
        noe_params params = {.n = 1};
        params.v[0] = noe_value_list(NOE_KIND_INTS, s->rank, s->dim);
        return add_term(g, head_of(g, head_at(g, h)->op, &params), NULL, 0, NULL);
    }
    for (int k = 0; k < n->n_in; k++) {
        in[k] = build_right(g, m, n->in[k]);
        if (in[k] == NO_TERM)
            return NO_TERM;
    }
    if (head_at(g, h)->is_slice) {
        h = slice_head(g, m, h, in[0]);
    } else if (n->n_in == 0) {
        uint32_t like = matched_like(g, m, h);
        h = like == NO_TERM ? h : like;
    }
    return h == NO_TERM ? NO_TERM : add_term(g, h, in, n->n_in, NULL);
}

/* False if the other side is too large for this round. */
static bool apply(noe_saturation *g, const found_match *m)
{
    g->is_too_large = false;
    uint32_t right = build_right(g, m, m->law->side[!m->from]);
    if (right == NO_TERM || find(g, right) == find(g, m->root))
        return !g->is_too_large;
    uint32_t left = m->root;
    if (g->wants_why)
        left = build_left(g, m, m->law->side[m->from]);
    if (left != NO_TERM)
        join(g, left, right, m->number * 2 + m->from);
    return true;
}

/* Derivations */

typedef struct explainer {
    noe_saturation *g;
    noe_pair_proof *out;
    uint8_t at[NOE_STEP_MAX_DEPTH];
    int depth, n_nested;
    bool is_lost;
} explainer;

static void explain(explainer *x, uint32_t a, uint32_t b);

static void add_step(explainer *x, int rule, bool is_backward)
{
    noe_pair_step s = {
        .rule = rule, .is_backward = is_backward, .depth = (uint8_t)x->depth};
    if (x->out->n == MAX_STEPS) {
        x->is_lost = true;
        return;
    }
    memcpy(s.at, x->at, sizeof s.at);
    NOE_PUSH(x->out->steps, x->out->n, x->out->cap, s);
}

/* One edge of the forest, from a to b. */
static void explain_edge(explainer *x, uint32_t a, uint32_t b, int32_t why)
{
    const term *s = &x->g->t[a], *t = &x->g->t[b];
    if (why >= 0) {
        add_step(x, why / 2, why % 2);
        return;
    }
    if (why == WHY_SWAPPED)
        add_step(x, NOE_STEP_SWAP, false);
    if (x->depth == NOE_STEP_MAX_DEPTH) {
        x->is_lost = true;
        return;
    }
    for (int k = 0; k < s->n_in; k++) {
        x->at[x->depth++] = (uint8_t)k;
        explain(x, s->in[why == WHY_SWAPPED ? 1 - k : k], t->in[k]);
        x->depth--;
    }
}

/* Steps from a to b, which are in one tree of the forest. */
static void explain(explainer *x, uint32_t a, uint32_t b)
{
    noe_saturation *g = x->g;
    uint32_t stamp = ++g->n_stamps, top = b, n = 0;
    if (a == b || x->is_lost)
        return;
    if (++x->n_nested > MAX_STEPS * NOE_STEP_MAX_DEPTH) {
        x->is_lost = true;
        return;
    }
    for (uint32_t t = a; t != NO_TERM; t = g->t[t].link)
        g->stamp[t] = stamp;
    for (; g->stamp[top] != stamp; top = g->t[top].link)
        n++;
    uint32_t *down = noe_malloc((n + 1) * sizeof *down);
    n = 0;
    for (uint32_t t = b; t != top; t = g->t[t].link)
        down[n++] = t;
    for (uint32_t t = a; t != top && !x->is_lost; t = g->t[t].link)
        explain_edge(x, t, g->t[t].link, g->t[t].why);
    while (n > 0 && !x->is_lost) {
        const term *t = &g->t[down[--n]];
        explain_edge(x, t->link, down[n], t->why < 0 ? t->why : t->why ^ 1);
    }
    free(down);
}

/* One proof */

noe_saturation *noe_saturation_new(uint64_t seed)
{
    noe_saturation *g = noe_calloc(1, sizeof *g);
    g->seed = seed;
    g->fields[NOE_ORDER_RESIDUE] = noe_field_make(seed);
    g->fields[NOE_ORDER_NUMBER] = noe_field_make_ordered(seed, NOE_FIELD_RANGE);
    return g;
}

void noe_saturation_free(noe_saturation *g)
{
    if (!g)
        return;
    free(g->heads.h);
    noe_arena_clear(&g->arena);
    free(g);
}

static void clear_table(table *t, int n_terms)
{
    t->n = 0;
    t->n_slots = (uint32_t)n_terms * SLOTS_A_TERM;
    t->max_n = (uint32_t)n_terms * FILL_A_TERM;
    memset(t->slots, 0, t->n_slots * sizeof *t->slots);
}

static void clear(noe_saturation *g, const noe_rewrites *r, int n_terms)
{
    g->r = r;
    g->n = g->n_stamps = 0;
    g->round = 0;
    g->heads.n = 0;
    g->is_full = false;
    g->max_ops = INT32_MAX;
    g->max_terms = (uint32_t)n_terms;
    clear_table(&g->exact, n_terms);
    clear_table(&g->canonical, n_terms);
    memset(g->stamp, 0, sizeof g->stamp);
    noe_arena_clear(&g->arena);
}

static void add_pair(noe_saturation *g, const noe_pair *pair, uint32_t *id)
{
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        uint32_t in[MAX_IN] = {0};
        for (int k = 0; k < n->n_in; k++)
            in[k] = id[n->in[k]];
        noe_type type = {n->dtype, n->shape};
        if (n->is_var)
            id[i] = add_term(g, VARIABLE + (uint32_t)n->var, NULL, 0, &type);
        else
            id[i] = add_term(g, head_of(g, n->op, &n->params), in, n->n_in, NULL);
    }
}

static uint64_t value_of(noe_saturation *g, uint32_t id)
{
    return g->t[find(g, id)].value;
}

static bool are_joined(noe_saturation *g, const noe_pair *pair, const uint32_t *id)
{
    for (int i = 0; i < pair->n_roots; i++) {
        if (find(g, id[pair->lhs[i]]) != find(g, id[pair->rhs[i]]))
            return false;
    }
    return true;
}

static bool saturate(noe_saturation *g, const noe_pair *pair, const uint32_t *id,
                     const noe_proof_limits *limits)
{
    int n_ops = 0;
    for (int i = 0; i < pair->n_roots; i++) {
        int a = g->t[id[pair->lhs[i]]].n_ops, b = g->t[id[pair->rhs[i]]].n_ops;
        n_ops = a > n_ops ? a : n_ops;
        n_ops = b > n_ops ? b : n_ops;
    }
    g->n_matches = 0;
    for (int round = 0; round < limits->n_rounds; round++) {
        uint32_t before = g->n;
        g->round = round + 1;
        g->max_ops = n_ops + (round < limits->n_extra ? round : limits->n_extra);
        match_all(g);
        uint32_t n_later = 0;
        for (uint32_t i = 0; i < g->n_matches && !g->is_full; i++) {
            if (!apply(g, &g->matches[i]))
                g->matches[n_later++] = g->matches[i];
            else if (are_joined(g, pair, id))
                return true;
        }
        g->n_matches = n_later;
        if (g->is_full || (g->n == before && round > limits->n_extra))
            return false;
    }
    return false;
}

bool noe_saturation_derives(noe_saturation *g, const noe_rewrites *r,
                            const noe_pair *pair, const noe_proof_limits *limits,
                            noe_pair_proof *out)
{
    uint32_t id[NOE_PAIR_MAX_NODES];
    NOE_ASSERT(limits->n_terms <= MAX_TERMS);
    clear(g, r, limits->n_terms);
    g->wants_why = out != NULL;
    g->exclude = limits->exclude;
    g->field =
        &g->fields[noe_pair_has_order(pair) ? NOE_ORDER_NUMBER : NOE_ORDER_RESIDUE];
    add_pair(g, pair, id);
    for (int i = 0; i < pair->n_roots; i++) {
        if (id[pair->lhs[i]] == NO_TERM || id[pair->rhs[i]] == NO_TERM ||
            value_of(g, id[pair->lhs[i]]) != value_of(g, id[pair->rhs[i]]))
            return false;
    }
    bool is_proved = are_joined(g, pair, id) || saturate(g, pair, id, limits);
    if (!is_proved || !out)
        return is_proved;
    explainer x = {.g = g, .out = out};
    out->n = 0;
    for (int i = 0; i < pair->n_roots; i++)
        explain(&x, id[pair->lhs[i]], id[pair->rhs[i]]);
    return !x.is_lost;
}
