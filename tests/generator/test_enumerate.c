/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <string.h>

START_TEST(test_enumerate_levels_count_shared_operators_once)
{
    noe_space space = tiny_space("add relu");
    noe_universe *u = build_whole_universe(&space, 3, 1);
    for (uint32_t v = 0; v < u->n_values; v++) {
        const noe_gen_value *x = &u->values[v];
        ck_assert_int_eq(x->n_supports > 0, x->level > 0 && !x->is_closed);
        for (uint32_t k = 0; k < x->n_supports; k++) {
            const noe_support *s = &u->supports[x->first_support + k];
            int n = 0;
            bool has_itself = false;
            for (; n < NOE_MAX_SUPPORT && s->instance[n] != NOE_NO_OPERAND; n++) {
                ck_assert(n == 0 || s->instance[n - 1] < s->instance[n]);
                has_itself = has_itself || s->instance[n] == v;
            }
            ck_assert(has_itself);
            ck_assert(k == 0 ? n == x->level : n >= x->level);
        }
    }
    /* relu(x1) + relu(x1) shares its operand: two operators, not three. */
    uint32_t relu_move = 0, add_move = 0;
    for (int m = 0; m < space.n_moves; m++) {
        if (space.moves[m].op == NOE_OP_RELU)
            relu_move = (uint32_t)m;
        else
            add_move = (uint32_t)m;
    }
    uint32_t r = noe_universe_find(u, relu_move, 0, NOE_NO_OPERAND, 0);
    ck_assert_uint_ne(r, NOE_NO_OPERAND);
    uint32_t value = u->enodes[r].value;
    uint32_t s = noe_universe_find(u, add_move, value, value, 0);
    ck_assert_uint_ne(s, NOE_NO_OPERAND);
    ck_assert_int_eq(u->enodes[s].level, 2);
    noe_universe_free(u);
}
END_TEST

START_TEST(test_enumerate_is_deterministic)
{
    noe_space space = tiny_space("add mul matmul relu concat slice transpose");
    noe_universe *u = build_whole_universe(&space, 2, 5);
    noe_universe *v = build_whole_universe(&space, 2, 5);
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_uint_eq(u->n_classes, v->n_classes);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    noe_universe_free(v);
    /* Another seed: other points, the same equalities. */
    v = build_whole_universe(&space, 2, 6);
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    noe_universe_free(u);
    noe_universe_free(v);
}
END_TEST

static noe_universe *build_taso(noe_space *spaces, const noe_env *env,
                                uint64_t max_bytes)
{
    noe_error err = {0};
    noe_universe *u;
    int n;
    noe_assert_ok(noe_space_build("taso", spaces, &n, &err), err);
    noe_universe_options options = {.n_levels = 3,
                                    .n_samples = 1,
                                    .keep_all = true,
                                    .max_bytes = max_bytes,
                                    .folder = "/tmp"};
    noe_assert_ok(noe_universe_build(&spaces[0], &options, env, &u, &err), err);
    return u;
}

/* Neither the number of threads nor what went to disk leaves a trace. */
START_TEST(test_enumerate_does_not_depend_on_threads_or_memory)
{
    static noe_space spaces[2][NOE_SPACE_MAX];
    static const struct {
        int n_threads;
        uint64_t max_bytes;
    } ways[] = {{2, 0}, {1, 1 << 20}, {3, 0}, {8, 0}};
    noe_env env = quiet_env(1);
    noe_universe *u = build_taso(spaces[0], &env, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        noe_env other = quiet_env(1);
        other.n_threads = ways[i].n_threads;
        noe_universe *v = build_taso(spaces[1], &other, ways[i].max_bytes);
        ck_assert_int_eq(v->stats[3].n_spilled > 0, ways[i].max_bytes > 0);
        ck_assert_uint_eq(u->n_enodes, v->n_enodes);
        ck_assert_uint_eq(u->n_classes, v->n_classes);
        ck_assert_uint_eq(u->n_supports, v->n_supports);
        ck_assert_uint_eq(u->n_siblings, v->n_siblings);
        ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
        ck_assert_mem_eq(u->keys, v->keys, u->n_values * sizeof *u->keys);
        ck_assert_mem_eq(u->supports, v->supports, u->n_supports * sizeof *u->supports);
        noe_universe_free(v);
    }
    noe_universe_free(u);
}
END_TEST

/* What is left out of the last level says nothing: one e-node, or renamings only. */
START_TEST(test_enumerate_keeps_what_may_be_a_rule)
{
    noe_space space = tiny_space("add mul relu neg");
    noe_universe *whole = build_whole_universe(&space, 3, 1);
    noe_universe *u = build_universe(&space, 3, 1);
    uint32_t n_kept = 0;
    for (uint32_t c = 0; c < whole->n_classes; c++) {
        uint32_t n = 0, n_canonical = 0, n_last = 0;
        for (uint32_t e = whole->classes[c].first; e; e = whole->enodes[e - 1].next) {
            const noe_enode *x = &whole->enodes[e - 1];
            n++;
            n_last += x->level == 3;
            n_canonical += x->level == 3 && x->is_canonical;
        }
        bool is_known = c < whole->n_values;
        if (n_canonical && (is_known || n >= 2))
            n_kept += n_last;
        /* The others are not there. */
        for (uint32_t e = whole->classes[c].first; e; e = whole->enodes[e - 1].next) {
            const noe_enode *x = &whole->enodes[e - 1];
            bool wanted = x->level < 3 || (n_canonical && (is_known || n >= 2));
            ck_assert_int_eq(noe_universe_find(u, x->move, x->a, x->b, x->c) !=
                                 NOE_NO_OPERAND,
                             wanted);
        }
    }
    ck_assert_uint_gt(n_kept, 100);
    ck_assert_uint_eq(u->stats[3].n_enodes, whole->stats[3].n_enodes);
    ck_assert_uint_eq(u->stats[3].n_canonical, whole->stats[3].n_canonical);
    ck_assert_uint_lt(u->n_enodes, whole->n_enodes);
    noe_universe_free(u);
    noe_universe_free(whole);
}
END_TEST

static char *pairs_of(noe_universe *u)
{
    noe_pair *pairs;
    noe_prune_stats stats;
    noe_error err = {0};
    noe_buf b = {0};
    int n;
    noe_assert_ok(noe_universe_prune(u, &pairs, &n, &stats, &err), err);
    for (int i = 0; i < n; i++) {
        noe_pair_print(&b, &pairs[i]);
        noe_buf_puts(&b, "\n");
    }
    free(pairs);
    noe_universe_free(u);
    return b.text;
}

START_TEST(test_enumerate_what_is_left_out_makes_no_pair)
{
    static const char *const op_sets[] = {"add mul relu neg",
                                          "matmul concat slice transpose"};
    for (size_t i = 0; i < sizeof op_sets / sizeof *op_sets; i++) {
        noe_space space = tiny_space(op_sets[i]);
        char *all = pairs_of(build_whole_universe(&space, 3, 1));
        char *some = pairs_of(build_universe(&space, 3, 1));
        ck_assert_uint_gt(strlen(all), 200);
        ck_assert_str_eq(all, some);
        free(all);
        free(some);
    }
}
END_TEST

START_TEST(test_enumerate_refuses_bad_limits)
{
    noe_space space = tiny_space("add");
    noe_env env = quiet_env(1);
    noe_universe *u;
    noe_error err = {0};
    static const struct {
        noe_universe_options options;
        const char *text;
    } cases[] = {
        {{.n_levels = 0, .n_samples = 4}, "level is 0"},
        {{.n_levels = 9, .n_samples = 4}, "level is 9"},
        {{.n_levels = 2, .n_samples = 0}, "samples is 0"},
        {{.n_levels = 2, .n_samples = 65}, "samples is 65"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        noe_assert_fails(noe_universe_build(&space, &cases[i].options, &env, &u, &err),
                         NOE_ERR_ARG, err, cases[i].text);
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
    noe_universe_options options = {.n_levels = 3, .n_samples = 1};
    env.cancel = &cancel;
    noe_assert_ok(noe_space_build("taso", spaces, &n, &err), err);
    noe_assert_fails(noe_universe_build(&spaces[0], &options, &env, &u, &err),
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
    tcase_add_test(tc, test_enumerate_levels_count_shared_operators_once);
    tcase_add_test(tc, test_enumerate_is_deterministic);
    tcase_add_test(tc, test_enumerate_does_not_depend_on_threads_or_memory);
    tcase_add_test(tc, test_enumerate_keeps_what_may_be_a_rule);
    tcase_add_test(tc, test_enumerate_what_is_left_out_makes_no_pair);
    tcase_add_test(tc, test_enumerate_refuses_bad_limits);
    tcase_add_test(tc, test_enumerate_can_be_interrupted);
    tcase_add_test(tc, test_enumerate_taso_matches_study);
    suite_add_tcase(s, tc);
    return s;
}
