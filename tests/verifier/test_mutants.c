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

/* A refuted mutant that gets a condition is a rule like others: none may be false. */
#define N_NARROWED 60

static bool narrowed_is_false(noe_verifier *v, const noe_rule *mutant, int *n_proved,
                              noe_buf *where)
{
    noe_check check, again;
    noe_precondition found = {.found = false};
    bool is_false = false;
    noe_verifier_check(v, mutant, &check);
    if (check.kind == NOE_VERDICT_REFUTED)
        noe_verifier_narrow(v, mutant, &check, &found);
    if (found.found) {
        brute_report r;
        noe_verifier_check(v, found.rule, &again);
        brute_check(found.rule, 2, 300, 12, &r);
        *n_proved += again.kind == NOE_VERDICT_PROVED;
        is_false = again.kind == NOE_VERDICT_PROVED && r.answer == BRUTE_FALSE;
        if (is_false) {
            noe_rule_print(where, found.rule);
            noe_buf_printf(where, ": %s", noe_buf_text(&r.where));
        }
        noe_buf_clear(&r.where);
        noe_check_clear(&again);
    }
    noe_precondition_clear(&found);
    noe_check_clear(&check);
    return is_false;
}

START_TEST(test_no_narrowed_mutant_is_false)
{
    noe_verifier *v = fixture_verifier(4000);
    noe_rule *mutant = noe_malloc(sizeof *mutant);
    noe_rng rng = noe_rng_split(3, "narrowed", 0);
    int n = 0, n_proved = 0;
    noe_buf where = {0};
    fixture_load("true_rules.txt", &base);
    for (int i = 0; n < N_NARROWED && i < 100 * N_NARROWED; i++) {
        const noe_rule *rule = base.rule[noe_rng_below(&rng, (uint64_t)base.n)];
        if (!mutate(rule, (mutation)(i % MUTATIONS), &rng, mutant) ||
            !brute_knows(mutant))
            continue;
        n++;
        ck_assert_msg(!narrowed_is_false(v, mutant, &n_proved, &where), "%s",
                      noe_buf_text(&where));
    }
    ck_assert_int_eq(n, N_NARROWED);
    ck_assert_int_gt(n_proved, 3);
    noe_buf_clear(&where);
    free(mutant);
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
    tcase_add_test(t, test_no_narrowed_mutant_is_false);
    suite_add_tcase(s, t);
    return s;
}
