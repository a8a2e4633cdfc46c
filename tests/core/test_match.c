/* SPDX-License-Identifier: Apache-2.0
 * Matching and applying: for each case the rule, the graph, and the graph after the
 * first match (NULL where the rule must not apply). */
#include "core/match.h"
#include "tests/support/support.h"

static noe_error err;
static noe_rule rule;

#define X "%0 = input \"x\" : f32[2,3]\n"
#define H "%0 = input \"h\" : f16[2,3]\n"
#define CONCAT_CASTS                                        \
    "concat[axis=$k](cast[to=$d](?a), cast[to=$d](?b)) => " \
    "cast[to=$d](concat[axis=$k](?a, ?b))"
#define Y "%1 = input \"y\" : f32[2,3]\n"

static const struct {
    const char *rule, *before, *after;
} cases[] = {
    /* structure */
    {"relu(relu(?a)) => relu(?a)",
     X "%1 = relu(%0) : f32[2,3]\n%2 = relu(%1) : f32[2,3]\nreturn %2 as \"y\"\n",
     X "%1 = relu(%0) : f32[2,3]\nreturn %1 as \"y\"\n"},
    {"relu(relu(?a)) => relu(?a)",
     X "%1 = neg(%0) : f32[2,3]\n%2 = relu(%1) : f32[2,3]\nreturn %2\n", NULL},
    /* commutative operators match in both orders */
    {"add(?a, neg(?b)) => sub(?a, ?b)",
     X Y "%2 = neg(%0) : f32[2,3]\n%3 = add(%2, %1) : f32[2,3]\nreturn %3\n",
     "%0 = input \"y\" : f32[2,3]\n%1 = input \"x\" : f32[2,3]\n"
     "%2 = sub(%0, %1) : f32[2,3]\nreturn %2\n"},
    {"sub(?a, neg(?b)) => add(?a, ?b)",
     X Y "%2 = neg(%0) : f32[2,3]\n%3 = sub(%2, %1) : f32[2,3]\nreturn %3\n", NULL},
    /* equal variables need equal values */
    {"sub(?a, ?a) => zeros[shape=shape(?a)]()",
     X "%1 = sub(%0, %0) : f32[2,3]\nreturn %1\n",
     "%0 = zeros[shape=[2,3]]() : f32[2,3]\nreturn %0\n"},
    {"sub(?a, ?a) => zeros[shape=shape(?a)]()",
     X Y "%2 = sub(%0, %1) : f32[2,3]\nreturn %2\n", NULL},
    /* parameter variables and terms */
    {"slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a",
     X Y "%2 = concat[axis=1](%0, %1) : f32[2,6]\n"
         "%3 = slice[axis=1, start=0, end=3, step=1](%2) : f32[2,3]\nreturn %3\n",
     X "return %0\n"},
    {"slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a",
     X Y "%2 = concat[axis=1](%0, %1) : f32[2,6]\n"
         "%3 = slice[axis=1, start=0, end=4, step=1](%2) : f32[2,4]\nreturn %3\n",
     NULL},
    {"slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a",
     X Y "%2 = concat[axis=0](%0, %1) : f32[4,3]\n"
         "%3 = slice[axis=1, start=0, end=3, step=1](%2) : f32[4,3]\nreturn %3\n",
     NULL},
    /* bounds beyond the dimension are clamped, in patterns as in graphs */
    {"slice[axis=1, start=1, end=9](neg(?a)) => neg(slice[axis=1, start=1, end=9](?a))",
     X "%1 = neg(%0) : f32[2,3]\n%2 = slice[axis=1, start=1, end=3, step=1](%1) : "
       "f32[2,2]\nreturn %2\n",
     X "%1 = slice[axis=1, start=1, end=3, step=1](%0) : f32[2,2]\n"
       "%2 = neg(%1) : f32[2,2]\nreturn %2\n"},
    /* negative axes count from the end */
    {"concat[axis=-1](relu(?a), relu(?b)) => relu(concat[axis=-1](?a, ?b))",
     X Y "%2 = relu(%0) : f32[2,3]\n%3 = relu(%1) : f32[2,3]\n"
         "%4 = concat[axis=1](%2, %3) : f32[2,6]\nreturn %4\n",
     X Y
     "%2 = concat[axis=1](%0, %1) : f32[2,6]\n%3 = relu(%2) : f32[2,6]\nreturn %3\n"},
    {"concat[axis=-1](relu(?a), relu(?b)) => relu(concat[axis=-1](?a, ?b))",
     X Y "%2 = relu(%0) : f32[2,3]\n%3 = relu(%1) : f32[2,3]\n"
         "%4 = concat[axis=0](%2, %3) : f32[4,3]\nreturn %4\n",
     NULL},
    /* conditions */
    {"relu(?a) => ?a where dim(?a, 0) == 3", X "%1 = relu(%0) : f32[2,3]\nreturn %1\n",
     NULL},
    /* the right side must have the left's type */
    {"add(?a, ?b) => ?a",
     X "%1 = input \"y\" : f32[3]\n%2 = add(%1, %0) : f32[2,3]\n"
       "return %2\n",
     X "return %0\n"},
    /* weights */
    {"mul(?a, ?b:weight) => ?a", X Y "%2 = mul(%0, %1) : f32[2,3]\nreturn %2\n", NULL},
    {"mul(?a, ?b:weight) => ?a",
     X "%1 = weight \"w\" : f32[2,3]\n%2 = mul(%1, %0) : f32[2,3]\nreturn %2\n",
     X "return %0\n"},
    /* other element types are not touched */
    {"add(?a, ?b) => add(?b, ?a)",
     "%0 = input \"i\" : i64[2]\n%1 = add(%0, %0) : i64[2]\nreturn %1\n", NULL},
    /* layout moves in every floating-point type, arithmetic in f32 only */
    {"transpose[perm=$p](transpose[perm=$p](?a)) => ?a where $p == [1, 0]",
     H "%1 = transpose[perm=[1,0]](%0) : f16[3,2]\n"
       "%2 = transpose[perm=[1,0]](%1) : f16[2,3]\nreturn %2\n",
     H "return %0\n"},
    {"where(?c, ?a, ?a) => ?a",
     H "%1 = input \"c\" : bool[3]\n%2 = where(%1, %0, %0) : f16[2,3]\nreturn %2\n",
     H "return %0\n"},
    {"relu(relu(?a)) => relu(?a)",
     H "%1 = relu(%0) : f16[2,3]\n%2 = relu(%1) : f16[2,3]\nreturn %2\n", NULL},
    {"transpose[perm=[1, 0]](?a) => neg(transpose[perm=[1, 0]](neg(?a)))",
     H "%1 = transpose[perm=[1,0]](%0) : f16[3,2]\nreturn %1\n", NULL},
    {"transpose[perm=[1, 0]](?a) => neg(transpose[perm=[1, 0]](neg(?a)))",
     X "%1 = transpose[perm=[1,0]](%0) : f32[3,2]\nreturn %1\n",
     X "%1 = neg(%0) : f32[2,3]\n%2 = transpose[perm=[1,0]](%1) : f32[3,2]\n"
       "%3 = neg(%2) : f32[3,2]\nreturn %3\n"},
    /* constants are f32 */
    {"slice[axis=0, start=0, end=0](?a) => zeros[shape=[0, dim(?a, 1)]]()",
     H "%1 = slice[axis=0, start=0, end=0, step=1](%0) : f16[0,3]\nreturn %1\n", NULL},
    /* casts: to one type, and from f32 where the operand is computed */
    {CONCAT_CASTS,
     H "%1 = input \"i\" : f16[2,3]\n%2 = cast[to=1](%0) : f32[2,3]\n"
       "%3 = cast[to=1](%1) : f32[2,3]\n%4 = concat[axis=0](%2, %3) : f32[4,3]\n"
       "return %4\n",
     H "%1 = input \"i\" : f16[2,3]\n%2 = concat[axis=0](%0, %1) : f16[4,3]\n"
       "%3 = cast[to=1](%2) : f32[4,3]\nreturn %3\n"},
    {CONCAT_CASTS, /* from different types */
     H "%1 = input \"i\" : bf16[2,3]\n%2 = cast[to=1](%0) : f32[2,3]\n"
       "%3 = cast[to=1](%1) : f32[2,3]\n%4 = concat[axis=0](%2, %3) : f32[4,3]\n"
       "return %4\n",
     NULL},
    {"cast[to=$d](relu(?a)) => relu(cast[to=$d](?a))",
     X "%1 = relu(%0) : f32[2,3]\n%2 = cast[to=10](%1) : f16[2,3]\nreturn %2\n", NULL},
    {"cast[to=10](?a) => cast[to=10](?a)",
     X "%1 = cast[to=16](%0) : bf16[2,3]\nreturn %1\n", NULL},
    /* interior nodes with other uses are kept */
    {"relu(neg(?a)) => neg(?a)",
     X "%1 = neg(%0) : f32[2,3]\n%2 = relu(%1) : f32[2,3]\nreturn %2, %1\n",
     X "%1 = neg(%0) : f32[2,3]\nreturn %1, %1\n"},
    /* defaults adapt to the number of spatial axes */
    {"conv(?a, ?b) => conv(?a, neg(?b))",
     "%0 = input \"x\" : f32[1,2,5]\n%1 = weight \"w\" : f32[4,2,3]\n"
     "%2 = conv[strides=[1], pads=[0,0], dilations=[1], group=1](%0, %1) : f32[1,4,3]\n"
     "return %2\n",
     "%0 = input \"x\" : f32[1,2,5]\n%1 = weight \"w\" : f32[4,2,3]\n%2 = neg(%1) : "
     "f32[4,2,3]\n"
     "%3 = conv[strides=[1], pads=[0,0], dilations=[1], group=1](%0, %2) : f32[1,4,3]\n"
     "return %3\n"},
    {"conv(?a, ?b) => conv(?a, neg(?b))",
     "%0 = input \"x\" : f32[1,2,5]\n%1 = weight \"w\" : f32[4,2,3]\n"
     "%2 = conv[strides=[2], pads=[0,0], dilations=[1], group=1](%0, %1) : f32[1,4,2]\n"
     "return %2\n",
     NULL},
    /* several roots */
    {"{ matmul(?a, ?b), matmul(?a, ?c) } => "
     "{ slice[axis=-1, start=0, end=dim(?b, -1)](matmul(?a, concat[axis=-1](?b, ?c))), "
     "slice[axis=-1, start=dim(?b, -1), end=dim(?b, -1) + dim(?c, -1)]"
     "(matmul(?a, concat[axis=-1](?b, ?c))) }",
     X "%1 = weight \"p\" : f32[3,4]\n%2 = matmul(%0, %1) : f32[2,4]\n"
       "%3 = weight \"q\" : f32[3,5]\n%4 = matmul(%0, %3) : f32[2,5]\n"
       "return %2 as \"u\", %4 as \"v\"\n",
     X "%1 = weight \"p\" : f32[3,4]\n%2 = weight \"q\" : f32[3,5]\n"
       "%3 = concat[axis=1](%1, %2) : f32[3,9]\n%4 = matmul(%0, %3) : f32[2,9]\n"
       "%5 = slice[axis=1, start=0, end=4, step=1](%4) : f32[2,4]\n"
       "%6 = slice[axis=1, start=4, end=9, step=1](%4) : f32[2,5]\n"
       "return %5 as \"u\", %6 as \"v\"\n"},
};

/* The first match that can be applied: the right side may turn out ill-typed. */
typedef struct first_match {
    const noe_graph *g;
    noe_graph *result;
} first_match;

static bool apply_first(void *ctx, const noe_match *match)
{
    first_match *f = ctx;
    return noe_rule_apply(&rule, f->g, match, &f->result, NULL) != NOE_OK;
}

START_TEST(test_apply)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    first_match first = {0};
    noe_assert_ok(noe_rule_parse(cases[_i].rule, SIZE_MAX, &rule, &err), err);
    noe_assert_ok(noe_graph_parse(pool, cases[_i].before, &g, &err), err);
    first.g = g;
    for (uint32_t i = 0; i < g->n_nodes && !first.result; i++)
        (void)noe_rule_match(&rule, g, i, apply_first, &first);
    ck_assert_msg((first.result != NULL) == (cases[_i].after != NULL), "%s on\n%s",
                  cases[_i].rule, cases[_i].before);
    if (first.result) {
        noe_buf text = {0};
        noe_graph_check(first.result);
        noe_graph_print(&text, first.result);
        ck_assert_str_eq(text.text, cases[_i].after);
        noe_buf_clear(&text);
    }
    noe_graph_free(first.result);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

/* From right to left, and whether that is within what the proof from left to right
 * says: with both axes alike, the first slice would store an end of 1, the second one
 * of 2. */
#define CONCAT_SLICES                                                 \
    "concat[axis=$k](slice[axis=$a, start=$s, end=$e, step=$t](?a), " \
    "slice[axis=$a, start=$s, end=$e, step=$t](?b)) => "              \
    "slice[axis=$a, start=$s, end=$e, step=$t](concat[axis=$k](?a, ?b))"
static const struct {
    const char *rule, *graph;
    bool applies;
} reversed[] = {
    {CONCAT_SLICES,
     "%0 = input \"x\" : f32[1,1]\n%1 = input \"y\" : f32[1,3]\n"
     "%2 = concat[axis=1](%0, %1) : f32[1,4]\n"
     "%3 = slice[axis=1, start=1, end=2, step=2](%2) : f32[1,1]\nreturn %3\n",
     false},
    {CONCAT_SLICES,
     X Y "%2 = concat[axis=0](%0, %1) : f32[4,3]\n"
         "%3 = slice[axis=1, start=1, end=2, step=1](%2) : f32[4,1]\nreturn %3\n",
     true},
    /* what the proof had on the right may store something else */
    {"neg(slice[axis=$k, start=0, end=$e](?a)) => "
     "slice[axis=$k, start=0, end=$e](neg(slice[axis=$k, start=0, end=$e](?a)))",
     X "%1 = slice[axis=1, start=0, end=2, step=1](%0) : f32[2,2]\n"
       "%2 = neg(%1) : f32[2,2]\n"
       "%3 = slice[axis=1, start=0, end=2, step=1](%2) : f32[2,2]\nreturn %3\n",
     true},
};

START_TEST(test_reversed)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    first_match first = {0};
    noe_assert_ok(noe_rule_parse(reversed[_i].rule, SIZE_MAX, &rule, &err), err);
    noe_assert_ok(noe_graph_parse(pool, reversed[_i].graph, &g, &err), err);
    rule = noe_rule_reversed(&rule);
    first.g = g;
    ck_assert_int_eq(noe_rule_match(&rule, g, g->n_nodes - 1, apply_first, &first), 1);
    ck_assert_int_eq(first.result != NULL, reversed[_i].applies);
    noe_graph_free(first.result);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

static bool count_matches(void *ctx, const noe_match *match)
{
    (void)match;
    ++*(int *)ctx;
    return true;
}

START_TEST(test_all_matches_are_found_once)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    int n = 0;
    noe_assert_ok(noe_rule_parse("add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
                                 SIZE_MAX, &rule, &err),
                  err);
    noe_assert_ok(noe_graph_parse(pool,
                                  X Y "%2 = input \"z\" : f32[2,3]\n"
                                      "%3 = add(%0, %1) : f32[2,3]\n"
                                      "%4 = add(%2, %3) : f32[2,3]\nreturn %4\n",
                                  &g, &err),
                  err);
    ck_assert_int_eq(noe_rule_match(&rule, g, 4, count_matches, &n), 2);
    ck_assert_int_eq(n, 2); /* (x + y) + z and (y + x) + z */
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_name_of_root_is_inherited)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    first_match first = {0};
    noe_assert_ok(noe_rule_parse("neg(?a) => sub(zeros[shape=shape(?a)](), ?a)",
                                 SIZE_MAX, &rule, &err),
                  err);
    noe_assert_ok(noe_graph_parse(pool,
                                  X "%1 = neg(%0) : f32[2,3]\nreturn %1 as \"y\"\n", &g,
                                  &err),
                  err);
    noe_graph_set_name(g, 1, "y");
    noe_graph_set_origin(g, 1, 4);
    first.g = g;
    ck_assert_int_eq(noe_rule_match(&rule, g, 1, apply_first, &first), 1);
    const noe_node *root =
        noe_graph_node(first.result, first.result->outputs[0].ref.node);
    ck_assert_str_eq(root->name, "y");
    ck_assert_uint_eq(root->origin, 0);
    noe_graph_free(first.result);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_match(void);
Suite *suite_match(void)
{
    Suite *s = suite_create("core.match");
    TCase *tc = tcase_create("match");
    tcase_add_loop_test(tc, test_apply, 0, N(cases));
    tcase_add_loop_test(tc, test_reversed, 0, N(reversed));
    tcase_add_test(tc, test_all_matches_are_found_once);
    tcase_add_test(tc, test_name_of_root_is_inherited);
    suite_add_tcase(s, tc);
    return s;
}
