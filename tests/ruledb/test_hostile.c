/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ruledb/fixture.h"
Suite *suite_hostile(void);
Suite *suite_hostile(void)
{
    return suite_create("x");
}
