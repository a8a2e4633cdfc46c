/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel of the reference executor sees: one node, its input values, room for
 * its output values. One row a standard operator says which kernel computes it; rows
 * stand in the file of their kernels. Kernels handle all versions of their operator and
 * ask for the version (opset) where versions differ.
 *
 * This executor is what results are judged by: it shares no code with the algebra, its
 * evaluators, or anything that rewrites.
 */
#ifndef NOE_ONNX_IO_RUN_CALL_H
#define NOE_ONNX_IO_RUN_CALL_H

#include "onnx_io/model.h"
#include "onnx_io/run/value.h"

typedef struct noe_call noe_call;
typedef noe_status noe_kernel(noe_call *c);

enum {
    NOE_TAKES_ANY = 1, /* inputs may be sequences or empty optionals */
    NOE_NEEDS_ALL = 2, /* no input may be missing, however many there are */
};
typedef struct noe_operator {
    const char *name;
    noe_kernel *run;
    int min_in;      /* inputs that must be there */
    const void *how; /* what the kernel's rows differ in */
    int input_flags; /* NOE_TAKES_ANY, NOE_NEEDS_ALL */
} noe_operator;

/* Of the standard domain; NULL where there is none. */
const noe_operator *noe_operator_find(const char *op_type);
/* Row i of all, NULL behind the last. */
const noe_operator *noe_operator_at(int i);

/* The files' rows end with a NULL name. */
extern const noe_operator noe_operators_unary[], noe_operators_ewise[],
    noe_operators_cast[], noe_operators_move[], noe_operators_select[],
    noe_operators_reduce[], noe_operators_norm[], noe_operators_product[],
    noe_operators_quantize[], noe_operators_window[], noe_operators_resize[],
    noe_operators_scatter[], noe_operators_make[], noe_operators_control[],
    noe_operators_recurrent[], noe_operators_attention[], noe_operators_detect[],
    noe_operators_loss[];

struct noe_frame;
struct noe_run;

#define NOE_CALL_MAX_OUT 8 /* at least so many outputs may be made, wanted or not */
struct noe_call {
    struct noe_run *run;
    struct noe_frame *frame; /* names in scope */
    const Onnx__NodeProto *node;
    const noe_operator *op;
    int64_t opset; /* of the node's domain */
    int n_in, n_out;
    const noe_run_value **in; /* NULL where missing */
    noe_run_value **out;
    noe_arena *scratch; /* cleared after the call */
    noe_error *err;
    noe_status fault; /* seen where no status can be returned: the call fails */
};

/* Failures, for `return`: shapes or values that the operator does not allow, and what
 * this executor cannot do. */
noe_status noe_call_fail(noe_call *c, const char *fmt, ...) NOE_PRINTF(2, 3);
noe_status noe_call_unsupported(noe_call *c, const char *fmt, ...) NOE_PRINTF(2, 3);
/* "is not defined for int4": the element type of input 0. */
noe_status noe_call_bad_type(noe_call *c);

/* Input i, or NULL where it is missing. */
static inline const noe_run_value *noe_call_in(const noe_call *c, int i)
{
    return i < c->n_in ? c->in[i] : NULL;
}

/* Attributes; inside a function those of the caller that a node refers to. */
const Onnx__AttributeProto *noe_call_attr(const noe_call *c, const char *name);
int64_t noe_call_int(const noe_call *c, const char *name, int64_t otherwise);
double noe_call_float(const noe_call *c, const char *name, double otherwise);
const char *noe_call_string(const noe_call *c, const char *name, const char *otherwise);
/* NULL where absent. */
const int64_t *noe_call_list(const noe_call *c, const char *name, int *n);
/* A list of exactly n, or n times the default. */
noe_status noe_call_list_of(noe_call *c, const char *name, int n, int64_t otherwise,
                            int64_t *list);

/* Output i, zero. NULL, with the error set: too large. */
noe_run_value *noe_call_out(noe_call *c, int i, noe_elem elem, const noe_dims *shape);
/* Number of elements of a shape that is needed in between: an error where a tensor of
 * bytes would be too large. */
noe_status noe_call_count(noe_call *c, const noe_dims *shape, int64_t *n);
/* Output i is v. */
void noe_call_pass(noe_call *c, int i, const noe_run_value *v);
#define NOE_OUT(VAR, C, I, ELEM, SHAPE)                           \
    noe_run_value *VAR = noe_call_out((C), (I), (ELEM), (SHAPE)); \
    if (!VAR)                                                     \
    return NOE_ERR_LIMIT

/* Elements in a carrier, in scratch memory. Where the type has no such elements they
 * are zeros, and the call fails in the end. */
double *noe_call_f64(noe_call *c, const noe_run_value *v);
int64_t *noe_call_i64(noe_call *c, const noe_run_value *v);
/* The same, broadcast to a shape. */
double *noe_call_f64_as(noe_call *c, const noe_run_value *v, const noe_dims *shape);
int64_t *noe_call_i64_as(noe_call *c, const noe_run_value *v, const noe_dims *shape);
/* For each element of `to` the index of the element of `from` that broadcasts there. */
int64_t *noe_call_spread(noe_call *c, const noe_dims *from, const noe_dims *to);
/* Output i of x's element type: element k is element index[k] of x, or `fill` (a value
 * of one element, NULL: zero) where that is negative. */
noe_status noe_call_take(noe_call *c, int i, const noe_run_value *x,
                         const noe_dims *shape, const int64_t *index,
                         const noe_run_value *fill);
/* Indices of a view: start + sum over axes of position * stride. */
int64_t *noe_call_strided(noe_call *c, const noe_dims *shape, int64_t start,
                          const int64_t *stride);
/* Distance of neighbours on each axis, in elements. */
void noe_dims_strides(const noe_dims *d, int64_t *stride);
/* Numbers of an integer input of rank 0 or 1. NULL where the input is missing. */
noe_status noe_call_numbers(noe_call *c, int i, const int64_t **list, int *n);
/* From attribute (old opsets) or input i. NULL where both are missing. */
noe_status noe_call_numbers_or_list(noe_call *c, int i, const char *name,
                                    const int64_t **list, int *n);
/* An axis within a rank, negative ones from the end. */
noe_status noe_call_axis(noe_call *c, int64_t axis, int rank, int *out);
#define NOE_ZEROS(C, TYPE, N) NOE_NEW_N((C)->scratch, TYPE, (N) > 0 ? (N) : 1)

/* Executes a body: inputs bound to its formal inputs, outputs appended to out. */
noe_status noe_call_body(noe_call *c, const Onnx__GraphProto *body,
                         const noe_run_value *const *in, int n_in, noe_run_value **out,
                         int n_out);

/* tensor_proto.c: a TensorProto as value (external data is not followed: initializers
 * that have it were read by the model); a value as TensorProto in arena. */
noe_status noe_run_from_proto(const Onnx__TensorProto *t, noe_run_value **v,
                              noe_error *err);
noe_status noe_run_from_sparse(const Onnx__SparseTensorProto *t, noe_run_value **v,
                               noe_error *err);
/* A message with one value of a declared type (NULL: a tensor). */
noe_status noe_run_read_value(const Onnx__TypeProto *type, const void *data, size_t len,
                              noe_run_value **v, noe_error *err);
/* Elements packed as raw_data has them; malloc'ed. */
void *noe_run_pack(const noe_run_value *v, size_t *bytes);
/* Fills v from such bytes; false if they are not as many as they must be. */
bool noe_run_unpack(noe_run_value *v, const void *data, size_t bytes);

#endif
