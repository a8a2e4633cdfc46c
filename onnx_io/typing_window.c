/* SPDX-License-Identifier: Apache-2.0
 *
 * Output types of convolutions and pools of all forms, for every element type and
 * opset: pads given or by auto_pad, partial windows at the end (ceil_mode), dilations.
 */
#include "onnx_io/typing.h"
#include <stdlib.h>

#define MAX_SIZE ((int64_t)1 << 32) /* of what goes into the arithmetic here */

static bool read_list(const noe_typing *t, const char *name, int n, int64_t otherwise,
                      int64_t *list)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, name);
    if (a && a->n_ints != (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        list[i] = a ? a->ints[i] : otherwise;
        if (list[i] > MAX_SIZE || list[i] < -MAX_SIZE)
            return false;
    }
    return true;
}

static bool auto_pad_is(const noe_typing *t, const char *mode)
{
    const Onnx__AttributeProto *a = noe_onnx_attr(t->node->proto, "auto_pad");
    size_t len = strlen(mode);
    return a && a->has_s && a->s.len >= len && memcmp(a->s.data, mode, len) == 0;
}

/* Windows over one axis; -1 if it cannot be. */
static int64_t windows(const noe_typing *t, int64_t in, int64_t reach, int64_t stride,
                       int64_t begin, int64_t end)
{
    bool ceil_mode = noe_onnx_attr_int(t->node->proto, "ceil_mode", 0) != 0;
    if (auto_pad_is(t, "SAME_"))
        return (in + stride - 1) / stride;
    if (auto_pad_is(t, "VALID"))
        begin = end = 0;
    int64_t room = in + begin + end - reach;
    if (room < 0)
        return -1;
    int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= in + begin)
        out--; /* it would start behind the input and its first pads */
    return out;
}

/* Spatial sizes of the output for a kernel; the first two stay the caller's. */
static bool slide(const noe_typing *t, const noe_shape *x, const int64_t *kernel,
                  noe_shape *out)
{
    int64_t stride[NOE_MAX_RANK], dilation[NOE_MAX_RANK], pads[2 * NOE_MAX_RANK];
    int n = x->rank - 2;
    if (!read_list(t, "strides", n, 1, stride) ||
        !read_list(t, "dilations", n, 1, dilation) ||
        !read_list(t, "pads", 2 * n, 0, pads))
        return false;
    out->rank = x->rank;
    for (int i = 0; i < n; i++) {
        int64_t in = x->dim[i + 2];
        out->dim[i + 2] = NOE_DIM_UNKNOWN;
        if (in < 0)
            continue;
        if (in > MAX_SIZE || kernel[i] < 1 || kernel[i] > MAX_SIZE || stride[i] < 1 ||
            dilation[i] < 1 || (kernel[i] - 1) > MAX_SIZE / dilation[i])
            return false;
        int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
        out->dim[i + 2] = windows(t, in, reach, stride[i], pads[i], pads[n + i]);
        if (out->dim[i + 2] < 0)
            return false;
    }
    return true;
}

static const noe_type *spatial(const noe_typing *t, size_t i)
{
    const noe_type *x = noe_typing_input(t, i);
    return x && x->shape.rank >= 3 ? x : NULL;
}

static bool convolve(const noe_typing *t, size_t kernel_slot, noe_type *out)
{
    const noe_type *x = spatial(t, 0), *w = noe_typing_input(t, kernel_slot);
    int64_t kernel[NOE_MAX_RANK];
    int64_t group = noe_onnx_attr_int(t->node->proto, "group", 1);
    if (!x || !w || w->shape.rank != x->shape.rank || group < 1 ||
        group > MAX_SIZE / 2 || w->shape.dim[1] > MAX_SIZE / 2)
        return false;
    if (x->shape.dim[1] >= 0 && w->shape.dim[1] >= 0 &&
        x->shape.dim[1] != w->shape.dim[1] * group)
        return false;
    for (int i = 0; i < x->shape.rank - 2; i++) {
        kernel[i] = w->shape.dim[i + 2];
        if (kernel[i] < 1)
            return false;
    }
    out->dtype = x->dtype;
    out->shape.dim[0] = x->shape.dim[0];
    out->shape.dim[1] = w->shape.dim[0];
    return slide(t, &x->shape, kernel, &out->shape);
}

bool noe_typing_conv(const noe_typing *t, noe_type *out)
{
    return convolve(t, 1, out);
}

bool noe_typing_conv_integer(const noe_typing *t, noe_type *out)
{
    bool known = convolve(t, 1, out);
    out->dtype = NOE_I32;
    return known;
}

bool noe_typing_q_linear_conv(const noe_typing *t, noe_type *out)
{
    const noe_type *zero = noe_typing_input(t, 7);
    bool known = convolve(t, 3, out);
    out->dtype = zero ? zero->dtype : NOE_UNKNOWN;
    return known;
}

bool noe_typing_pool(const noe_typing *t, noe_type *out)
{
    const noe_type *x = spatial(t, 0);
    int64_t kernel[NOE_MAX_RANK];
    if (!x || !noe_onnx_attr(t->node->proto, "kernel_shape") ||
        !read_list(t, "kernel_shape", x->shape.rank - 2, 0, kernel))
        return false;
    *out = *x;
    return slide(t, &x->shape, kernel, &out->shape);
}

bool noe_typing_global_pool(const noe_typing *t, noe_type *out)
{
    const noe_type *x = noe_typing_input(t, 0);
    if (!x || x->shape.rank < 2)
        return false;
    *out = *x;
    for (int i = 2; i < x->shape.rank; i++)
        out->shape.dim[i] = 1;
    return true;
}

/* With output_shape or auto_pad too; an output_padding and pads else. */
bool noe_typing_conv_transpose(const noe_typing *t, noe_type *out)
{
    const noe_type *x = spatial(t, 0), *w = noe_typing_input(t, 1);
    int64_t stride[NOE_MAX_RANK], dilation[NOE_MAX_RANK], pads[2 * NOE_MAX_RANK];
    int64_t extra[NOE_MAX_RANK], given[NOE_MAX_RANK];
    int64_t group = noe_onnx_attr_int(t->node->proto, "group", 1);
    bool has_shape = noe_onnx_attr(t->node->proto, "output_shape") != NULL;
    if (!x || !w || w->shape.rank != x->shape.rank || w->shape.dim[1] > MAX_SIZE ||
        group < 1 || group > MAX_SIZE / 2)
        return false;
    int n = x->shape.rank - 2;
    if (!read_list(t, "strides", n, 1, stride) ||
        !read_list(t, "dilations", n, 1, dilation) ||
        !read_list(t, "pads", 2 * n, 0, pads) ||
        !read_list(t, "output_padding", n, 0, extra) ||
        (has_shape && !read_list(t, "output_shape", n, 0, given)))
        return false;
    *out = *x;
    out->shape.dim[1] = w->shape.dim[1] < 0 ? NOE_DIM_UNKNOWN : w->shape.dim[1] * group;
    for (int i = 0; i < n; i++) {
        int64_t in = x->shape.dim[i + 2], k = w->shape.dim[i + 2],
                *dim = &out->shape.dim[i + 2];
        *dim = has_shape ? given[i] : NOE_DIM_UNKNOWN;
        if (has_shape || in < 0 || k < 0)
            continue;
        if (in > MAX_SIZE || k > MAX_SIZE / 16 || dilation[i] > 16 * 1024 ||
            stride[i] > MAX_SIZE / 16 || stride[i] < 1 || dilation[i] < 1)
            return false;
        bool valid = auto_pad_is(t, "VALID");
        *dim = auto_pad_is(t, "SAME_")
                   ? in * (stride[i] < MAX_SIZE / 4 ? stride[i] : 1)
                   : (in - 1) * stride[i] + extra[i] + (k - 1) * dilation[i] + 1 -
                         (valid ? 0 : pads[i] + pads[n + i]);
        if (*dim < 0)
            return false;
    }
    return true;
}
