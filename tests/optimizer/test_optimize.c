/* SPDX-License-Identifier: Apache-2.0
 * The pipeline on graphs, with costs that do not depend on the machine. */
#include "tests/optimizer/fixture.h"
#include <stdlib.h>

static noe_pool *pool;
static noe_env env;
static noe_backend *backend;
static noe_error err;

static void setup(void)
{
    pool = noe_pool_new();
    env = fixture_env();
    noe_assert_ok(noe_backend_open("reference", &env, &backend, &err), err);
}

static void teardown(void)
{
    backend->vt->close(backend);
    noe_pool_free(pool);
}

static noe_op no_origin(void *ctx, uint32_t origin)
{
    (void)ctx;
    (void)origin;
    return NOE_OP_OPAQUE;
}

static noe_graph *made; /* by lossy_writer */

static noe_status optimize_written(const noe_graph *g, const char *const *rules,
                                   noe_reread_fn *reread, noe_optimize_result *result)
{
    noe_rule_set set;
    fake_costs fake;
    noe_costs costs;
    noe_optimize_options options = {
        .search = NOE_SEARCH_DEFAULTS,
        .check = {3, NOE_CHECK_RTOL, NOE_CHECK_ATOL},
        .seed = 1,
        .origin_op = no_origin,
        .reread = reread,
        .reread_ctx = &made,
    };
    fixture_rules(&set, rules);
    fake_costs_init(&fake, NULL, 1);
    noe_costs_init(&costs, &fake.model);
    noe_status status =
        noe_optimize(&env, g, &set, &costs, backend, &options, result, &err);
    noe_costs_clear(&costs);
    noe_rule_set_clear(&set);
    return status;
}

static noe_status optimize(const noe_graph *g, const char *const *rules,
                           noe_optimize_result *result)
{
    return optimize_written(g, rules, NULL, result);
}

/* A writer that loses a node: what is read back is the graph without its last operator.
 */
static noe_status lossy_writer(void *ctx, const noe_graph *g, const noe_graph **seen,
                               noe_error *error)
{
    noe_graph **fresh = ctx;
    noe_ref map[64], out;
    noe_ref last = g->outputs[0].ref;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        map[i] = NOE_REF_NONE;
    *fresh = noe_graph_new(g->pool);
    NOE_TRY(noe_graph_transfer(*fresh, g, noe_graph_inputs(g, last.node)[0], map, &out,
                               error));
    noe_graph_add_output(*fresh, out, g->outputs[0].name);
    *seen = *fresh;
    return NOE_OK;
}

static int count_op(const noe_graph *g, noe_op op)
{
    int n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == op;
    return n;
}

/* A scale by channels behind a convolution goes into its weights, and the shift becomes
 * the bias: expansion of the definition, a rule, and the fold together. */
static const char conv_bn[] =
    "%0 = input \"x\" : f32[1,3,6,6]\n"
    "%1 = weight \"w\" : f32[4,3,3,3]\n"
    "%2 = weight \"s\" : f32[4]\n"
    "%3 = weight \"b\" : f32[4]\n"
    "%4 = weight \"m\" : f32[4]\n"
    "%5 = weight \"v\" : f32[4]\n"
    "%6 = mul(%5, %5) : f32[4]\n"
    "%7 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1)"
    " : f32[1,4,6,6]\n"
    "%8 = batch_normalization[epsilon=1e-05](%7, %2, %3, %4, %6) : f32[1,4,6,6]\n"
    "%9 = relu(%8) : f32[1,4,6,6]\n"
    "return %9 as \"y\"\n";
static const char *const conv_mul[] = {
    "mul(conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, ?w), ?c:weight) => "
    "conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, "
    "mul(?w, reshape[shape=[dim(?w, 0)] ++ rep(1, rank(?x) - 1)](?c))) "
    "where shape(?c) == [dim(?w, 0)] ++ rep(1, rank(?x) - 2)",
    NULL};

/* Layout moves across casts and in f16; arithmetic in f16 is opaque and stays. */
static const char mixed_precision[] = "%0 = input \"x\" : f32[2,3]\n"
                                      "%1 = transpose[perm=[1,0]](%0) : f32[3,2]\n"
                                      "%2 = cast[to=10](%1) : f16[3,2]\n"
                                      "%3 = transpose[perm=[1,0]](%2) : f16[2,3]\n"
                                      "%4 = cast[to=1](%3) : f32[2,3]\n"
                                      "%5 = relu(%4) : f32[2,3]\n"
                                      "%6 = weight \"w\" : f16[2,3]\n"
                                      "%7 = cast[to=1](%6) : f32[2,3]\n"
                                      "%8 = mul(%5, %7) : f32[2,3]\n"
                                      "return %8 as \"y\", %3 as \"h\"\n";
static const char *const cast_laws[] = {
    "transpose[perm=$p](cast[to=$d](?a)) => cast[to=$d](transpose[perm=$p](?a))",
    "transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a", NULL};

START_TEST(test_optimize_moves_layout_across_casts)
{
    noe_graph *g = fixture_graph(pool, mixed_precision);
    noe_optimize_result r;
    noe_assert_ok(optimize(g, cast_laws, &r), err);
    ck_assert_int_eq(r.decision, NOE_DECISION_BETTER);
    ck_assert_int_eq(count_op(r.graph, NOE_OP_TRANSPOSE), 0);
    ck_assert_int_eq(count_op(r.graph, NOE_OP_CAST), 3);
    ck_assert_uint_eq(r.before.n_operators, 6); /* the weight's cast is folded */
    ck_assert_uint_eq(r.after.n_operators, 4);
    ck_assert_uint_eq(r.check.n_outputs, 2);
    ck_assert_double_eq(r.check.max_abs, 0);
    noe_optimize_result_clear(&r);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_optimize_folds_a_normalization_into_a_convolution)
{
    noe_graph *g = fixture_graph(pool, conv_bn);
    noe_optimize_result r;
    noe_assert_ok(optimize(g, conv_mul, &r), err);
    ck_assert_int_eq(r.decision, NOE_DECISION_BETTER);
    ck_assert_int_eq(count_op(r.graph, NOE_OP_BATCH_NORMALIZATION), 0);
    ck_assert_int_eq(count_op(r.graph, NOE_OP_CONV_BIAS), 1);
    ck_assert_uint_eq(r.before.n_operators, 4); /* conv, mul, add, relu */
    ck_assert_uint_eq(r.after.n_operators, 3);
    ck_assert_int_eq(r.check.n_inputs, 3);
    ck_assert_uint_eq(r.check.n_outputs, 1);
    noe_optimize_result_clear(&r);
    noe_graph_free(g);
}
END_TEST

/* The written form is what is checked, with a rewrite and without. */
START_TEST(test_optimize_checks_what_is_read_back)
{
    static const char *const none[] = {NULL};
    noe_graph *g = fixture_graph(pool, conv_bn);
    noe_optimize_result r;
    noe_status status = optimize_written(g, _i ? conv_mul : none, lossy_writer, &r);
    ck_assert_int_eq(status, NOE_ERR_MISMATCH);
    ck_assert_msg(noe_contains(err.text, "output y, element"), "%s", err.text);
    noe_optimize_result_clear(&r);
    noe_graph_free(made);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_optimize_without_gain_returns_the_input)
{
    static const char *const rules[] = {"neg(neg(?a)) => ?a", NULL};
    noe_graph *g = fixture_graph(pool, conv_bn);
    noe_optimize_result r;
    noe_assert_ok(optimize(g, rules, &r), err);
    ck_assert_int_eq(r.decision, NOE_DECISION_NO_GAIN);
    ck_assert_ptr_eq(r.graph, g);
    noe_optimize_result_clear(&r);
    noe_graph_free(g);
}
END_TEST

/* A rule that is wrong gets through the search, but not through the check. */
START_TEST(test_optimize_refuses_what_a_wrong_rule_made)
{
    static const char *const rules[] = {"relu(?a) => ?a", NULL};
    noe_graph *g = fixture_graph(pool, conv_bn);
    noe_optimize_result r;
    noe_assert_fails(optimize(g, rules, &r), NOE_ERR_MISMATCH, err, "output y");
    ck_assert_ptr_eq(r.graph, g);
    noe_optimize_result_clear(&r);
    noe_graph_free(g);
}
END_TEST

/* Shapes that are carried as integers stay what they were, through both conversions. */
START_TEST(test_optimize_carries_integers)
{
    static const char *const rules[] = {"neg(neg(?a)) => ?a", NULL};
    noe_graph *g = fixture_graph(pool, "%0 = input \"x\" : f32[2,3]\n"
                                       "%1 = neg(%0) : f32[2,3]\n"
                                       "%2 = neg(%1) : f32[2,3]\n"
                                       "%3 = input \"i\" : i64[6]\n"
                                       "%4 = unsqueeze[axes=[0]](%3) : i64[1,6]\n"
                                       "%5 = opaque #2(%2, %4) : f32[2,3]\n"
                                       "%6 = relu(%5) : f32[2,3]\n"
                                       "return %6 as \"y\", %4 as \"j\"\n");
    noe_optimize_result r;
    noe_assert_ok(optimize(g, rules, &r), err);
    ck_assert_int_eq(r.decision, NOE_DECISION_BETTER);
    ck_assert_int_eq(count_op(r.graph, NOE_OP_NEG), 0);
    noe_optimize_result_clear(&r);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_optimize_growth_default)
{
    noe_graph *g = fixture_graph(pool, conv_bn);
    ck_assert_uint_eq(noe_default_growth(g), UINT64_C(1) << 20);
    noe_graph_free(g);
    g = fixture_graph(pool, "%0 = input \"x\" : f32[1,4096]\n"
                            "%1 = weight \"w\" : f32[4096,1024]\n"
                            "%2 = matmul(%0, %1) : f32[1,1024]\nreturn %2 as \"y\"\n");
    ck_assert_uint_eq(noe_default_growth(g), UINT64_C(4096) * 1024 * 4 / 100 * 10);
    noe_graph_free(g);
}
END_TEST

/* On the device: the whole is timed, and equal work is no gain. */
START_TEST(test_optimize_trial_sees_no_gain_in_equal_work)
{
    noe_graph *g = fixture_graph(pool, conv_bn);
    noe_cut cut;
    noe_trial trial;
    noe_assert_ok(noe_cut_pair(g, g, &cut, &err), err);
    noe_assert_ok(noe_trial_run(backend, &cut, &trial, &err), err);
    ck_assert(trial.done);
    ck_assert_double_gt(trial.pair.seconds_a, 0);
    ck_assert_double_le(trial.pair.ratio_lo, trial.pair.ratio);
    noe_cut_clear(&cut);
    noe_graph_free(g);
}
END_TEST

Suite *suite_optimize(void);
Suite *suite_optimize(void)
{
    Suite *s = suite_create("optimizer.optimize");
    TCase *tc = tcase_create("optimize");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_optimize_moves_layout_across_casts);
    tcase_add_test(tc, test_optimize_folds_a_normalization_into_a_convolution);
    tcase_add_test(tc, test_optimize_without_gain_returns_the_input);
    tcase_add_loop_test(tc, test_optimize_checks_what_is_read_back, 0, 2);
    tcase_add_test(tc, test_optimize_refuses_what_a_wrong_rule_made);
    tcase_add_test(tc, test_optimize_carries_integers);
    tcase_add_test(tc, test_optimize_growth_default);
    tcase_add_test(tc, test_optimize_trial_sees_no_gain_in_equal_work);
    suite_add_tcase(s, tc);
    return s;
}
