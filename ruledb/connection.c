/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening, transactions, and what went wrong in words.
 *
 * The file is in WAL mode: readers do not block the writer. A reader too opens the file
 * for writing where it may, with query_only set: only such a connection can remove the
 * -wal and -shm files again when it is the last to close. Where the folder cannot be
 * written (a rule set installed for all users) WAL needs files that cannot be made;
 * then the file is opened as immutable, which is right as long as nobody writes to it,
 * and is refused while a -wal file holds writes that are not in the main file.
 *
 * A failing statement can make SQLite end the whole transaction (full disk, I/O error).
 * is_in_batch remembers that a batch was begun, so that later writes of a batch that is
 * gone fail instead of landing one by one.
 */
#include "ruledb/internal.h"
#include "core/base/mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Primary result codes that deserve more than SQLite's own words. */
static const struct {
    int code;
    noe_status status;
    const char *advice;
} advices[] = {
    {SQLITE_BUSY, NOE_ERR_DB,
     "locked by another process; wait until it has finished and try again"},
    {SQLITE_LOCKED, NOE_ERR_DB, "locked by another statement of this program"},
    {SQLITE_CORRUPT, NOE_ERR_DB,
     "the database is damaged; take a copy from before, or save what can be read with "
     "`sqlite3 FILE .recover`"},
    {SQLITE_NOTADB, NOE_ERR_DB, "not a SQLite database; is the path right?"},
    {SQLITE_READONLY, NOE_ERR_IO,
     "the file or its folder cannot be written; copy it to a folder that can"},
    {SQLITE_CANTOPEN, NOE_ERR_IO,
     "cannot be opened; does the folder exist and may it be written?"},
    {SQLITE_FULL, NOE_ERR_IO,
     "the disk is full; what was being written was undone, what was stored before is "
     "kept: "
     "free space and run again"},
    {SQLITE_IOERR, NOE_ERR_IO,
     "reading or writing the file failed; what was being written was undone"},
    {SQLITE_TOOBIG, NOE_ERR_LIMIT, "a value is longer than 16 MiB"},
    {SQLITE_CONSTRAINT, NOE_ERR_ARG, "refused by the schema"},
};

noe_status noe_sqlite_fail(sqlite3 *connection, const char *path, int rc,
                           const char *what, noe_error *err)
{
    const char *detail = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(rc);
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        if (advices[i].code == (rc & 0xff))
            return noe_fail(err, advices[i].status, "%s: %s: %s (%s)", path, what,
                            advices[i].advice, detail);
    }
    return noe_fail(err, NOE_ERR_DB, "%s: %s: %s", path, what, detail);
}

noe_status noe_sqlite_exec(sqlite3 *connection, const char *path, const char *sql,
                           noe_error *err)
{
    int rc = sqlite3_exec(connection, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return NOE_OK;
    return noe_sqlite_fail(connection, path, rc, "rule database", err);
}

noe_status noe_sqlite_int(sqlite3 *connection, const char *path, const char *sql,
                          int64_t *value, noe_error *err)
{
    sqlite3_stmt *s = NULL;
    *value = 0;
    int rc = sqlite3_prepare_v2(connection, sql, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    noe_status status = NOE_OK;
    if (rc == SQLITE_ROW)
        *value = sqlite3_column_int64(s, 0);
    else if (rc != SQLITE_DONE)
        status =
            noe_sqlite_fail(connection, path, rc, "reading the rule database", err);
    sqlite3_finalize(s);
    return status;
}

/* --- opening --- */

static noe_status check_path(const char *path, noe_ruledb_mode mode, bool *exists,
                             noe_error *err)
{
    struct stat st;
    *exists = false;
    if (!*path)
        return noe_fail(err, NOE_ERR_ARG, "the path of the rule database is empty");
    if (strcmp(path, ":memory:") == 0)
        return NOE_OK;
    if (stat(path, &st) == 0) {
        *exists = true;
        if (S_ISDIR(st.st_mode))
            return noe_fail(err, NOE_ERR_IO, "%s: a folder, not a rule database", path);
        if (!S_ISREG(st.st_mode))
            return noe_fail(err, NOE_ERR_IO, "%s: not a regular file", path);
        if (st.st_size == 0 && mode == NOE_RULEDB_WRITE)
            return noe_fail(err, NOE_ERR_DB, "%s: an empty file, not a rule database",
                            path);
        return NOE_OK;
    }
    if (mode == NOE_RULEDB_CREATE && errno == ENOENT)
        return NOE_OK;
    return noe_fail(err, NOE_ERR_IO, "%s: %s%s", path, strerror(errno),
                    errno == ENOENT ? " (noether-generate --db makes a rule database)"
                                    : "");
}

/* path as a URI; everything but plain characters is escaped. */
static void print_uri(noe_buf *b, const char *path, const char *query)
{
    noe_buf_puts(b, "file:");
    while (path[0] == '/' && path[1] == '/') /* "//" would begin a host name */
        path++;
    for (const char *p = path; *p; p++) {
        unsigned char ch = (unsigned char)*p;
        if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
            (ch >= '0' && ch <= '9') || strchr("/._-", ch))
            noe_buf_add(b, p, 1);
        else
            noe_buf_printf(b, "%%%02x", ch);
    }
    noe_buf_puts(b, query);
}

static noe_status connect_to(noe_ruledb *db, const char *uri, int flags, int busy_ms,
                             noe_error *err)
{
    int rc = sqlite3_open_v2(uri, &db->connection,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    if (rc != SQLITE_OK)
        return noe_sqlite_fail(db->connection, db->path, rc, "rule database", err);
    sqlite3_extended_result_codes(db->connection, 1);
    sqlite3_busy_timeout(db->connection, busy_ms);
    sqlite3_limit(db->connection, SQLITE_LIMIT_LENGTH, NOE_RULEDB_MAX_VALUE_BYTES);
    sqlite3_db_config(db->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return noe_sqlite_exec(db->connection, db->path,
                           "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"
                           "PRAGMA cell_size_check = ON",
                           err);
}

static void disconnect(noe_ruledb *db)
{
    for (int i = 0; i < NOE_SQL_COUNT; i++)
        sqlite3_finalize(db->statements[i]);
    memset(db->statements, 0, sizeof db->statements);
    int rc = sqlite3_close(db->connection);
    NOE_ASSERT(rc == SQLITE_OK); /* busy would be a statement that we lost */
    db->connection = NULL;
}

/* The change of mode needs the file alone for a moment, and SQLite does not wait for
 * that by itself. In a file that is in WAL mode already it does nothing. */
static noe_status enter_wal_mode(noe_ruledb *db, int busy_ms, noe_error *err)
{
    enum { STEP_MS = 5 };
    int rc;
    for (int waited = 0;; waited += STEP_MS) {
        rc =
            sqlite3_exec(db->connection, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if ((rc & 0xff) != SQLITE_BUSY || waited >= busy_ms)
            break;
        sqlite3_sleep(STEP_MS);
    }
    if (rc == SQLITE_OK)
        return NOE_OK;
    return noe_sqlite_fail(db->connection, db->path, rc, "rule database", err);
}

static noe_status open_for_writing(noe_ruledb *db, const char *uri,
                                   noe_ruledb_mode mode, int busy_ms, noe_error *err)
{
    int flags = SQLITE_OPEN_READWRITE;
    if (mode == NOE_RULEDB_CREATE)
        flags |= SQLITE_OPEN_CREATE;
    NOE_TRY(connect_to(db, uri, flags, busy_ms, err));
    /* SQLite falls back to reading when the file is write-protected. */
    if (sqlite3_db_readonly(db->connection, "main") == 1)
        return noe_sqlite_fail(NULL, db->path, SQLITE_READONLY, "rule database", err);
    NOE_TRY(
        noe_schema_bring_up(db->connection, db->path, &noe_ruledb_schema, true, err));
    return enter_wal_mode(db, busy_ms, err);
}

static noe_status open_for_reading(noe_ruledb *db, const char *uri, int flags,
                                   int busy_ms, noe_error *err)
{
    NOE_TRY(connect_to(db, uri, flags, busy_ms, err));
    NOE_TRY(noe_sqlite_exec(db->connection, db->path, "PRAGMA query_only = ON", err));
    return noe_schema_bring_up(db->connection, db->path, &noe_ruledb_schema, false,
                               err);
}

static bool has_pending_wal(const char *path)
{
    struct stat st;
    noe_buf wal = {0};
    noe_buf_printf(&wal, "%s-wal", path);
    bool pending = stat(wal.text, &st) == 0 && st.st_size > 0;
    noe_buf_clear(&wal);
    return pending;
}

static noe_status open_immutable(noe_ruledb *db, noe_error *err)
{
    if (has_pending_wal(db->path))
        return noe_fail(
            err, NOE_ERR_IO,
            "%s: the folder cannot be written, and %s-wal holds rows that are "
            "not yet in the file; open it once where it can be written",
            db->path, db->path);
    noe_buf uri = {0};
    print_uri(&uri, db->path, "?immutable=1");
    disconnect(db);
    noe_status status = open_for_reading(db, uri.text, SQLITE_OPEN_READONLY, 0, err);
    noe_buf_clear(&uri);
    return status;
}

static noe_status open_database(noe_ruledb *db, const char *uri, noe_ruledb_mode mode,
                                int busy_ms, noe_error *err)
{
    if (mode != NOE_RULEDB_READ)
        return open_for_writing(db, uri, mode, busy_ms, err);
    noe_status status = open_for_reading(db, uri, SQLITE_OPEN_READWRITE, busy_ms, err);
    int rc = db->connection ? sqlite3_errcode(db->connection) & 0xff : SQLITE_OK;
    if (status == NOE_ERR_IO && (rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY) &&
        access(db->path, R_OK) == 0)
        return open_immutable(db, err);
    return status;
}

/* Removes the empty file that a failed creation leaves behind. */
static void remove_if_empty(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        (void)unlink(path);
}

noe_status noe_ruledb_open_waiting(const char *path, noe_ruledb_mode mode, int busy_ms,
                                   noe_ruledb **out, noe_error *err)
{
    *out = NULL;
    bool exists;
    NOE_TRY(check_path(path, mode, &exists, err));
    noe_ruledb *db = noe_calloc(1, sizeof *db);
    db->path = noe_strdup(path);
    db->is_read_only = mode == NOE_RULEDB_READ;
    noe_buf uri = {0};
    if (strcmp(path, ":memory:") == 0)
        noe_buf_puts(&uri, path);
    else
        print_uri(&uri, path, "");
    noe_error why = {0};
    noe_status status = open_database(db, uri.text, mode, busy_ms, &why);
    noe_buf_clear(&uri);
    if (status == NOE_OK) {
        *out = db;
        return NOE_OK;
    }
    noe_ruledb_close(db);
    if (!exists)
        remove_if_empty(path);
    return noe_fail(err, status, "%s", why.text);
}

const char *noe_ruledb_library(void)
{
    static char text[32];
    snprintf(text, sizeof text, "SQLite %s", sqlite3_libversion());
    return text;
}

noe_status noe_ruledb_open(const char *path, noe_ruledb_mode mode, noe_ruledb **db,
                           noe_error *err)
{
    return noe_ruledb_open_waiting(path, mode, NOE_RULEDB_BUSY_MS, db, err);
}

void noe_ruledb_close(noe_ruledb *db)
{
    if (!db)
        return;
    if (db->connection)
        noe_ruledb_rollback(db);
    disconnect(db);
    free(db->path);
    free(db);
}

/* --- transactions --- */

/* A batch that SQLite ended on its own is still a batch, in which nothing can be done.
 */
static noe_status check_batch(noe_ruledb *db, noe_error *err)
{
    if (db->is_in_batch && sqlite3_get_autocommit(db->connection))
        return noe_fail(
            err, NOE_ERR_DB,
            "%s: the batch was undone after an earlier error; nothing of it is "
            "stored",
            db->path);
    return NOE_OK;
}

noe_status noe_ruledb_begin(noe_ruledb *db, noe_error *err)
{
    NOE_ASSERT(!db->is_in_batch);
    NOE_TRY(noe_sqlite_exec(db->connection, db->path, "BEGIN IMMEDIATE", err));
    db->is_in_batch = true;
    return NOE_OK;
}

noe_status noe_ruledb_commit(noe_ruledb *db, noe_error *err)
{
    NOE_ASSERT(db->is_in_batch);
    noe_status status = check_batch(db, err);
    if (status == NOE_OK)
        status = noe_sqlite_exec(db->connection, db->path, "COMMIT", err);
    if (status != NOE_OK)
        noe_ruledb_rollback(db);
    db->is_in_batch = false;
    return status;
}

void noe_ruledb_rollback(noe_ruledb *db)
{
    if (!sqlite3_get_autocommit(db->connection))
        (void)sqlite3_exec(db->connection, "ROLLBACK", NULL, NULL, NULL);
    db->is_in_batch = false;
}

noe_status noe_ruledb_enter(noe_ruledb *db, noe_error *err)
{
    NOE_TRY(check_batch(db, err));
    return noe_sqlite_exec(db->connection, db->path,
                           db->is_in_batch ? "SAVEPOINT write" : "BEGIN IMMEDIATE",
                           err);
}

noe_status noe_ruledb_leave(noe_ruledb *db, noe_status status, noe_error *err)
{
    const char *keep = db->is_in_batch ? "RELEASE write" : "COMMIT";
    const char *undo =
        db->is_in_batch ? "ROLLBACK TO write; RELEASE write" : "ROLLBACK";
    if (status == NOE_OK)
        status = noe_sqlite_exec(db->connection, db->path, keep, err);
    if (status != NOE_OK && !sqlite3_get_autocommit(db->connection))
        (void)sqlite3_exec(db->connection, undo, NULL, NULL, NULL);
    return status;
}
