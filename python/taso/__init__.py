# SPDX-License-Identifier: Apache-2.0
"""TASO's Python interface, served by Noether: scripts for TASO run as they are.

`alpha` and `budget` mean what they meant. TASO printed its steps with print_subst=True,
and so does this. Models that TASO cut short or changed are read and written whole.
"""

from noether import Graph as PyGraph, NoetherError, Tensor as PyTensor
import noether as _noether

__all__ = ["PyGraph", "PyTensor", "InputNotFoundError", "export_onnx", "load_onnx",
           "new_graph", "optimize"]


class InputNotFoundError(NoetherError):
    """There for scripts that catch it."""


def new_graph() -> PyGraph:
    """A graph to be built."""
    return PyGraph()


def load_onnx(filename) -> PyGraph:
    """A graph from an ONNX file. Initializers that are listed among the inputs, as old
    exporters do it, are constants, as in TASO."""
    return _noether.load(filename, constant_initializers=True)


def optimize(graph: PyGraph, alpha: float = 1.0, budget: int = 1000,
             print_subst: bool = False, **options) -> PyGraph:
    """A faster graph that computes the same; options as for noether.optimize."""
    return graph.optimize(alpha, budget, print_subst, **options)


def export_onnx(graph: PyGraph):
    """The graph as an onnx.ModelProto (needs the package onnx)."""
    import onnx

    return onnx.load_model_from_string(graph.serialize())
