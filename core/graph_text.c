/* SPDX-License-Identifier: Apache-2.0
 *
 * Text form of graphs: one node a line, in node order.
 *
 *   %0 = input "x" : f32[1,8,5,5]
 *   %1 = weight "w" : f32[8,8,3,3]
 *   %2 = conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1](%0, %1) :
 * f32[1,8,5,5] %3 = opaque #7(%2, _, %0) : f32[1], i64[2]          several outputs:
 * %3.0 and %3.1 return %2 as "y", %3.1
 *
 * All parameters are written, since a concrete value needs no default. Names are quoted
 * with \" and \\ escaped; control characters as \xx.
 */
#include "core/graph.h"
#include "core/lex.h"
#include <ctype.h>
#include <stdlib.h>

/* ---- writing ---- */

static void print_quoted(noe_buf *b, const char *s)
{
    noe_buf_puts(b, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            noe_buf_printf(b, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            noe_buf_printf(b, "\\%02x", (unsigned char)*s);
        else
            noe_buf_add(b, s, 1);
    }
    noe_buf_puts(b, "\"");
}

static void print_ref(noe_buf *b, const noe_graph *g, noe_ref r)
{
    if (noe_ref_is_none(r))
        noe_buf_puts(b, "_");
    else if (g->nodes[r.node].n_outputs > 1)
        noe_buf_printf(b, "%%%u.%u", r.node, r.port);
    else
        noe_buf_printf(b, "%%%u", r.node);
}

static void print_params(noe_buf *b, const noe_node *n)
{
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; n->params && i < n->params->n; i++) {
        noe_buf_printf(b, "%s%s=", i ? ", " : "[", noe_param_name(info->params[i]));
        noe_value_print(b, &n->params->v[i]);
    }
    if (n->params)
        noe_buf_puts(b, "]");
}

static void print_node(noe_buf *b, const noe_graph *g, uint32_t i)
{
    const noe_node *n = noe_graph_node(g, i);
    const noe_ref *in = noe_graph_inputs(g, i);
    noe_buf_printf(b, "%%%u = %s", i, noe_op_get(n->op)->name);
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT) {
        noe_buf_puts(b, " ");
        print_quoted(b, noe_graph_leaf_of(g, i)->name);
    } else {
        if (n->op == NOE_OP_OPAQUE)
            noe_buf_printf(b, " #%u", n->leaf);
        print_params(b, n);
        noe_buf_puts(b, "(");
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            noe_buf_puts(b, k ? ", " : "");
            print_ref(b, g, in[k]);
        }
        noe_buf_puts(b, ")");
    }
    for (uint32_t k = 0; k < n->n_outputs; k++) {
        noe_buf_puts(b, k ? ", " : " : ");
        noe_type_print(b, &n->types[k]);
    }
    noe_buf_puts(b, "\n");
}

void noe_graph_print(noe_buf *b, const noe_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        print_node(b, g, i);
    noe_buf_puts(b, "return");
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        noe_buf_puts(b, i ? ", " : " ");
        print_ref(b, g, g->outputs[i].ref);
        if (*g->outputs[i].name) {
            noe_buf_puts(b, " as ");
            print_quoted(b, g->outputs[i].name);
        }
    }
    noe_buf_puts(b, "\n");
}

/* ---- reading ---- */

typedef struct reader {
    noe_lexer lx;
    noe_graph *g;
    noe_ref *nodes; /* text number -> node */
    uint32_t n_nodes, cap_nodes;
    noe_ref *refs; /* operands of the node being read */
    uint32_t n_refs, cap_refs;
} reader;

static bool accept_kind(reader *r, noe_token_kind kind, noe_token *t)
{
    if (r->lx.token.kind != kind)
        return false;
    *t = r->lx.token;
    noe_lex_next(&r->lx);
    return true;
}

static noe_status read_int(reader *r, int64_t *i)
{
    noe_token t;
    bool negative = noe_lex_accept(&r->lx, "-");
    *i = 0;
    if (!accept_kind(r, NOE_TOKEN_INT, &t))
        return noe_lex_fail(&r->lx, "expected an integer");
    *i = negative ? -t.i : t.i;
    return NOE_OK;
}

static int hex_digit(int c)
{
    return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : 0;
}

static noe_status read_quoted(reader *r, noe_buf *name)
{
    noe_token t;
    if (!accept_kind(r, NOE_TOKEN_STRING, &t))
        return noe_lex_fail(&r->lx, "expected a quoted name");
    name->len = 0;
    noe_buf_puts(name, "");
    for (size_t i = 0; i < t.len; i++) {
        char c = t.text[i];
        if (c == '\\' && i + 1 < t.len) {
            c = t.text[++i];
            if (c != '"' && c != '\\' && i + 1 < t.len) {
                c = (char)(hex_digit((unsigned char)c) * 16 +
                           hex_digit((unsigned char)t.text[i + 1]));
                i++;
            }
        }
        if (c == '\0')
            return noe_lex_fail(&r->lx, "a name may not contain a zero byte");
        noe_buf_add(name, &c, 1);
    }
    return NOE_OK;
}

static noe_status read_dim(reader *r, int64_t *dim)
{
    noe_token t = r->lx.token;
    if (noe_lex_accept(&r->lx, "?")) {
        *dim = NOE_DIM_UNKNOWN;
        return NOE_OK;
    }
    if (t.kind == NOE_TOKEN_NAME && t.len > 1 && t.len < 10 && t.text[0] == 's') {
        char *end;
        *dim = NOE_DIM_UNKNOWN - strtol(t.text + 1, &end, 10);
        noe_lex_next(&r->lx);
        return *dim < NOE_DIM_UNKNOWN && end == t.text + t.len
                   ? NOE_OK
                   : noe_lex_fail(&r->lx, "bad symbolic dimension");
    }
    NOE_TRY(read_int(r, dim));
    return *dim >= 0 ? NOE_OK : noe_lex_fail(&r->lx, "negative dimension");
}

static noe_status read_type(reader *r, noe_type *type)
{
    noe_token t;
    *type = (noe_type){.shape.rank = 0};
    if (!accept_kind(r, NOE_TOKEN_NAME, &t) ||
        !noe_dtype_from_name(t.text, t.len, &type->dtype))
        return noe_lex_fail(&r->lx, "expected an element type such as f32");
    if (noe_lex_accept(&r->lx, "?")) {
        type->shape.rank = NOE_RANK_UNKNOWN;
        return NOE_OK;
    }
    NOE_TRY(noe_lex_expect(&r->lx, "["));
    while (!noe_lex_accept(&r->lx, "]")) {
        if (type->shape.rank > 0)
            NOE_TRY(noe_lex_expect(&r->lx, ","));
        if (type->shape.rank == NOE_MAX_RANK)
            return noe_lex_fail(&r->lx, "rank above %d", NOE_MAX_RANK);
        NOE_TRY(read_dim(r, &type->shape.dim[type->shape.rank++]));
    }
    return r->lx.status;
}

static noe_status read_ref(reader *r, noe_ref *ref)
{
    noe_token t;
    *ref = NOE_REF_NONE;
    if (noe_lex_accept(&r->lx, "_"))
        return NOE_OK;
    if (!accept_kind(r, NOE_TOKEN_NODE, &t))
        return noe_lex_fail(&r->lx, "expected a node such as %%3");
    if (t.i < 0 || t.i >= r->n_nodes)
        return noe_lex_fail(&r->lx, "node %%%lld is not defined above", (long long)t.i);
    *ref = r->nodes[t.i];
    if (noe_lex_accept(&r->lx, ".")) {
        int64_t port;
        NOE_TRY(read_int(r, &port));
        if (port < 0 || port >= r->g->nodes[ref->node].n_outputs)
            return noe_lex_fail(&r->lx, "node %%%lld has no output %lld",
                                (long long)t.i, (long long)port);
        ref->port = (uint32_t)port;
    }
    return NOE_OK;
}

static noe_status read_value(reader *r, noe_param_kind kind, noe_value *v)
{
    if (kind == NOE_KIND_FLOAT) {
        noe_token t;
        bool negative = noe_lex_accept(&r->lx, "-");
        if (!accept_kind(r, NOE_TOKEN_FLOAT, &t))
            return noe_lex_fail(&r->lx, "expected a number with a point or exponent");
        *v = noe_value_float(negative ? -t.f : t.f);
        return NOE_OK;
    }
    if (kind == NOE_KIND_INT || kind == NOE_KIND_AXIS) {
        int64_t i;
        NOE_TRY(read_int(r, &i));
        *v = noe_value_int(kind, i);
        return NOE_OK;
    }
    *v = noe_value_list(kind, 0, NULL);
    NOE_TRY(noe_lex_expect(&r->lx, "["));
    while (!noe_lex_accept(&r->lx, "]")) {
        if (v->n > 0)
            NOE_TRY(noe_lex_expect(&r->lx, ","));
        if (v->n == NOE_MAX_LIST)
            return noe_lex_fail(&r->lx, "list longer than %d", NOE_MAX_LIST);
        NOE_TRY(read_int(r, &v->list[v->n++]));
    }
    return r->lx.status;
}

static noe_status read_params(reader *r, noe_op op, noe_params *params)
{
    const noe_op_info *info = noe_op_get(op);
    *params = (noe_params){.n = info->n_params};
    for (int i = 0; i < info->n_params; i++) {
        NOE_TRY(noe_lex_expect(&r->lx, i ? "," : "["));
        NOE_TRY(noe_lex_expect(&r->lx, noe_param_name(info->params[i])));
        NOE_TRY(noe_lex_expect(&r->lx, "="));
        NOE_TRY(read_value(r, noe_param_kind_of(info->params[i]), &params->v[i]));
    }
    return info->n_params ? noe_lex_expect(&r->lx, "]") : NOE_OK;
}

static noe_status read_operands(reader *r)
{
    r->n_refs = 0;
    NOE_TRY(noe_lex_expect(&r->lx, "("));
    while (!noe_lex_accept(&r->lx, ")")) {
        noe_ref ref;
        if (r->n_refs > 0)
            NOE_TRY(noe_lex_expect(&r->lx, ","));
        NOE_TRY(read_ref(r, &ref));
        NOE_PUSH(r->refs, r->n_refs, r->cap_refs, ref);
    }
    return r->lx.status;
}

static noe_status read_leaf(reader *r, noe_op op, noe_ref *node)
{
    noe_buf name = {0};
    noe_type type;
    noe_status status = read_quoted(r, &name);
    if (status == NOE_OK)
        status = noe_lex_expect(&r->lx, ":");
    if (status == NOE_OK)
        status = read_type(r, &type);
    if (status == NOE_OK) {
        uint32_t leaf =
            noe_pool_add_leaf(r->g->pool, noe_buf_text(&name), &type, NULL, 0, NULL);
        *node = noe_graph_leaf(r->g, op, leaf);
    }
    noe_buf_clear(&name);
    return status;
}

static noe_status read_opaque(reader *r, noe_ref *node)
{
    int64_t number;
    noe_type *types = NULL;
    uint32_t n_types = 0, cap_types = 0;
    NOE_TRY(noe_lex_expect(&r->lx, "#"));
    NOE_TRY(read_int(r, &number));
    NOE_TRY(read_operands(r));
    noe_status status = noe_lex_expect(&r->lx, ":");
    while (status == NOE_OK) {
        noe_type type;
        status = read_type(r, &type);
        if (status == NOE_OK)
            NOE_PUSH(types, n_types, cap_types, type);
        if (!noe_lex_accept(&r->lx, ","))
            break;
    }
    if (status == NOE_OK)
        *node = noe_graph_add_opaque(r->g, (uint32_t)number, r->refs, r->n_refs, types,
                                     n_types);
    free(types);
    return status;
}

static noe_status read_operator(reader *r, noe_op op, noe_ref *node)
{
    noe_params params;
    noe_type type;
    NOE_TRY(read_params(r, op, &params));
    NOE_TRY(read_operands(r));
    for (uint32_t k = 0; k < r->n_refs; k++) {
        if (noe_ref_is_none(r->refs[k]))
            return noe_lex_fail(&r->lx, "an operand is missing");
    }
    if (r->n_refs > NOE_MAX_INPUTS)
        return noe_lex_fail(&r->lx, "%u operands", r->n_refs);
    NOE_TRY(noe_lex_expect(&r->lx, ":"));
    NOE_TRY(read_type(r, &type));
    NOE_TRY(noe_graph_add(r->g, op, &params, r->refs, (int)r->n_refs, node, r->lx.err));
    if (!noe_type_eq(noe_graph_type(r->g, *node), &type))
        return noe_lex_fail(&r->lx, "the type is not the operator's");
    return NOE_OK;
}

static noe_status read_node(reader *r)
{
    noe_token t;
    noe_ref node;
    noe_op op;
    if (!accept_kind(r, NOE_TOKEN_NODE, &t) || t.i != r->n_nodes)
        return noe_lex_fail(&r->lx, "expected '%%%u = ' or 'return'", r->n_nodes);
    NOE_TRY(noe_lex_expect(&r->lx, "="));
    if (noe_lex_accept(&r->lx, "input"))
        NOE_TRY(read_leaf(r, NOE_OP_INPUT, &node));
    else if (noe_lex_accept(&r->lx, "weight"))
        NOE_TRY(read_leaf(r, NOE_OP_WEIGHT, &node));
    else if (noe_lex_accept(&r->lx, "opaque"))
        NOE_TRY(read_opaque(r, &node));
    else if (accept_kind(r, NOE_TOKEN_NAME, &t) && noe_op_from_name(t.text, t.len, &op))
        NOE_TRY(read_operator(r, op, &node));
    else
        return noe_lex_fail(&r->lx, "unknown operator");
    NOE_PUSH(r->nodes, r->n_nodes, r->cap_nodes, node);
    return r->lx.status;
}

static noe_status read_outputs(reader *r)
{
    noe_buf name = {0};
    noe_status status = NOE_OK;
    while (status == NOE_OK && r->lx.token.kind != NOE_TOKEN_END) {
        noe_ref ref;
        name.len = 0;
        noe_buf_puts(&name, "");
        if (r->g->n_outputs > 0)
            status = noe_lex_expect(&r->lx, ",");
        if (status == NOE_OK)
            status = read_ref(r, &ref);
        if (status == NOE_OK && noe_ref_is_none(ref))
            status = noe_lex_fail(&r->lx, "an output cannot be missing");
        if (status == NOE_OK && noe_lex_accept(&r->lx, "as"))
            status = read_quoted(r, &name);
        if (status == NOE_OK)
            noe_graph_add_output(r->g, ref, noe_buf_text(&name));
    }
    noe_buf_clear(&name);
    return status;
}

noe_status noe_graph_parse(noe_pool *pool, const char *text, noe_graph **g,
                           noe_error *err)
{
    reader r = {.g = noe_graph_new(pool)};
    noe_lex_init(&r.lx, text, strlen(text), err);
    noe_status status = r.lx.status;
    while (status == NOE_OK && !noe_lex_is(&r.lx, "return"))
        status = read_node(&r);
    if (status == NOE_OK)
        status = noe_lex_expect(&r.lx, "return");
    if (status == NOE_OK)
        status = read_outputs(&r);
    if (status == NOE_OK)
        status = r.lx.status;
    free(r.nodes);
    free(r.refs);
    if (status != NOE_OK) {
        noe_graph_free(r.g);
        return status;
    }
    *g = r.g;
    return NOE_OK;
}
