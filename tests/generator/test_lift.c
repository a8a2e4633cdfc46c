/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <string.h>

/* All pairs of a tiny universe, lifted; calls fn for each variant. */
typedef void variant_fn(void *ctx, const noe_pair *pair, int generality,
                        const char *text);

static void each_variant(const char *ops, int n_levels, variant_fn *fn, void *ctx)
{
    noe_space space = tiny_space(ops);
    noe_universe *u = build_universe(&space, n_levels, 1);
    noe_error err = {0};
    noe_prune_stats stats;
    noe_pair *pairs;
    int n;
    noe_assert_ok(noe_universe_prune(u, &pairs, &n, &stats, &err), err);
    noe_universe_free(u);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        noe_lifted l;
        noe_pair_lift(&pairs[i], 1, &l);
        for (int k = 0; k < l.n; k++)
            fn(ctx, &pairs[i], k, l.text[k]);
        noe_lifted_clear(&l);
    }
    free(pairs);
}

static void check_variant(void *ctx, const noe_pair *pair, int generality,
                          const char *text)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_error err = {0};
    noe_buf again = {0};
    (void)pair;
    (void)generality;
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, rule, &err), err);
    noe_rule_print(&again, rule);
    ck_assert_str_eq(noe_buf_text(&again), text);
    ck_assert_msg(noe_rule_is_directed(rule), "not directed: %s", text);
    noe_buf_clear(&again);
    free(rule);
    ++*(int *)ctx;
}

static const char *const op_sets[] = {"add mul relu", "matmul add concat slice",
                                      "transpose concat neg reduce_sum"};

START_TEST(test_lift_variants_are_canonical_and_directed)
{
    int n = 0;
    each_variant(op_sets[_i], 2, check_variant, &n);
    ck_assert_int_gt(n, 10);
}
END_TEST

typedef struct wanted {
    const char *text;
    bool found;
} wanted;

static void look_for(void *ctx, const noe_pair *pair, int generality, const char *text)
{
    wanted *w = ctx;
    (void)pair;
    (void)generality;
    w->found = w->found || strcmp(text, w->text) == 0;
}

static const struct {
    const char *ops, *text;
} lifted_forms[] = {
    /* a parameter variable for the axis, shared by both sides */
    {"concat relu",
     "concat[axis=$a](relu(?a), relu(?b)) => relu(concat[axis=$a](?a, ?b))"},
    /* an axis counted from the end, for batched operands */
    {"matmul concat", "concat[axis=-1](matmul(?a, ?b), matmul(?a, ?c)) => "
                      "matmul(?a, concat[axis=-1](?b, ?c))"},
    /* bounds by dimensions of variables */
    {"concat slice",
     "slice[axis=$a, start=0, end=dim(?a, $a)](concat[axis=$a](?a, ?b)) => ?a"},
    /* the shape of a constant */
    {"mul", "mul(?a, ones[shape=$a]()) => ?a"},
    /* different axes on both sides, each counted from where it stays the same */
    {"matmul transpose concat", "concat[axis=-2](matmul(?a, ?b), matmul(?c, ?b)) => "
                                "matmul(concat[axis=-2](?a, ?c), ?b)"},
    /* an axis through a permutation, at any rank */
    {"transpose concat",
     "concat[axis=$a](transpose[perm=$b](?a), transpose[perm=$b](?b)) => "
     "transpose[perm=$b](concat[axis=at($b, $a)](?a, ?b))"},
    /* the literal form, ranks said */
    {"relu", "relu(relu(?a)) => relu(?a) where rank(?a) == 2"},
};

START_TEST(test_lift_finds_form)
{
    wanted w = {lifted_forms[_i].text, false};
    each_variant(lifted_forms[_i].ops, 3, look_for, &w);
    ck_assert_msg(w.found, "not lifted: %s", w.text);
}
END_TEST

static noe_trial try_rule(const char *text, noe_binding *b)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_error err = {0};
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, rule, &err), err);
    noe_trial r = noe_rule_try(rule, b, 3);
    free(rule);
    return r;
}

START_TEST(test_check_tells_instances_apart)
{
    noe_binding *b = noe_calloc(1, sizeof *b);
    for (int i = 0; i < 2; i++)
        b->type[i] = (noe_type){NOE_F32, noe_shape_make(2, (int64_t[]){3, 3})};
    b->bound[0] = b->bound[1] = true;
    ck_assert_int_eq(try_rule("add(?a, ?b) => add(?b, ?a)", b), NOE_TRIAL_EQUAL);
    ck_assert_int_eq(try_rule("matmul(?a, ?b) => matmul(?b, ?a)", b),
                     NOE_TRIAL_DIFFERS);
    ck_assert_int_eq(try_rule("concat[axis=2](?a, ?b) => ?a", b), NOE_TRIAL_ILL);
    ck_assert_int_eq(try_rule("relu(?a) => ?a where rank(?a) == 3", b), NOE_TRIAL_ILL);
    ck_assert_int_eq(try_rule("relu(?a) => ?a where rank(?a) == 2", b),
                     NOE_TRIAL_DIFFERS);
    free(b);
}
END_TEST

/* True at the instance it was found at, false in general: the variations show it. */
START_TEST(test_check_refutes_wrong_generality)
{
    static const struct {
        const char *text;
        noe_param param;
        noe_value value;
    } wrong[] = {
        {"reduce_sum[axes=$k, keepdims=0](?a) => reduce_sum[axes=[1], keepdims=0](?a)",
         NOE_PARAM_AXES,
         {.kind = NOE_KIND_AXES, .n = 1, .list = {1}}},
        {"slice[axis=1, start=0, end=$k](concat[axis=1](?a, ?b)) => ?a",
         NOE_PARAM_END,
         {.kind = NOE_KIND_INT, .i = 3}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        noe_rule *rule = noe_malloc(sizeof *rule);
        noe_binding *base = noe_calloc(1, sizeof *base);
        noe_error err = {0};
        noe_assert_ok(noe_rule_parse(wrong[i].text, SIZE_MAX, rule, &err), err);
        for (int v = 0; v < rule->n_vars; v++)
            base->type[v] = (noe_type){NOE_F32, noe_shape_make(2, (int64_t[]){3, 3})};
        base->bound[0] = base->bound[1] = true;
        base->pvalue[0] = wrong[i].value;
        base->pbound[0] = true;
        ck_assert_int_eq(noe_rule_try(rule, base, 1), NOE_TRIAL_EQUAL);
        noe_look look = {0};
        int n_typed;
        bool survives =
            noe_rule_survives_near(rule, base, &wrong[i].param, 1, &n_typed) &&
            noe_rule_survives_widely(rule, 1, 2, 40, NULL, &look);
        /* The second is true: other bounds give other types, or the same part. */
        ck_assert_msg(survives == (i == 1), "%s: %d", wrong[i].text, survives);
        free(base);
        free(rule);
    }
}
END_TEST

Suite *suite_lift(void);
Suite *suite_lift(void)
{
    Suite *s = suite_create("lift");
    TCase *tc = tcase_create("lift");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_lift_variants_are_canonical_and_directed, 0,
                        (int)(sizeof op_sets / sizeof *op_sets));
    tcase_add_loop_test(tc, test_lift_finds_form, 0,
                        (int)(sizeof lifted_forms / sizeof *lifted_forms));
    tcase_add_test(tc, test_check_tells_instances_apart);
    tcase_add_test(tc, test_check_refutes_wrong_generality);
    suite_add_tcase(s, tc);
    return s;
}
