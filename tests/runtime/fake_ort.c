/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that looks like ONNX Runtime to us: any model has one input "x0" and one
 * output "y0" of four floats, and the output is the input. It misbehaves as the
 * environment variable NOE_FAKE_ORT says, so that tests see what a broken library does.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 4

typedef void any_function(void);
struct base {
    any_function *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};
const struct base *OrtGetApiBase(void);

typedef struct value {
    float *data;
    float own[N];
} value;

static char status_of_error, anything;

static int is_mode(const char *mode)
{
    const char *set = getenv("NOE_FAKE_ORT");
    return set && strcmp(set, mode) == 0;
}

static const char *get_message(const void *status)
{
    (void)status;
    return "the fake refuses";
}

static void *make(void **out)
{
    *out = &anything;
    return NULL;
}
static void *create_env(int level, const char *id, void **out)
{
    (void)level;
    (void)id;
    return make(out);
}
static void *create_session(void *env, const void *data, size_t len, void *options,
                            void **out)
{
    (void)env;
    (void)data;
    (void)len;
    (void)options;
    return is_mode("refuse") ? &status_of_error : make(out);
}
static void *set_int(void *options, int n)
{
    (void)options;
    (void)n;
    return NULL;
}
static void *one(const void *session, size_t *n)
{
    (void)session;
    *n = 1;
    return NULL;
}
static void *input_type(const void *session, size_t i, void **out)
{
    (void)session;
    (void)i;
    return make(out);
}
static void *input_name(const void *session, size_t i, void *allocator, char **name)
{
    static char text[] = "x0";
    (void)session;
    (void)i;
    (void)allocator;
    *name = text;
    return NULL;
}
static void *output_name(const void *session, size_t i, void *allocator, char **name)
{
    static char text[] = "y0";
    (void)session;
    (void)i;
    (void)allocator;
    *name = text;
    return NULL;
}
static void *create_tensor(const void *memory, void *data, size_t bytes,
                           const int64_t *dims, size_t rank, int type, void **out)
{
    value *v = calloc(1, sizeof *v);
    (void)memory;
    (void)bytes;
    (void)dims;
    (void)rank;
    (void)type;
    v->data = data;
    *out = v;
    return NULL;
}
static void *tensor_data(void *tensor, void **data)
{
    *data = ((value *)tensor)->data;
    return NULL;
}
static void *cast(const void *from, const void **to)
{
    *to = from;
    return NULL;
}
static void *value_info(const void *tensor, void **out)
{
    (void)tensor;
    return make(out);
}
static void *element_type(const void *info, int *type)
{
    (void)info;
    *type = 1;
    return NULL;
}
static void *dims(const void *info, int64_t *d, size_t rank)
{
    (void)info;
    if (rank > 0)
        d[0] = N;
    return NULL;
}
static void *elements(const void *info, size_t *n)
{
    (void)info;
    *n = N;
    return NULL;
}
static void *create_memory(int allocator, int kind, void **out)
{
    (void)allocator;
    (void)kind;
    return make(out);
}
static void *add_entry(void *options, const char *key, const char *text)
{
    (void)options;
    (void)key;
    (void)text;
    return NULL;
}
static void release(void *thing)
{
    (void)thing;
}
static void release_value(void *tensor)
{
    free(tensor);
}

static void *run(void *session, const void *options, const char *const *in_names,
                 const void *const *in, size_t n_in, const char *const *out_names,
                 size_t n_out, void **out)
{
    (void)session;
    (void)options;
    (void)in_names;
    (void)n_in;
    (void)out_names;
    (void)n_out;
    volatile int spin = 1;
    static int n_runs;
    if (is_mode("crash") || (is_mode("crash later") && ++n_runs == 3))
        raise(SIGSEGV);
    while (is_mode("hang"))
        pause();
    while (spin && is_mode("spin"))
        continue;
    if (is_mode("error"))
        return &status_of_error;
    if (!out[0]) {
        value *v = calloc(1, sizeof *v);
        v->data = v->own;
        out[0] = v;
    }
    memcpy(((value *)out[0])->data, ((const value *)in[0])->data, N * sizeof(float));
    return NULL;
}

#define F(FUNCTION) (any_function *)(FUNCTION)
static any_function *const table[160] = {
    [2] = F(get_message),    [3] = F(create_env),
    [8] = F(create_session), [9] = F(run),
    [10] = F(make),          [23] = F(set_int),
    [24] = F(set_int),       [25] = F(set_int),
    [30] = F(one),           [31] = F(one),
    [33] = F(input_type),    [36] = F(input_name),
    [37] = F(output_name),   [49] = F(create_tensor),
    [51] = F(tensor_data),   [55] = F(cast),
    [60] = F(element_type),  [61] = F(one),
    [62] = F(dims),          [64] = F(elements),
    [65] = F(value_info),    [69] = F(create_memory),
    [76] = F(cast),          [78] = F(make),
    [93] = F(release),       [94] = F(release),
    [95] = F(release),       [96] = F(release_value),
    [98] = F(release),       [99] = F(release),
    [100] = F(release),      [130] = F(add_entry),
};

static any_function *const *get_api(uint32_t version)
{
    return version > 11 || is_mode("old") ? NULL : table;
}
static const char *get_version(void)
{
    return is_mode("old") ? "1.2.0" : "1.19.2";
}
static const struct base base = {get_api, get_version};

const struct base *OrtGetApiBase(void)
{
    return &base;
}
