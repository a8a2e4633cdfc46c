/* SPDX-License-Identifier: Apache-2.0
 *
 * write_back IN OUT [NAME:SIZES...]: imports a model, expands it into core operators,
 * and writes it back. For comparing with ONNX Runtime what the importer understood.
 */
#include "core/definition.h"
#include "onnx_io/onnx_io.h"
#include <stdio.h>

static noe_status write_back(const char *in, const char *out,
                             const noe_onnx_options *options, noe_error *err)
{
    noe_onnx_model *m;
    noe_graph *core = NULL;
    NOE_TRY(noe_onnx_load(in, options, NULL, &m, err));
    noe_status status = noe_graph_expand(noe_onnx_graph(m), &core, err);
    if (status == NOE_OK)
        status = noe_onnx_save(m, core, out, err);
    noe_graph_free(core);
    noe_onnx_free(m);
    return status;
}

int main(int argc, char **argv)
{
    noe_error err;
    if (argc < 3)
        return 2;
    noe_onnx_options options = {.input_shapes = (const char *const *)argv + 3,
                                .n_input_shapes = argc - 3};
    if (write_back(argv[1], argv[2], &options, &err) != NOE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return noe_status_exit_code(err.status);
    }
    return 0;
}
