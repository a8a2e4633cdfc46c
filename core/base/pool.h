/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on several threads. Items are numbered and handed out one by one; an item writes
 * only to what is its own, and what comes out is read in the order of the numbers, so
 * that results do not depend on how many threads there are.
 */
#ifndef NOE_CORE_BASE_POOL_H
#define NOE_CORE_BASE_POOL_H

#include <stdint.h>

#define NOE_MAX_THREADS 64

/* Processors that this process may use, 1 to NOE_MAX_THREADS. */
int noe_processors(void);

/* worker is below the number of threads; an item may use scratch space of its worker.
 */
typedef void noe_item_fn(void *ctx, int worker, uint32_t item);

/* Runs fn for items 0..n_items - 1 and returns when all are done. The caller is worker
 * 0. n_threads is cut to NOE_MAX_THREADS and n_items; where a thread cannot be made,
 * the others do its share. */
void noe_parallel_for(int n_threads, uint32_t n_items, noe_item_fn *fn, void *ctx);

#endif
