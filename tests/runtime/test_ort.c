/* SPDX-License-Identifier: Apache-2.0
 *
 * Device "ort": with a fake library, what its failures cost; with a real one, where
 * there is one ($NOETHER_ORT, or the environment of $NOE_PYTHON), that it computes and
 * times what we mean.
 */
#include "onnx_io/onnx_io.h"
#include "runtime/ort.h"
#include "runtime/ort_library.h"
#include "tests/runtime/compare.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_RANDOM 40

static const char relu_text[] = "%0 = input \"x\" : f32[4]\n"
                                "%1 = relu(%0) : f32[4]\n"
                                "return %1\n";

static noe_env env = {.seed = 1, .n_threads = 1};
static noe_pool *pool;
static noe_graph *relu;
static noe_backend *ort;
static noe_error err;

static void set_up(void)
{
    pool = noe_pool_new();
    noe_assert_ok(noe_graph_parse(pool, relu_text, &relu, &err), err);
    unsetenv("NOE_FAKE_ORT");
    setenv("NOETHER_ORT_TIMEOUT", "60", 1); /* a busy machine is no hang */
}

static void tear_down(void)
{
    if (ort)
        ort->vt->close(ort);
    ort = NULL;
    noe_graph_free(relu);
    noe_pool_free(pool);
    unsetenv("NOE_FAKE_ORT");
    unsetenv("NOETHER_ORT_TIMEOUT");
}

static void open_fake(void)
{
    noe_assert_ok(noe_ort_open(NOE_FAKE_LIBRARY, noe_onnx_encode, &env, &ort, &err),
                  err);
}

static noe_executor *prepare(void)
{
    noe_executor *e;
    noe_executor_options options = {.n_threads = 1};
    noe_assert_ok(ort->vt->prepare(ort, relu, &options, &e, &err), err);
    return e;
}

static void run_ok(noe_executor *e)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    const float *in[1] = {x};
    float *out[1] = {y};
    noe_assert_ok(ort->vt->run(e, in, out, &err), err);
    ck_assert_mem_eq(x, y, sizeof x);
}

START_TEST(test_ort_runs_and_times_through_the_worker)
{
    noe_measure m;
    noe_pair_measure pair;
    double difference = -1;
    open_fake();
    ck_assert_msg(noe_contains(ort->description, "onnxruntime 1.19.2"), "%s",
                  ort->description);
    noe_executor *e = prepare(), *f = prepare();
    noe_assert_ok(noe_ort_difference(e, f, &difference, &err), err);
    ck_assert(difference == 0);
    run_ok(e); /* with other inputs than f from now on */
    noe_assert_ok(noe_ort_difference(e, f, &difference, &err), err);
    ck_assert(difference > 0);
    noe_assert_ok(ort->vt->time(e, &m, &err), err);
    ck_assert(m.seconds >= 0 && m.seconds < 1 && m.n_batches > 0);
    ck_assert_str_eq(m.clock, "thread-cpu");
    noe_assert_ok(noe_time_pair(e, f, 6, &pair, &err), err);
    ck_assert(pair.n_rounds == 6 && pair.ratio > 0.1 && pair.ratio < 10);
    ort->vt->release(e);
    ort->vt->release(f);
}
END_TEST

static const struct {
    const char *mode, *message;
} faults[] = {
    {"crash", "worker was lost (ended by signal 11"},
    {"hang", "worker hangs"},
    {"spin", "worker does not finish"},
    {"error", "ONNX Runtime 1.19.2, run: the fake refuses"},
    {"refuse", "create session: the fake refuses"},
};

/* A worker inherits the environment of its start, so each mode needs a fresh one. */
START_TEST(test_ort_fault_costs_one_answer)
{
    noe_executor *e = NULL;
    noe_executor_options options = {.n_threads = 1};
    setenv("NOE_FAKE_ORT", faults[_i].mode, 1);
    if (_i == 1 || _i == 2)
        setenv("NOETHER_ORT_TIMEOUT", "1.5", 1);
    open_fake();
    noe_assert_fails(ort->vt->prepare(ort, relu, &options, &e, &err), NOE_ERR_BACKEND,
                     err, faults[_i].message);
    ck_assert_ptr_null(e);
    if (_i > 2)
        return; /* the worker lives, and goes on refusing */
    unsetenv("NOE_FAKE_ORT");
    e = prepare();
    run_ok(e);
    ort->vt->release(e);
}
END_TEST

/* The fake dies at its third run: of the second executor. */
START_TEST(test_ort_executors_die_with_their_worker)
{
    noe_measure m;
    noe_executor *second = NULL;
    noe_executor_options options = {.n_threads = 1};
    setenv("NOE_FAKE_ORT", "crash later", 1);
    open_fake();
    noe_executor *first = prepare();
    run_ok(first);
    noe_assert_fails(ort->vt->prepare(ort, relu, &options, &second, &err),
                     NOE_ERR_BACKEND, err, "lost");
    noe_assert_fails(ort->vt->time(first, &m, &err), NOE_ERR_BACKEND, err, "is gone");
    unsetenv("NOE_FAKE_ORT");
    second = prepare();
    noe_assert_fails(ort->vt->time(first, &m, &err), NOE_ERR_BACKEND, err, "is gone");
    noe_assert_ok(ort->vt->time(second, &m, &err), err);
    ort->vt->release(first);
    run_ok(second); /* releasing the first did not hit its successor */
    ort->vt->release(second);
}
END_TEST

START_TEST(test_ort_refuses_other_libraries)
{
    char folder[200], path[300];
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/no.so", folder);
    FILE *f = fopen(path, "w");
    fputs("no library\n", f);
    fclose(f);
    noe_assert_fails(noe_ort_open(path, noe_onnx_encode, &env, &ort, &err),
                     NOE_ERR_BACKEND, err, "cannot be loaded");
    noe_tmp_remove(folder);
    noe_assert_fails(
        noe_ort_open("/nonexistent/lib.so", noe_onnx_encode, &env, &ort, &err),
        NOE_ERR_IO, err, "/nonexistent/lib.so");
    setenv("NOE_FAKE_ORT", "old", 1);
    noe_assert_fails(noe_ort_open(NOE_FAKE_LIBRARY, noe_onnx_encode, &env, &ort, &err),
                     NOE_ERR_BACKEND, err, "is ONNX Runtime 1.2.0");
}
END_TEST

static void touch(const char *folder, const char *name)
{
    char *output, command[1000];
    snprintf(command, sizeof command, "mkdir -p '%s' && touch '%s/%s'", folder, folder,
             name);
    ck_assert_int_eq(noe_run_command(command, &output), 0);
    free(output);
}

START_TEST(test_ort_is_found_in_the_active_environment)
{
    char folder[200], capi[300], *path;
    noe_tmp_make(folder, sizeof folder);
    snprintf(capi, sizeof capi, "%s/lib/python3.9/site-packages/onnxruntime/capi",
             folder);
    char *old_path = strdup(getenv("PATH"));
    unsetenv("NOETHER_ORT");
    unsetenv("CONDA_PREFIX");
    setenv("VIRTUAL_ENV", folder, 1);
    touch(capi, "libonnxruntime.so.1.20.1");
    noe_assert_ok(noe_ort_find(NULL, &path, &err), err);
    ck_assert_msg(noe_contains(path, "/capi/libonnxruntime.so.1.20.1"), "%s", path);
    free(path);
    setenv("NOETHER_ORT", NOE_FAKE_LIBRARY, 1);
    noe_assert_ok(noe_ort_find(NULL, &path, &err), err);
    ck_assert_str_eq(path, NOE_FAKE_LIBRARY);
    free(path);
    unsetenv("NOETHER_ORT");
    setenv("VIRTUAL_ENV", "/nonexistent/env", 1);
    setenv("PATH", "/nonexistent/bin", 1);
    noe_status status = noe_ort_find(NULL, &path, &err);
    setenv("PATH", old_path, 1);
    free(old_path);
    unsetenv("VIRTUAL_ENV");
    noe_tmp_remove(folder);
    if (status == NOE_OK) { /* the linker knows one */
        free(path);
        noe_skip("libonnxruntime.so is in the linker's path");
    }
    noe_assert_fails(status, NOE_ERR_BACKEND, err,
                     "/nonexistent/env, the linker's path");
}
END_TEST

/* ---- with the real library ---- */

/* NULL, with the reason in err, if there is none. */
static noe_backend *open_real(void)
{
    noe_backend *b = NULL;
    const char *python = getenv("NOE_PYTHON");
    unsetenv("NOETHER_ORT_TIMEOUT");
    if (python && *python) {
        char prefix[300];
        snprintf(prefix, sizeof prefix, "%s", python);
        for (int i = 0; i < 2 && strrchr(prefix, '/'); i++)
            *strrchr(prefix, '/') = '\0';
        setenv("VIRTUAL_ENV", prefix, 1);
    }
    noe_status status = noe_ort_open(NULL, noe_onnx_encode, &env, &b, &err);
    unsetenv("VIRTUAL_ENV");
    return status == NOE_OK ? b : NULL;
}

START_TEST(test_ort_agrees_with_the_reference)
{
    noe_backend *reference;
    char text[500];
    ort = open_real();
    if (!ort)
        noe_skip("no ONNX Runtime");
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    for (uint64_t seed = 0; seed < N_RANDOM; seed++) {
        noe_gen_options o = {.seed = seed, .composites = seed % 2 == 1, .n_nodes = 8};
        noe_graph *g = noe_gen_graph(pool, &o);
        ck_assert_msg(noe_backends_agree(ort, reference, g, seed, text, sizeof text),
                      "seed %llu: %s", (unsigned long long)seed, text);
        noe_graph_free(g);
    }
    reference->vt->close(reference);
}
END_TEST

/* Every type as an output: rounding is ONNX's, and what moves data moves it. */
START_TEST(test_ort_casts_like_the_reference)
{
    static const char graph[] = "%0 = input \"x\" : f32[7,9]\n"
                                "%1 = cast[to=10](%0) : f16[7,9]\n"
                                "%2 = transpose[perm=[1,0]](%1) : f16[9,7]\n"
                                "%3 = cast[to=16](%0) : bf16[7,9]\n"
                                "%4 = cast[to=11](%2) : f64[9,7]\n"
                                "%5 = cast[to=1](%3) : f32[7,9]\n"
                                "return %2, %3, %4, %5\n";
    noe_backend *reference;
    noe_graph *g;
    char text[500];
    ort = open_real();
    if (!ort)
        noe_skip("no ONNX Runtime");
    noe_assert_ok(noe_graph_parse(pool, graph, &g, &err), err);
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    ck_assert_msg(noe_backends_agree(ort, reference, g, 1, text, sizeof text), "%s",
                  text);
    noe_graph_free(g);
    reference->vt->close(reference);
}
END_TEST

/* Twice the work takes about twice the time: wide limits, for loaded machines. */
START_TEST(test_ort_times_work)
{
    static const char *const texts[2] = {
        "%0 = input \"x\" : f32[128,256]\n%1 = weight \"w\" : f32[256,256]\n"
        "%2 = matmul(%0, %1) : f32[128,256]\nreturn %2\n",
        "%0 = input \"x\" : f32[128,256]\n%1 = weight \"w\" : f32[256,2048]\n"
        "%2 = matmul(%0, %1) : f32[128,2048]\nreturn %2\n"};
    double seconds[2];
    ort = open_real();
    if (!ort)
        noe_skip("no ONNX Runtime");
    for (int i = 0; i < 2; i++) {
        noe_graph *g;
        noe_executor *e;
        noe_measure m;
        noe_executor_options options = {.free_layout = true, .n_threads = 1};
        noe_assert_ok(noe_graph_parse(pool, texts[i], &g, &err), err);
        noe_assert_ok(ort->vt->prepare(ort, g, &options, &e, &err), err);
        noe_assert_ok(ort->vt->time(e, &m, &err), err);
        seconds[i] = m.seconds;
        ort->vt->release(e);
        noe_graph_free(g);
    }
    ck_assert_msg(seconds[1] > 2 * seconds[0] && seconds[1] < 50 * seconds[0],
                  "%g s and %g s", seconds[0], seconds[1]);
}
END_TEST

Suite *suite_ort(void)
{
    Suite *s = suite_create("ort");
    TCase *fake = tcase_create("fake"), *real = tcase_create("real");
    tcase_add_checked_fixture(fake, set_up, tear_down);
    tcase_add_checked_fixture(real, set_up, tear_down);
    tcase_set_timeout(real, 120);
    tcase_set_timeout(fake, 60);
    tcase_add_test(fake, test_ort_runs_and_times_through_the_worker);
    tcase_add_loop_test(fake, test_ort_fault_costs_one_answer, 0,
                        sizeof faults / sizeof *faults);
    tcase_add_test(fake, test_ort_executors_die_with_their_worker);
    tcase_add_test(fake, test_ort_refuses_other_libraries);
    tcase_add_test(fake, test_ort_is_found_in_the_active_environment);
    tcase_add_test(real, test_ort_agrees_with_the_reference);
    tcase_add_test(real, test_ort_casts_like_the_reference);
    tcase_add_test(real, test_ort_times_work);
    suite_add_tcase(s, fake);
    suite_add_tcase(s, real);
    return s;
}
