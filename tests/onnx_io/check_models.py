#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares models before and after a program with ONNX Runtime on the original.

  check_models.py [OPTIONS] MODEL...                with --tool 'PROGRAM {in} {out}'
  check_models.py [OPTIONS] BEFORE=AFTER...         pairs that are there already

Each model must pass onnx.checker, plain and full, where the original does, keep names,
types and shapes of its inputs and outputs, and compute the same on random inputs: integers
exactly, NaN and infinity in the same places, floats within a tolerance relative to the
largest magnitude.
Prints "PASS name", "FAIL name: why" or "SKIP name: why"; exit status 1 if one failed, 77
if nothing could be compared.
"""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper
except ImportError as missing:
    print(f"SKIP check_models: {missing}")
    sys.exit(77)

ROUNDS = 3


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("models", nargs="+")
    p.add_argument("--tool", help="command with {in} and {out}")
    p.add_argument("--shape", action="append", default=[], help="INPUT:2,3 for open sizes")
    p.add_argument("--tolerance", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--freeze", action="store_true",
                   help="make constants of the integers (and scales) that a test of ONNX's "
                        "own feeds as inputs, from its test_data_set_0, first")
    p.add_argument("--random-weights", action="store_true",
                   help="put random weights in place of ConstantOfShape first")
    return p.parse_args()


def name_of(path):
    folder, file = os.path.split(os.path.abspath(path))
    return os.path.basename(folder) if file == "model.onnx" else file.removesuffix(".onnx")


def randomize(path, out, seed):
    """Made-up networks have weights of equal numbers: they hide mistakes."""
    model = onnx.load(path)
    graph = model.graph
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    kept = []
    rng = np.random.default_rng(seed)
    for node in graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        is_float = shape is not None and all(
            a.t.data_type == onnx.TensorProto.FLOAT for a in node.attribute)
        if not is_float:
            kept.append(node)
            continue
        # Vectors are scales, shifts, means, variances: positive suits them all.
        fan_in = max(1, int(np.prod(shape[1:])))
        value = (rng.uniform(0.5, 1.5, shape) if len(shape) < 2 else
                 rng.standard_normal(shape) * np.sqrt(2 / fan_in))
        constant = onnx.helper.make_node(
            "Constant", [], list(node.output),
            value=numpy_helper.from_array(value.astype(np.float32)))
        kept.append(constant)
    del graph.node[:]
    graph.node.extend(kept)
    onnx.save(model, out)


def freeze(path, out):
    """Operator tests feed what says how an operator works through inputs."""
    model = onnx.load(path)
    graph = model.graph
    constants = {t.name for t in graph.initializer}
    kept, stored = [], 0
    for value in graph.input:
        kept.append(value)
        if value.name in constants:
            continue
        file = os.path.join(os.path.dirname(path), "test_data_set_0", f"input_{stored}.pb")
        stored += 1
        kind = value.type.tensor_type.elem_type
        is_setting = kind in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) or (
            value.name in ("scales", "roi") or
            kind == onnx.TensorProto.BOOL and not value.type.tensor_type.shape.dim)
        if not is_setting or not os.path.exists(file):
            continue
        tensor = onnx.TensorProto()
        with open(file, "rb") as f:
            tensor.ParseFromString(f.read())
        tensor.name = value.name
        graph.initializer.append(tensor)
        kept.pop()
    del graph.input[:]
    graph.input.extend(kept)
    onnx.save(model, out)


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


NUMPY = {"tensor(float)": np.float32, "tensor(double)": np.float64,
         "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
         "tensor(bool)": np.bool_}


def random_inputs(s, shapes, rng):
    feeds = {}
    for i in s.get_inputs():
        if i.type not in NUMPY:
            raise ValueError(f"input of type {i.type}")
        shape = shapes.get(i.name, [d if isinstance(d, int) else 2 for d in i.shape])
        # Integers are often indices: 0 and 1 are always in range, and not all zero.
        x = (rng.standard_normal(shape) if "float" in i.type or "double" in i.type
             else rng.integers(0, 2, shape))
        feeds[i.name] = np.asarray(x).astype(NUMPY[i.type])
    return feeds


def difference(a, b, tolerance):
    """None, or how two outputs differ."""
    if not isinstance(a, np.ndarray):
        return None if repr(a) == repr(b) else "differs"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{b.dtype}{list(b.shape)}, was {a.dtype}{list(a.shape)}"
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else "integers differ"
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
            a[~finite], b[~finite], equal_nan=True):
        return "NaN or infinity in other places"
    if not finite.any():
        return None
    a64, b64 = a[finite].astype(np.float64), b[finite].astype(np.float64)
    worst, scale = np.abs(a64 - b64).max(), max(np.abs(a64).max(), 1e-30)
    if worst > tolerance * scale:
        return f"differs by {worst:.3g} at magnitude {scale:.3g}"
    return None


def refusal(path, full):
    """What onnx.checker, with shape inference if full, has against a model, or None."""
    try:
        onnx.checker.check_model(path, full_check=full)
        return None
    except Exception as e:  # ValidationError, InferenceError, and a few of pybind's
        return (str(e).splitlines() or [type(e).__name__])[0]


def signature(values):
    return [(v.name, v.type) for v in values]


def compare(before, after, options):
    """("PASS" | "FAIL" | "SKIP", why)"""
    shapes = {}
    for text in options.shape:
        name, _, dims = text.rpartition(":")
        shapes[name] = [int(d) for d in dims.replace("x", ",").split(",")]
    for full in (False, True):
        if refusal(before, full) is None and (why := refusal(after, full)):
            return "FAIL", f"onnx.checker{', full' if full else ''}: {why}"
    rng = np.random.default_rng(options.seed)
    try:
        old = session(before)
        feeds = [random_inputs(old, shapes, rng) for _ in range(ROUNDS)]
        wanted = [old.run(None, f) for f in feeds]
        again = old.run(None, feeds[0])
    except Exception as e:  # the original is not for us to judge
        return "SKIP", "the original does not run: " + str(e).splitlines()[0][:120]
    if any(difference(a, b, 0) for a, b in zip(wanted[0], again)):
        return "SKIP", "the original is random"
    try:
        new = session(after)
        if signature(old.get_inputs()) != signature(new.get_inputs()) or signature(
                old.get_outputs()) != signature(new.get_outputs()):
            return "FAIL", "inputs or outputs have other names or types"
        got = [new.run(None, f) for f in feeds]
    except Exception as e:
        return "FAIL", "does not run: " + str(e).splitlines()[0][:200]
    for want, have in zip(wanted, got):
        for output, a, b in zip(old.get_outputs(), want, have):
            why = difference(a, b, options.tolerance)
            if why:
                return "FAIL", f"output '{output.name}': {why}"
    return "PASS", ""


def process(model, options, folder):
    """Runs the tool; returns (before, after, error)."""
    before, after = model, os.path.join(folder, "after.onnx")
    if options.random_weights:
        before = os.path.join(folder, "before.onnx")
        randomize(model, before, options.seed)
    if options.freeze:
        before = os.path.join(folder, "before.onnx")
        freeze(model, before)
    command = [w.replace("{in}", before).replace("{out}", after)
               for w in shlex.split(options.tool)]
    run = subprocess.run(command, capture_output=True, text=True)
    error = None if run.returncode == 0 else (
        f"exit status {run.returncode}: " + (run.stderr.strip() or run.stdout.strip())[-200:])
    return before, after, error


def main():
    options = arguments()
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            error = None
            if options.tool:
                before, after, error = process(model, options, folder)
            else:
                before, _, after = model.partition("=")
            verdict, why = ("FAIL", error) if error else compare(before, after, options)
        counts[verdict] += 1
        print(f"{verdict} {name_of(model.partition('=')[0])}" + (f": {why}" if why else ""),
              flush=True)
    print(", ".join(f"{n} {v.lower()}" for v, n in counts.items()))
    if counts["FAIL"]:
        return 1
    return 0 if counts["PASS"] else 77


if __name__ == "__main__":
    sys.exit(main())
