/* SPDX-License-Identifier: Apache-2.0
 * Text form of rules: canonical printing, identity, direction, errors with their place.
 */
#include "core/rule.h"
#include "tests/support/support.h"

static noe_error err;
static noe_rule rule;

static const struct {
    const char *text, *canonical;
} round_trips[] = {
    {"add(?x, ?y) => add(?y, ?x)", "add(?a, ?b) => add(?b, ?a)"},
    {"matmul( ?p,matmul(?q , ?r) )=>matmul(matmul(?p,?q),?r)",
     "matmul(?a, matmul(?b, ?c)) => matmul(matmul(?a, ?b), ?c)"},
    {"slice[axis=$k, start=0, end=dim(?a,$k), step=1](concat[axis=$k](?a,?b)) := ?a",
     "slice[axis=$a, start=0, end=dim(?a, $a)](concat[axis=$a](?a, ?b)) => ?a"},
    {"conv[group=1, strides=$s](?x, ?w:weight) => conv[strides=$s](?x, ?w)",
     "conv[strides=$a](?a, ?b:weight) => conv[strides=$a](?a, ?b)"},
    {"concat[axis=-1](?a, ?b) => concat[axis=-1](?a, ?b) where rank(?a) == 2 && "
     "(dim(?a, -1) == dim(?b, -1) || !(rank(?b) > 3))",
     "concat[axis=-1](?a, ?b) => concat[axis=-1](?a, ?b) where rank(?a) == 2 && "
     "(dim(?a, -1) == dim(?b, -1) || !(3 < rank(?b)))"},
    {"add(conv(?x, ?w), ?b) => conv_bias(?x, ?w, reshape[shape=[dim(?w, 0)]](?b)) "
     "where "
     "shape(?b) == [dim(?w, 0)] ++ rep(1, rank(?x) - 2)",
     "add(conv(?a, ?b), ?c) => conv_bias(?a, ?b, reshape[shape=[dim(?b, 0)]](?c)) "
     "where "
     "shape(?c) == [dim(?b, 0)] ++ rep(1, rank(?a) - 2)"},
    {"{ relu(?x), neg(?x) } => { relu(?x), sub(zeros[shape=shape(?x)](), ?x) }",
     "{ relu(?a), neg(?a) } => { relu(?a), sub(zeros[shape=shape(?a)](), ?a) }"},
    {"relu(?a) => ?a where 1 == -(!(rank(?a) == 2))",
     "relu(?a) => ?a where 1 == 0 - (!(rank(?a) == 2))"},
    {"mul(?a, scalar[value=0.5]()) => mul(scalar[value=0.5](), ?a)",
     "mul(?a, scalar[value=0.5]()) => mul(scalar[value=0.5](), ?a)"},
    {"pad[pads=$p](pad[pads=$q](?a)) => pad[pads=$p + $q](?a)",
     "pad[pads=$a](pad[pads=$b](?a)) => pad[pads=$a + $b](?a)"},
    {"reshape[shape=[prod(shape(?a)) / (2 * 3) - -1]](?a) => ?a",
     "reshape[shape=[prod(shape(?a)) / (2 * 3) - -1]](?a) => ?a"},
};

START_TEST(test_print_is_canonical)
{
    noe_buf once = {0}, twice = {0};
    noe_assert_ok(noe_rule_parse(round_trips[_i].text, SIZE_MAX, &rule, &err), err);
    noe_rule_print(&once, &rule);
    ck_assert_str_eq(once.text, round_trips[_i].canonical);
    noe_hash128 id = noe_rule_id(&rule);
    noe_assert_ok(noe_rule_parse(once.text, SIZE_MAX, &rule, &err), err);
    noe_rule_print(&twice, &rule);
    ck_assert_str_eq(once.text, twice.text);
    noe_hash128 again = noe_rule_id(&rule);
    ck_assert_mem_eq(&id, &again, sizeof id);
    noe_buf_clear(&once);
    noe_buf_clear(&twice);
}
END_TEST

static const struct {
    const char *text, *message;
} errors[] = {
    {"", "expected an operator"},
    {"add(?a, ?b)", "expected '=>', found the end"},
    {"add(?a) => ?a", "add takes 2 operands, found 1"},
    {"add(?a, ?b, ?c) => ?a", "add takes at most 2 operands"},
    {"frob(?a) => ?a", "unknown operator 'frob'"},
    {"relu[axis=1](?a) => ?a", "relu has no parameter 'axis'"},
    {"softmax[axis=1, axis=2](?a) => ?a", "parameter axis is given twice"},
    {"softmax[axis=foo](?a) => ?a", "unknown function 'foo'"},
    {"relu(?a) => ?a junk", "unexpected 'junk' after the rule"},
    {"{ relu(?a), neg(?a) } => ?a", "2 roots on the left, 1 on the right"},
    {"relu(?a) => ?a where", "expected a term"},
    {"relu(?a) => ?a where 1 < rank(?a) < 3", "comparisons do not chain"},
    {"relu(?) => ?a", "unknown operator '?'"},
    {"mul(?a, scalar[value=1e999]()) => ?a", "bad number"},
    {"softmax[axis=99999999999999999999](?a) => ?a", "bad number"},
    {"relu(\x01) => ?a", "unexpected character 0x01"},
    {"relu(?a:light) => ?a", "expected 'weight', found 'light'"},
};

START_TEST(test_errors_name_the_place)
{
    noe_assert_fails(noe_rule_parse(errors[_i].text, SIZE_MAX, &rule, &err),
                     NOE_ERR_PARSE, err, errors[_i].message);
    ck_assert(noe_contains(err.text, "column "));
}
END_TEST

START_TEST(test_deep_nesting_is_refused)
{
    noe_buf text = {0};
    for (int i = 0; i < 100000; i++)
        noe_buf_puts(&text, "relu(");
    noe_assert_fails(noe_rule_parse(text.text, text.len, &rule, &err), NOE_ERR_PARSE,
                     err, "nested deeper");
    text.len = 0;
    noe_buf_puts(&text, "relu(?a) => ?a where ");
    for (int i = 0; i < 100000; i++)
        noe_buf_puts(&text, "!");
    noe_assert_fails(noe_rule_parse(text.text, text.len, &rule, &err), NOE_ERR_PARSE,
                     err, "nested deeper");
    noe_buf_clear(&text);
}
END_TEST

static const struct {
    const char *text;
    bool forward, backward;
} directions[] = {
    {"add(?a, ?b) => add(?b, ?a)", true, true},
    {"slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a", true,
     false},
    {"concat[axis=$k](relu(?a), relu(?b)) => relu(concat[axis=$k](?a, ?b))", true,
     true},
    {"pad[pads=$p](pad[pads=$q](?a)) => pad[pads=$p + $q](?a)", true, false},
    {"sub(?a, ?a) => zeros[shape=shape(?a)]()", true, false},
    {"?a => relu(?a)", false, true},
    {"relu(?a) => relu(?a) where rank(?b) == 1", false, false},
};

START_TEST(test_direction)
{
    noe_assert_ok(noe_rule_parse(directions[_i].text, SIZE_MAX, &rule, &err), err);
    ck_assert_int_eq(noe_rule_is_directed(&rule), directions[_i].forward);
    noe_rule back = noe_rule_reversed(&rule);
    ck_assert_int_eq(noe_rule_is_directed(&back), directions[_i].backward);
}
END_TEST

START_TEST(test_counts_and_operator_lists)
{
    noe_buf ops = {0};
    noe_assert_ok(noe_rule_parse("add(matmul(?a, ?b), matmul(?a, ?c)) => "
                                 "matmul(?a, add(?b, ?c))",
                                 SIZE_MAX, &rule, &err),
                  err);
    ck_assert_int_eq(noe_rule_count_ops(&rule, false), 3);
    ck_assert_int_eq(noe_rule_count_ops(&rule, true), 2);
    noe_rule_print_ops(&ops, &rule, false);
    ck_assert_str_eq(ops.text, "add matmul matmul");
    ops.len = 0;
    noe_rule_print_side(&ops, &rule, true);
    ck_assert_str_eq(ops.text, "matmul(?a, add(?b, ?c))");
    noe_buf_clear(&ops);
}
END_TEST

/* Terms of the condition, under a = f32[2,3,5], b = f32[1], $k = 2. */
static const struct {
    const char *where;
    bool holds;
} conditions[] = {
    {"dim(?a, 0) == 2 && dim(?a, -1) == 5", true},
    {"dim(?a, 3) == 0", false}, /* no value */
    {"dim(?a, 3) != 0", false}, /* no value either */
    {"shape(?a) == [2, 3, 5]", true},
    {"shape(?a) == [2, 3] ++ [5] && shape(?b) == rep(1, 1)", true},
    {"at(shape(?a), $k) == 5 && len(shape(?a)) == 3", true},
    {"prod(shape(?a)) == 30 && sum(shape(?a)) == 10", true},
    {"7 / 2 == 3 && -7 / 2 == -4 && -7 % 2 == 1", true},
    {"1 / 0 == 0 || 1 == 1", false}, /* a term without value spoils the condition */
    {"min(2, 3) == 2 && max(2, 3) == 3", true},
    {"take(shape(?a), 2) == [2, 3] && skip(shape(?a), $k) == [5]", true},
    {"take(shape(?a), 0) == [] && skip(shape(?a), 3) == []", true},
    {"take(shape(?a), 4) == [2, 3, 5] || 1 == 1", false},
    {"skip(shape(?a), -1) == [5] || 1 == 1", false},
    {"without(shape(?a), [0, 2]) == [3] && without([7], [0]) == []", true},
    {"without(shape(?a), [3]) == [2, 3, 5] || 1 == 1", false},
    {"without(shape(?a), [1, 1]) == [2, 5] || 1 == 1", false},
    {"with_ones(shape(?a), [0, 3]) == [1, 2, 3, 1, 5]", true},
    {"with_ones([], [0, 1]) == [1, 1] && with_ones([4], [1]) == [4, 1]", true},
    {"with_ones(shape(?a), [5]) == [1] || 1 == 1", false},
    {"range(rank(?a)) == [0, 1, 2] && range(0) == []", true},
    {"range(-1) == [] || 1 == 1", false},
    {"range(100) == [] || 1 == 1", false},
    {"has(shape(?a), 5) && has([0, $k], 2) && !has(shape(?a), 4)", true},
    {"has([], 0)", false},
    {"!has(2, 2) || 1 == 1", false}, /* not a list */
    {"[1, 2] + [3, 4] == [4, 6]", true},
    {"[1, 2] + [3] == [4]", false},
    {"9223372036854775807 + 1 == 0 || 1 == 1", false},
    {"rank(?a) >= 3 && rank(?a) <= 3 && !(rank(?a) < 3) && !(rank(?a) > 3)", true},
};

START_TEST(test_conditions)
{
    noe_buf text = {0};
    noe_binding b = {0};
    noe_buf_printf(&text, "softmax[axis=$k](add(?a, ?b)) => ?a where %s",
                   conditions[_i].where);
    noe_assert_ok(noe_rule_parse(text.text, SIZE_MAX, &rule, &err), err);
    b.bound[0] = b.bound[1] = b.pbound[0] = true;
    b.type[0] = (noe_type){NOE_F32, noe_shape_make(3, (int64_t[]){2, 3, 5})};
    b.type[1] = (noe_type){NOE_F32, noe_shape_make(1, (int64_t[]){1})};
    b.pvalue[0] = noe_value_int(NOE_KIND_AXIS, 2);
    ck_assert_msg(noe_rule_holds(&rule, &b) == conditions[_i].holds, "%s", text.text);
    b.bound[1] = false;
    if (noe_contains(conditions[_i].where, "?b"))
        ck_assert(!noe_rule_holds(&rule, &b));
    noe_buf_clear(&text);
}
END_TEST

static noe_status collect(void *ctx, const noe_rule_line *line, noe_error *error)
{
    (void)error;
    noe_buf_printf(ctx, "%s@%d ", line->name, line->line);
    return NOE_OK;
}

START_TEST(test_rule_files)
{
    noe_buf seen = {0};
    noe_assert_ok(noe_rules_parse("# comment\n\nfirst: relu(?a) => \\\n  relu(?a)\n"
                                  "neg(?a) => neg(?a)\nlast-one: neg(?b) => neg(?b)",
                                  "x.txt", collect, &seen, &err),
                  err);
    ck_assert_str_eq(seen.text, "first@3 @5 last-one@6 ");
    noe_assert_fails(noe_rules_parse("neg(?a) => neg(?a)\nneg( => ?a\n", "x.txt",
                                     collect, &seen, &err),
                     NOE_ERR_PARSE, err, "x.txt:2: column");
    noe_buf_clear(&seen);
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_rule(void);
Suite *suite_rule(void)
{
    Suite *s = suite_create("core.rule");
    TCase *tc = tcase_create("text");
    tcase_add_loop_test(tc, test_print_is_canonical, 0, N(round_trips));
    tcase_add_loop_test(tc, test_errors_name_the_place, 0, N(errors));
    tcase_add_test(tc, test_deep_nesting_is_refused);
    tcase_add_loop_test(tc, test_direction, 0, N(directions));
    tcase_add_test(tc, test_counts_and_operator_lists);
    tcase_add_loop_test(tc, test_conditions, 0, N(conditions));
    tcase_add_test(tc, test_rule_files);
    suite_add_tcase(s, tc);
    return s;
}
