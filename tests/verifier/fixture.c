/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"
#include "core/base/file.h"
#include <stdio.h>
#include <stdlib.h>

const noe_rule *fixture_rule(const char *text)
{
    static noe_rule rule;
    noe_error err;
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, &rule, &err), err);
    return &rule;
}

static noe_status add(void *ctx, const noe_rule_line *line, noe_error *err)
{
    fixture_rules *rules = ctx;
    (void)err;
    ck_assert_int_lt(rules->n, 256);
    rules->name[rules->n] = noe_strdup(line->name);
    rules->rule[rules->n] = noe_malloc(sizeof(noe_rule));
    *rules->rule[rules->n++] = line->rule;
    return NOE_OK;
}

void fixture_load(const char *file, fixture_rules *rules)
{
    char path[1000], *text;
    size_t len;
    noe_error err;
    *rules = (fixture_rules){.n = 0};
    snprintf(path, sizeof path, "%s/tests/verifier/%s", NOE_SOURCE_DIR, file);
    noe_assert_ok(noe_file_read(path, 1 << 20, &text, &len, &err), err);
    noe_assert_ok(noe_rules_parse(text, path, add, rules, &err), err);
    free(text);
    ck_assert_int_gt(rules->n, 0);
}

void fixture_unload(fixture_rules *rules)
{
    for (int i = 0; i < rules->n; i++) {
        free(rules->name[i]);
        free(rules->rule[i]);
    }
    rules->n = 0;
}

noe_verifier *fixture_verifier(int64_t rlimit)
{
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v = NULL;
    noe_error err;
    if (rlimit)
        config.rlimit = rlimit;
    noe_assert_ok(noe_verifier_new(&config, NULL, &v, &err), err);
    return v;
}

noe_verdict_kind fixture_judge(noe_verifier *v, const noe_rule *rule)
{
    noe_check check;
    noe_verifier_check(v, rule, &check);
    noe_verdict_kind kind = check.kind;
    noe_check_clear(&check);
    return kind;
}
