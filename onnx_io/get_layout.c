/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of operators that move data. Operands that are attributes in old opsets and
 * inputs in newer ones are read in the model's form; what refers to the input's shape
 * (0 and -1 in Reshape, negative axes and bounds) is resolved here.
 */
#include "onnx_io/get.h"
#include <math.h>

static const char *begin(noe_getting *g, const char *attributes, size_t max_inputs,
                         noe_ref *x, const noe_shape **s)
{
    NOE_GET(noe_get_only_attributes(g, attributes));
    NOE_GET(noe_get_want_inputs(g, 1, max_inputs));
    NOE_GET(noe_get_one_output(g));
    return noe_get_data(g, 0, x, s);
}

static const char *finish(noe_getting *g, const noe_params *p, noe_ref x)
{
    noe_ref out;
    NOE_GET(noe_get_add(g, g->op, p, &x, 1, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

const char *noe_get_resolve_axis(noe_getting *g, int64_t *axis, int rank)
{
    if (*axis < -rank || *axis >= rank)
        return noe_get_why(g, "axis %lld does not exist", (long long)*axis);
    *axis += *axis < 0 ? rank : 0;
    return NULL;
}

const char *noe_get_transpose(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value perm;
    bool found;
    noe_params p = {0};
    NOE_GET(begin(g, "perm", 1, &x, &s));
    NOE_GET(noe_get_list(g, "perm", &perm, &found));
    if (!found) {
        perm = (noe_value){.kind = NOE_KIND_INTS, .n = s->rank};
        for (int i = 0; i < s->rank; i++)
            perm.list[i] = s->rank - 1 - i;
    }
    noe_get_set_list(g->op, &p, NOE_PARAM_PERM, &perm);
    return finish(g, &p, x);
}

/* Replaces 0 and -1. */
static const char *resolve_shape(noe_getting *g, const noe_shape *s, noe_value *shape)
{
    bool allow_zero = noe_onnx_attr_int(g->node->proto, "allowzero", 0) != 0;
    int open = -1;
    noe_shape known = {0};
    if (shape->n > NOE_MAX_RANK)
        return noe_get_why(g, "the new rank is %d", shape->n);
    for (int i = 0; i < shape->n; i++) {
        int64_t dim = shape->list[i];
        if (dim == 0 && !allow_zero) {
            if (i >= s->rank)
                return noe_get_why(g, "size %d is copied from nowhere", i);
            dim = s->dim[i];
        }
        if (dim < -1 || (dim == -1 && open >= 0))
            return "the new shape is malformed";
        if (dim == -1)
            open = i;
        else
            known.dim[known.rank++] = dim;
        shape->list[i] = dim;
    }
    if (open < 0)
        return NULL;
    int64_t total = noe_shape_elements(s), rest = noe_shape_elements(&known);
    if (rest <= 0 || total % rest != 0)
        return "size -1 cannot be resolved";
    shape->list[open] = total / rest;
    return NULL;
}

const char *noe_get_reshape(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value shape;
    noe_params p = {0};
    NOE_GET(begin(g, "allowzero", 2, &x, &s));
    NOE_GET(noe_get_ints(g, 1, "shape", &shape));
    NOE_GET(resolve_shape(g, s, &shape));
    noe_get_set_list(g->op, &p, NOE_PARAM_SHAPE, &shape);
    return finish(g, &p, x);
}

/* Concat of n is a left-nested chain of n - 1. */
const char *noe_get_concat(noe_getting *g)
{
    noe_ref all, next;
    const noe_shape *s;
    noe_params p = {0};
    size_t n = noe_get_n_inputs(g);
    NOE_GET(begin(g, "axis", n, &all, &s));
    if (!noe_onnx_attr(g->node->proto, "axis"))
        return "axis is missing";
    int64_t axis = noe_onnx_attr_int(g->node->proto, "axis", 0);
    NOE_GET(noe_get_resolve_axis(g, &axis, s->rank));
    if (n == 1)
        return noe_get_alias(g);
    noe_get_set_int(NOE_OP_CONCAT, &p, NOE_PARAM_AXIS, axis);
    for (size_t i = 1; i < n; i++) {
        NOE_GET(noe_get_data(g, i, &next, NULL));
        NOE_GET(noe_get_add(g, NOE_OP_CONCAT, &p, (noe_ref[]){all, next}, 2, &all));
    }
    noe_get_done(g, 0, NOE_OP_CONCAT, all);
    return NULL;
}

const char *noe_get_add_slice(noe_getting *g, noe_ref x, int64_t axis, int64_t start,
                              int64_t end, int64_t step, noe_ref *out)
{
    noe_params p = {0};
    noe_get_set_int(NOE_OP_SLICE, &p, NOE_PARAM_AXIS, axis);
    noe_get_set_int(NOE_OP_SLICE, &p, NOE_PARAM_START, start);
    noe_get_set_int(NOE_OP_SLICE, &p, NOE_PARAM_END, end);
    noe_get_set_int(NOE_OP_SLICE, &p, NOE_PARAM_STEP, step);
    return noe_get_add(g, NOE_OP_SLICE, &p, &x, 1, out);
}

typedef struct slices {
    noe_value starts, ends, axes, steps;
} slices;

static const char *get_slices(noe_getting *g, slices *v)
{
    bool found, has_axes, has_steps = false;
    NOE_GET(noe_get_list_or_input(g, "starts", 10, 1, &v->starts, &found));
    if (!found)
        return "starts is missing";
    NOE_GET(noe_get_list_or_input(g, "ends", 10, 2, &v->ends, &found));
    if (!found)
        return "ends is missing";
    NOE_GET(noe_get_list_or_input(g, "axes", 10, 3, &v->axes, &has_axes));
    if (g->m->opset >= 10)
        NOE_GET(noe_get_list_or_input(g, "steps", 10, 4, &v->steps, &has_steps));
    if (!has_axes)
        v->axes.n = v->starts.n;
    if (!has_steps)
        v->steps.n = v->starts.n;
    for (int i = 0; i < v->starts.n; i++) {
        if (!has_axes)
            v->axes.list[i] = i;
        if (!has_steps)
            v->steps.list[i] = 1;
    }
    if (v->ends.n != v->starts.n || v->axes.n != v->starts.n ||
        v->steps.n != v->starts.n)
        return "starts, ends, axes and steps differ in length";
    return NULL;
}

static const char *check_slices(noe_getting *g, slices *v, int rank)
{
    bool seen[NOE_MAX_RANK] = {false};
    for (int i = 0; i < v->axes.n; i++) {
        NOE_GET(noe_get_resolve_axis(g, &v->axes.list[i], rank));
        if (seen[v->axes.list[i]])
            return "an axis occurs twice";
        seen[v->axes.list[i]] = true;
        if (v->steps.list[i] < 1)
            return noe_get_why(g, "step is %lld", (long long)v->steps.list[i]);
    }
    return NULL;
}

const char *noe_get_slice(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    slices v = {0};
    bool inputs = g->m->opset >= 10;
    NOE_GET(begin(g, inputs ? "" : "axes ends starts", inputs ? 5 : 1, &x, &s));
    NOE_GET(get_slices(g, &v));
    NOE_GET(check_slices(g, &v, s->rank));
    if (v.starts.n == 0)
        return noe_get_alias(g);
    for (int i = 0; i < v.starts.n; i++)
        NOE_GET(noe_get_add_slice(g, x, v.axes.list[i], v.starts.list[i],
                                  v.ends.list[i], v.steps.list[i], &x));
    noe_get_done(g, 0, NOE_OP_SLICE, x);
    return NULL;
}

/* Sizes of the parts, one for each output. Lists are longer than noe_value holds. */
static const char *get_split_sizes(noe_getting *g, int64_t dim, int64_t *sizes)
{
    int64_t n = (int64_t)g->node->proto->n_output;
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, "split");
    if (g->m->opset >= 13 && noe_get_has(g, 1)) {
        const noe_onnx_ints *ints = g->m->values[g->node->in[1]].ints;
        if (!ints || ints->n != n)
            return "split is not constant";
        for (int64_t i = 0; i < n; i++) {
            if (!ints->known[i])
                return "split is not constant";
            sizes[i] = ints->v[i];
        }
        g->node->role[1] = NOE_SLOT_OPERAND;
        return NULL;
    }
    if (a) {
        if ((int64_t)a->n_ints != n)
            return "split and the outputs differ in number";
        memcpy(sizes, a->ints, (size_t)n * sizeof *sizes);
        return NULL;
    }
    if (g->m->opset < 18 && dim % n != 0)
        return "the parts are not equal";
    if (noe_onnx_attr_int(g->node->proto, "num_outputs", n) != n)
        return "num_outputs differs from the outputs";
    int64_t part = (dim + n - 1) / n; /* the last may be smaller */
    for (int64_t i = 0; i < n; i++)
        sizes[i] = i + 1 < n ? part : dim - part * (n - 1);
    return NULL;
}

static const char *check_split_sizes(int64_t dim, const int64_t *sizes, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] < 0 || sizes[i] > dim)
            return "a part has an impossible size";
        sum += sizes[i];
    }
    return sum == dim ? NULL : "the parts do not make up the whole";
}

/* One slice for each output. All are made before any is declared, so that a node is
 * imported as a whole or not at all. */
const char *noe_get_split(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    size_t n = g->node->proto->n_output;
    NOE_GET(noe_get_only_attributes(g, g->m->opset >= 18   ? "axis num_outputs"
                                       : g->m->opset >= 13 ? "axis"
                                                           : "axis split"));
    NOE_GET(noe_get_want_inputs(g, 1, g->m->opset >= 13 ? 2 : 1));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    int64_t axis = noe_onnx_attr_int(g->node->proto, "axis", 0);
    NOE_GET(noe_get_resolve_axis(g, &axis, s->rank));
    if (n == 0)
        return "it has no outputs";
    int64_t *sizes = NOE_NEW_N(&g->m->arena, int64_t, n);
    noe_ref *parts = NOE_NEW_N(&g->m->arena, noe_ref, n);
    NOE_GET(get_split_sizes(g, s->dim[axis], sizes));
    NOE_GET(check_split_sizes(s->dim[axis], sizes, n));
    for (int64_t i = 0, start = 0; i < (int64_t)n; start += sizes[i++])
        NOE_GET(noe_get_add_slice(g, x, axis, start, start + sizes[i], 1, &parts[i]));
    for (size_t i = 0; i < n; i++)
        noe_get_done(g, (uint32_t)i, NOE_OP_SLICE, parts[i]);
    return NULL;
}

/* Padding is with zero: absent, or a constant of that value. */
static const char *check_pad_value(noe_getting *g)
{
    if (g->m->opset < 11)
        return noe_onnx_attr_float(g->node->proto, "value", 0) == 0
                   ? NULL
                   : "the padding value is not 0";
    if (!noe_get_has(g, 2))
        return NULL;
    const float *value;
    int64_t n;
    NOE_GET(noe_get_floats(g, 2, "the padding value", &value, &n));
    return n == 1 && *value == 0 && !signbit(*value) ? NULL
                                                     : "the padding value is not 0";
}

/* Spreads pads over `axes` to all axes. */
static const char *spread_pads(noe_getting *g, const noe_shape *s,
                               const noe_value *pads, noe_value *axes, noe_value *all)
{
    *all = (noe_value){.kind = NOE_KIND_INTS, .n = 2 * s->rank};
    if (pads->n != 2 * axes->n)
        return noe_get_why(g, "pads has %d values", pads->n);
    bool seen[NOE_MAX_RANK] = {false};
    for (int i = 0; i < axes->n; i++) {
        NOE_GET(noe_get_resolve_axis(g, &axes->list[i], s->rank));
        int64_t axis = axes->list[i];
        if (seen[axis])
            return "an axis occurs twice";
        seen[axis] = true;
        if (pads->list[i] < 0 || pads->list[i + axes->n] < 0)
            return "it crops";
        all->list[axis] = pads->list[i];
        all->list[axis + s->rank] = pads->list[i + axes->n];
    }
    return NULL;
}

const char *noe_get_pad(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value pads, axes, all;
    bool found;
    noe_params p = {0};
    bool inputs = g->m->opset >= 11;
    size_t max_inputs = !inputs ? 1 : g->m->opset >= 18 ? 4 : 3;
    NOE_GET(begin(g, inputs ? "mode" : "mode pads value", max_inputs, &x, &s));
    if (!noe_get_text_is(g, "mode", "constant", "constant"))
        return "mode is not constant";
    NOE_GET(noe_get_list_or_input(g, "pads", 11, 1, &pads, &found));
    if (!found)
        return "pads is missing";
    NOE_GET(check_pad_value(g));
    if (noe_get_has(g, 3)) {
        NOE_GET(noe_get_ints(g, 3, "axes", &axes));
    } else {
        for (axes.n = 0; axes.n < s->rank; axes.n++)
            axes.list[axes.n] = axes.n;
    }
    NOE_GET(spread_pads(g, s, &pads, &axes, &all));
    noe_get_set_list(g->op, &p, NOE_PARAM_PADS, &all);
    return finish(g, &p, x);
}

const char *noe_get_flatten(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    NOE_GET(begin(g, "axis", 1, &x, NULL));
    noe_get_set_int(g->op, &p, NOE_PARAM_AXIS,
                    noe_onnx_attr_int(g->node->proto, "axis", 1));
    return finish(g, &p, x);
}

static const char *get_axes(noe_getting *g, noe_ref *x, const noe_shape **s,
                            noe_value *axes, bool *found)
{
    bool inputs = g->m->opset >= 13;
    NOE_GET(begin(g, inputs ? "" : "axes", inputs ? 2 : 1, x, s));
    return noe_get_list_or_input(g, "axes", 13, 1, axes, found);
}

const char *noe_get_squeeze(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value axes;
    bool found;
    noe_params p = {0};
    NOE_GET(get_axes(g, &x, &s, &axes, &found));
    if (!found) {
        axes.n = 0;
        for (int i = 0; i < s->rank; i++) {
            if (s->dim[i] == 1)
                axes.list[axes.n++] = i;
        }
    }
    noe_get_set_list(g->op, &p, NOE_PARAM_AXES, &axes);
    return finish(g, &p, x);
}

const char *noe_get_unsqueeze(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_value axes;
    bool found;
    noe_params p = {0};
    NOE_GET(get_axes(g, &x, &s, &axes, &found));
    if (!found)
        return "axes is missing";
    noe_get_set_list(g->op, &p, NOE_PARAM_AXES, &axes);
    return finish(g, &p, x);
}
