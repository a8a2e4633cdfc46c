/* SPDX-License-Identifier: Apache-2.0
 * Mutants of true rules: none that brute force finds false is proved. */
#include "tests/verifier/fixture.h"
#include "tests/verifier/mutants.h"
#include <stdlib.h>
#include <string.h>

#define N_MUTANTS 1000

static fixture_rules base;

/* Brute force itself: it finds no fault in what is true, and faults in what is not. */
START_TEST(test_brute_force_tells_true_from_false)
{
    static const struct {
        const char *file;
        brute_answer not ;
    } files[] = {{"true_rules.txt", BRUTE_FALSE}, {"wrong_rules.txt", BRUTE_TRUE}};
    fixture_load(files[_i].file, &base);
    int n_told = 0;
    for (int i = 0; i < base.n; i++) {
        brute_report r;
        if (!brute_knows(base.rule[i]) || strcmp(base.name[i], "nowhere") == 0)
            continue; /* true of nothing */
        brute_check(base.rule[i], 1, 4000, 24, &r);
        ck_assert_msg(r.answer != files[_i].not, "%s: brute force says %s: %s",
                      base.name[i], r.answer == BRUTE_TRUE ? "true" : "false",
                      noe_buf_text(&r.where));
        n_told += r.answer != BRUTE_NOTHING;
        noe_buf_clear(&r.where);
    }
    ck_assert_int_gt(n_told, base.n / 2);
    fixture_unload(&base);
}
END_TEST

START_TEST(test_no_false_mutant_is_proved)
{
    mutants_count c;
    noe_verifier *v = fixture_verifier(4000);
    fixture_load("true_rules.txt", &base);
    count_mutants(v, (const noe_rule *const *)base.rule, base.n, N_MUTANTS, 1, 150, 6,
                  &c);
    int total = 0, n_false = 0, n_refuted = 0;
    for (int m = 0; m < MUTATIONS; m++) {
        int of_kind = 0;
        for (int b = 0; b <= BRUTE_FALSE; b++) {
            for (int k = 0; k < NOE_VERDICT_COVERED; k++)
                of_kind += c.n[m][b][k];
        }
        ck_assert_msg(of_kind > 0, "no mutant with %s", mutation_text((mutation)m));
        total += of_kind;
        for (int k = 0; k < NOE_VERDICT_COVERED; k++)
            n_false += c.n[m][BRUTE_FALSE][k];
        n_refuted += c.n[m][BRUTE_FALSE][NOE_VERDICT_REFUTED];
    }
    ck_assert_int_eq(total, N_MUTANTS);
    ck_assert_msg(c.n_survivors == 0, "%d false mutants were proved:\n%s",
                  c.n_survivors, noe_buf_text(&c.survivors));
    /* the mutants are worth something, and the verifier sees what brute force sees */
    ck_assert_int_gt(n_false, N_MUTANTS / 3);
    ck_assert_int_gt(n_refuted, n_false * 9 / 10);
    noe_buf_clear(&c.survivors);
    noe_buf_clear(&c.rejected);
    fixture_unload(&base);
    noe_verifier_free(v);
}
END_TEST

Suite *suite_mutants(void)
{
    Suite *s = suite_create("verifier.mutants");
    TCase *t = tcase_create("mutants");
    tcase_set_timeout(t, 900);
    tcase_add_loop_test(t, test_brute_force_tells_true_from_false, 0, 2);
    tcase_add_test(t, test_no_false_mutant_is_proved);
    suite_add_tcase(s, t);
    return s;
}
