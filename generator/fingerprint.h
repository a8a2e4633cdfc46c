/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear rank-1 projections of values (random, per lane, rank, axis and index) and
 * sketches, by which the projection of a multilinear operator's result is computed from
 * small vectors of its operands, without the result.
 */
#ifndef NOE_GENERATOR_FINGERPRINT_H
#define NOE_GENERATOR_FINGERPRINT_H

#include "generator/universe.h"

/* A move on operands of given shapes; of a slice also at a given cut. */
typedef struct noe_application {
    const noe_params *params;
    uint32_t functional; /* number in the projector, of whatever kind the move needs */
    uint32_t cut;        /* second operand of a slice; else NOE_NO_OPERAND */
    uint16_t move, shape;
    bool is_commutative;
} noe_application;

noe_projector *noe_projector_new(uint64_t seed, int n_samples);
void noe_projector_free(noe_projector *p);
/* Make what projections onto a shape, and the application to operands of these shapes,
 * need; to be called before threads use it. */
void noe_projector_prepare_shape(noe_universe *u, int shape);
void noe_projector_prepare(noe_universe *u, noe_application *p, const int *shapes);

/* What one thread computes with: vectors of values, dropped when they grow too many. */
#define NOE_SKETCH_BYTES (32u << 20)
typedef struct noe_sketcher noe_sketcher;
noe_sketcher *noe_sketcher_new(const noe_universe *u);
void noe_sketcher_free(noe_sketcher *s);
/* Samples of a value, one after the other; valid until the next projection. */
const noe_fe *noe_sketcher_data(noe_sketcher *s, uint32_t value);
/* All samples of p(in...) into out. */
void noe_sketcher_eval(noe_sketcher *s, const noe_application *p, const uint32_t *in,
                       noe_fe *out);
/* Fingerprint of p(in...): by sketches, or by evaluation where none applies. */
noe_fingerprint noe_sketcher_project(noe_sketcher *s, const noe_application *p,
                                     const uint32_t *in);

noe_fingerprint noe_project(const noe_universe *u, int shape, const noe_fe *data);

/* Fingerprint and shape as one number, uniform over 64 bits and different for equal
 * numbers in different shapes; and back. */
uint64_t noe_value_key(int shape, noe_fingerprint print);
noe_fingerprint noe_key_print(int shape, uint64_t key);
/* Which constant of all samples and elements a fingerprint is of. */
noe_fixed noe_fixed_of(const noe_universe *u, int shape, noe_fingerprint print);

#endif
