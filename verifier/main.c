/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-verify: decides which candidates of a rule database are rules.
 */
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/options.h"
#include "verifier/condition.h"
#include "verifier/export.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <stdlib.h>

static const char *db_path, *smt2_path, *export_path, *rule_text;
static int64_t rlimit = 40000, seed = 1, n_instances = 48, conditions = 32, n_workers;
static int self_check, check_axioms, redundant, recheck, stats;

static const noe_option options[] = {
    {"db", 0, NOE_OPTION_TEXT, &db_path, 0, 0, "<file>",
     "rule database; its open candidates are judged", 1},
    {"rule", 0, NOE_OPTION_TEXT, &rule_text, 0, 0, "<text>",
     "judge one rule and print the evidence", 1},
    {"recheck", 0, NOE_OPTION_FLAG, &recheck, 0, 0, NULL,
     "with --db: prove its rules again instead, also stale ones", 1},
    {"export-smt2", 0, NOE_OPTION_TEXT, &export_path, 0, 0, "<folder>",
     "with --db: write what its proofs rest on as SMT-LIB2 instead", 1},
    {"self-check", 0, NOE_OPTION_FLAG, &self_check, 0, 0, NULL,
     "evaluate every axiom and definition exactly at many shapes", 1},
    {"check-axioms", 0, NOE_OPTION_FLAG, &check_axioms, 0, 0, NULL,
     "prove every axiom for all sizes, or say why it is assumed", 1},
    {"redundant-axioms", 0, NOE_OPTION_FLAG, &redundant, 0, 0, NULL,
     "name the axioms that follow from the others, and from which (minutes)", 0},
    {"smt2", 0, NOE_OPTION_TEXT, &smt2_path, 0, 0, "<file>",
     "write the axioms (with --rule: and the goal) as SMT-LIB2", 1},
    {"rlimit", 0, NOE_OPTION_INT, &rlimit, 1, 4e9, "<n>",
     "Z3 resource units a goal; beyond them the verdict is unknown", 0},
    {"instances", 0, NOE_OPTION_INT, &n_instances, 1, 1000, "<n>",
     "typed instances at which both sides are evaluated", 0},
    {"conditions", 0, NOE_OPTION_INT, &conditions, 0, 1000, "<n>",
     "rounds of the search for a condition of a refuted rule; 0: none", 0},
    {"workers", 0, NOE_OPTION_INT, &n_workers, 0, 64, "<n>",
     "with --db: processes that judge (0: this one); the verdicts are the same", 1},
    {"seed", 0, NOE_OPTION_INT, &seed, 0, 9e15, "<n>", "root of all randomness", 1},
    {"stats", 0, NOE_OPTION_FLAG, &stats, 0, 0, NULL,
     "print counters as 'verifier.name value unit'", 0},
};

static const char *(*const libraries[])(void) = {noe_prover_version, noe_ruledb_library,
                                                 noe_hash_library, NULL};

static const noe_program program = {
    .name = "noether-verify",
    .operands = "",
    .summary = "Proves or refutes rewrite rules.",
    .epilogue = "Examples:\n"
                "  noether-verify --db rules.db\n"
                "  noether-verify --db rules.db --recheck\n"
                "  noether-verify --rule 'relu(relu(?a)) => relu(?a)'\n"
                "  noether-verify --self-check\n"
                "\n"
                "Exit codes: 0 done (with --rule: proved), 1 refuted or unknown, the\n"
                "self-check failed, or a rule is not proved again, 2 wrong usage, 3 "
                "bad input, 4 database or file error,\n"
                "130 interrupted.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .libraries = libraries,
    .min_operands = 0,
    .max_operands = 0,
};

static void print_line(const char *label, const char *text)
{
    if (text[0])
        printf("%-12s %s\n", label, text);
}

static void print_check(const noe_rule *rule, const noe_check *c)
{
    static const char *const verdict[] = {"UNKNOWN", "PROVED", "REFUTED", "COVERED"};
    noe_buf text = {0};
    char id[NOE_HASH_HEX_LEN + 1];
    noe_rule_print(&text, rule);
    noe_hash_hex(noe_rule_id(rule), id);
    printf("%-12s %s (%s)\n", verdict[c->kind], noe_buf_text(&c->reason), c->stage);
    print_line("rule", noe_buf_text(&text));
    print_line("id", id);
    print_line("shapes", noe_buf_text(&c->field.scheme));
    print_line("field", noe_buf_text(&c->field.shapes_checked));
    print_line("differs at", noe_buf_text(&c->field.counterexample));
    if (c->kind == NOE_VERDICT_PROVED) {
        printf("%-12s %.3g\n", "error bound", c->field.error_bound);
        print_line("tier", noe_tier_name(c->tier));
        print_line("all sizes", noe_buf_text(&c->lia.ranks));
        print_line("laws", noe_buf_text(&c->lia.laws));
        print_line("axioms", noe_buf_text(&c->proof.axioms));
        printf("%-12s %s (largest relative difference in f32 %.2g)\n", "class",
               noe_numeric_class_name(c->numeric.class), c->numeric.max_error);
        if (c->proof.proved)
            printf("certificate:\n%s", noe_buf_text(&c->proof.certificate));
        if (!c->lia.proved)
            print_line("not lia", noe_buf_text(&c->lia.reason));
        if (!c->proof.proved)
            print_line("not z3", noe_buf_text(&c->proof.reason));
    }
    if (c->proof.rlimit)
        printf("%-12s %lld units for the axioms, %lld for %lld questions of linear "
               "arithmetic\n",
               "Z3", (long long)c->proof.rlimit, (long long)c->lia.rlimit,
               (long long)c->lia.questions);
    noe_buf_clear(&text);
}

static void print_condition(const noe_rule *rule)
{
    noe_buf smt2 = {0};
    noe_condition_print_smt2(&smt2, rule);
    if (smt2.len)
        printf("condition as SMT-LIB2:\n%s", noe_buf_text(&smt2));
    noe_buf_clear(&smt2);
}

/* The condition of a refuted rule, and the verdict under it. */
static void check_narrowed(noe_verifier *v, const noe_rule *rule,
                           const noe_check *refuted)
{
    noe_precondition found;
    noe_verifier_narrow(v, rule, refuted, &found);
    print_line("condition", found.found ? "found" : "none");
    print_line("search", noe_buf_text(&found.how));
    if (found.found) {
        noe_check c;
        noe_verifier_check(v, found.rule, &c);
        printf("\n");
        print_check(found.rule, &c);
        print_condition(found.rule);
        noe_check_clear(&c);
    }
    noe_precondition_clear(&found);
}

static noe_status check_rule(noe_verifier *v, bool *proved, noe_error *err)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(rule_text, SIZE_MAX, rule, err);
    if (status == NOE_OK) {
        noe_check c;
        noe_verifier_check(v, rule, &c);
        print_check(rule, &c);
        *proved = c.kind == NOE_VERDICT_PROVED;
        if (c.kind == NOE_VERDICT_REFUTED && conditions)
            check_narrowed(v, rule, &c);
        noe_check_clear(&c);
    }
    free(rule);
    return status;
}

static void report_self_check(void *ctx, const char *kind, const char *name,
                              const noe_rule *rule, const noe_field_report *report)
{
    int *n = ctx;
    ++*n;
    bool ok = report->n_instances > 0 && !report->difference.found &&
              !report->is_doubtful && !report->needs_domain;
    if (ok && !stats)
        return;
    noe_buf text = {0};
    noe_rule_print(&text, rule);
    printf("%s %s %s: %s\n", ok ? "ok    " : "FAILED", kind, name, noe_buf_text(&text));
    if (!ok)
        printf("       %s\n", report->difference.found
                                  ? noe_buf_text(&report->counterexample)
                                  : "no well-typed instance found");
    noe_buf_clear(&text);
}

static bool run_self_check(noe_verifier *v)
{
    int n = 0;
    int failed = noe_verifier_self_check(v, report_self_check, &n);
    printf("%d axioms and definitions, %d failed\n", n, failed);
    return failed == 0;
}

static const char *const standing_names[] = {[NOE_AXIOM_PROVED] = "proved",
                                             [NOE_AXIOM_LAW] = "assumed",
                                             [NOE_AXIOM_WRONG] = "WRONG",
                                             [NOE_AXIOM_OPEN] = "open"};

/* A row of the table in docs/axioms.md. */
static void report_axiom(void *ctx, const noe_axiom *axiom, noe_axiom_standing standing,
                         const char *reason)
{
    (void)ctx;
    printf("| `%s` | %s | ", axiom->name, standing_names[standing]);
    for (const char *c = reason; *c; c++)
        printf(*c == '|' ? "\\|" : "%c", *c);
    printf(" |\n");
}

static bool run_check_axioms(noe_verifier *v)
{
    int counts[NOE_AXIOM_OPEN + 1], n_laws;
    (void)noe_laws(&n_laws);
    printf("| axiom | standing | how, or why |\n|---|---|---|\n");
    int wrong = noe_verifier_check_axioms(v, report_axiom, NULL, counts);
    int failed = noe_verifier_check_laws(v, NULL, NULL);
    printf("\n%d axioms: %d proved for all sizes, %d assumed, %d open, %d wrong; "
           "%d laws of the all-sizes proof, %d refuted at an instance\n",
           noe_verifier_axioms(v)->n, counts[NOE_AXIOM_PROVED], counts[NOE_AXIOM_LAW],
           counts[NOE_AXIOM_OPEN], wrong, n_laws, failed);
    return wrong == 0 && failed == 0;
}

/* A row of the second table in docs/axioms.md: each axiom of the derivations once. */
static void report_redundant(void *ctx, const noe_axioms *axioms, int axiom,
                             const noe_derive_report *report)
{
    bool *named = ctx;
    memset(named, 0, (size_t)axioms->n * sizeof *named);
    int n_steps = 0;
    for (int i = 0; i < report->n_derivations; i++)
        n_steps += report->derivations[i].n_steps;
    printf("| `%s` |%s", axioms->axiom[axiom].name,
           n_steps == 0 ? " nothing: both sides are stored as one term" : "");
    for (int i = 0; i < report->n_derivations; i++) {
        const noe_derivation *d = &report->derivations[i];
        for (int k = 0; k < d->n_steps; k++) {
            int rule = d->steps[k].rule;
            if (!named[rule])
                printf(" `%s`", axioms->axiom[rule].name);
            named[rule] = true;
        }
    }
    printf(" |\n");
    fflush(stdout);
}

static void run_redundant_axioms(noe_verifier *v, const noe_env *env)
{
    int n = noe_verifier_axioms(v)->n;
    bool *named = noe_calloc((size_t)n, sizeof *named);
    printf("| axiom | follows from |\n|---|---|\n");
    int n_redundant = noe_verifier_redundant_axioms(v, env, report_redundant, named);
    printf("\n%d of %d axioms follow from the other %d\n", n_redundant, n,
           n - n_redundant);
    free(named);
}

static noe_status write_smt2(noe_verifier *v, noe_error *err)
{
    noe_buf text = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = NOE_OK;
    if (rule_text)
        status = noe_rule_parse(rule_text, SIZE_MAX, rule, err);
    if (status == NOE_OK) {
        noe_prover_print_smt2(noe_verifier_prover(v), rule_text ? rule : NULL, &text);
        if (rule_text) {
            noe_lia_proof proof;
            noe_buf_puts(&text, "; questions of the all-sizes proof\n(reset)\n");
            noe_lia_prove(noe_verifier_lia(v), rule, true, &proof, &text);
            noe_lia_proof_clear(&proof);
        }
        status = noe_file_write(smt2_path, noe_buf_text(&text), text.len, err);
    }
    free(rule);
    noe_buf_clear(&text);
    return status;
}

static void print_totals(const noe_verify_totals *t)
{
    printf("candidates %lld in %lld groups: %lld proved, %lld refuted, %lld unknown, "
           "%lld covered\n",
           (long long)t->candidates, (long long)t->groups, (long long)t->proved,
           (long long)t->refuted, (long long)t->unknown, (long long)t->covered);
    if (t->left)
        printf("left open %lld, at which workers died\n", (long long)t->left);
    printf("rules %lld:", (long long)t->rules);
    for (int k = 0; k <= NOE_CLASS_RANGE; k++)
        printf(" %s %lld", noe_numeric_class_name((noe_numeric_class)k),
               (long long)t->class[k]);
    printf("\nrefuted candidates with a condition: %lld", (long long)t->narrowed);
    printf("\ntiers: A %lld, B %lld, C %lld (A axioms and all sizes, B all sizes, C "
           "axioms)",
           (long long)t->tier[NOE_TIER_A], (long long)t->tier[NOE_TIER_B],
           (long long)t->tier[NOE_TIER_C]);
    printf("\nCPU %.1f s, memory %.0f MiB\n",
           noe_cpu_seconds() + (n_workers > 0 ? t->cpu_all : 0),
           (double)noe_peak_rss_kib() / 1024);
    if (!stats)
        return;
    printf("verifier.unknown_type %lld candidates\n", (long long)t->unknown_type);
    printf("verifier.unknown_z3 %lld candidates\n", (long long)t->unknown_z3);
    printf("verifier.rlimit_max %lld units\n", (long long)t->rlimit_max);
    printf("verifier.cpu_field %.2f s\n", t->cpu_field);
    printf("verifier.cpu_z3 %.2f s\n", t->cpu_z3);
    printf("verifier.cpu_lia %.2f s\n", t->cpu_lia);
    printf("verifier.cpu_class %.2f s\n", t->cpu_class);
    printf("verifier.cpu_narrow %.2f s\n", t->cpu_narrow);
}

static noe_status judge(noe_verifier *v, noe_ruledb *db, const noe_env *env,
                        noe_error *err)
{
    noe_verify_totals totals;
    noe_status status = noe_verifier_run(v, db, env, &totals, err);
    noe_env_end_progress(env);
    if (status == NOE_OK || status == NOE_ERR_CANCELLED)
        print_totals(&totals);
    return status;
}

static noe_status judge_again(noe_verifier *v, noe_ruledb *db, const noe_env *env,
                              bool *yes, noe_error *err)
{
    noe_recheck_totals totals;
    noe_status status = noe_verifier_recheck(v, db, env, &totals, err);
    noe_env_end_progress(env);
    if (status == NOE_OK || status == NOE_ERR_CANCELLED) {
        printf("rechecked %lld rules: %lld proved, %lld of them were stale, %lld not "
               "proved\n",
               (long long)totals.rules, (long long)totals.verdicts.rules,
               (long long)totals.refreshed, (long long)totals.lost);
        print_totals(&totals.verdicts);
    }
    *yes &= totals.lost == 0;
    return status;
}

static noe_status export(noe_verifier *v, noe_ruledb *db, const noe_env *env, bool *yes,
                         noe_error *err)
{
    noe_export_totals totals;
    noe_status status = noe_verifier_export(v, db, export_path, env, &totals, err);
    noe_env_end_progress(env);
    if (status == NOE_OK)
        printf("%lld rules: %lld scripts of certificates, %lld of the all-sizes proof, "
               "%lld rules not proved\n",
               (long long)totals.rules, (long long)totals.euf, (long long)totals.lia,
               (long long)totals.unproved);
    *yes &= totals.unproved == 0;
    return status;
}

static noe_status work_on_database(noe_verifier *v, const noe_env *env, bool *yes,
                                   noe_error *err)
{
    noe_ruledb *db = NULL;
    NOE_TRY(noe_ruledb_open(
        db_path, recheck || !export_path ? NOE_RULEDB_WRITE : NOE_RULEDB_READ, &db,
        err));
    noe_status status = NOE_OK;
    if (recheck)
        status = judge_again(v, db, env, yes, err);
    if (status == NOE_OK && export_path)
        status = export(v, db, env, yes, err);
    if (status == NOE_OK && !recheck && !export_path)
        status = judge(v, db, env, err);
    noe_ruledb_close(db);
    return status;
}

static noe_status run(noe_verifier *v, const noe_env *env, bool *yes, noe_error *err)
{
    if (self_check)
        *yes = run_self_check(v);
    if (check_axioms)
        *yes &= run_check_axioms(v);
    if (redundant)
        run_redundant_axioms(v, env);
    if (smt2_path)
        NOE_TRY(write_smt2(v, err));
    if (rule_text)
        NOE_TRY(check_rule(v, yes, err));
    if (db_path)
        NOE_TRY(work_on_database(v, env, yes, err));
    return NOE_OK;
}

int main(int argc, char **argv)
{
    const char *operands[1];
    int n_operands = 0;
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    noe_error err = {0};
    if (!db_path && !rule_text && !self_check && !check_axioms && !redundant &&
        !smt2_path) {
        noe_fail(&err, NOE_ERR_ARG,
                 "nothing to do: give --db, --rule, --self-check, --check-axioms, "
                 "--redundant-axioms or --smt2");
        return noe_report(&program, &err);
    }
    if (!db_path && (recheck || export_path)) {
        noe_fail(&err, NOE_ERR_ARG, "--recheck and --export-smt2 want a --db");
        return noe_report(&program, &err);
    }
    noe_env env;
    noe_env_init_cli(&env, program.name, NOE_LOG_INFO);
    env.seed = (uint64_t)seed;
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    config.rlimit = rlimit;
    config.seed = (uint64_t)seed;
    config.n_instances = (int)n_instances;
    config.precondition.rounds = (int)conditions;
    config.n_workers = (int)n_workers;
    noe_verifier *v = NULL;
    bool yes = true;
    noe_status status = noe_verifier_new(&config, NULL, &v, &err);
    if (status == NOE_OK)
        status = run(v, &env, &yes, &err);
    noe_verifier_free(v);
    if (status != NOE_OK)
        return noe_report(&program, &err);
    return yes ? 0 : 1;
}
