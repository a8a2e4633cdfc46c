/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes of all opset forms are imported as: a table of small models and the core
 * nodes that they must become.
 */
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <stdlib.h>

typedef struct form {
    const char *model, *graph;
} form;

#define X2 "input x f32 2,3\noutput y f32 *\n"
#define X4 "input x f32 1,3,8,8\noutput y f32 *\n"

static const form forms[] = {
    /* windows */
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y",
     "conv[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 4,3,3,3\ninit b f32 4\nnode Conv x,w,b -> y pads=ints:1,0,2,1 "
        "strides=ints:2,1 kernel_shape=ints:3,3",
     "conv_bias[strides=[2,1], pads=[1,0,2,1], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y auto_pad=s:SAME_UPPER strides=ints:2,3",
     "conv[strides=[2,3], pads=[0,0,1,1], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y auto_pad=s:SAME_LOWER strides=ints:2,3",
     "conv[strides=[2,3], pads=[1,1,0,0], dilations=[1,1], group=1]\n"},
    {X4
     "init w f32 4,3,2,2\nnode Conv x,w -> y auto_pad=s:SAME_UPPER dilations=ints:2,3",
     "conv[strides=[1,1], pads=[1,1,1,2], dilations=[2,3], group=1]\n"},
    {X4 "init w f32 3,1,3,3\nnode Conv x,w -> y auto_pad=s:VALID group=i:3",
     "conv[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=3]\n"},
    {X4 "init w f32 3,1,3,3\nnode Conv x,w -> y auto_pad=s:SOMEHOW group=i:3",
     "opaque\n"},
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y kernel_shape=ints:3,2", "opaque\n"},
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y pads=ints:-1,0,0,0", "opaque\n"},
    {X4 "init w f32 4,3,3,3,3\nnode Conv x,w -> y", "opaque\n"},
    {X4 "init w f32 -\nnode Conv x,w -> y", "opaque\n"},
    {X4 "init w f32 4,3,3,3\nnode Conv x,w -> y dilations=ints:1", "opaque\n"},
    {X4 "node MaxPool x -> y kernel_shape=ints:3,3 strides=ints:2,2",
     "max_pool[kernel_shape=[3,3], strides=[2,2], pads=[0,0,0,0], dilations=[1,1]]\n"},
    {X4 "node MaxPool x -> y kernel_shape=ints:3,3 strides=ints:2,2 ceil_mode=i:1",
     "opaque\n"},
    {X4 "node MaxPool x -> y kernel_shape=ints:2,2 strides=ints:2,2 ceil_mode=i:1",
     "max_pool[kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1]]\n"},
    {X4 "node MaxPool x -> y,i kernel_shape=ints:2,2",
     "max_pool[kernel_shape=[2,2], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]]\n"},
    {X4 "output i i64 *\nnode MaxPool x -> y,i kernel_shape=ints:2,2", "opaque\n"},
    {X4 "node AveragePool x -> y kernel_shape=ints:3,3 pads=ints:1,1,1,1 "
        "count_include_pad=i:1",
     "average_pool[kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1], "
     "count_include_pad=1]\n"},
    {"opset 19\n" X4 "node AveragePool x -> y kernel_shape=ints:3,3 dilations=ints:2,2",
     "opaque\n"},
    {X4 "node GlobalAveragePool x -> y", "global_average_pool\n"},
    /* products and normalisation */
    {X2 "init w f32 4,3\ninit b f32 4\nnode Gemm x,w,b -> y transB=i:1 alpha=f:0.5",
     "gemm[alpha=0.5, beta=1.0, transA=0, transB=1]\n"},
    {X2 "init w f32 3,4\nnode Gemm x,w -> y",
     "gemm[alpha=1.0, beta=1.0, transA=0, transB=0]\n"},
    {X2 "init w f32 3,4\nnode Gemm x,w -> y broadcast=i:1", "opaque\n"},
    {X4 "init a f32 3\nnode BatchNormalization x,a,a,a,a -> y epsilon=f:0.5",
     "batch_normalization[epsilon=0.5]\n"},
    {"opset 15\n" X4
     "init a f32 3\nnode BatchNormalization x,a,a,a,a -> y training_mode=i:1",
     "opaque\n"},
    {"opset 7\n" X4 "init a f32 3\nnode BatchNormalization x,a,a,a,a -> y spatial=i:0",
     "opaque\n"},
    {"opset 8\n" X4 "init a f32 3\nnode BatchNormalization x,a,a,a,a -> y,m,v,n,w",
     "opaque\n"},
    /* reductions */
    {"opset 12\n" X2 "node ReduceSum x -> y axes=ints:-1 keepdims=i:0",
     "reduce_sum[axes=[1], keepdims=0]\n"},
    {X2 "init a i64 1 = -2\nnode ReduceSum x,a -> y",
     "reduce_sum[axes=[0], keepdims=1]\n"},
    {X2 "node ReduceSum x -> y", "reduce_sum[axes=[0,1], keepdims=1]\n"},
    {X2 "node ReduceSum x -> y noop_with_empty_axes=i:1", ""},
    {X2 "node ReduceSum x -> y axes=ints:1", "opaque\n"},
    {X2 "node ReduceMean x -> y axes=ints:1", "reduce_mean[axes=[1], keepdims=1]\n"},
    {"opset 18\n" X2 "init a i64 1 = 1\nnode ReduceMean x,a -> y",
     "reduce_mean[axes=[1], keepdims=1]\n"},
    {"opset 18\n" X2 "input a i64 1\nnode ReduceMean x,a -> y", "opaque\n"},
    {"opset 17\n" X2 "node ReduceMax x -> y axes=ints:1",
     "reduce_max[axes=[1], keepdims=1]\n"},
    {"opset 18\n" X2 "init a i64 1 = 1\nnode ReduceMax x,a -> y keepdims=i:0",
     "reduce_max[axes=[1], keepdims=0]\n"},
    /* order, functions of one value */
    {X2 "input z f32 2,3\ninput u f32 3\nnode Max x,z,u -> y", "max\nmax\n"},
    {X2 "node Min x -> y", ""},
    {X2 "input z f32 3\nnode Min x,z -> y", "min\n"},
    {X2 "node Abs x -> y", "abs\n"},
    {X2 "node Log x -> y", "log\n"},
    {X2 "node LeakyRelu x -> y alpha=f:0.5", "leaky_relu[alpha=0.5]\n"},
    {X2 "node LeakyRelu x -> y", "leaky_relu[alpha=0.009999999776482582]\n"},
    {X2 "node HardSwish x -> y", "hard_swish\n"},
    {X2 "node HardSigmoid x -> y beta=f:0.25",
     "hard_sigmoid[alpha=0.20000000298023224, beta=0.25]\n"},
    {X2 "node Elu x -> y", "elu[alpha=1.0]\n"},
    {X2 "node Softplus x -> y", "softplus\n"},
    {X2 "init s f32 3\nnode PRelu x,s -> y", "prelu\n"},
    {X2 "init s f32 4,2,3\nnode PRelu x,s -> y", "opaque\n"},
    {"opset 20\n" X2 "node Gelu x -> y", "gelu[approximate=0]\n"},
    {"opset 20\n" X2 "node Gelu x -> y approximate=s:tanh", "gelu[approximate=1]\n"},
    {"opset 20\n" X2 "node Gelu x -> y approximate=s:wave", "opaque\n"},
    {"opset 24\n" X2 "node Swish x -> y alpha=f:0.5", "swish[alpha=0.5]\n"},
    {"opset 17\n" X2 "node ReduceMin x -> y axes=ints:-2 keepdims=i:0",
     "reduce_min[axes=[0], keepdims=0]\n"},
    {X2 "node LogSoftmax x -> y", "log_softmax[axis=1]\n"},
    {"opset 11\n" X2 "node LogSoftmax x -> y axis=i:0", "opaque\n"},
    /* bounds as attributes, then as inputs; absent, constant or not */
    {"opset 10\n" X2 "node Clip x -> y max=f:6",
     "clip[min=-3.4028234663852886e+38, max=6.0]\n"},
    {"opset 10\n" X2 "node Clip x -> y", ""},
    {X2 "node Clip x -> y", ""},
    {X2 "node Clip x -> y max=f:6", "opaque\n"},
    {X2 "init a f32 - = -1.5\ninit b f32 - = 6\nnode Clip x,a,b -> y",
     "clip[min=-1.5, max=6.0]\n"},
    {X2 "init b f32 - = 6\nnode Clip x,_,b -> y",
     "clip[min=-3.4028234663852886e+38, max=6.0]\n"},
    {X2 "init a f32 - = 2\nnode Clip x,a -> y",
     "clip[min=2.0, max=3.4028234663852886e+38]\n"},
    {X2 "input a f32 -\ninit b f32 - = 6\nnode Clip x,a,b -> y", "max\nmin\n"},
    {X2 "input b f32 -\nnode Clip x,_,b -> y", "min\n"},
    {X2 "input a f32 3\nnode Clip x,a -> y", "opaque\n"},
    /* exponents */
    {X2 "init e f32 - = 2\nnode Pow x,e -> y", "pow[exponent=2.0]\n"},
    {X2 "init e f32 1,1 = 0.5\nnode Pow x,e -> y", "pow[exponent=0.5]\n"},
    {X2 "init e i64 - = 3\nnode Pow x,e -> y", "pow[exponent=3.0]\n"},
    {X2 "init e f32 1,1,1 = 2\nnode Pow x,e -> y", "opaque\n"},
    {X2 "init e f32 3 = 1,2,3\nnode Pow x,e -> y", "opaque\n"},
    {X2 "input e f32 -\nnode Pow x,e -> y", "opaque\n"},
    /* means of several inputs */
    {X2 "input z f32 2,3\ninput u f32 3\nnode Mean x,z,u -> y",
     "add\nadd\nscalar[value=3.0]\ndiv\n"},
    {X2 "node Mean x -> y", ""},
    {X2 "node LeakyRelu x -> y alpha=f:0.5 consumed_inputs=ints:0", "opaque\n"},
    /* softmax before and since 13 */
    {X4 "node Softmax x -> y", "softmax[axis=3]\n"},
    {X4 "node Softmax x -> y axis=i:1", "softmax[axis=1]\n"},
    {"opset 11\n" X4 "node Softmax x -> y", "opaque\n"},
    {"opset 11\n" X4 "node Softmax x -> y axis=i:-1", "softmax[axis=3]\n"},
    {"opset 11\ninput x f32 2,5,1,1\noutput y f32 *\nnode Softmax x -> y",
     "softmax[axis=1]\n"},
    /* layout */
    {X4 "node Transpose x -> y", "transpose[perm=[3,2,1,0]]\n"},
    {X4 "node Transpose x -> y perm=ints:0,2,3,1", "transpose[perm=[0,2,3,1]]\n"},
    {X4 "node Transpose x -> y perm=ints:0,2,1", "opaque\n"},
    {X4 "init s i64 3 = 0,-1,4\nnode Reshape x,s -> y", "reshape[shape=[1,48,4]]\n"},
    {X4 "init s i64 3 = -1,-1,4\nnode Reshape x,s -> y", "opaque\n"},
    {X4 "init s i64 5 = 1,3,8,8,0\nnode Reshape x,s -> y", "opaque\n"},
    {"opset 14\ninput x f32 0,3\noutput y f32 *\ninit s i64 2 = 3,0\n"
     "node Reshape x,s -> y allowzero=i:1",
     "reshape[shape=[3,0]]\n"},
    {X4 "node Flatten x -> y", "flatten[axis=1]\n"},
    {X4 "node Flatten x -> y axis=i:-2", "flatten[axis=2]\n"},
    {X2 "input z f32 4,3\ninput u f32 1,3\nnode Concat x,z,u -> y axis=i:-2",
     "concat[axis=0]\nconcat[axis=0]\n"},
    {X2 "node Concat x -> y axis=i:0", ""},
    {X2 "input z f32 2,3\ninput u f32 3\nnode Sum x,z,u -> y", "add\nadd\n"},
    {"opset 9\n" X2 "node Slice x -> y axes=ints:-1 starts=ints:-2 ends=ints:100",
     "slice[axis=1, start=1, end=3, step=1]\n"},
    {X2 "init s i64 2 = 1,0\ninit e i64 2 = 2,3\ninit t i64 2 = 1,2\n"
        "node Slice x,s,e,_,t -> y",
     "slice[axis=0, start=1, end=2, step=1]\nslice[axis=1, start=0, end=3, step=2]\n"},
    {X2 "init s i32 1 = 1\ninit e i32 1 = 2147483647\nnode Slice x,s,e -> y",
     "slice[axis=0, start=1, end=2, step=1]\n"},
    {X2 "init s i64 1 = -1\ninit e i64 1 = -9\ninit a i64 1 = 0\ninit t i64 1 = -1\n"
        "node Slice x,s,e,a,t -> y",
     "opaque\n"},
    {X2 "init s i64 2 = 0,0\ninit e i64 2 = 1,1\ninit a i64 2 = 1,-1\n"
        "node Slice x,s,e,a -> y",
     "opaque\n"},
    {X2 "output z f32 *\ninit s i64 2 = 1,2\nnode Split x,s -> y,z axis=i:1",
     "slice[axis=1, start=0, end=1, step=1]\nslice[axis=1, start=1, end=3, step=1]\n"},
    {X2 "output z f32 *\nnode Split x -> y,z",
     "slice[axis=0, start=0, end=1, step=1]\nslice[axis=0, start=1, end=2, step=1]\n"},
    {X2 "output z f32 *\nnode Split x -> y,z axis=i:1", "opaque\n"},
    {"opset 12\n" X2 "output z f32 *\ninit s i64 2 = 1,1\nnode Split x,s -> y,z",
     "opaque\n"},
    {"opset 18\n" X2 "output z f32 *\nnode Split x -> y,z axis=i:1 num_outputs=i:2",
     "slice[axis=1, start=0, end=2, step=1]\nslice[axis=1, start=2, end=3, step=1]\n"},
    {"opset 11\n" X2 "output z f32 *\nnode Split x -> y,z axis=i:1 split=ints:2,2",
     "opaque\n"},
    {"opset 10\n" X2 "node Pad x -> y pads=ints:0,1,0,2", "pad[pads=[0,1,0,2]]\n"},
    {"opset 10\n" X2 "node Pad x -> y pads=ints:0,1,0,2 value=f:1", "opaque\n"},
    {X2 "init p i64 4 = 0,1,0,2\nnode Pad x,p -> y", "pad[pads=[0,1,0,2]]\n"},
    {X2 "init p i64 4 = 0,1,0,-1\nnode Pad x,p -> y", "opaque\n"},
    {X2 "init p i64 4 = 0,1,0,2\ninit v f32 - = 0\nnode Pad x,p,v -> y",
     "pad[pads=[0,1,0,2]]\n"},
    {X2 "init p i64 4 = 0,1,0,2\ninit v f32 - = 3\nnode Pad x,p,v -> y", "opaque\n"},
    {X2 "init p i64 4 = 0,1,0,2\nnode Pad x,p -> y mode=s:reflect", "opaque\n"},
    {"opset 18\n" X2 "init p i64 2 = 1,2\ninit a i64 1 = -1\nnode Pad x,p,_,a -> y",
     "pad[pads=[0,1,0,2]]\n"},
    {"opset 11\ninput x f32 1,3,1\noutput y f32 *\nnode Squeeze x -> y",
     "squeeze[axes=[0,2]]\n"},
    {"input x f32 1,3,1\noutput y f32 *\ninit a i64 1 = -1\nnode Squeeze x,a -> y",
     "squeeze[axes=[2]]\n"},
    {"opset 11\n" X2 "node Unsqueeze x -> y axes=ints:-1,0", "unsqueeze[axes=[0,3]]\n"},
    /* places of an axis: progressions are slices */
    {X2 "init i i64 3 = 2,-3,2\nnode Gather x,i -> y axis=i:-1",
     "gather[axis=1, indices=[2,0,2]]\n"},
    {X2 "init i i32 2 = 0,2\nnode Gather x,i -> y axis=i:1",
     "slice[axis=1, start=0, end=3, step=2]\n"},
    {X2 "init i i64 2 = 1,2\nnode Gather x,i -> y axis=i:1",
     "slice[axis=1, start=1, end=3, step=1]\n"},
    {X2 "init i i64 - = -1\nnode Gather x,i -> y",
     "slice[axis=0, start=1, end=2, step=1]\nreshape[shape=[3]]\n"},
    {X2 "init i i64 1 = 2\nnode Gather x,i -> y", "opaque\n"},
    {X2 "input i i64 1\nnode Gather x,i -> y", "opaque\n"},
    {X2 "init i i64 17 = 1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\nnode Gather x,i -> y",
     "opaque\n"},
    /* broadcasting */
    {X2 "init s i64 3 = 4,1,3\nnode Expand x,s -> y", "expand[shape=[4,2,3]]\n"},
    {X2 "init s i64 1 = 1\nnode Expand x,s -> y", ""},
    {X2 "init s i64 2 = 5,3\nnode Expand x,s -> y", "opaque\n"},
    /* conditions are truth values */
    {X2 "input c bool 2,1\nnode Where c,x,x -> y", "where\n"},
    {X2 "init c bool 3 = 1,0,1\nnode Where c,x,x -> y", "where\n"},
    {X2 "input z f32 3\nnode Greater x,z -> c\nnode Where c,x,z -> y",
     "opaque\nwhere\n"},
    {"input c bool n\n" X2 "node Where c,x,x -> y", "opaque\n"},
    {"input c bool 2\ninput x i64 2\noutput y i64 *\nnode Where c,x,x -> y",
     "opaque\n"},
    /* transposed convolution: all pads explicit */
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y strides=ints:2,2",
     "conv_transpose[strides=[2,2], pads=[0,0,0,0], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 3,1,3,3\ninit b f32 3\nnode ConvTranspose x,w,b -> y group=i:3 "
        "strides=ints:2,1 pads=ints:1,1,1,0 output_padding=ints:1,0",
     "conv_transpose[strides=[2,1], pads=[1,1,0,0], dilations=[1,1], group=3]\n"
     "reshape[shape=[3,1,1]]\nadd\n"},
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y strides=ints:2,2 "
        "output_padding=ints:1,1",
     "conv_transpose[strides=[2,2], pads=[0,0,-1,-1], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y strides=ints:2,2 "
        "auto_pad=s:SAME_UPPER",
     "conv_transpose[strides=[2,2], pads=[0,0,1,1], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y strides=ints:2,2 "
        "output_shape=ints:14,16",
     "conv_transpose[strides=[2,2], pads=[2,1,1,0], dilations=[1,1], group=1]\n"},
    {X4 "init w f32 4,2,3,3\nnode ConvTranspose x,w -> y", "opaque\n"},
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y "
        "strides=ints:1099511627776,1099511627776 auto_pad=s:SAME_UPPER",
     "opaque\n"},
    {X4 "init w f32 3,2,3,3\nnode ConvTranspose x,w -> y "
        "output_shape=ints:-9223372036854775807,1",
     "opaque\n"},
    {X2 "init s i64 2 = 2,9223372036854775806\nnode Resize x,_,_,s -> y", "opaque\n"},
    {"input x f32 1048576,1048576,1\ninput z f32 1,1048576\n"
     "output y f32 *\nnode Einsum x,z -> y equation=s:abc,cd->abd",
     "opaque\n"},
    {X2 "init r i64 2 = 4611686018427387904,3\nnode Tile x,r -> y", "opaque\n"},
    /* normalizations */
    {"opset 17\n" X2 "init s f32 3\nnode LayerNormalization x,s -> y epsilon=f:0.5",
     "layer_normalization[axis=1, epsilon=0.5]\n"},
    {"opset 17\n" X2 "init s f32 2,3\nnode LayerNormalization x,s,s -> y axis=i:0 "
     "epsilon=f:0.5",
     "layer_normalization[axis=0, epsilon=0.5]\n"},
    {"opset 17\n" X2 "init s f32 2,2,3\nnode LayerNormalization x,s -> y", "opaque\n"},
    {"opset 17\n" X2 "output m f32 *\ninit s f32 3\n"
     "node LayerNormalization x,s,_ -> y,m",
     "opaque\n"},
    {X4 "init s f32 3\nnode InstanceNormalization x,s,s -> y epsilon=f:0.5",
     "instance_normalization[epsilon=0.5]\n"},
    {"opset 21\n" X4 "init s f32 3\nnode GroupNormalization x,s,s -> y num_groups=i:3 "
     "epsilon=f:0.5",
     "group_normalization[num_groups=3, epsilon=0.5]\n"},
    {"opset 18\ninput x f32 1,4,3,3\noutput y f32 *\ninit s f32 2\n"
     "node GroupNormalization x,s,s -> y num_groups=i:2 epsilon=f:0.5",
     "reshape[shape=[2,1]]\nexpand[shape=[2,2]]\nreshape[shape=[4]]\n"
     "group_normalization[num_groups=2, epsilon=0.5]\n"},
    /* copies */
    {X2 "init r i64 2 = 2,1\nnode Tile x,r -> y",
     "reshape[shape=[1,2,3]]\nexpand[shape=[2,2,3]]\nreshape[shape=[4,3]]\n"},
    {"input x f32 1,3\noutput y f32 *\ninit r i64 2 = 5,1\nnode Tile x,r -> y",
     "expand[shape=[5,3]]\n"},
    {X2 "init r i64 2 = 1,1\nnode Tile x,r -> y", ""},
    {"input x f32 1,8,2,3\noutput y f32 *\nnode DepthToSpace x -> y blocksize=i:2",
     "reshape[shape=[1,2,2,2,2,3]]\ntranspose[perm=[0,3,4,1,5,2]]\n"
     "reshape[shape=[1,2,4,6]]\n"},
    {"input x f32 1,8,2,3\noutput y f32 *\n"
     "node DepthToSpace x -> y blocksize=i:2 mode=s:CRD",
     "reshape[shape=[1,2,2,2,2,3]]\ntranspose[perm=[0,1,4,2,5,3]]\n"
     "reshape[shape=[1,2,4,6]]\n"},
    {"input x f32 1,2,4,6\noutput y f32 *\nnode SpaceToDepth x -> y blocksize=i:2",
     "reshape[shape=[1,2,2,2,3,2]]\ntranspose[perm=[0,3,5,1,2,4]]\n"
     "reshape[shape=[1,8,2,3]]\n"},
    {X4 "node SpaceToDepth x -> y blocksize=i:3", "opaque\n"},
    /* sums of products */
    {X2 "input z f32 3,5\nnode Einsum x,z -> y equation=s:ij,jk->ik", "matmul\n"},
    {X2 "input z f32 3,5\nnode Einsum x,z -> y equation=s:ij,jk->ki",
     "matmul\ntranspose[perm=[1,0]]\n"},
    {"input x f32 2,7,3,4\ninput z f32 2,5,3,4\noutput y f32 *\n"
     "node Einsum x,z -> y equation=s:bihd,bjhd->bhij",
     "transpose[perm=[0,2,1,3]]\ntranspose[perm=[0,2,3,1]]\nmatmul\n"},
    {X2 "node Einsum x -> y equation=s:ij->j", "reduce_sum[axes=[0], keepdims=0]\n"},
    {X2 "node Einsum x -> y equation=s:ij->ji", "transpose[perm=[1,0]]\n"},
    {X2 "input z f32 3,5\nnode Einsum x,z -> y equation=s:ij,jk", "opaque\n"},
    {X2 "input z f32 3,5\nnode Einsum x,z -> y equation=s:ij,jk->i", "opaque\n"},
    {"input x f32 3,3\noutput y f32 *\nnode Einsum x -> y equation=s:ii->i",
     "opaque\n"},
    /* others */
    {X2 "input z f32 3\nnode Mean x,z -> y", "add\nscalar[value=2.0]\ndiv\n"},
    {X4 "node GlobalMaxPool x -> y",
     "max_pool[kernel_shape=[8,8], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]]\n"},
    {X2 "node Cast x -> a to=i:1\nnode Relu a -> y", "relu\n"},
    {X2 "node Cast x -> y to=i:10", "cast[to=10]\n"},
    {X2 "node Cast x -> h to=i:10\nnode Transpose h -> t\nnode Cast t -> y to=i:1",
     "cast[to=10]\ntranspose[perm=[1,0]]\ncast[to=1]\n"},
    {X2 "node Cast x -> y to=i:7", "opaque\n"},
    {"input x i64 2,3\noutput y f32 *\nnode Cast x -> y to=i:1", "opaque\n"},
    {"input x f16 2,3\noutput y f16 *\nnode Relu x -> a\nnode Transpose a -> b\n"
     "node Cast b -> c to=i:10\nnode Concat c,c -> y axis=i:0",
     "opaque\ntranspose[perm=[1,0]]\nconcat[axis=0]\n"},
    {"input x bf16 2,3\ninput c bool 2,3\noutput y bf16 *\nnode Where c,x,x -> y",
     "where\n"},
    /* sizes by integer factors */
    {X4 "init s f32 4 = 1,1,2,3\nnode Resize x,_,s -> y",
     "resize[mode=0, scales=[2,3]]\n"},
    {X4 "init s i64 4 = 1,3,8,16\nnode Resize x,_,_,s -> y mode=s:linear",
     "resize[mode=1, scales=[1,2]]\n"},
    {X4 "init r f32 0\ninit s f32 4 = 1,1,2,2\nnode Resize x,r,s -> y mode=s:linear "
        "coordinate_transformation_mode=s:align_corners",
     "resize[mode=3, scales=[2,2]]\n"},
    {"opset 18\n" X4 "init s f32 2 = 2,1\nnode Resize x,_,s -> y axes=ints:2,-1 "
     "mode=s:linear coordinate_transformation_mode=s:asymmetric",
     "resize[mode=2, scales=[2,1]]\n"},
    {"opset 18\n" X4 "init s f32 2 = 2,1\nnode Resize x,_,s -> y axes=ints:2,-1 "
     "mode=s:linear antialias=i:1",
     "opaque\n"},
    {X4 "init s f32 4 = 1,1,2,2\nnode Resize x,_,s -> y mode=s:cubic", "opaque\n"},
    {"opset 10\n" X4 "init s f32 4 = 1,1,1.5,2\nnode Resize x,s -> y", "opaque\n"},
    {X4 "init s f32 4 = 1,2,1,2\nnode Resize x,_,s -> y mode=s:linear", "opaque\n"},
    {X4 "init s f32 4 = 1,1,2,2\nnode Resize x,_,s -> y nearest_mode=s:ceil "
        "coordinate_transformation_mode=s:asymmetric",
     "gather[axis=2, indices=[0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,7]]\n"
     "gather[axis=3, indices=[0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,7]]\n"},
    {X4 "init s f32 4 = 1,1,0.5,0.25\nnode Resize x,_,s -> y",
     "slice[axis=2, start=0, end=7, step=2]\nslice[axis=3, start=1, end=6, step=4]\n"},
    {X4 "init s f32 4 = 1,1,0.5,1\nnode Resize x,_,s -> y mode=s:linear",
     "average_pool[kernel_shape=[2,1], strides=[2,1], pads=[0,0,0,0], "
     "count_include_pad=0]\n"},
    {"opset 7\n" X4 "node Upsample x -> y scales=floats:1,1,2,2",
     "resize[mode=0, scales=[2,2]]\n"},
    {"opset 9\n" X4 "init s f32 4 = 1,1,2,2\nnode Upsample x,s -> y mode=s:linear",
     "resize[mode=2, scales=[2,2]]\n"},
    {"opset 10\n" X4 "init s f32 4 = 1,1,2,0.5\nnode Resize x,s -> y",
     "slice[axis=3, start=0, end=7, step=2]\nresize[mode=0, scales=[2,1]]\n"},
    /* aliases and constants */
    {X2 "node Identity x -> a\nnode Relu a -> y", "relu\n"},
    {"opset 12\n" X2 "node Dropout x -> a,m\nnode Relu a -> y", "relu\n"},
    {X2 "init r f32 - = 0.5\ninit t bool - = 1\nnode Dropout x,r,t -> y", "opaque\n"},
    {X2 "output m bool *\nnode Dropout x -> y,m", "opaque\n"},
    {X2 "node Constant -> c value=t:f32:3:1,2,3\nnode Add x,c -> y", "add\n"},
    {X2 "node Constant -> c value_float=f:2\nnode Mul x,c -> y", "mul\n"},
    {X2 "init s i64 1 = 3\nnode ConstantOfShape s -> c value=t:f32:1:2\n"
        "node Mul x,c -> y",
     "mul\n"},
    /* element types, names, domains */
    {"input x f64 2\noutput y f64 *\nnode Relu x -> y", "opaque\n"},
    {"input x i64 2\noutput y i64 *\nnode Add x,x -> y", "opaque\n"},
    {"input x f32 n\noutput y f32 *\nnode Relu x -> y", "opaque\n"},
    {"opset 6\n" X2 "node Relu x -> y", "opaque\n"},
    {"opset 5\n" X2 "init s i64 2 = 3,2\nnode Reshape x,s -> y", "opaque\n"},
    {"opset 1\n" X2 "node Relu x -> a consumed_inputs=ints:0\nnode Relu a -> y",
     "opaque\nopaque\n"},
    {"opset 99\n" X2 "node Relu x -> y", "opaque\n"},
    {"opset 13\nopset 1 com.acme\n" X2 "node Relu x -> y domain=com.acme", "opaque\n"},
    {X2 "node Relu x -> y shiny=i:1", "opaque\n"},
    /* the algebra goes on behind an opaque node of plain type */
    {X2 "node Ceil x -> a\nnode Relu a -> y", "opaque\nrelu\n"},
    {X2 "node Strange x -> a\nnode Relu a -> y", "opaque\nopaque\n"},
    {X2 "value a f32 2,3\nnode Strange x -> a\nnode Relu a -> y", "opaque\nrelu\n"},
    {"input x f32 5,4\noutput y f32 *\ninit i i64 2,3 = 0,1,2,3,4,0\n"
     "node Gather x,i -> a\nnode Relu a -> y",
     "opaque\nrelu\n"},
    {X4 "init s i64 4 = 1,3,12,16\nnode Resize x,_,_,s -> a\nnode Relu a -> y",
     "opaque\nrelu\n"},
    {"opset 10\n" X4 "init s f32 4 = 1,1,1.5,2\nnode Resize x,s -> a\nnode Relu a -> y",
     "opaque\nrelu\n"},
    {"input x f64 1,3,8,8\noutput y f32 *\ninit w f64 3,2,3,3\n"
     "node ConvTranspose x,w -> a strides=ints:2,2\nnode Cast a -> c to=i:1\n"
     "init b f32 1,2,17,17\nnode Add c,b -> y",
     "opaque\ncast[to=1]\nadd\n"},
    {"opset 12\n" X2 "node ReduceProd x -> a axes=ints:1 keepdims=i:0\ninit b f32 2\n"
     "node Add a,b -> y",
     "opaque\nadd\n"},
    {"input x f64 2,3\noutput y f64 *\ninit s i64 3 = 4,1,3\nnode Expand x,s -> a\n"
     "node Cast a -> b to=i:1\nnode Relu b -> y",
     "expand[shape=[4,2,3]]\ncast[to=1]\nrelu\n"},
    {X4 "init p i64 8 = 0,0,-1,0,0,0,0,1\nnode Pad x,p -> a\ninit b f32 1,3,7,9\n"
        "node Add a,b -> y",
     "opaque\nadd\n"},
    {"input x f32 7,2,5\noutput y f32 *\ninit w f32 2,9,5\ninit r f32 2,9,3\n"
     "node GRU x,w,r -> a direction=s:bidirectional hidden_size=i:3\n"
     "init b f32 7,2,2,3\nnode Add a,b -> y",
     "opaque\nadd\n"},
    {"input x f64 2,3\noutput y f32 *\nnode Transpose x -> a\nnode Cast a -> b to=i:1\n"
     "init c f32 3,2\nnode Add b,c -> y",
     "transpose[perm=[1,0]]\ncast[to=1]\nadd\n"},
    /* shape arithmetic */
    {X4 "init p i64 8 = 0,0,0,1,0,2,0,3\nnode Split p -> a,b,c,d\n"
        "node Concat a,c,b,d -> q axis=i:0\nnode Pad x,q -> y",
     "pad[pads=[0,0,0,2,0,1,0,3]]\n"},
    {X4 "node Shape x -> s\ninit i i64 - = 1\ninit a i64 1 = 0\nnode Gather s,i -> c\n"
        "node Unsqueeze c,a -> cu\ninit m i64 1 = -1\nnode Concat cu,m -> t axis=i:0\n"
        "node Reshape x,t -> y",
     "reshape[shape=[3,64]]\n"},
    {X4 "node Shape x -> s\ninit k i64 1 = 2\nnode Mul s,k -> d\n"
        "init b i64 1 = 2\ninit e i64 1 = 3\nnode Slice d,b,e -> h\n"
        "node Cast h -> h32 to=i:6\nnode Cast h32 -> h64 to=i:7\ninit m i64 1 = -1\n"
        "node Concat h64,m -> t axis=i:0\nnode Reshape x,t -> y",
     "reshape[shape=[16,12]]\n"},
    {"input x f32 n,4\noutput y f32 *\nnode Shape x -> s\nnode Reshape x,s -> y",
     "opaque\nopaque\n"},
};

START_TEST(test_form)
{
    const form *f = &forms[_i];
    noe_onnx_model *m = noe_build_and_load(f->model);
    char *got = noe_describe_graph(noe_onnx_graph(m));
    ck_assert_msg(strcmp(got, f->graph) == 0, "form %d\n%s\nwant:\n%s\ngot:\n%s(%s)",
                  _i, f->model, f->graph, got, noe_onnx_why_opaque(m, 1));
    free(got);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_reason_names_what_is_missing)
{
    noe_onnx_model *m =
        noe_build_and_load(X2 "node Strange x,x -> a\nnode Relu a -> y");
    ck_assert_str_eq(noe_onnx_why_opaque(m, 1),
                     "operator Strange is not in the algebra");
    ck_assert_str_eq(noe_onnx_why_opaque(m, 2), "input 0 has element type unknown");
    ck_assert_str_eq(noe_onnx_op_type(m, 2), "Relu");
    ck_assert_int_eq(noe_onnx_origin_op(m, 2), NOE_OP_OPAQUE);
    ck_assert_str_eq(noe_onnx_why_opaque(m, 3), "");
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_overridable_initializer_is_input)
{
    noe_onnx_model *m =
        noe_build_and_load(X2 "input w f32 3\ninit w f32 3\nnode Add x,w -> y");
    ck_assert(!noe_graph_node(noe_onnx_graph(m), noe_onnx_graph(m)->outputs[0].ref.node)
                   ->is_weight);
    int n_inputs = 0;
    for (uint32_t i = 0; i < noe_onnx_graph(m)->n_nodes; i++)
        n_inputs += noe_onnx_graph(m)->nodes[i].op == NOE_OP_INPUT;
    ck_assert_int_eq(n_inputs, 2);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_old_ir_initializer_is_constant)
{
    noe_onnx_model *m = noe_build_and_load(
        "ir 3\nopset 9\n" X2 "input w f32 3\ninit w f32 3\nnode Add x,w -> y");
    int n_inputs = 0;
    for (uint32_t i = 0; i < noe_onnx_graph(m)->n_nodes; i++)
        n_inputs += noe_onnx_graph(m)->nodes[i].op == NOE_OP_INPUT;
    ck_assert_int_eq(n_inputs, 1);
    noe_onnx_free(m);
}
END_TEST

START_TEST(test_capture_is_input_of_node)
{
    noe_onnx_model *m =
        noe_build_and_load("graph yes\nnode Neg t -> r1\noutput r1 f32 *\nend\n"
                           "graph no\nnode Abs u -> r2\noutput r2 f32 *\nend\n"
                           "input c bool -\n" X2 "node Relu x -> t\nnode Exp x -> u\n"
                           "node If c -> y then_branch=g:yes else_branch=g:no");
    const noe_graph *g = noe_onnx_graph(m);
    const noe_node *n = noe_graph_node(g, g->outputs[0].ref.node);
    ck_assert_int_eq(n->op, NOE_OP_OPAQUE);
    ck_assert_uint_eq(n->n_inputs, 3);
    const noe_ref *in = noe_graph_inputs(g, g->outputs[0].ref.node);
    ck_assert_int_eq(g->nodes[in[1].node].op, NOE_OP_RELU);
    ck_assert_int_eq(g->nodes[in[2].node].op, NOE_OP_EXP);
    noe_onnx_free(m);
}
END_TEST

Suite *suite_import(void)
{
    Suite *s = suite_create("import");
    TCase *tc = tcase_create("import");
    tcase_add_loop_test(tc, test_form, 0, (int)(sizeof forms / sizeof *forms));
    tcase_add_test(tc, test_reason_names_what_is_missing);
    tcase_add_test(tc, test_overridable_initializer_is_input);
    tcase_add_test(tc, test_old_ir_initializer_is_constant);
    tcase_add_test(tc, test_capture_is_input_of_node);
    suite_add_tcase(s, tc);
    return s;
}
