/* SPDX-License-Identifier: Apache-2.0
 *
 * Random bytes hardly ever are a model. Here a message is unpacked, changed where
 * values stand (sizes, attributes, small integer tensors, operators, operands), and
 * packed again, so that most results get as far as the executor.
 */
#include "tests/onnx_io/mutate_model.h"
#include "core/base/mem.h"
#include "onnx.pb-c.h"
#include "onnx_io/run/call.h"
#include <stdlib.h>
#include <string.h>

static int64_t odd_number(noe_rng *r)
{
    static const int64_t favourites[] = {0,
                                         1,
                                         2,
                                         -1,
                                         -2,
                                         3,
                                         4,
                                         5,
                                         7,
                                         8,
                                         16,
                                         64,
                                         255,
                                         1000,
                                         INT32_MAX,
                                         INT32_MIN,
                                         INT64_MAX,
                                         INT64_MIN,
                                         (int64_t)1 << 32,
                                         (int64_t)1 << 62};
    size_t n = sizeof favourites / sizeof *favourites;
    return noe_rng_below(r, 4) ? favourites[noe_rng_below(r, 10)]
                               : favourites[noe_rng_below(r, n)];
}

static float odd_float(noe_rng *r)
{
    static const float favourites[] = {0, -0.0F, 1, -1, 0.5F, 1e30F, -1e30F, 1e-30F};
    size_t n = sizeof favourites / sizeof *favourites;
    uint64_t i = noe_rng_below(r, n + 2);
    return i < n ? favourites[i] : i == n ? __builtin_inff() : __builtin_nanf("");
}

static void change_list(int64_t *list, size_t *n, noe_rng *r)
{
    if (*n == 0)
        return;
    if (noe_rng_below(r, 4) == 0)
        --*n;
    else
        list[noe_rng_below(r, *n)] = odd_number(r);
}

static void change_attribute(Onnx__NodeProto *n, noe_rng *r)
{
    if (n->n_attribute == 0)
        return;
    Onnx__AttributeProto *a = n->attribute[noe_rng_below(r, n->n_attribute)];
    if (a->has_i)
        a->i = noe_rng_below(r, 4) ? odd_number(r) : a->i ^ 1;
    if (a->has_f)
        a->f = odd_float(r);
    if (a->has_s && a->s.len > 0)
        a->s.data[noe_rng_below(r, a->s.len)] = (uint8_t)('a' + noe_rng_below(r, 26));
    change_list(a->ints, &a->n_ints, r);
}

/* Whatever stays is freed: strings are swapped, never made. */
static void change_operand(Onnx__NodeProto *n, Onnx__GraphProto *g, noe_rng *r)
{
    if (n->n_input == 0)
        return;
    size_t i = noe_rng_below(r, n->n_input);
    Onnx__NodeProto *other = g->node[noe_rng_below(r, g->n_node)];
    if (noe_rng_below(r, 3) == 0) {
        *n->input[i] = '\0';
    } else if (other->n_input > 0) {
        size_t k = noe_rng_below(r, other->n_input);
        char *t = n->input[i];
        n->input[i] = other->input[k];
        other->input[k] = t;
    }
}

static void change_operator(Onnx__NodeProto *n, noe_rng *r)
{
    int count = 0;
    while (noe_operator_at(count))
        count++;
    free(n->op_type); /* NULL where it was missing */
    n->op_type =
        noe_strdup(noe_operator_at((int)noe_rng_below(r, (uint64_t)count))->name);
}

static void change_input(Onnx__GraphProto *g, noe_rng *r)
{
    if (g->n_input == 0)
        return;
    Onnx__ValueInfoProto *v = g->input[noe_rng_below(r, g->n_input)];
    if (!v->type || !v->type->tensor_type)
        return;
    Onnx__TypeProto__Tensor *t = v->type->tensor_type;
    if (noe_rng_below(r, 3) == 0)
        t->elem_type = (int32_t)noe_rng_below(r, NOE_ELEM_COUNT);
    else if (t->shape && t->shape->n_dim > 0) {
        Onnx__TensorShapeProto__Dimension *d =
            t->shape->dim[noe_rng_below(r, t->shape->n_dim)];
        d->dim_value = (int64_t)noe_rng_below(r, 8);
    }
}

static void change_initializer(Onnx__GraphProto *g, noe_rng *r)
{
    if (g->n_initializer == 0)
        return;
    Onnx__TensorProto *t = g->initializer[noe_rng_below(r, g->n_initializer)];
    if (t->n_int64_data > 0)
        t->int64_data[noe_rng_below(r, t->n_int64_data)] = odd_number(r);
    if (t->n_float_data > 0)
        t->float_data[noe_rng_below(r, t->n_float_data)] = odd_float(r);
    if (noe_rng_below(r, 8) == 0 && t->n_int64_data > 1 && t->n_dims == 1)
        t->dims[0] = (int64_t)--t->n_int64_data;
}

static Onnx__GraphProto *some_body(Onnx__NodeProto *n)
{
    for (size_t i = 0; i < n->n_attribute; i++) {
        if (n->attribute[i]->g && n->attribute[i]->g->n_node > 0)
            return n->attribute[i]->g;
    }
    return NULL;
}

static void change(Onnx__ModelProto *m, noe_rng *r)
{
    Onnx__GraphProto *g = m->graph;
    if (!g || g->n_node == 0)
        return;
    Onnx__NodeProto *n = g->node[noe_rng_below(r, g->n_node)];
    Onnx__GraphProto *body = some_body(n);
    if (body && noe_rng_below(r, 2)) {
        g = body;
        n = g->node[noe_rng_below(r, g->n_node)];
    }
    switch (noe_rng_below(r, 12)) {
    case 0:
        change_operator(n, r);
        break;
    case 1:
        change_operand(n, g, r);
        break;
    case 2:
        if (m->n_opset_import > 0)
            m->opset_import[0]->version = 7 + (int64_t)noe_rng_below(r, 20);
        break;
    case 3:
    case 4:
    case 5:
        change_input(g, r);
        break;
    case 6:
    case 7:
    case 8:
        change_initializer(g, r);
        break;
    default:
        change_attribute(n, r);
    }
}

bool noe_mutate_model(noe_buf *b, noe_rng *r)
{
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, b->len, (uint8_t *)b->text);
    if (!m)
        return false;
    for (uint64_t n = 1 + noe_rng_below(r, 4); n > 0; n--)
        change(m, r);
    size_t len = onnx__model_proto__get_packed_size(m);
    uint8_t *data = noe_malloc(len);
    onnx__model_proto__pack(m, data);
    onnx__model_proto__free_unpacked(m, NULL);
    noe_buf_clear(b);
    noe_buf_add(b, (const char *)data, len);
    free(data);
    return true;
}
