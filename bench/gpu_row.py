#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line of bench/gpu.sh's table: gpu_row.py NAME DTYPE REPORT.json"""
import json
import sys

name, dtype, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    report = json.load(file)
measured = report["measured"]
if measured:
    row = "%.1f %.1f %.3f" % (1e6 * measured["before_seconds"],
                              1e6 * measured["after_seconds"], measured["ratio"])
else:
    row = "- - -"
print(name, dtype, row, report["decision"].replace(" ", "_"))
