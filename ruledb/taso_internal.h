/* SPDX-License-Identifier: Apache-2.0
 *
 * Between taso_read.c (files), taso_shape.c (ranks, kernels, terms) and taso_text.c
 * (rule text); nobody else's business.
 */
#ifndef NOE_RULEDB_TASO_INTERNAL_H
#define NOE_RULEDB_TASO_INTERNAL_H

#include "ruledb/taso.h"

#define NOE_TASO_MAX_OPS    40 /* of one side */
#define NOE_TASO_MAX_ARITY  6
#define NOE_TASO_MAX_RANK   6
#define NOE_TASO_MAX_VALUES (2 * NOE_TASO_MAX_OPS + NOE_RULE_MAX_VARS)

typedef const char *noe_taso_term;

/* Where an axis was joined: leaves are sizes. */
typedef struct noe_taso_cut {
    noe_taso_term size;
    const struct noe_taso_cut *left, *right; /* NULL: a leaf */
} noe_taso_cut;

typedef struct noe_taso_shape {
    int rank; /* -1: not known; then `whole` is the list */
    noe_taso_term dim[NOE_TASO_MAX_RANK];
    noe_taso_term whole;
    const noe_taso_cut *cuts[NOE_TASO_MAX_RANK];
    bool is_known;
} noe_taso_shape;

typedef struct noe_taso_op {
    int type, n_in;
    int in[NOE_TASO_MAX_ARITY]; /* values */
    int port[NOE_TASO_MAX_ARITY];
    int para[NOE_TASO_KEYS]; /* -1: not there */
    int kernel[2];           /* 0: not asked for yet */
    signed char determined;  /* -1: no, 0: not asked for yet, 1: yes */
    bool is_numbered;
} noe_taso_op;

/* Values: variables first, then the operators of the source, then of the target. */
typedef struct noe_taso_reader {
    noe_arena arena;
    noe_taso_op ops[2 * NOE_TASO_MAX_OPS];
    int n_src, n_ops;
    int var_id[NOE_RULE_MAX_VARS]; /* the negative opId */
    int n_vars;
    int class_of[NOE_TASO_MAX_VALUES],
        rank[NOE_TASO_MAX_VALUES];    /* union-find; rank 0: not known */
    int kernel[NOE_RULE_MAX_VARS][2]; /* 0: not known */
    bool is_scalar[NOE_RULE_MAX_VARS];
    noe_buf conditions, groups;
    char *reason; /* in arena */
    bool fits;    /* false: reason says why not */
} noe_taso_reader;

/* The first reason why the rule has no text is kept; returns false. */
bool noe_taso_cannot(noe_taso_reader *r, const char *fmt, ...) NOE_PRINTF(2, 3);
const char *noe_taso_op_name(int type);

/* Terms as text: literals are computed. */
noe_taso_term noe_taso_number(noe_taso_reader *r, long v);
noe_taso_term noe_taso_combine(noe_taso_reader *r, noe_taso_term a, char sign,
                               noe_taso_term b);
bool noe_taso_same(noe_taso_term a, noe_taso_term b);
/* Adds "a == b", once, unless they are the same text. */
void noe_taso_require(noe_buf *conditions, noe_taso_term a, noe_taso_term b);

int noe_taso_root_of(noe_taso_reader *r, int value);
/* The operator that makes a value; NULL for variables. */
noe_taso_op *noe_taso_op_of(noe_taso_reader *r, int value);
/* What an operator says of the ranks of its operands and output. */
bool noe_taso_rank_operator(noe_taso_reader *r, int value);
/* Says that a value is a kernel of this size, and what follows for its variables. */
bool noe_taso_set_kernel(noe_taso_reader *r, int value, int h, int w);

/* Adds the text of a value, or of one output of a split. want: what its place asks of
 * the shape of a constant, dimensions NULL where nothing; may be NULL. */
bool noe_taso_write_value(noe_taso_reader *r, int value, int port,
                          const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s);

#endif
