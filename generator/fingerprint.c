/* SPDX-License-Identifier: Apache-2.0
 *
 * Fingerprints: F(T) = sum over samples s and indices i of rho_s * U_0[i_0] * ... *
 * T_s[i], modulo p, in two lanes with independent random rho and U. Only the u channel
 * of an element counts (core/field.h). Two tensors that differ somewhere have the same
 * fingerprint with probability of about 2 / p per lane.
 *
 * F is linear and its coefficients are products over the axes. Hence the fingerprint of
 * a multilinear operator's result follows from small vectors of its operands, without
 * the result:
 *
 * linear, one operand: F(L x) = <L' r, x>; the vector L' r is found by evaluating L on
 *   unit vectors, so it is the operator's meaning whatever that is;
 * linear in both: F(op(a, b)) = F(op(a, 0)) + F(op(0, b)), as above;
 * mul, div: r * a summed over broadcast axes, times b (or its inverse);
 * matmul: row vector of a times column vector of b;
 * conv: weighted sums of shifted images times sums of kernels;
 * where: r * a summed where the condition holds, and r * b where it does not.
 *
 * The last four restate the operator (sketch.c); a test compares every one of them with
 * evaluation. Everything else is evaluated and projected.
 */
#include "generator/projector.h"

#include "core/base/hash.h"
#include <stdlib.h>

static uint32_t dot_fe(const uint32_t *a, const noe_fe *b, size_t n)
{
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t t = (uint64_t)a[i] * b[i].u;
        low += (uint32_t)t;
        high += t >> 32;
    }
    return reduce_halves(low, high);
}

noe_projector *noe_projector_new(uint64_t seed, int n_samples)
{
    noe_projector *p = noe_calloc(1, sizeof *p);
    noe_rng rng = noe_rng_split(seed, "projection", 0);
    p->seed = seed;
    p->n_samples = n_samples;
    uint32_t *u = &p->u[0][0][0][0];
    for (size_t i = 0; i < sizeof p->u / sizeof *u; i++)
        u[i] = (uint32_t)noe_rng_below(&rng, P);
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        for (int q = 0; q < NOE_MAX_SAMPLES; q++)
            p->rho[l][q] = (uint32_t)noe_rng_below(&rng, P);
    }
    p->index = noe_key_table_new();
    p->form_index = noe_key_table_new();
    return p;
}

void noe_projector_free(noe_projector *p)
{
    if (!p)
        return;
    for (int i = 0; i < NOE_MAX_SHAPES; i++)
        free(p->by_shape[i]);
    for (uint32_t i = 0; i < p->n_forms; i++)
        free(p->forms[i].v);
    free(p->forms);
    free(p->functionals);
    free(p->windows);
    noe_key_table_free(p->index);
    noe_key_table_free(p->form_index);
    free(p);
}

static uint32_t axes_product(const noe_projector *p, const noe_shape *s, int lane,
                             uint32_t i)
{
    uint32_t c = 1;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        uint32_t dim = (uint32_t)s->dim[axis];
        c = mul_mod(c, p->u[lane][s->rank][axis][i % dim]);
        i /= dim;
    }
    return c;
}

/* The coefficients of F for a shape, and F of ones. */
void noe_projector_prepare_shape(noe_universe *u, int shape)
{
    noe_projector *p = u->projector;
    if (p->by_shape[shape])
        return;
    uint32_t n = u->n_elements[shape];
    size_t row = (size_t)u->n_samples * n;
    uint32_t *r = noe_malloc((NOE_GEN_LANES * row + 1) * sizeof *r);
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t c = axes_product(p, &u->shapes[shape], l, i);
            for (int q = 0; q < u->n_samples; q++) {
                uint32_t with_rho = mul_mod(c, p->rho[l][q]);
                r[(size_t)l * row + (size_t)q * n + i] = with_rho;
                sum = add_mod(sum, with_rho);
            }
        }
        p->ones[shape].lane[l] = sum;
    }
    p->by_shape[shape] = r;
}

noe_fingerprint noe_project(const noe_universe *u, int shape, const noe_fe *data)
{
    const uint32_t *r = u->projector->by_shape[shape];
    size_t row = (size_t)u->n_samples * u->n_elements[shape];
    noe_fingerprint print;
    NOE_ASSERT(r);
    for (size_t l = 0; l < NOE_GEN_LANES; l++)
        print.lane[l] = dot_fe(r + l * row, data, row);
    return print;
}

static uint64_t shape_offset(int shape)
{
    return noe_mix64((uint64_t)shape + 1);
}

/* Two lanes below 2^31 each make 62 bits. */
uint64_t noe_value_key(int shape, noe_fingerprint print)
{
    uint64_t bits = (uint64_t)print.lane[0] << 31 | print.lane[1];
    return (bits << 2) + shape_offset(shape);
}

noe_fingerprint noe_key_print(int shape, uint64_t key)
{
    uint64_t bits = (key - shape_offset(shape)) >> 2;
    return (noe_fingerprint){{(uint32_t)(bits >> 31), bits & 0x7FFFFFFF}};
}

noe_fixed noe_fixed_of(const noe_universe *u, int shape, noe_fingerprint print)
{
    const noe_fingerprint *ones = &u->projector->ones[shape];
    if (print.lane[0] == 0 && print.lane[1] == 0)
        return NOE_FIXED_ZEROS;
    if (print.lane[0] == ones->lane[0] && print.lane[1] == ones->lane[1])
        return NOE_FIXED_ONES;
    /* A multiple of ones: both lanes have the same ratio to theirs. */
    bool is_multiple =
        mul_mod(print.lane[0], ones->lane[1]) == mul_mod(print.lane[1], ones->lane[0]);
    return is_multiple ? NOE_FIXED_OTHER : NOE_FIXED_NONE;
}

/* Functionals */

/* Numbers a form by its content; takes v. */
static uint32_t intern_form(noe_projector *p, uint32_t *v, size_t n)
{
    size_t bytes = NOE_GEN_LANES * n * sizeof *v;
    for (uint64_t salt = 0;; salt++) {
        uint64_t key = noe_hash64(v, bytes, n + salt) | 1;
        uint32_t i = noe_key_table_get(p->form_index, key);
        if (i == UINT32_MAX) {
            form f = {v, n};
            NOE_PUSH(p->forms, p->n_forms, p->cap_forms, f);
            noe_key_table_put(p->form_index, key, p->n_forms - 1);
            return p->n_forms - 1;
        }
        if (p->forms[i].n == n && memcmp(p->forms[i].v, v, bytes) == 0) {
            free(v);
            return i;
        }
    }
}

/* Coefficients of one operand, the other one being 0 (or absent). */
static uint32_t *probe(noe_universe *u, const noe_application *p, const int *shapes,
                       int side)
{
    const noe_move *m = &u->space->moves[p->move];
    const uint32_t *r = u->projector->by_shape[p->shape];
    uint32_t n = u->n_elements[shapes[side]], n_out = u->n_elements[p->shape];
    size_t row = (size_t)u->n_samples * n, row_out = (size_t)u->n_samples * n_out;
    uint32_t *c = noe_malloc((NOE_GEN_LANES * row + 1) * sizeof *c);
    noe_arena arena = {0};
    noe_fe *out = noe_arena_alloc(&arena, n_out * sizeof *out);
    noe_tensor_fe in[NOE_SPACE_MAX_IN];
    for (int i = 0; i < m->n_in; i++) {
        in[i].shape = u->shapes[shapes[i]];
        in[i].data =
            noe_arena_zalloc(&arena, u->n_elements[shapes[i]] * sizeof(noe_fe));
    }
    for (uint32_t i = 0; i < n; i++) {
        in[side].data[i] = noe_fe_int(1);
        noe_tensor_fe t = {u->shapes[p->shape], out};
        noe_eval_fe(&u->field, m->op, p->params, in, m->n_in, &t);
        in[side].data[i] = noe_fe_int(0);
        for (size_t l = 0; l < NOE_GEN_LANES; l++) {
            for (int q = 0; q < u->n_samples; q++)
                c[l * row + (size_t)q * n + i] =
                    dot_fe(r + l * row_out + (size_t)q * n_out, out, n_out);
        }
    }
    noe_arena_clear(&arena);
    return c;
}

/* Whether the result is 0 where the other operand is 0, at a random point. */
static bool vanishes(const noe_universe *u, const noe_application *p, const int *shapes,
                     int side)
{
    const noe_move *m = &u->space->moves[p->move];
    noe_rng rng = noe_rng_split(u->env->seed, "vanishes", (uint64_t)side);
    noe_arena arena = {0};
    noe_tensor_fe in[2], t = {u->shapes[p->shape], NULL};
    size_t n_out = u->n_elements[p->shape];
    bool is_zero = true;
    t.data = noe_arena_alloc(&arena, n_out * sizeof *t.data);
    for (int i = 0; i < 2; i++) {
        size_t n = u->n_elements[shapes[i]];
        in[i] = (noe_tensor_fe){u->shapes[shapes[i]],
                                noe_arena_zalloc(&arena, n * sizeof *in[i].data)};
        for (size_t k = 0; i == side && k < n; k++)
            in[i].data[k] = noe_fe_random(&rng);
    }
    noe_eval_fe(&u->field, m->op, p->params, in, m->n_in, &t);
    for (size_t k = 0; k < n_out; k++)
        is_zero = is_zero && t.data[k].u == 0;
    noe_arena_clear(&arena);
    return is_zero;
}

/* A multilinear move vanishes where one operand is 0 exactly if it is not linear in
 * both together. */
static functional make_functional(noe_universe *u, const noe_application *p,
                                  const int *shapes)
{
    functional f = {0};
    int n_in = u->space->moves[p->move].n_in;
    f.is_bilinear = n_in == 2 && vanishes(u, p, shapes, 0) && vanishes(u, p, shapes, 1);
    for (int side = 0; side < n_in && !f.is_bilinear; side++) {
        size_t n = (size_t)u->n_samples * u->n_elements[shapes[side]];
        f.form[side] = intern_form(u->projector, probe(u, p, shapes, side), n);
    }
    return f;
}

uint32_t noe_functional_of(noe_universe *u, const noe_application *p, const int *shapes)
{
    noe_projector *r = u->projector;
    uint64_t cut = p->cut == NOE_NO_OPERAND ? 0 : p->cut;
    uint64_t key = cut;
    key = key * NOE_MAX_SHAPES + (uint64_t)shapes[0];
    key = key * NOE_MAX_SHAPES + (uint64_t)shapes[1];
    key = noe_mix64(key * NOE_SPACE_MAX_MOVES + p->move + 1);
    uint32_t i = noe_key_table_get(r->index, key);
    if (i != UINT32_MAX)
        return i;
    functional f = make_functional(u, p, shapes);
    i = r->n_functionals;
    NOE_PUSH(r->functionals, r->n_functionals, r->cap_functionals, f);
    noe_key_table_put(r->index, key, i);
    return i;
}
