/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_mutants RULES N [SEED]: N one-edit mutants of the rules of a file, judged by
 * the verifier and by brute force (tests/verifier/mutants.h); prints
 * bench/results/mutants.md without its head. Exit code 1 if a false mutant was proved.
 */
#include "core/base/file.h"
#include "tests/verifier/mutants.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct rules {
    noe_rule **rule;
    int n, cap;
} rules;

static noe_status add(void *ctx, const noe_rule_line *line, noe_error *err)
{
    rules *r = ctx;
    (void)err;
    noe_rule *copy = noe_malloc(sizeof *copy);
    *copy = line->rule;
    NOE_PUSH(r->rule, r->n, r->cap, copy);
    return NOE_OK;
}

static const char *const says[] = {"brute force has no instance", "brute force: true",
                                   "brute force: false"};

static void print_counts(const mutants_count *c)
{
    int total[BRUTE_FALSE + 1][NOE_VERDICT_COVERED] = {{0}};
    puts("| mutation | brute force says | proved | refuted | unknown |\n"
         "|---|---|---|---|---|");
    for (int m = 0; m < MUTATIONS; m++) {
        for (int b = 0; b <= BRUTE_FALSE; b++) {
            const int *n = c->n[m][b];
            printf("| %s | %s | %d | %d | %d |\n", mutation_text((mutation)m), says[b],
                   n[NOE_VERDICT_PROVED], n[NOE_VERDICT_REFUTED],
                   n[NOE_VERDICT_UNKNOWN]);
            for (int k = 0; k < NOE_VERDICT_COVERED; k++)
                total[b][k] += n[k];
        }
    }
    for (int b = 0; b <= BRUTE_FALSE; b++)
        printf("| **all** | %s | %d | %d | %d |\n", says[b],
               total[b][NOE_VERDICT_PROVED], total[b][NOE_VERDICT_REFUTED],
               total[b][NOE_VERDICT_UNKNOWN]);
    printf(
        "\nRefused by stage: type %d, field %d, other %d. CPU seconds: verifier %.1f, "
        "brute force %.1f.\n",
        c->refuted_by[0], c->refuted_by[1], c->refuted_by[2], c->cpu_verify,
        c->cpu_brute);
}

static void print_operators(const mutants_count *c)
{
    puts("\n## Mutants in which an operator occurs\n\n| operator | mutants "
         "|\n|---|---|");
    for (int op = 0; op < NOE_OP_COUNT; op++)
        printf("| %s | %d |\n", noe_op_get((noe_op)op)->name, c->operators[op]);
}

static void print_lines(const char *title, const noe_buf *lines)
{
    printf("\n## %s\n\n", title);
    if (lines->len)
        printf("```text\n%s```\n", noe_buf_text(lines));
    else
        puts("None.");
}

int main(int argc, char **argv)
{
    rules r = {0};
    char *text = NULL;
    size_t len;
    noe_error err = {0};
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v = NULL;
    mutants_count c;
    if (argc < 3) {
        fputs("usage: bench_mutants RULES N [SEED]\n", stderr);
        return 2;
    }
    if (noe_file_read(argv[1], 1 << 26, &text, &len, &err) != NOE_OK ||
        noe_rules_parse(text, argv[1], add, &r, &err) != NOE_OK ||
        noe_verifier_new(&config, NULL, &v, &err) != NOE_OK) {
        fprintf(stderr, "bench_mutants: error: %s\n", err.text);
        return 3;
    }
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    count_mutants(v, (const noe_rule *const *)r.rule, r.n, atoi(argv[2]), seed, 600, 12,
                  &c);
    print_counts(&c);
    print_lines("False, and proved", &c.survivors);
    print_lines("Refuted, and brute force saw no difference (the first 40)",
                &c.rejected);
    print_operators(&c);
    noe_verifier_free(v);
    return c.n_survivors > 0;
}
