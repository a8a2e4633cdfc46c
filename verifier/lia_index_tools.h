/* SPDX-License-Identifier: Apache-2.0
 *
 * Shorthand for the files of index definitions; nobody else's business.
 */
#ifndef NOE_VERIFIER_LIA_INDEX_TOOLS_H
#define NOE_VERIFIER_LIA_INDEX_TOOLS_H

#include "verifier/lia_index.h"

/* Shorthand */

static inline noe_poly num(const noe_index_call *c, int64_t i)
{
    return noe_poly_int(c->a->terms, i);
}

static inline noe_poly add(const noe_index_call *c, noe_poly x, noe_poly y)
{
    return noe_poly_add(c->a->terms, x, y);
}

static inline noe_poly sub(const noe_index_call *c, noe_poly x, noe_poly y)
{
    return noe_poly_sub(c->a->terms, x, y);
}

static inline noe_poly mul(const noe_index_call *c, noe_poly x, noe_poly y)
{
    return noe_poly_mul(c->a->terms, x, y);
}

static inline noe_formula ge(const noe_index_call *c, noe_poly x, noe_poly y)
{
    return noe_formula_ge(c->a->terms, x, y);
}

static inline noe_formula eq(const noe_index_call *c, noe_poly x, noe_poly y)
{
    return noe_formula_eq(c->a->terms, x, y);
}

static inline noe_fit unknown(noe_index_call *c, const char *reason)
{
    c->reason = reason;
    return NOE_FIT_UNKNOWN;
}

#define FIT(EXPR)                \
    do {                         \
        noe_fit fit_ = (EXPR);   \
        if (fit_ != NOE_FIT_YES) \
            return fit_;         \
    } while (0)

/* A fact of well-typedness. */
static inline noe_fit say(noe_index_call *c, noe_formula f)
{
    if (f == NOE_FORMULA_FALSE_ID)
        return NOE_FIT_NO;
    if (f != NOE_FORMULA_TRUE_ID)
        c->emit(c->ctx, f);
    return NOE_FIT_YES;
}

static inline const noe_symbolic *param(const noe_index_call *c, noe_param p)
{
    const noe_op_info *info = noe_op_get(c->op);
    int i = 0;
    while (info->params[i] != p)
        i++;
    return &c->params[i];
}

static inline noe_fit literal(noe_index_call *c, noe_poly p, int64_t *i)
{
    return noe_poly_is_int(c->a->terms, p, i)
               ? NOE_FIT_YES
               : unknown(c, "an axis or a flag is not a literal");
}

static inline noe_fit want_flag(noe_index_call *c, noe_param p, int64_t *flag)
{
    FIT(literal(c, param(c, p)->number, flag));
    return *flag == 0 || *flag == 1 ? NOE_FIT_YES : NOE_FIT_NO;
}

static inline noe_fit axis_within(noe_index_call *c, noe_poly p, int rank, int *axis)
{
    int64_t i;
    FIT(literal(c, p, &i));
    *axis = (int)(i < 0 ? i + rank : i);
    return i >= -rank && i < rank ? NOE_FIT_YES : NOE_FIT_NO;
}

static inline noe_fit want_axes(noe_index_call *c, int rank, bool *chosen)
{
    const noe_symbolic *axes = param(c, NOE_PARAM_AXES);
    memset(chosen, 0, NOE_MAX_RANK * sizeof *chosen);
    for (int i = 0; i < axes->n; i++) {
        int axis;
        FIT(axis_within(c, axes->list[i], rank, &axis));
        if (chosen[axis])
            return NOE_FIT_NO;
        chosen[axis] = true;
    }
    return NOE_FIT_YES;
}

/* A list of n numbers, each at least min. */
static inline noe_fit want_list(noe_index_call *c, noe_param p, int n, int64_t min)
{
    const noe_symbolic *v = param(c, p);
    if (v->n != n)
        return NOE_FIT_NO;
    for (int i = 0; i < n; i++)
        FIT(say(c, ge(c, v->list[i], num(c, min))));
    return NOE_FIT_YES;
}

static inline const noe_expr *number(noe_index_call *c, int64_t num, int64_t den)
{
    return noe_expr_of_sum(c->a,
                           noe_sum_number(c->a, noe_rational_make(c->a, num, den)));
}

static inline const noe_expr *zero(noe_index_call *c)
{
    return noe_expr_of_sum(c->a, noe_sum_make(c->a, 0, NULL));
}

static inline const noe_expr *reciprocal_of_count(noe_index_call *c, noe_poly n)
{
    int64_t i;
    if (noe_poly_is_int(c->a->terms, n, &i) && i != 0)
        return number(c, 1, i);
    return noe_expr_apply(c->a, NOE_OP_RECIPROCAL,
                          noe_expr_of_sum(c->a, noe_law_count(c->a, n)));
}

/* Indices summed over */

typedef struct range {
    int n, n_guards;
    noe_symbol bound[12];
    noe_formula guard[40];
} range;

/* A fresh index from 0 to n - 1. */
static inline noe_poly bind(noe_index_call *c, range *r, noe_poly n)
{
    noe_symbol s = noe_terms_bound_symbol(c->a->terms);
    noe_poly k = noe_poly_symbol(c->a->terms, s);
    r->bound[r->n++] = s;
    r->guard[r->n_guards++] = ge(c, k, num(c, 0));
    r->guard[r->n_guards++] = ge(c, n, add(c, k, num(c, 1)));
    return k;
}

static inline const noe_expr *total(noe_index_call *c, const range *r,
                                    const noe_expr *x)
{
    return noe_expr_total(c->a, r->n, r->bound, r->n_guards, r->guard, x);
}

static const noe_rational minus_one = {-1, 1};

/* d is a part of the broadcast e: where d is not 1, neither is e. */
static inline bool is_part(noe_index_call *c, noe_poly d, noe_poly e)
{
    const noe_atom *atom = noe_poly_is_atom(c->a->terms, e);
    if (d == e)
        return true;
    return atom && atom->kind == NOE_ATOM_BROADCAST &&
           (is_part(c, d, atom->a) || is_part(c, d, atom->b));
}

/* Index of an operand along an axis of size dim, out that of the result. */
static inline noe_poly operand_index(noe_index_call *c, noe_poly dim, noe_poly out,
                                     noe_poly index)
{
    if (dim == out)
        return index;
    const noe_atom *atom = noe_poly_is_atom(c->a->terms, index);
    while (atom && atom->kind == NOE_ATOM_CLAMP && is_part(c, dim, atom->a)) {
        index = atom->b;
        atom = noe_poly_is_atom(c->a->terms, index);
    }
    return noe_poly_clamp(c->a->terms, dim, index);
}

/* The operand's element for an index into the trailing n_out axes. */
static inline void broadcast_index(noe_index_call *c, const noe_dims *x, int n_axes,
                                   const noe_poly *out, int n_out,
                                   const noe_poly *index, noe_poly *at)
{
    for (int i = 0; i < n_axes; i++) {
        int k = n_out - n_axes + i;
        at[i] = operand_index(c, x->dim[i], out[k], index[k]);
    }
}

static inline const noe_expr *operand(noe_index_call *c, int i, const noe_poly *index)
{
    noe_poly at[NOE_MAX_RANK];
    broadcast_index(c, &c->in[i], c->in[i].rank, c->out.dim, c->out.rank, index, at);
    return c->operand(c->ctx, i, at);
}

/* A literal that is a fraction with a small power of 2 below is a number. */
static inline const noe_expr *real_param(noe_index_call *c, noe_param p)
{
    const noe_symbolic *v = param(c, p);
    if (v->kind == NOE_SYMBOLIC_REALS) {
        const noe_factor *f = noe_factor_read(c->a, v->var, 0, NULL);
        return noe_expr_of_sum(c->a, noe_sum_of_factor(c->a, f));
    }
    double scaled = v->real * 1024;
    if (scaled > -1e9 && scaled < 1e9 && scaled == (double)(int64_t)scaled)
        return number(c, (int64_t)scaled, 1024);
    const noe_factor *f = noe_factor_constant(c->a, v->real);
    return noe_expr_of_sum(c->a, noe_sum_of_factor(c->a, f));
}

/* Made in lia_layout.c, for the table. */
const noe_expr *noe_index_element_average_kernel(noe_index_call *c,
                                                 const noe_poly *index);
const noe_expr *noe_index_element_concat(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_expand(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_gather(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_identity_kernel(noe_index_call *c,
                                                  const noe_poly *index);
const noe_expr *noe_index_element_identity_matrix(noe_index_call *c,
                                                  const noe_poly *index);
const noe_expr *noe_index_element_ones(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_pad(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_reshape(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_resize(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_scalar(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_slice(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_transpose(noe_index_call *c, const noe_poly *index);
const noe_expr *noe_index_element_zeros(noe_index_call *c, const noe_poly *index);
noe_fit noe_index_type_concat(noe_index_call *c);
noe_fit noe_index_type_constant(noe_index_call *c);
noe_fit noe_index_type_expand(noe_index_call *c);
noe_fit noe_index_type_gather(noe_index_call *c);
noe_fit noe_index_type_identity_matrix(noe_index_call *c);
noe_fit noe_index_type_kernel(noe_index_call *c);
noe_fit noe_index_type_pad(noe_index_call *c);
noe_fit noe_index_type_reshape(noe_index_call *c);
noe_fit noe_index_type_resize(noe_index_call *c);
noe_fit noe_index_type_scalar(noe_index_call *c);
noe_fit noe_index_type_slice(noe_index_call *c);
noe_fit noe_index_type_transpose(noe_index_call *c);

#endif
