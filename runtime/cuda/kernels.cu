/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's own kernels: what neither cuDNN nor cuBLAS computes, or computes no
 * better than memory allows. Compiled at run time by NVRTC, behind kernel_args.h and the
 * numbers of the operators (OP_ADD, ...), once for each NOE_STORE: values are stored as
 * f32 (0), f16 (1) or bf16 (2) and computed in f32.
 *
 * The text keeps to what C and CUDA C++ share. Tests compile it as C and run it thread
 * by thread (tests/runtime/fake_cuda.c defines KERNEL, DEVICE, SHARED, BARRIER and the
 * indices), so every formula here is compared with the reference evaluator on machines
 * without a GPU. What that cannot show is speed, and what real threads do to each other.
 *
 * Every kernel works for any grid; those with BARRIER want a block of a power of two.
 */
#define MAX_THREADS 256

#ifdef __CUDACC_RTC__
#define KERNEL  extern "C" __global__ void
#define DEVICE  static __device__ __forceinline__
#define SHARED  __shared__
#define BARRIER __syncthreads
DEVICE float half_to_float(unsigned short h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
DEVICE unsigned short float_to_half(float x)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
DEVICE float bits_to_float(unsigned u)
{
    return __uint_as_float(u);
}
DEVICE unsigned float_to_bits(float x)
{
    return __float_as_uint(x);
}
#endif

#if NOE_STORE == 0
DEVICE float load(const void *p, long long i)
{
    return ((const float *)p)[i];
}
DEVICE void store(void *p, long long i, float x)
{
    ((float *)p)[i] = x;
}
#elif NOE_STORE == 1
DEVICE float load(const void *p, long long i)
{
    return half_to_float(((const unsigned short *)p)[i]);
}
DEVICE void store(void *p, long long i, float x)
{
    ((unsigned short *)p)[i] = float_to_half(x);
}
#else
DEVICE float load(const void *p, long long i)
{
    return bits_to_float((unsigned)((const unsigned short *)p)[i] << 16);
}
/* To the nearest, ties to even; NaN stays NaN. */
DEVICE void store(void *p, long long i, float x)
{
    unsigned u = float_to_bits(x);
    u += 0x7fffU + ((u >> 16) & 1U);
    ((unsigned short *)p)[i] = x != x ? (unsigned short)0x7fc0 : (unsigned short)(u >> 16);
}
#endif

/* ---- functions of elements, as core/semantics.inc means them ---- */

DEVICE float larger(float a, float b)
{
    return a > b || a != a ? a : b;
}

DEVICE float smaller(float a, float b)
{
    return a < b || a != a ? a : b;
}

DEVICE float sigmoid(float x)
{
    float e = expf(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

DEVICE float hard_sigmoid(float x, float alpha, float beta)
{
    return larger(0, smaller(1, alpha * x + beta));
}

DEVICE float gelu(float x, float by_tanh)
{
    float inner = 0.7978845608028654f * (x + 0.044715f * (x * (x * x)));
    float odd = by_tanh != 0 ? tanhf(inner) : erff(x / 1.4142135623730951f);
    return 0.5f * x * (1 + odd);
}

DEVICE float softplus(float x)
{
    float tail = logf(1 + expf(x < 0 ? x : -x));
    return x < 0 ? tail : x + tail;
}

/* To the nearest, ties to even; NaN stays NaN. */
DEVICE float round_bf16(float x)
{
    unsigned u = float_to_bits(x);
    u += 0x7fffU + ((u >> 16) & 1U);
    return x != x ? x : bits_to_float(u & 0xffff0000U);
}

DEVICE float unary(int op, float x, const float *f)
{
    switch (op) {
    case OP_NEG:
        return -x;
    case OP_RELU:
        return x < 0 ? 0 : x;
    case OP_SIGMOID:
        return sigmoid(x);
    case OP_TANH:
        return tanhf(x);
    case OP_EXP:
        return expf(x);
    case OP_SQRT:
        return sqrtf(x);
    case OP_RECIPROCAL:
        return 1 / x;
    case OP_ABS:
        return fabsf(x);
    case OP_LEAKY_RELU:
        return x < 0 ? f[0] * x : x;
    case OP_LOG:
        return logf(x);
    case OP_ERF:
        return erff(x);
    case OP_CLIP: /* f[2], f[3]: is there a bound? */
        x = f[2] != 0 ? larger(x, f[0]) : x;
        return f[3] != 0 ? smaller(x, f[1]) : x;
    case OP_POW:
        return powf(x, f[0]);
    case OP_GELU:
        return gelu(x, f[0]);
    case OP_SWISH:
        return x * sigmoid(f[0] * x);
    case OP_HARD_SIGMOID:
        return hard_sigmoid(x, f[0], f[1]);
    case OP_HARD_SWISH:
        return x * hard_sigmoid(x, 1.0f / 6, 0.5f);
    case OP_ELU:
        return x < 0 ? f[0] * (expf(x) - 1) : x;
    case OP_SOFTPLUS:
        return softplus(x);
    case OP_CAST: /* f[0]: ONNX's number of the type */
        return f[0] == 10 ? half_to_float(float_to_half(x)) : f[0] == 16 ? round_bf16(x) : x;
    }
    return x;
}

DEVICE float binary(int op, float a, float b, float scale)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    case OP_MAX:
        return larger(a, b);
    case OP_MIN:
        return smaller(a, b);
    case OP_PRELU:
        return a < 0 ? a * b : a;
    }
    return a + scale * b; /* NOE_CU_ADD_SCALED */
}

/* ---- places ---- */

/* Offsets of element i of the space in the first n operands. */
DEVICE void find(const noe_cu_args *a, unsigned i, int n, long long *at)
{
    for (int k = 0; k < n; k++)
        at[k] = a->offset[k];
    for (int d = a->rank - 1; d >= 0; d--) {
        unsigned next = i / a->dim[d], index = i - next * a->dim[d];
        for (int k = 0; k < n; k++)
            at[k] += (long long)index * a->stride[k][d];
        i = next;
    }
}

DEVICE long long find_inner(const noe_cu_args *a, unsigned i, int k)
{
    long long at = 0;
    for (int d = a->inner_rank - 1; d >= 0; d--) {
        unsigned next = i / a->inner_dim[d], index = i - next * a->inner_dim[d];
        at += (long long)index * a->inner_stride[k][d];
        i = next;
    }
    return at;
}

#define EACH_ELEMENT(A, I)                                          \
    for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I < (A).n; \
         I += gridDim.x * blockDim.x)
#define EACH_BLOCK(A, I) for (unsigned I = blockIdx.x; I < (A).n; I += gridDim.x)
#define EACH_INNER(A, J) for (unsigned J = threadIdx.x; J < (A).m; J += blockDim.x)

/* ---- elementwise ---- */

KERNEL noe_unary(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
        store(a.p[0], at[0], unary(a.op, load(a.p[1], at[1]), a.f));
    }
}

KERNEL noe_binary(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[3];
        find(&a, i, 3, at);
        float x = binary(a.op, load(a.p[1], at[1]), load(a.p[2], at[2]), a.f[0]);
        store(a.p[0], at[0], unary(a.act, x, a.f));
    }
}

KERNEL noe_where(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[4];
        find(&a, i, 4, at);
        bool first = load(a.p[1], at[1]) != 0;
        store(a.p[0], at[0], load(a.p[first ? 2 : 3], at[first ? 2 : 3]));
    }
}

/* Operands: x, scale, shift, mean, variance; f[0]: epsilon. */
KERNEL noe_batch_norm(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[6];
        find(&a, i, 6, at);
        float deviation = sqrtf(load(a.p[5], at[5]) + a.f[0]);
        float x = (load(a.p[1], at[1]) - load(a.p[4], at[4])) / deviation;
        x = x * load(a.p[2], at[2]) + load(a.p[3], at[3]);
        store(a.p[0], at[0], unary(a.act, x, a.f));
    }
}

/* ---- copies ---- */

/* Bits are moved as they are. */
KERNEL noe_copy(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
#if NOE_STORE == 0
        ((unsigned *)a.p[0])[at[0]] = ((const unsigned *)a.p[1])[at[1]];
#else
        ((unsigned short *)a.p[0])[at[0]] = ((const unsigned short *)a.p[1])[at[1]];
#endif
    }
}

/* The last axis of the space picks from the operand's elements i[0], i[1], ..., which
 * are inner_stride[0][0] apart. */
KERNEL noe_gather(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
        at[1] += (long long)a.i[i % a.dim[a.rank - 1]] * a.inner_stride[0][0];
        store(a.p[0], at[0], load(a.p[1], at[1]));
    }
}

/* Where element `out` of a resized axis lies: between lo and lo + 1, `right` of the way.
 * Modes as in core/ops.def. */
DEVICE int resize_place(int mode, int out, int n, int scale, float *right)
{
    long long num = out, den = scale;
    if (mode == 1) {
        num = 2LL * out + 1 - scale;
        den = 2LL * scale;
    }
    if (mode == 3) {
        num = (long long)out * (n - 1);
        den = (long long)n * scale > 1 ? (long long)n * scale - 1 : 1;
    }
    num = num < 0 ? 0 : num;
    int lo = (int)(num / den);
    *right = mode == 0 ? 0 : (float)(num % den) / (float)den;
    if (lo >= n - 1) {
        lo = n - 1;
        *right = 0;
    }
    return lo;
}

/* The space is image, channel and three axes; i[NOE_CU_KERNEL + k] are the scales. */
KERNEL noe_resize(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        unsigned rest = i;
        int lo[3];
        float right[3];
        long long at = a.offset[1], to = a.offset[0];
        for (int d = 4; d >= 0; d--) {
            int index = (int)(rest % a.dim[d]);
            rest /= a.dim[d];
            to += index * a.stride[0][d];
            if (d >= 2) {
                lo[d - 2] = resize_place(a.op, index, a.i[NOE_CU_IN + d - 2],
                                         a.i[NOE_CU_KERNEL + d - 2], &right[d - 2]);
                index = lo[d - 2];
            }
            at += index * a.stride[1][d];
        }
        float sum = 0;
        for (int corner = 0; corner < 8; corner++) {
            float weight = 1;
            long long from = at;
            for (int d = 0; d < 3; d++) {
                bool second = corner >> d & 1;
                weight *= second ? right[d] : 1 - right[d];
                from += second ? a.stride[1][d + 2] : 0;
            }
            if (weight != 0)
                sum += weight * load(a.p[1], from);
        }
        store(a.p[0], to, sum);
    }
}

/* ---- windows ---- */

DEVICE int tap(const noe_cu_args *a, int d, int out, int k)
{
    return out * a->i[NOE_CU_STRIDE + d] + k * a->i[NOE_CU_DILATION + d] -
           a->i[NOE_CU_BEGIN + d];
}

/* Index of element i on the five axes image, channel, and three of the window. */
DEVICE long long find_window(const noe_cu_args *a, unsigned i, int *index)
{
    long long at = a->offset[0];
    for (int d = 4; d >= 0; d--) {
        index[d] = (int)(i % a->dim[d]);
        at += index[d] * a->stride[0][d];
        i /= a->dim[d];
    }
    return at;
}

/* op: OP_MAX_POOL or OP_AVERAGE_POOL; i[NOE_CU_FLAG]: padding counts. */
KERNEL noe_pool(const noe_cu_args a)
{
    const int *kernel = a.i + NOE_CU_KERNEL, *in = a.i + NOE_CU_IN;
    EACH_ELEMENT(a, e)
    {
        int o[5], n = 0;
        float best = 0;
        long long to = find_window(&a, e, o);
        long long plane = a.offset[1] + o[0] * a.stride[1][0] + o[1] * a.stride[1][1];
        for (int k = 0; k < kernel[0] * kernel[1] * kernel[2]; k++) {
            int d = tap(&a, 0, o[2], k / (kernel[1] * kernel[2]));
            int h = tap(&a, 1, o[3], k / kernel[2] % kernel[1]);
            int w = tap(&a, 2, o[4], k % kernel[2]);
            if (d < 0 || d >= in[0] || h < 0 || h >= in[1] || w < 0 || w >= in[2])
                continue;
            float x = load(a.p[1], plane + d * a.stride[1][2] + h * a.stride[1][3] +
                                       w * a.stride[1][4]);
            if (a.op == OP_MAX_POOL)
                best = n == 0 || best < x ? x : best;
            else
                best += x;
            n++;
        }
        if (a.op != OP_MAX_POOL)
            best /= (float)(a.i[NOE_CU_FLAG] ? kernel[0] * kernel[1] * kernel[2] : n);
        store(a.p[0], to, best);
    }
}

/* One position of a convolution's operand, or -1: outside, or (transposed) between the
 * strides. */
DEVICE int source(const noe_cu_args *a, int d, int out, int k, bool transposed)
{
    int at = tap(a, d, out, k);
    if (transposed) {
        at = out + a->i[NOE_CU_BEGIN + d] - k * a->i[NOE_CU_DILATION + d];
        if (at < 0 || at % a->i[NOE_CU_STRIDE + d] != 0)
            return -1;
        at /= a->i[NOE_CU_STRIDE + d];
    }
    return at >= 0 && at < a->i[NOE_CU_IN + d] ? at : -1;
}

/* Convolution, straight from its definition, for what cuDNN declines; op: OP_CONV or
 * OP_CONV_TRANSPOSE. The kernel's strides are inner_stride[0]: result channel, operand
 * channel, three axes. */
KERNEL noe_conv_direct(const noe_cu_args a)
{
    const int *kernel = a.i + NOE_CU_KERNEL;
    bool transposed = a.op == OP_CONV_TRANSPOSE;
    EACH_ELEMENT(a, e)
    {
        int o[5], of_group = a.i[NOE_CU_GROUPED];
        float sum = 0;
        long long to = find_window(&a, e, o);
        int group = o[1] / a.i[NOE_CU_RESULTS];
        for (int k = 0; k < kernel[0] * kernel[1] * kernel[2]; k++) {
            int kd = k / (kernel[1] * kernel[2]), kh = k / kernel[2] % kernel[1];
            int d = source(&a, 0, o[2], kd, transposed);
            int h = source(&a, 1, o[3], kh, transposed);
            int w = source(&a, 2, o[4], k % kernel[2], transposed);
            if (d < 0 || h < 0 || w < 0)
                continue;
            long long at = a.offset[1] + o[0] * a.stride[1][0] + d * a.stride[1][2] +
                           h * a.stride[1][3] + w * a.stride[1][4];
            long long tap_at = kd * a.inner_stride[0][2] + kh * a.inner_stride[0][3] +
                               k % kernel[2] * a.inner_stride[0][4];
            for (int c = 0; c < of_group; c++) {
                int channel = group * of_group + c;
                long long weight =
                    transposed ? channel * a.inner_stride[0][0] +
                                     o[1] % a.i[NOE_CU_RESULTS] * a.inner_stride[0][1]
                               : o[1] * a.inner_stride[0][0] + c * a.inner_stride[0][1];
                sum += load(a.p[1], at + channel * a.stride[1][1]) *
                       load(a.p[2], a.offset[2] + weight + tap_at);
            }
        }
        store(a.p[0], to, sum);
    }
}

/* ---- reductions ---- */

DEVICE bool is_extreme(int op)
{
    return op == OP_REDUCE_MAX || op == OP_REDUCE_MIN;
}

DEVICE float combine(int op, float a, float b)
{
    if (op == OP_REDUCE_MAX)
        return a < b ? b : a;
    return op == OP_REDUCE_MIN ? (b < a ? b : a) : a + b;
}

/* One value from each thread's. */
DEVICE float combine_block(int op, float x)
{
    SHARED float part[MAX_THREADS];
    part[threadIdx.x] = x;
    BARRIER();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] = combine(op, part[threadIdx.x], part[threadIdx.x + half]);
        BARRIER();
    }
    x = part[0];
    BARRIER();
    return x;
}

/* A thread for each result: where little lies behind each. */
KERNEL noe_reduce_small(const noe_cu_args a)
{
    EACH_ELEMENT(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
        float x = is_extreme(a.op) ? load(a.p[1], at[1]) : 0;
        for (unsigned j = 0; j < a.m; j++)
            x = combine(a.op, x, load(a.p[1], at[1] + find_inner(&a, j, 1)));
        store(a.p[0], at[0], a.op == OP_REDUCE_MEAN ? x / (float)a.m : x);
    }
}

/* A block for each result. */
KERNEL noe_reduce(const noe_cu_args a)
{
    EACH_BLOCK(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
        float x = is_extreme(a.op) ? load(a.p[1], at[1]) : 0;
        EACH_INNER(a, j)
        x = combine(a.op, x, load(a.p[1], at[1] + find_inner(&a, j, 1)));
        x = combine_block(a.op, x);
        if (threadIdx.x == 0)
            store(a.p[0], at[0], a.op == OP_REDUCE_MEAN ? x / (float)a.m : x);
    }
}

/* Softmax and its logarithm: a block for each line of m elements. */
KERNEL noe_softmax(const noe_cu_args a)
{
    EACH_BLOCK(a, i)
    {
        long long at[2];
        find(&a, i, 2, at);
        float top = load(a.p[1], at[1]), sum = 0;
        EACH_INNER(a, j)
        top = combine(OP_REDUCE_MAX, top, load(a.p[1], at[1] + find_inner(&a, j, 1)));
        top = combine_block(OP_REDUCE_MAX, top);
        EACH_INNER(a, j)
        sum += expf(load(a.p[1], at[1] + find_inner(&a, j, 1)) - top);
        sum = combine_block(OP_REDUCE_SUM, sum);
        EACH_INNER(a, j)
        {
            float x = load(a.p[1], at[1] + find_inner(&a, j, 1)) - top;
            store(a.p[0], at[0] + find_inner(&a, j, 0),
                  a.op == OP_SOFTMAX ? expf(x) / sum : x - logf(sum));
        }
    }
}

/* Mean 0 and variance 1 of each block's m elements, then scale and shift (operands 2 and
 * 3, where i[0] and i[1] say that they are there); f[0]: epsilon. */
KERNEL noe_normalize(const noe_cu_args a)
{
    EACH_BLOCK(a, i)
    {
        long long at[4];
        find(&a, i, 4, at);
        float mean = 0, variance = 0;
        EACH_INNER(a, j) mean += load(a.p[1], at[1] + find_inner(&a, j, 1));
        mean = combine_block(OP_REDUCE_SUM, mean) / (float)a.m;
        EACH_INNER(a, j)
        {
            float x = load(a.p[1], at[1] + find_inner(&a, j, 1)) - mean;
            variance += x * x;
        }
        variance = combine_block(OP_REDUCE_SUM, variance) / (float)a.m;
        float deviation = sqrtf(variance + a.f[0]);
        EACH_INNER(a, j)
        {
            float x = (load(a.p[1], at[1] + find_inner(&a, j, 1)) - mean) / deviation;
            x = a.i[0] ? x * load(a.p[2], at[2] + find_inner(&a, j, 2)) : x;
            x = a.i[1] ? x + load(a.p[3], at[3] + find_inner(&a, j, 3)) : x;
            store(a.p[0], at[0] + find_inner(&a, j, 0), x);
        }
    }
}
