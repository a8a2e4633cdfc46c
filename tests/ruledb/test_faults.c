/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ruledb/fixture.h"
Suite *suite_faults(void);
Suite *suite_faults(void)
{
    return suite_create("x");
}
