/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies, sequences, optionals.
 */
#include "onnx_io/run/call.h"
#include <stdlib.h>

#define MAX_CARRIED 256 /* values that a loop hands on, and scan outputs */

static const Onnx__GraphProto *body_of(const noe_call *c, const char *name)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, name);
    return a ? a->g : NULL;
}

static bool is_true(const noe_run_value *v)
{
    return v->n == 1 && v->elem == NOE_ELEM_BOOL && *(const uint8_t *)v->data;
}

static noe_status run_if(noe_call *c)
{
    const noe_run_value *test = c->in[0];
    if (test->n != 1 || test->elem != NOE_ELEM_BOOL)
        return noe_call_fail(c, "the condition is not one truth value");
    const Onnx__GraphProto *body =
        body_of(c, is_true(test) ? "then_branch" : "else_branch");
    if (!body)
        return noe_call_fail(c, "a branch is missing");
    return noe_call_body(c, body, NULL, 0, c->out, c->n_out);
}

static noe_run_value *scalar(noe_elem elem, int64_t x)
{
    noe_run_value *v = noe_run_tensor_new(elem, &(noe_dims){0}, SIZE_MAX);
    noe_run_store_i64(v, &x);
    return v;
}

/* Tensors of one shape, stacked on a new axis; at least one, or of a declared type. */
static noe_status stack(noe_call *c, int out, noe_run_value **items, int64_t n,
                        int axis, bool reverse)
{
    const noe_run_value *first = items[0];
    noe_dims shape = {.rank = first->shape.rank + 1};
    if (axis < 0)
        axis += shape.rank;
    if (shape.rank > NOE_RUN_MAX_RANK || axis < 0 || axis >= shape.rank)
        return noe_call_fail(c, "scan axis %d is out of range", axis);
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = i == axis ? n : first->shape.dim[i < axis ? i : i - 1];
    NOE_OUT(y, c, out, first->elem, &shape);
    size_t width = (size_t)noe_elem_get((int)y->elem)->bytes;
    int64_t inner = noe_dims_count(&shape, axis + 1, shape.rank);
    int64_t outer = noe_dims_count(&shape, 0, axis);
    for (int64_t i = 0; i < n; i++) {
        const noe_run_value *x = items[reverse ? n - 1 - i : i];
        if (x->form != NOE_FORM_TENSOR || x->elem != y->elem ||
            !noe_dims_eq(&x->shape, &first->shape))
            return noe_call_fail(c, "scan output %d changes type or shape", out);
        for (int64_t o = 0; o < outer; o++) {
            int64_t to = (o * n + i) * inner;
            for (int64_t k = 0; k < inner && y->elem == NOE_ELEM_STRING; k++)
                y->text[to + k] = noe_strdup(noe_run_text(x, o * inner + k));
            if (y->elem != NOE_ELEM_STRING)
                memcpy((char *)y->data + (size_t)to * width,
                       (const char *)x->data + (size_t)(o * inner) * width,
                       (size_t)inner * width);
        }
    }
    return NOE_OK;
}

/* A scan output of no iterations: as declared, open sizes zero. */
static noe_status empty_scan(noe_call *c, int out, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *t = info->type;
    if (!t || !t->tensor_type)
        return noe_call_unsupported(c, "no iteration and no type of output %d", out);
    noe_dims shape = {.rank = 1};
    const Onnx__TensorShapeProto *s = t->tensor_type->shape;
    for (size_t i = 0; s && i < s->n_dim && shape.rank < NOE_RUN_MAX_RANK; i++)
        shape.dim[shape.rank++] = s->dim[i]->has_dim_value ? s->dim[i]->dim_value : 0;
    NOE_OUT(y, c, out, (noe_elem)t->tensor_type->elem_type, &shape);
    return y ? NOE_OK : NOE_ERR_LIMIT;
}

typedef struct items {
    noe_run_value **v;
    int64_t n, cap;
} items;

static void clear_items(items *list, int n)
{
    for (int i = 0; i < n; i++) {
        for (int64_t k = 0; k < list[i].n; k++)
            noe_run_value_release(list[i].v[k]);
        free(list[i].v);
    }
}

/* ---- Loop ---- */

typedef struct loop {
    const Onnx__GraphProto *body;
    int n_carried, n_scans;
    noe_run_value *carried[MAX_CARRIED];
    items scans[MAX_CARRIED];
    noe_run_value *go_on;
} loop;

static noe_status iterate(noe_call *c, loop *l, int64_t i)
{
    const noe_run_value *in[MAX_CARRIED + 2];
    noe_run_value *out[2 * MAX_CARRIED + 1] = {0};
    noe_run_value *number = scalar(NOE_ELEM_I64, i);
    in[0] = number;
    in[1] = l->go_on;
    memcpy(in + 2, l->carried, (size_t)l->n_carried * sizeof *in);
    noe_status status = noe_call_body(c, l->body, in, 2 + l->n_carried, out,
                                      1 + l->n_carried + l->n_scans);
    noe_run_value_release(number);
    if (status != NOE_OK) {
        for (int k = 0; k < 1 + l->n_carried + l->n_scans; k++)
            noe_run_value_release(out[k]);
        return status;
    }
    noe_run_value_release(l->go_on);
    l->go_on = out[0];
    for (int k = 0; k < l->n_carried; k++) {
        noe_run_value_release(l->carried[k]);
        l->carried[k] = out[1 + k];
    }
    for (int k = 0; k < l->n_scans; k++) {
        items *list = &l->scans[k];
        NOE_PUSH(list->v, list->n, list->cap, out[1 + l->n_carried + k]);
    }
    return NOE_OK;
}

static noe_status loop_results(noe_call *c, loop *l)
{
    for (int k = 0; k < l->n_carried && k < c->n_out; k++)
        noe_call_pass(c, k, l->carried[k]);
    for (int k = 0; k < l->n_scans && l->n_carried + k < c->n_out; k++) {
        items *list = &l->scans[k];
        NOE_TRY(list->n > 0 ? stack(c, l->n_carried + k, list->v, list->n, 0, false)
                            : empty_scan(c, l->n_carried + k,
                                         l->body->output[1 + l->n_carried + k]));
    }
    return NOE_OK;
}

static noe_status run_loop(noe_call *c)
{
    loop l = {.body = body_of(c, "body"), .n_carried = c->n_in > 2 ? c->n_in - 2 : 0};
    const noe_run_value *limit = noe_call_in(c, 0), *test = noe_call_in(c, 1);
    if (!l.body || l.body->n_output < 1 + (size_t)l.n_carried ||
        l.body->n_output > MAX_CARRIED || l.n_carried > MAX_CARRIED)
        return noe_call_fail(c, "the body does not fit");
    l.n_scans = (int)l.body->n_output - 1 - l.n_carried;
    int64_t most = limit && limit->n == 1 ? noe_call_i64(c, limit)[0] : INT64_MAX;
    for (int k = 0; k < l.n_carried; k++) {
        if (!c->in[2 + k])
            return noe_call_fail(c, "input %d is missing", 2 + k);
    }
    for (int k = 0; k < l.n_carried; k++)
        l.carried[k] = noe_run_value_ref(c->in[2 + k]);
    l.go_on = test ? noe_run_value_ref(test) : scalar(NOE_ELEM_BOOL, 1);
    noe_status status = NOE_OK;
    for (int64_t i = 0; i < most && is_true(l.go_on) && status == NOE_OK; i++)
        status = iterate(c, &l, i);
    if (status == NOE_OK)
        status = loop_results(c, &l);
    noe_run_value_release(l.go_on);
    for (int k = 0; k < l.n_carried; k++)
        noe_run_value_release(l.carried[k]);
    clear_items(l.scans, l.n_scans);
    return status;
}

/* ---- Scan ---- */

/* Element i of an axis, which goes. */
static noe_run_value *pick(noe_call *c, const noe_run_value *x, int axis, int64_t i)
{
    noe_dims shape = {.rank = x->shape.rank - 1};
    for (int k = 0; k < shape.rank; k++)
        shape.dim[k] = x->shape.dim[k < axis ? k : k + 1];
    noe_run_value *v = noe_run_tensor_new(x->elem, &shape, SIZE_MAX);
    size_t width = (size_t)noe_elem_get((int)x->elem)->bytes;
    int64_t inner = noe_dims_count(&x->shape, axis + 1, x->shape.rank);
    int64_t outer = noe_dims_count(&x->shape, 0, axis);
    (void)c;
    for (int64_t o = 0; o < outer; o++)
        memcpy((char *)v->data + (size_t)(o * inner) * width,
               (const char *)x->data +
                   (size_t)((o * x->shape.dim[axis] + i) * inner) * width,
               (size_t)inner * width);
    return v;
}

typedef struct scan {
    const Onnx__GraphProto *body;
    int n_states, n_inputs, n_scans;
    noe_run_value *states[MAX_CARRIED];
    const noe_run_value *in[MAX_CARRIED];
    int axis[MAX_CARRIED];
    bool backward[MAX_CARRIED];
    items scans[MAX_CARRIED];
} scan;

static noe_status scan_step(noe_call *c, scan *s, int64_t i, int64_t n)
{
    const noe_run_value *in[2 * MAX_CARRIED];
    noe_run_value *slices[MAX_CARRIED], *out[2 * MAX_CARRIED] = {0};
    int total = s->n_states + s->n_scans;
    memcpy(in, s->states, (size_t)s->n_states * sizeof *in);
    for (int k = 0; k < s->n_inputs; k++)
        in[s->n_states + k] = slices[k] =
            pick(c, s->in[k], s->axis[k], s->backward[k] ? n - 1 - i : i);
    noe_status status =
        noe_call_body(c, s->body, in, s->n_states + s->n_inputs, out, total);
    for (int k = 0; k < s->n_inputs; k++)
        noe_run_value_release(slices[k]);
    for (int k = 0; k < total && status != NOE_OK; k++)
        noe_run_value_release(out[k]);
    NOE_TRY(status);
    for (int k = 0; k < s->n_states; k++) {
        noe_run_value_release(s->states[k]);
        s->states[k] = out[k];
    }
    for (int k = 0; k < s->n_scans; k++) {
        items *list = &s->scans[k];
        NOE_PUSH(list->v, list->n, list->cap, out[s->n_states + k]);
    }
    return NOE_OK;
}

static noe_status scan_length(noe_call *c, scan *s, int64_t *n)
{
    int n_axes, n_back;
    const int64_t *axes = noe_call_list(c, "scan_input_axes", &n_axes);
    const int64_t *back = noe_call_list(c, "scan_input_directions", &n_back);
    for (int k = 0; k < s->n_inputs; k++) {
        const noe_run_value *x = c->in[s->n_states + k];
        if (!x || x->elem == NOE_ELEM_STRING)
            return noe_call_fail(c, "input %d does not fit", s->n_states + k);
        NOE_TRY(noe_call_axis(c, axes && k < n_axes ? axes[k] : 0, x->shape.rank,
                              &s->axis[k]));
        s->backward[k] = back && k < n_back && back[k];
        s->in[k] = x;
        if (k > 0 && x->shape.dim[s->axis[k]] != *n)
            return noe_call_fail(c, "scan inputs have different lengths");
        *n = x->shape.dim[s->axis[k]];
    }
    return NOE_OK;
}

static noe_status scan_results(noe_call *c, scan *s)
{
    int n_axes, n_back;
    const int64_t *axes = noe_call_list(c, "scan_output_axes", &n_axes);
    const int64_t *back = noe_call_list(c, "scan_output_directions", &n_back);
    for (int k = 0; k < s->n_states; k++)
        noe_call_pass(c, k, s->states[k]);
    for (int k = 0; k < s->n_scans; k++) {
        items *list = &s->scans[k];
        if (list->n == 0)
            NOE_TRY(empty_scan(c, s->n_states + k, s->body->output[s->n_states + k]));
        else
            NOE_TRY(stack(c, s->n_states + k, list->v, list->n,
                          axes && k < n_axes ? (int)axes[k] : 0,
                          back && k < n_back && back[k]));
    }
    return NOE_OK;
}

/* One sequence; the batches of opset 8 are run_scan_8's. */
static noe_status scan_once(noe_call *c, scan *s)
{
    int64_t n = 0;
    NOE_TRY(scan_length(c, s, &n));
    noe_status status = NOE_OK;
    for (int64_t i = 0; i < n && status == NOE_OK; i++)
        status = scan_step(c, s, i, n);
    return status == NOE_OK ? scan_results(c, s) : status;
}

static noe_status run_scan(noe_call *c)
{
    scan s = {.body = body_of(c, "body")};
    int64_t n_inputs = noe_call_int(c, "num_scan_inputs", 0);
    if (c->opset < 9)
        return noe_call_unsupported(c, "of opset 8 has batches");
    if (n_inputs < 1 || n_inputs > c->n_in)
        return noe_call_fail(c, "num_scan_inputs is %lld of %d inputs",
                             (long long)n_inputs, c->n_in);
    s.n_inputs = (int)n_inputs;
    s.n_states = c->n_in - s.n_inputs;
    if (!s.body || c->n_in > MAX_CARRIED || c->n_out > MAX_CARRIED ||
        c->n_out < s.n_states)
        return noe_call_fail(c, "the body does not fit");
    s.n_scans = c->n_out - s.n_states;
    for (int k = 0; k < c->n_in; k++) {
        if (!c->in[k])
            return noe_call_fail(c, "input %d is missing", k);
    }
    for (int k = 0; k < s.n_states; k++)
        s.states[k] = noe_run_value_ref(c->in[k]);
    noe_status status = scan_once(c, &s);
    for (int k = 0; k < s.n_states; k++)
        noe_run_value_release(s.states[k]);
    clear_items(s.scans, s.n_scans);
    return status;
}

/* ---- sequences ---- */

static noe_status need_sequence(noe_call *c, int i)
{
    const noe_run_value *v = noe_call_in(c, i);
    return v && v->form == NOE_FORM_SEQUENCE
               ? NOE_OK
               : noe_call_fail(c, "input %d is no sequence", i);
}

/* A copy with item `skip` left out (-1: none) and `add` put before item `at`. */
static noe_run_value *edit(const noe_run_value *s, int64_t skip, int64_t at,
                           const noe_run_value *add)
{
    noe_run_value *v = noe_run_sequence_new(s->n + (add != NULL) - (skip >= 0));
    int64_t to = 0;
    for (int64_t i = 0; i <= s->n; i++) {
        if (add && i == at)
            v->items[to++] = noe_run_value_ref(add);
        if (i < s->n && i != skip)
            v->items[to++] = noe_run_value_ref(s->items[i]);
    }
    return v;
}

static noe_status read_position(noe_call *c, int i, int64_t n, int64_t otherwise,
                                int64_t *at)
{
    const int64_t *given;
    int len;
    NOE_TRY(noe_call_numbers(c, i, &given, &len));
    *at = given && len == 1 ? given[0] : otherwise;
    *at += given && *at < 0 ? c->in[0]->n : 0;
    if (*at < 0 || *at >= n)
        return noe_call_fail(c, "position %lld is out of range", (long long)*at);
    return NOE_OK;
}

static noe_status run_sequence_construct(noe_call *c)
{
    noe_run_value *v = c->out[0] = noe_run_sequence_new(c->n_in);
    for (int i = 0; i < c->n_in; i++)
        v->items[i] = noe_run_value_ref(c->in[i]);
    return NOE_OK;
}

static noe_status run_sequence_empty(noe_call *c)
{
    c->out[0] = noe_run_sequence_new(0);
    return NOE_OK;
}

static noe_status run_sequence_at(noe_call *c)
{
    int64_t at;
    NOE_TRY(need_sequence(c, 0));
    NOE_TRY(read_position(c, 1, c->in[0]->n, -1, &at));
    noe_call_pass(c, 0, c->in[0]->items[at]);
    return NOE_OK;
}

static noe_status run_sequence_insert(noe_call *c)
{
    int64_t at;
    NOE_TRY(need_sequence(c, 0));
    NOE_TRY(read_position(c, 2, c->in[0]->n + 1, c->in[0]->n, &at));
    c->out[0] = edit(c->in[0], -1, at, c->in[1]);
    return NOE_OK;
}

static noe_status run_sequence_erase(noe_call *c)
{
    int64_t at;
    NOE_TRY(need_sequence(c, 0));
    NOE_TRY(read_position(c, 1, c->in[0]->n, c->in[0]->n - 1, &at));
    c->out[0] = edit(c->in[0], at, 0, NULL);
    return NOE_OK;
}

static noe_status run_sequence_length(noe_call *c)
{
    NOE_TRY(need_sequence(c, 0));
    c->out[0] = scalar(NOE_ELEM_I64, c->in[0]->n);
    return NOE_OK;
}

static noe_status run_concat_from_sequence(noe_call *c)
{
    const noe_run_value *s = c->in[0];
    bool is_new = noe_call_int(c, "new_axis", 0) != 0;
    NOE_TRY(need_sequence(c, 0));
    if (s->n == 0 || s->n > INT32_MAX)
        return noe_call_fail(c, "the sequence is empty");
    if (is_new)
        return stack(c, 0, s->items, s->n, (int)noe_call_int(c, "axis", 0), false);
    noe_call joined = *c;
    joined.op = noe_operator_find("Concat");
    joined.in = (const noe_run_value **)s->items;
    joined.n_in = (int)s->n;
    return joined.op->run(&joined);
}

/* Parts of an axis: sizes, one size for all (the last may be smaller), or single
 * elements, which lose the axis if keepdims is 0. */
static noe_status run_split_to_sequence(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *sizes;
    int n_sizes, axis;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), x->shape.rank, &axis));
    NOE_TRY(noe_call_numbers(c, 1, &sizes, &n_sizes));
    bool is_list = sizes && c->in[1]->shape.rank == 1;
    int64_t dim = x->shape.dim[axis], each = sizes && !is_list ? sizes[0] : 1;
    if (each <= 0)
        return noe_call_fail(c, "parts of %lld", (long long)each);
    int64_t n = is_list ? n_sizes : (dim + each - 1) / each, at = 0;
    bool keeps = sizes || noe_call_int(c, "keepdims", 1);
    noe_run_value *v = noe_run_sequence_new(n);
    v->n = 0;
    c->out[0] = v;
    int64_t step[NOE_RUN_MAX_RANK];
    noe_dims_strides(&x->shape, step);
    for (int64_t i = 0; i < n; i++) {
        noe_dims shape = x->shape;
        shape.dim[axis] = is_list ? sizes[i] : dim - at < each ? dim - at : each;
        if (shape.dim[axis] < 0 || shape.dim[axis] > dim - at)
            return noe_call_fail(c, "the parts do not fit into %lld", (long long)dim);
        NOE_TRY(noe_call_take(
            c, 1, x, &shape, noe_call_strided(c, &shape, at * step[axis], step), NULL));
        at += shape.dim[axis];
        if (!keeps) {
            for (int k = axis; k + 1 < shape.rank; k++)
                c->out[1]->shape.dim[k] = shape.dim[k + 1];
            c->out[1]->shape.rank--;
        }
        v->items[v->n++] = c->out[1];
        c->out[1] = NULL;
    }
    return NOE_OK;
}

/* ---- optionals: a value itself, or the empty one ---- */

static noe_status run_optional(noe_call *c)
{
    if (noe_call_in(c, 0))
        noe_call_pass(c, 0, c->in[0]);
    else
        c->out[0] = noe_run_empty_new();
    return NOE_OK;
}

static noe_status run_optional_has(noe_call *c)
{
    const noe_run_value *v = noe_call_in(c, 0);
    c->out[0] = scalar(NOE_ELEM_BOOL, v && v->form != NOE_FORM_EMPTY);
    return NOE_OK;
}

static noe_status run_optional_get(noe_call *c)
{
    if (c->in[0]->form == NOE_FORM_EMPTY)
        return noe_call_fail(c, "the optional is empty");
    noe_call_pass(c, 0, c->in[0]);
    return NOE_OK;
}

const noe_operator noe_operators_control[] = {
    {"If", run_if, 1, NULL, 0},
    {"Loop", run_loop, 0, NULL, NOE_TAKES_ANY},
    {"Scan", run_scan, 0, NULL, 0},
    {"SequenceConstruct", run_sequence_construct, 1, NULL, NOE_NEEDS_ALL},
    {"SequenceEmpty", run_sequence_empty, 0, NULL, 0},
    {"SequenceAt", run_sequence_at, 2, NULL, NOE_TAKES_ANY},
    {"SequenceInsert", run_sequence_insert, 2, NULL, NOE_TAKES_ANY},
    {"SequenceErase", run_sequence_erase, 1, NULL, NOE_TAKES_ANY},
    {"SequenceLength", run_sequence_length, 1, NULL, NOE_TAKES_ANY},
    {"ConcatFromSequence", run_concat_from_sequence, 1, NULL, NOE_TAKES_ANY},
    {"SplitToSequence", run_split_to_sequence, 1, NULL, 0},
    {"Optional", run_optional, 0, NULL, NOE_TAKES_ANY},
    {"OptionalHasElement", run_optional_has, 0, NULL, NOE_TAKES_ANY},
    {"OptionalGetElement", run_optional_get, 1, NULL, NOE_TAKES_ANY},
    {0},
};
