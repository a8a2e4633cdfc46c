/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/pool.h"
#include "core/base/rng.h"
#include "tests/support/support.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(test_status_texts_and_codes)
{
    ck_assert_str_eq(noe_status_text(NOE_OK), "ok");
    ck_assert_str_eq(noe_status_text(NOE_ERR_CANCELLED), "interrupted");
    static const struct {
        noe_status status;
        int code;
    } want[] = {
        {NOE_OK, 0},          {NOE_ERR_MISMATCH, 1},    {NOE_ERR_ARG, 2},
        {NOE_ERR_PARSE, 3},   {NOE_ERR_SHAPE, 3},       {NOE_ERR_UNSUPPORTED, 3},
        {NOE_ERR_LIMIT, 3},   {NOE_ERR_IO, 4},          {NOE_ERR_DB, 4},
        {NOE_ERR_BACKEND, 5}, {NOE_ERR_CANCELLED, 130},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_int_eq(noe_status_exit_code(want[i].status), want[i].code);
}
END_TEST

START_TEST(test_error_message_and_prefix)
{
    noe_error err = {0};
    ck_assert_int_eq(noe_fail(&err, NOE_ERR_SHAPE, "rank %d", 3), NOE_ERR_SHAPE);
    ck_assert_int_eq(err.status, NOE_ERR_SHAPE);
    noe_error_prefix(&err, "node %d: ", 7);
    ck_assert_str_eq(err.text, "node 7: rank 3");
    /* The old text may be an argument of the new one. */
    noe_fail(&err, NOE_ERR_PARSE, "again: %s", err.text);
    ck_assert_str_eq(err.text, "again: node 7: rank 3");
    ck_assert_int_eq(noe_fail(NULL, NOE_ERR_IO, "nobody listens"), NOE_ERR_IO);
    noe_error_prefix(NULL, "nobody listens");
}
END_TEST

START_TEST(test_error_too_long_is_cut)
{
    noe_error err = {0};
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    noe_fail(&err, NOE_ERR_PARSE, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    noe_error_prefix(&err, "ab: ");
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    ck_assert(strncmp(err.text, "ab: xx", 6) == 0);
    noe_error_prefix(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
}
END_TEST

START_TEST(test_assert_aborts)
{
    NOE_ASSERT(1 + 1 == 3);
}
END_TEST

START_TEST(test_mul_size_overflow)
{
    size_t out = 7;
    ck_assert(noe_mul_size(3, 4, &out));
    ck_assert_uint_eq(out, 12);
    ck_assert(!noe_mul_size(SIZE_MAX / 2, 3, &out));
    ck_assert(noe_mul_size(0, SIZE_MAX, &out));
    ck_assert_uint_eq(out, 0);
}
END_TEST

START_TEST(test_arena_alignment_and_content)
{
    noe_arena a = {0};
    unsigned char *blocks[2000];
    for (size_t i = 0; i < 2000; i++) {
        blocks[i] = noe_arena_alloc(&a, i);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 255), i);
    }
    for (size_t i = 0; i < 2000; i++) {
        unsigned char want[2000];
        memset(want, (int)(i & 255), sizeof want);
        ck_assert_mem_eq(blocks[i], want, i);
    }
    ck_assert_uint_ge(a.used_bytes, 1999 * 1000);
    noe_arena_clear(&a);
    ck_assert_ptr_null(a.head);
    ck_assert_uint_eq(a.used_bytes, 0);
}
END_TEST

START_TEST(test_arena_release_to_mark)
{
    noe_arena a = {0};
    noe_arena_mark empty = noe_arena_save(&a);
    char *kept = noe_arena_strdup(&a, "kept");
    noe_arena_mark mark = noe_arena_save(&a);
    char *first = noe_arena_alloc(&a, 32);
    for (int i = 0; i < 100; i++)
        noe_arena_alloc(&a, 10000);
    noe_arena_release(&a, mark);
    ck_assert_str_eq(kept, "kept");
    ck_assert_uint_eq(a.used_bytes, mark.used_bytes);
    ck_assert_ptr_eq(noe_arena_alloc(&a, 32), first);
    noe_arena_release(&a, empty);
    ck_assert_ptr_null(a.head);
}
END_TEST

START_TEST(test_arena_helpers)
{
    noe_arena a = {0};
    static const unsigned char zeros[5000];
    ck_assert_mem_eq(noe_arena_zalloc(&a, sizeof zeros), zeros, sizeof zeros);
    ck_assert_str_eq(noe_arena_printf(&a, "%s-%d", "x", 12), "x-12");
    int list[] = {1, 2, 3}, *copy = noe_arena_memdup(&a, list, sizeof list);
    ck_assert_mem_eq(copy, list, sizeof list);
    ck_assert_ptr_nonnull(noe_arena_memdup(&a, NULL, 0));
    noe_arena_clear(&a);
}
END_TEST

START_TEST(test_push_grows)
{
    int *items = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 1000; i++)
        NOE_PUSH(items, n, cap, i * i);
    ck_assert_uint_eq(n, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(items[i], i * i);
    free(items);
}
END_TEST

START_TEST(test_buf)
{
    noe_buf b = {0};
    ck_assert_str_eq(noe_buf_text(&b), "");
    noe_buf_puts(&b, "");
    ck_assert_str_eq(b.text, "");
    for (int i = 0; i < 1000; i++)
        noe_buf_printf(&b, "%d,", i);
    noe_buf_add(&b, "tail and more", 4);
    ck_assert_uint_eq(b.len, strlen(b.text));
    ck_assert_uint_eq(b.len, 10 * 2 + 90 * 3 + 900 * 4 + 4);
    ck_assert_str_eq(b.text + b.len - 8, "999,tail");
    noe_buf_clear(&b);
    ck_assert_ptr_null(b.text);
}
END_TEST

START_TEST(test_rng_known_values)
{
    /* The published sequence of splitmix64 for seed 1234567. */
    noe_rng r = {1234567};
    ck_assert_uint_eq(noe_rng_next(&r), UINT64_C(6457827717110365317));
    ck_assert_uint_eq(noe_rng_next(&r), UINT64_C(3203168211198807973));
    ck_assert_uint_eq(noe_rng_next(&r), UINT64_C(9817491932198370423));
}
END_TEST

START_TEST(test_rng_streams_are_repeatable_and_different)
{
    noe_rng a = noe_rng_split(1, "tensor", 0), again = noe_rng_split(1, "tensor", 0);
    noe_rng others[] = {noe_rng_split(2, "tensor", 0), noe_rng_split(1, "other", 0),
                        noe_rng_split(1, "tensor", 1)};
    uint64_t first = noe_rng_next(&a);
    ck_assert_uint_eq(first, noe_rng_next(&again));
    ck_assert_uint_eq(noe_rng_next(&a), noe_rng_next(&again));
    for (int i = 0; i < 3; i++)
        ck_assert_uint_ne(first, noe_rng_next(&others[i]));
}
END_TEST

START_TEST(test_rng_below_and_range)
{
    noe_rng r = noe_rng_split(1, "test", 0);
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++)
        seen[noe_rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        ck_assert_msg(abs(seen[i] - 10000) < 500, "%d came %d times", i, seen[i]);
    for (int i = 0; i < 1000; i++) {
        int64_t x = noe_rng_range(&r, -3, 3);
        ck_assert(x >= -3 && x <= 3);
    }
    ck_assert_int_eq(noe_rng_range(&r, 5, 5), 5);
    noe_rng_range(&r, INT64_MIN, INT64_MAX);
    ck_assert_uint_eq(noe_rng_below(&r, 1), 0);
}
END_TEST

START_TEST(test_rng_unit_and_normal)
{
    noe_rng r = noe_rng_split(1, "test", 1);
    double sum = 0, squares = 0;
    int n = 100000, outside = 0;
    for (int i = 0; i < n; i++) {
        double u = noe_rng_unit(&r), x = noe_rng_normal(&r);
        outside += !(u >= 0 && u < 1);
        sum += x;
        squares += x * x;
    }
    ck_assert_int_eq(outside, 0);
    /* Five standard deviations of the two estimates. */
    ck_assert_msg(fabs(sum / n) < 5 / sqrt(n), "mean %g", sum / n);
    ck_assert_msg(fabs(squares / n - 1) < 5 * sqrt(2.0 / n), "variance %g",
                  squares / n);
}
END_TEST

START_TEST(test_hash_known_values)
{
    /* Test vectors of the XXH3 specification: the empty input. */
    ck_assert_uint_eq(noe_hash64("", 0, 0), UINT64_C(0x2d06800538d394c2));
    char hex[NOE_HASH_HEX_LEN + 1];
    noe_hash_hex(noe_hash_bytes("", 0), hex);
    ck_assert_str_eq(hex, "99aa06d3014798d86001c324468d497f");
    ck_assert_uint_ne(noe_hash64("a", 1, 0), noe_hash64("a", 1, 1));
    ck_assert_uint_ne(noe_hash64("a", 1, 0), noe_hash64("b", 1, 0));
}
END_TEST

static int count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static char folder[200], path[260];

static void make_folder(void)
{
    noe_tmp_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/file", folder);
}

static void remove_folder(void)
{
    noe_tmp_remove(folder);
}

static void check_content(const char *file, const char *want, size_t len)
{
    char *data;
    size_t got;
    noe_error err;
    noe_assert_ok(noe_file_read(file, 1 << 20, &data, &got, &err), err);
    ck_assert_uint_eq(got, len);
    ck_assert_mem_eq(data, want, len);
    ck_assert_int_eq(data[len], '\0');
    free(data);
}

START_TEST(test_file_round_trip)
{
    noe_error err;
    noe_assert_ok(noe_file_write(path, "one\0two", 7, &err), err);
    check_content(path, "one\0two", 7);
    noe_assert_ok(noe_file_write(path, "", 0, &err), err);
    check_content(path, "", 0);
    ck_assert_int_eq(count_files(folder), 1);
}
END_TEST

START_TEST(test_file_large_round_trip)
{
    noe_error err;
    size_t len = 300000;
    char *data = noe_malloc(len);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(noe_mix64(i) & 255);
    noe_assert_ok(noe_file_write(path, data, len, &err), err);
    check_content(path, data, len);
    free(data);
}
END_TEST

START_TEST(test_file_read_limit)
{
    noe_error err;
    char *data;
    size_t len;
    noe_assert_ok(noe_file_write(path, "12345", 5, &err), err);
    noe_assert_ok(noe_file_read(path, 5, &data, &len, &err), err);
    free(data);
    noe_assert_fails(noe_file_read(path, 4, &data, &len, &err), NOE_ERR_LIMIT, err,
                     "limit of 4 bytes");
    ck_assert_ptr_null(data);
    /* A file whose size is not known beforehand. */
    noe_assert_fails(noe_file_read("/dev/zero", 100000, &data, &len, &err),
                     NOE_ERR_LIMIT, err, "/dev/zero");
    noe_assert_ok(noe_file_read("/proc/self/status", 1 << 20, &data, &len, &err), err);
    ck_assert_uint_gt(len, 100);
    free(data);
}
END_TEST

START_TEST(test_file_read_failures)
{
    noe_error err;
    char *data;
    size_t len;
    noe_assert_fails(noe_file_read(path, 1 << 20, &data, &len, &err), NOE_ERR_IO, err,
                     path);
    noe_assert_fails(noe_file_read(folder, 1 << 20, &data, &len, &err), NOE_ERR_IO, err,
                     "directory");
    noe_assert_fails(noe_file_read("", 1 << 20, &data, &len, &err), NOE_ERR_IO, err,
                     "cannot open");
}
END_TEST

START_TEST(test_file_write_missing_folder)
{
    noe_error err;
    char missing[300];
    snprintf(missing, sizeof missing, "%s/nowhere/file", folder);
    noe_assert_fails(noe_file_write(missing, "x", 1, &err), NOE_ERR_IO, err, missing);
    noe_assert_fails(noe_file_write(folder, "x", 1, &err), NOE_ERR_IO, err,
                     "directory");
    noe_assert_fails(noe_file_write("", "x", 1, &err), NOE_ERR_IO, err, "cannot");
    ck_assert_int_eq(count_files(folder), 0);
}
END_TEST

START_TEST(test_file_write_read_only_folder)
{
    if (geteuid() == 0)
        noe_skip("the superuser may write anywhere");
    noe_error err;
    noe_assert_ok(noe_file_write(path, "old", 3, &err), err);
    ck_assert_int_eq(chmod(folder, 0500), 0);
    noe_status status = noe_file_write(path, "new", 3, &err);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    ck_assert_int_eq(status, NOE_ERR_IO);
    check_content(path, "old", 3);
}
END_TEST

/* The kernel refuses to let a file grow beyond RLIMIT_FSIZE: a full disk, on order. */
START_TEST(test_file_write_failure_keeps_old)
{
    noe_error err;
    static char data[50000];
    noe_assert_ok(noe_file_write(path, "old", 3, &err), err);
    struct rlimit old_limit, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    limit = (struct rlimit){10000, old_limit.rlim_max};
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    noe_status status = noe_file_write(path, data, sizeof data, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    signal(SIGXFSZ, old_handler);
    ck_assert_int_eq(status, NOE_ERR_IO);
    ck_assert(noe_contains(err.text, path));
    check_content(path, "old", 3);
    ck_assert_int_eq(count_files(folder), 1);
}
END_TEST

START_TEST(test_file_write_keeps_mode)
{
    noe_error err;
    struct stat st;
    noe_assert_ok(noe_file_write(path, "old", 3, &err), err);
    ck_assert_int_eq(chmod(path, 0640), 0);
    noe_assert_ok(noe_file_write(path, "new", 3, &err), err);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
}
END_TEST

START_TEST(test_file_write_through_link)
{
    noe_error err;
    char link[300];
    struct stat st;
    snprintf(link, sizeof link, "%s/link", folder);
    ck_assert_int_eq(symlink("file", link), 0);
    noe_assert_fails(noe_file_write(link, "x", 1, &err), NOE_ERR_IO, err, "link");
    noe_assert_ok(noe_file_write(path, "old", 3, &err), err);
    noe_assert_ok(noe_file_write(link, "new", 3, &err), err);
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    check_content(path, "new", 3);
    ck_assert_int_eq(count_files(folder), 2);
}
END_TEST

START_TEST(test_file_write_device_stays)
{
    noe_error err;
    struct stat st;
    noe_assert_ok(noe_file_write("/dev/null", "x", 1, &err), err);
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
    noe_assert_fails(noe_file_write("/dev/full", "x", 1, &err), NOE_ERR_IO, err,
                     "/dev/full");
}
END_TEST

/* The question changes nothing, and the answer is that of the write. */
START_TEST(test_file_check_writable)
{
    noe_error err;
    char missing[300];
    noe_assert_ok(noe_file_check_writable(path, &err), err);
    ck_assert_int_eq(count_files(folder), 0);
    noe_assert_ok(noe_file_write(path, "old", 3, &err), err);
    noe_assert_ok(noe_file_check_writable(path, &err), err);
    noe_assert_ok(noe_file_check_writable("/dev/null", &err), err);
    check_content(path, "old", 3);
    ck_assert_int_eq(count_files(folder), 1);
    snprintf(missing, sizeof missing, "%s/nowhere/file", folder);
    noe_assert_fails(noe_file_check_writable(missing, &err), NOE_ERR_IO, err, missing);
    noe_assert_fails(noe_file_check_writable(folder, &err), NOE_ERR_IO, err,
                     "directory");
    noe_assert_fails(noe_file_check_writable("", &err), NOE_ERR_IO, err, "cannot");
}
END_TEST

typedef struct record {
    int n;
    char text[3000];
    noe_log_level level;
} record;

static void keep_log(void *self, noe_log_level level, const char *text)
{
    record *r = self;
    r->n++;
    r->level = level;
    snprintf(r->text, sizeof r->text, "%s", text);
}

static void keep_progress(void *self, const char *text)
{
    keep_log(self, NOE_LOG_INFO, text);
}

START_TEST(test_env_log_and_cancel)
{
    record r = {0};
    volatile sig_atomic_t cancel = 0;
    noe_env env = {.log = keep_log, .self = &r, .cancel = &cancel};
    noe_log(&env, NOE_LOG_WARN, "rule %d", 5);
    ck_assert_int_eq(r.level, NOE_LOG_WARN);
    ck_assert_str_eq(r.text, "rule 5");
    ck_assert(!noe_cancelled(&env));
    cancel = 1;
    ck_assert(noe_cancelled(&env));
    noe_env silent = {0};
    noe_log(&silent, NOE_LOG_ERROR, "nobody listens");
    noe_log(NULL, NOE_LOG_ERROR, "nobody listens");
    ck_assert(!noe_cancelled(&silent) && !noe_cancelled(NULL));
}
END_TEST

START_TEST(test_env_progress_is_rate_limited)
{
    record r = {0};
    noe_env env = {.progress = keep_progress, .self = &r};
    double start = noe_wall_seconds();
    int calls = 0;
    for (; noe_wall_seconds() - start < 0.2; calls++)
        noe_progress(&env, "step %d", calls);
    ck_assert_int_gt(calls, 100);
    ck_assert_int_eq(r.n, 1);
    ck_assert_str_eq(r.text, "step 0");
}
END_TEST

START_TEST(test_env_cli_signal_sets_cancel)
{
    noe_env env;
    noe_env_init_cli(&env, "test", NOE_LOG_WARN);
    ck_assert_uint_eq(env.seed, 1);
    ck_assert_int_eq(env.n_threads, 1);
    ck_assert(!noe_cancelled(&env));
    raise(SIGINT);
    ck_assert(noe_cancelled(&env));
    signal(SIGTERM, SIG_DFL);
}
END_TEST

typedef struct counted {
    uint32_t times[1000];
    uint32_t by_worker[NOE_MAX_THREADS][1000];
} counted;

static void count_item(void *ctx, int worker, uint32_t item)
{
    counted *c = ctx;
    c->times[item]++;
    c->by_worker[worker][item]++;
}

START_TEST(test_pool_does_each_item_once)
{
    static const struct {
        int n_threads;
        uint32_t n_items;
    } cases[] = {{1, 1000}, {4, 1000}, {1000, 1000}, {3, 2}, {2, 0}};
    counted *c = noe_calloc(1, sizeof *c);
    noe_parallel_for(cases[_i].n_threads, cases[_i].n_items, count_item, c);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t n = 0;
        ck_assert_uint_eq(c->times[i], i < cases[_i].n_items);
        for (int w = 0; w < NOE_MAX_THREADS; w++)
            n += c->by_worker[w][i];
        ck_assert_uint_eq(n, i < cases[_i].n_items);
    }
    free(c);
}
END_TEST

START_TEST(test_env_clocks)
{
    double wall = noe_wall_seconds(), cpu = noe_cpu_seconds();
    volatile unsigned x = 0;
    for (unsigned i = 0; i < 3000000; i++)
        x = x + i;
    ck_assert(noe_wall_seconds() > wall);
    ck_assert(noe_cpu_seconds() > cpu);
    ck_assert_int_gt(noe_peak_rss_kib(), 500);
}
END_TEST

Suite *suite_base(void);

Suite *suite_base(void)
{
    Suite *suite = suite_create("core.base");
    TCase *plain = tcase_create("plain");
    tcase_add_test(plain, test_status_texts_and_codes);
    tcase_add_test(plain, test_error_message_and_prefix);
    tcase_add_test(plain, test_error_too_long_is_cut);
    tcase_add_test_raise_signal(plain, test_assert_aborts, SIGABRT);
    tcase_add_test(plain, test_mul_size_overflow);
    tcase_add_test(plain, test_arena_alignment_and_content);
    tcase_add_test(plain, test_arena_release_to_mark);
    tcase_add_test(plain, test_arena_helpers);
    tcase_add_test(plain, test_push_grows);
    tcase_add_test(plain, test_buf);
    tcase_add_test(plain, test_rng_known_values);
    tcase_add_test(plain, test_rng_streams_are_repeatable_and_different);
    tcase_add_test(plain, test_rng_below_and_range);
    tcase_add_test(plain, test_rng_unit_and_normal);
    tcase_add_test(plain, test_hash_known_values);
    tcase_add_test(plain, test_env_log_and_cancel);
    tcase_add_test(plain, test_env_progress_is_rate_limited);
    tcase_add_test(plain, test_env_cli_signal_sets_cancel);
    tcase_add_test(plain, test_env_clocks);
    tcase_add_loop_test(plain, test_pool_does_each_item_once, 0, 5);
    suite_add_tcase(suite, plain);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, test_file_round_trip);
    tcase_add_test(files, test_file_large_round_trip);
    tcase_add_test(files, test_file_read_limit);
    tcase_add_test(files, test_file_read_failures);
    tcase_add_test(files, test_file_write_missing_folder);
    tcase_add_test(files, test_file_write_read_only_folder);
    tcase_add_test(files, test_file_write_failure_keeps_old);
    tcase_add_test(files, test_file_write_keeps_mode);
    tcase_add_test(files, test_file_write_through_link);
    tcase_add_test(files, test_file_write_device_stays);
    tcase_add_test(files, test_file_check_writable);
    suite_add_tcase(suite, files);
    return suite;
}
