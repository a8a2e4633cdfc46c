/* SPDX-License-Identifier: Apache-2.0
 *
 * Index definitions of the operators that move data, and of constants.
 */
#include "verifier/lia_index_tools.h"

noe_fit noe_index_type_transpose(noe_index_call *c)
{
    const noe_symbolic *perm = param(c, NOE_PARAM_PERM);
    const noe_dims *x = &c->in[0];
    unsigned seen = 0;
    if (perm->n != x->rank)
        return NOE_FIT_NO;
    c->out.rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        int64_t axis;
        FIT(literal(c, perm->list[i], &axis));
        if (axis < 0 || axis >= x->rank || (seen >> axis & 1))
            return NOE_FIT_NO;
        seen |= 1u << axis;
        c->out.dim[i] = x->dim[axis];
    }
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_transpose(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    for (int i = 0; i < c->out.rank; i++) {
        int64_t axis = 0;
        (void)noe_poly_is_int(c->a->terms, param(c, NOE_PARAM_PERM)->list[i], &axis);
        at[axis] = index[i];
    }
    return c->operand(c->ctx, 0, at);
}

static noe_fit shape_param(noe_index_call *c, int64_t min)
{
    const noe_symbolic *v = param(c, NOE_PARAM_SHAPE);
    if (v->n > NOE_MAX_RANK)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_SHAPE, v->n, min));
    c->out.rank = v->n;
    memcpy(c->out.dim, v->list, (size_t)v->n * sizeof *v->list);
    return NOE_FIT_YES;
}

static noe_poly product_of(noe_algebra *a, int n, const noe_poly *dim)
{
    noe_poly p = noe_poly_int(a->terms, 1);
    for (int i = 0; i < n; i++)
        p = noe_poly_mul(a->terms, p, dim[i]);
    return p;
}

noe_fit noe_index_type_reshape(noe_index_call *c)
{
    FIT(shape_param(c, 0));
    return say(c, eq(c, product_of(c->a, c->in[0].rank, c->in[0].dim),
                     product_of(c->a, c->out.rank, c->out.dim)));
}

static bool provably_equal(noe_algebra *a, noe_poly x, noe_poly y)
{
    noe_formula same = noe_formula_eq(a->terms, x, y);
    return same != NOE_FORMULA_FALSE_ID && noe_query_implies(a->query, NULL, 0, same);
}

/* Smallest n, m >= 1 with equal products of the first n and m dimensions; 0: none. */
static int first_block(noe_algebra *a, int nx, const noe_poly *x, int ny,
                       const noe_poly *y, int *m)
{
    for (int size = 2; size < nx + ny; size++) {
        for (int n = 1; n < size && n <= nx; n++) {
            *m = size - n;
            if (*m <= ny && product_of(a, n, x) == product_of(a, *m, y))
                return n;
        }
    }
    if (nx > 0 && ny > 0 && provably_equal(a, x[0], y[0])) {
        *m = 1;
        return 1;
    }
    return 0;
}

/* Row-major position of index in dims, and back. */
static noe_poly flatten(noe_algebra *a, int n, const noe_poly *dim,
                        const noe_poly *index)
{
    noe_poly flat = noe_poly_int(a->terms, 0);
    for (int i = 0; i < n; i++)
        flat = noe_poly_add(a->terms, noe_poly_mul(a->terms, flat, dim[i]), index[i]);
    return flat;
}

static void unflatten(noe_algebra *a, int n, const noe_poly *dim, noe_poly flat,
                      noe_poly *index)
{
    for (int i = n - 1; i > 0; i--) {
        index[i] = noe_poly_mod(a->terms, flat, dim[i]);
        flat = noe_poly_div(a->terms, flat, dim[i]);
    }
    if (n > 0)
        index[0] = flat;
}

static bool is_one(noe_algebra *a, noe_poly p)
{
    int64_t i;
    return noe_poly_is_int(a->terms, p, &i) && i == 1;
}

void noe_index_reshape(noe_algebra *a, const noe_dims *from, const noe_dims *to,
                       const noe_poly *index, noe_poly *out)
{
    /* Axes of size 1 do not count. */
    noe_poly x[NOE_MAX_RANK], ix[NOE_MAX_RANK], y[NOE_MAX_RANK], iy[NOE_MAX_RANK];
    int at[NOE_MAX_RANK], nx = 0, ny = 0, i = 0, j = 0;
    for (int k = 0; k < from->rank; k++) {
        if (!is_one(a, from->dim[k])) {
            x[nx] = from->dim[k];
            ix[nx++] = index[k];
        }
    }
    for (int k = 0; k < to->rank; k++) {
        out[k] = noe_poly_int(a->terms, 0);
        if (!is_one(a, to->dim[k])) {
            y[ny] = to->dim[k];
            at[ny++] = k;
        }
    }
    while (i < nx || j < ny) {
        int m = ny - j, n = first_block(a, nx - i, x + i, ny - j, y + j, &m);
        if (n == 0) {
            n = nx - i;
            m = ny - j;
        }
        unflatten(a, m, y + j, flatten(a, n, x + i, ix + i), iy + j);
        i += n;
        j += m;
    }
    for (int k = 0; k < ny; k++)
        out[at[k]] = iy[k];
}

const noe_expr *noe_index_element_reshape(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    noe_index_reshape(c->a, &c->out, &c->in[0], index, at);
    return c->operand(c->ctx, 0, at);
}

noe_fit noe_index_type_concat(noe_index_call *c)
{
    const noe_dims *x = &c->in[0], *y = &c->in[1];
    int axis;
    if (x->rank != y->rank)
        return NOE_FIT_NO;
    FIT(axis_within(c, param(c, NOE_PARAM_AXIS)->number, x->rank, &axis));
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            FIT(say(c, eq(c, x->dim[i], y->dim[i])));
    }
    c->out = *x;
    c->out.dim[axis] = add(c, x->dim[axis], y->dim[axis]);
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_concat(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    int axis = 0;
    (void)axis_within(c, param(c, NOE_PARAM_AXIS)->number, c->in[0].rank, &axis);
    noe_poly seam = c->in[0].dim[axis];
    memcpy(at, index, (size_t)c->out.rank * sizeof *at);
    const noe_expr *first = c->operand(c->ctx, 0, at);
    at[axis] = sub(c, index[axis], seam);
    const noe_expr *second = c->operand(c->ctx, 1, at);
    return noe_expr_choose(c->a, ge(c, sub(c, seam, num(c, 1)), index[axis]), first,
                           second);
}

/* A slice bound as the operator takes it: negative ones count from the end. */
static noe_poly clamp_bound(noe_index_call *c, noe_poly bound, noe_poly dim)
{
    noe_terms *t = c->a->terms;
    noe_poly from_end = noe_poly_max(t, add(c, bound, dim), num(c, 0));
    return noe_poly_select(t, bound, noe_poly_min(t, bound, dim), from_end);
}

static noe_fit slice_bounds(noe_index_call *c, noe_poly dim, noe_poly *start,
                            noe_poly *end)
{
    const noe_symbolic *s = param(c, NOE_PARAM_START), *e = param(c, NOE_PARAM_END);
    *start = s->is_stored ? s->number : clamp_bound(c, s->number, dim);
    *end = e->is_stored ? e->number : clamp_bound(c, e->number, dim);
    if (!e->is_stored)
        *end = noe_poly_max(c->a->terms, *end, *start);
    return NOE_FIT_YES;
}

noe_fit noe_index_type_slice(noe_index_call *c)
{
    const noe_dims *x = &c->in[0];
    int axis;
    noe_poly start, end, step = param(c, NOE_PARAM_STEP)->number;
    FIT(axis_within(c, param(c, NOE_PARAM_AXIS)->number, x->rank, &axis));
    FIT(slice_bounds(c, x->dim[axis], &start, &end));
    FIT(say(c, ge(c, step, num(c, 1))));
    FIT(say(c, ge(c, start, num(c, 0))));
    FIT(say(c, ge(c, end, start)));
    FIT(say(c, ge(c, x->dim[axis], end)));
    c->out = *x;
    /* ceil((end - start) / step), also where that is 0 */
    c->out.dim[axis] = noe_poly_div(
        c->a->terms, add(c, sub(c, end, start), sub(c, step, num(c, 1))), step);
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_slice(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK], start, end;
    int axis = 0;
    (void)axis_within(c, param(c, NOE_PARAM_AXIS)->number, c->in[0].rank, &axis);
    (void)slice_bounds(c, c->in[0].dim[axis], &start, &end);
    memcpy(at, index, (size_t)c->out.rank * sizeof *at);
    at[axis] = add(c, start, mul(c, index[axis], param(c, NOE_PARAM_STEP)->number));
    return c->operand(c->ctx, 0, at);
}

noe_fit noe_index_type_pad(noe_index_call *c)
{
    const noe_dims *x = &c->in[0];
    const noe_symbolic *pads = param(c, NOE_PARAM_PADS);
    FIT(want_list(c, NOE_PARAM_PADS, 2 * x->rank, 0));
    c->out = *x;
    for (int i = 0; i < x->rank; i++)
        c->out.dim[i] =
            add(c, x->dim[i], add(c, pads->list[i], pads->list[x->rank + i]));
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_pad(noe_index_call *c, const noe_poly *index)
{
    const noe_dims *x = &c->in[0];
    const noe_symbolic *pads = param(c, NOE_PARAM_PADS);
    noe_poly at[NOE_MAX_RANK];
    int64_t pad;
    for (int i = 0; i < x->rank; i++)
        at[i] = sub(c, index[i], pads->list[i]);
    const noe_expr *e = c->operand(c->ctx, 0, at);
    for (int i = 0; i < x->rank; i++) {
        if (!noe_poly_is_int(c->a->terms, pads->list[i], &pad) || pad != 0)
            e = noe_expr_choose(c->a, ge(c, at[i], num(c, 0)), e, zero(c));
        if (!noe_poly_is_int(c->a->terms, pads->list[x->rank + i], &pad) || pad != 0)
            e = noe_expr_choose(c->a, ge(c, x->dim[i], add(c, at[i], num(c, 1))), e,
                                zero(c));
    }
    return e;
}

noe_fit noe_index_type_expand(noe_index_call *c)
{
    const noe_dims *x = &c->in[0];
    FIT(shape_param(c, 0));
    if (x->rank > c->out.rank)
        return NOE_FIT_NO;
    for (int i = 0; i < x->rank; i++) {
        noe_poly d = x->dim[i], to = c->out.dim[c->out.rank - x->rank + i];
        FIT(say(c, noe_formula_or(c->a->terms, eq(c, d, to), eq(c, d, num(c, 1)))));
    }
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_expand(noe_index_call *c, const noe_poly *index)
{
    return operand(c, 0, index);
}

noe_poly noe_entries_at(noe_terms *t, const noe_entries *e, noe_poly place)
{
    noe_poly p, from = noe_poly_int(t, 0);
    switch (e->kind) {
    case NOE_ENTRIES_UNKNOWN:
        return noe_poly_entry(t, e->list, place);
    case NOE_ENTRIES_WRITTEN:
        for (int i = 0; i < e->n; i++)
            from = noe_poly_select(t, noe_poly_plus(t, place, -i), e->entry[i], from);
        return from;
    case NOE_ENTRIES_CAT:
        p = noe_poly_sub(t, place, e->x->length);
        return noe_poly_select(t, p, noe_entries_at(t, e->y, p),
                               noe_entries_at(t, e->x, place));
    case NOE_ENTRIES_AT: /* negative places count from the end */
        p = noe_entries_at(t, e->y, place);
        p = noe_poly_select(t, p, p, noe_poly_add(t, p, e->x->length));
        return noe_entries_at(t, e->x, p);
    }
    return place;
}

/* Entries are natural and less than dim: said of the lists that stand for themselves.
 */
static void say_entries(noe_index_call *c, const noe_entries *e, noe_poly dim)
{
    if (e->kind == NOE_ENTRIES_UNKNOWN)
        noe_terms_list_range(c->a->terms, e->list, e->length, dim);
    if (e->kind != NOE_ENTRIES_CAT)
        return;
    say_entries(c, e->x, dim);
    say_entries(c, e->y, dim);
}

noe_fit noe_index_type_gather(noe_index_call *c)
{
    const noe_dims *x = &c->in[0];
    const noe_symbolic *places = param(c, NOE_PARAM_INDICES);
    int axis;
    FIT(axis_within(c, param(c, NOE_PARAM_AXIS)->number, x->rank, &axis));
    if (places->kind == NOE_SYMBOLIC_ENTRIES) {
        say_entries(c, places->entries, x->dim[axis]);
        c->out = *x;
        c->out.dim[axis] = places->entries->length;
        return NOE_FIT_YES;
    }
    for (int i = 0; i < places->n; i++) {
        noe_poly p = places->list[i];
        FIT(say(c, ge(c, add(c, p, x->dim[axis]), num(c, 0))));
        FIT(say(c, ge(c, x->dim[axis], add(c, p, num(c, 1)))));
    }
    c->out = *x;
    c->out.dim[axis] = num(c, places->n);
    return NOE_FIT_YES;
}

/* indices[i], by comparing i with each place; negative ones count from the end. */
const noe_expr *noe_index_element_gather(noe_index_call *c, const noe_poly *index)
{
    const noe_symbolic *places = param(c, NOE_PARAM_INDICES);
    noe_terms *t = c->a->terms;
    noe_poly at[NOE_MAX_RANK], from = num(c, 0);
    int axis = 0;
    (void)axis_within(c, param(c, NOE_PARAM_AXIS)->number, c->in[0].rank, &axis);
    if (places->kind == NOE_SYMBOLIC_ENTRIES)
        from = noe_entries_at(t, places->entries, index[axis]);
    for (int i = 0; places->kind == NOE_SYMBOLIC_LIST && i < places->n; i++) {
        noe_poly p = places->list[i];
        p = noe_poly_select(t, p, p, add(c, p, c->in[0].dim[axis]));
        from = noe_poly_select(t, sub(c, index[axis], num(c, i)), p, from);
    }
    memcpy(at, index, (size_t)c->out.rank * sizeof *at);
    at[axis] = from;
    return c->operand(c->ctx, 0, at);
}

noe_fit noe_index_type_resize(noe_index_call *c)
{
    const noe_dims *x = &c->in[0];
    int64_t mode;
    if (x->rank < 3 || x->rank > 5)
        return NOE_FIT_NO;
    FIT(literal(c, param(c, NOE_PARAM_MODE)->number, &mode));
    if (mode < 0 || mode > 3)
        return NOE_FIT_NO;
    FIT(want_list(c, NOE_PARAM_SCALES, x->rank - 2, 1));
    c->out = *x;
    for (int i = 2; i < x->rank; i++)
        c->out.dim[i] = mul(c, x->dim[i], param(c, NOE_PARAM_SCALES)->list[i - 2]);
    return NOE_FIT_YES;
}

/* Element `index` of an axis of n elements, scaled, is num / den of the way from the
 * first element: core/semantics.inc, resize_place. */
static void resize_place(noe_index_call *c, noe_poly index, noe_poly n, noe_poly scale,
                         int64_t mode, noe_poly *num_, noe_poly *den)
{
    noe_terms *t = c->a->terms;
    *num_ = index, *den = scale;
    if (mode == 1) {
        *den = noe_poly_scale(t, scale, 2);
        *num_ = sub(c, noe_poly_plus(t, noe_poly_scale(t, index, 2), 1), scale);
        *num_ = noe_poly_max(t, *num_, num(c, 0));
    }
    if (mode == 3) {
        *num_ = mul(c, index, noe_poly_plus(t, n, -1));
        *den = noe_poly_max(t, noe_poly_plus(t, mul(c, n, scale), -1), num(c, 1));
    }
}

/* The share of the second of two neighbours is nothing but a function of the remainder
 * and the denominator to the proof. at[axis..] are indices of the result. */
static const noe_expr *interpolate(noe_index_call *c, int axis, int64_t mode,
                                   noe_poly *at)
{
    if (axis == c->out.rank)
        return c->operand(c->ctx, 0, at);
    noe_terms *t = c->a->terms;
    noe_poly scale = param(c, NOE_PARAM_SCALES)->list[axis - 2], place = at[axis];
    noe_poly n = c->in[0].dim[axis], num_, of[2];
    int64_t number;
    resize_place(c, place, n, scale, mode, &num_, &of[1]);
    of[0] = noe_poly_mod(t, num_, of[1]);
    const noe_expr *near, *far, *share;
    if (mode == 0 || (noe_poly_is_int(t, scale, &number) && number == 1)) {
        at[axis] = mode == 0 ? noe_poly_div(t, num_, of[1]) : place;
        near = interpolate(c, axis + 1, mode, at);
        at[axis] = place;
        return near;
    }
    noe_poly last = noe_poly_plus(t, n, -1);
    at[axis] = noe_poly_min(t, last, noe_poly_div(t, num_, of[1]));
    near = interpolate(c, axis + 1, mode, at);
    at[axis] = noe_poly_min(t, last, noe_poly_plus(t, at[axis], 1));
    far = interpolate(c, axis + 1, mode, at);
    at[axis] = place;
    share = noe_expr_of_sum(
        c->a, noe_sum_of_factor(c->a, noe_factor_read(c->a, NOE_READ_SHARE, 2, of)));
    far = noe_expr_add(c->a, far, noe_expr_scale(c->a, near, (noe_rational){-1, 1}));
    return noe_expr_add(c->a, near, noe_expr_mul(c->a, share, far));
}

const noe_expr *noe_index_element_resize(noe_index_call *c, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    int64_t mode = 0;
    (void)literal(c, param(c, NOE_PARAM_MODE)->number, &mode);
    memcpy(at, index, (size_t)c->out.rank * sizeof *at);
    return interpolate(c, 2, mode, at);
}

/* Constants */

noe_fit noe_index_type_constant(noe_index_call *c)
{
    return shape_param(c, 0);
}

const noe_expr *noe_index_element_zeros(noe_index_call *c, const noe_poly *index)
{
    (void)index;
    return zero(c);
}

const noe_expr *noe_index_element_ones(noe_index_call *c, const noe_poly *index)
{
    (void)index;
    return number(c, 1, 1);
}

noe_fit noe_index_type_identity_matrix(noe_index_call *c)
{
    FIT(shape_param(c, 0));
    return c->out.rank == 2 ? NOE_FIT_YES : NOE_FIT_NO;
}

const noe_expr *noe_index_element_identity_matrix(noe_index_call *c,
                                                  const noe_poly *index)
{
    noe_formula on = eq(c, index[0], index[1]);
    return noe_expr_guarded(c->a, number(c, 1, 1), 1, &on);
}

noe_fit noe_index_type_kernel(noe_index_call *c)
{
    FIT(shape_param(c, 1));
    if (c->out.rank < 3 || c->out.rank > 5)
        return NOE_FIT_NO;
    noe_poly groups;
    if (noe_poly_divides(c->a->terms, c->out.dim[0], c->out.dim[1], &groups))
        return NOE_FIT_YES;
    return say(c, eq(c, c->out.dim[0],
                     mul(c, c->out.dim[1], noe_poly_symbol(c->a->terms, c->aux[0]))));
}

/* Output channel o reads its own input channel of the group. */
static noe_formula own_channel(noe_index_call *c, const noe_poly *index)
{
    return eq(c, index[1], noe_poly_mod(c->a->terms, index[0], c->out.dim[1]));
}

const noe_expr *noe_index_element_identity_kernel(noe_index_call *c,
                                                  const noe_poly *index)
{
    noe_formula on[NOE_MAX_RANK] = {own_channel(c, index)};
    int n = 1;
    for (int i = 2; i < c->out.rank; i++) {
        noe_poly centre =
            noe_poly_div(c->a->terms, sub(c, c->out.dim[i], num(c, 1)), num(c, 2));
        on[n++] = eq(c, index[i], centre);
    }
    return noe_expr_guarded(c->a, number(c, 1, 1), n, on);
}

const noe_expr *noe_index_element_average_kernel(noe_index_call *c,
                                                 const noe_poly *index)
{
    noe_formula on = own_channel(c, index);
    noe_poly volume = product_of(c->a, c->out.rank - 2, c->out.dim + 2);
    return noe_expr_guarded(c->a, reciprocal_of_count(c, volume), 1, &on);
}

noe_fit noe_index_type_scalar(noe_index_call *c)
{
    c->out.rank = 0;
    return NOE_FIT_YES;
}

const noe_expr *noe_index_element_scalar(noe_index_call *c, const noe_poly *index)
{
    (void)index;
    return real_param(c, NOE_PARAM_VALUE);
}
