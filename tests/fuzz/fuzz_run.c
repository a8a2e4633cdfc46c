/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as something that noether-run reads: a NumPy array, an archive of them, or
 * a model that is run on random inputs. Errors are fine; sizes and steps are bounded.
 */
#include "core/base/mem.h"
#include "onnx_io/run.h"
#include "onnx_io/run/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/onnx_io/mutate_model.h"
#include <stdlib.h>
#include <string.h>

#define MAX_TENSOR_BYTES ((size_t)1 << 13)
#define MAX_STEPS        200

/* What was read is written and read again as the same. */
static void try_array(const uint8_t *data, size_t size)
{
    noe_run_value *v, *again;
    noe_error err;
    noe_buf b = {0};
    if (noe_npy_read(data, size, &v, &err) != NOE_OK)
        return;
    NOE_ASSERT(noe_npy_write(v, &b, &err) == NOE_OK);
    NOE_ASSERT(noe_npy_read(b.text, b.len, &again, &err) == NOE_OK);
    NOE_ASSERT(again->elem == v->elem && noe_dims_eq(&again->shape, &v->shape));
    NOE_ASSERT(memcmp(again->data, v->data, v->bytes) == 0);
    noe_run_value_release(again);
    noe_run_value_release(v);
    noe_buf_clear(&b);
}

static void try_archive(const uint8_t *data, size_t size)
{
    noe_npz *z;
    noe_error err;
    char *copy = noe_malloc(size);
    memcpy(copy, data, size);
    if (noe_npz_open_memory(copy, size, &z, &err) != NOE_OK)
        return;
    for (uint32_t i = 0; i < noe_npz_count(z); i++) {
        noe_run_value *v;
        if (noe_npz_read(z, i, &v, &err) == NOE_OK)
            noe_run_value_release(v);
    }
    noe_npz_close(z);
}

static void run(const noe_onnx_model *m)
{
    noe_error err;
    noe_run_options limits = {.max_bytes = MAX_TENSOR_BYTES, .max_steps = MAX_STEPS};
    uint32_t n_in = noe_run_n_inputs(m), n_out = noe_run_n_outputs(m);
    noe_run_value **in = noe_calloc(n_in + 1, sizeof *in);
    noe_run_value **out = noe_calloc(n_out + 1, sizeof *out);
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < n_in && status == NOE_OK; i++) {
        if (!noe_run_input_is_optional(m, i))
            status = noe_run_random(m, i, 1, MAX_TENSOR_BYTES, &in[i], &err);
    }
    if (status == NOE_OK)
        status = noe_run_model(m, &limits, (const noe_run_value *const *)in, out, &err);
    for (uint32_t i = 0; i < n_out; i++) {
        NOE_ASSERT(status != NOE_OK || out[i]);
        noe_run_value_release(out[i]);
    }
    for (uint32_t i = 0; i < n_in; i++)
        noe_run_value_release(in[i]);
    free(in);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    noe_onnx_model *m;
    noe_error err;
    if (size > 6 && memcmp(data, "\x93NUMPY", 6) == 0)
        try_array(data, size);
    else if (size > 2 && memcmp(data, "PK", 2) == 0)
        try_archive(data, size);
    else if (noe_onnx_load_memory(data, size, NULL, NULL, &m, &err) == NOE_OK) {
        run(m);
        noe_onnx_free(m);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    noe_rng r = noe_rng_split(seed, "mutate", 0);
    noe_buf b = {0};
    noe_buf_add(&b, (const char *)data, size);
    if (!noe_mutate_model(&b, &r) && size > 0)
        b.text[noe_rng_below(&r, size)] = (char)noe_rng_below(&r, 256);
    size_t n = b.len < room ? b.len : room;
    if (n > 0)
        memcpy(data, b.text, n);
    noe_buf_clear(&b);
    return n;
}
