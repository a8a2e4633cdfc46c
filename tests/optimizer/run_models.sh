#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ctest's way to run_models.py, with the rules of $NOETHER_RULES.
#   run_models.sh BIN_FOLDER SHARED_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 shared=$2
python=${NOE_PYTHON:-python3}
skip() {
  printf 'SKIP models: skipped: %s\n' "$1"
  exit 77
}
[ -d "$shared/models" ] || skip "no models in $shared"
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null ||
  skip 'no Python with onnx and onnxruntime (NOE_PYTHON)'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$here/run_models.py" --optimize "$bin/noether-optimize" --shared "$shared" \
  --rules "${NOETHER_RULES:?}" --costs "$work/costs.db" -- --budget 30 --no-timing
