/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/whole.h"
#include "core/base/mem.h"
#include "onnx_io/run/npy.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <stdarg.h>
#include <stdio.h>

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
    /* opset 6: the second operand is broadcast from an axis on */
    {"ir 3\nopset 6\ninput x f32 2,3\noutput y f32 2,3\ninput b f32 2\ninit b f32 2 = "
     "1,2\nnode Relu x -> r\nnode Add r,b -> y broadcast=i:1 axis=i:0\n",
     "ir 3\nopset 6\ninput x f32 2,3\noutput y f32 2,3\ninput b f32 2\ninit b f32 2 = "
     "1,2\nnode Relu x -> r\nnode Add r,b -> y broadcast=i:1 axis=i:0\n",
     NOE_OK, ""},
    {"ir 3\nopset 6\ninput x f32 2,2\noutput y f32 2,2\ninput b f32 2\ninit b f32 2 = "
     "1,2\nnode Add x,b -> y broadcast=i:1 axis=i:0\n",
     "ir 3\nopset 6\ninput x f32 2,2\noutput y f32 2,2\ninput b f32 2\ninit b f32 2 = "
     "1,2\nnode Add x,b -> y broadcast=i:1 axis=i:1\n",
     NOE_ERR_MISMATCH, "output 'y'"},
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
    noe_status status = noe_whole_check(before, after, NULL, 1, &options, &r, &err);
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

static void write_inputs(const char *path, const char *name, int rank, ...)
{
    va_list sizes;
    noe_dims shape = {.rank = rank};
    va_start(sizes, rank);
    for (int i = 0; i < rank; i++)
        shape.dim[i] = va_arg(sizes, int);
    va_end(sizes);
    noe_run_value *v = noe_run_tensor_new(NOE_ELEM_F32, &shape, 1024);
    for (int64_t i = 0; i < v->n; i++)
        ((float *)v->data)[i] = (float)i - 2;
    noe_assert_ok(noe_npz_write(path, &name, (const noe_run_value *const *)&v, 1, &err),
                  err);
    noe_run_value_release(v);
}

/* The user's own inputs: from -2 on. */
START_TEST(test_whole_on_given_inputs)
{
    char dir[256], path[300];
    noe_whole_report r;
    noe_tmp_make(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/in.npz", dir);
    noe_onnx_model *m = noe_build_and_load(MODEL("node Relu x -> y\n"));
    noe_onnx_model *other = noe_build_and_load(MODEL("node Identity x -> y\n"));
    noe_assert_fails(noe_whole_check(m, m, path, 1, &options, &r, &err), NOE_ERR_IO,
                     err, "in.npz");
    write_inputs(path, "x", 2, 2, 3);
    noe_assert_ok(noe_whole_check(m, m, path, 1, &options, &r, &err), err);
    ck_assert(r.is_done);
    noe_assert_fails(noe_whole_check(m, other, path, 1, &options, &r, &err),
                     NOE_ERR_MISMATCH, err, "0 became -2");
    write_inputs(path, "x", 2, 3, 2);
    noe_assert_fails(noe_whole_check(m, m, path, 1, &options, &r, &err), NOE_ERR_ARG,
                     err, "input 'x' is float[3,2], and the model's float[2,3]");
    write_inputs(path, "z", 1, 1);
    noe_assert_fails(noe_whole_check(m, m, path, 1, &options, &r, &err), NOE_ERR_ARG,
                     err, "no input 'z'");
    noe_assert_fails(noe_whole_check(m, m, dir, 1, &options, &r, &err), NOE_ERR_ARG,
                     err, "input 'x' is not there");
    noe_onnx_free(other);
    noe_onnx_free(m);
    noe_tmp_remove(dir);
}
END_TEST

Suite *suite_whole(void)
{
    Suite *s = suite_create("whole");
    TCase *tc = tcase_create("whole");
    tcase_add_loop_test(tc, test_whole_models_are_compared, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tc, test_whole_on_given_inputs);
    suite_add_tcase(s, tc);
    return s;
}
