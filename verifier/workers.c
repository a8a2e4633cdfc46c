/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker reads the length and the text of a rule from its socket and writes a
 * message: numbers, lengths of texts, texts. It has one rule at a time. When its socket
 * closes it ends; when a worker's socket closes here it has died, and is replaced.
 */
#include "verifier/workers.h"
#include "core/base/file.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define MAX_DEATHS  2 /* of a rule */

typedef enum job_state { JOB_OPEN, JOB_RUNNING, JOB_DONE, JOB_LOST } job_state;

typedef struct job {
    char *text;
    job_state state;
    int deaths, how; /* how the last worker ended: of waitpid */
    noe_check check;
} job;

typedef struct worker {
    pid_t pid;
    int fd;
    job *job; /* NULL: idle */
} worker;

struct noe_workers {
    noe_judge_fn *judge;
    void *ctx;
    worker *worker;
    int n_workers;
    job **job; /* in the order in which they came */
    int n_jobs, cap_jobs;
};

/* Messages */

enum {
    TEXT_REASON,
    TEXT_COUNTEREXAMPLE,
    TEXT_SHAPES,
    TEXT_SCHEME,
    TEXT_AXIOMS,
    TEXT_CERTIFICATE,
    TEXT_RANKS,
    TEXT_LAWS,
    N_TEXTS
};

static const char *const stages[] = {"type", "field", "z3", "lia"};
#define N_STAGES ((int)(sizeof stages / sizeof *stages))

typedef struct message {
    noe_verdict_kind kind;
    noe_tier tier;
    noe_numeric numeric;
    noe_directions directions;
    int stage, n_instances;
    bool is_proved_z3, is_proved_lia;
    uint64_t seed;
    int64_t rlimit, questions;
    double error_bound, cpu_seconds, cpu_field, cpu_z3, cpu_lia, cpu_class;
    size_t len[N_TEXTS];
} message;

static void list_texts(noe_check *c, noe_buf *text[N_TEXTS])
{
    text[TEXT_REASON] = &c->reason;
    text[TEXT_COUNTEREXAMPLE] = &c->field.counterexample;
    text[TEXT_SHAPES] = &c->field.shapes_checked;
    text[TEXT_SCHEME] = &c->field.scheme;
    text[TEXT_AXIOMS] = &c->proof.axioms;
    text[TEXT_CERTIFICATE] = &c->proof.certificate;
    text[TEXT_RANKS] = &c->lia.ranks;
    text[TEXT_LAWS] = &c->lia.laws;
}

static bool send_check(int fd, noe_check *c)
{
    noe_buf *text[N_TEXTS];
    message m;
    memset(&m, 0, sizeof m); /* padding too */
    m.kind = c->kind;
    m.tier = c->tier;
    m.numeric = c->numeric;
    m.directions = c->directions;
    m.n_instances = c->field.n_instances;
    m.is_proved_z3 = c->proof.proved;
    m.is_proved_lia = c->lia.proved;
    m.seed = c->seed;
    m.rlimit = c->proof.rlimit;
    m.questions = c->lia.questions;
    m.error_bound = c->field.error_bound;
    m.cpu_seconds = c->cpu_seconds;
    m.cpu_field = c->cpu_field;
    m.cpu_z3 = c->cpu_z3;
    m.cpu_lia = c->cpu_lia;
    m.cpu_class = c->cpu_class;
    while (m.stage < N_STAGES - 1 && strcmp(stages[m.stage], c->stage) != 0)
        m.stage++;
    list_texts(c, text);
    for (int i = 0; i < N_TEXTS; i++)
        m.len[i] = text[i]->len;
    bool ok = noe_send(fd, &m, sizeof m);
    for (int i = 0; i < N_TEXTS && ok; i++)
        ok = noe_send(fd, noe_buf_text(text[i]), m.len[i]);
    return ok;
}

static bool receive_check(int fd, noe_check *c)
{
    noe_buf *text[N_TEXTS];
    message m;
    *c = (noe_check){0};
    if (!noe_receive(fd, &m, sizeof m))
        return false;
    c->kind = m.kind;
    c->tier = m.tier;
    c->stage = stages[m.stage];
    c->numeric = m.numeric;
    c->directions = m.directions;
    c->field.n_instances = m.n_instances;
    c->proof.proved = m.is_proved_z3;
    c->lia.proved = m.is_proved_lia;
    c->seed = m.seed;
    c->proof.rlimit = m.rlimit;
    c->lia.questions = m.questions;
    c->field.error_bound = m.error_bound;
    c->cpu_seconds = m.cpu_seconds;
    c->cpu_field = m.cpu_field;
    c->cpu_z3 = m.cpu_z3;
    c->cpu_lia = m.cpu_lia;
    c->cpu_class = m.cpu_class;
    list_texts(c, text);
    bool ok = true;
    for (int i = 0; i < N_TEXTS && ok; i++) {
        char *data = noe_malloc(m.len[i] + 1);
        ok = noe_receive(fd, data, m.len[i]);
        if (ok && m.len[i] > 0)
            noe_buf_add(text[i], data, m.len[i]);
        free(data);
    }
    if (!ok)
        noe_check_clear(c);
    return ok;
}

/* Processes */

static void work(const noe_workers *w, int fd)
{
    size_t len;
    while (noe_receive(fd, &len, sizeof len)) {
        noe_check c = {0};
        char *text = noe_malloc(len + 1);
        if (!noe_receive(fd, text, len))
            break;
        text[len] = '\0';
        w->judge(w->ctx, text, &c);
        if (!send_check(fd, &c))
            break;
        noe_check_clear(&c);
        free(text);
    }
}

static noe_status start(noe_workers *w, worker *x, noe_error *err)
{
    int fds[2];
    *x = (worker){.pid = -1, .fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return noe_fail(err, NOE_ERR_IO, "no socket for a worker process: %s",
                        strerror(errno));
    fflush(NULL);
    x->pid = fork();
    if (x->pid == 0) {
        /* Only the parent ends at ^C; the others' sockets are not this one's. */
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        close(fds[0]);
        for (int i = 0; i < w->n_workers; i++) {
            if (w->worker[i].fd >= 0)
                close(w->worker[i].fd);
        }
        work(w, fds[1]);
        quick_exit(0); /* the destructors of what was inherited are not ours to run */
    }
    close(fds[1]);
    if (x->pid < 0) {
        close(fds[0]);
        return noe_fail(err, NOE_ERR_IO, "no worker process: %s", strerror(errno));
    }
    x->fd = fds[0];
    return NOE_OK;
}

static int end(worker *x)
{
    int how = 0;
    if (x->fd >= 0)
        close(x->fd);
    while (x->pid > 0 && waitpid(x->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    *x = (worker){.pid = -1, .fd = -1};
    return how;
}

noe_status noe_workers_new(int n, noe_judge_fn *judge, void *ctx, noe_workers **workers,
                           noe_error *err)
{
    NOE_ASSERT(n >= 1 && n <= MAX_WORKERS);
    noe_workers *w = noe_calloc(1, sizeof *w);
    w->judge = judge;
    w->ctx = ctx;
    w->worker = noe_calloc((size_t)n, sizeof *w->worker);
    noe_status status = NOE_OK;
    while (w->n_workers < n && status == NOE_OK) {
        status = start(w, &w->worker[w->n_workers], err);
        w->n_workers += status == NOE_OK;
    }
    if (status != NOE_OK)
        noe_workers_free(w);
    else
        *workers = w;
    return status;
}

static void free_job(job *j)
{
    noe_check_clear(&j->check);
    free(j->text);
    free(j);
}

void noe_workers_free(noe_workers *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->n_workers; i++) {
        if (w->worker[i].pid > 0 && w->worker[i].job)
            kill(w->worker[i].pid, SIGKILL);
        (void)end(&w->worker[i]);
    }
    for (int i = 0; i < w->n_jobs; i++)
        free_job(w->job[i]);
    free(w->job);
    free(w->worker);
    free(w);
}

/* Jobs */

static job *find_job(const noe_workers *w, const char *text)
{
    for (int i = 0; i < w->n_jobs; i++) {
        if (strcmp(w->job[i]->text, text) == 0)
            return w->job[i];
    }
    return NULL;
}

static job *add_job(noe_workers *w, const char *text)
{
    job *j = noe_calloc(1, sizeof *j);
    j->text = noe_strdup(text);
    NOE_PUSH(w->job, w->n_jobs, w->cap_jobs, j);
    return j;
}

static void died(noe_workers *w, worker *x)
{
    job *j = x->job;
    int how = end(x);
    if (j) {
        j->how = how;
        j->state = ++j->deaths < MAX_DEATHS ? JOB_OPEN : JOB_LOST;
    }
    (void)start(w, x, NULL); /* if that fails it stays without a process */
}

static void give(noe_workers *w, worker *x, job *j)
{
    size_t len = strlen(j->text);
    x->job = j;
    j->state = JOB_RUNNING;
    if (!noe_send(x->fd, &len, sizeof len) || !noe_send(x->fd, j->text, len))
        died(w, x);
}

/* Idle workers get `first`, then what came first. */
static void give_out(noe_workers *w, job *first)
{
    for (int i = 0; i < w->n_workers; i++) {
        job *next = first && first->state == JOB_OPEN ? first : NULL;
        for (int k = 0; k < w->n_jobs && !next; k++)
            next = w->job[k]->state == JOB_OPEN ? w->job[k] : NULL;
        if (!next)
            return;
        if (w->worker[i].fd >= 0 && !w->worker[i].job)
            give(w, &w->worker[i], next);
    }
}

/* Takes in what is there, after waiting for something; false if no process is left. */
static bool collect(noe_workers *w, int timeout)
{
    struct pollfd wait[MAX_WORKERS];
    int n = 0, of[MAX_WORKERS];
    for (int i = 0; i < w->n_workers; i++) {
        if (w->worker[i].fd < 0)
            continue;
        wait[n] = (struct pollfd){.fd = w->worker[i].fd, .events = POLLIN};
        of[n++] = i;
    }
    if (n == 0)
        return false;
    if (poll(wait, (nfds_t)n, timeout) < 0)
        return true; /* interrupted: the caller asks again */
    for (int k = 0; k < n; k++) {
        worker *x = &w->worker[of[k]];
        if (!wait[k].revents)
            continue;
        if (!x->job || !receive_check(x->fd, &x->job->check)) {
            died(w, x);
            continue;
        }
        x->job->state = JOB_DONE;
        x->job = NULL;
    }
    return true;
}

void noe_workers_announce(noe_workers *w, const char *text)
{
    if (!find_job(w, text))
        (void)add_job(w, text);
    (void)collect(w, 0);
    give_out(w, NULL);
}

static void say_how(const job *j, noe_error *err)
{
    if (j->deaths == 0)
        noe_fail(err, NOE_ERR_IO, "no worker process can be started");
    else if (WIFSIGNALED(j->how))
        noe_fail(err, NOE_ERR_IO, "worker processes died of it, %d times: %s",
                 j->deaths, strsignal(WTERMSIG(j->how)));
    else
        noe_fail(err, NOE_ERR_IO, "worker processes ended at it, %d times", j->deaths);
}

bool noe_workers_take(noe_workers *w, const char *text, noe_check *check,
                      noe_error *err)
{
    job *j = find_job(w, text);
    if (!j)
        j = add_job(w, text);
    bool alive = true;
    while (j->state < JOB_DONE && alive) {
        give_out(w, j);
        alive = collect(w, -1);
    }
    bool ok = j->state == JOB_DONE;
    if (ok) {
        *check = j->check;
        j->check = (noe_check){0};
    } else {
        *check = (noe_check){0};
        say_how(j, err);
    }
    int at = 0;
    while (w->job[at] != j)
        at++;
    free_job(j);
    w->n_jobs--;
    memmove(w->job + at, w->job + at + 1, (size_t)(w->n_jobs - at) * sizeof *w->job);
    return ok;
}
