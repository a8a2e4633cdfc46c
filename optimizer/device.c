/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/device.h"
#include "onnx_io/onnx_io.h"
#include "optimizer/cost_roofline.h"
#include "runtime/ort.h"
#include <stdio.h>

/* What stands behind "KIND:" in name, "" behind the bare kind, NULL if it is another.
 */
static const char *argument_of(const char *name, const char *kind)
{
    size_t len = strlen(kind);
    if (strncmp(name, kind, len) != 0)
        return NULL;
    return name[len] == ':' ? name + len + 1 : name[len] == '\0' ? name + len : NULL;
}

noe_status noe_device_check_name(const char *name, noe_error *err)
{
    static const char *const plain[] = {"cpu", "reference", "roofline"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i]) == 0)
            return NOE_OK;
    }
    const char *file = argument_of(name, "table");
    if (argument_of(name, "ort") || (file && *file))
        return NOE_OK;
    return noe_fail(err, NOE_ERR_ARG,
                    "--device: '%s' is not cpu, ort, ort:LIBRARY, table:FILE, roofline "
                    "or reference",
                    name);
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
        NOE_TRY(noe_backend_open("onednn", env, &d->checking, err));
    } else {
        NOE_TRY(noe_backend_open(backend, env, &d->timing, err));
        d->checking = d->timing;
    }
    noe_backend_costs_init(&d->measured, d->timing, o->db, env, o->cold_weights);
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
    NOE_TRY(noe_device_check_name(o->name, err));
    const char *file = argument_of(o->name, "table");
    if (!file && strcmp(o->name, "roofline") != 0)
        return open_measuring(d, o, env, err);
    NOE_TRY(noe_backend_open("onednn", env, &d->checking, err));
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
