/* SPDX-License-Identifier: Apache-2.0
 *
 * Laws that any set of candidates must contain or imply. A law is a rule and shapes at
 * which it is looked at; it counts as found if rewriting its left side with the first
 * variants of all groups, in both directions, reaches its right side within a few
 * steps: that is what the optimizer does with them. */
#include "tests/generator/fixture.h"

#include "core/match.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS  3
#define MAX_GRAPHS 1500

typedef struct law {
    const char *set;  /* --ops: what it needs */
    const char *text; /* parameters literal */
    const char *shapes[4];
} law;

/* Small enough for seconds each. */
#define SUMS     "matrix:add,sub,mul,neg"
#define SIGNS    "matrix:add,neg"
#define PRODUCTS "matrix:add,mul,div,reciprocal,exp"
#define ACT      "matrix,layout:relu,sigmoid,tanh,concat,slice,transpose,reshape"
#define RED      "matrix:add,sub,mul,reduce_sum,reduce_mean,softmax"
#define MAT      "product:matmul,add,mul,concat,slice,transpose"
#define CHAINS   "product:matmul"
#define PLUS     "product:matmul,add"
#define BATCHES  "batch:matmul,slice"
#define BIASES   "batch:add,slice"
#define SHIFTS   "matrix:softmax,sub"
#define SCALED   "image:conv,resize"
#define WIDE     "image:conv,pad"
#define CONV     "image:conv,add,concat"
#define SCALES   "image:conv,mul,reshape"
#define PARTS    "image:conv,concat,slice"
#define POOL     "image:conv,average_pool,pad,add"
#define ORD      "order:add,relu,max,reduce_max"
#define MAXP     "image:relu,max_pool,concat"

static const law laws[] = {
    {SUMS, "add(?a, add(?b, ?c)) => add(add(?a, ?b), ?c)", {"2,3", "2,3", "2,3"}},
    {PRODUCTS, "mul(?a, mul(?b, ?c)) => mul(mul(?a, ?b), ?c)", {"2,3", "2,3", "2,3"}},
    {SUMS,
     "add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c))",
     {"2,3", "2,3", "2,3"}},
    {SUMS, "neg(neg(?a)) => ?a", {"2,3"}},
    {SUMS, "sub(?a, ?b) => add(?a, neg(?b))", {"2,3", "2,3"}},
    {PRODUCTS, "div(?a, ?b) => mul(?a, reciprocal(?b))", {"2,3", "2,3"}},
    {SIGNS, "neg(add(?a, ?b)) => add(neg(?a), neg(?b))", {"2,3", "2,3"}},
    {SUMS, "mul(neg(?a), ?b) => neg(mul(?a, ?b))", {"2,3", "2,3"}},
    {PRODUCTS, "exp(add(?a, ?b)) => mul(exp(?a), exp(?b))", {"2,3", "2,3"}},
    {ACT,
     "relu(concat[axis=1](?a, ?b)) => concat[axis=1](relu(?a), relu(?b))",
     {"2,3", "2,4"}},
    {ACT,
     "sigmoid(concat[axis=0](?a, ?b)) => concat[axis=0](sigmoid(?a), sigmoid(?b))",
     {"2,3", "4,3"}},
    {ACT,
     "tanh(concat[axis=1](?a, ?b)) => concat[axis=1](tanh(?a), tanh(?b))",
     {"2,3", "2,4"}},
    {ACT,
     "relu(slice[axis=1, start=1, end=3](?a)) => slice[axis=1, start=1, "
     "end=3](relu(?a))",
     {"2,5"}},
    {ACT,
     "sigmoid(transpose[perm=[1, 0]](?a)) => transpose[perm=[1, 0]](sigmoid(?a))",
     {"2,3"}},
    {ACT, "relu(reshape[shape=[6]](?a)) => reshape[shape=[6]](relu(?a))", {"2,3"}},
    {ACT, "transpose[perm=[1, 0]](transpose[perm=[1, 0]](?a)) => ?a", {"2,3"}},
    {ACT,
     "slice[axis=1, start=0, end=3](concat[axis=1](?a, ?b)) => ?a",
     {"2,3", "2,4"}},
    {ACT,
     "slice[axis=1, start=3, end=7](concat[axis=1](?a, ?b)) => ?b",
     {"2,3", "2,4"}},
    {ACT,
     "concat[axis=1](slice[axis=1, start=0, end=2](?a), slice[axis=1, start=2, "
     "end=5](?a)) => ?a",
     {"2,5"}},
    {ACT,
     "transpose[perm=[1, 0]](concat[axis=1](?a, ?b)) => "
     "concat[axis=0](transpose[perm=[1, 0]](?a), transpose[perm=[1, 0]](?b))",
     {"2,3", "2,4"}},
    {RED,
     "reduce_sum[axes=[1]](add(?a, ?b)) => add(reduce_sum[axes=[1]](?a), "
     "reduce_sum[axes=[1]](?b))",
     {"2,3", "2,3"}},
    {RED,
     "reduce_mean[axes=[0]](add(?a, ?b)) => add(reduce_mean[axes=[0]](?a), "
     "reduce_mean[axes=[0]](?b))",
     {"2,3", "2,3"}},
    {RED, "softmax[axis=1](add(?a, ?b)) => softmax[axis=1](?a)", {"2,3", "2,1"}},
    {RED, "softmax[axis=1](sub(?a, ?b)) => softmax[axis=1](?a)", {"2,3", "2,1"}},
    {MAT,
     "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c))",
     {"2,3", "3,4", "4,5"}},
    {MAT,
     "add(matmul(?a, ?b), matmul(?a, ?c)) => matmul(?a, add(?b, ?c))",
     {"2,3", "3,4", "3,4"}},
    {MAT,
     "add(matmul(?a, ?c), matmul(?b, ?c)) => matmul(add(?a, ?b), ?c)",
     {"2,3", "2,3", "3,4"}},
    {MAT,
     "concat[axis=1](matmul(?a, ?b), matmul(?a, ?c)) => matmul(?a, concat[axis=1](?b, "
     "?c))",
     {"2,3", "3,4", "3,5"}},
    {MAT,
     "concat[axis=0](matmul(?a, ?c), matmul(?b, ?c)) => matmul(concat[axis=0](?a, ?b), "
     "?c)",
     {"2,3", "5,3", "3,4"}},
    {MAT,
     "add(matmul(?a, ?b), matmul(?c, ?d)) => matmul(concat[axis=1](?a, ?c), "
     "concat[axis=0](?b, ?d))",
     {"2,3", "3,4", "2,5", "5,4"}},
    {MAT, "mul(matmul(?a, ?b), ?c) => matmul(?a, mul(?b, ?c))", {"2,3", "3,4", ""}},
    {MAT,
     "transpose[perm=[1, 0]](matmul(?a, ?b)) => matmul(transpose[perm=[1, 0]](?b), "
     "transpose[perm=[1, 0]](?a))",
     {"2,3", "3,4"}},
    {MAT,
     "slice[axis=1, start=1, end=3](matmul(?a, ?b)) => matmul(?a, slice[axis=1, "
     "start=1, end=3](?b))",
     {"2,3", "3,4"}},
    {MAT,
     "{ matmul(?a, ?b), matmul(?a, ?c) } => { slice[axis=1, start=0, end=4](matmul(?a, "
     "concat[axis=1](?b, ?c))), slice[axis=1, start=4, end=9](matmul(?a, "
     "concat[axis=1](?b, ?c))) }",
     {"2,3", "3,4", "3,5"}},
    {CONV,
     "add(conv[pads=[1, 1, 1, 1]](?a, ?b), conv[pads=[1, 1, 1, 1]](?a, ?c)) => "
     "conv[pads=[1, 1, 1, 1]](?a, add(?b, ?c))",
     {"1,3,5,5", "4,3,3,3", "4,3,3,3"}},
    {CONV,
     "add(conv[pads=[1, 1, 1, 1]](?a, ?c), conv[pads=[1, 1, 1, 1]](?b, ?c)) => "
     "conv[pads=[1, 1, 1, 1]](add(?a, ?b), ?c)",
     {"1,3,5,5", "1,3,5,5", "4,3,3,3"}},
    {CONV,
     "concat[axis=1](conv(?a, ?b), conv(?a, ?c)) => conv(?a, concat[axis=0](?b, ?c))",
     {"1,3,5,5", "4,3,1,1", "2,3,1,1"}},
    {CONV,
     "concat[axis=0](conv(?a, ?c), conv(?b, ?c)) => conv(concat[axis=0](?a, ?b), ?c)",
     {"1,3,5,5", "2,3,5,5", "4,3,1,1"}},
    {CONV,
     "add(conv(?a, ?b), conv(?c, ?d)) => conv(concat[axis=1](?a, ?c), "
     "concat[axis=1](?b, ?d))",
     {"1,3,5,5", "4,3,1,1", "1,2,5,5", "4,2,1,1"}},
    {SCALES,
     "mul(conv(?a, ?b), ?c) => conv(?a, mul(?b, ?c))",
     {"1,3,5,5", "4,3,1,1", ""}},
    {SCALES,
     "mul(conv[pads=[1, 1, 1, 1]](?a, ?b), ?c) => conv[pads=[1, 1, 1, 1]](?a, mul(?b, "
     "reshape[shape=[4, 1, 1, 1]](?c)))",
     {"1,3,5,5", "4,3,3,3", "4,1,1"}},
    {PARTS,
     "slice[axis=1, start=1, end=3](conv(?a, ?b)) => conv(?a, slice[axis=0, start=1, "
     "end=3](?b))",
     {"1,3,5,5", "4,3,1,1"}},
    {PARTS,
     "{ conv(?a, ?b), conv(?a, ?c) } => { slice[axis=1, start=0, end=4](conv(?a, "
     "concat[axis=0](?b, ?c))), slice[axis=1, start=4, end=6](conv(?a, "
     "concat[axis=0](?b, ?c))) }",
     {"1,3,5,5", "4,3,1,1", "2,3,1,1"}},
    {POOL,
     "conv[pads=[1, 1, 1, 1]](?a, identity_kernel[shape=[3, 3, 3, 3]]()) => ?a",
     {"1,3,5,5"}},
    {POOL,
     "conv[pads=[1, 1, 1, 1], group=3](?a, average_kernel[shape=[3, 1, 3, 3]]()) => "
     "average_pool[kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1](?a)",
     {"1,3,5,5"}},
    {POOL,
     "add(average_pool[kernel_shape=[2, 2]](?a), average_pool[kernel_shape=[2, "
     "2]](?b)) => average_pool[kernel_shape=[2, 2]](add(?a, ?b))",
     {"1,3,5,5", "1,3,5,5"}},
    {POOL,
     "conv(?a, ?b) => conv[pads=[1, 1, 1, 1]](?a, pad[pads=[0, 0, 1, 1, 0, 0, 1, "
     "1]](?b))",
     {"1,3,5,5", "4,3,1,1"}},
    /* order: none of these holds for residues, but for the last */
    {ORD, "max(max(?a, ?b), ?c) => max(?a, max(?b, ?c))", {"2,3", "2,3", "2,3"}},
    /* relu(max(a, b)) = max(relu(a), relu(b)) follows */
    {ORD, "max(?a, zeros[shape=[2,3]]()) => relu(?a)", {"2,3"}},
    {"order:mul,abs", "mul(abs(?a), abs(?b)) => abs(mul(?a, ?b))", {"2,3", "2,3"}},
    {ORD,
     "max(add(?a, ?c), add(?b, ?c)) => add(max(?a, ?b), ?c)",
     {"2,3", "2,3", "2,3"}},
    {ORD,
     "max(reduce_max[axes=[1]](?a), reduce_max[axes=[1]](?b)) => "
     "reduce_max[axes=[1]](max(?a, ?b))",
     {"2,3", "2,3"}},
    {ORD, "reduce_max[axes=[1]](relu(?a)) => relu(reduce_max[axes=[1]](?a))", {"2,3"}},
    {MAXP,
     "max_pool[kernel_shape=[3,3], pads=[1,1,1,1]](relu(?a)) => "
     "relu(max_pool[kernel_shape=[3,3], pads=[1,1,1,1]](?a))",
     {"2,4,6,5"}},
};

/* Rules of one set, made once a process: the tests of a case run in one. */
static const char *loaded_set;
static noe_rule *rules;
static int n_rules;
static char **texts; /* as generated */
static int n_texts;

static void add_rule(const noe_rule *r)
{
    if (noe_rule_is_directed(r))
        rules[n_rules++] = *r;
}

/* Laws of three operators a side need the third level. */
static int level_of(const char *set)
{
    static const char *const two[] = {ACT, RED, SCALES, POOL, SHIFTS, SCALED, WIDE};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        if (strcmp(set, two[i]) == 0)
            return 2;
    }
    return 3;
}

/* Seconds with what CI has; the others run where NOETHER_LAWS is "all". */
static bool is_taken(const char *set)
{
    static const char *const quick[] = {SUMS,    SIGNS,  PRODUCTS, CHAINS, PLUS,
                                        BATCHES, BIASES, ORD,      MAXP};
    const char *which = getenv("NOETHER_LAWS");
    if (which && strcmp(which, "all") == 0)
        return true;
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        if (strcmp(set, quick[i]) == 0)
            return true;
    }
    return false;
}

static void load_rules(const char *set)
{
    if (loaded_set && strcmp(loaded_set, set) == 0)
        return;
    noe_env env = quiet_env(1);
    noe_generate_options options = {.ops = set, .n_levels = level_of(set)};
    noe_generated g;
    noe_error err = {0};
    noe_assert_ok(noe_generate(&options, &env, &g, &err), err);
    free(rules);
    rules =
        noe_calloc((size_t)g.n_groups * 2 * NOE_LIFT_MAX_VARIANTS + 1, sizeof *rules);
    n_rules = 0;
    for (int i = 0; i < n_texts; i++)
        free(texts[i]);
    free(texts);
    texts = noe_calloc((size_t)g.n_groups * NOE_LIFT_MAX_VARIANTS + 1, sizeof *texts);
    n_texts = 0;
    for (int i = 0; i < g.n_groups; i++) {
        for (int k = 0; k < g.groups[i].variants.n; k++) {
            noe_rule *r = noe_malloc(sizeof *r);
            noe_assert_ok(
                noe_rule_parse(g.groups[i].variants.text[k], SIZE_MAX, r, &err), err);
            texts[n_texts++] = noe_strdup(g.groups[i].variants.text[k]);
            noe_rule back = noe_rule_reversed(r);
            add_rule(r);
            add_rule(&back);
            free(r);
        }
    }
    noe_generated_clear(&g);
    loaded_set = set;
}

static noe_shape parse_shape(const char *text)
{
    noe_shape s = {0};
    for (const char *p = text; *p;) {
        char *end;
        s.dim[s.rank++] = strtoll(p, &end, 10);
        p = *end ? end + 1 : end;
    }
    return s;
}

/* One side of r over inputs of the law's shapes. */
static noe_graph *make_side(const law *l, const noe_rule *r, bool right, noe_pool *pool,
                            const uint32_t *leaves)
{
    noe_graph *g = noe_graph_new(pool);
    noe_binding *b = noe_calloc(1, sizeof *b);
    noe_ref ref[NOE_RULE_MAX_NODES];
    noe_error err = {0};
    for (int v = 0; v < r->n_vars; v++) {
        int i = r->vars[v].name[0] - 'a';
        b->type[v] = (noe_type){NOE_F32, parse_shape(l->shapes[i])};
        b->ref[v] = noe_graph_leaf(g, NOE_OP_INPUT, leaves[i]);
        b->bound[v] = true;
    }
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        noe_ref in[NOE_RULE_MAX_INPUTS];
        noe_type types[NOE_RULE_MAX_INPUTS];
        noe_params params;
        if (n->is_var) {
            ref[i] = b->ref[n->var];
            continue;
        }
        for (int k = 0; k < n->n_inputs; k++) {
            in[k] = ref[n->inputs[k]];
            types[k] = *noe_graph_type(g, in[k]);
        }
        noe_assert_ok(noe_rule_params(r, i, b, types, n->n_inputs, &params, &err), err);
        noe_assert_ok(noe_graph_add(g, n->op, &params, in, n->n_inputs, &ref[i], &err),
                      err);
    }
    for (int k = 0; k < r->n_roots; k++)
        noe_graph_add_output(g, ref[right ? r->rhs[k] : r->lhs[k]], "");
    free(b);
    return g;
}

/* The nodes that an output needs. */
static uint32_t count_live(const noe_graph *g)
{
    uint8_t *live = noe_calloc(g->n_nodes + 1, 1);
    uint32_t n = 0;
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += live[i];
    free(live);
    return n;
}

typedef struct search {
    noe_graph *graphs[MAX_GRAPHS];
    int depth[MAX_GRAPHS];
    uint64_t hash[MAX_GRAPHS];
    int n;
    uint64_t goal;
    bool found;
    const noe_rule *rule;
    int from;
    uint32_t max_nodes;
} search;

static void add_graph(search *s, noe_graph *g, int depth)
{
    uint64_t hash = noe_graph_hash(g);
    s->found = s->found || hash == s->goal;
    bool is_new = s->n < MAX_GRAPHS && count_live(g) <= s->max_nodes;
    for (int i = 0; i < s->n && is_new; i++)
        is_new = s->hash[i] != hash;
    if (!is_new) {
        noe_graph_free(g);
        return;
    }
    s->graphs[s->n] = g;
    s->depth[s->n] = depth;
    s->hash[s->n++] = hash;
}

static bool on_match(void *ctx, const noe_match *m)
{
    search *s = ctx;
    noe_graph *out;
    if (noe_rule_apply(s->rule, s->graphs[s->from], m, &out, NULL) == NOE_OK)
        add_graph(s, out, s->depth[s->from] + 1);
    return !s->found;
}

static bool reaches(noe_graph *from, uint64_t goal, uint32_t max_nodes)
{
    search *s = noe_calloc(1, sizeof *s);
    s->goal = goal;
    s->max_nodes = max_nodes;
    add_graph(s, from, 0);
    for (s->from = 0; s->from < s->n && !s->found; s->from++) {
        if (s->depth[s->from] == MAX_STEPS)
            break;
        for (int r = 0; r < n_rules && !s->found; r++) {
            s->rule = &rules[r];
            for (uint32_t i = 0; i < s->graphs[s->from]->n_nodes && !s->found; i++)
                noe_rule_match(s->rule, s->graphs[s->from], i, on_match, s);
        }
    }
    bool found = s->found;
    for (int i = 0; i < s->n; i++)
        noe_graph_free(s->graphs[i]);
    free(s);
    return found;
}

START_TEST(test_laws_are_found_or_follow)
{
    const law *l = &laws[_i];
    noe_error err = {0};
    if (!is_taken(l->set))
        noe_skip("takes minutes (NOETHER_LAWS=all)");
    noe_rule *r = noe_malloc(sizeof *r);
    noe_pool *pool = noe_pool_new();
    uint32_t leaves[4];
    load_rules(l->set);
    noe_assert_ok(noe_rule_parse(l->text, SIZE_MAX, r, &err), err);
    for (int i = 0; i < 4; i++) {
        char name[2] = {(char)('a' + i), 0};
        noe_type t = {NOE_F32, parse_shape(l->shapes[i] ? l->shapes[i] : "")};
        leaves[i] = noe_pool_add_leaf(pool, name, &t, NULL, 0, NULL);
    }
    noe_graph *left = make_side(l, r, false, pool, leaves);
    noe_graph *right = make_side(l, r, true, pool, leaves);
    uint32_t a = count_live(left), b = count_live(right), most = a > b ? a : b;
    uint64_t goal = noe_graph_hash(right), start = noe_graph_hash(left);
    /* A variable cannot be rewritten: some laws are found from the right only. */
    bool found = reaches(left, goal, most + 3);
    found = reaches(right, start, most + 3) || found;
    ck_assert_msg(found, "neither a candidate of %s nor a consequence: %s", l->set,
                  l->text);
    noe_pool_free(pool);
    free(r);
}
END_TEST

/* What must be there in its general form, word for word: parameters are variables, no
 * rank is said where none is needed. */
static const struct {
    const char *set, *text;
} general_forms[] = {
    {MAT, "slice[axis=-1, start=$a, end=$b, step=$c](matmul(?a, ?b)) => matmul(?a, "
          "slice[axis=-1, start=$a, end=$b, step=$c](?b))"},
    {MAT, "mul(matmul(?a, ?b), ?c) => matmul(?a, mul(?b, ?c)) where rank(?c) == 0"},
    {MAT, "concat[axis=-1](matmul(?a, ?b), matmul(?a, ?c)) => matmul(?a, "
          "concat[axis=-1](?b, ?c))"},
    /* false where a batch is taken for a matrix: (a b) c with a vector c */
    {CHAINS, "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where 2 <= "
             "rank(?a) && 2 <= rank(?b) && 2 <= rank(?c)"},
    /* depthwise: a group for each channel of the result */
    {SCALES, "conv[strides=$a, pads=$b, dilations=$c, group=dim(?a, 0)](mul(?b, ?c), "
             "?a) => mul(conv[strides=$a, pads=$b, dilations=$c, group=dim(?a, 0)](?b, "
             "?a), ?c) where shape(?c) == [dim(?a, 0)] ++ rep(1, rank(?b) - 2)"},
    {SCALES, "conv[pads=[0, 0, 0, 0], group=dim(?a, 0)](?b, reshape[shape=[dim(?b, 1)] "
             "++ rep(1, rank(?b) - 1)](?a)) => mul(?b, ?a) where shape(?a) == [dim(?a, "
             "0)] ++ rep(1, rank(?b) - 2)"},
    {MAT,
     "matmul(transpose[perm=$a](?a), transpose[perm=$a](?b)) => "
     "transpose[perm=$a](matmul(?b, ?a)) where at($a, -1) == len($a) - 2 && at($a, "
     "-2) == len($a) - 1"},
    {MAT, "concat[axis=-2](matmul(?a, ?b), matmul(?c, ?b)) => "
          "matmul(concat[axis=-2](?a, ?c), ?b)"},
    {MAT, "add(matmul(?a, ?b), matmul(?c, ?d)) => matmul(concat[axis=-1](?a, ?c), "
          "concat[axis=-2](?b, ?d))"},
    /* a vector on the left is one in both */
    {PLUS, "add(matmul(?a, ?b), matmul(?c, ?b)) => matmul(add(?a, ?c), ?b) where "
           "rank(?b) == 2"},
    {PLUS, "add(matmul(?a, ?b), matmul(?a, ?c)) => matmul(?a, add(?c, ?b)) where 2 <= "
           "rank(?b) && 2 <= rank(?c)"},
    /* any axis of the batch, along which both are as long */
    {BATCHES, "matmul(slice[axis=$a, start=$b, end=$c, step=$d](?a), slice[axis=$a, "
              "start=$b, end=$c, step=$d](?b)) => slice[axis=$a, start=$b, end=$c, "
              "step=$d](matmul(?a, ?b)) where rank(?a) == rank(?b) && dim(?a, $a) == "
              "dim(?b, $a) && $a < rank(?a) - 2"},
    /* the same along the axis, whichever it is */
    {SHIFTS, "softmax[axis=$a](sub(?a, ?b)) => softmax[axis=$a](?a) where rank(?b) == "
             "rank(?a) && dim(?b, $a) == 1"},
    /* 1x1 kernels of images, with whatever groups */
    {SCALED, "conv[dilations=$a, group=$b](resize[mode=$c, scales=$d](?a), ?b) => "
             "resize[mode=$c, scales=$d](conv[dilations=$a, group=$b](?a, ?b)) where "
             "rank(?a) == 4 && dim(?b, -2) == 1 && dim(?b, -1) == 1 && rank(?b) == 4"},
    /* a kernel widened by zeros, at every rank, but not dilated */
    {WIDE, "conv[strides=$a, pads=$b, group=$c](?a, pad[pads=$d](?b)) => "
           "conv[strides=$a, pads=$b - (skip(take($d, rank(?a)), 2) ++ skip($d, "
           "rank(?a) + 2)), group=$c](?a, ?b) where take($d, 2) == [0, 0] && "
           "take(skip($d, rank(?a)), 2) == [0, 0]"},
    /* a bias along other axes */
    {BIASES, "add(?a, slice[axis=$a, start=$b, end=$c, step=$d](?b)) => slice[axis=$a, "
             "start=$b, end=$c, step=$d](add(?b, ?a)) where $a < rank(?b) - rank(?a)"},
    {BIASES,
     "add(slice[axis=$a, start=$b, end=$c, step=$d](?a), slice[axis=$a, "
     "start=$b, end=$c, step=$d](?b)) => slice[axis=$a, start=$b, end=$c, "
     "step=$d](add(?b, ?a)) where rank(?a) == rank(?b) && dim(?a, $a) == dim(?b, "
     "$a)"},
    {CONV, "concat[axis=1](conv[strides=$a, pads=$b, dilations=$c](?a, ?b), "
           "conv[strides=$a, pads=$b, dilations=$c](?a, ?c)) => conv[strides=$a, "
           "pads=$b, dilations=$c](?a, concat[axis=0](?b, ?c))"},
    {CONV, "concat[axis=0](conv[strides=$a, pads=$b, dilations=$c, group=$d](?a, ?b), "
           "conv[strides=$a, pads=$b, dilations=$c, group=$d](?c, ?b)) => "
           "conv[strides=$a, pads=$b, dilations=$c, group=$d](concat[axis=0](?a, ?c), "
           "?b)"},
    {CONV, "add(conv[strides=$a, pads=$b, dilations=$c](?a, ?b), conv[strides=$a, "
           "pads=$b, dilations=$c](?c, ?d)) => conv[strides=$a, pads=$b, "
           "dilations=$c](concat[axis=1](?a, ?c), concat[axis=1](?b, ?d))"},
    {CONV, "mul(conv[strides=$a, pads=$b, dilations=$c, group=$d](?a, ?b), ?c) => "
           "conv[strides=$a, pads=$b, dilations=$c, group=$d](?a, mul(?b, "
           "reshape[shape=[dim(?b, 0)] ++ rep(1, rank(?b) - 1)](?c))) where shape(?c) "
           "== [dim(?b, 0)] ++ rep(1, rank(?a) - 2)"},
};

START_TEST(test_laws_have_general_form)
{
    bool found = false;
    if (!is_taken(general_forms[_i].set))
        noe_skip("takes minutes (NOETHER_LAWS=all)");
    load_rules(general_forms[_i].set);
    for (int i = 0; i < n_texts; i++)
        found = found || strcmp(texts[i], general_forms[_i].text) == 0;
    ck_assert_msg(found, "not among the candidates of %s: %s", general_forms[_i].set,
                  general_forms[_i].text);
}
END_TEST

/* The search finds no proof of what is false. */
START_TEST(test_laws_search_is_sound)
{
    static const law wrong[] = {
        {PRODUCTS,
         "add(?a, mul(?b, ?c)) => mul(add(?a, ?b), ?c)",
         {"2,3", "2,3", "2,3"}},
        {PRODUCTS, "exp(mul(?a, ?b)) => mul(exp(?a), exp(?b))", {"2,3", "2,3"}},
        {SUMS, "sub(?a, ?b) => sub(?b, ?a)", {"2,3", "2,3"}},
    };
    noe_error err = {0};
    load_rules(PRODUCTS);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        noe_rule *r = noe_malloc(sizeof *r);
        noe_pool *pool = noe_pool_new();
        uint32_t leaves[4];
        noe_assert_ok(noe_rule_parse(wrong[i].text, SIZE_MAX, r, &err), err);
        for (int k = 0; k < 4; k++) {
            char name[2] = {(char)('a' + k), 0};
            noe_type t = {NOE_F32, parse_shape("2,3")};
            leaves[k] = noe_pool_add_leaf(pool, name, &t, NULL, 0, NULL);
        }
        noe_graph *left = make_side(&wrong[i], r, false, pool, leaves);
        noe_graph *right = make_side(&wrong[i], r, true, pool, leaves);
        ck_assert_msg(!reaches(left, noe_graph_hash(right), count_live(right) + 2),
                      "proved: %s", wrong[i].text);
        noe_graph_free(right);
        noe_pool_free(pool);
        free(r);
    }
}
END_TEST

Suite *suite_laws(void);
Suite *suite_laws(void)
{
    Suite *s = suite_create("laws");
    TCase *tc = tcase_create("laws");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, test_laws_are_found_or_follow, 0,
                        (int)(sizeof laws / sizeof *laws));
    tcase_add_loop_test(tc, test_laws_have_general_form, 0,
                        (int)(sizeof general_forms / sizeof *general_forms));
    tcase_add_test(tc, test_laws_search_is_sound);
    suite_add_tcase(s, tc);
    return s;
}
