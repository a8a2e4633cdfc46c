/* SPDX-License-Identifier: Apache-2.0
 *
 * What every stage entry point gets: where talk goes, the root seed, cancellation.
 * Libraries never print; they call noe_log. Progress is one rewritten line on a
 * terminal, at most once a second, and nothing in a pipe.
 */
#ifndef NOE_CORE_BASE_ENV_H
#define NOE_CORE_BASE_ENV_H

#include "core/base/status.h"
#include <signal.h>
#include <stdint.h>

typedef enum noe_log_level {
    NOE_LOG_ERROR,
    NOE_LOG_WARN,
    NOE_LOG_INFO,
    NOE_LOG_DEBUG
} noe_log_level;

typedef struct noe_env {
    void (*log)(void *self, noe_log_level level, const char *text); /* may be NULL */
    void (*progress)(void *self, const char *text);                 /* may be NULL */
    void *self;
    uint64_t seed; /* default 1, never the clock */
    int n_threads;
    volatile sig_atomic_t *cancel; /* may be NULL; non-zero asks for an early end */
} noe_env;

void noe_log(const noe_env *env, noe_log_level level, const char *fmt, ...)
    NOE_PRINTF(3, 4);
/* Cheap enough for inner loops every few thousand steps: rate-limited inside. */
void noe_progress(const noe_env *env, const char *fmt, ...) NOE_PRINTF(2, 3);
int noe_cancelled(const noe_env *env);

/* The environment of a command line program: log to stderr as "NAME: warning: ...",
 * progress on a terminal only, SIGINT and SIGTERM set the cancel flag. For main.c. */
void noe_env_init_cli(noe_env *env, const char *program, noe_log_level max_level);
/* Ends the progress line, so that the next output starts on a fresh one. */
void noe_env_end_progress(const noe_env *env);

double noe_cpu_seconds(void);  /* CPU time of the process */
double noe_wall_seconds(void); /* monotonic; for reports, never for verdicts */
long noe_peak_rss_kib(void);

#endif
