/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the operators of a serialised model, straight from its bytes: this also
 * serves files that cannot be loaded in full.
 */
#include "onnx_io/model.h"
#include <stdlib.h>

enum { NODE_OP_TYPE = 4 };

typedef struct counter {
    noe_onnx_count *counts;
    int n, max;
} counter;

/* Counts are kept sorted by name. */
static void count(counter *c, const char *op_type)
{
    int i = 0;
    while (i < c->n && strcmp(c->counts[i].op_type, op_type) < 0)
        i++;
    if (i < c->n && strcmp(c->counts[i].op_type, op_type) == 0) {
        c->counts[i].n++;
        return;
    }
    if (c->n == c->max)
        return;
    memmove(&c->counts[i + 1], &c->counts[i], (size_t)(c->n - i) * sizeof c->counts[i]);
    c->n++;
    strcpy(c->counts[i].op_type, op_type);
    c->counts[i].n = 1;
}

/* The body of field `number`; the last one counts, as for every protobuf reader. */
static bool find_field(noe_span message, uint32_t number, noe_span *body)
{
    bool found = false;
    while (message.len > 0) {
        noe_wire_field f;
        if (noe_wire_next(&message, &f))
            return false;
        if (f.number != number)
            continue;
        found = true;
        *body = f.body;
    }
    return found;
}

static void count_node(counter *c, noe_span node)
{
    char text[sizeof c->counts->op_type];
    noe_span type;
    if (!find_field(node, NODE_OP_TYPE, &type))
        return;
    size_t len = type.len < sizeof text ? type.len : sizeof text - 1;
    memcpy(text, type.at, len);
    text[len] = '\0';
    count(c, text);
}

int noe_onnx_count_ops(const void *data, size_t len, noe_onnx_count *counts, int max)
{
    counter c = {.counts = counts, .max = max};
    noe_span graph;
    if (!find_field((noe_span){data, len}, NOE_MODEL_GRAPH, &graph))
        return 0;
    while (graph.len > 0) {
        noe_wire_field f;
        if (noe_wire_next(&graph, &f))
            break;
        if (f.number == NOE_GRAPH_NODE)
            count_node(&c, f.body);
        else if (f.number == NOE_GRAPH_INITIALIZER)
            count(&c, "Constant");
    }
    return c.n;
}
