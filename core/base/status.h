/* SPDX-License-Identifier: Apache-2.0
 *
 * Three kinds of trouble, three mechanisms:
 *   1. the input or the world is wrong  -> noe_status and a message in noe_error;
 *   2. we have a bug                    -> NOE_ASSERT, which stays on in release;
 *   3. memory is exhausted              -> noe_malloc prints and aborts.
 * A negative or unknown answer ("refuted", "no match") is a value, never an error.
 */
#ifndef NOE_CORE_BASE_STATUS_H
#define NOE_CORE_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#define NOE_STATUS_MAP(XX)               \
    XX(OK, "ok")                         \
    XX(ERR_IO, "input/output error")     \
    XX(ERR_PARSE, "malformed input")     \
    XX(ERR_SHAPE, "shapes do not fit")   \
    XX(ERR_ARG, "invalid argument")      \
    XX(ERR_UNSUPPORTED, "not supported") \
    XX(ERR_LIMIT, "limit exceeded")      \
    XX(ERR_DB, "database error")         \
    XX(ERR_BACKEND, "backend error")     \
    XX(ERR_MISMATCH, "results differ")   \
    XX(ERR_CANCELLED, "interrupted")

typedef enum noe_status {
#define XX(ID, TEXT) NOE_##ID,
    NOE_STATUS_MAP(XX)
#undef XX
} noe_status;

/* A message is written once, where the fault is seen, with the offending value. */
typedef struct noe_error {
    noe_status status;
    char text[1000];
} noe_error;

#define NOE_NODISCARD    __attribute__((warn_unused_result))
#define NOE_PRINTF(A, B) __attribute__((format(printf, A, B)))

/* A loop whose vectors decide the speed: the program chooses its version at its start.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define NOE_FOR_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define NOE_FOR_VECTORS
#endif

/* Sets err (may be NULL) and returns status, so that a caller can `return noe_fail`. */
noe_status noe_fail(noe_error *err, noe_status status, const char *fmt, ...)
    NOE_PRINTF(3, 4);

/* Puts context in front of the message: "model.onnx: node 17 (Conv): " + text. */
void noe_error_prefix(noe_error *err, const char *fmt, ...) NOE_PRINTF(2, 3);

const char *noe_status_text(noe_status status);

/* Process exit code that belongs to a status (README, "Exit codes"). */
int noe_status_exit_code(noe_status status);

/* The one macro with hidden control flow. Functions that own things use `goto out`. */
#define NOE_TRY(EXPR)                        \
    do {                                     \
        noe_status noe_try_status_ = (EXPR); \
        if (noe_try_status_ != NOE_OK)       \
            return noe_try_status_;          \
    } while (0)

_Noreturn void noe_assert_failed(const char *expr, const char *file, int line);

/* Always on: for our own bugs only, never for input. */
#define NOE_ASSERT(EXPR) \
    ((EXPR) ? (void)0 : noe_assert_failed(#EXPR, __FILE__, __LINE__))

#endif
