/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-check: checks the certificates of a rule database without the prover.
 */
#include "checker/check.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/options.h"
#include "ruledb/ruledb.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_AXIOMS_BYTES (16 << 20)

static const char *axioms_path;
static int64_t seed = 2, n_instances = 12;
static int quiet;

static const noe_option options[] = {
    {"axioms", 0, NOE_OPTION_TEXT, &axioms_path, 0, 0, "<file>",
     "axioms that a certificate may use, instead of the built-in ones", 1},
    {"instances", 0, NOE_OPTION_INT, &n_instances, 1, 1000, "<n>",
     "typed instances of a rule at which its steps are evaluated", 1},
    {"seed", 0, NOE_OPTION_INT, &seed, 0, 9e15, "<n>", "root of all randomness", 1},
    {"quiet", 'q', NOE_OPTION_FLAG, &quiet, 0, 0, NULL,
     "print refusals and the summary only", 1},
};

static const char *(*const libraries[])(void) = {noe_ruledb_library, noe_hash_library,
                                                 NULL};

static const noe_program program = {
    .name = "noether-check",
    .operands = "DB",
    .summary = "Checks the certificates of a rule database without the prover.",
    .epilogue =
        "Each rule in use is 'ok' (tiers A and C: the axiom instances of its\n"
        "certificate are typed, true in the field, and give the rule by congruence),\n"
        "'refused' with the reason, or 'none': tier B has no certificate, its proof "
        "is\n"
        "for all sizes and is repeated by noether-verify --recheck.\n"
        "\n"
        "Exit codes: 0 nothing refused, 1 a certificate is refused, 2 wrong usage,\n"
        "3 bad input, 4 database or file error, 130 interrupted.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .libraries = libraries,
    .min_operands = 1,
    .max_operands = 1,
};

typedef struct totals {
    const noe_checker *checker;
    int64_t ok, refused, none, steps;
} totals;

/* The text must be the one that the id says. */
static bool is_named_rightly(const noe_proof_row *row)
{
    char id[NOE_HASH_HEX_LEN + 1] = "";
    noe_rule *rule = noe_malloc(sizeof *rule);
    if (noe_rule_parse(row->text, SIZE_MAX, rule, NULL) == NOE_OK)
        noe_hash_hex(noe_rule_id(rule), id);
    free(rule);
    return strcmp(id, row->id) == 0;
}

static noe_status check(void *ctx, const noe_proof_row *row, noe_error *err)
{
    totals *t = ctx;
    noe_checker_answer answer;
    (void)err;
    if (row->tier == NOE_TIER_B) {
        t->none++;
        if (!quiet)
            printf("none    %s tier B\n", row->id);
        return NOE_OK;
    }
    noe_checker_check(t->checker, row->text, row->certificate, &answer);
    bool named = is_named_rightly(row), ok = answer.ok && named;
    t->ok += ok;
    t->refused += !ok;
    t->steps += answer.n_steps;
    if (!ok)
        printf("refused %s %s: %s\n", row->id, row->text,
               named ? noe_buf_text(&answer.reason) : "the id is not that of the text");
    else if (!quiet)
        printf("ok      %s %d steps at %d instances\n", row->id, answer.n_steps,
               answer.n_instances);
    noe_checker_answer_clear(&answer);
    return NOE_OK;
}

static noe_status check_database(const char *path, totals *t, noe_error *err)
{
    noe_ruledb *db = NULL;
    NOE_TRY(noe_ruledb_open(path, NOE_RULEDB_READ, &db, err));
    noe_status status =
        noe_ruledb_each_proof(db, noe_op_table_hash(), false, check, t, err);
    noe_ruledb_close(db);
    return status;
}

static noe_status load(noe_checker **checker, noe_error *err)
{
    char *text = NULL;
    size_t len;
    noe_checker_config config = {(uint64_t)seed, (int)n_instances};
    if (axioms_path)
        NOE_TRY(noe_file_read(axioms_path, MAX_AXIOMS_BYTES, &text, &len, err));
    noe_status status = noe_checker_new(&config, text, axioms_path, checker, err);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    const char *operands[1];
    int n_operands = 0;
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    noe_error err = {0};
    noe_checker *checker = NULL;
    totals t = {0};
    noe_status status = load(&checker, &err);
    t.checker = checker;
    if (status == NOE_OK)
        status = check_database(operands[0], &t, &err);
    noe_checker_free(checker);
    if (status != NOE_OK)
        return noe_report(&program, &err);
    printf(
        "%lld rules: %lld ok, %lld without a certificate, %lld refused; %lld steps\n",
        (long long)(t.ok + t.none + t.refused), (long long)t.ok, (long long)t.none,
        (long long)t.refused, (long long)t.steps);
    return t.refused ? 1 : 0;
}
