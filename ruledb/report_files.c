/* SPDX-License-Identifier: Apache-2.0
 *
 * Rule files into the database as candidates, and rules in use into TASO's format.
 */
#include "ruledb/report.h"
#include "core/base/file.h"
#include "core/base/options.h"
#include "core/rule.h"
#include "ruledb/taso.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((uint64_t)64 << 20)

/* --- import --- */

typedef struct importer {
    noe_ruledb *db;
    const char *name; /* of the file, without its folder */
    int64_t run;
    int group;
    int n_rules, n_new, n_left_out;
    noe_buf *out;
} importer;

static noe_status add_candidate(importer *im, const noe_rule *rule, const char *source,
                                int generality, noe_error *err)
{
    noe_buf text = {0};
    char id[NOE_HASH_HEX_LEN + 1];
    bool is_new = false;
    int left = noe_rule_count_ops(rule, false), right = noe_rule_count_ops(rule, true);
    noe_rule_print(&text, rule);
    noe_hash_hex(noe_rule_id(rule), id);
    noe_candidate c = {.text = noe_buf_text(&text),
                       .rule_id = id,
                       .source = source,
                       .group = im->group,
                       .generality = generality,
                       .level = left > right ? left : right,
                       .shapes = "",
                       .field = ""};
    noe_status status = noe_ruledb_add_candidate(im->db, im->run, &c, &is_new, err);
    im->n_new += is_new;
    noe_buf_clear(&text);
    return status;
}

static noe_status import_line(void *ctx, const noe_rule_line *line, noe_error *err)
{
    importer *im = ctx;
    char source[300];
    snprintf(source, sizeof source, "%.200s:%d", im->name, line->line);
    im->n_rules++;
    im->group++;
    return add_candidate(im, &line->rule, source, 0, err);
}

static noe_status import_taso_text(importer *im, const char *text, int number,
                                   int generality, noe_error *err)
{
    char source[300];
    noe_rule *rule = noe_malloc(sizeof *rule);
    snprintf(source, sizeof source, "%.200s:%d", im->name, number);
    noe_status status = noe_rule_parse(text, SIZE_MAX, rule, err);
    if (status == NOE_OK)
        status = add_candidate(im, rule, source, generality, err);
    free(rule);
    return status;
}

/* The rule without groups is the less general variant of its group. */
static noe_status import_taso(importer *im, const char *data, size_t len,
                              noe_error *err)
{
    noe_taso_rules rules;
    noe_status status = noe_taso_read(data, len, &rules, err);
    for (int i = 0; i < rules.n && status == NOE_OK; i++, im->group++) {
        const noe_taso_rule *r = &rules.rules[i];
        im->n_rules++;
        if (!r->text) {
            noe_buf_printf(im->out, "%d not imported: %s\n", i, r->reason);
            im->n_left_out++;
            continue;
        }
        status = import_taso_text(im, r->text, i, 0, err);
        if (status == NOE_OK && r->narrow)
            status = import_taso_text(im, r->narrow, i, 1, err);
    }
    noe_taso_rules_clear(&rules);
    return status;
}

static noe_status import_all(importer *im, const char *path, const char *data,
                             size_t len, noe_error *err)
{
    noe_buf config = {0};
    noe_buf_printf(&config, "import %s", im->name);
    noe_run run = {.stage = "generate",
                   .config = noe_buf_text(&config),
                   .version = noe_version,
                   .op_table_hash = noe_op_table_hash(),
                   .solver = ""};
    noe_status status = noe_ruledb_add_run(im->db, &run, &im->run, err);
    noe_buf_clear(&config);
    if (status != NOE_OK)
        return status;
    if (noe_taso_looks_like(data, len)) {
        status = import_taso(im, data, len, err);
        if (status != NOE_OK)
            noe_error_prefix(err, "%s: ", path);
    } else {
        status = noe_rules_parse(data, path, import_line, im, err);
    }
    return status == NOE_OK ? noe_ruledb_finish_run(im->db, im->run, 0, 0, "", err)
                            : status;
}

noe_status noe_report_import(noe_ruledb *db, const char *path, noe_buf *out,
                             noe_error *err)
{
    const char *slash = strrchr(path, '/');
    importer im = {.db = db, .name = slash ? slash + 1 : path, .out = out};
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, MAX_FILE_BYTES, &data, &len, err));
    noe_status status = noe_ruledb_begin(db, err);
    if (status == NOE_OK) {
        status = import_all(&im, path, data, len, err);
        if (status == NOE_OK)
            status = noe_ruledb_commit(db, err);
        else
            noe_ruledb_rollback(db);
    }
    free(data);
    if (status == NOE_OK)
        noe_buf_printf(out, "%d rules, %d not imported, %d new candidates\n",
                       im.n_rules, im.n_left_out, im.n_new);
    return status;
}

/* --- export --- */

typedef struct exporter {
    noe_taso_writer *writer;
    noe_buf *out;
    int n_rules, n_written;
} exporter;

static noe_status export_line(void *ctx, const noe_rule_line *line, noe_error *err)
{
    exporter *e = ctx;
    noe_buf reason = {0};
    char id[NOE_HASH_HEX_LEN + 1];
    (void)err;
    e->n_rules++;
    if (noe_taso_write(e->writer, &line->rule, &reason)) {
        e->n_written++;
    } else {
        noe_hash_hex(noe_rule_id(&line->rule), id);
        noe_buf_printf(e->out, "%.*s not written: %s\n", NOE_REPORT_ID_CHARS, id,
                       noe_buf_text(&reason));
    }
    noe_buf_clear(&reason);
    return NOE_OK;
}

noe_status noe_report_export_taso(noe_ruledb *db, noe_buf *file, noe_buf *out,
                                  noe_error *err)
{
    noe_buf rules = {0};
    int n;
    exporter e = {.out = out, .writer = noe_taso_writer_new()};
    noe_status status = noe_report_export(db, &rules, &n, err);
    if (status == NOE_OK)
        status = noe_rules_parse(noe_buf_text(&rules), "rules", export_line, &e, err);
    if (status == NOE_OK) {
        noe_taso_finish(e.writer, file);
        noe_buf_printf(out, "%d of %d rules written\n", e.n_written, e.n_rules);
    }
    noe_taso_writer_free(e.writer);
    noe_buf_clear(&rules);
    return status;
}
