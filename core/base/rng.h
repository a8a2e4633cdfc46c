/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers by splitmix64 (Steele, Lea, Flood, OOPSLA'14). A stream is named by
 * (seed, purpose, index), never by thread or time, so that work items can run in any
 * order. noe_mix64 is a bijection on 64 bits.
 */
#ifndef NOE_CORE_BASE_RNG_H
#define NOE_CORE_BASE_RNG_H

#include <stdint.h>

typedef struct noe_rng {
    uint64_t state;
} noe_rng;

uint64_t noe_mix64(uint64_t x);
noe_rng noe_rng_split(uint64_t seed, const char *purpose, uint64_t index);
uint64_t noe_rng_next(noe_rng *r);
uint64_t noe_rng_below(noe_rng *r, uint64_t n); /* uniform in 0..n-1, n > 0 */
int64_t noe_rng_range(noe_rng *r, int64_t lo, int64_t hi); /* lo..hi inclusive */
double noe_rng_unit(noe_rng *r);                           /* [0, 1) */
double noe_rng_normal(noe_rng *r);                         /* mean 0, variance 1 */

#endif
