/* SPDX-License-Identifier: Apache-2.0
 *
 * TASO's operators as rule text.
 *
 * Terms over shapes may only speak of variables, so the shape of every value is carried
 * along as a list of terms, as text. Both sides are written from their outputs down;
 * what a place asks of a constant's shape (`want`) is handed along.
 */
#include "ruledb/taso_internal.h"

#define MAX_TEXT 8000 /* of one side, also of one that shares much */

static bool is_determined(noe_taso_reader *r, int value);

static bool ask_operator(noe_taso_reader *r, const noe_taso_op *o)
{
    switch (o->type) {
    case NOE_TASO_SCALAR_MUL:
        return is_determined(r, o->in[0]);
    default: /* each operand tells what the others lack; constants have none */
        for (int k = 0; k < o->n_in; k++) {
            if (is_determined(r, o->in[k]))
                return true;
        }
        return false;
    }
}

/* Whether the shape follows from variables alone. */
static bool is_determined(noe_taso_reader *r, int value)
{
    noe_taso_op *o = noe_taso_op_of(r, value);
    if (o && !o->determined)
        o->determined = ask_operator(r, o) ? 1 : -1;
    return !o || o->determined > 0;
}

static void write_dims(const noe_taso_shape *s, noe_buf *out)
{
    noe_buf_puts(out, "[");
    for (int i = 0; i < s->rank; i++)
        noe_buf_printf(out, "%s%s", i ? ", " : "", s->dim[i]);
    noe_buf_puts(out, "]");
}

static bool write_variable(noe_taso_reader *r, int value, noe_buf *out,
                           noe_taso_shape *s)
{
    int rank = r->is_scalar[value] ? 0 : r->rank[noe_taso_root_of(r, value)];
    noe_buf_printf(out, "?%c", 'a' + value);
    *s = (noe_taso_shape){.rank = rank ? rank : -1, .is_known = true};
    if (r->is_scalar[value])
        s->rank = 0;
    s->whole = noe_arena_printf(&r->arena, "shape(?%c)", 'a' + value);
    for (int i = 0; i < rank; i++) {
        s->dim[i] = noe_arena_printf(&r->arena, "dim(?%c, %d)", 'a' + value, i);
        if (i >= 2 && r->kernel[value][i - 2])
            s->dim[i] = noe_taso_number(r, r->kernel[value][i - 2]);
    }
    return true;
}

static bool write_constant(noe_taso_reader *r, const noe_taso_op *o,
                           const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    static const char *const names[] = {
        [NOE_TASO_IDENTITY_MATRIX] = "identity_matrix",
        [NOE_TASO_IDENTITY_CONV] = "identity_kernel",
        [NOE_TASO_ONE] = "ones",
        [NOE_TASO_CONST_POOL] = "average_kernel",
    };
    *s = (noe_taso_shape){.rank = -1};
    if (!want || (!want->dim[1] && !want->whole))
        return noe_taso_cannot(
            r, "the shape of the constant '%s' does not follow from its place",
            noe_taso_op_name(o->type));
    *s = *want;
    s->is_known = true;
    memset(s->cuts, 0, sizeof s->cuts);
    noe_buf_printf(out, "%s[shape=", names[o->type]);
    if (o->type == NOE_TASO_IDENTITY_CONV || o->type == NOE_TASO_CONST_POOL) {
        noe_taso_term h = noe_taso_number(r, o->para[NOE_TASO_KEY_KERNEL_H]);
        noe_taso_term w = noe_taso_number(r, o->para[NOE_TASO_KEY_KERNEL_W]);
        if (want->rank != 4 || !want->dim[1])
            return noe_taso_cannot(r, "the constant '%s' where no kernel can be",
                                   noe_taso_op_name(o->type));
        if (!want->dim[0]) {
            s->dim[0] = want->dim[1];
            if (o->type == NOE_TASO_CONST_POOL)
                s->dim[1] = "1";
        }
        if (want->dim[2])
            noe_taso_require(&r->conditions, want->dim[2], h);
        if (want->dim[3])
            noe_taso_require(&r->conditions, want->dim[3], w);
        s->dim[2] = h;
        s->dim[3] = w;
        s->whole = NULL;
    } else if (s->rank >= 0) {
        for (int i = 0; i < s->rank; i++) {
            if (!s->dim[i])
                return noe_taso_cannot(
                    r, "the shape of '%s' does not follow from its place",
                    noe_taso_op_name(o->type));
        }
    }
    if (s->rank < 0)
        noe_buf_puts(out, s->whole);
    else
        write_dims(s, out);
    noe_buf_puts(out, "]()");
    return true;
}

static bool same_cuts(const noe_taso_cut *a, const noe_taso_cut *b)
{
    if (!a || !b)
        return a == b;
    return noe_taso_same(a->size, b->size) && same_cuts(a->left, b->left) &&
           same_cuts(a->right, b->right);
}

/* Operands of equal shapes. */
static bool write_elementwise(noe_taso_reader *r, const noe_taso_op *o,
                              const noe_taso_shape *want, noe_buf *out,
                              noe_taso_shape *s)
{
    noe_taso_shape in[2];
    noe_buf text[2] = {{0}};
    int first = is_determined(r, o->in[0]) ? 0 : 1;
    bool ok = noe_taso_write_value(r, o->in[first], o->port[first], want, &text[first],
                                   &in[first]);
    ok = ok && noe_taso_write_value(r, o->in[1 - first], o->port[1 - first], &in[first],
                                    &text[1 - first], &in[1 - first]);
    if (ok) {
        noe_buf_printf(out, "%s(%s, %s)", o->type == NOE_TASO_ADD ? "add" : "mul",
                       noe_buf_text(&text[0]), noe_buf_text(&text[1]));
        *s = in[first];
        bool whole = in[0].whole && in[1].whole;
        if (whole)
            noe_taso_require(&r->conditions, in[0].whole, in[1].whole);
        for (int i = 0; i < s->rank; i++) {
            if (!whole)
                noe_taso_require(&r->conditions, in[0].dim[i], in[1].dim[i]);
            if (!same_cuts(in[0].cuts[i], in[1].cuts[i]))
                s->cuts[i] = NULL;
        }
    }
    noe_buf_clear(&text[0]);
    noe_buf_clear(&text[1]);
    return ok;
}

static bool write_unary(noe_taso_reader *r, const noe_taso_op *o, const char *name,
                        const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    noe_buf_printf(out, "%s(", name);
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], want, out, s);
    noe_buf_puts(out, ")");
    return ok;
}

static bool write_scalar_mul(noe_taso_reader *r, const noe_taso_op *o,
                             const noe_taso_shape *want, noe_buf *out,
                             noe_taso_shape *s)
{
    noe_taso_shape scalar;
    noe_buf_puts(out, "mul(");
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], want, out, s);
    noe_buf_puts(out, ", ");
    ok = ok && noe_taso_write_value(r, o->in[1], o->port[1], NULL, out, &scalar);
    noe_buf_puts(out, ")");
    return ok;
}

static bool write_matmul(noe_taso_reader *r, const noe_taso_op *o, noe_buf *out,
                         noe_taso_shape *s)
{
    noe_taso_shape in[2], want = {.rank = 2};
    noe_buf text[2] = {{0}};
    int first = is_determined(r, o->in[0]) ? 0 : 1;
    bool ok = noe_taso_write_value(r, o->in[first], o->port[first], NULL, &text[first],
                                   &in[first]);
    if (ok) /* a square matrix */
        want.dim[0] = want.dim[1] = in[first].dim[first == 0];
    ok = ok && noe_taso_write_value(r, o->in[1 - first], o->port[1 - first], &want,
                                    &text[1 - first], &in[1 - first]);
    if (ok) {
        noe_buf_printf(out, "matmul(%s, %s)", noe_buf_text(&text[0]),
                       noe_buf_text(&text[1]));
        *s = (noe_taso_shape){.rank = 2,
                              .dim = {in[0].dim[0], in[1].dim[1]},
                              .cuts = {in[0].cuts[0], in[1].cuts[1]},
                              .is_known = true};
    }
    noe_buf_clear(&text[0]);
    noe_buf_clear(&text[1]);
    return ok;
}

/* begin, end and the size after a window; SAME or VALID. */
static noe_taso_term pad_window(noe_taso_reader *r, const noe_taso_op *o, int axis,
                                noe_taso_term size, noe_taso_term *begin,
                                noe_taso_term *end)
{
    int k = o->para[NOE_TASO_KEY_KERNEL_H + axis];
    int stride = o->para[NOE_TASO_KEY_STRIDE_H + axis];
    *begin = *end = "0";
    if (o->para[NOE_TASO_KEY_PAD] == 1) /* VALID */
        return noe_taso_combine(
            r,
            noe_taso_combine(r, noe_taso_combine(r, size, '-', noe_taso_number(r, k)),
                             '/', noe_taso_number(r, stride)),
            '+', "1");
    if (stride == 1) {
        *begin = noe_taso_number(r, (k - 1) / 2);
        *end = noe_taso_number(r, k - 1 - (k - 1) / 2);
        return size;
    }
    noe_taso_term n = noe_taso_combine(
        r, noe_taso_combine(r, size, '+', noe_taso_number(r, stride - 1)), '/',
        noe_taso_number(r, stride));
    noe_taso_term total = noe_arena_printf(&r->arena, "max((%s - 1) * %d + %d - %s, 0)",
                                           n, stride, k, size);
    *begin = noe_taso_combine(r, total, '/', "2");
    *end = noe_taso_combine(r, total, '-', *begin);
    return n;
}

static void write_window(noe_taso_reader *r, const noe_taso_op *o,
                         const noe_taso_shape *in, noe_buf *out, noe_taso_shape *s)
{
    noe_taso_term begin[2], end[2];
    for (int i = 0; i < 2; i++)
        s->dim[2 + i] = pad_window(r, o, i, in->dim[2 + i], &begin[i], &end[i]);
    noe_buf_printf(out, "strides=[%d, %d], pads=[%s, %s, %s, %s]",
                   o->para[NOE_TASO_KEY_STRIDE_H], o->para[NOE_TASO_KEY_STRIDE_W],
                   begin[0], begin[1], end[0], end[1]);
}

static const char *activation_of(noe_taso_reader *r, const noe_taso_op *o)
{
    switch (o->para[NOE_TASO_KEY_ACTIVATION]) {
    case -1:
    case 0:
        return "";
    case 1:
        return "sigmoid(";
    case 2:
        return "relu(";
    case 3:
        return "tanh(";
    default:
        (void)noe_taso_cannot(r, "%s: activation %d", noe_taso_op_name(o->type),
                              o->para[NOE_TASO_KEY_ACTIVATION]);
        return "";
    }
}

static bool write_conv(noe_taso_reader *r, const noe_taso_op *o, noe_buf *out,
                       noe_taso_shape *s)
{
    noe_taso_shape in[2], want = {.rank = 4};
    noe_buf text[2] = {{0}};
    int first = is_determined(r, o->in[0]) ? 0 : 1;
    bool ok = noe_taso_write_value(r, o->in[first], o->port[first], NULL, &text[first],
                                   &in[first]);
    if (ok) {
        want.dim[1] = in[first].dim[1];
        if (first == 1) /* an identity as data: one channel an image */
            want.dim[0] = want.dim[1];
    }
    ok = ok && noe_taso_write_value(r, o->in[1 - first], o->port[1 - first], &want,
                                    &text[1 - first], &in[1 - first]);
    if (ok) {
        noe_taso_require(&r->conditions, in[1].dim[2],
                         noe_taso_number(r, o->para[NOE_TASO_KEY_KERNEL_H]));
        noe_taso_require(&r->conditions, in[1].dim[3],
                         noe_taso_number(r, o->para[NOE_TASO_KEY_KERNEL_W]));
        *s = (noe_taso_shape){.rank = 4,
                              .dim = {in[0].dim[0], in[1].dim[0]},
                              .cuts = {in[0].cuts[0], in[1].cuts[0]},
                              .is_known = true};
        noe_buf_puts(out, "conv[");
        write_window(r, o, &in[0], out, s);
        if (!noe_taso_same(in[0].dim[1], in[1].dim[1])) {
            noe_buf_printf(out, ", group=%s / %s", in[0].dim[1], in[1].dim[1]);
            noe_taso_require(&r->groups, in[0].dim[1], in[1].dim[1]);
        }
        noe_buf_printf(out, "](%s, %s)", noe_buf_text(&text[0]),
                       noe_buf_text(&text[1]));
    }
    noe_buf_clear(&text[0]);
    noe_buf_clear(&text[1]);
    return ok;
}

static bool write_pool(noe_taso_reader *r, const noe_taso_op *o,
                       const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    noe_taso_shape in;
    noe_buf text = {0};
    bool is_average = o->type == NOE_TASO_POOL_AVG;
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], want, &text, &in);
    if (ok) {
        *s = in;
        s->whole = NULL;
        s->cuts[2] = s->cuts[3] = NULL;
        noe_buf_printf(out, "%s[kernel_shape=[%d, %d], ",
                       is_average ? "average_pool" : "max_pool",
                       o->para[NOE_TASO_KEY_KERNEL_H], o->para[NOE_TASO_KEY_KERNEL_W]);
        write_window(r, o, &in, out, s);
        noe_buf_printf(out, "%s](%s)", is_average ? ", count_include_pad=1" : "",
                       noe_buf_text(&text));
    }
    noe_buf_clear(&text);
    return ok;
}

static bool write_enlarge(noe_taso_reader *r, const noe_taso_op *o,
                          const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    noe_taso_shape in;
    noe_buf text = {0};
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], want, &text, &in);
    if (ok) {
        noe_taso_term begin[2], end[2];
        *s = in;
        s->whole = NULL;
        for (int i = 0; i < 2; i++) {
            noe_taso_term size = noe_taso_number(r, o->para[NOE_TASO_KEY_KERNEL_H + i]);
            noe_taso_term more = noe_taso_combine(r, size, '-', in.dim[2 + i]);
            begin[i] = noe_taso_combine(r, more, '/', "2");
            end[i] = noe_taso_combine(r, more, '-', begin[i]);
            s->dim[2 + i] = size;
            s->cuts[2 + i] = NULL;
        }
        noe_buf_printf(out, "pad[pads=[0, 0, %s, %s, 0, 0, %s, %s]](%s)", begin[0],
                       begin[1], end[0], end[1], noe_buf_text(&text));
    }
    noe_buf_clear(&text);
    return ok;
}

static const noe_taso_cut *cut_of(noe_taso_reader *r, const noe_taso_shape *s, int axis)
{
    if (s->cuts[axis])
        return s->cuts[axis];
    noe_taso_cut *leaf = NOE_NEW(&r->arena, noe_taso_cut);
    leaf->size = s->dim[axis];
    return leaf;
}

static bool write_concat(noe_taso_reader *r, const noe_taso_op *o,
                         const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    noe_taso_shape in[NOE_TASO_MAX_ARITY];
    noe_buf text[NOE_TASO_MAX_ARITY] = {{0}};
    int axis = o->para[NOE_TASO_KEY_AXIS], first = 0;
    bool ok = true;
    while (first < o->n_in - 1 && !is_determined(r, o->in[first]))
        first++;
    ok = noe_taso_write_value(r, o->in[first], o->port[first], want, &text[first],
                              &in[first]);
    noe_taso_shape other = in[first];
    if (ok) {
        other.whole = NULL;
        other.dim[axis] = NULL;
        if (want && want->dim[1] && axis != 1)
            other.dim[1] = want->dim[1];
    }
    for (int k = 0; k < o->n_in && ok; k++) {
        if (k != first)
            ok =
                noe_taso_write_value(r, o->in[k], o->port[k], &other, &text[k], &in[k]);
    }
    if (ok) {
        *s = in[0];
        s->whole = NULL;
        for (int k = 0; k + 1 < o->n_in; k++)
            noe_buf_printf(out, "concat[axis=%d](%s, ", axis, noe_buf_text(&text[k]));
        noe_buf_puts(out, noe_buf_text(&text[o->n_in - 1]));
        for (int k = 1; k < o->n_in; k++) {
            noe_taso_cut *c = NOE_NEW(&r->arena, noe_taso_cut);
            c->left = cut_of(r, s, axis);
            c->right = cut_of(r, &in[k], axis);
            s->dim[axis] = c->size =
                noe_taso_combine(r, s->dim[axis], '+', in[k].dim[axis]);
            s->cuts[axis] = c;
            noe_buf_puts(out, ")");
        }
    }
    for (int k = 0; k < o->n_in; k++)
        noe_buf_clear(&text[k]);
    return ok;
}

static bool write_split(noe_taso_reader *r, const noe_taso_op *o, int port,
                        noe_buf *out, noe_taso_shape *s)
{
    noe_taso_shape in;
    noe_buf text = {0};
    int axis = o->para[NOE_TASO_KEY_AXIS];
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], NULL, &text, &in);
    if (ok &&
        (in.rank < 0 || axis >= in.rank || !in.cuts[axis] || !in.cuts[axis]->left))
        ok = noe_taso_cannot(r, "a split along axis %d, where nothing was concatenated",
                             axis);
    if (ok) {
        const noe_taso_cut *left = in.cuts[axis]->left, *right = in.cuts[axis]->right;
        const noe_taso_cut *part = port ? right : left;
        *s = in;
        s->whole = NULL;
        s->dim[axis] = part->size;
        s->cuts[axis] = part->left ? part : NULL;
        noe_buf_printf(
            out, "slice[axis=%d, start=%s, end=%s](%s)", axis, port ? left->size : "0",
            port ? noe_taso_combine(r, left->size, '+', right->size) : left->size,
            noe_buf_text(&text));
    }
    noe_buf_clear(&text);
    return ok;
}

/* perm as digits to the base rank, the first axis the highest. */
static bool write_transpose(noe_taso_reader *r, const noe_taso_op *o, noe_buf *out,
                            noe_taso_shape *s)
{
    int rank = o->para[NOE_TASO_KEY_NUMDIM], perm[NOE_TASO_MAX_RANK],
        code = o->para[NOE_TASO_KEY_PERM];
    noe_taso_shape in;
    noe_buf text = {0};
    unsigned seen = 0;
    for (int i = rank; i-- > 0; code /= rank) {
        perm[i] = code % rank;
        seen |= 1u << perm[i];
    }
    if (code || seen != (1u << rank) - 1)
        return noe_taso_cannot(r, "%d is no permutation of %d axes",
                               o->para[NOE_TASO_KEY_PERM], rank);
    bool ok = noe_taso_write_value(r, o->in[0], o->port[0], NULL, &text, &in);
    if (ok) {
        *s = (noe_taso_shape){.rank = rank, .is_known = true};
        noe_buf_puts(out, "transpose[perm=[");
        for (int i = 0; i < rank; i++) {
            s->dim[i] = in.dim[perm[i]];
            s->cuts[i] = in.cuts[perm[i]];
            noe_buf_printf(out, "%s%d", i ? ", " : "", perm[i]);
        }
        noe_buf_printf(out, "]](%s)", noe_buf_text(&text));
    }
    noe_buf_clear(&text);
    return ok;
}

static bool write_operator(noe_taso_reader *r, const noe_taso_op *o, int port,
                           const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    switch (o->type) {
    case NOE_TASO_CONV:
        return write_conv(r, o, out, s);
    case NOE_TASO_POOL_MAX:
    case NOE_TASO_POOL_AVG:
        return write_pool(r, o, want, out, s);
    case NOE_TASO_RELU:
        return write_unary(r, o, "relu", want, out, s);
    case NOE_TASO_SIGMOID:
        return write_unary(r, o, "sigmoid", want, out, s);
    case NOE_TASO_TANH:
        return write_unary(r, o, "tanh", want, out, s);
    case NOE_TASO_CONCAT:
        return write_concat(r, o, want, out, s);
    case NOE_TASO_SPLIT:
        return write_split(r, o, port, out, s);
    case NOE_TASO_TRANSPOSE:
        return write_transpose(r, o, out, s);
    case NOE_TASO_ADD:
    case NOE_TASO_MUL:
        return write_elementwise(r, o, want, out, s);
    case NOE_TASO_MATMUL:
        return write_matmul(r, o, out, s);
    case NOE_TASO_SCALAR_MUL:
        return write_scalar_mul(r, o, want, out, s);
    case NOE_TASO_ENLARGE:
        return write_enlarge(r, o, want, out, s);
    case NOE_TASO_IDENTITY_MATRIX:
    case NOE_TASO_IDENTITY_CONV:
    case NOE_TASO_ONE:
    case NOE_TASO_CONST_POOL:
        return write_constant(r, o, want, out, s);
    default:
        return noe_taso_cannot(r, "%s has no counterpart", noe_taso_op_name(o->type));
    }
}

bool noe_taso_write_value(noe_taso_reader *r, int value, int port,
                          const noe_taso_shape *want, noe_buf *out, noe_taso_shape *s)
{
    const noe_taso_op *o = noe_taso_op_of(r, value);
    *s = (noe_taso_shape){0};
    if (out->len > MAX_TEXT)
        return noe_taso_cannot(r, "the rule is too large");
    if (!o)
        return write_variable(r, value, out, s);
    const char *activation = activation_of(r, o);
    noe_buf_puts(out, activation);
    if (!r->fits || !write_operator(r, o, port, want, out, s))
        return false;
    noe_buf_puts(out, *activation ? ")" : "");
    return true;
}
