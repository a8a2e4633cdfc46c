/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ort_library.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- where it is ---- */

/* Inside an environment; the wheel names the file with its full version. */
static const char *const in_environment[] = {
    "lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*",
    "lib/python3*/dist-packages/onnxruntime/capi/libonnxruntime.so*",
    "local/lib/python3*/dist-packages/onnxruntime/capi/libonnxruntime.so*",
    "lib/libonnxruntime.so*",
};

static const char *const linker_names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};

/* The last match of a pattern, that of the highest version where there are several. */
static char *last_match(const char *pattern)
{
    glob_t found;
    char *path = NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        path = noe_strdup(found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return path;
}

static char *search_environment(const char *prefix, noe_buf *looked)
{
    if (!prefix || !*prefix)
        return NULL;
    noe_buf_printf(looked, "%s%s", looked->len ? ", " : "", prefix);
    for (size_t i = 0; i < sizeof in_environment / sizeof *in_environment; i++) {
        noe_buf pattern = {0};
        noe_buf_printf(&pattern, "%s/%s", prefix, in_environment[i]);
        char *path = last_match(pattern.text);
        noe_buf_clear(&pattern);
        if (path)
            return path;
    }
    return NULL;
}

/* The prefix of the python3 in $PATH: the folder above its folder. */
static char *python_prefix(void)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t len = strcspn(at, ":");
        noe_buf file = {0};
        noe_buf_printf(&file, "%.*s/python3", (int)len, at);
        bool is_it = len > 0 && access(file.text, X_OK) == 0;
        noe_buf_clear(&file);
        if (is_it) {
            while (len > 1 && at[len - 1] != '/')
                len--;
            noe_buf prefix = {0};
            noe_buf_add(&prefix, at, len > 1 ? len - 1 : len);
            return prefix.text;
        }
        at += len + (at[len] == ':');
    }
    return NULL;
}

static char *search_linker(noe_buf *looked)
{
    noe_buf_printf(looked, "%sthe linker's path", looked->len ? ", " : "");
    for (size_t i = 0; i < sizeof linker_names / sizeof *linker_names; i++) {
        void *handle = dlopen(linker_names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!handle)
            continue;
        dlclose(handle);
        return noe_strdup(linker_names[i]);
    }
    return NULL;
}

static noe_status take_given(const char *given, const char *by, char **path,
                             noe_error *err)
{
    if (access(given, R_OK) != 0)
        return noe_fail(err, NOE_ERR_IO, "%s, which %s names, cannot be read", given,
                        by);
    *path = noe_strdup(given);
    return NOE_OK;
}

noe_status noe_ort_find(const char *option, char **path, noe_error *err)
{
    const char *variable = getenv("NOETHER_ORT");
    noe_buf looked = {0};
    *path = NULL;
    if (option && *option)
        return take_given(option, "the device", path, err);
    if (variable && *variable)
        return take_given(variable, "$NOETHER_ORT", path, err);
    *path = search_environment(getenv("VIRTUAL_ENV"), &looked);
    if (!*path)
        *path = search_environment(getenv("CONDA_PREFIX"), &looked);
    if (!*path) {
        char *prefix = python_prefix();
        *path = search_environment(prefix, &looked);
        free(prefix);
    }
    if (!*path)
        *path = search_linker(&looked);
    noe_status status = NOE_OK;
    if (!*path)
        status = noe_fail(err, NOE_ERR_BACKEND,
                          "no ONNX Runtime found; looked for libonnxruntime.so in: %s. "
                          "Name the library: --device ort:/path/to/libonnxruntime.so, "
                          "or in $NOETHER_ORT; pip's wheel onnxruntime has one",
                          noe_buf_text(&looked));
    noe_buf_clear(&looked);
    return status;
}

/* ---- loading ---- */

typedef void any_function(void);

typedef struct ort_api_base {
    any_function *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} ort_api_base;

typedef const ort_api_base *get_base_function(void);

static void take_slots(noe_ort_library *lib, any_function *const *table)
{
#define SLOT(POSITION, TYPE, NAME, PARAMETERS) \
    lib->NAME = (TYPE(*) PARAMETERS)table[POSITION];
#include "runtime/ort_slots.def"
}

noe_status noe_ort_load(const char *path, noe_ort_library *lib, noe_error *err)
{
    *lib = (noe_ort_library){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!lib->handle)
        return noe_fail(err, NOE_ERR_BACKEND, "%s cannot be loaded: %s", path,
                        dlerror());
    union {
        void *object;
        get_base_function *function;
    } symbol = {.object = dlsym(lib->handle, "OrtGetApiBase")};
    if (!symbol.object)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "%s has no OrtGetApiBase: it is no ONNX Runtime", path);
    const ort_api_base *base = symbol.function();
    snprintf(lib->version, sizeof lib->version, "%s", base->get_version());
    any_function *const *table = base->get_api(NOE_ORT_API_VERSION);
    if (!table)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "%s is ONNX Runtime %s and does not offer version %d of its "
                        "interface (1.%d and later do)",
                        path, lib->version, NOE_ORT_API_VERSION, NOE_ORT_API_VERSION);
    take_slots(lib, table);
    return NOE_OK;
}

noe_status noe_ort_check(const noe_ort_library *lib, ort_status *status,
                         const char *what, noe_error *err)
{
    if (!status)
        return NOE_OK;
    noe_fail(err, NOE_ERR_BACKEND, "ONNX Runtime %s, %s: %s", lib->version, what,
             lib->get_error_message(status));
    lib->release_status(status);
    return NOE_ERR_BACKEND;
}

int noe_ort_opset(const char *version)
{
    int major = 1, minor = 0;
    sscanf(version, "%d.%d", &major, &minor);
    if (major > 1 || minor >= 17)
        return 20;
    return minor >= 12 ? 17 : 15;
}
