/* SPDX-License-Identifier: Apache-2.0
 *
 * The main graph as JSON, for programs that want to look at it.
 */
#include "core/base/text.h"
#include "onnx_io/model.h"

static void put_dims(noe_buf *b, const noe_shape *s)
{
    if (s->rank == NOE_RANK_UNKNOWN) {
        noe_buf_puts(b, "null");
        return;
    }
    noe_buf_puts(b, "[");
    for (int i = 0; i < s->rank; i++) {
        noe_buf_puts(b, i ? ", " : "");
        if (s->dim[i] >= 0)
            noe_buf_printf(b, "%lld", (long long)s->dim[i]);
        else
            noe_buf_puts(b, "null");
    }
    noe_buf_puts(b, "]");
}

static void put_value(noe_buf *b, const noe_onnx_model *m, uint32_t value)
{
    const noe_onnx_value *v = &m->values[value];
    const noe_type *type =
        noe_ref_is_none(v->ref) ? &v->type : noe_graph_type(m->graph, v->ref);
    noe_buf_puts(b, "{\"name\": ");
    noe_buf_json(b, v->name);
    noe_buf_puts(b, ", \"dtype\": ");
    noe_buf_json(b, noe_dtype_name(type->dtype));
    noe_buf_puts(b, ", \"dims\": ");
    put_dims(b, &type->shape);
    noe_buf_puts(b, "}");
}

static void put_text(noe_buf *b, const ProtobufCBinaryData *s)
{
    noe_buf t = {0};
    noe_buf_add(&t, (const char *)s->data, s->len);
    noe_buf_json(b, noe_buf_text(&t));
    noe_buf_clear(&t);
}

static void put_attribute(noe_buf *b, const Onnx__AttributeProto *a)
{
    if (a->has_i) {
        noe_buf_printf(b, "%lld", (long long)a->i);
    } else if (a->has_f) {
        noe_buf_json_number(b, (double)a->f);
    } else if (a->has_s) {
        put_text(b, &a->s);
    } else if (a->n_floats > 0) {
        for (size_t i = 0; i < a->n_floats; i++) {
            noe_buf_puts(b, i ? ", " : "[");
            noe_buf_json_number(b, (double)a->floats[i]);
        }
        noe_buf_puts(b, "]");
    } else if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS ||
               a->n_ints > 0) {
        noe_buf_puts(b, "[");
        for (size_t i = 0; i < a->n_ints; i++)
            noe_buf_printf(b, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
        noe_buf_puts(b, "]");
    } else {
        noe_buf_puts(b, "null");
    }
}

static void put_node(noe_buf *b, const noe_onnx_model *m, const noe_onnx_node *n)
{
    const Onnx__NodeProto *p = n->proto;
    noe_buf_puts(b, "{\"op_type\": ");
    noe_buf_json(b, p->op_type ? p->op_type : "");
    noe_buf_puts(b, ", \"name\": ");
    noe_buf_json(b, p->name ? p->name : "");
    noe_buf_puts(b, ", \"inputs\": [");
    for (size_t i = 0; i < p->n_input; i++) {
        noe_buf_puts(b, i ? ", " : "");
        noe_buf_json(b, p->input[i]);
    }
    noe_buf_puts(b, "], \"outputs\": [");
    bool any = false;
    for (size_t i = 0; i < p->n_output; i++) {
        if (n->out[i] == NOE_NO_VALUE)
            continue;
        noe_buf_puts(b, any ? ", " : "");
        put_value(b, m, n->out[i]);
        any = true;
    }
    noe_buf_puts(b, "], \"attributes\": {");
    for (size_t i = 0; i < p->n_attribute; i++) {
        noe_buf_puts(b, i ? ", " : "");
        noe_buf_json(b, p->attribute[i]->name ? p->attribute[i]->name : "");
        noe_buf_puts(b, ": ");
        put_attribute(b, p->attribute[i]);
    }
    noe_buf_puts(b, "}}");
}

static void put_kind(noe_buf *b, const noe_onnx_model *m, const char *label,
                     noe_value_kind kind)
{
    bool any = false;
    noe_buf_printf(b, "\"%s\": [", label);
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (m->values[i].kind != kind)
            continue;
        noe_buf_puts(b, any ? ",\n  " : "\n  ");
        put_value(b, m, i);
        any = true;
    }
    noe_buf_puts(b, "],\n");
}

void noe_onnx_describe(const noe_onnx_model *m, noe_buf *b)
{
    noe_buf_puts(b, "{");
    put_kind(b, m, "inputs", NOE_VALUE_INPUT);
    put_kind(b, m, "weights", NOE_VALUE_INITIALIZER);
    noe_buf_puts(b, "\"outputs\": [");
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        noe_buf_puts(b, i ? ",\n  " : "\n  ");
        put_value(b, m, noe_onnx_find_value(m, m->outputs[i]->name));
    }
    noe_buf_puts(b, "],\n\"nodes\": [");
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        noe_buf_puts(b, i ? ",\n  " : "\n  ");
        put_node(b, m, &m->nodes[i]);
    }
    noe_buf_puts(b, "]}\n");
}

const void *noe_onnx_weight(const noe_onnx_model *m, const char *name, noe_type *type,
                            size_t *bytes)
{
    uint32_t value = noe_onnx_find_value(m, name);
    if (value == NOE_NO_VALUE || m->values[value].kind != NOE_VALUE_INITIALIZER)
        return NULL;
    const noe_onnx_tensor *t = &m->initializers[m->values[value].index];
    *type = t->type;
    *bytes = t->bytes;
    return t->data;
}
