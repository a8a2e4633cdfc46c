/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of new nodes, operator by operator, in the form that the model's opset has:
 * what is an attribute in old ones and an input in newer ones is written accordingly.
 */
#include "onnx_io/export.h"

#define MAX_OPERANDS 6
#define MAX_ONES     ((size_t)1 << 24) /* written out for want of Expand */

/* A node message under construction. Everything lies in the exporter's arena. */
typedef struct putting {
    noe_exporter *x;
    uint32_t statement;
    uint32_t node; /* of the graph */
    noe_op op;
    const noe_params *params;
    const char *name; /* of the node */
    Onnx__NodeProto proto;
    char **in;
    size_t cap_in;
    Onnx__AttributeProto *attributes[MAX_OPERANDS];
} putting;

typedef noe_status putter(putting *p);

/* ---- pieces ---- */

static char *copy_text(noe_arena *a, const char *s)
{
    return noe_arena_strdup(a, s);
}

static void add_input(putting *p, const char *name)
{
    NOE_ASSERT(p->proto.n_input < p->cap_in);
    p->in[p->proto.n_input++] = copy_text(&p->x->arena, name);
}

static Onnx__AttributeProto *add_attribute(putting *p, const char *name,
                                           Onnx__AttributeProto__AttributeType type)
{
    noe_arena *a = &p->x->arena;
    NOE_ASSERT(p->proto.n_attribute < MAX_OPERANDS);
    Onnx__AttributeProto *attr = NOE_NEW(a, Onnx__AttributeProto);
    onnx__attribute_proto__init(attr);
    attr->name = copy_text(a, name);
    attr->has_type = 1;
    attr->type = type;
    p->attributes[p->proto.n_attribute++] = attr;
    return attr;
}

static void put_int(putting *p, const char *name, int64_t i)
{
    Onnx__AttributeProto *a =
        add_attribute(p, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = 1;
    a->i = i;
}

static void put_float(putting *p, const char *name, double f)
{
    Onnx__AttributeProto *a =
        add_attribute(p, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = (float)f;
}

static void put_ints(putting *p, const char *name, const int64_t *list, int n)
{
    Onnx__AttributeProto *a =
        add_attribute(p, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = (size_t)n;
    a->ints = noe_arena_memdup(&p->x->arena, list, (size_t)n * sizeof *list);
}

static void put_text(putting *p, const char *name, const char *text)
{
    Onnx__AttributeProto *a =
        add_attribute(p, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = 1;
    a->s.len = strlen(text);
    a->s.data = noe_arena_memdup(&p->x->arena, text, a->s.len);
}

static const noe_value *param(const putting *p, noe_param which)
{
    return noe_params_get(p->op, p->params, which);
}

/* A parameter under its own name. */
static void put_param(putting *p, noe_param which)
{
    const noe_value *v = param(p, which);
    const char *name = noe_param_name(which);
    switch (v->kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        put_int(p, name, v->i);
        break;
    case NOE_KIND_FLOAT:
        put_float(p, name, v->f);
        break;
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        put_ints(p, name, v->list, v->n);
        break;
    }
}

/* A new constant of n elements, or a single one if n is negative. */
static const char *put_constant(putting *p, const char *what, noe_dtype dtype,
                                const void *data, int n)
{
    noe_type type = {dtype, noe_shape_make(n < 0 ? 0 : 1, (int64_t[]){n})};
    const char *name = noe_export_fresh_name(p->x, what);
    size_t bytes = (size_t)(n < 0 ? 1 : n) * noe_dtype_bytes(dtype);
    const void *copy = noe_arena_memdup(&p->x->arena, data, bytes);
    noe_export_depend(p->x, p->statement,
                      noe_export_constant(p->x, name, &type, copy, bytes));
    return name;
}

/* Integers as a constant input. */
static void put_operand(putting *p, const char *what, const int64_t *list, int n)
{
    add_input(p, put_constant(p, what, NOE_I64, list, n));
}

/* One number as a constant input. */
static void put_number(putting *p, const char *what, double number)
{
    noe_type type = {.dtype = NOE_F32};
    const char *name = noe_export_fresh_name(p->x, what);
    float value = (float)number;
    const void *data = noe_arena_memdup(&p->x->arena, &value, sizeof value);
    noe_export_depend(p->x, p->statement,
                      noe_export_constant(p->x, name, &type, data, sizeof value));
    add_input(p, name);
}

/* As attribute before opset `since`, as input from then on. */
static void put_list(putting *p, const char *name, int since, const int64_t *list,
                     int n)
{
    if (p->x->m->opset < since)
        put_ints(p, name, list, n);
    else
        put_operand(p, name, list, n);
}

static const noe_shape *input_shape(const putting *p, int i)
{
    const noe_graph *g = p->x->g;
    return &noe_graph_type(g, noe_graph_inputs(g, p->node)[i])->shape;
}

static void finish_node(putting *p, const char *op_type, const char *out)
{
    noe_arena *a = &p->x->arena;
    p->proto.input = p->in;
    p->proto.attribute = p->attributes;
    p->proto.op_type = copy_text(a, op_type);
    p->proto.name = copy_text(a, p->name);
    p->proto.n_output = 1;
    p->proto.output = NOE_NEW_N(a, char *, 1);
    p->proto.output[0] = copy_text(a, out);
    noe_rope_add_message(&p->x->statements[p->statement].bytes, NOE_GRAPH_NODE,
                         &p->proto.base);
}

static void start_node(putting *p, noe_exporter *x, uint32_t statement,
                       const char *what, size_t max_inputs)
{
    *p = (putting){.x = x, .statement = statement, .cap_in = max_inputs};
    onnx__node_proto__init(&p->proto);
    p->in = NOE_NEW_N(&x->arena, char *, max_inputs);
    p->name = noe_export_fresh_name(x, what);
}

/* ---- putters ---- */

static noe_status put_plain(putting *p)
{
    (void)p;
    return NOE_OK;
}

static noe_status fail_opset(putting *p, const char *what)
{
    return noe_fail(p->x->err, NOE_ERR_UNSUPPORTED,
                    "%s %s cannot be written in opset %d", noe_op_get(p->op)->onnx,
                    what, (int)p->x->m->opset);
}

static void put_conv_window(putting *p)
{
    const noe_shape *w = input_shape(p, 1);
    put_ints(p, "kernel_shape", w->dim + 2, w->rank - 2);
    put_param(p, NOE_PARAM_STRIDES);
    put_param(p, NOE_PARAM_PADS);
    put_param(p, NOE_PARAM_DILATIONS);
    put_param(p, NOE_PARAM_GROUP);
}

/* Operands that broadcast came with opset 8. */
static noe_status put_order(putting *p)
{
    if (p->x->m->opset < 8 && !noe_shape_eq(input_shape(p, 0), input_shape(p, 1)))
        return fail_opset(p, "of operands that broadcast");
    return NOE_OK;
}

static noe_status put_alpha(putting *p)
{
    put_param(p, NOE_PARAM_ALPHA);
    return NOE_OK;
}

static noe_status put_swish(putting *p)
{
    if (p->x->m->opset < 24)
        return fail_opset(p, "");
    return put_alpha(p);
}

static noe_status put_hard_sigmoid(putting *p)
{
    put_param(p, NOE_PARAM_ALPHA);
    put_param(p, NOE_PARAM_BETA);
    return NOE_OK;
}

static noe_status put_hard_swish(putting *p)
{
    return p->x->m->opset < 14 ? fail_opset(p, "") : NOE_OK;
}

static noe_status put_gelu(putting *p)
{
    if (p->x->m->opset < 20)
        return fail_opset(p, "");
    if (param(p, NOE_PARAM_APPROXIMATE)->i)
        put_text(p, "approximate", "tanh");
    return NOE_OK;
}

static bool is_default(putting *p, noe_param which)
{
    noe_value v;
    return noe_param_default(p->op, which, 0, &v) && noe_value_eq(&v, param(p, which));
}

/* Bounds became inputs with opset 11; one that is absent is not written. */
static noe_status put_clip(putting *p)
{
    static const noe_param bounds[] = {NOE_PARAM_MIN, NOE_PARAM_MAX};
    int n = is_default(p, NOE_PARAM_MAX) ? 1 : 2;
    if (p->x->m->opset < 11) {
        put_param(p, NOE_PARAM_MIN);
        put_param(p, NOE_PARAM_MAX);
        return NOE_OK;
    }
    for (int i = 0; i < n; i++) {
        if (is_default(p, bounds[i]))
            add_input(p, "");
        else
            put_number(p, noe_param_name(bounds[i]), param(p, bounds[i])->f);
    }
    return NOE_OK;
}

static noe_status put_pow(putting *p)
{
    put_number(p, "exponent", param(p, NOE_PARAM_EXPONENT)->f);
    return NOE_OK;
}

static noe_status put_conv(putting *p)
{
    put_conv_window(p);
    return NOE_OK;
}

static noe_status put_max_pool(putting *p)
{
    const noe_value *dilations = param(p, NOE_PARAM_DILATIONS);
    bool is_dilated = false;
    for (int i = 0; i < dilations->n; i++)
        is_dilated |= dilations->list[i] != 1;
    if (is_dilated && p->x->m->opset < 10)
        return fail_opset(p, "with dilations");
    put_param(p, NOE_PARAM_KERNEL_SHAPE);
    put_param(p, NOE_PARAM_STRIDES);
    put_param(p, NOE_PARAM_PADS);
    if (is_dilated)
        put_param(p, NOE_PARAM_DILATIONS);
    return NOE_OK;
}

static noe_status put_average_pool(putting *p)
{
    put_param(p, NOE_PARAM_KERNEL_SHAPE);
    put_param(p, NOE_PARAM_STRIDES);
    put_param(p, NOE_PARAM_PADS);
    put_param(p, NOE_PARAM_COUNT_INCLUDE_PAD);
    return NOE_OK;
}

/* To ONNX an empty list of axes means all axes, to the algebra none. */
static bool put_nothing_to_do(putting *p, const noe_value *axes)
{
    if (axes->n > 0)
        return false;
    finish_node(p, "Identity", p->x->plans[p->node].names[0]);
    p->name = NULL; /* done */
    return true;
}

static noe_status put_reduction(putting *p)
{
    const noe_value *axes = param(p, NOE_PARAM_AXES);
    if (put_nothing_to_do(p, axes))
        return NOE_OK;
    put_list(p, "axes", p->op == NOE_OP_REDUCE_SUM ? 13 : 18, axes->list, axes->n);
    put_param(p, NOE_PARAM_KEEPDIMS);
    return NOE_OK;
}

static void put_helper_transpose(noe_exporter *x, uint32_t statement, const char *in,
                                 const char *out, int rank, int64_t axis)
{
    putting p;
    int64_t perm[NOE_MAX_RANK];
    start_node(&p, x, statement, "transpose", 1);
    add_input(&p, in);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    put_ints(&p, "perm", perm, rank);
    finish_node(&p, "Transpose", out);
}

/* Before opset 13 all axes from `axis` on are one: the axis has to be brought to the
 * end and back, by swapping it with the last. */
static noe_status put_softmax(putting *p)
{
    const noe_shape *s = input_shape(p, 0);
    int64_t axis = param(p, NOE_PARAM_AXIS)->i;
    if (p->x->m->opset >= 13 || axis == s->rank - 1) {
        put_param(p, NOE_PARAM_AXIS);
        return NOE_OK;
    }
    const char *moved = noe_export_fresh_name(p->x, "transposed");
    const char *inner = noe_export_fresh_name(p->x, "softmax");
    const char **out = &p->x->plans[p->node].names[0];
    put_helper_transpose(p->x, p->statement, p->in[0], moved, s->rank, axis);
    p->in[0] = copy_text(&p->x->arena, moved);
    put_int(p, "axis", s->rank - 1);
    finish_node(p, noe_op_get(p->op)->onnx, inner);
    put_helper_transpose(p->x, p->statement, inner, *out, s->rank, axis);
    p->name = NULL; /* done */
    return NOE_OK;
}

static noe_status put_transpose(putting *p)
{
    put_param(p, NOE_PARAM_PERM);
    return NOE_OK;
}

/* A size 0 in the operand would copy the input's size unless allowzero is set. */
static noe_status put_reshape(putting *p)
{
    const noe_value *shape = param(p, NOE_PARAM_SHAPE);
    const noe_shape *s = input_shape(p, 0);
    const noe_open_sizes *open = noe_pool_open(p->x->m->pool);
    noe_shape as_shape = noe_shape_make(shape->n, shape->list);
    if (open && noe_open_shape_has(open, &as_shape)) {
        int64_t how[NOE_MAX_LIST];
        if (!noe_open_reshape(open, s, shape, how))
            return noe_fail(p->x->err, NOE_ERR_UNSUPPORTED,
                            "a reshape cannot be written for all sizes");
        put_operand(p, "shape", how, shape->n);
        return NOE_OK;
    }
    bool has_zero = false, copies = true;
    for (int i = 0; i < shape->n; i++) {
        if (shape->list[i] != 0)
            continue;
        has_zero = true;
        copies = copies && i < s->rank && s->dim[i] == 0;
    }
    put_operand(p, "shape", shape->list, shape->n);
    if (has_zero && !copies) {
        if (p->x->m->opset < 14)
            return fail_opset(p, "to size 0");
        put_int(p, "allowzero", 1);
    }
    return NOE_OK;
}

static noe_status put_concat(putting *p)
{
    put_param(p, NOE_PARAM_AXIS);
    return NOE_OK;
}

static noe_status put_slice(putting *p)
{
    int64_t step = param(p, NOE_PARAM_STEP)->i;
    if (step != 1 && p->x->m->opset < 10)
        return fail_opset(p, "with steps");
    put_list(p, "starts", 10, &param(p, NOE_PARAM_START)->i, 1);
    put_list(p, "ends", 10, &param(p, NOE_PARAM_END)->i, 1);
    put_list(p, "axes", 10, &param(p, NOE_PARAM_AXIS)->i, 1);
    if (step != 1)
        put_operand(p, "steps", &step, 1);
    return NOE_OK;
}

static noe_status put_pad(putting *p)
{
    const noe_value *pads = param(p, NOE_PARAM_PADS);
    put_list(p, "pads", 11, pads->list, pads->n);
    return NOE_OK;
}

static noe_status put_gather(putting *p)
{
    const noe_value *indices = param(p, NOE_PARAM_INDICES);
    put_operand(p, "indices", indices->list, indices->n);
    put_param(p, NOE_PARAM_AXIS);
    return NOE_OK;
}

static const noe_type *output_type(const putting *p)
{
    return noe_graph_type(p->x->g, (noe_ref){p->node, 0});
}

/* `to` was a text before opset 6. */
static noe_status put_cast(putting *p)
{
    if (p->x->m->opset < 6)
        return fail_opset(p, "");
    put_param(p, NOE_PARAM_TO);
    return NOE_OK;
}

/* A product with ones, in whose shape it is broadcast: before there was Expand. */
static noe_status put_product_with_ones(putting *p, const noe_value *shape)
{
    noe_type type = {NOE_F32, noe_shape_make(shape->n, shape->list)};
    size_t n = (size_t)noe_shape_elements(&type.shape);
    if (n > MAX_ONES)
        return fail_opset(p, "of so many elements");
    float *ones = NOE_NEW_N(&p->x->arena, float, n);
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    const char *name = noe_export_fresh_name(p->x, "ones");
    noe_export_depend(p->x, p->statement,
                      noe_export_constant(p->x, name, &type, ones, n * sizeof *ones));
    add_input(p, name);
    finish_node(p, "Mul", p->x->plans[p->node].names[0]);
    p->name = NULL; /* done */
    return NOE_OK;
}

static noe_status put_expand(putting *p)
{
    const noe_value *shape = param(p, NOE_PARAM_SHAPE);
    if (p->x->m->opset < 8 && output_type(p)->dtype != NOE_F32)
        return fail_opset(p, "of other types than f32");
    if (p->x->m->opset < 8)
        return put_product_with_ones(p, shape);
    put_operand(p, "shape", shape->list, shape->n);
    return NOE_OK;
}

static void put_float_operand(putting *p, const char *what, const float *list, int n)
{
    add_input(p, put_constant(p, what, NOE_F32, list, n));
}

static void put_float_list(putting *p, const char *name, const float *list, int n)
{
    Onnx__AttributeProto *a =
        add_attribute(p, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    a->n_floats = (size_t)n;
    a->floats = noe_arena_memdup(&p->x->arena, list, (size_t)n * sizeof *list);
}

/* Resize began in opset 10, with asymmetric coordinates; before, there was Upsample. */
static noe_status put_resize(putting *p)
{
    static const char *const coordinates[] = {"asymmetric", "half_pixel", "asymmetric",
                                              "align_corners"};
    const noe_value *scales = param(p, NOE_PARAM_SCALES);
    int64_t mode = param(p, NOE_PARAM_MODE)->i, opset = p->x->m->opset;
    float all[NOE_MAX_RANK] = {1, 1};
    int n = scales->n + 2;
    for (int i = 0; i < scales->n; i++)
        all[i + 2] = (float)scales->list[i];
    put_text(p, "mode", mode == 0 ? "nearest" : "linear");
    if (opset < 11 && mode % 2 == 1)
        return fail_opset(p, "with these coordinates");
    if (opset < 9)
        put_float_list(p, "scales", all, n);
    if (opset < 10) {
        if (opset == 9)
            put_float_operand(p, "scales", all, n);
        finish_node(p, "Upsample", p->x->plans[p->node].names[0]);
        p->name = NULL; /* done */
        return NOE_OK;
    }
    if (opset >= 11) {
        put_text(p, "coordinate_transformation_mode", coordinates[mode]);
        if (mode == 0)
            put_text(p, "nearest_mode", "floor");
        if (opset < 13) /* roi is not optional */
            put_float_operand(p, "roi", NULL, 0);
        else
            add_input(p, "");
    }
    put_float_operand(p, "scales", all, n);
    return NOE_OK;
}

/* A condition of numbers is first made one of truth values. */
static noe_status put_where(putting *p)
{
    const noe_graph *g = p->x->g;
    putting cast;
    if (p->x->m->opset < 9)
        return fail_opset(p, "");
    if (noe_graph_type(g, noe_graph_inputs(g, p->node)[0])->dtype == NOE_BOOL)
        return NOE_OK;
    const char *name = noe_export_fresh_name(p->x, "condition");
    start_node(&cast, p->x, p->statement, "cast", 1);
    add_input(&cast, p->in[0]);
    put_int(&cast, "to", noe_dtype_to_onnx(NOE_BOOL));
    finish_node(&cast, "Cast", name);
    p->in[0] = copy_text(&p->x->arena, name);
    return NOE_OK;
}

/* Pads at the end that are negative are output_padding. */
static noe_status put_conv_transpose(putting *p)
{
    const noe_shape *w = input_shape(p, 1);
    const noe_value *pads = param(p, NOE_PARAM_PADS);
    int64_t plain[NOE_MAX_LIST], extra[NOE_MAX_LIST];
    bool has_extra = false;
    int n = w->rank - 2;
    for (int i = 0; i < 2 * n; i++) {
        plain[i] = pads->list[i] > 0 ? pads->list[i] : 0;
        extra[i % n] = plain[i] - pads->list[i];
        has_extra |= extra[i % n] > 0;
    }
    put_ints(p, "kernel_shape", w->dim + 2, n);
    put_param(p, NOE_PARAM_STRIDES);
    put_ints(p, "pads", plain, 2 * n);
    if (has_extra)
        put_ints(p, "output_padding", extra, n);
    put_param(p, NOE_PARAM_DILATIONS);
    put_param(p, NOE_PARAM_GROUP);
    return NOE_OK;
}

/* A node of the same statement, of one or two inputs; returns the name of its output,
 * which is made if it is NULL. */
static const char *put_helper(putting *of, const char *op_type, const char *a,
                              const char *b, const char *out)
{
    putting p;
    start_node(&p, of->x, of->statement, "normalization", 2);
    add_input(&p, a);
    if (b)
        add_input(&p, b);
    if (!out)
        out = noe_export_fresh_name(of->x, "normalization");
    finish_node(&p, op_type, out);
    return out;
}

static const char *put_helper_mean(putting *of, const char *in)
{
    putting p;
    const noe_shape *s = input_shape(of, 0);
    int64_t axis = param(of, NOE_PARAM_AXIS)->i, axes[NOE_MAX_RANK];
    const char *out = noe_export_fresh_name(of->x, "mean");
    start_node(&p, of->x, of->statement, "mean", 1);
    add_input(&p, in);
    for (int64_t i = axis; i < s->rank; i++)
        axes[i - axis] = i;
    put_ints(&p, "axes", axes, (int)(s->rank - axis));
    finish_node(&p, "ReduceMean", out);
    return out;
}

/* Before opset 17 it is written out. */
static noe_status put_layer_normalization(putting *p)
{
    if (p->x->m->opset >= 17) {
        put_param(p, NOE_PARAM_AXIS);
        put_param(p, NOE_PARAM_EPSILON);
        return NOE_OK;
    }
    const char *out = p->x->plans[p->node].names[0];
    bool is_shifted = p->proto.n_input == 3;
    float number = (float)param(p, NOE_PARAM_EPSILON)->f;
    const char *epsilon = put_constant(p, "epsilon", NOE_F32, &number, -1);
    const char *mean = put_helper_mean(p, p->in[0]);
    const char *difference = put_helper(p, "Sub", p->in[0], mean, NULL);
    const char *square = put_helper(p, "Mul", difference, difference, NULL);
    const char *variance = put_helper_mean(p, square);
    const char *sum = put_helper(p, "Add", variance, epsilon, NULL);
    const char *deviation = put_helper(p, "Sqrt", sum, NULL, NULL);
    const char *standard = put_helper(p, "Div", difference, deviation, NULL);
    const char *scaled =
        put_helper(p, "Mul", standard, p->in[1], is_shifted ? NULL : out);
    if (is_shifted)
        put_helper(p, "Add", scaled, p->in[2], out);
    p->name = NULL; /* done */
    return NOE_OK;
}

static noe_status put_instance_normalization(putting *p)
{
    put_param(p, NOE_PARAM_EPSILON);
    return NOE_OK;
}

static const char *put_helper_reshape(putting *of, const char *in, const int64_t *dims,
                                      int n)
{
    const char *shape = put_constant(of, "shape", NOE_I64, dims, n);
    return put_helper(of, "Reshape", in, shape, NULL);
}

/* Each group as one channel, scaled by 1. */
static const char *put_helper_instances(putting *of, const char *in, int64_t groups)
{
    putting p;
    const char *out = noe_export_fresh_name(of->x, "instances");
    float *numbers = NOE_NEW_N(&of->x->arena, float, (size_t)groups);
    const char *zeros = put_constant(of, "zeros", NOE_F32, numbers, (int)groups);
    for (int64_t i = 0; i < groups; i++)
        numbers[i] = 1;
    const char *ones = put_constant(of, "ones", NOE_F32, numbers, (int)groups);
    start_node(&p, of->x, of->statement, "instances", 3);
    add_input(&p, in);
    add_input(&p, ones);
    add_input(&p, zeros);
    put_float(&p, "epsilon", param(of, NOE_PARAM_EPSILON)->f);
    finish_node(&p, "InstanceNormalization", out);
    return out;
}

/* With a scale for each channel it began in opset 21; before, it is written out. */
static noe_status put_group_normalization(putting *p)
{
    const noe_shape *s = input_shape(p, 0);
    int64_t groups = param(p, NOE_PARAM_NUM_GROUPS)->i;
    int64_t together[] = {s->dim[0], groups, -1};
    int64_t channels[NOE_MAX_RANK] = {s->dim[1]};
    if (p->x->m->opset >= 21) {
        put_param(p, NOE_PARAM_NUM_GROUPS);
        put_param(p, NOE_PARAM_EPSILON);
        return NOE_OK;
    }
    for (int i = 1; i < s->rank - 1; i++)
        channels[i] = 1;
    const char *grouped = put_helper_reshape(p, p->in[0], together, 3);
    const char *standard = put_helper_instances(p, grouped, groups);
    const char *image = put_helper_reshape(p, standard, s->dim, s->rank);
    const char *scale = put_helper_reshape(p, p->in[1], channels, s->rank - 1);
    const char *shift = put_helper_reshape(p, p->in[2], channels, s->rank - 1);
    const char *scaled = put_helper(p, "Mul", image, scale, NULL);
    put_helper(p, "Add", scaled, shift, p->x->plans[p->node].names[0]);
    p->name = NULL; /* done */
    return NOE_OK;
}

/* C became optional in opset 11. */
static noe_status put_gemm(putting *p)
{
    if (p->proto.n_input == 2 && p->x->m->opset < 11) {
        static const float zero = 0;
        put_float_operand(p, "zero", &zero, 1);
    }
    put_param(p, NOE_PARAM_ALPHA);
    put_param(p, NOE_PARAM_BETA);
    put_param(p, NOE_PARAM_TRANS_A);
    put_param(p, NOE_PARAM_TRANS_B);
    return NOE_OK;
}

static noe_status put_batch_normalization(putting *p)
{
    put_param(p, NOE_PARAM_EPSILON);
    return NOE_OK;
}

static noe_status put_flatten(putting *p)
{
    put_param(p, NOE_PARAM_AXIS);
    return NOE_OK;
}

static noe_status put_squeeze(putting *p)
{
    const noe_value *axes = param(p, NOE_PARAM_AXES);
    if (put_nothing_to_do(p, axes))
        return NOE_OK;
    put_list(p, "axes", 13, axes->list, axes->n);
    return NOE_OK;
}

/* ---- the table ---- */

#define put_add                 put_plain
#define put_sub                 put_plain
#define put_mul                 put_plain
#define put_div                 put_plain
#define put_neg                 put_plain
#define put_relu                put_plain
#define put_sigmoid             put_plain
#define put_tanh                put_plain
#define put_exp                 put_plain
#define put_sqrt                put_plain
#define put_reciprocal          put_plain
#define put_matmul              put_plain
#define put_max                 put_order
#define put_min                 put_order
#define put_abs                 put_plain
#define put_log                 put_plain
#define put_erf                 put_plain
#define put_reduce_max          put_reduction
#define put_leaky_relu          put_alpha
#define put_elu                 put_alpha
#define put_softplus            put_plain
#define put_prelu               put_plain
#define put_reduce_min          put_reduction
#define put_log_softmax         put_softmax
#define put_reduce_sum          put_reduction
#define put_reduce_mean         put_reduction
#define put_zeros               NULL /* constants are weights */
#define put_ones                NULL
#define put_identity_matrix     NULL
#define put_identity_kernel     NULL
#define put_average_kernel      NULL
#define put_scalar              NULL
#define put_conv_bias           put_conv
#define put_global_average_pool put_plain
#define put_unsqueeze           put_squeeze

static putter *const putters[NOE_OP_COUNT] = {
#define OP(ID, NAME, MIN_IN, MAX_IN, PARAM_LIST, TRAIT_LIST, ONNX) \
    [NOE_OP_##ID] = put_##NAME,
#include "core/ops.def"
};

/* A second version of an opaque node, with other inputs: the message again, without
 * what must be unique. */
static void put_copy(noe_exporter *x, uint32_t statement, uint32_t i)
{
    const noe_onnx_node *n = &x->m->nodes[x->g->nodes[i].leaf];
    const noe_ref *in = noe_graph_inputs(x->g, i);
    Onnx__NodeProto proto = *n->proto;
    proto.name = copy_text(&x->arena, noe_export_fresh_name(x, proto.op_type));
    proto.input = NOE_NEW_N(&x->arena, char *, proto.n_input);
    proto.output = NOE_NEW_N(&x->arena, char *, proto.n_output);
    for (size_t k = 0; k < proto.n_input; k++) {
        const char *name = noe_ref_is_none(in[k])
                               ? ""
                               : noe_export_input(x, statement, in[k], n->in[k]);
        proto.input[k] = copy_text(&x->arena, name);
    }
    for (size_t k = 0; k < proto.n_output; k++)
        proto.output[k] = copy_text(&x->arena, x->plans[i].names[k]);
    noe_rope_add_message(&x->statements[statement].bytes, NOE_GRAPH_NODE, &proto.base);
}

noe_status noe_export_put(noe_exporter *x, uint32_t statement, uint32_t i)
{
    const noe_node *n = noe_graph_node(x->g, i);
    if (n->op == NOE_OP_OPAQUE) {
        put_copy(x, statement, i);
        return NOE_OK;
    }
    uint32_t n_parts;
    const noe_ref *parts = noe_export_parts(x, i, &n_parts);
    NOE_ASSERT(n->op < NOE_OP_COUNT && putters[n->op]);
    putting p;
    start_node(&p, x, statement, noe_op_get(n->op)->name, n_parts + MAX_OPERANDS);
    p.node = i;
    p.op = n->op;
    p.params = n->params;
    for (uint32_t k = 0; k < n_parts; k++)
        add_input(&p, noe_export_input(x, statement, parts[k], NOE_NO_VALUE));
    NOE_TRY(putters[n->op](&p));
    if (p.name)
        finish_node(&p, noe_op_get(n->op)->onnx, x->plans[i].names[0]);
    return NOE_OK;
}

void noe_export_put_identity(noe_exporter *x, uint32_t statement, const char *in,
                             const char *out)
{
    putting p;
    start_node(&p, x, statement, "identity", 1);
    add_input(&p, in);
    finish_node(&p, "Identity", out);
}
