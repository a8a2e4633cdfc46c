/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optimizer/database.h"
#include "core/rule.h"
#include "ruledb/ruledb.h"
#include "tests/support/support.h"

typedef struct canonical {
    noe_rule rule;
    char id[NOE_HASH_HEX_LEN + 1];
    noe_buf text, lhs, rhs, where, lhs_ops, rhs_ops;
} canonical;

static void make_canonical(canonical *c, const char *text)
{
    noe_error err;
    *c = (canonical){0};
    noe_assert_ok(noe_rule_parse(text, SIZE_MAX, &c->rule, &err), err);
    noe_hash_hex(noe_rule_id(&c->rule), c->id);
    noe_rule_print(&c->text, &c->rule);
    noe_rule_print_side(&c->lhs, &c->rule, false);
    noe_rule_print_side(&c->rhs, &c->rule, true);
    noe_rule_print_where(&c->where, &c->rule);
    noe_rule_print_ops(&c->lhs_ops, &c->rule, false);
    noe_rule_print_ops(&c->rhs_ops, &c->rule, true);
}

static void clear_canonical(canonical *c)
{
    noe_buf *const all[] = {&c->text,  &c->lhs,     &c->rhs,
                            &c->where, &c->lhs_ops, &c->rhs_ops};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        noe_buf_clear(all[i]);
}

static noe_status collect_id(void *ctx, const noe_candidate *c, noe_error *err)
{
    (void)err;
    *(int64_t *)ctx = c->id; /* the one without a verdict */
    return NOE_OK;
}

static void add_rule(noe_ruledb *db, int64_t generate, int64_t verify, int64_t group,
                     const char *text)
{
    canonical c;
    noe_error err;
    int64_t id = 0;
    bool is_new;
    make_canonical(&c, text);
    noe_candidate candidate = {.text = c.text.text,
                               .rule_id = c.id,
                               .source = "a test",
                               .group = group,
                               .level = 1,
                               .shapes = "",
                               .field = ""};
    noe_assert_ok(noe_ruledb_add_candidate(db, generate, &candidate, &is_new, &err),
                  err);
    noe_assert_ok(noe_ruledb_each_open_candidate(db, noe_op_table_hash(), 1, collect_id,
                                                 &id, &err),
                  err);
    noe_verdict verdict = {.kind = NOE_VERDICT_PROVED,
                           .stage = "z3",
                           .reason = "",
                           .counterexample = "",
                           .shapes_checked = "",
                           .axioms = "",
                           .certificate = ""};
    noe_assert_ok(noe_ruledb_set_verdict(db, verify, id, &verdict, &err), err);
    noe_rule_row row = {.id = c.id,
                        .text = c.text.text,
                        .lhs = noe_buf_text(&c.lhs),
                        .rhs = noe_buf_text(&c.rhs),
                        .where = noe_buf_text(&c.where),
                        .lhs_ops = noe_buf_text(&c.lhs_ops),
                        .rhs_ops = noe_buf_text(&c.rhs_ops),
                        .n_lhs_ops = noe_rule_count_ops(&c.rule, false),
                        .n_rhs_ops = noe_rule_count_ops(&c.rule, true),
                        .n_vars = c.rule.n_vars,
                        .n_roots = c.rule.n_roots,
                        .numeric = NOE_CLASS_FLOAT,
                        .candidate = id,
                        .level = 1};
    noe_assert_ok(noe_ruledb_add_rule(db, verify, &row, &err), err);
    clear_canonical(&c);
}

void fixture_database(const char *path, const char *const *texts)
{
    noe_ruledb *db;
    noe_error err;
    int64_t generate, verify;
    noe_run run = {.stage = "generate",
                   .config = "a test",
                   .version = "0",
                   .op_table_hash = noe_op_table_hash(),
                   .solver = ""};
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &db, &err), err);
    noe_assert_ok(noe_ruledb_add_run(db, &run, &generate, &err), err);
    run.stage = "verify";
    run.axioms_hash = 1;
    run.solver = "none";
    noe_assert_ok(noe_ruledb_add_run(db, &run, &verify, &err), err);
    for (int i = 0; texts[i]; i++)
        add_rule(db, generate, verify, i, texts[i]);
    noe_ruledb_close(db);
}
