/* SPDX-License-Identifier: Apache-2.0
 *
 * What joins a group and what does not. Every case is a graph and the groups of its
 * operators, by the number of the group's last node, "-" for nodes without a group.
 */
#include "tests/support/support.h"
#include "runtime/fuse.h"
#include <stdlib.h>

/* Operators with all their parameters, as the graph reader wants them. */
#define CONV          "conv[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1]"
#define NORM          "batch_normalization[epsilon=1e-5]"
#define GEMM(A, B, T) "gemm[alpha=" A ", beta=" B ", transA=0, transB=" T "]"

static const struct {
    const char *what, *graph, *groups;
} cases[] = {
    {"conv takes bias, residual and relu",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"w\" : f32[4,4,1,1]\n"
     "%2 = " CONV "(%0, %1) : f32[1,4,5,5]\n"
     "%3 = weight \"b\" : f32[1,4,1,1]\n"
     "%4 = add(%2, %3) : f32[1,4,5,5]\n"
     "%5 = add(%0, %4) : f32[1,4,5,5]\n"
     "%6 = relu(%5) : f32[1,4,5,5]\n"
     "return %6\n",
     "- - 6 - 6 6 6"},
    {"an intermediate with another use stays apart",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"w\" : f32[4,4,1,1]\n"
     "%2 = " CONV "(%0, %1) : f32[1,4,5,5]\n"
     "%3 = relu(%2) : f32[1,4,5,5]\n"
     "return %3, %2\n",
     "- - 2 3"},
    {"an operand used twice is no residual",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"w\" : f32[4,4,1,1]\n"
     "%2 = " CONV "(%0, %1) : f32[1,4,5,5]\n"
     "%3 = add(%2, %2) : f32[1,4,5,5]\n"
     "return %3\n",
     "- - 2 3"},
    {"a bias along the width is none, and no residual",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"w\" : f32[4,4,1,1]\n"
     "%2 = " CONV "(%0, %1) : f32[1,4,5,5]\n"
     "%3 = weight \"b\" : f32[5]\n"
     "%4 = add(%2, %3) : f32[1,4,5,5]\n"
     "return %4\n",
     "- - 2 - 4"},
    {"a bias known only at run time is none",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"w\" : f32[4,4,1,1]\n"
     "%2 = " CONV "(%0, %1) : f32[1,4,5,5]\n"
     "%3 = input \"b\" : f32[4,1,1]\n"
     "%4 = add(%2, %3) : f32[1,4,5,5]\n"
     "return %4\n",
     "- - 2 - 4"},
    {"nothing is taken after the activation",
     "%0 = input \"x\" : f32[2,3]\n"
     "%1 = weight \"w\" : f32[3,3]\n"
     "%2 = matmul(%0, %1) : f32[2,3]\n"
     "%3 = tanh(%2) : f32[2,3]\n"
     "%4 = add(%3, %0) : f32[2,3]\n"
     "return %4\n",
     "- - 3 3 4"},
    {"the bias of a product is along its last axis",
     "%0 = input \"x\" : f32[2,3]\n"
     "%1 = weight \"w\" : f32[3,4]\n"
     "%2 = matmul(%0, %1) : f32[2,4]\n"
     "%3 = weight \"b\" : f32[4]\n"
     "%4 = add(%3, %2) : f32[2,4]\n"
     "%5 = sigmoid(%4) : f32[2,4]\n"
     "return %5\n",
     "- - 5 - 5 5"},
    {"of two products the later one takes the other as residual",
     "%0 = input \"x\" : f32[2,3]\n"
     "%1 = weight \"w\" : f32[3,3]\n"
     "%2 = weight \"v\" : f32[4,3]\n"
     "%3 = input \"y\" : f32[2,4]\n"
     "%4 = matmul(%0, %1) : f32[2,3]\n"
     "%5 = matmul(%3, %2) : f32[2,3]\n"
     "%6 = add(%4, %5) : f32[2,3]\n"
     "return %6\n",
     "- - - - 4 6 6"},
    {"gemm with a bias takes no second one",
     "%0 = input \"x\" : f32[2,3]\n"
     "%1 = weight \"w\" : f32[3,4]\n"
     "%2 = weight \"b\" : f32[4]\n"
     "%3 = weight \"c\" : f32[1,4]\n"
     "%4 = " GEMM("1.0", "1.0", "0") "(%0, %1, %2) : f32[2,4]\n"
                                     "%5 = add(%4, %3) : f32[2,4]\n"
                                     "%6 = relu(%5) : f32[2,4]\n"
                                     "return %6\n",
     "- - - - 4 6 6"},
    {"batch normalization takes relu but not tanh",
     "%0 = input \"x\" : f32[1,4,5,5]\n"
     "%1 = weight \"s\" : f32[4]\n"
     "%2 = weight \"v\" : f32[4]\n"
     "%3 = " NORM "(%0, %1, %1, %1, %2) : f32[1,4,5,5]\n"
     "%4 = relu(%3) : f32[1,4,5,5]\n"
     "%5 = " NORM "(%4, %1, %1, %1, %2) : f32[1,4,5,5]\n"
     "%6 = tanh(%5) : f32[1,4,5,5]\n"
     "return %6\n",
     "- - - 4 4 5 6"},
    {"concatenations along one axis are one",
     "%0 = input \"x\" : f32[1,2]\n"
     "%1 = input \"y\" : f32[1,3]\n"
     "%2 = concat[axis=1](%0, %1) : f32[1,5]\n"
     "%3 = concat[axis=1](%1, %0) : f32[1,5]\n"
     "%4 = concat[axis=1](%2, %3) : f32[1,10]\n"
     "%5 = concat[axis=0](%4, %4) : f32[2,10]\n"
     "return %5\n",
     "- - 4 4 4 5"},
    {"dead nodes have no group, weights have none",
     "%0 = input \"x\" : f32[2]\n"
     "%1 = weight \"w\" : f32[2]\n"
     "%2 = relu(%1) : f32[2]\n"
     "%3 = neg(%0) : f32[2]\n"
     "%4 = mul(%0, %2) : f32[2]\n"
     "return %4\n",
     "- - - - 4"},
};

static void fuse_text(const char *text, noe_buf *groups)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_pool *pool = noe_pool_new();
    noe_assert_ok(noe_graph_parse(pool, text, &g, &err), err);
    uint8_t *live = noe_calloc(g->n_nodes, 1);
    uint32_t *uses = noe_calloc(g->n_nodes, sizeof *uses);
    uint32_t *group = noe_calloc(g->n_nodes, sizeof *group);
    noe_graph_mark_live(g, live);
    noe_graph_count_uses(g, live, uses);
    noe_fuse(g, live, uses, group);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (group[i] == UINT32_MAX)
            noe_buf_printf(groups, "%s-", i ? " " : "");
        else
            noe_buf_printf(groups, "%s%u", i ? " " : "", group[i]);
    }
    free(live);
    free(uses);
    free(group);
    noe_graph_free(g);
    noe_pool_free(pool);
}

START_TEST(test_fuse_groups)
{
    noe_buf groups = {0};
    fuse_text(cases[_i].graph, &groups);
    ck_assert_msg(strcmp(noe_buf_text(&groups), cases[_i].groups) == 0,
                  "%s: groups are %s, want %s\n%s", cases[_i].what,
                  noe_buf_text(&groups), cases[_i].groups, cases[_i].graph);
    noe_buf_clear(&groups);
}
END_TEST

/* The description names roles and operands in the order of the call. */
START_TEST(test_fuse_describes_roles)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_pool *pool = noe_pool_new();
    noe_assert_ok(noe_graph_parse(pool, cases[0].graph, &g, &err), err);
    const uint32_t group[] = {UINT32_MAX, UINT32_MAX, 6, UINT32_MAX, 6, 6, 6};
    noe_fusion f;
    noe_fusion_describe(g, group, 6, &f);
    ck_assert_uint_eq(f.anchor, 2);
    ck_assert_int_eq(f.n_operands, 2);
    ck_assert_int_eq(f.n_steps, 3);
    ck_assert_int_eq(f.steps[0].role, NOE_FUSION_BIAS);
    ck_assert_uint_eq(f.steps[0].other.node, 3);
    ck_assert_int_eq(f.steps[1].role, NOE_FUSION_RESIDUAL);
    ck_assert_uint_eq(f.steps[1].other.node, 0);
    ck_assert_int_eq(f.steps[2].role, NOE_FUSION_ACTIVATION);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

START_TEST(test_fuse_describes_chain)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_pool *pool = noe_pool_new();
    const char *text = "%0 = input \"x\" : f32[1,2]\n"
                       "%1 = input \"y\" : f32[1,3]\n"
                       "%2 = concat[axis=1](%0, %1) : f32[1,5]\n"
                       "%3 = concat[axis=1](%1, %2) : f32[1,8]\n"
                       "%4 = concat[axis=1](%3, %0) : f32[1,10]\n"
                       "return %4\n";
    noe_assert_ok(noe_graph_parse(pool, text, &g, &err), err);
    const uint32_t group[] = {UINT32_MAX, UINT32_MAX, 4, 4, 4};
    const uint32_t want[] = {1, 0, 1, 0};
    noe_fusion f;
    noe_fusion_describe(g, group, 4, &f);
    ck_assert_int_eq(f.n_operands, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(f.operands[i].node, want[i]);
    noe_graph_free(g);
    noe_pool_free(pool);
}
END_TEST

Suite *suite_fuse(void)
{
    Suite *s = suite_create("fuse");
    TCase *t = tcase_create("fuse");
    tcase_add_loop_test(t, test_fuse_groups, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(t, test_fuse_describes_roles);
    tcase_add_test(t, test_fuse_describes_chain);
    suite_add_tcase(s, t);
    return s;
}
