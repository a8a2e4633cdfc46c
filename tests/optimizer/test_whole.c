/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/whole.h"
#include "core/base/mem.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"

static noe_error err;
static const noe_check_options options = {1, 1e-3, 1e-6};

/* Sin and CumSum are not in the algebra. */
#define MODEL(NODES)                                                     \
    "ir 8\nopset 17\ninput x f32 2,3\noutput y f32 2,3\ninit a i64 - = " \
    "1\n" NODES

static const struct {
    const char *before, *after;
    noe_status status;
    const char *message; /* of the error, or of the reason for not checking */
} cases[] = {
    {MODEL("node Sin x -> s\nnode CumSum s,a -> y\n"),
     MODEL("node Sin x -> s\nnode CumSum s,a -> y\n"), NOE_OK, ""},
    {MODEL("node Sin x -> s\nnode Neg s -> y\n"),
     MODEL("node Neg x -> s\nnode Sin s -> y\n"), NOE_OK, ""},
    {MODEL("node Sin x -> s\nnode CumSum s,a -> y\n"),
     MODEL("node Sin x -> s\nnode Relu s -> y\n"), NOE_ERR_MISMATCH, "output 'y'"},
    {MODEL("node Sin x -> s\nnode CumSum s,a -> y\n"),
     MODEL("node Sin x -> s\nnode Frobnicate s -> y\n"), NOE_ERR_MISMATCH,
     "cannot be computed"},
    {MODEL("node Frobnicate x -> y\n"), MODEL("node Relu x -> y\n"), NOE_OK,
     "no reference for operator Frobnicate"},
    {MODEL("node Sin x -> s\nnode Relu s -> y\n"),
     "ir 8\nopset 17\ninput x f32 2,3\noutput y f32 3,2\n"
     "node Sin x -> s\nnode Transpose s -> y\n",
     NOE_ERR_MISMATCH, "another one"},
};

START_TEST(test_whole_models_are_compared)
{
    noe_whole_report r;
    noe_onnx_model *before = noe_build_and_load(cases[_i].before);
    noe_onnx_model *after = noe_build_and_load(cases[_i].after);
    noe_status status = noe_whole_check(before, after, 1, &options, &r, &err);
    ck_assert_msg(status == cases[_i].status, "status %d: %s", (int)status, err.text);
    bool passes = status == NOE_OK && !*cases[_i].message;
    ck_assert_int_eq(r.is_done, passes);
    if (!passes)
        ck_assert_msg(
            noe_contains(status == NOE_OK ? r.why : err.text, cases[_i].message),
            "'%s'", status == NOE_OK ? r.why : err.text);
    noe_onnx_free(before);
    noe_onnx_free(after);
}
END_TEST

Suite *suite_whole(void)
{
    Suite *s = suite_create("whole");
    TCase *tc = tcase_create("whole");
    tcase_add_loop_test(tc, test_whole_models_are_compared, 0,
                        sizeof cases / sizeof *cases);
    suite_add_tcase(s, tc);
    return s;
}
