#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pattern models (make.py) through noether-optimize, timed in ONNX Runtime.

    run.py --build FOLDER --rules RULES.db [--costs COSTS.db] [--only NAME ...]

Each model is optimized under costs of ONNX Runtime, and original, result and the
hand-written form are timed against each other (all optimizations of ONNX Runtime on, one
thread, interleaved). Writes the table bench/results/patterns.md.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from make import KEEP, PATTERNS  # noqa: E402

LOSES = 0.98
SHARE = 0.9  # of the logarithm of what is to be gained


def optimize(args, folder, name):
    out = os.path.join(folder, name + ".noe.onnx")
    run = subprocess.run(
        [os.path.join(args.build, "bin", "noether-optimize"), "--device", "ort",
         "--rules", args.rules, "--costs", args.costs, *args.option,
         os.path.join(folder, name + ".onnx"), "-o", out],
        capture_output=True, text=True, check=False)
    rules = re.findall(r"^ +(\d+)x +([0-9a-f]{10}<?)", run.stdout, re.M)
    words = ", ".join(f"{n}x {rule}" for n, rule in rules)
    if run.returncode:
        words = "FAILED: " + (run.stderr.strip().splitlines() or ["?"])[-1]
    search = re.search(r"^search: ([0-9.]+) s", run.stdout, re.M)
    return out if run.returncode == 0 else None, words, search and search.group(1)


def time_pair(args, a, b):
    run = subprocess.run([os.path.join(args.build, "bin", "noe_bench_pair"),
                          str(args.threads), str(args.rounds), a, b],
                         capture_output=True, text=True, check=True)
    f = run.stdout.rstrip().split("\t")
    return {"before": float(f[2]), "after": float(f[3]), "ratio": float(f[4]),
            "lo": float(f[5]), "hi": float(f[6]), "difference": float(f[8])}


def judge(name, hand, ours):
    """One word for the table."""
    if ours is None:
        return "FAILED"
    if ours["difference"] > 1e-3:
        return "DIFFERS"
    if ours["hi"] < LOSES:
        return "SLOWER"
    if name in KEEP:
        return "kept" if ours["ratio"] < 1.02 else "better"
    if hand["ratio"] < 1.02:
        return "no gain here"
    if math.log(ours["ratio"]) >= SHARE * math.log(hand["ratio"]):
        return "found"
    return "part" if ours["lo"] > 1.02 else "missed"


def same_bytes(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout.strip()


def write(args, table, rows):
    counts = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    cpu = re.search(r"^model name\s*: (.*)", open("/proc/cpuinfo").read(), re.M)
    rules = output_of("sqlite3", args.rules, "SELECT count(*) FROM rule")
    ort = output_of(sys.executable, "-c",
                    "import onnxruntime; print(onnxruntime.__version__)")
    path = os.path.join(HERE, "..", "results", "patterns.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""# Patterns: what is known to be gained, and what we gain

Machine: {cpu.group(1) if cpu else "?"}, {os.cpu_count()} cores; ONNX Runtime {ort}, all of
its optimizations on, {args.threads} thread(s), rounds A B B A; load average
{os.getloadavg()[0]:.1f}; commit {output_of("git", "rev-parse", "--short", "HEAD")}; {rules} rules
in the database. Written by bench/patterns/run.py from the models of make.py.

*reported* is the figure known from elsewhere, *by hand* what the form that a person would
write gains here, *ours* the result of `noether-optimize --device ort`, both as time before
over time after. *found*: at least {SHARE:.0%} of the logarithm of *by hand*; *part*: some of
it; *kept*: left alone, and should be. {", ".join(f"{n} {k}" for k, n in sorted(counts.items()))}.

""")
        f.write("\n".join(table) + "\n")
        with open(os.path.join(HERE, "missing.md"), encoding="utf-8") as missing:
            f.write(missing.read())
    print(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rules", default="build/rules.db")
    parser.add_argument("--costs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.costs = args.costs or os.path.join(folder, "costs.db")
        subprocess.run([sys.executable, os.path.join(HERE, "make.py"), folder],
                       check=True)
        table = ["| pattern | reported | by hand | ours | of its logarithm | verdict | "
                 "before | search | rules applied |",
                 "|---|---|---|---|---|---|---|---|---|"]
        rows = {}
        for name, (known, _, _) in PATTERNS.items():
            if args.only and name not in args.only:
                continue
            path = os.path.join(folder, name)
            hand = time_pair(args, path + ".onnx", path + ".hand.onnx")
            out, words, seconds = optimize(args, folder, name)
            ours = time_pair(args, path + ".onnx", out) if out else None
            if out and same_bytes(path + ".onnx", out):  # what differs is noise
                ours = dict(ours, ratio=1.0, lo=1.0, hi=1.0)
            word = judge(name, hand, ours)
            share = ("-" if not ours or name in KEEP or hand["ratio"] <= 1 else
                     f"{math.log(ours['ratio']) / math.log(hand['ratio']) * 100:.0f} %")
            table.append(
                f"| {name} | {known} | {hand['ratio']:.2f} | "
                f"{ours['ratio'] if ours else 0:.2f} | {share} | {word} | "
                f"{hand['before'] * 1e6:.0f} us | {seconds} s | {words or '-'} |")
            print(table[-1], flush=True)
            rows[name] = {"known": known, "hand": hand, "ours": ours, "verdict": word,
                          "rules": words}
        if not args.only:
            write(args, table, rows)
        if args.json:
            with open(args.json, "w", encoding="utf-8") as f:
                json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
