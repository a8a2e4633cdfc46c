/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ort_worker.h"
#include "core/base/file.h"
#include "runtime/measure.h"
#include <math.h>
#include <stdlib.h>

typedef struct worker {
    int fd;
    const char *path;
    noe_encode_fn *encode;
    const noe_env *env;
    noe_backend *backend; /* NULL until asked for */
    double overhead;      /* seconds of an empty call; negative: not measured yet */
    noe_executor **executors;
    uint32_t n_executors, cap_executors;
} worker;

static noe_status executor_of(const worker *w, uint32_t id, noe_executor **e,
                              noe_error *err)
{
    *e = id < w->n_executors ? w->executors[id] : NULL;
    return *e ? NOE_OK
              : noe_fail(err, NOE_ERR_ARG, "the worker has no executor %u", id);
}

static noe_status prepare(worker *w, const noe_ort_request *q, const char *body,
                          noe_ort_answer *a, noe_error *err)
{
    noe_executor *e;
    noe_ort_extra extra = {body, q->n_extra};
    NOE_TRY(noe_ort_local_prepare(w->backend, body + q->n_extra, q->n_body - q->n_extra,
                                  &extra, &q->options, &e, err));
    a->id = w->n_executors;
    a->in_bytes = noe_ort_local_input_bytes(e);
    a->out_bytes = noe_ort_local_output_bytes(e);
    NOE_PUSH(w->executors, w->n_executors, w->cap_executors, e);
    return NOE_OK;
}

static noe_status time_one(worker *w, noe_executor *e, noe_measure *m, noe_error *err)
{
    if (w->overhead < 0)
        NOE_TRY(noe_ort_local_overhead(w->backend, &w->overhead, err));
    NOE_TRY(noe_measure_executor(e, m, err));
    m->seconds = fmax(0, m->seconds - w->overhead);
    m->second_best = fmax(0, m->second_best - w->overhead);
    return NOE_OK;
}

static noe_status run(noe_executor *e, const noe_ort_request *q, const char *body,
                      char **result, uint64_t *n_result, noe_error *err)
{
    if (q->n_body != noe_ort_local_input_bytes(e))
        return noe_fail(err, NOE_ERR_ARG, "%llu bytes of inputs, want %zu",
                        (unsigned long long)q->n_body, noe_ort_local_input_bytes(e));
    *n_result = noe_ort_local_output_bytes(e);
    *result = noe_malloc(*n_result + 1);
    return noe_ort_local_run(e, body, *result, err);
}

/* On an executor that exists. */
static noe_status use(worker *w, const noe_ort_request *q, const char *body,
                      noe_ort_answer *a, char **result, noe_error *err)
{
    noe_executor *e, *other;
    NOE_TRY(executor_of(w, q->a, &e, err));
    if (q->verb == NOE_ORT_RUN)
        return run(e, q, body, result, &a->n_body, err);
    if (q->verb == NOE_ORT_TIME)
        return time_one(w, e, &a->measure, err);
    if (q->verb == NOE_ORT_RELEASE) {
        e->backend->vt->release(e);
        w->executors[q->a] = NULL;
        return NOE_OK;
    }
    NOE_TRY(executor_of(w, q->b, &other, err));
    if (q->verb == NOE_ORT_PAIR)
        return noe_time_pair(e, other, q->max_rounds, &a->pair, err);
    return noe_ort_local_difference(e, other, &a->difference, err);
}

static noe_status serve(worker *w, const noe_ort_request *q, const char *body,
                        noe_ort_answer *a, char **result, noe_error *err)
{
    if (!w->backend)
        NOE_TRY(noe_ort_local_open(w->path, w->encode, w->env, &w->backend, err));
    if (q->verb == NOE_ORT_HELLO) {
        *result = noe_strdup(noe_ort_local_version(w->backend));
        a->n_body = strlen(*result);
        return NOE_OK;
    }
    if (q->verb == NOE_ORT_PREPARE)
        return prepare(w, q, body, a, err);
    return use(w, q, body, a, result, err);
}

static bool answer(worker *w, const noe_ort_request *q, const char *body)
{
    noe_ort_answer a = {.status = NOE_OK};
    noe_error err = {0};
    char *result = NULL;
    a.status = serve(w, q, body, &a, &result, &err);
    const char *text = result;
    if (a.status != NOE_OK) {
        text = err.text;
        a.n_body = strlen(err.text);
    }
    bool alive = noe_send(w->fd, &a, sizeof a) &&
                 (a.n_body == 0 || noe_send(w->fd, text, a.n_body));
    free(result);
    return alive;
}

void noe_ort_work(int fd, const char *path, noe_encode_fn *encode, const noe_env *env)
{
    worker w = {fd, path, encode, env, NULL, -1, NULL, 0, 0};
    noe_ort_request q;
    while (noe_receive(fd, &q, sizeof q)) {
        char *body = noe_malloc(q.n_body + 1);
        bool alive = noe_receive(fd, body, q.n_body) && answer(&w, &q, body);
        free(body);
        if (!alive)
            break;
    }
    free(w.executors);
}
