/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's graph interface: descriptors as bags of attributes; three engines for graphs
 * of one convolution, forward or transposed, and additions and activations behind it.
 */
#include "tests/runtime/fake_cuda/fake.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVALID     2000
#define MAX_ATTRS   12
#define MAX_DIMS    5
#define N_ENGINES   3
#define TENSOR_CORE 0 /* the engine with that note, which f32 must not take */

typedef struct attribute {
    int which, type;
    int64_t n;
    char *data;
} attribute;

typedef struct descriptor {
    int type;
    bool is_final;
    int n;
    attribute attrs[MAX_ATTRS];
    int engine; /* configs, engines, plans */
    const struct descriptor *graph;
} descriptor;

static char last_error[200];

static cudnnStatus_t refuse(cudnnStatus_t status, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return status;
}

size_t cudnnGetVersion(void)
{
    return fake_cuda_control()->dnn_version;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status / 1000 == 3 ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
}

void cudnnGetLastErrorString(char *text, size_t cap)
{
    snprintf(text, cap, "%s", last_error);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    int status = fake_fails(__func__);
    if (status == 0) {
        *handle = malloc(1);
        fake_cuda_control()->n_handles++;
    }
    return status;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    fake_cuda_control()->n_handles--;
    return 0;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    int status = fake_fails(__func__);
    return status ? status : handle && stream ? 0 : INVALID;
}

/* ---- descriptors ---- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *desc)
{
    int status = fake_fails(__func__);
    if (status != 0)
        return status;
    descriptor *d = calloc(1, sizeof *d);
    d->type = type;
    *desc = d;
    fake_cuda_control()->n_descriptors++;
    return 0;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t desc)
{
    descriptor *d = desc;
    for (int i = 0; i < d->n; i++)
        free(d->attrs[i].data);
    free(d);
    fake_cuda_control()->n_descriptors--;
    return 0;
}

static size_t width_of(int type)
{
    if (type == CUDNN_TYPE_CHAR || type == CUDNN_TYPE_BOOLEAN)
        return 1;
    if (type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR ||
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR || type == CUDNN_TYPE_HANDLE)
        return 8;
    return 4;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t desc,
                                       cudnnBackendAttributeName_t which,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    descriptor *d = desc;
    int status = fake_fails(__func__);
    if (status != 0)
        return status;
    if (d->is_final || d->n == MAX_ATTRS || n < 1)
        return refuse(INVALID, "attribute of a final descriptor");
    attribute *a = &d->attrs[d->n++];
    *a = (attribute){which, type, n, malloc((size_t)n * width_of(type))};
    memcpy(a->data, values, (size_t)n * width_of(type));
    return 0;
}

static const attribute *find(const descriptor *d, int which)
{
    for (int i = 0; d && i < d->n; i++) {
        if (d->attrs[i].which == which)
            return &d->attrs[i];
    }
    return NULL;
}

static const int64_t *ints(const descriptor *d, int which, int64_t *n)
{
    const attribute *a = find(d, which);
    if (!a || a->type != CUDNN_TYPE_INT64)
        return NULL;
    if (n)
        *n = a->n;
    return (const int64_t *)(const void *)a->data;
}

static int number(const descriptor *d, int which)
{
    const attribute *a = find(d, which);
    int value = -1;
    if (a)
        memcpy(&value, a->data, sizeof value);
    return value;
}

static const descriptor *part(const descriptor *d, int which)
{
    const attribute *a = find(d, which);
    descriptor *value = NULL;
    if (a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        memcpy(&value, a->data, sizeof value);
    return value && value->is_final ? value : NULL;
}

/* ---- tensors ---- */

typedef struct tensor {
    int64_t id, n, dims[MAX_DIMS], strides[MAX_DIMS];
    int type;
    bool is_virtual;
} tensor;

static bool read_tensor(const descriptor *d, tensor *t)
{
    int64_t n = 0, m = 0;
    const int64_t *id = ints(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, NULL),
                  *dims = ints(d, CUDNN_ATTR_TENSOR_DIMENSIONS, &n),
                  *strides = ints(d, CUDNN_ATTR_TENSOR_STRIDES, &m);
    if (!d || d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR || !id || !dims || !strides ||
        n != m || n < 4 || n > MAX_DIMS ||
        !ints(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, NULL))
        return false;
    *t = (tensor){.id = *id, .n = n, .type = number(d, CUDNN_ATTR_TENSOR_DATA_TYPE)};
    memcpy(t->dims, dims, (size_t)n * sizeof *dims);
    memcpy(t->strides, strides, (size_t)n * sizeof *strides);
    const attribute *is_virtual = find(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    t->is_virtual = is_virtual && is_virtual->data[0];
    return true;
}

static int64_t elements(const tensor *t)
{
    int64_t n = 1;
    for (int64_t i = 0; i < t->n; i++)
        n *= t->dims[i];
    return n;
}

/* ---- graphs ---- */

typedef struct operation {
    bool is_conv, is_transposed;
    int mode;
    const descriptor *conv, *x, *w, *y; /* w: also the other operand */
} operation;

static bool read_operation(const descriptor *d, operation *op)
{
    *op = (operation){.is_conv = true};
    if (d->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
        op->conv = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
        op->x = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
        op->w = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
        op->y = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
        return op->conv && op->x && op->w && op->y;
    }
    if (d->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
        op->is_transposed = true;
        op->conv = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
        op->x = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
        op->w = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
        op->y = part(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
        return op->conv && op->x && op->w && op->y;
    }
    op->is_conv = false;
    op->mode = number(part(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                      CUDNN_ATTR_POINTWISE_MODE);
    op->x = part(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    op->w = part(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    op->y = part(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    return d->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && op->x && op->y &&
           (op->mode == CUDNN_POINTWISE_ADD) == (op->w != NULL);
}

/* Is y = floor((x + pads - reach) / stride) + 1 on every axis of the convolution that
 * maps x to y? */
static bool sizes_fit(const descriptor *conv, const tensor *x, const tensor *w,
                      const tensor *y)
{
    int64_t n = 0;
    const int64_t *begins = ints(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &n),
                  *ends = ints(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, NULL),
                  *strides = ints(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, NULL),
                  *dilations = ints(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, NULL);
    if (n != x->n - 2 || x->n != w->n || x->n != y->n)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t reach = dilations[i] * (w->dims[i + 2] - 1) + 1;
        if ((x->dims[i + 2] + begins[i] + ends[i] - reach) / strides[i] + 1 !=
            y->dims[i + 2])
            return false;
    }
    return x->dims[0] == y->dims[0] && w->dims[0] == y->dims[1] &&
           x->dims[1] % w->dims[1] == 0;
}

static const descriptor *operation_at(const descriptor *graph, int64_t i)
{
    const attribute *ops = find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    descriptor *op;
    if (!ops || i >= ops->n)
        return NULL;
    memcpy(&op, ops->data + (size_t)i * sizeof op, sizeof op);
    return op;
}

/* Asymmetric padding is what no engine here takes. */
static cudnnStatus_t check_graph(const descriptor *graph)
{
    fake_control *control = fake_cuda_control();
    operation op;
    tensor x, w, y;
    for (int64_t i = 0; operation_at(graph, i); i++) {
        if (!read_operation(operation_at(graph, i), &op) || op.is_conv != (i == 0) ||
            !read_tensor(op.x, &x) || !read_tensor(op.y, &y))
            return refuse(INVALID, "an operation lacks a part");
        if (i > 0 && control->no_fused_engine)
            return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine for the pattern");
        if (!op.is_conv)
            continue;
        bool fits = read_tensor(op.w, &w) &&
                    (op.is_transposed ? sizes_fit(op.conv, &y, &w, &x)
                                      : sizes_fit(op.conv, &x, &w, &y));
        if (!fits)
            return refuse(INVALID, "sizes of a convolution");
        int64_t n = 0;
        const int64_t *begins = ints(op.conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &n),
                      *ends = ints(op.conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, NULL);
        if (control->no_engine || memcmp(begins, ends, (size_t)n * sizeof *ends) != 0)
            return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine for the convolution");
    }
    bool has_device = find(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    return operation_at(graph, 0) && has_device ? 0 : refuse(INVALID, "no operation");
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t desc)
{
    descriptor *d = desc;
    tensor t;
    int status = fake_fails(__func__);
    if (status != 0)
        return status;
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        d->is_final = true;
        return read_tensor(d, &t) ? 0 : refuse(INVALID, "tensor");
    }
    if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        status = check_graph(d);
    if (d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
        d->graph = part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        const descriptor *config = part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
        if (!config || fake_cuda_control()->plans_fail)
            status = refuse(CUDNN_STATUS_NOT_SUPPORTED, "the engine cannot plan");
        else {
            d->engine = config->engine;
            d->graph = config->graph;
        }
    }
    d->is_final = status == 0;
    return status;
}

/* Results go into descriptors that the caller made. */
static void give_configs(const descriptor *heuristics, int64_t cap, int64_t *n,
                         void *values)
{
    *n = N_ENGINES;
    for (int64_t i = 0; i < N_ENGINES && i < cap; i++) {
        descriptor *config;
        memcpy(&config, (char *)values + (size_t)i * sizeof config, sizeof config);
        config->engine = (int)i;
        config->graph = heuristics->graph;
        config->is_final = true;
    }
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t desc,
                                       cudnnBackendAttributeName_t which,
                                       cudnnBackendAttributeType_t type, int64_t cap,
                                       int64_t *n, void *values)
{
    const descriptor *d = desc;
    int status = fake_fails(__func__);
    (void)type;
    if (status != 0)
        return status;
    if (!d->is_final)
        return refuse(INVALID, "question to a descriptor that is not final");
    *n = 1;
    if (which == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        give_configs(d, cap, n, values);
    } else if (which == CUDNN_ATTR_ENGINECFG_ENGINE) {
        descriptor *engine;
        memcpy(&engine, values, sizeof engine);
        engine->engine = d->engine;
        engine->is_final = true;
    } else if (which == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
        *n = d->engine == TENSOR_CORE;
        if (*n == 1)
            *(int *)values = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    } else if (which == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *(int64_t *)values = 128 * (d->engine + 1);
    } else {
        return refuse(INVALID, "unknown question");
    }
    return 0;
}

/* ---- execution ---- */

typedef struct store {
    tensor t;
    char *p;
    float *own; /* of virtual ones */
} store;

static float value(const store *s, const int64_t *index)
{
    int64_t at = 0;
    for (int64_t i = 0; i < s->t.n; i++)
        at += (s->t.dims[i] == 1 ? 0 : index[i]) * s->t.strides[i];
    return fake_load(s->p, at, s->t.type == CUDNN_DATA_FLOAT ? 4 : 2,
                     s->t.type == CUDNN_DATA_BFLOAT16);
}

static void put(store *s, const int64_t *index, float x)
{
    int64_t at = 0;
    for (int64_t i = 0; i < s->t.n; i++)
        at += index[i] * s->t.strides[i];
    fake_store(s->p, at, x, s->t.type == CUDNN_DATA_FLOAT ? 4 : 2,
               s->t.type == CUDNN_DATA_BFLOAT16);
}

static void unravel(const tensor *t, int64_t i, int64_t *index)
{
    for (int64_t d = t->n - 1; d >= 0; d--) {
        index[d] = i % t->dims[d];
        i /= t->dims[d];
    }
}

/* Where position `out` and tap k of an axis read, or -1. */
static int64_t source(const descriptor *conv, int64_t axis, int64_t out, int64_t k,
                      int64_t size, bool transposed)
{
    int64_t begin = ints(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, NULL)[axis],
            stride = ints(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, NULL)[axis],
            dilation = ints(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, NULL)[axis];
    int64_t at = out * stride + k * dilation - begin;
    if (transposed) {
        at = out + begin - k * dilation;
        if (at < 0 || at % stride != 0)
            return -1;
        at /= stride;
    }
    return at >= 0 && at < size ? at : -1;
}

static float convolve_at(const operation *op, const store *x, const store *w,
                         const store *y, const int64_t *o)
{
    int64_t groups =
        op->is_transposed ? y->t.dims[1] / w->t.dims[1] : x->t.dims[1] / w->t.dims[1];
    int64_t of_group = x->t.dims[1] / groups, results = y->t.dims[1] / groups;
    int64_t group = o[1] / results, taps = 1, n = y->t.n;
    for (int64_t i = 2; i < n; i++)
        taps *= w->t.dims[i];
    float sum = 0;
    for (int64_t k = 0; k < taps * of_group; k++) {
        int64_t xi[MAX_DIMS] = {o[0], group * of_group + k / taps}, wi[MAX_DIMS];
        int64_t rest = k % taps;
        bool inside = true;
        wi[0] = op->is_transposed ? xi[1] : o[1];
        wi[1] = op->is_transposed ? o[1] % results : k / taps;
        for (int64_t i = n - 1; i >= 2; i--) {
            wi[i] = rest % w->t.dims[i];
            rest /= w->t.dims[i];
            xi[i] =
                source(op->conv, i - 2, o[i], wi[i], x->t.dims[i], op->is_transposed);
            inside = inside && xi[i] >= 0;
        }
        if (inside)
            sum += value(x, xi) * value(w, wi);
    }
    return sum;
}

static float pointwise_at(const operation *op, const store *x, const store *other,
                          const int64_t *o)
{
    float v = value(x, o);
    switch (op->mode) {
    case CUDNN_POINTWISE_ADD:
        return v + value(other, o);
    case CUDNN_POINTWISE_RELU_FWD:
        return v < 0 ? 0 : v;
    case CUDNN_POINTWISE_TANH_FWD:
        return tanhf(v);
    default:
        return 1 / (1 + expf(-v));
    }
}

typedef struct stores {
    const descriptor *pack;
    store s[16];
    int n;
} stores;

/* The tensor's memory: the variant pack's, or one of our own for virtual ones. */
static store *store_of(stores *all, const descriptor *d)
{
    tensor t;
    int64_t n = 0;
    if (!d || !read_tensor(d, &t))
        return NULL;
    for (int i = 0; i < all->n; i++) {
        if (all->s[i].t.id == t.id)
            return &all->s[i];
    }
    store *s = &all->s[all->n++];
    *s = (store){.t = t};
    const int64_t *ids = ints(all->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &n);
    const attribute *data = find(all->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (int64_t i = 0; i < n && !t.is_virtual; i++) {
        if (ids[i] == t.id)
            memcpy(&s->p, data->data + (size_t)i * sizeof s->p, sizeof s->p);
    }
    if (t.is_virtual) {
        s->own = malloc((size_t)elements(&t) * sizeof(float));
        s->p = (char *)s->own;
    }
    return s->p && (uintptr_t)s->p % 16 == 0 ? s : NULL;
}

static cudnnStatus_t run_operation(stores *all, const operation *op)
{
    store *x = store_of(all, op->x), *w = op->w ? store_of(all, op->w) : NULL,
          *y = store_of(all, op->y);
    if (!x || !y || (op->w && !w))
        return refuse(INVALID, "a tensor has no memory");
    for (int64_t i = 0; i < elements(&y->t); i++) {
        int64_t o[MAX_DIMS];
        unravel(&y->t, i, o);
        put(y, o,
            op->is_conv ? convolve_at(op, x, w, y, o) : pointwise_at(op, x, w, o));
    }
    return 0;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack)
{
    fake_control *control = fake_cuda_control();
    const descriptor *p = plan;
    stores all = {.pack = variant_pack};
    operation op;
    tensor y;
    int status = fake_fails(__func__);
    if (status != 0)
        return status;
    if (!handle || !p->is_final || !all.pack->is_final ||
        !find(all.pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
        return refuse(INVALID, "plan or pack");
    read_operation(operation_at(p->graph, 0), &op);
    read_tensor(op.y, &y);
    double factor = y.strides[1] == 1 ? control->ms_nhwc_factor : 1;
    control->last_engine = p->engine;
    fake_operation(factor * control->ms_conv[p->engine], &control->n_convs);
    for (int64_t i = 0;
         !fake_is_capturing() && status == 0 && operation_at(p->graph, i); i++) {
        read_operation(operation_at(p->graph, i), &op);
        status = run_operation(&all, &op);
    }
    for (int i = 0; i < all.n; i++)
        free(all.s[i].own);
    return status;
}
