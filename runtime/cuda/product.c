/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices by cublasLtMatmul: bias and relu are its epilogue, a residual is
 * its third operand; what is left of a group runs as kernels behind it.
 *
 * cuBLAS counts columns first, so for it our d = a b (in rows) is d' = b' a'.
 */
#include "runtime/cuda/plan.h"
#include "core/base/hash.h"

#define WORKSPACE ((size_t)32 << 20)

typedef struct product {
    noe_ref a, b;
    bool trans_a, trans_b; /* stored the other way round */
    int64_t m, k, n;
    float alpha, beta; /* beta: of `added` */
    noe_ref added;     /* gemm's third operand, or none */
    noe_ref bias, residual;
    noe_op activation;
    uint32_t vector; /* bias's buffer */
} product;

static int64_t dim_at(const noe_shape *s, int from_end)
{
    return s->rank >= from_end ? s->dim[s->rank - from_end] : 1;
}

static bool is_vector(const noe_cu_plan *p, noe_ref r, int64_t n)
{
    const noe_shape *s = noe_cu_shape(p, r);
    int64_t elements = noe_shape_elements(s);
    return (elements == n && dim_at(s, 1) == n) ||
           (elements == 1 && p->g->nodes[r.node].is_weight);
}

static const noe_value *param(const noe_node *n, noe_param which)
{
    return noe_params_get(n->op, n->params, which);
}

static void describe_gemm(const noe_cu_plan *p, const noe_fusion *f, product *t)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    t->trans_a = param(n, NOE_PARAM_TRANS_A)->i;
    t->trans_b = param(n, NOE_PARAM_TRANS_B)->i;
    t->alpha = (float)param(n, NOE_PARAM_ALPHA)->f;
    t->beta = (float)param(n, NOE_PARAM_BETA)->f;
    t->k = noe_cu_shape(p, t->a)->dim[t->trans_a ? 0 : 1];
    if (f->n_operands < 3 || t->beta == 0)
        return;
    if (t->beta == 1 && is_vector(p, f->operands[2], t->n))
        t->bias = f->operands[2];
    else
        t->added = f->operands[2];
}

static void describe(const noe_cu_plan *p, const noe_fusion *f, product *t)
{
    const noe_node *n = &p->g->nodes[f->anchor];
    const noe_shape *a = noe_cu_shape(p, f->operands[0]),
                    *b = noe_cu_shape(p, f->operands[1]);
    *t = (product){.a = f->operands[0],
                   .b = f->operands[1],
                   .alpha = 1,
                   .added = NOE_REF_NONE,
                   .bias = NOE_REF_NONE,
                   .residual = NOE_REF_NONE,
                   .activation = NOE_OP_COUNT,
                   .vector = NOE_CU_NONE};
    t->m = dim_at(a, 2);
    t->k = dim_at(a, 1);
    t->n = b->rank > 1 ? dim_at(b, 1) : 1;
    if (n->op == NOE_OP_GEMM) {
        t->m = n->types[0].shape.dim[0];
        t->n = n->types[0].shape.dim[1];
        describe_gemm(p, f, t);
    }
    for (int i = 0; i < f->n_steps; i++) {
        if (f->steps[i].role == NOE_FUSION_BIAS)
            t->bias = f->steps[i].other;
        else if (f->steps[i].role == NOE_FUSION_RESIDUAL)
            t->residual = f->steps[i].other;
        else
            t->activation = p->g->nodes[f->steps[i].node].op;
    }
}

/* ---- one call ---- */

typedef struct batch {
    int64_t n;
    int64_t at[3], step[3]; /* matrices of d, a, b, in elements */
} batch;

static noe_status add_layout(noe_cu_api *api, cublasLtMatrixLayout_t *layout, int type,
                             int64_t rows, int64_t cols, const batch *b, int64_t step,
                             noe_error *err)
{
    int32_t count = (int32_t)b->n;
    NOE_CU_TRY_BLAS(api, cublasLtMatrixLayoutCreate, layout, type, (uint64_t)rows,
                    (uint64_t)cols, rows);
    if (b->n == 1)
        return NOE_OK;
    NOE_CU_TRY_BLAS(api, cublasLtMatrixLayoutSetAttribute, *layout,
                    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    NOE_CU_TRY_BLAS(api, cublasLtMatrixLayoutSetAttribute, *layout,
                    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    return NOE_OK;
}

static noe_status add_layouts(noe_cu_device *d, noe_cu_product *m, const product *t,
                              const batch *b, noe_error *err)
{
    noe_cu_api *api = &d->api;
    int type = d->options.type == NOE_CUDA_F16    ? CUDA_R_16F
               : d->options.type == NOE_CUDA_BF16 ? CUDA_R_16BF
                                                  : CUDA_R_32F;
    int64_t rows_b = t->trans_b ? t->k : t->n, cols_b = t->trans_b ? t->n : t->k;
    int64_t rows_a = t->trans_a ? t->m : t->k, cols_a = t->trans_a ? t->k : t->m;
    NOE_TRY(add_layout(api, &m->layout[0], type, rows_b, cols_b, b, b->step[2], err));
    NOE_TRY(add_layout(api, &m->layout[1], type, rows_a, cols_a, b, b->step[1], err));
    NOE_TRY(add_layout(api, &m->layout[2], type, t->n, t->m, b, b->step[0], err));
    return add_layout(api, &m->layout[3], type, t->n, t->m, b, b->step[0], err);
}

static noe_status set_attribute(noe_cu_api *api, noe_cu_product *m, int which,
                                const void *value, size_t bytes, noe_error *err)
{
    NOE_CU_TRY_BLAS(api, cublasLtMatmulDescSetAttribute, m->desc, which, value, bytes);
    return NOE_OK;
}

static noe_status add_desc(noe_cu_device *d, noe_cu_product *m, const product *t,
                           bool relu, noe_error *err)
{
    noe_cu_api *api = &d->api;
    int compute = d->options.type == NOE_CUDA_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                   : CUBLAS_COMPUTE_32F;
    int32_t first = t->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t second = t->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint32_t epilogue =
        m->has_bias ? relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
        : relu      ? CUBLASLT_EPILOGUE_RELU
                    : CUBLASLT_EPILOGUE_DEFAULT;
    NOE_CU_TRY_BLAS(api, cublasLtMatmulDescCreate, &m->desc, compute, CUDA_R_32F);
    NOE_TRY(
        set_attribute(api, m, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first, err));
    NOE_TRY(set_attribute(api, m, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second,
                          err));
    NOE_TRY(set_attribute(api, m, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                          sizeof epilogue, err));
    if (!m->has_bias)
        return NOE_OK;
    const void *later = (const void *)(uintptr_t)256; /* aligned, as the true one is */
    return set_attribute(api, m, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &later,
                         sizeof later, err);
}

/* How operands are aligned whose first matrix is at some elements from a buffer. */
static uint32_t alignment_of(const noe_cu_device *d, int64_t at)
{
    uint64_t bytes = (uint64_t)at * noe_cu_element_bytes(d);
    return bytes % 256 == 0 ? 256 : (uint32_t)(bytes & -bytes);
}

static noe_status set_preference(noe_cu_device *d, const noe_cu_product *m,
                                 cublasLtMatmulPreference_t preference, noe_error *err)
{
    noe_cu_api *api = &d->api;
    static const struct {
        int which, offset;
    } operands[] = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 2},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 1},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 3},
                    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 0}};
    size_t bytes = WORKSPACE;
    NOE_CU_TRY_BLAS(api, cublasLtMatmulPreferenceSetAttribute, preference,
                    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        uint32_t alignment = alignment_of(d, m->offset[operands[i].offset]);
        NOE_CU_TRY_BLAS(api, cublasLtMatmulPreferenceSetAttribute, preference,
                        operands[i].which, &alignment, sizeof alignment);
    }
    return NOE_OK;
}

static noe_status find_plans(noe_cu_device *d, noe_cu_product *m, noe_error *err)
{
    noe_cu_api *api = &d->api;
    cublasLtMatmulPreference_t preference;
    if (!d->blas)
        return NOE_OK; /* cuBLAS does not plan without a device */
    NOE_CU_TRY_BLAS(api, cublasLtMatmulPreferenceCreate, &preference);
    noe_status status = set_preference(d, m, preference, err);
    if (status == NOE_OK)
        status = noe_cu_check_blas(api,
                                   api->cublasLtMatmulAlgoGetHeuristic(
                                       d->blas, m->desc, m->layout[0], m->layout[1],
                                       m->layout[2], m->layout[3], preference,
                                       NOE_CU_MAX_PLANS, m->plans, &m->n_plans),
                                   "cublasLtMatmulAlgoGetHeuristic", err);
    api->cublasLtMatmulPreferenceDestroy(preference);
    int n = 0;
    for (int i = 0; i < m->n_plans; i++) {
        if (m->plans[i].state == CUBLAS_STATUS_SUCCESS)
            m->plans[n++] = m->plans[i];
    }
    m->n_plans = n;
    if (status == NOE_OK && n == 0)
        status = noe_fail(err, NOE_ERR_UNSUPPORTED, "cuBLASLt has no algorithm");
    return status;
}

static uint64_t key_of(const noe_cu_plan *p, const product *t, const noe_cu_product *m,
                       const batch *b, bool relu)
{
    noe_buf text = {0};
    noe_buf_printf(
        &text, "%s product %lld %lld %lld %d %d batch %lld %lld %lld %lld; %d %d %d",
        p->device->base.description, (long long)t->m, (long long)t->k, (long long)t->n,
        t->trans_a, t->trans_b, (long long)b->n, (long long)b->step[0],
        (long long)b->step[1], (long long)b->step[2], m->has_bias, m->beta != 0, relu);
    uint64_t hash = noe_hash64(text.text, text.len, 0);
    noe_buf_clear(&text);
    return hash;
}

/* Adds the step first, so that the plan owns what is made for it. */
static noe_status add_call(noe_cu_plan *p, const product *t, const batch *b,
                           const uint32_t *args, bool relu, noe_error *err)
{
    noe_cu_product *m = NOE_NEW(&p->arena, noe_cu_product);
    noe_cu_step *step = noe_cu_add_step(p, NOE_CU_MULTIPLY, args, 5);
    step->product = m;
    m->alpha = t->alpha;
    m->beta = args[3] != args[0] ? 1 : 0;
    m->has_bias = args[4] != NOE_CU_NONE;
    m->offset[0] = m->offset[3] = b->at[0];
    m->offset[1] = b->at[1];
    m->offset[2] = b->at[2];
    step->key = key_of(p, t, m, b, relu);
    noe_status status = add_desc(p->device, m, t, relu, err);
    if (status == NOE_OK)
        status = add_layouts(p->device, m, t, b, err);
    if (status == NOE_OK)
        status = find_plans(p->device, m, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "node %u, product of %lldx%lld and %lldx%lld: ", p->node,
                         (long long)t->m, (long long)t->k, (long long)t->k,
                         (long long)t->n);
    return status;
}

/* ---- batches ---- */

static noe_shape batch_shape(const noe_shape *s)
{
    return noe_shape_make(s->rank > 2 ? s->rank - 2 : 0, s->dim);
}

/* All rows of a at once, where b is one matrix. */
static bool is_one_product(const noe_cu_plan *p, const product *t)
{
    noe_shape b = batch_shape(noe_cu_shape(p, t->b));
    return !t->trans_a && noe_shape_elements(&b) == 1;
}

static noe_status add_calls(noe_cu_plan *p, product *t, const uint32_t *args, bool relu,
                            noe_error *err)
{
    noe_shape a = batch_shape(noe_cu_shape(p, t->a)),
              b = batch_shape(noe_cu_shape(p, t->b)), all;
    if (is_one_product(p, t)) {
        batch one = {.n = 1};
        t->m *= noe_shape_elements(&a);
        return add_call(p, t, &one, args, relu, err);
    }
    NOE_ASSERT(noe_shape_broadcast(&a, &b, &all));
    noe_strides strides[3] = {noe_strides_of(&all), noe_strides_broadcast(&a, &all),
                              noe_strides_broadcast(&b, &all)};
    int64_t size[3] = {t->m * t->n, t->m * t->k, t->k * t->n};
    noe_walk w;
    for (noe_walk_init(&w, &all, 3, strides); w.more; noe_walk_next(&w)) {
        batch run = {.n = w.n};
        for (int k = 0; k < 3; k++) {
            run.at[k] = w.at[k] * size[k];
            run.step[k] = w.step[k] * size[k];
        }
        NOE_TRY(add_call(p, t, &run, args, relu, err));
    }
    return NOE_OK;
}

/* What the call did not take: gemm's own addend, then residual, then activation. */
static noe_status add_rest(noe_cu_plan *p, const noe_fusion *f, const product *t,
                           bool residual_is_in, noe_error *err)
{
    uint32_t y = p->values[f->last].buffer[NOE_CU_PLAIN];
    noe_ref residual = residual_is_in ? NOE_REF_NONE : t->residual;
    if (!noe_ref_is_none(t->added)) {
        noe_op now = noe_ref_is_none(residual) ? t->activation : NOE_OP_COUNT;
        NOE_TRY(noe_cu_add_follower(p, f->last, y, NOE_CU_PLAIN, NOE_OP_ADD, t->added,
                                    now, err));
        noe_cu_args *a = p->steps[p->n_steps - 1].launch;
        a->op = NOE_CU_ADD_SCALED;
        a->f[0] = t->beta;
        if (noe_ref_is_none(residual))
            return NOE_OK;
    }
    if (!noe_ref_is_none(residual))
        return noe_cu_add_follower(p, f->last, y, NOE_CU_PLAIN, NOE_OP_ADD, residual,
                                   t->activation, err);
    if (t->activation != NOE_OP_COUNT)
        return noe_cu_add_follower(p, f->last, y, NOE_CU_PLAIN, NOE_OP_COUNT,
                                   NOE_REF_NONE, t->activation, err);
    return NOE_OK;
}

noe_status noe_cu_emit_product(noe_cu_plan *p, const noe_fusion *f, noe_error *err)
{
    product t;
    uint32_t args[5];
    describe(p, f, &t);
    if (t.k == 0) {
        args[0] = noe_cu_make(p, f->last, NOE_CU_PLAIN);
        noe_cu_add_step(p, NOE_CU_ZERO, args, 1);
        if (!noe_ref_is_none(t.bias)) {
            t.added = t.bias;
            t.beta = 1;
        }
        return add_rest(p, f, &t, false, err);
    }
    NOE_TRY(noe_cu_get(p, t.a, NOE_CU_PLAIN, &args[1], err));
    NOE_TRY(noe_cu_get(p, t.b, NOE_CU_PLAIN, &args[2], err));
    if (!noe_ref_is_none(t.bias) && p->g->nodes[t.bias.node].is_weight)
        NOE_TRY(noe_cu_weight_vector(p, t.bias, t.n, &t.vector, err));
    else if (!noe_ref_is_none(t.bias))
        NOE_TRY(noe_cu_get(p, t.bias, NOE_CU_PLAIN, &t.vector, err));
    bool residual_is_in = noe_ref_is_none(t.added) && !noe_ref_is_none(t.residual);
    uint32_t residual = NOE_CU_NONE;
    if (residual_is_in)
        NOE_TRY(noe_cu_get(p, t.residual, NOE_CU_PLAIN, &residual, err));
    args[0] = noe_cu_make(p, f->last, NOE_CU_PLAIN);
    args[3] = residual_is_in ? residual : args[0];
    args[4] = t.vector;
    bool relu = t.activation == NOE_OP_RELU && noe_ref_is_none(t.added);
    NOE_TRY(add_calls(p, &t, args, relu, err));
    if (relu)
        t.activation = NOE_OP_COUNT;
    return add_rest(p, f, &t, residual_is_in, err);
}

noe_status noe_cu_product_run(noe_cu_device *d, noe_cu_product *m, int plan,
                              char *const *operands, void *workspace, noe_error *err)
{
    noe_cu_api *api = &d->api;
    size_t bytes = noe_cu_element_bytes(d);
    char *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = operands[k] + (size_t)m->offset[k] * bytes;
    if (m->has_bias)
        NOE_TRY(set_attribute(api, m, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &operands[4],
                              sizeof operands[4], err));
    NOE_CU_TRY_BLAS(api, cublasLtMatmul, d->blas, m->desc, &m->alpha, at[2],
                    m->layout[0], at[1], m->layout[1], &m->beta, at[3], m->layout[2],
                    at[0], m->layout[3], &m->plans[plan].algo, workspace,
                    m->plans[plan].workspaceSize, d->stream);
    return NOE_OK;
}
