/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs: oneDNN (with fusion, blocked layouts and shared memory) against the
 * reference. A failure is shrunk, and printed with the seed that made it.
 */
#include "tests/runtime/compare.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <stdlib.h>

#define N_SEEDS 120 /* a longer run: NOE_SEEDS=5000 in the environment */

static noe_backend *onednn, *reference;
static noe_pool *pool;

static void set_up(void)
{
    noe_error err;
    noe_assert_ok(noe_backend_open("onednn", NULL, &onednn, &err), err);
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    pool = noe_pool_new();
}

static void tear_down(void)
{
    onednn->vt->close(onednn);
    reference->vt->close(reference);
    noe_pool_free(pool);
}

static bool disagrees(void *ctx, const noe_graph *g)
{
    char text[500];
    (void)ctx;
    return !noe_backends_agree(onednn, reference, g, 1, text, sizeof text);
}

static void check_seed(const noe_gen_options *o)
{
    char text[500] = "";
    noe_graph *g = noe_gen_graph(pool, o);
    noe_graph_check(g);
    if (disagrees(NULL, g)) {
        noe_graph *small = noe_gen_shrink(g, disagrees, NULL);
        noe_buf b = {0};
        noe_graph_print(&b, small);
        noe_backends_agree(onednn, reference, small, 1, text, sizeof text);
        ck_abort_msg("seed %llu%s%s: %s\n%s", (unsigned long long)o->seed,
                     o->composites ? " composites" : "", o->wide ? " wide" : "", text,
                     noe_buf_text(&b));
    }
    noe_graph_free(g);
}

START_TEST(test_random_core)
{
    noe_gen_options o = {.seed = (uint64_t)_i};
    check_seed(&o);
}
END_TEST

START_TEST(test_random_composites)
{
    noe_gen_options o = {.seed = (uint64_t)_i, .composites = true, .n_nodes = 16};
    check_seed(&o);
}
END_TEST

START_TEST(test_random_wide)
{
    noe_gen_options o = {.seed = (uint64_t)_i,
                         .composites = true,
                         .wide = true,
                         .n_nodes = 20,
                         .max_elements = 20000};
    check_seed(&o);
}
END_TEST

/* The same seed makes the same graph, another one another. */
START_TEST(test_random_is_repeatable)
{
    noe_gen_options o = {.seed = 7, .composites = true};
    noe_buf text[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        o.seed = i == 2 ? 8 : 7;
        noe_graph *g = noe_gen_graph(pool, &o);
        noe_graph_print(&text[i], g);
        noe_graph_free(g);
    }
    ck_assert_str_eq(noe_buf_text(&text[0]), noe_buf_text(&text[1]));
    ck_assert_str_ne(noe_buf_text(&text[0]), noe_buf_text(&text[2]));
    for (int i = 0; i < 3; i++)
        noe_buf_clear(&text[i]);
}
END_TEST

static bool contains_softmax(void *ctx, const noe_graph *g)
{
    (void)ctx;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_SOFTMAX)
            return true;
    }
    return false;
}

/* Shrinking what "fails" by containing softmax leaves softmax of an input. */
START_TEST(test_random_shrinks)
{
    noe_gen_options o = {.n_nodes = 30};
    int shrunk = 0;
    for (o.seed = 1; o.seed < 30 && shrunk < 3; o.seed++) {
        noe_graph *g = noe_gen_graph(pool, &o);
        if (contains_softmax(NULL, g)) {
            noe_graph *small = noe_gen_shrink(g, contains_softmax, NULL);
            noe_buf b = {0};
            noe_graph_print(&b, small);
            ck_assert_msg(small->n_nodes == 2, "seed %llu:\n%s",
                          (unsigned long long)o.seed, noe_buf_text(&b));
            ck_assert_int_eq(noe_shape_elements(&small->nodes[1].types[0].shape), 1);
            noe_buf_clear(&b);
            noe_graph_free(small);
            shrunk++;
        }
        noe_graph_free(g);
    }
    ck_assert_int_eq(shrunk, 3);
}
END_TEST

Suite *suite_random(void)
{
    Suite *s = suite_create("random");
    TCase *t = tcase_create("random");
    const char *asked = getenv("NOE_SEEDS");
    int n = asked ? atoi(asked) : N_SEEDS;
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_random_is_repeatable);
    tcase_add_test(t, test_random_shrinks);
    tcase_add_loop_test(t, test_random_core, 1, n + 1);
    tcase_add_loop_test(t, test_random_composites, 1, n + 1);
    tcase_add_loop_test(t, test_random_wide, 1, n + 1);
    suite_add_tcase(s, t);
    return s;
}
