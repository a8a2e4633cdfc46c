/* SPDX-License-Identifier: Apache-2.0
 *
 * What all suites share. A test that cannot run says why with noe_skip and returns; the
 * summary counts it as skipped, never as passed.
 */
#ifndef NOE_TESTS_SUPPORT_H
#define NOE_TESTS_SUPPORT_H

/* Check's printf-like macros use a GNU extension that -Wpedantic reports. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <check.h>
#pragma GCC diagnostic pop
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include "core/base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define noe_skip(REASON)                  \
    do {                                  \
        noe_print_skip(__func__, REASON); \
        return;                           \
    } while (0)
void noe_print_skip(const char *test, const char *reason);

/* Asserts NOE_OK and shows the message otherwise. */
#define noe_assert_ok(EXPR, ERR)                                           \
    do {                                                                   \
        noe_status noe_status_ = (EXPR);                                   \
        ck_assert_msg(noe_status_ == NOE_OK, "%s: %s", #EXPR, (ERR).text); \
    } while (0)

/* Asserts that EXPR fails with STATUS and that the message contains TEXT. */
#define noe_assert_fails(EXPR, STATUS, ERR, TEXT)                                \
    do {                                                                         \
        noe_status noe_status_ = (EXPR);                                         \
        ck_assert_msg(noe_status_ == (STATUS), "%s: status %d (%s)", #EXPR,      \
                      (int)noe_status_, (ERR).text);                             \
        ck_assert_msg(noe_contains((ERR).text, TEXT), "message '%s' lacks '%s'", \
                      (ERR).text, TEXT);                                         \
    } while (0)
bool noe_contains(const char *text, const char *part);

/* Compares float arrays: NaN and infinity in the same places, other differences at most
 * tol relative to the largest finite magnitude of the expected array. On failure *worst
 * is the index. */
bool noe_close_f32(const float *got, const float *want, size_t n, double tol,
                   size_t *worst);

/* A fresh directory under TMPDIR, removed with noe_tmp_remove. Path into path[cap]. */
void noe_tmp_make(char *path, size_t cap);
void noe_tmp_remove(const char *path);

/* Runs a shell command; returns its exit status, stdout and stderr together in *output
 * (malloc'ed). */
int noe_run_command(const char *command, char **output);

#endif
