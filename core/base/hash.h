/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashing by xxHash (XXH3). Pointers and enum values are never hashed into anything
 * that leaves the process: rule ids hash operator names.
 */
#ifndef NOE_CORE_BASE_HASH_H
#define NOE_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct noe_hash128 {
    uint64_t lo, hi;
} noe_hash128;

#define NOE_HASH_HEX_LEN 32

const char *noe_hash_library(void); /* "xxHash 0.8.1" */
uint64_t noe_hash64(const void *data, size_t len, uint64_t seed);
noe_hash128 noe_hash_bytes(const void *data, size_t len);
/* 32 lower-case hex digits and NUL into text[NOE_HASH_HEX_LEN + 1]. */
void noe_hash_hex(noe_hash128 h, char *text);

#endif
