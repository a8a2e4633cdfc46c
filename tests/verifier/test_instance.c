/* SPDX-License-Identifier: Apache-2.0 */
#include "core/definition.h"
#include "tests/verifier/fixture.h"
#include "core/instance_search.h"
#include <stdlib.h>

/* Instances of a rule at the first n places of the series; returns how many exist. */
static int find_all(const noe_rule *rule, uint64_t seed, int n, noe_instance **out)
{
    int found = 0, attempts = 0;
    for (int i = 0; i < n; i++) {
        noe_instance *inst = noe_malloc(sizeof *inst);
        if (noe_instance_find(rule, seed, i, 400, inst, &attempts))
            out[found++] = inst;
        else
            free(inst);
    }
    return found;
}

static void drop(noe_instance **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
}

START_TEST(test_instance_is_well_typed)
{
    fixture_rules rules;
    noe_instance *list[48];
    fixture_load("true_rules.txt", &rules);
    for (int r = 0; r < rules.n; r++) {
        int n = find_all(rules.rule[r], 3, 48, list);
        ck_assert_msg(n >= 30, "%s: %d instances", rules.name[r], n);
        for (int i = 0; i < n; i++) {
            noe_instance copy;
            copy.binding = list[i]->binding;
            ck_assert_msg(noe_instance_check(rules.rule[r], &copy, false),
                          "%s: instance %d is not well-typed", rules.name[r], i);
        }
        drop(list, n);
    }
    fixture_unload(&rules);
}
END_TEST

START_TEST(test_instance_depends_on_seed_only)
{
    const noe_rule *rule = fixture_rule("add(?a, mul(?b, ?c)) => add(mul(?b, ?c), ?a)");
    noe_instance *first = noe_malloc(sizeof *first),
                 *second = noe_malloc(sizeof *second);
    for (int i = 0; i < 20; i++) {
        int attempts = 0;
        ck_assert(noe_instance_find(rule, 9, i, 400, first, &attempts));
        ck_assert(noe_instance_find(rule, 9, i, 400, second, &attempts));
        noe_buf a = {0}, b = {0};
        noe_instance_print(&a, rule, first);
        noe_instance_print(&b, rule, second);
        ck_assert_str_eq(noe_buf_text(&a), noe_buf_text(&b));
        noe_buf_clear(&a);
        noe_buf_clear(&b);
    }
    free(first);
    free(second);
}
END_TEST

START_TEST(test_instance_series_broadcasts_at_all_ranks)
{
    const noe_rule *rule = fixture_rule("add(?a, ?b) => add(?b, ?a)");
    noe_instance *list[48];
    int n = find_all(rule, 1, 48, list), broadcast = 0, equal = 0;
    unsigned ranks = 0;
    for (int i = 0; i < n; i++) {
        const noe_shape *a = &list[i]->binding.type[0].shape;
        const noe_shape *b = &list[i]->binding.type[1].shape;
        ranks |= 1u << list[i]->type[rule->lhs[0]].shape.rank;
        broadcast += !noe_shape_eq(a, b);
        equal += noe_shape_eq(a, b);
    }
    drop(list, n);
    ck_assert_uint_eq(ranks & 0x3f, 0x3f);
    ck_assert_int_ge(broadcast, 10);
    ck_assert_int_ge(equal, 10);
}
END_TEST

START_TEST(test_instance_convolutions_vary)
{
    const noe_rule *rule = fixture_rule(
        "conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, ?w) => "
        "neg(neg(conv[strides=$s, pads=$p, dilations=$d, group=$g](?x, ?w)))");
    noe_instance *list[96];
    int n = find_all(rule, 1, 96, list);
    int grouped = 0, strided = 0, dilated = 0, one_sided = 0, even = 0;
    unsigned ranks = 0;
    for (int i = 0; i < n; i++) {
        const noe_binding *b = &list[i]->binding;
        int spatial = b->pvalue[0].n;
        ranks |= 1u << b->type[0].shape.rank;
        grouped += b->pvalue[3].i > 1;
        for (int k = 0; k < spatial; k++) {
            strided += b->pvalue[0].list[k] > 1;
            dilated += b->pvalue[2].list[k] > 1;
            one_sided += b->pvalue[1].list[k] != b->pvalue[1].list[spatial + k];
            even += b->type[1].shape.dim[2 + k] % 2 == 0;
        }
    }
    drop(list, n);
    ck_assert_uint_eq(ranks, 1u << 3 | 1u << 4 | 1u << 5);
    ck_assert_int_ge(grouped, 8);
    ck_assert_int_ge(strided, 8);
    ck_assert_int_ge(dilated, 8);
    ck_assert_int_ge(one_sided, 8);
    ck_assert_int_ge(even, 8);
}
END_TEST

START_TEST(test_instance_matmul_has_vectors_and_batches)
{
    const noe_rule *rule = fixture_rule("matmul(?a, ?b) => neg(neg(matmul(?a, ?b)))");
    noe_instance *list[96];
    int n = find_all(rule, 1, 96, list), vector[2] = {0}, batched = 0;
    for (int i = 0; i < n; i++) {
        int a = list[i]->binding.type[0].shape.rank;
        int b = list[i]->binding.type[1].shape.rank;
        vector[0] += a == 1;
        vector[1] += b == 1;
        batched += a > 2 && b > 2;
    }
    drop(list, n);
    ck_assert_int_ge(vector[0], 3);
    ck_assert_int_ge(vector[1], 3);
    ck_assert_int_ge(batched, 8);
}
END_TEST

START_TEST(test_instance_condition_holds)
{
    const noe_rule *rule = fixture_rule(
        "add(?a, ?b) => add(?b, ?a) where rank(?a) == 3 && dim(?b, -1) == 1");
    noe_instance *list[24];
    int n = find_all(rule, 5, 24, list);
    ck_assert_int_ge(n, 12);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(list[i]->binding.type[0].shape.rank, 3);
        ck_assert(noe_rule_holds(rule, &list[i]->binding));
    }
    drop(list, n);
}
END_TEST

/* Casts have two ends of different types, what moves data has one type, arithmetic is
 * f32: whichever types were chosen. */
START_TEST(test_instance_types_of_casts)
{
    const noe_rule *rule =
        fixture_rule("cast[to=$d](concat[axis=0](?a, cast[to=$e](?b))) => "
                     "concat[axis=0](cast[to=$d](?a), cast[to=$d](cast[to=$e](?b)))");
    noe_instance *list[96];
    int n = find_all(rule, 1, 96, list);
    bool seen[NOE_DTYPE_COUNT] = {false};
    for (int i = 0; i < n; i++) {
        const noe_binding *b = &list[i]->binding;
        noe_dtype end = list[i]->type[rule->lhs[0]].dtype;
        ck_assert_int_eq(end, noe_dtype_from_onnx((int32_t)b->pvalue[0].i));
        ck_assert_int_eq(b->type[0].dtype,
                         noe_dtype_from_onnx((int32_t)b->pvalue[1].i));
        ck_assert_int_ne(b->type[0].dtype, end);
        ck_assert_int_ne(b->type[1].dtype, b->type[0].dtype);
        seen[end] = true;
    }
    drop(list, n);
    ck_assert_int_gt(n, 40);
    ck_assert(seen[NOE_F32] && seen[NOE_F16] && seen[NOE_BF16] && seen[NOE_F64]);
    rule = fixture_rule("add(cast[to=$d](?a), ?b) => add(?b, cast[to=$d](?a))");
    n = find_all(rule, 1, 24, list);
    ck_assert_int_gt(n, 10);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(list[i]->binding.pvalue[0].i, 1);
        ck_assert_int_eq(list[i]->binding.type[1].dtype, NOE_F32);
        ck_assert_int_ne(list[i]->binding.type[0].dtype, NOE_F32);
    }
    drop(list, n);
}
END_TEST

START_TEST(test_instance_of_nothing_is_not_found)
{
    static const char *const none[] = {
        "relu(?a) => neg(?a) where rank(?a) == 9",
        "matmul(?a, ?b) => add(?a, ?b) where rank(?a) == 0",
        "transpose[perm=[0, 0]](?a) => ?a",
        "conv(?x, ?w) => matmul(?x, ?w) where rank(?x) == 2",
        "cast[to=10](add(?a, ?b)) => add(cast[to=10](?a), cast[to=10](?b))",
        "cast[to=$d](cast[to=$d](?a)) => cast[to=$d](?a)",
        "cast[to=7](?a) => cast[to=7](?a)",
    };
    noe_instance *list[12];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_int_eq(find_all(fixture_rule(none[i]), 1, 12, list), 0);
}
END_TEST

static bool has_definition(noe_op op)
{
    int n;
    const noe_rule_line *lines = noe_definitions_expand(&n);
    for (int i = 0; i < n; i++) {
        if (lines[i].rule.nodes[lines[i].rule.lhs[0]].op == op)
            return true;
    }
    return false;
}

/* Every operator has an inverse, or is solved from the other side: its definition. */
START_TEST(test_instance_exists_for_operator)
{
    noe_op op = (noe_op)_i;
    ck_assert_msg(noe_inverse_of(op) != NULL || has_definition(op), "%s",
                  noe_op_get(op)->name);
}
END_TEST

/* ?a and ?b of the given lengths, $k the axis, $b and $c the bounds. */
static bool store_slices(const char *text, int64_t a, int64_t b, int64_t start,
                         int64_t end, noe_instance *inst)
{
    const noe_rule *rule = fixture_rule(text);
    int64_t dims[2] = {a, b}, bounds[2] = {start, end};
    memset(inst, 0, sizeof *inst);
    for (int i = 0; i < rule->n_vars; i++) {
        inst->binding.type[i] = (noe_type){NOE_F32, noe_shape_make(1, &dims[i])};
        inst->binding.bound[i] = true;
    }
    inst->binding.pvalue[0] = noe_value_int(NOE_KIND_AXIS, -1);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            inst->binding.pvalue[i] = noe_value_int(NOE_KIND_INT, bounds[i - 1]);
        inst->binding.pbound[i] = true;
    }
    ck_assert(noe_instance_check(rule, inst, false));
    return noe_instance_store(rule, inst);
}

/* Bounds are those of a matched node: within the dimension, counted from the start. */
START_TEST(test_instance_is_stored_as_a_match_is)
{
    static const char one[] = "slice[axis=$k, start=$b, end=$c](?a) => "
                              "slice[axis=$k, start=$b, end=$c](?a)";
    static const char two[] = "{ slice[axis=$k, start=$b, end=$c](?a), "
                              "slice[axis=$k, start=$b, end=$c](?b) } => "
                              "{ slice[axis=$k, start=$b, end=$c](?a), "
                              "slice[axis=$k, start=$b, end=$c](?b) }";
    noe_instance *inst = noe_malloc(sizeof *inst);
    ck_assert(store_slices(one, 5, 0, -2, 99, inst));
    ck_assert_int_eq(inst->binding.pvalue[0].i, 0);
    ck_assert_int_eq(inst->binding.pvalue[1].i, 3);
    ck_assert_int_eq(inst->binding.pvalue[2].i, 5);
    ck_assert(store_slices(two, 5, 7, 1, 4, inst));
    ck_assert_int_eq(inst->binding.pvalue[2].i, 4);
    ck_assert(!store_slices(two, 5, 7, 1, 99, inst)); /* one end for 5 and 7 */
    ck_assert(!store_slices(two, 5, 7, -2, 99, inst));
    free(inst);
}
END_TEST

Suite *suite_instance(void)
{
    Suite *s = suite_create("instance");
    TCase *tc = tcase_create("instance");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_instance_is_well_typed);
    tcase_add_test(tc, test_instance_depends_on_seed_only);
    tcase_add_test(tc, test_instance_series_broadcasts_at_all_ranks);
    tcase_add_test(tc, test_instance_convolutions_vary);
    tcase_add_test(tc, test_instance_matmul_has_vectors_and_batches);
    tcase_add_test(tc, test_instance_condition_holds);
    tcase_add_test(tc, test_instance_types_of_casts);
    tcase_add_test(tc, test_instance_of_nothing_is_not_found);
    tcase_add_loop_test(tc, test_instance_exists_for_operator, 0, NOE_OP_COUNT);
    tcase_add_test(tc, test_instance_is_stored_as_a_match_is);
    suite_add_tcase(s, tc);
    return s;
}
