/* SPDX-License-Identifier: Apache-2.0
 *
 * The program under mpirun: one, two and four processes say the same as none. */
#include "tests/generator/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHAT "--dry-run --ops matrix:add,relu,concat --level 2"

/* MPI keeps memory until the end of the process: leaks of the library are not ours. */
static char *run_ranks(int n)
{
    char command[1500], *out;
    snprintf(command, sizeof command,
             "ASAN_OPTIONS=detect_leaks=0 OMPI_MCA_rmaps_base_oversubscribe=1 "
             "mpirun --allow-run-as-root --oversubscribe -n %d %s/noether-generate %s "
             "2>/dev/null",
             n, NOE_BIN_DIR, WHAT);
    int status = noe_run_command(command, &out);
    ck_assert_msg(status == 0, "%d processes: exit %d: %s", n, status, out);
    return out;
}

START_TEST(test_ranks_give_the_same_candidates)
{
    char *out, *alone;
#ifndef NOE_HAS_MPI
    noe_skip("built without MPI");
#endif
    int missing = noe_run_command("command -v mpirun", &out);
    free(out);
    if (missing)
        noe_skip("mpirun is not installed");
    char command[1000];
    snprintf(command, sizeof command, "%s/noether-generate %s", NOE_BIN_DIR, WHAT);
    ck_assert_int_eq(noe_run_command(command, &alone), 0);
    ck_assert_uint_gt(strlen(alone), 1000);
    for (int n = 1; n <= 4; n *= 2) {
        out = run_ranks(n);
        ck_assert_msg(strcmp(out, alone) == 0, "%d processes say something else", n);
        free(out);
    }
    free(alone);
}
END_TEST

Suite *suite_ranks(void);
Suite *suite_ranks(void)
{
    Suite *s = suite_create("ranks");
    TCase *tc = tcase_create("ranks");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_ranks_give_the_same_candidates);
    suite_add_tcase(s, tc);
    return s;
}
