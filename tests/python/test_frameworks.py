# SPDX-License-Identifier: Apache-2.0
"""Models as frameworks export them: PyTorch by both exporters of torch.onnx, TensorFlow by
tf2onnx. Each is loaded, optimized, and compared with what the framework computes.

Prints "PASS name", "FAIL name" or "SKIP name: why" a case; exit status 1 if one failed.
    test_frameworks.py BENCH-FOLDER EXAMPLES-FOLDER
"""

import importlib
import os
import sys
import tempfile
import traceback

import numpy as np

import noether


class Skip(Exception):
    pass


def need(name):
    try:
        return importlib.import_module(name)
    except Exception as why:  # a library that does not load is as absent
        raise Skip(f"no {name} ({type(why).__name__})") from None


def check(path, feeds, want, gone=()):
    """The optimized model computes want in ONNX Runtime; operators `gone` are. From file to
    file: exporters may put weights beside the model."""
    ort = need("onnxruntime")
    better = os.path.join(os.path.dirname(path), "better.onnx")
    report = noether.optimize_file(path, better, device="roofline", budget=50)
    assert report.facts["check"]["inputs"] == 3
    names = [n.op_type for n in noether.load(better).nodes]
    assert not set(gone) & set(names), names
    session = ort.InferenceSession(better, providers=["CPUExecutionProvider"])
    inputs = dict(zip((i.name for i in session.get_inputs()), feeds))
    for got, expected in zip(session.run(None, inputs), want):
        assert got.shape == expected.shape, (got.shape, expected.shape)
        error = np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-30)
        assert error < 1e-4, f"difference {error}"


def torch_nets(torch):
    nn = torch.nn
    torch.manual_seed(1)
    image = torch.randn(1, 3, 16, 16)
    convolutions = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(8, 5), nn.Softmax(1))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            self.norm, self.mlp = nn.LayerNorm(16), nn.Sequential(
                nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

        def forward(self, x):
            parts = (t.unflatten(-1, (2, 8)).transpose(1, 2)
                     for t in self.qkv(x).chunk(3, -1))
            y = nn.functional.scaled_dot_product_attention(*parts)
            x = self.norm(x + self.out(y.transpose(1, 2).flatten(2)))
            return x + self.mlp(x)

    return {"convolutions": (convolutions, image),
            "transformer": (Encoder(), torch.randn(2, 7, 16))}


def torch_case(name, by_dynamo):
    def run():
        torch = need("torch")
        need("onnx")
        if by_dynamo:
            need("onnxscript")
        net, x = torch_nets(torch)[name]
        net.eval()
        with torch.no_grad():
            want = net(x)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/net.onnx"
            torch.onnx.export(net, (x,), path, dynamo=by_dynamo)
            check(path, [x.numpy()], [want.numpy()],
                  gone=["BatchNormalization"] if name == "convolutions" else [])
    return run


def example_case(name):
    """bench/torch_network.py, which the tables of bench/gpu.sh rest on."""
    def run():
        torch, ort = need("torch"), need("onnxruntime")
        module = importlib.import_module(name)
        graph = module.build(**module.SMALL, batch=2)
        rng = np.random.default_rng(1)
        feeds = {i.name: rng.standard_normal(i.dims).astype(np.float32)
                 for i in graph.inputs}
        net = importlib.import_module("torch_network").network(graph)
        with torch.inference_mode():
            got = net(*(torch.from_numpy(v) for v in feeds.values()))
        session = ort.InferenceSession(graph.serialize(),
                                       providers=["CPUExecutionProvider"])
        for a, b in zip(got, session.run(None, feeds)):
            assert np.abs(a.numpy() - b).max() <= 1e-5 * np.abs(b).max()
    return run


def tensorflow_case():
    tf, tf2onnx = need("tensorflow"), need("tf2onnx")
    rng = np.random.default_rng(1)
    kernel = rng.standard_normal((3, 3, 3, 8)).astype(np.float32)
    dense = rng.standard_normal((8, 5)).astype(np.float32)

    @tf.function(input_signature=[tf.TensorSpec((1, 16, 16, 3), tf.float32)])
    def net(x):
        y = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))  # channels last
        return tf.nn.softmax(tf.reduce_mean(y, [1, 2]) @ dense)

    x = rng.standard_normal((1, 16, 16, 3)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/net.onnx"
        tf2onnx.convert.from_function(net, input_signature=net.input_signature,
                                      output_path=path)
        check(path, [x], [net(x).numpy()])


def main():
    sys.path[:0] = sys.argv[1:3]
    cases = {f"torch_{n}_{'dynamo' if d else 'script'}": torch_case(n, d)
             for n in ("convolutions", "transformer") for d in (False, True)}
    cases.update({f"torch_network_{n}": example_case(n) for n in
                  ("bert", "nasrnn", "resnext50", "nasnet_a", "inceptionv3", "squeezenet")})
    cases["tensorflow"] = tensorflow_case
    failed = 0
    for name, run in cases.items():
        try:
            run()
            print(f"PASS frameworks.{name}")
        except Skip as why:
            print(f"SKIP frameworks.{name}: skipped: {why}")
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"FAIL frameworks.{name}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
