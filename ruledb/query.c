/* SPDX-License-Identifier: Apache-2.0
 *
 * Ad hoc queries; see query.h.
 */
#include "ruledb/query.h"
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <stdlib.h>
#include <string.h>

static noe_status read_value(noe_ruledb *db, sqlite3_stmt *s, int column,
                             const char **value, noe_error *err)
{
    *value = NULL;
    if (sqlite3_column_type(s, column) == SQLITE_NULL)
        return NOE_OK;
    *value = (const char *)sqlite3_column_text(s, column);
    if (!*value)
        return noe_sqlite_fail(db->connection, db->path,
                               sqlite3_errcode(db->connection), "reading rows", err);
    if (strlen(*value) != (size_t)sqlite3_column_bytes(s, column))
        return noe_fail(err, NOE_ERR_DB,
                        "%s: damaged or not written by Noether: a value of column %s "
                        "holds a NUL byte",
                        db->path, sqlite3_column_name(s, column));
    return NOE_OK;
}

static noe_status visit_rows(noe_ruledb *db, sqlite3_stmt *s, noe_query_row *row,
                             const char **values, noe_query_fn *fn, void *ctx,
                             noe_error *err)
{
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        for (int i = 0; i < row->n; i++)
            NOE_TRY(read_value(db, s, i, &values[i], err));
        NOE_TRY(fn(ctx, row, err));
    }
    if (rc != SQLITE_DONE)
        return noe_sqlite_fail(db->connection, db->path, rc, "reading rows", err);
    return NOE_OK;
}

static noe_status run_query(noe_ruledb *db, sqlite3_stmt *s, noe_query_fn *fn,
                            void *ctx, noe_error *err)
{
    if (!s || !sqlite3_stmt_readonly(s))
        return noe_fail(err, NOE_ERR_ARG, "%s: the statement is not a query", db->path);
    int n = sqlite3_column_count(s);
    const char **names = noe_calloc((size_t)n + 1, sizeof *names);
    const char **values = noe_calloc((size_t)n + 1, sizeof *values);
    for (int i = 0; i < n; i++)
        names[i] = sqlite3_column_name(s, i);
    noe_query_row row = {.n = n, .names = names, .values = values};
    noe_status status = visit_rows(db, s, &row, values, fn, ctx, err);
    free(names);
    free(values);
    return status;
}

noe_status noe_ruledb_query(noe_ruledb *db, const char *sql, const char *const *args,
                            int n_args, noe_query_fn *fn, void *ctx, noe_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->connection, sql, -1, &s, NULL);
    for (int i = 0; i < n_args && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_text(s, i + 1, args[i], -1, SQLITE_TRANSIENT);
    noe_status status =
        rc == SQLITE_OK ? run_query(db, s, fn, ctx, err)
                        : noe_sqlite_fail(db->connection, db->path, rc, "query", err);
    sqlite3_finalize(s);
    return status;
}
