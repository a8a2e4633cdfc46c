/* SPDX-License-Identifier: Apache-2.0
 *
 * The laws that real models gain from, by family (tests/generator/families): what is
 * generated for the operators of a family must have each of them or let it be derived,
 * at every typed instance that is looked at and so at every rank up to 5. Candidates
 * are not proved here; core/derive.h evaluates every step of a derivation, so that a
 * false one derives nothing.
 *
 * A law whose name starts with "missing_" is known not to be found. It fails when it is
 * found, so that the list shrinks and never hides anything.
 *
 * With NOETHER_FAMILIES_DB=<rule file> the rules of that file are used in place of
 * generated candidates. */
#include "tests/generator/fixture.h"

#include "core/base/file.h"
#include "core/derive.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *ops;
    int level;
    bool is_quick; /* seconds; the others run where NOETHER_FAMILIES is "all", or one of
                      these names: then no other family does */
} families[] = {
    {"reduction",
     "matrix,product,batch:matmul,add,sub,mul,relu,sigmoid,reduce_sum,reduce_mean,"
     "softmax,"
     "slice,transpose,concat,reshape",
     2, false},
    {"image_reduction",
     "image,kernel,group:conv,average_pool,max_pool,add,mul,reduce_mean,slice,concat",
     2, false},
    {"stride", "stride:conv,average_pool,max_pool,slice", 3, true},
    {"association", "product:matmul,add,mul", 3, true},
    {"conv_association", "kernel:conv,transpose", 3, false},
    {"distribution", "product:matmul,add,sub,mul,concat", 3, true},
    {"conv_distribution", "image:conv,add,pad,concat", 3, false},
    {"siblings", "product,matrix,batch:matmul,add,relu,sigmoid,concat,slice", 3, false},
    {"conv_siblings", "image:conv,concat,slice", 3, false},
    {"scale", "product,batch:matmul,mul,add,neg,reshape", 3, false},
    {"conv_scale", "image,shift:conv,mul,add,average_pool,reshape,reduce_sum", 3,
     false},
    {"attention",
     "batch,head:matmul,add,mul,relu,softmax,slice,concat,transpose,reshape", 3, false},
    {"pad", "image,layout:conv,average_pool,pad,relu,add,mul", 2, false},
    {"pool", "image,kernel:conv,average_pool,mul,reshape", 2, false},
    {"group", "group:conv,mul,concat", 3, true},
    {"gather", "index:gather,add,mul,relu,matmul,concat,transpose,reduce_sum", 2,
     false},
    {"upscale", "upscale:conv_transpose,resize,add,mul,concat,slice", 3, false},
    {"choice", "mask:where,add,mul,neg,relu", 3, true},
    {"cast", "precision:cast,transpose,reshape,concat,slice,gather,expand", 2, true},
    {"choice_layout", "choice:where,transpose,slice,concat", 3, false},
};

static noe_status add_line(void *ctx, const noe_rule_line *line, noe_error *err)
{
    (void)err;
    noe_rule_set_add(ctx, &line->rule);
    return NOE_OK;
}

static char *read_text(const char *path)
{
    char *text;
    size_t len;
    noe_error err = {0};
    noe_assert_ok(noe_file_read(path, 1 << 20, &text, &len, &err), err);
    return text;
}

static noe_rule_set *read_rules(const char *path)
{
    noe_rule_set *set = noe_rule_set_new();
    char *text = read_text(path);
    noe_error err = {0};
    noe_assert_ok(noe_rules_parse(text, path, add_line, set, &err), err);
    free(text);
    return set;
}

/* All candidates for the operators of a family. */
static noe_rule_set *generate_rules(const char *ops, int level)
{
    noe_rule_set *set = noe_rule_set_new();
    noe_env env = quiet_env(1);
    noe_generate_options options = {.ops = ops, .n_levels = level};
    noe_generated g;
    noe_error err = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_assert_ok(noe_generate(&options, &env, &g, &err), err);
    for (int i = 0; i < g.n_groups; i++) {
        for (int k = 0; k < g.groups[i].variants.n; k++) {
            const char *text = g.groups[i].variants.text[k];
            noe_assert_ok(noe_rule_parse(text, SIZE_MAX, rule, &err), err);
            noe_rule_set_add(set, rule);
        }
    }
    noe_generated_clear(&g);
    free(rule);
    return set;
}

typedef struct checker {
    const noe_rule_set *set;
    noe_buf wrong;
    int n_laws;
} checker;

static noe_status check_law(void *ctx, const noe_rule_line *line, noe_error *err)
{
    checker *c = ctx;
    noe_derive_config config = noe_derive_default();
    noe_derive_report report;
    bool is_missing = strncmp(line->name, "missing_", 8) == 0;
    (void)err;
    noe_derive(c->set, &line->rule, &config, &report);
    bool found = report.verdict == NOE_DERIVE_DERIVED;
    if (report.verdict == NOE_DERIVE_REFUTED || found == is_missing)
        noe_buf_printf(&c->wrong, "\n  %s: %s%s", line->name,
                       found ? "is found now: no longer missing"
                             : noe_buf_text(&report.why),
                       report.verdict == NOE_DERIVE_REFUTED ? " (false)" : "");
    c->n_laws++;
    noe_derive_report_clear(&report);
    return NOE_OK;
}

static bool is_wanted(const char *family, bool is_quick)
{
    const char *which = getenv("NOETHER_FAMILIES");
    if (which && strcmp(which, "all") != 0)
        return strcmp(which, family) == 0;
    return is_quick || which;
}

START_TEST(test_family_is_found)
{
    const char *db = getenv("NOETHER_FAMILIES_DB");
    if (!is_wanted(families[_i].name, families[_i].is_quick || db))
        noe_skip("takes minutes, or is not asked for (NOETHER_FAMILIES)");
    noe_rule_set *set =
        db ? read_rules(db) : generate_rules(families[_i].ops, families[_i].level);
    checker c = {.set = set};
    noe_buf path = {0};
    noe_error err = {0};
    noe_buf_printf(&path, "%s/tests/generator/families/%s.txt", NOE_SOURCE_DIR,
                   families[_i].name);
    char *text = read_text(path.text);
    noe_assert_ok(noe_rules_parse(text, path.text, check_law, &c, &err), err);
    ck_assert_int_gt(c.n_laws, 0);
    ck_assert_msg(c.wrong.len == 0, "%s, of %d laws with %d rules:%s", path.text,
                  c.n_laws, noe_rule_set_size(set), noe_buf_text(&c.wrong));
    free(text);
    noe_rule_set_free(set);
    noe_buf_clear(&path);
    noe_buf_clear(&c.wrong);
}
END_TEST

Suite *suite_families(void);
Suite *suite_families(void)
{
    Suite *s = suite_create("families");
    TCase *tc = tcase_create("families");
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, test_family_is_found, 0,
                        (int)(sizeof families / sizeof *families));
    suite_add_tcase(s, tc);
    return s;
}
