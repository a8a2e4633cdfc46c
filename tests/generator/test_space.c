/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/generator/fixture.h"

#include <stdlib.h>
#include <string.h>

static noe_space spaces[NOE_SPACE_MAX];

static bool is_enumerated(noe_op op, int n_spaces)
{
    for (int s = 0; s < n_spaces; s++) {
        for (int i = 0; i < spaces[s].n_moves; i++) {
            if (spaces[s].moves[i].op == op)
                return true;
        }
    }
    return false;
}

/* A new row of ops.def is enumerated by default, or this says which parameter has no
 * value listed in space.c. */
START_TEST(test_space_default_has_every_operator)
{
    noe_error err = {0};
    noe_op op = (noe_op)_i;
    int n;
    if (noe_op_has(op, NOE_TRAIT_COMPOSITE) || noe_op_has(op, NOE_TRAIT_CONSTANT) ||
        noe_op_get(op)->min_in > NOE_SPACE_MAX_IN)
        return;
    noe_assert_ok(noe_space_build("default", spaces, &n, &err), err);
    ck_assert_msg(is_enumerated(op, n), "operator %s is in no default space",
                  noe_op_get(op)->name);
}
END_TEST

START_TEST(test_space_has_no_composites)
{
    noe_error err = {0};
    int n;
    noe_assert_ok(noe_space_build("default", spaces, &n, &err), err);
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < spaces[s].n_moves; i++)
            ck_assert(!noe_op_has(spaces[s].moves[i].op, NOE_TRAIT_COMPOSITE));
    }
}
END_TEST

START_TEST(test_space_refuses_unknown_names)
{
    noe_error err = {0};
    int n;
    noe_assert_fails(noe_space_build("nonsense", spaces, &n, &err), NOE_ERR_ARG, err,
                     "'nonsense' is neither a set");
    noe_assert_fails(noe_space_build("add,frobnicate", spaces, &n, &err), NOE_ERR_ARG,
                     err, "'frobnicate'");
    noe_assert_fails(noe_space_build("add,", spaces, &n, &err), NOE_ERR_ARG, err, "''");
    noe_assert_fails(noe_space_build("gemm", spaces, &n, &err), NOE_ERR_ARG, err,
                     "definition or a constant");
    noe_assert_fails(noe_space_build("ones", spaces, &n, &err), NOE_ERR_ARG, err,
                     "definition or a constant");
}
END_TEST

START_TEST(test_space_restricts_to_named_operators)
{
    noe_error err = {0};
    int n;
    noe_assert_ok(noe_space_build("add,relu", spaces, &n, &err), err);
    ck_assert_int_gt(n, 0);
    for (int s = 0; s < n; s++) {
        for (int m = 0; m < spaces[s].n_moves; m++)
            ck_assert(spaces[s].moves[m].op == NOE_OP_ADD ||
                      spaces[s].moves[m].op == NOE_OP_RELU);
        ck_assert(is_enumerated(NOE_OP_ADD, n) && is_enumerated(NOE_OP_RELU, n));
    }
}
END_TEST

/* Spaces for the sake of some operators are there with these alone. */
START_TEST(test_space_is_about_operators)
{
    static const struct {
        const char *ops, *space;
        bool is_there;
    } cases[] = {
        {"add,relu", "mask", false},      {"where,relu", "mask", true},
        {"transpose", "choice", false},   {"where,transpose", "choice", true},
        {"add,matmul", "index", false},   {"gather,matmul", "index", true},
        {"mul,concat", "upscale", false}, {"conv_transpose", "upscale", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noe_error err = {0};
        bool is_there = false;
        int n;
        noe_assert_ok(noe_space_build(cases[i].ops, spaces, &n, &err), err);
        for (int s = 0; s < n; s++)
            is_there = is_there || strcmp(spaces[s].name, cases[i].space) == 0;
        ck_assert_msg(is_there == cases[i].is_there, "%s: %s", cases[i].ops,
                      cases[i].space);
    }
}
END_TEST

static const noe_move *find_move(const noe_space *s, noe_op op, noe_move_kind kind)
{
    for (int i = 0; i < s->n_moves; i++) {
        if (s->moves[i].op == op && s->moves[i].kind == kind)
            return &s->moves[i];
    }
    ck_abort_msg("no move %s", noe_op_get(op)->name);
}

START_TEST(test_space_move_checks_types_and_roles)
{
    noe_error err = {0};
    noe_shape out, x = noe_shape_make(4, (int64_t[]){2, 4, 6, 5});
    noe_shape w = noe_shape_make(4, (int64_t[]){4, 4, 3, 3});
    int n;
    noe_assert_ok(noe_space_build("image", spaces, &n, &err), err);
    const noe_move *conv = find_move(&spaces[0], NOE_OP_CONV, NOE_MOVE_PLAIN);
    const struct {
        noe_operand in[2];
        bool fits;
    } cases[] = {
        {{{&x, NOE_ROLE_DATA}, {&w, NOE_ROLE_WEIGHT}}, true},
        {{{&x, NOE_ROLE_DATA}, {&w, NOE_ROLE_DATA}}, false},
        {{{&w, NOE_ROLE_WEIGHT}, {&w, NOE_ROLE_WEIGHT}}, false},
        {{{&x, NOE_ROLE_DATA}, {&x, NOE_ROLE_WEIGHT}}, false},
        {{{&x, NOE_ROLE_MASK}, {&w, NOE_ROLE_WEIGHT}}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(noe_move_fits(&spaces[0], conv, cases[i].in, &out),
                         cases[i].fits);
    ck_assert(noe_move_fits(&spaces[0], conv, cases[0].in, &out));
    ck_assert(noe_shape_eq(&out, &x));
}
END_TEST

START_TEST(test_space_cuts_give_both_parts)
{
    noe_error err = {0};
    noe_shape x = noe_shape_make(2, (int64_t[]){2, 3});
    int n;
    noe_assert_ok(noe_space_build("matrix", spaces, &n, &err), err);
    const noe_move *low = find_move(&spaces[0], NOE_OP_SLICE, NOE_MOVE_LOW);
    ck_assert_int_eq(low[1].kind, NOE_MOVE_HIGH);
    noe_params p = noe_move_params(low, &x, 1), q = noe_move_params(low + 1, &x, 1);
    ck_assert_int_eq(noe_params_get(NOE_OP_SLICE, &p, NOE_PARAM_START)->i, 0);
    ck_assert_int_eq(noe_params_get(NOE_OP_SLICE, &p, NOE_PARAM_END)->i, 1);
    ck_assert_int_eq(noe_params_get(NOE_OP_SLICE, &q, NOE_PARAM_START)->i, 1);
    ck_assert_int_eq(noe_params_get(NOE_OP_SLICE, &q, NOE_PARAM_END)->i, 2);
}
END_TEST

Suite *suite_space(void);
Suite *suite_space(void)
{
    Suite *s = suite_create("space");
    TCase *tc = tcase_create("space");
    tcase_add_loop_test(tc, test_space_default_has_every_operator, 0, NOE_OP_COUNT);
    tcase_add_test(tc, test_space_has_no_composites);
    tcase_add_test(tc, test_space_refuses_unknown_names);
    tcase_add_test(tc, test_space_restricts_to_named_operators);
    tcase_add_test(tc, test_space_is_about_operators);
    tcase_add_test(tc, test_space_move_checks_types_and_roles);
    tcase_add_test(tc, test_space_cuts_give_both_parts);
    suite_add_tcase(s, tc);
    return s;
}
