/* SPDX-License-Identifier: Apache-2.0
 *
 * Largest first, each at the lowest offset where it does not overlap a placed one that
 * is in use at the same time. Not optimal, but within some percent of the widest cut on
 * usual models. (Greedy by size as in Pisarchyk and Lee, Efficient Memory Management
 * for Deep Neural Net Inference, 2020.)
 */
#include "runtime/place.h"
#include "core/base/mem.h"
#include <stdbool.h>
#include <stdlib.h>

/* Largest first; the place among the items decides between equals. */
static int compare_sizes(const void *a, const void *b)
{
    const noe_lifetime *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes < (*y)->bytes ? 1 : -1;
    return (*x > *y) - (*x < *y);
}

static bool at_the_same_time(const noe_lifetime *a, const noe_lifetime *b)
{
    return a->first < b->end && b->first < a->end;
}

/* placed[0..n) is in the order of offsets, and stays so. */
static void place(noe_lifetime **placed, uint32_t n, noe_lifetime *item)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const noe_lifetime *other = placed[i];
        size_t other_end = other->offset + other->bytes;
        if (!at_the_same_time(item, other) || other_end <= at)
            continue;
        if (other->offset >= at + item->bytes)
            break;
        at = other_end;
    }
    item->offset = at;
    uint32_t k = n;
    for (; k > 0 && placed[k - 1]->offset > at; k--)
        placed[k] = placed[k - 1];
    placed[k] = item;
}

size_t noe_place(noe_lifetime *items, uint32_t n, size_t alignment)
{
    noe_lifetime **order = noe_calloc((size_t)n + 1, sizeof *order);
    noe_lifetime **placed = noe_calloc((size_t)n + 1, sizeof *placed);
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        items[i].bytes = (items[i].bytes + alignment - 1) / alignment * alignment;
        order[i] = &items[i];
    }
    if (n > 0)
        qsort(order, n, sizeof *order, compare_sizes);
    for (uint32_t i = 0; i < n; i++) {
        place(placed, i, order[i]);
        size_t end = order[i]->offset + order[i]->bytes;
        total = end > total ? end : total;
    }
    free(order);
    free(placed);
    return total;
}
