#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pattern models: what optimizers are known to gain or to lose, each in a small
surrounding as it is met in networks.

    make.py FOLDER

writes NAME.onnx, and NAME.hand.onnx, the form that a person would write: what is to be
gained on this machine. Models whose name is in KEEP have a hand-written form that is
known to lose on CPUs: the right answer is to leave them alone.
"""
import math
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 17, 8
KEEP = ("qkv_split_s128", "fire_enlarge", "inception_siblings", "resnext128_g16",
        "depthwise_dense")


class Net:
    """A graph under construction. The same seed gives the same weights in both forms."""

    def __init__(self):
        self.nodes, self.inits, self.inputs, self.n = [], [], [], 0
        self.rng = np.random.default_rng(1)

    def input(self, name, *shape):
        self.inputs.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def random(self, *shape):
        fan_in = math.prod(shape[1:]) if len(shape) != 2 else shape[0]
        return (self.rng.standard_normal(shape) / math.sqrt(fan_in)).astype(np.float32)

    def const(self, value):
        self.n += 1
        name = f"c{self.n}"
        self.inits.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, dtype=np.int64))

    def op(self, op_type, *inputs, n_out=1, **attributes):
        self.n += 1
        names = [f"t{self.n}" + (f"_{k}" if n_out > 1 else "") for k in range(n_out)]
        inputs = [self.const(i) if isinstance(i, np.ndarray) else i for i in inputs]
        self.nodes.append(helper.make_node(op_type, inputs, names, **attributes))
        return names[0] if n_out == 1 else names

    def conv(self, x, w, stride=1, group=1, bias=None):
        k = w.shape[-1]
        args = (x, w) if bias is None else (x, w, bias)
        return self.op("Conv", *args, kernel_shape=[k, k], strides=[stride] * 2,
                       pads=[k // 2] * 4, group=group)

    def relu(self, x):
        return self.op("Relu", x)

    def add(self, x, y):
        return self.op("Add", x, y)

    def matmul(self, x, y):
        return self.op("MatMul", x, y)

    def linear(self, x, w, b):
        return self.add(self.matmul(x, w), b)

    def slice(self, x, axis, start, end, step=1):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis),
                       self.ints(step))

    def norm(self, x, width):
        return self.op("LayerNormalization", x, np.ones(width, np.float32),
                       np.zeros(width, np.float32), axis=-1)

    def save(self, path, *outputs):
        infos = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph(self.nodes, "pattern", self.inputs, infos, self.inits)
        model = helper.make_model(graph, ir_version=IR,
                                  opset_imports=[helper.make_opsetid("", OPSET)])
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        onnx.save(model, path)


PATTERNS = {}


def pattern(known, *args, name=None):
    """Registers build(net, hand, *args) -> outputs; known: the gain reported for it."""
    def register(build):
        PATTERNS[name or build.__name__] = (known, build, args)
        return build
    return register


# ---- products of matrices ----


@pattern("20x")
def reassociate_weights(n, hand):
    x = n.relu(n.input("x", 128, 384))
    a, b = n.random(384, 3840), n.random(3840, 384)
    if hand:
        y = n.matmul(x, a @ b)
    else:
        y = n.matmul(n.matmul(x, a), b)
    return [n.relu(n.add(y, n.random(384)))]


@pattern("43x", 1, 8, name="low_rank_r8_s1")
@pattern("30x", 128, 8, name="low_rank_r8_s128")
@pattern("9x", 128, 64, name="low_rank_r64_s128")
def low_rank(n, hand, rows, rank):
    """Adapter matrices that are inputs, as served with many adapters."""
    x = n.relu(n.input("x", rows, 768))
    a, b = n.input("a", 768, rank), n.input("b", rank, 768)
    if hand:
        y = n.matmul(n.matmul(x, a), b)
    else:
        y = n.matmul(x, n.matmul(a, b))
    return [n.relu(n.add(y, n.random(768)))]


@pattern("8.6x")
def linear_linear(n, hand):
    x = n.relu(n.input("x", 128, 768))
    w1, b1 = n.random(768, 3072), n.random(3072)
    w2, b2 = n.random(3072, 768), n.random(768)
    if hand:
        y = n.linear(x, w1 @ w2, b1 @ w2 + b2)
    else:
        y = n.linear(n.linear(x, w1, b1), w2, b2)
    return [n.relu(y)]


@pattern("2.0x")
def matmul_same_left(n, hand):
    x = n.relu(n.input("x", 128, 768))
    w1, w2 = n.random(768, 768), n.random(768, 768)
    y = n.matmul(x, w1 + w2) if hand else n.add(n.matmul(x, w1), n.matmul(x, w2))
    return [n.relu(n.add(y, n.random(768)))]


@pattern("2.0x")
def matmul_same_right(n, hand):
    x, y = n.relu(n.input("x", 128, 768)), n.relu(n.input("y", 128, 768))
    w = n.const(n.random(768, 768))
    z = n.matmul(n.add(x, y), w) if hand else n.add(n.matmul(x, w), n.matmul(y, w))
    return [n.relu(n.add(z, n.random(768)))]


@pattern("1.05x", 128, 8, name="lora_r8_s128")
@pattern("1.2x", 128, 64, name="lora_r64_s128")
@pattern("1.09x", 1, 8, name="lora_r8_s1")
def lora(n, hand, rows, rank):
    x = n.relu(n.input("x", rows, 768))
    w, a, b = n.random(768, 768), n.random(768, rank), n.random(rank, 768)
    if hand:
        y = n.matmul(x, w + a @ b)
    else:
        y = n.add(n.matmul(x, w), n.matmul(n.matmul(x, a), b))
    return [n.relu(n.add(y, n.random(768)))]


# ---- tokens that nobody reads ----


def feed_forward(n, x, width):
    w1, b1 = n.random(width, 4 * width), n.random(4 * width)
    w2, b2 = n.random(4 * width, width), n.random(width)
    h = n.linear(n.relu(n.linear(x, w1, b1)), w2, b2)
    return n.norm(n.add(x, h), width)


@pattern("12.9x", "slice", name="token_slice_ffn")
@pattern("12.9x", "gather", name="token_gather_ffn")
def token_ffn(n, hand, how):
    """The last block of a classifier: only the first token goes on."""
    x = n.norm(n.input("x", 1, 128, 384), 384)
    def take(v):
        if how == "slice":
            return n.slice(v, 1, 0, 1)
        return n.op("Gather", v, n.const(np.array([0], dtype=np.int64)), axis=1)
    if hand:
        y = feed_forward(n, take(x), 384)
    else:
        y = take(feed_forward(n, x, 384))
    return [n.op("Tanh", n.linear(y, n.random(384, 384), n.random(384)))]


@pattern("9.9x")
def last_token_vocabulary(n, hand):
    """A language model that samples one token: the logits of the last are needed."""
    x = n.norm(n.input("x", 1, 32, 256), 256)
    w = n.random(256, 8192)
    if hand:
        y = n.matmul(n.slice(x, 1, 31, 32), w)
    else:
        y = n.slice(n.matmul(x, w), 1, 31, 32)
    return [n.op("Softmax", y, axis=-1)]


# ---- convolutions ----


@pattern("6.9x")
def conv1x1_conv1x1(n, hand):
    x = n.relu(n.input("x", 1, 64, 28, 28))
    w1, w2 = n.random(256, 64, 1, 1), n.random(64, 256, 1, 1)
    if hand:
        w = (w2[:, :, 0, 0] @ w1[:, :, 0, 0])[:, :, None, None]
        return [n.relu(n.conv(x, np.ascontiguousarray(w)))]
    return [n.relu(n.conv(n.conv(x, w1), w2))]


@pattern("6.6x to 7.3x")
def resize_conv1x1(n, hand):
    """A segmentation head that classifies after upsampling."""
    x = n.relu(n.input("x", 1, 256, 16, 16))
    w = n.random(32, 256, 1, 1)
    def up(v):
        return n.op("Resize", v, "", n.const(np.array([1, 1, 4, 4], np.float32)),
                    mode="linear", coordinate_transformation_mode="half_pixel")
    return [n.relu(up(n.conv(x, w)) if hand else n.conv(up(x), w))]


@pattern("1.9x")
def conv_same_input(n, hand):
    x = n.relu(n.input("x", 1, 64, 28, 28))
    w1, w2 = n.random(64, 64, 3, 3), n.random(64, 64, 3, 3)
    y = n.conv(x, w1 + w2) if hand else n.add(n.conv(x, w1), n.conv(x, w2))
    return [n.relu(n.conv(n.relu(y), n.random(64, 64, 1, 1)))]


@pattern("1.12x to 1.15x")
def repvgg(n, hand):
    """Two blocks in training form, their normalizations folded."""
    x = n.relu(n.input("x", 1, 64, 28, 28))
    for _ in range(2):
        w3, w1, b = n.random(64, 64, 3, 3), n.random(64, 64, 1, 1), n.random(64)
        if hand:
            w = w3.copy()
            w[:, :, 1, 1] += w1[:, :, 0, 0] + np.eye(64, dtype=np.float32)
            x = n.relu(n.conv(x, w, bias=b))
        else:
            y = n.add(n.conv(x, w3, bias=b), n.conv(x, w1))
            x = n.relu(n.add(y, x))
    return [x]


@pattern("1.07x")
def batchnorm_conv1x1(n, hand):
    """Pre-activation order without the activation."""
    x = n.relu(n.input("x", 1, 64, 56, 56))
    s, b, m = n.random(64), n.random(64), n.random(64)
    v = np.abs(n.random(64)) + np.float32(0.5)
    w = n.random(64, 64, 1, 1)
    if hand:
        k = s / np.sqrt(v + np.float32(1e-5))
        shift = b - m * k
        bias = w[:, :, 0, 0] @ shift
        return [n.relu(n.conv(x, w * k[None, :, None, None], bias=bias))]
    y = n.op("BatchNormalization", x, s, b, m, v, epsilon=1e-5)
    return [n.relu(n.conv(y, w))]


@pattern("1.35x", 256, True, name="resnext256_g16")
@pattern("keep", 128, False, name="resnext128_g16")
def resnext(n, hand, width, _):
    x = n.relu(n.input("x", 1, 2 * width, 14, 14))
    for _ in range(2):
        a, b = n.random(width, 2 * width, 1, 1), n.random(2 * width, width, 1, 1)
        w = n.random(width, width // 32, 3, 3)
        y = n.relu(n.conv(x, a))
        y = n.relu(n.conv(y, regroup(w, 32, 16), group=16) if hand
                   else n.conv(y, w, group=32))
        x = n.relu(n.add(n.conv(y, b), x))
    return [x]


def regroup(w, groups, fewer):
    """The same grouped convolution with fewer groups, zeros between them."""
    out, per, kh, kw = w.shape
    merge = groups // fewer
    wide = np.zeros((out, per * merge, kh, kw), np.float32)
    for o in range(out):
        k = o // (out // groups) % merge
        wide[o, k * per:(k + 1) * per] = w[o]
    return wide


@pattern("1.23x")
def yolo_focus(n, hand):
    """Space to depth by four strided slices in front of a convolution."""
    x = n.input("x", 1, 3, 160, 160)
    w = n.random(16, 12, 3, 3)
    if hand:
        # Pixel (2i + di, 2j + dj) is channel block (di, dj): a 6x6 kernel, stride 2.
        k = np.zeros((16, 3, 6, 6), np.float32)
        for block, (di, dj) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
            k[:, :, di::2, dj::2] = w[:, 3 * block:3 * block + 3]
        y = n.op("Conv", x, k, kernel_shape=[6, 6], strides=[2, 2], pads=[2] * 4)
    else:
        parts = [n.slice(n.slice(x, 2, di, 160, 2), 3, dj, 160, 2)
                 for di, dj in ((0, 0), (1, 0), (0, 1), (1, 1))]
        y = n.conv(n.op("Concat", *parts, axis=1), w)
    y = n.relu(n.add(y, n.random(16, 1, 1)))
    return [n.relu(n.conv(y, n.random(32, 16, 3, 3), stride=2))]


# ---- pooling ----


@pattern("1.44x", 44, 28, name="avgpool_depthwise_44")
@pattern("1.48x", 88, 14, name="avgpool_depthwise_88")
def avgpool_depthwise(n, hand, channels, size):
    """NASNet's reduction branch, padding counted."""
    x = n.relu(n.input("x", 1, channels, size, size))
    if hand:
        w = np.full((channels, 1, 3, 3), 1 / 9, np.float32)
        y = n.conv(x, w, group=channels)
    else:
        y = n.op("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4,
                 count_include_pad=1)
    return [n.relu(n.add(y, x))]


@pattern("1.8x", 44, 28, name="pool_pool_44")
@pattern("1.53x", 176, 14, name="pool_pool_176")
def pool_pool(n, hand, channels, size):
    shape = (1, channels, size, size)
    x, y = n.relu(n.input("x", *shape)), n.relu(n.input("y", *shape))
    def pool(v):
        return n.op("AveragePool", v, kernel_shape=[3, 3], pads=[1] * 4)
    z = pool(n.add(x, y)) if hand else n.add(pool(x), pool(y))
    return [n.relu(z)]


# ---- element by element ----


@pattern("1.98x")
def constant_chain(n, hand):
    x = n.input("x", 1, 256, 64, 64)
    c1, c2 = n.random(256, 1, 1), n.random(256, 1, 1)
    y = n.add(x, c1 + c2) if hand else n.add(n.add(x, c1), c2)
    return [n.relu(y)]


@pattern("1.26x to 1.8x")
def distribute_mul(n, hand):
    shape = (1, 64, 40, 40)
    x, a, b = (n.relu(n.input(name, *shape)) for name in "xab")
    mul = lambda p, q: n.op("Mul", p, q)
    y = mul(x, n.add(a, b)) if hand else n.add(mul(x, a), mul(x, b))
    return [n.op("Sigmoid", y)]


@pattern("1.56x")
def split_concat(n, hand):
    """A channel split that is joined again in the same order."""
    x = n.relu(n.input("x", 1, 64, 56, 56))
    if not hand:
        parts = n.op("Split", x, n.ints(32, 32), n_out=2, axis=1)
        x = n.op("Concat", *parts, axis=1)
    return [n.relu(n.add(x, n.random(64, 1, 1)))]


# ---- to be left alone ----


@pattern("keep")
def qkv_split_s128(n, hand):
    x = n.norm(n.input("x", 128, 768), 768)
    w = [n.random(768, 768) for _ in range(3)]
    if hand:
        y = n.matmul(x, np.concatenate(w, axis=1))
        q, k, v = n.op("Split", y, n.ints(768, 768, 768), n_out=3, axis=1)
    else:
        q, k, v = (n.matmul(x, m) for m in w)
    s = n.op("Softmax", n.matmul(q, n.op("Transpose", k, perm=[1, 0])), axis=-1)
    return [n.matmul(s, v)]


@pattern("keep")
def fire_enlarge(n, hand):
    x = n.relu(n.conv(n.input("x", 1, 128, 27, 27), n.random(32, 128, 1, 1)))
    w1, w3 = n.random(128, 32, 1, 1), n.random(128, 32, 3, 3)
    if hand:
        w = np.zeros((128, 32, 3, 3), np.float32)
        w[:, :, 1:2, 1:2] = w1
        return [n.relu(n.conv(x, np.concatenate([w, w3])))]
    return [n.op("Concat", n.relu(n.conv(x, w1)), n.relu(n.conv(x, w3)), axis=1)]


@pattern("keep")
def inception_siblings(n, hand):
    x = n.relu(n.input("x", 1, 192, 28, 28))
    w = [n.random(c, 192, 1, 1) for c in (64, 96, 16)]
    if hand:
        y = n.relu(n.conv(x, np.concatenate(w)))
        a, b, c = n.op("Split", y, n.ints(64, 96, 16), n_out=3, axis=1)
    else:
        a, b, c = (n.relu(n.conv(x, k)) for k in w)
    b = n.relu(n.conv(b, n.random(128, 96, 3, 3)))
    c = n.relu(n.conv(c, n.random(32, 16, 5, 5)))
    return [n.op("Concat", a, b, c, axis=1)]


@pattern("keep")
def depthwise_dense(n, hand):
    x = n.relu(n.input("x", 1, 64, 28, 28))
    w, p = n.random(64, 1, 3, 3), n.random(128, 64, 1, 1)
    if hand:
        y = n.conv(x, np.ascontiguousarray(p * w[:, 0][None]))
    else:
        y = n.conv(n.conv(x, w, group=64), p)
    return [n.relu(y)]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, (_, build, args) in PATTERNS.items():
        for hand in (False, True):
            net = Net()
            outputs = build(net, hand, *args)
            net.save(os.path.join(folder, name + (".hand" if hand else "") + ".onnx"),
                     *outputs)


if __name__ == "__main__":
    main()
