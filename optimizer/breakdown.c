/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/breakdown.h"
#include "core/base/text.h"
#include <stdlib.h>

static noe_kernel_cost describe(const noe_kernels *k, uint32_t i, double seconds)
{
    noe_buf b = {0};
    const char *tensor = "";
    for (uint32_t m = k->first[i]; m < k->first[i + 1]; m++) {
        const noe_node *n = &k->g->nodes[k->members[m]];
        const noe_op_info *op = noe_op_get(n->op);
        noe_buf_printf(&b, "%s%s", b.len ? " + " : "", op->onnx ? op->onnx : op->name);
        tensor = n->name ? n->name : tensor;
    }
    return (noe_kernel_cost){b.text, tensor, seconds};
}

void noe_breakdown_make(noe_costs *c, const noe_graph *g, noe_breakdown *b)
{
    noe_cost cost;
    noe_costs_guess(c, g, &cost);
    *b = (noe_breakdown){noe_calloc(c->kernels.n + 1, sizeof *b->kernels), c->kernels.n,
                         cost.seconds};
    for (uint32_t i = 0; i < b->n; i++) {
        const noe_cost_entry *e = c->of_kernel[i];
        b->kernels[i] =
            describe(&c->kernels, i, e->seconds >= 0 ? e->seconds : e->guess);
    }
}

void noe_breakdown_json(const noe_breakdown *b, noe_buf *text)
{
    noe_buf_puts(text, "[");
    for (uint32_t i = 0; i < b->n; i++) {
        noe_buf_printf(text, "%s{\"operators\": ", i ? ",\n " : "");
        noe_buf_json(text, b->kernels[i].operators);
        noe_buf_puts(text, ", \"tensor\": ");
        noe_buf_json(text, b->kernels[i].tensor);
        noe_buf_puts(text, ", \"seconds\": ");
        noe_buf_json_number(text, b->kernels[i].seconds);
        noe_buf_puts(text, "}");
    }
    noe_buf_puts(text, "]\n");
}

void noe_breakdown_clear(noe_breakdown *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        free(b->kernels[i].operators);
    free(b->kernels);
    *b = (noe_breakdown){0};
}
