# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as a PyTorch module, for comparing: the operators of the networks of
python/examples, each as the call that a PyTorch program would have.

    network(graph)    graph: noether.load(...); raises KeyError naming an operator it lacks
"""
import torch
import torch.nn.functional as F


def symmetric(x, pads, value=0.0):
    """x and pads (height, width), as PyTorch's windows take them: what is not the same on
    both sides is padded before."""
    rank = len(pads) // 2
    begins, ends = pads[:rank], pads[rank:]
    if begins == ends:
        return x, begins
    both = [n for pair in zip(reversed(begins), reversed(ends)) for n in pair]
    return F.pad(x, both, value=value), [0] * rank


def conv(a, x, w, bias=None):
    x, pads = symmetric(x, a["pads"])
    return F.conv2d(x, w, bias, a["strides"], pads, a["dilations"], a["group"])


def max_pool(a, x):
    x, pads = symmetric(x, a["pads"], float("-inf"))
    return F.max_pool2d(x, a["kernel_shape"], a["strides"], pads)


def average_pool(a, x):
    """Zeros outside are not counted."""
    if a["pads"][:2] == a["pads"][2:]:
        return F.avg_pool2d(x, a["kernel_shape"], a["strides"], a["pads"][:2],
                            count_include_pad=False)
    ones = torch.ones_like(x[:1, :1])
    total, part = (F.avg_pool2d(symmetric(t, a["pads"])[0], a["kernel_shape"],
                                a["strides"]) for t in (x, ones))
    return total / part


def gemm(a, x, y, c=None):
    x, y = (t.mT if a.get(name) else t for t, name in ((x, "transA"), (y, "transB")))
    product = x @ y * a.get("alpha", 1.0)
    return product if c is None else product + a.get("beta", 1.0) * c


OPERATORS = {
    "Add": lambda a, x, y: x + y,
    "AveragePool": average_pool,
    "BatchNormalization": lambda a, x, scale, bias, mean, var: F.batch_norm(
        x, mean, var, scale, bias, eps=a["epsilon"]),
    "Concat": lambda a, *parts: torch.cat(parts, a["axis"]),
    "Conv": conv,
    "Erf": lambda a, x: torch.erf(x),
    "Flatten": lambda a, x: torch.flatten(x, a.get("axis", 1)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "LayerNormalization": lambda a, x, scale, bias=None: F.layer_norm(
        x, scale.shape, scale, bias, a["epsilon"]),
    "MatMul": lambda a, x, y: x @ y,
    "MaxPool": max_pool,
    "Mul": lambda a, x, y: x * y,
    "Relu": lambda a, x: F.relu(x),
    "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Softmax": lambda a, x: F.softmax(x, a.get("axis", -1)),
    "Sub": lambda a, x, y: x - y,
    "Tanh": lambda a, x: torch.tanh(x),
    "Transpose": lambda a, x: x.permute(a["perm"]),
}


class Network(torch.nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.inputs = [i.name for i in graph.inputs]
        self.outputs = [o.name for o in graph.outputs]
        self.weights, self.shapes, self.steps = {}, {}, []
        for w in graph.weights:
            value = torch.from_numpy(graph.weight(w.name))
            if not value.is_floating_point():
                self.shapes[w.name] = value.tolist()  # what Reshape reads
                continue
            self.weights[w.name] = f"w{len(self.weights)}"
            self.register_buffer(self.weights[w.name], value)
        for n in graph.nodes:
            if n.op_type == "Reshape":
                shape = self.shapes[n.inputs[1]]
                call, inputs = (lambda a, x, shape=shape: x.reshape(shape)), n.inputs[:1]
            else:
                call, inputs = OPERATORS[n.op_type], n.inputs
            self.steps.append((call, n.attributes, inputs, n.outputs[0].name))

    def forward(self, *inputs):
        values = dict(zip(self.inputs, inputs))
        for name, buffer in self.weights.items():
            values[name] = getattr(self, buffer)
        for call, attributes, names, to in self.steps:
            values[to] = call(attributes, *(values[n] for n in names))
        return tuple(values[name] for name in self.outputs)


def network(graph):
    return Network(graph).eval()
