/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs prepared for matching (internal to saturate.c and rewrites.c).
 */
#ifndef NOE_GENERATOR_REWRITES_H
#define NOE_GENERATOR_REWRITES_H

#include "generator/saturate.h"

#define NO_HEAD  UINT32_MAX
#define VARIABLE UINT32_C(0x80000000) /* heads of variables: this plus the number */

/* An operator with its parameters. Heads of one family differ in what a pattern does
 * not look at: the cut of a slice, the shape of ones or zeros. */
typedef struct head {
    noe_op op;
    noe_params params;
    uint32_t family; /* the head that stands for the family */
    bool is_slice;
} head;

typedef struct head_list {
    head *h;
    uint32_t n, cap;
} head_list;

typedef struct pattern {
    uint32_t head;
    int n_in, in[NOE_SPACE_MAX_IN];
} pattern;

typedef struct law {
    pattern p[NOE_PAIR_MAX_NODES];
    noe_shape var[NOE_PAIR_MAX_VARS];
    int n, n_vars, side[2];
    bool is_usable[2];                    /* from side 0, from side 1 */
    bool is_broadcast[NOE_PAIR_MAX_VARS]; /* such a variable stands for its like only */
    uint64_t need[NOE_PAIR_MAX_NODES][NOE_SPACE_MAX_IN]; /* families of the operands */
    uint32_t family[NOE_PAIR_MAX_NODES];
} law;

/* A law in one direction. What rules most of them out at a term is here, not in the
 * law: a round asks it of all uses of a family at every term. */
typedef struct use {
    int law;
    uint8_t from;
    bool is_enabled, is_commutative; /* the operator at the root */
    uint64_t need[2];                /* of the root */
} use;

struct noe_rewrites {
    head_list heads;
    law **laws;
    int n_laws, cap_laws;
    struct uses { /* by family at the root of the side rewritten from */
        use *u;
        uint32_t n, cap;
    } * by_family;
    uint32_t n_families;
    int max_depth; /* of a side */
};

uint32_t noe_head_find(const head_list *list, noe_op op, const noe_params *params);
/* Interns a head; base is the number of heads before those of the list. */
uint32_t noe_head_add(head_list *list, uint32_t base, noe_op op,
                      const noe_params *params);
/* Parameters of the head that stands for the family: a slice that starts at 0 is 0..0,
 * another one 1..1; ones and zeros have no shape. */
noe_params noe_head_family_params(noe_op op, const noe_params *params);
bool noe_is_plain_constant(noe_op op); /* ones and zeros */
uint64_t noe_family_bit(uint32_t family);

#endif
