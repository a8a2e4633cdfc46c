/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in spaces, as tables, and how a table becomes moves.
 *
 * Where an operator is enumerated follows from what a space lists: it needs a value for
 * each of its parameters and operands that fit. Left out are composite operators, which
 * are definitions, and what a space names in `without` to stay small.
 */
#include "generator/space.h"

#include <stdio.h>

#define MAX_LISTED 8
#define ANY_OP     NOE_OP_COUNT
#define DATA       NOE_ROLE_DATA
#define WEIGHT     NOE_ROLE_WEIGHT
#define MASK       NOE_ROLE_MASK

const char noe_space_names[] = "default, taso, matrix, product, layout, image, order, "
                               "batch, kernel, group, shift, mask, choice, index, "
                               "upscale";

/* Values of one parameter worth enumerating, for one operator or for all. Numbers are
 * lists of one entry, floating-point ones in quarters. */
typedef struct choice {
    noe_op op;
    noe_param param;
    int n_values;
    struct {
        int n;
        int64_t list[MAX_LISTED];
    } values[4];
} choice;

typedef struct leaf_spec {
    const char *name; /* variables get a number behind it */
    int count;        /* variables of this kind; 0: a constant */
    int rank;
    int64_t dim[NOE_SPACE_MAX_RANK];
    noe_role role;
    int cut_axis; /* may be cut on this axis before index `cut`, if that is not 0 */
    int cut;
    noe_op op; /* constants */
} leaf_spec;

/* A reshape that is enumerated, from one shape to another. */
typedef struct reshape_spec {
    noe_shape from, to;
} reshape_spec;

typedef struct space_spec {
    const char *name;
    bool by_default;
    const leaf_spec *leaves;
    int n_leaves;
    const choice *choices;
    int n_choices;
    const reshape_spec *reshapes;
    int n_reshapes;
    unsigned without_traits;
    const char *about; /* without any of these it is left out; NULL: always there */
    const char *only,
        *without; /* operators by name, blank-separated; NULL: all, none */
    bool equal_shapes, keep_kernels, is_ordered, any_roles, wide_kernels;
    int batch_cut; /* where batches may be cut, if that is not 0 */
    int deeper;    /* levels beyond those of the joint spaces */
    int64_t odd_inner, max_elements, max_dim;
    int n_samples;
} space_spec;

#define N_OF(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

/* TASO's operators (Jia et al., SOSP'19): matmul, elementwise sum and product, 3x3 and
 * 1x3 convolutions with padding that keeps the size, grouped where the kernel says so,
 * pooling, kernel enlargement, scaling, relu, concat, split, transpose. Smaller tensors
 * than TASO's, of the same kinds. */
static const leaf_spec taso_leaves[] = {
    {"x", 3, 2, {3, 2}, DATA, 0, 0, ANY_OP},
    {"w", 3, 2, {2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"i", 3, 4, {3, 2, 4, 5}, DATA, 0, 0, ANY_OP},
    {"k", 3, 4, {2, 2, 3, 3}, WEIGHT, 0, 0, ANY_OP},
    {"h", 3, 4, {2, 2, 1, 3}, WEIGHT, 0, 0, ANY_OP},
    {"v", 3, 4, {2, 2, 3, 1}, WEIGHT, 0, 0, ANY_OP},
    {"g", 1, 4, {2, 1, 3, 3}, WEIGHT, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 2, {2, 2}, WEIGHT, 0, 0, NOE_OP_IDENTITY_MATRIX},
    {"", 0, 4, {2, 1, 3, 3}, WEIGHT, 0, 0, NOE_OP_AVERAGE_KERNEL},
    {"", 0, 4, {2, 2, 3, 3}, WEIGHT, 0, 0, NOE_OP_IDENTITY_KERNEL},
    {"", 0, 4, {3, 2, 4, 5}, WEIGHT, 0, 0, NOE_OP_ONES},
};
static const choice taso_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {NOE_OP_PAD,
     NOE_PARAM_PADS,
     2,
     {{8, {0, 0, 1, 0, 0, 0, 1, 0}}, {8, {0, 0, 0, 1, 0, 0, 0, 1}}}},
    {NOE_OP_CONV, NOE_PARAM_PADS, 2, {{4, {1, 1, 1, 1}}, {4, {0, 1, 0, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {1, 1, 1, 1}}}},
    {ANY_OP, NOE_PARAM_KERNEL_SHAPE, 1, {{2, {3, 3}}}},
    {ANY_OP, NOE_PARAM_GROUP, 4, {{1, {1}}, {1, {2}}, {1, {4}}, {1, {8}}}},
    {ANY_OP, NOE_PARAM_COUNT_INCLUDE_PAD, 1, {{1, {1}}}},
};

/* Elementwise operators with broadcasting, reductions, layout: rank 2. */
static const leaf_spec matrix_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"r", 1, 2, {1, 3}, DATA, 0, 0, ANY_OP},
    {"c", 1, 2, {2, 1}, DATA, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ONES},
};
static const choice matrix_choices[] = {
    {NOE_OP_PAD,
     NOE_PARAM_PADS,
     3,
     {{4, {0, 1, 0, 0}}, {4, {1, 0, 0, 2}}, {4, {1, 1, 0, 2}}}},
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_INDICES, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_SHAPE, 1, {{2, {2, 3}}}},
};
static const reshape_spec matrix_reshapes[] = {
    {{2, {2, 3}}, {1, {6}}},
    {{1, {6}}, {2, {2, 3}}},
};

/* Products of matrices with what commutes with them. */
static const leaf_spec product_leaves[] = {
    {"x", 2, 2, {2, 3}, DATA, 0, 1, ANY_OP},
    {"w", 3, 2, {3, 4}, WEIGHT, 1, 1, ANY_OP},
    {"v", 2, 2, {4, 5}, WEIGHT, 0, 0, ANY_OP},
    {"r", 1, 2, {1, 4}, WEIGHT, 0, 0, ANY_OP},
    {"c", 1, 2, {2, 1}, WEIGHT, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 2, {3, 3}, WEIGHT, 0, 0, NOE_OP_IDENTITY_MATRIX},
    {"", 0, 2, {3, 4}, WEIGHT, 0, 0, NOE_OP_ZEROS},
};

/* Convolution, pooling and what networks put around them: rank 4. */
static const leaf_spec image_leaves[] = {
    {"x", 2, 4, {2, 4, 6, 5}, DATA, 1, 1, ANY_OP},
    {"w", 2, 4, {4, 4, 3, 3}, WEIGHT, 0, 1, ANY_OP},
    {"p", 2, 4, {4, 4, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"d", 1, 4, {4, 1, 3, 3}, WEIGHT, 0, 0, ANY_OP},
    {"b", 2, 3, {4, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 4, {4, 4, 3, 3}, WEIGHT, 0, 0, NOE_OP_IDENTITY_KERNEL},
    {"", 0, 4, {4, 1, 3, 3}, WEIGHT, 0, 0, NOE_OP_AVERAGE_KERNEL},
    {"", 0, 4, {4, 4, 1, 1}, WEIGHT, 0, 0, NOE_OP_IDENTITY_KERNEL},
};
static const choice image_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {NOE_OP_PAD, NOE_PARAM_PADS, 1, {{8, {0, 0, 1, 1, 0, 0, 1, 1}}}},
    {NOE_OP_CONV, NOE_PARAM_PADS, 2, {{4, {1, 1, 1, 1}}, {4, {0, 0, 0, 0}}}},
    {NOE_OP_AVERAGE_POOL, NOE_PARAM_PADS, 2, {{4, {1, 1, 1, 1}}, {4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {1, 1, 1, 1}}}},
    {ANY_OP, NOE_PARAM_KERNEL_SHAPE, 1, {{2, {3, 3}}}},
    {ANY_OP, NOE_PARAM_GROUP, 2, {{1, {1}}, {1, {4}}}},
    {ANY_OP, NOE_PARAM_AXES, 1, {{2, {2, 3}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_COUNT_INCLUDE_PAD, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_MODE, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_SCALES, 1, {{2, {2, 1}}}},
};
static const reshape_spec image_reshapes[] = {
    {{3, {4, 1, 1}}, {4, {4, 1, 1, 1}}},
};

/* Order: maxima, minima and what moves through them. */
#define ORDER_OPS " max min abs leaky_relu log erf reduce_max"
static const leaf_spec order_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
};
static const choice order_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_ALPHA, 1, {{1, {1}}}},
};

/* Batches of matrices, and what turns and merges their axes. */
static const leaf_spec batch_leaves[] = {
    {"x", 2, 3, {2, 3, 4}, DATA, 1, 1, ANY_OP},
    {"w", 2, 2, {4, 5}, WEIGHT, 0, 0, ANY_OP},
    {"y", 2, 3, {2, 4, 5}, DATA, 2, 2, ANY_OP},
    {"r", 1, 1, {4}, WEIGHT, 0, 0, ANY_OP},
    {"b", 1, 1, {5}, WEIGHT, 0, 2, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
};
static const choice batch_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 3, {{1, {0}}, {1, {1}}, {1, {2}}}},
    {ANY_OP, NOE_PARAM_AXES, 3, {{1, {1}}, {1, {2}}, {2, {1, 2}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 2, {{1, {1}}, {1, {0}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP,
     NOE_PARAM_PERM,
     4,
     {{3, {0, 2, 1}}, {3, {1, 0, 2}}, {3, {1, 2, 0}}, {3, {0, 1, 2}}}},
};
static const reshape_spec batch_reshapes[] = {
    {{3, {2, 3, 4}}, {2, {6, 4}}}, {{2, {6, 4}}, {3, {2, 3, 4}}},
    {{3, {2, 3, 4}}, {1, {24}}},   {{2, {6, 4}}, {1, {24}}},
    {{3, {2, 3, 5}}, {2, {6, 5}}}, {{2, {6, 5}}, {3, {2, 3, 5}}},
    {{3, {2, 1, 4}}, {2, {2, 4}}}, {{3, {2, 3, 1}}, {2, {2, 3}}},
    {{1, {4}}, {2, {4, 1}}},
};

/* Kernels that are computed by convolution. */
static const leaf_spec kernel_leaves[] = {
    {"x", 1, 4, {2, 3, 5, 6}, DATA, 0, 0, ANY_OP},
    {"p", 1, 4, {4, 3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"w", 1, 4, {4, 3, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"q", 1, 4, {5, 4, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"v", 1, 4, {5, 4, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 4, {3, 1, 2, 3}, WEIGHT, 0, 0, NOE_OP_AVERAGE_KERNEL},
};
static const choice kernel_choices[] = {
    {ANY_OP, NOE_PARAM_STRIDES, 2, {{2, {1, 1}}, {2, {2, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 2, {{2, {1, 1}}, {2, {1, 2}}}},
    {NOE_OP_CONV, NOE_PARAM_PADS, 2, {{4, {0, 0, 0, 0}}, {4, {1, 0, 1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_KERNEL_SHAPE, 1, {{2, {2, 3}}}},
    {ANY_OP, NOE_PARAM_COUNT_INCLUDE_PAD, 2, {{1, {1}}, {1, {0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 2, {{1, {1}}, {1, {3}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{4, {1, 0, 2, 3}}}},
};

/* Groups of channels, and windows as large as the image. */
static const leaf_spec group_leaves[] = {
    {"x", 2, 4, {2, 4, 3, 5}, DATA, 0, 0, ANY_OP},
    {"w", 2, 4, {3, 4, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"d", 2, 4, {4, 1, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 4, {4, 4, 1, 1}, WEIGHT, 0, 0, NOE_OP_IDENTITY_KERNEL},
};
static const choice group_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 4, {{1, {1}}, {1, {2}}, {1, {4}}, {1, {8}}}},
    {ANY_OP, NOE_PARAM_AXES, 1, {{2, {2, 3}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_KERNEL_SHAPE, 1, {{2, {3, 5}}}},
    {ANY_OP, NOE_PARAM_COUNT_INCLUDE_PAD, 2, {{1, {1}}, {1, {0}}}},
};

/* What is added to every pixel, before or after a convolution. */
static const leaf_spec shift_leaves[] = {
    {"x", 1, 4, {2, 3, 4, 5}, DATA, 0, 0, ANY_OP},
    {"w", 1, 4, {4, 3, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"p", 1, 4, {4, 3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"b", 1, 3, {3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
};
static const choice shift_choices[] = {
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {1}}, {3, {1, 2, 3}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 2, {{1, {1}}, {1, {0}}}},
};
static const reshape_spec shift_reshapes[] = {
    {{4, {4, 1, 1, 1}}, {3, {4, 1, 1}}},
};

/* Choosing between two tensors, element by element. */
static const leaf_spec mask_leaves[] = {
    {"m", 2, 2, {2, 3}, MASK, 1, 1, ANY_OP},
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
};
/* The same without zeros, for layout. */
static const leaf_spec choice_leaves[] = {
    {"m", 2, 2, {2, 3}, MASK, 1, 1, ANY_OP},
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
};

/* Picking places of an axis: first and last ones, another order, one twice. */
static const leaf_spec index_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"w", 2, 2, {3, 4}, WEIGHT, 0, 0, ANY_OP},
    {"r", 1, 1, {3}, DATA, 0, 0, ANY_OP},
};
static const choice index_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP,
     NOE_PARAM_INDICES,
     4,
     {{2, {0, 1}}, {2, {1, 2}}, {3, {2, 0, 1}}, {2, {1, 1}}}},
};

/* What makes images larger. */
static const leaf_spec upscale_leaves[] = {
    {"x", 2, 4, {2, 3, 3, 4}, DATA, 0, 0, ANY_OP},
    {"w", 2, 4, {3, 2, 2, 2}, WEIGHT, 1, 1, ANY_OP},
    {"b", 1, 3, {2, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
};
static const choice upscale_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 2, {{2, {1, 1}}, {2, {2, 2}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 2, {{1, {1}}, {1, {2}}}},
    {ANY_OP, NOE_PARAM_MODE, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_SCALES, 1, {{2, {2, 1}}}},
};

#define TABLES(LEAVES, CHOICES)                                         \
    .leaves = (LEAVES), .n_leaves = N_OF(LEAVES), .choices = (CHOICES), \
    .n_choices = N_OF(CHOICES)

static const space_spec specs[] = {
    {.name = "taso",
     TABLES(taso_leaves, taso_choices),
     .only =
         "matmul add mul conv average_pool max_pool pad relu concat slice transpose",
     .equal_shapes = true,
     .keep_kernels = true,
     .odd_inner = 3,
     .max_elements = 360,
     .max_dim = 32,
     .n_samples = 4},
    {.name = "matrix",
     .by_default = true,
     TABLES(matrix_leaves, matrix_choices),
     .without = "matmul reshape gather expand pad" ORDER_OPS,
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
    {.name = "layout",
     .by_default = true,
     TABLES(matrix_leaves, matrix_choices),
     .reshapes = matrix_reshapes,
     .n_reshapes = N_OF(matrix_reshapes),
     .without = "matmul exp sqrt reciprocal div softmax" ORDER_OPS,
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
    {.name = "product",
     .by_default = true,
     TABLES(product_leaves, matrix_choices),
     .without = "exp sqrt reciprocal div sigmoid tanh softmax expand pad" ORDER_OPS,
     .max_elements = 80,
     .max_dim = 20,
     .n_samples = 8},
    {.name = "image",
     .by_default = true,
     TABLES(image_leaves, image_choices),
     .reshapes = image_reshapes,
     .n_reshapes = N_OF(image_reshapes),
     .without = "exp sqrt reciprocal div matmul tanh sub neg softmax" ORDER_OPS,
     .is_ordered = true,
     .batch_cut = 1,
     .max_elements = 1000,
     .max_dim = 24,
     .n_samples = 4},
    {.name = "order",
     .by_default = true,
     TABLES(order_leaves, order_choices),
     .only = "add mul neg abs relu leaky_relu log erf max min reduce_max concat slice "
             "transpose",
     .is_ordered = true,
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
    {.name = "batch",
     .by_default = true,
     TABLES(batch_leaves, batch_choices),
     .reshapes = batch_reshapes,
     .n_reshapes = N_OF(batch_reshapes),
     .only = "matmul add mul relu transpose reshape slice concat reduce_sum "
             "reduce_mean softmax",
     .batch_cut = 1,
     .max_elements = 120,
     .max_dim = 24,
     .n_samples = 8},
    {.name = "kernel",
     .by_default = true,
     TABLES(kernel_leaves, kernel_choices),
     .only = "conv transpose average_pool",
     .any_roles = true,
     .deeper = 1,
     .max_elements = 600,
     .max_dim = 12,
     .n_samples = 4},
    {.name = "group",
     .by_default = true,
     TABLES(group_leaves, group_choices),
     .only = "conv mul concat average_pool reduce_mean",
     .wide_kernels = true,
     .max_elements = 400,
     .max_dim = 12,
     .n_samples = 4},
    {.name = "shift",
     .by_default = true,
     TABLES(shift_leaves, shift_choices),
     .reshapes = shift_reshapes,
     .n_reshapes = N_OF(shift_reshapes),
     .only = "conv add mul reduce_sum reshape",
     .deeper = 1,
     .max_elements = 400,
     .max_dim = 12,
     .n_samples = 4},
    {.name = "mask",
     .by_default = true,
     TABLES(mask_leaves, matrix_choices),
     .about = "where",
     .only = "where add mul neg relu transpose slice concat",
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
    {.name = "index",
     .by_default = true,
     TABLES(index_leaves, index_choices),
     .about = "gather",
     .only = "gather add mul relu matmul concat transpose reduce_sum",
     .max_elements = 36,
     .max_dim = 12,
     .n_samples = 8},
    {.name = "upscale",
     .by_default = true,
     TABLES(upscale_leaves, upscale_choices),
     .about = "conv_transpose resize",
     .only = "conv_transpose resize add mul concat slice",
     .batch_cut = 1,
     .max_elements = 500,
     .max_dim = 16,
     .n_samples = 4},
    {.name = "choice",
     .by_default = true,
     TABLES(choice_leaves, matrix_choices),
     .about = "where",
     .only = "where transpose slice concat",
     .deeper = 1,
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
};

static bool is_listed(const char *names, const char *name, char separator)
{
    size_t len = strlen(name);
    for (const char *p = names; p && *p;) {
        const char *end = strchr(p, separator);
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n == len && memcmp(p, name, len) == 0)
            return true;
        p = end ? end + 1 : NULL;
    }
    return false;
}

static noe_value choice_value(const choice *c, int i)
{
    noe_param_kind kind = noe_param_kind_of(c->param);
    if (kind == NOE_KIND_AXES || kind == NOE_KIND_INTS)
        return noe_value_list(kind, c->values[i].n, c->values[i].list);
    if (kind == NOE_KIND_FLOAT)
        return noe_value_float((double)c->values[i].list[0] / 4);
    return noe_value_int(kind, c->values[i].list[0]);
}

static const choice *find_choice(const space_spec *spec, noe_op op, noe_param p)
{
    for (int i = 0; i < spec->n_choices; i++) {
        const choice *c = &spec->choices[i];
        if (c->param == p && (c->op == op || c->op == ANY_OP))
            return c;
    }
    return NULL;
}

static void add_move(noe_space *space, const noe_move *move)
{
    NOE_ASSERT(space->n_moves < NOE_SPACE_MAX_MOVES);
    space->moves[space->n_moves++] = *move;
    space->has_three = space->has_three || move->n_in > 2;
}

/* start and end of a slice come from the e-node and are 0 in the move. */
static bool is_bound(noe_param p)
{
    return p == NOE_PARAM_START || p == NOE_PARAM_END;
}

/* Number of combinations of listed values, 0 if a parameter has none. */
static int count_combinations(const space_spec *spec, noe_op op)
{
    const noe_op_info *info = noe_op_get(op);
    int n = 1;
    for (int i = 0; i < info->n_params; i++) {
        const choice *c = find_choice(spec, op, info->params[i]);
        if (is_bound(info->params[i]))
            continue;
        n *= c ? c->n_values : 0;
    }
    return n;
}

static void set_combination(const space_spec *spec, noe_op op, int which,
                            noe_params *params)
{
    const noe_op_info *info = noe_op_get(op);
    params->n = info->n_params;
    for (int i = 0; i < info->n_params; i++) {
        const choice *c = find_choice(spec, op, info->params[i]);
        if (is_bound(info->params[i])) {
            params->v[i] = noe_value_int(NOE_KIND_INT, 0);
            continue;
        }
        params->v[i] = choice_value(c, which % c->n_values);
        which /= c->n_values;
    }
}

static void add_moves_of(noe_space *space, const space_spec *spec, noe_op op)
{
    const noe_op_info *info = noe_op_get(op);
    noe_move move = {.op = op, .n_in = info->min_in};
    move.only.rank = NOE_RANK_UNKNOWN;
    if (op == NOE_OP_RESHAPE) {
        for (int i = 0; i < spec->n_reshapes; i++) {
            const reshape_spec *r = &spec->reshapes[i];
            move.only = r->from;
            move.params.n = 1;
            move.params.v[0] = noe_value_list(NOE_KIND_INTS, r->to.rank, r->to.dim);
            add_move(space, &move);
        }
        return;
    }
    int n = count_combinations(spec, op);
    for (int i = 0; i < n; i++) {
        set_combination(spec, op, i, &move.params);
        move.kind = op == NOE_OP_SLICE ? NOE_MOVE_LOW : NOE_MOVE_PLAIN;
        add_move(space, &move);
        if (op == NOE_OP_SLICE) {
            move.kind = NOE_MOVE_HIGH;
            add_move(space, &move);
        }
    }
}

static void add_leaves(noe_space *space, const space_spec *spec)
{
    for (int i = 0; i < spec->n_leaves; i++) {
        const leaf_spec *s = &spec->leaves[i];
        noe_space_leaf leaf = {.shape = noe_shape_make(s->rank, s->dim),
                               .role = s->role,
                               .is_constant = s->count == 0,
                               .op = s->op,
                               .group = i};
        if (s->cut)
            leaf.cuts[s->cut_axis] = UINT32_C(1) << s->cut;
        if (spec->batch_cut && s->rank > 2)
            leaf.cuts[0] = UINT32_C(1) << spec->batch_cut;
        if (leaf.is_constant) {
            leaf.params.n = 1;
            leaf.params.v[0] = noe_value_list(NOE_KIND_INTS, s->rank, s->dim);
        }
        int n = leaf.is_constant ? 1 : s->count;
        for (leaf.index = 0; leaf.index < n; leaf.index++) {
            NOE_ASSERT(space->n_leaves < NOE_SPACE_MAX_LEAVES);
            if (leaf.is_constant)
                snprintf(leaf.name, sizeof leaf.name, "%s", noe_op_get(s->op)->name);
            else
                snprintf(leaf.name, sizeof leaf.name, "%s%d", s->name, leaf.index + 1);
            space->leaves[space->n_leaves++] = leaf;
        }
    }
}

static bool has_masks(const space_spec *spec)
{
    for (int i = 0; i < spec->n_leaves; i++) {
        if (spec->leaves[i].role == MASK)
            return true;
    }
    return false;
}

static bool is_wanted(const space_spec *spec, const char *only, noe_op op)
{
    const char *name = noe_op_get(op)->name;
    if (noe_op_get(op)->min_in > NOE_SPACE_MAX_IN)
        return false;
    if (noe_op_has(op, NOE_TRAIT_COMPOSITE) || noe_op_has(op, NOE_TRAIT_CONSTANT))
        return false;
    if (only && !is_listed(only, name, ','))
        return false;
    if (spec->only && !is_listed(spec->only, name, ' '))
        return false;
    if (op == NOE_OP_WHERE && !has_masks(spec))
        return false;
    return !is_listed(spec->without, name, ' ');
}

static void build(const space_spec *spec, const char *only, noe_space *space)
{
    *space = (noe_space){.equal_shapes = spec->equal_shapes,
                         .keep_kernels = spec->keep_kernels,
                         .is_ordered = spec->is_ordered,
                         .any_roles = spec->any_roles,
                         .wide_kernels = spec->wide_kernels,
                         .deeper = spec->deeper,
                         .odd_inner = spec->odd_inner,
                         .max_elements = spec->max_elements,
                         .max_dim = spec->max_dim,
                         .n_samples = spec->n_samples};
    snprintf(space->name, sizeof space->name, "%s", spec->name);
    space->n_roles = has_masks(spec) ? NOE_ROLES : NOE_ROLES - 1;
    add_leaves(space, spec);
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        if (is_wanted(spec, only, (noe_op)op))
            add_moves_of(space, spec, (noe_op)op);
    }
}

/* Every name of a comma-separated list is an operator that can be enumerated. */
static noe_status check_names(const char *ops, noe_error *err)
{
    for (const char *p = ops;;) {
        size_t n = strcspn(p, ",");
        noe_op op;
        if (!noe_op_from_name(p, n, &op))
            return noe_fail(err, NOE_ERR_ARG,
                            "'%.*s' is neither a set of operators (%s) nor an operator",
                            (int)n, p, noe_space_names);
        if (noe_op_has(op, NOE_TRAIT_COMPOSITE) || noe_op_has(op, NOE_TRAIT_CONSTANT))
            return noe_fail(err, NOE_ERR_ARG,
                            "operator '%.*s' is a definition or a constant and is not "
                            "enumerated",
                            (int)n, p);
        if (!p[n])
            return NOE_OK;
        p += n + 1;
    }
}

/* Whether operators are left that the space is about: other spaces have the rest. */
static bool is_of_use(const space_spec *spec, const noe_space *space)
{
    for (int i = 0; i < space->n_moves; i++) {
        if (!spec->about ||
            is_listed(spec->about, noe_op_get(space->moves[i].op)->name, ' '))
            return true;
    }
    return false;
}

/* "matrix,batch:add,matmul": these spaces, restricted to these operators. */
static noe_status build_listed(const char *ops, const char *colon, noe_space *spaces,
                               int *n, noe_error *err)
{
    for (const char *p = ops; p < colon;) {
        size_t len = strcspn(p, ",:");
        int i = 0;
        while (i < N_OF(specs) &&
               (strlen(specs[i].name) != len || memcmp(specs[i].name, p, len) != 0))
            i++;
        if (i == N_OF(specs) || *n == NOE_SPACE_MAX)
            return noe_fail(err, NOE_ERR_ARG, "'%.*s' is no space (%s)", (int)len, p,
                            noe_space_names);
        build(&specs[i], colon + 1, &spaces[*n]);
        *n += is_of_use(&specs[i], &spaces[*n]);
        p += len + 1;
    }
    return NOE_OK;
}

noe_status noe_space_build(const char *ops, noe_space *spaces, int *n, noe_error *err)
{
    const char *colon = strchr(ops, ':');
    *n = 0;
    if (colon) {
        NOE_TRY(check_names(colon + 1, err));
        return build_listed(ops, colon, spaces, n, err);
    }
    for (int i = 0; i < N_OF(specs); i++) {
        if (strcmp(ops, specs[i].name) == 0) {
            build(&specs[i], NULL, &spaces[(*n)++]);
            return NOE_OK;
        }
    }
    bool all = strcmp(ops, "default") == 0;
    if (!all)
        NOE_TRY(check_names(ops, err));
    for (int i = 0; i < N_OF(specs); i++) {
        if (!specs[i].by_default)
            continue;
        NOE_ASSERT(*n < NOE_SPACE_MAX);
        build(&specs[i], all ? NULL : ops, &spaces[*n]);
        *n += is_of_use(&specs[i], &spaces[*n]);
    }
    return NOE_OK;
}

noe_params noe_move_params(const noe_move *move, const noe_shape *a, int64_t cut)
{
    noe_params params = move->params;
    if (move->kind == NOE_MOVE_PLAIN)
        return params;
    int64_t axis = noe_params_get(move->op, &params, NOE_PARAM_AXIS)->i;
    bool low = move->kind == NOE_MOVE_LOW;
    noe_value start = noe_value_int(NOE_KIND_INT, low ? 0 : cut);
    noe_value end = noe_value_int(NOE_KIND_INT, low ? cut : a->dim[axis]);
    noe_params_set(move->op, &params, NOE_PARAM_START, &start);
    noe_params_set(move->op, &params, NOE_PARAM_END, &end);
    return params;
}

/* Elementwise with several operands: the result has the shape of one of them; where the
 * space asks for equal shapes, only mul takes a scalar. */
static bool fits_elementwise(const noe_space *space, const noe_move *move,
                             const noe_operand *in, const noe_shape *out)
{
    int n_like = 0;
    for (int k = 0; k < move->n_in; k++)
        n_like += noe_shape_eq(out, in[k].shape);
    /* The dense kernel of a depthwise one is wider than both. */
    bool kernels = space->wide_kernels && move->op == NOE_OP_MUL &&
                   in[0].shape->rank == 4 && in[1].shape->rank == 4;
    /* A choice between two numbers only repeats them. */
    if (move->op == NOE_OP_WHERE &&
        (in[0].role != NOE_ROLE_MASK || n_like == noe_shape_eq(out, in[0].shape)))
        return false;
    if (!space->equal_shapes)
        return n_like > 0 || kernels;
    if (n_like == move->n_in)
        return out->rank > 0;
    return move->op == NOE_OP_MUL && (in[0].shape->rank == 0 || in[1].shape->rank == 0);
}

/* Windows keep the size, up to the stride, or have no padding at all and then shrink
 * it: a pad that outgrows the kernel only multiplies shapes. */
static bool fits_window(const noe_move *move, const noe_shape *a, const noe_shape *out)
{
    const noe_value *strides =
        noe_params_get(move->op, &move->params, NOE_PARAM_STRIDES);
    const noe_value *pads = noe_params_get(move->op, &move->params, NOE_PARAM_PADS);
    bool keeps = true, pads_nothing = true;
    for (int i = 2; i < a->rank; i++) {
        int64_t s = strides->list[i - 2];
        keeps = keeps && out->dim[i] == (a->dim[i] + s - 1) / s;
    }
    for (int i = 0; i < pads->n; i++)
        pads_nothing = pads_nothing && pads->list[i] == 0;
    return keeps || pads_nothing;
}

static bool is_kernel_3x3(const noe_shape *s)
{
    return s->rank == 4 && s->dim[2] == 3 && s->dim[3] == 3;
}

static bool has_param(noe_op op, noe_param p)
{
    const noe_op_info *info = noe_op_get(op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p)
            return true;
    }
    return false;
}

static bool is_uniform(const noe_move *move, noe_param p, int64_t value)
{
    const noe_value *v = noe_params_get(move->op, &move->params, p);
    for (int i = 0; i < v->n; i++) {
        if (v->list[i] != value)
            return false;
    }
    return true;
}

/* No strides, pads or dilations. */
static bool is_plain_window(const noe_move *move)
{
    return move->op == NOE_OP_CONV && is_uniform(move, NOE_PARAM_STRIDES, 1) &&
           is_uniform(move, NOE_PARAM_DILATIONS, 1) &&
           is_uniform(move, NOE_PARAM_PADS, 0);
}

/* What a space asks for beyond well-typedness, to leave out uninteresting terms. */
static bool is_interesting(const noe_space *space, const noe_move *move,
                           const noe_operand *in, const noe_shape *out)
{
    const noe_shape *a = in[0].shape;
    if (move->n_in >= 2 && noe_op_has(move->op, NOE_TRAIT_EWISE))
        return fits_elementwise(space, move, in, out);
    if (a->rank == 0)
        return !space->equal_shapes;
    if (has_param(move->op, NOE_PARAM_STRIDES)) {
        if ((in[0].role == NOE_ROLE_WEIGHT &&
             !(space->any_roles && is_plain_window(move))) ||
            (move->n_in == 2 && in[1].role != NOE_ROLE_WEIGHT))
            return false;
        if (space->keep_kernels && move->op == NOE_OP_CONV) {
            const noe_value *pads =
                noe_params_get(move->op, &move->params, NOE_PARAM_PADS);
            if (in[1].shape->dim[2] != 2 * pads->list[0] + 1 ||
                in[1].shape->dim[3] != 2 * pads->list[1] + 1)
                return false;
        }
        return fits_window(move, a, out);
    }
    if (move->op == NOE_OP_PAD && space->keep_kernels)
        return is_kernel_3x3(out);
    if (move->op == NOE_OP_MATMUL)
        return a->rank > 0 && a->rank <= 3 && a->dim[a->rank - 1] != 1 &&
               a->dim[a->rank - 1] != space->odd_inner;
    return true;
}

bool noe_leaf_is_plain(const noe_space_leaf *leaf)
{
    return leaf->is_constant && (leaf->op == NOE_OP_ONES || leaf->op == NOE_OP_ZEROS);
}

bool noe_move_widens(const noe_move *move, const noe_shape *other, const noe_shape *out)
{
    return move->n_in == 2 && noe_op_has(move->op, NOE_TRAIT_EWISE) &&
           !noe_shape_eq(other, out);
}

bool noe_move_fits(const noe_space *space, const noe_move *move, const noe_operand *in,
                   noe_shape *out)
{
    if (move->only.rank != NOE_RANK_UNKNOWN && !noe_shape_eq(&move->only, in[0].shape))
        return false;
    noe_type types[NOE_SPACE_MAX_IN], type;
    for (int k = 0; k < move->n_in; k++)
        types[k] =
            (noe_type){in[k].role == NOE_ROLE_MASK ? NOE_BOOL : NOE_F32, *in[k].shape};
    if (noe_op_infer(move->op, &move->params, types, move->n_in, &type, NULL) != NOE_OK)
        return false;
    *out = type.shape;
    int64_t n = noe_shape_elements(out);
    if (move->kind == NOE_MOVE_PLAIN && (n <= 0 || n > space->max_elements))
        return false;
    if (out->rank > NOE_SPACE_MAX_RANK)
        return false;
    for (int i = 0; i < out->rank; i++) {
        if (out->dim[i] > space->max_dim)
            return false;
    }
    return is_interesting(space, move, in, out);
}

/* The condition of where comes first. */
noe_role noe_move_role(const noe_move *move, const noe_role *in)
{
    bool is_weight = true;
    if (in[move->n_in - 1] == NOE_ROLE_MASK)
        return NOE_ROLE_MASK;
    for (int k = 0; k < move->n_in; k++)
        is_weight = is_weight && in[k] == NOE_ROLE_WEIGHT;
    return is_weight ? NOE_ROLE_WEIGHT : NOE_ROLE_DATA;
}
