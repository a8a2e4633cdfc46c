/* SPDX-License-Identifier: Apache-2.0
 *
 * Sketches: small vectors that belong to values, from which fingerprints of results
 * follow (fingerprint.c says how).
 */
#include "generator/projector.h"

#include <stdlib.h>

#define FIRST_SLOTS (1u << 12)

/* A vector that belongs to a value; lanes one after the other, each of n entries. */
typedef struct sketch {
    uint32_t n;
    uint32_t v[];
} sketch;

typedef enum sketch_kind {
    SKETCH_FORM, /* a linear form of the value: one entry */
    SKETCH_MUL,
    SKETCH_U, /* the u channel; one lane */
    SKETCH_INVERSE,
    SKETCH_ROW,
    SKETCH_COLUMN,
    SKETCH_IMAGE,
    SKETCH_KERNEL,
    SKETCH_CHOSEN, /* one branch of a selection: one entry */
    SKETCH_DATA,   /* elements */
    SKETCH_KINDS,
} sketch_kind;

typedef struct slot {
    uint64_t key; /* 0: free */
    sketch *sketch;
} slot;

struct noe_sketcher {
    const noe_universe *u;
    noe_arena arena;
    slot *slots;
    uint32_t n_slots, n_used;
    noe_fe *scratch; /* one value */
};

/* The inner loop of nearly all sketches. */
NOE_FOR_VECTORS static uint32_t dot(const uint32_t *a, const uint32_t *b, size_t n)
{
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t t = (uint64_t)a[i] * b[i];
        low += (uint32_t)t;
        high += t >> 32;
    }
    return reduce_halves(low, high);
}

/* out[i] := a[i] * c */
static void multiply_by(uint32_t *out, const uint32_t *a, uint32_t c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = mul_mod(a[i], c);
}

/* out[i] += a[i] * c */
static void add_multiple(uint32_t *out, const uint32_t *a, uint32_t c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)(((uint64_t)a[i] * c + out[i]) % P);
}

/* out[i] := a[i] * b[i] */
static void multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = mul_mod(a[i], b[i]);
}

/* Sketches at values */

noe_sketcher *noe_sketcher_new(const noe_universe *u)
{
    noe_sketcher *s = noe_calloc(1, sizeof *s);
    s->u = u;
    s->n_slots = FIRST_SLOTS;
    s->slots = noe_calloc(s->n_slots, sizeof *s->slots);
    s->scratch = noe_malloc((size_t)u->n_samples * (size_t)u->space->max_elements *
                            sizeof *s->scratch);
    return s;
}

void noe_sketcher_free(noe_sketcher *s)
{
    if (!s)
        return;
    noe_arena_clear(&s->arena);
    free(s->slots);
    free(s->scratch);
    free(s);
}

/* Only between two projections: within one, several vectors are in use. */
static void drop_if_full(noe_sketcher *s)
{
    if (s->arena.used_bytes < NOE_SKETCH_BYTES)
        return;
    noe_arena_clear(&s->arena);
    memset(s->slots, 0, s->n_slots * sizeof *s->slots);
    s->n_used = 0;
}

static uint64_t sketch_key(sketch_kind kind, uint64_t what, uint32_t value)
{
    return ((what * SKETCH_KINDS + kind + 1) << 24) | value;
}

static slot *find_slot(slot *slots, uint32_t n_slots, uint64_t key)
{
    uint64_t mask = n_slots - 1, i = noe_mix64(key) & mask;
    while (slots[i].key && slots[i].key != key)
        i = (i + 1) & mask;
    return &slots[i];
}

static sketch *find_sketch(const noe_sketcher *s, uint64_t key)
{
    return find_slot(s->slots, s->n_slots, key)->sketch;
}

static void grow_slots(noe_sketcher *s)
{
    uint32_t n = s->n_slots * 2;
    slot *slots = noe_calloc(n, sizeof *slots);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].key)
            *find_slot(slots, n, s->slots[i].key) = s->slots[i];
    }
    free(s->slots);
    s->slots = slots;
    s->n_slots = n;
}

/* A new vector of zeros. */
static sketch *add_sketch(noe_sketcher *s, uint64_t key, size_t n, size_t n_lanes)
{
    sketch *new =
        noe_arena_zalloc(&s->arena, sizeof *new + n *n_lanes * sizeof new->v[0]);
    new->n = (uint32_t)n;
    if (s->n_used * 2 >= s->n_slots)
        grow_slots(s);
    *find_slot(s->slots, s->n_slots, key) = (slot){key, new};
    s->n_used++;
    return new;
}

static noe_tensor_fe sample_of(const noe_universe *u, uint32_t value,
                               const noe_fe *data, int q)
{
    int shape = u->values[value].shape;
    return (noe_tensor_fe){u->shapes[shape], (noe_fe *)(uintptr_t)data +
                                                 (size_t)q * u->n_elements[shape]};
}

static void eval_move(noe_sketcher *s, int move, const noe_params *params,
                      const uint32_t *operands, int out_shape, noe_fe *out)
{
    const noe_universe *u = s->u;
    const noe_move *m = &u->space->moves[move];
    const noe_fe *data[NOE_SPACE_MAX_IN];
    for (int k = 0; k < m->n_in; k++)
        data[k] = noe_sketcher_data(s, operands[k]);
    for (int q = 0; q < u->n_samples; q++) {
        noe_tensor_fe in[NOE_SPACE_MAX_IN];
        for (int k = 0; k < m->n_in; k++)
            in[k] = sample_of(u, operands[k], data[k], q);
        noe_tensor_fe t = {u->shapes[out_shape],
                           out + (size_t)q * u->n_elements[out_shape]};
        noe_eval_fe(&u->field, m->op, params, in, m->n_in, &t);
    }
}

/* Values without data are made again from their operands, which lie below level N - 1
 * and have theirs. */
const noe_fe *noe_sketcher_data(noe_sketcher *s, uint32_t value)
{
    const noe_universe *u = s->u;
    const noe_gen_value *v = &u->values[value];
    if (v->data)
        return v->data;
    uint64_t key = sketch_key(SKETCH_DATA, 0, value);
    sketch *old = find_sketch(s, key);
    if (!old) {
        const noe_enode *e = &u->enodes[u->classes[value].first - 1];
        noe_params params = noe_enode_params(u, e);
        uint32_t in[NOE_SPACE_MAX_IN];
        noe_enode_operands(u, e, in);
        size_t n = (size_t)u->n_samples * u->n_elements[v->shape];
        old = add_sketch(s, key, n, sizeof(noe_fe) / sizeof old->v[0]);
        eval_move(s, e->move, &params, in, v->shape, (noe_fe *)(void *)old->v);
    }
    return (const noe_fe *)(const void *)old->v;
}

void noe_sketcher_eval(noe_sketcher *s, const noe_application *p, const uint32_t *in,
                       noe_fe *out)
{
    drop_if_full(s);
    eval_move(s, p->move, p->params, in, p->shape, out);
}

static const sketch *channel_u(noe_sketcher *s, uint32_t value, bool inverse)
{
    uint64_t key = sketch_key(inverse ? SKETCH_INVERSE : SKETCH_U, 0, value);
    sketch *old = find_sketch(s, key);
    if (old)
        return old;
    const noe_fe *data = noe_sketcher_data(s, value);
    size_t n = (size_t)s->u->n_samples * s->u->n_elements[s->u->values[value].shape];
    sketch *new = add_sketch(s, key, n, 1);
    for (size_t i = 0; i < n; i++)
        new->v[i] = inverse ? noe_fe_reciprocal(&s->u->field, data[i]).u : data[i].u;
    return new;
}

static void add_form(noe_sketcher *s, uint32_t value, uint32_t form_id,
                     noe_fingerprint *print)
{
    uint64_t key = sketch_key(SKETCH_FORM, form_id, value);
    sketch *f = find_sketch(s, key);
    if (!f) {
        const form *c = &s->u->projector->forms[form_id];
        const sketch *x = channel_u(s, value, false);
        f = add_sketch(s, key, 1, NOE_GEN_LANES);
        for (size_t l = 0; l < NOE_GEN_LANES; l++)
            f->v[l] = dot(c->v + l * c->n, x->v, c->n);
    }
    for (int l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = add_mod(print->lane[l], f->v[l]);
}

/* Sketches of several operands. Each returns false where it does not apply. */

typedef struct product {
    const noe_application *p;
    uint32_t a, b, c;
} product;

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
static const sketch *weighted(noe_sketcher *s, const product *m, uint32_t large,
                              uint32_t small, bool inverse)
{
    const noe_universe *u = s->u;
    const noe_gen_value *x = &u->values[large], *y = &u->values[small];
    int out_shape = m->p->shape;
    uint64_t what = ((uint64_t)out_shape * NOE_MAX_SHAPES + y->shape) * 2 + inverse;
    uint64_t key = sketch_key(SKETCH_MUL, what, large);
    sketch *w = find_sketch(s, key);
    if (w)
        return w;
    const uint32_t *r = u->projector->by_shape[out_shape];
    const uint32_t *data = channel_u(s, large, inverse)->v;
    const noe_shape *out = &u->shapes[out_shape];
    uint32_t n = u->n_elements[x->shape], n_out = u->n_elements[out_shape];
    uint32_t n_small = u->n_elements[y->shape];
    size_t row = (size_t)u->n_samples * n_small, row_out = (size_t)u->n_samples * n_out;
    w = add_sketch(s, key, row, NOE_GEN_LANES);
    if (n == n_out && n_small == n_out) {
        for (size_t l = 0; l < NOE_GEN_LANES; l++)
            multiply(w->v + l * row, r + l * row, data, row);
        return w;
    }
    for (uint32_t i = 0; i < n_out; i++) {
        uint32_t from = broadcast_index(out, &u->shapes[x->shape], i);
        uint32_t to = broadcast_index(out, &u->shapes[y->shape], i);
        for (size_t q = 0; q < (size_t)u->n_samples; q++) {
            uint32_t e = data[q * n + from];
            for (size_t l = 0; l < NOE_GEN_LANES; l++) {
                uint32_t *t = &w->v[l * row + q * n_small + to];
                *t = add_mod(*t, mul_mod(r[l * row_out + q * n_out + i], e));
            }
        }
    }
    return w;
}

static noe_fingerprint dot_sketches(const sketch *x, const uint32_t *y,
                                    bool y_has_lanes)
{
    noe_fingerprint print;
    for (size_t l = 0; l < NOE_GEN_LANES; l++)
        print.lane[l] = dot(x->v + l * x->n, y + (y_has_lanes ? l * x->n : 0), x->n);
    return print;
}

static bool sketch_mul(noe_sketcher *s, const product *m, noe_fingerprint *print)
{
    const noe_universe *u = s->u;
    bool is_div = u->space->moves[m->p->move].op == NOE_OP_DIV;
    const noe_gen_value *a = &u->values[m->a], *b = &u->values[m->b];
    bool a_is_large = u->n_elements[a->shape] >= u->n_elements[b->shape];
    uint32_t large = a_is_large ? m->a : m->b, small = a_is_large ? m->b : m->a;
    const sketch *x = weighted(s, m, large, small, is_div && !a_is_large);
    *print = dot_sketches(x, channel_u(s, small, is_div && a_is_large)->v, false);
    return true;
}

/* Sums over the rows (side 0, weighted by samples) or the columns (side 1). */
static const sketch *matrix_sum(noe_sketcher *s, uint32_t value, int side)
{
    const noe_universe *u = s->u;
    uint64_t key = sketch_key(side ? SKETCH_COLUMN : SKETCH_ROW, 0, value);
    sketch *sum = find_sketch(s, key);
    if (sum)
        return sum;
    const noe_projector *p = u->projector;
    const noe_shape *shape = &u->shapes[u->values[value].shape];
    const uint32_t *x = channel_u(s, value, false)->v;
    uint32_t rows = (uint32_t)shape->dim[0], columns = (uint32_t)shape->dim[1];
    uint32_t inner = side ? rows : columns;
    size_t row = (size_t)u->n_samples * inner;
    sum = add_sketch(s, key, row, NOE_GEN_LANES);
    for (int l = 0; l < NOE_GEN_LANES; l++) {
        for (size_t i = 0; i < (size_t)u->n_samples * rows * columns; i++) {
            size_t q = i / (rows * columns);
            size_t h = i / columns % rows, w = i % columns;
            uint32_t c =
                side ? p->u[l][2][1][w] : mul_mod(p->rho[l][q], p->u[l][2][0][h]);
            uint32_t *t = &sum->v[(size_t)l * row + q * inner + (side ? h : w)];
            *t = add_mod(*t, mul_mod(c, x[i]));
        }
    }
    return sum;
}

static bool sketch_matmul(noe_sketcher *s, const product *m, noe_fingerprint *print)
{
    const noe_universe *u = s->u;
    if (u->shapes[u->values[m->a].shape].rank != 2 ||
        u->shapes[u->values[m->b].shape].rank != 2)
        return false;
    const sketch *x = matrix_sum(s, m->a, 0), *y = matrix_sum(s, m->b, 1);
    *print = dot_sketches(x, y->v, true);
    return true;
}

static bool is_same_image(const window *a, const window *b)
{
    for (int i = 0; i < 2; i++) {
        if (a->kernel[i] != b->kernel[i] || a->stride[i] != b->stride[i] ||
            a->pad[i] != b->pad[i] || a->dilation[i] != b->dilation[i])
            return false;
    }
    return true;
}

/* Number of the convolution's window. */
static uint32_t intern_window(noe_projector *p, const noe_params *params,
                              const noe_shape *kernel)
{
    window win = {.group = noe_params_get(NOE_OP_CONV, params, NOE_PARAM_GROUP)->i,
                  .image = p->n_windows};
    for (int i = 0; i < 2; i++) {
        win.kernel[i] = kernel->dim[2 + i];
        win.stride[i] = noe_params_get(NOE_OP_CONV, params, NOE_PARAM_STRIDES)->list[i];
        win.pad[i] = noe_params_get(NOE_OP_CONV, params, NOE_PARAM_PADS)->list[i];
        win.dilation[i] =
            noe_params_get(NOE_OP_CONV, params, NOE_PARAM_DILATIONS)->list[i];
    }
    for (uint32_t i = 0; i < p->n_windows; i++) {
        const window *old = &p->windows[i];
        if (!is_same_image(old, &win))
            continue;
        if (old->group == win.group)
            return i;
        win.image = old->image;
    }
    NOE_PUSH(p->windows, p->n_windows, p->cap_windows, win);
    return p->n_windows - 1;
}

/* Sums over images, then over columns, then over rows of U[n] U[h] U[w] x[n, c, h',
 * w'], of one lane and sample: to[c, i, j] for channel c and kernel position (i, j). */
typedef struct shifted {
    const noe_shape *in, *out;
    const window *win;
    uint32_t (*u)[U_LEN];      /* of the lane, by axis of the output */
    uint32_t *image, *columns; /* scratch: [c, h', w'], [c, h', j] */
} shifted;

static void sum_images(const shifted *s, const uint32_t *x)
{
    size_t n = (size_t)(s->in->dim[1] * s->in->dim[2] * s->in->dim[3]);
    multiply_by(s->image, x, s->u[0][0], n);
    for (int64_t k = 1; k < s->in->dim[0]; k++)
        add_multiple(s->image, x + (size_t)k * n, s->u[0][k], n);
}

static uint32_t sum_shifted(const uint32_t *x, int64_t n, int64_t step,
                            const uint32_t *u, int64_t n_out, int64_t stride,
                            int64_t offset)
{
    uint64_t low = 0, high = 0;
    for (int64_t k = 0; k < n_out; k++) {
        int64_t at = k * stride + offset;
        if (at < 0 || at >= n)
            continue;
        uint64_t t = (uint64_t)u[k] * x[at * step];
        low += (uint32_t)t;
        high += t >> 32;
    }
    return reduce_halves(low, high);
}

static void sum_shifts(const shifted *s, const uint32_t *x, uint32_t *to)
{
    const window *w = s->win;
    int64_t width = s->in->dim[3], height = s->in->dim[2], channels = s->in->dim[1];
    sum_images(s, x);
    for (int64_t line = 0; line < channels * height; line++) {
        for (int64_t j = 0; j < w->kernel[1]; j++)
            s->columns[line * w->kernel[1] + j] =
                sum_shifted(s->image + line * width, width, 1, s->u[3], s->out->dim[3],
                            w->stride[1], j * w->dilation[1] - w->pad[1]);
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < w->kernel[0]; i++) {
            for (int64_t j = 0; j < w->kernel[1]; j++)
                *to++ = sum_shifted(s->columns + c * height * w->kernel[1] + j, height,
                                    w->kernel[1], s->u[2], s->out->dim[2], w->stride[0],
                                    i * w->dilation[0] - w->pad[0]);
        }
    }
}

static const sketch *image_sketch(noe_sketcher *s, const product *m, const window *win)
{
    const noe_universe *u = s->u;
    uint64_t key = sketch_key(SKETCH_IMAGE, win->image, m->a);
    sketch *sum = find_sketch(s, key);
    if (sum)
        return sum;
    int shape = u->values[m->a].shape;
    const noe_shape *in = &u->shapes[shape];
    const uint32_t *x = channel_u(s, m->a, false)->v;
    size_t one = (size_t)(in->dim[1] * win->kernel[0] * win->kernel[1]);
    size_t row = (size_t)u->n_samples * one;
    shifted part = {.in = in, .out = &u->shapes[m->p->shape], .win = win};
    part.image = noe_malloc((u->n_elements[shape] + (size_t)(in->dim[1] * in->dim[2]) *
                                                        (size_t)win->kernel[1]) *
                            sizeof *part.image);
    part.columns = part.image + u->n_elements[shape];
    sum = add_sketch(s, key, row, NOE_GEN_LANES);
    for (size_t l = 0; l < NOE_GEN_LANES; l++) {
        part.u = u->projector->u[l][4];
        for (size_t q = 0; q < (size_t)u->n_samples; q++) {
            uint32_t *to = sum->v + l * row + q * one;
            sum_shifts(&part, x + q * u->n_elements[shape], to);
            multiply_by(to, to, u->projector->rho[l][q], one);
        }
    }
    free(part.image);
    return sum;
}

/* Kernels summed over the output channels of each group; laid out by input channel. */
static const sketch *kernel_sketch(noe_sketcher *s, const product *m, const window *win)
{
    const noe_universe *u = s->u;
    uint64_t key = sketch_key(SKETCH_KERNEL, (uint64_t)win->group, m->b);
    sketch *sum = find_sketch(s, key);
    if (sum)
        return sum;
    const noe_shape *shape = &u->shapes[u->values[m->b].shape];
    const uint32_t *w = channel_u(s, m->b, false)->v;
    size_t outputs = (size_t)shape->dim[0], per_group = outputs / (size_t)win->group;
    size_t size = (size_t)(shape->dim[1] * shape->dim[2] * shape->dim[3]);
    size_t sample = (size_t)win->group * size;
    size_t row = (size_t)u->n_samples * sample;
    sum = add_sketch(s, key, row, NOE_GEN_LANES);
    for (size_t i = 0; i < (size_t)u->n_samples * outputs * size; i++) {
        size_t q = i / (outputs * size), o = i / size % outputs;
        size_t to = q * sample + o / per_group * size + i % size;
        for (int l = 0; l < NOE_GEN_LANES; l++) {
            uint32_t *t = &sum->v[(size_t)l * row + to];
            *t = add_mod(*t, mul_mod(u->projector->u[l][4][1][o], w[i]));
        }
    }
    return sum;
}

static bool sketch_conv(noe_sketcher *s, const product *m, noe_fingerprint *print)
{
    const noe_universe *u = s->u;
    if (u->shapes[u->values[m->a].shape].rank != 4)
        return false;
    const window *win = &u->projector->windows[m->p->functional];
    const sketch *x = image_sketch(s, m, win), *w = kernel_sketch(s, m, win);
    NOE_ASSERT(x->n == w->n);
    *print = dot_sketches(x, w->v, true);
    return true;
}

/* What a branch gives to where: r * (elements of the branch where the condition is
 * `side`), summed up. */
static const sketch *chosen(noe_sketcher *s, const product *m, uint32_t branch,
                            bool side)
{
    const noe_universe *u = s->u;
    int out_shape = m->p->shape;
    uint64_t what = ((uint64_t)m->a * NOE_MAX_SHAPES + (uint64_t)out_shape) * 2 + side;
    uint64_t key = sketch_key(SKETCH_CHOSEN, what, branch);
    sketch *sum = find_sketch(s, key);
    if (sum)
        return sum;
    const noe_shape *out = &u->shapes[out_shape];
    const noe_shape *c_shape = &u->shapes[u->values[m->a].shape];
    const noe_shape *x_shape = &u->shapes[u->values[branch].shape];
    const uint32_t *r = u->projector->by_shape[out_shape];
    const uint32_t *x = channel_u(s, branch, false)->v;
    const noe_fe *c = noe_sketcher_data(s, m->a);
    size_t n = u->n_elements[out_shape], n_c = u->n_elements[u->values[m->a].shape];
    size_t n_x = u->n_elements[u->values[branch].shape];
    size_t row = (size_t)u->n_samples * n;
    sum = add_sketch(s, key, 1, NOE_GEN_LANES);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = broadcast_index(out, x_shape, i);
        uint32_t at = broadcast_index(out, c_shape, i);
        for (size_t q = 0; q < (size_t)u->n_samples; q++) {
            if (noe_fe_is_true(&u->field, c[q * n_c + at]) != side)
                continue;
            for (size_t l = 0; l < NOE_GEN_LANES; l++)
                sum->v[l] = add_mod(sum->v[l],
                                    mul_mod(r[l * row + q * n + i], x[q * n_x + from]));
        }
    }
    return sum;
}

static bool sketch_where(noe_sketcher *s, const product *m, noe_fingerprint *print)
{
    const sketch *x = chosen(s, m, m->b, true), *y = chosen(s, m, m->c, false);
    for (int l = 0; l < NOE_GEN_LANES; l++)
        print->lane[l] = add_mod(x->v[l], y->v[l]);
    return true;
}

typedef bool sketch_fn(noe_sketcher *s, const product *m, noe_fingerprint *print);
static sketch_fn *const multilinear[NOE_OP_COUNT] = {
    [NOE_OP_MUL] = sketch_mul,       [NOE_OP_DIV] = sketch_mul,
    [NOE_OP_MATMUL] = sketch_matmul, [NOE_OP_CONV] = sketch_conv,
    [NOE_OP_WHERE] = sketch_where,
};

void noe_projector_prepare(noe_universe *u, noe_application *p, const int *shapes)
{
    const noe_move *m = &u->space->moves[p->move];
    for (int i = 0; i < m->n_in; i++)
        noe_projector_prepare_shape(u, shapes[i]);
    noe_projector_prepare_shape(u, p->shape);
    p->functional = NOE_NO_OPERAND;
    if (m->op == NOE_OP_CONV && u->shapes[shapes[1]].rank == 4)
        p->functional = intern_window(u->projector, p->params, &u->shapes[shapes[1]]);
    if (multilinear[m->op] || !noe_op_has(m->op, NOE_TRAIT_LINEAR))
        return;
    uint32_t f = noe_functional_of(u, p, shapes);
    if (!u->projector->functionals[f].is_bilinear)
        p->functional = f;
}

static bool project_sketch(noe_sketcher *s, const product *m, noe_fingerprint *print)
{
    const noe_move *move = &s->u->space->moves[m->p->move];
    if (multilinear[move->op])
        return multilinear[move->op](s, m, print);
    if (m->p->functional == NOE_NO_OPERAND)
        return false;
    const functional *f = &s->u->projector->functionals[m->p->functional];
    add_form(s, m->a, f->form[0], print);
    if (move->n_in == 2)
        add_form(s, m->b, f->form[1], print);
    return true;
}

noe_fingerprint noe_sketcher_project(noe_sketcher *s, const noe_application *p,
                                     const uint32_t *in)
{
    product m = {p, in[0], in[1], in[2]};
    noe_fingerprint print = {{0}};
    drop_if_full(s);
    if (s->u->use_sketches && project_sketch(s, &m, &print))
        return print;
    eval_move(s, p->move, p->params, in, p->shape, s->scratch);
    return noe_project(s->u, p->shape, s->scratch);
}
