/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds and loads the module of device "cuda".
 */
#include "runtime/cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VARIABLE  "NOETHER_CUDA_MODULE"
#define FILE_NAME "noether-cuda.so"

/* The folder of the program or library that this function is in; "" if unknown. */
static void own_folder(char *folder, size_t cap)
{
    Dl_info info;
    void *self = NULL;
    bool (*function)(const char *, noe_cuda_type *) = noe_cuda_type_from_name;
    memcpy(&self, &function, sizeof self);
    folder[0] = '\0';
    if (dladdr(self, &info) == 0 || !info.dli_fname)
        return;
    /* A program's name is what it was called by, perhaps found by the shell. */
    ssize_t n = -1;
    if (!strstr(info.dli_fname, ".so"))
        n = readlink("/proc/self/exe", folder, cap - 1);
    if (n > 0)
        folder[n] = '\0';
    else
        snprintf(folder, cap, "%s", info.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(folder, cap, ".");
}

static noe_status find_module(char *path, size_t cap, noe_error *err)
{
    /* Beside the programs, where it is built; beside libnoether.so. */
    static const char *const places[] = {"", "../bin/"};
    const char *given = getenv(VARIABLE);
    char folder[3000];
    if (given && *given) {
        snprintf(path, cap, "%s", given);
        return access(given, R_OK) == 0
                   ? NOE_OK
                   : noe_fail(err, NOE_ERR_IO,
                              "%s, which $" VARIABLE " names, cannot be read", given);
    }
    own_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, cap, "%s/%s" FILE_NAME, folder, places[i]);
        if (access(path, R_OK) == 0)
            return NOE_OK;
    }
    snprintf(path, cap, "%s", NOE_MODULE_DIR "/" FILE_NAME);
    if (access(path, R_OK) == 0)
        return NOE_OK;
    return noe_fail(err, NOE_ERR_BACKEND,
                    "the CUDA module is not there: no " FILE_NAME
                    " in %s or " NOE_MODULE_DIR
                    "; -DNOETHER_CUDA=AUTO builds it, $" VARIABLE " names it",
                    folder);
}

noe_status noe_cuda_open(const noe_cuda_options *options, const noe_env *env,
                         noe_backend **b, noe_error *err)
{
    char path[4096];
    *b = NULL;
    NOE_TRY(find_module(path, sizeof path, err));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return noe_fail(err, NOE_ERR_BACKEND, "the CUDA module cannot be loaded: %s",
                        dlerror());
    noe_cuda_module_fn *open = NULL;
    void *symbol = dlsym(handle, "noe_cuda_module");
    if (!symbol)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "%s has no noe_cuda_module: it is no CUDA module of Noether",
                        path);
    memcpy(&open, &symbol, sizeof open);
    noe_status status = open(NOE_VERSION, options, env, b, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "device cuda: ");
    return status;
}
