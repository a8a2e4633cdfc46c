/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing graphs back: what stays, what changes, names, order, and new nodes of every
 * operator in the form of every opset.
 */
#include "core/definition.h"
#include "core/match.h"
#include "tests/onnx_io/build.h"
#include "tests/onnx_io/evaluate.h"
#include "tests/support/cases.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

static noe_error err;

/* ---- rewriting ---- */

static bool take_first(void *ctx, const noe_match *match)
{
    *(noe_match *)ctx = *match;
    return false;
}

/* Applies the rule at its first match, expanded graphs included. */
static noe_graph *rewrite(const noe_graph *g, const char *text)
{
    static noe_rule rule;
    noe_match match;
    noe_graph *out = NULL;
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, &rule, &err), err);
    for (uint32_t i = 0; i < g->n_nodes && !out; i++) {
        if (noe_rule_match(&rule, g, i, take_first, &match) > 0)
            noe_assert_ok(noe_rule_apply(&rule, g, &match, &out, &err), err);
    }
    ck_assert_msg(out, "no match of %s", text);
    noe_graph_check(out);
    return out;
}

static noe_graph *rewrite_all(const noe_graph *g, const char *const *rules)
{
    noe_graph *out = noe_graph_copy(g);
    for (int i = 0; rules[i]; i++) {
        noe_graph *next = rewrite(out, rules[i]);
        noe_graph_free(out);
        out = next;
    }
    return out;
}

typedef struct story {
    const char *name, *model;
    const char *rules[3];
    const char *nodes;  /* what is written */
    int n_initializers; /* -1: not looked at */
} story;

#define RELU2 "relu(relu(?a)) => relu(?a)"
#define NEG2  "neg(neg(?a)) => ?a"
#define X     "input x f32 2,3\noutput y f32 2,3\n"

static const story stories[] = {
    {"untouched",
     X "init w f32 3\nnode Add x,w -> a name=n\nnode Relu a -> y",
     {NULL},
     "Add(x,w)->a Relu(a)->y ",
     1},
    {"output keeps its name",
     X "node Relu x -> a\nnode Relu a -> y",
     {RELU2},
     "Relu(x)->y ",
     0},
    {"output takes over the name of a node in the middle",
     X "node Exp x -> a\nnode Neg a -> b\nnode Neg b -> y",
     {NEG2},
     "Exp(x)->y ",
     0},
    {"both names are outputs",
     X "output a f32 2,3\nnode Exp x -> a\nnode Neg a -> b\nnode Neg b -> y",
     {NEG2},
     "Exp(x)->a Identity(a)->y ",
     0},
    {"output becomes an input",
     X "node Neg x -> b\nnode Neg b -> y",
     {NEG2},
     "Identity(x)->y ",
     0},
    {"three outputs of one value",
     X "output z f32 2,3\noutput a f32 2,3\nnode Exp x -> a\nnode Neg a -> b\n"
       "node Neg b -> y\nnode Identity y -> z",
     {NEG2},
     "Exp(x)->a Identity(a)->z Identity(a)->y ",
     0},
    {"consumers are redirected",
     X "node Exp x -> a\nnode Neg a -> b\nnode Neg b -> c\nnode Tanh c -> y",
     {NEG2},
     "Exp(x)->a Tanh(a)->y ",
     0},
    {"dead initializer goes, unused one stays",
     X "init u f32 2\ninit w f32 2,3\ninit v f32 2,3\nnode Mul x,w -> a\n"
       "node Sub a,v -> b\nnode Relu x -> y",
     {NULL},
     "Relu(x)->y ",
     1},
    {"new node under the old name",
     X "init w f32 2,3\nnode Add x,w -> a\nnode Neg a -> y",
     {"neg(add(?a, ?b)) => sub(neg(?a), ?b)"},
     "Neg(x)->noether_neg_0 Sub(noether_neg_0,w)->y ",
     1},
    {"computed weight",
     X "init w f32 3\ninit v f32 3\nnode Mul x,w -> a\nnode Mul a,v -> y",
     {"mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"},
     "Mul(x,noether_weight_0)->y ",
     1},
    {"computed weight that the model has already",
     X "init w f32 3 = 1,2,3\ninit v f32 3 = 2,2,2\ninit p f32 3 = 2,4,6\n"
       "node Mul x,w -> a\nnode Mul a,v -> b\nnode Add b,p -> y",
     {"mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"},
     "Mul(x,p)->b Add(b,p)->y ",
     1},
    {"weight in a node Constant of old IR",
     "ir 3\nopset 9\n" X "input w f32 3\ninit w f32 3\ninput v f32 3\ninit v f32 3\n"
     "node Mul x,w -> a\nnode Mul a,v -> y",
     {"mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"},
     "Constant()->noether_weight_0 Mul(x,noether_weight_0)->y ",
     2},
    {"fresh names avoid all names of the model",
     "graph b\nnode Neg noether_weight_1 -> r\noutput r f32 *\nend\ninput c bool -\n"
     "output z f32 *\n" X
     "init w f32 3\ninit v f32 3\nnode Mul x,w -> noether_weight_0\n"
     "node Tanh x -> noether_weight_1\nnode Mul noether_weight_0,v -> y\n"
     "node If c -> z then_branch=g:b else_branch=g:b",
     {"mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"},
     "Tanh(x)->noether_weight_1 If(c)->z Mul(x,noether_weight_2)->y ",
     1},
    {"captured name stays",
     "graph b\nnode Neg t -> r\noutput r f32 *\nend\ninput c bool -\ninput x f32 2,3\n"
     "output y f32 *\nnode Relu x -> s\nnode Relu s -> t\n"
     "node If c -> y then_branch=g:b else_branch=g:b",
     {RELU2},
     "Relu(x)->t If(c)->y ",
     0},
    {"captured name becomes an alias of an input",
     "graph b\nnode Neg t -> r\noutput r f32 *\nend\ninput c bool -\ninput x f32 2,3\n"
     "output y f32 *\nnode Neg x -> s\nnode Neg s -> t\n"
     "node If c -> y then_branch=g:b else_branch=g:b",
     {NEG2},
     "Identity(x)->t If(c)->y ",
     0},
    {"captured initializer stays",
     "graph b\nnode Neg w -> r\noutput r f32 *\nend\ninput c bool -\ninput x f32 2,3\n"
     "output y f32 *\noutput z f32 *\ninit w f32 3\ninit v f32 3\nnode Mul x,w -> a\n"
     "node Mul a,v -> z\nnode If c -> y then_branch=g:b else_branch=g:b",
     {"mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"},
     "If(c)->y Mul(x,noether_weight_0)->z ",
     2},
    {"equal nodes become one",
     X "output z f32 2,3\nnode Exp x -> a\nnode Exp x -> b\nnode Neg a -> y\n"
       "node Tanh b -> z",
     {NULL},
     "Exp(x)->a Neg(a)->y Tanh(a)->z ",
     0},
    {"equal initializers keep their names",
     X
     "init w f32 3 = 1,2,3\ninit v f32 3 = 1,2,3\nnode Add x,w -> a\nnode Sub a,v -> y",
     {NULL},
     "Add(x,w)->a Sub(a,v)->y ",
     2},
    {"constants keep their nodes",
     X "node Constant -> w value=t:f32:3:1,2,3\ninit s i64 1 = 3\n"
       "node ConstantOfShape s -> v value=t:f32:1:2\nnode Add x,w -> a\nnode Sub a,v "
       "-> y",
     {NULL},
     "Constant()->w ConstantOfShape(s)->v Add(x,w)->a Sub(a,v)->y ",
     1},
    {"weight arithmetic is computed",
     X "init w f32 3\nnode Neg w -> v\nnode Add x,v -> y",
     {NULL},
     "Add(x,v)->y ",
     1},
    {"shape arithmetic is computed",
     "input x f32 2,3\noutput y f32 3,2\nnode Shape x -> s\ninit i i64 - = 0\n"
     "node Gather s,i -> d\ninit a i64 1 = 0\nnode Unsqueeze d,a -> u\n"
     "init m i64 1 = -1\nnode Concat m,u -> t axis=i:0\nnode Reshape x,t -> y",
     {NULL},
     "Reshape(x,t)->y ",
     1},
    {"shape arithmetic that is an output stays",
     "input x f32 2,3\noutput y f32 6\noutput t i64 1\nnode Size x -> s\n"
     "init a i64 1 = 0\nnode Unsqueeze s,a -> t\nnode Reshape x,t -> y",
     {NULL},
     "Size(x)->s Unsqueeze(s,a)->t Reshape(x,noether_operand_0)->y ",
     2},
    {"concat of many stays one node",
     "input x f32 2,3\ninput z f32 2,3\noutput y f32 *\nnode Relu x -> r\n"
     "node Concat r,z,x,z -> y axis=i:1",
     {NULL},
     "Relu(x)->r Concat(r,z,x,z)->y ",
     0},
    {"concat of many with a changed part stays one node",
     "input x f32 2,3\ninput z f32 2,3\noutput y f32 *\nnode Relu z -> q\n"
     "node Relu q -> r\nnode Concat x,r,z -> y axis=i:1",
     {RELU2},
     "Relu(z)->r Concat(x,r,z)->y ",
     0},
    {"new concats in a row become one node",
     "input x f32 2,3\ninput z f32 2,3\noutput y f32 *\nnode Concat x,z -> a axis=i:1\n"
     "node Concat x,a -> b axis=i:1\nnode Neg b -> y",
     {"neg(concat[axis=$k](?a, concat[axis=$k](?b, ?c))) => "
      "concat[axis=$k](concat[axis=$k](neg(?a), neg(?b)), neg(?c))"},
     "Neg(x)->noether_neg_0 Neg(z)->noether_neg_1 "
     "Concat(noether_neg_0,noether_neg_0,noether_neg_1)->y ",
     0},
    {"split stays one node",
     X "output z f32 2,1\ninit s i64 2 = 1,2\nnode Split x,s -> z,a axis=i:1\n"
       "node Relu a -> b\nnode Relu b -> y",
     {RELU2},
     "Split(x,s)->z,a Relu(a)->y ",
     1},
    {"opaque nodes with several outputs",
     X
     "output z f32 *\nvalue v f32 2,3\nvalue i i64 2,3\ninit k i64 1 = 3\n"
     "node TopK x,k -> v,i\nnode Relu v -> a\nnode Relu a -> y\nnode Strange i,v -> z",
     {RELU2},
     "TopK(x,k)->v,i Strange(i,v)->z Relu(v)->y ",
     1},
    {"missing optional inputs stay missing",
     X "init h f32 - = 2\nnode Relu x -> a\nnode Relu a -> b\nnode Clip b,_,h -> y",
     {RELU2},
     "Relu(x)->b Clip(b,,h)->y ",
     1},
    {"order changes only where it must",
     X "output z f32 2,3\nnode Exp x -> a\nnode Tanh x -> z\nnode Sqrt x -> b\n"
       "node Add a,b -> c\nnode Neg c -> y",
     {"neg(add(?a, ?b)) => add(neg(?b), neg(?a))"},
     "Exp(x)->a Tanh(x)->z Sqrt(x)->b Neg(b)->noether_neg_0 Neg(a)->noether_neg_1 "
     "Add(noether_neg_0,noether_neg_1)->y ",
     0},
};

START_TEST(test_story)
{
    const story *s = &stories[_i];
    noe_onnx_model *m = noe_build_and_load(s->model);
    noe_graph *g = rewrite_all(noe_onnx_graph(m), s->rules);
    Onnx__ModelProto *written = noe_write_model(m, g, NULL, NULL);
    char *nodes = noe_describe_nodes(written->graph);
    ck_assert_msg(strcmp(nodes, s->nodes) == 0, "%s:\nwant %s\ngot  %s", s->name,
                  s->nodes, nodes);
    if (s->n_initializers >= 0)
        ck_assert_msg((int)written->graph->n_initializer == s->n_initializers,
                      "%s: %zu initializers, want %d", s->name,
                      written->graph->n_initializer, s->n_initializers);
    free(nodes);
    onnx__model_proto__free_unpacked(written, NULL);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

/* ---- initializers that are graph inputs too ---- */

#define LISTED                                                                     \
    "input x f32 3\ninput w f32 3\ninput v f32 3\ninput u f32 3\noutput y f32 3\n" \
    "init w f32 3 = 1,2,3\ninit v f32 3 = 2,2,2\ninit u f32 3 = 7,7,7\n"           \
    "node Mul x,w -> a\nnode Mul a,v -> b\nnode Add b,u -> c\nnode Sub c,w -> y"
#define JOIN "mul(mul(?a, ?b), ?c) => mul(?a, mul(?b, ?c))"

static noe_onnx_model *load_listed(const char *text, const char *pin, bool constant)
{
    size_t len;
    noe_onnx_model *m = NULL;
    char *data = noe_build_model(text, &len);
    noe_onnx_options options = {.constant_initializers = constant,
                                .input_shapes = &pin,
                                .n_input_shapes = pin != NULL};
    noe_status status = noe_onnx_load_memory(data, len, &options, NULL, &m, &err);
    free(data);
    return status == NOE_OK ? m : NULL;
}

/* "x w u | w u": graph inputs and initializers of a model. */
static char *describe_interface(const Onnx__GraphProto *g)
{
    noe_buf b = {0};
    for (size_t i = 0; i < g->n_input; i++)
        noe_buf_printf(&b, "%s ", g->input[i]->name);
    noe_buf_puts(&b, "|");
    for (size_t i = 0; i < g->n_initializer; i++)
        noe_buf_printf(&b, " %s", g->initializer[i]->name);
    char *text = noe_strdup(b.text);
    noe_buf_clear(&b);
    return text;
}

static void check_listed(const char *text, bool constant, const char *want_nodes,
                         const char *want_interface)
{
    noe_onnx_model *m = load_listed(text, NULL, constant);
    ck_assert_msg(m, "%s", err.text);
    noe_graph *g = rewrite(noe_onnx_graph(m), JOIN);
    Onnx__ModelProto *written = noe_write_model(m, g, NULL, NULL);
    char *nodes = noe_describe_nodes(written->graph);
    char *interface = describe_interface(written->graph);
    ck_assert_str_eq(nodes, want_nodes);
    ck_assert_str_eq(interface, want_interface);
    free(nodes);
    free(interface);
    onnx__model_proto__free_unpacked(written, NULL);
    noe_graph_free(g);
    noe_onnx_free(m);
}

START_TEST(test_listed_initializers_are_inputs)
{
    check_listed(LISTED, false,
                 "Mul(w,v)->noether_mul_0 Mul(x,noether_mul_0)->b Add(b,u)->c "
                 "Sub(c,w)->y ",
                 "x w v u | w v u");
}
END_TEST

/* v is needed no more: neither as an initializer nor as an input that only names it. */
START_TEST(test_listed_initializers_are_constants_on_request)
{
    check_listed(LISTED, true, "Mul(x,noether_weight_0)->b Add(b,u)->c Sub(c,w)->y ",
                 "x w u | w u noether_weight_0");
    /* Old files cannot have initializers that are no inputs. */
    check_listed("ir 3\nopset 9\n" LISTED, true,
                 "Constant()->noether_weight_0 Mul(x,noether_weight_0)->b Add(b,u)->c "
                 "Sub(c,w)->y ",
                 "x w u | w u");
}
END_TEST

START_TEST(test_listed_initializers_are_counted)
{
    for (int constant = 0; constant < 2; constant++) {
        noe_onnx_model *m = load_listed(LISTED, NULL, constant);
        ck_assert_uint_eq(noe_onnx_n_defaults(m), constant ? 0 : 3);
        noe_onnx_free(m);
    }
}
END_TEST

START_TEST(test_listed_initializer_keeps_its_shape)
{
    static const char text[] = "input x f32 3\ninput w f32 n\noutput y f32 3\n"
                               "init w f32 3\nnode Mul x,w -> y";
    noe_onnx_model *m = load_listed(text, "w:3", true);
    ck_assert_msg(m, "%s", err.text);
    noe_onnx_free(m);
    ck_assert_ptr_null(load_listed(text, "w:1", true));
    ck_assert_msg(noe_contains(err.text, "input shape of 'w'"), "%s", err.text);
}
END_TEST

/* ---- what is not touched ---- */

START_TEST(test_untouched_model_is_the_same_file)
{
    size_t len, len2;
    char *data = noe_build_model("ir 8\nopset 13\nopset 3 com.acme\nmeta k v\n"
                                 "input x f32 n,3\nvalue a f32 n,3\noutput y f32 n,3\n"
                                 "init w f32 3\nnode Add x,w -> a name=n\n"
                                 "node Odd a -> y domain=com.acme extra=s:text",
                                 &len),
         *data2;
    noe_onnx_model *m;
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &m, &err), err);
    noe_graph *g = noe_graph_copy(noe_onnx_graph(m));
    noe_assert_ok(noe_onnx_serialize(m, g, &data2, &len2, &err), err);
    ck_assert_uint_eq(len, len2);
    ck_assert_mem_eq(data, data2, len);
    free(data);
    free(data2);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_unknown_fields_stay)
{
    size_t len, len2;
    char *data = noe_build_model(X "node Exp x -> a\nnode Neg a -> b\nnode Neg b -> y",
                                 &len),
         *data2;
    /* Field 99 of the model, behind everything. */
    static const char unknown[] = "\x9a\x06\x05HELLO";
    char *longer = noe_malloc(len + sizeof unknown - 1);
    memcpy(longer, data, len);
    memcpy(longer + len, unknown, sizeof unknown - 1);
    noe_onnx_model *m;
    noe_assert_ok(
        noe_onnx_load_memory(longer, len + sizeof unknown - 1, NULL, NULL, &m, &err),
        err);
    noe_graph *g = rewrite(noe_onnx_graph(m), NEG2);
    noe_assert_ok(noe_onnx_serialize(m, g, &data2, &len2, &err), err);
    ck_assert_mem_eq(data2 + len2 - (sizeof unknown - 1), unknown, sizeof unknown - 1);
    free(data);
    free(longer);
    free(data2);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

/* New tensors are declared where the model declares such. */
START_TEST(test_new_tensors_are_declared)
{
    const char *const rules[] = {"neg(add(?a, ?b)) => add(neg(?b), neg(?a))", NULL};
    noe_onnx_model *m = noe_build_and_load("input x f32 2,3\ninput z f32 2,3\n"
                                           "value a f32 2,3\noutput y f32 2,3\n"
                                           "node Add x,z -> a\nnode Neg a -> y");
    noe_graph *g = rewrite_all(noe_onnx_graph(m), rules);
    Onnx__ModelProto *written = noe_write_model(m, g, NULL, NULL);
    const Onnx__GraphProto *out = written->graph;
    ck_assert_uint_eq(out->n_value_info, 2); /* a is gone, y is an output */
    for (size_t i = 0; i < 2; i++) {
        const Onnx__TypeProto__Tensor *t = out->value_info[i]->type->tensor_type;
        ck_assert(strncmp(out->value_info[i]->name, "noether_neg_", 12) == 0);
        ck_assert_int_eq(t->elem_type, 1);
        ck_assert_uint_eq(t->shape->n_dim, 2);
        ck_assert_int_eq(t->shape->dim[0]->dim_value, 2);
        ck_assert_int_eq(t->shape->dim[1]->dim_value, 3);
    }
    onnx__model_proto__free_unpacked(written, NULL);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_value_info_of_vanished_tensor_goes)
{
    noe_onnx_model *m = noe_build_and_load(
        X "value a f32 2,3\nvalue b f32 2,3\nvalue c f32 2,3\nnode Exp x -> a\n"
          "node Neg a -> b\nnode Neg b -> c\nnode Tanh c -> y");
    noe_graph *g = rewrite(noe_onnx_graph(m), NEG2);
    Onnx__ModelProto *written = noe_write_model(m, g, NULL, NULL);
    ck_assert_uint_eq(written->graph->n_value_info, 1);
    ck_assert_str_eq(written->graph->value_info[0]->name, "a");
    onnx__model_proto__free_unpacked(written, NULL);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_pinned_input_is_declared_so)
{
    size_t len;
    char *data = noe_build_model(
        "input x f32 n,3\ninput z f32 n\noutput y f32 n,3\nnode Relu x -> y", &len);
    const char *pin = "x:5,3";
    noe_onnx_options options = {.input_shapes = &pin, .n_input_shapes = 1};
    noe_onnx_model *m;
    noe_assert_ok(noe_onnx_load_memory(data, len, &options, NULL, &m, &err), err);
    Onnx__ModelProto *written = noe_write_model(m, noe_onnx_graph(m), NULL, NULL);
    for (int i = 0; i < 2; i++) {
        const Onnx__TensorShapeProto *s =
            written->graph->input[i]->type->tensor_type->shape;
        ck_assert_int_eq(s->dim[0]->has_dim_value, 1);
        ck_assert_int_eq(s->dim[0]->dim_value, 5);
    }
    onnx__model_proto__free_unpacked(written, NULL);
    free(data);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_result_is_idempotent)
{
    noe_onnx_model *m = noe_build_and_load(stories[9].model);
    noe_graph *g = rewrite_all(noe_onnx_graph(m), stories[9].rules);
    char *data, *data2;
    size_t len, len2;
    noe_assert_ok(noe_onnx_serialize(m, g, &data, &len, &err), err);
    noe_onnx_model *again;
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
    noe_assert_ok(noe_onnx_serialize(again, noe_onnx_graph(again), &data2, &len2, &err),
                  err);
    ck_assert_uint_eq(len, len2);
    ck_assert_mem_eq(data, data2, len);
    free(data);
    free(data2);
    noe_onnx_free(again);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_foreign_graph_is_refused)
{
    noe_onnx_model *m = noe_build_and_load(X "node Relu x -> y");
    noe_graph *empty = noe_graph_new(noe_onnx_pool(m));
    char *data;
    size_t len;
    noe_assert_fails(noe_onnx_serialize(m, empty, &data, &len, &err), NOE_ERR_ARG, err,
                     "0 outputs");
    noe_graph_free(empty);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_failed_save_leaves_nothing)
{
    char folder[200], path[300];
    noe_tmp_make(folder, sizeof folder);
    noe_onnx_model *m = noe_build_and_load(X "node Relu x -> y");
    snprintf(path, sizeof path, "%s/absent/out.onnx", folder);
    noe_assert_fails(noe_onnx_save(m, noe_onnx_graph(m), path, &err), NOE_ERR_IO, err,
                     "out.onnx");
    noe_onnx_free(m);
    noe_tmp_remove(folder);
}
END_TEST

/* Numbers as a condition are not 0, which is what Cast to bool asks. */
START_TEST(test_condition_of_numbers)
{
    noe_onnx_model *m = noe_build_and_load(
        "input x f32 2\ninput c bool 2\noutput y f32 *\nnode Where c,x,x -> y");
    noe_graph *g = noe_graph_new(noe_onnx_pool(m));
    size_t len;
    noe_ref x = noe_graph_leaf(g, NOE_OP_INPUT, 0), y;
    noe_assert_ok(noe_graph_add(g, NOE_OP_NEG, NULL, &x, 1, &y, &err), err);
    noe_assert_ok(
        noe_graph_add(g, NOE_OP_WHERE, NULL, (noe_ref[]){x, x, y}, 3, &y, &err), err);
    noe_graph_add_output(g, y, "y");
    Onnx__ModelProto *written = noe_write_model(m, g, NULL, &len);
    char *nodes = noe_describe_nodes(written->graph);
    ck_assert_msg(noe_contains(nodes, "Cast(x)->") && noe_contains(nodes, "Where("),
                  "%s", nodes);
    free(nodes);
    onnx__model_proto__free_unpacked(written, NULL);
    noe_graph_free(g);
    noe_onnx_free(m);
}
END_TEST

/* ---- every operator as a new node, in every opset ---- */

static const int opsets[] = {7, 9, 10, 11, 13, 14, 18, 21, 28};
#define N_OPSETS ((int)(sizeof opsets / sizeof *opsets))

static void print_dims(noe_buf *b, const noe_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        noe_buf_printf(b, "%s%lld", i ? "," : "", (long long)s->dim[i]);
    noe_buf_puts(b, s->rank ? "\n" : "-\n");
}

/* A model with the inputs of the case and a node that nobody knows; the rewritten graph
 * has the operator instead. */
static noe_onnx_model *model_for(const noe_op_instance *op, int opset)
{
    noe_buf text = {0};
    noe_buf_printf(&text, "ir %d\nopset %d\nopset 1 test\n", opset < 9 ? 3 : 8, opset);
    for (int i = 0; i < op->n_in; i++) {
        bool is_condition = op->op == NOE_OP_WHERE && i == 0;
        noe_buf_printf(&text, "input x%d %s ", i, is_condition ? "bool" : "f32");
        print_dims(&text, &op->in[i].shape);
    }
    noe_buf_puts(&text, "output y f32 ");
    print_dims(&text, &op->out.shape);
    noe_buf_puts(&text, "node Unknown x0 -> y domain=test");
    noe_onnx_model *m = noe_build_and_load(text.text);
    noe_buf_clear(&text);
    return m;
}

static noe_graph *graph_for(const noe_onnx_model *m, const noe_op_instance *op)
{
    noe_graph *g = noe_graph_new(noe_onnx_pool(m));
    noe_ref in[NOE_MAX_INPUTS], out;
    for (int i = 0; i < op->n_in; i++) {
        uint32_t leaf = 0; /* inputs were imported in their order */
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        while (strcmp(noe_pool_leaf(g->pool, leaf)->name, name) != 0)
            leaf++;
        in[i] = noe_graph_leaf(g, NOE_OP_INPUT, leaf);
    }
    noe_assert_ok(noe_graph_add(g, op->op, &op->params, in, op->n_in, &out, &err), err);
    noe_graph_add_output(g, out, "y");
    return g;
}

/* Attributes are single precision, and folding rounds once more. */
#define TOLERANCE 2e-6

/* Both graphs have the same outputs for the same random inputs. */
static bool same_meaning(const noe_graph *a, const noe_graph *b)
{
    noe_arena arena = {0};
    bool same = noe_can_evaluate(a) && noe_can_evaluate(b);
    float **x = same ? noe_evaluate_graph(a, &arena, noe_random_input, &arena) : NULL;
    float **y = same ? noe_evaluate_graph(b, &arena, noe_random_input, &arena) : NULL;
    for (uint32_t i = 0; same && i < a->n_outputs; i++) {
        const noe_type *type = noe_graph_type(a, a->outputs[i].ref);
        size_t n = (size_t)noe_shape_elements(&type->shape), worst;
        same = noe_type_eq(type, noe_graph_type(b, b->outputs[i].ref)) &&
               strcmp(a->outputs[i].name, b->outputs[i].name) == 0 &&
               noe_close_f32(x[i], y[i], n, TOLERANCE, &worst);
    }
    noe_arena_clear(&arena);
    return same;
}

/* Forms that an opset does not have: an error, not a wrong node. */
static bool is_impossible(const char *message)
{
    return noe_contains(message, "cannot be written in opset");
}

/* Operators that ONNX has since a newer opset than the others. */
static int since(noe_op op)
{
    return op == NOE_OP_SWISH  ? 24
           : op == NOE_OP_GELU ? 20
                               : 14 * (op == NOE_OP_HARD_SWISH);
}

static void check_case(const noe_op_case *c, int opset, int *n_impossible)
{
    noe_op_instance op;
    noe_op_case_instance(c, &op);
    if (op.n_in == 0)
        return; /* constants are weights */
    noe_onnx_model *m = model_for(&op, opset), *again;
    noe_graph *g = graph_for(m, &op);
    char *data;
    size_t len;
    noe_status status = noe_onnx_serialize(m, g, &data, &len, &err);
    if (status == NOE_ERR_UNSUPPORTED && is_impossible(err.text)) {
        *n_impossible += opset >= since(op.op);
    } else {
        ck_assert_msg(opset >= since(op.op), "%s in opset %d", noe_op_case_text(c),
                      opset);
        ck_assert_msg(status == NOE_OK, "%s: %s", noe_op_case_text(c), err.text);
        noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
        noe_buf text = {0};
        noe_graph_print(&text, noe_onnx_graph(again));
        ck_assert_msg(same_meaning(noe_onnx_graph(again), g),
                      "%s in opset %d came back as\n%s%s", noe_op_case_text(c), opset,
                      text.text, noe_onnx_why_opaque(again, 1));
        noe_buf_clear(&text);
        noe_onnx_free(again);
        free(data);
    }
    noe_graph_free(g);
    noe_onnx_free(m);
}

START_TEST(test_every_operator_in_opset)
{
    int n_impossible = 0;
    for (int i = 0; i < noe_n_op_cases; i++)
        check_case(&noe_op_cases[i], opsets[_i], &n_impossible);
    if (opsets[_i] >= 14)
        ck_assert_int_eq(n_impossible, 0);
    ck_assert_int_lt(n_impossible, noe_n_op_cases / 10);
}
END_TEST

/* ---- random graphs ---- */

#define N_RANDOM 60

/* A model with the inputs and outputs of g, and nothing behind them. */
static noe_onnx_model *frame_for(const noe_graph *g)
{
    noe_buf text = {0};
    noe_buf_puts(&text, "ir 8\nopset 13\nopset 1 test\n");
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != NOE_OP_INPUT)
            continue;
        noe_buf_printf(&text, "input %s f32 ", noe_graph_leaf_of(g, i)->name);
        print_dims(&text, &g->nodes[i].types[0].shape);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        noe_buf_printf(&text, "output y%u f32 ", i);
        print_dims(&text, &noe_graph_type(g, g->outputs[i].ref)->shape);
    }
    noe_buf_puts(&text, "node Unknown x0 -> y0");
    for (uint32_t i = 1; i < g->n_outputs; i++)
        noe_buf_printf(&text, ",y%u", i);
    noe_buf_puts(&text, " domain=test");
    noe_onnx_model *m = noe_build_and_load(text.text);
    noe_buf_clear(&text);
    return m;
}

/* The same graph in the pool of the model. */
static noe_graph *move(const noe_graph *g, noe_pool *pool)
{
    noe_graph *to = noe_graph_new(pool);
    noe_ref *map = noe_malloc(g->n_nodes * sizeof *map);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        noe_ref in[NOE_MAX_INPUTS];
        for (uint32_t k = 0; k < n->n_inputs; k++)
            in[k] = map[noe_graph_inputs(g, i)[k].node];
        if (n->op < NOE_OP_COUNT) {
            noe_assert_ok(noe_graph_add(to, n->op, n->params, in, (int)n->n_inputs,
                                        &map[i], &err),
                          err);
            continue;
        }
        const noe_leaf *l = noe_graph_leaf_of(g, i);
        const char *name = n->op == NOE_OP_INPUT ? l->name : "";
        map[i] = noe_graph_leaf(
            to, n->op,
            noe_pool_add_leaf(pool, name, &l->type, l->data, l->data_bytes, NULL));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%u", i);
        noe_graph_add_output(to, map[g->outputs[i].ref.node], name);
    }
    free(map);
    return to;
}

START_TEST(test_random_graph_comes_back)
{
    noe_gen_options options = {
        .seed = (uint64_t)_i + 1, .composites = _i % 2, .max_elements = 512};
    noe_pool *pool = noe_pool_new();
    noe_graph *source = noe_gen_graph(pool, &options);
    noe_onnx_model *m = frame_for(source), *again;
    noe_graph *g = move(source, noe_onnx_pool(m));
    char *data;
    size_t len;
    noe_buf text = {0};
    noe_graph_print(&text, g);
    ck_assert_msg(noe_onnx_serialize(m, g, &data, &len, &err) == NOE_OK,
                  "seed %d: %s\n%s", _i + 1, err.text, text.text);
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
    ck_assert_msg(same_meaning(g, noe_onnx_graph(again)), "seed %d: wrote\n%s", _i + 1,
                  text.text);
    noe_buf_clear(&text);
    free(data);
    noe_onnx_free(again);
    noe_graph_free(g);
    noe_onnx_free(m);
    noe_graph_free(source);
    noe_pool_free(pool);
}
END_TEST

/* ---- counting ---- */

START_TEST(test_operators_are_counted)
{
    size_t len;
    char *data = noe_build_model(
        X "init w f32 3\nnode Constant -> c value_float=f:1\nnode Add x,w -> a\n"
          "node Add a,c -> b\nnode Relu b -> y",
        &len);
    noe_onnx_count counts[8];
    int n = noe_onnx_count_ops(data, len, counts, 8);
    ck_assert_int_eq(n, 3);
    ck_assert_str_eq(counts[0].op_type, "Add");
    ck_assert_int_eq(counts[0].n, 2);
    ck_assert_str_eq(counts[1].op_type, "Constant");
    ck_assert_int_eq(counts[1].n, 2);
    ck_assert_str_eq(counts[2].op_type, "Relu");
    ck_assert_int_eq(noe_onnx_count_ops(data, len, counts, 1), 1);
    ck_assert_int_eq(noe_onnx_count_ops("\x3a\x7f", 2, counts, 8), 0);
    free(data);
}
END_TEST

Suite *suite_export(void)
{
    Suite *s = suite_create("export");
    TCase *tc = tcase_create("export");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_story, 0, (int)(sizeof stories / sizeof *stories));
    tcase_add_test(tc, test_listed_initializers_are_inputs);
    tcase_add_test(tc, test_listed_initializers_are_constants_on_request);
    tcase_add_test(tc, test_listed_initializers_are_counted);
    tcase_add_test(tc, test_listed_initializer_keeps_its_shape);
    tcase_add_test(tc, test_untouched_model_is_the_same_file);
    tcase_add_test(tc, test_unknown_fields_stay);
    tcase_add_test(tc, test_value_info_of_vanished_tensor_goes);
    tcase_add_test(tc, test_new_tensors_are_declared);
    tcase_add_test(tc, test_pinned_input_is_declared_so);
    tcase_add_test(tc, test_result_is_idempotent);
    tcase_add_test(tc, test_foreign_graph_is_refused);
    tcase_add_test(tc, test_failed_save_leaves_nothing);
    tcase_add_test(tc, test_condition_of_numbers);
    tcase_add_loop_test(tc, test_every_operator_in_opset, 0, N_OPSETS);
    tcase_add_loop_test(tc, test_random_graph_comes_back, 0, N_RANDOM);
    tcase_add_test(tc, test_operators_are_counted);
    suite_add_tcase(s, tc);
    return s;
}
