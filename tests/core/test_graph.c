/* SPDX-License-Identifier: Apache-2.0
 * Graphs: hash-consing, text round trip, copying between graphs. */
#include "core/graph.h"
#include "tests/support/support.h"

static noe_error err;

static const char *const texts[] = {
    "%0 = input \"x\" : f32[2,3]\n"
    "%1 = weight \"w\\\"q\\\\\" : f32[3,4]\n"
    "%2 = matmul(%0, %1) : f32[2,4]\n"
    "%3 = relu(%2) : f32[2,4]\n"
    "return %3 as \"y\", %2\n",
    "%0 = input \"x\" : f32[1,2,5,5]\n"
    "%1 = weight \"w\" : f32[4,1,3,3]\n"
    "%2 = conv[strides=[2,2], pads=[1,1,1,1], dilations=[1,1], group=2](%0, %1) : "
    "f32[1,4,3,3]\n"
    "%3 = opaque #7(%2, _, %0) : f32[1,4,3,3], i64[?,s3]\n"
    "%4 = sigmoid(%3.0) : f32[1,4,3,3]\n"
    "return %4 as \"y\", %3.1 as \"z\"\n",
    "%0 = zeros[shape=[2,3]]() : f32[2,3]\n"
    "%1 = scalar[value=0.5]() : f32[]\n"
    "%2 = add(%0, %1) : f32[2,3]\n"
    "return %2\n",
};

START_TEST(test_text_round_trip)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    noe_buf text = {0};
    noe_assert_ok(noe_graph_parse(pool, texts[_i], &g, &err), err);
    noe_graph_check(g);
    noe_graph_print(&text, g);
    ck_assert_str_eq(text.text, texts[_i]);
    noe_graph *copy = noe_graph_copy(g);
    noe_graph_check(copy);
    ck_assert_uint_eq(noe_graph_hash(copy), noe_graph_hash(g));
    noe_graph_free(copy);
    noe_graph_free(g);
    noe_pool_free(pool);
    noe_buf_clear(&text);
}
END_TEST

static const struct {
    const char *text, *message;
} errors[] = {
    {"%0 = input \"x\" : f32[2]\n%1 = relu(%2) : f32[2]\nreturn %1",
     "%2 is not defined"},
    {"%0 = input \"x\" : f32[2]\n%1 = relu(%0) : f32[3]\nreturn %1", "type is not"},
    {"%0 = input \"x\" : f32[2]\n%1 = add(%0) : f32[2]\nreturn %1", "add: 1 inputs"},
    {"%0 = input \"x\" : f32[2", "expected ','"},
    {"%1 = input \"x\" : f32[2]", "expected '%0 = '"},
    {"%0 = input \"x : f32[2]", "string is not closed"},
    {"%0 = input \"x\" : q7[2]", "element type"},
    {"%0 = frob() : f32[2]", "unknown operator"},
    {"%0 = input \"x\" : f32[2]\nreturn %0.1", "no output 1"},
    {"%0 = input \"x\" : f32[2]\nreturn %00000000000", "bad node number"},
    {"%0 = input \"x\" : f32[2]\nreturn %0x", "bad node number"},
    {"", "expected '%0 = '"},
};

START_TEST(test_text_errors)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = NULL;
    noe_status status = noe_graph_parse(pool, errors[_i].text, &g, &err);
    ck_assert_int_ne(status, NOE_OK);
    ck_assert_msg(noe_contains(err.text, errors[_i].message), "'%s' lacks '%s'",
                  err.text, errors[_i].message);
    noe_pool_free(pool);
}
END_TEST

static noe_ref add2(noe_graph *g, noe_op op, noe_ref a, noe_ref b)
{
    noe_ref out;
    noe_assert_ok(noe_graph_add(g, op, NULL, (noe_ref[]){a, b}, 2, &out, &err), err);
    return out;
}

START_TEST(test_equal_nodes_are_one)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_graph_new(pool);
    noe_type t = {NOE_F32, noe_shape_make(1, (int64_t[]){2})};
    float one[2] = {1, 2}, same[2] = {1, 2}, other[2] = {1, 3};
    noe_ref x = noe_graph_leaf(g, NOE_OP_INPUT,
                               noe_pool_add_leaf(pool, "x", &t, NULL, 0, NULL));
    noe_ref w = noe_graph_leaf(g, NOE_OP_WEIGHT,
                               noe_pool_add_leaf(pool, "w", &t, one, 8, NULL));
    noe_ref v = noe_graph_leaf(g, NOE_OP_WEIGHT,
                               noe_pool_add_leaf(pool, "v", &t, same, 8, NULL));
    noe_ref u = noe_graph_leaf(g, NOE_OP_WEIGHT,
                               noe_pool_add_leaf(pool, "u", &t, other, 8, NULL));
    ck_assert(noe_ref_eq(w, v));
    ck_assert(!noe_ref_eq(w, u));
    noe_ref a = add2(g, NOE_OP_ADD, x, w);
    ck_assert(noe_ref_eq(a, add2(g, NOE_OP_ADD, w, x)));
    ck_assert(noe_ref_eq(noe_graph_inputs(g, a.node)[0], x)); /* first order is kept */
    noe_ref s = add2(g, NOE_OP_SUB, x, w);
    ck_assert(!noe_ref_eq(s, add2(g, NOE_OP_SUB, w, x)));
    ck_assert(!noe_graph_node(g, a.node)->is_weight);
    ck_assert(noe_graph_node(g, add2(g, NOE_OP_MUL, w, u).node)->is_weight);
    noe_graph_check(g);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_transfer_keeps_what_is_needed_and_redirects)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g, *h = noe_graph_new(pool);
    noe_ref map[5], out;
    noe_assert_ok(noe_graph_parse(pool,
                                  "%0 = input \"x\" : f32[2]\n%1 = relu(%0) : f32[2]\n"
                                  "%2 = neg(%0) : f32[2]\n%3 = tanh(%1) : f32[2]\n"
                                  "%4 = exp(%3) : f32[2]\nreturn %4\n",
                                  &g, &err),
                  err);
    noe_graph_set_name(g, 4, "result");
    noe_graph_set_origin(g, 4, 9);
    for (int i = 0; i < 5; i++)
        map[i] = NOE_REF_NONE;
    noe_assert_ok(noe_graph_transfer(h, g, (noe_ref){2, 0}, map, &out, &err), err);
    map[1] = out; /* relu(x) becomes neg(x) */
    noe_assert_ok(noe_graph_transfer(h, g, (noe_ref){4, 0}, map, &out, &err), err);
    noe_graph_add_output(h, out, "y");
    noe_buf text = {0};
    noe_graph_print(&text, h);
    ck_assert_str_eq(text.text, "%0 = input \"x\" : f32[2]\n%1 = neg(%0) : f32[2]\n"
                                "%2 = tanh(%1) : f32[2]\n%3 = exp(%2) : f32[2]\n"
                                "return %3 as \"y\"\n");
    ck_assert_str_eq(noe_graph_node(h, 3)->name, "result");
    ck_assert_uint_eq(noe_graph_node(h, 3)->origin, 9);
    noe_graph_check(h);
    noe_buf_clear(&text);
    noe_graph_free(g);
    noe_graph_free(h);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_live_and_uses)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g;
    uint8_t live[4];
    uint32_t uses[4];
    noe_assert_ok(noe_graph_parse(pool,
                                  "%0 = input \"x\" : f32[2]\n%1 = relu(%0) : f32[2]\n"
                                  "%2 = neg(%0) : f32[2]\n%3 = add(%1, %1) : f32[2]\n"
                                  "return %3\n",
                                  &g, &err),
                  err);
    noe_graph_mark_live(g, live);
    noe_graph_count_uses(g, live, uses);
    ck_assert_mem_eq(live, ((uint8_t[]){1, 1, 0, 1}), 4);
    ck_assert_mem_eq(uses, ((uint32_t[]){1, 2, 0, 1}), sizeof uses);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_graph(void);
Suite *suite_graph(void)
{
    Suite *s = suite_create("core.graph");
    TCase *tc = tcase_create("graph");
    tcase_add_loop_test(tc, test_text_round_trip, 0, N(texts));
    tcase_add_loop_test(tc, test_text_errors, 0, N(errors));
    tcase_add_test(tc, test_equal_nodes_are_one);
    tcase_add_test(tc, test_transfer_keeps_what_is_needed_and_redirects);
    tcase_add_test(tc, test_live_and_uses);
    suite_add_tcase(s, tc);
    return s;
}
