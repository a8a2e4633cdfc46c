/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_backend.h"
#include "optimizer/memory.h"
#include "optimizer/cost_roofline.h"
#include "tests/optimizer/fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static noe_pool *pool;

static void setup(void)
{
    pool = noe_pool_new();
}

static void teardown(void)
{
    noe_pool_free(pool);
}

static const char two_equal_convs[] =
    "%0 = input \"x\" : f32[1,4,8,8]\n"
    "%1 = weight \"v\" : f32[4,4,3,3]\n"
    "%2 = weight \"w\" : f32[4,4,3,3]\n"
    "%3 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1)"
    " : f32[1,4,8,8]\n"
    "%4 = relu(%3) : f32[1,4,8,8]\n"
    "%5 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%4, %2)"
    " : f32[1,4,8,8]\n"
    "%6 = relu(%5) : f32[1,4,8,8]\n"
    "return %6 as \"y\"\n";

START_TEST(test_cost_equal_kernels_have_equal_keys)
{
    noe_graph *g = fixture_graph(pool, two_equal_convs);
    noe_kernels k = {0};
    noe_kernels_find(&k, g);
    ck_assert_uint_eq(k.n, 2); /* conv with relu, twice */
    ck_assert_uint_eq(noe_kernel_key(&k, 0), noe_kernel_key(&k, 1));
    noe_kernels_clear(&k);
    noe_graph_free(g);
}
END_TEST

/* 4 bytes an element; the convolution keeps its sum to itself. */
START_TEST(test_cost_peak_memory)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        /* weight 128; x (32) and the product (16); then two of 16 */
        {"%0 = input \"x\" : f32[1,8]\n%1 = weight \"w\" : f32[8,4]\n"
         "%2 = matmul(%0, %1) : f32[1,4]\n%3 = softmax[axis=1](%2) : f32[1,4]\n"
         "%4 = softmax[axis=0](%3) : f32[1,4]\nreturn %4 as \"y\"\n",
         128 + 48},
        /* x is needed to the end: x, the first softmax, the second */
        {"%0 = input \"x\" : f32[2,4]\n%1 = softmax[axis=1](%0) : f32[2,4]\n"
         "%2 = softmax[axis=0](%1) : f32[2,4]\n%3 = add(%2, %0) : f32[2,4]\n"
         "return %3 as \"y\"\n",
         96},
        /* two images, not three: relu is part of the convolution's kernel */
        {"%0 = input \"x\" : f32[1,1,8,8]\n%1 = weight \"w\" : f32[1,1,1,1]\n"
         "%2 = conv[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1](%0, %1)"
         " : f32[1,1,8,8]\n%3 = relu(%2) : f32[1,1,8,8]\nreturn %3 as \"y\"\n",
         4 + 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_graph *g = fixture_graph(pool, cases[i].text);
        ck_assert_msg(noe_peak_memory(g) == cases[i].bytes, "%s: %llu", cases[i].text,
                      (unsigned long long)noe_peak_memory(g));
        noe_graph_free(g);
    }
}
END_TEST

static uint64_t key_of(const char *text)
{
    noe_graph *g = fixture_graph(pool, text);
    noe_kernels k = {0};
    noe_kernels_find(&k, g);
    ck_assert_uint_eq(k.n, 1);
    uint64_t key = noe_kernel_key(&k, 0);
    noe_kernels_clear(&k);
    noe_graph_free(g);
    return key;
}

START_TEST(test_cost_keys_tell_kernels_apart)
{
    static const char *const texts[] = {
        "%0 = input \"x\" : f32[4,4]\n%1 = cast[to=10](%0) : f16[4,4]\nreturn %1\n",
        "%0 = input \"x\" : f32[4,4]\n%1 = cast[to=16](%0) : bf16[4,4]\nreturn %1\n",
        "%0 = input \"x\" : f64[4,4]\n%1 = cast[to=10](%0) : f16[4,4]\nreturn %1\n",
        "%0 = input \"x\" : f32[4,4]\n%1 = transpose[perm=[1,0]](%0) : f32[4,4]\n"
        "return %1\n",
        "%0 = input \"x\" : f16[4,4]\n%1 = transpose[perm=[1,0]](%0) : f16[4,4]\n"
        "return %1\n",
        "%0 = input \"x\" : f32[4,4]\n%1 = input \"y\" : f32[4,4]\n"
        "%2 = matmul(%0, %1) : f32[4,4]\nreturn %2 as \"z\"\n",
        /* the same value twice */
        "%0 = input \"x\" : f32[4,4]\n"
        "%1 = matmul(%0, %0) : f32[4,4]\nreturn %1 as \"z\"\n",
        /* a weight operand */
        "%0 = input \"x\" : f32[4,4]\n%1 = weight \"y\" : f32[4,4]\n"
        "%2 = matmul(%0, %1) : f32[4,4]\nreturn %2 as \"z\"\n",
        "%0 = weight \"x\" : f32[4,4]\n%1 = input \"y\" : f32[4,4]\n"
        "%2 = matmul(%0, %1) : f32[4,4]\nreturn %2 as \"z\"\n",
        /* other shapes */
        "%0 = input \"x\" : f32[4,5]\n%1 = input \"y\" : f32[5,4]\n"
        "%2 = matmul(%0, %1) : f32[4,4]\nreturn %2 as \"z\"\n",
        /* another operator, a parameter */
        "%0 = input \"x\" : f32[4,4]\n%1 = input \"y\" : f32[4,4]\n"
        "%2 = sub(%0, %1) : f32[4,4]\nreturn %2 as \"z\"\n",
        "%0 = input \"x\" : f32[4,4]\n"
        "%1 = softmax[axis=0](%0) : f32[4,4]\nreturn %1 as \"z\"\n",
        "%0 = input \"x\" : f32[4,4]\n"
        "%1 = softmax[axis=1](%0) : f32[4,4]\nreturn %1 as \"z\"\n",
    };
    enum { N = sizeof texts / sizeof *texts };
    uint64_t keys[N];
    for (int i = 0; i < N; i++) {
        keys[i] = key_of(texts[i]);
        for (int j = 0; j < i; j++)
            ck_assert_msg(keys[i] != keys[j], "kernels %d and %d", j, i);
    }
}
END_TEST

/* Both orders of a commutative operator, outside and inside a fused kernel. */
START_TEST(test_cost_keys_do_not_depend_on_operand_order)
{
    static const char *const texts[] = {
        "%0 = input \"x\" : f32[1,4,8,8]\n%1 = input \"y\" : f32[1,4,1,1]\n"
        "%2 = mul(%0, %1) : f32[1,4,8,8]\nreturn %2 as \"z\"\n",
        "%0 = input \"y\" : f32[1,4,1,1]\n%1 = input \"x\" : f32[1,4,8,8]\n"
        "%2 = mul(%0, %1) : f32[1,4,8,8]\nreturn %2 as \"z\"\n",
        "%0 = input \"x\" : f32[4,4]\n%1 = weight \"w\" : f32[4,4]\n"
        "%2 = weight \"b\" : f32[4]\n%3 = matmul(%0, %1) : f32[4,4]\n"
        "%4 = add(%3, %2) : f32[4,4]\nreturn %4 as \"z\"\n",
        "%0 = input \"x\" : f32[4,4]\n%1 = weight \"w\" : f32[4,4]\n"
        "%2 = weight \"b\" : f32[4]\n%3 = matmul(%0, %1) : f32[4,4]\n"
        "%4 = add(%2, %3) : f32[4,4]\nreturn %4 as \"z\"\n",
    };
    ck_assert_uint_eq(key_of(texts[0]), key_of(texts[1]));
    ck_assert_uint_eq(key_of(texts[2]), key_of(texts[3]));
    ck_assert_uint_ne(key_of(texts[0]), key_of(texts[2]));
}
END_TEST

START_TEST(test_cost_kernel_graph_stands_alone)
{
    noe_graph *g = fixture_graph(pool, two_equal_convs);
    noe_kernels k = {0};
    noe_kernels_find(&k, g);
    noe_pool *own = noe_pool_new();
    noe_graph *kernel = noe_kernel_graph(&k, 1, own, false);
    noe_graph_check(kernel);
    char *text = fixture_print(kernel);
    ck_assert_str_eq(
        text,
        "%0 = input \"x0\" : f32[1,4,8,8]\n"
        "%1 = weight \"w0\" : f32[4,4,3,3]\n"
        "%2 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1)"
        " : f32[1,4,8,8]\n"
        "%3 = relu(%2) : f32[1,4,8,8]\n"
        "return %3\n");
    free(text);
    noe_graph_free(kernel);
    noe_pool_free(own);
    noe_kernels_clear(&k);
    noe_graph_free(g);
}
END_TEST

static noe_cost cost_of(noe_costs *c, const noe_graph *g, double limit)
{
    noe_cost cost;
    noe_error err;
    noe_assert_ok(noe_costs_graph(c, g, limit, &cost, &err), err);
    return cost;
}

START_TEST(test_cost_is_the_sum_over_kernels_each_measured_once)
{
    noe_graph *g = fixture_graph(pool, two_equal_convs);
    fake_costs fake;
    noe_costs costs;
    fake_costs_init(&fake, NULL, 1);
    noe_costs_init(&costs, &fake.model);
    noe_cost cost = cost_of(&costs, g, INFINITY);
    ck_assert_double_eq_tol(cost.seconds, 4e-3, 1e-12);
    ck_assert(cost.exact);
    ck_assert_uint_eq(cost.n_operators, 4);
    ck_assert_uint_eq(cost.weight_bytes, 2 * 4 * 4 * 9 * 4);
    ck_assert_int_eq(fake.n_measured, 1);
    noe_costs_clear(&costs);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_cost_weights_integers_and_opaque_nodes_are_free)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[4]\n"
                                       "%1 = weight \"v\" : f32[4]\n"
                                       "%2 = weight \"w\" : f32[4]\n"
                                       "%3 = add(%1, %2) : f32[4]\n"
                                       "%4 = input \"i\" : i64[4]\n"
                                       "%5 = add(%4, %4) : i64[4]\n"
                                       "%6 = opaque #3(%0, %5) : f32[4]\n"
                                       "%7 = mul(%6, %3) : f32[4]\n"
                                       "return %7 as \"y\"\n");
    fake_costs fake;
    noe_costs costs;
    fake_costs_init(&fake, NULL, 1);
    noe_costs_init(&costs, &fake.model);
    noe_cost cost = cost_of(&costs, g, INFINITY);
    ck_assert_double_eq_tol(cost.seconds, 1e-3, 1e-12);
    ck_assert_uint_eq(cost.weight_bytes, 16); /* the sum, not its parts */
    noe_costs_clear(&costs);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_cost_beyond_the_limit_is_not_measured)
{
    noe_graph *g = fixture_graph(pool, two_equal_convs);
    fake_costs fake;
    noe_costs costs;
    fake_costs_init(&fake, NULL, 1);
    fake_costs_estimate(&fake);
    noe_costs_init(&costs, &fake.model);
    noe_cost cost = cost_of(&costs, g, 0.5e-3);
    ck_assert(!cost.exact);
    ck_assert_double_gt(cost.seconds, 0.5e-3);
    ck_assert_int_eq(fake.n_measured, 0);
    cost = cost_of(&costs, g, 5e-3);
    ck_assert(cost.exact);
    ck_assert_int_eq(fake.n_measured, 1);
    noe_costs_clear(&costs);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_cost_order)
{
    noe_cost a = {.seconds = 1, .n_operators = 5, .weight_bytes = 10};
    noe_cost b = a;
    ck_assert(!noe_cost_less(&a, &b));
    b.weight_bytes = 11;
    ck_assert(noe_cost_less(&a, &b) && !noe_cost_less(&b, &a));
    b.n_operators = 4;
    ck_assert(noe_cost_less(&b, &a));
    b.seconds = 1 + 1e-12; /* rounding, no difference */
    ck_assert(noe_cost_less(&b, &a));
    b.seconds = 1.001;
    ck_assert(noe_cost_less(&a, &b));
    b.seconds = INFINITY;
    ck_assert(noe_cost_less(&a, &b) && !noe_cost_less(&b, &a));
}
END_TEST

/* The measured model: a kernel is timed once, then known from the database. */
START_TEST(test_cost_measured_times_are_kept)
{
    char dir[256], path[300];
    noe_env env = fixture_env();
    noe_backend *backend;
    noe_error err;
    noe_graph *g = fixture_graph(pool, two_equal_convs);
    double seconds[2];
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/costs.db", dir);
    noe_assert_ok(noe_backend_open("onednn", &env, &backend, &err), err);
    for (int run = 0; run < 2; run++) {
        noe_ruledb *db;
        noe_backend_costs measured;
        noe_costs costs;
        noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &db, &err), err);
        noe_backend_costs_init(&measured, backend, db, &env, false);
        noe_costs_init(&costs, &measured.model);
        seconds[run] = cost_of(&costs, g, INFINITY).seconds;
        ck_assert_uint_eq(measured.n_timed, run == 0);
        ck_assert_uint_eq(measured.n_found, run == 1);
        noe_costs_clear(&costs);
        noe_backend_costs_clear(&measured);
        noe_ruledb_close(db);
    }
    ck_assert_double_gt(seconds[0], 0);
    ck_assert_double_eq(seconds[0], seconds[1]);
    backend->vt->close(backend);
    noe_graph_free(g);
    noe_tmp_remove(dir);
}
END_TEST

/* Estimates only order and prune, but must be of the right order. */
START_TEST(test_cost_estimates_grow_with_the_work)
{
    static const char *const texts[] = {
        "%0 = input \"x\" : f32[8,8]\n%1 = relu(%0) : f32[8,8]\nreturn %1 as \"y\"\n",
        "%0 = input \"x\" : f32[512,512]\n%1 = relu(%0) : f32[512,512]\n"
        "return %1 as \"y\"\n",
        "%0 = input \"x\" : f32[512,512]\n%1 = weight \"w\" : f32[512,512]\n"
        "%2 = matmul(%0, %1) : f32[512,512]\nreturn %2 as \"y\"\n",
        "%0 = input \"x\" : f32[1,512,16,16]\n%1 = weight \"w\" : f32[512,512,3,3]\n"
        "%2 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1)"
        " : f32[1,512,16,16]\nreturn %2 as \"y\"\n",
    };
    noe_env env = fixture_env();
    noe_backend_costs measured;
    noe_backend idle = {.env = &env};
    double before = 0;
    noe_backend_costs_init(&measured, &idle, NULL, &env, false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        noe_graph *g = fixture_graph(pool, texts[i]);
        noe_kernels k = {0};
        noe_kernels_find(&k, g);
        double guess = measured.model.estimate(&measured.model, &k, 0);
        ck_assert_msg(guess > before, "%zu: %g after %g", i, guess, before);
        before = guess;
        noe_kernels_clear(&k);
        noe_graph_free(g);
    }
}
END_TEST

/* What moves data takes as long as its bytes do. */
START_TEST(test_cost_of_halves)
{
    static const char *const texts[] = {
        "%0 = input \"x\" : f16[512,512]\n"
        "%1 = transpose[perm=[1,0]](%0) : f16[512,512]\nreturn %1\n",
        "%0 = input \"x\" : f16[512,512]\n%1 = cast[to=1](%0) : f32[512,512]\n"
        "return %1\n",
        "%0 = input \"x\" : f32[512,512]\n"
        "%1 = transpose[perm=[1,0]](%0) : f32[512,512]\nreturn %1\n",
        "%0 = input \"x\" : f64[512,512]\n"
        "%1 = transpose[perm=[1,0]](%0) : f64[512,512]\nreturn %1\n",
    };
    static const double bytes[] = {4, 6, 8, 16}; /* read and written, an element */
    double call = 0, first = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        noe_graph *g = fixture_graph(pool, texts[i]);
        noe_kernels k = {0};
        noe_kernels_find(&k, g);
        ck_assert_uint_eq(k.n, 1);
        double seconds = noe_roofline_seconds(NULL, &k, 0);
        if (i == 0)
            first = seconds;
        if (i == 1) /* two bytes more */
            call = first - (seconds - first) * bytes[0] / (bytes[1] - bytes[0]);
        if (i > 0)
            ck_assert_double_eq_tol((seconds - call) / (first - call),
                                    bytes[i] / bytes[0], 1e-6);
        noe_kernels_clear(&k);
        noe_graph_free(g);
    }
}
END_TEST

Suite *suite_cost(void);
Suite *suite_cost(void)
{
    Suite *s = suite_create("optimizer.cost");
    TCase *tc = tcase_create("cost");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_cost_peak_memory);
    tcase_add_test(tc, test_cost_equal_kernels_have_equal_keys);
    tcase_add_test(tc, test_cost_keys_tell_kernels_apart);
    tcase_add_test(tc, test_cost_keys_do_not_depend_on_operand_order);
    tcase_add_test(tc, test_cost_kernel_graph_stands_alone);
    tcase_add_test(tc, test_cost_is_the_sum_over_kernels_each_measured_once);
    tcase_add_test(tc, test_cost_weights_integers_and_opaque_nodes_are_free);
    tcase_add_test(tc, test_cost_beyond_the_limit_is_not_measured);
    tcase_add_test(tc, test_cost_order);
    if (NOE_HAS_ONEDNN)
        tcase_add_test(tc, test_cost_measured_times_are_kept);
    tcase_add_test(tc, test_cost_estimates_grow_with_the_work);
    tcase_add_test(tc, test_cost_of_halves);
    suite_add_tcase(s, tc);
    return s;
}
