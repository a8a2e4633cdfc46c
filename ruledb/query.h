/* SPDX-License-Identifier: Apache-2.0
 *
 * Ad hoc questions to a rule database, for programs that print answers (noether-rules,
 * bench): any single SELECT, its rows as text.
 */
#ifndef NOE_RULEDB_QUERY_H
#define NOE_RULEDB_QUERY_H

#include "ruledb/ruledb.h"

typedef struct noe_query_row {
    int n;
    const char *const *names;
    const char *const *values; /* NULL for SQL NULL; numbers as SQLite prints them */
} noe_query_row;

typedef noe_status noe_query_fn(void *ctx, const noe_query_row *row, noe_error *err);

/* Runs one read-only statement. Its parameters ?1, ?2, ... are bound to args as texts
 * (compare numbers with CAST or with columns of numeric type). Values must be free of
 * NUL bytes. fn's failure ends the query. */
NOE_NODISCARD noe_status noe_ruledb_query(noe_ruledb *db, const char *sql,
                                          const char *const *args, int n_args,
                                          noe_query_fn *fn, void *ctx, noe_error *err);

#endif
