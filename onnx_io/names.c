/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing, linear probing, at most half full.
 */
#include "onnx_io/names.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include <stdlib.h>

static uint32_t find_slot(const noe_names *t, const char *key)
{
    uint32_t i = (uint32_t)noe_hash64(key, strlen(key), 0) & (t->size - 1);
    while (t->keys[i] && strcmp(t->keys[i], key) != 0)
        i = (i + 1) & (t->size - 1);
    return i;
}

static void grow(noe_names *t)
{
    noe_names old = *t;
    t->size = old.size ? old.size * 2 : 64;
    t->keys = noe_calloc(t->size, sizeof *t->keys);
    t->values = noe_calloc(t->size, sizeof *t->values);
    for (uint32_t i = 0; i < old.size; i++) {
        if (!old.keys[i])
            continue;
        uint32_t slot = find_slot(t, old.keys[i]);
        t->keys[slot] = old.keys[i];
        t->values[slot] = old.values[i];
    }
    free(old.keys);
    free(old.values);
}

/* Sets the value of key; true if it is new. */
static bool put(noe_names *t, const char *key, uint32_t value)
{
    if (t->n * 2 >= t->size)
        grow(t);
    uint32_t slot = find_slot(t, key);
    bool is_new = t->keys[slot] == NULL;
    t->n += is_new;
    t->keys[slot] = key;
    t->values[slot] = value;
    return is_new;
}

bool noe_names_add(noe_names *t, const char *key, uint32_t value)
{
    return !noe_names_has(t, key) && put(t, key, value);
}

void noe_names_set(noe_names *t, const char *key, uint32_t value)
{
    put(t, key, value);
}

bool noe_names_find(const noe_names *t, const char *key, uint32_t *value)
{
    if (t->size == 0)
        return false;
    uint32_t slot = find_slot(t, key);
    if (!t->keys[slot])
        return false;
    *value = t->values[slot];
    return true;
}

bool noe_names_has(const noe_names *t, const char *key)
{
    uint32_t ignored;
    return noe_names_find(t, key, &ignored);
}

void noe_names_clear(noe_names *t)
{
    free(t->keys);
    free(t->values);
    *t = (noe_names){0};
}
