/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on graphs over open sizes: which apply, and that where they do the rule applies
 * at other sizes as well. N is 997 and M is 1019 in the texts.
 */
#include "core/open.h"
#include "tests/support/support.h"

static noe_error err;
static noe_rule rule;
static noe_open_sizes open_sizes;

#define X                     "%0 = input \"x\" : f32[997,6]\n"
#define R1                    "%1 = relu(%0) : f32[997,6]\n"
#define RELU_X                X R1 "return %1\n"
#define RELU_WHERE(CONDITION) "relu(?a) => abs(?a) where " CONDITION

static const struct {
    const char *rule, *graph;
    bool applies;
} cases[] = {
    {RELU_WHERE("dim(?a, 1) == 6"), RELU_X, true},
    {RELU_WHERE("dim(?a, 1) != 5"), RELU_X, true},
    {RELU_WHERE("dim(?a, 1) % 3 == 0"), RELU_X, true},
    {RELU_WHERE("shape(?a) == [dim(?a, 0), 6]"), RELU_X, true},
    {RELU_WHERE("rank(?a) == 2"), RELU_X, true},
    /* true at the primes, and not for all sizes */
    {RELU_WHERE("dim(?a, 0) == 997"), RELU_X, false},
    {RELU_WHERE("dim(?a, 0) != 2"), RELU_X, false},
    {RELU_WHERE("dim(?a, 0) != 1"), RELU_X, false},
    {RELU_WHERE("2 <= dim(?a, 0)"), RELU_X, false},
    {RELU_WHERE("dim(?a, 0) <= 5000"), RELU_X, false},
    {RELU_WHERE("1 < prod(shape(?a)) / 6"), RELU_X, false},
    {RELU_WHERE("dim(?a, 0) % 2 == 1"), RELU_X, false},
    {RELU_WHERE("!(dim(?a, 0) == 4)"), RELU_X, false},
    {RELU_WHERE("min(dim(?a, 0), 6) == 6"), RELU_X, false},
    {RELU_WHERE("dim(?a, 0) + 1 == 998"), RELU_X, false},
    {RELU_WHERE("!has(shape(?a), 3)"), RELU_X, false},
    /* sizes are 1 or more */
    {RELU_WHERE("1 <= dim(?a, 0)"), RELU_X, true},
    {RELU_WHERE("dim(?a, 0) != 0"), RELU_X, false},
    {RELU_WHERE("5 < prod(shape(?a))"), RELU_X, true},
    {RELU_WHERE("6 < prod(shape(?a))"), RELU_X, false},
    {RELU_WHERE("prod(shape(?a)) / dim(?a, 0) == 6"), RELU_X, true},
    /* what the right side is made of */
    {"relu(?a) => reshape[shape=shape(?a)](relu(reshape[shape=[prod(shape(?a))]](?a)))",
     RELU_X, true},
    {"relu(?a) => concat[axis=0](relu(slice[axis=0, start=0, end=1](?a)), "
     "relu(slice[axis=0, start=1, end=dim(?a, 0)](?a)))",
     RELU_X, false},
    {"relu(?a) => concat[axis=1](relu(slice[axis=1, start=0, end=1](?a)), "
     "relu(slice[axis=1, start=1, end=dim(?a, 1)](?a)))",
     RELU_X, true},
    {"relu(?a) => add(relu(?a), zeros[shape=shape(?a)]())", RELU_X, false},
    {"relu(?a) => add(relu(?a), zeros[shape=[dim(?a, 1)]]())", RELU_X, true},
    {"relu(?a) => relu(slice[axis=0, start=0, end=2000](?a))", RELU_X, false},
    /* whole, but with an end that would have to be written */
    {"relu(?a) => relu(slice[axis=0, start=0, end=dim(?a, 0)](?a))", RELU_X, false},
    {"reduce_mean[axes=$x](?a) => mul(reduce_sum[axes=$x](?a), scalar[value=0.5]()) "
     "where prod(at(shape(?a), $x)) == 2",
     X "%1 = reduce_mean[axes=[0], keepdims=1](%0) : f32[1,6]\nreturn %1\n", false},
    /* two open sizes in one list cannot be written, if both move */
    {"transpose[perm=[0, 1]](?a) => reshape[shape=[dim(?a, 0), dim(?a, 1)]](reshape["
     "shape=[1, dim(?a, 0), dim(?a, 1)]](?a))",
     "%0 = input \"x\" : f32[997,1019]\n"
     "%1 = transpose[perm=[0,1]](%0) : f32[997,1019]\nreturn %1\n",
     false},
    {"transpose[perm=[0, 1]](?a) => reshape[shape=[dim(?a, 0), dim(?a, 1)]](reshape["
     "shape=[dim(?a, 0), 1, dim(?a, 1)]](?a))",
     "%0 = input \"x\" : f32[997,1019]\n"
     "%1 = transpose[perm=[0,1]](%0) : f32[997,1019]\nreturn %1\n",
     true},
    /* convolutions go along the first axis of the image only */
    {"relu(?a) => max_pool[kernel_shape=[1, 1]](relu(?a))",
     "%0 = input \"x\" : f32[997,2,5,5]\n%1 = relu(%0) : f32[997,2,5,5]\nreturn %1\n",
     true},
    {"relu(?a) => max_pool[kernel_shape=[1, 1]](relu(?a))",
     "%0 = input \"x\" : f32[1,2,5,997]\n%1 = relu(%0) : f32[1,2,5,997]\nreturn %1\n",
     false},
};

typedef struct application {
    noe_graph *g;
    int n;
} application;

static bool instantiate(void *ctx, const noe_match *match)
{
    application *a = ctx;
    noe_ref roots[NOE_RULE_MAX_ROOTS];
    a->n += noe_rule_instantiate(&rule, a->g, match, roots, &err) == NOE_OK;
    return false;
}

static int count_applications(noe_graph *g)
{
    application a = {noe_graph_copy(g), 0};
    noe_rule_match(&rule, g, g->outputs[0].ref.node, instantiate, &a);
    noe_graph_free(a.g);
    return a.n;
}

static void set_sizes(void)
{
    open_sizes = (noe_open_sizes){0};
    ck_assert(noe_open_add(&open_sizes, 4, 0) && noe_open_add(&open_sizes, 7, 0));
    ck_assert_int_eq(open_sizes.at[NOE_OPEN_FIRST][0], 997);
    ck_assert_int_eq(open_sizes.at[NOE_OPEN_FIRST][1], 1019);
}

static noe_graph *parse(noe_pool *pool, const char *text)
{
    noe_graph *g;
    noe_assert_ok(noe_graph_parse(pool, text, &g, &err), err);
    return g;
}

START_TEST(test_rules_hold_for_all_sizes)
{
    noe_pool *pool = noe_pool_new();
    set_sizes();
    noe_assert_ok(noe_rule_parse(cases[_i].rule, SIZE_MAX, &rule, &err), err);
    noe_graph *g = parse(pool, cases[_i].graph);
    noe_pool_set_open(pool, &open_sizes);
    ck_assert_msg(count_applications(g) == cases[_i].applies, "%s: %s", cases[_i].rule,
                  err.text);
    /* What applies to all does so to each. */
    for (int set = NOE_OPEN_FIRST; cases[_i].applies && set < NOE_OPEN_SETS; set++) {
        noe_pool *other = noe_pool_new();
        noe_graph *sized;
        noe_assert_ok(
            noe_open_graph_at(&open_sizes, (noe_open_set)set, g, other, &sized, &err),
            err);
        ck_assert_msg(count_applications(sized) == 1, "%s, set %d", cases[_i].rule,
                      set);
        noe_graph_free(sized);
        noe_pool_free(other);
    }
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

/* Without the open sizes the same rules apply, as numbers they are what they are. */
START_TEST(test_closed_pools_know_numbers)
{
    noe_pool *pool = noe_pool_new();
    noe_assert_ok(
        noe_rule_parse(RELU_WHERE("dim(?a, 0) == 997"), SIZE_MAX, &rule, &err), err);
    noe_graph *g = parse(pool, RELU_X);
    ck_assert_int_eq(count_applications(g), 1);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_numbers_at_other_sizes)
{
    set_sizes();
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, 12), 12);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, 997), 4);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, 3 * 997 * 997), 48);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, 997 * 1019), 28);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ONES, 5 * 1019), 5);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, 0), 0);
    ck_assert_int_eq(noe_open_at(&open_sizes, NOE_OPEN_ASSUMED, -3), -3);
    ck_assert(!noe_open_is(&open_sizes, 996) && noe_open_is(&open_sizes, 2 * 997));
}
END_TEST

/* Graphs over two sets of primes are told apart where a size is no product. */
START_TEST(test_differences_show)
{
    static const char *const pairs[][2] = {
        {RELU_X, "%0 = input \"x\" : f32[1009,6]\n%1 = relu(%0) : f32[1009,6]\n"
                 "return %1\n"},
        {RELU_X, "%0 = input \"x\" : f32[1009,6]\n%1 = abs(%0) : f32[1009,6]\n"
                 "return %1\n"},
        {"%0 = input \"x\" : f32[996]\nreturn %0\n",
         "%0 = input \"x\" : f32[1008]\nreturn %0\n"},
        {"%0 = input \"x\" : f32[997]\nreturn %0\n",
         "%0 = input \"x\" : f32[997]\nreturn %0\n"}};
    set_sizes();
    for (int i = 0; i < 4; i++) {
        noe_pool *pool = noe_pool_new();
        noe_graph *a = parse(pool, pairs[i][0]), *b = parse(pool, pairs[i][1]);
        ck_assert_int_eq(noe_open_same(&open_sizes, a, NOE_OPEN_SECOND, b), i == 0);
        noe_graph_free(a);
        noe_graph_free(b);
        noe_pool_free(pool);
    }
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_open(void);
Suite *suite_open(void)
{
    Suite *s = suite_create("core.open");
    TCase *tc = tcase_create("open");
    tcase_add_loop_test(tc, test_rules_hold_for_all_sizes, 0, N(cases));
    tcase_add_test(tc, test_closed_pools_know_numbers);
    tcase_add_test(tc, test_numbers_at_other_sizes);
    tcase_add_test(tc, test_differences_show);
    suite_add_tcase(s, tc);
    return s;
}
