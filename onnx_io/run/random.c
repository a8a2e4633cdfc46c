/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for inputs. Integers are often indices: 0 and 1 are in range almost
 * everywhere.
 */
#include "core/base/rng.h"
#include "onnx_io/run.h"
#include <stdlib.h>

noe_status noe_run_random(const noe_onnx_model *m, uint32_t i, uint64_t seed,
                          size_t max_bytes, noe_run_value **out, noe_error *err)
{
    noe_elem elem = NOE_ELEM_NONE;
    noe_dims shape;
    const char *name = noe_run_input_name(m, i);
    if (!noe_run_input_type(m, i, &elem, &shape) || shape.rank < 0 ||
        !(noe_elem_is_float((int)elem) || noe_elem_is_integer((int)elem)))
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "input '%s' is of no type that random numbers have", name);
    for (int k = 0; k < shape.rank; k++)
        shape.dim[k] = shape.dim[k] < 0 ? 1 : shape.dim[k];
    noe_run_value *v = noe_run_tensor_new(elem, &shape, max_bytes);
    if (!v)
        return noe_fail(err, NOE_ERR_LIMIT, "input '%s' is larger than %zu bytes", name,
                        max_bytes);
    noe_rng rng = noe_rng_split(seed, name, 0);
    double *real = noe_malloc((size_t)v->n * sizeof *real + 1);
    int64_t *whole = noe_malloc((size_t)v->n * sizeof *whole + 1);
    for (int64_t k = 0; k < v->n; k++) {
        real[k] = noe_rng_normal(&rng);
        whole[k] = (int64_t)noe_rng_below(&rng, 2);
    }
    if (noe_elem_is_float((int)elem))
        noe_run_store_f64(v, real, true);
    else
        noe_run_store_i64(v, whole);
    free(real);
    free(whole);
    *out = v;
    return NOE_OK;
}
