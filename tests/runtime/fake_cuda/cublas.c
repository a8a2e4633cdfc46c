/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLASLt: products in loops, columns first, with bias and relu.
 */
#include "tests/runtime/fake_cuda/fake.h"
#include <stdlib.h>
#include <string.h>

#define INVALID 7

struct noe_cublas_desc {
    int compute;
    int32_t trans_a, trans_b;
    uint32_t epilogue;
    const void *bias;
};
struct noe_cublas_layout {
    int type;
    int64_t rows, cols, ld, stride;
    int32_t batch;
};
struct noe_cublas_preference {
    size_t workspace;
    uint32_t alignment[4]; /* a, b, c, d */
};

size_t cublasLtGetVersion(void)
{
    return 130100;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    int status = fake_fails(__func__);
    if (status == 0) {
        *handle = malloc(1);
        fake_cuda_control()->n_handles++;
    }
    return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    fake_cuda_control()->n_handles--;
    return 0;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (scale != CUDA_R_32F)
        return INVALID;
    *desc = calloc(1, sizeof **desc);
    (*desc)->compute = compute;
    (*desc)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    fake_cuda_control()->n_descriptors++;
    return 0;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    fake_cuda_control()->n_descriptors--;
    return 0;
}

static cublasStatus_t set(void *to, size_t wanted, const void *value, size_t bytes)
{
    if (bytes != wanted)
        return INVALID;
    memcpy(to, value, bytes);
    return 0;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t bytes)
{
    if (which == CUBLASLT_MATMUL_DESC_TRANSA)
        return set(&desc->trans_a, sizeof desc->trans_a, value, bytes);
    if (which == CUBLASLT_MATMUL_DESC_TRANSB)
        return set(&desc->trans_b, sizeof desc->trans_b, value, bytes);
    if (which == CUBLASLT_MATMUL_DESC_EPILOGUE)
        return set(&desc->epilogue, sizeof desc->epilogue, value, bytes);
    if (which == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        return set(&desc->bias, sizeof desc->bias, value, bytes);
    return INVALID;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    if (rows == 0 || cols == 0 || ld < (int64_t)rows)
        return INVALID;
    *layout = calloc(1, sizeof **layout);
    **layout = (struct noe_cublas_layout){type, (int64_t)rows, (int64_t)cols, ld, 0, 1};
    fake_cuda_control()->n_descriptors++;
    return 0;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    fake_cuda_control()->n_descriptors--;
    return 0;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void *value, size_t bytes)
{
    if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        return set(&layout->batch, sizeof layout->batch, value, bytes);
    if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
        return set(&layout->stride, sizeof layout->stride, value, bytes);
    return INVALID;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = calloc(1, sizeof **preference);
    fake_cuda_control()->n_descriptors++;
    return 0;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    fake_cuda_control()->n_descriptors--;
    return 0;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t which,
                                     const void *value, size_t bytes)
{
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return set(&preference->workspace, sizeof preference->workspace, value, bytes);
    int k = which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (k < 0 || k > 3)
        return INVALID;
    return set(&preference->alignment[k], sizeof(uint32_t), value, bytes);
}

/* Rows and columns of op(x). */
static int64_t rows_of(const struct noe_cublas_layout *x, int32_t trans)
{
    return trans == CUBLAS_OP_T ? x->cols : x->rows;
}

static int64_t cols_of(const struct noe_cublas_layout *x, int32_t trans)
{
    return trans == CUBLAS_OP_T ? x->rows : x->cols;
}

static bool fits(const struct noe_cublas_desc *desc, const struct noe_cublas_layout *a,
                 const struct noe_cublas_layout *b, const struct noe_cublas_layout *c,
                 const struct noe_cublas_layout *d)
{
    bool has_bias = desc->epilogue & CUBLASLT_EPILOGUE_BIAS;
    return rows_of(a, desc->trans_a) == d->rows &&
           cols_of(b, desc->trans_b) == d->cols &&
           cols_of(a, desc->trans_a) == rows_of(b, desc->trans_b) &&
           c->rows == d->rows && c->cols == d->cols && a->batch == d->batch &&
           b->batch == d->batch && c->batch == d->batch && a->type == d->type &&
           b->type == d->type && c->type == d->type &&
           has_bias == (desc->bias != NULL) &&
           (desc->compute == CUBLAS_COMPUTE_32F ||
            desc->compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

/* Three algorithms; the second one's alignment is remembered in all. */
cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                               cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                               cublasLtMatmulPreference_t preference, int cap,
                               cublasLtMatmulHeuristicResult_t *results, int *n)
{
    int status = fake_fails("cublasLtMatmulAlgoGetHeuristic");
    if (status != 0)
        return status;
    if (!handle || !fits(desc, a, b, c, d))
        return INVALID;
    *n = cap < 3 ? cap : 3;
    for (int i = 0; i < *n; i++) {
        results[i] = (cublasLtMatmulHeuristicResult_t){.workspaceSize = 64};
        results[i].algo.data[0] = (uint64_t)i;
        for (int k = 0; k < 4; k++)
            results[i].algo.data[k + 1] = preference->alignment[k];
    }
    return 0;
}

static bool is_aligned(const void *p, uint64_t alignment)
{
    return alignment != 0 && (uintptr_t)p % alignment == 0;
}

typedef struct matrices {
    const struct noe_cublas_desc *desc;
    const struct noe_cublas_layout *la, *lb, *lc, *ld;
    const char *a, *b, *c;
    char *d;
    float alpha, beta;
    int bytes;
    bool is_bf16;
} matrices;

static float at(const matrices *m, const struct noe_cublas_layout *l, const char *p,
                int32_t trans, int64_t batch, int64_t row, int64_t col)
{
    int64_t i = trans == CUBLAS_OP_T ? col + row * l->ld : row + col * l->ld;
    return fake_load(p, batch * l->stride + i, m->bytes, m->is_bf16);
}

static void multiply(const matrices *m, int64_t batch, int64_t row, int64_t col)
{
    const struct noe_cublas_desc *desc = m->desc;
    int64_t inner = cols_of(m->la, desc->trans_a);
    float sum = 0;
    for (int64_t k = 0; k < inner; k++)
        sum += at(m, m->la, m->a, desc->trans_a, batch, row, k) *
               at(m, m->lb, m->b, desc->trans_b, batch, k, col);
    sum *= m->alpha;
    if (m->beta != 0)
        sum += m->beta * at(m, m->lc, m->c, CUBLAS_OP_N, batch, row, col);
    if (desc->epilogue & CUBLASLT_EPILOGUE_BIAS)
        sum += fake_load(desc->bias, row, m->bytes, m->is_bf16);
    if ((desc->epilogue & CUBLASLT_EPILOGUE_RELU) && sum < 0)
        sum = 0;
    fake_store(m->d, batch * m->ld->stride + row + col * m->ld->ld, sum, m->bytes,
               m->is_bf16);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layout_a, const void *b,
                              cublasLtMatrixLayout_t layout_b, const void *beta,
                              const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    fake_control *control = fake_cuda_control();
    int status = fake_fails(__func__), plan = (int)algo->data[0];
    if (status != 0)
        return status;
    if (!handle || !stream || !workspace || workspace_bytes < 64 ||
        !fits(desc, layout_a, layout_b, layout_c, layout_d) ||
        !is_aligned(a, algo->data[1]) || !is_aligned(b, algo->data[2]) ||
        !is_aligned(c, algo->data[3]) || !is_aligned(d, algo->data[4]))
        return INVALID;
    control->last_product = plan;
    fake_operation(control->ms_product[plan], &control->n_products);
    if (fake_is_capturing())
        return 0;
    matrices m = {desc,
                  layout_a,
                  layout_b,
                  layout_c,
                  layout_d,
                  a,
                  b,
                  c,
                  d,
                  *(const float *)alpha,
                  *(const float *)beta,
                  layout_d->type == CUDA_R_32F ? 4 : 2,
                  layout_d->type == CUDA_R_16BF};
    for (int32_t i = 0; i < layout_d->batch; i++) {
        for (int64_t col = 0; col < layout_d->cols; col++) {
            for (int64_t row = 0; row < layout_d->rows; row++)
                multiply(&m, i, row, col);
        }
    }
    return 0;
}
