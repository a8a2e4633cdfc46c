/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a model: an error, or a graph that can be written back, also expanded,
 * into a model that loads again. */
#include "core/definition.h"
#include "onnx_io/onnx_io.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>

/* What is written must load, unless it cannot be written in the model's opset. */
static void write_and_load(const noe_onnx_model *m, const noe_graph *g)
{
    char *data;
    size_t len;
    noe_error err;
    noe_onnx_model *again;
    noe_status status = noe_onnx_serialize(m, g, &data, &len, &err);
    if (status != NOE_OK) {
        NOE_ASSERT(status == NOE_ERR_UNSUPPORTED || status == NOE_ERR_LIMIT);
        return;
    }
    status = noe_onnx_load_memory(data, len, NULL, NULL, &again, &err);
    NOE_ASSERT(status == NOE_OK);
    noe_graph_check(noe_onnx_graph(again));
    noe_onnx_free(again);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    noe_onnx_model *m;
    noe_graph *expanded;
    noe_error err;
    noe_onnx_count counts[4];
    noe_onnx_count_ops(data, size, counts, 4);
    if (noe_onnx_load_memory(data, size, NULL, NULL, &m, &err) != NOE_OK)
        return 0;
    noe_graph_check(noe_onnx_graph(m));
    write_and_load(m, noe_onnx_graph(m));
    if (noe_graph_expand(noe_onnx_graph(m), &expanded, &err) == NOE_OK) {
        write_and_load(m, expanded);
        noe_graph_free(expanded);
    }
    noe_onnx_free(m);
    return 0;
}
