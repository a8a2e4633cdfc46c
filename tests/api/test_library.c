/* SPDX-License-Identifier: Apache-2.0
 *
 * libnoether.so through its header: building, errors, optimizing, the HTML report.
 */
#include "include/noether.h"
#include "core/base/file.h"
#include "draw/draw.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

#define must(EXPR)                                            \
    do {                                                      \
        noether_status status_ = (EXPR);                      \
        ck_assert_msg(status_ == 0, "%s: %s", #EXPR, e.text); \
    } while (0)
#define fails(EXPR, STATUS, TEXT)                                                   \
    do {                                                                            \
        noether_status status_ = (EXPR);                                            \
        ck_assert_msg(status_ == (STATUS), "%s: %d, %s", #EXPR, status_, e.text);   \
        ck_assert_int_eq(e.status, STATUS);                                         \
        ck_assert_msg(noe_contains(e.text, TEXT), "'%s' lacks '%s'", e.text, TEXT); \
    } while (0)

static noether_type type_of(int rank, const int64_t *dims)
{
    noether_type t = {.dtype = NOETHER_FLOAT, .rank = rank};
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    return t;
}

static noether_value input(noether_model *m, int rank, const int64_t *dims)
{
    noether_error e;
    noether_value v;
    noether_type t = type_of(rank, dims);
    must(noether_add_input(m, NULL, &t, &v, &e));
    return v;
}

static noether_value weight(noether_model *m, int rank, const int64_t *dims)
{
    noether_error e;
    noether_value v;
    noether_type t = type_of(rank, dims);
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    float *data = malloc(n * sizeof *data);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)sin((double)i) / 8;
    must(noether_add_weight(m, NULL, &t, data, n * sizeof *data, &v, &e));
    free(data);
    return v;
}

static noether_value node(noether_model *m, const char *op, noether_value a,
                          noether_value b)
{
    noether_error e;
    noether_value v, in[2] = {a, b};
    uint32_t n = b == NOETHER_NO_VALUE ? 1 : 2;
    must(noether_add_node(m, op, in, n, NULL, 0, NULL, &v, 1, &e));
    return v;
}

/* The maximum of a value and itself. */
static noether_model *idle(void)
{
    noether_model *m = noether_model_new();
    noether_value x = input(m, 3, (int64_t[]){16, 64, 64});
    noether_value y = node(m, "Mul", x, weight(m, 2, (int64_t[]){64, 64}));
    y = node(m, "Tanh", y, NOETHER_NO_VALUE);
    node(m, "Max", y, y);
    return m;
}

static noether_options *options(void)
{
    noether_error e;
    noether_options *o = noether_options_new();
    must(noether_options_set(o, "device", "roofline", &e));
    must(noether_options_set(o, "budget", "20", &e));
    return o;
}

START_TEST(test_types_follow)
{
    noether_error e;
    noether_type t;
    noether_model *m = noether_model_new();
    noether_value x = input(m, 4, (int64_t[]){1, 8, 10, 12});
    noether_value w = weight(m, 4, (int64_t[]){6, 8, 3, 3}), v, in[2] = {x, w};
    const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 0};
    const noether_attribute attributes[] = {
        {"strides", NOETHER_ATTRIBUTE_INTS, 2, strides, NULL, NULL},
        {"pads", NOETHER_ATTRIBUTE_INTS, 4, pads, NULL, NULL},
    };
    must(noether_add_node(m, "Conv", in, 2, attributes, 2, NULL, &v, 1, &e));
    must(noether_value_type(m, v, &t, &e));
    ck_assert_int_eq(t.dtype, NOETHER_FLOAT);
    ck_assert_int_eq(t.rank, 4);
    ck_assert(t.dims[0] == 1 && t.dims[1] == 6 && t.dims[2] == 5 && t.dims[3] == 10);
    noether_model_free(m);
}
END_TEST

START_TEST(test_errors_name_the_place)
{
    noether_error e;
    noether_value v, in[2];
    noether_model *m = noether_model_new(), *out;
    const void *data;
    size_t bytes;
    void *file;
    in[0] = input(m, 4, (int64_t[]){1, 8, 10, 12});
    in[1] = weight(m, 4, (int64_t[]){6, 7, 3, 3});
    fails(noether_model_serialize(m, &file, &bytes, &e), NOETHER_ERR_ARG, "nothing");
    fails(noether_add_node(m, "Conv", in, 2, NULL, 0, NULL, &v, 1, &e),
          NOETHER_ERR_SHAPE, "Conv: ");
    fails(noether_add_node(m, "MatMul", in, 2, NULL, 0, NULL, &v, 1, &e),
          NOETHER_ERR_SHAPE, "MatMul: ");
    fails(noether_add_node(m, "NonZero", in, 1, NULL, 0, NULL, &v, 1, &e),
          NOETHER_ERR_SHAPE, "NonZero: ");
    in[1] = 77;
    fails(noether_add_node(m, "Add", in, 2, NULL, 0, NULL, &v, 1, &e), NOETHER_ERR_ARG,
          "input 1 is value 77 of 2");
    noether_type t = type_of(2, (int64_t[]){3, -4});
    fails(noether_add_input(m, "x", &t, &v, &e), NOETHER_ERR_SHAPE,
          "dimension 1 is -4");
    t = type_of(1, (int64_t[]){3});
    fails(noether_add_weight(m, "w", &t, "four", 4, &v, &e), NOETHER_ERR_ARG,
          "4 bytes, its type wants 12");
    must(noether_add_input(m, "x", &t, &v, &e));
    fails(noether_add_input(m, "x", &t, &v, &e), NOETHER_ERR_ARG, "'x' is taken");
    fails(noether_model_weight(m, "no", &data, &bytes, &e), NOETHER_ERR_ARG, "'no'");
    fails(noether_model_load("/no/such.onnx", NULL, &out, &e), NOETHER_ERR_IO,
          "/no/such.onnx");
    fails(noether_model_load_memory("junk", 4, NULL, &out, &e), NOETHER_ERR_PARSE,
          "model: ");
    noether_model_free(m);
}
END_TEST

START_TEST(test_options_are_those_of_the_program)
{
    static const struct {
        const char *name, *value, *want;
    } wrong[] = {
        {"no-such", "1", "no option 'no-such'"},
        {"budget", "many", "budget: 'many' is no integer"},
        {"alpha", "0.5", "alpha: 0.5 is not within"},
        {"explain", "yes", "explain: 'yes' is not 0 or 1"},
        {"output", "x.onnx", "the program's own"},
        {"rules", "", "rules: the value is empty"},
    };
    noether_error e;
    noether_options *o = noether_options_new();
    for (size_t i = 0; i < COUNT(wrong); i++)
        fails(noether_options_set(o, wrong[i].name, wrong[i].value, &e),
              NOETHER_ERR_ARG, wrong[i].want);
    must(noether_options_set(o, "explain", "1", &e));
    char *list = noether_options_list();
    ck_assert(noe_contains(list, "budget\t<n>\t"));
    ck_assert(!noe_contains(list, "dry-run"));
    noether_free(list);
    noether_options_free(o);
}
END_TEST

START_TEST(test_wrong_options_of_a_run)
{
    noether_error e;
    noether_model *m = idle(), *out;
    noether_options *o = options();
    must(noether_options_set(o, "device", "abacus", &e));
    fails(noether_optimize(m, o, &out, NULL, &e), NOETHER_ERR_ARG, "abacus");
    must(noether_options_set(o, "device", "roofline", &e));
    must(noether_options_set(o, "rules", "/no/rules.db", &e));
    fails(noether_optimize(m, o, &out, NULL, &e), NOETHER_ERR_IO, "/no/rules.db");
    noether_options_free(o);
    noether_model_free(m);
}
END_TEST

START_TEST(test_optimizes_what_was_built)
{
    noether_error e;
    noether_model *m = idle(), *out;
    noether_report *report;
    noether_options *o = options();
    double before, after;
    char *json;
    must(noether_optimize(m, o, &out, &report, &e));
    ck_assert_msg(noe_contains(noether_report_json(report), "\"decision\": \"better\""),
                  "%s", noether_report_json(report));
    ck_assert(noe_contains(noether_report_text(report), "model -> optimized model"));
    ck_assert(noe_contains(noether_report_text(report), "check: passed on 3"));
    must(noether_model_describe(out, &json, &e));
    ck_assert_msg(!noe_contains(json, "\"Max\""), "%s", json);
    noether_free(json);
    must(noether_model_cost(m, o, &before, &e));
    must(noether_model_cost(out, o, &after, &e));
    ck_assert(after < before);
    noether_report_free(report);
    noether_model_free(out);
    noether_options_free(o);
    noether_model_free(m);
}
END_TEST

START_TEST(test_keeps_what_cannot_be_better)
{
    noether_error e;
    void *x, *y;
    size_t n_x, n_y;
    noether_model *m = noether_model_new(), *out;
    node(m, "Relu", input(m, 2, (int64_t[]){16, 32}), NOETHER_NO_VALUE);
    noether_options *o = options();
    must(noether_optimize(m, o, &out, NULL, &e));
    must(noether_model_serialize(m, &x, &n_x, &e));
    must(noether_model_serialize(out, &y, &n_y, &e));
    ck_assert(n_x == n_y && memcmp(x, y, n_x) == 0);
    noether_free(x);
    noether_free(y);
    noether_model_free(out);
    noether_options_free(o);
    noether_model_free(m);
}
END_TEST

START_TEST(test_file_to_file)
{
    noether_error e;
    char folder[200], in[300], out[300];
    noether_model *m = idle(), *again;
    noether_report *report;
    noether_options *o = options();
    noe_tmp_make(folder, sizeof folder);
    snprintf(in, sizeof in, "%s/in.onnx", folder);
    snprintf(out, sizeof out, "%s/out.onnx", folder);
    must(noether_model_save(m, in, &e));
    must(noether_optimize_file(in, out, o, &report, &e));
    must(noether_model_load(out, o, &again, &e));
    ck_assert(noe_contains(noether_report_text(report), "/in.onnx -> "));
    noether_report_free(report);
    noether_model_free(again);
    noether_options_free(o);
    noether_model_free(m);
    noe_tmp_remove(folder);
}
END_TEST

/* Links of the page that lead out of it. */
static int count_foreign(const char *html)
{
    static const char *const attributes[] = {" src=\"", " href=\""};
    int n = 0;
    for (size_t i = 0; i < COUNT(attributes); i++) {
        for (const char *at = html; (at = strstr(at, attributes[i])); at++)
            n += at[strlen(attributes[i])] != '#';
    }
    return n;
}

START_TEST(test_html_report)
{
    static const char *const wanted[] = {
        "<!DOCTYPE html>",
        "Before and after",
        "Where the time goes",
        "max(?a, ?a)",
        "id=\"environment\"",
        "largest difference",
        "tier ",
        "</html>",
    };
    noether_error e;
    noe_error err;
    char folder[200], path[300], *html;
    size_t len;
    noether_model *m = idle(), *out;
    noether_options *o = options();
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/report.html", folder);
    must(noether_options_set(o, "report", path, &e));
    must(noether_optimize(m, o, &out, NULL, &e));
    noe_assert_ok(noe_file_read(path, UINT64_MAX, &html, &len, &err), err);
    for (size_t i = 0; i < COUNT(wanted); i++)
        ck_assert_msg(noe_contains(html, wanted[i]), "no '%s'", wanted[i]);
    ck_assert_int_eq(count_foreign(html), 0);
    ck_assert(noe_draw_is_available() == noe_contains(html, "class=\"node gone\""));
    free(html);
    noether_model_free(out);
    noether_options_free(o);
    noether_model_free(m);
    noe_tmp_remove(folder);
}
END_TEST

START_TEST(test_outputs)
{
    noether_error e;
    noether_model *m = noether_model_new();
    noether_value x = input(m, 1, (int64_t[]){4});
    noether_value y = node(m, "Exp", x, NOETHER_NO_VALUE);
    node(m, "Log", y, NOETHER_NO_VALUE);
    char *json;
    must(noether_add_output(m, y, "wanted", &e));
    fails(noether_add_output(m, y, "wanted", &e), NOETHER_ERR_ARG, "taken");
    fails(noether_add_output(m, 99, NULL, &e), NOETHER_ERR_ARG, "value 99");
    must(noether_model_describe(m, &json, &e));
    const char *outputs = strstr(json, "\"outputs\"");
    ck_assert(noe_contains(outputs, "{\"name\": \"wanted\", \"dtype\": \"f32\", "
                                    "\"dims\": [4]}]"));
    noether_free(json);
    noether_model_free(m);
}
END_TEST

Suite *suite_library(void)
{
    Suite *s = suite_create("library");
    TCase *t = tcase_create("library");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_types_follow);
    tcase_add_test(t, test_errors_name_the_place);
    tcase_add_test(t, test_options_are_those_of_the_program);
    tcase_add_test(t, test_wrong_options_of_a_run);
    tcase_add_test(t, test_optimizes_what_was_built);
    tcase_add_test(t, test_keeps_what_cannot_be_better);
    tcase_add_test(t, test_file_to_file);
    tcase_add_test(t, test_html_report);
    tcase_add_test(t, test_outputs);
    suite_add_tcase(s, t);
    return s;
}
