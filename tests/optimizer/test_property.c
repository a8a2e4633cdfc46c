/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs through the whole pipeline, with costs that do not depend on the
 * machine: the result computes the same, never costs more, and optimizing it again
 * changes nothing that a check could see. What fails is shrunk and printed.
 *
 * Two rule sets: laws written here, and the rules of the database where one is found
 * ($NOETHER_RULES, which ctest sets).
 */
#include "core/base/rng.h"
#include "tests/optimizer/fixture.h"
#include "tests/support/gen_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const noe_rule_filter safe = {.classes = NOE_CLASSES_SAFE};

#define TOLERANCE 1e-3

static const char *const laws[] = {
    "neg(neg(?a)) => ?a",
    "relu(relu(?a)) => relu(?a)",
    "sub(?a, ?b) => add(?a, neg(?b))",
    "add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
    "mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))",
    "mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))",
    "tanh(neg(?a)) => neg(tanh(?a))",
    "matmul(?a, matmul(?b, ?c)) => matmul(matmul(?a, ?b), ?c) "
    "where rank(?a) == 2 && rank(?b) == 2 && rank(?c) == 2",
    "matmul(?a, add(?b, ?c)) => add(matmul(?a, ?b), matmul(?a, ?c)) "
    "where shape(?b) == shape(?c)",
    "transpose[perm=$p](relu(?a)) => relu(transpose[perm=$p](?a))",
    "reshape[shape=$s](reshape[shape=$t](?a)) => reshape[shape=$s](?a)",
    "concat[axis=$k](relu(?a), relu(?b)) => relu(concat[axis=$k](?a, ?b))",
    "concat[axis=$k](neg(?a), neg(?b)) => neg(concat[axis=$k](?a, ?b))",
    "slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a",
    "neg(conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, ?w)) => "
    "conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, neg(?w))",
    "reduce_sum[axes=$k, keepdims=$d](neg(?a)) => "
    "neg(reduce_sum[axes=$k, keepdims=$d](?a))",
    NULL};

typedef struct property {
    const noe_rule_set *rules;
    noe_env env;
    uint64_t seed;
    char *complaint; /* of the last graph that failed */
    int n_applied;
} property;

static noe_op no_origin(void *ctx, uint32_t origin)
{
    (void)ctx;
    (void)origin;
    return NOE_OP_OPAQUE;
}

static bool complain(property *p, const char *what, const char *text)
{
    noe_buf b = {0};
    noe_buf_printf(&b, "%s: %s", what, text);
    free(p->complaint);
    p->complaint = b.text;
    return true;
}

/* Applied rules that speak of small numbers only: a deep graph of random products. */
static bool judge_result(property *p, const noe_graph *g, const noe_optimize_result *r)
{
    noe_graph_check(r->graph);
    if (r->decision == NOE_DECISION_BETTER && !noe_cost_less(&r->after, &r->before))
        return complain(p, "cost", "the result costs more");
    char *difference = fixture_difference(g, r->graph, TOLERANCE);
    bool failed = difference && complain(p, "values", difference);
    free(difference);
    return failed;
}

/* Prices drawn by seed: what is cheap for one seed is dear for the next, so that rules
 * are used in both directions and by detours. */
static void draw_prices(uint64_t seed, fake_price *prices)
{
    static const double choices[] = {0, 0.5, 1, 1, 2, 10};
    noe_rng rng = noe_rng_split(seed, "prices", 0);
    for (int op = 0; op < NOE_OP_COUNT; op++)
        prices[op] = (fake_price){(noe_op)op, choices[noe_rng_below(&rng, 6)]};
    prices[NOE_OP_COUNT].price = -1;
}

static bool fails(void *ctx, const noe_graph *g)
{
    property *p = ctx;
    fake_costs fake;
    noe_costs costs;
    noe_optimize_result r;
    noe_error err;
    fake_price prices[NOE_OP_COUNT + 1];
    noe_optimize_options options = {
        .search = {.alpha = 1.3, .budget = 25, .max_growth = UINT64_C(1) << 20},
        .origin_op = no_origin};
    draw_prices(p->seed, prices);
    fake_costs_init(&fake, prices, 1);
    fake.per_element = p->seed % 2;
    noe_costs_init(&costs, &fake.model);
    noe_status status =
        noe_optimize(&p->env, g, p->rules, &costs, NULL, &options, &r, &err);
    bool failed =
        status != NOE_OK ? complain(p, "error", err.text) : judge_result(p, g, &r);
    p->n_applied += r.search.n_path;
    noe_optimize_result_clear(&r);
    noe_costs_clear(&costs);
    return failed;
}

static int run_seed(const noe_rule_set *rules, uint64_t seed)
{
    noe_pool *pool = noe_pool_new();
    property p = {.rules = rules, .env = fixture_env(), .seed = seed};
    noe_gen_options options = {
        .seed = seed, .n_nodes = 16, .max_elements = 512, .composites = seed % 3 == 0};
    noe_graph *g = noe_gen_graph(pool, &options);
    if (fails(&p, g)) {
        noe_graph *small = noe_gen_shrink(g, fails, &p);
        bool still = fails(&p, small); /* for its complaint */
        char *text = fixture_print(small);
        ck_abort_msg("seed %llu: %s%s\n%s", (unsigned long long)seed,
                     still ? "" : "(not reproduced) ", p.complaint, text);
    }
    free(p.complaint);
    noe_graph_free(g);
    noe_pool_free(pool);
    return p.n_applied;
}

enum { SEEDS_A_TEST = 200, N_TESTS = 6 };

START_TEST(test_property_with_known_laws)
{
    noe_rule_set rules;
    int n_applied = 0;
    fixture_rules(&rules, laws);
    for (int i = 0; i < SEEDS_A_TEST; i++)
        n_applied += run_seed(&rules, (uint64_t)(_i * SEEDS_A_TEST + i + 1));
    ck_assert_msg(n_applied >= SEEDS_A_TEST / 6, "only %d rules were applied",
                  n_applied);
    noe_rule_set_clear(&rules);
}
END_TEST

START_TEST(test_property_with_stored_rules)
{
    const char *path = getenv("NOETHER_RULES");
    noe_rule_set rules = {0};
    noe_error err;
    if (!path)
        noe_skip("no rule database (NOETHER_RULES)");
    noe_assert_ok(noe_rule_set_load(&rules, path, &safe, &err), err);
    for (int i = 0; i < SEEDS_A_TEST; i++)
        run_seed(&rules, (uint64_t)(1000 + _i * SEEDS_A_TEST + i));
    noe_rule_set_clear(&rules);
}
END_TEST

/* A planted wrong rule is found, and the shrinker brings it down to a few nodes. */
START_TEST(test_property_catches_a_wrong_law)
{
    static const char *const wrong[] = {"relu(?a) => ?a", NULL};
    noe_rule_set rules;
    int n_caught = 0;
    fixture_rules(&rules, wrong);
    for (uint64_t seed = 1; seed <= 20 && n_caught == 0; seed++) {
        noe_pool *pool = noe_pool_new();
        property p = {.rules = &rules, .env = fixture_env(), .seed = seed};
        noe_gen_options options = {.seed = seed, .n_nodes = 16, .max_elements = 512};
        noe_graph *g = noe_gen_graph(pool, &options);
        if (fails(&p, g)) {
            noe_graph *small = noe_gen_shrink(g, fails, &p);
            ck_assert_uint_le(small->n_nodes, 3);
            noe_graph_free(small);
            n_caught++;
        }
        free(p.complaint);
        noe_graph_free(g);
        noe_pool_free(pool);
    }
    ck_assert_int_eq(n_caught, 1);
    noe_rule_set_clear(&rules);
}
END_TEST

Suite *suite_property(void);
Suite *suite_property(void)
{
    Suite *s = suite_create("optimizer.property");
    TCase *tc = tcase_create("property");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_property_with_known_laws, 0, N_TESTS);
    tcase_add_loop_test(tc, test_property_with_stored_rules, 0, N_TESTS);
    tcase_add_test(tc, test_property_catches_a_wrong_law);
    suite_add_tcase(s, tc);
    return s;
}
