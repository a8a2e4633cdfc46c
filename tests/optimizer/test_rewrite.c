/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/rewrite.h"
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

static bool take_first(void *ctx, const noe_match *match)
{
    *(noe_match *)ctx = *match;
    return false;
}

static void parse(const char *text, noe_rule *rule)
{
    noe_error err;
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, rule, &err), err);
}

/* Adds the rule at every node where it matches; returns how many changed something. */
static int add_everywhere(noe_rewriter *r, const noe_rule *rule)
{
    int n = 0;
    for (uint32_t i = 0; i < r->base->n_nodes; i++) {
        noe_match match;
        bool changes;
        noe_error err;
        if (noe_rule_match(rule, r->base, i, take_first, &match) == 0)
            continue;
        noe_assert_ok(noe_rewriter_add(r, rule, &match, &changes, &err), err);
        n += changes;
    }
    return n;
}

static noe_graph *finish(noe_rewriter *r, uint8_t **fresh)
{
    noe_graph *out;
    noe_error err;
    noe_assert_ok(noe_rewriter_finish(r, NULL, &out, fresh, &err), err);
    noe_graph_check(out);
    return out;
}

static void assert_same_values(const noe_graph *a, const noe_graph *b)
{
    char *difference = fixture_difference(a, b, 1e-5);
    ck_assert_msg(!difference, "%s", difference);
}

START_TEST(test_rewrite_several_places_at_once)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[2,3]\n"
                                       "%1 = neg(%0) : f32[2,3]\n"
                                       "%2 = neg(%1) : f32[2,3]\n"
                                       "%3 = relu(%2) : f32[2,3]\n"
                                       "%4 = neg(%3) : f32[2,3]\n"
                                       "%5 = neg(%4) : f32[2,3]\n"
                                       "return %5 as \"y\"\n");
    noe_rule rule;
    noe_rewriter r;
    uint8_t *fresh;
    parse("neg(neg(?a)) => ?a", &rule);
    noe_rewriter_init(&r, g);
    ck_assert_int_eq(add_everywhere(&r, &rule), 2);
    noe_graph *out = finish(&r, &fresh);
    ck_assert_uint_eq(out->n_nodes, 2);
    ck_assert_str_eq(out->outputs[0].name, "y");
    assert_same_values(g, out);
    free(fresh);
    noe_graph_free(out);
    noe_rewriter_clear(&r);
    noe_graph_free(g);
}
END_TEST

/* Two nested matches of one rule overlap: any result must still be right. */
START_TEST(test_rewrite_overlapping_places_stays_right)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[2,3]\n"
                                       "%1 = input \"y\" : f32[2,3]\n"
                                       "%2 = input \"u\" : f32[2,3]\n"
                                       "%3 = add(%0, %1) : f32[2,3]\n"
                                       "%4 = add(%3, %2) : f32[2,3]\n"
                                       "%5 = add(%4, %1) : f32[2,3]\n"
                                       "return %5 as \"z\", %4 as \"t\"\n");
    noe_rule rule;
    noe_rewriter r;
    parse("add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))", &rule);
    noe_rewriter_init(&r, g);
    ck_assert_int_eq(add_everywhere(&r, &rule), 2);
    noe_graph *out = finish(&r, NULL);
    assert_same_values(g, out);
    noe_graph_free(out);
    noe_rewriter_clear(&r);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_rewrite_marks_new_nodes)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[2,3]\n"
                                       "%1 = input \"y\" : f32[2,3]\n"
                                       "%2 = exp(%0) : f32[2,3]\n"
                                       "%3 = sub(%2, %1) : f32[2,3]\n"
                                       "%4 = tanh(%3) : f32[2,3]\n"
                                       "return %4 as \"z\"\n");
    noe_rule rule;
    noe_rewriter r;
    uint8_t *fresh;
    parse("sub(?a, ?b) => add(?a, neg(?b))", &rule);
    noe_rewriter_init(&r, g);
    ck_assert_int_eq(add_everywhere(&r, &rule), 1);
    noe_graph *out = finish(&r, &fresh);
    for (uint32_t i = 0; i < out->n_nodes; i++) {
        noe_op op = out->nodes[i].op;
        ck_assert_int_eq(fresh[i], op == NOE_OP_ADD || op == NOE_OP_NEG);
    }
    assert_same_values(g, out);
    free(fresh);
    noe_graph_free(out);
    noe_rewriter_clear(&r);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_rewrite_that_changes_nothing_says_so)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[2,3]\n"
                                       "%1 = input \"y\" : f32[2,3]\n"
                                       "%2 = add(%0, %1) : f32[2,3]\n"
                                       "return %2 as \"z\"\n");
    noe_rule rule;
    noe_rewriter r;
    parse("add(?a, ?b) => add(?b, ?a)", &rule);
    noe_rewriter_init(&r, g);
    ck_assert_int_eq(add_everywhere(&r, &rule), 0);
    noe_rewriter_clear(&r);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_rewrite_several_roots)
{
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[4,3]\n"
                                       "%1 = weight \"v\" : f32[3,5]\n"
                                       "%2 = weight \"w\" : f32[3,5]\n"
                                       "%3 = matmul(%0, %1) : f32[4,5]\n"
                                       "%4 = relu(%3) : f32[4,5]\n"
                                       "%5 = matmul(%0, %2) : f32[4,5]\n"
                                       "return %4 as \"p\", %5 as \"q\"\n");
    noe_rule rule;
    noe_rewriter r;
    parse(
        "{ matmul(?x, ?v), matmul(?x, ?w) } => "
        "{ slice[axis=1, start=0, end=dim(?v, 1)](matmul(?x, concat[axis=1](?v, ?w))), "
        "slice[axis=1, start=dim(?v, 1), end=dim(?v, 1) + dim(?w, 1)]("
        "matmul(?x, concat[axis=1](?v, ?w))) } where rank(?x) == 2",
        &rule);
    noe_rewriter_init(&r, g);
    ck_assert_int_ge(add_everywhere(&r, &rule), 1);
    noe_graph *out = finish(&r, NULL);
    int n_products = 0;
    for (uint32_t i = 0; i < out->n_nodes; i++)
        n_products += out->nodes[i].op == NOE_OP_MATMUL;
    ck_assert_int_ge(n_products, 1);
    assert_same_values(g, out);
    noe_graph_free(out);
    noe_rewriter_clear(&r);
    noe_graph_free(g);
}
END_TEST

Suite *suite_rewrite(void);
Suite *suite_rewrite(void)
{
    Suite *s = suite_create("optimizer.rewrite");
    TCase *tc = tcase_create("rewrite");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_rewrite_several_places_at_once);
    tcase_add_test(tc, test_rewrite_overlapping_places_stays_right);
    tcase_add_test(tc, test_rewrite_marks_new_nodes);
    tcase_add_test(tc, test_rewrite_that_changes_nothing_says_so);
    tcase_add_test(tc, test_rewrite_several_roots);
    suite_add_tcase(s, tc);
    return s;
}
