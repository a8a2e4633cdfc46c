/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a TASO rule file: an error, or rules each of which has a text that
 * parses or a reason why it has none.
 */
#include "ruledb/taso.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static noe_rule rule; /* large, hence not on the stack */
    noe_taso_rules rules;
    noe_error err;
    if (noe_taso_read((const char *)data, size, &rules, &err) != NOE_OK)
        return 0;
    for (int i = 0; i < rules.n; i++) {
        const char *text = rules.rules[i].text;
        NOE_ASSERT(text || (rules.rules[i].reason && *rules.rules[i].reason));
        NOE_ASSERT(!text || noe_rule_parse(text, SIZE_MAX, &rule, &err) == NOE_OK);
    }
    noe_taso_rules_clear(&rules);
    return 0;
}
