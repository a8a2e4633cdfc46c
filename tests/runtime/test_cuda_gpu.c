/* SPDX-License-Identifier: Apache-2.0
 *
 * Device "cuda" on a GPU: every operator in every type and layout against the reference
 * evaluator, graphs that fuse, random graphs, and the clock. Without a GPU the suite is
 * skipped as a whole, by the exit status that says so.
 */
#include "runtime/cuda.h"
#include "tests/runtime/compare.h"
#include "tests/runtime/cuda_cases.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

#define N_SEEDS 60
#define SKIPPED 77

static noe_env env = {.seed = 1, .n_threads = 1};
static noe_backend *reference, *device;
static noe_pool *pool;

static void open_device(int type, int layout)
{
    noe_error err;
    noe_cuda_options options = {(noe_cuda_type)type, (noe_cuda_layout)layout, 0};
    noe_assert_ok(noe_cuda_open(&options, &env, &device, &err), err);
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    pool = noe_pool_new();
}

static void close_device(void)
{
    device->vt->close(device);
    reference->vt->close(reference);
    noe_pool_free(pool);
}

/* f32 sums of cuDNN and cuBLAS come in other orders, of some hundred terms. */
static double tolerance_of(int type)
{
    return type == NOE_CUDA_F32 ? 1e-4 : noe_cuda_tolerance((noe_cuda_type)type);
}

static bool agrees(const noe_graph *g, int type, char *text, size_t cap)
{
    return noe_backends_agree_within(device, reference, g, 3, tolerance_of(type), text,
                                     cap);
}

/* One device for all cases of a type and layout; all that fail are named. */
START_TEST(test_gpu_op_cases)
{
    int type = _i / 3, n_failed = 0;
    open_device(type, _i % 3);
    for (int i = 0; i < noe_n_op_cases; i++) {
        char text[500];
        noe_graph *g = noe_op_case_graph(pool, &noe_op_cases[i], 1);
        if (!agrees(g, type, text, sizeof text)) {
            printf("%s: %s: %s\n", device->description,
                   noe_op_case_text(&noe_op_cases[i]), text);
            n_failed++;
        }
        noe_graph_free(g);
    }
    close_device();
    ck_assert_msg(n_failed == 0, "%d cases differ", n_failed);
}
END_TEST

START_TEST(test_gpu_graphs)
{
    int type = _i / 3;
    open_device(type, _i % 3);
    for (int i = 0; i < noe_n_cuda_graphs; i++) {
        char text[500];
        noe_graph *g = noe_text_graph_new(pool, noe_cuda_graphs[i].text);
        ck_assert_msg(agrees(g, type, text, sizeof text), "%s: %s: %s",
                      device->description, noe_cuda_graphs[i].what, text);
        noe_graph_free(g);
    }
    close_device();
}
END_TEST

START_TEST(test_gpu_random)
{
    open_device(NOE_CUDA_F32, NOE_CUDA_AUTO);
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        char text[500];
        noe_gen_options o = {.seed = seed, .composites = true, .wide = seed % 2};
        noe_graph *g = noe_gen_graph(pool, &o);
        ck_assert_msg(agrees(g, NOE_CUDA_F32, text, sizeof text), "seed %llu: %s",
                      (unsigned long long)seed, text);
        noe_graph_free(g);
    }
    close_device();
}
END_TEST

/* A product of 2 * 2048^3 operations takes some time, and twice as long in a chain of
 * two; what the clock says repeats. */
START_TEST(test_gpu_clock)
{
    static const char *const texts[] = {"%0 = input \"x\" : f32[2048,2048]\n"
                                        "%1 = weight \"w\" : f32[2048,2048]\n"
                                        "%2 = matmul(%0, %1) : f32[2048,2048]\n"
                                        "return %2\n",
                                        "%0 = input \"x\" : f32[2048,2048]\n"
                                        "%1 = weight \"w\" : f32[2048,2048]\n"
                                        "%2 = matmul(%0, %1) : f32[2048,2048]\n"
                                        "%3 = matmul(%2, %1) : f32[2048,2048]\n"
                                        "return %3\n"};
    noe_error err;
    noe_executor *e[2];
    noe_executor_options options = {.free_layout = true};
    noe_measure m, again;
    noe_pair_measure pair;
    open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    for (int k = 0; k < 2; k++) {
        noe_graph *g = NULL;
        noe_assert_ok(noe_graph_parse(pool, texts[k], &g, &err), err);
        noe_assert_ok(device->vt->prepare(device, g, &options, &e[k], &err), err);
        noe_graph_free(g);
    }
    noe_assert_ok(device->vt->time(e[0], &m, &err), err);
    noe_assert_ok(device->vt->time(e[0], &again, &err), err);
    printf("%s: 2048^3 product in %.1f us\n", device->description, m.seconds * 1e6);
    ck_assert_msg(m.seconds > 5e-6 && m.seconds < 0.1, "%g s", m.seconds);
    ck_assert_double_eq_tol(again.seconds / m.seconds, 1, 0.2);
    noe_assert_ok(noe_time_pair(e[1], e[0], 0, &pair, &err), err);
    ck_assert_double_eq_tol(pair.ratio, 2, 0.3);
    device->vt->release(e[0]);
    device->vt->release(e[1]);
    close_device();
}
END_TEST

/* More than any GPU has: an error, and the device goes on. */
START_TEST(test_gpu_out_of_memory)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_executor *e = NULL;
    char text[500];
    noe_buf b = {0};
    open_device(NOE_CUDA_F32, NOE_CUDA_FIRST);
    noe_buf_puts(&b, "%0 = input \"x\" : f32[1024,1024,1024]\n");
    for (int i = 1; i < 64; i++)
        noe_buf_printf(&b, "%%%d = relu(%%%d) : f32[1024,1024,1024]\n", i, i - 1);
    noe_buf_puts(&b, "return %0");
    for (int i = 1; i < 64; i++)
        noe_buf_printf(&b, ", %%%d", i);
    noe_buf_puts(&b, "\n");
    noe_assert_ok(noe_graph_parse(pool, b.text, &g, &err), err);
    noe_executor_options options = {.free_layout = true};
    noe_assert_fails(device->vt->prepare(device, g, &options, &e, &err), NOE_ERR_LIMIT,
                     err, "cudaErrorMemoryAllocation");
    noe_graph_free(g);
    noe_buf_clear(&b);
    g = noe_text_graph_new(pool, noe_cuda_graphs[0].text);
    ck_assert_msg(agrees(g, NOE_CUDA_F32, text, sizeof text), "%s", text);
    noe_graph_free(g);
    close_device();
}
END_TEST

Suite *suite_cuda_gpu(void);
Suite *suite_cuda_gpu(void)
{
    noe_error err;
    noe_backend *b;
    noe_cuda_options options = {NOE_CUDA_F32, NOE_CUDA_FIRST, 0};
    if (noe_cuda_open(&options, &env, &b, &err) != NOE_OK) {
        printf("skipped: %s\n", err.text);
        exit(SKIPPED);
    }
    b->vt->close(b);
    Suite *s = suite_create("cuda_gpu");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, test_gpu_op_cases, 0, 3 * NOE_CUDA_N_TYPES);
    tcase_add_loop_test(t, test_gpu_graphs, 0, 3 * NOE_CUDA_N_TYPES);
    tcase_add_test(t, test_gpu_random);
    tcase_add_test(t, test_gpu_clock);
    tcase_add_test(t, test_gpu_out_of_memory);
    suite_add_tcase(s, t);
    return s;
}
