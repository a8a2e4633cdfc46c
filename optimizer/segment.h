/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting a graph into segments that can be searched one by one.
 *
 * A segment is a run of consecutive run-time nodes of the algebra, in an order of the
 * graph in which no node outside the algebra comes between them; so what it takes comes
 * from before, and all segments can be replaced by equal ones in that order. Cuts are
 * made where few values cross (one, at an articulation point), and among equally good
 * places by what the operators around look like, not by where they stand: the layers of
 * a network are then cut in the same places, and equal segments are met again. Nodes
 * outside the algebra belong to no segment.
 */
#ifndef NOE_OPTIMIZER_SEGMENT_H
#define NOE_OPTIMIZER_SEGMENT_H

#include "core/graph.h"

#define NOE_SEGMENT_MIN 24
#define NOE_SEGMENT_MAX 72

typedef struct noe_segments {
    const noe_graph *g;
    uint32_t *nodes; /* members of all segments, ascending */
    uint32_t *first; /* segment i is nodes[first[i]..first[i + 1]) */
    uint32_t n;
    uint32_t *last_use; /* of each node: the last position in `nodes` where it is used,
                           UINT32_MAX if outside the algebra too or as output */
    uint8_t *live;
} noe_segments;

/* Places where an earlier call has cut, by what stands there. */
typedef struct noe_seams {
    uint64_t *hashes;
    uint32_t n, cap;
} noe_seams;

/* Avoids the seams, and adds the new ones. */
void noe_segments_find(noe_segments *s, const noe_graph *g, noe_seams *seams);
void noe_segments_clear(noe_segments *s);

/* A segment by itself: a graph in the same pool, whose inputs stand for the values that
 * it takes and whose outputs are those that others use, in node order. */
typedef struct noe_extract {
    noe_graph *graph;
    noe_ref *outer; /* value of the big graph for each input, by number */
    uint32_t n_outer;
    uint32_t *of_node; /* node of graph -> node of the big graph, UINT32_MAX: input */
    uint32_t *outputs; /* nodes of the big graph */
    uint64_t key;      /* equal for segments that differ in weight values only, node by
                          node in the same order */
} noe_extract;

void noe_segment_extract(const noe_segments *s, uint32_t i, noe_extract *x);
void noe_extract_clear(noe_extract *x);

#endif
