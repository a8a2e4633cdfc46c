/* SPDX-License-Identifier: Apache-2.0 */
#include "checker/ground.h"
#include "tests/support/support.h"
#include <string.h>

static noe_error err;

START_TEST(test_ground_reads_sections)
{
    noe_ground_certificate c;
    noe_assert_ok(noe_ground_parse("ranks a:1 b:2\n"
                                   "add_commutes ?a=?a ?b=pad[pads=[0, 1]](?b)\n"
                                   "ranks a:2 b:2\n"
                                   "arguments of sqrt and log on the left are not "
                                   "negative\n"
                                   "slice_none ?a=?a $k=if(<=(0, $a), $a, +(-1, $a))\n",
                                   &c, &err),
                  err);
    ck_assert_int_eq(c.n, 2);
    ck_assert_str_eq(c.sections[0].ranks, "a:1 b:2");
    ck_assert(!c.sections[0].in_domain);
    ck_assert(c.sections[1].in_domain);
    const noe_ground_step *step = &c.sections[0].steps[0];
    ck_assert_str_eq(step->axiom, "add_commutes");
    ck_assert_int_eq(step->n, 2);
    ck_assert_int_eq(step->line, 2);
    const noe_ground *pad = step->terms[1];
    ck_assert_str_eq(pad->head, "pad");
    ck_assert_int_eq(pad->n_params, 1);
    ck_assert_int_eq(pad->n_kids, 2);
    ck_assert_str_eq(pad->param_names[0], "pads");
    ck_assert_str_eq(pad->kids[0]->head, "[");
    ck_assert_int_eq(pad->kids[0]->n_kids, 2);
    const noe_ground *chosen = c.sections[1].steps[0].terms[1];
    ck_assert_str_eq(chosen->head, "if");
    ck_assert_str_eq(chosen->kids[0]->head, "<=");
    ck_assert_str_eq(chosen->kids[2]->kids[0]->head, "-1");
    noe_ground_clear(&c);
}
END_TEST

START_TEST(test_ground_empty_is_one_section)
{
    noe_ground_certificate c;
    noe_assert_ok(noe_ground_parse("", &c, &err), err);
    ck_assert_int_eq(c.n, 1);
    ck_assert_int_eq(c.sections[0].n, 0);
    noe_ground_clear(&c);
}
END_TEST

static const struct {
    const char *text, *message;
} malformed[] = {
    {"= ?a=?a", "expected the name of an axiom"},
    {"add_commutes a=?a", "expected a variable"},
    {"add_commutes ?a ?a", "expected '='"},
    {"add_commutes ?a=", "expected a term"},
    {"add_commutes ?a=relu(?a", "expected ','"},
    {"add_commutes ?a=relu(?a ?b)", "expected ','"},
    {"add_commutes ?a=pad[pads](?a)", "expected '='"},
    {"add_commutes ?a=pad[=1](?a)", "expected a parameter"},
    {"add_commutes ?a=?a\n\nadd_commutes ?a=)", "line 3"},
};

START_TEST(test_ground_malformed)
{
    noe_ground_certificate c;
    noe_assert_fails(noe_ground_parse(malformed[_i].text, &c, &err), NOE_ERR_PARSE, err,
                     malformed[_i].message);
    noe_ground_clear(&c);
}
END_TEST

START_TEST(test_ground_depth_is_bounded)
{
    noe_ground_certificate c;
    noe_buf text = {0};
    noe_buf_puts(&text, "relu_relu ?a=");
    for (int i = 0; i < 100000; i++)
        noe_buf_puts(&text, "relu(");
    noe_assert_fails(noe_ground_parse(noe_buf_text(&text), &c, &err), NOE_ERR_PARSE,
                     err, "nested too deep");
    noe_ground_clear(&c);
    noe_buf_clear(&text);
}
END_TEST

Suite *suite_ground(void)
{
    Suite *s = suite_create("ground");
    TCase *tc = tcase_create("ground");
    tcase_add_test(tc, test_ground_reads_sections);
    tcase_add_test(tc, test_ground_empty_is_one_section);
    tcase_add_loop_test(tc, test_ground_malformed, 0,
                        sizeof malformed / sizeof *malformed);
    tcase_add_test(tc, test_ground_depth_is_bounded);
    suite_add_tcase(s, tc);
    return s;
}
