#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# models.sh BIN: rules found and proved here and now, applied to real models, the results
# judged by ONNX Runtime (tests/optimizer/run_models.py). Small operator sets and a small
# search budget: this is a test of soundness, not of speed. Exit status 77 where Python
# with ONNX Runtime or the models are missing.
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$1
python=${NOE_PYTHON:-$root/build/venv/bin/python}
if [ ! -x "$python" ]; then
  echo "SKIP models: no $python"
  exit 77
fi
if [ ! -d "$root/../shared/models" ]; then
  echo "SKIP models: no shared data"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ops in relu,concat conv,add conv,mul,reshape slice,concat; do
  "$bin/noether-generate" --db "$work/rules.db" --ops $ops --level 2 &&
    "$bin/noether-verify" --db "$work/rules.db" || exit 1
done
"$python" "$root/tests/optimizer/run_models.py" --optimize "$bin/noether-optimize" \
  --shared "$root/../shared" --rules "$work/rules.db" --costs "$work/costs.db" -- \
  --budget 30
