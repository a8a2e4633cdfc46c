/* SPDX-License-Identifier: Apache-2.0
 *
 * Models over open sizes (core/open.h): what of a node may be believed for all of them.
 *
 * The importer resolves shape arithmetic and attributes by numbers. Over primes it
 * would take N - 1 for a number like any other; so only nodes whose result is carried
 * along, compared or multiplied are let into the algebra, and only such arithmetic is
 * known. What slips through is found by importing the model over other primes: the
 * graphs then differ in more than the primes.
 */
#include "onnx_io/model.h"
#include <stdlib.h>

#define MAX_ATTEMPTS 4

static bool ints_have_open(const noe_onnx_model *m, const noe_onnx_ints *ints)
{
    for (int64_t i = 0; ints && i < ints->n; i++) {
        if (ints->known[i] && noe_open_is(m->open, ints->v[i]))
            return true;
    }
    return false;
}

static bool input_ints_open(const noe_onnx_model *m, const noe_onnx_node *n, size_t i)
{
    return i < n->proto->n_input && n->in[i] != NOE_NO_VALUE &&
           ints_have_open(m, m->values[n->in[i]].ints);
}

bool noe_onnx_has_open_operand(const noe_onnx_model *m, const noe_onnx_node *n)
{
    for (size_t i = 0; i < n->proto->n_input; i++) {
        if (n->role[i] == NOE_SLOT_OPERAND && input_ints_open(m, n, i))
            return true;
    }
    return false;
}

/* ---- nodes of the algebra ---- */

static bool is_slot(const noe_onnx_model *m, const noe_onnx_node *n, noe_ref r)
{
    for (size_t i = 0; i < n->proto->n_input; i++) {
        if (n->in[i] != NOE_NO_VALUE && noe_ref_eq(m->values[n->in[i]].ref, r))
            return true;
    }
    return false;
}

/* Every core node from an output of the node down to its inputs. */
static bool nodes_allowed(noe_onnx_model *m, const noe_onnx_node *n, noe_ref from)
{
    noe_ref *todo = NULL;
    uint32_t n_todo = 0, cap_todo = 0;
    bool allowed = true;
    NOE_PUSH(todo, n_todo, cap_todo, from);
    while (n_todo > 0 && allowed) {
        noe_ref r = todo[--n_todo];
        if (is_slot(m, n, r))
            continue;
        allowed = noe_open_allows(m->open, m->graph, r.node);
        const noe_ref *in = noe_graph_inputs(m->graph, r.node);
        for (uint32_t i = 0; i < m->graph->nodes[r.node].n_inputs; i++)
            NOE_PUSH(todo, n_todo, cap_todo, in[i]);
    }
    free(todo);
    return allowed;
}

/* An operand that is computed from open sizes is written anew; that is possible for the
 * shape of a reshape only. */
static bool operand_allowed(const noe_onnx_model *m, const noe_onnx_node *n)
{
    if (!noe_onnx_has_open_operand(m, n))
        return true;
    noe_ref out = m->values[n->out[0]].ref;
    return n->proto->n_output == 1 && strcmp(n->proto->op_type, "Reshape") == 0 &&
           noe_graph_node(m->graph, out.node)->op == NOE_OP_RESHAPE &&
           noe_open_writable(m->open, m->graph, out.node);
}

/* ---- operators whose form says something else at other sizes ---- */

/* A list that is an attribute or known integers of an input; *v is NULL if absent. */
static bool read_list(const noe_onnx_model *m, const noe_onnx_node *n, const char *name,
                      size_t slot, const int64_t **v, int64_t *count)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(n->proto, name);
    *v = a ? a->ints : NULL;
    *count = a ? (int64_t)a->n_ints : 0;
    if (a || slot >= n->proto->n_input || n->in[slot] == NOE_NO_VALUE)
        return true;
    const noe_onnx_ints *ints = m->values[n->in[slot]].ints;
    for (int64_t i = 0; ints && i < ints->n; i++) {
        if (!ints->known[i])
            return false;
    }
    *v = ints ? ints->v : NULL;
    *count = ints ? ints->n : 0;
    return ints != NULL;
}

/* Is an open axis sliced from the start to any end, to its own, or after one element?
 */
static bool slice_is_whole(const noe_onnx_model *m, const noe_onnx_node *n)
{
    const noe_shape *s = &m->values[n->in[0]].type.shape;
    const int64_t *starts, *ends, *axes, *steps;
    int64_t n_starts, n_ends, n_axes, n_steps;
    if (!read_list(m, n, "starts", 1, &starts, &n_starts) ||
        !read_list(m, n, "ends", 2, &ends, &n_ends) ||
        !read_list(m, n, "axes", 3, &axes, &n_axes) ||
        !read_list(m, n, "steps", 4, &steps, &n_steps) || n_starts != n_ends ||
        (axes && n_axes != n_ends) || (steps && n_steps != n_ends))
        return false;
    for (int64_t i = 0; i < n_ends; i++) {
        int64_t axis = axes ? axes[i] : i;
        axis += axis < 0 ? s->rank : 0;
        if (axis < 0 || axis >= s->rank)
            return false;
        if (!noe_open_is(m->open, s->dim[axis]))
            continue;
        bool to_end = ends[i] >= INT32_MAX || ends[i] == s->dim[axis] || ends[i] == 1;
        if (starts[i] != 0 || !to_end || (steps && steps[i] != 1))
            return false;
    }
    return true;
}

/* Squeeze without axes takes out what happens to be 1. */
static bool form_is_open(const noe_onnx_model *m, const noe_onnx_node *n)
{
    const char *op_type = n->proto->op_type;
    if (n->proto->n_input == 0 || n->in[0] == NOE_NO_VALUE ||
        !noe_open_shape_has(m->open, &m->values[n->in[0]].type.shape))
        return true;
    if (strcmp(op_type, "Slice") == 0)
        return slice_is_whole(m, n);
    if (strcmp(op_type, "Squeeze") == 0)
        return noe_onnx_attr(n->proto, "axes") ||
               (n->proto->n_input > 1 && n->in[1] != NOE_NO_VALUE);
    return true;
}

const char *noe_onnx_refuse_open(noe_onnx_model *m, noe_onnx_node *n)
{
    if (!form_is_open(m, n))
        return "it depends on sizes that are left open";
    if (n->kind == NOE_NODE_CONSTANT) {
        const noe_onnx_value *v = &m->values[n->out[0]];
        bool depends =
            n->proto->n_input > 0 &&
            (noe_open_shape_has(m->open, &v->type.shape) || input_ints_open(m, n, 0));
        return depends ? "its value depends on sizes that are left open" : NULL;
    }
    for (size_t i = 0; n->kind == NOE_NODE_ALGEBRA && i < n->proto->n_output; i++) {
        if (n->out[i] == NOE_NO_VALUE)
            continue;
        noe_ref r = m->values[n->out[i]].ref;
        if (!noe_ref_is_none(r) && !nodes_allowed(m, n, r))
            return "it computes with sizes that are left open";
    }
    if (n->kind == NOE_NODE_ALGEBRA && !operand_allowed(m, n))
        return "an operand depends on sizes that are left open";
    return NULL;
}

/* ---- types of other nodes ---- */

bool noe_onnx_typed_open(noe_onnx_model *m, const noe_onnx_node *n, noe_ref done)
{
    return form_is_open(m, n) && n->proto->n_output == 1 &&
           (noe_ref_is_none(done) || nodes_allowed(m, n, done));
}

/* Output types that carry sizes along, whatever they are. */
static const char *const carriers[] = {
    "Add",       "And",    "Cast",   "Concat",     "Div",     "Equal",
    "Erf",       "Exp",    "Gather", "Greater",    "Less",    "Mul",
    "Neg",       "Not",    "Or",     "Pow",        "Relu",    "Shape",
    "Sign",      "Sqrt",   "Sub",    "Slice",      "Tanh",    "Transpose",
    "Unsqueeze", "Where",  "Size",   "ReduceProd", "Squeeze", "Sigmoid",
    "Softmax",   "MatMul", "Abs",    "Sin",        "Cos",     "Identity"};
/* Of these, the ones whose known integers do so too. */
static const char *const arithmetic[] = {"Cast",  "Concat",     "Gather",  "Identity",
                                         "Mul",   "Reshape",    "Shape",   "Size",
                                         "Slice", "ReduceProd", "Squeeze", "Unsqueeze"};
/* And of those, the ones whose later inputs say where, not what. */
static const char *const selectors[] = {"Gather", "Reshape", "Slice", "Squeeze",
                                        "Unsqueeze"};

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* A vector that is as long as an open size says, or an axis of it that is joined. */
static bool concat_is_open(const noe_onnx_model *m, const noe_onnx_node *n)
{
    int64_t axis = noe_onnx_attr_int(n->proto, "axis", 0);
    for (size_t i = 0; i < n->proto->n_input; i++) {
        if (n->in[i] == NOE_NO_VALUE)
            continue;
        const noe_shape *s = &m->values[n->in[i]].type.shape;
        int64_t at = axis < 0 ? axis + s->rank : axis;
        if (at >= 0 && at < s->rank && noe_open_is(m->open, s->dim[at]))
            return true;
    }
    return false;
}

bool noe_onnx_types_open(const noe_onnx_model *m, const noe_onnx_node *n)
{
    bool types = false, ints = false;
    for (size_t i = 0; i < n->proto->n_input; i++) {
        if (n->in[i] == NOE_NO_VALUE)
            continue;
        types = types || noe_open_shape_has(m->open, &m->values[n->in[i]].type.shape);
        ints = ints || input_ints_open(m, n, i);
    }
    const char *op_type = n->proto->op_type;
    size_t n_carriers = sizeof carriers / sizeof *carriers;
    size_t n_arithmetic = sizeof arithmetic / sizeof *arithmetic;
    if (!types && !ints)
        return true;
    if (!form_is_open(m, n) || (strcmp(op_type, "Concat") == 0 && concat_is_open(m, n)))
        return false;
    for (size_t i = 1; i < n->proto->n_input; i++) {
        if (input_ints_open(m, n, i) &&
            is_among(op_type, selectors, sizeof selectors / sizeof *selectors))
            return false;
    }
    return ints ? is_among(op_type, arithmetic, n_arithmetic)
                : is_among(op_type, carriers, n_carriers);
}

/* ---- other primes ---- */

static noe_status load_over(const void *data, size_t len, noe_onnx_options options,
                            noe_open_set set, const noe_env *env, noe_onnx_model **m,
                            noe_error *err)
{
    options.assumed_set = set;
    return noe_onnx_load_memory(data, len, &options, env, m, err);
}

static noe_status load_and_compare(const void *data, size_t len,
                                   const noe_onnx_options *options, const noe_env *env,
                                   noe_onnx_model **m, bool *same, noe_error *err)
{
    NOE_TRY(load_over(data, len, *options, NOE_OPEN_FIRST, env, m, err));
    *same = true;
    for (int set = NOE_OPEN_SECOND; set <= NOE_OPEN_THIRD && *same; set++) {
        noe_onnx_model *other;
        noe_status status =
            load_over(data, len, *options, (noe_open_set)set, env, &other, err);
        if (status != NOE_OK) {
            noe_onnx_free(*m);
            *m = NULL;
            return status;
        }
        *same = noe_open_same((*m)->open, (*m)->graph, (noe_open_set)set, other->graph);
        noe_onnx_free(other);
    }
    return NOE_OK;
}

noe_status noe_onnx_load_open(const void *data, size_t len,
                              const noe_onnx_options *options, const noe_env *env,
                              noe_onnx_model **m, noe_error *err)
{
    noe_onnx_options o = *options;
    for (o.attempt = 0; o.attempt < MAX_ATTEMPTS; o.attempt++) {
        bool same;
        NOE_TRY(load_and_compare(data, len, &o, env, m, &same, err));
        if (same)
            return NOE_OK;
        noe_onnx_free(*m);
        *m = NULL;
    }
    return noe_fail(err, NOE_ERR_UNSUPPORTED,
                    "assumed shapes: the model's graph depends on the sizes in a way "
                    "that is not understood; --input-shape fixes them");
}
