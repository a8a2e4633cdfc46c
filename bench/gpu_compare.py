#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model in another runtime: gpu_compare.py RUNTIME MODEL.onnx DTYPE [DEVICE]

RUNTIME: "eager" or "compile" (PyTorch), "ort" (ONNX Runtime's CUDA provider; it runs
the file as it is: f32, in tf32 where DTYPE says so), or "noether" (ours). DEVICE: cuda, or
cpu to try the script. Prints microseconds a run, or "-" and the reason why there are none.

PyTorch's times are device events around runs in a row, as noether-optimize's are; those
of ONNX Runtime the host's clock around runs that are waited for.
"""
import statistics
import sys
import time

BATCHES, SECONDS, WARM_UP = 9, 0.05, 10


class NotHere(Exception):
    pass


def host_clock(run, n):
    start = time.perf_counter()
    for _ in range(n):
        run()
    return time.perf_counter() - start


def median_us(run, clock=host_clock):
    """Of batches of about SECONDS."""
    for _ in range(WARM_UP):
        run()
    n = max(1, int(SECONDS / max(clock(run, 3) / 3, 1e-6)))
    return 1e6 * statistics.median(clock(run, n) / n for _ in range(BATCHES))


def random_inputs(graph):
    import numpy as np
    rng = np.random.default_rng(1)
    inputs = {}
    for value in graph.inputs:
        if value.dims is None or None in value.dims:
            raise NotHere(f"the shape of {value.name} is open")
        inputs[value.name] = rng.standard_normal(value.dims).astype(value.dtype)
    return inputs


def torch_us(graph, dtype, device, compiled):
    try:
        import torch
    except ImportError:
        raise NotHere("no PyTorch") from None
    from torch_network import network
    if device == "cuda" and not torch.cuda.is_available():
        raise NotHere("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.benchmark = True  # the best of its engines too
    to = {"f16": torch.float16, "bf16": torch.bfloat16}.get(dtype, torch.float32)
    try:
        net = network(graph).to(device).to(to)
    except KeyError as lacking:
        raise NotHere(f"operator {lacking} is not in torch_network.py") from None
    args = [torch.from_numpy(v).to(device) for v in random_inputs(graph).values()]
    args = [a.to(to) if a.is_floating_point() else a for a in args]
    if compiled:
        net = torch.compile(net, mode="reduce-overhead")  # CUDA graphs

    def event_clock(run, n):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(n):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3

    with torch.inference_mode():
        return median_us(lambda: net(*args),
                         event_clock if device == "cuda" else host_clock)


def ort_us(graph, path, dtype, device):
    if dtype not in ("f32", "tf32"):
        raise NotHere("the file is f32")
    try:
        import onnxruntime as ort
    except ImportError:
        raise NotHere("no ONNX Runtime") from None
    provider = {"cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}[device]
    if provider not in ort.get_available_providers():
        raise NotHere("ONNX Runtime has no CUDA provider")
    options = {"use_tf32": int(dtype == "tf32")} if device == "cuda" else {}
    session = ort.InferenceSession(path, providers=[(provider, options)])
    if session.get_providers()[0] != provider:
        raise NotHere("ONNX Runtime's CUDA provider does not start")
    binding = session.io_binding()
    for name, value in random_inputs(graph).items():
        binding.bind_ortvalue_input(name,
                                    ort.OrtValue.ortvalue_from_numpy(value, device, 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, device)

    def run():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
    return median_us(run)


def main():
    runtime, path, dtype, device = (sys.argv[1:] + ["cuda"])[:4]
    import noether
    graph = noether.load(path)
    try:
        us = (ort_us(graph, path, dtype, device) if runtime == "ort" else
              1e3 * graph.run_time(device=device, dtype=dtype) if runtime == "noether" else
              torch_us(graph, dtype, device, runtime == "compile"))
        print(f"{us:.1f}")
    except NotHere as why:
        print(f"- {why}")
    except Exception as error:  # one cell less is no reason to stop
        print(f"- {type(error).__name__}: {str(error).splitlines()[0][:80]}")


if __name__ == "__main__":
    main()
