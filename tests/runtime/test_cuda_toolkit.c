/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's own libraries, where they are found, without a device: cuDNN plans the
 * convolutions of the test graphs for three generations of GPUs from their properties,
 * NVRTC compiles our kernels for them, cuBLASLt takes our descriptors.
 */
#include "runtime/cuda/plan.h"
#include "tests/runtime/cuda_cases.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

static noe_env env = {.seed = 1, .n_threads = 1};
static noe_pool *pool;

static void set_up(void)
{
    pool = noe_pool_new();
}

static void tear_down(void)
{
    noe_pool_free(pool);
}

/* As cuDNN writes the properties of an H200; version and name vary. */
static const char properties[] =
    "{\"deviceVer\": %d, \"maxGridSize\": [2147483647, 65535, 65535], "
    "\"maxBlockSize\": [1024, 1024, 64], \"regsPerBlock\": 65536, "
    "\"multiProcessorCount\": 132, \"warpSize\": 32, \"maxSharedMemoryPerBlock\": "
    "49152, "
    "\"maxSharedMemoryPerBlockOptin\": %d, \"reservedSharedMemoryPerBlock\": 1024, "
    "\"maxRegistersPerSM\": 65536, \"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, "
    "\"maxThreadsPerSM\": 2048, \"pciDeviceId\": 0, \"isTccDriver\": 0, "
    "\"supportCoopLaunch\": 1, \"smClockRateKHz\": 1980000, \"memClockRateKHz\": "
    "3201000, "
    "\"l2CacheSize\": 62914560, \"driverVer\": 13000, \"totalGlobalMem\": "
    "150000000000, "
    "\"deviceName\": \"sm_%d\", \"cudaDeviceId\": 0}";

static const int generations[] = {80, 90, 100};

/* False: not here, and the test says so. */
static bool pretend(noe_cu_device *d, int sm, noe_cuda_type type, noe_error *err)
{
    char json[1200];
    snprintf(json, sizeof json, properties, sm * 10, sm == 80 ? 166912 : 232448, sm);
    *d = (noe_cu_device){.base = {.env = &env}, .options = {.type = type}, .sm = sm};
    snprintf(d->base.description, sizeof d->base.description, "sm_%d", sm);
    noe_status status = noe_cu_device_pretend(d, json, err);
    if (status == NOE_OK)
        return true;
    ck_assert_msg(noe_contains(err->text, "not there"), "%s", err->text);
    return false;
}

static int count_steps(const noe_cu_plan *p, noe_cu_step_kind kind)
{
    int n = 0;
    for (uint32_t i = 0; i < p->n_steps; i++)
        n += p->steps[i].kind == kind;
    return n;
}

/* Every convolution of the graphs is one call of cuDNN with what follows it, but those
 * that no engine takes: these are what the kernel is for. */
static void plan_all(noe_cu_device *d, noe_cu_order order, int *n_calls, int *n_plans)
{
    noe_error err;
    for (int i = 0; i < noe_n_cuda_graphs; i++) {
        noe_graph *g = noe_text_graph_new(pool, noe_cuda_graphs[i].text);
        noe_cu_plan p;
        noe_assert_ok(noe_cu_plan_graph(&p, d, g, order, false, &err), err);
        *n_calls += count_steps(&p, NOE_CU_CONVOLVE);
        for (uint32_t k = 0; k < p.n_steps; k++)
            *n_plans += p.steps[k].dnn ? p.steps[k].dnn->n_plans : 0;
        noe_cu_plan_clear(&p);
        noe_graph_free(g);
    }
}

START_TEST(test_toolkit_plans)
{
    noe_error err;
    noe_cu_device d;
    int n_calls = 0, n_plans = 0;
    noe_cuda_type type = (noe_cuda_type)(_i % NOE_CUDA_N_TYPES);
    if (!pretend(&d, generations[_i / NOE_CUDA_N_TYPES], type, &err))
        noe_skip(err.text);
    plan_all(&d, NOE_CU_CHANNELS_LAST, &n_calls, &n_plans);
    plan_all(&d, NOE_CU_PLAIN, &n_calls, &n_plans);
    /* Three of the four convolutions have symmetric pads; f16 and bf16 in NCHW, and
     * groups, may go without a fused engine, never without any. */
    ck_assert_msg(n_calls >= 6, "%d calls", n_calls);
    ck_assert_msg(n_plans >= n_calls, "%d plans of %d calls", n_plans, n_calls);
    noe_cu_device_close(&d);
}
END_TEST

START_TEST(test_toolkit_compiles)
{
    noe_error err;
    noe_cu_device d;
    size_t bytes;
    char *cubin;
    noe_cuda_type type = (noe_cuda_type)(_i % NOE_CUDA_N_TYPES);
    if (!pretend(&d, generations[_i / NOE_CUDA_N_TYPES], type, &err))
        noe_skip(err.text);
    noe_assert_ok(noe_cu_compile_kernels(&d, &cubin, &bytes, &err), err);
    ck_assert_uint_gt(bytes, 1000);
    ck_assert_mem_eq(cubin, "\177ELF", 4);
    free(cubin);
    noe_cu_device_close(&d);
}
END_TEST

Suite *suite_cuda_toolkit(void);
Suite *suite_cuda_toolkit(void)
{
    int n = (int)(sizeof generations / sizeof *generations) * NOE_CUDA_N_TYPES;
    Suite *s = suite_create("cuda_toolkit");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, test_toolkit_plans, 0, n);
    tcase_add_loop_test(t, test_toolkit_compiles, 0, n);
    suite_add_tcase(s, t);
    return s;
}
