/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: arenas for units of work, checked malloc for things with identity.
 * Everything aborts on exhaustion; nobody else checks a returned pointer.
 */
#ifndef NOE_CORE_BASE_MEM_H
#define NOE_CORE_BASE_MEM_H

#include "core/base/status.h"
#include <stdint.h>
#include <string.h>

void *noe_malloc(size_t bytes);
void *noe_calloc(size_t n, size_t bytes);
void *noe_realloc(void *p, size_t bytes);
char *noe_strdup(const char *s);

/* a * b in *out; false when the product overflows size_t. */
int noe_mul_size(size_t a, size_t b, size_t *out);

typedef struct noe_arena_block noe_arena_block;

/* Zero-initialised is empty and ready. Memory is 16-byte aligned and NOT zeroed. */
typedef struct noe_arena {
    noe_arena_block *head;
    size_t used_bytes;
} noe_arena;

typedef struct noe_arena_mark {
    noe_arena_block *head;
    size_t fill, used_bytes;
} noe_arena_mark;

void *noe_arena_alloc(noe_arena *a, size_t bytes);
void *noe_arena_zalloc(noe_arena *a, size_t bytes);
void *noe_arena_memdup(noe_arena *a, const void *p, size_t bytes);
char *noe_arena_strdup(noe_arena *a, const char *s);
char *noe_arena_printf(noe_arena *a, const char *fmt, ...) NOE_PRINTF(2, 3);
noe_arena_mark noe_arena_save(const noe_arena *a);
void noe_arena_release(noe_arena *a, noe_arena_mark mark);
void noe_arena_clear(noe_arena *a);

#define NOE_NEW(ARENA, TYPE) ((TYPE *)noe_arena_zalloc((ARENA), sizeof(TYPE)))
#define NOE_NEW_N(ARENA, TYPE, N) \
    ((TYPE *)noe_arena_zalloc((ARENA), (size_t)(N) * sizeof(TYPE)))

/* Growable array in three variables: PTR, N used, CAP allocated (heap; free PTR). */
#define NOE_PUSH(PTR, N, CAP, VALUE)                                   \
    do {                                                               \
        if ((N) == (CAP)) {                                            \
            (CAP) = (CAP) ? (CAP)*2 : 16;                              \
            (PTR) = noe_realloc((PTR), (size_t)(CAP) * sizeof *(PTR)); \
        }                                                              \
        (PTR)[(N)++] = (VALUE);                                        \
    } while (0)

/* Growable text. Zero-initialised is empty; `text` is NUL-terminated once non-NULL. */
typedef struct noe_buf {
    char *text;
    size_t len, cap;
} noe_buf;

void noe_buf_add(noe_buf *b, const char *s, size_t len);
void noe_buf_puts(noe_buf *b, const char *s);
void noe_buf_printf(noe_buf *b, const char *fmt, ...) NOE_PRINTF(2, 3);
const char *noe_buf_text(const noe_buf *b); /* never NULL */
void noe_buf_clear(noe_buf *b);

#endif
