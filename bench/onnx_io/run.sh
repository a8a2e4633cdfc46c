#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BIN: CPU time and memory of reading a model into the algebra and writing it back,
# by the number of nodes, sorted and not. A Markdown table on standard output; wants
# NOE_PYTHON with onnx.
set -euo pipefail
bin=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "| nodes | order | CPU s | us a node | memory MiB |"
echo "|---|---|---|---|---|"
for n in 5000 10000 20000 50000 100000; do
  for order in sorted unsorted; do
    "${NOE_PYTHON:-python3}" "$here/graphs.py" $n "$work/in.onnx" $order
    for _ in 1 2 3; do
      /usr/bin/time -f "%U %S %M" -a -o "$work/time" \
        "$bin/write_back" "$work/in.onnx" "$work/out.onnx"
    done
    awk -v n=$n -v order=$order '{ t = $1 + $2; if (!best || t < best) best = t; m = $3 }
      END { printf "| %d | %s | %.2f | %.1f | %.0f |\n", n, order, best, best / n * 1e6,
            m / 1024 }' "$work/time"
    rm "$work/time"
  done
done
