#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models and case models through noether-optimize, judged by ONNX Runtime.

Each model is optimized; original and result are run on the same inputs in ONNX Runtime
(all of its own optimizations off, so that it is the judge and not a party) and every
output is compared: type, shape, places of NaN and infinities, integers exactly, floats
within a tolerance relative to the largest magnitude of the tensor, or within what the
original itself makes of a rounding of its inputs. The result must also
pass onnx.checker wherever the original does.

Prints one line a model, "PASS name ...", "FAIL name: why", "SKIP name: why", then a
summary, and exits 1 if anything failed. --table writes the before/after table.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper
except ImportError as missing:
    print(f"SKIP models: {missing}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

SEED = 1
TOLERANCE = 1e-3  # as noether-optimize checks
ABSOLUTE = 1e-5
WOBBLE = 1e-6  # relative; a few times the rounding of f32
FACTOR = 4

# Models of ../shared/models; shapes: sizes for symbolic input dimensions.
MODELS = {
    "ultraface_rfb320": {},
    "blazeface_back_256": {},
    "mlsd_tiny_320": {},
    "light_squeezenet": {"random_weights": True},
    "light_resnet50": {"random_weights": True},
    "gtcrn": {},
    "ppocrv4_rec": {"shapes": {"x": [1, 3, 48, 320]}},
}


# Models made here: what must be gone from the result, by operator.
MADE = {"mixed_precision": ["Transpose"]}


class Failure(Exception):
    pass


def random_weights(model, path):
    """Replaces ConstantOfShape weights by seeded random ones: with all values equal, any
    two filters could be exchanged and nothing would notice."""
    rng = np.random.default_rng(SEED)
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    kept, made, used_as = [], {}, {}
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            used_as[node.input[4]] = "variance"
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in constants:
            kept.append(node)
            continue
        shape = [int(d) for d in constants[node.input[0]]]
        fan_in = max(1, int(np.prod(shape[1:])))
        value = rng.standard_normal(shape) / np.sqrt(fan_in)
        if used_as.get(node.output[0]) == "variance":
            value = np.abs(value) + 0.5
        made[node.output[0]] = value.astype(np.float32)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    for name, value in made.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    # Before IR 4 initializers had to be inputs; from there on that would make them
    # values that a caller may replace.
    model.ir_version = max(model.ir_version, 4)
    names = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    onnx.save(model, path)


def mixed_precision(path):
    """Layout on both sides of casts, weights that are stored as float16 or bfloat16, and
    arithmetic in float16, which stays as it is."""
    rng = np.random.default_rng(SEED)
    half = rng.standard_normal((96, 64)).astype(np.float16)
    brain = onnx.helper.make_tensor("b16", onnx.TensorProto.BFLOAT16, [64],
                                    rng.standard_normal(64).astype(np.float32))
    node = onnx.helper.make_node
    cast = lambda a, b, to: node("Cast", [a], [b], to=getattr(onnx.TensorProto, to))
    turn = lambda a, b: node("Transpose", [a], [b], perm=[1, 0])
    nodes = [
        turn("x", "xt"), cast("xt", "xh", "FLOAT16"), turn("xh", "h"),
        cast("h", "h32", "FLOAT"), cast("w16", "w", "FLOAT"), cast("b16", "b", "FLOAT"),
        node("MatMul", ["h32", "w"], ["p"]), node("Add", ["p", "b"], ["q"]),
        cast("q", "qh", "FLOAT16"), cast("z", "zh", "FLOAT16"),
        node("Concat", ["qh", "zh"], ["c"], axis=0), node("Sigmoid", ["c"], ["s"]),
        turn("s", "st"), cast("st", "d", "DOUBLE"), turn("d", "y"),
    ]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "mixed_precision",
        [info("x", onnx.TensorProto.FLOAT, [48, 96]), info("z", onnx.TensorProto.FLOAT, [16, 64])],
        [info("y", onnx.TensorProto.DOUBLE, [64, 64])],
        [numpy_helper.from_array(half, "w16"), brain])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def session(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(s, shapes, index):
    rng = np.random.default_rng(SEED + index)
    feed = {}
    for i in s.get_inputs():
        shape = shapes.get(i.name) or [d if isinstance(d, int) else 1 for d in i.shape]
        if i.type == "tensor(float)":
            value = rng.standard_normal(shape).astype(np.float32)
            if index == 1:
                value *= 30 * rng.integers(0, 2, shape)
            feed[i.name] = value
        elif i.type == "tensor(double)":
            feed[i.name] = rng.standard_normal(shape)
        elif i.type == "tensor(float16)":
            feed[i.name] = rng.standard_normal(shape).astype(np.float16)
        elif i.type == "tensor(bool)":
            feed[i.name] = rng.integers(0, 2, shape).astype(bool)
        else:
            kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(i.type, np.uint8)
            feed[i.name] = rng.integers(0, 3, shape).astype(kind)
    return feed


def wobbled(feed, index):
    """The inputs with every float moved by about one part in a million."""
    rng = np.random.default_rng(SEED + 1000 + index)
    return {k: (v * (1 + WOBBLE * rng.standard_normal(v.shape))).astype(v.dtype)
            if np.issubdtype(v.dtype, np.floating) else v for k, v in feed.items()}


def largest_difference(a, b):
    both = np.isfinite(a) & np.isfinite(b)
    return np.abs(a[both] - b[both]).max() if both.any() else 0.0


def compare(names, want, got, wobble):
    """Largest difference relative to the magnitude of its tensor. A model that turns
    rounding of its inputs into larger differences than the tolerance (by comparing floats,
    or by saturating) is judged by those: wobble is what it gives for wobbled inputs."""
    worst = 0.0
    for name, a, b, c in zip(names, want, got, wobble):
        a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Failure(f"{name}: {a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}")
        if not np.issubdtype(a.dtype, np.floating):
            if not np.array_equal(a, b):
                raise Failure(f"{name}: values differ")
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not (np.array_equal(np.isnan(a), np.isnan(b)) and
                np.array_equal(np.where(np.isinf(a), a, 0), np.where(np.isinf(b), b, 0))):
            raise Failure(f"{name}: NaN or infinities in other places")
        finite = np.isfinite(a)
        if not finite.any():
            continue
        scale = np.abs(a[finite]).max()
        diff = np.abs(a[finite] - b[finite]).max()
        allowed = ABSOLUTE + TOLERANCE * scale
        if diff > allowed and a.shape == c.shape:
            allowed = max(allowed, FACTOR * largest_difference(a, c.astype(np.float64)))
        if diff > allowed:
            raise Failure(f"{name}: differs by {diff:.3g}, largest magnitude {scale:.3g}")
        worst = max(worst, diff / scale if scale else 0.0)
    return worst


def passes_checker(path, full):
    try:
        onnx.checker.check_model(path, full_check=full)
        return True
    except Exception:  # every kind of refusal
        return False


def load_case_inputs(folder, s):
    feed = {}
    for k, i in enumerate(s.get_inputs()):
        path = os.path.join(folder, f"input_{k}.pb")
        if not os.path.exists(path):
            return None
        with open(path, "rb") as f:
            feed[i.name] = numpy_helper.to_array(onnx.load_tensor_from_string(f.read()))
    return feed


def optimize(args, source, result, shapes):
    command = [args.optimize, source, "-o", result]
    for name, dims in shapes.items():
        command += ["--input-shape", f"{name}:{','.join(map(str, dims))}"]
    if args.rules:
        command += ["--rules", args.rules]
    if args.costs:
        command += ["--costs", args.costs]
    command += args.extra
    run = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
    if run.returncode != 0:
        raise Failure(f"noether-optimize exits {run.returncode}: {run.stderr.strip()[-400:]}")
    if not os.path.exists(result):
        raise Failure("noether-optimize exits 0 and wrote nothing")
    return run.stdout


def judge(args, source, result, shapes, feeds):
    """Runs the optimizer and the judge; returns (report, worst difference, runs)."""
    try:
        before = session(source)
    except Exception as error:
        raise LookupError(f"ONNX Runtime refuses the original: {str(error)[:120]}")
    report = optimize(args, source, result, shapes)
    for full in (False, True):
        if passes_checker(source, full) and not passes_checker(result, full):
            raise Failure(f"onnx.checker{' (full)' if full else ''} refuses the result")
    try:
        after = session(result)
    except Exception as error:
        raise Failure(f"ONNX Runtime refuses the result: {str(error)[:300]}")
    if [o.name for o in before.get_outputs()] != [o.name for o in after.get_outputs()]:
        raise Failure("outputs have other names")
    if [i.name for i in before.get_inputs()] != [i.name for i in after.get_inputs()]:
        raise Failure("inputs have other names")
    worst, runs = 0.0, 0
    names = [o.name for o in before.get_outputs()]
    for index, feed in enumerate(feeds(before)):
        try:
            want = before.run(None, feed)
            wobble = before.run(None, wobbled(feed, index))
        except Exception:
            continue  # these inputs do not suit the model
        worst = max(worst, compare(names, want, after.run(None, feed), wobble))
        runs += 1
    return report, worst, runs


def field(pattern, report, default="-"):
    found = re.search(pattern, report, re.M)
    return found.groups() if found else (default, default, default)


def table_row(name, report, worst):
    ops = field(r"^  ONNX operators +(\d+) +(\d+)", report)
    predicted = field(r"^  predicted \(sum of kernels\) +(\S+ ms) +(\S+ ms) +(\S+)x", report)
    measured = field(r"^  measured \(whole model\) +(\S+ ms) +(\S+ ms) +(\S+)x", report)
    rules = re.findall(r"^ +(\d+)x  ([0-9a-f]{10})", report, re.M)
    outcome = "better" if rules else "unchanged"
    if "is not surely faster as a whole" in report:
        outcome = "not faster, kept"
    applied = ", ".join(f"{n}x {i}" for n, i in rules) or "-"
    return (f"| {name} | {ops[0]} | {ops[1]} | {predicted[0]} | {predicted[1]} | {measured[0]} "
            f"| {measured[1]} | {measured[2]} | {applied} | {worst:.1e} | {outcome} |")


def one_model(args, work, name, options):
    source = os.path.join(args.shared, "models", name + ".onnx")
    if not os.path.exists(source):
        raise LookupError("no such file")
    if options.get("random_weights"):
        model = onnx.load(source)
        source = os.path.join(work, name + ".onnx")
        random_weights(model, source)
    shapes = options.get("shapes", {})
    feeds = lambda s: [random_inputs(s, shapes, i) for i in range(args.inputs)]
    result = os.path.join(work, name + ".opt.onnx")
    report, worst, runs = judge(args, source, result, shapes, feeds)
    if runs == 0:
        raise LookupError("the original runs on none of the inputs")
    return report, worst, runs


def one_made(args, work, name, gone):
    source, result = os.path.join(work, name + ".onnx"), os.path.join(work, name + ".opt.onnx")
    globals()[name](source)
    feeds = lambda s: [random_inputs(s, {}, i) for i in range(args.inputs)]
    report, worst, runs = judge(args, source, result, {}, feeds)
    left = [n.op_type for n in onnx.load(result).graph.node if n.op_type in gone]
    if runs == 0 or left:
        raise Failure(f"{runs} runs, and the result has {', '.join(left) or 'nothing'} left")
    return report, worst, runs


def one_case(args, work, name):
    folder = os.path.join(args.shared, "cases", name)
    source = os.path.join(folder, "model.onnx")
    feeds = lambda s: [f for f in (load_case_inputs(os.path.join(folder, "test_data_set_0"), s),
                                   *(random_inputs(s, {}, i) for i in range(2))) if f is not None]
    return judge(args, source, os.path.join(work, name + ".opt.onnx"), {}, feeds)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimize", default="noether-optimize")
    parser.add_argument("--shared", default=os.path.join(here, "..", "..", "..", "shared"))
    parser.add_argument("--rules")
    parser.add_argument("--costs")
    parser.add_argument("--only", action="append", default=[], help="part of a name")
    parser.add_argument("--no-cases", action="store_true")
    parser.add_argument("--no-models", action="store_true")
    parser.add_argument("--inputs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--table", help="file for the before/after table")
    parser.add_argument("--keep", help="folder for the results")
    parser.add_argument("extra", nargs="*", help="more options for noether-optimize, after --")
    args = parser.parse_args()
    wanted = lambda name: not args.only or any(part in name for part in args.only)
    jobs = []
    if not args.no_models:
        jobs += [(n, lambda w, n=n: one_model(args, w, n, MODELS[n])) for n in MODELS]
        jobs += [(n, lambda w, n=n: one_made(args, w, n, MADE[n])) for n in MADE]
    cases = os.path.join(args.shared, "cases")
    if not args.no_cases and os.path.isdir(cases):
        jobs += [(n, lambda w, n=n: one_case(args, w, n)) for n in sorted(os.listdir(cases))
                 if os.path.exists(os.path.join(cases, n, "model.onnx"))]
    counts, rows = {"PASS": 0, "FAIL": 0, "SKIP": 0}, []
    with tempfile.TemporaryDirectory() as temporary:
        work = args.keep or temporary
        os.makedirs(work, exist_ok=True)
        for name, job in jobs:
            if not wanted(name):
                continue
            try:
                report, worst, runs = job(work)
                verdict, remark = "PASS", f" ({runs} inputs, largest difference {worst:.1e})"
                rows.append(table_row(name, report, worst))
            except LookupError as why:
                verdict, remark = "SKIP", f": {why}"
            except (Failure, subprocess.TimeoutExpired) as why:
                verdict, remark = "FAIL", f": {why}"
            counts[verdict] += 1
            print(f"{verdict} {name}{remark}", flush=True)
    if args.table:
        with open(args.table, "w") as f:
            f.write("| model | operators | after | predicted | after | measured | after | speed-up "
                    "| rules applied | difference | outcome |\n" + "|---" * 11 + "|\n")
            f.write("\n".join(rows) + "\n")
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
