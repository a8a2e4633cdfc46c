/* SPDX-License-Identifier: Apache-2.0
 *
 * The universe against an enumerator that shares nothing with it but the meaning of
 * operators: all straight-line programs of up to N operators, in every order, evaluated
 * at points of their own, values told apart element by element. Both must agree on the
 * values and their least numbers of operators, and on the e-nodes (an operator, its
 * operands, its value) and theirs. */
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define POINTS      12
#define MAX_VALUES  60000
#define MAX_STEPS   120000
#define BUCKETS     (1u << 16)
#define SEED        77
#define MAX_PROGRAM (NOE_SPACE_MAX_LEAVES + 2 * NOE_MAX_LEVEL)
#define NONE        (-1)

typedef struct thing {
    noe_shape shape;
    noe_role role;
    noe_fe *data; /* POINTS samples */
    bool is_leaf, is_plain, is_closed;
    int cost;
    uint32_t cuts[NOE_SPACE_MAX_RANK];
    int next; /* in the bucket */
} thing;

typedef struct step {
    int move, in[NOE_SPACE_MAX_IN]; /* in[1] of a slice is its cut */
    int value, cost;
    int next;
} step;

static struct {
    const noe_space *space;
    noe_field fields[POINTS];
    thing values[MAX_VALUES];
    int n_values, value_bucket[BUCKETS];
    step steps[MAX_STEPS];
    int n_steps, step_bucket[BUCKETS];
    int program[MAX_PROGRAM], n_program; /* values at hand */
    int max_cost;
} w;

static size_t size_of(const noe_shape *s)
{
    return (size_t)noe_shape_elements(s);
}

static bool is_one_number(const thing *t)
{
    for (size_t i = 0; i < size_of(&t->shape) * POINTS; i++) {
        if (!noe_fe_eq(t->data[i], t->data[0]))
            return false;
    }
    return true;
}

static bool is_same(const thing *x, const thing *y)
{
    if (!noe_shape_eq(&x->shape, &y->shape))
        return false;
    for (size_t i = 0; i < size_of(&x->shape) * POINTS; i++) {
        if (!noe_fe_eq(x->data[i], y->data[i]))
            return false;
    }
    return true;
}

/* Takes t->data. */
static int intern(const thing *t)
{
    int *bucket = &w.value_bucket[t->data[0].u % BUCKETS];
    for (int i = *bucket; i != NONE; i = w.values[i].next) {
        if (is_same(&w.values[i], t)) {
            free(t->data);
            return i;
        }
    }
    ck_assert_int_lt(w.n_values, MAX_VALUES);
    w.values[w.n_values] = *t;
    w.values[w.n_values].next = *bucket;
    return *bucket = w.n_values++;
}

static void add_leaves(void)
{
    noe_rng rng = noe_rng_split(SEED, "brute", 0);
    for (int p = 0; p < POINTS; p++)
        w.fields[p] = noe_field_make(noe_rng_next(&rng));
    for (int i = 0; i < w.space->n_leaves; i++) {
        const noe_space_leaf *leaf = &w.space->leaves[i];
        size_t n = size_of(&leaf->shape) * POINTS;
        thing t = {.shape = leaf->shape,
                   .role = leaf->role,
                   .is_leaf = true,
                   .is_plain = noe_leaf_is_plain(leaf)};
        memcpy(t.cuts, leaf->cuts, sizeof t.cuts);
        t.data = noe_calloc(n, sizeof *t.data);
        for (size_t k = 0; k < n; k++)
            t.data[k] = leaf->is_constant             ? noe_fe_int(1)
                        : leaf->role == NOE_ROLE_MASK ? noe_fe_draw_truth(&rng)
                                                      : noe_fe_random(&rng);
        w.program[w.n_program++] = intern(&t);
    }
}

static int evaluate(const noe_move *m, const int *operands, const noe_shape *out)
{
    thing t = {.shape = *out, .cost = 99};
    noe_params params = noe_move_params(m, &w.values[operands[0]].shape, operands[1]);
    t.data = noe_calloc(size_of(out) * POINTS, sizeof *t.data);
    t.role = w.values[operands[m->n_in - 1]].role;
    if (m->op == NOE_OP_CAST)
        t.role = noe_params_get(m->op, &params, NOE_PARAM_TO)->i == 10 ? NOE_ROLE_HALF
                                                                       : NOE_ROLE_DATA;
    for (size_t p = 0; p < POINTS; p++) {
        noe_tensor_fe in[NOE_SPACE_MAX_IN];
        for (int k = 0; k < m->n_in; k++) {
            const thing *x = &w.values[operands[k]];
            in[k] = (noe_tensor_fe){x->shape, x->data + p * size_of(&x->shape)};
        }
        noe_tensor_fe to = {*out, t.data + p * size_of(out)};
        noe_eval_fe(&w.fields[p], m->op, &params, in, m->n_in, &to);
    }
    t.is_closed = is_one_number(&t);
    return intern(&t);
}

static step *find_step(int move, const int *in)
{
    int a = in[0], b = in[1], c = in[2];
    if (noe_op_has(w.space->moves[move].op, NOE_TRAIT_COMMUTATIVE) && b < a) {
        a = in[1];
        b = in[0];
    }
    uint32_t hash = (uint32_t)move * 40503u + (uint32_t)a * 7919u + (uint32_t)b * 31u +
                    (uint32_t)c * 2003u;
    int *bucket = &w.step_bucket[hash % BUCKETS];
    for (int i = *bucket; i != NONE; i = w.steps[i].next) {
        step *s = &w.steps[i];
        if (s->move == move && s->in[0] == a && s->in[1] == b && s->in[2] == c)
            return s;
    }
    ck_assert_int_lt(w.n_steps, MAX_STEPS);
    step *s = &w.steps[w.n_steps];
    *s = (step){move, {a, b, c}, NONE, 99, *bucket};
    *bucket = w.n_steps++;
    return s;
}

/* The value of the step, NONE if it does not fit. */
static int take_step(int move, const int *in, int cost)
{
    const noe_move *m = &w.space->moves[move];
    noe_operand operands[NOE_SPACE_MAX_IN];
    noe_shape out;
    for (int k = 0; k < m->n_in; k++)
        operands[k] = (noe_operand){&w.values[in[k]].shape, w.values[in[k]].role};
    if (m->kind == NOE_MOVE_PLAIN) {
        if (!noe_move_fits(w.space, m, operands, &out))
            return NONE;
        const thing *a = &w.values[in[0]], *b = m->n_in == 2 ? &w.values[in[1]] : a;
        if (a->is_plain != b->is_plain &&
            noe_move_widens(m, a->is_plain ? &b->shape : &a->shape, &out))
            return NONE;
    } else {
        int64_t axis = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
        out = w.values[in[0]].shape;
        out.dim[axis] = m->kind == NOE_MOVE_LOW ? in[1] : out.dim[axis] - in[1];
    }
    step *s = find_step(move, in);
    if (s->value == NONE)
        s->value = evaluate(m, in, &out);
    if (cost < s->cost)
        s->cost = cost;
    if (cost < w.values[s->value].cost)
        w.values[s->value].cost = cost;
    return s->value;
}

static bool push(int value)
{
    for (int i = 0; i < w.n_program; i++) {
        if (w.program[i] == value)
            return false;
    }
    if (w.values[value].is_closed)
        return false;
    w.program[w.n_program++] = value;
    return true;
}

static void grow(int cost);

static void go_on(int x, int y, int cost)
{
    int n = w.n_program;
    if (cost == w.max_cost)
        return;
    bool is_new = push(x);
    if (y != NONE)
        is_new = push(y) || is_new;
    if (is_new)
        grow(cost + 1);
    w.n_program = n;
}

static void cut(int move, int a, int cost)
{
    const noe_move *m = &w.space->moves[move];
    int64_t axis = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
    if (axis >= w.values[a].shape.rank)
        return;
    for (int at = 1; at < w.values[a].shape.dim[axis]; at++) {
        int in[NOE_SPACE_MAX_IN] = {a, at, NONE};
        if (w.values[a].cuts[axis] >> at & 1)
            go_on(take_step(move, in, cost), take_step(move + 1, in, cost), cost);
    }
}

/* The move on `a` and, where it has more operands, on any of the first n values. */
static void step_with(int move, int a, int n, int cost)
{
    int n_in = w.space->moves[move].n_in;
    for (int k = 0; k < (n_in > 1 ? n : 1); k++) {
        for (int l = 0; l < (n_in > 2 ? n : 1); l++) {
            int in[NOE_SPACE_MAX_IN] = {a, n_in > 1 ? w.program[k] : NONE,
                                        n_in > 2 ? w.program[l] : NONE};
            int value = take_step(move, in, cost);
            if (value != NONE)
                go_on(value, NONE, cost);
        }
    }
}

/* All programs that go on from this one, whose next operator is number `cost`. */
static void grow(int cost)
{
    int n = w.n_program;
    for (int move = 0; move < w.space->n_moves; move++) {
        const noe_move *m = &w.space->moves[move];
        for (int i = 0; i < n; i++) {
            int a = w.program[i];
            if (m->kind == NOE_MOVE_LOW)
                cut(move, a, cost);
            if (m->kind == NOE_MOVE_PLAIN)
                step_with(move, a, n, cost);
        }
    }
}

/* Where the result of a step may be cut; operators that the tests use with slice,
 * on matrices. */
static uint32_t cuts_of(const step *s, int axis)
{
    const noe_move *m = &w.space->moves[s->move];
    const thing *x = &w.values[s->in[0]];
    const uint32_t *a = x->cuts;
    if (m->kind == NOE_MOVE_PLAIN && m->op == NOE_OP_TRANSPOSE)
        return a[1 - axis];
    if (m->kind == NOE_MOVE_PLAIN && m->n_in == 1)
        return a[axis];
    const thing *y = m->n_in > 1 ? &w.values[s->in[1]] : NULL;
    if (m->op == NOE_OP_ADD || m->op == NOE_OP_WHERE) {
        uint32_t all = 0;
        bool any = false;
        for (int k = 0; k < m->n_in; k++) {
            const thing *z = &w.values[s->in[k]];
            if (z->shape.dim[axis] != w.values[s->value].shape.dim[axis])
                continue;
            all = any ? all & z->cuts[axis] : z->cuts[axis];
            any = true;
        }
        return all;
    }
    int64_t along = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
    if (m->kind == NOE_MOVE_PLAIN) {
        int64_t border = x->shape.dim[along];
        return axis != along ? a[axis] & y->cuts[axis]
                             : a[axis] | 1u << border | y->cuts[axis] << border;
    }
    if (axis != along)
        return a[axis];
    return m->kind == NOE_MOVE_LOW ? a[axis] & ((1u << s->in[1]) - 1)
                                   : a[axis] >> s->in[1] & ~1u;
}

static void settle_cuts(int cost)
{
    for (int i = 0; i < w.n_steps; i++) {
        const step *s = &w.steps[i];
        thing *t = s->value == NONE ? NULL : &w.values[s->value];
        if (!t || s->cost != cost || t->cost != cost)
            continue;
        for (int axis = 0; axis < 2; axis++)
            t->cuts[axis] |= cuts_of(s, axis);
    }
}

static void run_brute(const noe_space *space, int max_cost, bool has_cuts)
{
    memset(&w, 0, sizeof w);
    memset(w.value_bucket, -1, sizeof w.value_bucket);
    memset(w.step_bucket, -1, sizeof w.step_bucket);
    w.space = space;
    add_leaves();
    /* One bound after the other: cuts of a value must be known before it is cut. */
    for (w.max_cost = has_cuts ? 1 : max_cost; w.max_cost <= max_cost; w.max_cost++) {
        grow(1);
        if (has_cuts)
            settle_cuts(w.max_cost);
    }
}

static const step *step_of(const noe_universe *u, const noe_enode *e, const int *map)
{
    uint32_t operands[NOE_SPACE_MAX_IN];
    int n = noe_enode_operands(u, e, operands);
    int in[NOE_SPACE_MAX_IN] = {NONE, e->b == NOE_NO_OPERAND ? NONE : (int)e->b, NONE};
    for (int k = 0; k < n; k++)
        in[k] = map[operands[k]];
    return find_step(e->move, in);
}

/* The value that brute force has for each class. */
static int *map_classes(const noe_universe *u, const char *name)
{
    int *map = noe_calloc(u->n_classes, sizeof *map);
    bool *taken = noe_calloc((size_t)w.n_values, sizeof *taken);
    for (uint32_t c = 0; c < u->n_classes; c++) {
        map[c] = (int)c; /* leaves come first, in both */
        if (u->classes[c].level > 0) {
            const step *s = step_of(u, &u->enodes[u->classes[c].first - 1], map);
            ck_assert_msg(s->value != NONE, "%s: class %u is not made by programs",
                          name, c);
            map[c] = s->value;
        }
        ck_assert_msg(!taken[map[c]], "%s: class %u equals another one", name, c);
        taken[map[c]] = true;
        ck_assert_msg(w.values[map[c]].cost == u->classes[c].level,
                      "%s: class %u has level %d, want %d", name, c,
                      u->classes[c].level, w.values[map[c]].cost);
    }
    ck_assert_int_eq(w.n_values, (int)u->n_classes);
    free(taken);
    return map;
}

static void compare_enodes(const noe_universe *u, const int *map, const char *name)
{
    int n_steps = w.n_steps;
    for (uint32_t i = 0; i < u->n_enodes; i++) {
        const noe_enode *e = &u->enodes[i];
        const step *s = step_of(u, e, map);
        ck_assert_msg(s->value == map[e->value], "%s: e-node %u has another value",
                      name, i);
        ck_assert_msg(s->cost == e->level, "%s: e-node %u has level %d, want %d", name,
                      i, e->level, s->cost);
    }
    ck_assert_int_eq(n_steps, w.n_steps);
    ck_assert_msg(n_steps == (int)u->n_enodes, "%s: %u e-nodes, want %d", name,
                  u->n_enodes, n_steps);
}

static const struct {
    const char *ops;
    int n_leaves, n_levels, min_equal;
} spaces[] = {
    {"add mul relu", 4, 2, 20},       {"matmul add neg", 4, 2, 10},
    {"sub mul reduce_sum", 4, 2, 10}, {"concat transpose relu slice", 4, 2, 10},
    {"add mul relu", 2, 3, 50},       {"matmul add", 3, 3, 20},
    {"sub neg relu", 2, 3, 50},       {"concat slice relu add", 2, 3, 50},
    {"concat slice neg", 2, 3, 20},   {"add relu", 2, 4, 100},
    {"add mul", 2, 4, 100},           {"mul relu", 1, 4, 20},
    {"sub neg", 2, 4, 100},           {"where relu", 3, 2, 2},
    {"where add", 3, 2, 10},          {"where relu", 3, 3, 10},
    {"where add neg", 2, 3, 10},      {"where transpose neg", 3, 3, 10},
    {"where concat slice", 3, 2, 2},  {"where add slice", 2, 3, 2},
    {"where slice", 3, 3, 2},         {"where neg", 3, 4, 20},
    {"where add relu", 3, 3, 50},     {"cast transpose", 2, 3, 5},
    {"cast concat slice", 2, 3, 20},  {"cast where", 3, 3, 2},
};

/* Moves with three operands are there at every level, also with operators in common. */
static void check_three(const noe_universe *u, int n_levels)
{
    int n_at[NOE_MAX_LEVEL + 1] = {0}, n_shared = 0;
    for (uint32_t i = 0; i < u->n_enodes; i++) {
        uint32_t in[NOE_SPACE_MAX_IN];
        int sum = 1, n = noe_enode_operands(u, &u->enodes[i], in);
        for (int k = 0; k < n; k++)
            sum += u->classes[in[k]].level;
        n_at[u->enodes[i].level] += n == 3;
        n_shared += n == 3 && sum > u->enodes[i].level;
    }
    for (int level = 1; level <= n_levels && u->space->has_three; level++)
        ck_assert_int_gt(n_at[level], level == 1 ? 0 : 3);
    ck_assert(!u->space->has_three || n_shared > 0);
}

START_TEST(test_brute_force_agrees)
{
    noe_space space = tiny_space(spaces[_i].ops);
    space.n_leaves = spaces[_i].n_leaves;
    space.leaves[0].cuts[0] = 1u << 1; /* both parts have one shape and may be added */
    if (space.has_three)
        space.leaves[1].cuts[0] = 1u << 1;
    noe_universe *u = build_whole_universe(&space, spaces[_i].n_levels, SEED + 1);
    run_brute(&space, spaces[_i].n_levels, strstr(spaces[_i].ops, "slice") != NULL);
    int *map = map_classes(u, spaces[_i].ops);
    compare_enodes(u, map, spaces[_i].ops);
    ck_assert_int_gt((int)u->n_enodes - (int)u->n_classes, spaces[_i].min_equal);
    check_three(u, spaces[_i].n_levels);
    for (int i = 0; i < w.n_values; i++)
        free(w.values[i].data);
    free(map);
    noe_universe_free(u);
}
END_TEST

Suite *suite_brute(void);
Suite *suite_brute(void)
{
    Suite *s = suite_create("brute");
    TCase *tc = tcase_create("brute");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_brute_force_agrees, 0,
                        (int)(sizeof spaces / sizeof *spaces));
    suite_add_tcase(s, tc);
    return s;
}
