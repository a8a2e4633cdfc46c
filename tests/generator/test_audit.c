/* SPDX-License-Identifier: Apache-2.0
 *
 * What pruning drops, it must be able to drop: every equation of a small universe (but
 * those in which ones or zeros only widen something, which make no rules),
 * between a canonical e-node and the representative of its class, is derived from the
 * candidates that are left, by core/derive.h, which shares no code with prune.c,
 * explain.c and saturate.c and replays every derivation step by step. */
#include "core/derive.h"
#include "tests/generator/fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* Rule text of one side: variables by number. Depth is bounded by the pair. */
static void print_side(noe_buf *b, const noe_pair *pair, int i)
{
    const noe_pair_node *n = &pair->nodes[i];
    if (n->is_var) {
        noe_buf_printf(b, "?v%d", n->var);
        return;
    }
    const noe_op_info *info = noe_op_get(n->op);
    noe_buf_puts(b, info->name);
    for (int k = 0; k < info->n_params; k++) {
        noe_buf_printf(b, "%s%s=", k ? ", " : "[", noe_param_name(info->params[k]));
        noe_value_print(b, &n->params.v[k]);
    }
    noe_buf_puts(b, info->n_params ? "](" : "(");
    for (int k = 0; k < n->n_in; k++) {
        noe_buf_puts(b, k ? ", " : "");
        print_side(b, pair, n->in[k]);
    }
    noe_buf_puts(b, ")");
}

/* The equation at the shapes of the universe. */
static noe_derive_verdict derive(const noe_rule_set *set, const noe_pair *pair,
                                 bool back)
{
    noe_buf text = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_binding binding = {0}, *given = &binding;
    noe_error err = {0};
    print_side(&text, pair, back ? pair->rhs[0] : pair->lhs[0]);
    noe_buf_puts(&text, " => ");
    print_side(&text, pair, back ? pair->lhs[0] : pair->rhs[0]);
    noe_assert_ok(noe_rule_parse(text.text, text.len, rule, &err), err);
    for (int v = 0; v < rule->n_vars; v++) {
        int var = atoi(rule->vars[v].name + 1);
        binding.type[v] = (noe_type){pair->vars[var].dtype, pair->vars[var].shape};
        binding.bound[v] = true;
    }
    noe_derive_config config = noe_derive_default();
    noe_derive_report report;
    config.use_given = true;
    config.given = &given;
    config.n_given = 1;
    noe_derive(set, rule, &config, &report);
    noe_derive_verdict verdict = report.verdict;
    if (getenv("NOE_AUDIT") && verdict != NOE_DERIVE_DERIVED)
        printf("%s: %s\n", text.text, noe_buf_text(&report.why));
    noe_derive_report_clear(&report);
    noe_buf_clear(&text);
    free(rule);
    return verdict;
}

/* n_open: equations that follow from the pairs that are left, but not from what these
 * were lifted to, which says less: x + y x = x (1 + y) where x is broadcast, and slices
 * that begin behind the border of a concatenation. */
static const struct {
    const char *ops;
    int n_levels, n_open;
} audits[] = {
    {"relu,neg", 3, 0},
    {"add,sub,neg", 2, 0},
    {"abs,neg,mul", 2, 0},
    {"matmul,add,transpose", 2, 0},
    {"add,mul,relu,transpose", 2, 3},
    {"add,concat,slice,relu", 2, 10},
};

static noe_rule_set *candidates(const char *ops, int n_levels, const noe_env *env)
{
    noe_generate_options options = {.ops = ops, .n_levels = n_levels};
    noe_generated g;
    noe_error err = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_rule_set *set = noe_rule_set_new();
    noe_assert_ok(noe_generate(&options, env, &g, &err), err);
    for (int i = 0; i < g.n_groups; i++) {
        const char *text = g.groups[i].variants.text[0];
        for (int k = 0; k < g.groups[i].n_steps; k++)
            ck_assert_msg(g.groups[i].steps[k].group != i, "%s derives itself", text);
        if (g.groups[i].is_deferred)
            continue; /* one of those that were dropped */
        noe_assert_ok(noe_rule_parse(text, SIZE_MAX, rule, &err), err);
        noe_rule_set_add(set, rule);
    }
    noe_generated_clear(&g);
    free(rule);
    return set;
}

START_TEST(test_audit_what_was_dropped_follows)
{
    noe_env env = quiet_env(1);
    noe_error err = {0};
    noe_rule_set *set = candidates(audits[_i].ops, audits[_i].n_levels, &env);
    noe_space *spaces = noe_calloc(NOE_SPACE_MAX, sizeof *spaces);
    noe_pair *pair = noe_malloc(sizeof *pair);
    int n_spaces, n = 0, n_derived = 0;
    noe_assert_ok(noe_space_build(audits[_i].ops, spaces, &n_spaces, &err), err);
    noe_universe *u = build_universe(&spaces[0], audits[_i].n_levels, 1);
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        uint32_t first = u->classes[x->value].first - 1;
        bool is_leaf = noe_universe_is_leaf(u, x->value);
        if (!x->is_canonical || (first == e && !is_leaf) ||
            !noe_pair_make(u, e, is_leaf ? NOE_NO_OPERAND : first, pair))
            continue;
        n++;
        n_derived += derive(set, pair, false) == NOE_DERIVE_DERIVED;
    }
    if (getenv("NOE_AUDIT"))
        printf("%s: %d of %d, %d rules\n", audits[_i].ops, n_derived, n,
               noe_rule_set_size(set));
    ck_assert_int_gt(n, 10);
    ck_assert_int_le(n - n_derived, audits[_i].n_open);
    noe_universe_free(u);
    noe_rule_set_free(set);
    free(spaces);
    free(pair);
}
END_TEST

Suite *suite_audit(void);
Suite *suite_audit(void)
{
    Suite *s = suite_create("audit");
    TCase *tc = tcase_create("audit");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_audit_what_was_dropped_follows, 0,
                        (int)(sizeof audits / sizeof *audits));
    suite_add_tcase(s, tc);
    return s;
}
