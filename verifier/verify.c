/* SPDX-License-Identifier: Apache-2.0
 *
 * TYPE, FIELD, Z3, LIA, numeric class. A rule is proved if typed instances exist, both
 * sides agree at all of them, and it is proved for all sizes (LIA) or the axioms derive
 * it and every step of the derivation is well-typed and true at all instances (Z3). The
 * tier says which: A both, B LIA alone, C Z3 alone.
 *
 * A candidate that FIELD refutes stays refuted; the condition under which it is true,
 * if one is found (verifier/precondition.h), makes a candidate beside it, judged like
 * others.
 *
 * A verdict depends on the rule's text, the configuration and the axioms, not on the
 * order of candidates: seeds come from the rule's id, and Z3 starts from the same state
 * for each rule (push and pop).
 *
 * A difference that only the models of FIELD show is unknown, and so is a rule that
 * always divides by zero (verifier/domain.c).
 */
#include "verifier/verify.h"
#include "verifier/condition.h"
#include "core/base/options.h"
#include "core/derive.h"
#include "verifier/domain.h"
#include "verifier/workers.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ATTEMPTS 400     /* an instance */
#define BATCH        256     /* candidates a transaction */
#define N_DERIVED    16      /* instances at which a candidate is derived */
#define MAX_TRIES    2000000 /* of such a derivation */
#define FEW_FORMS    2       /* of a group whose conditions are all looked for */
#define AHEAD        16      /* candidates a worker, of which some are announced */

struct noe_verifier {
    noe_verifier_config config;
    noe_axioms axioms;
    noe_prover *prover;
    noe_lia *lia;
    bool wants_scripts;
};

noe_status noe_verifier_new(const noe_verifier_config *config, const char *axioms_text,
                            noe_verifier **verifier, noe_error *err)
{
    noe_verifier *v = noe_calloc(1, sizeof *v);
    v->config = *config;
    noe_status status = noe_axioms_load(axioms_text ? axioms_text : noe_axioms_text,
                                        "axioms.txt", &v->axioms, err);
    if (status != NOE_OK) {
        free(v);
        return status;
    }
    /* A verdict rests on the laws of the all-sizes proof as well. */
    v->axioms.hash ^= noe_lia_hash();
    v->prover = noe_prover_new(&v->axioms, config->rlimit, 0, -1);
    v->lia = noe_lia_new(&config->lia);
    *verifier = v;
    return NOE_OK;
}

void noe_verifier_free(noe_verifier *v)
{
    if (!v)
        return;
    noe_prover_free(v->prover);
    noe_lia_free(v->lia);
    noe_axioms_clear(&v->axioms);
    free(v);
}

const noe_axioms *noe_verifier_axioms(const noe_verifier *v)
{
    return &v->axioms;
}

noe_prover *noe_verifier_prover(const noe_verifier *v)
{
    return v->prover;
}

noe_lia *noe_verifier_lia(const noe_verifier *v)
{
    return v->lia;
}

noe_field_config noe_verifier_field_config(const noe_verifier *v)
{
    return (noe_field_config){v->config.seed, v->config.n_instances, MAX_ATTEMPTS,
                              false};
}

void noe_verifier_ask_scripts(noe_verifier *v, bool yes)
{
    v->wants_scripts = yes;
    noe_prover_ask_scripts(v->prover, yes);
}

static void decide(noe_check *c, noe_verdict_kind kind, const char *stage,
                   const char *reason)
{
    c->kind = kind;
    c->stage = stage;
    noe_buf_puts(&c->reason, reason);
}

static noe_tier tier_of(const noe_check *c)
{
    if (c->lia.proved)
        return c->proof.proved ? NOE_TIER_A : NOE_TIER_B;
    return c->proof.proved ? NOE_TIER_C : NOE_TIER_NONE;
}

/* "tier A: for all sizes, 36 schemes, ranks to 5; 2 axiom instances" */
static void explain_proof(noe_check *c)
{
    noe_buf_printf(&c->reason, "tier %s: ", noe_tier_name(c->tier));
    if (c->lia.proved)
        noe_buf_printf(&c->reason, "for all sizes, %s", noe_buf_text(&c->lia.ranks));
    if (c->proof.proved)
        noe_buf_printf(&c->reason, "%s%d axiom instances", c->lia.proved ? "; " : "",
                       c->proof.n_steps);
    if (c->proof.n_ranks > 0)
        noe_buf_printf(&c->reason, ", for each of the ranks %s",
                       noe_buf_text(&c->proof.ranks));
}

/* Where one side does not exist everywhere, "; used from left to right only". */
static void find_directions(const noe_rule *rule, noe_check *c)
{
    noe_rule *back = noe_malloc(sizeof *back);
    *back = noe_rule_reversed(rule);
    bool right = noe_field_keeps_domain(rule, NOE_DOMAIN_SEED);
    bool left = noe_field_keeps_domain(back, NOE_DOMAIN_SEED);
    c->directions = right && left ? NOE_DIRECTIONS_BOTH
                    : right       ? NOE_DIRECTIONS_RIGHT
                    : left        ? NOE_DIRECTIONS_LEFT
                                  : NOE_DIRECTIONS_NONE;
    if (!right || !left)
        noe_buf_printf(&c->reason, "; the sides exist at different places: used %s",
                       right  ? "from left to right only"
                       : left ? "from right to left only"
                              : "in no direction");
    free(back);
}

/* CPU seconds since *start, which moves on. */
static double lap(double *start)
{
    double now = noe_cpu_seconds(), spent = now - *start;
    *start = now;
    return spent;
}

#define MAX_ELEMENTS 20000 /* of a node, at a suspect */

static bool is_small(const noe_rule *rule, const noe_instance *inst)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        int64_t n = noe_shape_elements(&inst->type[i].shape);
        if (n < 0 || n > MAX_ELEMENTS)
            return false;
    }
    return true;
}

/* Where the all-sizes proof could not go on there is often a difference that no random
 * instance has shown. */
static bool refuted_at_suspects(const noe_rule *rule, const noe_field_config *config,
                                noe_check *c)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    bool refuted = false;
    for (int i = 0; i < c->lia.n_suspects && !refuted; i++) {
        noe_field_report report;
        inst->binding = c->lia.suspect[i];
        if (!noe_instance_check(rule, inst, false) ||
            (config->stored && !noe_instance_store(rule, inst)) ||
            !is_small(rule, inst))
            continue;
        noe_field_check_at(rule, config, inst, &report);
        refuted = report.difference.found && !report.is_doubtful;
        if (refuted) {
            noe_field_report_clear(&c->field);
            c->field = report;
            decide(c, NOE_VERDICT_REFUTED, "field",
                   "the sides differ at an instance that the all-sizes proof found");
        } else {
            noe_field_report_clear(&report);
        }
    }
    free(inst);
    return refuted;
}

static void check_stages(noe_verifier *v, const noe_rule *rule, noe_check *c)
{
    noe_field_config config = {c->seed, v->config.n_instances, MAX_ATTEMPTS, true};
    double start = noe_cpu_seconds();
    noe_field_check(rule, &config, &c->field);
    c->cpu_field = lap(&start);
    if (noe_rule_divides_by_zero(rule, c->field.instances, c->field.n_instances)) {
        decide(c, NOE_VERDICT_UNKNOWN, "field", "divides by what is always zero");
        return;
    }
    if (c->field.is_doubtful) {
        decide(c, NOE_VERDICT_UNKNOWN, "field",
               "the sides differ in the field, whose models lack the law, but not in "
               "double");
        return;
    }
    if (c->field.difference.found) {
        decide(c, NOE_VERDICT_REFUTED, "field", "the sides differ at an instance");
        return;
    }
    if (c->field.n_instances == 0) {
        decide(c, NOE_VERDICT_UNKNOWN, "type", "");
        noe_buf_printf(&c->reason, "no well-typed instance in %d attempts",
                       c->field.attempts);
        return;
    }
    noe_prover_prove(v->prover, rule, c->field.instances, c->field.n_instances,
                     c->field.needs_domain, &c->proof);
    c->cpu_z3 = lap(&start);
    noe_lia_prove(v->lia, rule, true, &c->lia, v->wants_scripts ? &c->questions : NULL);
    c->cpu_lia = lap(&start);
    if (refuted_at_suspects(rule, &config, c))
        return;
    c->tier = tier_of(c);
    if (c->tier == NOE_TIER_NONE) {
        decide(c, NOE_VERDICT_UNKNOWN, "z3", noe_buf_text(&c->proof.reason));
        noe_buf_printf(&c->reason, "; all sizes: %s", noe_buf_text(&c->lia.reason));
        return;
    }
    c->numeric =
        noe_rule_classify(rule, c->field.instances, c->field.n_instances, c->seed);
    c->cpu_class = lap(&start);
    if (!c->numeric.is_defined) {
        decide(c, NOE_VERDICT_UNKNOWN, "field",
               "the sides are nowhere both defined: true of nothing");
        c->tier = NOE_TIER_NONE;
        return;
    }
    decide(c, NOE_VERDICT_PROVED, c->lia.proved ? "lia" : "z3", "");
    explain_proof(c);
    find_directions(rule, c);
}

void noe_verifier_check(noe_verifier *v, const noe_rule *rule, noe_check *c)
{
    double start = noe_cpu_seconds();
    *c = (noe_check){0};
    c->seed = noe_mix64(noe_rule_id(rule).lo ^ noe_mix64(v->config.seed));
    check_stages(v, rule, c);
    c->cpu_seconds = noe_cpu_seconds() - start;
}

static bool prove_narrowed(void *ctx, const noe_rule *rule)
{
    noe_verifier *v = ctx;
    noe_lia_proof proof;
    noe_lia_prove(v->lia, rule, true, &proof, NULL);
    bool proved = proof.proved;
    noe_lia_proof_clear(&proof);
    return proved;
}

void noe_verifier_narrow(noe_verifier *v, const noe_rule *rule, const noe_check *check,
                         noe_precondition *found)
{
    noe_precondition_config config = v->config.precondition;
    config.seed = noe_mix64(noe_rule_id(rule).hi ^ noe_mix64(v->config.seed));
    noe_precondition_find(rule, &check->field, &config, prove_narrowed, v, found);
}

void noe_check_clear(noe_check *c)
{
    noe_buf_clear(&c->reason);
    noe_field_report_clear(&c->field);
    noe_proof_clear(&c->proof);
    noe_lia_proof_clear(&c->lia);
    noe_buf_clear(&c->questions);
    *c = (noe_check){0};
}

/* Candidates of a database */

typedef struct candidate {
    int64_t id, run, group;
    int level;
    bool is_deferred;
    bool is_guess;    /* one of many forms, and not the last */
    bool is_narrowed; /* a refuted one with a condition that was found just now */
    bool is_stale;    /* recheck: it is a rule that was proved under other hashes */
    char *text;
} candidate;

typedef struct batch {
    noe_verifier *v;
    noe_ruledb *db;
    const noe_env *env;
    noe_verify_totals *totals;
    noe_recheck_totals *recheck; /* of a recheck */
    int64_t run_id;
    candidate *list;
    int64_t n, cap;
    noe_workers *workers; /* NULL: this process judges */
    int64_t announced;    /* of the list: those before it are, or need not be */
} batch;

static noe_status collect(void *ctx, const noe_candidate *c, noe_error *err)
{
    batch *b = ctx;
    candidate copy = {.id = c->id,
                      .run = c->run,
                      .group = c->group,
                      .level = c->level,
                      .is_deferred = c->is_deferred,
                      .text = noe_strdup(c->text)};
    (void)err;
    NOE_PUSH(b->list, b->n, b->cap, copy);
    return NOE_OK;
}

static noe_status store_rule(batch *b, const candidate *cand, const noe_rule *rule,
                             const noe_check *c, noe_error *err)
{
    noe_buf text[7] = {{0}};
    char id[NOE_HASH_HEX_LEN + 1];
    noe_hash_hex(noe_rule_id(rule), id);
    noe_rule_print(&text[0], rule);
    noe_rule_print_side(&text[1], rule, false);
    noe_rule_print_side(&text[2], rule, true);
    noe_rule_print_where(&text[3], rule);
    noe_rule_print_ops(&text[4], rule, false);
    noe_rule_print_ops(&text[5], rule, true);
    noe_condition_print_smt2(&text[6], rule);
    noe_rule_row row = {
        .id = id,
        .text = noe_buf_text(&text[0]),
        .lhs = noe_buf_text(&text[1]),
        .rhs = noe_buf_text(&text[2]),
        .where = noe_buf_text(&text[3]),
        .lhs_ops = noe_buf_text(&text[4]),
        .rhs_ops = noe_buf_text(&text[5]),
        .n_lhs_ops = noe_rule_count_ops(rule, false),
        .n_rhs_ops = noe_rule_count_ops(rule, true),
        .n_vars = rule->n_vars,
        .n_roots = rule->n_roots,
        .numeric = c->numeric.class,
        .integers = noe_rule_integers(rule),
        .directions = c->directions,
        .max_error = c->numeric.max_error,
        .candidate = cand->id,
        .level = cand->level,
        .where_smt2 = noe_buf_text(&text[6]),
    };
    noe_status status = noe_ruledb_add_rule(b->db, b->run_id, &row, err);
    for (int i = 0; i < 7; i++)
        noe_buf_clear(&text[i]);
    b->totals->rules++;
    b->totals->class[c->numeric.class]++;
    return status;
}

static noe_status store_verdict(batch *b, const candidate *cand, const noe_check *c,
                                const noe_precondition *found, noe_error *err)
{
    noe_buf shapes = {0};
    noe_buf_puts(&shapes, noe_buf_text(&c->field.shapes_checked));
    if (c->field.scheme.len > 0)
        noe_buf_printf(&shapes, "; mostly %s", noe_buf_text(&c->field.scheme));
    noe_verdict verdict = {
        .kind = c->kind,
        .stage = c->stage,
        .reason = noe_buf_text(&c->reason),
        .counterexample = c->kind == NOE_VERDICT_REFUTED
                              ? noe_buf_text(&c->field.counterexample)
                              : "",
        .shapes_checked = noe_buf_text(&shapes),
        .n_instances = c->field.n_instances,
        .error_bound = c->field.error_bound,
        .axioms = noe_buf_text(&c->proof.axioms),
        .certificate = noe_buf_text(&c->proof.certificate),
        .rlimit = c->proof.rlimit,
        .cpu_seconds = c->cpu_seconds,
        .tier = c->tier,
        .ranks = noe_buf_text(&c->lia.ranks),
        .laws = c->lia.proved ? noe_buf_text(&c->lia.laws) : "",
        .questions = c->lia.questions,
        .precondition = noe_buf_text(&found->how),
    };
    noe_status status =
        noe_ruledb_set_verdict(b->db, b->run_id, cand->id, &verdict, err);
    noe_buf_clear(&shapes);
    return status;
}

static void count(noe_verify_totals *t, const noe_check *c)
{
    t->proved += c->kind == NOE_VERDICT_PROVED;
    t->refuted += c->kind == NOE_VERDICT_REFUTED;
    t->unknown += c->kind == NOE_VERDICT_UNKNOWN;
    if (c->kind == NOE_VERDICT_UNKNOWN) {
        t->unknown_type += strcmp(c->stage, "type") == 0;
        t->unknown_z3 += strcmp(c->stage, "z3") == 0;
    }
    t->tier[c->tier]++;
    t->cpu_field += c->cpu_field;
    t->cpu_z3 += c->cpu_z3;
    t->cpu_lia += c->cpu_lia;
    t->cpu_class += c->cpu_class;
    t->cpu_all += c->cpu_seconds;
    if (c->proof.rlimit > t->rlimit_max)
        t->rlimit_max = c->proof.rlimit;
}

typedef enum outcome { OUTCOME_NOT_PROVED, OUTCOME_PROVED, OUTCOME_LEFT } outcome;

static noe_status judge(batch *b, const candidate *cand, outcome *out, noe_error *err);

/* A refuted candidate is judged again under the condition that was found. */
static noe_status judge_narrowed(batch *b, const candidate *cand, const noe_rule *rule,
                                 noe_error *err)
{
    noe_buf text = {0};
    char id[NOE_HASH_HEX_LEN + 1];
    noe_candidate added = {0};
    bool is_new;
    outcome out;
    noe_rule_print(&text, rule);
    noe_hash_hex(noe_rule_id(rule), id);
    noe_status status = noe_ruledb_add_narrowed(
        b->db, cand->id, id, noe_buf_text(&text), &added, &is_new, err);
    candidate narrowed = {.id = added.id,
                          .run = added.run,
                          .group = added.group,
                          .level = cand->level,
                          .is_narrowed = true,
                          .text = text.text};
    /* One that was there has its turn by itself. */
    if (status == NOE_OK && is_new) {
        status = judge(b, &narrowed, &out, err);
        b->totals->candidates++;
        b->totals->groups++;
        b->totals->narrowed += status == NOE_OK && out == OUTCOME_PROVED;
    }
    noe_buf_clear(&text);
    return status;
}

/* Instances again, as they were. */
static void check_field(const noe_verifier *v, const noe_rule *rule, noe_check *c)
{
    noe_field_config config = {c->seed, v->config.n_instances, MAX_ATTEMPTS, true};
    noe_field_report_clear(&c->field);
    noe_field_check(rule, &config, &c->field);
}

/* Looks for the condition under which a refuted candidate is true; in a group of many
 * forms only for the least general one: the others were guesses, and it is what they
 * are narrowed to. */
static void narrow(batch *b, const candidate *cand, const noe_rule *rule, noe_check *c,
                   noe_precondition *found)
{
    double start = noe_cpu_seconds();
    if (c->kind != NOE_VERDICT_REFUTED || b->recheck || cand->is_guess ||
        cand->is_narrowed)
        return;
    if (b->workers) /* which keep the instances to themselves */
        check_field(b->v, rule, c);
    noe_verifier_narrow(b->v, rule, c, found);
    double spent = lap(&start);
    c->cpu_seconds += spent;
    b->totals->cpu_narrow += spent;
}

static void check_text(noe_verifier *v, const char *text, noe_check *c)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_error why = {0};
    *c = (noe_check){0};
    if (noe_rule_parse(text, SIZE_MAX, rule, &why) == NOE_OK)
        noe_verifier_check(v, rule, c);
    else
        decide(c, NOE_VERDICT_UNKNOWN, "type", why.text);
    free(rule);
}

static void judge_in_worker(void *ctx, const char *text, noe_check *c)
{
    check_text(ctx, text, c);
}

/* false: workers died of it. */
static bool obtain(batch *b, const candidate *cand, noe_check *c)
{
    noe_error why = {0};
    if (!b->workers) {
        check_text(b->v, cand->text, c);
        return true;
    }
    if (noe_workers_take(b->workers, cand->text, c, &why))
        return true;
    noe_log(b->env, NOE_LOG_WARN, "candidate %lld stays open: %s: %s",
            (long long)cand->id, why.text, cand->text);
    b->totals->left++;
    return false;
}

static noe_status judge(batch *b, const candidate *cand, outcome *out, noe_error *err)
{
    noe_check c;
    noe_precondition found = {.found = false};
    *out = OUTCOME_LEFT;
    if (!obtain(b, cand, &c))
        return NOE_OK;
    noe_rule *rule = noe_malloc(sizeof *rule);
    count(b->totals, &c);
    if (noe_rule_parse(cand->text, SIZE_MAX, rule, NULL) == NOE_OK)
        narrow(b, cand, rule, &c, &found);
    noe_status status = store_verdict(b, cand, &c, &found, err);
    *out = c.kind == NOE_VERDICT_PROVED ? OUTCOME_PROVED : OUTCOME_NOT_PROVED;
    if (status == NOE_OK && *out == OUTCOME_PROVED)
        status = store_rule(b, cand, rule, &c, err);
    if (status == NOE_OK && found.found)
        status = judge_narrowed(b, cand, found.rule, err);
    noe_precondition_clear(&found);
    noe_check_clear(&c);
    free(rule);
    return status;
}

/* Has workers start on what is judged soon: the most general variants of groups, if
 * they do not wait for others. */
static void announce(batch *b, int64_t from, bool firsts)
{
    if (!b->workers)
        return;
    int64_t most = from + (int64_t)AHEAD * b->v->config.n_workers;
    if (b->announced < from)
        b->announced = from;
    for (; b->announced < b->n && b->announced < most; b->announced++) {
        const candidate *c = &b->list[b->announced];
        const candidate *before = b->announced ? c - 1 : NULL;
        bool is_first = !before || before->run != c->run || before->group != c->group;
        if (!firsts || (is_first && !c->is_deferred))
            noe_workers_announce(b->workers, c->text);
    }
}

static noe_status cover(batch *b, const candidate *cand, const char *stage,
                        const char *reason, noe_error *err)
{
    noe_verdict verdict = {.kind = NOE_VERDICT_COVERED,
                           .stage = stage,
                           .reason = reason,
                           .counterexample = "",
                           .shapes_checked = "",
                           .axioms = "",
                           .certificate = ""};
    b->totals->covered++;
    return noe_ruledb_set_verdict(b->db, b->run_id, cand->id, &verdict, err);
}

static noe_status add_premise(void *ctx, const char *text, noe_error *err)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(text, SIZE_MAX, rule, err);
    if (status == NOE_OK)
        noe_rule_set_add(ctx, rule);
    free(rule);
    return status;
}

/* Whether rules derive a candidate as it stands. */
static bool is_derived(const noe_rule_set *premises, const candidate *cand)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_derive_config config = noe_derive_default();
    noe_derive_report report;
    bool ok = noe_rule_parse(cand->text, SIZE_MAX, rule, NULL) == NOE_OK;
    config.n_instances = N_DERIVED;
    config.max_tries = MAX_TRIES;
    if (ok) {
        noe_derive(premises, rule, &config, &report);
        ok = report.verdict == NOE_DERIVE_DERIVED;
        noe_derive_report_clear(&report);
    }
    free(rule);
    return ok;
}

/* The rules that the generator derived the group with, if all of them are proved. */
static noe_status find_premises(batch *b, const candidate *c, noe_rule_set *premises,
                                bool *may_follow, noe_error *err)
{
    *may_follow = false;
    if (!c->is_deferred)
        return NOE_OK;
    NOE_TRY(noe_ruledb_group_follows(b->db, c->run, c->group, noe_op_table_hash(),
                                     b->v->axioms.hash, may_follow, err));
    if (!*may_follow)
        return NOE_OK;
    return noe_ruledb_each_premise(b->db, c->run, c->group, noe_op_table_hash(),
                                   b->v->axioms.hash, add_premise, premises, err);
}

/* The candidates of one group, most general first. Deferred ones come behind what they
 * are derived from. Their derivation was found at one instance, with rules that may be
 * proved in a less general form: they need a proof of their own in a form that what is
 * proved does not derive. */
static noe_status judge_group(batch *b, int64_t first, int64_t end, noe_error *err)
{
    bool proved = false, may_follow, follows = false;
    outcome out = OUTCOME_NOT_PROVED;
    noe_rule_set *premises = noe_rule_set_new();
    noe_status status = find_premises(b, &b->list[first], premises, &may_follow, err);
    for (int64_t i = first; i < end && status == NOE_OK && out != OUTCOME_LEFT; i++) {
        candidate *c = &b->list[i];
        bool is_last = i + 1 == end;
        c->is_guess = !is_last && end - first > FEW_FORMS;
        follows =
            follows || (may_follow && !proved && (is_last || is_derived(premises, c)));
        if (follows)
            status =
                cover(b, c, "derived", "it follows from rules that are proved", err);
        else if (proved)
            status = cover(b, c, "type", "a more general variant is proved", err);
        else
            status = judge(b, c, &out, err);
        proved |= out == OUTCOME_PROVED;
        b->totals->candidates++;
    }
    b->totals->groups++;
    noe_rule_set_free(premises);
    return status;
}

static noe_status judge_all(batch *b, noe_error *err)
{
    int64_t i = 0, stored = 0;
    NOE_TRY(noe_ruledb_begin(b->db, err));
    while (i < b->n && !noe_cancelled(b->env)) {
        int64_t end = i + 1;
        while (end < b->n && b->list[end].run == b->list[i].run &&
               b->list[end].group == b->list[i].group)
            end++;
        announce(b, i, true);
        NOE_TRY(judge_group(b, i, end, err));
        i = end;
        noe_progress(b->env, "%lld of %lld candidates, %lld proved, %lld refuted",
                     (long long)i, (long long)b->n, (long long)b->totals->proved,
                     (long long)b->totals->refuted);
        if (i - stored >= BATCH) {
            NOE_TRY(noe_ruledb_commit(b->db, err));
            NOE_TRY(noe_ruledb_begin(b->db, err));
            stored = i;
        }
    }
    NOE_TRY(noe_ruledb_commit(b->db, err));
    if (i < b->n)
        return noe_fail(err, NOE_ERR_CANCELLED,
                        "interrupted after %lld of %lld candidates", (long long)i,
                        (long long)b->n);
    return NOE_OK;
}

static noe_status store_axioms(batch *b, noe_error *err)
{
    const noe_axioms *axioms = &b->v->axioms;
    NOE_TRY(noe_ruledb_begin(b->db, err));
    for (int i = 0; i < axioms->n; i++) {
        noe_buf text = {0};
        noe_rule_print(&text, &axioms->axiom[i].rule);
        noe_status status = noe_ruledb_add_axiom(
            b->db, axioms->hash, axioms->axiom[i].name, noe_buf_text(&text), err);
        noe_buf_clear(&text);
        NOE_TRY(status);
    }
    return noe_ruledb_commit(b->db, err);
}

static noe_status finish(batch *b, double start, noe_error *err)
{
    char text[200];
    const noe_verify_totals *t = b->totals;
    double in_workers = b->v->config.n_workers > 0 ? t->cpu_all : 0;
    snprintf(text, sizeof text,
             "candidates=%lld proved=%lld refuted=%lld unknown=%lld covered=%lld",
             (long long)t->candidates, (long long)t->proved, (long long)t->refuted,
             (long long)t->unknown, (long long)t->covered);
    return noe_ruledb_finish_run(b->db, b->run_id,
                                 noe_cpu_seconds() - start + in_workers,
                                 noe_peak_rss_kib(), text, err);
}

/* Adds a verify run and its axioms. */
static noe_status start_run(batch *b, const char *what, noe_error *err)
{
    const noe_verifier_config *config = &b->v->config;
    char text[120];
    snprintf(text, sizeof text, "%srlimit=%lld instances=%d", what,
             (long long)config->rlimit, config->n_instances);
    noe_run row = {.stage = "verify",
                   .config = text,
                   .version = noe_version,
                   .seed = config->seed,
                   .op_table_hash = noe_op_table_hash(),
                   .axioms_hash = b->v->axioms.hash,
                   .solver = noe_prover_version()};
    NOE_TRY(noe_ruledb_add_run(b->db, &row, &b->run_id, err));
    return store_axioms(b, err);
}

/* What judge_list did is kept if it was interrupted. */
static noe_status run_list(batch *b, const char *what,
                           noe_status (*judge_list)(batch *b, noe_error *err),
                           noe_error *err)
{
    double start = noe_cpu_seconds();
    if (b->n == 0)
        return NOE_OK;
    NOE_TRY(start_run(b, what, err));
    noe_status status = NOE_OK;
    if (b->v->config.n_workers > 0)
        status = noe_workers_new(b->v->config.n_workers, judge_in_worker, b->v,
                                 &b->workers, err);
    if (status == NOE_OK)
        status = judge_list(b, err);
    noe_workers_free(b->workers);
    if (status == NOE_OK || status == NOE_ERR_CANCELLED) {
        noe_status finished = finish(b, start, status == NOE_OK ? err : NULL);
        return status == NOE_OK ? finished : status;
    }
    noe_ruledb_rollback(b->db);
    return status;
}

static void clear_list(batch *b)
{
    for (int64_t i = 0; i < b->n; i++)
        free(b->list[i].text);
    free(b->list);
}

noe_status noe_verifier_run(noe_verifier *v, noe_ruledb *db, const noe_env *env,
                            noe_verify_totals *totals, noe_error *err)
{
    *totals = (noe_verify_totals){0};
    batch b = {.v = v, .db = db, .env = env, .totals = totals};
    noe_status status = noe_ruledb_each_open_candidate(
        db, noe_op_table_hash(), v->axioms.hash, collect, &b, err);
    if (status == NOE_OK)
        status = run_list(&b, "", judge_all, err);
    clear_list(&b);
    return status;
}

/* Rules again */

static noe_status collect_rule(void *ctx, const noe_proof_row *row, noe_error *err)
{
    batch *b = ctx;
    char op_table[17], axioms[17];
    (void)err;
    snprintf(op_table, sizeof op_table, "%016" PRIx64, noe_op_table_hash());
    snprintf(axioms, sizeof axioms, "%016" PRIx64, b->v->axioms.hash);
    candidate copy = {.id = row->candidate,
                      .run = row->run,
                      .group = row->group,
                      .level = row->level,
                      .text = noe_strdup(row->text)};
    copy.is_stale = strcmp(row->op_table_hash, op_table) != 0 ||
                    strcmp(row->axioms_hash, axioms) != 0;
    NOE_PUSH(b->list, b->n, b->cap, copy);
    return NOE_OK;
}

static noe_status rejudge(batch *b, const candidate *c, noe_error *err)
{
    outcome out;
    NOE_TRY(judge(b, c, &out, err));
    bool proved = out == OUTCOME_PROVED;
    if (out == OUTCOME_LEFT)
        return NOE_OK;
    b->totals->candidates++;
    b->recheck->rules++;
    b->recheck->refreshed += proved && c->is_stale;
    b->recheck->lost += !proved;
    return proved ? NOE_OK
                  : noe_ruledb_reopen_group(b->db, b->run_id, c->run, c->group, err);
}

static noe_status rejudge_all(batch *b, noe_error *err)
{
    int64_t i = 0;
    NOE_TRY(noe_ruledb_begin(b->db, err));
    for (; i < b->n && !noe_cancelled(b->env); i++) {
        announce(b, i, false);
        NOE_TRY(rejudge(b, &b->list[i], err));
        noe_progress(b->env, "%lld of %lld rules, %lld lost", (long long)i + 1,
                     (long long)b->n, (long long)b->recheck->lost);
        if ((i + 1) % BATCH == 0) {
            NOE_TRY(noe_ruledb_commit(b->db, err));
            NOE_TRY(noe_ruledb_begin(b->db, err));
        }
    }
    NOE_TRY(noe_ruledb_commit(b->db, err));
    if (i < b->n)
        return noe_fail(err, NOE_ERR_CANCELLED, "interrupted after %lld of %lld rules",
                        (long long)i, (long long)b->n);
    return NOE_OK;
}

noe_status noe_verifier_recheck(noe_verifier *v, noe_ruledb *db, const noe_env *env,
                                noe_recheck_totals *totals, noe_error *err)
{
    *totals = (noe_recheck_totals){.rules = 0};
    batch b = {.v = v, .db = db, .env = env, .totals = &totals->verdicts};
    b.recheck = totals;
    noe_status status =
        noe_ruledb_each_proof(db, noe_op_table_hash(), true, collect_rule, &b, err);
    if (status == NOE_OK)
        status = run_list(&b, "recheck ", rejudge_all, err);
    clear_list(&b);
    return status;
}
