/* SPDX-License-Identifier: Apache-2.0
 *
 * The measuring protocol: plausible numbers and the rules of the protocol, nothing
 * about speed. Its arithmetic is tested on a scripted executor that burns a known
 * amount of CPU time.
 */
#include "tests/support/support.h"
#include "runtime/measure.h"
#include <math.h>
#include <stdlib.h>

static noe_backend *onednn;
static noe_pool *pool;

static void set_up(void)
{
    noe_error err;
    noe_assert_ok(noe_backend_open("onednn", NULL, &onednn, &err), err);
    pool = noe_pool_new();
}

static void tear_down(void)
{
    onednn->vt->close(onednn);
    noe_pool_free(pool);
}

static noe_executor *matmul(noe_backend *b, int n, int n_threads, bool cold)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_executor *e = NULL;
    noe_buf text = {0};
    noe_buf_printf(&text,
                   "%%0 = input \"x\" : f32[%d,%d]\n%%1 = weight \"w\" : f32[%d,%d]\n"
                   "%%2 = matmul(%%0, %%1) : f32[%d,%d]\nreturn %%2\n",
                   n, n, n, n, n, n);
    noe_assert_ok(noe_graph_parse(pool, text.text, &g, &err), err);
    noe_executor_options options = {
        .free_layout = true, .n_threads = n_threads, .cold_weights = cold};
    noe_assert_ok(b->vt->prepare(b, g, &options, &e, &err), err);
    noe_buf_clear(&text);
    noe_graph_free(g);
    return e;
}

START_TEST(test_measure_is_plausible)
{
    noe_error err;
    noe_measure m;
    int n_threads = _i + 1;
    noe_executor *e = matmul(onednn, 48, n_threads, false);
    noe_assert_ok(onednn->vt->time(e, &m, &err), err);
    ck_assert(isfinite(m.seconds) && m.seconds > 0 && m.seconds < 1);
    ck_assert(m.second_best >= m.seconds && isfinite(m.second_best));
    ck_assert_str_eq(m.clock, n_threads == 1 ? "thread-cpu" : "wall");
    if (n_threads == 1)
        ck_assert(m.n_batches >= 5 && m.n_batches <= 25 && m.n_batches % 5 == 0);
    else
        ck_assert_int_ge(m.n_batches, 50);
    onednn->vt->release(e);
}
END_TEST

START_TEST(test_measure_cold_weights)
{
    noe_error err;
    noe_measure m;
    noe_executor *e = matmul(onednn, 256, 1, true);
    noe_assert_ok(onednn->vt->time(e, &m, &err), err);
    ck_assert(m.seconds > 0);
    onednn->vt->release(e);
}
END_TEST

/* An executor whose run multiplies numbers `work` times. */
typedef struct burner {
    noe_executor base;
    int work;
    int n_runs;
    int fail_at;
} burner;

static noe_status burn(noe_executor *e, int n, noe_error *err)
{
    burner *b = (burner *)e;
    volatile double x = 1;
    for (int i = 0; i < n; i++) {
        if (++b->n_runs == b->fail_at)
            return noe_fail(err, NOE_ERR_BACKEND, "run %d failed", b->n_runs);
        for (int k = 0; k < b->work; k++)
            x = x * 1.0000001;
    }
    return NOE_OK;
}

static const noe_backend_vtable burner_vtable = {
    .name = "burner", .repeat = burn, .time = noe_measure_executor};

static burner make_burner(noe_backend *b, int work)
{
    b->vt = &burner_vtable;
    return (burner){.base = {.backend = b, .n_threads = 1, .n_calls = 1}, .work = work};
}

START_TEST(test_measure_pair_finds_the_ratio)
{
    noe_error err;
    noe_pair_measure m;
    noe_backend backend = {0};
    burner a = make_burner(&backend, 60000), b = make_burner(&backend, 20000);
    noe_assert_ok(noe_time_pair(&a.base, &b.base, 0, &m, &err), err);
    ck_assert_int_ge(m.n_rounds, 6);
    ck_assert_int_le(m.n_rounds, 100);
    ck_assert(m.ratio_lo <= m.ratio && m.ratio <= m.ratio_hi);
    ck_assert_msg(m.ratio > 2 && m.ratio < 4.5, "ratio %g, want about 3", m.ratio);
    ck_assert(m.seconds_a > m.seconds_b && m.seconds_b > 0);
    ck_assert_str_eq(m.clock, "thread-cpu");
}
END_TEST

START_TEST(test_measure_pair_bounds_rounds)
{
    noe_error err;
    noe_pair_measure m;
    noe_backend backend = {0};
    burner a = make_burner(&backend, 100), b = make_burner(&backend, 100);
    noe_assert_ok(noe_time_pair(&a.base, &b.base, 1, &m, &err), err);
    ck_assert_int_eq(m.n_rounds, 6);
    b.base.n_threads = 2;
    noe_assert_fails(noe_time_pair(&a.base, &b.base, 6, &m, &err), NOE_ERR_ARG, err,
                     "1 and 2 threads");
    b.base.n_threads = 1;
    b.base.n_calls = 0;
    noe_assert_fails(noe_time_pair(&a.base, &b.base, 6, &m, &err), NOE_ERR_ARG, err,
                     "without work");
}
END_TEST

/* A failing run ends measuring with its message, wherever it is. */
START_TEST(test_measure_passes_errors_on)
{
    noe_error err;
    noe_measure m;
    noe_pair_measure pair;
    noe_backend backend = {0};
    for (int at = 1; at < 20; at++) {
        burner a = make_burner(&backend, 500000), b = make_burner(&backend, 500000);
        a.fail_at = at < 8 ? at : 0;
        if (a.fail_at)
            noe_assert_fails(noe_measure_executor(&a.base, &m, &err), NOE_ERR_BACKEND,
                             err, "failed");
        noe_measure_close(&backend);
        b.fail_at = at < 14 ? at : 14;
        a.fail_at = 0;
        noe_assert_fails(noe_time_pair(&a.base, &b.base, 0, &pair, &err),
                         NOE_ERR_BACKEND, err, "failed");
    }
}
END_TEST

/* A backend whose calibration kernel is slow for a while after it was fast. */
static int calibrations, slow_from, slow_until;
static noe_executor *measured;

static noe_status burn_by_plan(noe_executor *e, int n, noe_error *err)
{
    burner *b = (burner *)e;
    if (e == measured)
        return burn(e, n, err);
    calibrations++;
    b->work = calibrations >= slow_from && calibrations < slow_until ? 40000 : 4000;
    return burn(e, n, err);
}

static noe_status prepare_calibration(noe_backend *b, const noe_graph *g,
                                      const noe_executor_options *options,
                                      noe_executor **out, noe_error *err)
{
    (void)g, (void)options, (void)err;
    burner *e = noe_calloc(1, sizeof *e);
    e->base = (noe_executor){.backend = b, .n_threads = 1, .n_calls = 1};
    *out = &e->base;
    return NOE_OK;
}

static void release_calibration(noe_executor *e)
{
    free(e);
}

static const noe_backend_vtable calibrated_vtable = {
    .name = "calibrated",
    .prepare = prepare_calibration,
    .repeat = burn_by_plan,
    .release = release_calibration,
};

START_TEST(test_measure_waits_for_quiet)
{
    noe_error err;
    noe_measure m;
    noe_backend backend = {0};
    burner a = make_burner(&backend, 4000);
    backend.vt = &calibrated_vtable;
    calibrations = 0;
    slow_from = 5; /* after the warm-up and one calibration, each of three batches */
    slow_until = 40;
    measured = &a.base;
    noe_assert_ok(noe_measure_executor(&a.base, &m, &err), err);
    ck_assert_int_ge(calibrations, slow_until);
    ck_assert_msg(m.disturbance >= 1, "%g", m.disturbance);
    noe_measure_close(&backend);
    ck_assert_ptr_null(backend.calibration);
}
END_TEST

START_TEST(test_measure_can_be_cancelled)
{
    noe_error err;
    noe_measure m;
    noe_pair_measure pair;
    volatile sig_atomic_t cancel = 1;
    noe_env env = {.cancel = &cancel};
    noe_backend backend = {.env = &env};
    burner a = make_burner(&backend, 100), b = make_burner(&backend, 100);
    noe_assert_fails(noe_measure_executor(&a.base, &m, &err), NOE_ERR_CANCELLED, err,
                     "interrupted");
    noe_assert_fails(noe_time_pair(&a.base, &b.base, 0, &pair, &err), NOE_ERR_CANCELLED,
                     err, "interrupted");
    noe_measure_close(&backend);
}
END_TEST

START_TEST(test_measure_machine_facts)
{
    char cpu[64] = "";
    noe_cpu_model(cpu, sizeof cpu);
    ck_assert(cpu[0] != '\0' && !noe_contains(cpu, "\n"));
    ck_assert_uint_gt(noe_last_level_cache_bytes(), 100000);
    float x[64], y[64];
    noe_fill_random(x, 64, 1);
    noe_fill_random(y, 64, 1);
    ck_assert_mem_eq(x, y, sizeof x);
    for (int i = 0; i < 64; i++)
        ck_assert(fabsf(x[i]) >= 0.5f && fabsf(x[i]) <= 1.5f);
}
END_TEST

Suite *suite_measure(void)
{
    Suite *s = suite_create("measure");
    TCase *t = tcase_create("measure");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_measure_is_plausible, 0, 2);
    tcase_add_test(t, test_measure_cold_weights);
    tcase_add_test(t, test_measure_pair_finds_the_ratio);
    tcase_add_test(t, test_measure_pair_bounds_rounds);
    tcase_add_test(t, test_measure_passes_errors_on);
    tcase_add_test(t, test_measure_waits_for_quiet);
    tcase_add_test(t, test_measure_can_be_cancelled);
    tcase_add_test(t, test_measure_machine_facts);
    suite_add_tcase(s, t);
    return s;
}
