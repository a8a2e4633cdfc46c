/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/library.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct description {
    const char *what;
    const char *names[3]; /* newest first, NULL at the end */
    const char *hint;
} description;

static const description libraries[NOE_CU_N_LIBRARIES] = {
    [NOE_CU_CUDART] = {"the CUDA runtime",
                       {"libcudart.so.13", "libcudart.so.12", NULL},
                       "pip's wheel nvidia-cuda-runtime has it"},
    [NOE_CU_DRIVER] = {"the NVIDIA driver",
                       {"libcuda.so.1", NULL, NULL},
                       "it comes with the driver of the graphics card"},
    [NOE_CU_NVRTC] = {"the CUDA run-time compiler",
                      {"libnvrtc.so.13", "libnvrtc.so.12", NULL},
                      "pip's wheel nvidia-cuda-nvrtc has it"},
    [NOE_CU_CUBLASLT] = {"cuBLASLt",
                         {"libcublasLt.so.13", "libcublasLt.so.12", NULL},
                         "pip's wheel nvidia-cublas has it"},
    [NOE_CU_CUDNN] = {"cuDNN 9",
                      {"libcudnn.so.9", NULL, NULL},
                      "pip's wheel nvidia-cudnn-cu13 has it"},
};

#define VARIABLE "NOETHER_CUDA_LIBRARIES"

/* Inside a Python environment. */
static const char *const in_environment[] = {
    "lib/python3*/site-packages/nvidia/cu13/lib",
    "lib/python3*/site-packages/nvidia/cudnn/lib",
    "lib/python3*/site-packages/nvidia/cuda_runtime/lib",
    "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
    "lib/python3*/site-packages/nvidia/cublas/lib",
};

/* ---- where to look ---- */

typedef struct folders {
    char **path;
    size_t n, cap;
} folders;

static void add_folder(folders *f, const char *path, size_t len)
{
    noe_buf b = {0};
    if (len == 0)
        return;
    noe_buf_add(&b, path, len);
    NOE_PUSH(f->path, f->n, f->cap, b.text);
}

static void add_list(folders *f, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, ":");
        add_folder(f, list, len);
        list += len + (list[len] == ':');
    }
}

static void add_environment(folders *f, const char *prefix)
{
    for (size_t i = 0; prefix && *prefix && i < sizeof in_environment / sizeof(char *);
         i++) {
        noe_buf pattern = {0};
        glob_t found;
        noe_buf_printf(&pattern, "%s/%s", prefix, in_environment[i]);
        if (glob(pattern.text, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++)
                add_folder(f, found.gl_pathv[k], strlen(found.gl_pathv[k]));
        }
        globfree(&found);
        noe_buf_clear(&pattern);
    }
}

/* true: look in the linker's path as well. */
static bool find_folders(folders *f)
{
    const char *given = getenv(VARIABLE), *home = getenv("CUDA_HOME");
    if (given && *given) {
        add_list(f, given);
        return false;
    }
    add_environment(f, getenv("VIRTUAL_ENV"));
    add_environment(f, getenv("CONDA_PREFIX"));
    if (home && *home) {
        noe_buf b = {0};
        noe_buf_printf(&b, "%s/lib64", home);
        NOE_PUSH(f->path, f->n, f->cap, b.text);
    }
    if (!home || strcmp(home, "/usr/local/cuda") != 0)
        add_list(f, "/usr/local/cuda/lib64");
    return true;
}

static void clear_folders(folders *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
}

/* ---- loading ---- */

/* Global, so that libraries find each other by their names. */
static void *open_file(noe_cu_api *api, noe_cu_library which, const char *path,
                       noe_buf *why)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle)
        snprintf(api->path[which], sizeof api->path[which], "%s", path);
    else
        noe_buf_printf(why, "%s%s", why->len ? "; " : "", dlerror());
    return handle;
}

/* NVRTC loads a part of itself by name, and would not look beside itself. */
static void open_builtins(const char *folder)
{
    noe_buf pattern = {0};
    glob_t found;
    noe_buf_printf(&pattern, "%s/libnvrtc-builtins.so.*", folder);
    if (glob(pattern.text, 0, NULL, &found) == 0)
        dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    noe_buf_clear(&pattern);
}

static void *search_folders(noe_cu_api *api, noe_cu_library which, const folders *f,
                            const char *name, noe_buf *why)
{
    void *handle = NULL;
    for (size_t i = 0; i < f->n && !handle; i++) {
        noe_buf path = {0};
        noe_buf_printf(&path, "%s/%s", f->path[i], name);
        if (access(path.text, F_OK) == 0)
            handle = open_file(api, which, path.text, why);
        if (handle && which == NOE_CU_NVRTC)
            open_builtins(f->path[i]);
        noe_buf_clear(&path);
    }
    return handle;
}

static noe_status fail_missing(const description *d, const folders *f, bool by_linker,
                               const noe_buf *why, noe_error *err)
{
    noe_buf looked = {0};
    for (size_t i = 0; i < f->n; i++)
        noe_buf_printf(&looked, "%s%s", i ? ", " : "", f->path[i]);
    if (by_linker)
        noe_buf_printf(&looked, "%sthe linker's path", looked.len ? ", " : "");
    noe_status status =
        noe_fail(err, NOE_ERR_BACKEND,
                 "%s (%s) %s%s; looked in %s. %s; $" VARIABLE " names folders", d->what,
                 d->names[0], why->len ? "cannot be loaded: " : "is not there",
                 noe_buf_text(why), noe_buf_text(&looked), d->hint);
    noe_buf_clear(&looked);
    return status;
}

static noe_status load_one(noe_cu_api *api, noe_cu_library which, const folders *f,
                           bool by_linker, noe_error *err)
{
    const description *d = &libraries[which];
    noe_buf why = {0}, ignored = {0};
    void *handle = NULL;
    for (int i = 0; d->names[i] && !handle; i++) {
        handle = search_folders(api, which, f, d->names[i], &why);
        if (!handle && by_linker)
            handle = open_file(api, which, d->names[i], &ignored);
    }
    noe_status status = handle ? NOE_OK : fail_missing(d, f, by_linker, &why, err);
    api->handles[which] = handle;
    noe_buf_clear(&why);
    noe_buf_clear(&ignored);
    return status;
}

static noe_status find_symbol(const noe_cu_api *api, noe_cu_library which,
                              const char *name, void *slot, size_t bytes,
                              noe_error *err)
{
    void *symbol;
    if (!api->handles[which])
        return NOE_OK; /* left out on purpose */
    symbol = dlsym(api->handles[which], name);
    if (!symbol)
        return noe_fail(
            err, NOE_ERR_BACKEND,
            "%s has no function %s: it is another version of %s than wanted",
            api->path[which], name, libraries[which].what);
    memcpy(slot, &symbol, bytes);
    return NOE_OK;
}

static noe_status find_symbols(noe_cu_api *api, noe_error *err)
{
#define SLOT(LIBRARY, TYPE, NAME, PARAMETERS) \
    NOE_TRY(                                  \
        find_symbol(api, NOE_CU_##LIBRARY, #NAME, &api->NAME, sizeof api->NAME, err));
#include "runtime/cuda/slots.def"
    return NOE_OK;
}

noe_status noe_cu_api_load(noe_cu_api *api, bool without_driver, noe_error *err)
{
    folders f = {0};
    noe_status status = NOE_OK;
    *api = (noe_cu_api){0};
    bool by_linker = find_folders(&f);
    for (int i = 0; i < NOE_CU_N_LIBRARIES && status == NOE_OK; i++) {
        if (i != NOE_CU_DRIVER || !without_driver)
            status = load_one(api, (noe_cu_library)i, &f, by_linker, err);
    }
    clear_folders(&f);
    return status == NOE_OK ? find_symbols(api, err) : status;
}

/* ---- answers ---- */

static bool is_sticky(cudaError_t status)
{
    static const cudaError_t sticky[] = {cudaErrorDevicesUnavailable,
                                         cudaErrorECCUncorrectable,
                                         cudaErrorIllegalAddress,
                                         cudaErrorLaunchTimeout,
                                         cudaErrorHardwareStackError,
                                         cudaErrorIllegalInstruction,
                                         cudaErrorMisalignedAddress,
                                         cudaErrorInvalidAddressSpace,
                                         cudaErrorInvalidPc,
                                         cudaErrorLaunchFailure,
                                         cudaErrorUnknown};
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++) {
        if (status == sticky[i])
            return true;
    }
    return false;
}

static void note_loss(noe_cu_api *api, cudaError_t status)
{
    api->is_lost = api->is_lost || is_sticky(status);
}

noe_status noe_cu_check(noe_cu_api *api, cudaError_t status, const char *what,
                        noe_error *err)
{
    if (status == cudaSuccess)
        return NOE_OK;
    note_loss(api, status);
    api->cudaGetLastError(); /* or the next call would report it again */
    return noe_fail(
        err, status == cudaErrorMemoryAllocation ? NOE_ERR_LIMIT : NOE_ERR_BACKEND,
        "%s: %s (%d: %s)", what, api->cudaGetErrorName(status), status,
        api->cudaGetErrorString(status));
}

noe_status noe_cu_check_driver(noe_cu_api *api, CUresult status, const char *what,
                               noe_error *err)
{
    const char *name = NULL;
    if (status == cudaSuccess)
        return NOE_OK;
    note_loss(api, status); /* the driver numbers errors as the runtime does */
    if (api->cuGetErrorName(status, &name) != cudaSuccess || !name)
        name = "unknown";
    return noe_fail(
        err, status == cudaErrorMemoryAllocation ? NOE_ERR_LIMIT : NOE_ERR_BACKEND,
        "%s: %s (%d)", what, name, status);
}

noe_status noe_cu_check_blas(noe_cu_api *api, cublasStatus_t status, const char *what,
                             noe_error *err)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return NOE_OK;
    note_loss(api, api->cudaGetLastError());
    return noe_fail(err,
                    status == CUBLAS_STATUS_NOT_SUPPORTED ? NOE_ERR_UNSUPPORTED
                                                          : NOE_ERR_BACKEND,
                    "%s: %s", what, api->cublasLtGetStatusName(status));
}

noe_status noe_cu_check_dnn(noe_cu_api *api, cudnnStatus_t status, const char *what,
                            noe_error *err)
{
    char last[300] = "";
    if (status == CUDNN_STATUS_SUCCESS)
        return NOE_OK;
    api->cudnnGetLastErrorString(last, sizeof last);
    note_loss(api, api->cudaGetLastError());
    bool unsupported = status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
    return noe_fail(err, unsupported ? NOE_ERR_UNSUPPORTED : NOE_ERR_BACKEND,
                    "%s: %s %s", what, api->cudnnGetErrorString(status), last);
}
