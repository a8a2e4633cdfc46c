/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that slide over spatial axes: what convolutions and pools have in common.
 */
#ifndef NOE_ONNX_IO_RUN_WINDOW_H
#define NOE_ONNX_IO_RUN_WINDOW_H

#include "onnx_io/run/call.h"

#define NOE_MAX_SPATIAL (NOE_RUN_MAX_RANK - 2)
typedef struct noe_window {
    int n; /* spatial axes */
    int64_t in[NOE_MAX_SPATIAL], out[NOE_MAX_SPATIAL], kernel[NOE_MAX_SPATIAL];
    int64_t stride[NOE_MAX_SPATIAL], dilation[NOE_MAX_SPATIAL];
    int64_t begin[NOE_MAX_SPATIAL], end[NOE_MAX_SPATIAL]; /* pads */
} noe_window;

/* Reads strides, dilations, pads, auto_pad and ceil_mode for an input of this shape;
 * sets all but out if `transposed`. w->kernel is set by the caller. */
noe_status noe_window_read(noe_call *c, const noe_dims *x, bool transposed,
                           noe_window *w);
int64_t noe_window_count(const int64_t *sizes, int n);

/* Convolution of x[N,C,...] with kernels w[M,C/group,...] in double: y[N,M,out...] must
 * be zero. */
void noe_window_convolve(const noe_window *w, const double *x, const double *kernel,
                         double *y, const int64_t *n_c_m, int64_t group);
/* Shape checks of Conv and its relatives: fills w and {N, C, M}, and the result's
 * shape. */
noe_status noe_window_of_conv(noe_call *c, const noe_run_value *x,
                              const noe_run_value *kernel, noe_window *w,
                              int64_t *n_c_m, noe_dims *shape);

#endif
