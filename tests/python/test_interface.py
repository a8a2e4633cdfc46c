# SPDX-License-Identifier: Apache-2.0
"""The Python interface: every method against NumPy in ONNX Runtime, TASO's scripts as
they are, the examples at small sizes, errors, interruption.

Prints "PASS name", "FAIL name" or "SKIP name: why" a case; exit status 1 if one failed.
    test_interface.py EXAMPLES-FOLDER
"""

import importlib
import os
import pathlib
import runpy
import sys
import tempfile
import traceback
import warnings

import numpy as np

import noether

try:
    import onnx
except ImportError:
    onnx = None
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

HERE = pathlib.Path(__file__).parent
CASES = []


class Skip(Exception):
    pass


def case(function):
    CASES.append((function.__name__, function))
    return function


def need(module, name):
    if module is None:
        raise Skip(f"no {name}")


def execute(data, feeds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def random(dims, seed=0, low=-1.0):
    return np.random.default_rng(seed).uniform(low, 1, dims).astype(np.float32)


def close(got, want, tolerance=1e-5):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, want {want.shape}"
    error = np.abs(got.astype(np.float64) - want).max(initial=0)
    size = max(np.abs(want.astype(np.float64)).max(initial=0), 1e-30)
    assert error <= tolerance * size, f"difference {error} of {size}"


def raises(kind, text, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except noether.NoetherError as e:
        assert e.kind == kind, f"kind {e.kind}, want {kind}: {e}"
        assert text in str(e), f"'{e}' lacks '{text}'"
        return
    raise AssertionError(f"no error with '{text}'")


# ---- every method: what it makes is what NumPy computes ----

def windows(x, k, s, pads, fill):
    """[N, C, H', W', kh, kw] of x."""
    x = np.pad(x, ((0, 0), (0, 0), pads[0], pads[1]), constant_values=fill)
    w = np.lib.stride_tricks.sliding_window_view(x, k, (2, 3))
    return w[:, :, ::s[0], ::s[1]]


def conv(x, w, s=(1, 1), pads=((0, 0), (0, 0)), groups=1):
    parts = np.split(windows(x, w.shape[2:], s, pads, 0), groups, axis=1)
    return np.concatenate([np.einsum("nchwij,mcij->nmhw", p, v)
                           for p, v in zip(parts, np.split(w, groups))], axis=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


X, Y, P = random((2, 3, 4)), random((2, 3, 4), 1), random((2, 3, 4), 2, 0.1)
I = random((1, 4, 7, 9), 3)
W, WG = random((6, 4, 3, 3), 4), random((6, 2, 3, 3), 5)
S = [random((4,), 6 + i, 0.1) for i in range(4)]


def c4(v):
    return v[:, None, None]


# name: (operands, call, what NumPy says)
METHODS = {
    "add": ([X, Y], lambda g, x, y: g.add(x, y), X + Y),
    "sub": ([X, Y], lambda g, x, y: g.sub(x=x, y=y), X - Y),
    "mul": ([X, Y], lambda g, x, y: g.mul(x, y), X * Y),
    "div": ([X, P], lambda g, x, y: g.div(x=x, y=y), X / P),
    "max": ([X, Y], lambda g, x, y: g.max(x, y), np.maximum(X, Y)),
    "min": ([X, Y], lambda g, x, y: g.min(x, y), np.minimum(X, Y)),
    "equal": ([X, X], lambda g, x, y: g.equal(x=x, y=y), X == X),
    "greater": ([X, Y], lambda g, x, y: g.greater(x=x, y=y), X > Y),
    "less": ([X, Y], lambda g, x, y: g.less(x=x, y=y), X < Y),
    "logical_not": ([X, Y], lambda g, x, y: g.logical_not(input=g.less(x=x, y=y)),
                    ~(X < Y)),
    "pow": ([P], lambda g, x: g.pow(x, 3.0), P ** 3),
    "prelu": ([X, P], lambda g, x, y: g.prelu(x=x, slope=y), np.where(X > 0, X, P * X)),
    "where": ([X, Y], lambda g, x, y: g.where(g.less(x=x, y=y), x, y),
              np.minimum(X, Y)),
    "relu": ([X], lambda g, x: g.relu(x, inplace=True), np.maximum(X, 0)),
    "leakyrelu": ([X], lambda g, x: g.leakyrelu(x, 0.25), np.where(X > 0, X, X / 4)),
    "sigmoid": ([X], lambda g, x: g.sigmoid(x), sigmoid(X)),
    "tanh": ([X], lambda g, x: g.tanh(x), np.tanh(X)),
    "exp": ([X], lambda g, x: g.exp(input=x), np.exp(X)),
    "log": ([P], lambda g, x: g.log(input=x), np.log(P)),
    "sqrt": ([P], lambda g, x: g.sqrt(input=x), np.sqrt(P)),
    "neg": ([X], lambda g, x: g.neg(x), -X),
    "abs": ([X], lambda g, x: g.abs(x), np.abs(X)),
    "ceil": ([X], lambda g, x: g.ceil(input=x), np.ceil(X)),
    "round": ([10 * X], lambda g, x: g.round(x), np.round(10 * X)),
    "softmax": ([X], lambda g, x: g.softmax(x, 1),
                np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    "dropout": ([X], lambda g, x: g.add(g.dropout(x, 0.5), x), 2 * X),
    "identity": ([X], lambda g, x: g.add(g.identity(x), x), 2 * X),
    "cast": ([10 * X], lambda g, x: g.cast(input=x, datatype="INT64"),
             (10 * X).astype(np.int64)),
    "batchnorm": ([I] + S, lambda g, x, *s: g.batchnorm(x, *s),
                  (I - c4(S[2])) / np.sqrt(c4(S[3]) + 1e-5) * c4(S[0]) + c4(S[1])),
    "layernorm": ([X, S[0]], lambda g, x, s: g.layernorm(x, s),
                  (X - X.mean(-1, keepdims=True)) /
                  np.sqrt(X.var(-1, keepdims=True) + 1e-5) * S[0]),
    "conv2d": ([I, W], lambda g, x, w: g.conv2d(input=x, weight=w, strides=(1, 1),
                                                padding="VALID"), conv(I, W)),
    "conv2d_same": ([I, W], lambda g, x, w: g.conv2d(
        input=x, weight=w, strides=(2, 2), padding="SAME", activation="SIGMOID"),
        sigmoid(conv(I, W, (2, 2), ((1, 1), (1, 1))))),
    "conv2d_groups": ([I, WG], lambda g, x, w: g.conv2d(
        input=x, weight=w, strides=(1, 1), padding=(0, 1), activation="TANH"),
        np.tanh(conv(I, WG, (1, 1), ((0, 0), (1, 1)), 2))),
    "matmul": ([X, Y.transpose(0, 2, 1)], lambda g, x, y: g.matmul(x, y, "RELU"),
               np.maximum(X @ Y.transpose(0, 2, 1), 0)),
    "fc": ([X, Y[0].T, Y[0, 0, :3]], lambda g, x, w, b: g.fc(x, w, bias=b),
           X @ Y[0].T + Y[0, 0, :3]),
    "maxpool2d": ([I], lambda g, x: g.maxpool2d(x, (3, 2), (2, 1), "VALID"),
                  windows(I, (3, 2), (2, 1), ((0, 0), (0, 0)), 0).max((4, 5))),
    "maxpool2d_same": ([I], lambda g, x: g.maxpool2d(
        input=x, kernels=(2, 2), strides=(1, 1), padding="SAME"),
        windows(I, (2, 2), (1, 1), ((0, 1), (0, 1)), -9).max((4, 5))),
    "avgpool2d": ([I], lambda g, x: g.avgpool2d(
        input=x, kernels=(3, 3), strides=(1, 1), padding="SAME"),
        windows(I, (3, 3), (1, 1), ((1, 1), (1, 1)), 0).sum((4, 5)) /
        windows(np.ones_like(I), (3, 3), (1, 1), ((1, 1), (1, 1)), 0).sum((4, 5))),
    "global_avgpool2d": ([I], lambda g, x: g.global_avgpool2d(x),
                         I.mean((2, 3), keepdims=True)),
    "reduce_sum": ([X], lambda g, x: g.reduce_sum(input=x, axes=(0, 2)),
                   X.sum((0, 2), keepdims=True)),
    "reduce_mean": ([X], lambda g, x: g.reduce_mean(input=x, axes=(1,), keepdims=False),
                    X.mean(1)),
    "reduce_max": ([X], lambda g, x: g.reduce_max(input=x, axes=(1,)),
                   X.max(1, keepdims=True)),
    "reduce_min": ([X], lambda g, x: g.reduce_min(input=x, axes=(-1,)),
                   X.min(-1, keepdims=True)),
    "reduce_prod": ([X], lambda g, x: g.reduce_prod(input=x, axes=(1,)),
                    X.prod(1, keepdims=True)),
    "reduce_argmax": ([X], lambda g, x: g.reduce_argmax(input=x, axes=(2,)),
                      X.argmax(2)[:, :, None]),
    "reduce_argmin": ([X], lambda g, x: g.reduce_argmin(input=x, axes=(1,),
                                                        keepdims=False), X.argmin(1)),
    "topk": ([X], lambda g, x: g.topk(x, 2, 3)[0], -np.sort(-X, 2)[:, :, :3]),
    "concat": ([X, Y], lambda g, x, y: g.concat(1, [x, y]), np.concatenate([X, Y], 1)),
    "split": ([X], lambda g, x: g.concat(2, g.split(x, 2, [1, 3])[::-1]),
              np.concatenate([X[:, :, 1:], X[:, :, :1]], 2)),
    "split_equal": ([X], lambda g, x: g.sub(*g.split(x, 2, 2)), X[..., :2] - X[..., 2:]),
    "transpose": ([X], lambda g, x: g.transpose(x, (2, 0, 1), shuffle=True),
                  X.transpose(2, 0, 1)),
    "reshape": ([X], lambda g, x: g.reshape(x, (4, -1)), X.reshape(4, 6)),
    "flatten": ([X], lambda g, x: g.flatten(x), X.reshape(2, 12)),
    "squeeze": ([X[:1]], lambda g, x: g.squeeze(input=x, axes=(0,)), X[0]),
    "unsqueeze": ([X], lambda g, x: g.unsqueeze(x, (0, 2)), X[None, :, None]),
    "pad": ([X], lambda g, x: g.pad(x, (0, 1, 0, 0, 0, 2), 0.5),
            np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=0.5)),
    "slice": ([X], lambda g, x: g.slice(x, (0, 1), (2, 3), (0, 2), (1, 2)),
              X[0:2, :, 1:3:2]),
    "slice_all": ([X], lambda g, x: g.slice(x, (1, 0), (2, 2), None, None), X[1:2, 0:2]),
    "resize": ([I], lambda g, x: g.resize(x, scales=(1, 1, 2, 2)),
               I.repeat(2, 2).repeat(2, 3)),
    "resize_shape": ([I], lambda g, x: g.resize(x, shape=(1, 4, 14, 9)), I.repeat(2, 2)),
    "gather": ([X], lambda g, x: g.gather(
        x, g.new_weight(data=np.array([2, 0], np.int64)), 1), X[:, [2, 0]]),
    "shape": ([X], lambda g, x: g.shape(x), np.array([2, 3, 4])),
    "size": ([X], lambda g, x: g.size(input=x), np.array(24)),
}

# What TASO's class has; print_measurements and the like are tried elsewhere.
TASO_METHODS = """add batchnorm cast ceil concat conv2d cost div dropout equal exp
    get_input_dims get_num_outputs get_operator_attr get_operator_list get_operator_type
    get_output_dims get_weight_value greater identity leakyrelu less log logical_not
    matmul max maxpool2d avgpool2d min mul new_input new_weight optimize pad prelu
    print_measurements reduce_argmax reduce_argmin reduce_max reduce_mean reduce_min
    reduce_prod reduce_sum relu reshape resize round run_time shape sigmoid size slice
    split sqrt squeeze sub tanh topk transpose unsqueeze where fc""".split()


def method_case(name):
    def run():
        operands, call, want = METHODS[name]
        graph = noether.Graph()
        values = [graph.new_input(dims=x.shape, name=f"x{i}")
                  for i, x in enumerate(operands)]
        result = call(graph, *values)
        assert result.dims == np.shape(want), f"{result.dims}, want {np.shape(want)}"
        graph.new_output(result, "y")
        need(onnxruntime, "onnxruntime")
        got = execute(graph.serialize(),
                      {f"x{i}": x for i, x in enumerate(operands)})[0]
        close(got, want)

    return run


for method in METHODS:
    CASES.append((f"method_{method}", method_case(method)))


@case
def taso_methods_are_all_there():
    missing = [m for m in TASO_METHODS if not callable(getattr(noether.Graph, m, None))]
    assert not missing, missing


# ---- TASO's scripts, as they are ----

def compare(before, after, seed=1):
    """Both models, bytes, on the same random inputs."""
    need(onnx, "onnx")
    need(onnxruntime, "onnxruntime")
    onnx.checker.check_model(after, full_check=True)
    model = onnx.load_model_from_string(before)
    weights = {t.name for t in model.graph.initializer}
    feeds = {i.name: random([d.dim_value for d in i.type.tensor_type.shape.dim], seed + k)
             for k, i in enumerate(model.graph.input) if i.name not in weights}
    for got, want in zip(execute(after, feeds), execute(before, feeds)):
        close(got, want, 1e-4)


@case
def taso_script_that_builds():
    names = runpy.run_path(str(HERE / "taso_build.py"))
    compare(names["graph"].serialize(), names["new_graph"].serialize())


@case
def taso_script_that_loads():
    need(onnx, "onnx")
    resnet = importlib.import_module("resnet50")
    old = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            resnet.build(**resnet.SMALL).save("model.onnx")
            runpy.run_path(str(HERE / "taso_onnx.py"))
            compare(pathlib.Path("model.onnx").read_bytes(),
                    pathlib.Path("new.onnx").read_bytes())
        finally:
            os.chdir(old)


# ---- the examples ----

def example_case(name):
    def run():
        module = importlib.import_module(name)
        graph = module.build(**module.SMALL)
        batch = module.build(**module.SMALL, batch=3)
        assert [i.dims for i in batch.inputs] == [(3, *i.dims[1:]) for i in graph.inputs]
        better = noether.optimize(graph, budget=5, device="roofline")
        assert better.report.facts["check"]["inputs"] == 3
        compare(graph.serialize(), better.serialize())

    return run


for example in ("resnet50", "resnext50", "inceptionv3", "nasnet_a", "nasrnn", "bert",
                "enas", "squeezenet"):
    CASES.append((f"example_{example}", example_case(example)))


# ---- the rest ----

def idle():
    """exp(x), and the maximum of it and itself."""
    graph = noether.Graph()
    x = graph.new_input(dims=(16, 64, 64), name="x")
    y = graph.tanh(graph.mul(x, graph.new_weight(dims=(64, 64), name="w")))
    graph.new_output(graph.max(y, y), "y")
    return graph


@case
def optimizing_says_what_it_did():
    better = noether.optimize(idle(), device="roofline")
    assert better.report.improved and better.report.rules, better.report
    assert [n.op_type for n in better.nodes] == ["Mul", "Tanh"], better.nodes
    assert better.cost(device="roofline") < idle().cost(device="roofline")
    assert [k["operators"] for k in better.measurements(device="roofline")]


@case
def measuring_a_whole():
    assert 0 < idle().run_time() < 1e4
    raises("argument", "measures nothing", idle().run_time, device="roofline")


@case
def weights_come_back():
    graph = noether.Graph()
    arrays = {"f": X, "i": np.arange(6, dtype=np.int64).reshape(2, 3),
              "empty": np.zeros((0, 3), np.float32), "scalar": np.float32(3),
              "double": np.ones(3)}
    for name, array in arrays.items():
        graph.new_weight(data=array, name=name)
    graph.relu(graph.new_input(dims=(2,)))
    for source in (graph, noether.load(graph.serialize())):
        for name, array in arrays.items():
            got = source.weight(name)
            assert got.shape == np.shape(array) and (got == array).all(), name
    assert graph.weight("double").dtype == np.float32
    assert graph.new_weight((2, 2), data=[1, 2, 3, 4]).dims == (2, 2)


@case
def random_weights_repeat():
    def one():
        g = noether.Graph()
        g.relu(g.add(g.new_input(dims=(3,)), g.new_weight(dims=(3,))))
        return g.serialize()

    assert one() == one()


@case
def a_graph_can_be_looked_at():
    graph = idle()
    assert graph.inputs == [noether.ValueInfo("x", "float32", (16, 64, 64))]
    assert [o.name for o in graph.outputs] == ["y"]
    mul = graph.get_operator_list()[0]
    assert graph.get_operator_type(mul) == "Mul"
    assert graph.get_input_dims(mul, 1) == [64, 64]
    assert graph.get_output_dims(mul, 0) == [16, 64, 64]
    assert graph.get_num_outputs(mul) == 1
    assert graph.get_weight_value(mul).shape == (64, 64)
    conv = importlib.import_module("resnet50").build(**importlib.import_module(
        "resnet50").SMALL).nodes[0]
    assert conv.attributes["strides"] == [2, 2], conv


@case
def files():
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "a.onnx"), pathlib.Path(folder, "b.onnx")
        noether.export(idle(), source)
        report = noether.optimize_file(source, target, device="roofline")
        assert report.improved and target.stat().st_size > 0
        assert len(noether.load(target).nodes) == 2
        assert noether.load(source.read_bytes()).serialize() == source.read_bytes()
        html = pathlib.Path(folder, "x.json")
        noether.optimize(noether.load(source), device="roofline", json=html)
        assert html.exists()


@case
def errors_name_the_place():
    g = noether.Graph()
    x = g.new_input(dims=(1, 4, 8, 8))
    raises("shape", "4 channels", g.conv2d, x, g.new_weight(dims=(2, 3, 3, 3)))
    raises("shape", "MatMul: ", g.matmul, x, g.new_weight(dims=(3, 3)))
    raises("argument", "another graph", g.add, x, noether.Graph().new_input(dims=(1,)))
    raises("argument", "activation 'ELU'", g.matmul, x, x, "ELU")
    raises("argument", "padding 'FULL'", g.maxpool2d, x, (2, 2), (1, 1), "FULL")
    raises("shape", "split: 8 in 3", g.split, x, 2, 3)
    raises("shape", "split", g.split, x, 2, [3, 4])
    raises("shape", "data has (2,)", g.new_weight, (3,), np.ones(2))
    raises("argument", "no option 'no-such'", noether.optimize, idle(), no_such=1)
    raises("argument", "budget: 'x'", noether.optimize, idle(), budget="x")
    raises("io", "/no/rules.db", noether.optimize, idle(), rules="/no/rules.db")
    raises("io", "/no/model", noether.load, "/no/model")
    raises("parse", "model: ", noether.load, b"junk")
    loaded = noether.load(idle().serialize())
    raises("argument", "loaded model", loaded.new_input, (1,))


@case
def warnings_are_seen():
    """A rule set with nothing in it: --only-rule names one, --skip-rule the same."""
    rule = noether.optimize(idle(), device="roofline").report.rules[0]["id"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        noether.optimize(idle(), device="roofline", only_rule=rule, skip_rule=rule)
    assert any("no usable rule" in str(w.message) for w in seen), seen


@case
def options_are_listed():
    names = noether.option_names()
    assert {"budget", "rules", "time_limit"} <= set(names) and "output" not in names


@case
def progress_can_stop_and_raise():
    """A search of seconds: the first call ends it."""
    nasnet = importlib.import_module("nasnet_a")
    graph = nasnet.build(**nasnet.SMALL)
    calls = []

    def stop(text):
        calls.append(text)
        return True

    result = noether.optimize(graph, progress=stop, budget=100000, time_limit=60)
    if not calls:
        raise Skip("done before there was any progress to report")
    assert result.report.interrupted

    def fall(text):
        raise KeyError(text)

    try:
        noether.optimize(graph, progress=fall, budget=100000, time_limit=60)
    except KeyError:
        return
    raise AssertionError("the exception got lost")


def main():
    sys.path.insert(0, sys.argv[1])
    failed = 0
    for name, function in CASES:
        try:
            function()
            print(f"PASS python.{name}")
        except Skip as why:
            print(f"SKIP python.{name}: skipped: {why}")
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"FAIL python.{name}", flush=True)
            failed += 1
    sys.exit(failed > 0)


main()
