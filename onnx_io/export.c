/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, their order, and the bytes of the result.
 *
 * A statement is one node message, or a few that belong together. Those of the model
 * come first and in their order; each is preceded by what it needs and does not have
 * yet, so the order of the file changes only where a rewrite demands it. The result is
 * the model's bytes, field by field, with these nodes in place of the old ones,
 * initializers left out that nothing needs any more, and new ones behind.
 */
#include "onnx_io/export.h"
#include "core/base/file.h"
#include "core/definition.h"
#include <stdlib.h>

/* ---- statements ---- */

uint32_t noe_export_statement(noe_exporter *x)
{
    noe_statement s = {.bytes.arena = &x->arena};
    NOE_PUSH(x->statements, x->n_statements, x->cap_statements, s);
    return x->n_statements - 1;
}

enum { TENSOR_RAW_DATA = 9 };

void noe_export_depend(noe_exporter *x, uint32_t statement, uint32_t on)
{
    noe_statement *s = &x->statements[statement];
    if (on != NOE_NO_STATEMENT && on != statement)
        NOE_PUSH(s->deps, s->n_deps, s->cap_deps, on);
}

static Onnx__TensorProto *make_tensor(noe_arena *a, const char *name,
                                      const noe_type *type, const void *data,
                                      size_t bytes)
{
    Onnx__TensorProto *t = NOE_NEW(a, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = name ? noe_arena_strdup(a, name) : NULL;
    t->has_data_type = 1;
    t->data_type = noe_dtype_to_onnx(type->dtype);
    t->n_dims = (size_t)type->shape.rank;
    t->dims = noe_arena_memdup(a, type->shape.dim, t->n_dims * sizeof *t->dims);
    t->has_raw_data = 1;
    t->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)data};
    return t;
}

static uint32_t constant_node(noe_exporter *x, const char *name, Onnx__TensorProto *t)
{
    Onnx__NodeProto node;
    Onnx__AttributeProto value, *attributes[1] = {&value};
    char *outputs[1] = {noe_arena_strdup(&x->arena, name)};
    onnx__node_proto__init(&node);
    onnx__attribute_proto__init(&value);
    value.name = noe_arena_strdup(&x->arena, "value");
    value.has_type = 1;
    value.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    value.t = t;
    node.op_type = noe_arena_strdup(&x->arena, "Constant");
    node.n_output = 1;
    node.output = outputs;
    node.n_attribute = 1;
    node.attribute = attributes;
    uint32_t statement = noe_export_statement(x);
    noe_rope_add_message(&x->statements[statement].bytes, NOE_GRAPH_NODE, &node.base);
    return statement;
}

/* As packed, but the data stay where they are: raw_data is the last field that is set.
 */
static void add_initializer(noe_exporter *x, Onnx__TensorProto *t)
{
    noe_rope body = {.arena = &x->arena};
    noe_span data = {t->raw_data.data, t->raw_data.len};
    t->has_raw_data = 0;
    size_t len = protobuf_c_message_get_packed_size(&t->base);
    uint8_t *head = noe_arena_alloc(&x->arena, len);
    protobuf_c_message_pack(&t->base, head);
    noe_rope_add(&body, (noe_span){head, len});
    noe_rope_add_header(&body, TENSOR_RAW_DATA, data.len);
    noe_rope_add(&body, data);
    noe_rope_add_header(&x->tensors, NOE_GRAPH_INITIALIZER, body.len);
    noe_rope_add_rope(&x->tensors, &body);
    noe_rope_clear(&body);
}

uint32_t noe_export_constant(noe_exporter *x, const char *name, const noe_type *type,
                             const void *data, size_t bytes)
{
    if (noe_onnx_initializers_are_inputs(x->m))
        return constant_node(x, name, make_tensor(&x->arena, NULL, type, data, bytes));
    Onnx__TensorProto *t = make_tensor(&x->arena, name, type, data, bytes);
    if (x->externalize)
        noe_export_tensor(x, &x->tensors, t, (noe_span){data, bytes}, true);
    else
        add_initializer(x, t);
    return NOE_NO_STATEMENT;
}

/* The statement that makes a value of the model, where one is needed. */
static uint32_t value_statement(const noe_exporter *x, uint32_t value)
{
    const noe_onnx_value *v = &x->m->values[value];
    return v->kind == NOE_VALUE_OUTPUT ? x->original_of[v->index] : NOE_NO_STATEMENT;
}

static uint32_t ref_statement(const noe_exporter *x, noe_ref r)
{
    const noe_plan *p = &x->plans[r.node];
    return p->kind == NOE_PLAN_ORIGINAL ? x->original_of[p->onnx] : p->statement;
}

const char *noe_export_input(noe_exporter *x, uint32_t statement, noe_ref r,
                             uint32_t original)
{
    uint32_t value = noe_export_slot_value(x, r, original);
    if (value != NOE_NO_VALUE) {
        noe_export_depend(x, statement, value_statement(x, value));
        return x->m->values[value].name;
    }
    noe_export_depend(x, statement, ref_statement(x, r));
    return x->plans[r.node].names[r.port];
}

/* ---- nodes of the model ---- */

/* An operand whose value is known: the model's own constant, or a new one in place of
 * the arithmetic that made it. */
static const char *operand(noe_exporter *x, uint32_t statement, uint32_t value)
{
    const noe_onnx_value *v = &x->m->values[value];
    if (noe_export_is_constant(x->m, value)) {
        noe_export_depend(x, statement, value_statement(x, value));
        return v->name;
    }
    if (!x->operand_names[value]) {
        NOE_ASSERT(v->ints);
        bool is_wide = v->type.dtype != NOE_I32;
        noe_type type = {is_wide ? NOE_I64 : NOE_I32, {.rank = v->ints->rank}};
        type.shape.dim[0] = v->ints->n;
        int32_t *narrow = NOE_NEW_N(&x->arena, int32_t, v->ints->n);
        for (int64_t i = 0; i < v->ints->n; i++)
            narrow[i] = (int32_t)v->ints->v[i];
        const void *data = is_wide ? (const void *)v->ints->v : narrow;
        size_t bytes = (size_t)v->ints->n * noe_dtype_bytes(type.dtype);
        x->operand_names[value] = noe_export_take_name(x, v->name, "operand");
        x->operand_statements[value] =
            noe_export_constant(x, x->operand_names[value], &type, data, bytes);
    }
    noe_export_depend(x, statement, x->operand_statements[value]);
    return x->operand_names[value];
}

/* Name of input slot s of ONNX node k in the result. */
static const char *slot_name(noe_exporter *x, uint32_t statement, uint32_t k, size_t s)
{
    const noe_onnx_node *n = &x->m->nodes[k];
    if (n->in[s] == NOE_NO_VALUE)
        return "";
    if (n->kind == NOE_NODE_CONSTANT) {
        noe_export_depend(x, statement, value_statement(x, n->in[s]));
        return n->proto->input[s];
    }
    if (n->kind == NOE_NODE_ALGEBRA && n->role[s] != NOE_SLOT_DATA)
        return operand(x, statement, n->in[s]);
    return noe_export_input(x, statement, x->bound[k][s], n->in[s]);
}

static const char *output_name(const noe_exporter *x, uint32_t k, size_t i)
{
    return x->out_names[k] ? x->out_names[k][i] : x->m->nodes[k].proto->output[i];
}

/* The message with the given input and output names: its own bytes where they are what
 * they were. */
static void splice_node(noe_exporter *x, uint32_t statement, uint32_t k,
                        const char *const *in, const char *const *out)
{
    const noe_onnx_node *n = &x->m->nodes[k];
    noe_rope body = {.arena = &x->arena};
    size_t i = 0, o = 0;
    bool changed = false;
    for (noe_span rest = n->body; rest.len > 0;) {
        noe_wire_field f;
        NOE_ASSERT(!noe_wire_next(&rest, &f));
        const char *was = NULL, *is = NULL;
        if (f.number == NOE_NODE_INPUT) {
            was = n->proto->input[i];
            is = in[i++];
        } else if (f.number == NOE_NODE_OUTPUT) {
            was = n->proto->output[o];
            is = out[o++];
        }
        if (was && strcmp(was, is) != 0) {
            changed = true;
            noe_rope_add_string(&body, f.number, is);
        } else {
            noe_rope_add(&body, f.whole);
        }
    }
    noe_rope *to = &x->statements[statement].bytes;
    if (changed) {
        noe_rope_add_header(to, NOE_GRAPH_NODE, body.len);
        noe_rope_add_rope(to, &body);
    } else {
        noe_rope_add(to, n->whole);
    }
    noe_rope_clear(&body);
}

static void depend_on_captures(noe_exporter *x, uint32_t statement, noe_ref r,
                               const char *name)
{
    uint32_t pin;
    if (noe_names_find(&x->pin_of, name, &pin) && x->pins[pin].is_alias) {
        noe_export_depend(x, statement, x->pins[pin].statement);
        return;
    }
    noe_export_input(x, statement, r, noe_onnx_find_value(x->m, name));
}

static void depend_on_all_captures(noe_exporter *x, uint32_t statement, uint32_t node)
{
    const noe_onnx_node *n = &x->m->nodes[x->g->nodes[node].leaf];
    const noe_ref *in = noe_graph_inputs(x->g, node) + n->proto->n_input;
    for (uint32_t c = 0; c < n->n_captured; c++)
        depend_on_captures(x, statement, in[c], x->m->values[n->captured[c]].name);
}

static void write_original(noe_exporter *x, uint32_t k)
{
    const Onnx__NodeProto *n = x->m->nodes[k].proto;
    uint32_t statement = x->original_of[k];
    const char **in = NOE_NEW_N(&x->arena, const char *, n->n_input);
    const char **out = NOE_NEW_N(&x->arena, const char *, n->n_output);
    for (size_t i = 0; i < n->n_input; i++)
        in[i] = slot_name(x, statement, k, i);
    for (size_t i = 0; i < n->n_output; i++)
        out[i] = output_name(x, k, i);
    splice_node(x, statement, k, in, out);
}

/* ---- aliases ---- */

/* The node Identity of the model that made this name, if it did. */
static uint32_t original_alias(const noe_exporter *x, const noe_pin *pin)
{
    uint32_t v = noe_onnx_find_value(x->m, pin->name);
    if (v == NOE_NO_VALUE || x->m->values[v].kind != NOE_VALUE_OUTPUT)
        return UINT32_MAX;
    uint32_t k = x->m->values[v].index;
    const noe_onnx_node *n = &x->m->nodes[k];
    bool is_identity = n->kind == NOE_NODE_ALIAS && n->proto->n_output == 1 &&
                       strcmp(n->proto->op_type, "Identity") == 0;
    return is_identity ? k : UINT32_MAX;
}

static void write_alias(noe_exporter *x, noe_pin *pin)
{
    uint32_t k = original_alias(x, pin);
    uint32_t original = k != UINT32_MAX ? x->m->nodes[k].in[0] : NOE_NO_VALUE;
    const char *in = noe_export_input(x, pin->statement, pin->ref, original);
    if (k != UINT32_MAX)
        splice_node(x, pin->statement, k, &in, &pin->name);
    else
        noe_export_put_identity(x, pin->statement, in, pin->name);
}

/* ---- all statements ---- */

static bool is_kept_constant(const noe_exporter *x, uint32_t k)
{
    const noe_onnx_node *n = &x->m->nodes[k];
    return n->kind == NOE_NODE_CONSTANT && x->value_is_kept[n->out[0]];
}

/* Statements get their numbers first, because they refer to each other. */
static void number_statements(noe_exporter *x)
{
    x->original_of = NOE_NEW_N(&x->arena, uint32_t, x->m->n_nodes);
    for (uint32_t k = 0; k < x->m->n_nodes; k++)
        x->original_of[k] = NOE_NO_STATEMENT;
    uint32_t *alias_of = NOE_NEW_N(&x->arena, uint32_t, x->m->n_nodes);
    for (uint32_t i = 0; i < x->n_pins; i++) {
        uint32_t k = x->pins[i].is_alias ? original_alias(x, &x->pins[i]) : UINT32_MAX;
        if (k != UINT32_MAX)
            alias_of[k] = i + 1;
    }
    for (uint32_t k = 0; k < x->m->n_nodes; k++) {
        if (x->out_names[k] || is_kept_constant(x, k))
            x->original_of[k] = noe_export_statement(x);
        else if (alias_of[k])
            x->pins[alias_of[k] - 1].statement = noe_export_statement(x);
    }
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        if (x->plans[i].is_needed && x->plans[i].kind == NOE_PLAN_FRESH)
            x->plans[i].statement = noe_export_statement(x);
    }
    for (uint32_t i = 0; i < x->n_pins; i++) {
        if (x->pins[i].is_alias && x->pins[i].statement == NOE_NO_STATEMENT)
            x->pins[i].statement = noe_export_statement(x);
    }
}

static noe_status write_weight(noe_exporter *x, uint32_t i)
{
    noe_plan *p = &x->plans[i];
    const noe_type *type = &x->g->nodes[i].types[0];
    if (p->value != NOE_NO_VALUE)
        return NOE_OK;
    if (!p->data || type->dtype == NOE_UNKNOWN)
        return noe_fail(x->err, NOE_ERR_UNSUPPORTED, "weight '%s' has no data",
                        p->names[0]);
    p->statement = noe_export_constant(x, p->names[0], type, p->data, p->bytes);
    return NOE_OK;
}

static noe_status write_statements(noe_exporter *x)
{
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        if (x->plans[i].is_needed && x->plans[i].kind == NOE_PLAN_WEIGHT)
            NOE_TRY(write_weight(x, i));
    }
    for (uint32_t k = 0; k < x->m->n_nodes; k++) {
        if (x->original_of[k] != NOE_NO_STATEMENT)
            write_original(x, k);
    }
    for (uint32_t i = 0; i < x->g->n_nodes; i++) {
        const noe_plan *p = &x->plans[i];
        if (!p->is_needed)
            continue;
        if (p->kind == NOE_PLAN_FRESH)
            NOE_TRY(noe_export_put(x, p->statement, i));
        if (x->g->nodes[i].op == NOE_OP_OPAQUE)
            depend_on_all_captures(x, ref_statement(x, (noe_ref){i, 0}), i);
    }
    for (uint32_t i = 0; i < x->n_pins; i++) {
        if (x->pins[i].is_alias)
            write_alias(x, &x->pins[i]);
    }
    return NOE_OK;
}

/* ---- order ---- */

enum { STATE_NEW, STATE_OPEN, STATE_DONE };

static noe_status visit(noe_exporter *x, uint32_t first, uint32_t *stack)
{
    uint32_t n = 0;
    if (x->statements[first].state == STATE_NEW)
        stack[n++] = first;
    while (n > 0) {
        noe_statement *s = &x->statements[stack[n - 1]];
        s->state = STATE_OPEN;
        while (s->n_deps > 0 &&
               x->statements[s->deps[s->n_deps - 1]].state == STATE_DONE)
            s->n_deps--;
        if (s->n_deps == 0) {
            s->state = STATE_DONE;
            noe_rope_add_rope(&x->nodes, &s->bytes);
            n--;
            continue;
        }
        uint32_t next = s->deps[s->n_deps - 1];
        if (x->statements[next].state == STATE_OPEN)
            return noe_fail(x->err, NOE_ERR_UNSUPPORTED,
                            "the rewritten nodes would form a cycle");
        stack[n++] = next;
    }
    return NOE_OK;
}

/* Dependencies are walked from the back, so they are turned round first: what a node
 * reads first is then also written first. */
static void reverse_deps(noe_statement *s)
{
    for (uint32_t i = 0; i < s->n_deps / 2; i++) {
        uint32_t t = s->deps[i];
        s->deps[i] = s->deps[s->n_deps - 1 - i];
        s->deps[s->n_deps - 1 - i] = t;
    }
}

static noe_status order(noe_exporter *x)
{
    uint32_t *stack = NOE_NEW_N(&x->arena, uint32_t, x->n_statements);
    for (uint32_t i = 0; i < x->n_statements; i++)
        reverse_deps(&x->statements[i]);
    for (uint32_t i = 0; i < x->n_statements; i++)
        NOE_TRY(visit(x, i, stack));
    return NOE_OK;
}

/* ---- the interface ---- */

static noe_op origin_op(void *ctx, uint32_t origin)
{
    return noe_onnx_origin_op(ctx, origin);
}

static noe_status prepare(noe_exporter *x, const noe_graph *g)
{
    NOE_TRY(noe_export_check_external(x));
    if (g->n_outputs != x->m->n_outputs || g->pool != x->m->pool)
        return noe_fail(x->err, NOE_ERR_ARG, "the graph has %u outputs, the model %u",
                        g->n_outputs, x->m->n_outputs);
    NOE_TRY(noe_graph_fold(g, origin_op, (void *)x->m, &x->g, x->err));
    uint32_t n = x->g->n_nodes;
    x->live = NOE_NEW_N(&x->arena, uint8_t, n);
    x->uses = NOE_NEW_N(&x->arena, uint32_t, n);
    x->leaf_bytes = NOE_NEW_N(&x->arena, uint64_t, n);
    x->plans = NOE_NEW_N(&x->arena, noe_plan, n);
    x->bound = NOE_NEW_N(&x->arena, noe_ref *, x->m->n_nodes);
    x->value_is_kept = NOE_NEW_N(&x->arena, bool, x->m->n_values);
    x->operand_names = NOE_NEW_N(&x->arena, const char *, x->m->n_values);
    x->operand_statements = NOE_NEW_N(&x->arena, uint32_t, x->m->n_values);
    x->nodes.arena = x->tensors.arena = x->data.arena = &x->arena;
    noe_graph_mark_live(x->g, x->live);
    noe_graph_count_uses(x->g, x->live, x->uses);
    return NOE_OK;
}

static noe_status export(noe_exporter *x, const noe_graph *g, char **data, size_t *len)
{
    NOE_TRY(prepare(x, g));
    NOE_TRY(noe_export_plan(x));
    NOE_TRY(noe_export_name(x));
    number_statements(x);
    NOE_TRY(write_statements(x));
    NOE_TRY(order(x));
    return noe_export_splice(x, data, len);
}

static void clear(noe_exporter *x)
{
    for (uint32_t i = 0; i < x->n_statements; i++) {
        free(x->statements[i].deps);
        noe_rope_clear(&x->statements[i].bytes);
    }
    free(x->statements);
    free(x->pins);
    noe_rope_clear(&x->nodes);
    noe_rope_clear(&x->tensors);
    noe_rope_clear(&x->data);
    noe_names_clear(&x->taken);
    noe_names_clear(&x->pin_of);
    noe_graph_free(x->g);
    noe_arena_clear(&x->arena);
}

static noe_status finish(noe_exporter *x, noe_status status)
{
    if (status != NOE_OK)
        noe_error_prefix(x->err, "%s: ", x->m->name);
    clear(x);
    return status;
}

noe_status noe_onnx_serialize(const noe_onnx_model *m, const noe_graph *g, char **data,
                              size_t *len, noe_error *err)
{
    noe_exporter x = {.m = m, .err = err, .inline_external = true};
    return finish(&x, export(&x, g, data, len));
}

noe_status noe_onnx_serialize_beside(const noe_onnx_model *m, const noe_graph *g,
                                     char **data, size_t *len, noe_error *err)
{
    noe_exporter x = {.m = m, .err = err};
    return finish(&x, export(&x, g, data, len));
}

static bool is_same_folder(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *other = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *a = realpath(folder, NULL), *b = other ? realpath(other, NULL) : NULL;
    bool same = a && b && strcmp(a, b) == 0;
    free(other);
    free(a);
    free(b);
    return same;
}

static bool is_location(const noe_onnx_tensor *t, const char *name)
{
    for (size_t i = 0; i < t->proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->proto->external_data[i];
        if (e->key && e->value && strcmp(e->key, "location") == 0 &&
            strcmp(e->value, name) == 0)
            return true;
    }
    return false;
}

/* "out.onnx.data", or with a number where the model itself has such a file there. */
static const char *name_data_file(noe_arena *a, const noe_onnx_model *m,
                                  const char *path, bool same_folder)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *name = noe_arena_printf(a, "%s.data", base);
    for (uint32_t n = 1, i = 0; same_folder && i < m->n_initializers; i++) {
        if (is_location(&m->initializers[i], name)) {
            name = noe_arena_printf(a, "%s.%u.data", base, n++);
            i = UINT32_MAX; /* from the start */
        }
    }
    return name;
}

/* The data first: a model that refers to what is not there must never be seen. */
static noe_status write_files(const noe_exporter *x, const char *path, const void *data,
                              size_t len, noe_error *err)
{
    noe_arena arena = {0};
    const char *slash = strrchr(path, '/');
    const char *beside = noe_arena_printf(
        &arena, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, x->data_file);
    noe_file_piece *pieces = NOE_NEW_N(&arena, noe_file_piece, x->data.n + 1);
    for (size_t i = 0; i < x->data.n; i++)
        pieces[i] = (noe_file_piece){x->data.pieces[i].at, x->data.pieces[i].len};
    noe_status status = NOE_OK;
    if (x->data.n > 0) {
        status = noe_file_check_writable(path, err);
        if (status == NOE_OK)
            status = noe_file_write_pieces(beside, pieces, x->data.n, err);
    }
    if (status == NOE_OK)
        status = noe_file_write(path, data, len, err);
    noe_arena_clear(&arena);
    return status;
}

/* Tries it with more in the data file where the model gets too large without. */
noe_status noe_onnx_save(const noe_onnx_model *m, const noe_graph *g, const char *path,
                         noe_error *err)
{
    char *data;
    size_t len;
    noe_arena arena = {0};
    bool same_folder = m->folder && is_same_folder(m->folder, path);
    const char *name = name_data_file(&arena, m, path, same_folder);
    noe_exporter x = {
        .m = m, .err = err, .inline_external = !same_folder, .data_file = name};
    noe_status status = export(&x, g, &data, &len);
    if (status != NOE_OK && x.is_too_large) {
        clear(&x);
        x = (noe_exporter){.m = m,
                           .err = err,
                           .inline_external = !same_folder,
                           .data_file = name,
                           .externalize = true};
        status = export(&x, g, &data, &len);
    }
    if (status == NOE_OK) {
        status = write_files(&x, path, data, len, err);
        free(data);
        clear(&x);
    } else {
        (void)finish(&x, status);
    }
    noe_arena_clear(&arena);
    return status;
}
