#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_models.sh BIN: what the importer understood, judged by ONNX Runtime. Exit status 77
# where Python, ONNX Runtime or the models are missing.
here=$(dirname "$0")
root=$here/../..
python=${NOE_PYTHON:-$root/build/venv/bin/python}
models=$root/../shared/models
if [ ! -x "$python" ]; then
  echo "SKIP check_models: no $python"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=77
# check OPTIONS... FILES...: the worst status counts, "nothing to compare" least.
check() {
  "$python" "$here/check_models.py" "$@"
  result=$?
  if [ $result -ne 77 ] && [ $status -ne 1 ]; then status=$result; fi
}
for network in squeezenet mlp; do
  "$1/noether-make-model" $network "$work/$network.onnx" || exit 1
  check --tool "$1/write_back {in} {out}" "$work/$network.onnx"
done
if [ ! -d "$models" ]; then
  echo "SKIP shared models: no $models"
  exit $status
fi
check --tool "$1/write_back {in} {out}" "$root"/../shared/cases/*/model.onnx
check --tool "$1/write_back {in} {out}" "$models"/blazeface_back_256.onnx \
  "$models"/gtcrn.onnx "$models"/mlsd_tiny_320.onnx "$models"/tfbert_qa.onnx \
  "$models"/ultraface_rfb320.onnx
check --tool "$1/write_back {in} {out}" --random-weights "$models"/light_*.onnx
check --tool "$1/write_back {in} {out} x:1,3,48,320" --shape x:1,3,48,320 \
  "$models"/ppocrv4_rec.onnx
check --tool "$1/write_back {in} {out} attention_mask:1,7" --shape attention_mask:1,7 \
  --shape input_ids:1,7 --shape token_type_ids:1,7 "$models"/tfbert_qa.onnx
exit $status
