#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same two models in other runtimes on the GPU: gpu_compare.py BEFORE AFTER DTYPE

Comment lines for bench/gpu.sh's table: medians of 50 runs, host and device synchronised.
ONNX Runtime's CUDA provider runs the files as they are (f32, which it computes in tf32
where the device has it). PyTorch needs the package onnx2torch to read them; eager and
torch.compile, in DTYPE. What is not installed is named.
"""
import statistics
import sys
import time

RUNS, WARM_UP = 50, 10


def median_us(run):
    for _ in range(WARM_UP):
        run()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def inputs_of(path):
    import numpy as np
    import onnx
    model = onnx.load(path)
    weights = {w.name for w in model.graph.initializer}
    rng, inputs = np.random.default_rng(1), {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        if value.name in weights:
            continue
        shape = [d.dim_value or 1 for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[value.name] = rng.standard_normal(shape).astype(dtype)
    return model, inputs


def onnxruntime_us(path):
    import onnxruntime as ort
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        raise ImportError("onnxruntime has no CUDA provider")
    session = ort.InferenceSession(path, providers=["CUDAExecutionProvider"])
    _, inputs = inputs_of(path)
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(
            name, ort.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")

    def run():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
    return median_us(run)


def torch_us(path, dtype, compiled):
    import torch
    import onnx2torch
    model, inputs = inputs_of(path)
    types = {"f16": torch.float16, "bf16": torch.bfloat16}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = \
        dtype == "tf32"
    net = onnx2torch.convert(model).cuda().eval().to(types.get(dtype, torch.float32))
    args = [torch.from_numpy(v).cuda() for v in inputs.values()]
    args = [a.to(types[dtype]) if dtype in types and a.is_floating_point() else a
            for a in args]
    if compiled:
        net = torch.compile(net, mode="max-autotune")

    @torch.inference_mode()
    def run():
        net(*args)
        torch.cuda.synchronize()
    return median_us(run)


def main():
    before, after, dtype = sys.argv[1:]
    for what, measure in (
            ("onnxruntime cuda", onnxruntime_us),
            ("torch eager", lambda path: torch_us(path, dtype, False)),
            ("torch.compile", lambda path: torch_us(path, dtype, True))):
        times = []
        for path in (before, after):
            try:
                times.append("%.1f us" % measure(path))
            except Exception as error:  # one runtime less is no reason to stop
                times.append("%s: %s" % (type(error).__name__, str(error).split("\n")[0]))
        print("#   %s: before %s, after %s" % (what, *times))


main()
