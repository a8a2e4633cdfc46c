/* SPDX-License-Identifier: Apache-2.0 */
#include "generator/saturate.h"
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <string.h>

typedef struct pruned {
    noe_pair *p;
    int n;
    noe_prune_stats stats;
} pruned;

static pruned prune_on(const noe_space *space, int n_levels, uint64_t seed,
                       int n_threads)
{
    noe_universe *u = build_universe(space, n_levels, seed);
    noe_env env = quiet_env(seed);
    env.n_threads = n_threads;
    u->env = &env;
    noe_error err = {0};
    pruned out = {0};
    noe_assert_ok(noe_universe_prune(u, &out.p, &out.n, &out.stats, &err), err);
    noe_universe_free(u);
    return out;
}

static pruned prune(const noe_space *space, int n_levels, uint64_t seed)
{
    return prune_on(space, n_levels, seed, 1);
}

static char *text_of(const noe_pair *pair)
{
    noe_buf b = {0};
    noe_pair_print(&b, pair);
    char *text = noe_strdup(noe_buf_text(&b));
    noe_buf_clear(&b);
    return text;
}

static bool has_text(const pruned *p, const char *text)
{
    for (int i = 0; i < p->n; i++) {
        char *t = text_of(&p->p[i]);
        bool same = strcmp(t, text) == 0;
        free(t);
        if (same)
            return true;
    }
    return false;
}

START_TEST(test_prune_is_deterministic)
{
    noe_space space = tiny_space("add mul matmul relu concat transpose");
    pruned a = prune(&space, 2, 1), b = prune(&space, 2, 1), c = prune(&space, 2, 999);
    ck_assert_int_gt(a.n, 5);
    ck_assert_int_eq(a.n, b.n);
    ck_assert_int_eq(a.n, c.n);
    for (int i = 0; i < a.n; i++) {
        char *x = text_of(&a.p[i]), *y = text_of(&b.p[i]), *z = text_of(&c.p[i]);
        ck_assert_str_eq(x, y);
        ck_assert_str_eq(x, z); /* other points, same candidates */
        free(x);
        free(y);
        free(z);
    }
    noe_pairs_free(a.p, a.n);
    noe_pairs_free(b.p, b.n);
    noe_pairs_free(c.p, c.n);
}
END_TEST

START_TEST(test_prune_keeps_laws_and_drops_instances)
{
    noe_space space = tiny_space("add relu");
    pruned p = prune(&space, 2, 1);
    ck_assert(has_text(&p, "relu(relu(x1)) == relu(x1)"));
    ck_assert(!has_text(&p, "relu(relu(x2)) == relu(x2)"));
    ck_assert(!has_text(&p, "relu(relu(w1)) == relu(w1)"));
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* One random point and one element a sign: the universe merges what is different, and
 * the check on fresh points throws it out again. */
START_TEST(test_prune_rejects_false_equalities)
{
    noe_space space = tiny_space("add mul relu neg");
    for (int i = 0; i < space.n_leaves; i++) {
        space.leaves[i].shape = noe_shape_make(2, (int64_t[]){1, 1});
        if (space.leaves[i].is_constant)
            space.leaves[i].params.v[0] =
                noe_value_list(NOE_KIND_INTS, 2, (int64_t[]){1, 1});
    }
    space.n_samples = 1;
    pruned p = prune(&space, 2, 4);
    ck_assert_uint_gt(p.stats.n_false, 0);
    for (int i = 0; i < p.n; i++) {
        char *text = text_of(&p.p[i]);
        ck_assert_msg(noe_pair_holds(&p.p[i], 12345, 24), "false pair kept: %s", text);
        free(text);
    }
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* op(x, y) on both sides, by hand. */
static noe_pair make_pair(noe_op left, noe_op right)
{
    noe_shape s = noe_shape_make(2, (int64_t[]){2, 3});
    noe_pair p = {.n_vars = 2, .n_nodes = 6, .n_roots = 1, .lhs = {2}, .rhs = {5}};
    p.vars[0] = (noe_pair_var){.name = "x", .shape = s};
    p.vars[1] = (noe_pair_var){.name = "y", .shape = s};
    for (int side = 0; side < 2; side++) {
        for (int v = 0; v < 2; v++)
            p.nodes[side * 3 + v] =
                (noe_pair_node){.is_var = true, .var = v, .shape = s};
        p.nodes[side * 3 + 2] = (noe_pair_node){.op = side ? right : left,
                                                .n_in = noe_op_get(left)->min_in,
                                                .in = {side * 3, side * 3 + 1},
                                                .shape = s,
                                                .value = NOE_NO_OPERAND};
    }
    return p;
}

START_TEST(test_pair_check_tells_true_from_false)
{
    noe_pair same = make_pair(NOE_OP_ADD, NOE_OP_ADD);
    noe_pair sum = make_pair(NOE_OP_ADD, NOE_OP_MUL);
    noe_pair sign = make_pair(NOE_OP_RELU, NOE_OP_NEG);
    noe_pair swapped = make_pair(NOE_OP_SUB, NOE_OP_SUB);
    swapped.nodes[5].in[0] = 4;
    swapped.nodes[5].in[1] = 3;
    ck_assert(noe_pair_holds(&same, 1, 6));
    ck_assert(!noe_pair_holds(&sum, 1, 6));
    ck_assert(!noe_pair_holds(&sign, 1, 6));
    ck_assert(!noe_pair_holds(&swapped, 1, 6));
}
END_TEST

START_TEST(test_pair_generalize_splits_variables)
{
    noe_space space = tiny_space("add transpose");
    pruned p = prune(&space, 2, 1);
    bool found = false;
    for (int i = 0; i < p.n; i++) {
        char *text = text_of(&p.p[i]);
        found = found || (p.p[i].n_vars == 2 && noe_contains(text, "transpose") &&
                          noe_contains(text, "add"));
        free(text);
    }
    /* Enumerated as transpose(x1) + transpose(x1); it holds of two variables. */
    ck_assert(found);
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* Whether the pairs of kind AXIOM without number `except` derive it. */
static bool is_derived_without(const pruned *p, const noe_pair *pair, int except)
{
    noe_rewrites *r = noe_rewrites_new();
    noe_saturation *g = noe_saturation_new(1);
    noe_proof_limits limits = {2000, 3, 8, -1};
    for (int i = 0; i < p->n; i++) {
        if (p->p[i].kind == NOE_PAIR_AXIOM && i != except)
            noe_rewrites_add(r, &p->p[i]);
    }
    bool derived = noe_saturation_derives(g, r, pair, &limits, NULL);
    noe_saturation_free(g);
    noe_rewrites_free(r);
    return derived;
}

static const char *const circles[] = {"add sub neg", "relu neg add", "add mul relu",
                                      "abs neg mul"};

/* b - (a + b) = -a is (b - b) - a or -((a + b) - b), and the inner terms are as large
 * as what is to be explained: they stand for their values by equalities of the same
 * level, which might be explained by this one. With an idempotent operator an e-node is
 * even an operand of its own class. So nothing may be missing that the others, by terms
 * built one by one, do not derive. */
START_TEST(test_prune_does_not_prove_in_a_circle)
{
    noe_space space = tiny_space(circles[_i]);
    pruned p = prune(&space, 2, 1);
    noe_universe *u = build_universe(&space, 2, 1);
    noe_pair *pair = noe_malloc(sizeof *pair);
    int n = 0;
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        uint32_t first = u->classes[x->value].first - 1;
        bool is_leaf = noe_universe_is_leaf(u, x->value);
        if (!x->is_canonical || (first == e && !is_leaf) ||
            u->classes[x->value].fixed == NOE_FIXED_OTHER ||
            !noe_pair_make(u, e, is_leaf ? NOE_NO_OPERAND : first, pair))
            continue;
        char *text = text_of(pair);
        ck_assert_msg(is_derived_without(&p, pair, -1), "lost: %s", text);
        free(text);
        n++;
    }
    ck_assert_int_gt(n, 10);
    free(pair);
    noe_universe_free(u);
    noe_pairs_free(p.p, p.n);
}
END_TEST

static void minimize(pruned *p)
{
    noe_env env = quiet_env(1);
    noe_minimize_stats stats;
    noe_error err = {0};
    noe_assert_ok(noe_pairs_minimize(p->p, p->n, &env, &stats, &err), err);
}

static int count_kept(const pruned *p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        n += !p->p[i].is_deferred;
    return n;
}

START_TEST(test_minimize_defers_what_follows)
{
    noe_space space = tiny_space("neg sub add");
    pruned p = prune(&space, 3, 1);
    minimize(&p);
    int n = count_kept(&p);
    ck_assert_int_lt(n, p.n);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < p.n; i++) {
        ck_assert(noe_pair_holds(&p.p[i], 5, 6));
        /* The deferred ones come last, each with its derivation. */
        ck_assert_int_eq(p.p[i].is_deferred, i >= n);
        ck_assert(!p.p[i].is_deferred || p.p[i].why.n > 0);
    }
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* Whoever believes the pairs in this order never meets one that is not explained. */
START_TEST(test_minimize_derives_from_what_comes_before)
{
    noe_space space = tiny_space("add sub neg mul relu concat");
    pruned p = prune(&space, 2, 1);
    minimize(&p);
    bool *known = noe_calloc((size_t)p.n, sizeof *known);
    for (int i = 0; i < p.n; i++)
        known[p.p[i].id] = p.p[i].kind == NOE_PAIR_AXIOM;
    for (int i = 0; i < p.n; i++) {
        const noe_pair *pair = &p.p[i];
        ck_assert(pair->kind != NOE_PAIR_AXIOM || pair->why.n == 0);
        for (int k = 0; k < pair->why.n; k++) {
            int rule = pair->why.steps[k].rule;
            ck_assert_msg(rule == NOE_STEP_SWAP || (known[rule] && rule != pair->id),
                          "pair %d: step %d uses %d", pair->id, k, rule);
        }
        known[pair->id] = true;
    }
    free(known);
    noe_pairs_free(p.p, p.n);
}
END_TEST

START_TEST(test_minimize_keeps_what_is_independent)
{
    noe_space space = tiny_space("relu");
    pruned p = prune(&space, 2, 1);
    ck_assert_int_gt(p.n, 0);
    minimize(&p);
    ck_assert_int_eq(count_kept(&p), p.n);
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* Laws of constants come out at every level, or follow from those that did. */
START_TEST(test_prune_keeps_constants_at_every_level)
{
    noe_space space = tiny_space("mul sub neg relu");
    pruned p = prune(&space, 3, 1);
    ck_assert(has_text(&p, "mul(x1, ones[shape=[2,3]]()) == x1"));
    ck_assert_int_eq((int)p.stats.n_undirected, 0);
    noe_pairs_free(p.p, p.n);
}
END_TEST

/* Derived pairs that are kept though a variable occurs twice on their left sides. */
#define CONV(PADS, W) \
    "conv[strides=[1,1], pads=[" PADS "], dilations=[1,1], group=1](x1, " W ")"
static const struct {
    const char *text;
    noe_pair_use use;
} merges[] = {
    /* A kernel of one element is a larger one with zeros around it. */
    {"add(" CONV("1,1,1,1", "w1") ", " CONV("0,0,0,0", "p1") ") == " CONV(
         "1,1,1,1", "add(w1, pad[pads=[0,0,1,1,0,0,1,1]](p1))"),
     NOE_USE_HEAVY},
    /* An image is a convolution of itself. */
    {"add(x1, " CONV("1,1,1,1", "w1") ") == " CONV(
         "1,1,1,1", "add(w1, identity_kernel[shape=[4,4,3,3]]())"),
     NOE_USE_FOLDS},
};

START_TEST(test_prune_keeps_merges_of_what_shares_an_operand)
{
    noe_space *spaces = noe_calloc(NOE_SPACE_MAX, sizeof *spaces);
    noe_error err = {0};
    int n_spaces, n = 0, n_merges = sizeof merges / sizeof *merges;
    noe_assert_ok(noe_space_build("image:conv,add,pad", spaces, &n_spaces, &err), err);
    ck_assert_int_eq(n_spaces, 1);
    pruned p = prune(&spaces[0], 3, 1);
    for (int i = 0; i < p.n; i++) {
        char *text = text_of(&p.p[i]);
        for (int k = 0; k < n_merges; k++) {
            if (strcmp(text, merges[k].text) != 0)
                continue;
            ck_assert_int_eq(p.p[i].kind, NOE_PAIR_DERIVED);
            ck_assert_int_eq(p.p[i].use, merges[k].use);
            ck_assert(!p.p[i].is_deferred);
            n++;
        }
        free(text);
    }
    ck_assert_int_eq(n, n_merges);
    noe_pairs_free(p.p, p.n);
    free(spaces);
}
END_TEST

START_TEST(test_prune_is_that_of_one_thread)
{
    noe_space space = tiny_space("add mul matmul relu concat transpose");
    pruned a = prune_on(&space, 2, 1, 1), b = prune_on(&space, 2, 1, 3);
    ck_assert_int_eq(a.n, b.n);
    ck_assert_uint_eq(a.stats.n_proved, b.stats.n_proved);
    for (int i = 0; i < a.n; i++) {
        char *x = text_of(&a.p[i]), *y = text_of(&b.p[i]);
        ck_assert_str_eq(x, y);
        free(x);
        free(y);
    }
    noe_pairs_free(a.p, a.n);
    noe_pairs_free(b.p, b.n);
}
END_TEST

Suite *suite_prune(void);
Suite *suite_prune(void)
{
    Suite *s = suite_create("prune");
    TCase *tc = tcase_create("prune");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_prune_is_deterministic);
    tcase_add_test(tc, test_prune_keeps_laws_and_drops_instances);
    tcase_add_test(tc, test_prune_rejects_false_equalities);
    tcase_add_test(tc, test_pair_check_tells_true_from_false);
    tcase_add_test(tc, test_pair_generalize_splits_variables);
    tcase_add_loop_test(tc, test_prune_does_not_prove_in_a_circle, 0,
                        (int)(sizeof circles / sizeof *circles));
    tcase_add_test(tc, test_prune_keeps_constants_at_every_level);
    tcase_add_test(tc, test_prune_keeps_merges_of_what_shares_an_operand);
    tcase_add_test(tc, test_prune_is_that_of_one_thread);
    tcase_add_test(tc, test_minimize_defers_what_follows);
    tcase_add_test(tc, test_minimize_derives_from_what_comes_before);
    tcase_add_test(tc, test_minimize_keeps_what_is_independent);
    suite_add_tcase(s, tc);
    return s;
}
