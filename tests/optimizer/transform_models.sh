#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transform_models.sh BIN SHARED [all]: the models by which ONNX Runtime tests its own graph
# transformers, optimized with the rules of $NOETHER_RULES and judged by ONNX Runtime before
# and after; without "all", every twelfth. Exit status 77 where Python, ONNX Runtime or the
# models are missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 archive=$2/models/ort_transform.tar.xz step=12
[ "${3:-}" != all ] || step=1
python=${NOE_PYTHON:-python3}
skip() {
  printf 'SKIP transform_models: skipped: %s\n' "$1"
  exit 77
}
[ -f "$archive" ] || skip "no $archive"
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null ||
  skip 'no Python with onnx and onnxruntime (NOE_PYTHON)'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$archive"
# Not ONNX by its standard: outputs listed twice, no outputs at all. Refused with a message.
refused='fuse-conv-bn-mul-add-unsqueeze(\.negative_axes)?|matmul_integer_to_float_large_tensor'
mapfile -t models < <(find "$work" -name '*.onnx' | grep -vE "/($refused)\.onnx$" | sort |
  awk -v step=$step 'NR % step == 0')
"$python" "$here/../onnx_io/check_models.py" --tolerance 1e-3 --tool \
  "$bin/noether-optimize {in} -o {out} --rules ${NOETHER_RULES:?} --device roofline --budget 20 --no-timing" \
  "${models[@]}"
