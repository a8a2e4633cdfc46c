#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows of bench/gpu.sh: models before and after, and in other runtimes.

    gpu_table.py --bin FOLDER --rules RULES.db --title TEXT --out FILE.md [options]

Networks of python/examples (they are made here, by libnoether.so), the models of
bench/models.sh, and the patterns of bench/patterns, most telling first. Each row is written
to FILE.tsv as it is done; a later run goes on where this one stopped. A cell without a
number has a dash and the reason.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# TASO's, then the others of its headline results.
NETWORKS = ("bert", "nasrnn", "resnext50", "nasnet_a", "resnet50", "inceptionv3",
            "squeezenet")
# Those of bench/models.sh, without those whose weights are left out (they are networks
# above); "B" is where a batch can be given, else it is 1 in the file.
MODELS = {"ultraface_rfb320": None, "blazeface_back_256": None, "mlsd_tiny_320": None,
          "gtcrn": None, "ppocrv4_rec": "x:B,3,48,320"}
BATCHES = (1, 8, 64)
RUNTIMES = ("eager", "compile", "ort")
COLUMNS = ("model", "batch", "type", "before", "after", "ratio", "low", "high",
           "decision", "eager", "compile", "ort", "ort_after")
LEAST_SECONDS = 25  # a row is not begun with less left
CELL_SECONDS = 120  # for one number of another runtime, compiling included


def plan(args):
    """(model, batch, dtype) of all rows."""
    rows = []
    for batch in BATCHES:
        for dtype in args.dtypes:
            rows += [(name, batch, dtype) for name in NETWORKS]
        if batch == 1:
            rows += [(name, 1, dtype) for dtype in args.dtypes for name in MODELS]
            rows += [(name, 1, args.dtypes[0]) for name in args.patterns]
    rows += [(name, batch, args.dtypes[0]) for name in MODELS for batch in BATCHES[1:]]
    return rows


def last_line(run):
    return ((run.stderr or run.stdout).strip().splitlines() or ["?"])[-1]


class OutOfTime(Exception):
    pass


class Row:
    """What a row is made from; its folder is gone afterwards."""

    def __init__(self, args, name, batch, dtype, folder):
        self.args, self.name, self.batch, self.dtype = args, name, batch, dtype
        self.folder = folder
        self.options = []
        self.after = os.path.join(folder, "after.onnx")

    def left(self):
        return max(1.0, self.args.until - time.monotonic())

    def call(self, command, limit=math.inf):
        """Of seconds; OutOfTime if those of all rows are over before."""
        left = self.left()
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=min(left, limit))
        except subprocess.TimeoutExpired:
            if limit < left:
                raise ValueError(f"over {limit:.0f} s") from None
            raise OutOfTime from None

    def find(self):
        """The model's file, made if it is one of ours; the reason where there is none."""
        name = self.name
        if name in NETWORKS:
            path = os.path.join(self.folder, name + ".onnx")
            script = os.path.join(ROOT, "python", "examples", name + ".py")
            run = self.call([sys.executable, script, "--batch", str(self.batch),
                             "--only-save", path] + ["--small"] * self.args.small)
            if run.returncode:
                raise ValueError("not made: " + last_line(run))
            return path
        if name in self.args.patterns:
            return self.args.patterns[name]
        path = os.path.join(self.args.models, name + ".onnx")
        if not os.path.exists(path):
            raise ValueError(f"no {path}")
        if MODELS[name]:
            self.options = ["--input-shape", MODELS[name].replace("B", str(self.batch))]
        elif self.batch != 1:
            raise ValueError("the batch is 1 in the file")
        return path

    def optimize(self, path):
        args, report = self.args, os.path.join(self.folder, "report.json")
        run = self.call(
            [os.path.join(args.bin, "noether-optimize"), path, "-o", self.after, "--rules",
             args.rules, "--device", args.device, "--dtype", self.dtype, "--costs",
             args.costs, "--time-limit", str(args.row_seconds), "--check", "1", "--json",
             report, "--constant-initializers"] + self.options)
        if run.returncode:
            raise ValueError(last_line(run))
        with open(report, encoding="utf-8") as file:
            return json.load(file)

    def compare(self, runtime, path):
        script = os.path.join(HERE, "gpu_compare.py")
        device = ["cuda" if self.args.device == "cuda" else "cpu"]
        try:
            run = self.call([sys.executable, script, runtime, path, self.dtype] + device,
                            CELL_SECONDS)
        except ValueError as why:
            return f"- {why}"
        cell = run.stdout.strip()
        return cell if cell and not run.returncode else "- " + last_line(run)


def fill(row):
    cells = {"model": row.name, "batch": row.batch, "type": row.dtype}
    try:
        path = row.find()
        report = row.optimize(path)
    except ValueError as why:
        cells["decision"] = f"- {why}"
        return cells
    cells["decision"] = report["decision"]
    m = report["measured"]
    if m and report["decision"] == "better":
        cells.update(before=f"{1e6 * m['before_seconds']:.1f}",
                     after=f"{1e6 * m['after_seconds']:.1f}", ratio=f"{m['ratio']:.3f}",
                     low=f"{m['ratio_low']:.3f}", high=f"{m['ratio_high']:.3f}")
    elif report["decision"] != "better":  # what is written is the input
        before = (f"{1e6 * m['before_seconds']:.1f}" if m else
                  "-" if row.options else row.compare("noether", path))
        cells.update(before=before, after=before, ratio="1.000")
    if row.args.compare and not row.options:
        cells.update({r: row.compare(r, path) for r in RUNTIMES})
        cells["ort_after"] = row.compare("ort", row.after)
    return cells


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def mean(ratios):
    ratios = [r for r in ratios if r]
    if not ratios:
        return "-"
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} ({len(ratios)} models)"


def against(rows, column):
    """Our times over another runtime's: how many times as fast the result is."""
    return mean(number(r[column]) / number(r["after"]) for r in rows
                if number(r[column]) and number(r["after"]))


def summary(rows):
    for batch in BATCHES:
        for dtype in sorted({r["type"] for r in rows}):
            some = [r for r in rows if r["model"] in NETWORKS and r["type"] == dtype
                    and r["batch"] == str(batch)]
            if some:
                yield (f"| {batch} | {dtype} | {mean(number(r['ratio']) for r in some)} | "
                       f"{against(some, 'eager')} | {against(some, 'compile')} | "
                       f"{against(some, 'ort')} |")


def write_table(args, rows):
    lines = [f"# {args.title}", "",
             "Microseconds a run; before and after by noether-optimize on the device;",
             "other runtimes run the original (ORT: and the result, behind it). Written by",
             "bench/gpu.sh; a dash has its reason.", "",
             "Geometric means over the networks of python/examples: before over after, and",
             "the other runtimes' times over ours after.", "",
             "| batch | type | speed-up | PyTorch eager | torch.compile | ORT |",
             "|---|---|---|---|---|---|", *summary(rows), "",
             "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(r[c].replace("|", "/") for c in COLUMNS) + " |"
              for r in rows]
    with open(args.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [dict(zip(COLUMNS, line)) for line in lines if len(line) == len(COLUMNS)]


def make_patterns(args, folder):
    run = subprocess.run([sys.executable, os.path.join(HERE, "patterns", "make.py"),
                          folder], capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"no patterns: {last_line(run)}", file=sys.stderr)
        return {}
    return {name[:-5]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".onnx") and not name.endswith(".hand.onnx")}


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "rules", "title", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--costs", default="build/gpu/costs.db")
    parser.add_argument("--models", default=os.path.join(ROOT, "..", "shared", "models"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", nargs="+", default=["tf32", "f16"])
    parser.add_argument("--seconds", type=float, default=500, help="for all rows")
    parser.add_argument("--row-seconds", type=float, default=15, help="for a search")
    parser.add_argument("--small", action="store_true", help="small networks only")
    parser.add_argument("--no-compare", dest="compare", action="store_false")
    args = parser.parse_args()
    args.until = time.monotonic() + args.seconds
    state = os.path.splitext(args.out)[0] + ".tsv"
    rows = read_rows(state)
    done = {(r["model"], int(r["batch"]), r["type"]) for r in rows}
    n_open = 0
    with tempfile.TemporaryDirectory() as folder, open(state, "a", encoding="utf-8") as log:
        args.patterns = {} if args.small else make_patterns(args, folder)
        for name, batch, dtype in plan(args):
            if (name, batch, dtype) in done:
                continue
            if args.until - time.monotonic() < LEAST_SECONDS:
                n_open += 1
                continue
            try:
                with tempfile.TemporaryDirectory() as inner:
                    cells = fill(Row(args, name, batch, dtype, inner))
            except OutOfTime:
                n_open += 1  # again next time
                continue
            row = {c: " ".join(str(cells.get(c, "-")).split()) for c in COLUMNS}
            log.write("\t".join(row.values()) + "\n")
            log.flush()
            rows.append(row)
            print(*row.values(), flush=True)
    write_table(args, rows)
    print(f"{args.out}: {len(rows)} rows" + (f", {n_open} not yet: run it again"
                                             if n_open else ""))


if __name__ == "__main__":
    main()
