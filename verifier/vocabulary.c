/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities are terms that are added to a copy of the rule: its number and list
 * parameters, the terms that its operators' parameters are, ranks, dimensions counted
 * from the start and from the end, numbers of elements. Predicates are all their
 * meaningful combinations; what a pair of quantities may be compared by depends on
 * their sorts.
 */
#include "verifier/vocabulary.h"
#include "core/base/mem.h"
#include <stdlib.h>

typedef enum sort {
    SORT_RANK,
    SORT_DIM,
    SORT_SIZE, /* numbers that parameters are: groups, bounds, kernels */
    SORT_AXIS,
    SORT_COUNT, /* of elements */
    SORT_REAL,
    SORT_LIST,
} sort;

typedef struct quantity {
    sort sort;
    uint16_t term;
    int cost;
} quantity;

struct noe_vocabulary {
    noe_rule rule; /* with the quantities' terms */
    quantity q[NOE_VOCABULARY_QUANTITIES];
    int n_quantities;
    noe_predicate *predicate;
    int n_predicates, cap_predicates;
};

/* Terms */

#define NO_TERM NOE_TERM_ABSENT

static bool same_term(const noe_term *a, const noe_term *b)
{
    return a->kind == b->kind && a->var == b->var && a->n_kids == b->n_kids &&
           a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 &&
           memcmp(a->kids, b->kids, a->n_kids * sizeof *a->kids) == 0;
}

static uint16_t add_term(noe_rule *r, const noe_term *t)
{
    for (int i = 0; i < t->n_kids; i++) {
        if (t->kids[i] == NO_TERM)
            return NO_TERM;
    }
    for (uint16_t i = 0; i < r->n_terms; i++) {
        if (same_term(&r->terms[i], t))
            return i;
    }
    if (r->n_terms == NOE_RULE_MAX_TERMS)
        return NO_TERM;
    r->terms[r->n_terms] = *t;
    return r->n_terms++;
}

static uint16_t leaf(noe_rule *r, noe_term_kind kind, int var)
{
    noe_term t = {.kind = kind, .var = (uint16_t)var};
    return add_term(r, &t);
}

static uint16_t integer(noe_rule *r, int64_t i)
{
    noe_term t = {.kind = NOE_TERM_INT, .i = i};
    return add_term(r, &t);
}

static uint16_t apply(noe_rule *r, noe_term_kind kind, uint16_t a, uint16_t b)
{
    noe_term t = {.kind = kind, .n_kids = 2, .kids = {a, b}};
    return add_term(r, &t);
}

static uint16_t apply_one(noe_rule *r, noe_term_kind kind, uint16_t a)
{
    noe_term t = {.kind = kind, .n_kids = 1, .kids = {a}};
    return add_term(r, &t);
}

static uint16_t dimension(noe_rule *r, int var, uint16_t axis)
{
    noe_term t = {
        .kind = NOE_TERM_DIM, .var = (uint16_t)var, .n_kids = 1, .kids = {axis}};
    return add_term(r, &t);
}

/* Quantities */

#define TERMS_KEPT_FREE 24 /* for predicates */

static void add_quantity(noe_vocabulary *v, sort of, uint16_t term, int cost)
{
    if (term == NO_TERM || v->n_quantities == NOE_VOCABULARY_QUANTITIES ||
        v->rule.n_terms > NOE_RULE_MAX_TERMS - TERMS_KEPT_FREE)
        return;
    for (int i = 0; i < v->n_quantities; i++) {
        if (v->q[i].term == term)
            return;
    }
    v->q[v->n_quantities++] = (quantity){of, term, cost};
}

static sort sort_of_kind(noe_param_kind kind)
{
    return kind == NOE_KIND_AXIS    ? SORT_AXIS
           : kind == NOE_KIND_INT   ? SORT_SIZE
           : kind == NOE_KIND_FLOAT ? SORT_REAL
                                    : SORT_LIST;
}

static void add_parameters(noe_vocabulary *v)
{
    noe_rule *r = &v->rule;
    for (int p = 0; p < r->n_pvars; p++)
        add_quantity(v, sort_of_kind(r->pvars[p].kind), leaf(r, NOE_TERM_PVAR, p), 0);
    for (int i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        const noe_op_info *info = n->is_var ? NULL : noe_op_get(n->op);
        for (int k = 0; info && k < info->n_params; k++) {
            uint16_t t = n->params[k];
            if (t != NO_TERM && r->terms[t].n_kids > 0)
                add_quantity(v, sort_of_kind(noe_param_kind_of(info->params[k])), t, 4);
        }
    }
}

/* Entries of lists at the axes that the rule speaks of. */
static void add_entries(noe_vocabulary *v)
{
    noe_rule *r = &v->rule;
    for (int p = 0; p < r->n_pvars; p++) {
        for (int k = 0; k < r->n_pvars && r->pvars[p].kind == NOE_KIND_INTS; k++) {
            if (r->pvars[k].kind == NOE_KIND_AXIS)
                add_quantity(v, SORT_AXIS,
                             apply(r, NOE_TERM_AT, leaf(r, NOE_TERM_PVAR, p),
                                   leaf(r, NOE_TERM_PVAR, k)),
                             3);
        }
    }
    for (int p = 0; p < r->n_pvars; p++) {
        for (int k = 0; k < 4 && r->pvars[p].kind == NOE_KIND_INTS; k++)
            add_quantity(
                v, SORT_SIZE,
                apply(r, NOE_TERM_AT, leaf(r, NOE_TERM_PVAR, p), integer(r, k)), 3);
    }
}

static void add_shapes(noe_vocabulary *v)
{
    static const int axes[] = {-1, 0, 1, -2, 2, 3};
    noe_rule *r = &v->rule;
    for (int a = 0; a < r->n_vars; a++) {
        uint16_t shape = leaf(r, NOE_TERM_SHAPE, a);
        add_quantity(v, SORT_RANK, leaf(r, NOE_TERM_RANK, a), 0);
        add_quantity(v, SORT_LIST, shape, 1);
        add_quantity(v, SORT_COUNT, apply_one(r, NOE_TERM_PROD, shape), 3);
    }
    for (int k = 0; k < r->n_pvars; k++) {
        for (int a = 0; a < r->n_vars && r->pvars[k].kind == NOE_KIND_AXIS; a++)
            add_quantity(v, SORT_DIM, dimension(r, a, leaf(r, NOE_TERM_PVAR, k)), 1);
    }
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        for (int a = 0; a < r->n_vars; a++)
            add_quantity(v, SORT_DIM, dimension(r, a, integer(r, axes[i])),
                         i < 3 ? 1 : 2);
    }
}

/* Predicates */

static void add_predicate(noe_vocabulary *v, noe_predicate_kind kind, int x, int y,
                          int z, int c)
{
    static const int costs[] = {
#define XX(ID, COST) [NOE_PREDICATE_##ID] = COST,
        NOE_PREDICATE_MAP(XX)
#undef XX
    };
    noe_predicate a = {kind,       (uint8_t)x, (uint8_t)y,
                       (uint8_t)z, (int8_t)c,  costs[kind]};
    bool has_y = kind == NOE_PREDICATE_SAME || kind == NOE_PREDICATE_APART ||
                 kind == NOE_PREDICATE_LESS_EQUAL || kind == NOE_PREDICATE_LESS ||
                 kind == NOE_PREDICATE_LACKS || kind == NOE_PREDICATE_HAS ||
                 kind >= NOE_PREDICATE_DIVIDES;
    a.cost += v->q[x].cost + (has_y ? v->q[y].cost : 0) +
              (kind == NOE_PREDICATE_BEFORE_LAST ? v->q[z].cost : 0);
    NOE_PUSH(v->predicate, v->n_predicates, v->cap_predicates, a);
}

/* What a quantity is compared with. */
static const struct {
    sort sort;
    noe_predicate_kind kind;
    int8_t from, to; /* c */
} with_numbers[] = {
    {SORT_RANK, NOE_PREDICATE_EQUALS, 0, 5},
    {SORT_RANK, NOE_PREDICATE_AT_LEAST, 1, 4},
    {SORT_RANK, NOE_PREDICATE_AT_MOST, 0, 3},
    {SORT_DIM, NOE_PREDICATE_EQUALS, 1, 3},
    {SORT_DIM, NOE_PREDICATE_AT_LEAST, 1, 3},
    {SORT_DIM, NOE_PREDICATE_AT_MOST, 1, 2},
    {SORT_DIM, NOE_PREDICATE_ODD, 0, 0},
    {SORT_DIM, NOE_PREDICATE_EVEN, 0, 0},
    {SORT_SIZE, NOE_PREDICATE_EQUALS, 0, 3},
    {SORT_SIZE, NOE_PREDICATE_DIFFERS, 0, 0},
    {SORT_SIZE, NOE_PREDICATE_AT_LEAST, 0, 2},
    {SORT_SIZE, NOE_PREDICATE_AT_MOST, 0, 2},
    {SORT_SIZE, NOE_PREDICATE_ODD, 0, 0},
    {SORT_SIZE, NOE_PREDICATE_EVEN, 0, 0},
    {SORT_AXIS, NOE_PREDICATE_EQUALS, 0, 3},
    {SORT_AXIS, NOE_PREDICATE_DIFFERS, 0, 1},
    {SORT_AXIS, NOE_PREDICATE_AT_LEAST, 1, 2},
    {SORT_AXIS, NOE_PREDICATE_AT_MOST, 1, 2},
    {SORT_COUNT, NOE_PREDICATE_EQUALS, 1, 1},
    {SORT_COUNT, NOE_PREDICATE_AT_LEAST, 1, 1},
    {SORT_REAL, NOE_PREDICATE_EQUALS, -1, 1},
    {SORT_LIST, NOE_PREDICATE_ALL, 0, 1},
};

/* What two quantities are compared by; both ways round where the form is not
 * symmetric. */
static const struct {
    sort x, y;
    noe_predicate_kind kind;
    int8_t c;
} with_others[] = {
    {SORT_RANK, SORT_RANK, NOE_PREDICATE_SAME, 0},
    {SORT_RANK, SORT_RANK, NOE_PREDICATE_LESS_EQUAL, 0},
    {SORT_RANK, SORT_RANK, NOE_PREDICATE_LESS, 0},
    {SORT_DIM, SORT_DIM, NOE_PREDICATE_SAME, 0},
    {SORT_DIM, SORT_DIM, NOE_PREDICATE_LESS_EQUAL, 0},
    {SORT_DIM, SORT_DIM, NOE_PREDICATE_DIVIDES, 0},
    {SORT_DIM, SORT_DIM, NOE_PREDICATE_PARITY, 0},
    {SORT_DIM, SORT_SIZE, NOE_PREDICATE_SAME, 0},
    {SORT_DIM, SORT_SIZE, NOE_PREDICATE_LESS_EQUAL, 0},
    {SORT_SIZE, SORT_DIM, NOE_PREDICATE_LESS_EQUAL, 0},
    {SORT_DIM, SORT_SIZE, NOE_PREDICATE_DIVIDES, 0},
    {SORT_SIZE, SORT_DIM, NOE_PREDICATE_DIVIDES, 0},
    {SORT_SIZE, SORT_SIZE, NOE_PREDICATE_SAME, 0},
    {SORT_SIZE, SORT_SIZE, NOE_PREDICATE_APART, 0},
    {SORT_SIZE, SORT_SIZE, NOE_PREDICATE_LESS_EQUAL, 0},
    {SORT_SIZE, SORT_SIZE, NOE_PREDICATE_DIVIDES, 0},
    {SORT_AXIS, SORT_AXIS, NOE_PREDICATE_SAME, 0},
    {SORT_AXIS, SORT_AXIS, NOE_PREDICATE_APART, 0},
    {SORT_AXIS, SORT_AXIS, NOE_PREDICATE_LESS, 0},
    {SORT_AXIS, SORT_RANK, NOE_PREDICATE_FROM_END, 1},
    {SORT_AXIS, SORT_RANK, NOE_PREDICATE_FROM_END, 2},
    {SORT_AXIS, SORT_RANK, NOE_PREDICATE_BEFORE_END, 2},
    {SORT_AXIS, SORT_RANK, NOE_PREDICATE_BEFORE_END, 3},
    {SORT_COUNT, SORT_COUNT, NOE_PREDICATE_SAME, 0},
    {SORT_COUNT, SORT_DIM, NOE_PREDICATE_SAME, 0},
    {SORT_REAL, SORT_REAL, NOE_PREDICATE_SAME, 0},
    {SORT_LIST, SORT_LIST, NOE_PREDICATE_SAME, 0},
    {SORT_LIST, SORT_AXIS, NOE_PREDICATE_LACKS, 0},
    {SORT_LIST, SORT_AXIS, NOE_PREDICATE_HAS, 0},
};

static bool is_symmetric(noe_predicate_kind kind)
{
    return kind == NOE_PREDICATE_SAME || kind == NOE_PREDICATE_APART ||
           kind == NOE_PREDICATE_PARITY;
}

static void add_pairs(noe_vocabulary *v, size_t form)
{
    noe_predicate_kind kind = with_others[form].kind;
    for (int x = 0; x < v->n_quantities; x++) {
        for (int y = 0; y < v->n_quantities; y++) {
            bool twice = with_others[form].x == with_others[form].y &&
                         is_symmetric(kind) && y < x;
            if (x != y && !twice && v->q[x].sort == with_others[form].x &&
                v->q[y].sort == with_others[form].y)
                add_predicate(v, kind, x, y, 0, with_others[form].c);
        }
    }
}

static void add_predicates(noe_vocabulary *v)
{
    for (size_t f = 0; f < sizeof with_numbers / sizeof *with_numbers; f++) {
        for (int x = 0; x < v->n_quantities; x++) {
            for (int c = with_numbers[f].from;
                 v->q[x].sort == with_numbers[f].sort && c <= with_numbers[f].to; c++)
                add_predicate(v, with_numbers[f].kind, x, 0, 0, c);
        }
    }
    for (size_t f = 0; f < sizeof with_others / sizeof *with_others; f++)
        add_pairs(v, f);
    for (int x = 0; x < v->n_quantities; x++) {
        for (int y = 0; y < v->n_quantities && v->q[x].sort == SORT_AXIS; y++) {
            for (int z = 0; z < v->n_quantities && v->q[y].sort == SORT_RANK; z++) {
                if (y != z && v->q[z].sort == SORT_RANK)
                    add_predicate(v, NOE_PREDICATE_BEFORE_LAST, x, y, z, 0);
            }
        }
    }
}

noe_vocabulary *noe_vocabulary_new(const noe_rule *rule)
{
    noe_vocabulary *v = noe_calloc(1, sizeof *v);
    v->rule = *rule;
    add_parameters(v);
    add_shapes(v);
    add_entries(v);
    add_predicates(v);
    return v;
}

void noe_vocabulary_free(noe_vocabulary *v)
{
    if (!v)
        return;
    free(v->predicate);
    free(v);
}

const noe_predicate *noe_vocabulary_predicates(const noe_vocabulary *v, int *n)
{
    *n = v->n_predicates;
    return v->predicate;
}

/* Where parameter variable p is a whole parameter of some operator. */
static bool is_group(const noe_rule *r, int p)
{
    for (int i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        const noe_op_info *info = n->is_var ? NULL : noe_op_get(n->op);
        for (int k = 0; info && k < info->n_params; k++) {
            uint16_t t = n->params[k];
            if (info->params[k] == NOE_PARAM_GROUP && t != NO_TERM &&
                r->terms[t].kind == NOE_TERM_PVAR && r->terms[t].var == p)
                return true;
        }
    }
    return false;
}

bool noe_vocabulary_is_linear(const noe_vocabulary *v, int predicate)
{
    const noe_predicate *a = &v->predicate[predicate];
    const noe_rule *r = &v->rule;
    uint16_t x = v->q[a->x].term, y = v->q[a->y].term;
    if (a->kind == NOE_PREDICATE_EQUALS && a->c == 1)
        return r->terms[x].kind == NOE_TERM_PVAR && is_group(r, r->terms[x].var);
    for (int i = 0; i < v->n_quantities && a->kind == NOE_PREDICATE_SAME; i++) {
        const noe_term *t = &r->terms[v->q[i].term];
        if (t->kind == NOE_TERM_DIV && ((t->kids[0] == x && t->kids[1] == y) ||
                                        (t->kids[0] == y && t->kids[1] == x)))
            return true;
    }
    return false;
}

/* Values */

void noe_vocabulary_measure(const noe_vocabulary *v, const noe_binding *binding,
                            noe_quantities *q)
{
    for (int i = 0; i < v->n_quantities; i++)
        q->has[i] = noe_term_eval(&v->rule, v->q[i].term, binding, &q->value[i]);
}

static bool is_list(const noe_value *v)
{
    return v->kind == NOE_KIND_INTS || v->kind == NOE_KIND_AXES;
}

static bool all_are(const noe_value *list, int64_t c)
{
    for (int i = 0; i < list->n; i++) {
        if (list->list[i] != c)
            return false;
    }
    return is_list(list);
}

static bool has(const noe_value *list, int64_t i)
{
    bool found = false;
    for (int k = 0; k < list->n; k++)
        found |= list->list[k] == i;
    return found;
}

static bool same_values(const noe_value *x, const noe_value *y)
{
    if (is_list(x) != is_list(y))
        return false;
    if (is_list(x))
        return x->n == y->n &&
               memcmp(x->list, y->list, (size_t)x->n * sizeof *x->list) == 0;
    return x->kind == NOE_KIND_FLOAT ? y->kind == NOE_KIND_FLOAT && x->f == y->f
                                     : x->i == y->i;
}

static bool about_numbers(const noe_predicate *a, int64_t x, int64_t y)
{
    switch (a->kind) {
    case NOE_PREDICATE_EQUALS:
        return x == a->c;
    case NOE_PREDICATE_DIFFERS:
        return x != a->c;
    case NOE_PREDICATE_AT_LEAST:
        return a->c <= x;
    case NOE_PREDICATE_AT_MOST:
        return x <= a->c;
    case NOE_PREDICATE_LESS_EQUAL:
        return x <= y;
    case NOE_PREDICATE_LESS:
        return x < y;
    case NOE_PREDICATE_ODD:
        return x >= 0 && x % 2 == 1;
    case NOE_PREDICATE_EVEN:
        return x >= 0 && x % 2 == 0;
    case NOE_PREDICATE_DIVIDES:
        return x >= 0 && y > 0 && x % y == 0;
    case NOE_PREDICATE_PARITY:
        return x >= 0 && y >= 0 && (x + y) % 2 == 0;
    case NOE_PREDICATE_FROM_END:
        return x + a->c == y;
    case NOE_PREDICATE_BEFORE_END:
        return x + a->c <= y;
    default:
        return false;
    }
}

bool noe_vocabulary_holds(const noe_vocabulary *v, int predicate,
                          const noe_quantities *q)
{
    const noe_predicate *a = &v->predicate[predicate];
    const noe_value *x = &q->value[a->x], *y = &q->value[a->y];
    bool one = a->kind == NOE_PREDICATE_EQUALS || a->kind == NOE_PREDICATE_ALL ||
               a->kind == NOE_PREDICATE_DIFFERS || a->kind == NOE_PREDICATE_AT_LEAST ||
               a->kind == NOE_PREDICATE_AT_MOST || a->kind == NOE_PREDICATE_ODD ||
               a->kind == NOE_PREDICATE_EVEN;
    if (!q->has[a->x] || (!one && !q->has[a->y]))
        return false;
    switch (a->kind) {
    case NOE_PREDICATE_SAME:
    case NOE_PREDICATE_APART:
        return same_values(x, y) == (a->kind == NOE_PREDICATE_SAME);
    case NOE_PREDICATE_ALL:
        return all_are(x, a->c);
    case NOE_PREDICATE_HAS:
    case NOE_PREDICATE_LACKS:
        return has(x, y->i) == (a->kind == NOE_PREDICATE_HAS);
    case NOE_PREDICATE_BEFORE_LAST:
        return q->has[a->z] && x->i + y->i < q->value[a->z].i;
    case NOE_PREDICATE_EQUALS:
        if (x->kind == NOE_KIND_FLOAT)
            return x->f == (double)a->c;
        return x->i == a->c;
    default:
        return about_numbers(a, x->i, y->i);
    }
}

/* As text */

static uint16_t remainder_is(noe_rule *r, uint16_t x, uint16_t y, int64_t c)
{
    return apply(r, NOE_TERM_EQ, apply(r, NOE_TERM_MOD, x, y), integer(r, c));
}

static uint16_t number(noe_rule *r, bool is_real, int64_t c)
{
    noe_term t = {.kind = NOE_TERM_FLOAT, .f = (double)c};
    return is_real ? add_term(r, &t) : integer(r, c);
}

static uint16_t term_of(const noe_vocabulary *v, const noe_predicate *a, noe_rule *r)
{
    uint16_t x = v->q[a->x].term, y = v->q[a->y].term;
    uint16_t c = number(r, v->q[a->x].sort == SORT_REAL, a->c), two = integer(r, 2);
    switch (a->kind) {
    case NOE_PREDICATE_EQUALS:
        return apply(r, NOE_TERM_EQ, x, c);
    case NOE_PREDICATE_DIFFERS:
        return apply(r, NOE_TERM_NE, x, c);
    case NOE_PREDICATE_AT_LEAST:
        return apply(r, NOE_TERM_LE, c, x);
    case NOE_PREDICATE_AT_MOST:
        return apply(r, NOE_TERM_LE, x, c);
    case NOE_PREDICATE_ALL:
        return apply(r, NOE_TERM_EQ, x,
                     apply(r, NOE_TERM_REP, c, apply_one(r, NOE_TERM_LEN, x)));
    case NOE_PREDICATE_SAME:
        return apply(r, NOE_TERM_EQ, x, y);
    case NOE_PREDICATE_APART:
        return apply(r, NOE_TERM_NE, x, y);
    case NOE_PREDICATE_LESS_EQUAL:
        return apply(r, NOE_TERM_LE, x, y);
    case NOE_PREDICATE_LESS:
        return apply(r, NOE_TERM_LT, x, y);
    case NOE_PREDICATE_LACKS:
        return apply_one(r, NOE_TERM_NOT, apply(r, NOE_TERM_HAS, x, y));
    case NOE_PREDICATE_HAS:
        return apply(r, NOE_TERM_EQ, apply(r, NOE_TERM_HAS, x, y), integer(r, 1));
    case NOE_PREDICATE_ODD:
        return remainder_is(r, x, two, 1);
    case NOE_PREDICATE_EVEN:
        return remainder_is(r, x, two, 0);
    case NOE_PREDICATE_DIVIDES:
        return remainder_is(r, x, y, 0);
    case NOE_PREDICATE_PARITY:
        return remainder_is(r, apply(r, NOE_TERM_ADD, x, y), two, 0);
    case NOE_PREDICATE_FROM_END:
        return apply(r, NOE_TERM_EQ, apply(r, NOE_TERM_ADD, x, c), y);
    case NOE_PREDICATE_BEFORE_END:
        return apply(r, NOE_TERM_LE, apply(r, NOE_TERM_ADD, x, c), y);
    case NOE_PREDICATE_BEFORE_LAST:
        return apply(r, NOE_TERM_LT, apply(r, NOE_TERM_ADD, x, y), v->q[a->z].term);
    case NOE_PREDICATE_KINDS:
        break;
    }
    return NO_TERM;
}

/* $v == 0.0 by writing 0.0 for $v. */
static bool substitute(const noe_vocabulary *v, const noe_predicate *a, noe_rule *rule)
{
    noe_term *t = &rule->terms[v->q[a->x].term];
    if (a->kind != NOE_PREDICATE_EQUALS || t->kind != NOE_TERM_PVAR ||
        v->q[a->x].sort != SORT_REAL)
        return false;
    *t = (noe_term){.kind = NOE_TERM_FLOAT, .f = (double)a->c};
    return true;
}

bool noe_vocabulary_narrow(const noe_vocabulary *v, const int *predicates, int n,
                           int negated, bool in_place, noe_rule *rule)
{
    *rule = v->rule;
    for (int i = 0; i < n; i++) {
        if (in_place && i != negated &&
            substitute(v, &v->predicate[predicates[i]], rule))
            continue;
        uint16_t t = term_of(v, &v->predicate[predicates[i]], rule);
        if (i == negated)
            t = apply_one(rule, NOE_TERM_NOT, t);
        rule->where =
            rule->where == NO_TERM ? t : apply(rule, NOE_TERM_AND, rule->where, t);
        if (rule->where == NO_TERM)
            return false;
    }
    return true;
}
