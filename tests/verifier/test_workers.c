/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker processes: the same verdicts for any number of them and any order of
 * candidates, and nothing lost where they are killed.
 */
#include "tests/verifier/fixture.h"
#include "core/base/options.h"
#include "verifier/workers.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static noe_error err;
static char folder[500], path[600], marker[600];
static noe_verifier *v;

static const char *const texts[] = {
    "add(?a, neg(?b)) => sub(?a, ?b)",
    "sub(?a, ?b) => sub(?b, ?a)", /* false */
    "mul(?a, reciprocal(?b)) => div(?a, ?b)",
    "relu(relu(?a)) => relu(?a)",
    "matmul(?a, add(?b, ?c)) => add(matmul(?a, ?b), matmul(?a, ?c)) where rank(?b) == "
    "2 "
    "&& shape(?b) == shape(?c)",
    "transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a",
    "sigmoid(?a) => softmax[axis=0](?a) where rank(?a) == 9", /* no instance */
    "reduce_sum[axes=$a, keepdims=1](add(?a, ?b)) => add(reduce_sum[axes=$a, "
    "keepdims=1](?a), reduce_sum[axes=$a, keepdims=1](?b)) where shape(?a) == "
    "shape(?b)",
};
#define N_TEXTS ((int)(sizeof texts / sizeof *texts))

static void setup(void)
{
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/rules.db", folder);
    snprintf(marker, sizeof marker, "%s/marker", folder);
    v = fixture_verifier(0);
}

static void teardown(void)
{
    noe_verifier_free(v);
    noe_tmp_remove(folder);
}

/* What must not depend on who judged. */
static void print(const noe_check *c, noe_buf *b)
{
    noe_buf_printf(b, "%d %d %s; %s; %s; %s; %d; %s; %s", c->kind, c->tier, c->stage,
                   noe_buf_text(&c->reason), noe_buf_text(&c->field.counterexample),
                   noe_buf_text(&c->field.shapes_checked), c->field.n_instances,
                   noe_buf_text(&c->proof.certificate), noe_buf_text(&c->lia.ranks));
}

static void judge(void *ctx, const char *text, noe_check *check)
{
    noe_verifier_check(ctx, fixture_rule(text), check);
}

/* Dies as long as the marker is there, and takes it along: once. */
static void judge_or_die_once(void *ctx, const char *text, noe_check *check)
{
    if (unlink(marker) == 0)
        raise(SIGKILL);
    judge(ctx, text, check);
}

static void judge_or_die_at_false(void *ctx, const char *text, noe_check *check)
{
    if (strcmp(text, texts[1]) == 0)
        raise(SIGKILL);
    judge(ctx, text, check);
}

static void make_marker(void)
{
    FILE *f = fopen(marker, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
}

static void expect_same(noe_workers *w, int i)
{
    noe_check mine, theirs;
    noe_buf a = {0}, b = {0};
    noe_verifier_check(v, fixture_rule(texts[i]), &mine);
    ck_assert_msg(noe_workers_take(w, texts[i], &theirs, &err), "%s", err.text);
    print(&mine, &a);
    print(&theirs, &b);
    ck_assert_str_eq(noe_buf_text(&a), noe_buf_text(&b));
    ck_assert_int_eq(mine.numeric.class, theirs.numeric.class);
    noe_buf_clear(&a);
    noe_buf_clear(&b);
    noe_check_clear(&mine);
    noe_check_clear(&theirs);
}

START_TEST(test_workers_answer_as_this_process)
{
    noe_workers *w;
    noe_assert_ok(noe_workers_new(2, judge, v, &w, &err), err);
    for (int i = 0; i < N_TEXTS; i += 2)
        noe_workers_announce(w, texts[i]);
    for (int i = N_TEXTS; i-- > 0;)
        expect_same(w, i);
    noe_workers_free(w);
}
END_TEST

START_TEST(test_workers_killed_lose_nothing)
{
    noe_workers *w;
    make_marker();
    noe_assert_ok(noe_workers_new(2, judge_or_die_once, v, &w, &err), err);
    for (int i = 0; i < 4; i++)
        noe_workers_announce(w, texts[i]);
    for (int i = 0; i < 4; i++)
        expect_same(w, i);
    ck_assert_int_ne(access(marker, F_OK), 0); /* one did die */
    noe_workers_free(w);
}
END_TEST

START_TEST(test_workers_give_up_what_kills_them_twice)
{
    noe_workers *w;
    noe_check check;
    noe_assert_ok(noe_workers_new(2, judge_or_die_at_false, v, &w, &err), err);
    for (int i = 0; i < 4; i++)
        noe_workers_announce(w, texts[i]);
    expect_same(w, 0);
    ck_assert(!noe_workers_take(w, texts[1], &check, &err));
    ck_assert_msg(noe_contains(err.text, "2 times: Killed"), "%s", err.text);
    expect_same(w, 2);
    expect_same(w, 3);
    noe_workers_free(w);
}
END_TEST

/* Databases */

static void add(noe_ruledb *db, int64_t run_id, const char *text, int64_t group)
{
    char id[NOE_HASH_HEX_LEN + 1];
    bool is_new;
    noe_buf canonical = {0};
    const noe_rule *rule = fixture_rule(text);
    noe_rule_print(&canonical, rule);
    noe_hash_hex(noe_rule_id(rule), id);
    noe_candidate c = {.text = noe_buf_text(&canonical),
                       .rule_id = id,
                       .source = "",
                       .group = group,
                       .level = 2,
                       .shapes = "",
                       .field = ""};
    noe_assert_ok(noe_ruledb_add_candidate(db, run_id, &c, &is_new, &err), err);
    noe_buf_clear(&canonical);
}

/* All candidates, in an order of their own: step has no factor in common with their
 * number. */
static noe_ruledb *make_database(int step)
{
    noe_ruledb *db;
    int64_t run_id;
    (void)unlink(path);
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &db, &err), err);
    noe_run run = {.stage = "generate",
                   .config = "test",
                   .version = noe_version,
                   .seed = 1,
                   .op_table_hash = noe_op_table_hash(),
                   .solver = ""};
    noe_assert_ok(noe_ruledb_add_run(db, &run, &run_id, &err), err);
    noe_assert_ok(noe_ruledb_begin(db, &err), err);
    for (int i = 0; i < N_TEXTS; i++)
        add(db, run_id, texts[i * step % N_TEXTS], i + 1);
    noe_assert_ok(noe_ruledb_commit(db, &err), err);
    return db;
}

static noe_verify_totals run(noe_ruledb *db, int n_workers)
{
    noe_env env = {.seed = 1, .n_threads = 1};
    noe_verify_totals totals;
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *other;
    config.n_workers = n_workers;
    noe_assert_ok(noe_verifier_new(&config, NULL, &other, &err), err);
    noe_assert_ok(noe_verifier_run(other, db, &env, &totals, &err), err);
    noe_verifier_free(other);
    return totals;
}

/* Verdicts by the texts of their rules. */
static char *verdicts(void)
{
    noe_buf command = {0};
    char *output;
    noe_buf_printf(&command,
                   "sqlite3 %s \"SELECT text, verdict.kind, tier, stage, reason, "
                   "counterexample, shapes_checked, n_instances, axioms, certificate, "
                   "ranks, laws, questions FROM verdict JOIN candidate ON id = "
                   "candidate_id ORDER BY text; SELECT text, class FROM rule ORDER BY "
                   "text\"",
                   path);
    ck_assert_int_eq(noe_run_command(noe_buf_text(&command), &output), 0);
    noe_buf_clear(&command);
    return output;
}

/* Takes now; the first one stays in *first. */
static void expect_as_first(char **first, char *now)
{
    if (!*first) {
        *first = now;
        return;
    }
    ck_assert_str_eq(*first, now);
    free(now);
}

/* What a condition is found for becomes a candidate while others are judged. */
static char *narrowed(void)
{
    noe_buf command = {0};
    char *output;
    noe_buf_printf(
        &command,
        "sqlite3 %s \"SELECT c.text, c.narrows, c.lift_group, v.precondition "
        "FROM candidate AS c JOIN verdict AS v ON v.candidate_id = c.id WHERE "
        "c.narrows <> '' OR v.precondition <> '' ORDER BY c.text; SELECT text, "
        "condition, integers, directions FROM rule ORDER BY text\"",
        path);
    ck_assert_int_eq(noe_run_command(noe_buf_text(&command), &output), 0);
    noe_buf_clear(&command);
    return output;
}

START_TEST(test_workers_find_the_same_conditions)
{
    static const char needs_condition[] = "conv[group=$g](?x, concat[axis=0](?w, ?v)) "
                                          "=> concat[axis=1](conv[group=$g](?x, "
                                          "?w), conv[group=$g](?x, ?v))";
    char *first = NULL;
    for (int n_workers = 0; n_workers <= 2; n_workers += 2) {
        noe_ruledb *db = make_database(1);
        add(db, 1, needs_condition, N_TEXTS + 1);
        noe_verify_totals totals = run(db, n_workers);
        noe_ruledb_close(db);
        ck_assert_int_eq(totals.narrowed, 1);
        char *now = narrowed();
        ck_assert_msg(noe_contains(now, "$a == 1"), "%s", now);
        ck_assert_msg(noe_contains(now, "|wrap|both"), "%s", now);
        ck_assert_msg(noe_contains(now, "|none|"), "%s", now);
        expect_as_first(&first, now);
    }
    free(first);
}
END_TEST

START_TEST(test_workers_any_number_in_any_order)
{
    static const int orders[][2] = {{1, 0}, {3, 1}, {5, 2}, {7, 3}};
    char *first = NULL;
    for (int i = 0; i < 4; i++) {
        noe_ruledb *db = make_database(orders[i][0]);
        noe_verify_totals totals = run(db, orders[i][1]);
        noe_ruledb_close(db);
        ck_assert_int_eq(totals.candidates, N_TEXTS);
        ck_assert_int_eq(totals.refuted, 1);
        ck_assert_int_eq(totals.unknown, 1);
        char *now = verdicts();
        expect_as_first(&first, now);
    }
    free(first);
}
END_TEST

/* Kills the other children of its parent, again and again. */
static pid_t start_killer(void)
{
    pid_t parent = getpid(), killer = fork();
    if (killer != 0)
        return killer;
    char list[64];
    snprintf(list, sizeof list, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    for (;;) {
        int pid;
        FILE *f = fopen(list, "r");
        while (f && fscanf(f, "%d", &pid) == 1) {
            if (pid != getpid())
                kill(pid, SIGKILL);
        }
        if (f)
            fclose(f);
        usleep(500);
    }
}

START_TEST(test_workers_killed_all_the_time_leave_candidates_open)
{
    noe_ruledb *db = make_database(1);
    pid_t killer = start_killer();
    noe_verify_totals totals = run(db, 2);
    kill(killer, SIGKILL);
    waitpid(killer, NULL, 0);
    ck_assert_int_gt(totals.left, 0);
    ck_assert_int_eq(totals.proved + totals.refuted + totals.unknown + totals.left,
                     N_TEXTS);
    totals = run(db, 0);
    noe_ruledb_close(db);
    char *after = verdicts();
    db = make_database(1);
    run(db, 0);
    noe_ruledb_close(db);
    char *straight = verdicts();
    ck_assert_str_eq(after, straight);
    free(after);
    free(straight);
}
END_TEST

/* Text that is no rule by its size is no trouble: unknown, and why. */
START_TEST(test_workers_huge_rule)
{
    noe_ruledb *db = make_database(1);
    noe_buf text = {0};
    bool is_new;
    for (int i = 0; i < 10000; i++)
        noe_buf_puts(&text, "relu(");
    noe_buf_puts(&text, "?a");
    for (int i = 0; i < 10000; i++)
        noe_buf_puts(&text, ")");
    noe_buf_puts(&text, " => relu(?a)");
    noe_candidate c = {.text = noe_buf_text(&text),
                       .rule_id = "0123456789abcdef0123456789abcdef",
                       .source = "",
                       .group = 99,
                       .level = 2,
                       .shapes = "",
                       .field = ""};
    noe_assert_ok(noe_ruledb_begin(db, &err), err);
    noe_assert_ok(noe_ruledb_add_candidate(db, 1, &c, &is_new, &err), err);
    noe_assert_ok(noe_ruledb_commit(db, &err), err);
    noe_verify_totals totals = run(db, 1);
    noe_ruledb_close(db);
    ck_assert_int_eq(totals.unknown, 2);
    char *all = verdicts();
    ck_assert_msg(noe_contains(all, "nodes") || noe_contains(all, "deep"), "%s",
                  all + strlen(all) / 2);
    free(all);
    noe_buf_clear(&text);
}
END_TEST

Suite *suite_workers(void)
{
    Suite *s = suite_create("workers");
    TCase *tc = tcase_create("workers");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_workers_answer_as_this_process);
    tcase_add_test(tc, test_workers_killed_lose_nothing);
    tcase_add_test(tc, test_workers_give_up_what_kills_them_twice);
    tcase_add_test(tc, test_workers_any_number_in_any_order);
    tcase_add_test(tc, test_workers_find_the_same_conditions);
    tcase_add_test(tc, test_workers_killed_all_the_time_leave_candidates_open);
    tcase_add_test(tc, test_workers_huge_rule);
    suite_add_tcase(s, tc);
    return s;
}
