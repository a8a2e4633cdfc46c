/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that keep the elements of one tensor and change where they stand.
 */
#include "onnx_io/run/call.h"

/* ---- the same elements in the same order ---- */

static noe_status run_identity(noe_call *c)
{
    noe_call_pass(c, 0, c->in[0]);
    return NOE_OK;
}

static noe_status view(noe_call *c, const noe_run_value *x, const noe_dims *shape)
{
    if (noe_dims_count(shape, 0, shape->rank) != x->n) {
        noe_buf b = {0};
        noe_dims_print(&b, &x->shape);
        noe_buf_puts(&b, " to ");
        noe_dims_print(&b, shape);
        noe_status status =
            noe_call_fail(c, "%s changes the number of elements", b.text);
        noe_buf_clear(&b);
        return status;
    }
    if (x->elem == NOE_ELEM_STRING) {
        int64_t step[NOE_RUN_MAX_RANK];
        noe_dims_strides(shape, step);
        return noe_call_take(c, 0, x, shape, noe_call_strided(c, shape, 0, step), NULL);
    }
    NOE_OUT(y, c, 0, x->elem, shape);
    memcpy(y->data, x->data, x->bytes);
    return NOE_OK;
}

static noe_status run_reshape(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *to;
    int n, open = -1;
    NOE_TRY(noe_call_numbers_or_list(c, 1, "shape", &to, &n));
    if (!to || n > NOE_RUN_MAX_RANK)
        return noe_call_fail(c, "the shape is missing or too long");
    bool allow_zero = noe_call_int(c, "allowzero", 0) != 0;
    noe_dims shape = {.rank = n};
    for (int i = 0; i < n; i++) {
        bool keeps = to[i] == 0 && !allow_zero;
        if (to[i] < -1 || (keeps && i >= x->shape.rank) || (to[i] == -1 && open >= 0))
            return noe_call_fail(c, "shape has %lld at %d", (long long)to[i], i);
        if (to[i] == -1)
            open = i;
        shape.dim[i] = to[i] == -1 ? 1 : keeps ? x->shape.dim[i] : to[i];
    }
    int64_t rest = noe_dims_count(&shape, 0, n);
    if (open >= 0)
        shape.dim[open] = rest > 0 ? x->n / rest : 0;
    return view(c, x, &shape);
}

static noe_status run_flatten(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    int64_t axis = noe_call_int(c, "axis", 1);
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis > x->rank)
        return noe_call_fail(c, "axis is out of range");
    noe_dims shape = {.rank = 2,
                      .dim = {noe_dims_count(x, 0, (int)axis),
                              noe_dims_count(x, (int)axis, x->rank)}};
    return view(c, c->in[0], &shape);
}

/* Marks axes of a rank. */
static noe_status mark_axes(noe_call *c, const int64_t *axes, int n, int rank,
                            bool *marked)
{
    for (int i = 0; i < n; i++) {
        int axis;
        NOE_TRY(noe_call_axis(c, axes[i], rank, &axis));
        if (marked[axis])
            return noe_call_fail(c, "axis %lld is there twice", (long long)axes[i]);
        marked[axis] = true;
    }
    return NOE_OK;
}

static noe_status run_squeeze(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    const int64_t *axes;
    bool drop[NOE_RUN_MAX_RANK] = {0};
    int n;
    NOE_TRY(noe_call_numbers_or_list(c, 1, "axes", &axes, &n));
    NOE_TRY(mark_axes(c, axes, n, x->rank, drop));
    noe_dims shape = {0};
    for (int i = 0; i < x->rank; i++) {
        if (drop[i] && x->dim[i] != 1)
            return noe_call_fail(c, "axis %d has %lld elements", i,
                                 (long long)x->dim[i]);
        if (!(axes ? drop[i] : x->dim[i] == 1))
            shape.dim[shape.rank++] = x->dim[i];
    }
    return view(c, c->in[0], &shape);
}

static noe_status run_unsqueeze(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    const int64_t *axes;
    bool add[NOE_RUN_MAX_RANK] = {0};
    int n, from = 0;
    NOE_TRY(noe_call_numbers_or_list(c, 1, "axes", &axes, &n));
    if (!axes || n + x->rank > NOE_RUN_MAX_RANK)
        return noe_call_fail(c, "axes are missing or too many");
    noe_dims shape = {.rank = x->rank + n};
    NOE_TRY(mark_axes(c, axes, n, shape.rank, add));
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = add[i] ? 1 : x->dim[from++];
    return view(c, c->in[0], &shape);
}

/* In training mode (opset 12 on, with a ratio) the mask is random: not here. */
static noe_status run_dropout(noe_call *c)
{
    const noe_run_value *x = c->in[0], *mode = noe_call_in(c, 2);
    const noe_run_value *ratio = noe_call_in(c, 1);
    bool training = mode && mode->n == 1 && *(const uint8_t *)mode->data;
    bool drops = !ratio || ratio->n != 1 || noe_call_f64(c, ratio)[0] != 0;
    if (training && drops)
        return noe_call_unsupported(c, "in training mode is random");
    noe_call_pass(c, 0, x);
    if (c->n_out > 1) {
        /* before opset 10 the mask had the type of the data */
        noe_elem elem = c->opset < 10 ? x->elem : NOE_ELEM_BOOL;
        NOE_OUT(mask, c, 1, elem, &x->shape);
        double *ones = NOE_ZEROS(c, double, x->n);
        for (int64_t i = 0; i < x->n; i++)
            ones[i] = 1;
        if (elem == NOE_ELEM_BOOL)
            memset(mask->data, 1, mask->bytes);
        else
            noe_run_store_f64(mask, ones, false);
    }
    return NOE_OK;
}

/* ---- views ---- */

static noe_status run_transpose(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    int64_t perm[NOE_RUN_MAX_RANK], step[NOE_RUN_MAX_RANK], stride[NOE_RUN_MAX_RANK];
    bool seen[NOE_RUN_MAX_RANK] = {0};
    int n, rank = x->shape.rank;
    const int64_t *given = noe_call_list(c, "perm", &n);
    if (given && n != rank)
        return noe_call_fail(c, "perm has %d values, want %d", n, rank);
    noe_dims_strides(&x->shape, step);
    noe_dims shape = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        perm[i] = given ? given[i] : rank - 1 - i;
        perm[i] += perm[i] < 0 ? rank : 0;
        if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]])
            return noe_call_fail(c, "perm is no permutation");
        seen[perm[i]] = true;
        shape.dim[i] = x->shape.dim[perm[i]];
        stride[i] = step[perm[i]];
    }
    return noe_call_take(c, 0, x, &shape, noe_call_strided(c, &shape, 0, stride), NULL);
}

static noe_status run_expand(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *to;
    int n;
    NOE_TRY(noe_call_numbers(c, 1, &to, &n));
    noe_dims shape = x->shape, wanted = {.rank = n};
    if (n > NOE_RUN_MAX_RANK)
        return noe_call_fail(c, "the shape is too long");
    for (int i = 0; i < n; i++)
        wanted.dim[i] = to[i];
    if (!noe_dims_broadcast(&shape, &wanted))
        return noe_call_fail(c, "the shape does not broadcast");
    if (!noe_call_out(c, 0, x->elem, &shape)) /* before the indices take memory */
        return NOE_ERR_LIMIT;
    return noe_call_take(c, 0, x, &shape, noe_call_spread(c, &x->shape, &shape), NULL);
}

/* The view of a tensor where each axis gets a start, a step and a length. */
static noe_status run_slice(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *starts, *ends, *axes, *steps;
    int n, n_ends, n_axes, n_steps, rank = x->shape.rank;
    NOE_TRY(noe_call_numbers_or_list(c, 1, "starts", &starts, &n));
    NOE_TRY(noe_call_numbers_or_list(c, 2, "ends", &ends, &n_ends));
    NOE_TRY(noe_call_numbers_or_list(c, 3, "axes", &axes, &n_axes));
    NOE_TRY(noe_call_numbers(c, 4, &steps, &n_steps));
    if (!starts || !ends || n_ends != n || (axes && n_axes != n) ||
        (steps && n_steps != n) || n > rank)
        return noe_call_fail(c, "starts, ends, axes and steps do not fit");
    int64_t stride[NOE_RUN_MAX_RANK], start = 0;
    bool seen[NOE_RUN_MAX_RANK] = {0};
    noe_dims shape = x->shape;
    noe_dims_strides(&x->shape, stride);
    for (int i = 0; i < n; i++) {
        int a = i;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, rank, &a));
        int64_t dim = x->shape.dim[a], step = steps ? steps[i] : 1;
        if (step == 0 || step == INT64_MIN || seen[a])
            return noe_call_fail(c, "step 0, or axis %d is there twice", a);
        seen[a] = true;
        int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
        int64_t from = starts[i] < 0 ? starts[i] + dim : starts[i];
        int64_t to = ends[i] < 0 ? ends[i] + dim : ends[i];
        from = from < 0 ? 0 : from > high ? high : from;
        to = to < low ? low : to > dim ? dim : to;
        int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
        shape.dim[a] = dim == 0 || span <= 0 ? 0 : (span - 1) / by + 1;
        start += from * stride[a];
        stride[a] *= shape.dim[a] > 1 ? step : 1;
    }
    return noe_call_take(c, 0, x, &shape, noe_call_strided(c, &shape, start, stride),
                         NULL);
}

static noe_status run_tile(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *times;
    int n, rank = x->shape.rank;
    NOE_TRY(noe_call_numbers(c, 1, &times, &n));
    if (n != rank)
        return noe_call_fail(c, "%d repeats for rank %d", n, rank);
    /* as a view: each axis is (repeats with stride 0, the axis) */
    noe_dims shape = {.rank = rank}, twice = {.rank = 2 * rank};
    int64_t step[NOE_RUN_MAX_RANK], stride[NOE_RUN_MAX_RANK];
    if (twice.rank > NOE_RUN_MAX_RANK)
        return noe_call_unsupported(c, "rank %d is too large", rank);
    noe_dims_strides(&x->shape, step);
    for (int i = 0; i < rank; i++) {
        if (times[i] < 0 || (times[i] > 0 && x->shape.dim[i] > INT64_MAX / times[i]))
            return noe_call_fail(c, "repeats %lld", (long long)times[i]);
        shape.dim[i] = x->shape.dim[i] * times[i];
        twice.dim[2 * i] = times[i];
        twice.dim[2 * i + 1] = x->shape.dim[i];
        stride[2 * i] = 0;
        stride[2 * i + 1] = step[i];
    }
    if (!noe_call_out(c, 0, x->elem, &shape)) /* before the indices take memory */
        return NOE_ERR_LIMIT;
    return noe_call_take(c, 0, x, &shape, noe_call_strided(c, &twice, 0, stride), NULL);
}

/* Both are a reshape to six axes, a permutation, and a reshape. */
static noe_status blocks(noe_call *c, const noe_dims *six, const int *perm,
                         const noe_dims *shape)
{
    int64_t step[NOE_RUN_MAX_RANK], stride[NOE_RUN_MAX_RANK];
    noe_dims order = {.rank = 6};
    noe_dims_strides(six, step);
    for (int i = 0; i < 6; i++) {
        order.dim[i] = six->dim[perm[i]];
        stride[i] = step[perm[i]];
    }
    return noe_call_take(c, 0, c->in[0], shape, noe_call_strided(c, &order, 0, stride),
                         NULL);
}

/* Larger ones have no elements to move, and squares must not overflow. */
#define MAX_BLOCK 32768

static noe_status run_depth_to_space(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    int64_t b = noe_call_int(c, "blocksize", 0);
    bool is_crd = strcmp(noe_call_string(c, "mode", "DCR"), "CRD") == 0;
    if (x->rank != 4 || b <= 0 || b > MAX_BLOCK || x->dim[1] % (b * b) != 0)
        return noe_call_fail(c, "blocksize %lld does not fit", (long long)b);
    int64_t depth = x->dim[1] / (b * b);
    noe_dims shape = {4, {x->dim[0], depth, x->dim[2] * b, x->dim[3] * b}};
    noe_dims six = {6, {x->dim[0], b, b, depth, x->dim[2], x->dim[3]}};
    if (is_crd) {
        six = (noe_dims){6, {x->dim[0], depth, b, b, x->dim[2], x->dim[3]}};
        return blocks(c, &six, (const int[]){0, 1, 4, 2, 5, 3}, &shape);
    }
    return blocks(c, &six, (const int[]){0, 3, 4, 1, 5, 2}, &shape);
}

static noe_status run_space_to_depth(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    int64_t b = noe_call_int(c, "blocksize", 0);
    if (x->rank != 4 || b <= 0 || b > MAX_BLOCK || x->dim[2] % b != 0 ||
        x->dim[3] % b != 0)
        return noe_call_fail(c, "blocksize %lld does not fit", (long long)b);
    noe_dims shape = {4, {x->dim[0], x->dim[1] * b * b, x->dim[2] / b, x->dim[3] / b}};
    noe_dims six = {6, {x->dim[0], x->dim[1], x->dim[2] / b, b, x->dim[3] / b, b}};
    if (strcmp(noe_call_string(c, "mode", "DCR"), "CRD") == 0)
        return blocks(c, &six, (const int[]){0, 1, 3, 5, 2, 4}, &shape);
    return blocks(c, &six, (const int[]){0, 3, 5, 1, 2, 4}, &shape);
}

/* ---- pads ---- */

static int64_t reflect(int64_t i, int64_t n)
{
    if (n == 1)
        return 0;
    int64_t period = 2 * (n - 1);
    i = ((i % period) + period) % period;
    return i < n ? i : period - i;
}

/* Position in an axis of n elements that padded position i shows, or -1. */
static int64_t padded_position(const char *mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (n == 0)
        return -1;
    if (strcmp(mode, "edge") == 0)
        return i < 0 ? 0 : n - 1;
    if (strcmp(mode, "reflect") == 0)
        return reflect(i, n);
    if (strcmp(mode, "wrap") == 0)
        return ((i % n) + n) % n;
    return -1;
}

/* begin[i] elements go before axis i (negative: are cut); fill may be NULL: zero. */
static noe_status pad(noe_call *c, const char *mode, const int64_t *begin,
                      const noe_dims *shape, const noe_run_value *fill)
{
    const noe_run_value *x = c->in[0];
    int64_t step[NOE_RUN_MAX_RANK], at[NOE_RUN_MAX_RANK] = {0};
    NOE_OUT(y, c, 0, x->elem, shape); /* checks the size */
    int64_t n = y->n, *index = NOE_ZEROS(c, int64_t, n);
    noe_dims_strides(&x->shape, step);
    for (int64_t k = 0; k < n; k++) {
        for (int i = 0; i < shape->rank && index[k] >= 0; i++) {
            int64_t p = padded_position(mode, at[i] - begin[i], x->shape.dim[i]);
            index[k] = p < 0 ? -1 : index[k] + p * step[i];
        }
        for (int i = shape->rank - 1; i >= 0 && ++at[i] == shape->dim[i]; i--)
            at[i] = 0;
    }
    return noe_call_take(c, 0, x, shape, index, fill);
}

/* Before opset 11 the value was an attribute. */
static noe_status pad_value(noe_call *c, noe_run_value **fill)
{
    const noe_run_value *given = noe_call_in(c, 2);
    const noe_run_value *x = c->in[0];
    noe_dims one = {0};
    *fill = NULL;
    if (given && (given->n != 1 || given->elem != x->elem))
        return noe_call_fail(c, "constant_value is not one number of the input's type");
    if (given) {
        *fill = noe_run_value_ref(given);
    } else if (noe_call_attr(c, "value") && noe_elem_is_float((int)x->elem)) {
        double value = noe_call_float(c, "value", 0);
        *fill = noe_run_tensor_new(x->elem, &one, SIZE_MAX);
        noe_run_store_f64(*fill, &value, false);
    }
    return NOE_OK;
}

static bool is_small(int64_t x)
{
    return x >= INT32_MIN && x <= INT32_MAX;
}

static noe_status run_pad(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    const int64_t *pads, *axes;
    int n, n_axes;
    noe_run_value *fill;
    NOE_TRY(
        noe_call_numbers_or_list(c, 1, c->opset < 2 ? "paddings" : "pads", &pads, &n));
    NOE_TRY(noe_call_numbers(c, 3, &axes, &n_axes));
    if (!axes)
        n_axes = x->rank;
    if (!pads || n != 2 * n_axes)
        return noe_call_fail(c, "%d pads for %d axes", n, n_axes);
    noe_dims shape = *x;
    int64_t begin[NOE_RUN_MAX_RANK] = {0};
    for (int i = 0; i < n_axes; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, x->rank, &a));
        if (!is_small(pads[i]) || !is_small(pads[i + n_axes]))
            return noe_call_fail(c, "pads are out of range");
        begin[a] = pads[i];
        shape.dim[a] += pads[i] + pads[i + n_axes];
        if (shape.dim[a] < 0)
            return noe_call_fail(c, "pads leave %lld of axis %d",
                                 (long long)shape.dim[a], a);
    }
    NOE_TRY(pad_value(c, &fill));
    noe_status status =
        pad(c, noe_call_string(c, "mode", "constant"), begin, &shape, fill);
    noe_run_value_release(fill);
    return status;
}

static noe_status run_center_crop_pad(noe_call *c)
{
    const noe_dims *x = &c->in[0]->shape;
    const int64_t *to, *axes;
    int n, n_axes;
    NOE_TRY(noe_call_numbers(c, 1, &to, &n));
    axes = noe_call_list(c, "axes", &n_axes);
    if (n != (axes ? n_axes : x->rank))
        return noe_call_fail(c, "%d sizes do not fit", n);
    noe_dims shape = *x;
    int64_t begin[NOE_RUN_MAX_RANK] = {0};
    for (int i = 0; i < n; i++) {
        int a;
        NOE_TRY(noe_call_axis(c, axes ? axes[i] : i, x->rank, &a));
        if (to[i] < 0)
            return noe_call_fail(c, "size %lld", (long long)to[i]);
        int64_t diff = to[i] - x->dim[a];
        shape.dim[a] = to[i];
        begin[a] = diff >= 0 ? diff / 2 : -((-diff) / 2);
    }
    return pad(c, "constant", begin, &shape, NULL);
}

/* ---- reversal ---- */

static noe_status run_reverse_sequence(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *lens;
    int n;
    int64_t batch = noe_call_int(c, "batch_axis", 1),
            time = noe_call_int(c, "time_axis", 0);
    NOE_TRY(noe_call_numbers(c, 1, &lens, &n));
    if (x->shape.rank < 2 ||
        !((batch == 0 && time == 1) || (batch == 1 && time == 0)) ||
        n != x->shape.dim[batch])
        return noe_call_fail(c, "axes or sequence_lens do not fit");
    int64_t step[NOE_RUN_MAX_RANK], *index = NOE_ZEROS(c, int64_t, x->n);
    noe_dims_strides(&x->shape, step);
    for (int64_t k = 0; k < x->n; k++) {
        int64_t t = k / step[time] % x->shape.dim[time];
        int64_t len = lens[k / step[batch] % x->shape.dim[batch]];
        if (len < 0 || len > x->shape.dim[time])
            return noe_call_fail(c, "a sequence of %lld", (long long)len);
        index[k] = t < len ? k + (len - 1 - 2 * t) * step[time] : k;
    }
    return noe_call_take(c, 0, x, &x->shape, index, NULL);
}

static noe_status run_trilu(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *k;
    int n, rank = x->shape.rank;
    NOE_TRY(noe_call_numbers(c, 1, &k, &n));
    if (rank < 2 || (k && n != 1))
        return noe_call_fail(c, "rank %d", rank);
    bool upper = noe_call_int(c, "upper", 1) != 0;
    int64_t rows = x->shape.dim[rank - 2], columns = x->shape.dim[rank - 1];
    int64_t *index = NOE_ZEROS(c, int64_t, x->n), shift = k ? k[0] : 0;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t above = i % columns - i / columns % rows;
        index[i] = (upper ? above >= shift : above <= shift) ? i : -1;
    }
    return noe_call_take(c, 0, x, &x->shape, index, NULL);
}

/* ---- several tensors ---- */

static noe_status run_concat(noe_call *c)
{
    noe_dims shape = c->in[0]->shape;
    int axis;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 1), shape.rank, &axis));
    for (int i = 1; i < c->n_in; i++) {
        const noe_run_value *x = c->in[i];
        noe_dims same = x ? x->shape : shape;
        if (!x || x->elem != c->in[0]->elem || x->shape.rank != shape.rank)
            return noe_call_fail(c, "input %d does not fit input 0", i);
        same.dim[axis] = shape.dim[axis];
        if (!noe_dims_eq(&same, &shape))
            return noe_call_fail(c, "the shape of input %d does not fit", i);
        shape.dim[axis] += x->shape.dim[axis];
    }
    NOE_OUT(y, c, 0, c->in[0]->elem, &shape);
    int64_t outer = noe_dims_count(&shape, 0, axis), at = 0;
    int64_t inner = noe_dims_count(&shape, axis + 1, shape.rank);
    size_t width = (size_t)noe_elem_get((int)y->elem)->bytes;
    for (int i = 0; i < c->n_in; i++) {
        int64_t run = c->in[i]->shape.dim[axis] * inner;
        for (int64_t o = 0; o < outer; o++) {
            int64_t to = o * shape.dim[axis] * inner + at;
            for (int64_t k = 0; k < run && y->elem == NOE_ELEM_STRING; k++)
                y->text[to + k] = noe_strdup(noe_run_text(c->in[i], o * run + k));
            if (y->elem != NOE_ELEM_STRING)
                memcpy((char *)y->data + (size_t)to * width,
                       (const char *)c->in[i]->data + (size_t)(o * run) * width,
                       (size_t)run * width);
        }
        at += run;
    }
    return NOE_OK;
}

/* Elements [from, from + len) of an axis. */
static noe_status cut(noe_call *c, int out, const noe_run_value *x, int axis,
                      int64_t from, int64_t len)
{
    noe_dims shape = x->shape;
    int64_t step[NOE_RUN_MAX_RANK];
    noe_dims_strides(&x->shape, step);
    shape.dim[axis] = len;
    return noe_call_take(c, out, x, &shape,
                         noe_call_strided(c, &shape, from * step[axis], step), NULL);
}

static noe_status run_split(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    const int64_t *sizes;
    int n, axis;
    NOE_TRY(noe_call_axis(c, noe_call_int(c, "axis", 0), x->shape.rank, &axis));
    NOE_TRY(noe_call_numbers_or_list(c, 1, "split", &sizes, &n));
    int64_t parts = sizes ? n : noe_call_int(c, "num_outputs", c->n_out);
    int64_t dim = x->shape.dim[axis], at = 0;
    if (parts != c->n_out || parts <= 0)
        return noe_call_fail(c, "%lld parts for %d outputs", (long long)parts,
                             c->n_out);
    int64_t each = (dim + parts - 1) / parts;
    for (int i = 0; i < c->n_out; i++) {
        int64_t len = sizes ? sizes[i] : dim - at < each ? dim - at : each;
        if (len < 0 || len > dim - at)
            return noe_call_fail(c, "the parts do not add up to %lld", (long long)dim);
        NOE_TRY(cut(c, i, x, axis, at, len));
        at += len;
    }
    return at == dim
               ? NOE_OK
               : noe_call_fail(c, "the parts do not add up to %lld", (long long)dim);
}

const noe_operator noe_operators_move[] = {
    {"Identity", run_identity, 1, NULL, NOE_TAKES_ANY},
    {"Reshape", run_reshape, 1, NULL, 0},
    {"Flatten", run_flatten, 1, NULL, 0},
    {"Squeeze", run_squeeze, 1, NULL, 0},
    {"Unsqueeze", run_unsqueeze, 1, NULL, 0},
    {"Dropout", run_dropout, 1, NULL, 0},
    {"Transpose", run_transpose, 1, NULL, 0},
    {"Expand", run_expand, 2, NULL, 0},
    {"Slice", run_slice, 1, NULL, 0},
    {"Tile", run_tile, 2, NULL, 0},
    {"DepthToSpace", run_depth_to_space, 1, NULL, 0},
    {"SpaceToDepth", run_space_to_depth, 1, NULL, 0},
    {"Pad", run_pad, 1, NULL, 0},
    {"CenterCropPad", run_center_crop_pad, 2, NULL, 0},
    {"ReverseSequence", run_reverse_sequence, 2, NULL, 0},
    {"Trilu", run_trilu, 1, NULL, 0},
    {"Concat", run_concat, 1, NULL, NOE_NEEDS_ALL},
    {"Split", run_split, 1, NULL, 0},
    {0},
};
