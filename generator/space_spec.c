/* SPDX-License-Identifier: Apache-2.0
 *
 * What the built-in spaces list.
 */
#include "generator/space_spec.h"

#define ANY_OP      NOE_ANY_OP
#define DATA        NOE_ROLE_DATA
#define WEIGHT      NOE_ROLE_WEIGHT
#define MASK        NOE_ROLE_MASK
#define HALF        NOE_ROLE_HALF
#define N_OF(ARRAY) ((int)(sizeof(ARRAY) / sizeof *(ARRAY)))

const char noe_space_names[] = "default, taso, matrix, product, layout, image, order, "
                               "batch, kernel, group, shift, mask, choice, index, "
                               "upscale, precision, stride, head";

/* TASO's operators (Jia et al., SOSP'19): matmul, elementwise sum and product, 3x3 and
 * 1x3 convolutions with padding that keeps the size, grouped where the kernel says so,
 * pooling, kernel enlargement, scaling, relu, concat, split, transpose. Smaller tensors
 * than TASO's, of the same kinds. */
static const noe_leaf_spec taso_leaves[] = {
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
static const noe_space_choice taso_choices[] = {
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
static const noe_leaf_spec matrix_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"r", 1, 2, {1, 3}, DATA, 0, 0, ANY_OP},
    {"c", 1, 2, {2, 1}, DATA, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ONES},
};
static const noe_space_choice matrix_choices[] = {
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
static const noe_reshape_spec matrix_reshapes[] = {
    {{2, {2, 3}}, {1, {6}}},
    {{1, {6}}, {2, {2, 3}}},
};

/* Products of matrices with what commutes with them. */
static const noe_leaf_spec product_leaves[] = {
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
static const noe_leaf_spec image_leaves[] = {
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
static const noe_space_choice image_choices[] = {
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
static const noe_reshape_spec image_reshapes[] = {
    {{3, {4, 1, 1}}, {4, {4, 1, 1, 1}}},
};

/* Order: maxima, minima and what moves through them. */
#define ORDER_OPS " max min abs leaky_relu log erf reduce_max"
static const noe_leaf_spec order_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
};
static const noe_space_choice order_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_ALPHA, 1, {{1, {1}}}},
};

/* Batches of matrices, and what turns and merges their axes. */
static const noe_leaf_spec batch_leaves[] = {
    {"x", 2, 3, {2, 3, 4}, DATA, 1, 1, ANY_OP},
    {"w", 2, 2, {4, 5}, WEIGHT, 0, 0, ANY_OP},
    {"y", 2, 3, {2, 4, 5}, DATA, 2, 2, ANY_OP},
    {"r", 1, 1, {4}, WEIGHT, 0, 0, ANY_OP},
    {"b", 1, 1, {5}, WEIGHT, 0, 2, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
};
static const noe_space_choice batch_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 3, {{1, {0}}, {1, {1}}, {1, {2}}}},
    {ANY_OP, NOE_PARAM_AXES, 3, {{1, {1}}, {1, {2}}, {2, {1, 2}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 2, {{1, {1}}, {1, {0}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP,
     NOE_PARAM_PERM,
     4,
     {{3, {0, 2, 1}}, {3, {1, 0, 2}}, {3, {1, 2, 0}}, {3, {0, 1, 2}}}},
};
static const noe_reshape_spec batch_reshapes[] = {
    {{3, {2, 3, 4}}, {2, {6, 4}}}, {{2, {6, 4}}, {3, {2, 3, 4}}},
    {{3, {2, 3, 4}}, {1, {24}}},   {{2, {6, 4}}, {1, {24}}},
    {{3, {2, 3, 5}}, {2, {6, 5}}}, {{2, {6, 5}}, {3, {2, 3, 5}}},
    {{3, {2, 1, 4}}, {2, {2, 4}}}, {{3, {2, 3, 1}}, {2, {2, 3}}},
    {{1, {4}}, {2, {4, 1}}},
};

/* Kernels that are computed by convolution. */
static const noe_leaf_spec kernel_leaves[] = {
    {"x", 1, 4, {2, 3, 5, 6}, DATA, 0, 0, ANY_OP},
    {"p", 1, 4, {4, 3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"w", 1, 4, {4, 3, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"q", 1, 4, {5, 4, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"v", 1, 4, {5, 4, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 4, {3, 1, 2, 3}, WEIGHT, 0, 0, NOE_OP_AVERAGE_KERNEL},
};
static const noe_space_choice kernel_choices[] = {
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
static const noe_leaf_spec group_leaves[] = {
    {"x", 2, 4, {2, 4, 3, 5}, DATA, 0, 0, ANY_OP},
    {"w", 2, 4, {3, 4, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"d", 2, 4, {4, 1, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"", 0, 4, {4, 4, 1, 1}, WEIGHT, 0, 0, NOE_OP_IDENTITY_KERNEL},
};
static const noe_space_choice group_choices[] = {
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
static const noe_leaf_spec shift_leaves[] = {
    {"x", 1, 4, {2, 3, 4, 5}, DATA, 0, 0, ANY_OP},
    {"w", 1, 4, {4, 3, 2, 2}, WEIGHT, 0, 0, ANY_OP},
    {"p", 1, 4, {4, 3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"b", 1, 3, {3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
};
static const noe_space_choice shift_choices[] = {
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {1}}, {3, {1, 2, 3}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 2, {{1, {1}}, {1, {0}}}},
};
static const noe_reshape_spec shift_reshapes[] = {
    {{4, {4, 1, 1, 1}}, {3, {4, 1, 1}}},
};

/* Choosing between two tensors, element by element. */
static const noe_leaf_spec mask_leaves[] = {
    {"m", 2, 2, {2, 3}, MASK, 1, 1, ANY_OP},
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
    {"", 0, 2, {2, 3}, WEIGHT, 0, 0, NOE_OP_ZEROS},
};
/* The same without zeros, for layout. */
static const noe_leaf_spec choice_leaves[] = {
    {"m", 2, 2, {2, 3}, MASK, 1, 1, ANY_OP},
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"s", 1, 0, {0}, DATA, 0, 0, ANY_OP},
};

/* Picking places of an axis: first and last ones, another order, one twice. */
static const noe_leaf_spec index_leaves[] = {
    {"x", 3, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"w", 2, 2, {3, 4}, WEIGHT, 0, 0, ANY_OP},
    {"r", 1, 1, {3}, DATA, 0, 0, ANY_OP},
    {"t", 1, 3, {2, 3, 4}, DATA, 0, 0, ANY_OP},
};
static const noe_space_choice index_choices[] = {
    {NOE_OP_GATHER, NOE_PARAM_AXIS, 3, {{1, {0}}, {1, {1}}, {1, {2}}}},
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXES, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_KEEPDIMS, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 2, {{2, {1, 0}}, {3, {1, 2, 0}}}},
    {ANY_OP,
     NOE_PARAM_INDICES,
     4,
     {{2, {0, 1}}, {2, {1, 2}}, {3, {2, 0, 1}}, {2, {1, 1}}}},
};

/* Windows that move by more than one, and every other row or column. */
static const noe_leaf_spec stride_leaves[] = {
    {"x", 1, 4, {2, 3, 8, 10}, DATA, 0, 0, ANY_OP},
    {"p", 1, 4, {4, 3, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"w", 1, 4, {4, 3, 2, 2}, WEIGHT, 0, 0, ANY_OP},
};
static const noe_space_choice stride_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {2}}, {1, {3}}}},
    {ANY_OP, NOE_PARAM_STEP, 2, {{1, {2}}, {1, {3}}}},
    {NOE_OP_CONV, NOE_PARAM_STRIDES, 2, {{2, {1, 1}}, {2, {2, 3}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 1, {{2, {2, 3}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_KERNEL_SHAPE, 2, {{2, {1, 1}}, {2, {2, 2}}}},
    {ANY_OP, NOE_PARAM_COUNT_INCLUDE_PAD, 1, {{1, {1}}}},
};

/* Axes that are split into heads, and a bias for each. */
static const noe_leaf_spec head_leaves[] = {
    {"x", 2, 3, {4, 5, 6}, DATA, 0, 0, ANY_OP},
    {"c", 1, 2, {3, 2}, WEIGHT, 0, 0, ANY_OP},
    {"b", 1, 1, {6}, WEIGHT, 0, 0, ANY_OP},
};
static const noe_space_choice head_choices[] = {
    {ANY_OP, NOE_PARAM_PERM, 1, {{4, {0, 2, 1, 3}}}},
};
static const noe_reshape_spec head_reshapes[] = {
    {{3, {4, 5, 6}}, {4, {4, 5, 3, 2}}},
    {{2, {3, 2}}, {1, {6}}},
    {{1, {6}}, {2, {3, 2}}},
};

/* What makes images larger. */
static const noe_leaf_spec upscale_leaves[] = {
    {"x", 2, 4, {2, 3, 3, 4}, DATA, 0, 0, ANY_OP},
    {"w", 2, 4, {3, 2, 2, 2}, WEIGHT, 1, 1, ANY_OP},
    {"b", 1, 3, {2, 1, 1}, WEIGHT, 0, 0, ANY_OP},
    {"s", 1, 0, {0}, WEIGHT, 0, 0, ANY_OP},
};
static const noe_space_choice upscale_choices[] = {
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_STRIDES, 2, {{2, {1, 1}}, {2, {2, 2}}}},
    {ANY_OP, NOE_PARAM_DILATIONS, 1, {{2, {1, 1}}}},
    {ANY_OP, NOE_PARAM_PADS, 1, {{4, {0, 0, 0, 0}}}},
    {ANY_OP, NOE_PARAM_GROUP, 2, {{1, {1}}, {1, {2}}}},
    {ANY_OP, NOE_PARAM_MODE, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_SCALES, 1, {{2, {2, 1}}}},
};

/* Layout before and after a change of the element type. */
static const noe_leaf_spec precision_leaves[] = {
    {"x", 2, 2, {2, 3}, DATA, 1, 1, ANY_OP},
    {"r", 1, 2, {1, 3}, DATA, 0, 0, ANY_OP},
    {"h", 2, 2, {2, 3}, HALF, 1, 1, ANY_OP},
};
static const noe_space_choice precision_choices[] = {
    {ANY_OP, NOE_PARAM_TO, 2, {{1, {10}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_AXIS, 2, {{1, {0}}, {1, {1}}}},
    {ANY_OP, NOE_PARAM_STEP, 1, {{1, {1}}}},
    {ANY_OP, NOE_PARAM_PERM, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_INDICES, 1, {{2, {1, 0}}}},
    {ANY_OP, NOE_PARAM_SHAPE, 1, {{3, {4, 2, 3}}}},
};

#define TABLES(LEAVES, CHOICES)                                         \
    .leaves = (LEAVES), .n_leaves = N_OF(LEAVES), .choices = (CHOICES), \
    .n_choices = N_OF(CHOICES)

const noe_space_spec noe_space_specs[] = {
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
    {.name = "stride",
     .by_default = true,
     TABLES(stride_leaves, stride_choices),
     .about = "conv average_pool max_pool slice",
     .only = "conv slice relu average_pool max_pool",
     .is_ordered = true,
     .max_elements = 800,
     .max_dim = 12,
     .n_samples = 4},
    {.name = "head",
     .by_default = true,
     TABLES(head_leaves, head_choices),
     .reshapes = head_reshapes,
     .n_reshapes = N_OF(head_reshapes),
     .about = "reshape",
     .only = "reshape transpose add mul relu",
     .max_elements = 120,
     .max_dim = 12,
     .n_samples = 8},
    {.name = "precision",
     .by_default = true,
     TABLES(precision_leaves, precision_choices),
     .reshapes = matrix_reshapes,
     .n_reshapes = N_OF(matrix_reshapes),
     .about = "cast",
     .only = "cast transpose reshape concat slice gather expand",
     .deeper = 1,
     .max_elements = 24,
     .max_dim = 12,
     .n_samples = 16},
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

const int noe_n_space_specs = N_OF(noe_space_specs);
