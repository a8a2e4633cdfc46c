/* SPDX-License-Identifier: Apache-2.0
 *
 * Provers record scripts one behind the other, each ended by (reset); here they are cut
 * apart. Only answers "unsat" carry a proof: "sat" made the prover try something else.
 */
#include "verifier/export.h"
#include "core/base/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct exporter {
    noe_verifier *v;
    const char *folder;
    const noe_env *env;
    noe_export_totals *totals;
    uint64_t *seen; /* hashes of the rule's scripts so far */
    int64_t n_seen, cap_seen;
} exporter;

static bool is_new(exporter *x, const char *script, size_t len)
{
    uint64_t hash = noe_hash64(script, len, 0);
    for (int64_t i = 0; i < x->n_seen; i++) {
        if (x->seen[i] == hash)
            return false;
    }
    NOE_PUSH(x->seen, x->n_seen, x->cap_seen, hash);
    return true;
}

static bool is_unsat(const char *script, size_t len)
{
    static const char mark[] = "(set-info :status unsat)";
    return memmem(script, len, mark, strlen(mark)) != NULL;
}

static noe_status write_script(exporter *x, const noe_proof_row *row, const char *kind,
                               int64_t number, const char *script, size_t len,
                               noe_error *err)
{
    char path[4096];
    noe_buf text = {0};
    snprintf(path, sizeof path, "%s/%s-%s-%lld.smt2", x->folder, row->id, kind,
             (long long)number);
    noe_buf_printf(&text, "; rule %s, tier %s\n; %s\n", row->id,
                   noe_tier_name(row->tier), row->text);
    noe_buf_add(&text, script, len);
    noe_status status = noe_file_write(path, noe_buf_text(&text), text.len, err);
    noe_buf_clear(&text);
    return status;
}

static noe_status write_scripts(exporter *x, const noe_proof_row *row, const char *kind,
                                const char *scripts, int64_t *count, noe_error *err)
{
    static const char end[] = "(reset)\n";
    int64_t number = 0;
    x->n_seen = 0;
    for (const char *next; (next = strstr(scripts, end));
         scripts = next + strlen(end)) {
        size_t len = (size_t)(next - scripts);
        if (!is_unsat(scripts, len) || !is_new(x, scripts, len))
            continue;
        NOE_TRY(write_script(x, row, kind, ++number, scripts, len, err));
        ++*count;
    }
    return NOE_OK;
}

static noe_status export_rule(exporter *x, const noe_proof_row *row,
                              const noe_rule *rule, noe_error *err)
{
    noe_check c;
    noe_status status = NOE_OK;
    noe_verifier_check(x->v, rule, &c);
    x->totals->unproved += c.kind != NOE_VERDICT_PROVED;
    if (c.kind == NOE_VERDICT_PROVED)
        status = write_scripts(x, row, "euf", noe_buf_text(&c.proof.scripts),
                               &x->totals->euf, err);
    if (status == NOE_OK && c.lia.proved)
        status = write_scripts(x, row, "lia", noe_buf_text(&c.questions),
                               &x->totals->lia, err);
    noe_check_clear(&c);
    return status;
}

static noe_status visit(void *ctx, const noe_proof_row *row, noe_error *err)
{
    exporter *x = ctx;
    if (noe_cancelled(x->env))
        return noe_fail(err, NOE_ERR_CANCELLED, "interrupted after %lld rules",
                        (long long)x->totals->rules);
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(row->text, SIZE_MAX, rule, err);
    if (status == NOE_OK)
        status = export_rule(x, row, rule, err);
    free(rule);
    x->totals->rules++;
    noe_progress(x->env, "%lld rules, %lld scripts", (long long)x->totals->rules,
                 (long long)(x->totals->euf + x->totals->lia));
    return status;
}

noe_status noe_verifier_export(noe_verifier *v, noe_ruledb *db, const char *folder,
                               const noe_env *env, noe_export_totals *totals,
                               noe_error *err)
{
    exporter x = {.v = v, .folder = folder, .env = env, .totals = totals};
    *totals = (noe_export_totals){.rules = 0};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return noe_fail(err, NOE_ERR_IO, "%s: cannot make the folder: %s", folder,
                        strerror(errno));
    noe_verifier_ask_scripts(v, true);
    noe_status status =
        noe_ruledb_each_proof(db, noe_op_table_hash(), false, visit, &x, err);
    noe_verifier_ask_scripts(v, false);
    free(x.seen);
    return status;
}
