/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3 by name. Its output is fixed by the published specification, so hashes may be
 * stored. Not collision resistant against an adversary: nothing that must hold for
 * hostile input may rest on two hashes being equal.
 */
#include "core/base/hash.h"
#include <stdio.h>
#include <xxhash.h>

const char *noe_hash_library(void)
{
    static char text[32];
    unsigned v = XXH_versionNumber();
    snprintf(text, sizeof text, "xxHash %u.%u.%u", v / 10000, v / 100 % 100, v % 100);
    return text;
}

uint64_t noe_hash64(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

noe_hash128 noe_hash_bytes(const void *data, size_t len)
{
    XXH128_hash_t h = XXH3_128bits(data, len);
    return (noe_hash128){h.low64, h.high64};
}

void noe_hash_hex(noe_hash128 h, char *text)
{
    snprintf(text, NOE_HASH_HEX_LEN + 1, "%016llx%016llx", (unsigned long long)h.hi,
             (unsigned long long)h.lo);
}
