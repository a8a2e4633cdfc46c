# SPDX-License-Identifier: Apache-2.0
"""Graphs: made in Python, loaded from ONNX, or a result of the optimizer.

The methods and their parameters are those of TASO's Python class, so that scripts for it
run as they are; what is wrong there (padding that changes shapes, splits that lose
parts) is right here. Shapes in the docstrings: N images, C channels, H x W.
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library
from ._library import NO_VALUE, Attribute, NoetherError, Type, lib
from .optimizer import Options, optimize as _optimize, shape_texts

# Element types: NumPy's name, ONNX's number, TASO's name.
_DTYPES = [("float32", 1, "FLOAT"), ("uint8", 2, "UINT8"), ("int8", 3, "INT8"),
           ("int32", 6, "INT32"), ("int64", 7, "INT64"), ("bool", 9, "BOOL"),
           ("float16", 10, "FLOAT16"), ("float64", 11, "DOUBLE")]
_TO_ONNX = {name: number for row in _DTYPES for name, number in
            ((row[0], row[1]), (row[2], row[1]))}
_FROM_ONNX = {number: name for name, number, _ in _DTYPES}
_FROM_TEXT = {"f32": "float32", "u8": "uint8", "i8": "int8", "i32": "int32",
              "i64": "int64", "bool": "bool", "f16": "float16", "f64": "float64"}

Dims = Sequence[int]
Padding = Union[str, Sequence[int]]


class Tensor:
    """A value of a graph: dims and dtype are known."""

    def __init__(self, graph: "Graph", value: int, dims: Tuple[int, ...], dtype: str):
        self.graph = graph
        self.value = value
        self.dims = dims
        self.dtype = dtype

    @property
    def nDim(self) -> int:
        return len(self.dims)

    @property
    def tensor(self) -> "Tensor":
        return self

    def dim(self, index: int) -> int:
        return self.dims[index]

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.dims)})"


class ValueInfo(NamedTuple):
    """A named tensor of a model. dims: None where the rank is not known, None in it
    where a dimension is not."""
    name: str
    dtype: str
    dims: Optional[Tuple[Optional[int], ...]]


class Node(NamedTuple):
    """An ONNX node of a model."""
    index: int
    op_type: str
    name: str
    inputs: List[str]
    outputs: List[ValueInfo]
    attributes: Dict[str, Any]


def _value_info(row: Dict[str, Any]) -> ValueInfo:
    dims = row["dims"]
    return ValueInfo(row["name"], _FROM_TEXT.get(row["dtype"], row["dtype"]),
                     None if dims is None else tuple(dims))


def _type(dims: Dims, dtype) -> Type:
    if len(dims) > _library.MAX_RANK:
        raise NoetherError(f"rank {len(dims)} is more than {_library.MAX_RANK}",
                           "shape")
    number = _TO_ONNX.get(dtype) or _TO_ONNX.get(np.dtype(dtype).name)
    if not number:
        raise NoetherError(f"element type {dtype} is not supported", "argument")
    array = (ctypes.c_int64 * _library.MAX_RANK)(*(int(d) for d in dims))
    return Type(number, len(dims), array)


def _attribute(name: str, value: Any, keep: List[Any]) -> Attribute:
    """keep: what must live as long as the result."""
    a = Attribute(name=name.encode())
    if isinstance(value, str):
        a.kind, a.text = 2, value.encode()
        return a
    is_list = isinstance(value, (list, tuple, np.ndarray))
    items = [x.item() if isinstance(x, np.generic) else x
             for x in (value if is_list else [value])]
    is_float = any(isinstance(x, float) for x in items)
    array = ((ctypes.c_float if is_float else ctypes.c_int64) * max(len(items), 1))(
        *items)
    keep.append(array)
    a.kind, a.n = (3 if is_list else 0) + is_float, len(items)
    if is_float:
        a.floats = ctypes.cast(array, ctypes.POINTER(ctypes.c_float))
    else:
        a.ints = ctypes.cast(array, ctypes.POINTER(ctypes.c_int64))
    return a


def _same_pads(size: int, kernel: int, stride: int) -> Tuple[int, int]:
    """Zeros before and behind, so that ceil(size / stride) windows fit: as many on both
    sides as TASO and PyTorch have, unless that made one window more."""
    n = -(-size // stride)
    total = max((n - 1) * stride + kernel - size, 0)
    half = (total + 1) // 2
    if (size + 2 * half - kernel) // stride + 1 == n:
        return half, half
    return total // 2, total - total // 2


def _pads(padding: Padding, sizes: Dims, kernel: Dims, strides: Dims) -> List[int]:
    """ONNX's pads: all begins, then all ends."""
    rank = len(kernel)
    if padding == "VALID":
        return [0] * (2 * rank)
    if padding == "SAME":
        both = [_same_pads(*row) for row in zip(sizes, kernel, strides)]
        return [b for b, _ in both] + [e for _, e in both]
    if isinstance(padding, str):
        raise NoetherError(f"padding '{padding}' is not SAME, VALID or numbers",
                           "argument")
    pads = [int(p) for p in padding]
    if len(pads) not in (rank, 2 * rank):
        raise NoetherError(f"{len(pads)} pads, want {rank} or {2 * rank}", "argument")
    return pads if len(pads) == 2 * rank else pads + pads


_ACTIVATIONS = {"NONE": None, "RELU": "Relu", "SIGMOID": "Sigmoid", "TANH": "Tanh"}


class Graph:
    """An ONNX model: being built, loaded, or optimized.

    Only a graph that is being built takes new operators. Weights without data get
    random numbers, the same ones in every run.
    """

    def __init__(self, *, seed: int = 1):
        self._pointer = ctypes.c_void_p(lib.model_new())
        self._rng = np.random.default_rng(seed)
        self._facts: Optional[Dict[str, Any]] = None
        self.report = None  # of optimize(), for its results

    @classmethod
    def _adopt(cls, pointer: ctypes.c_void_p) -> "Graph":
        graph = cls.__new__(cls)
        graph._pointer, graph._rng = pointer, np.random.default_rng(1)
        graph._facts, graph.report = None, None
        return graph

    @classmethod
    def load(cls, model, *, input_shapes=None, constant_initializers=False) -> "Graph":
        """See noether.load."""
        pointer = ctypes.c_void_p()
        with Options(input_shape=shape_texts(input_shapes),
                     constant_initializers=constant_initializers) as o:
            if isinstance(model, (str, os.PathLike)):
                lib.model_load(os.fsencode(model), o.pointer, ctypes.byref(pointer))
            else:
                data = model if isinstance(model, bytes) else model.SerializeToString()
                lib.model_load_memory(data, len(data), o.pointer,
                                      ctypes.byref(pointer))
        return cls._adopt(pointer)

    def __del__(self) -> None:
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer and lib is not None:
            lib.model_free(pointer)

    # ---- the whole ----

    def optimize(self, alpha: float = 1.05, budget: int = 300, print_subst: bool = False,
                 **options: Any) -> "Graph":
        """noether.optimize(self, ...); print_subst prints every step."""
        result = _optimize(self, alpha, budget,
                           **{**options, **({"explain": True} if print_subst else {})})
        if print_subst:
            print(result.report)
        return result

    def save(self, path) -> None:
        """Writes the ONNX model, complete or not at all."""
        lib.model_save(self._pointer, os.fsencode(path))

    def serialize(self) -> bytes:
        """The ONNX model's bytes."""
        data, n = ctypes.c_void_p(), ctypes.c_size_t()
        lib.model_serialize(self._pointer, ctypes.byref(data), ctypes.byref(n))
        try:
            return ctypes.string_at(data, n.value)
        finally:
            lib.free(data)

    def cost(self, **options: Any) -> float:
        """Milliseconds of the graph as it is, the sum of its kernels on the device."""
        seconds = ctypes.c_double()
        with Options(**options) as o:
            lib.model_cost(self._pointer, o.pointer, ctypes.byref(seconds))
        return seconds.value * 1e3

    def run_time(self, **options: Any) -> float:
        """Milliseconds of the graph as a whole, measured on the device."""
        seconds = ctypes.c_double()
        with Options(**options) as o:
            lib.model_time(self._pointer, o.pointer, ctypes.byref(seconds))
        return seconds.value * 1e3

    def measurements(self, **options: Any) -> List[Dict[str, Any]]:
        """Where the time goes: kernels with operators, tensor and seconds."""
        text = ctypes.c_void_p()
        with Options(**options) as o:
            lib.model_kernels(self._pointer, o.pointer, ctypes.byref(text))
        return json.loads(lib.take_text(text))

    def print_measurements(self, **options: Any) -> None:
        for row in self.measurements(**options):
            print(f"{row['seconds'] * 1e6:10.2f} us  {row['operators']}  "
                  f"{row['tensor']}")

    # ---- looking at it ----

    def _describe(self) -> Dict[str, Any]:
        if self._facts is None:
            text = ctypes.c_void_p()
            lib.model_describe(self._pointer, ctypes.byref(text))
            self._facts = json.loads(lib.take_text(text))
        return self._facts

    @property
    def inputs(self) -> List[ValueInfo]:
        return [_value_info(row) for row in self._describe()["inputs"]]

    @property
    def outputs(self) -> List[ValueInfo]:
        return [_value_info(row) for row in self._describe()["outputs"]]

    @property
    def weights(self) -> List[ValueInfo]:
        return [_value_info(row) for row in self._describe()["weights"]]

    @property
    def nodes(self) -> List[Node]:
        return [Node(i, row["op_type"], row["name"], row["inputs"],
                     [_value_info(o) for o in row["outputs"]], row["attributes"])
                for i, row in enumerate(self._describe()["nodes"])]

    def weight(self, name: str) -> np.ndarray:
        """A copy of a weight's elements."""
        info = next((w for w in self.weights if w.name == name), None)
        if info is None:
            raise NoetherError(f"there is no weight '{name}'", "argument")
        data, n = ctypes.c_void_p(), ctypes.c_size_t()
        lib.model_weight(self._pointer, name.encode(), ctypes.byref(data),
                         ctypes.byref(n))
        array = np.frombuffer(ctypes.string_at(data, n.value), info.dtype)
        return array.reshape(info.dims).copy()

    # TASO's names for the same.
    def get_operator_list(self) -> List[Node]:
        return self.nodes

    def get_operator_type(self, op: Node) -> str:
        return op.op_type

    def get_operator_attr(self, op: Node, attrname: str) -> Any:
        return op.attributes[attrname]

    def get_num_outputs(self, op: Node) -> int:
        return len(op.outputs)

    def get_output_dims(self, op: Node, idx: int) -> List[Optional[int]]:
        return list(op.outputs[idx].dims or [])

    def get_input_dims(self, op: Node, idx: int) -> List[Optional[int]]:
        name = op.inputs[idx]
        known = self.inputs + self.weights + [o for n in self.nodes for o in n.outputs]
        return list(next(v.dims for v in known if v.name == name) or [])

    def get_weight_value(self, op: Node) -> np.ndarray:
        """The first weight that the node reads."""
        names = {w.name for w in self.weights}
        return self.weight(next(i for i in op.inputs if i in names))

    # ---- building: leaves ----

    def _tensor(self, value: int) -> Tensor:
        t = Type()
        lib.value_type(self._pointer, value, ctypes.byref(t))
        return Tensor(self, value, tuple(t.dims[:t.rank]), _FROM_ONNX[t.dtype])

    def new_input(self, dims: Dims, name: Optional[str] = None,
                  dtype: Any = "float32") -> Tensor:
        """A value that is given when the model runs; shape dims."""
        value = ctypes.c_uint32()
        self._facts = None
        lib.add_input(self._pointer, name.encode() if name else None,
                      ctypes.byref(_type(dims, dtype)), ctypes.byref(value))
        return self._tensor(value.value)

    def _random(self, dims: Dims) -> np.ndarray:
        """Uniform, of a size that keeps products of many layers finite."""
        fan_in = int(np.prod(dims[1:])) if len(dims) > 2 else (dims[0] if dims else 1)
        width = (3.0 / max(int(fan_in), 1)) ** 0.5
        return self._rng.uniform(-width, width, tuple(dims)).astype(np.float32)

    def new_weight(self, dims: Optional[Dims] = None, data: Any = None,
                   name: Optional[str] = None) -> Tensor:
        """A constant; shape dims, or that of data. data: a NumPy array (its element type
        counts, but float64 becomes float32) or numbers."""
        if data is None:
            if dims is None:
                raise NoetherError("a weight needs dims or data", "argument")
            data = self._random(dims)
        array = np.asarray(data)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        if dims is not None and tuple(dims) != array.shape:
            if isinstance(data, np.ndarray):
                raise NoetherError(f"dims {tuple(dims)}, data has {array.shape}",
                                   "shape")
            array = array.reshape(tuple(dims))
        array = np.ascontiguousarray(array).reshape(array.shape)
        value = ctypes.c_uint32()
        self._facts = None
        lib.add_weight(self._pointer, name.encode() if name else None,
                       ctypes.byref(_type(array.shape, array.dtype)),
                       array.ctypes.data_as(ctypes.c_void_p), array.nbytes,
                       ctypes.byref(value))
        return self._tensor(value.value)

    def new_output(self, tensor: Tensor, name: Optional[str] = None) -> None:
        """Makes a tensor an output. Without any, all that nobody reads are."""
        self._facts = None
        lib.add_output(self._pointer, tensor.value, name.encode() if name else None)

    # ---- building: operators ----

    def node(self, op_type: str, inputs: Sequence[Optional[Tensor]], n_outputs: int = 1,
             types: Optional[Sequence[Tuple[Dims, Any]]] = None,
             **attributes: Any) -> Union[Tensor, List[Tensor]]:
        """Any ONNX operator of operator set 17; inputs None are absent.

        types: (dims, dtype) of each output, where they do not follow by themselves.
        """
        keep: List[Any] = []
        for tensor in inputs:
            if tensor is not None and tensor.graph is not self:
                raise NoetherError(f"{op_type}: {tensor!r} belongs to another graph",
                                   "argument")
        values = (ctypes.c_uint32 * max(len(inputs), 1))(
            *(NO_VALUE if t is None else t.value for t in inputs))
        rows = [_attribute(k, v, keep) for k, v in attributes.items() if v is not None]
        listed = (Attribute * max(len(rows), 1))(*rows)
        declared = (Type * n_outputs)(*(_type(*t) for t in types)) if types else None
        outputs = (ctypes.c_uint32 * n_outputs)()
        self._facts = None
        lib.add_node(self._pointer, op_type.encode(), values, len(inputs), listed,
                     len(rows), declared, outputs, n_outputs)
        tensors = [self._tensor(v) for v in outputs]
        return tensors[0] if n_outputs == 1 else tensors

    def _ints(self, values: Sequence[int]) -> Tensor:
        return self.new_weight(data=np.array([int(v) for v in values], np.int64))

    def _scalar(self, value: float) -> Tensor:
        return self.new_weight(data=np.array(value, np.float32))

    def _activate(self, tensor: Tensor, activation: str) -> Tensor:
        if activation not in _ACTIVATIONS:
            raise NoetherError(f"activation '{activation}' is not one of "
                               f"{', '.join(_ACTIVATIONS)}", "argument")
        op_type = _ACTIVATIONS[activation]
        return self.node(op_type, [tensor]) if op_type else tensor

    # Two operands of one shape, or such that broadcast as in NumPy.
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + y"""
        return self.node("Add", [x, y])

    def sub(self, x: Tensor, y: Tensor) -> Tensor:
        """x - y"""
        return self.node("Sub", [x, y])

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """x * y, element by element"""
        return self.node("Mul", [x, y])

    def div(self, x: Tensor, y: Tensor) -> Tensor:
        """x / y"""
        return self.node("Div", [x, y])

    def max(self, x: Tensor, y: Tensor) -> Tensor:
        """The larger of both, element by element"""
        return self.node("Max", [x, y])

    def min(self, x: Tensor, y: Tensor) -> Tensor:
        """The smaller of both, element by element"""
        return self.node("Min", [x, y])

    def equal(self, x: Tensor, y: Tensor) -> Tensor:
        """x == y, a bool tensor"""
        return self.node("Equal", [x, y])

    def greater(self, x: Tensor, y: Tensor) -> Tensor:
        """x > y, a bool tensor"""
        return self.node("Greater", [x, y])

    def less(self, x: Tensor, y: Tensor) -> Tensor:
        """x < y, a bool tensor"""
        return self.node("Less", [x, y])

    def pow(self, x: Tensor, y: Union[Tensor, float]) -> Tensor:
        """x to the power of y"""
        return self.node("Pow", [x, y if isinstance(y, Tensor) else self._scalar(y)])

    def prelu(self, x: Tensor, slope: Tensor) -> Tensor:
        """x where it is positive, else slope * x; slope broadcasts to x's shape"""
        return self.node("PRelu", [x, slope])

    def where(self, cond: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """x where cond (bool) holds, else y"""
        return self.node("Where", [cond, x, y])

    # One operand; the result has its shape.
    def relu(self, input: Tensor, inplace: bool = False) -> Tensor:
        """max(input, 0). inplace has no meaning here."""
        return self.node("Relu", [input])

    def leakyrelu(self, input: Tensor, alpha: float = 0.01,
                  inplace: bool = False) -> Tensor:
        """input where it is positive, else alpha * input"""
        return self.node("LeakyRelu", [input], alpha=float(alpha))

    def sigmoid(self, input: Tensor, inplace: bool = False) -> Tensor:
        return self.node("Sigmoid", [input])

    def tanh(self, input: Tensor, inplace: bool = False) -> Tensor:
        return self.node("Tanh", [input])

    def exp(self, input: Tensor) -> Tensor:
        return self.node("Exp", [input])

    def log(self, input: Tensor) -> Tensor:
        return self.node("Log", [input])

    def sqrt(self, input: Tensor) -> Tensor:
        return self.node("Sqrt", [input])

    def erf(self, input: Tensor) -> Tensor:
        return self.node("Erf", [input])

    def neg(self, input: Tensor) -> Tensor:
        return self.node("Neg", [input])

    def abs(self, input: Tensor) -> Tensor:
        return self.node("Abs", [input])

    def ceil(self, input: Tensor) -> Tensor:
        return self.node("Ceil", [input])

    def round(self, input: Tensor) -> Tensor:
        return self.node("Round", [input])

    def logical_not(self, input: Tensor) -> Tensor:
        """not input, of a bool tensor"""
        return self.node("Not", [input])

    def softmax(self, input: Tensor, axis: int = -1) -> Tensor:
        return self.node("Softmax", [input], axis=axis)

    def dropout(self, input: Tensor, rate: float = 0.0) -> Tensor:
        """input: nothing is dropped when a model runs"""
        return self.node("Identity", [input])

    def identity(self, input: Tensor) -> Tensor:
        return self.node("Identity", [input])

    def cast(self, input: Tensor, datatype: Any) -> Tensor:
        """input with another element type: "FLOAT", "INT64", ... or NumPy's"""
        return self.node("Cast", [input], to=_type((), datatype).dtype)

    def batchnorm(self, input: Tensor, scale: Tensor, bias: Tensor, mean: Tensor,
                  var: Tensor, epsilon: float = -1) -> Tensor:
        """input [N, C, ...] normalised; the others are [C]. epsilon below 0: 1e-5"""
        return self.node("BatchNormalization", [input, scale, bias, mean, var],
                         epsilon=float(epsilon) if epsilon >= 0 else 1e-5)

    def layernorm(self, input: Tensor, scale: Tensor, bias: Optional[Tensor] = None,
                  axis: int = -1, epsilon: float = 1e-5) -> Tensor:
        """Axes from `axis` on normalised; scale and bias have their shape"""
        return self.node("LayerNormalization", [input, scale] + ([bias] if bias else []),
                         axis=axis, epsilon=float(epsilon))

    # Products.
    def conv2d(self, input: Tensor, weight: Tensor, strides: Dims = (1, 1),
               padding: Padding = "SAME", activation: str = "NONE",
               bias: Optional[Tensor] = None, dilations: Dims = (1, 1)) -> Tensor:
        """input [N, C, H, W], weight [M, C/g, kh, kw] -> [N, M, H', W']; the number of
        groups g follows. padding: "SAME" (H' = ceil(H / stride)), "VALID" (none),
        (h, w) on both sides, or (top, left, bottom, right)."""
        if input.nDim != 4 or weight.nDim != 4:
            raise NoetherError(f"conv2d: ranks {input.nDim} and {weight.nDim}, want 4",
                               "shape")
        group, rest = divmod(input.dim(1), weight.dim(1))
        if rest or not group:
            raise NoetherError(f"conv2d: {input.dim(1)} channels, weights of shape "
                               f"{weight.dims}", "shape")
        kernel = [(k - 1) * d + 1 for k, d in zip(weight.dims[2:], dilations)]
        y = self.node("Conv", [input, weight] + ([bias] if bias else []),
                      kernel_shape=list(weight.dims[2:]), strides=list(strides),
                      pads=_pads(padding, input.dims[2:], kernel, strides),
                      dilations=list(dilations), group=group)
        return self._activate(y, activation)

    def matmul(self, input: Tensor, weight: Tensor, activation: str = "NONE") -> Tensor:
        """[..., n, k] times [..., k, m] -> [..., n, m]"""
        return self._activate(self.node("MatMul", [input, weight]), activation)

    def fc(self, input: Tensor, weight: Tensor, activation: str = "NONE",
           bias: Optional[Tensor] = None) -> Tensor:
        """[..., n, k] times [k, m], plus bias [m]"""
        y = self.node("MatMul", [input, weight])
        return self._activate(self.add(y, bias) if bias else y, activation)

    # Windows and reductions.
    def _pool(self, op_type: str, input: Tensor, kernels: Dims, strides: Dims,
              padding: Padding, activation: str) -> Tensor:
        if input.nDim != 4:
            raise NoetherError(f"{op_type}: rank {input.nDim}, want 4", "shape")
        y = self.node(op_type, [input], kernel_shape=list(kernels),
                      strides=list(strides),
                      pads=_pads(padding, input.dims[2:], kernels, strides))
        return self._activate(y, activation)

    def maxpool2d(self, input: Tensor, kernels: Dims, strides: Dims,
                  padding: Padding = "SAME", activation: str = "NONE") -> Tensor:
        """[N, C, H, W] -> [N, C, H', W'], the largest of each window"""
        return self._pool("MaxPool", input, kernels, strides, padding, activation)

    def avgpool2d(self, input: Tensor, kernels: Dims, strides: Dims,
                  padding: Padding = "SAME", activation: str = "NONE") -> Tensor:
        """[N, C, H, W] -> [N, C, H', W'], the mean of each window without its padding"""
        return self._pool("AveragePool", input, kernels, strides, padding, activation)

    def global_avgpool2d(self, input: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C, 1, 1]"""
        return self.node("GlobalAveragePool", [input])

    def _reduce(self, op_type: str, input: Tensor, axes: Dims, keepdims: bool) -> Tensor:
        return self.node(op_type, [input], axes=list(axes), keepdims=int(keepdims))

    def reduce_sum(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        """Sums over axes, which stay with size 1 (keepdims) or go"""
        return self.node("ReduceSum", [input, self._ints(axes)], keepdims=int(keepdims))

    def reduce_mean(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        return self._reduce("ReduceMean", input, axes, keepdims)

    def reduce_max(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        return self._reduce("ReduceMax", input, axes, keepdims)

    def reduce_min(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        return self._reduce("ReduceMin", input, axes, keepdims)

    def reduce_prod(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        return self._reduce("ReduceProd", input, axes, keepdims)

    def _reduce_arg(self, op_type: str, input: Tensor, axes: Dims,
                    keepdims: bool) -> Tensor:
        if len(axes) != 1:
            raise NoetherError(f"{op_type}: {len(axes)} axes, want 1", "argument")
        return self.node(op_type, [input], axis=axes[0], keepdims=int(keepdims))

    def reduce_argmax(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        """Where along the one axis the largest stands, int64"""
        return self._reduce_arg("ArgMax", input, axes, keepdims)

    def reduce_argmin(self, input: Tensor, axes: Dims, keepdims: bool = True) -> Tensor:
        """Where along the one axis the smallest stands, int64"""
        return self._reduce_arg("ArgMin", input, axes, keepdims)

    def topk(self, input: Tensor, axis: int, numk: int, largest: bool = True,
             sorted: bool = True) -> List[Tensor]:
        """[values, int64 places] of the numk largest (or smallest) along axis"""
        dims = list(input.dims)
        dims[axis] = numk
        return self.node("TopK", [input, self._ints([numk])], 2,
                         [(dims, input.dtype), (dims, "int64")], axis=axis,
                         largest=int(largest), sorted=int(sorted))

    # Layout.
    def concat(self, axis: int, inputs: Sequence[Tensor]) -> Tensor:
        """Tensors side by side along axis; the other axes agree"""
        if len(inputs) == 1:
            return inputs[0]
        return self.node("Concat", list(inputs), axis=axis)

    def split(self, input: Tensor, axis: int,
              sizes: Union[int, Sequence[int]]) -> List[Tensor]:
        """Parts along axis: of these sizes, or that many equal ones"""
        if isinstance(sizes, int):
            part, rest = divmod(input.dim(axis), sizes)
            if rest:
                raise NoetherError(f"split: {input.dim(axis)} in {sizes} equal parts",
                                   "shape")
            sizes = [part] * sizes
        parts = self.node("Split", [input, self._ints(sizes)], len(sizes),
                          [self._resized(input, axis, n) for n in sizes], axis=axis)
        if sum(sizes) != input.dim(axis):
            raise NoetherError(f"split: {list(sizes)} of {input.dim(axis)}", "shape")
        return parts if isinstance(parts, list) else [parts]

    @staticmethod
    def _resized(tensor: Tensor, axis: int, n: int) -> Tuple[List[int], str]:
        dims = list(tensor.dims)
        dims[axis] = n
        return dims, tensor.dtype

    def transpose(self, input: Tensor, perm: Dims, shuffle: bool = False) -> Tensor:
        """Axis i of the result is axis perm[i]. shuffle has no meaning here."""
        return self.node("Transpose", [input], perm=list(perm))

    def reshape(self, input: Tensor, shape: Dims) -> Tensor:
        """The same elements in another shape; -1: what is left, 0: as it is"""
        return self.node("Reshape", [input, self._ints(shape)])

    def flatten(self, input: Tensor, axis: int = 1) -> Tensor:
        """[product of the axes before `axis`, product of the others]"""
        return self.node("Flatten", [input], axis=axis)

    def squeeze(self, input: Tensor, axes: Dims) -> Tensor:
        """Without these axes, which have size 1"""
        return self.node("Squeeze", [input, self._ints(axes)])

    def unsqueeze(self, input: Tensor, axes: Dims) -> Tensor:
        """With axes of size 1 at these places of the result"""
        return self.node("Unsqueeze", [input, self._ints(axes)])

    def pad(self, input: Tensor, pads: Dims, value: float = 0.0,
            mode: str = "constant") -> Tensor:
        """pads: elements added before every axis, then behind every axis"""
        operands = [input, self._ints(pads)]
        if value:
            operands.append(self._scalar(value))
        return self.node("Pad", operands, mode=mode)

    def slice(self, input: Tensor, start: Dims, end: Dims, axes: Optional[Dims] = None,
              steps: Optional[Dims] = None) -> Tensor:
        """start[i]:end[i]:steps[i] of axis axes[i], as Python's slices count"""
        axes = range(len(start)) if axes is None else axes
        steps = [1] * len(start) if steps is None else steps
        return self.node("Slice", [input] + [self._ints(v) for v in
                                             (start, end, axes, steps)])

    def resize(self, input: Tensor, shape: Optional[Dims] = None,
               scales: Optional[Sequence[float]] = None,
               mode: str = "nearest") -> Tensor:
        """input with another shape, or every axis scales[i] times as long; mode
        "nearest" or "linear" """
        if (shape is None) == (scales is None):
            raise NoetherError("resize: want shape or scales", "argument")
        extra = {"coordinate_transformation_mode": "asymmetric",
                 "nearest_mode": "floor"} if mode == "nearest" else {}
        if scales is None:
            return self.node("Resize", [input, None, None, self._ints(shape)], mode=mode,
                             types=[(list(shape), input.dtype)], **extra)
        factors = self.new_weight(data=np.array(scales, np.float32))
        return self.node("Resize", [input, None, factors], mode=mode, **extra)

    def gather(self, input: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
        """The places `indices` of axis"""
        return self.node("Gather", [input, indices], axis=axis)

    def shape(self, input: Tensor) -> Tensor:
        """input's dimensions, int64 [rank]"""
        return self.node("Shape", [input])

    def size(self, input: Tensor) -> Tensor:
        """The number of input's elements, int64 []"""
        return self.node("Size", [input])
