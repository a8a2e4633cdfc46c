/* SPDX-License-Identifier: Apache-2.0
 *
 * Fingerprints: F(T) = sum over samples s and indices i of rho_s * U_0[i_0] * ... *
 * T_s[i], modulo p, in two lanes with independent random rho and U. Only the u channel
 * of an element counts (core/field.h). Two tensors that differ somewhere have the same
 * fingerprint with probability of about 2 / p per lane.
 *
 * F is linear and its coefficients are products over the axes. Hence the fingerprint of
 * a multilinear operator's result follows from small vectors of its operands, without
 * the result: linear, one operand   F(L x) = <L' r, x>; the vector L' r is found by
 * evaluating L on unit vectors, so it is the operator's meaning whatever that is linear
 * in both        F(op(a, b)) = F(op(a, 0)) + F(op(0, b)), as above mul, div r * a
 * summed over broadcast axes, times b (or its inverse) matmul                row vector
 * of a times column vector of b conv                  weighted sums of shifted images
 * times sums of kernels The last three restate the operator; a test compares every one
 * of them with evaluation. Everything else is evaluated and projected.
 */
#include "generator/universe.h"

#include <stdlib.h>

#define P NOE_FIELD_P
/* Long enough for the dimensions of every space, checked in noe_universe_build. */
#define U_LEN NOE_SPACE_MAX_DIM

/* A vector cached at a value; both lanes one after the other, each of n entries. */
struct noe_sketch {
    noe_sketch *next;
    uint64_t key;
    uint32_t n;
    uint32_t v[];
};

typedef enum sketch_kind {
    SKETCH_LINEAR, /* F of the part that this operand contributes: one entry */
    SKETCH_MUL,
    SKETCH_U, /* the u channel; one lane */
    SKETCH_INVERSE,
    SKETCH_ROW,
    SKETCH_COLUMN,
    SKETCH_IMAGE,
    SKETCH_KERNEL,
    SKETCH_KINDS,
} sketch_kind;

/* How a move acts on operands of these shapes. */
typedef struct functional {
    bool is_bilinear;
    uint32_t *side[2]; /* coefficients over the operand, lanes x samples x elements */
} functional;

struct noe_projector {
    uint64_t seed;
    int n_samples;
    uint32_t u[NOE_GEN_LANES][NOE_SPACE_MAX_RANK + 1][NOE_SPACE_MAX_RANK][U_LEN];
    uint32_t rho[NOE_GEN_LANES][NOE_MAX_SAMPLES];
    uint32_t *by_shape[NOE_MAX_SHAPES]; /* lanes x elements, without rho */
    noe_key_table *index;               /* (move, cut, shapes) -> functional */
    functional *functionals;
    uint32_t n_functionals, cap_functionals;
};

static uint32_t mul_mod(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b % P);
}

static uint32_t add_mod(uint32_t a, uint32_t b)
{
    uint64_t s = (uint64_t)a + b;
    return (uint32_t)(s >= P ? s - P : s);
}

/* Sums of up to 2^32 products, low and high halves apart: no reduction in the loop. */
static uint32_t reduce_halves(uint64_t low, uint64_t high)
{
    return (uint32_t)((low % P + high % P * (((uint64_t)1 << 32) % P)) % P);
}

static uint32_t dot(const uint32_t *a, const uint32_t *b, size_t n)
{
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t t = (uint64_t)a[i] * b[i];
        low += (uint32_t)t;
        high += t >> 32;
    }
    return reduce_halves(low, high);
}

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
    return p;
}

void noe_projector_free(noe_projector *p)
{
    if (!p)
        return;
    for (int i = 0; i < NOE_MAX_SHAPES; i++)
        free(p->by_shape[i]);
    for (uint32_t i = 0; i < p->n_functionals; i++) {
        free(p->functionals[i].side[0]);
        free(p->functionals[i].side[1]);
    }
    free(p->functionals);
    noe_key_table_free(p->index);
    free(p);
}

/* The coefficients of one sample, lane after lane. */
static const uint32_t *coefficients(noe_universe *u, int shape)
{
    noe_projector *p = u->projector;
    if (p->by_shape[shape])
        return p->by_shape[shape];
    const noe_shape *s = &u->shapes[shape];
    uint32_t n = u->n_elements[shape];
    uint32_t *r = noe_malloc(NOE_GEN_LANES * n * sizeof *r);
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t rest = i, c = 1;
            for (int axis = s->rank - 1; axis >= 0; axis--) {
                uint32_t dim = (uint32_t)s->dim[axis];
                c = mul_mod(c, p->u[l][s->rank][axis][rest % dim]);
                rest /= dim;
            }
            r[(uint32_t)l * n + i] = c;
        }
    }
    return p->by_shape[shape] = r;
}

noe_fingerprint noe_project(noe_universe *u, int shape, const noe_fe *data)
{
    const uint32_t *r = coefficients(u, shape);
    uint32_t n = u->n_elements[shape];
    noe_fingerprint print = {{0}};
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        for (int q = 0; q < u->n_samples; q++) {
            uint32_t f = dot_fe(r + (uint32_t)l * n, data + (size_t)q * n, n);
            print.lane[l] = add_mod(print.lane[l], mul_mod(u->projector->rho[l][q], f));
        }
    }
    return print;
}

static noe_tensor_fe sample_of(const noe_universe *u, uint32_t value, int q)
{
    const noe_gen_value *v = &u->values[value];
    uint32_t n = u->n_elements[v->shape];
    return (noe_tensor_fe){u->shapes[v->shape], v->data + (size_t)q * n};
}

void noe_universe_eval(const noe_universe *u, int move, uint32_t a, uint32_t b,
                       const noe_params *params, int out_shape, noe_fe *out)
{
    const noe_move *m = &u->space->moves[move];
    for (int q = 0; q < u->n_samples; q++) {
        noe_tensor_fe in[2] = {sample_of(u, a, q)};
        if (m->n_in == 2)
            in[1] = sample_of(u, b, q);
        noe_tensor_fe t = {u->shapes[out_shape],
                           out + (size_t)q * u->n_elements[out_shape]};
        noe_eval_fe(&u->field, m->op, params, in, m->n_in, &t);
    }
}

/* Sketches at values */

static noe_sketch *find_sketch(const noe_universe *u, uint32_t value, uint64_t key)
{
    for (noe_sketch *s = u->values[value].sketches; s; s = s->next) {
        if (s->key == key)
            return s;
    }
    return NULL;
}

static noe_sketch *add_sketch(noe_universe *u, uint32_t value, uint64_t key, size_t n,
                              size_t n_lanes)
{
    noe_sketch *s =
        noe_arena_zalloc(&u->arena, sizeof *s + n * n_lanes * sizeof s->v[0]);
    s->key = key;
    s->n = (uint32_t)n;
    s->next = u->values[value].sketches;
    u->values[value].sketches = s;
    return s;
}

static uint64_t sketch_key(sketch_kind kind, uint64_t what)
{
    return what * SKETCH_KINDS + kind;
}

/* Functionals */

/* Coefficients of one operand, the other one being 0 (or absent). */
static uint32_t *probe(noe_universe *u, int move, const int *shapes, int side,
                       const noe_params *params, int out_shape)
{
    const noe_move *m = &u->space->moves[move];
    const uint32_t *r = coefficients(u, out_shape);
    uint32_t n = u->n_elements[shapes[side]], n_out = u->n_elements[out_shape];
    size_t row = (size_t)u->n_samples * n;
    uint32_t *c = noe_malloc(NOE_GEN_LANES * row * sizeof *c);
    noe_arena_mark mark = noe_arena_save(&u->arena);
    noe_fe *out = noe_arena_alloc(&u->arena, n_out * sizeof *out);
    noe_tensor_fe in[2];
    for (int i = 0; i < m->n_in; i++) {
        in[i].shape = u->shapes[shapes[i]];
        in[i].data =
            noe_arena_zalloc(&u->arena, u->n_elements[shapes[i]] * sizeof(noe_fe));
    }
    for (uint32_t i = 0; i < n; i++) {
        in[side].data[i] = noe_fe_int(1);
        noe_tensor_fe t = {u->shapes[out_shape], out};
        noe_eval_fe(&u->field, m->op, params, in, m->n_in, &t);
        in[side].data[i] = noe_fe_int(0);
        for (int l = 0; l < NOE_GEN_LANES; l++) {
            uint32_t f = dot_fe(r + (uint32_t)l * n_out, out, n_out);
            for (int q = 0; q < u->n_samples; q++)
                c[(size_t)l * row + (size_t)q * n + i] =
                    mul_mod(f, u->projector->rho[l][q]);
        }
    }
    noe_arena_release(&u->arena, mark);
    return c;
}

static bool is_zero(const uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i])
            return false;
    }
    return true;
}

/* A multilinear move vanishes where one operand is 0 exactly if it is not linear in
 * both together; so both coefficient vectors being 0 tells them apart. */
static functional make_functional(noe_universe *u, int move, const int *shapes,
                                  const noe_params *params, int out_shape)
{
    functional f = {0};
    int n_in = u->space->moves[move].n_in;
    bool all_zero = true;
    for (int side = 0; side < n_in; side++) {
        f.side[side] = probe(u, move, shapes, side, params, out_shape);
        size_t n = (size_t)u->n_samples * u->n_elements[shapes[side]];
        all_zero = all_zero && is_zero(f.side[side], NOE_GEN_LANES * n);
    }
    f.is_bilinear = n_in == 2 && all_zero;
    return f;
}

static uint32_t functional_of(noe_universe *u, int move, uint32_t a, uint32_t b,
                              const noe_params *params, int out_shape)
{
    noe_projector *p = u->projector;
    bool binary = u->space->moves[move].n_in == 2;
    int shapes[2] = {u->values[a].shape, binary ? u->values[b].shape : 0};
    uint64_t cut = binary ? 0 : b;
    uint64_t key =
        noe_mix64((cut * NOE_MAX_SHAPES + (uint64_t)shapes[0]) * NOE_MAX_SHAPES *
                      NOE_SPACE_MAX_MOVES +
                  (uint64_t)shapes[1] * NOE_SPACE_MAX_MOVES + (uint64_t)move + 1);
    uint32_t i = noe_key_table_get(p->index, key);
    if (i != UINT32_MAX)
        return i;
    functional f = make_functional(u, move, shapes, params, out_shape);
    i = p->n_functionals;
    NOE_PUSH(p->functionals, p->n_functionals, p->cap_functionals, f);
    noe_key_table_put(p->index, key, i);
    return i;
}

static void add_side(noe_universe *u, uint32_t value, uint32_t functional_id, int side,
                     noe_fingerprint *print)
{
    uint64_t key =
        sketch_key(SKETCH_LINEAR, (uint64_t)functional_id * 2 + (unsigned)side);
    noe_sketch *s = find_sketch(u, value, key);
    if (!s) {
        const uint32_t *c = u->projector->functionals[functional_id].side[side];
        const noe_gen_value *v = &u->values[value];
        size_t n = (size_t)u->n_samples * u->n_elements[v->shape];
        s = add_sketch(u, value, key, 1, NOE_GEN_LANES);
        for (size_t l = 0; l < NOE_GEN_LANES; l++)
            s->v[l] = dot_fe(c + l * n, v->data, n);
    }
    for (int l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = add_mod(print->lane[l], s->v[l]);
}

/* Bilinear sketches. Each returns false where it does not apply. */

typedef struct product {
    int move;
    uint32_t a, b;
    const noe_params *params;
    int out_shape;
} product;

static const uint32_t *channel_u(noe_universe *u, uint32_t value, bool inverse)
{
    uint64_t key = sketch_key(inverse ? SKETCH_INVERSE : SKETCH_U, 0);
    noe_sketch *s = find_sketch(u, value, key);
    if (s)
        return s->v;
    const noe_gen_value *v = &u->values[value];
    size_t n = (size_t)u->n_samples * u->n_elements[v->shape];
    s = add_sketch(u, value, key, n, 1);
    for (size_t i = 0; i < n; i++)
        s->v[i] = inverse ? noe_fe_inv(v->data[i]).u : v->data[i].u;
    return s->v;
}

/* Index into an operand that is broadcast to `out`, of element i of out. */
static uint32_t broadcast_index(const noe_shape *out, const noe_shape *in, uint32_t i)
{
    uint32_t index = 0, stride = 1;
    int lead = out->rank - in->rank;
    for (int axis = out->rank - 1; axis >= lead; axis--) {
        uint32_t dim = (uint32_t)out->dim[axis];
        if (in->dim[axis - lead] != 1)
            index += i % dim * stride;
        stride *= (uint32_t)in->dim[axis - lead];
        i /= dim;
    }
    return index;
}

/* r * (large operand), summed over what the small one is broadcast over. */
static noe_sketch *weighted(noe_universe *u, const product *m, uint32_t large,
                            uint32_t small, bool inverse)
{
    const noe_gen_value *x = &u->values[large], *y = &u->values[small];
    uint64_t what = ((uint64_t)m->out_shape * NOE_MAX_SHAPES + y->shape) * 2 + inverse;
    noe_sketch *s = find_sketch(u, large, sketch_key(SKETCH_MUL, what));
    if (s)
        return s;
    const uint32_t *r = coefficients(u, m->out_shape);
    const uint32_t *data = channel_u(u, large, inverse);
    const noe_shape *out = &u->shapes[m->out_shape];
    uint32_t n = u->n_elements[x->shape], n_out = u->n_elements[m->out_shape];
    uint32_t n_small = u->n_elements[y->shape];
    size_t row = (size_t)u->n_samples * n_small;
    s = add_sketch(u, large, sketch_key(SKETCH_MUL, what), row, NOE_GEN_LANES);
    for (uint32_t i = 0; i < n_out; i++) {
        uint32_t from = broadcast_index(out, &u->shapes[x->shape], i);
        uint32_t to = broadcast_index(out, &u->shapes[y->shape], i);
        for (int q = 0; q < u->n_samples; q++) {
            uint32_t e = data[(size_t)q * n + from];
            for (int l = 0; l < NOE_GEN_LANES; l++) {
                uint32_t c =
                    mul_mod(u->projector->rho[l][q], r[(uint32_t)l * n_out + i]);
                uint32_t *t = &s->v[(size_t)l * row + (size_t)q * n_small + to];
                *t = add_mod(*t, mul_mod(c, e));
            }
        }
    }
    return s;
}

static bool sketch_mul(noe_universe *u, const product *m, noe_fingerprint *print)
{
    bool is_div = u->space->moves[m->move].op == NOE_OP_DIV;
    const noe_gen_value *a = &u->values[m->a], *b = &u->values[m->b];
    bool a_is_large = u->n_elements[a->shape] >= u->n_elements[b->shape];
    uint32_t large = a_is_large ? m->a : m->b, small = a_is_large ? m->b : m->a;
    const noe_sketch *s = weighted(u, m, large, small, is_div && !a_is_large);
    const uint32_t *data = channel_u(u, small, is_div && a_is_large);
    for (size_t l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = dot(s->v + l * s->n, data, s->n);
    return true;
}

/* Sums over the rows (side 0, weighted by samples) or the columns (side 1). */
static noe_sketch *matrix_sum(noe_universe *u, uint32_t value, int side)
{
    uint64_t key = sketch_key(side ? SKETCH_COLUMN : SKETCH_ROW, 0);
    noe_sketch *s = find_sketch(u, value, key);
    if (s)
        return s;
    const noe_projector *p = u->projector;
    const noe_gen_value *v = &u->values[value];
    uint32_t rows = (uint32_t)u->shapes[v->shape].dim[0];
    uint32_t columns = (uint32_t)u->shapes[v->shape].dim[1];
    uint32_t inner = side ? rows : columns;
    size_t row = (size_t)u->n_samples * inner;
    s = add_sketch(u, value, key, row, NOE_GEN_LANES);
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        for (size_t i = 0; i < (size_t)u->n_samples * rows * columns; i++) {
            size_t q = i / (rows * columns);
            size_t h = i / columns % rows, w = i % columns;
            uint32_t c =
                side ? p->u[l][2][1][w] : mul_mod(p->rho[l][q], p->u[l][2][0][h]);
            uint32_t *t = &s->v[(size_t)l * row + q * inner + (side ? h : w)];
            *t = add_mod(*t, mul_mod(c, v->data[i].u));
        }
    }
    return s;
}

static bool sketch_matmul(noe_universe *u, const product *m, noe_fingerprint *print)
{
    if (u->shapes[u->values[m->a].shape].rank != 2 ||
        u->shapes[u->values[m->b].shape].rank != 2)
        return false;
    const noe_sketch *x = matrix_sum(u, m->a, 0), *y = matrix_sum(u, m->b, 1);
    for (size_t l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = dot(x->v + l * x->n, y->v + l * y->n, x->n);
    return true;
}

typedef struct window {
    int64_t kernel[2], stride[2], pad[2], dilation[2], group;
} window;

static window window_of(const noe_universe *u, const product *m)
{
    const noe_shape *w = &u->shapes[u->values[m->b].shape];
    window win = {.group = noe_params_get(NOE_OP_CONV, m->params, NOE_PARAM_GROUP)->i};
    for (int i = 0; i < 2; i++) {
        win.kernel[i] = w->dim[2 + i];
        win.stride[i] =
            noe_params_get(NOE_OP_CONV, m->params, NOE_PARAM_STRIDES)->list[i];
        win.pad[i] = noe_params_get(NOE_OP_CONV, m->params, NOE_PARAM_PADS)->list[i];
        win.dilation[i] =
            noe_params_get(NOE_OP_CONV, m->params, NOE_PARAM_DILATIONS)->list[i];
    }
    return win;
}

/* One lane and sample of sum over n, h, w of U[n] U[h] U[w] x[n, c, h', w'], for
 * channel c and kernel position (i, j). */
static uint32_t shifted_sum(const noe_universe *u, const product *m, const window *win,
                            const noe_fe *x, const int64_t *at, int l)
{
    const noe_shape *in = &u->shapes[u->values[m->a].shape];
    const noe_shape *out = &u->shapes[m->out_shape];
    uint32_t(*coef)[U_LEN] = u->projector->u[l][4];
    uint32_t sum = 0;
    for (int64_t n = 0; n < in->dim[0]; n++) {
        for (int64_t h = 0; h < out->dim[2]; h++) {
            int64_t y = h * win->stride[0] + at[1] * win->dilation[0] - win->pad[0];
            if (y < 0 || y >= in->dim[2])
                continue;
            const noe_fe *line =
                x + ((n * in->dim[1] + at[0]) * in->dim[2] + y) * in->dim[3];
            uint64_t low = 0, high = 0;
            for (int64_t w = 0; w < out->dim[3]; w++) {
                int64_t z = w * win->stride[1] + at[2] * win->dilation[1] - win->pad[1];
                if (z < 0 || z >= in->dim[3])
                    continue;
                uint64_t t = (uint64_t)coef[3][w] * line[z].u;
                low += (uint32_t)t;
                high += t >> 32;
            }
            uint32_t c = mul_mod(coef[0][n], coef[2][h]);
            sum = add_mod(sum, mul_mod(c, reduce_halves(low, high)));
        }
    }
    return sum;
}

static noe_sketch *image_sketch(noe_universe *u, const product *m, const window *win)
{
    uint64_t what = ((uint64_t)m->move * U_LEN + (uint64_t)win->kernel[0]) * U_LEN +
                    (uint64_t)win->kernel[1];
    noe_sketch *s = find_sketch(u, m->a, sketch_key(SKETCH_IMAGE, what));
    if (s)
        return s;
    const noe_gen_value *x = &u->values[m->a];
    size_t channels = (size_t)u->shapes[x->shape].dim[1];
    size_t area = (size_t)(win->kernel[0] * win->kernel[1]);
    size_t row = (size_t)u->n_samples * channels * area;
    s = add_sketch(u, m->a, sketch_key(SKETCH_IMAGE, what), row, NOE_GEN_LANES);
    for (size_t i = 0; i < row; i++) {
        size_t q = i / (channels * area);
        int64_t at[3] = {(int64_t)(i / area % channels),
                         (int64_t)(i % area) / win->kernel[1],
                         (int64_t)(i % area) % win->kernel[1]};
        for (int l = 0; l < NOE_GEN_LANES; l++) {
            uint32_t f =
                shifted_sum(u, m, win, x->data + q * u->n_elements[x->shape], at, l);
            s->v[(size_t)l * row + i] = mul_mod(u->projector->rho[l][q], f);
        }
    }
    return s;
}

/* Kernels summed over the output channels of each group; laid out by input channel. */
static noe_sketch *kernel_sketch(noe_universe *u, const product *m, const window *win)
{
    noe_sketch *s =
        find_sketch(u, m->b, sketch_key(SKETCH_KERNEL, (uint64_t)win->group));
    if (s)
        return s;
    const noe_gen_value *w = &u->values[m->b];
    const noe_shape *shape = &u->shapes[w->shape];
    size_t outputs = (size_t)shape->dim[0], per_group = outputs / (size_t)win->group;
    size_t size = (size_t)(shape->dim[1] * shape->dim[2] * shape->dim[3]);
    size_t sample = (size_t)win->group * size;
    size_t row = (size_t)u->n_samples * sample;
    s = add_sketch(u, m->b, sketch_key(SKETCH_KERNEL, (uint64_t)win->group), row,
                   NOE_GEN_LANES);
    for (size_t i = 0; i < (size_t)u->n_samples * outputs * size; i++) {
        size_t q = i / (outputs * size), o = i / size % outputs;
        size_t to = q * sample + o / per_group * size + i % size;
        for (int l = 0; l < NOE_GEN_LANES; l++) {
            uint32_t *t = &s->v[(size_t)l * row + to];
            *t = add_mod(*t, mul_mod(u->projector->u[l][4][1][o], w->data[i].u));
        }
    }
    return s;
}

static bool sketch_conv(noe_universe *u, const product *m, noe_fingerprint *print)
{
    if (u->shapes[u->values[m->a].shape].rank != 4)
        return false;
    window win = window_of(u, m);
    const noe_sketch *x = image_sketch(u, m, &win), *w = kernel_sketch(u, m, &win);
    NOE_ASSERT(x->n == w->n);
    for (size_t l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = dot(x->v + l * x->n, w->v + l * w->n, x->n);
    return true;
}

typedef bool sketch_fn(noe_universe *u, const product *m, noe_fingerprint *print);
static sketch_fn *const bilinear[NOE_OP_COUNT] = {
    [NOE_OP_MUL] = sketch_mul,
    [NOE_OP_DIV] = sketch_mul,
    [NOE_OP_MATMUL] = sketch_matmul,
    [NOE_OP_CONV] = sketch_conv,
};

static bool sketch(noe_universe *u, const product *m, noe_fingerprint *print)
{
    const noe_move *move = &u->space->moves[m->move];
    if (bilinear[move->op])
        return bilinear[move->op](u, m, print);
    if (!noe_op_has(move->op, NOE_TRAIT_LINEAR))
        return false;
    uint32_t f = functional_of(u, m->move, m->a, m->b, m->params, m->out_shape);
    if (u->projector->functionals[f].is_bilinear)
        return false;
    *print = (noe_fingerprint){{0}};
    add_side(u, m->a, f, 0, print);
    if (move->n_in == 2)
        add_side(u, m->b, f, 1, print);
    return true;
}

noe_fingerprint noe_project_move(noe_universe *u, int move, uint32_t a, uint32_t b,
                                 const noe_params *params, int out_shape)
{
    product m = {move, a, b, params, out_shape};
    noe_fingerprint print = {{0}};
    if (u->use_sketches && sketch(u, &m, &print))
        return print;
    noe_arena_mark mark = noe_arena_save(&u->arena);
    noe_fe *out = noe_arena_alloc(
        &u->arena, (size_t)u->n_samples * u->n_elements[out_shape] * sizeof *out);
    noe_universe_eval(u, move, a, b, params, out_shape, out);
    print = noe_project(u, out_shape, out);
    noe_arena_release(&u->arena, mark);
    return print;
}
