/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share: the connection, prepared statements, the schema
 * and its migrations, and SQLite's result codes in words.
 */
#ifndef NOE_RULEDB_INTERNAL_H
#define NOE_RULEDB_INTERNAL_H

#include "ruledb/ruledb.h"
#include <sqlite3.h>

/* How long a call waits for another process's lock. */
#define NOE_RULEDB_BUSY_MS 10000
/* No text of ours comes near; bounds what a hostile file makes us allocate. */
#define NOE_RULEDB_MAX_VALUE_BYTES (16 << 20)
/* Application id of our files, "Noet": keeps us from writing into a foreign database.
 */
#define NOE_RULEDB_APPLICATION_ID 0x4e6f6574

/* Every statement that the library runs with parameters, prepared on first use. */
typedef enum noe_sql_id {
#define XX(ID, TEXT) NOE_SQL_##ID,
#include "ruledb/statements.def"
    NOE_SQL_COUNT
} noe_sql_id;

struct noe_ruledb {
    sqlite3 *connection;
    char *path;
    bool is_read_only;
    bool is_in_batch;
    sqlite3_stmt *statements[NOE_SQL_COUNT];
    char clock[64]; /* of the row that noe_ruledb_get_cost gave last */
};

/* As noe_ruledb_open, which waits NOE_RULEDB_BUSY_MS. */
NOE_NODISCARD noe_status noe_ruledb_open_waiting(const char *path, noe_ruledb_mode mode,
                                                 int busy_ms, noe_ruledb **db,
                                                 noe_error *err);

/* SQLite's result code as a status and a message with the path and what to do about it.
 * what says what was being done: "storing a rule". */
noe_status noe_sqlite_fail(sqlite3 *connection, const char *path, int rc,
                           const char *what, noe_error *err);
/* Runs SQL without parameters and results. */
NOE_NODISCARD noe_status noe_sqlite_exec(sqlite3 *connection, const char *path,
                                         const char *sql, noe_error *err);
/* First column of the first row as an integer. */
NOE_NODISCARD noe_status noe_sqlite_int(sqlite3 *connection, const char *path,
                                        const char *sql, int64_t *value,
                                        noe_error *err);

/* The schema. steps[i] is the SQL that takes version i to version i + 1, version 0
 * being an empty file; the newest version is n_steps. Tests pass steps of their own. */
typedef struct noe_schema {
    const char *const *steps;
    int n_steps;
} noe_schema;
extern const noe_schema noe_ruledb_schema;
/* Brings the file to the newest version if may_change, in one transaction; otherwise an
 * older one is an error. A newer version, a foreign database, and a schema that is not
 * ours always are. */
NOE_NODISCARD noe_status noe_schema_bring_up(sqlite3 *connection, const char *path,
                                             const noe_schema *schema, bool may_change,
                                             noe_error *err);

/* Several writes that land together or not at all, inside or outside a batch. Every
 * write goes through these; leave undoes the writes if status is not NOE_OK, and
 * returns status or its own failure. */
NOE_NODISCARD noe_status noe_ruledb_enter(noe_ruledb *db, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_leave(noe_ruledb *db, noe_status status,
                                          noe_error *err);

/* One use of a prepared statement. Parameters are bound in order, columns are read by
 * number; the first mistake is kept and reported by the next noe_sql_step or
 * noe_sql_check, so that callers test once. */
typedef struct noe_sql {
    noe_ruledb *db;
    sqlite3_stmt *statement;
    const char *what;
    int n_bound;
    noe_error bad; /* status NOE_OK if there is none */
} noe_sql;
NOE_NODISCARD noe_status noe_sql_start(noe_ruledb *db, noe_sql_id id, const char *what,
                                       noe_sql *q, noe_error *err);
void noe_sql_text(noe_sql *q, const char *value); /* NULL is "" */
void noe_sql_int(noe_sql *q, int64_t value);
void noe_sql_real(noe_sql *q, double value); /* refuses NaN */
void noe_sql_hash(noe_sql *q, uint64_t value);
NOE_NODISCARD noe_status noe_sql_step(noe_sql *q, bool *has_row, noe_error *err);
/* Columns of the current row; a value of another type than asked for is a mistake. */
const char *noe_sql_get_text(noe_sql *q, int column);
int64_t noe_sql_get_int(noe_sql *q, int column);
double noe_sql_get_real(noe_sql *q, int column);
NOE_NODISCARD noe_status noe_sql_check(const noe_sql *q, noe_error *err);
void noe_sql_finish(noe_sql *q); /* ready for the next use; also after failures */
/* Steps a statement without rows, and finishes it. */
NOE_NODISCARD noe_status noe_sql_run(noe_sql *q, noe_error *err);

/* 16 hex digits and NUL. */
void noe_ruledb_hash_text(uint64_t hash, char text[17]);

#endif
