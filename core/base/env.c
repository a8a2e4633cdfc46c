/* SPDX-License-Identifier: Apache-2.0
 *
 * Talk, cancellation and clocks. noe_progress looks at the clock before it formats
 * anything, so that inner loops may call it freely; the last time is one variable for
 * each thread. Only the thread that owns the environment may log or report progress.
 */
#include "core/base/env.h"
#include "core/base/mem.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_PERIOD_SECONDS 1.0
#define MAX_TEXT                2000

static _Thread_local double last_progress;

void noe_log(const noe_env *env, noe_log_level level, const char *fmt, ...)
{
    if (!env || !env->log)
        return;
    char text[MAX_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    env->log(env->self, level, text);
}

void noe_progress(const noe_env *env, const char *fmt, ...)
{
    if (!env || !env->progress)
        return;
    double now = noe_wall_seconds();
    if (now - last_progress < PROGRESS_PERIOD_SECONDS)
        return;
    last_progress = now;
    char text[MAX_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    env->progress(env->self, text);
}

int noe_cancelled(const noe_env *env)
{
    return env && env->cancel && *env->cancel;
}

double noe_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double noe_wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Not ru_maxrss where it can be helped: that begins with what the process that started
 * this one had. */
long noe_peak_rss_kib(void)
{
    struct rusage usage;
    char line[128];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    if (kib >= 0)
        return kib;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* The one command line environment of the process; signal handlers need an address. */
static struct {
    const char *program;
    noe_log_level max_level;
    int progress_shown;
} cli;
static volatile sig_atomic_t cli_cancel;

static void request_cancel(int signal_number)
{
    (void)signal_number;
    cli_cancel = 1;
}

static void erase_progress(void)
{
    if (cli.progress_shown)
        fputs("\r\033[K", stderr);
    cli.progress_shown = 0;
}

static void cli_log(void *self, noe_log_level level, const char *text)
{
    static const char *const labels[] = {"error: ", "warning: ", "", "debug: "};
    (void)self;
    if (level > cli.max_level)
        return;
    erase_progress();
    fprintf(stderr, "%s: %s%s\n", cli.program, labels[level], text);
}

static void cli_progress(void *self, const char *text)
{
    (void)self;
    struct winsize size = {0};
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    if (columns < 20)
        columns = 80;
    /* A line that wraps could not be rewritten. */
    fprintf(stderr, "\r\033[K%.*s", columns - 1, text);
    fflush(stderr);
    cli.progress_shown = 1;
}

void noe_env_init_cli(noe_env *env, const char *program, noe_log_level max_level)
{
    cli.program = program;
    cli.max_level = max_level;
    *env = (noe_env){
        .log = cli_log,
        .progress = isatty(STDERR_FILENO) ? cli_progress : NULL,
        .seed = 1,
        .n_threads = 1,
        .cancel = &cli_cancel,
    };
    /* The first signal asks, the second one kills: handlers are reset once used. */
    struct sigaction action = {.sa_handler = request_cancel,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void noe_env_end_progress(const noe_env *env)
{
    if (env && env->progress == cli_progress)
        erase_progress();
}
