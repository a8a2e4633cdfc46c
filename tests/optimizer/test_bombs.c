/* SPDX-License-Identifier: Apache-2.0
 *
 * Small models that ask for large memory: what is computed when a model is written or
 * checked is bounded, and who asks for more is told.
 */
#include "optimizer/cut.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <stdlib.h>

static noe_error err;

/* The sum of 10^10 numbers that are all made of one. */
#define HEAD "ir 8\nopset 13\ninput x f32 2\noutput y f32 2\n"
#define TAIL \
    "init ax i64 1 = 0\nnode ReduceSum big,ax -> s keepdims=i:0\nnode Add x,s -> y\n"
#define ONE "init a f32 1 = 1\ninit n i64 1 = 10000000000\n"

static const struct {
    const char *model;
    bool folds; /* the weight would be computed, else the node is kept */
    const char *message;
} cases[] = {
    {HEAD ONE "node Expand a,n -> big\n" TAIL, true,
     "computing a weight needs 10000000001 elements at once"},
    {HEAD ONE "node Tile a,n -> big\n" TAIL, true,
     "computing a weight needs 10000000001 elements at once"},
    {HEAD "init a f32 1,1,2,2 = 1,1,1,1\ninit k f32 4 = 1,1,50000,50000\n"
          "init f i64 1 = -1\nnode Resize a,_,k -> b\nnode Reshape b,f -> big\n" TAIL,
     true, "computing a weight needs 10000000004 elements at once"},
    {HEAD "init n i64 1 = 10000000000\nnode ConstantOfShape n -> big\n" TAIL, false,
     "has 10000000000 elements, too many to run anything on"},
};

START_TEST(test_what_is_computed_is_bounded)
{
    noe_onnx_model *m = noe_build_and_load(cases[_i].model);
    const noe_graph *g = noe_onnx_graph(m);
    char *data = NULL;
    size_t len = 0;
    noe_status status = noe_onnx_serialize(m, g, &data, &len, &err);
    if (!cases[_i].folds) {
        noe_cut cut;
        noe_assert_ok(status, err);
        ck_assert_msg(len < 1000, "%zu bytes", len);
        status = noe_cut_pair(g, g, &cut, &err);
    }
    free(data);
    ck_assert_int_eq(status, NOE_ERR_LIMIT);
    ck_assert_msg(noe_contains(err.text, cases[_i].message), "%s", err.text);
    noe_onnx_free(m);
}
END_TEST

/* As large, and nobody needs it at once: written as it came. */
START_TEST(test_what_is_not_needed_is_not_made)
{
    char *data;
    size_t len;
    noe_onnx_model *m = noe_build_and_load(
        "ir 8\nopset 13\ninput x f32 1\noutput y f32 *\ninit a f32 1 = 1\n"
        "init n i64 1 = 10000000000\nnode Expand a,n -> big\nnode Add x,big -> y\n");
    noe_assert_ok(noe_onnx_serialize(m, noe_onnx_graph(m), &data, &len, &err), err);
    ck_assert_msg(len < 1000, "%zu bytes", len);
    free(data);
    noe_onnx_free(m);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_bombs(void);
Suite *suite_bombs(void)
{
    Suite *s = suite_create("optimizer.bombs");
    TCase *tc = tcase_create("bombs");
    tcase_add_loop_test(tc, test_what_is_computed_is_bounded, 0, N(cases));
    tcase_add_test(tc, test_what_is_not_needed_is_not_made);
    suite_add_tcase(s, tc);
    return s;
}
