/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a rule: an error, or a rule whose canonical text reads back as itself.
 */
#include "core/rule.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static noe_rule rule, again; /* large, hence not on the stack */
    noe_error err;
    noe_buf first = {0}, second = {0};
    if (noe_rule_parse((const char *)data, size, &rule, &err) != NOE_OK)
        return 0;
    noe_rule_print(&first, &rule);
    noe_status status = noe_rule_parse(first.text, first.len, &again, &err);
    NOE_ASSERT(status == NOE_OK);
    noe_rule_print(&second, &again);
    NOE_ASSERT(strcmp(first.text, second.text) == 0);
    noe_buf_clear(&first);
    noe_buf_clear(&second);
    return 0;
}
