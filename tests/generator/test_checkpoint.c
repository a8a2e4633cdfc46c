/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that are killed and gone on with, and files that are not what they should be. */
#include "tests/generator/fixture.h"

#include "core/base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHAT "--ops add,relu,concat,slice --level 2"

static noe_status add_candidate(void *ctx, const noe_candidate *c, noe_error *err)
{
    (void)err;
    noe_buf_printf(ctx, "%lld %d %d %s %s %s\n", (long long)c->group, c->generality,
                   c->level, c->rule_id, c->text, c->source);
    return NOE_OK;
}

/* All that a database has to say, malloc'ed. */
static char *dump(const char *path)
{
    noe_ruledb *db;
    noe_error err = {0};
    noe_buf b = {0};
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_READ, &db, &err), err);
    noe_assert_ok(noe_ruledb_each_open_candidate(db, noe_op_table_hash(), 0,
                                                 add_candidate, &b, &err),
                  err);
    noe_ruledb_close(db);
    ck_assert_uint_gt(b.len, 1000);
    return b.text;
}

/* Exit status of a run that gets so many seconds, 137 if it needed more. */
static int generate(const char *dir, const char *name, double seconds, char **out)
{
    char command[1500];
    snprintf(command, sizeof command,
             "timeout -s KILL %.3f %s/noether-generate %s --db %s/%s.db %s%s", seconds,
             NOE_BIN_DIR, WHAT, dir, name, strcmp(name, "whole") ? "--checkpoint " : "",
             strcmp(name, "whole") ? dir : "");
    return noe_run_command(command, out);
}

/* Killed later and later, until a run comes to its end. */
START_TEST(test_checkpoint_killed_runs_end_with_the_same_database)
{
    char dir[300], path[400], *out, *whole, *resumed;
    int n_killed = 0, n_resumed = 0, status = 137;
    noe_tmp_make(dir, sizeof dir);
    ck_assert_int_eq(generate(dir, "whole", 500, &out), 0);
    free(out);
    for (double seconds = 0.01; status == 137; seconds *= 1.4) {
        status = generate(dir, "killed", seconds, &out);
        n_killed += status == 137;
        n_resumed += noe_contains(out, "taken over");
        free(out);
    }
    ck_assert_int_eq(status, 0);
    ck_assert_int_ge(n_killed, 3);
    ck_assert_int_ge(n_resumed, 1);
    snprintf(path, sizeof path, "%s/whole.db", dir);
    whole = dump(path);
    snprintf(path, sizeof path, "%s/killed.db", dir);
    resumed = dump(path);
    ck_assert_str_eq(whole, resumed);
    free(whole);
    free(resumed);
    /* A run that is done takes its files along. */
    snprintf(path, sizeof path, "ls %s/*.universe*", dir);
    ck_assert_int_ne(noe_run_command(path, &out), 0);
    free(out);
    noe_tmp_remove(dir);
}
END_TEST

typedef struct talk {
    char text[2000];
} talk;

static void listen(void *self, noe_log_level level, const char *text)
{
    talk *t = self;
    (void)level;
    strncat(t->text, text, sizeof t->text - strlen(t->text) - 1);
}

static noe_universe *build_beside(const noe_space *space, const char *dir,
                                  uint64_t seed, talk *t, noe_status *status,
                                  noe_error *err)
{
    static noe_env env;
    noe_universe_options options = {.n_levels = 3, .n_samples = 4, .checkpoints = dir};
    noe_universe *u = NULL;
    *t = (talk){{0}};
    env = quiet_env(seed);
    env.log = listen;
    env.self = t;
    *status = noe_universe_build(space, &options, &env, &u, err);
    return u;
}

static void assert_same(const noe_universe *u, const noe_universe *v)
{
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_uint_eq(u->n_classes, v->n_classes);
    ck_assert_uint_eq(u->n_siblings, v->n_siblings);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    ck_assert_mem_eq(u->stats, v->stats, sizeof u->stats);
}

/* One byte changed, or the end missing: {place in percent, is cut}. */
static const struct {
    int percent;
    bool is_cut;
} damages[] = {{0, false},   {1, false}, {50, false},
               {100, false}, {0, true},  {60, true}};

START_TEST(test_checkpoint_damaged_file_is_not_used)
{
    char dir[300], path[400], *data;
    size_t len;
    noe_space space = tiny_space("add mul concat slice");
    noe_status status;
    noe_error err = {0};
    talk t;
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/tiny.universe", dir);
    noe_universe *u = build_beside(&space, dir, 1, &t, &status, &err);
    noe_assert_ok(status, err);
    ck_assert_str_eq(t.text, "");
    noe_universe *v = build_beside(&space, dir, 1, &t, &status, &err);
    noe_assert_ok(status, err);
    ck_assert_msg(noe_contains(t.text, "3 levels taken over"), "%s", t.text);
    assert_same(u, v);
    noe_universe_free(v);
    noe_assert_ok(noe_file_read(path, 1 << 30, &data, &len, &err), err);
    size_t at = (len - 1) * (size_t)damages[_i].percent / 100;
    data[at] = (char)(data[at] ^ 4);
    noe_assert_ok(noe_file_write(path, data, damages[_i].is_cut ? at : len, &err), err);
    v = build_beside(&space, dir, 1, &t, &status, &err);
    noe_assert_ok(status, err);
    ck_assert_msg(noe_contains(t.text, "damaged"), "%s", t.text);
    ck_assert_uint_eq(u->n_enodes, v->n_enodes);
    ck_assert_mem_eq(u->enodes, v->enodes, u->n_enodes * sizeof *u->enodes);
    free(data);
    noe_universe_free(u);
    noe_universe_free(v);
    noe_tmp_remove(dir);
}
END_TEST

START_TEST(test_checkpoint_of_another_run_is_refused)
{
    char dir[300];
    noe_space space = tiny_space("add mul"), other = tiny_space("add mul relu");
    noe_status status;
    noe_error err = {0};
    talk t;
    noe_tmp_make(dir, sizeof dir);
    noe_universe_free(build_beside(&space, dir, 1, &t, &status, &err));
    noe_assert_ok(status, err);
    ck_assert_ptr_null(build_beside(&space, dir, 2, &t, &status, &err));
    noe_assert_fails(status, NOE_ERR_ARG, err, "another seed");
    ck_assert_ptr_null(build_beside(&other, dir, 1, &t, &status, &err));
    noe_assert_fails(status, NOE_ERR_ARG, err, "another space");
    noe_checkpoint_remove("tiny", dir);
    noe_universe_free(build_beside(&other, dir, 1, &t, &status, &err));
    noe_assert_ok(status, err);
    noe_tmp_remove(dir);
}
END_TEST

Suite *suite_checkpoint(void);
Suite *suite_checkpoint(void)
{
    Suite *s = suite_create("checkpoint");
    TCase *tc = tcase_create("checkpoint");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_checkpoint_killed_runs_end_with_the_same_database);
    tcase_add_loop_test(tc, test_checkpoint_damaged_file_is_not_used, 0,
                        (int)(sizeof damages / sizeof *damages));
    tcase_add_test(tc, test_checkpoint_of_another_run_is_refused);
    suite_add_tcase(s, tc);
    return s;
}
