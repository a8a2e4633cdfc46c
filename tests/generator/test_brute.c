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
    noe_fe *data; /* POINTS samples */
    bool is_leaf, is_plain, is_closed;
    int cost;
    uint32_t cuts[NOE_SPACE_MAX_RANK];
    int next; /* in the bucket */
} thing;

typedef struct step {
    int move, a, b; /* b: the second operand, or the cut */
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
        thing t = {
            .shape = leaf->shape, .is_leaf = true, .is_plain = noe_leaf_is_plain(leaf)};
        memcpy(t.cuts, leaf->cuts, sizeof t.cuts);
        t.data = noe_calloc(n, sizeof *t.data);
        for (size_t k = 0; k < n; k++)
            t.data[k] = leaf->is_constant ? noe_fe_int(1) : noe_fe_random(&rng);
        w.program[w.n_program++] = intern(&t);
    }
}

static int evaluate(const noe_move *m, int a, int b, const noe_shape *out)
{
    const thing *x = &w.values[a], *y = m->n_in == 2 ? &w.values[b] : x;
    thing t = {.shape = *out, .cost = 99};
    noe_params params = noe_move_params(m, &x->shape, b);
    t.data = noe_calloc(size_of(out) * POINTS, sizeof *t.data);
    for (size_t p = 0; p < POINTS; p++) {
        noe_tensor_fe in[2] = {{x->shape, x->data + p * size_of(&x->shape)},
                               {y->shape, y->data + p * size_of(&y->shape)}};
        noe_tensor_fe to = {*out, t.data + p * size_of(out)};
        noe_eval_fe(&w.fields[p], m->op, &params, in, m->n_in, &to);
    }
    t.is_closed = is_one_number(&t);
    return intern(&t);
}

static step *find_step(int move, int a, int b)
{
    if (noe_op_has(w.space->moves[move].op, NOE_TRAIT_COMMUTATIVE) && b < a) {
        int swap = a;
        a = b;
        b = swap;
    }
    uint32_t hash = (uint32_t)move * 40503u + (uint32_t)a * 7919u + (uint32_t)b * 31u;
    int *bucket = &w.step_bucket[hash % BUCKETS];
    for (int i = *bucket; i != NONE; i = w.steps[i].next) {
        step *s = &w.steps[i];
        if (s->move == move && s->a == a && s->b == b)
            return s;
    }
    ck_assert_int_lt(w.n_steps, MAX_STEPS);
    step *s = &w.steps[w.n_steps];
    *s = (step){move, a, b, NONE, 99, *bucket};
    *bucket = w.n_steps++;
    return s;
}

/* The value of the step, NONE if it does not fit. */
static int take_step(int move, int a, int b, int cost)
{
    const noe_move *m = &w.space->moves[move];
    const noe_shape *y = m->n_in == 2 ? &w.values[b].shape : &w.values[a].shape;
    noe_shape out;
    if (m->kind == NOE_MOVE_PLAIN) {
        if (!noe_move_fits(w.space, m, &w.values[a].shape, true, y, true, &out))
            return NONE;
        if (m->n_in == 2 && w.values[a].is_plain != w.values[b].is_plain &&
            noe_move_widens(m, w.values[a].is_plain ? y : &w.values[a].shape, &out))
            return NONE;
    } else {
        int64_t axis = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
        out = w.values[a].shape;
        out.dim[axis] = m->kind == NOE_MOVE_LOW ? b : out.dim[axis] - b;
    }
    step *s = find_step(move, a, b);
    if (s->value == NONE)
        s->value = evaluate(m, a, b, &out);
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
        if (w.values[a].cuts[axis] >> at & 1)
            go_on(take_step(move, a, at, cost), take_step(move + 1, a, at, cost), cost);
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
            for (int k = 0; m->kind == NOE_MOVE_PLAIN && k < (m->n_in == 2 ? n : 1);
                 k++) {
                int b = m->n_in == 2 ? w.program[k] : NONE;
                int value = take_step(move, a, b, cost);
                if (value != NONE)
                    go_on(value, NONE, cost);
            }
        }
    }
}

/* Where the result of a step may be cut; operators that the tests use with slice,
 * on matrices. */
static uint32_t cuts_of(const step *s, int axis)
{
    const noe_move *m = &w.space->moves[s->move];
    const uint32_t *a = w.values[s->a].cuts;
    if (m->kind == NOE_MOVE_PLAIN && m->op == NOE_OP_TRANSPOSE)
        return a[1 - axis];
    if (m->kind == NOE_MOVE_PLAIN && m->n_in == 1)
        return a[axis];
    const thing *x = &w.values[s->a], *y = &w.values[s->b];
    if (m->op == NOE_OP_ADD) {
        bool has_x = x->shape.dim[axis] == w.values[s->value].shape.dim[axis];
        bool has_y = y->shape.dim[axis] == w.values[s->value].shape.dim[axis];
        uint32_t both = x->cuts[axis] & y->cuts[axis];
        return has_x && has_y ? both : has_x ? x->cuts[axis] : y->cuts[axis];
    }
    int64_t along = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
    if (m->kind == NOE_MOVE_PLAIN) {
        int64_t border = x->shape.dim[along];
        return axis != along ? a[axis] & y->cuts[axis]
                             : a[axis] | 1u << border | y->cuts[axis] << border;
    }
    if (axis != along)
        return a[axis];
    return m->kind == NOE_MOVE_LOW ? a[axis] & ((1u << s->b) - 1)
                                   : a[axis] >> s->b & ~1u;
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

/* The value that brute force has for each class. */
static int *map_classes(const noe_universe *u, const char *name)
{
    int *map = noe_calloc(u->n_classes, sizeof *map);
    bool *taken = noe_calloc((size_t)w.n_values, sizeof *taken);
    for (uint32_t c = 0; c < u->n_classes; c++) {
        map[c] = (int)c; /* leaves come first, in both */
        if (u->classes[c].level > 0) {
            const noe_enode *e = &u->enodes[u->classes[c].first - 1];
            bool binary = u->space->moves[e->move].n_in == 2;
            int b = binary ? map[e->b] : e->b == NOE_NO_OPERAND ? NONE : (int)e->b;
            const step *s = find_step(e->move, map[e->a], b);
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
        bool binary = u->space->moves[e->move].n_in == 2;
        int b = binary ? map[e->b] : e->b == NOE_NO_OPERAND ? NONE : (int)e->b;
        const step *s = find_step(e->move, map[e->a], b);
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
    {"sub neg", 2, 4, 100},
};

START_TEST(test_brute_force_agrees)
{
    noe_space space = tiny_space(spaces[_i].ops);
    space.n_leaves = spaces[_i].n_leaves;
    space.leaves[0].cuts[0] = 1u << 1; /* both parts have one shape and may be added */
    noe_universe *u = build_whole_universe(&space, spaces[_i].n_levels, SEED + 1);
    run_brute(&space, spaces[_i].n_levels, strstr(spaces[_i].ops, "slice") != NULL);
    int *map = map_classes(u, spaces[_i].ops);
    compare_enodes(u, map, spaces[_i].ops);
    ck_assert_int_gt((int)u->n_enodes - (int)u->n_classes, spaces[_i].min_equal);
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
