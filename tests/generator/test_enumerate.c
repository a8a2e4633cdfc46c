/* SPDX-License-Identifier: Apache-2.0
 *
 * The universe against an enumerator that shares nothing with it but the meaning of
 * operators: all terms of up to two operators, each evaluated at points of its own, all
 * pairs compared element by element. */
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <string.h>

#define POINTS    6
#define MAX_TERMS 4000
#define SEED      77

typedef struct brute {
    int move, a, b; /* operands: terms; leaves have move -1 */
    int n_ops;
    noe_shape shape;
    noe_fe *data;   /* POINTS samples */
    uint32_t value; /* what the universe says */
} brute;

static brute terms[MAX_TERMS];
static int n_terms;
static noe_field fields[POINTS];

static size_t size_of(const noe_shape *s)
{
    return (size_t)noe_shape_elements(s);
}

static void add_leaves(const noe_space *space)
{
    noe_rng rng = noe_rng_split(SEED, "brute", 0);
    for (int p = 0; p < POINTS; p++)
        fields[p] = noe_field_make(noe_rng_next(&rng));
    for (int i = 0; i < space->n_leaves; i++) {
        const noe_space_leaf *leaf = &space->leaves[i];
        size_t n = size_of(&leaf->shape);
        brute *t = &terms[n_terms++];
        *t = (brute){.move = -1, .shape = leaf->shape, .value = (uint32_t)i};
        t->data = noe_calloc(n * POINTS, sizeof *t->data);
        for (size_t k = 0; k < n * POINTS; k++)
            t->data[k] = leaf->is_constant ? noe_fe_int(1) : noe_fe_random(&rng);
    }
}

static void add_term(const noe_space *space, int move, int a, int b, int n_ops)
{
    const noe_move *m = &space->moves[move];
    noe_type in[2] = {{NOE_F32, terms[a].shape}, {NOE_F32, terms[b < 0 ? a : b].shape}};
    noe_shape out;
    if (!noe_move_fits(space, m, &in[0].shape, true, &in[1].shape, true, &out))
        return;
    ck_assert_int_lt(n_terms, MAX_TERMS);
    brute *t = &terms[n_terms++];
    *t = (brute){.move = move, .a = a, .b = b, .n_ops = n_ops, .shape = out};
    t->data = noe_calloc(size_of(&out) * POINTS, sizeof *t->data);
    for (int p = 0; p < POINTS; p++) {
        noe_tensor_fe x[2];
        for (int k = 0; k < m->n_in; k++) {
            const brute *o = &terms[k ? b : a];
            x[k] = (noe_tensor_fe){o->shape, o->data + (size_t)p * size_of(&o->shape)};
        }
        noe_tensor_fe y = {out, t->data + (size_t)p * size_of(&out)};
        noe_eval_fe(&fields[p], m->op, &m->params, x, m->n_in, &y);
    }
}

/* op(a, b) has the operators of a and b, shared ones once, and one more. */
static void add_level(const noe_space *space, int level)
{
    int n = n_terms;
    for (int move = 0; move < space->n_moves; move++) {
        for (int a = 0; a < n; a++) {
            if (space->moves[move].n_in == 1) {
                if (terms[a].n_ops == level - 1)
                    add_term(space, move, a, -1, level);
                continue;
            }
            for (int b = 0; b < n; b++) {
                int ops = a == b ? terms[a].n_ops : terms[a].n_ops + terms[b].n_ops;
                if (ops == level - 1)
                    add_term(space, move, a, b, level);
            }
        }
    }
}

static bool are_equal(const brute *x, const brute *y)
{
    if (!noe_shape_eq(&x->shape, &y->shape))
        return false;
    for (size_t i = 0; i < size_of(&x->shape) * POINTS; i++) {
        if (!noe_fe_eq(x->data[i], y->data[i]))
            return false;
    }
    return true;
}

/* The universe's value of a term, by way of the values of its operands. */
static uint32_t value_of(const noe_universe *u, const brute *t)
{
    uint32_t a = terms[t->a].value, b = NOE_NO_OPERAND;
    if (t->b >= 0) {
        b = terms[t->b].value;
        if (b < a && noe_op_has(u->space->moves[t->move].op, NOE_TRAIT_COMMUTATIVE)) {
            b = a;
            a = terms[t->b].value;
        }
    }
    uint32_t e = noe_universe_find(u, (uint32_t)t->move, a, b);
    return e == NOE_NO_OPERAND ? NOE_NO_OPERAND : u->enodes[e].value;
}

static const char *const op_sets[] = {
    "add mul relu",
    "matmul add neg",
    "concat transpose relu",
    "sub mul reduce_sum",
};

START_TEST(test_enumerate_agrees_with_brute_force)
{
    noe_space space = tiny_space(op_sets[_i]);
    noe_universe *u = build_universe(&space, 2, SEED);
    uint64_t n_checked = 0, n_equal = 0;
    n_terms = 0;
    add_leaves(&space);
    add_level(&space, 1);
    add_level(&space, 2);
    for (int i = 0; i < n_terms; i++) {
        if (terms[i].move >= 0)
            terms[i].value = value_of(u, &terms[i]);
        if (terms[i].value == NOE_NO_OPERAND) {
            /* Left out are only terms upon a number such as ones: they are constants.
             */
            const brute *a = &terms[terms[i].a];
            const brute *b = &terms[terms[i].b < 0 ? terms[i].a : terms[i].b];
            ck_assert_msg(u->classes[a->value].fixed || u->classes[b->value].fixed,
                          "%s: term %d is missing", op_sets[_i], i);
        }
    }
    for (int i = 0; i < n_terms; i++) {
        for (int k = 0; k < i; k++) {
            if (terms[i].value == NOE_NO_OPERAND || terms[k].value == NOE_NO_OPERAND)
                continue;
            bool equal = are_equal(&terms[i], &terms[k]);
            ck_assert_msg(equal == (terms[i].value == terms[k].value),
                          "%s: terms %d and %d: equal %d, values %u and %u (seed %d)",
                          op_sets[_i], i, k, equal, terms[i].value, terms[k].value,
                          SEED);
            n_checked++;
            n_equal += equal;
        }
    }
    ck_assert_uint_gt(n_checked, 1000);
    ck_assert_uint_gt(n_equal, 10);
    for (int i = 0; i < n_terms; i++)
        free(terms[i].data);
    noe_universe_free(u);
}
END_TEST

START_TEST(test_enumerate_levels_count_shared_operators_once)
{
    noe_space space = tiny_space("add relu");
    noe_universe *u = build_universe(&space, 3, 1);
    for (uint32_t v = 0; v < u->n_values; v++) {
        const noe_gen_value *x = &u->values[v];
        for (int i = 1; i < x->level; i++)
            ck_assert_uint_lt(x->support[i - 1], x->support[i]);
        if (x->level > 0)
            ck_assert_uint_eq(x->support[x->level - 1], x->instance);
    }
    /* relu(x1) + relu(x1) shares its operand: two operators, not three. */
    uint32_t relu_move = 0, add_move = 0;
    for (int m = 0; m < space.n_moves; m++) {
        if (space.moves[m].op == NOE_OP_RELU)
            relu_move = (uint32_t)m;
        else
            add_move = (uint32_t)m;
    }
    uint32_t r = noe_universe_find(u, relu_move, 0, NOE_NO_OPERAND);
    ck_assert_uint_ne(r, NOE_NO_OPERAND);
    uint32_t value = u->enodes[r].value;
    uint32_t s = noe_universe_find(u, add_move, value, value);
    ck_assert_uint_ne(s, NOE_NO_OPERAND);
    ck_assert_int_eq(u->enodes[s].level, 2);
    noe_universe_free(u);
}
END_TEST

START_TEST(test_enumerate_is_deterministic)
{
    noe_space space = tiny_space("add mul matmul relu concat slice transpose");
    noe_universe *u = build_universe(&space, 2, 5), *v = build_universe(&space, 2, 5);
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_uint_eq(u->n_classes, v->n_classes);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    noe_universe_free(v);
    /* Another seed: other points, the same equalities. */
    v = build_universe(&space, 2, 6);
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    noe_universe_free(u);
    noe_universe_free(v);
}
END_TEST

START_TEST(test_enumerate_refuses_bad_limits)
{
    noe_space space = tiny_space("add");
    noe_env env = quiet_env(1);
    noe_universe *u;
    noe_error err = {0};
    noe_assert_fails(noe_universe_build(&space, 0, 4, true, &env, &u, &err),
                     NOE_ERR_ARG, err, "level is 0");
    noe_assert_fails(noe_universe_build(&space, 9, 4, true, &env, &u, &err),
                     NOE_ERR_ARG, err, "level is 9");
    noe_assert_fails(noe_universe_build(&space, 2, 0, true, &env, &u, &err),
                     NOE_ERR_ARG, err, "samples is 0");
    noe_assert_fails(noe_universe_build(&space, 2, 65, true, &env, &u, &err),
                     NOE_ERR_ARG, err, "samples is 65");
}
END_TEST

START_TEST(test_enumerate_can_be_interrupted)
{
    noe_space spaces[NOE_SPACE_MAX];
    noe_error err = {0};
    noe_universe *u;
    int n;
    volatile sig_atomic_t cancel = 1;
    noe_env env = quiet_env(1);
    env.cancel = &cancel;
    noe_assert_ok(noe_space_build("taso", spaces, &n, &err), err);
    noe_assert_fails(noe_universe_build(&spaces[0], 3, 1, true, &env, &u, &err),
                     NOE_ERR_CANCELLED, err, "interrupted");
}
END_TEST

/* The figures of the design study for TASO's operators, within a factor of 2. */
START_TEST(test_enumerate_taso_matches_study)
{
    static const struct {
        uint64_t n_enodes, n_values, n_canonical;
    } study[] = {{0, 24, 0}, {420, 391, 17}, {11247, 8469, 812}};
    noe_space spaces[NOE_SPACE_MAX];
    noe_error err = {0};
    int n;
    noe_assert_ok(noe_space_build("taso", spaces, &n, &err), err);
    noe_universe *u = build_universe(&spaces[0], 2, 1);
    for (int level = 1; level <= 2; level++) {
        const noe_level_stats *s = &u->stats[level];
        ck_assert_uint_ge(2 * s->n_enodes, study[level].n_enodes);
        ck_assert_uint_le(s->n_enodes, 2 * study[level].n_enodes);
        ck_assert_uint_ge(2 * s->n_values, study[level].n_values);
        ck_assert_uint_le(s->n_values, 2 * study[level].n_values);
        ck_assert_uint_ge(2 * s->n_canonical, study[level].n_canonical);
        ck_assert_uint_le(s->n_canonical, 2 * study[level].n_canonical);
    }
    noe_universe_free(u);
}
END_TEST

Suite *suite_enumerate(void);
Suite *suite_enumerate(void)
{
    Suite *s = suite_create("enumerate");
    TCase *tc = tcase_create("enumerate");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_enumerate_agrees_with_brute_force, 0,
                        (int)(sizeof op_sets / sizeof *op_sets));
    tcase_add_test(tc, test_enumerate_levels_count_shared_operators_once);
    tcase_add_test(tc, test_enumerate_is_deterministic);
    tcase_add_test(tc, test_enumerate_refuses_bad_limits);
    tcase_add_test(tc, test_enumerate_can_be_interrupted);
    tcase_add_test(tc, test_enumerate_taso_matches_study);
    suite_add_tcase(s, tc);
    return s;
}
