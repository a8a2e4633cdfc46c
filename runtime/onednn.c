/* SPDX-License-Identifier: Apache-2.0
 *
 * Backend "onednn": a plan (onednn_plan.c) bound to memory, and its execution.
 *
 * All activations live in one arena. Weights are there once, or, when they shall be
 * cold, in several copies that runs take in turn, together larger than the last-level
 * cache. Inputs and outputs are the caller's memory, or, when timed, our own.
 *
 * oneDNN's CPU engine runs on OpenMP here; the number of threads is a property of the
 * calling thread and is set before preparing (kernels are built for it) and running.
 */
#include "runtime/onednn.h"
#include "runtime/measure.h"
#include "runtime/place.h"
#include "core/tensor.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT         ((size_t)64)
#define MAX_WEIGHT_COPIES 1024
/* Caches that are said to be larger are those of whole hosts, shared with others. */
#define MAX_COLD_BYTES ((size_t)128 << 20)

typedef struct onednn_backend {
    noe_backend base;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} onednn_backend;

/* One memory object for an argument whose address is the caller's. */
typedef struct external {
    dnnl_memory_t memory;
    uint32_t buffer;
} external;

typedef struct call {
    dnnl_exec_arg_t *args; /* n_args for each of n_copies */
    size_t n_copies;       /* 1, or that of the weights if it has some */
} call;

typedef struct onednn_executor {
    noe_executor base;
    noe_graph *g;
    noe_dnn_plan plan;
    call *calls; /* one a step */
    dnnl_memory_t *memories;
    size_t n_memories, cap_memories;
    external *externals;
    size_t n_externals, cap_externals;
    unsigned char *arena, *weights;
    size_t weight_bytes, n_copies, copy; /* copy: which one the next run takes */
    void **inputs, **outputs;            /* addresses at present */
    void **timed_inputs, **timed_outputs;
    uint32_t n_inputs;
} onednn_executor;

static void set_threads(int n)
{
    void (*set)(int) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set, &symbol, sizeof set);
    if (set)
        set(n);
}

/* NULL if there is not so much memory. */
static void *allocate(size_t bytes)
{
    if (bytes > noe_memory_limit())
        return NULL;
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
}

static void *address_of(const onednn_executor *e, uint32_t buffer, size_t copy)
{
    const noe_dnn_buffer *b = &e->plan.buffers[buffer];
    switch (b->store) {
    case NOE_DNN_ARENA:
        return e->arena + b->offset;
    case NOE_DNN_WEIGHT:
        return e->weights ? e->weights + copy * e->weight_bytes + b->offset : b->data;
    case NOE_DNN_INPUT:
        return e->inputs[b->number];
    case NOE_DNN_OUTPUT:
        return e->outputs[b->number];
    }
    return NULL;
}

static size_t place_weights(noe_dnn_plan *p)
{
    size_t total = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].store != NOE_DNN_WEIGHT)
            continue;
        p->buffers[i].offset = total;
        total += (p->buffers[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return total;
}

static noe_status copy_weights(onednn_executor *e, noe_error *err)
{
    size_t cache = noe_last_level_cache_bytes();
    if (cache > MAX_COLD_BYTES)
        cache = MAX_COLD_BYTES;
    e->n_copies = cache / e->weight_bytes + 2;
    if (e->n_copies > MAX_WEIGHT_COPIES)
        e->n_copies = MAX_WEIGHT_COPIES;
    e->weights = allocate(e->n_copies * e->weight_bytes);
    if (!e->weights)
        return noe_fail(err, NOE_ERR_LIMIT, "no memory for %zu copies of %zu bytes",
                        e->n_copies, e->weight_bytes);
    for (size_t copy = 0; copy < e->n_copies; copy++) {
        for (uint32_t i = 0; i < e->plan.n_buffers; i++) {
            const noe_dnn_buffer *b = &e->plan.buffers[i];
            if (b->store == NOE_DNN_WEIGHT)
                memcpy(address_of(e, i, copy), b->data, b->bytes);
        }
    }
    return NOE_OK;
}

/* Offsets of the buffers that share the arena; returns its size. */
static size_t place_arena(noe_dnn_plan *p)
{
    noe_lifetime *items = noe_calloc((size_t)p->n_buffers + 1, sizeof *items);
    uint32_t *buffer = noe_calloc((size_t)p->n_buffers + 1, sizeof *buffer);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const noe_dnn_buffer *b = &p->buffers[i];
        if (b->store != NOE_DNN_ARENA || b->first == UINT32_MAX)
            continue;
        buffer[n] = i;
        items[n++] = (noe_lifetime){b->bytes, b->first, b->end, 0};
    }
    size_t bytes = noe_place(items, n, ALIGNMENT);
    for (uint32_t i = 0; i < n; i++)
        p->buffers[buffer[i]].offset = items[i].offset;
    free(items);
    free(buffer);
    return bytes;
}

/* Memory for everything but the caller's; frees what only planning needed. */
static noe_status allocate_memory(onednn_executor *e, bool cold, noe_error *err)
{
    size_t arena_bytes = place_arena(&e->plan);
    e->arena = allocate(arena_bytes);
    if (!e->arena)
        return noe_fail(err, NOE_ERR_LIMIT, "no memory for %zu bytes of activations",
                        arena_bytes);
    memset(e->arena, 0, arena_bytes);
    e->weight_bytes = place_weights(&e->plan);
    e->n_copies = 1;
    if (cold && e->weight_bytes > 0)
        NOE_TRY(copy_weights(e, err));
    return NOE_OK;
}

static noe_status make_memory(onednn_executor *e, const noe_dnn_arg *arg, size_t copy,
                              dnnl_memory_t *memory, noe_error *err)
{
    void *address = address_of(e, arg->view.buffer, copy);
    noe_dnn_store store = e->plan.buffers[arg->view.buffer].store;
    bool is_external = store == NOE_DNN_INPUT || store == NOE_DNN_OUTPUT;
    NOE_TRY(noe_dnn_check(&e->plan,
                          dnnl_memory_create(memory, &arg->view.md, e->plan.engine,
                                             is_external ? DNNL_MEMORY_NONE : address),
                          "memory", err));
    NOE_PUSH(e->memories, e->n_memories, e->cap_memories, *memory);
    if (is_external) {
        external x = {*memory, arg->view.buffer};
        NOE_PUSH(e->externals, e->n_externals, e->cap_externals, x);
    }
    return NOE_OK;
}

static bool has_weights(const onednn_executor *e, const noe_dnn_step *step)
{
    for (int i = 0; i < step->n_args; i++) {
        if (e->plan.buffers[step->args[i].view.buffer].store == NOE_DNN_WEIGHT)
            return true;
    }
    return false;
}

static noe_status bind_step(onednn_executor *e, uint32_t index, noe_error *err)
{
    const noe_dnn_step *step = &e->plan.steps[index];
    call *c = &e->calls[index];
    e->plan.node = step->node;
    c->n_copies = has_weights(e, step) ? e->n_copies : 1;
    if (step->kind != NOE_DNN_PRIMITIVE)
        return NOE_OK;
    size_t n = (size_t)step->n_args;
    c->args = NOE_NEW_N(&e->plan.arena, dnnl_exec_arg_t, n * c->n_copies);
    for (size_t copy = 0; copy < c->n_copies; copy++) {
        for (size_t i = 0; i < n; i++) {
            dnnl_exec_arg_t *arg = &c->args[copy * n + i];
            arg->arg = step->args[i].arg;
            NOE_TRY(make_memory(e, &step->args[i], copy, &arg->memory, err));
        }
    }
    return NOE_OK;
}

/* noe_eval_f32 for a node that oneDNN lacks; all operands are in C order. */
static void run_reference(onednn_executor *e, const noe_dnn_step *step, size_t copy)
{
    const noe_node *n = &e->g->nodes[step->node];
    noe_tensor_f32 tensors[NOE_MAX_INPUTS + 1];
    int n_in = step->n_args - 1;
    NOE_ASSERT(n_in <= NOE_MAX_INPUTS);
    for (int i = 0; i < n_in; i++) {
        uint32_t from = noe_graph_inputs(e->g, step->node)[i].node;
        tensors[i].shape = e->g->nodes[from].types[0].shape;
        tensors[i].data = address_of(e, step->args[i].view.buffer, copy);
    }
    tensors[n_in].shape = n->types[0].shape;
    tensors[n_in].data = address_of(e, step->args[n_in].view.buffer, copy);
    noe_eval_f32(n->op, n->params, tensors, n_in, &tensors[n_in]);
}

static noe_status run_step(onednn_executor *e, uint32_t index, noe_error *err)
{
    const noe_dnn_step *step = &e->plan.steps[index];
    const call *c = &e->calls[index];
    size_t copy = c->n_copies > 1 ? e->copy : 0;
    switch (step->kind) {
    case NOE_DNN_REFERENCE:
        run_reference(e, step, copy);
        return NOE_OK;
    case NOE_DNN_ZERO:
        memset(address_of(e, step->args[0].view.buffer, copy), 0,
               e->plan.buffers[step->args[0].view.buffer].bytes);
        return NOE_OK;
    case NOE_DNN_COPY:
        memcpy(address_of(e, step->args[1].view.buffer, copy),
               address_of(e, step->args[0].view.buffer, copy),
               e->plan.buffers[step->args[1].view.buffer].bytes);
        return NOE_OK;
    case NOE_DNN_PRIMITIVE:
        break;
    }
    dnnl_status_t s =
        dnnl_primitive_execute(step->primitive, e->plan.stream, step->n_args,
                               c->args + copy * (size_t)step->n_args);
    if (s == dnnl_success)
        return NOE_OK;
    e->plan.node = step->node;
    return noe_dnn_check(&e->plan, s, "execution", err);
}

static noe_status run_once(onednn_executor *e, noe_error *err)
{
    for (uint32_t i = 0; i < e->plan.n_steps; i++)
        NOE_TRY(run_step(e, i, err));
    e->copy = (e->copy + 1) % e->n_copies;
    return noe_dnn_check(&e->plan, dnnl_stream_wait(e->plan.stream), "stream", err);
}

static noe_status bind_externals(onednn_executor *e, noe_error *err)
{
    for (size_t i = 0; i < e->n_externals; i++) {
        const external *x = &e->externals[i];
        dnnl_status_t s =
            dnnl_memory_set_data_handle(x->memory, address_of(e, x->buffer, 0));
        NOE_TRY(noe_dnn_check(&e->plan, s, "address of an input or output", err));
    }
    return NOE_OK;
}

static noe_status run(noe_executor *executor, const float *const *inputs,
                      float *const *outputs, noe_error *err)
{
    onednn_executor *e = (onednn_executor *)executor;
    if (e->plan.free_layout)
        return noe_fail(err, NOE_ERR_ARG,
                        "a graph prepared with a free layout can only be timed");
    for (uint32_t i = 0; i < e->n_inputs; i++)
        e->inputs[i] = (void *)(uintptr_t)inputs[i]; /* only read */
    for (uint32_t i = 0; i < e->g->n_outputs; i++)
        e->outputs[i] = outputs[i];
    set_threads(e->base.n_threads);
    NOE_TRY(bind_externals(e, err));
    return run_once(e, err);
}

/* Buffers of our own for inputs and outputs, as large as their layouts ask. */
static noe_status make_timed_buffers(onednn_executor *e, noe_error *err)
{
    e->timed_inputs = noe_calloc(e->n_inputs + 1, sizeof(void *));
    e->timed_outputs = noe_calloc(e->g->n_outputs + 1, sizeof(void *));
    for (uint32_t i = 0; i < e->plan.n_buffers; i++) {
        const noe_dnn_buffer *b = &e->plan.buffers[i];
        if (b->store != NOE_DNN_INPUT && b->store != NOE_DNN_OUTPUT)
            continue;
        void **slot = b->store == NOE_DNN_INPUT ? &e->timed_inputs[b->number]
                                                : &e->timed_outputs[b->number];
        *slot = allocate(b->bytes);
        if (!*slot)
            return noe_fail(err, NOE_ERR_LIMIT, "no memory for %zu bytes", b->bytes);
        noe_fill_random(*slot, b->bytes / sizeof(float), b->number);
    }
    return NOE_OK;
}

static noe_status repeat(noe_executor *executor, int n, noe_error *err)
{
    onednn_executor *e = (onednn_executor *)executor;
    if (!e->timed_inputs)
        NOE_TRY(make_timed_buffers(e, err));
    memcpy(e->inputs, e->timed_inputs, e->n_inputs * sizeof(void *));
    memcpy(e->outputs, e->timed_outputs, e->g->n_outputs * sizeof(void *));
    set_threads(e->base.n_threads);
    NOE_TRY(bind_externals(e, err));
    for (int i = 0; i < n; i++)
        NOE_TRY(run_once(e, err));
    return NOE_OK;
}

static void free_all(void **slots, uint32_t n)
{
    for (uint32_t i = 0; slots && i < n; i++)
        free(slots[i]);
    free(slots);
}

static void release(noe_executor *executor)
{
    onednn_executor *e = (onednn_executor *)executor;
    if (!e)
        return;
    for (size_t i = 0; i < e->n_memories; i++)
        dnnl_memory_destroy(e->memories[i]);
    free(e->memories);
    free(e->externals);
    free_all(e->timed_inputs, e->n_inputs);
    free_all(e->timed_outputs, e->g->n_outputs);
    free(e->inputs);
    free(e->outputs);
    noe_dnn_plan_clear(&e->plan);
    free(e->arena);
    free(e->weights);
    free(e->calls);
    noe_graph_free(e->g);
    free(e);
}

static void open_plan(noe_dnn_plan *plan, const noe_backend *b)
{
    const onednn_backend *backend = (const onednn_backend *)b;
    *plan = (noe_dnn_plan){.engine = backend->engine, .stream = backend->stream};
}

static noe_status bind(onednn_executor *e, bool cold, noe_error *err)
{
    NOE_TRY(allocate_memory(e, cold, err));
    noe_arena_clear(&e->plan.scratch);
    e->base.n_calls = e->plan.n_steps;
    e->calls = noe_calloc(e->plan.n_steps, sizeof *e->calls);
    for (uint32_t i = 0; i < e->plan.n_steps; i++)
        NOE_TRY(bind_step(e, i, err));
    return NOE_OK;
}

static noe_status prepare(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err)
{
    *out = NULL;
    onednn_executor *e = noe_calloc(1, sizeof *e);
    e->base.backend = b;
    e->base.n_threads = noe_executor_threads(b->env, options);
    e->g = noe_graph_copy(g);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        e->n_inputs += g->nodes[i].op == NOE_OP_INPUT;
    e->inputs = noe_calloc(e->n_inputs + 1, sizeof(void *));
    e->outputs = noe_calloc(g->n_outputs + 1, sizeof(void *));
    set_threads(e->base.n_threads);
    open_plan(&e->plan, b);
    noe_status s =
        noe_dnn_plan_graph(&e->plan, e->g, options && options->free_layout, err);
    if (s == NOE_OK)
        s = bind(e, options && options->cold_weights, err);
    if (s != NOE_OK) {
        release(&e->base);
        return s;
    }
    *out = &e->base;
    return NOE_OK;
}

static bool supports(const noe_backend *b, const noe_graph *g, uint32_t node)
{
    const noe_node *n = &g->nodes[node];
    if (n->op >= NOE_OP_COUNT || n->is_weight)
        return n->op != NOE_OP_OPAQUE;
    uint8_t *live = noe_calloc(g->n_nodes, 1);
    live[node] = 1;
    for (uint32_t k = 0; k < n->n_inputs; k++)
        live[noe_graph_inputs(g, node)[k].node] = 1;
    bool is_kernel = false;
    if (noe_check_runnable(g, live, NULL) == NOE_OK) {
        noe_dnn_plan plan;
        open_plan(&plan, b);
        if (noe_dnn_plan_node(&plan, g, node, &is_kernel, NULL) != NOE_OK)
            is_kernel = false;
        noe_dnn_plan_clear(&plan);
    }
    free(live);
    return is_kernel;
}

static void close_backend(noe_backend *b)
{
    onednn_backend *backend = (onednn_backend *)b;
    if (!backend)
        return;
    noe_measure_close(b);
    dnnl_stream_destroy(backend->stream);
    dnnl_engine_destroy(backend->engine);
    free(backend);
}

static const noe_backend_vtable vtable = {
    .name = "onednn",
    .supports = supports,
    .prepare = prepare,
    .run = run,
    .repeat = repeat,
    .time = noe_measure_executor,
    .release = release,
    .close = close_backend,
};

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        {dnnl_cpu_isa_sse41, "sse41"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
        {dnnl_cpu_isa_avx512_mic, "avx512_mic"},
        {dnnl_cpu_isa_avx512_mic_4ops, "avx512_mic_4ops"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].isa == isa)
            return names[i].name;
    }
    return "generic";
}

const char *noe_runtime_library(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static void describe(noe_backend *b)
{
    const dnnl_version_t *v = dnnl_version();
    char cpu[80];
    noe_cpu_model(cpu, sizeof cpu);
    snprintf(b->description, sizeof b->description, "onednn %d.%d.%d %s %s threads=%d",
             v->major, v->minor, v->patch, isa_name(dnnl_get_effective_cpu_isa()), cpu,
             noe_executor_threads(b->env, NULL));
}

noe_status noe_onednn_open(const noe_env *env, noe_backend **b, noe_error *err)
{
    onednn_backend *backend = noe_calloc(1, sizeof *backend);
    backend->base.vt = &vtable;
    backend->base.env = env;
    dnnl_status_t s = dnnl_engine_create(&backend->engine, dnnl_cpu, 0);
    if (s == dnnl_success)
        s = dnnl_stream_create(&backend->stream, backend->engine,
                               dnnl_stream_default_flags);
    if (s != dnnl_success) {
        if (backend->engine)
            dnnl_engine_destroy(backend->engine);
        free(backend);
        return noe_fail(err, NOE_ERR_BACKEND, "onednn: no CPU engine: status %d",
                        (int)s);
    }
    describe(&backend->base);
    *b = &backend->base;
    return NOE_OK;
}
