/* SPDX-License-Identifier: Apache-2.0
 *
 * splitmix64: the state counts in steps of the golden ratio, the output is a mix of it.
 * Guy L. Steele Jr., Doug Lea, Christine H. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014; the mixing constants are David Stafford's variant 13. Not
 * for cryptography.
 */
#include "core/base/rng.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include <math.h>
#include <string.h>

#define GOLDEN_STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t noe_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

noe_rng noe_rng_split(uint64_t seed, const char *purpose, uint64_t index)
{
    /* Hashed, so that streams of neighbouring indices do not overlap by a shift. */
    uint64_t base = noe_hash64(purpose, strlen(purpose), seed);
    return (noe_rng){noe_mix64(base ^ noe_mix64(index + GOLDEN_STEP))};
}

uint64_t noe_rng_next(noe_rng *r)
{
    r->state += GOLDEN_STEP;
    return noe_mix64(r->state);
}

uint64_t noe_rng_below(noe_rng *r, uint64_t n)
{
    NOE_ASSERT(n > 0);
    /* The first 2^64 mod n outputs are refused: the others fall evenly on 0..n-1. They
     * are below n, so that their number is hardly ever needed. */
    uint64_t x = noe_rng_next(r);
    while (x < n && x < (0 - n) % n)
        x = noe_rng_next(r);
    return x % n;
}

int64_t noe_rng_range(noe_rng *r, int64_t lo, int64_t hi)
{
    NOE_ASSERT(lo <= hi);
    uint64_t n = (uint64_t)hi - (uint64_t)lo + 1;
    uint64_t offset = n ? noe_rng_below(r, n) : noe_rng_next(r);
    return (int64_t)((uint64_t)lo + offset);
}

double noe_rng_unit(noe_rng *r)
{
    return (double)(noe_rng_next(r) >> 11) * 0x1p-53;
}

double noe_rng_normal(noe_rng *r)
{
    /* Box and Muller; 1 - unit is never 0. */
    double radius = sqrt(-2.0 * log(1.0 - noe_rng_unit(r)));
    return radius * cos(6.283185307179586 * noe_rng_unit(r));
}
