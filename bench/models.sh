#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Table of the real models before and after: operators, predicted and measured time,
# rules applied, difference as ONNX Runtime sees it. Writes bench/results/models.md.
#
#   bench/models.sh [BUILD_FOLDER] [RULES.db]
#
# $NOE_PYTHON: a Python with onnx, onnxruntime and numpy.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
rules=${2:-build/rules.db}
python=${NOE_PYTHON:-python3}
mkdir -p bench/results
table=$(mktemp)
trap 'rm -f "$table"' EXIT
status=0
"$python" tests/optimizer/run_models.py --optimize "$build/bin/noether-optimize" \
  --rules "$rules" --no-cases --table "$table" || status=$?
{
  echo "# Real models before and after"
  echo
  echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores;"
  echo "load average $(cut -d' ' -f1 /proc/loadavg); commit $(git rev-parse --short HEAD);"
  echo "rules: $(sqlite3 "$rules" 'SELECT count(*) FROM rule') in the database;"
  echo "one thread, oneDNN executor, thread CPU time; written by bench/models.sh."
  echo
  cat "$table"
} >bench/results/models.md
echo "bench/results/models.md"
exit "$status"
