/* SPDX-License-Identifier: Apache-2.0
 *
 * Schema versions. A file carries its version in user_version and our application id;
 * step i takes version i to i + 1, and all missing steps run in one transaction, so
 * that a file is of one version or of another and never between.
 *
 * A released step is never edited: a change of the schema is a new step. That is
 * enforced: the tables, indices and views found in the file must have exactly the text
 * that running the steps gives, which also means that nobody else's triggers or views
 * stand where ours should. Things that a user adds under other names (indices, ANALYZE
 * tables) are fine.
 */
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <string.h>

extern const char noe_ruledb_schema_text[];
extern const char noe_ruledb_schema_2_text[];
extern const char noe_ruledb_schema_3_text[];
extern const char noe_ruledb_schema_4_text[];
extern const char noe_ruledb_schema_5_text[];
extern const char noe_ruledb_schema_6_text[];

static const char *const steps[] = {noe_ruledb_schema_text,   noe_ruledb_schema_2_text,
                                    noe_ruledb_schema_3_text, noe_ruledb_schema_4_text,
                                    noe_ruledb_schema_5_text, noe_ruledb_schema_6_text};
const noe_schema noe_ruledb_schema = {steps, sizeof steps / sizeof *steps};

static noe_status set_version(sqlite3 *connection, const char *path, int version,
                              noe_error *err)
{
    noe_buf sql = {0};
    noe_buf_printf(&sql, "PRAGMA user_version = %d; PRAGMA application_id = %d;",
                   version, NOE_RULEDB_APPLICATION_ID);
    noe_status status = noe_sqlite_exec(connection, path, sql.text, err);
    noe_buf_clear(&sql);
    return status;
}

static noe_status check_foreign_keys(sqlite3 *connection, const char *path,
                                     noe_error *err)
{
    int64_t n_broken;
    NOE_TRY(noe_sqlite_int(connection, path,
                           "SELECT count(*) FROM pragma_foreign_key_check", &n_broken,
                           err));
    if (n_broken)
        return noe_fail(err, NOE_ERR_DB,
                        "%s: %lld rows refer to rows that do not exist; nothing was "
                        "changed",
                        path, (long long)n_broken);
    return NOE_OK;
}

static noe_status run_steps(sqlite3 *connection, const char *path,
                            const noe_schema *schema, int from, noe_error *err)
{
    for (int i = from; i < schema->n_steps; i++) {
        noe_status status = noe_sqlite_exec(connection, path, schema->steps[i], err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "schema version %d to %d: ", i, i + 1);
            return status;
        }
    }
    NOE_TRY(check_foreign_keys(connection, path, err));
    return set_version(connection, path, schema->n_steps, err);
}

/* The file's version, after refusing what is not ours or too new. */
static noe_status read_version(sqlite3 *connection, const char *path,
                               const noe_schema *schema, int64_t *version,
                               noe_error *err)
{
    int64_t application, n_objects;
    NOE_TRY(noe_sqlite_int(connection, path, "PRAGMA user_version", version, err));
    NOE_TRY(
        noe_sqlite_int(connection, path, "PRAGMA application_id", &application, err));
    NOE_TRY(noe_sqlite_int(connection, path, "SELECT count(*) FROM sqlite_schema",
                           &n_objects, err));
    bool is_empty = *version == 0 && application == 0 && n_objects == 0;
    if (!is_empty && application != NOE_RULEDB_APPLICATION_ID)
        return noe_fail(err, NOE_ERR_DB,
                        "%s: a SQLite database, but not a Noether one (application id "
                        "%lld); it was left alone",
                        path, (long long)application);
    if (*version < 0 || *version > schema->n_steps)
        return noe_fail(
            err, NOE_ERR_DB,
            "%s: schema version %lld, this program knows versions up to %d; "
            "use the newer Noether that wrote it, or start a new file",
            path, (long long)*version, schema->n_steps);
    return NOE_OK;
}

/* The same outside a transaction. The three reads must see one state of the file, which
 * another process may be creating right now. */
static noe_status peek_version(sqlite3 *connection, const char *path,
                               const noe_schema *schema, int64_t *version,
                               noe_error *err)
{
    NOE_TRY(noe_sqlite_exec(connection, path, "BEGIN", err));
    noe_status status = read_version(connection, path, schema, version, err);
    (void)sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static noe_status upgrade(sqlite3 *connection, const char *path,
                          const noe_schema *schema, noe_error *err)
{
    NOE_TRY(noe_sqlite_exec(connection, path, "BEGIN IMMEDIATE", err));
    /* Read again under the lock: another process may have been faster. */
    int64_t version = 0;
    noe_status status = read_version(connection, path, schema, &version, err);
    if (status == NOE_OK && version < schema->n_steps)
        status = run_steps(connection, path, schema, (int)version, err);
    if (status == NOE_OK)
        status = noe_sqlite_exec(connection, path, "COMMIT", err);
    if (status != NOE_OK && !sqlite3_get_autocommit(connection))
        (void)sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Is the object of that type and name in the file, with that text? */
static noe_status compare_object(sqlite3 *connection, const char *path,
                                 const char *type, const char *name, const char *want,
                                 noe_error *err)
{
    sqlite3_stmt *find = NULL;
    int rc = sqlite3_prepare_v2(
        connection, "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?", -1,
        &find, NULL);
    if (rc != SQLITE_OK)
        return noe_sqlite_fail(connection, path, rc, "reading the schema", err);
    sqlite3_bind_text(find, 1, type, -1, SQLITE_STATIC);
    sqlite3_bind_text(find, 2, name, -1, SQLITE_STATIC);
    rc = sqlite3_step(find);
    const char *got =
        rc == SQLITE_ROW ? (const char *)sqlite3_column_text(find, 0) : NULL;
    noe_status status = NOE_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = noe_sqlite_fail(connection, path, rc, "reading the schema", err);
    else if (!got || strcmp(got, want) != 0)
        status = noe_fail(err, NOE_ERR_DB,
                          "%s: %s %s %s; the file was changed by hand or written by a "
                          "development version: make a new one",
                          path, type, name,
                          got ? "is not as this schema version has it" : "is missing");
    sqlite3_finalize(find);
    return status;
}

static noe_status compare_schemas(sqlite3 *connection, sqlite3 *model, const char *path,
                                  noe_error *err)
{
    sqlite3_stmt *list = NULL;
    int rc = sqlite3_prepare_v2(model,
                                "SELECT type, name, sql FROM sqlite_schema"
                                " WHERE sql IS NOT NULL ORDER BY type, name",
                                -1, &list, NULL);
    noe_status status = NOE_OK;
    while (rc == SQLITE_OK && status == NOE_OK && sqlite3_step(list) == SQLITE_ROW)
        status =
            compare_object(connection, path, (const char *)sqlite3_column_text(list, 0),
                           (const char *)sqlite3_column_text(list, 1),
                           (const char *)sqlite3_column_text(list, 2), err);
    sqlite3_finalize(list);
    return status;
}

static noe_status check_schema(sqlite3 *connection, const char *path,
                               const noe_schema *schema, noe_error *err)
{
    sqlite3 *model = NULL;
    int rc = sqlite3_open(":memory:", &model);
    noe_status status = NOE_OK;
    if (rc != SQLITE_OK)
        status = noe_sqlite_fail(model, ":memory:", rc, "making a model schema", err);
    for (int i = 0; i < schema->n_steps && status == NOE_OK; i++)
        status = noe_sqlite_exec(model, ":memory:", schema->steps[i], err);
    if (status == NOE_OK)
        status = compare_schemas(connection, model, path, err);
    sqlite3_close(model);
    return status;
}

noe_status noe_schema_bring_up(sqlite3 *connection, const char *path,
                               const noe_schema *schema, bool may_change,
                               noe_error *err)
{
    int64_t version = 0;
    NOE_TRY(peek_version(connection, path, schema, &version, err));
    if (version < schema->n_steps) {
        if (!may_change && version == 0)
            return noe_fail(err, NOE_ERR_DB, "%s: an empty file, not a rule database",
                            path);
        if (!may_change)
            return noe_fail(
                err, NOE_ERR_DB,
                "%s: schema version %lld is older than %d; any command that "
                "writes to it (noether-verify --db) brings it up to date",
                path, (long long)version, schema->n_steps);
        NOE_TRY(upgrade(connection, path, schema, err));
    }
    return check_schema(connection, path, schema, err);
}
