/* SPDX-License-Identifier: Apache-2.0
 *
 * All operators of the reference executor, from the files of their kernels.
 */
#include "onnx_io/run/call.h"

static const noe_operator *const files[] = {
    noe_operators_unary,  noe_operators_ewise,   noe_operators_cast,
    noe_operators_move,   noe_operators_select,  noe_operators_reduce,
    noe_operators_norm,   noe_operators_product, noe_operators_quantize,
    noe_operators_window, noe_operators_resize,  noe_operators_scatter,
    noe_operators_make,   noe_operators_control, noe_operators_recurrent,
    noe_operators_detect, noe_operators_loss,    noe_operators_attention,
};

const noe_operator *noe_operator_at(int i)
{
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        for (const noe_operator *o = files[f]; o->name; o++) {
            if (i-- == 0)
                return o;
        }
    }
    return NULL;
}

/* Some two hundred rows: a node computes much longer than this looks. */
const noe_operator *noe_operator_find(const char *op_type)
{
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        for (const noe_operator *o = files[f]; o->name; o++) {
            if (strcmp(o->name, op_type) == 0)
                return o;
        }
    }
    return NULL;
}
