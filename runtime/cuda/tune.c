/* SPDX-License-Identifier: Apache-2.0
 *
 * Which plan of several is the fastest: measured once, then remembered, in the process
 * and in the file cuda-plans of the cache folder ($XDG_CACHE_HOME/noether, or
 * ~/.cache/noether). A line of it is the hash of what the plans are for, in hex, and
 * the plan's place in the list that cuDNN or cuBLAS gives. The hash covers the device
 * and all versions, and for these the list is always the same.
 */
#include "core/base/file.h"
#include "runtime/cuda/plan.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define CACHE_FILE "cuda-plans"
#define MAX_BYTES  (64U << 20)
#define LAUNCHES   8 /* in one graph */
#define REPLAYS    3

/* ---- the cache ---- */

bool noe_cu_choice_get(const noe_cu_device *d, uint64_t key, uint32_t *index)
{
    for (size_t i = d->n_choices; i-- > 0;) {
        if (d->choices[i].key == key) {
            *index = d->choices[i].index;
            return true;
        }
    }
    return false;
}

void noe_cu_choice_put(noe_cu_device *d, uint64_t key, uint32_t index)
{
    noe_cu_choice c = {key, index};
    NOE_PUSH(d->choices, d->n_choices, d->cap_choices, c);
}

static char *cache_path(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    noe_buf b = {0};
    if (cache && *cache)
        noe_buf_printf(&b, "%s/noether/" CACHE_FILE, cache);
    else if (home && *home)
        noe_buf_printf(&b, "%s/.cache/noether/" CACHE_FILE, home);
    return b.text;
}

/* What is no line of ours is skipped: the file only saves time. */
static void read_choices(noe_cu_device *d)
{
    char *text;
    size_t len;
    if (noe_file_read(d->cache_path, MAX_BYTES, &text, &len, NULL) != NOE_OK)
        return;
    for (const char *line = text; *line;) {
        uint64_t key;
        uint32_t index, known;
        if (sscanf(line, "%16" SCNx64 " %" SCNu32, &key, &index) == 2 &&
            index < NOE_CU_MAX_PLANS && !noe_cu_choice_get(d, key, &known))
            noe_cu_choice_put(d, key, index);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    free(text);
}

void noe_cu_choices_load(noe_cu_device *d)
{
    d->cache_path = cache_path();
    if (d->cache_path)
        read_choices(d);
    d->n_known = d->n_choices;
}

static void make_folders(const char *path)
{
    char *folder = noe_strdup(path);
    for (char *c = folder + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(folder, 0777); /* what fails here fails in writing, with a message */
        *c = '/';
    }
    free(folder);
}

static int compare_keys(const void *a, const void *b)
{
    const noe_cu_choice *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Together with what others have written in the meantime. */
void noe_cu_choices_save(noe_cu_device *d)
{
    noe_buf b = {0};
    noe_error err;
    if (!d->cache_path || d->n_choices == d->n_known)
        return;
    read_choices(d);
    qsort(d->choices, d->n_choices, sizeof *d->choices, compare_keys);
    for (size_t i = 0; i < d->n_choices; i++)
        noe_buf_printf(&b, "%016" PRIx64 " %" PRIu32 "\n", d->choices[i].key,
                       d->choices[i].index);
    make_folders(d->cache_path);
    if (noe_file_write(d->cache_path, noe_buf_text(&b), b.len, &err) != NOE_OK)
        noe_log(d->base.env, NOE_LOG_WARN, "plans are not remembered: %s", err.text);
    d->n_known = d->n_choices;
    noe_buf_clear(&b);
}

/* ---- timing ---- */

typedef struct tuner {
    noe_cu_device *device;
    noe_cu_issue_fn *issue;
    void *ctx;
} tuner;

static noe_status capture(tuner *t, const noe_cu_step *step, cudaGraphExec_t *exec,
                          noe_error *err)
{
    noe_cu_api *api = &t->device->api;
    cudaGraph_t graph = NULL;
    NOE_CU_TRY(api, cudaStreamBeginCapture, t->device->stream,
               cudaStreamCaptureModeThreadLocal);
    noe_status status = NOE_OK;
    for (int i = 0; i < LAUNCHES && status == NOE_OK; i++)
        status = t->issue(t->ctx, step, err);
    noe_status ended =
        noe_cu_check(api, api->cudaStreamEndCapture(t->device->stream, &graph),
                     "cudaStreamEndCapture", status == NOE_OK ? err : NULL);
    status = status == NOE_OK ? ended : status;
    if (status == NOE_OK)
        status = noe_cu_check(api, api->cudaGraphInstantiateWithFlags(exec, graph, 0),
                              "cudaGraphInstantiateWithFlags", err);
    if (graph)
        api->cudaGraphDestroy(graph);
    return status;
}

static noe_status replay(tuner *t, cudaGraphExec_t exec, double *best, noe_error *err)
{
    noe_cu_device *d = t->device;
    noe_cu_api *api = &d->api;
    *best = INFINITY;
    for (int i = 0; i <= REPLAYS; i++) {
        float ms;
        NOE_CU_TRY(api, cudaEventRecord, d->start, d->stream);
        NOE_CU_TRY(api, cudaGraphLaunch, exec, d->stream);
        NOE_CU_TRY(api, cudaEventRecord, d->end, d->stream);
        NOE_CU_TRY(api, cudaEventSynchronize, d->end);
        NOE_CU_TRY(api, cudaEventElapsedTime, &ms, d->start, d->end);
        if (i > 0) /* the first warms up */
            *best = fmin(*best, (double)ms);
    }
    return NOE_OK;
}

static noe_status time_plan(tuner *t, const noe_cu_step *step, double *best,
                            noe_error *err)
{
    noe_cu_api *api = &t->device->api;
    cudaGraphExec_t exec = NULL;
    NOE_TRY(t->issue(t->ctx, step, err));
    NOE_CU_TRY(api, cudaStreamSynchronize, t->device->stream);
    noe_status status = capture(t, step, &exec, err);
    if (status == NOE_OK)
        status = replay(t, exec, best, err);
    if (exec)
        api->cudaGraphExecDestroy(exec);
    return status;
}

/* A plan that fails is not taken; one after which the device is lost ends all. */
static noe_status tune_step(tuner *t, noe_cu_step *step, int n_plans, noe_error *err)
{
    double best = INFINITY, took = INFINITY;
    int choice = -1;
    noe_error why = {0};
    for (int i = 0; i < n_plans; i++) {
        step->choice = i;
        noe_status status = time_plan(t, step, &took, &why);
        if (t->device->api.is_lost || (status != NOE_OK && n_plans == 1)) {
            if (err)
                *err = why;
            return status == NOE_OK ? NOE_ERR_BACKEND : status;
        }
        if (status == NOE_OK && took < best) {
            best = took;
            choice = i;
        }
    }
    if (choice < 0) {
        if (err)
            *err = why;
        noe_error_prefix(err, "none of %d plans runs: ", n_plans);
        return NOE_ERR_UNSUPPORTED;
    }
    step->choice = choice;
    noe_cu_choice_put(t->device, step->key, (uint32_t)choice);
    return NOE_OK;
}

noe_status noe_cu_tune(noe_cu_plan *p, noe_cu_issue_fn *issue, void *ctx,
                       noe_error *err)
{
    tuner t = {p->device, issue, ctx};
    for (uint32_t i = 0; i < p->n_steps; i++) {
        noe_cu_step *step = &p->steps[i];
        uint32_t known;
        int n = step->dnn       ? step->dnn->n_plans
                : step->product ? step->product->n_plans
                                : 1;
        if (n < 2)
            continue;
        if (noe_cancelled(p->device->base.env))
            return noe_fail(err, NOE_ERR_CANCELLED, "interrupted while measuring");
        if (noe_cu_choice_get(p->device, step->key, &known) && (int)known < n)
            step->choice = (int)known;
        else
            NOE_TRY(tune_step(&t, step, n, err));
    }
    return NOE_OK;
}
