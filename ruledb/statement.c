/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepared statements with sticky errors. The texts are in statements.def; each is
 * prepared once per connection. Columns are checked against the type that the caller
 * asks for: STRICT tables keep wrong types out, but a file can be made by anybody.
 */
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const statement_texts[NOE_SQL_COUNT] = {
#define XX(ID, TEXT) [NOE_SQL_##ID] = TEXT,
#include "ruledb/statements.def"
};

noe_status noe_sql_start(noe_ruledb *db, noe_sql_id id, const char *what, noe_sql *q,
                         noe_error *err)
{
    *q = (noe_sql){.db = db, .what = what};
    sqlite3_stmt **slot = &db->statements[id];
    if (!*slot) {
        int rc = sqlite3_prepare_v3(db->connection, statement_texts[id], -1,
                                    SQLITE_PREPARE_PERSISTENT, slot, NULL);
        if (rc != SQLITE_OK)
            return noe_sqlite_fail(db->connection, db->path, rc, what, err);
    }
    q->statement = *slot;
    return NOE_OK;
}

static void note_bind(noe_sql *q, int rc)
{
    if (rc != SQLITE_OK && q->bad.status == NOE_OK)
        (void)noe_sqlite_fail(q->db->connection, q->db->path, rc, q->what, &q->bad);
}

void noe_sql_text(noe_sql *q, const char *value)
{
    note_bind(q, sqlite3_bind_text(q->statement, ++q->n_bound, value ? value : "", -1,
                                   SQLITE_TRANSIENT));
}

void noe_sql_int(noe_sql *q, int64_t value)
{
    note_bind(q, sqlite3_bind_int64(q->statement, ++q->n_bound, value));
}

void noe_sql_real(noe_sql *q, double value)
{
    q->n_bound++;
    if (isnan(value)) { /* SQLite would store NULL */
        if (q->bad.status == NOE_OK)
            (void)noe_fail(&q->bad, NOE_ERR_ARG,
                           "%s: %s: value %d is not a number (NaN)", q->db->path,
                           q->what, q->n_bound);
        return;
    }
    note_bind(q, sqlite3_bind_double(q->statement, q->n_bound, value));
}

void noe_ruledb_hash_text(uint64_t hash, char text[17])
{
    snprintf(text, 17, "%016llx", (unsigned long long)hash);
}

void noe_sql_hash(noe_sql *q, uint64_t value)
{
    char text[17];
    noe_ruledb_hash_text(value, text);
    noe_sql_text(q, text);
}

noe_status noe_sql_step(noe_sql *q, bool *has_row, noe_error *err)
{
    *has_row = false;
    NOE_TRY(noe_sql_check(q, err));
    int rc = sqlite3_step(q->statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return noe_sqlite_fail(q->db->connection, q->db->path, rc, q->what, err);
    *has_row = rc == SQLITE_ROW;
    return NOE_OK;
}

static bool has_type(noe_sql *q, int column, int want, const char *want_name)
{
    if (sqlite3_column_type(q->statement, column) == want)
        return true;
    if (q->bad.status == NOE_OK)
        (void)noe_fail(&q->bad, NOE_ERR_DB,
                       "%s: damaged or not written by Noether: %s: column %s is not of "
                       "type %s",
                       q->db->path, q->what, sqlite3_column_name(q->statement, column),
                       want_name);
    return false;
}

const char *noe_sql_get_text(noe_sql *q, int column)
{
    if (!has_type(q, column, SQLITE_TEXT, "text"))
        return "";
    const char *text = (const char *)sqlite3_column_text(q->statement, column);
    if (!text) { /* SQLite ran out of memory or over the length limit */
        note_bind(q, sqlite3_errcode(q->db->connection));
        return "";
    }
    if (strlen(text) != (size_t)sqlite3_column_bytes(q->statement, column) &&
        q->bad.status == NOE_OK)
        (void)noe_fail(
            &q->bad, NOE_ERR_DB,
            "%s: damaged or not written by Noether: %s: column %s holds a NUL "
            "byte",
            q->db->path, q->what, sqlite3_column_name(q->statement, column));
    return text;
}

int64_t noe_sql_get_int(noe_sql *q, int column)
{
    if (!has_type(q, column, SQLITE_INTEGER, "integer"))
        return 0;
    return sqlite3_column_int64(q->statement, column);
}

double noe_sql_get_real(noe_sql *q, int column)
{
    if (!has_type(q, column, SQLITE_FLOAT, "real"))
        return 0;
    return sqlite3_column_double(q->statement, column);
}

noe_status noe_sql_check(const noe_sql *q, noe_error *err)
{
    if (q->bad.status != NOE_OK && err)
        *err = q->bad;
    return q->bad.status;
}

void noe_sql_finish(noe_sql *q)
{
    sqlite3_reset(q->statement);
    sqlite3_clear_bindings(q->statement);
}

noe_status noe_sql_run(noe_sql *q, noe_error *err)
{
    bool has_row;
    noe_status status = noe_sql_step(q, &has_row, err);
    noe_sql_finish(q);
    return status;
}
