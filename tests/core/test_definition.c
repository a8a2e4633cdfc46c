/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions of composite operators: every line holds in the field, wrong ones do not;
 * expanding and folding are inverse; folding keeps apart what was apart in the model.
 */
#include "core/definition.h"
#include "core/field.h"
#include "tests/support/cases.h"
#include "tests/support/support.h"
#include <stdlib.h>

#define SEED    5
#define SAMPLES 4

static noe_error err;
static noe_arena arena;

typedef const noe_rule_line *section_fn(int *n);

/* At which shapes and parameters a definition is checked: shapes of its variables in
 * order of occurrence, and "name=value" for its parameter variables. */
typedef struct instance {
    section_fn *section;
    const char *name, *shapes, *params;
} instance;

#define EXPAND  noe_definitions_expand
#define FOLD    noe_definitions_fold
#define RESTORE noe_definitions_restore

static const instance instances[] = {
    {EXPAND, "layer-normalization-1", "[2,3,4] [4] [4]", "k=2 e=0.5"},
    {EXPAND, "layer-normalization-1", "[2,3] [2,1] [1]", "k=1 e=0.5"},
    {EXPAND, "layer-normalization-1-unshifted", "[2,3,4] [4]", "k=2 e=0.5"},
    {EXPAND, "layer-normalization-2", "[2,3,4] [3,4] [4]", "k=1 e=0.5"},
    {EXPAND, "layer-normalization-2-unshifted", "[3,4] [3,4]", "k=0 e=0.5"},
    {EXPAND, "layer-normalization-3", "[2,3,2,2] [3,2,2] [3,2,2]", "k=1 e=0.5"},
    {EXPAND, "layer-normalization-3-unshifted", "[2,3,2] [2,3,2]", "k=0 e=0.5"},
    {EXPAND, "instance-normalization-1", "[2,3,4] [3] [3]", "e=0.5"},
    {EXPAND, "instance-normalization-2", "[2,3,4,2] [3] [3]", "e=0.5"},
    {EXPAND, "instance-normalization-3", "[1,2,2,2,2] [2] [2]", "e=0.5"},
    {EXPAND, "group-normalization", "[2,4,3,2] [4] [4]", "g=2 e=0.5"},
    {EXPAND, "group-normalization", "[2,3,5] [3] [3]", "g=3 e=0.5"},
    {FOLD, "layer-normalization-1", "[2,3,4] [4] [4]", "e=0.5"},
    {FOLD, "layer-normalization-1-unshifted", "[2,3,4] [4]", "e=0.5"},
    {FOLD, "layer-normalization-2", "[2,3,4] [3,4] [3,4]", "e=0.5"},
    {FOLD, "layer-normalization-2-unshifted", "[3,4] [3,4]", "e=0.5"},
    {FOLD, "layer-normalization-3", "[2,3,2,2] [3,2,2] [3,2,2]", "e=0.5"},
    {FOLD, "layer-normalization-3-unshifted", "[2,3,2] [2,3,2]", "e=0.5"},
    {RESTORE, "instance-normalization-1", "[2,3,4] [3] [3]", "e=0.5"},
    {RESTORE, "instance-normalization-2", "[2,3,4,2] [3] [3]", "e=0.5"},
    {RESTORE, "instance-normalization-3", "[1,2,2,2,2] [2] [2]", "e=0.5"},
    {RESTORE, "layer-normalization-1", "[2,3] [2,1] [1]", "e=0.5"},
    {RESTORE, "layer-normalization-1-unshifted", "[2,3,4] []", "e=0.5"},
    {RESTORE, "layer-normalization-2", "[2,3,4] [3,4] [4]", "e=0.5"},
    {RESTORE, "layer-normalization-2-unshifted", "[3,4] [3,1]", "e=0.5"},
    {RESTORE, "layer-normalization-3", "[2,3,2,2] [2] [3,2,2]", "e=0.5"},
    {RESTORE, "layer-normalization-3-unshifted", "[2,3,2] [2]", "e=0.5"},
    {RESTORE, "group-normalization", "[2,4,3,2] [4] [4]", "t=[2,2,12] e=0.5"},
    {EXPAND, "gemm-beta-0", "[2,3] [3,4] [4]", "s=0.5 p=0 q=0"},
    {EXPAND, "gemm-beta-0", "[3,2] [4,3] [2,4]", "s=1.0 p=1 q=1"},
    {EXPAND, "gemm-beta-idle", "[2,3] [3,4]", "s=0.5 t=3.0 p=0 q=0"},
    {EXPAND, "gemm-beta-idle", "[3,2] [3,4]", "s=1.0 t=0.0 p=1 q=0"},
    {EXPAND, "gemm-trans-a", "[3,2] [3,4] [2,4]", "s=0.5 t=2.0 q=0"},
    {EXPAND, "gemm-trans-a", "[3,2] [4,3] [4]", "s=-1.5 t=1.0 q=1"},
    {EXPAND, "gemm-trans-b", "[2,3] [4,3] [2,1]", "s=0.5 t=2.0"},
    {EXPAND, "gemm-trans-b", "[1,0] [4,0] []", "s=1.0 t=2.0"},
    {EXPAND, "gemm-trans-a-2", "[3,2] [3,4]", "s=0.5 q=0"},
    {EXPAND, "gemm-trans-a-2", "[3,2] [4,3]", "s=2.0 q=1"},
    {EXPAND, "gemm-trans-b-2", "[2,3] [4,3]", "s=0.5"},
    {EXPAND, "gemm", "[2,3] [3,4] [2,4]", ""},
    {EXPAND, "gemm", "[2,3] [3,4] [1,1]", ""},
    {EXPAND, "gemm-alpha", "[2,3] [3,4] [4]", "s=0.5"},
    {EXPAND, "gemm-beta", "[2,3] [3,4] [4]", "t=-0.75"},
    {EXPAND, "gemm-alpha-beta", "[2,3] [3,4] [2,1]", "s=3.0 t=-0.75"},
    {EXPAND, "gemm-2", "[2,3] [3,4]", ""},
    {EXPAND, "gemm-alpha-2", "[2,3] [3,4]", "s=0.1"},
    {EXPAND, "conv-bias", "[2,4,5,6] [6,2,3,2] [6]", "s=[2,1] p=[1,0,0,2] d=[1,2] g=2"},
    {EXPAND, "conv-bias", "[1,2,5] [3,2,2] [3]", "s=[1] p=[0,0] d=[1] g=1"},
    {EXPAND, "conv-bias", "[1,2,3,4,3] [3,2,2,2,1] [3]",
     "s=[1,1,1] p=[0,0,0,0,0,0] d=[1,2,1] g=1"},
    {EXPAND, "batch-normalization", "[2,3,2,2] [3] [3] [3] [3]", "e=0.001"},
    {EXPAND, "batch-normalization", "[2,3] [3] [3] [3] [3]", "e=0.0"},
    {EXPAND, "batch-normalization", "[1,2,2,1,3] [2] [2] [2] [2]", "e=0.5"},
    {EXPAND, "global-average-pool", "[2,3,4,5]", ""},
    {EXPAND, "global-average-pool", "[2,3,4]", ""},
    {EXPAND, "global-average-pool", "[1,2,2,3,2]", ""},
    {EXPAND, "flatten", "[2,3,4]", "k=0"},
    {EXPAND, "flatten", "[2,3,4]", "k=1"},
    {EXPAND, "flatten", "[2,3,4]", "k=3"},
    {EXPAND, "flatten", "[]", "k=0"},
    {EXPAND, "squeeze", "[1,2,1,3]", "k=[0,2]"},
    {EXPAND, "squeeze", "[1]", "k=[0]"},
    {EXPAND, "unsqueeze", "[2,3]", "k=[0,2,4]"},
    {EXPAND, "unsqueeze", "[]", "k=[0]"},
    {EXPAND, "clip-relu", "[2,3]", ""},
    {EXPAND, "clip-min", "[2,3]", "a=0.5"},
    {EXPAND, "clip-max", "[2,3]", "b=-2.0"},
    {EXPAND, "clip-relu-max", "[2,3]", "b=6.0"},
    {EXPAND, "clip", "[2,3]", "a=-1.0 b=0.75"},
    {EXPAND, "clip", "[]", "a=3.0 b=1.0"},
    {EXPAND, "pow-2", "[2,3]", ""},
    {EXPAND, "pow-3", "[2,3]", ""},
    {EXPAND, "pow-4", "[2,3]", ""},
    {EXPAND, "pow-half", "[2,3]", ""},
    {EXPAND, "pow-minus-half", "[2,3]", ""},
    {EXPAND, "pow-minus-1", "[2,3]", ""},
    {EXPAND, "pow-minus-2", "[2,3]", ""},
    {EXPAND, "gelu", "[2,3]", ""},
    {EXPAND, "gelu-tanh", "[2,3]", ""},
    {EXPAND, "swish-1", "[2,3]", ""},
    {EXPAND, "swish", "[2,3]", "a=0.5"},
    {EXPAND, "hard-sigmoid", "[2,3]", "a=0.2 b=0.5"},
    {EXPAND, "hard-swish", "[2,3]", ""},
    {EXPAND, "elu-1", "[2,3]", ""},
    {EXPAND, "elu", "[2,3]", "a=0.5"},
    {EXPAND, "softplus", "[2,3]", ""},
    {EXPAND, "prelu", "[2,3,4] [3,1]", ""},
    {EXPAND, "reduce-min", "[2,3,4]", "x=[0,2] k=0"},
    {EXPAND, "log-softmax", "[2,3,4]", "k=1"},
    {FOLD, "clip", "[2,3]", "a=-1.0 b=0.75"},
    {FOLD, "clip-relu-max", "[2,3]", "b=6.0"},
    {RESTORE, "clip", "[2,3]", "a=-1.0 b=0.75"},
    {RESTORE, "clip-relu-max", "[2,3]", "b=6.0"},
    {RESTORE, "clip-relu", "[2,3]", ""},
    {RESTORE, "clip-min", "[2,3]", "a=0.5"},
    {RESTORE, "clip-max", "[2,3]", "b=-2.0"},
    {RESTORE, "pow-2", "[2,3]", ""},
    {RESTORE, "pow-3", "[2,3]", ""},
    {RESTORE, "pow-4", "[2,3]", ""},
    {RESTORE, "pow-half", "[2,3]", ""},
    {RESTORE, "pow-minus-half", "[2,3]", ""},
    {RESTORE, "pow-minus-1", "[2,3]", ""},
    {RESTORE, "pow-minus-2", "[2,3]", ""},
    {RESTORE, "gelu", "[2,3]", ""},
    {RESTORE, "gelu-tanh", "[2,3]", ""},
    {RESTORE, "swish-1", "[2,3]", ""},
    {RESTORE, "swish", "[2,3]", "a=0.5"},
    {RESTORE, "hard-sigmoid", "[2,3]", "a=0.2 b=0.5"},
    {RESTORE, "hard-swish", "[2,3]", ""},
    {RESTORE, "elu-1", "[2,3]", ""},
    {RESTORE, "elu", "[2,3]", "a=0.5"},
    {RESTORE, "softplus", "[2,3]", ""},
    {RESTORE, "prelu", "[2,3,4] [3,1]", ""},
    {RESTORE, "reduce-min", "[2,3,4]", "x=[0,2] k=0"},
    {RESTORE, "log-softmax", "[2,3,4]", "k=1"},
    {FOLD, "conv-bias-vector", "[2,4,5,6] [6,2,3,2] [6]",
     "s=[2,1] p=[1,0,0,2] d=[1,2] g=2"},
    {FOLD, "conv-bias-vector", "[1,2,5] [3,2,2] [3]", "s=[1] p=[0,0] d=[1] g=1"},
    {FOLD, "conv-bias", "[2,4,5,6] [6,2,3,2] [6,1,1]",
     "s=[2,1] p=[1,0,0,2] d=[1,2] g=2"},
    {FOLD, "conv-bias", "[1,2,5] [3,2,2] [1,3,1]", "s=[1] p=[0,0] d=[1] g=1"},
    {FOLD, "global-average-pool", "[2,3,4,5]", ""},
    {FOLD, "global-average-pool", "[2,3,4]", ""},
    {FOLD, "gemm-trans-a-trans-b-alpha-beta", "[3,2] [4,3] [4]", "s=0.5 t=3.0"},
    {FOLD, "gemm-trans-a-alpha-beta", "[3,2] [3,4] [4]", "s=0.5 t=3.0"},
    {FOLD, "gemm-trans-b-alpha-beta", "[2,3] [4,3] [4]", "s=0.5 t=3.0"},
    {FOLD, "gemm-alpha-beta", "[2,3] [3,4] [4]", "s=0.5 t=3.0"},
    {FOLD, "gemm-trans-a-trans-b-beta", "[3,2] [4,3] [2,1]", "t=3.0"},
    {FOLD, "gemm-trans-a-beta", "[3,2] [3,4] [2,4]", "t=3.0"},
    {FOLD, "gemm-trans-b-beta", "[2,3] [4,3] []", "t=3.0"},
    {FOLD, "gemm-beta", "[2,3] [3,4] [4]", "t=3.0"},
    {FOLD, "gemm-trans-a-trans-b-alpha-c", "[3,2] [4,3] [2,1]", "s=0.1"},
    {FOLD, "gemm-trans-a-alpha-c", "[3,2] [3,4] [2,4]", "s=0.1"},
    {FOLD, "gemm-trans-b-alpha-c", "[2,3] [4,3] []", "s=0.1"},
    {FOLD, "gemm-alpha-c", "[2,3] [3,4] [4]", "s=0.1"},
    {FOLD, "gemm-trans-a-trans-b-c", "[3,2] [4,3] [2,1]", ""},
    {FOLD, "gemm-trans-a-c", "[3,2] [3,4] [2,4]", ""},
    {FOLD, "gemm-trans-b-c", "[2,3] [4,3] []", ""},
    {FOLD, "gemm-c", "[2,3] [3,4] [4]", ""},
    {FOLD, "gemm-trans-a-trans-b-alpha", "[3,2] [4,3]", "s=0.1"},
    {FOLD, "gemm-trans-a-alpha", "[3,2] [3,4]", "s=0.1"},
    {FOLD, "gemm-trans-b-alpha", "[2,3] [4,3]", "s=0.1"},
    {FOLD, "gemm-alpha", "[2,3] [3,4]", "s=0.1"},
    {FOLD, "gemm-trans-a-trans-b", "[3,2] [4,3]", ""},
    {FOLD, "gemm-trans-a", "[3,2] [3,4]", ""},
    {FOLD, "gemm-trans-b", "[2,3] [4,3]", ""},
    {RESTORE, "gemm", "[2,3] [3,4]", ""},
    {RESTORE, "batch-normalization", "[2,3,2,2] [3] [3] [3] [3]", "e=0.001"},
    {RESTORE, "batch-normalization", "[2,3] [3] [3] [3] [3]", "e=0.25"},
    {RESTORE, "flatten", "[2,3,4]", "k=1"},
    {RESTORE, "squeeze", "[1,2,1,3]", "k=[0,2]"},
    {RESTORE, "unsqueeze", "[2,3]", "k=[0,2,4]"},
};

/* Rules that look right: a sign, a transpose, a square root, a mean, an axis is wrong.
 */
static const struct {
    const char *rule, *shapes, *params;
} wrong[] = {
    {"gemm(?a, ?b, ?c) := sub(matmul(?a, ?b), ?c)", "[2,3] [3,4] [4]", ""},
    {"gemm[transB=1](?a, ?b) := matmul(?a, ?b)", "[3,3] [3,3]", ""},
    {"gemm[alpha=$s](?a, ?b, ?c) := mul(add(matmul(?a, ?b), ?c), scalar[value=$s]())",
     "[2,3] [3,4] [4]", "s=0.5"},
    {"gemm[beta=$t](?a, ?b, ?c) := add(matmul(?a, ?b), ?c)", "[2,3] [3,4] [4]",
     "t=0.5"},
    {"conv_bias(?x, ?w, ?b) := conv(?x, ?w)", "[1,2,5] [3,2,2] [3]", ""},
    {"conv_bias[pads=$p](?x, ?w, ?b) := "
     "conv[pads=$p](add(?x, reshape[shape=[dim(?w, 0), 1]](?b)), ?w)",
     "[1,3,5] [3,3,2] [3]", "p=[0,0]"},
    {"batch_normalization[epsilon=$e](?x, ?s, ?b, ?m, ?v) := "
     "add(mul(?x, div(?s, sqrt(add(?v, scalar[value=$e]())))), ?b)",
     "[2,3] [3] [3] [3] [3]", "e=0.5"},
    {"batch_normalization[epsilon=$e](?x, ?s, ?b, ?m, ?v) := "
     "add(mul(sub(?x, ?m), div(?s, add(?v, scalar[value=$e]()))), ?b)",
     "[2,3] [3] [3] [3] [3]", "e=0.5"},
    {"batch_normalization[epsilon=$e](?x, ?s, ?b, ?m, ?v) := "
     "add(mul(sub(?x, ?m), div(?s, sqrt(?v))), ?b)",
     "[2,3] [3] [3] [3] [3]", "e=0.5"},
    {"global_average_pool(?x) := reduce_sum[axes=[2, 3]](?x)", "[2,3,4,5]", ""},
    {"flatten[axis=$k](?x) := "
     "reshape[shape=[prod(take(shape(?x), $k)), prod(skip(shape(?x), $k))]]"
     "(transpose[perm=[1, 0, 2]](?x))",
     "[2,2,3]", "k=1"},
};

static noe_value parse_value(const char *text, noe_param_kind kind, char **end)
{
    int64_t list[NOE_MAX_LIST];
    int n = 0;
    if (kind == NOE_KIND_FLOAT)
        return noe_value_float(strtod(text, end));
    if (*text != '[')
        return noe_value_int(kind, strtoll(text, end, 10));
    for (*end = (char *)text; **end != ']';)
        list[n++] = strtoll(*end + 1, end, 10);
    ++*end;
    return noe_value_list(kind, n, list);
}

static void bind(const noe_rule *r, const char *shapes, const char *params,
                 noe_binding *b)
{
    noe_shape shape[NOE_RULE_MAX_VARS];
    memset(b, 0, sizeof *b);
    ck_assert_int_eq(noe_shapes_parse(shapes, shape, NOE_RULE_MAX_VARS), r->n_vars);
    for (int i = 0; i < r->n_vars; i++) {
        b->bound[i] = true;
        b->type[i] = (noe_type){NOE_F32, shape[i]};
    }
    int n_bound = 0;
    for (const char *at = params; *at; n_bound++) {
        char *end;
        int k = 0;
        while (k < r->n_pvars && r->pvars[k].name[0] != *at)
            k++;
        ck_assert_msg(k < r->n_pvars && at[1] == '=', "no parameter at '%s'", at);
        b->pvalue[k] = parse_value(at + 2, r->pvars[k].kind, &end);
        b->pbound[k] = true;
        at = *end ? end + 1 : end;
    }
    ck_assert_int_eq(n_bound, r->n_pvars);
}

static noe_tensor_fe tensor(const noe_type *t)
{
    size_t n = (size_t)noe_shape_elements(&t->shape);
    return (noe_tensor_fe){t->shape, NOE_NEW_N(&arena, noe_fe, n + 1)};
}

/* Values of all nodes of both sides, the variables at random. */
static void evaluate_rule(const noe_rule *r, const noe_binding *b, noe_order order,
                          uint64_t sample, noe_tensor_fe *value, noe_type *type)
{
    noe_field field = order == NOE_ORDER_NUMBER
                          ? noe_field_make_ordered(SEED + sample, NOE_FIELD_RANGE)
                          : noe_field_make(SEED + sample);
    noe_rng rng = noe_rng_split(SEED, "definition", sample);
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        noe_tensor_fe in[NOE_MAX_INPUTS];
        noe_type in_type[NOE_MAX_INPUTS];
        noe_params params = {0};
        if (n->is_var) {
            type[i] = b->type[n->var];
            value[i] = tensor(&type[i]);
            for (int64_t k = 0; k < noe_shape_elements(&type[i].shape); k++)
                value[i].data[k] = noe_fe_draw(&field, &rng);
            continue;
        }
        for (int k = 0; k < n->n_inputs; k++) {
            in[k] = value[n->inputs[k]];
            in_type[k] = type[n->inputs[k]];
        }
        noe_assert_ok(noe_rule_params(r, i, b, in_type, n->n_inputs, &params, &err),
                      err);
        noe_assert_ok(
            noe_op_infer(n->op, &params, in_type, n->n_inputs, &type[i], &err), err);
        value[i] = tensor(&type[i]);
        noe_eval_fe(&field, n->op, &params, in, n->n_inputs, &value[i]);
    }
}

static bool agree(const noe_rule *r, const noe_binding *b, noe_order order)
{
    noe_tensor_fe value[NOE_RULE_MAX_NODES];
    noe_type type[NOE_RULE_MAX_NODES];
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        evaluate_rule(r, b, order, sample, value, type);
        noe_tensor_fe left = value[r->lhs[0]], right = value[r->rhs[0]];
        ck_assert(noe_shape_eq(&left.shape, &right.shape));
        for (int64_t k = 0; k < noe_shape_elements(&left.shape); k++) {
            if (!noe_fe_eq(left.data[k], right.data[k]))
                return false;
        }
    }
    return true;
}

/* In one of the ways of reading signs. */
static bool sides_agree(const noe_rule *r, const noe_binding *b)
{
    return agree(r, b, NOE_ORDER_RESIDUE) || agree(r, b, NOE_ORDER_NUMBER);
}

static const noe_rule *find_line(section_fn *section, const char *name)
{
    int n;
    const noe_rule_line *lines = section(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(lines[i].name, name) == 0)
            return &lines[i].rule;
    }
    ck_abort_msg("no definition named %s", name);
    return NULL;
}

START_TEST(test_definition_holds)
{
    const instance *at = &instances[_i];
    const noe_rule *r = find_line(at->section, at->name);
    noe_binding b;
    bind(r, at->shapes, at->params, &b);
    ck_assert_msg(noe_rule_holds(r, &b), "%s: condition fails at %s", at->name,
                  at->shapes);
    ck_assert_msg(sides_agree(r, &b), "%s is wrong at %s %s, seed %d", at->name,
                  at->shapes, at->params, SEED);
    noe_arena_clear(&arena);
}
END_TEST

START_TEST(test_wrong_definition_is_refuted)
{
    noe_rule *r = noe_malloc(sizeof *r);
    noe_binding b;
    noe_assert_ok(noe_rule_parse(wrong[_i].rule, SIZE_MAX, r, &err), err);
    bind(r, wrong[_i].shapes, wrong[_i].params, &b);
    ck_assert_msg(!sides_agree(r, &b), "%s passed for true", wrong[_i].rule);
    noe_arena_clear(&arena);
    free(r);
}
END_TEST

static void check_section(section_fn *section, bool composite_left)
{
    int n;
    const noe_rule_line *lines = section(&n);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        const noe_rule *r = &lines[i].rule;
        bool tested = false;
        ck_assert_int_eq(r->n_roots, 1);
        uint16_t root = composite_left ? r->lhs[0] : r->rhs[0];
        ck_assert_msg(noe_op_has(r->nodes[root].op, NOE_TRAIT_COMPOSITE),
                      "%s has no composite at its root", lines[i].name);
        for (size_t k = 0; k < sizeof instances / sizeof *instances; k++)
            tested |= instances[k].section == section &&
                      strcmp(instances[k].name, lines[i].name) == 0;
        ck_assert_msg(tested, "definition '%s' has no instance here", lines[i].name);
        ck_assert(find_line(section, lines[i].name) == r); /* names are unique */
        ck_assert_msg(noe_rule_is_directed(r) || section == RESTORE, "%s",
                      lines[i].name);
    }
}

START_TEST(test_sections_are_in_form)
{
    check_section(EXPAND, true);
    check_section(FOLD, false);
    check_section(RESTORE, false);
}
END_TEST

START_TEST(test_every_composite_is_defined)
{
    int n, n_found = 0;
    const noe_rule_line *lines = EXPAND(&n);
    for (int i = 0; i < n; i++)
        n_found += lines[i].rule.nodes[lines[i].rule.lhs[0]].op == (noe_op)_i;
    ck_assert_msg((n_found > 0) == noe_op_has((noe_op)_i, NOE_TRAIT_COMPOSITE),
                  "%s has %d definitions", noe_op_get((noe_op)_i)->name, n_found);
}
END_TEST

/* ---- graphs ---- */

#define CONV_1D "[strides=[1], pads=[0,0], dilations=[1], group=1]"
#define CONV_2D "[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1]"
#define POOL_2X2 \
    "[kernel_shape=[2,2], strides=[1,1], pads=[0,0,0,0], count_include_pad=0]"

static noe_pool *pool;

static void open_pool(void)
{
    pool = noe_pool_new();
}

static void close_pool(void)
{
    noe_pool_free(pool);
}

/* The model's node 1 was this operator. */
static noe_op origin_op(void *ctx, uint32_t origin)
{
    ck_assert_uint_eq(origin, 1);
    return *(noe_op *)ctx;
}

/* x op y with x data, everything else weights, as imported from one ONNX node. */
static noe_graph *graph_of(const noe_op_instance *o)
{
    noe_graph *g = noe_graph_new(pool);
    noe_ref in[NOE_MAX_INPUTS], out;
    for (int k = 0; k < o->n_in; k++) {
        char name[] = {(char)('a' + k), '\0'};
        uint32_t leaf = noe_pool_add_leaf(pool, name, &o->in[k], NULL, 0, NULL);
        in[k] = noe_graph_leaf(g, k ? NOE_OP_WEIGHT : NOE_OP_INPUT, leaf);
    }
    noe_assert_ok(noe_graph_add(g, o->op, &o->params, in, o->n_in, &out, &err), err);
    noe_graph_set_origin(g, out.node, 1);
    noe_graph_set_name(g, out.node, noe_pool_name(pool, "y"));
    noe_graph_add_output(g, out, "y");
    return g;
}

static bool is_composite(const noe_graph *g, uint32_t node)
{
    return g->nodes[node].op < NOE_OP_COUNT &&
           noe_op_has(g->nodes[node].op, NOE_TRAIT_COMPOSITE);
}

static const noe_node *root_of(const noe_graph *g)
{
    return &g->nodes[g->outputs[0].ref.node];
}

/* Powers but for a few exponents. */
static bool is_undefined(const noe_op_instance *o)
{
    return o->op == NOE_OP_POW && o->params.v[0].f == 1.7;
}

START_TEST(test_expand_and_fold_are_inverse)
{
    noe_op_instance o;
    const noe_op_case *c = &noe_op_cases[_i];
    if (!noe_op_has(c->op, NOE_TRAIT_COMPOSITE))
        return;
    noe_graph *expanded, *folded;
    noe_op_case_instance(c, &o);
    noe_graph *g = graph_of(&o);
    noe_assert_ok(noe_graph_expand(g, &expanded, &err), err);
    noe_graph_check(expanded);
    for (uint32_t i = 0; i < expanded->n_nodes; i++)
        ck_assert_msg(!is_composite(expanded, i) || is_undefined(&o), "%s",
                      noe_op_case_text(c));
    ck_assert_uint_eq(root_of(expanded)->origin, 1);
    ck_assert_str_eq(root_of(expanded)->name, "y");
    ck_assert(noe_type_eq(root_of(expanded)->types, &o.out));
    noe_assert_ok(noe_graph_fold(expanded, origin_op, &o.op, &folded, &err), err);
    noe_graph_check(folded);
    ck_assert_msg(root_of(folded)->op == o.op, "%s comes back as %s",
                  noe_op_case_text(c), noe_op_get(root_of(folded)->op)->name);
    ck_assert_msg(noe_graph_hash(folded) == noe_graph_hash(g), "%s",
                  noe_op_case_text(c));
    ck_assert_uint_eq(root_of(folded)->origin, 1);
    ck_assert_str_eq(root_of(folded)->name, "y");
    noe_graph_free(g);
    noe_graph_free(expanded);
    noe_graph_free(folded);
}
END_TEST

/* Folding a graph whose nodes stem from ONNX nodes (origin 1, imported as `from`) or
 * are new, per line: what does the output become? */
static const struct {
    const char *graph;
    const char *new_nodes; /* of these nodes the origin is 0 */
    noe_op from;
    noe_op root;
} folds[] = {
    /* Two nodes in the model stay two. */
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = weight \"c\" : f32[3,1]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%3, %2) : f32[1,3,3]\nreturn %4\n",
     "", NOE_OP_ADD, NOE_OP_ADD},
    /* A rewrite made one of them: they may be joined, in either order of operands. */
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = weight \"c\" : f32[3,1]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%3, %2) : f32[1,3,3]\nreturn %4\n",
     "3", NOE_OP_ADD, NOE_OP_CONV_BIAS},
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = weight \"c\" : f32[1,3,1]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%2, %3) : f32[1,3,3]\nreturn %4\n",
     "4", NOE_OP_CONV, NOE_OP_CONV_BIAS},
    /* The sum is data, no bias. */
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = input \"c\" : f32[3,1]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%3, %2) : f32[1,3,3]\nreturn %4\n",
     "3 4", NOE_OP_ADD, NOE_OP_ADD},
    /* A bias that differs along the image is none. */
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = weight \"c\" : f32[3,3]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%3, %2) : f32[1,3,3]\nreturn %4\n",
     "3 4", NOE_OP_ADD, NOE_OP_ADD},
    /* The convolution is needed without the bias too. */
    {"%0 = input \"x\" : f32[1,2,4]\n%1 = weight \"w\" : f32[3,2,2]\n"
     "%2 = weight \"c\" : f32[3,1]\n%3 = conv" CONV_1D "(%0, %1) : f32[1,3,3]\n"
     "%4 = add(%3, %2) : f32[1,3,3]\nreturn %4, %3\n",
     "3 4", NOE_OP_ADD, NOE_OP_ADD},
    /* Gemm is for matrices, and its C does not widen the product. */
    {"%0 = input \"x\" : f32[2,3]\n%1 = weight \"w\" : f32[3,4]\n"
     "%2 = weight \"c\" : f32[4]\n%3 = matmul(%0, %1) : f32[2,4]\n"
     "%4 = add(%3, %2) : f32[2,4]\nreturn %4\n",
     "3", NOE_OP_ADD, NOE_OP_GEMM},
    {"%0 = input \"x\" : f32[5,2,3]\n%1 = weight \"w\" : f32[3,4]\n"
     "%2 = weight \"c\" : f32[4]\n%3 = matmul(%0, %1) : f32[5,2,4]\n"
     "%4 = add(%3, %2) : f32[5,2,4]\nreturn %4\n",
     "3 4", NOE_OP_ADD, NOE_OP_ADD},
    {"%0 = input \"x\" : f32[1,3]\n%1 = weight \"w\" : f32[3,4]\n"
     "%2 = weight \"c\" : f32[2,4]\n%3 = matmul(%0, %1) : f32[1,4]\n"
     "%4 = add(%3, %2) : f32[2,4]\nreturn %4\n",
     "3 4", NOE_OP_ADD, NOE_OP_ADD},
    /* A product alone becomes Gemm only where it was one. */
    {"%0 = input \"x\" : f32[2,3]\n%1 = weight \"w\" : f32[3,4]\n"
     "%2 = matmul(%0, %1) : f32[2,4]\nreturn %2\n",
     "2", NOE_OP_MATMUL, NOE_OP_MATMUL},
    {"%0 = input \"x\" : f32[2,3]\n%1 = weight \"w\" : f32[3,4]\n"
     "%2 = matmul(%0, %1) : f32[2,4]\nreturn %2\n",
     "", NOE_OP_GEMM, NOE_OP_GEMM},
    /* So does a reshape, and only into what it was. */
    {"%0 = input \"x\" : f32[2,1,3]\n%1 = reshape[shape=[2,3]](%0) : f32[2,3]\n"
     "return %1\n",
     "1", NOE_OP_SQUEEZE, NOE_OP_RESHAPE},
    {"%0 = input \"x\" : f32[2,1,3]\n%1 = reshape[shape=[2,3]](%0) : f32[2,3]\n"
     "return %1\n",
     "", NOE_OP_RESHAPE, NOE_OP_RESHAPE},
    {"%0 = input \"x\" : f32[2,1,3]\n%1 = reshape[shape=[2,3]](%0) : f32[2,3]\n"
     "return %1\n",
     "", NOE_OP_SQUEEZE, NOE_OP_SQUEEZE},
    {"%0 = input \"x\" : f32[2,1,3]\n%1 = reshape[shape=[2,3]](%0) : f32[2,3]\n"
     "return %1\n",
     "", NOE_OP_UNSQUEEZE, NOE_OP_RESHAPE},
    {"%0 = input \"x\" : f32[1,3,2,2]\n"
     "%1 = average_pool" POOL_2X2 "(%0) : f32[1,3,1,1]\nreturn %1\n",
     "1", NOE_OP_AVERAGE_POOL, NOE_OP_GLOBAL_AVERAGE_POOL},
    {"%0 = input \"x\" : f32[1,3,2,2]\n"
     "%1 = average_pool" POOL_2X2 "(%0) : f32[1,3,1,1]\nreturn %1\n",
     "", NOE_OP_AVERAGE_POOL, NOE_OP_AVERAGE_POOL},
};

static bool lists_number(const char *list, uint32_t number)
{
    char *end;
    for (const char *at = list; *at; at = *end ? end + 1 : end) {
        if (strtoul(at, &end, 10) == number)
            return true;
    }
    return false;
}

START_TEST(test_fold_keeps_apart_what_was_apart)
{
    noe_graph *g, *folded;
    noe_op from = folds[_i].from;
    noe_buf text = {0};
    noe_assert_ok(noe_graph_parse(pool, folds[_i].graph, &g, &err), err);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op < NOE_OP_COUNT && !lists_number(folds[_i].new_nodes, i))
            noe_graph_set_origin(g, i, 1);
    }
    noe_assert_ok(noe_graph_fold(g, origin_op, &from, &folded, &err), err);
    noe_graph_check(folded);
    noe_graph_print(&text, folded);
    ck_assert_msg(root_of(folded)->op == folds[_i].root, "%s\nbecomes\n%s",
                  folds[_i].graph, text.text);
    if (root_of(folded)->op == root_of(g)->op)
        ck_assert(noe_graph_hash(folded) == noe_graph_hash(g));
    noe_buf_clear(&text);
    noe_graph_free(g);
    noe_graph_free(folded);
}
END_TEST

/* Shared composites, unused nodes, several outputs, other element types. */
START_TEST(test_expand_whole_graphs)
{
    static const char before[] =
        "%0 = input \"x\" : f32[1,2,3,3]\n%1 = weight \"w\" : f32[2,2,1,1]\n"
        "%2 = weight \"b\" : f32[2]\n%3 = conv_bias" CONV_2D
        "(%0, %1, %2) : f32[1,2,3,3]\n"
        "%4 = relu(%3) : f32[1,2,3,3]\n%5 = global_average_pool(%4) : f32[1,2,1,1]\n"
        "%6 = flatten[axis=1](%5) : f32[1,2]\n%7 = conv_bias" CONV_2D "(%4, %1, %2) : "
        "f32[1,2,3,3]\n"
        "%8 = input \"n\" : i64[1,2]\n%9 = squeeze[axes=[0]](%8) : i64[2]\n"
        "return %6, %7, %9, %3\n";
    noe_graph *g, *expanded, *folded;
    noe_buf text = {0};
    noe_assert_ok(noe_graph_parse(pool, before, &g, &err), err);
    noe_assert_ok(noe_graph_expand(g, &expanded, &err), err);
    noe_graph_check(expanded);
    noe_graph_print(&text, expanded);
    ck_assert_uint_eq(expanded->n_outputs, 4);
    ck_assert(!noe_contains(text.text, "conv_bias") &&
              !noe_contains(text.text, "flatten"));
    ck_assert(noe_contains(text.text, "squeeze")); /* integers are not spoken about */
    noe_assert_ok(noe_graph_fold(expanded, NULL, NULL, &folded, &err), err);
    noe_buf_clear(&text);
    noe_graph_print(&text, folded);
    ck_assert(noe_contains(text.text, "conv_bias") &&
              noe_contains(text.text, "reshape"));
    noe_buf_clear(&text);
    noe_graph_free(g);
    noe_graph_free(expanded);
    noe_graph_free(folded);
}
END_TEST

#define COUNT(TABLE) ((int)(sizeof(TABLE) / sizeof *(TABLE)))

Suite *suite_definition(void)
{
    Suite *s = suite_create("core.definition");
    TCase *tc = tcase_create("definition");
    tcase_add_checked_fixture(tc, open_pool, close_pool);
    tcase_add_loop_test(tc, test_definition_holds, 0, COUNT(instances));
    tcase_add_loop_test(tc, test_wrong_definition_is_refuted, 0, COUNT(wrong));
    tcase_add_test(tc, test_sections_are_in_form);
    tcase_add_loop_test(tc, test_every_composite_is_defined, 0, NOE_OP_COUNT);
    tcase_add_loop_test(tc, test_expand_and_fold_are_inverse, 0, noe_n_op_cases);
    tcase_add_loop_test(tc, test_fold_keeps_apart_what_was_apart, 0, COUNT(folds));
    tcase_add_test(tc, test_expand_whole_graphs);
    suite_add_tcase(s, tc);
    return s;
}
