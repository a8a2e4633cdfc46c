/* SPDX-License-Identifier: Apache-2.0
 *
 * Device "cuda" on stand-ins for NVIDIA's libraries (fake_cuda/fake.h): every operator
 * in both layouts against the reference evaluator, choices among plans, the clock, and
 * what happens when calls fail. Nothing here runs on a GPU.
 */
#include "runtime/cuda/device.h"
#include "tests/runtime/compare.h"
#include "tests/runtime/cuda_cases.h"
#include "tests/runtime/fake_cuda/fake.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_SEEDS  40
#define N_GROUPS 4 /* cases of a group share a process: starting one costs more */

static noe_env env = {.seed = 1, .n_threads = 1};
static noe_backend *reference;
static noe_pool *pool;
static fake_control *control, untouched;
static char folder[400]; /* with the libraries; the cache may lie there as well */

static void link_library(const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(symlink(NOE_FAKE_LIBRARY, path), 0);
}

static void set_up(void)
{
    static const char *const names[] = {"libcudart.so.12", "libcuda.so.1",
                                        "libnvrtc.so.12", "libcublasLt.so.12",
                                        "libcudnn.so.9"};
    noe_error err;
    noe_tmp_make(folder, sizeof folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        link_library(names[i]);
    setenv("NOETHER_CUDA_LIBRARIES", folder, 1);
    setenv("NOETHER_CUDA_MODULE", NOE_MODULE, 1);
    unsetenv("XDG_CACHE_HOME"); /* nothing is kept */
    unsetenv("HOME");
    void *handle = dlopen(NOE_FAKE_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    fake_control *(*get)(void) = NULL;
    void *symbol = dlsym(handle, "fake_cuda_control");
    memcpy(&get, &symbol, sizeof get);
    control = get();
    if (untouched.n_devices == 0)
        untouched = *control;
    *control = untouched;
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    pool = noe_pool_new();
}

/* Whatever a test did, nothing may be left on the device. */
static void tear_down(void)
{
    reference->vt->close(reference);
    noe_pool_free(pool);
    noe_tmp_remove(folder);
    ck_assert_int_eq(control->n_blocks, 0);
    ck_assert_uint_eq(control->allocated, 0);
    ck_assert_int_eq(control->n_descriptors, 0);
    ck_assert_int_eq(control->n_execs, 0);
    ck_assert_int_eq(control->n_handles, 0);
    ck_assert_int_eq(control->n_modules, 0);
}

static noe_backend *open_device(noe_cuda_type type, noe_cuda_layout layout)
{
    noe_error err;
    noe_backend *b = NULL;
    noe_cuda_options options = {type, layout, 0};
    noe_assert_ok(noe_cu_backend_open(&options, &env, &b, &err), err);
    return b;
}

/* ---- results ---- */

static void check_graph(noe_backend *b, const noe_graph *g, double tolerance,
                        const char *what)
{
    char text[500];
    if (noe_backends_agree_within(b, reference, g, 3, tolerance, text, sizeof text))
        return;
    noe_buf buf = {0};
    noe_graph_print(&buf, g);
    ck_abort_msg("%s: %s\n%s", what, text, noe_buf_text(&buf));
}

static void check_case(noe_cuda_type type, noe_cuda_layout layout, int i,
                       double tolerance)
{
    const noe_op_case *c = &noe_op_cases[i];
    noe_op_instance in;
    noe_op_case_instance(c, &in);
    noe_backend *b = open_device(type, layout);
    for (int first_weight = 0; first_weight <= in.n_in; first_weight++) {
        noe_graph *g = noe_op_case_graph(pool, c, first_weight);
        check_graph(b, g, tolerance, noe_op_case_text(c));
        noe_graph_free(g);
    }
    b->vt->close(b);
}

START_TEST(test_cuda_op_cases)
{
    for (int i = _i; i < noe_n_op_cases; i += N_GROUPS) {
        check_case(NOE_CUDA_F32, NOE_CUDA_FIRST, i, NOE_BACKEND_TOLERANCE);
        check_case(NOE_CUDA_F32, NOE_CUDA_LAST, i, NOE_BACKEND_TOLERANCE);
    }
}
END_TEST

/* Values of some digits only, of operators that magnify at most by a little. */
START_TEST(test_cuda_op_cases_half)
{
    for (int i = _i; i < noe_n_op_cases; i += N_GROUPS) {
        if (noe_op_cases[i].op == NOE_OP_EXP || noe_op_cases[i].op == NOE_OP_POW)
            continue;
        check_case(NOE_CUDA_F16, NOE_CUDA_LAST, i, noe_cuda_tolerance(NOE_CUDA_F16));
        check_case(NOE_CUDA_BF16, NOE_CUDA_FIRST, i, noe_cuda_tolerance(NOE_CUDA_BF16));
    }
}
END_TEST

static void time_case(noe_backend *b, int i)
{
    noe_error err;
    noe_executor_options options = {.free_layout = true, .cold_weights = i % 2};
    noe_graph *g = noe_op_case_graph(pool, &noe_op_cases[i], 1);
    noe_executor *e = NULL;
    noe_measure m;
    noe_assert_ok(b->vt->prepare(b, g, &options, &e, &err), err);
    noe_assert_ok(b->vt->time(e, &m, &err), err);
    ck_assert_msg((m.seconds > 0) == (e->n_calls > 0), "%s: %g s, %llu calls",
                  noe_op_case_text(&noe_op_cases[i]), m.seconds,
                  (unsigned long long)e->n_calls);
    noe_assert_fails(b->vt->run(e, NULL, NULL, &err), NOE_ERR_ARG, err,
                     "can only be timed");
    b->vt->release(e);
    noe_graph_free(g);
}

/* Every case goes through in every layout and can be timed. */
START_TEST(test_cuda_op_cases_timed)
{
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_AUTO);
    for (int i = _i; i < noe_n_op_cases; i += N_GROUPS)
        time_case(b, i);
    b->vt->close(b);
}
END_TEST

static void check_graphs(void)
{
    for (int layout = NOE_CUDA_AUTO; layout <= NOE_CUDA_LAST; layout++) {
        noe_backend *b = open_device(NOE_CUDA_F32, (noe_cuda_layout)layout);
        for (int i = 0; i < noe_n_cuda_graphs; i++) {
            noe_graph *g = noe_text_graph_new(pool, noe_cuda_graphs[i].text);
            check_graph(b, g, NOE_BACKEND_TOLERANCE, noe_cuda_graphs[i].what);
            noe_graph_free(g);
        }
        b->vt->close(b);
    }
}

START_TEST(test_cuda_graphs)
{
    check_graphs();
}
END_TEST

START_TEST(test_cuda_graphs_without_fused_engines)
{
    control->no_fused_engine = true;
    check_graphs();
    ck_assert_int_gt(control->n_convs, 0);
}
END_TEST

START_TEST(test_cuda_graphs_without_engines)
{
    control->no_engine = _i == 0;
    control->plans_fail = _i == 1;
    check_graphs();
    ck_assert_int_eq(control->n_convs, 0);
}
END_TEST

static bool disagrees(void *ctx, const noe_graph *g)
{
    char text[500];
    return !noe_backends_agree(ctx, reference, g, 1, text, sizeof text);
}

static void check_seed(noe_backend *b, int seed)
{
    char text[500] = "";
    noe_gen_options o = {.seed = (uint64_t)seed, .composites = true, .n_nodes = 16};
    noe_graph *g = noe_gen_graph(pool, &o);
    if (disagrees(b, g)) {
        noe_graph *small = noe_gen_shrink(g, disagrees, b);
        noe_buf buf = {0};
        noe_graph_print(&buf, small);
        noe_backends_agree(b, reference, small, 1, text, sizeof text);
        ck_abort_msg("seed %d: %s\n%s", seed, text, noe_buf_text(&buf));
    }
    noe_graph_free(g);
}

START_TEST(test_cuda_random)
{
    noe_backend *b = open_device(NOE_CUDA_F32, _i % 2 ? NOE_CUDA_FIRST : NOE_CUDA_LAST);
    for (int seed = _i; seed < N_SEEDS; seed += N_GROUPS)
        check_seed(b, seed);
    b->vt->close(b);
}
END_TEST

/* ---- fusion and choices ---- */

static noe_executor *prepare(noe_backend *b, const char *text, bool cold)
{
    noe_error err;
    noe_executor *e = NULL;
    noe_executor_options options = {.free_layout = true, .cold_weights = cold};
    noe_graph *g = noe_text_graph_new(pool, text);
    noe_assert_ok(b->vt->prepare(b, g, &options, &e, &err), err);
    noe_graph_free(g);
    return e;
}

static const char product_text[] = "%0 = input \"x\" : f32[16,32]\n"
                                   "%1 = weight \"w\" : f32[32,8]\n"
                                   "%2 = weight \"b\" : f32[8]\n"
                                   "%3 = matmul(%0, %1) : f32[16,8]\n"
                                   "%4 = add(%3, %2) : f32[16,8]\n"
                                   "%5 = relu(%4) : f32[16,8]\n"
                                   "return %5\n";
static const char conv_text[] =
    "%0 = input \"x\" : f32[1,4,5,5]\n"
    "%1 = weight \"w\" : f32[4,4,3,3]\n"
    "%2 = weight \"b\" : f32[4,1,1]\n"
    "%3 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1) : "
    "f32[1,4,5,5]\n"
    "%4 = add(%3, %2) : f32[1,4,5,5]\n"
    "%5 = add(%4, %0) : f32[1,4,5,5]\n"
    "%6 = relu(%5) : f32[1,4,5,5]\n"
    "return %6\n";

/* A group is one call where cuDNN or cuBLAS has it. */
START_TEST(test_cuda_group_is_one_call)
{
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_LAST);
    noe_executor *e = prepare(b, product_text, false),
                 *f = prepare(b, conv_text, false);
    ck_assert_uint_eq(e->n_calls, 1);
    ck_assert_uint_eq(f->n_calls, 1);
    b->vt->release(e);
    b->vt->release(f);
    control->no_fused_engine = true;
    f = prepare(b, conv_text, false);
    ck_assert_uint_eq(f->n_calls, 3); /* convolution; bias; residual with activation */
    b->vt->release(f);
    b->vt->close(b);
}
END_TEST

static double seconds_of(noe_backend *b, noe_executor *e)
{
    noe_error err;
    noe_measure m;
    noe_assert_ok(b->vt->time(e, &m, &err), err);
    ck_assert_str_eq(m.clock, "cuda-events");
    ck_assert_double_eq_tol(m.disturbance, 1, 1e-3);
    return m.seconds;
}

#define assert_seconds(GOT, MS) ck_assert_double_eq_tol((GOT)*1e3, MS, 1e-3 * (MS))

/* The fastest of the plans runs: the third product here. */
START_TEST(test_cuda_takes_fastest_product)
{
    noe_backend *b = open_device(NOE_CUDA_F16, NOE_CUDA_FIRST);
    noe_executor *e = prepare(b, product_text, false);
    assert_seconds(seconds_of(b, e), control->ms_product[2]);
    ck_assert_int_eq(control->last_product, 2);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

/* An engine on tensor cores rounds to tf32: f32 does without, however fast it is. */
START_TEST(test_cuda_f32_keeps_its_digits)
{
    control->ms_conv[0] = 0.001;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_executor *e = prepare(b, conv_text, false);
    assert_seconds(seconds_of(b, e), control->ms_conv[1]);
    b->vt->release(e);
    b->vt->close(b);
    b = open_device(NOE_CUDA_TF32, NOE_CUDA_FIRST);
    e = prepare(b, conv_text, false);
    assert_seconds(seconds_of(b, e), control->ms_conv[0]);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

START_TEST(test_cuda_takes_faster_layout)
{
    control->ms_nhwc_factor = _i ? 2 : 0.5;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_AUTO);
    noe_executor *e = prepare(b, conv_text, false);
    assert_seconds(seconds_of(b, e), control->ms_conv[1] * (_i ? 1 : 0.5));
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

/* What was chosen is not tried again, in this process or the next one. */
START_TEST(test_cuda_remembers_choices)
{
    int captures[3];
    setenv("XDG_CACHE_HOME", folder, 1);
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    for (int i = 0; i < 3; i++) {
        if (i == 2) {
            b->vt->close(b);
            control->ms_product[0] = 1e-6; /* would be taken if it were tried */
            b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
        }
        captures[i] = -control->n_captures;
        noe_executor *e = prepare(b, product_text, false);
        captures[i] += control->n_captures;
        b->vt->release(e);
    }
    ck_assert_int_gt(captures[0], 0);
    ck_assert_int_eq(captures[1], 0);
    ck_assert_int_eq(captures[2], 0);
    b->vt->close(b);
    /* Another type is another key. */
    b = open_device(NOE_CUDA_F16, NOE_CUDA_FIRST);
    int before = control->n_captures;
    noe_executor *e = prepare(b, product_text, false);
    ck_assert_int_gt(control->n_captures, before);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

START_TEST(test_cuda_bad_cache_is_no_harm)
{
    char path[500];
    setenv("XDG_CACHE_HOME", folder, 1);
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_executor *e = prepare(b, product_text, false);
    b->vt->release(e);
    b->vt->close(b); /* makes the file */
    snprintf(path, sizeof path, "%s/noether/cuda-plans", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("nonsense\n0123456789abcdef 99\n0123456789abcdef -1\n\n", f);
    fclose(f);
    b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    e = prepare(b, product_text, false);
    assert_seconds(seconds_of(b, e), control->ms_product[2]);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

/* ---- the clock ---- */

static const char unary_text[] = "%0 = input \"x\" : f32[8]\n"
                                 "%1 = relu(%0) : f32[8]\n"
                                 "return %1\n";

START_TEST(test_cuda_pair)
{
    noe_error err;
    noe_pair_measure m;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_executor *e = prepare(b, product_text, false),
                 *f = prepare(b, unary_text, false);
    noe_assert_ok(noe_time_pair(e, f, 0, &m, &err), err);
    ck_assert_double_eq_tol(m.ratio, control->ms_product[2] / control->ms_launch, 1e-2);
    assert_seconds(m.seconds_b, control->ms_launch);
    ck_assert_str_eq(m.clock, "cuda-events");
    b->vt->release(e);
    b->vt->release(f);
    b->vt->close(b);
}
END_TEST

/* Cold weights: copies that together overflow the L2 cache of 64 KiB twice. */
START_TEST(test_cuda_cold_weights)
{
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    size_t none = control->allocated;
    noe_executor *e = prepare(b, product_text, false);
    size_t hot = control->allocated - none;
    b->vt->release(e);
    e = prepare(b, product_text, true);
    ck_assert_uint_ge(control->allocated - none - hot, 2 << 16);
    assert_seconds(seconds_of(b, e), control->ms_product[2]);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

START_TEST(test_cuda_views_are_free)
{
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_AUTO);
    noe_executor *e = prepare(b,
                              "%0 = input \"x\" : f32[2,6]\n"
                              "%1 = reshape[shape=[3,4]](%0) : f32[3,4]\n"
                              "return %1\n",
                              false);
    noe_error err;
    noe_measure m;
    ck_assert_uint_eq(e->n_calls, 0);
    noe_assert_ok(b->vt->time(e, &m, &err), err);
    ck_assert(m.seconds == 0);
    b->vt->release(e);
    b->vt->close(b);
}
END_TEST

/* ---- what goes wrong ---- */

/* Prepares, runs or times, and releases. */
static noe_status use_device(noe_backend *b, const noe_graph *g, bool timed,
                             noe_error *err)
{
    noe_executor_options options = {.free_layout = timed};
    noe_executor *e = NULL;
    noe_measure m;
    NOE_TRY(b->vt->prepare(b, g, &options, &e, err));
    noe_status status = NOE_OK;
    if (timed) {
        status = b->vt->time(e, &m, err);
    } else {
        noe_arena arena = {0};
        float **in = noe_gen_inputs(g, &arena, 1), **out = noe_gen_outputs(g, &arena);
        status = b->vt->run(e, (const float *const *)in, out, err);
        noe_arena_clear(&arena);
    }
    b->vt->release(e);
    return status;
}

/* The n-th call fails, for all n: one use of the device fails or copes, the next one is
 * right, and nothing is left (tear_down). */
START_TEST(test_cuda_any_call_fails)
{
    static const int statuses[] = {cudaErrorMemoryAllocation,
                                   CUDNN_STATUS_NOT_SUPPORTED, cudaErrorIllegalAddress};
    noe_graph *g = noe_text_graph_new(pool, conv_text);
    int status = statuses[_i % 3], n_failed = 0, n = 1;
    bool timed = _i > 0, both = _i == 3; /* both: a failure in one layout is no harm */
    for (bool reached = true; reached; n += 1 + n / 5) {
        noe_error err = {0};
        char text[500];
        noe_backend *b =
            open_device(NOE_CUDA_F32, both ? NOE_CUDA_AUTO : NOE_CUDA_FIRST);
        size_t none = control->allocated;
        snprintf(control->fail_call, sizeof control->fail_call, "*");
        control->fail_after = n;
        control->fail_status = status;
        noe_status s = use_device(b, g, timed, &err);
        reached = control->fail_call[0] == '\0';
        control->fail_call[0] = '\0';
        n_failed += s != NOE_OK;
        ck_assert_msg(s == NOE_OK || err.text[0], "call %d: no message", n);
        ck_assert_msg(noe_backends_agree(b, reference, g, 3, text, sizeof text),
                      "after failure %d (%s): %s", n, err.text, text);
        if (!b->calibration)
            ck_assert_msg(control->allocated == none, "failure %d left %zu bytes", n,
                          control->allocated - none);
        b->vt->close(b);
    }
    ck_assert_msg(both || n_failed > 2, "%d failures", n_failed);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_cuda_opening_fails)
{
    int n = 1, n_failed = 0;
    for (bool reached = true; reached; n++) {
        noe_error err = {0};
        noe_backend *b = NULL;
        noe_cuda_options options = {NOE_CUDA_F32, NOE_CUDA_FIRST, 0};
        snprintf(control->fail_call, sizeof control->fail_call, "*");
        control->fail_after = n;
        control->fail_status = 304;
        noe_status s = noe_cu_backend_open(&options, &env, &b, &err);
        reached = control->fail_call[0] == '\0';
        control->fail_call[0] = '\0';
        ck_assert((s == NOE_OK) == (b != NULL));
        ck_assert(s == NOE_OK || err.text[0]);
        n_failed += s != NOE_OK;
        if (b)
            b->vt->close(b);
        ck_assert_int_eq(control->n_handles, 0);
    }
    ck_assert_int_gt(n_failed, 10);
}
END_TEST

START_TEST(test_cuda_out_of_memory)
{
    noe_error err;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_graph *g = noe_text_graph_new(pool, product_text);
    control->memory = 2000;
    noe_assert_fails(use_device(b, g, true, &err), NOE_ERR_LIMIT, err, "out of memory");
    control->memory = untouched.memory;
    noe_assert_ok(use_device(b, g, true, &err), err);
    noe_graph_free(g);
    b->vt->close(b);
}
END_TEST

/* A fault of the device costs what lives on it, and one message each. */
START_TEST(test_cuda_lost_device)
{
    noe_error err;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_executor *old = prepare(b, unary_text, false);
    noe_graph *g = noe_text_graph_new(pool, product_text);
    snprintf(control->fail_call, sizeof control->fail_call, "cuLaunchKernel");
    control->fail_after = 1;
    control->fail_status = cudaErrorIllegalAddress;
    noe_measure m;
    noe_assert_fails(b->vt->time(old, &m, &err), NOE_ERR_BACKEND, err,
                     "CUDA_ERROR_ILLEGAL_ADDRESS");
    noe_assert_fails(b->vt->time(old, &m, &err), NOE_ERR_BACKEND, err, "is lost");
    noe_assert_ok(use_device(b, g, true, &err), err);
    ck_assert_int_eq(control->n_resets, 1);
    noe_assert_fails(b->vt->time(old, &m, &err), NOE_ERR_BACKEND, err, "is lost");
    b->vt->release(old);
    noe_graph_free(g);
    b->vt->close(b);
}
END_TEST

/* A device that does not come back fails each use, until it does. */
START_TEST(test_cuda_lost_for_good)
{
    noe_error err;
    noe_backend *b = open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_graph *g = noe_text_graph_new(pool, unary_text);
    snprintf(control->fail_call, sizeof control->fail_call, "cudaGraphLaunch");
    control->fail_after = 1;
    control->fail_status = cudaErrorLaunchFailure;
    ck_assert_int_eq(use_device(b, g, true, &err), NOE_ERR_BACKEND);
    control->n_devices = 0; /* cudaSetDevice fails now */
    noe_assert_fails(use_device(b, g, true, &err), NOE_ERR_BACKEND, err,
                     "does not come back");
    control->n_devices = 1;
    noe_assert_ok(use_device(b, g, true, &err), err);
    noe_graph_free(g);
    b->vt->close(b);
}
END_TEST

/* ---- what is missing ---- */

static void assert_open_fails(const char *text)
{
    noe_error err;
    noe_backend *b;
    noe_cuda_options options = {NOE_CUDA_F32, NOE_CUDA_AUTO, 0};
    noe_status s = noe_cuda_open(&options, &env, &b, &err);
    ck_assert_msg(s != NOE_OK, "opened, want '%s'", text);
    ck_assert_msg(noe_contains(err.text, text), "'%s' lacks '%s'", err.text, text);
    ck_assert_ptr_null(b);
}

START_TEST(test_cuda_missing_library)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"libcudart.so.12", "the CUDA runtime (libcudart.so.13) is not there"},
        {"libcuda.so.1", "the NVIDIA driver (libcuda.so.1) is not there"},
        {"libnvrtc.so.12", "the CUDA run-time compiler (libnvrtc.so.13) is not there"},
        {"libcublasLt.so.12", "cuBLASLt (libcublasLt.so.13) is not there"},
        {"libcudnn.so.9", "cuDNN 9 (libcudnn.so.9) is not there"},
    };
    char path[500];
    snprintf(path, sizeof path, "%s/%s", folder, cases[_i].name);
    ck_assert_int_eq(unlink(path), 0);
    assert_open_fails(cases[_i].text);
    assert_open_fails(folder);
    /* A file that is no library, and a library that is another. */
    FILE *f = fopen(path, "w");
    fputs("no library", f);
    fclose(f);
    assert_open_fails("cannot be loaded");
    unlink(path);
    ck_assert_int_eq(symlink(NOE_MODULE, path), 0);
    assert_open_fails("has no function");
}
END_TEST

START_TEST(test_cuda_missing_device)
{
    control->n_devices = 0;
    assert_open_fails("there is a driver (CUDA 13.0), but no CUDA device");
    control->n_devices = 1;
    control->driver = 12020;
    assert_open_fails("supports CUDA 12.2, too old for the CUDA runtime 13.0");
    control->driver = 13000;
    control->sm = 75;
    assert_open_fails("compute capability 7.5, want at least 8.0");
    control->sm = 90;
    control->dnn_version = 90100;
    assert_open_fails("is cuDNN 9.1, want at least 9.8");
    control->dnn_version = untouched.dnn_version;
    snprintf(control->fail_call, sizeof control->fail_call, "nvrtcCompileProgram");
    control->fail_after = 1;
    control->fail_status = 6;
    assert_open_fails("sm_90: NVRTC_ERROR_COMPILATION: kernels.cu(7): some error");
    noe_error err;
    noe_backend *b;
    noe_cuda_options second = {NOE_CUDA_F32, NOE_CUDA_AUTO, 1};
    noe_assert_fails(noe_cuda_open(&second, &env, &b, &err), NOE_ERR_ARG, err,
                     "no CUDA device 1");
}
END_TEST

START_TEST(test_cuda_module)
{
    noe_error err;
    noe_backend *b;
    noe_cuda_options options = {NOE_CUDA_F16, NOE_CUDA_LAST, 0};
    noe_assert_ok(noe_cuda_open(&options, &env, &b, &err), err);
    ck_assert_str_eq(
        b->description,
        "cuda Fake GPU sm_90 1980/2619 MHz driver 13000 runtime 13000 cudnn "
        "92800 cublaslt 130100 f16 nhwc");
    ck_assert_str_eq(control->arch, "--gpu-architecture=sm_90");
    ck_assert_uint_eq(b->cache_bytes, 1 << 16);
    noe_graph *g = noe_text_graph_new(pool, conv_text);
    check_graph(b, g, noe_cuda_tolerance(NOE_CUDA_F16), "in the module");
    noe_graph_free(g);
    b->vt->close(b);
}
END_TEST

START_TEST(test_cuda_missing_module)
{
    setenv("NOETHER_CUDA_MODULE", "/nowhere/noether-cuda.so", 1);
    assert_open_fails("/nowhere/noether-cuda.so, which $NOETHER_CUDA_MODULE names");
    setenv("NOETHER_CUDA_MODULE", NOE_FAKE_LIBRARY, 1);
    assert_open_fails("it is no CUDA module of Noether");
    unsetenv("NOETHER_CUDA_MODULE");
    noe_error err;
    noe_backend *b;
    noe_cuda_options options = {NOE_CUDA_F32, NOE_CUDA_AUTO, 0};
    noe_assert_ok(noe_cuda_open(&options, &env, &b, &err), err); /* beside the test */
    b->vt->close(b);
    void *handle = dlopen(NOE_MODULE, RTLD_NOW);
    noe_cuda_module_fn *open = NULL;
    void *symbol = dlsym(handle, "noe_cuda_module");
    memcpy(&open, &symbol, sizeof open);
    noe_assert_fails(open("0.0.0", &options, &env, &b, &err), NOE_ERR_BACKEND, err,
                     "the CUDA module is of version " NOE_VERSION);
    dlclose(handle);
}
END_TEST

START_TEST(test_cuda_type_names)
{
    noe_cuda_type type;
    for (int i = 0; i < NOE_CUDA_N_TYPES; i++) {
        ck_assert(noe_cuda_type_from_name(noe_cuda_type_name((noe_cuda_type)i), &type));
        ck_assert_int_eq((int)type, i);
    }
    ck_assert(!noe_cuda_type_from_name("f64", &type));
}
END_TEST

__extension__ typedef _Float16 half;

static float fake_load_f16(const uint16_t *bits)
{
    half h;
    memcpy(&h, bits, sizeof h);
    return (float)h;
}

static uint16_t fake_store_f16(float x)
{
    half h = (half)x;
    uint16_t bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}

/* Against the compiler's own _Float16, for all of its values and what lies between. */
START_TEST(test_cuda_half_conversion)
{
    noe_cu_device f16 = {.options = {.type = NOE_CUDA_F16}};
    for (uint32_t h = 0; h < 1U << 16; h++) {
        uint16_t bits = (uint16_t)h, back;
        float x, want = fake_load_f16(&bits);
        noe_cu_from_device_type(&f16, &x, &bits, 1);
        ck_assert_msg(isnan(want) ? isnan(x) : x == want, "%#x: %g, want %g", h,
                      (double)x, (double)want);
        for (int k = -1; k <= 1; k++) {
            float near = x * (1 + (float)k * 0x1p-12F);
            uint16_t expected = fake_store_f16(near);
            noe_cu_to_device_type(&f16, &back, &near, 1);
            ck_assert_msg(back == expected || isnan(near), "%a: %#x, want %#x",
                          (double)near, back, expected);
        }
    }
}
END_TEST

static void add_results(Suite *s)
{
    TCase *t = tcase_create("results");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, test_cuda_op_cases, 0, N_GROUPS);
    tcase_add_loop_test(t, test_cuda_op_cases_half, 0, N_GROUPS);
    tcase_add_loop_test(t, test_cuda_op_cases_timed, 0, N_GROUPS);
    tcase_add_test(t, test_cuda_graphs);
    tcase_add_test(t, test_cuda_graphs_without_fused_engines);
    tcase_add_loop_test(t, test_cuda_graphs_without_engines, 0, 2);
    tcase_add_loop_test(t, test_cuda_random, 0, N_GROUPS);
    suite_add_tcase(s, t);
}

Suite *suite_cuda(void);
Suite *suite_cuda(void)
{
    Suite *s = suite_create("cuda");
    add_results(s);
    TCase *t = tcase_create("device");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_cuda_group_is_one_call);
    tcase_add_test(t, test_cuda_takes_fastest_product);
    tcase_add_test(t, test_cuda_f32_keeps_its_digits);
    tcase_add_loop_test(t, test_cuda_takes_faster_layout, 0, 2);
    tcase_add_test(t, test_cuda_remembers_choices);
    tcase_add_test(t, test_cuda_bad_cache_is_no_harm);
    tcase_add_test(t, test_cuda_pair);
    tcase_add_test(t, test_cuda_cold_weights);
    tcase_add_test(t, test_cuda_views_are_free);
    tcase_add_loop_test(t, test_cuda_any_call_fails, 0, 4);
    tcase_add_test(t, test_cuda_opening_fails);
    tcase_add_test(t, test_cuda_out_of_memory);
    tcase_add_test(t, test_cuda_lost_device);
    tcase_add_test(t, test_cuda_lost_for_good);
    tcase_add_loop_test(t, test_cuda_missing_library, 0, 5);
    tcase_add_test(t, test_cuda_missing_device);
    tcase_add_test(t, test_cuda_module);
    tcase_add_test(t, test_cuda_missing_module);
    tcase_add_test(t, test_cuda_type_names);
    tcase_add_test(t, test_cuda_half_conversion);
    suite_add_tcase(s, t);
    return s;
}
