/* SPDX-License-Identifier: Apache-2.0
 *
 * From a graph to steps over device buffers, in the order of the fused groups.
 *
 * Every value lies in a buffer in one of two layouts: C order, or channels last (axis 1
 * moved behind the others, rank 3 to 5). Our own kernels take any mixture by strides;
 * cuDNN's convolutions get what the plan prefers; products and changes of shape want C
 * order. A value that is wanted in the other layout is copied once, as a step, or, for
 * weights, on the host.
 *
 * Planning touches no device memory; it needs a device (or its properties) only to ask
 * cuDNN for engines.
 */
#ifndef NOE_RUNTIME_CUDA_PLAN_H
#define NOE_RUNTIME_CUDA_PLAN_H

#include "core/walk.h"
#include "runtime/backend.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/kernel_args.h"
#include "runtime/fuse.h"

#define NOE_CU_NONE      UINT32_MAX
#define NOE_CU_MAX_PLANS 8 /* that are tried for one call */

typedef enum noe_cu_order {
    NOE_CU_PLAIN,
    NOE_CU_CHANNELS_LAST,
    NOE_CU_N_ORDERS
} noe_cu_order;

typedef enum noe_cu_store {
    NOE_CU_ARENA, /* shared with others by liveness */
    NOE_CU_WEIGHT,
    NOE_CU_INPUT,
} noe_cu_store;

typedef struct noe_cu_buffer {
    noe_cu_store store;
    size_t elements;
    size_t offset;       /* bytes, in the arena, a copy of the weights, the inputs */
    uint32_t first, end; /* steps [first, end) use it */
    float *data;         /* weights, in the plan's scratch; NULL: random */
} noe_cu_buffer;

typedef struct noe_cu_value {
    noe_cu_order made; /* the order it exists in first */
    uint32_t buffer[NOE_CU_N_ORDERS];
    bool is_known;
} noe_cu_value;

/* A call of cuDNN: the graph and its plans, best guess first. */
typedef struct noe_cu_dnn {
    cudnnBackendDescriptor_t plans[NOE_CU_MAX_PLANS];
    size_t workspace[NOE_CU_MAX_PLANS];
    int n_plans;
    int64_t ids[NOE_CU_MAX_OPERANDS]; /* of the step's args */
    /* What the plans refer to. */
    cudnnBackendDescriptor_t *owned;
    uint32_t n_owned, cap_owned;
} noe_cu_dnn;

/* A call of cublasLtMatmul, n_batch products whose operands are offset from arg to
 * arg. Args: d, a, b, c (residual, or d itself), bias. */
typedef struct noe_cu_product {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout[4]; /* a, b, c, d as cuBLAS sees them */
    cublasLtMatmulHeuristicResult_t plans[NOE_CU_MAX_PLANS];
    int n_plans;
    float alpha, beta;
    bool has_bias;
    int64_t offset[4]; /* elements: d, a, b, c */
} noe_cu_product;

typedef enum noe_cu_step_kind {
    NOE_CU_LAUNCH,
    NOE_CU_CONVOLVE,
    NOE_CU_MULTIPLY,
    NOE_CU_ZERO, /* clears args[0] */
} noe_cu_step_kind;

typedef struct noe_cu_step {
    noe_cu_step_kind kind;
    uint32_t node;
    int n_args;
    uint32_t args[NOE_CU_MAX_OPERANDS]; /* buffers; args[0] is the result */
    noe_cu_kernel kernel;
    unsigned grid, block;
    noe_cu_args *launch;
    noe_cu_dnn *dnn;
    noe_cu_product *product;
    uint64_t key; /* of the plan cache; for kinds with plans */
    int choice;   /* which plan runs */
    bool is_tuned;
} noe_cu_step;

typedef struct noe_cu_plan {
    noe_cu_device *device;
    const noe_graph *g;
    noe_cu_order prefer; /* of images */
    bool free_layout;
    noe_arena arena;   /* lives as long as the plan */
    noe_arena scratch; /* weights on their way */
    uint8_t *live;
    uint32_t *uses, *group;
    noe_cu_value *values;
    noe_cu_buffer *buffers;
    uint32_t n_buffers, cap_buffers;
    noe_cu_step *steps;
    uint32_t n_steps, cap_steps;
    uint32_t node;                     /* being planned */
    uint32_t n_inputs, *input_buffers; /* NOE_CU_NONE for dead ones */
    size_t workspace_bytes;
} noe_cu_plan;

/* g must outlive the plan. After failure too, clear it. */
NOE_NODISCARD noe_status noe_cu_plan_graph(noe_cu_plan *p, noe_cu_device *d,
                                           const noe_graph *g, noe_cu_order prefer,
                                           bool free_layout, noe_error *err);
void noe_cu_plan_clear(noe_cu_plan *p);
/* Would another order of images change anything? */
bool noe_cu_has_images(const noe_graph *g, const uint8_t *live);

/* value.c */
const noe_shape *noe_cu_shape(const noe_cu_plan *p, noe_ref r);
noe_strides noe_cu_strides(const noe_shape *s, noe_cu_order order);
/* Strides of r, lying in `order`, broadcast to a space of shape `to`. */
noe_strides noe_cu_broadcast(const noe_cu_plan *p, noe_ref r, noe_cu_order order,
                             const noe_shape *to);
/* The order in which r lies already. */
noe_cu_order noe_cu_order_of(const noe_cu_plan *p, noe_ref r);
bool noe_cu_may_be_last(const noe_shape *s);
/* The buffer of r in this order; made, if need be. */
NOE_NODISCARD noe_status noe_cu_get(noe_cu_plan *p, noe_ref r, noe_cu_order order,
                                    uint32_t *buffer, noe_error *err);
/* Elements of a weight in C order; NULL for random ones (free_layout). */
NOE_NODISCARD noe_status noe_cu_weight_data(noe_cu_plan *p, noe_ref r, float **data,
                                            noe_error *err);
uint32_t noe_cu_new_buffer(noe_cu_plan *p, noe_cu_store store, size_t elements);
/* A vector of n elements from a weight of n elements, or of one, repeated. */
NOE_NODISCARD noe_status noe_cu_weight_vector(noe_cu_plan *p, noe_ref r, int64_t n,
                                              uint32_t *buffer, noe_error *err);
/* Node's value is in a fresh buffer of this order. */
uint32_t noe_cu_make(noe_cu_plan *p, uint32_t node, noe_cu_order order);
void noe_cu_set_value(noe_cu_plan *p, uint32_t node, noe_cu_order order,
                      uint32_t buffer);
/* A zeroed step at the end; valid until the next. */
noe_cu_step *noe_cu_add_step(noe_cu_plan *p, noe_cu_step_kind kind,
                             const uint32_t *args, int n_args);

/* emit.c, emit_move.c, emit_reduce.c: our kernels. Everything but convolutions and
 * products; conv_direct for the former. */

/* A launch over the space of shape s, operand k with strides[k]. */
NOE_NODISCARD noe_status noe_cu_add_launch(noe_cu_plan *p, noe_cu_kernel kernel,
                                           const noe_shape *s,
                                           const noe_strides *strides,
                                           const uint32_t *args, int n_args,
                                           noe_cu_args **out, noe_error *err);
/* y = op(y, other) and then act, in place; op NOE_OP_COUNT: only act. */
NOE_NODISCARD noe_status noe_cu_add_follower(noe_cu_plan *p, uint32_t node,
                                             uint32_t buffer, noe_cu_order order,
                                             noe_op op, noe_ref other, noe_op act,
                                             noe_error *err);
typedef noe_status noe_cu_emitter(noe_cu_plan *p, const noe_fusion *f, noe_error *err);
noe_cu_emitter noe_cu_emit_unary, noe_cu_emit_binary, noe_cu_emit_where,
    noe_cu_emit_batch_norm, noe_cu_emit_view, noe_cu_emit_transpose, noe_cu_emit_concat,
    noe_cu_emit_slice, noe_cu_emit_pad, noe_cu_emit_gather, noe_cu_emit_expand,
    noe_cu_emit_resize, noe_cu_emit_pool, noe_cu_emit_reduce, noe_cu_emit_softmax,
    noe_cu_emit_normalize, noe_cu_emit_product, noe_cu_emit_conv;
/* kernel, strides, pads, dilations of a node into i[] (kernel_args.h); x: what the
 * window slides over. */
void noe_cu_set_window(noe_cu_args *a, const noe_graph *g, uint32_t node,
                       const noe_shape *x, const int64_t *kernel);
/* A shape of image, channel and 1 to 3 axes as one of 3, leading ones first. */
noe_shape noe_cu_five_axes(const noe_shape *s);
noe_strides noe_cu_five_strides(const noe_shape *s, noe_cu_order order);

/* y = y + a vector along axis 1, then act, in place. */
NOE_NODISCARD noe_status noe_cu_add_channels(noe_cu_plan *p, uint32_t node,
                                             uint32_t buffer, noe_cu_order order,
                                             uint32_t vector, noe_op act,
                                             noe_error *err);

/* dnn.c: a convolution and what follows it as one call of cuDNN. */
typedef struct noe_cu_conv {
    int n_axes; /* spatial: 2 or 3 */
    bool is_transposed;
    noe_cu_order order;
    noe_shape x, w, y; /* rank 2 + n_axes */
    int64_t strides[3], begins[3], ends[3], dilations[3];
    bool has_bias, has_residual;
    noe_op activation; /* NOE_OP_COUNT: none */
} noe_cu_conv;

/* The call with its plans, best guess first, none where cuDNN has no engine; its
 * operands are y, x, w, then bias and residual where there are. f32 keeps engines that
 * round to tf32 out. Memory of the plan's arena; cleared with the step, or by
 * noe_cu_dnn_clear. */
NOE_NODISCARD noe_status noe_cu_dnn_plan(noe_cu_plan *p, const noe_cu_conv *c,
                                         noe_cu_dnn **out, noe_error *err);
void noe_cu_dnn_clear(noe_cu_api *api, noe_cu_dnn *dnn);
/* One execution with these addresses. */
NOE_NODISCARD noe_status noe_cu_dnn_run(noe_cu_device *d, const noe_cu_dnn *dnn,
                                        int plan, void *const *operands, int n,
                                        void *workspace, noe_error *err);

/* product.c: the call of a product with these addresses (d, a, b, c, bias). */
NOE_NODISCARD noe_status noe_cu_product_run(noe_cu_device *d, noe_cu_product *m,
                                            int plan, char *const *operands,
                                            void *workspace, noe_error *err);

/* tune.c: times the plans of the steps that have several and are not known, and keeps
 * the best; run issues a step with its `choice` on the stream. */
typedef noe_status noe_cu_issue_fn(void *ctx, const noe_cu_step *step, noe_error *err);
NOE_NODISCARD noe_status noe_cu_tune(noe_cu_plan *p, noe_cu_issue_fn *issue, void *ctx,
                                     noe_error *err);

#endif
