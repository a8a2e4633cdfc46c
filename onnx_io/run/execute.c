/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes graphs node by node. A value goes when its last reader has run (in the main
 * graph; bodies and functions keep theirs to the end).
 *
 * Recursion is on bodies in bodies and calls of functions, with a limit: a function may
 * not call itself in ONNX, but a file can say so.
 */
#include "onnx_io/run.h"
#include "onnx_io/run/frame.h"
#include <stdlib.h>

#define MAX_DEPTH         64
#define DEFAULT_MAX_BYTES ((size_t)8 << 30)

/* ---- names ---- */

static void bind(noe_frame *f, const char *name, const noe_run_value *v)
{
    uint32_t at = f->n;
    if (!name || !*name)
        return;
    if (noe_names_find(&f->names, name, &at)) {
        noe_run_value_release(f->values[at]);
        f->values[at] = noe_run_value_ref(v);
        return;
    }
    noe_names_add(&f->names, name, at);
    NOE_PUSH(f->values, f->n, f->cap, noe_run_value_ref(v));
}

static const noe_run_value *look_up(const noe_frame *f, const char *name)
{
    for (; f; f = f->is_closed ? NULL : f->outer) {
        uint32_t at;
        if (noe_names_find(&f->names, name, &at))
            return f->values[at];
    }
    return NULL;
}

static void clear_frame(noe_frame *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        noe_run_value_release(f->values[i]);
    free(f->values);
    noe_names_clear(&f->names);
}

/* ---- nodes ---- */

static noe_status run_nodes(noe_run *run, noe_frame *f, Onnx__NodeProto *const *nodes,
                            size_t n, noe_error *err);

static const Onnx__FunctionProto *find_function(const noe_onnx_model *m,
                                                const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < m->proto->n_functions; i++) {
        const Onnx__FunctionProto *f = m->proto->functions[i];
        bool same_domain = noe_onnx_is_standard(f->domain)
                               ? noe_onnx_is_standard(n->domain)
                               : n->domain && strcmp(f->domain, n->domain) == 0;
        if (same_domain && f->name && strcmp(f->name, n->op_type) == 0)
            return f;
    }
    return NULL;
}

/* The standard's version that a node means: that of its function, or the model's. */
static int64_t opset_of(const noe_run *run, const noe_frame *f)
{
    for (; f; f = f->outer) {
        for (size_t i = 0; f->function && i < f->function->n_opset_import; i++) {
            if (noe_onnx_is_standard(f->function->opset_import[i]->domain))
                return f->function->opset_import[i]->version;
        }
        if (f->function)
            break;
    }
    return run->m->opset;
}

static noe_status call_function(noe_call *c, const Onnx__FunctionProto *function)
{
    noe_frame f = {
        .outer = c->frame, .is_closed = true, .function = function, .caller = c->node};
    if (++c->run->depth > MAX_DEPTH)
        return noe_fail(c->err, NOE_ERR_LIMIT, "calls nest deeper than %d", MAX_DEPTH);
    for (size_t i = 0; i < function->n_input; i++) {
        const noe_run_value *v = noe_call_in(c, (int)i);
        if (v)
            bind(&f, function->input[i], v);
    }
    noe_status status = run_nodes(c->run, &f, function->node, function->n_node, c->err);
    for (int i = 0; i < c->n_out && status == NOE_OK; i++) {
        const noe_run_value *v =
            (size_t)i < function->n_output ? look_up(&f, function->output[i]) : NULL;
        if (v)
            noe_call_pass(c, i, v);
    }
    clear_frame(&f);
    c->run->depth--;
    return status;
}

static noe_status check_inputs(noe_call *c)
{
    for (int i = 0; i < c->n_in || i < c->op->min_in; i++) {
        const noe_run_value *v = noe_call_in(c, i);
        if (!v && (i < c->op->min_in || (c->op->input_flags & NOE_NEEDS_ALL)))
            return noe_call_fail(c, "input %d is missing", i);
        if (v && v->form != NOE_FORM_TENSOR && !(c->op->input_flags & NOE_TAKES_ANY))
            return noe_call_fail(c, "input %d is no tensor", i);
    }
    return NOE_OK;
}

static noe_status dispatch(noe_call *c)
{
    const Onnx__FunctionProto *function = find_function(c->run->m, c->node);
    if (function)
        return call_function(c, function);
    c->op = noe_onnx_is_standard(c->node->domain) ? noe_operator_find(c->node->op_type)
                                                  : NULL;
    if (!c->op)
        return noe_call_unsupported(
            c, "no reference for operator %s%s%s", c->node->op_type,
            noe_onnx_is_standard(c->node->domain) ? "" : " of domain ",
            noe_onnx_is_standard(c->node->domain) ? "" : c->node->domain);
    c->opset = opset_of(c->run, c->frame);
    NOE_TRY(check_inputs(c));
    noe_status status = c->op->run(c);
    return status == NOE_OK ? c->fault : status;
}

static noe_status gather_inputs(noe_call *c)
{
    for (int i = 0; i < c->n_in; i++) {
        const char *name = c->node->input[i];
        c->in[i] = *name ? look_up(c->frame, name) : NULL;
        bool is_formal = false; /* an optional input of a function that was not given */
        for (const noe_frame *f = c->frame; f && !is_formal; f = f->outer) {
            for (size_t k = 0; f->function && k < f->function->n_input; k++)
                is_formal = is_formal || strcmp(f->function->input[k], name) == 0;
            if (f->is_closed)
                break;
        }
        if (*name && !c->in[i] && !is_formal)
            return noe_call_fail(c, "input '%s' has no value", name);
    }
    return NOE_OK;
}

static noe_status run_node(noe_run *run, noe_frame *f, const Onnx__NodeProto *node,
                           noe_error *err)
{
    noe_arena scratch = {0};
    if (run->steps++ == run->max_steps)
        return noe_fail(err, NOE_ERR_LIMIT, "more than %llu nodes would be run",
                        (unsigned long long)run->max_steps);
    noe_call c = {.run = run,
                  .frame = f,
                  .node = node,
                  .n_in = (int)node->n_input,
                  .n_out = (int)node->n_output,
                  .scratch = &scratch,
                  .err = err};
    int n_out = c.n_out > NOE_CALL_MAX_OUT ? c.n_out : NOE_CALL_MAX_OUT;
    c.in = NOE_NEW_N(&scratch, const noe_run_value *, c.n_in + 1);
    c.out = NOE_NEW_N(&scratch, noe_run_value *, n_out);
    noe_status status = gather_inputs(&c);
    if (status == NOE_OK)
        status = dispatch(&c);
    for (int i = 0; i < c.n_out && status == NOE_OK; i++) {
        if (!c.out[i] && *node->output[i])
            status = noe_call_unsupported(&c, "output %d is not computed", i);
        else
            bind(f, node->output[i], c.out[i]);
    }
    for (int i = 0; i < n_out; i++)
        noe_run_value_release(c.out[i]);
    noe_arena_clear(&scratch);
    return status;
}

static noe_status run_nodes(noe_run *run, noe_frame *f, Onnx__NodeProto *const *nodes,
                            size_t n, noe_error *err)
{
    if (noe_cancelled(run->env))
        return noe_fail(err, NOE_ERR_CANCELLED, "interrupted");
    for (size_t i = 0; i < n; i++) {
        noe_status status = run_node(run, f, nodes[i], err);
        if (status != NOE_OK) {
            const char *name = nodes[i]->name ? nodes[i]->name : "";
            noe_error_prefix(err, "node %zu (%s%s%s%s): ", i, nodes[i]->op_type,
                             *name ? " '" : "", name, *name ? "'" : "");
            return status;
        }
    }
    return NOE_OK;
}

/* ---- bodies ---- */

static noe_status bind_initializers(noe_frame *f, const Onnx__GraphProto *g,
                                    noe_error *err)
{
    for (size_t i = 0; i < g->n_initializer + g->n_sparse_initializer; i++) {
        noe_run_value *v;
        bool is_sparse = i >= g->n_initializer;
        const Onnx__SparseTensorProto *s =
            is_sparse ? g->sparse_initializer[i - g->n_initializer] : NULL;
        const Onnx__TensorProto *t = is_sparse ? s->values : g->initializer[i];
        NOE_TRY(is_sparse ? noe_run_from_sparse(s, &v, err)
                          : noe_run_from_proto(t, &v, err));
        bind(f, t->name, v);
        noe_run_value_release(v);
    }
    return NOE_OK;
}

static noe_status run_body(noe_call *c, noe_frame *f, const Onnx__GraphProto *body,
                           const noe_run_value *const *in, int n_in,
                           noe_run_value **out, int n_out)
{
    if (body->n_output != (size_t)n_out || body->n_input > (size_t)n_in)
        return noe_call_fail(c,
                             "the body has %zu inputs and %zu outputs, want %d and %d",
                             body->n_input, body->n_output, n_in, n_out);
    NOE_TRY(bind_initializers(f, body, c->err));
    for (size_t i = 0; i < body->n_input; i++) {
        if (in[i])
            bind(f, body->input[i]->name, in[i]);
    }
    NOE_TRY(run_nodes(c->run, f, body->node, body->n_node, c->err));
    for (int i = 0; i < n_out; i++) {
        const char *name = body->output[i]->name ? body->output[i]->name : "";
        const noe_run_value *v = look_up(f, name);
        if (!v)
            return noe_call_fail(c, "output '%s' of the body has no value", name);
        out[i] = noe_run_value_ref(v);
    }
    return NOE_OK;
}

noe_status noe_call_body(noe_call *c, const Onnx__GraphProto *body,
                         const noe_run_value *const *in, int n_in, noe_run_value **out,
                         int n_out)
{
    noe_frame f = {.outer = c->frame};
    if (++c->run->depth > MAX_DEPTH)
        return noe_fail(c->err, NOE_ERR_LIMIT, "bodies nest deeper than %d", MAX_DEPTH);
    noe_status status = run_body(c, &f, body, in, n_in, out, n_out);
    clear_frame(&f);
    c->run->depth--;
    return status;
}

/* ---- the whole model ---- */

/* Last node of the main graph that reads each value; graph outputs are read for ever.
 */
static uint32_t *last_uses(const noe_onnx_model *m)
{
    uint32_t *last = noe_calloc(m->n_values + 1, sizeof *last);
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        const noe_onnx_node *n = &m->nodes[k];
        for (size_t i = 0; i < n->proto->n_input; i++) {
            if (n->in[i] != NOE_NO_VALUE)
                last[n->in[i]] = k;
        }
        for (uint32_t i = 0; i < n->n_captured; i++)
            last[n->captured[i]] = k;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        last[noe_onnx_find_value(m, m->outputs[i]->name)] = UINT32_MAX;
    return last;
}

static void drop(noe_frame *f, const char *name)
{
    uint32_t at;
    if (noe_names_find(&f->names, name, &at)) {
        noe_run_value_release(f->values[at]);
        f->values[at] = NULL;
    }
}

static void drop_read(const noe_onnx_model *m, noe_frame *f, uint32_t k,
                      const uint32_t *last)
{
    const noe_onnx_node *n = &m->nodes[k];
    for (size_t i = 0; i < n->proto->n_input; i++) {
        if (n->in[i] != NOE_NO_VALUE && last[n->in[i]] == k)
            drop(f, n->proto->input[i]);
    }
    for (size_t i = 0; i < n->proto->n_output; i++) {
        if (n->out[i] != NOE_NO_VALUE && last[n->out[i]] == 0 && k > 0)
            drop(f, n->proto->output[i]); /* nobody reads it */
    }
    for (uint32_t i = 0; i < n->n_captured; i++) {
        if (last[n->captured[i]] == k)
            drop(f, m->values[n->captured[i]].name);
    }
}

/* The model has read the bytes. */
static noe_status from_external(const noe_onnx_tensor *t, noe_run_value **v,
                                noe_error *err)
{
    noe_dims shape = {.rank = (int)t->proto->n_dims};
    if (t->proto->n_dims > NOE_RUN_MAX_RANK)
        return noe_fail(err, NOE_ERR_LIMIT, "rank %zu", t->proto->n_dims);
    if (shape.rank > 0)
        memcpy(shape.dim, t->proto->dims, t->proto->n_dims * sizeof *shape.dim);
    *v = noe_run_tensor_new((noe_elem)t->proto->data_type, &shape, SIZE_MAX);
    if (*v && noe_run_unpack(*v, t->external.at, t->external.len))
        return NOE_OK;
    noe_run_value_release(*v);
    *v = NULL;
    return noe_fail(err, NOE_ERR_UNSUPPORTED, "external data of type %d",
                    t->proto->data_type);
}

static noe_status bind_weights(const noe_onnx_model *m, noe_frame *f, noe_error *err)
{
    for (uint32_t i = 0; i < m->n_initializers; i++) {
        const noe_onnx_tensor *t = &m->initializers[i];
        noe_run_value *v = NULL;
        noe_status status = NOE_OK;
        if (t->is_external) {
            status = from_external(t, &v, err);
        } else {
            status = noe_run_from_proto(t->proto, &v, err);
        }
        if (status != NOE_OK) {
            noe_error_prefix(err, "initializer '%s': ", t->proto->name);
            return status;
        }
        bind(f, t->proto->name, v);
        noe_run_value_release(v);
    }
    for (uint32_t i = 0; i < m->n_sparse; i++) {
        noe_run_value *v;
        NOE_TRY(noe_run_from_sparse(m->sparse[i], &v, err));
        bind(f, m->sparse[i]->values->name, v);
        noe_run_value_release(v);
    }
    return NOE_OK;
}

static noe_status run_main(noe_run *run, noe_frame *f,
                           const noe_run_value *const *inputs, noe_run_value **outputs,
                           noe_error *err)
{
    const noe_onnx_model *m = run->m;
    NOE_TRY(bind_weights(m, f, err));
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        if (inputs[i])
            bind(f, m->inputs[i]->name, inputs[i]);
        else if (!look_up(f, m->inputs[i]->name))
            return noe_fail(err, NOE_ERR_ARG, "input '%s' has no value",
                            m->inputs[i]->name);
    }
    uint32_t *last = last_uses(m);
    noe_status status = NOE_OK;
    for (uint32_t k = 0; k < m->n_nodes && status == NOE_OK; k++) {
        status = run_node(run, f, m->nodes[k].proto, err);
        if (status != NOE_OK)
            noe_onnx_prefix_node(m, k, err);
        else
            drop_read(m, f, k, last);
        if (noe_cancelled(&m->env) && status == NOE_OK)
            status = noe_fail(err, NOE_ERR_CANCELLED, "interrupted");
    }
    free(last);
    for (uint32_t i = 0; i < m->n_outputs && status == NOE_OK; i++)
        outputs[i] = noe_run_value_ref(look_up(f, m->outputs[i]->name));
    return status;
}

noe_status noe_run_model(const noe_onnx_model *m, const noe_run_options *options,
                         const noe_run_value *const *inputs, noe_run_value **outputs,
                         noe_error *err)
{
    noe_frame f = {0};
    noe_run run = {.m = m,
                   .max_bytes = options && options->max_bytes ? options->max_bytes
                                                              : DEFAULT_MAX_BYTES,
                   .max_steps =
                       options && options->max_steps ? options->max_steps : UINT64_MAX,
                   .env = &m->env};
    memset(outputs, 0, m->n_outputs * sizeof *outputs);
    noe_status status = run_main(&run, &f, inputs, outputs, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", m->name);
    clear_frame(&f);
    return status;
}

/* ---- questions ---- */

uint32_t noe_run_n_inputs(const noe_onnx_model *m)
{
    return m->n_inputs;
}

const char *noe_run_input_name(const noe_onnx_model *m, uint32_t i)
{
    return m->inputs[i]->name;
}

bool noe_run_input_is_optional(const noe_onnx_model *m, uint32_t i)
{
    for (uint32_t k = 0; k < m->n_initializers; k++) {
        const char *name = m->initializers[k].proto->name;
        if (name && strcmp(name, m->inputs[i]->name) == 0)
            return true;
    }
    return false;
}

bool noe_run_input_type(const noe_onnx_model *m, uint32_t i, noe_elem *elem,
                        noe_dims *shape)
{
    const Onnx__TypeProto *t = m->inputs[i]->type;
    shape->rank = -1;
    if (!t || !t->tensor_type)
        return false;
    *elem = (noe_elem)t->tensor_type->elem_type;
    const Onnx__TensorShapeProto *s = t->tensor_type->shape;
    if (!s || s->n_dim > NOE_RUN_MAX_RANK)
        return true;
    shape->rank = (int)s->n_dim;
    for (int k = 0; k < shape->rank; k++)
        shape->dim[k] = s->dim[k]->has_dim_value ? s->dim[k]->dim_value : -1;
    const noe_shape *pinned = &m->pinned[i].shape; /* --input-shape */
    for (int k = 0; k < shape->rank && m->is_pinned[i]; k++)
        shape->dim[k] = pinned->dim[k];
    return true;
}

uint32_t noe_run_n_outputs(const noe_onnx_model *m)
{
    return m->n_outputs;
}

const char *noe_run_output_name(const noe_onnx_model *m, uint32_t i)
{
    return m->outputs[i]->name;
}

bool noe_run_knows(const char *op_type)
{
    return noe_operator_find(op_type) != NULL;
}
