/* SPDX-License-Identifier: Apache-2.0
 *
 * What fingerprint.c makes and sketch.c uses (internal to these two).
 */
#ifndef NOE_GENERATOR_PROJECTOR_H
#define NOE_GENERATOR_PROJECTOR_H

#include "generator/fingerprint.h"

#define P NOE_FIELD_P
/* Long enough for the dimensions of every space, checked in noe_universe_build. */
#define U_LEN NOE_SPACE_MAX_DIM

/* A linear form on tensors of one size: lanes x samples x elements. Operators that move
 * data have few different ones. */
typedef struct form {
    uint32_t *v;
    size_t n;
} form;

/* How a move acts on operands of these shapes. */
typedef struct functional {
    bool is_bilinear;
    uint32_t form[2];
} functional;

/* A convolution with its parameters. Those that differ in their groups only have the
 * same sums of shifted images. */
typedef struct window {
    int64_t kernel[2], stride[2], pad[2], dilation[2], group;
    uint32_t image; /* number of those sums */
} window;

struct noe_projector {
    uint64_t seed;
    int n_samples;
    uint32_t u[NOE_GEN_LANES][NOE_SPACE_MAX_RANK + 1][NOE_SPACE_MAX_RANK][U_LEN];
    uint32_t rho[NOE_GEN_LANES][NOE_MAX_SAMPLES];
    uint32_t *by_shape[NOE_MAX_SHAPES];   /* lanes x samples x elements */
    noe_fingerprint ones[NOE_MAX_SHAPES]; /* of all-ones tensors */
    noe_key_table *index;                 /* (move, cut, shapes) -> functional */
    noe_key_table *form_index;            /* content -> form */
    form *forms;
    uint32_t n_forms, cap_forms;
    functional *functionals;
    uint32_t n_functionals, cap_functionals;
    window *windows;
    uint32_t n_windows, cap_windows;
};

static inline uint32_t mul_mod(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b % P);
}

static inline uint32_t add_mod(uint32_t a, uint32_t b)
{
    uint64_t s = (uint64_t)a + b;
    return (uint32_t)(s >= P ? s - P : s);
}

/* Sums of up to 2^32 products, low and high halves apart: no reduction in the loop. */
static inline uint32_t reduce_halves(uint64_t low, uint64_t high)
{
    return (uint32_t)((low % P + high % P * (((uint64_t)1 << 32) % P)) % P);
}

/* Number of the functional of a move on operands of these shapes; made if it is new. */
uint32_t noe_functional_of(noe_universe *u, const noe_application *p,
                           const int *shapes);

#endif
