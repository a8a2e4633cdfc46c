/* SPDX-License-Identifier: Apache-2.0
 *
 * Our side of device "ort": starts the worker, asks it, and outlives it.
 *
 * An answer is waited for as long as the worker makes progress by the clock of its
 * CPU; more than LIMIT_CPU seconds of it for one answer, or none at all while
 * LIMIT_IDLE seconds go by, and it is killed. (Wall time alone would kill a healthy
 * worker on a busy machine.)
 */
#include "runtime/ort.h"
#include "core/base/file.h"
#include "runtime/backend.h"
#include "runtime/measure.h"
#include "runtime/ort_library.h"
#include "runtime/ort_worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_CPU      180.0
#define LIMIT_IDLE     30.0
#define IDLE_CPU       0.05 /* seconds of CPU that are no progress */
#define POLL_MS        50
#define LIMIT_VARIABLE "NOETHER_ORT_TIMEOUT" /* seconds, instead of the two limits */

typedef struct ort_backend {
    noe_backend base;
    char *path;
    noe_encode_fn *encode;
    noe_env worker_env; /* without log, progress and cancellation */
    pid_t pid;          /* 0: no worker */
    int fd;
    uint32_t life; /* counts workers: executors of an earlier one are gone */
    int opset;
    double limit_cpu, limit_idle;
} ort_backend;

typedef struct ort_remote {
    noe_executor base;
    uint32_t id, life;
    uint64_t in_bytes, out_bytes;
    uint32_t n_in, n_out;
    struct tensor {
        noe_dtype dtype;
        int64_t elements;
    } * tensors; /* each input, then each output */
} ort_remote;

static noe_backend_vtable const vtable;

bool noe_is_ort(const noe_backend *b)
{
    return b->vt == &vtable;
}

const char *noe_ort_library_path(const noe_backend *b)
{
    return ((const ort_backend *)b)->path;
}

/* ---- the worker's life ---- */

_Noreturn static void be_worker(ort_backend *o, int fd)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL); /* whoever handles them in our parent */
    signal(SIGINT, SIG_IGN); /* an interruption is for our parent, who tells us */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Results go to stdout, and nobody but the program itself may write there. */
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    noe_ort_work(fd, o->path, o->encode, &o->worker_env);
    quick_exit(0); /* the destructors of what was inherited are not ours to run */
}

static noe_status start_worker(ort_backend *o, noe_error *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return noe_fail(err, NOE_ERR_IO, "socketpair: %s", strerror(errno));
    o->pid = fork();
    if (o->pid < 0) {
        o->pid = 0;
        close(fds[0]);
        close(fds[1]);
        return noe_fail(err, NOE_ERR_IO, "fork: %s", strerror(errno));
    }
    if (o->pid == 0) {
        close(fds[0]);
        be_worker(o, fds[1]);
    }
    close(fds[1]);
    o->fd = fds[0];
    o->life++;
    return NOE_OK;
}

/* Ends the worker, if need be by force; says how it ended. */
static void end_worker(ort_backend *o, bool force, noe_buf *how)
{
    int state = 0;
    if (o->pid == 0)
        return;
    close(o->fd);
    if (force)
        kill(o->pid, SIGKILL);
    while (waitpid(o->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    o->pid = 0;
    if (how && WIFSIGNALED(state))
        noe_buf_printf(how, "ended by signal %d (%s)", WTERMSIG(state),
                       strsignal(WTERMSIG(state)));
    else if (how)
        noe_buf_printf(how, "ended with code %d", WEXITSTATUS(state));
}

/* Waits until the socket has something to read. */
static noe_status wait_for_answer(ort_backend *o, noe_error *err)
{
    double wall = noe_wall_seconds(), cpu = noe_process_cpu_seconds(o->pid);
    struct pollfd p = {.fd = o->fd, .events = POLLIN};
    while (poll(&p, 1, POLL_MS) <= 0) {
        double waited = noe_wall_seconds() - wall;
        double used = noe_process_cpu_seconds(o->pid) - cpu;
        bool is_stuck = waited > o->limit_idle && used < IDLE_CPU;
        if (noe_cancelled(o->base.env)) {
            end_worker(o, true, NULL);
            return noe_fail(err, NOE_ERR_CANCELLED, "interrupted while measuring");
        }
        if (used > o->limit_cpu || is_stuck) {
            end_worker(o, true, NULL);
            return noe_fail(err, NOE_ERR_BACKEND,
                            "the ONNX Runtime worker %s (%.0f s waited, %.1f s of CPU "
                            "used) and was ended; one measurement is lost",
                            is_stuck ? "hangs" : "does not finish", waited, used);
        }
    }
    return NOE_OK;
}

static noe_status lost_worker(ort_backend *o, noe_error *err)
{
    noe_buf how = {0};
    end_worker(o, false, &how);
    noe_fail(err, NOE_ERR_BACKEND,
             "the ONNX Runtime worker was lost (%s); one measurement is lost",
             noe_buf_text(&how));
    noe_buf_clear(&how);
    return NOE_ERR_BACKEND;
}

/* One request; *result, malloc'ed with a NUL behind it, may be NULL if no body is
 * expected. */
static noe_status ask(ort_backend *o, noe_ort_request *q, const void *extra,
                      const void *body, size_t n_body, noe_ort_answer *a, char **result,
                      noe_error *err)
{
    if (o->pid == 0)
        NOE_TRY(start_worker(o, err));
    q->n_body = q->n_extra + n_body;
    if (!noe_send(o->fd, q, sizeof *q) || !noe_send(o->fd, extra, q->n_extra) ||
        !noe_send(o->fd, body, n_body))
        return lost_worker(o, err);
    NOE_TRY(wait_for_answer(o, err));
    if (!noe_receive(o->fd, a, sizeof *a))
        return lost_worker(o, err);
    char *text = noe_malloc(a->n_body + 1);
    text[a->n_body] = '\0';
    if (!noe_receive(o->fd, text, a->n_body)) {
        free(text);
        return lost_worker(o, err);
    }
    noe_status status = a->status;
    if (status != NOE_OK)
        status = noe_fail(err, status, "%s", text);
    if (status == NOE_OK && result)
        *result = text;
    else
        free(text);
    return status;
}

static const char *clock_name(int n_threads)
{
    return n_threads == 1 ? "thread-cpu" : "wall";
}

static noe_status ask_about(noe_executor *executor, noe_executor *other,
                            noe_ort_verb verb, int max_rounds, noe_ort_answer *a,
                            noe_error *err)
{
    ort_remote *e = (ort_remote *)executor, *f = (ort_remote *)other;
    ort_backend *o = (ort_backend *)executor->backend;
    if (e->life != o->life || (f && f->life != o->life) || o->pid == 0)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "the ONNX Runtime worker that held this model is gone");
    noe_ort_request q = {
        .verb = verb, .a = e->id, .b = f ? f->id : 0, .max_rounds = max_rounds};
    return ask(o, &q, NULL, NULL, 0, a, NULL, err);
}

/* ---- the backend's slots ---- */

static noe_status prepare_bytes(ort_backend *o, const noe_buf *extra, const void *data,
                                size_t len, const noe_executor_options *options,
                                ort_remote **out, noe_error *err)
{
    noe_ort_answer a;
    noe_ort_request q = {
        .verb = NOE_ORT_PREPARE, .options = *options, .n_extra = extra->len};
    q.options.n_threads = noe_executor_threads(o->base.env, options);
    NOE_TRY(ask(o, &q, extra->text, data, len, &a, NULL, err));
    ort_remote *e = noe_calloc(1, sizeof *e);
    e->base = (noe_executor){
        .backend = &o->base, .n_threads = q.options.n_threads, .n_calls = 1};
    e->id = a.id;
    e->life = o->life;
    e->in_bytes = a.in_bytes;
    e->out_bytes = a.out_bytes;
    *out = e;
    return NOE_OK;
}

static void note_tensor(ort_remote *e, uint32_t at, const noe_type *t)
{
    e->tensors[at] = (struct tensor){t->dtype, noe_shape_elements(&t->shape)};
}

static void note_tensors(ort_remote *e, const noe_graph *g)
{
    e->tensors = noe_calloc((size_t)g->n_nodes + g->n_outputs + 1, sizeof *e->tensors);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == NOE_OP_INPUT)
            note_tensor(e, e->n_in++, g->nodes[i].types);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        note_tensor(e, e->n_in + e->n_out++, noe_graph_type(g, g->outputs[i].ref));
}

/* Does a graph ask for any work? One without operators is not worth a session. */
static bool has_work(const noe_graph *g, const uint8_t *live)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (live[i] && g->nodes[i].op < NOE_OP_COUNT && !g->nodes[i].is_weight)
            return true;
    }
    return false;
}

static noe_status prepare(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err)
{
    ort_backend *o = (ort_backend *)b;
    char *data;
    size_t len;
    ort_remote *e;
    uint8_t *live = noe_calloc(g->n_nodes + 1, 1);
    noe_buf no_extra = {0};
    noe_graph_mark_live(g, live);
    noe_status status = noe_check_runnable(g, live, err);
    bool works = has_work(g, live);
    free(live);
    *out = NULL;
    if (status != NOE_OK)
        return status;
    NOE_TRY(o->encode(g, o->opset, &data, &len, err));
    status = prepare_bytes(o, &no_extra, data, len, options, &e, err);
    free(data);
    if (status != NOE_OK)
        return status;
    e->base.n_calls = works;
    note_tensors(e, g);
    *out = &e->base;
    return NOE_OK;
}

/* The caller's floats as the model has them, and back. Return the end. */
static char *put_tensor(char *to, const float *from, const struct tensor *t)
{
    double *wide = noe_malloc((size_t)t->elements * sizeof *wide + 1);
    for (int64_t i = 0; i < t->elements; i++)
        wide[i] = (double)from[i];
    noe_dtype_store(t->dtype, wide, t->elements, to);
    free(wide);
    return to + (size_t)t->elements * noe_dtype_bytes(t->dtype);
}

static const char *get_tensor(const char *from, float *to, const struct tensor *t)
{
    double *wide = noe_malloc((size_t)t->elements * sizeof *wide + 1);
    noe_dtype_load(t->dtype, from, t->elements, wide);
    for (int64_t i = 0; i < t->elements; i++)
        to[i] = (float)wide[i];
    free(wide);
    return from + (size_t)t->elements * noe_dtype_bytes(t->dtype);
}

static noe_status run(noe_executor *executor, const float *const *inputs,
                      float *const *outputs, noe_error *err)
{
    ort_remote *e = (ort_remote *)executor;
    ort_backend *o = (ort_backend *)executor->backend;
    if (e->life != o->life || o->pid == 0)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "the ONNX Runtime worker that held this model is gone");
    noe_ort_answer a;
    noe_ort_request q = {.verb = NOE_ORT_RUN, .a = e->id};
    char *body = noe_malloc(e->in_bytes + 1), *result = NULL;
    char *end = body;
    for (uint32_t i = 0; i < e->n_in; i++)
        end = put_tensor(end, inputs[i], &e->tensors[i]);
    noe_status status = ask(o, &q, NULL, body, e->in_bytes, &a, &result, err);
    free(body);
    const char *at = result;
    for (uint32_t i = 0; status == NOE_OK && i < e->n_out; i++)
        at = get_tensor(at, outputs[i], &e->tensors[e->n_in + i]);
    free(result);
    return status;
}

static noe_status time_one(noe_executor *e, noe_measure *m, noe_error *err)
{
    noe_ort_answer a;
    *m = (noe_measure){.clock = clock_name(e->n_threads), .disturbance = 1};
    if (e->n_calls == 0)
        return NOE_OK;
    NOE_TRY(ask_about(e, NULL, NOE_ORT_TIME, 0, &a, err));
    *m = a.measure;
    m->clock = clock_name(e->n_threads);
    return NOE_OK;
}

static noe_status time_pair(noe_executor *a, noe_executor *b, int max_rounds,
                            noe_pair_measure *out, noe_error *err)
{
    noe_ort_answer answer;
    NOE_TRY(ask_about(a, b, NOE_ORT_PAIR, max_rounds, &answer, err));
    *out = answer.pair;
    out->clock = clock_name(a->n_threads);
    return NOE_OK;
}

noe_status noe_ort_difference(noe_executor *a, noe_executor *b, double *difference,
                              noe_error *err)
{
    noe_ort_answer answer;
    NOE_TRY(ask_about(a, b, NOE_ORT_COMPARE, 0, &answer, err));
    *difference = answer.difference;
    return NOE_OK;
}

static void release(noe_executor *executor)
{
    ort_remote *e = (ort_remote *)executor;
    ort_backend *o = (ort_backend *)executor->backend;
    noe_ort_answer a;
    noe_error ignored;
    if (o->pid != 0 && e->life == o->life &&
        ask_about(executor, NULL, NOE_ORT_RELEASE, 0, &a, &ignored) != NOE_OK)
        noe_log(o->base.env, NOE_LOG_DEBUG, "%s", ignored.text);
    free(e->tensors);
    free(e);
}

static void add_shape(noe_buf *extra, const noe_input_shape *s)
{
    noe_buf_add(extra, s->name, strlen(s->name) + 1);
    for (int k = 0; k < s->shape.rank; k++)
        noe_buf_printf(extra, "%s%lld", k ? "," : "", (long long)s->shape.dim[k]);
    noe_buf_add(extra, "", 1);
}

noe_status noe_ort_prepare_model(noe_backend *b, const void *data, size_t len,
                                 const noe_input_shape *shapes, size_t n_shapes,
                                 const char *external, noe_executor **out,
                                 noe_error *err)
{
    noe_buf extra = {0};
    noe_executor_options options = {.n_threads = 0};
    ort_remote *e;
    *out = NULL;
    noe_buf_add(&extra, external ? external : "", external ? strlen(external) + 1 : 1);
    for (size_t i = 0; i < n_shapes; i++)
        add_shape(&extra, &shapes[i]);
    noe_status status =
        prepare_bytes((ort_backend *)b, &extra, data, len, &options, &e, err);
    noe_buf_clear(&extra);
    if (status == NOE_OK)
        *out = &e->base;
    return status;
}

static void close_backend(noe_backend *b)
{
    ort_backend *o = (ort_backend *)b;
    end_worker(o, true, NULL);
    free(o->path);
    free(o);
}

static noe_backend_vtable const vtable = {
    .name = "ort",
    .prepare = prepare,
    .run = run,
    .time = time_one,
    .pair = time_pair,
    .release = release,
    .close = close_backend,
};

/* ---- opening ---- */

static void set_limits(ort_backend *o)
{
    const char *text = getenv(LIMIT_VARIABLE);
    double seconds = text ? atof(text) : 0;
    o->limit_cpu = seconds > 0 ? seconds : LIMIT_CPU;
    o->limit_idle = seconds > 0 ? seconds : LIMIT_IDLE;
}

static noe_status greet(ort_backend *o, noe_error *err)
{
    noe_ort_answer a;
    noe_ort_request q = {.verb = NOE_ORT_HELLO};
    char *version, cpu[80];
    NOE_TRY(ask(o, &q, NULL, NULL, 0, &a, &version, err));
    noe_cpu_model(cpu, sizeof cpu);
    o->opset = noe_ort_opset(version);
    snprintf(o->base.description, sizeof o->base.description,
             "onnxruntime %.20s %s threads=%d", version, cpu, o->worker_env.n_threads);
    free(version);
    return NOE_OK;
}

noe_status noe_ort_open(const char *library, noe_encode_fn *encode, const noe_env *env,
                        noe_backend **b, noe_error *err)
{
    char *path;
    *b = NULL;
    NOE_TRY(noe_ort_find(library, &path, err));
    ort_backend *o = noe_calloc(1, sizeof *o);
    o->base.vt = &vtable;
    o->base.env = env;
    o->path = path;
    o->encode = encode;
    o->worker_env = (noe_env){.seed = env->seed,
                              .n_threads = env->n_threads > 0 ? env->n_threads : 1};
    set_limits(o);
    noe_status status = greet(o, err);
    if (status != NOE_OK) {
        close_backend(&o->base);
        return status;
    }
    *b = &o->base;
    return NOE_OK;
}
