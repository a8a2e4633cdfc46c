/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments, the search by parts, the rewrite log and doing it again.
 */
#include "optimizer/cost_table.h"
#include "optimizer/partition.h"
#include "optimizer/segment.h"
#include "tests/optimizer/fixture.h"
#include <stdio.h>
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

/* n equal layers: relu(x w + b), neg(neg(.)), and a residual. */
static noe_graph *layers(int n)
{
    noe_buf b = {0};
    noe_buf_puts(&b, "%0 = input \"x\" : f32[4,4]\n");
    int x = 0, at = 0;
    for (int i = 0; i < n; i++) {
        noe_buf_printf(&b,
                       "%%%d = weight \"w%d\" : f32[4,4]\n"
                       "%%%d = weight \"b%d\" : f32[4]\n"
                       "%%%d = matmul(%%%d, %%%d) : f32[4,4]\n"
                       "%%%d = add(%%%d, %%%d) : f32[4,4]\n"
                       "%%%d = relu(%%%d) : f32[4,4]\n"
                       "%%%d = neg(%%%d) : f32[4,4]\n"
                       "%%%d = neg(%%%d) : f32[4,4]\n"
                       "%%%d = tanh(%%%d) : f32[4,4]\n"
                       "%%%d = add(%%%d, %%%d) : f32[4,4]\n",
                       at + 1, i, at + 2, i, at + 3, x, at + 1, at + 4, at + 3, at + 2,
                       at + 5, at + 4, at + 6, at + 5, at + 7, at + 6, at + 8, at + 7,
                       at + 9, at + 8, x);
        at += 9;
        x = at;
    }
    noe_buf_printf(&b, "return %%%d\n", x);
    noe_graph *g = fixture_graph(pool, b.text);
    noe_buf_clear(&b);
    return g;
}

static const char *const neg_neg[] = {"neg(neg(?a)) => ?a", NULL};

typedef struct scene {
    noe_graph *g;
    noe_rule_set rules;
    fake_costs fake;
    noe_costs costs;
    noe_search_options options;
    noe_search_result result;
} scene;

static void scene_run(scene *s, noe_graph *g, const char *const *rules)
{
    noe_env env = fixture_env();
    noe_error err;
    s->g = g;
    fixture_rules(&s->rules, rules);
    fake_costs_init(&s->fake, NULL, 1);
    noe_costs_init(&s->costs, &s->fake.model);
    s->options = (noe_search_options){.alpha = 1.05,
                                      .budget = 20,
                                      .max_growth = UINT64_MAX,
                                      .script = s->options.script};
    noe_assert_ok(
        noe_search_parts(&env, g, &s->rules, &s->costs, &s->options, &s->result, &err),
        err);
    noe_graph_check(s->result.graph);
    char *difference = fixture_difference(g, s->result.graph, 1e-5);
    ck_assert_msg(!difference, "%s", difference);
}

static void scene_clear(scene *s)
{
    noe_search_result_clear(&s->result);
    noe_costs_clear(&s->costs);
    noe_rule_set_clear(&s->rules);
    noe_graph_free(s->g);
}

static int count_op(const noe_graph *g, noe_op op)
{
    int n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == op;
    return n;
}

/* Where best-first search may take no step uphill it misses 1 ms of 1.52; the search of
 * all graphs finds it, sees that there are no more, and says how much was missed. */
START_TEST(test_partition_measures_the_gap)
{
    static const char *const rules[] = {"tanh(?a) => sigmoid(neg(?a))",
                                        "neg(neg(?a)) => ?a", NULL};
    static const fake_price prices[] = {
        {NOE_OP_TANH, 1}, {NOE_OP_SIGMOID, 0.52}, {NOE_OP_NEG, 0.52}, {NOE_OP_ADD, -1}};
    scene s = {0};
    noe_env env = fixture_env();
    noe_error err;
    s.g = fixture_graph(pool, "%0 = input \"x\" : f32[2]\n"
                              "%1 = neg(%0) : f32[2]\n"
                              "%2 = tanh(%1) : f32[2]\n"
                              "return %2 as \"y\"\n");
    fixture_rules(&s.rules, rules);
    fake_costs_init(&s.fake, prices, 1);
    noe_costs_init(&s.costs, &s.fake.model);
    s.options = (noe_search_options){
        .method = NOE_SEARCH_EXACT, .alpha = 1, .budget = 50, .max_growth = UINT64_MAX};
    noe_assert_ok(
        noe_search_parts(&env, s.g, &s.rules, &s.costs, &s.options, &s.result, &err),
        err);
    ck_assert_double_eq_tol(s.result.after.seconds, 0.52e-3, 1e-9);
    ck_assert_double_eq_tol(s.result.gap, 1e-3, 1e-9);
    ck_assert_int_eq(s.result.n_compared, 1);
    ck_assert_int_eq(s.result.n_complete, 1);
    ck_assert_int_eq(s.result.n_path, 2);
    scene_clear(&s);
}
END_TEST

/* Every run-time node is in one segment, in order; sizes are within limits. */
START_TEST(test_segments_cover_the_graph)
{
    noe_graph *g = layers(_i);
    noe_segments s;
    noe_seams seams = {0};
    for (int pass = 0; pass < 3; pass++) {
        noe_segments_find(&s, g, &seams);
        uint32_t n = s.first[s.n];
        ck_assert_uint_eq(n, (uint32_t)_i * 7);
        for (uint32_t k = 1; k < n; k++)
            ck_assert_uint_lt(s.nodes[k - 1], s.nodes[k]);
        for (uint32_t k = 0; k < s.n; k++)
            ck_assert_uint_le(s.first[k + 1] - s.first[k], NOE_SEGMENT_MAX);
        noe_segments_clear(&s);
    }
    free(seams.hashes);
    noe_graph_free(g);
}
END_TEST

/* The layers are cut in the same places: few kinds. The second cut avoids the first. */
START_TEST(test_segments_of_equal_layers_are_equal)
{
    noe_graph *g = layers(60);
    noe_segments s[2];
    noe_seams seams = {0};
    uint64_t kinds[64];
    int n_kinds = 0;
    noe_segments_find(&s[0], g, &seams);
    noe_segments_find(&s[1], g, &seams);
    for (uint32_t i = 0; i < s[0].n; i++) {
        noe_extract x;
        int k = 0;
        noe_segment_extract(&s[0], i, &x);
        noe_graph_check(x.graph);
        while (k < n_kinds && kinds[k] != x.key)
            k++;
        if (k == n_kinds)
            kinds[n_kinds++] = x.key;
        noe_extract_clear(&x);
    }
    ck_assert_int_ge((int)s[0].n, 6);
    ck_assert_msg(n_kinds <= 4, "%d kinds of %u segments", n_kinds, s[0].n);
    for (uint32_t i = 1; i < s[0].n; i++) {
        for (uint32_t k = 1; k < s[1].n; k++)
            ck_assert_uint_ne(s[0].nodes[s[0].first[i]], s[1].nodes[s[1].first[k]]);
    }
    noe_segments_clear(&s[0]);
    noe_segments_clear(&s[1]);
    free(seams.hashes);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_parts_are_searched_once_and_replaced_everywhere)
{
    scene s = {0};
    scene_run(&s, layers(60), neg_neg);
    ck_assert_int_eq(count_op(s.result.graph, NOE_OP_NEG), 0);
    ck_assert_int_eq(count_op(s.result.graph, NOE_OP_MATMUL), 60);
    ck_assert_int_eq(s.result.applied[0], 60);
    ck_assert_double_eq_tol(s.result.before.seconds - s.result.after.seconds, 0.12,
                            1e-9);
    /* Not sixty searches: a few kinds, in each pass. */
    ck_assert_msg(s.result.n_candidates < 60, "%lld rewrites tried",
                  (long long)s.result.n_candidates);
    scene_clear(&s);
}
END_TEST

/* What straddles a seam of the first pass is found by the second. */
START_TEST(test_parts_find_what_lies_across_a_seam)
{
    noe_buf b = {0};
    scene s = {0};
    noe_buf_puts(&b, "%0 = input \"x\" : f32[3]\n");
    for (int i = 1; i <= 400; i++)
        noe_buf_printf(&b, "%%%d = %s(%%%d) : f32[3]\n", i, i % 5 < 2 ? "neg" : "tanh",
                       i - 1);
    noe_buf_puts(&b, "return %400\n");
    scene_run(&s, fixture_graph(pool, b.text), neg_neg);
    ck_assert_int_eq(count_op(s.result.graph, NOE_OP_NEG), 2);
    noe_buf_clear(&b);
    scene_clear(&s);
}
END_TEST

/* ---- the log ---- */

static char *log_of(const scene *s)
{
    noe_buf b = {0};
    noe_script_print(&b, 17, &s->rules, s->result.parts, s->result.n_parts,
                     s->result.path);
    return b.text;
}

START_TEST(test_script_replays_to_the_same_graph_and_log)
{
    scene s = {0}, again = {0};
    noe_script script;
    noe_error err;
    scene_run(&s, layers(_i), neg_neg);
    char *log = log_of(&s);
    noe_assert_ok(noe_script_parse(log, 17, &s.rules, &script, &err), err);
    again.options.script = &script;
    scene_run(&again, layers(_i), neg_neg);
    char *log_again = log_of(&again);
    char *a = fixture_print(s.result.graph), *b = fixture_print(again.result.graph);
    ck_assert_str_eq(a, b);
    ck_assert_str_eq(log, log_again);
    ck_assert_int_gt(again.result.n_path, 0);
    ck_assert_int_eq((int)again.result.n_candidates, 0); /* nothing was searched */
    free(a);
    free(b);
    free(log);
    free(log_again);
    noe_script_clear(&script);
    scene_clear(&s);
    scene_clear(&again);
}
END_TEST

START_TEST(test_script_does_only_so_many_steps)
{
    scene s = {0}, again = {0};
    noe_script script;
    noe_error err;
    scene_run(&s, layers(2), neg_neg);
    char *log = log_of(&s);
    noe_assert_ok(noe_script_parse(log, 17, &s.rules, &script, &err), err);
    ck_assert_int_eq(script.n_steps, 2);
    script.limit = 1;
    again.options.script = &script;
    scene_run(&again, layers(2), neg_neg);
    ck_assert_int_eq(count_op(again.result.graph, NOE_OP_NEG), 2);
    ck_assert_int_eq(again.result.n_path, 1);
    free(log);
    noe_script_clear(&script);
    scene_clear(&s);
    scene_clear(&again);
}
END_TEST

static const struct {
    const char *text, *message;
} bad_logs[] = {
    {"noether-log 2\n", "does not begin a log"},
    {"noether-log 1\ninput 12\n", "log of another model"},
    {"noether-log 1\ninput 11\nstep 0 > 1 0 0 1\n", "line 3"},
    {"noether-log 1\ninput 11\npart 0 0 1 1 1\nstep abc > 1 0 0 1\n", "rule abc"},
    {"noether-log 1\ninput 11\nparts\n", "neither part nor step"},
};

START_TEST(test_script_refuses_other_logs)
{
    noe_rule_set rules;
    noe_script script;
    noe_error err;
    fixture_rules(&rules, neg_neg);
    noe_assert_fails(noe_script_parse(bad_logs[_i].text, 0x11, &rules, &script, &err) ==
                             NOE_OK
                         ? NOE_OK
                         : NOE_ERR_ARG,
                     NOE_ERR_ARG, err, bad_logs[_i].message);
    noe_rule_set_clear(&rules);
}
END_TEST

/* A step that does not match is an error, not a wrong model. */
START_TEST(test_script_checks_every_step)
{
    static const char log[] = "noether-log 1\ninput 11\npart 0 0 1 1 1\n"
                              "step 00000000000000000000000000000000 > 4 0 0 1 x\n";
    noe_rule_set rules;
    noe_script script;
    noe_error err;
    noe_graph *g = layers(1), *out;
    int n;
    fixture_rules(&rules, neg_neg);
    noe_assert_ok(noe_script_parse(log, 0x11, &rules, &script, &err), err);
    noe_assert_fails(noe_script_apply(&script, noe_script_find(&script, 0, 0), &rules,
                                      g, &out, &n, &err),
                     NOE_ERR_ARG, err, "does not match at node 4");
    ck_assert_ptr_null(out);
    noe_script_clear(&script);
    noe_rule_set_clear(&rules);
    noe_graph_free(g);
}
END_TEST

/* ---- recorded costs ---- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static const char relu_text[] = "%0 = input \"x0\" : f32[1,8]\n"
                                "%1 = relu(%0) : f32[1,8]\nreturn %1\n";

START_TEST(test_table_gives_what_was_recorded)
{
    char dir[200], path[300];
    noe_table_costs t;
    noe_costs costs;
    noe_cost cost;
    noe_error err;
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/costs", dir);
    write_file(path, "# one kernel\n1.25e-05\n%0 = input \"x0\" : f32[1,8]\n"
                     "%1 = relu(%0) : f32[1,8]\nreturn %1\n\n");
    noe_assert_ok(noe_table_costs_load(&t, path, &err), err);
    noe_costs_init(&costs, &t.model);
    noe_graph *relu = fixture_graph(pool, relu_text);
    noe_graph *other = fixture_graph(pool, "%0 = input \"x\" : f32[2]\n"
                                           "%1 = tanh(%0) : f32[2]\nreturn %1\n");
    noe_assert_ok(noe_costs_accept(&costs, relu, &err), err);
    noe_assert_ok(noe_costs_graph(&costs, relu, 1, &cost, &err), err);
    ck_assert_double_eq_tol(cost.seconds, 1.25e-5, 1e-12);
    noe_assert_fails(noe_costs_accept(&costs, other, &err), NOE_ERR_ARG, err, "tanh");
    noe_graph_free(relu);
    noe_graph_free(other);
    noe_costs_clear(&costs);
    noe_table_costs_clear(&t);
    noe_tmp_remove(dir);
}
END_TEST

static const struct {
    const char *text, *message;
} bad_tables[] = {
    {"fast\n%0 = input \"x0\" : f32[1]\nreturn %0\n\n", "line 1: 'fast'"},
    {"-1\n%0 = input \"x0\" : f32[1]\nreturn %0\n\n", "'-1'"},
    {"1\n%0 = nonsense(%1)\n\n", "the kernel that ends at line 3"},
};

START_TEST(test_table_refuses_nonsense)
{
    char dir[200], path[300];
    noe_table_costs t;
    noe_error err;
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/costs", dir);
    write_file(path, bad_tables[_i].text);
    noe_assert_fails(noe_table_costs_load(&t, path, &err), NOE_ERR_PARSE, err,
                     bad_tables[_i].message);
    noe_table_costs_clear(&t);
    noe_tmp_remove(dir);
}
END_TEST

/* ---- pairs ---- */

START_TEST(test_referee_keeps_its_verdicts)
{
    char dir[200], path[300];
    noe_env env = fixture_env();
    noe_error err;
    noe_backend *backend;
    noe_pair_measure first, second;
    bool known;
    noe_referee r = {.env = &env};
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/costs.db", dir);
    noe_graph *a = layers(2), *b = layers(1);
    noe_assert_ok(noe_referee_compare(&r, a, b, 1e-5, &known, &first, &err), err);
    ck_assert(!known); /* nobody measures */
    noe_assert_ok(noe_backend_open("reference", &env, &backend, &err), err);
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &r.db, &err), err);
    r.backend = backend;
    r.frozen = true;
    noe_assert_ok(noe_referee_compare(&r, a, b, 1e-5, &known, &first, &err), err);
    ck_assert(!known); /* nothing is recorded */
    r.frozen = false;
    noe_assert_ok(noe_referee_compare(&r, a, b, 1e-5, &known, &first, &err), err);
    ck_assert(known && r.n_timed == 1 && first.ratio > 1);
    noe_assert_ok(noe_referee_compare(&r, a, b, 1e-5, &known, &second, &err), err);
    ck_assert(known && r.n_timed == 1 && r.n_found == 1);
    ck_assert(first.ratio == second.ratio && first.ratio_lo == second.ratio_lo &&
              first.ratio_hi == second.ratio_hi &&
              first.seconds_a == second.seconds_a &&
              first.seconds_b == second.seconds_b && first.n_rounds == second.n_rounds);
    noe_ruledb_close(r.db);
    backend->vt->close(backend);
    noe_graph_free(a);
    noe_graph_free(b);
    noe_tmp_remove(dir);
}
END_TEST

Suite *suite_partition(void)
{
    Suite *s = suite_create("optimizer.partition");
    TCase *tc = tcase_create("partition");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_segments_cover_the_graph, 1, 40);
    tcase_add_test(tc, test_partition_measures_the_gap);
    tcase_add_test(tc, test_segments_of_equal_layers_are_equal);
    tcase_add_test(tc, test_parts_are_searched_once_and_replaced_everywhere);
    tcase_add_test(tc, test_parts_find_what_lies_across_a_seam);
    tcase_add_loop_test(tc, test_script_replays_to_the_same_graph_and_log, 1, 30);
    tcase_add_test(tc, test_script_does_only_so_many_steps);
    tcase_add_loop_test(tc, test_script_refuses_other_logs, 0,
                        sizeof bad_logs / sizeof *bad_logs);
    tcase_add_test(tc, test_script_checks_every_step);
    tcase_add_test(tc, test_table_gives_what_was_recorded);
    tcase_add_loop_test(tc, test_table_refuses_nonsense, 0,
                        sizeof bad_tables / sizeof *bad_tables);
    tcase_add_test(tc, test_referee_keeps_its_verdicts);
    suite_add_tcase(s, tc);
    return s;
}
