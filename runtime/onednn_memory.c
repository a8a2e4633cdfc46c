/* SPDX-License-Identifier: Apache-2.0
 *
 * Places the arena buffers of a plan: largest first, each at the lowest offset where it
 * does not overlap a placed one that is in use at the same time. Not optimal, but
 * within some percent of the widest cut on usual models. (Greedy by size as in
 * Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020.)
 */
#include "runtime/onednn.h"
#include <stdlib.h>

#define ALIGNMENT ((size_t)64)

typedef struct sized {
    size_t bytes;
    uint32_t buffer;
} sized;

/* Largest first; the buffer's number decides between equals. */
static int compare_sizes(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static bool at_the_same_time(const noe_dnn_buffer *a, const noe_dnn_buffer *b)
{
    return a->first < b->end && b->first < a->end;
}

/* placed[0..n) is in the order of offsets, and stays so. */
static void place(noe_dnn_plan *p, uint32_t *placed, uint32_t n, const sized *item)
{
    noe_dnn_buffer *b = &p->buffers[item->buffer];
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const noe_dnn_buffer *other = &p->buffers[placed[i]];
        size_t other_end =
            other->offset + (other->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (!at_the_same_time(b, other) || other_end <= at)
            continue;
        if (other->offset >= at + item->bytes)
            break;
        at = other_end;
    }
    b->offset = at;
    uint32_t k = n;
    for (; k > 0 && p->buffers[placed[k - 1]].offset > at; k--)
        placed[k] = placed[k - 1];
    placed[k] = item->buffer;
}

size_t noe_dnn_place_buffers(noe_dnn_plan *p)
{
    sized *items = noe_calloc(p->n_buffers, sizeof *items);
    uint32_t *placed = noe_calloc(p->n_buffers, sizeof *placed);
    uint32_t n = 0;
    size_t total = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const noe_dnn_buffer *b = &p->buffers[i];
        size_t bytes = (b->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (b->store == NOE_DNN_ARENA && b->first != UINT32_MAX)
            items[n++] = (sized){bytes, i};
    }
    if (n > 0)
        qsort(items, n, sizeof *items, compare_sizes);
    for (uint32_t i = 0; i < n; i++) {
        place(p, placed, i, &items[i]);
        size_t end = p->buffers[items[i].buffer].offset + items[i].bytes;
        total = end > total ? end : total;
    }
    free(items);
    free(placed);
    return total;
}
