/* SPDX-License-Identifier: Apache-2.0
 *
 * One block of memory for values that live at different times.
 */
#ifndef NOE_RUNTIME_PLACE_H
#define NOE_RUNTIME_PLACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct noe_lifetime {
    size_t bytes;
    uint32_t first, end; /* it is in use at the steps [first, end) */
    size_t offset;       /* the answer */
} noe_lifetime;

/* Gives offsets, multiples of alignment, such that what is in use at the same step does
 * not overlap; returns the size of the block. */
size_t noe_place(noe_lifetime *items, uint32_t n, size_t alignment);

#endif
