/* SPDX-License-Identifier: Apache-2.0
 *
 * Bottom-up enumeration, level by level (universe.h says what a level is).
 *
 * Pairs of operands of level L are found in two ways. Disjoint supports: all pairs of
 * values whose levels add up to L - 1, by lists per level, shape and role. Overlapping
 * supports: through an index from an instance to the values that have it in their
 * support; a pair is taken at its smallest shared instance only. Where one operand has
 * L - 1 operators the other must be made by one of its own instances, so these few are
 * tried directly: scanning the index for them is quadratic.
 *
 * A commutative operator is applied with its smaller value first.
 */
#include "generator/universe.h"

#include <stdlib.h>

#define ROLES (NOE_MAX_SHAPES * 2) /* shape and weight-or-data */

typedef struct id_list {
    uint32_t *id;
    uint32_t n, cap;
} id_list;

/* A move that may be applied to operands of given shapes and roles. */
typedef struct applicable {
    uint16_t move, shape;
} applicable;

typedef struct builder {
    noe_universe *u;
    int level;
    id_list by_role[NOE_MAX_LEVEL][ROLES];
    id_list *users; /* by instance */
    uint32_t cap_users;
    noe_key_table *pair_index; /* roles of operands -> range in pairs */
    applicable *pairs;
    uint32_t n_pairs, cap_pairs;
    struct range {
        uint32_t first, n;
    } * ranges;
    uint32_t n_ranges, cap_ranges;
    noe_fe *scratch;
    uint64_t ticks;
    noe_status status;
    noe_error *err;
} builder;

int noe_universe_shape(noe_universe *u, const noe_shape *shape)
{
    for (int i = 0; i < u->n_shapes; i++) {
        if (noe_shape_eq(&u->shapes[i], shape))
            return i;
    }
    if (u->n_shapes == NOE_MAX_SHAPES)
        return -1;
    u->shapes[u->n_shapes] = *shape;
    u->n_elements[u->n_shapes] = (uint32_t)noe_shape_elements(shape);
    return u->n_shapes++;
}

static uint64_t memo_key(uint32_t move, uint32_t a, uint32_t b)
{
    uint64_t key =
        noe_mix64(((uint64_t)a << 32 | b) + 1) ^ move * UINT64_C(0x9E3779B97F4A7C15);
    key = noe_mix64(key);
    return key ? key : 1;
}

uint32_t noe_universe_find(const noe_universe *u, uint32_t move, uint32_t a, uint32_t b)
{
    uint32_t e = noe_key_table_get(u->memo, memo_key(move, a, b));
    if (e == UINT32_MAX)
        return NOE_NO_OPERAND;
    const noe_enode *n = &u->enodes[e];
    return n->move == move && n->a == a && n->b == b ? e : NOE_NO_OPERAND;
}

noe_params noe_enode_params(const noe_universe *u, const noe_enode *e)
{
    return noe_move_params(&u->space->moves[e->move],
                           &u->shapes[u->classes[e->a].shape], e->b);
}

static bool is_unary(const noe_universe *u, int move)
{
    return u->space->moves[move].n_in == 1;
}

/* Moves for operands of these roles; b_role is ROLES for unary moves. */
static const struct range *moves_for(builder *b, uint32_t a_role, uint32_t b_role)
{
    noe_universe *u = b->u;
    uint64_t key = noe_mix64((uint64_t)a_role * (ROLES + 1) + b_role + 1);
    uint32_t i = noe_key_table_get(b->pair_index, key);
    if (i != UINT32_MAX)
        return &b->ranges[i];
    struct range range = {b->n_pairs, 0};
    noe_shape sa = u->shapes[a_role / 2];
    noe_shape sb = b_role == ROLES ? (noe_shape){0} : u->shapes[b_role / 2];
    for (int m = 0; m < u->space->n_moves; m++) {
        noe_shape out;
        if (is_unary(u, m) != (b_role == ROLES) ||
            !noe_move_fits(u->space, &u->space->moves[m], &sa, a_role & 1, &sb,
                           b_role & 1, &out))
            continue;
        /* The shape of a slice depends on the cut. */
        bool is_cut = u->space->moves[m].kind != NOE_MOVE_PLAIN;
        int shape = is_cut ? 0 : noe_universe_shape(u, &out);
        if (shape < 0) {
            b->status = noe_fail(b->err, NOE_ERR_LIMIT, "space %s has over %d shapes",
                                 u->space->name, NOE_MAX_SHAPES);
            continue;
        }
        applicable p = {(uint16_t)m, (uint16_t)shape};
        NOE_PUSH(b->pairs, b->n_pairs, b->cap_pairs, p);
        range.n++;
    }
    i = b->n_ranges;
    NOE_PUSH(b->ranges, b->n_ranges, b->cap_ranges, range);
    noe_key_table_put(b->pair_index, key, i);
    return &b->ranges[i];
}

static uint32_t role_of(const noe_universe *u, uint32_t value)
{
    const noe_gen_value *v = &u->values[value];
    return v->shape * 2u + v->is_weight;
}

/* Union of two supports; size, or NOE_MAX_LEVEL + 1 if it is larger than that. */
static int unite(const noe_gen_value *a, const noe_gen_value *b, uint32_t *out)
{
    int i = 0, j = 0, n = 0;
    while (i < a->level || j < b->level) {
        uint32_t x = i < a->level ? a->support[i] : UINT32_MAX;
        uint32_t y = j < b->level ? b->support[j] : UINT32_MAX;
        if (n == NOE_MAX_LEVEL)
            return NOE_MAX_LEVEL + 1;
        out[n++] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
    }
    return n;
}

/* Variables of a, then those of b that are new. */
static uint64_t occurs_in(uint64_t a, uint64_t b)
{
    for (; b; b >>= 8) {
        uint64_t rest = a;
        int n = 0;
        while (rest && (rest & 0xFF) != (b & 0xFF)) {
            rest >>= 8;
            n++;
        }
        if (!rest && n < NOE_MAX_OCCURS)
            a |= (b & 0xFF) << (8 * n);
    }
    return a;
}

static int count_occurs(uint64_t o)
{
    int n = 0;
    for (; o; o >>= 8)
        n++;
    return n;
}

/* The variables of each group come in order: of all renamings of a term just one. */
static bool is_canonical(const noe_space *space, uint64_t occurs)
{
    int seen[NOE_SPACE_MAX_LEAVES] = {0};
    for (; occurs; occurs >>= 8) {
        const noe_space_leaf *leaf = &space->leaves[(occurs & 0xFF) - 1];
        if (leaf->index != seen[leaf->group]++)
            return false;
    }
    return true;
}

/* Where the result may be cut, from where the operands may */

typedef struct cut_query {
    const noe_universe *u;
    const noe_enode *e;
    const noe_gen_value *a, *b; /* b is NULL for unary moves */
    const noe_shape *out;
} cut_query;

static int64_t axis_of(const cut_query *q)
{
    const noe_move *m = &q->u->space->moves[q->e->move];
    return noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
}

static uint32_t cuts_at(const cut_query *q, const noe_gen_value *v, int axis,
                        bool *fits)
{
    const noe_shape *s = &q->u->shapes[v->shape];
    int at = axis - (q->out->rank - s->rank);
    *fits = at >= 0 && s->dim[at] == q->out->dim[axis];
    return *fits ? v->cuts[at] : 0;
}

/* Axes that keep their size keep their cuts; broadcast operands have no say. */
static void cuts_along(const cut_query *q, uint32_t *cuts)
{
    for (int axis = 0; axis < q->out->rank; axis++) {
        bool from_a, from_b = false;
        uint32_t x = cuts_at(q, q->a, axis, &from_a), y = 0;
        if (q->b)
            y = cuts_at(q, q->b, axis, &from_b);
        cuts[axis] = from_a && from_b ? x & y : x | y;
    }
}

static void cuts_matmul(const cut_query *q, uint32_t *cuts)
{
    cuts[0] = q->a->cuts[0];
    cuts[1] = q->b->cuts[1];
}

static void cuts_conv(const cut_query *q, uint32_t *cuts)
{
    cuts[0] = q->a->cuts[0];
    cuts[1] = q->b->cuts[0];
}

static void cuts_concat(const cut_query *q, uint32_t *cuts)
{
    int axis = (int)axis_of(q);
    int64_t border = q->u->shapes[q->a->shape].dim[axis];
    for (int i = 0; i < q->out->rank; i++)
        cuts[i] = q->a->cuts[i] & q->b->cuts[i];
    cuts[axis] = border > 31 ? q->a->cuts[axis]
                             : q->a->cuts[axis] | UINT32_C(1) << border |
                                   (uint32_t)((uint64_t)q->b->cuts[axis] << border);
}

static void cuts_transpose(const cut_query *q, uint32_t *cuts)
{
    const noe_move *m = &q->u->space->moves[q->e->move];
    const noe_value *perm = noe_params_get(m->op, &m->params, NOE_PARAM_PERM);
    for (int i = 0; i < q->out->rank; i++)
        cuts[i] = q->a->cuts[perm->list[i]];
}

static void cuts_slice(const cut_query *q, uint32_t *cuts)
{
    bool low = q->u->space->moves[q->e->move].kind == NOE_MOVE_LOW;
    int axis = (int)axis_of(q);
    uint32_t old = q->a->cuts[axis], at = q->e->b;
    memcpy(cuts, q->a->cuts, sizeof q->a->cuts);
    cuts[axis] = low ? old & ((UINT32_C(1) << at) - 1) : old >> at & ~UINT32_C(1);
}

typedef void cut_fn(const cut_query *q, uint32_t *cuts);
static cut_fn *const cut_rules[NOE_OP_COUNT] = {
    [NOE_OP_MATMUL] = cuts_matmul,       [NOE_OP_CONV] = cuts_conv,
    [NOE_OP_CONCAT] = cuts_concat,       [NOE_OP_SLICE] = cuts_slice,
    [NOE_OP_TRANSPOSE] = cuts_transpose,
};

static void derive_cuts(const noe_universe *u, const noe_enode *e, noe_gen_value *v)
{
    const noe_move *m = &u->space->moves[e->move];
    cut_query q = {u, e, &u->values[e->a], NULL, &u->shapes[v->shape]};
    if (m->n_in == 2)
        q.b = &u->values[e->b];
    (cut_rules[m->op] ? cut_rules[m->op] : cuts_along)(&q, v->cuts);
}

/* Adding e-nodes */

static bool is_weight_term(const noe_universe *u, const noe_enode *e)
{
    return u->values[e->a].is_weight &&
           (is_unary(u, e->move) || u->values[e->b].is_weight);
}

static void count_operator(noe_enode *e, noe_op op)
{
    e->n_runtime++;
    e->n_heavy = (uint8_t)(e->n_heavy + noe_op_has(op, NOE_TRAIT_HEAVY));
}

static void describe(const builder *b, noe_enode *e, uint64_t occurs,
                     const uint32_t *support, int n_support)
{
    const noe_universe *u = b->u;
    const noe_move *m = &u->space->moves[e->move];
    const noe_gen_class *a = &u->classes[e->a];
    e->n_constants = a->n_constants;
    e->n_leaves = a->n_leaves;
    if (m->n_in == 2) {
        e->n_constants = (uint8_t)(e->n_constants + u->classes[e->b].n_constants);
        e->n_leaves = (uint8_t)(e->n_leaves + u->classes[e->b].n_leaves);
    }
    e->n_vars = (uint8_t)count_occurs(occurs);
    e->is_canonical = is_canonical(u->space, occurs);
    if (!is_weight_term(u, e))
        count_operator(e, m->op);
    for (int i = 0; i < n_support; i++) {
        const noe_enode *made = &u->enodes[u->classes[support[i]].first - 1];
        if (!u->values[support[i]].is_weight)
            count_operator(e, u->space->moves[made->move].op);
    }
}

static noe_fixed fixed_of(noe_universe *u, int shape, noe_fingerprint print)
{
    noe_fingerprint zero = {{0}};
    if (memcmp(&print, &zero, sizeof zero) == 0)
        return NOE_FIXED_ZEROS;
    if (!u->has_ones[shape]) {
        size_t n = (size_t)u->n_samples * u->n_elements[shape];
        noe_fe *ones = noe_malloc(n * sizeof *ones);
        for (size_t i = 0; i < n; i++)
            ones[i] = noe_fe_int(1);
        u->ones[shape] = noe_project(u, shape, ones);
        u->has_ones[shape] = true;
        free(ones);
    }
    if (memcmp(&print, &u->ones[shape], sizeof print) == 0)
        return NOE_FIXED_ONES;
    /* A multiple of ones: both lanes have the same ratio to theirs. */
    const noe_fingerprint *ones = &u->ones[shape];
    bool is_multiple = (uint64_t)print.lane[0] * ones->lane[1] % NOE_FIELD_P ==
                       (uint64_t)print.lane[1] * ones->lane[0] % NOE_FIELD_P;
    return is_multiple ? NOE_FIXED_OTHER : NOE_FIXED_NONE;
}

static uint32_t add_class(noe_universe *u, const noe_enode *e, int shape,
                          noe_fingerprint print)
{
    noe_gen_class c = {.fixed = (uint8_t)fixed_of(u, shape, print),
                       .shape = (uint16_t)shape,
                       .level = e->level,
                       .n_constants = e->n_constants,
                       .n_leaves = e->n_leaves,
                       .n_heavy = e->n_heavy};
    NOE_PUSH(u->classes, u->n_classes, u->cap_classes, c);
    return u->n_classes - 1;
}

static void link_enode(noe_universe *u, const noe_enode *e)
{
    noe_gen_class *c = &u->classes[e->value];
    uint32_t id = u->n_enodes;
    NOE_PUSH(u->enodes, u->n_enodes, u->cap_enodes, *e);
    if (c->last)
        u->enodes[c->last - 1].next = id + 1;
    else
        c->first = id + 1;
    c->last = id + 1;
    noe_key_table_put(u->memo, memo_key(e->move, e->a, e->b), id);
}

/* A term over given values: what is to be added. */
typedef struct term {
    noe_enode e;
    int shape;
    uint64_t occurs;
    uint32_t support[NOE_MAX_LEVEL];
    int n_support;
    uint32_t instance; /* shared with the other part of a cut; NOE_NO_OPERAND: own */
} term;

static void add_value(builder *b, const term *t, const noe_fe *data,
                      noe_fingerprint print)
{
    noe_universe *u = b->u;
    uint32_t id = u->n_values;
    noe_gen_value v = {.print = print,
                       .instance = t->instance == NOE_NO_OPERAND ? id : t->instance,
                       .occurs = t->occurs,
                       .shape = (uint16_t)t->shape,
                       .level = (uint8_t)b->level};
    v.is_weight = is_weight_term(u, &t->e);
    v.data = noe_arena_memdup(
        &u->arena, data, (size_t)u->n_samples * u->n_elements[t->shape] * sizeof *data);
    v.is_closed = u->classes[id].fixed != NOE_FIXED_NONE;
    memcpy(v.support, t->support, sizeof v.support);
    v.support[b->level - 1] = v.instance;
    derive_cuts(u, &t->e, &v);
    NOE_PUSH(u->values, u->n_values, u->cap_values, v);
}

/* Adds the term; the value it has, and whether that was known. */
static uint32_t add_term(builder *b, term *t, bool *was_known)
{
    noe_universe *u = b->u;
    noe_level_stats *stats = &u->stats[b->level];
    noe_params params = noe_enode_params(u, &t->e);
    bool is_last = b->level == u->n_levels;
    noe_fingerprint print;
    if (is_last) {
        print = noe_project_move(u, t->e.move, t->e.a, t->e.b, &params, t->shape);
    } else {
        noe_universe_eval(u, t->e.move, t->e.a, t->e.b, &params, t->shape, b->scratch);
        print = noe_project(u, t->shape, b->scratch);
    }
    uint64_t key = noe_value_key(t->shape, print);
    uint32_t value = noe_key_table_get(u->table, key);
    *was_known = value != UINT32_MAX;
    t->e.level = (uint8_t)b->level;
    describe(b, &t->e, t->occurs, t->support, t->n_support);
    stats->n_enodes++;
    if (*was_known) {
        stats->n_pairs++;
        stats->n_canonical += t->e.is_canonical;
    } else {
        stats->n_values++;
        value = add_class(u, &t->e, t->shape, print);
        noe_key_table_put(u->table, key, value);
        if (!is_last)
            add_value(b, t, b->scratch, print);
    }
    t->e.value = value;
    link_enode(u, &t->e);
    return value;
}

static bool should_stop(builder *b)
{
    if (b->status != NOE_OK)
        return true;
    if (++b->ticks % 4096 == 0) {
        noe_progress(b->u->env, "%s: level %d, %u terms", b->u->space->name, b->level,
                     b->u->n_enodes);
        if (noe_cancelled(b->u->env))
            b->status = noe_fail(b->err, NOE_ERR_CANCELLED, "interrupted at level %d",
                                 b->level);
    }
    return b->status != NOE_OK;
}

static void apply_unary(builder *b, uint32_t a, const applicable *p)
{
    const noe_gen_value *v = &b->u->values[a];
    term t = {.e = {.a = a, .b = NOE_NO_OPERAND, .move = p->move},
              .shape = p->shape,
              .occurs = v->occurs,
              .n_support = v->level,
              .instance = NOE_NO_OPERAND};
    memcpy(t.support, v->support, sizeof t.support);
    bool was_known;
    add_term(b, &t, &was_known);
}

/* Both parts of a cut of a; low is the move of the first, the next one is the second.
 */
static void apply_cut(builder *b, uint32_t a, int low, int64_t cut)
{
    noe_universe *u = b->u;
    const noe_gen_value v = u->values[a];
    int axis =
        (int)noe_params_get(NOE_OP_SLICE, &u->space->moves[low].params, NOE_PARAM_AXIS)
            ->i;
    term t = {.occurs = v.occurs, .n_support = v.level, .instance = NOE_NO_OPERAND};
    uint32_t value[2], enode[2];
    bool known[2];
    memcpy(t.support, v.support, sizeof t.support);
    for (int part = 0; part < 2; part++) {
        noe_shape s = u->shapes[v.shape];
        s.dim[axis] = part ? s.dim[axis] - cut : cut;
        t.shape = noe_universe_shape(u, &s);
        if (t.shape < 0) {
            b->status = noe_fail(b->err, NOE_ERR_LIMIT, "space %s has over %d shapes",
                                 u->space->name, NOE_MAX_SHAPES);
            return;
        }
        t.e = (noe_enode){.a = a, .b = (uint32_t)cut, .move = (uint16_t)(low + part)};
        value[part] = add_term(b, &t, &known[part]);
        enode[part] = u->n_enodes - 1;
        if (!known[part] && b->level < u->n_levels)
            t.instance = u->values[value[part]].instance;
    }
    uint32_t both[NOE_MAX_LEVEL];
    bool is_concat =
        !noe_universe_is_leaf(u, a) &&
        u->space->moves[u->enodes[u->classes[a].first - 1].move].op == NOE_OP_CONCAT;
    if (!known[0] || !known[1] || value[0] >= u->n_values || value[1] >= u->n_values ||
        is_concat || noe_universe_is_leaf(u, a) ||
        unite(&u->values[value[0]], &u->values[value[1]], both) > u->n_levels)
        return;
    noe_sibling s = {enode[0], enode[1], value[0], value[1], (uint8_t)b->level};
    NOE_PUSH(u->siblings, u->n_siblings, u->cap_siblings, s);
    u->stats[b->level].n_siblings += u->enodes[enode[0]].is_canonical;
}

static void apply_cuts(builder *b, uint32_t a, int low)
{
    const noe_universe *u = b->u;
    const noe_shape *s = &u->shapes[u->values[a].shape];
    int64_t axis =
        noe_params_get(NOE_OP_SLICE, &u->space->moves[low].params, NOE_PARAM_AXIS)->i;
    uint32_t cuts = u->values[a].cuts[axis];
    int64_t dim = s->dim[axis];
    for (int64_t cut = 1; cut < dim && cut < 32; cut++) {
        if (cuts >> cut & 1)
            apply_cut(b, a, low, cut);
    }
}

static void run_unary(builder *b, uint32_t n_values)
{
    noe_universe *u = b->u;
    for (uint32_t a = 0; a < n_values && !should_stop(b); a++) {
        if (u->values[a].level != b->level - 1 || u->values[a].is_closed)
            continue;
        struct range range = *moves_for(b, role_of(u, a), ROLES);
        for (uint32_t i = 0; i < range.n; i++) {
            applicable p = b->pairs[range.first + i];
            if (u->space->moves[p.move].kind == NOE_MOVE_PLAIN)
                apply_unary(b, a, &p);
            else if (u->space->moves[p.move].kind == NOE_MOVE_LOW)
                apply_cuts(b, a, p.move);
        }
    }
}

/* All moves on (x, y), whose supports unite to `support`. */
static void apply_binary(builder *b, uint32_t x, uint32_t y, const struct range *range,
                         const uint32_t *support, int n_support)
{
    noe_universe *u = b->u;
    for (uint32_t i = 0; i < range->n; i++) {
        applicable p = b->pairs[range->first + i];
        if (y < x && noe_op_has(u->space->moves[p.move].op, NOE_TRAIT_COMMUTATIVE))
            continue;
        term t = {.e = {.a = x, .b = y, .move = p.move},
                  .shape = p.shape,
                  .occurs = occurs_in(u->values[x].occurs, u->values[y].occurs),
                  .n_support = n_support,
                  .instance = NOE_NO_OPERAND};
        memcpy(t.support, support, (size_t)n_support * sizeof *support);
        bool was_known;
        add_term(b, &t, &was_known);
    }
}

static void run_block(builder *b, const id_list *xs, const id_list *ys,
                      const struct range *range)
{
    noe_universe *u = b->u;
    for (uint32_t i = 0; i < xs->n && !should_stop(b); i++) {
        for (uint32_t j = 0; j < ys->n; j++) {
            uint32_t x = xs->id[i], y = ys->id[j], support[NOE_MAX_LEVEL];
            if (unite(&u->values[x], &u->values[y], support) == b->level - 1)
                apply_binary(b, x, y, range, support, b->level - 1);
        }
    }
}

static void run_disjoint(builder *b, int n_roles)
{
    for (int level = 0; level < b->level; level++) {
        for (int x = 0; x < n_roles; x++) {
            const id_list *xs = &b->by_role[level][x];
            for (int y = 0; xs->n && y < n_roles; y++) {
                const id_list *ys = &b->by_role[b->level - 1 - level][y];
                if (!ys->n)
                    continue;
                struct range range = *moves_for(b, (uint32_t)x, (uint32_t)y);
                if (range.n)
                    run_block(b, xs, ys, &range);
            }
        }
    }
}

static void apply_overlapping(builder *b, uint32_t x, uint32_t y,
                              const uint32_t *support)
{
    struct range range = *moves_for(b, role_of(b->u, x), role_of(b->u, y));
    if (range.n)
        apply_binary(b, x, y, &range, support, b->level - 1);
}

/* x has level - 1 operators: y is made by one of them. Parts of a cut have neighbouring
 * numbers. */
static void run_inside(builder *b, uint32_t x, uint32_t n_values)
{
    noe_universe *u = b->u;
    const noe_gen_value v = u->values[x];
    for (int i = 0; i < v.level; i++) {
        for (uint32_t y = v.support[i]; y < n_values && y < v.support[i] + 2; y++) {
            if (u->values[y].instance != v.support[i] || u->values[y].is_closed)
                continue;
            apply_overlapping(b, x, y, v.support);
            if (y != x && u->values[y].level < b->level - 1)
                apply_overlapping(b, y, x, v.support);
        }
    }
}

/* Whether instance number i of x is the smallest that x and y share. */
static bool is_first_shared(const noe_gen_value *x, const noe_gen_value *y, int i)
{
    for (int p = 0; p < i; p++) {
        for (int q = 0; q < y->level; q++) {
            if (x->support[p] == y->support[q])
                return false;
        }
    }
    return true;
}

static void run_users(builder *b, uint32_t x)
{
    noe_universe *u = b->u;
    const noe_gen_value v = u->values[x];
    for (int i = 0; i < v.level; i++) {
        const id_list users = b->users[v.support[i]];
        for (uint32_t j = 0; j < users.n; j++) {
            uint32_t y = users.id[j], support[NOE_MAX_LEVEL];
            const noe_gen_value *w = &u->values[y];
            if (w->level >= b->level - 1)
                break; /* in order of level */
            if (v.level + w->level <= b->level - 1 || !is_first_shared(&v, w, i))
                continue;
            if (unite(&v, w, support) == b->level - 1)
                apply_overlapping(b, x, y, support);
        }
    }
}

static void run_overlapping(builder *b, uint32_t n_values)
{
    noe_universe *u = b->u;
    for (uint32_t x = 0; x < n_values && !should_stop(b); x++) {
        if (u->values[x].level == 0 || u->values[x].is_closed)
            continue;
        if (u->values[x].level == b->level - 1)
            run_inside(b, x, n_values);
        else
            run_users(b, x);
    }
}

/* Enters the values of a finished level into the lists. */
static void index_level(builder *b, uint32_t first)
{
    noe_universe *u = b->u;
    if (b->cap_users < u->n_values) {
        b->users = noe_realloc(b->users, u->n_values * sizeof *b->users);
        memset(b->users + b->cap_users, 0,
               (u->n_values - b->cap_users) * sizeof *b->users);
        b->cap_users = u->n_values;
    }
    for (uint32_t i = first; i < u->n_values; i++) {
        if (u->values[i].is_closed)
            continue;
        id_list *list = &b->by_role[b->level][role_of(u, i)];
        NOE_PUSH(list->id, list->n, list->cap, i);
        for (int k = 0; k < u->values[i].level; k++) {
            id_list *users = &b->users[u->values[i].support[k]];
            NOE_PUSH(users->id, users->n, users->cap, i);
        }
    }
}

static void fill_leaf(noe_universe *u, const noe_space_leaf *leaf, int index,
                      noe_fe *data)
{
    uint32_t n = u->n_elements[u->values[index].shape];
    noe_rng rng = noe_rng_split(u->env->seed, "leaf", (uint64_t)index);
    for (int q = 0; q < u->n_samples; q++) {
        noe_fe *to = data + (size_t)q * n;
        if (leaf->is_constant) {
            noe_tensor_fe t = {leaf->shape, to};
            noe_eval_fe(&u->field, leaf->op, &leaf->params, NULL, 0, &t);
            continue;
        }
        for (uint32_t i = 0; i < n; i++)
            to[i] = noe_fe_random(&rng);
        /* A single element has one sign a sample: make both signs sure to occur. */
        while (n == 1 && noe_fe_sign(to[0].u) != (q % 2 ? 1 : -1))
            to[0] = noe_fe_random(&rng);
    }
}

static noe_status add_leaves(builder *b)
{
    noe_universe *u = b->u;
    for (int i = 0; i < u->space->n_leaves; i++) {
        const noe_space_leaf *leaf = &u->space->leaves[i];
        int shape = noe_universe_shape(u, &leaf->shape);
        noe_gen_value v = {.shape = (uint16_t)shape,
                           .leaf = (uint8_t)i,
                           .instance = (uint32_t)i,
                           .is_weight = leaf->is_weight,
                           .occurs = leaf->is_constant ? 0 : (uint64_t)i + 1};
        memcpy(v.cuts, leaf->cuts, sizeof v.cuts);
        v.data = noe_arena_alloc(&u->arena, (size_t)u->n_samples *
                                                u->n_elements[shape] * sizeof *v.data);
        NOE_PUSH(u->values, u->n_values, u->cap_values, v);
        fill_leaf(u, leaf, i, v.data);
        noe_fingerprint print = noe_project(u, shape, v.data);
        u->values[i].print = print;
        uint64_t key = noe_value_key(shape, print);
        if (noe_key_table_get(u->table, key) != UINT32_MAX)
            return noe_fail(b->err, NOE_ERR_ARG, "space %s: leaf %s equals another one",
                            u->space->name, leaf->name);
        noe_gen_class c = {
            .shape = (uint16_t)shape, .n_leaves = 1, .n_constants = leaf->is_constant};
        NOE_PUSH(u->classes, u->n_classes, u->cap_classes, c);
        noe_key_table_put(u->table, key, (uint32_t)i);
        u->stats[0].n_values++;
    }
    index_level(b, 0);
    return NOE_OK;
}

static noe_status run_level(builder *b, int level)
{
    noe_universe *u = b->u;
    uint32_t n_values = u->n_values;
    int n_roles = u->n_shapes * 2;
    double start = noe_cpu_seconds();
    b->level = level;
    run_unary(b, n_values);
    run_disjoint(b, n_roles);
    if (level >= 2)
        run_overlapping(b, n_values);
    if (level < u->n_levels)
        index_level(b, n_values);
    u->stats[level].cpu_seconds = noe_cpu_seconds() - start;
    return b->status;
}

static void builder_free(builder *b)
{
    for (int level = 0; level < NOE_MAX_LEVEL; level++) {
        for (int i = 0; i < ROLES; i++)
            free(b->by_role[level][i].id);
    }
    for (uint32_t i = 0; i < b->cap_users; i++)
        free(b->users[i].id);
    free(b->users);
    free(b->pairs);
    free(b->ranges);
    free(b->scratch);
    noe_key_table_free(b->pair_index);
    free(b);
}

noe_status noe_universe_build(const noe_space *space, int n_levels, int n_samples,
                              bool use_sketches, const noe_env *env, noe_universe **out,
                              noe_error *err)
{
    *out = NULL;
    if (n_levels < 1 || n_levels > NOE_MAX_LEVEL)
        return noe_fail(err, NOE_ERR_ARG, "level is %d, want 1 to %d", n_levels,
                        NOE_MAX_LEVEL);
    if (n_samples < 1 || n_samples > NOE_MAX_SAMPLES)
        return noe_fail(err, NOE_ERR_ARG, "samples is %d, want 1 to %d", n_samples,
                        NOE_MAX_SAMPLES);
    NOE_ASSERT(space->max_dim <= NOE_SPACE_MAX_DIM);
    noe_universe *u = noe_calloc(1, sizeof *u);
    *u = (noe_universe){.space = space,
                        .env = env,
                        .field = noe_field_make(env->seed),
                        .n_levels = n_levels,
                        .n_samples = n_samples,
                        .use_sketches = use_sketches,
                        .table = noe_key_table_new(),
                        .memo = noe_key_table_new(),
                        .projector = noe_projector_new(env->seed, n_samples)};
    builder *b = noe_calloc(1, sizeof *b);
    b->u = u;
    b->err = err;
    b->pair_index = noe_key_table_new();
    b->scratch = noe_malloc((size_t)n_samples * (size_t)space->max_elements *
                            sizeof *b->scratch);
    noe_status status = add_leaves(b);
    for (int level = 1; level <= n_levels && status == NOE_OK; level++)
        status = run_level(b, level);
    builder_free(b);
    if (status == NOE_OK)
        *out = u;
    else
        noe_universe_free(u);
    return status;
}

void noe_universe_free(noe_universe *u)
{
    if (!u)
        return;
    free(u->values);
    free(u->classes);
    free(u->enodes);
    free(u->siblings);
    noe_key_table_free(u->table);
    noe_key_table_free(u->memo);
    noe_projector_free(u->projector);
    noe_arena_clear(&u->arena);
    free(u);
}
