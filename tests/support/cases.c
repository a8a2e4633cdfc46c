/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cases.h"
#include "core/base/rng.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

const noe_op_case noe_op_cases[] = {
#define CASE(ID, PARAM_TEXT, INPUTS, OUTPUT) {NOE_OP_##ID, PARAM_TEXT, INPUTS, OUTPUT},
#include "tests/op_cases.def"
};
const int noe_n_op_cases = sizeof noe_op_cases / sizeof *noe_op_cases;

int noe_shapes_parse(const char *text, noe_shape *shapes, int max)
{
    int n = 0;
    while ((text = strchr(text, '[')) != NULL) {
        ck_assert_int_lt(n, max);
        noe_shape *s = &shapes[n++];
        s->rank = 0;
        for (text++; *text != ']'; text += *text == ',') {
            char *end;
            ck_assert_int_lt(s->rank, NOE_MAX_RANK);
            s->dim[s->rank++] = strtoll(text, &end, 10);
            ck_assert_msg(end != text, "bad shape at '%s'", text);
            text = end;
        }
    }
    return n;
}

const char *noe_op_case_text(const noe_op_case *c)
{
    static char text[512];
    snprintf(text, sizeof text, "%s[%s] of %s", noe_op_get(c->op)->name, c->params,
             c->inputs);
    return text;
}

/* The rule parser reads the parameters: the case is the left side of "op[...](...) =>
 * ?a". */
static void parse_params(const noe_op_case *c, noe_op_instance *out)
{
    static const char *const operands[] = {"",         "?a",          "?a,?b",
                                           "?a,?b,?c", "?a,?b,?c,?d", "?a,?b,?c,?d,?e"};
    noe_buf text = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_error err = {0};
    noe_buf_printf(&text, "%s[%s](%s) => ?a", noe_op_get(c->op)->name, c->params,
                   operands[out->n_in]);
    noe_assert_ok(noe_rule_parse(text.text, SIZE_MAX, rule, &err), err);
    const noe_pattern_node *p = &rule->nodes[rule->lhs[0]];
    const noe_op_info *info = noe_op_get(c->op);
    noe_binding *none = noe_calloc(1, sizeof *none);
    int spatial =
        out->n_in && out->in[0].shape.rank > 2 ? out->in[0].shape.rank - 2 : 0;
    out->params.n = info->n_params;
    for (int i = 0; i < info->n_params; i++) {
        noe_value *v = &out->params.v[i];
        bool known = p->params[i] == NOE_TERM_ABSENT
                         ? noe_param_default(c->op, info->params[i], spatial, v)
                         : noe_term_eval(rule, p->params[i], none, v);
        noe_param_kind kind = noe_param_kind_of(info->params[i]);
        ck_assert_msg(known, "%s: %s is missing", noe_op_case_text(c),
                      noe_param_name(info->params[i]));
        if (kind == NOE_KIND_FLOAT && v->kind == NOE_KIND_INT)
            *v = noe_value_float((double)v->i);
        v->kind = kind;
    }
    free(none);
    free(rule);
    noe_buf_clear(&text);
}

void noe_op_case_parse(const noe_op_case *c, noe_op_instance *out)
{
    noe_shape shapes[NOE_MAX_INPUTS];
    memset(out, 0, sizeof *out);
    out->op = c->op;
    out->n_in = noe_shapes_parse(c->inputs, shapes, NOE_RULE_MAX_INPUTS);
    for (int i = 0; i < out->n_in; i++)
        out->in[i] = (noe_type){NOE_F32, shapes[i]};
    parse_params(c, out);
}

void noe_op_case_instance(const noe_op_case *c, noe_op_instance *out)
{
    noe_error err = {0};
    noe_op_case_parse(c, out);
    noe_assert_ok(noe_params_normalize(c->op, &out->params, out->in, out->n_in, &err),
                  err);
    noe_assert_ok(
        noe_op_infer(c->op, &out->params, out->in, out->n_in, &out->out, &err), err);
}

noe_graph *noe_text_graph_new(noe_pool *pool, const char *text)
{
    noe_error err;
    noe_graph *g = NULL;
    noe_assert_ok(noe_graph_parse(pool, text, &g, &err), err);
    noe_graph *filled = noe_gen_fill_weights(g, 5);
    ck_assert_ptr_nonnull(filled);
    noe_graph_free(g);
    return filled;
}

static noe_ref case_operand(noe_graph *g, const noe_type *type, int k, bool is_weight)
{
    char name[16];
    noe_pool *pool = g->pool;
    size_t n = (size_t)noe_shape_elements(&type->shape);
    float *data = noe_arena_alloc(noe_pool_arena(pool), (n + 1) * sizeof *data);
    noe_rng rng = noe_rng_split(1, "case", (uint64_t)k);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(0.5 + noe_rng_unit(&rng));
    snprintf(name, sizeof name, "x%d", k);
    uint32_t leaf = noe_pool_add_leaf(pool, name, type, is_weight ? data : NULL,
                                      is_weight ? n * sizeof *data : 0, NULL);
    return noe_graph_leaf(g, is_weight ? NOE_OP_WEIGHT : NOE_OP_INPUT, leaf);
}

noe_graph *noe_op_case_graph(noe_pool *pool, const noe_op_case *c, int first_weight)
{
    noe_op_instance in;
    noe_error err;
    noe_ref refs[NOE_MAX_INPUTS], out;
    noe_op_case_instance(c, &in);
    noe_graph *g = noe_graph_new(pool);
    for (int k = 0; k < in.n_in; k++)
        refs[k] = case_operand(g, &in.in[k], k, k >= first_weight);
    noe_assert_ok(noe_graph_add(g, c->op, in.params.n ? &in.params : NULL, refs,
                                in.n_in, &out, &err),
                  err);
    noe_graph_add_output(g, out, "y");
    return g;
}
