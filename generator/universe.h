/* SPDX-License-Identifier: Apache-2.0
 *
 * The universe of one space: everything that can be computed with at most N operators,
 * as an e-graph that is closed by construction.
 *
 *   value     a class of terms that agree at the sampled points: (shape, fingerprint)
 *   e-node    a move applied to values; it belongs to one class
 *   instance  an operator of a graph: the value it makes, or a cut, which makes two
 *   support   the instances of a graph that makes a value, sorted
 *
 * The number of operators of a term is the number of DISTINCT operator instances of its
 * graph, so op(a, b) lies at level 1 + min |A with B| over the supports A of a and B of
 * b. All supports are kept that contain no smaller one of the same value, whatever
 * their size: of a cheapest graph for op(a, b), the part that makes a need not be a
 * cheapest one for a. Hence an e-node is at the level of its cheapest graph, exactly;
 * nothing is found late. Two terms over equal values are equal by congruence and need
 * no equation of their own, so one e-node of a value is built upon.
 *
 * The space itself leaves out: what noe_move_fits refuses, operands that are one number
 * everywhere (is_closed), ones and zeros that only widen the other operand of an
 * elementwise operator, and cuts at other places than the borders of concatenations.
 *
 * Every level is a set of records (fingerprint, e-node) whose order carries no meaning:
 * they are sorted, the representative of a value is the least of its e-nodes by
 * (level, constants, leaves, number of operands, move, operands), and values are
 * numbered in the order of their representatives. So the universe does not depend on
 * threads, timing or, as long as no two different values collide, the seed.
 *
 * Of level N, where nearly all the work is, only those classes are kept that say
 * something: two e-nodes or more, or a value of a lower level, and one e-node with its
 * variables in order (the others are renamings).
 */
#ifndef NOE_GENERATOR_UNIVERSE_H
#define NOE_GENERATOR_UNIVERSE_H

#include "core/base/env.h"
#include "core/field.h"
#include "generator/space.h"

#define NOE_MAX_LEVEL   5
#define NOE_MAX_SUPPORT (NOE_MAX_LEVEL - 1)
#define NOE_NO_OPERAND  UINT32_MAX
#define NOE_MAX_OCCURS  8
#define NOE_GEN_LANES   2 /* independent 31-bit projections of a fingerprint */
#define NOE_MAX_SAMPLES 64
#define NOE_MAX_SHAPES  4096
/* Values of levels below N: operands take 24 bits of a record, of moves with three
 * operands 18. */
#define NOE_MAX_VALUES       ((1u << 24) - 1)
#define NOE_MAX_VALUES_THREE (1u << 18)

typedef struct noe_fingerprint {
    uint32_t lane[NOE_GEN_LANES];
} noe_fingerprint;

/* A value below level N. */
typedef struct noe_gen_value {
    noe_fe *data;    /* samples, one after the other; NULL at level N - 1 */
    uint64_t occurs; /* variables in order of first occurrence, 8 bits each, plus 1 */
    uint64_t mask;   /* bits of all instances of all supports */
    uint32_t first_support, n_supports;
    uint32_t cuts[NOE_SPACE_MAX_RANK]; /* bit i: may be cut in two before index i */
    uint16_t shape;
    uint8_t level, leaf; /* leaf: index of the leaf at level 0 */
    uint8_t role;        /* noe_role */
    bool is_plain;       /* a leaf of ones or zeros */
    bool is_closed; /* one number everywhere: nothing is built upon it, but on leaves */
} noe_gen_value;

/* Instances in rising order, unused places NOE_NO_OPERAND. An instance is the number of
 * the value it makes, or NOE_CUT_INSTANCE and the number of a cut. */
#define NOE_CUT_INSTANCE (1u << 31)
typedef struct noe_support {
    uint32_t instance[NOE_MAX_SUPPORT];
} noe_support;

/* Both parts of value `a` before and from index `at`; the move of `low` says on which
 * axis. */
typedef struct noe_cut {
    uint32_t a, at;
    uint32_t low, high; /* values */
    uint16_t move;      /* of the low part; the next one is that of the high part */
} noe_cut;

typedef struct noe_enode {
    uint32_t a, b; /* operands; b of a slice is its cut */
    uint32_t value;
    uint32_t next; /* in the class, plus 1 */
    uint16_t move;
    uint8_t level;
    uint8_t n_constants, n_leaves, n_vars;
    uint8_t n_runtime,
        n_heavy;           /* operators that data goes through; HEAVY ones of them */
    uint32_t c : 24;       /* third operand; 0 where there is none */
    bool is_canonical : 1; /* variables of each group occur in order */
} noe_enode;

/* Values that are a constant of all samples and elements, whatever made them. */
typedef enum noe_fixed {
    NOE_FIXED_NONE,
    NOE_FIXED_ZEROS,
    NOE_FIXED_ONES,
    NOE_FIXED_OTHER, /* some other number: the algebra has no name for it */
} noe_fixed;

/* Facts of every value, also of the last level. */
typedef struct noe_gen_class {
    uint32_t first, last; /* e-nodes plus 1, 0: none; first is the representative */
    uint16_t shape;
    uint8_t level, n_constants, n_leaves, n_heavy;
    uint8_t fixed; /* noe_fixed */
} noe_gen_class;

/* Two sibling values that are the two parts of a cut of one value. */
typedef struct noe_sibling {
    uint32_t low, high; /* e-nodes of the two slices */
    uint32_t low_value, high_value;
    uint8_t level;
} noe_sibling;

typedef struct noe_level_stats {
    /* All of the level, kept or not. n_pairs: e-nodes that are not the first of their
     * value; n_canonical: those of them with variables in order. */
    uint64_t n_enodes, n_values, n_pairs, n_canonical, n_siblings;
    uint64_t n_supports; /* of all values, after the level */
    uint64_t n_spilled;  /* bytes of records that went to disk */
    uint64_t n_kept;     /* e-nodes */
    double cpu_seconds;
    double wall_seconds;
} noe_level_stats;

typedef struct noe_key_table noe_key_table; /* table.c */
typedef struct noe_projector noe_projector; /* fingerprint.c */

typedef struct noe_universe {
    const noe_space *space;
    const noe_env *env;
    noe_field field;
    int n_levels, n_samples;
    bool use_sketches;

    noe_shape shapes[NOE_MAX_SHAPES];
    uint32_t n_elements[NOE_MAX_SHAPES];
    int n_shapes;

    noe_gen_value *values; /* indices 0..n_values are the first classes */
    uint64_t *keys;        /* of values */
    uint32_t n_values, cap_values;
    noe_support *supports; /* of value after value, small ones first */
    uint32_t *owners;      /* whose support it is */
    uint32_t n_supports;
    noe_cut *cuts; /* in the order of (a, move, at) */
    uint32_t n_cuts, cap_cuts;
    noe_gen_class *classes;
    uint32_t n_classes, cap_classes;
    noe_enode *enodes;
    uint32_t n_enodes, cap_enodes;
    noe_sibling *siblings;
    uint32_t n_siblings, cap_siblings;

    uint32_t *memo; /* (move, a, b, c) -> e-node plus 1, open addressing */
    uint64_t n_memo;
    noe_projector *projector;
    noe_arena arena;
    noe_level_stats stats[NOE_MAX_LEVEL + 1];
} noe_universe;

typedef struct noe_universe_options {
    int n_levels, n_samples;
    bool no_sketches; /* evaluate every value, for the test that compares */
    bool keep_all;    /* all of level N, for tests */
    /* Bytes that enumeration may take, 0: no limit. Records beyond go to unnamed files
     * in `folder` (NULL: the working directory); values and e-nodes stay in memory. */
    uint64_t max_bytes;
    const char *folder;
    /* Existing folder for finished levels: what is there is taken over. NULL: none. */
    const char *checkpoints;
} noe_universe_options;

/* Enumerates levels 0..n_levels on env->n_threads threads. env->seed chooses the
 * sampled points and the projections. Fails with NOE_ERR_LIMIT past the limits of this
 * header, NOE_ERR_CANCELLED. */
NOE_NODISCARD noe_status noe_universe_build(const noe_space *space,
                                            const noe_universe_options *options,
                                            const noe_env *env, noe_universe **out,
                                            noe_error *err);
void noe_universe_free(noe_universe *u);
/* Removes what a build of a space with this name left in its folder for checkpoints. */
void noe_checkpoint_remove(const char *space, const char *folder);

/* The e-node move(a, b, c), or NOE_NO_OPERAND. As in noe_enode: b is the cut of a slice
 * and NOE_NO_OPERAND of other moves with one operand, c is 0 without a third one. */
uint32_t noe_universe_find(const noe_universe *u, uint32_t move, uint32_t a, uint32_t b,
                           uint32_t c);
/* Operands of an e-node; their number. */
int noe_enode_operands(const noe_universe *u, const noe_enode *e,
                       uint32_t in[NOE_SPACE_MAX_IN]);
/* Shape index of a shape, added if new; -1 when there is no room. */
int noe_universe_shape(noe_universe *u, const noe_shape *shape);
static inline bool noe_universe_is_leaf(const noe_universe *u, uint32_t value)
{
    return u->classes[value].level == 0;
}
noe_params noe_enode_params(const noe_universe *u, const noe_enode *e);

/* table.c: open addressing, 64-bit keys that are never 0, insertion only. */
noe_key_table *noe_key_table_new(void);
void noe_key_table_free(noe_key_table *t);
uint32_t noe_key_table_get(const noe_key_table *t, uint64_t key); /* or UINT32_MAX */
void noe_key_table_put(noe_key_table *t, uint64_t key,
                       uint32_t value); /* not there yet */

#endif
