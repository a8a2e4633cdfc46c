/* SPDX-License-Identifier: Apache-2.0
 *
 * The one clock of the project, and the protocol around it.
 *
 * One thread: the CPU time of the calling thread, which other load on the machine
 * disturbs least. Two warm-up runs; batches of at least 0.5 ms (single reads of a short
 * operator carry up to 10 % of overhead); the smallest of 5 batches, continued in steps
 * of 5 up to 25 until the two smallest lie within 1 %. More threads: the CPU time of
 * the caller would miss the workers, so wall time and the smallest of at least 50
 * batches; on a loaded machine that is an upper bound and no more.
 *
 * Operators that take longer than 0.2 s get 3 batches of one run: their relative noise
 * is small and 25 batches would cost seconds.
 *
 * A core that is shared with another machine, or clocked down, makes everything 10 to
 * 40 % slower for seconds on end, and a minimum over milliseconds does not see it. So a
 * small product of matrices is timed before and after: if it takes more than 15 %
 * longer than it ever did, we wait and measure again, for 20 s in all in the life of a
 * backend. After that results are what they are, and say so (`disturbance`).
 *
 * A device with a clock of its own (vtable slot `clocked`) is read by that, under the
 * same protocol; the small product then runs on the device and tells of its clock rate.
 *
 * Pairs are measured in rounds A B B A, so that a drift of the clock rate or of the
 * load cancels to first order; the ratio of a round is robust where the ratio of two
 * minima is not. The interval of the median comes from order statistics and assumes
 * nothing about the distribution. Stopping as soon as the interval is narrow is safe
 * for the width; it does not look at whether the interval contains 1.
 */
#include "runtime/measure.h"
#include "core/base/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BATCH_SECONDS   0.5e-3
#define SLOW_SECONDS    0.2
#define WARM_UP_RUNS    2
#define BATCHES_STEP    5
#define BATCHES_MAX     25
#define BATCHES_SLOW    3
#define BATCHES_WALL    50
#define CLOSE_ENOUGH    0.01
#define MAX_BATCH_RUNS  100000
#define DISTURBED       1.15
#define PATIENCE_S      3.0 /* at first; grows with the time spent on measuring */
#define PAUSE_S         0.02
#define CALIBRATION     3  /* batches */
#define CALIBRATION_RUN 20 /* runs a batch */
#define PAIR_ROUNDS_MIN 6
#define PAIR_ROUNDS_MAX 100

/* Used where the system does not tell; larger than most, so that "cold" stays cold. */
#define DEFAULT_CACHE_BYTES ((size_t)64 << 20)

typedef struct stopwatch {
    clockid_t id;
    const char *name;
} stopwatch;

/* For an executor of b. */
static stopwatch watch_for(const noe_backend *b, int n_threads)
{
    if (b->vt->clocked)
        return (stopwatch){CLOCK_MONOTONIC, b->vt->clock};
    if (n_threads == 1)
        return (stopwatch){CLOCK_THREAD_CPUTIME_ID, "thread-cpu"};
    return (stopwatch){CLOCK_MONOTONIC, "wall"};
}

static double read_clock(const stopwatch *w)
{
    struct timespec t;
    clock_gettime(w->id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double noe_process_cpu_seconds(int pid)
{
    clockid_t id;
    stopwatch w = {0, ""};
    if (clock_getcpuclockid(pid, &id) != 0)
        return 0;
    w.id = id;
    return read_clock(&w);
}

/* Seconds a run of one batch of n runs. */
static noe_status time_batch(noe_executor *e, const stopwatch *w, int n,
                             double *seconds, noe_error *err)
{
    if (e->backend->vt->clocked)
        return e->backend->vt->clocked(e, n, seconds, err);
    double start = read_clock(w);
    NOE_TRY(e->backend->vt->repeat(e, n, err));
    *seconds = (read_clock(w) - start) / n;
    return NOE_OK;
}

/* Warms up and finds the number of runs that fill a batch. */
static noe_status find_batch(noe_executor *e, const stopwatch *w, int *n,
                             double *estimate, noe_error *err)
{
    NOE_TRY(e->backend->vt->repeat(e, WARM_UP_RUNS, err));
    *n = 1;
    for (;;) {
        NOE_TRY(time_batch(e, w, *n, estimate, err));
        if (*estimate * *n >= BATCH_SECONDS || *n >= MAX_BATCH_RUNS)
            return NOE_OK;
        double want = *estimate > 0 ? BATCH_SECONDS / *estimate * 1.1 : *n * 10.0;
        *n = want >= MAX_BATCH_RUNS ? MAX_BATCH_RUNS
             : want > *n * 10.0     ? *n * 10
             : (int)want > *n       ? (int)want
                                    : *n + 1;
    }
}

static void keep_smallest(noe_measure *m, double seconds)
{
    if (seconds < m->seconds) {
        m->second_best = m->seconds;
        m->seconds = seconds;
    } else if (seconds < m->second_best) {
        m->second_best = seconds;
    }
    m->n_batches++;
}

static bool is_settled(const noe_measure *m, int n_threads, bool slow)
{
    if (slow)
        return m->n_batches >= BATCHES_SLOW;
    if (n_threads > 1)
        return m->n_batches >= BATCHES_WALL;
    if (m->n_batches % BATCHES_STEP != 0)
        return false;
    return m->n_batches >= BATCHES_MAX ||
           m->second_best - m->seconds < CLOSE_ENOUGH * m->seconds;
}

struct noe_calibration {
    noe_pool *pool;
    noe_executor *kernel; /* NULL: the backend has none */
    double best;          /* seconds a run */
    double patience;      /* seconds that may still be spent on waiting */
};

/* A product that stays in the first-level cache. */
static const char calibration_graph[] = "%0 = input \"x\" : f32[64,64]\n"
                                        "%1 = weight \"w\" : f32[64,64]\n"
                                        "%2 = matmul(%0, %1) : f32[64,64]\n"
                                        "return %2\n";

static noe_status make_calibration(noe_backend *b, noe_error *err)
{
    struct noe_calibration *c = noe_calloc(1, sizeof *c);
    b->calibration = c;
    c->best = INFINITY;
    c->patience = PATIENCE_S;
    if (!b->vt->prepare)
        return NOE_OK;
    noe_graph *g = NULL;
    c->pool = noe_pool_new();
    noe_executor_options options = {.free_layout = true, .n_threads = 1};
    noe_status s = noe_graph_parse(c->pool, calibration_graph, &g, err);
    if (s == NOE_OK)
        s = b->vt->prepare(b, g, &options, &c->kernel, err);
    if (s == NOE_OK)
        s = b->vt->repeat(c->kernel, CALIBRATION_RUN, err);
    noe_graph_free(g);
    return s;
}

void noe_measure_close(noe_backend *b)
{
    if (!b->calibration)
        return;
    if (b->calibration->kernel)
        b->vt->release(b->calibration->kernel);
    noe_pool_free(b->calibration->pool);
    free(b->calibration);
    b->calibration = NULL;
}

/* How much slower than ever before is the machine now? */
static noe_status calibrate(noe_backend *b, const stopwatch *w, double *disturbance,
                            noe_error *err)
{
    struct noe_calibration *c = b->calibration;
    double best = INFINITY;
    *disturbance = 1;
    for (int i = 0; c->kernel && i < CALIBRATION; i++) {
        double seconds = 0;
        NOE_TRY(time_batch(c->kernel, w, CALIBRATION_RUN, &seconds, err));
        best = fmin(best, seconds);
    }
    c->best = fmin(c->best, best);
    if (c->kernel && c->best > 0)
        *disturbance = best / c->best;
    return NOE_OK;
}

/* Returns when the machine is as fast as it was, or patience has run out. */
static noe_status wait_for_quiet(noe_backend *b, const stopwatch *w, noe_error *err)
{
    for (;;) {
        double disturbance = 1;
        NOE_TRY(calibrate(b, w, &disturbance, err));
        if (disturbance <= DISTURBED || b->calibration->patience <= 0)
            return NOE_OK;
        if (noe_cancelled(b->env))
            return noe_fail(err, NOE_ERR_CANCELLED, "interrupted while measuring");
        noe_progress(b->env, "waiting: the processor is slower than it was by %.0f %%",
                     100 * (disturbance - 1));
        struct timespec pause = {0, (long)(PAUSE_S * 1e9)};
        double start = noe_wall_seconds();
        nanosleep(&pause, NULL);
        b->calibration->patience -= noe_wall_seconds() - start;
    }
}

static noe_status measure_batches(noe_executor *e, const stopwatch *w, int n, bool slow,
                                  noe_measure *m, noe_error *err)
{
    m->n_batches = 0;
    m->seconds = m->second_best = INFINITY;
    while (!is_settled(m, e->n_threads, slow)) {
        if (noe_cancelled(e->backend->env))
            return noe_fail(err, NOE_ERR_CANCELLED, "interrupted while measuring");
        double seconds = 0;
        NOE_TRY(time_batch(e, w, n, &seconds, err));
        keep_smallest(m, seconds);
    }
    return NOE_OK;
}

noe_status noe_measure_executor(noe_executor *e, noe_measure *measure, noe_error *err)
{
    noe_backend *b = e->backend;
    stopwatch w = watch_for(b, e->n_threads), one_thread = watch_for(b, 1);
    *measure = (noe_measure){.clock = w.name, .disturbance = 1};
    if (e->n_calls == 0)
        return NOE_OK;
    if (!b->calibration) {
        noe_status status = make_calibration(b, err);
        if (status != NOE_OK) {
            noe_measure_close(b); /* the next one may do better */
            return status;
        }
    }
    int n = 1;
    double estimate = 0;
    NOE_TRY(find_batch(e, &w, &n, &estimate, err));
    for (;;) {
        NOE_TRY(wait_for_quiet(b, &one_thread, err));
        double start = noe_wall_seconds();
        NOE_TRY(measure_batches(e, &w, n, estimate > SLOW_SECONDS, measure, err));
        NOE_TRY(calibrate(b, &one_thread, &measure->disturbance, err));
        double spent = noe_wall_seconds() - start;
        if (measure->disturbance <= DISTURBED || b->calibration->patience <= 0) {
            b->calibration->patience += spent;
            return NOE_OK;
        }
        b->calibration->patience -= spent;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rank k (from 0) such that the k-th smallest and the k-th largest of n values enclose
 * the median with probability of at least 95 %: twice the binomial tail below k is at
 * most 5 %. Needs n >= 6. */
static int median_rank(int n)
{
    double term = exp2(-n), tail = term;
    int k = 0;
    while (k < n / 2) {
        term *= (double)(n - k) / (k + 1);
        if (2 * (tail + term) > 0.05)
            break;
        tail += term;
        k++;
    }
    return k;
}

static void summarize(const double *ratios, int n, noe_pair_measure *out)
{
    double sorted[PAIR_ROUNDS_MAX];
    memcpy(sorted, ratios, (size_t)n * sizeof sorted[0]);
    qsort(sorted, (size_t)n, sizeof sorted[0], compare_doubles);
    int k = median_rank(n);
    out->ratio = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    out->ratio_lo = sorted[k];
    out->ratio_hi = sorted[n - 1 - k];
    out->n_rounds = n;
}

/* One round A B B A. */
static noe_status time_round(noe_executor *const e[2], const stopwatch *w,
                             const int n[2], double *ratio, noe_pair_measure *out,
                             noe_error *err)
{
    static const int order[4] = {0, 1, 1, 0};
    double sum[2] = {0, 0}, best[2] = {INFINITY, INFINITY};
    for (int i = 0; i < 4; i++) {
        int k = order[i];
        double seconds = 0;
        NOE_TRY(time_batch(e[k], w, n[k], &seconds, err));
        sum[k] += seconds;
        best[k] = fmin(best[k], seconds);
    }
    out->seconds_a = fmin(out->seconds_a, best[0]);
    out->seconds_b = fmin(out->seconds_b, best[1]);
    *ratio = sum[1] > 0 ? sum[0] / sum[1] : 1;
    return NOE_OK;
}

noe_status noe_time_pair(noe_executor *a, noe_executor *b, int max_rounds,
                         noe_pair_measure *out, noe_error *err)
{
    if (a->n_threads != b->n_threads)
        return noe_fail(err, NOE_ERR_ARG, "a pair with %d and %d threads", a->n_threads,
                        b->n_threads);
    if (a->backend->vt->pair)
        return a->backend->vt->pair(a, b, max_rounds, out, err);
    if (max_rounds == 0 || max_rounds > PAIR_ROUNDS_MAX)
        max_rounds = PAIR_ROUNDS_MAX;
    if (max_rounds < PAIR_ROUNDS_MIN)
        max_rounds = PAIR_ROUNDS_MIN;
    noe_executor *const e[2] = {a, b};
    stopwatch w = watch_for(a->backend, a->n_threads);
    *out = (noe_pair_measure){.seconds_a = INFINITY, .seconds_b = INFINITY};
    out->clock = w.name;
    int n[2];
    for (int k = 0; k < 2; k++) {
        double estimate = 0;
        if (e[k]->n_calls == 0)
            return noe_fail(err, NOE_ERR_ARG, "a graph without work has no time");
        NOE_TRY(find_batch(e[k], &w, &n[k], &estimate, err));
    }
    double ratios[PAIR_ROUNDS_MAX];
    for (int round = 0; round < max_rounds; round++) {
        if (noe_cancelled(a->backend->env))
            return noe_fail(err, NOE_ERR_CANCELLED, "interrupted while measuring");
        NOE_TRY(time_round(e, &w, n, &ratios[round], out, err));
        if (round + 1 < PAIR_ROUNDS_MIN)
            continue;
        summarize(ratios, round + 1, out);
        if (out->ratio_hi - out->ratio_lo < 2 * CLOSE_ENOUGH * out->ratio)
            break;
    }
    return NOE_OK;
}

size_t noe_last_level_cache_bytes(void)
{
    static const int names[] = {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                _SC_LEVEL2_CACHE_SIZE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        long bytes = sysconf(names[i]);
        if (bytes > 0)
            return (size_t)bytes;
    }
    return DEFAULT_CACHE_BYTES;
}

void noe_cpu_model(char *text, size_t cap)
{
    snprintf(text, cap, "unknown cpu");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f)
        return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, cap, "%s", value);
        break;
    }
    fclose(f);
}

/* In [0.5, 1.5) with random signs: sums stay ordinary, products do not vanish. */
void noe_fill_random(float *data, size_t n, uint64_t seed)
{
    noe_rng rng = noe_rng_split(seed, "timed buffer", 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t r = noe_rng_next(&rng);
        float magnitude = 0.5f + (float)(r >> 40) * 0x1p-24f;
        data[i] = r & 1 ? magnitude : -magnitude;
    }
}
