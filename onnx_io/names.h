/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from strings to numbers. Keys are not copied. Iteration order is never used, so
 * that hash order cannot reach any output.
 */
#ifndef NOE_ONNX_IO_NAMES_H
#define NOE_ONNX_IO_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct noe_names {
    const char **keys;
    uint32_t *values;
    uint32_t size, n;
} noe_names;

/* Adds key; false (and no change) if it is there. */
bool noe_names_add(noe_names *t, const char *key, uint32_t value);
void noe_names_set(noe_names *t, const char *key, uint32_t value);
bool noe_names_find(const noe_names *t, const char *key, uint32_t *value);
bool noe_names_has(const noe_names *t, const char *key);
void noe_names_clear(noe_names *t);

#endif
