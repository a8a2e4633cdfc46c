/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of operators that are several core nodes: transposed convolution with bias,
 * normalizations, copies (Tile, DepthToSpace, SpaceToDepth), Einsum, Mean.
 */
#include "onnx_io/get.h"

/* ---- layout, left out where it changes nothing ---- */

static const noe_shape *shape_of(const noe_getting *g, noe_ref x)
{
    return &noe_graph_type(g->m->graph, x)->shape;
}

static const char *add_reshape(noe_getting *g, int n, const int64_t *dims, noe_ref *x)
{
    noe_value shape;
    noe_params p = {0};
    if (n > NOE_MAX_RANK)
        return noe_get_why(g, "it passes through rank %d", n);
    noe_shape to = noe_shape_make(n, dims);
    if (noe_shape_eq(shape_of(g, *x), &to))
        return NULL;
    shape = noe_value_list(NOE_KIND_INTS, n, dims);
    noe_get_set_list(NOE_OP_RESHAPE, &p, NOE_PARAM_SHAPE, &shape);
    return noe_get_add(g, NOE_OP_RESHAPE, &p, x, 1, x);
}

static const char *add_expand(noe_getting *g, int n, const int64_t *dims, noe_ref *x)
{
    noe_value shape = noe_value_list(NOE_KIND_INTS, n, dims);
    noe_shape to = noe_shape_make(n, dims);
    noe_params p = {0};
    if (noe_shape_eq(shape_of(g, *x), &to))
        return NULL;
    noe_get_set_list(NOE_OP_EXPAND, &p, NOE_PARAM_SHAPE, &shape);
    return noe_get_add(g, NOE_OP_EXPAND, &p, x, 1, x);
}

static const char *add_transpose(noe_getting *g, int n, const int64_t *perm, noe_ref *x)
{
    noe_value v = noe_value_list(NOE_KIND_INTS, n, perm);
    noe_params p = {0};
    bool moves = false;
    for (int i = 0; i < n; i++)
        moves |= perm[i] != i;
    if (!moves)
        return NULL;
    noe_get_set_list(NOE_OP_TRANSPOSE, &p, NOE_PARAM_PERM, &v);
    return noe_get_add(g, NOE_OP_TRANSPOSE, &p, x, 1, x);
}

/* Declares x as the output, made by `op`, or the input itself if nothing was added. */
static const char *finish(noe_getting *g, noe_op op, noe_ref input, noe_ref x)
{
    if (noe_ref_eq(input, x))
        return noe_get_alias(g);
    noe_get_done(g, 0, op, x);
    return NULL;
}

static const char *begin(noe_getting *g, const char *attributes, size_t n_inputs,
                         noe_ref *x, const noe_shape **s)
{
    NOE_GET(noe_get_only_attributes(g, attributes));
    NOE_GET(noe_get_want_inputs(g, n_inputs, n_inputs));
    NOE_GET(noe_get_one_output(g));
    return noe_get_data(g, 0, x, s);
}

/* ---- copies ---- */

/* [d, ...] repeated r times is [r, d, ...] with the two axes made one. */
const char *noe_get_tile(noe_getting *g)
{
    noe_ref x, input;
    const noe_shape *s;
    noe_value repeats;
    int64_t apart[2 * NOE_MAX_RANK], wide[2 * NOE_MAX_RANK], to[NOE_MAX_RANK];
    int n = 0;
    NOE_GET(begin(g, "", 2, &x, &s));
    NOE_GET(noe_get_ints(g, 1, "repeats", &repeats));
    if (repeats.n != s->rank)
        return noe_get_why(g, "%d repeats for rank %d", repeats.n, s->rank);
    input = x;
    for (int i = 0; i < s->rank; i++) {
        int64_t r = repeats.list[i];
        if (r < 0 || __builtin_mul_overflow(s->dim[i], r, &to[i]))
            return noe_get_why(g, "repeats has the value %lld", (long long)r);
        if (r != 1 && s->dim[i] != 1) {
            apart[n] = 1;
            wide[n++] = r;
        }
        apart[n] = s->dim[i];
        wide[n++] = s->dim[i] == 1 ? r : s->dim[i];
    }
    if (n > NOE_MAX_RANK)
        return noe_get_why(g, "it passes through rank %d", n);
    NOE_GET(add_reshape(g, n, apart, &x));
    NOE_GET(add_expand(g, n, wide, &x));
    NOE_GET(add_reshape(g, repeats.n, to, &x));
    return finish(g, NOE_OP_RESHAPE, input, x);
}

static const char *get_block(noe_getting *g, const noe_shape *s, int64_t *block)
{
    *block = noe_onnx_attr_int(g->node->proto, "blocksize", 0);
    if (s->rank != 4)
        return noe_get_why(g, "the input has rank %d", s->rank);
    if (*block < 1 || *block > (1 << 15))
        return noe_get_why(g, "blocksize is %lld", (long long)*block);
    return NULL;
}

const char *noe_get_depth_to_space(noe_getting *g)
{
    static const int64_t depth_first[] = {0, 3, 4, 1, 5, 2};
    static const int64_t column_first[] = {0, 1, 4, 2, 5, 3};
    noe_ref x, input;
    const noe_shape *s;
    int64_t b;
    NOE_GET(begin(g, "blocksize mode", 1, &x, &s));
    NOE_GET(get_block(g, s, &b));
    bool dcr = noe_get_text_is(g, "mode", "DCR", "DCR");
    if (!dcr && !noe_get_text_is(g, "mode", "DCR", "CRD"))
        return "mode is not understood";
    if (s->dim[1] % (b * b))
        return "the blocks do not divide the channels";
    int64_t n = s->dim[0], c = s->dim[1] / (b * b), h = s->dim[2], w = s->dim[3];
    int64_t dcr_shape[] = {n, b, b, c, h, w}, crd_shape[] = {n, c, b, b, h, w};
    input = x;
    NOE_GET(add_reshape(g, 6, dcr ? dcr_shape : crd_shape, &x));
    NOE_GET(add_transpose(g, 6, dcr ? depth_first : column_first, &x));
    NOE_GET(add_reshape(g, 4, (int64_t[]){n, c, h * b, w * b}, &x));
    return finish(g, NOE_OP_RESHAPE, input, x);
}

const char *noe_get_space_to_depth(noe_getting *g)
{
    static const int64_t perm[] = {0, 3, 5, 1, 2, 4};
    noe_ref x, input;
    const noe_shape *s;
    int64_t b;
    NOE_GET(begin(g, "blocksize", 1, &x, &s));
    NOE_GET(get_block(g, s, &b));
    if (s->dim[2] % b || s->dim[3] % b)
        return "the blocks do not divide the image";
    int64_t n = s->dim[0], c = s->dim[1], h = s->dim[2] / b, w = s->dim[3] / b;
    input = x;
    NOE_GET(add_reshape(g, 6, (int64_t[]){n, c, h, b, w, b}, &x));
    NOE_GET(add_transpose(g, 6, perm, &x));
    NOE_GET(add_reshape(g, 4, (int64_t[]){n, c * b * b, h, w}, &x));
    return finish(g, NOE_OP_RESHAPE, input, x);
}

/* ---- means ---- */

const char *noe_get_mean(noe_getting *g)
{
    noe_ref in[2], out;
    noe_params p = {0};
    if (noe_get_n_inputs(g) == 1) {
        NOE_GET(noe_get_only_attributes(g, ""));
        return noe_get_alias(g);
    }
    NOE_GET(noe_get_chain(g, NOE_OP_ADD, &in[0]));
    noe_get_set_float(NOE_OP_SCALAR, &p, NOE_PARAM_VALUE, (double)noe_get_n_inputs(g));
    NOE_GET(noe_get_add(g, NOE_OP_SCALAR, &p, NULL, 0, &in[1]));
    NOE_GET(noe_get_add(g, NOE_OP_DIV, NULL, in, 2, &out));
    noe_get_done(g, 0, NOE_OP_DIV, out);
    return NULL;
}

/* ---- normalizations ---- */

static const char *finish_normalization(noe_getting *g, noe_params *p, noe_ref *in,
                                        int n)
{
    noe_ref out;
    noe_get_set_float(g->op, p, NOE_PARAM_EPSILON,
                      noe_onnx_attr_float(g->node->proto, "epsilon", (double)1e-5F));
    NOE_GET(noe_get_add(g, g->op, p, in, n, &out));
    noe_get_done(g, 0, g->op, out);
    return NULL;
}

const char *noe_get_layer_normalization(noe_getting *g)
{
    noe_ref in[3];
    const noe_shape *s;
    noe_params p = {0};
    int64_t axis = noe_onnx_attr_int(g->node->proto, "axis", -1);
    NOE_GET(noe_get_only_attributes(g, "axis epsilon stash_type"));
    NOE_GET(noe_get_want_inputs(g, 2, 3));
    NOE_GET(noe_get_one_output(g));
    int n = (int)noe_get_n_inputs(g);
    for (int i = n; i-- > 0;)
        NOE_GET(noe_get_data(g, (size_t)i, &in[i], &s));
    NOE_GET(noe_get_resolve_axis(g, &axis, s->rank));
    noe_get_set_int(g->op, &p, NOE_PARAM_AXIS, axis);
    return finish_normalization(g, &p, in, n);
}

const char *noe_get_instance_normalization(noe_getting *g)
{
    noe_ref in[3];
    noe_params p = {0};
    NOE_GET(begin(g, "epsilon", 3, &in[0], NULL));
    for (size_t i = 1; i < 3; i++)
        NOE_GET(noe_get_data(g, i, &in[i], NULL));
    return finish_normalization(g, &p, in, 3);
}

/* One value a group, repeated for each of its channels. */
static const char *spread_groups(noe_getting *g, int64_t groups, int64_t channels,
                                 noe_ref *x)
{
    const noe_shape *s = shape_of(g, *x);
    if (s->rank != 1 || groups < 1 || s->dim[0] != groups || channels % groups)
        return "its scales are not those of groups";
    NOE_GET(add_reshape(g, 2, (int64_t[]){groups, 1}, x));
    NOE_GET(add_expand(g, 2, (int64_t[]){groups, channels / groups}, x));
    return add_reshape(g, 1, &channels, x);
}

/* Before opset 21 there was a scale for each group, not for each channel. */
const char *noe_get_group_normalization(noe_getting *g)
{
    noe_ref in[3];
    const noe_shape *s;
    noe_params p = {0};
    int64_t groups = noe_onnx_attr_int(g->node->proto, "num_groups", 0);
    NOE_GET(begin(g, "epsilon num_groups stash_type", 3, &in[0], &s));
    int64_t channels = s->rank > 1 ? s->dim[1] : 0;
    for (size_t i = 1; i < 3; i++) {
        NOE_GET(noe_get_data(g, i, &in[i], NULL));
        if (g->m->opset < 21)
            NOE_GET(spread_groups(g, groups, channels, &in[i]));
    }
    noe_get_set_int(g->op, &p, NOE_PARAM_NUM_GROUPS, groups);
    return finish_normalization(g, &p, in, 3);
}

/* ---- Einsum ---- */

#define MAX_LABELS NOE_MAX_RANK

/* The axes of an operand or of the output, by their letters. */
typedef struct labels {
    int n;
    char of[MAX_LABELS];
} labels;

typedef struct equation {
    int n_operands;
    labels operand[2], out;
} equation;

static int find_label(const labels *l, char c)
{
    for (int i = 0; i < l->n; i++) {
        if (l->of[i] == c)
            return i;
    }
    return -1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *parse_equation(noe_getting *g, equation *e)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(g->node->proto, "equation");
    *e = (equation){.n_operands = 1};
    labels *l = &e->operand[0];
    if (!a)
        return "equation is missing";
    for (size_t i = 0; i < a->s.len; i++) {
        char c = (char)a->s.data[i];
        if (c == ' ')
            continue;
        if (c == ',' && l == &e->operand[0]) {
            l = &e->operand[1];
            e->n_operands = 2;
        } else if (c == '-' && i + 1 < a->s.len && a->s.data[i + 1] == '>' &&
                   l != &e->out) {
            l = &e->out;
            i++;
        } else if (is_letter(c) && l->n < MAX_LABELS && find_label(l, c) < 0) {
            l->of[l->n++] = c;
        } else {
            return "the equation is no product or sum that is understood";
        }
    }
    return l == &e->out ? NULL : "the equation does not say what it gives";
}

/* Brings the axes of x into the order of `to`, which has the same letters. */
static const char *order_axes(noe_getting *g, const labels *from, const labels *to,
                              noe_ref *x)
{
    int64_t perm[MAX_LABELS];
    for (int i = 0; i < to->n; i++)
        perm[i] = find_label(from, to->of[i]);
    return add_transpose(g, to->n, perm, x);
}

/* Sums over the letters that the output lacks; the rest stays in order. */
static const char *einsum_one(noe_getting *g, const equation *e, noe_ref *x)
{
    noe_value axes = {.kind = NOE_KIND_AXES};
    noe_params p = {0};
    labels kept = {0};
    for (int i = 0; i < e->operand[0].n; i++) {
        if (find_label(&e->out, e->operand[0].of[i]) < 0)
            axes.list[axes.n++] = i;
        else
            kept.of[kept.n++] = e->operand[0].of[i];
    }
    if (kept.n != e->out.n)
        return "the output has axes of no operand";
    if (axes.n > 0) {
        noe_get_set_list(NOE_OP_REDUCE_SUM, &p, NOE_PARAM_AXES, &axes);
        noe_get_set_int(NOE_OP_REDUCE_SUM, &p, NOE_PARAM_KEEPDIMS, 0);
        NOE_GET(noe_get_add(g, NOE_OP_REDUCE_SUM, &p, x, 1, x));
    }
    return order_axes(g, &kept, &e->out, x);
}

/* Letters by what happens to them in a product of two operands. */
typedef struct product {
    labels batch, rows, columns, inner;
    int64_t dim[128]; /* size of each letter */
} product;

static void append(labels *l, char c)
{
    l->of[l->n++] = c;
}

static const char *sort_letters(noe_getting *g, const equation *e, product *p)
{
    for (int side = 0; side < 2; side++) {
        const labels *own = &e->operand[side], *other = &e->operand[1 - side];
        for (int i = 0; i < own->n; i++) {
            char c = own->of[i];
            bool both = find_label(other, c) >= 0, stays = find_label(&e->out, c) >= 0;
            if (!both && !stays)
                return noe_get_why(g, "axis '%c' is summed up in one operand", c);
            if (both && side == 0)
                append(stays ? &p->batch : &p->inner, c);
            if (!both)
                append(side == 0 ? &p->rows : &p->columns, c);
        }
    }
    if (e->out.n != p->batch.n + p->rows.n + p->columns.n)
        return "the output has axes of no operand";
    return NULL;
}

static const char *measure_letters(noe_getting *g, const equation *e, product *p,
                                   const noe_ref *in)
{
    memset(p->dim, 0xff, sizeof p->dim);
    for (int side = 0; side < 2; side++) {
        const noe_shape *s = shape_of(g, in[side]);
        for (int i = 0; i < s->rank; i++) {
            int64_t *dim = &p->dim[(int)e->operand[side].of[i]];
            if (*dim >= 0 && *dim != s->dim[i])
                return noe_get_why(g, "axis '%c' has two sizes",
                                   e->operand[side].of[i]);
            *dim = s->dim[i];
        }
    }
    return NULL;
}

static labels joined(const labels *a, const labels *b, const labels *c)
{
    labels out = *a;
    for (int i = 0; i < b->n; i++)
        append(&out, b->of[i]);
    for (int i = 0; c && i < c->n; i++)
        append(&out, c->of[i]);
    return out;
}

/* Product of the sizes, -1 if it is too large. */
static int64_t size_of(const product *p, const labels *l)
{
    noe_shape s = {.rank = l->n};
    for (int i = 0; i < l->n; i++)
        s.dim[i] = p->dim[(int)l->of[i]];
    return noe_shape_elements(&s);
}

static int put_sizes(const product *p, const labels *l, int64_t *dims, int n)
{
    for (int i = 0; i < l->n; i++)
        dims[n++] = p->dim[(int)l->of[i]];
    return n;
}

/* An operand as matrices: batch axes, then a and b, each as one axis. */
static const char *as_matrices(noe_getting *g, const labels *axes, const product *p,
                               const labels *a, const labels *b, noe_ref *x)
{
    int64_t dims[MAX_LABELS + 2];
    labels order = joined(&p->batch, a, b);
    NOE_GET(order_axes(g, axes, &order, x));
    int n = put_sizes(p, &p->batch, dims, 0);
    dims[n++] = size_of(p, a);
    dims[n++] = size_of(p, b);
    return add_reshape(g, n, dims, x);
}

static const char *einsum_two(noe_getting *g, const equation *e, noe_ref *in,
                              noe_ref *out)
{
    product p = {.batch.n = 0};
    int64_t dims[MAX_LABELS];
    NOE_GET(sort_letters(g, e, &p));
    NOE_GET(measure_letters(g, e, &p, in));
    NOE_GET(as_matrices(g, &e->operand[0], &p, &p.rows, &p.inner, &in[0]));
    NOE_GET(as_matrices(g, &e->operand[1], &p, &p.inner, &p.columns, &in[1]));
    NOE_GET(noe_get_add(g, NOE_OP_MATMUL, NULL, in, 2, out));
    labels order = joined(&p.batch, &p.rows, &p.columns);
    NOE_GET(add_reshape(g, put_sizes(&p, &order, dims, 0), dims, out));
    return order_axes(g, &order, &e->out, out);
}

/* Sums of products of at most two operands, without ellipses and diagonals. */
const char *noe_get_einsum(noe_getting *g)
{
    noe_ref in[2], out;
    equation e;
    NOE_GET(noe_get_only_attributes(g, "equation"));
    NOE_GET(parse_equation(g, &e));
    NOE_GET(noe_get_want_inputs(g, (size_t)e.n_operands, (size_t)e.n_operands));
    NOE_GET(noe_get_one_output(g));
    for (int i = 0; i < e.n_operands; i++) {
        const noe_shape *s;
        NOE_GET(noe_get_data(g, (size_t)i, &in[i], &s));
        if (s->rank != e.operand[i].n)
            return noe_get_why(g, "operand %d has rank %d", i, s->rank);
    }
    out = in[0];
    NOE_GET(e.n_operands == 1 ? einsum_one(g, &e, &out) : einsum_two(g, &e, in, &out));
    return finish(g, e.n_operands == 1 ? NOE_OP_TRANSPOSE : NOE_OP_MATMUL, in[0], out);
}
