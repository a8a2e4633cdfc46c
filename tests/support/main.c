/* SPDX-License-Identifier: Apache-2.0
 * The main of every suite. CK_FORK=no runs without forks (sanitizers, debuggers). */
#include "tests/support/support.h"
#include <stdlib.h>

Suite *NOE_SUITE(void);

int main(void)
{
    SRunner *runner = srunner_create(NOE_SUITE());
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
