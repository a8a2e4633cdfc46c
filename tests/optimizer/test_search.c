/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hash.h"
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

typedef struct scene {
    noe_graph *g;
    noe_rule_set rules;
    fake_costs fake;
    noe_costs costs;
    noe_search_options options;
    noe_search_result result;
} scene;

static void scene_init(scene *s, const char *graph, const char *const *rules,
                       const fake_price *prices, double other)
{
    s->g = fixture_graph(pool, graph);
    fixture_rules(&s->rules, rules);
    fake_costs_init(&s->fake, prices, other);
    noe_costs_init(&s->costs, &s->fake.model);
    s->options = (noe_search_options)NOE_SEARCH_DEFAULTS;
}

static void scene_run(scene *s)
{
    noe_env env = fixture_env();
    noe_error err;
    noe_assert_ok(
        noe_search(&env, s->g, &s->rules, &s->costs, &s->options, &s->result, &err),
        err);
    noe_graph_check(s->result.graph);
    ck_assert(!noe_cost_less(&s->result.before, &s->result.after));
}

static uint64_t path_hash(const noe_search_result *r)
{
    uint64_t hash = 0;
    for (int i = 0; i < r->n_path; i++)
        hash = noe_hash64(&r->path[i].site, sizeof r->path[i].site, hash);
    return hash;
}

static void scene_clear(scene *s)
{
    noe_search_result_clear(&s->result);
    noe_costs_clear(&s->costs);
    noe_rule_set_clear(&s->rules);
    noe_graph_free(s->g);
}

/* tanh(neg(x)): only by way of a dearer form (1.52 -> 1.56) does one come to 0.52. The
 * first rule is no law of arithmetic; a search must not care. */
static const char uphill_graph[] = "%0 = input \"x\" : f32[2]\n"
                                   "%1 = neg(%0) : f32[2]\n"
                                   "%2 = tanh(%1) : f32[2]\n"
                                   "return %2 as \"y\"\n";
static const char *const uphill_rules[] = {"tanh(?a) => sigmoid(neg(?a))",
                                           "neg(neg(?a)) => ?a", NULL};
static const fake_price uphill_prices[] = {
    {NOE_OP_TANH, 1}, {NOE_OP_SIGMOID, 0.52}, {NOE_OP_NEG, 0.52}, {NOE_OP_ADD, -1}};

START_TEST(test_search_takes_a_step_uphill)
{
    scene s;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    scene_run(&s);
    ck_assert_double_eq_tol(s.result.before.seconds, 1.52e-3, 1e-9);
    ck_assert_double_eq_tol(s.result.after.seconds, 0.52e-3, 1e-9);
    ck_assert_int_eq(s.result.n_path, 2);
    ck_assert_str_eq(s.rules.rules[s.result.path[0].site.rule]->text,
                     "tanh(?a) => sigmoid(neg(?a))");
    ck_assert_str_eq(s.rules.rules[s.result.path[1].site.rule]->text,
                     "neg(neg(?a)) => ?a");
    scene_clear(&s);
}
END_TEST

START_TEST(test_search_without_slack_stays_below)
{
    scene s;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    s.options.alpha = 1;
    scene_run(&s);
    ck_assert_double_eq_tol(s.result.after.seconds, 1.52e-3, 1e-9);
    ck_assert_int_eq(s.result.n_path, 0);
    scene_clear(&s);
}
END_TEST

START_TEST(test_search_without_budget_only_sweeps)
{
    scene s;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    s.options.budget = 0;
    scene_run(&s);
    ck_assert_int_eq(s.result.n_expanded, 0);
    ck_assert_int_eq(s.result.n_path, 0);
    scene_clear(&s);
}
END_TEST

/* TASO's loop comes there too if alpha allows the step, without any sweep. */
START_TEST(test_search_backtracks)
{
    static const struct {
        double alpha, after;
    } cases[] = {{1.05, 0.52e-3}, {1.01, 1.52e-3}};
    scene s;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    s.options.method = NOE_SEARCH_BACKTRACK;
    s.options.alpha = cases[_i].alpha;
    scene_run(&s);
    ck_assert_double_eq_tol(s.result.after.seconds, cases[_i].after, 1e-9);
    ck_assert_int_eq(s.result.n_sweeps, 0);
    ck_assert(!s.result.out_of_budget);
    scene_clear(&s);
}
END_TEST

/* What saves an operator, but so little that it does not count at first, is taken at
 * the end, also if best-first search has met it and passed it by. */
START_TEST(test_search_polishes_at_the_end)
{
    scene s;
    static const char *const rules[] = {"add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
                                        NULL};
    static const fake_price prices[] = {{NOE_OP_MATMUL, 100}, {NOE_OP_TANH, -1}};
    scene_init(&s,
               "%0 = input \"x\" : f32[4,4]\n"
               "%1 = weight \"w\" : f32[4,4]\n"
               "%2 = weight \"b\" : f32[4]\n"
               "%3 = weight \"c\" : f32[4]\n"
               "%4 = matmul(%0, %1) : f32[4,4]\n"
               "%5 = add(%4, %2) : f32[4,4]\n"
               "%6 = add(%5, %3) : f32[4,4]\n"
               "%7 = relu(%6) : f32[4,4]\n"
               "return %7 as \"y\"\n",
               rules, prices, 1);
    scene_run(&s);
    ck_assert_int_gt(s.result.n_expanded, 0);
    ck_assert_uint_eq(s.result.after.n_operators, 3);
    scene_clear(&s);
}
END_TEST

/* Many independent gains: a sweep takes them at once. */
START_TEST(test_search_sweeps_independent_gains)
{
    enum { PAIRS = 40 };
    noe_buf text = {0};
    static const char *const rules[] = {"neg(neg(?a)) => ?a", NULL};
    noe_buf_puts(&text, "%0 = input \"x\" : f32[2]\n");
    int node = 0;
    for (int i = 0; i < PAIRS; i++) {
        noe_buf_printf(&text, "%%%d = neg(%%%d) : f32[2]\n", node + 1, node);
        noe_buf_printf(&text, "%%%d = neg(%%%d) : f32[2]\n", node + 2, node + 1);
        noe_buf_printf(&text, "%%%d = exp(%%%d) : f32[2]\n", node + 3, node + 2);
        node += 3;
    }
    noe_buf_printf(&text, "return %%%d as \"y\"\n", node);
    scene s;
    scene_init(&s, text.text, rules, NULL, 1);
    scene_run(&s);
    ck_assert_double_eq_tol(s.result.after.seconds, PAIRS * 1e-3, 1e-9);
    ck_assert_int_eq(s.result.applied[0], PAIRS);
    ck_assert_int_le(s.result.n_sweeps, 3);
    scene_clear(&s);
    noe_buf_clear(&text);
}
END_TEST

START_TEST(test_search_finds_nothing_where_nothing_is)
{
    scene s;
    static const char *const rules[] = {"exp(neg(?a)) => reciprocal(exp(?a))", NULL};
    scene_init(&s, uphill_graph, rules, NULL, 1);
    scene_run(&s);
    ck_assert_int_eq(s.result.n_path, 0);
    ck_assert_int_eq(s.result.n_candidates, 0);
    ck_assert_uint_eq(noe_graph_hash(s.result.graph), noe_graph_hash(s.g));
    scene_clear(&s);
}
END_TEST

/* A second run on the result finds nothing more. */
START_TEST(test_search_is_idempotent)
{
    scene s, again;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    scene_run(&s);
    char *text = fixture_print(s.result.graph);
    scene_init(&again, text, uphill_rules, uphill_prices, 1);
    scene_run(&again);
    ck_assert_int_eq(again.result.n_path, 0);
    char *second = fixture_print(again.result.graph);
    ck_assert_str_eq(text, second);
    free(text);
    free(second);
    scene_clear(&again);
    scene_clear(&s);
}
END_TEST

/* Rules that only ever add nodes, at no cost, must end. */
START_TEST(test_search_does_not_run_away)
{
    scene s;
    static const char *const rules[] = {"relu(?a) => relu(relu(?a))",
                                        "tanh(?a) => neg(neg(tanh(?a)))", NULL};
    static const fake_price free_of_charge[] = {
        {NOE_OP_RELU, 0}, {NOE_OP_NEG, 0}, {NOE_OP_ADD, -1}};
    scene_init(&s,
               "%0 = input \"x\" : f32[2]\n%1 = relu(%0) : f32[2]\n"
               "%2 = tanh(%1) : f32[2]\nreturn %2 as \"y\"\n",
               rules, free_of_charge, 1);
    scene_run(&s);
    ck_assert_uint_eq(s.result.after.n_operators, 2);
    scene_clear(&s);
}
END_TEST

/* A price that only a busy machine made does not survive a second look; each kernel is
 * looked at again once, and only where a gain depends on it. */
START_TEST(test_search_does_not_fall_for_an_outlier)
{
    scene s;
    static const char *const rules[] = {"neg(?a) => tanh(tanh(?a))", NULL};
    scene_init(&s, uphill_graph, rules, uphill_prices, 1);
    s.fake.slowed = NOE_OP_NEG;
    scene_run(&s);
    ck_assert_int_eq(s.result.n_path, 0);
    ck_assert_double_eq_tol(s.result.before.seconds, 1.52e-3, 1e-9);
    ck_assert_int_ge(s.fake.n_confirmed, 1);
    ck_assert_int_le(s.fake.n_confirmed, s.fake.n_measured);
    scene_clear(&s);
}
END_TEST

/* Folding may multiply the weights; the limit holds it back. */
static const char low_rank_graph[] = "%0 = input \"x\" : f32[2,64]\n"
                                     "%1 = weight \"u\" : f32[64,2]\n"
                                     "%2 = weight \"v\" : f32[2,64]\n"
                                     "%3 = matmul(%0, %1) : f32[2,2]\n"
                                     "%4 = matmul(%3, %2) : f32[2,64]\n"
                                     "return %4 as \"y\"\n";
static const char *const low_rank_rules[] = {
    "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) "
    "where rank(?a) == 2 && rank(?b) == 2 && rank(?c) == 2",
    NULL};

START_TEST(test_search_bounds_folded_weights)
{
    scene s;
    scene_init(&s, low_rank_graph, low_rank_rules, NULL, 1);
    s.options.max_growth = 1024;
    scene_run(&s);
    ck_assert_int_eq(s.result.n_path, 0);
    scene_clear(&s);
    scene_init(&s, low_rank_graph, low_rank_rules, NULL, 1);
    scene_run(&s);
    ck_assert_int_eq(s.result.n_path, 1);
    ck_assert_uint_eq(s.result.after.weight_bytes, 64 * 64 * 4);
    scene_clear(&s);
}
END_TEST

START_TEST(test_search_merges_siblings_by_a_rule_with_two_roots)
{
    scene s;
    static const char *const rules[] = {
        "{ matmul(?x, ?v:weight), matmul(?x, ?w:weight) } => "
        "{ slice[axis=1, start=0, end=dim(?v, 1)](matmul(?x, concat[axis=1](?v, ?w))), "
        "slice[axis=1, start=dim(?v, 1), end=dim(?v, 1) + dim(?w, 1)]("
        "matmul(?x, concat[axis=1](?v, ?w))) } where rank(?x) == 2",
        NULL};
    static const fake_price prices[] = {{NOE_OP_SLICE, 0.1}, {NOE_OP_ADD, -1}};
    scene_init(&s,
               "%0 = input \"x\" : f32[4,3]\n"
               "%1 = weight \"v\" : f32[3,5]\n"
               "%2 = weight \"w\" : f32[3,6]\n"
               "%3 = matmul(%0, %1) : f32[4,5]\n"
               "%4 = matmul(%0, %2) : f32[4,6]\n"
               "return %3 as \"p\", %4 as \"q\"\n",
               rules, prices, 1);
    scene_run(&s);
    ck_assert_double_eq_tol(s.result.after.seconds, 1.2e-3, 1e-9);
    char *difference = fixture_difference(s.g, s.result.graph, 1e-5);
    ck_assert_msg(!difference, "%s", difference);
    scene_clear(&s);
}
END_TEST

/* The same inputs give the same bytes: text of the result and the path to it. */
START_TEST(test_search_is_deterministic)
{
    static const char *const rules[] = {
        "add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
        "mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))",
        "neg(?a) => sub(sub(?a, ?a), ?a)", "sub(?a, ?b) => add(?a, neg(?b))", NULL};
    static const char graph[] = "%0 = input \"x\" : f32[2,3]\n"
                                "%1 = input \"y\" : f32[2,3]\n"
                                "%2 = weight \"w\" : f32[3]\n"
                                "%3 = mul(%0, %1) : f32[2,3]\n"
                                "%4 = mul(%0, %2) : f32[2,3]\n"
                                "%5 = add(%3, %4) : f32[2,3]\n"
                                "%6 = neg(%0) : f32[2,3]\n"
                                "%7 = add(%5, %6) : f32[2,3]\n"
                                "%8 = add(%7, %1) : f32[2,3]\n"
                                "return %8 as \"z\"\n";
    char *texts[2];
    uint64_t paths[2];
    for (int run = 0; run < 2; run++) {
        scene s;
        scene_init(&s, graph, rules, NULL, 1);
        s.options.alpha = 1.5;
        s.options.budget = 60;
        scene_run(&s);
        texts[run] = fixture_print(s.result.graph);
        paths[run] = path_hash(&s.result);
        char *difference = fixture_difference(s.g, s.result.graph, 1e-5);
        ck_assert_msg(!difference, "%s\n%s", difference, texts[run]);
        scene_clear(&s);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_uint_eq(paths[0], paths[1]);
    free(texts[0]);
    free(texts[1]);
}
END_TEST

START_TEST(test_search_keeps_the_best_when_interrupted)
{
    scene s;
    volatile sig_atomic_t cancel = 1;
    noe_env env = fixture_env();
    noe_error err;
    env.cancel = &cancel;
    scene_init(&s, uphill_graph, uphill_rules, uphill_prices, 1);
    noe_assert_ok(
        noe_search(&env, s.g, &s.rules, &s.costs, &s.options, &s.result, &err), err);
    ck_assert(s.result.interrupted);
    ck_assert_uint_eq(noe_graph_hash(s.result.graph), noe_graph_hash(s.g));
    scene_clear(&s);
}
END_TEST

START_TEST(test_search_leaves_opaque_neighbours_and_names_alone)
{
    scene s;
    static const char *const rules[] = {"neg(neg(?a)) => ?a", NULL};
    scene_init(&s,
               "%0 = input \"x\" : f32[2]\n"
               "%1 = opaque #4(%0) : f32[2], f32[2]\n"
               "%2 = neg(%1.1) : f32[2]\n"
               "%3 = neg(%2) : f32[2]\n"
               "%4 = opaque #6(%3, %1.0) : f32[2]\n"
               "%5 = neg(%4) : f32[2]\n"
               "%6 = neg(%5) : f32[2]\n"
               "return %6 as \"y\", %3 as \"mid\"\n",
               rules, NULL, 1);
    scene_run(&s);
    ck_assert_uint_eq(s.result.after.n_operators, 0);
    ck_assert_uint_eq(s.result.graph->n_nodes, 3);
    ck_assert_str_eq(s.result.graph->outputs[1].name, "mid");
    ck_assert_uint_eq(s.result.graph->outputs[1].ref.port, 1);
    char *difference = fixture_difference(s.g, s.result.graph, 1e-5);
    ck_assert_msg(!difference, "%s", difference);
    scene_clear(&s);
}
END_TEST

/* A slice that has to pass a fork, x - mean(x) and its square root, with few
 * expansions: each step alone gains nothing, and the last one is only possible when
 * both users of a value have taken theirs. */
static const char fork_graph[] =
    "%0 = input \"x\" : f32[8,4]\n"
    "%1 = tanh(%0) : f32[8,4]\n"
    "%2 = reduce_mean[axes=[1], keepdims=1](%1) : f32[8,1]\n"
    "%3 = sub(%1, %2) : f32[8,4]\n"
    "%4 = sigmoid(%3) : f32[8,4]\n"
    "%5 = exp(%4) : f32[8,4]\n"
    "%6 = mul(%4, %5) : f32[8,4]\n"
    "%7 = slice[axis=0, start=0, end=1, step=1](%6) : f32[1,4]\n"
    "return %7 as \"y\"\n";
#define SLICE "slice[axis=$k, start=$s, end=$e, step=$t]"
static const char *const fork_rules[] = {
    SLICE "(tanh(?a)) => tanh(" SLICE "(?a))",
    "sigmoid(" SLICE "(?a)) => " SLICE "(sigmoid(?a))", /* used from right to left */
    SLICE "(exp(?a)) => exp(" SLICE "(?a))",
    SLICE "(mul(?a, ?b)) => mul(" SLICE "(?a), " SLICE
          "(?b)) where shape(?a) == shape(?b)",
    SLICE "(sub(?a, ?b)) => sub(" SLICE "(?a), " SLICE
          "(?b)) where rank(?a) == rank(?b) && dim(?a, $k) == dim(?b, $k)",
    SLICE
    "(reduce_mean[axes=$x, keepdims=1](?a)) => reduce_mean[axes=$x, keepdims=1](" SLICE
    "(?a)) where !has($x, $k)",
    NULL};

static const fake_price fork_prices[] = {{NOE_OP_SLICE, 10}, {NOE_OP_ADD, -1}};

static double fork_after(int64_t budget, int *n_path)
{
    scene s;
    scene_init(&s, fork_graph, fork_rules, fork_prices, 1);
    s.fake.per_element = true;
    s.options.budget = budget;
    scene_run(&s);
    double seconds = s.result.after.seconds;
    char *difference = fixture_difference(s.g, s.result.graph, 1e-5);
    ck_assert_msg(!difference, "%s", difference);
    *n_path = s.result.n_path;
    scene_clear(&s);
    return seconds;
}

START_TEST(test_search_takes_a_slice_through_a_fork)
{
    int n;
    /* 5 operators of 4 elements, a mean of 1, a slice of 4 */
    ck_assert_double_eq_tol(fork_after(1, &n), 61e-3, 1e-9);
    ck_assert_int_ge(n, 6);
    /* sweeps alone: 5 operators of 32 elements, a mean of 8, a slice of 4 */
    ck_assert_double_eq_tol(fork_after(0, &n), 208e-3, 1e-9);
    ck_assert_int_eq(n, 0);
}
END_TEST

/* When the queue overflows, what was expanded keeps its place: children refer to it. */
START_TEST(test_frontier_keeps_what_was_expanded)
{
    noe_frontier f;
    noe_frontier_init(&f);
    noe_state state = {.parent = NOE_STATE_NONE, .start = NOE_STATE_NONE};
    state.cost.seconds = 1e9; /* the dearest: among the first to be forgotten */
    uint32_t taken = noe_frontier_add(&f, &state);
    noe_frontier_push(&f, taken);
    ck_assert_uint_eq(noe_frontier_take_fair(&f), taken);
    for (int i = 0; i < 200000; i++) {
        state.cost.seconds = i;
        uint32_t here = noe_frontier_add(&f, &state);
        ck_assert_uint_ne(here, taken);
        noe_frontier_push(&f, here);
    }
    ck_assert_uint_lt(f.n_states, 150000); /* places are used again */
    ck_assert(f.states[taken].is_taken);
    ck_assert(noe_frontier_least(&f) == 0);
    noe_frontier_clear(&f);
}
END_TEST

Suite *suite_search(void);
Suite *suite_search(void)
{
    Suite *s = suite_create("optimizer.search");
    TCase *tc = tcase_create("search");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_search_takes_a_step_uphill);
    tcase_add_test(tc, test_frontier_keeps_what_was_expanded);
    tcase_add_test(tc, test_search_takes_a_slice_through_a_fork);
    tcase_add_test(tc, test_search_without_slack_stays_below);
    tcase_add_test(tc, test_search_without_budget_only_sweeps);
    tcase_add_loop_test(tc, test_search_backtracks, 0, 2);
    tcase_add_test(tc, test_search_polishes_at_the_end);
    tcase_add_test(tc, test_search_sweeps_independent_gains);
    tcase_add_test(tc, test_search_finds_nothing_where_nothing_is);
    tcase_add_test(tc, test_search_is_idempotent);
    tcase_add_test(tc, test_search_does_not_run_away);
    tcase_add_test(tc, test_search_does_not_fall_for_an_outlier);
    tcase_add_test(tc, test_search_bounds_folded_weights);
    tcase_add_test(tc, test_search_merges_siblings_by_a_rule_with_two_roots);
    tcase_add_test(tc, test_search_is_deterministic);
    tcase_add_test(tc, test_search_keeps_the_best_when_interrupted);
    tcase_add_test(tc, test_search_leaves_opaque_neighbours_and_names_alone);
    suite_add_tcase(s, tc);
    return s;
}
