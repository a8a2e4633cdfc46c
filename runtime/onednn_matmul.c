/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products: matmul with batch axes and broadcasting, and gemm.
 *
 * Batch axes are merged as far as possible: a right operand without them makes one tall
 * matrix of the left one, equal batch axes become one axis; oneDNN's fast kernels want
 * few axes. Right operands that are weights are packed at preparation.
 *
 * gemm is scale * (A B + bias); alpha is oneDNN's output scale, and a bias, which that
 * would scale too, is multiplied by beta / alpha at preparation. What this cannot say
 * (beta on a bias known only at run time, alpha = 0, a bias that varies along the rows)
 * is declined.
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

/* Scales and bias of gemm; false where they do not fit one call. */
static bool read_gemm(const noe_dnn_plan *p, const noe_fusion *f, int64_t columns,
                      noe_dnn_product *product)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    double alpha = noe_params_get(n->op, n->params, NOE_PARAM_ALPHA)->f;
    double beta = noe_params_get(n->op, n->params, NOE_PARAM_BETA)->f;
    product->scale = (float)alpha;
    product->bias_scale = (float)(1 / alpha);
    if (f->n_operands < 3 || beta == 0)
        return product->scale != 0 && isfinite(product->scale) &&
               isfinite(product->bias_scale);
    product->bias = f->operands[2];
    product->bias_scale = (float)(beta / alpha);
    return product->scale != 0 && isfinite(product->scale) &&
           isfinite(product->bias_scale) && is_column_bias(p, product->bias, columns) &&
           (product->bias_scale == 1 || noe_dnn_is_weight(p, product->bias));
}

noe_status noe_dnn_emit_matmul(noe_dnn_plan *p, const noe_fusion *f, bool *done,
                               noe_error *err)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *y = &n->types[0].shape;
    bool trans[2] = {false, false}, is_gemm = n->op == NOE_OP_GEMM;
    noe_shape in[2];
    for (int i = 0; i < 2; i++) {
        in[i] = *noe_dnn_shape(p, f->operands[i]);
        if (in[i].rank < 2)
            return NOE_OK;
    }
    noe_dnn_product product = {.scale = 1, .bias_scale = 1, .bias = NOE_REF_NONE};
    if (is_gemm) {
        trans[0] = noe_params_get(n->op, n->params, NOE_PARAM_TRANS_A)->i != 0;
        trans[1] = noe_params_get(n->op, n->params, NOE_PARAM_TRANS_B)->i != 0;
        if (!read_gemm(p, f, y->dim[1], &product))
            return NOE_OK;
    }
    for (int i = 0; i < 2; i++) {
        if (trans[i])
            in[i] = noe_shape_make(2, (int64_t[]){in[i].dim[1], in[i].dim[0]});
    }
    noe_dnn_take_followers(f, p->g, &product);
    dims3 d;
    merge_axes(&in[0], &in[1], y, &d);
    product.is_plain = true;
    product.dst_md = noe_dnn_plain_dims(d.n, d.y);
    product.src = (noe_dnn_operand){f->operands[0], matrix(d.n, d.a, trans[0]), true};
    bool pack = noe_dnn_is_weight(p, f->operands[1]);
    product.weights =
        (noe_dnn_operand){f->operands[1], matrix(d.n, d.b, trans[1]), !pack};
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
    return noe_dnn_add_product(p, f, &product, done, err);
}
