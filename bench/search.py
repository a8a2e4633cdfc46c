#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the search is, and how it grows with the network.

    search.py --build FOLDER --rules RULES.db [--model FILE ...]

Networks of equal transformer layers, from a thousand to twenty thousand nodes, and the
given models, under roofline costs (nothing is measured, so all time is the search's).
Writes bench/results/search.md.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "patterns"))
from make import Net  # noqa: E402

WIDTH, TOKENS = 32, 16
NODES = (1000, 2000, 5000, 10000, 20000)


def layer(n, x):
    """Attention of one head, with scale and mask, and a feed-forward network: 26 nodes."""
    def linear(v, a, b):
        return n.linear(v, n.random(a, b), n.random(b))
    def norm(v):
        mean = n.op("ReduceMean", v, axes=[-1])
        centred = n.op("Sub", v, mean)
        variance = n.op("ReduceMean", n.op("Mul", centred, centred), axes=[-1])
        root = n.op("Sqrt", n.add(variance, n.random(1)))
        return n.add(n.op("Mul", n.op("Div", centred, root), n.random(WIDTH)),
                     n.random(WIDTH))
    q, k, v = (linear(x, WIDTH, WIDTH) for _ in range(3))
    s = n.matmul(q, n.op("Transpose", k, perm=[1, 0]))
    s = n.op("Softmax", n.op("Mul", s, n.random(1)), axis=-1)
    x = norm(n.add(x, linear(n.matmul(s, v), WIDTH, WIDTH)))
    h = n.relu(linear(x, WIDTH, 4 * WIDTH))
    return norm(n.add(x, linear(h, 4 * WIDTH, WIDTH)))


def make(path, nodes):
    n = Net()
    x = n.input("x", TOKENS, WIDTH)
    while len(n.nodes) < nodes:
        x = layer(n, x)
    n.save(path, x)
    return len(n.nodes)


def run(args, path, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        out = subprocess.run(
            [os.path.join(args.build, "bin", "noether-optimize"), "--device", "roofline",
             "--rules", args.rules, "--check", "0", "--dry-run", "--json", report.name,
             *options, path], capture_output=True, text=True, check=True)
        facts = json.load(open(report.name, encoding="utf-8"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = re.search(r"memory (\d+) MiB", out.stdout).group(1)
    return facts, cpu, memory


def row(args, name, path, options=()):
    facts, cpu, memory = run(args, path, options)
    s = facts["search"]
    nodes = sum(n for op, n in facts["before"]["operators"].items() if op != "Constant")
    gain = facts["before"]["predicted_seconds"] / facts["after"]["predicted_seconds"]
    line = (f"| {name} | {nodes} | {s['expanded']} | {s['rewrites']} | {cpu:.2f} s | "
            f"{s['rewrites'] / cpu:.0f} | {memory} MiB | {gain:.3f} |")
    print(line, flush=True)
    return line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rules", default="build/rules.db")
    parser.add_argument("--model", action="append", default=[])
    args = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for nodes in NODES:
            path = os.path.join(folder, f"layers_{nodes}.onnx")
            made = make(path, nodes)
            lines.append(row(args, f"equal layers ({made} nodes)", path))
        for model in args.model:
            path, *shapes = model.split(" ")
            options = [x for s in shapes for x in ("--input-shape", s)]
            lines.append(row(args, os.path.basename(path), path, options))
    cpu = re.search(r"^model name\s*: (.*)", open("/proc/cpuinfo").read(), re.M)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                            text=True, check=True).stdout.strip()
    rules = subprocess.run(["sqlite3", args.rules, "SELECT count(*) FROM rule"],
                           capture_output=True, text=True, check=True).stdout.strip()
    path = os.path.join(HERE, "results", "search.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""# The speed of the search

Machine: {cpu.group(1) if cpu else "?"}, {os.cpu_count()} cores, one thread; load average
{os.getloadavg()[0]:.1f}; commit {commit}; {rules} rules in the database. Written by
bench/search.py: whole runs of `noether-optimize --device roofline --check 0 --dry-run`,
CPU time of the process, reading and writing included. A rewrite is a graph made by a rule
and priced; *gain* is by roofline costs.

| model | nodes | graphs expanded | rewrites | CPU | rewrites a second | memory | gain |
|---|---|---|---|---|---|---|---|
""")
        f.write("\n".join(lines) + "\n")
    print(path)


if __name__ == "__main__":
    main()
