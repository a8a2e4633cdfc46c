/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products: matmul with batch axes and broadcasting, and gemm.
 *
 * Batch axes are merged as far as possible: a right operand without them makes one tall
 * matrix of the left one, equal batch axes become one axis; oneDNN's fast kernels want
 * few axes. Right operands that are weights are packed at preparation.
 *
 * gemm is scale * (A B + bias); alpha is oneDNN's output scale, and a bias, which that
 * would scale too, is multiplied by beta / alpha at preparation. Other third operands
 * (beta on one known only at run time, one that varies along the rows) are added by a
 * second call. alpha = 0 is declined.
 */
#include "runtime/onednn.h"
#include <math.h>

#define MAX_AXES 12

/* The three tensors as oneDNN sees them. */
typedef struct dims3 {
    int n;
    dnnl_dims_t a, b, y;
} dims3;

static bool has_batch(const noe_shape *s)
{
    for (int i = 0; i < s->rank - 2; i++) {
        if (s->dim[i] != 1)
            return true;
    }
    return false;
}

static int64_t product_of(const int64_t *dim, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product *= dim[i];
    return product;
}

/* Shapes on a common number of axes, missing ones in front being 1. */
static void align(const noe_shape *s, int n, dnnl_dim_t *dims)
{
    for (int i = 0; i < n; i++)
        dims[i] = i < n - s->rank ? 1 : s->dim[i - (n - s->rank)];
}

static void set_last(dnnl_dim_t *dims, int n, int64_t rows, int64_t columns)
{
    dims[n - 2] = rows;
    dims[n - 1] = columns;
}

static void merge_axes(const noe_shape *a, const noe_shape *b, const noe_shape *y,
                       dims3 *d)
{
    int ra = a->rank, rb = b->rank;
    int64_t m = a->dim[ra - 2], k = a->dim[ra - 1], n = b->dim[rb - 1];
    int64_t batch = product_of(y->dim, y->rank - 2);
    bool same = ra == rb && memcmp(a->dim, b->dim, sizeof(int64_t) * (ra - 2)) == 0;
    if (!has_batch(b)) {
        d->n = 2;
        set_last(d->a, 2, batch * m, k);
        set_last(d->b, 2, k, n);
        set_last(d->y, 2, batch * m, n);
    } else if (same || !has_batch(a)) {
        d->n = 3;
        d->a[0] = same ? batch : 1;
        d->b[0] = d->y[0] = batch;
        set_last(d->a, 3, m, k);
        set_last(d->b, 3, k, n);
        set_last(d->y, 3, m, n);
    } else {
        d->n = y->rank;
        align(a, d->n, d->a);
        align(b, d->n, d->b);
        align(y, d->n, d->y);
    }
}

/* dims in C order of the transposed matrix. */
static dnnl_memory_desc_t matrix(int n, const dnnl_dim_t *dims, bool transposed)
{
    if (!transposed)
        return noe_dnn_plain_dims(n, dims);
    dnnl_dims_t swapped = {dims[1], dims[0]};
    dnnl_memory_desc_t md = noe_dnn_plain_dims(2, swapped), out;
    const int perm[] = {1, 0};
    dnnl_status_t s = dnnl_memory_desc_permute_axes(&out, &md, perm);
    NOE_ASSERT(n == 2 && s == dnnl_success);
    return out;
}

/* A bias oneDNN's kernels take: one value a column, or a weight of one value. */
static bool is_column_bias(const noe_dnn_plan *p, noe_ref r, int64_t columns)
{
    const noe_shape *s = noe_dnn_shape(p, r);
    int64_t n = noe_shape_elements(s);
    if (n == 1 && columns != 1)
        return noe_dnn_is_weight(p, r);
    return n == columns && (s->rank == 0 || s->dim[s->rank - 1] == columns);
}

/* What is to be done for gemm: its third operand as the product's bias, or apart. */
typedef struct gemm {
    bool trans[2];
    noe_ref apart; /* to be added to the product after scaling by beta; or none */
    float beta;
} gemm;

/* False where it is not a product at all. */
static bool read_gemm(const noe_dnn_plan *p, const noe_fusion *f, int64_t columns,
                      noe_dnn_product *product, gemm *m)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    if (n->op != NOE_OP_GEMM)
        return true;
    double alpha = noe_params_get(n->op, n->params, NOE_PARAM_ALPHA)->f;
    m->trans[0] = noe_params_get(n->op, n->params, NOE_PARAM_TRANS_A)->i != 0;
    m->trans[1] = noe_params_get(n->op, n->params, NOE_PARAM_TRANS_B)->i != 0;
    m->beta = (float)noe_params_get(n->op, n->params, NOE_PARAM_BETA)->f;
    product->scale = (float)alpha;
    product->bias_scale = (float)(1 / alpha);
    if (!isfinite(product->scale) || !isfinite(product->bias_scale))
        return false;
    if (f->n_operands < 3 || m->beta == 0)
        return true;
    product->bias_scale = (float)(m->beta / alpha);
    bool is_bias = isfinite(product->bias_scale) &&
                   is_column_bias(p, f->operands[2], columns) &&
                   (product->bias_scale == 1 || noe_dnn_is_weight(p, f->operands[2]));
    if (is_bias)
        product->bias = f->operands[2];
    else
        m->apart = f->operands[2];
    return true;
}

/* beta times the operand, in C order. */
static noe_status get_scaled(noe_dnn_plan *p, const gemm *m, noe_dnn_view *out,
                             bool *done, noe_error *err)
{
    noe_dnn_eltwise scale = {dnnl_eltwise_linear, m->beta, 0};
    noe_dnn_view from;
    *done = true;
    if (noe_dnn_is_weight(p, m->apart) && m->beta != 1) {
        float *data = NULL;
        NOE_TRY(noe_dnn_weight_data(p, m->apart, &data, err));
        size_t n = (size_t)noe_shape_elements(noe_dnn_shape(p, m->apart));
        float *scaled = noe_arena_alloc(&p->scratch, (n + 1) * sizeof *scaled);
        for (size_t i = 0; i < n; i++)
            scaled[i] = m->beta * data[i];
        dnnl_memory_desc_t md = noe_dnn_plain(noe_dnn_shape(p, m->apart));
        return noe_dnn_new_weight(p, scaled, &md, &md, out, err);
    }
    NOE_TRY(noe_dnn_get_plain(p, m->apart, &from, err));
    *out = from;
    if (m->beta == 1)
        return NOE_OK;
    *done = false;
    return noe_dnn_add_eltwise(p, &scale, &from, out, done, err);
}

/* Adds beta times the third operand to the product, which is node f->last's value. */
static noe_status add_apart(noe_dnn_plan *p, const noe_fusion *f, const gemm *m,
                            bool *done, noe_error *err)
{
    const noe_shape *y = &p->g->nodes[f->last].types[0].shape;
    const noe_shape *c = noe_dnn_shape(p, m->apart);
    noe_dnn_view product = p->values[f->last].views[0], scaled;
    NOE_TRY(get_scaled(p, m, &scaled, done, err));
    if (!*done)
        return NOE_OK;
    dnnl_dims_t dims = {1, 1};
    for (int i = 0; i < c->rank; i++)
        dims[2 - c->rank + i] = c->dim[i];
    scaled.md = noe_dnn_plain_dims(2, dims);
    product.md = noe_dnn_plain(y);
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    *done = false;
    if (dnnl_binary_desc_init(&desc, dnnl_binary_add, &product.md, &scaled.md,
                              &product.md) != dnnl_success)
        return NOE_OK;
    NOE_TRY(noe_dnn_describe(p, &desc, NULL, &pd, err));
    if (!pd)
        return NOE_OK;
    const noe_dnn_arg args[] = {
        {DNNL_ARG_SRC_0, product}, {DNNL_ARG_SRC_1, scaled}, {DNNL_ARG_DST, product}};
    NOE_TRY(noe_dnn_add_step(p, pd, args, 3, err));
    *done = true;
    return NOE_OK;
}

/* Both operands as matrices: vectors get the axis that the operator drops again. */
static void matrix_shapes(const noe_dnn_plan *p, const noe_fusion *f, const bool *trans,
                          noe_shape *in)
{
    for (int i = 0; i < 2; i++) {
        const noe_shape *s = noe_dnn_shape(p, f->operands[i]);
        in[i] = *s;
        if (s->rank == 1)
            in[i] =
                noe_shape_make(2, (int64_t[]){i ? s->dim[0] : 1, i ? 1 : s->dim[0]});
        if (trans[i])
            in[i] = noe_shape_make(2, (int64_t[]){s->dim[1], s->dim[0]});
    }
}

static noe_shape result_shape(const noe_shape *a, const noe_shape *b)
{
    noe_shape batch_a = noe_shape_make(a->rank - 2, a->dim);
    noe_shape batch_b = noe_shape_make(b->rank - 2, b->dim), y;
    bool fits = noe_shape_broadcast(&batch_a, &batch_b, &y);
    NOE_ASSERT(fits);
    y.dim[y.rank++] = a->dim[a->rank - 2];
    y.dim[y.rank++] = b->dim[b->rank - 1];
    return y;
}

noe_status noe_dnn_emit_matmul(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    noe_shape in[2];
    gemm m = {.apart = NOE_REF_NONE};
    noe_dnn_product product = {.scale = 1, .bias_scale = 1, .bias = NOE_REF_NONE};
    const noe_shape *shape = &p->g->nodes[f->anchor].types[0].shape;
    int64_t columns = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    if (!read_gemm(p, f, columns, &product, &m))
        return NOE_OK;
    matrix_shapes(p, f, m.trans, in);
    noe_shape y = result_shape(&in[0], &in[1]);
    /* What follows is along the axes of the result as it is. */
    if (f->n_steps > 0 && (!noe_shape_eq(&y, shape) || !noe_ref_is_none(m.apart)))
        return NOE_OK;
    noe_dnn_take_followers(f, p->g, &product);
    dims3 d;
    merge_axes(&in[0], &in[1], &y, &d);
    product.is_plain = true;
    product.dst_md = noe_dnn_plain_dims(d.n, d.y);
    product.src = (noe_dnn_operand){f->operands[0], matrix(d.n, d.a, m.trans[0]), true};
    bool pack = noe_dnn_is_weight(p, f->operands[1]);
    product.weights =
        (noe_dnn_operand){f->operands[1], matrix(d.n, d.b, m.trans[1]), !pack};
    dnnl_dims_t bias_dims;
    for (int i = 0; i < d.n; i++)
        bias_dims[i] = i == d.n - 1 ? d.y[i] : 1;
    product.bias_md = noe_dnn_plain_dims(d.n, bias_dims);
    dnnl_memory_desc_t any = noe_dnn_any(d.n, d.b);
    dnnl_matmul_desc_t desc;
    dnnl_status_t s = dnnl_matmul_desc_init(
        &desc, &product.src.from, pack ? &any : &product.weights.from,
        noe_ref_is_none(product.bias) ? NULL : &product.bias_md, &product.dst_md);
    if (s != dnnl_success)
        return NOE_OK;
    product.op_desc = &desc;
    NOE_TRY(noe_dnn_add_product(p, f, &product, done, err));
    if (*done && !noe_ref_is_none(m.apart))
        return add_apart(p, f, &m, done, err);
    return NOE_OK;
}
