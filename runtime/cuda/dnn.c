/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's graph interface: an operation graph of descriptors, the engines that its
 * heuristics propose, and plans.
 *
 * Without a device the graph has no handle, and heuristics and plans get a descriptor
 * of the device's properties instead: everything up to the execution is the same.
 */
#include "runtime/cuda/plan.h"
#include <stdlib.h>

#define MAX_CONFIGS 24
#define ALIGNMENT   16

typedef struct builder {
    noe_cu_device *device;
    noe_cu_api *api;
    noe_cu_dnn *dnn;
    cudnnBackendDescriptor_t ops[4];
    int n_ops;
    int64_t next_id;
} builder;

static noe_status create(builder *b, int type, cudnnBackendDescriptor_t *desc,
                         noe_error *err)
{
    NOE_CU_TRY_DNN(b->api, cudnnBackendCreateDescriptor, type, desc);
    NOE_PUSH(b->dnn->owned, b->dnn->n_owned, b->dnn->cap_owned, *desc);
    return NOE_OK;
}

static noe_status set(builder *b, cudnnBackendDescriptor_t desc, int which, int type,
                      int64_t n, const void *values, noe_error *err)
{
    NOE_CU_TRY_DNN(b->api, cudnnBackendSetAttribute, desc, which, type, n, values);
    return NOE_OK;
}

static noe_status set_desc(builder *b, cudnnBackendDescriptor_t desc, int which,
                           cudnnBackendDescriptor_t value, noe_error *err)
{
    return set(b, desc, which, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, err);
}

static noe_status set_int(builder *b, cudnnBackendDescriptor_t desc, int which,
                          int type, int value, noe_error *err)
{
    return set(b, desc, which, type, 1, &value, err);
}

static noe_status finalize(builder *b, cudnnBackendDescriptor_t desc, noe_error *err)
{
    NOE_CU_TRY_DNN(b->api, cudnnBackendFinalize, desc);
    return NOE_OK;
}

static int storage_type(const noe_cu_device *d)
{
    return d->options.type == NOE_CUDA_F16    ? CUDNN_DATA_HALF
           : d->options.type == NOE_CUDA_BF16 ? CUDNN_DATA_BFLOAT16
                                              : CUDNN_DATA_FLOAT;
}

/* Values between operations of the graph are virtual: never stored, in f32. */
static noe_status tensor(builder *b, const noe_shape *s, noe_cu_order order,
                         bool is_virtual, cudnnBackendDescriptor_t *desc,
                         noe_error *err)
{
    noe_strides strides = noe_cu_strides(s, order);
    int64_t id = b->next_id++, alignment = ALIGNMENT;
    int type = is_virtual ? CUDNN_DATA_FLOAT : storage_type(b->device);
    NOE_TRY(create(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR, desc, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, err));
    NOE_TRY(set_int(b, *desc, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type,
                    err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, s->rank,
                s->dim, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, s->rank,
                strides.of, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
                &alignment, err));
    if (is_virtual)
        NOE_TRY(set(b, *desc, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                    &is_virtual, err));
    return finalize(b, *desc, err);
}

static noe_status convolution(builder *b, const noe_cu_conv *c,
                              cudnnBackendDescriptor_t *desc, noe_error *err)
{
    int64_t n = c->n_axes;
    NOE_TRY(create(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, desc, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &n,
                err));
    NOE_TRY(set_int(b, *desc, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                    CUDNN_DATA_FLOAT, err));
    NOE_TRY(set_int(b, *desc, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                    CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, n,
                c->begins, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, n,
                c->ends, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, n,
                c->dilations, err));
    NOE_TRY(set(b, *desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, n,
                c->strides, err));
    return finalize(b, *desc, err);
}

static const struct {
    int type, conv, x, w, y, alpha, beta;
} directions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    /* What gives the gradient of a convolution's input is the transposed one. */
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
};

static noe_status add_convolution(builder *b, const noe_cu_conv *c,
                                  cudnnBackendDescriptor_t x,
                                  cudnnBackendDescriptor_t w,
                                  cudnnBackendDescriptor_t y, noe_error *err)
{
    int k = c->is_transposed;
    float alpha = 1, beta = 0;
    cudnnBackendDescriptor_t conv, op;
    NOE_TRY(convolution(b, c, &conv, err));
    NOE_TRY(create(b, directions[k].type, &op, err));
    NOE_TRY(set_desc(b, op, directions[k].conv, conv, err));
    NOE_TRY(set_desc(b, op, directions[k].x, x, err));
    NOE_TRY(set_desc(b, op, directions[k].w, w, err));
    NOE_TRY(set_desc(b, op, directions[k].y, y, err));
    NOE_TRY(set(b, op, directions[k].alpha, CUDNN_TYPE_FLOAT, 1, &alpha, err));
    NOE_TRY(set(b, op, directions[k].beta, CUDNN_TYPE_FLOAT, 1, &beta, err));
    b->ops[b->n_ops++] = op;
    return finalize(b, op, err);
}

/* other: NULL for functions of one value. */
static noe_status add_pointwise(builder *b, int mode, cudnnBackendDescriptor_t x,
                                cudnnBackendDescriptor_t other,
                                cudnnBackendDescriptor_t y, noe_error *err)
{
    cudnnBackendDescriptor_t pointwise, op;
    NOE_TRY(create(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &pointwise, err));
    NOE_TRY(set_int(b, pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                    mode, err));
    NOE_TRY(set_int(b, pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                    CUDNN_DATA_FLOAT, err));
    NOE_TRY(finalize(b, pointwise, err));
    NOE_TRY(create(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &op, err));
    NOE_TRY(
        set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise, err));
    NOE_TRY(set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x, err));
    if (other)
        NOE_TRY(set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other, err));
    NOE_TRY(set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y, err));
    b->ops[b->n_ops++] = op;
    return finalize(b, op, err);
}

static int activation_mode(noe_op op)
{
    return op == NOE_OP_RELU   ? CUDNN_POINTWISE_RELU_FWD
           : op == NOE_OP_TANH ? CUDNN_POINTWISE_TANH_FWD
                               : CUDNN_POINTWISE_SIGMOID_FWD;
}

/* Followers work on y's dimensions; the last one's result is y itself. */
static noe_status add_followers(builder *b, const noe_cu_conv *c,
                                cudnnBackendDescriptor_t from,
                                cudnnBackendDescriptor_t y,
                                const cudnnBackendDescriptor_t *others, noe_error *err)
{
    int n = c->has_bias + c->has_residual, total = n + (c->activation != NOE_OP_COUNT);
    for (int k = 0; k < total; k++) {
        cudnnBackendDescriptor_t to = y;
        if (k + 1 < total)
            NOE_TRY(tensor(b, &c->y, c->order, true, &to, err));
        int mode = k < n ? CUDNN_POINTWISE_ADD : activation_mode(c->activation);
        NOE_TRY(add_pointwise(b, mode, from, k < n ? others[k] : NULL, to, err));
        from = to;
    }
    return NOE_OK;
}

static noe_status add_operations(builder *b, const noe_cu_conv *c, noe_error *err)
{
    cudnnBackendDescriptor_t y, x, w, others[2] = {NULL, NULL}, first;
    noe_shape bias = {.rank = c->y.rank, .dim = {1, c->y.dim[1], 1, 1, 1}};
    int n = 0;
    /* The first ids are the operands'. */
    NOE_TRY(tensor(b, &c->y, c->order, false, &y, err));
    NOE_TRY(tensor(b, &c->x, c->order, false, &x, err));
    NOE_TRY(tensor(b, &c->w, c->order, false, &w, err));
    if (c->has_bias)
        NOE_TRY(tensor(b, &bias, c->order, false, &others[n++], err));
    if (c->has_residual)
        NOE_TRY(tensor(b, &c->y, c->order, false, &others[n++], err));
    for (int k = 0; k < 3 + n; k++)
        b->dnn->ids[k] = k + 1;
    first = y;
    if (n > 0 || c->activation != NOE_OP_COUNT)
        NOE_TRY(tensor(b, &c->y, c->order, true, &first, err));
    NOE_TRY(add_convolution(b, c, x, w, first, err));
    return add_followers(b, c, first, y, others, err);
}

/* ---- engines ---- */

/* Does the engine compute in less than f32 where f32 is asked for? */
static noe_status rounds_inputs(builder *b, cudnnBackendDescriptor_t config, bool *does,
                                noe_error *err)
{
    cudnnBackendDescriptor_t engine;
    int notes[32];
    int64_t n = 0;
    *does = false;
    if (b->device->options.type != NOE_CUDA_F32)
        return NOE_OK;
    NOE_TRY(create(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine, err));
    NOE_CU_TRY_DNN(b->api, cudnnBackendGetAttribute, config,
                   CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                   &engine);
    NOE_CU_TRY_DNN(b->api, cudnnBackendGetAttribute, engine,
                   CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 32, &n,
                   notes);
    for (int64_t i = 0; i < n && i < 32; i++)
        *does = *does || notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    return NOE_OK;
}

/* An engine that cannot plan after all is left out. */
static noe_status add_plan(builder *b, cudnnBackendDescriptor_t config, noe_error *err)
{
    cudnnBackendDescriptor_t plan;
    int64_t bytes = 0, n = 0;
    noe_cu_dnn *dnn = b->dnn;
    NOE_CU_TRY_DNN(b->api, cudnnBackendCreateDescriptor,
                   CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
    noe_status status = b->device->properties
                            ? set_desc(b, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                       b->device->properties, err)
                            : set(b, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                  CUDNN_TYPE_HANDLE, 1, &b->device->dnn, err);
    if (status == NOE_OK)
        status =
            set_desc(b, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, err);
    bool can = status == NOE_OK &&
               b->api->cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS &&
               b->api->cudnnBackendGetAttribute(
                   plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                   &n, &bytes) == CUDNN_STATUS_SUCCESS;
    if (can) {
        dnn->workspace[dnn->n_plans] = (size_t)bytes;
        dnn->plans[dnn->n_plans++] = plan;
    } else {
        b->api->cudnnBackendDestroyDescriptor(plan);
    }
    return status;
}

static noe_status add_plans(builder *b, cudnnBackendDescriptor_t graph, int mode,
                            noe_error *err)
{
    cudnnBackendDescriptor_t heuristics, configs[MAX_CONFIGS];
    int64_t n = 0;
    NOE_TRY(create(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics, err));
    NOE_TRY(set_desc(b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph, err));
    NOE_TRY(set_int(b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                    mode, err));
    if (b->device->properties)
        NOE_TRY(set_desc(b, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                         b->device->properties, err));
    NOE_TRY(finalize(b, heuristics, err));
    for (int i = 0; i < MAX_CONFIGS; i++)
        NOE_TRY(create(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i], err));
    NOE_CU_TRY_DNN(b->api, cudnnBackendGetAttribute, heuristics,
                   CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   MAX_CONFIGS, &n, configs);
    for (int64_t i = 0; i < n && i < MAX_CONFIGS; i++) {
        bool rounds;
        if (b->dnn->n_plans == NOE_CU_MAX_PLANS)
            break;
        NOE_TRY(rounds_inputs(b, configs[i], &rounds, err));
        if (!rounds)
            NOE_TRY(add_plan(b, configs[i], err));
    }
    return NOE_OK;
}

static noe_status build(builder *b, const noe_cu_conv *c, noe_error *err)
{
    cudnnBackendDescriptor_t graph;
    NOE_TRY(add_operations(b, c, err));
    NOE_TRY(create(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph, err));
    if (!b->device->properties)
        NOE_TRY(set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                    &b->device->dnn, err));
    NOE_TRY(set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                b->n_ops, b->ops, err));
    NOE_TRY(finalize(b, graph, err));
    NOE_TRY(add_plans(b, graph, CUDNN_HEUR_MODE_A, err));
    if (b->dnn->n_plans == 0)
        NOE_TRY(add_plans(b, graph, CUDNN_HEUR_MODE_FALLBACK, err));
    return NOE_OK;
}

noe_status noe_cu_dnn_plan(noe_cu_plan *p, const noe_cu_conv *c, noe_cu_dnn **out,
                           noe_error *err)
{
    *out = NOE_NEW(&p->arena, noe_cu_dnn);
    builder b = {
        .device = p->device, .api = &p->device->api, .dnn = *out, .next_id = 1};
    noe_error why = {0};
    noe_status status = build(&b, c, &why);
    if (status == NOE_ERR_UNSUPPORTED) {
        /* cuDNN says so as early as it sees it; there are no plans then. */
        noe_log(p->device->base.env, NOE_LOG_DEBUG, "node %u: %s", p->node, why.text);
        return NOE_OK;
    }
    if (status != NOE_OK) {
        noe_cu_dnn_clear(&p->device->api, *out);
        if (err)
            *err = why;
        noe_error_prefix(err, "node %u: ", p->node);
    }
    return status;
}

void noe_cu_dnn_clear(noe_cu_api *api, noe_cu_dnn *dnn)
{
    for (int i = 0; i < dnn->n_plans; i++)
        api->cudnnBackendDestroyDescriptor(dnn->plans[i]);
    /* What refers to others was made after them. */
    for (uint32_t i = dnn->n_owned; i-- > 0;)
        api->cudnnBackendDestroyDescriptor(dnn->owned[i]);
    free(dnn->owned);
    dnn->owned = NULL;
    dnn->n_plans = 0;
    dnn->n_owned = dnn->cap_owned = 0;
}

static noe_status execute(noe_cu_device *d, const noe_cu_dnn *dnn, int plan,
                          cudnnBackendDescriptor_t pack, void *const *operands, int n,
                          void *workspace, noe_error *err)
{
    noe_cu_api *api = &d->api;
    NOE_CU_TRY_DNN(api, cudnnBackendSetAttribute, pack,
                   CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n,
                   operands);
    NOE_CU_TRY_DNN(api, cudnnBackendSetAttribute, pack,
                   CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, dnn->ids);
    NOE_CU_TRY_DNN(api, cudnnBackendSetAttribute, pack,
                   CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                   &workspace);
    NOE_CU_TRY_DNN(api, cudnnBackendFinalize, pack);
    NOE_CU_TRY_DNN(api, cudnnBackendExecute, d->dnn, dnn->plans[plan], pack);
    return NOE_OK;
}

noe_status noe_cu_dnn_run(noe_cu_device *d, const noe_cu_dnn *dnn, int plan,
                          void *const *operands, int n, void *workspace, noe_error *err)
{
    cudnnBackendDescriptor_t pack;
    NOE_CU_TRY_DNN(&d->api, cudnnBackendCreateDescriptor,
                   CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    noe_status status = execute(d, dnn, plan, pack, operands, n, workspace, err);
    d->api.cudnnBackendDestroyDescriptor(pack);
    return status;
}
