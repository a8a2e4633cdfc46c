/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in spaces, as tables.
 */
#ifndef NOE_GENERATOR_SPACE_SPEC_H
#define NOE_GENERATOR_SPACE_SPEC_H

#include "generator/space.h"

#define NOE_SPACE_MAX_LISTED 8
#define NOE_ANY_OP           NOE_OP_COUNT

/* Values of one parameter worth enumerating, for one operator or for all. Numbers are
 * lists of one entry, floating-point ones in quarters. */
typedef struct noe_space_choice {
    noe_op op;
    noe_param param;
    int n_values;
    struct {
        int n;
        int64_t list[NOE_SPACE_MAX_LISTED];
    } values[4];
} noe_space_choice;

typedef struct noe_leaf_spec {
    const char *name; /* variables get a number behind it */
    int count;        /* variables of this kind; 0: a constant */
    int rank;
    int64_t dim[NOE_SPACE_MAX_RANK];
    noe_role role;
    int cut_axis; /* may be cut on this axis before index `cut`, if that is not 0 */
    int cut;
    noe_op op; /* constants */
} noe_leaf_spec;

/* A reshape that is enumerated, from one shape to another. */
typedef struct noe_reshape_spec {
    noe_shape from, to;
} noe_reshape_spec;

typedef struct noe_space_spec {
    const char *name;
    bool by_default;
    const noe_leaf_spec *leaves;
    int n_leaves;
    const noe_space_choice *choices;
    int n_choices;
    const noe_reshape_spec *reshapes;
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
} noe_space_spec;

/* In the order in which they are enumerated. */
extern const noe_space_spec noe_space_specs[];
extern const int noe_n_space_specs;

#endif
