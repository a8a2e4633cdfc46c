/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of ResNet-50's operators, as the optimizer prices them: each kernel alone, in
 * the layout that it likes, with what it absorbs. Every operator is estimated several
 * times, interleaved, so that the spread shows what the protocol is worth on this
 * machine.
 *
 * Usage: noe_bench_ops [BACKEND [THREADS]] > bench/results/runtime.md
 */
#include "runtime/runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_ESTIMATES 7

typedef struct operator_case {
    const char *what;
    int64_t batch, channels, size; /* of the input image */
    int64_t out, kernel, stride, pad;
    bool residual, relu;
} operator_case;

/* The distinct convolutions of ResNet-50 at 224 x 224 (stride on the 3x3). */
static const operator_case convs[] = {
    {"conv1", 1, 3, 224, 64, 7, 2, 3, false, true},
    {"res2a reduce", 1, 64, 56, 64, 1, 1, 0, false, true},
    {"res2 3x3", 1, 64, 56, 64, 3, 1, 1, false, true},
    {"res2 expand", 1, 64, 56, 256, 1, 1, 0, true, true},
    {"res2 project", 1, 64, 56, 256, 1, 1, 0, false, false},
    {"res2 reduce", 1, 256, 56, 64, 1, 1, 0, false, true},
    {"res3a reduce", 1, 256, 56, 128, 1, 1, 0, false, true},
    {"res3a 3x3", 1, 128, 56, 128, 3, 2, 1, false, true},
    {"res3 project", 1, 256, 56, 512, 1, 2, 0, false, false},
    {"res3 reduce", 1, 512, 28, 128, 1, 1, 0, false, true},
    {"res3 3x3", 1, 128, 28, 128, 3, 1, 1, false, true},
    {"res3 expand", 1, 128, 28, 512, 1, 1, 0, true, true},
    {"res4a reduce", 1, 512, 28, 256, 1, 1, 0, false, true},
    {"res4a 3x3", 1, 256, 28, 256, 3, 2, 1, false, true},
    {"res4 project", 1, 512, 28, 1024, 1, 2, 0, false, false},
    {"res4 reduce", 1, 1024, 14, 256, 1, 1, 0, false, true},
    {"res4 3x3", 1, 256, 14, 256, 3, 1, 1, false, true},
    {"res4 expand", 1, 256, 14, 1024, 1, 1, 0, true, true},
    {"res5a reduce", 1, 1024, 14, 512, 1, 1, 0, false, true},
    {"res5a 3x3", 1, 512, 14, 512, 3, 2, 1, false, true},
    {"res5 project", 1, 1024, 14, 2048, 1, 2, 0, false, false},
    {"res5 reduce", 1, 2048, 7, 512, 1, 1, 0, false, true},
    {"res5 3x3", 1, 512, 7, 512, 3, 1, 1, false, true},
    {"res5 expand", 1, 512, 7, 2048, 1, 1, 0, true, true},
};

static const struct {
    const char *what, *text;
    double flops;
} others[] = {
    {"max_pool 3x3/2 of [1,64,112,112]",
     "%0 = input \"x\" : f32[1,64,112,112]\n"
     "%1 = max_pool[kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], dilations=[1,1]]"
     "(%0) : f32[1,64,56,56]\nreturn %1\n",
     0},
    {"global_average_pool of [1,2048,7,7]",
     "%0 = input \"x\" : f32[1,2048,7,7]\n"
     "%1 = global_average_pool(%0) : f32[1,2048,1,1]\nreturn %1\n",
     0},
    {"gemm 2048 x 1000",
     "%0 = input \"x\" : f32[1,2048]\n"
     "%1 = weight \"w\" : f32[1000,2048]\n"
     "%2 = weight \"b\" : f32[1000]\n"
     "%3 = gemm[alpha=1.0, beta=1.0, transA=0, transB=1](%0, %1, %2) : f32[1,1000]\n"
     "return %3\n",
     2.0 * 2048 * 1000},
    {"add of [1,256,56,56]",
     "%0 = input \"x\" : f32[1,256,56,56]\n"
     "%1 = input \"y\" : f32[1,256,56,56]\n"
     "%2 = add(%0, %1) : f32[1,256,56,56]\nreturn %2\n",
     0},
    {"relu of [1,256,56,56]",
     "%0 = input \"x\" : f32[1,256,56,56]\n"
     "%1 = relu(%0) : f32[1,256,56,56]\nreturn %1\n",
     0},
    {"softmax of [1,1000]",
     "%0 = input \"x\" : f32[1,1000]\n"
     "%1 = softmax[axis=1](%0) : f32[1,1000]\nreturn %1\n",
     0},
};

#define N_CONVS  (sizeof convs / sizeof convs[0])
#define N_OTHERS (sizeof others / sizeof others[0])

typedef struct row {
    char what[80];
    double flops;
    noe_executor *executor;
    double estimates[N_ESTIMATES];
    int n_batches;
    double disturbance; /* worst of the estimates */
    const char *clock;
} row;

static void conv_text(const operator_case *c, noe_buf *b, double *flops)
{
    long long n = c->batch, ci = c->channels, s = c->size, o = c->out, k = c->kernel;
    long long y = (s + 2 * c->pad - k) / c->stride + 1;
    long long st = c->stride, p = c->pad;
    int last = 4;
    noe_buf_printf(b, "%%0 = input \"x\" : f32[%lld,%lld,%lld,%lld]\n", n, ci, s, s);
    noe_buf_printf(b, "%%1 = weight \"w\" : f32[%lld,%lld,%lld,%lld]\n", o, ci, k, k);
    noe_buf_printf(b, "%%2 = weight \"b\" : f32[%lld]\n", o);
    noe_buf_printf(b, "%%3 = input \"r\" : f32[%lld,%lld,%lld,%lld]\n", n, o, y, y);
    noe_buf_printf(
        b,
        "%%4 = conv_bias[strides=[%lld,%lld], pads=[%lld,%lld,%lld,%lld], "
        "dilations=[1,1], group=1](%%0, %%1, %%2) : f32[%lld,%lld,%lld,%lld]\n",
        st, st, p, p, p, p, n, o, y, y);
    if (c->residual) {
        noe_buf_printf(b, "%%5 = add(%%4, %%3) : f32[%lld,%lld,%lld,%lld]\n", n, o, y,
                       y);
        last = 5;
    }
    if (c->relu) {
        noe_buf_printf(b, "%%%d = relu(%%%d) : f32[%lld,%lld,%lld,%lld]\n", last + 1,
                       last, n, o, y, y);
        last++;
    }
    noe_buf_printf(b, "return %%%d\n", last);
    *flops = 2.0 * (double)(n * o * ci * k * k * y * y);
}

static noe_status prepare(noe_backend *b, const char *text, noe_executor **out,
                          noe_error *err)
{
    noe_graph *g = NULL;
    noe_pool *pool = noe_pool_new();
    noe_status s = noe_graph_parse(pool, text, &g, err);
    noe_executor_options options = {.free_layout = true};
    if (s == NOE_OK)
        s = b->vt->prepare(b, g, &options, out, err);
    noe_graph_free(g);
    /* The pool goes on living: the executor's copy of the graph refers to it. */
    return s;
}

static noe_status make_rows(noe_backend *b, row *rows, noe_error *err)
{
    for (size_t i = 0; i < N_CONVS; i++) {
        noe_buf text = {0};
        const operator_case *c = &convs[i];
        conv_text(c, &text, &rows[i].flops);
        snprintf(rows[i].what, sizeof rows[i].what,
                 "%s %lld to %lld, %lldx%lld/%lld%s%s", c->what, (long long)c->channels,
                 (long long)c->out, (long long)c->kernel, (long long)c->kernel,
                 (long long)c->stride, c->residual ? " + residual" : "",
                 c->relu ? " + relu" : "");
        noe_status s = prepare(b, text.text, &rows[i].executor, err);
        noe_buf_clear(&text);
        NOE_TRY(s);
    }
    for (size_t i = 0; i < N_OTHERS; i++) {
        row *r = &rows[N_CONVS + i];
        snprintf(r->what, sizeof r->what, "%s", others[i].what);
        r->flops = others[i].flops;
        NOE_TRY(prepare(b, others[i].text, &r->executor, err));
    }
    return NOE_OK;
}

static noe_status estimate_all(noe_backend *b, row *rows, size_t n, noe_error *err)
{
    for (int k = 0; k < N_ESTIMATES; k++) {
        for (size_t i = 0; i < n; i++) {
            noe_measure m;
            NOE_TRY(b->vt->time(rows[i].executor, &m, err));
            rows[i].estimates[k] = m.seconds;
            rows[i].n_batches += m.n_batches;
            rows[i].clock = m.clock;
            if (m.disturbance > rows[i].disturbance)
                rows[i].disturbance = m.disturbance;
        }
    }
    return NOE_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_rows(const noe_backend *b, row *rows, size_t n)
{
    printf("# Times of ResNet-50's operators\n\n");
    double load[1] = {0};
    int known = getloadavg(load, 1);
    printf("Written by `noe_bench_ops`. Backend: %s; clock: %s; load of the machine at "
           "the "
           "end: %.1f on %ld processors.\n\n",
           b->description, rows[0].clock, known == 1 ? load[0] : 0,
           sysconf(_SC_NPROCESSORS_ONLN));
    printf(
        "Median of %d estimates, interleaved, each the smallest batch of the protocol; "
        "spread: (largest - smallest) / median of the estimates; disturbance: the "
        "largest of the estimates (runtime.h).\n\n",
        N_ESTIMATES);
    printf("| operator | us | spread %% | GFLOP/s | calls | batches | disturbance |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        double *e = rows[i].estimates;
        qsort(e, N_ESTIMATES, sizeof *e, compare_doubles);
        double median = e[N_ESTIMATES / 2];
        printf("| %s | %.1f | %.1f | ", rows[i].what, median * 1e6,
               100 * (e[N_ESTIMATES - 1] - e[0]) / median);
        if (rows[i].flops > 0)
            printf("%.0f", rows[i].flops / median * 1e-9);
        printf(" | %llu | %.1f | %.2f |\n",
               (unsigned long long)rows[i].executor->n_calls,
               (double)rows[i].n_batches / N_ESTIMATES, rows[i].disturbance);
    }
}

int main(int argc, char **argv)
{
    noe_env env = {.n_threads = argc > 2 ? atoi(argv[2]) : 1};
    noe_backend *b = NULL;
    noe_error err;
    static row rows[N_CONVS + N_OTHERS];
    size_t n = N_CONVS + N_OTHERS;
    noe_status s = noe_backend_open(argc > 1 ? argv[1] : "onednn", &env, &b, &err);
    if (s == NOE_OK)
        s = make_rows(b, rows, &err);
    if (s == NOE_OK)
        s = estimate_all(b, rows, n, &err);
    if (s != NOE_OK) {
        fprintf(stderr, "noe_bench_ops: error: %s\n", err.text);
        return noe_status_exit_code(s);
    }
    print_rows(b, rows, n);
    for (size_t i = 0; i < n; i++)
        b->vt->release(rows[i].executor);
    b->vt->close(b);
    return 0;
}
