# SPDX-License-Identifier: Apache-2.0
"""Noether: faster ONNX models by laws of tensor algebra that are proved.

    import noether
    graph = noether.load("model.onnx")
    better = noether.optimize(graph, time_limit=60)
    print(better.report)
    noether.export(better, "model.opt.onnx")

Graphs can be made in Python, too:

    graph = noether.Graph()
    x = graph.new_input(dims=(1, 128, 56, 56))
    w = graph.new_weight(dims=(128, 128, 3, 3), data=numpy_array)
    y = graph.relu(graph.conv2d(input=x, weight=w, strides=(1, 1), padding="SAME"))

The rule database is the one given as rules=, else $NOETHER_RULES, else the one that was
packaged with this module, else the library's own (share/noether/rules.db).
"""

from ._library import NoetherError, lib as _lib
from .graph import Graph, Node, Tensor, ValueInfo
from .optimizer import Report, option_names, optimize, optimize_file

__version__ = _lib.version().decode()
__all__ = ["Graph", "Node", "NoetherError", "Report", "Tensor", "ValueInfo", "export",
           "load", "option_names", "optimize", "optimize_file"]


def load(model, *, input_shapes=None, constant_initializers=False) -> Graph:
    """A graph from an ONNX model: a path, bytes, or an onnx.ModelProto.

    input_shapes: {"x": (1, 3, 224, 224)} fixes the shapes of inputs.
    constant_initializers: initializers that are graph inputs too are constants.
    """
    return Graph.load(model, input_shapes=input_shapes,
                      constant_initializers=constant_initializers)


def export(graph: Graph, path) -> None:
    """Writes the graph's ONNX model, complete or not at all."""
    graph.save(path)
