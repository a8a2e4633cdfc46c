/* SPDX-License-Identifier: Apache-2.0
 *
 * The universe of one space: everything that can be computed with at most N operators,
 * as an e-graph that is closed by construction.
 *
 *   value   a class of terms that agree at the sampled points: (shape, fingerprint)
 *   e-node  a move applied to values; it belongs to one class
 *
 * The number of operators of a term is the number of DISTINCT operator instances of its
 * graph. Each value carries the instances of its cheapest graph (its support, sorted),
 * so op(a, b) lies at level 1 + |support(a) with support(b)|. Only the first graph
 * found of a value is built upon: two terms over equal values are equal by congruence,
 * so they need no equation of their own. What is lost: a value has one support, and an
 * e-node that would be cheaper over another support of the same size comes out a level
 * too late.
 *
 * Values of levels below N keep their elements at every sample; those of level N, where
 * nearly all the work is, only their fingerprint.
 */
#ifndef NOE_GENERATOR_UNIVERSE_H
#define NOE_GENERATOR_UNIVERSE_H

#include "core/base/env.h"
#include "core/field.h"
#include "generator/space.h"

#define NOE_MAX_LEVEL   4
#define NOE_NO_OPERAND  UINT32_MAX
#define NOE_MAX_OCCURS  8
#define NOE_GEN_LANES   2 /* independent 31-bit projections of a fingerprint */
#define NOE_MAX_SAMPLES 64
#define NOE_MAX_SHAPES  1024

typedef struct noe_fingerprint {
    uint32_t lane[NOE_GEN_LANES];
} noe_fingerprint;

typedef struct noe_sketch noe_sketch; /* fingerprint.c */

/* A value below the last level. */
typedef struct noe_gen_value {
    noe_fe *data; /* samples, one after the other */
    noe_sketch *sketches;
    noe_fingerprint print;
    uint32_t instance; /* who made it; both parts of a cut have the same */
    uint32_t support[NOE_MAX_LEVEL];
    uint32_t cuts[NOE_SPACE_MAX_RANK];
    uint64_t occurs; /* variables in order of first occurrence, 8 bits each, plus 1 */
    uint16_t shape;
    uint8_t level, leaf; /* leaf: index of the leaf at level 0 */
    bool is_weight;
    bool is_closed; /* one number everywhere: nothing is built upon it, but on leaves */
} noe_gen_value;

typedef struct noe_enode {
    uint32_t a, b; /* operands; b of a slice is its cut */
    uint32_t value;
    uint32_t next; /* in the class, plus 1 */
    uint16_t move;
    uint8_t level;
    uint8_t n_constants, n_leaves, n_vars;
    uint8_t n_runtime,
        n_heavy;       /* operators that data goes through; HEAVY ones of them */
    bool is_canonical; /* variables of each group occur in order */
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
    uint64_t n_enodes, n_values, n_pairs, n_canonical, n_siblings;
    double cpu_seconds;
} noe_level_stats;

typedef struct noe_key_table noe_key_table; /* table.c */
typedef struct noe_projector noe_projector; /* fingerprint.c */

typedef struct noe_universe {
    const noe_space *space;
    const noe_env *env;
    noe_field field;
    int n_levels, n_samples;
    bool use_sketches; /* off: every value is evaluated, for the test that compares */

    noe_shape shapes[NOE_MAX_SHAPES];
    uint32_t n_elements[NOE_MAX_SHAPES];
    int n_shapes;

    noe_gen_value *values; /* indices 0..n_values are the first classes */
    uint32_t n_values, cap_values;
    noe_gen_class *classes;
    uint32_t n_classes, cap_classes;
    noe_enode *enodes;
    uint32_t n_enodes, cap_enodes;
    noe_sibling *siblings;
    uint32_t n_siblings, cap_siblings;

    noe_key_table *table; /* (shape, fingerprint) -> class */
    noe_key_table *memo;  /* (move, a, b) -> e-node */
    noe_projector *projector;
    noe_arena arena;
    noe_fingerprint ones[NOE_MAX_SHAPES]; /* of all-ones tensors */
    bool has_ones[NOE_MAX_SHAPES];
    noe_level_stats stats[NOE_MAX_LEVEL + 1];
} noe_universe;

/* Enumerates levels 0..n_levels. seed chooses the sampled points and the projections.
 * Fails with NOE_ERR_LIMIT past the limits of this header, NOE_ERR_CANCELLED. */
NOE_NODISCARD noe_status noe_universe_build(const noe_space *space, int n_levels,
                                            int n_samples, bool use_sketches,
                                            const noe_env *env, noe_universe **out,
                                            noe_error *err);
void noe_universe_free(noe_universe *u);

/* The e-node move(a, b), or NOE_NO_OPERAND. */
uint32_t noe_universe_find(const noe_universe *u, uint32_t move, uint32_t a,
                           uint32_t b);
/* Shape index of a shape, added if new; -1 when there is no room. */
int noe_universe_shape(noe_universe *u, const noe_shape *shape);
static inline bool noe_universe_is_leaf(const noe_universe *u, uint32_t value)
{
    return u->classes[value].level == 0;
}
noe_params noe_enode_params(const noe_universe *u, const noe_enode *e);

/* fingerprint.c: linear rank-1 projections (random, per lane, rank, axis and index) and
 * sketches, by which the projection of a multilinear operator's result is computed from
 * small vectors of its operands, without the result. */
noe_projector *noe_projector_new(uint64_t seed, int n_samples);
void noe_projector_free(noe_projector *p);
noe_fingerprint noe_project(noe_universe *u, int shape, const noe_fe *data);
/* Fingerprint of move(a, b): by sketches, or by evaluation where none applies. */
noe_fingerprint noe_project_move(noe_universe *u, int move, uint32_t a, uint32_t b,
                                 const noe_params *params, int out_shape);
/* All samples of move(a, b) into out. */
void noe_universe_eval(const noe_universe *u, int move, uint32_t a, uint32_t b,
                       const noe_params *params, int out_shape, noe_fe *out);

/* table.c: open addressing, 64-bit keys that are never 0, insertion only. */
noe_key_table *noe_key_table_new(void);
void noe_key_table_free(noe_key_table *t);
uint32_t noe_key_table_get(const noe_key_table *t, uint64_t key); /* or UINT32_MAX */
void noe_key_table_put(noe_key_table *t, uint64_t key,
                       uint32_t value); /* not there yet */
uint64_t noe_value_key(int shape, noe_fingerprint print);

#endif
