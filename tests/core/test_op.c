/* SPDX-License-Identifier: Apache-2.0
 * Loops over the whole operator table: a new row is tested once it exists. */
#include "core/op.h"
#include "tests/support/support.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>

START_TEST(test_op_name_round_trip)
{
    noe_op op = (noe_op)_i, back;
    const char *name = noe_op_get(op)->name;
    ck_assert(noe_op_from_name(name, strlen(name), &back));
    ck_assert_int_eq(back, op);
    /* A prefix is a different name. */
    ck_assert(!noe_op_from_name(name, strlen(name) - 1, &back) || back != op);
    ck_assert_msg(name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0',
                  "operator name '%s'", name);
}
END_TEST

START_TEST(test_op_row_is_consistent)
{
    const noe_op_info *info = noe_op_get((noe_op)_i);
    ck_assert_int_le(info->min_in, info->max_in);
    ck_assert_int_le(info->n_params, NOE_MAX_PARAMS);
    for (int i = 0; i < info->n_params; i++) {
        ck_assert_int_lt(info->params[i], NOE_PARAM_COUNT);
        for (int j = 0; j < i; j++)
            ck_assert_int_ne(info->params[i], info->params[j]);
    }
    ck_assert_int_eq(noe_op_has((noe_op)_i, NOE_TRAIT_CONSTANT), info->max_in == 0);
    if (noe_op_has((noe_op)_i, NOE_TRAIT_COMMUTATIVE))
        ck_assert_int_eq(info->min_in, 2);
    ck_assert_msg(info->traits, "%s has no trait", info->name);
}
END_TEST

/* Some value of the kind, different for different salts. */
static noe_value make_value(noe_param_kind kind, int salt)
{
    int64_t list[] = {salt, salt + 1};
    switch (kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        return noe_value_int(kind, salt);
    case NOE_KIND_FLOAT:
        return noe_value_float(salt + 0.5);
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        return noe_value_list(kind, 2, list);
    }
    abort();
}

START_TEST(test_op_params_set_and_get)
{
    noe_op op = (noe_op)_i;
    const noe_op_info *info = noe_op_get(op);
    noe_params params = {0}, other = {0};
    for (int i = 0; i < info->n_params; i++) {
        noe_value v = make_value(noe_param_kind_of(info->params[i]), i);
        noe_params_set(op, &params, info->params[i], &v);
        noe_value w = make_value(noe_param_kind_of(info->params[i]), i + 1);
        noe_params_set(op, &other, info->params[i], &w);
    }
    ck_assert_int_eq(params.n, info->n_params);
    for (int i = 0; i < info->n_params; i++) {
        noe_value v = make_value(noe_param_kind_of(info->params[i]), i);
        ck_assert(noe_value_eq(noe_params_get(op, &params, info->params[i]), &v));
    }
    ck_assert(noe_params_eq(&params, &params));
    ck_assert_int_eq(noe_params_eq(&params, &other), info->n_params == 0);
}
END_TEST

START_TEST(test_op_defaults_have_the_right_kind)
{
    noe_op op = (noe_op)_i;
    const noe_op_info *info = noe_op_get(op);
    for (int i = 0; i < info->n_params; i++) {
        for (int spatial = -1; spatial <= 3; spatial++) {
            noe_value v;
            if (noe_param_default(op, info->params[i], spatial, &v))
                ck_assert_int_eq(v.kind, noe_param_kind_of(info->params[i]));
        }
    }
}
END_TEST

/* What prints as a parameter value must read back as the same parameter of any row. */
START_TEST(test_param_name_round_trip)
{
    noe_param p = (noe_param)_i, back;
    const char *name = noe_param_name(p);
    ck_assert(noe_param_from_name(name, strlen(name), &back));
    ck_assert_int_eq(back, p);
    ck_assert(!noe_param_from_name(name, strlen(name) - 1, &back) || back != p);
    int n_users = 0;
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        const noe_op_info *info = noe_op_get((noe_op)op);
        for (int i = 0; i < info->n_params; i++)
            n_users += info->params[i] == p;
    }
    ck_assert_msg(n_users > 0, "no operator has parameter '%s'", name);
}
END_TEST

START_TEST(test_op_unknown_names)
{
    noe_op op;
    noe_param p;
    ck_assert(!noe_op_from_name("frobnicate", 10, &op));
    ck_assert(!noe_op_from_name("", 0, &op));
    ck_assert(!noe_op_from_name("Add", 3, &op));
    ck_assert(!noe_op_from_name("input", 5, &op));
    ck_assert(!noe_param_from_name("stride", 6, &p));
}
END_TEST

START_TEST(test_op_node_kinds_have_names)
{
    static const struct {
        noe_op op;
        const char *name;
    } kinds[] = {
        {NOE_OP_INPUT, "input"}, {NOE_OP_WEIGHT, "weight"}, {NOE_OP_OPAQUE, "opaque"}};
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(noe_op_get(kinds[i].op)->name, kinds[i].name);
        ck_assert_int_eq(noe_op_get(kinds[i].op)->n_params, 0);
        ck_assert(!noe_op_has(kinds[i].op, NOE_TRAIT_COMPOSITE));
    }
}
END_TEST

START_TEST(test_op_rows_known_by_heart)
{
    const noe_op_info *conv = noe_op_get(NOE_OP_CONV);
    ck_assert_str_eq(conv->onnx, "Conv");
    ck_assert_int_eq(conv->n_params, 4);
    ck_assert_int_eq(conv->params[0], NOE_PARAM_STRIDES);
    ck_assert_int_eq(conv->params[3], NOE_PARAM_GROUP);
    ck_assert_uint_eq(conv->traits,
                      NOE_TRAIT_LINEAR | NOE_TRAIT_HEAVY | NOE_TRAIT_RING);
    ck_assert_int_eq(noe_op_get(NOE_OP_ADD)->n_params, 0);
    ck_assert(noe_op_has(NOE_OP_ADD, NOE_TRAIT_COMMUTATIVE));
    ck_assert(!noe_op_has(NOE_OP_SUB, NOE_TRAIT_COMMUTATIVE));
    ck_assert_ptr_null(noe_op_get(NOE_OP_ZEROS)->onnx);
    ck_assert_int_eq(noe_op_get(NOE_OP_SOFTMAX)->n_params, 1);
    ck_assert_uint_ne(noe_op_table_hash(), 0);
    ck_assert_uint_eq(noe_op_table_hash(), noe_op_table_hash());
}
END_TEST

static void check_default(noe_op op, noe_param p, int spatial, const char *want)
{
    noe_value v;
    bool has = noe_param_default(op, p, spatial, &v);
    ck_assert_msg(has == (want != NULL), "%s of %s, %d spatial axes", noe_param_name(p),
                  noe_op_get(op)->name, spatial);
    if (!has)
        return;
    noe_buf text = {0};
    noe_value_print(&text, &v);
    ck_assert_str_eq(text.text, want);
    noe_buf_clear(&text);
}

START_TEST(test_op_default_values)
{
    check_default(NOE_OP_CONV, NOE_PARAM_STRIDES, 2, "[1,1]");
    check_default(NOE_OP_CONV, NOE_PARAM_DILATIONS, 3, "[1,1,1]");
    check_default(NOE_OP_CONV, NOE_PARAM_PADS, 2, "[0,0,0,0]");
    check_default(NOE_OP_CONV, NOE_PARAM_PADS, 0, "[]");
    check_default(NOE_OP_CONV, NOE_PARAM_PADS, -1, NULL);
    check_default(NOE_OP_CONV, NOE_PARAM_STRIDES, -1, NULL);
    check_default(NOE_OP_CONV, NOE_PARAM_GROUP, 2, "1");
    check_default(NOE_OP_PAD, NOE_PARAM_PADS, 2, NULL);
    check_default(NOE_OP_MAX_POOL, NOE_PARAM_KERNEL_SHAPE, 2, NULL);
    check_default(NOE_OP_AVERAGE_POOL, NOE_PARAM_COUNT_INCLUDE_PAD, 2, "0");
    check_default(NOE_OP_REDUCE_SUM, NOE_PARAM_KEEPDIMS, 0, "1");
    check_default(NOE_OP_REDUCE_SUM, NOE_PARAM_AXES, 0, NULL);
    check_default(NOE_OP_SLICE, NOE_PARAM_STEP, 0, "1");
    check_default(NOE_OP_SLICE, NOE_PARAM_START, 0, NULL);
    check_default(NOE_OP_GEMM, NOE_PARAM_ALPHA, 0, "1.0");
    check_default(NOE_OP_GEMM, NOE_PARAM_TRANS_A, 0, "0");
    check_default(NOE_OP_BATCH_NORMALIZATION, NOE_PARAM_EPSILON, 0,
                  "9.999999747378752e-06");
    check_default(NOE_OP_SCALAR, NOE_PARAM_VALUE, 0, NULL);
}
END_TEST

START_TEST(test_value_float_reads_back)
{
    static const struct {
        double f;
        const char *want;
    } cases[] = {
        {1, "1.0"},
        {-0.0, "-0.0"},
        {0.5, "0.5"},
        {0.1, "0.1"},
        {1e300, "1e+300"},
        {5e-324, "4.94065645841247e-324"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {123456789, "123456789.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_buf text = {0};
        noe_value v = noe_value_float(cases[i].f);
        noe_value_print(&text, &v);
        ck_assert_str_eq(text.text, cases[i].want);
        noe_value back = noe_value_float(strtod(text.text, NULL));
        ck_assert(noe_value_eq(&v, &back));
        noe_buf_clear(&text);
    }
}
END_TEST

START_TEST(test_value_equality)
{
    int64_t list[] = {1, 2, 3};
    noe_value i = noe_value_int(NOE_KIND_INT, 1),
              axis = noe_value_int(NOE_KIND_AXIS, 1);
    noe_value two = noe_value_list(NOE_KIND_INTS, 2, list);
    noe_value three = noe_value_list(NOE_KIND_INTS, 3, list);
    noe_value zero = noe_value_float(0.0), minus = noe_value_float(-0.0);
    ck_assert(noe_value_eq(&i, &i));
    ck_assert(!noe_value_eq(&i, &axis));
    ck_assert(!noe_value_eq(&two, &three));
    ck_assert(!noe_value_eq(&zero, &minus));
    list[0] = 9;
    noe_value other = noe_value_list(NOE_KIND_INTS, 2, list);
    ck_assert(!noe_value_eq(&two, &other));
    ck_assert(noe_params_eq(NULL, NULL));
}
END_TEST

START_TEST(test_params_get_refuses_foreign_parameter)
{
    noe_params params = {0};
    noe_params_get(NOE_OP_ADD, &params, NOE_PARAM_AXIS);
}
END_TEST

Suite *suite_op(void);

Suite *suite_op(void)
{
    Suite *suite = suite_create("core.op");
    TCase *table = tcase_create("table");
    tcase_add_loop_test(table, test_op_name_round_trip, 0, NOE_OP_COUNT);
    tcase_add_loop_test(table, test_op_row_is_consistent, 0, NOE_OP_COUNT);
    tcase_add_loop_test(table, test_op_params_set_and_get, 0, NOE_OP_COUNT);
    tcase_add_loop_test(table, test_op_defaults_have_the_right_kind, 0, NOE_OP_COUNT);
    tcase_add_loop_test(table, test_param_name_round_trip, 0, NOE_PARAM_COUNT);
    suite_add_tcase(suite, table);
    TCase *single = tcase_create("single");
    tcase_add_test(single, test_op_unknown_names);
    tcase_add_test(single, test_op_node_kinds_have_names);
    tcase_add_test(single, test_op_rows_known_by_heart);
    tcase_add_test(single, test_op_default_values);
    tcase_add_test(single, test_value_float_reads_back);
    tcase_add_test(single, test_value_equality);
    tcase_add_test_raise_signal(single, test_params_get_refuses_foreign_parameter,
                                SIGABRT);
    suite_add_tcase(suite, single);
    return suite;
}
