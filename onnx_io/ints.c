/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape arithmetic at import: what a node computes on integers that follow from static
 * shapes and constants, element by element, where each element is known or not.
 * Exporters write Shape, Gather, Unsqueeze, Concat, Reshape for what is a constant once
 * the input sizes are.
 *
 * Only scalars and vectors of int64, int32 and bool; whatever is not covered, overflows
 * or is out of range is unknown, never an error: the node then stays opaque.
 */
#include "onnx_io/model.h"

typedef struct evaluation {
    noe_onnx_model *m;
    const noe_onnx_node *node;
} evaluation;

typedef const noe_onnx_ints *evaluator(const evaluation *e);

static const noe_onnx_ints *operand(const evaluation *e, size_t i)
{
    if (i >= e->node->proto->n_input || e->node->in[i] == NOE_NO_VALUE)
        return NULL;
    return e->m->values[e->node->in[i]].ints;
}

static bool has_input(const evaluation *e, size_t i)
{
    return i < e->node->proto->n_input && e->node->in[i] != NOE_NO_VALUE;
}

static noe_onnx_ints *make(const evaluation *e, int rank, int64_t n)
{
    return n <= NOE_MAX_KNOWN_INTS ? noe_onnx_ints_new(&e->m->arena, rank, n) : NULL;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static const noe_onnx_ints *eval_shape(const evaluation *e)
{
    if (!has_input(e, 0))
        return NULL;
    const noe_shape *s = &e->m->values[e->node->in[0]].type.shape;
    if (s->rank == NOE_RANK_UNKNOWN)
        return NULL;
    int64_t start = noe_onnx_attr_int(e->node->proto, "start", 0);
    int64_t end = noe_onnx_attr_int(e->node->proto, "end", s->rank);
    start = clamp(start < 0 ? start + s->rank : start, 0, s->rank);
    end = clamp(end < 0 ? end + s->rank : end, start, s->rank);
    noe_onnx_ints *out = make(e, 1, end - start);
    for (int64_t i = 0; i < out->n; i++) {
        out->v[i] = s->dim[start + i];
        out->known[i] = out->v[i] >= 0;
    }
    return out;
}

static const noe_onnx_ints *eval_size(const evaluation *e)
{
    if (!has_input(e, 0))
        return NULL;
    const noe_shape *s = &e->m->values[e->node->in[0]].type.shape;
    noe_onnx_ints *out = make(e, 0, 1);
    out->v[0] = noe_shape_is_static(s) ? noe_shape_elements(s) : -1;
    out->known[0] = out->v[0] >= 0;
    return out;
}

static const noe_onnx_ints *eval_gather(const evaluation *e)
{
    const noe_onnx_ints *data = operand(e, 0), *index = operand(e, 1);
    int64_t axis = noe_onnx_attr_int(e->node->proto, "axis", 0);
    if (!data || !index || data->rank != 1 || (axis != 0 && axis != -1))
        return NULL;
    noe_onnx_ints *out = make(e, index->rank, index->n);
    for (int64_t i = 0; i < index->n; i++) {
        int64_t at = index->v[i] < 0 ? index->v[i] + data->n : index->v[i];
        out->known[i] = index->known[i] && at >= 0 && at < data->n && data->known[at];
        out->v[i] = out->known[i] ? data->v[at] : 0;
    }
    return out;
}

static const noe_onnx_ints *eval_concat(const evaluation *e)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->node->proto->n_input; i++) {
        const noe_onnx_ints *part = operand(e, i);
        if (!part || part->rank != 1 || n > NOE_MAX_KNOWN_INTS)
            return NULL;
        n += part->n;
    }
    noe_onnx_ints *out = make(e, 1, n);
    int64_t at = 0;
    for (size_t i = 0; out && i < e->node->proto->n_input; i++) {
        const noe_onnx_ints *part = operand(e, i);
        for (int64_t k = 0; k < part->n; k++, at++) {
            out->v[at] = part->v[k];
            out->known[at] = part->known[k];
        }
    }
    return out;
}

static const noe_onnx_ints *with_rank(const evaluation *e, const noe_onnx_ints *x,
                                      int rank)
{
    noe_onnx_ints *out = make(e, rank, x->n);
    if (!out)
        return NULL;
    for (int64_t i = 0; i < x->n; i++) {
        out->v[i] = x->v[i];
        out->known[i] = x->known[i];
    }
    return out;
}

static const noe_onnx_ints *eval_unsqueeze(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0), *axes = operand(e, 1);
    const Onnx__AttributeProto *attr = noe_onnx_attr(e->node->proto, "axes");
    int64_t n_axes = axes ? axes->n : attr ? (int64_t)attr->n_ints : 0;
    return x && x->rank == 0 && n_axes == 1 ? with_rank(e, x, 1) : NULL;
}

static const noe_onnx_ints *eval_squeeze(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0);
    return x && x->rank == 1 && x->n == 1 ? with_rank(e, x, 0) : NULL;
}

static const noe_onnx_ints *eval_reshape(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0), *shape = operand(e, 1);
    if (!x || !shape || shape->n > 1)
        return NULL;
    if (shape->n == 0)
        return x->n == 1 ? with_rank(e, x, 0) : NULL;
    bool fits = shape->known[0] && (shape->v[0] == -1 || shape->v[0] == x->n);
    return fits ? with_rank(e, x, 1) : NULL;
}

static const noe_onnx_ints *eval_slice(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0), *start = operand(e, 1),
                        *end = operand(e, 2);
    const noe_onnx_ints *axes = operand(e, 3), *step = operand(e, 4);
    if (!x || x->rank != 1 || !start || !end || start->n != 1 || end->n != 1 ||
        !start->known[0] || !end->known[0])
        return NULL;
    bool plain = (!has_input(e, 3) || (axes && axes->n == 1)) &&
                 (!has_input(e, 4) ||
                  (step && step->n == 1 && step->known[0] && step->v[0] == 1));
    if (!plain)
        return NULL;
    int64_t a = clamp(start->v[0] < 0 ? start->v[0] + x->n : start->v[0], 0, x->n);
    int64_t b = clamp(end->v[0] < 0 ? end->v[0] + x->n : end->v[0], a, x->n);
    noe_onnx_ints *out = make(e, 1, b - a);
    for (int64_t i = 0; i < out->n; i++) {
        out->v[i] = x->v[a + i];
        out->known[i] = x->known[a + i];
    }
    return out;
}

/* Slice before opset 10. */
static const noe_onnx_ints *eval_slice_attributes(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0);
    const Onnx__AttributeProto *start = noe_onnx_attr(e->node->proto, "starts");
    const Onnx__AttributeProto *end = noe_onnx_attr(e->node->proto, "ends");
    if (!x || x->rank != 1 || !start || !end || start->n_ints != 1 || end->n_ints != 1)
        return NULL;
    int64_t a = start->ints[0], b = end->ints[0];
    a = clamp(a < 0 ? a + x->n : a, 0, x->n);
    b = clamp(b < 0 ? b + x->n : b, a, x->n);
    noe_onnx_ints *out = make(e, 1, b - a);
    for (int64_t i = 0; i < out->n; i++) {
        out->v[i] = x->v[a + i];
        out->known[i] = x->known[a + i];
    }
    return out;
}

static const noe_onnx_ints *eval_any_slice(const evaluation *e)
{
    return e->node->proto->n_input > 1 ? eval_slice(e) : eval_slice_attributes(e);
}

static bool fits_in(int64_t x, int64_t dtype)
{
    switch (dtype) {
    case 7: /* int64 */
        return true;
    case 6: /* int32 */
        return x >= INT32_MIN && x <= INT32_MAX;
    default:
        return false;
    }
}

static const noe_onnx_ints *eval_cast(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0);
    int64_t to = noe_onnx_attr_int(e->node->proto, "to", 0);
    if (!x || !fits_in(0, to))
        return NULL;
    noe_onnx_ints *out = make(e, x->rank, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        out->v[i] = x->v[i];
        out->known[i] = x->known[i] && fits_in(x->v[i], to);
    }
    return out;
}

/* ---- arithmetic ---- */

typedef bool binary_fn(int64_t a, int64_t b, int64_t *out); /* false: no value */

static bool add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static bool mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Towards zero, as the format says since it was clarified. Older runtimes differ for
 * negative numbers, so those stay unknown. */
static bool divide(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b <= 0)
        return false;
    *out = a / b;
    return true;
}

static bool equal(int64_t a, int64_t b, int64_t *out)
{
    *out = a == b;
    return true;
}

static bool minimum(int64_t a, int64_t b, int64_t *out)
{
    *out = a < b ? a : b;
    return true;
}

static bool maximum(int64_t a, int64_t b, int64_t *out)
{
    *out = a > b ? a : b;
    return true;
}

static bool broadcasts(const noe_onnx_ints *a, const noe_onnx_ints *b)
{
    return a->n == b->n || a->n == 1 || b->n == 1;
}

static int64_t at(const noe_onnx_ints *x, int64_t i)
{
    return x->n == 1 ? 0 : i;
}

/* In int32 the sum may leave the range although int64 holds it. */
static bool is_in_range(const evaluation *e, int64_t x)
{
    return e->m->values[e->node->in[0]].type.dtype == NOE_I64 || fits_in(x, 6);
}

static const noe_onnx_ints *eval_binary(const evaluation *e, binary_fn *fn)
{
    const noe_onnx_ints *a = operand(e, 0), *b = operand(e, 1);
    if (e->node->proto->n_input != 2 || !a || !b || !broadcasts(a, b))
        return NULL;
    int64_t n = a->n == 1 ? b->n : a->n;
    noe_onnx_ints *out = make(e, a->rank > b->rank ? a->rank : b->rank, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t ia = at(a, i), ib = at(b, i);
        out->known[i] = a->known[ia] && b->known[ib] &&
                        fn(a->v[ia], b->v[ib], &out->v[i]) && is_in_range(e, out->v[i]);
    }
    return out;
}

#define EVAL_BINARY(NAME)                                        \
    static const noe_onnx_ints *eval_##NAME(const evaluation *e) \
    {                                                            \
        return eval_binary(e, NAME);                             \
    }
EVAL_BINARY(add)
EVAL_BINARY(sub)
EVAL_BINARY(mul)
EVAL_BINARY(divide)
EVAL_BINARY(equal)
EVAL_BINARY(minimum)
EVAL_BINARY(maximum)

static const noe_onnx_ints *eval_where(const evaluation *e)
{
    const noe_onnx_ints *c = operand(e, 0), *a = operand(e, 1), *b = operand(e, 2);
    if (!a || !b || !c || !broadcasts(a, b) || !broadcasts(a, c) || !broadcasts(b, c))
        return NULL;
    int64_t n = a->n == 1 ? b->n : a->n;
    n = n == 1 ? c->n : n;
    int rank = a->rank | b->rank | c->rank;
    noe_onnx_ints *out = make(e, rank, n);
    for (int64_t i = 0; i < n; i++) {
        const noe_onnx_ints *from = c->v[at(c, i)] ? a : b;
        out->v[i] = from->v[at(from, i)];
        out->known[i] = c->known[at(c, i)] && from->known[at(from, i)];
    }
    return out;
}

/* Product of all elements; of a scalar or vector every choice of axes is all. */
static const noe_onnx_ints *eval_reduce_prod(const evaluation *e)
{
    const noe_onnx_ints *x = operand(e, 0);
    if (!x || x->n == 0 || has_input(e, 1))
        return NULL;
    int keep = (int)noe_onnx_attr_int(e->node->proto, "keepdims", 1) != 0;
    noe_onnx_ints *out = make(e, x->rank * keep, 1);
    out->v[0] = 1;
    out->known[0] = true;
    for (int64_t i = 0; i < x->n; i++)
        out->known[0] = out->known[0] && x->known[i] &&
                        mul(out->v[0], x->v[i], &out->v[0]) &&
                        is_in_range(e, out->v[0]);
    return out;
}

static const noe_onnx_ints *eval_constant_of_shape(const evaluation *e)
{
    const noe_onnx_ints *shape = operand(e, 0);
    const Onnx__AttributeProto *a = noe_onnx_attr(e->node->proto, "value");
    noe_onnx_tensor t;
    if (!shape || shape->n != 1 || !shape->known[0] || shape->v[0] < 0 || !a || !a->t ||
        noe_onnx_read_tensor(e->m, a->t, &t, NULL) != NOE_OK)
        return NULL;
    const noe_onnx_ints *value = noe_onnx_tensor_ints(&e->m->arena, &t);
    noe_onnx_ints *out = value && value->n == 1 ? make(e, 1, shape->v[0]) : NULL;
    for (int64_t i = 0; out && i < out->n; i++) {
        out->v[i] = value->v[0];
        out->known[i] = true;
    }
    return out;
}

static const noe_onnx_ints *eval_range(const evaluation *e)
{
    const noe_onnx_ints *from = operand(e, 0), *to = operand(e, 1), *by = operand(e, 2);
    if (!from || !to || !by || from->n != 1 || to->n != 1 || by->n != 1 ||
        !from->known[0] || !to->known[0] || !by->known[0] || by->v[0] != 1)
        return NULL;
    int64_t n;
    if (!sub(to->v[0], from->v[0], &n) || n > NOE_MAX_KNOWN_INTS)
        return NULL;
    noe_onnx_ints *out = make(e, 1, n < 0 ? 0 : n);
    for (int64_t i = 0; i < out->n; i++) {
        out->v[i] = from->v[0] + i;
        out->known[i] = true;
    }
    return out;
}

/* Size of part k of a vector of x elements; false if it is not known. */
static bool part_size(const evaluation *e, int64_t x, size_t k, int64_t *size)
{
    const noe_onnx_ints *sizes = operand(e, 1);
    const Onnx__AttributeProto *a = noe_onnx_attr(e->node->proto, "split");
    size_t n = e->node->proto->n_output;
    if (sizes || a) {
        int64_t given = sizes ? sizes->n : (int64_t)a->n_ints;
        if (given != (int64_t)n || (sizes && !sizes->known[k]))
            return false;
        *size = sizes ? sizes->v[k] : a->ints[k];
        return true;
    }
    *size = x / (int64_t)n;
    return !has_input(e, 1) && x % (int64_t)n == 0;
}

void noe_onnx_split_ints(noe_onnx_model *m, const noe_onnx_node *n)
{
    evaluation e = {m, n};
    const noe_onnx_ints *x = operand(&e, 0);
    if (strcmp(n->proto->op_type, "Split") != 0 || !x || x->rank != 1)
        return;
    int64_t size, at_element = 0;
    for (size_t k = 0; k < n->proto->n_output; k++, at_element += size) {
        if (!part_size(&e, x->n, k, &size) || size < 0 || size > x->n - at_element)
            return;
        if (n->out[k] == NOE_NO_VALUE)
            continue;
        noe_onnx_ints *part = make(&e, 1, size);
        for (int64_t i = 0; i < size; i++) {
            part->v[i] = x->v[at_element + i];
            part->known[i] = x->known[at_element + i];
        }
        noe_onnx_value *v = &m->values[n->out[k]];
        v->ints = part;
        v->type =
            (noe_type){m->values[n->in[0]].type.dtype, {.rank = 1, .dim = {size}}};
    }
}

static const struct {
    const char *op_type;
    evaluator *fn;
} evaluators[] = {
    {"Add", eval_add},
    {"Cast", eval_cast},
    {"Concat", eval_concat},
    {"ConstantOfShape", eval_constant_of_shape},
    {"Div", eval_divide},
    {"Equal", eval_equal},
    {"Gather", eval_gather},
    {"Max", eval_maximum},
    {"Min", eval_minimum},
    {"Mul", eval_mul},
    {"Range", eval_range},
    {"ReduceProd", eval_reduce_prod},
    {"Reshape", eval_reshape},
    {"Shape", eval_shape},
    {"Size", eval_size},
    {"Slice", eval_any_slice},
    {"Squeeze", eval_squeeze},
    {"Sub", eval_sub},
    {"Unsqueeze", eval_unsqueeze},
    {"Where", eval_where},
};

const noe_onnx_ints *noe_onnx_eval_ints(noe_onnx_model *m, const noe_onnx_node *n)
{
    evaluation e = {m, n};
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++) {
        if (strcmp(evaluators[i].op_type, n->proto->op_type) == 0)
            return evaluators[i].fn(&e);
    }
    return NULL;
}
