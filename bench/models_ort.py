#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models before and after, in ONNX Runtime.

    models_ort.py --build FOLDER --rules RULES.db [--costs COSTS.db] "FILE [NAME:DIMS ...]" ...

Costs come from ONNX Runtime (noether-optimize --device ort), and the written file is
timed against the original by noe_bench_pair (where shapes are given, in the same run): all of ONNX Runtime's optimizations on both
sides, interleaved. Writes bench/results/models_ort.md.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "patterns"))
from run import output_of, same_bytes, time_pair  # noqa: E402


def optimize(args, path, shapes, out, report):
    command = [os.path.join(args.build, "bin", "noether-optimize"), "--device", "ort",
               "--rules", args.rules, "--constant-initializers", "--json", report,
               path, "-o", out]
    for shape in shapes:
        command += ["--input-shape", shape]
    if args.costs:
        command += ["--costs", args.costs]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return json.load(open(report, encoding="utf-8"))


def from_report(measured):
    return {"before": measured["before_seconds"], "after": measured["after_seconds"],
            "ratio": measured["ratio"], "lo": measured["ratio_low"],
            "hi": measured["ratio_high"]}


def row(args, text, folder):
    path, *shapes = text.split(" ")
    name = os.path.basename(path)
    out, report = os.path.join(folder, name), os.path.join(folder, name + ".json")
    facts = optimize(args, path, shapes, out, report)
    nodes = [sum(n for op, n in facts[side]["operators"].items() if op != "Constant")
             for side in ("before", "after")]
    if same_bytes(path, out):
        times = "| - | - | 1.00 (unchanged) |"
    else:
        # With sizes left open only noether-optimize knows what to run it on.
        m = from_report(facts["measured"]) if shapes else time_pair(args, path, out)
        times = (f"| {m['before'] * 1e3:.3f} ms | {m['after'] * 1e3:.3f} ms | "
                 f"{m['ratio']:.3f} ({m['lo']:.3f} to {m['hi']:.3f}) |")
    n_rules = sum(r["times"] for r in facts["rules"]) if nodes[0] != nodes[1] else 0
    return (f"| {name} | {nodes[0]} | {nodes[1]} {times} {n_rules} | "
            f"{facts['search']['seconds']:.0f} s | {facts['decision']} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--build", default="build")
    parser.add_argument("--rules", default="build/rules.db")
    parser.add_argument("--costs")
    parser.add_argument("--remark", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for text in args.models:
            try:
                lines.append(row(args, text, folder))
            except (subprocess.CalledProcessError, OSError) as fault:
                why = getattr(fault, "stderr", None) or str(fault)
                lines.append(f"| {os.path.basename(text.split(' ')[0])} | FAILED: "
                             f"{why.strip().splitlines()[-1]} |")
            print(lines[-1], flush=True)
    cpu = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
           if line.startswith("model name")]
    rules = output_of("sqlite3", args.rules, "SELECT count(*) FROM rule")
    ort = output_of(sys.executable, "-c",
                    "import onnxruntime; print(onnxruntime.__version__)")
    path = os.path.join(HERE, "results", "models_ort.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""# Real models in ONNX Runtime, before and after

Machine: {cpu[0] if cpu else "?"}, {os.cpu_count()} cores; ONNX Runtime {ort}, all of its
optimizations on, {args.threads} thread, rounds A B B A; load average {os.getloadavg()[0]:.1f}; commit
{output_of("git", "rev-parse", "--short", "HEAD")}; {rules} rules in the database. Written by bench/models_ort.py.
Initializers that are graph inputs too are taken for constants, which ONNX Runtime may not
do with the original. {args.remark}

| model | operators | after | before | after | speed-up (95 % interval) | rules applied | search, with measuring | outcome |
|---|---|---|---|---|---|---|---|---|
""")
        f.write("\n".join(lines) + "\n")
    print(path)


if __name__ == "__main__":
    main()
