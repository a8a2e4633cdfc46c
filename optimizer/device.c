/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/device.h"
#include "onnx_io/onnx_io.h"
#include "optimizer/cost_roofline.h"
#include "runtime/cuda.h"
#include "runtime/measure.h"
#include "runtime/ort.h"
#include <stdio.h>
#include <stdlib.h>

/* What stands behind "KIND:" in name, "" behind the bare kind, NULL if it is another.
 */
static const char *argument_of(const char *name, const char *kind)
{
    size_t len = strlen(kind);
    if (strncmp(name, kind, len) != 0)
        return NULL;
    return name[len] == ':' ? name + len + 1 : name[len] == '\0' ? name + len : NULL;
}

/* "" is the first device. */
static bool is_number(const char *text)
{
    return strlen(text) < 5 && text[strspn(text, "0123456789")] == '\0';
}

static noe_status check_dtype(const char *name, const char *dtype, noe_error *err)
{
    noe_cuda_type type;
    if (!noe_cuda_type_from_name(dtype, &type))
        return noe_fail(err, NOE_ERR_ARG, "--dtype: '%s' is not f32, tf32, f16 or bf16",
                        dtype);
    if (type != NOE_CUDA_F32 && !argument_of(name, "cuda"))
        return noe_fail(err, NOE_ERR_ARG,
                        "--dtype %s: device %s computes in f32; only cuda can choose",
                        dtype, name);
    return NOE_OK;
}

noe_status noe_device_check_name(const char *name, const char *dtype, noe_error *err)
{
    NOE_TRY(check_dtype(name, dtype, err));
    static const char *const plain[] = {"cpu", "reference", "roofline"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i]) == 0)
            return NOE_OK;
    }
    const char *file = argument_of(name, "table");
    const char *number = argument_of(name, "cuda");
    if (argument_of(name, "ort") || (file && *file) || (number && is_number(number)))
        return NOE_OK;
    return noe_fail(err, NOE_ERR_ARG,
                    "--device: '%s' is not cpu, ort, ort:LIBRARY, cuda, cuda:NUMBER, "
                    "table:FILE, roofline or reference",
                    name);
}

/* oneDNN checks results where costs come from elsewhere; a build without it takes the
 * reference evaluator, which is slower. */
static noe_status open_checking(noe_device *d, const noe_env *env, noe_error *err)
{
    noe_error why;
    if (noe_backend_open("onednn", env, &d->checking, &why) == NOE_OK)
        return NOE_OK;
    noe_log(env, NOE_LOG_INFO, "results are checked by the reference: %s", why.text);
    return noe_backend_open("reference", env, &d->checking, err);
}

/* Results are checked in f32 first, and then on the GPU in its type. */
static noe_status open_cuda(noe_device *d, const noe_device_options *o,
                            const noe_env *env, noe_error *err)
{
    noe_cuda_options options = {.layout = NOE_CUDA_AUTO,
                                .device = atoi(argument_of(o->name, "cuda"))};
    noe_cuda_type_from_name(o->dtype, &options.type);
    d->is_cuda = true;
    d->tolerance = noe_cuda_tolerance(options.type);
    NOE_TRY(noe_cuda_open(&options, env, &d->timing, err));
    return open_checking(d, env, err);
}

static bool is_cold(const noe_device *d, const noe_device_options *o)
{
    size_t cache = d->timing->cache_bytes;
    return o->weight_bytes > (cache ? cache : noe_last_level_cache_bytes());
}

static noe_status open_measuring(noe_device *d, const noe_device_options *o,
                                 const noe_env *env, noe_error *err)
{
    const char *library = argument_of(o->name, "ort");
    const char *backend = strcmp(o->name, "cpu") ? o->name : "onednn";
    d->is_ort = library != NULL;
    if (library) {
        NOE_TRY(noe_ort_open(*library ? library : NULL, noe_onnx_encode, env,
                             &d->timing, err));
        noe_log(env, NOE_LOG_INFO, "costs from %s (%s)",
                noe_ort_library_path(d->timing), d->timing->description);
        NOE_TRY(open_checking(d, env, err));
    } else if (argument_of(o->name, "cuda")) {
        NOE_TRY(open_cuda(d, o, env, err));
    } else {
        NOE_TRY(noe_backend_open(backend, env, &d->timing, err));
        d->checking = d->timing;
    }
    noe_backend_costs_init(&d->measured, d->timing, o->db, env, is_cold(d, o));
    d->measured.frozen = d->measured.model.is_closed = o->frozen;
    d->model = &d->measured.model;
    d->referee = (noe_referee){
        .env = env, .backend = d->timing, .db = o->db, .frozen = o->frozen};
    snprintf(d->description, sizeof d->description, "%s%s", d->timing->description,
             o->frozen ? ", recorded" : "");
    return NOE_OK;
}

noe_status noe_device_open(noe_device *d, const noe_device_options *o,
                           const noe_env *env, noe_error *err)
{
    *d = (noe_device){0};
    NOE_TRY(noe_device_check_name(o->name, o->dtype, err));
    const char *file = argument_of(o->name, "table");
    if (!file && strcmp(o->name, "roofline") != 0)
        return open_measuring(d, o, env, err);
    NOE_TRY(open_checking(d, env, err));
    snprintf(d->description, sizeof d->description, "%s", o->name);
    if (file) {
        NOE_TRY(noe_table_costs_load(&d->table, file, err));
        d->model = &d->table.model;
    } else {
        noe_roofline_init(&d->roofline);
        d->model = &d->roofline;
    }
    return NOE_OK;
}

void noe_device_close(noe_device *d)
{
    noe_backend_costs_clear(&d->measured);
    noe_table_costs_clear(&d->table);
    if (d->checking && d->checking != d->timing)
        d->checking->vt->close(d->checking);
    if (d->timing)
        d->timing->vt->close(d->timing);
    *d = (noe_device){0};
}
