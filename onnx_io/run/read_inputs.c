/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/file.h"
#include "onnx_io/run.h"
#include "onnx_io/run/npy.h"
#include <stdlib.h>
#include <unistd.h>

typedef struct reader {
    const noe_onnx_model *m;
    const char *path;
    uint32_t n_in;
    noe_run_value **in;
} reader;

static bool is_npz(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* Types that NumPy lacks come as unsigned integers of their width. */
static void as_declared(const reader *j, uint32_t i)
{
    noe_elem elem;
    noe_dims shape;
    noe_run_value *v = j->in[i];
    if (noe_run_input_type(j->m, i, &elem, &shape) && elem != v->elem &&
        noe_elem_get((int)elem)->bytes == noe_elem_get((int)v->elem)->bytes &&
        noe_elem_get((int)v->elem)->class == NOE_CLASS_UNSIGNED &&
        noe_elem_is_float((int)elem))
        v->elem = elem;
}

static noe_status read_archive(reader *j, noe_error *err)
{
    noe_npz *z;
    NOE_TRY(noe_npz_open(j->path, &z, err));
    noe_status status = NOE_OK;
    for (uint32_t k = 0; k < noe_npz_count(z) && status == NOE_OK; k++) {
        uint32_t i = 0;
        while (i < j->n_in &&
               strcmp(noe_run_input_name(j->m, i), noe_npz_name(z, k)) != 0)
            i++;
        if (i == j->n_in)
            status = noe_fail(err, NOE_ERR_ARG, "%s: the model has no input '%s'",
                              j->path, noe_npz_name(z, k));
        else if (!j->in[i])
            status = noe_npz_read(z, k, &j->in[i], err);
        if (status == NOE_OK)
            as_declared(j, i);
    }
    noe_npz_close(z);
    return status;
}

static noe_status read_npy(const char *path, noe_run_value **v, noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, (uint64_t)1 << 40, &data, &len, err));
    noe_status status = noe_npy_read(data, len, v, err);
    free(data);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    return status;
}

static noe_status read_folder(reader *j, noe_error *err)
{
    noe_status status = NOE_OK;
    uint32_t stored = 0;
    for (uint32_t i = 0; i < j->n_in && status == NOE_OK; i++) {
        noe_buf npy = {0}, pb = {0};
        noe_buf_printf(&npy, "%s/%s.npy", j->path, noe_run_input_name(j->m, i));
        noe_buf_printf(&pb, "%s/input_%u.pb", j->path, stored);
        if (access(npy.text, F_OK) == 0) {
            status = read_npy(npy.text, &j->in[i], err);
            if (status == NOE_OK)
                as_declared(j, i);
        } else if (access(pb.text, F_OK) == 0) {
            status = noe_run_read_input(j->m, i, pb.text, &j->in[i], err);
            stored++;
        }
        noe_buf_clear(&npy);
        noe_buf_clear(&pb);
    }
    return status;
}

noe_status noe_run_read_inputs(const noe_onnx_model *m, const char *path,
                               noe_run_value **inputs, noe_error *err)
{
    reader r = {m, path, noe_run_n_inputs(m), inputs};
    return is_npz(path) ? read_archive(&r, err) : read_folder(&r, err);
}
