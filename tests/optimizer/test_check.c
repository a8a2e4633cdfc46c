/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optimizer/fixture.h"
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

/* What the check says of two graphs; "" if they agree. free() it. */
static char *verdict_on(const char *original, const char *result)
{
    noe_graph *a = fixture_graph(pool, original), *b = fixture_graph(pool, result);
    char *difference = fixture_difference(a, b, NOE_CHECK_RTOL);
    noe_graph_free(a);
    noe_graph_free(b);
    return difference ? difference : noe_strdup("");
}

static const struct {
    const char *original, *result;
    const char *complaint; /* part of it; NULL: they agree */
} cases[] = {
    /* equal */
    {"%0 = input \"x\" : f32[4]\n%1 = input \"y\" : f32[4]\n"
     "%2 = sub(%0, %1) : f32[4]\nreturn %2 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = input \"y\" : f32[4]\n"
     "%2 = neg(%1) : f32[4]\n%3 = add(%2, %0) : f32[4]\nreturn %3 as \"z\"\n",
     NULL},
    /* another function */
    {"%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\nreturn %0 as \"z\"\n", "output z, element"},
    /* one element of many */
    {"%0 = input \"x\" : f32[4]\n%1 = zeros[shape=[1]]() : f32[1]\n"
     "%2 = slice[axis=0, start=1, end=4, step=1](%0) : f32[3]\n"
     "%3 = concat[axis=0](%1, %2) : f32[4]\nreturn %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\nreturn %0 as \"z\"\n", "element 0"},
    /* NaN where there was none: sqrt of what may be negative */
    {"%0 = input \"x\" : f32[4]\n%1 = mul(%0, %0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = sqrt(%0) : f32[4]\n%2 = mul(%1, %0) : f32[4]\n"
     "%3 = mul(%2, %1) : f32[4]\nreturn %3 as \"z\"\n",
     "nan"},
    /* the same infinities and NaN agree */
    {"%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = div(%0, %1) : f32[4]\nreturn %2 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = reciprocal(%1) : f32[4]\n%3 = mul(%0, %2) : f32[4]\nreturn %3 as \"z\"\n",
     NULL},
    /* overflow next to the largest float, and overflow far from it */
    {"%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=3.4e+38]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "return %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=3.4e+38]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "%4 = add(%3, %2) : f32[4]\nreturn %4 as \"z\"\n",
     NULL},
    {"%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=1e+30]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "return %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=1e+30]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "%4 = mul(%3, %2) : f32[4]\nreturn %4 as \"z\"\n",
     "became inf"},
    {"%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=3.4e+38]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "return %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = sub(%0, %0) : f32[4]\n"
     "%2 = scalar[value=3.4e+38]() : f32[]\n%3 = add(%1, %2) : f32[4]\n"
     "%4 = add(%3, %2) : f32[4]\n%5 = sub(%4, %4) : f32[4]\nreturn %5 as \"z\"\n",
     NULL},
    /* another shape, another name, another number of outputs */
    {"%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\n"
     "%2 = reshape[shape=[2,2]](%1) : f32[2,2]\nreturn %2 as \"z\"\n",
     "f32[4] became f32[2,2]"},
    {"%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\nreturn %1 as \"zz\"\n",
     "output z became zz"},
    {"%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\n"
     "return %1 as \"z\", %0 as \"t\"\n",
     "1 outputs became 2"},
    /* outputs swapped */
    {"%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\n%2 = neg(%0) : f32[4]\n"
     "return %1 as \"p\", %2 as \"q\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = relu(%0) : f32[4]\n%2 = neg(%0) : f32[4]\n"
     "return %2 as \"p\", %1 as \"q\"\n",
     "output p"},
    /* a folded weight, right and wrong */
    {"%0 = input \"x\" : f32[4]\n%1 = weight \"v\" : f32[4]\n"
     "%2 = mul(%0, %1) : f32[4]\n%3 = mul(%2, %1) : f32[4]\nreturn %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = weight \"v\" : f32[4]\n"
     "%2 = mul(%1, %1) : f32[4]\n%3 = mul(%0, %2) : f32[4]\nreturn %3 as \"z\"\n",
     NULL},
    {"%0 = input \"x\" : f32[4]\n%1 = weight \"v\" : f32[4]\n"
     "%2 = mul(%0, %1) : f32[4]\n%3 = mul(%2, %1) : f32[4]\nreturn %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = weight \"v\" : f32[4]\n"
     "%2 = add(%1, %1) : f32[4]\n%3 = mul(%0, %2) : f32[4]\nreturn %3 as \"z\"\n",
     "output z"},
    /* an output that is a weight */
    {"%0 = weight \"v\" : f32[4]\n%1 = neg(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = weight \"v\" : f32[4]\nreturn %0 as \"z\"\n", "output z"},

    /* opaque nodes: the same operands */
    {"%0 = input \"x\" : f32[4]\n%1 = neg(%0) : f32[4]\n"
     "%2 = opaque #7(%1) : f32[4], f32[2]\n%3 = relu(%2.1) : f32[2]\n"
     "return %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = zeros[shape=[4]]() : f32[4]\n"
     "%2 = sub(%1, %0) : f32[4]\n%3 = opaque #7(%2) : f32[4], f32[2]\n"
     "%4 = relu(%3.1) : f32[2]\n%5 = relu(%4) : f32[2]\nreturn %5 as \"z\"\n",
     NULL},
    /* a wrong operand of an opaque node, though what follows is right */
    {"%0 = input \"x\" : f32[4]\n%1 = neg(%0) : f32[4]\n"
     "%2 = opaque #7(%1) : f32[4]\n%3 = relu(%2) : f32[4]\nreturn %3 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n"
     "%1 = opaque #7(%0) : f32[4]\n%2 = relu(%1) : f32[4]\nreturn %2 as \"z\"\n",
     "operand 0 of opaque node 7"},
    /* another port, another node */
    {"%0 = input \"x\" : f32[4]\n%1 = opaque #7(%0) : f32[4], f32[4]\n"
     "return %1.0 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = opaque #7(%0) : f32[4], f32[4]\n"
     "return %1.1 as \"z\"\n",
     "output 0 became output 1"},
    {"%0 = input \"x\" : f32[4]\n%1 = opaque #7(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"x\" : f32[4]\n%1 = opaque #8(%0) : f32[4]\nreturn %1 as \"z\"\n",
     "the original has no such node"},
    /* what is not f32 is compared as nodes */
    {"%0 = input \"i\" : i64[4]\n%1 = add(%0, %0) : i64[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"i\" : i64[4]\n%1 = add(%0, %0) : i64[4]\nreturn %1 as \"z\"\n",
     NULL},
    {"%0 = input \"i\" : i64[4]\n%1 = add(%0, %0) : i64[4]\nreturn %1 as \"z\"\n",
     "%0 = input \"i\" : i64[4]\n%1 = mul(%0, %0) : i64[4]\nreturn %1 as \"z\"\n",
     "output z: the result has another node"},
};
enum { N_CASES = sizeof cases / sizeof *cases };

START_TEST(test_check_verdict)
{
    char *text = verdict_on(cases[_i].original, cases[_i].result);
    const char *want = cases[_i].complaint;
    if (want)
        ck_assert_msg(noe_contains(text, want), "case %d: '%s' lacks '%s'", _i, text,
                      want);
    else
        ck_assert_msg(*text == '\0', "case %d: %s", _i, text);
    free(text);
}
END_TEST

/* The tolerance is what decides, and it is relative to the tensor. */
START_TEST(test_check_tolerance)
{
    static const char original[] = "%0 = input \"x\" : f32[64]\n"
                                   "%1 = mul(%0, %0) : f32[64]\nreturn %1 as \"z\"\n";
    static const char result[] = "%0 = input \"x\" : f32[64]\n"
                                 "%1 = mul(%0, %0) : f32[64]\n"
                                 "%2 = scalar[value=1.0001]() : f32[]\n"
                                 "%3 = mul(%1, %2) : f32[64]\nreturn %3 as \"z\"\n";
    noe_graph *a = fixture_graph(pool, original), *b = fixture_graph(pool, result);
    char *loose = fixture_difference(a, b, 1e-3),
         *tight = fixture_difference(a, b, 1e-5);
    ck_assert_msg(!loose, "%s", loose);
    ck_assert_ptr_nonnull(tight);
    free(tight);
    noe_graph_free(a);
    noe_graph_free(b);
}
END_TEST

/* What is wrong on negative, zero or large inputs only is caught as well. */
START_TEST(test_check_inputs_reach_corners)
{
    static const char identity[] = "%0 = input \"x\" : f32[64]\nreturn %0 as \"z\"\n";
    static const char relu[] = "%0 = input \"x\" : f32[64]\n"
                               "%1 = relu(%0) : f32[64]\nreturn %1 as \"z\"\n";
    static const char div[] = "%0 = input \"x\" : f32[64]\n"
                              "%1 = div(%0, %0) : f32[64]\n%2 = mul(%0, %1) : f32[64]\n"
                              "return %2 as \"z\"\n";
    static const char overflow[] =
        "%0 = input \"x\" : f32[64]\n%1 = exp(%0) : f32[64]\n"
        "%2 = div(%1, %1) : f32[64]\n"
        "%3 = mul(%0, %2) : f32[64]\nreturn %3 as \"z\"\n";
    const char *const wrong[] = {relu, div, overflow};
    for (int i = 0; i < 3; i++) {
        char *text = verdict_on(identity, wrong[i]);
        ck_assert_msg(*text != '\0', "case %d is not caught", i);
        free(text);
    }
}
END_TEST

/* Graphs with opaque nodes only have nothing to run. */
START_TEST(test_check_of_nothing)
{
    noe_graph *g =
        fixture_graph(pool, "%0 = input \"x\" : f32[4]\n"
                            "%1 = opaque #7(%0) : f32[4]\nreturn %1 as \"z\"\n");
    noe_cut cut;
    noe_error err;
    noe_assert_ok(noe_cut_pair(g, g, &cut, &err), err);
    ck_assert_uint_eq(cut.n_outputs, 0);
    ck_assert_ptr_null(cut.original);
    noe_cut_clear(&cut);
    noe_graph_free(g);
}
END_TEST

Suite *suite_check(void);
Suite *suite_check(void)
{
    Suite *s = suite_create("optimizer.check");
    TCase *tc = tcase_create("check");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_check_verdict, 0, N_CASES);
    tcase_add_test(tc, test_check_tolerance);
    tcase_add_test(tc, test_check_inputs_reach_corners);
    tcase_add_test(tc, test_check_of_nothing);
    suite_add_tcase(s, tc);
    return s;
}
