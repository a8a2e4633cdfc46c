/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking up to four tensors of one index space together, each with its own strides:
 * the loop behind broadcasting, reduction and every copy that moves data.
 *
 * Axes of size 1 are dropped and neighbours merged where all operands allow it, so that
 * the innermost run, which the caller loops over itself, is as long as it can be:
 *
 *   for (noe_walk_init(&w, ...); w.more; noe_walk_next(&w))
 *       for (int64_t i = 0; i < w.n; i++)
 *           y[w.at[0] + i * w.step[0]] = x[w.at[1] + i * w.step[1]];
 */
#ifndef NOE_CORE_WALK_H
#define NOE_CORE_WALK_H

#include "core/type.h"

#define NOE_WALK_OPERANDS 4

typedef struct noe_strides {
    int64_t of[NOE_MAX_RANK]; /* in elements, one an axis */
} noe_strides;

typedef struct noe_walk {
    bool more;
    int64_t at[NOE_WALK_OPERANDS];   /* offset of the run */
    int64_t n;                       /* length of the run */
    int64_t step[NOE_WALK_OPERANDS]; /* stride along the run */
    int n_operands, rank;            /* rank: axes outside the run */
    int64_t dim[NOE_MAX_RANK], index[NOE_MAX_RANK];
    noe_strides stride[NOE_WALK_OPERANDS];
} noe_walk;

void noe_walk_init(noe_walk *w, const noe_shape *space, int n_operands,
                   const noe_strides *strides);
void noe_walk_next(noe_walk *w);

/* Strides of a tensor in C order. */
noe_strides noe_strides_of(const noe_shape *s);
/* The same for s broadcast to `to`: 0 along the axes that repeat. */
noe_strides noe_strides_broadcast(const noe_shape *s, const noe_shape *to);

#endif
