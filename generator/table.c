/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table from keys to numbers: linear probing, doubled at three quarters.
 */
#include "generator/universe.h"

#include <stdlib.h>

#define FIRST_SLOTS (1u << 12)

typedef struct slot {
    uint64_t key;
    uint32_t value;
} __attribute__((packed)) slot;

struct noe_key_table {
    slot *slots;
    uint64_t n_slots, n_used;
};

noe_key_table *noe_key_table_new(void)
{
    noe_key_table *t = noe_calloc(1, sizeof *t);
    t->n_slots = FIRST_SLOTS;
    t->slots = noe_calloc(t->n_slots, sizeof *t->slots);
    return t;
}

void noe_key_table_free(noe_key_table *t)
{
    if (!t)
        return;
    free(t->slots);
    free(t);
}

uint32_t noe_key_table_get(const noe_key_table *t, uint64_t key)
{
    uint64_t mask = t->n_slots - 1;
    for (uint64_t i = noe_mix64(key) & mask; t->slots[i].key; i = (i + 1) & mask) {
        if (t->slots[i].key == key)
            return t->slots[i].value;
    }
    return UINT32_MAX;
}

static void insert(slot *slots, uint64_t n_slots, uint64_t key, uint32_t value)
{
    uint64_t i = noe_mix64(key) & (n_slots - 1);
    while (slots[i].key)
        i = (i + 1) & (n_slots - 1);
    slots[i].key = key;
    slots[i].value = value;
}

void noe_key_table_put(noe_key_table *t, uint64_t key, uint32_t value)
{
    NOE_ASSERT(key != 0);
    if (t->n_used * 4 >= t->n_slots * 3) {
        uint64_t n = t->n_slots * 2;
        slot *slots = noe_calloc(n, sizeof *slots);
        for (uint64_t i = 0; i < t->n_slots; i++) {
            if (t->slots[i].key)
                insert(slots, n, t->slots[i].key, t->slots[i].value);
        }
        free(t->slots);
        t->slots = slots;
        t->n_slots = n;
    }
    insert(t->slots, t->n_slots, key, value);
    t->n_used++;
}
