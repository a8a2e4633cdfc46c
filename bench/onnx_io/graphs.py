#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""graphs.py N FILE.onnx [unsorted]: a model of N nodes: blocks of ten (product with a
weight, relu, an operator outside the algebra, a residual sum, shape arithmetic, layout,
an alias), in file order or backwards."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = (("MatMul", "xw", "a"), ("Relu", "a", "b"), ("Sin", "b", "c"), ("Add", "cx", "d"),
         ("Shape", "d", "e"), ("Reshape", "de", "f"), ("Transpose", "f", "g"),
         ("Transpose", "g", "h"), ("Tanh", "h", "i"), ("Identity", "i", "j"))


def main():
    n, path = int(sys.argv[1]), sys.argv[2]
    nodes, weights, x = [], [], "x"
    for k in range(n // len(BLOCK)):
        weights.append(numpy_helper.from_array(np.full((8, 8), 0.1, np.float32), f"w{k}"))
        for op, inputs, output in BLOCK:
            names = [x if i == "x" else f"{i}{k}" for i in inputs]
            nodes.append(helper.make_node(op, names, [f"{output}{k}"]))
        x = f"j{k}"
    if "unsorted" in sys.argv[3:]:
        nodes.reverse()
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8])]
            for name in ("x", x)]
    graph = helper.make_graph(nodes, "g", *ends, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


if __name__ == "__main__":
    main()
