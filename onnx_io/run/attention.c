/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention (opset 23 on) and rotary position embedding.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef struct attention {
    int64_t batch, q_heads, kv_heads, q_len, kv_len, past, total, size, v_size;
    double *q, *k, *v; /* [B,heads,len,size]; k and v with the past in front */
    bool is_flat;      /* inputs of rank 3 */
} attention;

/* Rank 3, [B,len,heads*size], is the same as rank 4 with two axes turned. */
static double *by_head(noe_call *c, const noe_run_value *x, int64_t heads, int64_t past,
                       const noe_run_value *before, int64_t *len, int64_t *size)
{
    bool flat = x->shape.rank == 3;
    *len = x->shape.dim[flat ? 1 : 2];
    *size = flat ? x->shape.dim[2] / heads : x->shape.dim[3];
    int64_t batch = x->shape.dim[0], total = past + *len;
    double *v = noe_call_f64(c, x),
           *y = NOE_ZEROS(c, double, batch *heads *total **size);
    const double *old = before ? noe_call_f64(c, before) : NULL;
    for (int64_t i = 0; i < batch * heads * total * *size; i++) {
        int64_t s = i % *size, t = i / *size % total, h = i / *size / total % heads;
        int64_t b = i / *size / total / heads;
        if (t < past)
            y[i] = old[((b * heads + h) * past + t) * *size + s];
        else if (flat)
            y[i] = v[((b * *len + t - past) * heads + h) * *size + s];
        else
            y[i] = v[((b * heads + h) * *len + t - past) * *size + s];
    }
    return y;
}

/* Has x [B,heads,S,size] or [B,S,heads*size] so many heads, and do the keys or values
 * from before fit it? */
static bool splits(const noe_run_value *x, int64_t heads, const noe_run_value *before)
{
    bool flat = x->shape.rank == 3;
    int64_t own = flat ? heads : x->shape.dim[1];
    int64_t size = flat ? x->shape.dim[2] / heads : x->shape.dim[3];
    bool fits = own == heads && (!flat || x->shape.dim[2] % heads == 0);
    return fits &&
           (!before || (before->shape.dim[0] == x->shape.dim[0] &&
                        before->shape.dim[1] == heads && before->shape.dim[3] == size));
}

static noe_status read_attention(noe_call *c, attention *a)
{
    const noe_run_value *q = c->in[0], *k = c->in[1], *v = c->in[2];
    const noe_run_value *past_k = noe_call_in(c, 4), *past_v = noe_call_in(c, 5);
    int rank = q->shape.rank;
    if ((rank != 3 && rank != 4) || k->shape.rank != rank || v->shape.rank != rank ||
        !past_k != !past_v ||
        (past_k && (past_k->shape.rank != 4 || past_v->shape.rank != 4)))
        return noe_call_fail(c, "the ranks of Q, K and V do not fit");
    a->is_flat = rank == 3;
    a->batch = q->shape.dim[0];
    a->q_heads = a->is_flat ? noe_call_int(c, "q_num_heads", 0) : q->shape.dim[1];
    a->kv_heads = a->is_flat ? noe_call_int(c, "kv_num_heads", 0) : k->shape.dim[1];
    a->past = past_k ? past_k->shape.dim[2] : 0;
    if (a->q_heads < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads != 0)
        return noe_call_fail(c, "%lld heads of Q, %lld of K and V",
                             (long long)a->q_heads, (long long)a->kv_heads);
    if (!splits(q, a->q_heads, NULL) || !splits(k, a->kv_heads, past_k) ||
        !splits(v, a->kv_heads, past_v) || k->shape.dim[0] != a->batch ||
        v->shape.dim[0] != a->batch || (past_v && past_v->shape.dim[2] != a->past))
        return noe_call_fail(c, "Q, K and V do not fit");
    int64_t size_k, len_v, n;
    a->q = by_head(c, q, a->q_heads, 0, NULL, &a->q_len, &a->size);
    a->k = by_head(c, k, a->kv_heads, a->past, past_k, &a->kv_len, &size_k);
    a->v = by_head(c, v, a->kv_heads, a->past, past_v, &len_v, &a->v_size);
    a->total = a->past + a->kv_len;
    if (size_k != a->size || len_v != a->kv_len)
        return noe_call_fail(c, "Q, K and V do not fit");
    return noe_call_count(c, &(noe_dims){4, {a->batch, a->q_heads, a->q_len, a->total}},
                          &n);
}

/* What is added to the scores: [B,H,q_len,total]. A mask that is shorter than the keys
 * hides the rest. */
static noe_status read_mask(noe_call *c, const attention *a, double **bias)
{
    const noe_run_value *mask = noe_call_in(c, 3), *pad = noe_call_in(c, 6);
    noe_dims shape = {4, {a->batch, a->q_heads, a->q_len, a->total}};
    int64_t n = noe_dims_count(&shape, 0, 4);
    *bias = NOE_ZEROS(c, double, n);
    if (mask) {
        noe_dims wide = shape, given = mask->shape;
        int64_t own = given.rank > 0 ? given.dim[given.rank - 1] : 1;
        wide.dim[3] = own == 1 ? a->total : own;
        noe_dims fit = wide;
        if (!noe_dims_broadcast(&fit, &given) || !noe_dims_eq(&fit, &wide) ||
            own > a->total)
            return noe_call_fail(c, "the mask does not broadcast to the scores");
        const double *m = noe_call_f64_as(c, mask, &wide);
        for (int64_t i = 0; i < n; i++) {
            int64_t t = i % a->total;
            double x = t < wide.dim[3] ? m[i / a->total * wide.dim[3] + t] : -INFINITY;
            if (mask->elem == NOE_ELEM_BOOL)
                x = t < wide.dim[3] && x != 0 ? 0 : -INFINITY;
            (*bias)[i] = x;
        }
    }
    bool causal = noe_call_int(c, "is_causal", 0) != 0;
    const int64_t *lens = pad ? noe_call_i64(c, pad) : NULL;
    if (pad && pad->n != a->batch)
        return noe_call_fail(c, "%lld lengths for a batch of %lld", (long long)pad->n,
                             (long long)a->batch);
    for (int64_t i = 0; i < n; i++) {
        int64_t t = i % a->total, s = i / a->total % a->q_len;
        int64_t b = i / a->total / a->q_len / a->q_heads;
        int64_t past = lens ? lens[b] - a->q_len : a->past;
        if ((causal && t > s + past) || (lens && t >= lens[b]))
            (*bias)[i] = -INFINITY;
    }
    return NOE_OK;
}

/* One row of scores: mode 0 after the product, 1 after the mask, 2 after the soft cap,
 * 3 after the softmax (as the second output shows them). */
static void row(const attention *a, const double *q, const double *k,
                const double *bias, double scale, double cap, int64_t mode, double *s,
                double *shown)
{
    double most = -INFINITY, total = 0;
    for (int64_t t = 0; t < a->total; t++) {
        s[t] = 0;
        for (int64_t i = 0; i < a->size; i++)
            s[t] += q[i] * k[t * a->size + i];
        s[t] *= scale;
        if (mode == 0)
            shown[t] = s[t];
        if (cap > 0)
            s[t] = cap * tanh(s[t] / cap);
        if (mode == 1)
            shown[t] = s[t];
        s[t] += bias[t];
        if (mode == 2)
            shown[t] = s[t];
        most = fmax(most, s[t]);
    }
    for (int64_t t = 0; t < a->total; t++) {
        s[t] = isinf(most) && most < 0 ? 0 : exp(s[t] - most);
        total += s[t];
    }
    for (int64_t t = 0; t < a->total; t++) {
        s[t] = total > 0 ? s[t] / total : 0;
        if (mode == 3)
            shown[t] = s[t];
    }
}

static noe_status store(noe_call *c, int i, const noe_dims *shape, const double *v)
{
    NOE_OUT(y, c, i, c->in[0]->elem, shape);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

static noe_status run_attention(noe_call *c)
{
    attention a = {0};
    double *bias = NULL;
    NOE_TRY(read_attention(c, &a));
    NOE_TRY(read_mask(c, &a, &bias));
    double scale = noe_call_float(c, "scale", 1 / sqrt((double)a.size));
    double cap = noe_call_float(c, "softcap", 0);
    int64_t mode = noe_call_int(c, "qk_matmul_output_mode", 0);
    int64_t rows = a.batch * a.q_heads * a.q_len;
    double *s = NOE_ZEROS(c, double, a.total),
           *shown = NOE_ZEROS(c, double, rows *a.total);
    double *out = NOE_ZEROS(c, double, rows *a.v_size);
    for (int64_t r = 0; r < rows; r++) {
        int64_t t = r % a.q_len, h = r / a.q_len % a.q_heads,
                b = r / a.q_len / a.q_heads;
        int64_t kv = b * a.kv_heads + h / (a.q_heads / a.kv_heads);
        row(&a, a.q + r * a.size, a.k + kv * a.total * a.size, bias + r * a.total,
            scale, cap, mode, s, shown + r * a.total);
        double *to = a.is_flat ? out + ((b * a.q_len + t) * a.q_heads + h) * a.v_size
                               : out + r * a.v_size;
        for (int64_t k = 0; k < a.total; k++) {
            for (int64_t i = 0; i < a.v_size; i++)
                to[i] += s[k] * a.v[(kv * a.total + k) * a.v_size + i];
        }
    }
    noe_dims y = {4, {a.batch, a.q_heads, a.q_len, a.v_size}};
    if (a.is_flat)
        y = (noe_dims){3, {a.batch, a.q_len, a.q_heads * a.v_size}};
    noe_dims key = {4, {a.batch, a.kv_heads, a.total, a.size}}, value = key;
    noe_dims scores = {4, {a.batch, a.q_heads, a.q_len, a.total}};
    value.dim[3] = a.v_size;
    NOE_TRY(store(c, 0, &y, out));
    NOE_TRY(store(c, 1, &key, a.k));
    NOE_TRY(store(c, 2, &value, a.v));
    return store(c, 3, &scores, shown);
}

/* X [B,heads,S,size] or [B,S,heads*size], caches of cosines and sines, position ids. */
static noe_status run_rotary(noe_call *c)
{
    const noe_run_value *x = c->in[0], *cosines = c->in[1], *sines = c->in[2];
    const noe_run_value *ids = noe_call_in(c, 3);
    bool flat = x->shape.rank == 3;
    bool interleaved = noe_call_int(c, "interleaved", 0) != 0;
    int64_t heads = flat ? noe_call_int(c, "num_heads", 0) : x->shape.dim[1];
    if ((!flat && x->shape.rank != 4) || heads < 1 || cosines->shape.rank < 1 ||
        (flat && x->shape.dim[2] % heads != 0) ||
        !noe_dims_eq(&cosines->shape, &sines->shape))
        return noe_call_fail(c, "the inputs do not fit");
    int64_t len = x->shape.dim[flat ? 1 : 2];
    int64_t size = flat ? x->shape.dim[2] / heads : x->shape.dim[3];
    int64_t turned = noe_call_int(c, "rotary_embedding_dim", 0);
    if (turned < 0 || turned > size)
        return noe_call_fail(c, "rotary_embedding_dim is %lld of %lld",
                             (long long)turned, (long long)size);
    int64_t half = (turned ? turned : size) / 2;
    const double *v = noe_call_f64(c, x), *co = noe_call_f64(c, cosines),
                 *si = noe_call_f64(c, sines);
    const int64_t *at = ids ? noe_call_i64(c, ids) : NULL;
    double *y = NOE_ZEROS(c, double, x->n);
    if (cosines->shape.dim[cosines->shape.rank - 1] != half || half * 2 > size ||
        (ids ? ids->n != x->shape.dim[0] * len
             : cosines->n != x->shape.dim[0] * len * half))
        return noe_call_fail(c, "the caches do not fit");
    memcpy(y, v, (size_t)x->n * sizeof *y);
    for (int64_t r = 0; size > 0 && r < x->n / size; r++) {
        int64_t b = r / (len * heads), t = flat ? r / heads % len : r % len;
        int64_t place = at ? at[b * len + t] : b * len + t;
        if (place < 0 || place >= cosines->n || (place + 1) * half > cosines->n)
            return noe_call_fail(c, "position %lld is outside the cache",
                                 (long long)place);
        for (int64_t i = 0; i < half; i++) {
            int64_t p = r * size + (interleaved ? 2 * i : i);
            int64_t q = interleaved ? p + 1 : p + half;
            double cosine = co[place * half + i], sine = si[place * half + i];
            y[p] = cosine * v[p] - sine * v[q];
            y[q] = sine * v[p] + cosine * v[q];
        }
    }
    return store(c, 0, &x->shape, y);
}

const noe_operator noe_operators_attention[] = {
    {"Attention", run_attention, 3, NULL, 0},
    {"RotaryEmbedding", run_rotary, 3, NULL, 0},
    {0},
};
