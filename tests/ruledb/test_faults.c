/* SPDX-License-Identifier: Apache-2.0
 * The world goes wrong: locks, damage, permissions, a full disk, failing writes, kill
 * -9. */
#include "tests/ruledb/fixture.h"
#include "core/op.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "ruledb/internal.h"
#include "ruledb/report.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static noe_error err;

static void setup(void)
{
    err = (noe_error){0};
    fixture_setup();
}

static void close_db(void)
{
    noe_ruledb_close(f.db);
    f.db = NULL;
}

static noe_status count_rule(void *ctx, const noe_rule_row *row, noe_error *e)
{
    (void)row;
    (void)e;
    ++*(int *)ctx;
    return NOE_OK;
}

static noe_status no_candidate(void *ctx, const noe_candidate *c, noe_error *e)
{
    (void)ctx;
    (void)c;
    (void)e;
    return NOE_OK;
}

/* --- locks --- */

START_TEST(test_locked_database)
{
    sqlite3 *other;
    noe_ruledb *db;
    int n = 0;
    fixture_fill();
    close_db();
    ck_assert_int_eq(sqlite3_open(f.path, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    noe_assert_ok(noe_ruledb_open_waiting(f.path, NOE_RULEDB_WRITE, 20, &db, &err),
                  err);
    noe_assert_fails(noe_ruledb_begin(db, &err), NOE_ERR_DB, err, "locked by another");
    ck_assert(noe_contains(err.text, f.path));
    noe_assert_fails(noe_ruledb_add_axiom(db, 1, "p", "t", &err), NOE_ERR_DB, err,
                     "locked by another");
    noe_assert_ok(noe_ruledb_each_rule(db, noe_op_table_hash(), count_rule, &n, &err),
                  err);
    ck_assert_int_eq(n, 4);
    ck_assert_int_eq(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    noe_assert_ok(noe_ruledb_add_axiom(db, 1, "p", "t", &err), err);
    noe_ruledb_close(db);
    sqlite3_close(other);
}
END_TEST

/* --- damage --- */

/* Everything that reads; 0 if nothing at all was noticed. Must never crash or hang. */
static int read_everything(void)
{
    noe_ruledb *db;
    noe_buf out = {0};
    noe_report_options o = {.level = -1, .limit = -1};
    int n = 0, n_problems = 0;
    if (noe_ruledb_open_waiting(f.path, NOE_RULEDB_READ, 20, &db, &err) != NOE_OK) {
        ck_assert_msg(*err.text, "no message");
        return 1;
    }
    int noticed =
        noe_ruledb_each_rule(db, noe_op_table_hash(), count_rule, &n, &err) != NOE_OK;
    noticed |=
        noe_ruledb_each_open_candidate(db, 1, 1, no_candidate, NULL, &err) != NOE_OK;
    noticed |= noe_report_stats(db, &o, &out, &err) != NOE_OK;
    noticed |= noe_report_list(db, &o, &out, &err) != NOE_OK;
    noticed |=
        noe_report_check(db, &out, &n_problems, &err) != NOE_OK || n_problems > 0;
    noe_buf_clear(&out);
    noe_ruledb_close(db);
    return noticed;
}

static char *read_file(size_t *len)
{
    char *bytes;
    noe_assert_ok(noe_file_read(f.path, 1 << 24, &bytes, len, &err), err);
    return bytes;
}

static void write_file(const char *bytes, size_t len)
{
    noe_assert_ok(noe_file_write(f.path, bytes, len, &err), err);
}

START_TEST(test_truncated_file_is_noticed)
{
    size_t len;
    fixture_fill();
    close_db();
    char *bytes = read_file(&len);
    ck_assert_int_eq(read_everything(), 0);
    for (size_t n = 1; n < len; n += n < 4096 ? 97 : 1024) {
        write_file(bytes, n);
        ck_assert_msg(read_everything(), "cut to %zu of %zu bytes: not noticed", n,
                      len);
    }
    free(bytes);
}
END_TEST

/* A damaged byte may hit unused space; what matters is that nothing crashes and that
 * damage to a page's structure is noticed. */
START_TEST(test_damaged_bytes_never_crash)
{
    size_t len;
    int n_noticed = 0;
    fixture_fill();
    close_db();
    char *bytes = read_file(&len);
    for (uint64_t i = 0; i < 200; i++) {
        noe_rng rng = noe_rng_split(1, "damage", i);
        char *copy = noe_malloc(len);
        memcpy(copy, bytes, len);
        for (int k = 0; k < 20; k++)
            copy[noe_rng_below(&rng, len)] = (char)noe_rng_next(&rng);
        write_file(copy, len);
        n_noticed += read_everything();
        free(copy);
    }
    ck_assert_int_gt(n_noticed, 20);
    free(bytes);
}
END_TEST

START_TEST(test_damaged_page_has_a_message)
{
    size_t len;
    noe_ruledb *db;
    int n = 0;
    fixture_fill();
    int64_t page =
        fixture_int("SELECT rootpage FROM sqlite_schema WHERE name = 'rule'");
    int64_t page_bytes = fixture_int("PRAGMA page_size");
    close_db();
    char *bytes = read_file(&len);
    memset(bytes + (page - 1) * page_bytes, 0x5a, (size_t)page_bytes);
    write_file(bytes, len);
    noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_READ, &db, &err), err);
    noe_assert_fails(
        noe_ruledb_each_rule(db, noe_op_table_hash(), count_rule, &n, &err), NOE_ERR_DB,
        err, "damaged");
    ck_assert(noe_contains(err.text, ".recover"));
    noe_ruledb_close(db);
    free(bytes);
}
END_TEST

static const struct {
    const char *command; /* makes or removes x in the folder */
    noe_ruledb_mode mode;
    noe_status status;
    const char *message;
} bad_files[] = {
    {"echo 'this is no database, however long it may be' > x", NOE_RULEDB_READ,
     NOE_ERR_DB, "not a SQLite database"},
    {"seq 1 2000 > x", NOE_RULEDB_CREATE, NOE_ERR_DB, "not a SQLite database"},
    {"touch x", NOE_RULEDB_READ, NOE_ERR_DB, "an empty file"},
    {"touch x", NOE_RULEDB_WRITE, NOE_ERR_DB, "an empty file"},
    {"mkdir x", NOE_RULEDB_CREATE, NOE_ERR_IO, "a folder"},
    {"mkfifo x", NOE_RULEDB_READ, NOE_ERR_IO, "not a regular file"},
    {"true", NOE_RULEDB_READ, NOE_ERR_IO, "No such file"},
    {"true", NOE_RULEDB_WRITE, NOE_ERR_IO, "noether-generate"},
    {"ln -s nowhere/y x", NOE_RULEDB_CREATE, NOE_ERR_IO, "cannot be opened"},
};

START_TEST(test_what_is_no_database)
{
    char path[256], command[400];
    noe_ruledb *db;
    snprintf(command, sizeof command, "cd '%s' && %s", f.folder, bad_files[_i].command);
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/x", f.folder);
    noe_assert_fails(noe_ruledb_open(path, bad_files[_i].mode, &db, &err),
                     bad_files[_i].status, err, bad_files[_i].message);
    ck_assert(noe_contains(err.text, path));
    ck_assert_ptr_null(db);
}
END_TEST

START_TEST(test_empty_path_and_missing_folder)
{
    noe_ruledb *db;
    noe_assert_fails(noe_ruledb_open("", NOE_RULEDB_CREATE, &db, &err), NOE_ERR_ARG,
                     err, "empty");
    noe_assert_fails(
        noe_ruledb_open("/nonexistent/folder/x.db", NOE_RULEDB_CREATE, &db, &err),
        NOE_ERR_IO, err, "does the folder exist");
}
END_TEST

/* Names that a URI would read otherwise. */
START_TEST(test_odd_names)
{
    static const char *const names[] = {"a b?mode=ro.db", "100%41#x.db", "file:x.db",
                                        "\xc3\xa4.db"};
    char path[400];
    struct stat st;
    noe_ruledb *db;
    snprintf(path, sizeof path, "/%s//%s", f.folder, names[_i]);
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_CREATE, &db, &err), err);
    noe_ruledb_close(db);
    ck_assert_int_eq(stat(path, &st), 0);
    noe_assert_ok(noe_ruledb_open(path, NOE_RULEDB_READ, &db, &err), err);
    noe_ruledb_close(db);
}
END_TEST

START_TEST(test_memory_database)
{
    noe_ruledb *db;
    noe_assert_ok(noe_ruledb_open(":memory:", NOE_RULEDB_CREATE, &db, &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(db, 1, "p", "t", &err), err);
    noe_ruledb_close(db);
    ck_assert_int_ne(access(":memory:", F_OK), 0);
}
END_TEST

/* --- permissions: in a child, because root may do everything --- */

typedef int child_fn(void);

static int run_unprivileged(child_fn *fn)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        int code = fn();
        if (code)
            fprintf(stderr, "child: %d: %s\n", code, err.text);
        _exit(code);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int child_reads_and_cannot_write(void)
{
    noe_ruledb *db;
    int n = 0;
    if (noe_ruledb_open(f.path, NOE_RULEDB_READ, &db, &err) != NOE_OK)
        return 1;
    if (noe_ruledb_each_rule(db, noe_op_table_hash(), count_rule, &n, &err) != NOE_OK)
        return 2;
    noe_ruledb_close(db);
    if (n != 4)
        return 3;
    if (noe_ruledb_open(f.path, NOE_RULEDB_CREATE, &db, &err) != NOE_ERR_IO)
        return 4;
    return noe_contains(err.text, "cannot be written") && noe_contains(err.text, f.path)
               ? 0
               : 5;
}

static int child_is_refused_for_the_wal(void)
{
    noe_ruledb *db;
    if (noe_ruledb_open(f.path, NOE_RULEDB_READ, &db, &err) != NOE_ERR_IO)
        return 1;
    return noe_contains(err.text, "-wal") ? 0 : 2;
}

static void protect(int file_mode)
{
    ck_assert_int_eq(chmod(f.path, (mode_t)file_mode), 0);
    ck_assert_int_eq(chmod(f.folder, 0555), 0);
}

START_TEST(test_read_only_folder)
{
    char command[400];
    char *listing;
    fixture_fill();
    close_db();
    protect(0444);
    ck_assert_int_eq(run_unprivileged(child_reads_and_cannot_write), 0);
    snprintf(command, sizeof command, "ls '%s'", f.folder);
    ck_assert_int_eq(noe_run_command(command, &listing), 0);
    ck_assert_str_eq(listing, "rules.db\n");
    free(listing);
    chmod(f.folder, 0755);
}
END_TEST

/* The folder as the crash of a writer leaves it: rows in the -wal file only. */
START_TEST(test_read_only_folder_with_unfinished_writes)
{
    char command[700];
    fixture_fill();
    snprintf(command, sizeof command,
             "cd '%s' && mkdir old && cp rules.db rules.db-wal old/", f.folder);
    ck_assert_int_eq(system(command), 0);
    close_db();
    snprintf(command, sizeof command,
             "cd '%s' && rm -f rules.db* && mv old/* . && rmdir old", f.folder);
    ck_assert_int_eq(system(command), 0);
    protect(0444);
    ck_assert_int_eq(run_unprivileged(child_is_refused_for_the_wal), 0);
    chmod(f.folder, 0755);
}
END_TEST

/* --- full disk --- */

START_TEST(test_full_disk_undoes_the_batch)
{
    fixture_fill();
    int64_t n_before = fixture_int("SELECT count(*) FROM axiom");
    ck_assert_int_eq(
        sqlite3_exec(f.db->connection, "PRAGMA max_page_count = 60", NULL, NULL, NULL),
        SQLITE_OK);
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_status status = NOE_OK;
    char name[40], text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    int n = 0;
    for (; n < 1000 && status == NOE_OK; n++) {
        snprintf(name, sizeof name, "axiom-%d", n);
        status = noe_ruledb_add_axiom(f.db, 1, name, text, &err);
    }
    ck_assert_int_gt(n, 1);
    noe_assert_fails(status, NOE_ERR_IO, err, "disk is full");
    ck_assert(noe_contains(err.text, f.path));
    /* A caller that goes on all the same must not store half a batch. */
    if (sqlite3_get_autocommit(f.db->connection)) {
        noe_assert_fails(noe_ruledb_add_axiom(f.db, 2, "p", "t", &err), NOE_ERR_DB, err,
                         "batch was undone");
        noe_assert_fails(noe_ruledb_commit(f.db, &err), NOE_ERR_DB, err,
                         "batch was undone");
    }
    noe_ruledb_rollback(f.db);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM axiom"), n_before);
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM pragma_integrity_check"
                                 " WHERE integrity_check <> 'ok'"),
                     0);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 2, "p", "t", &err), err);
}
END_TEST

/* What SQLite does by itself on some I/O errors: the transaction ends under us. */
START_TEST(test_batch_that_sqlite_ended)
{
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 1, "p", "t", &err), err);
    ck_assert_int_eq(sqlite3_exec(f.db->connection, "ROLLBACK", NULL, NULL, NULL),
                     SQLITE_OK);
    noe_assert_fails(noe_ruledb_add_axiom(f.db, 1, "q", "t", &err), NOE_ERR_DB, err,
                     "batch was undone");
    noe_assert_fails(noe_ruledb_commit(f.db, &err), NOE_ERR_DB, err,
                     "batch was undone");
    ck_assert_int_eq(fixture_int("SELECT count(*) FROM axiom"), 0);
    noe_assert_ok(noe_ruledb_begin(f.db, &err), err);
    noe_assert_ok(noe_ruledb_add_axiom(f.db, 1, "q", "t", &err), err);
    noe_assert_ok(noe_ruledb_commit(f.db, &err), err);
}
END_TEST

/* --- the n-th write to the disk fails --- */

/* A file system that is SQLite's own, but fails write or sync number `fail_at`, and all
 * later ones: a disk that is gone does not come back. */
static sqlite3_vfs faulty_vfs;
static int (*real_open)(sqlite3_vfs *, sqlite3_filename, sqlite3_file *, int, int *);
static int n_writes, fail_at, fail_code;

/* SQLite has several tables of methods; each gets a faulty copy when first seen. */
static struct {
    const sqlite3_io_methods *real;
    sqlite3_io_methods faulty;
} methods[4];

static const sqlite3_io_methods *real_methods(const sqlite3_file *file)
{
    for (int i = 0; i < 4; i++) {
        if (file->pMethods == &methods[i].faulty)
            return methods[i].real;
    }
    ck_abort_msg("a file that faulty_open did not open");
}

static int count_write(void)
{
    n_writes++;
    return fail_at && n_writes >= fail_at ? fail_code : SQLITE_OK;
}

static int faulty_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    int rc = count_write();
    return rc ? rc : real_methods(file)->xWrite(file, data, n, at);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return count_write() ? SQLITE_IOERR_FSYNC : real_methods(file)->xSync(file, flags);
}

static int faulty_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file,
                       int flags, int *out_flags)
{
    int rc = real_open(vfs, name, file, flags, out_flags);
    if (!file->pMethods)
        return rc;
    int i = 0;
    while (methods[i].real && methods[i].real != file->pMethods)
        i++;
    ck_assert_int_lt(i, 4);
    methods[i].real = file->pMethods;
    methods[i].faulty = *methods[i].real;
    methods[i].faulty.xWrite = faulty_write;
    methods[i].faulty.xSync = faulty_sync;
    file->pMethods = &methods[i].faulty;
    return rc;
}

static void install_faulty_vfs(void)
{
    faulty_vfs = *sqlite3_vfs_find(NULL);
    real_open = faulty_vfs.xOpen;
    faulty_vfs.xOpen = faulty_open;
    faulty_vfs.zName = "faulty";
    ck_assert_int_eq(sqlite3_vfs_register(&faulty_vfs, 1), SQLITE_OK);
}

/* Creates a database and commits two batches of three. */
static noe_status create_and_fill(int *n_committed)
{
    noe_ruledb *db;
    noe_status status = noe_ruledb_open(f.path, NOE_RULEDB_CREATE, &db, &err);
    for (int batch = 0; batch < 2 && status == NOE_OK; batch++) {
        status = noe_ruledb_begin(db, &err);
        for (int i = 0; i < 3 && status == NOE_OK; i++)
            status =
                noe_ruledb_add_axiom(db, (uint64_t)(batch * 3 + i), "p", "text", &err);
        if (status == NOE_OK)
            status = noe_ruledb_commit(db, &err);
        *n_committed += status == NOE_OK ? 3 : 0;
    }
    noe_ruledb_close(db);
    return status;
}

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 4; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s%s", f.path, ends[i]);
        (void)unlink(path);
    }
}

START_TEST(test_every_failing_write_is_survived)
{
    close_db();
    install_faulty_vfs();
    fail_code = _i ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    int n_failed = 0;
    for (int n = 1;; n++) {
        int n_committed = 0;
        remove_files();
        n_writes = 0;
        fail_at = n;
        noe_status status = create_and_fill(&n_committed);
        bool is_hit = n_writes >= n;
        fail_at = 0;
        n_failed += status != NOE_OK;
        ck_assert_msg(status == NOE_OK || *err.text, "write %d: no message", n);
        /* The disk is back: the file opens, and has what was committed, in whole
         * batches. */
        noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_CREATE, &f.db, &err), err);
        close_db();
        int64_t n_found = fixture_int("SELECT count(*) FROM axiom");
        ck_assert_msg(n_found % 3 == 0 && n_found >= n_committed,
                      "write %d fails: %d rows committed, %d found", n, n_committed,
                      (int)n_found);
        ck_assert_int_eq(fixture_int("SELECT count(*) FROM pragma_integrity_check"
                                     " WHERE integrity_check <> 'ok'"),
                         0);
        if (!is_hit)
            break;
        ck_assert_int_lt(n, 2000);
    }
    ck_assert_int_gt(n_failed, 10);
    sqlite3_vfs_unregister(&faulty_vfs);
}
END_TEST

/* --- kill -9 --- */

/* Commits batches of 5 and says so on the pipe, for ever. */
_Noreturn static void write_batches(int pipe_end)
{
    noe_ruledb *db;
    char name[40];
    if (noe_ruledb_open(f.path, NOE_RULEDB_WRITE, &db, &err) != NOE_OK)
        _exit(1);
    for (int n = 0;; n++) {
        noe_status status = noe_ruledb_begin(db, &err);
        for (int i = 0; i < 5 && status == NOE_OK; i++) {
            snprintf(name, sizeof name, "a%d-%d-%d", (int)getpid(), n, i);
            status = noe_ruledb_add_axiom(db, 1, name, "text", &err);
        }
        if (status == NOE_OK)
            status = noe_ruledb_commit(db, &err);
        if (status != NOE_OK || write(pipe_end, "x", 1) != 1)
            _exit(1);
    }
}

START_TEST(test_kill_during_a_batch)
{
    int64_t n_least = 0;
    close_db();
    for (int round = 0; round < 10; round++) {
        int ends[2];
        char byte;
        ck_assert_int_eq(pipe(ends), 0);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            write_batches(ends[1]);
        close(ends[1]);
        for (int i = 0; i <= round; i++)
            ck_assert_int_eq(read(ends[0], &byte, 1), 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ends[0]);
        n_least += 5 * (round + 1);
        noe_assert_ok(noe_ruledb_open(f.path, NOE_RULEDB_WRITE, &f.db, &err), err);
        close_db();
        int64_t n = fixture_int("SELECT count(*) FROM axiom");
        ck_assert_msg(n % 5 == 0 && n >= n_least, "round %d: %d rows, want at least %d",
                      round, (int)n, (int)n_least);
        ck_assert_int_eq(fixture_int("SELECT count(*) FROM pragma_integrity_check"
                                     " WHERE integrity_check <> 'ok'"),
                         0);
        n_least = n;
    }
}
END_TEST

#define N(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

Suite *suite_faults(void);
Suite *suite_faults(void)
{
    Suite *s = suite_create("ruledb.faults");
    TCase *tc = tcase_create("faults");
    tcase_add_checked_fixture(tc, setup, fixture_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_locked_database);
    tcase_add_test(tc, test_truncated_file_is_noticed);
    tcase_add_test(tc, test_damaged_bytes_never_crash);
    tcase_add_test(tc, test_damaged_page_has_a_message);
    tcase_add_loop_test(tc, test_what_is_no_database, 0, N(bad_files));
    tcase_add_test(tc, test_empty_path_and_missing_folder);
    tcase_add_loop_test(tc, test_odd_names, 0, 4);
    tcase_add_test(tc, test_memory_database);
    tcase_add_test(tc, test_read_only_folder);
    tcase_add_test(tc, test_read_only_folder_with_unfinished_writes);
    tcase_add_test(tc, test_full_disk_undoes_the_batch);
    tcase_add_test(tc, test_batch_that_sqlite_ended);
    tcase_add_loop_test(tc, test_every_failing_write_is_survived, 0, 2);
    tcase_add_test(tc, test_kill_during_a_batch);
    suite_add_tcase(s, tc);
    return s;
}
