/* SPDX-License-Identifier: Apache-2.0
 *
 * What is enumerated: leaves (variables and constants, with concrete shapes) and moves
 * (an operator with concrete parameters). A space is built from the operator table: an
 * operator without parameters is one move, one with parameters is a move for each
 * combination of the values that the space lists for them. So a new operator whose
 * parameters are known is enumerated without a change here.
 *
 * Shapes are small and, where the operators allow it, their dimensions are pairwise
 * different, so that a number says which dimension it stems from (lift.c).
 */
#ifndef NOE_GENERATOR_SPACE_H
#define NOE_GENERATOR_SPACE_H

#include "core/op.h"

#define NOE_SPACE_MAX_RANK   4
#define NOE_SPACE_MAX_LEAVES 64
#define NOE_SPACE_MAX_MOVES  512
#define NOE_SPACE_MAX_DIM    60
#define NOE_SPACE_MAX_IN     3 /* operands of a move */

/* What is asked of an operand beyond its shape. Masks are of type bool: core says where
 * they may stand. */
typedef enum noe_role {
    NOE_ROLE_DATA,
    NOE_ROLE_WEIGHT, /* data and weights are kept apart for convolutions */
    NOE_ROLE_MASK,
    NOE_ROLE_HALF, /* data of type f16; all else but masks is f32 */
    NOE_ROLES
} noe_role;

typedef struct noe_space_leaf {
    char name[16];
    noe_shape shape;
    noe_role role;
    bool is_constant; /* op[params](), no variable */
    noe_op op;
    noe_params params;
    int group, index;                  /* variables of one group are interchangeable */
    uint32_t cuts[NOE_SPACE_MAX_RANK]; /* bit i: may be cut in two before index i */
} noe_space_leaf;

/* A cut is one operator instance with two results, the parts before and after it. */
typedef enum noe_move_kind {
    NOE_MOVE_PLAIN, /* of slices: those with a step, over the whole axis */
    NOE_MOVE_LOW,   /* slice: the part before a cut */
    NOE_MOVE_HIGH,  /* slice: the part from a cut on */
} noe_move_kind;

typedef struct noe_move {
    noe_op op;
    noe_move_kind kind;
    int n_in;
    noe_params params; /* of a slice: axis and step; the cut is in the e-node */
    noe_shape only;    /* operand shape asked for; rank NOE_RANK_UNKNOWN: any */
} noe_move;

typedef struct noe_space {
    char name[16];
    noe_space_leaf leaves[NOE_SPACE_MAX_LEAVES];
    int n_leaves;
    noe_move moves[NOE_SPACE_MAX_MOVES];
    int n_moves;
    bool equal_shapes; /* elementwise operands have equal shapes or one is a scalar */
    bool any_roles;    /* kernels may be convolved, too, plainly */
    bool wide_kernels; /* products may be wider than both operands */
    int deeper;        /* levels beyond those of the joint spaces */
    bool keep_kernels; /* pad makes kernels of 3x3 out of smaller ones, and no more */
    int64_t odd_inner; /* matmul does not contract over this dimension; 0: any */
    int64_t max_elements, max_dim;
    bool is_ordered; /* signs are those of numbers (core/field.h) */
    int n_samples;
    uint32_t n_roles; /* a shape: those up to the last one that occurs */
    bool has_three;   /* some move has three operands */
} noe_space;

/* Names of the built-in sets of spaces, "default taso ...", for the help text. */
extern const char noe_space_names[];

/* Builds the spaces that `ops` names: a set ("default", "taso"), one space ("matrix"),
 * operators separated by commas, which restrict the default set to these, or both:
 * "matrix,batch:add,matmul". spaces has room for NOE_SPACE_MAX. */
#define NOE_SPACE_MAX 17
NOE_NODISCARD noe_status noe_space_build(const char *ops, noe_space *spaces, int *n,
                                         noe_error *err);

/* Whether the leaf is ones or zeros; whether an operand of that kind only serves to
 * make the other one larger: expand does that, so such terms are not enumerated. */
bool noe_leaf_is_plain(const noe_space_leaf *leaf);
bool noe_move_widens(const noe_move *move, const noe_shape *other,
                     const noe_shape *out);

typedef struct noe_operand {
    const noe_shape *shape;
    noe_role role;
} noe_operand;

/* Whether the move may be applied to operands in[0..n_in); out is the result's shape.
 * Includes the typing rules of core. */
bool noe_move_fits(const noe_space *space, const noe_move *move, const noe_operand *in,
                   noe_shape *out);
noe_dtype noe_role_dtype(noe_role role);
/* Role of the result. */
noe_role noe_move_role(const noe_move *move, const noe_role *in);

/* Parameters of the move for an operand with this shape; cut is used by slices only. */
noe_params noe_move_params(const noe_move *move, const noe_shape *a, int64_t cut);

#endif
