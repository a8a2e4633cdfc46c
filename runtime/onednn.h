/* SPDX-License-Identifier: Apache-2.0
 *
 * The oneDNN backend inside: a plan turns a graph into a list of steps over buffers.
 *
 * Every graph value has one or more views: a buffer and a memory descriptor, that is a
 * shape, a layout and an offset. Emitters (one a kernel, runtime/kernels.def) ask for
 * their operands in the layout they want; the plan adds a reorder where no view has it,
 * at once for weights, as a step for others, and remembers the copy. A value that need
 * not be in C order (inputs of a graph with free_layout) stays undecided until its
 * first user says what it likes.
 */
#ifndef NOE_RUNTIME_ONEDNN_H
#define NOE_RUNTIME_ONEDNN_H

#include "runtime/backend.h"
#include "runtime/fuse.h"
#include <oneapi/dnnl/dnnl.h>

#define NOE_DNN_MAX_VIEWS 4
#define NOE_DNN_MAX_ARGS  (NOE_FUSION_MAX_OPERANDS + 1)

typedef enum noe_dnn_store {
    NOE_DNN_ARENA,  /* shared with others by liveness */
    NOE_DNN_WEIGHT, /* filled at preparation */
    NOE_DNN_INPUT,  /* the caller's, by number */
    NOE_DNN_OUTPUT,
} noe_dnn_store;

typedef struct noe_dnn_buffer {
    noe_dnn_store store;
    uint32_t number; /* of the graph's input or output */
    size_t bytes;
    size_t offset;       /* in the arena or in a copy of the weights */
    uint32_t pending;    /* uses, not yet planned, of the values that it holds */
    uint32_t first, end; /* steps [first, end) use it */
    void *data;          /* weights while planning */
} noe_dnn_buffer;

typedef struct noe_dnn_view {
    uint32_t buffer;
    dnnl_memory_desc_t md;
} noe_dnn_view;

typedef struct noe_dnn_value {
    bool is_known;     /* has views, or is undecided, or is a weight */
    bool is_undecided; /* an input in whatever layout its first user likes */
    bool is_weight;
    uint32_t number;  /* of the input, for undecided ones */
    uint32_t pending; /* uses not yet planned */
    int n_views;      /* the first is the layout in which it was made */
    noe_dnn_view views[NOE_DNN_MAX_VIEWS];
    float *plain; /* weights: elements in C order, in the plan's scratch arena */
} noe_dnn_value;

typedef struct noe_dnn_arg {
    int arg; /* DNNL_ARG_...; for reference steps the operand's number */
    noe_dnn_view view;
} noe_dnn_arg;

typedef enum noe_dnn_step_kind {
    NOE_DNN_PRIMITIVE,
    NOE_DNN_REFERENCE, /* noe_eval_f32 on C order; the last argument is the result */
    NOE_DNN_ZERO,      /* clears the buffer of its one argument */
    NOE_DNN_COPY,      /* bytes of the first argument's buffer to the second's */
} noe_dnn_step_kind;

typedef struct noe_dnn_step {
    noe_dnn_step_kind kind;
    uint32_t node; /* for messages, and what the reference evaluates */
    dnnl_primitive_t primitive;
    int n_args;
    noe_dnn_arg *args; /* in the plan's arena */
} noe_dnn_step;

typedef struct noe_dnn_plan {
    const noe_graph *g;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    bool free_layout;
    noe_arena arena;   /* what lives as long as the executor */
    noe_arena scratch; /* what planning needs only */
    uint8_t *live;
    uint32_t *uses, *group;
    noe_dnn_value *values;
    noe_dnn_buffer *buffers;
    uint32_t n_buffers, cap_buffers;
    noe_dnn_step *steps;
    uint32_t n_steps, cap_steps;
    uint32_t node; /* being planned */
} noe_dnn_plan;

/* Plans the call for f; *done stays false where the kernel cannot do it (then nothing
 * was added but perhaps unused reorders). */
typedef noe_status noe_dnn_emitter(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                                   noe_error *err);
#define KERNEL(ID, EMITTER, FLAGS) noe_dnn_emitter noe_dnn_emit_##EMITTER;
#include "runtime/kernels.def"

/* onednn_plan.c: the whole graph, or (for `supports`) one node. */
NOE_NODISCARD noe_status noe_dnn_plan_graph(noe_dnn_plan *p, const noe_graph *g,
                                            bool free_layout, noe_error *err);
NOE_NODISCARD noe_status noe_dnn_plan_node(noe_dnn_plan *p, const noe_graph *g,
                                           uint32_t node, bool *is_kernel,
                                           noe_error *err);
void noe_dnn_plan_clear(noe_dnn_plan *p);

/* onednn_value.c: values, buffers, steps, layouts. */

/* NOE_OK, or NOE_ERR_BACKEND naming `what`, the node and oneDNN's status. */
NOE_NODISCARD noe_status noe_dnn_check(const noe_dnn_plan *p, dnnl_status_t status,
                                       const char *what, noe_error *err);
/* C order; rank 0 becomes one axis of 1. */
dnnl_memory_desc_t noe_dnn_plain(const noe_shape *s);
dnnl_memory_desc_t noe_dnn_plain_dims(int n, const dnnl_dim_t *dims);
dnnl_memory_desc_t noe_dnn_any(int n, const dnnl_dim_t *dims);
bool noe_dnn_is_plain(const dnnl_memory_desc_t *md);
/* The layout in which convolutions on this CPU like an image of this shape (blocked or
 * channels last); C order for what is no image. */
dnnl_memory_desc_t noe_dnn_liked(const noe_dnn_plan *p, const noe_shape *s);
/* The layout of `like` (C order, channels last or blocked) for other dimensions; false
 * if it is none of those. */
bool noe_dnn_same_layout(const dnnl_memory_desc_t *like, int n, const dnnl_dim_t *dims,
                         dnnl_memory_desc_t *md);

const noe_shape *noe_dnn_shape(const noe_dnn_plan *p, noe_ref r);
bool noe_dnn_is_weight(const noe_dnn_plan *p, noe_ref r);
/* Elements of a weight in C order. With free_layout they are random. */
NOE_NODISCARD noe_status noe_dnn_weight_data(noe_dnn_plan *p, noe_ref r, float **data,
                                             noe_error *err);
/* A new weight buffer with these elements, brought to layout md. */
NOE_NODISCARD noe_status noe_dnn_new_weight(noe_dnn_plan *p, const float *plain,
                                            const dnnl_memory_desc_t *plain_md,
                                            const dnnl_memory_desc_t *md,
                                            noe_dnn_view *out, noe_error *err);
/* The layout a value has now: undecided inputs take `liked` (NULL: C order). */
NOE_NODISCARD noe_status noe_dnn_get(noe_dnn_plan *p, noe_ref r,
                                     const dnnl_memory_desc_t *liked, noe_dnn_view *out,
                                     noe_error *err);
/* Gives an undecided input the layout md. */
void noe_dnn_decide(noe_dnn_plan *p, noe_ref r, const dnnl_memory_desc_t *md);
NOE_NODISCARD noe_status noe_dnn_get_plain(noe_dnn_plan *p, noe_ref r,
                                           noe_dnn_view *out, noe_error *err);
/* The value in layout md, whose dimensions are the value's own. */
NOE_NODISCARD noe_status noe_dnn_get_as(noe_dnn_plan *p, noe_ref r,
                                        const dnnl_memory_desc_t *md, noe_dnn_view *out,
                                        noe_error *err);
/* A value in C order seen with other dimensions of equal product. */
NOE_NODISCARD noe_status noe_dnn_get_plain_dims(noe_dnn_plan *p, noe_ref r, int n,
                                                const dnnl_dim_t *dims,
                                                noe_dnn_view *out, noe_error *err);
/* A fresh arena buffer for md. */
noe_dnn_view noe_dnn_new_view(noe_dnn_plan *p, const dnnl_memory_desc_t *md);
/* May the one use of view that is being planned overwrite it? */
bool noe_dnn_can_overwrite(const noe_dnn_plan *p, const noe_dnn_view *view);
/* Node i now has this view; of another's buffer where that is only a matter of shape.
 */
void noe_dnn_set_value(noe_dnn_plan *p, uint32_t node, const noe_dnn_view *view);
/* Adds the call of pd, which is taken whatever happens. */
NOE_NODISCARD noe_status noe_dnn_add_step(noe_dnn_plan *p, dnnl_primitive_desc_t pd,
                                          const noe_dnn_arg *args, int n_args,
                                          noe_error *err);
void noe_dnn_add_plain_step(noe_dnn_plan *p, noe_dnn_step_kind kind,
                            const noe_dnn_arg *args, int n_args);
/* Adds a copy between views of equal dimensions. */
NOE_NODISCARD noe_status noe_dnn_add_reorder(noe_dnn_plan *p, const noe_dnn_view *from,
                                             const noe_dnn_view *to, noe_error *err);

/* *pd = NULL and NOE_OK where oneDNN has no implementation. attr may be NULL. */
NOE_NODISCARD noe_status noe_dnn_describe(const noe_dnn_plan *p, const void *op_desc,
                                          dnnl_primitive_attr_t attr,
                                          dnnl_primitive_desc_t *pd, noe_error *err);
/* Is it one of oneDNN's slow reference implementations? */
bool noe_dnn_is_slow(const_dnnl_primitive_desc_t pd);
const dnnl_memory_desc_t *noe_dnn_query(const_dnnl_primitive_desc_t pd,
                                        dnnl_query_t what);

/* Eltwise algorithm of relu, sigmoid, tanh and the other unary operators. */
typedef struct noe_dnn_eltwise {
    dnnl_alg_kind_t alg;
    float alpha, beta;
} noe_dnn_eltwise;
bool noe_dnn_eltwise_of(noe_op op, noe_dnn_eltwise *e);
/* One call in the layout of `from`, in its place where that is possible; done stays
 * false if there is none. */
NOE_NODISCARD noe_status noe_dnn_add_eltwise(noe_dnn_plan *p, const noe_dnn_eltwise *e,
                                             const noe_dnn_view *from, noe_dnn_view *to,
                                             bool *done, noe_error *err);
/* onednn_product.c: convolutions and matrix products with what they absorb. */

/* An operand whose elements in C order are described by `from` (which may name other
 * axes than the value has, or transpose them). */
typedef struct noe_dnn_operand {
    noe_ref ref;
    dnnl_memory_desc_t from;
    bool is_fixed; /* the call takes it so; otherwise the primitive chooses a layout */
} noe_dnn_operand;

NOE_NODISCARD noe_status noe_dnn_get_operand(noe_dnn_plan *p,
                                             const noe_dnn_operand *operand,
                                             const dnnl_memory_desc_t *chosen,
                                             noe_dnn_view *out, noe_error *err);

typedef struct noe_dnn_product {
    const void *op_desc; /* with bias_md's bias where `bias` is given */
    noe_dnn_operand src, weights;
    noe_ref bias; /* weight of one value or one a channel, or any vector; or none */
    dnnl_memory_desc_t bias_md;
    float bias_scale;  /* of a weight */
    float scale;       /* of the product and the bias */
    noe_ref residual;  /* or none */
    noe_op activation; /* NOE_OP_COUNT: none */
    bool is_plain;     /* the result is in C order, described by dst_md */
    dnnl_memory_desc_t dst_md;
} noe_dnn_product;

/* Takes followers of f over into bias (if there is none yet), residual, activation. */
void noe_dnn_take_followers(const noe_fusion *f, const noe_graph *g,
                            noe_dnn_product *product);
NOE_NODISCARD noe_status noe_dnn_add_product(noe_dnn_plan *p, const noe_fusion *f,
                                             const noe_dnn_product *product, bool *done,
                                             noe_error *err);

#endif
