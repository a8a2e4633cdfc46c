/* SPDX-License-Identifier: Apache-2.0
 *
 * A small database with a bit of everything: two generate runs' worth of candidates, a
 * verify run with all four verdicts, rules with axioms, costs.
 */
#ifndef NOE_TESTS_RULEDB_FIXTURE_H
#define NOE_TESTS_RULEDB_FIXTURE_H

#include "tests/support/support.h"
#include "core/base/hash.h"
#include "ruledb/ruledb.h"
#include <sqlite3.h>

#define FIXTURE_AXIOMS 0x00000000a0a0a0a0u

typedef struct fixture {
    char folder[200];
    char path[256];
    noe_ruledb *db;
    int64_t generate_run, verify_run;
} fixture;

/* Checked fixture functions: an empty database (f.db open for writing), removed after.
 */
extern fixture f;
void fixture_setup(void);
void fixture_teardown(void);
/* Fills f.db and leaves it open. */
void fixture_fill(void);

/* Canonical text (static buffer of its own a call, freed by nobody) and id of a rule.
 */
const char *fixture_canonical(const char *text, char id[NOE_HASH_HEX_LEN + 1]);
/* Adds a candidate; returns its id. */
int64_t fixture_candidate(int64_t run, const char *text, int64_t group, int generality,
                          int level);
/* Adds text's rule for a candidate with a PROVED verdict. */
noe_status fixture_rule(int64_t run, const char *text, int64_t candidate,
                        noe_numeric_class numeric, double max_error, noe_error *err);

/* One connection and statement of SQLite itself, past our library. */
void fixture_exec(const char *sql);
int64_t fixture_int(const char *sql);
/* First column of the first row; "" if there is none. To be freed. */
char *fixture_text(const char *sql);

#endif
