/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan bound to device memory, and its execution.
 *
 * One block each for activations, inputs, weights (in several copies that runs take in
 * turn, together larger than twice the L2 cache, when they shall be cold) and
 * workspace. Runs are enqueued on the device's one stream, so executors may share it.
 *
 * For the clock, runs are captured into a CUDA graph: as many as take a fifth of a
 * millisecond, and at least one with each copy of the weights. The clock is a pair of
 * events around replays of that graph.
 */
#include "runtime/cuda/plan.h"
#include "runtime/measure.h"
#include "runtime/place.h"
#include <stdlib.h>

#define ALIGNMENT     ((size_t)256)
#define MAX_COPIES    256 /* as many as MAX_RUNS */
#define GRAPH_SECONDS 0.2e-3
#define MAX_RUNS      256 /* in one graph */

typedef struct cuda_executor {
    noe_executor base;
    noe_graph *g;
    noe_cu_plan plan;
    uint64_t life;
    char *arena, *inputs, *weights, *workspace;
    size_t weight_bytes, n_copies, copy; /* copy: which one the next run takes */
    cudaGraphExec_t replay;              /* NULL until timed */
    int n_runs;                          /* in it */
    noe_measure known;                   /* of the choice between layouts */
} cuda_executor;

static noe_cu_device *device_of(const cuda_executor *e)
{
    return (noe_cu_device *)e->base.backend;
}

/* ---- memory ---- */

static size_t bytes_of(const cuda_executor *e, const noe_cu_buffer *b)
{
    return b->elements * noe_cu_element_bytes(device_of(e));
}

static size_t place_arena(cuda_executor *e)
{
    noe_cu_plan *p = &e->plan;
    noe_lifetime *items = noe_calloc((size_t)p->n_buffers + 1, sizeof *items);
    uint32_t *buffer = noe_calloc((size_t)p->n_buffers + 1, sizeof *buffer);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const noe_cu_buffer *b = &p->buffers[i];
        if (b->store != NOE_CU_ARENA || b->first == NOE_CU_NONE)
            continue;
        buffer[n] = i;
        items[n++] = (noe_lifetime){bytes_of(e, b), b->first, b->end, 0};
    }
    size_t bytes = noe_place(items, n, ALIGNMENT);
    for (uint32_t i = 0; i < n; i++)
        p->buffers[buffer[i]].offset = items[i].offset;
    free(items);
    free(buffer);
    return bytes;
}

/* One after the other; returns the bytes of all. */
static size_t place_store(cuda_executor *e, noe_cu_store store)
{
    size_t total = 0;
    for (uint32_t i = 0; i < e->plan.n_buffers; i++) {
        noe_cu_buffer *b = &e->plan.buffers[i];
        if (b->store != store)
            continue;
        b->offset = total;
        total += (bytes_of(e, b) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return total;
}

static noe_status allocate(cuda_executor *e, char **block, size_t bytes,
                           const char *what, noe_error *err)
{
    noe_cu_api *api = &device_of(e)->api;
    void *p = NULL;
    if (bytes == 0)
        return NOE_OK;
    noe_status status =
        noe_cu_check(api, api->cudaMalloc(&p, bytes), "cudaMalloc", err);
    *block = p;
    if (status != NOE_OK)
        noe_error_prefix(err, "%zu bytes of %s: ", bytes, what);
    return status;
}

static size_t count_copies(const cuda_executor *e, bool cold)
{
    if (!cold || e->weight_bytes == 0)
        return 1;
    size_t n = 2 * device_of(e)->l2_bytes / e->weight_bytes + 2;
    return n < MAX_COPIES ? n : MAX_COPIES;
}

static char *address_of(const cuda_executor *e, uint32_t buffer, size_t copy)
{
    const noe_cu_buffer *b = &e->plan.buffers[buffer];
    switch (b->store) {
    case NOE_CU_ARENA:
        return e->arena + b->offset;
    case NOE_CU_WEIGHT:
        return e->weights + copy * e->weight_bytes + b->offset;
    case NOE_CU_INPUT:
        return e->inputs + b->offset;
    }
    return NULL;
}

/* On our stream, and waited for: one that the runtime chooses would run beside it. */
static noe_status transfer(noe_cu_device *d, void *to, const void *from, size_t bytes,
                           cudaMemcpyKind kind, noe_error *err)
{
    NOE_CU_TRY(&d->api, cudaMemcpyAsync, to, from, bytes, kind, d->stream);
    NOE_CU_TRY(&d->api, cudaStreamSynchronize, d->stream);
    return NOE_OK;
}

/* data NULL: random numbers. */
static noe_status upload(cuda_executor *e, char *to, const float *data, size_t n,
                         uint64_t seed, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    float *random = NULL;
    if (n == 0)
        return NOE_OK;
    if (!data) {
        random = noe_malloc(n * sizeof *random);
        noe_fill_random(random, n, seed);
    }
    size_t bytes = n * noe_cu_element_bytes(d);
    void *converted = noe_malloc(bytes);
    noe_cu_to_device_type(d, converted, data ? data : random, n);
    noe_status status = transfer(d, to, converted, bytes, cudaMemcpyHostToDevice, err);
    free(converted);
    free(random);
    return status;
}

static noe_status upload_weights(cuda_executor *e, noe_error *err)
{
    for (uint32_t i = 0; i < e->plan.n_buffers; i++) {
        const noe_cu_buffer *b = &e->plan.buffers[i];
        for (size_t c = 0; c < e->n_copies && b->store == NOE_CU_WEIGHT; c++)
            NOE_TRY(upload(e, address_of(e, i, c), b->data, b->elements, i, err));
    }
    return NOE_OK;
}

static noe_status clear(cuda_executor *e, char *block, size_t bytes, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    if (bytes > 0)
        NOE_CU_TRY(&d->api, cudaMemsetAsync, block, 0, bytes, d->stream);
    return NOE_OK;
}

/* The largest of what any plan of any step asks for. */
static size_t workspace_bytes(const noe_cu_plan *p)
{
    size_t most = 0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const noe_cu_step *s = &p->steps[i];
        for (int k = 0; s->dnn && k < s->dnn->n_plans; k++)
            most = s->dnn->workspace[k] > most ? s->dnn->workspace[k] : most;
        for (int k = 0; s->product && k < s->product->n_plans; k++) {
            size_t bytes = s->product->plans[k].workspaceSize;
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

static noe_status make_memory(cuda_executor *e, bool cold, noe_error *err)
{
    size_t arena = place_arena(e), inputs = place_store(e, NOE_CU_INPUT);
    e->weight_bytes = place_store(e, NOE_CU_WEIGHT);
    e->n_copies = count_copies(e, cold);
    NOE_TRY(allocate(e, &e->arena, arena, "activations", err));
    NOE_TRY(allocate(e, &e->inputs, inputs, "inputs", err));
    NOE_TRY(allocate(e, &e->weights, e->n_copies * e->weight_bytes, "weights", err));
    NOE_TRY(allocate(e, &e->workspace, workspace_bytes(&e->plan), "workspace", err));
    NOE_TRY(clear(e, e->arena, arena, err));
    for (uint32_t i = 0; i < e->plan.n_inputs; i++) {
        uint32_t buffer = e->plan.input_buffers[i];
        if (buffer != NOE_CU_NONE)
            NOE_TRY(upload(e, address_of(e, buffer, 0), NULL,
                           e->plan.buffers[buffer].elements, i, err));
    }
    NOE_TRY(upload_weights(e, err));
    noe_arena_clear(&e->plan.scratch);
    return NOE_OK;
}

/* ---- running ---- */

static noe_status launch(cuda_executor *e, const noe_cu_step *s, char *const *operands,
                         noe_error *err)
{
    noe_cu_device *d = device_of(e);
    noe_cu_args args = *s->launch;
    void *params[] = {&args};
    for (int i = 0; i < s->n_args; i++)
        args.p[i] = operands[i];
    return noe_cu_check_driver(&d->api,
                               d->api.cuLaunchKernel(d->kernels[s->kernel], s->grid, 1,
                                                     1, s->block, 1, 1, 0, d->stream,
                                                     params, NULL),
                               "cuLaunchKernel", err);
}

static noe_status issue(cuda_executor *e, const noe_cu_step *s, size_t copy,
                        noe_error *err)
{
    noe_cu_device *d = device_of(e);
    char *operands[NOE_CU_MAX_OPERANDS] = {NULL};
    void *addresses[NOE_CU_MAX_OPERANDS];
    noe_status status = NOE_OK;
    for (int i = 0; i < s->n_args; i++) {
        if (s->args[i] != NOE_CU_NONE)
            operands[i] = address_of(e, s->args[i], copy);
        addresses[i] = operands[i];
    }
    switch (s->kind) {
    case NOE_CU_LAUNCH:
        status = launch(e, s, operands, err);
        break;
    case NOE_CU_CONVOLVE:
        status = noe_cu_dnn_run(d, s->dnn, s->choice, addresses, s->n_args,
                                e->workspace, err);
        break;
    case NOE_CU_MULTIPLY:
        status =
            noe_cu_product_run(d, s->product, s->choice, operands, e->workspace, err);
        break;
    case NOE_CU_ZERO:
        status = clear(e, operands[0], bytes_of(e, &e->plan.buffers[s->args[0]]), err);
        break;
    }
    if (status != NOE_OK)
        noe_error_prefix(err, "node %u: ", s->node);
    return status;
}

static noe_status issue_first(void *ctx, const noe_cu_step *s, noe_error *err)
{
    return issue(ctx, s, 0, err);
}

static noe_status enqueue(cuda_executor *e, noe_error *err)
{
    for (uint32_t i = 0; i < e->plan.n_steps; i++)
        NOE_TRY(issue(e, &e->plan.steps[i], e->copy, err));
    e->copy = (e->copy + 1) % e->n_copies;
    return NOE_OK;
}

static noe_status check_alive(const cuda_executor *e, noe_error *err)
{
    const noe_cu_device *d = device_of(e);
    if (d->api.is_lost || e->life != d->life)
        return noe_fail(err, NOE_ERR_BACKEND,
                        "the CUDA context that held this graph is lost");
    return NOE_OK;
}

static noe_status wait(cuda_executor *e, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    NOE_CU_TRY(&d->api, cudaStreamSynchronize, d->stream);
    return NOE_OK;
}

static noe_status fetch(cuda_executor *e, uint32_t k, float *to, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    noe_ref r = e->g->outputs[k].ref;
    size_t n = (size_t)noe_shape_elements(&noe_graph_type(e->g, r)->shape);
    uint32_t buffer = e->plan.values[r.node].buffer[NOE_CU_PLAIN];
    if (n == 0)
        return NOE_OK;
    size_t bytes = n * noe_cu_element_bytes(d);
    void *raw = noe_malloc(bytes);
    noe_status status =
        transfer(d, raw, address_of(e, buffer, 0), bytes, cudaMemcpyDeviceToHost, err);
    if (status == NOE_OK)
        noe_cu_from_device_type(d, to, raw, n);
    free(raw);
    return status;
}

static noe_status run(noe_executor *executor, const float *const *inputs,
                      float *const *outputs, noe_error *err)
{
    cuda_executor *e = (cuda_executor *)executor;
    NOE_TRY(check_alive(e, err));
    if (e->plan.free_layout)
        return noe_fail(err, NOE_ERR_ARG,
                        "a graph prepared with a free layout can only be timed");
    for (uint32_t i = 0; i < e->plan.n_inputs; i++) {
        uint32_t buffer = e->plan.input_buffers[i];
        if (buffer != NOE_CU_NONE)
            NOE_TRY(upload(e, address_of(e, buffer, 0), inputs[i],
                           e->plan.buffers[buffer].elements, 0, err));
    }
    NOE_TRY(enqueue(e, err));
    NOE_TRY(wait(e, err));
    for (uint32_t k = 0; k < e->g->n_outputs; k++)
        NOE_TRY(fetch(e, k, outputs[k], err));
    return NOE_OK;
}

/* ---- the clock ---- */

static void drop_replay(cuda_executor *e)
{
    if (e->replay)
        device_of(e)->api.cudaGraphExecDestroy(e->replay);
    e->replay = NULL;
}

/* The capture is ended whatever happens, or the stream stays in it. */
static noe_status capture(cuda_executor *e, int n_runs, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    noe_cu_api *api = &d->api;
    cudaGraph_t graph = NULL;
    drop_replay(e);
    NOE_CU_TRY(api, cudaStreamBeginCapture, d->stream,
               cudaStreamCaptureModeThreadLocal);
    noe_status status = NOE_OK;
    for (int i = 0; i < n_runs && status == NOE_OK; i++)
        status = enqueue(e, err);
    noe_error later = {0};
    noe_status ended = noe_cu_check(api, api->cudaStreamEndCapture(d->stream, &graph),
                                    "cudaStreamEndCapture", &later);
    if (status == NOE_OK && ended != NOE_OK && err)
        *err = later;
    status = status == NOE_OK ? ended : status;
    if (status == NOE_OK)
        status =
            noe_cu_check(api, api->cudaGraphInstantiateWithFlags(&e->replay, graph, 0),
                         "cudaGraphInstantiateWithFlags", err);
    if (graph)
        api->cudaGraphDestroy(graph);
    e->n_runs = n_runs;
    return status;
}

/* Seconds a run, of n_replays of the captured graph. */
static noe_status replay(cuda_executor *e, int n_replays, double *seconds,
                         noe_error *err)
{
    noe_cu_device *d = device_of(e);
    noe_cu_api *api = &d->api;
    float ms = 0;
    NOE_CU_TRY(api, cudaEventRecord, d->start, d->stream);
    for (int i = 0; i < n_replays; i++)
        NOE_CU_TRY(api, cudaGraphLaunch, e->replay, d->stream);
    NOE_CU_TRY(api, cudaEventRecord, d->end, d->stream);
    NOE_CU_TRY(api, cudaEventSynchronize, d->end);
    NOE_CU_TRY(api, cudaEventElapsedTime, &ms, d->start, d->end);
    *seconds = (double)ms * 1e-3 / n_replays / e->n_runs;
    return NOE_OK;
}

static noe_status make_replay(cuda_executor *e, noe_error *err)
{
    double seconds;
    int least = (int)e->n_copies;
    NOE_TRY(enqueue(e, err)); /* what libraries load late is loaded outside of it */
    NOE_TRY(wait(e, err));
    e->copy = 0;
    NOE_TRY(capture(e, least, err));
    NOE_TRY(replay(e, 1, &seconds, err));
    NOE_TRY(replay(e, 1, &seconds, err));
    double want = seconds > 0 ? GRAPH_SECONDS / seconds : MAX_RUNS;
    int runs = want > MAX_RUNS ? MAX_RUNS : (int)want;
    runs -= runs % least;
    return runs > least ? capture(e, runs, err) : NOE_OK;
}

static noe_status clocked(noe_executor *executor, int n, double *seconds,
                          noe_error *err)
{
    cuda_executor *e = (cuda_executor *)executor;
    NOE_TRY(check_alive(e, err));
    if (!e->replay)
        NOE_TRY(make_replay(e, err));
    return replay(e, (n - 1) / e->n_runs + 1, seconds, err);
}

static noe_status repeat(noe_executor *executor, int n, noe_error *err)
{
    double seconds;
    return clocked(executor, n, &seconds, err);
}

/* ---- life ---- */

static void release(noe_executor *executor)
{
    cuda_executor *e = (cuda_executor *)executor;
    noe_cu_device *d = device_of(e);
    if (!d->api.is_lost && e->life == d->life) {
        drop_replay(e);
        void *blocks[] = {e->arena, e->inputs, e->weights, e->workspace};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            if (blocks[i])
                d->api.cudaFree(blocks[i]);
        }
    }
    noe_cu_plan_clear(&e->plan);
    noe_graph_free(e->g);
    free(e);
}

static noe_status set_up(cuda_executor *e, noe_cu_order order,
                         const noe_executor_options *options, noe_error *err)
{
    noe_cu_device *d = device_of(e);
    NOE_TRY(noe_cu_plan_graph(&e->plan, d, e->g, order, options && options->free_layout,
                              err));
    e->base.n_calls = e->plan.n_steps;
    NOE_TRY(make_memory(e, options && options->cold_weights, err));
    NOE_TRY(noe_cu_tune(&e->plan, issue_first, e, err));
    return wait(e, err);
}

static noe_status prepare_in(noe_cu_device *d, const noe_graph *g, noe_cu_order order,
                             const noe_executor_options *options, noe_executor **out,
                             noe_error *err)
{
    cuda_executor *e = noe_calloc(1, sizeof *e);
    e->base.backend = &d->base;
    e->base.n_threads = 1;
    e->g = noe_graph_copy(g);
    e->life = d->life;
    e->n_copies = 1;
    e->plan.device = d;
    noe_status status = set_up(e, order, options, err);
    if (status != NOE_OK) {
        release(&e->base);
        return status;
    }
    *out = &e->base;
    return NOE_OK;
}

static bool choice_matters(const noe_graph *g)
{
    uint8_t *live = noe_calloc((size_t)g->n_nodes + 1, 1);
    noe_graph_mark_live(g, live);
    bool matters = noe_cu_has_images(g, live);
    free(live);
    return matters;
}

/* Both orders, as far as they can be prepared and timed; the faster one is kept. */
static noe_status prepare_best(noe_cu_device *d, const noe_graph *g,
                               const noe_executor_options *options, noe_executor **out,
                               noe_error *err)
{
    noe_executor *tried[NOE_CU_N_ORDERS] = {NULL, NULL};
    noe_measure m[NOE_CU_N_ORDERS];
    noe_error why[NOE_CU_N_ORDERS];
    noe_status status[NOE_CU_N_ORDERS];
    for (int k = 0; k < NOE_CU_N_ORDERS; k++) {
        status[k] = noe_cu_device_revive(d, &why[k]);
        if (status[k] == NOE_OK)
            status[k] = prepare_in(d, g, (noe_cu_order)k, options, &tried[k], &why[k]);
        if (status[k] == NOE_OK)
            status[k] = noe_measure_executor(tried[k], &m[k], &why[k]);
    }
    bool second_is_good = status[1] == NOE_OK;
    int best = status[0] != NOE_OK || (second_is_good && m[1].seconds < m[0].seconds);
    if (tried[!best])
        release(tried[!best]);
    if (status[best] == NOE_OK) {
        ((cuda_executor *)tried[best])->known = m[best];
        *out = tried[best];
        return check_alive((cuda_executor *)tried[best], err) == NOE_OK
                   ? NOE_OK
                   : (release(tried[best]), *out = NULL, NOE_ERR_BACKEND);
    }
    if (tried[best])
        release(tried[best]);
    if (err)
        *err = why[best];
    return status[best];
}

static noe_status prepare(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err)
{
    noe_cu_device *d = (noe_cu_device *)b;
    *out = NULL;
    NOE_TRY(noe_cu_device_revive(d, err));
    if (d->options.layout == NOE_CUDA_AUTO && choice_matters(g))
        return prepare_best(d, g, options, out, err);
    noe_cu_order order =
        d->options.layout == NOE_CUDA_LAST ? NOE_CU_CHANNELS_LAST : NOE_CU_PLAIN;
    return prepare_in(d, g, order, options, out, err);
}

/* What was measured for the choice between layouts is not measured again. */
static noe_status time_one(noe_executor *executor, noe_measure *m, noe_error *err)
{
    cuda_executor *e = (cuda_executor *)executor;
    if (e->known.n_batches == 0)
        return noe_measure_executor(executor, m, err);
    *m = e->known;
    e->known.n_batches = 0;
    return NOE_OK;
}

static bool supports(const noe_backend *b, const noe_graph *g, uint32_t node)
{
    (void)b;
    return g->nodes[node].op < NOE_OP_COUNT;
}

static void close_backend(noe_backend *b)
{
    noe_cu_device *d = (noe_cu_device *)b;
    noe_measure_close(b);
    noe_cu_device_close(d);
    free(d);
}

static const noe_backend_vtable vtable = {
    .name = "cuda",
    .supports = supports,
    .prepare = prepare,
    .run = run,
    .repeat = repeat,
    .time = time_one,
    .clocked = clocked,
    .clock = "cuda-events",
    .release = release,
    .close = close_backend,
};

noe_status noe_cu_backend_open(const noe_cuda_options *options, const noe_env *env,
                               noe_backend **b, noe_error *err)
{
    *b = NULL;
    noe_cu_device *d = noe_calloc(1, sizeof *d);
    d->base.vt = &vtable;
    d->base.env = env;
    d->options = *options;
    noe_status status = noe_cu_device_open(d, err);
    if (status != NOE_OK) {
        close_backend(&d->base);
        return status;
    }
    d->base.cache_bytes = d->l2_bytes;
    *b = &d->base;
    return NOE_OK;
}
