/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device.h"
#include "core/op.h"
#include "runtime/measure.h"
#include <stdio.h>
#include <stdlib.h>

extern const char noe_cu_kernels_text[], noe_cu_args_text[];

#define LEAST_SM    80
#define LEAST_CUDNN 90800 /* plans by device properties; every 9.8 and later */

/* ---- element types ---- */

size_t noe_cu_element_bytes(const noe_cu_device *d)
{
    return d->options.type == NOE_CUDA_F16 || d->options.type == NOE_CUDA_BF16 ? 2 : 4;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Both to nearest, ties to even. */
static uint16_t to_bf16(float x)
{
    uint32_t u = bits_of(x);
    if (x != x)
        return 0x7fc0;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static uint16_t to_f16(float x)
{
    uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* below the least normal number */
        float unit = float_of(magnitude) * 0x1p24F;
        uint32_t whole = (uint32_t)unit;
        float rest = unit - (float)whole;
        whole += rest > 0.5F || (rest == 0.5F && (whole & 1));
        return (uint16_t)(sign | whole);
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
}

static float from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31,
             fraction = h & 0x3ff;
    if (exponent == 0)
        return float_of(sign | bits_of((float)fraction * 0x1p-24F));
    if (exponent == 31)
        return float_of(sign | 0x7f800000 | fraction << 13);
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

void noe_cu_to_device_type(const noe_cu_device *d, void *to, const float *from,
                           size_t n)
{
    uint16_t *half = to;
    if (noe_cu_element_bytes(d) == sizeof(float)) {
        memcpy(to, from, n * sizeof(float));
        return;
    }
    for (size_t i = 0; i < n; i++)
        half[i] = d->options.type == NOE_CUDA_F16 ? to_f16(from[i]) : to_bf16(from[i]);
}

void noe_cu_from_device_type(const noe_cu_device *d, float *to, const void *from,
                             size_t n)
{
    const uint16_t *half = from;
    if (noe_cu_element_bytes(d) == sizeof(float)) {
        memcpy(to, from, n * sizeof(float));
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = d->options.type == NOE_CUDA_F16 ? from_f16(half[i])
                                                : float_of((uint32_t)half[i] << 16);
}

/* ---- kernels ---- */

/* The numbers of operators, the store, then the two texts. */
static void write_source(const noe_cu_device *d, noe_buf *b)
{
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        noe_buf_puts(b, "#define OP_");
        for (const char *c = noe_op_get((noe_op)op)->name; *c; c++)
            noe_buf_printf(b, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        noe_buf_printf(b, " %d\n", op);
    }
    int store = d->options.type == NOE_CUDA_F16    ? 1
                : d->options.type == NOE_CUDA_BF16 ? 2
                                                   : 0;
    noe_buf_printf(b, "#define NOE_STORE %d\n", store);
    noe_buf_puts(b, noe_cu_args_text);
    noe_buf_puts(b, noe_cu_kernels_text);
}

static noe_status fail_to_compile(noe_cu_device *d, nvrtcProgram program,
                                  nvrtcResult status, noe_error *err)
{
    noe_cu_api *api = &d->api;
    size_t bytes = 0;
    char *log = NULL;
    if (api->nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 0) {
        log = noe_calloc(bytes + 1, 1);
        api->nvrtcGetProgramLog(program, log);
    }
    noe_fail(err, NOE_ERR_BACKEND, "kernels cannot be compiled for sm_%d: %s: %.600s",
             d->sm, api->nvrtcGetErrorString(status), log ? log : "");
    free(log);
    return NOE_ERR_BACKEND;
}

noe_status noe_cu_compile_kernels(noe_cu_device *d, char **cubin, size_t *n,
                                  noe_error *err)
{
    noe_cu_api *api = &d->api;
    nvrtcProgram program;
    noe_buf source = {0};
    char arch[40];
    size_t bytes = 0;
    write_source(d, &source);
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", d->sm);
    const char *options[] = {arch};
    nvrtcResult status =
        api->nvrtcCreateProgram(&program, source.text, "kernels.cu", 0, NULL, NULL);
    noe_buf_clear(&source);
    if (status != 0)
        return noe_fail(err, NOE_ERR_BACKEND, "nvrtcCreateProgram: %s",
                        api->nvrtcGetErrorString(status));
    status = api->nvrtcCompileProgram(program, 1, options);
    if (status == 0)
        status = api->nvrtcGetCUBINSize(program, &bytes);
    *cubin = status == 0 ? noe_malloc(bytes + 1) : NULL;
    if (status == 0)
        status = api->nvrtcGetCUBIN(program, *cubin);
    noe_status answer = status == 0 ? NOE_OK : fail_to_compile(d, program, status, err);
    api->nvrtcDestroyProgram(&program);
    if (answer != NOE_OK)
        free(*cubin);
    *n = bytes;
    return answer;
}

static noe_status load_kernels(noe_cu_device *d, noe_error *err)
{
    static const char *const names[] = {
#define XX(ID, NAME) "noe_" #NAME,
        NOE_CU_KERNEL_MAP(XX)
#undef XX
    };
    noe_cu_api *api = &d->api;
    char *cubin;
    size_t bytes;
    NOE_TRY(noe_cu_compile_kernels(d, &cubin, &bytes, err));
    noe_status status = noe_cu_check_driver(
        api, api->cuModuleLoadData(&d->module, cubin), "cuModuleLoadData", err);
    free(cubin);
    for (int i = 0; i < NOE_CU_N_KERNELS && status == NOE_OK; i++)
        status = noe_cu_check_driver(
            api, api->cuModuleGetFunction(&d->kernels[i], d->module, names[i]),
            names[i], err);
    return status;
}

/* ---- opening ---- */

static noe_status find_device(noe_cu_device *d, noe_error *err)
{
    noe_cu_api *api = &d->api;
    int n = 0, driver = 0, runtime = 0;
    cudaError_t status = api->cudaGetDeviceCount(&n);
    api->cudaDriverGetVersion(&driver);
    api->cudaRuntimeGetVersion(&runtime);
    if (status == cudaErrorInsufficientDriver)
        return noe_fail(
            err, NOE_ERR_BACKEND,
            "the NVIDIA driver supports CUDA %d.%d, too old for the CUDA "
            "runtime %d.%d (%s): install a newer driver or an older runtime",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
            api->path[NOE_CU_CUDART]);
    if (status != cudaSuccess && status != cudaErrorNoDevice)
        return noe_cu_check(api, status, "looking for CUDA devices", err);
    if (n == 0)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "there is a driver (CUDA %d.%d), but no CUDA device",
                        driver / 1000, driver % 1000 / 10);
    if (d->options.device >= n)
        return noe_fail(err, NOE_ERR_ARG, "no CUDA device %d: there are %d, from 0",
                        d->options.device, n);
    return NOE_OK;
}

static noe_status read_properties(noe_cu_device *d, noe_error *err)
{
    noe_cu_api *api = &d->api;
    int major = 0, minor = 0, l2 = 0, id = d->options.device;
    NOE_CU_TRY(api, cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor,
               id);
    NOE_CU_TRY(api, cudaDeviceGetAttribute, &minor, cudaDevAttrComputeCapabilityMinor,
               id);
    NOE_CU_TRY(api, cudaDeviceGetAttribute, &l2, cudaDevAttrL2CacheSize, id);
    NOE_CU_TRY(api, cudaDeviceGetAttribute, &d->n_multiprocessors,
               cudaDevAttrMultiProcessorCount, id);
    d->sm = 10 * major + minor;
    d->l2_bytes = (size_t)l2;
    size_t dnn = api->cudnnGetVersion();
    if (d->sm < LEAST_SM)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "CUDA device %d has compute capability %d.%d, want at least "
                        "%d.%d",
                        id, major, minor, LEAST_SM / 10, LEAST_SM % 10);
    if (dnn < LEAST_CUDNN)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "%s is cuDNN %zu.%zu, want at least %d.%d",
                        api->path[NOE_CU_CUDNN], dnn / 10000, dnn / 100 % 100,
                        LEAST_CUDNN / 10000, LEAST_CUDNN / 100 % 100);
    return NOE_OK;
}

/* Device name, its clocks, all versions, type and layout. */
static noe_status describe(noe_cu_device *d, noe_error *err)
{
    static const char *const layouts[] = {"auto", "nchw", "nhwc"};
    noe_cu_api *api = &d->api;
    char name[64] = "";
    int clock = 0, memory = 0, driver = 0, runtime = 0;
    NOE_TRY(noe_cu_check_driver(
        api, api->cuDeviceGetName(name, sizeof name, d->options.device),
        "cuDeviceGetName", err));
    NOE_CU_TRY(api, cudaDriverGetVersion, &driver);
    NOE_CU_TRY(api, cudaRuntimeGetVersion, &runtime);
    /* Newer devices may not tell their clocks: then 0 stands for them. */
    api->cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, d->options.device);
    api->cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, d->options.device);
    api->cudaGetLastError();
    snprintf(d->base.description, sizeof d->base.description,
             "cuda %.40s sm_%d %d/%d MHz driver %d runtime %d cudnn %zu cublaslt %zu "
             "%s %s",
             name, d->sm, clock / 1000, memory / 1000, driver, runtime,
             api->cudnnGetVersion(), api->cublasLtGetVersion(),
             noe_cuda_type_name(d->options.type), layouts[d->options.layout]);
    return NOE_OK;
}

static noe_status open_handles(noe_cu_device *d, noe_error *err)
{
    noe_cu_api *api = &d->api;
    NOE_CU_TRY(api, cudaSetDevice, d->options.device);
    NOE_CU_TRY(api, cudaStreamCreateWithFlags, &d->stream, cudaStreamNonBlocking);
    NOE_CU_TRY(api, cudaEventCreate, &d->start);
    NOE_CU_TRY(api, cudaEventCreate, &d->end);
    NOE_CU_TRY_BLAS(api, cublasLtCreate, &d->blas);
    NOE_CU_TRY_DNN(api, cudnnCreate, &d->dnn);
    NOE_CU_TRY_DNN(api, cudnnSetStream, d->dnn, d->stream);
    NOE_TRY(load_kernels(d, err));
    d->is_open = true;
    return NOE_OK;
}

/* Answers do not matter: after a loss there is nothing left to release. */
static void close_handles(noe_cu_device *d)
{
    noe_cu_api *api = &d->api;
    if (d->module)
        api->cuModuleUnload(d->module);
    if (d->dnn)
        api->cudnnDestroy(d->dnn);
    if (d->blas)
        api->cublasLtDestroy(d->blas);
    if (d->start)
        api->cudaEventDestroy(d->start);
    if (d->end)
        api->cudaEventDestroy(d->end);
    if (d->stream)
        api->cudaStreamDestroy(d->stream);
    d->module = NULL;
    d->dnn = NULL;
    d->blas = NULL;
    d->start = d->end = NULL;
    d->stream = NULL;
    d->is_open = false;
}

noe_status noe_cu_device_open(noe_cu_device *d, noe_error *err)
{
    NOE_TRY(noe_cu_api_load(&d->api, false, err));
    NOE_TRY(find_device(d, err));
    NOE_TRY(read_properties(d, err));
    NOE_TRY(open_handles(d, err));
    NOE_TRY(describe(d, err));
    noe_cu_choices_load(d);
    return NOE_OK;
}

noe_status noe_cu_device_revive(noe_cu_device *d, noe_error *err)
{
    if (d->is_open && !d->api.is_lost)
        return NOE_OK;
    if (d->is_open) {
        noe_log(d->base.env, NOE_LOG_WARN,
                "the CUDA device was lost; its context is made anew");
        noe_measure_close(&d->base); /* its kernel is gone as well */
        close_handles(d);
        d->api.cudaDeviceReset();
        d->life++;
    }
    d->api.is_lost = false;
    noe_status status = open_handles(d, err);
    if (status != NOE_OK) {
        close_handles(d);
        noe_error_prefix(err, "the CUDA device was lost and does not come back: ");
    }
    return status;
}

noe_status noe_cu_device_pretend(noe_cu_device *d, const char *json, noe_error *err)
{
    noe_cu_api *api = &d->api;
    NOE_TRY(noe_cu_api_load(api, true, err));
    NOE_CU_TRY_DNN(api, cudnnBackendCreateDescriptor,
                   CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d->properties);
    NOE_CU_TRY_DNN(api, cudnnBackendSetAttribute, d->properties,
                   CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   (int64_t)strlen(json) + 1, json);
    NOE_CU_TRY_DNN(api, cudnnBackendFinalize, d->properties);
    return NOE_OK;
}

void noe_cu_device_close(noe_cu_device *d)
{
    if (d->is_open)
        noe_cu_choices_save(d);
    if (d->properties)
        d->api.cudnnBackendDestroyDescriptor(d->properties);
    close_handles(d);
    if (d->api.is_lost)
        d->api.cudaDeviceReset(); /* what executors could not release any more */
    free(d->choices);
    free(d->cache_path);
}
