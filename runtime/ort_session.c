/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of ONNX Runtime as executors. Inputs are made once; outputs are the tensors
 * that the first run allocated, so that a repeated run allocates nothing that a serving
 * program would not.
 */
#include "runtime/ort_session.h"
#include "runtime/backend.h"
#include "runtime/measure.h"
#include "runtime/ort_library.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ORT_LOG_FATAL     4
#define ORT_OPTIMIZE_ALL  99
#define ORT_ARENA         1
#define ORT_MEMORY_CPU    0
#define MAX_COLD_SESSIONS 256

/* Element types of the ONNX standard, as the library numbers them. */
enum {
    ORT_FLOAT = 1,
    ORT_BOOL = 9,
    ORT_DOUBLE = 11,
    N_ORT_TYPES = 17,
};
static const uint8_t type_bytes[N_ORT_TYPES] = {0, 4, 1, 1, 2, 2, 4,  8, 0,
                                                1, 2, 8, 4, 8, 8, 16, 2};

typedef struct ort_local {
    noe_backend base;
    noe_ort_library lib;
    noe_encode_fn *encode;
    ort_env *env;
    ort_memory *memory;
    ort_allocator *allocator;
} ort_local;

typedef struct ort_tensor {
    char *name; /* the library's memory */
    ort_value *value;
    void *data;   /* of inputs, ours; of outputs, the library's */
    size_t bytes; /* payload */
    int type;
} ort_tensor;

typedef struct ort_executor {
    noe_executor base;
    ort_local *home;
    ort_session **sessions;
    uint32_t n_sessions, turn;
    size_t n_in, n_out;
    ort_tensor *in, *out;
    const char **in_names, **out_names;
    const ort_value **in_values;
    ort_value **out_values;
} ort_executor;

#define CHECK(HOME, CALL, ...) \
    NOE_TRY(noe_ort_check(&(HOME)->lib, (HOME)->lib.CALL(__VA_ARGS__), #CALL, err))

/* ---- shapes from outside ---- */

/* The dimensions that extra gives for an input, NULL if it gives none. */
static const char *given_dims(const noe_ort_extra *extra, const char *name)
{
    const char *at = extra->text, *end = extra->text + extra->len;
    if (extra->len == 0)
        return NULL;
    at += strlen(at) + 1; /* the folder */
    while (at < end) {
        const char *dims = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return dims;
        at = dims + strlen(dims) + 1;
    }
    return NULL;
}

static void fix_dims(const noe_ort_extra *extra, const char *name, int64_t *dims,
                     size_t rank)
{
    const char *given = given_dims(extra, name);
    for (size_t i = 0; i < rank; i++) {
        long long value = 1;
        if (given) {
            value = strtoll(given, NULL, 10);
            given += strcspn(given, ",");
            given += *given == ',';
        }
        if (dims[i] < 0)
            dims[i] = value > 0 ? value : 1;
    }
}

/* ---- inputs ---- */

static void fill(ort_tensor *t, size_t n, size_t number)
{
    if (t->type == ORT_FLOAT) {
        noe_fill_random(t->data, n, number);
        return;
    }
    char *bytes = t->data;
    size_t width = type_bytes[t->type];
    for (size_t i = 0; i < n; i++) {
        if (t->type == ORT_DOUBLE)
            ((double *)t->data)[i] = (double)(i % 7) / 7 + 0.5;
        else if (width != 2 || t->type < 10) /* half floats stay 0 */
            bytes[i * width] = (char)(i % 2);
    }
}

static noe_status read_type(const ort_executor *e, size_t i, ort_tensor *t,
                            int64_t *dims, size_t *rank, noe_error *err)
{
    const ort_local *h = e->home;
    ort_type_info *type;
    const ort_tensor_info *info = NULL;
    CHECK(h, input_type, e->sessions[0], i, &type);
    noe_status status =
        noe_ort_check(&h->lib, h->lib.as_tensor_info(type, &info), "input type", err);
    if (status == NOE_OK && !info)
        status = noe_fail(err, NOE_ERR_UNSUPPORTED, "input '%s' is no tensor", t->name);
    if (status == NOE_OK)
        status = noe_ort_check(&h->lib, h->lib.rank(info, rank), "rank", err);
    if (status == NOE_OK && *rank > NOE_MAX_RANK)
        status = noe_fail(err, NOE_ERR_UNSUPPORTED, "input '%s' has rank %zu", t->name,
                          *rank);
    if (status == NOE_OK)
        status = noe_ort_check(&h->lib, h->lib.dims(info, dims, *rank), "dims", err);
    if (status == NOE_OK)
        status = noe_ort_check(&h->lib, h->lib.element_type(info, &t->type),
                               "element type", err);
    h->lib.release_type_info(type);
    if (status == NOE_OK &&
        (t->type < 0 || t->type >= N_ORT_TYPES || !type_bytes[t->type]))
        status = noe_fail(err, NOE_ERR_UNSUPPORTED,
                          "input '%s' has element type number %d", t->name, t->type);
    return status;
}

static noe_status make_input(ort_executor *e, size_t i, const noe_ort_extra *extra,
                             noe_error *err)
{
    ort_local *h = e->home;
    ort_tensor *t = &e->in[i];
    int64_t dims[NOE_MAX_RANK];
    size_t rank, n = 1;
    CHECK(h, input_name, e->sessions[0], i, h->allocator, &t->name);
    NOE_TRY(read_type(e, i, t, dims, &rank, err));
    fix_dims(extra, t->name, dims, rank);
    for (size_t k = 0; k < rank; k++) {
        if (!noe_mul_size(n, (size_t)dims[k], &n) || n > noe_memory_limit() / 8)
            return noe_fail(err, NOE_ERR_LIMIT, "input '%s' is larger than the memory",
                            t->name);
    }
    t->bytes = n * type_bytes[t->type];
    t->data = aligned_alloc(64, (t->bytes / 64 + 1) * 64);
    if (!t->data)
        return noe_fail(err, NOE_ERR_LIMIT, "no memory for input '%s'", t->name);
    memset(t->data, 0, t->bytes);
    fill(t, n, i);
    CHECK(h, create_tensor, h->memory, t->data, t->bytes, dims, rank, t->type,
          &t->value);
    e->in_names[i] = t->name;
    e->in_values[i] = t->value;
    return NOE_OK;
}

/* ---- running ---- */

static noe_status run_session(ort_executor *e, noe_error *err)
{
    ort_session *s = e->sessions[e->turn];
    e->turn = (e->turn + 1) % e->n_sessions;
    return noe_ort_check(&e->home->lib,
                         e->home->lib.run(s, NULL, e->in_names, e->in_values, e->n_in,
                                          e->out_names, e->n_out, e->out_values),
                         "run", err);
}

static noe_status read_output(ort_executor *e, size_t i, noe_error *err)
{
    const ort_local *h = e->home;
    ort_tensor *t = &e->out[i];
    ort_tensor_info *info;
    size_t n = 0;
    t->value = e->out_values[i];
    CHECK(h, tensor_data, t->value, &t->data);
    CHECK(h, value_info, t->value, &info);
    noe_status status =
        noe_ort_check(&h->lib, h->lib.n_elements(info, &n), "elements", err);
    if (status == NOE_OK)
        status = noe_ort_check(&h->lib, h->lib.element_type(info, &t->type),
                               "element type", err);
    h->lib.release_value_info(info);
    if (status == NOE_OK && t->type >= 0 && t->type < N_ORT_TYPES)
        t->bytes = n * type_bytes[t->type];
    return status;
}

static noe_status repeat(noe_executor *executor, int n, noe_error *err)
{
    ort_executor *e = (ort_executor *)executor;
    for (int i = 0; i < n; i++)
        NOE_TRY(run_session(e, err));
    return NOE_OK;
}

noe_status noe_ort_local_run(noe_executor *executor, const char *inputs, char *outputs,
                             noe_error *err)
{
    ort_executor *e = (ort_executor *)executor;
    for (size_t i = 0; i < e->n_in; i++) {
        memcpy(e->in[i].data, inputs, e->in[i].bytes);
        inputs += e->in[i].bytes;
    }
    NOE_TRY(run_session(e, err));
    for (size_t i = 0; i < e->n_out; i++) {
        memcpy(outputs, e->out[i].data, e->out[i].bytes);
        outputs += e->out[i].bytes;
    }
    return NOE_OK;
}

static size_t total_bytes(const ort_tensor *t, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += t[i].bytes;
    return bytes;
}

size_t noe_ort_local_input_bytes(const noe_executor *executor)
{
    const ort_executor *e = (const ort_executor *)executor;
    return total_bytes(e->in, e->n_in);
}

size_t noe_ort_local_output_bytes(const noe_executor *executor)
{
    const ort_executor *e = (const ort_executor *)executor;
    return total_bytes(e->out, e->n_out);
}

/* ---- life ---- */

static void release(noe_executor *executor)
{
    ort_executor *e = (ort_executor *)executor;
    const noe_ort_library *lib = &e->home->lib;
    for (size_t i = 0; e->in && i < e->n_in; i++) {
        if (e->in[i].value)
            lib->release_value(e->in[i].value);
        free(e->in[i].data);
    }
    for (size_t i = 0; e->out_values && i < e->n_out; i++) {
        if (e->out_values[i])
            lib->release_value(e->out_values[i]);
    }
    for (uint32_t i = 0; i < e->n_sessions; i++)
        lib->release_session(e->sessions[i]);
    free(e->sessions);
    free(e->in);
    free(e->out);
    free(e->in_names);
    free(e->out_names);
    free(e->in_values);
    free(e->out_values);
    free(e);
}

static noe_status set_options(ort_local *h, ort_options *o, int n_threads,
                              const noe_ort_extra *extra, noe_error *err)
{
    CHECK(h, set_optimization_level, o, ORT_OPTIMIZE_ALL);
    CHECK(h, set_intra_threads, o, n_threads);
    CHECK(h, set_inter_threads, o, 1);
    if (extra->len > 0 && *extra->text)
        CHECK(h, add_config_entry, o,
              "session.model_external_initializers_file_folder_path", extra->text);
    return NOE_OK;
}

static noe_status add_session(ort_executor *e, const void *data, size_t len,
                              const noe_ort_extra *extra, noe_error *err)
{
    ort_local *h = e->home;
    ort_options *o;
    ort_session *s;
    CHECK(h, create_options, &o);
    noe_status status = set_options(h, o, e->base.n_threads, extra, err);
    if (status == NOE_OK)
        status = noe_ort_check(
            &h->lib, h->lib.create_session_from_array(h->env, data, len, o, &s),
            "create session", err);
    h->lib.release_options(o);
    if (status == NOE_OK)
        e->sessions[e->n_sessions++] = s;
    return status;
}

static noe_status set_up(ort_executor *e, const noe_ort_extra *extra, noe_error *err)
{
    ort_local *h = e->home;
    CHECK(h, n_inputs, e->sessions[0], &e->n_in);
    CHECK(h, n_outputs, e->sessions[0], &e->n_out);
    e->in = noe_calloc(e->n_in + 1, sizeof *e->in);
    e->out = noe_calloc(e->n_out + 1, sizeof *e->out);
    e->in_names = noe_calloc(e->n_in + 1, sizeof *e->in_names);
    e->in_values = noe_calloc(e->n_in + 1, sizeof *e->in_values);
    e->out_names = noe_calloc(e->n_out + 1, sizeof *e->out_names);
    e->out_values = noe_calloc(e->n_out + 1, sizeof *e->out_values);
    for (size_t i = 0; i < e->n_in; i++)
        NOE_TRY(make_input(e, i, extra, err));
    for (size_t i = 0; i < e->n_out; i++) {
        CHECK(h, output_name, e->sessions[0], i, h->allocator, &e->out[i].name);
        e->out_names[i] = e->out[i].name;
    }
    NOE_TRY(run_session(e, err));
    for (size_t i = 0; i < e->n_out; i++)
        NOE_TRY(read_output(e, i, err));
    return NOE_OK;
}

/* Copies of a model such that running them in turn never finds the weights cached. */
static uint32_t n_copies(size_t len, const noe_executor_options *options)
{
    size_t cache = noe_last_level_cache_bytes();
    if (!options->cold_weights || len < cache / MAX_COLD_SESSIONS)
        return 1;
    size_t n = 2 * cache / len + 1;
    return n < MAX_COLD_SESSIONS ? (uint32_t)n : MAX_COLD_SESSIONS;
}

noe_status noe_ort_local_prepare(noe_backend *b, const void *data, size_t len,
                                 const noe_ort_extra *extra,
                                 const noe_executor_options *options,
                                 noe_executor **out, noe_error *err)
{
    ort_executor *e = noe_calloc(1, sizeof *e);
    uint32_t n = n_copies(len, options);
    e->base = (noe_executor){
        .backend = b, .n_threads = noe_executor_threads(b->env, options), .n_calls = 1};
    e->home = (ort_local *)b;
    e->sessions = noe_calloc(n, sizeof *e->sessions);
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < n && status == NOE_OK; i++)
        status = add_session(e, data, len, extra, err);
    if (status == NOE_OK)
        status = set_up(e, extra, err);
    if (status != NOE_OK) {
        release(&e->base);
        return status;
    }
    *out = &e->base;
    return NOE_OK;
}

static noe_status prepare(noe_backend *b, const noe_graph *g,
                          const noe_executor_options *options, noe_executor **out,
                          noe_error *err)
{
    ort_local *h = (ort_local *)b;
    char *data;
    size_t len;
    NOE_TRY(h->encode(g, noe_ort_opset(h->lib.version), &data, &len, err));
    noe_status status =
        noe_ort_local_prepare(b, data, len, &(noe_ort_extra){"", 0}, options, out, err);
    free(data);
    return status;
}

static void close_backend(noe_backend *b)
{
    noe_measure_close(b);
    free(b); /* the library stays loaded */
}

static const noe_backend_vtable vtable = {
    .name = "ort in process",
    .prepare = prepare,
    .repeat = repeat,
    .time = noe_measure_executor,
    .release = release,
    .close = close_backend,
};

noe_status noe_ort_local_open(const char *path, noe_encode_fn *encode,
                              const noe_env *env, noe_backend **b, noe_error *err)
{
    ort_local *h = noe_calloc(1, sizeof *h);
    h->base.vt = &vtable;
    h->base.env = env;
    h->encode = encode;
    noe_status status = noe_ort_load(path, &h->lib, err);
    if (status == NOE_OK)
        status = noe_ort_check(
            &h->lib, h->lib.create_env(ORT_LOG_FATAL, "noether", &h->env), "env", err);
    if (status == NOE_OK)
        status = noe_ort_check(&h->lib, h->lib.default_allocator(&h->allocator),
                               "allocator", err);
    if (status == NOE_OK)
        status = noe_ort_check(
            &h->lib, h->lib.create_cpu_memory(ORT_ARENA, ORT_MEMORY_CPU, &h->memory),
            "memory", err);
    if (status != NOE_OK) {
        free(h);
        return status;
    }
    *b = &h->base;
    return NOE_OK;
}

const char *noe_ort_local_version(const noe_backend *b)
{
    return ((const ort_local *)b)->lib.version;
}

/* ---- what a call costs by itself ---- */

static noe_status time_text(noe_backend *b, const char *text, double *seconds,
                            noe_error *err)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = NULL;
    noe_executor *e = NULL;
    noe_executor_options options = {.free_layout = true, .n_threads = 1};
    noe_measure m = {0};
    noe_status status = noe_graph_parse(pool, text, &g, err);
    if (status == NOE_OK)
        status = prepare(b, g, &options, &e, err);
    if (status == NOE_OK) {
        status = noe_measure_executor(e, &m, err);
        release(e);
    }
    noe_graph_free(g);
    noe_pool_free(pool);
    *seconds = m.seconds;
    return status;
}

/* One small operator and three of them: the difference is what two cost in a graph. */
noe_status noe_ort_local_overhead(noe_backend *b, double *seconds, noe_error *err)
{
    double one, three;
    NOE_TRY(time_text(b,
                      "%0 = input \"x\" : f32[4]\n%1 = sigmoid(%0) : f32[4]\n"
                      "return %1\n",
                      &one, err));
    NOE_TRY(time_text(b,
                      "%0 = input \"x\" : f32[4]\n%1 = sigmoid(%0) : f32[4]\n"
                      "%2 = tanh(%1) : f32[4]\n%3 = sigmoid(%2) : f32[4]\n"
                      "return %3\n",
                      &three, err));
    *seconds = fmax(0, one - (three - one) / 2);
    return NOE_OK;
}

/* ---- comparing ---- */

static double compare(const ort_tensor *a, const ort_tensor *b)
{
    if (a->type != b->type || a->bytes != b->bytes)
        return INFINITY;
    if (a->type != ORT_FLOAT)
        return memcmp(a->data, b->data, a->bytes) == 0 ? 0 : INFINITY;
    const float *x = a->data, *y = b->data;
    double scale = 0, worst = 0;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++) {
        if (isnan(x[i]) != isnan(y[i]) || isinf(x[i]) != isinf(y[i]))
            return INFINITY;
        if (!isfinite(x[i]))
            continue;
        scale = fmax(scale, fabs((double)x[i]));
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    }
    return worst == 0 ? 0 : worst / fmax(scale, 1e-30);
}

noe_status noe_ort_local_difference(noe_executor *first, noe_executor *second,
                                    double *difference, noe_error *err)
{
    ort_executor *a = (ort_executor *)first, *b = (ort_executor *)second;
    *difference = 0;
    NOE_TRY(run_session(a, err));
    NOE_TRY(run_session(b, err));
    if (a->n_out != b->n_out)
        *difference = INFINITY;
    for (size_t i = 0; i < a->n_out && i < b->n_out; i++)
        *difference = fmax(*difference, compare(&a->out[i], &b->out[i]));
    return NOE_OK;
}
